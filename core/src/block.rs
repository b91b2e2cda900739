//! `Block`: 512 bits, one cache line. Knows no hash.
//!
//! ```text
//! byte    0       8       16      24      32      40      48      56     63
//!         | lane 0| lane 1| lane 2| lane 3| lane 4| lane 5| lane 6| lane 7|
//! bit     0       64      128     192     256     320     384     448    511
//! ```
//!
//! A lane is a 64-bit little-endian word; bit `b` of the block is bit `b % 64` of lane `b / 64`, that is, bit
//! `b % 8` of byte `b / 8`. The bytes in memory are the bytes on disk on every machine: lanes are read and
//! written through `from_le_bytes` / `to_le_bytes`, which cost nothing on a little-endian one.
//!
//! A block has alignment 1, since engines hand us pages at any address. Owned storage ([`OwnedLines`]) is
//! aligned to the cache line, where a block costs one miss and not two.

/// 512 bits: one cache line, eight 64-bit little-endian lanes, alignment 1.
pub type Block = [u8; BLOCK_BYTES];

/// Bytes of a block, and of the header line of an image.
pub const BLOCK_BYTES: usize = 64;
/// Bits of a block.
pub const BLOCK_BITS: usize = 512;
/// 64-bit lanes of a block.
pub(crate) const LANES: usize = 8;

/// Lane `i` of a block.
#[inline(always)]
pub(crate) fn lane(block: &Block, i: usize) -> u64 {
    u64::from_le_bytes(block.as_chunks::<8>().0[i])
}

/// All lanes of a block.
#[inline(always)]
pub(crate) fn lanes(block: &Block) -> [u64; LANES] {
    core::array::from_fn(|i| lane(block, i))
}

/// Writes all lanes of a block.
#[inline(always)]
pub(crate) fn store_lanes(block: &mut Block, lanes: [u64; LANES]) {
    for (bytes, lane) in block.as_chunks_mut::<8>().0.iter_mut().zip(lanes) {
        *bytes = lane.to_le_bytes();
    }
}

/// Whole lines of bytes as blocks.
pub(crate) fn as_blocks(bytes: &[u8]) -> Result<&[Block], crate::Error> {
    match bytes.as_chunks() {
        (blocks, []) => Ok(blocks),
        _ => Err(crate::Error::WrongLength),
    }
}

/// Whole lines of bytes as blocks, to be changed in place.
pub(crate) fn as_blocks_mut(bytes: &mut [u8]) -> Result<&mut [Block], crate::Error> {
    match bytes.as_chunks_mut() {
        (blocks, []) => Ok(blocks),
        _ => Err(crate::Error::WrongLength),
    }
}

/// Zeroed lines at 64-byte alignment.
///
/// The element is `wide`'s 512-bit vector for its alignment alone: it lets `bytemuck` give the bytes out
/// without any `unsafe` of ours.
#[cfg(feature = "alloc")]
#[derive(Clone)]
pub struct OwnedLines(alloc::vec::Vec<wide::u64x8>);

#[cfg(feature = "alloc")]
impl OwnedLines {
    /// `len` zeroed lines.
    pub(crate) fn zeroed(len: u64) -> Result<Self, crate::Error> {
        let len = usize::try_from(len).map_err(|_| crate::Error::TooLarge)?;
        if len > isize::MAX as usize / BLOCK_BYTES {
            return Err(crate::Error::TooLarge);
        }
        let mut lines = alloc::vec::Vec::new();
        lines.try_reserve_exact(len).map_err(|_| crate::Error::OutOfMemory)?;
        lines.resize(len, wide::u64x8::ZERO);
        Ok(Self(lines))
    }

    #[inline(always)]
    pub(crate) fn blocks(&self) -> &[Block] {
        bytemuck::must_cast_slice(&self.0)
    }

    #[inline(always)]
    pub(crate) fn blocks_mut(&mut self) -> &mut [Block] {
        bytemuck::must_cast_slice_mut(&mut self.0)
    }
}

#[cfg(feature = "alloc")]
impl core::fmt::Debug for OwnedLines {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "OwnedLines({} lines)", self.0.len())
    }
}
