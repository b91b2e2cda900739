//! The sparse form: a set of tokens in lines of storage, one per index, with the greatest rank seen.
//!
//! ```text
//! | sorted, ascending          | buffer, unsorted   | 0 0 0 ... |      little-endian u32
//! ```
//!
//! A new token goes to the buffer; a full buffer is sorted in. Indices are distinct across both, so that the
//! number of tokens is the number of indices, and an estimate needs no pass. A word of zeros is no token: the
//! first one ends the set.

use super::rank::{is_token, token_index};
use crate::Error;

/// Tokens in the buffer, at most: four to sixteen registers to search through.
const BUFFER: usize = 64;

/// How many tokens lie where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) sorted: u32,
    pub(crate) buffered: u32,
}

impl Counts {
    pub(crate) fn total(self) -> u32 {
        self.sorted + self.buffered
    }
}

/// What became of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// Its index was there, with this rank or a greater one.
    Known,
    /// Its index was there, with a smaller rank.
    Raised,
    /// It is new.
    New,
    /// It is new, and there is no room.
    NoRoom,
}

/// Little-endian words of the payload.
pub(crate) type Words = [[u8; 4]];

fn get(words: &Words, i: usize) -> u32 {
    words.get(i).map_or(0, |word| u32::from_le_bytes(*word))
}

fn set(words: &mut Words, i: usize, token: u32) {
    if let Some(word) = words.get_mut(i) {
        *word = token.to_le_bytes();
    }
}

/// The tokens, in no order.
pub(crate) fn iter(words: &Words, counts: Counts) -> impl Iterator<Item = u32> {
    words.iter().take(counts.total() as usize).map(|word| u32::from_le_bytes(*word))
}

/// Where the index of this token is.
pub(crate) fn find(words: &Words, counts: Counts, token: u32) -> Option<usize> {
    let index = token_index(token);
    let sorted = words.get(..counts.sorted as usize).unwrap_or(&[]);
    let first = sorted.partition_point(|word| token_index(u32::from_le_bytes(*word)) < index);
    if first < sorted.len() && token_index(get(sorted, first)) == index {
        return Some(first);
    }
    let buffer = words.get(sorted.len()..counts.total() as usize).unwrap_or(&[]);
    let found = buffer.iter().position(|word| token_index(u32::from_le_bytes(*word)) == index)?;
    Some(sorted.len() + found)
}

/// Adds a token to as many as `most`.
pub(crate) fn add(words: &mut Words, counts: &mut Counts, token: u32, most: u32) -> Added {
    if let Some(at) = find(words, *counts, token) {
        if get(words, at) >= token {
            return Added::Known;
        }
        set(words, at, token);
        return Added::Raised;
    }
    if counts.total() >= most || counts.total() as usize >= words.len() {
        return Added::NoRoom;
    }
    if counts.buffered as usize >= BUFFER {
        sort(words, counts);
    }
    set(words, counts.total() as usize, token);
    counts.buffered += 1;
    Added::New
}

/// Sorts the buffer in: in place, from the greatest token down.
pub(crate) fn sort(words: &mut Words, counts: &mut Counts) {
    let mut buffer = [0; BUFFER];
    let mut left = 0;
    for i in counts.sorted..counts.total() {
        insert_sorted(&mut buffer, left, get(words, i as usize));
        left += 1;
    }
    let (mut sorted, mut end) = (counts.sorted as usize, counts.total() as usize);
    while let Some(&greatest) = left.checked_sub(1).and_then(|last| buffer.get(last)) {
        end -= 1;
        let last = if sorted > 0 { get(words, sorted - 1) } else { 0 };
        if last > greatest {
            sorted -= 1;
            set(words, end, last);
        } else {
            left -= 1;
            set(words, end, greatest);
        }
    }
    *counts = Counts { sorted: counts.total(), buffered: 0 };
}

/// Puts a token into its place among the first `len`. The library's sort would do, but for a panic it keeps for
/// orders that contradict themselves: nothing here may reach one.
fn insert_sorted(buffer: &mut [u32; BUFFER], len: usize, token: u32) {
    let mut at = len;
    while let Some(&before) = at.checked_sub(1).and_then(|before| buffer.get(before))
        && before > token
    {
        if let Some(slot) = buffer.get_mut(at) {
            *slot = before;
        }
        at -= 1;
    }
    if let Some(slot) = buffer.get_mut(at) {
        *slot = token;
    }
}

