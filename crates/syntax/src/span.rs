//! Where a piece of syntax stands in its text.

/// A range of bytes of the text, from `start` to before `end`.
///
/// Two spans always compare equal, so that trees compare by what they say and not by where they were read: a tree equals
/// the one that is read from its own print.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One behind the last byte.
    pub end: u32,
}

impl Span {
    /// From one place to before another.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }
    /// Whether it is no place: that of what no text says.
    pub const fn is_none(self) -> bool {
        self.start == 0 && self.end == 0
    }
    /// The smallest span that holds both; no place adds nothing.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.is_none() || other.is_none() {
            return if self.is_none() { other } else { self };
        }
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
    /// The bytes of a text that the span covers.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}
