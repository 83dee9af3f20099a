//! COPY TO: a query's rows into a file, a folder of files, or to standard output.
//!
//! Rows are written while the query computes them: a stream (`stream`) hands them on as there is room, as many
//! threads as there are workers encode pieces of them, and no more than a share of the memory limit waits in between.
//! So a file may be larger than memory. A file appears when it is whole.

use std::io::Write;
use std::path::Path;

use formats::write::{FileFacts, Returned, WriteOptions, WrittenFile, facts, write_parallel, write_to};
use plan::LogicalQuery;
use types::nested::encoding::{END, list_of, push_slot};
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;

impl Session {
    /// COPY ... TO a file: runs the query and writes its rows as they come, in the format of the options or of the
    /// path.
    pub(crate) fn copy_to(
        &self,
        query: LogicalQuery,
        path: &str,
        options: &[(String, String)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let path = &*formats::at_home(path);
        if let Some(options) = crate::lake_tables::delta_options(options) {
            // A table's data files are Parquet.
            let options = WriteOptions::parse("x.parquet", &options)?;
            if options.is_folder() {
                return Err(Error::unsupported("Delta tables are written without partitions"));
            }
            return self.written(query, options, relations, |schema, options, rows, threads| {
                let environment = self.environment();
                let append = lakes::Append::begin(&environment, path, schema)?;
                write_to(&environment, &append.file(), schema, rows, options, threads, &|| self.go_on())?;
                append.commit()
            });
        }
        let options = WriteOptions::parse(path, options)?;
        let (returned, format) = (options.returned, options.format);
        let mut files = Vec::new();
        let done = self.written(query, options, relations, |schema, options, rows, threads| {
            files = write_to(&self.environment(), path, schema, rows, options, threads, &|| self.go_on())?;
            Ok(())
        })?;
        let row = match returned {
            Returned::Count => return Ok(done),
            Returned::Files => vec![files_row(&files)],
            Returned::Facts => {
                let place = Path::new(path);
                let row = |file: &WrittenFile| {
                    Ok(facts_row(file, &facts(&self.environment(), place, file, format)?))
                };
                files.iter().map(row).collect::<Result<Vec<_>>>()?
            }
        };
        let Some(schema) = returned_schema(returned)? else { return Ok(done) };
        let column = |at: usize| {
            let values: Vec<Value> = row.iter().map(|row: &Vec<Value>| row[at].clone()).collect();
            Vector::from_values(schema.fields()[at].ty, &values)
        };
        let batch = Batch::new((0..schema.len()).map(column).collect(), row.len());
        Ok(ResultSet::returning(schema, vec![batch], done.tag().to_owned()))
    }

    /// As `copy_to`, to the host's standard output: CSV unless something else is said.
    pub(crate) fn copy_to_output(
        &self,
        query: LogicalQuery,
        options: &[(String, String)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let options = WriteOptions::parse("standard output.csv", options)?;
        if options.returned != Returned::Count {
            let message = "RETURN_FILES and RETURN_STATS are for COPY TO 'file'";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        if options.is_folder() {
            let error = Error::new(SqlState::InvalidParameterValue, "standard output has no folders");
            return Err(error.with_hint(
                "PARTITION_BY, FILE_SIZE_BYTES and ROW_GROUPS_PER_FILE are for COPY TO 'folder'",
            ));
        }
        let mut out = self.standard.output(self.environment().capability())?;
        let failed =
            |e: std::io::Error| Error::new(SqlState::IoError, format!("cannot write standard output: {e}"));
        self.written(query, options, relations, |schema, options, rows, threads| {
            write_parallel(options, schema, rows, &mut out, threads, &|| self.go_on())?;
            out.flush().map_err(failed)
        })
    }

    /// Runs the query and has its rows written.
    fn written(
        &self,
        query: LogicalQuery,
        options: WriteOptions,
        relations: &SessionRelations,
        write: impl FnOnce(&types::Schema, &WriteOptions, &mut formats::write::NextBatch<'_>, usize) -> Result<()>,
    ) -> Result<ResultSet> {
        let threads = self.database.workers();
        let options = options.within(self.database.memory_limit(), threads);
        let mut stream = self.rows_of(query, relations)?;
        let schema = stream.schema().clone();
        let mut count = 0u64;
        // Of a result that makes a file only when it has rows, the first ones are waited for.
        let mut first = None;
        while !options.writes_empty && first.as_ref().is_none_or(|batch: &vector::Batch| batch.rows == 0) {
            first = stream.next_batch()?;
            if first.is_none() {
                return Ok(ResultSet::done("COPY 0"));
            }
        }
        let mut next = || {
            let batch = first.take().map_or_else(|| stream.next_batch(), |batch| Ok(Some(batch)))?;
            count += batch.as_ref().map_or(0, |batch| batch.rows as u64);
            Ok(batch)
        };
        write(&schema, &options, &mut next, threads)?;
        Ok(ResultSet::done(format!("COPY {count}")))
    }
}

/// The columns that a COPY TO with these options gives back, if it gives back any.
pub(crate) fn returned_columns(path: Option<&str>, options: &[(String, String)]) -> Option<Schema> {
    let options = WriteOptions::parse(path?, options).ok()?;
    returned_schema(options.returned).ok().flatten()
}

fn returned_schema(returned: Returned) -> Result<Option<Schema>> {
    let texts = Type::map(Type::Text, Type::Text)?;
    let fields = match returned {
        Returned::Count => return Ok(None),
        Returned::Files => {
            vec![
                Field::new("Count", Type::BigInt, false),
                Field::new("Files", Type::list(Type::Text)?, false),
            ]
        }
        Returned::Facts => vec![
            Field::new("filename", Type::Text, false),
            Field::new("count", Type::UBigInt, false),
            Field::new("file_size_bytes", Type::UBigInt, false),
            Field::new("footer_size_bytes", Type::UBigInt, true),
            Field::new("column_statistics", Type::map(Type::Text, texts)?, true),
            Field::new("partition_keys", texts, true),
            Field::new("extra_info", Type::map(Type::Text, Type::Json)?, true),
        ],
    };
    Ok(Some(Schema::new(fields)))
}

fn files_row(files: &[WrittenFile]) -> Vec<Value> {
    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let mut paths: Vec<Value> = files.iter().map(path_of).collect();
    paths.sort();
    vec![Value::I64(i64::try_from(rows).unwrap_or(i64::MAX)), list_of(&paths, Type::Text)]
}

fn facts_row(file: &WrittenFile, facts: &FileFacts) -> Vec<Value> {
    let number = |value: u64| Value::I128(i128::from(value));
    let texts = |entries: &mut dyn Iterator<Item = (&str, &str)>| {
        map_of(entries.map(|(name, value)| (Value::text(name), Value::text(value))), Type::Text)
    };
    let columns = match Type::map(Type::Text, Type::Text) {
        Ok(inner) if !facts.columns.is_empty() => map_of(
            facts.columns.iter().map(|(name, known)| {
                (Value::text(name), texts(&mut known.iter().map(|(name, value)| (*name, value.as_str()))))
            }),
            inner,
        ),
        _ => Value::Null,
    };
    let keys = match facts.partition.is_empty() {
        true => Value::Null,
        false => texts(&mut facts.partition.iter().map(|(name, value)| (name.as_str(), value.as_str()))),
    };
    let groups =
        facts.groups.map(|groups| (Value::text("row_group_count"), Value::text(&groups.to_string())));
    vec![
        path_of(file),
        number(file.rows),
        number(facts.bytes),
        facts.footer_bytes.map_or(Value::Null, number),
        columns,
        keys,
        groups.map_or(Value::Null, |entry| map_of([entry], Type::Json)),
    ]
}

fn path_of(file: &WrittenFile) -> Value {
    Value::text(&file.path.to_string_lossy())
}

/// The MAP of texts to values of a type.
fn map_of(entries: impl IntoIterator<Item = (Value, Value)>, ty: Type) -> Value {
    let mut out = Vec::new();
    for (key, value) in entries {
        push_slot(&key, Type::Text, &mut out);
        push_slot(&value, ty, &mut out);
    }
    out.push(END);
    Value::Bytes(out.into())
}
