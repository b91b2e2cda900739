//! Sizes: (keys, fpr), (keys, bits per key), (keys, bytes) to (blocks, probes), and the FPR of each.
//!
//! The textbook formula undersizes a blocked filter, since the load of a block varies: asked 0.001 it gives
//! 0.0016. The formula for this block agrees with
//! measurement within 1 % at the best number of probes (2 to 4 % at a poor one). With `n` blocks the number of keys in a block is Poisson
//! with mean `L = keys / n` (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters",
//! JEA 2009, eq. 3, with our block in place of theirs). With `j` keys in it, a bit is still 0 with
//! probability `q^j`, where
//!
//! ```text
//! q   = 1 - k/512                              k <= 8 probes, each in a lane of its own
//! q   = (1 - 1/64) (1 - (k-8)/512)             k >  8: every lane once, k - 8 lanes twice
//! FPR = sum over j of Pois(j; L) (1 - q^j)^k   + L / 2^32
//! ```
//!
//! The last term: positions come from 32 hash bits, so two keys of a block agree in all of them that often.
//! The result is the same on every machine: `libm` and the four operations of IEEE 754, nothing else.

use crate::block::{BLOCK_BITS, BLOCK_BYTES};
use crate::bloom::probe::NUM_PROBES;
use crate::{Error, HashScheme};

/// The largest number of blocks: the block index comes from 32 bits of the hash.
pub const MAX_BLOCKS: u64 = u32::MAX as u64;
/// The largest payload in bytes (256 GiB less one line).
pub const MAX_BYTES: u64 = MAX_BLOCKS * BLOCK_BYTES as u64;
/// The largest number of keys a filter can be sized for: one bit each.
pub const MAX_KEYS: u64 = MAX_BLOCKS * BLOCK_BITS as u64;
/// No size asks for more bits per key than this: the FPR is near the floor that 32 hash bits per block set.
pub const MAX_BITS_PER_KEY: f64 = 64.0;

/// The shape of a filter, before any memory is touched.
///
/// ```
/// use sketchline::BloomParams;
/// let params = BloomParams::for_fpr(1_000_000, 0.01)?;
/// assert_eq!(params.num_probes(), 6);
/// assert!(params.predicted_fpr() <= 0.01 && params.bits_per_key() < 10.0);
/// # Ok::<(), sketchline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloomParams {
    num_blocks: u32,
    num_probes: u8,
    capacity: u64,
    hashing: HashScheme,
}

