//! AVX-512 with VBMI, BITALG and VPOPCNTDQ: one instruction looks up all candidate bits of a key.

use super::avx512::{self, products};
use crate::block::{BLOCK_BYTES, Block};
use crate::bloom::probe::{PRIMARY, Pattern};
use crate::simd::registers::{self, Group, MANY, RegisterOps};
use crate::simd::{EACH_LANE, Kernels, Occupancy, SOME_LANES, SOME_LANES_TWICE, kernel, prefetch_read};
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

macro_rules! enabled {
    ($($function:item)*) => {
        $(
            #[target_feature(
                enable = "avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx512vpopcntdq"
            )]
            $function
        )*
    };
}

enabled! {
    fn contains_batch<const C: u8>(blocks: &[Block], pattern: &Pattern, hashes: &[u64], out: &mut [u64]) {
        // SAFETY: this function enables the features; there is a block and `out` has a bit per hash by contract.
        unsafe { look_up_batch::<C>(blocks, pattern, hashes, out) }
    }

    fn occupancy(blocks: &[Block], histogram: &mut Occupancy) {
        kernel::occupancy(blocks, histogram)
    }

    fn merge_registers(target: &mut [u8], source: &[u8]) {
        // SAFETY: this function enables the features of `Vbmi`.
        unsafe { registers::merge::<Vbmi>(target, source) }
    }

    fn merge_many_registers(target: &mut [u8], sources: &[&[u8]; MANY]) {
        // SAFETY: as above; every source is as long as the target by contract.
        unsafe { registers::merge_many::<Vbmi>(target, sources) }
    }
}

/// What VBMI and its kin do not help is that of AVX-512.
pub(in crate::simd) static KERNELS: Kernels = Kernels {
    name: "avx512vbmi",
    level: 4,
    bloom: {
        let mut classes = avx512::TABLE.bloom;
        classes[SOME_LANES as usize].contains_batch = contains_batch::<SOME_LANES>;
        classes[EACH_LANE as usize].contains_batch = contains_batch::<EACH_LANE>;
        classes[SOME_LANES_TWICE as usize].contains_batch = contains_batch::<SOME_LANES_TWICE>;
        classes
    },
    occupancy,
    merge_registers,
    merge_many_registers,
    ..avx512::TABLE
};

/// Keys of a bitmap word.
const WORD: usize = 64;
/// Keys of a register.
const GROUP: usize = 8;

/// Byte offsets of blocks, for the keys between the one that is looked up and the one that is prefetched.
#[repr(align(64))]
struct Ring(#[allow(dead_code, reason = "its place is used")] [u64; RING]);
const RING: usize = 512;
const _: () = assert!(kernel::FARTHEST + GROUP <= RING);

/// The answers of 64 keys, before the test.
#[repr(align(64))]
struct Found(#[allow(dead_code, reason = "its place is used")] [u64; WORD]);

/// By hand, since a key costs less this way than the few instructions that any common form has around it:
/// the offsets of eight keys and the tests of eight answers are one instruction each, and `vpshufbitqmb`
/// leaves a key's 64 candidate bits in a mask register without a shift. Against the common form over the
/// same registers: see `benches/results`.
///
/// # Safety
/// The caller enables the features; there is a block; `out` has a bit per hash.
#[inline(always)]
unsafe fn look_up_batch<const C: u8>(blocks: &[Block], pattern: &Pattern, hashes: &[u64], out: &mut [u64]) {
    let (words, tail) = hashes.as_chunks::<WORD>();
    let hashes = words.as_flattened();
    let Some((out, last)) = out.split_at_mut_checked(words.len()) else { return };
    // SAFETY: the caller's contract; every slice of hashes is whole words long, and `out` as many words.
    unsafe {
        match kernel::look_ahead(blocks) {
            0 => look_up_words::<C, false>(blocks, pattern, hashes, out, 0),
            distance => look_up_words::<C, true>(blocks, pattern, hashes, out, distance),
        }
        if let ([_, ..], Some(last)) = (tail, last.first_mut()) {
            let mut padded = [0; WORD];
            for (slot, hash) in padded.iter_mut().zip(tail) {
                *slot = *hash;
            }
            look_up_words::<C, false>(blocks, pattern, &padded, core::slice::from_mut(last), 0);
            *last &= (1 << tail.len()) - 1;
        }
    }
}

/// # Safety
/// As `look_up_batch`; the hashes are whole words, the distance whole groups.
#[inline(always)]
unsafe fn look_up_words<const C: u8, const AHEAD: bool>(
    blocks: &[Block],
    pattern: &Pattern,
    hashes: &[u64],
    out: &mut [u64],
    distance: usize,
) {
    if hashes.len() < WORD {
        return;
    }
    // Not zeroed: that would cost a small batch more than its look-ups.
    let mut ring = MaybeUninit::<Ring>::uninit();
    let ring = ring.as_mut_ptr().cast::<u64>();
    let mut found = MaybeUninit::<Found>::uninit();
    let found = found.as_mut_ptr().cast::<u64>();
    let base = blocks.as_ptr().cast::<u8>();
    let num_blocks = blocks.len() as u64;
    // SAFETY: the features, by contract. Groups of hashes start at most at `len - 8`, of at least 64 (checked), so
    // that every load is inside. Slots of the ring and of `found` are below their lengths, and written before they
    // are read. An offset is that of a block.
    unsafe {
        let group = |at: usize| _mm512_loadu_si512(hashes.as_ptr().add(at.min(hashes.len() - GROUP)).cast());
        let offsets = |at: usize| {
            _mm512_store_si512(ring.add(at % RING).cast(), block_offsets(group(at), num_blocks));
        };
        if AHEAD {
            for at in (0..distance).step_by(GROUP) {
                offsets(at);
                for i in at..at + GROUP {
                    prefetch_read(base.add(*ring.add(i) as usize).cast());
                }
            }
        }
        for (word, out) in out.iter_mut().enumerate() {
            let first = word * WORD;
            for at in (first..first + WORD).step_by(GROUP) {
                offsets(at + distance);
                let (now, next) = (ring.add(at % RING), ring.add((at + distance) % RING));
                for i in 0..GROUP {
                    let block = base.add(*now.add(i) as usize);
                    let lanes = _mm512_loadu_si512(block.cast());
                    let bits = _mm512_bitshuffle_epi64_mask(lanes, products(*hashes.get_unchecked(at + i)));
                    *found.add(at - first + i) = bits;
                    if AHEAD {
                        prefetch_read(base.add(*next.add(i) as usize).cast());
                    }
                }
            }
            *out = 0;
            for at in (0..WORD).step_by(GROUP) {
                let bits = _mm512_load_si512(found.add(at).cast());
                let missing = _mm512_andnot_si512(bits, pattern_words::<C>(pattern, group(first + at)));
                *out |= u64::from(_mm512_testn_epi64_mask(missing, missing)) << at;
            }
        }
    }
}

/// Where the blocks of eight hashes start, in bytes.
///
/// # Safety
/// AVX-512F.
#[inline(always)]
unsafe fn block_offsets(hashes: __m512i, num_blocks: u64) -> __m512i {
    // SAFETY: AVX-512F by contract.
    unsafe {
        let scaled = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hashes), _mm512_set1_epi64(num_blocks as i64));
        _mm512_and_si512(_mm512_srli_epi64::<26>(scaled), _mm512_set1_epi64(-(BLOCK_BYTES as i64)))
    }
}

