//! The shape of a top-k.

use crate::block::BLOCK_BYTES;
use crate::{Error, HashScheme};

/// Number of keys, bytes per key, hash.
///
/// ```
/// use sketchline::TopKParams;
/// let params = TopKParams::new(100, 16)?;
/// assert_eq!(params.image_bytes(), 64 + 3648);
/// # Ok::<(), sketchline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKParams {
    k: u32,
    max_key_bytes: u32,
    hashing: HashScheme,
}

/// Most keys, and most bytes of a key.
const MOST: u32 = 65_536;

impl TopKParams {
    /// Room for `k` keys, of each of which the first `max_key_bytes` are kept, under the native hash with seed 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `1 <= k <= 65536` and `max_key_bytes <= 65536`.
    pub fn new(k: u32, max_key_bytes: u32) -> Result<Self, Error> {
        if k == 0 || k > MOST || max_key_bytes > MOST {
            return Err(Error::InvalidArgument);
        }
        Ok(Self { k, max_key_bytes, hashing: HashScheme::NATIVE })
    }

    pub(crate) const fn from_checked(k: u32, max_key_bytes: u32, hashing: HashScheme) -> Self {
        Self { k, max_key_bytes, hashing }
    }

    /// The same under another hash or seed: those of the sketch.
    #[must_use]
    pub const fn with_hashing(self, hashing: HashScheme) -> Self {
        Self { hashing, ..self }
    }

    /// Most keys that are held.
    pub const fn k(&self) -> u32 {
        self.k
    }

    /// Bytes of a key that are kept.
    pub const fn max_key_bytes(&self) -> u32 {
        self.max_key_bytes
    }

    /// The hash of the sketch.
    pub const fn hashing(&self) -> HashScheme {
        self.hashing
    }

    /// Bytes of the entries alone: 20 and those of the key for each, in whole lines.
    pub const fn payload_bytes(&self) -> u64 {
        let entries = self.k as u64 * (20 + self.max_key_bytes as u64);
        entries.next_multiple_of(BLOCK_BYTES as u64)
    }

    /// Bytes of the image: one header line and the entries.
    pub const fn image_bytes(&self) -> u64 {
        self.payload_bytes() + BLOCK_BYTES as u64
    }
}
