//! Every form of batch gives what its keys give one by one, and a batch that is refused changes nothing.

mod common;

use common::{JUNK, Random, assert_answers, bitmap, for_every_isa};
use sketchline::{
    Arrow, BloomFilter, BloomParams, BloomRef, Error, HashScheme, Hashes, KeyBatch, KeyHash, Nullable, Slices, U64Keys,
    contains_batch_in_each,
};

const SEED: u64 = 7;
const LENGTHS: [usize; 12] = [0, 1, 7, 8, 63, 64, 65, 130, 511, 512, 513, 4097];

/// Byte keys of 0 to 40 bytes, one behind the other, behind a few bytes of somebody else.
struct Texts {
    bytes: Vec<u8>,
    offsets: Vec<u32>,
}

const START: u32 = 5;

impl Texts {
    fn new(random: &mut Random, len: usize) -> Self {
        let (mut bytes, mut offsets) = (vec![0xee; START as usize], vec![START]);
        for _ in 0..len {
            (0..random.below(41)).for_each(|_| bytes.push(random.next() as u8));
            offsets.push(bytes.len() as u32);
        }
        bytes.push(0xee);
        Self { bytes, offsets }
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0] as usize..ends[1] as usize]).collect()
    }
}

fn filter(blocks: u64, probes: u32) -> BloomFilter {
    let params = BloomParams::explicit(blocks, probes).unwrap();
    BloomFilter::new(params.with_hashing(HashScheme::Xxh3 { seed: SEED })).unwrap()
}

/// One batch against its keys one by one: hashes, and whether each is valid.
fn check(empty: &BloomFilter, keys: &dyn KeyBatch, hashes: &[KeyHash], valid: &[bool]) {
    let mut one_by_one = empty.clone();
    let mut seen = Vec::new();
    for (&hash, &valid) in hashes.iter().zip(valid) {
        seen.push(valid && one_by_one.contains_hash(hash));
        if valid {
            one_by_one.insert_hash(hash);
        }
    }
    let mut batch = empty.clone();
    batch.insert_batch(keys).unwrap();
    assert!(batch.blocks() == one_by_one.blocks());
    assert_eq!(batch.state().num_inserted(), one_by_one.state().num_inserted());

    let mut batch = empty.clone();
    let mut words = vec![JUNK; hashes.len().div_ceil(64) + 1];
    batch.insert_batch_seen(keys, &mut words).unwrap();
    assert_eq!(words.pop(), Some(JUNK));
    assert_eq!(words, bitmap(&seen));
    assert!(batch.blocks() == one_by_one.blocks());
    assert_eq!(batch.state().num_inserted(), one_by_one.state().num_inserted());

    // Of a filter with every other key, so that both answers occur.
    let mut half = empty.clone();
    hashes.iter().step_by(2).for_each(|&hash| half.insert_hash(hash));
    let answers: Vec<bool> =
        hashes.iter().zip(valid).map(|(&hash, &valid)| valid && half.contains_hash(hash)).collect();
    assert_answers(&half, keys, &answers);
    assert_answers(&half.view(), keys, &answers);
}

/// A batch as it is, and with NULLs in it.
fn check_nullable(empty: &BloomFilter, keys: impl KeyBatch + Copy, hashes: &[KeyHash]) {
    let len = hashes.len();
    assert_eq!((keys.len(), keys.is_empty()), (len, len == 0));
    check(empty, &keys, hashes, &vec![true; len]);
    for density in 0..3 {
        // Bits behind the last key are junk, and so is the byte behind them.
        let mut random = Random(len as u64 * 3 + density);
        let mut byte = || [0, random.next() as u8, 0xff][density as usize];
        let validity: Vec<u8> = (0..len.div_ceil(8)).map(|_| byte()).chain([0xff]).collect();
        let valid: Vec<bool> = (0..len).map(|i| validity[i / 8] >> (i % 8) & 1 == 1).collect();
        check(empty, &Nullable { keys, validity: &validity[..len.div_ceil(8)] }, hashes, &valid);
        check(empty, &Nullable { keys, validity: &validity }, hashes, &valid);
    }
}

