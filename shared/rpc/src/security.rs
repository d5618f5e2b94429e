//! Who may speak: nobody is asked, whoever knows a secret, or whoever has a certificate.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use subtle::ConstantTimeEq;
use tokio_rustls::rustls::{
    self, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tonic::{
    metadata::{Ascii, MetadataValue},
    transport::{Certificate, ClientTlsConfig, Identity},
};

use crate::{RpcError, limits::TOKEN_BYTES};

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How peers prove that they belong to the cluster. All of a cluster use the same.
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
    /// A secret from a file: at least 16 visible ASCII characters; white space around them does not count.
    ///
    /// # Errors
    /// If the file cannot be read or holds no such secret.
    pub fn from_token_file(file: &Path) -> Result<Self, RpcError> {
        let text = read(file)?;
        let secret = text.trim_ascii();
        if secret.len() < TOKEN_BYTES || !secret.iter().all(u8::is_ascii_graphic) {
            let problem = format!(
                "no token: it takes at least {TOKEN_BYTES} visible ASCII characters; make one with \
                 `openssl rand -hex 32`"
            );
            return Err(RpcError::Secret { file: file.to_owned(), problem });
        }
        let header = [b"Bearer ", secret].concat();
        let mut header = MetadataValue::try_from(header).expect("visible ASCII may be in a header");
        header.set_sensitive(true);
        Ok(Self::Token(Token(header)))
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
        let files = TlsFiles { authority, certificate, key };
        files.load().map(|tls| Self::Tls(Tls(Arc::new(tls))))
    }
}

/// A secret that the peers of a cluster share, as the header that carries it.
#[derive(Clone)]
pub struct Token(MetadataValue<Ascii>);

impl Token {
    /// The value of the `authorization` header.
    pub(crate) fn header(&self) -> &MetadataValue<Ascii> {
        &self.0
    }

    /// Whether a header carries the same secret; how long that takes does not tell how much of it is right.
    pub(crate) fn is(&self, header: &[u8]) -> bool {
        self.0.as_encoded_bytes().ct_eq(header).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Certificates and a private key.
#[derive(Clone)]
pub struct Tls(Arc<Loaded>);

struct Loaded {
    server: Arc<ServerConfig>,
    client: ClientTlsConfig,
}

impl Tls {
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        self.0.server.clone()
    }

    pub(crate) fn client(&self) -> ClientTlsConfig {
        self.0.client.clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

struct TlsFiles<'a> {
    authority: &'a Path,
    certificate: &'a Path,
    key: &'a Path,
}

impl TlsFiles<'_> {
    fn load(&self) -> Result<Loaded, RpcError> {
        let [authority, certificate, key] =
            [read(self.authority)?, read(self.certificate)?, read(self.key)?];
        let mut roots = RootCertStore::empty();
        for root in certificates(self.authority, &authority)? {
            roots.add(root).map_err(|error| secret(self.authority, error))?;
        }
        let private = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|error| secret(self.key, format!("no private key in PEM format: {error}")))?;
        let provider = Arc::new(ring::default_provider());
        let server =
            self.server(provider, roots, certificates(self.certificate, &certificate)?, private)?;
        let client = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(authority))
            .identity(Identity::from_pem(certificate, key));
        Ok(Loaded { server, client })
    }

    fn server(
        &self,
        provider: Arc<CryptoProvider>,
        roots: RootCertStore,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Arc<ServerConfig>, RpcError> {
        let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .build()
            .map_err(|error| secret(self.authority, error))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| secret(self.certificate, error))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error: rustls::Error| match error {
                rustls::Error::InvalidCertificate(_) => secret(
                    self.certificate,
                    format!("{error}; it takes one of version 3, with a subjectAltName"),
                ),
                _ => {
                    let (key, certificate) = (self.key.display(), self.certificate.display());
                    secret(self.key, format!("{error}; is {key} the key of {certificate}?"))
                }
            })?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The text of a file, without the byte order mark that some editors begin one with.
fn read(file: &Path) -> Result<Vec<u8>, RpcError> {
    let mut text =
        fs::read(file).map_err(|source| RpcError::Unreadable { file: file.to_owned(), source })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(text)
}

/// The certificates of a PEM file, at least one.
fn certificates(file: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, RpcError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(secret(file, "no certificate in PEM format")),
        Err(error) => Err(secret(file, format!("no certificate in PEM format: {error}"))),
    }
}

fn secret(file: &Path, problem: impl ToString) -> RpcError {
    RpcError::Secret { file: PathBuf::from(file), problem: problem.to_string() }
}
