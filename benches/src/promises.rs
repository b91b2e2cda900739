//! What the project promises, and whether this run keeps it. Written for AVX-512 and one run of `make peers`.

use crate::contender::{FASTBLOOM, Mode, OURS, OURS_C, OURS_K8, ROCKSDB, SBBF};
use crate::measure::{FprPoint, Row};
use crate::queries::Op;
use crate::report::Rows;
use std::fmt::Write;

/// The better side of a target.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
}
use Target::{AtLeast, AtMost};

/// What, how much, and the figure of this run, if it was run.
pub type Promise = (String, Target, Option<f64>);

/// The usual and the larger number of bits per key.
pub const BITS_PER_KEY: f64 = 12.0;
/// As above.
pub const MORE_BITS_PER_KEY: f64 = 16.0;

/// The worst ratio over the look-ups that were run: numerator and denominator of each.
fn worst(target: Target, ratio: impl Fn(Op) -> Option<(f64, f64)>) -> Option<f64> {
    let ratios = Op::LOOK_UPS.into_iter().filter_map(ratio).map(|(a, b)| a / b);
    match target {
        AtLeast(_) => ratios.min_by(f64::total_cmp),
        AtMost(_) => ratios.max_by(f64::total_cmp),
    }
}

/// Of the filter.
pub fn table(rows: &[Row], fprs: &[FprPoint]) -> String {
    list("filters (the worst of absent, present and mixed, 12 bits per key)", promises(rows, fprs))
}

/// One line per promise: text, target, figure, verdict.
pub fn list(of: &str, promises: Vec<Promise>) -> String {
    let mut text = format!("\nWhat the project promises of {of}\n");
    for (what, target, figure) in promises {
        let (sign, limit, met) = match target {
            AtLeast(least) => (">=", least, figure.map(|figure| figure >= least)),
            AtMost(most) => ("<=", most, figure.map(|figure| figure <= most)),
        };
        let verdict = met.map_or("not run", |met| if met { "met" } else { "MISSED" });
        let figure = figure.map_or("-".into(), |figure| format!("{figure:.2}"));
        let _ = writeln!(text, "{what:<75} {sign} {limit:<5} {figure:>6}  {verdict}");
    }
    text
}

