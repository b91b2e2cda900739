//! HyperLogLog: every instruction set against the scalar definition, the laws of merging byte for byte, both forms,
//! growth, images and hostile bytes.

mod common;

use common::{EXTREME, Random, for_every_isa};
use sketchline::{
    Error, HashScheme, Hashes, Hll, HllForm, HllMut, HllParams, HllRef, HyperLogLog, Isa, KeyHash, Nullable,
    OpenOptions, U64Keys, overlap,
};

/// Registers by the definition: low `p` bits, 1 + trailing zeros of the rest.
fn naive_registers(hashes: &[u64], p: u32) -> Vec<u8> {
    let mut registers = vec![0; 1 << p];
    for &hash in hashes {
        let rank = 1 + (hash >> p).trailing_zeros().min(64 - p) as u8;
        let register = &mut registers[(hash & ((1 << p) - 1)) as usize];
        *register = rank.max(*register);
    }
    registers
}

/// Registers out of a packed body, by the definition: bit `6 i`, least significant first.
fn unpacked(body: &[u8]) -> Vec<u8> {
    let bit = |i: usize| body[i / 8] >> (i % 8) & 1;
    (0..body.len() * 8 / 6).map(|i| (0..6).map(|b| bit(6 * i + b) << b).sum()).collect()
}

fn sketch(params: HllParams, isa: Isa, hashes: &[u64]) -> HyperLogLog {
    let mut sketch = HyperLogLog::new(params).unwrap().with_isa(isa);
    assert_eq!(sketch.insert_batch(&Hashes(hashes), 0), Ok(hashes.len()));
    sketch
}

fn dense(p: u32) -> HllParams {
    HllParams::new(p).unwrap().with_form(HllForm::Dense)
}

fn sealed(mut sketch: HyperLogLog) -> Vec<u8> {
    sketch.seal().to_vec()
}

#[test]
fn registers_are_those_of_the_definition() {
    for_every_isa(|isa| {
        let mut random = Random(1);
        for p in 4..=18 {
            for n in [0, 1, 100, 3 << p] {
                let hashes = [&EXTREME[..], &random.hashes(n)].concat();
                let batch = sketch(dense(p), isa, &hashes);
                let expected = naive_registers(&hashes, p);
                assert_eq!(unpacked(batch.registers().unwrap()), expected, "{isa:?} p {p} n {n}");
                let mut single = HyperLogLog::new(dense(p)).unwrap().with_isa(isa);
                hashes.iter().for_each(|&hash| single.insert_hash(KeyHash::from_raw(hash)).unwrap());
                assert_eq!(batch.registers(), single.registers());
                assert_eq!(batch.estimate().to_bits(), single.estimate().to_bits());
                assert_eq!(
                    batch.zero_registers().unwrap() as usize,
                    expected.iter().filter(|rank| **rank == 0).count()
                );
                assert_eq!(batch.min_register().unwrap(), u32::from(*expected.iter().min().unwrap()));
            }
        }
    });
}

/// Saturated sketches drop most hashes unseen: the same registers as one by one, however many keys there are.
#[test]
fn rejecting_loses_nothing() {
    for_every_isa(|isa| {
        let mut random = Random(2);
        let (mut batch, mut all) = (HyperLogLog::new(dense(6)).unwrap().with_isa(isa), Vec::new());
        for round in 0..200 {
            let hashes = random.hashes(97 + round);
            batch.insert_batch(&Hashes(&hashes), 0).unwrap();
            all.extend(hashes);
            assert_eq!(unpacked(batch.registers().unwrap()), naive_registers(&all, 6), "{isa:?} round {round}");
        }
        assert!(batch.min_register().unwrap() >= 5);
    });
}

/// Hashes whose ranks are spread over all that are legal, not geometric.
fn even_ranks(random: &mut Random, p: u32) -> Vec<u64> {
    let rank = |random: &mut Random| 1u64.checked_shl(p + random.below(65 - p as usize) as u32).unwrap_or(0);
    (0..2 << p).map(|_| random.next() & ((1 << p) - 1) | rank(random)).collect()
}

