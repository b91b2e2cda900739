//! Count-Min counters: add, estimate, merge, age, look over. Plain code that each instruction set compiles anew.
//!
//! In a batch the counters of 32 keys are found at once, in wide registers, while those of the 32 keys before are
//! asked for and changed one after the other: equal keys in a batch count as they would alone.

use super::{prefetch_read, prefetch_write};
use crate::block::{BLOCK_BYTES, Block};
use crate::cms::column::{Form, MAX_DEPTH, Table, rows_counter, two_line_counter};
use crate::cms::{CmsLayout, CounterSize};

/// What to add to each key: a number for each, or the first for all. No branch in the loops, which the compiler would
/// write twice.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    numbers: &'a [u64],
    /// All bits, or none.
    mask: usize,
}

impl<'a> Counts<'a> {
    pub(crate) fn same(count: &'a u64) -> Self {
        Self { numbers: core::slice::from_ref(count), mask: 0 }
    }

    pub(crate) fn each(numbers: &'a [u64]) -> Self {
        Self { numbers, mask: usize::MAX }
    }

    /// A number for each key, if they differ.
    pub(crate) fn as_each(self) -> Option<&'a [u64]> {
        (self.mask != 0).then_some(self.numbers)
    }

    /// Those of `len` keys from number `first` on.
    pub(crate) fn from(self, first: usize, len: usize) -> Self {
        match self.as_each() {
            None => self,
            Some(numbers) => Self::each(numbers.get(first..first + len).unwrap_or(&[])),
        }
    }

    /// The sum over `len` keys; stops at 2^64 - 1.
    pub(crate) fn total(self, len: usize) -> u64 {
        match self.as_each() {
            None => self.of(0).saturating_mul(len as u64),
            Some(numbers) => numbers.iter().fold(0, |total, count| total.saturating_add(*count)),
        }
    }

    #[inline(always)]
    fn of(&self, i: usize) -> u64 {
        self.numbers.get(i & self.mask).copied().unwrap_or(0)
    }
}

/// What a pass over all counters finds, padding included.
#[derive(Clone, Copy, Default)]
pub(crate) struct Census {
    pub(crate) zeros: u64,
    pub(crate) saturated: u64,
    pub(crate) greatest: u64,
}

/// A little-endian unsigned integer that stops at its greatest value.
pub(super) trait Counter: Copy + Ord + Default {
    const CAP: Self;
    fn at_most(count: u64) -> Self;
    fn get(self) -> u64;
    fn plus(self, count: Self) -> Self;
    fn le(self) -> Self;
}

