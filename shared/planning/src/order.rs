//! Orders: the operations on a step, and their outcomes.

use serde::{Deserialize, Serialize};

use crate::{
    galerkin::GalerkinSystem,
    proof::{Growth, Proof},
    weights::{CycleSlot, Multiples, Products},
};

/// The next operation on a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Order {
    /// A superstep.
    Sweep {
        /// The slot of its changes in the cycle that the next extrapolation looks at.
        slot: CycleSlot,
        /// Changes of values are multiples of 2 to the power of this.
        finest: i32,
    },
    /// The inner products of the changes of a cycle of supersteps.
    Measure,
    /// An extrapolation from a cycle of supersteps.
    Extrapolate {
        /// The multiples of the vectors that are added to the values.
        multiples: Multiples,
    },
    /// The equations of a coarse correction, summed over a sample of positions.
    Sample {
        /// Residuals are counted in quanta of 2 to the power of this: one of [`SAMPLE_QUANTA`](crate::SAMPLE_QUANTA).
        quantum: i32,
    },
    /// A coarse correction.
    Correct {
        /// The multiples of the basis functions that are added to the values.
        multiples: Vec<f64>,
    },
    /// The conversion of all values from `f32` to `f64`.
    Widen,
    /// An interval sweep of a proof; the first sets all intervals to its start.
    Prove(Proof),
}

/// The outcome of an order.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Of [`Order::Sweep`]: the largest change of any value.
    Swept(f64),
    /// Of [`Order::Measure`]: for every range of a shard, by its place in the order of positions, its
    /// part of the inner products.
    Measured(Vec<(u32, Products)>),
    /// Of [`Order::Sample`].
    Sampled(GalerkinSystem),
    /// Of [`Order::Extrapolate`], [`Order::Correct`] and [`Order::Widen`].
    Done,
    /// Of [`Order::Prove`].
    Proved(Growth),
}

impl Outcome {
    /// The outcome of an order that several carried out together, each for some of the shards; `None` if
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
