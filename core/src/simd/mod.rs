//! Which vector instructions to use: detection, the table of kernels per instruction set, and the only
//! `cfg(target_arch)` of the crate.
//!
//! An algorithm is written once in `kernel.rs`, over the few operations that a register file must offer
//! ([`kernel::BlockOps`]); each instruction set gives those operations in a file of its own, and the macro
//! `kernels!` instantiates the algorithms inside functions that enable its features.
//!
//! An [`Isa`] exists only for instructions that this CPU (and its operating system) runs: holding one is
//! the proof that its kernels may be called.

pub(crate) mod counters;
pub(crate) mod counting;
mod kernel;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
mod portable;
mod registers;
// Without sse2 (x86_64-unknown-none) the wider sets cannot be compiled either.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use crate::block::Block;
use crate::bloom::probe::Pattern;
use crate::cms::CounterSize;
use crate::cms::column::Table;
use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};
use counters::Census;
use counting::Counts;
pub(crate) use registers::MANY;

/// An instruction set that this machine has.
///
/// ```
/// use sketchline::Isa;
/// let slowest = Isa::available().next().unwrap();
/// assert_eq!(slowest.name(), "portable");
/// ```
#[derive(Clone, Copy)]
pub struct Isa(&'static Kernels);

impl Isa {
    /// Runs everywhere.
    pub const PORTABLE: Isa = Isa(&portable::KERNELS);

    /// What this machine has, slowest first, ending with what [`Isa::detect`] answers.
    pub fn available() -> impl Iterator<Item = Isa> {
        ALL.iter().filter(|(_, detected)| detected()).map(|(kernels, _)| Isa(kernels))
    }

    /// The fastest set of this machine.
    pub fn detect() -> Isa {
        Self::available().last().unwrap_or(Isa::PORTABLE)
    }

    /// The set with this level, if this machine has it.
    ///
    /// # Errors
    /// [`crate::Error::UnsupportedLevel`] for a level that is unknown or not to be had here.
    pub fn from_level(level: u8) -> Result<Isa, crate::Error> {
        Self::available().find(|isa| isa.level() == level).ok_or(crate::Error::UnsupportedLevel)
    }

    /// What new sketches use: the fastest set, unless [`Isa::make_default`] chose another.
    pub fn default_for_new() -> Isa {
        match DEFAULT.load(Ordering::Relaxed) {
            UNSET => {
                let isa = Self::detect();
                isa.make_default();
                isa
            }
            level => Self::from_level(level).unwrap_or(Isa::PORTABLE),
        }
    }

    /// Makes this set what new sketches use, in the whole process. Since an `Isa` is one that the machine
    /// has, this can lower the default and raise it back, never beyond the machine.
    pub fn make_default(self) {
        DEFAULT.store(self.level(), Ordering::Relaxed);
    }

    /// `portable`, `neon`, `avx2`, `avx512` or `avx512vbmi`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// A number per set, the same in every version: 0 portable, 1 NEON, 2 AVX2, 3 AVX-512 (F, BW, DQ, VL),
    /// 4 AVX-512 with VBMI and BITALG too.
    pub fn level(self) -> u8 {
        self.0.level
    }

    /// The Bloom kernels for a number of probes.
    pub(crate) fn bloom(self, num_probes: u32) -> &'static BloomKernels {
        let class = match num_probes {
            8 => EACH_LANE,
            ..8 => SOME_LANES,
            9.. => SOME_LANES_TWICE,
        };
        &self.0.bloom[usize::from(class)]
    }

    /// Native hashes of integer keys, as far as both slices go.
    pub(crate) fn hash_u64s(self, keys: &[u64], seed: u64, out: &mut [u64]) {
        // SAFETY: holding `self` proves that this CPU has the features of its table.
        unsafe { (self.0.hash_u64s)(keys, seed, out) }
    }

    /// `target |= source`, as far as both go.
    pub(crate) fn union(self, target: &mut [Block], source: &[Block]) {
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.union)(target, source) }
    }

    /// `target &= source`, as far as both go.
    pub(crate) fn intersect(self, target: &mut [Block], source: &[Block]) {
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.intersect)(target, source) }
    }

    /// Every register of `target` becomes the greater of it and that of `source`, as far as both go.
    pub(crate) fn merge_registers(self, target: &mut [u8], source: &[u8]) {
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.merge_registers)(target, source) }
    }

    /// `merge_registers` of several sources at once. Those that are not as long as `target` are left out.
    pub(crate) fn merge_many_registers(self, target: &mut [u8], sources: &[&[u8]; MANY]) {
        if sources.iter().all(|source| source.len() == target.len()) {
            // SAFETY: as in `hash_u64s`; every source is as long as the target.
            unsafe { (self.0.merge_many_registers)(target, sources) }
        }
    }

    /// How many registers of a body have each value.
    pub(crate) fn histogram(self, body: &[u8]) -> [u32; 64] {
        let mut counts = [0; 64];
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.histogram)(body, &mut counts) }
        counts
    }

    /// The hashes that have none of the bits of `mask`, at the front of `out`.
    pub(crate) fn survivors<'a>(self, hashes: &[u64], mask: u64, out: &'a mut [u64]) -> &'a [u64] {
        // SAFETY: as in `hash_u64s`.
        let len = unsafe { (self.0.survivors)(hashes, mask, out) };
        out.get(..len).unwrap_or(&[])
    }

    /// Adds to the counters of every hash, one after the other; gives the greatest estimate that came of it.
    pub(crate) fn add_counts(self, counters: &mut [Block], table: &Table, hashes: &[u64], counts: Counts<'_>) -> u64 {
        // SAFETY: as in `hash_u64s`.
        unsafe { counting::add_batch(counters, table, hashes, counts, self.0.cells) }
    }

    /// The estimates of the hashes, as far as both go.
    pub(crate) fn estimate_counts(self, counters: &[Block], table: &Table, hashes: &[u64], out: &mut [u64]) {
        // SAFETY: as in `hash_u64s`.
        unsafe { counting::estimate_batch(counters, table, hashes, out, self.0.cells) }
    }

    /// `target += source`, counter by counter.
    pub(crate) fn merge_counters(self, target: &mut [Block], source: &[Block], counter: CounterSize) {
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.merge_counters)(target, source, counter) }
    }

    /// Every counter becomes `counter >> times`, for `times` below 64.
    pub(crate) fn halve_counters(self, counters: &mut [Block], counter: CounterSize, times: u32) {
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.halve_counters)(counters, counter, times) }
    }

    /// One pass over all counters.
    pub(crate) fn census(self, counters: &[Block], counter: CounterSize) -> Census {
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.census)(counters, counter) }
    }

    /// How many blocks have 0, 1, .. 512 bits set.
    pub(crate) fn occupancy(self, blocks: &[Block]) -> Occupancy {
        let mut histogram = [0; 513];
        // SAFETY: as in `hash_u64s`.
        unsafe { (self.0.occupancy)(blocks, &mut histogram) }
        histogram
    }
}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Isa {
    fn eq(&self, other: &Self) -> bool {
        self.level() == other.level()
    }
}

