//! COPY over the protocol: its options, and its binary format as it comes in.
//!
//! Rows that go out are encoded by [`rows::RowEncoder::copy`](crate::rows::RowEncoder::copy) with these options. What
//! comes in becomes batches piece by piece: [`BinaryCopyReader`] and, for text and CSV, [`LineCopyReader`]. The engine's
//! readers of files are others: they guess, run in parallel and read what PostgreSQL's COPY does not;
//! `docs/internals/wire-types.md` says where they differ.

mod binary;
mod lines;
mod pieces;

pub use binary::BinaryCopyReader;
pub use lines::LineCopyReader;

use types::{Error, Result, SqlState};

/// What begins a stream of the binary format: its signature, no flags, and no extension.
pub const BINARY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The form of a COPY's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyFormat {
    #[default]
    /// Lines of columns between tabs, with backslashes as escapes.
    Text,
    /// Comma-separated values.
    Csv,
    /// Values in their binary form.
    Binary,
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// COPY FROM STDIN.
    In,
    /// COPY TO STDOUT.
    Out,
}

/// The settled options of one COPY. The vectors of columns have an entry for each column that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// The form of the rows.
    pub format: CopyFormat,
    /// Between values of text and CSV: one byte.
    pub delimiter: u8,
    /// What stands for NULL in text and CSV.
    pub null: String,
    /// Text and CSV begin with the names of the columns.
    pub header: bool,
    /// The names that come in have to be the columns' (`HEADER MATCH`).
    pub header_match: bool,
    /// Around values of CSV.
    pub quote: u8,
    /// Before a quote inside a quoted value.
    pub escape: u8,
    /// FORCE_QUOTE: columns whose values are quoted in any case.
    pub force_quote: Vec<bool>,
    /// FORCE_NOT_NULL: columns in which nothing that comes in is NULL.
    pub force_not_null: Vec<bool>,
    /// FORCE_NULL: columns in which the text for NULL means it in quotes, too.
    pub force_null: Vec<bool>,
}

/// One option as the statement has it: its name, and its words; none for a name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOption<'a> {
    /// The option's name, in lower case.
    pub name: &'a str,
    /// One word or text; the names of FORCE_QUOTE and its kin, or `*`.
    pub words: Vec<&'a str>,
}

fn syntax(message: impl Into<String>) -> Error {
    Error::new(SqlState::SyntaxError, message)
}
fn value(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}
fn unsupported(message: impl Into<String>) -> Error {
    Error::new(SqlState::FeatureNotSupported, message)
}

impl CopyOptions {
    /// The options of a format when a statement says no more.
    pub fn of(format: CopyFormat, columns: usize) -> CopyOptions {
        let is_csv = format == CopyFormat::Csv;
        CopyOptions {
            format,
            delimiter: if is_csv { b',' } else { b'\t' },
            null: if is_csv { "" } else { "\\N" }.to_owned(),
            header: false,
            header_match: false,
            quote: b'"',
            escape: b'"',
            force_quote: vec![false; columns],
            force_not_null: vec![false; columns],
            force_null: vec![false; columns],
        }
    }

