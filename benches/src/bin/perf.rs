//! The operations of the filters under hardware counters.

use sketchline_benches::RUN_KEYS;
use sketchline_benches::args::Args;
use sketchline_benches::contender::{Filter, LIMIT};
use sketchline_benches::counters::Counters;
use sketchline_benches::machine;
use sketchline_benches::measure::{filled, run_once};
use sketchline_benches::promises::BITS_PER_KEY;
use sketchline_benches::queries::{Keys, Op, Queries};

const ABOUT: &str = "Counts cycles, instructions and misses per key, as far as the machine lets itself be counted.";

fn main() {
    let args = Args::parse(ABOUT, false);
    print!("{}", machine::report(&args.sizes));
    println!("rounds     {} of {RUN_KEYS} keys", args.rounds);
    match Counters::open().why_not() {
        Some(why) => println!("counters   software only: {why}"),
        None => println!("counters   hardware and software"),
    }
    for &size in &args.sizes {
        let keys = size.keys(BITS_PER_KEY);
        let mut filters = filled(size, keys, |_| true);
        let mut queries = Queries::new(keys);
        for &op in &args.ops {
            println!(
                "\n{}, {} ({}), {BITS_PER_KEY} bits per key: per key",
                op.name(),
                size.name,
                machine::bytes(size.bytes)
            );
            println!("{HEAD}");
            for filter in &mut filters {
                count_calls(filter.as_mut(), op, args.rounds, &mut queries);
            }
        }
    }
}

const HEAD: &str = "contender       level        mode        cycles  instr.    IPC  branch     L1      LLC    dTLB   \
                    clock ns  faults  switches/s";

fn count_calls(filter: &mut dyn Filter, op: Op, rounds: usize, queries: &mut Queries) {
    let (mut warm, mut keys) = (Keys::default(), Keys::default());
    for call in 0..filter.calls().len() {
        if filter.calls()[call].contender == LIMIT {
            continue;
        }
        filter.touch();
        let counters = Counters::open();
        for _ in 0..rounds {
            queries.draw(op, &mut warm);
            queries.draw(op, &mut keys);
            run_once(filter, call, op, &warm);
            counters.count(|| {
                run_once(filter, call, op, &keys);
            });
        }
        let call = &filter.calls()[call];
        println!("{:<15} {:<12} {:<10} {}", call.contender, call.level, call.mode.name(), columns(&counters, rounds));
    }
}

fn columns(counters: &Counters, rounds: usize) -> String {
    let keys = (rounds * RUN_KEYS) as f64;
    let [cycles, instructions, branches, l1, llc, tlb, clock, faults, switches] = counters.read()[..] else {
        return String::new();
    };
    let number = |value: Option<f64>, width: usize, digits: usize| {
        value.map_or(format!("{:>width$}", "-"), |value| format!("{value:>width$.digits$}"))
    };
    let per_key = |value: Option<f64>, width, digits| number(value.map(|value| value / keys), width, digits);
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
    [
        per_key(cycles, 7, 2),
        per_key(instructions, 7, 1),
        number(ratio(instructions, cycles), 6, 2),
        per_key(branches, 7, 3),
        per_key(l1, 6, 2),
        per_key(llc, 8, 3),
        per_key(tlb, 7, 3),
        per_key(clock, 10, 2),
        per_key(faults, 7, 4),
        number(ratio(switches, clock).map(|per_ns| per_ns * 1e9), 11, 0),
    ]
    .join(" ")
}
