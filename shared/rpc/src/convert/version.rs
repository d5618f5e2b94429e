//! Peers that speak, or count, in another way.

use tonic::Status;
use ziggurat_encoding::Encoding;

use super::{identity, identity_text, member::address_in, name};
use crate::{OLDEST_PROTOCOL, PROTOCOL, proto::Register};

/// Checks the version of the protocol that a peer speaks.
///
/// # Errors
/// FAILED_PRECONDITION for another than this program's and the one before.
pub fn check_protocol(version: u32) -> Result<(), Status> {
    if (OLDEST_PROTOCOL..=PROTOCOL).contains(&version) {
        return Ok(());
    }
    Err(Status::failed_precondition(format!(
        "you have version {version} of the protocol, here {OLDEST_PROTOCOL} and {PROTOCOL} are understood: use the same \
         version of ziggurat on all machines, or the one before while you replace it, the coordinator's first"
    )))
}

/// Checks the version of the protocol that a member of an attempt speaks: it does the same to its shards as all others.
///
/// # Errors
/// FAILED_PRECONDITION for another than this program's.
pub fn check_member(version: u32) -> Result<(), Status> {
    same_version("protocol", version, PROTOCOL)
}

/// Checks the version of the ranking of positions by which a peer stores values.
///
/// # Errors
/// FAILED_PRECONDITION for another than this program's.
pub fn check_encoder(version: u32) -> Result<(), Status> {
    same_version("ranking of positions", version, Encoding::VERSION)
}

fn same_version(of: &str, theirs: u32, ours: u32) -> Result<(), Status> {
    if theirs == ours {
        return Ok(());
    }
    Err(Status::failed_precondition(format!(
        "you have version {theirs} of the {of}, here it is {ours}: use the same version of ziggurat \
         on all machines"
    )))
}

/// Checks whom something is meant for: nobody in particular, or the worker with an identity.
///
/// # Errors
/// FAILED_PRECONDITION if it is another.
pub fn check_addressee(meant: &str, worker: u64) -> Result<(), Status> {
    let here = identity_text(worker);
    if meant.is_empty() || meant == here {
        return Ok(());
    }
    Err(Status::failed_precondition(format!("another worker is there: {here} instead of {meant}")))
}

/// Checks all that a worker says of itself, and returns its identity, and that of its checkpoint store if it has one.
///
/// # Errors
/// FAILED_PRECONDITION for another version, INVALID_ARGUMENT for what cannot be.
pub fn check_registration(register: &Register) -> Result<(u64, Option<u64>), Status> {
    check_protocol(register.protocol)?;
    check_encoder(register.encoder)?;
    name(register.name.clone())?;
    if !register.replaces.is_empty() {
        name(register.replaces.clone())?;
    }
    address_in(register.address.clone())?;
    let store = match register.checkpoint_store.as_str() {
        "" => None,
        store => Some(identity(store)?),
    };
    Ok((identity(&register.worker)?, store))
}
