//! The time of a sweep: waves of units, one after the other, with a barrier after each.
//!
//! This is Valiant's (1990) cost of a superstep, max(work) + exchange + barrier, with the makespan of units on the cores
//! of a member for its work. Units come from anywhere: those of the program are [here](super::units), smaller ones can be tried
//! here before they are built.

use crate::model::{
    costs::{Costs, Kind},
    makespan::makespan,
};

/// A unit of work: what a core sweeps without asking others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unit {
    /// Its positions.
    pub positions: u64,
    /// What is done with them.
    pub kind: Kind,
    /// The place of the member that does it.
    pub owner: usize,
}

/// The positions that a member sends and receives at a barrier, once for every member that they go to or come from.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Exchanged {
    /// To others.
    pub sent: f64,
    /// From others.
    pub received: f64,
}

/// A wave, and the exchange at its end.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WaveOfUnits {
    /// What is swept at the same time.
    pub units: Vec<Unit>,
    /// By member; empty where there is no exchange.
    pub exchanged: Vec<Exchanged>,
}

/// The network between machines. It is full duplex, and no two members share it. Members sweep meanwhile: a unit is sent as
/// soon as it is swept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Bytes that a member sends in a second, and receives.
    pub bytes_per_second: f64,
    /// Seconds there and back.
    pub round_trip_seconds: f64,
}

/// Equal members at work on a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Team {
    /// How many.
    pub members: usize,
    /// Cores of each.
    pub cores: usize,
    /// Between them.
    pub link: Link,
}

impl Team {
    /// One machine.
    pub fn alone(cores: usize) -> Self {
        let link = Link { bytes_per_second: f64::INFINITY, round_trip_seconds: 0.0 };
        Self { members: 1, cores, link }
    }

    /// Seconds of a barrier.
    fn barrier(&self, costs: &Costs) -> f64 {
        match self.members {
            1 => costs.barrier_seconds,
            _ => self.link.round_trip_seconds,
        }
    }

    /// Seconds that a member takes for its units, and for its exchange meanwhile.
    fn member(&self, units: Vec<f64>, exchanged: Exchanged, costs: &Costs, bytes: f64) -> f64 {
        let Exchanged { sent, received } = exchanged;
        // The exchange takes cores, too, which cannot sweep meanwhile.
        let packing = (sent + received) * costs.halo_nanoseconds * 1e-9 / self.cores as f64;
        let at_work = makespan(units, self.cores) + packing;
        let on_wire = sent.max(received) * bytes / self.link.bytes_per_second;
        at_work.max(on_wire)
    }
}

/// Seconds of a sweep whose halo positions take so many bytes each. It begins with an order, which is one more barrier.
///
/// Two members with a core each, two waves of supersteps, on a link of 1 MB/s and 1 ms. In the first wave each sweeps a
/// million positions; in the second the first member sweeps two million and sends the other a million of them:
///
/// ```
/// use ziggurat_planning::model::{
///     Costs, Kind, Link,
///     time::{Exchanged, Team, Unit, WaveOfUnits, sweep_seconds},
/// };
///
/// let link = Link { bytes_per_second: 1e6, round_trip_seconds: 1e-3 };
/// let team = Team { members: 2, cores: 1, link };
/// let costs = Costs { superstep_nanoseconds: 10.0, halo_nanoseconds: 5.0, ..Costs::MEASURED };
/// let unit = |owner, positions| Unit { positions, kind: Kind::Superstep, owner };
/// let first = WaveOfUnits {
///     units: vec![unit(0, 1_000_000), unit(1, 1_000_000)],
///     exchanged: Vec::new(),
/// };
/// let second = WaveOfUnits {
///     units: vec![unit(0, 2_000_000)],
///     exchanged: vec![
///         Exchanged { sent: 1e6, received: 0.0 },
///         Exchanged { sent: 0.0, received: 1e6 },
///     ],
/// };
/// let seconds = sweep_seconds(&[first, second], &team, &costs, 0.5);
/// // An order and two barriers; 10 ms; 500 ms on the wire, beside 20 ms of sweeping and 5 ms of packing.
/// let expected = 3.0 * 1e-3 + 10e-3 + 500e-3;
/// assert!((seconds - expected).abs() < 1e-9, "{seconds}");
/// ```
///
/// # Panics
/// If a unit's owner is not a member.
pub fn sweep_seconds(waves: &[WaveOfUnits], team: &Team, costs: &Costs, bytes: f64) -> f64 {
    let wave = |wave: &WaveOfUnits| {
        let mut units = vec![Vec::new(); team.members];
        for unit in &wave.units {
            units[unit.owner].push(costs.seconds(unit.kind, unit.positions));
        }
        let exchanged = |member: usize| wave.exchanged.get(member).copied().unwrap_or_default();
        let members = units.into_iter().enumerate();
        let seconds = members.map(|(i, units)| team.member(units, exchanged(i), costs, bytes));
        seconds.fold(0.0, f64::max) + team.barrier(costs)
    };
    waves.iter().map(wave).sum::<f64>() + team.barrier(costs)
}