macro_rules! counter {
    ($int:ty) => {
        impl Counter for $int {
            const CAP: Self = Self::MAX;

            #[inline(always)]
            fn at_most(count: u64) -> Self {
                count.min(Self::MAX.into()) as Self
            }

            #[inline(always)]
            fn get(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn plus(self, count: Self) -> Self {
                self.saturating_add(count)
            }

            #[inline(always)]
            fn le(self) -> Self {
                self.to_le()
            }
        }
    };
}
counter!(u32);
counter!(u64);

/// # Safety
/// There is a counter number `at`, to be read.
#[inline(always)]
unsafe fn load<C: Counter>(counters: *const C, at: usize) -> C {
    // SAFETY: the caller's contract; an image may be at any address.
    unsafe { counters.add(at).read_unaligned().le() }
}

/// # Safety
/// There is a counter number `at`, to be written.
#[inline(always)]
unsafe fn store<C: Counter>(counters: *mut C, at: usize, counter: C) {
    // SAFETY: the caller's contract; an image may be at any address.
    unsafe { counters.add(at).write_unaligned(counter.le()) }
}

/// Keys whose counters are found at once.
pub(crate) const GROUP: usize = 32;
/// The numbers of the counters of a group, one array for each row.
pub(crate) type Cells = [u64; GROUP];

/// The counters of a group of hashes, as many rows as there is room for. The only part of a batch that wide registers
/// help: a counter at a time must be changed.
#[inline(always)]
pub(super) fn cells(table: &Table, hashes: &[u64; GROUP], out: &mut [Cells]) {
    match table.form {
        Form::FourRows => cells_of::<FourRows>(table, hashes, out),
        Form::TwoLine => cells_of::<TwoLine>(table, hashes, out),
        Form::Other => any_cells(table, hashes, out),
    }
}

/// One copy for all instruction sets.
#[inline(never)]
fn any_cells(table: &Table, hashes: &[u64; GROUP], out: &mut [Cells]) {
    cells_of::<AnyLayout>(table, hashes, out);
}

#[inline(always)]
fn cells_of<L: Layout>(table: &Table, hashes: &[u64; GROUP], out: &mut [Cells]) {
    for (row, out) in out.iter_mut().enumerate() {
        for (hash, out) in hashes.iter().zip(out) {
            *out = L::counter(table, *hash, row) as u64;
        }
    }
}

/// `target += source`, counter by counter, as far as both go.
#[inline(always)]
pub(super) fn merge(target: &mut [Block], source: &[Block], counter: CounterSize) {
    let (target, source) = (target.as_flattened_mut(), source.as_flattened());
    match counter {
        CounterSize::U32 => {
            for (target, source) in target.as_chunks_mut().0.iter_mut().zip(source.as_chunks().0) {
                *target = u32::from_le_bytes(*target).saturating_add(u32::from_le_bytes(*source)).to_le_bytes();
            }
        }
        CounterSize::U64 => {
            for (target, source) in target.as_chunks_mut().0.iter_mut().zip(source.as_chunks().0) {
                *target = u64::from_le_bytes(*target).saturating_add(u64::from_le_bytes(*source)).to_le_bytes();
            }
        }
    }
}

/// Every counter becomes `counter >> times`; `times` is below 64, and a shift of all bits gives 0.
#[inline(always)]
pub(super) fn halve(counters: &mut [Block], counter: CounterSize, times: u32) {
    let bytes = counters.as_flattened_mut();
    match counter {
        CounterSize::U32 => {
            // In two steps, neither of which reaches the width: one pass without a test for each counter.
            let (first, then) = (times.min(31), u32::from(times > 31));
            for counter in bytes.as_chunks_mut().0 {
                *counter = (u32::from_le_bytes(*counter) >> first >> then).to_le_bytes();
            }
        }
        CounterSize::U64 => {
            for counter in bytes.as_chunks_mut().0 {
                *counter = (u64::from_le_bytes(*counter) >> (times & 63)).to_le_bytes();
            }
        }
    }
}

/// One pass over all counters.
#[inline(always)]
pub(super) fn census(counters: &[Block], counter: CounterSize) -> Census {
    /// Few enough for counts of 32 bits, as wide as the counters.
    const LINES: usize = 1 << 16;
    let mut census = Census::default();
    for lines in counters.chunks(LINES) {
        let bytes = lines.as_flattened();
        let (zeros, saturated, greatest) = match counter {
            CounterSize::U32 => {
                let (mut zeros, mut saturated, mut greatest) = (0u32, 0u32, 0u32);
                for counter in bytes.as_chunks().0 {
                    let counter = u32::from_le_bytes(*counter);
                    zeros += u32::from(counter == 0);
                    saturated += u32::from(counter == u32::MAX);
                    greatest = greatest.max(counter);
                }
                (zeros.into(), saturated.into(), greatest.into())
            }
            CounterSize::U64 => {
                let (mut zeros, mut saturated, mut greatest) = (0u64, 0u64, 0u64);
                for counter in bytes.as_chunks().0 {
                    let counter = u64::from_le_bytes(*counter);
                    zeros += u64::from(counter == 0);
                    saturated += u64::from(counter == u64::MAX);
                    greatest = greatest.max(counter);
                }
                (zeros, saturated, greatest)
            }
        };
        census.zeros += zeros;
        census.saturated += saturated;
        census.greatest = census.greatest.max(greatest);
    }
    census
}

/// The counters of a key, given by their numbers.
#[derive(Clone, Copy)]
struct Cell<const N: usize> {
    at: [usize; N],
    depth: usize,
}

/// Adds to the counters of a key; gives its estimate after that.
///
/// # Safety
/// The numbers are below that of the counters, which are writable.
#[inline(always)]
unsafe fn raise<C: Counter, const N: usize, const CONSERVATIVE: bool>(counters: *mut C, cell: Cell<N>, count: C) -> C {
    let mut least = C::CAP;
    if !CONSERVATIVE {
        for &at in cell.at.iter().take(cell.depth) {
            // SAFETY: the caller's contract.
            unsafe {
                let raised = load(counters, at).plus(count);
                store(counters, at, raised);
                least = least.min(raised);
            }
        }
        return least;
    }
    let mut values = [C::default(); N];
    for (&at, value) in cell.at.iter().zip(&mut values).take(cell.depth) {
        // SAFETY: the caller's contract.
        *value = unsafe { load(counters, at) };
        least = least.min(*value);
    }
    let target = least.plus(count);
    for (&at, value) in cell.at.iter().zip(values).take(cell.depth) {
        // SAFETY: the caller's contract.
        unsafe { store(counters, at, value.max(target)) };
    }
    target
}

/// The least of the counters of a key.
///
/// # Safety
/// The numbers are below that of the counters, which are readable.
#[inline(always)]
unsafe fn least<C: Counter, const N: usize>(counters: *const C, cell: Cell<N>) -> C {
    let mut least = C::CAP;
    for &at in cell.at.iter().take(cell.depth) {
        // SAFETY: the caller's contract.
        least = least.min(unsafe { load(counters, at) });
    }
    least
}

/// Where the counters of a key are, as far as that is known when this is compiled.
trait Layout {
    fn depth(table: &Table) -> usize;
    fn counter(table: &Table, hash: u64, row: usize) -> usize;
}

/// [`Form::FourRows`]: the usual depth, unrolled.
struct FourRows;
/// [`Form::TwoLine`].
struct TwoLine;
/// Any table.
struct AnyLayout;

/// Most counters of a key in the first two.
const FOUR: usize = 4;

impl Layout for FourRows {
    #[inline(always)]
    fn depth(_: &Table) -> usize {
        FOUR
    }

    #[inline(always)]
    fn counter(table: &Table, hash: u64, row: usize) -> usize {
        rows_counter(table, CounterSize::U32, hash, row)
    }
}

impl Layout for TwoLine {
    #[inline(always)]
    fn depth(_: &Table) -> usize {
        FOUR
    }

    #[inline(always)]
    fn counter(table: &Table, hash: u64, row: usize) -> usize {
        two_line_counter(table, CounterSize::U32, hash, row)
    }
}

impl Layout for AnyLayout {
    #[inline(always)]
    fn depth(table: &Table) -> usize {
        usize::from(table.depth)
    }

    #[inline(always)]
    fn counter(table: &Table, hash: u64, row: usize) -> usize {
        match table.layout {
            CmsLayout::Rows => rows_counter(table, table.counter, hash, row),
            CmsLayout::TwoLine => two_line_counter(table, table.counter, hash, row),
        }
    }
}

#[inline(always)]
fn cell<L: Layout, const N: usize>(table: &Table, hash: u64) -> Cell<N> {
    let (mut at, depth) = ([0; N], L::depth(table));
    for (row, at) in at.iter_mut().take(depth).enumerate() {
        *at = L::counter(table, hash, row);
    }
    Cell { at, depth }
}

/// Adds to one key; gives its estimate after that. Of another table: 0.
///
/// In general registers, and inlined into the caller. Four rows at a time in a vector (three `vpmuludq`, or `vpmullq`)
/// in a function per instruction set take 7.0 ns for 4.8 here; look-ups 6.5 for 7.0 (Intel, AVX-512, w = 16,384).
#[inline(always)]
pub(crate) fn add(counters: &mut [Block], table: &Table, hash: u64, count: u64) -> u64 {
    if counters.len() as u64 != table.num_lines {
        return 0;
    }
    let at: *mut Block = counters.as_mut_ptr();
    // SAFETY: there are as many lines as the table says (checked), and so every counter of a hash is among them.
    unsafe {
        match (table.form, table.conservative) {
            (Form::FourRows, false) => add_one::<u32, FourRows, FOUR, false>(at.cast(), table, hash, count),
            (Form::FourRows, true) => add_one::<u32, FourRows, FOUR, true>(at.cast(), table, hash, count),
            (Form::TwoLine, false) => add_one::<u32, TwoLine, FOUR, false>(at.cast(), table, hash, count),
            _ => add_any(at, table, hash, count),
        }
    }
}

/// # Safety
/// As `add_one`.
#[inline(never)]
unsafe fn add_any(at: *mut Block, table: &Table, hash: u64, count: u64) -> u64 {
    // SAFETY: the caller's contract.
    unsafe {
        match (table.counter, table.conservative) {
            (CounterSize::U32, false) => add_one::<u32, AnyLayout, MAX_DEPTH, false>(at.cast(), table, hash, count),
            (CounterSize::U32, true) => add_one::<u32, AnyLayout, MAX_DEPTH, true>(at.cast(), table, hash, count),
            (CounterSize::U64, false) => add_one::<u64, AnyLayout, MAX_DEPTH, false>(at.cast(), table, hash, count),
            (CounterSize::U64, true) => add_one::<u64, AnyLayout, MAX_DEPTH, true>(at.cast(), table, hash, count),
        }
    }
}

/// # Safety
/// The counters are those of the table, and writable.
#[inline(always)]
unsafe fn add_one<C: Counter, L: Layout, const N: usize, const CONSERVATIVE: bool>(
    counters: *mut C,
    table: &Table,
    hash: u64,
    count: u64,
) -> u64 {
    // SAFETY: the caller's contract; the numbers of a hash are below that of the counters (`column.rs`).
    unsafe { raise::<C, N, CONSERVATIVE>(counters, cell::<L, N>(table, hash), C::at_most(count)).get() }
}

/// The estimate of one key. Of another table: 0.
#[inline(always)]
pub(crate) fn estimate(counters: &[Block], table: &Table, hash: u64) -> u64 {
    if counters.len() as u64 != table.num_lines {
        return 0;
    }
    let at = counters.as_ptr();
    // SAFETY: as in `add`.
    unsafe {
        match table.form {
            Form::FourRows => least::<u32, FOUR>(at.cast(), cell::<FourRows, FOUR>(table, hash)).get(),
            Form::TwoLine => least::<u32, FOUR>(at.cast(), cell::<TwoLine, FOUR>(table, hash)).get(),
            Form::Other => estimate_any(at, table, hash),
        }
    }
}

/// # Safety
/// The counters are those of the table.
#[inline(never)]
unsafe fn estimate_any(at: *const Block, table: &Table, hash: u64) -> u64 {
    let cell = cell::<AnyLayout, MAX_DEPTH>(table, hash);
    // SAFETY: the caller's contract; the numbers of a hash are below that of the counters (`column.rs`).
    unsafe {
        match table.counter {
            CounterSize::U32 => least::<u32, MAX_DEPTH>(at.cast(), cell).get(),
            CounterSize::U64 => least::<u64, MAX_DEPTH>(at.cast(), cell).get(),
        }
    }
}

/// Finds the counters of a group: [`cells`] of some instruction set.
///
/// # Safety
/// To be called only where its instructions may run.
pub(super) type FindCells = unsafe fn(&Table, &[u64; GROUP], &mut [Cells]);

/// From this size on counters are asked for ahead: beyond the L2 cache.
const PREFETCH_FROM_LINES: usize = 512 * 1024 / BLOCK_BYTES;

/// What is done with the counters of each key of a batch, in order.
trait Visit<C, const N: usize> {
    /// # Safety
    /// The numbers are below that of the counters, which are writable unless `READS`.
    unsafe fn key(&mut self, i: usize, counters: *mut C, cell: Cell<N>);
    const READS: bool;
}

struct Adding<'a, const CONSERVATIVE: bool> {
    counts: Counts<'a>,
    greatest: u64,
}

