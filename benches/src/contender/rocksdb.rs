//! RocksDB's FastLocalBloom: its own C++, in the loops of `rocksdb/shim.cc`.

use super::{Call, Filter, Mode, ROCKSDB};
use crate::machine::Size;
use crate::memory::{SharedLines, touch};
use crate::queries::Keys;
use crate::stats::line_fpr;
use std::ffi::c_int;

unsafe extern "C" {
    fn rocksdb_num_probes(millibits_per_key: c_int) -> c_int;
    fn rocksdb_contains(data: *const u8, len: u32, probes: c_int, hashes: *const u64, n: usize) -> usize;
    fn rocksdb_contains_batch(data: *const u8, len: u32, probes: c_int, hashes: *const u64, n: usize) -> usize;
    fn rocksdb_insert(data: *mut u8, len: u32, probes: c_int, hashes: *const u64, n: usize);
    fn rocksdb_insert_batch(data: *mut u8, len: u32, probes: c_int, hashes: *const u64, n: usize);
}

pub(super) struct RocksDb {
    lines: SharedLines,
    len: u32,
    probes: c_int,
    calls: [Call; 2],
}

impl RocksDb {
    pub(super) fn new(size: Size, keys: u64) -> Self {
        let millibits_per_key = (size.bytes * 8000 / keys.max(1)) as c_int;
        Self {
            lines: SharedLines::zeroed(size.bytes as usize / 64),
            len: size.bytes.try_into().expect("RocksDB's filters end at 4 GiB"),
            // SAFETY: arithmetic on a number.
            probes: unsafe { rocksdb_num_probes(millibits_per_key) },
            calls: [Mode::Batch, Mode::Single].map(|mode| Call::new(ROCKSDB, "native", mode)),
        }
    }
}

impl Filter for RocksDb {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    fn look_up(&mut self, call: usize, keys: &Keys) -> Option<usize> {
        let look_up = if self.calls[call].mode == Mode::Batch { rocksdb_contains_batch } else { rocksdb_contains };
        let (data, hashes) = (self.lines.as_ptr().cast_const().cast(), &keys.hashes);
        // SAFETY: `len` bytes of lines, and the hashes, are readable.
        Some(unsafe { look_up(data, self.len, self.probes, hashes.as_ptr(), hashes.len()) })
    }

    fn insert(&mut self, call: usize, keys: &Keys) {
        let insert = if self.calls[call].mode == Mode::Batch { rocksdb_insert_batch } else { rocksdb_insert };
        let (data, hashes) = (self.lines.as_ptr().cast(), &keys.hashes);
        // SAFETY: `len` bytes of lines are writable, and the hashes readable.
        unsafe { insert(data, self.len, self.probes, hashes.as_ptr(), hashes.len()) }
    }

    fn touch(&self) {
        touch(self.lines.lines().as_flattened());
    }

    fn clear(&mut self) {
        self.lines.lines_mut().as_flattened_mut().fill(0);
    }

    fn predicted_fpr(&self, bits_per_key: f64) -> Option<f64> {
        Some(line_fpr(bits_per_key, self.probes as u32))
    }
}
