//! AVX2: a block is two 256-bit registers.

use crate::bloom::probe::{PRIMARY, SALT, SECONDARY};
use crate::simd::kernel::BlockOps;
use crate::simd::kernels;
use crate::simd::registers::{Group, RegisterOps};
use core::arch::x86_64::*;

pub(super) struct Avx2;

kernels!(
    "avx2",
    2,
    [target_feature(enable = "avx2,bmi2,popcnt")],
    blocks = Avx2,
    registers = Avx2,
    survivors = crate::simd::registers::survivors
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

/// 24 bytes, 32 registers, as words of 16 bits with a register in the high six bits of each and bits of its
/// neighbours below, which do not change which of two is greater. Words `2 j` and `2 j + 1` belong to the `j`-th
/// quadruple: registers 1 and 3 of each in `odd`, 0 and 2 in `even`.
#[derive(Clone, Copy)]
pub(super) struct Half {
    odd: __m256i,
    even: __m256i,
}

/// # Safety
/// AVX2; 24 readable bytes at `at`.
#[inline(always)]
unsafe fn load_half(at: *const u8) -> Half {
    // SAFETY: AVX2 by contract; two loads of 16 bytes, at 0 and 8 of 24.
    unsafe {
        // Twelve bytes for each half of the register: the low half has them at 0, the high half at 4.
        let bytes = _mm256_set_m128i(_mm_loadu_si128(at.add(8).cast()), _mm_loadu_si128(at.cast()));
        let words = _mm256_shuffle_epi8(
            bytes,
            _mm256_setr_epi8(
                0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, //
                4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15,
            ),
        );
        // A multiplication is a shift by another count in every other word.
        let shift = |low: i32, high: i32| _mm256_set1_epi32(high << 16 | low);
        Half {
            odd: _mm256_mullo_epi16(words, shift(1 << 4, 1)),
            even: _mm256_mullo_epi16(words, shift(1 << 10, 1 << 6)),
        }
    }
}

/// # Safety
/// AVX2; 24 writable bytes at `at`.
#[inline(always)]
unsafe fn store_half(at: *mut u8, half: Half) {
    // SAFETY: AVX2 by contract; stores of 16, 8 and 4 bytes, at 0, 12 and 20 of 24.
    unsafe {
        let odd = _mm256_and_si256(_mm256_srli_epi16::<4>(half.odd), _mm256_set1_epi16(0x0fc0));
        let pairs = _mm256_or_si256(odd, _mm256_srli_epi16::<10>(half.even));
        // Two pairs of 12 bits side by side: low + high * 4096.
        let quadruples = _mm256_madd_epi16(pairs, _mm256_set1_epi32(4096 << 16 | 1));
        let bytes = _mm256_shuffle_epi8(
            quadruples,
            _mm256_setr_epi8(
                0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, //
                0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
            ),
        );
        let high = _mm256_extracti128_si256::<1>(bytes);
        _mm_storeu_si128(at.cast(), _mm256_castsi256_si128(bytes));
        _mm_storel_epi64(at.add(12).cast(), high);
        at.add(20).cast::<i32>().write_unaligned(_mm_extract_epi32::<2>(high));
    }
}

impl RegisterOps for Avx2 {
    type Unpacked = [Half; 2];

    #[inline(always)]
    unsafe fn load(group: &Group) -> [Half; 2] {
        // SAFETY: AVX2 by contract; a group is twice 24 readable bytes.
        unsafe { [load_half(group.as_ptr()), load_half(group.as_ptr().add(24))] }
    }

    #[inline(always)]
    unsafe fn max(a: [Half; 2], b: [Half; 2]) -> [Half; 2] {
        // SAFETY: AVX2 by contract.
        let max = |a: Half, b: Half| unsafe {
            Half { odd: _mm256_max_epu16(a.odd, b.odd), even: _mm256_max_epu16(a.even, b.even) }
        };
        [max(a[0], b[0]), max(a[1], b[1])]
    }

    #[inline(always)]
    unsafe fn store(group: &mut Group, [low, high]: [Half; 2]) {
        // SAFETY: AVX2 by contract; a group is twice 24 writable bytes.
        unsafe {
            store_half(group.as_mut_ptr(), low);
            store_half(group.as_mut_ptr().add(24), high);
        }
    }
}
