//! HyperLogLog: distinct counts in 6 bits per register, near-exact while small, mergeable.
//!
//! One type, [`Hll`], over owned, borrowed and mutably borrowed lines, in two forms:
//!
//! ```text
//! sparse | header line | tokens, 4 bytes each, sorted        | ...      at most 2^p / 8 tokens
//! dense  | header line | 2^p registers of 6 bits, then zeros |          3/4 of 2^p bytes
//! ```
//!
//! A sketch starts sparse and turns dense when its tokens exceed two thirds of the dense size; at that moment
//! every token gives its register and rank exactly, so that the way there leaves no trace. `rank.rs` defines
//! registers and tokens, `estimate.rs` the number. Papers: Flajolet, Fusy, Gandouet, Meunier, AofA 2007; Heule,
//! Nunkesser, Hall, EDBT 2013 (sparse form); Ertl, arXiv 1702.01284 (estimator).

mod batch;
mod estimate;
mod merge;
mod params;
mod rank;
mod tokens;

pub use estimate::EstimateBounds;
pub use merge::{OverlapEstimate, overlap, overlap_bytes};
pub use params::{HllForm, HllParams};

#[cfg(feature = "alloc")]
use crate::block::OwnedLines;
use crate::block::{self, BLOCK_BYTES, Block};
use crate::image::{Header, Kind, OpenOptions};
use crate::lines::{Lines, LinesMut};
use crate::registers;
use crate::{Error, HashScheme, Isa, KeyHash};
use estimate::Weights;
use tokens::{Added, Counts};

/// A HyperLogLog sketch over lines that it may read, and change if they are mutable.
#[derive(Clone, Debug)]
pub struct Hll<S> {
    lines: S,
    state: HllState,
}

/// A sketch that owns its memory, and grows.
#[cfg(feature = "alloc")]
pub type HyperLogLog = Hll<OwnedLines>;
/// A sketch in bytes that it may only read, at any alignment.
pub type HllRef<'a> = Hll<&'a [Block]>;
/// A sketch in bytes that it may change, at any alignment; it cannot grow by itself.
pub type HllMut<'a> = Hll<&'a mut [Block]>;

/// All that a sketch knows besides its lines, in 48 bytes; see [`crate::BloomState`].
#[derive(Clone, Copy)]
pub struct HllState {
    seed_or_tag: u64,
    /// Dense: `Weights::sum`.
    sum: u64,
    martingale: f64,
    /// Dense: `Weights::zeros`. Sparse: `Counts::sorted`.
    zeros_or_sorted: u32,
    /// Dense: `Weights::top`. Sparse: `Counts::buffered`.
    top_or_buffered: u32,
    num_lines: u32,
    p: u8,
    level: u8,
    hash_id: u8,
    flags: u8,
    /// Dense: no register is below this.
    least: u8,
    /// Dense: binary magnitude of `sum` when `least` was found.
    least_found_at: u8,
    /// 0: no byte of a state is left unset, since hosts copy and compare them.
    #[allow(dead_code, reason = "written, never read")]
    unused: [u8; 6],
}

const _: () = assert!(size_of::<HllState>() <= 48);

const DENSE: u8 = 1;
/// The header in the lines is sealed.
const SEALED: u8 = 2;
/// The martingale estimate is kept.
const MARTINGALE: u8 = 4;
/// The weights do not belong to the registers: those changed by a merge.
const STALE: u8 = 8;

impl HllState {
    fn new(params: HllParams, num_lines: u32) -> Self {
        let isa = Isa::default_for_new();
        let mut state = Self {
            seed_or_tag: params.hashing().seed_or_tag(),
            sum: 0,
            martingale: 0.0,
            zeros_or_sorted: 0,
            top_or_buffered: 0,
            num_lines,
            p: params.p() as u8,
            level: isa.level(),
            hash_id: params.hashing().id(),
            flags: if params.martingale() { MARTINGALE } else { 0 },
            least: 0,
            least_found_at: u8::MAX,
            unused: [0; 6],
        };
        match params.form() {
            HllForm::Sparse => state.set_counts(Counts { sorted: 0, buffered: 0 }),
            HllForm::Dense => state.set_weights(Weights::empty(params.p())),
        }
        state
    }

