//! Sketchline's: rows, conservative rows and two lines, at every level, attached anew for each run.

use super::{DEPTH, Sketch};
use crate::BATCH_KEYS;
use crate::contender::{Call, Mode};
use crate::machine::Size;
use crate::memory::SharedLines;
use crate::queries::Keys;
use sketchline::{
    BLOCK_BYTES, Cms, CmsLayout, CmsMut, CmsParams, CmsRef, CmsState, CounterSize, Hashes, Isa, KeyHash, U64Keys,
};

/// What kind of sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Four rows.
    Rows,
    /// Four rows, of which only those are raised that must be.
    Conservative,
    /// Two counters in each of two lines.
    TwoLine,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 3] = [Shape::Rows, Shape::Conservative, Shape::TwoLine];

    /// `rows`, `conservative`, `two-line`.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Rows => "rows",
            Shape::Conservative => "conservative",
            Shape::TwoLine => "two-line",
        }
    }

    /// The name in the tables.
    pub const fn contender(self) -> &'static str {
        match self {
            Shape::Rows => "sketchline",
            Shape::Conservative => "sketchline conservative",
            Shape::TwoLine => "sketchline two-line",
        }
    }

    fn params(self, bytes: u64) -> CmsParams {
        let layout = if self == Shape::TwoLine { CmsLayout::TwoLine } else { CmsLayout::Rows };
        let params = CmsParams::for_bytes(layout, CounterSize::U32, bytes, DEPTH).expect("a possible size");
        if self == Shape::Conservative { params.conservative() } else { params }
    }
}

/// One sketch in one shape.
#[derive(Debug)]
pub struct Ours {
    shape: Shape,
    lines: SharedLines,
    kept: Option<SharedLines>,
    calls: Vec<Call>,
    /// How it is attached at each call.
    states: Vec<CmsState>,
}

impl Ours {
    /// Without counts. Single calls are the same code at every level, so they are there once.
    pub fn new(shape: Shape, size: Size) -> Self {
        let params = shape.params(size.bytes);
        let mut lines = SharedLines::zeroed(params.image_bytes() as usize / BLOCK_BYTES);
        let sketch = CmsMut::init(lines.lines_mut().as_flattened_mut(), params).expect("as many bytes as it asks for");
        let fastest = Isa::detect();
        let mut ways =
            [Mode::Batch, Mode::U64Batch, Mode::Single, Mode::U64Single].map(|mode| (fastest, mode)).to_vec();
        ways.extend(Isa::available().filter(|isa| *isa != fastest).map(|isa| (isa, Mode::Batch)));
        let state = |(isa, _): &(Isa, Mode)| {
            let mut state = *sketch.state();
            state.set_isa(*isa);
            state
        };
        Self {
            shape,
            calls: ways.iter().map(|(isa, mode)| Call::new(shape.contender(), isa.name(), *mode)).collect(),
            states: ways.iter().map(state).collect(),
            lines,
            kept: None,
        }
    }

    fn sketch(&self, call: usize) -> CmsRef<'_> {
        Cms::attach(self.lines.lines(), self.states[call]).expect("its own lines")
    }

    fn sketch_mut(&mut self, call: usize) -> CmsMut<'_> {
        Cms::attach(self.lines.lines_mut(), self.states[call]).expect("its own lines")
    }
}

impl Sketch for Ours {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    fn add(&mut self, call: usize, keys: &Keys) {
        let mode = self.calls[call].mode;
        add(self.sketch_mut(call), mode, keys);
    }

    fn estimate(&mut self, call: usize, keys: &Keys, out: &mut [u64]) {
        estimate(self.sketch(call), self.calls[call].mode, keys, out);
    }

    /// Merging and halving are timed in rows: they are the same code in every shape.
    fn keep(&mut self) {
        if self.shape != Shape::Rows {
            return;
        }
        let mut kept = SharedLines::zeroed(self.lines.lines().len());
        kept.lines_mut().copy_from_slice(self.lines.lines());
        self.kept = Some(kept);
    }

    fn merge(&mut self, call: usize) -> bool {
        let Some(kept) = &self.kept else { return false };
        let kept = Cms::attach(kept.lines(), self.states[call]).expect("lines like its own");
        let mut sketch = Cms::attach(self.lines.lines_mut(), self.states[call]).expect("its own lines");
        sketch.merge(&kept).expect("like sketches");
        true
    }

    fn halve(&mut self, call: usize) -> bool {
        if self.shape != Shape::Rows {
            return false;
        }
        self.sketch_mut(call).halve();
        true
    }
}

#[inline(never)]
fn add(mut sketch: CmsMut<'_>, mode: Mode, keys: &Keys) {
    match mode {
        Mode::Single => keys.hashes.iter().for_each(|&hash| _ = sketch.add_hash(KeyHash::from_raw(hash), 1)),
        Mode::U64Single => keys.keys.iter().for_each(|&key| _ = sketch.add_u64(key, 1).expect("native hash")),
        Mode::Batch => {
            for hashes in keys.hashes.chunks(BATCH_KEYS) {
                sketch.add_batch(&Hashes(hashes), 1).expect("native hash");
            }
        }
        Mode::U64Batch => {
            for keys in keys.keys.chunks(BATCH_KEYS) {
                sketch.add_batch(&U64Keys(keys), 1).expect("native hash");
            }
        }
    }
}

#[inline(never)]
fn estimate(sketch: CmsRef<'_>, mode: Mode, keys: &Keys, out: &mut [u64]) {
    match mode {
        Mode::Single => {
            for (&hash, out) in keys.hashes.iter().zip(out) {
                *out = sketch.estimate_hash(KeyHash::from_raw(hash));
            }
        }
        Mode::U64Single => {
            for (&key, out) in keys.keys.iter().zip(out) {
                *out = sketch.estimate_u64(key).expect("native hash");
            }
        }
        Mode::Batch => {
            for (hashes, out) in keys.hashes.chunks(BATCH_KEYS).zip(out.chunks_mut(BATCH_KEYS)) {
                sketch.estimate_batch(&Hashes(hashes), out).expect("native hash");
            }
        }
        Mode::U64Batch => {
            for (keys, out) in keys.keys.chunks(BATCH_KEYS).zip(out.chunks_mut(BATCH_KEYS)) {
                sketch.estimate_batch(&U64Keys(keys), out).expect("native hash");
            }
        }
    }
}
