//! Top-k: the keys of a Count-Min sketch that came most often, with their bytes, in bounded memory.
//!
//! ```text
//! | header line | k hashes, 8 bytes | k counts, 8 bytes | k lengths, 4 bytes | k keys, max_key_bytes each | zeros |
//! ```
//!
//! Entries are packed to the front; an entry that is free is all zeros. A key is told by its 64-bit hash. What is
//! counted is counted in the sketch: this only holds the keys whose estimates are greatest, as of their last add
//! (Charikar, Chen, Farach-Colton, ICALP 2002). Finding an entry reads the hashes, so that `k` is meant to be in the
//! hundreds.

mod params;

pub use params::TopKParams;

#[cfg(feature = "alloc")]
use crate::block::OwnedLines;
use crate::block::{self, BLOCK_BYTES, Block};
use crate::image::{Header, Kind, OpenOptions};
use crate::lines::{Lines, LinesMut};
use crate::{Cms, Error, HashScheme, KeyHash};
use core::ops::Range;

/// The most frequent keys, over lines that it may read, and change if they are mutable.
#[derive(Clone, Debug)]
pub struct TopK<S> {
    lines: S,
    state: TopKState,
}

/// A top-k that owns its memory.
#[cfg(feature = "alloc")]
pub type HeavyHitters = TopK<OwnedLines>;
/// A top-k in bytes that it may only read, at any alignment.
pub type TopKRef<'a> = TopK<&'a [Block]>;
/// A top-k in bytes that it may change, at any alignment.
pub type TopKMut<'a> = TopK<&'a mut [Block]>;

/// All that a top-k knows besides its lines, in 32 bytes; see [`crate::BloomState`].
#[derive(Clone, Copy, Debug)]
pub struct TopKState {
    seed_or_tag: u64,
    /// No entry counts less than this.
    least: u64,
    len: u32,
    k: u32,
    max_key_bytes: u32,
    hash_id: u8,
    /// The header in the lines is sealed, and the entries are sorted.
    sealed: bool,
    /// 0: no byte of a state is left unset, since hosts copy and compare them.
    #[allow(dead_code, reason = "written, never read")]
    unused: [u8; 2],
}

const _: () = assert!(size_of::<TopKState>() == 32);

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopEntry<'a> {
    /// The estimate of the sketch when the key was last added or looked up.
    pub count: u64,
    /// The hash of the key.
    pub hash: KeyHash,
    /// The key, or as much of its front as there was room for.
    pub key: &'a [u8],
    /// Length of the whole key in bytes.
    pub key_len: usize,
}

const HASH_BYTES: usize = 8;
const LEN_BYTES: usize = 4;

impl TopKState {
    fn new(params: TopKParams) -> Self {
        Self {
            seed_or_tag: params.hashing().seed_or_tag(),
            least: 0,
            len: 0,
            k: params.k(),
            max_key_bytes: params.max_key_bytes(),
            hash_id: params.hashing().id(),
            sealed: false,
            unused: [0; 2],
        }
    }

    /// Checks an image and decodes its header and entries; the lines are left as they are.
    fn open(lines: &[Block], options: OpenOptions) -> Result<Self, Error> {
        let header = Header::open(lines, Kind::TopK, options)?;
        let [k0, k1, k2, k3, m0, m1, m2, m3, rest @ ..] = header.params;
        if rest != [0; 8] {
            return Err(Error::UnknownFlag);
        }
        let (k, max_key_bytes) = (u32::from_le_bytes([k0, k1, k2, k3]), u32::from_le_bytes([m0, m1, m2, m3]));
        let params = TopKParams::new(k, max_key_bytes).map_err(|_| Error::BadParameter)?;
        if params.payload_bytes() != header.payload_bytes || header.num_keys != 0 {
            return Err(Error::BadParameter);
        }
        let mut state = Self::new(params.with_hashing(header.hashing));
        let top = TopK { lines, state };
        state.len = top.check_entries(header.sealed)?;
        state.sealed = header.sealed;
        state.least = TopK { lines, state }.find_least().map_or(0, |(_, least)| least);
        Ok(state)
    }

    fn header(&self) -> Header {
        let mut params = [0; 16];
        params[..4].copy_from_slice(&self.k.to_le_bytes());
        params[4..8].copy_from_slice(&self.max_key_bytes.to_le_bytes());
        let payload_bytes = self.params().payload_bytes();
        Header { kind: Kind::TopK, sealed: false, hashing: self.hashing(), payload_bytes, num_keys: 0, params }
    }

