//! The metrics of a server of tables.

use std::fmt::{self, Write};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

use crate::{Counter, Histogram, Labelled, Registry, export::Exporter};

/// The metrics of a server of tables; all are explained in `docs/METRICS.md`. Copies are of the same metrics.
#[derive(Clone, Debug)]
pub struct ExplorerMetrics {
    /// Requests that were answered.
    pub requests: Labelled<RequestLabels, Counter>,
    /// What requests took until their answer began, in seconds.
    pub request: Histogram,
    /// Positions that were asked for.
    pub positions: Counter,
}

impl ExplorerMetrics {
    /// Metrics that `registry` exports.
    pub fn new(registry: &mut Registry) -> Self {
        let mut e = Exporter::new(registry, "ziggurat_explorer");
        Self {
            requests: e.number("requests", "Requests that were answered"),
            request: e.short_times("request", "What requests took until their answer began"),
            positions: e.number("positions", "Positions that were asked for"),
        }
    }
}

/// Tells requests apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct RequestLabels {
    /// What was asked for.
    pub route: Route,
    /// The status of the answer.
    pub status: u16,
}

impl From<(Route, u16)> for RequestLabels {
    fn from((route, status): (Route, u16)) -> Self {
        Self { route, status }
    }
}

/// What a server of tables is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Route {
    /// Which tables there are.
    Tables,
    /// A position with its moves.
    Position,
    /// Many positions.
    Positions,
    /// A main line.
    MainLine,
    /// The account of a game.
    Review,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Tables, Self::Position, Self::Positions, Self::MainLine, Self::Review];
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(match self {
            Self::Tables => "tables",
            Self::Position => "position",
            Self::Positions => "positions",
            Self::MainLine => "mainline",
            Self::Review => "review",
        })
    }
}
