//! The one error type. Every variant names what was wrong, so that a host can log it as it is.

use core::fmt;

/// Why a request was refused. Whatever returns an error has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its documented range (an FPR that is not in (0, 1), zero blocks, 17 probes, ...).
    InvalidArgument,
    /// No filter of this layout reaches the FPR that was asked for.
    Unreachable,
    /// The sketch would be larger than the format or the address space allows.
    TooLarge,
    /// The allocator had no memory.
    OutOfMemory,
    /// A buffer is shorter than the operation needs.
    BufferTooSmall,
    /// The bytes end before the image does, or go on after it.
    WrongLength,
    /// The bytes do not start with `SKLN`.
    BadMagic,
    /// The image is of a format version this build does not know.
    UnsupportedVersion,
    /// The image holds another kind of sketch.
    WrongKind,
    /// A flag is set that this build does not know, or a reserved byte is not zero.
    UnknownFlag,
    /// The hash id is unknown, or not one this kind of sketch can use.
    UnknownHash,
    /// A parameter in the image is impossible.
    BadParameter,
    /// The image was never sealed, and the caller did not allow that.
    Unsealed,
    /// The header does not match its checksum.
    HeaderChecksum,
    /// The payload does not match its checksum.
    PayloadChecksum,
    /// The payload holds values that no sketch writes: a register above its greatest rank, tokens out of order.
    BadPayload,
    /// The sketch has outgrown the memory it was given. Move it to more (it says how much), and go on.
    NeedSpace,
    /// Two sketches differ in size, parameters, hash or seed.
    Incompatible,
    /// The sketch holds the caller's own hashes: only the hash calls make sense on it.
    CallerHash,
    /// A batch of keys contradicts itself: offsets that decrease or leave the bytes, a selection index past the end.
    BadKeys,
    /// The filter is a bare payload: there is no header to seal.
    NoHeader,
    /// The machine does not have this SIMD level.
    UnsupportedLevel,
}

impl Error {
    /// One English sentence, without a full stop.
    pub const fn message(self) -> &'static str {
        match self {
            Error::InvalidArgument => "a parameter is outside its documented range",
            Error::Unreachable => "no filter of this layout reaches the requested false-positive rate",
            Error::TooLarge => "the sketch would exceed what the format or the address space allows",
            Error::OutOfMemory => "out of memory",
            Error::BufferTooSmall => "the buffer is shorter than required",
            Error::WrongLength => "the length does not match the image",
            Error::BadMagic => "not a Sketchline image",
            Error::UnsupportedVersion => "unknown image format version",
            Error::WrongKind => "the image holds another kind of sketch",
            Error::UnknownFlag => "unknown flag or non-zero reserved byte in the image",
            Error::UnknownHash => "unknown hash id in the image",
            Error::BadParameter => "impossible parameter in the image",
            Error::Unsealed => "the image is not sealed",
            Error::HeaderChecksum => "the header does not match its checksum",
            Error::PayloadChecksum => "the payload does not match its checksum",
            Error::BadPayload => "the payload holds values that no sketch writes",
            Error::NeedSpace => "the sketch has outgrown its memory",
            Error::Incompatible => "the sketches differ in size, parameters, hash or seed",
            Error::CallerHash => "the sketch holds the caller's hashes, so it takes hashes and not keys",
            Error::BadKeys => "the batch of keys contradicts itself",
            Error::NoHeader => "a bare payload has no header to seal",
            Error::UnsupportedLevel => "this machine does not have the SIMD level",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl core::error::Error for Error {}
