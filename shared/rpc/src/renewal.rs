//! Secrets and certificates that are renewed while the program runs: their files are looked at every few seconds, and
//! what they hold is taken up without a restart. Connections that are there go on.

use std::{
    fmt,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use crate::{
    Security,
    renewed::{Expiry, Look},
};

/// Between two looks at the files.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(2);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long before a certificate ends it is spoken of.
pub const WARNINGS: [Duration; 4] = [
    Duration::from_secs(30 * 24 * 60 * 60),
    Duration::from_secs(7 * 24 * 60 * 60),
    DAY,
    Duration::from_secs(60 * 60),
];

/// What happens to secrets and certificates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// New ones are in use.
    Renewed {
        /// Their files.
        files: Vec<PathBuf>,
    },
    /// New ones cannot be used, and the old ones stay in use.
    Unusable {
        /// Why.
        problem: String,
    },
    /// The certificate ends soon, or has.
    Ends {
        /// The certificate.
        expiry: Expiry,
        /// How long it is still valid; zero if it is no more.
        left: Duration,
    },
}

impl Renewal {
    /// Whether something new could not be used.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Unusable { .. })
    }

    /// Writes it to the log.
    pub fn log(&self) {
        match self {
            Self::Renewed { files } => {
                tracing::info!(
                    ?files,
                    "the token or the certificates were renewed, and are in use"
                );
            }
            Self::Unusable { problem } => {
                tracing::warn!(
                    "what was renewed cannot be used, and the old stays in use: {problem}"
                );
            }
            Self::Ends { .. } => tracing::warn!("{self}"),
        }
    }
}

impl fmt::Display for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let renew = "put a new one into the same file, which needs no restart";
        match self {
            Self::Renewed { .. } => f.write_str("renewed"),
            Self::Unusable { problem } => f.write_str(problem),
            Self::Ends { expiry, left } if left.is_zero() => {
                write!(
                    f,
                    "the certificate {} has ended, and nobody connects with it: {renew}",
                    expiry.file.display()
                )
            }
            Self::Ends { expiry, left } => {
                write!(
                    f,
                    "the certificate {} ends in {}, and nobody connects with it from then on: {renew}",
                    expiry.file.display(),
                    span(*left)
                )
            }
        }
    }
}

/// A time of more than a few seconds, roughly.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        172_800.. => format!("{} days", seconds / 86_400),
        7200.. => format!("{} hours", seconds / 3600),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

/// What was said of the end of a certificate.
#[derive(Debug, Default)]
struct Said {
    until: Option<SystemTime>,
    /// Whether it took the place of another.
    was_renewed: bool,
    /// How many of the warnings are behind it; every day after the end is one more.
    warnings: u64,
}

impl Said {
    /// Whether the end of a certificate is to be spoken of now. One that lives shortly and was renewed in time is as it should
    /// be: warnings do not count for it that come before half of its life is over.
    fn is_due(&mut self, expiry: &Expiry, now: SystemTime) -> bool {
        if self.until != Some(expiry.until) {
            let was_renewed = self.until.is_some();
            *self = Self { until: Some(expiry.until), was_renewed, warnings: 0 };
        }
        let life = expiry.until.duration_since(expiry.since).unwrap_or_default();
        let counts = |warning: Duration| !self.was_renewed || warning <= life / 2;
        let warnings = match expiry.until.duration_since(now) {
            Ok(left) => {
                let passed = |&&warning: &&Duration| left < warning && counts(warning);
                WARNINGS.iter().filter(passed).count() as u64
            }
            Err(late) => WARNINGS.len() as u64 + 1 + late.duration().as_secs() / DAY.as_secs(),
        };
        let said = std::mem::replace(&mut self.warnings, warnings);
        warnings > said
    }
}

impl Security {
    /// Looks at the files every few seconds, for as long as it is polled, and tells what happens and when the certificate
    /// ends, if there is one.
    pub async fn keep_renewed(self, mut tell: impl FnMut(Renewal), mut ends: impl FnMut(&Expiry)) {
        if matches!(self, Self::Open) {
            return;
        }
        let mut said = Said::default();
        let mut looked = Look::Same;
        loop {
            match looked {
                Look::Same => {}
                Look::Renewed => tell(Renewal::Renewed { files: self.files() }),
                Look::Unusable(problem) => tell(Renewal::Unusable { problem }),
            }
            if let Some(expiry) = self.expiry() {
                ends(&expiry);
                let now = SystemTime::now();
                if said.is_due(&expiry, now) {
                    let left = expiry.until.duration_since(now).unwrap_or_default();
                    tell(Renewal::Ends { expiry, left });
                }
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
            let security = self.clone();
            let look = tokio::task::spawn_blocking(move || security.look());
            // A look that panicked showed nothing.
            looked = look.await.unwrap_or(Look::Same);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn at(time: Duration) -> SystemTime {
        SystemTime::UNIX_EPOCH + time
    }

    fn expiry(since: Duration, until: Duration) -> Expiry {
        Expiry { file: "a.pem".into(), since: at(since), until: at(until) }
    }

    #[test]
    fn the_end_of_a_certificate_is_spoken_of_a_few_times_before_and_every_day_after() {
        let expiry = expiry(Duration::ZERO, 365 * DAY);
        let mut said = Said::default();
        let spoken: Vec<u32> = (0..=368 * 24)
            .filter(|&hour| said.is_due(&expiry, at(hour * HOUR)))
            .map(|hour| 365 * 24 - hour.min(365 * 24) + 10_000 * (hour / (365 * 24)))
            .collect();
        // Hours before the end: the last before it, the first after it, and one for every day then.
        assert_eq!(spoken[..3], [30 * 24 - 1, 7 * 24 - 1, 23]);
        assert_eq!(spoken[3..], [10_000; 5], "{spoken:?}");
    }

    #[test]
    fn one_that_lives_shortly_is_spoken_of_at_the_start_and_when_it_is_not_renewed() {
        let mut said = Said::default();
        assert!(said.is_due(&expiry(Duration::ZERO, DAY), at(HOUR)));
        assert!(!said.is_due(&expiry(Duration::ZERO, DAY), at(2 * HOUR)));
        let renewed = expiry(16 * HOUR, 40 * HOUR);
        assert!(!said.is_due(&renewed, at(16 * HOUR)));
        assert!(!said.is_due(&renewed, at(38 * HOUR)));
        assert!(said.is_due(&renewed, at(39 * HOUR + HOUR / 2)));
        assert!(said.is_due(&renewed, at(41 * HOUR)));
    }

    #[test]
    fn spans_are_rough() {
        assert_eq!(span(6 * DAY + HOUR), "6 days");
        assert_eq!(span(DAY), "24 hours");
        assert_eq!(span(Duration::from_secs(61)), "2 min");
    }
}
