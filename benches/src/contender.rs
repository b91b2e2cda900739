//! The contenders: one small trait, a file per filter behind it, and the table of them.

use crate::machine::Size;
use crate::queries::{Keys, Queries};

#[cfg(feature = "peers")]
mod bloomfilter;
#[cfg(feature = "capi")]
mod capi;
#[cfg(feature = "peers")]
mod fastbloom;
mod ours;
#[cfg(feature = "peers")]
mod parquet;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "peers")]
mod sbbf;

/// How a caller hands its keys over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Hashes, one call each.
    Single,
    /// Hashes, many in one call.
    Batch,
    /// Integers, one call each, hashed inside.
    U64Single,
    /// Integers, many in one call, hashed inside.
    U64Batch,
}

impl Mode {
    /// `single`, `batch`, `u64 single`, `u64 batch`.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Single => "single",
            Mode::Batch => "batch",
            Mode::U64Single => "u64 single",
            Mode::U64Batch => "u64 batch",
        }
    }
}

/// Ours, called from Rust.
pub const OURS: &str = "sketchline";
/// Ours with eight probes, where another number would have the better FPR.
pub const OURS_K8: &str = "sketchline k=8";
/// Ours, called as C does.
pub const OURS_C: &str = "sketchline C";
/// Random line reads.
pub const LIMIT: &str = "limit";
/// The split block filter of 256-bit blocks, in its fastest crate.
pub const SBBF: &str = "sbbf-rs-safe";
/// RocksDB's.
pub const ROCKSDB: &str = "rocksdb";
/// The unblocked filter that calls itself the fastest.
pub const FASTBLOOM: &str = "fastbloom";

/// One way to call a filter: a row of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Whose filter.
    pub contender: &'static str,
    /// Which instructions; of the limit: which prefetch.
    pub level: String,
    /// How keys are handed over.
    pub mode: Mode,
}

impl Call {
    pub(crate) fn new(contender: &'static str, level: impl Into<String>, mode: Mode) -> Self {
        Self { contender, level: level.into(), mode }
    }
}

/// A filter in memory, and the ways to call it. `call` is an index into [`Filter::calls`].
pub trait Filter {
    /// The ways to call it; the first is the one to fill it with.
    fn calls(&self) -> &[Call];

    /// Looks every key up and counts those that may be present. `None` of what is no filter: the limit.
    fn look_up(&mut self, call: usize, keys: &Keys) -> Option<usize>;

    /// Inserts every key.
    fn insert(&mut self, call: usize, keys: &Keys);

    /// Brings what the caches can hold of it there: [`crate::memory::touch`].
    fn touch(&self);

    /// Takes all keys out.
    fn clear(&mut self);

    /// Bits set by a key where they may lie anywhere, so that a filled filter is just random bits of some density:
    /// the number of probes. `None` of a blocked filter.
    fn unblocked_probes(&self) -> Option<u32> {
        None
    }

    /// Takes the place of all bits of an unblocked filter.
    fn set_words(&mut self, words: Vec<u64>) {
        drop(words);
    }

    /// The FPR that theory predicts, where we know the theory.
    fn predicted_fpr(&self, bits_per_key: f64) -> Option<f64> {
        let _ = bits_per_key;
        None
    }
}

/// Above this size an unblocked filter is filled by its density: 10^9 keys one by one would take minutes.
const FILL_BY_KEYS: u64 = 64 << 20;

/// Inserts keys `0 .. keys`.
///
/// Every filter sees every key, but for unblocked ones of large sizes: those get the keys that will be looked up, and
/// in place of the rest random bits of the density that so many keys leave, which is what inserting makes of them.
pub fn fill(filter: &mut dyn Filter, size: Size, keys: u64) {
    let mut one_by_one = keys;
    if let Some(probes) = filter.unblocked_probes()
        && size.bytes > FILL_BY_KEYS
    {
        one_by_one = Queries::new(keys).pool();
        let (rest, bits) = ((keys - one_by_one) as f64, (size.bytes * 8) as f64);
        let density = 1.0 - (-rest * f64::from(probes) / bits).exp();
        filter.set_words(random_words(size.bytes / 8, density));
    }
    Queries::inserted(0..one_by_one, |keys| filter.insert(0, keys));
}

/// Words of which each bit is set with this probability, to 16 binary digits.
fn random_words(len: u64, density: f64) -> Vec<u64> {
    let digits = (density * 65_536.0) as u32;
    let word = |i: u64| {
        let mut state = crate::queries::mix(i);
        (0..16).fold(0, |word, digit| {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let random = state ^ state.rotate_left(29);
            if digits >> digit & 1 == 1 { word | random } else { word & random }
        })
    };
    (0..len).map(word).collect()
}

/// A contender that was compiled in.
struct Entry {
    name: &'static str,
    /// The one size it runs at, where it does not run at all.
    only_at: Option<&'static str>,
    /// Makes an empty filter for so many keys.
    make: fn(Size, u64) -> Box<dyn Filter>,
}

impl Entry {
    const fn new(name: &'static str, make: fn(Size, u64) -> Box<dyn Filter>) -> Self {
        Self { name, only_at: None, make }
    }
}

static CONTENDERS: &[Entry] = &[
    Entry::new(OURS, |size, keys| Box::new(ours::Ours::new(OURS, size, keys, None))),
    Entry {
        name: OURS_K8,
        only_at: Some("l2"),
        make: |size, keys| Box::new(ours::Ours::new(OURS_K8, size, keys, Some(8))),
    },
    #[cfg(feature = "rocksdb")]
    Entry::new(ROCKSDB, |size, keys| Box::new(rocksdb::RocksDb::new(size, keys))),
    #[cfg(feature = "peers")]
    Entry::new(SBBF, |size, _| Box::new(sbbf::Sbbf::new(size))),
    #[cfg(feature = "peers")]
    Entry::new("parquet", |size, _| Box::new(parquet::Parquet::new(size))),
    #[cfg(feature = "peers")]
    Entry::new(FASTBLOOM, |size, keys| Box::new(fastbloom::FastBloom::new(size, keys))),
    #[cfg(feature = "peers")]
    Entry::new("bloomfilter", |size, keys| Box::new(bloomfilter::Siphashed::new(size, keys))),
];

/// Empty filters of this size for so many keys, of those contenders that are wanted.
pub fn make(size: Size, keys: u64, wanted: impl Fn(&str) -> bool) -> Vec<Box<dyn Filter>> {
    let is_here = |entry: &&Entry| entry.only_at.is_none_or(|name| name == size.name) && wanted(entry.name);
    CONTENDERS.iter().filter(is_here).map(|entry| (entry.make)(size, keys)).collect()
}
