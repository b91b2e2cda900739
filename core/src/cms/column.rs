//! `KeyHash` to counters: the definition of both layouts. Knows no storage.
//!
//! ```text
//! rows      row i:      x = hash * C[i]       column = ((x >> 32) * w) >> 32
//!
//!           | row 0: w counters, padded to whole lines | row 1 | .. | row d-1 |
//!
//! two-line  half j:     x = hash * C[j]       line = ((x >> 32) * L) >> 32       in that line two counters:
//!                       (x >> 16) & 7  of its first eight,  (x >> 19) & 7  of its last eight      (u64: & 3, four)
//!
//!           | half 0: L lines of 16 (u64: 8) counters | half 1: L lines |        rows 0, 1 | rows 2, 3
//! ```
//!
//! Products are taken modulo 2^64. `C[i]` is the `i`-th output of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) from
//! state 0, made odd: rows are independent enough for the bound, which `tests/cms_accuracy.rs` measures.

use super::params::{CmsLayout, CounterSize};
use crate::block::BLOCK_BYTES;

/// Most rows.
pub(crate) const MAX_DEPTH: usize = 16;

/// One odd multiplier per row.
pub(crate) const MULTIPLIERS: [u64; MAX_DEPTH] = {
    let mut multipliers = [0; MAX_DEPTH];
    let mut state = 0u64;
    let mut i = 0;
    while i < MAX_DEPTH {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        multipliers[i] = (x ^ (x >> 31)) | 1;
        i += 1;
    }
    multipliers
};

/// What tells where the counters of a hash are, and how they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Lines of all counters.
    pub(crate) num_lines: u64,
    /// Rows: the width. Two-line: lines of a half.
    pub(crate) size: u32,
    /// Lines of a row, or of a half.
    pub(crate) part_lines: u32,
    pub(crate) depth: u8,
    pub(crate) layout: CmsLayout,
    pub(crate) counter: CounterSize,
    pub(crate) conservative: bool,
    pub(crate) form: Form,
    /// 0: no byte of a state is left unset, since hosts copy and compare them.
    unused: [u8; 3],
}

const _: () = assert!(size_of::<Table>() == 24);

/// Tables for which there are kernels of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Four rows of 32-bit counters.
    FourRows,
    /// Two lines, 32-bit counters.
    TwoLine,
    Other,
}

impl Table {
    /// Parts are the rows, or the two halves. Parameters that are checked.
    pub(crate) const fn new(layout: CmsLayout, counter: CounterSize, size: u32, depth: u8) -> Self {
        let (parts, part_lines) = match layout {
            // Below 2^29: eight bytes a counter.
            CmsLayout::Rows => (depth, (size as u64 * counter.bytes() as u64).div_ceil(BLOCK_BYTES as u64) as u32),
            CmsLayout::TwoLine => (2, size),
        };
        let form = match (layout, counter, depth) {
            (CmsLayout::Rows, CounterSize::U32, 4) => Form::FourRows,
            (CmsLayout::TwoLine, CounterSize::U32, _) => Form::TwoLine,
            _ => Form::Other,
        };
        let num_lines = parts as u64 * part_lines as u64;
        Self { num_lines, size, part_lines, depth, layout, counter, conservative: false, form, unused: [0; 3] }
    }

    /// Counters from one row, or half, to the next.
    #[inline(always)]
    pub(crate) const fn part_counters(&self, counter: CounterSize) -> usize {
        self.part_lines as usize * counter.per_line()
    }
}

/// The number, among all counters, of the counter of a hash in a row. Below the number of counters. `counter` is that
/// of the table, given beside it where it is known when this is compiled.
#[inline(always)]
pub(crate) fn rows_counter(table: &Table, counter: CounterSize, hash: u64, row: usize) -> usize {
    let x = hash.wrapping_mul(MULTIPLIERS[row % MAX_DEPTH]);
    row * table.part_counters(counter) + scaled(x, table.size)
}

/// As [`rows_counter`], in the two-line layout, whose rows are 0..4.
#[inline(always)]
pub(crate) fn two_line_counter(table: &Table, counter: CounterSize, hash: u64, row: usize) -> usize {
    let (half, group) = (row / 2 % 2, row % 2);
    let per_group = counter.per_line() / 2;
    let x = hash.wrapping_mul(MULTIPLIERS[half]);
    let line = half * table.part_lines as usize + scaled(x, table.size);
    let chosen = (x >> (16 + 3 * group)) as usize & (per_group - 1);
    line * counter.per_line() + group * per_group + chosen
}

/// The high half of `x` scaled to `0..size`.
#[inline(always)]
fn scaled(x: u64, size: u32) -> usize {
    (((x >> 32) * u64::from(size)) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CmsParams;
    use std::vec::Vec;

    #[test]
    fn multipliers_are_those_of_the_format() {
        assert_eq!(MULTIPLIERS[..3], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f5, 0x06c4_5d18_8009_454f]);
        assert_eq!(MULTIPLIERS[8], 0x3ee5_7890_41c9_8ac3);
        assert_eq!(MULTIPLIERS[15], 0x84bb_3f97_971d_80ab);
    }

    /// The vectors of the format.
    #[test]
    fn columns_of_known_hashes() {
        let columns = |hash: u64, width: u64| -> Vec<usize> {
            let params = CmsParams::rows(width, 5).unwrap();
            let table = params.table();
            (0..5)
                .map(|row| {
                    rows_counter(table, CounterSize::U32, hash, row) - row * table.part_counters(CounterSize::U32)
                })
                .collect()
        };
        assert_eq!(columns(1, 16_384), [14472, 7070, 433, 15906, 1742]);
        assert_eq!(columns(0x0123_4567_89ab_cdef, 16_384), [12533, 8883, 10750, 11724, 16119]);
        assert_eq!(columns(0x9e37_79b9_7f4a_7c15, 1_000_003), [766_441, 794_876, 289_971, 956_708, 916_696]);

        let params = CmsParams::two_line(1000).unwrap();
        let counters: Vec<_> =
            (0..4).map(|row| two_line_counter(params.table(), CounterSize::U32, 0x0123_4567_89ab_cdef, row)).collect();
        assert_eq!(counters, [12229, 12237, 24674, 24684]);
    }
}
