//! Jobs: the page that watches them, its API, and the report of one job as a file of its own.
//!
//! Where jobs come from is a [`Source`]: a coordinator, or a solve on this machine alone. What it tells is JSON, in the form
//! that `docs/DASHBOARD.md` explains; this module carries it to browsers.
//!
//! | module | knows |
//! | --- | --- |
//! | `source` | what a source of jobs can be asked |
//! | `routes` | the routes of the API |
//! | `live` | streams of what changes |
//! | `report` | a page of one job, as a file of its own |

mod live;
mod report;
mod routes;
mod source;

use std::sync::Arc;

pub use report::report;
pub use source::{Answer, Change, Source};

use crate::server::{Asset, Pages, SHARED, assets};

/// The page and its scripts.
static FILES: [Asset; 4] = [
    Asset::html("/", include_str!("../../assets/dashboard.html")),
    Asset::css("/assets/dashboard.css", include_str!("../../assets/dashboard.css")),
    Asset::js("/assets/dashboard.js", include_str!("../../assets/dashboard.js")),
    Asset::js("/assets/dashboard-job.js", include_str!("../../assets/dashboard-job.js")),
];

/// The pages of a source: `/` and its files, and `/v1/...`. Orders are taken only with a token that is good for them.
pub fn pages(source: Arc<dyn Source>) -> Pages {
    Pages { open: assets(&SHARED).merge(assets(&FILES)), guarded: routes::router(source) }
}
