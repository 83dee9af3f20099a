//! Reading a unit: windows of rows whose columns are decoded when they are asked for.
//!
//! ```text
//!  row group  |····########|····|######··|     ranges that pruning left
//!  windows         [--][--]      [--]          at most `batch_rows` rows of one range
//!  column a        read read     read          a filter's
//!  column b        ---- read     ----          only where rows are left; what lies between is passed over at the next
//!                                              read, page by page without decompressing where that is possible
//! ```

use std::ops::Range;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use arrow_array::{Array, RecordBatch};
use types::{Error, Result};
use vector::{Batch, Vector, arrow};

use super::column::{ColumnChunk, Form};
use super::{FORMAT, OneFile, ParquetFiles, Unit, damaged, interval, uuid, variant};
use crate::input::Input;
use crate::{Window, decode};

/// Between rows that are wanted, so many that are not are passed over instead of being decoded.
const GAP_ROWS: u32 = 512;

/// Columns of a remote row group are fetched together up to this; in a larger one each column is fetched on its first
/// use.
const FETCHED_BYTES_MAX: u64 = 64 << 20;

/// A column that is decoded here, and the row of the group it stands at.
struct OwnColumn {
    leaf: usize,
    form: Form,
    chunk: Option<ColumnChunk>,
    at: usize,
}

/// The columns that are left to the crate: decoded together, window by window.
struct Foreign {
    columns: Vec<usize>,
    /// The crate's reader of the present range, and how many windows were taken from it.
    reader: Option<ParquetRecordBatchReader>,
    taken: usize,
    current: Option<RecordBatch>,
}

struct UnitWindow<'a> {
    files: &'a ParquetFiles,
    file: &'a OneFile,
    /// The file, with what of the group was fetched beforehand.
    input: Input,
    group: usize,
    /// Rows of the groups before.
    rows_before: u64,
    /// The distinct file columns, ascending, each ours or (`None`) the crate's.
    order: Vec<usize>,
    own: Vec<Option<OwnColumn>>,
    foreign: Foreign,
    range: Range<usize>,
    /// The window's number within the range, and its rows in the group.
    number: usize,
    rows: Range<usize>,
    /// By distinct column: what was fetched of the window, and where it begins in it.
    fetched: Vec<Option<(usize, Vector)>>,
}

impl ParquetFiles {
    /// Shows the unit's rows to `visit`, range by range in windows of at most `batch_rows`, until it returns false.
    pub(super) fn scan_unit(
        &self,
        unit: &Unit,
        visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>,
    ) -> Result<()> {
        let file = &self.files[unit.file];
        let mut order: Vec<usize> = self.columns.clone();
        order.sort_unstable();
        order.dedup();
        let forms = self.own_forms(file, unit.group, &order);
        let foreign =
            order.iter().zip(&forms).filter(|(_, form)| form.is_none()).map(|(column, _)| *column).collect();
        let own = |form: &Option<(usize, Form)>| {
            form.map(|(leaf, form)| OwnColumn { leaf, form, chunk: None, at: 0 })
        };
        let mut window = UnitWindow {
            files: self,
            file,
            input: file.input.clone(),
            group: unit.group,
            rows_before: file.metadata.metadata().row_groups()[..unit.group]
                .iter()
                .map(|group| group.num_rows().max(0) as u64)
                .fold(0, u64::saturating_add),
            own: forms.iter().map(own).collect(),
            fetched: vec![None; order.len()],
            order,
            foreign: Foreign { columns: foreign, reader: None, taken: 0, current: None },
            range: 0..0,
            number: 0,
            rows: 0..0,
        };
        for range in &unit.ranges {
            window.range = range.clone();
            window.foreign.reader = None;
            window.foreign.taken = 0;
            let mut from = range.start;
            while from < range.end {
                let to = (from + self.batch_rows).min(range.end);
                window.rows = from..to;
                window.number = (from - range.start) / self.batch_rows;
                window.fetched.fill(None);
                if !visit(&mut window)? {
                    return Ok(());
                }
                from = to;
            }
        }
        Ok(())
    }
}

