//! Constants: texts in all their quotes, numbers, intervals.
//!
//! Called by `primary`, and by statements for options. Numbers stay texts, so that none loses digits; escapes of
//! texts are resolved here, and an invalid one is an error at its place.

use super::{Parsed, Parser};
use crate::error::SyntaxError;
use crate::keyword::Keyword as K;
use crate::token::{Kind, Token};
use crate::tree::{Expr, ExprKind, IntervalField, IntervalFields, IntervalLiteral, Literal};

impl Parser<'_> {
    /// Whether a text in quotes begins here.
    pub(crate) fn at_text(&self) -> bool {
        is_text(self.peek().kind)
    }

    /// A text, its escapes resolved, joined with those that go on with it on later lines.
    pub(crate) fn text_value(&mut self) -> Parsed<Box<str>> {
        let first = self.advance();
        let mut text = self.decoded(first)?;
        let mut last = first;
        while matches!(first.kind, Kind::Text | Kind::EscapeText | Kind::NationalText | Kind::UnicodeText)
            && self.is_kind(Kind::Text)
        {
            let next = self.peek();
            let between = &self.text[last.span.end as usize..next.span.start as usize];
            if !between.contains('\n') {
                let error = self.unexpected();
                return Err(error.with_hint("two texts are joined by ||, or by a line break between them"));
            }
            self.advance();
            let more = match first.kind {
                Kind::EscapeText => {
                    escaped(inner(self.source(next), 0)).map_err(|m| SyntaxError::new(m, next.span))?
                }
                _ => self.decoded(next)?.into(),
            };
            text = format!("{text}{more}").into();
            last = next;
        }
        if first.kind == Kind::UnicodeText {
            let escape = match self.eat(K::UESCAPE) {
                true => {
                    let token = self.advance();
                    let mut letters = inner(self.source(token), 0).chars();
                    match (token.kind, letters.next(), letters.next()) {
                        (Kind::Text, Some(letter), None) if !letter.is_ascii_hexdigit() => letter,
                        _ => return Err(SyntaxError::new("invalid Unicode escape character", token.span)),
                    }
                }
                false => '\\',
            };
            text = unicode(&text, escape).map_err(|m| SyntaxError::new(m, first.span))?.into();
        }
        Ok(text)
    }

    /// What a token of quotes says; for `U&'...'` before its escapes are resolved.
    fn decoded(&self, token: Token) -> Parsed<Box<str>> {
        let source = self.source(token);
        let doubled = |inner: &str| -> Box<str> {
            if inner.contains("''") { inner.replace("''", "'").into() } else { inner.into() }
        };
        Ok(match token.kind {
            Kind::EscapeText => {
                escaped(inner(source, 1)).map_err(|m| SyntaxError::new(m, token.span))?.into()
            }
            Kind::UnicodeText => doubled(inner(source, 2)),
            Kind::NationalText => doubled(inner(source, 1)),
            Kind::DollarText => {
                let tag = source[1..].find('$').map_or(0, |at| at + 2);
                source[tag..source.len() - tag].into()
            }
            _ => doubled(inner(source, 0)),
        })
    }

    /// A number's digits as they are written.
    pub(crate) fn number_text(&mut self, what: &str) -> Parsed<Box<str>> {
        match self.is_kind(Kind::Number) {
            true => {
                let token = self.advance();
                Ok(self.source(token).into())
            }
            false => Err(self.expected(what)),
        }
    }

    /// A small whole number, as in the brackets of a type.
    pub(crate) fn small_number(&mut self, what: &str) -> Parsed<u32> {
        let token = self.peek();
        let digits = self.number_text(what)?;
        digits.parse().map_err(|_| SyntaxError::new(format!("\"{digits}\" is no {what}"), token.span))
    }

    /// `(3)`, where it stands here.
    pub(crate) fn precision_if_parens(&mut self) -> Parsed<Option<u32>> {
        if !self.is_kind(Kind::LeftParen) || self.peek_at(1).kind != Kind::Number {
            return Ok(None);
        }
        self.advance();
        let precision = self.small_number("number of digits")?;
        self.expect_kind(Kind::RightParen)?;
        Ok(Some(precision))
    }

    /// The word INTERVAL before a constant, and not as a column's or a type's name.
    pub(crate) fn at_interval(&self) -> bool {
        if !self.is(K::INTERVAL) {
            return false;
        }
        let next = self.peek_at(1);
        match next.kind {
            kind if is_text(kind) => true,
            Kind::Number | Kind::Parameter | Kind::Question => field_of(self.word_at(2)).is_some(),
            Kind::Operator => {
                self.is_operator_at(1, "-")
                    && self.peek_at(2).kind == Kind::Number
                    && field_of(self.word_at(3)).is_some()
            }
            Kind::LeftParen => match self.closing_ahead(1) {
                Some(close) => {
                    let behind = self.peek_at(close + 1);
                    field_of(behind.keyword).is_some()
                        || (is_text(behind.kind) && self.peek_at(2).kind == Kind::Number)
                }
                None => false,
            },
            _ => next.kind == Kind::Word && self.is_name_at(1) && field_of(self.word_at(2)).is_some(),
        }
    }

    /// How far ahead the parenthesis is closed that stands `open` ahead.
    pub(crate) fn closing_ahead(&self, open: usize) -> Option<usize> {
        self.closing_within(open, usize::MAX)
    }

    /// As `closing_ahead`, where it is closed at most so many tokens behind.
    pub(crate) fn closing_within(&self, open: usize, most: usize) -> Option<usize> {
        let mut depth = 0usize;
        for ahead in open..=open.saturating_add(most) {
            match self.peek_at(ahead).kind {
                Kind::LeftParen => depth += 1,
                Kind::RightParen => depth -= 1,
                Kind::End => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(ahead);
            }
        }
        None
    }

    /// INTERVAL with its value and fields.
    pub(crate) fn interval(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let mut precision = None;
        if self.is_kind(Kind::LeftParen)
            && self.peek_at(1).kind == Kind::Number
            && self.peek_at(2).kind == Kind::RightParen
            && is_text(self.peek_at(3).kind)
        {
            precision = self.precision_if_parens()?;
        }
        let value = match self.at_text() {
            true => {
                let at = self.here();
                let text = self.text_value()?;
                Expr { kind: ExprKind::Literal(Literal::Text(text)), span: self.span_from(at) }
            }
            false => self.operand()?,
        };
        // Behind a text these are names, as all plurals are in PostgreSQL.
        let named =
            matches!(self.word(), K::DECADES | K::CENTURIES | K::QUARTERS | K::MILLENNIUMS | K::MILLENNIA);
        let text = matches!(value.kind, ExprKind::Literal(Literal::Text(_)));
        let fields = if text && named { None } else { self.interval_fields()? };
        let literal = IntervalLiteral { value, fields, precision };
        let kind = ExprKind::Literal(Literal::Interval(Box::new(literal)));
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// `DAY TO SECOND(3)`, where it stands here.
    pub(crate) fn interval_fields(&mut self) -> Parsed<Option<IntervalFields>> {
        let Some(from) = field_of(self.word()) else { return Ok(None) };
        self.advance();
        let mut precision = match from {
            IntervalField::Second => self.precision_if_parens()?,
            _ => None,
        };
        let mut to = None;
        if self.is(K::TO) && field_of(self.word_at(1)).is_some() {
            self.advance();
            to = field_of(self.word());
            self.advance();
            if to == Some(IntervalField::Second) {
                precision = self.precision_if_parens()?;
            }
        }
        Ok(Some(IntervalFields { from, to, precision }))
    }
}