#[test]
fn merges_are_maxima() {
    for_every_isa(|isa| {
        let mut random = Random(3);
        for p in 4..=18 {
            for count in [2, 9, 10, 19] {
                let parts: Vec<_> = (0..count).map(|_| even_ranks(&mut random, p)).collect();
                let sketches: Vec<_> = parts.iter().map(|part| sketch(dense(p), isa, part)).collect();
                let expected = naive_registers(&parts.concat(), p);
                let mut one_by_one = sketches[0].clone();
                sketches[1..].iter().for_each(|other| one_by_one.merge(other).unwrap());
                assert_eq!(unpacked(one_by_one.registers().unwrap()), expected, "{isa:?} p {p}");
                let mut many = sketches[0].clone();
                many.merge_many(&sketches[1..].iter().map(Hll::view).collect::<Vec<_>>()).unwrap();
                assert_eq!(unpacked(many.registers().unwrap()), expected, "{isa:?} p {p} many");
                let direct = sketch(dense(p), Isa::PORTABLE, &parts.concat());
                assert_eq!(many.estimate().to_bits(), direct.estimate().to_bits());
                assert_eq!(sealed(many), sealed(direct));
            }
        }
    });
}

/// Sizes from nothing to dense, on both sides of the change of form.
fn sizes(p: u32) -> [usize; 7] {
    let most = (1 << p) / 8;
    [0, 1, most / 2, most - 1, most, most + 1, 3 * most]
}

/// A merged sketch is what the joined stream builds, in any order; merging is commutative, associative, idempotent,
/// and an empty sketch is neutral: byte for byte.
#[test]
fn merge_laws() {
    let mut random = Random(4);
    for p in [4, 7, 11, 14] {
        let params = HllParams::new(p).unwrap().with_hashing(HashScheme::Xxh3 { seed: 9 });
        let build = |hashes: &[u64]| sketch(params, Isa::detect(), hashes);
        let merged = |a: &HyperLogLog, b: &HyperLogLog| {
            let before = sealed(b.clone());
            let mut union = a.clone();
            union.merge(b).unwrap();
            assert_eq!(sealed(b.clone()), before, "the source changed");
            union
        };
        for n in sizes(p) {
            for k in sizes(p) {
                let (x, y, z) = (random.hashes(n), random.hashes(k), random.hashes(k / 2));
                // Some keys in common.
                let y = [&y[..], &x[..n / 3]].concat();
                let (a, b, c) = (build(&x), build(&y), build(&z));
                let joined = sealed(build(&[&x[..], &y].concat()));
                assert_eq!(sealed(merged(&a, &b)), joined, "p {p} {n} {k}");
                assert_eq!(sealed(merged(&b, &a)), joined);
                let mut shuffled = [&x[..], &y].concat();
                (1..shuffled.len()).for_each(|i| shuffled.swap(i, random.below(i + 1)));
                assert_eq!(sealed(build(&shuffled)), joined);
                assert_eq!(sealed(merged(&merged(&a, &b), &c)), sealed(merged(&a, &merged(&b, &c))));
                assert_eq!(sealed(merged(&a, &a)), sealed(a.clone()));
                assert_eq!(sealed(merged(&a, &build(&[]))), sealed(a.clone()));
                assert_eq!(sealed(merged(&build(&[]), &a)), sealed(a.clone()));
                // Insert after merge = insert after direct build.
                let mut after = merged(&a, &b);
                after.insert_batch(&Hashes(&z), 0).unwrap();
                assert_eq!(sealed(after), sealed(build(&[&x[..], &y, &z].concat())));
            }
        }
    }
}

#[test]
fn unlike_sketches_do_not_merge() {
    let params = HllParams::new(12).unwrap();
    let others = [
        HllParams::new(13).unwrap(),
        params.with_hashing(HashScheme::Xxh3 { seed: 1 }),
        params.with_hashing(HashScheme::Caller { tag: 0 }),
    ];
    for other in others {
        for n in [10, 100_000] {
            let hashes = Random(5).hashes(n);
            let mut target = sketch(params, Isa::detect(), &hashes);
            let before = target.as_bytes().to_vec();
            let other = sketch(other, Isa::detect(), &hashes);
            assert_eq!(target.merge(&other), Err(Error::Incompatible));
            assert_eq!(target.merge_many(&[other.view()]), Err(Error::Incompatible));
            assert_eq!(target.as_bytes(), before);
        }
    }
}

