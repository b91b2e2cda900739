//! Algorithms over packed 6-bit registers, each once. Names no instruction set.
//!
//! A body is taken 64 registers, 48 bytes, at a time; the rest of a body that is no multiple of that goes through
//! a copy, so that nothing is read or written beyond it.

/// Bytes of 64 registers.
pub(super) const GROUP: usize = 48;
pub(super) type Group = [u8; GROUP];

/// What an instruction set must be able to do to 64 registers.
///
/// # Safety
/// Every method may run vendor instructions: call only from a function that enables them.
pub(super) trait RegisterOps {
    /// 64 registers, unpacked far enough to be compared.
    type Unpacked: Copy;

    /// Unpacks.
    unsafe fn load(group: &Group) -> Self::Unpacked;

    /// The greater of each two registers.
    unsafe fn max(a: Self::Unpacked, b: Self::Unpacked) -> Self::Unpacked;

    /// Packs.
    unsafe fn store(group: &mut Group, registers: Self::Unpacked);
}

/// Every register of `target` becomes the greater of it and that of `source`.
///
/// The next group is loaded before this one is stored: a load that overlaps a store still under way waits for
/// it, which makes the plain loop 8 times slower.
///
/// # Safety
/// The caller enables the features of `R`.
#[inline(always)]
pub(super) unsafe fn merge<R: RegisterOps>(target: &mut [u8], source: &[u8]) {
    let (targets, target_rest) = target.as_chunks_mut::<GROUP>();
    let (sources, source_rest) = source.as_chunks::<GROUP>();
    let len = targets.len().min(sources.len());
    // SAFETY: the caller's contract; indices are below `len`.
    unsafe {
        let merged =
            |targets: &[Group], i: usize| R::max(R::load(targets.get_unchecked(i)), R::load(sources.get_unchecked(i)));
        if len > 0 {
            let mut this = merged(targets, 0);
            for i in 1..len {
                let next = merged(targets, i);
                R::store(targets.get_unchecked_mut(i - 1), this);
                this = next;
            }
            R::store(targets.get_unchecked_mut(len - 1), this);
        }
        merge_rest::<R>(target_rest, source_rest);
    }
}

/// # Safety
/// The caller enables the features of `R`.
#[inline(always)]
unsafe fn merge_rest<R: RegisterOps>(target: &mut [u8], source: &[u8]) {
    if target.is_empty() {
        return;
    }
    let (mut a, mut b) = ([0; GROUP], [0; GROUP]);
    a.iter_mut().zip(&*target).for_each(|(to, from)| *to = *from);
    b.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
    // SAFETY: the caller's contract.
    unsafe {
        let merged = R::max(R::load(&a), R::load(&b));
        R::store(&mut a, merged);
    }
    target.iter_mut().zip(a).for_each(|(to, from)| *to = from);
}

/// Sources that [`merge_many`] takes at once.
pub(crate) const MANY: usize = 8;

/// [`merge`] of several sources: each group of the target stays in registers until it has met them all.
///
/// # Safety
/// The caller enables the features of `R`; every source is as long as `target`.
#[inline(always)]
pub(super) unsafe fn merge_many<R: RegisterOps>(target: &mut [u8], sources: &[&[u8]; MANY]) {
    // Groups at a time, so that enough loads are under way.
    const WIDE: usize = 4;
    let (targets, target_rest) = target.as_chunks_mut::<GROUP>();
    let groups = sources.map(|source| source.as_chunks::<GROUP>().0);
    // SAFETY: the caller's contract: there are as many groups in each source as in the target.
    unsafe {
        let mut first = 0;
        while first < targets.len() {
            let wide = WIDE.min(targets.len() - first);
            if wide == WIDE {
                let mut merged: [_; WIDE] = core::array::from_fn(|i| R::load(targets.get_unchecked(first + i)));
                for source in groups {
                    for (i, merged) in merged.iter_mut().enumerate() {
                        *merged = R::max(*merged, R::load(source.get_unchecked(first + i)));
                    }
                }
                for (i, merged) in merged.into_iter().enumerate() {
                    R::store(targets.get_unchecked_mut(first + i), merged);
                }
            } else {
                for i in first..first + wide {
                    let mut merged = R::load(targets.get_unchecked(i));
                    for source in groups {
                        merged = R::max(merged, R::load(source.get_unchecked(i)));
                    }
                    R::store(targets.get_unchecked_mut(i), merged);
                }
            }
            first += wide;
        }
        for source in sources {
            merge_rest::<R>(target_rest, source.as_chunks::<GROUP>().1);
        }
    }
}

/// How many registers have each value.
#[inline(always)]
pub(super) fn histogram(body: &[u8], counts: &mut [u32; 64]) {
    // Four tables: equal neighbours would wait for each other in one.
    let mut tables = [[0u32; 64]; 4];
    let (eights, rest) = body.as_chunks::<6>();
    let mut count = |[a, b, c, d, e, f]: [u8; 6], registers: usize| {
        let word = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        for i in 0..registers {
            tables[i % 4][(word >> (6 * i)) as usize & 63] += 1;
        }
    };
    for eight in eights {
        count(*eight, 8);
    }
    if let [a, b, c] = *rest {
        count([a, b, c, 0, 0, 0], 4);
    }
    for (value, count) in counts.iter_mut().enumerate() {
        *count = tables.iter().map(|table| table[value]).sum();
    }
}

/// Moves the hashes that have none of the bits of `mask` to the front of `out`; how many they are. The rest of
/// `out` is left with anything.
#[inline(always)]
pub(super) fn survivors(hashes: &[u64], mask: u64, out: &mut [u64]) -> usize {
    let mut len = 0;
    for &hash in hashes {
        if let Some(slot) = out.get_mut(len) {
            *slot = hash;
        }
        len += usize::from(hash & mask == 0);
    }
    len.min(out.len())
}
