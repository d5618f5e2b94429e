//! What happens to a cluster, and when: a pure function of a seed.
//!
//! A model of the cluster keeps schedules sensible: what is down is not killed, and only disks that are away come back. Real
//! processes need not follow it: one may have ended meanwhile, or a job may be solved before the first fault.

use crate::support::Random;

/// A cluster has at most so many workers, those that join included.
const MOST_WORKERS: usize = 7;

/// What becomes of one cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// The seed that gave it.
    pub seed: u64,
    /// Of each worker at the start, whether it has the checkpoint store.
    pub stores: Vec<bool>,
    /// Whether values of steps under way are given up soon, so that it happens.
    pub gives_up_soon: bool,
    /// What happens, one after the other.
    pub happenings: Vec<(When, Fault)>,
}

/// The moment of a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum When {
    /// So many milliseconds after the one before.
    After(u64),
    /// When so many steps are solved, or a while later if they are not.
    Solved(u64),
}

/// A process of the cluster; workers are counted in the order in which they came.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Process {
    Coordinator,
    Worker(usize),
}

/// What is done to a cluster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// SIGKILL.
    Kill(Process),
    /// SIGSTOP.
    Hold(Process),
    /// SIGCONT.
    Continue(Process),
    /// SIGTERM, and a second one if that takes long.
    Leave(Process),
    /// An operator has a worker leave: `worker drain`.
    Drain(usize),
    /// A process starts on its directory.
    Start(Process),
    /// `pause`.
    Pause,
    /// `resume`.
    Resume,
    /// A second worker of this one's name, on another directory.
    Twin(usize),
    /// A worker's disk is away, and another worker starts on an empty one.
    TakeDisk(usize),
    /// The disk is back, and the worker starts on it.
    ReturnDisk(usize),
    /// A worker's disk is lost: it starts on an empty one, with `--replace`.
    LoseDisk(usize),
    /// The disk that was lost is found: it joins under another name.
    FindDisk(usize),
    /// A worker joins; whether it has the checkpoint store.
    Join(bool),
    /// All workers that have the checkpoint store are killed.
    KillReaders,
    /// `worker forget`.
    Forget(usize),
    /// Everything is killed.
    KillAll,
    /// Programs of another version start on the directories: after all processes have ended, or in the place of one after the
    /// other, the coordinator first.
    Upgrade(Way),
}

/// How a cluster is upgraded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Way {
    AtOnce,
    OneByOne,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Up,
    Held,
    Down,
}

#[derive(Clone, Copy, PartialEq)]
enum Disk {
    Here,
    Away,
}

/// A worker, as the schedule takes it to be.
struct Worker {
    state: State,
    disk: Disk,
    has_lost_one: bool,
    has_store: bool,
}

/// The cluster, as the schedule takes it to be.
struct Model {
    coordinator: State,
    workers: Vec<Worker>,
    is_paused: bool,
    is_upgraded: bool,
    way: Way,
}

impl Model {
    fn state(&mut self, process: Process) -> &mut State {
        match process {
            Process::Coordinator => &mut self.coordinator,
            Process::Worker(place) => &mut self.workers[place].state,
        }
    }

    fn processes(&self) -> impl Iterator<Item = Process> + use<> {
        let workers = (0..self.workers.len()).map(Process::Worker);
        [Process::Coordinator].into_iter().chain(workers)
    }

    fn join(&mut self, has_store: bool) {
        let (state, disk, has_lost_one) = (State::Up, Disk::Here, false);
        self.workers.push(Worker { state, disk, has_lost_one, has_store });
    }

    /// A worker with a property, if there is one.
    fn any(&self, random: &mut Random, has: impl Fn(&Worker) -> bool) -> Option<usize> {
        let places = (0..self.workers.len()).filter(|&place| has(&self.workers[place]));
        let places: Vec<usize> = places.collect();
        let count = places.len().max(1) as u64;
        places.get(random.below(count) as usize).copied()
    }

    /// A fault, if the kind that was drawn makes sense.
    fn draw(&mut self, random: &mut Random, has_store: bool) -> Option<Fault> {
        let answers = self.coordinator == State::Up;
        let has_room = self.workers.len() < MOST_WORKERS;
        let up = |worker: &Worker| worker.state == State::Up;
        let here = |worker: &Worker| worker.disk == Disk::Here;
        let kind = random.below(24);
        let is_coordinator = random.below(3) == 0;
        let process = |random: &mut Random, is_fit: &dyn Fn(State) -> bool| match is_coordinator {
            true => Some(Process::Coordinator).filter(|_| is_fit(self.coordinator)),
            false => self.any(random, |worker| is_fit(worker.state)).map(Process::Worker),
        };
        let fault = match kind {
            0..=2 => Fault::Kill(process(random, &|state| state != State::Down)?),
            3 | 4 => Fault::Hold(process(random, &|state| state == State::Up)?),
            5 | 6 => Fault::Leave(process(random, &|state| state == State::Up)?),
            7 if answers => Fault::Drain(self.any(random, up)?),
            8 if answers => Fault::Pause,
            9 if answers && self.is_paused => Fault::Resume,
            10..=12 if answers => {
                Fault::Twin(self.any(random, |worker| worker.state != State::Held)?)
            }
            13 if has_room => Fault::TakeDisk(self.any(random, here)?),
            14 => Fault::LoseDisk(self.any(random, here)?),
            15 | 16 if has_room => Fault::FindDisk(self.any(random, |worker| worker.has_lost_one)?),
            17 if self.any(random, |worker| worker.has_store && up(worker)).is_some() => {
                Fault::KillReaders
            }
            18 | 19 if answers => Fault::Forget(self.any(random, |worker| !up(worker))?),
            20 if is_coordinator => Fault::KillAll,
            21 if !self.is_upgraded => Fault::Upgrade(self.way),
            22 if has_room => Fault::Join(has_store && random.below(2) == 0),
            23 if has_room && has_store => Fault::Join(false),
            _ => return None,
        };
        self.apply(fault);
        Some(fault)
    }