    /// Checks an image and decodes its header; the lines are left as they are. The live values are computed.
    fn open(lines: &[Block], options: OpenOptions) -> Result<Self, Error> {
        let header = Header::open(lines, Kind::HyperLogLog, options)?;
        let [p, form, mode, 0, rest @ ..] = header.params else { return Err(Error::UnknownFlag) };
        let [n0, n1, n2, n3, h @ ..] = rest;
        let (num_tokens, martingale) = (u32::from_le_bytes([n0, n1, n2, n3]), f64::from_le_bytes(h));
        let params = HllParams::new(u32::from(p)).map_err(|_| Error::BadParameter)?.with_hashing(header.hashing);
        let form = match form {
            0 => HllForm::Sparse,
            1 => HllForm::Dense,
            _ => return Err(Error::BadParameter),
        };
        let num_lines = u32::try_from(lines.len()).map_err(|_| Error::BadParameter)?;
        let mut state = Self::new(params.with_form(form), num_lines);
        match mode {
            0 if martingale.to_bits() == 0 => {}
            // What an unfinished image has accumulated is not known.
            1 if !header.sealed => {}
            1 if martingale.is_finite() && martingale >= 0.0 => {
                state.set(MARTINGALE, true);
                state.martingale = martingale;
            }
            _ => return Err(Error::BadParameter),
        }
        let payload = lines.get(1..).unwrap_or(&[]).as_flattened();
        match form {
            HllForm::Sparse => {
                // There is a line of tokens even where there are none.
                if num_tokens > params.most_tokens() || payload.is_empty() {
                    return Err(Error::BadParameter);
                }
                let (words, _) = payload.as_chunks();
                let least = num_tokens.max(1).next_multiple_of(params::LINE_TOKENS) as usize;
                if header.sealed && words.len() != least {
                    return Err(Error::BadParameter);
                }
                let counts = match header.sealed {
                    true => tokens::check_sealed(words, num_tokens)?,
                    false if num_tokens == 0 => tokens::recover(words, params.most_tokens())?,
                    false => return Err(Error::BadParameter),
                };
                state.set_counts(counts);
            }
            HllForm::Dense => {
                if num_tokens != 0 || header.payload_bytes + BLOCK_BYTES as u64 != params.dense_image_bytes() {
                    return Err(Error::BadParameter);
                }
                let (body, rest) = payload.split_at_checked(params.body_bytes()).ok_or(Error::BadParameter)?;
                let histogram = state.isa().histogram(body);
                let above = histogram.get(rank::max_rank(u32::from(p)) as usize + 1..).unwrap_or(&[]);
                if above.iter().any(|&count| count != 0) || rest.iter().any(|&byte| byte != 0) {
                    return Err(Error::BadPayload);
                }
                state.set_weights(Weights::of(&histogram, u32::from(p)));
            }
        }
        state.set(SEALED, header.sealed);
        Ok(state)
    }

    fn header(&self, num_payload_lines: usize, num_tokens: u32, martingale: f64) -> Header {
        let mut params = [0; 16];
        params[0] = self.p;
        params[1] = u8::from(self.has(DENSE));
        params[2] = u8::from(self.has(MARTINGALE));
        params[4..8].copy_from_slice(&num_tokens.to_le_bytes());
        params[8..].copy_from_slice(&martingale.to_le_bytes());
        let payload_bytes = (num_payload_lines * BLOCK_BYTES) as u64;
        Header { kind: Kind::HyperLogLog, sealed: false, hashing: self.hashing(), payload_bytes, num_keys: 0, params }
    }

    /// The header line while the sketch is in use.
    fn unsealed_header(&self) -> Block {
        self.header((self.num_lines as usize).saturating_sub(1), 0, 0.0).encode_unsealed()
    }

