//! Many keys in one call. Every form of input ([`KeyBatch`]) goes with every form of output: a bitmap, a
//! selection vector, a count. Keys are hashed into a buffer on the stack, then the buffer is probed.

use super::{Bloom, BloomRef, BloomState};
use crate::keys::{BUFFER, KeyBatch, WORDS, for_each_buffer, only_valid};
use crate::lines::{Lines, LinesMut};
use crate::{Error, block::Block};

impl BloomState {
    /// The seed with which to hash this batch, after checking it. 0 where the hashes are given.
    fn check(&self, keys: &dyn KeyBatch) -> Result<u64, Error> {
        keys.check(self.hashing())?;
        Ok(self.hashing().key_seed().unwrap_or(0))
    }
}

impl<S: Lines> Bloom<S> {
    /// Looks up each key: bit `i % 64` of `out[i / 64]` tells whether key `i` may have been inserted. The
    /// rest of the last word is 0, words beyond are left alone.
    ///
    /// ```
    /// use sketchline::{BloomFilter, BloomParams, U64Keys};
    /// let mut filter = BloomFilter::new(BloomParams::for_fpr(1000, 0.01)?)?;
    /// filter.insert_batch(&U64Keys(&[10, 20, 30]))?;
    /// let mut bitmap = [0];
    /// filter.contains_batch(&U64Keys(&[20, 21, 10]), &mut bitmap)?;
    /// assert_eq!(bitmap, [0b101]);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if `out` has fewer bits than there are keys, and what [`KeyBatch::check`] finds.
    pub fn contains_batch(&self, keys: &dyn KeyBatch, out: &mut [u64]) -> Result<(), Error> {
        let seed = self.state.check(keys)?;
        let out = out.get_mut(..keys.len().div_ceil(64)).ok_or(Error::BufferTooSmall)?;
        contains_words(&self.state, self.blocks(), keys, seed, out);
        Ok(())
    }

    /// How many of the keys may have been inserted.
    ///
    /// # Errors
    /// What [`KeyBatch::check`] finds.
    pub fn count_batch(&self, keys: &dyn KeyBatch) -> Result<usize, Error> {
        let seed = self.state.check(keys)?;
        let mut count = 0;
        for_each_buffer(keys, seed, self.state.isa(), |first, hashes| {
            let mut words = [0; WORDS];
            self.state.probing().contains_batch(self.blocks(), hashes, &mut words);
            count += ones(keys, first, &words);
        });
        Ok(count)
    }

    /// Writes the numbers of the keys that may have been inserted, ascending, and returns how many they are.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if `out` is shorter than the batch, [`Error::TooLarge`] for a batch beyond
    /// `u32`, and what [`KeyBatch::check`] finds.
    pub fn select_batch(&self, keys: &dyn KeyBatch, out: &mut [u32]) -> Result<usize, Error> {
        let seed = self.state.check(keys)?;
        u32::try_from(keys.len()).map_err(|_| Error::TooLarge)?;
        if out.len() < keys.len() {
            return Err(Error::BufferTooSmall);
        }
        let mut kept = 0;
        for_each_buffer(keys, seed, self.state.isa(), |first, hashes| {
            let mut words = [0; WORDS];
            self.state.probing().contains_batch(self.blocks(), hashes, &mut words);
            for (n, word) in words.into_iter().enumerate() {
                let at = first + 64 * n;
                for bit in set_bits(word & keys.validity(at / 64)) {
                    if let Some(out) = out.get_mut(kept) {
                        *out = (at + bit) as u32;
                        kept += 1;
                    }
                }
            }
        });
        Ok(kept)
    }

    /// Of the selected keys, keeps those that may have been inserted: moves their numbers to the front of
    /// `selection`, in their order, and returns how many they are.
    ///
    /// # Errors
    /// [`Error::BadKeys`] if a number is not below the length of the batch, and what [`KeyBatch::check`] finds.
    pub fn select_in_place(&self, keys: &dyn KeyBatch, selection: &mut [u32]) -> Result<usize, Error> {
        let seed = self.check_selection(keys, selection)?;
        Ok(self.narrow(keys, seed, selection))
    }

