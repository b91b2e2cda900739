//! The tables of Count-Min, and what the project promises of it.

use super::others::{self, DATASKETCHES};
use super::{DEPTH, Op, Ours, SIZES, Shape, Sketch, draw, estimates, fill, keys_in, run_once};
use crate::contender::Mode;
use crate::machine::{Size, bytes, huge_share};
use crate::measure::rotated;
use crate::promises::{self, Promise, Target};
use crate::queries::{Keys, Queries, mix};
use crate::rounds::{self, Name, Row, medians, timed};
use crate::{RUN_KEYS, SEED};
use sketchline::{BLOCK_BYTES, Isa};
use std::fmt::Write;

fn all(size: Size) -> Vec<Box<dyn Sketch>> {
    let ours = Shape::ALL.into_iter().map(|shape| Box::new(Ours::new(shape, size)) as Box<dyn Sketch>);
    ours.chain(others::all(size)).collect()
}

/// Measures everything at the sizes of these names, in so many rounds.
pub fn run(sizes: &[Size], rounds: usize, mut say: impl FnMut(&str)) -> Vec<Row> {
    say("cms: errors");
    let errors = errors(&mut all(SIZES[0]));
    let wanted = SIZES.into_iter().filter(|size| sizes.iter().any(|wanted| wanted.name == size.name));
    wanted.flat_map(|size| run_size(size, rounds, &errors, &mut say)).collect()
}

fn run_size(size: Size, rounds: usize, errors: &[f64], say: &mut impl FnMut(&str)) -> Vec<Row> {
    say(&format!("cms, {} ({}): filling", size.name, bytes(size.bytes)));
    let mut sketches = all(size);
    let mut queries = Queries::new(keys_in(size));
    sketches.iter_mut().for_each(|sketch| fill(sketch.as_mut(), size));
    let (mut keys, mut out) = (Keys::default(), estimates());
    let mut warm = vec![Keys::default(); warm_runs(size)];
    warm.iter_mut().for_each(|keys| draw(&mut queries, Op::Estimate, keys));
    sketches.iter_mut().for_each(|sketch| verify(sketch.as_mut(), &warm[0]));
    // Whole sketches from memory time the memory.
    let in_cache = size.bytes <= SIZES[1].bytes;
    if in_cache {
        sketches.iter_mut().for_each(|sketch| sketch.keep());
    }
    say(&format!("cms, {}: {:.0} % of memory in huge pages", size.name, 100.0 * huge_share()));
    let mut rows = Vec::new();
    for op in Op::ALL.into_iter().filter(|op| op.has_keys() || in_cache) {
        say(&format!("cms, {}: {}", size.name, op.name()));
        rows.extend(medians(rounds, |round, record| {
            for s in rotated(sketches.len(), round) {
                let sketch = sketches[s].as_mut();
                // The sketches before have had the caches.
                warm.iter().for_each(|keys| sketch.estimate(0, keys, &mut out));
                for c in rotated(sketch.calls().len(), round) {
                    let call = sketch.calls()[c].clone();
                    let is_only = sketch.calls().len() == 1;
                    let (mode, parts) = match call.mode {
                        mode if op.has_keys() => (mode.name(), RUN_KEYS),
                        // Only the level makes a difference.
                        Mode::Batch => ("", lines(size)),
                        _ if is_only => ("", lines(size)),
                        _ => continue,
                    };
                    draw(&mut queries, op, &mut keys);
                    if !run_once(sketch, c, op, &keys, &mut out) {
                        continue;
                    }
                    draw(&mut queries, op, &mut keys);
                    let ns = timed(parts, || _ = run_once(sketch, c, op, &keys, &mut out));
                    let name = Name { contender: call.contender, level: call.level, op: op.name(), mode, size };
                    record(name, Some(errors[s]), ns);
                }
            }
        }));
    }
    rows
}

fn lines(size: Size) -> usize {
    size.bytes as usize / BLOCK_BYTES
}

/// Runs of estimates after which what a cache can hold of a sketch is there: three for each line. Of what no cache
/// can hold, page tables.
fn warm_runs(size: Size) -> usize {
    if size.bytes > SIZES[1].bytes { 1 } else { (3 * lines(size)).div_ceil(RUN_KEYS * DEPTH as usize) }
}

/// All calls of a sketch must give one answer, and none may be too low.
fn verify(sketch: &mut dyn Sketch, keys: &Keys) {
    let (mut first, mut out) = (estimates(), estimates());
    sketch.estimate(0, keys, &mut first);
    for call in 0..sketch.calls().len() {
        sketch.estimate(call, keys, &mut out);
        assert!(out == first, "{:?}", sketch.calls()[call]);
    }
    assert!(first.iter().all(|&estimate| estimate > 0), "{:?}: a key was lost", sketch.calls()[0]);
}

/// Keys of the stream that errors are measured on, and its length: 256 counts for each counter of a row.
const ZIPF_KEYS: usize = 1_000_000;
const ZIPF_COUNTS: usize = 1 << 22;

