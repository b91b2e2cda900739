//! Count-Min: every instruction set against a scalar model of the format, byte for byte; saturation, aging, windows,
//! merges, inner products, images and hostile bytes.

#[path = "common/allocations.rs"]
mod allocations;
mod common;

use allocations::peak;
use common::{EXTREME, Guarded, JUNK, Random, for_every_isa, resealed};
use sketchline::{
    Arrow, Cms, CmsLayout, CmsMut, CmsParams, CmsRef, CmsWindow, CountMinSketch, CounterSize, Error, HashScheme,
    Hashes, Isa, KeyBatch, KeyHash, Nullable, OpenOptions, Slices, U64Keys,
};

const STRICT: OpenOptions = OpenOptions::STRICT;
const UNSEALED: OpenOptions = OpenOptions::STRICT.allow_unsealed();
const MODES: [bool; 2] = [false, true];
const COUNTERS: [CounterSize; 2] = [CounterSize::U32, CounterSize::U64];

// The model: docs/FORMAT.md once more, one counter at a time.

/// The multipliers as the format lists them.
const C: [u64; 16] = [
    0xe220a8397b1dcdaf,
    0x6e789e6aa1b965f5,
    0x06c45d188009454f,
    0xf88bb8a8724c81ed,
    0x1b39896a51a8749b,
    0x53cb9f0c747ea2eb,
    0x2c829abe1f4532e1,
    0xc584133ac916ab3d,
    0x3ee5789041c98ac3,
    0xf3b8488c368cb0a7,
    0x657eecdd3cb13d09,
    0xc2d326e0055bdef7,
    0x8621a03fe0bbdb7b,
    0x8e1f7555983aa92f,
    0xb54e0f1600cc4d19,
    0x84bb3f97971d80ab,
];

#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    layout: CmsLayout,
    /// Width in rows, lines of a half in the two-line layout.
    size: usize,
    depth: usize,
    counter: CounterSize,
    conservative: bool,
    hashing: HashScheme,
}

const fn rows(size: usize, depth: usize, counter: CounterSize, conservative: bool) -> Shape {
    Shape { layout: CmsLayout::Rows, size, depth, counter, conservative, hashing: HashScheme::NATIVE }
}

const fn two_line(size: usize, counter: CounterSize, conservative: bool) -> Shape {
    Shape { layout: CmsLayout::TwoLine, size, depth: 4, counter, conservative, hashing: HashScheme::NATIVE }
}

impl Shape {
    fn per_line(self) -> usize {
        64 / self.counter.bytes()
    }

    fn params(self) -> CmsParams {
        let width = match self.layout {
            CmsLayout::Rows => self.size,
            CmsLayout::TwoLine => self.size * self.per_line() / 2,
        };
        let params = CmsParams::of_width(self.layout, self.counter, width as u64, self.depth as u32).unwrap();
        let params = params.with_hashing(self.hashing);
        if self.conservative { params.conservative() } else { params }
    }

    fn sketch(self, isa: Isa) -> CountMinSketch {
        CountMinSketch::new(self.params()).unwrap().with_isa(isa)
    }
}

#[derive(Clone)]
struct Model {
    shape: Shape,
    /// As they lie in the payload, padding included.
    counters: Vec<u64>,
    total: u64,
}

impl Model {
    fn new(shape: Shape) -> Self {
        let len = match shape.layout {
            CmsLayout::Rows => shape.depth * shape.size.next_multiple_of(shape.per_line()),
            CmsLayout::TwoLine => 2 * shape.size * shape.per_line(),
        };
        Self { shape, counters: vec![0; len], total: 0 }
    }

    fn cells(&self, hash: u64) -> Vec<usize> {
        let Shape { layout, size, depth, .. } = self.shape;
        let per_line = self.shape.per_line();
        let x = |i: usize| (u128::from(hash) * u128::from(C[i])) % (1 << 64);
        let scaled = |x: u128| ((x / (1 << 32)) * size as u128 / (1 << 32)) as usize;
        match layout {
            CmsLayout::Rows => (0..depth).map(|i| i * size.next_multiple_of(per_line) + scaled(x(i))).collect(),
            CmsLayout::TwoLine => {
                let half = per_line / 2;
                let in_half = |j: usize| {
                    let line = (j * size + scaled(x(j))) * per_line;
                    [line + (x(j) >> 16) as usize % half, line + half + (x(j) >> 19) as usize % half]
                };
                (0..2).flat_map(in_half).collect()
            }
        }
    }

    fn add(&mut self, hash: u64, count: u64) -> u64 {
        let cap = self.shape.counter.cap();
        let plus = |counter: u64| counter.saturating_add(count).min(cap);
        let target = plus(self.estimate(hash));
        for at in self.cells(hash) {
            let counter = &mut self.counters[at];
            *counter = if self.shape.conservative { target.max(*counter) } else { plus(*counter) };
        }
        self.total = self.total.saturating_add(count);
        self.estimate(hash)
    }

    fn estimate(&self, hash: u64) -> u64 {
        self.cells(hash).into_iter().map(|at| self.counters[at]).min().unwrap()
    }

    fn image(&self) -> Vec<u8> {
        let bytes = self.shape.counter.bytes();
        let (hash_id, seed) = match self.shape.hashing {
            HashScheme::Xxh3 { seed } => (1, seed),
            HashScheme::Caller { tag } => (2, tag),
        };
        let layout = match self.shape.layout {
            CmsLayout::Rows => 0,
            CmsLayout::TwoLine => 1,
        };
        let mut image = vec![0; 64];
        image[..8].copy_from_slice(&[b'S', b'K', b'L', b'N', 3, 1, 0, hash_id]);
        image[8..16].copy_from_slice(&seed.to_le_bytes());
        image[16..24].copy_from_slice(&((self.counters.len() * bytes) as u64).to_le_bytes());
        image[32..36].copy_from_slice(&(self.shape.size as u32).to_le_bytes());
        image[36..40].copy_from_slice(&[
            self.shape.depth as u8,
            layout,
            bytes as u8,
            u8::from(self.shape.conservative),
        ]);
        image[40..48].copy_from_slice(&self.total.to_le_bytes());
        image.extend(self.counters.iter().flat_map(|counter| counter.to_le_bytes().into_iter().take(bytes)));
        image
    }

    fn sealed(&self) -> Vec<u8> {
        let mut image = self.image();
        image[6] = 1;
        resealed(image)
    }
}

/// Beyond 512 KiB in either size of counters, where batches ask for lines ahead.
const LARGE: usize = 140_000;

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (counter, conservative) in COUNTERS.into_iter().flat_map(|counter| MODES.map(|mode| (counter, mode))) {
        for depth in 1..=16 {
            let widths = [1, 2, 3, 15, 16, 17, 1000, 16_384, LARGE / depth];
            shapes.extend(widths.map(|width| rows(width, depth, counter, conservative)));
        }
        shapes.extend([1, 2, 3, 15, 1000, 4200].map(|lines| two_line(lines, counter, conservative)));
    }
    shapes
}

/// Hashes of which many come again.
fn hashes(random: &mut Random, len: usize) -> Vec<u64> {
    let pool = [&EXTREME[..], &random.hashes(1 + len / 2)].concat();
    (0..len).map(|_| pool[random.below(pool.len())]).collect()
}

