//! Several members that solve a step together, each with some of its shards.
//!
//! A member has whole arrays like a solver that is alone, of which it fills and reads only its own
//! shards and its *halo*: what its sweeps read of the shards of others. (Pages that are never touched take
//! no memory.) At every barrier each member tells every other what its shards publish there of the other's
//! halo. Who reads what follows from the rules alone, so all members know it of all.

use std::{
    iter::repeat_n,
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use rayon::prelude::*;
use thiserror::Error;
use ziggurat_encoding::{Encoding, Shard, Tier};

use crate::{
    context::{Context, Tables},
    halo::{Content, Packed, PackedStrip, STRIP, WrongPart, compressed, decompressed, strips},
    ranges::{ShardRange, in_order},
    reads::{Places, Reads, tidy},
};

/// What a barrier published did not arrive.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct ExchangeError {
    /// The member that could not be reached, or sent what is wrong.
    pub member: usize,
    /// What went wrong.
    pub message: String,
}

/// Carries payloads between members, in parts.
pub trait Exchange: Send + Sync {
    /// Sends the next part of a payload, or sees to it that it will be sent. It has at most [`PART_BYTES`].
    ///
    /// # Errors
    /// If the member cannot be reached.
    fn send(&self, member: usize, barrier: u32, part: HaloPart) -> Result<(), ExchangeError>;

    /// Waits for the next part of a payload.
    ///
    /// # Errors
    /// If the member cannot be reached, or the attempt is over.
    fn receive(&self, member: usize, barrier: u32) -> Result<HaloPart, ExchangeError>;
}

/// A part of a payload.
#[derive(Debug)]
pub struct HaloPart {
    /// What it says, compressed.
    pub bytes: Vec<u8>,
    /// Whether it is the last of its payload.
    pub is_last: bool,
}

/// The most values a part tells of.
const PART: usize = 48 * STRIP;

/// The most bytes a part has.
pub const PART_BYTES: usize = 1 << 20;

// What zstd cannot compress becomes a little longer.
const _: () = assert!(PART * 8 * 65 / 64 < PART_BYTES);

/// A part of a shard that another member reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strip {
    /// The shard.
    pub shard: usize,
    /// Which of its ranges.
    pub range: usize,
    /// Where in that.
    pub start: usize,
    /// The orientation.
    pub orientation: usize,
    /// Which values of it: at most [`STRIP`].
    pub values: Range<usize>,
}

/// A member's part in a step.
#[derive(Debug)]
pub struct Share {
    /// Whether a shard is the member's.
    own: Vec<bool>,
    /// By member, what it reads of this one's shards, and this one of its. In the order of values.
    gives: Vec<Vec<Strip>>,
    takes: Vec<Vec<Strip>>,
    /// What is read of the tiers that scoring leads to, by orientation.
    finals: [Places; 2],
}

impl Share {
    /// The part of member `me` in the step of a tier, whose shards are swept by `owners`, members below
    /// `members`.
    ///
    /// # Panics
    /// If there are not as many owners as shards, or too few members.
    pub(crate) fn new(
        encoding: &Encoding,
        tables: &Tables,
        tier: Tier,
        shards: &[Shard],
        owners: &[usize],
        (me, members): (usize, usize),
    ) -> Self {
        assert!(owners.len() == shards.len() && owners.iter().all(|&owner| owner < members));
        let context = Context::<f64>::new(encoding, tables, tier, |_| &[]);
        let ranges = in_order(shards, context.tiers.len() - 1);
        let of_member = |member: usize| {
            let own = shards.par_iter().zip(owners).filter(|&(_, &owner)| owner == member);
            own.map(|(shard, _)| Reads::of(&context, shard)).reduce(Reads::default, |mut a, b| {
                a.add(b);
                a
            })
        };
        let of_owner = |strips: &[Strip], owner: usize| -> Vec<Strip> {
            strips.iter().filter(|strip| owners[strip.shard] == owner).cloned().collect()
        };
        let mine = of_member(me);
        let halo = cut(&ranges, &mine.step);
        let takes = (0..members).map(|other| match other == me {
            true => Vec::new(),
            false => of_owner(&halo, other),
        });
        let gives = (0..members).map(|other| match other == me {
            true => Vec::new(),
            false => of_owner(&cut(&ranges, &of_member(other).step), me),
        });
        let own = owners.iter().map(|&owner| owner == me).collect();
        Self { own, gives: gives.collect(), takes: takes.collect(), finals: mine.finals }
    }

