//! A walk over Parquet's footer before the decoder sees it.
//!
//! The footer is Thrift in its compact form. A damaged length in it would make a decoder allocate what no machine has,
//! which ends the process instead of raising an error. The walk checks that the structure is whole: every list is no
//! longer than the bytes behind it, nesting is bounded, nothing runs past the end. It knows no names.

/// Parquet nests some ten levels.
const DEPTH_MAX: u32 = 64;

const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// True when `bytes` begin with a whole Thrift structure.
pub fn is_whole(bytes: &[u8]) -> bool {
    Walk { rest: bytes }.structure(0).is_some()
}

/// A field's number and kind, as its head says.
#[derive(Clone, Copy)]
pub struct Field {
    /// The field's identifier in its structure.
    pub number: i64,
    kind: u8,
}

impl Field {
    /// Its value is a list.
    pub fn is_list(self) -> bool {
        self.kind == LIST
    }
    /// Its value is a structure.
    pub fn is_structure(self) -> bool {
        self.kind == STRUCT
    }
    /// Whether elements of this kind, as `list` gives it, are structures.
    pub fn of_structure(kind: u8) -> bool {
        kind == STRUCT
    }
}

/// A position in Thrift's compact form. `None` from any step means that the bytes are damaged.
pub struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    /// A walk from the beginning of `rest`, which is a structure.
    pub fn new(rest: &'a [u8]) -> Self {
        Walk { rest }
    }
    /// Calls `visit` at every field of a structure; it has to take or `pass` the field's value.
    pub fn each_field(
        &mut self,
        depth: u32,
        visit: &mut dyn FnMut(&mut Self, Field) -> Option<()>,
    ) -> Option<()> {
        let mut number = 0i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            number = match head >> 4 {
                0 => self.integer()?,
                step => number.checked_add(i64::from(step))?,
            };
            if depth > DEPTH_MAX {
                return None;
            }
            visit(self, Field { number, kind: head & 15 })?;
        }
    }
    /// Passes over a field's value.
    pub fn pass(&mut self, field: Field, depth: u32) -> Option<()> {
        self.value(field.kind, false, depth)
    }
    /// Number and kind of a list's elements.
    pub fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            short => usize::from(short),
        };
        Some((count, head & 15))
    }
    /// A signed integer of any width.
    pub fn integer(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }
    /// A byte string, copied.
    pub fn binary(&mut self) -> Option<Vec<u8>> {
        let length = self.count()?;
        let bytes = self.rest.get(..length)?.to_vec();
        self.skip(length)?;
        Some(bytes)
    }
    /// One byte, as a boolean element is.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.varint()?).ok()?;
        // Every element takes a byte at least.
        (count <= self.rest.len()).then_some(count)
    }
    fn structure(&mut self, depth: u32) -> Option<()> {
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            if head >> 4 == 0 {
                self.varint()?;
            }
            self.value(head & 15, false, depth)?;
        }
    }
    /// A field's booleans are in its head, an element's are a byte.
    fn value(&mut self, kind: u8, element: bool, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            1 | 2 if element => self.skip(1),
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            BINARY => {
                let length = self.count()?;
                self.skip(length)
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.count()?,
                    short => usize::from(short),
                };
                for _ in 0..count {
                    self.value(head & 15, true, depth + 1)?;
                }
                Some(())
            }
            MAP => {
                let count = self.count()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                for _ in 0..count {
                    self.value(kinds >> 4, true, depth + 1)?;
                    self.value(kinds & 15, true, depth + 1)?;
                }
                Some(())
            }
            STRUCT => self.structure(depth + 1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_broken_structures() {
        assert!(is_whole(&[0]));
        assert!(is_whole(&[0x15, 0x02, 0x18, 0x02, b'a', b'b', 0]));
        assert!(!is_whole(&[0x18, 0x7F, b'a', 0]));
        assert!(!is_whole(&[0x15, 0x02]));
        // A list of 2^31 structures in six bytes.
        assert!(!is_whole(&[0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0]));
        // Lists in lists without end.
        assert!(!is_whole(&[0x19; 100_000]));
    }
}
