//! Count-Min: how often each key came, never too low, too high by a bound that is known.
//!
//! One type, [`Cms`], over owned, borrowed and mutably borrowed lines.
//!
//! ```text
//! rows     | header line | row 0, whole lines | row 1 | .. | row d-1 |      one counter of a key in each row
//! two-line | header line | half 0: L lines    | half 1: L lines      |      two counters in one line of each half
//! ```
//!
//! `column.rs` defines which counters, `params.rs` how many. The total of all counts is in the header, and correct
//! there at any time. Counters and total stop at their greatest value: an estimate below its cap is exact in never
//! being too low. Papers: Cormode, Muthukrishnan, J. Algorithms 55, 2005; Estan, Varghese, SIGCOMM 2002 (conservative
//! update).

mod batch;
pub(crate) mod column;
mod merge;
mod params;
mod window;

pub use params::{CmsLayout, CmsParams, CounterSize};
pub use window::CmsWindow;

#[cfg(feature = "alloc")]
use crate::block::OwnedLines;
use crate::block::{self, BLOCK_BYTES, Block};
use crate::image::{Header, Kind, OpenOptions};
use crate::lines::{Lines, LinesMut};
use crate::simd::counting;
use crate::{Error, HashScheme, Isa, KeyHash};
use column::Table;

/// A Count-Min sketch over lines that it may read, and change if they are mutable.
#[derive(Clone, Debug)]
pub struct Cms<S> {
    lines: S,
    state: CmsState,
}

/// A sketch that owns its memory, at 64-byte alignment.
#[cfg(feature = "alloc")]
pub type CountMinSketch = Cms<OwnedLines>;
/// A sketch in bytes that it may only read, at any alignment.
pub type CmsRef<'a> = Cms<&'a [Block]>;
/// A sketch in bytes that it may change, at any alignment.
pub type CmsMut<'a> = Cms<&'a mut [Block]>;

/// All that a sketch knows besides its lines, in 48 bytes; see [`crate::BloomState`].
#[derive(Clone, Copy)]
pub struct CmsState {
    isa: Isa,
    seed_or_tag: u64,
    table: Table,
    hash_id: u8,
    /// The header in the lines is sealed.
    sealed: bool,
    /// 0: no byte of a state is left unset, since hosts copy and compare them.
    #[allow(dead_code, reason = "written, never read")]
    unused: [u8; PADDING],
}

/// More where a pointer is shorter than the alignment of the rest.
const PADDING: usize = 6 + align_of::<u64>().saturating_sub(size_of::<Isa>());
const _: () = assert!(size_of::<CmsState>() == 34 + size_of::<Isa>() + PADDING);

/// Where the header keeps the total.
const TOTAL: core::ops::Range<usize> = 40..48;

impl CmsState {
    fn new(params: CmsParams) -> Self {
        Self {
            isa: Isa::default_for_new(),
            seed_or_tag: params.hashing().seed_or_tag(),
            table: *params.table(),
            hash_id: params.hashing().id(),
            sealed: false,
            unused: [0; PADDING],
        }
    }

    /// Checks an image and decodes its header; the lines are left as they are.
    fn open(lines: &[Block], options: OpenOptions) -> Result<Self, Error> {
        let header = Header::open(lines, Kind::CountMin, options)?;
        let [s0, s1, s2, s3, depth, layout, counter, mode, ..] = header.params;
        let layout = match layout {
            0 => CmsLayout::Rows,
            1 => CmsLayout::TwoLine,
            _ => return Err(Error::BadParameter),
        };
        let counter = match counter {
            4 => CounterSize::U32,
            8 => CounterSize::U64,
            _ => return Err(Error::BadParameter),
        };
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        let params = CmsParams::of_size(layout, counter, size.into(), depth.into()).map_err(|_| Error::BadParameter)?;
        let params = match mode {
            0 => params,
            1 => params.conservative(),
            _ => return Err(Error::UnknownFlag),
        };
        if params.payload_bytes() != header.payload_bytes || header.num_keys != 0 {
            return Err(Error::BadParameter);
        }
        let mut state = Self::new(params.with_hashing(header.hashing));
        state.sealed = header.sealed;
        if state.has_padding_set(lines.get(1..).unwrap_or(&[])) {
            return Err(Error::BadPayload);
        }
        Ok(state)
    }