impl<C: Counter, const N: usize, const CONSERVATIVE: bool> Visit<C, N> for Adding<'_, CONSERVATIVE> {
    const READS: bool = false;

    #[inline(always)]
    unsafe fn key(&mut self, i: usize, counters: *mut C, cell: Cell<N>) {
        let count = C::at_most(self.counts.of(i));
        // SAFETY: the caller's contract.
        let after = unsafe { raise::<C, N, CONSERVATIVE>(counters, cell, count) };
        self.greatest = self.greatest.max(after.get());
    }
}

struct Estimating<'a> {
    out: &'a mut [u64],
}

impl<C: Counter, const N: usize> Visit<C, N> for Estimating<'_> {
    const READS: bool = true;

    #[inline(always)]
    unsafe fn key(&mut self, i: usize, counters: *mut C, cell: Cell<N>) {
        if let Some(out) = self.out.get_mut(i) {
            // SAFETY: the caller's contract.
            *out = unsafe { least(counters.cast_const(), cell) }.get();
        }
    }
}

/// Adds to every key, one after the other; gives the greatest estimate that came of it.
///
/// # Safety
/// `find` may run here.
#[inline(never)]
pub(super) unsafe fn add_batch(
    counters: &mut [Block],
    table: &Table,
    hashes: &[u64],
    counts: Counts<'_>,
    find: FindCells,
) -> u64 {
    if counters.len() as u64 != table.num_lines {
        return 0;
    }
    let at = counters.as_mut_ptr();
    // SAFETY: the caller's contract, and the lines were counted.
    unsafe {
        match table.conservative {
            false => {
                let mut adding = Adding::<false> { counts, greatest: 0 };
                walk(at, table, hashes, find, &mut adding);
                adding.greatest
            }
            true => {
                let mut adding = Adding::<true> { counts, greatest: 0 };
                walk(at, table, hashes, find, &mut adding);
                adding.greatest
            }
        }
    }
}

