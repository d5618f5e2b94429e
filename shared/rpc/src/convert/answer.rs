//! What members of an attempt report.

use ziggurat_encoding::Tier;
use ziggurat_planning::{GalerkinSystem, Growth, Outcome, POINTS, Products};

use super::{WireError, identity, identity_text, magnitude, required};
use crate::proto::{self, failure, report};

/// What a member of an attempt reports of an order, or of its assignment.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// What came of an order of the step's controller; of saving, [`Outcome::Done`].
    Outcome(Outcome),
    /// It is prepared, and keeps a copy of so many positions.
    Prepared {
        /// How many positions of others its shards read.
        halo_positions: u64,
    },
    /// It could not be done.
    Failed(Failure),
}

/// Something could not be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What went wrong, for people.
    pub message: String,
    /// What is to be concluded from it; `None` if it says nothing about others, or about what is to come.
    pub kind: Option<FailureKind>,
}

/// What is to be concluded from a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// Another member could not be reached.
    Unreachable {
        /// Its place among the members.
        member: u32,
    },
    /// Saved values are damaged or gone.
    Damage {
        /// The step whose values they are.
        step: Tier,
        /// The checkpoint.
        epoch: u32,
        /// The worker that should have them; `None` for the checkpoint store.
        worker: Option<u64>,
    },
    /// The worker cannot take part.
    Unable,
    /// Somebody asked it to stop.
    Cancelled,
    /// A worker that has saved values, and takes no part, could not be reached.
    OutOfReach {
        /// Its identity.
        worker: u64,
    },
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<Answer> for report::Outcome {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Outcome(Outcome::Swept(residual)) => Self::Residual(residual),
            Answer::Outcome(Outcome::Measured(products)) => Self::Products((&products[..]).into()),
            Answer::Outcome(Outcome::Sampled(system)) => Self::System((&system).into()),
            Answer::Outcome(Outcome::Done) => Self::Done(proto::Unit {}),
            Answer::Outcome(Outcome::Proved(growth)) => Self::Growth(growth.into()),
            Answer::Prepared { halo_positions } => Self::HaloPositions(halo_positions),
            Answer::Failed(failure) => Self::Failure(failure.into()),
        }
    }
}

impl TryFrom<report::Outcome> for Answer {
    type Error = WireError;

    fn try_from(outcome: report::Outcome) -> Result<Self, WireError> {
        Ok(match outcome {
            report::Outcome::Done(_) => Outcome::Done.into(),
            report::Outcome::Residual(residual) => {
                Outcome::Swept(magnitude(residual, "report.residual")?).into()
            }
            report::Outcome::Products(products) => Outcome::Measured(products.try_into()?).into(),
            report::Outcome::System(system) => Outcome::Sampled(system.try_into()?).into(),
            report::Outcome::Growth(growth) => Outcome::Proved(growth.try_into()?).into(),
            report::Outcome::HaloPositions(halo_positions) => Self::Prepared { halo_positions },
            report::Outcome::Failure(failure) => Self::Failed(failure.try_into()?),
        })
    }
}

/// The numbers of a lower triangle.
const TRIANGLE: usize = POINTS * (POINTS + 1) / 2;

impl From<&[(u32, Products)]> for proto::Products {
    fn from(all: &[(u32, Products)]) -> Self {
        let triangle = |products: &Products| {
            let rows = products.iter().enumerate();
            rows.flat_map(|(i, row)| row[..=i].to_vec()).collect::<Vec<_>>()
        };
        Self {
            range: all.iter().map(|&(place, _)| place).collect(),
            products: all.iter().flat_map(|(_, products)| triangle(products)).collect(),
        }
    }
}

impl TryFrom<proto::Products> for Vec<(u32, Products)> {
    type Error = WireError;

