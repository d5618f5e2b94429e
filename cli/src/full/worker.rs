//! `ziggurat worker`: sweeps the shards that a coordinator gives it.

use std::{net::SocketAddr, path::PathBuf};

use ziggurat_kernel::{LEAST_MAPPED_BYTES, base_memory_bytes, thread_count};
use ziggurat_rpc::{RpcError, proto::WorkerRequest};
use ziggurat_telemetry::BindError;
use ziggurat_worker::{STORING_MEMORY_BYTES, ServeError, ServeOptions};

use crate::{
    cluster::{
        client::Coordinator,
        config::ConfigArgs,
        flags::{CoordinatorArgs, ListenArgs, parse_address, parse_name, parse_socket},
        server::serve,
    },
    failure::{Exit, Failure},
    job::threads,
    output::{bytes, one_line, print},
    resources,
};

/// Run a worker of a cluster: it sweeps the shards that the coordinator gives it
///
/// It can be killed at any moment and started again on its directory. Asked to end (Ctrl-C, SIGTERM,
/// SIGHUP), it hands over first.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    of_another: Option<OfAnother>,

    #[command(flatten)]
    config: ConfigArgs,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// The directory for its shards and its identity; made if there is none
    #[arg(long, value_name = "DIR", env = "ZIGGURAT_DIR", required = true)]
    dir: Option<PathBuf>,

    /// Where to listen for other workers; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "ZIGGURAT_LISTEN",
        default_value = "127.0.0.1:0",
        value_parser = parse_socket
    )]
    listen: SocketAddr,

    /// What others call that place; must be given if it listens on 0.0.0.0 or `::` [default: the address it listens on]
    #[arg(long, value_name = "HOST:PORT", env = "ZIGGURAT_ADVERTISE", value_parser = parse_address)]
    advertise: Option<String>,

    /// Its name, unique in the cluster [default: that of the host]
    #[arg(long, value_name = "NAME", env = "ZIGGURAT_NAME", value_parser = parse_name)]
    name: Option<String>,

    /// Take the place of the worker NAME, whose directory is lost: all that it alone has saved is given up
    #[arg(long, value_name = "NAME", env = "ZIGGURAT_REPLACE", value_parser = parse_name)]
    replace: Option<String>,

    /// Threads to sweep with; 0 is one per core. The result does not depend on it
    #[arg(
        long,
        value_name = "N",
        env = "ZIGGURAT_THREADS",
        default_value_t = 0,
        value_parser = threads()
    )]
    threads: usize,

    /// Memory the whole process may use, such as 6GiB [default: what the system has available]
    #[arg(long, value_name = "SIZE", env = "ZIGGURAT_MEMORY", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// Write what is saved to a store that all workers share, too, so that any of them can take over: a
    /// directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX
    #[arg(long, value_name = "URL", env = "ZIGGURAT_CHECKPOINTS")]
    checkpoints: Option<String>,

    #[command(flatten)]
    listening: ListenArgs,
}

/// What is done to a worker that is there already.
#[derive(clap::Subcommand, Debug)]
enum OfAnother {
    /// Have a worker leave: it saves, hands over what jobs under way need, and ends
    Drain(WorkerArgs),
    /// Give up a worker that is gone for good: its name is free, and what it alone has saved is lost
    Forget(WorkerArgs),
}

