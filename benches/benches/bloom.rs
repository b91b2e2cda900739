//! The filter at every level, under criterion: groups `bloom/op/level/size`, with `single` and `batch` in each.
//!
//! Every iteration looks up or inserts new keys, so that no branch predictor learns them.

mod common;

use criterion::Criterion;
use sketchline_benches::contender::{Filter, Mode, OURS};
use sketchline_benches::machine::{self, Size};
use sketchline_benches::measure::{filled, run_once};
use sketchline_benches::promises::BITS_PER_KEY;
use sketchline_benches::queries::{Keys, Op, Queries};
use std::cell::{OnceCell, RefCell};
use std::time::Duration;

fn main() {
    let mut criterion = common::criterion();
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
            let mut group = common::group(criterion, format!("bloom/{}/{}/{}", op.name(), isa.name(), size.name));
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
    filter.touch();
    let draw = |keys: &mut Keys| queries.draw(op, keys);
    common::run(times, draw, |keys| _ = run_once(filter, call, op, keys))
}
