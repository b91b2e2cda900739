//! From a hash to a register and a rank, and the 26-bit tokens that stand for both at every precision.
//!
//! ```text
//! hash   63                          p p-1        0
//!        |  rank: trailing zeros + 1  |   register |
//!
//! token  31                     6 5          0
//!        |  idx26: low 26 bits   |   rank26   |      rank26 = 1 + trailing zeros of hash >> 26, at most 39
//! ```
//!
//! Index = low `p` bits, rank = 1 + trailing zeros of the rest, at most `65 - p` when all of it is zero: the
//! convention of Redis. A token gives back exactly the register and the rank of its hash at any `p <= 26`: the
//! bits of `idx26` above `p` come first, and only if all are zero does `rank26` count.

use core::ops::RangeInclusive;

/// Precisions: 16 to 262,144 registers.
pub(crate) const PRECISIONS: RangeInclusive<u32> = 4..=18;
/// Bits of the index in a token.
pub(crate) const TOKEN_PRECISION: u32 = 26;
const RANK_BITS: u32 = 6;

/// The greatest rank at a precision.
pub(crate) const fn max_rank(p: u32) -> u32 {
    65 - p
}

/// Register and rank of a hash.
#[inline(always)]
pub(crate) const fn split(hash: u64, p: u32) -> (u32, u32) {
    // The sentinel bit stands where the hash ends, so that a hash of zeros has the greatest rank.
    let rest = hash >> p | 1 << (64 - p);
    ((hash & ((1 << p) - 1)) as u32, rest.trailing_zeros() + 1)
}

/// The token of a hash.
#[inline(always)]
pub(crate) const fn token(hash: u64) -> u32 {
    let (idx26, rank) = split(hash, TOKEN_PRECISION);
    idx26 << RANK_BITS | rank
}

/// The index of a token. Tokens of one index differ in rank alone, so that they sort together.
#[inline(always)]
pub(crate) const fn token_index(token: u32) -> u32 {
    token >> RANK_BITS
}

/// Whether a word can be a token.
pub(crate) const fn is_token(token: u32) -> bool {
    let rank = token & ((1 << RANK_BITS) - 1);
    rank >= 1 && rank <= max_rank(TOKEN_PRECISION)
}

/// Register and rank of a token at a precision of at most 26.
#[inline(always)]
pub(crate) const fn expand(token: u32, p: u32) -> (u32, u32) {
    fold(token_index(token), token & ((1 << RANK_BITS) - 1), TOKEN_PRECISION, p)
}

/// Register and rank at a smaller precision. The bits that leave the index are the lowest of the rest.
#[inline(always)]
pub(crate) const fn fold(index: u32, rank: u32, from: u32, to: u32) -> (u32, u32) {
    let high = index >> to;
    let rank = if rank == 0 {
        0
    } else if high != 0 {
        high.trailing_zeros() + 1
    } else {
        rank + from - to
    };
    (index & ((1 << to) - 1), rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;

    /// A token and a fold give what the hash gives, at every precision.
    #[test]
    fn tokens_and_folds_agree_with_the_hash() {
        let hashes = (0..200_000).map(|i| KeyHash::mixed(i).raw());
        let sparse = (0..64).flat_map(|bit| [1u64 << bit, !0 << bit, 0, !0]);
        for hash in hashes.chain(sparse) {
            assert!(is_token(token(hash)));
            for to in PRECISIONS {
                assert_eq!(expand(token(hash), to), split(hash, to), "{hash:#x} {to}");
                for from in to..=18 {
                    let (index, rank) = split(hash, from);
                    assert_eq!(fold(index, rank, from, to), split(hash, to), "{hash:#x} {from} {to}");
                }
            }
        }
    }

    #[test]
    fn extreme_ranks() {
        for p in PRECISIONS {
            assert_eq!(split(0, p), (0, max_rank(p)));
            assert_eq!(split(u64::MAX, p), ((1 << p) - 1, 1));
        }
        for word in [0, 40, 41, 63] {
            assert!(!is_token(word));
        }
    }
}