/// Counts, some of them 0, some beyond the cap of the smaller counters.
fn counts(random: &mut Random, len: usize) -> Vec<u64> {
    let edge = [0, 1, 1 << 31, u64::from(u32::MAX), 1 << 32, 1 << 62];
    (0..len).map(|i| if i % 97 == 96 { edge[random.below(6)] } else { random.next() % 1000 }).collect()
}

#[test]
fn bytes_are_those_of_the_model() {
    let mut random = Random(1);
    for shape in shapes() {
        let batches: Vec<_> = [0, 1, 31, 32, 33, 65, 130].map(|len| hashes(&mut random, len)).into();
        let each: Vec<_> = batches.iter().map(|batch| counts(&mut random, batch.len())).collect();
        let mut model = Model::new(shape);
        let greatest: Vec<u64> = batches
            .iter()
            .zip(&each)
            .map(|(batch, each)| {
                let same = batch.iter().map(|&hash| model.add(hash, 3)).max().unwrap_or(0);
                same.max(batch.iter().zip(each).map(|(&hash, &count)| model.add(hash, count)).max().unwrap_or(0))
            })
            .collect();
        let (expected, asked) = (model.image(), batches.concat());
        let estimates: Vec<u64> = asked.iter().map(|&hash| model.estimate(hash)).collect();
        for_every_isa(|isa| {
            let (mut batch, mut single) = (shape.sketch(isa), shape.sketch(isa));
            for ((hashes, each), greatest) in batches.iter().zip(&each).zip(&greatest) {
                let same = batch.add_batch(&Hashes(hashes), 3).unwrap();
                let other = batch.add_batch_counts(&Hashes(hashes), each).unwrap();
                assert_eq!(same.max(other), *greatest, "{shape:?} {isa:?}");
                let add = |(&hash, &count): (&u64, &u64)| single.add_hash(KeyHash::from_raw(hash), count);
                let same = hashes.iter().map(|hash| (hash, &3)).map(add).max();
                let add = |(&hash, &count): (&u64, &u64)| single.add_hash(KeyHash::from_raw(hash), count);
                assert_eq!(hashes.iter().zip(each).map(add).max().max(same).unwrap_or(0), *greatest);
            }
            assert!(batch.as_bytes() == expected, "{shape:?} {isa:?}, batch");
            assert!(single.as_bytes() == expected, "{shape:?} {isa:?}, one by one");
            let mut out = vec![JUNK; asked.len() + 1];
            batch.estimate_batch(&Hashes(&asked), &mut out).unwrap();
            assert_eq!(out.pop(), Some(JUNK));
            assert_eq!(out, estimates, "{shape:?} {isa:?}");
            let one_by_one = asked.iter().map(|&hash| single.estimate_hash(KeyHash::from_raw(hash)));
            assert!(one_by_one.eq(estimates.iter().copied()));
        });
    }
}

/// Those of which a test cannot have all: each path of the code once.
fn few_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (counter, conservative) in COUNTERS.into_iter().flat_map(|counter| MODES.map(|mode| (counter, mode))) {
        shapes.extend([(17, 4), (15, 3)].map(|(width, depth)| rows(width, depth, counter, conservative)));
        shapes.push(two_line(3, counter, conservative));
    }
    shapes.extend([rows(LARGE / 4, 4, CounterSize::U32, false), two_line(4200, CounterSize::U32, true)]);
    shapes.extend([rows(LARGE / 5, 5, CounterSize::U64, true), two_line(4200, CounterSize::U64, false)]);
    shapes
}

/// Batches of every length in images at every alignment; nothing around them changes.
#[test]
fn every_length_at_every_alignment() {
    let mut random = Random(2);
    for shape in few_shapes() {
        let large = shape.params().payload_bytes() > 512 * 1024;
        for len in (0..=130).chain([600, 5000]).filter(|len| !large || len % 13 == 0 || *len > 130) {
            let hashes = hashes(&mut random, len);
            let counts = counts(&mut random, len);
            let mut model = Model::new(shape);
            hashes.iter().zip(&counts).for_each(|(&hash, &count)| _ = model.add(hash, count));
            let expected = model.image();
            let estimates: Vec<u64> = hashes.iter().map(|&hash| model.estimate(hash)).collect();
            for_every_isa(|isa| {
                let mut memory = Guarded::new(expected.len(), len % 64);
                let mut sketch = CmsMut::init(memory.bytes(), shape.params()).unwrap().with_isa(isa);
                sketch.add_batch_counts(&Hashes(&hashes), &counts).unwrap();
                let mut out = vec![JUNK; len];
                sketch.estimate_batch(&Hashes(&hashes), &mut out).unwrap();
                assert_eq!(out, estimates);
                assert!(memory.checked() == expected, "{shape:?} {isa:?}, {len} keys");
                let view = CmsRef::open(memory.checked(), UNSEALED).unwrap().with_isa(isa);
                assert_eq!(view.total(), model.total);
                let one_by_one = hashes.iter().map(|&hash| view.estimate_hash(KeyHash::from_raw(hash)));
                assert!(one_by_one.eq(estimates.iter().copied()));
            });
        }
    }
}

/// A batch in some form counts as its valid keys do one by one; what is NULL has an estimate of 0.
fn assert_batch(shape: Shape, keys: &dyn KeyBatch, hashes: &[Option<u64>], counts: &[u64]) {
    let (mut same, mut each) = (Model::new(shape), Model::new(shape));
    let valid = || hashes.iter().zip(counts).filter_map(|(hash, &count)| Some(((*hash)?, count)));
    let greatest_same = valid().map(|(hash, _)| same.add(hash, 5)).max().unwrap_or(0);
    let greatest_each = valid().map(|(hash, count)| each.add(hash, count)).max().unwrap_or(0);
    let estimates: Vec<u64> = hashes.iter().map(|hash| hash.map_or(0, |hash| each.estimate(hash))).collect();
    for_every_isa(|isa| {
        let mut sketch = shape.sketch(isa);
        assert_eq!(sketch.add_batch(keys, 5), Ok(greatest_same));
        assert!(sketch.as_bytes() == same.image(), "{shape:?} {isa:?}");
        sketch.clear();
        assert_eq!(sketch.add_batch_counts(keys, counts), Ok(greatest_each));
        assert!(sketch.as_bytes() == each.image(), "{shape:?} {isa:?}");
        let mut out = vec![JUNK; hashes.len() + 3];
        assert_eq!(sketch.estimate_batch(keys, &mut out), Ok(()));
        assert_eq!(out[hashes.len()..], [JUNK; 3]);
        assert_eq!(out[..hashes.len()], estimates, "{shape:?} {isa:?}");
    });
}

