//! Moments, intervals and numbers as text, by PostgreSQL's templates (`to_char`) and by C's (`strftime`).

use types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};
use types::{Result, SqlState, Type, Value, Zone};

use super::time::{day_of, day_of_year, iso_week, weekday};
use super::{Arguments, invalid};

pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// What a moment is made of.
struct Parts {
    day: i32,
    year: i32,
    month: u32,
    month_day: u32,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    zone: Zone,
    /// Seconds east of Greenwich.
    offset: i32,
    /// The moment as an instant.
    instant: i64,
}

/// What a clock in the zone shows at the instant; a moment without a zone is taken as UTC.
fn parts(instant: i64, zone: Zone) -> Parts {
    let moment = zone.local(instant).unwrap_or(instant);
    let day = day_of(moment);
    let date = civil_from_days(day);
    let time = moment.rem_euclid(MICROS_PER_DAY);
    let seconds = time / MICROS_PER_SECOND;
    Parts {
        day,
        year: date.year,
        month: date.month,
        month_day: date.day,
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        micros: time % MICROS_PER_SECOND,
        zone,
        offset: zone.offset_at(instant),
        instant,
    }
}

/// Hours of a clock with twelve.
fn twelve(hour: i64) -> i64 {
    (hour + 11) % 12 + 1
}

pub(super) fn to_char(a: &Arguments<'_>) -> Result<Value> {
    let template = a.text(1)?;
    if template.is_empty() && !a.types[0].is_numeric() {
        return Ok(Value::Null);
    }
    let text = match a.types[0] {
        Type::Timestamp | Type::TimestampTz => {
            let zone = if a.len() > 2 { super::zones::zone_of(a, 2)? } else { Zone::Utc };
            by_template(&parts(a.integer(0)?, zone), template)
        }
        // A time of day is as an interval.
        Type::Time | Type::IntervalDayTime => {
            let micros = a.integer(0)?;
            let size = micros.unsigned_abs() as i64;
            let seconds = size / MICROS_PER_SECOND;
            let days = seconds / 86_400;
            let parts = Parts {
                day: 0,
                year: 0,
                month: 0,
                month_day: days as u32,
                hour: seconds % 86_400 / 3600,
                minute: seconds / 60 % 60,
                second: seconds % 60,
                micros: size % MICROS_PER_SECOND,
                zone: Zone::Utc,
                offset: 0,
                instant: 0,
            };
            by_template(&parts, template)
        }
        _ => number_by_template(&a.values[0], a.types[0], template)?,
    };
    Ok(Value::text(&text))
}

/// The template patterns, longer ones before those they begin with.
const PATTERNS: [&str; 67] = [
    "MONTH", "Month", "month", "MON", "Mon", "mon", "DAY", "Day", "day", "DDD", "ddd", "DY", "Dy", "dy",
    "DD", "dd", "HH24", "hh24", "HH12", "hh12", "HH", "hh", "MI", "mi", "MM", "mm", "MS", "ms", "US", "us",
    "SSSSS", "SSSS", "SS", "ss", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "A.M.", "P.M.", "a.m.", "p.m.",
    "AM", "PM", "am", "pm", "Y,YYY", "IYYY", "IYY", "IY", "YYYY", "yyyy", "YYY", "YY", "yy", "IDDD", "IW",
    "WW", "ww", "CC", "RM", "ID", "TZ", "tz", "OF",
];

fn by_template(p: &Parts, template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while !rest.is_empty() {
        // A quoted part is taken as it is.
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            out.push_str(&quoted[..end]);
            rest = quoted.get(end + 1..).unwrap_or_default();
            continue;
        }
        let (fill, after) = match rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            Some(after) => (false, after),
            None => (true, rest),
        };
        let single = ["D", "d", "J", "j", "Q", "q", "W", "w", "Y", "y", "I"];
        let pattern = PATTERNS.iter().copied().chain(single).find(|pattern| after.starts_with(pattern));
        let Some(pattern) = pattern else {
            if !fill {
                rest = after;
                continue;
            }
            let mut characters = rest.chars();
            out.extend(characters.next());
            rest = characters.as_str();
            continue;
        };
        rest = &after[pattern.len()..];
        let text = field(p, pattern, fill);
        let ordinal = rest.starts_with("TH") || rest.starts_with("th");
        out.push_str(&text);
        if ordinal && text.bytes().all(|b| b.is_ascii_digit()) {
            let ending = ordinal_ending(text.parse().unwrap_or(0));
            out.push_str(&if rest.starts_with("TH") { ending.to_uppercase() } else { ending.to_owned() });
            rest = &rest[2..];
        }
    }
    out
}

