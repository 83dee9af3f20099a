//! Batches as DataRow and CopyData messages, column by column.
//!
//! Rows are encoded in groups. The most that each row of a group may need is added up first, so that every row gets a
//! place of its own in one piece of scratch memory; then each column writes its cells behind one another's, in a loop
//! that is compiled for the column's physical type, its form and the framing; at last each row is copied into the
//! buffer, behind its message's head.
//!
//! ```text
//!  scratch  | row 0: cell cell cell ...      | row 1: cell cell ...          | ...      places by the longest cells
//!  buffer   | D length columns cell cell cell | D length columns cell cell .. | ...      as they are
//!  cell     | length i32 | bytes |  of DataRow and binary COPY;  | delimiter | escaped bytes |  of COPY's text and CSV
//! ```
//! No cell costs an allocation or a decision about its type. Only nested values, whose text has no bound, are made
//! first, in one piece for each group. A batch that has been begun is held by its [`Pending`], whose buffers are
//! shared, so that a server may send what there is and come back.

mod column;
mod sink;

use types::{Error, Field, Result, SqlState, Type, Zone};
use vector::Batch;

use crate::MessageBuffer;
use crate::backend::column_count;
use crate::copy::CopyOptions;
use crate::format::Format;
use crate::oid::TypeOids;
use crate::value::ValueForm;

pub(crate) use sink::escape;

use column::Column;
use sink::{CsvSink, Places, TextSink, WireSink};

/// Rows of a group, at most.
const GROUP_ROWS: usize = 256;
/// Bytes of a group that lie in scratch memory, about, unless one row alone has more.
const GROUP_BYTES: usize = 128 << 10;
/// Longest row that is sent, as in PostgreSQL.
const ROW_BYTES_MAX: usize = 1 << 30;

/// What each row becomes.
#[derive(Clone, Debug)]
enum Framing {
    /// A DataRow.
    DataRow,
    /// A CopyData with a tuple of COPY's binary format.
    CopyBinary,
    /// A CopyData with a line.
    CopyLines(CopyOptions),
}

/// Encodes rows of one result.
pub struct RowEncoder {
    types: Vec<Type>,
    formats: Vec<Format>,
    framing: Framing,
    zone: Zone,
    count: i16,
    scratch: Vec<u8>,
    places: Places,
}

/// A batch whose rows are being encoded.
pub struct Pending {
    columns: Vec<Column>,
    rows: usize,
    next: usize,
}

impl Pending {
    /// Whether all rows were encoded.
    pub fn is_done(&self) -> bool {
        self.next >= self.rows
    }
    /// How many rows were encoded.
    pub fn encoded(&self) -> usize {
        self.next
    }
}

impl RowEncoder {
    /// Rows as DataRow messages, with a format for each column. Text shows instants in `zone`.
    pub fn data_rows(types: &[Type], formats: &[Format], zone: Zone) -> Result<Self> {
        let mut formats = formats.to_vec();
        formats.resize(types.len(), Format::Text);
        Self::new(types, formats, Framing::DataRow, zone)
    }
    /// Rows as CopyData messages, without what stands before and behind all rows: [`copy_begin`](Self::copy_begin)
    /// and [`copy_end`](Self::copy_end).
    pub fn copy(types: &[Type], options: &CopyOptions, zone: Zone) -> Result<Self> {
        match options.is_binary() {
            true => Self::new(types, vec![Format::Binary; types.len()], Framing::CopyBinary, zone),
            false => {
                let framing = Framing::CopyLines(options.clone());
                Self::new(types, vec![Format::Text; types.len()], framing, zone)
            }
        }
    }
    fn new(types: &[Type], formats: Vec<Format>, framing: Framing, zone: Zone) -> Result<Self> {
        let count = column_count(types.len())?;
        let types = types.to_vec();
        Ok(RowEncoder {
            types,
            formats,
            framing,
            zone,
            count,
            scratch: Vec::new(),
            places: Places::default(),
        })
    }

    /// Appends what stands before the rows of a COPY: the head of the binary format, or the line of names that HEADER
    /// asks for. `fields` are the columns; nothing is appended for DataRows.
    pub fn copy_begin(&self, fields: &[Field], out: &mut MessageBuffer) {
        match &self.framing {
            Framing::DataRow => {}
            Framing::CopyBinary => out.copy_data(crate::copy::BINARY_HEAD),
            Framing::CopyLines(options) if options.header => {
                let mut line = Vec::new();
                for (at, field) in fields.iter().enumerate() {
                    if at > 0 {
                        line.push(options.delimiter);
                    }
                    options.push_name(&field.name, fields.len() == 1, &mut line);
                }
                line.push(b'\n');
                out.copy_data(&line);
            }
            Framing::CopyLines(_) => {}
        }
    }
    /// Appends what stands behind the rows of a COPY: the end mark of the binary format. CopyDone is not part of it.
    pub fn copy_end(&self, out: &mut MessageBuffer) {
        if let Framing::CopyBinary = self.framing {
            out.copy_data(&(-1i16).to_be_bytes());
        }
    }

