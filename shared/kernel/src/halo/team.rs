//! Teams: several members that solve a step together, each with some of its shards, by halo exchange (as stencil codes
//! do).
//!
//! A member has whole arrays like a solver that is alone, of which it fills and reads only its own
//! shards and its *halo*: the values that its sweeps read of the shards of others. (Pages that are never touched take
//! no memory.) At every barrier each member sends every other the changes of its shards in the other's
//! halo. The reads follow from the rules alone, so all members know those of all.

use std::{
    error::Error,
    iter::repeat_n,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use rayon::prelude::*;
use ziggurat_planning::waves::{UnitIndex, Wave};

use crate::halo::{
    codec::{Content, Packed, PackedStrip, STRIP, WrongPart, compressed, decompressed, strips},
    partition::{HaloStrip, MemberIndex, Partition},
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

/// Carries payloads between members, in parts.
pub trait Exchange: Send + Sync {
    /// Sends the next part of a payload, or sees to it that it will be sent. It has at most [`PART_BYTES`].
    ///
    /// # Errors
    /// If the member cannot be reached.
    fn send(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError>;

    /// Waits for the next part of a payload.
    ///
    /// # Errors
    /// If the member cannot be reached, or the attempt is over.
    fn receive(&self, member: MemberIndex, barrier: u32) -> Result<HaloPart, ExchangeError>;
}

/// A part of a payload.
#[derive(Debug)]
pub struct HaloPart {
    /// Its content, compressed.
    pub bytes: Vec<u8>,
    /// Whether it is the last of its payload.
    pub is_last: bool,
}

/// The most values of a part.
const PART: usize = 48 * STRIP;

/// The most bytes a part has.
pub const PART_BYTES: usize = 1 << 20;

// Incompressible bytes become a little longer in zstd.
const _: () = assert!(PART * 8 * 65 / 64 < PART_BYTES);

/// A round of a payload has so many parts.
const ROUND: usize = 8;

/// A member sends a round before it receives the one so many before.
const ROUNDS_AHEAD: usize = 1;

/// So many parts of a member must have room where they are received.
///
/// Then no members wait for each other in a circle. Each goes through its rounds in one order, barrier after barrier:
/// send 0, send 1, receive 0, send 2, receive 1, and so on. A member that waits for room in round n waits for one that
/// has not received round n - 2. A member that waits for a part of round n waits for one that has not sent it. Both
/// wait for a member that is behind them in that order.
pub const PARTS_AHEAD: usize = ROUND * (ROUNDS_AHEAD + 1);

/// A member at work with others.
pub struct Team<'a> {
    partition: &'a Partition,
    exchange: &'a dyn Exchange,
    barriers: AtomicU32,
    sent: AtomicU64,
}

/// A barrier, and who publishes at it.
pub struct Barrier<'t> {
    team: &'t Team<'t>,
    number: u32,
    /// Whether a unit does; all do for `None`.
    publishing: Option<Vec<bool>>,
}

/// Whether a unit is to be swept here: by the member of a team, or without a team.
pub fn is_own(team: Option<&Team<'_>>, unit: UnitIndex) -> bool {
    team.is_none_or(|team| team.owns(unit))
}

impl<'a> Team<'a> {
    /// Before the first barrier.
    pub fn new(partition: &'a Partition, exchange: &'a dyn Exchange) -> Self {
        Self { partition, exchange, barriers: AtomicU32::new(0), sent: AtomicU64::new(0) }
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

    /// The next barrier, at which the units of a wave publish, or all.
    pub(crate) fn barrier<'t>(&'t self, wave: Option<&Wave>) -> Barrier<'t> {
        let number = self.barriers.fetch_add(1, Ordering::Relaxed);
        let publishing = wave.map(|wave| {
            let mut publishing = vec![false; self.partition.own.len()];
            wave.iter().for_each(|unit| publishing[unit.0] = true);
            publishing
        });
        Barrier { team: self, number, publishing }
    }

    /// The strips that the member keeps besides its own shards: by other member, in the order of values.
    pub(crate) fn halo(&self) -> impl Iterator<Item = Vec<&HaloStrip>> {
        self.partition.receives.iter().map(|strips| strips.iter().collect())
    }
}

