//! Interleaved rounds: in every round each call of each filter runs once on the same new keys, so that a slow
//! moment of the machine hits all alike. Medians over the rounds.

use crate::RUN_KEYS;
use crate::contender::{self, Call, Filter, LIMIT};
use crate::machine::{self, Size};
use crate::queries::{Keys, Op, Queries};
use crate::rounds::timed;
use crate::stats::median;

/// One measured figure.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who, with which instructions, called how.
    pub call: Call,
    /// What was timed.
    pub op: Op,
    /// Size of the filter.
    pub size: Size,
    /// Bits of the filter per key in it.
    pub bits_per_key: f64,
    /// Nanoseconds per key.
    pub ns: f64,
    /// Share of absent keys that the filter takes for present; `None` of the limit.
    pub fpr: Option<f64>,
    /// Nanoseconds per random line read on the same memory, in the same rounds.
    pub limit_ns: f64,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Size of the filters.
    pub size: Size,
    /// Bits per key.
    pub bits_per_key: f64,
    /// In this order; inserting must be last.
    pub ops: Vec<Op>,
    /// Rounds that count; one more comes first to warm up.
    pub rounds: usize,
    /// Runs of absent keys that the FPR is taken from.
    pub fpr_runs: usize,
}

/// Filled filters of the contenders that are wanted, and the keys to ask them.
pub fn filled(size: Size, keys: u64, wanted: impl Fn(&str) -> bool) -> Vec<Box<dyn Filter>> {
    let mut filters = contender::make(size, keys, wanted);
    for filter in &mut filters {
        contender::fill(filter.as_mut(), size, keys);
    }
    filters
}

/// Fills filters and runs the plan.
pub fn run(plan: &Plan, wanted: impl Fn(&str) -> bool, mut say: impl FnMut(&str)) -> Vec<Row> {
    let keys = plan.size.keys(plan.bits_per_key);
    say("filling");
    let mut filters = filled(plan.size, keys, wanted);
    let mut queries = Queries::new(keys);
    filters.iter_mut().for_each(|filter| verify(filter.as_mut(), &mut queries));
    say(&format!("{:.0} % of memory in huge pages; counting false positives", 100.0 * machine::huge_share()));
    let fprs: Vec<_> = filters.iter_mut().map(|f| fpr(f.as_mut(), &mut queries, plan.fpr_runs)).collect();
    let mut rows = Vec::new();
    for &op in &plan.ops {
        say(op.name());
        let times = rounds(plan, op, keys, &mut filters, &mut queries);
        let calls = filters.iter().zip(&fprs).flat_map(|(f, fpr)| f.calls().iter().map(move |call| (call, *fpr)));
        let new: Vec<_> = calls
            .zip(times.into_iter().flatten())
            .map(|((call, fpr), mut times)| Row {
                call: call.clone(),
                op,
                size: plan.size,
                bits_per_key: plan.bits_per_key,
                ns: median(&mut times),
                fpr: (call.contender != LIMIT).then_some(fpr),
                limit_ns: 0.0,
            })
            .collect();
        rows.extend(with_limit(new));
    }
    rows
}

/// Keeps the best way to read lines, of those tried, and tells it to all rows of one operation.
fn with_limit(rows: Vec<Row>) -> impl Iterator<Item = Row> {
    let (limits, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.call.contender == LIMIT);
    let best = limits.into_iter().min_by(|a, b| a.ns.total_cmp(&b.ns));
    let limit_ns = best.as_ref().map_or(f64::NAN, |best| best.ns);
    rows.into_iter().chain(best).map(move |row| Row { limit_ns, ..row })
}