    /// As [`Bloom::select_in_place`], from candidates that stay as they are to `out`.
    ///
    /// # Errors
    /// As there, and [`Error::BufferTooSmall`] if `out` is shorter than the candidates; nothing is written then.
    pub fn select_from(&self, keys: &dyn KeyBatch, candidates: &[u32], out: &mut [u32]) -> Result<usize, Error> {
        let seed = self.check_selection(keys, candidates)?;
        let out = out.get_mut(..candidates.len()).ok_or(Error::BufferTooSmall)?;
        for (out, candidate) in out.iter_mut().zip(candidates) {
            *out = *candidate;
        }
        Ok(self.narrow(keys, seed, out))
    }

    fn check_selection(&self, keys: &dyn KeyBatch, selection: &[u32]) -> Result<u64, Error> {
        let seed = self.state.check(keys)?;
        let inside = selection.iter().all(|&i| (i as usize) < keys.len());
        if inside { Ok(seed) } else { Err(Error::BadKeys) }
    }

    fn narrow(&self, keys: &dyn KeyBatch, seed: u64, selection: &mut [u32]) -> usize {
        let mut kept = 0;
        let mut start = 0;
        while start < selection.len() {
            let end = selection.len().min(start + BUFFER);
            let mut hashes = [0; BUFFER];
            let hashes = hashes.get_mut(..end - start).unwrap_or(&mut []);
            keys.hash_selected(selection.get(start..end).unwrap_or(&[]), seed, hashes);
            let mut words = [0; WORDS];
            self.state.probing().contains_batch(self.blocks(), hashes, &mut words);
            for (n, word) in words.into_iter().enumerate() {
                for bit in set_bits(word) {
                    // Writes never overtake reads: `kept` is at most the position that is read.
                    let i = selection.get(start + 64 * n + bit).copied().unwrap_or(0);
                    if keys.validity(i as usize / 64) >> (i % 64) & 1 == 1
                        && let Some(out) = selection.get_mut(kept)
                    {
                        *out = i;
                        kept += 1;
                    }
                }
            }
            start = end;
        }
        kept
    }
}

impl<S: LinesMut> Bloom<S> {
    /// Puts hashes in: [`Bloom::insert_batch`] of [`crate::Hashes`], which cannot fail.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        if hashes.is_empty() {
            return;
        }
        let probing = self.state.probing();
        probing.insert_batch(self.blocks_mut(), hashes);
        self.state.count(hashes.len());
    }

    /// Puts every key in.
    ///
    /// # Errors
    /// What [`KeyBatch::check`] finds; no key is inserted then.
    pub fn insert_batch(&mut self, keys: &dyn KeyBatch) -> Result<(), Error> {
        let seed = self.state.check(keys)?;
        if let Some(hashes) = keys.as_hashes() {
            self.insert_hashes(hashes);
            return Ok(());
        }
        let probing = self.state.probing();
        let isa = self.state.isa();
        let mut inserted = 0;
        let blocks = self.blocks_mut();
        for_each_buffer(keys, seed, isa, |first, hashes| {
            let mut packed = [0; BUFFER];
            let valid = only_valid(keys, first, hashes, &mut packed);
            probing.insert_batch(blocks, valid);
            inserted += valid.len();
        });
        self.state.count(inserted);
        Ok(())
    }

    /// Puts every key in, and tells of each whether it may have been there before: exactly as `contains`
    /// then `insert`, one key after the other. Bits as in [`Bloom::contains_batch`].
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if `seen` has fewer bits than there are keys, and what [`KeyBatch::check`]
    /// finds; no key is inserted then.
    pub fn insert_batch_seen(&mut self, keys: &dyn KeyBatch, seen: &mut [u64]) -> Result<(), Error> {
        let seed = self.state.check(keys)?;
        let seen = seen.get_mut(..keys.len().div_ceil(64)).ok_or(Error::BufferTooSmall)?;
        let probing = self.state.probing();
        if let Some(hashes) = keys.as_hashes() {
            probing.insert_batch_seen(self.blocks_mut(), hashes, seen);
            self.state.count(hashes.len());
            return Ok(());
        }
        let isa = self.state.isa();
        let mut inserted = 0;
        let blocks = self.blocks_mut();
        for_each_buffer(keys, seed, isa, |first, hashes| {
            let mut packed = [0; BUFFER];
            let valid = only_valid(keys, first, hashes, &mut packed);
            let mut words = [0; WORDS];
            probing.insert_batch_seen(blocks, valid, &mut words);
            inserted += valid.len();
            let seen = seen.get_mut(first / 64..).unwrap_or(&mut []);
            unpack(keys, first, hashes.len(), &words, seen);
        });
        self.state.count(inserted);
        Ok(())
    }
}

