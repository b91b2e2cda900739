//! Blocked Bloom filter: membership with false positives and never a false negative.
//!
//! A key sets and tests all its bits in one 512-bit block, so that a look-up costs one cache miss. One type,
//! [`Bloom`], works over three kinds of storage: owned lines ([`BloomFilter`]), lines of somebody else
//! ([`BloomRef`]) and lines of somebody else that it may change ([`BloomMut`]).
//!
//! ```text
//! image    | header line | block 0 | block 1 | ...  | block n-1 |      64 bytes each
//! payload                | block 0 | block 1 | ...  | block n-1 |      for hosts that keep the parameters
//! ```
//!
//! `probe.rs` defines which bits, `params.rs` how many. Papers: Bloom, CACM 1970; Putze, Sanders, Singler,
//! JEA 2009 (one cache line); Lang, Neumann, Kemper, Boncz, VLDB 2019 (what engines need).

mod batch;
mod estimate;
mod params;
pub(crate) mod probe;

pub use batch::contains_batch_in_each;
pub use estimate::BloomEstimate;
pub use params::{BloomParams, MAX_BITS_PER_KEY, MAX_BLOCKS, MAX_BYTES, MAX_KEYS};

#[cfg(feature = "alloc")]
use crate::block::OwnedLines;
use crate::block::{self, Block};
use crate::image::{Header, Kind, OpenOptions};
use crate::lines::{Lines, LinesMut};
use crate::simd::{BloomKernels, Probing};
use crate::{Error, HashScheme, Isa, KeyHash};

/// A filter over lines that it may read, and change if they are mutable.
#[derive(Clone, Debug)]
pub struct Bloom<S> {
    lines: S,
    state: BloomState,
}

/// A filter that owns its memory, at 64-byte alignment.
#[cfg(feature = "alloc")]
pub type BloomFilter = Bloom<OwnedLines>;
/// A filter in bytes that it may only read, at any alignment: a page, a mapped file.
pub type BloomRef<'a> = Bloom<&'a [Block]>;
/// A filter in bytes that it may change, at any alignment.
pub type BloomMut<'a> = Bloom<&'a mut [Block]>;

/// All that a filter knows besides its bits: the decoded header and the kernels, in 40 bytes. A host that
/// cannot hold a borrow keeps this beside a pointer, and puts the two together with [`Bloom::attach`].
#[derive(Clone, Copy)]
pub struct BloomState {
    kernels: &'static BloomKernels,
    seed_or_tag: u64,
    capacity: u64,
    num_inserted: u64,
    num_blocks: u32,
    num_probes: u8,
    level: u8,
    hash_id: u8,
    flags: u8,
}

/// The lines begin with a header.
const HAS_HEADER: u8 = 1;
/// The header in the lines is sealed.
const SEALED: u8 = 2;
/// `num_inserted` is known.
const COUNTED: u8 = 4;

impl BloomState {
    fn new(params: BloomParams, flags: u8) -> Self {
        let isa = Isa::default_for_new();
        Self {
            kernels: isa.bloom(params.num_probes()),
            seed_or_tag: params.hashing().seed_or_tag(),
            capacity: params.capacity(),
            num_inserted: 0,
            num_blocks: params.num_blocks(),
            num_probes: params.num_probes() as u8,
            level: isa.level(),
            hash_id: params.hashing().id(),
            flags,
        }
    }

    /// Checks an image and decodes its header; the lines are left as they are.
    fn open(lines: &[Block], options: OpenOptions) -> Result<Self, Error> {
        let header = Header::open(lines, Kind::Bloom, options)?;
        let (params, rest) = header.params.split_at(8);
        let [b0, b1, b2, b3, num_probes, 0, 0, 0] = *params else { return Err(Error::UnknownFlag) };
        let num_blocks = u64::from(u32::from_le_bytes([b0, b1, b2, b3]));
        let capacity = rest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let params = BloomParams::new(num_blocks, u32::from(num_probes), capacity).map_err(|_| Error::BadParameter)?;
        if params.payload_bytes() != header.payload_bytes {
            return Err(Error::BadParameter);
        }
        let mut state = Self::new(params.with_hashing(header.hashing), HAS_HEADER);
        state.num_inserted = header.num_keys;
        state.set(SEALED, header.sealed);
        state.set(COUNTED, header.sealed && header.num_keys != 0);
        Ok(state)
    }

    /// The header line while the filter is in use: no key count, no checksums.
    fn unsealed_header(&self) -> Block {
        self.header(0).encode_unsealed()
    }

