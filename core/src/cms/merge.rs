//! Sketches of two streams together: sum, inner product; and aging.

use super::{Cms, CmsLayout, CmsState, CounterSize, set_total};
use crate::Error;
use crate::block::{BLOCK_BYTES, Block};
use crate::lines::{Lines, LinesMut};

impl<S: LinesMut> Cms<S> {
    /// Adds the counts of another sketch of the same shape and hash, counter by counter: for a sketch that is not
    /// conservative, what the joined stream would have built. Estimates of conservative sketches, too, are never too
    /// low afterwards. One that is not conservative takes in none that is: it would keep the mode, but its rows would
    /// no longer be sums of counts, on which [`Cms::inner_product`] relies.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if layout, width, depth, counters, hash or seed differ, or only the other one is
    /// conservative; nothing is changed then.
    pub fn merge<T: Lines>(&mut self, other: &Cms<T>) -> Result<(), Error> {
        check_same_counters(&self.state, &other.state)?;
        if other.state.table.conservative && !self.state.table.conservative {
            return Err(Error::Incompatible);
        }
        let (isa, counter) = (self.state.isa, self.state.table.counter);
        isa.merge_counters(self.counters_mut(other.total()), other.counters(), counter);
        Ok(())
    }

    /// Ages all counts: every counter `c` becomes `floor(c / 2)`, and so does the total, and with it the bound.
    ///
    /// ```
    /// use sketchline::{CmsParams, CountMinSketch};
    /// let mut sketch = CountMinSketch::new(CmsParams::rows(1024, 4)?)?;
    /// sketch.add(b"alice", 7)?;
    /// sketch.halve();
    /// assert_eq!((sketch.estimate(b"alice")?, sketch.total()), (3, 3));
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    pub fn halve(&mut self) {
        self.halve_times(1);
    }

    /// [`Cms::halve`], so many times, in one pass.
    pub fn halve_times(&mut self, times: u32) {
        if times == 0 {
            return;
        }
        if times > 63 {
            return self.clear();
        }
        let total = self.total() >> times;
        let (isa, counter) = (self.state.isa, self.state.table.counter);
        isa.halve_counters(self.counters_mut(0), counter, times);
        if let Some(line) = self.lines.lines_mut().first_mut() {
            set_total(line, total);
        }
    }
}

impl<S: Lines> Cms<S> {
    /// Estimates the sum over all keys of the product of their counts in both sketches (the size of a join): never
    /// too low while no counter has stopped, and too high by more than `epsilon` times the product of the totals with
    /// a probability of at most `delta`. Stops at 2^64 - 1. One pass over both.
    ///
    /// ```
    /// use sketchline::{CmsParams, CountMinSketch};
    /// let new = || CountMinSketch::new(CmsParams::rows(1024, 4)?);
    /// let (mut orders, mut items) = (new()?, new()?);
    /// orders.add_u64(1, 3)?;
    /// items.add_u64(1, 5)?;
    /// items.add_u64(2, 7)?;
    /// assert_eq!(orders.inner_product(&items)?, 15);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Incompatible`] if layout, width, depth, counters, hash or seed differ, and for conservative sketches,
    /// whose rows are no sums of counts: their product may be too low.
    pub fn inner_product<T: Lines>(&self, other: &Cms<T>) -> Result<u64, Error> {
        check_same_counters(&self.state, &other.state)?;
        if self.state.table.conservative || other.state.table.conservative {
            return Err(Error::Incompatible);
        }
        let table = &self.state.table;
        let parts = self.counters().chunks(table.part_lines.max(1) as usize);
        let others = other.counters().chunks(table.part_lines.max(1) as usize);
        let mut least = u128::MAX;
        for (a, b) in parts.zip(others) {
            let (first, last) = product(a, b, table.counter);
            least = match table.layout {
                CmsLayout::Rows => least.min(first.saturating_add(last)),
                CmsLayout::TwoLine => least.min(first).min(last),
            };
        }
        Ok(u64::try_from(least).unwrap_or(u64::MAX))
    }
}

fn check_same_counters(a: &CmsState, b: &CmsState) -> Result<(), Error> {
    let shape = |state: &CmsState| {
        let table = &state.table;
        (table.layout, table.size, table.depth, table.counter, state.hash_id, state.seed_or_tag)
    };
    if shape(a) == shape(b) { Ok(()) } else { Err(Error::Incompatible) }
}

/// Sums of the products of the counters in the first and in the last half of each line.
fn product(a: &[Block], b: &[Block], counter: CounterSize) -> (u128, u128) {
    let mut sums = [0u128; 2];
    for (a, b) in a.iter().zip(b) {
        let halves = a.as_chunks::<{ BLOCK_BYTES / 2 }>().0.iter().zip(b.as_chunks::<{ BLOCK_BYTES / 2 }>().0);
        for ((a, b), sum) in halves.zip(&mut sums) {
            let products = match counter {
                CounterSize::U32 => {
                    let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
                    pairs.map(|(a, b)| u128::from(u32::from_le_bytes(*a)) * u128::from(u32::from_le_bytes(*b))).sum()
                }
                CounterSize::U64 => {
                    let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
                    let product = |a: &[u8; 8], b: &[u8; 8]| {
                        u128::from(u64::from_le_bytes(*a)) * u128::from(u64::from_le_bytes(*b))
                    };
                    pairs.fold(0u128, |sum, (a, b)| sum.saturating_add(product(a, b)))
                }
            };
            *sum = sum.saturating_add(products);
        }
    }
    (sums[0], sums[1])
}
