//! 6-bit registers, packed. Knows no hash.
//!
//! Register `i` takes bits `6 i .. 6 i + 6` of the body, least significant bit first: four registers in three
//! bytes, the layout of Redis (dense) and DataSketches (HLL_6).
//!
//! ```text
//! byte   0                 1                 2
//! bit    7 6 5 4 3 2 1 0   7 6 5 4 3 2 1 0   7 6 5 4 3 2 1 0
//!        b b a a a a a a   c c c c b b b b   d d d d d d c c      a = register 0 .. d = register 3
//! ```
//!
//! Register 1: bit 6, byte 0, shift 6: the 16 bits at byte 0 are `cccc bbbb bbaa aaaa`; `>> 6 & 63` is `b`. To
//! write it, bits 6..12 of the same 16 are replaced. Six bits at a shift of at most 6 never leave the two bytes,
//! and the last register ends with the body; its 16 bits start one byte early (`at`), so that nothing beyond the
//! body is touched: a body may be an exact piece of a page.

/// Bits of a register.
const BITS: usize = 6;
const MASK: u16 = 63;

/// Bytes of so many registers, a multiple of 4.
pub(crate) const fn body_bytes(registers: usize) -> usize {
    registers / 4 * 3
}

/// First of the two bytes that hold register `i` of a body of so many bytes, and the shift in them.
#[inline(always)]
fn at(len: usize, i: usize) -> (usize, u32) {
    let byte = (BITS * i / 8).min(len.saturating_sub(2));
    (byte, (BITS * i - 8 * byte) as u32 & 15)
}

/// Register `i`; 0 beyond the body.
#[inline(always)]
pub(crate) fn get(body: &[u8], i: usize) -> u8 {
    let (byte, shift) = at(body.len(), i);
    let word = body.get(byte..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_le_bytes(*bytes));
    (word >> shift & MASK) as u8
}

/// Register `i` becomes `max(old, rank)`; the old value. Nothing beyond the body.
#[inline(always)]
pub(crate) fn raise(body: &mut [u8], i: usize, rank: u8) -> u8 {
    let (byte, shift) = at(body.len(), i);
    let Some(bytes) = body.get_mut(byte..).and_then(<[u8]>::first_chunk_mut) else { return MASK as u8 };
    let word = u16::from_le_bytes(*bytes);
    let old = word >> shift & MASK;
    if u16::from(rank) > old {
        *bytes = (word & !(MASK << shift) | u16::from(rank) << shift).to_le_bytes();
    }
    old as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// The worked example above, by hand.
    #[test]
    fn worked_example() {
        let mut body = [0; 3];
        for (i, rank) in [(0, 0b00_0001), (1, 0b11_0010), (2, 0b01_0100), (3, 0b10_1000)] {
            assert_eq!(raise(&mut body, i, rank), 0);
        }
        assert_eq!(body, [0b1000_0001, 0b0100_1100, 0b1010_0001]);
        assert_eq!([0, 1, 2, 3].map(|i| get(&body, i)), [1, 50, 20, 40]);
    }

    /// Every rank at every offset, against an array of bytes, and no neighbour disturbed.
    #[test]
    fn every_rank_at_every_offset() {
        for registers in [4, 8, 16, 64, 256] {
            for i in 0..registers {
                for background in [0, 1, 62] {
                    for rank in 0..64u8 {
                        let mut body = vec![0; body_bytes(registers)];
                        for j in 0..registers {
                            raise(&mut body, j, background);
                        }
                        assert_eq!(raise(&mut body, i, rank), background);
                        for j in 0..registers {
                            let expected = if j == i { rank.max(background) } else { background };
                            assert_eq!(get(&body, j), expected);
                        }
                    }
                }
            }
        }
    }
}
