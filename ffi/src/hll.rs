//! HyperLogLog: parameters, life cycle, inserts, estimates, merges.

use crate::handle::{Access, Handle, skl_hll};
use crate::hash::{id as hash_id, scheme};
use crate::keys::{skl_keys, with_keys};
use crate::life::{self, open_handle, options};
use crate::memory::{array, array_mut, out, sized_out, skl_allocator};
use crate::status::skl_status::{self, *};
use core::ffi::{c_int, c_void};
use sketchline::{
    Error, Hashes, HllForm, HllMut, HllParams, HllRef, HllState, KeyBatch, KeyHash, overlap, overlap_bytes,
};

/// How a sketch holds its keys.
#[repr(u32)]
pub enum skl_hll_form {
    /// 4 bytes per key, near-exact, while there are few.
    SKL_HLL_SPARSE = 0,
    /// All registers.
    SKL_HLL_DENSE = 1,
}

/// The shape of a sketch. Filled by skl_hll_params_for; after that, form, martingale, seed and hash may be changed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_hll_params {
    /// Log2 of the number of registers, 4 to 18.
    pub p: u32,
    /// A skl_hll_form to start in. SKL_HLL_SPARSE after skl_hll_params_for.
    pub form: u32,
    /// 1: also keep the martingale estimate, with about 20 % less error until the first merge, which drops it.
    pub martingale: u32,
    /// A skl_hash_id. SKL_HASH_XXH3 after skl_hll_params_for.
    pub hash_id: u32,
    /// Seed of the hash, or the caller's tag. 0 after skl_hll_params_for.
    pub seed: u64,
    /// Bytes of a dense image, the most that a sketch of this precision takes. Ignored as input.
    pub dense_bytes: u64,
    /// Relative standard error of a dense sketch. Ignored as input.
    pub standard_error: f64,
}

impl skl_hll_params {
    fn of(params: HllParams) -> Self {
        Self {
            p: params.p(),
            form: form_number(params.form()),
            martingale: params.martingale().into(),
            hash_id: hash_id(params.hashing()),
            seed: params.hashing().seed_or_tag(),
            dense_bytes: params.dense_image_bytes(),
            standard_error: params.standard_error(),
        }
    }

    /// # Safety
    /// If not NULL, `params` is readable.
    unsafe fn read(params: *const Self) -> Result<HllParams, skl_status> {
        const SPARSE: u32 = skl_hll_form::SKL_HLL_SPARSE as u32;
        const DENSE: u32 = skl_hll_form::SKL_HLL_DENSE as u32;
        // SAFETY: the caller's contract.
        let params = unsafe { array(params, usize::from(!params.is_null()))? }.first().ok_or(SKL_ERR_NULL)?;
        let form = match params.form {
            SPARSE => HllForm::Sparse,
            DENSE => HllForm::Dense,
            _ => return Err(SKL_ERR_ARGUMENT),
        };
        let shape = HllParams::new(params.p)?.with_form(form).with_hashing(scheme(params.hash_id, params.seed)?);
        match params.martingale {
            0 => Ok(shape),
            1 => Ok(shape.with_martingale()),
            _ => Err(SKL_ERR_ARGUMENT),
        }
    }
}

fn form_number(form: HllForm) -> u32 {
    match form {
        HllForm::Sparse => skl_hll_form::SKL_HLL_SPARSE as u32,
        HllForm::Dense => skl_hll_form::SKL_HLL_DENSE as u32,
    }
}

/// A sketch of 2^p registers, 4 <= p <= 18 (14 is usual: 12 KiB, 0.81 % error), starting sparse.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_params_for(p: u32, params: *mut skl_hll_params) -> skl_status {
    // SAFETY: the caller's contract.
    let fill = || unsafe {
        let out = out(params)?;
        out.set(skl_hll_params::of(HllParams::new(p)?));
        Ok(())
    };
    fill().into()
}

/// Checks parameters, and gives the bytes of the least image in the form asked for. A sparse sketch may be given any
/// more lines of 64 bytes, up to dense_bytes, and then needs to be moved less often.
///
/// # Safety
/// `params` is readable, `bytes` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_required_bytes(params: *const skl_hll_params, bytes: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { skl_hll_params::read(params).and_then(|params| Ok((params, out(bytes)?))) };
    checked.map(|(params, bytes)| bytes.set(params.image_bytes())).into()
}

