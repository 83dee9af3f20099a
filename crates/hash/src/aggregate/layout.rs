//! How the values of a group key are packed into 64-bit words.
//!
//! ```text
//!  text           | length u32, prefix 4 bytes | bytes 4..12, or the hash of the whole when longer than 12 bytes |
//!  128 bits       | low word | high word |
//!  64 bits        | word |
//!  32, 16, 1 bit  packed into shared words, with one NULL bit for every nullable column that is not text
//!  NULL           the NULL bit, value bits 0; text: the first word is NULL_TEXT (no string is that long)
//! ```
//! Floats are canonical: one NaN, no -0. Two keys are equal exactly when their words are, except that words of long
//! texts can be equal by a collision of the hash: those are compared byte by byte as well.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use types::{Error, Physical, Result, Type};
use vector::strings::{INLINE_BYTES, view_length};
use vector::{Data, Strings, Vector};

use super::keys::KeyBatch;
use crate::hashing::hash_bytes;

/// First word of a NULL text.
pub const NULL_TEXT: u64 = u32::MAX as u64;

/// A column of a key. `nullable` must be true if a NULL can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// The type of its values.
    pub ty: Type,
    /// Whether a NULL can come; each nullable column that is not text takes a bit.
    pub nullable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `bits` of a word.
    Bits { word: usize, shift: u32, bits: u32 },
    /// Two words.
    Wide { word: usize },
    /// Two words and the text column that holds the bytes.
    Text { word: usize, text: usize },
}

#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The type of its values.
    pub ty: Type,
    /// Where the value lies in the key's words.
    pub place: Place,
    /// Word and bit of the NULL mark; `None` for text and for columns without NULLs.
    pub null: Option<(usize, u32)>,
}

/// How a key's columns are packed into words.
#[derive(Clone, Debug)]
pub struct KeyLayout {
    pub(super) columns: Vec<Column>,
    pub(super) width: usize,
    pub(super) texts: usize,
    /// The first word of each text column, in the order of the texts.
    pub(super) text_words: Vec<usize>,
}

