//! The options of text files, from the words of COPY and of table functions.
//!
//! A list arrives as its option repeated, an entry of a `{'name': 'value'}` as `name`, NUL, `value`.

use plan::FileFormat;
use types::{Error, Result, SqlState, Type};

/// What the user said; the rest is found out from the file.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub delimiter: Option<u8>,
    /// 0 for none.
    pub quote: Option<u8>,
    pub escape: Option<u8>,
    pub newline: Option<u8>,
    pub comment: Option<u8>,
    pub skip: Option<u64>,
    pub header: Option<bool>,
    pub null_texts: Vec<String>,
    pub date_format: Option<String>,
    pub timestamp_format: Option<String>,
    pub decimal: Option<u8>,
    pub thousands: Option<u8>,
    pub all_text: bool,
    /// Everything is said; nothing is looked for.
    pub no_sniffing: bool,
    pub null_padding: bool,
    pub lenient: bool,
    pub ignore_errors: bool,
    /// Records to look at; `None` for as many as the first bytes hold.
    pub sample: Option<u64>,
    /// All columns: name and type.
    pub columns: Vec<(String, Type)>,
    /// Types by name, or in order where the name is empty.
    pub types: Vec<(String, Type)>,
    pub names: Vec<String>,
    /// The options as they were given, for the report.
    pub said: Vec<(String, String)>,
}

/// Names of options, and whether they are for CSV alone.
const OPTIONS: [(&str, bool); 38] = [
    ("delimiter", true),
    ("delim", true),
    ("sep", true),
    ("quote", true),
    ("escape", true),
    ("new_line", true),
    ("comment", true),
    ("skip", true),
    ("header", true),
    ("null", true),
    ("nullstr", true),
    ("encoding", false),
    ("dateformat", false),
    ("date_format", false),
    ("timestampformat", false),
    ("timestamp_format", false),
    ("decimal_separator", true),
    ("decimal", true),
    ("thousands", true),
    ("all_varchar", true),
    ("auto_detect", true),
    ("null_padding", true),
    ("strict", true),
    ("strict_mode", true),
    ("ignore_errors", false),
    ("sample_size", false),
    ("columns", false),
    ("types", true),
    ("dtypes", true),
    ("column_types", true),
    ("names", true),
    ("column_names", true),
    ("compression", false),
    // How much others read at a time and look at, which is no question here.
    ("parallel", false),
    ("buffer_size", false),
    ("max_line_size", false),
    ("maximum_line_size", false),
    ("files_to_sniff", false),
];

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

fn boolean(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "t" | "on" | "yes" | "1" | "match" => Ok(true),
        "false" | "f" | "off" | "no" | "0" => Ok(false),
        _ => Err(invalid(name, value, "true or false")),
    }
}

/// A column's name, empty if there is none, and its type.
fn typed(name: &str, value: &str) -> Result<(String, Type)> {
    let (column, text) = value.split_once('\0').unwrap_or(("", value));
    let ty = Type::from_sql_name(text).ok_or_else(|| {
        Error::new(SqlState::UndefinedObject, format!("option \"{name}\": type \"{text}\" does not exist"))
            .with_hint("such as BIGINT, DOUBLE, DECIMAL(10,2), VARCHAR, DATE, TIMESTAMP or STRUCT(a BIGINT, b TEXT[])")
    })?;
    Ok((column.to_owned(), ty))
}

fn unknown(name: &str) -> Error {
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "");
    let name_plain = plain(name);
    let names = || OPTIONS.iter().map(|(known, _)| *known);
    let near = names().find(|known| plain(known) == name_plain).or_else(|| {
        names().find(|known| {
            let known = plain(known);
            name_plain.starts_with(&known) || (name_plain.len() > 3 && known.starts_with(&name_plain))
        })
    });
    let near = near.or_else(|| types::names::nearest(name, names()));
    Error::new(SqlState::InvalidParameterValue, format!("option \"{name}\" is not known"))
        .with_hint(match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => {
            "the options are format, delimiter, header, quote, escape, null, skip, comment, columns, types, \
                 dateformat, ignore_errors, store_rejects, null_padding and strict, among others"
                .to_owned()
        }
    })
}

impl Given {
    /// Options of COPY or of a table function; `format` itself is dealt with elsewhere.
    pub fn parse(options: &[(String, String)], format: FileFormat) -> Result<Self> {
        let mut given = Given::default();
        let text = matches!(format, FileFormat::Csv | FileFormat::Tbl);
        for (name, value) in options {
            let lower = name.to_ascii_lowercase();
            if lower == "format" {
                continue;
            }
            let Some((_, csv_only)) = OPTIONS.iter().find(|(known, _)| *known == lower) else {
                return Err(unknown(name));
            };
            if !text && (*csv_only || format != FileFormat::Json) {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    format!("option \"{name}\" is for text files"),
                ));
            }
            given.said.push((lower.clone(), value.clone()));
            match lower.as_str() {
                "delimiter" | "delim" | "sep" => given.delimiter = Some(character(name, value)?),
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
                "header" => given.header = Some(boolean(name, value)?),
                "null" | "nullstr" => given.null_texts.push(value.clone()),
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
                // Whether and how a file is packed, its first bytes say.
                "compression" => match value.to_ascii_lowercase().as_str() {
                    "auto" | "auto_detect" | "none" | "gzip" | "zstd" | "uncompressed" => {}
                    _ => return Err(invalid(name, value, "auto, none, gzip or zstd")),
                },
                "parallel" | "buffer_size" | "max_line_size" | "maximum_line_size" | "files_to_sniff" => {}
                _ if matches!(value.to_ascii_lowercase().as_str(), "utf8" | "utf-8") => {}
                _ => {
                    return Err(Error::unsupported(format!(
                        "encoding \"{value}\" is not supported; UTF8 is"
                    )));
                }
            }
        }
        given.check()?;
        Ok(given)
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::new(SqlState::InvalidParameterValue, what.to_owned()));
        if self.delimiter.is_some() && self.delimiter == self.quote {
            return wrong("delimiter and quote must be different characters");
        }
        if self.delimiter.is_some() && self.delimiter == self.escape {
            return wrong("delimiter and escape must be different characters");
        }
        if self.delimiter.is_some() && self.delimiter == self.comment {
            return wrong("delimiter and comment must be different characters");
        }
        if self.decimal.is_some() && self.decimal == self.thousands {
            return wrong("decimal_separator and thousands must be different characters");
        }
        if let Some((column, _)) = self.columns.iter().find(|(column, _)| column.is_empty()) {
            return Err(invalid("columns", column, "a list of names and types: {'name': 'type', ...}"));
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