#[test]
fn every_form_of_batch() {
    let mut random = Random(3);
    for mut shape in few_shapes().into_iter().step_by(3).chain([rows(1000, 4, CounterSize::U32, true)]) {
        shape.hashing = HashScheme::Xxh3 { seed: 11 };
        let large = shape.params().payload_bytes() > 512 * 1024;
        for len in [0, 1, 7, 63, 64, 65, 130, 511, 512, 513, 600, 5000] {
            if large && !matches!(len, 65 | 5000) {
                continue;
            }
            let numbers: Vec<u64> = (0..len).map(|_| random.next() % 700).collect();
            let counts = counts(&mut random, len);
            let texts: Vec<Vec<u8>> = numbers.iter().map(|&n| vec![n as u8; n as usize % 30]).collect();
            let slices: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
            let ends = std::iter::once(0).chain(texts.iter().scan(0, |end, text| {
                *end += text.len();
                Some(*end)
            }));
            let wide: Vec<i64> = ends.map(|end| end as i64).collect();
            let narrow: Vec<u32> = wide.iter().map(|&end| end as u32).collect();
            let bytes = texts.concat();
            let validity: Vec<u8> = (0..len.div_ceil(8)).map(|_| random.next() as u8).collect();
            let valid = |hashes: &[Option<u64>]| -> Vec<Option<u64>> {
                let valid = |i: usize| validity[i / 8] >> (i % 8) & 1 == 1;
                hashes.iter().enumerate().map(|(i, hash)| hash.filter(|_| valid(i))).collect()
            };
            let of_numbers: Vec<_> = numbers.iter().map(|&n| Some(KeyHash::of_u64(n, 11).raw())).collect();
            let of_texts: Vec<_> = texts.iter().map(|text| Some(KeyHash::of(text, 11).raw())).collect();
            let raw: Vec<u64> = of_texts.iter().flatten().copied().collect();

            assert_batch(shape, &Hashes(&raw), &of_texts, &counts);
            assert_batch(shape, &U64Keys(&numbers), &of_numbers, &counts);
            assert_batch(shape, &Slices(&slices), &of_texts, &counts);
            assert_batch(shape, &Arrow { offsets: &narrow, bytes: &bytes }, &of_texts, &counts);
            assert_batch(shape, &Arrow { offsets: &wide, bytes: &bytes }, &of_texts, &counts);
            let (validity, texts) = (&validity[..], valid(&of_texts));
            assert_batch(shape, &Nullable { keys: Hashes(&raw), validity }, &texts, &counts);
            assert_batch(shape, &Nullable { keys: U64Keys(&numbers), validity }, &valid(&of_numbers), &counts);
            assert_batch(shape, &Nullable { keys: Slices(&slices), validity }, &texts, &counts);
            let none = &vec![0; len.div_ceil(8)][..];
            assert_batch(shape, &Nullable { keys: U64Keys(&numbers), validity: none }, &vec![None; len], &counts);
        }
    }
}

// Tables by hand.

/// Offset in the image and value of every counter that is not 0.
fn filled(sketch: &CountMinSketch) -> Vec<(usize, u64)> {
    let bytes = sketch.params().counter().bytes();
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let counters = sketch.as_bytes()[64..].chunks(bytes).map(value).enumerate();
    counters.filter(|(_, value)| *value > 0).map(|(i, value)| (64 + bytes * i, value)).collect()
}

fn add(sketch: &mut CountMinSketch, hash: u64, count: u64) -> u64 {
    sketch.add_hash(KeyHash::from_raw(hash), count)
}

fn estimates<const N: usize>(sketch: &CountMinSketch, hashes: [u64; N]) -> [u64; N] {
    hashes.map(|hash| sketch.estimate_hash(KeyHash::from_raw(hash)))
}

#[test]
fn tables_by_hand() {
    for_every_isa(|isa| {
        // One counter in each row: all keys are one.
        for (counter, conservative) in COUNTERS.into_iter().flat_map(|counter| MODES.map(|mode| (counter, mode))) {
            for depth in 1..=16 {
                let mut sketch = rows(1, depth, counter, conservative).sketch(isa);
                assert_eq!(add(&mut sketch, 7, 2), 2);
                assert_eq!(add(&mut sketch, u64::MAX, 40), 42);
                assert_eq!(sketch.estimate(b"neither"), Ok(42));
                let expected: Vec<_> = (0..depth).map(|row| (64 + 64 * row, 42)).collect();
                assert_eq!((filled(&sketch), sketch.total()), (expected, 42));
            }
        }

        // One row of two: the column is the top bit of hash * e220a8397b1dcdaf.
        let mut sketch = rows(2, 1, CounterSize::U32, false).sketch(isa);
        assert_eq!([add(&mut sketch, 0, 3), add(&mut sketch, 1, 5), add(&mut sketch, 2, 7)], [3, 5, 12]);
        assert_eq!(filled(&sketch), [(64, 3), (68, 12)]);

        // Two rows of two: hash 0 has columns 0 and 0, hash 1 has 1 and 0, hash 2 has 1 and 1.
        let mut plain = rows(2, 2, CounterSize::U64, false).sketch(isa);
        assert_eq!([add(&mut plain, 1, 5), add(&mut plain, 0, 3), add(&mut plain, 2, 1)], [5, 3, 1]);
        assert_eq!(filled(&plain), [(64, 3), (72, 6), (128, 8), (136, 1)]);
        assert_eq!(estimates(&plain, [0, 1, 2]), [3, 6, 1]);
        let mut conservative = rows(2, 2, CounterSize::U64, true).sketch(isa);
        assert_eq!(
            [add(&mut conservative, 1, 5), add(&mut conservative, 0, 3), add(&mut conservative, 2, 1)],
            [5, 3, 1]
        );
        assert_eq!(filled(&conservative), [(64, 3), (72, 5), (128, 5), (136, 1)]);
        assert_eq!(estimates(&conservative, [0, 1, 2]), [3, 5, 1]);
        assert_eq!((plain.total(), conservative.total()), (9, 9));

        // The vectors of the format.
        let mut sketch = rows(16_384, 5, CounterSize::U32, false).sketch(isa);
        add(&mut sketch, 1, 9);
        let columns = [14472, 7070, 433, 15906, 1742];
        let at: Vec<_> =
            columns.iter().enumerate().map(|(row, column)| (64 + 4 * (16_384 * row + column), 9)).collect();
        assert_eq!(filled(&sketch), at);
        let mut sketch = two_line(1000, CounterSize::U32, true).sketch(isa);
        add(&mut sketch, 0x0123_4567_89ab_cdef, 9);
        assert_eq!(filled(&sketch), [12229, 12237, 24674, 24684].map(|counter| (64 + 4 * counter, 9)));
        // Of eight counters in a line the choices are two bits each: & 3 and 4 + (.. & 3).
        let mut sketch = two_line(1000, CounterSize::U64, false).sketch(isa);
        add(&mut sketch, 0x0123_4567_89ab_cdef, 9);
        assert_eq!(filled(&sketch), [6113, 6117, 12338, 12340].map(|counter| (64 + 8 * counter, 9)));
    });
}

/// Census, bounds and epsilon of a table that can be counted by hand.
#[test]
fn what_a_sketch_tells() {
    let mut sketch = rows(17, 3, CounterSize::U32, false).sketch(Isa::detect());
    let census = sketch.census();
    assert_eq!((census.zeros, census.saturated, census.greatest), (51, 0, 0));
    add(&mut sketch, 5, 1000);
    let census = sketch.census();
    assert_eq!((census.zeros, census.saturated, census.greatest), (48, 0, 1000));
    let bounds = sketch.bounds(1000);
    assert!((bounds.error - 1000.0 * std::f64::consts::E / 17.0).abs() < 1e-9);
    assert_eq!((bounds.estimate, bounds.lower, bounds.saturated), (1000, 1000.0 - bounds.error, false));
    assert!((bounds.delta - (-3f64).exp()).abs() < 1e-15);
    let two_line = two_line(3, CounterSize::U64, false).params();
    assert_eq!((two_line.width(), two_line.depth(), two_line.payload_bytes()), (12, 4, 6 * 64));
    assert!((two_line.delta() - (-2f64).exp()).abs() < 1e-15);
    for shape in few_shapes() {
        let (sketch, params) = (shape.sketch(Isa::detect()), shape.params());
        let rows = match shape.layout {
            CmsLayout::Rows => shape.depth as u64,
            CmsLayout::TwoLine => 4,
        };
        assert_eq!(sketch.census().zeros, params.width() * rows);
        assert_eq!((sketch.as_bytes().len() as u64, sketch.error_bound()), (params.image_bytes(), 0.0));
    }
}

