//! Cutting rulesets into steps and shards: seconds of work for large ones, so it is done off the async runtime. A client
//! has one plan made at a time, and none once it has hung up. The last result is kept, since people look at a plan before they
//! submit it.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use ziggurat_encoding::Encoding;
use ziggurat_game::Ruleset;
use ziggurat_planning::{MOST_SHARDS, Settings, model::units::StepUnits, steps};
use ziggurat_rpc::convert::cut;

use super::{Alone, MemoryAlone};
use crate::machine::{JobPlan, Spec};

/// A job has at most so many undecided positions: 8 TiB of values.
const MOST_POSITIONS: u64 = 1 << 40;

/// Plans that are made at the same time.
const AT_ONCE: usize = 4;

/// Positions of the largest step that are sampled to know what members read of each other.
const SAMPLES: u64 = 1 << 12;

/// A job's plan, and what one process would need for it.
#[derive(Clone, Debug)]
pub struct Planned {
    pub plan: Arc<JobPlan>,
    /// The largest step.
    pub largest: Arc<StepUnits>,
    pub positions: u64,
    pub alone: Alone,
}

/// Makes plans.
#[derive(Clone)]
pub struct Planner {
    last: Arc<Mutex<Option<(Spec, Planned)>>>,
    memory_alone: MemoryAlone,
    /// Turns of all.
    turns: Arc<Semaphore>,
    /// Turns of clients that have plans made, or wait for that.
    clients: Arc<Mutex<HashMap<IpAddr, Arc<AsyncMutex<()>>>>>,
}

impl Planner {
    /// One that says of jobs what one process would take for them.
    pub fn new(memory_alone: MemoryAlone) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Self { last: Arc::default(), memory_alone, turns, clients: Arc::default() }
    }

    /// The plan of a job, for a client if that is known. Where the caller goes, the work ends.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if the ruleset is none, or has too many positions or shards.
    pub async fn plan(&self, spec: Spec, client: Option<IpAddr>) -> Result<Planned, Status> {
        let turn = client.map(|client| self.turn_of(client));
        let of_client = match turn {
            Some(turn) => Some(turn.lock_owned().await),
            None => None,
        };
        let of_all = self.turns.clone().acquire_owned().await;
        let cancelled = CancellationToken::new();
        let _cancel = cancelled.clone().drop_guard();
        let planner = self.clone();
        let made = tokio::task::spawn_blocking(move || {
            // It is another's turn when the work has ended, whether the caller waits for that or not.
            let _turn = (of_client, of_all);
            planner.plan_now(&spec, &cancelled)
        });
        made.await
            .map_err(|error| Status::internal(error.to_string()))?
            .map_err(|why| Status::invalid_argument(cut(&why)))
    }

    fn turn_of(&self, client: IpAddr) -> Arc<AsyncMutex<()>> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|_, turn| Arc::strong_count(turn) > 1);
        clients.entry(client).or_default().clone()
    }

    /// The same, in this thread; the error is for people.
    pub fn plan_now(&self, spec: &Spec, cancelled: &CancellationToken) -> Result<Planned, String> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, planned)) = last().as_ref().filter(|(known, _)| known == spec) {
            return Ok(planned.clone());
        }
        let ruleset =
            Ruleset::from_toml(&spec.ruleset, "ruleset").map_err(|error| error.to_string())?;
        let encoding = Encoding::new(&ruleset).map_err(|error| error.to_string())?;
        let positions = check_positions(&encoding)?;
        let settings = spec.settings();
        check_shards(&encoding, &settings, cancelled)?;
        let alone = (self.memory_alone)(&encoding, &settings);
        let largest = steps(&encoding).into_iter().max_by_key(|&step| encoding.step_len(step));
        let largest = largest.expect("there is a step");
        let largest = Arc::new(StepUnits::new(&encoding, &settings, largest, SAMPLES));
        let plan = JobPlan::unless(encoding, settings, || cancelled.is_cancelled());
        let plan = Arc::new(plan.ok_or_else(hung_up)?);
        let planned = Planned { plan, largest, positions, alone };
        *last() = Some((spec.clone(), planned.clone()));
        Ok(planned)
    }
}

/// What nobody is there to read.
fn hung_up() -> String {
    "the call was cancelled".to_owned()
}

