//! The filter at every level, under criterion: groups `bloom/op/level/size`, with `single` and `batch` in each.
//!
//! Every iteration looks up or inserts new keys, so that no branch predictor learns them.

use criterion::{Criterion, Throughput};
use sketchline_benches::RUN_KEYS;
use sketchline_benches::contender::{Filter, Mode, OURS};
use sketchline_benches::machine::{self, Size};
use sketchline_benches::measure::{filled, run_once};
use sketchline_benches::promises::BITS_PER_KEY;
use sketchline_benches::queries::{Keys, Op, Queries};
use std::cell::{OnceCell, RefCell};
use std::time::{Duration, Instant};

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let sizes = machine::sizes(true);
    print!("{}", machine::report(&sizes));
    sizes.into_iter().for_each(|size| bench_size(&mut criterion, size));
    criterion.final_summary();
}

fn bench_size(criterion: &mut Criterion, size: Size) {
    let keys = size.keys(BITS_PER_KEY);
    let queries = RefCell::new(Queries::new(keys));
    // Filled when the first benchmark wants it: which ones run, the command line says.
    let filter = OnceCell::new();
    let filter = || filter.get_or_init(|| RefCell::new(filled(size, keys, |name| name == OURS).remove(0)));
    for op in Op::ALL {
        for isa in sketchline::Isa::available() {
            let mut group = criterion.benchmark_group(format!("bloom/{}/{}/{}", op.name(), isa.name(), size.name));
            group.throughput(Throughput::Elements(RUN_KEYS as u64));
            for mode in [Mode::Single, Mode::Batch] {
                group.bench_function(mode.name(), |bencher| {
                    let (mut filter, mut queries) = (filter().borrow_mut(), queries.borrow_mut());
                    let filter = filter.as_mut();
                    let call = call_of(filter, isa.name(), mode);
                    bencher.iter_custom(|times| run(filter, call, op, &mut queries, times));
                });
            }
        }
    }
}

fn call_of(filter: &dyn Filter, level: &str, mode: Mode) -> usize {
    let is_it =
        |call: &sketchline_benches::contender::Call| call.contender == OURS && call.level == level && call.mode == mode;
    filter.calls().iter().position(is_it).expect("every level has both modes")
}

fn run(filter: &mut dyn Filter, call: usize, op: Op, queries: &mut Queries, times: u64) -> Duration {
    let mut keys = Keys::default();
    let mut elapsed = Duration::ZERO;
    filter.touch();
    for _ in 0..times {
        queries.draw(op, &mut keys);
        let start = Instant::now();
        run_once(filter, call, op, &keys);
        elapsed += start.elapsed();
    }
    elapsed
}
