//! Limits, and who may ask.

use std::{io, net::SocketAddr, time::Duration};

use thiserror::Error;
use url::Url;
use ziggurat_rpc::Token;
use ziggurat_telemetry::Limits;

/// What a server allows.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who tells it may ask; without it everybody may.
    pub token: Option<Token>,
    /// Whether to listen beyond this machine without a token.
    pub insecure: bool,
    /// Which pages of other origins may read answers.
    pub cors: Cors,
    /// The largest body of a request.
    pub body_bytes: usize,
    /// How long a request may take, its body included, until its answer begins.
    pub request_timeout: Duration,
    /// Limits of connections.
    pub connections: Limits,
}

impl Default for Options {
    /// No token, no other origins; 4 MiB, 30 seconds, 256 connections with 10 seconds for a head and 3 for a goodbye.
    fn default() -> Self {
        Self {
            token: None,
            insecure: false,
            cors: Cors::default(),
            body_bytes: 4 << 20,
            request_timeout: Duration::from_secs(30),
            connections: Limits {
                connections: 256,
                header_timeout: Duration::from_secs(10),
                goodbye: Duration::from_secs(3),
            },
        }
    }
}

/// Origins whose pages may read answers (cross-origin resource sharing).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Cors {
    any: bool,
    origins: Vec<String>,
}

impl Cors {
    /// One more origin: `https://example.org`, or `*` for all.
    ///
    /// # Errors
    /// If the text is no origin; the error says what is one.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        if text == "*" {
            self.any = true;
            return Ok(());
        }
        let origin = Url::parse(text).ok().map(|url| url.origin()).filter(|it| it.is_tuple());
        // What is more than an origin would never match the header of a browser.
        match origin.map(|origin| origin.ascii_serialization()) {
            Some(origin) if origin == text => self.origins.push(origin),
            _ => {
                return Err(format!(
                    "`{}` is no origin; write the scheme, the host and the port if it is not the usual one, such as \
                     https://example.org, or * for all",
                    text.escape_debug()
                ));
            }
        }
        Ok(())
    }

    /// Whether pages of an origin may.
    pub fn allows(&self, origin: &str) -> bool {
        self.any || self.origins.iter().any(|known| known == origin)
    }

    /// Whether pages of any other origin may.
    pub fn is_empty(&self) -> bool {
        !self.any && self.origins.is_empty()
    }
}

/// Why there is no server.
#[derive(Debug, Error)]
pub enum BindError {
    /// Others could reach it, and nobody would ask who they are.
    #[error(
        "{address} can be reached from other machines, and anybody there could ask: ask for a shared secret \
         (--token-file FILE), listen on 127.0.0.1, or say --insecure if everybody may"
    )]
    Exposed {
        /// Where it should listen.
        address: SocketAddr,
    },
    /// There is no listening at an address.
    #[error("cannot listen on {address}; is another process listening there?")]
    Io {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Whether only this machine reaches an address.
pub(super) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let mut cors = Cors::default();
        for wrong in ["", "example.org", "https://example.org/", "https://a/b", "null", "file:///"]
        {
            assert!(cors.add(wrong).unwrap_err().contains("such as https://"), "{wrong}");
        }
        assert!(cors.is_empty());
        cors.add("https://example.org").unwrap();
        cors.add("http://127.0.0.1:8000").unwrap();
        assert!(cors.allows("http://127.0.0.1:8000") && !cors.allows("http://127.0.0.1:8001"));
        assert!(!cors.allows("null"));
        cors.add("*").unwrap();
        assert!(cors.allows("null"));
    }
}
