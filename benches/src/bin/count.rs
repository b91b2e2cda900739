//! One operation on some keys, for a tool that watches: `callgrind.sh` counts the instructions of `measured`, and
//! `perf stat` and `perf record` see little else if it is run many times.

use sketchline_benches::contender::{Call, OURS};
use sketchline_benches::machine::Size;
use sketchline_benches::measure::{self, filled};
use sketchline_benches::promises::BITS_PER_KEY;
use sketchline_benches::queries::{Keys, Op, Queries};
use sketchline_benches::{RUN_KEYS, cms};

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let ([level, op, mode, kib], times) = match &args[..] {
        [level, op, mode, kib] => ([level, op, mode, kib], 1),
        [level, op, mode, kib, times] => ([level, op, mode, kib], times.parse().expect("a number of times")),
        _ => {
            eprintln!("count LEVEL OP MODE KIB [TIMES]: one operation on {RUN_KEYS} keys; docs/PERFORMANCE.md");
            std::process::exit(2)
        }
    };
    let size = Size { name: "count", bytes: kib.parse::<u64>().expect("a number of KiB") << 10 };
    let call = |calls: &[Call]| {
        let is_it = |call: &Call| call.level == *level && call.mode.name().replace(' ', "-") == *mode;
        calls.iter().position(is_it).unwrap_or_else(|| {
            eprintln!("no {level} {mode} on this machine");
            std::process::exit(3)
        })
    };
    let mut keys = Keys::default();
    if let Some((shape, op)) = cms_operation(op) {
        let mut sketch = cms::Ours::new(shape, size);
        cms::fill(&mut sketch, size);
        let call = call(cms::Sketch::calls(&sketch));
        cms::draw(&mut Queries::new(cms::keys_in(size)), op, &mut keys);
        let mut out = cms::estimates();
        (0..times).for_each(|_| measured(&mut || _ = cms::run_once(&mut sketch, call, op, &keys, &mut out)));
    } else {
        let op = Op::ALL.into_iter().find(|known| known.name() == op).expect("an operation");
        let inserted = size.keys(BITS_PER_KEY);
        let mut filters = filled(size, inserted, |name| name == OURS);
        let filter = filters[0].as_mut();
        let ours: Vec<_> = filter.calls().iter().take_while(|call| call.contender == OURS).cloned().collect();
        let call = call(&ours);
        Queries::new(inserted).draw(op, &mut keys);
        (0..times).for_each(|_| measured(&mut || _ = measure::run_once(filter, call, op, &keys)));
    }
    println!("{RUN_KEYS}");
}

/// `cms-rows-add`: an operation of Count-Min in one of its shapes.
fn cms_operation(word: &str) -> Option<(cms::Shape, cms::Op)> {
    let (shape, op) = word.strip_prefix("cms-")?.rsplit_once('-')?;
    let shape = cms::Shape::ALL.into_iter().find(|known| known.name() == shape)?;
    Some((shape, cms::Op::ALL.into_iter().find(|known| known.name() == op)?))
}

/// Nothing but the calls: what is counted.
#[inline(never)]
fn measured(calls: &mut dyn FnMut()) {
    calls();
}
