//! Bare payloads: blocks without a header, for hosts that keep the parameters in metadata of their own.
//!
//! These build the filter anew in each call, from three arguments; there is no handle.

use crate::bloom::answered;
use crate::memory::{array, array_mut};
use crate::status::skl_status;
use core::ffi::{c_int, c_void};
use sketchline::{BloomMut, BloomRef, HashScheme, Hashes, KeyHash};

/// The bare-payload calls take hashes alone, so that no seed is asked for.
const HASHES_ONLY: HashScheme = HashScheme::Caller { tag: 0 };

/// # Safety
/// `payload` has `len` readable bytes that nothing writes to during `'a`.
#[inline(always)]
unsafe fn view<'a>(payload: *const c_void, len: usize, num_probes: u32) -> Result<BloomRef<'a>, skl_status> {
    // SAFETY: the caller's contract.
    unsafe { Ok(BloomRef::over_payload(array(payload.cast(), len)?, num_probes, HASHES_ONLY)?) }
}

/// # Safety
/// `payload` has `len` writable bytes that nothing else touches during `'a`.
#[inline(always)]
unsafe fn view_mut<'a>(payload: *mut c_void, len: usize, num_probes: u32) -> Result<BloomMut<'a>, skl_status> {
    // SAFETY: the caller's contract.
    unsafe { Ok(BloomMut::over_payload_mut(array_mut(payload.cast(), len)?, num_probes, HASHES_ONLY)?) }
}

/// Puts a hash into blocks without a header: `len` bytes, a positive multiple of 64 at any address, zeroed for an
/// empty filter. num_probes must be 1 to 16 and the same in every call.
///
/// # Safety
/// `payload` has `len` writable bytes that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_payload_insert_hash(
    payload: *mut c_void,
    len: usize,
    num_probes: u32,
    hash: u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { view_mut(payload, len, num_probes) }.map(|mut filter| filter.insert_hash(KeyHash::from_raw(hash))).into()
}

/// Whether the hash may be in blocks without a header: 1 maybe, 0 certainly not, negative a skl_status. Nothing
/// guards these bytes: a host that reads them from a disk keeps a checksum of its own, and answers "maybe" where
/// it does not match.
///
/// # Safety
/// `payload` has `len` readable bytes that nobody writes to meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_payload_contains_hash(
    payload: *const c_void,
    len: usize,
    num_probes: u32,
    hash: u64,
) -> c_int {
    // SAFETY: the caller's contract.
    answered(unsafe { view(payload, len, num_probes) }.map(|filter| filter.contains_hash(KeyHash::from_raw(hash))))
}

/// skl_bloom_payload_insert_hash of `n` hashes.
///
/// # Safety
/// As there; `hashes` has `n` readable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_payload_insert_hashes(
    payload: *mut c_void,
    len: usize,
    num_probes: u32,
    hashes: *const u64,
    n: usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    let insert = || unsafe {
        let hashes = array(hashes, n)?;
        view_mut(payload, len, num_probes)?.insert_hashes(hashes);
        Ok(())
    };
    insert().into()
}

/// skl_bloom_payload_contains_hash of `n` hashes, with bits as in skl_bloom_contains_hashes.
///
/// # Safety
/// As there; `hashes` has `n` readable numbers, `bitmap` (n + 63) / 64 writable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_payload_contains_hashes(
    payload: *const c_void,
    len: usize,
    num_probes: u32,
    hashes: *const u64,
    n: usize,
    bitmap: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let look_up = || unsafe {
        let (hashes, bitmap) = (array(hashes, n)?, array_mut(bitmap, n.div_ceil(64))?);
        Ok(view(payload, len, num_probes)?.contains_batch(&Hashes(hashes), bitmap)?)
    };
    look_up().into()
}
