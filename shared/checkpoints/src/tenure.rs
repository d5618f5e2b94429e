//! Which coordinator's workers write to a checkpoint store and delete there.
//!
//! A coordinator that is started on a copy of another's directory, while that one runs, has its identity, and gives the same
//! numbers out. Each would have deleted what the other saved. So the object `CLUSTER/coordinator` names one of them, by its
//! incarnation. Its workers renew the object, and those of another wait until it has not been renewed for long before they
//! take it: it is a lease (Gray and Cheriton, Leases, 1989). Of several that take it at the same time the last one to write has
//! it, which the others see a while later, as with the [identity](CheckpointStore::identity).

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};

use crate::{CheckpointStore, store::SETTLING};

/// The object that names the holder.
const HOLDER: &str = "coordinator";

/// A worker looks at the object as often, or once in a lease if that is shorter.
const LOOK: Duration = Duration::from_secs(10);

/// What was not renewed in so many looks is nobody's.
const STALE: u32 = 4;

/// A store that was another's for so many looks, and a lease, and was renewed, stays the other's.
const FOREIGN: u32 = 8;

/// A coordinator, as its workers write it into a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Its incarnation.
    pub incarnation: u64,
    /// Where its workers reach it: host:port.
    pub coordinator: String,
}

/// What the workers of a coordinator may do in a checkpoint store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Read; the rest is to be seen.
    Waits,
    /// Write and delete.
    Holds,
    /// Read: another coordinator runs, and has it.
    Fenced(Holder),
}

/// What the object says.
struct Told {
    holder: Holder,
    /// How often the holder looks at it, and how often it was renewed.
    look: Duration,
    renewals: u64,
}

impl Told {
    fn text(&self) -> Bytes {
        let Self { holder: Holder { incarnation, coordinator }, look, renewals } = self;
        format!("{incarnation:016x} {renewals} {} {coordinator}\n", look.as_millis()).into()
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let mut words = str::from_utf8(text).ok()?.trim_end().splitn(4, ' ');
        let incarnation = u64::from_str_radix(words.next()?, 16).ok()?;
        let renewals = words.next()?.parse().ok()?;
        let look = Duration::from_millis(words.next()?.parse::<u32>().ok()?.into());
        let coordinator = words.next()?.to_owned();
        Some(Self { holder: Holder { incarnation, coordinator }, look, renewals })
    }
}

impl CheckpointStore {
    /// Has the store held by a coordinator, for as long as this is polled, and tells how that stands: again and again. `lease`
    /// is how long a worker of the coordinator may be silent.
    pub async fn hold(self, holder: Holder, lease: Duration, tell: impl Fn(Standing)) {
        let (name, look) = (self.cluster_name(HOLDER), lease.min(LOOK));
        // What was seen last, since when; and the first that was seen of another.
        let mut seen: Option<(Bytes, Instant)> = None;
        let mut first_of_another: Option<(Bytes, Instant)> = None;
        loop {
            let Ok(found) = self.read(&name).await else {
                sleep(look).await;
                continue; // nothing new is known
            };
            let now = Instant::now();
            seen = found.map(|text| match seen.take() {
                Some((before, since)) if before == text => (text, since),
                _ => (text, now),
            });
            let told = seen.as_ref().and_then(|(text, since)| Some((Told::parse(text)?, *since)));
            match told {
                Some((told, since)) if told.holder.incarnation == holder.incarnation => {
                    first_of_another = None;
                    tell(Standing::Holds);
                    if since < now {
                        let renewals = told.renewals.wrapping_add(1);
                        let renewed = Told { holder: holder.clone(), look, renewals };
                        // Where that fails, it is tried again.
                        let _ = self.write(&name, renewed.text(), true).await;
                    }
                }
                Some((told, since)) if now - since < STALE * look.max(told.look) => {
                    let text = seen.as_ref().map(|(text, _)| text.clone()).unwrap_or_default();
                    let (first, begin) = first_of_another.get_or_insert((text.clone(), now));
                    // One that was never renewed may be left over.
                    let is_long = now - *begin >= FOREIGN * look.max(told.look) + lease;
                    match is_long && *first != text {
                        true => tell(Standing::Fenced(told.holder)),
                        false => tell(Standing::Waits),
                    }
                }
                _ => {
                    (seen, first_of_another) = (None, None);
                    tell(Standing::Waits);
                    let taken = Told { holder: holder.clone(), look, renewals: 0 };
                    let _ = self.write(&name, taken.text(), true).await;
                    sleep(SETTLING.min(look)).await;
                    continue;
                }
            }
            sleep(look).await;
        }
    }
}
