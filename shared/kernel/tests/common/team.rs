//! A team of members in one process, each a thread, and channels between them.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_kernel::{
    Arrays, Assignment, Column, Exchange, ExchangeError, Goal, HaloPart, Member, MemberIndex,
    Memory, Order, Outcome, PART_BYTES, Part, Places, ResumeFrom, Settings, Share, SolvedTierCache,
    Sources, StepController, StepStoreError, Tables, TierStatistics, VECTORS, plan, shards,
};

/// The bytes of ranges of shards, by column.
pub type Saved = HashMap<(Column, u32, u8), Vec<u8>>;

/// A solved step.
pub struct Solved {
    pub values: Saved,
    pub statistics: TierStatistics,
    /// How many attempts there were: the number of the solution.
    pub attempts: u32,
}

/// How a team works.
pub struct Rules<'a> {
    /// Never more members than so many.
    pub most_members: usize,
    /// Members of a step, and for each of its shards which sweeps it, by step, attempt.
    pub owners: &'a (dyn Fn(Tier, usize, u32) -> (usize, Vec<MemberIndex>) + Sync),
    /// After how many orders an attempt is ended and begun anew from its last checkpoint.
    pub orders_of_attempt: u32,
    /// Where the arrays of members are.
    pub arrays: Arrays,
}

/// The traffic of a solve.
#[derive(Default, Debug)]
pub struct Exchanged {
    pub bytes: AtomicU64,
    /// Those of them that are for proofs.
    pub for_proofs: AtomicU64,
    /// Positions the halos have, times supersteps.
    pub halo: AtomicU64,
    /// The same for the interval supersteps of proofs.
    pub halo_of_proofs: AtomicU64,
    /// The sum of the checksums of all messages and of all that was saved.
    pub checksum: AtomicU64,
}

impl Exchanged {
    /// Takes note of bytes that have a name.
    fn add(&self, name: impl Debug, bytes: &[u8]) {
        let checksum = xxh3_64_with_seed(bytes, xxh3_64(format!("{name:?}").as_bytes()));
        self.checksum.fetch_add(checksum, Ordering::Relaxed);
    }
}

/// The bytes of a message on a wire beside its content.
const OVERHEAD_BYTES: u64 = 20;

/// A barrier's number and a part of a payload.
type Sent = (u32, HaloPart);

struct Channels<'a> {
    me: MemberIndex,
    to: &'a [Vec<mpsc::Sender<Sent>>],
    from: Vec<Mutex<mpsc::Receiver<Sent>>>,
    exchanged: &'a Exchanged,
    /// Whether the member sends for a proof.
    proves: AtomicBool,
}

impl Exchange for Channels<'_> {
    fn post(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError> {
        assert!(part.bytes.len() <= PART_BYTES);
        self.exchanged.add((self.me.0, member.0, barrier), &part.bytes);
        let bytes = part.bytes.len() as u64 + OVERHEAD_BYTES;
        self.exchanged.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.proves.load(Ordering::Relaxed) {
            self.exchanged.for_proofs.fetch_add(bytes, Ordering::Relaxed);
        }
        let message = "the member is gone".to_owned();
        self.to[member.0][self.me.0]
            .send((barrier, part))
            .map_err(|_| ExchangeError { member, message })
    }

    fn send(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError> {
        self.post(member, barrier, part)
    }

    fn receive(&self, member: MemberIndex, barrier: u32) -> Result<HaloPart, ExchangeError> {
        let message = "the member is gone".to_owned();
        let came = self.from[member.0].lock().unwrap().recv();
        let (number, part) = came.map_err(|_| ExchangeError { member, message })?;
        assert_eq!(number, barrier);
        Ok(part)
    }
}

struct Shelf<'a> {
    step: Tier,
    saved: Option<&'a Saved>,
    solved: &'a BTreeMap<(u8, u8), Solved>,
}

