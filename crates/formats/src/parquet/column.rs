//! One flat column of one row group, page by page, straight into our vectors.
//!
//! Decompression and page headers are the `parquet` crate's; levels, indices and values are decoded here, because the
//! crate goes by way of Arrow arrays: a dictionary's strings are repeated for every row, and every value is copied
//! once more. Strings whose pages are all indices come out as dictionary vectors that share the chunk's dictionary.
//! What is not decoded here (nested columns, rare types and encodings) is left to the crate.
//!
//! | physical type | Arrow type | vector |
//! | --- | --- | --- |
//! | INT32 | Int32, Date32 | 32 bits |
//! | INT32 | Int16, Int8, UInt8 | 16 bits |
//! | INT32 | Decimal32, Decimal64 | 64 bits |
//! | INT64 | Int64, Decimal64, Time64(us), Timestamp(us) | 64 bits |
//! | FLOAT, DOUBLE | Float32, Float64 | the same |
//! | BYTE_ARRAY | Utf8View, BinaryView | views over the pages |

use std::sync::Arc;

use ::parquet::basic::{Encoding, Type as Physical};
use ::parquet::column::page::{Page, PageReader};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::serialized_reader::SerializedPageReader;
use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use types::Type;
use vector::{Data, Strings, Vector};

use super::levels::Levels;
use super::runs::Runs;
use super::values::{Double, Fixed, Float, Int32, Int32As16, Int32As64, Int64, Values, buffer_of, is_text};
use crate::input::Input;

/// Why a chunk cannot be read; the caller knows the file's name.
pub type Fault = String;

/// How a column's values are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Int32,
    Int32As16,
    Int32As64,
    Int64,
    Float,
    Double,
    Strings { text: bool },
}

/// The form of a column chunk that is decoded here; `None` for what is left to the crate.
pub fn form_of(chunk: &ColumnChunkMetaData, arrow: &DataType) -> Option<Form> {
    let description = chunk.column_descr();
    if description.max_rep_level() != 0
        || description.max_def_level() > 1
        || description.path().parts().len() != 1
    {
        return None;
    }
    let known = |e: Encoding| {
        #[allow(deprecated, reason = "old files name it, for levels that are empty or one bit wide")]
        let levels = Encoding::BIT_PACKED;
        let values = [Encoding::PLAIN, Encoding::RLE, Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY];
        values.contains(&e) || e == levels
    };
    if !chunk.encodings().all(known) {
        return None;
    }
    Some(match (chunk.column_type(), arrow) {
        (Physical::INT32, DataType::Int32 | DataType::Date32) => Form::Int32,
        (Physical::INT32, DataType::Int16 | DataType::Int8 | DataType::UInt8) => Form::Int32As16,
        (Physical::INT32, DataType::Decimal32(..) | DataType::Decimal64(..)) => Form::Int32As64,
        (
            Physical::INT64,
            DataType::Int64
            | DataType::Decimal64(..)
            | DataType::Time64(TimeUnit::Microsecond)
            | DataType::Timestamp(TimeUnit::Microsecond, _),
        ) => Form::Int64,
        (Physical::FLOAT, DataType::Float32) => Form::Float,
        (Physical::DOUBLE, DataType::Float64) => Form::Double,
        (Physical::BYTE_ARRAY, DataType::Utf8View) => Form::Strings { text: true },
        (Physical::BYTE_ARRAY, DataType::BinaryView) => Form::Strings { text: false },
        _ => return None,
    })
}

/// The decoded dictionary of a chunk.
enum Dictionary {
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Flat, without NULL.
    Strings(Arc<Vector>),
}

/// A type of values of fixed width in our vectors.
trait Item: Copy + Default {
    fn data(values: Vec<Self>) -> Data;
    fn keep(values: Vec<Self>) -> Dictionary;
    fn kept(dictionary: &Dictionary) -> Option<&[Self]>;
}