#[test]
fn every_form_is_its_keys_one_by_one() {
    for_every_isa(|isa| {
        for len in LENGTHS {
            for (blocks, probes) in [(len as u64 / 30 + 1, 6), (2 + len as u64 / 16, 8), (len as u64 / 16 + 1, 13)] {
                let mut random = Random(len as u64);
                let empty = filter(blocks, probes).with_isa(isa);

                let mut numbers = random.hashes(len);
                numbers.iter_mut().skip(1).step_by(5).for_each(|number| *number = JUNK); // duplicates
                let hashes: Vec<_> = numbers.iter().map(|&number| KeyHash::from_raw(number)).collect();
                check_nullable(&empty, Hashes(&numbers), &hashes);
                let hashes: Vec<_> = numbers.iter().map(|&number| KeyHash::of_u64(number, SEED)).collect();
                check_nullable(&empty, U64Keys(&numbers), &hashes);

                let texts = Texts::new(&mut random, len);
                let (bytes, offsets, slices) = (&texts.bytes[..], &texts.offsets[..], texts.slices());
                let hashes: Vec<_> = slices.iter().map(|key| KeyHash::of(key, SEED)).collect();
                check_nullable(&empty, Slices(&slices), &hashes);
                check_nullable(&empty, Arrow { offsets, bytes }, &hashes);
                let offsets: &[i64] = &offsets.iter().map(|&offset| offset.into()).collect::<Vec<i64>>();
                check_nullable(&empty, Arrow { offsets, bytes }, &hashes);
            }
        }
    });
}

/// Integer keys hash alike one by one, in batches of any length and on every set.
#[test]
fn integer_keys_of_any_value_and_seed() {
    let edges = common::EXTREME.map(|edge| [edge, edge.swap_bytes()]).concat();
    for_every_isa(|isa| {
        for seed in [0, 1, SEED, 1 << 31, 1 << 32, u64::MAX, 0x8000_0000_0000_0000, 0x0123_4567_89ab_cdef] {
            let params = BloomParams::explicit(100, 16).unwrap().with_hashing(HashScheme::Xxh3 { seed });
            let empty = BloomFilter::new(params).unwrap().with_isa(isa);
            for len in (0..=130).chain([511, 512, 513, 1100]) {
                let mut keys = Random(seed ^ len as u64).hashes(len);
                keys.iter_mut().skip(len / 3).zip(&edges).for_each(|(key, edge)| *key = *edge);
                let (mut batch, mut single) = (empty.clone(), empty.clone());
                batch.insert_batch(&U64Keys(&keys)).unwrap();
                keys.iter().for_each(|key| single.insert(&key.to_le_bytes()).unwrap());
                assert!(batch.blocks() == single.blocks(), "{isa:?}, seed {seed:#x}, {len} keys");
                let mut selection: Vec<u32> = (0..len as u32).rev().collect();
                assert_eq!(batch.select_in_place(&U64Keys(&keys), &mut selection), Ok(len));
            }
        }
    });
}

#[test]
fn integer_keys_are_their_little_endian_bytes() {
    let mut filter = filter(10, 8);
    filter.insert_batch(&U64Keys(&[0x0102_0304_0506_0708])).unwrap();
    assert_eq!(filter.contains(&[8, 7, 6, 5, 4, 3, 2, 1]), Ok(true));
    assert_eq!(filter.contains_u64(0x0102_0304_0506_0708), Ok(true));
    assert_eq!(filter.contains_u64(0x0807_0605_0403_0201), Ok(false));
}

/// A NULL inside a NULL-able batch stays NULL.
#[test]
fn nested_validity() {
    let inner = Nullable { keys: U64Keys(&[1, 2, 3, 4]), validity: &[0b0011] };
    let keys = Nullable { keys: inner, validity: &[0b0101] };
    let mut filter = filter(100, 8);
    filter.insert_batch(&U64Keys(&[1, 2, 3, 4])).unwrap();
    let mut words = [0];
    filter.contains_batch(&keys, &mut words).unwrap();
    assert_eq!(words, [0b0001]);
}

/// Every call refuses the batch with this error, and neither filter nor output changes.
#[track_caller]
fn refused(keys: &dyn KeyBatch, error: Error) {
    let mut filter = filter(10, 8);
    filter.insert_u64(1).unwrap();
    refused_by(&mut filter, keys, error);
}

