//! Every instruction set gives the bits and the answers of the scalar definition.

mod common;

use common::{
    EXTREME, Guarded, JUNK, Random, assert_answers, bitmap, block_range, for_every_isa, mask_bytes, naive_contains,
    naive_insert,
};
use sketchline::{BloomEstimate, BloomMut, BloomRef, Error, HashScheme, Hashes, Isa, KeyHash, U64Keys};

const PROBES: std::ops::RangeInclusive<u32> = 1..=16;
const HASHING: HashScheme = HashScheme::Caller { tag: 0 };

fn view(payload: &[u8], probes: u32, isa: Isa) -> BloomRef<'_> {
    BloomRef::over_payload(payload, probes, HASHING).unwrap().with_isa(isa)
}

fn view_mut(payload: &mut [u8], probes: u32, isa: Isa) -> BloomMut<'_> {
    BloomMut::over_payload_mut(payload, probes, HASHING).unwrap().with_isa(isa)
}

/// Hashes of which about half were inserted.
fn some_present(random: &mut Random, inserted: &[u64], len: usize) -> Vec<u64> {
    let one = |random: &mut Random| match random.next() % 2 {
        0 => inserted[random.below(inserted.len())],
        _ => random.next(),
    };
    (0..len).map(|_| one(random)).collect()
}

/// All look-ups, single and batch, equal the definition.
#[track_caller]
fn check_lookups(payload: &[u8], probes: u32, isa: Isa, hashes: &[u64]) {
    let filter = view(payload, probes, isa);
    let expected: Vec<bool> = hashes.iter().map(|&hash| naive_contains(payload, probes, hash)).collect();
    let single: Vec<bool> = hashes.iter().map(|&hash| filter.contains_hash(KeyHash::from_raw(hash))).collect();
    assert_eq!(single, expected, "{isa:?}, {probes} probes");
    assert_answers(&filter, &Hashes(hashes), &expected);
}

/// All inserts, single and batch, equal the definition. `payload` is left with the hashes inserted.
#[track_caller]
fn check_inserts(payload: &mut [u8], probes: u32, isa: Isa, hashes: &[u64]) {
    let mut expected = payload.to_vec();
    let seen: Vec<bool> = hashes.iter().map(|&hash| naive_insert(&mut expected, probes, hash)).collect();
    let context = format!("{isa:?}, {probes} probes, {} keys, {} bytes", hashes.len(), payload.len());

    let mut copy = payload.to_vec();
    hashes.iter().for_each(|&hash| view_mut(&mut copy, probes, isa).insert_hash(KeyHash::from_raw(hash)));
    assert!(copy == expected, "insert: {context}");

    copy.copy_from_slice(payload);
    let mut words = vec![JUNK; hashes.len().div_ceil(64) + 1];
    view_mut(&mut copy, probes, isa).insert_batch_seen(&Hashes(hashes), &mut words).unwrap();
    assert_eq!(words.pop(), Some(JUNK));
    assert_eq!(words, bitmap(&seen), "insert_batch_seen: {context}");
    assert!(copy == expected, "insert_batch_seen: {context}");

    view_mut(payload, probes, isa).insert_hashes(hashes);
    assert!(payload == expected, "insert_hashes: {context}");
}

#[test]
fn small_filters_and_all_batch_lengths() {
    for_every_isa(|isa| {
        for probes in PROBES {
            for num_blocks in [1, 2, 3, 7, 1000] {
                let mut random = Random(u64::from(probes) << 32 | num_blocks as u64);
                let mut inserted = random.hashes(num_blocks.min(150) * 20);
                inserted.extend(EXTREME);
                let mut payload = vec![0; 64 * num_blocks];
                check_inserts(&mut payload, probes, isa, &inserted);

                check_lookups(&payload, probes, isa, &EXTREME);
                for len in (0..=130).chain([511, 512, 513, 4095, 4096, 4097, 10_000]) {
                    let hashes = some_present(&mut random, &inserted, len);
                    check_lookups(&payload, probes, isa, &hashes);
                    check_inserts(&mut payload.clone(), probes, isa, &hashes);
                }
                // The same block and key over and over: each insert sees the one before.
                let again: Vec<u64> = (0..130).map(|i| [EXTREME[5], random.next()][i % 2]).collect();
                check_inserts(&mut vec![0; 64 * num_blocks], probes, isa, &again);
            }
        }
    });
}

