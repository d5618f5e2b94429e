//! Who connects, how often, and how often they misbehaved: what a server remembers of hosts, so that none
//! takes all room and those that guess tokens or send garbage are slowed down.
//!
//! They are not locked out: others behind the same address still get in, only later. Connections are those of *strangers* at
//! first. However many of them there are, members keep their places, and a new one finds one: the oldest stranger goes for it.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    time::Instant,
};

use tokio_util::sync::CancellationToken;

use crate::{
    Repeats,
    limits::{
        CONNECTIONS, CONNECTIONS_PER_HOST, OFFENCE_MEMORY, OFFENCES_FORGIVEN,
        PENALISED_CONNECTIONS, STRANGERS, STRANGERS_PER_HOST,
    },
};

/// What is known of hosts that are connected or misbehaved lately.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    all: HashMap<IpAddr, Host>,
    /// Connections that nobody was authenticated over, the oldest first.
    strangers: VecDeque<Stranger>,
    members: usize,
    /// The number of the next connection.
    next: u64,
    /// What was said of them in the log.
    said: Repeats<(IpAddr, String)>,
}

#[derive(Debug, Default)]
struct Host {
    /// Connections of members.
    members: u32,
    waiting: u32,
    offences: u32,
    last_offence: Option<Instant>,
}

/// A connection that nobody was authenticated over.
#[derive(Debug)]
struct Stranger {
    number: u64,
    host: IpAddr,
    /// Ends it.
    closed: CancellationToken,
}

