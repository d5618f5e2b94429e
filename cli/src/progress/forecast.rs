//! How far a solve is, and how long it will take.
//!
//! The work of a step is its positions times its supersteps. How many of these it needs depends on
//! how far the players are apart, and changes slowly from level to level: about as many as the
//! solved step that is most like it. Once the residual of a step under way is small, it falls by
//! nearly the same factor f in every superstep, and all changes to come are `f / (1 - f)` of the last one, so that
//! `ln(tolerance / residual * (1 - f) / f) / ln(f)` are left. A proof takes the longer the more supersteps the step took.
//! Where a step takes far more supersteps than any before it and its residual does not fall, nothing is known.
//!
//! What is remembered does not grow with the number of supersteps: of old ones, fewer are.

use std::collections::VecDeque;

use ziggurat_encoding::Tier;
use ziggurat_kernel::Event;

/// Supersteps of a step before any is solved: what finkel needs on average.
const TYPICAL_SUPERSTEPS: f64 = 60.0;

/// Before this share of the work is done, the speed says little: the first steps are tiny.
const LEAST_FRACTION: f64 = 0.01;

/// Below this residual, a step falls steadily; before, it may stand nearly still for a while.
const STEADY_RESIDUAL: f64 = 1e-5;

/// The factor by which a residual falls is taken over this many supersteps, or this part of all, if that is more.
const FACTOR_SUPERSTEPS: u32 = 8;
const FACTOR_PART: u32 = 8;

/// All changes to come are no larger a multiple of the last one in the estimate that ends a step.
const MOST_CHANGES_TO_COME: f64 = 98.0;

/// A step that takes so many times the supersteps that were expected, or so many times the interval sweeps, may take any number.
const LOST: f64 = 2.0;

/// Before this many interval sweeps, a proof is not lost.
const FEW_SWEEPS: f64 = 32.0;

/// The most supersteps of a step that are remembered, and how many of the latest are among them.
const MOST_REMEMBERED: usize = 512;
const LATEST_REMEMBERED: usize = 64;

/// The speed is that of this many seconds past.
const SPEED_WINDOW_SECONDS: f64 = 20.0;

/// Times past that are remembered are at least so many seconds apart.
const SPEED_RESOLUTION_SECONDS: f64 = 0.1;

/// Interval sweeps of a proof for every superstep of the step, and the supersteps that take as long as one: what blitz and
/// finkel need.
const SWEEPS_PER_SUPERSTEP: f64 = 0.1;
const SUPERSTEPS_PER_SWEEP: f64 = 3.0;

/// The state of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StepState {
    /// Not begun.
    Waiting,
    /// Being swept.
    Active {
        /// Supersteps made.
        superstep: u32,
        /// The residual of the last one.
        residual: f64,
    },
    /// Swept, and being proven.
    Proving {
        /// Supersteps made.
        superstep: u32,
        /// Interval sweeps made.
        sweep: u32,
    },
    /// Solved.
    Done {
        /// Supersteps it took.
        supersteps: u32,
    },
}

/// What is known about a solve under way.
pub struct Forecast {
    steps: Vec<(Tier, u64)>,
    tolerance: f64,
    /// Whether steps are proven.
    certified: bool,
    states: Vec<StepState>,
    /// Of each step, its supersteps so far, as far as they were seen and are remembered, with their residuals.
    residuals: Vec<Vec<(u32, f64)>>,
    /// Seconds gone and positions swept, over all steps and supersteps, at some times past.
    swept: Past,
    /// Seconds gone and work made, at some times past.
    made: Past,
    latest: usize,
}

impl Forecast {
    /// Nothing has happened yet. Steps are given by their positions; one ends at a residual of `tolerance`, and is then
    /// proven if it is to be `certified`.
    pub fn new(steps: Vec<(Tier, u64)>, tolerance: f64, certified: bool) -> Self {
        Self {
            tolerance,
            certified,
            states: vec![StepState::Waiting; steps.len()],
            residuals: vec![Vec::new(); steps.len()],
            swept: Past::from([(0.0, 0.0)]),
            made: Past::from([(0.0, 0.0)]),
            latest: 0,
            steps,
        }
    }

