//! One operation on some keys, for a tool that watches: `callgrind.sh` counts the instructions of `measured`, and
//! `perf stat` and `perf record` see little else if it is run many times.

use sketchline_benches::RUN_KEYS;
use sketchline_benches::contender::{Filter, OURS};
use sketchline_benches::machine::Size;
use sketchline_benches::measure::{filled, run_once};
use sketchline_benches::promises::BITS_PER_KEY;
use sketchline_benches::queries::{Keys, Op, Queries};

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
    let op = Op::ALL.into_iter().find(|known| known.name() == op).expect("an operation");
    let size = Size { name: "count", bytes: kib.parse::<u64>().expect("a number of KiB") << 10 };
    let inserted = size.keys(BITS_PER_KEY);
    let mut filters = filled(size, inserted, |name| name == OURS);
    let filter = filters[0].as_mut();
    let is_it = |call: &sketchline_benches::contender::Call| {
        call.contender == OURS && call.level == *level && call.mode.name().replace(' ', "-") == *mode
    };
    let Some(call) = filter.calls().iter().position(is_it) else {
        eprintln!("no {level} {mode} on this machine");
        std::process::exit(3)
    };
    let mut keys = Keys::default();
    Queries::new(inserted).draw(op, &mut keys);
    for _ in 0..times {
        measured(filter, call, op, &keys);
    }
    println!("{RUN_KEYS}");
}

/// Nothing but the calls: what is counted.
#[inline(never)]
fn measured(filter: &mut dyn Filter, call: usize, op: Op, keys: &Keys) {
    std::hint::black_box(run_once(filter, call, op, keys));
}