impl Eq for Isa {}

const UNSET: u8 = u8::MAX;
static DEFAULT: AtomicU8 = AtomicU8::new(UNSET);

type Detected = fn() -> bool;

/// Every set that was compiled in, slowest first, with its detection.
static ALL: &[(&Kernels, Detected)] = &[
    (&portable::KERNELS, || true),
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    (&neon::KERNELS, || true),
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    (&x86::avx2::KERNELS, x86::has_avx2),
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    (&x86::avx512::KERNELS, x86::has_avx512),
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    (&x86::avx512vbmi::KERNELS, x86::has_avx512vbmi),
];

/// Number of blocks by their number of set bits.
pub(crate) type Occupancy = [u64; 513];

/// The kernels of one instruction set. All are unsafe for one reason: the CPU must have its features.
struct Kernels {
    name: &'static str,
    level: u8,
    /// By class: [`SOME_LANES`] and so on.
    bloom: [BloomKernels; 3],
    hash_u64s: unsafe fn(&[u64], u64, &mut [u64]),
    union: unsafe fn(&mut [Block], &[Block]),
    intersect: unsafe fn(&mut [Block], &[Block]),
    occupancy: unsafe fn(&[Block], &mut Occupancy),
    merge_registers: unsafe fn(&mut [u8], &[u8]),
    /// Unsafe for one more reason: every source must be as long as the target.
    merge_many_registers: unsafe fn(&mut [u8], &[&[u8]; MANY]),
    histogram: unsafe fn(&[u8], &mut [u32; 64]),
    survivors: unsafe fn(&[u64], u64, &mut [u64]) -> usize,
    cells: counting::FindCells,
    merge_counters: unsafe fn(&mut [Block], &[Block], CounterSize),
    halve_counters: unsafe fn(&mut [Block], CounterSize, u32),
    census: unsafe fn(&[Block], CounterSize) -> Census,
}

