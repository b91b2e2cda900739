//! Each vector algorithm once. Names no instruction set.

use super::{EACH_LANE, Occupancy, prefetch_read, prefetch_write};
use crate::KeyHash;
use crate::block::{BLOCK_BYTES, Block, lanes};
use crate::bloom::probe::{Pattern, block_index};

/// What an instruction set must be able to do to a block.
///
/// `word` is [`Pattern::word`] of the hash; a class `C` that uses each lane ([`EACH_LANE`]) ignores it.
///
/// # Safety
/// Every method may run vendor instructions: call only from a function that enables them.
pub(super) trait BlockOps {
    /// Whether every bit of the hash is set in its block.
    unsafe fn contains<const C: u8>(block: &Block, hash: u64, word: u64) -> bool;

    /// Sets every bit of the hash in its block.
    unsafe fn insert<const C: u8>(block: &mut Block, hash: u64, word: u64);
}

#[inline(always)]
fn word<const C: u8>(pattern: &Pattern, hash: u64) -> u64 {
    if C == EACH_LANE { 0 } else { pattern.word(hash) }
}

/// # Safety
/// There is a block.
#[inline(always)]
unsafe fn block_of(blocks: &[Block], hash: u64) -> &Block {
    // SAFETY: `block_index` is below its second argument whenever that is not zero.
    unsafe { blocks.get_unchecked(block_index(hash, blocks.len() as u64)) }
}

/// # Safety
/// There is a block.
#[inline(always)]
unsafe fn block_of_mut(blocks: &mut [Block], hash: u64) -> &mut Block {
    let index = block_index(hash, blocks.len() as u64);
    // SAFETY: as in `block_of`.
    unsafe { blocks.get_unchecked_mut(index) }
}

/// # Safety
/// The caller enables the features of `V`; there is a block.
#[inline(always)]
pub(super) unsafe fn contains<V: BlockOps, const C: u8>(blocks: &[Block], pattern: &Pattern, hash: u64) -> bool {
    // SAFETY: the caller's contract.
    unsafe { V::contains::<C>(block_of(blocks, hash), hash, word::<C>(pattern, hash)) }
}

/// # Safety
/// The caller enables the features of `V`; there is a block.
#[inline(always)]
pub(super) unsafe fn insert<V: BlockOps, const C: u8>(blocks: &mut [Block], pattern: &Pattern, hash: u64) {
    // SAFETY: the caller's contract.
    unsafe { V::insert::<C>(block_of_mut(blocks, hash), hash, word::<C>(pattern, hash)) }
}

/// How many keys to look ahead, by the size of the filter: the block of a key is asked for when the key that
/// many places before it is probed.
///
/// A rolling distance: fixed groups lose 15 to 20 %.
#[inline(always)]
pub(super) fn look_ahead(blocks: &[Block]) -> usize {
    const KIB: usize = 1024 / BLOCK_BYTES;
    const MIB: usize = 1024 * KIB;
    match blocks.len() {
        len if len <= 512 * KIB => 0,       // at home in the L1 or L2 cache
        len if len <= 4 * MIB => 32,        // in L2 and beside it
        len if len <= 64 * MIB => FARTHEST, // in L3: many short misses
        _ => 96,                            // in memory: as many as a core can have under way
    }
}

pub(super) const FARTHEST: usize = 256;

/// # Safety
/// The caller enables the features of `V`; there is a block; `out` has a bit per hash.
#[inline(always)]
pub(super) unsafe fn contains_batch<V: BlockOps, const C: u8>(
    blocks: &[Block],
    pattern: &Pattern,
    hashes: &[u64],
    out: &mut [u64],
) {
    // SAFETY: the caller's contract.
    unsafe {
        match look_ahead(blocks) {
            0 => probe_words::<V, C, false>(blocks, pattern, hashes, out, 0),
            distance => probe_words::<V, C, true>(blocks, pattern, hashes, out, distance),
        }
    }
}

/// # Safety
/// As `contains_batch`.
#[inline(always)]
unsafe fn probe_words<V: BlockOps, const C: u8, const AHEAD: bool>(
    blocks: &[Block],
    pattern: &Pattern,
    hashes: &[u64],
    out: &mut [u64],
    distance: usize,
) {
    let mut ahead = hashes.iter();
    if AHEAD {
        for &hash in ahead.by_ref().take(distance) {
            // SAFETY: there is a block.
            prefetch_read(unsafe { block_of(blocks, hash) });
        }
    }
    for (hashes, out) in hashes.chunks(64).zip(out) {
        let mut bits = 0;
        for (i, &hash) in hashes.iter().enumerate() {
            if AHEAD && let Some(&hash) = ahead.next() {
                // SAFETY: there is a block.
                prefetch_read(unsafe { block_of(blocks, hash) });
            }
            // SAFETY: the caller's contract.
            bits |= u64::from(unsafe { contains::<V, C>(blocks, pattern, hash) }) << i;
        }
        *out = bits;
    }
}

