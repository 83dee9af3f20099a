//! What COPY TO says of the file it writes.

use std::path::Path;

use types::{Error, Result, Schema, SqlState, Zone, zone};

use super::WriteFormat;

/// How the bytes are made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Snappy,
    Lz4,
}

/// What a COPY with PARTITION_BY does with a folder that holds something. Files that no COPY wrote always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    /// APPEND: files are added under names of their own.
    Append,
    /// OVERWRITE_OR_IGNORE: the partitions that get rows are replaced.
    ReplaceWritten,
    /// OVERWRITE: all partitions are replaced.
    ReplaceAll,
}

#[derive(Clone, Debug)]
pub struct WriteOptions {
    pub format: WriteFormat,
    pub compression: Compression,
    /// Text with delimiters: names of the columns come first.
    pub header: bool,
    pub delimiter: char,
    /// What stands for NULL in text with delimiters.
    pub null_text: String,
    /// Rows of a Parquet file's row group, at most.
    pub group_rows: usize,
    /// Columns whose values name the folders that rows are written to; they are not in the files.
    pub partition_by: Vec<String>,
    /// What becomes of the files of a folder that is there already.
    pub existing: Existing,
    /// Bytes of rows that are encoded together, about, at most; a row group of Parquet has no more.
    pub piece_bytes: usize,
    /// Bytes of rows that wait for their partition's file, about, at most.
    pub waiting_bytes: usize,
    /// In which text shows instants: the session's.
    pub time_zone: Zone,
}

/// Rows of a row group unless the user says otherwise: some megabytes, and enough groups for all workers.
const GROUP_ROWS: usize = 122_880;

/// Bytes of a piece, and of what waits for its partition's file, unless memory is shorter.
const PIECE_BYTES: usize = 64 << 20;
const WAITING_BYTES: usize = 1 << 30;

/// The option that a name is likely to be meant for.
fn near(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 9] = [
        "format",
        "compression",
        "partition_by",
        "overwrite",
        "overwrite_or_ignore",
        "append",
        "header",
        "delimiter",
        "row_group_size",
    ];
    types::names::nearest(name, NAMES)
}

impl WriteOptions {
    /// As `format` is written when nothing else is said.
    pub fn of(format: WriteFormat) -> Self {
        WriteOptions {
            format,
            compression: if format == WriteFormat::Parquet { Compression::Zstd } else { Compression::None },
            header: true,
            delimiter: if format == WriteFormat::Tsv { '\t' } else { ',' },
            null_text: if format == WriteFormat::Tsv { "\\N".into() } else { String::new() },
            group_rows: GROUP_ROWS,
            partition_by: vec![],
            existing: Existing::Refuse,
            piece_bytes: PIECE_BYTES,
            waiting_bytes: WAITING_BYTES,
            time_zone: zone::current(),
        }
    }

