//! Any machine: `wide`'s types, which become whatever registers the build allows.

use super::kernel::BlockOps;
use super::kernels;
use crate::block::{lanes, store_lanes};
use crate::bloom::probe::{PRIMARY, SALT, SECONDARY};
use wide::{u32x4, u64x4};

struct Portable;

kernels!("portable", 0, Portable, [], contains_batch = kernel::contains_batch::<Portable, C>);

/// Four lanes of the block mask of a hash, from lane `4 * HALF` on.
#[inline(always)]
fn mask<const C: u8, const HALF: usize>(hash: u64, word: u64) -> u64x4 {
    let at = 4 * HALF;
    let salt = u32x4::new([SALT[at], SALT[at + 1], SALT[at + 2], SALT[at + 3]]);
    let product = u32x4::splat(hash as u32).widening_mul(salt);
    let positions = u64x4::splat(63);
    let shifts = |bit: u64| {
        let first = 8 * at as u64 + bit;
        u64x4::new([first, first + 8, first + 16, first + 24])
    };
    let used = |shifts: u64x4| (u64x4::splat(word) >> shifts) & u64x4::splat(1);
    let primary = (product >> 32u32) & positions;
    if C == EACH_LANE {
        return u64x4::splat(1) << primary;
    }
    let mask = used(shifts(PRIMARY.trailing_zeros().into())) << primary;
    if C != SOME_LANES_TWICE {
        return mask;
    }
    let secondary = (product >> 24u32) & positions;
    mask | used(shifts(SECONDARY.trailing_zeros().into())) << secondary
}

#[inline(always)]
fn halves(lanes: [u64; 8]) -> [u64x4; 2] {
    let [a, b, c, d, e, f, g, h] = lanes;
    [u64x4::new([a, b, c, d]), u64x4::new([e, f, g, h])]
}

impl BlockOps for Portable {
    #[inline(always)]
    unsafe fn contains<const C: u8>(block: &Block, hash: u64, word: u64) -> bool {
        let [low, high] = halves(lanes(block));
        let missing = (mask::<C, 0>(hash, word) & !low) | (mask::<C, 1>(hash, word) & !high);
        missing == u64x4::ZERO
    }

    #[inline(always)]
    unsafe fn insert<const C: u8>(block: &mut Block, hash: u64, word: u64) {
        let [low, high] = halves(lanes(block));
        let [a, b, c, d] = (low | mask::<C, 0>(hash, word)).to_array();
        let [e, f, g, h] = (high | mask::<C, 1>(hash, word)).to_array();
        store_lanes(block, [a, b, c, d, e, f, g, h]);
    }
}
