//! SIMD levels: read, lower.

use crate::status::skl_status::{self, *};
use core::ffi::{c_char, c_int};
use sketchline::Isa;
use skl_simd::*;

/// The SIMD levels. A machine has some of them; answers and images do not depend on the level.
#[repr(i32)]
pub enum skl_simd {
    /// Any machine.
    SKL_SIMD_PORTABLE = 0,
    /// AArch64.
    SKL_SIMD_NEON = 1,
    /// x86-64 with AVX2, BMI2 and POPCNT.
    SKL_SIMD_AVX2 = 2,
    /// x86-64 with AVX-512 F, BW, DQ and VL.
    SKL_SIMD_AVX512 = 3,
    /// x86-64 with AVX-512 VBMI, BITALG and VPOPCNTDQ too.
    SKL_SIMD_AVX512VBMI = 4,
}

/// The level that new handles get: the fastest of this machine, unless skl_simd_set_level chose another.
#[unsafe(no_mangle)]
pub extern "C" fn skl_simd_level() -> c_int {
    c_int::from(Isa::default_for_new().level())
}

/// The fastest level of this machine.
#[unsafe(no_mangle)]
pub extern "C" fn skl_simd_detected() -> c_int {
    c_int::from(Isa::detect().level())
}

/// Chooses the level that new handles get, in the whole process: SKL_ERR_SIMD if the number is unknown or
/// this machine does not have the level. May run at any time; handles keep the level they were made with.
#[unsafe(no_mangle)]
pub extern "C" fn skl_simd_set_level(level: c_int) -> skl_status {
    match isa(level) {
        Ok(isa) => {
            isa.make_default();
            SKL_OK
        }
        Err(status) => status,
    }
}

/// The name of a level ("avx2"), or "unknown". Static, never NULL, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn skl_simd_name(level: c_int) -> *const c_char {
    const PORTABLE: c_int = SKL_SIMD_PORTABLE as c_int;
    const NEON: c_int = SKL_SIMD_NEON as c_int;
    const AVX2: c_int = SKL_SIMD_AVX2 as c_int;
    const AVX512: c_int = SKL_SIMD_AVX512 as c_int;
    const AVX512VBMI: c_int = SKL_SIMD_AVX512VBMI as c_int;
    let name = match level {
        PORTABLE => c"portable",
        NEON => c"neon",
        AVX2 => c"avx2",
        AVX512 => c"avx512",
        AVX512VBMI => c"avx512vbmi",
        _ => c"unknown",
    };
    name.as_ptr()
}

pub(crate) fn isa(level: c_int) -> Result<Isa, skl_status> {
    let level = u8::try_from(level).map_err(|_| SKL_ERR_SIMD)?;
    Isa::from_level(level).map_err(skl_status::from)
}
