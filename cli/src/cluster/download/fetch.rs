//! Getting a range from a worker that may be gone, slow or wrong.
//!
//! In each round the workers that should have the range are asked in turn. Before the next, after a
//! pause, the coordinator is asked again who they are: a worker that was started again may be
//! elsewhere.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};
use tonic::{Code, Response, Status};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::Tier;
use ziggurat_kernel::Column;
use ziggurat_rpc::{
    DataClient, JobsClient, OLDEST_PROTOCOL, Security, connect, data_client,
    proto::{ChecksumsReply, FetchRequest, JobRequest, LocateReply, Peer, StepRequest},
};
use ziggurat_worker::cluster::receive;

use super::ranges::{Fetched, Holders, Ranges};
use crate::{
    cluster::client::{Coordinator, message, patiently},
    failure::{Exit, Failure},
};

/// How often workers are asked, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Rounds until it is given up.
    pub rounds: u32,
    /// The pause after the first round; it doubles from round to round.
    pub pause: Duration,
    /// The longest time to connect, and between two messages.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { rounds: 7, pause: Duration::from_millis(500), silence: Duration::from_secs(30) }
    }
}

/// The checksums of the values of a job, by step, as workers reported them when it was solved.
#[derive(Default)]
pub struct Reported(HashMap<Tier, Vec<u64>>);

impl Reported {
    /// Asks a coordinator for those of some steps.
    ///
    /// # Errors
    /// If it refuses, or cannot be reached.
    pub fn ask(
        coordinator: &Coordinator,
        job: u64,
        steps: impl Iterator<Item = Tier>,
    ) -> Result<Self, Failure> {
        let of_step = |step: Tier| {
            let reply = coordinator.ask(|mut jobs| async move {
                let request = StepRequest { job, step: Some(step.into()) };
                match jobs.checksums(request).await {
                    // A coordinator of the version before keeps none.
                    Err(status) if status.code() == Code::Unimplemented => {
                        Ok(Response::new(ChecksumsReply::default()))
                    }
                    answer => answer,
                }
            })?;
            Ok((step, reply.checksums))
        };
        steps.map(of_step).collect::<Result<_, Failure>>().map(Self)
    }

    /// The values of a range, if they are as they were reported, or nothing was reported.
    fn check(&self, range: &Fetched, bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
        let place = 2 * range.shard as usize + range.range as usize;
        let reported = self.0.get(&range.step).and_then(|checksums| checksums.get(place));
        match reported.is_none_or(|&reported| reported == xxh3_64(&bytes)) {
            true => Ok(bytes),
            false => Err(Status::data_loss(
                "its values are not those that were reported when the step was solved",
            )),
        }
    }
}

/// Gets ranges of a job.
pub struct Fetcher<'a> {
    jobs: JobsClient,
    coordinator: &'a str,
    security: &'a Security,
    job: u64,
    width: usize,
    /// The checksums that were reported of the values.
    reported: &'a Reported,
    patience: Patience,
    /// Who has what, and in which round of asking that was told.
    holders: Mutex<(u32, Option<Holders>)>,
    connections: Mutex<HashMap<String, DataClient>>,
    /// Addresses that did not answer when they were asked last.
    silent: Mutex<HashSet<String>>,
}

