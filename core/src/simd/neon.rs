//! AArch64: NEON is part of the base instruction set. A block is four 128-bit registers.

use super::kernel::BlockOps;
use super::kernels;
use super::registers::{Group, RegisterOps};
use crate::bloom::probe::{PRIMARY, SALT, SECONDARY};
use core::arch::aarch64::*;

struct Neon;

kernels!(
    "neon",
    1,
    [target_feature(enable = "neon")],
    blocks = Neon,
    registers = Neon,
    survivors = super::registers::survivors
);

/// Two lanes of the block mask of a hash, from lane `2 * PAIR` on.
///
/// # Safety
/// NEON.
#[inline(always)]
unsafe fn mask<const C: u8, const PAIR: usize>(hash: u64, word: u64) -> uint64x2_t {
    // SAFETY: NEON by contract; the salts are eight readable words.
    unsafe {
        let product = vmull_u32(vdup_n_u32(hash as u32), vld1_u32(SALT.as_ptr().add(2 * PAIR)));
        let (one, positions) = (vdupq_n_u64(1), vdupq_n_u64(63));
        let primary = vreinterpretq_s64_u64(vandq_u64(vshrq_n_u64::<32>(product), positions));
        if C == EACH_LANE {
            return vshlq_u64(one, primary);
        }
        let used = |bit: u32| {
            let at = 16 * PAIR as i64 + i64::from(bit);
            let right = vcombine_s64(vdup_n_s64(-at), vdup_n_s64(-at - 8));
            vandq_u64(vshlq_u64(vdupq_n_u64(word), right), one)
        };
        let mask = vshlq_u64(used(PRIMARY.trailing_zeros()), primary);
        if C != SOME_LANES_TWICE {
            return mask;
        }
        let secondary = vreinterpretq_s64_u64(vandq_u64(vshrq_n_u64::<24>(product), positions));
        vorrq_u64(mask, vshlq_u64(used(SECONDARY.trailing_zeros()), secondary))
    }
}

/// # Safety
/// NEON; `PAIR` is below 4.
#[inline(always)]
unsafe fn load<const PAIR: usize>(block: &Block) -> uint64x2_t {
    // SAFETY: a block is 64 readable bytes; a load of bytes takes any alignment.
    unsafe { vreinterpretq_u64_u8(vld1q_u8(block.as_ptr().add(16 * PAIR))) }
}

/// # Safety
/// NEON; `PAIR` is below 4.
#[inline(always)]
unsafe fn raise<const C: u8, const PAIR: usize>(block: &mut Block, hash: u64, word: u64) {
    // SAFETY: a block is 64 writable bytes; a store of bytes takes any alignment.
    unsafe {
        let lanes = vorrq_u64(load::<PAIR>(block), mask::<C, PAIR>(hash, word));
        vst1q_u8(block.as_mut_ptr().add(16 * PAIR), vreinterpretq_u8_u64(lanes));
    }
}

impl BlockOps for Neon {
    #[inline(always)]
    unsafe fn contains<const C: u8>(block: &Block, hash: u64, word: u64) -> bool {
        // SAFETY: NEON by contract.
        unsafe {
            let low = vorrq_u64(
                vbicq_u64(mask::<C, 0>(hash, word), load::<0>(block)),
                vbicq_u64(mask::<C, 1>(hash, word), load::<1>(block)),
            );
            let high = vorrq_u64(
                vbicq_u64(mask::<C, 2>(hash, word), load::<2>(block)),
                vbicq_u64(mask::<C, 3>(hash, word), load::<3>(block)),
            );
            vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(low, high))) == 0
        }
    }

    #[inline(always)]
    unsafe fn insert<const C: u8>(block: &mut Block, hash: u64, word: u64) {
        // SAFETY: NEON by contract.
        unsafe {
            raise::<C, 0>(block, hash, word);
            raise::<C, 1>(block, hash, word);
            raise::<C, 2>(block, hash, word);
            raise::<C, 3>(block, hash, word);
        }
    }
}

/// `LD3` deals 48 bytes out to the first, second and third byte of 16 quadruples; each register then stands in the
/// high six bits of a byte, with bits of its neighbour below, which do not change which of two is greater.
impl RegisterOps for Neon {
    type Unpacked = [uint8x16_t; 4];

    #[inline(always)]
    unsafe fn load(group: &Group) -> [uint8x16_t; 4] {
        // SAFETY: NEON by contract; a group is 48 readable bytes.
        unsafe {
            let uint8x16x3_t(first, second, third) = vld3q_u8(group.as_ptr());
            [
                vshlq_n_u8::<2>(first),
                vsriq_n_u8::<4>(vshlq_n_u8::<4>(second), first),
                vsriq_n_u8::<2>(vshlq_n_u8::<6>(third), second),
                third,
            ]
        }
    }

    #[inline(always)]
    unsafe fn max(a: [uint8x16_t; 4], b: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        // SAFETY: NEON by contract.
        unsafe { [vmaxq_u8(a[0], b[0]), vmaxq_u8(a[1], b[1]), vmaxq_u8(a[2], b[2]), vmaxq_u8(a[3], b[3])] }
    }

    #[inline(always)]
    unsafe fn store(group: &mut Group, [a, b, c, d]: [uint8x16_t; 4]) {
        // SAFETY: NEON by contract; a group is 48 writable bytes.
        unsafe {
            let first = vsriq_n_u8::<2>(vshlq_n_u8::<4>(b), a);
            let second = vsriq_n_u8::<4>(vshlq_n_u8::<2>(c), b);
            let third = vsriq_n_u8::<6>(d, c);
            vst3q_u8(group.as_mut_ptr(), uint8x16x3_t(first, second, third));
        }
    }
}
