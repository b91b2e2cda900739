//! Top-k: against an exact count where the sketch is exact, cut keys, ties, aging, merges, images and hostile bytes.

#[path = "common/allocations.rs"]
mod allocations;
mod common;

use allocations::peak;
use common::{Guarded, Random, for_every_isa, resealed};
use sketchline::{
    CmsLayout, CmsParams, CountMinSketch, CounterSize, Error, HashScheme, HeavyHitters, KeyHash, Lines, OpenOptions,
    TopK, TopKMut, TopKParams, TopKRef,
};
use std::collections::HashMap;

const STRICT: OpenOptions = OpenOptions::STRICT;
const UNSEALED: OpenOptions = OpenOptions::STRICT.allow_unsealed();

fn top(k: u32, max_key_bytes: u32) -> HeavyHitters {
    HeavyHitters::new(TopKParams::new(k, max_key_bytes).unwrap()).unwrap()
}

/// Wide enough for a thousand keys without an error: see `assert_top`.
fn sketch() -> CountMinSketch {
    CountMinSketch::new(CmsParams::rows(1 << 17, 4).unwrap()).unwrap()
}

type Truth = HashMap<Vec<u8>, u64>;

/// A stream, counted exactly, too.
fn count(top: &mut HeavyHitters, sketch: &mut CountMinSketch, stream: &[(Vec<u8>, u64)], truth: &mut Truth) {
    for (key, count) in stream {
        *truth.entry(key.clone()).or_default() += count;
        assert_eq!(top.add(sketch, key, *count), Ok(truth[key]), "the sketch is not exact");
    }
}

/// What is held is right, sorted, and nothing else came more often.
fn assert_top<S: Lines>(top: &TopK<S>, truth: &Truth) {
    let params = top.params();
    let entries: Vec<_> = top.entries().collect();
    let positive = truth.values().filter(|count| **count > 0).count();
    assert_eq!((top.len(), top.is_empty()), (positive.min(params.k() as usize), positive == 0));
    assert_eq!(entries.len(), top.len());
    assert_eq!(top.entry(top.len()), None);
    let hashes: HashMap<_, _> = truth.iter().map(|(key, count)| (KeyHash::of(key, 0), (key, *count))).collect();
    for entry in &entries {
        let (key, count) = hashes[&entry.hash];
        assert_eq!((entry.count, entry.key_len), (count, key.len()));
        assert_eq!(entry.key, &key[..key.len().min(params.max_key_bytes() as usize)]);
    }
    let order = |a: &sketchline::TopEntry<'_>| (std::cmp::Reverse(a.count), a.hash);
    assert!(entries.is_sorted_by_key(order));
    assert!(entries.windows(2).all(|two| two[0].hash != two[1].hash));
    // Ties may fall either way, so that the counts are compared.
    let mut counts: Vec<u64> = truth.values().copied().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(*count));
    assert!(entries.iter().map(|entry| entry.count).eq(counts.into_iter().take(top.len())));
}

/// Keys of all lengths from 0, few of them often.
fn stream(random: &mut Random, len: usize, keys: usize) -> Vec<(Vec<u8>, u64)> {
    let key = |n: usize| (0..n % 37).map(|i| (n / 37 + i) as u8).collect();
    let index = |random: &mut Random| random.below(keys).min(random.below(keys)).min(random.below(keys));
    (0..len).map(|_| (key(index(random)), random.next() % 4)).collect()
}

#[test]
fn holds_what_came_most_often() {
    let mut random = Random(1);
    for (k, max_key_bytes) in [(1, 0), (1, 8), (2, 36), (3, 5), (10, 16), (100, 1), (500, 40)] {
        for (len, keys) in [(0, 1), (1, 1), (10, 3), (300, 40), (3000, 300), (3000, 1000)] {
            let (mut top, mut sketch, mut truth) = (top(k, max_key_bytes), sketch(), Truth::new());
            let stream = stream(&mut random, len, keys);
            // Sorted or sealed on the way: nothing is different after that.
            for (i, part) in stream.chunks(501).enumerate() {
                count(&mut top, &mut sketch, part, &mut truth);
                if i % 2 == 0 {
                    top.sort()
                } else {
                    _ = top.seal()
                }
                assert_top(&top, &truth);
            }
            let before = top.seal().to_vec();
            top.refresh(&sketch).unwrap();
            assert!(top.seal() == before, "refresh without a change");
            assert_top(&TopKRef::open(&before, STRICT).unwrap(), &truth);
        }
    }
}

