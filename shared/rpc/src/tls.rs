//! Certificates and a private key, from PEM files: what servers and clients make of them, and until when they are valid.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, RootCertStore, ServerConfig,
    client::verify_server_cert_signed_by_trust_anchor,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::{ParsedCertificate, WebPkiClientVerifier},
};

use crate::{
    RpcError,
    renewed::{Expiry, OfFiles},
};

/// The protocol below, as TLS calls it.
pub(crate) const H2: &[u8] = b"h2";

/// The files, in this order: the certificates of the authority, that of this process, and its private key.
pub(crate) struct Loaded {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) expiry: Expiry,
}

impl OfFiles for Loaded {
    fn make(files: &[PathBuf], contents: &[Vec<u8>]) -> Result<Self, RpcError> {
        let ([authority, certificate, key], [authority_pem, certificate_pem, key_pem]) =
            (files, contents)
        else {
            unreachable!("there are three files")
        };
        let mut roots = RootCertStore::empty();
        for root in certificates(authority, authority_pem)? {
            roots.add(root).map_err(|error| secret(authority, error))?;
        }
        let chain = certificates(certificate, certificate_pem)?;
        let private = PrivateKeyDer::from_pem_slice(key_pem)
            .map_err(|error| secret(key, format!("no private key in PEM format: {error}")))?;
        let files = TlsFiles { authority, certificate, key };
        let provider = Arc::new(ring::default_provider());
        let expiry = files.expiry(&chain, &roots, &provider)?;
        let roots = Arc::new(roots);
        let server = files.server(&provider, &roots, chain.clone(), private.clone_key())?;
        let client = files.client(provider, roots, chain, private)?;
        Ok(Self { server, client, expiry })
    }

    fn check(&self, now: SystemTime) -> Result<(), RpcError> {
        let Expiry { file, since, until } = &self.expiry;
        if now > *until {
            return Err(secret(
                file,
                "it, or one between it and the authority, is not valid any more",
            ));
        }
        if now < *since {
            return Err(secret(file, "it is not valid yet"));
        }
        Ok(())
    }
}

struct TlsFiles<'a> {
    authority: &'a Path,
    certificate: &'a Path,
    key: &'a Path,
}

impl TlsFiles<'_> {
    fn server(
        &self,
        provider: &Arc<CryptoProvider>,
        roots: &Arc<RootCertStore>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Arc<ServerConfig>, RpcError> {
        let clients = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| secret(self.authority, error))?;
        let mut config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| secret(self.certificate, error))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error| self.mismatch(&error))?;
        config.alpn_protocols = vec![H2.to_vec()];
        Ok(Arc::new(config))
    }

    fn client(
        &self,
        provider: Arc<CryptoProvider>,
        roots: Arc<RootCertStore>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Arc<ClientConfig>, RpcError> {
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| secret(self.certificate, error))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(|error| self.mismatch(&error))?;
        config.alpn_protocols = vec![H2.to_vec()];
        Ok(Arc::new(config))
    }

    /// Why a certificate and a key are not taken.
    fn mismatch(&self, error: &rustls::Error) -> RpcError {
        match error {
            rustls::Error::InvalidCertificate(_) => secret(
                self.certificate,
                format!("{error}; it takes one of version 3, with a subjectAltName"),
            ),
            _ => {
                let (key, certificate) = (self.key.display(), self.certificate.display());
                secret(self.key, format!("{error}; is {key} the key of {certificate}?"))
            }
        }
    }

    /// When the first of a chain ends. (Whether the authority's own certificate has ended, nobody asks: RFC 5280,
    /// section 6.1, takes a trust anchor for a name and a key.)
    fn expiry(
        &self,
        chain: &[CertificateDer<'_>],
        roots: &RootCertStore,
        provider: &CryptoProvider,
    ) -> Result<Expiry, RpcError> {
        let (mut since, mut until) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + FAR);
        for certificate in chain {
            let parsed = ParsedCertificate::try_from(certificate)
                .map_err(|error| secret(self.certificate, error))?;
            // The verifier looks at the dates before all else, and says which they are if they are not right.
            let verify = |at: Duration| {
                let at = UnixTime::since_unix_epoch(at);
                let algorithms = provider.signature_verification_algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&parsed, roots, &[], at, algorithms)
            };
            if let Err(rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext {
                not_before,
                ..
            })) = verify(Duration::ZERO)
            {
                since = since.max(time(not_before));
            }
            if let Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
                not_after,
                ..
            })) = verify(FAR)
            {
                until = until.min(time(not_after));
            }
        }
        Ok(Expiry { file: self.certificate.to_owned(), since, until })
    }
}

/// Later than any certificate ends (RFC 5280, section 4.1.2.5): the year 10,000.
const FAR: Duration = Duration::from_secs(253_402_300_800);

fn time(time: UnixTime) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(time.as_secs())
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

pub(crate) fn secret(file: &Path, problem: impl ToString) -> RpcError {
    RpcError::Secret { file: PathBuf::from(file), problem: problem.to_string() }
}
