//! An authority that signs certificates, with the files of them all.

use std::{fs, path::PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use time::{Duration, OffsetDateTime};
use ziggurat_rpc::Security;

/// An authority with its files.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    pub dir: TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), pem: certificate.pem(), dir }
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A certificate and its key in PEM format, for a host, for seconds from now.
    pub fn sign(&self, host: &str, valid: std::ops::Range<i64>) -> (String, String) {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        let now = OffsetDateTime::now_utc();
        params.not_before = now + Duration::seconds(valid.start);
        params.not_after = now + Duration::seconds(valid.end);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A certificate and its key, for a host.
    pub fn issue(&self, host: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) = self.sign(host, -60..366 * 24 * 60 * 60);
        let files = (self.file(&format!("{host}.pem")), self.file(&format!("{host}.key")));
        fs::write(&files.0, certificate).unwrap();
        fs::write(&files.1, key).unwrap();
        files
    }

    /// Somebody with a certificate of this authority, who trusts those of `trusted`.
    pub fn member(&self, host: &str, trusted: &Self) -> Security {
        let (certificate, key) = self.issue(host);
        Security::from_tls_files(&trusted.file("ca.pem"), &certificate, &key).unwrap()
    }
}
