//! Pointers: the only place where one from C becomes a slice, and the allocator.

use crate::status::skl_status::{self, *};
use core::ffi::c_void;
use core::{ptr, slice};
use sketchline::BLOCK_BYTES;

/// A const array from C. NULL with length 0 is the empty array.
///
/// # Safety
/// If not NULL, `data` points to `len` readable elements that nothing changes during `'a`.
#[inline(always)]
pub(crate) unsafe fn array<'a, T>(data: *const T, len: usize) -> Result<&'a [T], skl_status> {
    if len == 0 {
        return Ok(&[]);
    }
    check(data, len)?;
    // SAFETY: not NULL, aligned, and no longer than an object can be (checked); readable (caller).
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// An array from C to write to. NULL with length 0 is the empty array.
///
/// # Safety
/// If not NULL, `data` points to `len` writable elements that nothing else touches during `'a`.
#[inline(always)]
pub(crate) unsafe fn array_mut<'a, T>(data: *mut T, len: usize) -> Result<&'a mut [T], skl_status> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(data, len)?;
    // SAFETY: not NULL, aligned, and no longer than an object can be (checked); writable (caller).
    Ok(unsafe { slice::from_raw_parts_mut(data, len) })
}

#[inline(always)]
fn check<T>(data: *const T, len: usize) -> Result<(), skl_status> {
    if data.is_null() {
        return Err(SKL_ERR_NULL);
    }
    if !data.is_aligned() {
        return Err(SKL_ERR_ALIGNMENT);
    }
    // The array must end before the address space does.
    let most = (isize::MAX as usize).min(usize::MAX - data as usize);
    if len > most / size_of::<T>().max(1) { Err(SKL_ERR_LENGTH) } else { Ok(()) }
}

/// Where to write a result.
///
/// # Safety
/// If not NULL, `out` is writable and nothing else touches it during `'a`; it may be uninitialised, so only
/// write to it.
#[inline(always)]
pub(crate) unsafe fn out<'a, T: Copy>(out: *mut T) -> Result<Out<'a, T>, skl_status> {
    if out.is_null() {
        Err(SKL_ERR_NULL)
    } else if !out.is_aligned() {
        Err(SKL_ERR_ALIGNMENT)
    } else {
        Ok(Out(out, core::marker::PhantomData))
    }
}

/// A checked out-parameter.
pub(crate) struct Out<'a, T>(*mut T, core::marker::PhantomData<&'a mut T>);

impl<T: Copy> Out<'_, T> {
    #[inline(always)]
    pub(crate) fn set(self, value: T) {
        // SAFETY: `out` checked NULL and alignment; its caller promised that it is writable.
        unsafe { self.0.write(value) }
    }
}

/// An out-structure that begins with its size, as the caller's header knew it. No structure has grown yet, so
/// there is one size.
///
/// # Safety
/// If not NULL, `structure` is writable and begins with a `usize` that is set.
pub(crate) unsafe fn sized_out<'a, T: Copy>(structure: *mut T) -> Result<Out<'a, T>, skl_status> {
    // SAFETY: the caller's contract; `out` checks NULL and alignment before the size is read.
    unsafe {
        let out = out(structure)?;
        if structure.cast::<usize>().read() == size_of::<T>() { Ok(out) } else { Err(SKL_ERR_ARGUMENT) }
    }
}

/// Where an owned sketch gets its memory. All three are kept in the allocation until it is freed. 4 MiB and more are asked
/// for at a multiple of 2 MiB, and the kernel is advised to use huge pages there, whoever's memory it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_allocator {
    /// Returns `size` bytes at a multiple of `align` (a power of two, at least 64), or NULL.
    pub alloc: Option<unsafe extern "C" fn(ctx: *mut c_void, size: usize, align: usize) -> *mut c_void>,
    /// Takes back what `alloc` returned, with the same size and align.
    pub free: Option<unsafe extern "C" fn(ctx: *mut c_void, memory: *mut c_void, size: usize, align: usize)>,
    /// Given to both as it is.
    pub ctx: *mut c_void,
}

/// The line in front of an owned image: how to give it back.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Owner {
    allocator: skl_allocator,
    size: usize,
    align: usize,
    huge_pages: bool,
}

const _: () = assert!(size_of::<Owner>() == BLOCK_BYTES);

