//! Registers to a number: Ertl's improved raw estimator (arXiv 1702.01284, section 4, algorithm 6), and linear
//! counting for the sparse form.
//!
//! With `C_k` registers of rank `k`, `q = 64 - p`, and `m = 2^p`:
//!
//! ```text
//!                       m^2 / (2 ln 2)
//! E = ------------------------------------------------------        sigma(x) = x + sum x^(2^k) 2^(k-1)
//!     m sigma(C_0/m) + S 2^-q + m tau(1 - C_(q+1)/m) 2^-q           tau(x) = (1 - x - sum (1 - x^(2^-k))^2 2^-k) / 3
//! ```
//!
//! where `S = sum of C_k 2^(q-k)`, `k = 1..=q`, is an exact integer below 2^63. Three integers ([`Weights`]) are
//! all it needs, so they are kept up to date with every change, and an estimate costs no pass over the registers.
//! No tables, no bias correction, no change of method at 2.5 m: |bias| <= 0.02 %.

use super::rank::max_rank;

/// What the estimate needs to know of the registers. Exact: the same in any order of updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weights {
    /// Registers that are 0.
    pub(crate) zeros: u32,
    /// Registers of the greatest rank, `q + 1`.
    pub(crate) top: u32,
    /// Sum of `2^(q - rank)` over the others.
    pub(crate) sum: u64,
}

impl Weights {
    /// Those of a sketch without keys.
    pub(crate) const fn empty(p: u32) -> Self {
        Self { zeros: 1 << p, top: 0, sum: 0 }
    }

    /// Those of registers by their rank; ranks above the greatest count for it.
    pub(crate) fn of(histogram: &[u32; 64], p: u32) -> Self {
        let mut weights = Self { zeros: 0, top: 0, sum: 0 };
        for (rank, &count) in histogram.iter().enumerate() {
            weights.add(rank as u32, p, count);
        }
        weights
    }

    /// A register was raised.
    #[inline(always)]
    pub(crate) fn raise(&mut self, old: u32, new: u32, p: u32) {
        match old {
            0 => self.zeros = self.zeros.wrapping_sub(1),
            _ => self.sum = self.sum.wrapping_sub(weight(old, p)),
        }
        self.add(new, p, 1);
    }

    #[inline(always)]
    fn add(&mut self, rank: u32, p: u32, count: u32) {
        match rank {
            0 => self.zeros = self.zeros.wrapping_add(count),
            rank if rank >= max_rank(p) => self.top = self.top.wrapping_add(count),
            _ => self.sum = self.sum.wrapping_add(u64::from(count) * weight(rank, p)),
        }
    }

    /// The probability that a new key changes the sketch.
    pub(crate) fn change_probability(&self, p: u32) -> f64 {
        let m = f64::from(1u32 << p);
        (f64::from(self.zeros) + self.sum as f64 * two_to_minus(64 - p)) / m
    }

    /// About how many distinct keys. 0 for no keys, at most [`MOST`].
    pub(crate) fn estimate(&self, p: u32) -> f64 {
        let m = f64::from(1u32 << p);
        let below = m * sigma(f64::from(self.zeros) / m);
        let above = m * tau(1.0 - f64::from(self.top) / m);
        let denominator = below + (self.sum as f64 + above) * two_to_minus(64 - p);
        (m * m / (2.0 * core::f64::consts::LN_2) / denominator).min(MOST)
    }
}

/// Beyond 64 hash bits there is nothing to tell apart.
pub(crate) const MOST: f64 = 18_446_744_073_709_551_616.0;

/// `2^(q - rank)`, for ranks 1..=q.
#[inline(always)]
fn weight(rank: u32, p: u32) -> u64 {
    1u64.checked_shl((max_rank(p) - 1).wrapping_sub(rank)).unwrap_or(0)
}

fn two_to_minus(exponent: u32) -> f64 {
    f64::from_bits(u64::from(1023 - exponent) << 52)
}