impl Sources for Shelf<'_> {
    fn load(&self, step: Tier, parts: Vec<(Part<'_>, Places)>) -> Result<(), StepStoreError> {
        let from = match (self.saved, step == self.step) {
            (Some(saved), true) => saved,
            _ => &self.solved[&(step.just_moved, step.to_move)].values,
        };
        for (Part { column, shard, range, mut data }, places) in parts {
            let bytes = &from[&(column, shard, range)];
            let (width, to) = (data.width(), data.bytes_mut());
            // Nothing but the needed places.
            for place in places {
                let place = place.start * width..place.end * width;
                to[place.clone()].copy_from_slice(&bytes[place]);
            }
        }
        Ok(())
    }

    fn solution(&self, step: Tier) -> u32 {
        self.solved[&(step.just_moved, step.to_move)].attempts
    }

    fn bound(&self, step: Tier) -> f64 {
        let solved = &self.solved[&(step.just_moved, step.to_move)];
        solved.statistics.certificate.map_or(0.0, |certificate| certificate.bound)
    }
}

/// Solves all steps of a ruleset with a team.
pub fn solve(
    encoding: &Encoding,
    settings: &Settings,
    rules: &Rules<'_>,
    exchanged: &Exchanged,
) -> BTreeMap<(u8, u8), Solved> {
    let mut solved = BTreeMap::new();
    let tables = Tables::new(encoding);
    let cache: Vec<Mutex<SolvedTierCache>> =
        (0..rules.most_members).map(|_| Mutex::default()).collect();
    for step in plan(encoding, settings).steps {
        let one =
            solve_step(encoding, settings, &tables, step.tier, (rules, &cache), exchanged, &solved);
        solved.insert((step.tier.just_moved, step.tier.to_move), one);
    }
    let first_cache = format!("{:?}", cache[0].lock().unwrap());
    assert_eq!(
        first_cache,
        format!("{:?}", SolvedTierCache::default()),
        "no step reads the last one"
    );
    solved
}

/// The inputs of an attempt at a step.
struct Attempt<'a> {
    encoding: &'a Encoding,
    settings: &'a Settings,
    tables: &'a Tables,
    tier: Tier,
    rules: &'a Rules<'a>,
    /// How many members there are, and which shards are whose.
    members: usize,
    owners: Vec<MemberIndex>,
    /// The number of the solution, if there will be one.
    number: u32,
    /// The checkpoint to go on from.
    saved: Option<&'a Saved>,
    place: Option<ResumeFrom>,
    solved: &'a BTreeMap<(u8, u8), Solved>,
    exchanged: &'a Exchanged,
}

/// What a member reports: an outcome, and in the end its checkpoint.
type Report = (Outcome, Option<Saved>);