    fn header(&self, num_keys: u64) -> Header {
        let mut params = [0; 16];
        params[..4].copy_from_slice(&self.num_blocks.to_le_bytes());
        params[4] = self.num_probes;
        params[8..].copy_from_slice(&self.capacity.to_le_bytes());
        let payload_bytes = self.params().payload_bytes();
        Header { kind: Kind::Bloom, sealed: false, hashing: self.hashing(), payload_bytes, num_keys, params }
    }

    #[inline(always)]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn set(&mut self, flag: u8, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    #[inline(always)]
    fn hashing(&self) -> HashScheme {
        HashScheme::from_parts(self.hash_id, self.seed_or_tag).unwrap_or(HashScheme::Caller { tag: self.seed_or_tag })
    }

    #[inline(always)]
    fn probing(&self) -> Probing {
        Probing { kernels: self.kernels, pattern: probe::pattern(self.num_probes) }
    }

    /// The blocks among some lines.
    #[inline(always)]
    fn blocks<'a>(&self, lines: &'a [Block]) -> &'a [Block] {
        lines.get(usize::from(self.has(HAS_HEADER))..).unwrap_or(&[])
    }

    /// The blocks among some lines, about to be changed: takes the seal off first.
    #[inline(always)]
    fn blocks_mut<'a>(&mut self, lines: &'a mut [Block]) -> &'a mut [Block] {
        if self.has(SEALED) {
            self.flags &= !SEALED;
            if let Some(line) = lines.first_mut() {
                *line = self.unsealed_header();
            }
        }
        lines.get_mut(usize::from(self.has(HAS_HEADER))..).unwrap_or(&mut [])
    }

    /// [`Bloom::contains_hash`] without a [`Bloom`]: of these lines, [`BloomState::num_lines`] of them.
    #[inline(always)]
    pub fn contains_hash(&self, lines: &[Block], hash: KeyHash) -> bool {
        self.probing().contains(self.blocks(lines), hash.raw())
    }

    /// [`Bloom::insert_hash`] without a [`Bloom`]: into these lines, [`BloomState::num_lines`] of them.
    #[inline(always)]
    pub fn insert_hash(&mut self, lines: &mut [Block], hash: KeyHash) {
        let probing = self.probing();
        probing.insert(self.blocks_mut(lines), hash.raw());
        self.count(1);
    }

    #[inline(always)]
    fn count(&mut self, inserted: usize) {
        self.num_inserted = self.num_inserted.saturating_add(inserted as u64);
    }

    /// The seed with which keys are hashed.
    ///
    /// # Errors
    /// [`Error::CallerHash`] where the caller hashes.
    #[inline(always)]
    pub fn key_seed(&self) -> Result<u64, Error> {
        self.hashing().key_seed()
    }

    /// Number of lines that belong to this state: header, if any, and blocks.
    #[inline(always)]
    pub fn num_lines(&self) -> usize {
        self.num_blocks as usize + usize::from(self.has(HAS_HEADER))
    }

    /// The shape.
    pub fn params(&self) -> BloomParams {
        BloomParams::from_checked(self.num_blocks, self.num_probes, self.capacity, self.hashing())
    }

    /// The SIMD level in use, as [`Isa::level`] numbers them.
    pub fn level(&self) -> u8 {
        self.level
    }

    fn isa(&self) -> Isa {
        Isa::from_level(self.level).unwrap_or(Isa::PORTABLE)
    }

    /// Uses another instruction set. Answers and bits do not change with it.
    pub fn set_isa(&mut self, isa: Isa) {
        self.kernels = isa.bloom(u32::from(self.num_probes));
        self.level = isa.level();
    }

    /// Whether the header in memory is sealed: true from a seal (or from opening a sealed image) to the next change.
    pub fn is_sealed(&self) -> bool {
        self.has(SEALED)
    }

    /// How many inserts the filter has seen, duplicates included; `None` after a union, on a bare payload,
    /// and on an image that does not say.
    pub fn num_inserted(&self) -> Option<u64> {
        self.has(COUNTED).then_some(self.num_inserted)
    }
}

impl core::fmt::Debug for BloomState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BloomState")
            .field("params", &self.params())
            .field("num_inserted", &self.num_inserted())
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "alloc")]
impl BloomFilter {
    /// An empty filter. Allocates and zeroes [`BloomParams::image_bytes`].
    ///
    /// ```
    /// use sketchline::{BloomFilter, BloomParams};
    /// let mut filter = BloomFilter::new(BloomParams::for_fpr(1000, 0.01)?)?;
    /// filter.insert(b"alice")?;
    /// assert!(filter.contains(b"alice")?);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the address space, [`Error::OutOfMemory`].
    pub fn new(params: BloomParams) -> Result<Self, Error> {
        let state = BloomState::new(params, HAS_HEADER | COUNTED);
        let mut lines = OwnedLines::zeroed(params.image_bytes() / block::BLOCK_BYTES as u64)?;
        if let Some(line) = lines.lines_mut().first_mut() {
            *line = state.unsealed_header();
        }
        Ok(Self { lines, state })
    }