    fn hashing(&self) -> HashScheme {
        HashScheme::from_parts(self.hash_id, self.seed_or_tag).unwrap_or(HashScheme::Caller { tag: self.seed_or_tag })
    }

    fn is_full(&self) -> bool {
        self.len == self.k
    }

    /// Number of lines that belong to this state.
    #[inline(always)]
    pub fn num_lines(&self) -> usize {
        (self.params().image_bytes() / BLOCK_BYTES as u64) as usize
    }

    /// The shape.
    pub fn params(&self) -> TopKParams {
        TopKParams::from_checked(self.k, self.max_key_bytes, self.hashing())
    }

    /// Whether the header in memory is sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    // Where the parts of an entry are in the payload.

    #[inline(always)]
    fn hash_at(&self, i: usize) -> Range<usize> {
        HASH_BYTES * i..HASH_BYTES * (i + 1)
    }

    #[inline(always)]
    fn count_at(&self, i: usize) -> Range<usize> {
        self.hash_at(self.k as usize + i)
    }

    #[inline(always)]
    fn len_at(&self, i: usize) -> Range<usize> {
        let lens = 2 * HASH_BYTES * self.k as usize;
        lens + LEN_BYTES * i..lens + LEN_BYTES * (i + 1)
    }

    #[inline(always)]
    fn key_at(&self, i: usize) -> Range<usize> {
        let (keys, each) = ((2 * HASH_BYTES + LEN_BYTES) * self.k as usize, self.max_key_bytes as usize);
        keys + each * i..keys + each * (i + 1)
    }
}

#[cfg(feature = "alloc")]
impl HeavyHitters {
    /// No keys yet.
    ///
    /// ```
    /// use sketchline::{CmsParams, CountMinSketch, HeavyHitters, TopKParams};
    /// let mut sketch = CountMinSketch::new(CmsParams::rows(1024, 4)?)?;
    /// let mut top = HeavyHitters::new(TopKParams::new(2, 16)?)?;
    /// for (key, count) in [("10.0.0.1", 5), ("10.0.0.2", 9), ("10.0.0.3", 1), ("10.0.0.1", 6)] {
    ///     top.add(&mut sketch, key.as_bytes(), count)?;
    /// }
    /// top.sort();
    /// let keys: Vec<_> = top.entries().map(|entry| (entry.key, entry.count)).collect();
    /// assert_eq!(keys, [(&b"10.0.0.1"[..], 11), (&b"10.0.0.2"[..], 9)]);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the address space, [`Error::OutOfMemory`].
    pub fn new(params: TopKParams) -> Result<Self, Error> {
        let lines = OwnedLines::zeroed(params.image_bytes() / BLOCK_BYTES as u64)?;
        Ok(Self::over_zeroed(lines, params))
    }

    /// A copy of an image, checked first.
    ///
    /// # Errors
    /// As [`TopKRef::open`], and [`Error::OutOfMemory`].
    pub fn from_image(image: &[u8], options: OpenOptions) -> Result<Self, Error> {
        let source = TopKRef::open(image, options)?;
        let mut lines = OwnedLines::zeroed(source.lines.len() as u64)?;
        lines.lines_mut().copy_from_slice(source.lines);
        Ok(Self { lines, state: source.state })
    }
}

impl<'a> TopKRef<'a> {
    /// A top-k over an image, in place. Reads header and payload.
    ///
    /// # Errors
    /// One per way in which bytes can fail to be a sealed image: see [`Error`].
    pub fn open(image: &'a [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks(image)?;
        Ok(Self { lines, state: TopKState::open(lines, options)? })
    }

    /// [`TopK::entry`], for as long as the bytes live.
    pub fn into_entry(self, i: usize) -> Option<TopEntry<'a>> {
        entry(&self.state, self.lines, i)
    }
}

impl<'a> TopKMut<'a> {
    /// No keys yet, in memory of the caller, [`TopKParams::image_bytes`] long, which is zeroed.
    ///
    /// # Errors
    /// [`Error::WrongLength`] if the length is another.
    pub fn init(memory: &'a mut [u8], params: TopKParams) -> Result<Self, Error> {
        if memory.len() as u64 != params.image_bytes() {
            return Err(Error::WrongLength);
        }
        memory.fill(0);
        Ok(Self::over_zeroed(block::as_blocks_mut(memory)?, params))
    }

