//! The protocol between coordinator, workers and their users, and who may speak it.
//!
//! The messages and services are compiled from `proto/`, where they are explained, into [`proto`]. This crate adds
//! what every speaker needs: the [limits], [`Security`], servers and connections that keep to both, and
//! [conversions](convert) that let nothing through that cannot be worked with.
//!
//! A server listens with [`bind`], and gives its services ([`control`], [`jobs`], [`data`]) to a [`server`]:
//!
//! ```no_run
//! # async fn example(service: impl ziggurat_rpc::proto::data_server::Data) -> Result<(), Box<dyn std::error::Error>> {
//! use ziggurat_rpc::{Security, bind, data, server};
//!
//! let security = Security::from_token_file("token".as_ref())?;
//! let bound = bind("0.0.0.0:7301".parse()?, &security, false)?;
//! let router = server(&security).add_service(data(service));
//! router.serve_with_incoming(bound.incoming()?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Strangers do not get as far as a service, and neither do those whose token has not the [`Role`] that a call needs; who
//! asks, [`Holder::of`] a request tells. Who sends what no peer sends is disconnected and named in the
//! log; a service that reads a stream of messages says so itself: see [`Peer`].
//!
//! A client [`connect`]s:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use ziggurat_rpc::{Security, connect, jobs_client, proto::ListRequest};
//!
//! let security = Security::Open;
//! let connection = connect("127.0.0.1:7400", &security, Duration::from_secs(5))?;
//! let jobs = jobs_client(connection).list(ListRequest {}).await?.into_inner().jobs;
//! # Ok(())
//! # }
//! ```

mod address;
mod client;
pub mod convert;
mod error;
mod goodbye;
mod hosts;
mod identity;
mod incoming;
pub mod limits;
mod peer;
mod renewal;
mod renewed;
mod repeats;
mod roles;
mod security;
mod server;
mod tls;
mod trouble;
mod watch;

pub use address::{is_address, is_any_address, is_loopback};
pub use client::{
    Connection, ControlClient, Credentials, DataClient, JobsClient, connect, connect_now,
    control_client, data_client, jobs_client,
};
pub use error::RpcError;
pub use identity::new_identity;
pub use incoming::{Accepted, Bound, bind};
pub use limits::{OLDEST_PROTOCOL, PROTOCOL};
pub use peer::Peer;
pub use renewal::{LOOK_INTERVAL, Renewal, WARNINGS};
pub use renewed::Expiry;
pub use repeats::Repeats;
pub use roles::{Holder, Role, asker};
pub use security::{Security, Tls, Token};
pub use server::{Server, control, data, jobs, server};
pub use trouble::{Trouble, diagnose, failed_on_its_way};
pub use watch::{Watch, Watched};

/// Messages, clients and servers, as compiled from `proto/`, where they are explained.
#[allow(missing_docs, clippy::all)]
pub mod proto {
    tonic::include_proto!("ziggurat.v1");
}
