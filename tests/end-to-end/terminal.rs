//! A terminal that is closed: nothing goes on drawing on it, and nothing is lost.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    path::Path,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{
    cluster::Cluster,
    support::{files, succeed},
};

/// No process takes longer to notice that its terminal is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that has a terminal of its own.
struct OnTerminal {
    process: Child,
    /// The other side of the terminal. Dropped, it closes the terminal.
    keyboard: File,
}

impl OnTerminal {
    /// Starts the program in a session of its own, as a shell or a terminal multiplexer does. Where `ignores_hang_ups`, it is not
    /// told when the terminal closes.
    fn start(directory: &Path, arguments: &[&str], ignores_hang_ups: bool) -> Self {
        let keyboard =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let end = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        let trap = if ignores_hang_ups { "trap '' HUP; " } else { "" };
        let script = format!("{trap}stty cols 100 rows 40; exec setsid --ctty \"$0\" \"$@\"");
        let process = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_ziggurat")])
            .args(arguments)
            .current_dir(directory)
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        Self { process, keyboard: keyboard.into() }
    }

    /// Reads what is drawn until it has a text. What comes later is read, too, and the keyboard is given back.
    fn shows(&mut self, text: &str) {
        let mut drawn = Vec::new();
        let mut bytes = [0; 4096];
        let has = |drawn: &[u8]| String::from_utf8_lossy(drawn).contains(text);
        while !has(&drawn) {
            let read = self.keyboard.read(&mut bytes).expect("the program has the terminal");
            drawn.extend_from_slice(&bytes[..read]);
        }
    }

    /// Closes the terminal, and waits for the end.
    fn hang_up(self) -> Option<i32> {
        let Self { mut process, keyboard } = self;
        drop(keyboard);
        ends(&mut process)
    }
}

/// Waits for the end of a process.
fn ends(process: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status.code();
        }
        if started.elapsed() > PATIENCE {
            process.kill().unwrap();
            process.wait().unwrap();
            panic!("goes on without a terminal");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_picture_of_a_job_ends_with_its_terminal() {
    let cluster = Cluster::new(0);
    let job = cluster.submit();
    let watch = ["watch", &job, "--coordinator", &cluster.address()];
    for ignores_hang_ups in [false, true] {
        let mut watching = OnTerminal::start(cluster.path(), &watch, ignores_hang_ups);
        watching.shows("q leaves");
        assert_eq!(watching.hang_up(), Some(130), "{ignores_hang_ups}");
    }
}

#[test]
fn keys_leave_a_picture_and_the_terminal_is_as_it_was() {
    let cluster = Cluster::new(0);
    let job = cluster.submit();
    let watch = ["watch", &job, "--coordinator", &cluster.address()];
    for keys in [&b"q"[..], b"\x03", b"\x1b[A\x1b[15~xyzq"] {
        let mut watching = OnTerminal::start(cluster.path(), &watch, false);
        watching.shows("q leaves");
        if keys.len() > 1 {
            // They come one after the other, as they are typed.
            for key in [&keys[..3], &keys[3..8], &keys[8..]] {
                watching.keyboard.write_all(key).unwrap();
                thread::sleep(Duration::from_millis(100));
            }
        } else {
            watching.keyboard.write_all(keys).unwrap();
        }
        watching.shows("\x1b[?1049l");
        assert_eq!(ends(&mut watching.process), Some(0), "{keys:?}");
    }
}

#[test]
fn those_who_wait_for_a_job_without_a_picture_end_with_their_terminal() {
    let cluster = Cluster::new(0);
    let address = cluster.address();
    let job = cluster.submit();
    let submit = ["submit", "finkel", "--pieces", "3", "--wait", "--coordinator", &address];
    let watch = ["watch", &job, "--json", "--coordinator", &address];
    for (command, shows) in [(&submit[..], "queued"), (&watch, "queued")] {
        let mut waiting = OnTerminal::start(cluster.path(), command, false);
        waiting.shows(shows);
        assert_eq!(waiting.hang_up(), Some(130), "{command:?}");
    }
}

#[test]
fn a_solve_saves_when_its_terminal_closes() {
    let game = ["finkel", "--pieces", "4", "--out"];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &[&["solve"], &game[..], &["expected.zgt"]].concat());
    let solve = [&["solve"], &game[..], &["table.zgt", "--dir", "d"]].concat();
    let mut solving = OnTerminal::start(path, &solve, false);
    solving.shows("superstep");
    assert_eq!(solving.hang_up(), Some(130));
    assert_eq!(files(path), ["d", "expected.zgt"]);
    let told = succeed(path, &["resume", "d", "--json"]);
    assert!(told.contains("step-resumed") || told.contains("step-found"), "{told}");
    let table = |name: &str| fs::read(path.join(name)).unwrap();
    assert!(table("table.zgt") == table("expected.zgt"), "other bytes");
}

#[test]
fn a_solve_that_ignores_hang_ups_is_done_although_its_terminal_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "3", "--out", "table.zgt"];
    let mut solving = OnTerminal::start(path, &solve, true);
    solving.shows("Solving");
    assert_eq!(solving.hang_up(), Some(0));
    assert_eq!(files(path), ["table.zgt"]);
}