    /// Takes note of an event, `seconds` after the solve began.
    pub fn tell(&mut self, event: &Event, seconds: f64) {
        match *event {
            Event::StepStarted { step } => {
                self.states[step] = StepState::Active { superstep: 0, residual: 1.0 };
                self.latest = step;
            }
            Event::Superstep { step, superstep, residual, swept_positions, .. } => {
                self.see(step, StepState::Active { superstep, residual });
                self.swept(seconds, swept_positions);
            }
            Event::StepResumed { step, supersteps } => {
                self.states[step] = StepState::Active { superstep: supersteps, residual: 1.0 };
                self.latest = step;
                self.made.clear(); // that was not made now
            }
            Event::StepFound { step, supersteps } => {
                self.states[step] = StepState::Done { supersteps };
                self.made.clear();
            }
            Event::Certifying { step, sweep, .. } => {
                if let StepState::Active { superstep, .. } | StepState::Proving { superstep, .. } =
                    self.states[step]
                {
                    self.states[step] = StepState::Proving { superstep, sweep };
                }
                self.latest = step;
            }
            Event::StepFinished { step, .. } => {
                if let StepState::Active { superstep, .. } | StepState::Proving { superstep, .. } =
                    self.states[step]
                {
                    self.states[step] = StepState::Done { supersteps: superstep };
                }
            }
        }
        self.time(seconds);
    }

    /// Takes note of the state of a step. One that has gone back, as after a loss, is where it is.
    pub fn see(&mut self, step: usize, state: StepState) {
        self.states[step] = state;
        if let StepState::Active { superstep, residual } = state {
            let residuals = &mut self.residuals[step];
            let earlier = residuals.partition_point(|&(made, _)| made < superstep);
            residuals.truncate(earlier);
            residuals.push((superstep, residual));
            if residuals.len() > MOST_REMEMBERED {
                forget_half(residuals);
            }
            self.latest = step;
        }
    }

    /// Takes note of how many positions were swept, over all steps and supersteps, in so many
    /// seconds.
    pub fn swept(&mut self, seconds: f64, positions: u64) {
        push(&mut self.swept, seconds, positions as f64);
    }

    /// Takes note of when all that was told so far had been made.
    pub fn time(&mut self, seconds: f64) {
        let (made, _) = self.work();
        if self.made.back().is_some_and(|&(_, before)| made < before) {
            self.made.clear(); // something was lost
        }
        push(&mut self.made, seconds, made);
    }

    /// The supersteps of a step that were seen, with their residuals: the latest ones, and some of the others.
    pub fn residuals(&self, step: usize) -> &[(u32, f64)] {
        &self.residuals[step]
    }

    /// The states of all steps, in the order of the plan.
    pub fn states(&self) -> &[StepState] {
        &self.states
    }

    /// The step of the latest event.
    pub fn latest(&self) -> usize {
        self.latest
    }

    /// Positions swept per second, of late.
    pub fn speed(&self) -> f64 {
        per_second(&self.swept)
    }

    /// The share of all work that is done, 0..=1, as far as can be told.
    pub fn fraction(&self) -> f64 {
        let (made, needed) = self.work();
        if needed > 0.0 { made / needed } else { 0.0 }
    }

    /// Seconds left at the speed of late; `None` before that can be told, and where it cannot be.
    pub fn seconds_left(&self) -> Option<f64> {
        let (made, needed) = self.work();
        let speed = per_second(&self.made);
        let is_known = made >= LEAST_FRACTION * needed && speed > 0.0 && !self.is_lost();
        is_known.then(|| (needed - made) / speed)
    }

    /// That nobody knows how long a solve will take, where that is so.
    pub fn lost(&self) -> Option<String> {
        self.is_lost().then(|| "time left unknown".to_owned())
    }

