//! Many keys in one call.

use super::{Cms, CmsState};
use crate::keys::{BUFFER, KeyBatch, all_valid, for_each_buffer, only_valid};
use crate::lines::{Lines, LinesMut};
use crate::simd::counting::Counts;
use crate::{Error, block::Block};

impl<S: Lines> Cms<S> {
    /// Estimates each key: `out[i]` for key `i`, 0 for one that is not valid. Numbers beyond are left alone.
    ///
    /// ```
    /// use sketchline::{CmsParams, CountMinSketch, U64Keys};
    /// let mut sketch = CountMinSketch::new(CmsParams::rows(1024, 4)?)?;
    /// sketch.add_batch(&U64Keys(&[1, 2, 1]), 10)?;
    /// let mut counts = [0; 3];
    /// sketch.estimate_batch(&U64Keys(&[1, 2, 3]), &mut counts)?;
    /// assert_eq!(counts, [20, 10, 0]);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if `out` is shorter than the batch, and what [`KeyBatch::check`] finds.
    pub fn estimate_batch(&self, keys: &dyn KeyBatch, out: &mut [u64]) -> Result<(), Error> {
        keys.check(self.state.hashing())?;
        let out = out.get_mut(..keys.len()).ok_or(Error::BufferTooSmall)?;
        let (table, isa) = (&self.state.table, self.state.isa);
        for_each_buffer(keys, self.state.key_seed().unwrap_or(0), isa, |first, hashes| {
            let out = out.get_mut(first..).unwrap_or(&mut []);
            isa.estimate_counts(self.counters(), table, hashes, out);
            for (n, out) in out.get_mut(..hashes.len()).unwrap_or(&mut []).chunks_mut(64).enumerate() {
                let valid = keys.validity(first / 64 + n);
                if !all_valid(valid, out.len()) {
                    out.iter_mut().enumerate().for_each(|(i, out)| *out *= valid >> i & 1);
                }
            }
        });
        Ok(())
    }
}

impl<S: LinesMut> Cms<S> {
    /// Counts every key `count` more times, one after the other, and gives the greatest estimate that came of it: at
    /// [`CmsState::cap`] some counts may have been lost.
    ///
    /// # Errors
    /// What [`KeyBatch::check`] finds; nothing is counted then.
    pub fn add_batch(&mut self, keys: &dyn KeyBatch, count: u64) -> Result<u64, Error> {
        self.add_all(keys, Counts::same(&count))
    }

    /// As [`Cms::add_batch`], key `i` by `counts[i]`.
    ///
    /// # Errors
    /// [`Error::BadKeys`] unless there are as many counts as keys, and what [`KeyBatch::check`] finds; nothing is
    /// counted then.
    pub fn add_batch_counts(&mut self, keys: &dyn KeyBatch, counts: &[u64]) -> Result<u64, Error> {
        if counts.len() != keys.len() {
            return Err(Error::BadKeys);
        }
        self.add_all(keys, Counts::each(counts))
    }

    fn add_all(&mut self, keys: &dyn KeyBatch, counts: Counts<'_>) -> Result<u64, Error> {
        keys.check(self.state.hashing())?;
        let (seed, isa) = (self.state.key_seed().unwrap_or(0), self.state.isa);
        let mut greatest = 0;
        let (state, lines) = (&mut self.state, self.lines.lines_mut());
        for_each_buffer(keys, seed, isa, |first, hashes| {
            let counts = counts.from(first, hashes.len());
            let after = if keys.as_hashes().is_some() {
                state.add_hashes(lines, hashes, counts)
            } else {
                let (mut packed, mut packed_counts) = ([0; BUFFER], [0; BUFFER]);
                let valid = only_valid(keys, first, hashes, &mut packed);
                let counts = match counts.as_each() {
                    None => counts,
                    Some(counts) => Counts::each(only_valid(keys, first, counts, &mut packed_counts)),
                };
                state.add_hashes(lines, valid, counts)
            };
            greatest = after.max(greatest);
        });
        Ok(greatest)
    }
}

impl CmsState {
    fn add_hashes(&mut self, lines: &mut [Block], hashes: &[u64], counts: Counts<'_>) -> u64 {
        if hashes.is_empty() {
            return 0;
        }
        let counters = self.counters_mut(lines, counts.total(hashes.len()));
        self.isa.add_counts(counters, &self.table, hashes, counts)
    }
}
