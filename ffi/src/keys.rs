//! Batches of keys as C describes them.

use crate::memory::array;
use crate::status::skl_status::{self, *};
use core::ffi::c_void;
use sketchline::{Arrow, Error, HashScheme, Hashes, KeyBatch, KeyHash, Nullable, U64Keys};

/// How the keys of a skl_keys lie in memory.
#[repr(u32)]
pub enum skl_keys_kind {
    /// data: n uint64_t, hashes already.
    SKL_KEYS_HASHES = 0,
    /// data: n uint64_t, integer keys.
    SKL_KEYS_U64 = 1,
    /// data: data_len bytes; offsets: n + 1 uint32_t (Arrow Binary, Utf8); key i is data[offsets[i]] up to data[offsets[i + 1]].
    SKL_KEYS_BYTES32 = 2,
    /// The same with int64_t offsets (Arrow LargeBinary, LargeUtf8).
    SKL_KEYS_BYTES64 = 3,
    /// data: n pointers; offsets: n size_t lengths. Those of keys that are not valid may be anything.
    SKL_KEYS_POINTERS = 4,
}

/// A batch of keys, in the caller's memory. Fields that the kind does not name are ignored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct skl_keys {
    /// A skl_keys_kind.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// Number of keys.
    pub n: usize,
    /// The keys, their bytes or their pointers.
    pub data: *const c_void,
    /// Bytes at data, for SKL_KEYS_BYTES32 and SKL_KEYS_BYTES64. No key is read from beyond.
    pub data_len: usize,
    /// Offsets or lengths.
    pub offsets: *const c_void,
    /// NULL, or an Arrow validity bitmap of n bits: a key whose bit (i % 8 of byte i / 8) is 0 is NULL in the
    /// sense of SQL, is never inserted and never present.
    pub validity: *const u8,
}

/// `n` pointers and as many lengths. Those of keys that are not valid may be anything, and are not looked at.
struct Pointers<'a> {
    keys: &'a [*const u8],
    lens: &'a [usize],
    validity: Option<&'a [u8]>,
}

impl Pointers<'_> {
    fn key(&self, i: usize) -> Result<&[u8], skl_status> {
        let bits = self.validity.and_then(|validity| validity.get(i / 8)).copied().unwrap_or(!0);
        if bits >> (i % 8) & 1 == 0 {
            return Ok(&[]);
        }
        let (key, len) = self.keys.get(i).zip(self.lens.get(i)).ok_or(SKL_ERR_KEYS)?;
        // SAFETY: the caller of `with_keys` promises that each pointer has its length of readable bytes.
        unsafe { array(*key, *len) }
    }
}

impl KeyBatch for Pointers<'_> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn check(&self, hashing: HashScheme) -> Result<(), Error> {
        hashing.key_seed()?;
        if (0..self.len()).all(|i| self.key(i).is_ok()) { Ok(()) } else { Err(Error::BadKeys) }
    }

    #[inline]
    fn key_hash(&self, i: usize, seed: u64) -> KeyHash {
        KeyHash::of(self.key(i).unwrap_or(&[]), seed)
    }
}

/// Gives the batch to `each`.
///
/// # Safety
/// If not NULL, `keys` and the arrays it names are readable and unchanged during the call.
pub(crate) unsafe fn with_keys<T>(
    keys: *const skl_keys,
    mut each: impl FnMut(&dyn KeyBatch) -> Result<T, skl_status>,
) -> Result<T, skl_status> {
    let mut result = Err(SKL_ERR_ARGUMENT);
    // SAFETY: the caller's contract.
    unsafe { visit(keys, &mut |batch| result = each(batch))? };
    result
}

/// One copy for all functions that take batches.
///
/// # Safety
/// As `with_keys`.
unsafe fn visit(keys: *const skl_keys, each: &mut dyn FnMut(&dyn KeyBatch)) -> Result<(), skl_status> {
    // SAFETY: the caller's contract, here and for every array below.
    let Some(keys) = (unsafe { array(keys, usize::from(!keys.is_null()))? }).first() else {
        return Err(SKL_ERR_NULL);
    };
    if keys.reserved != 0 {
        return Err(SKL_ERR_ARGUMENT);
    }
    const HASHES: u32 = skl_keys_kind::SKL_KEYS_HASHES as u32;
    const U64: u32 = skl_keys_kind::SKL_KEYS_U64 as u32;
    const BYTES32: u32 = skl_keys_kind::SKL_KEYS_BYTES32 as u32;
    const BYTES64: u32 = skl_keys_kind::SKL_KEYS_BYTES64 as u32;
    const POINTERS: u32 = skl_keys_kind::SKL_KEYS_POINTERS as u32;
    let n = keys.n;
    // SAFETY: as above.
    unsafe {
        match keys.kind {
            HASHES => each_with_validity(keys, Hashes(array(keys.data.cast(), n)?), each),
            U64 => each_with_validity(keys, U64Keys(array(keys.data.cast(), n)?), each),
            BYTES32 => each_with_validity(keys, arrow::<u32>(keys)?, each),
            BYTES64 => each_with_validity(keys, arrow::<i64>(keys)?, each),
            POINTERS => {
                let (pointers, lens) = (array(keys.data.cast(), n)?, array(keys.offsets.cast(), n)?);
                let pointers = Pointers { keys: pointers, lens, validity: validity(keys)? };
                each_with_validity(keys, pointers, each)
            }
            _ => Err(SKL_ERR_ARGUMENT),
        }
    }
}

/// # Safety
/// The arrays are readable.
unsafe fn arrow<'a, O>(keys: &skl_keys) -> Result<Arrow<'a, O>, skl_status> {
    let num_offsets = match keys.n {
        0 => 0,
        n => n.checked_add(1).ok_or(SKL_ERR_LENGTH)?,
    };
    // SAFETY: the caller's contract.
    unsafe {
        Ok(Arrow { offsets: array(keys.offsets.cast(), num_offsets)?, bytes: array(keys.data.cast(), keys.data_len)? })
    }
}

/// # Safety
/// The validity bitmap is readable.
unsafe fn each_with_validity(
    keys: &skl_keys,
    batch: impl KeyBatch,
    each: &mut dyn FnMut(&dyn KeyBatch),
) -> Result<(), skl_status> {
    // SAFETY: the caller's contract.
    match unsafe { validity(keys)? } {
        None => each(&batch),
        Some(validity) => each(&Nullable { keys: batch, validity }),
    }
    Ok(())
}

/// # Safety
/// The validity bitmap is readable.
unsafe fn validity<'a>(keys: &skl_keys) -> Result<Option<&'a [u8]>, skl_status> {
    if keys.validity.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's contract.
    unsafe { array(keys.validity, keys.n.div_ceil(8)).map(Some) }
}
