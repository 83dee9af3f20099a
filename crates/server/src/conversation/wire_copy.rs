//! COPY in the forms of PostgreSQL's own: text, CSV and binary, with its options and its defaults.
//!
//! ```text
//!  COPY t (a, b) TO STDOUT      SELECT a, b FROM t, whose rows are encoded as they come
//!  COPY (query) TO STDOUT       query
//!  COPY t (a, b) FROM STDIN     rows are read as they come, and inserted some ten thousand at a time:
//!                               INSERT INTO t (a, b) SELECT * FROM those, all of them in one transaction
//! ```
//! Other forms (Parquet, Arrow, JSON) are the engine's, which reads and writes files of them (`copy`). Rows that come are
//! read on the statement's own thread, so that a client that sends nothing holds no worker of the engine.

use std::io::{ErrorKind, Read};

use engine::{Batch, Schema};
use pgproto::copy::{BinaryCopyReader, CopyDirection, CopyFormat, CopyOption, CopyOptions, LineCopyReader};
use pgproto::rows::RowEncoder;
use pgproto::{Format, TextEnums};
use syntax::tree::{CopySource, CopyTarget, ExprKind, Literal, OptionValue, SetOption, StatementKind};
use types::{Error, Result, SqlState, Type, quote, zone};
use vector::arrow::{arrow_schema, to_record_batch};

use super::Conversation;
use super::copy::ClientReader;
use super::output::{CHUNK_BYTES, cancelled};

/// Forms that are PostgreSQL's.
const FORMS: [&str; 3] = ["text", "csv", "binary"];
/// What rows that came are called while they are inserted.
const CAME: &str = "rows of copy from stdin";
/// Rows that are inserted at a time.
const ROWS_AT_A_TIME: usize = 64 << 10;
/// Bytes that the client sent for them, about, at most.
const BYTES_AT_A_TIME: usize = 16 << 20;
/// Longest row of a client.
const ROW_BYTES_MAX: usize = 256 << 20;

/// A COPY of the client's, taken apart.
pub(super) struct WireCopy {
    options: Vec<(String, Vec<String>)>,
    way: Way,
}

enum Way {
    /// TO STDOUT: the query, and where it stands in the statement.
    Out { query: String },
    /// FROM STDIN: the table, the columns that were named, and the condition, as they are written.
    In { table: String, columns: Vec<String>, condition: Option<String> },
}

impl WireCopy {
    /// Takes a statement apart; `None` where the engine runs it: other statements, files, and forms of its own.
    pub(super) fn of(text: &str) -> Option<WireCopy> {
        // What cannot be read has been told before.
        let StatementKind::Copy(copy) = syntax::parse_statement(text).ok()?.kind else { return None };
        let CopyTarget::Standard(_) = copy.target else { return None };
        let options: Vec<(String, Vec<String>)> = copy
            .options
            .iter()
            .map(|option| (option.name.text.to_string(), words(text, option.value.as_ref())))
            .map(|(name, words)| {
                match FORMS.iter().any(|form| name.eq_ignore_ascii_case(form)) && words.is_empty() {
                    // As it was written before 9.0: the form's name alone.
                    true => ("format".to_owned(), vec![name]),
                    false => (name, words),
                }
            })
            .collect();
        let format = options.iter().find(|(name, _)| name.eq_ignore_ascii_case("format"));
        let is_ours = format.is_none_or(|(_, words)| {
            words.first().is_some_and(|word| FORMS.iter().any(|form| word.eq_ignore_ascii_case(form)))
        });
        if !is_ours {
            return None;
        }
        let slice = |span: syntax::Span| span.of(text);
        let way = match (&copy.source, copy.to) {
            (CopySource::Statement(statement), true) => Way::Out { query: slice(statement.span).to_owned() },
            (CopySource::Table(path, names), to) => {
                let columns: Vec<String> = names.iter().map(|name| slice(name.span).to_owned()).collect();
                let table = slice(path.span()).to_owned();
                match to {
                    true if columns.is_empty() => Way::Out { query: format!("SELECT * FROM {table}") },
                    true => Way::Out { query: format!("SELECT {} FROM {table}", columns.join(", ")) },
                    false => {
                        let condition =
                            copy.condition.as_ref().map(|condition| slice(condition.span).to_owned());
                        Way::In { table, columns, condition }
                    }
                }
            }
            (CopySource::Statement(_), false) => return None,
        };
        Some(WireCopy { options, way })
    }

