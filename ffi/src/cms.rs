//! Count-Min: parameters, life cycle, adds, estimates, merges, aging.

use crate::handle::{Handle, skl_cms};
use crate::hash::{id as hash_id, scheme};
use crate::keys::{skl_keys, with_keys};
use crate::life;
use crate::memory::{array, array_mut, out, sized_out, skl_allocator};
use crate::status::skl_status::{self, *};
use core::ffi::{c_int, c_void};
use sketchline::{
    Block, CmsLayout, CmsMut, CmsParams, CmsRef, CmsState, CmsWindow, CounterSize, Error, Hashes, KeyBatch, KeyHash,
};

/// Where the counters of a key lie.
#[repr(u32)]
pub enum skl_cms_layout {
    /// One in each row: as many cache misses as rows.
    SKL_CMS_ROWS = 0,
    /// Two in each of two lines: two cache misses. For sketches beyond the caches.
    SKL_CMS_TWO_LINE = 1,
}

/// The shape of a sketch. Filled by a skl_cms_params_ function; after that, conservative, seed and hash may be changed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_cms_params {
    /// Counters among which a row chooses: 1 to 2^32 - 1, and in the two-line layout a multiple of half a line.
    pub width: u64,
    /// Counters of a key: 1 to 16, 4 in the two-line layout.
    pub depth: u32,
    /// A skl_cms_layout.
    pub layout: u32,
    /// 4 or 8. Counters stop at their greatest value.
    pub counter_bytes: u32,
    /// 1: adds raise only the counters that must be raised. Little more than half the error, at about twice the time.
    pub conservative: u32,
    /// Seed of the hash, or the caller's tag. 0 after a params function.
    pub seed: u64,
    /// A skl_hash_id. SKL_HASH_XXH3 after a params function.
    pub hash_id: u32,
    /// 0.
    pub reserved: u32,
    /// An estimate is too high by at most this share of the total, with a probability of 1 - delta. Ignored as input.
    pub epsilon: f64,
    /// See epsilon. Ignored as input.
    pub delta: f64,
    /// Bytes of the image: one header line and the counters. Ignored as input.
    pub image_bytes: u64,
}

impl skl_cms_params {
    fn of(params: CmsParams) -> Self {
        Self {
            width: params.width(),
            depth: params.depth(),
            layout: layout_number(params.layout()),
            counter_bytes: params.counter().bytes() as u32,
            conservative: params.is_conservative().into(),
            seed: params.hashing().seed_or_tag(),
            hash_id: hash_id(params.hashing()),
            reserved: 0,
            epsilon: params.epsilon(),
            delta: params.delta(),
            image_bytes: params.image_bytes(),
        }
    }

    /// # Safety
    /// If not NULL, `params` is readable.
    unsafe fn read(params: *const Self) -> Result<CmsParams, skl_status> {
        // SAFETY: the caller's contract.
        let params = unsafe { array(params, usize::from(!params.is_null()))? }.first().ok_or(SKL_ERR_NULL)?;
        let (layout, counter) = (layout(params.layout)?, counter(params.counter_bytes)?);
        let shape = CmsParams::of_width(layout, counter, params.width, params.depth)?;
        if (shape.width(), shape.depth(), 0) != (params.width, params.depth, params.reserved) {
            return Err(SKL_ERR_ARGUMENT);
        }
        let shape = shape.with_hashing(scheme(params.hash_id, params.seed)?);
        match params.conservative {
            0 => Ok(shape),
            1 => Ok(shape.conservative()),
            _ => Err(SKL_ERR_ARGUMENT),
        }
    }

    /// # Safety
    /// If not NULL, `params` is writable.
    unsafe fn write(
        params: *mut Self,
        layout: u32,
        counter_bytes: u32,
        make: impl FnOnce(CmsLayout, CounterSize) -> Result<CmsParams, Error>,
    ) -> skl_status {
        // SAFETY: the caller's contract.
        let fill = || unsafe {
            let out = out(params)?;
            out.set(Self::of(make(self::layout(layout)?, counter(counter_bytes)?)?));
            Ok(())
        };
        fill().into()
    }
}