    #[inline(always)]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn set(&mut self, flag: u8, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    fn hashing(&self) -> HashScheme {
        HashScheme::from_parts(self.hash_id, self.seed_or_tag).unwrap_or(HashScheme::Caller { tag: self.seed_or_tag })
    }

    fn isa(&self) -> Isa {
        Isa::from_level(self.level).unwrap_or(Isa::PORTABLE)
    }

    #[inline(always)]
    fn precision(&self) -> u32 {
        u32::from(self.p)
    }

    fn counts(&self) -> Counts {
        Counts { sorted: self.zeros_or_sorted, buffered: self.top_or_buffered }
    }

    fn set_counts(&mut self, counts: Counts) {
        self.flags &= !DENSE;
        (self.zeros_or_sorted, self.top_or_buffered) = (counts.sorted, counts.buffered);
    }

    #[inline(always)]
    fn weights(&self) -> Weights {
        Weights { zeros: self.zeros_or_sorted, top: self.top_or_buffered, sum: self.sum }
    }

    #[inline(always)]
    fn set_weights(&mut self, weights: Weights) {
        self.flags |= DENSE;
        (self.zeros_or_sorted, self.top_or_buffered, self.sum) = (weights.zeros, weights.top, weights.sum);
    }

    /// Number of lines that belong to this state.
    #[inline(always)]
    pub fn num_lines(&self) -> usize {
        self.num_lines as usize
    }

    /// Where in the lines an insert of this hash changes something: a byte to prefetch.
    #[inline(always)]
    pub fn offset_of(&self, hash: KeyHash) -> usize {
        let (register, _) = rank::split(hash.raw(), self.precision());
        if self.has(DENSE) { BLOCK_BYTES + registers::body_bytes(register as usize) } else { BLOCK_BYTES }
    }

    /// Whether an insert of this hash would change the sketch in these lines; true as well where only an insert can
    /// tell. Most keys of a large sketch change nothing.
    #[inline(always)]
    pub fn may_change(&self, lines: &[Block], hash: KeyHash) -> bool {
        let (register, rank) = rank::split(hash.raw(), self.precision());
        let body = lines.get(1..).unwrap_or(&[]).as_flattened();
        !self.is_ready() || rank > u32::from(self.least) && rank > u32::from(registers::get(body, register as usize))
    }

    /// Dense, and as an insert leaves it.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        self.flags & (DENSE | SEALED | STALE) == DENSE
    }

    /// The seed with which keys are hashed.
    ///
    /// # Errors
    /// [`Error::CallerHash`] where the caller hashes.
    #[inline(always)]
    pub fn key_seed(&self) -> Result<u64, Error> {
        self.hashing().key_seed()
    }

    /// The shape, with the form that the sketch has now.
    pub fn params(&self) -> HllParams {
        let params = HllParams::from_checked(self.p, self.form(), self.has(MARTINGALE));
        params.with_hashing(self.hashing())
    }

    /// The form now.
    pub fn form(&self) -> HllForm {
        if self.has(DENSE) { HllForm::Dense } else { HllForm::Sparse }
    }

    /// The SIMD level in use, as [`Isa::level`] numbers them.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Uses another instruction set. Answers and bytes do not change with it.
    pub fn set_isa(&mut self, isa: Isa) {
        self.level = isa.level();
    }

    /// Whether the header in memory is sealed.
    pub fn is_sealed(&self) -> bool {
        self.has(SEALED)
    }
}

impl core::fmt::Debug for HllState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HllState").field("params", &self.params()).field("level", &self.level).finish_non_exhaustive()
    }
}

