//! The type of a column, guessed from texts: the simplest one that all of them have.
//!
//! Dates are ISO's, or all of one other form. `03/04/2024` does not say whether it is a day of April or of March; what
//! decides is another value, in this column or in any other one of the file. Where none does, the column stays text.

use types::{Type, cast, datetime, digits};

const BOOLEAN: u8 = 1;
const BIGINT: u8 = 2;
const DOUBLE: u8 = 4;
const DATE: u8 = 8;
const TIMESTAMP: u8 = 16;
const TIMESTAMPTZ: u8 = 32;
const TIME: u8 = 64;
const DECIMAL: u8 = 128;
const TEMPORAL: u8 = DATE | TIMESTAMP | TIMESTAMPTZ | TIME;
const DECIMAL_DIGITS: usize = 38;

/// Simplest first; the scale of decimals is that of their column.
const CHOICES: [(u8, Type); 8] = [
    (BOOLEAN, Type::Boolean),
    (BIGINT, Type::BigInt),
    (DOUBLE, Type::Double),
    (DECIMAL, Type::Decimal { precision: DECIMAL_DIGITS as u8, scale: 0 }),
    (DATE, Type::Date),
    (TIMESTAMP, Type::Timestamp),
    (TIMESTAMPTZ, Type::TimestampTz),
    (TIME, Type::Time),
];

/// Forms of dates that are not ISO's, those with the month first at odd places.
const DATES: [&str; 15] = [
    "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y", "%m.%d.%Y", "%d/%m/%y", "%m/%d/%y",
    "%d-%m-%y", "%m-%d-%y", "%d.%m.%y", "%m.%d.%y", "%d-%b-%Y", "%d %b %Y", "%Y.%m.%d",
];
/// What may follow them.
const TIMES: [&str; 4] = [" %H:%M:%S%.f", " %H:%M", " %I:%M:%S %p", " %I:%M %p"];
/// Every other one of the first twelve.
const DAY_FIRST: u16 = 0x555;
const MONTH_FIRST: u16 = 0xAAA;

/// The types that a text can be read as, in addition to TEXT.
fn kinds(text: &str) -> u8 {
    let text = text.trim();
    let bytes = text.as_bytes();
    let Some(first) = bytes.first() else { return 0 };
    if first.is_ascii_alphabetic() {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "false" => BOOLEAN,
            "nan" | "inf" | "infinity" => DOUBLE,
            _ => 0,
        };
    }
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) || !text.is_ascii() {
        return 0;
    }
    // Written so, it is a code or the number of a telephone rather than a number, and as one would lose zeros or sign.
    if *first == b'+' || padded(bytes) {
        return 0;
    }
    if text.parse::<i64>().is_ok() {
        return BIGINT | DECIMAL | if digits::held_by_double(text) { DOUBLE } else { 0 };
    }
    if text.strip_prefix('-').unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) {
        // Too long for BIGINT: as DOUBLE it would lose digits.
        return 0;
    }
    if bytes.len() >= 8 && matches!(bytes[4], b'-' | b'/') {
        if bytes.len() <= 10 {
            return if datetime::parse_date(text).is_some() { DATE | TIMESTAMP | TIMESTAMPTZ } else { 0 };
        }
        if datetime::parse_timestamp(text).is_some() {
            let zoned = bytes[11..].iter().any(|b| b.is_ascii_alphabetic() || matches!(b, b'+' | b'-'));
            return if zoned { TIMESTAMPTZ } else { TIMESTAMP | TIMESTAMPTZ };
        }
        return 0;
    }
    if matches!(bytes.len(), 5..=15) && bytes[2] == b':' {
        return if datetime::parse_time(text).is_some() { TIME } else { 0 };
    }
    if cast::parse_text(text, Type::Double).is_err() {
        return 0;
    }
    let double = if digits::held_by_double(text) { DOUBLE } else { 0 };
    let fits = digits::fixed(text).is_some_and(|(before, behind)| before + behind <= DECIMAL_DIGITS);
    double | if fits { DECIMAL } else { 0 }
}

/// What a text is at first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Number,
    Moment,
    Boolean,
    /// With letters, and no value of a type.
    Word,
    /// Without letters: a code, a number in a form of its own, a sign for nothing.
    Signs,
}