fn sigma(x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut scale, mut sum) = (x, 1.0, x);
    loop {
        power *= power;
        let next = sum + power * scale;
        if next == sum {
            return sum;
        }
        sum = next;
        scale += scale;
    }
}

fn tau(x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut root, mut scale, mut sum) = (x, 1.0, 1.0 - x);
    loop {
        root = libm::sqrt(root);
        scale *= 0.5;
        let missing = 1.0 - root;
        let next = sum - missing * missing * scale;
        if next == sum {
            return sum / 3.0;
        }
        sum = next;
    }
}

/// Linear counting (Whang, Vander-Zanden, Taylor, TODS 1990) over the 2^26 indices of tokens: `count` of them are taken.
pub(crate) fn from_tokens(count: u32) -> f64 {
    let indices = f64::from(1u32 << super::rank::TOKEN_PRECISION);
    -indices * libm::log1p(-f64::from(count) / indices)
}

/// Relative standard error of the dense estimate, at its worst.
pub(crate) fn dense_error(p: u32) -> f64 {
    1.04 / libm::sqrt(f64::from(1u32 << p))
}

/// Relative standard error of linear counting over 2^26 indices while few are taken: `1 / sqrt(2 * 2^26)`.
pub(crate) const SPARSE_ERROR: f64 = 8.632e-5;

/// An estimate and the range in which the truth lies, at the confidence that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimateBounds {
    /// About how many distinct keys.
    pub estimate: f64,
    /// At least so many.
    pub lower: f64,
    /// At most so many.
    pub upper: f64,
}

impl EstimateBounds {
    /// Bounds at a relative error; `seen` keys were certainly there.
    pub(crate) fn around(estimate: f64, seen: f64, error: f64) -> Self {
        let lower = (estimate / (1.0 + error)).max(seen).min(estimate);
        Self { estimate, lower, upper: estimate / (1.0 - error) }
    }

    /// Bounds around so many tokens: certainly that many keys, and one more for each that shares an index with
    /// another. Those are few, so that no normal distribution will do: Poisson with mean `tokens^2 / 2^27`.
    pub(crate) fn of_tokens(estimate: f64, tokens: u32, confidence: f64) -> Self {
        let seen = f64::from(tokens);
        let mean = seen * seen / f64::from(1u32 << (super::rank::TOKEN_PRECISION + 1));
        let (mut term, mut shared) = (libm::exp(-mean), 0.0);
        let mut probability = term;
        while probability < confidence && shared < seen {
            shared += 1.0;
            term *= mean / shared;
            probability += term;
        }
        Self { estimate, lower: seen.min(estimate), upper: (seen + shared).max(estimate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hll::rank::PRECISIONS;

    /// All registers equal, for every legal rank: finite, never NaN, never negative, rising, capped.
    #[test]
    fn extreme_registers() {
        for p in PRECISIONS {
            let mut last = -1.0;
            for rank in 0..=max_rank(p) {
                let mut histogram = [0; 64];
                histogram[rank as usize] = 1 << p;
                let estimate = Weights::of(&histogram, p).estimate(p);
                assert!(estimate.is_finite() && estimate > last, "{p} {rank}: {estimate}");
                last = estimate;
            }
            assert_eq!(Weights::empty(p).estimate(p), 0.0);
            assert_eq!(last, MOST);
        }
    }

    #[test]
    fn raising_one_by_one_is_counting_all() {
        for p in PRECISIONS {
            let mut live = Weights::empty(p);
            let mut histogram = [0u32; 64];
            histogram[0] = 1 << p;
            for (old, new) in [(0, 1), (0, 7), (1, 2), (7, max_rank(p)), (0, max_rank(p)), (2, max_rank(p) - 1)] {
                live.raise(old, new, p);
                histogram[old as usize] -= 1;
                histogram[new as usize] += 1;
                assert_eq!(live, Weights::of(&histogram, p));
            }
        }
    }
}