    /// The positions of other members' shards that this member reads.
    pub fn halo_positions(&self) -> u64 {
        self.takes.iter().flatten().map(|strip| strip.values.len() as u64).sum()
    }

    /// The places of the step's values that the member knows when the step is solved, by orientation: those of
    /// its own shards, and the halo.
    pub(crate) fn known(&self, shards: &[Shard], orientations: usize) -> Vec<Places> {
        let mut known = vec![Places::new(); orientations];
        for part in in_order(shards, orientations - 1) {
            if self.own[part.shard] {
                known[part.orientation].push(part.values);
            }
        }
        for strip in self.takes.iter().flatten() {
            known[strip.orientation].push(strip.values.clone());
        }
        known.iter_mut().for_each(|places| tidy(places, 0));
        known
    }

    /// The parts of tiers that scoring leads to that the member reads, by orientation.
    pub(crate) fn finals(&self) -> &[Places; 2] {
        &self.finals
    }
}

/// The parts of ranges that are read.
fn cut(ranges: &[ShardRange], read: &[Places; 2]) -> Vec<Strip> {
    let mut strips = Vec::new();
    for ShardRange { shard, range, orientation, values } in ranges {
        let places = &read[*orientation];
        let first = places.partition_point(|place| place.end <= values.start);
        for place in places[first..].iter().take_while(|place| place.start < values.end) {
            let (from, to) = (place.start.max(values.start), place.end.min(values.end));
            let mut at = from;
            while at < to {
                let start = at - values.start;
                // No strip has parts of two pieces.
                let end = to.min(values.start + (start / STRIP + 1) * STRIP);
                let (shard, range, orientation) = (*shard, *range, *orientation);
                strips.push(Strip { shard, range, start, orientation, values: at..end });
                at = end;
            }
        }
    }
    strips
}

/// A member at work with others.
pub struct Team<'a> {
    share: &'a Share,
    exchange: &'a dyn Exchange,
    barriers: AtomicU32,
    told: AtomicU64,
}

/// A barrier, and who publishes at it.
pub struct Barrier<'t, P> {
    team: &'t Team<'t>,
    number: u32,
    publishes: P,
}

impl<'a> Team<'a> {
    /// Before the first barrier.
    pub fn new(share: &'a Share, exchange: &'a dyn Exchange) -> Self {
        Self { share, exchange, barriers: AtomicU32::new(0), told: AtomicU64::new(0) }
    }