/// Folding gives, bit for bit, what a sketch of the smaller precision would have been.
#[test]
fn folding_is_building_smaller() {
    let mut random = Random(6);
    for (from, to) in [(18, 4), (14, 12), (12, 12), (10, 9), (9, 4)] {
        for n in [0, 1, 50, 1 << to, 5 << from.min(14)] {
            for form in [HllForm::Sparse, HllForm::Dense] {
                let hashes = [&EXTREME[..n.min(16)], &random.hashes(n)].concat();
                let at = |p| HllParams::new(p).unwrap().with_form(form);
                let folded = sketch(at(from), Isa::detect(), &hashes).folded(to).unwrap();
                assert_eq!(
                    sealed(folded),
                    sealed(sketch(at(to), Isa::detect(), &hashes)),
                    "{from} to {to}, {n} {form:?}"
                );
            }
        }
    }
    assert_eq!(HyperLogLog::new(dense(10)).unwrap().folded(11).unwrap_err(), Error::InvalidArgument);
}

/// In memory of the caller a sketch says when it needs more, and how much; it moves there, and nothing is lost on the
/// way to dense. The old memory stays as it was.
#[test]
fn grows_from_memory_to_memory() {
    for p in [4, 8, 12] {
        let hashes = Random(7).hashes(1 << p);
        let params = HllParams::new(p).unwrap();
        // Six more memories than are needed, each as long as asked for.
        let mut memories: Vec<Vec<u8>> = vec![vec![0xa5; params.image_bytes() as usize]];
        let mut state = *HllMut::init(&mut memories[0], params).unwrap().state();
        let mut at = 0;
        loop {
            let memory = memories.last_mut().unwrap();
            let mut sketch = Hll::attach(memory.as_chunks_mut().0, state).unwrap();
            at = sketch.insert_batch(&Hashes(&hashes), at).unwrap();
            if at == hashes.len() {
                let expected = sealed(self::sketch(params, Isa::detect(), &hashes));
                assert_eq!(sketch.seal(), expected, "p {p}");
                break;
            }
            let before = sketch.as_bytes().to_vec();
            assert_eq!(sketch.insert_hash(KeyHash::from_raw(hashes[at])), Err(Error::NeedSpace));
            assert_eq!(sketch.move_to(&mut [0; 64]).unwrap_err(), Error::WrongLength);
            let mut larger = vec![0xa5; sketch.grown_bytes() as usize];
            state = *sketch.move_to(&mut larger).unwrap().state();
            assert_eq!(sketch.as_bytes(), before);
            memories.push(larger);
        }
        assert!(memories.len() > 1 && memories.len() < 12);
        assert!(memories.is_sorted_by_key(Vec::len));
    }
}

/// A sealed sparse image leaves out room to grow; opened at the start of more memory it has room again.
#[test]
fn opens_with_room() {
    let params = HllParams::new(10).unwrap();
    let hashes = Random(14).hashes(60);
    let image = sealed(sketch(params, Isa::detect(), &hashes[..30]));
    assert_eq!(image.len(), 64 + 128);
    let mut memory = [&image[..], &[0; 128]].concat();
    let mut sketch = HllMut::open_mut(&mut memory, image.len(), OpenOptions::STRICT).unwrap();
    assert_eq!(sketch.insert_batch(&Hashes(&hashes), 30), Ok(60));
    assert_eq!(sketch.seal(), sealed(self::sketch(params, Isa::detect(), &hashes)));
    memory = [&image[..], &[1; 64]].concat();
    for (image_len, len) in
        [(image.len(), memory.len()), (image.len(), image.len() + 1), (image.len() + 1, image.len())]
    {
        assert!(HllMut::open_mut(&mut memory[..len], image_len, OpenOptions::STRICT).is_err());
    }
}

/// At most 160 / 640 / 4,400 bytes for 10 / 100 / 1,000 keys, and never more than dense.
#[test]
fn sparse_is_small() {
    for (n, most) in [(0, 128), (10, 160), (100, 640), (1000, 4400)] {
        assert!(sealed(sketch(HllParams::new(14).unwrap(), Isa::detect(), &Random(8).hashes(n))).len() <= most);
    }
    for p in 4..=18 {
        let params = HllParams::new(p).unwrap();
        let mut sketch = HyperLogLog::new(params).unwrap();
        let mut random = Random(u64::from(p));
        for n in 0..(1 << p) / 4 {
            sketch.insert_hash(KeyHash::from_raw(random.next())).unwrap();
            assert!(sketch.as_bytes().len() as u64 <= params.dense_image_bytes(), "p {p} n {n}");
        }
    }
    // Two of two keys each: still sparse, still small.
    let two = |seed| sketch(HllParams::new(14).unwrap(), Isa::detect(), &Random(seed).hashes(2));
    let mut union = two(1);
    union.merge(&two(2)).unwrap();
    assert_eq!(union.estimate().round(), 4.0);
    assert!(sealed(union).len() <= 256);
}