impl Barrier<'_> {
    fn strips<'s>(&self, strips: &'s [HaloStrip]) -> Vec<&'s HaloStrip> {
        let publishes = |unit: UnitIndex| self.publishing.as_ref().is_none_or(|all| all[unit.0]);
        strips.iter().filter(|strip| publishes(strip.unit)).collect()
    }

    /// Exchanges strips with the others: `pack` packs one of the own shards, and `unpack` takes over some of theirs, for
    /// each of which as many `packs` came. Sends and receives take turns, so no member needs room for a whole payload.
    pub(crate) fn exchange<S: Sync + ?Sized>(
        &self,
        (content, packs): (Content, usize),
        state: &mut S,
        pack: impl Fn(&S, &HaloStrip, &mut Packed) + Sync,
        mut unpack: impl FnMut(&mut S, &[&HaloStrip], &[PackedStrip<'_>]),
    ) -> Result<(), ExchangeError> {
        let Partition { sends, receives, .. } = self.team.partition;
        let [sends, receives] = [sends, receives]
            .map(|all| all.iter().map(|strips| self.strips(strips)).collect::<Vec<_>>());
        let [outgoing, incoming] = [&sends, &receives].map(|by_member| rounds(by_member));
        // Of a round, the first parts are on their way while others are made, and taken over while others come.
        let threads = rayon::current_num_threads();
        for round in 0..outgoing.len().max(incoming.len() + ROUNDS_AHEAD) {
            for parts in outgoing.get(round).into_iter().flat_map(|parts| parts.chunks(threads)) {
                self.send(parts, |strip, packed| pack(state, strip, packed))?;
            }
            let incoming = round.checked_sub(ROUNDS_AHEAD).and_then(|round| incoming.get(round));
            for parts in incoming.into_iter().flat_map(|parts| parts.chunks(threads)) {
                self.receive(parts, (content, packs), |strips, packed| {
                    unpack(state, strips, packed);
                })?;
            }
        }
        let positions = sends.iter().flatten().map(|strip| strip.values.len() as u64).sum();
        self.team.sent.fetch_add(positions, Ordering::Relaxed);
        Ok(())
    }

    /// Sends parts of a round.
    fn send(
        &self,
        parts: &[Part<'_>],
        pack: impl Fn(&HaloStrip, &mut Packed) + Sync,
    ) -> Result<(), ExchangeError> {
        let made = |part: &Part<'_>| {
            let mut packed = Packed::default();
            part.strips.iter().for_each(|strip| pack(strip, &mut packed));
            compressed(&packed.into_part()).map_err(|error| part.error(error))
        };
        let made: Vec<_> = parts.par_iter().map(made).collect::<Result<_, _>>()?;
        for (&Part { member, is_last, .. }, bytes) in parts.iter().zip(made) {
            self.team.exchange.send(member, self.number, HaloPart { bytes, is_last })?;
        }
        Ok(())
    }

    /// Receives parts of a round.
    fn receive(
        &self,
        parts: &[Part<'_>],
        (content, packs): (Content, usize),
        mut unpack: impl FnMut(&[&HaloStrip], &[PackedStrip<'_>]),
    ) -> Result<(), ExchangeError> {
        let came = |part: &Part<'_>| {
            let HaloPart { bytes, is_last } =
                self.team.exchange.receive(part.member, self.number)?;
            if is_last == part.is_last { Ok(bytes) } else { Err(part.error(WrongPart)) }
        };
        let came: Vec<_> = parts.iter().map(came).collect::<Result<_, _>>()?;
        let unpacked = |(part, bytes): (&Part<'_>, &Vec<u8>)| {
            let strips = part.strips.iter();
            let lengths: Vec<usize> =
                strips.flat_map(|strip| repeat_n(strip.values.len(), packs)).collect();
            let unpacked = decompressed(bytes, &lengths).map_err(|error| part.error(error));
            unpacked.map(|bytes| (bytes, lengths))
        };
        let unpacked: Vec<_> =
            parts.par_iter().zip(&came).map(unpacked).collect::<Result<_, _>>()?;
        let mut unpacked = unpacked.iter();
        // Of each member, strips are in the order of values.
        for of_member in parts.chunk_by(|one, next| one.member == next.member) {
            let mut packed = Vec::new();
            for (part, (bytes, lengths)) in of_member.iter().zip(&mut unpacked) {
                let strips = strips(bytes, lengths, content);
                packed.extend(strips.map_err(|error| part.error(error))?);
            }
            let strips: Vec<_> = of_member.iter().flat_map(|part| part.strips).copied().collect();
            unpack(&strips, &packed);
        }
        Ok(())
    }
}

/// Strips that go to a member, or come from it, at once.
struct Part<'a> {
    member: MemberIndex,
    strips: &'a [&'a HaloStrip],
    /// Whether it is the last of its payload.
    is_last: bool,
}

impl Part<'_> {
    fn error(&self, error: impl Error) -> ExchangeError {
        ExchangeError { member: self.member, message: error.to_string() }
    }
}

/// The parts of the payloads of all members by round, in each those of one member after the other.
fn rounds<'a>(by_member: &'a [Vec<&'a HaloStrip>]) -> Vec<Vec<Part<'a>>> {
    let mut rounds = Vec::new();
    for (member, strips) in (0..).map(MemberIndex).zip(by_member) {
        let parts = parts(strips);
        for (place, strips) in parts.iter().copied().enumerate() {
            let round = place / ROUND;
            if round == rounds.len() {
                rounds.push(Vec::new());
            }
            rounds[round].push(Part { member, strips, is_last: place + 1 == parts.len() });
        }
    }
    rounds
}

/// Strips by the parts that have them.
fn parts<'a>(mut strips: &'a [&'a HaloStrip]) -> Vec<&'a [&'a HaloStrip]> {
    let mut parts = Vec::new();
    while !strips.is_empty() {
        let mut values = 0;
        let fits = |strip: &&&HaloStrip| {
            values += strip.values.len();
            values <= PART
        };
        let (part, rest) = strips.split_at(strips.iter().take_while(fits).count());
        parts.push(part);
        strips = rest;
    }
    parts
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
    use crate::shards::ranges::Orientation;

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
                let partition = Partition::of_strips(sends, receives);
                let narrow = Narrow { to, from };
                let team = Team::new(&partition, &narrow);
                for _ in 0..3 {
                    let mut received = Vec::new();
                    let exchanged = team.barrier(None).exchange(
                        (Content::Changes, 1),
                        &mut received,
                        |_, strip, packed| {
                            let change = change_at(strip.values.start);
                            packed.push_changes(&[change; STRIP], 0.5);
                        },
                        |received, strips, packed| {
                            for (strip, packed) in strips.iter().zip(packed) {
                                let mut changes = [0; STRIP];
                                packed.read_changes(&mut changes);
                                assert_eq!(changes, [change_at(strip.values.start); STRIP]);
                                received.push((*strip).clone());
                            }
                        },
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
}