/// `+02`, `-03:30`.
fn offset(seconds: i32) -> String {
    let mut text = String::new();
    types::zone::push_offset(&mut text, seconds, false);
    text
}

fn ordinal_ending(number: i64) -> &'static str {
    match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

fn field(p: &Parts, pattern: &str, fill: bool) -> String {
    let number = |value: i64, width: usize| if fill { format!("{value:0width$}") } else { value.to_string() };
    let cased = |word: &str, pattern: &str| {
        let mut letters = pattern.chars();
        match (letters.next().is_some_and(char::is_uppercase), letters.next().is_some_and(char::is_uppercase))
        {
            (true, true) => word.to_uppercase(),
            (true, false) => word.to_owned(),
            _ => word.to_lowercase(),
        }
    };
    // Names of months and days are as wide as the longest.
    let wide = |word: String| if fill { format!("{word:<9}") } else { word };
    // Years before 1 are counted from 1 on, backwards.
    let year = i64::from(if p.year > 0 { p.year } else { 1 - p.year });
    let (iso_year, week) = iso_week(p.day);
    let month = MONTHS.get(p.month.wrapping_sub(1) as usize).copied().unwrap_or_default();
    match pattern {
        "MONTH" | "Month" | "month" => wide(cased(month, pattern)),
        "MON" | "Mon" | "mon" => cased(month.get(..3).unwrap_or_default(), pattern),
        "DAY" | "Day" | "day" => wide(cased(DAYS[weekday(p.day)], pattern)),
        "DY" | "Dy" | "dy" => cased(&DAYS[weekday(p.day)][..3], pattern),
        "DDD" | "ddd" => number(i64::from(day_of_year(p.day)), 3),
        "DD" | "dd" => number(i64::from(p.month_day), 2),
        "D" | "d" => (weekday(p.day) + 1).to_string(),
        "ID" => ((weekday(p.day) + 6) % 7 + 1).to_string(),
        "IDDD" => {
            let first = p.day - (weekday(p.day) as i32 + 6) % 7 - (week - 1) * 7;
            number(i64::from(p.day - first + 1), 3)
        }
        "HH24" | "hh24" => number(p.hour, 2),
        "HH12" | "hh12" | "HH" | "hh" => number(twelve(p.hour), 2),
        "MI" | "mi" => number(p.minute, 2),
        "MM" | "mm" => number(i64::from(p.month), 2),
        "SS" | "ss" => number(p.second, 2),
        // Digits behind a point keep their zeros, whatever FM says.
        "MS" | "ms" => format!("{:03}", p.micros / 1000),
        "US" | "us" => format!("{:06}", p.micros),
        "SSSSS" | "SSSS" => (p.hour * 3600 + p.minute * 60 + p.second).to_string(),
        "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
            let digits = usize::from(pattern.as_bytes()[2] - b'0');
            format!("{:06}", p.micros)[..digits].to_owned()
        }
        "AM" | "PM" | "am" | "pm" | "A.M." | "P.M." | "a.m." | "p.m." => {
            let letter = if p.hour < 12 { "a" } else { "p" };
            let text = if pattern.len() == 4 { format!("{letter}.m.") } else { format!("{letter}m") };
            if pattern.starts_with(char::is_uppercase) { text.to_uppercase() } else { text }
        }
        "Y,YYY" => format!("{},{:03}", year / 1000, year % 1000),
        "YYYY" | "yyyy" => number(year, 4),
        "YYY" => number(year % 1000, 3),
        "YY" | "yy" => number(year % 100, 2),
        "Y" | "y" => (year % 10).to_string(),
        "IYYY" => number(i64::from(iso_year), 4),
        "IYY" => number(i64::from(iso_year) % 1000, 3),
        "IY" => number(i64::from(iso_year) % 100, 2),
        "I" => (iso_year % 10).to_string(),
        "IW" => number(i64::from(week), 2),
        "WW" | "ww" => number(i64::from((day_of_year(p.day) - 1) / 7 + 1), 2),
        "W" | "w" => ((p.month_day - 1) / 7 + 1).to_string(),
        "CC" => number((year + 99) / 100, 2),
        "Q" | "q" => ((p.month - 1) / 3 + 1).to_string(),
        "J" | "j" => (i64::from(p.day) + 2_440_588).to_string(),
        "RM" => {
            let roman = ROMAN.get(p.month.wrapping_sub(1) as usize).copied().unwrap_or_default();
            if fill { format!("{roman:<4}") } else { roman.to_owned() }
        }
        "TZ" => p.zone.abbreviation(p.instant),
        "tz" => p.zone.abbreviation(p.instant).to_lowercase(),
        "OF" => offset(p.offset),
        _ => String::new(),
    }
}