/// Which worker.
#[derive(clap::Args, Debug)]
struct WorkerArgs {
    /// The worker's name
    #[arg(value_name = "NAME", value_parser = parse_name)]
    worker: String,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Does something to a worker that is there already.
fn change(change: &OfAnother) -> Result<Exit, Failure> {
    let (OfAnother::Drain(args) | OfAnother::Forget(args)) = change;
    let request = WorkerRequest { name: args.worker.clone() };
    Coordinator::new(&args.coordinator)?.ask(|mut jobs| {
        let request = request.clone();
        async move {
            match change {
                OfAnother::Drain(_) => jobs.drain_worker(request).await,
                OfAnother::Forget(_) => jobs.forget_worker(request).await,
            }
        }
    })?;
    let name = one_line(&args.worker);
    print(&match change {
        OfAnother::Drain(_) => format!("Worker {name} leaves once its work is saved\n"),
        OfAnother::Forget(_) => format!("Worker {name} is given up\n"),
    })?;
    Ok(Exit::Success)
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(of_another) = &args.of_another {
        return change(of_another);
    }
    let dir = args.dir.clone().expect("the parser asks for it");
    check_memory(args.memory, args.threads, args.checkpoints.is_some())?;
    let options = ServeOptions {
        coordinator: args.coordinator.address()?,
        dir,
        listen: args.listen,
        advertise: args.advertise.clone(),
        name: args.name.clone().unwrap_or_else(host_name),
        replaces: args.replace.clone(),
        threads: args.threads,
        memory_bytes: args.memory.or_else(resources::available_memory_bytes),
        checkpoints: args.checkpoints.clone(),
        security: args.coordinator.security.security()?,
        insecure: args.listening.insecure,
        insecure_metrics: args.listening.insecure_metrics,
        metrics: args.listening.metrics,
    };
    serve(
        args.listening.log_format,
        |shutdown| ziggurat_worker::serve(options, shutdown),
        is_bad_input,
    )
}

/// A worker that was started in a way that cannot be right is not to be started again like that.
fn is_bad_input(error: &ServeError) -> bool {
    matches!(error, ServeError::Store(error) if error.lasts())
        || matches!(
            error,
            ServeError::OtherCluster { .. }
                | ServeError::OtherFormat { .. }
                | ServeError::Identity { .. }
                | ServeError::Unreachable { .. }
                | ServeError::Checkpoints(_)
                | ServeError::Refused { is_bad_input: true, .. }
                | ServeError::Rpc(RpcError::Exposed { .. })
                | ServeError::Metrics(BindError::Exposed { .. })
        )
}

/// The least memory of a worker on so many threads (0: one per core), with a checkpoint store or without, whatever the job.
///
/// # Errors
/// If it is allowed less.
fn check_memory(allowed: Option<u64>, threads: usize, stores: bool) -> Result<(), Failure> {
    let storing = if stores { STORING_MEMORY_BYTES } else { 0 };
    let least = base_memory_bytes(thread_count(threads)) + storing + LEAST_MAPPED_BYTES;
    match allowed {
        Some(allowed) if allowed < least => Err(Failure::refused(format!(
            "a worker takes {} of memory; {} is allowed",
            bytes(least),
            bytes(allowed)
        ))
        .help(format!("allow that (--memory {}MiB)", least.div_ceil(1 << 20)))),
        _ => Ok(()),
    }
}

/// What the host is called.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_visible() {
        assert_eq!(parse_name("node-1"), Ok("node-1".to_owned()));
        for wrong in ["", "a\nb", &"x".repeat(256)] {
            assert!(parse_name(wrong).is_err());
        }
        assert!(parse_name(&host_name()).is_ok());
    }

    #[test]
    fn a_worker_needs_some_memory() {
        for stores in [false, true] {
            assert!(check_memory(None, 4, stores).is_ok());
            assert!(check_memory(Some(1 << 30), 4, stores).is_ok());
        }
        let [refused, with_a_store] =
            [false, true].map(|stores| check_memory(Some(64 << 20), 4, stores).unwrap_err());
        assert_ne!(with_a_store.report(), refused.report());
        assert_eq!(refused.exit, Exit::Refused);
        let said = refused.report();
        let least = said.split_once("--memory ").unwrap().1.strip_suffix("MiB)").unwrap();
        let least: u64 = least.parse().unwrap();
        assert!(check_memory(Some(least * (1 << 20)), 4, false).is_ok(), "{said}");
        assert!(check_memory(Some((least - 1) * (1 << 20)), 4, false).is_err(), "{said}");
    }
}
