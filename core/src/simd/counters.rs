//! Count-Min counters, all of them: merge, age, look over. Plain code that each instruction set compiles anew. For those
//! of a key see `counting.rs`.

use crate::block::Block;
use crate::cms::CounterSize;

/// What to add to each key: a number for each, or the first for all. No branch in the loops, which the compiler would
/// write twice.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    numbers: &'a [u64],
    /// All bits, or none.
    mask: usize,
}

impl<'a> Counts<'a> {
    pub(crate) fn same(count: &'a u64) -> Self {
        Self { numbers: core::slice::from_ref(count), mask: 0 }
    }

    pub(crate) fn each(numbers: &'a [u64]) -> Self {
        Self { numbers, mask: usize::MAX }
    }

    /// A number for each key, if they differ.
    pub(crate) fn as_each(self) -> Option<&'a [u64]> {
        (self.mask != 0).then_some(self.numbers)
    }

    /// Those of `len` keys from number `first` on.
    pub(crate) fn from(self, first: usize, len: usize) -> Self {
        match self.as_each() {
            None => self,
            Some(numbers) => Self::each(numbers.get(first..first + len).unwrap_or(&[])),
        }
    }

    /// The sum over `len` keys; stops at 2^64 - 1.
    pub(crate) fn total(self, len: usize) -> u64 {
        match self.as_each() {
            None => self.of(0).saturating_mul(len as u64),
            Some(numbers) => numbers.iter().fold(0, |total, count| total.saturating_add(*count)),
        }
    }

    #[inline(always)]
    pub(super) fn of(&self, i: usize) -> u64 {
        self.numbers.get(i & self.mask).copied().unwrap_or(0)
    }
}

/// What a pass over all counters finds, padding included.
#[derive(Clone, Copy, Default)]
pub(crate) struct Census {
    pub(crate) zeros: u64,
    pub(crate) saturated: u64,
    pub(crate) greatest: u64,
}

/// A little-endian unsigned integer that stops at its greatest value.
pub(super) trait Counter: Copy + Ord + Default {
    const CAP: Self;
    fn at_most(count: u64) -> Self;
    fn get(self) -> u64;
    fn plus(self, count: Self) -> Self;
    /// `max` without a branch, which the compiler makes of it between scalar loads and stores: mispredicted, it costs
    /// a conservative add 25 ns for 7.
    fn max_by_bits(self, other: Self) -> Self;
    fn le(self) -> Self;
}

macro_rules! counter {
    ($int:ty) => {
        impl Counter for $int {
            const CAP: Self = Self::MAX;

            #[inline(always)]
            fn at_most(count: u64) -> Self {
                count.min(Self::MAX.into()) as Self
            }

            #[inline(always)]
            fn get(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn plus(self, count: Self) -> Self {
                self.saturating_add(count)
            }

            #[inline(always)]
            fn max_by_bits(self, other: Self) -> Self {
                let other_if_less = core::hint::black_box(Self::from(self < other).wrapping_neg());
                self ^ ((self ^ other) & other_if_less)
            }

            #[inline(always)]
            fn le(self) -> Self {
                self.to_le()
            }
        }
    };
}
counter!(u32);
counter!(u64);

/// # Safety
/// There is a counter number `at`, to be read.
#[inline(always)]
pub(super) unsafe fn load<C: Counter>(counters: *const C, at: usize) -> C {
    // SAFETY: the caller's contract; an image may be at any address.
    unsafe { counters.add(at).read_unaligned().le() }
}

/// # Safety
/// There is a counter number `at`, to be written.
#[inline(always)]
pub(super) unsafe fn store<C: Counter>(counters: *mut C, at: usize, counter: C) {
    // SAFETY: the caller's contract; an image may be at any address.
    unsafe { counters.add(at).write_unaligned(counter.le()) }
}

/// `target += source`, counter by counter, as far as both go.
#[inline(always)]
pub(super) fn merge(target: &mut [Block], source: &[Block], counter: CounterSize) {
    let (target, source) = (target.as_flattened_mut(), source.as_flattened());
    match counter {
        CounterSize::U32 => {
            for (target, source) in target.as_chunks_mut().0.iter_mut().zip(source.as_chunks().0) {
                *target = u32::from_le_bytes(*target).saturating_add(u32::from_le_bytes(*source)).to_le_bytes();
            }
        }
        CounterSize::U64 => {
            for (target, source) in target.as_chunks_mut().0.iter_mut().zip(source.as_chunks().0) {
                *target = u64::from_le_bytes(*target).saturating_add(u64::from_le_bytes(*source)).to_le_bytes();
            }
        }
    }
}

/// Every counter becomes `counter >> times`; `times` is below 64, and a shift of all bits gives 0.
#[inline(always)]
pub(super) fn halve(counters: &mut [Block], counter: CounterSize, times: u32) {
    let bytes = counters.as_flattened_mut();
    match counter {
        CounterSize::U32 => {
            // In two steps, neither of which reaches the width: one pass without a test for each counter.
            let (first, then) = (times.min(31), u32::from(times > 31));
            for counter in bytes.as_chunks_mut().0 {
                *counter = (u32::from_le_bytes(*counter) >> first >> then).to_le_bytes();
            }
        }
        CounterSize::U64 => {
            for counter in bytes.as_chunks_mut().0 {
                *counter = (u64::from_le_bytes(*counter) >> (times & 63)).to_le_bytes();
            }
        }
    }
}

/// One pass over all counters.
#[inline(always)]
pub(super) fn census(counters: &[Block], counter: CounterSize) -> Census {
    /// Few enough for counts of 32 bits, as wide as the counters.
    const LINES: usize = 1 << 16;
    let mut census = Census::default();
    for lines in counters.chunks(LINES) {
        let bytes = lines.as_flattened();
        let (zeros, saturated, greatest) = match counter {
            CounterSize::U32 => {
                let (mut zeros, mut saturated, mut greatest) = (0u32, 0u32, 0u32);
                for counter in bytes.as_chunks().0 {
                    let counter = u32::from_le_bytes(*counter);
                    zeros += u32::from(counter == 0);
                    saturated += u32::from(counter == u32::MAX);
                    greatest = greatest.max(counter);
                }
                (zeros.into(), saturated.into(), greatest.into())
            }
            CounterSize::U64 => {
                let (mut zeros, mut saturated, mut greatest) = (0u64, 0u64, 0u64);
                for counter in bytes.as_chunks().0 {
                    let counter = u64::from_le_bytes(*counter);
                    zeros += u64::from(counter == 0);
                    saturated += u64::from(counter == u64::MAX);
                    greatest = greatest.max(counter);
                }
                (zeros, saturated, greatest)
            }
        };
        census.zeros += zeros;
        census.saturated += saturated;
        census.greatest = census.greatest.max(greatest);
    }
    census
}