impl KeyLayout {
    /// Packs columns in as few words as first fit finds.
    pub fn new(columns: &[KeyColumn]) -> Self {
        let mut layout = KeyLayout { columns: vec![], width: 0, texts: 0, text_words: vec![] };
        layout.place(columns);
        layout
    }
    /// This layout with a further column in words of its own: the words before stay as they are.
    #[must_use]
    pub fn extended(&self, column: KeyColumn) -> Self {
        let mut layout = self.clone();
        layout.place(&[column]);
        layout
    }
    /// A layout of a number of 32 bits and a value without NULLs: in one word where the value has 32 bits at most. The
    /// number is the lower half of the first word.
    pub fn numbered(value: KeyColumn) -> Self {
        let number = |ty| KeyColumn { ty, nullable: false };
        match value.ty.physical() {
            Physical::I32 | Physical::I16 | Physical::Bool | Physical::F32 => {
                KeyLayout::new(&[number(Type::Integer), value])
            }
            _ => KeyLayout::new(&[number(Type::Integer)]).extended(value),
        }
    }
    /// Words of a key.
    pub fn width(&self) -> usize {
        self.width
    }
    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }
    /// Number of text columns, each with a store of long texts.
    pub fn texts(&self) -> usize {
        self.texts
    }
    /// The type of a column's values.
    pub fn column_type(&self, column: usize) -> Type {
        self.columns[column].ty
    }

    fn place(&mut self, columns: &[KeyColumn]) {
        let from = self.columns.len();
        // Whole words first, then the small fields by first fit.
        for column in columns {
            let place = match column.ty.physical() {
                Physical::Bytes => {
                    self.texts += 1;
                    let word = self.take(2);
                    self.text_words.push(word);
                    Place::Text { word, text: self.texts - 1 }
                }
                Physical::I128 => Place::Wide { word: self.take(2) },
                Physical::I64 | Physical::F64 => Place::Bits { word: self.take(1), shift: 0, bits: 64 },
                _ => Place::Bits { word: usize::MAX, shift: 0, bits: 0 },
            };
            self.columns.push(Column { ty: column.ty, place, null: None });
        }
        let small_from = self.width;
        let mut free: Vec<u32> = vec![];
        let mut fit = |width: &mut usize, bits: u32| {
            let at = free.iter().position(|left| *left >= bits).unwrap_or_else(|| {
                free.push(64);
                *width += 1;
                free.len() - 1
            });
            free[at] -= bits;
            (small_from + at, 64 - free[at] - bits)
        };
        for wanted in [32, 16, 1] {
            for at in from..self.columns.len() {
                let bits = match self.columns[at].ty.physical() {
                    Physical::I32 | Physical::F32 => 32,
                    Physical::I16 => 16,
                    Physical::Bool => 1,
                    _ => continue,
                };
                if bits == wanted {
                    let (word, shift) = fit(&mut self.width, bits);
                    self.columns[at].place = Place::Bits { word, shift, bits };
                }
            }
        }
        for (at, column) in columns.iter().enumerate() {
            let text = column.ty.physical() == Physical::Bytes;
            if !text && (column.nullable || column.ty == Type::Null) {
                self.columns[from + at].null = Some(fit(&mut self.width, 1));
            }
        }
    }
    fn take(&mut self, words: usize) -> usize {
        self.width += words;
        self.width - words
    }

    /// Packs `vectors`, one a column, into `out`, and hashes them. Fails for a NULL in a column declared without.
    pub fn encode(&self, vectors: &[Vector], rows: usize, out: &mut KeyBatch) -> Result<()> {
        debug_assert_eq!(vectors.len(), self.columns.len());
        out.begin(self.width, rows);
        for (column, vector) in self.columns.iter().zip(vectors) {
            self.encode_column(column, vector, out)?;
        }
        out.hash();
        Ok(())
    }

    fn encode_column(&self, column: &Column, vector: &Vector, out: &mut KeyBatch) -> Result<()> {
        let flat = if vector.is_flat() { None } else { Some(vector.flatten()) };
        let vector = flat.as_ref().unwrap_or(vector);
        let nulls = vector.validity().filter(|v| v.null_count() > 0);
        if nulls.is_some() && column.null.is_none() && !matches!(column.place, Place::Text { .. }) {
            return Err(Error::internal(format!("NULL in a group key of type {} without NULLs", column.ty)));
        }
        let (words, width) = (&mut out.words, self.width);
        match (column.place, vector.data()) {
            (Place::Bits { word, shift, .. }, data) => {
                let mut at = Target { words: &mut words[word..], width, shift };
                match data {
                    Data::Bool(b) => at.put((0..b.len()).map(|row| u64::from(b.value(row)))),
                    Data::I16(v) => at.put(v.iter().map(|v| u64::from(*v as u16))),
                    Data::I32(v) => at.put(v.iter().map(|v| u64::from(*v as u32))),
                    Data::I64(v) if width == 1 && shift == 0 => {
                        for (word, value) in words.iter_mut().zip(v.iter()) {
                            *word = *value as u64;
                        }
                    }
                    Data::I64(v) => at.put(v.iter().map(|v| *v as u64)),
                    Data::F32(v) => at.put(v.iter().map(|v| u64::from(canonical_f32(*v)))),
                    Data::F64(v) => at.put(v.iter().map(|v| canonical_f64(*v))),
                    _ => return Err(mismatch(column.ty)),
                }
            }
            (Place::Wide { word }, Data::I128(v)) => {
                for (row, value) in v.iter().enumerate() {
                    words[row * width + word] = *value as u64;
                    words[row * width + word + 1] = (*value >> 64) as u64;
                }
            }
            (Place::Text { word, .. }, Data::Bytes(strings)) => {
                encode_text(strings, words, width, word);
                out.texts.push(strings.clone());
            }
            _ => return Err(mismatch(column.ty)),
        }
        if let Some(nulls) = nulls {
            mark_nulls(column, nulls, &mut out.words, width);
        }
        Ok(())
    }
}

fn mismatch(ty: Type) -> Error {
    Error::internal(format!("a group key does not have the form of {ty}"))
}

struct Target<'a> {
    words: &'a mut [u64],
    width: usize,
    shift: u32,
}

impl Target<'_> {
    #[inline(always)]
    fn put(&mut self, values: impl Iterator<Item = u64>) {
        for (word, value) in self.words.iter_mut().step_by(self.width).zip(values) {
            *word |= value << self.shift;
        }
    }
}

#[inline(always)]
pub(super) fn canonical_f64(value: f64) -> u64 {
    // Adding 0.0 turns -0 into 0.
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

#[inline(always)]
pub(super) fn canonical_f32(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

fn encode_text(strings: &Strings, words: &mut [u64], width: usize, word: usize) {
    let views: &[u128] = strings.views();
    for (row, view) in views.iter().enumerate() {
        let long = view_length(*view) > INLINE_BYTES;
        words[row * width + word] = *view as u64;
        words[row * width + word + 1] =
            if long { hash_bytes(strings.get(row)) } else { (*view >> 64) as u64 };
    }
}

fn mark_nulls(column: &Column, nulls: &NullBuffer, words: &mut [u64], width: usize) {
    let absent: BooleanBuffer = !nulls.inner();
    for row in absent.set_indices() {
        let row = &mut words[row * width..(row + 1) * width];
        match column.place {
            Place::Bits { word, shift, bits } => {
                row[word] &= !((u64::MAX >> (64 - bits)) << shift);
            }
            Place::Wide { word } => (row[word], row[word + 1]) = (0, 0),
            Place::Text { word, .. } => (row[word], row[word + 1]) = (NULL_TEXT, 0),
        }
        if let Some((word, shift)) = column.null {
            row[word] |= 1 << shift;
        }
    }
}