    /// A top-k over an image, in place, to be changed. The first change takes the seal off.
    ///
    /// # Errors
    /// As [`TopKRef::open`]; nothing is changed then.
    pub fn open_mut(image: &'a mut [u8], options: OpenOptions) -> Result<Self, Error> {
        let lines = block::as_blocks_mut(image)?;
        let state = TopKState::open(lines, options)?;
        Ok(Self { lines, state })
    }
}

fn entry<'a>(state: &TopKState, lines: &'a [Block], i: usize) -> Option<TopEntry<'a>> {
    if i >= state.len as usize {
        return None;
    }
    let payload = lines.get(1..)?.as_flattened();
    let len = payload.get(state.len_at(i))?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let kept = len.min(state.max_key_bytes) as usize;
    Some(TopEntry {
        count: word(payload, state.count_at(i)),
        hash: KeyHash::from_raw(word(payload, state.hash_at(i))),
        key: payload.get(state.key_at(i))?.get(..kept)?,
        key_len: len as usize,
    })
}

#[inline(always)]
fn word(payload: &[u8], at: Range<usize>) -> u64 {
    payload.get(at).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn put(payload: &mut [u8], at: Range<usize>, bytes: &[u8]) {
    if let Some(to) = payload.get_mut(at) {
        to.fill(0);
        to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }
}

impl<S: Lines> TopK<S> {
    /// Lines and the state that [`TopK::state`] gave for them. Constant time; the bytes are not looked at.
    ///
    /// # Errors
    /// [`Error::WrongLength`] unless there are [`TopKState::num_lines`] of them.
    pub fn attach(lines: S, state: TopKState) -> Result<Self, Error> {
        if lines.lines().len() == state.num_lines() { Ok(Self { lines, state }) } else { Err(Error::WrongLength) }
    }

    /// What this top-k knows besides its lines.
    pub fn state(&self) -> &TopKState {
        &self.state
    }

    /// The shape.
    pub fn params(&self) -> TopKParams {
        self.state.params()
    }

    /// A view of this top-k.
    pub fn view(&self) -> TopKRef<'_> {
        TopK { lines: self.lines.lines(), state: self.state }
    }

    /// The image. Only sealed images are worth keeping.
    pub fn as_bytes(&self) -> &[u8] {
        self.lines.lines().as_flattened()
    }

    fn payload(&self) -> &[u8] {
        self.lines.lines().get(1..).unwrap_or(&[]).as_flattened()
    }

    /// Keys that are held, at most `k`.
    pub fn len(&self) -> usize {
        self.state.len as usize
    }

    /// Whether no key is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key number `i`, of [`TopK::len`]: after [`TopK::sort`], the `i`-th most frequent.
    pub fn entry(&self, i: usize) -> Option<TopEntry<'_>> {
        entry(&self.state, self.lines.lines(), i)
    }

    /// All keys that are held.
    pub fn entries(&self) -> impl Iterator<Item = TopEntry<'_>> {
        (0..self.len()).filter_map(|i| self.entry(i))
    }

    #[inline(always)]
    fn hash(&self, i: usize) -> u64 {
        word(self.payload(), self.state.hash_at(i))
    }

    #[inline(always)]
    fn count(&self, i: usize) -> u64 {
        word(self.payload(), self.state.count_at(i))
    }

    fn find(&self, hash: u64) -> Option<usize> {
        let hashes = self.payload().get(..HASH_BYTES * self.len()).unwrap_or(&[]).as_chunks().0;
        hashes.iter().position(|bytes| u64::from_le_bytes(*bytes) == hash)
    }

    /// The first of the entries that count least.
    fn find_least(&self) -> Option<(usize, u64)> {
        (0..self.len()).map(|i| (i, self.count(i))).reduce(|least, next| if next.1 < least.1 { next } else { least })
    }

    /// Whether entry `i` comes after entry `j` where the most frequent come first; equal counts by hash.
    fn is_after(&self, i: usize, j: usize) -> bool {
        let key = |i: usize| (core::cmp::Reverse(self.count(i)), self.hash(i));
        key(i) > key(j)
    }

    /// The number of entries, if they are packed to the front, with zeros wherever nothing is kept, and sorted if
    /// they must be.
    fn check_entries(&self, sorted: bool) -> Result<u32, Error> {
        let (state, payload) = (&self.state, self.payload());
        let zero = |at: Range<usize>| payload.get(at).unwrap_or(&[]).iter().all(|&byte| byte == 0);
        let k = state.k as usize;
        let len = (0..k).position(|i| self.count(i) == 0).unwrap_or(k);
        for i in 0..k {
            let (len_at, key_at) = (state.len_at(i), state.key_at(i));
            if i >= len {
                if !(zero(state.hash_at(i)) && zero(state.count_at(i)) && zero(len_at) && zero(key_at)) {
                    return Err(Error::BadPayload);
                }
                continue;
            }
            let key_len =
                payload.get(len_at).and_then(|bytes| bytes.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
            let kept = key_at.start + (key_len as usize).min(state.max_key_bytes as usize);
            if !zero(kept..key_at.end) || sorted && i > 0 && !self.is_after(i, i - 1) {
                return Err(Error::BadPayload);
            }
        }
        if !zero(state.key_at(k).start..payload.len()) {
            return Err(Error::BadPayload);
        }
        Ok(len as u32)
    }
}

