//! What is drawn, at several sizes, as text.

use ratatui::{Terminal, backend::TestBackend};
use ziggurat_rpc::proto::{JobState, StepState};

use super::*;
use crate::cluster::words::samples;

/// What the terminal shows, without spaces at the ends of lines.
fn drawn(following: &Following, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, following)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        format!("{}\n", cells.trim_end())
    };
    (0..height).map(line).collect()
}

/// A job that was seen twice: its residual halves in each superstep.
fn under_way() -> Following {
    let mut following = Following::new("127.0.0.1:7400");
    let mut status = samples::under_way();
    for superstep in 1..=12 {
        status.steps[4].supersteps = superstep;
        status.steps[4].residual = 0.5f64.powi(superstep as i32 * 2);
        following.hear(status.clone());
    }
    following
}

fn is(drawn: &str, expected: &str) {
    assert_eq!(drawn, expected, "\n{drawn}");
}

#[test]
fn a_job_under_way_on_a_terminal_of_the_usual_size() {
    let mut following = under_way();
    following.status.as_mut().unwrap().job.as_mut().unwrap().message.clear();
    is(
        &drawn(&following, 80, 24),
        "\
job 3, blitz-3: running                                           127.0.0.1:7400

       ░░░░░░           4 of 6 steps, 19.0 % of the positions
   ██████ ▒▒▒▒░░        3-2: superstep 12, residual 6.0e-8
██████ ██████ ██████    sweeps 10.4 M positions per second
                        52.0 MB exchanged, 0.52 per halo position
                        1 min 35 s gone, about 2 min 38 s left

residual against superstep
1e0 │      ⠤⠤⣀⣀⣀
    │           ⠉⠉⠉⠒⠒⠒⠤⠤⠤⢄⣀⣀⡀
    │                       ⠈⠉⠉⠑⠒⠒⠢⠤⠤⠤⣀⣀⣀
1e-4│                                    ⠉⠉⠉⠒⠒⠒⠤⠤⠤⣀⣀⣀
    │                                                ⠉⠉⠉⠑⠒⠒⠢⠤⠤⢄⣀⣀⡀
    │                                                            ⠈⠉⠉⠉⠒⠒⠒⠤⠤⠤⣀⣀⣀
1e-8│                                                                         ⠉⠉
    └───────────────────────────────────────────────────────────────────────────
    0                                                                         12

worker  shards  speed     memory   state
anu     5       31.2 M/s  512 MB   job 3, step 3-2
enki    5       31.2 M/s  512 MB   job 3, step 3-2
utu     0                 512 MB   silent for 40 s
q leaves; the job goes on
",
    );
}

#[test]
fn a_large_terminal_has_a_larger_chart() {
    is(
        &drawn(&under_way(), 110, 34),
        "\
job 3, blitz-3: running                                                                         127.0.0.1:7400

       ░░░░░░           4 of 6 steps, 19.0 % of the positions
   ██████ ▒▒▒▒░░        3-2: superstep 12, residual 6.0e-8
██████ ██████ ██████    sweeps 10.4 M positions per second
                        52.0 MB exchanged, 0.52 per halo position
                        1 min 35 s gone, about 2 min 38 s left

residual against superstep
1e0 │                                                                                                    ┌───┐
    │        ⠈⠑⠒⠢⠤⣀⡀                                                                                     │3-2│
    │              ⠈⠉⠑⠒⠤⠤⣀⣀                                                                              └───┘
    │                      ⠉⠑⠒⠢⠤⢄⣀⡀
    │                             ⠈⠉⠑⠒⠢⠤⢄⣀⡀
    │                                     ⠈⠉⠑⠒⠤⠤⣀⡀
    │                                            ⠈⠉⠑⠒⠤⢄⣀⡀
    │                                                   ⠈⠉⠒⠒⠤⢄⣀
1e-4│                                                          ⠉⠉⠒⠒⠤⠤⣀⣀⡀
    │                                                                  ⠈⠉⠑⠒⠢⠤⢄⣀
    │                                                                          ⠉⠑⠒⠢⠤⣀⣀
    │                                                                                 ⠉⠉⠒⠢⠤⢄⣀
    │                                                                                        ⠉⠉⠒⠢⠤⣀⣀
    │                                                                                               ⠉⠉⠒⠒⠤⠤⢄⣀⡀
    │                                                                                                       ⠈⠉
1e-8│
    └─────────────────────────────────────────────────────────────────────────────────────────────────────────
    0                                                                                                       12

worker  shards  speed     memory   state
anu     5       31.2 M/s  512 MB   job 3, step 3-2
enki    5       31.2 M/s  512 MB   job 3, step 3-2
utu     0                 512 MB   silent for 40 s
waiting for worker utu (last heard 40 s ago)
q leaves; the job goes on
",
    );
}

