//! Shared by the tests: random numbers, the scalar definition at work, a runner for every instruction set.
#![allow(dead_code)] // Each test binary uses a part of it.

use sketchline::{Block, Bloom, Isa, KeyBatch, KeyHash, Lines, block_index, block_mask};
use std::io::Write;
use std::sync::Once;

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn hashes(&mut self, len: usize) -> Vec<u64> {
        (0..len).map(|_| self.next()).collect()
    }
}

/// Hashes at the edges: first and last block, all and no bits of either half, every turn and pattern word.
pub(crate) const EXTREME: [u64; 16] = [
    0,
    1,
    7,
    56,
    63,
    u64::MAX,
    u64::MAX - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 33) - 1,
    1 << 63,
    !(1 << 63),
    0xffff_ffff_0000_0000,
    0xffff_ffff_8000_0000,
    0x8000_0000_0000_0001,
];

/// Runs a test on every instruction set that this machine has, and says which. A name in the environment
/// variable `REQUIRE_ISA` (several: with commas) makes its absence a failure.
pub(crate) fn for_every_isa(test: impl FnMut(Isa)) {
    static ONCE: Once = Once::new();
    let names: Vec<_> = Isa::available().map(Isa::name).collect();
    // Not `eprintln!`, which the test harness captures.
    let line = format!("instruction sets: {}\n", names.join(" "));
    ONCE.call_once(|| std::io::stderr().write_all(line.as_bytes()).unwrap());
    for required in std::env::var("REQUIRE_ISA").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        assert!(names.contains(&required), "REQUIRE_ISA={required}, but there are only {names:?}");
    }
    Isa::available().for_each(test);
}

/// The bits of a hash as the 64 bytes of a block, from the scalar definition.
pub(crate) fn mask_bytes(hash: u64, num_probes: u32) -> Block {
    let mut bytes = [0; 64];
    for (bytes, lane) in bytes.chunks_mut(8).zip(block_mask(hash, num_probes)) {
        bytes.copy_from_slice(&lane.to_le_bytes());
    }
    bytes
}

/// The bytes of the block of a hash.
pub(crate) fn block_range(payload: &[u8], hash: u64) -> std::ops::Range<usize> {
    let at = 64 * block_index(hash, payload.len() as u64 / 64);
    at..at + 64
}

/// Whether a payload contains a hash, by the scalar definition.
pub(crate) fn naive_contains(payload: &[u8], num_probes: u32, hash: u64) -> bool {
    let block = &payload[block_range(payload, hash)];
    block.iter().zip(mask_bytes(hash, num_probes)).all(|(have, want)| have & want == want)
}

/// Inserts a hash by the scalar definition, and tells whether it was contained before.
pub(crate) fn naive_insert(payload: &mut [u8], num_probes: u32, hash: u64) -> bool {
    let seen = naive_contains(payload, num_probes, hash);
    let range = block_range(payload, hash);
    payload[range].iter_mut().zip(mask_bytes(hash, num_probes)).for_each(|(have, want)| *have |= want);
    seen
}

/// Bit `i % 64` of word `i / 64` for answer `i`.
pub(crate) fn bitmap(answers: &[bool]) -> Vec<u64> {
    let word = |answers: &[bool]| answers.iter().rev().fold(0, |word, &yes| word << 1 | u64::from(yes));
    answers.chunks(64).map(word).collect()
}

/// What is in an output before the call: it must go where an answer belongs and stay where none does.
pub(crate) const JUNK: u64 = 0xdead_beef_dead_beef;

/// All batch look-ups give the expected answers: bitmap, count, selection, selection in place.
#[track_caller]
pub(crate) fn assert_answers<S: Lines>(filter: &Bloom<S>, keys: &dyn KeyBatch, expected: &[bool]) {
    let mut words = vec![JUNK; expected.len().div_ceil(64) + 1];
    assert_eq!(filter.contains_batch(keys, &mut words), Ok(()));
    assert_eq!(words.pop(), Some(JUNK), "a word beyond the answers changed");
    assert_eq!(words, bitmap(expected), "bitmap of {} keys", expected.len());

    let is_hit = |i: &u32| expected[*i as usize];
    let hits: Vec<u32> = (0..expected.len() as u32).filter(is_hit).collect();
    assert_eq!(filter.count_batch(keys), Ok(hits.len()));

    let mut selected = vec![JUNK as u32; expected.len() + 1];
    assert_eq!(filter.select_batch(keys, &mut selected), Ok(hits.len()));
    assert_eq!(selected[..hits.len()], hits);
    assert_eq!(selected[expected.len()], JUNK as u32);

    // Every third key, the last first, each of them twice.
    let mut selection: Vec<u32> = (0..expected.len() as u32).rev().step_by(3).flat_map(|i| [i, i]).collect();
    let hits: Vec<u32> = selection.iter().copied().filter(is_hit).collect();
    assert_eq!(filter.select_in_place(keys, &mut selection), Ok(hits.len()));
    assert_eq!(selection[..hits.len()], hits);
}

/// Memory of so many bytes that starts `offset` bytes after a cache line does, with guard bytes around it.
pub(crate) struct Guarded {
    memory: Vec<u8>,
    range: std::ops::Range<usize>,
}

impl Guarded {
    const GUARD: u8 = 0xa5;

    pub(crate) fn new(len: usize, offset: usize) -> Self {
        let mut memory = vec![Self::GUARD; len + 256];
        let start = memory.as_ptr().align_offset(64) + 64 + offset;
        memory[start..start + len].fill(0);
        Self { memory, range: start..start + len }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.range.clone()]
    }

    /// The bytes, after a look at the guards.
    #[track_caller]
    pub(crate) fn checked(&self) -> &[u8] {
        let (before, after) = (&self.memory[..self.range.start], &self.memory[self.range.end..]);
        assert!(before.iter().chain(after).all(|byte| *byte == Self::GUARD), "a byte outside the filter changed");
        &self.memory[self.range.clone()]
    }
}

/// The image with both checksums made right again.
pub(crate) fn resealed(mut image: Vec<u8>) -> Vec<u8> {
    let payload = KeyHash::of(&image[64..], 0).raw();
    image[48..56].copy_from_slice(&payload.to_le_bytes());
    let header = KeyHash::of(&image[..56], 0).raw();
    image[56..64].copy_from_slice(&header.to_le_bytes());
    image
}
