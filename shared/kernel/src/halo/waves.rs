//! The loop over the waves of a sweep: the units of a wave are swept at the same time, and publish at its end.

use ziggurat_planning::waves::{UnitIndex, Wave};

use crate::halo::team::{ExchangeError, Team, WaveExchange, is_own};

/// A sweep of all units of a step.
pub trait SweepByWaves {
    /// The results of a wave before they are published.
    type Swept;

    /// Sweeps units of a wave, all own ones, in ascending order. They read the results of earlier waves. A team's member
    /// sends the results of each to the others as soon as it is swept.
    ///
    /// # Errors
    /// If other members cannot be reached.
    fn sweep(
        &mut self,
        own: &[UnitIndex],
        exchange: Option<&WaveExchange<'_>>,
    ) -> Result<Self::Swept, ExchangeError>;

    /// Publishes the results of these units. A team's member receives those of the others, too.
    ///
    /// # Errors
    /// If other members cannot be reached.
    fn publish(
        &mut self,
        own: &[UnitIndex],
        swept: Self::Swept,
        exchange: Option<&WaveExchange<'_>>,
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
    for (i, wave) in waves.iter().enumerate() {
        let own: Wave = wave.iter().copied().filter(|&unit| is_own(team, unit)).collect();
        let exchange = team.map(|team| team.wave(i));
        let swept = sweep.sweep(&own, exchange.as_ref())?;
        sweep.publish(&own, swept, exchange.as_ref())?;
    }
    Ok(())
}
