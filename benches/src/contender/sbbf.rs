//! Crate `sbbf-rs-safe`: split block filter, 256-bit blocks, AVX2 chosen at run time. It has single calls only.

use super::{Call, Filter, Mode, SBBF};
use crate::machine::Size;
use crate::memory::touch;
use crate::queries::Keys;
use crate::stats::sbbf_fpr;

pub(super) struct Sbbf {
    filter: sbbf_rs_safe::Filter,
    calls: [Call; 1],
}

impl Sbbf {
    pub(super) fn new(size: Size) -> Self {
        // 8 bits for each of so many keys: so many bytes.
        let filter = sbbf_rs_safe::Filter::new(8, size.bytes as usize);
        // The crate tells which code it chose in its Debug text alone.
        let chosen = format!("{filter:?}");
        let level = chosen.split('"').nth(1).and_then(|name| name.strip_suffix("Filter")).unwrap_or("unknown");
        Self { calls: [Call::new(SBBF, level.to_lowercase(), Mode::Single)], filter }
    }
}

impl Filter for Sbbf {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    #[inline(never)]
    fn look_up(&mut self, _: usize, keys: &Keys) -> Option<usize> {
        Some(keys.hashes.iter().filter(|&&hash| self.filter.contains_hash(hash)).count())
    }

    #[inline(never)]
    fn insert(&mut self, _: usize, keys: &Keys) {
        for &hash in &keys.hashes {
            self.filter.insert_hash(hash);
        }
    }

    fn touch(&self) {
        touch(self.filter.as_bytes());
    }

    fn clear(&mut self) {
        self.filter.reset();
    }

    fn predicted_fpr(&self, bits_per_key: f64) -> Option<f64> {
        Some(sbbf_fpr(bits_per_key))
    }
}
