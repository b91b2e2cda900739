//! Sketchline measured: beside its peers, against the limit of the machine, and under hardware counters.
//!
//! ```text
//! benches/bloom.rs (criterion)   bin/peers.rs   bin/perf.rs   bin/count.rs (callgrind)
//!             |                        |             |             |
//!             +------------------------+------+------+-------------+
//!                                             v
//!              queries -> contender/* (filters, each with its calls) -> measure -> report, promises, plots
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `memory`, `machine` | huge pages for every contender alike; what the machine is, and the sizes that follow |
//! | `queries` | the same keys for all: inserted, absent, mixed |
//! | `contender` | one small trait, and one file per filter behind it |
//! | `limit` | random line reads: what no filter can beat |
//! | `measure`, `stats` | interleaved rounds, medians, FPR |
//! | `report`, `promises`, `plots` | tables, JSON, targets, SVG |
//! | `rounds` | rows, medians, text and JSON of the tables that are not of filters |
//! | `hll`, `cms` | HyperLogLog, Count-Min beside their peers |
//! | `counters` | `perf_event_open` |
//!
//! `docs/PERFORMANCE.md` tells how to run it and what the columns mean.

pub mod args;
pub mod cms;
pub mod contender;
pub mod counters;
#[cfg(feature = "peers")]
pub mod hll;
pub mod limit;
pub mod machine;
pub mod measure;
pub mod memory;
#[cfg(feature = "peers")]
pub mod plots;
pub mod promises;
pub mod queries;
pub mod report;
pub mod rounds;
pub mod stats;

/// Keys per measured run: hashes and answers stay out of the way of a filter in L2.
pub const RUN_KEYS: usize = 1 << 15;
/// Keys per batch call: what an engine has in hand.
pub const BATCH_KEYS: usize = 4096;
/// Seed of everything that is drawn.
pub const SEED: u64 = 0x5ee7_ab1e;
