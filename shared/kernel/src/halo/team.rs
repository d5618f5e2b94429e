//! Several members that solve a step together, each with some of its shards.
//!
//! A member has whole arrays like a solver that is alone, of which it fills and reads only its own
//! shards and its *halo*: what its sweeps read of the shards of others. (Pages that are never touched take
//! no memory.) At every barrier each member tells every other what its shards publish there of the other's
//! halo. Who reads what follows from the rules alone, so all members know it of all.

use std::{
    iter::repeat_n,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use rayon::prelude::*;
use thiserror::Error;

use crate::halo::{
    codec::{Content, Packed, PackedStrip, STRIP, WrongPart, compressed, decompressed, strips},
    share::{Share, Strip},
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
