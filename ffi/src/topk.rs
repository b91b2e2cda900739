//! Top-k: the most frequent keys of a Count-Min sketch.

use crate::handle::{Handle, skl_cms, skl_topk};
use crate::hash::{id as hash_id, scheme};
use crate::life;
use crate::memory::{array, out, sized_out, skl_allocator};
use crate::status::skl_status::{self, *};
use core::ffi::c_void;
use sketchline::{CmsMut, CmsRef, Error, KeyHash, TopKMut, TopKParams, TopKRef};

/// The shape of a top-k. Filled by skl_topk_params_for; after that, seed and hash may be changed: to those of the sketch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_topk_params {
    /// Most keys that are held, 1 to 65536.
    pub k: u32,
    /// Bytes of a key that are kept, 0 to 65536. Of a longer one the front is kept, its hash and its length.
    pub max_key_bytes: u32,
    /// Seed of the hash, or the caller's tag. 0 after skl_topk_params_for.
    pub seed: u64,
    /// A skl_hash_id. SKL_HASH_XXH3 after skl_topk_params_for.
    pub hash_id: u32,
    /// 0.
    pub reserved: u32,
    /// Bytes of the image. Ignored as input.
    pub image_bytes: u64,
}

impl skl_topk_params {
    fn of(params: TopKParams) -> Self {
        Self {
            k: params.k(),
            max_key_bytes: params.max_key_bytes(),
            seed: params.hashing().seed_or_tag(),
            hash_id: hash_id(params.hashing()),
            reserved: 0,
            image_bytes: params.image_bytes(),
        }
    }

    /// # Safety
    /// If not NULL, `params` is readable.
    unsafe fn read(params: *const Self) -> Result<TopKParams, skl_status> {
        // SAFETY: the caller's contract.
        let params = unsafe { array(params, usize::from(!params.is_null()))? }.first().ok_or(SKL_ERR_NULL)?;
        if params.reserved != 0 {
            return Err(SKL_ERR_ARGUMENT);
        }
        let hashing = scheme(params.hash_id, params.seed)?;
        Ok(TopKParams::new(params.k, params.max_key_bytes)?.with_hashing(hashing))
    }
}

/// Room for `k` keys, 1 to 65536 (finding a key reads all hashes: some hundreds are meant), of each of which the first
/// `max_key_bytes` are kept, 0 to 65536.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_params_for(k: u32, max_key_bytes: u32, params: *mut skl_topk_params) -> skl_status {
    // SAFETY: the caller's contract.
    let fill = || unsafe {
        let out = out(params)?;
        out.set(skl_topk_params::of(TopKParams::new(k, max_key_bytes)?));
        Ok(())
    };
    fill().into()
}

/// Checks parameters that the caller changed, and gives the bytes that skl_topk_init needs.
///
/// # Safety
/// `params` is readable, `bytes` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_required_bytes(params: *const skl_topk_params, bytes: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { skl_topk_params::read(params).and_then(|params| Ok((params, out(bytes)?))) };
    checked.map(|(params, bytes)| bytes.set(params.image_bytes())).into()
}

/// Makes an empty top-k in memory of the caller, exactly as long as skl_topk_required_bytes says, which is zeroed. The
/// caller keeps the memory, for as long as the handle is used; there is nothing to free.
///
/// # Safety
/// `handle` is writable; `memory` has `len` writable bytes, at any address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_init(
    handle: *mut skl_topk,
    memory: *mut c_void,
    len: usize,
    params: *const skl_topk_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::init(handle, memory, len, skl_topk_params::read(params)) }
}

/// Makes an empty top-k in memory of its own, from `allocator` or, if that is NULL, from the C library. skl_topk_free
/// gives it back.
///
/// # Safety
/// `handle` is writable, `params` readable; `allocator` is NULL or readable, and its hooks do as skl_allocator says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_new(
    handle: *mut skl_topk,
    params: *const skl_topk_params,
    allocator: *const skl_allocator,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::new(handle, skl_topk_params::read(params), allocator) }
}

