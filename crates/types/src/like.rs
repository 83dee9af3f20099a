//! LIKE patterns, compiled once: fixed parts between `%` are found by substring search, `_` matches one character.
//!
//! A pattern is cut at its unescaped `%` into pieces. The first piece is matched at the start of the text, the last
//! at its end, and those between at their first occurrence after the piece before, which suffices because `%` matches
//! anything. Expressions and blocks evaluate LIKE here; the optimizer turns `prefix` into a range, and blocks search
//! many strings at once for `required` or `literals`. Matching takes bytes and expects UTF-8.

use memchr::memmem::Finder;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A compiled LIKE pattern. Matching is on bytes; `_` steps over one UTF-8 character.
#[derive(Debug)]
pub struct LikePattern {
    text: String,
    escape: Option<char>,
    /// Pieces between unescaped `%`; the first is anchored at the start, the last at the end.
    pieces: Vec<Piece>,
    /// A pattern without any `%` matches the whole string against its single piece.
    whole: bool,
}

/// Patterns are what they are made of.
impl PartialEq for LikePattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.escape) == (&other.text, other.escape)
    }
}

impl Eq for LikePattern {}

/// The text and the escape character; reading compiles them anew.
impl Serialize for LikePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.text, self.escape).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LikePattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (text, escape) = <(String, Option<char>)>::deserialize(deserializer)?;
        LikePattern::new(&text, escape)
            .ok_or_else(|| serde::de::Error::custom("a LIKE pattern that ends with its escape character"))
    }
}

#[derive(Debug)]
struct Piece {
    /// `None` stands for `_`.
    symbols: Vec<Option<u8>>,
    /// Present when the piece has no `_`.
    fixed: Option<Finder<'static>>,
}

impl Piece {
    fn new(symbols: Vec<Option<u8>>) -> Self {
        let bytes: Option<Vec<u8>> = symbols.iter().copied().collect();
        Piece { symbols, fixed: bytes.map(|b| Finder::new(&b).into_owned()) }
    }
    /// Length in bytes of the match at the start of `text`, if it matches there.
    fn match_at(&self, text: &[u8]) -> Option<usize> {
        if let Some(finder) = &self.fixed {
            // An empty piece is not compared: its dangling pointer costs the C library's masked loads 70 ns.
            let needle = finder.needle();
            return (needle.is_empty() || text.starts_with(needle)).then_some(needle.len());
        }
        let mut at = 0;
        for symbol in &self.symbols {
            match symbol {
                Some(byte) if text.get(at) == Some(byte) => at += 1,
                Some(_) => return None,
                None => {
                    let lead = *text.get(at)?;
                    at += character_bytes(lead).min(text.len() - at);
                }
            }
        }
        Some(at)
    }
    /// First match at or after the start of `text`: (start, end).
    fn find(&self, text: &[u8]) -> Option<(usize, usize)> {
        if let Some(finder) = &self.fixed {
            let needle = finder.needle();
            let found =
                if text.len() <= SHORT_BYTES_MAX { find_short(text, needle) } else { finder.find(text) };
            return found.map(|start| (start, start + needle.len()));
        }
        let mut start = 0;
        while start <= text.len() {
            if let Some(length) = self.match_at(&text[start..]) {
                return Some((start, start + length));
            }
            start += text.get(start).map_or(1, |lead| character_bytes(*lead));
        }
        None
    }
    /// Whether `text` ends with a match, which starts at or after byte 0.
    fn match_end(&self, text: &[u8]) -> bool {
        if let Some(finder) = &self.fixed {
            return finder.needle().is_empty() || text.ends_with(finder.needle());
        }
        // `_` makes the length vary: try each character start that could begin the tail.
        let mut start = text.len();
        loop {
            if start == text.len() || !is_continuation(text[start]) {
                if self.match_at(&text[start..]) == Some(text.len() - start) {
                    return true;
                }
                if text.len() - start > self.symbols.len() * 4 {
                    return false;
                }
            }
            if start == 0 {
                return false;
            }
            start -= 1;
        }
    }
}

/// Up to this length `find_short` beats the general search, which has to be set up and, on strings shorter than its
/// vectors, goes byte by byte.
const SHORT_BYTES_MAX: usize = 128;

/// First occurrence of `needle` in a short `text`: eight positions at a time, by the needle's first and last byte.
fn find_short(text: &[u8], needle: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (Some(first), Some(last)) = (needle.first(), needle.last()) else { return Some(0) };
    let span = needle.len() - 1;
    let positions = text.len().checked_sub(span)?;
    if positions < 8 {
        return (0..positions).find(|at| text[*at..].starts_with(needle));
    }
    let word = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&text[at..at + 8]);
        u64::from_le_bytes(eight)
    };
    let (first, last) = (ONES * u64::from(*first), ONES * u64::from(*last));
    let mut at = 0;
    loop {
        // A zero byte where both agree. Its high bit is set in `hits`; bits above the lowest may be false, and all
        // are verified.
        let differ = (word(at) ^ first) | (word(at + span) ^ last);
        let mut hits = differ.wrapping_sub(ONES) & !differ & (ONES << 7);
        while hits != 0 {
            let start = at + hits.trailing_zeros() as usize / 8;
            if text[start..].starts_with(needle) {
                return Some(start);
            }
            hits &= hits - 1;
        }
        if at + 8 >= positions {
            return None;
        }
        // The last step overlaps the one before it.
        at = (at + 8).min(positions - 8);
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Length of a UTF-8 character by its first byte.
fn character_bytes(lead: u8) -> usize {
    match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => 1,
    }
}

