//! The C boundary: checks arguments, calls the core, converts the answer. No arithmetic lives here.
//!
//! | module | holds |
//! |---|---|
//! | `status` | status codes and their texts |
//! | `memory` | where a C array becomes a Rust slice; the allocator |
//! | `keys` | batches of keys as C describes them |
//! | `hash`, `simd` | hash functions, SIMD levels |
//! | `handle`, `life` | what is inside a handle; its life, the same for every kind |
//! | `bloom`, `bloom_batch`, `payload` | the Bloom filter |
//! | `hll` | HyperLogLog |
//! | `cms`, `topk` | Count-Min; its most frequent keys |
//!
//! `include/sketchline.h` is generated from these sources; a test compares the two.
#![cfg_attr(not(test), no_std)]
#![allow(non_camel_case_types, reason = "these are the names of the C API")]

pub mod bloom;
pub mod bloom_batch;
pub mod cms;
pub mod handle;
pub mod hash;
pub mod hll;
pub mod keys;
pub mod life;
pub mod memory;
pub mod payload;
pub mod simd;
pub mod status;
#[cfg(test)]
mod tests;
pub mod topk;

use core::ffi::c_char;

/// Major version: changes with the ABI.
pub const SKL_VERSION_MAJOR: u32 = 0;
/// Minor version: functions were added.
pub const SKL_VERSION_MINOR: u32 = 1;
/// Patch version.
pub const SKL_VERSION_PATCH: u32 = 0;
/// Major * 1,000,000 + minor * 1,000 + patch.
pub const SKL_VERSION_NUMBER: u32 = SKL_VERSION_MAJOR * 1000000 + SKL_VERSION_MINOR * 1000 + SKL_VERSION_PATCH;

/// The version of the library that is linked, as SKL_VERSION_NUMBER gives that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn skl_version_number() -> u32 {
    SKL_VERSION_NUMBER
}

/// The version of the library that is linked, as "major.minor.patch". Static, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn skl_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Nothing here can panic: `.ci/no-panic.sh` links the library with `--cfg prove_no_panic`, where the handler
/// calls a function that does not exist, so that a path that reaches it fails the link.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(prove_no_panic)]
    // SAFETY: never runs; the link fails first.
    unsafe {
        unsafe extern "C" {
            fn a_panic_can_be_reached() -> !;
        }
        a_panic_can_be_reached()
    }
    #[cfg(not(prove_no_panic))]
    // SAFETY: abort may be called at any time.
    unsafe {
        libc::abort()
    }
}
