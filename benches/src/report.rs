//! Tables for people, and JSON.

use crate::contender::{LIMIT, Mode, OURS};
use crate::machine::bytes;
use crate::measure::{FprPoint, Row};
use crate::queries::Op;
use std::fmt::Write;

/// The least time of some rows.
pub fn least<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    rows.map(|row| row.ns).min_by(f64::total_cmp)
}

/// One table per operation, size and bits per key.
pub fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    for rows in rows.chunk_by(|a, b| (a.op, a.size, a.bits_per_key) == (b.op, b.size, b.bits_per_key)) {
        text += &table(rows);
    }
    text
}

fn table(rows: &[Row]) -> String {
    let Some(Row { op, size, bits_per_key, .. }) = rows.first() else { return String::new() };
    let ours = least(rows.iter().filter(|row| row.call.contender == OURS && row.call.mode == Mode::Batch));
    let mut text = format!("\n{}, {} ({}), {bits_per_key} bits per key\n", op.name(), size.name, bytes(size.bytes));
    text += "contender       level        mode        ns/key  of limit   vs ours       FPR\n";
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    for row in rows {
        let (call, of_limit) = (&row.call, 100.0 * row.limit_ns / row.ns);
        let versus = row.ns / ours.unwrap_or(f64::NAN);
        let fpr = row.fpr.map_or("-".into(), percent);
        let _ = writeln!(
            text,
            "{:<15} {:<12} {:<10} {:>7.2} {of_limit:>7.0} % {versus:>8.2}x {fpr:>10}",
            call.contender,
            call.level,
            call.mode.name(),
            row.ns,
        );
    }
    text
}

/// Four digits of a small share.
pub fn percent(share: f64) -> String {
    format!("{:.4} %", 100.0 * share)
}

/// FPR by counting and by theory.
pub fn fpr_table(points: &[FprPoint]) -> String {
    let mut text =
        String::from("\nFPR against bits per key\ncontender        bits/key   measured  predicted   off by\n");
    for point in points {
        let _ = writeln!(
            text,
            "{:<15} {:>9} {:>10} {:>10} {:>6.1} %",
            point.contender,
            point.bits_per_key,
            percent(point.measured),
            percent(point.predicted),
            100.0 * (point.measured / point.predicted - 1.0),
        );
    }
    text
}

/// An array of objects, one per row, and `more`.
pub fn json(rows: &[Row], more: Vec<String>) -> String {
    let objects: Vec<_> = rows.iter().map(object).chain(more).collect();
    format!("[\n{}\n]\n", objects.join(",\n"))
}

fn object(row: &Row) -> String {
    let number =
        |value: f64, digits: usize| if value.is_finite() { format!("{value:.digits$}") } else { "null".into() };
    let fpr = row.fpr.map_or("null".into(), |fpr| number(fpr, 8));
    let (call, size) = (&row.call, row.size);
    // No name has a character that JSON would escape.
    format!(
        r#"{{"sketch":"bloom","contender":"{}","level":"{}","op":"{}","mode":"{}","size":"{}","bytes":{},"bits_per_key":{},"ns":{},"fpr":{fpr},"limit_ns":{}}}"#,
        call.contender,
        call.level,
        row.op.name(),
        call.mode.name(),
        size.name,
        size.bytes,
        row.bits_per_key,
        number(row.ns, 4),
        number(row.limit_ns, 4),
    )
}

/// Rows that a target speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    all: &'a [Row],
    size: &'a str,
    bits_per_key: f64,
}

impl<'a> Rows<'a> {
    /// Those of one size and number of bits per key.
    pub fn at(all: &'a [Row], size: &'a str, bits_per_key: f64) -> Self {
        Self { all, size, bits_per_key }
    }

    /// Those of one contender and operation.
    pub fn of(self, contender: &'a str, op: Op) -> impl Iterator<Item = &'a Row> {
        self.all.iter().filter(move |row| {
            let here = row.size.name == self.size && row.bits_per_key == self.bits_per_key;
            here && row.op == op && row.call.contender == contender
        })
    }

    /// The fastest call of a contender.
    pub fn fastest(self, contender: &'a str, op: Op) -> Option<f64> {
        least(self.of(contender, op))
    }

    /// One mode of a contender; at one level, or at its fastest.
    pub fn call(self, contender: &'a str, level: Option<&str>, mode: Mode, op: Op) -> Option<f64> {
        let is_it = |row: &&Row| row.call.mode == mode && level.is_none_or(|level| row.call.level == level);
        least(self.of(contender, op).filter(is_it))
    }

    /// Random line reads.
    pub fn limit(self, op: Op) -> Option<f64> {
        self.fastest(LIMIT, op)
    }

    /// The FPR of a contender.
    pub fn fpr(self, contender: &'a str) -> Option<f64> {
        Op::ALL.into_iter().find_map(|op| self.of(contender, op).find_map(|row| row.fpr))
    }
}