    /// A copy of an image, checked first: nothing is allocated for bytes that are not one.
    ///
    /// # Errors
    /// As [`BloomRef::open`], and [`Error::OutOfMemory`].
    pub fn from_image(image: &[u8], options: OpenOptions) -> Result<Self, Error> {
        let source = BloomRef::open(image, options)?;
        let mut lines = OwnedLines::zeroed(source.lines.len() as u64)?;
        lines.lines_mut().copy_from_slice(source.lines);
        Ok(Self { lines, state: source.state })
    }
}

impl<'a> BloomRef<'a> {
    /// A filter over an image, in place. Reads the header, and the payload once unless the options say otherwise.
    ///
    /// # Errors
    /// One per way in which bytes can fail to be a sealed image: see [`Error`].
    pub fn open(image: &'a [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks(image)?;
        Ok(Self { lines, state: BloomState::open(lines, options)? })
    }

    /// A filter over blocks without a header, whose parameters the host keeps.
    ///
    /// # Errors
    /// [`Error::WrongLength`] unless the length is a positive multiple of 64, [`Error::InvalidArgument`] for
    /// probes outside 1..=16, [`Error::TooLarge`] beyond [`MAX_BLOCKS`].
    pub fn over_payload(payload: &'a [u8], num_probes: u32, hashing: HashScheme) -> Result<Self, Error> {
        let lines = block::as_blocks(payload)?;
        Ok(Self { lines, state: payload_state(lines, num_probes, hashing)? })
    }
}

impl<'a> BloomMut<'a> {
    /// An empty filter in memory of the caller, [`BloomParams::image_bytes`] long, which is zeroed.
    ///
    /// # Errors
    /// [`Error::WrongLength`] if the length is another.
    pub fn init(memory: &'a mut [u8], params: BloomParams) -> Result<Self, Error> {
        if memory.len() as u64 != params.image_bytes() {
            return Err(Error::WrongLength);
        }
        let state = BloomState::new(params, HAS_HEADER | COUNTED);
        memory.fill(0);
        let lines = block::as_blocks_mut(memory)?;
        if let Some(line) = lines.first_mut() {
            *line = state.unsealed_header();
        }
        Ok(Self { lines, state })
    }

    /// A filter over an image, in place, to be changed. The first change takes the seal off.
    ///
    /// # Errors
    /// As [`BloomRef::open`]; nothing is changed then.
    pub fn open_mut(image: &'a mut [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks_mut(image)?;
        let state = BloomState::open(lines, options)?;
        Ok(Self { lines, state })
    }

    /// As [`BloomRef::over_payload`], to be changed. Zeroed blocks are an empty filter.
    ///
    /// # Errors
    /// As [`BloomRef::over_payload`].
    pub fn over_payload_mut(payload: &'a mut [u8], num_probes: u32, hashing: HashScheme) -> Result<Self, Error> {
        let lines = block::as_blocks_mut(payload)?;
        let state = payload_state(lines, num_probes, hashing)?;
        Ok(Self { lines, state })
    }
}

fn payload_state(lines: &[Block], num_probes: u32, hashing: HashScheme) -> Result<BloomState, Error> {
    if lines.is_empty() {
        return Err(Error::WrongLength);
    }
    let params = BloomParams::new(lines.len() as u64, num_probes, 0)?;
    Ok(BloomState::new(params.with_hashing(hashing), 0))
}

impl<S: Lines> Bloom<S> {
    /// Lines and the state that [`Bloom::state`] gave for them. Constant time; the bytes are not looked at.
    ///
    /// # Errors
    /// [`Error::WrongLength`] unless there are [`BloomState::num_lines`] of them.
    #[inline(always)]
    pub fn attach(lines: S, state: BloomState) -> Result<Self, Error> {
        if lines.lines().len() == state.num_lines() { Ok(Self { lines, state }) } else { Err(Error::WrongLength) }
    }

    /// What this filter knows besides its bits.
    pub fn state(&self) -> &BloomState {
        &self.state
    }

    /// The shape.
    pub fn params(&self) -> BloomParams {
        self.state.params()
    }

