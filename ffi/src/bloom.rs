//! The Bloom filter: parameters, life cycle, single keys, whole-filter operations.

use crate::handle::{Handle, skl_bloom};
use crate::hash::{id as hash_id, scheme};
use crate::life;
use crate::memory::{array, out, sized_out, skl_allocator};
use crate::status::skl_status::{self, *};
use core::ffi::{c_int, c_void};
use sketchline::{Block, BloomMut, BloomParams, BloomRef, BloomState, KeyHash};

/// The shape of a filter. Filled by a skl_bloom_params_ function; after that, seed, hash and capacity may be changed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_bloom_params {
    /// Number of 512-bit blocks, 1 to 4294967295.
    pub num_blocks: u64,
    /// Keys the filter is meant for, 0 where unknown.
    pub capacity: u64,
    /// Seed of the hash, or the caller's tag. 0 after a params function.
    pub seed: u64,
    /// A skl_hash_id. SKL_HASH_XXH3 after a params function.
    pub hash_id: u32,
    /// Bits per key, 1 to 16.
    pub num_probes: u32,
    /// False-positive rate at capacity, 0 where that is unknown. Ignored as input.
    pub predicted_fpr: f64,
    /// Bytes of the blocks alone. Ignored as input.
    pub payload_bytes: u64,
    /// Bytes of the image: one header line and the blocks. Ignored as input.
    pub image_bytes: u64,
}

impl skl_bloom_params {
    fn of(params: BloomParams) -> Self {
        Self {
            num_blocks: params.num_blocks().into(),
            capacity: params.capacity(),
            seed: params.hashing().seed_or_tag(),
            hash_id: hash_id(params.hashing()),
            num_probes: params.num_probes(),
            predicted_fpr: params.predicted_fpr(),
            payload_bytes: params.payload_bytes(),
            image_bytes: params.image_bytes(),
        }
    }

    /// # Safety
    /// If not NULL, `params` is readable.
    unsafe fn read(params: *const Self) -> Result<BloomParams, skl_status> {
        // SAFETY: the caller's contract.
        let params = unsafe { array(params, usize::from(!params.is_null()))? }.first().ok_or(SKL_ERR_NULL)?;
        let hashing = scheme(params.hash_id, params.seed)?;
        let shape = BloomParams::explicit(params.num_blocks, params.num_probes)?;
        Ok(shape.with_capacity(params.capacity).with_hashing(hashing))
    }

    /// # Safety
    /// If not NULL, `params` is writable.
    unsafe fn write(made: Result<BloomParams, sketchline::Error>, params: *mut Self) -> skl_status {
        // SAFETY: the caller's contract.
        let params = match unsafe { out(params) } {
            Ok(params) => params,
            Err(status) => return status,
        };
        made.map(|made| params.set(Self::of(made))).map_err(skl_status::from).into()
    }
}

/// The smallest filter whose predicted false-positive rate is at most `fpr` (0 < fpr < 1) when it holds `keys`
/// keys. SKL_ERR_UNREACHABLE where 64 bits per key are not enough (the least is 1.4e-8), SKL_ERR_TOO_LARGE
/// beyond 2^32 - 1 blocks. Takes up to a millisecond; the result is the same on every machine.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_params_for_fpr(keys: u64, fpr: f64, params: *mut skl_bloom_params) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { skl_bloom_params::write(BloomParams::for_fpr(keys, fpr), params) }
}

/// The filter of least false-positive rate at (just over) `bits` bits per key, 0 < bits <= 64;
/// SKL_ERR_UNREACHABLE above 64.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_params_for_bits_per_key(
    keys: u64,
    bits: f64,
    params: *mut skl_bloom_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { skl_bloom_params::write(BloomParams::for_bits_per_key(keys, bits), params) }
}

/// The filter of least false-positive rate whose blocks fit in `payload_bytes`, at least 64 (the image is one
/// line of 64 bytes longer).
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_params_for_bytes(
    keys: u64,
    payload_bytes: u64,
    params: *mut skl_bloom_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { skl_bloom_params::write(BloomParams::for_bytes(keys, payload_bytes), params) }
}

