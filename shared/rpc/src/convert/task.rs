//! What members of an attempt are told to do.

use ziggurat_kernel::{Grid, Order, Proof};

use super::{WireError, step::row};
use crate::proto::{self, order};

/// Something to do for an attempt.
#[derive(Clone, PartialEq, Debug)]
pub enum Task {
    /// An order of the step's course.
    Order(Order),
    /// To write the member's shards down.
    Save {
        /// The number of the checkpoint.
        epoch: u32,
        /// The rows of changes to write beside the values.
        differences: usize,
        /// Whether to write distances.
        distances: bool,
    },
}

impl From<Order> for Task {
    fn from(order: Order) -> Self {
        Self::Order(order)
    }
}

impl From<Task> for order::Task {
    fn from(task: Task) -> Self {
        match task {
            Task::Order(Order::Sweep { row, grid }) => {
                Self::Sweep(proto::Sweep { row: row as u32, grid: grid.exponent() })
            }
            Task::Order(Order::Measure) => Self::Measure(proto::Unit {}),
            Task::Order(Order::Extrapolate { multiples, grid }) => {
                let (multiples, grid) = (multiples.to_vec(), grid.exponent());
                Self::Extrapolate(proto::Extrapolate { multiples, grid })
            }
            Task::Order(Order::Widen) => Self::Widen(proto::Unit {}),
            Task::Order(Order::Prove(proof)) => Self::Prove((&proof).into()),
            Task::Save { epoch, differences, distances } => {
                Self::Save(proto::Save { epoch, differences: differences as u32, distances })
            }
        }
    }
}

impl TryFrom<order::Task> for Task {
    type Error = WireError;

    fn try_from(task: order::Task) -> Result<Self, WireError> {
        Ok(match task {
            order::Task::Sweep(proto::Sweep { row: at, grid: exponent }) => {
                Order::Sweep { row: row(at, "sweep.row")?, grid: grid(exponent)? }.into()
            }
            order::Task::Measure(_) => Order::Measure.into(),
            order::Task::Extrapolate(proto::Extrapolate { multiples, grid: exponent }) => {
                let four = <[f64; 4]>::try_from(multiples).ok();
                let finite = four.filter(|four| four.iter().all(|multiple| multiple.is_finite()));
                let problem = || WireError::new("extrapolate.multiples", "are not four numbers");
                let multiples = finite.ok_or_else(problem)?;
                Order::Extrapolate { multiples, grid: grid(exponent)? }.into()
            }
            order::Task::Widen(_) => Order::Widen.into(),
            order::Task::Prove(prove) => Order::Prove(prove.try_into()?).into(),
            order::Task::Save(proto::Save { epoch, differences, distances }) => {
                let differences = row(differences, "save.differences")?;
                Self::Save { epoch, differences, distances }
            }
        })
    }
}

fn grid(exponent: i32) -> Result<Grid, WireError> {
    let problem = || WireError::new("grid", format_args!("there is no grid of 2^{exponent}"));
    Grid::new(exponent).ok_or_else(problem)
}

impl From<&Proof> for proto::Prove {
    fn from(proof: &Proof) -> Self {
        Self {
            bound: proof.bound(),
            unit: proof.unit(),
            start: proof.start().into(),
            sweeps: proof.sweeps(),
        }
    }
}

impl TryFrom<proto::Prove> for Proof {
    type Error = WireError;

    fn try_from(prove: proto::Prove) -> Result<Self, WireError> {
        let proto::Prove { bound, unit, start, sweeps } = prove;
        let proof = u16::try_from(start).ok();
        proof.and_then(|start| Self::from_parts(bound, unit, start, sweeps)).ok_or_else(|| {
            WireError::new("prove", format_args!("there is no such proof: {prove:?}"))
        })
    }
}
