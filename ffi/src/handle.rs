//! What is inside a `skl_bloom`: a tag, a pointer to the lines, and the decoded header.
//!
//! Every call builds a filter from these for its own duration, so that no Rust reference to the caller's
//! memory outlives the call.

use crate::memory::{array, asked_for_huge_pages, release};
use crate::status::skl_status::{self, *};
use sketchline::{Bloom, BloomMut, BloomRef, BloomState, Block};

/// A Bloom filter: 64 bytes that the caller holds, on the stack or inside its own structures. The contents
/// are private.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_bloom {
    /// Private.
    pub opaque: [u64; 8],
}

/// What a handle may do with its lines. The numbers are arbitrary, so that stray memory is not taken for one.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Access(u64);

impl Access {
    pub(crate) const READ: Self = Self(0x7365_6b65_7463_6801);
    pub(crate) const WRITE: Self = Self(0x7365_6b65_7463_6802);
    /// Also to be released.
    pub(crate) const OWN: Self = Self(0x7365_6b65_7463_6803);
}

/// The contents of a `skl_bloom`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    access: Access,
    lines: *mut Block,
    state: BloomState,
}

const _: () = assert!(size_of::<Handle>() <= size_of::<skl_bloom>());
const _: () = assert!(align_of::<Handle>() <= align_of::<skl_bloom>());

impl Handle {
    /// Fills the caller's handle.
    ///
    /// # Safety
    /// `handle` is writable. `lines` stay valid for the access that is given, as the C function documents.
    pub(crate) unsafe fn write(handle: *mut skl_bloom, access: Access, lines: *mut u8, state: BloomState) {
        // SAFETY: `handle` is writable (caller), and large and aligned enough for a `Handle` (asserted above).
        unsafe { handle.cast::<Handle>().write(Handle { access, lines: lines.cast(), state }) }
    }

    /// # Safety
    /// If not NULL, `handle` is readable and nothing writes to it during `'a`.
    #[inline(always)]
    unsafe fn get<'a>(handle: *const skl_bloom) -> Result<&'a Handle, skl_status> {
        check(handle)?;
        // SAFETY: readable (caller). The tag is read alone first: only `write` puts one there, and with it a valid state.
        unsafe {
            match handle.cast::<Access>().read() {
                Access::READ | Access::WRITE | Access::OWN => Ok(&*handle.cast::<Handle>()),
                _ => Err(SKL_ERR_HANDLE),
            }
        }
    }

    /// The filter of a handle, to be read.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are readable and nothing writes to them during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn filter<'a>(handle: *const skl_bloom) -> Result<BloomRef<'a>, skl_status> {
        // SAFETY: the caller's contract; the lines are readable for as long as the handle is used.
        unsafe {
            let handle = Self::get(handle)?;
            let lines = array(handle.lines.cast_const(), handle.state.num_lines())?;
            Ok(Bloom::attach(lines, handle.state)?)
        }
    }

    /// Whether this handle owns its image, and huge pages were asked for.
    ///
    /// # Safety
    /// If not NULL, `handle` is readable.
    pub(crate) unsafe fn huge_pages(handle: *const skl_bloom) -> Result<bool, skl_status> {
        // SAFETY: the caller's contract; an owned image came from `allocate`.
        unsafe {
            let handle = Self::get(handle)?;
            Ok(handle.access == Access::OWN && asked_for_huge_pages(handle.lines.cast()))
        }
    }

    /// Runs `change` on the filter of a handle, and keeps the state that results.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are writable and nothing else touches them during the call.
    #[inline(always)]
    pub(crate) unsafe fn change<T>(
        handle: *mut skl_bloom,
        change: impl FnOnce(&mut BloomMut<'_>) -> Result<T, sketchline::Error>,
    ) -> Result<T, skl_status> {
        // SAFETY: the caller's contract; a handle that may write has writable lines for as long as it is used.
        unsafe {
            let held = Self::get(handle)?;
            if held.access == Access::READ {
                return Err(SKL_ERR_READ_ONLY);
            }
            let lines = crate::memory::array_mut(held.lines, held.state.num_lines())?;
            let mut filter = Bloom::attach(lines, held.state)?;
            let result = change(&mut filter);
            (*handle.cast::<Handle>()).state = *filter.state();
            Ok(result?)
        }
    }

    /// Puts the filter of a handle on another instruction set.
    ///
    /// # Safety
    /// If not NULL, `handle` is writable and nothing else touches it during the call.
    pub(crate) unsafe fn set_isa(handle: *mut skl_bloom, isa: sketchline::Isa) -> Result<(), skl_status> {
        // SAFETY: the caller's contract.
        unsafe {
            Self::get(handle)?;
            (*handle.cast::<Handle>()).state.set_isa(isa);
        }
        Ok(())
    }

    /// Empties a handle, and releases the image if the handle owns it.
    ///
    /// # Safety
    /// If not NULL, `handle` is writable; nothing uses it or an image it owns any more.
    pub(crate) unsafe fn free(handle: *mut skl_bloom) -> Result<(), skl_status> {
        // SAFETY: the caller's contract; an owned image came from `allocate`.
        unsafe {
            let held = *Self::get(handle)?;
            handle.write(skl_bloom { opaque: [0; 8] });
            if held.access == Access::OWN {
                release(held.lines.cast());
            }
            Ok(())
        }
    }
}

/// Whether there is a handle to speak of.
#[inline(always)]
pub(crate) fn check(handle: *const skl_bloom) -> Result<(), skl_status> {
    if handle.is_null() {
        Err(SKL_ERR_NULL)
    } else if !handle.is_aligned() {
        Err(SKL_ERR_ALIGNMENT)
    } else {
        Ok(())
    }
}