#[test]
fn ties_go_to_the_first_and_sort_by_hash() {
    let (mut top, mut sketch) = (top(3, 8), sketch());
    for key in [b"a", b"b", b"c", b"d", b"e"] {
        assert_eq!(top.add(&mut sketch, key, 2), Ok(2));
    }
    top.sort();
    let mut expected = [b"a", b"b", b"c"];
    expected.sort_by_key(|key| KeyHash::of(&key[..], 0));
    assert!(top.entries().map(|entry| entry.key).eq(expected));
    // One more, and it takes the place of one of them.
    top.add(&mut sketch, b"e", 1).unwrap();
    top.sort();
    assert_eq!(top.entry(0).map(|entry| (entry.key, entry.count)), Some((&b"e"[..], 3)));
    assert_eq!((top.len(), top.entry(1).unwrap().count, top.entry(2).unwrap().count), (3, 2, 2));
}

#[test]
fn offers() {
    let mut top = top(2, 4);
    let mut offer = |key: &[u8], estimate| top.offer(key, KeyHash::of(key, 0), estimate);
    assert!(!offer(b"none", 0), "what never came is not held");
    assert!(offer(b"", 5) && offer(b"long key", 7));
    // Full: held if greater than the least; a held key is held.
    assert!(!offer(b"new", 5) && !offer(b"new", 1));
    assert!(offer(b"", 5) && offer(b"long key", 7));
    assert!(offer(b"new", 6) && !offer(b"", 6) && offer(b"", 7));
    assert!(offer(b"long key", 8));
    top.sort();
    let first = top.entry(0).unwrap();
    assert_eq!((first.key, first.key_len, first.count), (&b"long"[..], 8, 8));
    let second = top.entry(1).unwrap();
    assert_eq!((second.key, second.key_len, second.count), (&b""[..], 0, 7));
    assert_eq!(second.hash, KeyHash::of(b"", 0));
    top.clear();
    assert!(top.is_empty() && top.as_bytes()[64..].iter().all(|&byte| byte == 0));
}

/// A shorter key in the place of a longer one leaves nothing of it.
#[test]
fn nothing_stays_of_what_was_replaced() {
    let (mut replaced, mut fresh) = (top(1, 32), top(1, 32));
    let offer = |top: &mut HeavyHitters, key: &[u8], count| assert!(top.offer(key, KeyHash::of(key, 0), count));
    offer(&mut replaced, &[0xff; 40], 1);
    offer(&mut replaced, b"short", 2);
    offer(&mut fresh, b"short", 2);
    assert_eq!(replaced.seal(), fresh.seal());
}

#[test]
fn refreshed_after_halving() {
    let mut random = Random(2);
    for k in [1, 5, 50, 400] {
        let (mut top, mut sketch, mut truth) = (top(k, 12), sketch(), Truth::new());
        count(&mut top, &mut sketch, &stream(&mut random, 3000, 300), &mut truth);
        for _ in 0..12 {
            let kept: Vec<_> = top.entries().map(|entry| (entry.hash, entry.count / 2)).collect();
            sketch.halve();
            truth.values_mut().for_each(|count| *count /= 2);
            top.refresh(&sketch).unwrap();
            top.sort();
            let now: HashMap<_, _> = top.entries().map(|entry| (entry.hash, entry.count)).collect();
            assert!(kept.iter().all(|(hash, count)| now.get(hash).copied().unwrap_or(0) == *count));
            // Keys that were never held may be as frequent as those that are left.
            let held = kept.iter().filter(|(_, count)| *count > 0).count();
            assert_eq!(top.len(), held);
            if held == k as usize {
                assert_top(&top, &truth);
            }
            // It goes on from there.
            let more = stream(&mut random, 50, 20);
            let mut copy = (top.clone(), sketch.clone(), truth.clone());
            count(&mut copy.0, &mut copy.1, &more, &mut copy.2);
            copy.0.sort();
            assert!(copy.0.entries().all(|entry| copy.1.estimate_hash(entry.hash) == entry.count));
        }
        assert!(truth.values().all(|count| *count == 0) && top.is_empty());
        let mut empty = self::top(k, 12);
        assert_eq!(top.seal(), empty.seal());
    }
}

