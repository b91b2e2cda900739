//! Where the 64-byte lines of a sketch live: owned, borrowed or mutably borrowed.

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
}