fn layout(number: u32) -> Result<CmsLayout, skl_status> {
    const ROWS: u32 = skl_cms_layout::SKL_CMS_ROWS as u32;
    const TWO_LINE: u32 = skl_cms_layout::SKL_CMS_TWO_LINE as u32;
    match number {
        ROWS => Ok(CmsLayout::Rows),
        TWO_LINE => Ok(CmsLayout::TwoLine),
        _ => Err(SKL_ERR_ARGUMENT),
    }
}

fn layout_number(layout: CmsLayout) -> u32 {
    match layout {
        CmsLayout::Rows => skl_cms_layout::SKL_CMS_ROWS as u32,
        CmsLayout::TwoLine => skl_cms_layout::SKL_CMS_TWO_LINE as u32,
    }
}

fn counter(bytes: u32) -> Result<CounterSize, skl_status> {
    match bytes {
        4 => Ok(CounterSize::U32),
        8 => Ok(CounterSize::U64),
        _ => Err(SKL_ERR_ARGUMENT),
    }
}

/// SKL_SATURATED for an estimate at the greatest value of a counter.
#[inline(always)]
fn saturation(estimate: u64, cap: u64) -> skl_status {
    if estimate >= cap { SKL_SATURATED } else { SKL_OK }
}

/// The smallest sketch that estimates too high by more than `epsilon` times the total of all counts with a
/// probability of at most `delta`: width ceil(e / epsilon), depth ceil(ln(1 / delta)). Both in (0, 1), `counter_bytes`
/// 4 or 8, else SKL_ERR_ARGUMENT; SKL_ERR_UNREACHABLE for a `delta` below e^-16, or e^-2 in the two-line layout.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_params_for_error(
    layout: u32,
    counter_bytes: u32,
    epsilon: f64,
    delta: f64,
    params: *mut skl_cms_params,
) -> skl_status {
    let make = |layout, counter| CmsParams::for_error(layout, counter, epsilon, delta);
    // SAFETY: the caller's contract.
    unsafe { skl_cms_params::write(params, layout, counter_bytes, make) }
}

/// The widest sketch whose counters fit in `payload_bytes` (the image is one line of 64 bytes longer).
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_params_for_bytes(
    layout: u32,
    counter_bytes: u32,
    payload_bytes: u64,
    depth: u32,
    params: *mut skl_cms_params,
) -> skl_status {
    let make = |layout, counter| CmsParams::for_bytes(layout, counter, payload_bytes, depth);
    // SAFETY: the caller's contract.
    unsafe { skl_cms_params::write(params, layout, counter_bytes, make) }
}

/// Exactly this shape; in the two-line layout, `width` is rounded up to what it can have.
///
/// # Safety
/// `params` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_params_explicit(
    layout: u32,
    counter_bytes: u32,
    width: u64,
    depth: u32,
    params: *mut skl_cms_params,
) -> skl_status {
    let make = |layout, counter| {
        let params = CmsParams::of_width(layout, counter, width, depth)?;
        if params.depth() == depth { Ok(params) } else { Err(Error::InvalidArgument) }
    };
    // SAFETY: the caller's contract.
    unsafe { skl_cms_params::write(params, layout, counter_bytes, make) }
}

/// Checks parameters that the caller changed, and gives the bytes that skl_cms_init needs.
///
/// # Safety
/// `params` is readable, `bytes` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_required_bytes(params: *const skl_cms_params, bytes: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let checked = unsafe { skl_cms_params::read(params).and_then(|params| Ok((params, out(bytes)?))) };
    checked.map(|(params, bytes)| bytes.set(params.image_bytes())).into()
}

/// Makes a sketch without counts in memory of the caller, exactly as long as skl_cms_required_bytes says, which is
/// zeroed. The caller keeps the memory, for as long as the handle is used; there is nothing to free.
///
/// # Safety
/// `handle` is writable; `memory` has `len` writable bytes, at any address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_init(
    handle: *mut skl_cms,
    memory: *mut c_void,
    len: usize,
    params: *const skl_cms_params,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::init(handle, memory, len, skl_cms_params::read(params)) }
}

/// Makes a sketch without counts in memory of its own, from `allocator` or, if that is NULL, from the C library.
/// skl_cms_free gives it back.
///
/// # Safety
/// `handle` is writable, `params` readable; `allocator` is NULL or readable, and its hooks do as skl_allocator says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_new(
    handle: *mut skl_cms,
    params: *const skl_cms_params,
    allocator: *const skl_allocator,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::new(handle, skl_cms_params::read(params), allocator) }
}