macro_rules! item {
    ($ty:ty, $variant:ident) => {
        impl Item for $ty {
            fn data(values: Vec<Self>) -> Data {
                Data::$variant(values.into())
            }
            fn keep(values: Vec<Self>) -> Dictionary {
                Dictionary::$variant(values)
            }
            fn kept(dictionary: &Dictionary) -> Option<&[Self]> {
                match dictionary {
                    Dictionary::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}
item!(i16, I16);
item!(i32, I32);
item!(i64, I64);
item!(f32, F32);
item!(f64, F64);

/// The page that is being read.
struct OpenPage {
    /// Rows not yet read, NULLs included.
    left: usize,
    levels: Levels,
    values: Values,
    /// The bytes that `values` lie in.
    bytes: Bytes,
}

/// A column chunk and how far it has been read.
pub struct ColumnChunk {
    pages: SerializedPageReader<Input>,
    form: Form,
    ty: Type,
    optional: bool,
    /// Rows of the row group; a dictionary of nearly as many values is not worth keeping as one.
    rows: usize,
    dictionary: Option<Dictionary>,
    page: Option<OpenPage>,
}

fn fault(e: &ParquetError) -> Fault {
    e.to_string()
}

const CUT: &str = "a page is damaged";

impl ColumnChunk {
    /// Opens column `leaf` of a row group, as vectors of `ty`.
    pub fn open(
        input: &Input,
        group: &RowGroupMetaData,
        leaf: usize,
        form: Form,
        ty: Type,
    ) -> Result<ColumnChunk, Fault> {
        let chunk = group.column(leaf);
        let rows = group.num_rows().max(0) as usize;
        let pages =
            SerializedPageReader::new(Arc::new(input.clone()), chunk, rows, None).map_err(|e| fault(&e))?;
        let optional = chunk.column_descr().max_def_level() > 0;
        Ok(ColumnChunk { pages, form, ty, optional, rows, dictionary: None, page: None })
    }

    /// Passes over the next `rows` rows; pages that hold no others are not decompressed.
    pub fn skip(&mut self, mut rows: usize) -> Result<(), Fault> {
        while rows > 0 {
            if let Some(page) = &mut self.page {
                let count = rows.min(page.left);
                let mut validity = NullBufferBuilder::new(0);
                let present = page.levels.take(count, &mut validity).ok_or(CUT)?;
                page.values.skip(present, self.form.width()).ok_or(CUT)?;
                page.left -= count;
                rows -= count;
                if page.left == 0 {
                    self.page = None;
                }
                continue;
            }
            let next = self.pages.peek_next_page().map_err(|e| fault(&e))?.ok_or("it has too few pages")?;
            match next.num_rows.or(next.num_levels) {
                Some(count) if !next.is_dict && count <= rows => {
                    self.pages.skip_next_page().map_err(|e| fault(&e))?;
                    rows -= count;
                }
                _ => self.next_page()?,
            }
        }
        Ok(())
    }

    /// The next `rows` rows.
    pub fn read(&mut self, rows: usize) -> Result<Vector, Fault> {
        match self.form {
            Form::Int32 => self.read_fixed::<Int32>(rows),
            Form::Int32As16 => self.read_fixed::<Int32As16>(rows),
            Form::Int32As64 => self.read_fixed::<Int32As64>(rows),
            Form::Int64 => self.read_fixed::<Int64>(rows),
            Form::Float => self.read_fixed::<Float>(rows),
            Form::Double => self.read_fixed::<Double>(rows),
            Form::Strings { .. } => self.read_strings(rows),
        }
    }

    fn read_fixed<F: Fixed<Out: Item>>(&mut self, rows: usize) -> Result<Vector, Fault> {
        let mut values: Vec<F::Out> = Vec::with_capacity(rows);
        let mut validity = NullBufferBuilder::new(rows);
        while values.len() < rows {
            let Some(page) = &mut self.page else {
                self.next_page()?;
                continue;
            };
            let count = page.left.min(rows - values.len());
            let present = page.levels.take(count, &mut validity).ok_or(CUT)?;
            let dictionary = self.dictionary.as_ref().and_then(F::Out::kept).unwrap_or(&[]);
            page.values.append_fixed::<F>(present, dictionary, &mut values).ok_or(CUT)?;
            spread(&mut values, count, present, &validity);
            page.left -= count;
            if page.left == 0 {
                self.page = None;
            }
        }
        Ok(Vector::new(self.ty, F::Out::data(values), nulls_of(validity)))
    }

    /// Codes while all pages are indices and the dictionary is worth it, views otherwise.
    fn read_strings(&mut self, rows: usize) -> Result<Vector, Fault> {
        let mut validity = NullBufferBuilder::new(rows);
        let mut codes: Vec<u32> = Vec::new();
        let mut views: Vec<u128> = Vec::new();
        // Views into the dictionary say buffer 0.
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut flat = false;
        let mut done = 0;
        while done < rows {
            let Some(page) = &mut self.page else {
                self.next_page()?;
                continue;
            };
            let count = page.left.min(rows - done);
            let present = page.levels.take(count, &mut validity).ok_or(CUT)?;
            let words = match &self.dictionary {
                Some(Dictionary::Strings(words)) => Some(words),
                _ => None,
            };
            let (strings, bound) = match words.map(|words| words.data()) {
                Some(Data::Bytes(strings)) => (Some(strings), strings.len()),
                _ => (None, 0),
            };
            let keep_codes = matches!(page.values, Values::Indices(_)) && bound > 0 && bound <= self.rows / 2;
            if !flat && !keep_codes {
                flat = true;
                views.reserve(rows);
                buffers.extend(strings.and_then(|s| s.buffers().first()).cloned());
                if buffers.is_empty() {
                    buffers.push(Buffer::default());
                }
                if let Some(strings) = strings {
                    views.extend(codes.iter().map(|code| strings.views()[*code as usize]));
                }
            }
            if flat {
                if matches!(page.values, Values::Plain { .. }) {
                    buffers.push(buffer_of(&page.bytes));
                }
                let words: &[u128] = strings.map_or(&[], |s| s.views());
                let number = (buffers.len() - 1) as u32;
                page.values.append_views(present, words, number, &mut views).ok_or(CUT)?;
                spread(&mut views, count, present, &validity);
            } else {
                page.values.append_codes(present, bound, &mut codes).ok_or(CUT)?;
                spread(&mut codes, count, present, &validity);
            }
            done += count;
            page.left -= count;
            if page.left == 0 {
                self.page = None;
            }
        }
        let nulls = nulls_of(validity);
        if !flat && let Some(Dictionary::Strings(words)) = &self.dictionary {
            return Ok(Vector::dictionary(codes.into(), words.clone(), nulls));
        }
        let strings = Strings::from_trusted(views.into(), buffers.into());
        Ok(Vector::new(self.ty, Data::Bytes(strings), nulls))
    }

    /// Reads on until a data page is open that has rows.
    fn next_page(&mut self) -> Result<(), Fault> {
        loop {
            let page = self.pages.get_next_page().map_err(|e| fault(&e))?;
            match page.ok_or("a row group has too few rows")? {
                Page::DictionaryPage { buf, num_values, encoding, .. } => {
                    if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                        return Err(format!("a dictionary in encoding {encoding} is not possible"));
                    }
                    if self.dictionary.is_some() {
                        return Err("a column has two dictionaries".into());
                    }
                    self.dictionary = Some(self.decode_dictionary(buf, num_values as usize)?);
                }
                Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                    let rows = num_values as usize;
                    let (levels, bytes) = self.levels_of_first_version(buf, rows, def_level_encoding)?;
                    self.page = Some(self.open_page(rows, levels, bytes, encoding)?);
                }
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    ..
                } => {
                    let from = rep_levels_byte_len as usize;
                    let to = from + def_levels_byte_len as usize;
                    if to > buf.len() {
                        return Err(CUT.into());
                    }
                    let levels = match self.optional {
                        true => Levels::Runs(Runs::new(buf.slice(from..to), 1).ok_or(CUT)?),
                        false => Levels::Required,
                    };
                    self.page =
                        Some(self.open_page(num_values as usize, levels, buf.slice(to..), encoding)?);
                }
            }
            if self.page.as_ref().is_some_and(|page| page.left > 0) {
                return Ok(());
            }
            self.page = None;
        }
    }

    /// Levels and values of a page of version 1, where the levels come first with their length.
    fn levels_of_first_version(
        &self,
        bytes: Bytes,
        rows: usize,
        encoding: Encoding,
    ) -> Result<(Levels, Bytes), Fault> {
        if !self.optional {
            return Ok((Levels::Required, bytes));
        }
        if encoding != Encoding::RLE {
            let length = rows.div_ceil(8);
            if length > bytes.len() {
                return Err(CUT.into());
            }
            return Ok((Levels::Bits { bytes: bytes.slice(..length), next: 0 }, bytes.slice(length..)));
        }
        let length = bytes.first_chunk::<4>().map(|raw| u32::from_le_bytes(*raw) as usize).ok_or(CUT)?;
        let end = length.checked_add(4).filter(|end| *end <= bytes.len()).ok_or(CUT)?;
        Ok((Levels::Runs(Runs::new(bytes.slice(4..end), 1).ok_or(CUT)?), bytes.slice(end..)))
    }

    fn open_page(
        &self,
        rows: usize,
        levels: Levels,
        bytes: Bytes,
        encoding: Encoding,
    ) -> Result<OpenPage, Fault> {
        let values = match encoding {
            Encoding::PLAIN => {
                if self.form == (Form::Strings { text: true }) && !is_text(&bytes, rows) {
                    return Err("a text is not UTF-8".into());
                }
                Values::Plain { bytes: bytes.clone(), at: 0 }
            }
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                // A page of nothing but NULL may have no bytes at all.
                let width = u32::from(bytes.first().copied().unwrap_or(0));
                let runs = Runs::new(bytes.slice(bytes.len().min(1)..), width);
                Values::Indices(runs.ok_or("dictionary indices are wider than 32 bits")?)
            }
            other => return Err(format!("encoding {other} was not announced")),
        };
        Ok(OpenPage { left: rows, levels, values, bytes })
    }

    fn decode_dictionary(&self, bytes: Bytes, count: usize) -> Result<Dictionary, Fault> {
        fn fixed<F: Fixed<Out: Item>>(bytes: Bytes, count: usize) -> Option<Dictionary> {
            // Not more than the page can hold, whatever its header claims.
            let mut values = Vec::with_capacity(count.min(bytes.len() / F::BYTES));
            Values::Plain { bytes, at: 0 }.append_fixed::<F>(count, &[], &mut values)?;
            Some(F::Out::keep(values))
        }
        match self.form {
            Form::Int32 => fixed::<Int32>(bytes, count),
            Form::Int32As16 => fixed::<Int32As16>(bytes, count),
            Form::Int32As64 => fixed::<Int32As64>(bytes, count),
            Form::Int64 => fixed::<Int64>(bytes, count),
            Form::Float => fixed::<Float>(bytes, count),
            Form::Double => fixed::<Double>(bytes, count),
            Form::Strings { text } => {
                if text && !is_text(&bytes, count) {
                    return Err("a text is not UTF-8".into());
                }
                let buffer = buffer_of(&bytes);
                let mut views = Vec::with_capacity(count.min(bytes.len() / 4));
                let read = Values::Plain { bytes, at: 0 }.append_views(count, &[], 0, &mut views);
                read.map(|()| {
                    let strings = Strings::from_trusted(views.into(), [buffer].into());
                    Dictionary::Strings(Arc::new(Vector::new(self.ty, Data::Bytes(strings), None)))
                })
            }
        }
        .ok_or_else(|| "a dictionary is damaged".into())
    }
}

impl Form {
    /// Bytes of a plain value in the file; byte strings have no common one.
    fn width(self) -> Option<usize> {
        match self {
            Form::Int32 | Form::Int32As16 | Form::Int32As64 | Form::Float => Some(4),
            Form::Int64 | Form::Double => Some(8),
            Form::Strings { .. } => None,
        }
    }
}

fn nulls_of(mut validity: NullBufferBuilder) -> Option<NullBuffer> {
    validity.finish().filter(|nulls| nulls.null_count() > 0)
}

/// Moves the last `present` values to the valid ones of the last `rows` rows, and puts defaults where NULLs are.
fn spread<T: Copy + Default>(values: &mut Vec<T>, rows: usize, present: usize, validity: &NullBufferBuilder) {
    if present == rows {
        return;
    }
    let begin = values.len() - present;
    values.resize(begin + rows, T::default());
    let (mut from, first) = (begin + present, validity.len() - rows);
    for row in (0..rows).rev() {
        // From the end, so that no value is overwritten before it is moved.
        if validity.is_valid(first + row) {
            from -= 1;
            values[begin + row] = values[from];
        } else {
            values[begin + row] = T::default();
        }
    }
}
