//! Reading values: a page at a time, each verified.

use crate::{
    ShardEpoch, Store, StoreError, Value,
    error::{is_damage, is_unreadable},
    key::{MOST_PAGES, PAGE_KEY_BYTES},
    page,
};

impl Store {
    /// Reads values of a shard epoch from index `start` on, as many as `values` takes. Works on the
    /// calling thread; whole pages ([`ValueType::values_per_page`](crate::ValueType)) are read
    /// straight to where they belong.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the values are not what was written; `values` is then to be
    /// forgotten. Else if there are no such values.
    pub fn read<V: Value>(
        &self,
        epoch: &ShardEpoch,
        start: u64,
        values: &mut [V],
    ) -> Result<(), StoreError> {
        let end = start.saturating_add(values.len() as u64);
        if epoch.value_type != V::TYPE {
            let (stored, asked) = (epoch.value_type, V::TYPE);
            return Err(StoreError::OtherValueType { epoch: epoch.key, stored, asked });
        }
        if end > epoch.values {
            let (epoch, values) = (epoch.key, epoch.values);
            return Err(StoreError::OutOfRange { epoch, values, start, end });
        }
        let (mut at, mut rest) = (start, values);
        while !rest.is_empty() {
            let page = at / V::TYPE.values_per_page() as u64;
            let in_page = values_in_page(epoch, page);
            let skipped = (at % V::TYPE.values_per_page() as u64) as usize;
            let (now, later) = rest.split_at_mut((in_page - skipped).min(rest.len()));
            if now.len() == in_page {
                self.page(epoch, page, |key, bytes| page::decode(key, bytes, now))?;
            } else {
                let mut whole = vec![V::zeroed(); in_page];
                self.page(epoch, page, |key, bytes| page::decode(key, bytes, &mut whole))?;
                now.copy_from_slice(&whole[skipped..skipped + now.len()]);
            }
            at += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// Reads all values of a shard epoch into `values`, which takes exactly as many. Works on the
    /// calling thread, straight to where the values belong: many shards, or with [`Store::read`]
    /// whole pages of one, can be read at a time by as many threads.
    ///
    /// # Errors
    /// As [`Store::read`]; and if `values` takes more or less than there are.
    pub fn read_into<V: Value>(
        &self,
        epoch: &ShardEpoch,
        values: &mut [V],
    ) -> Result<(), StoreError> {
        if values.len() as u64 != epoch.values {
            let (start, end) = (0, values.len() as u64);
            return Err(StoreError::OutOfRange {
                epoch: epoch.key,
                values: epoch.values,
                start,
                end,
            });
        }
        self.read(epoch, 0, values)
    }

    /// Reads all values of a shard epoch.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_all<V: Value>(&self, epoch: &ShardEpoch) -> Result<Vec<V>, StoreError> {
        let mut values = vec![V::zeroed(); epoch.values as usize];
        self.read(epoch, 0, &mut values)?;
        Ok(values)
    }

    /// Reads all pages of a shard epoch, to see whether they are what was written.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if they are not.
    pub fn verify(&self, epoch: &ShardEpoch) -> Result<(), StoreError> {
        (0..epoch.pages()).try_for_each(|page| {
            let count = values_in_page(epoch, page);
            self.page(epoch, page, |key, bytes| page::check(key, bytes, epoch.value_type, count))
        })
    }

    /// Hands the bytes of a page to `take`, which says what is wrong with them.
    fn page(
        &self,
        epoch: &ShardEpoch,
        page: u64,
        take: impl FnOnce(&[u8; PAGE_KEY_BYTES], &[u8]) -> Result<(), String>,
    ) -> Result<(), StoreError> {
        let damaged = |what: String| StoreError::Damaged {
            epoch: epoch.key,
            file: self.values().whereabouts(epoch.key),
            what: format!("page {page} of {}: {what}", epoch.pages()),
        };
        // A writer numbers no more pages than that.
        let number = u32::try_from(page).ok().filter(|&number| number < MOST_PAGES);
        let number = number.ok_or(StoreError::TooLarge { epoch: epoch.key })?;
        let key = epoch.key.page(number);
        let read = || self.values().page(&key);
        // What the disk fails to read may be read the next time.
        match read().or_else(|error| if is_unreadable(&error) { read() } else { Err(error) }) {
            Ok(Some(bytes)) => {
                self.counters().read(bytes.len());
                take(&key, &bytes).map_err(damaged)
            }
            Ok(None) => Err(damaged("it is not there".to_owned())),
            Err(error) if is_damage(&error) || is_unreadable(&error) => {
                Err(damaged(error.into_string()))
            }
            Err(source) => {
                let (dir, action) = (self.values().dir().to_owned(), "read values in");
                Err(StoreError::RocksDb { dir, action, source })
            }
        }
    }
}

/// How many values a page has; all but the last are full.
fn values_in_page(epoch: &ShardEpoch, page: u64) -> usize {
    let per_page = epoch.value_type.values_per_page();
    (epoch.values - page * per_page as u64).min(per_page as u64) as usize
}