/// An estimate after each of a million inserts: work that grew with the sketch would not come to an end here.
#[test]
fn insert_and_estimate_in_turn() {
    let mut sketch = HyperLogLog::new(HllParams::new(14).unwrap()).unwrap();
    let (mut random, mut last) = (Random(15), 0.0);
    for n in 1..=1_000_000u32 {
        sketch.insert_hash(KeyHash::from_raw(random.next())).unwrap();
        let estimate = sketch.estimate();
        // Turning dense may take some of it back, once.
        assert!(estimate >= last * 0.95, "{n}");
        last = estimate;
    }
    assert!((last / 1e6 - 1.0).abs() < 4.0 * 0.0081);
}

#[test]
fn batches_are_one_by_one() {
    let keys: Vec<u64> = (0..5000).map(|i| i % 3000).collect();
    let validity: Vec<u8> = (0..keys.len().div_ceil(8)).map(|i| (i * 37 % 251) as u8).collect();
    for form in [HllForm::Sparse, HllForm::Dense] {
        for p in [8, 14] {
            let params = HllParams::new(p).unwrap().with_form(form).with_hashing(HashScheme::Xxh3 { seed: 3 });
            let mut one_by_one = HyperLogLog::new(params).unwrap();
            let mut valid_only = HyperLogLog::new(params).unwrap();
            for (i, &key) in keys.iter().enumerate() {
                one_by_one.insert_u64(key).unwrap();
                if validity[i / 8] >> (i % 8) & 1 == 1 {
                    valid_only.insert(&key.to_le_bytes()).unwrap();
                }
            }
            for first in [0, 1, 63, 64, 500, 512] {
                let mut batch = HyperLogLog::new(params).unwrap();
                keys[..first].iter().for_each(|key| batch.insert_u64(*key).unwrap());
                assert_eq!(batch.insert_batch(&U64Keys(&keys), first), Ok(keys.len()));
                assert_eq!(sealed(batch), sealed(one_by_one.clone()));
            }
            let mut batch = HyperLogLog::new(params).unwrap();
            batch.insert_batch(&Nullable { keys: U64Keys(&keys), validity: &validity }, 0).unwrap();
            assert_eq!(sealed(batch), sealed(valid_only));
        }
    }
    let caller = HllParams::new(10).unwrap().with_hashing(HashScheme::Caller { tag: 1 });
    let mut sketch = HyperLogLog::new(caller).unwrap();
    assert_eq!(sketch.insert(b"key"), Err(Error::CallerHash));
    assert_eq!(sketch.insert_batch(&U64Keys(&keys), 0), Err(Error::CallerHash));
    assert_eq!(sketch.estimate(), 0.0);
}

#[test]
fn estimates_change_nothing_and_survive_a_copy() {
    for n in [0, 5, 2000, 3000, 100_000] {
        let mut original = sketch(HllParams::new(14).unwrap(), Isa::detect(), &Random(9).hashes(n));
        let (before, estimate) = (original.as_bytes().to_vec(), original.estimate());
        assert_eq!(original.as_bytes(), before);
        let copy = HyperLogLog::from_image(original.seal(), OpenOptions::STRICT).unwrap();
        assert_eq!(copy.estimate().to_bits(), estimate.to_bits());
        let bounds = copy.estimate_with_bounds(3).unwrap();
        assert!(bounds.lower <= bounds.estimate && bounds.estimate <= bounds.upper);
        assert!(bounds.lower >= f64::from((1 << 14) - copy.zero_registers().unwrap_or(1 << 14)));
        // A duplicate changes nothing; a key that raises a register changes the estimate.
        let mut again = copy.clone();
        again.insert_batch(&Hashes(&Random(9).hashes(n)), 0).unwrap();
        assert_eq!(again.estimate().to_bits(), estimate.to_bits());
        again.insert_hash(KeyHash::from_raw(1 << 60)).unwrap();
        assert!(again.estimate() > estimate);
        assert_eq!(copy.estimate_with_bounds(0), Err(Error::InvalidArgument));
        assert_eq!(copy.estimate_with_bounds(4), Err(Error::InvalidArgument));
    }
}

