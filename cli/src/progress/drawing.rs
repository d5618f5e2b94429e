//! The steps of a solve as a ziggurat: level `j` from the ground holds the steps in which the
//! player with fewer pieces left has `j`. Steps are solved by ascending number of pieces left,
//! so it grows from the ground and is finished by its top, the step with all pieces left.

use ziggurat_kernel::Plan;

use super::forecast::StepState;

/// Up to this number of pieces, stones are wide.
const MOST_WIDE: u8 = 8;

/// The levels from the top down, all of the same width. `states` has the states of the plan's
/// steps.
pub fn ziggurat(plan: &Plan, states: &[StepState]) -> Vec<String> {
    let pieces = plan.steps.iter().map(|step| larger(step.tier)).max().unwrap_or(0);
    let stone = if pieces <= MOST_WIDE { 3 } else { 1 };
    (1..=pieces)
        .rev()
        .map(|level| {
            let mut steps: Vec<_> = plan
                .steps
                .iter()
                .zip(states)
                .filter(|(step, _)| smaller(step.tier) == level)
                .collect();
            steps.sort_by_key(|(step, _)| larger(step.tier));
            let stones: Vec<String> =
                steps.iter().map(|(_, state)| face(**state).repeat(stone)).collect();
            let indent = " ".repeat((level as usize - 1) * (stone + 1) / 2);
            format!("{indent}{}{indent}", stones.join(" "))
        })
        .collect()
}

fn face(state: StepState) -> &'static str {
    match state {
        StepState::Waiting => "░",
        StepState::Active { .. } => "▒",
        StepState::Proving { .. } => "▓",
        StepState::Done { .. } => "█",
    }
}

fn smaller(tier: ziggurat_encoding::Tier) -> u8 {
    tier.just_moved.min(tier.to_move)
}

fn larger(tier: ziggurat_encoding::Tier) -> u8 {
    tier.just_moved.max(tier.to_move)
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Tier;
    use ziggurat_kernel::Step;

    use super::*;

    #[test]
    fn three_pieces_make_three_levels_that_are_finished_by_the_top() {
        let step = |more, fewer| Step { tier: Tier::new(more, fewer), positions: 1, shards: 1 };
        let steps = vec![step(1, 1), step(2, 1), step(2, 2), step(3, 1), step(3, 2), step(3, 3)];
        let plan = Plan { steps, positions: 6, peak_memory_bytes: 0, scratch_bytes: 0 };
        let mut states = [StepState::Done { supersteps: 1 }; 6];
        states[5] = StepState::Waiting;
        assert_eq!(ziggurat(&plan, &states), ["    ░░░    ", "  ███ ███  ", "███ ███ ███"]);
    }
}
