//! Sketchline at every level, through Rust and through C, and the limit: all on the same memory.

use super::{Call, Filter, LIMIT, Mode, OURS, OURS_K8};
use crate::BATCH_KEYS;
use crate::limit::Scheme;
use crate::machine::Size;
use crate::memory::{SharedLines, touch};
use crate::queries::Keys;
use sketchline::{Bloom, BloomMut, BloomParams, BloomRef, BloomState, Hashes, Isa, KeyHash, U64Keys};

/// One filter, attached anew for each run, as a host does that holds bytes and a handle.
pub(super) struct Ours {
    lines: SharedLines,
    state: BloomState,
    calls: Vec<Call>,
    /// What to do at each call, in the same order.
    ways: Vec<Way>,
    bitmap: Vec<u64>,
    #[cfg(feature = "capi")]
    c: super::capi::Handle,
}

#[derive(Clone, Copy)]
enum Way {
    Rust(Isa, Mode),
    #[cfg(feature = "capi")]
    C(Mode),
    Limit(Scheme),
}

impl Ours {
    pub(super) fn new(name: &'static str, size: Size, keys: u64, probes: Option<u32>) -> Self {
        let mut params = BloomParams::for_bytes(keys, size.bytes).expect("a possible size");
        if let Some(probes) = probes {
            params = BloomParams::explicit(params.num_blocks().into(), probes).expect("possible").with_capacity(keys);
        }
        let mut lines = SharedLines::zeroed(params.num_blocks() as usize + 1);
        let filter =
            BloomMut::init(lines.lines_mut().as_flattened_mut(), params).expect("as many bytes as it asks for");
        let state = *filter.state();

        let fastest = Isa::detect();
        let mut rows = vec![
            (Call::new(name, fastest.name(), Mode::Batch), Way::Rust(fastest, Mode::Batch)),
            (Call::new(name, fastest.name(), Mode::Single), Way::Rust(fastest, Mode::Single)),
        ];
        if name != OURS_K8 {
            for mode in [Mode::U64Batch, Mode::U64Single] {
                rows.push((Call::new(name, fastest.name(), mode), Way::Rust(fastest, mode)));
            }
            let slower: Vec<_> = Isa::available().filter(|isa| *isa != fastest).collect();
            for isa in slower.into_iter().rev() {
                for mode in [Mode::Batch, Mode::Single] {
                    rows.push((Call::new(name, isa.name(), mode), Way::Rust(isa, mode)));
                }
            }
            #[cfg(feature = "capi")]
            for mode in [Mode::Batch, Mode::Single] {
                rows.push((Call::new(super::OURS_C, fastest.name(), mode), Way::C(mode)));
            }
            rows.extend(Scheme::all().into_iter().map(|s| (Call::new(LIMIT, s.name(), Mode::Batch), Way::Limit(s))));
        }
        let (calls, ways) = rows.into_iter().unzip();
        Self {
            #[cfg(feature = "capi")]
            c: super::capi::Handle::open(&mut lines),
            lines,
            state,
            calls,
            ways,
            bitmap: vec![0; BATCH_KEYS / 64],
        }
    }

    fn filter_mut(&mut self, isa: Isa) -> BloomMut<'_> {
        let mut state = self.state;
        state.set_isa(isa);
        Bloom::attach(self.lines.lines_mut(), state).expect("its own lines")
    }
}

impl Filter for Ours {
    fn calls(&self) -> &[Call] {
        &self.calls
    }

    fn look_up(&mut self, call: usize, keys: &Keys) -> Option<usize> {
        match self.ways[call] {
            Way::Rust(isa, mode) => {
                let mut state = self.state;
                state.set_isa(isa);
                let filter = Bloom::attach(self.lines.lines(), state).expect("its own lines");
                Some(look_up(filter, mode, keys, &mut self.bitmap))
            }
            #[cfg(feature = "capi")]
            Way::C(mode) => Some(self.c.look_up(mode, keys, &mut self.bitmap)),
            Way::Limit(scheme) => {
                scheme.read(self.lines.lines(), &keys.hashes);
                None
            }
        }
    }

    fn insert(&mut self, call: usize, keys: &Keys) {
        match self.ways[call] {
            Way::Rust(isa, mode) => insert(self.filter_mut(isa), mode, keys),
            #[cfg(feature = "capi")]
            Way::C(mode) => self.c.insert(mode, keys),
            Way::Limit(scheme) => scheme.read(self.lines.lines(), &keys.hashes),
        }
    }

    fn touch(&self) {
        touch(self.lines.lines().as_flattened());
    }

    fn clear(&mut self) {
        self.filter_mut(Isa::detect()).clear();
    }

    fn predicted_fpr(&self, _: f64) -> Option<f64> {
        (self.calls[0].contender == OURS).then(|| self.state.params().predicted_fpr())
    }
}

#[inline(never)]
fn look_up(filter: BloomRef<'_>, mode: Mode, keys: &Keys, bitmap: &mut [u64]) -> usize {
    let ones = |out: &mut [u64]| out.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    match mode {
        Mode::Single => keys.hashes.iter().filter(|&&hash| filter.contains_hash(KeyHash::from_raw(hash))).count(),
        Mode::U64Single => keys.keys.iter().filter(|&&key| filter.contains_u64(key) == Ok(true)).count(),
        Mode::Batch => {
            let look_up = |hashes| {
                filter.contains_batch(&Hashes(hashes), bitmap).expect("a bit per key");
                ones(bitmap)
            };
            keys.hashes.chunks(BATCH_KEYS).map(look_up).sum()
        }
        Mode::U64Batch => {
            let look_up = |keys| {
                filter.contains_batch(&U64Keys(keys), bitmap).expect("a bit per key");
                ones(bitmap)
            };
            keys.keys.chunks(BATCH_KEYS).map(look_up).sum()
        }
    }
}

#[inline(never)]
fn insert(mut filter: BloomMut<'_>, mode: Mode, keys: &Keys) {
    match mode {
        Mode::Single => keys.hashes.iter().for_each(|&hash| filter.insert_hash(KeyHash::from_raw(hash))),
        Mode::U64Single => keys.keys.iter().for_each(|&key| filter.insert_u64(key).expect("native hash")),
        Mode::Batch => keys.hashes.chunks(BATCH_KEYS).for_each(|hashes| filter.insert_hashes(hashes)),
        Mode::U64Batch => {
            keys.keys.chunks(BATCH_KEYS).for_each(|keys| filter.insert_batch(&U64Keys(keys)).expect("native hash"))
        }
    }
}
