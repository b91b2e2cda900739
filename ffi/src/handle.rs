//! What is inside a handle: a tag, a pointer to the lines, and the decoded header.
//!
//! Every call builds a sketch from these for its own duration, so that no Rust reference to the caller's memory
//! outlives the call.

use crate::memory::{allocate_like, array_mut, asked_for_huge_pages, release};
use crate::status::skl_status::{self, *};
use core::ffi::{c_int, c_void};
use core::slice;
use sketchline::{
    Block, Bloom, BloomMut, BloomParams, BloomRef, BloomState, Cms, CmsMut, CmsParams, CmsRef, CmsState, Error, Hll,
    HllMut, HllParams, HllRef, HllState, Isa, Lines, OpenOptions, TopK, TopKMut, TopKParams, TopKRef, TopKState,
};

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

/// A Count-Min sketch: 64 bytes that the caller holds. The contents are private.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_cms {
    /// Private.
    pub opaque: [u64; 8],
}

/// The most frequent keys of a Count-Min sketch: 64 bytes that the caller holds. The contents are private.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_topk {
    /// Private.
    pub opaque: [u64; 8],
}

/// A structure that C knows as 64 opaque bytes, and what is kept in it.
pub(crate) trait Opaque: Copy {
    /// Tells the handles of one kind from those of another, and from stray memory.
    const TAG: u64;
    /// The shape of a sketch of this kind.
    type Params: Copy;
    /// What it knows besides its lines.
    type State: Copy;
    /// A sketch over some lines.
    type Sketch<S>;

    const EMPTY: Self;

    fn image_bytes(params: &Self::Params) -> u64;
    fn init(memory: &mut [u8], params: Self::Params) -> Result<Self::State, Error>;
    fn open(image: &[u8], options: OpenOptions) -> Result<Self::State, Error>;
    fn num_lines(state: &Self::State) -> usize;
    fn attach<S: Lines>(lines: S, state: Self::State) -> Result<Self::Sketch<S>, Error>;
    fn state<S: Lines>(sketch: &Self::Sketch<S>) -> Self::State;
    fn image<S: Lines>(sketch: &Self::Sketch<S>) -> &[u8];
    fn clear(sketch: &mut Self::Sketch<&mut [Block]>);
    fn seal(sketch: &mut Self::Sketch<&mut [Block]>) -> Result<(), Error>;
}

/// The sketches have these functions under the same names.
macro_rules! opaque {
    (
        $handle:ty, $tag:literal, $params:ty, $state:ty, $sketch:ident, $view:ident, $change:ident,
        seal($this:ident) = $seal:expr
    ) => {
        impl Opaque for $handle {
            const TAG: u64 = $tag;
            const EMPTY: Self = Self { opaque: [0; 8] };
            type Params = $params;
            type State = $state;
            type Sketch<S> = $sketch<S>;

            fn image_bytes(params: &$params) -> u64 {
                params.image_bytes()
            }

            fn init(memory: &mut [u8], params: $params) -> Result<$state, Error> {
                Ok(*$change::init(memory, params)?.state())
            }

            fn open(image: &[u8], options: OpenOptions) -> Result<$state, Error> {
                Ok(*$view::open(image, options)?.state())
            }

            #[inline(always)]
            fn num_lines(state: &$state) -> usize {
                state.num_lines()
            }

            #[inline(always)]
            fn attach<S: Lines>(lines: S, state: $state) -> Result<$sketch<S>, Error> {
                $sketch::attach(lines, state)
            }

            #[inline(always)]
            fn state<S: Lines>(sketch: &$sketch<S>) -> $state {
                *sketch.state()
            }

            fn image<S: Lines>(sketch: &$sketch<S>) -> &[u8] {
                sketch.as_bytes()
            }

            fn clear(sketch: &mut $change<'_>) {
                sketch.clear();
            }

            fn seal($this: &mut $change<'_>) -> Result<(), Error> {
                $seal
            }
        }

        const _: () = assert!(size_of::<Handle<$handle>>() <= size_of::<$handle>());
    };
}
opaque!(
    skl_bloom,
    0x536b_6574_6368_0100,
    BloomParams,
    BloomState,
    Bloom,
    BloomRef,
    BloomMut,
    seal(filter) = filter.seal().map(drop)
);
opaque!(
    skl_hll,
    0x536b_6574_6368_0200,
    HllParams,
    HllState,
    Hll,
    HllRef,
    HllMut,
    seal(sketch) = {
        sketch.seal();
        Ok(())
    }
);
opaque!(
    skl_cms,
    0x536b_6574_6368_0300,
    CmsParams,
    CmsState,
    Cms,
    CmsRef,
    CmsMut,
    seal(sketch) = {
        sketch.seal();
        Ok(())
    }
);
opaque!(
    skl_topk,
    0x536b_6574_6368_0700,
    TopKParams,
    TopKState,
    TopK,
    TopKRef,
    TopKMut,
    seal(sketch) = {
        sketch.seal();
        Ok(())
    }
);

/// A handle whose sketch chooses among instruction sets.
pub(crate) trait Dispatched: Opaque {
    fn set_isa(state: &mut Self::State, isa: Isa);
}

macro_rules! dispatched {
    ($($handle:ty),*) => {$(
        impl Dispatched for $handle {
            fn set_isa(state: &mut Self::State, isa: Isa) {
                state.set_isa(isa);
            }
        }
    )*};
}
dispatched!(skl_bloom, skl_hll, skl_cms);

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

