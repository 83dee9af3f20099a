//! Columns as the codes that their block holds, not decoded.
//!
//! Only a consumer that asked for codes gets them (an aggregation right above its scan); all other operators see
//! decoded vectors. `Vector::decoded` and every gathering decode.

use std::sync::Arc;

use arrow_buffer::ScalarBuffer;
use types::{Physical, Type};

use crate::{Data, Vector};

/// One code per row, in the width that the block uses.
#[derive(Clone, Debug)]
pub enum Codes {
    /// Codes of one byte.
    U8(ScalarBuffer<u8>),
    /// Codes of two bytes.
    U16(ScalarBuffer<u16>),
    /// Codes of four bytes.
    U32(ScalarBuffer<u32>),
}

/// How codes map to values.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// `base + code * step`, which fits the vector's type for every code up to the last.
    Line {
        /// The value of code 0.
        base: i64,
        /// The distance between the values of two codes that follow each other.
        step: i64,
    },
    /// The code is a row of this flat vector, which holds no NULL.
    Values(Arc<Vector>),
}

impl Meaning {
    /// Whether equal codes stand for equal values in both; `false` may only mean that this is not known.
    pub fn same(&self, other: &Meaning) -> bool {
        match (self, other) {
            (Meaning::Line { base: a, step: s }, Meaning::Line { base: b, step: t }) => a == b && s == t,
            (Meaning::Values(a), Meaning::Values(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// The codes of one column, with what they stand for.
#[derive(Clone, Debug)]
pub struct Coded {
    /// One code per row.
    pub codes: Codes,
    /// The value of each code.
    pub meaning: Meaning,
    /// Upper bound of the codes; smaller codes need not occur.
    pub last: u32,
}

impl Coded {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match &self.codes {
            Codes::U8(c) => c.len(),
            Codes::U16(c) => c.len(),
            Codes::U32(c) => c.len(),
        }
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of the codes alone, without the values that they stand for.
    pub fn bytes(&self) -> usize {
        match &self.codes {
            Codes::U8(c) => c.len(),
            Codes::U16(c) => c.len() * 2,
            Codes::U32(c) => c.len() * 4,
        }
    }
    /// `len` rows from `offset` on; the codes are shared.
    #[must_use]
    pub fn slice(&self, offset: usize, len: usize) -> Coded {
        let codes = match &self.codes {
            Codes::U8(c) => Codes::U8(c.slice(offset, len)),
            Codes::U16(c) => Codes::U16(c.slice(offset, len)),
            Codes::U32(c) => Codes::U32(c.slice(offset, len)),
        };
        Coded { codes, meaning: self.meaning.clone(), last: self.last }
    }
    /// The code of a row, widened; panics when `row` is out of range.
    #[inline]
    pub fn code(&self, row: usize) -> u32 {
        match &self.codes {
            Codes::U8(c) => u32::from(c[row]),
            Codes::U16(c) => u32::from(c[row]),
            Codes::U32(c) => c[row],
        }
    }
    /// The least and the greatest value that a code up to `last` stands for; `None` unless the codes lie on a line.
    pub fn bounds(&self) -> Option<(i128, i128)> {
        let Meaning::Line { base, step } = self.meaning else { return None };
        let ends = (i128::from(base), i128::from(base) + i128::from(step) * i128::from(self.last));
        Some((ends.0.min(ends.1), ends.0.max(ends.1)))
    }
    /// Values of type `ty` of all rows: flat numbers, strings as a dictionary.
    pub(crate) fn decode(&self, ty: Type) -> Data {
        match &self.codes {
            Codes::U8(c) => self.decode_codes(ty, c.iter().map(|c| u32::from(*c))),
            Codes::U16(c) => self.decode_codes(ty, c.iter().map(|c| u32::from(*c))),
            Codes::U32(c) => self.decode_codes(ty, c.iter().copied()),
        }
    }
    /// As `decode`, for the rows at `indices` alone.
    pub(crate) fn decode_rows(&self, ty: Type, indices: &[u32]) -> Data {
        match &self.codes {
            Codes::U8(c) => self.decode_codes(ty, indices.iter().map(|i| u32::from(c[*i as usize]))),
            Codes::U16(c) => self.decode_codes(ty, indices.iter().map(|i| u32::from(c[*i as usize]))),
            Codes::U32(c) => self.decode_codes(ty, indices.iter().map(|i| c[*i as usize])),
        }
    }
    fn decode_codes(&self, ty: Type, codes: impl Iterator<Item = u32>) -> Data {
        match &self.meaning {
            Meaning::Line { base, step } => {
                let values = codes.map(|c| base.wrapping_add(i64::from(c).wrapping_mul(*step)));
                match ty.physical() {
                    Physical::I16 => Data::I16(values.map(|v| v as i16).collect::<Vec<_>>().into()),
                    Physical::I32 => Data::I32(values.map(|v| v as i32).collect::<Vec<_>>().into()),
                    _ => Data::I64(values.collect::<Vec<_>>().into()),
                }
            }
            Meaning::Values(values) => {
                let codes: Vec<u32> = codes.collect();
                if ty.physical() == Physical::Bytes {
                    let values = match values.ty() == ty {
                        true => values.clone(),
                        false => Arc::new((**values).clone().with_type(ty)),
                    };
                    return Data::Dictionary { codes: codes.into(), values };
                }
                values.gather(&codes).into_data()
            }
        }
    }
}