pub(crate) fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::Text | Kind::EscapeText | Kind::UnicodeText | Kind::DollarText | Kind::NationalText)
}

pub(crate) fn field_of(word: K) -> Option<IntervalField> {
    Some(match word {
        K::YEAR | K::YEARS => IntervalField::Year,
        K::MONTH | K::MONTHS => IntervalField::Month,
        K::DAY | K::DAYS => IntervalField::Day,
        K::HOUR | K::HOURS => IntervalField::Hour,
        K::MINUTE | K::MINUTES => IntervalField::Minute,
        K::SECOND | K::SECONDS => IntervalField::Second,
        K::WEEK | K::WEEKS => IntervalField::Week,
        K::QUARTER | K::QUARTERS => IntervalField::Quarter,
        K::DECADE | K::DECADES => IntervalField::Decade,
        K::CENTURY | K::CENTURIES => IntervalField::Century,
        K::MILLENNIUM | K::MILLENNIUMS | K::MILLENNIA => IntervalField::Millennium,
        K::MILLISECOND | K::MILLISECONDS => IntervalField::Millisecond,
        K::MICROSECOND | K::MICROSECONDS => IntervalField::Microsecond,
        _ => return None,
    })
}

/// What stands between the quotes, behind a prefix.
fn inner(source: &str, prefix: usize) -> &str {
    source.get(prefix + 1..source.len() - 1).unwrap_or_default()
}

