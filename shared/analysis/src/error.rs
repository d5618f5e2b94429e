//! What can go wrong.

use thiserror::Error;
use ziggurat_encoding::Tier;
use ziggurat_table::TableError;

/// Why a table was not analysed.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// More positions in a step than there are numbers for.
    #[error(
        "tier {tier} of {ruleset} and those that it reads have {positions} positions, more than 2^29; \
         analyse a table with fewer pieces"
    )]
    TooManyPositions {
        /// The ruleset.
        ruleset: String,
        /// The tier.
        tier: Tier,
        /// The positions.
        positions: u64,
    },
    /// More moves in a step than there are numbers for.
    #[error(
        "tier {tier} of {ruleset} has {edges} rolls with the moves of these policies, more than 2^32; analyse a table with \
         fewer pieces"
    )]
    TooManyMoves {
        /// The ruleset.
        ruleset: String,
        /// The tier.
        tier: Tier,
        /// Rolls of all positions, with each move that a policy may make.
        edges: u64,
    },
    /// A game that lasts too long for its equations to be solved.
    #[error(
        "games between these policies do not end soon enough: the equations of tier {tier} were not solved in \
         {sweeps} sweeps; choose other policies"
    )]
    NoEnd {
        /// The tier.
        tier: Tier,
        /// The sweeps.
        sweeps: u32,
    },
}
