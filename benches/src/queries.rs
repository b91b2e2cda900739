//! The same keys for every contender: numbered, so that those inserted and those absent never meet.
//!
//! Key `i` is a bijection of `i`, and its hash XXH3 of the key: contenders that take hashes and contenders that
//! hash for themselves answer the same question.

use crate::{RUN_KEYS, SEED};
use sketchline::KeyHash;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Looks up keys that were never inserted.
    Absent,
    /// Looks up keys that were inserted, in random order.
    Present,
    /// Looks up one or the other, by the throw of a coin.
    Mixed,
    /// Inserts new keys.
    Insert,
}

impl Op {
    /// All of them; inserting last, since it changes the filters.
    pub const ALL: [Op; 4] = [Op::Absent, Op::Present, Op::Mixed, Op::Insert];
    /// Those that leave the filters alone.
    pub const LOOK_UPS: [Op; 3] = [Op::Absent, Op::Present, Op::Mixed];

    /// `absent`, `present`, `mixed`, `insert`.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Absent => "absent",
            Op::Present => "present",
            Op::Mixed => "mixed",
            Op::Insert => "insert",
        }
    }
}

/// Some keys, and the hash of each.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Integers.
    pub keys: Vec<u64>,
    /// Their XXH3 hashes, seed 0.
    pub hashes: Vec<u64>,
}

impl Keys {
    /// Keys with these numbers.
    pub fn numbered(numbers: impl Iterator<Item = u64>) -> Self {
        let mut keys = Self::default();
        keys.fill(numbers);
        keys
    }

    /// Keys with these numbers, in place of those held.
    fn fill(&mut self, numbers: impl Iterator<Item = u64>) {
        self.keys.clear();
        self.keys.extend(numbers.map(|i| mix(i.wrapping_add(SEED))));
        self.hashes.clear();
        self.hashes.extend(self.keys.iter().map(|&key| KeyHash::of_u64(key, 0).raw()));
    }
}

/// Bijection of 64 bits (splitmix64).
pub fn mix(i: u64) -> u64 {
    KeyHash::mixed(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).raw()
}

/// Draws keys. No key is drawn twice but for those present.
#[derive(Clone, Debug)]
pub struct Queries {
    next_absent: u64,
    coins: u64,
    pool: u64,
}

impl Queries {
    /// Of the keys inserted, those that are looked up: enough that their lines fill 1 GiB, few enough to be inserted
    /// one by one.
    const POOL: u64 = 1 << 24;

    /// Against filters with keys `0 .. inserted`.
    pub fn new(inserted: u64) -> Self {
        Self { next_absent: 1 << 48, coins: SEED << 32, pool: inserted.min(Self::POOL) }
    }

    /// The keys that are inserted, in order, a chunk at a time; the first [`Queries::pool`] are those looked up.
    pub fn inserted(numbers: std::ops::Range<u64>, mut each: impl FnMut(&Keys)) {
        let mut keys = Keys::default();
        let mut start = numbers.start;
        while start < numbers.end {
            let end = numbers.end.min(start + RUN_KEYS as u64);
            keys.fill(start..end);
            each(&keys);
            start = end;
        }
    }

    /// How many of the inserted keys may be asked for.
    pub fn pool(&self) -> u64 {
        self.pool
    }

    /// New keys for one run.
    pub fn draw(&mut self, op: Op, keys: &mut Keys) {
        keys.fill((0..RUN_KEYS).map(|_| {
            let coin = self.coin();
            let present = match op {
                Op::Absent | Op::Insert => false,
                Op::Present => true,
                Op::Mixed => coin & 1 == 1,
            };
            if present {
                return ((u128::from(coin) * u128::from(self.pool)) >> 64) as u64;
            }
            self.next_absent += 1;
            self.next_absent
        }));
    }

    /// As if all that the other drew had been drawn here.
    pub fn skip_to(&mut self, other: Self) {
        self.next_absent = self.next_absent.max(other.next_absent);
        self.coins = self.coins.max(other.coins);
    }

    fn coin(&mut self) -> u64 {
        self.coins += 1;
        mix(self.coins)
    }
}
