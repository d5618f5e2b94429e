//! The order of moves: best first, ties in the order of the path.
//!
//! The moves that are nearer to the best one than can be told are a tie, whatever their values are; the best one of the others
//! leads the next tie, and so on. Within a tie moves are ascending by where the piece comes from: equal moves have the same
//! order whatever rounding did to their values.

use ziggurat_game::{Move, Outcome};

/// A legal move and the chance that the player who makes it wins.
#[derive(Clone, Copy, Debug)]
pub struct ValuedMove {
    /// The move.
    pub mv: Move,
    /// What it leads to.
    pub outcome: Outcome,
    /// The chance of winning after it.
    pub chance: f64,
    /// 1 for the best move and those tied with it, then one more than there are better ones.
    pub place: usize,
    /// Whether another move has the same place.
    pub tied: bool,
}

/// Orders moves. Chances that differ by no more than `told_apart` may be equal.
pub(crate) fn rank(moves: &mut [ValuedMove], told_apart: f64) {
    moves.sort_by(|a, b| b.chance.total_cmp(&a.chance).then(a.mv.cmp(&b.mv)));
    let mut first = 0;
    while let Some(leader) = moves.get(first) {
        let least = leader.chance - told_apart;
        let tie = moves[first..].iter().take_while(|it| it.chance >= least).count();
        let equals = &mut moves[first..first + tie];
        equals.sort_by_key(|it| it.mv);
        for it in equals {
            (it.place, it.tied) = (first + 1, tie > 1);
        }
        first += tie;
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::Position;

    use super::*;

    fn ranked(chances: &[f64], told_apart: f64) -> Vec<(u8, usize, bool)> {
        let outcome =
            Outcome { position: Position::start(), captured: None, rolls_again: false, won: false };
        let moves = chances.iter().zip(0..).map(|(&chance, from)| ValuedMove {
            mv: Move { from, to: from + 1 },
            outcome,
            chance,
            place: 0,
            tied: false,
        });
        let mut moves: Vec<ValuedMove> = moves.collect();
        rank(&mut moves, told_apart);
        moves.iter().map(|it| (it.mv.from, it.place, it.tied)).collect()
    }

    #[test]
    fn better_moves_come_first_and_ties_in_the_order_of_the_path() {
        assert_eq!(ranked(&[], 0.1), []);
        assert_eq!(ranked(&[0.2, 0.5], 0.1), [(1, 1, false), (0, 2, false)]);
        // Noise of either sign.
        for noise in [-1e-13, 0.0, 1e-13] {
            let tie = [(0, 1, true), (1, 1, true), (2, 3, false)];
            assert_eq!(ranked(&[0.5, 0.5 + noise, 0.4], 2e-12), tie);
        }
        let two_ties = [(1, 1, true), (3, 1, true), (0, 3, true), (2, 3, true)];
        assert_eq!(ranked(&[0.40, 0.51, 0.41, 0.50], 0.02), two_ties);
    }

    #[test]
    fn a_tie_reaches_no_further_than_its_leader() {
        assert_eq!(ranked(&[0.46, 0.48, 0.50], 0.03), [(1, 1, true), (2, 1, true), (0, 3, false)]);
    }
}