impl UnitWindow<'_> {
    /// Bytes of some columns' chunks, as far as the file has them.
    fn ranges(&self, columns: &[usize]) -> Result<Vec<Range<u64>>> {
        let leaves = self.file.metadata.parquet_schema();
        let chunks = self.file.metadata.metadata().row_group(self.group).columns().iter().enumerate();
        let chunks = chunks.filter(|(leaf, _)| columns.contains(&leaves.get_column_root_idx(*leaf)));
        let file_length = self.input.length;
        let range = |(start, length): (u64, u64)| start..start.saturating_add(length).min(file_length);
        // The crate panics at negative places.
        decode::guarded(&self.file.input.path, FORMAT, || {
            Ok(chunks.map(|(_, c)| range(c.byte_range())).collect())
        })
    }

    /// Before these columns are read from another machine, fetches them: requests take long, and go side by side.
    /// Columns that conditions ask of come first, and the others together when one of them is wanted, if any is.
    fn fetch_ahead(&mut self, wanted: &[usize]) -> Result<()> {
        if !self.input.is_remote() {
            return Ok(());
        }
        let asked = self.files.asked.get().map_or(&[][..], Vec::as_slice);
        let first = wanted.iter().all(|column| asked.contains(column));
        let together: Vec<usize> =
            self.order.iter().copied().filter(|column| !first || asked.contains(column)).collect();
        let mut ranges = self.ranges(&together)?;
        if ranges.iter().map(|r| r.end.saturating_sub(r.start)).sum::<u64>() > FETCHED_BYTES_MAX {
            ranges = self.ranges(wanted)?;
        }
        self.input = self.input.with_at_hand(&ranges)?;
        Ok(())
    }

    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        damaged(&self.file.input.path, what)
    }

    /// The place of a column of `open` among the distinct ones.
    fn place(&self, column: usize) -> Result<usize> {
        let file_column =
            self.files.columns.get(column).ok_or_else(|| self.damaged("a column is missing"))?;
        self.order.binary_search(file_column).map_err(|_| self.damaged("a column is missing"))
    }

    /// Decodes rows of the window of a column of ours, which must not lie before those decoded last.
    fn decode_own(&mut self, place: usize, rows: Range<usize>) -> Result<Vector> {
        if self.own[place].as_ref().is_some_and(|own| own.chunk.is_none()) {
            self.fetch_ahead(&[self.order[place]])?;
        }
        let path: &str = &self.file.input.path;
        let metadata = self.file.metadata.metadata().row_group(self.group);
        let arrow_type = self.file.metadata.schema().field(self.order[place]).data_type();
        let from = self.rows.start + rows.start;
        let own = self.own[place].as_mut();
        decode::guarded(path, FORMAT, || {
            let fail = |e: &dyn std::fmt::Display| damaged(path, e);
            let own = own.ok_or_else(|| fail(&"a column is missing"))?;
            let chunk = match &mut own.chunk {
                Some(chunk) => chunk,
                None => {
                    let ty = arrow::type_from_arrow(arrow_type).ok_or_else(|| decode::changed(path))?;
                    let input = &self.input;
                    let opened = ColumnChunk::open(input, metadata, own.leaf, own.form, ty);
                    own.chunk.insert(opened.map_err(|e| fail(&e))?)
                }
            };
            if from < own.at {
                return Err(Error::internal("rows of a column are fetched in order"));
            }
            chunk.skip(from - own.at).map_err(|e| fail(&e))?;
            let vector = chunk.read(rows.len()).map_err(|e| fail(&e))?;
            own.at = from + rows.len();
            Ok(vector)
        })
    }

    fn decode_foreign(&mut self, place: usize, rows: Range<usize>) -> Result<Vector> {
        if self.foreign.reader.is_none() {
            let columns = self.foreign.columns.clone();
            self.fetch_ahead(&columns)?;
        }
        let path: &str = &self.file.input.path;
        let at = self.files.columns.iter().position(|c| *c == self.order[place]);
        let field = &self.files.fields[at.ok_or_else(|| self.damaged("a column is missing"))?];
        let total = self.file.metadata.metadata().row_group(self.group).num_rows().max(0) as usize;
        let (file, input, group, range) = (self.file, &self.input, self.group, self.range.clone());
        let (number, batch_rows) = (self.number, self.files.batch_rows);
        let window_rows = self.rows.len();
        let foreign = &mut self.foreign;
        let column = self.order[place];
        decode::guarded(path, FORMAT, || {
            let fail = |e: &dyn std::fmt::Display| damaged(path, e);
            if foreign.reader.is_none() {
                foreign.reader =
                    Some(crate_reader(file, input, group, &foreign.columns, &range, total, batch_rows)?);
            }
            while foreign.taken <= number {
                let next = foreign.reader.as_mut().and_then(Iterator::next).transpose();
                foreign.current = next.map_err(|e| fail(&e))?;
                foreign.taken += 1;
            }
            let batch = foreign.current.as_ref().filter(|batch| batch.num_rows() == window_rows);
            let batch = batch.ok_or_else(|| fail(&"a row group has too few rows"))?;
            let array = foreign.columns.binary_search(&column).ok().and_then(|at| batch.columns().get(at));
            let array = array.ok_or_else(|| fail(&"a column is missing"))?;
            let array = array.slice(rows.start, rows.len());
            if variant::is_variant(&file.metadata, column) {
                return variant::column(array.as_ref())
                    .ok_or_else(|| fail(&format!("column \"{}\" has a damaged VARIANT", field.name)));
            }
            let arrow_type = file.metadata.schema().field(column).data_type();
            let array = match (uuid::seen(&file.metadata, column), interval::holds_intervals(arrow_type)) {
                (Some(seen), _) => interval::turned(&array, &seen)?,
                (None, true) => interval::turned(&array, arrow_type)?,
                (None, false) => array,
            };
            decode::column(path, &field.name, array.as_ref(), field.ty)
        })
    }

    fn decode(&mut self, column: usize, rows: Range<usize>) -> Result<Vector> {
        let place = self.place(column)?;
        if self.own[place].is_none() {
            return self.decode_foreign(place, rows);
        }
        let vector = self.decode_own(place, rows)?;
        let (path, field) = (&self.file.input.path, &self.files.fields[column]);
        if vector.ty() != field.ty {
            return Err(decode::changed(path));
        }
        decode::checked(path, &field.name, vector)
    }
}

