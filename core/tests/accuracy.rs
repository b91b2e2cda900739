//! False positives, positions and estimates against theory, with fixed seeds. `N` probes of rate `p` have the
//! standard deviation `sqrt(p (1 - p) / N)`; a filter adds that of its own key set, measured from its blocks.
//!
//! `cargo test --release -- --ignored` runs what takes long: the table of DESIGN.md, section 3, and sizes
//! beyond 2^32 bits.

use sketchline::{BloomFilter, BloomParams, Error, HashScheme, KeyHash, OpenOptions, U64Keys, block_index, block_mask};
use std::ops::Range;

const MILLION: u64 = 1_000_000;
/// Numbers from here on are never inserted.
const ABSENT: u64 = 1 << 40;

fn filled(params: BloomParams, keys: Range<u64>) -> BloomFilter {
    let mut filter = BloomFilter::new(params).unwrap();
    in_chunks(keys, |keys| filter.insert_batch(&U64Keys(keys)).unwrap());
    filter
}

fn count(filter: &BloomFilter, keys: Range<u64>) -> u64 {
    let mut hits = 0;
    in_chunks(keys, |keys| hits += filter.count_batch(&U64Keys(keys)).unwrap() as u64);
    hits
}

fn in_chunks(keys: Range<u64>, mut each: impl FnMut(&[u64])) {
    let mut buffer = Vec::with_capacity(4096);
    for start in keys.clone().step_by(4096) {
        buffer.clear();
        buffer.extend(start..keys.end.min(start + 4096));
        each(&buffer);
    }
}

/// Share of so many absent keys that the filter takes for present.
fn fpr(filter: &BloomFilter, probes: u64) -> f64 {
    count(filter, ABSENT..ABSENT + probes) as f64 / probes as f64
}

/// Variance of the FPR of a filter over the choice of its keys: the blocks are a sample.
fn variance_of_keys(filter: &BloomFilter) -> f64 {
    let ones = |block: &[u8; 64]| block.iter().map(|byte| byte.count_ones()).sum::<u32>();
    let probes = filter.params().num_probes() as i32;
    let rates: Vec<f64> = filter.blocks().iter().map(|block| (f64::from(ones(block)) / 512.0).powi(probes)).collect();
    let (_, variance) = mean_and_variance(&rates);
    variance / rates.len() as f64
}

fn mean_and_variance(sample: &[f64]) -> (f64, f64) {
    let mean = sample.iter().sum::<f64>() / sample.len() as f64;
    let squares = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, squares / (sample.len() - 1).max(1) as f64)
}

/// A sum of squared standard deviations with so many degrees of freedom that is too great to be chance: the
/// normal approximation at p = 0.001.
#[track_caller]
fn assert_even(counts: &[u64], expected: f64, freedom: f64, what: &str) {
    let chi2: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    let z = (chi2 - freedom) / (2.0 * freedom).sqrt();
    assert!(z < 3.1, "{what}: chi2 {chi2:.0} at {freedom} degrees of freedom, z = {z:.1}");
}

// What is asked is what comes.

#[test]
fn the_rate_asked_for_is_reached() {
    for (asked, most_bits, slack, probes) in
        [(0.05, 6.4, 1.05, 1), (0.01, 10.0, 1.05, 4), (0.001, 15.7, 1.05, 10), (0.0001, 22.2, 1.15, 20)]
    {
        let params = BloomParams::for_fpr(MILLION, asked).unwrap();
        let measured = fpr(&filled(params, 0..MILLION), probes * MILLION);
        println!("asked {asked}: {measured:.6} at {:.2} bits per key", params.bits_per_key());
        assert!(params.bits_per_key() <= most_bits);
        assert!((0.9 * asked..slack * asked).contains(&measured), "asked {asked}, got {measured}");
    }
}

