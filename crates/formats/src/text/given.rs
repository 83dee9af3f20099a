//! The options of text files, from the words of COPY and of table functions.
//!
//! A list arrives as its option repeated, an entry of a `{'name': 'value'}` as `name`, NUL, `value`.
//! `Given::parse` is the only way in; what is not said is absent, and looked for by `sniff`. A word that is
//! unknown is an error.

use plan::FileFormat;
use plan::file::{Encoding, JsonRecords, MORE_FILES, READER};
use types::{Error, Result, SqlState, Type};

use crate::encoding;

/// What the user said; the rest is found out from the file.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The byte between two fields, or the last one of several.
    pub delimiter: Option<u8>,
    /// The bytes of the delimiter before its last one, zeros before them.
    pub delimiter_begin: [u8; 3],
    /// 0 for none.
    pub quote: Option<u8>,
    /// 0 for none.
    pub escape: Option<u8>,
    /// The last byte of a line end.
    pub newline: Option<u8>,
    /// 0 for none.
    pub comment: Option<u8>,
    /// Lines before the header or the first record.
    pub skip: Option<u64>,
    /// Whether the first record names the columns.
    pub header: Option<bool>,
    /// The header has to name the table's columns.
    pub header_matches: bool,
    /// Texts that stand for NULL.
    pub null_texts: Vec<String>,
    /// The form of dates, as in strftime.
    pub date_format: Option<String>,
    /// The form of timestamps, as in strftime.
    pub timestamp_format: Option<String>,
    /// The sign before a number's fraction.
    pub decimal: Option<u8>,
    /// The sign between thousands; 0 for none.
    pub thousands: Option<u8>,
    /// All columns are TEXT.
    pub all_text: bool,
    /// Everything is said; nothing is looked for.
    pub no_sniffing: bool,
    /// Records that are too short end in NULLs.
    pub null_padding: bool,
    /// Misplaced quotes are read as well as can be.
    pub lenient: bool,
    /// Records that cannot be read are left out.
    pub ignore_errors: bool,
    /// Bytes of a record, at most.
    pub record_bytes_max: Option<usize>,
    /// Bytes of a file that are read at a time.
    pub piece_bytes: Option<u64>,
    /// One worker reads a file.
    pub sequential: bool,
    /// How JSON records follow each other.
    pub json_records: JsonRecords,
    /// The encoding of the text.
    pub encoding: Encoding,
    /// Files to look at.
    pub files: Option<usize>,
    /// How the files are packed; `None` for what their first bytes say.
    pub packing: Option<Packing>,
    /// Records to look at; `None` for as many as the first bytes hold.
    pub sample: Option<u64>,
    /// All columns: name and type.
    pub columns: Vec<(String, Type)>,
    /// Types by name, or in order where the name is empty.
    pub types: Vec<(String, Type)>,
    /// Names of the first columns, instead of the file's.
    pub names: Vec<String>,
    /// The types that columns may be found to have; all when empty.
    pub candidates: Vec<Type>,
    /// Names of the header in small letters, digits and underscores.
    pub normalizes_names: bool,
    /// The options as they were given, for the report.
    pub said: Vec<(String, String)>,
}

/// How a text file may be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    Gzip,
    Zstd,
}

/// Larger records cannot be told apart from the whole file, and places in a buffer have 29 bits.
const LIMIT_BYTES_MAX: u64 = 256 << 20;

/// A number of bytes, from 1 to the largest.
fn bytes(name: &str, value: &str) -> Result<u64> {
    let wanted = || invalid(name, value, "a number of bytes, from 1 to 268435456");
    value.parse().ok().filter(|n| (1..=LIMIT_BYTES_MAX).contains(n)).ok_or_else(wanted)
}

/// The error for an option's value; `wanted` ends the hint "name is ...".
pub fn invalid(name: &str, value: &str, wanted: &str) -> Error {
    let message = format!("invalid value for option \"{name}\": \"{value}\"");
    Error::new(SqlState::InvalidParameterValue, message).with_hint(format!("{name} is {wanted}"))
}