/// Seconds of a checkpoint in which each member saves so many positions, of so many bytes on disk.
pub fn checkpoint_seconds(positions: &[u64], team: &Team, costs: &Costs, bytes: f64) -> f64 {
    let most = positions.iter().copied().max().unwrap_or(0) as f64;
    let packing = most * costs.checkpoint_nanoseconds * 1e-9 / team.cores as f64;
    // Packed pages are written while others are packed.
    packing.max(most * bytes / costs.disk_bytes_per_second) + team.barrier(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        superstep_nanoseconds: 10.0,
        interval_sweep_nanoseconds: 20.0,
        halo_nanoseconds: 5.0,
        barrier_seconds: 1e-6,
        ..Costs::MEASURED
    };

    fn wave(kind: Kind, positions: &[u64]) -> WaveOfUnits {
        let units = positions.iter().map(|&positions| Unit { positions, kind, owner: 0 });
        WaveOfUnits { units: units.collect(), exchanged: Vec::new() }
    }

    #[track_caller]
    fn is_about(seconds: f64, expected: f64) {
        assert!((seconds - expected).abs() < 1e-12, "{seconds} s, not {expected} s");
    }

    #[test]
    fn waves_follow_each_other_and_each_takes_its_makespan() {
        let waves = [
            wave(Kind::Superstep, &[4000, 2000, 2000]),
            wave(Kind::Tail, &[1000]),
            wave(Kind::IntervalSweep, &[1000]),
        ];
        let of = |cores| sweep_seconds(&waves, &Team::alone(cores), &COSTS, 1.0);
        is_about(of(1), (80.0 + 20.0 + 20.0 + 4.0) * 1e-6);
        is_about(of(2), (40.0 + 20.0 + 20.0 + 4.0) * 1e-6);
        is_about(of(64), of(2));
    }

    #[test]
    fn an_exchange_is_beside_a_sweep() {
        let both = |units: [u64; 2]| WaveOfUnits {
            units: vec![
                Unit { positions: units[0], kind: Kind::Superstep, owner: 0 },
                Unit { positions: units[1], kind: Kind::Superstep, owner: 1 },
            ],
            exchanged: vec![Exchanged { sent: 1000.0, received: 3000.0 }; 2],
        };
        let link = Link { bytes_per_second: 1e9, round_trip_seconds: 1e-4 };
        let team = Team { members: 2, cores: 4, link };
        let of = |units| sweep_seconds(&[both(units)], &team, &COSTS, 2.0);
        // 4000 positions of a halo take four cores 5 us, 3000 of them at 2 bytes are 6 us on the wire.
        is_about(of([1000, 800]), 2e-4 + 10e-6 + 5e-6);
        is_about(of([0, 0]), 2e-4 + 6e-6);
    }

    #[test]
    fn a_checkpoint_takes_the_cores_or_the_disk_of_the_member_with_most() {
        let costs = Costs { checkpoint_nanoseconds: 20.0, disk_bytes_per_second: 1e9, ..COSTS };
        let of = |cores| checkpoint_seconds(&[1000, 5000], &Team::alone(cores), &costs, 10.0);
        is_about(of(1), 100e-6 + 1e-6);
        is_about(of(4), 50e-6 + 1e-6);
    }
}