/// The kernels compile three times, so that no inner loop asks about the number of probes:
/// fewer than 8 probes, in some lanes;
const SOME_LANES: u8 = 0;
/// exactly 8, one in each lane;
const EACH_LANE: u8 = 1;
/// more than 8, one in each lane and a second in some.
const SOME_LANES_TWICE: u8 = 2;

/// Unsafe for one more reason: there must be a block, and `out` must hold a bit per hash.
#[derive(Clone, Copy)]
pub(crate) struct BloomKernels {
    contains: unsafe fn(&[Block], &Pattern, u64) -> bool,
    insert: unsafe fn(&mut [Block], &Pattern, u64),
    contains_batch: unsafe fn(&[Block], &Pattern, &[u64], &mut [u64]),
    insert_batch: unsafe fn(&mut [Block], &Pattern, &[u64]),
    insert_batch_seen: unsafe fn(&mut [Block], &Pattern, &[u64], &mut [u64]),
}

/// The Bloom kernels of one instruction set for one number of probes.
#[derive(Clone, Copy)]
pub(crate) struct Probing {
    /// From an [`Isa`], which proves the features.
    pub(crate) kernels: &'static BloomKernels,
    pub(crate) pattern: &'static Pattern,
}

impl Probing {
    /// Whether all bits of the hash are set. Of no blocks: no.
    #[inline(always)]
    pub(crate) fn contains(self, blocks: &[Block], hash: u64) -> bool {
        // SAFETY: the kernels come from an `Isa`, which proves the features; there is a block.
        !blocks.is_empty() && unsafe { (self.kernels.contains)(blocks, self.pattern, hash) }
    }

    /// Sets all bits of the hash. Of no blocks: nothing.
    #[inline(always)]
    pub(crate) fn insert(self, blocks: &mut [Block], hash: u64) {
        if !blocks.is_empty() {
            // SAFETY: as in `contains`.
            unsafe { (self.kernels.insert)(blocks, self.pattern, hash) }
        }
    }

    /// Bit `i % 64` of `out[i / 64]` tells whether `hashes[i]` is contained; the rest of the last word is 0.
    /// Words beyond are left alone; hashes beyond the end of `out` are not looked up.
    pub(crate) fn contains_batch(self, blocks: &[Block], hashes: &[u64], out: &mut [u64]) {
        let (hashes, out) = fit(hashes, out);
        if blocks.is_empty() {
            out.fill(0);
        } else {
            // SAFETY: as in `contains`; `fit` made `out` as long as the hashes need.
            unsafe { (self.kernels.contains_batch)(blocks, self.pattern, hashes, out) }
        }
    }

