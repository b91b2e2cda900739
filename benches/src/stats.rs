//! Medians, and the FPR that theory gives each layout.

/// The median; of nothing, NaN.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The FPR of a filter whose blocks have `block_bits`, where a look-up in a block of `j` keys errs with
/// probability `errs(j)`: the number of keys in a block is Poisson.
pub fn blocked_fpr(block_bits: f64, bits_per_key: f64, errs: impl Fn(f64) -> f64) -> f64 {
    let load = block_bits / bits_per_key;
    let mut poisson = (-load).exp();
    let mut fpr = 0.0;
    for j in 0..(4.0 * load + 64.0) as u32 {
        fpr += poisson * errs(f64::from(j));
        poisson *= load / f64::from(j + 1);
    }
    fpr
}

/// Split block Bloom filter (Putze et al.; Parquet): one bit in each of 8 words of 32.
pub fn sbbf_fpr(bits_per_key: f64) -> f64 {
    blocked_fpr(256.0, bits_per_key, |j| (1.0 - (31.0_f64 / 32.0).powf(j)).powi(8))
}

/// `probes` bits anywhere in 512 (RocksDB).
pub fn line_fpr(bits_per_key: f64, probes: u32) -> f64 {
    let probes = f64::from(probes);
    blocked_fpr(512.0, bits_per_key, |j| (1.0 - (511.0_f64 / 512.0).powf(probes * j)).powf(probes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_some() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert!(median(&mut []).is_nan());
    }

    /// The measured figures of DESIGN.md.
    #[test]
    fn theory_meets_measurement() {
        for (bits_per_key, probes, line, sbbf) in [(8.0, 5, 0.0233, 0.0332), (12.0, 8, 0.00414, 0.00542)] {
            assert!((line_fpr(bits_per_key, probes) / line - 1.0).abs() < 0.03);
            assert!((sbbf_fpr(bits_per_key) / sbbf - 1.0).abs() < 0.03);
        }
    }
}