// Saturation.

/// A shape of each code path, with few enough counters that all of them are hit.
fn tiny_shapes(counter: CounterSize) -> Vec<Shape> {
    let depths = [1, 4, 5, 16].into_iter().flat_map(|depth| [(1, depth), (3, depth)]);
    let all = depths.flat_map(|(width, depth)| MODES.map(|mode| rows(width, depth, counter, mode)));
    all.chain(MODES.map(|mode| two_line(1, counter, mode))).collect()
}

#[test]
fn counters_stop_and_never_wrap() {
    let key = [0x0123_4567_89ab_cdef; 1];
    for_every_isa(|isa| {
        for shape in COUNTERS.into_iter().flat_map(tiny_shapes) {
            let cap = shape.counter.cap();
            let new = || shape.sketch(isa);
            let status = |sketch: &CountMinSketch| {
                let [estimate] = estimates(sketch, key);
                (estimate, sketch.bounds(estimate).saturated)
            };

            // To one below the cap: exact. Then at it, and it stays there.
            let mut sketch = new();
            assert_eq!(add(&mut sketch, key[0], cap - 1), cap - 1);
            assert_eq!((status(&sketch), sketch.census().saturated), ((cap - 1, false), 0), "{shape:?}");
            assert_eq!(add(&mut sketch, key[0], 1), cap);
            for count in [0, 1, 2, cap - 1, cap, u64::MAX] {
                assert_eq!(add(&mut sketch, key[0], count), cap);
                assert_eq!(status(&sketch), (cap, true));
                assert_eq!(sketch.add_batch(&Hashes(&[key[0]; 40]), count), Ok(cap));
                assert_eq!(status(&sketch), (cap, true));
            }
            assert_eq!(sketch.census().saturated, shape.depth as u64, "{shape:?}");

            // In one step.
            let mut sketch = new();
            assert_eq!([add(&mut sketch, key[0], cap), add(&mut sketch, key[0], 1)], [cap; 2]);
            // In one step too far.
            let mut sketch = new();
            assert_eq!(add(&mut sketch, key[0], u64::MAX), cap);
            assert_eq!(sketch.total(), u64::MAX);
            let mut batch = new();
            assert_eq!(batch.add_batch_counts(&Hashes(&[key[0]; 3]), &[cap - 1, 5, u64::MAX]), Ok(cap));
            assert_eq!((status(&batch), batch.total()), ((cap, true), u64::MAX));

            // Merging, below, at and beyond the cap.
            for (a, b) in [(cap - 2, 1), (cap - 1, 1), (cap, 1), (1, cap), (cap, cap), (cap - 1, cap - 1)] {
                let (mut target, mut source) = (new(), new());
                add(&mut target, key[0], a);
                add(&mut source, key[0], b);
                target.merge(&source).unwrap();
                let sum = a.saturating_add(b);
                assert_eq!(status(&target), (sum.min(cap), sum >= cap), "{shape:?} {a} {b}");
                assert_eq!(target.total(), sum);
            }
        }
    });
}

#[test]
fn totals_stop() {
    let mut sketch = rows(1000, 4, CounterSize::U32, false).sketch(Isa::detect());
    add(&mut sketch, 1, u64::MAX - 2);
    add(&mut sketch, 2, 2);
    assert_eq!(sketch.total(), u64::MAX);
    let mut other = sketch.clone();
    other.merge(&sketch).unwrap();
    add(&mut other, 3, 1);
    assert_eq!((other.total(), estimates(&other, [3])), (u64::MAX, [1]));
    other.add_batch(&Hashes(&[4; 100]), u64::MAX / 50).unwrap();
    assert_eq!(other.total(), u64::MAX);
    let mut batch = rows(1000, 4, CounterSize::U64, true).sketch(Isa::detect());
    batch.add_batch(&Hashes(&Random(1).hashes(100)), u64::MAX / 50).unwrap();
    assert_eq!((batch.total(), batch.census().saturated), (u64::MAX, 0));
    assert!(batch.error_bound().is_finite());
}

// Aging.

#[test]
fn halving_halves_all() {
    let mut random = Random(4);
    for shape in few_shapes() {
        let mut model = Model::new(shape);
        let (hashes, counts) = (hashes(&mut random, 300), counts(&mut random, 300));
        hashes.iter().zip(&counts).for_each(|(&hash, &count)| _ = model.add(hash, count));
        model.add(hashes[0], u64::MAX);
        let before = model.sealed();
        for_every_isa(|isa| {
            let mut one_by_one = CountMinSketch::from_image(&before, STRICT).unwrap().with_isa(isa);
            let large = before.len() > 512 * 1024;
            for times in (0..=70).filter(|times| !large || *times < 3) {
                let mut halved = model.clone();
                let shifted = |counter: u64| counter.checked_shr(times).unwrap_or(0);
                halved.counters.iter_mut().for_each(|counter| *counter = shifted(*counter));
                halved.total = shifted(halved.total);
                let mut at_once = CountMinSketch::from_image(&before, STRICT).unwrap().with_isa(isa);
                at_once.halve_times(times);
                let expected = if times == 0 { model.sealed() } else { halved.image() };
                assert!(at_once.as_bytes() == expected, "{shape:?} {isa:?}, {times} times");
                assert!(one_by_one.as_bytes() == expected, "{shape:?} {isa:?}, once {times} times");
                assert_eq!(at_once.error_bound(), halved.total as f64 * shape.params().epsilon());
                one_by_one.halve();
            }
            let mut gone = CountMinSketch::from_image(&before, STRICT).unwrap().with_isa(isa);
            gone.halve_times(u32::MAX);
            assert!(gone.as_bytes() == Model::new(shape).image());
        });
    }
}

/// Keys none of whose counters two share, so that estimates are exact.
fn apart(shape: Shape, len: usize) -> Vec<u64> {
    let model = Model::new(shape);
    let mut taken = std::collections::HashSet::new();
    let mut free = |hash: u64| {
        let cells = model.cells(hash);
        let free = cells.iter().all(|cell| !taken.contains(cell));
        taken.extend(cells);
        free
    };
    let mut random = Random(5);
    std::iter::repeat_with(|| random.next()).filter(|&hash| free(hash)).take(len).collect()
}

