//! What decides the result of a solve, and what it takes: the arguments that `solve` and `plan` share,
//! and those of them that `submit` has, too.

use clap::{Args, ValueEnum, builder::RangedU64ValueParser};
use ziggurat_encoding::Encoding;
use ziggurat_game::Ruleset;
use ziggurat_kernel::{Precision, Settings, Simd, USELESS_BOUND};
use ziggurat_table::{Compression, ValueType};

use crate::{
    failure::Failure,
    needs::{Needs, value_type_of},
    selection::Selection,
    suggested,
};

/// The ruleset, and how good the values are to be: what decides the bytes of a result.
#[derive(Args, Debug)]
pub struct SpecArgs {
    #[command(flatten)]
    selection: Selection,

    /// The type values are computed in
    #[arg(long, value_enum, default_value_t = PrecisionArg::F64)]
    precision: PrecisionArg,

    /// Prove that no value is further from the true one than this, a probability [default: 1e-12,
    /// with f32 5e-6]
    #[arg(long, value_name = "E", value_parser = parse_tolerance)]
    tolerance: Option<f64>,

    /// Estimate how far the values are from the true ones instead of proving it
    #[arg(long)]
    uncertified: bool,

    /// Most positions of a shard, unless a single block is larger [default: 1/64 of the tier, at
    /// least 64 Ki, at most 4 Mi, or what makes at most 4096 shards]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shard_positions: Option<u64>,
}

/// The ruleset, how it is solved, and how the values are stored.
#[derive(Args, Debug)]
pub struct JobArgs {
    #[command(flatten)]
    spec: SpecArgs,

    /// Threads to solve with; 0 is one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads())]
    threads: usize,

    /// The vector instructions: portable, avx2 or avx512 [default: the best there are]. The result
    /// does not depend on it
    #[arg(long, value_name = "NAME", value_parser = suggested::simd(), hide_possible_values = true)]
    simd: Option<Simd>,

    /// The type of the stored values: percent16, f32 or f64 [default: as the precision]
    #[arg(long, value_name = "TYPE", value_parser = suggested::value_type(), hide_possible_values = true)]
    value_type: Option<ValueType>,

    /// Store the values as they are instead of compressed
    #[arg(long)]
    raw: bool,
}

/// [`Precision`] as typed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum PrecisionArg {
    /// 32 bits: half the memory, six digits
    F32,
    /// 64 bits
    F64,
}

impl From<PrecisionArg> for Precision {
    fn from(typed: PrecisionArg) -> Self {
        match typed {
            PrecisionArg::F32 => Self::F32,
            PrecisionArg::F64 => Self::F64,
        }
    }
}

impl SpecArgs {
    /// The chosen ruleset.
    pub fn ruleset(&self) -> Result<Ruleset, Failure> {
        self.selection.ruleset()
    }

    /// How good the values are to be.
    pub fn settings(&self) -> Settings {
        let settings = Settings::new(self.precision.into());
        Settings {
            tolerance: self.tolerance.unwrap_or(settings.tolerance),
            certified: !self.uncertified,
            shard_positions: self.shard_positions,
            ..settings
        }
    }
}

impl JobArgs {
    /// The ranking of the chosen ruleset.
    pub fn encoding(&self) -> Result<Encoding, Failure> {
        Ok(Encoding::new(&self.spec.ruleset()?)?)
    }

    /// How to solve it.
    pub fn settings(&self) -> Settings {
        Settings { threads: self.threads, ..self.spec.settings() }
    }

    /// The vector instructions to solve it with.
    pub fn simd(&self) -> Simd {
        self.simd.unwrap_or(Simd::best())
    }

    /// The type values are stored in.
    pub fn value_type(&self) -> ValueType {
        self.value_type.unwrap_or(value_type_of(self.spec.precision.into()))
    }

    /// How values are packed.
    pub fn compression(&self) -> Compression {
        if self.raw { Compression::Raw } else { Compression::default() }
    }

    /// What the solve will take.
    pub fn needs(&self, encoding: &Encoding) -> Needs {
        Needs::of(encoding, &self.settings(), self.value_type(), self.compression())
    }
}

/// Up to so many threads as no machine has cores: starting many more takes for ever.
pub fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(..=4096)
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let tolerance: f64 = text.parse().map_err(|_| "write a number such as 1e-12".to_owned())?;
    if tolerance > 0.0 && tolerance < USELESS_BOUND {
        Ok(tolerance)
    } else {
        Err(format!("write a probability between 0 and {USELESS_BOUND}, such as 1e-12"))
    }
}