/// Empties the handle, and gives its memory back if it came from skl_cms_new. NULL and handles that are empty already
/// are fine.
///
/// # Safety
/// `handle` is NULL or writable; no copy of it is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_free(handle: *mut skl_cms) {
    // SAFETY: the caller's contract.
    unsafe { life::free(handle) }
}

/// Opens an image of exactly `len` bytes to read it, in place, at any address. Reads the header, and the payload once
/// unless `flags` (SKL_OPEN_...) says otherwise.
///
/// # Safety
/// `handle` is writable; `image` has `len` readable bytes for as long as the handle is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_view(
    handle: *mut skl_cms,
    image: *const c_void,
    len: usize,
    flags: u32,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::view(handle, image, len, flags) }
}

/// As skl_cms_view, to change the image in place. The first change takes the seal off the header.
///
/// # Safety
/// `handle` is writable; `image` has `len` writable bytes for as long as the handle is used, and no other handle
/// writes to them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_open(handle: *mut skl_cms, image: *mut c_void, len: usize, flags: u32) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::open(handle, image, len, flags) }
}

/// Counts a key `count` more times. (NULL, 0) is the empty key. `estimate` is NULL, or where the estimate after that
/// goes. SKL_SATURATED if that stands at the greatest value of a counter: counts may have been lost.
/// SKL_ERR_CALLER_HASH if the sketch holds the caller's hashes.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `key` has `len` readable bytes; `estimate` is NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_add(
    handle: *mut skl_cms,
    key: *const c_void,
    len: usize,
    count: u64,
    estimate: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match array(key.cast::<u8>(), len) {
            Ok(key) => add(handle, |seed| KeyHash::of(key, seed), count, estimate),
            Err(status) => status,
        }
    }
}

/// skl_cms_add of an integer key: its eight little-endian bytes.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `estimate` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_add_u64(handle: *mut skl_cms, key: u64, count: u64, estimate: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { add(handle, |seed| KeyHash::of_u64(key, seed), count, estimate) }
}

/// # Safety
/// As `skl_cms_add_u64`.
#[inline(always)]
unsafe fn add(handle: *mut skl_cms, hash: impl FnOnce(u64) -> KeyHash, count: u64, estimate: *mut u64) -> skl_status {
    let add = |state: &mut CmsState, lines: &mut [Block]| {
        let hash = hash(state.key_seed()?);
        Ok((state.add_hash(lines, hash, count), state.cap()))
    };
    // SAFETY: the caller's contract.
    unsafe { added(handle, add, estimate) }
}

/// skl_cms_add of a hash.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `estimate` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_add_hash(
    handle: *mut skl_cms,
    hash: u64,
    count: u64,
    estimate: *mut u64,
) -> skl_status {
    let add = |state: &mut CmsState, lines: &mut [Block]| {
        Ok((state.add_hash(lines, KeyHash::from_raw(hash), count), state.cap()))
    };
    // SAFETY: the caller's contract.
    unsafe { added(handle, add, estimate) }
}

/// Gives the estimate that an add answers to the caller, if it is wanted.
///
/// # Safety
/// If not NULL, `handle` is a sketch to write to, used by nobody else meanwhile, and `estimate` is writable.
#[inline(always)]
unsafe fn added(
    handle: *mut skl_cms,
    add: impl FnOnce(&mut CmsState, &mut [Block]) -> Result<(u64, u64), Error>,
    estimate: *mut u64,
) -> skl_status {
    if !estimate.is_aligned() {
        return SKL_ERR_ALIGNMENT;
    }
    // SAFETY: the caller's contract.
    unsafe {
        match Handle::change_state(handle, add) {
            Ok((after, cap)) => {
                if !estimate.is_null() {
                    estimate.write(after);
                }
                saturation(after, cap)
            }
            Err(status) => status,
        }
    }
}

