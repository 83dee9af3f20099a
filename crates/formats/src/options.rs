//! The options there are of readers: which formats have them, and what becomes of those that others have.
//!
//! Every option is read or refused by its name. The list is held against the readers by a test that gives each option,
//! for each format that has it, a value that changes what is read and one that is refused
//! (`crates/conformance/tests/reader_options.rs`).

use plan::FileFormat;
use plan::file::{MORE_FILES, READER};
use types::{Error, Result, SqlState};

/// Formats, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats(u8);

impl Formats {
    const TEXT: Formats = Formats(1);
    const JSON: Formats = Formats(2);
    const WORDS: Formats = Formats(3);
    const ALL: Formats = Formats(7);

    /// Whether readers of the format have the option.
    pub fn has(self, format: FileFormat) -> bool {
        let bit = match format {
            FileFormat::Csv | FileFormat::Tbl => 1,
            FileFormat::Json => 2,
            FileFormat::Parquet | FileFormat::Arrow | FileFormat::Memory => 4,
            FileFormat::Whole => 8,
        };
        self.0 & bit != 0
    }
}

/// An option of readers under one of its names.
#[derive(Clone, Copy, Debug)]
pub struct ReaderOption {
    /// The name as users write it, in lower case.
    pub name: &'static str,
    /// The name under which it is one option with others.
    pub of: &'static str,
    /// The formats whose readers have it.
    pub formats: Formats,
    /// It may have several values.
    pub list: bool,
    /// It says what a table says that is filled, so that COPY does not have it.
    pub describes: bool,
}

const fn one(name: &'static str, of: &'static str, formats: Formats) -> ReaderOption {
    ReaderOption { name, of, formats, list: false, describes: false }
}

const fn list(name: &'static str, of: &'static str, formats: Formats) -> ReaderOption {
    ReaderOption { list: true, ..one(name, of, formats) }
}

const fn describes(option: ReaderOption) -> ReaderOption {
    ReaderOption { describes: true, ..option }
}

/// All options that are accepted; `format` of COPY, which chooses the reader, is not among them.
pub const READER_OPTIONS: [ReaderOption; 54] = [
    one("delimiter", "delimiter", Formats::TEXT),
    one("delim", "delimiter", Formats::TEXT),
    one("sep", "delimiter", Formats::TEXT),
    one("separator", "delimiter", Formats::TEXT),
    one("quote", "quote", Formats::TEXT),
    one("escape", "escape", Formats::TEXT),
    one("new_line", "new_line", Formats::TEXT),
    one("comment", "comment", Formats::TEXT),
    one("skip", "skip", Formats::TEXT),
    one("header", "header", Formats::TEXT),
    list("null", "null", Formats::TEXT),
    list("nullstr", "null", Formats::TEXT),
    one("encoding", "encoding", Formats::WORDS),
    one("compression", "compression", Formats::WORDS),
    one("dateformat", "dateformat", Formats::WORDS),
    one("date_format", "dateformat", Formats::WORDS),
    one("timestampformat", "timestampformat", Formats::WORDS),
    one("timestamp_format", "timestampformat", Formats::WORDS),
    one("decimal_separator", "decimal_separator", Formats::TEXT),
    one("decimal", "decimal_separator", Formats::TEXT),
    one("thousands", "thousands", Formats::TEXT),
    one("null_padding", "null_padding", Formats::TEXT),
    one("strict", "strict", Formats::TEXT),
    one("strict_mode", "strict", Formats::TEXT),
    one("ignore_errors", "ignore_errors", Formats::WORDS),
    one("store_rejects", "store_rejects", Formats::WORDS),
    one("rejects_table", "rejects_table", Formats::WORDS),
    one("reject_table", "rejects_table", Formats::WORDS),
    one("rejects_scan", "rejects_scan", Formats::WORDS),
    one("rejects_limit", "rejects_limit", Formats::WORDS),
    one("sample_size", "sample_size", Formats::WORDS),
    one("files_to_sniff", "files_to_sniff", Formats::TEXT),
    one("maximum_sample_files", "files_to_sniff", Formats::JSON),
    one("max_line_size", "max_line_size", Formats::TEXT),
    one("maximum_line_size", "max_line_size", Formats::TEXT),
    one("maximum_object_size", "max_line_size", Formats::JSON),
    one("buffer_size", "buffer_size", Formats::WORDS),
    one("parallel", "parallel", Formats::TEXT),
    one("format", "format", Formats::JSON),
    one("auto_detect", "auto_detect", Formats::TEXT),
    describes(one("all_varchar", "all_varchar", Formats::TEXT)),
    describes(list("columns", "columns", Formats::WORDS)),
    describes(list("types", "types", Formats::TEXT)),
    describes(list("dtypes", "types", Formats::TEXT)),
    describes(list("column_types", "types", Formats::TEXT)),
    describes(list("names", "names", Formats::TEXT)),
    describes(list("column_names", "names", Formats::TEXT)),
    describes(list("auto_type_candidates", "auto_type_candidates", Formats::TEXT)),
    describes(one("normalize_names", "normalize_names", Formats::TEXT)),
    describes(one("union_by_name", "union_by_name", Formats::ALL)),
    describes(one("hive_partitioning", "hive_partitioning", Formats::ALL)),
    describes(list("hive_types", "hive_types", Formats::ALL)),
    describes(one("hive_types_autocast", "hive_types_autocast", Formats::ALL)),
    describes(one("filename", "filename", Formats::ALL)),
];

