//! How records are cut into fields, and how the texts of fields become values.
//!
//! A `Dialect` holds the bytes that cut: delimiter, quote, escape, line end, comment. `Forms` holds what texts mean:
//! the texts of NULL, the signs of numbers, the forms of dates by column, the zone of instants without one. Both are
//! made from the `TextOptions` of a described file and do not change while it is read. `split` and `parse` use the
//! dialect, `columns` uses the forms; JSON files have forms, too.

use std::sync::Arc;

use chrono::format::{Item, Parsed, StrftimeItems};
use plan::FileFormat;
use plan::file::{RECORD_BYTES_MAX, TextOptions};
use types::{Error, Result, SqlState, Type, Value, Zone, cast, datetime, zone};

/// How records are cut into fields.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The byte between two fields, or the last one of several.
    pub delimiter: u8,
    /// The bytes of the delimiter before its last one, zeros before them.
    pub delimiter_begin: [u8; 3],
    /// The byte around quoted values; `None`: nothing is quoted.
    pub quote: Option<u8>,
    /// A character other than the quote that stands before a quote of the value.
    pub escape: Option<u8>,
    /// The last byte of a line end: LF, or CR where lines end in CR alone.
    pub newline: u8,
    /// Lines that begin with this byte are passed over.
    pub comment: Option<u8>,
    /// A delimiter may stand after the last value.
    pub trailing: bool,
    /// Misplaced quotes are read as well as can be, instead of being errors.
    pub lenient: bool,
    /// Bytes of a record, at most.
    pub record_bytes_max: usize,
}

impl Dialect {
    /// A dialect with LF at line ends, doubled quotes as the escape, and no comments.
    pub const fn simple(delimiter: u8, quote: Option<u8>) -> Self {
        Dialect {
            delimiter,
            delimiter_begin: [0; 3],
            quote,
            escape: None,
            newline: b'\n',
            comment: None,
            trailing: false,
            lenient: false,
            record_bytes_max: RECORD_BYTES_MAX,
        }
    }
    /// How many bytes a delimiter has before its last one.
    #[inline]
    pub fn delimiter_before(&self) -> usize {
        self.delimiter_begin.iter().filter(|byte| **byte != 0).count()
    }
    /// Whether a delimiter, and not just its last byte, ends at this place.
    #[inline]
    pub fn ends_delimiter(&self, data: &[u8], at: usize) -> bool {
        let before = self.delimiter_before();
        at >= before && data[at - before..at] == self.delimiter_begin[3 - before..]
    }
    /// Where a record ends can be told from the number of quotes before it.
    pub fn counts_quotes(&self) -> bool {
        self.quote.is_none() || (self.escape.is_none() && self.comment.is_none() && !self.lenient)
    }
}

/// The dialect of a described file.
pub fn dialect_of(format: FileFormat, options: &TextOptions) -> Dialect {
    let set = |byte: u8| (byte != 0).then_some(byte);
    Dialect {
        delimiter: options.delimiter,
        delimiter_begin: options.delimiter_begin,
        quote: set(options.quote),
        escape: set(options.escape).filter(|e| options.quote != 0 && *e != options.quote),
        newline: options.newline,
        comment: set(options.comment),
        trailing: format == FileFormat::Tbl,
        lenient: options.lenient,
        record_bytes_max: options.record_bytes_max,
    }
}

/// How texts become values, where that is not as in SQL.
#[derive(Clone, Debug)]
pub struct Forms {
    /// The texts without quotes that stand for NULL.
    pub null_texts: Vec<Vec<u8>>,
    /// By column, the form of its dates.
    patterns: Vec<Option<Pattern>>,
    /// By column, whether its type was found in a sample.
    found: Vec<bool>,
    /// The sign before a number's fraction.
    pub decimal: u8,
    /// The sign between thousands; 0 for none.
    pub thousands: u8,
    zone: Zone,
}