/// Empties the handle, and gives its memory back if it came from skl_topk_new. NULL and handles that are empty already
/// are fine.
///
/// # Safety
/// `handle` is NULL or writable; no copy of it is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_free(handle: *mut skl_topk) {
    // SAFETY: the caller's contract.
    unsafe { life::free(handle) }
}

/// Opens an image of exactly `len` bytes to read it, in place, at any address. Reads header and payload.
///
/// # Safety
/// `handle` is writable; `image` has `len` readable bytes for as long as the handle is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_view(
    handle: *mut skl_topk,
    image: *const c_void,
    len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::view(handle, image, len, flags) }
}

/// As skl_topk_view, to change the image in place. The first change takes the seal off the header.
///
/// # Safety
/// `handle` is writable; `image` has `len` writable bytes for as long as the handle is used, and no other handle
/// writes to them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_open(
    handle: *mut skl_topk,
    image: *mut c_void,
    len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::open(handle, image, len, flags) }
}

/// Counts a key in the sketch, as skl_cms_add does, and holds it if it is one of the k most frequent.
/// SKL_ERR_INCOMPATIBLE if hash or seed differ; nothing is counted then.
///
/// # Safety
/// `handle` and `sketch` are to be written to, used by nobody else meanwhile; `key` has `len` readable bytes;
/// `estimate` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_add(
    handle: *mut skl_topk,
    sketch: *mut skl_cms,
    key: *const c_void,
    len: usize,
    count: u64,
    estimate: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let add = || unsafe {
        let key = array(key.cast::<u8>(), len)?;
        let estimate = if estimate.is_null() { None } else { Some(out(estimate)?) };
        let (after, cap) = Handle::change(handle, |top: &mut TopKMut<'_>| {
            // The statuses of the two go their own ways: a result inside the result.
            Ok(Handle::change(sketch, |sketch: &mut CmsMut<'_>| {
                Ok((top.add(sketch, key, count)?, sketch.state().cap()))
            }))
        })??;
        if let Some(estimate) = estimate {
            estimate.set(after);
        }
        Ok(if after >= cap { SKL_SATURATED } else { SKL_OK })
    };
    match add() {
        Ok(status) | Err(status) => status,
    }
}

/// Holds a key with `estimate`, that of a sketch, if that is one of the k greatest: 1 if it does, 0 if not, negative a
/// skl_status. `hash` is the one the sketch counted. A key that is held already keeps its count when it is offered with
/// less than all k have: after counts were halved, skl_topk_refresh.
///
/// # Safety
/// `handle` is a top-k to write to, used by nobody else meanwhile; `key` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_offer(
    handle: *mut skl_topk,
    key: *const c_void,
    len: usize,
    hash: u64,
    estimate: u64,
) -> core::ffi::c_int {
    // SAFETY: the caller's contract.
    let offer = || unsafe {
        let key = array(key.cast::<u8>(), len)?;
        Handle::change(handle, |top: &mut TopKMut<'_>| Ok(top.offer(key, KeyHash::from_raw(hash), estimate)))
    };
    crate::bloom::answered(offer())
}

/// Asks the sketch for every count anew: after it was halved or merged. Keys of which nothing is left go.
///
/// # Safety
/// `handle` is a top-k to write to, used by nobody else meanwhile; `sketch` is one that nobody writes to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_refresh(handle: *mut skl_topk, sketch: *const skl_cms) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let sketch: Result<CmsRef<'_>, _> = Handle::sketch(sketch);
        sketch.and_then(|sketch| Handle::change(handle, |top: &mut TopKMut<'_>| top.refresh(&sketch))).into()
    }
}

/// Takes in the keys of `source`, once its sketch was merged into `sketch`: every key is counted anew there, and the k
/// greatest stay. SKL_ERR_INCOMPATIBLE if hash or seed of the three differ, or `source` keeps fewer bytes of a key.
///
/// # Safety
/// `target` is a top-k to write to, used by nobody else meanwhile; `source` is another, over other bytes; `sketch` is
/// one that nobody writes to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_merge(
    target: *mut skl_topk,
    source: *const skl_topk,
    sketch: *const skl_cms,
) -> skl_status {
    if !target.is_null() && core::ptr::eq(target, source) {
        return SKL_ERR_ARGUMENT;
    }
    // SAFETY: the caller's contract; the two are different.
    let merge = || unsafe {
        let (source, sketch): (TopKRef<'_>, CmsRef<'_>) = (Handle::sketch(source)?, Handle::sketch(sketch)?);
        Handle::change(target, |target: &mut TopKMut<'_>| target.merge(&source, &sketch))
    };
    merge().into()
}

/// Puts the most frequent keys first; equal counts by their hash.
///
/// # Safety
/// `handle` is a top-k to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_sort(handle: *mut skl_topk) -> skl_status {
    let sort = |top: &mut TopKMut<'_>| {
        top.sort();
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { Handle::change(handle, sort) }.into()
}

