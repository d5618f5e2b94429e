//! The mean chance of winning by how far both players have come.

use rayon::prelude::*;
use ziggurat_game::{Ruleset, Side};
use ziggurat_table::Tell;

use crate::{AnalysisError, Analyst, graph::values, play::steps, step::Step};

/// How far a player has come is one of so many equal parts of all the way of all pieces.
pub const SURFACE_BINS: usize = 24;

/// Over all undecided positions in which the player to move has come so far (first index), and the other player (second): how many
/// there are, and the sum of the chances of the player to move.
#[derive(Clone, PartialEq, Debug)]
pub struct Surface(Vec<(u64, f64)>);

impl Surface {
    fn new() -> Self {
        Self(vec![(0, 0.0); SURFACE_BINS * SURFACE_BINS])
    }

    /// The mean chance where the player to move has come as far as a part says, and the other player as another; `None` where no
    /// position has.
    pub fn mean(&self, own: usize, opponent: usize) -> Option<f64> {
        let (count, sum) = self.0[own * SURFACE_BINS + opponent];
        (count > 0).then(|| sum / count as f64)
    }

    fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            *sum = (sum.0 + other.0, sum.1 + other.1);
        }
    }
}

/// Which part of the way of all pieces has been gone.
fn part(ruleset: &Ruleset, side: &Side) -> usize {
    let path = usize::from(ruleset.path().len()) + 1;
    let gone = side.positions().map(usize::from).sum::<usize>() + usize::from(side.scored) * path;
    let all = path * usize::from(ruleset.pieces());
    (gone * SURFACE_BINS / all).min(SURFACE_BINS - 1)
}

impl Analyst<'_> {
    /// The mean chance of winning by how far both players have come.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged, or a step has too many positions.
    pub fn surface(&self, tell: &Tell<'_>) -> Result<Surface, AnalysisError> {
        let encoding = self.encoding();
        let ruleset = encoding.ruleset();
        let mut surface = Surface::new();
        let mut done = 0;
        for tier in steps(encoding) {
            let step = Step::new(encoding, tier)?;
            let values = values(&step, self.advisor.table())?;
            let parts: Vec<Surface> = step
                .pieces()
                .into_par_iter()
                .map(|run| {
                    let mut surface = Surface::new();
                    let mut unranking = encoding.unranking(run.tier);
                    for (offset, node) in run.offsets.zip(run.first as usize..) {
                        let position = unranking.position(offset);
                        let [own, opponent] =
                            [position.own, position.opponent].map(|side| part(ruleset, &side));
                        let (count, sum) = &mut surface.0[own * SURFACE_BINS + opponent];
                        (*count, *sum) = (*count + 1, *sum + values[node]);
                    }
                    surface
                })
                .collect();
            parts.iter().for_each(|part| surface.add(part));
            done += encoding.step_len(tier);
            tell(done as f64 / encoding.undecided() as f64);
        }
        Ok(surface)
    }
}
