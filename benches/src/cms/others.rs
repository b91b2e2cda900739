//! The crates of others, all of which build with a stable compiler. They take keys, hash them themselves, and have
//! neither a batch nor a way to hand over a hash.

use super::{DEPTH, Sketch};
use crate::contender::{Call, Mode};
use crate::machine::Size;
use crate::queries::Keys;
use ::amadeus_streaming::CountMinSketch as Amadeus;
use ::count_min_sketch::CountMinSketch32;
use ::datasketches::countmin::CountMinSketch as DataSketch;

/// Apache's: a MurmurHash3 for each row.
pub(super) const DATASKETCHES: &str = "datasketches";

/// A sketch that is called with one key at a time.
struct Other<T> {
    calls: [Call; 1],
    sketch: T,
    kept: Option<T>,
    add: fn(&mut T, &[u64]),
    estimate: fn(&T, &[u64], &mut [u64]),
    copy: fn(&T) -> T,
    merge: Option<fn(&mut T, &T)>,
    halve: Option<fn(&mut T)>,
}

impl<T> Sketch for Other<T> {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    fn add(&mut self, _: usize, keys: &Keys) {
        (self.add)(&mut self.sketch, &keys.keys);
    }

    fn estimate(&mut self, _: usize, keys: &Keys, out: &mut [u64]) {
        (self.estimate)(&self.sketch, &keys.keys, out);
    }

    fn keep(&mut self) {
        self.kept = self.merge.map(|_| (self.copy)(&self.sketch));
    }

    fn merge(&mut self, _: usize) -> bool {
        let both = self.merge.zip(self.kept.as_ref());
        both.map(|(merge, kept)| merge(&mut self.sketch, kept)).is_some()
    }

    fn halve(&mut self, _: usize) -> bool {
        self.halve.map(|halve| halve(&mut self.sketch)).is_some()
    }
}

fn call(contender: &'static str, level: &str) -> [Call; 1] {
    [Call::new(contender, level, Mode::U64Single)]
}

/// Two of them speak of a tolerance of `2 / width` and a probability of `1 - 2^-depth` of staying within it, and
/// round: a little more probability than that gives the depth.
const PROBABILITY: f64 = 1.0 - 0.99 / (1 << DEPTH) as f64;

/// All of them, without counts, in so many bytes.
pub(super) fn all(size: Size) -> Vec<Box<dyn Sketch>> {
    let width = size.bytes / 4 / u64::from(DEPTH);
    let data = DataSketch::<u32>::new(DEPTH as u8, width as u32).expect("a legal size");
    let minimal = CountMinSketch32::<u64>::new(width as usize, PROBABILITY, 2.0).expect("a legal size");
    let amadeus = Amadeus::<u64, u32>::new(PROBABILITY, 2.0 / width as f64, ());
    vec![
        Box::new(Other {
            calls: call(DATASKETCHES, "rows"),
            sketch: data,
            kept: None,
            add: |sketch, keys| keys.iter().for_each(|&key| sketch.update(key)),
            estimate: |sketch, keys, out| {
                keys.iter().zip(out).for_each(|(&key, out)| *out = sketch.estimate(key).into());
            },
            copy: Clone::clone,
            merge: Some(|sketch, kept| sketch.merge(kept).expect("like sketches")),
            halve: Some(DataSketch::halve),
        }),
        Box::new(Other {
            calls: call("count-min-sketch", "conservative"),
            sketch: minimal,
            kept: None,
            add: |sketch, keys| keys.iter().for_each(|key| sketch.increment(key)),
            estimate: |sketch, keys, out| {
                keys.iter().zip(out).for_each(|(key, out)| *out = sketch.estimate(key).into())
            },
            copy: Clone::clone,
            merge: None,
            halve: Some(CountMinSketch32::reset),
        }),
        Box::new(Other {
            calls: call("amadeus-streaming", "conservative"),
            sketch: amadeus,
            kept: None,
            add: |sketch, keys| keys.iter().for_each(|key| drop_count(sketch.push(key, &1))),
            estimate: |sketch, keys, out| keys.iter().zip(out).for_each(|(key, out)| *out = sketch.get(key).into()),
            copy: Clone::clone,
            merge: None,
            halve: None,
        }),
    ]
}

fn drop_count(_: u32) {}