    /// The member's part.
    pub(crate) fn share(&self) -> &'a Share {
        self.share
    }

    /// Whether a shard is the member's.
    pub(crate) fn owns(&self, shard: usize) -> bool {
        self.share.own[shard]
    }

    /// How many positions the others have been told of so far, barrier for barrier.
    pub fn told_positions(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// The next barrier, at which some shards publish.
    pub(crate) fn barrier<P: Fn(usize) -> bool + Sync>(&'a self, publishes: P) -> Barrier<'a, P> {
        let number = self.barriers.fetch_add(1, Ordering::Relaxed);
        Barrier { team: self, number, publishes }
    }

    /// What the member keeps besides its own shards: by other member, in the order of values.
    pub(crate) fn halo(&self) -> impl Iterator<Item = Vec<&Strip>> {
        self.share.takes.iter().map(|strips| strips.iter().collect())
    }
}

impl<P: Fn(usize) -> bool + Sync> Barrier<'_, P> {
    fn strips<'s>(&self, strips: &'s [Strip]) -> Vec<&'s Strip> {
        strips.iter().filter(|strip| (self.publishes)(strip.shard)).collect()
    }

    /// What of the own shards is given to somebody at this barrier, for each of the others.
    pub(crate) fn given(&self) -> Vec<Vec<&Strip>> {
        self.team.share.gives.iter().map(|strips| self.strips(strips)).collect()
    }

    /// Tells the others what changes, strip by strip.
    pub(crate) fn give(
        &self,
        pack: impl Fn(&Strip, &mut Packed) + Sync,
    ) -> Result<(), ExchangeError> {
        for (member, strips) in self.given().iter().enumerate() {
            let parts = parts(strips);
            let part_of = |strips: &&[&Strip]| {
                let mut packed = Packed::default();
                strips.iter().for_each(|strip| pack(strip, &mut packed));
                compressed(&packed.into_part())
                    .map_err(|error| ExchangeError { member, message: error.to_string() })
            };
            let mut left = parts.len();
            for parts in parts.chunks(rayon::current_num_threads()) {
                let made: Vec<_> = parts.par_iter().map(part_of).collect::<Result<_, _>>()?;
                for bytes in made {
                    left -= 1;
                    let part = HaloPart { bytes, is_last: left == 0 };
                    self.team.exchange.send(member, self.number, part)?;
                }
            }
            let positions = strips.iter().map(|strip| strip.values.len() as u64).sum();
            self.team.told.fetch_add(positions, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Hears from the others what they give, some strips at a time, and for each of them as many
    /// `packs` as they packed for it.
    pub(crate) fn take(
        &self,
        content: Content,
        packs: usize,
        mut each: impl FnMut(&[&Strip], &[PackedStrip<'_>]),
    ) -> Result<(), ExchangeError> {
        for (member, takes) in self.team.share.takes.iter().enumerate() {
            let takes = self.strips(takes);
            if takes.is_empty() {
                continue;
            }
            let wrong = |error: WrongPart| ExchangeError { member, message: error.to_string() };
            let lengths_of = |strips: &[&Strip]| -> Vec<usize> {
                strips.iter().flat_map(|strip| repeat_n(strip.values.len(), packs)).collect()
            };
            let parts = parts(&takes);
            let (mut rest, mut left) = (&takes[..], parts.len());
            let mut next = || {
                left -= 1;
                let HaloPart { bytes, is_last } =
                    self.team.exchange.receive(member, self.number)?;
                if is_last == (left == 0) { Ok(bytes) } else { Err(wrong(WrongPart)) }
            };
            // The first parts are unpacked while the others are made.
            for parts in parts.chunks(rayon::current_num_threads()) {
                let lengths: Vec<_> = parts.iter().map(|strips| lengths_of(strips)).collect();
                let came: Vec<_> = parts.iter().map(|_| next()).collect::<Result<_, _>>()?;
                let came: Vec<_> = came
                    .par_iter()
                    .zip(&lengths)
                    .map(|(part, lengths)| decompressed(part, lengths))
                    .collect::<Result<_, _>>()
                    .map_err(wrong)?;
                let packed =
                    came.iter().zip(&lengths).map(|(part, lengths)| strips(part, lengths, content));
                let packed: Vec<_> = packed.collect::<Result<_, _>>().map_err(wrong)?;
                let count = parts.iter().map(|strips| strips.len()).sum();
                each(&rest[..count], &packed.concat());
                rest = &rest[count..];
            }
        }
        Ok(())
    }
}

/// Strips by the parts that tell of them.
fn parts<'a, 's>(mut strips: &'a [&'s Strip]) -> Vec<&'a [&'s Strip]> {
    let mut parts = Vec::new();
    while !strips.is_empty() {
        let mut values = 0;
        let fits = |strip: &&&Strip| {
            values += strip.values.len();
            values <= PART
        };
        let (part, rest) = strips.split_at(strips.iter().take_while(fits).count());
        parts.push(part);
        strips = rest;
    }
    parts
}

/// The places of strips, which are in order, in values by orientation.
pub(crate) fn slices<'a, V>(values: Vec<&'a mut [V]>, strips: &[&Strip]) -> Vec<&'a mut [V]> {
    let mut rest: Vec<(usize, &mut [V])> = values.into_iter().map(|all| (0, all)).collect();
    let take = |strip: &&Strip| {
        let (at, values) = &mut rest[strip.orientation];
        let skipped = strip.values.start - *at;
        values.split_off_mut(..skipped).expect("strips are in order");
        *at = strip.values.end;
        values.split_off_mut(..strip.values.len()).expect("strips are within the tier")
    };
    strips.iter().map(take).collect()
}