    /// From COPY's options, names in lower case; what they leave open, the path's extension says.
    pub fn parse(path: &str, options: &[(String, String)]) -> Result<Self> {
        let (stem, by_extension) = match Path::new(path).extension().and_then(|e| e.to_str()) {
            Some("gz") => (path.trim_end_matches(".gz"), Some(Compression::Gzip)),
            Some("zst") => (path.trim_end_matches(".zst"), Some(Compression::Zstd)),
            _ => (path, None),
        };
        let named = options.iter().find(|(name, _)| name == "format").map(|(_, value)| value.to_lowercase());
        let format = match &named {
            Some(name) => WriteFormat::NAMES.iter().find(|(n, _)| n == name).map(|(_, f)| *f).ok_or_else(|| {
                invalid("format", name, "csv, tsv, json, ndjson, arrow or parquet")
            })?,
            None => WriteFormat::of_path(stem).ok_or_else(|| {
                Error::new(SqlState::FeatureNotSupported, format!("cannot tell the format of \"{path}\""))
                    .with_hint("name the file .parquet, .csv, .tsv, .json, .ndjson or .arrow, or give the FORMAT option")
            })?,
        };
        let mut out = WriteOptions::of(format);
        let text = !matches!(format, WriteFormat::Arrow | WriteFormat::Parquet);
        if let (Some(compression), true) = (by_extension, text) {
            out.compression = compression;
        }
        let delimited = matches!(format, WriteFormat::Csv | WriteFormat::Tsv);
        for (name, value) in options {
            match name.as_str() {
                "format" => {}
                "compression" | "codec" => out.compression = compression(name, value, format)?,
                "header" if delimited => out.header = boolean(name, value)?,
                "delimiter" | "delim" | "sep" if delimited => {
                    let mut characters = value.chars();
                    out.delimiter = match (value.as_str(), characters.next(), characters.next()) {
                        ("\\t" | "tab", ..) => '\t',
                        (_, Some(c), None) if !matches!(c, '"' | '\n' | '\r' | '\\') && c.is_ascii() => c,
                        _ => return Err(invalid(name, value, "one ASCII character, or '\\t' for a tab")),
                    };
                }
                "null" | "nullstr" if delimited => out.null_text.clone_from(value),
                "row_group_size" if format == WriteFormat::Parquet => {
                    out.group_rows = value
                        .parse()
                        .ok()
                        .filter(|rows| (1..=1 << 24).contains(rows))
                        .ok_or_else(|| invalid(name, value, "a number of rows from 1 to 16777216"))?;
                }
                "partition_by" => {
                    out.partition_by = value.split(',').map(str::to_owned).collect();
                }
                "overwrite" | "overwrite_or_ignore" | "append" => {
                    let wanted = match name.as_str() {
                        "overwrite" => Existing::ReplaceAll,
                        "append" => Existing::Append,
                        _ => Existing::ReplaceWritten,
                    };
                    if boolean(name, value)? {
                        if out.existing != Existing::Refuse && out.existing != wanted {
                            let message = "APPEND, OVERWRITE and OVERWRITE_OR_IGNORE exclude each other";
                            return Err(Error::new(SqlState::InvalidParameterValue, message));
                        }
                        out.existing = wanted;
                    }
                }
                _ => {
                    return Err(Error::new(
                        SqlState::InvalidParameterValue,
                        format!("option \"{name}\" is not known for this format"),
                    )
                    .with_hint(match near(name) {
                        Some(near) => format!("did you mean \"{near}\"?"),
                        None => {
                            "the options are format, compression, partition_by, overwrite, overwrite_or_ignore, append; \
                                 for text header, delimiter, null; for Parquet row_group_size"
                                .to_owned()
                        }
                    }));
                }
            }
        }
        if out.existing == Existing::Append && out.partition_by.is_empty() {
            let message = "APPEND needs PARTITION_BY: rows are added as files of a folder";
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("name the columns: PARTITION_BY (day); or write a new file beside the old one"));
        }
        Ok(out)
    }

    /// Keeps to a share of so much memory.
    pub fn within(mut self, memory_bytes: u64, threads: usize) -> Self {
        let memory = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        // Each thread has two pieces, as rows and encoded.
        self.piece_bytes = PIECE_BYTES.min(memory / 16 / threads.max(1)).max(256 << 10);
        self.waiting_bytes = WAITING_BYTES.min(memory / 8).max(1 << 20);
        self
    }

    /// The positions of the columns that name folders.
    pub(super) fn partition_columns(&self, schema: &Schema) -> Result<Vec<usize>> {
        let find = |name: &String| {
            let at = schema.fields().iter().position(|f| f.name.eq_ignore_ascii_case(name));
            at.ok_or_else(|| {
                Error::new(
                    SqlState::UndefinedColumn,
                    format!("column \"{name}\" of PARTITION_BY does not exist"),
                )
            })
        };
        let columns = self.partition_by.iter().map(find).collect::<Result<Vec<_>>>()?;
        if columns.len() >= schema.len() {
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                "a file needs a column that is not in PARTITION_BY",
            ));
        }
        Ok(columns)
    }
}

fn invalid(name: &str, value: &str, wanted: &str) -> Error {
    let message = format!("invalid value for option \"{name}\": \"{value}\"");
    Error::new(SqlState::InvalidParameterValue, message).with_hint(format!("{name} is {wanted}"))
}

fn boolean(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "t" | "on" | "yes" | "1" => Ok(true),
        "false" | "f" | "off" | "no" | "0" => Ok(false),
        _ => Err(invalid(name, value, "true or false")),
    }
}

fn compression(name: &str, value: &str, format: WriteFormat) -> Result<Compression> {
    let found = match value.to_ascii_lowercase().as_str() {
        "none" | "uncompressed" => Some(Compression::None),
        "gzip" | "gz" => Some(Compression::Gzip),
        "zstd" | "zst" => Some(Compression::Zstd),
        "snappy" => Some(Compression::Snappy),
        "lz4" | "lz4_raw" => Some(Compression::Lz4),
        _ => None,
    };
    let (possible, wanted): (&[Compression], &str) = match format {
        WriteFormat::Parquet => (
            &[Compression::None, Compression::Gzip, Compression::Zstd, Compression::Snappy, Compression::Lz4],
            "none, snappy, zstd, gzip or lz4",
        ),
        WriteFormat::Arrow => (&[Compression::None], "none"),
        _ => (&[Compression::None, Compression::Gzip, Compression::Zstd], "none, gzip or zstd"),
    };
    found.filter(|c| possible.contains(c)).ok_or_else(|| invalid(name, value, wanted))
}