/// Makes a sketch without keys in memory of the caller, which is zeroed. The caller keeps the memory for as long as
/// the handle is used. A sparse sketch that outgrows it answers SKL_ERR_NEED_SPACE: see skl_hll_move.
///
/// # Safety
/// `handle` is writable; `memory` has `len` writable bytes, at any address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_init(
    handle: *mut skl_hll,
    memory: *mut c_void,
    len: usize,
    params: *const skl_hll_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::init(handle, memory, len, skl_hll_params::read(params)) }
}

/// Makes a sketch without keys in memory of its own, from `allocator` or, if that is NULL, from the C library. It
/// grows there. skl_hll_free gives it back.
///
/// # Safety
/// `handle` is writable, `params` readable; `allocator` is NULL or readable, and its hooks do as skl_allocator says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_new(
    handle: *mut skl_hll,
    params: *const skl_hll_params,
    allocator: *const skl_allocator,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::new(handle, skl_hll_params::read(params), allocator) }
}

/// Empties the handle, and gives its memory back if it came from skl_hll_new. NULL and handles that are empty
/// already are fine.
///
/// # Safety
/// `handle` is NULL or writable; no copy of it is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_free(handle: *mut skl_hll) {
    // SAFETY: the caller's contract.
    unsafe { life::free(handle) }
}

/// Opens an image of exactly `len` bytes to read it, in place, at any address. Reads header and payload.
///
/// # Safety
/// `handle` is writable; `image` has `len` readable bytes for as long as the handle is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_view(
    handle: *mut skl_hll,
    image: *const c_void,
    len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::view(handle, image, len, flags) }
}

/// As skl_hll_view, to change the image in place. `memory` has `len` bytes, of which the first `image_len` are the
/// image and the rest is room to grow for a sparse sketch: whole lines of zeros.
///
/// # Safety
/// `handle` is writable; `memory` has `len` writable bytes for as long as the handle is used, and no other handle
/// writes to them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_open(
    handle: *mut skl_hll,
    memory: *mut c_void,
    len: usize,
    image_len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let open = || Ok(*HllMut::open_mut(array_mut(memory.cast(), len)?, image_len, options(flags)?)?.state());
        open_handle(handle, Access::Write, memory, open)
    }
    .into()
}

/// Bytes that a sketch in memory of the caller needs next: after an insert that answered SKL_ERR_NEED_SPACE
/// (`source` NULL), or to take in `source`.
///
/// # Safety
/// `handle` is a sketch; `source` is NULL or one; nobody writes to them meanwhile; `bytes` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_grown_bytes(
    handle: *const skl_hll,
    source: *const skl_hll,
    bytes: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let sketch = Handle::sketch(handle)?;
        let out = out(bytes)?;
        out.set(if source.is_null() { sketch.grown_bytes() } else { sketch.merged_bytes(&Handle::sketch(source)?) });
        Ok(())
    };
    get().into()
}

/// Moves a sketch to other memory of the caller, as long as skl_hll_grown_bytes says. The old memory is unchanged and
/// the caller's again. SKL_ERR_ARGUMENT for a sketch of skl_hll_new, which grows by itself.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `memory` has `len` writable bytes, apart from
/// those of the sketch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_move(handle: *mut skl_hll, memory: *mut c_void, len: usize) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { Handle::move_to(handle, memory, len) }.into()
}

/// Puts a key in. (NULL, 0) is the empty key. SKL_ERR_CALLER_HASH if the sketch holds the caller's hashes,
/// SKL_ERR_NEED_SPACE if it has outgrown memory of the caller; the key is not in then.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `key` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_insert(handle: *mut skl_hll, key: *const c_void, len: usize) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match array(key.cast::<u8>(), len) {
            Ok(key) => insert(handle, |state| Ok(KeyHash::of(key, state.key_seed()?))).into(),
            Err(status) => status,
        }
    }
}

/// Puts an integer key in: its eight little-endian bytes. Errors as skl_hll_insert.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_insert_u64(handle: *mut skl_hll, key: u64) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { insert(handle, |state| Ok(KeyHash::of_u64(key, state.key_seed()?))) }.into()
}

/// Puts a hash in. Errors as skl_hll_insert.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_insert_hash(handle: *mut skl_hll, hash: u64) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { insert(handle, |_| Ok(KeyHash::from_raw(hash))) }.into()
}

/// Looks first, in place: to change a sketch takes its state out of the handle and puts it back.
///
/// # Safety
/// If not NULL, `handle` is a sketch to write to, used by nobody else meanwhile.
#[inline(always)]
unsafe fn insert(
    handle: *mut skl_hll,
    hash: impl FnOnce(&HllState) -> Result<KeyHash, Error>,
) -> Result<(), skl_status> {
    // SAFETY: the caller's contract.
    unsafe {
        let changing = Handle::change_state(handle, |state, lines| {
            let hash = hash(state)?;
            Ok(state.may_change(lines, hash).then_some(hash))
        });
        changing?.map_or(Ok(()), |hash| insert_hash(handle, hash))
    }
}

