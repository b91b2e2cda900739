//! The limit: random 64-byte line reads. Whatever a filter does with a line, it must first have it.
//!
//! The line of a hash is that of Sketchline's filter, and the lines are XORed together, so that no load can be left
//! out: whole lines where one register holds one (AVX-512), else a word of each, since the line comes all the same.
//! Which prefetch is best depends on the size and the machine: all are run, the best one counts.

use crate::machine::Size;
use crate::memory::{SharedLines, touch};
use crate::queries::mix;
use sketchline::{Block, block_index};
use std::hint::black_box;
use std::time::Instant;

/// Which cache a line is asked into before it is read.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// None: out-of-order execution alone.
    Nothing,
    T0,
    T1,
    Nta,
    /// T1, and again T0 eight keys before it is read.
    Twice,
}

/// One way to read lines.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    ask: Ask,
    ahead: usize,
}

impl Scheme {
    /// All of them.
    pub fn all() -> Vec<Scheme> {
        let mut all = vec![Scheme { ask: Ask::Nothing, ahead: 0 }];
        for ahead in [16, 32, 64, 96, 128, 192, 256, 384] {
            all.extend([Ask::T0, Ask::T1, Ask::Nta].map(|ask| Scheme { ask, ahead }));
        }
        all.extend([128, 256].map(|ahead| Scheme { ask: Ask::Twice, ahead }));
        all
    }

    /// As `t1 48`: into L2, 48 keys ahead.
    pub fn name(self) -> String {
        let ask = match self.ask {
            Ask::Nothing => return "no prefetch".into(),
            Ask::T0 => "t0",
            Ask::T1 => "t1",
            Ask::Nta => "nta",
            Ask::Twice => "t1+t0",
        };
        format!("{ask} {}", self.ahead)
    }

    /// Reads the line of each hash.
    pub fn read(self, lines: &[Block], hashes: &[u64]) {
        if !lines.is_empty() {
            black_box(read_with_best_loads(self, lines, hashes));
        }
    }
}

fn read_with_best_loads(scheme: Scheme, lines: &[Block], hashes: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: just detected.
        return unsafe { read_avx512(scheme, lines, hashes) };
    }
    let mut sum = 0;
    read(scheme, lines, hashes, |line| sum ^= u64::from_ne_bytes(line.as_chunks().0[0]));
    sum
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn read_avx512(scheme: Scheme, lines: &[Block], hashes: &[u64]) -> u64 {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_reduce_or_epi64, _mm512_setzero_si512, _mm512_xor_si512};
    let mut sum = _mm512_setzero_si512();
    let add = |line: &Block| {
        // SAFETY: a line is 64 readable bytes; the function around this enables AVX-512F.
        sum = unsafe { _mm512_xor_si512(sum, _mm512_loadu_si512(line.as_ptr().cast())) };
    };
    read(scheme, lines, hashes, add);
    _mm512_reduce_or_epi64(sum) as u64
}

#[inline(always)]
fn read(scheme: Scheme, lines: &[Block], hashes: &[u64], add: impl FnMut(&Block)) {
    let ahead = scheme.ahead.min(hashes.len());
    match scheme.ask {
        Ask::Nothing => walk::<NONE, false>(lines, hashes, 0, add),
        Ask::T0 => walk::<T0, false>(lines, hashes, ahead, add),
        Ask::T1 => walk::<T1, false>(lines, hashes, ahead, add),
        Ask::Nta => walk::<NTA, false>(lines, hashes, ahead, add),
        Ask::Twice => walk::<T1, true>(lines, hashes, ahead, add),
    }
}

const NONE: u8 = 0;
const T0: u8 = 1;
const T1: u8 = 2;
const NTA: u8 = 3;
/// Keys between the second prefetch and the read.
const NEAR: usize = 8;

#[inline(always)]
fn walk<const ASK: u8, const TWICE: bool>(lines: &[Block], hashes: &[u64], ahead: usize, mut add: impl FnMut(&Block)) {
    // SAFETY: there is a line (`Scheme::read`), and the index is below their number.
    let line = |hash: u64| unsafe { lines.get_unchecked(block_index(hash, lines.len() as u64)) };
    let (first, far) = hashes.split_at(ahead);
    let near = hashes.get(NEAR.min(ahead)..).unwrap_or(&[]);
    for &hash in first {
        prefetch::<ASK>(line(hash));
    }
    for ((&hash, &far), &near) in hashes.iter().zip(far).zip(near) {
        prefetch::<ASK>(line(far));
        if TWICE {
            prefetch::<T0>(line(near));
        }
        add(line(hash));
    }
    for &hash in &hashes[far.len()..] {
        add(line(hash));
    }
}

#[inline(always)]
fn prefetch<const ASK: u8>(line: &Block) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let at = line.as_ptr().cast();
        match ASK {
            T0 => _mm_prefetch::<_MM_HINT_T0>(at),
            T1 => _mm_prefetch::<_MM_HINT_T1>(at),
            NTA => _mm_prefetch::<_MM_HINT_NTA>(at),
            _ => {}
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Nanoseconds of a read that must wait for the one before, in so many bytes. Where this is near that of memory, the
/// neighbours have the cache. Some 5 ns of it are the arithmetic between two reads.
pub fn latency(size: Size) -> f64 {
    const READS: u32 = 1 << 17;
    let mut shared = SharedLines::zeroed((size.bytes / 64) as usize);
    // What was never written to is one page of zeros.
    shared.lines_mut().as_flattened_mut().fill(1);
    touch(shared.lines().as_flattened());
    let lines = shared.lines();
    let start = Instant::now();
    let mut at = 0u64;
    for _ in 0..READS {
        at = mix(at);
        at = at.wrapping_add(lines[block_index(at, lines.len() as u64)][0].into());
    }
    black_box(at);
    start.elapsed().as_nanos() as f64 / f64::from(READS)
}