    /// Settles a statement's options with the rules, messages and codes of PostgreSQL; `columns` are the names of those
    /// that are copied. FREEZE, which only spares PostgreSQL later work on its pages, and encodings other than UTF-8
    /// are refused.
    pub fn parse(
        given: &[CopyOption<'_>],
        columns: &[&str],
        direction: CopyDirection,
    ) -> Result<CopyOptions> {
        for (at, option) in given.iter().enumerate() {
            if given[..at].iter().any(|before| before.name.eq_ignore_ascii_case(option.name)) {
                return Err(syntax("conflicting or redundant options"));
            }
        }
        let find = |name: &str| given.iter().find(|option| option.name.eq_ignore_ascii_case(name));
        let format = match find("format").map(|option| word(option)).transpose()? {
            None => CopyFormat::Text,
            Some(name) if name.eq_ignore_ascii_case("text") => CopyFormat::Text,
            Some(name) if name.eq_ignore_ascii_case("csv") => CopyFormat::Csv,
            Some(name) if name.eq_ignore_ascii_case("binary") => CopyFormat::Binary,
            Some(name) => return Err(value(format!("COPY format \"{name}\" not recognized"))),
        };
        let mut options = CopyOptions::of(format, columns.len());
        let (mut delimiter, mut quote, mut escape) = (None, None, None);
        for option in given {
            match option.name.to_ascii_lowercase().as_str() {
                "format" => {}
                "delimiter" => delimiter = Some(word(option)?),
                "null" => word(option)?.clone_into(&mut options.null),
                "header" => (options.header, options.header_match) = header(option, direction)?,
                "quote" => quote = Some(word(option)?),
                "escape" => escape = Some(word(option)?),
                "force_quote" => options.force_quote = picked(option, columns)?,
                "force_not_null" => options.force_not_null = picked(option, columns)?,
                "force_null" => options.force_null = picked(option, columns)?,
                "encoding" => match word(option)?.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
                    "utf8" | "unicode" => {}
                    _ => return Err(unsupported("COPY reads and writes UTF-8 only")),
                },
                "freeze" => {
                    if is_on(option)? {
                        return Err(unsupported("COPY FREEZE is not supported").with_hint("leave FREEZE out"));
                    }
                }
                _ => return Err(syntax(format!("option \"{}\" not recognized", option.name))),
            }
        }
        options.settle(delimiter, quote, escape)?;
        options.check(given, direction)?;
        Ok(options)
    }

    fn settle(&mut self, delimiter: Option<&str>, quote: Option<&str>, escape: Option<&str>) -> Result<()> {
        let one = |text: &str, what: &str| match text.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(unsupported(format!("COPY {what} must be a single one-byte character"))),
        };
        if self.is_binary() {
            return match delimiter {
                Some(_) => Err(syntax("cannot specify DELIMITER in BINARY mode")),
                None => Ok(()),
            };
        }
        if let Some(text) = delimiter {
            self.delimiter = one(text, "delimiter")?;
        }
        if !self.is_csv() {
            if quote.is_some() {
                return Err(unsupported("COPY quote available only in CSV mode"));
            }
            if escape.is_some() {
                return Err(unsupported("COPY escape available only in CSV mode"));
            }
            return Ok(());
        }
        if let Some(text) = quote {
            self.quote = one(text, "quote")?;
        }
        self.escape = match escape {
            Some(text) => one(text, "escape")?,
            None => self.quote,
        };
        Ok(())
    }

    fn check(&self, given: &[CopyOption<'_>], direction: CopyDirection) -> Result<()> {
        let has = |name: &str| given.iter().any(|option| option.name.eq_ignore_ascii_case(name));
        if self.is_binary() {
            if has("null") {
                return Err(syntax("cannot specify NULL in BINARY mode"));
            }
            if self.header {
                return Err(unsupported("cannot specify HEADER in BINARY mode"));
            }
        }
        for (name, shown) in [
            ("force_quote", "force quote"),
            ("force_not_null", "force not null"),
            ("force_null", "force null"),
        ] {
            if !has(name) {
                continue;
            }
            if !self.is_csv() {
                return Err(unsupported(format!("COPY {shown} available only in CSV mode")));
            }
            let wanted = if name == "force_quote" { CopyDirection::Out } else { CopyDirection::In };
            if direction != wanted {
                let way = if wanted == CopyDirection::Out { "TO" } else { "FROM" };
                return Err(unsupported(format!("COPY {shown} only available using COPY {way}")));
            }
        }
        if self.is_binary() {
            return Ok(());
        }
        if matches!(self.delimiter, b'\n' | b'\r') {
            return Err(value("COPY delimiter cannot be newline or carriage return"));
        }
        if self.null.contains(['\n', '\r']) {
            return Err(value("COPY null representation cannot use newline or carriage return"));
        }
        let forbidden =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"\\.".contains(&byte);
        if !self.is_csv() && forbidden(self.delimiter) {
            return Err(value(format!("COPY delimiter cannot be \"{}\"", char::from(self.delimiter))));
        }
        if self.is_csv() && self.delimiter == self.quote {
            return Err(value("COPY delimiter and quote must be different"));
        }
        if self.null.bytes().any(|byte| byte == self.delimiter) {
            return Err(value("COPY delimiter must not appear in the NULL specification"));
        }
        if self.is_csv() && self.null.bytes().any(|byte| byte == self.quote) {
            return Err(value("CSV quote character must not appear in the NULL specification"));
        }
        Ok(())
    }

    /// Whether the data is binary.
    pub fn is_binary(&self) -> bool {
        self.format == CopyFormat::Binary
    }
    pub(crate) fn is_csv(&self) -> bool {
        self.format == CopyFormat::Csv
    }
    pub(crate) fn forces_quotes(&self, column: usize) -> bool {
        self.force_quote.get(column).copied().unwrap_or(false)
    }
    /// Whether a value of CSV stands in quotes. `alone`: it is the only one of its line, where `\.` would be an end.
    pub(crate) fn needs_quotes(&self, bytes: &[u8], alone: bool) -> bool {
        bytes == self.null.as_bytes()
            || (alone && bytes == b"\\.")
            || bytes
                .iter()
                .any(|byte| matches!(byte, b'\n' | b'\r') || *byte == self.delimiter || *byte == self.quote)
    }
    /// Writes a quoted value at the beginning of `to`, and gives how many bytes it has.
    pub(crate) fn quote_into(&self, bytes: &[u8], to: &mut [u8]) -> usize {
        to[0] = self.quote;
        let mut at = 1;
        for byte in bytes {
            if *byte == self.quote || *byte == self.escape {
                to[at] = self.escape;
                at += 1;
            }
            to[at] = *byte;
            at += 1;
        }
        to[at] = self.quote;
        at + 1
    }
    /// Appends a column's name as the header has it.
    pub(crate) fn push_name(&self, name: &str, alone: bool, line: &mut Vec<u8>) {
        let begin = line.len();
        line.resize(begin + name.len() * 2 + 2, 0);
        let to = &mut line[begin..];
        let length = match self.is_csv() {
            true if self.needs_quotes(name.as_bytes(), alone) => self.quote_into(name.as_bytes(), to),
            true => {
                to[..name.len()].copy_from_slice(name.as_bytes());
                name.len()
            }
            false => crate::rows::escape(name.as_bytes(), self.delimiter, to),
        };
        line.truncate(begin + length);
    }
}

