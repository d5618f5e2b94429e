//! Sweeps its shards on a pool of threads and exchanges halos with other workers.
