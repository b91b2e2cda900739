//! Union of sketches: of tokens, of registers, across forms and precisions.
//!
//! A merged sketch is, byte for byte, what the joined stream would have built: registers are maxima, tokens are a
//! set, and a sparse sketch turns dense at a number of tokens that does not depend on their order.

use super::rank::{expand, fold};
use super::tokens::{self, find};
use super::{DENSE, Hll, HllRef, MARTINGALE, STALE};
use crate::Error;
use crate::lines::{Lines, LinesMut};
use crate::registers;
use crate::simd::MANY;

impl<S: LinesMut> Hll<S> {
    /// Adds the keys of another sketch of the same precision, hash and seed. The martingale estimate, if this
    /// sketch kept one, ends here.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog};
    /// let (mut monday, mut tuesday) = (HyperLogLog::new(HllParams::new(12)?)?, HyperLogLog::new(HllParams::new(12)?)?);
    /// monday.insert(b"alice")?;
    /// tuesday.insert(b"alice")?;
    /// tuesday.insert(b"bob")?;
    /// monday.merge(&tuesday)?;
    /// assert_eq!(monday.estimate().round(), 2.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another precision, hash or seed; [`Error::NeedSpace`] in memory of the caller
    /// that is too small ([`Hll::merged_bytes`] would do), or [`Error::OutOfMemory`]. Nothing is changed then.
    pub fn merge<T: Lines>(&mut self, other: &Hll<T>) -> Result<(), Error> {
        if self.state.p != other.state.p { Err(Error::Incompatible) } else { self.merge_folding(other) }
    }

    /// As [`Hll::merge`], of a sketch of the same or a greater precision, which is folded on the way.
    ///
    /// ```
    /// use sketchline::{HllParams, HyperLogLog};
    /// let (mut coarse, mut fine) = (HyperLogLog::new(HllParams::new(10)?)?, HyperLogLog::new(HllParams::new(14)?)?);
    /// fine.insert(b"alice")?;
    /// assert!(coarse.merge(&fine).is_err());
    /// coarse.merge_folding(&fine)?;
    /// assert_eq!(coarse.estimate().round(), 1.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hll::merge`]; [`Error::Incompatible`] for a smaller precision.
    pub fn merge_folding<T: Lines>(&mut self, other: &Hll<T>) -> Result<(), Error> {
        self.check_mergeable(&other.view())?;
        if let Some(needed) = self.bytes_to_move_to(other) {
            self.grow(needed)?;
        }
        self.unseal();
        self.state.set(MARTINGALE, false);
        let (from, to) = (other.state.precision(), self.state.precision());
        match other.registers() {
            None if self.state.has(DENSE) => other.tokens().for_each(|token| {
                let (register, rank) = expand(token, to);
                self.raise(register, rank);
            }),
            None => other.tokens().for_each(|token| {
                let (most, mut counts) = (self.params().most_tokens(), self.state.counts());
                tokens::add(self.payload_mut().as_chunks_mut().0, &mut counts, token, most);
                self.state.set_counts(counts);
            }),
            Some(source) => {
                let (isa, len) = (self.state.isa(), self.params().body_bytes());
                let body = self.payload_mut().get_mut(..len).unwrap_or(&mut []);
                if from == to {
                    isa.merge_registers(body, source);
                } else {
                    for i in 0..1 << from {
                        let (register, rank) = fold(i, registers::get(source, i as usize).into(), from, to);
                        registers::raise(body, register as usize, rank as u8);
                    }
                }
                self.state.set(STALE, true);
            }
        }
        self.write_header();
        Ok(())
    }

    /// Adds the keys of many sketches: as [`Hll::merge`] of each, eight at a time where they are dense.
    ///
    /// ```
    /// use sketchline::{Hll, HllParams, HyperLogLog};
    /// let mut days = Vec::new();
    /// for day in 0..7 {
    ///     let mut sketch = HyperLogLog::new(HllParams::new(12)?)?;
    ///     sketch.insert_u64(day / 2)?;
    ///     days.push(sketch);
    /// }
    /// let mut week = HyperLogLog::new(HllParams::new(12)?)?;
    /// week.merge_many(&days.iter().map(Hll::view).collect::<Vec<_>>())?;
    /// assert_eq!(week.estimate().round(), 4.0);
    /// # Ok::<(), sketchline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hll::merge`]; nothing is changed for [`Error::Incompatible`], some sketches may be merged already for the others.
    pub fn merge_many(&mut self, others: &[HllRef<'_>]) -> Result<(), Error> {
        for other in others {
            self.check_mergeable(other)?;
            if other.state.p != self.state.p {
                return Err(Error::Incompatible);
            }
        }
        let mut dense = others.iter().filter(|other| other.state.has(DENSE));
        if let Some(first) = dense.next() {
            self.merge(first)?;
        }
        loop {
            // Merging a sketch with itself changes nothing, so that the last few are filled up.
            let mut bodies = [&[][..]; MANY];
            let mut taken = 0;
            for (slot, other) in bodies.iter_mut().zip(dense.by_ref()) {
                *slot = other.registers().unwrap_or(&[]);
                taken += 1;
            }
            if taken == 0 {
                break;
            }
            let first = bodies[0];
            bodies.iter_mut().skip(taken).for_each(|slot| *slot = first);
            let (isa, len) = (self.state.isa(), self.params().body_bytes());
            isa.merge_many_registers(self.payload_mut().get_mut(..len).unwrap_or(&mut []), &bodies);
        }
        others.iter().filter(|other| !other.state.has(DENSE)).try_for_each(|other| self.merge(other))
    }

    /// Whether [`Hll::merge_folding`] would take this sketch.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another hash or seed, or a smaller precision.
    pub fn check_mergeable(&self, other: &HllRef<'_>) -> Result<(), Error> {
        let hash = |state: &super::HllState| (state.hash_id, state.seed_or_tag);
        let same = hash(&self.state) == hash(&other.state);
        if same && self.state.p <= other.state.p { Ok(()) } else { Err(Error::Incompatible) }
    }

    pub(super) fn write_header(&mut self) {
        if let Some(line) = self.lines.lines_mut().first_mut() {
            *line = self.state.unsealed_header();
        }
    }
}

impl<S: Lines> Hll<S> {
    /// Bytes of the image that this sketch needs to take in another: its own, if there is room.
    pub fn merged_bytes<T: Lines>(&self, other: &Hll<T>) -> u64 {
        let own = (self.state.num_lines() * crate::BLOCK_BYTES) as u64;
        self.bytes_to_move_to(other).unwrap_or(own)
    }

