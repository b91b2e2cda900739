//! What the benches of all sketches share.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use sketchline_benches::RUN_KEYS;
use sketchline_benches::queries::Keys;
use std::time::{Duration, Instant};

/// Short and many: a bench for each operation, level, size and mode.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args()
}

/// Benches of so many keys each.
pub(crate) fn group(criterion: &mut Criterion, name: String) -> BenchmarkGroup<'_, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(RUN_KEYS as u64));
    group
}

/// The time of some runs, each on new keys, that no branch predictor has learnt.
pub(crate) fn run(times: u64, mut draw: impl FnMut(&mut Keys), mut run: impl FnMut(&Keys)) -> Duration {
    let (mut keys, mut elapsed) = (Keys::default(), Duration::ZERO);
    for _ in 0..times {
        draw(&mut keys);
        let start = Instant::now();
        run(&keys);
        elapsed += start.elapsed();
    }
    elapsed
}