fn character(name: &str, value: &str) -> Result<u8> {
    let byte = match value {
        "\\t" | "tab" | "TAB" => b'\t',
        _ if value.len() == 1 => value.as_bytes()[0],
        _ => return Err(invalid(name, value, "one ASCII character, or '\\t' for a tab")),
    };
    let unfit = matches!(byte, b'\n' | b'\r' | 0 | b'.' | b'-') || byte.is_ascii_alphanumeric();
    if unfit || !byte.is_ascii() {
        return Err(invalid(name, value, "no letter, digit, point, minus sign or line end"));
    }
    Ok(byte)
}

/// The bytes of a delimiter before its last one, and that.
fn delimiter(name: &str, value: &str) -> Result<([u8; 3], u8)> {
    let Some((last, before)) = value.as_bytes().split_last().filter(|(_, before)| !before.is_empty()) else {
        return Ok(([0; 3], character(name, value)?));
    };
    if matches!(value, "\\t" | "tab" | "TAB") {
        return Ok(([0; 3], b'\t'));
    }
    if before.len() > 3 {
        return Err(invalid(name, value, "at most four bytes, or '\\t' for a tab"));
    }
    if value.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
        return Err(invalid(name, value, "no line end"));
    }
    let mut begin = [0; 3];
    begin[3 - before.len()..].copy_from_slice(before);
    Ok((begin, *last))
}

/// A character, or 0 for none.
fn maybe_character(name: &str, value: &str) -> Result<u8> {
    if value.is_empty() { Ok(0) } else { character(name, value) }
}

fn separator(name: &str, value: &str, none: bool) -> Result<u8> {
    match value {
        "" if none => Ok(0),
        "." => Ok(b'.'),
        _ => character(name, value),
    }
}

/// The value of a boolean option; without a value it is true.
pub fn boolean(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "t" | "on" | "yes" | "1" => Ok(true),
        "false" | "f" | "off" | "no" | "0" => Ok(false),
        _ => Err(invalid(name, value, "true or false")),
    }
}

/// A column's name, empty if there is none, and its type.
pub fn typed(name: &str, value: &str) -> Result<(String, Type)> {
    let (column, text) = value.split_once('\0').unwrap_or(("", value));
    let ty = Type::from_sql_name(text).ok_or_else(|| {
        Error::new(SqlState::UndefinedObject, format!("option \"{name}\": type \"{text}\" does not exist"))
            .with_hint("such as BIGINT, DOUBLE, DECIMAL(10,2), VARCHAR, DATE, TIMESTAMP or STRUCT(a BIGINT, b TEXT[])")
    })?;
    Ok((column.to_owned(), ty))
}

/// A type that columns may be found to have; `None` for one that is always possible.
fn candidate(name: &str, value: &str) -> Result<Option<Type>> {
    if value.eq_ignore_ascii_case("null") {
        return Ok(None);
    }
    let (_, ty) = typed(name, value)?;
    if ty.is_nested() {
        return Err(invalid(
            name,
            value,
            "a list of types without parts, such as ['BIGINT', 'DATE', 'VARCHAR']",
        ));
    }
    Ok(Some(ty))
}

