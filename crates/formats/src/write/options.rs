//! What COPY TO says of the file it writes.
//!
//! `WriteOptions::parse` turns the words of the statement into settled options: what they leave open follows from the
//! path's extension, then from the format. Options that are unknown, of another format, given twice or in conflict
//! are errors here, before anything is written; names of columns are checked when the schema is known (`forced`,
//! `partition_columns`). The writers take the options as they are and check nothing again.

use std::path::Path;

use types::{Error, Result, Schema, SqlState, Zone, zone};

use super::WriteFormat;
use super::field_ids::FieldIds;

/// How the bytes are made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Bytes as they are.
    None,
    /// gzip; of a Parquet file its pages.
    Gzip,
    /// Zstandard.
    Zstd,
    /// Snappy, of a Parquet file's pages.
    Snappy,
    /// LZ4.
    Lz4,
}

/// What a COPY with PARTITION_BY does with a folder that holds something. Files that no COPY wrote always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The statement fails when the folder holds something.
    Refuse,
    /// APPEND: files are added under names of their own.
    Append,
    /// OVERWRITE_OR_IGNORE: the partitions that get rows are replaced.
    ReplaceWritten,
    /// OVERWRITE: all partitions are replaced.
    ReplaceAll,
}

/// What COPY TO gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returned {
    /// The number of rows, in the command's tag.
    #[default]
    Count,
    /// RETURN_FILES: that number and the files.
    Files,
    /// RETURN_STATS: a row for each file, with what it holds.
    Facts,
}

/// FORCE_QUOTE: the columns whose values, but for NULLs, are quoted in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForceQuote {
    /// The columns of these names.
    Columns(Vec<String>),
    /// All columns.
    All,
}

/// The settled options of one COPY TO.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The file's format.
    pub format: WriteFormat,
    /// How the file is compressed; in Parquet, its pages.
    pub compression: Compression,
    /// Text with delimiters: names of the columns come first.
    pub header: bool,
    /// What stands between values in text with delimiters: one character, in CSV at most four bytes.
    pub delimiter: String,
    /// What stands for NULL in text with delimiters.
    pub null_text: String,
    /// What values of CSV are put between, where they need it; without one nothing is quoted.
    pub quote: Option<char>,
    /// What stands before a quote, and before itself, in a quoted value: the quote itself unless the user says otherwise.
    pub escape: char,
    /// Values of CSV that are quoted whether they need it or not.
    pub force_quote: ForceQuote,
    /// Rows of a Parquet file's row group, at most.
    pub group_rows: usize,
    /// Whether a Parquet file has the pages and codings of the format's second version.
    pub second_version: bool,
    /// Columns whose values name the folders that rows are written to; they are not in the files.
    pub partition_by: Vec<String>,
    /// Whether the columns of `partition_by` are in the files too.
    pub writes_partition_columns: bool,
    /// What becomes of the files of a folder that is there already.
    pub existing: Existing,
    /// Rows of one file of a folder, in row groups of `group_rows`; `None`: as many as there are.
    pub file_groups: Option<usize>,
    /// Bytes of the rows of one file of a folder, before they are coded, about; `None`: as many as there are.
    pub file_bytes: Option<u64>,
    /// Numbers of a Parquet file's columns.
    pub field_ids: FieldIds,
    /// What the statement gives back.
    pub returned: Returned,
    /// Names of a folder's files, with `{i}` for their number and `{uuid}` for one that no other file has.
    pub file_names: String,
    /// What the names of a folder's files end in, without the point; the format's own unless it is said.
    pub file_extension: Option<String>,
    /// A folder is written, of as many files as there are writers: one.
    pub file_by_writer: bool,
    /// Whether a result without rows makes a file.
    pub writes_empty: bool,
    /// Bytes of rows that are encoded together, about, at most; a row group of Parquet has no more.
    pub piece_bytes: usize,
    /// Bytes of rows that wait for their partition's file, about, at most.
    pub waiting_bytes: usize,
    /// In which text shows instants: the session's.
    pub time_zone: Zone,
}

/// The names of files unless the user says otherwise.
pub(super) const FILE_NAMES: &str = "data_{i}";

/// Rows of a row group unless the user says otherwise: some megabytes, and enough groups for all workers.
const GROUP_ROWS: usize = 122_880;

