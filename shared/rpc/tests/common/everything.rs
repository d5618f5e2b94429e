//! Whatever the bytes: each function decodes them as a message, converts all of it that can be converted, and
//! checks that what was understood is understood the same way again. The fuzz targets call them too.

use std::fmt::Debug;

use prost::Message;
use ziggurat_encoding::Tier;
use ziggurat_planning::Column;
use ziggurat_rpc::{
    convert::{
        Answer, Job, Member, Submission, Task, WireError, check_protocol, check_registration,
        identity_text, owners, precision, required, runs,
    },
    proto::{
        Assign, Checkpoint, FetchRequest, FromWorker, HaloMessage, LocateReply, Order, Peer,
        Report, Run, Step, SubmitRequest, ToWorker, from_worker, halo_message, to_worker,
    },
};

/// More peers or shards than any of the messages here names.
const MANY: usize = 1 << 16;

pub fn from_worker(bytes: &[u8]) {
    let Ok(FromWorker { message }) = FromWorker::decode(bytes) else { return };
    match message {
        Some(from_worker::Message::Register(register)) => {
            if let Ok((identity, _)) = check_registration(&register) {
                assert_eq!(identity_text(identity), register.worker);
            }
        }
        Some(from_worker::Message::Report(Report { step, outcome, .. })) => {
            self::step(step);
            let Some(outcome) = outcome else { return };
            again::<_, Answer>(outcome, |answer| answer.clone().into());
        }
        Some(from_worker::Message::Stored(stored)) => step(stored.step),
        Some(
            from_worker::Message::Heartbeat(_)
            | from_worker::Message::Drain(_)
            | from_worker::Message::Fenced(_),
        )
        | None => {}
    }
}

pub fn to_worker(bytes: &[u8]) {
    let Ok(ToWorker { message }) = ToWorker::decode(bytes) else { return };
    match message {
        Some(to_worker::Message::Assign(assign)) => self::assign(assign),
        Some(to_worker::Message::Order(Order { step, task, .. })) => {
            self::step(step);
            let Some(task) = task else { return };
            again::<_, Task>(task, |task| task.clone().into());
        }
        Some(to_worker::Message::Abandon(abandon)) => step(abandon.step),
        Some(to_worker::Message::Commit(commit)) => step(commit.step),
        Some(
            to_worker::Message::Welcome(_)
            | to_worker::Message::Forget(_)
            | to_worker::Message::Heard(_)
            | to_worker::Message::Released(_),
        )
        | None => {}
    }
}

pub fn halo_message(bytes: &[u8]) {
    let Ok(HaloMessage { message }) = HaloMessage::decode(bytes) else { return };
    if let Some(halo_message::Message::Open(open)) = message {
        let _ = check_protocol(open.protocol);
        step(open.step);
    }
}

pub fn fetch_request(bytes: &[u8]) {
    let Ok(request) = FetchRequest::decode(bytes) else { return };
    let _ = check_protocol(request.protocol);
    step(request.step);
    if let Some(column) = request.column {
        again::<_, Column>(column, |&column| column.into());
    }
}

pub fn submit_request(bytes: &[u8]) {
    let Ok(request) = SubmitRequest::decode(bytes) else { return };
    again::<_, Submission>(request, |submission| submission.into());
}

pub fn locate_reply(bytes: &[u8]) {
    let Ok(reply) = LocateReply::decode(bytes) else { return };
    let _ = required::<_, Job>(reply.spec, "spec");
    for located in reply.steps {
        step(located.step);
        peers_and_runs(&located.peers, &located.runs);
        if let Ok(statistics) = located.statistics() {
            assert_eq!(located.with_statistics(&statistics).statistics(), Ok(statistics));
        }
    }
}

fn assign(assign: Assign) {
    step(assign.step);
    let _ = precision(assign.precision);
    if let Some(spec) = assign.spec {
        again::<_, Job>(spec, |job| job.into());
    }
    peers_and_runs(&assign.members, &assign.shares);
    let reads = assign.reads.into_iter().flat_map(|read| {
        step(read.step);
        read.checkpoint
    });
    for Checkpoint { peers, runs, .. } in assign.checkpoint.into_iter().chain(reads) {
        peers_and_runs(&peers, &runs);
    }
}

fn step(step: Option<Step>) {
    if let Some(step) = step {
        again::<_, Tier>(step, |&tier| tier.into());
    }
}

fn peers_and_runs(peers: &[Peer], all: &[Run]) {
    for peer in peers {
        again::<_, Member>(peer.clone(), |member| member.into());
    }
    let shards = all.iter().map(|run| run.count as usize).fold(0, usize::saturating_add);
    if let Ok(owners_of_shards) = owners(all, shards.min(MANY), peers.len()) {
        let again = owners(&runs(&owners_of_shards), shards, peers.len());
        assert_eq!(again, Ok(owners_of_shards));
    }
}

/// Converts a message, back, and once more.
fn again<P, T>(message: P, back: impl Fn(&T) -> P)
where
    T: TryFrom<P, Error = WireError> + PartialEq + Debug,
{
    if let Ok(understood) = T::try_from(message) {
        assert_eq!(T::try_from(back(&understood)), Ok(understood));
    }
}