/// A number by a template of `9`, `0`, `.`, `,`, `D`, `G`, `S`, `MI`, `PL`, `SG`, `PR`, `L` and `FM`.
fn number_by_template(value: &Value, ty: Type, template: &str) -> Result<String> {
    if template.is_empty() {
        return Ok(String::new());
    }
    let fill = !template.to_uppercase().contains("FM");
    let template = template.replace("FM", "").replace("fm", "");
    let upper = template.to_uppercase();
    for unknown in ["EEEE", "RN", "V", "TH"] {
        if upper.contains(unknown) {
            return Err(invalid(format!("to_char: the pattern {unknown} is not supported for numbers")));
        }
    }
    // What says where the sign stands is no digit; the G of SG separates no groups.
    let places_only =
        ["SG", "PR", "MI", "PL"].iter().fold(upper.clone(), |text, sign| text.replace(sign, ""));
    let (whole_part, fraction_part) = match places_only.find(['.', 'D']) {
        Some(at) => (&places_only[..at], &places_only[at + 1..]),
        None => (places_only.as_str(), ""),
    };
    let is_digit = |c: char| c == '9' || c == '0';
    let places = whole_part.chars().filter(|c| is_digit(*c)).count();
    let fraction_places = fraction_part.chars().filter(|c| is_digit(*c)).count();
    let decimal = Type::Decimal { precision: 38, scale: fraction_places.min(30) as u8 };
    // What has more digits than a decimal does not fit any template.
    let unscaled = match types::cast::cast_value(value, ty, decimal) {
        Ok(rounded) => rounded.as_i128().unwrap_or(0),
        Err(error) if error.state() == SqlState::NumericValueOutOfRange => {
            let most = types::decimal::power_of_ten(38) - 1;
            let below = value.as_i128().is_some_and(|v| v < 0) || value.as_f64().is_some_and(|v| v < 0.0);
            if below { -most } else { most }
        }
        Err(error) => return Err(error),
    };
    let negative = unscaled < 0;
    let text = types::decimal::format(unscaled.abs(), decimal.scale());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    // Before a point nothing stands for 0, except where nothing is filled and nothing stands behind the point.
    let empty = whole == "0" && fraction_places > 0 && (fill || unscaled != 0 || fraction_part.contains('0'));
    let whole = if empty { "" } else { whole };
    let fits = whole.len() <= places;
    let mut digits: Vec<Option<char>> = vec![None; places.saturating_sub(whole.len())];
    digits.extend(whole.chars().skip(whole.len().saturating_sub(places)).map(Some));
    // A zero in the template fills every place from there on.
    let first_zero = whole_part.chars().filter(|c| is_digit(*c)).position(|c| c == '0').unwrap_or(usize::MAX);
    let (mut body, mut at, mut begun) = (String::new(), 0, false);
    for c in whole_part.chars() {
        match c {
            '9' | '0' => {
                let digit = digits.get(at).copied().flatten();
                let digit = digit.or_else(|| (at >= first_zero).then_some('0'));
                match (fits, digit) {
                    (false, _) => body.push('#'),
                    (true, Some(d)) => {
                        begun = true;
                        body.push(d);
                    }
                    (true, None) if fill => body.push(' '),
                    _ => {}
                }
                at += 1;
            }
            ',' | 'G' => {
                if begun || !fits {
                    body.push(',');
                } else if fill {
                    body.push(' ');
                }
            }
            'L' | '$' => body.push('$'),
            _ => {}
        }
    }
    if upper.contains(['.', 'D']) {
        body.push('.');
        let mut fractions = fraction.chars();
        let shown: String = fraction_part
            .chars()
            .filter(|c| is_digit(*c))
            .map(|_| if fits { fractions.next().unwrap_or('0') } else { '#' })
            .collect();
        let kept = if fill {
            shown.len()
        } else {
            let zeros = fraction_part
                .chars()
                .filter(|c| is_digit(*c))
                .collect::<String>()
                .rfind('0')
                .map_or(0, |z| z + 1);
            shown.trim_end_matches('0').len().max(zeros)
        };
        body.push_str(&shown[..kept]);
    }
    Ok(signed(body, negative, fill, &upper))
}