/// Bytes of a piece, and of what waits for its partition's file, unless memory is shorter.
const PIECE_BYTES: usize = 64 << 20;
const WAITING_BYTES: usize = 1 << 30;

/// The options that are accepted, the name under which each is one with others, and of which formats: all, text with
/// delimiters, text, Parquet. Held against the writers by `crates/conformance/tests/writer_options.rs`.
pub const WRITER_OPTIONS: [(&str, &str, &[WriteFormat]); 32] = [
    ("format", "format", &ALL),
    ("compression", "compression", &ALL),
    ("codec", "compression", &ALL),
    ("partition_by", "partition_by", &ALL),
    ("overwrite", "overwrite", &ALL),
    ("overwrite_or_ignore", "overwrite_or_ignore", &ALL),
    ("append", "append", &ALL),
    ("write_partition_columns", "write_partition_columns", &ALL),
    ("write_empty_file", "write_empty_file", &ALL),
    ("file_size_bytes", "file_size_bytes", &ALL),
    ("per_thread_output", "per_thread_output", &ALL),
    ("filename_pattern", "filename_pattern", &ALL),
    ("file_extension", "file_extension", &ALL),
    ("return_files", "return_files", &ALL),
    ("return_stats", "return_stats", &[WriteFormat::Parquet]),
    ("array", "array", &JSON),
    ("encoding", "encoding", &TEXT),
    // Dates and moments are texts before they come here, as these options say.
    ("dateformat", "dateformat", &TEXT),
    ("timestampformat", "timestampformat", &TEXT),
    ("header", "header", &DELIMITED),
    ("delimiter", "delimiter", &DELIMITED),
    ("delim", "delimiter", &DELIMITED),
    ("sep", "delimiter", &DELIMITED),
    ("null", "null", &DELIMITED),
    ("nullstr", "null", &DELIMITED),
    ("quote", "quote", &[WriteFormat::Csv]),
    ("escape", "escape", &[WriteFormat::Csv]),
    ("force_quote", "force_quote", &[WriteFormat::Csv]),
    ("row_group_size", "row_group_size", &[WriteFormat::Parquet]),
    ("row_groups_per_file", "row_groups_per_file", &[WriteFormat::Parquet]),
    ("field_ids", "field_ids", &[WriteFormat::Parquet]),
    ("parquet_version", "parquet_version", &[WriteFormat::Parquet]),
];

const JSON: [WriteFormat; 2] = [WriteFormat::Json, WriteFormat::Ndjson];
const DELIMITED: [WriteFormat; 2] = [WriteFormat::Csv, WriteFormat::Tsv];
const TEXT: [WriteFormat; 4] = [WriteFormat::Csv, WriteFormat::Tsv, WriteFormat::Json, WriteFormat::Ndjson];
const ALL: [WriteFormat; 6] = [
    WriteFormat::Csv,
    WriteFormat::Tsv,
    WriteFormat::Json,
    WriteFormat::Ndjson,
    WriteFormat::Arrow,
    WriteFormat::Parquet,
];

/// Options about the files and folders that are written.
const FOLDER: [&str; 13] = [
    "per_thread_output",
    "filename_pattern",
    "file_extension",
    "return_files",
    "return_stats",
    "partition_by",
    "write_partition_columns",
    "write_empty_file",
    "row_groups_per_file",
    "file_size_bytes",
    "overwrite",
    "overwrite_or_ignore",
    "append",
];

/// Options that take several values.
const LISTS: [&str; 3] = ["partition_by", "force_quote", "field_ids"];

/// Options that writers elsewhere have, and what does it here.
const ELSEWHERE: [(&str, &str); 5] = [
    ("compression_level", "COMPRESSION alone says how a file is packed"),
    ("hive_file_pattern", "folders of partitions are named column=value"),
    ("preserve_order", "rows are written in the query's order"),
    ("row_group_size_bytes", "ROW_GROUP_SIZE is a number of rows"),
    ("use_tmp_file", "a file appears when it is whole, always"),
];

