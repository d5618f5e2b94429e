//! Parts of a step's arrays as shard epochs of a store.

use rayon::prelude::*;
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Column, Data, Part};
use ziggurat_store::{
    Epoch, SealedEpoch, ShardEpoch, ShardKey, Store, StoreError, Value, ValueType,
};

/// The name of a range of a shard of a step, for one of its columns.
pub fn key(job: u64, step: Tier, column: Column, shard: u32, range: u8) -> ShardKey {
    let column = match column {
        Column::Values => 0,
        Column::Units => 1,
        Column::Lower => 2,
        Column::Upper => 3,
        Column::Vector(i) => 4 + i,
    };
    ShardKey { job, tier: step.into(), range, shard, column }
}

/// Writes parts of a step at an epoch, many at a time, and tells of the bytes of each; they count once a checkpoint
/// takes them in.
///
/// # Errors
/// If there is no space for them, or the store fails.
pub fn write(
    store: &Store,
    job: u64,
    step: Tier,
    epoch: Epoch,
    parts: Vec<Part<'_>>,
    wrote: impl Fn(usize) + Sync,
) -> Result<Vec<SealedEpoch>, StoreError> {
    store.require_space(parts.iter().map(|part| bytes_of(&part.data)).sum())?;
    let write = |Part { column, shard, range, data }: Part<'_>| {
        let (key, bytes) = (key(job, step, column, shard, range).at(epoch), data.bytes().len());
        let sealed = match data {
            Data::F32(values) => store.write_epoch(key, values),
            Data::F64(values) => store.write_epoch(key, values),
            Data::I8(values) => store.write_epoch(key, values),
            Data::U16(values) => store.write_epoch(key, values),
        };
        sealed.inspect(|_| wrote(bytes))
    };
    parts.into_par_iter().map(write).collect()
}

/// Reads a part at an epoch.
///
/// # Errors
/// If it is not there, or damaged.
pub fn read(store: &Store, key: ShardKey, epoch: Epoch, data: Data<'_>) -> Result<(), StoreError> {
    match data {
        Data::F32(values) => read_values(store, key, epoch, values),
        Data::F64(values) => read_values(store, key, epoch, values),
        Data::I8(values) => read_values(store, key, epoch, values),
        Data::U16(values) => read_values(store, key, epoch, values),
    }
}

fn read_values<V: Value>(
    store: &Store,
    key: ShardKey,
    epoch: Epoch,
    values: &mut [V],
) -> Result<(), StoreError> {
    let epoch = ShardEpoch { key: key.at(epoch), value_type: V::TYPE, values: values.len() as u64 };
    store.read_into(&epoch, values)
}

fn bytes_of(data: &Data<'_>) -> u64 {
    let (values, value_type) = match data {
        Data::F32(values) => (values.len(), ValueType::F32),
        Data::F64(values) => (values.len(), ValueType::F64),
        Data::I8(values) => (values.len(), ValueType::I8),
        Data::U16(values) => (values.len(), ValueType::U16),
    };
    ziggurat_store::largest_bytes(values as u64, value_type)
}