#[track_caller]
fn refused_by(filter: &mut BloomFilter, keys: &dyn KeyBatch, error: Error) {
    let before = (filter.seal().unwrap().to_vec(), filter.state().num_inserted());
    let (mut words, mut numbers) = ([JUNK; 4], [0, 1, 2]);
    assert_eq!(filter.contains_batch(keys, &mut words), Err(error));
    assert_eq!(filter.count_batch(keys), Err(error));
    assert_eq!(filter.select_batch(keys, &mut numbers), Err(error));
    assert_eq!(filter.select_in_place(keys, &mut numbers), Err(error));
    assert_eq!(filter.insert_batch(keys), Err(error));
    assert_eq!(filter.insert_batch_seen(keys, &mut words), Err(error));
    assert_eq!(contains_batch_in_each([filter.view()].into_iter(), keys, &mut words), Err(error));
    assert_eq!((words, numbers), ([JUNK; 4], [0, 1, 2]), "an output changed");
    assert!(filter.state().is_sealed());
    assert!((filter.as_bytes().to_vec(), filter.state().num_inserted()) == before, "the filter changed");
}

#[test]
fn offsets_that_contradict_themselves() {
    let bytes = b"0123456789";
    for offsets in [&[0, 5, 4, 10][..], &[3, 2], &[0, 11], &[11], &[11, 11], &[0, 1, u32::MAX], &[0, 20, 10]] {
        refused(&Arrow { offsets, bytes }, Error::BadKeys);
        let offsets: &[i64] = &offsets.iter().map(|&offset| offset.into()).collect::<Vec<i64>>();
        refused(&Arrow { offsets, bytes }, Error::BadKeys);
        refused(&Nullable { keys: Arrow { offsets, bytes }, validity: &[0] }, Error::BadKeys);
    }
    for offsets in [&[-1][..], &[-1, 5], &[0, -1], &[i64::MIN, i64::MAX], &[0, 1 << 32], &[0, i64::MAX], &[-5, -1]] {
        refused(&Arrow { offsets, bytes }, Error::BadKeys);
    }
    // A long batch with one bad offset, far behind the first buffer.
    let mut offsets = vec![4u32; 2000];
    offsets[1500] = 3;
    refused(&Arrow { offsets: &offsets, bytes }, Error::BadKeys);
}

#[test]
fn offsets_at_the_edges() {
    let filter = filter(10, 8);
    for offsets in [&[][..], &[0], &[10]] {
        assert_answers(&filter, &Arrow::<u32> { offsets, bytes: b"0123456789" }, &[]);
    }
    assert_answers(&filter, &Arrow::<i64> { offsets: &[0], bytes: b"" }, &[]);
    assert_answers(&filter, &Arrow::<i64> { offsets: &[0, 0, 0], bytes: b"" }, &[false; 2]);
    assert_answers(&filter, &Arrow::<u32> { offsets: &[10, 10], bytes: b"0123456789" }, &[false]);
}

#[test]
fn validity_that_is_too_short() {
    refused(&Nullable { keys: U64Keys(&[1; 9]), validity: &[0xff] }, Error::BadKeys);
    refused(&Nullable { keys: Hashes(&[1]), validity: &[] }, Error::BadKeys);
    refused(&Nullable { keys: Slices(&[b"".as_slice(); 65]), validity: &[0xff; 8] }, Error::BadKeys);
    assert_answers(&filter(1, 1), &Nullable { keys: U64Keys(&[]), validity: &[] }, &[]);
}

#[test]
fn outputs_that_are_too_short() {
    let mut filter = filter(10, 8);
    let before = filter.seal().unwrap().to_vec();
    let (numbers, offsets) = ([1; 65], [0; 66]);
    let batches: [&dyn KeyBatch; 3] = [
        &Hashes(&numbers),
        &Arrow::<u32> { offsets: &offsets, bytes: b"" },
        &Nullable { keys: U64Keys(&numbers), validity: &[0xff; 9] },
    ];
    for keys in batches {
        let (mut words, mut selected) = ([JUNK], [JUNK as u32; 64]);
        assert_eq!(filter.contains_batch(keys, &mut words), Err(Error::BufferTooSmall));
        assert_eq!(filter.insert_batch_seen(keys, &mut words), Err(Error::BufferTooSmall));
        assert_eq!(filter.select_batch(keys, &mut selected), Err(Error::BufferTooSmall));
        let two = [filter.view(), filter.view()];
        assert_eq!(contains_batch_in_each(two.into_iter(), keys, &mut [JUNK; 3]), Err(Error::BufferTooSmall));
        assert_eq!((words, selected), ([JUNK], [JUNK as u32; 64]));
    }
    assert!(filter.state().is_sealed() && filter.as_bytes() == before);
}

