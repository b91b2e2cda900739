//! Sketchline beside its peers, and beside the limit of the machine, in one process.

use sketchline_benches::args::Args;
use sketchline_benches::contender::{FASTBLOOM, OURS, ROCKSDB, SBBF};
use sketchline_benches::machine::{self, Size};
use sketchline_benches::measure::{Plan, Row, fpr_curve, run};
use sketchline_benches::promises::{self, BITS_PER_KEY, MORE_BITS_PER_KEY};
use sketchline_benches::queries::Op;
use sketchline_benches::{BATCH_KEYS, RUN_KEYS, cms, hll, plots, report, rounds};
use std::time::Instant;

const ABOUT: &str =
    "Times sketches on the same keys in interleaved rounds, beside their peers; filters beside random line reads.";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse(ABOUT, true);
    let start = Instant::now();
    print!("{}", machine::report(&args.sizes));
    println!("rounds     {} of {RUN_KEYS} keys, medians; {BATCH_KEYS} keys per batch call", args.rounds);

    let hll =
        if args.sketches.contains(&"hll") { hll::run(args.rounds, |what| eprintln!("{what}")) } else { Vec::new() };
    if !hll.is_empty() {
        print!("{}", hll::tables(&hll));
    }
    let cms = if args.sketches.contains(&"cms") {
        cms::run(&args.sizes, args.rounds, |what| eprintln!("{what}"))
    } else {
        Vec::new()
    };
    if !cms.is_empty() {
        print!("{}", cms::tables(&cms));
    }
    let rows = if args.sketches.contains(&"bloom") { bloom(&args)? } else { Vec::new() };
    if let Some(file) = &args.json {
        std::fs::write(
            file,
            report::json(&rows, [rounds::json(&hll, "hll", "rmse"), rounds::json(&cms, "cms", "error")].concat()),
        )?;
    }
    println!("\n{} s", start.elapsed().as_secs());
    Ok(())
}

/// Prints the tables of the filter, and draws them.
fn bloom(args: &Args) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for &size in &args.sizes {
        rows.extend(measured(args, size, BITS_PER_KEY, args.ops.clone(), |_| true));
        let skipped = args.quick && size.name == "memory";
        if args.ops.contains(&Op::Mixed) && !skipped {
            rows.extend(measured(args, size, MORE_BITS_PER_KEY, vec![Op::Mixed], |_| true));
        }
    }
    print!("{}", report::tables(&rows));
    eprintln!("FPR against bits per key");
    let fprs = fpr_curve(args.quick);
    print!("{}{}", report::fpr_table(&fprs), promises::table(&rows, &fprs));
    if let Some(dir) = &args.svg {
        let curve = curve(args, &rows);
        std::fs::create_dir_all(dir)?;
        plots::time_against_size(&dir.join("bloom-time.svg"), &curve)?;
        plots::fpr_against_bits(&dir.join("bloom-fpr.svg"), &fprs)?;
        rows.extend(curve.into_iter().filter(|row| row.size.name == "curve"));
    }
    Ok(rows)
}

fn measured(args: &Args, size: Size, bits_per_key: f64, ops: Vec<Op>, wanted: fn(&str) -> bool) -> Vec<Row> {
    let fpr_runs = if args.quick { 64 } else { 512 };
    let plan = Plan { size, bits_per_key, ops, rounds: args.rounds, fpr_runs };
    run(&plan, wanted, |what| {
        eprintln!("{} ({}), {bits_per_key} bits per key: {what}", size.name, machine::bytes(size.bytes));
    })
}

/// Absent look-ups at sizes from 64 KiB on in steps of 4, and those of the tables.
fn curve(args: &Args, rows: &[Row]) -> Vec<Row> {
    let wanted = |name: &str| [OURS, ROCKSDB, SBBF, FASTBLOOM].contains(&name);
    let last = args.sizes.iter().map(|size| size.bytes).max().unwrap_or(0);
    let steps = (0..).map(|step| 64 << 10 << (2 * step)).take_while(|&bytes| bytes < last);
    let mut curve: Vec<_> =
        rows.iter().filter(|row| row.op == Op::Absent && row.bits_per_key == BITS_PER_KEY).cloned().collect();
    for bytes in steps.filter(|bytes| args.sizes.iter().all(|size| size.bytes != *bytes)) {
        let size = Size { name: "curve", bytes };
        curve.extend(measured(args, size, BITS_PER_KEY, vec![Op::Absent], wanted));
    }
    curve
}
