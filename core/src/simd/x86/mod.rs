//! x86-64: CPUID and XGETBV without `std`, through `cpufeatures`.

pub(super) mod avx2;
pub(super) mod avx512;
pub(super) mod avx512vbmi;

cpufeatures::new!(cpu_avx2, "avx2", "bmi2", "popcnt");
cpufeatures::new!(cpu_avx512, "avx512f", "avx512bw", "avx512dq", "avx512vl");
cpufeatures::new!(cpu_avx512vbmi, "avx512vbmi", "avx512bitalg", "avx512vpopcntdq");

pub(super) fn has_avx2() -> bool {
    cpu_avx2::get()
}

pub(super) fn has_avx512() -> bool {
    has_avx2() && cpu_avx512::get()
}

pub(super) fn has_avx512vbmi() -> bool {
    has_avx512() && cpu_avx512vbmi::get()
}

#[cfg(test)]
mod tests {
    /// Our detection (no `std`) and that of `std` agree.
    #[test]
    fn agrees_with_std() {
        use std::arch::is_x86_feature_detected as has;
        let avx2 = has!("avx2") && has!("bmi2") && has!("popcnt");
        let avx512 = avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
        let vbmi = avx512 && has!("avx512vbmi") && has!("avx512bitalg") && has!("avx512vpopcntdq");
        assert_eq!((super::has_avx2(), super::has_avx512(), super::has_avx512vbmi()), (avx2, avx512, vbmi));
    }
}