#[cfg(feature = "alloc")]
impl HyperLogLog {
    /// A sketch without keys.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog};
    /// let mut sketch = HyperLogLog::new(HllParams::new(14)?)?;
    /// for user in 0..1000u64 {
    ///     sketch.insert_u64(user % 250)?;
    /// }
    /// assert_eq!(sketch.estimate().round(), 250.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(params: HllParams) -> Result<Self, Error> {
        let lines = OwnedLines::zeroed(params.image_bytes() / BLOCK_BYTES as u64)?;
        Ok(Self::over_zeroed(lines, params))
    }

    /// A copy of an image, checked first.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog, OpenOptions};
    /// let mut sketch = HyperLogLog::new(HllParams::new(12)?)?;
    /// sketch.insert(b"alice")?;
    /// let copy = HyperLogLog::from_image(sketch.seal(), OpenOptions::STRICT)?;
    /// assert_eq!(copy.estimate(), sketch.estimate());
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`HllRef::open`], and [`Error::OutOfMemory`].
    pub fn from_image(image: &[u8], options: OpenOptions) -> Result<Self, Error> {
        let source = HllRef::open(image, options)?;
        let mut lines = OwnedLines::zeroed(source.lines.len() as u64)?;
        lines.lines_mut().copy_from_slice(source.lines);
        Ok(Self { lines, state: source.state })
    }

    /// The same keys at a smaller precision: what a sketch built there would be, bit for bit.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog};
    /// let mut sketch = HyperLogLog::new(HllParams::new(14)?)?;
    /// sketch.insert(b"alice")?;
    /// let mut folded = sketch.folded(10)?;
    /// let mut direct = HyperLogLog::new(HllParams::new(10)?)?;
    /// direct.insert(b"alice")?;
    /// assert_eq!(folded.seal(), direct.seal());
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `4 <= p` and `p` is at most the present precision; [`Error::OutOfMemory`].
    pub fn folded(&self, p: u32) -> Result<Self, Error> {
        if p > self.state.precision() {
            return Err(Error::InvalidArgument);
        }
        let params = HllParams::new(p)?.with_form(self.state.form()).with_hashing(self.state.hashing());
        let mut folded = Self::new(params)?.with_isa(self.state.isa());
        folded.merge_folding(self)?;
        Ok(folded)
    }
}

impl<'a> HllRef<'a> {
    /// A sketch over an image, in place. Reads header and payload: the live values are computed, not believed.
    ///
    /// ```
    /// use sketchline::{HllParams, HllRef, HyperLogLog, OpenOptions};
    /// let mut sketch = HyperLogLog::new(HllParams::new(12)?)?;
    /// sketch.insert(b"alice")?;
    /// let page = sketch.seal().to_vec();
    /// assert_eq!(HllRef::open(&page, OpenOptions::STRICT)?.estimate().round(), 1.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// One per way in which bytes can fail to be a sealed image: see [`Error`].
    pub fn open(image: &'a [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks(image)?;
        Ok(Self { lines, state: HllState::open(lines, options)? })
    }
}

impl<'a> HllMut<'a> {
    /// A sketch without keys in memory of the caller, which is zeroed. Dense: exactly
    /// [`HllParams::image_bytes`] long. Sparse: that or any more lines.
    ///
    /// ```
    /// use sketchline::{Error, HllMut, HllParams};
    /// let params = HllParams::new(12)?;
    /// let mut memory = vec![0; params.image_bytes() as usize];
    /// let mut sketch = HllMut::init(&mut memory, params)?;
    /// for key in 0..16 {
    ///     sketch.insert_u64(key)?;
    /// }
    /// // A line of tokens is full: move on to more memory.
    /// assert_eq!(sketch.insert_u64(16), Err(Error::NeedSpace));
    /// let mut more = vec![0; sketch.grown_bytes() as usize];
    /// let mut sketch = sketch.move_to(&mut more)?;
    /// sketch.insert_u64(16)?;
    /// assert_eq!(sketch.estimate().round(), 17.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongLength`] if the length is another.
    pub fn init(memory: &'a mut [u8], params: HllParams) -> Result<Self, Error> {
        let len = memory.len() as u64;
        let fits = match params.form() {
            HllForm::Sparse => {
                len >= params.image_bytes() && len <= params.dense_image_bytes().max(params.image_bytes())
            }
            HllForm::Dense => len == params.image_bytes(),
        };
        if !fits || !memory.len().is_multiple_of(BLOCK_BYTES) {
            return Err(Error::WrongLength);
        }
        memory.fill(0);
        Ok(Self::over_zeroed(block::as_blocks_mut(memory)?, params))
    }

