//! Teams: several members that solve a step together, each with some of its shards, by halo exchange (as stencil codes
//! do).
//!
//! A member has whole arrays like a solver that is alone, of which it fills and reads only its own
//! shards and its *halo*: the values that its sweeps read of the shards of others. (Other
//! [pages](crate::memory::array) take neither memory nor disk space.) At the end of every wave each member has sent every other the changes of its shards in the other's
//! halo. The reads follow from the rules alone, so all members know those of all.

use std::{
    error::Error,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use rayon::prelude::*;
use ziggurat_planning::waves::{UnitIndex, Wave};

use crate::halo::{
    codec::{Content, Packed, PackedStrip, WrongPart, strips},
    partition::{HaloStrip, MemberIndex, Partition},
    parts::{Part, WaveParts, parts_by_wave, payload},
};

/// A message of a barrier did not arrive.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeError {
    /// The member that could not be reached, or sent a wrong message.
    pub member: MemberIndex,
    /// The failure.
    pub message: String,
}

/// Carries payloads between members, in parts of at most [`PART_BYTES`](crate::PART_BYTES) each.
pub trait Exchange: Send + Sync {
    /// Sends a part of a payload, or sees to it that it will be sent, and waits for nobody.
    ///
    /// # Errors
    /// If the member cannot be reached.
    fn post(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError>;

    /// The same, but waits while too many parts are on their way to the member.
    ///
    /// # Errors
    /// If the member cannot be reached.
    fn send(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError>;

    /// Waits for another part of a payload. They come in the order in which they were sent.
    ///
    /// # Errors
    /// If the member cannot be reached, or the attempt is over.
    fn receive(&self, member: MemberIndex, barrier: u32) -> Result<HaloPart, ExchangeError>;
}

/// A part of a payload.
#[derive(Debug)]
pub struct HaloPart {
    /// Its place in the payload.
    pub number: u32,
    /// Its content, packed.
    pub bytes: Vec<u8>,
}

/// A round of a payload has so many parts.
const ROUND: usize = 8;

/// A member sends a round before it receives the one so many before.
const ROUNDS_AHEAD: usize = 1;

/// So many parts of a member must have room where they are received.
///
/// Then no members that exchange payloads in rounds wait for each other in a circle. Each goes through its rounds in one
/// order, barrier after barrier: send 0, send 1, receive 0, send 2, receive 1, and so on. A member that waits for room in
/// round n waits for one that has not received round n - 2. A member that waits for a part of round n waits for one that
/// has not sent it. Both wait for a member that is behind them in that order.
pub const PARTS_AHEAD: usize = ROUND * (ROUNDS_AHEAD + 1);

/// A member at work with others.
pub struct Team<'a> {
    partition: &'a Partition,
    waves: Vec<WaveParts<'a>>,
    exchange: &'a dyn Exchange,
    barriers: AtomicU32,
    sent: AtomicU64,
}

/// Whether a unit is to be swept here: by the member of a team, or without a team.
pub fn is_own(team: Option<&Team<'_>>, unit: UnitIndex) -> bool {
    team.is_none_or(|team| team.owns(unit))
}

impl<'a> Team<'a> {
    /// Before the first barrier, for sweeps in these waves.
    pub fn new(partition: &'a Partition, waves: &[Wave], exchange: &'a dyn Exchange) -> Self {
        let Partition { own, sends, receives, .. } = partition;
        let waves = parts_by_wave(waves, own.len(), [sends, receives]);
        let (barriers, sent) = Default::default();
        Self { partition, waves, exchange, barriers, sent }
    }

    /// The member's part.
    pub(crate) fn partition(&self) -> &'a Partition {
        self.partition
    }

    /// Whether a unit is the member's.
    pub(crate) fn owns(&self, unit: UnitIndex) -> bool {
        self.partition.own[unit.0]
    }

    /// How many positions were sent to the others so far, barrier for barrier.
    pub fn sent_positions(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The strips that the member keeps besides its own shards: by other member, in the order of values.
    pub(crate) fn halo(&self) -> impl Iterator<Item = Vec<&HaloStrip>> {
        self.partition.receives.iter().map(|strips| strips.iter().collect())
    }

    fn next_barrier(&self) -> u32 {
        self.barriers.fetch_add(1, Ordering::Relaxed)
    }

    /// The exchange at the end of a wave, before that is swept.
    pub(crate) fn wave(&self, wave: usize) -> WaveExchange<'_> {
        let parts = &self.waves[wave];
        let filled = |&pieces: &usize| {
            Mutex::new(Filling { pieces: (0..pieces).map(|_| None).collect(), missing: pieces })
        };
        let filling = parts.pieces.iter().map(filled).collect();
        WaveExchange { team: self, number: self.next_barrier(), parts, filling }
    }

