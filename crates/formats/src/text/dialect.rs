//! The options of text files, from COPY's words to what the splitter needs.

use plan::FileFormat;
use plan::file::TextOptions;
use types::{Error, Result, SqlState};

/// What the user said; the rest is found out from the file.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub delimiter: Option<u8>,
    /// 0 for none.
    pub quote: Option<u8>,
    pub header: Option<bool>,
    pub null_text: Option<String>,
}

/// How records are cut into fields.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub delimiter: u8,
    pub quote: Option<u8>,
    /// A delimiter may stand after the last value.
    pub trailing: bool,
}

/// The dialect of a described file.
pub fn dialect_of(format: FileFormat, options: &TextOptions) -> Dialect {
    let quote = (options.quote != 0).then_some(options.quote);
    Dialect { delimiter: options.delimiter, quote, trailing: format == FileFormat::Tbl }
}

fn invalid(name: &str, value: &str, wanted: &str) -> Error {
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

fn boolean(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "t" | "on" | "yes" | "1" | "match" => Ok(true),
        "false" | "f" | "off" | "no" | "0" => Ok(false),
        _ => Err(invalid(name, value, "true or false")),
    }
}

impl Given {
    /// Options of COPY or of a table function; `format` itself is dealt with elsewhere.
    pub fn parse(options: &[(String, String)], format: FileFormat) -> Result<Self> {
        let mut given = Given::default();
        let text = matches!(format, FileFormat::Csv | FileFormat::Tbl);
        for (name, value) in options {
            let lower = name.to_ascii_lowercase();
            let known = matches!(
                lower.as_str(),
                "delimiter"
                    | "delim"
                    | "sep"
                    | "quote"
                    | "escape"
                    | "header"
                    | "null"
                    | "nullstr"
                    | "encoding"
            );
            if lower == "format" {
                continue;
            }
            if !known {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    format!("option \"{name}\" is not known"),
                )
                .with_hint("the options are format, delimiter, header, quote and null"));
            }
            if !text {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    format!("option \"{name}\" is for text files"),
                ));
            }
            match lower.as_str() {
                "delimiter" | "delim" | "sep" => given.delimiter = Some(character(name, value)?),
                "quote" => given.quote = Some(if value.is_empty() { 0 } else { character(name, value)? }),
                "header" => given.header = Some(boolean(name, value)?),
                "null" | "nullstr" => given.null_text = Some(value.clone()),
                "escape" if value.len() == 1 && given.quote.unwrap_or(b'"') == value.as_bytes()[0] => {}
                "escape" => {
                    return Err(Error::unsupported("only doubled quotes escape a quote")
                        .with_hint("leave the ESCAPE option out, or name it after QUOTE and alike"));
                }
                _ if matches!(value.to_ascii_lowercase().as_str(), "utf8" | "utf-8") => {}
                _ => {
                    return Err(Error::unsupported(format!(
                        "encoding \"{value}\" is not supported; UTF8 is"
                    )));
                }
            }
        }
        if given.delimiter.is_some() && given.delimiter == given.quote {
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                "delimiter and quote must be different characters",
            ));
        }
        Ok(given)
    }
}