/// The family of a text: what kind of value, word or sign it looks like.
pub fn family(text: &str) -> Family {
    let text = text.trim();
    let kinds = kinds(text);
    if kinds & BOOLEAN != 0 {
        return Family::Boolean;
    }
    if kinds & (BIGINT | DOUBLE | DECIMAL) != 0 {
        return Family::Number;
    }
    let dated = || {
        let mut guess = Guess::NEW;
        guess.add(text);
        guess.forms() != 0
    };
    match kinds & TEMPORAL != 0 || dated() {
        true => Family::Moment,
        false if text.chars().any(char::is_alphabetic) => Family::Word,
        false => Family::Signs,
    }
}

/// Zeros before the digits of a number, which a type would lose.
fn padded(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    // Dates and times may begin so.
    matches!(digits, [b'0', next, ..] if next.is_ascii_digit())
        && digits.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))
        && digits::fixed(std::str::from_utf8(bytes).unwrap_or_default()).is_some()
}

/// Whether a type that was found in other texts keeps all that a text says.
pub fn fits(text: &str, ty: Type) -> bool {
    match ty {
        Type::Decimal { precision, scale } => {
            let trimmed = text.trim();
            !trimmed.starts_with('+')
                && !padded(trimmed.as_bytes())
                && digits::fixed(trimmed).is_some_and(|(before, behind)| {
                    behind <= usize::from(scale) && before + usize::from(scale) <= usize::from(precision)
                })
        }
        Type::Boolean => kinds(text) & (BIGINT | DOUBLE) == 0,
        // What is no form of a moment has been read as a word for one, such as infinity.
        Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time => {
            let kinds = kinds(text) & TEMPORAL;
            kinds == 0 || CHOICES.iter().any(|(kind, choice)| *choice == ty && kinds & kind != 0)
        }
        _ => match CHOICES.iter().find(|(_, choice)| *choice == ty) {
            Some((kind, _)) => kinds(text) & kind != 0,
            None => true,
        },
    }
}

/// The forms that a date has which is not ISO's, as bits by `DATES`.
fn date_forms(text: &str) -> u16 {
    let Some((separator, slot)) = [('/', 0), ('-', 2), ('.', 4)].into_iter().find(|(c, _)| text.contains(*c))
    else {
        return named_month(text, ' ', 13);
    };
    let mut parts = text.split(separator);
    let (Some(a), Some(b), Some(c), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return 0;
    };
    if separator == '.' && a.len() == 4 {
        // The year comes first, so there is nothing to be unsure about.
        let digits = |part: &str| matches!(part.len(), 1..=2) && part.bytes().all(|b| b.is_ascii_digit());
        let iso = format!("{a}-{b:0>2}-{c:0>2}");
        return u16::from(digits(b) && digits(c) && datetime::parse_date(&iso).is_some()) << 14;
    }
    let number = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        let digits = lengths.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (Some(first), Some(second), Some(year)) = (number(a, 1..=2), number(b, 1..=2), number(c, 2..=4))
    else {
        return if separator == '-' { named_month(text, '-', 12) } else { 0 };
    };
    let short = match c.len() {
        2 => 6,
        4 => 0,
        _ => return 0,
    };
    let year = if short == 0 { year as i32 } else { 2000 };
    let valid = |day: u32, month: u32| {
        year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= datetime::days_in_month(year, month)
    };
    let day_first = u16::from(valid(first, second)) << (slot + short);
    let month_first = u16::from(valid(second, first)) << (slot + short + 1);
    day_first | month_first
}

/// `3-Feb-2024`.
fn named_month(text: &str, separator: char, slot: usize) -> u16 {
    let mut parts = text.split(separator);
    let (Some(day), Some(month), Some(year), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return 0;
    };
    let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let Some(month) = (1..).zip(names).find(|(_, name)| month.eq_ignore_ascii_case(name)) else { return 0 };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if day.len() > 2 || year.len() != 4 || !digits(day) || !digits(year) {
        return 0;
    }
    let year = year.parse().unwrap_or(0);
    let last = datetime::days_in_month(year, month.0);
    u16::from(year >= 1 && day.parse::<u32>().is_ok_and(|d| (1..=last).contains(&d))) << slot
}

