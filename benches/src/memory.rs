//! Memory that treats all contenders alike: every allocation of some size, whoever makes it, is mapped at a
//! 2 MiB boundary and asks for huge pages. Without them the page table is half of what is measured at 2 GiB.

use crate::machine::cache_bytes;
use sketchline::{BLOCK_BYTES, Block};
use std::alloc::{GlobalAlloc, Layout, System, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::{NonNull, null_mut};

const PAGE: usize = 4 << 10;
const HUGE_PAGE: usize = 2 << 20;
/// Smaller allocations are left to the system; every filter and array of queries is larger.
const MAPPED_FROM: usize = 64 << 10;

/// The allocator of every program here.
struct HugePages;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

// SAFETY: what `map` returns is fresh, zeroed, as long as asked and aligned to 2 MiB; all else is the system's.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `map` or from the system, as its layout tells.
        unsafe {
            if is_mapped(layout) {
                libc::munmap(at.cast(), whole_pages(layout.size()));
            } else {
                System.dealloc(at, layout);
            }
        }
    }
}

fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MAPPED_FROM && layout.align() <= HUGE_PAGE
}

fn whole_pages(size: usize) -> usize {
    size.next_multiple_of(HUGE_PAGE)
}

/// NULL where there is no memory.
fn map(size: usize) -> *mut u8 {
    let size = whole_pages(size);
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping; what is cut off before and after the aligned part belongs to it and is never used.
    unsafe {
        let all = libc::mmap(null_mut(), size + HUGE_PAGE, protection, flags, -1, 0);
        if all == libc::MAP_FAILED {
            return null_mut();
        }
        let before = all.cast::<u8>().align_offset(HUGE_PAGE);
        let at = all.byte_add(before);
        if before > 0 {
            libc::munmap(all, before);
        }
        if before < HUGE_PAGE {
            libc::munmap(at.byte_add(size), HUGE_PAGE - before);
        }
        libc::madvise(at, size, libc::MADV_HUGEPAGE);
        at.cast()
    }
}

/// Lines of memory that several contenders share, one call after the other.
#[derive(Debug)]
pub struct SharedLines {
    at: NonNull<Block>,
    len: usize,
}

impl SharedLines {
    /// Zeroed lines, at least one.
    pub fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the size is not 0.
        let at = NonNull::new(unsafe { alloc_zeroed(layout) }.cast());
        Self { at: at.unwrap_or_else(|| handle_alloc_error(layout)), len }
    }

    /// As `zeroed`, in pages of the usual size.
    pub fn zeroed_in_small_pages(len: usize) -> Self {
        let lines = Self::zeroed(len);
        // SAFETY: advice on memory that `lines` owns and nobody has touched; the pages that hold its last bytes are its
        // own as well.
        unsafe { libc::madvise(lines.at.as_ptr().cast(), len * BLOCK_BYTES, libc::MADV_NOHUGEPAGE) };
        lines
    }

    fn layout(len: usize) -> Layout {
        let bytes = len.max(1).checked_mul(BLOCK_BYTES).expect("less than the address space");
        Layout::from_size_align(bytes, BLOCK_BYTES).expect("less than the address space")
    }

    /// The lines.
    pub fn lines(&self) -> &[Block] {
        // SAFETY: `len` initialised lines that `self` owns.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// The lines, to be changed.
    pub fn lines_mut(&mut self) -> &mut [Block] {
        // SAFETY: `len` initialised lines that `self` owns.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }

    /// Where they are, for a C library that keeps the address.
    pub fn as_ptr(&self) -> *mut Block {
        self.at.as_ptr()
    }
}

impl Drop for SharedLines {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.at.as_ptr().cast(), Self::layout(self.len)) }
    }
}

/// Reads a byte of every line, in an order that no prefetcher knows: after this, what fits a cache is in it. A pass in
/// order does not do that: streams are kept out of a victim cache such as the L3 of AMD's Zen.
///
/// Of what no cache can hold, one line of every page: page tables are cached too, those of the host of a virtual
/// machine with them, and a filter that has the machine to itself has them there.
pub fn touch(bytes: &[u8]) {
    let step = if bytes.len() as u64 > cache_bytes(3) { PAGE + BLOCK_BYTES } else { BLOCK_BYTES };
    let places = bytes.len().div_ceil(step);
    // Odd, large, and nearly always coprime to the number of places, so that all are visited.
    const STRIDE: usize = 0x9e37_79b1;
    let mut sum = 0u8;
    for i in 0..places {
        sum = sum.wrapping_add(bytes[i.wrapping_mul(STRIDE) % places * step]);
    }
    std::hint::black_box(sum);
}