/// # Safety
/// As `insert`.
#[inline(never)]
unsafe fn insert_hash(handle: *mut skl_hll, hash: KeyHash) -> Result<(), skl_status> {
    // SAFETY: the caller's contract.
    unsafe { Handle::change_growing(handle, |sketch| sketch.insert_hash(hash), |sketch| sketch.grown_bytes()) }
}

/// Puts a batch of keys in, from number `*consumed` on, and sets it to the number of the first key that is not in:
/// keys->n after SKL_OK, less after SKL_ERR_NEED_SPACE or SKL_ERR_NO_MEMORY. Start with 0; SKL_ERR_ARGUMENT for
/// more than keys->n.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `keys` and its arrays are readable; `consumed`
/// is set and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_insert_batch(
    handle: *mut skl_hll,
    keys: *const skl_keys,
    consumed: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    let result = unsafe { with_keys(keys, |keys| insert_batch(handle, keys, consumed)) };
    result.into()
}

/// skl_hll_insert_batch of `n` hashes.
///
/// # Safety
/// As there; `hashes` has `n` readable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_insert_hashes(
    handle: *mut skl_hll,
    hashes: *const u64,
    n: usize,
    consumed: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    let insert = || unsafe { insert_batch(handle, &Hashes(array(hashes, n)?), consumed) };
    insert().into()
}

/// # Safety
/// As `skl_hll_insert_batch`.
unsafe fn insert_batch(handle: *mut skl_hll, keys: &dyn KeyBatch, consumed: *mut usize) -> Result<(), skl_status> {
    // SAFETY: the caller's contract.
    unsafe {
        let mut at = first(consumed, keys.len())?;
        let insert = |sketch: &mut HllMut<'_>| {
            at = sketch.insert_batch(keys, at)?;
            if at < keys.len() { Err(Error::NeedSpace) } else { Ok(()) }
        };
        let inserted = Handle::change_growing(handle, insert, |sketch| sketch.grown_bytes());
        out(consumed)?.set(at);
        inserted
    }
}

/// The number of the key to start with.
///
/// # Safety
/// If not NULL, `consumed` is readable.
unsafe fn first(consumed: *const usize, len: usize) -> Result<usize, skl_status> {
    // SAFETY: the caller's contract.
    let first = *unsafe { array(consumed, usize::from(!consumed.is_null()))? }.first().ok_or(SKL_ERR_NULL)?;
    if first > len { Err(SKL_ERR_ARGUMENT) } else { Ok(first) }
}

/// GROUP BY: hash `i` goes into the sketch `handles[groups[i]]`. Sketches are fetched ahead. Continues from
/// `*consumed` and sets it as skl_hll_insert_batch does; SKL_ERR_KEYS if a group is not below `num_handles`, before
/// any hash is inserted.
///
/// # Safety
/// `handles` has `num_handles` pointers to sketches to write to, used by nobody else meanwhile; `groups` and `hashes`
/// have `n` readable numbers; `consumed` is set and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_insert_grouped(
    handles: *const *mut skl_hll,
    num_handles: usize,
    groups: *const u32,
    hashes: *const u64,
    n: usize,
    consumed: *mut usize,
) -> skl_status {
    /// Inserts between a fetch and its use: a handle and a register are two misses.
    const AHEAD: usize = 16;
    // SAFETY: the caller's contract.
    let insert_all = || unsafe {
        let (handles, groups, hashes) = (array(handles, num_handles)?, array(groups, n)?, array(hashes, n)?);
        let start = first(consumed, hashes.len())?;
        if groups.iter().any(|&group| group as usize >= handles.len()) {
            return Err(SKL_ERR_KEYS);
        }
        let pair = |i: usize| {
            let group = *groups.get(i)? as usize;
            Some((*handles.get(group)?, KeyHash::from_raw(*hashes.get(i)?)))
        };
        let mut at = start;
        let mut result = Ok(());
        while let Some((handle, hash)) = pair(at) {
            if let Some((handle, _)) = pair(at + 2 * AHEAD) {
                Handle::prefetch(handle);
            }
            if let Some((handle, hash)) = pair(at + AHEAD) {
                Handle::prefetch_register(handle, hash);
            }
            result = insert(handle, |_| Ok(hash));
            if result.is_err() {
                break;
            }
            at += 1;
        }
        out(consumed)?.set(at);
        result
    };
    insert_all().into()
}

