//! Crate `parquet`: the same split block filter in plain Rust. It takes keys, and hashes them with XXH64.

use super::{Call, Filter, Mode};
use crate::machine::Size;
use crate::memory;
use crate::queries::Keys;
use ::parquet::bloom_filter::Sbbf;

pub(super) struct Parquet {
    filter: Sbbf,
    calls: [Call; 1],
}

impl Parquet {
    pub(super) fn new(size: Size) -> Self {
        let calls = [Call::new("parquet", "default", Mode::U64Single)];
        // Its own constructors round up to a power of two and end at 128 MiB.
        Self { filter: Sbbf::new(&vec![0; size.bytes as usize]), calls }
    }
}

impl Filter for Parquet {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    #[inline(never)]
    fn look_up(&mut self, _: usize, keys: &Keys) -> Option<usize> {
        Some(keys.keys.iter().filter(|&key| self.filter.check(key)).count())
    }

    #[inline(never)]
    fn insert(&mut self, _: usize, keys: &Keys) {
        keys.keys.iter().for_each(|key| self.filter.insert(key));
    }

    fn touch(&self) {
        self.filter.write_bitset(Touch).expect("Touch takes everything");
    }

    fn clear(&mut self) {
        self.filter = Sbbf::new(&vec![0; self.filter.num_blocks() * 32]);
    }
}

/// The crate shows its bits to a writer alone, all in one piece.
struct Touch;

impl std::io::Write for Touch {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        memory::touch(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
