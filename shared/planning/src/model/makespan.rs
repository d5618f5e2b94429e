//! The makespan of units of work on equal cores, the largest first.
//!
//! A core that is done takes the largest unit that is left. No schedule is shorter than 3/4 of this one (Graham 1969).

use std::{cmp::Reverse, collections::BinaryHeap};

/// How long the cores take for units that take so long each, in the same unit of time. No time is negative.
///
/// ```
/// use ziggurat_planning::model::makespan::makespan;
///
/// assert_eq!(makespan(vec![3.0, 1.0, 2.0, 2.0], 2), 4.0);
/// assert_eq!(makespan(vec![5.0, 1.0], 16), 5.0, "no more cores than units are of use");
/// assert_eq!(makespan(vec![], 4), 0.0);
/// ```
///
/// # Panics
/// If there is no core.
pub fn makespan(mut units: Vec<f64>, cores: usize) -> f64 {
    assert!(cores > 0, "somebody has to do the work");
    let longest = units.iter().copied().fold(0.0, f64::max);
    if units.len() <= cores {
        return longest;
    }
    if cores == 1 {
        return units.iter().sum();
    }
    units.sort_unstable_by(|a, b| b.total_cmp(a));
    // Numbers that are not negative have the order of their bits.
    let mut done_at: BinaryHeap<_> =
        std::iter::repeat_n(Reverse(0.0_f64.to_bits()), cores).collect();
    let mut last = 0.0_f64;
    for unit in units {
        let Reverse(free) = done_at.pop().expect("there are cores");
        let done = f64::from_bits(free) + unit;
        last = last.max(done);
        done_at.push(Reverse(done.to_bits()));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_first_is_as_graham_has_it() {
        // The worst case for two cores: 7 in place of 6.
        assert_eq!(makespan(vec![2.0, 3.0, 2.0, 2.0, 3.0], 2), 7.0);
        assert_eq!(makespan(vec![1.0; 10], 3), 4.0);
        assert_eq!(makespan(vec![1.0; 10], 1), 10.0);
    }

    #[test]
    fn no_makespan_is_shorter_than_the_longest_unit_or_an_even_share() {
        let units: Vec<f64> = (0..100).map(|i| f64::from(i * i % 37)).collect();
        let (sum, longest) = (units.iter().sum::<f64>(), 36.0);
        for cores in 1..120 {
            let took = makespan(units.clone(), cores);
            let least = (sum / cores as f64).max(longest);
            assert!(took >= least && took <= least * 4.0 / 3.0, "{cores} cores: {took}");
        }
    }
}
