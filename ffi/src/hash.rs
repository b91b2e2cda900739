//! Hash functions.

use crate::keys::{skl_keys, with_keys};
use crate::memory::{array, array_mut, out};
use crate::status::skl_status::{self, *};
use core::ffi::c_void;
use sketchline::{HashScheme, Isa, KeyHash};

/// Which hash a sketch holds. Sketches with different hashes never merge.
#[repr(u32)]
pub enum skl_hash_id {
    /// XXH3-64 with the seed of the sketch. Takes keys and hashes.
    SKL_HASH_XXH3 = 1,
    /// The caller's own 64-bit hash, well mixed in all bits; takes hashes only. The seed field then holds any
    /// number that names the caller's hash.
    SKL_HASH_CALLER = 2,
}

pub(crate) fn scheme(id: u32, seed: u64) -> Result<HashScheme, skl_status> {
    const XXH3: u32 = skl_hash_id::SKL_HASH_XXH3 as u32;
    const CALLER: u32 = skl_hash_id::SKL_HASH_CALLER as u32;
    match id {
        XXH3 => Ok(HashScheme::Xxh3 { seed }),
        CALLER => Ok(HashScheme::Caller { tag: seed }),
        _ => Err(SKL_ERR_HASH),
    }
}

pub(crate) fn id(scheme: HashScheme) -> u32 {
    match scheme {
        HashScheme::Xxh3 { .. } => skl_hash_id::SKL_HASH_XXH3 as u32,
        HashScheme::Caller { .. } => skl_hash_id::SKL_HASH_CALLER as u32,
    }
}

/// XXH3-64 of a key, as the key functions of a sketch with this seed compute it. (NULL, 0) is the empty key.
/// Bytes are hashed as given: what your engine calls equal must be equal bytes.
///
/// # Safety
/// `key` points to `len` readable bytes, `hash` to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hash_bytes(key: *const c_void, len: usize, seed: u64, hash: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { array(key.cast::<u8>(), len).and_then(|key| Ok((key, out(hash)?))) };
    checked.map(|(key, hash)| hash.set(KeyHash::of(key, seed).raw())).into()
}

/// XXH3-64 of an integer key: of its eight little-endian bytes, on every machine.
#[unsafe(no_mangle)]
pub extern "C" fn skl_hash_u64(key: u64, seed: u64) -> u64 {
    KeyHash::of_u64(key, seed).raw()
}

/// XXH3-64 of the eight little-endian bytes of a double, after -0.0 became 0.0 and every NaN one NaN.
#[unsafe(no_mangle)]
pub extern "C" fn skl_hash_f64(key: f64, seed: u64) -> u64 {
    KeyHash::of_f64(key, seed).raw()
}

/// Spreads a hash that is weak in some bits over all 64. A bijection.
#[unsafe(no_mangle)]
pub extern "C" fn skl_hash_mix(weak: u64) -> u64 {
    KeyHash::mixed(weak).raw()
}

/// Hashes a batch: keys->n numbers to `hashes`.
///
/// # Safety
/// `keys` and its arrays are readable, `hashes` points to keys->n writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hash_batch(keys: *const skl_keys, seed: u64, hashes: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let hash = |keys: &dyn sketchline::KeyBatch| unsafe {
        keys.check(HashScheme::Xxh3 { seed })?;
        keys.hash_range(0, seed, Isa::default_for_new(), array_mut(hashes, keys.len())?);
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { with_keys(keys, hash) }.into()
}