/// Counts every key of a batch, key `i` by `counts[i]`, or by 1 if `counts` is NULL; those that are not valid are left
/// out. SKL_SATURATED if a key stands at the greatest value of a counter. Any error: nothing was counted.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile; `keys` and its arrays are readable; `counts` is
/// NULL or has keys->n readable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_add_batch(
    handle: *mut skl_cms,
    keys: *const skl_keys,
    counts: *const u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match with_keys(keys, |keys| add_batch(handle, keys, counts)) {
            Ok(status) | Err(status) => status,
        }
    }
}

/// skl_cms_add_batch of `n` hashes.
///
/// # Safety
/// As there; `hashes` has `n` readable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_add_hashes(
    handle: *mut skl_cms,
    hashes: *const u64,
    n: usize,
    counts: *const u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match array(hashes, n).and_then(|hashes| add_batch(handle, &Hashes(hashes), counts)) {
            Ok(status) | Err(status) => status,
        }
    }
}

/// # Safety
/// As `skl_cms_add_batch`.
unsafe fn add_batch(handle: *mut skl_cms, keys: &dyn KeyBatch, counts: *const u64) -> Result<skl_status, skl_status> {
    // SAFETY: the caller's contract.
    unsafe {
        let counts = if counts.is_null() { None } else { Some(array(counts, keys.len())?) };
        Handle::change(handle, |sketch: &mut CmsMut<'_>| {
            let greatest = match counts {
                None => sketch.add_batch(keys, 1)?,
                Some(counts) => sketch.add_batch_counts(keys, counts)?,
            };
            Ok(saturation(greatest, sketch.state().cap()))
        })
    }
}

/// How often the key came: never too low, unless SKL_SATURATED says that it stands at the greatest value of a counter.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `key` has `len` readable bytes; `estimate` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_estimate(
    handle: *const skl_cms,
    key: *const c_void,
    len: usize,
    estimate: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let hash = |state: &CmsState| Ok(KeyHash::of(array(key.cast(), len)?, state.key_seed()?));
        look_up(handle, hash, estimate)
    }
}

/// skl_cms_estimate of an integer key.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `estimate` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_estimate_u64(handle: *const skl_cms, key: u64, estimate: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { look_up(handle, |state| Ok(KeyHash::of_u64(key, state.key_seed()?)), estimate) }
}

/// skl_cms_estimate of a hash.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `estimate` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_estimate_hash(handle: *const skl_cms, hash: u64, estimate: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { look_up(handle, |_| Ok(KeyHash::from_raw(hash)), estimate) }
}

/// # Safety
/// If not NULL, `handle` is a sketch that nobody writes to meanwhile, and `estimate` is writable.
#[inline(always)]
unsafe fn look_up(
    handle: *const skl_cms,
    hash: impl FnOnce(&CmsState) -> Result<KeyHash, skl_status>,
    estimate: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let answer = out(estimate).and_then(|out| {
            Handle::read_state(handle, |state, lines| {
                let estimate = state.estimate_hash(lines, hash(state)?);
                out.set(estimate);
                Ok(saturation(estimate, state.cap()))
            })
        });
        match answer {
            Ok(status) | Err(status) => status,
        }
    }
}

/// Estimates every key of a batch: keys->n numbers, 0 for keys that are not valid. SKL_SATURATED if one of them stands
/// at the greatest value of a counter.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `keys` and its arrays are readable; `estimates` has keys->n
/// writable numbers apart from them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_estimate_batch(
    handle: *const skl_cms,
    keys: *const skl_keys,
    estimates: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match with_keys(keys, |keys| estimate_batch(handle, keys, estimates)) {
            Ok(status) | Err(status) => status,
        }
    }
}

/// skl_cms_estimate_batch of `n` hashes.
///
/// # Safety
/// As there; `hashes` has `n` readable numbers, `estimates` `n` writable ones apart from them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_estimate_hashes(
    handle: *const skl_cms,
    hashes: *const u64,
    n: usize,
    estimates: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        match array(hashes, n).and_then(|hashes| estimate_batch(handle, &Hashes(hashes), estimates)) {
            Ok(status) | Err(status) => status,
        }
    }
}

