//! Sketchline as C calls it. `build.rs` links the library.

use super::Mode;
use crate::BATCH_KEYS;
use crate::memory::SharedLines;
use crate::queries::Keys;
use std::ffi::{c_int, c_void};

/// `skl_bloom`.
#[repr(C)]
pub(super) struct Handle([u64; 8]);

/// `SKL_OPEN_SKIP_PAYLOAD_CHECK | SKL_OPEN_ALLOW_UNSEALED`.
const OPEN_LIVE: u32 = 3;

unsafe extern "C" {
    fn skl_bloom_open(handle: *mut Handle, image: *mut c_void, len: usize, flags: u32) -> i32;
    fn skl_bloom_contains_hash(handle: *const Handle, hash: u64) -> c_int;
    fn skl_bloom_contains_hashes(handle: *const Handle, hashes: *const u64, n: usize, bitmap: *mut u64) -> i32;
    fn skl_bloom_insert_hash(handle: *mut Handle, hash: u64) -> i32;
    fn skl_bloom_insert_hashes(handle: *mut Handle, hashes: *const u64, n: usize) -> i32;
}

impl Handle {
    /// A handle over the image in these lines. They must outlive it, and nothing else may use them during a call.
    pub(super) fn open(lines: &mut SharedLines) -> Self {
        let len = lines.lines().as_flattened().len();
        let mut handle = Self([0; 8]);
        // SAFETY: the handle is writable, and so are `len` bytes of lines.
        let status = unsafe { skl_bloom_open(&mut handle, lines.as_ptr().cast(), len, OPEN_LIVE) };
        assert_eq!(status, 0, "skl_bloom_open");
        handle
    }

    #[inline(never)]
    pub(super) fn look_up(&self, mode: Mode, keys: &Keys, bitmap: &mut [u64]) -> usize {
        if mode == Mode::Single {
            // SAFETY: an open handle.
            return keys.hashes.iter().map(|&hash| unsafe { skl_bloom_contains_hash(self, hash) } as usize).sum();
        }
        let mut hits = 0;
        for hashes in keys.hashes.chunks(BATCH_KEYS) {
            assert!(hashes.len() <= 64 * bitmap.len(), "a bit per key");
            // SAFETY: an open handle; the hashes are readable, and the bitmap has a bit for each.
            let status = unsafe { skl_bloom_contains_hashes(self, hashes.as_ptr(), hashes.len(), bitmap.as_mut_ptr()) };
            assert_eq!(status, 0, "skl_bloom_contains_hashes");
            hits += bitmap.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        }
        hits
    }

    #[inline(never)]
    pub(super) fn insert(&mut self, mode: Mode, keys: &Keys) {
        if mode == Mode::Single {
            for &hash in &keys.hashes {
                // SAFETY: an open handle, to write to.
                unsafe { skl_bloom_insert_hash(self, hash) };
            }
            return;
        }
        for hashes in keys.hashes.chunks(BATCH_KEYS) {
            // SAFETY: an open handle, to write to; the hashes are readable.
            let status = unsafe { skl_bloom_insert_hashes(self, hashes.as_ptr(), hashes.len()) };
            assert_eq!(status, 0, "skl_bloom_insert_hashes");
        }
    }
}