/// An error where an option is none of the format's, or is given twice.
fn check(options: &[(String, String)], format: WriteFormat) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for (name, _) in options {
        let of_format = |name: &&(&str, &str, &[WriteFormat])| name.2.contains(&format);
        let Some(known) = WRITER_OPTIONS.iter().find(|known| known.0 == name) else {
            if let Some((known, instead)) = ELSEWHERE.iter().find(|(known, _)| known == name) {
                return Err(
                    Error::unsupported(format!("COPY TO has no option \"{known}\"")).with_hint(*instead)
                );
            }
            let near =
                types::names::nearest(name, WRITER_OPTIONS.iter().filter(of_format).map(|known| known.0));
            return Err(Error::new(SqlState::InvalidParameterValue, format!("option \"{name}\" is not known"))
                .with_hint(match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "the options are format, compression, partition_by, order_by, write_partition_columns, file_size_bytes, write_empty_file, \
                             overwrite, overwrite_or_ignore, append; for JSON array; for text header, delimiter, null, dateformat, timestampformat; for CSV quote, escape, force_quote; for Parquet row_group_size, row_groups_per_file, parquet_version"
                        .to_owned(),
                }));
        };
        if !of_format(&known) {
            let whose: Vec<&str> = WriteFormat::NAMES
                .iter()
                .filter(|(_, f)| known.2.contains(f))
                .map(|(name, _)| *name)
                .collect();
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("option \"{name}\" is not one of this format: it is for {}", whose.join(", ")),
            )
            .with_hint("leave it out"));
        }
        if !LISTS.contains(&known.1) && seen.contains(&known.1) {
            return Err(Error::new(
                SqlState::SyntaxError,
                format!("option \"{name}\" is given more than once"),
            )
            .with_hint("give it once, with one value"));
        }
        seen.push(known.1);
    }
    Ok(())
}