/// From this size on the kernel is asked for huge pages, and memory aligned to them. Measured with `make huge-pages`
/// (`benches/results/huge-pages.txt`): the same speed up to 6 MiB, 1.02 to 1.18 times as fast at 8 MiB, 1.5 at 1 GiB,
/// never slower; other CPUs have smaller TLBs.
const HUGE_FROM_BYTES: usize = 4 << 20;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Memory for an image of `len` bytes at a multiple of 64, not zeroed. `None`: the C library's allocator.
///
/// # Safety
/// The hooks do what [`skl_allocator`] asks of them.
pub(crate) unsafe fn allocate(len: u64, hooks: Option<skl_allocator>) -> Result<*mut u8, skl_status> {
    let hooks = hooks.unwrap_or(skl_allocator { alloc: Some(libc_alloc), free: Some(libc_free), ctx: ptr::null_mut() });
    let alloc = hooks.alloc.ok_or(SKL_ERR_NULL)?;
    hooks.free.ok_or(SKL_ERR_NULL)?;
    let size = usize::try_from(len).ok().and_then(|len| len.checked_add(BLOCK_BYTES)).ok_or(SKL_ERR_TOO_LARGE)?;
    if size > isize::MAX as usize {
        return Err(SKL_ERR_TOO_LARGE);
    }
    let align = if size >= HUGE_FROM_BYTES { HUGE_PAGE_BYTES } else { BLOCK_BYTES };
    // SAFETY: the hook takes any size and a power of two (caller).
    let memory = unsafe { alloc(hooks.ctx, size, align) };
    if memory.is_null() {
        return Err(SKL_ERR_NO_MEMORY);
    }
    let huge_pages = size >= HUGE_FROM_BYTES && advise_huge_pages(memory, size);
    // SAFETY: the hook gave `size` bytes, at least a line and more, aligned to at least a line (caller).
    unsafe {
        memory.cast::<Owner>().write(Owner { allocator: hooks, size, align, huge_pages });
        Ok(memory.cast::<u8>().add(BLOCK_BYTES))
    }
}

/// Memory for an image of `len` bytes from where that of `image` came from.
///
/// # Safety
/// `image` came from [`allocate`].
pub(crate) unsafe fn allocate_like(image: *const u8, len: u64) -> Result<*mut u8, skl_status> {
    // SAFETY: `allocate` wrote an `Owner` into the line before (caller), with hooks that do as they must.
    unsafe { allocate(len, Some((*image.sub(BLOCK_BYTES).cast::<Owner>()).allocator)) }
}

/// Gives back what [`allocate`] returned.
///
/// # Safety
/// `image` came from `allocate`, and is not used again.
pub(crate) unsafe fn release(image: *mut u8) {
    // SAFETY: `allocate` wrote an `Owner` into the line before (caller); the hook takes its own memory back.
    unsafe {
        let memory = image.sub(BLOCK_BYTES);
        let owner = memory.cast::<Owner>().read();
        if let Some(free) = owner.allocator.free {
            free(owner.allocator.ctx, memory.cast(), owner.size, owner.align);
        }
    }
}

/// Whether huge pages were asked for when this image was allocated.
///
/// # Safety
/// `image` came from [`allocate`].
pub(crate) unsafe fn asked_for_huge_pages(image: *const u8) -> bool {
    // SAFETY: `allocate` wrote an `Owner` into the line before (caller).
    unsafe { (*image.sub(BLOCK_BYTES).cast::<Owner>()).huge_pages }
}

/// Asks for huge pages; whether the kernel took the advice for good.
#[cfg(target_os = "linux")]
fn advise_huge_pages(memory: *mut c_void, size: usize) -> bool {
    // SAFETY: advice on memory that was just allocated, at a multiple of its alignment; it changes no contents, and may fail.
    unsafe { libc::madvise(memory, size, libc::MADV_HUGEPAGE) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_: *mut c_void, _: usize) -> bool {
    false
}

#[cfg(unix)]
unsafe extern "C" fn libc_alloc(_: *mut c_void, size: usize, align: usize) -> *mut c_void {
    let mut memory = ptr::null_mut();
    // SAFETY: `align` is a power of two and a multiple of a pointer's size; `memory` is writable.
    match unsafe { libc::posix_memalign(&mut memory, align, size) } {
        0 => memory,
        _ => ptr::null_mut(),
    }
}

#[cfg(unix)]
unsafe extern "C" fn libc_free(_: *mut c_void, memory: *mut c_void, _: usize, _: usize) {
    // SAFETY: `memory` came from `libc_alloc` (contract of the hooks).
    unsafe { libc::free(memory) }
}

#[cfg(windows)]
unsafe extern "C" fn libc_alloc(_: *mut c_void, size: usize, align: usize) -> *mut c_void {
    // SAFETY: `align` is a power of two.
    unsafe { libc::aligned_malloc(size, align) }
}

#[cfg(windows)]
unsafe extern "C" fn libc_free(_: *mut c_void, memory: *mut c_void, _: usize, _: usize) {
    // SAFETY: `memory` came from `libc_alloc` (contract of the hooks).
    unsafe { libc::aligned_free(memory) }
}
