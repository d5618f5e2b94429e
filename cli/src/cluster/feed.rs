//! The states of a job as they come from the coordinator, through losses of the connection.

use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::{Duration, Instant},
};

use tonic::{Code, Status};
use ziggurat_rpc::{
    JobsClient,
    proto::{ClusterStatus, JobRequest},
};

use super::{
    client::{Coordinator, message, refusal},
    words,
};
use crate::failure::{Exit, Failure};

/// Between two attempts to reach the coordinator.
const PAUSE: Duration = Duration::from_secs(1);

/// A coordinator that does not answer for so long is given up.
const GIVE_UP: Duration = Duration::from_secs(600);

/// Something new.
pub enum News {
    /// The job is so.
    Status(Box<ClusterStatus>),
    /// The coordinator does not answer, and why; it is being asked again.
    Silence(String),
}

/// Follows a job in the background until it has ended; then the channel closes. An error is the last
/// that comes.
pub fn follow(coordinator: &Coordinator, job: u64) -> Receiver<Result<News, Failure>> {
    let (sender, news) = mpsc::channel();
    let (client, address) = (coordinator.client(), coordinator.address().to_owned());
    coordinator.runtime().spawn(async move {
        if let Err(failure) = tell(client, &address, job, &sender).await {
            drop(sender.send(Err(failure))); // nobody follows any more
        }
    });
    news
}

async fn tell(
    mut client: JobsClient,
    address: &str,
    job: u64,
    sender: &Sender<Result<News, Failure>>,
) -> Result<(), Failure> {
    let (mut heard, mut has_answered) = (Instant::now(), false);
    loop {
        let broken = match client.watch(JobRequest { job }).await {
            Ok(answer) => {
                let mut stream = answer.into_inner();
                let broken = loop {
                    match stream.message().await {
                        Ok(Some(status)) => {
                            let ended = status.job.as_ref().is_some_and(words::has_ended);
                            let told = sender.send(Ok(News::Status(Box::new(status))));
                            if ended || told.is_err() {
                                return Ok(());
                            }
                        }
                        Ok(None) => break Status::unavailable("it ended the connection"),
                        Err(status) => break status,
                    }
                };
                // Until then it was there: it says nothing where nothing changes.
                (heard, has_answered) = (Instant::now(), true);
                broken
            }
            Err(status) => status,
        };
        // Tokens are not changed everywhere at once: one that was good is about to be again.
        let was_known = has_answered && broken.code() == Code::Unauthenticated;
        if !passes(broken.code()) && !was_known {
            return Err(refusal(&broken, address));
        }
        if heard.elapsed() > GIVE_UP {
            return Err(Failure::of(
                Exit::Failed,
                format!(
                    "the coordinator at {address} has not answered for {} min: {}",
                    GIVE_UP.as_secs() / 60,
                    message(&broken)
                ),
            )
            .help("start it again on its directory: the job goes on where it was"));
        }
        if sender.send(Ok(News::Silence(message(&broken)))).is_err() {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether asking again may help.
fn passes(code: Code) -> bool {
    !matches!(
        code,
        Code::NotFound
            | Code::InvalidArgument
            | Code::Unauthenticated
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::Unimplemented
    )
}

#[cfg(test)]
mod tests {
    use ziggurat_rpc::{Security, proto::JobState};

    use super::*;
    use crate::cluster::fake::{Cluster, JOB};

    #[test]
    fn a_job_is_followed_through_a_loss_of_the_connection_to_its_end() {
        let cluster = Cluster::start();
        let running = words::samples::under_way();
        let mut solved = running.clone();
        solved.job.as_mut().unwrap().state = JobState::Solved.into();
        *cluster.coordinates.watched.lock().unwrap() = [vec![running], vec![solved]].into();
        let coordinator = Coordinator::at(&cluster.address, Security::Open).unwrap();
        let news: Vec<String> = follow(&coordinator, JOB)
            .iter()
            .map(|news| match news.unwrap() {
                News::Status(status) => words::job_state(&status.job.unwrap()).to_owned(),
                News::Silence(why) => why,
            })
            .collect();
        assert_eq!(news, ["running", "it ended the connection", "solved"]);
    }

    #[test]
    fn a_job_that_is_not_there_is_not_waited_for() {
        let cluster = Cluster::start();
        let coordinator = Coordinator::at(&cluster.address, Security::Open).unwrap();
        let news: Vec<_> = follow(&coordinator, JOB + 1).iter().collect();
        let [Err(failure)] = &news[..] else { panic!("a refusal is all there is to tell") };
        assert_eq!(failure.exit, Exit::BadInput);
    }
}
