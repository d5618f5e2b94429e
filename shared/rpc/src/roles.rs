//! What tokens are good for. Every call needs one role, and [`needed`] is the place that says which.

use std::fmt;

use tonic::Request;

/// What a token is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Looking at jobs and workers, and fetching values. All others include it.
    Read,
    /// Giving orders about jobs and workers.
    Submit,
    /// Being a worker.
    Worker,
    /// All of these.
    All,
}

impl Role {
    /// All roles.
    pub const EACH: [Self; 4] = [Self::Read, Self::Submit, Self::Worker, Self::All];

    /// Its name in files of tokens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Worker => "worker",
            Self::All => "all",
        }
    }

    /// Whether a token of this role is enough where another is needed.
    pub fn allows(self, needed: Self) -> bool {
        self == needed || self == Self::All || needed == Self::Read
    }
}

/// The role that a call needs, by its path; `None` if there is no such call.
pub(crate) fn needed(path: &str) -> Option<Role> {
    Some(match path.strip_prefix("/ziggurat.v1.")?.split_once('/')? {
        ("Control", "Greet" | "Work") | ("Data", "Exchange") => Role::Worker,
        ("Data", "Fetch")
        | ("Jobs", "List" | "Status" | "Watch" | "Locate" | "Checksums" | "History" | "Workers") => {
            Role::Read
        }
        ("Jobs", "Plan" | "Submit" | "Pause" | "Resume" | "Cancel" | "Remove")
        | ("Jobs", "DrainWorker" | "ForgetWorker") => Role::Submit,
        _ => return None,
    })
}

/// Whom a token belongs to. A request that told one carries it: see [`Holder::of`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// What the token is good for.
    pub role: Role,
    /// What the token is called, for events; empty for nothing.
    pub name: String,
}

impl Holder {
    /// Who sent a request; `None` if servers do not ask for tokens.
    pub fn of<T>(request: &Request<T>) -> Option<&Self> {
        request.extensions().get()
    }

    /// Refuses what needs another role. The text names both.
    ///
    /// # Errors
    /// If the token is not good for it.
    pub fn check(&self, needed: Role) -> Result<(), String> {
        match self.role.allows(needed) {
            true => Ok(()),
            false => Err(format!(
                "that takes a token with the role `{}`, and this one ({self}) has the role `{}`",
                needed.name(),
                self.role.name()
            )),
        }
    }
}

/// The name of the token, or its role.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.name.is_empty() { self.role.name() } else { &self.name })
    }
}

/// Who asks for something, for the events of a job: `NAME (ADDRESS)`; the address alone of the holder of a token that has
/// all roles and no name, and where there are no tokens.
pub fn asker(holder: Option<&Holder>, address: &str) -> String {
    match holder {
        Some(holder) if holder.role != Role::All || !holder.name.is_empty() => {
            format!("{holder} ({address})")
        }
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tonic::{
        Code, Status,
        body::Body,
        codegen::{Service, http},
    };
    use tower::Layer;

    use super::*;
    use crate::{Security, watch::Watch};

    /// The paths of all calls that `proto/` has.
    fn calls() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
        let files = ["control", "data", "jobs"].map(|name| format!("ziggurat/v1/{name}.proto"));
        let compiled = protox::compile(files, [folder]).unwrap();
        let mut calls = Vec::new();
        for file in &compiled.file {
            for service in &file.service {
                let path =
                    |method: &str| format!("/{}.{}/{method}", file.package(), service.name());
                calls.extend(service.method.iter().map(|method| path(method.name())));
            }
        }
        calls
    }

    /// How a server answers a call of the holder of a token: with the service behind, which says `NotFound`, or a refusal.
    async fn answer(security: &Security, path: &str, token: &str) -> Status {
        let service = tower::service_fn(|request: http::Request<Body>| async move {
            assert!(request.extensions().get::<Holder>().is_some());
            let answer: http::Response<Body> = Status::not_found("it was let through").into_http();
            Ok::<_, std::convert::Infallible>(answer)
        });
        let request = http::Request::builder().uri(path).header("authorization", token);
        let request = request.body(Body::empty()).unwrap();
        let answer = Watch::new(security).layer(service).call(request).await.unwrap();
        Status::from_header_map(answer.headers()).unwrap()
    }

    #[tokio::test]
    async fn every_call_is_refused_to_those_without_its_role() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let token = |role: Role| format!("the-token-for-{}-here", role.name());
        let lines = Role::EACH.map(|role| format!("{} {}\n", role.name(), token(role)));
        std::fs::write(&file, lines.concat()).unwrap();
        let security = Security::from_token_file(file.path()).unwrap();
        let all = calls();
        assert!(all.len() > 15, "{all:?}");
        for path in &all {
            let Some(needed) = needed(path) else { panic!("no role is named for {path}") };
            for role in Role::EACH {
                let status = answer(&security, path, &format!("Bearer {}", token(role))).await;
                let is_allowed = match needed {
                    Role::Read => true,
                    other => [Role::All, other].contains(&role),
                };
                if is_allowed {
                    assert_eq!(status.code(), Code::NotFound, "{path} as {role:?}: {status}");
                } else {
                    assert_eq!(status.code(), Code::PermissionDenied, "{path} as {role:?}");
                    let named = format!("the role `{}`", needed.name());
                    assert!(status.message().contains(&named), "{status}");
                }
            }
            let stranger = answer(&security, path, "Bearer some-other-token").await;
            assert_eq!(stranger.code(), Code::Unauthenticated, "{path}");
        }
        let unknown =
            answer(&security, "/ziggurat.v1.Jobs/Explode", "Bearer the-token-for-all-here");
        assert_eq!(unknown.await.code(), Code::Unimplemented);
    }

    #[test]
    fn events_name_tokens_that_have_a_name_or_a_role() {
        let holder = |role, name: &str| Holder { role, name: name.to_owned() };
        assert_eq!(asker(None, "::1"), "::1");
        assert_eq!(asker(Some(&holder(Role::All, "")), "::1"), "::1");
        assert_eq!(asker(Some(&holder(Role::All, "anu")), "::1"), "anu (::1)");
        assert_eq!(asker(Some(&holder(Role::Submit, "")), "::1"), "submit (::1)");
    }
}