/// What `CmsWindow` promises, against everything that ever came.
#[test]
fn windows_keep_their_promises() {
    let mut random = Random(6);
    for round in 0..40 {
        let shape = [rows(4096, 4, CounterSize::U32, false), two_line(512, CounterSize::U64, true)][round % 2];
        let keys = apart(shape, 4);
        let (period, first) = (1 + random.next() % 50, random.next() % 1000);
        let mut window = CmsWindow::new(period, first).unwrap();
        let mut sketch = shape.sketch(Isa::detect());
        let (mut now, mut events) = (first, Vec::new());
        let whole = |time: u64| (time - first) / period;
        let mut counts = [0u64; 4];
        for _ in 0..150 {
            let before = now;
            now += match random.below(20) {
                0 => random.next() % (4 * period + 1),
                n => n as u64 % 3 % period,
            };
            let periods = whole(now) - whole(before);
            assert_eq!(window.advance(&mut sketch, now), periods);
            assert_eq!((window.started(), window.period()), (first + whole(now) * period, period));
            // Earlier times belong to the period.
            assert_eq!(window.advance(&mut sketch, now - (now - first).min(random.next() % 100)), 0);
            counts = counts.map(|count| count.checked_shr(periods as u32).unwrap_or(0));
            for _ in 0..random.below(4) {
                let (key, count) = (random.below(4), random.next() % 10);
                counts[key] += count;
                assert_eq!(add(&mut sketch, keys[key], count), counts[key]);
                events.push((now, key, count));
            }
            for key in 0..4 {
                let [estimate] = estimates(&sketch, [keys[key]]);
                assert_eq!(estimate, counts[key]);
                let own = || events.iter().filter(|event| event.1 == key);
                // Within the last period's length: more than half, less 1.
                let recent: u64 = own().filter(|event| event.0 + period > now).map(|event| event.2).sum();
                assert!(2 * estimate + 2 > recent, "{estimate} of {recent}");
                // At most twice the most of any one period.
                let of = |n: u64| own().filter(|event| whole(event.0) == n).map(|event| event.2).sum::<u64>();
                let most = own().map(|event| of(whole(event.0))).max().unwrap_or(0);
                assert!(estimate <= 2 * most, "{estimate}, at most {most} in a period");
                // n periods ago: 2^-n, and all roundings together less than 1.
                let weighted: f64 =
                    own().map(|event| event.2 as f64 * 0.5f64.powi((whole(now) - whole(event.0)) as i32)).sum();
                let estimate = estimate as f64;
                assert!(estimate <= weighted && estimate > weighted - 1.0, "{estimate}, weighted {weighted}");
            }
        }
        assert_eq!(window.advance(&mut sketch, u64::MAX), (u64::MAX - window_start(first, period, now)) / period);
        assert_eq!((sketch.total(), sketch.census().greatest), (0, 0));
    }
    assert_eq!(CmsWindow::new(0, 5), Err(Error::InvalidArgument));
}

fn window_start(first: u64, period: u64, now: u64) -> u64 {
    first + (now - first) / period * period
}

/// A key at a steady rate: from its second period on at least half, for long between what comes in a period, less 1,
/// and twice that.
#[test]
fn windows_at_a_steady_rate() {
    for rate in [1, 2, 3, 5, 8, 100, 1001] {
        let mut sketch = rows(1000, 4, CounterSize::U32, false).sketch(Isa::detect());
        let mut window = CmsWindow::new(rate, 0).unwrap();
        for now in 0..40 * rate {
            window.advance(&mut sketch, now);
            let look = |sketch: &CountMinSketch| {
                let [estimate] = estimates(sketch, [7]);
                assert!(now < 12 * rate || (rate - 1..=2 * rate).contains(&estimate), "{estimate} at a rate of {rate}");
                assert!(now < rate || estimate >= (rate - 1) / 2);
            };
            look(&sketch);
            add(&mut sketch, 7, 1);
            look(&sketch);
        }
    }
}

// Two sketches.

#[test]
fn merged_is_the_joined_stream() {
    let mut random = Random(7);
    for shape in few_shapes() {
        let (a, b) = (hashes(&mut random, 700), hashes(&mut random, 300));
        let (counts_a, counts_b) = (counts(&mut random, 700), counts(&mut random, 300));
        let of = |hashes: &[u64], counts: &[u64]| {
            let mut model = Model::new(shape);
            hashes.iter().zip(counts).for_each(|(&hash, &count)| _ = model.add(hash, count));
            model
        };
        let (model_a, model_b) = (of(&a, &counts_a), of(&b, &counts_b));
        let mut sum = model_a.clone();
        let cap = shape.counter.cap();
        let parts = sum.counters.iter_mut().zip(&model_b.counters);
        parts.for_each(|(a, b)| *a = a.saturating_add(*b).min(cap));
        sum.total = sum.total.saturating_add(model_b.total);
        let joined = of(&[&a[..], &b].concat(), &[&counts_a[..], &counts_b].concat());
        if !shape.conservative {
            assert_eq!(sum.counters, joined.counters);
        }
        assert_eq!(sum.total, joined.total);
        for_every_isa(|isa| {
            for target in [model_a.image(), model_a.sealed()] {
                let mut target = CountMinSketch::from_image(&target, UNSEALED).unwrap().with_isa(isa);
                let source = model_b.sealed();
                target.merge(&CmsRef::open(&source, STRICT).unwrap()).unwrap();
                assert!(target.as_bytes() == sum.image(), "{shape:?} {isa:?}");
                target.merge(&shape.sketch(isa)).unwrap();
                assert!(target.as_bytes() == sum.image(), "an empty sketch is neutral");
                // Upper bounds, whatever the mode.
                for (&hash, estimate) in a.iter().chain(&b).zip(a.iter().chain(&b).map(|&hash| joined.estimate(hash))) {
                    assert!(target.estimate_hash(KeyHash::from_raw(hash)) >= estimate.min(cap) || shape.conservative);
                }
            }
        });
    }
}

#[test]
fn inner_products() {
    let isa = Isa::detect();
    for counter in COUNTERS {
        // One counter in each row: the product of the totals.
        let (mut a, mut b) = (rows(1, 4, counter, false).sketch(isa), rows(1, 4, counter, false).sketch(isa));
        (1..=10).for_each(|key| _ = add(&mut a, key, key));
        (1..=3).for_each(|key| _ = add(&mut b, 100 * key, 2));
        assert_eq!((a.inner_product(&b), b.inner_product(&a)), (Ok(55 * 6), Ok(55 * 6)));

        // Two rows of two, hashes 0, 1, 2 as in `tables_by_hand`: rows (3, 6 | 8, 1) and (0, 2 | 0, 2).
        let (mut a, mut b) = (rows(2, 2, counter, false).sketch(isa), rows(2, 2, counter, false).sketch(isa));
        _ = [(1, 5), (0, 3), (2, 1)].map(|(hash, count)| add(&mut a, hash, count));
        add(&mut b, 2, 2);
        assert_eq!(a.inner_product(&b), Ok(2));
        assert_eq!(a.inner_product(&a), Ok(45));
        assert_eq!(b.inner_product(&rows(2, 2, counter, false).sketch(isa)), Ok(0));
        add(&mut a, 0, u64::MAX);
        let capped = match counter {
            CounterSize::U32 => counter.cap() * counter.cap() + 1,
            CounterSize::U64 => u64::MAX,
        };
        assert_eq!(a.inner_product(&a), Ok(capped));
    }
    // Never too low, and exact where no counters are shared.
    let mut random = Random(8);
    for shape in few_shapes().into_iter().filter(|shape| !shape.conservative) {
        for _ in 0..10 {
            let (mut a, mut b, mut truth) = (shape.sketch(isa), shape.sketch(isa), 0u64);
            for key in random.hashes(30) {
                let (x, y) = (random.next() % 100, random.next() % 100);
                add(&mut a, key, x);
                add(&mut b, key, y);
                truth += x * y;
            }
            let product = a.inner_product(&b).unwrap();
            assert!(product >= truth && product <= a.total() * b.total());
            assert_eq!(b.inner_product(&a.view()), Ok(product));
        }
    }
    for shape in [rows(4096, 4, CounterSize::U64, false), two_line(512, CounterSize::U32, false)] {
        let (mut a, mut b) = (shape.sketch(isa), shape.sketch(isa));
        let keys = apart(shape, 20);
        keys.iter().for_each(|&key| _ = (add(&mut a, key, 3), add(&mut b, key, 70_000)));
        assert_eq!(a.inner_product(&b), Ok(20 * 210_000));
    }
}

