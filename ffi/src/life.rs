//! The life of a sketch, the same for every kind: made or opened, finished, given back.

use crate::handle::{Access, Dispatched, Handle, Opaque, check};
use crate::memory::{allocate, array, array_mut, out, release, skl_allocator};
use crate::simd::isa;
use crate::status::skl_status::{self, *};
use core::ffi::{c_int, c_void};
use sketchline::OpenOptions;

/// Do not check the payload of a Bloom filter or a Count-Min sketch: opening takes constant time. For bytes that
/// something else already vouches for.
pub const SKL_OPEN_SKIP_PAYLOAD_CHECK: u32 = 1;
/// Also open an image that was never sealed (shared memory, a crashed writer).
pub const SKL_OPEN_ALLOW_UNSEALED: u32 = 2;
/// Default for the view and open functions: check the payload's checksum, refuse unsealed images.
pub const SKL_OPEN_STRICT: u32 = 0;

pub(crate) fn options(flags: u32) -> Result<OpenOptions, skl_status> {
    if flags & !(SKL_OPEN_SKIP_PAYLOAD_CHECK | SKL_OPEN_ALLOW_UNSEALED) != 0 {
        return Err(SKL_ERR_ARGUMENT);
    }
    let mut options = OpenOptions::STRICT;
    if flags & SKL_OPEN_SKIP_PAYLOAD_CHECK != 0 {
        options = options.skip_payload_check();
    }
    if flags & SKL_OPEN_ALLOW_UNSEALED != 0 {
        options = options.allow_unsealed();
    }
    Ok(options)
}

/// Opens the `len` bytes at `memory` for a handle.
///
/// # Safety
/// `handle` is writable; `memory` is valid for the access as the C function documents.
pub(crate) unsafe fn open_handle<T: Opaque>(
    handle: *mut T,
    access: Access,
    memory: *const c_void,
    open: impl FnOnce() -> Result<T::State, skl_status>,
) -> Result<(), skl_status> {
    check(handle)?;
    let state = open()?;
    // SAFETY: the caller's contract. A handle with `Access::Read` never writes through the pointer.
    unsafe { Handle::write(handle, access, memory.cast_mut().cast(), state) };
    Ok(())
}

/// Makes an empty sketch in memory of the caller.
///
/// # Safety
/// If not NULL, `handle` is writable, and `memory` has `len` writable bytes.
pub(crate) unsafe fn init<T: Opaque>(
    handle: *mut T,
    memory: *mut c_void,
    len: usize,
    params: Result<T::Params, skl_status>,
) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let init = || Ok(T::init(array_mut(memory.cast(), len)?, params?)?);
        open_handle(handle, Access::Write, memory, init)
    }
    .into()
}

/// Makes an empty sketch in memory of its own.
///
/// # Safety
/// If not NULL, `handle` is writable, and `allocator` readable, with hooks that do as skl_allocator says.
pub(crate) unsafe fn new<T: Opaque>(
    handle: *mut T,
    params: Result<T::Params, skl_status>,
    allocator: *const skl_allocator,
) -> skl_status {
    // SAFETY: the caller's contract; what `allocate` gave is writable, and nobody else has it.
    let made = || unsafe {
        check(handle)?;
        let params = params?;
        let len = T::image_bytes(&params);
        let hooks = array(allocator, usize::from(!allocator.is_null()))?.first().copied();
        let memory = allocate(len, hooks)?;
        let init = || Ok(T::init(array_mut(memory, len as usize)?, params)?);
        open_handle(handle, Access::Own, memory.cast(), init).inspect_err(|_| release(memory))
    };
    made().into()
}

/// Empties a handle. An empty one is fine.
///
/// # Safety
/// If not NULL, `handle` is writable, and no copy of it is used afterwards.
pub(crate) unsafe fn free<T: Opaque>(handle: *mut T) {
    // SAFETY: the caller's contract. An empty handle is no error here.
    let _ = unsafe { Handle::free(handle) };
}

/// Opens an image to read it.
///
/// # Safety
/// If not NULL, `handle` is writable; `image` has `len` readable bytes for as long as the handle is used.
pub(crate) unsafe fn view<T: Opaque>(handle: *mut T, image: *const c_void, len: usize, flags: u32) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let open = || Ok(T::open(array(image.cast(), len)?, options(flags)?)?);
        open_handle(handle, Access::Read, image, open)
    }
    .into()
}

/// Opens an image to change it.
///
/// # Safety
/// As `view`; the bytes are writable.
pub(crate) unsafe fn open<T: Opaque>(handle: *mut T, image: *mut c_void, len: usize, flags: u32) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe {
        let open = || Ok(T::open(array_mut(image.cast(), len)?, options(flags)?)?);
        open_handle(handle, Access::Write, image, open)
    }
    .into()
}

/// Empties a sketch.
///
/// # Safety
/// If not NULL, `handle` is a sketch to write to, used by nobody else meanwhile.
pub(crate) unsafe fn clear<T: Opaque>(handle: *mut T) -> skl_status {
    let clear = |sketch: &mut T::Sketch<&mut [sketchline::Block]>| {
        T::clear(sketch);
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { Handle::change(handle, clear) }.into()
}

/// Finishes an image.
///
/// # Safety
/// As `clear`.
pub(crate) unsafe fn seal<T: Opaque>(handle: *mut T) -> skl_status {
    // SAFETY: the caller's contract.
    unsafe { Handle::change(handle, |sketch| T::seal(sketch)) }.into()
}

/// Where the image is.
///
/// # Safety
/// If not NULL, `handle` is a sketch, and `image` and `len` are writable.
pub(crate) unsafe fn image<T: Opaque>(handle: *const T, image: *mut *const c_void, len: *mut usize) -> skl_status {
    // SAFETY: the caller's contract.
    let get = || unsafe {
        let (image, len) = (out(image)?, out(len)?);
        let sketch = Handle::sketch(handle)?;
        let bytes = T::image(&sketch);
        image.set(bytes.as_ptr().cast());
        len.set(bytes.len());
        Ok(())
    };
    get().into()
}

/// Puts a sketch on another instruction set.
///
/// # Safety
/// If not NULL, `handle` is a sketch; nobody else uses the handle meanwhile.
pub(crate) unsafe fn set_simd_level<T: Dispatched>(handle: *mut T, level: c_int) -> skl_status {
    match isa(level) {
        // SAFETY: the caller's contract.
        Ok(isa) => unsafe { Handle::set_isa(handle, isa) }.into(),
        Err(status) => status,
    }
}