    /// A sketch over an image at the start of `memory`, in place, to be changed. What follows the image is room
    /// to grow for a sparse sketch, and must be lines of zeros.
    ///
    /// # Errors
    /// As [`HllRef::open`], and [`Error::WrongLength`] if the image is longer than the memory; nothing is changed then.
    pub fn open_mut(memory: &'a mut [u8], image_bytes: usize, options: OpenOptions) -> Result<Self, Error> {
        let image = memory.get(..image_bytes).ok_or(Error::WrongLength)?;
        let mut state = HllState::open(block::as_blocks(image)?, options)?;
        let rest = memory.get(image_bytes..).unwrap_or(&[]);
        let room = rest.len().is_multiple_of(BLOCK_BYTES) && rest.iter().all(|&byte| byte == 0);
        if !rest.is_empty() && (!room || state.has(DENSE)) {
            return Err(Error::WrongLength);
        }
        let grows = !rest.is_empty();
        let lines = block::as_blocks_mut(memory)?;
        state.num_lines = u32::try_from(lines.len()).map_err(|_| Error::WrongLength)?;
        let mut sketch = Self { lines, state };
        if grows && !sketch.state.has(SEALED) {
            sketch.write_header(); // the image in use is longer now
        }
        Ok(sketch)
    }
}

impl<S: LinesMut> Hll<S> {
    /// A sketch without keys over zeroed lines, as many as it needs.
    fn over_zeroed(mut lines: S, params: HllParams) -> Self {
        let state = HllState::new(params, lines.lines().len() as u32);
        if let Some(line) = lines.lines_mut().first_mut() {
            *line = state.unsealed_header();
        }
        Self { lines, state }
    }
}

impl<S: Lines> Hll<S> {
    /// Lines and the state that [`Hll::state`] gave for them. Constant time; the bytes are not looked at.
    ///
    /// ```
    /// use sketchline::{Hll, HllMut, HllParams};
    /// let params = HllParams::new(12)?;
    /// let mut memory = vec![0; params.image_bytes() as usize];
    /// // What a host keeps beside the pointer, where it cannot hold a borrow.
    /// let state = *HllMut::init(&mut memory, params)?.state();
    /// let mut sketch = Hll::attach(memory.as_chunks_mut().0, state)?;
    /// sketch.insert(b"alice")?;
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongLength`] unless there are [`HllState::num_lines`] of them.
    #[inline(always)]
    pub fn attach(lines: S, state: HllState) -> Result<Self, Error> {
        if lines.lines().len() == state.num_lines() { Ok(Self { lines, state }) } else { Err(Error::WrongLength) }
    }

    /// What this sketch knows besides its lines.
    pub fn state(&self) -> &HllState {
        &self.state
    }

    /// The shape, with the form that the sketch has now.
    pub fn params(&self) -> HllParams {
        self.state.params()
    }

    /// The same sketch on another instruction set.
    #[must_use]
    pub fn with_isa(mut self, isa: Isa) -> Self {
        self.state.set_isa(isa);
        self
    }

    /// A view of this sketch.
    pub fn view(&self) -> HllRef<'_> {
        Hll { lines: self.lines.lines(), state: self.state }
    }

    /// The bytes: room to grow included while the sketch is not sealed, an image after [`Hll::seal`].
    pub fn as_bytes(&self) -> &[u8] {
        let len = if self.state.has(SEALED) { 1 + self.payload_lines() } else { self.state.num_lines() };
        self.lines.lines().get(..len).unwrap_or(&[]).as_flattened()
    }

    /// Lines of the payload that hold something.
    fn payload_lines(&self) -> usize {
        let tokens = self.state.counts().total().div_ceil(params::LINE_TOKENS).max(1);
        if self.state.has(DENSE) { self.state.num_lines().saturating_sub(1) } else { tokens as usize }
    }

    fn payload(&self) -> &[u8] {
        self.lines.lines().get(1..).unwrap_or(&[]).as_flattened()
    }

    /// The registers, packed: `None` while the sketch is sparse.
    ///
    /// ```
    /// use sketchline::{HllForm, HllParams, HyperLogLog};
    /// let params = HllParams::new(4)?.with_form(HllForm::Dense);
    /// assert_eq!(HyperLogLog::new(params)?.registers().map(<[u8]>::len), Some(12));
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    pub fn registers(&self) -> Option<&[u8]> {
        if self.state.has(DENSE) { self.payload().get(..self.params().body_bytes()) } else { None }
    }