/// The form of a time of day, as its place in `TIMES`.
fn time_form(text: &str) -> Option<usize> {
    let (clock, half) = match text.len().checked_sub(3).and_then(|at| text.split_at_checked(at)) {
        Some((clock, half)) if matches!(half.to_ascii_lowercase().as_str(), " am" | " pm") => (clock, 2),
        _ => (text, 0),
    };
    let colons = clock.bytes().filter(|b| *b == b':').count();
    let padded = if clock.find(':') == Some(1) { format!("0{clock}") } else { clock.to_owned() };
    datetime::parse_time(&padded)?;
    match colons {
        2 => Some(half),
        1 => Some(half + 1),
        _ => None,
    }
}

/// The place of a type among candidates: the simplest comes first.
pub fn rank(ty: Type) -> (usize, u8, usize) {
    let place = match ty {
        Type::Boolean => 0,
        Type::Time => 1,
        Type::Date => 2,
        Type::Timestamp => 3,
        Type::TimestampTz => 4,
        _ if ty.is_integer() => 5,
        Type::Decimal { .. } => 6,
        _ if ty.is_float() => 7,
        _ if ty.is_text() => 9,
        _ => 8,
    };
    let digits = ty.integer_digits().unwrap_or(ty.scale());
    (place, digits, ty.physical().width())
}

/// What has been seen of a column.
#[derive(Clone, Debug)]
pub struct Guess {
    kinds: u8,
    /// The other forms of dates that all values have, and of timestamps by the form of their time.
    dates: u16,
    stamps: [u16; TIMES.len()],
    /// Digits before and behind the point, at most.
    digits: (usize, usize),
    /// Some text was added.
    pub seen: bool,
}

/// Which of day and month comes first in a file's dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Unknown,
    DayFirst,
    MonthFirst,
}

impl Guess {
    /// The guess before any text: every type is possible.
    pub const NEW: Guess = Guess {
        kinds: u8::MAX,
        dates: u16::MAX,
        stamps: [u16::MAX; TIMES.len()],
        digits: (0, 0),
        seen: false,
    };

    /// Adds a text: types and forms of dates that it cannot be read as are ruled out.
    pub fn add(&mut self, text: &str) {
        self.seen = true;
        if self.kinds != 0 {
            self.kinds &= kinds(text);
        }
        if self.kinds & DECIMAL != 0 {
            let (before, behind) = digits::fixed(text).unwrap_or_default();
            self.digits = (self.digits.0.max(before), self.digits.1.max(behind));
        }
        if self.dates == 0 && self.stamps == [0; TIMES.len()] {
            return;
        }
        let text = text.trim();
        let candidate = text.len() <= 40 && text.is_ascii();
        self.dates &= if candidate { date_forms(text) } else { 0 };
        let space = match text.rfind(' ') {
            Some(at) if text[at..].eq_ignore_ascii_case(" am") || text[at..].eq_ignore_ascii_case(" pm") => {
                text[..at].rfind(' ')
            }
            at => at,
        };
        let (dates, form) = match space.filter(|_| candidate).map(|at| (&text[..at], &text[at + 1..])) {
            Some((date, time)) => (date_forms(date), time_form(time)),
            None => (0, None),
        };
        for (at, stamps) in self.stamps.iter_mut().enumerate() {
            *stamps &= if form == Some(at) { dates } else { 0 };
        }
    }

    /// Whether the texts that were seen leave the type possible.
    pub fn may_be(&self, ty: Type) -> bool {
        let kind = match ty {
            _ if ty.is_integer() => BIGINT,
            Type::Decimal { .. } => DECIMAL,
            _ if ty.is_float() => DOUBLE,
            _ => match CHOICES.iter().find(|(_, choice)| *choice == ty) {
                Some((kind, _)) => *kind,
                None => return self.seen,
            },
        };
        self.seen && self.kinds & kind != 0
    }

    fn forms(&self) -> u16 {
        if self.dates != 0 { self.dates } else { self.stamps.iter().fold(0, |all, s| all | s) }
    }

    /// What the column says about the order of day and month, if it is one of such dates.
    pub fn order(&self) -> Option<Order> {
        let forms = if self.seen && self.kinds == 0 { self.forms() } else { 0 };
        match (forms & DAY_FIRST != 0, forms & MONTH_FIRST != 0) {
            (true, true) => Some(Order::Unknown),
            (true, false) => Some(Order::DayFirst),
            (false, true) => Some(Order::MonthFirst),
            (false, false) => None,
        }
    }