/// Options that readers elsewhere have, and what does it here.
const ELSEWHERE: [(&str, &str); 28] = [
    ("allow_empty", "a file without rows is read where its columns are said: columns => {'a': 'BIGINT'}"),
    ("allow_quoted_nulls", "nullif(column, 'NA') makes NULL of a quoted text"),
    ("array", "read_json(..., format => 'array') reads an array, which it also finds by itself"),
    ("binary_as_string", "convert_from(column, 'UTF8') is the text of bytes"),
    ("can_have_nan", "values that are no numbers are expected wherever they may be"),
    ("column_statistics", "ANALYZE of a table that is filled from the file"),
    ("convert_strings_to_integers", "columns => {'a': 'BIGINT'} reads texts as numbers"),
    ("debug_use_openssl", "encrypted Parquet files are not read"),
    ("default", "coalesce(column, value) in an INSERT from read_csv"),
    ("encryption_config", "encrypted Parquet files are not read"),
    ("explicit_cardinality", "the number of rows is read from the files"),
    ("field_appearance_threshold", "columns => {'a': 'JSON'} says a column's type"),
    ("file_row_number", "row_number() OVER () counts rows in the order in which they are read"),
    ("force_not_null", "coalesce(column, '') in a query over read_csv"),
    ("force_null", "nullif(column, '') in a query over read_csv"),
    ("force_quote", "values are quoted where they need quotes"),
    ("freeze", "rows become visible when the statement ends; leave it out"),
    ("log_verbosity", "store_rejects => true notes what is left out"),
    ("map_inference_threshold", "columns => {'a': 'MAP(TEXT, BIGINT)'} says a column's type"),
    ("max_errors", "ignore_errors => true leaves bad records out"),
    ("maximum_depth", "columns => {'a': 'JSON'} keeps what is nested as it is"),
    ("on_error", "ignore_errors => true leaves bad records out, store_rejects => true notes them too"),
    ("quote_all", "values are quoted where they need quotes"),
    ("records", "records that are no objects are one column, json"),
    ("reject_limit", "a million rejects are kept"),
    ("rejects_line_size_limit", "max_line_size => n bounds the bytes of a record"),
    ("schema", "union_by_name => true, and casts in the query"),
    ("skip_lines", "skip => n passes over lines at the beginning"),
];