/// About how many distinct keys: 0 for none, at most 2^64. Constant time; after a merge one pass over the
/// registers, in each call until the next insert.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `estimate` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_estimate(handle: *const skl_hll, estimate: *mut f64) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { out(estimate).and_then(|estimate| Ok((Handle::sketch(handle)?, estimate))) };
    checked.map(|(sketch, estimate)| estimate.set(sketch.estimate())).into()
}

/// The estimate with bounds at 1, 2 or 3 standard deviations (68, 95, 99.7 % of cases); SKL_ERR_ARGUMENT for others.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; the three numbers are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_estimate_bounds(
    handle: *const skl_hll,
    sigmas: u32,
    estimate: *mut f64,
    lower: *mut f64,
    upper: *mut f64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (estimate, lower, upper) = (out(estimate)?, out(lower)?, out(upper)?);
        let bounds = Handle::sketch(handle)?.estimate_with_bounds(sigmas)?;
        estimate.set(bounds.estimate);
        lower.set(bounds.lower);
        upper.set(bounds.upper);
        Ok(())
    };
    get().into()
}

/// Adds the keys of `source`: a sketch of the same hash, seed and precision, else SKL_ERR_INCOMPATIBLE. In memory of
/// the caller that is too small: SKL_ERR_NEED_SPACE, nothing changed (skl_hll_grown_bytes with `source` says how much).
///
/// # Safety
/// `target` is a sketch to write to, used by nobody else meanwhile; `source` is another sketch, over other bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_merge(target: *mut skl_hll, source: *const skl_hll) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { merge(target, source, |target, source| target.merge(source)) }
}

/// As skl_hll_merge; a `source` of a greater precision is folded on the way.
///
/// # Safety
/// As skl_hll_merge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_merge_folding(target: *mut skl_hll, source: *const skl_hll) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { merge(target, source, |target, source| target.merge_folding(source)) }
}

/// # Safety
/// As `skl_hll_merge`.
unsafe fn merge(
    target: *mut skl_hll,
    source: *const skl_hll,
    merge: impl Fn(&mut HllMut<'_>, &HllRef<'_>) -> Result<(), Error>,
) -> skl_status {
    if !target.is_null() && core::ptr::eq(target, source) {
        // SAFETY: the caller's contract. A sketch merged with itself is itself; two borrows of it would not do.
        return unsafe { Handle::change(target, |_| Ok(())) }.into();
    }
    // SAFETY: the caller's contract; the two are different.
    unsafe {
        match Handle::sketch(source) {
            Ok(source) => {
                Handle::change_growing(target, |target| merge(target, &source), |target| target.merged_bytes(&source))
            }
            Err(status) => Err(status),
        }
    }
    .into()
}

/// Adds the keys of `n` sketches: as skl_hll_merge of each, and faster where they are dense, eight at a time. After
/// SKL_ERR_NEED_SPACE or SKL_ERR_NO_MEMORY some are in; merging all of them again is harmless.
///
/// # Safety
/// As skl_hll_merge; `sources` has `n` readable pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_merge_many(
    target: *mut skl_hll,
    sources: *const *const skl_hll,
    n: usize,
) -> skl_status {
    const AT_ONCE: usize = 32;
    // SAFETY: the caller's contract.
    let merge_all = || unsafe {
        let sources = array(sources, n)?;
        for source in sources {
            if core::ptr::eq(*source, target) {
                return Err(SKL_ERR_ARGUMENT);
            }
            let source = Handle::sketch(*source)?;
            Handle::change(target, |target| match target.params().p() == source.params().p() {
                true => target.check_mergeable(&source),
                false => Err(Error::Incompatible),
            })?;
        }
        let Some(first) = sources.first() else { return Handle::change(target, |_| Ok(())) };
        for sources in sources.chunks(AT_ONCE) {
            // Filled up with the first source: merging one twice changes nothing.
            let first = Handle::sketch(*first)?;
            let mut views: [HllRef<'_>; AT_ONCE] = core::array::from_fn(|_| first.clone());
            for (view, source) in views.iter_mut().zip(sources) {
                *view = Handle::sketch(*source)?;
            }
            let views = views.get(..sources.len()).unwrap_or(&[]);
            let most = |target: &HllMut<'_>| views.iter().map(|view| target.merged_bytes(view)).max().unwrap_or(0);
            Handle::change_growing(target, |target| target.merge_many(views), most)?;
        }
        Ok(())
    };
    merge_all().into()
}

/// How two sketches overlap.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_hll_overlap {
    /// Set by the caller to sizeof(skl_hll_overlap), so that the structure can grow.
    pub struct_size: usize,
    /// About how many distinct keys are in either.
    pub union_keys: f64,
    /// About how many are in both.
    pub intersection: f64,
    /// Standard deviation of intersection: grows with the union, so that a small overlap of large sketches drowns in it.
    pub intersection_error: f64,
    /// intersection / union, 0 where both are empty.
    pub jaccard: f64,
}

