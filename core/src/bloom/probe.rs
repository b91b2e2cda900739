//! From a hash to one block and the bits in it: layout "S8". This scalar text is the definition of the
//! format; every SIMD kernel equals it bit for bit (`tests/every_isa.rs`).
//!
//! ```text
//! hash  63            32 31             6 5    3 2    0
//!       |  block index  |  g: bit positions in the block |
//!                       |                | turn | word  |   (which lanes: the low bits are used twice)
//! ```
//!
//! A block has 8 lanes of 64 bits. A key uses `num_probes` of 16 candidate bits, two in each lane: up to 8
//! probes take the *primary* bit of that many lanes; above 8, every primary and the *secondary* bit of
//! `num_probes - 8` lanes. A product with a constant of its own gives each lane its two bit positions:
//!
//! ```text
//! x_i       = g * SALT[i]            64-bit product, i = 0..8
//! primary   = (x_i >> 32) & 63       secondary = (x_i >> 24) & 63
//! ```
//!
//! Which lanes: word `g & 7` of the [`Pattern`] for `num_probes`, turned by `(g >> 3) & 7` lanes, so that
//! every lane is used equally often. Byte `i` of a pattern word speaks of lane `i`; its bit 4 means
//! "primary", its bit 3 "secondary". They are the bits at which AVX-512's `vpshufbitqmb` leaves its answer:
//! it looks up all eight bytes of a product at once, byte 4 of `x_i` being the primary position and byte 3
//! the secondary one.
//!
//! What lost: `k` free bits in the line have the same FPR and cost 2.5 times as much per look-up in a batch; one bit
//! in each of sixteen 32-bit lanes has 3 to 4 times the FPR at 10 bits per key; the 256-bit block of Parquet has 1.3
//! to 2 times the FPR.

use crate::block::LANES;
use core::ops::RangeInclusive;

/// How many bits one key may use.
pub(crate) const NUM_PROBES: RangeInclusive<u32> = 1..=16;

/// The eight odd multipliers that Parquet's split block Bloom filter uses
/// (<https://parquet.apache.org/docs/file-format/bloomfilter/>).
pub(crate) const SALT: [u32; LANES] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// In every byte of a pattern word: the lane's primary bit is used.
pub(crate) const PRIMARY: u64 = 0x1010_1010_1010_1010;
/// In every byte of a pattern word: the lane's secondary bit is used.
pub(crate) const SECONDARY: u64 = 0x0808_0808_0808_0808;

/// Which lanes a key uses: one of these words, turned. One cache line per filter.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Pattern(pub(crate) [u64; 8]);

impl Pattern {
    /// The word for one hash.
    #[inline(always)]
    pub(crate) fn word(&self, hash: u64) -> u64 {
        self.0[(hash & 7) as usize].rotate_left(hash as u32 & 56)
    }
}

/// Lane masks of word `j` for 1..=8 lanes of 8: every class of subsets that are equal up to rotation, in
/// about equal shares.
const LANE_MASKS: [[u8; 8]; 8] = [
    [0x01; 8],
    [0x03, 0x05, 0x09, 0x03, 0x05, 0x09, 0x11, 0x03],
    [0x07, 0x0b, 0x0d, 0x13, 0x15, 0x19, 0x25, 0x07],
    [0x0f, 0x17, 0x1b, 0x1d, 0x27, 0x2b, 0x2d, 0x35],
    [0x1f, 0x2f, 0x37, 0x3b, 0x3d, 0x57, 0x5b, 0x1f],
    [0x3f, 0x5f, 0x6f, 0x3f, 0x5f, 0x6f, 0x77, 0x3f],
    [0x7f; 8],
    [0xff; 8],
];

/// The pattern of a number of probes from 1 to 16.
#[inline(always)]
pub(crate) fn pattern(num_probes: u8) -> &'static Pattern {
    &PATTERNS[usize::from(num_probes % 16)]
}