impl WriteOptions {
    /// As `format` is written when nothing else is said.
    pub fn of(format: WriteFormat) -> Self {
        WriteOptions {
            format,
            compression: if format == WriteFormat::Parquet { Compression::Zstd } else { Compression::None },
            header: true,
            delimiter: if format == WriteFormat::Tsv { "\t" } else { "," }.to_owned(),
            null_text: if format == WriteFormat::Tsv { "\\N".into() } else { String::new() },
            quote: Some('"'),
            escape: '"',
            force_quote: ForceQuote::Columns(vec![]),
            group_rows: GROUP_ROWS,
            second_version: false,
            partition_by: vec![],
            writes_partition_columns: false,
            existing: Existing::Refuse,
            file_groups: None,
            file_bytes: None,
            field_ids: FieldIds::None,
            returned: Returned::Count,
            file_names: FILE_NAMES.to_owned(),
            file_extension: None,
            file_by_writer: false,
            writes_empty: true,
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
        check(options, format)?;
        let mut escape = None;
        for (name, value) in options {
            match name.as_str() {
                "dateformat" | "timestampformat" if value.is_empty() => {
                    return Err(invalid(name, value, "a form as in strftime, or iso"));
                }
                "format" | "dateformat" | "timestampformat" => {}
                "quote" => out.quote = sign(name, value)?,
                "escape" => escape = Some(sign(name, value)?),
                "force_quote" => match (value.as_str(), &mut out.force_quote) {
                    ("", _) => return Err(invalid(name, value, "a list of columns, or *")),
                    ("*", all) => *all = ForceQuote::All,
                    (column, ForceQuote::Columns(columns)) => columns.push(column.to_owned()),
                    (_, ForceQuote::All) => return Err(invalid(name, value, "a list of columns, or *")),
                },
                "compression" | "codec" => out.compression = compression(name, value, format)?,
                "header" => out.header = boolean(name, value)?,
                "delimiter" | "delim" | "sep" => out.delimiter = delimiter(name, value, format)?,
                "null" | "nullstr" => out.null_text.clone_from(value),
                "row_group_size" => {
                    out.group_rows = value
                        .parse()
                        .ok()
                        .filter(|rows| (1..=1 << 24).contains(rows))
                        .ok_or_else(|| invalid(name, value, "a number of rows from 1 to 16777216"))?;
                }
                "parquet_version" => {
                    out.second_version = match value.to_ascii_lowercase().as_str() {
                        "v1" => false,
                        "v2" => true,
                        _ => return Err(invalid(name, value, "v1, which every reader knows, or v2")),
                    };
                }
                "field_ids" => out.field_ids.add(value)?,
                "array" => {
                    out.format = if boolean(name, value)? { WriteFormat::Json } else { WriteFormat::Ndjson };
                }
                name if FOLDER.contains(&name) => out.folder_option(name, value)?,
                "encoding" => {
                    if !["utf8", "utf-8"].contains(&value.to_ascii_lowercase().as_str()) {
                        return Err(invalid(name, value, "UTF8, in which all texts are written"));
                    }
                }
                // `check` has seen to it that there are no others.
                other => return Err(Error::internal(format!("COPY TO does not know its option {other}"))),
            }
        }
        out.check_quotes(escape)?;
        if out.writes_partition_columns && out.partition_by.is_empty() {
            let message = "WRITE_PARTITION_COLUMNS needs PARTITION_BY";
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("without partitions every column is in the file"));
        }
        if out.existing == Existing::Append && !out.is_folder() {
            let message = "APPEND needs PARTITION_BY: rows are added as files of a folder";
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("name the columns: PARTITION_BY (day); or write a new file beside the old one"));
        }
        if !out.is_folder() && (out.file_names != FILE_NAMES || out.file_extension.is_some()) {
            let message = "FILENAME_PATTERN and FILE_EXTENSION are for the files of a folder";
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("one file has the name of its path; PARTITION_BY, FILE_SIZE_BYTES and PER_THREAD_OUTPUT write folders"));
        }
        if !out.writes_empty && out.is_folder() {
            let message = "WRITE_EMPTY_FILE false is for one file, not for a folder";
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("a folder has no file where there are no rows"));
        }
        Ok(out)
    }

    /// An option about the files and folders that are written: one of `FOLDER`.
    fn folder_option(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "partition_by" => self.partition_by.push(value.to_owned()),
            "per_thread_output" => self.file_by_writer = boolean(name, value)?,
            "filename_pattern" => self.file_names = file_names(name, value)?,
            "file_extension" => {
                let fits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.');
                if !fits || value.starts_with('.') || value.ends_with('.') {
                    return Err(invalid(name, value, "an extension of letters and digits, such as parquet"));
                }
                self.file_extension = Some(value.to_owned());
            }
            "return_files" | "return_stats" => {
                let wanted = if name == "return_files" { Returned::Files } else { Returned::Facts };
                if boolean(name, value)? {
                    if self.returned != Returned::Count && self.returned != wanted {
                        let message = "RETURN_FILES and RETURN_STATS exclude each other";
                        return Err(Error::new(SqlState::InvalidParameterValue, message)
                            .with_hint("RETURN_STATS has the files' names, too"));
                    }
                    self.returned = wanted;
                }
            }
            "write_partition_columns" => self.writes_partition_columns = boolean(name, value)?,
            "write_empty_file" => self.writes_empty = boolean(name, value)?,
            "row_groups_per_file" => {
                let groups = value.parse().ok().filter(|groups| (1..=1 << 24).contains(groups));
                self.file_groups =
                    Some(groups.ok_or_else(|| invalid(name, value, "a number of row groups"))?);
            }
            "file_size_bytes" => {
                let bytes = types::size::bytes(&value.replace('_', "")).filter(|bytes| *bytes > 0);
                self.file_bytes = Some(bytes.ok_or_else(|| invalid(name, value, "a size, such as 100MB"))?);
            }
            "overwrite" | "overwrite_or_ignore" | "append" => {
                let wanted = match name {
                    "overwrite" => Existing::ReplaceAll,
                    "append" => Existing::Append,
                    _ => Existing::ReplaceWritten,
                };
                if boolean(name, value)? {
                    if self.existing != Existing::Refuse && self.existing != wanted {
                        let message = "APPEND, OVERWRITE and OVERWRITE_OR_IGNORE exclude each other";
                        return Err(Error::new(SqlState::InvalidParameterValue, message));
                    }
                    self.existing = wanted;
                }
            }
            other => return Err(Error::internal(format!("{other} is no option about folders"))),
        }
        Ok(())
    }

    /// Whether a folder of files is written, not one file.
    pub fn is_folder(&self) -> bool {
        !self.partition_by.is_empty()
            || self.file_groups.is_some()
            || self.file_bytes.is_some()
            || self.file_by_writer
    }

    /// Settles what stands before quotes, and refuses signs that could not be told apart.
    fn check_quotes(&mut self, escape: Option<Option<char>>) -> Result<()> {
        let refuse = |message: &str| Err(Error::new(SqlState::InvalidParameterValue, message));
        if self.null_text.chars().any(|c| self.delimiter.contains(c)) {
            return refuse("the text for NULL has nothing of the DELIMITER in it");
        }
        let Some(quote) = self.quote else {
            return match (escape, &self.force_quote) {
                (Some(Some(_)), _) => refuse("ESCAPE needs a QUOTE"),
                (_, ForceQuote::Columns(columns)) if columns.is_empty() => Ok(()),
                _ => refuse("FORCE_QUOTE needs a QUOTE"),
            };
        };
        self.escape = escape.flatten().unwrap_or(quote);
        if self.delimiter.contains([quote, self.escape]) {
            return refuse("QUOTE and ESCAPE are other characters than the DELIMITER");
        }
        if !self.null_text.is_empty() && self.null_text.contains(quote) {
            return refuse("the text for NULL has no quotes in it");
        }
        Ok(())
    }

    /// The columns of CSV that are quoted in any case, one a column.
    pub(super) fn forced(&self, schema: &Schema) -> Result<Vec<bool>> {
        let fields = schema.fields();
        let ForceQuote::Columns(columns) = &self.force_quote else { return Ok(vec![true; fields.len()]) };
        let mut forced = vec![false; fields.len()];
        for name in columns {
            let Some(at) = fields.iter().position(|f| f.name.eq_ignore_ascii_case(name)) else {
                let message = format!("column \"{name}\" of FORCE_QUOTE does not exist");
                return Err(Error::new(SqlState::UndefinedColumn, message));
            };
            forced[at] = true;
        }
        Ok(forced)
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
        let columns = match self.partition_by.as_slice() {
            [all] if all == "*" => (0..schema.len()).collect(),
            names => names.iter().map(find).collect::<Result<Vec<_>>>()?,
        };
        if columns.len() >= schema.len() && !self.writes_partition_columns {
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                "a file needs a column that is not in PARTITION_BY",
            )
            .with_hint("WRITE_PARTITION_COLUMNS keeps these columns in the files"));
        }
        Ok(columns)
    }
}