/// # Safety
/// As `skl_cms_estimate_batch`.
unsafe fn estimate_batch(
    handle: *const skl_cms,
    keys: &dyn KeyBatch,
    estimates: *mut u64,
) -> Result<skl_status, skl_status> {
    // SAFETY: the caller's contract.
    unsafe {
        let sketch: CmsRef<'_> = Handle::sketch(handle)?;
        keys.check(sketch.params().hashing())?;
        let estimates = array_mut(estimates, keys.len())?;
        sketch.estimate_batch(keys, estimates)?;
        Ok(saturation(estimates.iter().copied().max().unwrap_or(0), sketch.state().cap()))
    }
}

/// An estimate and how far off it may be.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_cms_bounds {
    /// Set by the caller to sizeof(skl_cms_bounds), so that the structure can grow.
    pub struct_size: usize,
    /// At least the true count, unless it is saturated.
    pub estimate: u64,
    /// The true count is at least this with a probability of 1 - delta.
    pub lower: f64,
    /// total * epsilon: how much an estimate is too high at most, with a probability of 1 - delta.
    pub error: f64,
    /// e^-depth, or e^-2 in the two-line layout.
    pub delta: f64,
    /// 1 if the estimate stands at the greatest value of a counter.
    pub is_saturated: u32,
    /// 0.
    pub reserved: u32,
}

/// The bounds of an estimate that this sketch gave. Set bounds->struct_size first.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `bounds` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_get_bounds(
    handle: *const skl_cms,
    estimate: u64,
    bounds: *mut skl_cms_bounds,
) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (sketch, out): (CmsRef<'_>, _) = (Handle::sketch(handle)?, sized_out(bounds)?);
        let bounds = sketch.bounds(estimate);
        out.set(skl_cms_bounds {
            struct_size: size_of::<skl_cms_bounds>(),
            estimate,
            lower: bounds.lower,
            error: bounds.error,
            delta: bounds.delta,
            is_saturated: bounds.saturated.into(),
            reserved: 0,
        });
        Ok(())
    };
    get().into()
}

/// Adds the counts of `source`, a sketch of the same layout, width, depth, counters, hash and seed, else
/// SKL_ERR_INCOMPATIBLE; also if `source` is conservative and `target` is not.
///
/// # Safety
/// `target` is a sketch to write to, used by nobody else meanwhile; `source` is another sketch, over other bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_merge(target: *mut skl_cms, source: *const skl_cms) -> skl_status {
    if !target.is_null() && core::ptr::eq(target, source) {
        // Two borrows of one sketch would not do, and counting a stream twice is hardly meant.
        return SKL_ERR_ARGUMENT;
    }
    // SAFETY: the caller's contract; the two are different.
    unsafe {
        match Handle::sketch(source) {
            Ok(source) => Handle::change(target, |target: &mut CmsMut<'_>| target.merge(&source)).into(),
            Err(status) => status,
        }
    }
}

/// Estimates the sum over all keys of the product of their counts in both sketches (the size of a join): never too
/// low; stops at 2^64 - 1. SKL_ERR_INCOMPATIBLE as in skl_cms_merge, and for conservative sketches.
///
/// # Safety
/// `a` and `b` are sketches that nobody writes to meanwhile; `product` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_inner_product(a: *const skl_cms, b: *const skl_cms, product: *mut u64) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let out = out(product)?;
        let (a, b): (CmsRef<'_>, CmsRef<'_>) = (Handle::sketch(a)?, Handle::sketch(b)?);
        out.set(a.inner_product(&b)?);
        Ok(())
    };
    get().into()
}

/// Ages all counts: every counter c becomes c >> times, and so does the total, and with it the bound.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_halve(handle: *mut skl_cms, times: u32) -> skl_status {
    let halve = |sketch: &mut CmsMut<'_>| {
        sketch.halve_times(times);
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { Handle::change(handle, halve) }.into()
}

/// A sliding window: the sketch is halved once per period of length W, so that a count that came n periods ago weighs
/// 2^-n. An estimate is more than half of what came in the last W, less 1, and at most twice the most that came in any
/// one period, plus total * epsilon with a probability of 1 - delta. Time is any number that counts up.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_cms_window {
    /// W, not 0.
    pub period: u64,
    /// When the present period started.
    pub started: u64,
}