/// `E'...'` without its backslashes.
fn escaped(inner: &str) -> Result<String, String> {
    let mut out: Vec<u8> = Vec::with_capacity(inner.len());
    let bytes = inner.as_bytes();
    let mut at = 0;
    let hex = |from: usize, max: usize| {
        let digits = bytes.get(from..).unwrap_or_default().iter();
        let count = digits.take(max).take_while(|b| b.is_ascii_hexdigit()).count();
        (count, inner.get(from..from + count).and_then(|d| u32::from_str_radix(d, 16).ok()).unwrap_or(0))
    };
    let mut surrogate: Option<u32> = None;
    while at < bytes.len() {
        let here = bytes[at];
        if here == b'\'' {
            out.push(b'\'');
            at += 2;
            continue;
        }
        if here != b'\\' {
            out.push(here);
            at += 1;
            continue;
        }
        let Some(next) = bytes.get(at + 1).copied() else { break };
        at += 2;
        match next {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'x' => {
                let (count, value) = hex(at, 2);
                match count {
                    0 => out.push(b'x'),
                    _ => out.push(value as u8),
                }
                at += count;
            }
            b'0'..=b'7' => {
                let rest = bytes.get(at..).unwrap_or_default().iter();
                let count = rest.take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
                let digits = inner.get(at - 1..at + count).unwrap_or_default();
                out.push(u32::from_str_radix(digits, 8).unwrap_or(0) as u8);
                at += count;
            }
            b'u' | b'U' => {
                let wanted = if next == b'u' { 4 } else { 8 };
                let (count, value) = hex(at, wanted);
                if count < wanted {
                    return Err(
                        "invalid Unicode escape: \\u takes four hexadecimal digits, \\U eight".to_owned()
                    );
                }
                at += count;
                let value = match (surrogate.take(), value) {
                    (Some(high), 0xdc00..=0xdfff) => 0x10000 + ((high - 0xd800) << 10) + (value - 0xdc00),
                    (None, 0xd800..=0xdbff) => {
                        surrogate = Some(value);
                        continue;
                    }
                    (Some(_), _) | (None, 0xdc00..=0xdfff) => {
                        return Err("invalid Unicode surrogate pair".to_owned());
                    }
                    (None, value) => value,
                };
                let letter = char::from_u32(value).ok_or("invalid Unicode escape value")?;
                out.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
        if surrogate.is_some() {
            return Err("invalid Unicode surrogate pair".to_owned());
        }
    }
    if out.contains(&0) {
        return Err("invalid byte sequence for encoding \"UTF8\": 0x00".to_owned());
    }
    String::from_utf8(out).map_err(|e| {
        let bad = e.as_bytes().get(e.utf8_error().valid_up_to()).copied().unwrap_or(0);
        format!("invalid byte sequence for encoding \"UTF8\": 0x{bad:02x}")
    })
}

/// `U&'...'` without its escapes.
pub(crate) fn unicode(inner: &str, escape: char) -> Result<String, String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut surrogate: Option<u32> = None;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        if letter != escape {
            if surrogate.is_some() {
                return Err("invalid Unicode surrogate pair".to_owned());
            }
            out.push(letter);
            continue;
        }
        if rest.starts_with(escape) {
            rest = &rest[escape.len_utf8()..];
            out.push(escape);
            continue;
        }
        let (skip, wanted) = if rest.starts_with('+') { (1, 6) } else { (0, 4) };
        let digits = rest.get(skip..skip + wanted).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let value = value.ok_or("invalid Unicode escape: \\ takes four hexadecimal digits, \\+ six")?;
        rest = &rest[skip + wanted..];
        let value = match (surrogate.take(), value) {
            (Some(high), 0xdc00..=0xdfff) => 0x10000 + ((high - 0xd800) << 10) + (value - 0xdc00),
            (None, 0xd800..=0xdbff) => {
                surrogate = Some(value);
                continue;
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err("invalid Unicode surrogate pair".to_owned()),
            (None, value) => value,
        };
        out.push(char::from_u32(value).filter(|c| *c != '\0').ok_or("invalid Unicode escape value")?);
    }
    match surrogate {
        Some(_) => Err("invalid Unicode surrogate pair".to_owned()),
        None => Ok(out),
    }
}