/// The prediction, for every number of probes, at the bits per key that suit it and at those that do not: within
/// four standard deviations and what the model neglects (lanes are not quite independent).
#[test]
fn the_predicted_rate_is_the_measured_one() {
    const SUITABLE: [u64; 16] = [2, 3, 4, 6, 8, 10, 12, 14, 15, 17, 20, 23, 25, 27, 29, 31];
    for (probes, suitable) in (1..).zip(SUITABLE) {
        for (bits_per_key, neglected, asked) in [(suitable, 0.01, 4), (7, 0.015, 2), (12, 0.025, 2)] {
            let keys = MILLION;
            let params = BloomParams::explicit(keys * bits_per_key / 512, probes).unwrap().with_capacity(keys);
            let filter = filled(params, 0..keys);
            let (predicted, measured) = (params.predicted_fpr(), fpr(&filter, asked * MILLION));
            let of_probes = predicted * (1.0 - predicted) / (asked * MILLION) as f64;
            let sigma = (of_probes + variance_of_keys(&filter)).sqrt();
            let off = measured - predicted;
            println!("{probes} probes, {bits_per_key} bits per key: {measured:.3e}, {:+.1} sigma", off / sigma);
            assert!(off.abs() <= 4.0 * sigma + neglected * predicted, "{probes} probes: {predicted} became {measured}");
        }
    }
}

/// Few blocks: the load varies less than the prediction allows for, so that it errs on the safe side.
#[test]
fn small_filters_are_no_worse_than_predicted() {
    for blocks in [1, 2, 7, 30] {
        for probes in [3, 6, 8, 12] {
            let keys = blocks * 40;
            let params = BloomParams::explicit(blocks, probes).unwrap().with_capacity(keys);
            let rates: Vec<f64> = (0..300).map(|i| fpr(&filled(params, i * 10_000..i * 10_000 + keys), 5000)).collect();
            let (mean, variance) = mean_and_variance(&rates);
            let sigma = (variance / rates.len() as f64).sqrt();
            let predicted = params.predicted_fpr();
            println!("{blocks} blocks, {probes} probes: {mean:.5} of {predicted:.5}, sigma {sigma:.5}");
            assert!(mean <= predicted + 4.0 * sigma, "{blocks} blocks, {probes} probes: {predicted} became {mean}");
        }
    }
}

/// One block has exactly its keys: `(1 - q^20)^k`, and a key has all the bits it should.
#[test]
fn one_block() {
    for probes in 1..=16 {
        let params = BloomParams::explicit(1, probes).unwrap();
        let rates: Vec<f64> = (0..500).map(|i| fpr(&filled(params, i * 100..i * 100 + 20), 2000)).collect();
        let (mean, variance) = mean_and_variance(&rates);
        let sigma = (variance / rates.len() as f64).sqrt();
        let zero = match f64::from(probes) {
            k if k <= 8.0 => 1.0 - k / 512.0,
            k => 63.0 / 64.0 * (1.0 - (k - 8.0) / 512.0),
        };
        let theory = (1.0 - zero.powi(20)).powi(probes as i32);
        println!("{probes} probes: {mean:.6} of {theory:.6}, sigma {sigma:.6}");
        assert!(mean <= 1.5 * theory + 4.0 * sigma, "{probes} probes: {theory} became {mean}");

        let bits = |key| block_mask(hash(key), probes).iter().map(|lane| lane.count_ones()).sum::<u32>();
        let all: u32 = (0..10_000).map(bits).sum();
        assert!(f64::from(all) / 10_000.0 >= f64::from(probes) - 8.0 / 64.0 - 0.02);
        assert!(all <= 10_000 * probes);
    }
}

#[test]
fn no_floor_from_few_hash_bits() {
    // 32 bits per key: theory 5.3e-6 to 1.7e-5.
    let params = BloomParams::for_bits_per_key(MILLION, 32.0).unwrap();
    let measured = fpr(&filled(params, 0..MILLION), 20 * MILLION);
    println!("32 bits per key: {measured:.2e}, predicted {:.2e}", params.predicted_fpr());
    assert!(measured <= 3e-5);
    // The least that can be reached is 1.4e-8, and it is reached.
    assert_eq!(BloomParams::for_fpr(100_000, 1.3e-8), Err(Error::Unreachable));
    let params = BloomParams::for_fpr(100_000, 1.5e-8).unwrap();
    assert!(count(&filled(params, 0..100_000), ABSENT..ABSENT + 10 * MILLION) <= 2);
}