    /// The same filter on another instruction set. Answers and bits do not change with it.
    #[must_use]
    pub fn with_isa(mut self, isa: Isa) -> Self {
        self.state.set_isa(isa);
        self
    }

    /// A view of this filter.
    pub fn view(&self) -> BloomRef<'_> {
        Bloom { lines: self.lines.lines(), state: self.state }
    }

    /// The bytes: an image, or a payload if the filter is over one. Only sealed images are worth keeping.
    pub fn as_bytes(&self) -> &[u8] {
        self.lines.lines().as_flattened()
    }

    /// The blocks, without the header.
    #[inline(always)]
    pub fn blocks(&self) -> &[Block] {
        self.state.blocks(self.lines.lines())
    }

    /// Whether the key may have been inserted; `false` is certain.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the filter holds the caller's hashes.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.contains_hash(KeyHash::of(key, self.state.key_seed()?)))
    }

    /// [`Bloom::contains`] of an integer key.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the filter holds the caller's hashes.
    #[inline]
    pub fn contains_u64(&self, key: u64) -> Result<bool, Error> {
        Ok(self.contains_hash(KeyHash::of_u64(key, self.state.key_seed()?)))
    }

    /// [`Bloom::contains`] of a hash.
    #[inline(always)]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.state.contains_hash(self.lines.lines(), hash)
    }
}

impl<S: LinesMut> Bloom<S> {
    #[inline(always)]
    fn blocks_mut(&mut self) -> &mut [Block] {
        self.state.blocks_mut(self.lines.lines_mut())
    }

    /// Puts a key in.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the filter holds the caller's hashes.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> Result<(), Error> {
        self.insert_hash(KeyHash::of(key, self.state.key_seed()?));
        Ok(())
    }

    /// [`Bloom::insert`] of an integer key.
    ///
    /// # Errors
    /// [`Error::CallerHash`] if the filter holds the caller's hashes.
    #[inline]
    pub fn insert_u64(&mut self, key: u64) -> Result<(), Error> {
        self.insert_hash(KeyHash::of_u64(key, self.state.key_seed()?));
        Ok(())
    }

    /// [`Bloom::insert`] of a hash.
    #[inline(always)]
    pub fn insert_hash(&mut self, hash: KeyHash) {
        self.state.insert_hash(self.lines.lines_mut(), hash);
    }

    /// Adds all keys of another filter of the same shape: bitwise OR. The number of inserts becomes unknown.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if blocks, probes, hash or seed differ; nothing is changed then.
    pub fn union<T: Lines>(&mut self, other: &Bloom<T>) -> Result<(), Error> {
        self.check_compatible(&other.state)?;
        self.state.isa().union(self.blocks_mut(), other.blocks());
        self.state.set(COUNTED, false);
        Ok(())
    }

    /// Keeps the bits that both filters have. The result contains every key that is in both, and false
    /// positives at a rate between that of a filter of the common keys and that of the smaller of the two:
    /// a key of one filter alone may leave bits behind. The number of inserts becomes unknown.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if blocks, probes, hash or seed differ; nothing is changed then.
    pub fn intersect<T: Lines>(&mut self, other: &Bloom<T>) -> Result<(), Error> {
        self.check_compatible(&other.state)?;
        self.state.isa().intersect(self.blocks_mut(), other.blocks());
        self.state.set(COUNTED, false);
        Ok(())
    }

    fn check_compatible(&self, other: &BloomState) -> Result<(), Error> {
        let shape = |state: &BloomState| (state.num_blocks, state.num_probes, state.hash_id, state.seed_or_tag);
        if shape(&self.state) == shape(other) { Ok(()) } else { Err(Error::Incompatible) }
    }

    /// Takes all keys out.
    pub fn clear(&mut self) {
        self.blocks_mut().as_flattened_mut().fill(0);
        self.state.num_inserted = 0;
        let has_header = self.state.has(HAS_HEADER);
        self.state.set(COUNTED, has_header);
    }

    /// Finishes the image: writes the number of inserts and both checksums into the header, and gives the
    /// bytes that are worth keeping. Reads the whole payload. The next change takes the seal off.
    ///
    /// # Errors
    /// [`Error::NoHeader`] on a bare payload.
    pub fn seal(&mut self) -> Result<&[u8], Error> {
        if !self.state.has(HAS_HEADER) {
            return Err(Error::NoHeader);
        }
        if !self.state.has(SEALED) {
            self.state.header(self.state.num_inserted().unwrap_or(0)).seal(self.lines.lines_mut());
            self.state.set(SEALED, true);
        }
        Ok(self.as_bytes())
    }
}
