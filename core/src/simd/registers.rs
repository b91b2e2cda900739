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

    /// Groups whose registers there is room for: 4 or 1.
    const AT_ONCE: usize = 4;

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
    // SAFETY: the caller's contract.
    unsafe { merge_rest::<R>(target_rest, source_rest) };
    let mut pairs = targets.iter_mut().zip(sources);
    let Some((mut target, source)) = pairs.next() else { return };
    // SAFETY: the caller's contract.
    let mut merged = unsafe { merged::<R>(target, source) };
    for (next, source) in pairs {
        // SAFETY: the caller's contract.
        unsafe {
            let ahead = self::merged::<R>(next, source);
            R::store(target, merged);
            (target, merged) = (next, ahead);
        }
    }
    // SAFETY: the caller's contract.
    unsafe { R::store(target, merged) };
}

/// A function, not a closure: those are compiled without the features of the function around them, and an
/// instruction that is not inlined costs a call.
///
/// # Safety
/// The caller enables the features of `R`.
#[inline(always)]
unsafe fn merged<R: RegisterOps>(target: &Group, source: &Group) -> R::Unpacked {
    // SAFETY: the caller's contract.
    unsafe { R::max(R::load(target), R::load(source)) }
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
    let (targets, target_rest) = target.as_chunks_mut::<GROUP>();
    for source in sources {
        // SAFETY: the caller's contract.
        unsafe { merge_rest::<R>(target_rest, source.as_chunks::<GROUP>().1) };
    }
    // Four groups at a time, so that enough loads are under way.
    let (fours, rest) = if R::AT_ONCE == 4 { targets.as_chunks_mut::<4>() } else { (&mut [][..], targets) };
    let rest_at = 4 * fours.len();
    for (i, [a, b, c, d]) in fours.iter_mut().enumerate() {
        // SAFETY: the caller's contract: there are as many groups in each source as in the target.
        unsafe {
            let (mut w, mut x, mut y, mut z) = (R::load(a), R::load(b), R::load(c), R::load(d));
            for source in sources {
                let groups = source.as_ptr().cast::<Group>().add(4 * i);
                w = R::max(w, R::load(&*groups));
                x = R::max(x, R::load(&*groups.add(1)));
                y = R::max(y, R::load(&*groups.add(2)));
                z = R::max(z, R::load(&*groups.add(3)));
            }
            R::store(a, w);
            R::store(b, x);
            R::store(c, y);
            R::store(d, z);
        }
    }
    for (i, target) in rest.iter_mut().enumerate() {
        // SAFETY: as above.
        unsafe {
            let mut merged = R::load(target);
            for source in sources {
                merged = R::max(merged, R::load(&*source.as_ptr().cast::<Group>().add(rest_at + i)));
            }
            R::store(target, merged);
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