    fn tokens(&self) -> impl Iterator<Item = u32> {
        tokens::iter(self.payload().as_chunks().0, self.state.counts())
    }

    /// Weights of the registers, counted anew if a merge has changed them.
    fn weights(&self) -> Weights {
        match self.registers() {
            Some(body) if self.state.has(STALE) => {
                Weights::of(&self.state.isa().histogram(body), self.state.precision())
            }
            _ => self.state.weights(),
        }
    }

    /// About how many distinct keys were inserted: 0 for none, at most 2^64. Constant time, except after a merge:
    /// then one pass over the registers, each time until the next insert.
    pub fn estimate(&self) -> f64 {
        if self.state.has(MARTINGALE) {
            self.state.martingale
        } else if self.state.has(DENSE) {
            self.weights().estimate(self.state.precision())
        } else {
            estimate::from_tokens(self.state.counts().total())
        }
    }

    /// Relative standard error of the estimate in the present form.
    pub fn standard_error(&self) -> f64 {
        if self.state.has(DENSE) { estimate::dense_error(self.state.precision()) } else { estimate::SPARSE_ERROR }
    }

    /// The estimate with bounds at so many standard deviations, 1 to 3 (68, 95 and 99.7 % of cases). At precisions
    /// below 10 the errors of a dense sketch have longer tails than that.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog};
    /// let mut sketch = HyperLogLog::new(HllParams::new(12)?)?;
    /// for key in 0..100_000 {
    ///     sketch.insert_u64(key)?;
    /// }
    /// let bounds = sketch.estimate_with_bounds(3)?;
    /// assert!(bounds.lower < 100_000.0 && 100_000.0 < bounds.upper);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number.
    pub fn estimate_with_bounds(&self, sigmas: u32) -> Result<EstimateBounds, Error> {
        let confidence = match sigmas {
            1 => 0.6827,
            2 => 0.9545,
            3 => 0.9973,
            _ => return Err(Error::InvalidArgument),
        };
        if !self.state.has(DENSE) {
            return Ok(EstimateBounds::of_tokens(self.estimate(), self.state.counts().total(), confidence));
        }
        let taken = (1 << self.state.precision()) - self.weights().zeros;
        Ok(EstimateBounds::around(self.estimate(), f64::from(taken), self.standard_error() * f64::from(sigmas)))
    }

    /// Registers that are still 0, of a dense sketch.
    pub fn zero_registers(&self) -> Option<u32> {
        self.state.has(DENSE).then(|| self.weights().zeros)
    }

    /// The least register, of a dense sketch: one pass.
    pub fn min_register(&self) -> Option<u32> {
        let histogram = self.state.isa().histogram(self.registers()?);
        histogram.iter().position(|&count| count != 0).map(|rank| rank as u32)
    }

    /// Bytes of the image that this sketch needs next, once an insert or a merge has answered [`Error::NeedSpace`].
    pub fn grown_bytes(&self) -> u64 {
        self.grown_to(self.state.counts().total() + 1)
    }

    /// Bytes of an image with room for so many tokens, or dense if they are too many. Sparse room doubles.
    fn grown_to(&self, tokens: u32) -> u64 {
        let params = self.params();
        if self.state.has(DENSE) || tokens > params.most_tokens() {
            return params.dense_image_bytes();
        }
        let lines = tokens.max(2 * self.state.counts().total()).min(params.most_tokens()).div_ceil(params::LINE_TOKENS);
        (1 + u64::from(lines)) * BLOCK_BYTES as u64
    }

