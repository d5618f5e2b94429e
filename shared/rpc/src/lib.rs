//! The protocol between coordinator, workers and their users, and who may speak it.
