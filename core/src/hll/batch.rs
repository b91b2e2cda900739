//! Many keys in one call.
//!
//! In a sketch that has seen many keys, most ranks are too small to change anything. No register is below `least`,
//! so that a hash whose rank is at most that is dropped without a look at its register: the lowest `least` bits of
//! the rank part must be zero for more, which is one test for eight hashes at a time.

use super::{DENSE, Hll, STALE};
use crate::keys::{BUFFER, KeyBatch, only_valid};
use crate::lines::LinesMut;
use crate::{Error, KeyHash};

impl<S: LinesMut> Hll<S> {
    /// Inserts the keys from number `first` on, and returns the number of the first that is not in: the length of
    /// the batch, unless the sketch is sparse, in memory of the caller, and needs more first.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog, U64Keys};
    /// let mut sketch = HyperLogLog::new(HllParams::new(12)?)?;
    /// assert_eq!(sketch.insert_batch(&U64Keys(&[1, 2, 3, 2]), 0)?, 4);
    /// assert_eq!(sketch.estimate().round(), 3.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// What [`KeyBatch::check`] finds, before any key is inserted; [`Error::OutOfMemory`], after some.
    pub fn insert_batch(&mut self, keys: &dyn KeyBatch, first: usize) -> Result<usize, Error> {
        keys.check(self.state.hashing())?;
        let seed = self.state.hashing().key_seed().unwrap_or(0);
        let isa = self.state.isa();
        let mut at = first;
        while at < keys.len() {
            if self.state.has(DENSE)
                && let Some(hashes) = keys.as_hashes().and_then(|hashes| hashes.get(at..))
            {
                self.insert_dense_batch(hashes);
                return Ok(keys.len());
            }
            // Up to the next multiple of the buffer, so that validity words line up.
            let len = (BUFFER - at % BUFFER).min(keys.len() - at);
            let mut buffer = [0; BUFFER];
            let hashes = buffer.get_mut(..len).unwrap_or(&mut []);
            keys.hash_range(at, seed, isa, hashes);
            if self.state.has(DENSE) && at.is_multiple_of(64) {
                let mut packed = [0; BUFFER];
                self.insert_dense_batch(only_valid(keys, at, hashes, &mut packed));
                at += len;
                continue;
            }
            for hash in hashes.iter() {
                if keys.validity(at / 64) >> (at % 64) & 1 == 1 {
                    match self.insert_hash(KeyHash::from_raw(*hash)) {
                        Err(Error::NeedSpace) => return Ok(at),
                        inserted => inserted?,
                    }
                }
                at += 1;
            }
        }
        Ok(at)
    }

    fn insert_dense_batch(&mut self, hashes: &[u64]) {
        self.unseal();
        if self.state.has(STALE) {
            self.refresh();
        }
        let mut kept = [0; BUFFER];
        for hashes in hashes.chunks(BUFFER) {
            self.look_for_least();
            let survivors = match self.state.least {
                0 => hashes,
                least => {
                    let mask = ((1u64 << least.min(63)) - 1) << self.state.precision();
                    self.state.isa().survivors(hashes, mask, &mut kept)
                }
            };
            survivors.iter().for_each(|hash| self.insert_dense(*hash));
        }
    }
}