/// # Safety
/// The caller enables the features of `V`; there is a block.
#[inline(always)]
pub(super) unsafe fn insert_batch<V: BlockOps, const C: u8>(blocks: &mut [Block], pattern: &Pattern, hashes: &[u64]) {
    // SAFETY: the caller's contract.
    unsafe { insert_by_size::<V, C, false>(blocks, pattern, hashes, &mut []) }
}

/// # Safety
/// The caller enables the features of `V`; there is a block; `out` has a bit per hash.
#[inline(always)]
pub(super) unsafe fn insert_batch_seen<V: BlockOps, const C: u8>(
    blocks: &mut [Block],
    pattern: &Pattern,
    hashes: &[u64],
    out: &mut [u64],
) {
    // SAFETY: the caller's contract.
    unsafe { insert_by_size::<V, C, true>(blocks, pattern, hashes, out) }
}

/// # Safety
/// The caller enables the features of `V`; there is a block; `out` has a bit per hash where `SEEN`.
#[inline(always)]
unsafe fn insert_by_size<V: BlockOps, const C: u8, const SEEN: bool>(
    blocks: &mut [Block],
    pattern: &Pattern,
    hashes: &[u64],
    out: &mut [u64],
) {
    // SAFETY: the caller's contract.
    unsafe {
        match look_ahead(blocks) {
            0 => insert_each::<V, C, SEEN, false>(blocks, pattern, hashes, out, 0),
            distance => insert_each::<V, C, SEEN, true>(blocks, pattern, hashes, out, distance),
        }
    }
}

/// # Safety
/// As `insert_by_size`.
#[inline(always)]
unsafe fn insert_each<V: BlockOps, const C: u8, const SEEN: bool, const AHEAD: bool>(
    blocks: &mut [Block],
    pattern: &Pattern,
    hashes: &[u64],
    out: &mut [u64],
    distance: usize,
) {
    let mut ahead = hashes.iter();
    if AHEAD {
        for &hash in ahead.by_ref().take(distance) {
            // SAFETY: there is a block.
            prefetch_write(unsafe { block_of_mut(blocks, hash) });
        }
    }
    for (n, hashes) in hashes.chunks(64).enumerate() {
        let mut bits = 0;
        for (i, &hash) in hashes.iter().enumerate() {
            if AHEAD && let Some(&hash) = ahead.next() {
                // SAFETY: there is a block.
                prefetch_write(unsafe { block_of_mut(blocks, hash) });
            }
            // SAFETY: there is a block.
            let block = unsafe { block_of_mut(blocks, hash) };
            let word = word::<C>(pattern, hash);
            // SAFETY: the caller's contract.
            unsafe {
                if SEEN {
                    bits |= u64::from(V::contains::<C>(block, hash, word)) << i;
                }
                V::insert::<C>(block, hash, word);
            }
        }
        if SEEN && let Some(out) = out.get_mut(n) {
            *out = bits;
        }
    }
}

/// Hashes integer keys. Plain code, but compiled for eight keys at a time where the registers are wide
/// enough: 0.13 ns per key with AVX-512 and 0.59 with AVX2 against 1.03 one by one (Zen 5).
#[inline(always)]
pub(super) fn hash_u64s(keys: &[u64], seed: u64, out: &mut [u64]) {
    for (key, out) in keys.iter().zip(out) {
        *out = KeyHash::of_u64(*key, seed).raw();
    }
}

/// `target |= source`.
#[inline(always)]
pub(super) fn union(target: &mut [Block], source: &[Block]) {
    for (target, source) in target.as_flattened_mut().iter_mut().zip(source.as_flattened()) {
        *target |= source;
    }
}

/// `target &= source`.
#[inline(always)]
pub(super) fn intersect(target: &mut [Block], source: &[Block]) {
    for (target, source) in target.as_flattened_mut().iter_mut().zip(source.as_flattened()) {
        *target &= source;
    }
}

/// Counts each block under its number of set bits.
#[inline(always)]
pub(super) fn occupancy(blocks: &[Block], histogram: &mut Occupancy) {
    for block in blocks {
        let ones: u32 = lanes(block).iter().map(|lane| lane.count_ones()).sum();
        if let Some(count) = histogram.get_mut(ones as usize) {
            *count += 1;
        }
    }
}
