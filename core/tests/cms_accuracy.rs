//! Counts against theory, with fixed seeds: the bound, upper bounds in every mode, what the conservative mode gains,
//! and the recall of a top-k.

mod common;

use common::Random;
use sketchline::{
    CmsLayout, CmsParams, CountMinSketch, CounterSize, Hashes, HeavyHitters, KeyHash, TopKParams, U64Keys,
};

/// Draws ranks from 0, the most frequent, with probability proportional to `1 / (rank + 1)^exponent`: the alias
/// method (Walker 1977; Vose 1991), two numbers per rank. Exponent 0 is uniform.
struct Zipf {
    /// Of 2^32: the share of its place that a rank keeps; the rank to which the rest goes.
    places: Vec<(u32, u32)>,
}

impl Zipf {
    fn new(ranks: usize, exponent: f64) -> Self {
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let mean = weights.iter().sum::<f64>() / ranks as f64;
        let mut weights: Vec<f64> = weights.into_iter().map(|weight| weight / mean).collect();
        let mut places = vec![(u32::MAX, 0); ranks];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..ranks).partition(|&rank| weights[rank] < 1.0);
        while let (Some(&little), Some(&much)) = (small.last(), large.last()) {
            small.pop();
            places[little] = ((weights[little] * 2f64.powi(32)) as u32, much as u32);
            weights[much] -= 1.0 - weights[little];
            if weights[much] < 1.0 {
                small.push(much);
                large.pop();
            }
        }
        // What rounding leaves has a whole place.
        for rank in small.into_iter().chain(large) {
            places[rank] = (u32::MAX, rank as u32);
        }
        Self { places }
    }

    fn draw(&self, random: &mut Random) -> usize {
        let x = random.next();
        let rank = (((x >> 32) * self.places.len() as u64) >> 32) as usize;
        let (share, other) = self.places[rank];
        if (x as u32) < share { rank } else { other as usize }
    }
}

/// A stream and how often each of its keys came. Key `i` is the integer `i`.
struct Stream {
    keys: Vec<u64>,
    truth: Vec<u64>,
}

impl Stream {
    fn new(zipf: &Zipf, len: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let keys: Vec<u64> = (0..len).map(|_| zipf.draw(&mut random) as u64).collect();
        let mut truth = vec![0; zipf.places.len()];
        keys.iter().for_each(|&key| truth[key as usize] += 1);
        Self { keys, truth }
    }

    fn sketch(&self, params: CmsParams) -> CountMinSketch {
        let mut sketch = CountMinSketch::new(params).unwrap();
        sketch.add_batch(&U64Keys(&self.keys), 1).unwrap();
        sketch
    }
}

/// By how much each key that came is estimated too high; too low is a failure.
#[track_caller]
fn errors(sketch: &CountMinSketch, truth: &[u64]) -> Vec<u64> {
    let keys: Vec<u64> = (0..truth.len() as u64).collect();
    let mut estimates = vec![0; keys.len()];
    sketch.estimate_batch(&U64Keys(&keys), &mut estimates).unwrap();
    let both = || estimates.iter().zip(truth);
    let low = both().filter(|(estimate, truth)| estimate < truth).count();
    assert_eq!(low, 0, "{:?}: too low", sketch.params());
    both().filter(|(_, truth)| **truth > 0).map(|(estimate, truth)| estimate - truth).collect()
}

/// Cormode, Muthukrishnan 2005: an estimate is more than `epsilon N` too high with a probability of at most `delta`;
/// two lines have two independent choices, `e^-2`. The share of the keys that are is below that, by far: Markov's
/// inequality, which the bound rests on, is generous.
#[test]
fn errors_are_within_the_bound() {
    let rows = [(0.0005, 0.4), (0.0005, 0.14), (0.0005, 0.05), (0.0001, 0.02), (0.002, 0.001)];
    let shapes = rows.map(|pair| (CmsLayout::Rows, pair)).into_iter();
    let shapes = shapes.chain([0.002, 0.0005, 0.0001].map(|epsilon| (CmsLayout::TwoLine, (epsilon, 0.14))));
    let shapes: Vec<_> = shapes.collect();
    for exponent in [0.0, 1.0, 1.2] {
        let zipf = Zipf::new(100_000, exponent);
        for seed in 1..=2 {
            let stream = Stream::new(&zipf, 1_000_000, seed);
            for &(layout, (epsilon, delta)) in &shapes {
                let params = CmsParams::for_error(layout, CounterSize::U32, epsilon, delta).unwrap();
                assert!(params.epsilon() <= epsilon && params.delta() <= delta);
                let hashing = sketchline::HashScheme::Xxh3 { seed };
                let sketch = stream.sketch(params.with_hashing(hashing));
                assert_eq!(sketch.total(), 1_000_000);
                let errors = errors(&sketch, &stream.truth);
                let bound = sketch.error_bound();
                let beyond = errors.iter().filter(|&&error| error as f64 > bound).count() as f64 / errors.len() as f64;
                println!(
                    "{layout:?} epsilon {epsilon} delta {:.4}, Zipf {exponent}: {beyond:.5} beyond",
                    params.delta()
                );
                assert!(
                    beyond <= params.delta(),
                    "{layout:?} ({epsilon}, {delta}), Zipf {exponent}: {beyond} of the keys are beyond the bound"
                );
            }
        }
    }
}