    fn options(&self, columns: &Schema, direction: CopyDirection) -> Result<CopyOptions> {
        let given: Vec<CopyOption<'_>> = self
            .options
            .iter()
            .map(|(name, words)| CopyOption { name, words: words.iter().map(String::as_str).collect() })
            .collect();
        let names: Vec<&str> = columns.fields().iter().map(|field| &*field.name).collect();
        CopyOptions::parse(&given, &names, direction)
    }
}

/// An option's words.
fn words(text: &str, value: Option<&OptionValue>) -> Vec<String> {
    let entry = |option: &SetOption| words(text, option.value.as_ref()).into_iter().next();
    match value {
        None => vec![],
        Some(OptionValue::Word(name)) => vec![name.text.to_string()],
        Some(OptionValue::Star(_)) => vec!["*".to_owned()],
        Some(OptionValue::Order(_)) => vec![],
        Some(OptionValue::List(entries)) => entries
            .iter()
            .map(|option| entry(option).unwrap_or_else(|| option.name.text.to_string()))
            .collect(),
        Some(OptionValue::Expr(expr)) => vec![match &expr.kind {
            ExprKind::Literal(Literal::Text(text)) => text.to_string(),
            _ => expr.span.of(text).to_owned(),
        }],
    }
}

fn types_of(columns: &Schema) -> Vec<Type> {
    columns.fields().iter().map(|field| field.ty).collect()
}

fn form(options: &CopyOptions) -> Format {
    if options.is_binary() { Format::Binary } else { Format::Text }
}

impl Conversation {
    /// Runs a COPY to or from the client, and gives its tag.
    pub(super) fn wire_copy(&mut self, copy: &WireCopy) -> Result<String> {
        if self.session.transaction_failed() {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(Error::new(SqlState::InFailedTransaction, message));
        }
        let rows = match &copy.way {
            Way::Out { query } => self.copy_out(copy, query)?,
            Way::In { table, columns, condition } => {
                self.copy_in(copy, table, columns, condition.as_deref())?
            }
        };
        Ok(format!("COPY {rows}"))
    }

    fn copy_out(&mut self, copy: &WireCopy, query: &str) -> Result<u64> {
        let statements = self.session.script(query)?;
        let [statement] = statements.as_slice() else {
            return Err(Error::new(SqlState::SyntaxError, "COPY takes one query"));
        };
        let mut stream = self.session.run_of_script(query, statement, true)?;
        if !stream.has_rows() {
            return Err(Error::unsupported("COPY of a statement that returns no rows")
                .with_hint("give it a RETURNING"));
        }
        let columns = stream.schema().clone();
        let options = copy.options(&columns, CopyDirection::Out)?;
        let mut encoder = RowEncoder::copy(&types_of(&columns), &options, stream.time_zone())?;
        {
            let mut out = self.output.messages();
            out.copy_out_response(form(&options), columns.len())?;
            encoder.copy_begin(columns.fields(), &mut out);
        }
        let mut rows = 0;
        while let Some(batch) = stream.next_batch()? {
            rows += batch.rows as u64;
            let mut pending = encoder.begin(&batch);
            while !pending.is_done() {
                encoder.append(&mut pending, &TextEnums, CHUNK_BYTES, &mut self.output.messages())?;
                self.output.relieve()?;
            }
        }
        let mut out = self.output.messages();
        encoder.copy_end(&mut out);
        out.copy_done();
        Ok(rows)
    }