/// Goes on to the period of `now`: halves the sketch once for each period that ended since window->started, moves that
/// on, and says how often (`halvings` may be NULL). A time before the present period belongs to it.
///
/// # Safety
/// `window` is readable and writable; `handle` is a sketch to write to, used by nobody else meanwhile; `halvings` is
/// NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_window_advance(
    window: *mut skl_cms_window,
    handle: *mut skl_cms,
    now: u64,
    halvings: *mut u64,
) -> skl_status {
    // SAFETY: the caller's contract.
    let advance = || unsafe {
        let held = *array(window.cast_const(), usize::from(!window.is_null()))?.first().ok_or(SKL_ERR_NULL)?;
        let halvings = if halvings.is_null() { None } else { Some(out(halvings)?) };
        let mut moved = CmsWindow::new(held.period, held.started)?;
        let times = Handle::change(handle, |sketch: &mut CmsMut<'_>| Ok(moved.advance(sketch, now)))?;
        out(window)?.set(skl_cms_window { period: moved.period(), started: moved.started() });
        if let Some(halvings) = halvings {
            halvings.set(times);
        }
        Ok(())
    };
    advance().into()
}

/// Forgets all counts.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_clear(handle: *mut skl_cms) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::clear(handle) }
}

/// Finishes the image: writes both checksums into its header. Reads the whole payload. Then the bytes of skl_cms_image
/// are worth keeping; the next change takes the seal off.
///
/// # Safety
/// `handle` is a sketch to write to, used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_seal(handle: *mut skl_cms) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::seal(handle) }
}

/// Where the image is. The bytes belong to whoever provided them, or to the handle after skl_cms_new.
///
/// # Safety
/// `handle` is a sketch; `image` and `len` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_image(
    handle: *const skl_cms,
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
pub unsafe extern "C" fn skl_cms_set_simd_level(handle: *mut skl_cms, level: c_int) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { life::set_simd_level(handle, level) }
}

/// What a sketch knows of itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_cms_info {
    /// Set by the caller to sizeof(skl_cms_info), so that the structure can grow.
    pub struct_size: usize,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Counters among which a row chooses.
    pub width: u64,
    /// Seed of the hash, or the caller's tag.
    pub seed: u64,
    /// The total of all counts, halved as often as the counters were; stops at 2^64 - 1.
    pub total: u64,
    /// Counters that are still 0.
    pub zero_counters: u64,
    /// Counters that stand at their greatest value.
    pub saturated_counters: u64,
    /// The greatest counter.
    pub greatest_counter: u64,
    /// e / width.
    pub epsilon: f64,
    /// e^-depth, or e^-2 in the two-line layout.
    pub delta: f64,
    /// total * epsilon: how much an estimate is too high at most, with a probability of 1 - delta.
    pub error: f64,
    /// Counters of a key.
    pub depth: u32,
    /// A skl_cms_layout.
    pub layout: u32,
    /// 4 or 8.
    pub counter_bytes: u32,
    /// 1 if adds raise only the counters that must be raised.
    pub conservative: u32,
    /// A skl_hash_id.
    pub hash_id: u32,
    /// A skl_simd.
    pub simd_level: u32,
    /// 1 if the header in memory is sealed.
    pub is_sealed: u32,
    /// 0.
    pub reserved: u32,
}

/// What a sketch knows of itself; one pass over the counters. Set info->struct_size first.
///
/// # Safety
/// `handle` is a sketch that nobody writes to meanwhile; `info` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_cms_get_info(handle: *const skl_cms, info: *mut skl_cms_info) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (sketch, out): (CmsRef<'_>, _) = (Handle::sketch(handle)?, sized_out(info)?);
        let (params, state) = (skl_cms_params::of(sketch.params()), sketch.state());
        let census = sketch.census();
        out.set(skl_cms_info {
            struct_size: size_of::<skl_cms_info>(),
            image_bytes: params.image_bytes,
            width: params.width,
            seed: params.seed,
            total: sketch.total(),
            zero_counters: census.zeros,
            saturated_counters: census.saturated,
            greatest_counter: census.greatest,
            epsilon: params.epsilon,
            delta: params.delta,
            error: sketch.error_bound(),
            depth: params.depth,
            layout: params.layout,
            counter_bytes: params.counter_bytes,
            conservative: params.conservative,
            hash_id: params.hash_id,
            simd_level: state.level().into(),
            is_sealed: state.is_sealed().into(),
            reserved: 0,
        });
        Ok(())
    };
    get().into()
}
