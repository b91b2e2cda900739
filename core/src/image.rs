//! The image: one header line, then whole lines of payload, little-endian. The only file that knows offsets.
//!
//! ```text
//!  0  u32  magic "SKLN"
//!  4  u8   kind            5  u8 version, 1      6  u8 flags: bit 0 sealed      7  u8 hash id
//!  8  u64  seed, or the caller's tag
//! 16  u64  payload bytes, a multiple of 64
//! 24  u64  keys inserted where known, else 0 (set by seal)
//! 32  16 bytes of parameters, a table per kind
//! 48  u64  XXH3-64 of the payload        56  u64 XXH3-64 of bytes 0..56    (both 0 while unsealed)
//! 64  payload
//! ```
//!
//! A sketch in memory is its image: saving writes these bytes, loading checks them once and uses them in
//! place. The header is decoded once; no probe reads it again. `docs/FORMAT.md` describes every byte.

use crate::block::{BLOCK_BYTES, Block};
use crate::{Error, HashScheme};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 4] = *b"SKLN";
const VERSION: u8 = 1;
const SEALED: u8 = 1;

/// What an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Bloom = 1,
    HyperLogLog = 2,
    CountMin = 3,
    TopK = 7,
}

/// How much of an image to trust when it is opened. The default trusts nothing.
///
/// The header is always checked, in constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    pub(crate) check_payload: bool,
    pub(crate) allow_unsealed: bool,
}

impl OpenOptions {
    /// Check the payload's checksum, refuse images that were never sealed: right for files and foreign bytes.
    pub const STRICT: Self = Self { check_payload: true, allow_unsealed: false };

    /// Do not read the payload: opening takes constant time. For bytes that something else already vouches for.
    #[must_use]
    pub const fn skip_payload_check(self) -> Self {
        Self { check_payload: false, ..self }
    }

    /// Also open an image that was not sealed (shared memory, a crashed writer); nothing vouches for its payload.
    #[must_use]
    pub const fn allow_unsealed(self) -> Self {
        Self { allow_unsealed: true, ..self }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::STRICT
    }
}

/// A decoded header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) sealed: bool,
    pub(crate) hashing: HashScheme,
    pub(crate) payload_bytes: u64,
    /// 0 where unknown.
    pub(crate) num_keys: u64,
    pub(crate) params: [u8; 16],
}

impl Header {
    /// Checks an image and decodes its header. The image is exactly the given lines.
    pub(crate) fn open(lines: &[Block], kind: Kind, options: OpenOptions) -> Result<Self, Error> {
        let (line, payload) = lines.split_first().ok_or(Error::WrongLength)?;
        let header = Self::decode(line, kind)?;
        if header.payload_bytes != payload.as_flattened().len() as u64 {
            return Err(Error::WrongLength);
        }
        if header.sealed {
            if options.check_payload && xxh3_64(payload.as_flattened()) != u64_at(line, 48) {
                return Err(Error::PayloadChecksum);
            }
        } else if !options.allow_unsealed {
            return Err(Error::Unsealed);
        }
        Ok(header)
    }

    fn decode(line: &Block, kind: Kind) -> Result<Self, Error> {
        if line[..4] != MAGIC {
            return Err(Error::BadMagic);
        }
        if line[5] != VERSION {
            return Err(Error::UnsupportedVersion);
        }
        if line[6] & !SEALED != 0 {
            return Err(Error::UnknownFlag);
        }
        let sealed = line[6] & SEALED != 0;
        if sealed && xxh3_64(&line[..56]) != u64_at(line, 56) {
            return Err(Error::HeaderChecksum);
        }
        if !sealed && (u64_at(line, 48), u64_at(line, 56)) != (0, 0) {
            return Err(Error::HeaderChecksum);
        }
        if line[4] != kind as u8 {
            return Err(Error::WrongKind);
        }
        let hashing = HashScheme::from_parts(line[7], u64_at(line, 8))?;
        let mut params = [0; 16];
        params.copy_from_slice(&line[32..48]);
        Ok(Self { kind, sealed, hashing, payload_bytes: u64_at(line, 16), num_keys: u64_at(line, 24), params })
    }

    /// The header line of a live, unsealed sketch.
    pub(crate) fn encode_unsealed(&self) -> Block {
        let mut line = [0; BLOCK_BYTES];
        line[..4].copy_from_slice(&MAGIC);
        line[4] = self.kind as u8;
        line[5] = VERSION;
        line[7] = self.hashing.id();
        line[8..16].copy_from_slice(&self.hashing.seed_or_tag().to_le_bytes());
        line[16..24].copy_from_slice(&self.payload_bytes.to_le_bytes());
        line[24..32].copy_from_slice(&self.num_keys.to_le_bytes());
        line[32..48].copy_from_slice(&self.params);
        line
    }

    /// Writes the header line of a finished image over its first line: this header, the flag and both
    /// checksums. The payload is the other lines, all of which are read.
    pub(crate) fn seal(&self, image: &mut [Block]) {
        let Some((line, payload)) = image.split_first_mut() else { return };
        *line = self.encode_unsealed();
        line[6] = SEALED;
        line[48..56].copy_from_slice(&xxh3_64(payload.as_flattened()).to_le_bytes());
        let checksum = xxh3_64(&line[..56]);
        line[56..64].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn u64_at(line: &Block, at: usize) -> u64 {
    line.as_chunks::<8>().0.get(at / 8).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