/// Exactly this shape, for an unknown number of keys. Set `capacity` afterwards if it is known.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_params_explicit(
    num_blocks: u64,
    num_probes: u32,
    params: *mut skl_bloom_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { skl_bloom_params::write(BloomParams::explicit(num_blocks, num_probes), params) }
}

/// Checks parameters that the caller changed, and gives the bytes that skl_bloom_init needs.
///
/// # Safety
/// `params` is readable, `bytes` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_required_bytes(params: *const skl_bloom_params, bytes: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { skl_bloom_params::read(params).and_then(|params| Ok((params, out(bytes)?))) };
    checked.map(|(params, bytes)| bytes.set(params.image_bytes())).into()
}

/// The false-positive rate of a filter of this shape when it holds `keys` keys.
///
/// # Safety
/// `params` is readable, `fpr` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_predict_fpr(
    params: *const skl_bloom_params,
    keys: u64,
    fpr: *mut f64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { skl_bloom_params::read(params).and_then(|params| Ok((params, out(fpr)?))) };
    checked.map(|(params, fpr)| fpr.set(params.predicted_fpr_at(keys))).into()
}

/// Makes an empty filter in memory of the caller, exactly as long as skl_bloom_required_bytes says, which is
/// zeroed. The caller keeps the memory, for as long as the handle is used; there is nothing to free.
///
/// # Safety
/// `handle` is writable; `memory` has `len` writable bytes, at any address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_init(
    handle: *mut skl_bloom,
    memory: *mut c_void,
    len: usize,
    params: *const skl_bloom_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::init(handle, memory, len, skl_bloom_params::read(params)) }
}

/// Makes an empty filter in memory of its own, from `allocator` or, if that is NULL, from the C library (with
/// huge pages asked for when it is large). skl_bloom_free gives it back.
///
/// # Safety
/// `handle` is writable, `params` readable; `allocator` is NULL or readable, and its hooks do as skl_allocator says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_new(
    handle: *mut skl_bloom,
    params: *const skl_bloom_params,
    allocator: *const skl_allocator,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::new(handle, skl_bloom_params::read(params), allocator) }
}

/// Empties the handle, and gives its memory back if it came from skl_bloom_new. NULL and handles that are
/// empty already are fine.
///
/// # Safety
/// `handle` is NULL or writable; no copy of it is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_free(handle: *mut skl_bloom) {
    // SAFETY: the caller's contract.
    unsafe { life::free(handle) }
}

/// Opens an image of exactly `len` bytes to read it, in place, at any address. Reads the header, and the
/// payload once unless `flags` (SKL_OPEN_...) says otherwise. No later call reads the header again: bytes that
/// change under a view give wrong answers, never an access outside them.
///
/// # Safety
/// `handle` is writable; `image` has `len` readable bytes for as long as the handle is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_view(
    handle: *mut skl_bloom,
    image: *const c_void,
    len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::view(handle, image, len, flags) }
}

/// As skl_bloom_view, to change the image in place. The first change takes the seal off the header.
///
/// # Safety
/// `handle` is writable; `image` has `len` writable bytes for as long as the handle is used, and no other
/// handle writes to them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_open(
    handle: *mut skl_bloom,
    image: *mut c_void,
    len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::open(handle, image, len, flags) }
}

/// Puts a key in. (NULL, 0) is the empty key. SKL_ERR_CALLER_HASH if the filter holds the caller's hashes.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile; `key` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_insert(handle: *mut skl_bloom, key: *const c_void, len: usize) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match array(key.cast::<u8>(), len) {
            Ok(key) => insert(handle, |seed| KeyHash::of(key, seed)),
            Err(status) => status,
        }
    }
}