/// The body with its sign where the template has it, by default right before the first digit.
fn signed(body: String, negative: bool, fill: bool, template: &str) -> String {
    let blank = if fill { " " } else { "" };
    let sign = if negative { "-" } else { "+" };
    if template.contains("PR") {
        let trimmed = body.trim_start();
        let gap = &body[..body.len() - trimmed.len()];
        return if negative { format!("{gap}<{trimmed}>") } else { format!("{gap}{blank}{trimmed}{blank}") };
    }
    if template.contains("MI") {
        let sign = if negative { "-" } else { blank };
        return if template.starts_with("MI") { format!("{sign}{body}") } else { format!("{body}{sign}") };
    }
    if template.contains("SG") {
        return if template.starts_with("SG") { format!("{sign}{body}") } else { format!("{body}{sign}") };
    }
    if template.contains("PL") {
        let sign = if negative { blank } else { "+" };
        return if template.starts_with("PL") { format!("{sign}{body}") } else { format!("{body}{sign}") };
    }
    if template.ends_with('S') {
        return format!("{body}{sign}");
    }
    let sign = if template.contains('S') {
        sign
    } else if negative {
        "-"
    } else {
        blank
    };
    let trimmed = body.trim_start();
    format!("{}{sign}{trimmed}", &body[..body.len() - trimmed.len()])
}

/// C's strftime, with `%g` for milliseconds, `%f` for microseconds and `-` for no filling, as DuckDB has them.
pub(super) fn strftime(instant: i64, format: &str, zone: Zone) -> Result<String> {
    let p = parts(instant, zone);
    let mut out = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut kind = rest.next();
        let fill = kind != Some('-');
        if !fill {
            kind = rest.next();
        }
        let number =
            |value: i64, width: usize| if fill { format!("{value:0width$}") } else { value.to_string() };
        let day_of_week = weekday(p.day) as i32;
        out.push_str(&match kind {
            Some('a') => DAYS[weekday(p.day)][..3].to_owned(),
            Some('A') => DAYS[weekday(p.day)].to_owned(),
            Some('w') => weekday(p.day).to_string(),
            Some('u') => ((weekday(p.day) + 6) % 7 + 1).to_string(),
            Some('d') => number(i64::from(p.month_day), 2),
            Some('b' | 'h') => MONTHS[p.month as usize - 1][..3].to_owned(),
            Some('B') => MONTHS[p.month as usize - 1].to_owned(),
            Some('m') => number(i64::from(p.month), 2),
            Some('y') => number(i64::from(p.year.rem_euclid(100)), 2),
            Some('Y') => number(i64::from(p.year), 4),
            Some('G') => number(i64::from(iso_week(p.day).0), 4),
            Some('V') => number(i64::from(iso_week(p.day).1), 2),
            Some('U') => number(i64::from((day_of_year(p.day) + 6 - day_of_week) / 7), 2),
            Some('W') => number(i64::from((day_of_year(p.day) + 6 - (day_of_week + 6) % 7) / 7), 2),
            Some('H') => number(p.hour, 2),
            Some('I') => number(twelve(p.hour), 2),
            Some('p') => if p.hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('M') => number(p.minute, 2),
            Some('S') => number(p.second, 2),
            Some('g') => number(p.micros / 1000, 3),
            Some('f') => number(p.micros, 6),
            Some('n') => number(p.micros * 1000, 9),
            Some('j') => number(i64::from(day_of_year(p.day)), 3),
            Some('z') => offset(p.offset),
            Some('Z') => zone.name(),
            Some('c') => strftime(instant, "%Y-%m-%d %H:%M:%S", zone)?,
            Some('x' | 'F') => strftime(instant, "%Y-%m-%d", zone)?,
            Some('X' | 'T') => strftime(instant, "%H:%M:%S", zone)?,
            Some('%') => "%".to_owned(),
            other => {
                let shown = other.map_or_else(String::new, String::from);
                return Err(invalid(format!("unknown format specifier \"%{shown}\""))
                    .with_hint("%Y, %m, %d, %H, %M, %S and %% are some; the SQL reference has them all"));
            }
        });
    }
    Ok(out)
}