    /// The type, and the form of its dates where that is not ISO's.
    pub fn ty(&self, order: Order) -> (Type, Option<String>) {
        let fits = |(kind, ty): &(u8, Type)| (self.kinds & kind != 0).then_some(*ty);
        if !self.seen {
            return (Type::Text, None);
        }
        match CHOICES.iter().find_map(fits) {
            Some(Type::Decimal { precision, .. }) => {
                let holds = self.digits.0 + self.digits.1 <= DECIMAL_DIGITS;
                let ty = Type::Decimal { precision, scale: self.digits.1 as u8 };
                return (if holds { ty } else { Type::Text }, None);
            }
            Some(ty) => return (ty, None),
            None => {}
        }
        let one = |forms: u16| {
            let fixed = forms & !(DAY_FIRST | MONTH_FIRST);
            let chosen = match order {
                _ if fixed != 0 => fixed,
                _ if forms & DAY_FIRST == 0 || forms & MONTH_FIRST == 0 => forms,
                Order::Unknown => 0,
                Order::DayFirst => forms & DAY_FIRST,
                Order::MonthFirst => forms & MONTH_FIRST,
            };
            DATES.get(chosen.trailing_zeros() as usize).filter(|_| chosen != 0)
        };
        if let Some(form) = one(self.dates) {
            return (Type::Date, Some((*form).to_owned()));
        }
        for (at, forms) in self.stamps.iter().enumerate() {
            if let Some(form) = one(*forms) {
                return (Type::Timestamp, Some(format!("{form}{}", TIMES[at])));
            }
        }
        (Type::Text, None)
    }
}