/// A conservative sketch has no sums of counts in its rows: refused, and so is whatever would hide that.
#[test]
fn conservative_sketches_have_no_inner_product() {
    let new = |mode| rows(100, 4, CounterSize::U32, mode).sketch(Isa::detect());
    for (a, b) in [(true, false), (false, true), (true, true)] {
        assert_eq!(new(a).inner_product(&new(b)), Err(Error::Incompatible));
    }
    let mut plain = new(false);
    assert_eq!(plain.merge(&new(true)), Err(Error::Incompatible));
    // The other way round it stays what it is: an upper bound.
    let mut conservative = new(true);
    add(&mut plain, 1, 5);
    add(&mut conservative, 1, 7);
    conservative.merge(&plain).unwrap();
    assert_eq!(estimates(&conservative, [1]), [12]);
}

// Errors.

#[test]
fn errors_change_nothing() {
    let mut random = Random(9);
    for shape in few_shapes() {
        let caller = Shape { hashing: HashScheme::Caller { tag: 3 }, ..shape };
        for (shape, sealed) in [(shape, false), (shape, true), (caller, false), (caller, true)] {
            let mut sketch = shape.sketch(Isa::detect());
            sketch.add_batch(&Hashes(&random.hashes(100)), 7).unwrap();
            if sealed {
                sketch.seal();
            }
            let before = sketch.as_bytes().to_vec();
            let keys = [1, 2, 3];
            for counts in [&[][..], &[1, 2], &[1, 2, 3, 4]] {
                assert_eq!(sketch.add_batch_counts(&Hashes(&keys), counts), Err(Error::BadKeys));
            }
            let arrow = |offsets| Arrow::<u32> { offsets, bytes: b"abc" };
            if shape == caller {
                assert_eq!(sketch.add(b"key", 1), Err(Error::CallerHash));
                assert_eq!(sketch.add_u64(1, 1), Err(Error::CallerHash));
                assert_eq!(sketch.estimate(b"key"), Err(Error::CallerHash));
                assert_eq!(sketch.estimate_u64(1), Err(Error::CallerHash));
                let keys: [&dyn KeyBatch; 3] = [&U64Keys(&keys), &Slices(&[b"key"]), &arrow(&[0, 1])];
                for keys in keys {
                    assert_eq!(sketch.add_batch(keys, 1), Err(Error::CallerHash));
                    assert_eq!(sketch.add_batch_counts(keys, &vec![1; keys.len()]), Err(Error::CallerHash));
                    assert_eq!(sketch.estimate_batch(keys, &mut [JUNK; 3]), Err(Error::CallerHash));
                }
            } else {
                for offsets in [&[0, 2, 1][..], &[0, 4]] {
                    assert_eq!(sketch.add_batch(&arrow(offsets), 1), Err(Error::BadKeys));
                    assert_eq!(sketch.estimate_batch(&arrow(offsets), &mut [JUNK; 3]), Err(Error::BadKeys));
                }
            }
            let short = Nullable { keys: Hashes(&[0; 9]), validity: &[255] };
            assert_eq!(sketch.add_batch(&short, 1), Err(Error::BadKeys));
            let mut out = [JUNK; 2];
            assert_eq!(sketch.estimate_batch(&Hashes(&keys), &mut out), Err(Error::BufferTooSmall));
            assert_eq!(out, [JUNK; 2]);
            assert_eq!(sketch.add_batch(&Hashes(&[]), 1), Ok(0));
            assert!(sketch.as_bytes() == before && sketch.state().is_sealed() == sealed);
        }
    }
}

#[test]
fn unlike_sketches_do_not_merge() {
    let base = rows(24, 4, CounterSize::U32, false);
    let others = [
        Shape { size: 25, ..base },
        Shape { size: 23, ..base },
        Shape { depth: 3, ..base },
        Shape { depth: 5, ..base },
        Shape { counter: CounterSize::U64, ..base },
        Shape { layout: CmsLayout::TwoLine, ..base },
        Shape { layout: CmsLayout::TwoLine, size: 3, ..base },
        Shape { hashing: HashScheme::Xxh3 { seed: 1 }, ..base },
        Shape { hashing: HashScheme::Caller { tag: 0 }, ..base },
        Shape { hashing: HashScheme::Caller { tag: 1 }, ..base },
    ];
    for other in others {
        for (target, source) in [(base, other), (other, base)] {
            let (mut target, mut source) = (target.sketch(Isa::detect()), source.sketch(Isa::detect()));
            for sketch in [&mut target, &mut source] {
                sketch.add_batch(&Hashes(&Random(10).hashes(100)), 7).unwrap();
            }
            for seal in MODES {
                if seal {
                    target.seal();
                    source.seal();
                }
                let before = [target.as_bytes().to_vec(), source.as_bytes().to_vec()];
                assert_eq!(target.merge(&source), Err(Error::Incompatible), "{other:?}");
                assert_eq!(target.merge(&source.view()), Err(Error::Incompatible), "{other:?}");
                assert_eq!(target.inner_product(&source), Err(Error::Incompatible), "{other:?}");
                assert_eq!([target.as_bytes(), source.as_bytes()], [&before[0][..], &before[1]]);
            }
        }
    }
}

