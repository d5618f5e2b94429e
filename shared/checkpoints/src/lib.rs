//! The checkpoint store: a shared directory or an S3 bucket that keeps what workers saved.
