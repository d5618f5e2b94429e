//! Accepts jobs, plans steps and shards, and drives supersteps; never touches values.