#[test]
fn sizes_beyond_reason_allocate_nothing() {
    let nothing = |make: &dyn Fn() -> Result<CmsParams, Error>, error| {
        let made = peak(|| make().and_then(|params| CountMinSketch::new(params).map(drop)));
        assert_eq!(made, (Err(error), 0));
    };
    for width in [1 << 32, 1 << 40, u64::MAX / 16, u64::MAX - 1, u64::MAX] {
        for depth in [1, 4, 16] {
            nothing(&|| CmsParams::rows(width, depth), Error::TooLarge);
            for counter in COUNTERS {
                nothing(&|| CmsParams::of_width(CmsLayout::Rows, counter, width, depth), Error::TooLarge);
            }
        }
        nothing(&|| CmsParams::two_line(width), Error::TooLarge);
    }
    for counter in COUNTERS {
        nothing(&|| CmsParams::of_width(CmsLayout::TwoLine, counter, u64::MAX, 4), Error::TooLarge);
        nothing(&|| CmsParams::for_bytes(CmsLayout::Rows, counter, u64::MAX, 1), Error::TooLarge);
        nothing(&|| CmsParams::for_bytes(CmsLayout::TwoLine, counter, u64::MAX, 4), Error::TooLarge);
        nothing(&|| CmsParams::for_error(CmsLayout::Rows, counter, 1e-300, 0.1), Error::TooLarge);
        nothing(&|| CmsParams::for_error(CmsLayout::TwoLine, counter, 1e-12, 0.2), Error::TooLarge);
    }
    for depth in [0, 17, 255, 256, 260, u32::MAX] {
        for width in [0, 1, u64::MAX] {
            nothing(&|| CmsParams::rows(width, depth), Error::InvalidArgument);
        }
        nothing(&|| CmsParams::for_bytes(CmsLayout::Rows, CounterSize::U32, 1 << 20, depth), Error::InvalidArgument);
    }
    nothing(&|| CmsParams::rows(0, 4), Error::InvalidArgument);
    nothing(&|| CmsParams::two_line(0), Error::InvalidArgument);
    for counter in COUNTERS {
        nothing(&|| CmsParams::of_width(CmsLayout::TwoLine, counter, 0, 4), Error::InvalidArgument);
        nothing(&|| CmsParams::for_bytes(CmsLayout::TwoLine, counter, 127, 4), Error::InvalidArgument);
        nothing(&|| CmsParams::for_bytes(CmsLayout::TwoLine, counter, 1 << 20, 3), Error::InvalidArgument);
        nothing(&|| CmsParams::for_bytes(CmsLayout::Rows, counter, 255, 4), Error::InvalidArgument);
        // The largest there are: their sizes are right, and other memory is refused.
        for layout in [CmsLayout::Rows, CmsLayout::TwoLine] {
            let width = u64::from(u32::MAX) * if layout == CmsLayout::Rows { 1 } else { 32 / counter.bytes() as u64 };
            let most =
                CmsParams::of_width(layout, counter, width, if layout == CmsLayout::Rows { 16 } else { 4 }).unwrap();
            let lines =
                if layout == CmsLayout::Rows { (counter.bytes() as u64) << 30 } else { 2 * u64::from(u32::MAX) };
            assert_eq!((most.width(), most.image_bytes()), (width, 64 * (lines + 1)));
            assert_eq!(CmsMut::init(&mut [JUNK as u8; 128], most).err(), Some(Error::WrongLength));
            #[cfg(target_pointer_width = "32")]
            nothing(&|| Ok(most), Error::TooLarge);
        }
    }
}

#[test]
fn only_new_sketches_allocate() {
    for shape in few_shapes() {
        let mut sketch = shape.sketch(Isa::detect());
        let other = sketch.clone();
        let (keys, mut out) = ([5; 1000], [0; 1000]);
        let work = || {
            for key in 0..1000 {
                sketch.add_u64(key, 1).unwrap();
                sketch.add(b"key", key).unwrap();
                assert!(sketch.estimate_u64(key).unwrap() > 0);
            }
            sketch.add_batch(&U64Keys(&keys), 1).unwrap();
            sketch.add_batch_counts(&U64Keys(&keys), &keys).unwrap();
            sketch.estimate_batch(&U64Keys(&keys), &mut out).unwrap();
            sketch.merge(&other).unwrap();
            sketch.halve();
            _ = sketch.inner_product(&other);
            _ = (sketch.census(), sketch.bounds(1));
            sketch.seal();
            sketch.clear();
        };
        assert_eq!(peak(work).1, 0, "{shape:?}");
    }
}

// Images.

/// Small, of every kind, with something in them.
fn small_models() -> Vec<Model> {
    let mut shapes: Vec<_> = COUNTERS.into_iter().flat_map(tiny_shapes).collect();
    let hashings = [HashScheme::Xxh3 { seed: u64::MAX }, HashScheme::Caller { tag: 77 }];
    shapes.extend(hashings.map(|hashing| Shape { hashing, ..rows(17, 2, CounterSize::U32, true) }));
    let model = |shape| {
        let mut model = Model::new(shape);
        (1..20).for_each(|hash| _ = model.add(hash << 40 | hash, hash));
        model
    };
    shapes.into_iter().map(model).collect()
}