impl Given {
    /// Options of COPY or of a table function, which `options::check` has seen. With `fills`, rows are for a table, which
    /// says what they are.
    pub fn parse(options: &[(String, String)], format: FileFormat, fills: bool) -> Result<Self> {
        crate::options::check(options, format, fills)?;
        let mut given = Given::default();
        let by_function = options.iter().any(|(name, _)| name == READER);
        for (name, value) in options.iter().filter(|(name, _)| name != READER && name != MORE_FILES) {
            let lower = name.to_ascii_lowercase();
            if lower == "format" && !by_function {
                continue;
            }
            given.said.push((lower.clone(), value.clone()));
            match lower.as_str() {
                "delimiter" | "delim" | "sep" | "separator" => {
                    let (begin, last) = delimiter(name, value)?;
                    (given.delimiter_begin, given.delimiter) = (begin, Some(last));
                }
                "quote" => given.quote = Some(maybe_character(name, value)?),
                "escape" => given.escape = Some(maybe_character(name, value)?),
                "new_line" => {
                    given.newline = Some(match value.as_str() {
                        "\\n" | "\n" | "\\r\\n" | "\r\n" => b'\n',
                        "\\r" | "\r" => b'\r',
                        _ => return Err(invalid(name, value, "'\\n', '\\r\\n' or '\\r'")),
                    });
                }
                "comment" => given.comment = Some(maybe_character(name, value)?),
                "skip" => {
                    let lines = value.parse().map_err(|_| invalid(name, value, "a number of lines"))?;
                    given.skip = Some(lines);
                }
                "header" if value.eq_ignore_ascii_case("match") => {
                    (given.header, given.header_matches) = (Some(true), true);
                }
                "header" => given.header = Some(boolean(name, value)?),
                "null" | "nullstr" => given.null_texts.push(value.clone()),
                "dateformat" | "date_format" | "timestampformat" | "timestamp_format" if value.is_empty() => {
                    return Err(invalid(name, value, "a form as in strptime, or auto"));
                }
                "dateformat" | "date_format" if value == "auto" => {}
                "dateformat" | "date_format" => given.date_format = Some(value.clone()),
                "timestampformat" | "timestamp_format" if value == "auto" => {}
                "timestampformat" | "timestamp_format" => given.timestamp_format = Some(value.clone()),
                "decimal_separator" | "decimal" => given.decimal = Some(separator(name, value, false)?),
                "thousands" => given.thousands = Some(separator(name, value, true)?),
                "all_varchar" => given.all_text = boolean(name, value)?,
                "auto_detect" => given.no_sniffing = !boolean(name, value)?,
                "null_padding" => given.null_padding = boolean(name, value)?,
                "strict" | "strict_mode" => given.lenient = !boolean(name, value)?,
                "ignore_errors" => given.ignore_errors = boolean(name, value)?,
                "sample_size" => {
                    let rows: i64 = value
                        .parse()
                        .ok()
                        .filter(|n| *n == -1 || *n > 0)
                        .ok_or_else(|| invalid(name, value, "a number of records, or -1 for all"))?;
                    given.sample = Some(u64::try_from(rows).unwrap_or(u64::MAX));
                }
                "columns" => given.columns.push(typed(name, value)?),
                "types" | "dtypes" | "column_types" => given.types.push(typed(name, value)?),
                "names" | "column_names" => given.names.push(value.clone()),
                "auto_type_candidates" => given.candidates.extend(candidate(name, value)?),
                "normalize_names" => given.normalizes_names = boolean(name, value)?,
                "compression" => {
                    given.packing = match value.to_ascii_lowercase().as_str() {
                        "auto" | "auto_detect" => None,
                        "none" | "uncompressed" => Some(Packing::None),
                        "gzip" | "gz" => Some(Packing::Gzip),
                        "zstd" | "zst" => Some(Packing::Zstd),
                        _ => return Err(invalid(name, value, "auto, none, gzip or zstd")),
                    };
                }
                "max_line_size" | "maximum_line_size" | "maximum_object_size" => {
                    given.record_bytes_max = usize::try_from(bytes(name, value)?).ok();
                }
                "buffer_size" => given.piece_bytes = Some(bytes(name, value)?),
                "parallel" => given.sequential = !boolean(name, value)?,
                "files_to_sniff" | "maximum_sample_files" => {
                    let files: i64 = value
                        .parse()
                        .ok()
                        .filter(|n| *n == -1 || *n > 0)
                        .ok_or_else(|| invalid(name, value, "a number of files, or -1 for all"))?;
                    given.files = Some(usize::try_from(files).unwrap_or(usize::MAX));
                }
                "format" => {
                    given.json_records = match value.to_ascii_lowercase().as_str() {
                        "auto" => JsonRecords::Found,
                        "newline_delimited" | "nd" => JsonRecords::Lines,
                        "array" => JsonRecords::Array,
                        _ => return Err(invalid(name, value, "auto, newline_delimited or array")),
                    };
                }
                "encoding" => given.encoding = encoding::named(value)?,
                // `Layout` reads the options of several files, and the caller those of rejects.
                _ => {}
            }
        }
        given.check(format, fills)?;
        Ok(given)
    }

