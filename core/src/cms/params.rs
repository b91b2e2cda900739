//! The shape of a sketch, before any memory is touched.
//!
//! A sketch of width `w` and depth `d` estimates a count too high by more than `N e / w` with a probability of at
//! most `e^-d`, where `N` is the total of all counts (Cormode, Muthukrishnan, J. Algorithms 55, 2005). The two-line
//! layout has two independent choices only, so that `e^-2` is what it guarantees; its mean error is that of four rows.

use super::column::{MAX_DEPTH, Table};
use crate::block::BLOCK_BYTES;
use crate::{Error, HashScheme};
use core::f64::consts::E;

/// Where the counters of a key lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CmsLayout {
    /// One counter in each of `depth` rows: as many cache misses.
    Rows = 0,
    /// Two counters in each of two lines: two cache misses. For sketches beyond the caches.
    TwoLine = 1,
}

/// Bytes of a counter. Counters stop at their greatest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CounterSize {
    /// Up to 4,294,967,295.
    U32 = 4,
    /// Up to 2^64 - 1.
    U64 = 8,
}

impl CounterSize {
    /// 4 or 8.
    pub const fn bytes(self) -> usize {
        self as usize
    }

    /// Counters in a line.
    #[inline(always)]
    pub(crate) const fn per_line(self) -> usize {
        match self {
            CounterSize::U32 => BLOCK_BYTES / 4,
            CounterSize::U64 => BLOCK_BYTES / 8,
        }
    }

    /// The value at which a counter stops.
    pub const fn cap(self) -> u64 {
        match self {
            CounterSize::U32 => u32::MAX as u64,
            CounterSize::U64 => u64::MAX,
        }
    }
}

/// Layout, width, depth, counters, mode and hash of a sketch.
///
/// ```
/// use sketchline::{CmsLayout, CmsParams, CounterSize};
/// let params = CmsParams::for_error(CmsLayout::Rows, CounterSize::U32, 0.001, 0.02)?;
/// assert_eq!((params.width(), params.depth()), (2719, 4));
/// # Ok::<(), sketchline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmsParams {
    table: Table,
    hashing: HashScheme,
}

impl CmsParams {
    /// `depth` rows of `width` counters of 32 bits, under the native hash with seed 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `1 <= depth <= 16` and `width` is not 0, [`Error::TooLarge`] from 2^32 on.
    pub fn rows(width: u64, depth: u32) -> Result<Self, Error> {
        Self::of_size(CmsLayout::Rows, CounterSize::U32, width, depth)
    }

    /// Two halves of so many lines, each of 16 counters of 32 bits: a width of eight times as many.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for 0, [`Error::TooLarge`] from 2^32 on.
    pub fn two_line(lines: u64) -> Result<Self, Error> {
        Self::of_size(CmsLayout::TwoLine, CounterSize::U32, lines, TWO_LINE_DEPTH)
    }

    /// The smallest sketch that estimates too high by more than `epsilon` times the total with a probability of at
    /// most `delta`: width `ceil(e / epsilon)`, depth `ceil(ln(1 / delta))`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless both are in (0, 1); [`Error::Unreachable`] for a `delta` below `e^-16`, or
    /// `e^-2` in the two-line layout; [`Error::TooLarge`] where the width would be 2^32 or more.
    pub fn for_error(layout: CmsLayout, counter: CounterSize, epsilon: f64, delta: f64) -> Result<Self, Error> {
        let open_unit = |x: f64| x > 0.0 && x < 1.0;
        if !open_unit(epsilon) || !open_unit(delta) {
            return Err(Error::InvalidArgument);
        }
        let rows = libm::ceil(-libm::log(delta)).max(1.0);
        let most = match layout {
            CmsLayout::Rows => MAX_DEPTH as f64,
            CmsLayout::TwoLine => 2.0,
        };
        if rows > most {
            return Err(Error::Unreachable);
        }
        let width = libm::ceil(E / epsilon);
        if width > u64::MAX as f64 / 16.0 {
            return Err(Error::TooLarge);
        }
        Self::of_width(layout, counter, width as u64, rows as u32)
    }

    /// The widest sketch whose counters fit in `bytes` (the image is one line of 64 bytes longer). The two-line
    /// layout has a depth of its own.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another depth than 1..=16, or 4 in the two-line layout, and where a line for
    /// each row, or half, does not fit; [`Error::TooLarge`] where the width would be 2^32 or more.
    pub fn for_bytes(layout: CmsLayout, counter: CounterSize, bytes: u64, depth: u32) -> Result<Self, Error> {
        if depth == 0 || depth as usize > MAX_DEPTH {
            return Err(Error::InvalidArgument);
        }
        let lines = bytes / BLOCK_BYTES as u64;
        match layout {
            CmsLayout::Rows => {
                let width = lines / u64::from(depth) * counter.per_line() as u64;
                Self::of_size(layout, counter, width, depth)
            }
            CmsLayout::TwoLine => Self::of_size(layout, counter, lines / 2, depth),
        }
    }

    /// A width in counters, rounded up to what the layout can have.
    ///
    /// # Errors
    /// As [`CmsParams::rows`] and [`CmsParams::two_line`].
    pub fn of_width(layout: CmsLayout, counter: CounterSize, width: u64, depth: u32) -> Result<Self, Error> {
        match layout {
            CmsLayout::Rows => Self::of_size(layout, counter, width, depth),
            CmsLayout::TwoLine => Self::of_size(layout, counter, width.div_ceil(line_width(counter)), TWO_LINE_DEPTH),
        }
    }