fn promises(rows: &[Row], fprs: &[FprPoint]) -> Vec<Promise> {
    let mut list = Vec::new();
    let mut add = |what: String, target, figure| list.push((what, target, figure));
    let ours = |at: Rows<'_>, op| at.call(OURS, None, Mode::Batch, op);
    let at = |size| Rows::at(rows, size, BITS_PER_KEY);

    for (size, least) in [("l2", 2.4), ("l3", 1.8), ("memory", 1.3)] {
        let target = AtLeast(least);
        let ratio = worst(target, |op| at(size).fastest(ROCKSDB, op).zip(ours(at(size), op)));
        add(format!("{size}: look-up, times as fast as FastLocalBloom"), target, ratio);
    }
    for (size, least) in [("l2", 5.0), ("l3", 3.0), ("memory", 2.0)] {
        let ratio = at(size).fastest(ROCKSDB, Op::Insert).zip(ours(at(size), Op::Insert)).map(|(a, b)| a / b);
        add(format!("{size}: insert, times as fast as FastLocalBloom"), AtLeast(least), ratio);
    }
    for (size, least) in [("l2", 10.0), ("l3", 5.0)] {
        let at = Rows::at(rows, size, MORE_BITS_PER_KEY);
        let ratio = at.fastest(ROCKSDB, Op::Mixed).zip(ours(at, Op::Mixed)).map(|(a, b)| a / b);
        add(format!("{size}: mixed, 16 bits per key, times as fast as FastLocalBloom"), AtLeast(least), ratio);
    }
    for bits_per_key in [BITS_PER_KEY, MORE_BITS_PER_KEY] {
        let ratio = fpr_ratio(fprs, bits_per_key, ROCKSDB);
        add(format!("FPR at {bits_per_key} bits per key, times that of FastLocalBloom"), AtMost(1.02), ratio);
    }
    for (size, least) in [("l2", 1.6), ("l3", 1.3), ("memory", 1.1)] {
        let target = AtLeast(least);
        let ratio = worst(target, |op| at(size).fastest(SBBF, op).zip(ours(at(size), op)));
        add(format!("{size}: look-up, times as fast as SBBF-256 ({SBBF})"), target, ratio);
    }
    let fewer = |bits_per_key| fpr_ratio(fprs, bits_per_key, SBBF).map(|ratio| 100.0 * (1.0 - ratio));
    add("false positives fewer than SBBF-256's, in %: least, 12 bits per key".into(), AtLeast(22.5), fewer(12.0));
    add("false positives fewer than SBBF-256's, in %: most, 20 bits per key".into(), AtLeast(51.0), fewer(20.0));
    for size in ["l3", "memory"] {
        let target = AtLeast(0.95);
        let ratio = worst(target, |op| at(size).limit(op).zip(ours(at(size), op)));
        add(format!("{size}: batch, share of the line-read limit"), target, ratio);
    }
    let k8 = |mode| at("l2").call(OURS_K8, None, mode, Op::Absent);
    let ratio = k8(Mode::Single).zip(k8(Mode::Batch)).map(|(a, b)| a / b);
    add("l2: k = 8, single call through the dispatch, times the batch".into(), AtMost(1.9), ratio);

    let avx2 = |size, op| at(size).call(OURS, Some("avx2"), Mode::Batch, op);
    let ratio = worst(AtLeast(0.95), |op| at("memory").limit(op).zip(avx2("memory", op)));
    add("memory: AVX2 batch, share of the line-read limit".into(), AtLeast(0.95), ratio);
    let ratio = worst(AtLeast(1.2), |op| at("l3").fastest(ROCKSDB, op).zip(avx2("l3", op)));
    add("l3: AVX2 batch, times as fast as FastLocalBloom".into(), AtLeast(1.2), ratio);
    for size in ["l2", "l3", "memory"] {
        let portable = |op| at(size).call(OURS, Some("portable"), Mode::Batch, op);
        let ratio = worst(AtLeast(1.0), |op| at(size).fastest(FASTBLOOM, op).zip(portable(op)));
        add(format!("{size}: portable batch, times as fast as fastbloom"), AtLeast(1.0), ratio);
    }

    let rust = |size, mode, op| at(size).call(OURS, Some(fastest_level(rows)), mode, op);
    let c = |size, mode, op| at(size).call(OURS_C, None, mode, op);
    for size in ["l2", "l3", "memory"] {
        let op = Op::Absent;
        let ratio = c(size, Mode::Batch, op).zip(rust(size, Mode::Batch, op)).map(|(a, b)| a / b);
        add(format!("{size}: batch of 4,096 through C, times the call from Rust"), AtMost(1.03), ratio);
    }
    // Beyond L2 a loop of single calls waits for memory, and longer calls leave room for fewer misses at once.
    let single = |call: &dyn Fn(&'static str, Mode, Op) -> Option<f64>| call("l2", Mode::Single, Op::Absent);
    let more = single(&c).zip(single(&rust)).map(|(a, b)| a - b);
    add("l2: single call through C, ns more than from Rust".into(), AtMost(1.0), more);
    let ratio = worst(AtMost(1.6), |op| rust("l3", Mode::U64Batch, op).zip(rust("l3", Mode::Batch, op)));
    add("l3: u64 keys hashed inside, times the pre-hashed batch".into(), AtMost(1.6), ratio);
    list
}

/// The level of the calls through C: the fastest of the machine.
fn fastest_level(rows: &[Row]) -> &str {
    rows.iter().find(|row| row.call.contender == OURS_C).map_or("", |row| &row.call.level)
}

/// Our FPR over another's.
fn fpr_ratio(fprs: &[FprPoint], bits_per_key: f64, other: &str) -> Option<f64> {
    let of = |name| fprs.iter().find(|point| point.contender == name && point.bits_per_key == bits_per_key);
    of(OURS).zip(of(other)).map(|(ours, other)| ours.measured / other.measured)
}