/// Upper bounds in every mode, after merging and when counted one by one; merged halves of a plain sketch are the
/// whole.
#[test]
fn never_too_low() {
    let zipf = Zipf::new(200_000, 1.0);
    let stream = Stream::new(&zipf, 1_000_000, 3);
    let halves = stream.keys.split_at(400_000);
    let shapes = [(CmsLayout::Rows, 1), (CmsLayout::Rows, 4), (CmsLayout::Rows, 7), (CmsLayout::TwoLine, 4)];
    for (layout, depth) in shapes {
        for counter in [CounterSize::U32, CounterSize::U64] {
            for width in [256, 4096] {
                let plain = CmsParams::of_width(layout, counter, width, depth).unwrap();
                for params in [plain, plain.conservative()] {
                    let whole = stream.sketch(params);
                    errors(&whole, &stream.truth);
                    let [mut merged, second] = [halves.0, halves.1].map(|half| {
                        let mut sketch = CountMinSketch::new(params).unwrap();
                        sketch.add_batch(&U64Keys(half), 1).unwrap();
                        sketch
                    });
                    merged.merge(&second).unwrap();
                    errors(&merged, &stream.truth);
                    assert_eq!(merged.total(), whole.total());
                    if !params.is_conservative() {
                        assert!(merged.as_bytes() == whole.as_bytes());
                    }
                }
            }
        }
    }
}

fn mean(errors: &[u64]) -> f64 {
    errors.iter().sum::<u64>() as f64 / errors.len() as f64
}

/// Estan, Varghese 2002: only raising what must be raised leaves at four rows little more than half the error, over
/// the keys of a Zipf stream. And four counters in two lines err as four rows do, on average.
#[test]
fn conservative_errs_less() {
    let zipf = Zipf::new(200_000, 1.0);
    for seed in 4..=6 {
        let stream = Stream::new(&zipf, 1_000_000, seed);
        for width in [4096, 16_384] {
            let of = |layout| CmsParams::of_width(layout, CounterSize::U32, width, 4).unwrap();
            let error = |params| mean(&errors(&stream.sketch(params), &stream.truth));
            let [rows, two_line] = [CmsLayout::Rows, CmsLayout::TwoLine].map(of);
            let (plain, conservative) = (error(rows), error(rows.conservative()));
            let (lines, conservative_lines) = (error(two_line), error(two_line.conservative()));
            println!(
                "width {width}: rows {plain:.2}, conservative {:.3} of it, two-line {:.3}, conservative {:.3}",
                conservative / plain,
                lines / plain,
                conservative_lines / plain
            );
            assert!(conservative <= 0.6 * plain, "width {width}: {conservative} of {plain}");
            assert!(conservative_lines <= 0.6 * lines, "width {width}: {conservative_lines} of {lines}");
            assert!((0.8..1.2).contains(&(lines / plain)), "width {width}: {lines} against {plain}");
        }
    }
}

/// Of the hundred most frequent among a million keys, at least 98 are found, in 64 KiB for sketch and top-k together:
/// four rows, conservative, and the hundred entries with their keys.
#[test]
fn recall_of_the_top_hundred() {
    const BYTES: u64 = 64 * 1024;
    const K: usize = 100;
    let top_params = TopKParams::new(K as u32, 8).unwrap();
    let room = BYTES - top_params.image_bytes() - 64;
    let params = CmsParams::for_bytes(CmsLayout::Rows, CounterSize::U32, room, 4).unwrap().conservative();
    assert!(params.image_bytes() + top_params.image_bytes() <= BYTES);
    let zipf = Zipf::new(1_000_000, 1.0);
    for seed in 7..=9 {
        let (mut random, mut truth) = (Random(seed), vec![0u32; 1_000_000]);
        let mut sketch = CountMinSketch::new(params).unwrap();
        let mut top = HeavyHitters::new(top_params).unwrap();
        for _ in 0..10_000_000 {
            let key = zipf.draw(&mut random);
            truth[key] += 1;
            top.add(&mut sketch, &(key as u64).to_le_bytes(), 1).unwrap();
        }
        let mut ranks: Vec<usize> = (0..truth.len()).collect();
        ranks.select_nth_unstable_by_key(K - 1, |&key| std::cmp::Reverse(truth[key]));
        // A key that came as often as the last of them is one of them.
        let least = truth[ranks[K - 1]];
        let keys = top.entries().map(|entry| u64::from_le_bytes(entry.key.try_into().unwrap()) as usize);
        let found = keys.filter(|&key| truth[key] >= least).count();
        println!("{found} of {K} found, in {} bytes", params.image_bytes() + top_params.image_bytes());
        assert!(100 * found >= 98 * K, "{found} of {K} found");
    }
}

/// Rows are independent enough: the counters of a key that never came are filled in all rows together as often as
/// chance has it.
#[test]
fn rows_are_independent() {
    let width = 1000;
    for depth in [2, 3, 16] {
        let params = CmsParams::rows(width, depth).unwrap();
        let mut random = Random(10);
        let mut sketch = CountMinSketch::new(params).unwrap();
        let present = random.hashes(1000);
        sketch.add_batch(&Hashes(&present), 1).unwrap();
        let filled = 1.0 - sketch.census().zeros as f64 / (width * u64::from(depth)) as f64;
        let trials = 200_000;
        let absent = (0..trials).filter(|_| sketch.estimate_hash(KeyHash::from_raw(random.next())) > 0).count();
        let (expected, trials) = (filled.powi(depth as i32), f64::from(trials));
        let deviation = (expected * (1.0 - expected) / trials).sqrt();
        println!("depth {depth}: {} found, {expected} expected", absent as f64 / trials);
        // Four standard deviations of the sample, and as much again for the table, which is a sample, too.
        let most = 4.0 * deviation + 0.1 * expected;
        assert!((absent as f64 / trials - expected).abs() <= most, "depth {depth}: {absent}, {expected}");
    }
}
