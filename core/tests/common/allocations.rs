//! What is allocated: by this thread, above what it had at the start of a measurement. A module of its own, since a
//! binary has one allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    NOW.set(NOW.get() + bytes);
    PEAK.set(PEAK.get().max(NOW.get()));
}

// SAFETY: the system's allocator, whose contract is passed on; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most bytes that were allocated at one time.
pub(crate) fn peak<T>(run: impl FnOnce() -> T) -> (T, isize) {
    let before = NOW.get();
    PEAK.set(before);
    let result = run();
    (result, PEAK.get() - before)
}