/// Puts an integer key in: its eight little-endian bytes.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_insert_u64(handle: *mut skl_bloom, key: u64) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { insert(handle, |seed| KeyHash::of_u64(key, seed)) }
}

/// # Safety
/// If not NULL, `handle` is a filter to write to, used by nobody else meanwhile.
#[inline(always)]
unsafe fn insert(handle: *mut skl_bloom, hash: impl FnOnce(u64) -> KeyHash) -> skl_status {
    let insert = |state: &mut BloomState, lines: &mut [Block]| {
        state.insert_hash(lines, hash(state.key_seed()?));
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { Handle::change_state(handle, insert) }.into()
}

/// Puts a hash in: of skl_hash_bytes with the seed of the filter, or the caller's own.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_insert_hash(handle: *mut skl_bloom, hash: u64) -> skl_status {
    let insert = |state: &mut BloomState, lines: &mut [Block]| {
        state.insert_hash(lines, KeyHash::from_raw(hash));
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { Handle::change_state(handle, insert) }.into()
}

/// Whether the key may have been inserted: 1 maybe, 0 certainly not, negative a skl_status.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `key` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_contains(handle: *const skl_bloom, key: *const c_void, len: usize) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        Handle::look(handle, |state, lines| {
            let hash = || Ok(KeyHash::of(array(key.cast(), len)?, state.key_seed()?));
            answered(hash().map(|hash| state.contains_hash(lines, hash)))
        })
    }
}

/// skl_bloom_contains of an integer key.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_contains_u64(handle: *const skl_bloom, key: u64) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        Handle::look(handle, |state, lines| {
            let seed = state.key_seed().map_err(skl_status::from);
            answered(seed.map(|seed| state.contains_hash(lines, KeyHash::of_u64(key, seed))))
        })
    }
}

/// skl_bloom_contains of a hash.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_contains_hash(handle: *const skl_bloom, hash: u64) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { Handle::look(handle, |state, lines| c_int::from(state.contains_hash(lines, KeyHash::from_raw(hash)))) }
}

#[inline(always)]
pub(crate) fn answered(answer: Result<bool, skl_status>) -> c_int {
    match answer {
        Ok(maybe) => c_int::from(maybe),
        Err(status) => status as c_int,
    }
}

/// Adds all keys of `source`, a filter of the same blocks, probes, hash and seed, else SKL_ERR_INCOMPATIBLE.
///
/// # Safety
/// `target` is a filter to write to, used by nobody else meanwhile; `source` is another filter, over other bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_union(target: *mut skl_bloom, source: *const skl_bloom) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { combine(target, source, |target, source| target.union(source)) }
}

/// Keeps the bits that both filters have: the keys that are in both, and some false positives of either alone.
///
/// # Safety
/// As skl_bloom_union.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_intersect(target: *mut skl_bloom, source: *const skl_bloom) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { combine(target, source, |target, source| target.intersect(source)) }
}

/// # Safety
/// As `skl_bloom_union`.
unsafe fn combine(
    target: *mut skl_bloom,
    source: *const skl_bloom,
    combine: impl FnOnce(&mut BloomMut<'_>, &BloomRef<'_>) -> Result<(), sketchline::Error>,
) -> skl_status {
    if !target.is_null() && core::ptr::eq(target, source) {
        // SAFETY: the caller's contract. A filter united or intersected with itself is itself; two borrows of it would not do.
        return unsafe { Handle::change(target, |_| Ok(())) }.into();
    }
    // SAFETY: the caller's contract; the two are different.
    unsafe {
        match Handle::sketch(source) {
            Ok(source) => Handle::change(target, |target| combine(target, &source)).into(),
            Err(status) => status,
        }
    }
}

/// Takes all keys out.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_clear(handle: *mut skl_bloom) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::clear(handle) }
}

/// Finishes the image: writes the number of inserts and both checksums into its header. Reads the whole
/// payload. Then the bytes of skl_bloom_image are worth keeping; the next change takes the seal off.
///
/// # Safety
/// `handle` is a filter to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_seal(handle: *mut skl_bloom) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::seal(handle) }
}

