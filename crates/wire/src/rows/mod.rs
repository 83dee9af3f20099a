//! The row format of a body: the paper's (Rödiger et al., PVLDB 9(4), 2015, section 3.2.2, figure 8).
//!
//! ```text
//!  body   tuples, back to back
//!  tuple  | values that are never NULL and have a fixed width: by width, the widest first, then by schema |
//!         | of each nullable value of a fixed width: indicator u8, and if it is 1 the value |
//!         | of each string: indicator u8 if it may be NULL, and if it is not: size u32, bytes |
//! ```
//! Values are little endian; BOOLEAN is a byte. For the paper's `partsupp`: supplycost, partkey, suppkey | indicator,
//! availqty | size, comment. Where the paper orders fixed values by type, we order by width, which orders types of
//! different width as it does.
//!
//! The paper generates code for each schema. Here a schema is compiled once into a list of copiers, each a loop that the
//! compiler has made for one type ([`RowWriter`], [`RowReader`], in `generated`): nothing looks at a type while values
//! are copied. Beside it stands the interpreter that looks at each value's type ([`interpreted`]), as the baseline.

mod generated_read;
mod generated_write;
pub mod interpreted;

pub use generated_read::RowReader;
pub use generated_write::RowWriter;

use types::{Physical, Schema, Type};

/// Bytes of a string's size.
pub(crate) const SIZE_BYTES: usize = 4;

/// A value of fixed width that is never NULL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    pub(crate) column: usize,
    /// From the tuple's first byte.
    pub(crate) offset: usize,
}

/// Where the values of a tuple stand.
#[derive(Clone, Debug)]
pub struct RowLayout {
    pub(crate) types: Vec<Type>,
    pub(crate) fixed: Vec<Fixed>,
    pub(crate) fixed_bytes: usize,
    /// Columns of a fixed width that may be NULL.
    pub(crate) nullable: Vec<usize>,
    /// Columns of strings, and whether they may be NULL.
    pub(crate) strings: Vec<(usize, bool)>,
}

/// Bytes of a value of a fixed width in a tuple; `None` for strings.
pub(crate) fn fixed_width(ty: Type) -> Option<usize> {
    match ty.physical() {
        Physical::Bytes => None,
        physical => Some(physical.width()),
    }
}

impl RowLayout {
    /// The layout of a schema's tuples.
    pub fn new(schema: &Schema) -> RowLayout {
        let columns: Vec<(Type, bool)> = schema.fields().iter().map(|f| (f.ty, f.nullable)).collect();
        RowLayout::of_columns(&columns)
    }
    /// As `new`, of types and whether each may be NULL.
    pub fn of_columns(columns: &[(Type, bool)]) -> RowLayout {
        let places = || columns.iter().enumerate();
        let mut by_width: Vec<(usize, usize)> = places()
            .filter(|(_, (_, nullable))| !nullable)
            .filter_map(|(column, (ty, _))| Some((fixed_width(*ty)?, column)))
            .collect();
        by_width.sort_by_key(|(width, column)| (std::cmp::Reverse(*width), *column));
        let mut fixed_bytes = 0;
        let fixed = by_width.into_iter().map(|(width, column)| {
            fixed_bytes += width;
            Fixed { column, offset: fixed_bytes - width }
        });
        let fixed = fixed.collect();
        let is_nullable = |(column, (ty, nullable)): (usize, &(Type, bool))| {
            (*nullable && fixed_width(*ty).is_some()).then_some(column)
        };
        let is_string = |(column, (ty, nullable)): (usize, &(Type, bool))| {
            fixed_width(*ty).is_none().then_some((column, *nullable))
        };
        RowLayout {
            types: columns.iter().map(|(ty, _)| *ty).collect(),
            fixed,
            fixed_bytes,
            nullable: places().filter_map(is_nullable).collect(),
            strings: places().filter_map(is_string).collect(),
        }
    }
    /// Whether all tuples have the same length.
    pub fn is_fixed(&self) -> bool {
        self.nullable.is_empty() && self.strings.is_empty()
    }
    /// The types of the columns, in the schema's order.
    pub fn types(&self) -> &[Type] {
        &self.types
    }
}

/// A number as a tuple holds it.
pub(crate) trait Cell: Copy + Default + arrow_buffer::ArrowNativeType {
    const BYTES: usize;
    fn put(self, out: &mut [u8]);
    fn get(bytes: &[u8]) -> Self;
}
macro_rules! cell {
    ($($ty:ty),*) => {$(
        impl Cell for $ty {
            const BYTES: usize = size_of::<$ty>();
            #[inline(always)]
            fn put(self, out: &mut [u8]) {
                if let Some(out) = out.first_chunk_mut() {
                    *out = self.to_le_bytes();
                }
            }
            #[inline(always)]
            fn get(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or_else(Self::default, |raw| <$ty>::from_le_bytes(*raw))
            }
        }
    )*};
}
cell!(i16, i32, i64, i128, f32, f64);
