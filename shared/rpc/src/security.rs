//! Who may speak: nobody is asked, whoever knows a secret, or whoever has a certificate.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use subtle::{Choice, ConstantTimeEq};
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use tonic::metadata::{Ascii, MetadataValue};

use crate::{
    RpcError,
    limits::TOKEN_BYTES,
    renewed::{Expiry, Look, OfFiles, Renewed},
    tls::{Loaded, secret},
};

/// How peers prove that they belong to the cluster. All of a cluster use the same. What was read from files is read again
/// when they change: see [`Security::keep_renewed`].
#[derive(Clone, Debug, Default)]
pub enum Security {
    /// They do not.
    #[default]
    Open,
    /// They know a secret. It is sent as it is: what passes by can be read by others on the way.
    Token(Token),
    /// They have certificates of the cluster's own authority, and what they say is encrypted.
    Tls(Tls),
}

impl Security {
    /// A secret from a file: at least 16 visible ASCII characters; white space around them does not count. More lines may
    /// have more secrets: the first is told to others, and others may tell any of them, so that one can be changed
    /// while all run.
    ///
    /// # Errors
    /// If the file cannot be read or holds no such secret.
    pub fn from_token_file(file: &Path) -> Result<Self, RpcError> {
        Renewed::load(&[file]).map(|tokens| Self::Token(Token(Arc::new(tokens))))
    }

    /// The certificates of the authority, and the certificate (with those between, if any) and the
    /// private key of this process: PEM files. As a server it accepts only clients with
    /// certificates of the authority; as a client it accepts only servers with such certificates,
    /// valid for the host it was told to reach.
    ///
    /// # Errors
    /// If a file cannot be read, does not hold what it should, or key and certificate do not belong together.
    pub fn from_tls_files(
        authority: &Path,
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, RpcError> {
        Renewed::load(&[authority, certificate, key]).map(|tls| Self::Tls(Tls(Arc::new(tls))))
    }

    /// When the certificate of this process ends, if it has one.
    pub fn expiry(&self) -> Option<Expiry> {
        match self {
            Self::Open | Self::Token(_) => None,
            Self::Tls(tls) => Some(tls.0.now().expiry.clone()),
        }
    }

    /// The files it was read from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Open => Vec::new(),
            Self::Token(token) => token.0.files().to_vec(),
            Self::Tls(tls) => tls.0.files().to_vec(),
        }
    }

    /// Looks at the files, and takes up what is new.
    pub(crate) fn look(&self) -> Look {
        match self {
            Self::Open => Look::Same,
            Self::Token(token) => token.0.look(),
            Self::Tls(tls) => tls.0.look(),
        }
    }
}

/// Secrets that the peers of a cluster share.
#[derive(Clone)]
pub struct Token(Arc<Renewed<Headers>>);

/// Secrets, as the headers that carry them: at least one.
struct Headers(Vec<MetadataValue<Ascii>>);

impl OfFiles for Headers {
    fn make(files: &[PathBuf], contents: &[Vec<u8>]) -> Result<Self, RpcError> {
        let ([file], [text]) = (files, contents) else { unreachable!("there is one file") };
        let secrets = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let secrets: Vec<&[u8]> = secrets.filter(|secret| !secret.is_empty()).collect();
        let is_one =
            |secret: &&[u8]| secret.len() >= TOKEN_BYTES && secret.iter().all(u8::is_ascii_graphic);
        if secrets.is_empty() || !secrets.iter().all(is_one) {
            let problem = format!(
                "no token: it takes at least {TOKEN_BYTES} visible ASCII characters; make one with \
                 `openssl rand -hex 32`"
            );
            return Err(secret(file, problem));
        }
        let header = |secret: &[u8]| {
            let header = [b"Bearer ", secret].concat();
            let mut header =
                MetadataValue::try_from(header).expect("visible ASCII may be in a header");
            header.set_sensitive(true);
            header
        };
        Ok(Self(secrets.into_iter().map(header).collect()))
    }

    fn check(&self, _now: SystemTime) -> Result<(), RpcError> {
        Ok(())
    }
}

impl Token {
    /// The value of the `authorization` header.
    pub(crate) fn header(&self) -> MetadataValue<Ascii> {
        self.0.now().0[0].clone()
    }

    /// Whether the value of an `authorization` header carries one of the secrets, as `Bearer SECRET`; how long that takes does
    /// not tell how much of it is right.
    pub fn is(&self, header: &[u8]) -> bool {
        let all = self.0.now();
        let any = all
            .0
            .iter()
            .fold(Choice::from(0), |any, secret| any | secret.as_encoded_bytes().ct_eq(header));
        any.into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Certificates and a private key.
#[derive(Clone)]
pub struct Tls(Arc<Renewed<Loaded>>);

impl Tls {
    /// How a server shakes hands now.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        self.0.now().server.clone()
    }

    /// How a client does.
    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        self.0.now().client.clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
