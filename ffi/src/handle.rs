//! What is inside a handle: a tag, a pointer to the lines, and the decoded header.
//!
//! Every call builds a sketch from these for its own duration, so that no Rust reference to the caller's memory
//! outlives the call.

use crate::memory::{allocate_like, array, array_mut, asked_for_huge_pages, release};
use crate::status::skl_status::{self, *};
use core::ffi::{c_int, c_void};
use core::slice;
use sketchline::{Block, Bloom, BloomState, Error, Hll, HllMut, HllState, Isa, Lines, OpenOptions};

/// A Bloom filter: 64 bytes that the caller holds, on the stack or inside its own structures. The contents
/// are private.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_bloom {
    /// Private.
    pub opaque: [u64; 8],
}

/// A HyperLogLog sketch: 64 bytes that the caller holds. The contents are private.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_hll {
    /// Private.
    pub opaque: [u64; 8],
}

/// A structure that C knows as 64 opaque bytes, and what is kept in it.
pub(crate) trait Opaque: Copy {
    /// Tells the handles of one kind from those of another, and from stray memory.
    const TAG: u64;
    /// What a sketch of this kind knows besides its lines.
    type State: Copy;
    /// A sketch over some lines.
    type Sketch<S>;

    const EMPTY: Self;

    fn num_lines(state: &Self::State) -> usize;
    fn set_isa(state: &mut Self::State, isa: Isa);
    fn attach<S: Lines>(lines: S, state: Self::State) -> Result<Self::Sketch<S>, Error>;
    fn state<S: Lines>(sketch: &Self::Sketch<S>) -> Self::State;
}

impl Opaque for skl_bloom {
    const TAG: u64 = 0x536b_6574_6368_0100;
    const EMPTY: Self = Self { opaque: [0; 8] };
    type State = BloomState;
    type Sketch<S> = Bloom<S>;

    #[inline(always)]
    fn num_lines(state: &BloomState) -> usize {
        state.num_lines()
    }

    fn set_isa(state: &mut BloomState, isa: Isa) {
        state.set_isa(isa);
    }

    #[inline(always)]
    fn attach<S: Lines>(lines: S, state: BloomState) -> Result<Bloom<S>, Error> {
        Bloom::attach(lines, state)
    }

    #[inline(always)]
    fn state<S: Lines>(sketch: &Bloom<S>) -> BloomState {
        *sketch.state()
    }
}

impl Opaque for skl_hll {
    const TAG: u64 = 0x536b_6574_6368_0200;
    const EMPTY: Self = Self { opaque: [0; 8] };
    type State = HllState;
    type Sketch<S> = Hll<S>;

    #[inline(always)]
    fn num_lines(state: &HllState) -> usize {
        state.num_lines()
    }

    fn set_isa(state: &mut HllState, isa: Isa) {
        state.set_isa(isa);
    }

    #[inline(always)]
    fn attach<S: Lines>(lines: S, state: HllState) -> Result<Hll<S>, Error> {
        Hll::attach(lines, state)
    }

    #[inline(always)]
    fn state<S: Lines>(sketch: &Hll<S>) -> HllState {
        *sketch.state()
    }
}

/// What a handle may do with its lines: a number beside the tag of its kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read = 1,
    Write = 2,
    /// Also to be released.
    Own = 3,
}

/// The contents of a handle.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Handle<T: Opaque> {
    tag: u64,
    lines: *mut Block,
    state: T::State,
}

const _: () = assert!(size_of::<Handle<skl_bloom>>() <= size_of::<skl_bloom>());
const _: () = assert!(size_of::<Handle<skl_hll>>() <= size_of::<skl_hll>());

impl<T: Opaque> Handle<T> {
    /// Fills the caller's handle.
    ///
    /// # Safety
    /// `handle` is writable. `lines` stay valid for the access that is given, as the C function documents.
    pub(crate) unsafe fn write(handle: *mut T, access: Access, lines: *mut u8, state: T::State) {
        // SAFETY: `handle` is writable (caller), and large and aligned enough for a `Handle` (asserted above).
        unsafe { handle.cast::<Self>().write(Self { tag: T::TAG | access as u64, lines: lines.cast(), state }) }
    }

