//! Sketches that work one cache line, 512 bits, at a time; `no_std`, with a C library beside it.
//!
//! ```text
//! key bytes -> hash (u64) -> block index + mask -> lines of storage -> sketch -> image -> C ABI -> engine
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `hash`, `keys` | keys, one by one and in batches, to 64-bit hashes |
//! | `block`, `lines` | 512-bit blocks and where they live |
//! | `bloom` | the blocked Bloom filter; `bloom/probe.rs` defines which bits |
//! | `hll` | HyperLogLog; `hll/rank.rs` defines which register |
//! | `cms` | Count-Min; `cms/column.rs` defines which counters |
//! | `topk` | the most frequent keys of a Count-Min sketch |
//! | `image` | the header line that makes a sketch a file |
//! | `simd` | the kernels, one table per instruction set |
//!
//! A sketch in memory is its serialised form: saving writes the bytes, loading checks them once and uses
//! them in place.
//!
//! ```
//! use sketchline::{BloomFilter, BloomParams, BloomRef, OpenOptions};
//!
//! let mut filter = BloomFilter::new(BloomParams::for_fpr(1000, 0.01)?)?;
//! filter.insert(b"alice")?;
//! let image = filter.seal()?.to_vec(); // to a file, a page, another machine
//!
//! let view = BloomRef::open(&image, OpenOptions::STRICT)?;
//! assert!(view.contains(b"alice")?);
//! assert!(!view.contains(b"bob")?);
//! # Ok::<(), sketchline::Error>(())
//! ```
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod block;
mod bloom;
mod cms;
mod error;
mod hash;
mod hll;
mod image;
mod keys;
mod lines;
mod registers;
mod simd;
mod topk;

#[cfg(feature = "alloc")]
pub use block::OwnedLines;
pub use block::{BLOCK_BITS, BLOCK_BYTES, Block};
#[cfg(feature = "alloc")]
pub use bloom::BloomFilter;
pub use bloom::{
    Bloom, BloomEstimate, BloomMut, BloomParams, BloomRef, BloomState, MAX_BITS_PER_KEY, MAX_BLOCKS, MAX_BYTES,
    MAX_KEYS, contains_batch_in_each,
    probe::{block_index, block_mask},
};
#[cfg(feature = "alloc")]
pub use cms::CountMinSketch;
pub use cms::{Cms, CmsBounds, CmsCensus, CmsLayout, CmsMut, CmsParams, CmsRef, CmsState, CmsWindow, CounterSize};
pub use error::Error;
pub use hash::{HashScheme, KeyHash, canonical_f64};
#[cfg(feature = "alloc")]
pub use hll::HyperLogLog;
pub use hll::{
    EstimateBounds, Hll, HllForm, HllMut, HllParams, HllRef, HllState, OverlapEstimate, overlap, overlap_bytes,
};
pub use image::OpenOptions;
pub use keys::{Arrow, Hashes, KeyBatch, Nullable, Slices, U64Keys};
pub use lines::{Lines, LinesMut};
pub use simd::{Isa, prefetch};
#[cfg(feature = "alloc")]
pub use topk::HeavyHitters;
pub use topk::{TopEntry, TopK, TopKMut, TopKParams, TopKRef, TopKState};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../../README.md")]
struct Readme;
