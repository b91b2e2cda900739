//! Count-Min: one small trait, ours in three shapes and the crates of others behind it, and their tables.
//!
//! All have four rows, or what goes for that, of 32-bit counters, and as many bytes as each other. Keys that are timed
//! are drawn evenly from so many that nearly all are new, for every contender the same: each add goes to lines that
//! only the size of the sketch makes fast. In a Zipf stream half of the adds go to a few counters that any sketch
//! keeps in the L1 cache, and wait for each other there: that would time the stream and not the sketch. Errors are
//! those of a Zipf stream, since evenly spread counts have none worth the name.

#[cfg(feature = "peers")]
mod others;
mod ours;
#[cfg(feature = "peers")]
mod table;

pub use ours::{Ours, Shape};
#[cfg(feature = "peers")]
pub use table::{run, tables};

use crate::RUN_KEYS;
use crate::contender::Call;
use crate::machine::Size;
use crate::queries::{Keys, Queries};

const MIB: u64 = 1 << 20;

/// Counters of a row at the smallest size, and rows.
const WIDTH: u64 = 16_384;
const DEPTH: u32 = 4;

/// Bytes of the counters: widths of 16,384, 1 Mi and 16 Mi. The names are those of [`crate::machine::sizes`], the
/// bytes are what the project promises something of, on any machine.
pub const SIZES: [Size; 3] = [
    Size { name: "l2", bytes: WIDTH * DEPTH as u64 * 4 },
    Size { name: "l3", bytes: 16 * MIB },
    Size { name: "memory", bytes: 256 * MIB },
];

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Counts a new key once more.
    Add,
    /// Estimates a key that was counted.
    Estimate,
    /// Adds all counters of another sketch.
    Merge,
    /// Halves all counters.
    Halve,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 4] = [Op::Add, Op::Estimate, Op::Merge, Op::Halve];

    /// `add`, `estimate`, `merge`, `halve`.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Add => "add",
            Op::Estimate => "estimate",
            Op::Merge => "merge",
            Op::Halve => "halve",
        }
    }

    /// Whether it is done to keys, and not to the whole sketch.
    pub const fn has_keys(self) -> bool {
        matches!(self, Op::Add | Op::Estimate)
    }
}

/// A sketch in memory, and the ways to call it. `call` is an index into [`Sketch::calls`].
pub trait Sketch {
    /// The ways to call it; the first is the one to fill it with.
    fn calls(&self) -> &[Call];

    /// Counts every key once.
    fn add(&mut self, call: usize, keys: &Keys);

    /// Estimates every key.
    fn estimate(&mut self, call: usize, keys: &Keys, out: &mut [u64]);

    /// From now on there is a second sketch, as this one is now, to merge in.
    fn keep(&mut self);

    /// Adds what was kept; false if there is no such thing.
    fn merge(&mut self, call: usize) -> bool;

    /// Halves all counters; false if there is no such thing.
    fn halve(&mut self, call: usize) -> bool;
}

/// Runs an operation once; false if the sketch has no such thing.
pub fn run_once(sketch: &mut dyn Sketch, call: usize, op: Op, keys: &Keys, out: &mut [u64]) -> bool {
    match op {
        Op::Add => sketch.add(call, keys),
        Op::Estimate => sketch.estimate(call, keys, out),
        Op::Merge => return sketch.merge(call),
        Op::Halve => return sketch.halve(call),
    }
    true
}

/// Keys that a sketch is filled with: one for each counter of a row, so that a counter is 1 on average and all memory
/// has been written to.
pub const fn keys_in(size: Size) -> u64 {
    size.bytes / 4 / DEPTH as u64
}

/// Counts these keys once each.
pub fn fill(sketch: &mut dyn Sketch, size: Size) {
    Queries::inserted(0..keys_in(size), |keys| sketch.add(0, keys));
}

/// New keys to add, or counted ones to estimate; of other operations none.
pub fn draw(queries: &mut Queries, op: Op, keys: &mut Keys) {
    match op {
        Op::Add => queries.draw(crate::queries::Op::Insert, keys),
        Op::Estimate => queries.draw(crate::queries::Op::Present, keys),
        Op::Merge | Op::Halve => {}
    }
}

/// Where estimates of a run go.
pub fn estimates() -> Vec<u64> {
    vec![0; RUN_KEYS]
}
