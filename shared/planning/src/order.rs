//! Orders: what is to be done next for a step, and what came of it.

use serde::{Deserialize, Serialize};

use crate::{
    proof::{Growth, Proof},
    sums::{Asked, Sums},
    weights::{Multiples, Products},
};

/// What is to be done next for a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Order {
    /// A superstep.
    Sweep {
        /// The place of its changes in the row that the next extrapolation looks at.
        row: usize,
        /// What values change by is a multiple of 2 to the power of this.
        finest: i32,
    },
    /// The inner products of the changes of a row of supersteps.
    Measure,
    /// An extrapolation from a row of supersteps.
    Extrapolate {
        /// What multiples of their changes are added to the values.
        multiples: Multiples,
    },
    /// What a sample of positions says of the values.
    Sample(Asked),
    /// A coarse correction.
    Correct {
        /// What multiple of each function is added to the values.
        multiples: Vec<f64>,
    },
    /// The conversion of all values from `f32` to `f64`.
    Widen,
    /// An interval sweep of a proof; the first sets all intervals to its start.
    Prove(Proof),
}

/// What came of an order.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Of [`Order::Sweep`]: the largest change of any value.
    Swept(f64),
    /// Of [`Order::Measure`]: for every range of a shard, by its place in the order of positions, its
    /// part of the inner products.
    Measured(Vec<(u32, Products)>),
    /// Of [`Order::Sample`].
    Sampled(Sums),
    /// Of [`Order::Extrapolate`], [`Order::Correct`] and [`Order::Widen`].
    Done,
    /// Of [`Order::Prove`].
    Proved(Growth),
}

impl Outcome {
    /// What came of an order that several carried out together, each for some of the shards; `None` if
    /// they did not carry out the same order.
    pub fn and(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Swept(a), Self::Swept(b)) => Self::Swept(a.max(b)),
            (Self::Measured(mut all), Self::Measured(more)) => {
                all.extend(more);
                Self::Measured(all)
            }
            (Self::Sampled(all), Self::Sampled(more)) => Self::Sampled(all.and(&more)?),
            (Self::Done, Self::Done) => Self::Done,
            (Self::Proved(a), Self::Proved(b)) => Self::Proved(a.and(b)),
            _ => return None,
        })
    }
}
