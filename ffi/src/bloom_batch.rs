//! The Bloom filter: many keys in one call.

use crate::handle::{Handle, skl_bloom};
use crate::keys::{skl_keys, with_keys};
use crate::memory::{array, array_mut, out};
use crate::status::skl_status::{self, *};
use sketchline::{Hashes, KeyBatch, contains_batch_in_each};

/// Puts `n` hashes in.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile; `hashes` has `n` readable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_insert_hashes(handle: *mut skl_bloom, hashes: *const u64, n: usize) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match array(hashes, n) {
            Ok(hashes) => Handle::change(handle, |filter| filter.insert_batch(&Hashes(hashes))).into(),
            Err(status) => status,
        }
    }
}

/// Looks `n` hashes up: bit i % 64 of bitmap[i / 64] says whether hash i may have been inserted; the rest of
/// the last word is 0.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `hashes` has `n` readable numbers, `bitmap`
/// (n + 63) / 64 writable words apart from them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_contains_hashes(
    handle: *const skl_bloom,
    hashes: *const u64,
    n: usize,
    bitmap: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let look_up = || unsafe {
        let (hashes, bitmap) = (array(hashes, n)?, array_mut(bitmap, n.div_ceil(64))?);
        Ok(Handle::sketch(handle)?.contains_batch(&Hashes(hashes), bitmap)?)
    };
    look_up().into()
}

/// Puts a batch of keys in. If `seen` is not NULL, bit i % 64 of seen[i / 64] tells whether key i may have been
/// there before, exactly as if one key had been looked up and inserted after the other.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile; `keys` and its arrays are readable; `seen`
/// is NULL or has (keys->n + 63) / 64 writable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_insert_batch(
    handle: *mut skl_bloom,
    keys: *const skl_keys,
    seen: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let insert = |keys: &dyn KeyBatch| unsafe {
        if seen.is_null() {
            return Handle::change(handle, |filter| filter.insert_batch(keys));
        }
        let seen = array_mut(seen, keys.len().div_ceil(64))?;
        Handle::change(handle, |filter| filter.insert_batch_seen(keys, seen))
    };
    // SAFETY: the caller's contract.
    unsafe { with_keys(keys, insert) }.into()
}

/// Looks a batch of keys up, with bits as in skl_bloom_contains_hashes.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `keys` and its arrays are readable, `bitmap` has
/// (keys->n + 63) / 64 writable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_contains_batch(
    handle: *const skl_bloom,
    keys: *const skl_keys,
    bitmap: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let look_up = |keys: &dyn KeyBatch| unsafe {
        let bitmap = array_mut(bitmap, keys.len().div_ceil(64))?;
        Ok(Handle::sketch(handle)?.contains_batch(keys, bitmap)?)
    };
    // SAFETY: the caller's contract.
    unsafe { with_keys(keys, look_up) }.into()
}

/// Counts the keys of a batch that may have been inserted.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `keys` and its arrays are readable, `count` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_count_batch(
    handle: *const skl_bloom,
    keys: *const skl_keys,
    count: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    let look_up = |keys: &dyn KeyBatch| unsafe {
        let count = out(count)?;
        count.set(Handle::sketch(handle)?.count_batch(keys)?);
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { with_keys(keys, look_up) }.into()
}

/// Selection vector: writes the numbers of the keys that may have been inserted to `selected`, and how many
/// they are to `count`. With `candidates`, only those `n` keys are looked up, in that order; it may be the same
/// array as `selected`, else the two must not overlap. With `candidates` NULL and `n` equal to keys->n: all keys.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `keys` and its arrays are readable; `candidates` is NULL
/// or has `n` readable numbers; `selected` has `n` writable numbers; `count` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_select_batch(
    handle: *const skl_bloom,
    keys: *const skl_keys,
    candidates: *const u32,
    n: usize,
    selected: *mut u32,
    count: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    let select = |keys: &dyn KeyBatch| unsafe {
        let count = out(count)?;
        let filter = Handle::sketch(handle)?;
        let all = candidates.is_null();
        if all && n != keys.len() {
            return Err(SKL_ERR_ARGUMENT);
        }
        if all {
            count.set(filter.select_batch(keys, array_mut(selected, n)?)?);
            return Ok(());
        }
        count.set(if core::ptr::eq(candidates, selected) {
            filter.select_in_place(keys, array_mut(selected, n)?)?
        } else {
            filter.select_from(keys, array(candidates, n)?, array_mut(selected, n)?)?
        });
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { with_keys(keys, select) }.into()
}

/// One batch against many filters of one hash and seed, each key hashed once. Filter f writes its bits to
/// bitmaps[f * words] and on, where words = (keys->n + 63) / 64.
///
/// # Safety
/// `handles` has `n` readable pointers to filters that nobody writes to meanwhile; `keys` and its arrays are
/// readable; `bitmaps` has n * words writable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_contains_batch_in_each(
    handles: *const *const skl_bloom,
    n: usize,
    keys: *const skl_keys,
    bitmaps: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let look_up = |keys: &dyn KeyBatch| unsafe {
        let handles = array(handles, n)?;
        for handle in handles {
            Handle::sketch(*handle)?;
        }
        let words = keys.len().div_ceil(64);
        let bitmaps = array_mut(bitmaps, words.checked_mul(n).ok_or(SKL_ERR_LENGTH)?)?;
        // Each handle was found to be one just now.
        let filters = handles.iter().filter_map(|handle| Handle::sketch(*handle).ok());
        Ok(contains_batch_in_each(filters, keys, bitmaps)?)
    };
    // SAFETY: the caller's contract.
    unsafe { with_keys(keys, look_up) }.into()
}
