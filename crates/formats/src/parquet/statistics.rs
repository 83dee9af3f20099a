//! Statistics of row groups and pages as zones, and what of them can be believed.
//!
//! | doubt | what is done |
//! | --- | --- |
//! | the deprecated `min` and `max` | used for signed numbers only: their order of everything else was wrong |
//! | texts, and decimals in bytes, of a file that does not state its order | ignored |
//! | shortened texts | a bound all the same: the least is a prefix, the greatest is rounded up |
//! | floats | the greatest value is ignored, since NaN is greater than all and statistics do not count it; NaN is no
//! bound |
//! | unsigned integers | read as such; bounds from before their order was defined are ignored |
//! | least above greatest, bytes of another length, times in units that the type does not name | ignored |
//! | INT96, nested columns, and types not named below | ignored |

use ::parquet::basic::{ColumnOrder, ConvertedType, LogicalType, SortOrder, TimeUnit, Type as Physical};
use ::parquet::bloom_filter::Sbbf;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use arrow_schema::DataType;
use plan::Zone;
use types::{Type, Value};

use super::page_index::PageZone;
use crate::decode;
use crate::input::Input;

/// How a column's plain bytes become values of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Boolean,
    Signed,
    Unsigned,
    /// Milliseconds, of which ours are a thousand times as many.
    Milliseconds,
    Float,
    Double,
    /// Big-endian two's complement of any length.
    DecimalBytes,
    Bytes,
}

/// A leaf column whose statistics can be read.
#[derive(Clone, Copy)]
pub struct Readable {
    /// The leaf's number in the file's schema.
    pub leaf: usize,
    kind: Kind,
    ty: Type,
    /// The file states the order its bounds are in.
    order: Option<SortOrder>,
}