/// Checks the words of a sealed image: `count` tokens, strictly ascending by index, then zeros.
pub(crate) fn check_sealed(words: &Words, count: u32) -> Result<Counts, Error> {
    let (tokens, rest) = words.split_at_checked(count as usize).ok_or(Error::BadParameter)?;
    let mut last = None;
    for word in tokens {
        let token = u32::from_le_bytes(*word);
        if !is_token(token) || last >= Some(token_index(token)) {
            return Err(Error::BadPayload);
        }
        last = Some(token_index(token));
    }
    if rest.iter().any(|word| *word != [0; 4]) {
        return Err(Error::BadPayload);
    }
    Ok(Counts { sorted: count, buffered: 0 })
}

/// The set that an unsealed image holds: an ascending part, and a buffer of distinct new tokens after it.
pub(crate) fn recover(words: &Words, most: u32) -> Result<Counts, Error> {
    let total = words.iter().position(|word| *word == [0; 4]).unwrap_or(words.len());
    if total > most as usize {
        return Err(Error::BadPayload);
    }
    let ascending = (1..total).find(|&i| token_index(get(words, i)) <= token_index(get(words, i - 1)));
    let sorted = ascending.unwrap_or(total);
    let mut counts = check_sealed(words.get(..sorted).unwrap_or(&[]), sorted as u32)?;
    if total - sorted > BUFFER {
        return Err(Error::BadPayload);
    }
    for i in sorted..total {
        if !is_token(get(words, i)) || find(words, counts, get(words, i)).is_some() {
            return Err(Error::BadPayload);
        }
        counts.buffered += 1;
    }
    if words.iter().skip(total).any(|word| *word != [0; 4]) {
        return Err(Error::BadPayload);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;
    use crate::hll::rank;
    use std::collections::BTreeMap;
    use std::{vec, vec::Vec};

    /// Against a map, in every order of new, known and raised tokens.
    #[test]
    fn is_a_map_from_index_to_greatest_rank() {
        let mut words = vec![[0; 4]; 2000];
        let mut counts = Counts { sorted: 0, buffered: 0 };
        let mut map = BTreeMap::new();
        for i in 0..6000u64 {
            // Few indices, many ranks.
            let hash =
                KeyHash::mixed(i % 2500).raw() & !(0x3ff << 16) & !0xff00_0000 | (KeyHash::mixed(i).raw() & 7) << 26;
            let token = rank::token(hash);
            let known = map.get(&token_index(token)).copied();
            let added = add(&mut words, &mut counts, token, 1900);
            let expected = match known {
                Some(old) if old >= token => Added::Known,
                Some(_) => Added::Raised,
                None if map.len() == 1900 => Added::NoRoom,
                None => Added::New,
            };
            assert_eq!(added, expected);
            if added != Added::NoRoom && known < Some(token) {
                map.insert(token_index(token), token);
            }
            assert_eq!(counts.total() as usize, map.len());
        }
        assert_eq!(recover(&words, 1900), Ok(counts));
        sort(&mut words, &mut counts);
        assert_eq!(iter(&words, counts).collect::<Vec<_>>(), map.into_values().collect::<Vec<_>>());
        assert_eq!(check_sealed(&words, counts.sorted), Ok(counts));
    }

    #[test]
    fn bad_words_are_refused() {
        let sealed = |tokens: &[u32]| {
            let words: Vec<_> = tokens.iter().map(|token| token.to_le_bytes()).collect();
            check_sealed(&words, tokens.len() as u32).map(|counts| counts.sorted)
        };
        assert_eq!(sealed(&[1 << 6 | 3, 2 << 6 | 1]), Ok(2));
        for bad in
            [&[2 << 6 | 1, 1 << 6 | 3][..], &[1 << 6 | 3, 1 << 6 | 4], &[1 << 6], &[1 << 6 | 40], &[0, 1 << 6 | 1]]
        {
            assert_eq!(sealed(bad), Err(Error::BadPayload), "{bad:?}");
        }
        assert_eq!(check_sealed(&[[1, 0, 0, 0]], 2), Err(Error::BadParameter));
        assert_eq!(check_sealed(&[[65, 0, 0, 0], [1, 0, 0, 0]], 1), Err(Error::BadPayload));
    }
}
