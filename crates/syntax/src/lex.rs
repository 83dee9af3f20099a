//! The lexer: one pass over the bytes, PostgreSQL's lexical rules with DuckDB's additions.
//!
//! Operators are read as PostgreSQL reads them, a run of operator characters, but a run that is not a known operator
//! gives back signs at its end, so that `a=-1` and `a->-1` are what they look like.

use crate::Span;
use crate::error::SyntaxError;
use crate::keyword::Keyword;
use crate::token::{Kind, Token};

/// Operators of more than one character, and those that a longer run is cut down to.
const OPERATORS: [&str; 74] = [
    "+", "-", "*", "/", "<", ">", "=", "~", "!", "@", "#", "%", "^", "&", "|", "`", "<=", ">=", "<>", "!=",
    "==", "||", "|/", "||/", "//", "**", "->", "->>", "#>", "#>>", "#-", "@>", "<@", "@?", "@@", "&&", "&<",
    "&>", "<<", ">>", "<<=", ">>=", "<->", "<=>", "<#>", "<%", "%>", "~~", "~~*", "!~", "!~*", "!~~", "!~~*",
    "~*", "~~~", "!~~~", "~=", "^@", "|&>", "&<|", "<<|", "|>>", "-|-", "##", "?|", "?&", "?-", "?#", "@-@",
    "!!", "<<%", "%>>", "<->>", "|||",
];

fn is_operator_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'+' | b'-'
            | b'*'
            | b'/'
            | b'<'
            | b'>'
            | b'='
            | b'~'
            | b'!'
            | b'@'
            | b'#'
            | b'%'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
    )
}

pub(crate) fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

pub(crate) fn is_word_byte(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// The tokens of a text, the last one `Kind::End`. Texts are at most 4 GiB.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    tokens_while(text, &|| true)
}

/// As `tokens`, as long as `goes_on`, which is asked every so many tokens.
pub(crate) fn tokens_while(text: &str, goes_on: &dyn Fn() -> bool) -> Result<Vec<Token>, SyntaxError> {
    const ASKED_TOKENS: usize = 4096;
    let mut lexer = Lexer { bytes: text.as_bytes(), text, at: 0 };
    if text.len() >= u32::MAX as usize {
        return Err(SyntaxError::new("a script has at most 4 GiB", Span::default()));
    }
    let mut tokens = Vec::with_capacity(text.len() / 5 + 4);
    loop {
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == Kind::End {
            return Ok(tokens);
        }
        if tokens.len().is_multiple_of(ASKED_TOKENS) && !goes_on() {
            return Err(SyntaxError::stopped(token.span));
        }
    }
}