impl Readable {
    /// `None` for columns whose statistics cannot be used: nested ones and those of rare types.
    pub fn new(metadata: &ParquetMetaData, leaf: usize, arrow: &DataType, ty: Type) -> Option<Readable> {
        let file = metadata.file_metadata();
        let description = file.schema_descr().column(leaf);
        if description.max_rep_level() != 0
            || description.max_def_level() > 1
            || description.path().parts().len() != 1
        {
            return None;
        }
        let arrow = match arrow {
            DataType::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        let unit = match (description.logical_type_ref(), description.converted_type()) {
            (Some(LogicalType::Timestamp(stamp)), _) => Some(stamp.unit),
            (None, ConvertedType::TIMESTAMP_MICROS) => Some(TimeUnit::MICROS),
            (None, ConvertedType::TIMESTAMP_MILLIS) => Some(TimeUnit::MILLIS),
            _ => None,
        };
        let text = matches!(ty, Type::Text | Type::Bytea);
        let kind = match (description.physical_type(), arrow) {
            (Physical::BOOLEAN, DataType::Boolean) => Kind::Boolean,
            (
                Physical::INT32,
                DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Date32
                | DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..),
            )
            | (
                Physical::INT64,
                DataType::Int64
                | DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..),
            ) => Kind::Signed,
            (Physical::INT32, DataType::UInt8 | DataType::UInt16 | DataType::UInt32)
            | (Physical::INT64, DataType::UInt64) => Kind::Unsigned,
            (Physical::INT64, DataType::Timestamp(..)) => match unit {
                Some(TimeUnit::MICROS) => Kind::Signed,
                Some(TimeUnit::MILLIS) => Kind::Milliseconds,
                _ => return None,
            },
            (Physical::FLOAT, DataType::Float32) => Kind::Float,
            (Physical::DOUBLE, DataType::Float64) => Kind::Double,
            (
                Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY,
                DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..),
            ) => Kind::DecimalBytes,
            (
                Physical::BYTE_ARRAY,
                DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView,
            ) if text => Kind::Bytes,
            _ => return None,
        };
        let orders = file.column_orders();
        let order = match orders.and_then(|orders| orders.get(leaf)) {
            Some(ColumnOrder::TYPE_DEFINED_ORDER(order)) => Some(*order),
            _ => None,
        };
        Some(Readable { leaf, kind, ty, order })
    }

    /// Whether bounds are ordered as our values are. `old`: they stand in the deprecated fields.
    fn ordered(&self, old: bool) -> bool {
        let stated = match self.kind {
            Kind::Bytes | Kind::Unsigned => self.order == Some(SortOrder::UNSIGNED),
            Kind::DecimalBytes => self.order == Some(SortOrder::SIGNED),
            Kind::Boolean => self.order.is_some(),
            Kind::Signed | Kind::Milliseconds | Kind::Float | Kind::Double => return true,
        };
        stated && !old
    }

    fn value(&self, bytes: &[u8]) -> Option<Value> {
        let number = match self.kind {
            Kind::Boolean => return Some(Value::Bool(*bytes.first().filter(|b| **b < 2)? == 1)),
            Kind::Bytes => return Some(Value::Bytes(bytes.into())),
            Kind::Float => {
                let value = f32::from_le_bytes(bytes.try_into().ok()?);
                return (!value.is_nan()).then_some(Value::F32(value));
            }
            Kind::Double => {
                let value = f64::from_le_bytes(bytes.try_into().ok()?);
                return (!value.is_nan()).then_some(Value::F64(value));
            }
            Kind::DecimalBytes => {
                let first = *bytes.first().filter(|_| bytes.len() <= 16)?;
                let start = if first & 0x80 == 0 { 0i128 } else { -1 };
                bytes.iter().fold(start, |value, byte| value << 8 | i128::from(*byte))
            }
            Kind::Signed | Kind::Milliseconds | Kind::Unsigned => {
                let wide = match *bytes {
                    [a, b, c, d] if self.kind == Kind::Unsigned => {
                        i128::from(u32::from_le_bytes([a, b, c, d]))
                    }
                    [a, b, c, d] => i128::from(i32::from_le_bytes([a, b, c, d])),
                    _ => {
                        let raw: [u8; 8] = bytes.try_into().ok()?;
                        match self.kind {
                            Kind::Unsigned => i128::from(u64::from_le_bytes(raw)),
                            _ => i128::from(i64::from_le_bytes(raw)),
                        }
                    }
                };
                if self.kind == Kind::Milliseconds { wide * 1000 } else { wide }
            }
        };
        Value::from_i128(number, self.ty.physical())
    }

    fn zone(&self, min: Option<&[u8]>, max: Option<&[u8]>, null_count: Option<u64>, rows: u64) -> Zone {
        let (mut low, mut high) = (min.and_then(|b| self.value(b)), max.and_then(|b| self.value(b)));
        let upside_down = |low: &Option<Value>, high: &Option<Value>| match (low, high) {
            (Some(low), Some(high)) => low.total_cmp(high).is_gt(),
            _ => false,
        };
        if upside_down(&low, &high) {
            (low, high) = (None, None);
        }
        if matches!(self.kind, Kind::Float | Kind::Double) {
            high = None;
        }
        Zone { min: low, max: high, null_count: null_count.filter(|n| *n <= rows), rows }
    }

    /// What a row group's statistics say.
    pub fn of_chunk(&self, chunk: &ColumnChunkMetaData, rows: u64) -> Option<Zone> {
        let statistics = chunk.statistics()?;
        let (min, max) = match self.ordered(statistics.is_min_max_deprecated()) {
            true => (statistics.min_bytes_opt(), statistics.max_bytes_opt()),
            false => (None, None),
        };
        Some(self.zone(min, max, statistics.null_count_opt(), rows))
    }

    /// What the page index says of a page of so many rows.
    pub fn of_page(&self, page: &PageZone, rows: u64) -> Zone {
        if page.all_null {
            return Zone { min: None, max: None, null_count: Some(rows), rows };
        }
        if !self.ordered(false) {
            return Zone { min: None, max: None, null_count: page.null_count.filter(|n| *n < rows), rows };
        }
        // A page that has values besides NULL is not all NULL, whatever is counted.
        self.zone(Some(&page.min), Some(&page.max), page.null_count.filter(|n| *n < rows), rows)
    }

    /// The value as the writer hashed it for a Bloom filter; `None` where equal values may differ in their bytes.
    fn plain(&self, value: &Value, chunk: &ColumnChunkMetaData) -> Option<Vec<u8>> {
        match self.kind {
            Kind::Bytes => value.as_bytes().map(<[u8]>::to_vec),
            Kind::Signed | Kind::Unsigned | Kind::Milliseconds => {
                let mut number = value.as_i128()?;
                if self.kind == Kind::Milliseconds {
                    if number % 1000 != 0 {
                        return None;
                    }
                    number /= 1000;
                }
                Some(match chunk.column_type() {
                    Physical::INT32 => (number as i32).to_le_bytes().to_vec(),
                    _ => (number as i64).to_le_bytes().to_vec(),
                })
            }
            _ => None,
        }
    }

    /// Whether the chunk's Bloom filter, if it has one, lets the value through.
    pub fn may_contain(&self, input: &Input, chunk: &ColumnChunkMetaData, value: &Value) -> bool {
        if chunk.bloom_filter_offset().is_none() {
            return true;
        }
        let Some(bytes) = self.plain(value, chunk) else { return true };
        let answer = decode::guarded(&input.path, super::FORMAT, || {
            let filter =
                Sbbf::read_from_column_chunk(chunk, input).map_err(|e| super::damaged(&input.path, e))?;
            Ok(filter.is_none_or(|filter| filter.num_blocks() == 0 || filter.check(bytes.as_slice())))
        });
        // A filter that cannot be read filters nothing.
        answer.unwrap_or(true)
    }
}