fn invalid(name: &str, value: &str, wanted: &str) -> Error {
    let message = format!("invalid value for option \"{name}\": \"{value}\"");
    Error::new(SqlState::InvalidParameterValue, message).with_hint(format!("{name} is {wanted}"))
}

/// What stands between values: one character, in CSV up to four bytes.
fn delimiter(name: &str, value: &str, format: WriteFormat) -> Result<String> {
    let fits = |c: char| !matches!(c, '"' | '\n' | '\r' | '\\' | '\0');
    let most = if format == WriteFormat::Csv { 4 } else { 1 };
    match value {
        "\\t" | "tab" => Ok("\t".to_owned()),
        text if (1..=most).contains(&text.len()) && text.chars().all(fits) => Ok(text.to_owned()),
        _ if most == 1 => Err(invalid(name, value, "one ASCII character, or '\\t' for a tab")),
        _ => {
            let wanted = "at most four bytes without quotes and line ends, or '\\t' for a tab";
            Err(invalid(name, value, wanted))
        }
    }
}

/// One ASCII character, or none.
fn sign(name: &str, value: &str) -> Result<Option<char>> {
    let mut characters = value.chars();
    match (characters.next(), characters.next()) {
        (None, _) => Ok(None),
        (Some(c), None) if c.is_ascii() && !matches!(c, '\n' | '\r' | '\0') => Ok(Some(c)),
        _ => Err(invalid(name, value, "one ASCII character, or empty")),
    }
}

/// The pattern of files' names: with a number at the end where it says neither a number nor an identifier.
fn file_names(name: &str, value: &str) -> Result<String> {
    let marks = ["{i}", "{uuid}", "{uuidv4}"];
    let plain = marks.iter().fold(value.to_owned(), |text, mark| text.replace(mark, ""));
    let fits = !value.is_empty()
        && !value.starts_with(['.', '_'])
        && plain.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    if !fits || marks.iter().any(|mark| value.matches(mark).count() > 1) {
        let wanted = "a name of letters, digits, points and dashes with {i} for a number or {uuid} in it";
        return Err(invalid(name, value, wanted));
    }
    let marked = marks.iter().any(|mark| value.contains(mark));
    Ok(if marked { value.replace("{uuidv4}", "{uuid}") } else { format!("{value}{{i}}") })
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