/// The order of day and month in a file, by what its columns say.
pub fn order_of<'a>(guesses: impl Iterator<Item = &'a Guess>) -> Order {
    let mut order = Order::Unknown;
    for found in guesses.filter_map(Guess::order).filter(|o| *o != Order::Unknown) {
        if order != Order::Unknown && order != found {
            return Order::Unknown;
        }
        order = found;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(texts: &[&str]) -> Guess {
        let mut guess = Guess::NEW;
        texts.iter().for_each(|text| guess.add(text));
        guess
    }

    #[test]
    fn kinds_of_texts() {
        let ty = |texts: &[&str]| guess(texts).ty(Order::Unknown).0;
        assert_eq!(ty(&["1", "-2", "0"]), Type::BigInt);
        assert_eq!(ty(&["1", "2.5", "1e3"]), Type::Double);
        assert_eq!(ty(&["true", "FALSE"]), Type::Boolean);
        assert_eq!(ty(&["true", "1"]), Type::Text);
        assert_eq!(ty(&["2020-01-02"]), Type::Date);
        assert_eq!(ty(&["2020-01-02", "2020-01-02 03:04:05"]), Type::Timestamp);
        assert_eq!(ty(&["2020-01-02 03:04:05Z", "2020-01-02 03:04:05"]), Type::TimestampTz);
        assert_eq!(ty(&["2020-02-30"]), Type::Text);
        assert_eq!(ty(&["12345678901234567890"]), Type::Text);
        assert_eq!(ty(&["1-2-3"]), Type::Text);
        assert_eq!(ty(&["01234", "98765"]), Type::Text);
        for code in [
            "+4915112345",
            "00",
            "007",
            "-007",
            "007.5",
            "01.10",
            "+1.5",
            "0x10",
            "1_000",
            "1,000",
            "$5",
            "5%",
        ] {
            assert_eq!(ty(&[code]), Type::Text, "{code}");
            assert_eq!(ty(&["5", code]), Type::Text, "{code}");
        }
        for number in [".097", "-.5", "1.", "1e5", "1e+5", "0.5", "-0.5", "1.000000000000000056e-01"] {
            assert_eq!(ty(&[number]), Type::Double, "{number}");
            assert_eq!(ty(&["5", number]), Type::Double, "{number}");
        }
        assert_eq!(ty(&[" 5", "-12 "]), Type::BigInt);
        assert_eq!(ty(&["9007199254740993", "1.5"]), Type::Decimal { precision: 38, scale: 1 });
        assert_eq!(ty(&["0.12345678901234567890123", "12"]), Type::Decimal { precision: 38, scale: 23 });
        assert_eq!(ty(&["9007199254740993", "1e5"]), Type::Text);
        assert_eq!(ty(&["12:30:00", "01:02:03.5"]), Type::Time);
        assert_eq!(ty(&[]), Type::Text);
    }

    #[test]
    fn families_of_texts() {
        for (text, expected) in [
            ("5", Family::Number),
            ("-1.5e3", Family::Number),
            (".5", Family::Number),
            ("2024-01-02", Family::Moment),
            ("1/22/20", Family::Moment),
            ("12:30:00", Family::Moment),
            ("true", Family::Boolean),
            ("city", Family::Word),
            ("2020 sales", Family::Word),
            ("007", Family::Signs),
            ("+49", Family::Signs),
            ("1,5", Family::Signs),
            ("$5", Family::Signs),
            ("-", Family::Signs),
        ] {
            assert_eq!(family(text), expected, "{text}");
        }
    }

    #[test]
    fn found_types_keep_texts() {
        let decimal = Type::Decimal { precision: 38, scale: 2 };
        for (text, ty) in [
            ("5", Type::BigInt),
            ("5.25", decimal),
            ("-1.50", decimal),
            ("0.5", Type::Double),
            ("true", Type::Boolean),
            ("2020-01-01", Type::Timestamp),
            ("x", Type::Text),
            ("01/02/2020", Type::Text),
            ("infinity", Type::Date),
            ("yes", Type::Boolean),
            ("12.3456789012345678", Type::Text),
        ] {
            assert!(fits(text, ty), "{text} {ty}");
        }
        for (text, ty) in [
            ("007", Type::BigInt),
            ("+5", Type::BigInt),
            ("1.255", decimal),
            ("1", Type::Boolean),
            ("0.12345678901234567890123", Type::Double),
            ("007", Type::Double),
            ("2020-01-01 10:00:00", Type::Date),
            ("2020-01-01 10:00:00+02", Type::Timestamp),
        ] {
            assert!(!fits(text, ty), "{text} {ty}");
        }
    }

    #[test]
    fn other_forms_of_dates() {
        let form = |texts: &[&str], order| {
            let (ty, form) = guess(texts).ty(order);
            format!("{} {}", ty.sql_name(), form.unwrap_or_default())
        };
        assert_eq!(form(&["13/02/2024", "01/02/2024"], Order::Unknown), "DATE %d/%m/%Y");
        assert_eq!(form(&["02/13/2024", "1/2/2024"], Order::Unknown), "DATE %m/%d/%Y");
        assert_eq!(form(&["01/02/2024"], Order::Unknown), "TEXT ");
        assert_eq!(form(&["01/02/2024"], Order::MonthFirst), "DATE %m/%d/%Y");
        assert_eq!(form(&["13/02/2024", "02/13/2024"], Order::Unknown), "TEXT ");
        assert_eq!(form(&["31.12.99", "1.1.00"], Order::Unknown), "DATE %d.%m.%y");
        assert_eq!(form(&["2000.01.31", "1999.1.2"], Order::Unknown), "DATE %Y.%m.%d");
        assert_eq!(form(&["2000.13.01"], Order::Unknown), "TEXT ");
        assert_eq!(form(&["3-Feb-2024"], Order::Unknown), "DATE %d-%b-%Y");
        assert_eq!(form(&["3 Feb 2024"], Order::Unknown), "DATE %d %b %Y");
        assert_eq!(form(&["3 Feb 2024 10:30:00"], Order::Unknown), "TIMESTAMP %d %b %Y %H:%M:%S%.f");
        assert_eq!(form(&["3 Feb 2024 and later"], Order::Unknown), "TEXT ");
        assert_eq!(form(&["30-Feb-2024"], Order::Unknown), "TEXT ");
        assert_eq!(form(&["13/02/2024 10:30"], Order::Unknown), "TIMESTAMP %d/%m/%Y %H:%M");
        assert_eq!(form(&["2/13/2024 1:30:05 PM"], Order::Unknown), "TIMESTAMP %m/%d/%Y %I:%M:%S %p");
        assert_eq!(form(&["30/02/2024"], Order::Unknown), "TEXT ");
        let columns = [guess(&["13/02/2024"]), guess(&["01/02/2024"]), guess(&["x"])];
        assert_eq!(order_of(columns.iter()), Order::DayFirst);
        let columns = [guess(&["13/02/2024"]), guess(&["02/13/2024"])];
        assert_eq!(order_of(columns.iter()), Order::Unknown);
    }
}
