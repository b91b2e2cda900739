//! The shape of a sketch, before any memory is touched.

use super::rank::PRECISIONS;
use crate::block::BLOCK_BYTES;
use crate::registers::body_bytes;
use crate::{Error, HashScheme};

/// How a sketch holds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HllForm {
    /// A token of 4 bytes per key: near-exact, and small while there are few.
    Sparse,
    /// All registers.
    Dense,
}

/// Precision, first form, hash and mode of a sketch.
///
/// ```
/// use sketchline::HllParams;
/// let params = HllParams::new(14)?;
/// assert_eq!(params.dense_image_bytes(), 64 + 12_288);
/// assert!((params.standard_error() - 0.0081).abs() < 1e-4);
/// # Ok::<(), sketchline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HllParams {
    p: u8,
    form: HllForm,
    martingale: bool,
    hashing: HashScheme,
}

/// Tokens in one line.
pub(crate) const LINE_TOKENS: u32 = (BLOCK_BYTES / 4) as u32;

impl HllParams {
    /// `2^p` registers, starting sparse, under the native hash with seed 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `4 <= p <= 18`.
    pub fn new(p: u32) -> Result<Self, Error> {
        if !PRECISIONS.contains(&p) {
            return Err(Error::InvalidArgument);
        }
        Ok(Self { p: p as u8, form: HllForm::Sparse, martingale: false, hashing: HashScheme::NATIVE })
    }

    /// Parts that came from an `HllParams` before.
    pub(crate) const fn from_checked(p: u8, form: HllForm, martingale: bool) -> Self {
        Self { p, form, martingale, hashing: HashScheme::NATIVE }
    }

    /// The same in another first form.
    #[must_use]
    pub const fn with_form(self, form: HllForm) -> Self {
        Self { form, ..self }
    }

    /// The same under another hash or seed.
    #[must_use]
    pub const fn with_hashing(self, hashing: HashScheme) -> Self {
        Self { hashing, ..self }
    }

    /// Also keeps the martingale ("HIP") estimate (Cohen, KDD 2014; Ting, KDD 2014): about 20 % less error for a
    /// sketch that was never merged. A merge drops it. Order of insertion then shows in the bytes.
    #[must_use]
    pub const fn with_martingale(self) -> Self {
        Self { martingale: true, ..self }
    }

    /// Log2 of the number of registers, 4..=18.
    pub const fn p(&self) -> u32 {
        self.p as u32
    }

    /// The form to start in.
    pub const fn form(&self) -> HllForm {
        self.form
    }

    /// Whether the martingale estimate is kept.
    pub const fn martingale(&self) -> bool {
        self.martingale
    }

    /// The hash whose values the sketch holds.
    pub const fn hashing(&self) -> HashScheme {
        self.hashing
    }

    /// Relative standard error of the dense estimate, `1.04 / sqrt(2^p)`.
    pub fn standard_error(&self) -> f64 {
        super::estimate::dense_error(self.p())
    }

    /// Bytes of the least image in the first form: a sparse sketch may be given any more lines, and grows.
    pub const fn image_bytes(&self) -> u64 {
        match self.form {
            HllForm::Sparse => 2 * BLOCK_BYTES as u64,
            HllForm::Dense => self.dense_image_bytes(),
        }
    }

    /// Bytes of a dense image, the most that a sketch of this precision ever takes.
    pub const fn dense_image_bytes(&self) -> u64 {
        (self.body_bytes().next_multiple_of(BLOCK_BYTES) + BLOCK_BYTES) as u64
    }

    pub(crate) const fn body_bytes(&self) -> usize {
        body_bytes(1 << self.p)
    }

    /// Tokens at which a sparse sketch is full: two thirds of the dense size.
    pub(crate) const fn most_tokens(&self) -> u32 {
        (1 << self.p) / 8
    }
}
