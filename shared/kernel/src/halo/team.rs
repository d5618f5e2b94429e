//! Teams: several members that solve a step together, each with some of its shards, by halo exchange (as stencil codes
//! do).
//!
//! A member has whole arrays like a solver that is alone, of which it fills and reads only its own
//! shards and its *halo*: the values that its sweeps read of the shards of others. (Pages that are never touched take
//! no memory.) At every barrier each member sends every other the changes of its shards in the other's
//! halo. The reads follow from the rules alone, so all members know those of all.

use std::{
    iter::repeat_n,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use rayon::prelude::*;
use thiserror::Error;
use ziggurat_planning::waves::{ShardIndex, Wave};

use crate::halo::{
    codec::{Content, Packed, PackedStrip, STRIP, WrongPart, compressed, decompressed, strips},
    partition::{HaloStrip, MemberIndex, Partition},
};

/// A message of a barrier did not arrive.
#[derive(Debug, Error)]
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
    /// The shards, or all for `None`.
    publishing: Option<&'t Wave>,
}

/// Whether a shard is to be swept here: by the member of a team, or without a team.
pub fn is_own(team: Option<&Team<'_>>, shard: ShardIndex) -> bool {
    team.is_none_or(|team| team.owns(shard))
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

    /// Whether a shard is the member's.
    pub(crate) fn owns(&self, shard: ShardIndex) -> bool {
        self.partition.own[shard.0]
    }

    /// How many positions were sent to the others so far, barrier for barrier.
    pub fn sent_positions(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The next barrier, at which the shards of a wave publish, or all.
    pub(crate) fn barrier<'t>(&'t self, publishing: Option<&'t Wave>) -> Barrier<'t> {
        let number = self.barriers.fetch_add(1, Ordering::Relaxed);
        Barrier { team: self, number, publishing }
    }

    /// The strips that the member keeps besides its own shards: by other member, in the order of values.
    pub(crate) fn halo(&self) -> impl Iterator<Item = Vec<&HaloStrip>> {
        self.partition.receives.iter().map(|strips| strips.iter().collect())
    }
}

impl Barrier<'_> {
    fn strips<'s>(&self, strips: &'s [HaloStrip]) -> Vec<&'s HaloStrip> {
        let publishes = |shard: ShardIndex| {
            self.publishing.is_none_or(|wave| wave.binary_search(&shard).is_ok())
        };
        strips.iter().filter(|strip| publishes(strip.shard)).collect()
    }

    /// The strips of the own shards that are sent at this barrier, for each of the others.
    pub(crate) fn outgoing(&self) -> Vec<Vec<&HaloStrip>> {
        self.team.partition.sends.iter().map(|strips| self.strips(strips)).collect()
    }

    /// Sends the others their changes, strip by strip.
    pub(crate) fn send(
        &self,
        pack: impl Fn(&HaloStrip, &mut Packed) + Sync,
    ) -> Result<(), ExchangeError> {
        for (member, strips) in self.outgoing().iter().enumerate() {
            let member = MemberIndex(member);
            let parts = parts(strips);
            let part_of = |strips: &&[&HaloStrip]| {
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
            self.team.sent.fetch_add(positions, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Receives the strips of the others, some at a time, and for each of them as many
    /// `packs` as they packed for it.
    pub(crate) fn receive(
        &self,
        content: Content,
        packs: usize,
        mut each: impl FnMut(&[&HaloStrip], &[PackedStrip<'_>]),
    ) -> Result<(), ExchangeError> {
        for (member, receives) in self.team.partition.receives.iter().enumerate() {
            let member = MemberIndex(member);
            let receives = self.strips(receives);
            if receives.is_empty() {
                continue;
            }
            let wrong = |error: WrongPart| ExchangeError { member, message: error.to_string() };
            let lengths_of = |strips: &[&HaloStrip]| -> Vec<usize> {
                strips.iter().flat_map(|strip| repeat_n(strip.values.len(), packs)).collect()
            };
            let parts = parts(&receives);
            let (mut rest, mut left) = (&receives[..], parts.len());
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

/// Strips by the parts that have them.
fn parts<'a, 's>(mut strips: &'a [&'s HaloStrip]) -> Vec<&'a [&'s HaloStrip]> {
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