fn word<'a>(option: &CopyOption<'a>) -> Result<&'a str> {
    match option.words.as_slice() {
        [one] => Ok(one),
        _ => Err(syntax(format!("{} requires a parameter", option.name))),
    }
}

fn is_on(option: &CopyOption<'_>) -> Result<bool> {
    match option.words.as_slice() {
        [] => Ok(true),
        [word] if ["true", "on", "1"].iter().any(|on| word.eq_ignore_ascii_case(on)) => Ok(true),
        [word] if ["false", "off", "0"].iter().any(|off| word.eq_ignore_ascii_case(off)) => Ok(false),
        _ => Err(syntax(format!("{} requires a Boolean value", option.name))),
    }
}

/// Whether there is a header, and whether it has to match.
fn header(option: &CopyOption<'_>, direction: CopyDirection) -> Result<(bool, bool)> {
    if option.words.iter().any(|word| word.eq_ignore_ascii_case("match")) {
        return match direction {
            CopyDirection::In => Ok((true, true)),
            CopyDirection::Out => Err(unsupported("cannot use \"match\" with HEADER in COPY TO")),
        };
    }
    match is_on(option) {
        Ok(on) => Ok((on, false)),
        Err(_) => Err(syntax("header requires a Boolean value or \"match\"")),
    }
}