    fn check(&self, format: FileFormat, fills: bool) -> Result<()> {
        let wrong = |what: &str| Err(Error::new(SqlState::InvalidParameterValue, what.to_owned()));
        if self.quote == Some(0) && self.escape.is_some_and(|escape| escape != 0) {
            return wrong("escape is for files with quotes: give a quote, or no escape");
        }
        let text = format != FileFormat::Json;
        if text && self.no_sniffing && self.columns.is_empty() && !fills {
            return wrong("auto_detect => false needs the columns: columns => {'name': 'type', ...}");
        }
        let more = self.all_text || !self.types.is_empty() || !self.names.is_empty();
        if !self.columns.is_empty() && more {
            return wrong(
                "columns says names and types of all columns: give no names, types or all_varchar beside it",
            );
        }
        if self.header_matches && !fills {
            return wrong(
                "header 'match' is for COPY FROM: here there is no table whose columns it could name",
            );
        }
        if self.header_matches && self.no_sniffing {
            return wrong("header 'match' looks at the file, which auto_detect => false forbids");
        }
        let within = |byte: Option<u8>| {
            let byte = byte.filter(|byte| *byte != 0);
            byte.is_some_and(|byte| self.delimiter == Some(byte) || self.delimiter_begin.contains(&byte))
        };
        // What is not said is the usual quote.
        let quote = self.quote.or(Some(b'"').filter(|_| self.delimiter_begin != [0; 3]));
        if within(quote) {
            return wrong("delimiter and quote must be different characters");
        }
        if within(self.escape) {
            return wrong("delimiter and escape must be different characters");
        }
        if within(self.comment) {
            return wrong("delimiter and comment must be different characters");
        }
        if self.decimal.is_some() && self.decimal == self.thousands {
            return wrong("decimal_separator and thousands must be different characters");
        }
        if let Some((column, _)) = self.columns.iter().find(|(column, _)| column.is_empty()) {
            return Err(invalid("columns", column, "a list of names and types: {'name': 'type', ...}"));
        }
        for (option, said) in [("columns", &self.columns), ("types", &self.types)] {
            let mut names: Vec<&String> =
                said.iter().map(|(name, _)| name).filter(|n| !n.is_empty()).collect();
            names.sort();
            if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return wrong(&format!("option \"{option}\" names the column \"{}\" twice", twice[0]));
            }
        }
        Ok(())
    }

    /// The types of columns with these names, where they were said.
    pub fn types_of(&self, names: &[String]) -> Result<Vec<Option<Type>>> {
        let mut types = vec![None; names.len()];
        for (at, (column, ty)) in self.types.iter().enumerate() {
            let place = match column.is_empty() {
                true => Some(at).filter(|at| *at < names.len()),
                false => names.iter().position(|n| n.eq_ignore_ascii_case(column)),
            };
            let Some(place) = place else {
                return Err(Error::new(
                    SqlState::UndefinedColumn,
                    match column.is_empty() {
                        true => format!(
                            "option \"types\" names {} types; the file has {} columns",
                            self.types.len(),
                            names.len()
                        ),
                        false => format!(
                            "option \"types\" names the column \"{column}\", which the file does not have"
                        ),
                    },
                )
                .with_detail(format!("The columns are {}.", names.join(", "))));
            };
            types[place] = Some(*ty);
        }
        Ok(types)
    }
}