#[test]
fn a_small_terminal_has_neither_chart_nor_ziggurat() {
    is(
        &drawn(&under_way(), 40, 14),
        "\
job 3, blitz-3: running   127.0.0.1:7400

4 of 6 steps, 19.0 % of the positions
3-2: superstep 12, residual 6.0e-8
sweeps 10.4 M positions per second
52.0 MB exchanged, 0.52 per halo positio
1 min 35 s gone, about 2 min 38 s left

worker  shard  speed   memor  state
anu     5      31.2 M  512 M  job 3, ste
enki    5      31.2 M  512 M  job 3, ste
waiting for worker utu (last heard 40 s
ago)
q leaves; the job goes on
",
    );
}

#[test]
fn a_job_that_is_proven_while_the_coordinator_is_away() {
    let mut following = under_way();
    let mut status = following.status.clone().unwrap();
    status.job.as_mut().unwrap().message.clear();
    status.steps[4].interval_sweeps = 2;
    following.hear(status);
    following.silence = Some("connection refused".to_owned());
    is(
        &drawn(&following, 80, 20),
        "\
job 3, blitz-3: running                                           127.0.0.1:7400

       ░░░░░░           4 of 6 steps, 19.0 % of the positions
   ██████ ▓▓▓▓▓░        3-2: proof, sweep 2
██████ ██████ ██████    52.0 MB exchanged, 0.52 per halo position
                        1 min 35 s gone

worker  shards  speed     memory   state
anu     5       31.2 M/s  512 MB   job 3, step 3-2
enki    5       31.2 M/s  512 MB   job 3, step 3-2
utu     0                 512 MB   silent for 40 s







no answer: connection refused; asking again
q leaves; the job goes on
",
    );
}

#[test]
fn a_job_that_is_solved_is_a_whole_ziggurat() {
    let mut following = under_way();
    let mut status = following.status.clone().unwrap();
    let job = status.job.as_mut().unwrap();
    job.state = JobState::Solved.into();
    job.message.clear();
    (job.solved_steps, job.solved_positions) = (job.steps, job.positions);
    for step in &mut status.steps {
        step.state = StepState::Solved.into();
        step.supersteps = step.supersteps.max(40);
    }
    following.hear(status);
    is(
        &drawn(&following, 80, 12),
        "\
job 3, blitz-3: solved                                            127.0.0.1:7400

       ██████           6 of 6 steps, 100.0 % of the positions
   ██████ ██████        52.0 MB exchanged, 0.52 per halo position
██████ ██████ ██████    1 min 35 s gone

worker  shards  speed     memory   state
anu     5       31.2 M/s  512 MB   job 3, step 3-2
enki    5       31.2 M/s  512 MB   job 3, step 3-2
utu     0                 512 MB   silent for 40 s

q leaves; the job goes on
",
    );
}

#[test]
fn nothing_is_known_yet() {
    is(
        &drawn(&Following::new("127.0.0.1:7400"), 60, 6),
        "\
waiting for the coordinator                   127.0.0.1:7400




q leaves; the job goes on
",
    );
}

#[test]
fn no_size_is_too_small() {
    for (width, height) in [(1, 1), (5, 3), (200, 4), (12, 60)] {
        drawn(&under_way(), width, height);
    }
}
