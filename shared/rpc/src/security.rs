//! Who may speak: nobody is asked, whoever knows a secret, or whoever has a certificate.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use subtle::ConstantTimeEq;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use tonic::metadata::{Ascii, MetadataValue};

use crate::{
    Holder, Role, RpcError,
    limits::{TOKEN_BYTES, TOKEN_NAME_BYTES},
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
    /// They know a secret, which is good for some [`Role`]. It is sent as it is: what passes by can be read by others on the way.
    Token(Token),
    /// They have certificates of the cluster's own authority, and what they say is encrypted.
    Tls(Tls),
}

impl Security {
    /// Secrets from a file, a line each: `TOKEN`, `ROLE TOKEN` or `ROLE NAME TOKEN`. A token has at least 16 visible ASCII
    /// characters, a role is the name of a [`Role`], which is [`Role::All`] where there is none, and a name at most 32 visible
    /// ASCII characters. The first token is told to others, and others may tell any of them, so that one can be changed while
    /// all run.
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
pub struct Token(Arc<Renewed<Secrets>>);

/// Secrets: at least one.
struct Secrets(Vec<Secret>);

/// A secret, as the header that carries it, and whose it is.
struct Secret {
    header: MetadataValue<Ascii>,
    holder: Holder,
}

impl Secret {
    /// What a line has.
    fn parse(line: &[u8]) -> Option<Self> {
        let is_visible = |word: &&[u8]| word.iter().all(u8::is_ascii_graphic);
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (role, name, token) = match words.collect::<Vec<_>>()[..] {
            [token] => (Role::All.name().as_bytes(), &b""[..], token),
            [role, token] => (role, &b""[..], token),
            [role, name, token] => (role, name, token),
            _ => return None,
        };
        if token.len() < TOKEN_BYTES || name.len() > TOKEN_NAME_BYTES {
            return None;
        }
        let role = Role::EACH.into_iter().find(|known| known.name().as_bytes() == role)?;
        let [name, token] = [name, token].map(|word| Some(word).filter(is_visible));
        let mut header = MetadataValue::try_from([b"Bearer ", token?].concat()).ok()?;
        header.set_sensitive(true);
        let name = String::from_utf8(name?.to_vec()).ok()?;
        Some(Self { header, holder: Holder { role, name } })
    }
}

impl OfFiles for Secrets {
    fn make(files: &[PathBuf], contents: &[Vec<u8>]) -> Result<Self, RpcError> {
        let ([file], [text]) = (files, contents) else { unreachable!("there is one file") };
        let lines = (1..).zip(text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii));
        let mut secrets: Vec<Secret> = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            // What is on the line stays secret.
            let found = Secret::parse(line).ok_or_else(|| {
                let roles = Role::EACH.map(Role::name).join(", ");
                let problem = format!(
                    "line {number} is no token: write TOKEN, ROLE TOKEN or ROLE NAME TOKEN, with one of the roles {roles}, \
                     a name of at most {TOKEN_NAME_BYTES} characters and a token of at least {TOKEN_BYTES} visible ASCII \
                     characters; make one with `openssl rand -hex 32`"
                );
                secret(file, problem)
            })?;
            let is_other = |it: &Secret| it.header == found.header && it.holder != found.holder;
            if secrets.iter().any(is_other) {
                let problem = format!(
                    "line {number} has the token of an earlier line, with another role or name"
                );
                return Err(secret(file, problem));
            }
            secrets.push(found);
        }
        if secrets.is_empty() {
            let problem = "no token; make one with `openssl rand -hex 32`".to_owned();
            return Err(secret(file, problem));
        }
        Ok(Self(secrets))
    }

    fn check(&self, _now: SystemTime) -> Result<(), RpcError> {
        Ok(())
    }
}

impl Token {
    /// The value of the `authorization` header.
    pub(crate) fn header(&self) -> MetadataValue<Ascii> {
        self.0.now().0[0].header.clone()
    }

    /// Whose secret the value of an `authorization` header carries, as `Bearer SECRET`; `None` if it is none of them. How long
    /// that takes tells neither how much of it is right nor which one it is.
    pub fn holder(&self, header: &[u8]) -> Option<Holder> {
        let all = self.0.now();
        let found = all.0.iter().fold(None, |found, secret| {
            match bool::from(secret.header.as_encoded_bytes().ct_eq(header)) {
                true => Some(&secret.holder),
                false => found,
            }
        });
        found.cloned()
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
