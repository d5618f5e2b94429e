//! The steps of a solve as a ziggurat: level `j` from the ground holds the steps in which the
//! player with fewer pieces left has `j`. Steps are solved by ascending number of pieces left,
//! so it grows from the ground and is finished by its top, the step with all pieces left.

use ziggurat_encoding::Tier;
use ziggurat_kernel::Plan;

use super::forecast::StepState;

/// Up to this number of pieces, stones are wide.
const MOST_WIDE: usize = 8;

/// The levels from the top down, all of the same width. `states` has the states of the plan's
/// steps.
pub fn ziggurat(plan: &Plan, states: &[StepState]) -> Vec<String> {
    let tiers: Vec<Tier> = plan.steps.iter().map(|step| step.tier).collect();
    let levels = levels(&tiers);
    let stone = if levels.len() <= MOST_WIDE { 3 } else { 1 };
    let count = levels.len();
    let level = |(above, steps): (usize, Vec<usize>)| {
        let stones: Vec<String> =
            steps.iter().map(|&step| face(states[step]).repeat(stone)).collect();
        let indent = " ".repeat(indent(count - 1 - above, stone));
        format!("{indent}{}{indent}", stones.join(" "))
    };
    levels.into_iter().enumerate().map(level).collect()
}

/// The steps on each level, by their places, from the top down and from left to right.
pub fn levels(tiers: &[Tier]) -> Vec<Vec<usize>> {
    let pieces = tiers.iter().copied().map(larger).max().unwrap_or(0);
    let on = |level: u8| {
        let mut steps: Vec<usize> =
            (0..tiers.len()).filter(|&step| smaller(tiers[step]) == level).collect();
        steps.sort_by_key(|&step| larger(tiers[step]));
        steps
    };
    (1..=pieces).rev().map(on).collect()
}

/// How far a level so high above the ground stands in, if stones have this width and a gap of one
/// between them.
pub fn indent(height: usize, stone: usize) -> usize {
    height * (stone + 1) / 2
}

fn face(state: StepState) -> &'static str {
    match state {
        StepState::Waiting => "░",
        StepState::Active { .. } => "▒",
        StepState::Proving { .. } => "▓",
        StepState::Done { .. } => "█",
    }
}

fn smaller(tier: Tier) -> u8 {
    tier.just_moved.min(tier.to_move)
}

fn larger(tier: Tier) -> u8 {
    tier.just_moved.max(tier.to_move)
}

#[cfg(test)]
mod tests {
    use ziggurat_kernel::{SolveMemory, Step};

    use super::*;

    #[test]
    fn three_pieces_make_three_levels_that_are_finished_by_the_top() {
        let step = |more, fewer| Step { tier: Tier::new(more, fewer), positions: 1, shards: 1 };
        let steps = vec![step(1, 1), step(2, 1), step(2, 2), step(3, 1), step(3, 2), step(3, 3)];
        let batches = Vec::new();
        let plan = Plan { steps, batches, positions: 6, memory: SolveMemory::default() };
        let mut states = [StepState::Done { supersteps: 1 }; 6];
        states[5] = StepState::Waiting;
        assert_eq!(ziggurat(&plan, &states), ["    ░░░    ", "  ███ ███  ", "███ ███ ███"]);
    }
}
