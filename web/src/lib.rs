//! Pages and HTTP APIs: explore a table, watch a cluster.
//!
//! Everything is served from this one program, written by hand and without a build step, and no page asks anything of any
//! other host.
//!
//! | module | knows |
//! | --- | --- |
//! | [`server`] | what all pages need: limits, tokens, security headers, errors as JSON, the common files |
//! | [`explorer`] | tables: the API and the page that explores them |
//! | [`dashboard`] | jobs: the page that watches them |

pub mod dashboard;
pub mod explorer;
pub mod server;
