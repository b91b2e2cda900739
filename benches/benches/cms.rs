//! Count-Min under criterion: groups `cms/op/shape/level/size`, with `single` and `batch` in each.

mod common;

use criterion::Criterion;
use sketchline_benches::cms::{Op, Ours, SIZES, Shape, Sketch, draw, estimates, fill, keys_in, run_once};
use sketchline_benches::contender::{Call, Mode};
use sketchline_benches::machine::{self, Size};
use sketchline_benches::queries::{Keys, Queries};
use std::cell::{OnceCell, RefCell};

fn main() {
    let mut criterion = common::criterion();
    // In memory it is the misses that count: `make peers` times them.
    let sizes = &SIZES[..2];
    print!("{}", machine::report(sizes));
    for &size in sizes {
        Shape::ALL.into_iter().for_each(|shape| bench(&mut criterion, shape, size));
    }
    criterion.final_summary();
}

fn bench(criterion: &mut Criterion, shape: Shape, size: Size) {
    let queries = RefCell::new(Queries::new(keys_in(size)));
    // Filled when the first benchmark wants it: which ones run, the command line says.
    let sketch = OnceCell::new();
    let sketch = || {
        sketch.get_or_init(|| {
            let mut sketch = Ours::new(shape, size);
            fill(&mut sketch, size);
            RefCell::new(sketch)
        })
    };
    for op in [Op::Add, Op::Estimate] {
        for isa in sketchline::Isa::available() {
            let name = format!("cms/{}/{}/{}/{}", op.name(), shape.name(), isa.name(), size.name);
            let mut group = common::group(criterion, name);
            // Single calls are the same at every level.
            let single = (isa == sketchline::Isa::detect()).then_some(Mode::Single);
            for mode in single.into_iter().chain([Mode::Batch]) {
                group.bench_function(mode.name(), |bencher| {
                    let (mut sketch, mut queries, mut out) = (sketch().borrow_mut(), queries.borrow_mut(), estimates());
                    let is_it = |call: &Call| call.level == isa.name() && call.mode == mode;
                    let call = sketch.calls().iter().position(is_it).expect("a batch at every level");
                    bencher.iter_custom(|times| {
                        let draw = |keys: &mut Keys| draw(&mut queries, op, keys);
                        common::run(times, draw, |keys| {
                            run_once(&mut *sketch, call, op, keys, &mut out);
                        })
                    });
                });
            }
        }
    }
}