/// Where the greatest of the joined stream are among the greatest of a part, merging finds them: byte for byte what
/// one top-k over both would be.
#[test]
fn merged_is_the_joined_stream() {
    let mut random = Random(3);
    for k in [1, 7, 60] {
        let (mut tops, mut sketches) = ([top(k, 10), top(k, 10)], [sketch(), sketch()]);
        let (mut joined, mut both, mut truth) = (top(k, 10), sketch(), Truth::new());
        // No two counts are equal, and each key comes to one part only, but for the very first.
        for i in random.hashes(400).into_iter().enumerate().map(|(i, r)| (r % 7) * 1000 + i as u64) {
            let (key, part) = (format!("key number {i}"), i as usize % 2);
            let key = key.as_bytes();
            tops[part].add(&mut sketches[part], key, i + 1).unwrap();
            joined.add(&mut both, key, i + 1).unwrap();
            truth.insert(key.to_vec(), i + 1);
        }
        for part in 0..2 {
            tops[part].add(&mut sketches[part], b"in both", 10_000).unwrap();
            joined.add(&mut both, b"in both", 10_000).unwrap();
        }
        truth.insert(b"in both".to_vec(), 20_000);
        let [mut a, b] = tops;
        let [mut sketch, other] = sketches;
        sketch.merge(&other).unwrap();
        let before = b.as_bytes().to_vec();
        a.merge(&b, &sketch).unwrap();
        assert_eq!(b.as_bytes(), before);
        assert_eq!(a.seal(), joined.seal());
        assert_top(&a, &truth);
        // Of another size, and into an empty one.
        let mut wider = top(k + 5, 10);
        wider.merge(&a, &sketch).unwrap();
        assert_eq!(wider.len(), k as usize);
        let mut same = top(k, 3);
        same.merge(&a, &sketch).unwrap();
        same.sort();
        assert!(same.entries().zip(a.entries()).all(|(cut, whole)| {
            cut.key == &whole.key[..3] && (cut.hash, cut.count, cut.key_len) == (whole.hash, whole.count, whole.key_len)
        }));
    }
}

#[test]
fn unlike_ones_are_refused() {
    let seeded = |hashing| TopKParams::new(3, 8).unwrap().with_hashing(hashing);
    let sketch_of = |hashing| CountMinSketch::new(CmsParams::rows(100, 4).unwrap().with_hashing(hashing)).unwrap();
    let hashings = [HashScheme::NATIVE, HashScheme::Xxh3 { seed: 1 }, HashScheme::Caller { tag: 0 }];
    for (own, other) in hashings.into_iter().flat_map(|own| hashings.map(|other| (own, other))) {
        let mut top = HeavyHitters::new(seeded(own)).unwrap();
        assert!(top.offer(b"key", KeyHash::of(b"key", 0), 5));
        let (mut same, mut sketch) = (sketch_of(own), sketch_of(other));
        let before = top.seal().to_vec();
        let zeros = sketch.as_bytes().to_vec();
        if own != other {
            assert_eq!(top.add(&mut sketch, b"key", 1), Err(Error::Incompatible));
            assert_eq!(top.refresh(&sketch), Err(Error::Incompatible));
            let others = HeavyHitters::new(seeded(other)).unwrap();
            assert_eq!(top.merge(&others, &same), Err(Error::Incompatible));
            assert_eq!(top.merge(&HeavyHitters::new(seeded(own)).unwrap(), &sketch), Err(Error::Incompatible));
        } else if matches!(own, HashScheme::Caller { .. }) {
            assert_eq!(top.add(&mut same, b"key", 1), Err(Error::CallerHash));
        }
        // Of its keys this one would need more bytes than there are.
        let shorter = HeavyHitters::new(TopKParams::new(3, 7).unwrap().with_hashing(own)).unwrap();
        assert_eq!(top.merge(&shorter, &same), Err(Error::Incompatible));
        assert!(top.as_bytes() == before && top.state().is_sealed() && sketch.as_bytes() == zeros);
    }
    for (k, max_key_bytes) in [(0, 8), (65_537, 8), (u32::MAX, 0), (1, 65_537), (1, u32::MAX)] {
        assert_eq!(peak(|| TopKParams::new(k, max_key_bytes)), (Err(Error::InvalidArgument), 0));
    }
    let most = TopKParams::new(65_536, 65_536).unwrap();
    assert_eq!(most.payload_bytes(), 65_536 * (20 + 65_536));
    assert_eq!(TopKMut::init(&mut [7; 128], most).err(), Some(Error::WrongLength));
}