#[test]
fn overlaps() {
    let params = HllParams::new(14).unwrap();
    let mut random = Random(10);
    for (only_a, only_b, both) in [(0, 0, 0), (100, 100, 50), (20_000, 10_000, 30_000), (0, 5000, 5000)] {
        let common = random.hashes(both);
        let a = sketch(params, Isa::detect(), &[&common[..], &random.hashes(only_a)].concat());
        let b = sketch(params, Isa::detect(), &[&common[..], &random.hashes(only_b)].concat());
        let mut scratch = HyperLogLog::new(params).unwrap();
        let found = overlap(&a, &b, &mut scratch).unwrap();
        let (both, union) = (both as f64, (only_a + only_b + both) as f64);
        assert!((found.intersection - both).abs() <= 4.0 * found.intersection_error, "{found:?}");
        assert!((found.union - union).abs() <= 4.0 * params.standard_error() * union);
        assert!(found.jaccard >= 0.0 && found.jaccard <= 1.0);
    }
}

#[test]
fn precisions_out_of_range_are_refused() {
    for p in (0..4).chain(19..300).chain([u32::MAX]) {
        assert_eq!(HllParams::new(p), Err(Error::InvalidArgument));
    }
}

/// Every prefix, every flipped bit: an error.
#[test]
fn sealed_images_are_guarded() {
    for (n, form) in [(0, HllForm::Sparse), (20, HllForm::Sparse), (3000, HllForm::Dense)] {
        let params = HllParams::new(8).unwrap().with_form(form).with_hashing(HashScheme::Xxh3 { seed: 77 });
        let image = sealed(sketch(params, Isa::detect(), &Random(12).hashes(n)));
        assert!(HllRef::open(&image, OpenOptions::STRICT).is_ok());
        for len in 0..image.len() {
            assert!(HllRef::open(&image[..len], OpenOptions::STRICT).is_err());
        }
        for bit in 0..8 * image.len() {
            let mut image = image.clone();
            image[bit / 8] ^= 1 << (bit % 8);
            assert!(HllRef::open(&image, OpenOptions::STRICT).is_err(), "bit {bit}");
        }
        let longer = [&image[..], &[0; 64]].concat();
        assert_eq!(HllRef::open(&longer, OpenOptions::STRICT).unwrap_err(), Error::WrongLength);
    }
}

/// Sets register `i` of a zeroed body.
fn set_register(body: &mut [u8], i: usize, rank: u32) {
    (0..6)
        .map(|bit| 6 * i + bit)
        .filter(|bit| rank >> (bit - 6 * i) & 1 == 1)
        .for_each(|bit| body[bit / 8] |= 1 << (bit % 8));
}

/// Values that no sketch writes are refused, checksums or not: in unsealed images nothing else stands in the way.
#[test]
fn impossible_values_are_refused() {
    let options = OpenOptions::STRICT.allow_unsealed();
    for p in 4..=18 {
        let params = dense(p);
        let mut memory = vec![0; params.dense_image_bytes() as usize];
        HllMut::init(&mut memory, params).unwrap();
        let last = (1usize << p) - 1;
        for (register, rank) in [(0, 65 - p), (7, 65 - p), (last, 65 - p), (0, 66 - p), (last, 63)] {
            let mut memory = memory.clone();
            set_register(&mut memory[64..], register, rank);
            let opened = HllRef::open(&memory, options).map(|sketch| sketch.estimate() > 0.0);
            assert_eq!(opened, if rank > 65 - p { Err(Error::BadPayload) } else { Ok(true) }, "p {p} rank {rank}");
        }
        if memory.len() > 64 + (3 << p) / 4 {
            *memory.last_mut().unwrap() = 1;
            assert_eq!(HllRef::open(&memory, options).unwrap_err(), Error::BadPayload);
        }
    }
    let sparse = |words: &[u32], len: usize| {
        let mut memory = vec![0; len];
        HllMut::init(&mut memory, HllParams::new(8).unwrap()).unwrap();
        let places = memory[64..].chunks_mut(4);
        words.iter().zip(places).for_each(|(word, bytes)| bytes.copy_from_slice(&word.to_le_bytes()));
        HllRef::open(&memory, options).map(|sketch| sketch.estimate().round() as u32)
    };
    assert_eq!(sparse(&[5 << 6 | 1, 9 << 6 | 39, 2 << 6 | 3], 128), Ok(3));
    let hole = &[5 << 6 | 1, 0, 6 << 6 | 1];
    let out_of_order = &[9 << 6 | 1, 5 << 6 | 1, 5 << 6 | 3];
    for bad in [&[5 << 6 | 1, 5 << 6 | 2][..], out_of_order, &[5 << 6], &[5 << 6 | 40], hole] {
        assert_eq!(sparse(bad, 128), Err(Error::BadPayload), "{bad:?}");
    }
    let many: Vec<u32> = (0..33).map(|i| i << 6 | 1).collect();
    assert_eq!(sparse(&many[..32], 192), Ok(32));
    assert_eq!(sparse(&many, 256), Err(Error::BadPayload));
}