/// Estimates every key, as far as `out` goes.
///
/// # Safety
/// `find` may run here.
#[inline(never)]
pub(super) unsafe fn estimate_batch(
    counters: &[Block],
    table: &Table,
    hashes: &[u64],
    out: &mut [u64],
    find: FindCells,
) {
    if counters.len() as u64 == table.num_lines {
        // SAFETY: the caller's contract, and the lines were counted. `Estimating` only reads.
        unsafe { walk(counters.as_ptr().cast_mut(), table, hashes, find, &mut Estimating { out }) }
    }
}

/// # Safety
/// `find` may run here; the lines are those of the table, writable unless `V` only reads.
#[inline(always)]
unsafe fn walk<V>(lines: *mut Block, table: &Table, hashes: &[u64], find: FindCells, visit: &mut V)
where
    V: Visit<u32, FOUR> + Visit<u32, MAX_DEPTH> + Visit<u64, MAX_DEPTH>,
{
    // SAFETY: the caller's contract.
    unsafe {
        match (table.form, table.counter) {
            (Form::Other, CounterSize::U32) => groups::<u32, MAX_DEPTH, V>(lines.cast(), table, hashes, find, visit),
            (Form::Other, CounterSize::U64) => groups::<u64, MAX_DEPTH, V>(lines.cast(), table, hashes, find, visit),
            _ => groups::<u32, FOUR, V>(lines.cast(), table, hashes, find, visit),
        }
    }
}