impl Window for UnitWindow<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }
    fn first_row(&self) -> Option<u64> {
        self.rows_before.checked_add(self.rows.start as u64)
    }
    fn columns(&self) -> usize {
        self.files.columns.len()
    }
    fn fetch(&mut self, column: usize, rows: Range<usize>) -> Result<Vector> {
        let place = self.place(column)?;
        if let Some((from, vector)) = &self.fetched[place] {
            if rows.start < *from || rows.end > from + vector.len() {
                return Err(Error::internal("rows of a window are fetched that were left out before"));
            }
            return Ok(vector.slice(rows.start - from, rows.len()));
        }
        let vector = self.decode(column, rows.clone())?;
        self.fetched[place] = Some((rows.start, vector.clone()));
        Ok(vector)
    }
    fn fetch_rows(&mut self, column: usize, rows: &[u32]) -> Result<Vector> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return self.fetch(column, 0..0);
        };
        let place = self.place(column)?;
        let dense = rows.windows(2).all(|pair| pair[1] - pair[0] <= GAP_ROWS);
        if dense || self.own[place].is_none() || self.fetched[place].is_some() {
            let vector = self.fetch(column, *first as usize..*last as usize + 1)?;
            if vector.len() == rows.len() {
                return Ok(vector);
            }
            let places: Vec<u32> = rows.iter().map(|row| row - first).collect();
            return Ok(vector.gather(&places));
        }
        let mut parts = Vec::new();
        for run in rows.chunk_by(|a, b| b - a <= GAP_ROWS) {
            let (from, to) = (run[0], run[run.len() - 1] + 1);
            let part = self.decode(column, from as usize..to as usize)?;
            let places: Vec<u32> = run.iter().map(|row| row - from).collect();
            let part = if part.len() == places.len() { part } else { part.gather(&places) };
            parts.push(Batch::new(vec![part], run.len()));
        }
        Batch::concat(&parts).columns.pop().ok_or_else(|| Error::internal("a batch without its column"))
    }
}

/// The crate's reader of some columns of a range of a row group.
fn crate_reader(
    file: &OneFile,
    input: &Input,
    group: usize,
    columns: &[usize],
    range: &Range<usize>,
    group_rows: usize,
    batch_rows: usize,
) -> Result<ParquetRecordBatchReader> {
    let metadata = interval::reading(&file.metadata).map_err(|e| damaged(&file.input.path, e))?;
    let metadata = metadata.unwrap_or_else(|| file.metadata.clone());
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input.clone(), metadata);
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    if range.len() < group_rows {
        let selectors = vec![RowSelector::skip(range.start), RowSelector::select(range.len())];
        builder = builder.with_row_selection(RowSelection::from(selectors));
    }
    builder
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(batch_rows.min(range.len()))
        .build()
        .map_err(|e| damaged(&file.input.path, e))
}
