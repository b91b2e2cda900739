//! AVX-512 with VBMI, BITALG and VPOPCNTDQ: one instruction looks up all candidate bits of a key.

use super::avx512::Avx512;
use crate::simd::kernels;

kernels!(
    "avx512vbmi", 4, Avx512,
    [target_feature(
        enable = "avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx512vpopcntdq"
    )],
    contains_batch = kernel::contains_batch::<Avx512, C>
);