/// # Safety
/// As `walk`.
#[inline(always)]
unsafe fn groups<C: Counter, const N: usize, V: Visit<C, N>>(
    counters: *mut C,
    table: &Table,
    hashes: &[u64],
    find: FindCells,
    visit: &mut V,
) {
    let depth = if N == FOUR { FOUR } else { usize::from(table.depth).min(N) };
    let ahead = table.num_lines as usize > PREFETCH_FROM_LINES;
    // The layout with two lines needs one prefetch for each two rows.
    let step = match table.layout {
        CmsLayout::Rows => 1,
        CmsLayout::TwoLine => 2,
    };
    let mut groups = hashes.chunks(GROUP);
    let mut buffers = [[[0; GROUP]; N]; 2];
    let [even, odd] = &mut buffers;
    let (mut now, mut next) = (even, odd);
    let mut keys = 0;
    let mut first = 0;
    // The first turn has no keys yet, and asks for those of the next.
    loop {
        // SAFETY: the caller's contract.
        let keys_next = unsafe { find_group(table, groups.next(), find, next.get_mut(..depth).unwrap_or(&mut [])) };
        let asked = if ahead { keys_next } else { 0 };
        for i in 0..keys.max(asked) {
            if i < asked {
                // SAFETY: the numbers of a hash are below that of the counters.
                unsafe { ask::<C, N, V>(counters, next, i, depth, step) };
            }
            if i < keys {
                let at = core::array::from_fn(|row| now[row][i % GROUP] as usize);
                // SAFETY: as above; the caller's contract.
                unsafe { visit.key(first + i, counters, Cell { at, depth }) };
            }
        }
        (first, keys) = (first + keys, keys_next);
        if keys == 0 {
            return;
        }
        core::mem::swap(&mut now, &mut next);
    }
}

/// The counters of a group of at most [`GROUP`] hashes; how many they are.
///
/// # Safety
/// `find` may run here.
#[inline(always)]
unsafe fn find_group(table: &Table, hashes: Option<&[u64]>, find: FindCells, out: &mut [Cells]) -> usize {
    let hashes = hashes.unwrap_or(&[]);
    match hashes.first_chunk::<GROUP>() {
        // SAFETY: the caller's contract.
        Some(group) => unsafe { find(table, group, out) },
        None if hashes.is_empty() => {}
        None => {
            let mut group = [0; GROUP];
            group.iter_mut().zip(hashes).for_each(|(to, from)| *to = *from);
            // SAFETY: the caller's contract.
            unsafe { find(table, &group, out) }
        }
    }
    hashes.len()
}

/// Asks for the lines of a key.
///
/// # Safety
/// The numbers are below that of the counters.
#[inline(always)]
unsafe fn ask<C, const N: usize, V: Visit<C, N>>(
    counters: *mut C,
    cells: &[Cells; N],
    i: usize,
    depth: usize,
    step: usize,
) {
    for row in cells.iter().take(depth).step_by(step) {
        // SAFETY: the caller's contract.
        let at = unsafe { counters.add(row[i % GROUP] as usize) };
        if V::READS { prefetch_read(at.cast()) } else { prefetch_write(at.cast()) }
    }
}