    /// Width in rows, lines of a half in the two-line layout.
    pub(crate) fn of_size(layout: CmsLayout, counter: CounterSize, size: u64, depth: u32) -> Result<Self, Error> {
        let depths = match layout {
            CmsLayout::Rows => 1..=MAX_DEPTH as u32,
            CmsLayout::TwoLine => TWO_LINE_DEPTH..=TWO_LINE_DEPTH,
        };
        if size == 0 || !depths.contains(&depth) {
            return Err(Error::InvalidArgument);
        }
        let size = u32::try_from(size).map_err(|_| Error::TooLarge)?;
        let table = Table::new(layout, counter, size, depth as u8);
        Ok(Self { table, hashing: HashScheme::NATIVE })
    }

    pub(crate) const fn of_table(table: Table, hashing: HashScheme) -> Self {
        Self { table, hashing }
    }

    pub(crate) const fn table(&self) -> &Table {
        &self.table
    }

    /// Only raises the counters that must be raised (Estan and Varghese, SIGCOMM 2002): at a depth of 4 little more
    /// than half the error, for about twice the time per add. Estimates stay upper bounds after merges, too.
    #[must_use]
    pub const fn conservative(mut self) -> Self {
        self.table.conservative = true;
        self
    }

    /// The same under another hash or seed.
    #[must_use]
    pub const fn with_hashing(self, hashing: HashScheme) -> Self {
        Self { hashing, ..self }
    }

    /// Where the counters of a key lie.
    pub const fn layout(&self) -> CmsLayout {
        self.table.layout
    }

    /// Bytes of a counter.
    pub const fn counter(&self) -> CounterSize {
        self.table.counter
    }

    /// Counters among which a row chooses.
    pub const fn width(&self) -> u64 {
        match self.table.layout {
            CmsLayout::Rows => self.table.size as u64,
            CmsLayout::TwoLine => self.table.size as u64 * line_width(self.table.counter),
        }
    }

    /// Counters of a key.
    pub const fn depth(&self) -> u32 {
        self.table.depth as u32
    }

    /// Whether adds raise only what must be raised.
    pub const fn is_conservative(&self) -> bool {
        self.table.conservative
    }

    /// The hash whose values the sketch takes.
    pub const fn hashing(&self) -> HashScheme {
        self.hashing
    }

    /// `e / width`: with a probability of at least `1 - delta` an estimate is at most this share of the total too high.
    pub fn epsilon(&self) -> f64 {
        E / self.width() as f64
    }

    /// `e^-depth`; `e^-2` in the two-line layout.
    pub fn delta(&self) -> f64 {
        let independent = match self.table.layout {
            CmsLayout::Rows => self.table.depth,
            CmsLayout::TwoLine => 2,
        };
        libm::exp(-f64::from(independent))
    }

    /// Bytes of the counters alone.
    pub const fn payload_bytes(&self) -> u64 {
        self.table.num_lines * BLOCK_BYTES as u64
    }

    /// Bytes of the image: one header line and the counters.
    pub const fn image_bytes(&self) -> u64 {
        self.payload_bytes() + BLOCK_BYTES as u64
    }
}

const TWO_LINE_DEPTH: u32 = 4;

/// Counters of a line among which one row of the two-line layout chooses: half of the line.
const fn line_width(counter: CounterSize) -> u64 {
    counter.per_line() as u64 / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_formulas() {
        let rows = |epsilon, delta| CmsParams::for_error(CmsLayout::Rows, CounterSize::U32, epsilon, delta);
        let shape = |params: CmsParams| (params.width(), params.depth());
        assert_eq!(rows(1e-5, 0.02).map(shape), Ok((271_829, 4)));
        assert_eq!(rows(0.5, 0.9).map(shape), Ok((6, 1)));
        assert_eq!(rows(0.01, 1.2e-7).map(shape), Ok((272, 16)));
        assert_eq!(rows(0.01, 1e-7), Err(Error::Unreachable));
        assert_eq!(rows(1e-10, 0.1), Err(Error::TooLarge));
        for bad in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(rows(bad, 0.1), Err(Error::InvalidArgument));
            assert_eq!(rows(0.1, bad), Err(Error::InvalidArgument));
        }
        assert_eq!(rows(f64::MIN_POSITIVE, 0.1), Err(Error::TooLarge));

        let two_line = |delta| CmsParams::for_error(CmsLayout::TwoLine, CounterSize::U64, 0.001, delta);
        assert_eq!(two_line(0.136).map(shape), Ok((2720, 4)));
        assert_eq!(two_line(0.135), Err(Error::Unreachable));
    }

    #[test]
    fn bytes_are_used_up_and_never_exceeded() {
        for layout in [CmsLayout::Rows, CmsLayout::TwoLine] {
            for counter in [CounterSize::U32, CounterSize::U64] {
                for bytes in [512, 1000, 65_536, 1 << 30] {
                    let params = CmsParams::for_bytes(layout, counter, bytes, 4).unwrap();
                    assert!(params.payload_bytes() <= bytes && params.payload_bytes() + 4 * 64 > bytes);
                }
            }
        }
        let rows = |bytes, depth| CmsParams::for_bytes(CmsLayout::Rows, CounterSize::U32, bytes, depth);
        assert_eq!(rows(255, 4), Err(Error::InvalidArgument));
        assert_eq!(rows(1 << 20, 0), Err(Error::InvalidArgument));
        assert_eq!(rows(1 << 20, 17), Err(Error::InvalidArgument));
        assert_eq!(rows(u64::MAX, 1), Err(Error::TooLarge));
        assert_eq!(CmsParams::rows(u64::MAX, 16), Err(Error::TooLarge));
        let most = CmsParams::of_width(CmsLayout::Rows, CounterSize::U64, (1 << 32) - 1, 16).unwrap();
        assert_eq!(most.image_bytes(), 64 + 16 * (1 << 35));
    }
}