    /// Whether a step is under way of which nobody knows how many supersteps or interval sweeps it still takes.
    fn is_lost(&self) -> bool {
        self.states.iter().enumerate().any(|(step, state)| match *state {
            StepState::Active { superstep, .. } => self.left(step, superstep).is_none(),
            StepState::Proving { superstep, sweep } => {
                let expected = SWEEPS_PER_SUPERSTEP * f64::from(superstep);
                f64::from(sweep) > LOST * expected.max(FEW_SWEEPS)
            }
            StepState::Waiting | StepState::Done { .. } => false,
        })
    }

    /// Position-sweeps made, and those needed in all. What proofs take counts as so many supersteps.
    fn work(&self) -> (f64, f64) {
        let mut work = (0.0, 0.0);
        for (step, &(_, positions)) in self.steps.iter().enumerate() {
            let (made, needed) = self.supersteps(step);
            work.0 += made * positions as f64;
            work.1 += needed * positions as f64;
        }
        work
    }

    /// The share of the supersteps of a step that are made, 0..=1, as far as can be told.
    pub fn step_fraction(&self, step: usize) -> f64 {
        match self.states[step] {
            StepState::Done { .. } => 1.0,
            _ => {
                let (made, needed) = self.supersteps(step);
                made / needed.max(1.0)
            }
        }
    }

    /// Supersteps made of a step, and those needed in all, with its proof.
    fn supersteps(&self, step: usize) -> (f64, f64) {
        let proof = if self.certified { SWEEPS_PER_SUPERSTEP * SUPERSTEPS_PER_SWEEP } else { 0.0 };
        let proven = |supersteps: f64| supersteps * (1.0 + proof);
        match self.states[step] {
            StepState::Done { supersteps } => {
                let made = proven(f64::from(supersteps));
                (made, made)
            }
            StepState::Proving { superstep, sweep } => {
                let sweeps = f64::from(sweep.saturating_sub(1));
                let made = f64::from(superstep) + sweeps * SUPERSTEPS_PER_SWEEP;
                let needed = proven(f64::from(superstep)).max(made + SUPERSTEPS_PER_SWEEP);
                (made, needed)
            }
            StepState::Waiting => (0.0, proven(self.expected(step))),
            StepState::Active { superstep, .. } => {
                let made = f64::from(superstep);
                // Nobody knows: half way, perhaps.
                let left = self.left(step, superstep).unwrap_or(made);
                (made, proven(made + left))
            }
        }
    }

    /// Supersteps that the solved step most like this one took: with the players as far apart if
    /// there is one, then of the nearest level.
    fn expected(&self, step: usize) -> f64 {
        let apart = |tier: Tier| tier.just_moved.abs_diff(tier.to_move);
        let (this, _) = self.steps[step];
        let solved = self.steps.iter().zip(&self.states).filter_map(|(&(tier, _), state)| {
            let StepState::Done { supersteps } = state else { return None };
            let unlike = (apart(tier).abs_diff(apart(this)), tier.level().abs_diff(this.level()));
            Some((unlike, f64::from(*supersteps)))
        });
        solved.min_by_key(|(unlike, _)| *unlike).map_or(TYPICAL_SUPERSTEPS, |(_, made)| made)
    }

    /// Supersteps left of a step that has made so many; `None` if that cannot be told.
    fn left(&self, step: usize, superstep: u32) -> Option<f64> {
        let (made, expected) = (f64::from(superstep), self.expected(step));
        let left = self.steadily(step).filter(|&left| left > 0.0).unwrap_or(expected - made);
        (left > 0.0 || made <= LOST * expected).then_some(left.max(1.0))
    }

    /// Supersteps left of a step whose residual falls steadily.
    fn steadily(&self, step: usize) -> Option<f64> {
        let residuals = &self.residuals[step];
        let &(superstep, now) = residuals.last()?;
        let earlier = superstep.checked_sub(FACTOR_SUPERSTEPS.max(superstep / FACTOR_PART))?;
        let place = residuals.partition_point(|&(made, _)| made <= earlier).checked_sub(1)?;
        let (since, before) = residuals[place];
        let falls = now > 0.0 && now < before && now <= STEADY_RESIDUAL;
        let factor = (now / before).powf(1.0 / f64::from(superstep - since));
        let to_come = (factor / (1.0 - factor)).clamp(1.0, MOST_CHANGES_TO_COME);
        falls.then(|| (self.tolerance / to_come / now).ln() / factor.ln())
    }
}