/// Every header field at its edges, sealed and not: an error or a working sketch, never a panic.
#[test]
fn header_fields_at_their_edges() {
    const FIELDS: [(usize, usize); 16] = [
        (0, 4),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 8),
        (16, 8),
        (24, 8),
        (32, 1),
        (33, 1),
        (34, 1),
        (35, 1),
        (36, 4),
        (40, 8),
        (48, 8),
        (56, 8),
    ];
    for (n, form) in [(20, HllForm::Sparse), (3000, HllForm::Dense)] {
        let mut live = sketch(HllParams::new(8).unwrap().with_form(form), Isa::detect(), &Random(13).hashes(n));
        let unsealed = live.as_bytes().to_vec();
        let image = live.seal().to_vec();
        for ((at, len), base) in FIELDS.into_iter().flat_map(|field| [(field, &unsealed), (field, &image)]) {
            let mut value = [0; 8];
            value[..len].copy_from_slice(&base[at..at + len]);
            let value = u64::from_le_bytes(value);
            for edge in [0, 1, 2, u64::MAX, value.wrapping_add(1), value.wrapping_sub(1)] {
                let mut bytes = base.clone();
                bytes[at..at + len].copy_from_slice(&edge.to_le_bytes()[..len]);
                if bytes == image {
                    continue;
                }
                assert!(HllRef::open(&bytes, OpenOptions::STRICT).is_err(), "offset {at} = {edge}");
                if let Ok(mut sketch) = HyperLogLog::from_image(&bytes, OpenOptions::STRICT.allow_unsealed()) {
                    sketch.insert_hash(KeyHash::from_raw(5)).unwrap();
                    assert!(sketch.estimate().is_finite());
                    sketch.seal();
                }
            }
        }
    }
}

/// A changed byte is a change of the format, and needs a new version. `SKETCHLINE_BLESS=1` writes the files.
#[test]
fn golden_images() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hll/");
    let list = std::fs::read_to_string(format!("{data}images.txt")).unwrap();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let [file, p, form, seed, keys] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
        let hashing = HashScheme::Xxh3 { seed: seed.parse().unwrap() };
        let params = HllParams::new(p.parse().unwrap()).unwrap().with_hashing(hashing);
        for_every_isa(|isa| {
            let mut sketch = HyperLogLog::new(params).unwrap().with_isa(isa);
            let keys: Vec<u64> = (0..keys.parse().unwrap()).collect();
            sketch.insert_batch(&U64Keys(&keys), 0).unwrap();
            let path = format!("{data}{file}");
            if std::env::var_os("SKETCHLINE_BLESS").is_some() {
                std::fs::write(&path, sketch.seal()).unwrap();
            }
            assert_eq!(sketch.seal(), std::fs::read(&path).unwrap(), "{file} {isa:?}");
            assert_eq!(sketch.params().form(), if form == "sparse" { HllForm::Sparse } else { HllForm::Dense });
        });
    }
}

/// The worked example of the layout: registers 0, 1, 2, 3 = 1, 50, 20, 40 in three bytes.
#[test]
fn classic_layout() {
    let mut sketch = HyperLogLog::new(dense(4)).unwrap();
    for (register, rank) in [(0u64, 1), (1, 50), (2, 20), (3, 40)] {
        sketch.insert_hash(KeyHash::from_raw(register | 1 << (4 + rank - 1))).unwrap();
    }
    assert_eq!(sketch.registers().unwrap()[..3], [0b1000_0001, 0b0100_1100, 0b1010_0001]);
    sketch.clear();
    assert_eq!(sketch.estimate(), 0.0);
}
