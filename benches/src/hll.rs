//! HyperLogLog beside its peers: 2^14 registers, the same keys for all, interleaved rounds, medians.
//!
//! | operation | of |
//! |---|---|
//! | add | keys that are new to a sketch of 10 million: most change nothing |
//! | merge | a sketch of 100,000 keys into one, both in the L1 cache |
//! | merge all | 48 such sketches into one, a sketch at a time, per sketch; in the L2 cache |
//! | merge 8 | the same eight at a time, where there is a call for it |
//! | estimate | a sketch of 10 million that was not merged |
//!
//! Each peer in its faster mode. `keys` are integers that the sketch hashes itself, `hashes` are given; `datasketches`
//! takes no hashes but prepared coupons, which already hold register and rank.

use crate::SEED;
use crate::machine::Size;
use crate::memory::SharedLines;
use crate::promises::{self, Promise, Target};
use crate::rounds::{self, Name, Row, medians, timed};
use cardinality_estimator::CardinalityEstimator;
use datasketches::hll::{Coupon, HllSketch, HllType, HllUnion};
use hyperloglogplus::{HyperLogLog as _, HyperLogLogPlus};
use sketchline::{
    BLOCK_BYTES, HashScheme, Hashes, Hll, HllForm, HllParams, HllRef, HyperLogLog, Isa, KeyHash, U64Keys,
};
use std::fmt::Write;
use std::hash::RandomState;
use std::hint::black_box;

const P: u32 = 14;
const SIZE: Size = Size { name: "p14", bytes: (1 << P) / 4 * 3 };
const SATURATED: u64 = 10_000_000;
const MERGED_KEYS: u64 = 100_000;
const MERGED: usize = 48;
const RUN: usize = 1 << 14;
/// Trials of the RMSE column, at `MERGED_KEYS` keys; its own standard error is `1 / sqrt(2 * TRIALS)`, 5 %.
const TRIALS: u64 = 200;

/// A sketch under test.
trait Peer {
    fn names(&self) -> (&'static str, &'static str);
    /// Ways to add, by name.
    fn adds(&self) -> &'static [&'static str];
    /// Keys in the forms that the ways need, made before the clock starts.
    fn add(&mut self, way: usize, keys: &Keys);
    fn estimate(&self) -> f64;
    /// Ways to merge, by name: the first sketch `MERGED` times, or each of `MERGED`.
    fn merges(&self) -> &'static [&'static str];
    fn merge(&mut self, way: usize);
    /// The estimate of a new sketch of these keys.
    fn trial(&self, keys: &Keys) -> f64;
}

/// The same keys in every form.
#[derive(Default)]
struct Keys {
    numbers: Vec<u64>,
    hashes: Vec<u64>,
    coupons: Vec<Coupon>,
}

impl Keys {
    fn new(first: u64, len: usize) -> Self {
        // Numbers that are not in a row, so that no weak hash has it easy.
        let numbers: Vec<u64> =
            (first..first + len as u64).map(|i| KeyHash::mixed(i.wrapping_mul(SEED | 1)).raw()).collect();
        let hashes = numbers.iter().map(|&number| KeyHash::of_u64(number, SEED).raw()).collect();
        let coupons = numbers.iter().map(|number| Coupon::from_value(*number)).collect();
        Self { numbers, hashes, coupons }
    }
}

struct Ours {
    isa: Isa,
    saturated: HyperLogLog,
    target: HyperLogLog,
    sources: Vec<HyperLogLog>,
}

impl Ours {
    fn empty(isa: Isa) -> HyperLogLog {
        let params = HllParams::new(P).map(|params| params.with_form(HllForm::Dense));
        let params = params.map(|params| params.with_hashing(HashScheme::Xxh3 { seed: SEED }));
        params.and_then(HyperLogLog::new).expect("memory for a sketch").with_isa(isa)
    }

    fn of(isa: Isa, keys: &Keys) -> HyperLogLog {
        let mut sketch = Self::empty(isa);
        sketch.insert_batch(&Hashes(&keys.hashes), 0).expect("a dense sketch takes all");
        sketch
    }
}

impl Peer for Ours {
    fn names(&self) -> (&'static str, &'static str) {
        ("sketchline", self.isa.name())
    }