impl BloomParams {
    /// The smallest filter whose predicted FPR is at most `fpr` when it holds `keys` keys.
    ///
    /// `keys` 0 is sized as 1. Takes about a millisecond.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `0 < fpr < 1`; [`Error::Unreachable`] where 64 bits per key are not
    /// enough (the least is 1.4e-8); [`Error::TooLarge`] beyond [`MAX_KEYS`] or [`MAX_BLOCKS`].
    pub fn for_fpr(keys: u64, fpr: f64) -> Result<Self, Error> {
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(Error::InvalidArgument);
        }
        check_keys(keys)?;
        let most = blocks_for_bits_per_key(keys, MAX_BITS_PER_KEY);
        let (num_blocks, num_probes) = NUM_PROBES
            .filter_map(|probes| Some((least_blocks(keys, probes, fpr, most)?, probes)))
            .min()
            .ok_or(Error::Unreachable)?;
        Self::new(num_blocks, num_probes, keys)
    }

    /// The filter of least FPR at (just over) so many bits per key.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `bits_per_key > 0`; [`Error::Unreachable`] above
    /// [`MAX_BITS_PER_KEY`]; [`Error::TooLarge`] beyond [`MAX_KEYS`] or [`MAX_BLOCKS`].
    pub fn for_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, Error> {
        if bits_per_key.is_nan() || bits_per_key <= 0.0 {
            return Err(Error::InvalidArgument);
        }
        if bits_per_key > MAX_BITS_PER_KEY {
            return Err(Error::Unreachable);
        }
        check_keys(keys)?;
        Self::with_best_probes(keys, blocks_for_bits_per_key(keys, bits_per_key))
    }

    /// The filter of least FPR whose payload fits in so many bytes (an image is one line, 64 bytes, longer).
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] below 64 bytes; [`Error::TooLarge`] beyond [`MAX_KEYS`] or [`MAX_BYTES`].
    pub fn for_bytes(keys: u64, bytes: u64) -> Result<Self, Error> {
        check_keys(keys)?;
        match bytes / BLOCK_BYTES as u64 {
            0 => Err(Error::BufferTooSmall),
            num_blocks => Self::with_best_probes(keys, num_blocks),
        }
    }

    /// Exactly this shape, for an unknown number of keys.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for 0 blocks, or probes outside 1..=16; [`Error::TooLarge`] beyond [`MAX_BLOCKS`].
    pub const fn explicit(num_blocks: u64, num_probes: u32) -> Result<Self, Error> {
        Self::new(num_blocks, num_probes, 0)
    }

    /// The same shape with another number of keys to expect (0: unknown), as [`BloomParams::explicit`] needs
    /// before it can predict an FPR.
    #[must_use]
    pub const fn with_capacity(self, keys: u64) -> Self {
        Self { capacity: keys, ..self }
    }

    /// The same shape under another hash or seed.
    #[must_use]
    pub const fn with_hashing(self, hashing: HashScheme) -> Self {
        Self { hashing, ..self }
    }

    pub(crate) const fn new(num_blocks: u64, num_probes: u32, capacity: u64) -> Result<Self, Error> {
        if num_blocks == 0 || num_probes < 1 || num_probes > 16 {
            return Err(Error::InvalidArgument);
        }
        if num_blocks > MAX_BLOCKS {
            return Err(Error::TooLarge);
        }
        let (num_blocks, num_probes) = (num_blocks as u32, num_probes as u8);
        Ok(Self { num_blocks, num_probes, capacity, hashing: HashScheme::NATIVE })
    }

    /// Parts that came from a `BloomParams` before.
    pub(crate) const fn from_checked(num_blocks: u32, num_probes: u8, capacity: u64, hashing: HashScheme) -> Self {
        Self { num_blocks, num_probes, capacity, hashing }
    }

    fn with_best_probes(keys: u64, num_blocks: u64) -> Result<Self, Error> {
        if num_blocks > MAX_BLOCKS {
            return Err(Error::TooLarge);
        }
        let load = load(keys, num_blocks);
        let fpr_of = |probes: &u32| fpr(load, *probes);
        let best = NUM_PROBES.min_by(|a, b| fpr_of(a).total_cmp(&fpr_of(b)));
        Self::new(num_blocks, best.unwrap_or(1), keys)
    }

    /// Number of 512-bit blocks, at least 1.
    pub const fn num_blocks(&self) -> u32 {
        self.num_blocks
    }

    /// Bits set per key, 1..=16.
    pub const fn num_probes(&self) -> u32 {
        self.num_probes as u32
    }

    /// Keys the filter is meant for; 0 where unknown.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The hash whose values the filter holds.
    pub const fn hashing(&self) -> HashScheme {
        self.hashing
    }

    /// Bytes of the blocks alone.
    pub const fn payload_bytes(&self) -> u64 {
        self.num_blocks as u64 * BLOCK_BYTES as u64
    }

    /// Bytes of the whole image: header line and blocks.
    pub const fn image_bytes(&self) -> u64 {
        self.payload_bytes() + BLOCK_BYTES as u64
    }

    /// Payload bits per key of the capacity; infinite where that is unknown.
    pub fn bits_per_key(&self) -> f64 {
        (8 * self.payload_bytes()) as f64 / self.capacity as f64
    }

    /// The FPR when the filter holds as many keys as its capacity (0 where that is unknown).
    pub fn predicted_fpr(&self) -> f64 {
        self.predicted_fpr_at(self.capacity)
    }

    /// The FPR when the filter holds `keys` keys.
    pub fn predicted_fpr_at(&self, keys: u64) -> f64 {
        if keys == 0 { 0.0 } else { fpr(load(keys, u64::from(self.num_blocks)), self.num_probes()) }
    }
}

