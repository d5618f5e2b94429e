//! Residuals against supersteps, thinned.
//!
//! A residual falls by nearly the same factor from superstep to superstep, so a line through few points shows as much as
//! one through all. Points stay whose number has at most six significant bits: all up to 64, every second one up to
//! 128, and so on. Which stay depends on their numbers alone, so curves are the same however often a step was begun
//! anew.

use serde::{Deserialize, Serialize};

/// Significant bits of the numbers of points that stay.
const SIGNIFICANT_BITS: u32 = 6;

/// The type of the values that are swept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// The way of a step to its solution.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Curve {
    /// Residuals of supersteps in `f32`.
    pub f32: Series,
    /// Residuals of those in `f64`, which are counted on.
    pub f64: Series,
    /// The largest distance of a bound from its value, by interval sweep of the last proof.
    pub proof: Series,
}

impl Curve {
    pub(crate) fn superstep(&mut self, phase: Phase, superstep: u32, residual: f64) {
        self.proof.clear();
        self.f32.cut(superstep);
        self.f64.cut(superstep);
        match phase {
            Phase::F32 => self.f32.push(superstep, residual),
            Phase::F64 => self.f64.push(superstep, residual),
        }
    }

    /// Deals the points of supersteps out anew: the first so many were made in `f32`.
    pub(crate) fn widened(&mut self, in_f32: u32) {
        let all = self.f32.0.iter().chain(&self.f64.0).copied();
        let (f32, f64) = all.partition(|&(superstep, _)| superstep <= in_f32);
        (self.f32, self.f64) = (Series(f32), Series(f64));
    }

    /// How many points it has.
    pub fn len(&self) -> usize {
        [&self.f32, &self.f64, &self.proof].map(|series| series.0.len()).iter().sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Numbered points, of which few stay.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Series(Vec<(u32, f32)>);

impl Series {
    /// A series of some points, by rising numbers.
    pub fn from_points(points: impl IntoIterator<Item = (u32, f32)>) -> Self {
        let mut series = Self::default();
        points.into_iter().for_each(|(number, value)| series.push(number, value.into()));
        series
    }

    /// The points that stayed, by number.
    pub fn points(&self) -> &[(u32, f32)] {
        &self.0
    }

    /// Adds a point. Those of its number and later ones are forgotten. What is no number is left out.
    pub fn push(&mut self, number: u32, value: f64) {
        self.cut(number);
        let value = value as f32;
        if !value.is_finite() {
            return;
        }
        if self.0.len() > 1 && self.0.last().is_some_and(|&(last, _)| !stays(last)) {
            self.0.pop();
        }
        self.0.push((number, value));
    }

    fn cut(&mut self, number: u32) {
        let kept = self.0.partition_point(|&(other, _)| other < number);
        self.0.truncate(kept);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Whether a point stays when there is a later one.
fn stays(number: u32) -> bool {
    let bits = u32::BITS - number.leading_zeros();
    number.trailing_zeros() + SIGNIFICANT_BITS >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl Iterator<Item = u32>) -> Series {
        let mut series = Series::default();
        numbers.for_each(|number| series.push(number, 1.0 / f64::from(number)));
        series
    }

    fn numbers(series: &Series) -> Vec<u32> {
        series.points().iter().map(|&(number, _)| number).collect()
    }

    #[test]
    fn few_points_stay_the_first_and_the_last_among_them() {
        let series = numbers(&of(1..=1_000_003));
        assert_eq!(series[..64], (1..=64).collect::<Vec<_>>());
        assert_eq!(series[64..68], [66, 68, 70, 72]);
        assert_eq!(series.last(), Some(&1_000_003));
        assert!(series.len() < 64 + 32 * 15, "{}", series.len());
        assert!(series.is_sorted());
        // It may begin anywhere.
        assert_eq!(numbers(&of(517..=545)), [517, 528, 544, 545]);
    }

    #[test]
    fn of_the_largest_numbers_no_more_stay_than_of_others() {
        let last = u32::MAX;
        assert!((last - 1_000_000..=last).filter(|&number| stays(number)).count() <= 1);
        assert!(stays(1 << 31) && stays(63) && !stays(65) && stays(0));
    }

    #[test]
    fn a_step_that_goes_back_draws_the_same_curve() {
        let straight = of(1..=777);
        let mut again = of(1..=700);
        (333..=777).for_each(|number| again.push(number, 1.0 / f64::from(number)));
        assert_eq!(again, straight);
    }

    #[test]
    fn what_comes_later_in_another_phase_is_forgotten_as_well() {
        let mut curve = Curve::default();
        for superstep in 1..=9 {
            let phase = if superstep < 6 { Phase::F32 } else { Phase::F64 };
            curve.superstep(phase, superstep, 0.5);
        }
        curve.proof.push(1, 1e-12);
        curve.superstep(Phase::F32, 4, 0.25);
        assert_eq!(numbers(&curve.f32), [1, 2, 3, 4]);
        assert!(curve.f64.points().is_empty() && curve.proof.points().is_empty());
    }

    #[test]
    fn points_are_dealt_out_anew_once_it_is_known_which_were_made_in_f32() {
        let mut curve = Curve::default();
        (1..=9).for_each(|superstep| curve.superstep(Phase::F32, superstep, 0.5));
        curve.widened(6);
        assert_eq!((numbers(&curve.f32), numbers(&curve.f64)), ((1..=6).collect(), vec![7, 8, 9]));
        curve.widened(7);
        assert_eq!(numbers(&curve.f64), [8, 9]);
    }

    #[test]
    fn a_residual_that_is_no_number_is_no_point() {
        let mut series = Series::default();
        [f64::NAN, f64::INFINITY, 1e300].into_iter().for_each(|value| series.push(1, value));
        assert!(series.points().is_empty());
    }
}