    fn adds(&self) -> &'static [&'static str] {
        &["hashes, batch", "hashes, single", "keys, batch", "keys, single"]
    }

    fn add(&mut self, way: usize, keys: &Keys) {
        let done = match way {
            0 => self.saturated.insert_batch(&Hashes(&keys.hashes), 0).map(drop),
            1 => keys.hashes.iter().try_for_each(|&hash| self.saturated.insert_hash(KeyHash::from_raw(hash))),
            2 => self.saturated.insert_batch(&U64Keys(&keys.numbers), 0).map(drop),
            _ => keys.numbers.iter().try_for_each(|&number| self.saturated.insert_u64(number)),
        };
        done.expect("a dense sketch takes all");
    }

    fn estimate(&self) -> f64 {
        self.saturated.estimate()
    }

    fn merges(&self) -> &'static [&'static str] {
        &["merge", "merge all", "merge 8"]
    }

    fn merge(&mut self, way: usize) {
        let merged = match way {
            0 => (0..MERGED).try_for_each(|_| self.target.merge(&self.sources[0])),
            1 => self.sources.iter().try_for_each(|source| self.target.merge(source)),
            _ => {
                let views: Vec<HllRef<'_>> = self.sources.iter().map(Hll::view).collect();
                self.target.merge_many(&views)
            }
        };
        merged.expect("like sketches");
    }

    fn trial(&self, keys: &Keys) -> f64 {
        Self::of(self.isa, keys).estimate()
    }
}

/// A peer that has one way to add and one to merge.
struct Other<T> {
    names: (&'static str, &'static str),
    adds: &'static [&'static str],
    empty: fn() -> T,
    add: fn(&mut T, usize, &Keys),
    merge: fn(&mut T, &T),
    estimate: fn(&T) -> f64,
    saturated: T,
    target: T,
    sources: Vec<T>,
}

impl<T> Peer for Other<T> {
    fn names(&self) -> (&'static str, &'static str) {
        self.names
    }

    fn adds(&self) -> &'static [&'static str] {
        self.adds
    }

    fn add(&mut self, way: usize, keys: &Keys) {
        (self.add)(&mut self.saturated, way, keys);
    }

    fn estimate(&self) -> f64 {
        (self.estimate)(&self.saturated)
    }

    fn merges(&self) -> &'static [&'static str] {
        &["merge", "merge all"]
    }

    fn merge(&mut self, way: usize) {
        for i in 0..MERGED {
            (self.merge)(&mut self.target, &self.sources[if way == 0 { 0 } else { i }]);
        }
    }

    fn trial(&self, keys: &Keys) -> f64 {
        let mut sketch = (self.empty)();
        (self.add)(&mut sketch, 0, keys);
        (self.estimate)(&sketch)
    }
}

/// A union is what merges in `datasketches`; a sketch is what counts.
struct DataSketch {
    sketch: HllSketch,
    union: HllUnion,
}

fn data_sketch(form: HllType) -> DataSketch {
    let sketch = HllSketch::new(P as u8, form).expect("a legal size");
    DataSketch { sketch, union: HllUnion::new(P as u8).expect("a legal size") }
}

fn add_to_data_sketch(peer: &mut DataSketch, way: usize, keys: &Keys) {
    if way == 0 {
        keys.coupons.iter().for_each(|&coupon| peer.sketch.update_with_coupon(coupon));
    } else {
        keys.numbers.iter().for_each(|&number| peer.sketch.update(number));
    }
}

type Plus = HyperLogLogPlus<u64, RandomState>;
type Estimator = CardinalityEstimator<u64, cardinality_estimator_hasher::Hasher, 14, 6>;

/// The default hasher of `cardinality-estimator` stays unused: it is given hashes.
mod cardinality_estimator_hasher {
    pub(super) type Hasher = std::hash::DefaultHasher;
}

