//! The loop over the waves of a sweep: the units of a wave are swept at the same time, and publish at its end.

use ziggurat_planning::waves::{UnitIndex, Wave};

use crate::halo::team::{Barrier, ExchangeError, Team, is_own};

/// A sweep of all units of a step.
pub trait SweepByWaves {
    /// The results of a wave before they are published.
    type Swept;

    /// Sweeps units of a wave, all own ones, in ascending order. They read the results of earlier waves.
    fn sweep(&mut self, own: &[UnitIndex]) -> Self::Swept;

    /// Publishes the results of these units. A team's member sends them to the others at the barrier, and receives
    /// theirs.
    ///
    /// # Errors
    /// If other members cannot be reached.
    fn publish(
        &mut self,
        own: &[UnitIndex],
        swept: Self::Swept,
        barrier: Option<&Barrier<'_>>,
    ) -> Result<(), ExchangeError>;
}

/// Sweeps all units, or those of a team's member, wave by wave.
///
/// # Errors
/// If other members cannot be reached.
pub fn sweep_by_waves(
    sweep: &mut impl SweepByWaves,
    waves: &[Wave],
    team: Option<&Team<'_>>,
) -> Result<(), ExchangeError> {
    for wave in waves {
        let own: Wave = wave.iter().copied().filter(|&unit| is_own(team, unit)).collect();
        let swept = sweep.sweep(&own);
        let barrier = team.map(|team| team.barrier(Some(wave)));
        sweep.publish(&own, swept, barrier.as_ref())?;
    }
    Ok(())
}