/// What else could have been meant.
fn unknown(name: &str, format: FileFormat) -> Error {
    if let Some((known, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return Error::unsupported(format!("option \"{known}\" is not supported")).with_hint(*instead);
    }
    let plain = |name: &str| name.replace('_', "");
    let name_plain = plain(name);
    let names = || READER_OPTIONS.iter().filter(|o| o.formats.has(format)).map(|o| o.name);
    let near = names().find(|known| plain(known) == name_plain).or_else(|| {
        names().find(|known| {
            let known = plain(known);
            name_plain.starts_with(&known) || (name_plain.len() > 3 && known.starts_with(&name_plain))
        })
    });
    let near = near.or_else(|| types::names::nearest(name, names()));
    Error::new(SqlState::InvalidParameterValue, format!("option \"{name}\" is not known")).with_hint(match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if Formats::TEXT.has(format) => {
            "the options are format, delimiter, header, quote, escape, null, skip, comment, columns, types, \
             dateformat, ignore_errors, store_rejects, null_padding and strict, among others"
                .to_owned()
        }
        None if Formats::JSON.has(format) => {
            "the options are format, columns, dateformat, ignore_errors, store_rejects and sample_size, among others"
                .to_owned()
        }
        None if format == FileFormat::Whole => "there are no options".to_owned(),
        None => "the options are union_by_name, hive_partitioning, hive_types and filename".to_owned(),
    })
}

fn reader_of(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Csv => "CSV files",
        FileFormat::Tbl => "tbl files",
        FileFormat::Json => "JSON files",
        FileFormat::Parquet => "Parquet files",
        FileFormat::Arrow => "Arrow files",
        FileFormat::Whole => "files as they are",
        FileFormat::Memory => "the program's rows",
    }
}

/// Refuses options that a reader of the format does not have, and those that are given twice; with `fills`, those too
/// that a table has said.
pub fn check(options: &[(String, String)], format: FileFormat, fills: bool) -> Result<()> {
    let by_function = options.iter().any(|(name, _)| name == READER);
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (name, value) in options.iter().filter(|(name, _)| name != READER && name != MORE_FILES) {
        let name = name.to_ascii_lowercase();
        let invalid = |message: String| Err(Error::new(SqlState::InvalidParameterValue, message));
        if name == "format" && !by_function {
            if seen.iter().any(|(of, _)| *of == "format") {
                return twice("format", &name);
            }
            seen.push(("format", name));
            continue;
        }
        let Some(known) = READER_OPTIONS.iter().find(|known| known.name == name) else {
            return Err(unknown(&name, format));
        };
        if name == "format" && format != FileFormat::Json {
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("the function says that it reads {}", reader_of(format)),
            )
            .with_hint("read_csv, read_json, read_parquet, read_arrow and read_tbl each read one format"));
        }
        if !known.formats.has(format) {
            let whose = match known.formats {
                Formats::TEXT => "for CSV files",
                Formats::JSON => "for JSON files",
                _ => "for text files: CSV and JSON",
            };
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("option \"{name}\" is {whose}, and these are {}", reader_of(format)),
            )
            .with_hint("leave it out"));
        }
        if fills && known.describes {
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("COPY takes no option \"{name}\": the table says what its columns are"),
            )
            .with_hint("name the columns that are filled, as in COPY t (a, b) FROM ...; or INSERT INTO t SELECT ... FROM read_csv(...)"));
        }
        // `{'a': 'b'}` is for what is said of columns.
        if value.contains('\0') && !matches!(known.of, "columns" | "types" | "hive_types") {
            return invalid(format!("option \"{name}\" takes no names with values"));
        }
        if !known.list && seen.iter().any(|(of, _)| *of == known.of) {
            return twice(known.of, &name);
        }
        if let Some((_, other)) = seen.iter().find(|(of, other)| *of == known.of && *other != name) {
            return invalid(format!("options \"{other}\" and \"{name}\" are the same"));
        }
        seen.push((known.of, name));
    }
    Ok(())
}

fn twice(of: &str, name: &str) -> Result<()> {
    let other = if of == name { String::new() } else { format!(", also as \"{of}\"") };
    Err(Error::new(SqlState::SyntaxError, format!("option \"{name}\" is given more than once{other}"))
        .with_hint("give it once, with one value"))
}
