//! Who connects, how often, and how often they misbehaved: what a server remembers of hosts, so that none
//! takes all room and those that guess tokens or send garbage are slowed down.
//!
//! They are not locked out: others behind the same address still get in, only later.

use std::{collections::HashMap, net::IpAddr, time::Instant};

use crate::{
    Repeats,
    limits::{
        CONNECTIONS, CONNECTIONS_PER_HOST, OFFENCE_MEMORY, OFFENCES_FORGIVEN, PENALISED_CONNECTIONS,
    },
};

/// What is known of hosts that are connected or misbehaved lately.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    all: HashMap<IpAddr, Host>,
    connections: usize,
    /// What was said of them in the log.
    said: Repeats<(IpAddr, String)>,
}

#[derive(Debug, Default)]
struct Host {
    connections: u32,
    waiting: u32,
    offences: u32,
    last_offence: Option<Instant>,
}

/// What becomes of a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// It is read from.
    Now,
    /// It is read from after a penalty, see [`Hosts::has_waited`].
    Later,
    /// It is closed.
    Refused,
}

impl Host {
    fn is_slowed_down(&self, now: Instant) -> bool {
        self.offences > OFFENCES_FORGIVEN && self.remembers(now)
    }

    fn remembers(&self, now: Instant) -> bool {
        self.last_offence.is_some_and(|last| now.duration_since(last) < OFFENCE_MEMORY)
    }
}

impl Hosts {
    /// Decides about a new connection and counts it, unless it is refused.
    pub(crate) fn admit(&mut self, host: IpAddr, now: Instant) -> Admission {
        self.all.retain(|_, host| host.connections > 0 || host.remembers(now));
        let all = self.connections;
        let host = self.all.entry(host).or_default();
        let is_slowed_down = host.is_slowed_down(now);
        if all >= CONNECTIONS
            || host.connections >= CONNECTIONS_PER_HOST
            || is_slowed_down && host.waiting >= PENALISED_CONNECTIONS
        {
            return Admission::Refused;
        }
        host.connections += 1;
        self.connections += 1;
        if is_slowed_down {
            host.waiting += 1;
            return Admission::Later;
        }
        Admission::Now
    }

    /// The penalty of a connection is over.
    pub(crate) fn has_waited(&mut self, host: IpAddr) {
        if let Some(host) = self.all.get_mut(&host) {
            host.waiting -= 1;
        }
    }

    /// A connection that was admitted has ended.
    pub(crate) fn leave(&mut self, host: IpAddr) {
        if let Some(host) = self.all.get_mut(&host) {
            host.connections -= 1;
            self.connections -= 1;
        }
    }

    /// A connection misbehaved. How often it has, like that, without being named in the log, if it is to be named now.
    pub(crate) fn offend(&mut self, host: IpAddr, how: String, now: Instant) -> Option<u64> {
        // Whoever misbehaves is connected, so it is among them.
        if let Some(host) = self.all.get_mut(&host) {
            host.offences = if host.remembers(now) { host.offences + 1 } else { 1 };
            host.last_offence = Some(now);
        }
        self.said.happens((host, how), now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    #[test]
    fn a_host_that_misbehaves_often_is_slowed_down_until_it_is_forgotten() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        for _ in 0..=OFFENCES_FORGIVEN {
            assert_eq!(hosts.admit(HOST, now), Admission::Now);
            hosts.offend(HOST, String::new(), now);
            hosts.leave(HOST);
        }
        for _ in 0..PENALISED_CONNECTIONS {
            assert_eq!(hosts.admit(HOST, now), Admission::Later);
        }
        assert_eq!(hosts.admit(HOST, now), Admission::Refused);
        assert_eq!(hosts.admit(OTHER, now), Admission::Now);
        hosts.has_waited(HOST);
        assert_eq!(hosts.admit(HOST, now), Admission::Later);
        assert_eq!(hosts.admit(HOST, now + OFFENCE_MEMORY), Admission::Now);
    }

    #[test]
    fn a_host_does_not_take_all_connections() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        for _ in 0..CONNECTIONS_PER_HOST {
            assert_eq!(hosts.admit(HOST, now), Admission::Now);
        }
        assert_eq!(hosts.admit(HOST, now), Admission::Refused);
        assert_eq!(hosts.admit(OTHER, now), Admission::Now);
        hosts.leave(HOST);
        assert_eq!(hosts.admit(HOST, now), Admission::Now);
    }

    #[test]
    fn all_hosts_together_do_not_take_more_than_there_are() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        let host = |number: usize| IpAddr::V4(Ipv4Addr::from_bits(number as u32));
        for number in 0..CONNECTIONS {
            assert_eq!(hosts.admit(host(number), now), Admission::Now);
        }
        assert_eq!(hosts.admit(HOST, now), Admission::Refused);
        hosts.leave(host(7));
        assert_eq!(hosts.admit(HOST, now), Admission::Now);
    }

    #[test]
    fn hosts_that_left_are_forgotten() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        hosts.admit(HOST, now);
        hosts.leave(HOST);
        hosts.admit(OTHER, now);
        assert_eq!(hosts.all.len(), 1);
    }
}
