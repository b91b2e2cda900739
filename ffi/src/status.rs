//! Status codes, numbered by hand and never renumbered.

use core::ffi::{c_char, c_int};
use sketchline::Error;

/// What a function answers. Errors are negative; a number is never reused.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum skl_status {
    /// Done.
    SKL_OK = 0,
    /// Done; but a count stands at the greatest value of its counter, and may be too low. Not an error.
    SKL_SATURATED = 1,
    /// A pointer is NULL that must not be.
    SKL_ERR_NULL = -1,
    /// A parameter is outside its documented range.
    SKL_ERR_ARGUMENT = -2,
    /// No filter of this layout reaches the requested false-positive rate.
    SKL_ERR_UNREACHABLE = -3,
    /// The size would exceed what the format or the address space allows.
    SKL_ERR_TOO_LARGE = -4,
    /// The allocator returned NULL.
    SKL_ERR_NO_MEMORY = -5,
    /// A buffer is shorter than required.
    SKL_ERR_NO_SPACE = -6,
    /// The handle was never filled, or was freed.
    SKL_ERR_HANDLE = -7,
    /// The handle is a read-only view.
    SKL_ERR_READ_ONLY = -8,
    /// An array is not aligned as its element type asks.
    SKL_ERR_ALIGNMENT = -9,
    /// The length does not match the image.
    SKL_ERR_LENGTH = -10,
    /// The bytes are not a Sketchline image.
    SKL_ERR_MAGIC = -11,
    /// The image has an unknown format version.
    SKL_ERR_VERSION = -12,
    /// The image holds another kind of sketch.
    SKL_ERR_KIND = -13,
    /// An unknown flag or a non-zero reserved byte in the image.
    SKL_ERR_FLAG = -14,
    /// An unknown hash id.
    SKL_ERR_HASH = -15,
    /// An impossible parameter in the image.
    SKL_ERR_PARAMETER = -16,
    /// The image is not sealed.
    SKL_ERR_UNSEALED = -17,
    /// The header does not match its checksum.
    SKL_ERR_HEADER_CHECKSUM = -18,
    /// The payload does not match its checksum.
    SKL_ERR_PAYLOAD_CHECKSUM = -19,
    /// The sketches differ in size, parameters, hash or seed.
    SKL_ERR_INCOMPATIBLE = -20,
    /// The sketch holds the caller's hashes, so it takes hashes and not keys.
    SKL_ERR_CALLER_HASH = -21,
    /// The batch of keys contradicts itself.
    SKL_ERR_KEYS = -22,
    /// This machine does not have the SIMD level.
    SKL_ERR_SIMD = -23,
    /// A bare payload has no header.
    SKL_ERR_NO_HEADER = -24,
    /// The payload holds values that no sketch writes.
    SKL_ERR_PAYLOAD = -25,
    /// The sketch has outgrown its memory.
    SKL_ERR_NEED_SPACE = -26,
}

use skl_status::*;

impl From<Error> for skl_status {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidArgument => SKL_ERR_ARGUMENT,
            Error::Unreachable => SKL_ERR_UNREACHABLE,
            Error::TooLarge => SKL_ERR_TOO_LARGE,
            Error::OutOfMemory => SKL_ERR_NO_MEMORY,
            Error::BufferTooSmall => SKL_ERR_NO_SPACE,
            Error::WrongLength => SKL_ERR_LENGTH,
            Error::BadMagic => SKL_ERR_MAGIC,
            Error::UnsupportedVersion => SKL_ERR_VERSION,
            Error::WrongKind => SKL_ERR_KIND,
            Error::UnknownFlag => SKL_ERR_FLAG,
            Error::UnknownHash => SKL_ERR_HASH,
            Error::BadParameter => SKL_ERR_PARAMETER,
            Error::Unsealed => SKL_ERR_UNSEALED,
            Error::HeaderChecksum => SKL_ERR_HEADER_CHECKSUM,
            Error::PayloadChecksum => SKL_ERR_PAYLOAD_CHECKSUM,
            Error::Incompatible => SKL_ERR_INCOMPATIBLE,
            Error::CallerHash => SKL_ERR_CALLER_HASH,
            Error::BadKeys => SKL_ERR_KEYS,
            Error::UnsupportedLevel => SKL_ERR_SIMD,
            Error::NoHeader => SKL_ERR_NO_HEADER,
            Error::BadPayload => SKL_ERR_PAYLOAD,
            Error::NeedSpace => SKL_ERR_NEED_SPACE,
            // `Error` may grow; a new variant gets a number here first, and a test walks them all.
            _ => SKL_ERR_ARGUMENT,
        }
    }
}

impl From<Result<(), skl_status>> for skl_status {
    fn from(result: Result<(), skl_status>) -> Self {
        match result {
            Ok(()) => SKL_OK,
            Err(status) => status,
        }
    }
}

/// One English sentence for a status, or "unknown status". Static, never NULL, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn skl_status_string(status: c_int) -> *const c_char {
    let text = match status {
        0 => c"ok",
        1 => c"done, but a count stands at the greatest value of its counter and may be too low",
        -1 => c"a pointer is NULL that must not be",
        -2 => c"a parameter is outside its documented range",
        -3 => c"no filter of this layout reaches the requested false-positive rate",
        -4 => c"the size would exceed what the format or the address space allows",
        -5 => c"out of memory",
        -6 => c"the buffer is shorter than required",
        -7 => c"the handle was never filled, or was freed",
        -8 => c"the handle is a read-only view",
        -9 => c"an array is not aligned as its element type asks",
        -10 => c"the length does not match the image",
        -11 => c"not a Sketchline image",
        -12 => c"unknown image format version",
        -13 => c"the image holds another kind of sketch",
        -14 => c"unknown flag or non-zero reserved byte in the image",
        -15 => c"unknown hash id",
        -16 => c"impossible parameter in the image",
        -17 => c"the image is not sealed",
        -18 => c"the header does not match its checksum",
        -19 => c"the payload does not match its checksum",
        -20 => c"the sketches differ in size, parameters, hash or seed",
        -21 => c"the sketch holds the caller's hashes, so it takes hashes and not keys",
        -22 => c"the batch of keys contradicts itself",
        -23 => c"this machine does not have the SIMD level",
        -24 => c"a bare payload has no header",
        -25 => c"the payload holds values that no sketch writes",
        -26 => c"the sketch has outgrown its memory",
        _ => c"unknown status",
    };
    text.as_ptr()
}
