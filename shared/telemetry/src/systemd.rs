//! Telling a service manager how a service is: `sd_notify(3)`.
//!
//! systemd names a socket in `NOTIFY_SOCKET` for services of `Type=notify`, and says in `WATCHDOG_USEC` how often it
//! wants to hear that the service is alive (`WatchdogSec=`); one that is silent for longer it kills and starts again.
//! Where there is no such manager nothing is told.

use std::{
    env, io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    time::Duration,
};

use crate::Health;

/// The service has started.
pub const READY: &str = "READY=1";
/// It is about to end.
pub const STOPPING: &str = "STOPPING=1";
/// It is alive.
const ALIVE: &str = "WATCHDOG=1";

/// Tells the service manager, if there is one, how the service is. That it cannot be told is logged.
pub fn notify(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(socket.as_bytes(), state) {
        tracing::warn!(%error, "could not tell the service manager {state}");
    }
}

fn send(socket: &[u8], state: &str) -> io::Result<()> {
    let address = match socket.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(socket))?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

/// How often the service manager is to be told that the service is alive: twice in the time that it waits.
fn watchdog_interval() -> Option<Duration> {
    let is_mine = |process: String| process.parse() == Ok(std::process::id());
    if !env::var("WATCHDOG_PID").map_or(true, is_mine) {
        return None;
    }
    let microseconds: u64 = env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    (microseconds > 0).then(|| Duration::from_micros(microseconds) / 2)
}

/// Tells the service manager that the service is alive as long as it is, if that is wanted; until the future is dropped.
pub async fn keep_told(health: &Health) {
    let Some(interval) = watchdog_interval() else { return std::future::pending().await };
    loop {
        if health.is_alive().await {
            notify(ALIVE);
        }
        tokio::time::sleep(interval).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_sent_to_sockets_with_and_without_a_path() {
        let name = format!("ziggurat-test-{}", std::process::id());
        let path = env::temp_dir().join(&name);
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let at_path = UnixDatagram::bind(&path).unwrap();
        let abstract_one = UnixDatagram::bind_addr(&abstract_name).unwrap();
        send(path.as_os_str().as_bytes(), READY).unwrap();
        send(format!("@{name}").as_bytes(), ALIVE).unwrap();
        std::fs::remove_file(&path).unwrap();
        for (socket, expected) in [(at_path, READY), (abstract_one, ALIVE)] {
            let mut told = [0; 64];
            let length = socket.recv(&mut told).unwrap();
            assert_eq!(&told[..length], expected.as_bytes());
        }
        assert!(send(path.as_os_str().as_bytes(), READY).is_err());
    }
}
