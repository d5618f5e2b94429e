//! Jobs: the page that watches them.