#[test]
fn selected_numbers_beyond_the_batch() {
    let filter = filter(10, 8);
    for bad in [[3, 0, 0], [0, 0, 3], [0, u32::MAX, 0]] {
        let mut selection = bad;
        assert_eq!(filter.select_in_place(&U64Keys(&[1, 2, 3]), &mut selection), Err(Error::BadKeys));
        assert_eq!(selection, bad);
    }
    let mut late = vec![0; 2000];
    late[1999] = 3;
    assert_eq!(filter.select_in_place(&U64Keys(&[1, 2, 3]), &mut late), Err(Error::BadKeys));
    assert_eq!(filter.select_in_place(&U64Keys(&[]), &mut []), Ok(0));
    assert_eq!(filter.select_in_place(&U64Keys(&[]), &mut [0]), Err(Error::BadKeys));
}

#[test]
fn keys_where_the_caller_hashes() {
    let caller = HashScheme::Caller { tag: 9 };
    let params = BloomParams::explicit(10, 8).unwrap().with_hashing(caller);
    let mut filter = BloomFilter::new(params).unwrap();
    let offsets = &[0u32, 0];
    let batches: [&dyn KeyBatch; 4] = [
        &U64Keys(&[1]),
        &Slices(&[b"a"]),
        &Arrow { offsets, bytes: b"" },
        &Nullable { keys: U64Keys(&[1]), validity: &[1] },
    ];
    for keys in batches {
        refused_by(&mut filter, keys, Error::CallerHash);
    }
    assert_eq!(filter.insert(b"a"), Err(Error::CallerHash));
    assert_eq!(filter.insert_u64(1), Err(Error::CallerHash));
    assert_eq!(filter.contains(b"a"), Err(Error::CallerHash));
    assert_eq!(filter.contains_u64(1), Err(Error::CallerHash));
    assert!(filter.state().is_sealed());
    filter.insert_batch(&Hashes(&[5])).unwrap();
    assert_eq!(filter.count_batch(&Nullable { keys: Hashes(&[5, 5, 6]), validity: &[0b110] }), Ok(1));
}

#[test]
fn one_batch_in_each_of_many_filters() {
    for_every_isa(|isa| {
        for len in LENGTHS {
            let mut random = Random(len as u64);
            let numbers = random.hashes(len);
            let validity: Vec<u8> = (0..len.div_ceil(8)).map(|_| random.next() as u8).collect();
            let mut filters: Vec<_> = (1..=9).map(|i| filter(i * i, i as u32).with_isa(isa)).collect();
            for (i, filter) in filters.iter_mut().enumerate() {
                filter.insert_batch(&U64Keys(&numbers[i * len / 10..])).unwrap();
            }
            let batches: [&dyn KeyBatch; 3] =
                [&Hashes(&numbers), &U64Keys(&numbers), &Nullable { keys: U64Keys(&numbers), validity: &validity }];
            for keys in batches {
                let words = len.div_ceil(64);
                let mut together = vec![JUNK; words * filters.len() + 1];
                contains_batch_in_each(filters.iter().map(BloomFilter::view), keys, &mut together).unwrap();
                assert_eq!(together.pop(), Some(JUNK));
                let mut apart = vec![0; words * filters.len()];
                for (filter, apart) in filters.iter().zip(apart.chunks_mut(words.max(1))) {
                    filter.contains_batch(keys, apart).unwrap();
                }
                assert_eq!(together, apart);
            }
        }
    });
    let other = BloomFilter::new(BloomParams::explicit(10, 8).unwrap()).unwrap();
    let filters = [filter(10, 8), other];
    let views = filters.iter().map(BloomFilter::view);
    assert_eq!(contains_batch_in_each(views, &U64Keys(&[1]), &mut [0; 2]), Err(Error::Incompatible));
    assert_eq!(contains_batch_in_each(std::iter::empty::<BloomRef<'_>>(), &U64Keys(&[1]), &mut []), Ok(()));
}

/// A batch layout of the host's own needs three methods.
#[test]
fn a_layout_of_ones_own() {
    struct Pairs<'a>(&'a [(u32, u32)]);
    impl KeyBatch for Pairs<'_> {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn check(&self, _: HashScheme) -> Result<(), Error> {
            Ok(())
        }
        fn key_hash(&self, i: usize, seed: u64) -> KeyHash {
            KeyHash::of_u64(u64::from(self.0[i].0) << 32 | u64::from(self.0[i].1), seed)
        }
    }
    let pairs: Vec<_> = (0..600).map(|i| (i, i * i)).collect();
    let hashes: Vec<_> = (0..pairs.len()).map(|i| Pairs(&pairs).key_hash(i, SEED)).collect();
    check(&filter(30, 5), &Pairs(&pairs), &hashes, &vec![true; pairs.len()]);
}