impl Attempt<'_> {
    /// Carries out orders on one thread per member until an attempt is to end. Returns the checkpoint of all.
    fn run(&self, controller: &mut StepController, caches: &[Mutex<SolvedTierCache>]) -> Saved {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..self.members {
            let (senders, receivers): (Vec<_>, Vec<_>) =
                (0..self.members).map(|_| mpsc::channel()).unzip();
            to.push(senders);
            from.push(receivers);
        }
        thread::scope(|scope| {
            let to = &to;
            let mut orders = Vec::new();
            let (report, reports) = mpsc::channel();
            for (me, from) in from.into_iter().enumerate() {
                let (order, next) = mpsc::channel();
                orders.push(order);
                let report = report.clone();
                scope.spawn(move || {
                    let from = from.into_iter().map(Mutex::new).collect();
                    let proves = AtomicBool::new(false);
                    let channels = Channels {
                        me: MemberIndex(me),
                        to,
                        from,
                        exchanged: self.exchanged,
                        proves,
                    };
                    self.take_part(&channels, &caches[me], &next, &report);
                });
            }
            let mut made = 0;
            while made < self.rules.orders_of_attempt || !controller.can_be_saved() {
                let Some(order) = controller.order() else { break };
                orders.iter().for_each(|member| member.send(Some(order.clone())).unwrap());
                let outcomes = reports.iter().take(self.members).map(|(outcome, _)| outcome);
                let outcome = outcomes.reduce(|a, b| a.and(b).unwrap()).unwrap();
                assert!(controller.expects(&outcome));
                controller.apply(outcome);
                made += 1;
            }
            orders.iter().for_each(|member| member.send(None).unwrap());
            let parts = reports.iter().take(self.members).filter_map(|(_, parts)| parts);
            parts.flatten().collect()
        })
    }

    /// The work of a member: orders until there are no more, then its checkpoint.
    fn take_part(
        &self,
        channels: &Channels<'_>,
        cache: &Mutex<SolvedTierCache>,
        next: &mpsc::Receiver<Option<Order>>,
        report: &mpsc::Sender<Report>,
    ) {
        let exchanged = self.exchanged;
        let (arrays, dir) = (self.rules.arrays, std::env::temp_dir());
        let memory = Memory::new(arrays, &dir, self.settings.threads).unwrap();
        let share = Share::new(Assignment {
            encoding: self.encoding,
            settings: self.settings,
            tables: self.tables,
            tier: self.tier,
            owners: &self.owners,
            member: channels.me,
            members: self.members,
            exchange: channels,
            place: self.place,
        });
        let shelf = Shelf { step: self.tier, saved: self.saved, solved: self.solved };
        let mut work = |member: &mut dyn Member| {
            while let Ok(Some(order)) = next.recv() {
                let proves = matches!(order, Order::Prove(_));
                channels.proves.store(proves, Ordering::Relaxed);
                let positions = match order {
                    Order::Sweep { .. } => &exchanged.halo,
                    Order::Prove(_) => &exchanged.halo_of_proofs,
                    _ => &AtomicU64::new(0),
                };
                positions.fetch_add(member.halo_positions(), Ordering::Relaxed);
                let outcome = member.carry_out(&order)?;
                report.send((outcome, None)).unwrap();
            }
            // Everything is saved.
            let mut saved = Saved::new();
            for vectors in (0..=VECTORS).rev() {
                for Part { column, shard, range, data } in member.parts(vectors, true) {
                    exchanged.add((column, shard, range), data.bytes());
                    saved.insert((column, shard, range), data.bytes().to_vec());
                }
            }
            report.send((Outcome::Done, Some(saved))).unwrap();
            Ok(Some(self.number))
        };
        share.take_part(&memory, &shelf, &mut cache.lock().unwrap(), &mut work).unwrap();
    }
}

fn solve_step(
    encoding: &Encoding,
    settings: &Settings,
    tables: &Tables,
    tier: Tier,
    (rules, caches): (&Rules<'_>, &[Mutex<SolvedTierCache>]),
    exchanged: &Exchanged,
    solved: &BTreeMap<(u8, u8), Solved>,
) -> Solved {
    let bound = |tier: Tier| {
        let step = tier.first_of_step();
        let solved = &solved[&(step.just_moved, step.to_move)];
        solved.statistics.certificate.map_or(0.0, |certificate| certificate.bound)
    };
    let read = tier.reads().map(bound).fold(0.0, f64::max);
    let mut controller = StepController::new(Goal::new(encoding, settings, tier, read));
    let mut saved: Option<(Saved, StepController)> = None;
    for attempt in 0.. {
        if let Some((_, saved)) = &saved {
            controller = saved.clone();
        }
        let shards = shards(encoding, settings, tier).len();
        let (members, owners) = (rules.owners)(tier, shards, attempt);
        let place = saved.as_ref().map(|(_, controller)| ResumeFrom::of(controller));
        let attempt = Attempt {
            encoding,
            settings,
            tables,
            tier,
            rules,
            members,
            owners,
            number: attempt + 1,
            saved: saved.as_ref().map(|(saved, _)| saved),
            place,
            solved,
            exchanged,
        };
        let values = attempt.run(&mut controller, caches);
        if controller.order().is_none() {
            let (statistics, attempts) = (*controller.statistics(), attempt.number);
            return Solved { values, statistics, attempts };
        }
        exchanged.add(tier, &serde_json::to_vec(&controller).unwrap());
        saved = Some((values, controller.clone()));
    }
    unreachable!("attempts go on")
}