    /// Begins a batch, whose columns must have the encoder's types. A selection is applied, codes are decoded.
    pub fn begin(&self, batch: &Batch) -> Pending {
        let dense;
        let batch = match batch.is_coded() {
            true => {
                dense = batch.dense();
                &dense
            }
            false => batch,
        };
        let columns = batch.columns.iter().zip(&self.types).zip(&self.formats);
        let columns = columns.map(|((vector, ty), format)| Column::new(vector, *ty, *format)).collect();
        Pending { columns, rows: batch.rows, next: 0 }
    }

    /// Appends rows of a batch that has been begun until the buffer holds `bytes_max` bytes or all of them are there;
    /// at least one group of up to 256 rows. After an error the last row of the buffer is whole.
    pub fn append(
        &mut self,
        pending: &mut Pending,
        oids: &dyn TypeOids,
        bytes_max: usize,
        out: &mut MessageBuffer,
    ) -> Result<()> {
        let form = ValueForm { zone: self.zone, oids };
        if pending.columns.len() != self.types.len() {
            return Err(Error::internal("a batch has other columns than its result"));
        }
        while !pending.is_done() {
            let from = pending.next;
            let rows = self.group(pending)?;
            for column in &mut pending.columns {
                column.prepare(from, rows, form)?;
            }
            self.encode(pending, from, rows, form, out)?;
            pending.next += rows;
            if out.len() >= bytes_max {
                break;
            }
        }
        Ok(())
    }
    /// Appends all rows of a batch.
    pub fn append_all(&mut self, batch: &Batch, oids: &dyn TypeOids, out: &mut MessageBuffer) -> Result<()> {
        let mut pending = self.begin(batch);
        self.append(&mut pending, oids, usize::MAX, out)
    }

    /// How many of the next rows make a group.
    fn group(&self, pending: &Pending) -> Result<usize> {
        let most = GROUP_ROWS.min(pending.rows - pending.next);
        let varying: Vec<&Column> = pending.columns.iter().filter(|column| column.varies()).collect();
        let mut bytes = 0;
        for row in 0..most {
            bytes += varying.iter().map(|column| column.estimate(pending.next + row)).sum::<usize>();
            if bytes > GROUP_BYTES {
                return Ok(row.max(1));
            }
        }
        Ok(most)
    }

    fn encode(
        &mut self,
        pending: &Pending,
        from: usize,
        rows: usize,
        form: ValueForm<'_>,
        out: &mut MessageBuffer,
    ) -> Result<()> {
        // Escapes may double a cell of text; quotes stand around it.
        let (factor, extra) = match &self.framing {
            Framing::DataRow | Framing::CopyBinary => (1, 4),
            Framing::CopyLines(options) => (2, 3 + options.null.len()),
        };
        self.places.begin(rows, &pending.columns, from, factor, extra);
        let needed = self.places.bytes();
        if needed > ROW_BYTES_MAX.saturating_mul(rows) {
            return Err(too_long());
        }
        if self.scratch.len() < needed {
            self.scratch.resize(needed, 0);
        }
        let (places, scratch) = (&mut self.places, &mut self.scratch);
        match &self.framing {
            Framing::DataRow | Framing::CopyBinary => {
                for column in &pending.columns {
                    column.write(from, rows, form, &mut WireSink { places, scratch })?;
                }
            }
            Framing::CopyLines(options) => {
                let alone = pending.columns.len() == 1;
                for (at, column) in pending.columns.iter().enumerate() {
                    let first = at == 0;
                    if options.is_csv() {
                        let force = options.forces_quotes(at);
                        column.write(
                            from,
                            rows,
                            form,
                            &mut CsvSink::new(places, scratch, options, first, force, alone),
                        )?;
                    } else {
                        column.write(
                            from,
                            rows,
                            form,
                            &mut TextSink::new(places, scratch, options, first),
                        )?;
                    }
                }
            }
        }
        self.copy_rows(rows, out)?;
        // One large row must not be paid for by every session until it ends.
        if self.scratch.len() > 4 * GROUP_BYTES {
            self.scratch = Vec::new();
        }
        Ok(())
    }

    /// Copies the rows of a group out of the scratch memory.
    fn copy_rows(&self, rows: usize, out: &mut MessageBuffer) -> Result<()> {
        let out = out.raw();
        out.reserve(self.places.used() + rows * 7);
        for row in 0..rows {
            let cells = &self.scratch[self.places.row(row)];
            if cells.len() > ROW_BYTES_MAX {
                return Err(too_long());
            }
            let (kind, more) = match self.framing {
                Framing::DataRow => (b'D', 2),
                Framing::CopyBinary => (b'd', 2),
                Framing::CopyLines(_) => (b'd', 1),
            };
            let length = ((cells.len() + 4 + more) as u32).to_be_bytes();
            let count = self.count.to_be_bytes();
            match more {
                2 => {
                    out.extend_from_slice(&[
                        kind, length[0], length[1], length[2], length[3], count[0], count[1],
                    ]);
                    out.extend_from_slice(cells);
                }
                _ => {
                    out.extend_from_slice(&[kind, length[0], length[1], length[2], length[3]]);
                    out.extend_from_slice(cells);
                    out.push(b'\n');
                }
            }
        }
        Ok(())
    }
}

fn too_long() -> Error {
    Error::new(SqlState::StatementTooComplex, "a row of more than one gigabyte cannot be sent")
        .with_hint("select fewer or shorter columns")
}