/// What becomes of a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// It is read from, and has this number.
    Now(u64),
    /// It is read from after a penalty, see [`Hosts::has_waited`].
    Later(u64),
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
    /// Decides about a new connection, that of a stranger, and counts it, unless it is refused. `closed` ends it. Where the
    /// connection of another stranger has to go for it, says of which host that was.
    pub(crate) fn admit(
        &mut self,
        host: IpAddr,
        closed: &CancellationToken,
        now: Instant,
    ) -> (Admission, Option<IpAddr>) {
        let strangers = &self.strangers;
        self.all.retain(|&ip, host| {
            host.members > 0
                || host.remembers(now)
                || strangers.iter().any(|stranger| stranger.host == ip)
        });
        let known = self.all.entry(host).or_default();
        let is_slowed_down = known.is_slowed_down(now);
        if is_slowed_down && known.waiting >= PENALISED_CONNECTIONS {
            return (Admission::Refused, None);
        }
        known.waiting += u32::from(is_slowed_down);
        let turned_away = self.make_room(host);
        let number = self.next;
        self.next += 1;
        self.strangers.push_back(Stranger { number, host, closed: closed.clone() });
        let admission = if is_slowed_down { Admission::Later } else { Admission::Now };
        (admission(number), turned_away)
    }

    /// Ends the connection of a stranger if there are too many for another one of a host.
    fn make_room(&mut self, host: IpAddr) -> Option<IpAddr> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in &self.strangers {
            *counts.entry(stranger.host).or_default() += 1;
        }
        let from = match counts.get(&host) {
            Some(&count) if count >= STRANGERS_PER_HOST => host,
            _ if self.strangers.len() < STRANGERS => return None,
            _ => counts.into_iter().max_by_key(|&(ip, count)| (count, ip))?.0,
        };
        let oldest = self.strangers.iter().position(|stranger| stranger.host == from)?;
        self.strangers.remove(oldest)?.closed.cancel();
        Some(from)
    }

    /// The peer of a connection was authenticated: it is a member's from now on. Whether there is room for one more.
    pub(crate) fn authenticate(&mut self, host: IpAddr, number: u64) -> bool {
        let Some(place) = self.strangers.iter().position(|other| other.number == number) else {
            return false; // it had to go
        };
        let known = self.all.entry(host).or_default();
        if self.members >= CONNECTIONS || known.members >= CONNECTIONS_PER_HOST {
            return false;
        }
        self.strangers.remove(place);
        known.members += 1;
        self.members += 1;
        true
    }

    /// The penalty of a connection is over.
    pub(crate) fn has_waited(&mut self, host: IpAddr) {
        if let Some(host) = self.all.get_mut(&host) {
            host.waiting -= 1;
        }
    }

    /// A connection that was admitted has ended; whether it was a member's.
    pub(crate) fn leave(&mut self, host: IpAddr, number: u64, is_member: bool) {
        match self.all.get_mut(&host) {
            Some(known) if is_member => {
                known.members -= 1;
                self.members -= 1;
            }
            _ => self.strangers.retain(|stranger| stranger.number != number),
        }
    }

    /// A connection was closed for want of room. How often that has happened without being said, if it is to be said now.
    pub(crate) fn turn_away(&mut self, host: IpAddr, why: &str, now: Instant) -> Option<u64> {
        self.said.happens((host, why.to_owned()), now)
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

    /// A connection that is admitted, and what ends it.
    fn admit(hosts: &mut Hosts, host: IpAddr) -> (u64, CancellationToken, Option<IpAddr>) {
        let closed = CancellationToken::new();
        match hosts.admit(host, &closed, Instant::now()) {
            (Admission::Now(number), turned_away) => (number, closed, turned_away),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_host_that_misbehaves_often_is_slowed_down_until_it_is_forgotten() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        for _ in 0..=OFFENCES_FORGIVEN {
            let (number, ..) = admit(&mut hosts, HOST);
            hosts.offend(HOST, String::new(), now);
            hosts.leave(HOST, number, false);
        }
        let closed = CancellationToken::new();
        for _ in 0..PENALISED_CONNECTIONS {
            assert!(matches!(hosts.admit(HOST, &closed, now).0, Admission::Later(_)));
        }
        assert_eq!(hosts.admit(HOST, &closed, now).0, Admission::Refused);
        assert!(matches!(hosts.admit(OTHER, &closed, now).0, Admission::Now(_)));
        hosts.has_waited(HOST);
        assert!(matches!(hosts.admit(HOST, &closed, now).0, Admission::Later(_)));
        let later = now + OFFENCE_MEMORY;
        assert!(matches!(hosts.admit(HOST, &closed, later).0, Admission::Now(_)));
    }

    #[test]
    fn strangers_take_no_room_from_members_nor_from_those_that_come() {
        let mut hosts = Hosts::default();
        let (member, of_member, _) = admit(&mut hosts, OTHER);
        assert!(hosts.authenticate(OTHER, member));
        // The strangers of one host push each other out.
        let mine: Vec<_> = (0..STRANGERS_PER_HOST).map(|_| admit(&mut hosts, HOST)).collect();
        assert!(
            mine.iter().all(|(_, closed, turned_away)| {
                !closed.is_cancelled() && turned_away.is_none()
            })
        );
        let (_, newest, turned_away) = admit(&mut hosts, HOST);
        assert_eq!(turned_away, Some(HOST));
        assert!(mine[0].1.is_cancelled() && !mine[1].1.is_cancelled() && !newest.is_cancelled());
        assert!(!hosts.authenticate(HOST, mine[0].0));
        // Those of all hosts: one goes of the host that has most.
        let host = |number: usize| IpAddr::V4(Ipv4Addr::from_bits(1 + number as u32));
        for number in 0..STRANGERS - STRANGERS_PER_HOST {
            assert_eq!(admit(&mut hosts, host(number)).2, None);
        }
        let (number, _, turned_away) = admit(&mut hosts, OTHER);
        assert_eq!(turned_away, Some(HOST));
        assert!(mine[1].1.is_cancelled() && !of_member.is_cancelled());
        assert!(hosts.authenticate(OTHER, number));
    }

    #[test]
    fn members_are_no_more_than_there_is_room_for() {
        let mut hosts = Hosts::default();
        let member = |hosts: &mut Hosts, host| {
            let (number, ..) = admit(hosts, host);
            hosts.authenticate(host, number).then_some(number)
        };
        let first = member(&mut hosts, HOST).unwrap();
        for _ in 1..CONNECTIONS_PER_HOST {
            assert!(member(&mut hosts, HOST).is_some());
        }
        assert_eq!(member(&mut hosts, HOST), None);
        let host = |number: usize| IpAddr::V4(Ipv4Addr::from_bits(number as u32));
        for number in CONNECTIONS_PER_HOST as usize..CONNECTIONS {
            assert!(member(&mut hosts, host(number)).is_some());
        }
        assert_eq!(member(&mut hosts, OTHER), None);
        hosts.leave(HOST, first, true);
        assert!(member(&mut hosts, OTHER).is_some());
    }

    #[test]
    fn hosts_that_left_are_forgotten() {
        let mut hosts = Hosts::default();
        let (number, ..) = admit(&mut hosts, HOST);
        hosts.leave(HOST, number, false);
        admit(&mut hosts, OTHER);
        assert_eq!((hosts.all.len(), hosts.strangers.len()), (1, 1));
    }
}
