//! AVX2: a block is two 256-bit registers.

use crate::bloom::probe::{PRIMARY, SALT, SECONDARY};
use crate::simd::kernel::BlockOps;
use crate::simd::kernels;
use core::arch::x86_64::*;

struct Avx2;

kernels!(
    "avx2", 2, Avx2,
    [target_feature(enable = "avx2,bmi2,popcnt")],
    contains_batch = kernel::contains_batch::<Avx2, C>
);

/// Four lanes of the block mask of a hash, from lane `4 * HALF` on.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn mask<const C: u8, const HALF: usize>(hash: u64, word: u64) -> __m256i {
    // SAFETY: AVX2 by contract.
    unsafe {
        let salt = |i: usize| i64::from(SALT[4 * HALF + i]);
        let salts = _mm256_setr_epi64x(salt(0), salt(1), salt(2), salt(3));
        let product = _mm256_mul_epu32(_mm256_set1_epi64x(hash as i64), salts);
        let (one, positions) = (_mm256_set1_epi64x(1), _mm256_set1_epi64x(63));
        let primary = _mm256_and_si256(_mm256_srli_epi64::<32>(product), positions);
        if C == EACH_LANE {
            return _mm256_sllv_epi64(one, primary);
        }
        let word = _mm256_set1_epi64x(word as i64);
        let used = |bit: u32| {
            let at = |i: usize| 8 * (4 * HALF + i) as i64 + i64::from(bit);
            _mm256_and_si256(_mm256_srlv_epi64(word, _mm256_setr_epi64x(at(0), at(1), at(2), at(3))), one)
        };
        let mask = _mm256_sllv_epi64(used(PRIMARY.trailing_zeros()), primary);
        if C != SOME_LANES_TWICE {
            return mask;
        }
        let secondary = _mm256_and_si256(_mm256_srli_epi64::<24>(product), positions);
        _mm256_or_si256(mask, _mm256_sllv_epi64(used(SECONDARY.trailing_zeros()), secondary))
    }
}

impl BlockOps for Avx2 {
    #[inline(always)]
    unsafe fn contains<const C: u8>(block: &Block, hash: u64, word: u64) -> bool {
        let at = block.as_ptr().cast::<__m256i>();
        // SAFETY: AVX2 by contract; a block is 64 readable bytes, and the loads take any alignment.
        unsafe {
            let low = _mm256_andnot_si256(_mm256_loadu_si256(at), mask::<C, 0>(hash, word));
            let high = _mm256_andnot_si256(_mm256_loadu_si256(at.add(1)), mask::<C, 1>(hash, word));
            let missing = _mm256_or_si256(low, high);
            _mm256_testz_si256(missing, missing) != 0
        }
    }

    #[inline(always)]
    unsafe fn insert<const C: u8>(block: &mut Block, hash: u64, word: u64) {
        let at = block.as_mut_ptr().cast::<__m256i>();
        // SAFETY: AVX2 by contract; a block is 64 writable bytes, and the accesses take any alignment.
        unsafe {
            let low = _mm256_or_si256(_mm256_loadu_si256(at), mask::<C, 0>(hash, word));
            let high = _mm256_or_si256(_mm256_loadu_si256(at.add(1)), mask::<C, 1>(hash, word));
            _mm256_storeu_si256(at, low);
            _mm256_storeu_si256(at.add(1), high);
        }
    }
}