/// By how much each sketch estimates the keys of a Zipf stream of exponent 1 too high, on average over the keys that
/// came.
fn errors(sketches: &mut [Box<dyn Sketch>]) -> Vec<f64> {
    let mut truth = vec![0u64; ZIPF_KEYS];
    let ranks = zipf(ZIPF_KEYS, ZIPF_COUNTS);
    for ranks in ranks.chunks(RUN_KEYS) {
        let keys = Keys::numbered(ranks.iter().map(|&rank| rank.into()));
        ranks.iter().for_each(|&rank| truth[rank as usize] += 1);
        sketches.iter_mut().for_each(|sketch| sketch.add(0, &keys));
    }
    let (mut sums, mut came) = (vec![0u64; sketches.len()], 0);
    let mut out = estimates();
    for (first, truth) in (0..).step_by(RUN_KEYS).zip(truth.chunks(RUN_KEYS)) {
        let keys = Keys::numbered(first..first + truth.len() as u64);
        came += truth.iter().filter(|&&count| count > 0).count();
        for (sketch, sum) in sketches.iter_mut().zip(&mut sums) {
            sketch.estimate(0, &keys, &mut out);
            for (&estimate, &count) in out.iter().zip(truth).filter(|(_, count)| **count > 0) {
                *sum += estimate.checked_sub(count).expect("no estimate is too low");
            }
        }
    }
    sums.into_iter().map(|sum| sum as f64 / came as f64).collect()
}

/// Ranks from 0, drawn with a probability proportional to `1 / (rank + 1)`.
fn zipf(ranks: usize, draws: usize) -> Vec<u32> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=ranks).map(|rank| (sum += 1.0 / rank as f64, sum).1).collect();
    let draw = |i| {
        let unit = mix(SEED + i) as f64 / 2f64.powi(64);
        sums.partition_point(|&before| before < unit * sum).min(ranks - 1) as u32
    };
    (0..draws as u64).map(draw).collect()
}

/// A table per size and operation, and what the project promises.
pub fn tables(rows: &[Row]) -> String {
    let mut text = format!(
        "\nCount-Min, {DEPTH} rows of 32-bit counters; error: mean of {ZIPF_COUNTS} Zipf counts of {ZIPF_KEYS} keys in {}\n",
        bytes(SIZES[0].bytes)
    );
    for rows in rows.chunk_by(|a, b| (a.name.size, a.name.op) == (b.name.size, b.name.op)) {
        let Name { op, size, .. } = &rows[0].name;
        let has_keys = Op::ALL.into_iter().any(|known| known.name() == *op && known.has_keys());
        let per = if has_keys { "key" } else { "line" };
        let width = size.bytes / 4 / u64::from(DEPTH);
        let _ = writeln!(text, "\nCount-Min, {} ({}, w = {width}): {op}, ns per {per}", size.name, bytes(size.bytes));
        text += &rounds::table(rows.iter(), |error| format!("{error:.1}"));
    }
    text + &promises::list("Count-Min", promises(rows))
}

fn promises(rows: &[Row]) -> Vec<Promise> {
    let detected = Isa::detect().name();
    let row = |contender: &str, size: Size, op: Op, mode: Mode| {
        let is_it = |Row { name, .. }: &&Row| {
            let like = (name.contender, name.size, name.op, name.mode) == (contender, size, op.name(), mode.name());
            like && (contender == DATASKETCHES || name.level == detected)
        };
        rows.iter().find(is_it)
    };
    let ns = |contender, size, op, mode| row(contender, size, op, mode).map(|row| row.ns);
    let ours = |shape: Shape, size, op, mode| ns(shape.contender(), size, op, mode);
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
    let [l2, l3, memory] = SIZES;
    let mut list = Vec::new();
    let mut add = |what: String, target, figure| list.push((what, target, figure));

    let data = |size| ns(DATASKETCHES, size, Op::Add, Mode::U64Single);
    let figure = ratio(data(l2), ours(Shape::Rows, l2, Op::Add, Mode::U64Single));
    add("l2: single add of a key, times as fast as datasketches".into(), Target::AtLeast(3.5), figure);
    let figure = ratio(data(l3), ours(Shape::Rows, l3, Op::Add, Mode::U64Batch));
    add("l3: batch add of keys, times as fast as datasketches".into(), Target::AtLeast(4.5), figure);
    let forms = [(Mode::Single, Mode::Batch), (Mode::U64Single, Mode::U64Batch)];
    for size in SIZES {
        for op in [Op::Add, Op::Estimate] {
            let all = Shape::ALL.into_iter().flat_map(|shape| forms.map(|form| (shape, form)));
            let gain = |(shape, (single, batch))| ratio(ours(shape, size, op, single), ours(shape, size, op, batch));
            let what = format!("{}: {}, batch times as fast as single, the worst", size.name, op.name());
            add(what, Target::AtLeast(1.0), all.filter_map(gain).min_by(f64::total_cmp));
        }
    }
    for op in [Op::Add, Op::Estimate] {
        let of = |shape| ours(shape, memory, op, Mode::Batch);
        let what = format!("memory: {}, batch in two lines, times as fast as in rows", op.name());
        add(what, Target::AtLeast(1.8), ratio(of(Shape::Rows), of(Shape::TwoLine)));
    }
    for size in SIZES {
        let of = |shape| ours(shape, size, Op::Add, Mode::Single);
        let what = format!("{}: conservative single add, times the plain one", size.name);
        add(what, Target::AtMost(2.5), ratio(of(Shape::Conservative), of(Shape::Rows)));
    }
    let error = |shape: Shape| {
        let rows = SIZES.into_iter().find_map(|size| row(shape.contender(), size, Op::Add, Mode::Single));
        rows.and_then(|row| row.error)
    };
    let figure = ratio(error(Shape::Conservative), error(Shape::Rows));
    add("mean error, conservative over plain".into(), Target::AtMost(0.6), figure);
    list
}