    /// Moves the sketch to other memory, of as many bytes as [`Hll::grown_bytes`] or [`Hll::merged_bytes`] says;
    /// the old memory is the caller's again. In memory of the dense size a sketch becomes dense.
    ///
    /// # Errors
    /// [`Error::WrongLength`] if the length is neither that of a dense image nor one that a sparse sketch with
    /// these tokens may have; nothing is changed then.
    pub fn move_to<'b>(&self, memory: &'b mut [u8]) -> Result<HllMut<'b>, Error> {
        let (len, dense) = (memory.len(), self.params().dense_image_bytes());
        let least = (1 + self.payload_lines()) * BLOCK_BYTES;
        let sparse = !self.state.has(DENSE) && len >= least && len.is_multiple_of(BLOCK_BYTES) && (len as u64) < dense;
        if len as u64 != dense && !sparse {
            return Err(Error::WrongLength);
        }
        memory.fill(0);
        Ok(self.moved_to(block::as_blocks_mut(memory)?))
    }

    /// This sketch in other lines, zeroed: dense if that is what they are for.
    fn moved_to<T: LinesMut>(&self, mut lines: T) -> Hll<T> {
        let mut state = self.state;
        state.flags &= !SEALED;
        let params = self.params();
        let dense = lines.lines().len() as u64 * BLOCK_BYTES as u64 == params.dense_image_bytes();
        state.num_lines = lines.lines().len() as u32;
        if let Some((_, payload)) = lines.lines_mut().split_first_mut() {
            let payload = payload.as_flattened_mut();
            if dense && !state.has(DENSE) {
                let body = payload.get_mut(..params.body_bytes()).unwrap_or(&mut []);
                for token in self.tokens() {
                    let (register, rank) = rank::expand(token, params.p());
                    registers::raise(body, register as usize, rank as u8);
                }
                state.set_weights(Weights::of(&state.isa().histogram(body), params.p()));
            } else {
                for (to, from) in payload.iter_mut().zip(self.payload()) {
                    *to = *from;
                }
            }
        }
        if let Some(line) = lines.lines_mut().first_mut() {
            *line = state.unsealed_header();
        }
        Hll { lines, state }
    }
}

impl<S: LinesMut> Hll<S> {
    /// Before a change: takes the seal off.
    #[inline(always)]
    fn unseal(&mut self) {
        if self.state.has(SEALED) {
            self.state.flags &= !SEALED;
            if let Some(line) = self.lines.lines_mut().first_mut() {
                *line = self.state.unsealed_header();
            }
        }
    }

    #[inline(always)]
    fn payload_mut(&mut self) -> &mut [u8] {
        self.lines.lines_mut().get_mut(1..).unwrap_or(&mut []).as_flattened_mut()
    }

    /// Puts a key in.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the sketch holds the caller's hashes; else as [`Hll::insert_hash`].
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> Result<(), Error> {
        self.insert_hash(KeyHash::of(key, self.state.key_seed()?))
    }

    /// [`Hll::insert`] of an integer key.
    ///
    /// # Errors
    /// As [`Hll::insert`].
    #[inline]
    pub fn insert_u64(&mut self, key: u64) -> Result<(), Error> {
        self.insert_hash(KeyHash::of_u64(key, self.state.key_seed()?))
    }

    /// [`Hll::insert`] of a hash.
    ///
    /// # Errors
    /// [`Error::NeedSpace`] if the sketch is sparse, in memory of the caller, and has outgrown it, or
    /// [`Error::OutOfMemory`]: the key is not in then.
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Error> {
        if !self.state.is_ready() {
            return self.insert_otherwise(hash);
        }
        self.insert_dense(hash.raw());
        Ok(())
    }

    /// [`Hll::insert_hash`] of a sketch that is not dense, or not ready for the next key.
    #[inline(never)]
    fn insert_otherwise(&mut self, hash: KeyHash) -> Result<(), Error> {
        if !self.state.has(DENSE) {
            return self.insert_token(rank::token(hash.raw()));
        }
        self.unseal();
        self.refresh();
        self.insert_dense(hash.raw());
        Ok(())
    }

    /// Raises the register of a hash; the sketch is dense and its weights are right.
    #[inline(always)]
    fn insert_dense(&mut self, hash: u64) {
        let p = self.state.precision();
        let (register, rank) = rank::split(hash, p);
        // No register is below `least`: in a sketch of many keys most go no further.
        if rank > u32::from(self.state.least) {
            self.raise(register, rank);
        }
    }