struct Lexer<'t> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn error(&self, start: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(message, Span::new(start as u32, (start + 1).min(self.bytes.len()) as u32))
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, keyword: Keyword::NO_KEYWORD, span: Span::new(start as u32, self.at as u32) }
    }

    fn simple(&mut self, kind: Kind, length: usize) -> Token {
        let start = self.at;
        self.at += length;
        self.token(kind, start)
    }

    fn next(&mut self) -> Result<Token, SyntaxError> {
        self.pass_blanks()?;
        let start = self.at;
        let Some(byte) = self.bytes.get(start).copied() else { return Ok(self.token(Kind::End, start)) };
        Ok(match byte {
            b'(' => self.simple(Kind::LeftParen, 1),
            b')' => self.simple(Kind::RightParen, 1),
            b',' => self.simple(Kind::Comma, 1),
            b';' => self.simple(Kind::Semicolon, 1),
            b'[' => self.simple(Kind::LeftBracket, 1),
            b']' => self.simple(Kind::RightBracket, 1),
            b'{' => self.simple(Kind::LeftBrace, 1),
            b'}' => self.simple(Kind::RightBrace, 1),
            b'.' if !self.peek(1).is_ascii_digit() => self.simple(Kind::Dot, 1),
            b':' if self.peek(1) == b':' => self.simple(Kind::DoubleColon, 2),
            b':' if self.peek(1) == b'=' => self.simple(Kind::ColonEquals, 2),
            b':' => self.simple(Kind::Colon, 1),
            b'\'' => self.quoted(Kind::Text, 0, false)?,
            b'"' => self.quoted_name(Kind::QuotedName, 0)?,
            b'$' => self.dollar()?,
            b'?' => self.question(),
            b'0'..=b'9' | b'.' => self.number()?,
            byte if is_word_start(byte) => self.word()?,
            byte if is_operator_byte(byte) => self.operator(),
            _ => {
                let found = self.text.get(start..).and_then(|rest| rest.chars().next()).unwrap_or('?');
                let shown = if found == '\\' { found.to_string() } else { found.escape_debug().to_string() };
                let error = self.error(start, format!("syntax error at or near \"{shown}\""));
                return Err(match found {
                    '\\' => error.with_hint("a command of the shell has a line of its own"),
                    _ => error,
                });
            }
        })
    }

    /// Passes blanks and comments.
    fn pass_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'-' if self.peek(1) == b'-' => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                b'/' if self.peek(1) == b'*' => self.pass_comment()?,
                // A no-break space and a byte order mark come along when text is pasted.
                0xc2 if self.peek(1) == 0xa0 => self.at += 2,
                0xef if self.peek(1) == 0xbb && self.peek(2) == 0xbf => self.at += 3,
                _ => return Ok(()),
            }
        }
    }

    fn pass_comment(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let (mut open, mut at) = (1, start + 2);
        while open > 0 {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(next) = memchr::memchr2(b'*', b'/', rest) else {
                return Err(self.error(start, "unterminated /* comment"));
            };
            at += next;
            match (self.bytes[at], self.bytes.get(at + 1)) {
                (b'*', Some(b'/')) => (open, at) = (open - 1, at + 2),
                (b'/', Some(b'*')) => (open, at) = (open + 1, at + 2),
                _ => at += 1,
            }
        }
        self.at = at;
        Ok(())
    }

    /// A text in single quotes, `prefix` bytes before the quote; with `escapes`, a backslash takes the next byte along.
    fn quoted(&mut self, kind: Kind, prefix: usize, escapes: bool) -> Result<Token, SyntaxError> {
        let start = self.at;
        let mut at = start + prefix + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let next =
                if escapes { memchr::memchr2(b'\'', b'\\', rest) } else { memchr::memchr(b'\'', rest) };
            let Some(next) = next else {
                let error = self.error(start, "unterminated quoted string");
                return Err(error.with_hint("a quote inside a text is doubled: 'it''s'"));
            };
            at += next;
            match (self.bytes[at], self.bytes.get(at + 1)) {
                (b'\'', Some(b'\'')) | (b'\\', _) => at += 2,
                _ => break,
            }
        }
        self.at = at + 1;
        Ok(self.token(kind, start))
    }

    fn quoted_name(&mut self, kind: Kind, prefix: usize) -> Result<Token, SyntaxError> {
        let start = self.at;
        let mut at = start + prefix + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(next) = memchr::memchr(b'"', rest) else {
                return Err(self.error(start, "unterminated quoted identifier"));
            };
            at += next;
            match self.bytes.get(at + 1) {
                Some(b'"') => at += 2,
                _ => break,
            }
        }
        self.at = at + 1;
        let token = self.token(kind, start);
        if at == start + prefix + 1 {
            let message = "zero-length delimited identifier at or near \"\"\"\"";
            return Err(SyntaxError::new(message, token.span));
        }
        Ok(token)
    }

    /// `$1`, `$name`, `$$text$$`, `$tag$text$tag$`.
    fn dollar(&mut self) -> Result<Token, SyntaxError> {
        let start = self.at;
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            return Ok(self.token(Kind::Parameter, start));
        }
        let mut tag = start + 1;
        while self.bytes.get(tag).is_some_and(|b| is_word_byte(*b) && *b != b'$') {
            tag += 1;
        }
        if self.bytes.get(tag) == Some(&b'$') {
            let mark = &self.bytes[start..=tag];
            let found = memchr::memmem::find(&self.bytes[tag + 1..], mark);
            let Some(found) = found else {
                return Err(self.error(start, "unterminated dollar-quoted string"));
            };
            self.at = tag + 1 + found + mark.len();
            return Ok(self.token(Kind::DollarText, start));
        }
        if tag == start + 1 {
            return Err(self.error(start, "syntax error at or near \"$\""));
        }
        self.at = tag;
        Ok(self.token(Kind::NamedParameter, start))
    }

    fn question(&mut self) -> Token {
        match self.peek(1) {
            b'|' if self.peek(2) != b'|' => self.simple(Kind::Operator, 2),
            b'&' if self.peek(2) != b'&' => self.simple(Kind::Operator, 2),
            _ => self.simple(Kind::Question, 1),
        }
    }

    fn number(&mut self) -> Result<Token, SyntaxError> {
        let start = self.at;
        let digits = |lexer: &mut Self, belongs: fn(u8) -> bool| {
            while belongs(lexer.peek(0)) || (lexer.peek(0) == b'_' && belongs(lexer.peek(1))) {
                lexer.at += 1;
            }
        };
        let radix: Option<fn(u8) -> bool> = match (self.peek(0), self.peek(1)) {
            (b'0', b'x' | b'X') => Some(|b| b.is_ascii_hexdigit()),
            (b'0', b'o' | b'O') => Some(|b| matches!(b, b'0'..=b'7')),
            (b'0', b'b' | b'B') => Some(|b| matches!(b, b'0' | b'1')),
            _ => None,
        };
        if let Some(belongs) = radix {
            self.at += 2;
            let first = self.at;
            digits(self, belongs);
            if self.at == first {
                let word_end = (first..).find(|at| !self.bytes.get(*at).is_some_and(|b| is_word_byte(*b)));
                let end = word_end.unwrap_or(first);
                let shown = self.text.get(start..end).unwrap_or_default();
                let kind = match self.bytes[start + 1].to_ascii_lowercase() {
                    b'x' => "hexadecimal",
                    b'o' => "octal",
                    _ => "binary",
                };
                let message = format!("invalid {kind} integer at or near \"{shown}\"");
                return Err(SyntaxError::new(message, Span::new(start as u32, end as u32)));
            }
        } else {
            digits(self, |b| b.is_ascii_digit());
            // `1..2` is no number and a half.
            if self.peek(0) == b'.' && self.peek(1) != b'.' {
                self.at += 1;
                digits(self, |b| b.is_ascii_digit());
            }
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                digits(self, |b| b.is_ascii_digit());
            }
        }
        if is_word_byte(self.peek(0)) {
            while is_word_byte(self.peek(0)) {
                self.at += 1;
            }
            let token = self.token(Kind::Number, start);
            let shown = token.span.of(self.text);
            let message = format!("trailing junk after numeric literal at or near \"{shown}\"");
            let error = SyntaxError::new(message, token.span);
            return Err(error.with_hint("a name that begins with a digit stands in double quotes"));
        }
        Ok(self.token(Kind::Number, start))
    }

    fn word(&mut self) -> Result<Token, SyntaxError> {
        match (self.peek(0), self.peek(1)) {
            (b'e' | b'E', b'\'') => return self.quoted(Kind::EscapeText, 1, true),
            (b'b' | b'B', b'\'') => return self.quoted(Kind::BitText, 1, false),
            (b'x' | b'X', b'\'') => return self.quoted(Kind::HexText, 1, false),
            (b'n' | b'N', b'\'') => return self.quoted(Kind::NationalText, 1, false),
            (b'u' | b'U', b'&') if self.peek(2) == b'\'' => return self.quoted(Kind::UnicodeText, 2, false),
            (b'u' | b'U', b'&') if self.peek(2) == b'"' => return self.quoted_name(Kind::UnicodeName, 2),
            _ => {}
        }
        let start = self.at;
        while is_word_byte(self.peek(0)) {
            // A no-break space is no letter.
            if self.peek(0) == 0xc2 && self.peek(1) == 0xa0 {
                break;
            }
            self.at += 1;
        }
        let mut token = self.token(Kind::Word, start);
        token.keyword = Keyword::of(&self.bytes[start..self.at]);
        Ok(token)
    }

    fn operator(&mut self) -> Token {
        let start = self.at;
        let mut end = start + 1;
        while self.bytes.get(end).is_some_and(|b| is_operator_byte(*b)) {
            let two = (self.bytes[end], self.bytes.get(end + 1).copied().unwrap_or(0));
            if matches!(two, (b'-', b'-') | (b'/', b'*')) {
                break;
            }
            end += 1;
        }
        // A question mark is a parameter elsewhere.
        if &self.bytes[start..end] == b"@" && self.bytes.get(end) == Some(&b'?') {
            end += 1;
        }
        let run = &self.bytes[start..end];
        if run.starts_with(b"=>") {
            self.at = start + 2;
            return self.token(Kind::Arrow, start);
        }
        let known = |length: usize| OPERATORS.iter().any(|known| known.as_bytes() == &run[..length]);
        let mut length = run.len();
        if length > 1 && !known(length) {
            // Signs and stars before an operand, as in `a=-1`, `a*-1`, `>=@x`: the longest known operator is the one meant.
            if let Some(shorter) = (1..length.min(5)).rev().find(|shorter| known(*shorter)) {
                length = shorter;
            }
        }
        self.at = start + length;
        self.token(Kind::Operator, start)
    }
}
