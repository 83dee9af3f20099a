//! The columnar format of a body, the default.
//!
//! ```text
//!  body      parcels, each a multiple of 16 bytes, so that numbers in it are aligned
//!  parcel   | rows u32 | columns u32 | bytes u32, all of the parcel | 0 u32 |
//!            | descriptor, 8 bytes, of each column | column | column | ...
//!  descriptor| form u8 | width u8 | flags u8 | physical kind u8 | bytes u32, of the column |
//!  column    | head of its form | validity bits, where the flag says so, in words of 64 | data | to a multiple of 8 |
//!
//!  form         head                                 data
//!  0 null       -                                    -             every row is NULL
//!  1 constant   -                                    the value; of a string its size u32, 0 u32 and bytes
//!  2 narrow     base i64, or i128 of wide integers   code of `width` bytes a row: value = base + code
//!  3 raw        -                                    the values as they lie in memory, 16-byte ones aligned by 16
//!  4 bits       -                                    a bit a row, in words of 64
//!  5 strings    least size u32, bytes u32            size - least size in `width` bytes a row, then the bytes
//!  6 dictionary number u32, 0 u32                    place in the dictionary, `width` bytes a row
//! ```
//! Widths are 1, 2, 4 or 8 bytes; 0 where all are equal, then there is nothing per row. Validity is there only if a
//! picked row is NULL. A batch's columns are looked through once for their bounds, which serve every destination.
//!
//! Nested values and other byte strings travel as the engine holds them (`types::nested::encoding`): one form of bytes in
//! vectors, tables and on the wire. The reader walks them by their type before they are trusted.
//!
//! | file | holds |
//! | --- | --- |
//! | `write` | how a batch's columns are looked through and put into a message |
//! | `strings` | sizes and bytes of strings, both ways |
//! | `read` | how a body is checked and becomes batches, without a copy where it can |
//! | `dictionary` | which dictionaries a link has seen |

pub mod dictionary;
mod read;
mod strings;
mod write;

pub(crate) use read::sound;
pub use read::{Known, Unread, read};
pub(crate) use strings::put_long;
pub use write::{Assign, ColumnWriter};

use types::Physical;

/// Rows of a parcel, at most: what a constant stands for is bounded by it.
pub const PARCEL_ROWS_MAX: usize = 1 << 16;

pub(crate) const PARCEL_BYTES: usize = 16;
pub(crate) const DESCRIPTOR_BYTES: usize = 8;
const VALIDITY: u8 = 1;

/// How a column of a parcel is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Null,
    Constant,
    Narrow,
    Raw,
    Bits,
    Strings,
    Dictionary,
}

impl Form {
    const ALL: [Form; 7] =
        [Form::Null, Form::Constant, Form::Narrow, Form::Raw, Form::Bits, Form::Strings, Form::Dictionary];

    fn parse(byte: u8) -> Option<Form> {
        Form::ALL.get(usize::from(byte)).copied()
    }
}

/// The number of a physical kind in descriptors.
fn kind_number(physical: Physical) -> u8 {
    match physical {
        Physical::Bool => 0,
        Physical::I16 => 1,
        Physical::I32 => 2,
        Physical::I64 => 3,
        Physical::I128 => 4,
        Physical::F32 => 5,
        Physical::F64 => 6,
        Physical::Bytes => 7,
    }
}

/// The least width in bytes for codes up to `last`.
pub(crate) fn code_width(last: u128) -> usize {
    match last {
        0 => 0,
        1..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        0x1_0000_0000..=0xFFFF_FFFF_FFFF_FFFF => 8,
        _ => 16,
    }
}

/// Bytes of validity or Boolean bits of so many rows.
pub(crate) fn bit_bytes(rows: usize) -> usize {
    rows.div_ceil(64) * 8
}