    #[inline(always)]
    fn raise(&mut self, register: u32, rank: u32) {
        let old = u32::from(registers::raise(self.payload_mut(), register as usize, rank as u8));
        if rank > old {
            self.raised(old, rank);
        }
    }

    /// Follows up on a register that was raised.
    #[inline(never)]
    fn raised(&mut self, old: u32, rank: u32) {
        let p = self.state.precision();
        let mut weights = self.state.weights();
        if self.state.has(MARTINGALE) {
            self.state.martingale += 1.0 / weights.change_probability(p);
        }
        weights.raise(old, rank, p);
        self.state.set_weights(weights);
        if !self.state.has(STALE) {
            self.look_for_least();
        }
    }

    /// Finds the least register anew when the number of keys may have doubled since: `sum` halves with it.
    #[inline(always)]
    fn look_for_least(&mut self) {
        let magnitude = (64 - self.state.sum.leading_zeros()) as u8;
        if self.state.weights().zeros == 0 && magnitude < self.state.least_found_at {
            self.state.least = self.min_register().unwrap_or(0) as u8;
            self.state.least_found_at = magnitude;
        }
    }

    /// Counts the weights anew.
    #[cold]
    fn refresh(&mut self) {
        let weights = self.weights();
        self.state.set_weights(weights);
        self.state.flags &= !STALE;
        self.state.least_found_at = u8::MAX;
    }

    /// Adds a token to a sparse sketch, which grows for it or becomes dense.
    fn insert_token(&mut self, token: u32) -> Result<(), Error> {
        let most = self.params().most_tokens();
        let mut counts = self.state.counts();
        let words = self.payload_mut().as_chunks_mut().0;
        let added = tokens::add(words, &mut counts, token, most);
        if added == Added::NoRoom {
            self.grow(self.grown_bytes())?;
            if self.state.has(DENSE) {
                let (register, rank) = rank::expand(token, self.state.precision());
                self.raise(register, rank);
                return Ok(());
            }
            return self.insert_token(token);
        }
        self.unseal();
        self.state.set_counts(counts);
        if added == Added::New && self.state.has(MARTINGALE) {
            self.state.martingale = estimate::from_tokens(counts.total());
        }
        Ok(())
    }

    /// Moves to lines of the same kind, where those can be had.
    #[cold]
    fn grow(&mut self, bytes: u64) -> Result<(), Error> {
        let lines = self.lines.fresh(bytes / BLOCK_BYTES as u64)?;
        *self = self.moved_to(lines);
        Ok(())
    }

    /// Takes all keys out. The form stays.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog};
    /// let mut sketch = HyperLogLog::new(HllParams::new(12)?)?;
    /// sketch.insert(b"alice")?;
    /// sketch.clear();
    /// assert_eq!(sketch.estimate(), 0.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    pub fn clear(&mut self) {
        let params = self.params();
        self.payload_mut().fill(0);
        let (level, num_lines) = (self.state.level, self.state.num_lines);
        self.state = HllState::new(params, num_lines);
        self.state.level = level;
        if let Some(line) = self.lines.lines_mut().first_mut() {
            *line = self.state.unsealed_header();
        }
    }

    /// Finishes the image and gives the bytes that are worth keeping: sorts the tokens, leaves out room to grow,
    /// writes both checksums. The next change takes the seal off.
    pub fn seal(&mut self) -> &[u8] {
        if !self.state.has(SEALED) {
            let mut num_tokens = 0;
            if !self.state.has(DENSE) {
                let mut counts = self.state.counts();
                tokens::sort(self.payload_mut().as_chunks_mut().0, &mut counts);
                self.state.set_counts(counts);
                num_tokens = counts.total();
            }
            let lines = self.payload_lines();
            let martingale = if self.state.has(MARTINGALE) { self.state.martingale } else { 0.0 };
            let header = self.state.header(lines, num_tokens, martingale);
            header.seal(self.lines.lines_mut().get_mut(..1 + lines).unwrap_or(&mut []));
            self.state.set(SEALED, true);
        }
        self.as_bytes()
    }
}
