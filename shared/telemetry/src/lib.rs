//! Logs, metrics and health, as those who run services look at them.