impl LikePattern {
    /// Compiles a pattern; `escape` makes the next character literal (SQL's default is the backslash). `None` when
    /// the pattern ends with the escape character.
    pub fn new(pattern: &str, escape: Option<char>) -> Option<Self> {
        let mut pieces = vec![Vec::new()];
        let mut characters = pattern.chars();
        while let Some(c) = characters.next() {
            let literal = if Some(c) == escape {
                characters.next()?
            } else if c == '%' {
                pieces.push(Vec::new());
                continue;
            } else if c == '_' {
                if let Some(last) = pieces.last_mut() {
                    last.push(None);
                }
                continue;
            } else {
                c
            };
            let mut buffer = [0; 4];
            if let Some(last) = pieces.last_mut() {
                last.extend(literal.encode_utf8(&mut buffer).bytes().map(Some));
            }
        }
        let whole = pieces.len() == 1;
        let last = pieces.len() - 1;
        let pieces = pieces
            .into_iter()
            .enumerate()
            .filter(|(i, p)| *i == 0 || *i == last || !p.is_empty())
            .map(|(_, p)| Piece::new(p))
            .collect();
        Some(LikePattern { text: pattern.to_owned(), escape, pieces, whole })
    }

    /// The pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The literal bytes every match starts with; empty when there are none.
    pub fn prefix(&self) -> Vec<u8> {
        self.pieces.first().map_or_else(Vec::new, |p| p.symbols.iter().map_while(|s| *s).collect())
    }

    /// The longest literal part, which every match contains; empty when there is none.
    pub fn required(&self) -> &[u8] {
        self.longest_fixed().map_or(&[], Finder::needle)
    }

    /// Whether the pattern is fixed parts that may lie anywhere, one behind the other: `%a%b%`, those of `literals`.
    pub fn is_floating(&self) -> bool {
        let empty = |p: Option<&Piece>| p.is_some_and(|p| p.symbols.is_empty());
        !self.whole
            && empty(self.pieces.first())
            && empty(self.pieces.last())
            && self.pieces.iter().all(|p| p.fixed.is_some())
    }

    /// The parts without `_` between `%`, which every match contains.
    pub fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().filter_map(|p| p.fixed.as_ref()).map(Finder::needle).filter(|n| !n.is_empty())
    }

    /// Where the longest literal part first occurs in `text`: for searching many strings that lie side by side.
    pub fn find_required(&self, text: &[u8]) -> Option<usize> {
        self.longest_fixed().and_then(|finder| finder.find(text))
    }

    /// The longest piece without `_`, which is the most selective one to search for.
    fn longest_fixed(&self) -> Option<&Finder<'static>> {
        self.pieces.iter().filter_map(|p| p.fixed.as_ref()).max_by_key(|f| f.needle().len())
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return false };
        let Some(head) = first.match_at(text) else { return false };
        if self.whole {
            return head == text.len();
        }
        let mut rest = &text[head..];
        for piece in &self.pieces[1..self.pieces.len() - 1] {
            let Some((_, end)) = piece.find(rest) else { return false };
            rest = &rest[end..];
        }
        last.match_end(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, by recursion over characters.
    fn reference(pattern: &[char], text: &[char]) -> bool {
        match pattern.first() {
            None => text.is_empty(),
            Some('%') => (0..=text.len()).any(|i| reference(&pattern[1..], &text[i..])),
            Some('_') => !text.is_empty() && reference(&pattern[1..], &text[1..]),
            Some(c) => text.first() == Some(c) && reference(&pattern[1..], &text[1..]),
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        let alphabet = ['a', 'b', 'é', '%', '_'];
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..60_000 {
            let pattern: String = (0..next(7)).map(|_| alphabet[next(5) as usize]).collect();
            let text: String = (0..next(9)).map(|_| alphabet[next(3) as usize]).collect();
            let expected = reference(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>());
            let compiled = LikePattern::new(&pattern, None).unwrap();
            assert_eq!(compiled.matches(text.as_bytes()), expected, "{text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn short_search_is_search() {
        let mut state = 11u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % n) as usize
        };
        for _ in 0..200_000 {
            let text: Vec<u8> = (0..next(40)).map(|_| b'a' + next(3) as u8).collect();
            let needle: Vec<u8> = (0..next(6)).map(|_| b'a' + next(3) as u8).collect();
            let expected = (0..=text.len()).find(|at| text[*at..].starts_with(&needle));
            assert_eq!(find_short(&text, &needle), expected, "{text:?} {needle:?}");
        }
    }

    #[test]
    fn floating_patterns_are_parts_in_a_row() {
        let floating = |text: &str| LikePattern::new(text, None).unwrap().is_floating();
        assert!(floating("%a%") && floating("%a%b%") && floating("%a%%b%"));
        assert!(
            !floating("a%b%") && !floating("%a%b") && !floating("%a_%") && !floating("a") && !floating("")
        );
        let pattern = LikePattern::new("%ab%%c%", None).unwrap();
        assert_eq!(pattern.literals().collect::<Vec<_>>(), [&b"ab"[..], b"c"]);
    }

    #[test]
    fn escapes() {
        assert!(LikePattern::new("10\\%", Some('\\')).unwrap().matches(b"10%"));
        assert!(!LikePattern::new("10\\%", Some('\\')).unwrap().matches(b"100"));
        assert!(LikePattern::new("a\\", Some('\\')).is_none());
    }
}
