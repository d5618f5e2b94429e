//! Placement: which member of a team gets which shards.
//!
//! A sweep waits, wave by wave, for the slowest member. A shard has units in several waves. So shards are dealt out one by
//! one, the largest first, each to whoever would be done first with the waves that it has units in (after Graham 1969, who
//! has one kind of work; for members that are not equally fast, Gonzalez, Ibarra and Sahni 1977). Among equals it goes to
//! the member with the fewest positions.
//! That the shards of a member are from all over a wave costs little: it reads most of the shards of others, whichever
//! its own are.

use std::cmp::Reverse;

use crate::waves::{Unit, Wave};

/// Steps with fewer positions are solved by one worker each, several at a time.
pub const TEAM_STEP_POSITIONS: u64 = 2 << 20;

/// The positions of a shard by wave: those waves that it has units in, ascending.
pub type ShardWaves = Vec<(u32, u64)>;

/// The positions of so many shards by wave.
pub fn shards_by_wave(shards: usize, units: &[Unit], waves: &[Wave]) -> Vec<ShardWaves> {
    let mut all = vec![ShardWaves::new(); shards];
    for (i, wave) in (0..).zip(waves) {
        for unit in wave {
            let Unit { shard, .. } = units[unit.0];
            let positions = units[unit.0].positions();
            match all[shard.0].last_mut() {
                Some((last, sum)) if *last == i => *sum += positions,
                _ => all[shard.0].push((i, positions)),
            }
        }
    }
    all
}

/// The positions of a shard.
pub fn positions_of(shard: &ShardWaves) -> u64 {
    shard.iter().map(|(_, positions)| positions).sum()
}

/// For each shard, by its positions in waves, the member that owns it; members are given by their speeds in positions per
/// second. A member that would only make others wait gets none.
pub fn deal(shards: &[ShardWaves], speeds: &[f64]) -> Vec<usize> {
    let waves = shards.iter().flatten().map(|&(wave, _)| wave as usize + 1).max().unwrap_or(0);
    let mut loads = vec![vec![0; speeds.len()]; waves];
    let mut order: Vec<usize> = (0..shards.len()).collect();
    order.sort_by_cached_key(|&shard| Reverse(positions_of(&shards[shard])));
    let mut owners = vec![0; shards.len()];
    let mut held = vec![0; speeds.len()];
    for shard in order {
        // The time until the member is done with each of the waves, on average over the positions of the shard.
        let done = |&member: &usize| {
            let waves = shards[shard].iter().map(|&(wave, positions)| {
                positions as f64 * (loads[wave as usize][member] + positions) as f64
            });
            waves.sum::<f64>() / speeds[member]
        };
        let members = 0..speeds.len();
        let first =
            members.min_by(|a, b| done(a).total_cmp(&done(b)).then(held[*a].cmp(&held[*b])));
        owners[shard] = first.expect("there are members");
        for &(wave, positions) in &shards[shard] {
            loads[wave as usize][owners[shard]] += positions;
            held[owners[shard]] += positions;
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_goes_to_whoever_is_done_first_with_its_waves() {
        // The largest first, 0 to the first member and 1, of the same wave, to the second. Shard 2 shares a wave with 1,
        // and shard 3 one with 0.
        let shards = [vec![(0, 9)], vec![(0, 1), (1, 7)], vec![(1, 5)], vec![(0, 2), (2, 2)]];
        assert_eq!(deal(&shards, &[1.0, 1.0]), [0, 1, 0, 1]);
        assert_eq!(deal(&shards, &[1.0, 1e-3]), [0; 4], "the second would make the first wait");
    }
}