fn peers() -> Vec<Box<dyn Peer>> {
    let sources: Vec<Keys> = (0..MERGED as u64).map(|i| Keys::new((i + 1) << 40, MERGED_KEYS as usize)).collect();
    let mut peers: Vec<Box<dyn Peer>> = Vec::new();
    for isa in Isa::available() {
        let sources = sources.iter().map(|keys| Ours::of(isa, keys)).collect();
        peers.push(Box::new(Ours { isa, saturated: Ours::empty(isa), target: Ours::empty(isa), sources }));
    }
    fn boxed<T: 'static>(mut other: Other<T>, sources: &[Keys]) -> Box<dyn Peer> {
        other.sources = sources
            .iter()
            .map(|keys| {
                let mut sketch = (other.empty)();
                (other.add)(&mut sketch, 0, keys);
                sketch
            })
            .collect();
        Box::new(other)
    }
    for (name, empty) in
        [("HLL_6", (|| data_sketch(HllType::Hll6)) as fn() -> DataSketch), ("HLL_8", || data_sketch(HllType::Hll8))]
    {
        let other = Other {
            names: ("datasketches", name),
            adds: &["coupons, single", "keys, single"],
            empty,
            add: add_to_data_sketch,
            merge: |target, source| target.union.update(&source.sketch),
            estimate: |peer| peer.sketch.estimate(),
            saturated: empty(),
            target: empty(),
            sources: Vec::new(),
        };
        peers.push(boxed(other, &sources));
    }
    let simple: Other<simple_hll::HyperLogLog<14>> = Other {
        names: ("simple_hll", "8 bits"),
        adds: &["hashes, single"],
        empty: simple_hll::HyperLogLog::new,
        add: |sketch, _, keys| keys.hashes.iter().for_each(|&hash| sketch.add_hash(hash)),
        merge: |target, source| target.merge(source),
        estimate: |sketch| sketch.count() as f64,
        saturated: simple_hll::HyperLogLog::new(),
        target: simple_hll::HyperLogLog::new(),
        sources: Vec::new(),
    };
    peers.push(boxed(simple, &sources));
    let plus = || Plus::new(P as u8, RandomState::new()).expect("a legal size");
    // Every sketch of this crate has a hasher of its own, so that only copies of one can be merged.
    let other: Other<Plus> = Other {
        names: ("hyperloglogplus", "default"),
        adds: &["keys, single"],
        empty: plus,
        add: |sketch, _, keys| keys.numbers.iter().for_each(|number| sketch.insert_any(number)),
        merge: |target, source| drop(target.merge(source)),
        estimate: |sketch| sketch.clone().count(),
        saturated: plus(),
        target: plus(),
        sources: Vec::new(),
    };
    peers.push(boxed(other, &sources));
    let estimator: Other<Estimator> = Other {
        names: ("cardinality-estimator", "default"),
        adds: &["hashes, single"],
        empty: Estimator::new,
        add: |sketch, _, keys| keys.hashes.iter().for_each(|&hash| sketch.insert_hash(hash)),
        merge: |target, source| target.merge(source),
        estimate: |sketch| sketch.estimate() as f64,
        saturated: Estimator::new(),
        target: Estimator::new(),
        sources: Vec::new(),
    };
    peers.push(boxed(estimator, &sources));
    peers
}

/// Bytes in and out of the L1 cache for a merge, and nothing else: two reads and a write of 12 KiB.
fn copy_bound() -> f64 {
    // Whole cache lines, as sketches have them.
    let [mut a, mut b, mut c] = [(); 3].map(|()| SharedLines::zeroed(SIZE.bytes as usize / BLOCK_BYTES));
    a.lines_mut().as_flattened_mut().fill(1);
    b.lines_mut().as_flattened_mut().fill(2);
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn wide(a: &[u8], b: &[u8], c: &mut [u8]) {
        narrow(a, b, c);
    }
    #[inline(always)]
    fn narrow(a: &[u8], b: &[u8], c: &mut [u8]) {
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            *c = a | b;
        }
    }
    let mut merge = || {
        let (a, b) = (black_box(a.lines()).as_flattened(), black_box(b.lines()).as_flattened());
        let c = c.lines_mut().as_flattened_mut();
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has AVX-512F.
            unsafe { wide(a, b, c) };
        } else {
            narrow(a, b, c);
        }
        #[cfg(not(target_arch = "x86_64"))]
        narrow(a, b, c);
        black_box(c);
    };
    merge();
    timed(MERGED, || (0..MERGED).for_each(|_| merge()))
}