    /// Whether a byte between a row and the next is not zero.
    fn has_padding_set(&self, payload: &[Block]) -> bool {
        let (used, row) = match self.table.layout {
            CmsLayout::TwoLine => return false,
            CmsLayout::Rows => (self.table.size as usize * self.table.counter.bytes(), self.table.part_lines as usize),
        };
        let padding = |row: &[Block]| {
            let last = row.last().map_or(&[][..], |line| line);
            let in_last = used % BLOCK_BYTES;
            in_last != 0 && last.get(in_last..).unwrap_or(&[]).iter().any(|&byte| byte != 0)
        };
        payload.chunks(row.max(1)).any(padding)
    }

    fn header(&self, total: u64) -> Header {
        let mut params = [0; 16];
        params[..4].copy_from_slice(&self.table.size.to_le_bytes());
        params[4] = self.table.depth;
        params[5] = self.table.layout as u8;
        params[6] = self.table.counter as u8;
        params[7] = u8::from(self.table.conservative);
        params[8..].copy_from_slice(&total.to_le_bytes());
        let payload_bytes = self.params().payload_bytes();
        Header { kind: Kind::CountMin, sealed: false, hashing: self.hashing(), payload_bytes, num_keys: 0, params }
    }

    #[inline(always)]
    fn hashing(&self) -> HashScheme {
        HashScheme::from_parts(self.hash_id, self.seed_or_tag).unwrap_or(HashScheme::Caller { tag: self.seed_or_tag })
    }

    /// The counters among some lines, about to be changed: takes the seal off first, and adds to the total.
    #[inline(always)]
    fn counters_mut<'a>(&mut self, lines: &'a mut [Block], added: u64) -> &'a mut [Block] {
        if self.sealed {
            self.unseal(lines);
        }
        let Some((line, counters)) = lines.split_first_mut() else { return &mut [] };
        set_total(line, total(line).saturating_add(added));
        counters
    }

    #[cold]
    fn unseal(&mut self, lines: &mut [Block]) {
        self.sealed = false;
        if let Some(line) = lines.first_mut() {
            *line = self.header(total(line)).encode_unsealed();
        }
    }

    /// [`Cms::add_hash`] without a [`Cms`]: into these lines, [`CmsState::num_lines`] of them.
    #[inline(always)]
    pub fn add_hash(&mut self, lines: &mut [Block], hash: KeyHash, count: u64) -> u64 {
        let lines = self.counters_mut(lines, count);
        counting::add(lines, &self.table, hash.raw(), count)
    }

    /// [`Cms::estimate_hash`] without a [`Cms`]: of these lines, [`CmsState::num_lines`] of them.
    #[inline(always)]
    pub fn estimate_hash(&self, lines: &[Block], hash: KeyHash) -> u64 {
        counting::estimate(lines.get(1..).unwrap_or(&[]), &self.table, hash.raw())
    }

    /// The seed with which keys are hashed.
    ///
    /// # Errors
    /// [`Error::CallerHash`] where the caller hashes.
    #[inline(always)]
    pub fn key_seed(&self) -> Result<u64, Error> {
        self.hashing().key_seed()
    }

    /// The value at which a counter, and so an estimate, stops.
    #[inline(always)]
    pub fn cap(&self) -> u64 {
        self.table.counter.cap()
    }

    /// Number of lines that belong to this state: header and counters.
    #[inline(always)]
    pub fn num_lines(&self) -> usize {
        // A sketch is in memory, so that its size is one of the machine.
        self.table.num_lines as usize + 1
    }

    /// The shape.
    pub fn params(&self) -> CmsParams {
        CmsParams::of_table(self.table, self.hashing())
    }

    /// The SIMD level in use, as [`Isa::level`] numbers them.
    pub fn level(&self) -> u8 {
        self.isa.level()
    }

    /// Uses another instruction set. Answers and bytes do not change with it.
    pub fn set_isa(&mut self, isa: Isa) {
        self.isa = isa;
    }

    /// Whether the header in memory is sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }
}

#[inline(always)]
fn total(header: &Block) -> u64 {
    header.as_chunks::<8>().0.get(TOTAL.start / 8).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline(always)]
fn set_total(header: &mut Block, total: u64) {
    header[TOTAL].copy_from_slice(&total.to_le_bytes());
}

impl core::fmt::Debug for CmsState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CmsState").field("params", &self.params()).field("isa", &self.isa).finish_non_exhaustive()
    }
}

/// An estimate and how far off it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CmsBounds {
    /// At least the true count, unless it is saturated.
    pub estimate: u64,
    /// The true count is at least this with a probability of `1 - delta`: `estimate - error`, and at least 0.
    pub lower: f64,
    /// `total * epsilon`.
    pub error: f64,
    /// `e^-depth`, or `e^-2` in the two-line layout.
    pub delta: f64,
    /// Whether every counter of the key has stopped: the true count may be greater.
    pub saturated: bool,
}

