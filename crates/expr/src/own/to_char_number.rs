//! Numbers as text by PostgreSQL's templates: `to_char(n, 'S9,999.00')`.
//!
//! The template is read twice: once for what it asks for in all (digits before and behind the point, signs, zeros),
//! and once to write the digits, which are made first with as many places behind the point. A number with too many
//! digits before the point is shown as `#`. The currency is `$`; separators are those of the C locale.

use types::{Error, Result, SqlState, Type, Value};

use super::to_char::ordinal_ending;

const WORDS: [&str; 20] = [
    ",", ".", "0", "9", "B", "C", "D", "EEEE", "FM", "G", "L", "MI", "PL", "PR", "RN", "SG", "SP", "S", "TH",
    "V",
];
const ROMAN_WIDTH: usize = 15;

/// A piece of a template.
enum Piece<'a> {
    /// In capitals, and whether it was written in small letters.
    Word(&'static str, bool),
    Text(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Locale {
    None,
    Before,
    Behind,
}

/// What the template asks for.
struct Asked {
    /// Digits before and behind the point, and those that V shifts by.
    pre: usize,
    post: usize,
    shift: usize,
    /// Before which digit zeros begin, and behind which they end.
    zero_start: Option<usize>,
    zero_end: usize,
    fill: bool,
    decimal: bool,
    multiply: bool,
    bracket: bool,
    minus: bool,
    plus: bool,
    roman: bool,
    exponent: bool,
    sign: Locale,
    sign_place: usize,
}

fn refuse(message: &str) -> Error {
    Error::new(SqlState::SyntaxError, message.to_owned())
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = template;
    let first = |text: &str| text.chars().next().map_or(0, char::len_utf8);
    while !rest.is_empty() {
        let word = WORDS.into_iter().find_map(|word| match rest.get(..word.len()) {
            Some(text) if text == word => Some((word, false)),
            Some(text) if text == word.to_ascii_lowercase() => Some((word, true)),
            _ => None,
        });
        if let Some((word, small)) = word {
            out.push(Piece::Word(word, small));
            rest = &rest[word.len()..];
        } else if let Some(mut quoted) = rest.strip_prefix('"') {
            while !quoted.is_empty() && !quoted.starts_with('"') {
                quoted = quoted.strip_prefix('\\').unwrap_or(quoted);
                let (text, after) = quoted.split_at(first(quoted));
                out.push(Piece::Text(text));
                quoted = after;
            }
            rest = quoted.get(1..).unwrap_or_default();
        } else {
            rest = if rest.starts_with("\\\"") { &rest[1..] } else { rest };
            let (text, after) = rest.split_at(first(rest));
            out.push(Piece::Text(text));
            rest = after;
        }
    }
    out
}

fn asked(pieces: &[Piece<'_>]) -> Result<Asked> {
    let mut a = Asked {
        pre: 0,
        post: 0,
        shift: 0,
        zero_start: None,
        zero_end: 0,
        fill: true,
        decimal: false,
        multiply: false,
        bracket: false,
        minus: false,
        plus: false,
        roman: false,
        exponent: false,
        sign: Locale::None,
        sign_place: 0,
    };
    for piece in pieces {
        let Piece::Word(word, _) = piece else { continue };
        if a.exponent {
            return Err(refuse("\"EEEE\" must be the last pattern used"));
        }
        let signed = a.sign != Locale::None;
        match *word {
            "9" | "0" if a.bracket => return Err(refuse("\"9\" must be ahead of \"PR\"")),
            "9" if a.multiply => a.shift += 1,
            "9" if a.decimal => a.post += 1,
            "9" => a.pre += 1,
            "0" => {
                if a.zero_start.is_none() && !a.decimal {
                    a.zero_start = Some(a.pre);
                }
                if a.decimal {
                    a.post += 1
                } else {
                    a.pre += 1
                }
                a.zero_end = a.pre + a.post;
            }
            "D" | "." => {
                if a.decimal {
                    return Err(refuse("multiple decimal points"));
                }
                if a.multiply {
                    return Err(refuse("cannot use \"V\" and decimal point together"));
                }
                a.decimal = true;
            }
            "FM" => a.fill = false,
            "S" => {
                if signed {
                    return Err(refuse("cannot use \"S\" twice"));
                }
                if a.plus || a.minus || a.bracket {
                    return Err(refuse("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                (a.sign, a.sign_place) =
                    if a.decimal { (Locale::Behind, 0) } else { (Locale::Before, a.pre) };
            }
            "MI" | "PL" | "SG" if signed => {
                return Err(refuse(&format!("cannot use \"S\" and \"{word}\" together")));
            }
            "MI" => a.minus = true,
            "PL" => a.plus = true,
            "SG" => (a.minus, a.plus) = (true, true),
            "PR" => {
                if signed || a.plus || a.minus {
                    return Err(refuse("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                a.bracket = true;
            }
            "RN" => a.roman = true,
            "V" => {
                if a.decimal {
                    return Err(refuse("cannot use \"V\" and decimal point together"));
                }
                a.multiply = true;
            }
            "EEEE" => {
                if !a.fill || signed || a.bracket || a.minus || a.plus || a.roman || a.multiply {
                    return Err(refuse("\"EEEE\" is incompatible with other formats").with_hint(
                        "\"EEEE\" may only be used together with digit and decimal point patterns.",
                    ));
                }
                a.exponent = true;
            }
            _ => {}
        }
    }
    Ok(a)
}

/// A number in a template of PostgreSQL's; an error for a template that contradicts itself.
pub(super) fn formatted(value: &Value, ty: Type, template: &str) -> Result<String> {
    if template.is_empty() {
        return Ok(String::new());
    }
    let pieces = pieces(template);
    let mut asked = asked(&pieces)?;
    if asked.exponent {
        return Ok(with_exponent(value, ty, &asked));
    }
    if asked.roman {
        return Ok(in_roman(value, ty, &pieces, &asked));
    }
    asked.pre += asked.shift;
    let digits = digits_of(value, ty, &mut asked)?;
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ('-', digits.to_owned()),
        None => ('+', digits),
    };
    let whole = digits.find('.').unwrap_or(digits.len());
    let (number, blanks) = match asked.pre.checked_sub(whole) {
        Some(blanks) => (digits, blanks),
        None => (format!("{}.{}", "#".repeat(asked.pre), "#".repeat(asked.post)), 0),
    };
    Ok(Writer::new(asked, sign, number, blanks).write(&pieces))
}

/// The number with so many places behind the point, shifted by V.
fn digits_of(value: &Value, ty: Type, asked: &mut Asked) -> Result<String> {
    if let Some(float) = value.as_f64() {
        let float = float * 10_f64.powi(asked.shift as i32);
        if !float.is_finite() {
            let name = if float.is_nan() { "NaN" } else { "Infinity" };
            return Ok(format!("{}{name}", if float < 0.0 { "-" } else { "" }));
        }
        // No more digits than the type has.
        let certain: usize = if ty == Type::Real { 6 } else { 15 };
        let whole = format!("{:.0}", float.abs()).len();
        asked.post = asked.post.min(certain.saturating_sub(whole));
        return Ok(format!("{float:.post$}", post = asked.post));
    }
    let exact = value.as_i128().ok_or_else(|| Error::internal("a number of another form"))?;
    let scale = ty.scale();
    let shift =
        u8::try_from(asked.shift).ok().filter(|s| *s <= 38).ok_or_else(|| Error::out_of_range(&ty))?;
    let shifted =
        exact.checked_mul(types::decimal::power_of_ten(shift)).ok_or_else(|| Error::out_of_range(&ty))?;
    let kept = u8::try_from(asked.post).unwrap_or(u8::MAX).min(scale);
    let rounded = types::decimal::rescale(shifted, scale, kept).ok_or_else(|| Error::out_of_range(&ty))?;
    let mut text = types::decimal::format(rounded, kept);
    if asked.post > usize::from(kept) {
        if kept == 0 {
            text.push('.');
        }
        text.push_str(&"0".repeat(asked.post - usize::from(kept)));
    }
    Ok(text)
}

fn with_exponent(value: &Value, ty: Type, asked: &Asked) -> String {
    let post = asked.post;
    let text = match value.as_f64() {
        Some(float) if !float.is_finite() => {
            let mut marks = vec!['#'; asked.pre + post + 6];
            marks[0] = ' ';
            if let Some(point) = marks.get_mut(asked.pre + 1) {
                *point = '.';
            }
            return marks.into_iter().collect();
        }
        Some(float) => format!("{float:.post$e}"),
        // Whole numbers are taken as floats, as in PostgreSQL.
        None if ty.is_integer() => format!("{:.post$e}", value.as_i128().unwrap_or(0) as f64),
        None => decimal_exponent(value.as_i128().unwrap_or(0), ty.scale(), post),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let blank = if mantissa.starts_with('-') { "" } else { " " };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{blank}{mantissa}e{sign}{:02}", exponent.abs())
}

/// An exact number with an exponent, rounded half away from zero.
fn decimal_exponent(unscaled: i128, scale: u8, post: usize) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs().to_string();
    let mut exponent = digits.len() as i32 - 1 - i32::from(scale);
    let mut kept: Vec<u8> = digits.bytes().map(|b| b - b'0').collect();
    if unscaled == 0 {
        exponent = 0;
    }
    let up = kept.get(post + 1).is_some_and(|digit| *digit >= 5);
    kept.resize(post + 1, 0);
    if up {
        let mut at = kept.len();
        loop {
            if at == 0 {
                kept.insert(0, 1);
                kept.pop();
                exponent += 1;
                break;
            }
            at -= 1;
            if kept[at] < 9 {
                kept[at] += 1;
                break;
            }
            kept[at] = 0;
        }
    }
    let text: String = kept.iter().map(|digit| char::from(b'0' + digit)).collect();
    let (first, rest) = text.split_at(1);
    match post {
        0 => format!("{sign}{first}e{exponent}"),
        _ => format!("{sign}{first}.{rest}e{exponent}"),
    }
}

fn in_roman(value: &Value, ty: Type, pieces: &[Piece<'_>], asked: &Asked) -> String {
    let number = match value.as_f64() {
        Some(float) => Some(float.round_ties_even()).filter(|f| f.is_finite()).map(|f| f as i128),
        None => value.as_i128().and_then(|v| types::decimal::rescale(v, ty.scale(), 0)),
    };
    let roman = match number {
        Some(number @ 1..=3999) => {
            let mut left = number;
            let mut text = String::new();
            for (size, letters) in [
                (1000, "M"),
                (900, "CM"),
                (500, "D"),
                (400, "CD"),
                (100, "C"),
                (90, "XC"),
                (50, "L"),
                (40, "XL"),
                (10, "X"),
                (9, "IX"),
                (5, "V"),
                (4, "IV"),
                (1, "I"),
            ] {
                while left >= size {
                    text.push_str(letters);
                    left -= size;
                }
            }
            text
        }
        _ => "#".repeat(ROMAN_WIDTH),
    };
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Word("RN", small) => {
                let text = if *small { roman.to_lowercase() } else { roman.clone() };
                out.push_str(&if asked.fill { format!("{text:>ROMAN_WIDTH$}") } else { text });
            }
            Piece::Text(text) => out.push_str(text),
            Piece::Word(..) => {}
        }
    }
    out
}

/// Digit by digit, as PostgreSQL's `NUM_processor` goes.
struct Writer {
    asked: Asked,
    sign: char,
    number: Vec<char>,
    /// The next character of the number.
    at: usize,
    /// Places before the number's first digit.
    blanks: usize,
    /// Digits' words seen.
    seen: usize,
    count: usize,
    signed: bool,
    begun: bool,
    /// With FM, the last digit behind the point that is shown, or the point.
    last: Option<usize>,
    out: String,
}

impl Writer {
    fn new(mut asked: Asked, sign: char, number: String, blanks: usize) -> Writer {
        let number: Vec<char> = number.chars().collect();
        let signed = if asked.plus || asked.minus {
            !asked.plus || asked.minus
        } else {
            if sign == '+' && !asked.fill {
                asked.bracket = false;
            }
            if asked.sign == Locale::Before && asked.pre == asked.sign_place {
                asked.sign = Locale::Behind;
            }
            sign == '+' && !asked.fill && asked.sign == Locale::None
        };
        let mut last = None;
        if !asked.fill
            && asked.decimal
            && let Some(point) = number.iter().position(|c| *c == '.')
        {
            let digit = (point + 1..number.len()).rev().find(|at| number[*at] != '0').unwrap_or(point);
            let zero = match asked.zero_end.checked_sub(blanks).filter(|end| *end > 0) {
                Some(end) => end.min(number.len() - 1),
                None => 0,
            };
            last = Some(digit.max(zero));
        }
        let count = (asked.pre + asked.post).saturating_sub(1) + usize::from(!signed && blanks == 0);
        Writer {
            asked,
            sign,
            number,
            at: 0,
            blanks,
            seen: 0,
            count,
            signed,
            begun: false,
            last,
            out: String::new(),
        }
    }

    fn write(mut self, pieces: &[Piece<'_>]) -> String {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.out.push_str(text),
                Piece::Word(word, small) => self.word(word, *small),
            }
        }
        self.out
    }

    fn word(&mut self, word: &str, small: bool) {
        let fill = self.asked.fill;
        match word {
            "9" | "0" | "." | "D" => self.digit(word),
            "," | "G" if self.begun => self.out.push(','),
            "," | "G" if fill => self.out.push(' '),
            "L" => self.out.push('$'),
            "MI" if self.sign == '-' => self.out.push('-'),
            "PL" if self.sign == '+' => self.out.push('+'),
            "MI" | "PL" if fill => self.out.push(' '),
            "SG" => self.out.push(self.sign),
            "TH" if self.number.first() != Some(&'#') && self.sign != '-' && !self.asked.decimal => {
                let digits: String = self.number.iter().collect();
                let ending = ordinal_ending(&digits);
                self.out.push_str(&if small { ending.to_owned() } else { ending.to_uppercase() });
            }
            _ => {}
        }
    }

    /// Nothing stands for the zero before a point, where no zero is asked for.
    fn before_point(&self) -> bool {
        self.asked.zero_start.is_none()
            && self.at == 0
            && self.number.first() == Some(&'0')
            && self.asked.post != 0
    }

    fn digit(&mut self, word: &str) {
        self.begun = false;
        let fill = self.asked.fill;
        let at_point = self.last.is_some_and(|last| self.number.get(last) == Some(&'.'));
        let zeros_here = self.asked.zero_start == Some(self.seen);
        if !self.signed && (self.seen >= self.blanks || zeros_here) && (!self.before_point() || at_point) {
            self.write_sign();
        }
        let zeros = self.asked.zero_start.is_some_and(|start| start <= self.seen);
        if self.seen < self.blanks {
            if zeros {
                self.out.push('0');
                self.begun = true;
            } else if fill {
                self.out.push(' ');
            }
        } else {
            match self.number.get(self.at) {
                Some('.') => self.out.push('.'),
                _ if self.last.is_some_and(|last| self.at > last) && word != "0" => {}
                _ if self.before_point() => {
                    if fill {
                        self.out.push(' ');
                    } else if at_point {
                        self.out.push('0');
                    }
                }
                Some(digit) => {
                    self.out.push(*digit);
                    self.begun = true;
                }
                None => {}
            }
            if self.at < self.number.len() {
                self.at += 1;
            }
        }
        let mut end = self.count + usize::from(self.blanks > 0) + usize::from(self.asked.decimal);
        if self.last == Some(self.at) {
            end = self.seen;
        }
        if self.seen + 1 == end {
            if self.signed && self.asked.bracket {
                self.out.push(if self.sign == '+' { ' ' } else { '>' });
            } else if self.asked.sign == Locale::Behind {
                self.out.push(self.sign);
            }
        }
        self.seen += 1;
    }

    fn write_sign(&mut self) {
        match self.asked.sign {
            Locale::Before => self.out.push(self.sign),
            Locale::Behind => return,
            Locale::None if self.asked.bracket => self.out.push(if self.sign == '+' { ' ' } else { '<' }),
            Locale::None if self.sign == '-' => self.out.push('-'),
            Locale::None if self.asked.fill => self.out.push(' '),
            Locale::None => {}
        }
        self.signed = true;
    }
}