/// Measures everything in so many rounds.
pub fn run(rounds: usize, mut say: impl FnMut(&str)) -> Vec<Row> {
    say("hll: filling");
    let mut peers = peers();
    let mut next = 0;
    while next < SATURATED {
        let keys = Keys::new(next, RUN);
        peers.iter_mut().for_each(|peer| peer.add(0, &keys));
        next += RUN as u64;
    }
    say("hll: errors");
    let rmse = errors(&peers);
    say("hll: rounds");
    let warm = Keys::new(0, RUN);
    medians(rounds, |_, record| {
        for (peer, &rmse) in peers.iter_mut().zip(&rmse) {
            let (contender, level) = peer.names();
            let mut record =
                |op, mode, ns| record(Name { contender, level: level.into(), op, mode, size: SIZE }, Some(rmse), ns);
            for (way, mode) in peer.adds().iter().enumerate() {
                let keys = Keys::new(next, RUN);
                next += RUN as u64;
                peer.add(way, &warm);
                record("add", mode, timed(RUN, || peer.add(way, &keys)));
            }
            for (way, op) in peer.merges().iter().enumerate() {
                // The peers before have had the caches.
                peer.merge(way);
                record(op, "", timed(MERGED, || peer.merge(way)));
            }
            let estimate = || {
                for _ in 0..100 {
                    black_box(black_box(&peer).estimate());
                }
            };
            record("estimate", "", timed(100, estimate));
        }
        let bound = Name { contender: BOUND, level: String::new(), op: "merge", mode: "", size: SIZE };
        record(bound, None, copy_bound());
    })
}

const BOUND: &str = "L1 reads and writes";

/// Relative RMSE of each peer at `MERGED_KEYS` keys.
fn errors(peers: &[Box<dyn Peer>]) -> Vec<f64> {
    let mut squares = vec![0.0; peers.len()];
    for trial in 0..TRIALS {
        let keys = Keys::new((1 << 60) + (trial << 32), MERGED_KEYS as usize);
        for (peer, squares) in peers.iter().zip(&mut squares) {
            *squares += (peer.trial(&keys) / MERGED_KEYS as f64 - 1.0).powi(2);
        }
    }
    squares.into_iter().map(|squares: f64| (squares / TRIALS as f64).sqrt()).collect()
}

/// A table per operation, and what the project promises.
pub fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    for op in ["add", "merge", "merge all", "merge 8", "estimate"] {
        let per = if op == "add" {
            "key"
        } else if op == "estimate" {
            "call"
        } else {
            "sketch"
        };
        let _ =
            writeln!(text, "\nHyperLogLog, p = {P}: {op}, ns per {per}; RMSE of {TRIALS} trials at {MERGED_KEYS} keys");
        text += &rounds::table(rows.iter().filter(|row| row.name.op == op), |rmse| format!("{:.3} %", 100.0 * rmse));
    }
    text + &promises::list("HyperLogLog", promises(rows))
}

fn promises(rows: &[Row]) -> Vec<Promise> {
    let find = |contender: &str, level: &str, op: &str, mode: &str| {
        let is_it = |Row { name, .. }: &&Row| {
            let (any_level, any_mode) = (level.is_empty(), mode.is_empty());
            let (by_level, by_mode) = (any_level || name.level == level, any_mode || name.mode == mode);
            (name.contender, name.op) == (contender, op) && by_level && by_mode
        };
        rows.iter().find(is_it).map(|row| row.ns)
    };
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
    let best = Isa::detect().name();
    let ours = |op, mode| find("sketchline", best, op, mode);
    let data = |op, mode| find("datasketches", "HLL_6", op, mode);
    let list = [
        (
            "single add of a hash, times as fast as datasketches with coupons",
            2.0,
            ratio(data("add", "coupons, single"), find("sketchline", "portable", "add", "hashes, single")),
        ),
        (
            "single add of a key, times as fast as datasketches",
            2.0,
            ratio(data("add", "keys, single"), find("sketchline", "portable", "add", "keys, single")),
        ),
        (
            "batch add of hashes, times as fast as simple_hll",
            1.2,
            ratio(find("simple_hll", "", "add", ""), ours("add", "hashes, batch")),
        ),
        (
            "merge with AVX2, times as fast as datasketches",
            15.0,
            ratio(data("merge", ""), find("sketchline", "avx2", "merge", "")),
        ),
        ("merge, share of the L1 bound", 0.24, ratio(find(BOUND, "", "merge", ""), ours("merge", ""))),
        ("eight at a time, times as fast as one by one", 1.8, ratio(ours("merge all", ""), ours("merge 8", ""))),
        ("estimate, share of 20 ns that is left", 1.0, ours("estimate", "").map(|ns| 20.0 / ns)),
    ];
    list.map(|(what, least, figure)| (what.into(), Target::AtLeast(least), figure)).into()
}
