//! What the tables of HyperLogLog and Count-Min share: rows, medians over interleaved rounds, text and JSON.

use crate::machine::Size;
use crate::stats::median;
use std::fmt::Write;
use std::time::Instant;

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Whose sketch.
    pub contender: &'static str,
    /// Which instructions, or which form.
    pub level: String,
    /// What was timed.
    pub op: &'static str,
    /// How keys are handed over; of what takes none: empty.
    pub mode: &'static str,
    /// Of the sketch.
    pub size: Size,
}

/// One measured figure.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is about.
    pub name: Name,
    /// Nanoseconds per key, sketch, line or call, as the operation has it.
    pub ns: f64,
    /// How far off the sketch's answers are, where it has any.
    pub error: Option<f64>,
}

/// Nanoseconds of some work, for each of `n` parts of it.
pub fn timed(n: usize, work: impl FnOnce()) -> f64 {
    let clock = Instant::now();
    work();
    clock.elapsed().as_nanos() as f64 / n as f64
}

/// Runs a round so many times, and once before to warm up: it is given the number of the round and where to put its
/// times. A row for each name, in the order of the first round, with the median of its times.
pub fn medians(rounds: usize, mut run: impl FnMut(usize, &mut dyn FnMut(Name, Option<f64>, f64))) -> Vec<Row> {
    let mut rows: Vec<(Row, Vec<f64>)> = Vec::new();
    for round in 0..=rounds {
        run(round, &mut |name, error, ns| match rows.iter_mut().find(|(row, _)| row.name == name) {
            Some((_, times)) if round > 0 => times.push(ns),
            Some(_) => {}
            None => rows.push((Row { name, ns, error }, Vec::new())),
        });
    }
    rows.into_iter().map(|(row, mut times)| Row { ns: median(&mut times), ..row }).collect()
}

/// The rows of one operation and size, fastest first, with the error in words.
pub fn table<'a>(rows: impl Iterator<Item = &'a Row>, error: impl Fn(f64) -> String) -> String {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let mut text = String::new();
    for Row { name, ns, error: figure } in rows {
        let error = figure.map_or("-".into(), &error);
        let Name { contender, level, mode, .. } = name;
        let _ = writeln!(text, "{contender:<24} {level:<12} {mode:<16} {ns:>9.2} {error:>10}");
    }
    text
}

/// The rows as JSON objects, in the fields of the filter's, with the error beside under a name of its own.
pub fn json(rows: &[Row], sketch: &str, error_name: &str) -> Vec<String> {
    let object = |Row { name, ns, error }: &Row| {
        let error = error.map_or("null".into(), |error| format!("{error:.6}"));
        let Name { contender, level, op, mode, size } = name;
        format!(
            r#"{{"sketch":"{sketch}","contender":"{contender}","level":"{level}","op":"{op}","mode":"{mode}","size":"{}","bytes":{},"bits_per_key":null,"ns":{ns:.4},"fpr":null,"limit_ns":null,"{error_name}":{error}}}"#,
            size.name, size.bytes,
        )
    };
    rows.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_does_not_count() {
        let name =
            |op| Name { contender: "a", level: String::new(), op, mode: "", size: Size { name: "l2", bytes: 64 } };
        let rows = medians(3, |round, record| {
            record(name("add"), None, [1e9, 3.0, 1.0, 2.0][round]);
            record(name("estimate"), Some(0.5), 7.0);
        });
        assert_eq!(rows.iter().map(|row| (row.name.op, row.ns)).collect::<Vec<_>>(), [("add", 2.0), ("estimate", 7.0)]);
        let json = json(&rows, "hll", "rmse");
        assert!(json[0].contains(r#""ns":2.0000,"#) && json[0].ends_with(r#""rmse":null}"#), "{json:?}");
        assert!(json[1].ends_with(r#""rmse":0.500000}"#), "{json:?}");
    }
}