/// A key is contained exactly if all its bits are set: its own bits alone will do, and all bits but one will not.
#[test]
fn every_bit_of_a_key_counts() {
    for_every_isa(|isa| {
        for probes in PROBES {
            let mut random = Random(u64::from(probes));
            for hash in EXTREME.into_iter().chain(random.hashes(100)) {
                let mask = mask_bytes(hash, probes);
                let mut payload = [0; 3 * 64];
                let block = block_range(&payload, hash);
                payload[block.clone()].copy_from_slice(&mask);
                check_lookups(&payload, probes, isa, &[hash; 9]);
                assert!(view(&payload, probes, isa).contains_hash(KeyHash::from_raw(hash)));
                for bit in (0..512).filter(|bit| mask[bit / 8] >> (bit % 8) & 1 == 1) {
                    let mut payload = [0xff; 3 * 64];
                    payload[block.start + bit / 8] &= !(1 << (bit % 8));
                    let filter = view(&payload, probes, isa);
                    assert!(!filter.contains_hash(KeyHash::from_raw(hash)), "{isa:?}, {probes} probes, bit {bit}");
                    assert_eq!(filter.count_batch(&Hashes(&[hash; 9])), Ok(0), "{isa:?}, {probes} probes, bit {bit}");
                }
            }
        }
    });
}

#[test]
fn any_alignment_and_nothing_outside_changes() {
    for_every_isa(|isa| {
        for offset in 0..64 {
            for probes in PROBES {
                let mut random = Random(offset as u64);
                let mut guarded = Guarded::new(7 * 64, offset);
                let mut expected = vec![0; 7 * 64];
                let hashes = [&EXTREME[..], &random.hashes(70)].concat();
                hashes.iter().for_each(|&hash| _ = naive_insert(&mut expected, probes, hash));

                let mut filter = view_mut(guarded.bytes(), probes, isa);
                let (single, rest) = hashes.split_at(20);
                let (batch, seen) = rest.split_at(33);
                single.iter().for_each(|&hash| filter.insert_hash(KeyHash::from_raw(hash)));
                filter.insert_hashes(batch);
                filter.insert_batch_seen(&Hashes(seen), &mut [0]).unwrap();
                assert!(guarded.checked() == expected, "{isa:?}, {probes} probes, offset {offset}");

                let asked = some_present(&mut random, &hashes, 80);
                check_lookups(guarded.checked(), probes, isa, &asked);
            }
        }
    });
}

/// Just above each power of two from 256 KiB to 128 MiB: a kernel may choose another path at any of them.
#[test]
fn large_filters() {
    let sizes = (12..=21).map(|log| (1 << log) + 1);
    let most = 64 * ((1 << 21) + 1);
    let (mut memory, mut expected) = (vec![0; most + 64], vec![0; most]);
    for_every_isa(|isa| {
        for (probes, num_blocks) in PROBES.flat_map(|probes| sizes.clone().map(move |size| (probes, size))) {
            let mut random = Random(u64::from(probes) ^ num_blocks as u64);
            let offset = 21 * (probes as usize % 3);
            let payload = &mut memory[offset..offset + 64 * num_blocks];
            let expected = &mut expected[..64 * num_blocks];

            let (mut hashes, mut lens) = (Vec::new(), [1, 8, 47, 63, 65, 95, 130, 193, 257, 4097].into_iter());
            let mut batch = EXTREME.to_vec();
            loop {
                // Some keys twice, so that both answers are seen.
                batch.extend_from_within(..batch.len().div_ceil(2));
                let seen: Vec<bool> = batch.iter().map(|&hash| naive_insert(expected, probes, hash)).collect();
                let mut words = vec![0; batch.len().div_ceil(64)];
                let mut filter = view_mut(payload, probes, isa);
                if batch.len().is_multiple_of(2) {
                    filter.insert_batch_seen(&Hashes(&batch), &mut words).unwrap();
                    assert_eq!(words, bitmap(&seen), "{isa:?}, {probes} probes, {num_blocks} blocks");
                } else {
                    filter.insert_hashes(&batch);
                }
                hashes.append(&mut batch);
                let Some(len) = lens.next() else { break };
                let asked = some_present(&mut random, &hashes, len);
                check_lookups(payload, probes, isa, &asked);
                batch = random.hashes(len);
            }
            // The blocks that were written, and for some numbers of probes, the last among them, all others.
            if probes % 5 == 1 {
                assert!(payload == expected, "{isa:?}, {probes} probes, {num_blocks} blocks");
            }
            for &hash in &hashes {
                let range = block_range(payload, hash);
                assert!(payload[range.clone()] == expected[range], "{isa:?}, {probes} probes, {num_blocks} blocks");
            }
            for hash in hashes {
                let range = block_range(payload, hash);
                payload[range.clone()].fill(0);
                expected[range].fill(0);
            }
        }
    });
}