/// Estimates how `a` and `b` overlap, by inclusion and exclusion. `scratch` is a third sketch of the same parameters,
/// dense or of skl_hll_new: it is cleared, and holds the union afterwards. Set overlap->struct_size first.
///
/// # Safety
/// `a` and `b` are sketches that nobody writes to meanwhile; `scratch` is another, to write to, used by nobody else;
/// `overlap` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_get_overlap(
    a: *const skl_hll,
    b: *const skl_hll,
    scratch: *mut skl_hll,
    overlap: *mut skl_hll_overlap,
) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        if core::ptr::eq(a, scratch) || core::ptr::eq(b, scratch) {
            return Err(SKL_ERR_ARGUMENT);
        }
        let (a, b, out) = (Handle::sketch(a)?, Handle::sketch(b)?, sized_out(overlap)?);
        let needed = |scratch: &HllMut<'_>| overlap_bytes(&a, &b, scratch);
        let found = Handle::change_growing(scratch, |scratch| self::overlap(&a, &b, scratch), needed)?;
        out.set(skl_hll_overlap {
            struct_size: size_of::<skl_hll_overlap>(),
            union_keys: found.union,
            intersection: found.intersection,
            intersection_error: found.intersection_error,
            jaccard: found.jaccard,
        });
        Ok(())
    };
    get().into()
}

/// Takes all keys out. The form stays.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_clear(handle: *mut skl_hll) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::clear(handle) }
}

/// Finishes the image: sorts the tokens, leaves out room to grow, writes both checksums. Then the bytes of
/// skl_hll_image are worth keeping; the next change takes the seal off.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_seal(handle: *mut skl_hll) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::seal(handle) }
}

/// Where the image is, and how long: without room to grow if it is sealed. The bytes belong to whoever provided them,
/// or to the handle after skl_hll_new, until it grows.
///
/// # Safety
/// `handle` is a sketch; `image` and `len` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_image(
    handle: *const skl_hll,
    image: *mut *const c_void,
    len: *mut usize,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::image(handle, image, len) }
}

/// Uses another SIMD level on this handle: SKL_ERR_SIMD if this machine does not have it.
///
/// # Safety
/// `handle` is a sketch; nobody else uses the handle meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_set_simd_level(handle: *mut skl_hll, level: c_int) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::set_simd_level(handle, level) }
}

/// What a sketch knows of itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_hll_info {
    /// Set by the caller to sizeof(skl_hll_info), so that the structure can grow.
    pub struct_size: usize,
    /// Bytes of memory that the sketch holds: the image and room to grow.
    pub image_bytes: u64,
    /// Seed of the hash, or the caller's tag.
    pub seed: u64,
    /// Log2 of the number of registers.
    pub p: u32,
    /// A skl_hll_form: the present one.
    pub form: u32,
    /// 1 while the martingale estimate is kept.
    pub martingale: u32,
    /// A skl_hash_id.
    pub hash_id: u32,
    /// Dense: registers that are still 0. Sparse: 2^p.
    pub zero_registers: u32,
    /// Dense: the least register. Sparse: 0.
    pub min_register: u32,
    /// A skl_simd.
    pub simd_level: u32,
    /// 1 if the header in memory is sealed.
    pub is_sealed: u32,
    /// Relative standard error of the estimate in the present form.
    pub standard_error: f64,
}

/// What a sketch knows of itself; one pass over the registers. Set info->struct_size first.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `info` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_hll_get_info(handle: *const skl_hll, info: *mut skl_hll_info) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (sketch, out) = (Handle::sketch(handle)?, sized_out(info)?);
        let (params, state) = (skl_hll_params::of(sketch.params()), sketch.state());
        out.set(skl_hll_info {
            struct_size: size_of::<skl_hll_info>(),
            image_bytes: 64 * state.num_lines() as u64,
            seed: params.seed,
            p: params.p,
            form: params.form,
            martingale: params.martingale,
            hash_id: params.hash_id,
            zero_registers: sketch.zero_registers().unwrap_or(1 << params.p),
            min_register: sketch.min_register().unwrap_or(0),
            simd_level: state.level().into(),
            is_sealed: state.is_sealed().into(),
            standard_error: sketch.standard_error(),
        });
        Ok(())
    };
    get().into()
}
