//! The laws of sets: union, intersection, clear, the order of inserts, and never a false negative.

mod common;

use common::{Random, for_every_isa};
use sketchline::{BloomFilter, BloomMut, BloomParams, BloomRef, Error, HashScheme, Hashes, Isa, KeyHash, OpenOptions};

const SHAPES: [(u64, u32); 6] = [(1, 1), (1, 16), (2, 12), (3, 8), (17, 11), (1000, 6)];
const HASHING: HashScheme = HashScheme::Caller { tag: 1 };

fn empty((blocks, probes): (u64, u32), isa: Isa) -> BloomFilter {
    BloomFilter::new(BloomParams::explicit(blocks, probes).unwrap().with_hashing(HASHING)).unwrap().with_isa(isa)
}

fn of(shape: (u64, u32), isa: Isa, hashes: &[u64]) -> BloomFilter {
    let mut filter = empty(shape, isa);
    filter.insert_hashes(hashes);
    filter
}

fn union(a: &BloomFilter, b: &BloomFilter) -> BloomFilter {
    let mut result = a.clone();
    result.union(b).unwrap();
    result
}

fn intersect(a: &BloomFilter, b: &BloomFilter) -> BloomFilter {
    let mut result = a.clone();
    result.intersect(b).unwrap();
    result
}

#[track_caller]
fn assert_same(a: &BloomFilter, b: &BloomFilter) {
    assert!(a.blocks() == b.blocks());
}

fn shuffled(random: &mut Random, hashes: &[u64]) -> Vec<u64> {
    let mut hashes = hashes.to_vec();
    (1..hashes.len()).for_each(|i| hashes.swap(i, random.below(i + 1)));
    hashes
}

/// Every shape on every set, with three overlapping sets of keys: `all[..2n]`, `all[n..]`, `all[2n..]`.
fn for_every_case(test: impl Fn((u64, u32), Isa, &[u64])) {
    for_every_isa(|isa| {
        for shape in SHAPES {
            for keys in [3, 30, 12 * shape.0 as usize] {
                test(shape, isa, &Random(keys as u64).hashes(keys));
            }
        }
    });
}

#[test]
fn union_of_filters_is_the_filter_of_the_union() {
    for_every_case(|shape, isa, all| {
        let n = all.len() / 3;
        let [a, b, c] = [&all[..2 * n], &all[n..], &all[2 * n..]].map(|keys| of(shape, isa, keys));
        assert_same(&union(&a, &b), &of(shape, isa, all));
        assert_same(&union(&a, &b), &union(&b, &a));
        assert_same(&union(&union(&a, &b), &c), &union(&a, &union(&b, &c)));
        assert_same(&union(&a, &a), &a);
        assert_same(&union(&a, &empty(shape, isa)), &a);
        assert_same(&union(&empty(shape, isa), &a), &a);
    });
}

#[test]
fn intersection_keeps_the_common_keys() {
    for_every_case(|shape, isa, all| {
        let n = all.len() / 3;
        let [a, b, c] = [&all[..2 * n], &all[n..], &all[2 * n..]].map(|keys| of(shape, isa, keys));
        let both = intersect(&a, &b);
        assert_eq!(both.count_batch(&Hashes(&all[n..2 * n])), Ok(n));
        // No bit that a filter of the common keys has is lost, and none appears that one of the two has not.
        assert_same(&union(&both, &of(shape, isa, &all[n..2 * n])), &both);
        assert_same(&union(&both, &a), &a);
        assert_same(&union(&both, &b), &b);

        assert_same(&both, &intersect(&b, &a));
        assert_same(&intersect(&both, &c), &intersect(&a, &intersect(&b, &c)));
        assert_same(&intersect(&a, &a), &a);
        assert_same(&intersect(&a, &union(&a, &b)), &a);
        assert_same(&intersect(&a, &empty(shape, isa)), &empty(shape, isa));
    });
}

#[test]
fn the_order_of_inserts_leaves_no_trace() {
    for_every_case(|shape, isa, all| {
        let mut random = Random(all.len() as u64);
        let mut filter = of(shape, isa, all);
        let mut other = of(shape, isa, &shuffled(&mut random, all));
        other.insert_hashes(&all[..1]);
        shuffled(&mut random, all).into_iter().for_each(|hash| other.insert_hash(KeyHash::from_raw(hash)));
        assert_same(&filter, &other);
        // On another instruction set too.
        assert_same(&filter, &of(shape, Isa::PORTABLE, all));

        filter.clear();
        assert_same(&filter, &empty(shape, isa));
        assert_eq!(filter.count_batch(&Hashes(all)), Ok(0));
        filter.insert_hashes(all);
        assert_same(&filter, &other);
    });
}