    /// Bytes of other memory that this sketch must move to before it can take in another, if it must: sparse, and
    /// about to turn dense or to have more tokens than there is room for.
    fn bytes_to_move_to<T: Lines>(&self, other: &Hll<T>) -> Option<u64> {
        if self.state.has(DENSE) {
            return None;
        }
        if other.state.has(DENSE) {
            return Some(self.params().dense_image_bytes());
        }
        let (words, _) = self.payload().as_chunks();
        let counts = self.state.counts();
        let new = other.tokens().filter(|&token| find(words, counts, token).is_none()).count();
        let total = counts.total().saturating_add(new as u32);
        let fits = total as usize <= words.len() && total <= self.params().most_tokens();
        if fits { None } else { Some(self.grown_to(total)) }
    }
}

/// How two sketches overlap, by inclusion and exclusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapEstimate {
    /// About how many distinct keys are in either.
    pub union: f64,
    /// About how many are in both: at least 0, at most the smaller of the two.
    pub intersection: f64,
    /// Standard deviation of `intersection`, an absolute number: it grows with the union, so that a small overlap of
    /// large sketches drowns in it.
    pub intersection_error: f64,
    /// `intersection / union`, 0 where both are empty.
    pub jaccard: f64,
}

/// Bytes of memory that `scratch` must have for [`overlap`]: its own, if there is room.
pub fn overlap_bytes<A: Lines, B: Lines, S: Lines>(a: &Hll<A>, b: &Hll<B>, scratch: &Hll<S>) -> u64 {
    let own = (scratch.state.num_lines() * crate::BLOCK_BYTES) as u64;
    room_to_overlap(a, b, scratch).unwrap_or(own)
}

/// Bytes of other memory that `scratch` must move to first, if it must.
fn room_to_overlap<A: Lines, B: Lines, S: Lines>(a: &Hll<A>, b: &Hll<B>, scratch: &Hll<S>) -> Option<u64> {
    let tokens = match a.state.has(DENSE) || b.state.has(DENSE) {
        true => u32::MAX,
        false => a.state.counts().total().saturating_add(b.state.counts().total()),
    };
    let room = scratch.params().most_tokens().min(scratch.payload().as_chunks::<4>().0.len() as u32);
    let fits = scratch.state.has(DENSE) || tokens <= room;
    if fits { None } else { Some(scratch.grown_to(tokens)) }
}

/// Estimates how two sketches overlap. `scratch`, of their precision and hash, is cleared and holds the union afterwards.
///
/// ```
/// use sketchline::{HllParams, HyperLogLog, overlap};
/// let new = || HyperLogLog::new(HllParams::new(14)?);
/// let (mut a, mut b, mut scratch) = (new()?, new()?, new()?);
/// for key in 0..1000 {
///     a.insert_u64(key)?;
///     b.insert_u64(key + 500)?;
/// }
/// let found = overlap(&a, &b, &mut scratch)?;
/// assert_eq!((found.union.round(), found.intersection.round()), (1500.0, 500.0));
/// # Ok::<(), sketchline::Error>(())
/// ```
///
/// # Errors
/// As [`Hll::merge`] into `scratch`.
pub fn overlap<A: Lines, B: Lines, S: LinesMut>(
    a: &Hll<A>,
    b: &Hll<B>,
    scratch: &mut Hll<S>,
) -> Result<OverlapEstimate, Error> {
    scratch.check_mergeable(&a.view())?;
    scratch.check_mergeable(&b.view())?;
    if (a.state.p, b.state.p) != (scratch.state.p, scratch.state.p) {
        return Err(Error::Incompatible);
    }
    // Room for the union comes first, so that a scratch sketch that cannot have it is left alone.
    if let Some(needed) = room_to_overlap(a, b, scratch) {
        scratch.grow(needed)?;
    }
    scratch.clear();
    scratch.merge(a)?;
    scratch.merge(b)?;
    let (in_a, in_b, union) = (a.estimate(), b.estimate(), scratch.estimate());
    let intersection = (in_a + in_b - union).max(0.0).min(in_a.min(in_b));
    let variance = |sketch: f64, error: f64| (sketch * error) * (sketch * error);
    let error = libm::sqrt(
        variance(in_a, a.standard_error())
            + variance(in_b, b.standard_error())
            + variance(union, scratch.standard_error()),
    );
    let jaccard = if union > 0.0 { (intersection / union).min(1.0) } else { 0.0 };
    Ok(OverlapEstimate { union, intersection, intersection_error: error, jaccard })
}