#[test]
fn adding_allocates_nothing() {
    let (mut top, mut sketch) = (top(20, 8), sketch());
    let work = || {
        for key in 0..2000u64 {
            top.add(&mut sketch, &(key % 97).to_be_bytes(), key % 5).unwrap();
        }
        sketch.halve();
        top.refresh(&sketch).unwrap();
        top.sort();
        top.seal();
        assert_eq!(top.entries().count(), 20);
        top.clear();
    };
    assert_eq!(peak(work).1, 0);
}

// Images.

fn small_images() -> Vec<Vec<u8>> {
    let image = |(k, max_key_bytes, keys): (u32, u32, usize)| {
        let mut top = top(k, max_key_bytes);
        (0..keys).for_each(|i| {
            let key = &b"abcdefgh"[..i];
            top.offer(key, KeyHash::of(key, 0), 1 + i as u64 / 2);
        });
        top.seal().to_vec()
    };
    [(1, 0, 0), (1, 0, 1), (3, 8, 2), (4, 5, 4), (5, 3, 5), (2, 22, 2)].map(image).into()
}

#[test]
fn images_come_back() {
    for image in small_images() {
        let view = TopKRef::open(&image, STRICT).unwrap();
        let mut copy = HeavyHitters::from_image(&image, STRICT).unwrap();
        assert!(view.entries().eq(copy.entries()) && view.params() == copy.params());
        assert!(view.state().is_sealed() && copy.seal() == image);
        if let Some(entry) = view.entry(0) {
            assert_eq!(TopKRef::open(&image, STRICT).unwrap().into_entry(0), Some(entry));
        }
        let mut memory = Guarded::new(image.len(), 13);
        memory.bytes().copy_from_slice(&image);
        let mut sketch = sketch();
        let mut top = TopKMut::open_mut(memory.bytes(), STRICT).unwrap();
        assert!(top.as_bytes() == image);
        // What is not held changes nothing.
        let room = top.len() < top.params().k() as usize;
        if !room {
            let least = top.entry(top.len() - 1).unwrap().count;
            assert!(!top.offer(b"other", KeyHash::of(b"other", 0), least));
        }
        assert!(top.state().is_sealed() && top.as_bytes() == image);
        // What is takes off the seal.
        top.add(&mut sketch, b"other", 1000).unwrap();
        assert!(!top.state().is_sealed());
        assert_eq!(top.as_bytes()[6], 0);
        assert_eq!(top.as_bytes()[48..64], [0; 16]);
        let unsealed = top.as_bytes().to_vec();
        let state = *top.state();
        assert_eq!(TopKRef::open(&unsealed, STRICT).err(), Some(Error::Unsealed));
        let opened = TopKRef::open(&unsealed, UNSEALED).unwrap();
        assert!(opened.entries().eq(TopK::attach(unsealed.as_chunks().0, state).unwrap().entries()));
        assert_eq!(TopK::attach(&unsealed.as_chunks().0[1..], state).err(), Some(Error::WrongLength));
        assert_eq!(top.seal()[6], 1);
        assert_eq!(top.entry(0).map(|entry| (entry.count, entry.key_len)), Some((1000, 5)));
        assert!(TopKRef::open(memory.checked(), STRICT).is_ok());

        let mut top = HeavyHitters::from_image(&image, STRICT).unwrap();
        top.clear();
        let mut empty = HeavyHitters::new(top.params()).unwrap();
        assert_eq!(top.as_bytes(), empty.as_bytes());
        assert_eq!(top.seal(), empty.seal());
    }
}

