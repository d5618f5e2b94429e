//! Tables: the API and the page that explores them.
//!
//! The API is described by `web/assets/openapi.json`, which is served at `/openapi.json`; `docs/EXPLORER.md` explains it. Values are
//! read from the files as they are asked for, by any thread.
//!
//! | module | knows |
//! | --- | --- |
//! | `tables` | the tables that are served |
//! | `query` | the parameters of a request |
//! | `place` | where the text of a position goes wrong |
//! | `answers` | what is asked of a table, and the answers as JSON |
//! | `routes` | the routes of the API |

mod answers;
mod place;
mod query;
mod routes;
mod tables;

use std::{path::PathBuf, sync::Arc};

use routes::Api;
pub use tables::ServedError;
use ziggurat_telemetry::{ExplorerMetrics, Health, Registry, health_pages, metrics_page};

use crate::server::{Asset, Pages, SHARED, assets};

/// The page, its scripts, and the description of the API.
static FILES: [Asset; 6] = [
    Asset::html("/", include_str!("../../assets/explorer.html")),
    Asset::css("/assets/explorer.css", include_str!("../../assets/explorer.css")),
    Asset::js("/assets/explorer.js", include_str!("../../assets/explorer.js")),
    Asset::js("/assets/board.js", include_str!("../../assets/board.js")),
    Asset::js("/assets/position.js", include_str!("../../assets/position.js")),
    Asset::json("/openapi.json", include_str!("../../assets/openapi.json")),
];

/// Opens tables, and makes the pages that explore them: `/` and its files, `/v1/...`, `/metrics`, `/healthz`, `/openapi.json`.
/// `memory`, in bytes, is divided among the tables for parts that are kept unpacked.
///
/// # Errors
/// If a table cannot be opened, or two have the same name.
pub fn pages(files: &[PathBuf], memory: u64) -> Result<Pages, ServedError> {
    let tables = tables::open(files, memory)?;
    let mut registry = Registry::default();
    let metrics = ExplorerMetrics::new(&mut registry);
    let api = Api { tables: tables.into(), metrics };
    let health = Arc::new(Health::starting("the tables are being opened"));
    health.ready();
    Ok(Pages {
        open: assets(&SHARED).merge(assets(&FILES)).merge(health_pages(health)),
        guarded: api.router().merge(metrics_page(Arc::new(registry))),
    })
}