#[test]
fn as_good_with_many_keys_as_with_few() {
    many_against_few(2 * MILLION, 4 * MILLION);
}

fn many_against_few(many: u64, probes: u64) {
    let rate = |keys| fpr(&filled(BloomParams::for_bits_per_key(keys, 10.0).unwrap(), 0..keys), probes);
    let (many, few) = (rate(many), rate(100_000));
    println!("{few:.5} became {many:.5}");
    assert!(many <= 1.05 * few);
}

/// No size is an unlucky one.
#[test]
fn every_size_is_as_good() {
    unlucky_sizes((100_000..=101_000).step_by(100));
}

fn unlucky_sizes(sizes: impl Iterator<Item = u64>) {
    for keys in sizes {
        let filter = filled(BloomParams::for_fpr(keys, 0.01).unwrap(), 0..100_000);
        let measured = fpr(&filter, 100_000);
        assert!(measured <= 1.3 * 0.01, "sized for {keys}: {measured}");
    }
}

// Keys that have much in common.

#[test]
fn families_of_keys() {
    const KEYS: u64 = 10_000;
    type Family = (&'static str, fn(u64) -> Vec<u8>);
    let families: [Family; 9] = [
        ("prefix and tail of 0 to 40 bytes", |i| {
            let tail = format!("{i:040}");
            [b"tenant/0042/", &tail.as_bytes()[(i % 35) as usize..]].concat()
        }),
        ("decimal text", |i| i.to_string().into_bytes()),
        ("text with a number", |i| format!("user:{i}").into_bytes()),
        ("multiples of 2^32", |i| (i << 32).to_le_bytes().to_vec()),
        ("multiples of 2^20", |i| (i << 20).to_le_bytes().to_vec()),
        ("big-endian", |i| i.to_be_bytes().to_vec()),
        ("four bytes", |i| (i as u32).to_le_bytes().to_vec()),
        ("200 bytes, one of which differs", |i| [&[7; 200][..], &i.to_le_bytes()].concat()),
        ("whole floats", |i| sketchline::canonical_f64(i as f64).to_vec()),
    ];
    for (name, key) in families {
        let params = BloomParams::for_fpr(KEYS, 0.01).unwrap();
        let mut filter = BloomFilter::new(params).unwrap();
        (0..KEYS).for_each(|i| filter.insert(&key(i)).unwrap());
        assert!((0..KEYS).all(|i| filter.contains(&key(i)) == Ok(true)), "{name}");
        let hits = (KEYS..KEYS + 100_000).filter(|&i| filter.contains(&key(i)) == Ok(true)).count();
        // 1000 by chance, with a standard deviation of 32, and 4 % by the choice of keys.
        assert!((750..1250).contains(&hits), "{name}: {hits}");
    }
}

/// A multiplier alone is a weak hash; mixed, it does.
#[test]
fn weak_hashes_of_the_caller() {
    let params = BloomParams::for_fpr(100_000, 0.01).unwrap().with_hashing(HashScheme::Caller { tag: 1 });
    let mut filter = BloomFilter::new(params).unwrap();
    let hash = |i: u64| KeyHash::mixed(i << 20);
    (0..100_000).for_each(|i| filter.insert_hash(hash(i)));
    let hits = (100_000..600_000).filter(|&i| filter.contains_hash(hash(i))).count();
    assert!((4600..5300).contains(&hits), "{hits}");
}

/// One insert after the other: exactly one key is new, but for the false positives on the way.
#[test]
fn a_key_is_new_once() {
    let params = BloomParams::for_fpr(15_000, 0.01).unwrap();
    let mut filter = BloomFilter::new(params).unwrap();
    let (mut seen_before, mut expected) = (0.0, 0.0);
    for pass in 0..2 {
        for start in (0..15_000).step_by(50) {
            let keys: Vec<u64> = (start..start + 50).collect();
            let mut seen = [0];
            filter.insert_batch_seen(&U64Keys(&keys), &mut seen).unwrap();
            if pass == 0 {
                seen_before += f64::from(seen[0].count_ones());
                expected += 50.0 * params.predicted_fpr_at(start + 25);
            } else {
                assert_eq!(seen[0].count_ones(), 50);
            }
        }
    }
    assert!((seen_before - expected).abs() <= 4.0 * f64::sqrt(expected), "{seen_before} of {expected}");
    assert!(seen_before <= 0.02 * 15_000.0);
}

// Block and bits of a hash.

fn hash(i: u64) -> u64 {
    KeyHash::of_u64(i, 0).raw()
}

/// The bits that the first eight probes choose, one per lane, and those that the others do.
fn primary_and_secondary(hash: u64) -> [[u64; 8]; 2] {
    let (primary, both) = (block_mask(hash, 8), block_mask(hash, 16));
    [primary, std::array::from_fn(|lane| both[lane] & !primary[lane])]
}

#[test]
fn no_bit_index_collapses_at_2_to_the_32_bits() {
    let mut places: Vec<(usize, u32)> =
        (0..100_000).map(|i| (block_index(hash(i), 1 << 23), block_mask(hash(i), 8)[0].trailing_zeros())).collect();
    places.sort_unstable();
    places.dedup();
    // 2^29 places: 9 collisions by chance.
    assert!(places.len() > 99_900, "{}", places.len());
}

#[test]
fn positions_are_even_in_a_large_filter() {
    let mut quarters = [0; 4];
    let mut counts = [[0; 512]; 2];
    for hash in (0..MILLION).map(hash) {
        quarters[block_index(hash, 1 << 25) >> 23] += 1;
        for (counts, lanes) in counts.iter_mut().zip(primary_and_secondary(hash)) {
            for (lane, bits) in lanes.into_iter().enumerate().filter(|(_, bits)| *bits != 0) {
                counts[64 * lane + bits.trailing_zeros() as usize] += 1;
            }
        }
    }
    for quarter in quarters {
        assert!((quarter as f64 / MILLION as f64 - 0.25).abs() <= 0.002, "{quarter}");
    }
    // A secondary bit that falls on the primary one is not seen.
    for (counts, share) in counts.into_iter().zip([1.0, 63.0 / 64.0]) {
        let expected = MILLION as f64 / 64.0 * share;
        for count in counts {
            assert!((count as f64 - expected).abs() <= 5.0 * expected.sqrt(), "{count} of {expected}");
        }
        assert_even(&counts, expected, 504.0, "positions");
    }
}

/// Block and bits come from different bits of the hash: what is known of one says nothing of the other.
#[test]
fn bits_do_not_depend_on_the_block() {
    for lane in 0..8 {
        for which in 0..2 {
            // 32 blocks by 64 positions.
            let mut table = vec![0; 32 * 64];
            for hash in (0..200_000).map(hash) {
                let bits = primary_and_secondary(hash)[which][lane];
                if bits != 0 {
                    table[64 * block_index(hash, 32) + bits.trailing_zeros() as usize] += 1;
                }
            }
            let expected = table.iter().sum::<u64>() as f64 / 2048.0;
            assert_even(&table, expected, 2047.0, &format!("lane {lane}"));
            // In bits; 2047 / (2 ln 2 n) of it is chance.
            let n = table.iter().sum::<u64>() as f64;
            let information = table.iter().map(|&c| c as f64 / n * (c as f64 / expected).log2()).sum::<f64>();
            assert!(information < 0.01, "lane {lane}: {information} bits");
        }
    }
}

/// Among the keys of one block alone, too.
#[test]
fn positions_are_even_in_one_block() {
    let (mut counts, mut keys) = ([0; 512], 0);
    for hash in (0..2 * MILLION).map(hash).filter(|&hash| block_index(hash, 100) == 37) {
        keys += 1;
        for (lane, bits) in block_mask(hash, 8).into_iter().enumerate() {
            counts[64 * lane + bits.trailing_zeros() as usize] += 1;
        }
    }
    assert_even(&counts, f64::from(keys) / 64.0, 504.0, "positions");
}

/// For each number of probes: every lane equally often, and every bit of it.
#[test]
fn every_lane_is_used_equally() {
    const HASHES: u64 = 100_000;
    for probes in 1..=16 {
        let (mut lanes, mut bits) = ([0; 8], [0; 512]);
        for hash in (0..HASHES).map(hash) {
            for (lane, mask) in block_mask(hash, probes).into_iter().enumerate() {
                lanes[lane] += u64::from(mask.count_ones());
                (0..64).filter(|bit| mask >> bit & 1 == 1).for_each(|bit| bits[64 * lane + bit] += 1);
            }
        }
        let mean = lanes.iter().sum::<u64>() as f64 / 8.0;
        for lane in lanes {
            assert!((lane as f64 - mean).abs() <= 5.0 * mean.sqrt(), "{probes} probes: {lanes:?}");
        }
        assert!(bits.iter().all(|&count| count > 0));
        assert_even(&bits, mean / 64.0, 511.0, &format!("{probes} probes"));
    }
}

// What a filter says of itself.

/// Variance of the number of keys that the set bits tell: that of the occupied cells when `keys * probes` balls
/// fall into `bits` (Johnson and Kotz, Urn Models), and the second-order share of the blocks' loads.
fn variance_of_estimate(params: &BloomParams, keys: f64) -> f64 {
    let (bits, probes) = (8.0 * params.payload_bytes() as f64, f64::from(params.num_probes()));
    let load = keys * probes / bits;
    bits * (load.exp() - 1.0 - load) / (probes * probes) + bits * load * load / 1024.0
}

#[test]
fn estimates() {
    for (bits_per_key, probes) in [(8, 5), (10, 6), (16, 10), (20, 16)] {
        for (keys, overload) in [(3_000, 1), (3_000, 4), (100_000, 1), (100_000, 4)] {
            let blocks = (keys * bits_per_key / 512_u64).max(1);
            let params = BloomParams::explicit(blocks, probes).unwrap().with_capacity(keys);
            let mut errors = Vec::new();
            for i in 0..20 {
                let keys = keys * overload;
                let filter = filled(params, i << 24..(i << 24) + keys);
                let estimate = filter.estimate();
                let sigma = variance_of_estimate(&params, keys as f64).sqrt();
                errors.push((estimate.num_keys - keys as f64) / sigma);
                assert_eq!(estimate.over_capacity, overload > 1);
                if i == 0 {
                    let measured = fpr(&filter, 2 * MILLION);
                    println!("{keys} keys: fpr {:.5} is {measured:.5}", estimate.fpr);
                    assert!((estimate.fpr / measured - 1.0).abs() <= 0.1, "{} is {measured}", estimate.fpr);
                    assert!((0.0..=1.0).contains(&estimate.fill));
                }
            }
            let (mean, variance) = mean_and_variance(&errors);
            println!("{bits_per_key} bits, {keys} * {overload} keys: {mean:+.2} +- {:.2} sigma", variance.sqrt());
            assert!(errors.iter().all(|error| error.abs() <= 4.5), "{errors:?}");
            assert!(mean.abs() <= 1.0 && variance.sqrt() <= 1.6, "{mean} +- {}", variance.sqrt());
        }
    }
}

#[test]
fn estimates_at_the_ends() {
    let params = BloomParams::explicit(100, 6).unwrap().with_capacity(5000);
    let empty = BloomFilter::new(params).unwrap().estimate();
    assert_eq!((empty.fill, empty.fpr, empty.num_keys, empty.over_capacity), (0.0, 0.0, 0.0, false));
    let full = filled(params, 0..100_000).estimate();
    assert!(full.over_capacity && full.fpr > 0.9 && full.fpr <= 1.0 && full.num_keys.is_finite());
    let mut overfull = vec![0xff; 100 * 64];
    let full = sketchline::BloomMut::over_payload_mut(&mut overfull, 6, HashScheme::NATIVE).unwrap().estimate();
    assert!((full.fill, full.fpr, full.over_capacity) == (1.0, 1.0, false) && full.num_keys.is_finite());
}

/// No false alarm at the capacity, however small.
#[test]
fn over_capacity() {
    for capacity in [1, 2, 5, 10, 30, 100, 1000, 10_000] {
        for asked in [0.05, 0.01, 0.001] {
            let params = BloomParams::for_fpr(capacity, asked).unwrap();
            for i in 0..100 {
                let at = i * MILLION;
                assert!(!filled(params, at..at + capacity).estimate().over_capacity, "{capacity} keys at {asked}");
            }
            let over = 2 * capacity + 10;
            assert!(filled(params, 0..over).estimate().over_capacity, "{over} keys for {capacity} at {asked}");
            assert!(!filled(params.with_capacity(0), 0..over).estimate().over_capacity);
        }
    }
}

// What takes long.

/// The table of DESIGN.md, section 3: within 2 %, where 2 % is at least three standard deviations.
#[test]
#[ignore = "long: billions of probes"]
fn the_rates_of_the_design() {
    for (bits_per_key, probes, percent, asked) in
        [(8, 5, 2.33, 50), (10, 6, 0.970, 50), (12, 7, 0.419, 50), (16, 10, 0.0853, 100), (20, 11, 0.0200, 300)]
    {
        let keys = 8 * MILLION;
        let params = BloomParams::for_bits_per_key(keys, f64::from(bits_per_key)).unwrap();
        assert_eq!(params.num_probes(), probes);
        let measured = 100.0 * fpr(&filled(params, 0..keys), asked * MILLION);
        let (predicted, off) = (100.0 * params.predicted_fpr(), 100.0 * (measured / percent - 1.0));
        println!(
            "{bits_per_key} bits per key: {measured:.5} % of {percent} % ({off:+.2} %), predicted {predicted:.5} %"
        );
        assert!(off.abs() <= 2.0);
    }
}

#[test]
#[ignore = "long: twenty million keys"]
fn as_good_with_twenty_million_keys() {
    many_against_few(20 * MILLION, 20 * MILLION);
}

#[test]
#[ignore = "long: a thousand filters"]
fn every_size_of_a_thousand_is_as_good() {
    unlucky_sizes(100_000..=101_000);
}

/// At 2^32 bits, where an index of 32 bits wraps, and beyond.
#[test]
#[ignore = "long: filters of 512 MiB and more"]
fn more_than_2_to_the_32_bits() {
    for blocks in [1 << 23, (1 << 23) + 1] {
        let mut filter = filled(BloomParams::explicit(blocks, 8).unwrap(), 0..1);
        assert_eq!(count(&filter, ABSENT..ABSENT + MILLION), 0);
        filter.insert_hash(KeyHash::from_raw(u64::MAX));
        assert_ne!(filter.blocks().last(), Some(&[0; 64]));
        assert_eq!(filter.estimate().num_keys.round(), 2.0);
    }
}

#[test]
#[ignore = "long: a file of 128 MiB"]
fn a_large_filter_in_a_file() {
    let path = std::env::temp_dir().join(format!("sketchline-{}.skln", std::process::id()));
    let mut filter = filled(BloomParams::explicit(1 << 21, 8).unwrap(), 0..10_000);
    std::fs::write(&path, filter.seal().unwrap()).unwrap();
    let image = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let opened = BloomFilter::from_image(&image, OpenOptions::STRICT).unwrap();
    assert_eq!(count(&opened, 0..10_000), 10_000);
    assert!(opened.as_bytes() == filter.as_bytes());
}