    /// # Safety
    /// If not NULL, `handle` is readable and nothing writes to it during `'a`.
    #[inline(always)]
    unsafe fn get<'a>(handle: *const T) -> Result<&'a Self, skl_status> {
        check(handle)?;
        // SAFETY: readable (caller). The tag is read alone first: only `write` puts one there, and with it a valid state.
        unsafe {
            let access = handle.cast::<u64>().read() ^ T::TAG;
            if access.wrapping_sub(1) < 3 { Ok(&*handle.cast::<Self>()) } else { Err(SKL_ERR_HANDLE) }
        }
    }

    #[inline(always)]
    fn may(&self, access: Access) -> bool {
        self.tag ^ T::TAG >= access as u64
    }

    /// The sketch of a handle, to be read.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are readable and nothing writes to them during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn sketch<'a>(handle: *const T) -> Result<T::Sketch<&'a [Block]>, skl_status> {
        // SAFETY: the caller's contract; the lines are readable for as long as the handle is used.
        unsafe {
            let handle = Self::get(handle)?;
            let lines = array(handle.lines.cast_const(), T::num_lines(&handle.state))?;
            Ok(T::attach(lines, handle.state)?)
        }
    }

    /// Runs `change` on the sketch of a handle, and keeps the state that results.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are writable and nothing else touches them during the call.
    #[inline(always)]
    pub(crate) unsafe fn change<R>(
        handle: *mut T,
        change: impl FnOnce(&mut T::Sketch<&mut [Block]>) -> Result<R, Error>,
    ) -> Result<R, skl_status> {
        // SAFETY: the caller's contract; a handle that may write has writable lines for as long as it is used.
        unsafe {
            let held = Self::get(handle)?;
            if !held.may(Access::Write) {
                return Err(SKL_ERR_READ_ONLY);
            }
            let lines = array_mut(held.lines, T::num_lines(&held.state))?;
            let mut sketch = T::attach(lines, held.state)?;
            let result = change(&mut sketch);
            (*handle.cast::<Self>()).state = T::state(&sketch);
            Ok(result?)
        }
    }

    /// Whether this handle owns its image, and huge pages were asked for.
    ///
    /// # Safety
    /// If not NULL, `handle` is readable.
    pub(crate) unsafe fn huge_pages(handle: *const T) -> Result<bool, skl_status> {
        // SAFETY: the caller's contract; an owned image came from `allocate`.
        unsafe {
            let handle = Self::get(handle)?;
            Ok(handle.may(Access::Own) && asked_for_huge_pages(handle.lines.cast()))
        }
    }

    /// Puts the sketch of a handle on another instruction set.
    ///
    /// # Safety
    /// If not NULL, `handle` is writable and nothing else touches it during the call.
    pub(crate) unsafe fn set_isa(handle: *mut T, isa: Isa) -> Result<(), skl_status> {
        // SAFETY: the caller's contract.
        unsafe {
            Self::get(handle)?;
            T::set_isa(&mut (*handle.cast::<Self>()).state, isa);
        }
        Ok(())
    }

    /// Empties a handle, and releases the image if the handle owns it.
    ///
    /// # Safety
    /// If not NULL, `handle` is writable; nothing uses it or an image it owns any more.
    pub(crate) unsafe fn free(handle: *mut T) -> Result<(), skl_status> {
        // SAFETY: the caller's contract; an owned image came from `allocate`.
        unsafe {
            let held = *Self::get(handle)?;
            handle.write(T::EMPTY);
            if held.may(Access::Own) {
                release(held.lines.cast());
            }
            Ok(())
        }
    }
}

impl Handle<skl_hll> {
    /// Asks for the handle, to be used soon.
    ///
    /// # Safety
    /// None beyond the type: a prefetch reads nothing.
    #[inline(always)]
    pub(crate) unsafe fn prefetch(handle: *const skl_hll) {
        sketchline::prefetch(handle);
    }

    /// Asks for the line that an insert of this hash is going to change.
    ///
    /// # Safety
    /// If not NULL, `handle` is readable.
    #[inline(always)]
    pub(crate) unsafe fn prefetch_register(handle: *const skl_hll, hash: sketchline::KeyHash) {
        // SAFETY: the caller's contract.
        if let Ok(handle) = unsafe { Self::get(handle) } {
            sketchline::prefetch(handle.lines.cast::<u8>().wrapping_add(handle.state.offset_of(hash)));
        }
    }