    fn try_from(message: proto::Products) -> Result<Self, WireError> {
        let proto::Products { range, products: numbers } = message;
        let (triangles, rest) = numbers.as_chunks::<TRIANGLE>();
        if triangles.len() != range.len() || !rest.is_empty() {
            let (numbers, ranges) = (numbers.len(), range.len());
            let problem = format_args!("{numbers} numbers for {ranges} ranges");
            return Err(WireError::new("products", problem));
        }
        if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
            return Err(WireError::new("products", format_args!("{number} among the numbers")));
        }
        let square = |triangle: &[f64; TRIANGLE]| {
            let mut products = Products::default();
            let mut rest = triangle.iter().copied();
            for (i, row) in products.iter_mut().enumerate() {
                row[..=i].fill_with(|| rest.next().expect("a triangle of numbers"));
            }
            products
        };
        Ok(range.into_iter().zip(triangles.iter().map(square)).collect())
    }
}

impl From<&GalerkinSystem> for proto::GalerkinSystem {
    fn from(system: &GalerkinSystem) -> Self {
        let [rhs, matrix] = system.parts().map(<[f64]>::to_vec);
        Self { rhs, matrix }
    }
}

impl TryFrom<proto::GalerkinSystem> for GalerkinSystem {
    type Error = WireError;

    fn try_from(message: proto::GalerkinSystem) -> Result<Self, WireError> {
        let proto::GalerkinSystem { rhs, matrix } = message;
        let (functions, numbers) = (rhs.len(), matrix.len());
        Self::from_parts(rhs, matrix).ok_or_else(|| {
            let problem = format_args!(
                "{numbers} numbers for {functions} functions are not the sums of a sample"
            );
            WireError::new("system", problem)
        })
    }
}

impl From<Growth> for proto::Growth {
    fn from(growth: Growth) -> Self {
        Self { largest: growth.largest.into(), grew: growth.grew }
    }
}

impl TryFrom<proto::Growth> for Growth {
    type Error = WireError;

    fn try_from(growth: proto::Growth) -> Result<Self, WireError> {
        let proto::Growth { largest, grew } = growth;
        let problem = |_| WireError::new("growth.largest", format_args!("{largest} is too large"));
        Ok(Self { largest: u16::try_from(largest).map_err(problem)?, grew })
    }
}

impl From<Failure> for proto::Failure {
    fn from(failure: Failure) -> Self {
        let kind = failure.kind.map(|kind| match kind {
            FailureKind::Unreachable { member } => failure::Kind::Unreachable(member),
            FailureKind::Damage { step, epoch, worker } => failure::Kind::Damage(proto::Damage {
                step: Some(step.into()),
                epoch,
                worker: worker.map(identity_text).unwrap_or_default(),
            }),
            FailureKind::Unable => failure::Kind::Unable(proto::Unit {}),
            FailureKind::Cancelled => failure::Kind::Cancelled(proto::Unit {}),
            FailureKind::OutOfReach { worker } => failure::Kind::OutOfReach(identity_text(worker)),
        });
        Self { message: failure.message, kind }
    }
}

impl TryFrom<proto::Failure> for Failure {
    type Error = WireError;

    fn try_from(failure: proto::Failure) -> Result<Self, WireError> {
        let kind = failure.kind.map(|kind| {
            Ok(match kind {
                failure::Kind::Unreachable(member) => FailureKind::Unreachable { member },
                failure::Kind::Damage(proto::Damage { step, epoch, worker }) => {
                    let stored = worker.is_empty();
                    let worker = (!stored).then(|| identity(&worker)).transpose()?;
                    FailureKind::Damage { step: required(step, "damage.step")?, epoch, worker }
                }
                failure::Kind::Unable(_) => FailureKind::Unable,
                failure::Kind::Cancelled(_) => FailureKind::Cancelled,
                failure::Kind::OutOfReach(worker) => {
                    FailureKind::OutOfReach { worker: identity(&worker)? }
                }
            })
        });
        Ok(Self { message: failure.message, kind: kind.transpose()? })
    }
}