/// [`Pattern::word`] of eight hashes.
///
/// # Safety
/// AVX-512F.
#[inline(always)]
unsafe fn pattern_words<const C: u8>(pattern: &Pattern, hashes: __m512i) -> __m512i {
    // SAFETY: AVX-512F by contract; a pattern is 64 aligned bytes.
    unsafe {
        if C == EACH_LANE {
            return _mm512_set1_epi64(PRIMARY as i64);
        }
        let words = _mm512_load_si512(pattern.0.as_ptr().cast());
        let turn = _mm512_and_si512(hashes, _mm512_set1_epi64(56));
        _mm512_rolv_epi64(_mm512_permutexvar_epi64(hashes, words), turn)
    }
}

/// The registers of this level.
struct Vbmi;

/// All but the last 16 bytes of a register: a group.
const GROUP_MASK: u64 = (1 << registers::GROUP) - 1;

/// Each register in the high six bits of a byte, with bits of its neighbour below, which do not change which of
/// two is greater.
impl RegisterOps for Vbmi {
    type Unpacked = __m512i;

    /// `vpermb` gives each eight registers a word of their own, 48 bits from bit 8 on; `vpmultishiftqb` takes eight
    /// bytes of it, from two bits below each register.
    #[inline(always)]
    unsafe fn load(group: &Group) -> __m512i {
        const BYTES: [u8; 64] = {
            let mut bytes = [0; 64];
            let mut i = 0;
            while i < 64 {
                if i % 8 >= 1 && i % 8 <= 6 {
                    bytes[i] = (i / 8 * 6 + i % 8 - 1) as u8;
                }
                i += 1;
            }
            bytes
        };
        const SHIFTS: [u8; 64] = {
            let mut shifts = [0; 64];
            let mut i = 0;
            while i < 64 {
                shifts[i] = (6 + 6 * (i % 8)) as u8;
                i += 1;
            }
            shifts
        };
        // SAFETY: VBMI and BW by contract; a masked load of the 48 bytes of a group touches no others.
        unsafe {
            let packed = _mm512_maskz_loadu_epi8(GROUP_MASK, group.as_ptr().cast());
            let words = _mm512_permutexvar_epi8(_mm512_loadu_si512(BYTES.as_ptr().cast()), packed);
            _mm512_multishift_epi64_epi8(_mm512_loadu_si512(SHIFTS.as_ptr().cast()), words)
        }
    }

    #[inline(always)]
    unsafe fn max(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: AVX-512BW by contract.
        unsafe { _mm512_max_epu8(a, b) }
    }

    /// Pairs, then quadruples, by multiply and add; `vpermb` moves the three bytes of each together. Two plain stores, of
    /// 32 and 16 bytes, cost 5 % more than the masked one (Zen 5).
    #[inline(always)]
    unsafe fn store(group: &mut Group, registers: __m512i) {
        const BYTES: [u8; 64] = {
            let mut bytes = [0; 64];
            let mut i = 0;
            while i < registers::GROUP {
                bytes[i] = (i / 3 * 4 + i % 3) as u8;
                i += 1;
            }
            bytes
        };
        // SAFETY: VBMI and BW by contract; a masked store of the 48 bytes of a group touches no others.
        unsafe {
            let clean = _mm512_and_si512(registers, _mm512_set1_epi8(0xfc_u8 as i8));
            let pairs = _mm512_maddubs_epi16(clean, _mm512_set1_epi16(64 << 8 | 1));
            let quadruples = _mm512_madd_epi16(pairs, _mm512_set1_epi32(4096 << 16 | 1));
            let values = _mm512_srli_epi32::<2>(quadruples);
            let packed = _mm512_permutexvar_epi8(_mm512_loadu_si512(BYTES.as_ptr().cast()), values);
            _mm512_mask_storeu_epi8(group.as_mut_ptr().cast(), GROUP_MASK, packed);
        }
    }
}
