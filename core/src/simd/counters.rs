//! Count-Min counters, all of them: merge, age, look over. Plain code that each instruction set compiles anew. For those
//! of a key see `counting.rs`.

use crate::block::Block;
use crate::cms::CounterSize;

/// What a pass over all counters finds, padding included.
#[derive(Clone, Copy, Default)]
pub(crate) struct Census {
    pub(crate) zeros: u64,
    pub(crate) saturated: u64,
    pub(crate) greatest: u64,
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