/// One key of a top-k.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_topk_entry {
    /// Set by the caller to sizeof(skl_topk_entry), so that the structure can grow.
    pub struct_size: usize,
    /// The key, or the front of a long one: kept_bytes, inside the image, until the top-k is changed.
    pub key: *const c_void,
    /// Bytes at key.
    pub kept_bytes: usize,
    /// Length of the whole key.
    pub key_bytes: usize,
    /// Its hash.
    pub hash: u64,
    /// The estimate when the key was last added or refreshed.
    pub count: u64,
}

/// Key number `i`: SKL_ERR_ARGUMENT from info.num_keys on. After skl_topk_sort, or in a sealed image, the `i`-th most
/// frequent. Set entry->struct_size first.
///
/// # Safety
/// `handle` is a top-k that nobody writes to meanwhile; `entry` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_get(handle: *const skl_topk, i: usize, entry: *mut skl_topk_entry) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (top, out): (TopKRef<'_>, _) = (Handle::sketch(handle)?, sized_out(entry)?);
        let entry = top.into_entry(i).ok_or(Error::InvalidArgument)?;
        out.set(skl_topk_entry {
            struct_size: size_of::<skl_topk_entry>(),
            key: entry.key.as_ptr().cast(),
            kept_bytes: entry.key.len(),
            key_bytes: entry.key_len,
            hash: entry.hash.raw(),
            count: entry.count,
        });
        Ok(())
    };
    get().into()
}

/// Holds no keys any more.
///
/// # Safety
/// `handle` is a top-k to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_clear(handle: *mut skl_topk) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::clear(handle) }
}

/// Finishes the image: sorts, writes both checksums. Then the bytes of skl_topk_image are worth keeping; the next
/// change takes the seal off.
///
/// # Safety
/// `handle` is a top-k to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_seal(handle: *mut skl_topk) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::seal(handle) }
}

/// Where the image is. The bytes belong to whoever provided them, or to the handle after skl_topk_new.
///
/// # Safety
/// `handle` is a top-k; `image` and `len` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_image(
    handle: *const skl_topk,
    image: *mut *const c_void,
    len: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::image(handle, image, len) }
}

/// What a top-k knows of itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_topk_info {
    /// Set by the caller to sizeof(skl_topk_info), so that the structure can grow.
    pub struct_size: usize,
    /// Keys that are held.
    pub num_keys: usize,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Seed of the hash, or the caller's tag.
    pub seed: u64,
    /// A skl_hash_id.
    pub hash_id: u32,
    /// Most keys that are held.
    pub k: u32,
    /// Bytes of a key that are kept.
    pub max_key_bytes: u32,
    /// 1 if the header in memory is sealed.
    pub is_sealed: u32,
}

/// What a top-k knows of itself; constant time. Set info->struct_size first.
///
/// # Safety
/// `handle` is a top-k that nobody writes to meanwhile; `info` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_topk_get_info(handle: *const skl_topk, info: *mut skl_topk_info) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (top, out): (TopKRef<'_>, _) = (Handle::sketch(handle)?, sized_out(info)?);
        let params = skl_topk_params::of(top.params());
        out.set(skl_topk_info {
            struct_size: size_of::<skl_topk_info>(),
            num_keys: top.len(),
            image_bytes: params.image_bytes,
            seed: params.seed,
            hash_id: params.hash_id,
            k: params.k,
            max_key_bytes: params.max_key_bytes,
            is_sealed: top.state().is_sealed().into(),
        });
        Ok(())
    };
    get().into()
}
