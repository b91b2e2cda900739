//! Crate `bloomfilter`: the classic, an unblocked filter that takes keys and hashes them with SipHash.

use super::{Call, Filter, Mode};
use crate::machine::Size;
use crate::memory::touch;
use crate::queries::Keys;
use ::bloomfilter::Bloom;

pub(super) struct Siphashed {
    filter: Bloom<u64>,
    calls: [Call; 1],
}

impl Siphashed {
    pub(super) fn new(size: Size, keys: u64) -> Self {
        // Two SipHash keys, which must differ.
        let seed = std::array::from_fn(|i| i as u8);
        let filter = Bloom::new_with_seed(size.bytes as usize, keys as usize, &seed);
        let calls = [Call::new("bloomfilter", "default", Mode::U64Single)];
        Self { filter: filter.expect("a seed is given"), calls }
    }
}

impl Filter for Siphashed {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    #[inline(never)]
    fn look_up(&mut self, _: usize, keys: &Keys) -> Option<usize> {
        Some(keys.keys.iter().filter(|&key| self.filter.check(key)).count())
    }

    #[inline(never)]
    fn insert(&mut self, _: usize, keys: &Keys) {
        keys.keys.iter().for_each(|key| self.filter.set(key));
    }

    fn touch(&self) {
        touch(self.filter.as_slice());
    }

    fn clear(&mut self) {
        self.filter.clear();
    }

    fn unblocked_probes(&self) -> Option<u32> {
        Some(self.filter.number_of_hash_functions())
    }

    fn set_words(&mut self, words: Vec<u64>) {
        // A header, then the bits.
        let mut bytes = self.filter.to_bytes();
        let header = bytes.len() - 8 * words.len();
        for (bytes, word) in bytes[header..].chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        self.filter = Bloom::from_bytes(bytes).expect("its own header");
    }
}