    /// `insert`, one after the other.
    pub(crate) fn insert_batch(self, blocks: &mut [Block], hashes: &[u64]) {
        if !blocks.is_empty() {
            // SAFETY: as in `contains`.
            unsafe { (self.kernels.insert_batch)(blocks, self.pattern, hashes) }
        }
    }

    /// `contains`, then `insert`, one after the other, with the answers as in `contains_batch`.
    pub(crate) fn insert_batch_seen(self, blocks: &mut [Block], hashes: &[u64], out: &mut [u64]) {
        let (hashes, out) = fit(hashes, out);
        if blocks.is_empty() {
            out.fill(0);
        } else {
            // SAFETY: as in `contains_batch`.
            unsafe { (self.kernels.insert_batch_seen)(blocks, self.pattern, hashes, out) }
        }
    }
}

/// As many hashes as `out` has bits, and the words they need.
fn fit<'a>(hashes: &'a [u64], out: &'a mut [u64]) -> (&'a [u64], &'a mut [u64]) {
    let len = hashes.len().min(out.len().saturating_mul(64));
    let words = len.div_ceil(64);
    match (hashes.get(..len), out.get_mut(..words)) {
        (Some(hashes), Some(out)) => (hashes, out),
        _ => (&[], &mut []),
    }
}

