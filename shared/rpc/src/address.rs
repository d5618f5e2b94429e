//! Addresses as others are told of them: `HOST:PORT`.

use std::net::IpAddr;

use tonic::codegen::http::uri::Authority;

/// Whether a text is one, and nothing else.
pub fn is_address(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|authority| {
        let port = authority.port_u16().is_some_and(|port| port > 0);
        port && !authority.host().is_empty() && !text.contains('@')
    })
}

/// Whether an address stands for all of a machine: one can listen there, but not be reached.
pub fn is_any_address(address: &str) -> bool {
    ip_of(address).is_some_and(|ip| ip.is_unspecified())
}

/// Whether an address is reached from its own machine only.
pub fn is_loopback(address: &str) -> bool {
    host_of(address) == "localhost" || ip_of(address).is_some_and(|ip| ip.is_loopback())
}

/// The IP address in it, if the host is one.
fn ip_of(address: &str) -> Option<IpAddr> {
    host_of(address).trim_matches(['[', ']']).parse().ok().map(|ip: IpAddr| ip.to_canonical())
}

fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_at_is_not_one_to_be_reached_at() {
        for any in ["0.0.0.0:7410", "[::]:7410", "[::ffff:0.0.0.0]:1"] {
            assert!(is_any_address(any), "{any}");
        }
        for one in ["127.0.0.1:7410", "[::1]:7410", "node-1:7410"] {
            assert!(!is_any_address(one), "{one}");
        }
    }

    #[test]
    fn a_loopback_address_is_of_one_machine() {
        for own in
            ["127.0.0.1:7410", "127.3.0.1:1", "[::1]:7410", "[::ffff:127.0.0.1]:1", "localhost:1"]
        {
            assert!(is_loopback(own), "{own}");
        }
        for other in ["10.0.0.1:7410", "[fe80::1]:7410", "node-1:7410", "0.0.0.0:1"] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