/// The times of each call of each filter, in their order.
///
/// Each call gets keys of its own, lest it finds the lines of the one before in a cache or its answers in the
/// branch predictor; but every filter gets the same ones. Who comes first changes with the round.
fn rounds(
    plan: &Plan,
    op: Op,
    capacity: u64,
    filters: &mut [Box<dyn Filter>],
    queries: &mut Queries,
) -> Vec<Vec<Vec<f64>>> {
    let mut times: Vec<_> = filters.iter().map(|filter| vec![Vec::new(); filter.calls().len()]).collect();
    let mut fills: Vec<_> = filters.iter().map(|_| Fill { inserted: capacity, capacity }).collect();
    let (mut warm, mut keys) = (Keys::default(), Keys::default());
    for round in 0..=plan.rounds {
        let start = queries.clone();
        for f in rotated(filters.len(), round) {
            let filter = filters[f].as_mut();
            let mut drawn = start.clone();
            for call in rotated(filter.calls().len(), round) {
                drawn.draw(op, &mut warm);
                drawn.draw(op, &mut keys);
                fills[f].make_room(op, filter);
                filter.touch();
                run_once(filter, call, op, &warm);
                let ns = timed(RUN_KEYS, || _ = run_once(filter, call, op, &keys));
                if round > 0 {
                    times[f][call].push(ns);
                }
            }
            queries.skip_to(drawn);
        }
    }
    times
}

/// `0 .. len`, beginning elsewhere each time.
pub(crate) fn rotated(len: usize, by: usize) -> impl Iterator<Item = usize> {
    (0..len).map(move |i| (i + by) % len)
}

/// All calls of a filter must give one answer, and no key that was inserted may be missed.
fn verify(filter: &mut dyn Filter, queries: &mut Queries) {
    let mut keys = Keys::default();
    for op in Op::LOOK_UPS {
        queries.draw(op, &mut keys);
        let answers: Vec<_> = (0..filter.calls().len()).filter_map(|call| filter.look_up(call, &keys)).collect();
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{:?}: {answers:?}", filter.calls());
        assert!(op != Op::Present || answers[0] == RUN_KEYS, "{:?}: a key was lost", filter.calls()[0]);
    }
}

/// Runs a call on some keys; the hits of a look-up.
pub fn run_once(filter: &mut dyn Filter, call: usize, op: Op, keys: &Keys) -> Option<usize> {
    if op == Op::Insert {
        filter.insert(call, keys);
        return None;
    }
    filter.look_up(call, keys)
}

/// How full a filter is, so that it is inserted into as it fills up, and not when it is long full.
struct Fill {
    inserted: u64,
    capacity: u64,
}

impl Fill {
    fn make_room(&mut self, op: Op, filter: &mut dyn Filter) {
        if op != Op::Insert {
            return;
        }
        if self.inserted + 2 * RUN_KEYS as u64 > self.capacity {
            filter.clear();
            self.inserted = 0;
        }
        self.inserted += 2 * RUN_KEYS as u64;
    }
}

/// The share of hits among this many runs of absent keys.
pub fn fpr(filter: &mut dyn Filter, queries: &mut Queries, runs: usize) -> f64 {
    let mut keys = Keys::default();
    let mut hits = 0;
    for _ in 0..runs {
        queries.draw(Op::Absent, &mut keys);
        hits += filter.look_up(0, &keys).unwrap_or(0);
    }
    hits as f64 / (runs * RUN_KEYS) as f64
}

/// The FPR of one filter at one number of bits per key.
#[derive(Clone, Debug)]
pub struct FprPoint {
    /// Whose filter.
    pub contender: &'static str,
    /// Bits per key.
    pub bits_per_key: f64,
    /// By counting.
    pub measured: f64,
    /// By theory.
    pub predicted: f64,
}

/// FPR against bits per key, of filters whose theory we know, small enough that probes are cheap and large enough
/// that the load of their blocks averages out.
pub fn fpr_curve(quick: bool) -> Vec<FprPoint> {
    let size = Size { name: "curve", bytes: 8 << 20 };
    let mut points = Vec::new();
    for bits_per_key in [6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0] {
        // About as many false positives at each point; rare ones need more probes.
        let probes = if quick { 1.5e7 } else { 6e7 } * (bits_per_key / 12.0_f64).powi(3);
        let runs = (probes / RUN_KEYS as f64) as usize;
        let keys = size.keys(bits_per_key);
        for mut filter in contender::make(size, keys, |name| name != "parquet" && name != contender::OURS_K8) {
            let Some(predicted) = filter.predicted_fpr(bits_per_key) else { continue };
            contender::fill(filter.as_mut(), size, keys);
            let measured = fpr(filter.as_mut(), &mut Queries::new(keys), runs);
            points.push(FprPoint { contender: filter.calls()[0].contender, bits_per_key, measured, predicted });
        }
    }
    points
}