impl Forms {
    /// The forms that a file's options say; an error when a form of dates is no valid pattern.
    pub fn of(options: &TextOptions) -> Result<Forms> {
        let pattern = |text: &Option<String>| text.as_deref().map(Pattern::new).transpose();
        Ok(Forms {
            null_texts: options.null_texts.iter().map(|t| t.clone().into_bytes()).collect(),
            patterns: options.formats.iter().map(pattern).collect::<Result<_>>()?,
            found: options.found.clone(),
            decimal: options.decimal,
            thousands: options.thousands,
            zone: options.time_zone,
        })
    }
    /// Reads a value whose text is as SQL has it.
    pub fn parse(&self, text: &str, ty: Type) -> Result<Value> {
        match ty {
            Type::TimestampTz => zone::within(self.zone, || cast::parse_text(text, ty)),
            _ => cast::parse_text(text, ty),
        }
    }
    /// The zone of instants whose text names none; other moments have none.
    pub fn zone_of(&self, ty: Type) -> Zone {
        if ty == Type::TimestampTz { self.zone } else { Zone::Utc }
    }
    /// The form of the column's dates or timestamps, where it is not ISO's.
    pub fn pattern(&self, column: usize) -> Option<&Pattern> {
        self.patterns.get(column)?.as_ref()
    }
    /// Whether the column's type was found in a sample.
    pub fn found(&self, column: usize) -> bool {
        self.found.get(column).copied().unwrap_or_default()
    }
    /// Only nothing at all stands for NULL.
    pub fn empty_is_null(&self) -> bool {
        matches!(self.null_texts.as_slice(), [only] if only.is_empty())
    }
    /// Numbers are written as in SQL.
    pub fn plain_numbers(&self) -> bool {
        self.decimal == b'.' && self.thousands == 0
    }
    /// A number as SQL writes it.
    pub fn number(&self, text: &str) -> String {
        text.chars()
            .filter(|c| self.thousands == 0 || *c != char::from(self.thousands))
            .map(|c| if c == char::from(self.decimal) { '.' } else { c })
            .collect()
    }
}

/// A form of dates or timestamps, as in strftime.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pattern as it was given.
    pub text: Arc<str>,
    items: Arc<[Item<'static>]>,
}

impl Pattern {
    /// Parses the pattern; an error names the wrong one.
    pub fn new(text: &str) -> Result<Pattern> {
        let items = StrftimeItems::new(text).parse_to_owned().map_err(|_| {
            Error::new(SqlState::InvalidParameterValue, format!("invalid format of dates: \"{text}\""))
                .with_hint("such as '%d/%m/%Y' or '%Y-%m-%d %H:%M:%S'")
        })?;
        Ok(Pattern { text: text.into(), items: items.into() })
    }

    fn parsed(&self, text: &str) -> Option<Parsed> {
        let mut parsed = Parsed::new();
        chrono::format::parse(&mut parsed, text.trim(), self.items.iter()).ok()?;
        Some(parsed)
    }

    /// Days since 1970-01-01.
    pub fn date(&self, text: &str) -> Option<i32> {
        use chrono::Datelike;
        let date = self.parsed(text)?.to_naive_date().ok()?;
        Some(datetime::days_from_civil(date.year(), date.month(), date.day()))
    }

    /// Microseconds since then; without a time of day, midnight's.
    /// A text that names no zone of its own is read in this one.
    pub fn timestamp(&self, text: &str, zone: Zone) -> Option<i64> {
        use chrono::Timelike;
        let parsed = self.parsed(text)?;
        if let Ok(zoned) = parsed.to_datetime() {
            return Some(zoned.timestamp_micros());
        }
        let days = self.date(text)?;
        let midnight = i64::from(days) * datetime::MICROS_PER_DAY;
        let Ok(time) = parsed.to_naive_time() else { return zone.instant(midnight) };
        let seconds = i64::from(time.num_seconds_from_midnight());
        zone.instant(midnight + seconds * datetime::MICROS_PER_SECOND + i64::from(time.nanosecond() / 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_read_dates() {
        let read = |pattern: &str, text: &str| Pattern::new(pattern).unwrap().date(text);
        let day = datetime::parse_date("2024-02-03").unwrap();
        assert_eq!(read("%d/%m/%Y", "03/02/2024"), Some(day));
        assert_eq!(read("%m/%d/%Y", "2/3/2024"), Some(day));
        assert_eq!(read("%d-%b-%Y", "3-Feb-2024"), Some(day));
        assert_eq!(read("%d/%m/%Y", "03/13/2024"), None);
        assert_eq!(read("%d/%m/%Y", "03/02/2024 x"), None);
        let at = Pattern::new("%d.%m.%Y %H:%M").unwrap().timestamp("03.02.2024 04:05", Zone::Utc);
        assert_eq!(at, datetime::parse_timestamp("2024-02-03 04:05:00"));
        assert_eq!(
            Pattern::new("%d/%m/%Y").unwrap().timestamp("03/02/2024", Zone::Utc).map(|t| t % 86_400_000_000),
            Some(0)
        );
        assert!(Pattern::new("%Q").is_err());
    }
}