impl<'a> Fetcher<'a> {
    /// For the ranges of a job.
    pub fn new(
        coordinator: &'a Coordinator,
        job: u64,
        (ranges, reported): (&Ranges, &'a Reported),
        patience: Patience,
    ) -> Self {
        Self {
            jobs: coordinator.client(),
            coordinator: coordinator.address(),
            security: coordinator.security(),
            job,
            width: ranges.width(),
            reported,
            patience,
            holders: Mutex::default(),
            connections: Mutex::default(),
            silent: Mutex::default(),
        }
    }

    /// The values of a range, verified.
    ///
    /// # Errors
    /// If nobody has them, in all rounds.
    pub async fn fetch(&self, range: &Fetched) -> Result<Vec<u8>, Failure> {
        let mut troubles = Vec::new();
        for round in 0..self.patience.rounds {
            if round > 0 {
                sleep(self.patience.pause * 2u32.saturating_pow(round - 1)).await;
            }
            let holders = self.holders(round).await?;
            troubles.clear();
            let mut peers = holders.of(range.step, range.shard);
            // To wait for a machine that is gone takes long, for every range.
            let silent = self.silent.lock().await.clone();
            peers.sort_by_key(|peer| silent.contains(&peer.address));
            for peer in peers {
                match self.fetch_from(peer, range, holders.checkpoint(range.step)).await {
                    Ok(bytes) => return Ok(bytes),
                    Err(trouble) => troubles.push(trouble),
                }
            }
        }
        let (shard, step) = (range.shard, range.step);
        let troubles = match &troubles[..] {
            [] => "no worker has it".to_owned(),
            troubles => troubles.join("; "),
        };
        let failure = format!("shard {shard} of step {step} cannot be had: {troubles}");
        Err(Failure::of(Exit::Failed, failure).help(
            "start the workers that have it again. One that has lost it starts on an empty directory, with --replace \
             and its name: `ziggurat resume` then solves that again. The same command goes on where it was",
        ))
    }

    /// Who has what, as told in this round or a later one.
    async fn holders(&self, round: u32) -> Result<Holders, Failure> {
        let mut told = self.holders.lock().await;
        if let (when, Some(holders)) = &*told
            && *when >= round
        {
            return Ok(holders.clone());
        }
        let located: LocateReply = patiently(self.coordinator, self.security, || {
            let (mut jobs, job) = (self.jobs.clone(), self.job);
            async move { jobs.locate(JobRequest { job }).await }
        })
        .await?;
        let holders = Holders::new(&located);
        *told = (round, Some(holders.clone()));
        Ok(holders)
    }

    /// The values as a worker has them, or what is wrong with it.
    async fn fetch_from(
        &self,
        peer: &Peer,
        range: &Fetched,
        checkpoint: (u32, u64),
    ) -> Result<Vec<u8>, String> {
        let address = &peer.address;
        let read = self.read(peer, range, checkpoint).await;
        let trouble = match read.and_then(|bytes| self.reported.check(range, bytes)) {
            Ok(bytes) => {
                self.silent.lock().await.remove(address);
                return Ok(bytes);
            }
            Err(trouble) => trouble,
        };
        if matches!(trouble.code(), Code::Unavailable | Code::DeadlineExceeded) {
            self.silent.lock().await.insert(address.clone());
        }
        // It may be another process by now.
        if trouble.code() != Code::NotFound {
            self.connections.lock().await.remove(address);
        }
        Err(format!("worker {} at {address}: {}", peer.name, message(&trouble)))
    }

    async fn read(
        &self,
        peer: &Peer,
        range: &Fetched,
        (epoch, incarnation): (u32, u64),
    ) -> Result<Vec<u8>, Status> {
        let silence = self.patience.silence;
        let silent = |_| Status::deadline_exceeded(format!("it has been silent for {silence:?}"));
        let request = FetchRequest {
            protocol: OLDEST_PROTOCOL,
            job: self.job,
            step: Some(range.step.into()),
            epoch,
            incarnation,
            column: Some(Column::Values.into()),
            shard: range.shard,
            range: range.range,
            spans: Vec::new(),
            worker: peer.worker.clone(),
        };
        let mut client = self.client(&peer.address).await?;
        let answer = timeout(silence, client.fetch(request)).await.map_err(silent)??;
        let len = range.len() as usize * self.width;
        let mut bytes = Vec::with_capacity(len);
        let take = |_: &_, numbers: &[u8]| bytes.extend_from_slice(numbers);
        receive(answer.into_inner(), (len, self.width), silence, take).await?;
        Ok(bytes)
    }

    async fn client(&self, address: &str) -> Result<DataClient, Status> {
        let known = self.connections.lock().await.get(address).cloned();
        if let Some(client) = known {
            return Ok(client);
        }
        let connection = connect(address, self.security, self.patience.silence)
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let client = data_client(connection);
        self.connections.lock().await.insert(address.to_owned(), client.clone());
        Ok(client)
    }
}