/// Union, intersection and estimate, for payloads that end anywhere in a vector and lie anywhere in memory.
#[test]
fn whole_filter_operations() {
    let reference = |payload: &[u8]| {
        let ones = |block: &[u8]| block.iter().map(|byte| byte.count_ones()).sum::<u32>();
        let blocks: Vec<u32> = payload.chunks(64).map(ones).collect();
        let fill = f64::from(blocks.iter().sum::<u32>()) / (8 * payload.len()) as f64;
        let fpr = blocks.iter().map(|&ones| (f64::from(ones) / 512.0).powi(5)).sum::<f64>() / blocks.len() as f64;
        (fill, fpr)
    };
    let mut estimates = Vec::<BloomEstimate>::new();
    for_every_isa(|isa| {
        let mut of_this_isa = Vec::new();
        for num_blocks in (1..=17).chain([63, 1000]) {
            for offset in [0, 1, 7, 8, 15, 16, 31, 32, 33, 63] {
                let mut random = Random((num_blocks * 64 + offset) as u64);
                let mut operand = |offset| {
                    let mut guarded = Guarded::new(64 * num_blocks, offset);
                    for block in guarded.bytes().chunks_mut(64) {
                        let density = random.next();
                        let word = |random: &mut Random| match density % 5 {
                            0 => 0,
                            1 => u64::MAX,
                            2 => random.next() & random.next(),
                            3 => random.next() | random.next(),
                            _ => random.next(),
                        };
                        block.chunks_mut(8).for_each(|lane| lane.copy_from_slice(&word(&mut random).to_le_bytes()));
                    }
                    guarded
                };
                let (mut a, mut b) = (operand(offset), operand((offset * 5 + 3) % 64));
                let pairs = || a.checked().iter().zip(b.checked());
                let either: Vec<u8> = pairs().map(|(a, b)| a | b).collect();
                let both: Vec<u8> = pairs().map(|(a, b)| a & b).collect();

                let estimate = view(a.checked(), 5, isa).estimate();
                let (fill, fpr) = reference(a.checked());
                assert_eq!(estimate.fill, fill, "{isa:?}, {num_blocks} blocks");
                assert!((estimate.fpr - fpr).abs() <= 1e-12, "{isa:?}, {num_blocks} blocks");
                of_this_isa.push(estimate);

                let before = a.checked().to_vec();
                view_mut(a.bytes(), 5, isa).union(&view(b.checked(), 5, Isa::PORTABLE)).unwrap();
                assert!(a.checked() == either, "{isa:?}, union of {num_blocks} blocks, offset {offset}");
                view_mut(b.bytes(), 5, isa).intersect(&view(&before, 5, Isa::PORTABLE)).unwrap();
                assert!(b.checked() == both, "{isa:?}, intersection of {num_blocks} blocks, offset {offset}");
            }
        }
        if estimates.is_empty() {
            estimates = of_this_isa;
        } else {
            assert_eq!(estimates, of_this_isa, "{isa:?}");
        }
    });
}

/// No kernel reads or writes past either end of anything: the pages around it fault.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_touched_beyond_the_ends() {
    use fence::{End, Fenced};
    for_every_isa(|isa| {
        // Small ones, and one for each path by size.
        for num_blocks in [1, 2, 3, 7, 64, 65, (1 << 13) + 1, (1 << 16) + 1, (1 << 20) + 1] {
            let len_bytes = 64 * num_blocks;
            let (mut payload, mut other) = (Fenced::new(len_bytes), Fenced::new(len_bytes));
            let (mut input, mut output) = (Fenced::new(8 * 600), Fenced::new(8 * 600));
            for probes in if num_blocks > 65 { vec![5, 8, 11] } else { PROBES.collect() } {
                let mut random = Random(u64::from(probes));
                for len in (0..=33).chain([63, 64, 65, 66, 95, 127, 128, 129, 191, 192, 193, 255, 256, 257, 513]) {
                    let hashes = input.words(len);
                    hashes.iter_mut().for_each(|hash| *hash = random.next());
                    hashes.iter_mut().zip([0, u64::MAX]).for_each(|(hash, edge)| *hash = edge);
                    let bits = output.words(len.div_ceil(64));
                    for end in [End::Low, End::High] {
                        let mut filter = view_mut(payload.bytes(len_bytes, end), probes, isa);
                        filter.contains_batch(&Hashes(hashes), bits).unwrap();
                        filter.insert_hashes(hashes);
                        filter.insert_batch_seen(&Hashes(hashes), bits).unwrap();
                        assert_eq!(filter.count_batch(&Hashes(hashes)), Ok(len));
                        // The same numbers as keys, which are hashed first.
                        let payload = payload.bytes(len_bytes, end);
                        let filter = BloomMut::over_payload_mut(payload, probes, HashScheme::NATIVE).unwrap();
                        let mut filter = filter.with_isa(isa);
                        filter.insert_batch(&U64Keys(hashes)).unwrap();
                        assert_eq!(filter.count_batch(&U64Keys(hashes)), Ok(len));
                        for hash in [0, u64::MAX].map(KeyHash::from_raw) {
                            filter.insert_hash(hash);
                            assert!(filter.contains_hash(hash));
                        }
                    }
                }
                for end in [End::Low, End::High] {
                    let other = view(other.bytes(len_bytes, end), probes, isa);
                    let mut filter = view_mut(payload.bytes(len_bytes, end), probes, isa);
                    filter.insert_hash(KeyHash::from_raw(u64::MAX));
                    assert!(filter.estimate().fill > 0.0);
                    filter.union(&other).unwrap();
                    filter.intersect(&other).unwrap();
                    assert_eq!(filter.estimate().fill, 0.0);
                }
            }
        }
    });
}

