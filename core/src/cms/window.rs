//! A sliding window, made of [`Cms::halve`].

use super::Cms;
use crate::Error;
use crate::lines::LinesMut;

/// Halves a sketch once per period of length `W`, so that old counts fade.
///
/// A count that came `n` whole periods ago weighs `2^-n`. For a key, at any moment:
///
/// - the estimate is more than half of what came in the last `W`, less 1 (each halving rounds down; together these
///   roundings take away less than 1);
/// - it is at most twice the most that came in any one period, and `total * epsilon` on top with a probability of
///   `1 - delta`, where the total fades as the counts do;
/// - a key that has long come at a steady rate has between once and twice what comes in `W`, less 1 for the roundings.
///
/// So a throttle at `2 t + total * epsilon` never stops a key that stays below `t` per period, and always stops one
/// that comes more than `4 t + 2 total * epsilon + 2` times within `W`.
///
/// Time is any number that the caller counts up: milliseconds, events. One pass over the sketch per period.
///
/// ```
/// use sketchline::{CmsParams, CmsWindow, CountMinSketch};
/// let mut sketch = CountMinSketch::new(CmsParams::rows(1024, 4)?)?;
/// let mut minute = CmsWindow::new(60_000, 0)?;
/// minute.advance(&mut sketch, 59_999);
/// assert_eq!(sketch.add(b"10.0.0.1", 8)?, 8);
/// assert_eq!(minute.advance(&mut sketch, 60_000), 1);
/// assert_eq!(sketch.estimate(b"10.0.0.1")?, 4);
/// # Ok::<(), sketchline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmsWindow {
    period: u64,
    started: u64,
}

impl CmsWindow {
    /// A window of length `period` whose first period starts at `started`. [`CmsWindow::started`] of an earlier one
    /// goes on with it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a period of 0.
    pub const fn new(period: u64, started: u64) -> Result<Self, Error> {
        if period == 0 { Err(Error::InvalidArgument) } else { Ok(Self { period, started }) }
    }

    /// Length of a period.
    pub const fn period(&self) -> u64 {
        self.period
    }

    /// When the present period started.
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// Goes on to the period of `now`: halves the sketch once for each period that ended, and says how often. A time
    /// before the present period belongs to it.
    pub fn advance<S: LinesMut>(&mut self, sketch: &mut Cms<S>, now: u64) -> u64 {
        let periods = now.saturating_sub(self.started) / self.period.max(1);
        if periods > 0 {
            self.started += periods * self.period;
            sketch.halve_times(u32::try_from(periods).unwrap_or(u32::MAX));
        }
        periods
    }
}
