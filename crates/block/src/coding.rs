//! Layouts and codings by name, and typed views of coded and plain columns.
//!
//! A block's layout is chosen by the table's options, the coding of each column by the encoder, block by block.
//! Operators that work on codes match on `Coding` and take `CodeSlice` or `PlainSlice`, which borrow the block's
//! memory: they hold one entry per row, NULL rows included, whose entry is 0. Validity is asked of the block.

/// How a block lays its tuples out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LayoutKind {
    /// Row after row, all fields of fixed width; no strings.
    PackedRowStore,
    /// Row after row; strings lie in a heap, the rows' fields say where.
    SplitRowStore,
    /// As the split row store, with every column coded as suits it best: codes stand in the rows.
    CompressedRowStore,
    /// One stripe a column, values as they are.
    ColumnStore,
    /// One stripe a column, each coded as suits it best.
    #[default]
    CompressedColumnStore,
}

impl LayoutKind {
    /// Every layout, each once.
    pub const ALL: [LayoutKind; 5] = [
        LayoutKind::ColumnStore,
        LayoutKind::CompressedColumnStore,
        LayoutKind::PackedRowStore,
        LayoutKind::SplitRowStore,
        LayoutKind::CompressedRowStore,
    ];
    /// The name in SQL and in catalog files; `from_name` reads it.
    pub fn name(self) -> &'static str {
        match self {
            LayoutKind::ColumnStore => "column",
            LayoutKind::CompressedColumnStore => "compressed_column",
            LayoutKind::PackedRowStore => "packed_row",
            LayoutKind::SplitRowStore => "split_row",
            LayoutKind::CompressedRowStore => "compressed_row",
        }
    }
    /// The layout that WITH (layout = ...) names, in any case; `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "column" | "column_store" | "columnstore" => LayoutKind::ColumnStore,
            "compressed_column" | "compressed_column_store" | "compressed" => {
                LayoutKind::CompressedColumnStore
            }
            "packed_row" | "packed_row_store" => LayoutKind::PackedRowStore,
            // The row store that takes every type.
            "row" | "row_store" | "split_row" | "split_row_store" => LayoutKind::SplitRowStore,
            "compressed_row" | "compressed_row_store" => LayoutKind::CompressedRowStore,
            _ => return None,
        })
    }
    /// Whether the encoder may choose codings.
    pub fn compresses(self) -> bool {
        matches!(self, LayoutKind::CompressedColumnStore | LayoutKind::CompressedRowStore)
    }
    /// Whether the fields of a row lie side by side.
    pub fn is_row_store(self) -> bool {
        !matches!(self, LayoutKind::ColumnStore | LayoutKind::CompressedColumnStore)
    }
    pub(crate) fn tag(self) -> u32 {
        match self {
            LayoutKind::ColumnStore => 0,
            LayoutKind::CompressedColumnStore => 1,
            LayoutKind::PackedRowStore => 2,
            LayoutKind::SplitRowStore => 3,
            LayoutKind::CompressedRowStore => 4,
        }
    }
    pub(crate) fn from_tag(tag: u32) -> Option<Self> {
        LayoutKind::ALL.into_iter().find(|kind| kind.tag() == tag)
    }
}

/// How one column of one block is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Values as they are; strings as offsets and a heap.
    Plain,
    /// Booleans, eight to a byte.
    Bits,
    /// `width`-byte ranks in a sorted list of `size` distinct values.
    Dictionary {
        /// Bytes of a code: 1, 2 or 4.
        width: u8,
        /// Distinct values in the dictionary.
        size: u32,
    },
    /// `value = base + code * step`, codes of `width` bytes. `step` is 1 unless every value is a multiple apart.
    Truncated {
        /// Bytes of a code: 1, 2 or 4.
        width: u8,
        /// The value of code 0.
        base: i128,
        /// The distance between the values of two codes that follow each other.
        step: i128,
    },
}

impl Coding {
    /// Bytes of one code; `None` when the column is not coded.
    pub fn code_width(self) -> Option<u8> {
        match self {
            Coding::Dictionary { width, .. } | Coding::Truncated { width, .. } => Some(width),
            Coding::Plain | Coding::Bits => None,
        }
    }
    /// For display: `dictionary(25) in 1`, `truncated to 2, step 100`; widths are bytes.
    pub fn name(self) -> String {
        match self {
            Coding::Plain => "plain".into(),
            Coding::Bits => "bits".into(),
            Coding::Dictionary { width, size } => format!("dictionary({size}) in {width}"),
            Coding::Truncated { width, step: 1, .. } => format!("truncated to {width}"),
            Coding::Truncated { width, step, .. } => format!("truncated to {width}, step {step}"),
        }
    }
}

/// The codes of a whole column. NULL rows hold code 0.
#[derive(Clone, Copy, Debug)]
pub enum Codes<'a> {
    /// Codes of one byte.
    U8(&'a [u8]),
    /// Codes of two bytes.
    U16(&'a [u16]),
    /// Codes of four bytes.
    U32(&'a [u32]),
}

impl Codes<'_> {
    /// One code per row of the block.
    pub fn len(&self) -> usize {
        match self {
            Codes::U8(c) => c.len(),
            Codes::U16(c) => c.len(),
            Codes::U32(c) => c.len(),
        }
    }
    /// Whether the block has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The code of a row, widened; panics beyond the last row.
    #[inline]
    pub fn get(&self, row: usize) -> u32 {
        match self {
            Codes::U8(c) => u32::from(c[row]),
            Codes::U16(c) => u32::from(c[row]),
            Codes::U32(c) => c[row],
        }
    }
}

/// A coded column: its codes and what they mean.
#[derive(Clone, Copy, Debug)]
pub struct CodeSlice<'a> {
    /// One per row.
    pub codes: Codes<'a>,
    /// Dictionary or truncated.
    pub coding: Coding,
}

impl CodeSlice<'_> {
    /// Base and step of a truncated column whose values fit 64 bits: `value = base + code * step`.
    pub fn base_and_step(&self) -> Option<(i64, i64)> {
        match self.coding {
            Coding::Truncated { base, step, .. } => {
                Some((i64::try_from(base).ok()?, i64::try_from(step).ok()?))
            }
            _ => None,
        }
    }
}

/// The values of a whole uncoded numeric column. NULL rows hold zero.
#[derive(Clone, Copy, Debug)]
pub enum PlainSlice<'a> {
    /// SMALLINT and narrower integers.
    I16(&'a [i16]),
    /// INTEGER, dates, and months.
    I32(&'a [i32]),
    /// BIGINT, times, and decimals of at most 18 digits.
    I64(&'a [i64]),
    /// Wider integers and decimals.
    I128(&'a [i128]),
    /// REAL.
    F32(&'a [f32]),
    /// DOUBLE PRECISION.
    F64(&'a [f64]),
}
