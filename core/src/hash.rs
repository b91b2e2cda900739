//! Bytes and integers to a 64-bit [`KeyHash`]: the only file that knows the hash function.
//!
//! The native hash is XXH3-64 with a 64-bit seed. A `u64` key is its eight little-endian bytes, so one key
//! has one hash in Rust, in C and on every machine. Rust's `Hash` trait is never used: it feeds lengths of
//! pointer width and native byte order, so its results are not portable.
//!
//! **Equal keys must be equal bytes.** Bytes are hashed as given: `"V0"` and `"V0\0"` are two keys, as are
//! the integer 42 and the text "42". Canonicalise first what your engine calls equal; [`canonical_f64`] does
//! it for floats.

use crate::Error;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A key hashed once; block, bits, register and columns all derive from it.
///
/// Every bit must be well mixed: the high half picks the block, the low half the bits inside it. If your
/// engine's hash is weak in some bits, pass it through [`KeyHash::mixed`].
///
/// ```
/// use sketchline::KeyHash;
/// assert_eq!(KeyHash::of(&42u64.to_le_bytes(), 7), KeyHash::of_u64(42, 7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// XXH3-64 of the bytes of a key.
    #[inline]
    pub fn of(key: &[u8], seed: u64) -> Self {
        Self(xxh3_64_with_seed(key, seed))
    }

    /// XXH3-64 of the eight little-endian bytes of an integer key.
    #[inline(always)]
    pub fn of_u64(key: u64, seed: u64) -> Self {
        Self(xxh3_64_with_seed(&key.to_le_bytes(), seed))
    }

    /// XXH3-64 of a float after [`canonical_f64`].
    #[inline]
    pub fn of_f64(key: f64, seed: u64) -> Self {
        Self::of(&canonical_f64(key), seed)
    }

    /// A hash that the caller already has, well mixed in all 64 bits.
    #[inline(always)]
    pub const fn from_raw(hash: u64) -> Self {
        Self(hash)
    }

    /// A hash that the caller already has, but weak in some bits (an identity hash, a multiplicative one):
    /// passed through a bijective finaliser (splitmix64's, by Steele, Lea and Flood, OOPSLA 2014).
    #[inline]
    pub const fn mixed(weak: u64) -> Self {
        let x = (weak ^ (weak >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(x ^ (x >> 31))
    }

    /// The 64 bits.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }
}

/// The eight bytes under which a float is hashed: little-endian, `-0.0` as `0.0`, every NaN as one NaN.
///
/// ```
/// assert_eq!(sketchline::canonical_f64(-0.0), sketchline::canonical_f64(0.0));
/// ```
pub fn canonical_f64(x: f64) -> [u8; 8] {
    let x = if x.is_nan() {
        f64::from_bits(0x7ff8_0000_0000_0000)
    } else if x == 0.0 {
        0.0
    } else {
        x
    };
    x.to_le_bytes()
}

/// Which hash a sketch holds. Sketches with different schemes never merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashScheme {
    /// The native XXH3-64 with this seed. Takes keys and hashes.
    Xxh3 {
        /// The seed of the hash.
        seed: u64,
    },
    /// The caller's own hash. Takes hashes only; the tag keeps two engines' hashes apart.
    Caller {
        /// Any number that names the caller's hash function and its seed.
        tag: u64,
    },
}

impl HashScheme {
    /// The native hash with seed 0.
    pub const NATIVE: Self = HashScheme::Xxh3 { seed: 0 };

    /// The id stored in an image.
    pub(crate) const fn id(self) -> u8 {
        match self {
            HashScheme::Xxh3 { .. } => 1,
            HashScheme::Caller { .. } => 2,
        }
    }

    /// The seed or tag stored in an image.
    pub const fn seed_or_tag(self) -> u64 {
        match self {
            HashScheme::Xxh3 { seed } => seed,
            HashScheme::Caller { tag } => tag,
        }
    }

    /// Ids 3 (Redis), 4 (DataSketches) and 5 (Parquet) are reserved for the kinds of sketch that share those formats.
    pub(crate) const fn from_parts(id: u8, seed_or_tag: u64) -> Result<Self, Error> {
        match id {
            1 => Ok(HashScheme::Xxh3 { seed: seed_or_tag }),
            2 => Ok(HashScheme::Caller { tag: seed_or_tag }),
            _ => Err(Error::UnknownHash),
        }
    }

    /// The seed with which keys are hashed.
    ///
    /// # Errors
    /// [`Error::CallerHash`] where the caller hashes.
    #[inline(always)]
    pub const fn key_seed(self) -> Result<u64, Error> {
        match self {
            HashScheme::Xxh3 { seed } => Ok(seed),
            HashScheme::Caller { .. } => Err(Error::CallerHash),
        }
    }
}