    /// Exchanges all strips with the others: `pack` packs one of the own shards, and `unpack` takes over some of theirs,
    /// for each of which as many `packs` came. Sends and receives take turns, so no member needs room for a whole
    /// payload.
    pub(crate) fn exchange<S: Sync + ?Sized>(
        &self,
        (content, packs): (Content, usize),
        state: &mut S,
        pack: impl Fn(&S, &HaloStrip, &mut Packed) + Sync,
        mut unpack: impl FnMut(&mut S, &[&HaloStrip], &[PackedStrip<'_>]),
    ) -> Result<(), ExchangeError> {
        let number = self.next_barrier();
        let Partition { sends, receives, .. } = self.partition;
        let [outgoing, incoming] = [sends, receives].map(|by_member| rounds(by_member));
        // Of a round, the first parts are on their way while others are made, and taken over while others come.
        let threads = rayon::current_num_threads();
        for round in 0..outgoing.len().max(incoming.len() + ROUNDS_AHEAD) {
            for parts in outgoing.get(round).into_iter().flat_map(|parts| parts.chunks(threads)) {
                let made = |part: &Part<'_>| {
                    let mut packed = Packed::default();
                    part.strips.iter().for_each(|strip| pack(state, strip, &mut packed));
                    part.of(packed)
                };
                let made: Vec<_> = parts.par_iter().map(made).collect();
                for (part, made) in parts.iter().zip(made) {
                    self.exchange.send(part.member, number, made)?;
                    self.sent.fetch_add(part.values(), Ordering::Relaxed);
                }
            }
            let incoming = round.checked_sub(ROUNDS_AHEAD).and_then(|round| incoming.get(round));
            for parts in incoming.into_iter().flat_map(|parts| parts.chunks(threads)) {
                let came = parts.iter().map(|part| {
                    let came = self.exchange.receive(part.member, number)?;
                    if came.number == part.number {
                        Ok((part, came.bytes))
                    } else {
                        Err(part.wrong())
                    }
                });
                let came = came.collect::<Result<Vec<_>, _>>()?;
                take_over(&came, (content, packs), |strips, packed| unpack(state, strips, packed))?;
            }
        }
        Ok(())
    }
}

/// The exchange at the end of a wave. Parts are sent as soon as all of their units are swept, so they are on their way
/// while others still are.
pub struct WaveExchange<'t> {
    team: &'t Team<'t>,
    number: u32,
    parts: &'t WaveParts<'t>,
    /// The parts that are sent, as far as they are there.
    filling: Vec<Mutex<Filling>>,
}

/// A part of which not all pieces may be there.
struct Filling {
    pieces: Vec<Option<Packed>>,
    missing: usize,
}

