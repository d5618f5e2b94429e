//! Tasks of the members of an attempt.

use ziggurat_planning::{Multiples, Order, Proof, QUANTUM_EXPONENTS, SAMPLE_QUANTA, VECTORS};

use super::{
    WireError,
    step::{slot, vectors},
};
use crate::proto::{self, order};

/// Something to do for an attempt.
#[derive(Clone, PartialEq, Debug)]
pub enum Task {
    /// An order of the step's controller.
    Order(Order),
    /// To write the member's shards down.
    Save {
        /// The number of the checkpoint.
        epoch: u32,
        /// How many vectors of changes to write beside the values.
        vectors: usize,
        /// Whether to write the offsets of a proof.
        offsets: bool,
        /// Whether they may go to the checkpoint store while later orders are carried out.
        behind: bool,
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
            Task::Order(Order::Sweep { slot, finest }) => {
                Self::Sweep(proto::Sweep { slot: slot.before() as u32, finest })
            }
            Task::Order(Order::Measure) => Self::Measure(proto::Unit {}),
            Task::Order(Order::Extrapolate { multiples }) => {
                Self::Extrapolate(proto::Extrapolate { multiples: multiples.to_vec() })
            }
            Task::Order(Order::Sample { quantum }) => Self::Sample(proto::Sample { quantum }),
            Task::Order(Order::Correct { multiples }) => {
                Self::Correct(proto::Correct { multiples })
            }
            Task::Order(Order::Widen) => Self::Widen(proto::Unit {}),
            Task::Order(Order::Prove(proof)) => Self::Prove((&proof).into()),
            Task::Save { epoch, vectors, offsets, behind } => {
                Self::Save(proto::Save { epoch, vectors: vectors as u32, offsets, behind })
            }
        }
    }
}

impl TryFrom<order::Task> for Task {
    type Error = WireError;

    fn try_from(task: order::Task) -> Result<Self, WireError> {
        Ok(match task {
            order::Task::Sweep(proto::Sweep { slot: at, finest: exponent }) => {
                Order::Sweep { slot: slot(at, "sweep.slot")?, finest: finest(exponent)? }.into()
            }
            order::Task::Measure(_) => Order::Measure.into(),
            order::Task::Extrapolate(proto::Extrapolate { multiples }) => {
                let all = Multiples::try_from(multiples).ok();
                let finite = all.filter(|all| all.iter().all(|multiple| multiple.is_finite()));
                let problem = format_args!("are not {VECTORS} numbers");
                let multiples =
                    finite.ok_or_else(|| WireError::new("extrapolate.multiples", problem))?;
                Order::Extrapolate { multiples }.into()
            }
            order::Task::Sample(proto::Sample { quantum: exponent }) => {
                Order::Sample { quantum: quantum(exponent)? }.into()
            }
            order::Task::Correct(proto::Correct { multiples }) => {
                if let Some(multiple) = multiples.iter().find(|multiple| !multiple.is_finite()) {
                    let problem = format_args!("{multiple} among the numbers");
                    return Err(WireError::new("correct.multiples", problem));
                }
                Order::Correct { multiples }.into()
            }
            order::Task::Widen(_) => Order::Widen.into(),
            order::Task::Prove(prove) => Order::Prove(prove.try_into()?).into(),
            order::Task::Save(proto::Save { epoch, vectors: number, offsets, behind }) => {
                Self::Save { epoch, vectors: vectors(number, "save.vectors")?, offsets, behind }
            }
        })
    }
}

fn quantum(exponent: i32) -> Result<i32, WireError> {
    let problem = || {
        WireError::new("sample.quantum", format_args!("residuals are not counted in 2^{exponent}"))
    };
    SAMPLE_QUANTA.contains(&exponent).then_some(exponent).ok_or_else(problem)
}

fn finest(exponent: i32) -> Result<i32, WireError> {
    let problem =
        || WireError::new("sweep.finest", format_args!("values do not change by 2^{exponent}"));
    QUANTUM_EXPONENTS.contains(&exponent).then_some(exponent).ok_or_else(problem)
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
        let start = u16::try_from(start).ok();
        let proof = start.and_then(|start| Self::from_parts(bound, unit, start, sweeps));
        proof.ok_or_else(|| {
            WireError::new("prove", format_args!("there is no such proof: {prove:?}"))
        })
    }
}
