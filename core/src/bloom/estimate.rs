//! What the bits tell: fill, FPR, number of keys, and whether there are more keys than the filter was sized for.
//!
//! All of it comes from the number of blocks that have 0, 1, .. 512 bits set. A global fill percentage would
//! not do: FPR is a high power of the fill, so that crowded blocks count for more than their share.

use super::Bloom;
use super::params::{bit_stays_zero, power};
use crate::block::BLOCK_BITS;
use crate::lines::Lines;
use crate::simd::Occupancy;

/// Estimates from the bits of a filter at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomEstimate {
    /// Share of bits that are set, 0..=1.
    pub fill: f64,
    /// The FPR of a look-up now: the mean over the blocks of (share of set bits) to the power of the probes. Reads up to
    /// 5 % high, since it takes the lanes of a block for equally full.
    pub fpr: f64,
    /// About how many distinct keys were inserted; the greatest number that can be told apart where all bits are set.
    pub num_keys: f64,
    /// Whether `num_keys` exceeds the capacity by more than 5 % and chance (three standard deviations). Never
    /// where the capacity is unknown.
    pub over_capacity: bool,
}

impl<S: Lines> Bloom<S> {
    /// Counts the bits: one pass over the payload.
    pub fn estimate(&self) -> BloomEstimate {
        let occupancy = self.state.isa().occupancy(self.blocks());
        from_occupancy(&occupancy, self.params().num_probes(), self.params().capacity())
    }
}

fn from_occupancy(occupancy: &Occupancy, probes: u32, capacity: u64) -> BloomEstimate {
    let (mut blocks, mut ones, mut fpr) = (0.0, 0.0, 0.0);
    for (set, &count) in occupancy.iter().enumerate() {
        let (set, count) = (set as f64, count as f64);
        blocks += count;
        ones += count * set;
        fpr += count * power(set / BLOCK_BITS as f64, probes);
    }
    let bits = blocks * BLOCK_BITS as f64;
    // With Poisson loads of mean L a bit stays 0 with probability exp(-L (1 - q)): solved for L. Half a
    // zero bit stands for none at all.
    let zeros = (bits - ones).max(0.5);
    let load = -libm::log(zeros / bits) / (1.0 - bit_stays_zero(probes));
    let num_keys = blocks * load;
    // Standard deviation of that estimate, about sqrt(0.1 to 0.5 keys) at any useful fill: bounded by sqrt(keys).
    let limit = capacity as f64 * 1.05 + 3.0 * libm::sqrt(capacity as f64);
    BloomEstimate { fill: ones / bits, fpr: fpr / blocks, num_keys, over_capacity: capacity != 0 && num_keys > limit }
}