impl<S: LinesMut> TopK<S> {
    fn over_zeroed(mut lines: S, params: TopKParams) -> Self {
        let state = TopKState::new(params);
        if let Some(line) = lines.lines_mut().first_mut() {
            *line = state.header().encode_unsealed();
        }
        Self { lines, state }
    }

    /// The payload, about to be changed: takes the seal off first.
    fn payload_mut(&mut self) -> &mut [u8] {
        let Some((line, payload)) = self.lines.lines_mut().split_first_mut() else { return &mut [] };
        if self.state.sealed {
            self.state.sealed = false;
            *line = self.state.header().encode_unsealed();
        }
        payload.as_flattened_mut()
    }

    /// Counts a key in the sketch, and holds it if it is one of the `k` most frequent. Gives its estimate after that.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if hash or seed differ from the sketch's, [`Error::CallerHash`] if they hold the
    /// caller's hashes; nothing is changed then.
    pub fn add<T: LinesMut>(&mut self, sketch: &mut Cms<T>, key: &[u8], count: u64) -> Result<u64, Error> {
        self.check_same_hash(&sketch.view())?;
        let hash = KeyHash::of(key, sketch.state().key_seed()?);
        let estimate = sketch.add_hash(hash, count);
        self.offer(key, hash, estimate);
        Ok(estimate)
    }

    /// Holds a key with this estimate if that is one of the `k` greatest; whether it does. The hash is that of the
    /// sketch. A key longer than there is room for is cut; its hash and its length are kept. Estimates are expected to
    /// grow: a key that is held keeps its count when it is offered with one below all `k`, and after the sketch was
    /// halved comes [`TopK::refresh`].
    pub fn offer(&mut self, key: &[u8], hash: KeyHash, estimate: u64) -> bool {
        self.hold(TopEntry { count: estimate, hash, key, key_len: key.len() })
    }

    fn hold(&mut self, entry: TopEntry<'_>) -> bool {
        if entry.count == 0 || self.state.is_full() && entry.count < self.state.least {
            return false;
        }
        let state = self.state;
        if let Some(i) = self.find(entry.hash.raw()) {
            put(self.payload_mut(), state.count_at(i), &entry.count.to_le_bytes());
            self.state.least = state.least.min(entry.count);
            return true;
        }
        let mut i = self.len();
        if state.is_full() {
            // `least` is what it was when it was last looked for: all counts may have grown since.
            let Some((first, least)) = self.find_least() else { return false };
            self.state.least = least;
            if entry.count <= least {
                return false;
            }
            i = first;
        } else {
            self.state.len += 1;
            self.state.least = state.least.min(entry.count);
        }
        let payload = self.payload_mut();
        put(payload, state.hash_at(i), &entry.hash.raw().to_le_bytes());
        put(payload, state.count_at(i), &entry.count.to_le_bytes());
        put(payload, state.len_at(i), &u32::try_from(entry.key_len).unwrap_or(u32::MAX).to_le_bytes());
        put(payload, state.key_at(i), entry.key);
        true
    }