/// By number of probes modulo 16.
static PATTERNS: [Pattern; 16] = {
    let mut patterns = [const { Pattern([0; 8]) }; 16];
    let mut probes = 1;
    while probes <= 16 {
        let mut word = 0;
        while word < 8 {
            patterns[probes % 16].0[word] = if probes <= 8 {
                spread(LANE_MASKS[probes - 1][word]) * PRIMARY_BIT
            } else {
                PRIMARY | (spread(LANE_MASKS[probes - 9][word]) * SECONDARY_BIT)
            };
            word += 1;
        }
        probes += 1;
    }
    patterns
};

const PRIMARY_BIT: u64 = 1 << 4;
const SECONDARY_BIT: u64 = 1 << 3;

/// Bit `i` of the mask to bit `8 i`.
const fn spread(mask: u8) -> u64 {
    let mut word = 0;
    let mut lane = 0;
    while lane < LANES {
        word |= ((mask as u64 >> lane) & 1) << (8 * lane);
        lane += 1;
    }
    word
}

/// The block of a hash among `num_blocks`: multiply-shift of the high half, so that any number of blocks
/// will do. Below `num_blocks` whenever that is not zero.
#[inline(always)]
pub const fn block_index(hash: u64, num_blocks: u64) -> usize {
    ((hash >> 32).wrapping_mul(num_blocks) >> 32) as usize
}

/// The bits of a hash in its block, as eight lanes. `num_probes` is held to 1..=16.
///
/// A key is contained if its block has all these bits; inserting sets them.
pub fn block_mask(hash: u64, num_probes: u32) -> [u64; LANES] {
    let g = hash & 0xffff_ffff;
    let word = pattern(num_probes.clamp(1, 16) as u8).word(hash);
    core::array::from_fn(|i| {
        let x = g * u64::from(SALT[i]);
        let primary = (word >> (8 * i + 4)) & 1;
        let secondary = (word >> (8 * i + 3)) & 1;
        primary << ((x >> 32) & 63) | secondary << ((x >> 24) & 63)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(hash: u64, num_blocks: u64, probes: u32) -> (usize, std::vec::Vec<usize>) {
        let mask = block_mask(hash, probes);
        let bits = (0..512).filter(|b| mask[b / 64] >> (b % 64) & 1 == 1).collect();
        (block_index(hash, num_blocks), bits)
    }

    /// The vectors of the format, from an independent implementation.
    #[test]
    fn format_vectors() {
        assert_eq!(bits(u64::MAX, 1000, 8), (999, std::vec![58, 80, 154, 220, 262, 330, 390, 496]));
        assert_eq!(bits(0x0123_4567_89ab_cdef, 1000, 6), (4, std::vec![59, 64, 137, 342, 416, 486]));
        let wide = bits(0x9e37_79b9_7f4a_7c15, 3_221_225_472, 9);
        assert_eq!(wide, (1_990_826_826, std::vec![13, 118, 151, 176, 245, 307, 356, 406, 479]));
        let full = bits(0xd1b5_4a32_d192_ed03, 4_294_967_295, 16);
        let expected = std::vec![34, 46, 94, 126, 181, 189, 194, 207, 258, 260, 365, 383, 422, 430, 463, 505];
        assert_eq!(full, (3_518_319_153, expected));
    }

    /// A copied table must notice one wrong digit: the right number of lanes, and turned words that use every lane.
    #[test]
    fn patterns_have_their_number_of_probes() {
        for probes in 1..=16 {
            for word in pattern(probes).0 {
                assert_eq!(word.count_ones(), probes.into());
                assert_eq!(word & !(PRIMARY | SECONDARY), 0);
                assert_eq!((word & SECONDARY).count_ones(), probes.saturating_sub(8).into());
            }
        }
    }

    #[test]
    fn extreme_hashes_stay_inside() {
        for num_blocks in [1, 2, 3, 1000, 1 << 31, u64::from(u32::MAX)] {
            assert_eq!(block_index(0, num_blocks), 0);
            assert_eq!(block_index(u64::MAX, num_blocks) as u64, num_blocks - 1);
        }
    }
}