    fn apply(&mut self, fault: Fault) {
        match fault {
            Fault::Kill(process) | Fault::Leave(process) => *self.state(process) = State::Down,
            Fault::Hold(process) => *self.state(process) = State::Held,
            Fault::Continue(process) | Fault::Start(process) => *self.state(process) = State::Up,
            Fault::Drain(place) => self.workers[place].state = State::Down,
            Fault::Pause => self.is_paused = true,
            Fault::Resume => self.is_paused = false,
            Fault::Twin(_) | Fault::Forget(_) => {}
            Fault::TakeDisk(place) => {
                let worker = &mut self.workers[place];
                (worker.state, worker.disk) = (State::Down, Disk::Away);
                let has_store = worker.has_store;
                self.join(has_store);
            }
            Fault::ReturnDisk(place) => {
                let worker = &mut self.workers[place];
                (worker.state, worker.disk) = (State::Up, Disk::Here);
            }
            Fault::LoseDisk(place) => {
                let worker = &mut self.workers[place];
                (worker.state, worker.has_lost_one) = (State::Up, true);
            }
            Fault::FindDisk(place) => {
                self.workers[place].has_lost_one = false;
                let has_store = self.workers[place].has_store;
                self.join(has_store);
            }
            Fault::Join(has_store) => self.join(has_store),
            Fault::KillReaders => {
                let readers = self.workers.iter_mut().filter(|worker| worker.has_store);
                readers.for_each(|worker| worker.state = State::Down);
            }
            Fault::KillAll => {
                for process in self.processes() {
                    *self.state(process) = State::Down;
                }
            }
            Fault::Upgrade(_) => {
                self.is_upgraded = true;
                self.coordinator = State::Up;
                let here = self.workers.iter_mut().filter(|worker| worker.disk == Disk::Here);
                here.for_each(|worker| worker.state = State::Up);
            }
        }
    }

    /// What ends the fault that a process suffers from, if any.
    fn mend(&mut self, process: Process) -> Option<Fault> {
        let mending = match (process, *self.state(process)) {
            (_, State::Up) => return None,
            (_, State::Held) => Fault::Continue(process),
            (Process::Worker(place), State::Down) if self.workers[place].disk == Disk::Away => {
                Fault::ReturnDisk(place)
            }
            (_, State::Down) => Fault::Start(process),
        };
        self.apply(mending);
        Some(mending)
    }
}

impl Schedule {
    /// The schedule of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::seeded(seed);
        let workers = 2 + random.below(3);
        let has_store = random.below(2) == 0;
        let mut stores: Vec<bool> =
            (0..workers).map(|_| has_store && random.below(4) > 0).collect();
        stores[0] = has_store;
        let gives_up_soon = random.below(2) == 0;
        let mut model = Model {
            coordinator: State::Up,
            workers: Vec::new(),
            is_paused: false,
            is_upgraded: false,
            way: if seed.is_multiple_of(2) { Way::AtOnce } else { Way::OneByOne },
        };
        stores.iter().for_each(|&has_store| model.join(has_store));
        let mut happenings = Vec::new();
        for _ in 0..3 + random.below(5) {
            let when = match random.below(2) {
                0 => When::After(random.below(1500)),
                _ => When::Solved(random.below(6)),
            };
            let fault = loop {
                if let Some(fault) = model.draw(&mut random, has_store) {
                    break fault;
                }
            };
            happenings.push((when, fault));
            if model.is_paused && model.coordinator == State::Up && random.below(2) == 0 {
                model.apply(Fault::Resume);
                happenings.push((When::After(random.below(1500)), Fault::Resume));
            }
            for process in model.processes() {
                if random.below(2) == 0
                    && let Some(mending) = model.mend(process)
                {
                    // Some are away for longer than a lease.
                    let longest = if random.below(4) == 0 { 3000 } else { 600 };
                    happenings.push((When::After(random.below(longest)), mending));
                }
            }
        }
        Self { seed, stores, gives_up_soon, happenings }
    }

    /// Whether programs of another version take over.
    pub fn has_upgrade(&self) -> bool {
        self.happenings.iter().any(|(_, fault)| matches!(fault, Fault::Upgrade(_)))
    }
}