    /// Moves the sketch of a handle to other memory of the caller.
    ///
    /// # Safety
    /// As `change`; if not NULL, `memory` has `len` writable bytes, apart from those of the sketch.
    pub(crate) unsafe fn move_to(handle: *mut skl_hll, memory: *mut c_void, len: usize) -> Result<(), skl_status> {
        // SAFETY: the caller's contract.
        unsafe {
            let held = Self::get(handle)?;
            if held.may(Access::Own) {
                return Err(SKL_ERR_ARGUMENT);
            }
            if !held.may(Access::Write) {
                return Err(SKL_ERR_READ_ONLY);
            }
            let state = *Self::sketch(handle)?.move_to(array_mut(memory.cast(), len)?)?.state();
            Self::write(handle, Access::Write, memory.cast(), state);
            Ok(())
        }
    }

    /// [`Handle::change`]; where a sketch that the handle owns needs `bytes(sketch)`, it is moved to them and
    /// `change` runs again.
    ///
    /// # Safety
    /// As `change`.
    pub(crate) unsafe fn change_growing<R>(
        handle: *mut skl_hll,
        mut change: impl FnMut(&mut HllMut<'_>) -> Result<R, Error>,
        bytes: impl Fn(&HllMut<'_>) -> u64,
    ) -> Result<R, skl_status> {
        loop {
            let mut needed = 0;
            // SAFETY: the caller's contract.
            let changed = unsafe {
                Self::change(handle, |sketch| {
                    let changed = change(sketch);
                    if changed.is_err() {
                        needed = bytes(sketch);
                    }
                    changed
                })
            };
            if changed.as_ref().err() != Some(&SKL_ERR_NEED_SPACE) {
                return changed;
            }
            // SAFETY: the caller's contract; an owned image came from `allocate`, and is released once it was moved.
            unsafe {
                let held = *Self::get(handle)?;
                if !held.may(Access::Own) {
                    return changed;
                }
                let memory = allocate_like(held.lines.cast(), needed)?;
                let moved = array_mut(memory, needed as usize).and_then(|memory| {
                    let state = *Self::sketch(handle)?.move_to(memory)?.state();
                    Ok(state)
                });
                match moved {
                    Ok(state) => Self::write(handle, Access::Own, memory, state),
                    Err(status) => {
                        release(memory);
                        return Err(status);
                    }
                }
                release(held.lines.cast());
            }
        }
    }
}

impl Handle<skl_bloom> {
    /// The answer of `look` to the state and the lines of a handle, or the negative status of why there is none. What a
    /// single look-up costs beyond the core is in here.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are readable and nothing writes to them during the call.
    #[inline(always)]
    pub(crate) unsafe fn look(handle: *const skl_bloom, look: impl FnOnce(&BloomState, &[Block]) -> c_int) -> c_int {
        // SAFETY: the caller's contract. Pointer and number of lines were checked when the handle was filled.
        unsafe {
            match Self::get(handle) {
                Ok(held) => look(&held.state, slice::from_raw_parts(held.lines, held.state.num_lines())),
                Err(status) => status as c_int,
            }
        }
    }

    /// Gives the state and the lines of a handle to `change`, which stays as it is where that is refused.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are writable and nothing else touches them during the call.
    #[inline(always)]
    pub(crate) unsafe fn change_state(
        handle: *mut skl_bloom,
        change: impl FnOnce(&mut BloomState, &mut [Block]) -> Result<(), Error>,
    ) -> Result<(), skl_status> {
        // SAFETY: the caller's contract. Pointer and number of lines were checked when the handle was filled, for
        // writing if the handle may; it and the lines do not overlap, as the caller holds the one apart from the other.
        unsafe {
            if !Self::get(handle)?.may(Access::Write) {
                return Err(SKL_ERR_READ_ONLY);
            }
            let held = &mut *handle.cast::<Self>();
            let lines = slice::from_raw_parts_mut(held.lines, held.state.num_lines());
            Ok(change(&mut held.state, lines)?)
        }
    }
}

/// Whether there is a handle to speak of.
#[inline(always)]
pub(crate) fn check<T>(handle: *const T) -> Result<(), skl_status> {
    if handle.is_null() {
        Err(SKL_ERR_NULL)
    } else if !handle.is_aligned() {
        Err(SKL_ERR_ALIGNMENT)
    } else {
        Ok(())
    }
}

/// Do not read the payload of a Bloom filter: opening takes constant time. For bytes that something else already
/// vouches for.
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