/// What a pass over all counters tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmsCensus {
    /// Counters that are still 0.
    pub zeros: u64,
    /// Counters that have stopped at their greatest value.
    pub saturated: u64,
    /// The greatest counter.
    pub greatest: u64,
}

#[cfg(feature = "alloc")]
impl CountMinSketch {
    /// A sketch without counts. Allocates and zeroes [`CmsParams::image_bytes`].
    ///
    /// ```
    /// use sketchline::{CmsParams, CountMinSketch};
    /// let mut sketch = CountMinSketch::new(CmsParams::rows(1024, 4)?)?;
    /// sketch.add(b"10.0.0.1", 1)?;
    /// assert_eq!(sketch.add(b"10.0.0.1", 2)?, 3);
    /// assert_eq!(sketch.estimate(b"10.0.0.2")?, 0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the address space, [`Error::OutOfMemory`].
    pub fn new(params: CmsParams) -> Result<Self, Error> {
        let lines = OwnedLines::zeroed(params.image_bytes() / BLOCK_BYTES as u64)?;
        Ok(Self::over_zeroed(lines, params))
    }

    /// A copy of an image, checked first: nothing is allocated for bytes that are not one.
    ///
    /// # Errors
    /// As [`CmsRef::open`], and [`Error::OutOfMemory`].
    pub fn from_image(image: &[u8], options: OpenOptions) -> Result<Self, Error> {
        let source = CmsRef::open(image, options)?;
        let mut lines = OwnedLines::zeroed(source.lines.len() as u64)?;
        lines.lines_mut().copy_from_slice(source.lines);
        Ok(Self { lines, state: source.state })
    }
}

impl<'a> CmsRef<'a> {
    /// A sketch over an image, in place. Reads the header, and the payload once unless the options say otherwise.
    ///
    /// # Errors
    /// One per way in which bytes can fail to be a sealed image: see [`Error`].
    pub fn open(image: &'a [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks(image)?;
        Ok(Self { lines, state: CmsState::open(lines, options)? })
    }
}

impl<'a> CmsMut<'a> {
    /// A sketch without counts in memory of the caller, [`CmsParams::image_bytes`] long, which is zeroed.
    ///
    /// # Errors
    /// [`Error::WrongLength`] if the length is another.
    pub fn init(memory: &'a mut [u8], params: CmsParams) -> Result<Self, Error> {
        if memory.len() as u64 != params.image_bytes() {
            return Err(Error::WrongLength);
        }
        memory.fill(0);
        Ok(Self::over_zeroed(block::as_blocks_mut(memory)?, params))
    }

    /// A sketch over an image, in place, to be changed. The first change takes the seal off.
    ///
    /// # Errors
    /// As [`CmsRef::open`]; nothing is changed then.
    pub fn open_mut(image: &'a mut [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks_mut(image)?;
        let state = CmsState::open(lines, options)?;
        Ok(Self { lines, state })
    }
}

impl<S: Lines> Cms<S> {
    /// Lines and the state that [`Cms::state`] gave for them. Constant time; the bytes are not looked at.
    ///
    /// # Errors
    /// [`Error::WrongLength`] unless there are [`CmsState::num_lines`] of them.
    #[inline(always)]
    pub fn attach(lines: S, state: CmsState) -> Result<Self, Error> {
        if lines.lines().len() == state.num_lines() { Ok(Self { lines, state }) } else { Err(Error::WrongLength) }
    }

    /// What this sketch knows besides its lines.
    pub fn state(&self) -> &CmsState {
        &self.state
    }

    /// The shape.
    pub fn params(&self) -> CmsParams {
        self.state.params()
    }

    /// The same sketch on another instruction set. Answers and bytes do not change with it.
    #[must_use]
    pub fn with_isa(mut self, isa: Isa) -> Self {
        self.state.set_isa(isa);
        self
    }

