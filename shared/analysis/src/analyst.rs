//! What is asked of a table.

use ziggurat_advice::{Advisor, Policy};
use ziggurat_encoding::Encoding;
use ziggurat_game::Position;
use ziggurat_table::Tell;

use crate::{
    AnalysisError, Bounded,
    graph::{self, Graph, Lists, Moves},
    play::{
        CHANCE_LANES, Closeness, Count, Finished, Games, LANES, Play, all_lanes, chance_within,
        lanes_of, steps,
    },
    step::Step,
    sweep::{Solved, System, Unknowns},
    tally::{Decisions, Hard, Player, Tally},
    visits::{Edges, Inflow},
};

/// An open table of which whole games are asked.
pub struct Analyst<'a> {
    pub(crate) advisor: &'a Advisor,
}

/// Games between perfect players. Where moves are tied, how long a game is depends on how ties are broken.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Perfect {
    /// Ties broken towards shorter games.
    pub shortest: Games,
    /// Ties broken towards longer games: the same where there is no tie.
    pub longest: Games,
    /// Positions with a roll for which moves are tied.
    pub ties: u64,
}

/// What happens in games between two policies.
#[derive(Clone, PartialEq, Debug)]
pub struct Account {
    /// What each of the players does; if both have the same policy, both together.
    pub players: Vec<Player>,
    /// Undecided positions that occur at all.
    pub reached: u64,
    /// The hardest decisions that occur, those with the largest gaps between the best and the second best move.
    pub hardest: Vec<Hard>,
    /// An expected number of things of which there is at most one in a roll is no further than this from the true one.
    pub error: f64,
}

impl Account {
    /// Both players together.
    pub fn together(&self) -> Player {
        Player::together(&self.players)
    }
}

impl<'a> Analyst<'a> {
    /// Asks an open table.
    pub fn new(advisor: &'a Advisor) -> Self {
        Self { advisor }
    }