#[test]
fn never_a_false_negative() {
    for_every_isa(|isa| {
        for seed in 0..200 {
            let mut random = Random(seed);
            let shape = SHAPES[random.below(SHAPES.len())];
            let mut filter = empty(shape, isa);
            let mut keys: Vec<u64> = Vec::new();
            for _ in 0..60 {
                let len = random.below(80);
                let new = random.hashes(len);
                match random.below(9) {
                    0 => new.iter().for_each(|&hash| filter.insert_hash(KeyHash::from_raw(hash))),
                    1 => filter.insert_batch(&Hashes(&new)).unwrap(),
                    2 => filter.insert_batch_seen(&Hashes(&new), &mut [0; 2]).unwrap(),
                    3 => filter.union(&of(shape, isa, &new)).unwrap(),
                    4 => {
                        // With a filter that has all of our keys and more.
                        filter.intersect(&of(shape, isa, &[&keys[..], &new].concat())).unwrap();
                        continue;
                    }
                    5 => {
                        let mut image = filter.seal().unwrap().to_vec();
                        BloomMut::open_mut(&mut image, OpenOptions::STRICT).unwrap().insert_hashes(&new);
                        let options = OpenOptions::STRICT.allow_unsealed();
                        filter = BloomFilter::from_image(&image, options).unwrap().with_isa(isa);
                    }
                    6 => {
                        let n = random.below(keys.len() + 1);
                        keys.truncate(n);
                        filter.clear();
                        filter.insert_hashes(&keys);
                        continue;
                    }
                    _ => filter.insert_hashes(&new),
                }
                keys.extend(new);
                assert_eq!(filter.count_batch(&Hashes(&keys)), Ok(keys.len()), "seed {seed}, {isa:?}");
                assert!(keys.iter().all(|&hash| filter.contains_hash(KeyHash::from_raw(hash))), "seed {seed}, {isa:?}");
            }
        }
    });
}

#[test]
fn filters_that_differ_do_not_merge() {
    let params = |blocks, probes, hashing| BloomParams::explicit(blocks, probes).unwrap().with_hashing(hashing);
    let shapes = [
        params(10, 8, HashScheme::NATIVE),
        params(11, 8, HashScheme::NATIVE),
        params(10, 7, HashScheme::NATIVE),
        params(10, 9, HashScheme::NATIVE),
        params(10, 8, HashScheme::Xxh3 { seed: 1 }),
        params(10, 8, HashScheme::Caller { tag: 0 }),
        params(10, 8, HashScheme::Caller { tag: 1 }),
    ];
    let filter = |params| {
        let mut filter = BloomFilter::new(params).unwrap();
        filter.insert_hashes(&Random(1).hashes(50));
        filter.seal().unwrap();
        filter
    };
    for (i, j) in (0..shapes.len()).flat_map(|i| (0..shapes.len()).map(move |j| (i, j))) {
        let (mut target, source) = (filter(shapes[i]), filter(shapes[j]));
        let (before, inserted) = (target.as_bytes().to_vec(), target.state().num_inserted());
        let expected = if i == j { Ok(()) } else { Err(Error::Incompatible) };
        assert_eq!(target.union(&source), expected, "{i} and {j}");
        assert_eq!(target.intersect(&source), expected, "{i} and {j}");
        if i != j {
            assert!(
                target.as_bytes() == before && target.state().is_sealed() && target.state().num_inserted() == inserted
            );
        }
    }
}

/// Where the lines live and how many keys were expected makes no difference.
#[test]
fn filters_of_one_shape_merge_wherever_they_live() {
    let params = BloomParams::explicit(10, 8).unwrap().with_hashing(HASHING);
    let hashes = Random(1).hashes(80);
    let expected = of((10, 8), Isa::PORTABLE, &hashes);
    let mut right = BloomFilter::new(params.with_capacity(1000)).unwrap();
    right.insert_hashes(&hashes[40..]);
    let right = right.seal().unwrap();
    let sources = [
        BloomRef::open(right, OpenOptions::STRICT).unwrap(),
        BloomRef::over_payload(&right[64..], 8, HASHING).unwrap(),
    ];
    for source in sources {
        let mut owned = of((10, 8), Isa::PORTABLE, &hashes[..40]);
        owned.union(&source).unwrap();
        assert_same(&owned, &expected);

        let mut memory = vec![0; 11 * 64];
        let mut image = BloomMut::init(&mut memory, params).unwrap();
        image.insert_hashes(&hashes[..40]);
        image.union(&source).unwrap();
        assert!(image.blocks() == expected.blocks());

        let mut memory = vec![0; 10 * 64];
        let mut payload = BloomMut::over_payload_mut(&mut memory, 8, HASHING).unwrap();
        payload.insert_hashes(&hashes[..40]);
        payload.union(&source).unwrap();
        assert!(payload.blocks() == expected.blocks());
    }
}