/// Forgets every second of the supersteps but the latest ones.
fn forget_half(residuals: &mut Vec<(u32, f64)>) {
    let latest = residuals.len() - LATEST_REMEMBERED;
    let mut place = 0..;
    residuals.retain(|_| place.next().is_some_and(|place| place >= latest || place % 2 == 0));
}

/// Seconds gone, and how much of something there had been by then.
type Past = VecDeque<(f64, f64)>;

/// Adds what was so far at a time, and forgets what is long past.
fn push(past: &mut Past, seconds: f64, so_far: f64) {
    // The last one stays as near as it is.
    while past.len() > 1 && past[past.len() - 2].0 > seconds - SPEED_RESOLUTION_SECONDS {
        past.pop_back();
    }
    past.push_back((seconds, so_far));
    while past.len() > 2 && past[1].0 < seconds - SPEED_WINDOW_SECONDS {
        past.pop_front();
    }
}

/// How fast something grew of late.
fn per_second(past: &Past) -> f64 {
    let (Some(&(began, before)), Some(&(now, after))) = (past.front(), past.back()) else {
        return 0.0;
    };
    (after - before).max(0.0) / (now - began).max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(positions: &[u64]) -> Forecast {
        let tier = |i: usize| Tier::new(i as u8 + 1, i as u8 + 1);
        let steps = positions.iter().enumerate().map(|(i, &positions)| (tier(i), positions));
        Forecast::new(steps.collect(), 1e-12, false)
    }

    #[test]
    fn a_waiting_step_is_expected_to_need_what_a_solved_one_did() {
        let mut forecast = forecast(&[100, 300]);
        forecast.states[0] = StepState::Done { supersteps: 40 };
        assert_eq!(forecast.fraction(), 0.25);
        forecast.time(10.0);
        assert_eq!(forecast.seconds_left(), Some(30.0));
    }

    #[test]
    fn a_proof_takes_its_time() {
        let mut forecast = forecast(&[100]);
        forecast.certified = true;
        forecast.see(0, StepState::Active { superstep: 30, residual: 1e-13 });
        forecast.time(30.0);
        for (sweep, seconds, left) in
            [(1, 30.0, 9.0), (2, 33.0, 6.0), (3, 36.0, 3.0), (4, 39.0, 3.0)]
        {
            forecast.see(0, StepState::Proving { superstep: 30, sweep });
            forecast.time(seconds);
            let told = forecast.seconds_left().unwrap();
            assert!((told - left).abs() < 1e-9, "{sweep}: {told}");
        }
        forecast.see(0, StepState::Done { supersteps: 30 });
        assert_eq!(forecast.seconds_left(), Some(0.0));
    }

    #[test]
    fn what_was_found_was_not_made_now() {
        let mut forecast = forecast(&[300, 100]);
        forecast.tell(&Event::StepFound { step: 0, supersteps: 40 }, 0.1);
        for superstep in 1..=10 {
            let event = Event::Superstep {
                step: 1,
                superstep,
                residual: 0.1,
                swept_positions: 100 * u64::from(superstep),
            };
            forecast.tell(&event, 0.1 + f64::from(superstep));
        }
        assert!((forecast.seconds_left().unwrap() - 30.0).abs() < 1e-9);
    }

    #[test]
    fn the_step_most_like_another_has_players_as_far_apart() {
        let tiers = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)];
        let steps = tiers.map(|(more, fewer)| (Tier::new(more, fewer), 1)).to_vec();
        let mut forecast = Forecast::new(steps, 1e-12, false);
        for (step, supersteps) in [51, 33, 21, 40].into_iter().enumerate() {
            forecast.states[step] = StepState::Done { supersteps };
        }
        assert_eq!(forecast.expected(4), 33.0);
        assert_eq!(forecast.expected(5), 21.0);
    }

    #[test]
    fn a_residual_that_falls_steadily_tells_the_supersteps_left() {
        let mut forecast = forecast(&[100]);
        for superstep in 1..=10 {
            let residual = 10f64.powi(-superstep);
            let (superstep, swept_positions) = (superstep as u32, 100 * superstep as u64);
            let event = Event::Superstep { step: 0, superstep, residual, swept_positions };
            forecast.tell(&event, f64::from(superstep));
        }
        // Ten of twelve digits in ten of twelve supersteps.
        assert!((forecast.fraction() - 10.0 / 12.0).abs() < 1e-9);
        assert!((forecast.seconds_left().unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn supersteps_that_were_not_seen_are_filled_in() {
        let mut forecast = forecast(&[100]);
        for superstep in [1, 2, 8, 10] {
            let residual = 10f64.powi(-superstep);
            forecast.see(0, StepState::Active { superstep: superstep as u32, residual });
        }
        assert!((forecast.fraction() - 10.0 / 12.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_remembered_does_not_grow_with_the_supersteps() {
        let mut forecast = forecast(&[10]);
        for superstep in 1..=1_000_000 {
            let residual = 1e-9 * f64::from(superstep).recip();
            let swept_positions = 10 * u64::from(superstep);
            let event = Event::Superstep { step: 0, superstep, residual, swept_positions };
            forecast.tell(&event, 1e-5 * f64::from(superstep));
        }
        let seen = forecast.residuals(0);
        assert!(seen.len() <= MOST_REMEMBERED, "{}", seen.len());
        assert!(seen.is_sorted_by_key(|&(made, _)| made) && seen[0].0 == 1);
        let latest: Vec<u32> = seen[seen.len() - 32..].iter().map(|&(made, _)| made).collect();
        assert!(latest.iter().copied().eq(1_000_000 - 31..=1_000_000));
        let most = (SPEED_WINDOW_SECONDS / SPEED_RESOLUTION_SECONDS) as usize + 3;
        assert!(forecast.swept.len() <= most && forecast.made.len() <= most);
        assert!((forecast.speed() / 1e6 - 1.0).abs() < 0.01, "{}", forecast.speed());
    }

    #[test]
    fn a_step_that_goes_on_for_ever_has_no_time_left_to_tell() {
        let mut forecast = forecast(&[100]);
        for superstep in 1..=10_000 {
            // Below the tolerance, but for all that is still to come, and it does not fall.
            let residual = 1e-13;
            let swept_positions = 100 * u64::from(superstep);
            let event = Event::Superstep { step: 0, superstep, residual, swept_positions };
            forecast.tell(&event, f64::from(superstep));
            assert!(superstep <= 120 || forecast.seconds_left().is_none(), "{superstep}");
        }
        assert!(forecast.is_lost() && forecast.fraction() < 0.9);
        forecast.see(0, StepState::Proving { superstep: 10, sweep: 3 });
        assert!(!forecast.is_lost());
        forecast.see(0, StepState::Proving { superstep: 10, sweep: 1000 });
        assert!(forecast.is_lost() && forecast.seconds_left().is_none());
    }

    #[test]
    fn a_step_that_has_gone_back_forgets_what_was_lost() {
        let mut forecast = forecast(&[100]);
        for superstep in [5, 6, 7, 6] {
            forecast.see(0, StepState::Active { superstep, residual: 0.1 });
        }
        assert_eq!(forecast.residuals(0), [(5, 0.1), (6, 0.1)]);
    }

    #[test]
    fn the_speed_is_that_of_late() {
        let mut forecast = forecast(&[1_000_000]);
        for second in 1..=100u32 {
            let swept =
                if second <= 50 { u64::from(second) } else { 50 + 1000 * u64::from(second - 50) };
            let event = Event::Superstep {
                step: 0,
                superstep: second,
                residual: 0.1,
                swept_positions: swept,
            };
            forecast.tell(&event, f64::from(second));
        }
        assert!((forecast.speed() - 1000.0).abs() < 1.0);
    }

    #[test]
    fn a_solve_that_has_not_begun_has_no_time_left_to_tell() {
        assert_eq!(forecast(&[5, 5]).seconds_left(), None);
        assert_eq!(forecast(&[5, 5]).fraction(), 0.0);
    }
}