/// Instantiates every algorithm for one instruction set: `$features` is exactly what its detection checked.
///
/// `$survivors` is the common one, or one written by hand for the set.
macro_rules! kernels {
    (
        $name:literal, $level:literal, [$($feature:meta)?],
        blocks = $ops:ty, registers = $registers:ty, survivors = $survivors:path
    ) => {
        use crate::block::Block;
        use crate::bloom::probe::Pattern;
        use crate::cms::CounterSize;
        use crate::cms::column::Table;
        use crate::simd::{counters, counting};
        use crate::simd::{BloomKernels, EACH_LANE, Kernels, Occupancy, SOME_LANES, SOME_LANES_TWICE, kernel};

        $(#[$feature])?
        fn contains<const C: u8>(blocks: &[Block], pattern: &Pattern, hash: u64) -> bool {
            // SAFETY: this function enables the features of `$ops`; there is a block by contract.
            unsafe { kernel::contains::<$ops, C>(blocks, pattern, hash) }
        }
        $(#[$feature])?
        fn insert<const C: u8>(blocks: &mut [Block], pattern: &Pattern, hash: u64) {
            // SAFETY: as above.
            unsafe { kernel::insert::<$ops, C>(blocks, pattern, hash) }
        }
        $(#[$feature])?
        fn contains_batch<const C: u8>(blocks: &[Block], pattern: &Pattern, hashes: &[u64], out: &mut [u64]) {
            // SAFETY: as above; `out` has a bit per hash by contract.
            unsafe { kernel::contains_batch::<$ops, C>(blocks, pattern, hashes, out) }
        }
        $(#[$feature])?
        fn insert_batch<const C: u8>(blocks: &mut [Block], pattern: &Pattern, hashes: &[u64]) {
            // SAFETY: as above.
            unsafe { kernel::insert_batch::<$ops, C>(blocks, pattern, hashes) }
        }
        $(#[$feature])?
        fn insert_batch_seen<const C: u8>(blocks: &mut [Block], pattern: &Pattern, hashes: &[u64], out: &mut [u64]) {
            // SAFETY: as above; `out` has a bit per hash by contract.
            unsafe { kernel::insert_batch_seen::<$ops, C>(blocks, pattern, hashes, out) }
        }
        $(#[$feature])?
        fn hash_u64s(keys: &[u64], seed: u64, out: &mut [u64]) {
            kernel::hash_u64s(keys, seed, out)
        }
        $(#[$feature])?
        fn union(target: &mut [Block], source: &[Block]) {
            kernel::union(target, source)
        }
        $(#[$feature])?
        fn intersect(target: &mut [Block], source: &[Block]) {
            kernel::intersect(target, source)
        }
        $(#[$feature])?
        fn occupancy(blocks: &[Block], histogram: &mut Occupancy) {
            kernel::occupancy(blocks, histogram)
        }

        $(#[$feature])?
        fn merge_registers(target: &mut [u8], source: &[u8]) {
            // SAFETY: this function enables the features of `$registers`.
            unsafe { crate::simd::registers::merge::<$registers>(target, source) }
        }
        $(#[$feature])?
        fn merge_many_registers(target: &mut [u8], sources: &[&[u8]; crate::simd::MANY]) {
            // SAFETY: as above; every source is as long as the target by contract.
            unsafe { crate::simd::registers::merge_many::<$registers>(target, sources) }
        }
        $(#[$feature])?
        fn histogram(body: &[u8], counts: &mut [u32; 64]) {
            crate::simd::registers::histogram(body, counts)
        }
        $(#[$feature])?
        fn reject(hashes: &[u64], mask: u64, out: &mut [u64]) -> usize {
            #[allow(unused_unsafe, reason = "the common kernel is safe, those by hand are not")]
            // SAFETY: this function enables the features.
            unsafe {
                $survivors(hashes, mask, out)
            }
        }

        $(#[$feature])?
        fn cells(table: &Table, hashes: &[u64; counting::GROUP], out: &mut [[u64; counting::GROUP]]) {
            counting::cells(table, hashes, out)
        }
        $(#[$feature])?
        fn merge_counters(target: &mut [Block], source: &[Block], counter: CounterSize) {
            counters::merge(target, source, counter)
        }
        $(#[$feature])?
        fn halve_counters(lines: &mut [Block], counter: CounterSize, times: u32) {
            counters::halve(lines, counter, times)
        }
        $(#[$feature])?
        fn census(lines: &[Block], counter: CounterSize) -> counters::Census {
            counters::census(lines, counter)
        }

        const fn bloom<const C: u8>() -> BloomKernels {
            BloomKernels {
                contains: contains::<C>,
                insert: insert::<C>,
                contains_batch: contains_batch::<C>,
                insert_batch: insert_batch::<C>,
                insert_batch_seen: insert_batch_seen::<C>,
            }
        }

        pub(in crate::simd) const TABLE: Kernels = Kernels {
            name: $name,
            level: $level,
            bloom: [bloom::<SOME_LANES>(), bloom::<EACH_LANE>(), bloom::<SOME_LANES_TWICE>()],
            hash_u64s,
            union,
            intersect,
            occupancy,
            merge_registers,
            merge_many_registers,
            histogram,
            survivors: reject,
            cells,
            merge_counters,
            halve_counters,
            census,
        };
        pub(in crate::simd) static KERNELS: Kernels = TABLE;
    };
}
use kernels;

/// Asks for the cache line at an address, to be read soon. Any address will do.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    prefetch_read(address.cast());
}

/// Asks for the line at `block`, to be read soon.
#[inline(always)]
fn prefetch_read(block: *const Block) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    // SAFETY: a prefetch never faults and changes nothing but the caches.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(block.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) block, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64")))]
    let _ = block;
}

/// Asks for the line at `block` to come as near as the L2 cache: where several lines of each key are asked for, more
/// can be under way to there than to L1.
#[inline(always)]
fn prefetch_l2(block: *const Block) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    // SAFETY: as in `prefetch_read`.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(block.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pldl2keep, [{}]", in(reg) block, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64")))]
    let _ = block;
}

/// Asks for the line at `block`, to be written soon.
#[inline(always)]
fn prefetch_write(block: *mut Block) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    // SAFETY: a prefetch never faults and changes nothing but the caches; CPUs without `prefetchw` take it as a no-op.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) block, options(nostack, readonly, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) block, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64")))]
    let _ = block;
}