impl<T: Opaque> Handle<T> {
    /// Fills the caller's handle.
    ///
    /// # Safety
    /// `handle` is writable. `lines` stay valid for the access that is given, as the C function documents.
    pub(crate) unsafe fn write(handle: *mut T, access: Access, lines: *mut u8, state: T::State) {
        // SAFETY: `handle` is writable (caller), and large and aligned enough for a `Handle` (asserted above).
        unsafe {
            // No byte of a handle is left unset: hosts copy and compare them.
            handle.write(T::EMPTY);
            handle.cast::<Self>().write(Self { tag: T::TAG | access as u64, lines: lines.cast(), state });
        }
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
            let held = Self::held(handle.cast_mut(), Access::Read)?;
            Ok(T::attach(slice::from_raw_parts(held.lines, T::num_lines(&held.state)), held.state)?)
        }
    }

    /// A handle with this access, out of line: what is not called for each key is small.
    ///
    /// # Safety
    /// As `get`.
    #[inline(never)]
    unsafe fn held<'a>(handle: *mut T, access: Access) -> Result<&'a Self, skl_status> {
        // SAFETY: the caller's contract.
        let held = unsafe { Self::get(handle)? };
        if held.may(access) { Ok(held) } else { Err(SKL_ERR_READ_ONLY) }
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
            let held = Self::held(handle, Access::Write)?;
            let lines = slice::from_raw_parts_mut(held.lines, T::num_lines(&held.state));
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
    pub(crate) unsafe fn set_isa(handle: *mut T, isa: Isa) -> Result<(), skl_status>
    where
        T: Dispatched,
    {
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

    /// [`Handle::change`], in line; where a sketch that the handle owns needs `bytes(sketch)`, it is moved to them and
    /// `change` runs again.
    ///
    /// # Safety
    /// As `change`.
    #[inline(always)]
    pub(crate) unsafe fn change_growing<R>(
        handle: *mut skl_hll,
        mut change: impl FnMut(&mut HllMut<'_>) -> Result<R, Error>,
        bytes: impl Fn(&HllMut<'_>) -> u64,
    ) -> Result<R, skl_status> {
        loop {
            let mut needed = 0;
            // SAFETY: the caller's contract.
            let changed = unsafe {
                Self::change_state(handle, |state, lines| {
                    let mut sketch = HllMut::attach(lines, *state)?;
                    let changed = change(&mut sketch);
                    if changed.is_err() {
                        needed = bytes(&sketch);
                    }
                    *state = *sketch.state();
                    changed
                })
            };
            if changed.as_ref().err() != Some(&SKL_ERR_NEED_SPACE) {
                return changed;
            }
            // SAFETY: the caller's contract.
            unsafe { Self::grow(handle, needed)? };
        }
    }

    /// Moves a sketch that its handle owns to `bytes`.
    ///
    /// # Safety
    /// As `change`.
    #[cold]
    #[inline(never)]
    unsafe fn grow(handle: *mut skl_hll, bytes: u64) -> Result<(), skl_status> {
        // SAFETY: the caller's contract; an owned image came from `allocate`, and is released once it was moved.
        unsafe {
            let held = *Self::get(handle)?;
            if !held.may(Access::Own) {
                return Err(SKL_ERR_NEED_SPACE);
            }
            let memory = allocate_like(held.lines.cast(), bytes)?;
            let moved = array_mut(memory, bytes as usize).and_then(|memory| {
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
        Ok(())
    }
}

impl<T: Opaque> Handle<T> {
    /// The answer of `look` to the state and the lines of a handle, or the negative status of why there is none.
    ///
    /// # Safety
    /// As `read_state`.
    #[inline(always)]
    pub(crate) unsafe fn look(handle: *const T, look: impl FnOnce(&T::State, &[Block]) -> c_int) -> c_int {
        // SAFETY: the caller's contract.
        match unsafe { Self::read_state(handle, |state, lines| Ok(look(state, lines))) } {
            Ok(answer) => answer,
            Err(status) => status as c_int,
        }
    }

    /// Gives the state and the lines of a handle to `look`. What a single look-up costs beyond the core is in here.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are readable and nothing writes to them during the call.
    #[inline(always)]
    pub(crate) unsafe fn read_state<R>(
        handle: *const T,
        look: impl FnOnce(&T::State, &[Block]) -> Result<R, skl_status>,
    ) -> Result<R, skl_status> {
        // SAFETY: the caller's contract. Pointer and number of lines were checked when the handle was filled.
        unsafe {
            let held = Self::get(handle)?;
            look(&held.state, slice::from_raw_parts(held.lines, T::num_lines(&held.state)))
        }
    }

    /// Gives the state and the lines of a handle to `change`, which stays as it is where that is refused.
    ///
    /// # Safety
    /// If not NULL, `handle` and its image are writable and nothing else touches them during the call.
    #[inline(always)]
    pub(crate) unsafe fn change_state<R>(
        handle: *mut T,
        change: impl FnOnce(&mut T::State, &mut [Block]) -> Result<R, Error>,
    ) -> Result<R, skl_status> {
        // SAFETY: the caller's contract. Pointer and number of lines were checked when the handle was filled, for
        // writing if the handle may; it and the lines do not overlap, as the caller holds the one apart from the other.
        unsafe {
            if !Self::get(handle)?.may(Access::Write) {
                return Err(SKL_ERR_READ_ONLY);
            }
            let held = &mut *handle.cast::<Self>();
            let lines = slice::from_raw_parts_mut(held.lines, T::num_lines(&held.state));
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