impl WaveExchange<'_> {
    /// A unit is swept: `pack` packs one of its strips. Sends the parts that were waiting for it alone.
    pub(crate) fn swept(
        &self,
        unit: UnitIndex,
        pack: impl Fn(&HaloStrip, &mut Packed),
    ) -> Result<(), ExchangeError> {
        for piece in self.parts.of_units.get(&unit).into_iter().flatten() {
            let part = &self.parts.sends[piece.part];
            let mut packed = Packed::default();
            part.strips[piece.strips.clone()].iter().for_each(|strip| pack(strip, &mut packed));
            let complete = {
                let filling = &self.filling[piece.part];
                let mut filling = filling.lock().unwrap_or_else(PoisonError::into_inner);
                filling.pieces[piece.place] = Some(packed);
                filling.missing -= 1;
                (filling.missing == 0).then(|| std::mem::take(&mut filling.pieces))
            };
            if let Some(pieces) = complete {
                let mut packed = Packed::default();
                pieces.into_iter().flatten().for_each(|piece| packed.append(piece));
                let made = part.of(packed);
                self.team.exchange.post(part.member, self.number, made)?;
                self.team.sent.fetch_add(part.values(), Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Receives what others send, once the own units are swept: `unpack` takes over some of their strips, for each of
    /// which as many `packs` came.
    pub(crate) fn receive(
        &self,
        (content, packs): (Content, usize),
        mut unpack: impl FnMut(&[&HaloStrip], &[PackedStrip<'_>]),
    ) -> Result<(), ExchangeError> {
        let at_once = rayon::current_num_threads();
        for of_member in self.parts.receives.chunk_by(|one, next| one.member == next.member) {
            let mut is_missing = vec![true; of_member.len()];
            for parts in of_member.chunks(at_once) {
                let mut came = Vec::with_capacity(parts.len());
                for part in parts {
                    let HaloPart { number, bytes } =
                        self.team.exchange.receive(part.member, self.number)?;
                    let place = number as usize;
                    if !is_missing.get(place).is_some_and(|&is_missing| is_missing) {
                        return Err(part.wrong());
                    }
                    is_missing[place] = false;
                    came.push((&of_member[place], bytes));
                }
                came.sort_unstable_by_key(|(part, _)| part.number);
                take_over(&came, (content, packs), &mut unpack)?;
            }
        }
        Ok(())
    }
}

/// Unpacks parts that came, in the order of members and of their numbers.
fn take_over(
    came: &[(&Part<'_>, Vec<u8>)],
    (content, packs): (Content, usize),
    mut unpack: impl FnMut(&[&HaloStrip], &[PackedStrip<'_>]),
) -> Result<(), ExchangeError> {
    // Of each member, strips are in the order of values.
    for of_member in came.chunk_by(|(one, _), (next, _)| one.member == next.member) {
        let mut packed = Vec::new();
        for (part, bytes) in of_member {
            let strips = strips(bytes, &part.lengths(packs), content);
            packed.extend(strips.map_err(|error| part.error(error))?);
        }
        let strips: Vec<_> = of_member.iter().flat_map(|(part, _)| &part.strips).copied().collect();
        unpack(&strips, &packed);
    }
    Ok(())
}

impl Part<'_> {
    fn error(&self, error: impl Error) -> ExchangeError {
        ExchangeError { member: self.member, message: error.to_string() }
    }

    fn wrong(&self) -> ExchangeError {
        self.error(WrongPart)
    }

    fn of(&self, packed: Packed) -> HaloPart {
        HaloPart { number: self.number, bytes: packed.into_part() }
    }
}

/// The parts of the payloads of all members by round, in each those of one member after the other.
fn rounds(by_member: &[Vec<HaloStrip>]) -> Vec<Vec<Part<'_>>> {
    let mut rounds = Vec::new();
    for (member, strips) in (0..).map(MemberIndex).zip(by_member) {
        for part in payload(member, strips) {
            let round = part.number as usize / ROUND;
            if round == rounds.len() {
                rounds.push(Vec::new());
            }
            rounds[round].push(part);
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Mutex,
            mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
        },
        thread,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::{
        halo::{codec::STRIP, parts::PART},
        shards::ranges::Orientation,
    };

    /// Members that wait for each other for so long do so for ever.
    const LONG: Duration = Duration::from_secs(30);

    /// A member's end of channels that have room for [`PARTS_AHEAD`] parts.
    struct Narrow {
        to: Vec<SyncSender<HaloPart>>,
        from: Vec<Mutex<Receiver<HaloPart>>>,
    }

    fn stuck(member: MemberIndex) -> ExchangeError {
        ExchangeError { member, message: "they wait for each other".to_owned() }
    }

    impl Exchange for Narrow {
        fn post(&self, member: MemberIndex, _: u32, part: HaloPart) -> Result<(), ExchangeError> {
            self.to[member.0].try_send(part).map_err(|_| stuck(member))
        }

        fn send(&self, member: MemberIndex, _: u32, part: HaloPart) -> Result<(), ExchangeError> {
            let (started, mut part) = (Instant::now(), part);
            loop {
                match self.to[member.0].try_send(part) {
                    Err(TrySendError::Full(back)) if started.elapsed() < LONG => part = back,
                    sent => return sent.map_err(|_| stuck(member)),
                }
                thread::sleep(Duration::from_micros(50));
            }
        }

        fn receive(&self, member: MemberIndex, _: u32) -> Result<HaloPart, ExchangeError> {
            let came = self.from[member.0].lock().unwrap().recv_timeout(LONG);
            came.map_err(|_: RecvTimeoutError| stuck(member))
        }
    }

    /// So many parts of strips that begin at a place.
    fn strips(parts: usize, from: usize) -> Vec<HaloStrip> {
        let strip = |i: usize| HaloStrip {
            unit: UnitIndex(0),
            range: 0,
            start: 0,
            orientation: Orientation::FIRST,
            values: from + i * STRIP..from + (i + 1) * STRIP,
        };
        (0..parts * PART / STRIP).map(strip).collect()
    }

    /// The change of all values of a strip that begins at a place.
    fn change_at(start: usize) -> i8 {
        (start / STRIP % 251) as i8
    }

    /// Keeps strips that came, whose changes must be those of where they begin.
    fn check_and_keep(
        received: &mut Vec<HaloStrip>,
        strips: &[&HaloStrip],
        packed: &[PackedStrip<'_>],
    ) {
        for (strip, packed) in strips.iter().zip(packed) {
            let mut changes = [0; STRIP];
            packed.read_changes(&mut changes);
            assert_eq!(changes, [change_at(strip.values.start); STRIP]);
            received.push((*strip).clone());
        }
    }

    #[test]
    fn payloads_of_any_size_need_little_room() {
        // By member, the parts that it sends each other one: one sends little, and one nothing.
        let sizes = [[0, 5 * PARTS_AHEAD, 3], [4 * PARTS_AHEAD + 1, 0, 1], [0, PARTS_AHEAD, 0]];
        let place = |from: usize, to: usize| (3 * from + to) * 100 * PART;
        let of = |from: usize, to: usize| strips(sizes[from][to], place(from, to));
        let mut to: Vec<Vec<SyncSender<HaloPart>>> = (0..3).map(|_| Vec::new()).collect();
        let mut from: Vec<Vec<Mutex<Receiver<HaloPart>>>> = (0..3).map(|_| Vec::new()).collect();
        for sender in &mut to {
            for receiver in &mut from {
                let (send, receive) = sync_channel(PARTS_AHEAD);
                sender.push(send);
                receiver.push(Mutex::new(receive));
            }
        }
        let members = to.into_iter().zip(from).enumerate();
        thread::scope(|scope| {
            let member = |(me, (to, from)): (usize, (Vec<_>, Vec<_>))| {
                let sends = (0..3).map(|other| of(me, other)).collect();
                let receives = (0..3).map(|other| of(other, me)).collect();
                let partition = Partition::of_strips(1, sends, receives);
                let narrow = Narrow { to, from };
                let team = Team::new(&partition, &[vec![UnitIndex(0)]], &narrow);
                for _ in 0..3 {
                    let mut received = Vec::new();
                    let exchanged = team.exchange(
                        (Content::Changes, 1),
                        &mut received,
                        |_, strip, packed| {
                            let change = change_at(strip.values.start);
                            packed.push_changes(&[change; STRIP], 0.5);
                        },
                        check_and_keep,
                    );
                    exchanged.unwrap();
                    received.sort_by_key(|strip| strip.values.start);
                    assert!(received.iter().eq(partition.receives.iter().flatten()), "{me}");
                }
                let sent = partition.sends.iter().flatten().map(|strip| strip.values.len() as u64);
                assert_eq!(team.sent_positions(), 3 * sent.sum::<u64>());
            };
            let members = members.map(|one| scope.spawn(move || member(one)));
            members.collect::<Vec<_>>().into_iter().for_each(|member| member.join().unwrap());
        });
    }

    /// A member's end of a channel to itself, which is as good as that to another one.
    fn looped(partition: &Partition, parts: usize) -> (Narrow, Vec<Wave>) {
        let (send, receive) = sync_channel(parts);
        let waves = vec![(0..partition.own.len()).map(UnitIndex).collect()];
        (Narrow { to: vec![send], from: vec![Mutex::new(receive)] }, waves)
    }

    /// Three units, of which a member sends 60 strips each, to itself: four parts.
    fn partition_of_three() -> Partition {
        let of_units = || {
            let mut strips = strips(4, 0)[..180].to_vec();
            strips.iter_mut().enumerate().for_each(|(i, strip)| strip.unit = UnitIndex(i / 60));
            vec![strips]
        };
        Partition::of_strips(3, of_units(), of_units())
    }

    #[test]
    fn parts_of_a_wave_are_sent_as_soon_as_their_units_are_swept() {
        let partition = partition_of_three();
        let (narrow, waves) = looped(&partition, 4);
        let team = Team::new(&partition, &waves, &narrow);
        let exchange = team.wave(0);
        let swept = |unit| {
            let pack = |strip: &HaloStrip, packed: &mut Packed| {
                packed.push_changes(&[change_at(strip.values.start); STRIP], 0.5);
            };
            exchange.swept(UnitIndex(unit), pack).unwrap();
            team.sent_positions() as usize / STRIP
        };
        // Parts have 48 strips: the second has some of the first unit and of the second, the third of the second and the last.
        assert_eq!([swept(2), swept(0), swept(1)], [36, 84, 180]);
        let mut received = Vec::new();
        let exchanged = exchange.receive((Content::Changes, 1), |strips, packed| {
            check_and_keep(&mut received, strips, packed);
        });
        exchanged.unwrap();
        received.sort_by_key(|strip| strip.values.start);
        assert_eq!(received, partition.receives[0]);
    }

    #[test]
    fn a_part_that_is_none_or_comes_twice_is_refused() {
        let partition = partition_of_three();
        let part = |number| HaloPart { number, bytes: Vec::new() };
        for numbers in [[0, 0], [4, 0], [u32::MAX, 1]] {
            let (narrow, waves) = looped(&partition, 2);
            numbers.into_iter().for_each(|number| narrow.to[0].send(part(number)).unwrap());
            let team = Team::new(&partition, &waves, &narrow);
            let two_threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            let received =
                || team.wave(0).receive((Content::Changes, 1), |_, _| panic!("it is wrong"));
            let error = two_threads.install(received).unwrap_err();
            assert_eq!((error.member, error.message), (MemberIndex(0), WrongPart.to_string()));
        }
    }
}