/// Which columns a list of names picks.
fn picked(option: &CopyOption<'_>, columns: &[&str]) -> Result<Vec<bool>> {
    if option.words.as_slice() == ["*"] {
        return match option.name.eq_ignore_ascii_case("force_quote") {
            true => Ok(vec![true; columns.len()]),
            false => {
                Err(value(format!("argument to option \"{}\" must be a list of column names", option.name)))
            }
        };
    }
    if option.words.is_empty() {
        return Err(value(format!("argument to option \"{}\" must be a list of column names", option.name)));
    }
    let mut picked = vec![false; columns.len()];
    for name in &option.words {
        match columns.iter().position(|column| column == name) {
            Some(at) => picked[at] = true,
            None => {
                let message =
                    format!("{} column \"{name}\" not referenced by COPY", option.name.to_ascii_uppercase());
                return Err(Error::new(SqlState::InvalidColumnReference, message));
            }
        }
    }
    Ok(picked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(given: &[(&str, &[&str])], direction: CopyDirection) -> Result<CopyOptions> {
        let given: Vec<CopyOption<'_>> =
            given.iter().map(|(name, words)| CopyOption { name, words: words.to_vec() }).collect();
        CopyOptions::parse(&given, &["a", "b"], direction)
    }

    #[test]
    fn options_are_settled() {
        let csv =
            parsed(&[("FORMAT", &["csv"]), ("header", &[]), ("quote", &["'"])], CopyDirection::Out).unwrap();
        assert_eq!((csv.delimiter, csv.quote, csv.escape, csv.header), (b',', b'\'', b'\'', true));
        assert_eq!(parsed(&[], CopyDirection::In).unwrap(), CopyOptions::of(CopyFormat::Text, 2));
        let forced = [("format", &["csv"][..]), ("force_quote", &["b"])];
        assert_eq!(parsed(&forced, CopyDirection::Out).unwrap().force_quote, [false, true]);
        let all = [("format", &["csv"][..]), ("force_quote", &["*"])];
        assert_eq!(parsed(&all, CopyDirection::Out).unwrap().force_quote, [true, true]);
        let matching = parsed(&[("header", &["match"])], CopyDirection::In).unwrap();
        assert!(matching.header && matching.header_match);
    }

    #[test]
    fn wrong_options_are_refused_as_postgresql_refuses_them() {
        use CopyDirection::{In, Out};
        for (given, direction, state) in [
            (&[("format", &["xml"][..])][..], In, SqlState::InvalidParameterValue),
            (&[("delimiter", &["ab"])], In, SqlState::FeatureNotSupported),
            (&[("delimiter", &["a"])], In, SqlState::InvalidParameterValue),
            (&[("delimiter", &["\n"])], In, SqlState::InvalidParameterValue),
            (&[("null", &["x\ty"])], In, SqlState::InvalidParameterValue),
            (&[("null", &["x\ny"])], In, SqlState::InvalidParameterValue),
            (&[("quote", &["'"])], In, SqlState::FeatureNotSupported),
            (&[("escape", &["'"])], In, SqlState::FeatureNotSupported),
            (&[("format", &["binary"]), ("delimiter", &[","])], In, SqlState::SyntaxError),
            (&[("format", &["binary"]), ("null", &[""])], In, SqlState::SyntaxError),
            (&[("format", &["binary"]), ("header", &[])], In, SqlState::FeatureNotSupported),
            (&[("format", &["csv"]), ("delimiter", &["\""])], In, SqlState::InvalidParameterValue),
            (&[("format", &["csv"]), ("null", &["\""])], In, SqlState::InvalidParameterValue),
            (&[("format", &["csv"]), ("force_quote", &["a"])], In, SqlState::FeatureNotSupported),
            (&[("format", &["csv"]), ("force_null", &["a"])], Out, SqlState::FeatureNotSupported),
            (&[("force_quote", &["a"])], Out, SqlState::FeatureNotSupported),
            (&[("format", &["csv"]), ("force_quote", &["c"])], Out, SqlState::InvalidColumnReference),
            (&[("header", &["match"])], Out, SqlState::FeatureNotSupported),
            (&[("header", &["perhaps"])], In, SqlState::SyntaxError),
            (&[("freeze", &[])], In, SqlState::FeatureNotSupported),
            (&[("encoding", &["latin1"])], In, SqlState::FeatureNotSupported),
            (&[("oids", &[])], In, SqlState::SyntaxError),
            (&[("header", &[]), ("HEADER", &[])], In, SqlState::SyntaxError),
        ] {
            assert_eq!(parsed(given, direction).unwrap_err().state(), state, "{given:?}");
        }
    }
}
