//! Where the 64-byte lines of a sketch live: owned, borrowed or mutably borrowed.

use crate::Error;
use crate::block::Block;

/// Lines that can be read. Sealed: the library relies on them not to move or change by themselves.
pub trait Lines: sealed::Sealed {
    /// The lines.
    fn lines(&self) -> &[Block];
}

/// Lines that can be changed.
pub trait LinesMut: Lines {
    /// The lines.
    fn lines_mut(&mut self) -> &mut [Block];

    /// So many zeroed lines of the same kind, to move to.
    ///
    /// # Errors
    /// [`Error::NeedSpace`] where the lines are somebody else's; [`Error::OutOfMemory`].
    fn fresh(&self, len: u64) -> Result<Self, Error>
    where
        Self: Sized;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for &[super::Block] {}
    impl Sealed for &mut [super::Block] {}
    #[cfg(feature = "alloc")]
    impl Sealed for crate::block::OwnedLines {}
}

impl Lines for &[Block] {
    #[inline(always)]
    fn lines(&self) -> &[Block] {
        self
    }
}

impl Lines for &mut [Block] {
    #[inline(always)]
    fn lines(&self) -> &[Block] {
        self
    }
}

impl LinesMut for &mut [Block] {
    #[inline(always)]
    fn lines_mut(&mut self) -> &mut [Block] {
        self
    }

    fn fresh(&self, _: u64) -> Result<Self, Error> {
        Err(Error::NeedSpace)
    }
}

#[cfg(feature = "alloc")]
impl Lines for crate::block::OwnedLines {
    #[inline(always)]
    fn lines(&self) -> &[Block] {
        self.blocks()
    }
}

#[cfg(feature = "alloc")]
impl LinesMut for crate::block::OwnedLines {
    #[inline(always)]
    fn lines_mut(&mut self) -> &mut [Block] {
        self.blocks_mut()
    }

    fn fresh(&self, len: u64) -> Result<Self, Error> {
        Self::zeroed(len)
    }
}