/// Where the image is. The bytes belong to whoever provided them, or to the handle after skl_bloom_new.
///
/// # Safety
/// `handle` is a filter; `image` and `len` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_image(
    handle: *const skl_bloom,
    image: *mut *const c_void,
    len: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::image(handle, image, len) }
}

/// Uses another SIMD level on this handle: SKL_ERR_SIMD if this machine does not have it.
///
/// # Safety
/// `handle` is a filter; nobody else uses the handle meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_set_simd_level(handle: *mut skl_bloom, level: c_int) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::set_simd_level(handle, level) }
}

/// What a filter knows of itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_bloom_info {
    /// Set by the caller to sizeof(skl_bloom_info), so that the structure can grow.
    pub struct_size: usize,
    /// Number of 512-bit blocks.
    pub num_blocks: u64,
    /// Keys the filter is meant for, 0 where unknown.
    pub capacity: u64,
    /// Inserts seen, duplicates included; UINT64_MAX where unknown.
    pub num_inserted: u64,
    /// Seed of the hash, or the caller's tag.
    pub seed: u64,
    /// A skl_hash_id.
    pub hash_id: u32,
    /// Bits per key.
    pub num_probes: u32,
    /// A skl_simd.
    pub simd_level: u32,
    /// 1 if the header in memory is sealed.
    pub is_sealed: u32,
    /// 1 if skl_bloom_new asked the system for huge pages.
    pub huge_pages: u32,
    /// 0.
    pub reserved: u32,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// False-positive rate at capacity, 0 where that is unknown.
    pub predicted_fpr: f64,
}

/// Bits, keys and error, from the bits.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_bloom_estimate {
    /// Set by the caller to sizeof(skl_bloom_estimate), so that the structure can grow.
    pub struct_size: usize,
    /// Share of bits that are set, 0 to 1.
    pub fill: f64,
    /// False-positive rate of a look-up now.
    pub fpr: f64,
    /// About how many distinct keys were inserted.
    pub num_keys: f64,
    /// 1 if that exceeds the capacity by more than 5 % and chance. 0 where the capacity is unknown.
    pub over_capacity: u32,
    /// 0.
    pub reserved: u32,
}

/// What a filter knows of itself; constant time. Set info->struct_size first.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `info` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_get_info(handle: *const skl_bloom, info: *mut skl_bloom_info) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let filter = Handle::sketch(handle)?;
        let out = sized_out(info)?;
        let (params, state) = (skl_bloom_params::of(filter.params()), filter.state());
        out.set(skl_bloom_info {
            struct_size: size_of::<skl_bloom_info>(),
            num_blocks: params.num_blocks,
            capacity: params.capacity,
            num_inserted: state.num_inserted().unwrap_or(u64::MAX),
            seed: params.seed,
            hash_id: params.hash_id,
            num_probes: params.num_probes,
            simd_level: state.level().into(),
            is_sealed: state.is_sealed().into(),
            huge_pages: Handle::huge_pages(handle)?.into(),
            reserved: 0,
            image_bytes: params.image_bytes,
            predicted_fpr: params.predicted_fpr,
        });
        Ok(())
    };
    get().into()
}

/// Estimates from the bits: one pass over the payload. Set estimate->struct_size first.
///
/// # Safety
/// `handle` is a filter that nobody writes to meanwhile; `estimate` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_bloom_get_estimate(
    handle: *const skl_bloom,
    estimate: *mut skl_bloom_estimate,
) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let filter = Handle::sketch(handle)?;
        let out = sized_out(estimate)?;
        let now = filter.estimate();
        out.set(skl_bloom_estimate {
            struct_size: size_of::<skl_bloom_estimate>(),
            fill: now.fill,
            fpr: now.fpr,
            num_keys: now.num_keys,
            over_capacity: now.over_capacity.into(),
            reserved: 0,
        });
        Ok(())
    };
    get().into()
}