#[test]
fn levels() {
    let levels: Vec<u8> = Isa::available().map(Isa::level).collect();
    assert!(levels.is_sorted() && levels[0] == Isa::PORTABLE.level());
    for level in 0..=u8::MAX {
        match Isa::from_level(level) {
            Ok(isa) => assert!(isa.level() == level && levels.contains(&level)),
            Err(error) => assert!(error == Error::UnsupportedLevel && !levels.contains(&level)),
        }
    }
    assert_eq!(Isa::default_for_new(), Isa::detect());
    let level_of_new = || BloomRef::over_payload(&[0; 64], 1, HASHING).unwrap().state().level();
    for_every_isa(|isa| {
        isa.make_default();
        assert_eq!((Isa::default_for_new(), level_of_new()), (isa, isa.level()));
        assert_eq!(view(&[0; 64], 1, isa).state().level(), isa.level());
    });
}

#[cfg(target_os = "linux")]
mod fence {
    use std::ffi::{c_int, c_void};
    use std::ptr::null_mut;

    unsafe extern "C" {
        fn mmap(at: *mut c_void, len: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
        fn mprotect(at: *mut c_void, len: usize, protection: c_int) -> c_int;
        fn munmap(at: *mut c_void, len: usize) -> c_int;
    }

    const READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS: c_int = 0x22;
    /// A multiple of every page size in use.
    const PAGE: usize = 1 << 16;

    #[derive(Clone, Copy)]
    pub(crate) enum End {
        Low,
        High,
    }

    /// Zeroed memory with pages before and behind it that fault.
    pub(crate) struct Fenced {
        start: *mut u8,
        len: usize,
    }

    impl Fenced {
        pub(crate) fn new(len: usize) -> Self {
            let len = len.next_multiple_of(PAGE);
            // SAFETY: a new private mapping of whole pages, of which the inner ones become accessible.
            unsafe {
                let mapping = mmap(null_mut(), len + 2 * PAGE, 0, PRIVATE_ANONYMOUS, -1, 0);
                assert_ne!(mapping as isize, -1, "mmap");
                let start = mapping.add(PAGE);
                assert_eq!(mprotect(start, len, READ_WRITE), 0, "mprotect");
                Self { start: start.cast(), len }
            }
        }

        /// `len` bytes next to one of the fences.
        pub(crate) fn bytes(&mut self, len: usize, end: End) -> &mut [u8] {
            assert!(len <= self.len);
            // SAFETY: the mapping, borrowed as long as `self` is.
            let all = unsafe { std::slice::from_raw_parts_mut(self.start, self.len) };
            match end {
                End::Low => &mut all[..len],
                End::High => &mut all[self.len - len..],
            }
        }

        /// The last `len` words.
        pub(crate) fn words(&mut self, len: usize) -> &mut [u64] {
            // SAFETY: any bytes are a `u64`.
            let (_, words, _) = unsafe { self.bytes(8 * len, End::High).align_to_mut() };
            assert_eq!(words.len(), len);
            words
        }
    }

    impl Drop for Fenced {
        fn drop(&mut self) {
            // SAFETY: what `new` mapped.
            unsafe { munmap(self.start.sub(PAGE).cast(), self.len + 2 * PAGE) };
        }
    }
}