    /// Asks the sketch for every count anew: after the sketch was halved or merged. Keys of which nothing is left go.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if hash or seed differ from the sketch's; nothing is changed then.
    pub fn refresh<T: Lines>(&mut self, sketch: &Cms<T>) -> Result<(), Error> {
        self.check_same_hash(&sketch.view())?;
        let mut i = 0;
        while i < self.len() {
            let estimate = sketch.estimate_hash(KeyHash::from_raw(self.hash(i)));
            if estimate == 0 {
                self.swap(i, self.len() - 1);
                self.drop_last();
                continue;
            }
            let at = self.state.count_at(i);
            put(self.payload_mut(), at, &estimate.to_le_bytes());
            i += 1;
        }
        self.state.least = self.find_least().map_or(0, |(_, least)| least);
        Ok(())
    }

    /// Takes out the last entry, if there is one.
    fn drop_last(&mut self) {
        let (state, Some(last)) = (self.state, self.len().checked_sub(1)) else { return };
        let payload = self.payload_mut();
        for part in [state.hash_at(last), state.count_at(last), state.len_at(last), state.key_at(last)] {
            put(payload, part, &[]);
        }
        self.state.len -= 1;
    }

    /// Takes in the keys of another top-k, once its sketch was merged into `sketch`: every key is counted anew there,
    /// and the `k` greatest stay.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if hash or seed of the three differ, or the other keeps fewer bytes of a key; nothing is
    /// changed then.
    pub fn merge<T: Lines, U: Lines>(&mut self, other: &TopK<T>, sketch: &Cms<U>) -> Result<(), Error> {
        if other.state.hashing() != self.state.hashing() || other.state.max_key_bytes < self.state.max_key_bytes {
            return Err(Error::Incompatible);
        }
        self.refresh(sketch)?;
        for entry in other.entries() {
            self.hold(TopEntry { count: sketch.estimate_hash(entry.hash), ..entry });
        }
        Ok(())
    }

    fn check_same_hash(&self, sketch: &crate::CmsRef<'_>) -> Result<(), Error> {
        if sketch.params().hashing() == self.state.hashing() { Ok(()) } else { Err(Error::Incompatible) }
    }

    /// Puts the most frequent keys first.
    pub fn sort(&mut self) {
        if self.state.sealed {
            return;
        }
        // A heap: in place, and free of the panic that the library's sort keeps for orders that contradict themselves.
        let len = self.len();
        for top in (0..len / 2).rev() {
            self.sift_down(top, len);
        }
        for end in (1..len).rev() {
            self.swap(0, end);
            self.sift_down(0, end);
        }
    }

    /// Of entries that are sorted, takes out those that stand there twice: nobody looks for them in an image that comes
    /// from outside, but a sealed one has none.
    fn drop_repeated(&mut self) {
        let mut kept = self.len().min(1);
        for i in 1..self.len() {
            if self.is_after(i, kept - 1) {
                self.swap(kept, i);
                kept += 1;
            }
        }
        while self.len() > kept {
            self.drop_last();
        }
    }

    /// Restores the heap of the first `len` entries, whose last in the order is on top, below entry `at`.
    fn sift_down(&mut self, mut at: usize, len: usize) {
        loop {
            let mut last = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < len && self.is_after(child, last) {
                    last = child;
                }
            }
            if last == at {
                return;
            }
            self.swap(at, last);
            at = last;
        }
    }

    fn swap(&mut self, i: usize, j: usize) {
        let (state, payload) = (self.state, self.payload_mut());
        let (first, last) = (i.min(j), i.max(j));
        for at in [TopKState::hash_at, TopKState::count_at, TopKState::len_at, TopKState::key_at] {
            let Some((front, back)) = payload.split_at_mut_checked(at(&state, last).start) else { return };
            let first = front.get_mut(at(&state, first)).unwrap_or(&mut []);
            first.iter_mut().zip(back).for_each(|(a, b)| core::mem::swap(a, b));
        }
    }

    /// Holds no keys any more.
    pub fn clear(&mut self) {
        self.payload_mut().fill(0);
        (self.state.len, self.state.least) = (0, 0);
    }

    /// Finishes the image: sorts, writes both checksums, and gives the bytes that are worth keeping. The next change
    /// takes the seal off.
    pub fn seal(&mut self) -> &[u8] {
        if !self.state.sealed {
            self.sort();
            self.drop_repeated();
            self.state.header().seal(self.lines.lines_mut());
            self.state.sealed = true;
        }
        self.as_bytes()
    }
}