    pub(crate) fn encoding(&self) -> &'a Encoding {
        self.advisor.table().encoding()
    }

    pub(crate) fn told_apart(&self) -> f64 {
        self.advisor.bound().told_apart()
    }

    /// The graph of some moves in a step.
    fn graph(&self, step: &Step<'_>, values: &[f64], moves: Moves<'_>, lists: Lists) -> Graph {
        Graph::new(step, values, self.told_apart(), moves, lists)
    }

    /// Games between perfect players.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged, a step has too many positions, or games do not end.
    pub fn perfect(&self, tell: &Tell<'_>) -> Result<Perfect, AnalysisError> {
        let (shortest, ties) = self.tied(Lists::Shortest, tell)?;
        let longest = if ties > 0 { self.tied(Lists::Longest, tell)?.0 } else { shortest };
        Ok(Perfect { shortest, longest, ties })
    }

    /// Games between perfect players who break ties in one way, and how many ties there are.
    fn tied(&self, lists: Lists, tell: &Tell<'_>) -> Result<(Games, u64), AnalysisError> {
        let mut closeness = Closeness::new();
        let play: Play<LANES> = Play::new(&Count::ALL);
        let add = |solved: &Solved<LANES>| closeness.add(&Count::ALL, solved);
        let (Unknowns([lanes]), ties) = self.solved([(Moves::Tied, lists)], &play, add, tell)?;
        Ok((closeness.games(&lanes), ties))
    }

    /// The lanes of the first position for each player to move, and how many lists of moves the graphs have.
    fn solved<const K: usize, const S: usize>(
        &self,
        sides: [(Moves<'_>, Lists); S],
        play: &Play<K>,
        mut add: impl FnMut(&Solved<K>),
        tell: &Tell<'_>,
    ) -> Result<(Unknowns<K, S>, u64), AnalysisError> {
        let encoding = self.encoding();
        let steps = steps(encoding);
        let mut finished = Finished::new(play);
        let (mut listed, mut done) = (0, 0);
        let mut of_start = Unknowns::NONE;
        for (at, &tier) in steps.iter().enumerate() {
            let later = &steps[at + 1..];
            let step = Step::new(encoding, tier)?;
            let values = graph::values(&step, self.advisor.table())?;
            let graphs = sides.map(|(moves, lists)| self.graph(&step, &values, moves, lists));
            drop(values);
            listed += graphs.iter().map(Graph::count_lists).sum::<u64>();
            let system = System { step: &step, graphs: graphs.each_ref(), equation: play };
            let mut lanes = finished.begin(&step, later);
            add(&system.solve(&mut lanes)?);
            drop(graphs);
            if later.is_empty() {
                of_start = lanes[step.node(&Position::start()) as usize];
            }
            finished.finish(&step, &lanes, later);
            done += encoding.step_len(tier);
            tell(done as f64 / encoding.undecided() as f64);
        }
        Ok((of_start, listed))
    }

    /// The chances that the first of two policies wins if it begins, and the second if it begins: those of
    /// [`Analyst::games`], in a small part of the time.
    ///
    /// # Errors
    /// As [`Analyst::perfect`].
    pub fn chances(
        &self,
        policies: [&Policy; 2],
        tell: &Tell<'_>,
    ) -> Result<[Bounded; 2], AnalysisError> {
        let sides = policies.map(|policy| (Moves::Of(policy), Lists::Any));
        let mut violation = [0.0_f64; CHANCE_LANES];
        let add = |solved: &Solved<CHANCE_LANES>| {
            violation = std::array::from_fn(|lane| violation[lane].max(solved.violation[lane]));
        };
        let (Unknowns(of_start), _) = self.solved(sides, &Play::of_chance(), add, tell)?;
        Ok(of_start.map(|lanes| chance_within(lanes, violation)))
    }

    /// All decisions of all positions as a policy takes them, each with the probability of its roll: those of
    /// [`Player::all`], without a solve.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged, or a step has too many positions.
    pub fn all_decisions(
        &self,
        policy: &Policy,
        tell: &Tell<'_>,
    ) -> Result<Decisions, AnalysisError> {
        let encoding = self.encoding();
        let mut tally: Tally<1> = Tally::new();
        let mut done = 0;
        for tier in steps(encoding) {
            let step = Step::new(encoding, tier)?;
            let values = graph::values(&step, self.advisor.table())?;
            let never = |_| ([0.0], false);
            tally.add(Tally::of_step(&step, &values, self.told_apart(), [policy], never));
            done += encoding.step_len(tier);
            tell(done as f64 / encoding.undecided() as f64);
        }
        let [player] = tally.players;
        Ok(player.all)
    }

    /// Games between two policies: those that the first of them begins, and those that the second begins. The chance is
    /// that of the player who begins.
    ///
    /// # Errors
    /// As [`Analyst::perfect`].
    pub fn games(
        &self,
        policies: [&Policy; 2],
        tell: &Tell<'_>,
    ) -> Result<[Games; 2], AnalysisError> {
        self.between(policies.map(|policy| (Moves::Of(policy), Lists::Any)), tell)
    }

    /// Games between the best player against a policy, who knows it, and that policy; as [`Analyst::games`].
    ///
    /// The chance of the best player is proven from below. From above, the bound supposes that no answer to the policy makes games last longer
    /// than the one that was found.
    ///
    /// # Errors
    /// As [`Analyst::perfect`].
    pub fn best_response(
        &self,
        policy: &Policy,
        tell: &Tell<'_>,
    ) -> Result<[Games; 2], AnalysisError> {
        self.between([(Moves::Legal, Lists::Best), (Moves::Of(policy), Lists::Any)], tell)
    }

    fn between(
        &self,
        sides: [(Moves<'_>, Lists); 2],
        tell: &Tell<'_>,
    ) -> Result<[Games; 2], AnalysisError> {
        let mut closeness = Closeness::new();
        let mut of_start = [[0.0; LANES]; 2];
        for (at, count) in Count::ALL.into_iter().enumerate() {
            let passes = Count::ALL.len() as f64;
            let tell = |done: f64| tell((at as f64 + done) / passes);
            let play: Play<{ lanes_of(1) }> = Play::new(&[count]);
            let add = |solved: &Solved<{ lanes_of(1) }>| closeness.add(&[count], solved);
            let (Unknowns(counted), _) = self.solved(sides, &play, add, &tell)?;
            for (all, counted) in of_start.iter_mut().zip(counted) {
                all_lanes(&[count]).zip(counted).for_each(|(lane, number)| all[lane] = number);
            }
        }
        Ok(of_start.map(|lanes| closeness.games(&lanes)))
    }

    /// What happens in games between two policies, if each of them begins half of the games. `longest` is that of [`Games`],
    /// the larger one, for the bound.
    ///
    /// # Errors
    /// As [`Analyst::perfect`].
    pub fn account(
        &self,
        policies: [&Policy; 2],
        longest: f64,
        tell: &Tell<'_>,
    ) -> Result<Account, AnalysisError> {
        let [first, second] = policies;
        match first == second {
            true => self.account_of([first], longest, tell),
            false => self.account_of(policies, longest, tell),
        }
    }

    fn account_of<const S: usize>(
        &self,
        policies: [&Policy; S],
        longest: f64,
        tell: &Tell<'_>,
    ) -> Result<Account, AnalysisError> {
        let encoding = self.encoding();
        let mut inflow: Inflow<S> = Inflow::of_start(encoding);
        let mut tally: Tally<S> = Tally::new();
        let mut violation = 0.0;
        let mut done = 0;
        for tier in steps(encoding).into_iter().rev() {
            let step = Step::new(encoding, tier)?;
            let values = graph::values(&step, self.advisor.table())?;
            let told_apart = self.told_apart();
            let edges = Edges::new(&step, &values, told_apart, policies)?;
            drop(values);
            let visits = inflow.solve(&step, &edges)?;
            drop(edges);
            let values = graph::values(&step, self.advisor.table())?;
            violation += visits.violation;
            let of_node = |node: usize| (visits.visits[node], visits.reached[node].contains(&true));
            tally.add(Tally::of_step(&step, &values, told_apart, policies, of_node));
            done += encoding.step_len(tier);
            tell(done as f64 / encoding.undecided() as f64);
        }
        let Tally { players, reached, hardest } = tally;
        // Each sum of so many numbers is rounded, too.
        let rounding = f64::EPSILON * (encoding.undecided() as f64).log2() * longest;
        let error = violation * longest + rounding;
        Ok(Account { players: players.to_vec(), reached, hardest, error })
    }
}
