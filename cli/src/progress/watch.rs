//! The progress of work that tells which share of it is done: reading, comparing and converting
//! tables.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use super::display::Display;
use crate::output::times;

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Before this share is done, the time left cannot be told.
const LEAST_SHARE: f64 = 0.02;

/// Does some work that tells the share of it that is done, and shows how far it is, unless the
/// output is for machines. `title` says what is being done: `comparing a.zgt with b.zgt`.
pub fn watched<T>(title: &str, json: bool, work: impl FnOnce(&(dyn Fn(f64) + Sync)) -> T) -> T {
    let started = Instant::now();
    let display = (!json).then(|| Mutex::new(Display::new("{msg}\n{wide_bar} {percent:>3} %")));
    work(&|share| {
        let gone = started.elapsed();
        // Whoever finds another thread at the display has something better to do than wait.
        if gone > PATIENCE
            && let Some(Ok(mut display)) = display.as_ref().map(Mutex::try_lock)
        {
            let times = times_at(share, gone.as_secs_f64());
            let text = || format!("{title}, {times}");
            display.show(share, text, || format!("{title}: {:.0} %, {times}", share * 100.0));
        }
    })
}

/// The time gone and, if it can be told, the time left.
fn times_at(share: f64, gone: f64) -> String {
    times(gone, (share >= LEAST_SHARE).then(|| gone / share - gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_once_it_is_known() {
        assert_eq!(times_at(0.001, 3.0), "3.0 s gone");
        assert_eq!(times_at(0.25, 15.0), "15 s gone, about 45 s left");
    }
}