/// Refuses rulesets with more positions than a cluster solves; the undecided positions of others.
fn check_positions(encoding: &Encoding) -> Result<u64, String> {
    let tiers = encoding.tiers().into_iter();
    let positions = tiers.fold(0, |sum: u64, tier| sum.saturating_add(encoding.tier_len(tier)));
    if positions <= MOST_POSITIONS {
        return Ok(positions);
    }
    Err(format!(
        "the ruleset has {positions} undecided positions, and a cluster solves at most {MOST_POSITIONS}; use fewer pieces \
         or a shorter path"
    ))
}

/// Refuses shards of a size that somebody wants of which a step has too many, and says which will do. The limit comes down to
/// them by halves, so that a step is never cut into far too many.
fn check_shards(
    encoding: &Encoding,
    settings: &Settings,
    cancelled: &CancellationToken,
) -> Result<(), String> {
    let Some(wanted) = settings.shard_positions else { return Ok(()) };
    let mut will_do = None;
    for tier in encoding.tiers() {
        let mut limit = encoding.step_len(tier);
        while limit > wanted {
            if cancelled.is_cancelled() {
                return Err(hung_up());
            }
            let smaller = wanted.max(limit / 2);
            if encoding.shards(tier, smaller).len() > MOST_SHARDS {
                will_do = will_do.max(Some(limit));
                break;
            }
            limit = smaller;
        }
    }
    let Some(will_do) = will_do else { return Ok(()) };
    Err(format!(
        "with shards of {wanted} positions, a step has more than the {MOST_SHARDS} that a cluster shares out; \
         --shard-positions {will_do} will do"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tokio::{sync::Notify, time::timeout};
    use ziggurat_game::{Overrides, Ruleset};
    use ziggurat_planning::Precision;

    use super::*;

    const ALONE: Alone = Alone { memory_bytes: 2, least_memory_bytes: 1, arrays_bytes: 1 };

    #[test]
    fn too_many_shards_are_refused_and_the_size_that_is_named_will_do() {
        let pieces = Overrides { pieces: Some(4), ..Overrides::default() };
        let masters = Ruleset::builtin("masters").unwrap().with(&pieces).unwrap();
        let encoding = Encoding::new(&masters).unwrap();
        let checked = |shard_positions| {
            let settings = Settings { shard_positions, ..Settings::new(Precision::F64) };
            check_shards(&encoding, &settings, &CancellationToken::new())
        };
        checked(None).unwrap();
        let refused = checked(Some(1)).unwrap_err();
        let (_, rest) = refused.split_once("--shard-positions ").unwrap();
        let named: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        checked(Some(named)).unwrap();
        assert!(named < 10_000, "{refused}");
    }

    fn spec(ruleset: &Ruleset) -> Spec {
        Spec {
            ruleset: ruleset.to_toml(),
            precision: Precision::F64,
            tolerance: 1e-12,
            certified: true,
            shard_positions: None,
        }
    }

    #[test]
    fn more_positions_than_can_be_solved_are_refused_at_once() {
        let pieces = Overrides { pieces: Some(15), ..Overrides::default() };
        for name in ["double-long", "murray"] {
            let ruleset = Ruleset::builtin(name).unwrap().with(&pieces).unwrap();
            let started = Instant::now();
            let planner = Planner::new(|_, _| panic!("nothing is planned"));
            let refused = planner.plan_now(&spec(&ruleset), &CancellationToken::new());
            let refused = refused.map(drop).unwrap_err();
            assert!(
                refused.contains("undecided positions") || refused.contains("64 bits"),
                "{refused}"
            );
            assert!(started.elapsed().as_secs() < 5, "{name}: {:?}", started.elapsed());
        }
    }

    #[test]
    fn large_shards_make_no_room_for_more_positions_than_can_be_solved() {
        let pieces = Overrides { pieces: Some(15), ..Overrides::default() };
        let ruleset = Ruleset::builtin("double-long").unwrap().with(&pieces).unwrap();
        let spec = Spec { shard_positions: Some(MOST_POSITIONS), ..spec(&ruleset) };
        // So large, the shards of no step are too many: the ruleset is refused for its positions.
        let encoding = Encoding::new(&ruleset).unwrap();
        check_shards(&encoding, &spec.settings(), &CancellationToken::new()).unwrap();
        let planner = Planner::new(|_, _| panic!("nothing is planned"));
        let refused = planner.plan_now(&spec, &CancellationToken::new()).map(drop).unwrap_err();
        let (positions, _) = refused.split_once(" undecided positions").expect(&refused);
        let positions = positions.rsplit(' ').next().unwrap();
        assert!(positions.parse::<u64>().unwrap() > 100_000_000_000_000, "{refused}");
    }

    /// A ruleset in 1 KB with 1.9e16 positions, of 22 private squares and 4 shared ones.
    fn small_text_of_a_large_ruleset() -> String {
        let private = (1..=22).map(|y| format!("[1, {y}]"));
        let shared = (19..=22).rev().map(|y| format!("[2, {y}]"));
        let path: Vec<String> = private.chain(shared).collect();
        let board = [[r#""o.o""#; 18].as_slice(), &[r#""ooo""#; 4]].concat();
        format!(
            "name = \"large\"\npieces = 15\nsafe_rosettes = true\nrosettes_grant_rolls = true\n\
             captures_grant_rolls = false\ndice = {{ 0 = \"1/16\", 1 = \"4/16\", 2 = \"6/16\", 3 = \"4/16\", \
             4 = \"1/16\" }}\npath = [{}]\nboard = [{}]\n",
            path.join(", "),
            board.join(", ")
        )
    }

    #[tokio::test]
    async fn a_small_text_of_a_large_ruleset_is_refused_within_seconds() {
        let planner = Planner::new(|_, _| panic!("nothing is planned"));
        let finkel = spec(&Ruleset::builtin("finkel").unwrap());
        let large = Spec { ruleset: small_text_of_a_large_ruleset(), ..finkel };
        assert!(large.ruleset.len() <= 1024, "{}", large.ruleset.len());
        let refused = timeout(Duration::from_secs(5), planner.plan(large, None)).await;
        let refused = refused.expect("no answer yet").map(drop).unwrap_err();
        assert!(refused.message().contains("undecided positions"), "{refused}");
    }

    /// The plan of two pieces below is being made.
    static IS_BEGUN: Notify = Notify::const_new();
    /// Free when it may go on.
    static MAY_GO_ON: AsyncMutex<()> = AsyncMutex::const_new(());

    #[tokio::test]
    async fn a_client_is_answered_while_a_plan_is_made_for_another() {
        let planner = Planner::new(|encoding, _| {
            if encoding.ruleset().pieces() == 2 {
                IS_BEGUN.notify_one();
                drop(MAY_GO_ON.blocking_lock());
            }
            ALONE
        });
        let of = |pieces| {
            let pieces = Overrides { pieces: Some(pieces), ..Overrides::default() };
            spec(&Ruleset::builtin("finkel").unwrap().with(&pieces).unwrap())
        };
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|ip| Some(ip.parse().unwrap()));
        let held = MAY_GO_ON.lock().await;
        let long = planner.plan(of(2), one);
        let short = async {
            IS_BEGUN.notified().await;
            let planned = timeout(Duration::from_secs(5), planner.plan(of(1), other)).await;
            drop(held);
            assert_eq!(planned.expect("no answer yet").unwrap().positions, 217);
        };
        let (long, ()) = tokio::join!(long, short);
        assert!(long.is_ok());
    }

    #[test]
    fn work_for_a_caller_that_has_hung_up_ends() {
        let planner = Planner::new(|_, _| ALONE);
        let finkel = spec(&Ruleset::builtin("finkel").unwrap());
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        assert_eq!(planner.plan_now(&finkel, &cancelled).map(drop), Err(hung_up()));
        assert!(planner.plan_now(&finkel, &CancellationToken::new()).is_ok());
    }

    #[tokio::test]
    async fn a_client_waits_for_its_own_plan_and_no_other_client_does() {
        let planner = Planner::new(|_, _| ALONE);
        let finkel = spec(&Ruleset::builtin("finkel").unwrap());
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|ip| Some(ip.parse().unwrap()));
        let at_work = planner.turn_of(one.unwrap()).lock_owned().await;
        assert!(planner.plan(finkel.clone(), other).await.is_ok());
        let second = planner.plan(finkel, one);
        tokio::pin!(second);
        let soon = Duration::from_millis(100);
        assert!(timeout(soon, &mut second).await.is_err());
        drop(at_work);
        assert!(second.await.is_ok());
        drop(planner.turn_of(other.unwrap()));
        assert_eq!(planner.clients.lock().unwrap().len(), 1);
    }
}