fn check_keys(keys: u64) -> Result<(), Error> {
    if keys > MAX_KEYS { Err(Error::TooLarge) } else { Ok(()) }
}

/// Mean number of keys in a block.
fn load(keys: u64, num_blocks: u64) -> f64 {
    keys.max(1) as f64 / num_blocks as f64
}

fn blocks_for_bits_per_key(keys: u64, bits_per_key: f64) -> u64 {
    libm::ceil(keys.max(1) as f64 * bits_per_key / BLOCK_BITS as f64) as u64
}

/// The least number of blocks, at most `most`, that reaches the FPR with so many probes.
fn least_blocks(keys: u64, probes: u32, target: f64, most: u64) -> Option<u64> {
    let reached = |num_blocks| fpr(load(keys, num_blocks), probes) <= target;
    if !reached(most) {
        return None;
    }
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// Probability that one key leaves a given bit of its block at 0.
pub(crate) fn bit_stays_zero(probes: u32) -> f64 {
    let bits = BLOCK_BITS as f64;
    match probes {
        0..=8 => 1.0 - f64::from(probes) / bits,
        _ => (1.0 - 1.0 / 64.0) * (1.0 - f64::from(probes - 8) / bits),
    }
}

/// The FPR at a mean load, as the head of this file gives it.
fn fpr(load: f64, probes: u32) -> f64 {
    let q = bit_stays_zero(probes);
    let floor = load / 4_294_967_296.0;
    // So loaded that every block is full: no sum needed, and none so long.
    if load > 1e6 {
        return 1.0;
    }
    // The Poisson terms fall off on both sides of the mode; start there, so that nothing underflows.
    let mode = libm::floor(load);
    let at_mode = libm::exp(mode * libm::log(load) - load - libm::lgamma(mode + 1.0));
    let q_mode = libm::pow(q, mode);
    let false_positive = |q_j: f64| power(1.0 - q_j, probes);

    let (mut sum, mut term, mut q_j, mut j) = (0.0, at_mode, q_mode, mode);
    while term > NEGLIGIBLE {
        sum += term * false_positive(q_j);
        j += 1.0;
        term *= load / j;
        q_j *= q;
    }
    let (mut term, mut q_j, mut j) = (at_mode, q_mode, mode);
    while term > NEGLIGIBLE && j > 0.0 {
        term *= j / load;
        j -= 1.0;
        q_j /= q;
        sum += term * false_positive(q_j);
    }
    (sum + floor).min(1.0)
}

/// Terms below this cannot change a sum that is at least 1e-10 in its tenth digit.
const NEGLIGIBLE: f64 = 1e-24;

/// `x` to the power of a small integer, in an order that does not depend on the machine.
pub(crate) fn power(x: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of the layout that were measured before this code was written.
    #[test]
    fn predicts_the_measured_rows() {
        let rows =
            [(8.0, 5, 2.33e-2), (10.0, 6, 9.70e-3), (12.0, 7, 4.19e-3), (16.0, 10, 8.53e-4), (20.0, 11, 2.00e-4)];
        for (bits_per_key, probes, measured) in rows {
            let params = BloomParams::for_bits_per_key(10_000_000, bits_per_key).unwrap();
            assert_eq!(params.num_probes(), probes, "{bits_per_key} bits per key");
            let off = params.predicted_fpr() / measured - 1.0;
            assert!(off.abs() < 0.01, "{bits_per_key} bits per key: {off}");
        }
    }

    #[test]
    fn best_probes_of_the_design() {
        let best = [
            (4, 3),
            (6, 4),
            (7, 5),
            (8, 5),
            (9, 6),
            (10, 6),
            (11, 7),
            (12, 7),
            (13, 8),
            (14, 9),
            (15, 9),
            (16, 10),
            (17, 10),
            (18, 10),
            (20, 11),
            (22, 12),
            (24, 12),
        ];
        for (bits_per_key, probes) in best {
            let params = BloomParams::for_bits_per_key(1 << 30, f64::from(bits_per_key)).unwrap();
            assert_eq!(params.num_probes(), probes, "{bits_per_key} bits per key");
        }
    }

    #[test]
    fn bits_per_key_within_the_targets() {
        for (fpr, most) in [(0.05, 6.4), (0.01, 10.0), (0.001, 15.7), (0.0001, 22.2)] {
            let params = BloomParams::for_fpr(1_000_000, fpr).unwrap();
            assert!(params.bits_per_key() <= most, "{fpr}: {}", params.bits_per_key());
            assert!(params.predicted_fpr() <= fpr);
            let fewer = BloomParams::new(u64::from(params.num_blocks()) - 1, params.num_probes(), 1_000_000).unwrap();
            assert!(fewer.predicted_fpr() > fpr, "not the least");
        }
    }

    #[test]
    fn limits_are_exact() {
        assert!(BloomParams::for_bytes(MAX_KEYS, MAX_BYTES).is_ok());
        assert_eq!(BloomParams::for_bytes(MAX_KEYS + 1, MAX_BYTES), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_bytes(1, MAX_BYTES + 64), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_bytes(1, 63), Err(Error::BufferTooSmall));
        assert_eq!(BloomParams::for_fpr(1_000_000_000_000_000_000, 0.01), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_fpr(MAX_KEYS, 0.01), Err(Error::TooLarge));
        assert_eq!(BloomParams::for_fpr(100_000, 1e-9), Err(Error::Unreachable));
        assert_eq!(BloomParams::for_bits_per_key(1, 64.1), Err(Error::Unreachable));
        for fpr in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(BloomParams::for_fpr(10, fpr), Err(Error::InvalidArgument));
        }
        for bits in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(BloomParams::for_bits_per_key(10, bits), Err(Error::InvalidArgument));
        }
        assert_eq!(BloomParams::for_bits_per_key(10, f64::INFINITY), Err(Error::Unreachable));
        assert!(BloomParams::explicit(MAX_BLOCKS, 16).is_ok());
        assert_eq!(BloomParams::explicit(MAX_BLOCKS + 1, 16), Err(Error::TooLarge));
        for (blocks, probes) in [(0, 8), (1, 0), (1, 17), (1, u32::MAX)] {
            assert_eq!(BloomParams::explicit(blocks, probes), Err(Error::InvalidArgument));
        }
    }

    /// Beyond 2^32 keys and bytes nothing wraps, and twice the keys are twice the bytes.
    #[test]
    fn large_sizes_do_not_wrap() {
        let bytes = |keys, fpr| BloomParams::for_fpr(keys, fpr).unwrap().payload_bytes() as f64;
        assert!((6.20e9..6.40e9).contains(&bytes(5_000_000_000, 0.01)));
        assert!((1.06e10..1.09e10).contains(&bytes(1 << 33, 0.01)));
        assert!(bytes(400_000_000, 0.001) * 8.0 >= 15.4 * 4e8);
        let mut keys = 1u64 << 22;
        while keys << 1 < 1 << 37 {
            let ratio = bytes(keys << 1, 0.001) / bytes(keys, 0.001);
            assert!((ratio - 2.0).abs() < 0.01, "{keys}: {ratio}");
            keys <<= 1;
        }
    }

    #[test]
    fn every_fpr_is_a_probability() {
        for blocks in [1, 1000, (1 << 22) - 1, 1 << 22, (1 << 23) + 1, 1 << 28] {
            for probes in NUM_PROBES {
                let params = BloomParams::explicit(blocks, probes).unwrap();
                let mut last = 0.0;
                for keys in [0, 1, 10, 1000, 1 << 20, 1 << 34, u64::MAX] {
                    let fpr = params.predicted_fpr_at(keys);
                    assert!((0.0..=1.0).contains(&fpr) && fpr >= last, "{blocks} {probes} {keys}: {fpr}");
                    last = fpr;
                }
            }
        }
    }
}
