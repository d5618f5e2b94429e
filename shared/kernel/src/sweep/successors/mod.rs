//! A table of successors: the second way to sweep a unit, for rulesets without private squares.
//!
//! There a slab has few positions for what it costs to find its successors, and every move is one value. So the
//! successors of a unit are found once, in the order of a sweep, and written down as [addresses]; each sweep then only
//! runs down the table. That takes four times the memory, so it is for steps of a few million positions; others, and
//! arrays in files, are swept slab by slab. Both ways give the same bits.
//!
//! Positions are swept eight at a time, each with its pair (whose value and its own read each other), if none reads
//! what another writes. A pair's *turn* is the first that comes after those it has to wait for: pairs before it whose
//! values it reads, or that read the value it writes. This is list scheduling (Graham 1969) of a Gauss-Seidel sweep;
//! what is read and the order of its operations are those of [`crate::sweep::dense`].
//!
//! | file | knows |
//! | --- | --- |
//! | `table` | the table of a unit, those of a step, and their memory |
//! | `turns` | whose turn it is when |
//! | `writing` | how a table is written down |
//! | `sweep` | a sweep along it |
//!
//! [addresses]: crate::simd::address::Address

pub mod sweep;
pub mod table;
mod turns;
mod writing;
