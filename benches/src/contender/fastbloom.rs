//! Crate `fastbloom`: an unblocked filter, given the hash. Its calls inline into our loop, which is compiled twice:
//! as the build has it (SSE2), and for x86-64-v3, as if its user had built for such a machine.

use super::{Call, FASTBLOOM, Filter, Mode};
use crate::machine::Size;
use crate::memory::touch;
use crate::queries::Keys;
use ::fastbloom::{BloomFilter, optimal_hashes};

pub(super) struct FastBloom {
    filter: BloomFilter,
    calls: Vec<Call>,
}

/// The second way to call it, where there is one.
const V3: usize = 1;

impl FastBloom {
    pub(super) fn new(size: Size, keys: u64) -> Self {
        let bits = size.bytes as usize * 8;
        let mut calls = vec![Call::new(FASTBLOOM, "default", Mode::Single)];
        if has_v3() {
            calls.push(Call::new(FASTBLOOM, "x86-64-v3", Mode::Single));
        }
        let filter = BloomFilter::with_num_bits(bits).hashes(optimal_hashes(bits, keys as usize));
        Self { filter, calls }
    }
}

impl Filter for FastBloom {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    #[inline(never)]
    fn look_up(&mut self, call: usize, keys: &Keys) -> Option<usize> {
        let look_up = || keys.hashes.iter().filter(|&&hash| self.filter.contains_hash(hash)).count();
        Some(run(call, look_up))
    }

    #[inline(never)]
    fn insert(&mut self, call: usize, keys: &Keys) {
        let insert = || {
            for &hash in &keys.hashes {
                self.filter.insert_hash(hash);
            }
        };
        run(call, insert);
    }

    fn touch(&self) {
        let words = self.filter.as_slice();
        // SAFETY: initialised words are as many readable bytes.
        touch(unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) });
    }

    fn clear(&mut self) {
        self.filter.clear();
    }

    fn unblocked_probes(&self) -> Option<u32> {
        Some(self.filter.num_hashes())
    }

    fn set_words(&mut self, words: Vec<u64>) {
        self.filter = BloomFilter::from_vec(words).hashes(self.filter.num_hashes());
    }
}

#[cfg(target_arch = "x86_64")]
fn has_v3() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("lzcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi2,lzcnt")]
fn run_v3<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn run<T>(call: usize, work: impl FnOnce() -> T) -> T {
    if call == V3 {
        // SAFETY: there is a call of this number only where `has_v3`.
        return unsafe { run_v3(work) };
    }
    work()
}

#[cfg(not(target_arch = "x86_64"))]
fn has_v3() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn run<T>(_: usize, work: impl FnOnce() -> T) -> T {
    work()
}