/// One batch against many filters: each key is hashed once. Filter `f` answers in
/// `out[f * words ..][..words]`, where `words` is `keys.len() / 64`, rounded up.
///
/// # Errors
/// [`Error::Incompatible`] unless all filters have one hash and seed, [`Error::BufferTooSmall`] if `out` is
/// shorter than `words` per filter, and what [`KeyBatch::check`] finds.
pub fn contains_batch_in_each<'a>(
    filters: impl Iterator<Item = BloomRef<'a>> + Clone,
    keys: &dyn KeyBatch,
    out: &mut [u64],
) -> Result<(), Error> {
    let Some(first) = filters.clone().next() else { return Ok(()) };
    let hashing = first.state.hashing();
    if filters.clone().any(|filter| filter.state.hashing() != hashing) {
        return Err(Error::Incompatible);
    }
    let seed = first.state.check(keys)?;
    let words = keys.len().div_ceil(64);
    if words.checked_mul(filters.clone().count()).is_none_or(|all| all > out.len()) {
        return Err(Error::BufferTooSmall);
    }
    for_each_buffer(keys, seed, first.state.isa(), |start, hashes| {
        for (filter, out) in filters.clone().zip(out.chunks_mut(words.max(1))) {
            let out = out.get_mut(start / 64..).unwrap_or(&mut []);
            filter.state.probing().contains_batch(filter.blocks(), hashes, out);
            mask_valid(keys, start, hashes.len(), out);
        }
    });
    Ok(())
}

fn contains_words(state: &BloomState, blocks: &[Block], keys: &dyn KeyBatch, seed: u64, out: &mut [u64]) {
    let probing = state.probing();
    if let Some(hashes) = keys.as_hashes() {
        return probing.contains_batch(blocks, hashes, out);
    }
    for_each_buffer(keys, seed, state.isa(), |first, hashes| {
        let out = out.get_mut(first / 64..).unwrap_or(&mut []);
        probing.contains_batch(blocks, hashes, out);
        mask_valid(keys, first, hashes.len(), out);
    });
}

fn mask_valid(keys: &dyn KeyBatch, first: usize, len: usize, words: &mut [u64]) {
    for (n, word) in words.iter_mut().take(len.div_ceil(64)).enumerate() {
        *word &= keys.validity(first / 64 + n);
    }
}

fn ones(keys: &dyn KeyBatch, first: usize, words: &[u64; WORDS]) -> usize {
    let valid = words.iter().enumerate().map(|(n, word)| word & keys.validity(first / 64 + n));
    valid.map(|word| word.count_ones() as usize).sum()
}

/// The numbers of the set bits, ascending.
fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Gives the answers for the valid keys, which are packed, back to their places.
fn unpack(keys: &dyn KeyBatch, first: usize, len: usize, packed: &[u64; WORDS], out: &mut [u64]) {
    let mut next = 0;
    for (n, out) in out.iter_mut().take(len.div_ceil(64)).enumerate() {
        let in_word = (len - 64 * n).min(64);
        let valid = keys.validity(first / 64 + n);
        *out = 0;
        for i in 0..in_word {
            if valid >> i & 1 == 1 {
                let answer = packed.get(next / 64).map_or(0, |word| word >> (next % 64) & 1);
                *out |= answer << i;
                next += 1;
            }
        }
    }
}
