//! AVX-512 (F, BW, DQ, VL): a block is one register.

use crate::bloom::probe::SALT;
use crate::simd::kernel::BlockOps;
use crate::simd::{kernels, registers};
use core::arch::x86_64::*;

pub(super) struct Avx512;

kernels!(
    "avx512",
    3,
    [target_feature(enable = "avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")],
    blocks = Avx512,
    registers = super::avx2::Avx2,
    survivors = survivors
);

/// The eight products `x_i` of a hash.
///
/// # Safety
/// AVX-512F.
#[inline(always)]
pub(super) unsafe fn products(hash: u64) -> __m512i {
    const SALTS: [u64; 8] = {
        let mut salts = [0; 8];
        let mut i = 0;
        while i < 8 {
            salts[i] = SALT[i] as u64;
            i += 1;
        }
        salts
    };
    // SAFETY: AVX-512F by contract; the salts are 64 readable bytes.
    unsafe { _mm512_mul_epu32(_mm512_set1_epi64(hash as i64), _mm512_loadu_si512(SALTS.as_ptr().cast())) }
}

/// The lanes whose byte of the pattern word has this bit.
///
/// # Safety
/// AVX-512F.
#[inline(always)]
unsafe fn used(word: u64, bit: u32) -> __mmask8 {
    let at = |lane: u32| 1i64 << (8 * lane + bit);
    // SAFETY: AVX-512F by contract.
    unsafe {
        let lanes = _mm512_setr_epi64(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
        _mm512_test_epi64_mask(_mm512_set1_epi64(word as i64), lanes)
    }
}

/// Bits of a pattern byte, as `bloom::probe` draws them.
const PRIMARY_BIT: u32 = 4;
const SECONDARY_BIT: u32 = 3;

impl BlockOps for Avx512 {
    /// Turns each lane until the bit in question is bit 0. `vptestnmq` leaves the lanes where it is missing,
    /// and `kortest` the answer; comparing `lane | !mask` with all ones costs 25 % more.
    #[inline(always)]
    unsafe fn contains<const C: u8>(block: &Block, hash: u64, word: u64) -> bool {
        // SAFETY: AVX-512F by contract; a block is 64 readable bytes, and the load takes any alignment.
        unsafe {
            let lanes = _mm512_loadu_si512(block.as_ptr().cast());
            let product = products(hash);
            let one = _mm512_set1_epi64(1);
            let primary = _mm512_rorv_epi64(lanes, _mm512_srli_epi64::<32>(product));
            if C != EACH_LANE && C != SOME_LANES_TWICE {
                return _mm512_mask_testn_epi64_mask(used(word, PRIMARY_BIT), primary, one) == 0;
            }
            let missing = _mm512_testn_epi64_mask(primary, one);
            if C == EACH_LANE {
                return missing == 0;
            }
            let secondary = _mm512_rorv_epi64(lanes, _mm512_srli_epi64::<24>(product));
            missing | _mm512_mask_testn_epi64_mask(used(word, SECONDARY_BIT), secondary, one) == 0
        }
    }

    #[inline(always)]
    unsafe fn insert<const C: u8>(block: &mut Block, hash: u64, word: u64) {
        let at = block.as_mut_ptr();
        // SAFETY: AVX-512F by contract; a block is 64 writable bytes, and the accesses take any alignment.
        unsafe {
            let lanes = _mm512_loadu_si512(at.cast());
            let product = products(hash);
            let one = _mm512_set1_epi64(1);
            let primary = _mm512_rolv_epi64(one, _mm512_srli_epi64::<32>(product));
            let lanes = match C {
                EACH_LANE | SOME_LANES_TWICE => _mm512_or_si512(lanes, primary),
                _ => _mm512_mask_or_epi64(lanes, used(word, PRIMARY_BIT), lanes, primary),
            };
            let lanes = match C {
                SOME_LANES_TWICE => {
                    let secondary = _mm512_rolv_epi64(one, _mm512_srli_epi64::<24>(product));
                    _mm512_mask_or_epi64(lanes, used(word, SECONDARY_BIT), lanes, secondary)
                }
                _ => lanes,
            };
            _mm512_storeu_si512(at.cast(), lanes);
        }
    }
}

/// [`registers::survivors`] eight at a time.
///
/// # Safety
/// The caller enables the features.
#[inline(always)]
pub(super) unsafe fn survivors(hashes: &[u64], mask: u64, out: &mut [u64]) -> usize {
    let (eights, rest) = hashes.as_chunks::<8>();
    if out.len() < hashes.len() {
        return registers::survivors(hashes, mask, out);
    }
    let mut len = 0;
    for eight in eights {
        // SAFETY: AVX-512F by contract. Of `out`, which is as long as the hashes, eight words from `len` on are
        // writable, since `len` counts some of the hashes before this eight.
        unsafe {
            let hashes = _mm512_loadu_si512(eight.as_ptr().cast());
            let kept = _mm512_testn_epi64_mask(hashes, _mm512_set1_epi64(mask as i64));
            _mm512_storeu_si512(out.as_mut_ptr().add(len).cast(), _mm512_maskz_compress_epi64(kept, hashes));
            len += kept.count_ones() as usize;
        }
    }
    len + registers::survivors(rest, mask, out.get_mut(len..).unwrap_or(&mut []))
}