    /// A view of this sketch.
    pub fn view(&self) -> CmsRef<'_> {
        Cms { lines: self.lines.lines(), state: self.state }
    }

    /// The image. Only sealed images are worth keeping.
    pub fn as_bytes(&self) -> &[u8] {
        self.lines.lines().as_flattened()
    }

    fn counters(&self) -> &[Block] {
        self.lines.lines().get(1..).unwrap_or(&[])
    }

    /// The total of all counts, halved as often as the counters were; stops at 2^64 - 1.
    pub fn total(&self) -> u64 {
        self.lines.lines().first().map_or(0, total)
    }

    /// How much an estimate is too high at most, with a probability of `1 - delta`: `total * epsilon`. To throttle,
    /// choose a threshold well above this.
    pub fn error_bound(&self) -> f64 {
        self.total() as f64 * self.params().epsilon()
    }

    /// How often the key came, at least: never too low while it is below [`CmsState::cap`].
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the sketch holds the caller's hashes.
    #[inline]
    pub fn estimate(&self, key: &[u8]) -> Result<u64, Error> {
        Ok(self.estimate_hash(KeyHash::of(key, self.state.key_seed()?)))
    }

    /// [`Cms::estimate`] of an integer key.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the sketch holds the caller's hashes.
    #[inline]
    pub fn estimate_u64(&self, key: u64) -> Result<u64, Error> {
        Ok(self.estimate_hash(KeyHash::of_u64(key, self.state.key_seed()?)))
    }

    /// [`Cms::estimate`] of a hash.
    #[inline(always)]
    pub fn estimate_hash(&self, hash: KeyHash) -> u64 {
        self.state.estimate_hash(self.lines.lines(), hash)
    }

    /// An estimate with its bound.
    ///
    /// ```
    /// use sketchline::{CmsParams, CountMinSketch};
    /// let mut sketch = CountMinSketch::new(CmsParams::rows(1024, 4)?)?;
    /// sketch.add_u64(7, 1_000_000)?;
    /// let bounds = sketch.bounds(sketch.estimate_u64(8)?);
    /// assert_eq!((bounds.estimate, bounds.lower), (0, 0.0));
    /// assert!((bounds.error - 2654.6).abs() < 0.1 && bounds.delta < 0.0184);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    pub fn bounds(&self, estimate: u64) -> CmsBounds {
        let error = self.error_bound();
        CmsBounds {
            estimate,
            lower: (estimate as f64 - error).max(0.0),
            error,
            delta: self.params().delta(),
            saturated: estimate >= self.state.cap(),
        }
    }

    /// Looks at every counter: one pass.
    pub fn census(&self) -> CmsCensus {
        let table = &self.state.table;
        let found = self.state.isa.census(self.counters(), table.counter);
        let padding = match table.layout {
            CmsLayout::Rows => {
                (table.part_counters(table.counter) - table.size as usize) as u64 * u64::from(table.depth)
            }
            CmsLayout::TwoLine => 0,
        };
        CmsCensus { zeros: found.zeros.saturating_sub(padding), saturated: found.saturated, greatest: found.greatest }
    }
}

impl<S: LinesMut> Cms<S> {
    /// A sketch without counts over lines that are zeroed.
    fn over_zeroed(mut lines: S, params: CmsParams) -> Self {
        let state = CmsState::new(params);
        if let Some(line) = lines.lines_mut().first_mut() {
            *line = state.header(0).encode_unsealed();
        }
        Self { lines, state }
    }

    #[inline(always)]
    fn counters_mut(&mut self, added: u64) -> &mut [Block] {
        self.state.counters_mut(self.lines.lines_mut(), added)
    }

    /// Counts a key `count` more times, and gives its estimate after that. At [`CmsState::cap`] it has stopped:
    /// counts may have been lost.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the sketch holds the caller's hashes.
    #[inline]
    pub fn add(&mut self, key: &[u8], count: u64) -> Result<u64, Error> {
        Ok(self.add_hash(KeyHash::of(key, self.state.key_seed()?), count))
    }

    /// [`Cms::add`] of an integer key.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the sketch holds the caller's hashes.
    #[inline]
    pub fn add_u64(&mut self, key: u64, count: u64) -> Result<u64, Error> {
        Ok(self.add_hash(KeyHash::of_u64(key, self.state.key_seed()?), count))
    }

    /// [`Cms::add`] of a hash.
    #[inline(always)]
    pub fn add_hash(&mut self, hash: KeyHash, count: u64) -> u64 {
        self.state.add_hash(self.lines.lines_mut(), hash, count)
    }

    /// Forgets all counts.
    pub fn clear(&mut self) {
        let header = self.state.header(0).encode_unsealed();
        self.counters_mut(0).as_flattened_mut().fill(0);
        if let Some(line) = self.lines.lines_mut().first_mut() {
            *line = header;
        }
    }

    /// Finishes the image: writes both checksums, and gives the bytes that are worth keeping. Reads the whole
    /// payload. The next change takes the seal off.
    pub fn seal(&mut self) -> &[u8] {
        if !self.state.sealed {
            self.state.header(self.total()).seal(self.lines.lines_mut());
            self.state.sealed = true;
        }
        self.as_bytes()
    }
}