    fn copy_in(
        &mut self,
        copy: &WireCopy,
        table: &str,
        columns: &[String],
        condition: Option<&str>,
    ) -> Result<u64> {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let schema = self.session.columns_to_insert(table, &columns)?;
        let options = copy.options(&schema, CopyDirection::In)?;
        let filled: Vec<String> = match columns.is_empty() {
            true => schema.fields().iter().map(|field| quote::name(&field.name)).collect(),
            false => columns.iter().map(|name| (*name).to_owned()).collect(),
        };
        let named = format!(" ({})", filled.join(", "));
        let alias = table.rsplit('.').next().unwrap_or(table);
        let condition = condition.map_or_else(String::new, |condition| format!(" WHERE {condition}"));
        let insert =
            format!("INSERT INTO {table}{named} SELECT * FROM {} AS {alias}{condition}", quote::name(CAME));
        self.output.messages().copy_in_response(form(&options), schema.len())?;
        self.output.send();
        let mut reader = ClientReader::new(&self.link, &self.shared, &self.copy);
        let mut incoming = Incoming::new(&schema, &options);
        let (mut rows, mut piece) = (0, vec![0; 64 << 10]);
        loop {
            let read = match reader.read(&mut piece) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                // Its reason is told by `end_copy`.
                Err(error) => return Err(Error::new(SqlState::IoError, error.to_string())),
            };
            if self.link.cancel.is_raised() {
                return Err(cancelled());
            }
            let ended = read == 0;
            zone::within(self.session.time_zone(), || match ended {
                true => incoming.finish(),
                false => incoming.push(&piece[..read]),
            })?;
            if ended || incoming.rows >= ROWS_AT_A_TIME || incoming.bytes >= BYTES_AT_A_TIME {
                if !ended {
                    // Several inserts are one transaction: the statement's own, or that which is open. One alone runs
                    // without, so that the engine may run it again when others were faster.
                    self.session.begin_implicit();
                }
                rows += self.insert_batches(&schema, incoming.take(), &insert)?;
            }
            if ended {
                return Ok(rows);
            }
        }
    }

    fn insert_batches(&self, schema: &Schema, batches: Vec<Batch>, insert: &str) -> Result<u64> {
        if batches.is_empty() {
            return Ok(0);
        }
        let arrow = arrow_schema(schema);
        let batches =
            batches.iter().map(|batch| to_record_batch(batch, &arrow)).collect::<Result<Vec<_>>>()?;
        self.session.register(CAME, arrow, batches);
        let outcome = self.session.query(insert);
        self.session.unregister(CAME);
        let tag = outcome?.tag().to_owned();
        Ok(tag.rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or(0))
    }
}

/// Rows that have come and were not inserted yet.
struct Incoming {
    reader: Reader,
    batches: Vec<Batch>,
    rows: usize,
    /// Bytes that the client has sent for them.
    bytes: usize,
}

enum Reader {
    Lines(Box<LineCopyReader>),
    Binary(Box<BinaryCopyReader>),
    /// All rows have come.
    Ended,
}

impl Incoming {
    fn new(schema: &Schema, options: &CopyOptions) -> Incoming {
        let reader = match options.format {
            CopyFormat::Binary => {
                Reader::Binary(Box::new(BinaryCopyReader::new(&types_of(schema), ROW_BYTES_MAX)))
            }
            CopyFormat::Text | CopyFormat::Csv => {
                let columns: Vec<(&str, Type)> =
                    schema.fields().iter().map(|field| (&*field.name, field.ty)).collect();
                Reader::Lines(Box::new(LineCopyReader::new(&columns, options, ROW_BYTES_MAX)))
            }
        };
        Incoming { reader, batches: Vec::new(), rows: 0, bytes: 0 }
    }

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        let Incoming { reader, batches, rows, bytes } = self;
        *bytes += piece.len();
        let take = |batch: Batch| {
            *rows += batch.rows;
            batches.push(batch);
            Ok(())
        };
        match reader {
            Reader::Lines(reader) => reader.push(piece, take),
            Reader::Binary(reader) => reader.push(piece, take),
            Reader::Ended => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<()> {
        let last = match std::mem::replace(&mut self.reader, Reader::Ended) {
            Reader::Lines(reader) => reader.finish()?,
            Reader::Binary(reader) => reader.finish()?,
            Reader::Ended => return Ok(()),
        };
        if last.rows > 0 {
            self.batches.push(last);
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<Batch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let copy = WireCopy::of(text)?;
        let way = match copy.way {
            Way::Out { query } => format!("out: {query}"),
            Way::In { table, columns, condition } => {
                format!("in: {table} ({}) {}", columns.join(", "), condition.unwrap_or_default())
            }
        };
        Some(format!("{way} {:?}", copy.options))
    }

    #[test]
    fn a_copy_is_taken_apart() {
        for (text, expected) in [
            ("COPY t TO STDOUT", "out: SELECT * FROM t []"),
            ("copy s.\"T\" (a, B) to stdout", "out: SELECT a, B FROM s.\"T\" []"),
            (
                "COPY (SELECT 1 UNION SELECT 2) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';')",
                "out: SELECT 1 UNION SELECT 2 [(\"FORMAT\", [\"csv\"]), (\"HEADER\", []), (\"DELIMITER\", [\";\"])]",
            ),
            ("COPY t FROM STDIN CSV HEADER", "in: t ()  [(\"format\", [\"CSV\"]), (\"HEADER\", [])]"),
            ("COPY t (a) FROM STDIN WHERE a > 1", "in: t (a) a > 1 []"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for engines in [
            "COPY t TO 'file.csv'",
            "COPY t TO STDOUT (FORMAT parquet)",
            "COPY t FROM STDIN (FORMAT arrow)",
            "SELECT 1",
        ] {
            assert_eq!(shown(engines), None, "{engines}");
        }
    }
}