#[test]
fn images_come_back() {
    for model in small_models().into_iter().chain(few_shapes().into_iter().map(Model::new)) {
        let image = model.sealed();
        let view = CmsRef::open(&image, STRICT).unwrap();
        assert_eq!((view.params(), view.total()), (model.shape.params(), model.total));
        assert!(view.state().is_sealed() && CmsRef::open(&image, STRICT.skip_payload_check()).is_ok());
        let mut copy = CountMinSketch::from_image(&image, STRICT).unwrap();
        assert!(copy.as_bytes() == image && copy.seal() == image);
        // A change takes the seal off, and only that, wherever the bytes are.
        let changes: [fn(&mut CmsMut<'_>); 7] = [
            |sketch| _ = sketch.add_hash(KeyHash::from_raw(1), 0),
            |sketch| _ = sketch.add_batch(&Hashes(&[1]), 0).unwrap(),
            |sketch| _ = sketch.add_batch_counts(&Hashes(&[1]), &[0]).unwrap(),
            |sketch| sketch.merge(&CountMinSketch::new(sketch.params()).unwrap()).unwrap(),
            |sketch| _ = sketch.add_hash(KeyHash::from_raw(1), 9),
            |sketch| sketch.halve(),
            |sketch| sketch.clear(),
        ];
        for (i, change) in changes.iter().enumerate() {
            let mut memory = Guarded::new(image.len(), 13);
            memory.bytes().copy_from_slice(&image);
            let mut sketch = CmsMut::open_mut(memory.bytes(), STRICT).unwrap();
            assert!(sketch.as_bytes() == image);
            change(&mut sketch);
            assert!(!sketch.state().is_sealed());
            let (total, state) = (sketch.total(), *sketch.state());
            let mut expected = model.image();
            expected[40..48].copy_from_slice(&total.to_le_bytes());
            assert!(sketch.as_bytes()[..64] == expected[..64], "change {i}");
            assert!(i > 3 || sketch.as_bytes() == expected, "change {i}");
            let unsealed = sketch.as_bytes().to_vec();
            assert_eq!(CmsRef::open(&unsealed, STRICT).err(), Some(Error::Unsealed));
            assert_eq!(CmsRef::open(&unsealed, UNSEALED).map(|view| view.total()), Ok(total));
            assert_eq!(Cms::attach(unsealed.as_chunks().0, state).map(|sketch| sketch.total()), Ok(total));
            assert_eq!(Cms::attach(&unsealed.as_chunks().0[1..], state).err(), Some(Error::WrongLength));
            sketch.seal();
            assert!(CmsRef::open(memory.checked(), STRICT).is_ok());
        }
    }
}

#[test]
fn every_flipped_bit_and_every_prefix_is_an_error() {
    for model in small_models() {
        let mut image = model.sealed();
        for bit in 0..8 * image.len() {
            image[bit / 8] ^= 1 << (bit % 8);
            assert!(CmsRef::open(&image, STRICT).is_err(), "{:?}, bit {bit}", model.shape);
            // A cleared seal does not make an image an unsealed one.
            assert!(CmsRef::open(&image, UNSEALED).is_err(), "{:?}, bit {bit}", model.shape);
            image[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..image.len() {
            for options in [STRICT, STRICT.skip_payload_check(), UNSEALED] {
                assert_eq!(CmsRef::open(&image[..len], options).err(), Some(Error::WrongLength), "{len} bytes");
            }
            assert_eq!(peak(|| CountMinSketch::from_image(&image[..len], UNSEALED).is_err()), (true, 0));
        }
        for more in [1, 63, 64, 128] {
            let longer = [&image[..], &vec![0; more]].concat();
            assert_eq!(CmsRef::open(&longer, STRICT).err(), Some(Error::WrongLength));
        }
    }
}

/// Right checksums around every value of every byte of a header: an error that allocates nothing, or a sketch that
/// works.
#[test]
fn every_header_byte() {
    for model in small_models() {
        for (base, options) in [(model.sealed(), STRICT), (model.image(), UNSEALED)] {
            for (at, value) in (0..64).flat_map(|at| (0..=255).map(move |value| (at, value))) {
                let mut image = base.clone();
                image[at] = value;
                if options == STRICT && at < 48 {
                    image = resealed(image);
                }
                if image == base {
                    continue;
                }
                let opened = CmsRef::open(&image, options).map(|view| view.params());
                let expected = match at {
                    0..4 => Error::BadMagic,
                    4 => Error::WrongKind,
                    5 => Error::UnsupportedVersion,
                    6 if options == STRICT && value == 0 => Error::HeaderChecksum,
                    6 if value == 1 => Error::HeaderChecksum,
                    6 => Error::UnknownFlag,
                    7 if !matches!(value, 1 | 2) => Error::UnknownHash,
                    16..24 => Error::WrongLength,
                    24..32 => Error::BadParameter,
                    39 if value > 1 => Error::UnknownFlag,
                    48.. => Error::HeaderChecksum,
                    _ => match opened {
                        // The seed, the hash, the total, the mode; sizes that take as many lines.
                        Ok(params) => {
                            assert!(matches!(at, 7 | 8..16 | 32..36 | 36 | 38 | 39 | 40..48), "byte {at} = {value}");
                            assert_eq!(params.image_bytes(), image.len() as u64);
                            let mut sketch = CountMinSketch::from_image(&image, options).unwrap();
                            let before = estimates(&sketch, [5])[0];
                            assert!(add(&mut sketch, 5, 1) > before);
                            assert!(CmsRef::open(sketch.seal(), STRICT).is_ok());
                            continue;
                        }
                        Err(error) => {
                            assert!(matches!(at, 32..39), "byte {at} = {value}");
                            assert!(error == Error::BadParameter || error == Error::BadPayload, "byte {at} = {value}");
                            error
                        }
                    },
                };
                assert_eq!(opened, Err(expected), "{:?} {options:?}, byte {at} = {value}", model.shape);
                assert_eq!(peak(|| CountMinSketch::from_image(&image, options).is_err()), (true, 0));
            }
        }
    }
}

#[test]
fn impossible_parameters_say_so() {
    let open = |image: Vec<u8>| CmsRef::open(&resealed(image), STRICT).map(|view| view.params());
    let model = Model::new(rows(17, 2, CounterSize::U32, false));
    let with = |at: usize, bytes: &[u8]| {
        let mut image = model.sealed();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        image
    };
    for size in [0, 16, 33, 1 << 31, u32::MAX] {
        assert_eq!(open(with(32, &size.to_le_bytes())), Err(Error::BadParameter), "width {size}");
    }
    assert_eq!(open(with(32, &32u32.to_le_bytes())).map(|params| params.width()), Ok(32));
    for depth in [0, 1, 3, 17, 255] {
        assert_eq!(open(with(36, &[depth])), Err(Error::BadParameter), "depth {depth}");
    }
    for layout in 1..=255 {
        assert_eq!(open(with(37, &[layout])), Err(Error::BadParameter), "layout {layout}");
    }
    for counter in (0..=255).filter(|counter| *counter != 4) {
        assert_eq!(open(with(38, &[counter])), Err(Error::BadParameter), "{counter} bytes");
    }
    for mode in 2..=255 {
        assert_eq!(open(with(39, &[mode])), Err(Error::UnknownFlag), "mode {mode}");
    }
    assert!(open(with(39, &[1])).is_ok_and(|params| params.is_conservative()));
    for at in 24..32 {
        assert_eq!(open(with(at, &[1])), Err(Error::BadParameter));
    }
    // Two halves have four rows.
    let model = Model::new(two_line(2, CounterSize::U32, false));
    for depth in (0..=255).filter(|depth| *depth != 4) {
        let mut image = model.sealed();
        image[36] = depth;
        assert_eq!(open(image), Err(Error::BadParameter));
    }
}

#[test]
fn padding_is_zero() {
    for shape in [rows(17, 3, CounterSize::U32, false), rows(1, 16, CounterSize::U64, true)] {
        let mut random = Random(11);
        let mut model = Model::new(shape);
        (0..100).for_each(|_| _ = model.add(random.next(), 3));
        let row_bytes = shape.size.next_multiple_of(shape.per_line()) * shape.counter.bytes();
        for at in 64..64 + shape.depth * row_bytes {
            let is_padding = (at - 64) % row_bytes >= shape.size * shape.counter.bytes();
            for (base, options) in [(model.sealed(), STRICT), (model.image(), UNSEALED)] {
                let mut image = base;
                image[at] ^= 0x80;
                if options == STRICT {
                    image = resealed(image);
                }
                let opened = CmsRef::open(&image, options).map(|_| ());
                assert_eq!(opened, if is_padding { Err(Error::BadPayload) } else { Ok(()) }, "{shape:?}, byte {at}");
                assert_eq!(CmsRef::open(&image, options.skip_payload_check()).is_err(), is_padding);
            }
        }
    }
}

/// A changed byte is a change of the format, and needs a new version. `SKETCHLINE_BLESS=1` writes the files.
#[test]
fn golden_images() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cms/");
    let list = std::fs::read_to_string(format!("{data}images.txt")).unwrap();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let [file, layout, mode, hash, numbers @ ..] = &line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let number = |i: usize| numbers[i].parse::<u64>().unwrap();
        let [seed, size, depth, bits, keys, count, halvings] = std::array::from_fn(number);
        let shape = Shape {
            layout: if *layout == "rows" { CmsLayout::Rows } else { CmsLayout::TwoLine },
            size: size as usize,
            depth: depth as usize,
            counter: if bits == 32 { CounterSize::U32 } else { CounterSize::U64 },
            conservative: *mode == "conservative",
            hashing: if *hash == "xxh3" { HashScheme::Xxh3 { seed } } else { HashScheme::Caller { tag: seed } },
        };
        let hashes: Vec<u64> = match shape.hashing {
            HashScheme::Xxh3 { seed } => (0..keys).map(|key| KeyHash::of_u64(key, seed).raw()).collect(),
            HashScheme::Caller { .. } => Random(0).hashes(keys as usize),
        };
        let counts: Vec<u64> = (1..=keys).map(|n| n * count).collect();
        for_every_isa(|isa| {
            let mut sketch = shape.sketch(isa);
            sketch.add_batch_counts(&Hashes(&hashes), &counts).unwrap();
            sketch.halve_times(halvings as u32);
            let path = format!("{data}{file}");
            if std::env::var_os("SKETCHLINE_BLESS").is_some() {
                std::fs::write(&path, sketch.seal()).unwrap();
            }
            assert!(sketch.seal() == std::fs::read(&path).unwrap(), "{file} {isa:?}");
        });
    }
}
