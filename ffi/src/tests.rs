//! The generated header, and what Rust can check of the boundary better than C.

use crate::status::{skl_status, skl_status_string};
use std::ffi::CStr;
use std::string::{String, ToString};
use std::{env, fs, println, vec::Vec};

/// What cbindgen makes of these sources, with Rust's heading for preconditions put as C programmers say it.
fn generated_header() -> String {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let config = cbindgen::Config::from_root_or_default(manifest);
    let mut header = Vec::new();
    cbindgen::Builder::new().with_crate(manifest).with_config(config).generate().unwrap().write(&mut header);
    String::from_utf8(header).unwrap().replace("# Safety", "Requires:")
}

/// `include/sketchline.h` is what these sources generate. `SKETCHLINE_BLESS=1` writes it.
#[test]
fn header_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../include/sketchline.h");
    let header = generated_header();
    if env::var_os("SKETCHLINE_BLESS").is_some() {
        fs::write(path, &header).unwrap();
        println!("wrote {path}");
    }
    assert!(fs::read_to_string(path).unwrap() == header, "include/sketchline.h is stale: run `make header`");
}

#[test]
fn version_is_that_of_the_package() {
    let parts: Vec<u32> = env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse().unwrap()).collect();
    assert_eq!(parts, [crate::SKL_VERSION_MAJOR, crate::SKL_VERSION_MINOR, crate::SKL_VERSION_PATCH]);
    assert_eq!(crate::skl_version_number(), parts[0] * 1_000_000 + parts[1] * 1_000 + parts[2]);
    // SAFETY: a static string.
    let text = unsafe { CStr::from_ptr(crate::skl_version_string()) };
    assert_eq!(text.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}

/// Every error of the core has a number of its own, and every number a text of its own.
#[test]
fn statuses_are_distinct() {
    use sketchline::Error::*;
    let errors = [
        InvalidArgument,
        Unreachable,
        TooLarge,
        OutOfMemory,
        BufferTooSmall,
        WrongLength,
        BadMagic,
        UnsupportedVersion,
        WrongKind,
        UnknownFlag,
        UnknownHash,
        BadParameter,
        Unsealed,
        HeaderChecksum,
        PayloadChecksum,
        Incompatible,
        CallerHash,
        BadKeys,
        NoHeader,
        UnsupportedLevel,
        BadPayload,
        NeedSpace,
    ];
    let mut numbers: Vec<i32> = errors.iter().map(|error| skl_status::from(*error) as i32).collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), errors.len());

    // SAFETY: a static string.
    let text = |status: i32| unsafe { CStr::from_ptr(skl_status_string(status)) }.to_str().unwrap().to_string();
    let mut texts: Vec<String> = (-26..=1).map(text).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 28);
    assert!(!texts.contains(&text(-27)));
    assert_eq!(text(-27), text(i32::MIN));
}

/// Pointer and length of a key that is NULL in the sense of SQL are whatever the engine has there.
#[test]
fn pointers_of_invalid_keys_are_not_followed() {
    use crate::keys::{skl_keys, skl_keys_kind};
    let keys = [b"alice".as_ptr(), core::ptr::dangling(), b"bob".as_ptr()];
    let lens = [5, usize::MAX, 3];
    let mut batch = skl_keys {
        kind: skl_keys_kind::SKL_KEYS_POINTERS as u32,
        reserved: 0,
        n: 3,
        data: keys.as_ptr().cast(),
        data_len: 0,
        offsets: lens.as_ptr().cast(),
        validity: [0b101u8].as_ptr(),
    };
    let mut hashes = [0; 3];
    // SAFETY: the arrays live to the end of the test.
    unsafe {
        assert_eq!(crate::hash::skl_hash_batch(&batch, 7, hashes.as_mut_ptr()), skl_status::SKL_OK);
        batch.validity = core::ptr::null();
        assert_eq!(crate::hash::skl_hash_batch(&batch, 7, hashes.as_mut_ptr()), skl_status::SKL_ERR_KEYS);
    }
    let hash = |key: &[u8]| sketchline::KeyHash::of(key, 7).raw();
    assert_eq!(hashes, [hash(b"alice"), hash(b""), hash(b"bob")]);
}