#[test]
fn every_flipped_bit_and_every_prefix_is_an_error() {
    for mut image in small_images() {
        for bit in 0..8 * image.len() {
            image[bit / 8] ^= 1 << (bit % 8);
            assert!(TopKRef::open(&image, STRICT).is_err(), "bit {bit}");
            assert!(TopKRef::open(&image, UNSEALED).is_err(), "bit {bit}");
            image[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..image.len() {
            for options in [STRICT, STRICT.skip_payload_check(), UNSEALED] {
                assert_eq!(TopKRef::open(&image[..len], options).err(), Some(Error::WrongLength), "{len} bytes");
            }
            assert_eq!(peak(|| HeavyHitters::from_image(&image[..len], UNSEALED).is_err()), (true, 0));
        }
        let longer = [&image[..], &[0; 64]].concat();
        assert_eq!(TopKRef::open(&longer, STRICT).err(), Some(Error::WrongLength));
    }
}

/// Every byte at many values, under right checksums: an error that allocates nothing, or a top-k that works.
#[test]
fn every_byte() {
    for base in small_images() {
        let mut unsealed = base.clone();
        unsealed[6] = 0;
        unsealed[48..64].fill(0);
        for (base, options) in [(base, STRICT), (unsealed, UNSEALED)] {
            for (at, value) in (0..base.len()).flat_map(|at| (0..=255).step_by(3).map(move |value| (at, value))) {
                let mut image = base.clone();
                image[at] = value;
                if options == STRICT && !(48..64).contains(&at) {
                    image = resealed(image);
                }
                if image == base {
                    continue;
                }
                let opened = TopKRef::open(&image, options).map(|view| view.params());
                let expected = match at {
                    0..4 => Some(Error::BadMagic),
                    4 => Some(Error::WrongKind),
                    5 => Some(Error::UnsupportedVersion),
                    6 if value > 1 => Some(Error::UnknownFlag),
                    6 | 48..64 => Some(Error::HeaderChecksum),
                    7 => Some(Error::UnknownHash),
                    16..24 => Some(Error::WrongLength),
                    24..32 => Some(Error::BadParameter),
                    40..48 => Some(Error::UnknownFlag),
                    _ => None,
                };
                match opened {
                    Err(error) => {
                        match at {
                            8..16 => panic!("any seed is one"),
                            32..40 => assert!(error == Error::BadParameter || error == Error::BadPayload),
                            64.. => assert_eq!(error, Error::BadPayload),
                            _ => assert_eq!(Some(error), expected, "byte {at} = {value}"),
                        }
                        assert_eq!(peak(|| HeavyHitters::from_image(&image, options).is_err()), (true, 0));
                    }
                    Ok(params) => {
                        assert_eq!(expected, None, "byte {at} = {value}");
                        assert_eq!(params.image_bytes(), image.len() as u64);
                        let mut top = HeavyHitters::from_image(&image, options).unwrap();
                        top.entries().for_each(|entry| assert!(entry.count > 0 && entry.key.len() <= entry.key_len));
                        if options == STRICT {
                            assert!(top.seal() == image);
                        }
                        top.offer(b"new", KeyHash::of(b"new", 0), u64::MAX);
                        top.sort();
                        assert!(TopKRef::open(top.seal(), STRICT).is_ok());
                    }
                }
            }
        }
    }
}

#[test]
fn impossible_entries_are_refused() {
    // Three places, two of them taken: hashes at 64, counts at 88, lengths at 112, keys of 8 bytes at 124, then zeros.
    let mut top = top(3, 8);
    for (key, hash, count) in [(&b"ab"[..], 7, 5), (b"longer than 8", 9, 5)] {
        assert!(top.offer(key, KeyHash::from_raw(hash), count));
    }
    let image = top.seal().to_vec();
    assert_eq!((image.len(), top.params().payload_bytes()), (192, 128));
    let with = |changes: &[(usize, u8)]| {
        let mut changed = image.clone();
        changes.iter().for_each(|&(at, value)| changed[at] = value);
        let mut unsealed = changed.clone();
        unsealed[6] = 0;
        unsealed[48..64].fill(0);
        let len = |opened: Result<TopKRef<'_>, Error>| opened.map(|top| top.len());
        (len(TopKRef::open(&resealed(changed), STRICT)), len(TopKRef::open(&unsealed, UNSEALED)))
    };
    let (bad, two) = (Err(Error::BadPayload), Ok(2));
    assert_eq!(with(&[]), (two, two));
    // Out of order, by hash where counts are equal: only sealed images are in order.
    assert_eq!(with(&[(64, 10)]), (bad, two));
    assert_eq!(with(&[(88, 4)]), (bad, two));
    assert_eq!(with(&[(96, 6)]), (bad, two));
    assert_eq!(with(&[(64, 10), (88, 6)]), (two, two));
    // One entry twice.
    assert_eq!(with(&[(72, 7)]), (bad, two));
    // A free entry that is not all zeros: hash, count, length, key, and what is behind.
    for at in [80, 87, 120, 123, 140, 147, 148, 191] {
        assert_eq!(with(&[(at, 1)]), (bad, bad), "byte {at}");
    }
    // A count of 0 in the middle leaves a hole, at the end an entry that is half free.
    assert_eq!(with(&[(88, 0)]), (bad, bad));
    assert_eq!(with(&[(96, 0)]), (bad, bad));
    // A third entry that counts, with nothing else: hash 0, no bytes.
    assert_eq!(with(&[(104, 1)]), (Ok(3), Ok(3)));
    assert_eq!(with(&[(104, 6)]), (bad, Ok(3)));
    // Bytes behind the key: a length below what is there. Longer ones were cut, or end in zeros.
    assert_eq!(with(&[(112, 1)]), (bad, bad));
    assert_eq!(with(&[(112, 0)]), (bad, bad));
    assert_eq!(with(&[(116, 7)]), (bad, bad));
    for len in [3, 8, 9, 255] {
        assert_eq!(with(&[(112, len), (115, len)]), (two, two));
    }
    // Other shapes of as many bytes.
    assert_eq!(with(&[(32, 0)]).0, Err(Error::BadParameter));
    assert_eq!(with(&[(34, 2)]).0, Err(Error::BadParameter));
    assert_eq!(with(&[(38, 2)]).0, Err(Error::BadParameter));
    for at in 40..48 {
        assert_eq!(with(&[(at, 1)]), (Err(Error::UnknownFlag), Err(Error::UnknownFlag)));
    }
}

/// A changed byte is a change of the format, and needs a new version. `SKETCHLINE_BLESS=1` writes the files.
#[test]
fn golden_images() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/topk/");
    let list = std::fs::read_to_string(format!("{data}images.txt")).unwrap();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let [file, numbers @ ..] = &line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
        let [k, max_key_bytes, seed, keys] = std::array::from_fn(|i| numbers[i].parse::<u64>().unwrap());
        let hashing = HashScheme::Xxh3 { seed };
        let shape = CmsParams::of_width(CmsLayout::Rows, CounterSize::U32, 4096, 4).unwrap();
        let params = TopKParams::new(k as u32, max_key_bytes as u32).unwrap().with_hashing(hashing);
        for_every_isa(|isa| {
            let mut sketch = CountMinSketch::new(shape.with_hashing(hashing)).unwrap().with_isa(isa);
            let mut top = HeavyHitters::new(params).unwrap();
            for i in 0..keys {
                let key: Vec<u8> = (0..i).map(|i| i as u8).collect();
                top.add(&mut sketch, &key, 1 + 7 * i % 10).unwrap();
            }
            let path = format!("{data}{file}");
            if std::env::var_os("SKETCHLINE_BLESS").is_some() {
                std::fs::write(&path, top.seal()).unwrap();
            }
            assert!(top.seal() == std::fs::read(&path).unwrap(), "{file} {isa:?}");
        });
    }
}
