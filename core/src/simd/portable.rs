//! Any machine: `wide`'s types, which become whatever registers the build allows.

use super::kernel::BlockOps;
use super::kernels;
use super::registers::{Group, RegisterOps};
use crate::block::{lanes, store_lanes};
use crate::bloom::probe::{PRIMARY, SALT, SECONDARY};
use wide::{u32x4, u64x4};

struct Portable;

kernels!("portable", 0, [], blocks = Portable, registers = Portable, survivors = super::registers::survivors);

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

/// Eight registers in the low 48 bits of each word.
impl RegisterOps for Portable {
    type Unpacked = [u64; 8];
    const AT_ONCE: usize = 1;

    #[inline(always)]
    unsafe fn load(group: &Group) -> [u64; 8] {
        let mut words = [0; 8];
        for (word, [a, b, c, d, e, f]) in words.iter_mut().zip(group.as_chunks::<6>().0) {
            *word = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, 0, 0]);
        }
        words
    }

    /// Every other register at a time, in fields of 12 bits: a borrow from the bit above tells which is greater.
    #[inline(always)]
    unsafe fn max(a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        const EVEN: u64 = 0x03f0_3f03_f03f;
        const ABOVE: u64 = 0x0400_4004_0040;
        let not_less = |a: u64, b: u64| {
            let kept = ((a | ABOVE) - b) & ABOVE;
            kept - (kept >> 6)
        };
        core::array::from_fn(|i| {
            let even = not_less(a[i] & EVEN, b[i] & EVEN);
            let odd = not_less(a[i] >> 6 & EVEN, b[i] >> 6 & EVEN);
            let from_a = even | odd << 6;
            a[i] & from_a | b[i] & !from_a
        })
    }

    #[inline(always)]
    unsafe fn store(group: &mut Group, registers: [u64; 8]) {
        for (bytes, word) in group.as_chunks_mut::<6>().0.iter_mut().zip(registers) {
            let [a, b, c, d, e, f, _, _] = word.to_le_bytes();
            *bytes = [a, b, c, d, e, f];
        }
    }
}
