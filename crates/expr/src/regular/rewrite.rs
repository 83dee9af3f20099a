//! A pattern of PostgreSQL in the syntax of the engines.
//!
//! `rewritten` is called once for each pattern that is compiled. It takes `***=`, `***:` and `(?flags)` off the
//! beginning, writes the flags as switches of the engines, and then walks the pattern character by character:
//! escapes, classes and brackets that mean something else in the engines are replaced, all else is copied. It also
//! tells whether the pattern needs the engine that backtracks. What PostgreSQL refuses is an error here.

use types::{Error, Result, SqlState};

use super::Flags;

/// A pattern in the engines' syntax.
pub(super) struct Rewritten {
    /// The rewritten pattern.
    pub text: String,
    /// Whether it looks around or back.
    pub backtracks: bool,
}

/// Splits `***=` and `(?flags)` off the beginning.
fn head<'p>(pattern: &'p str, flags: &mut Flags) -> &'p str {
    if let Some(literal) = pattern.strip_prefix("***=") {
        flags.literal = true;
        return literal;
    }
    let rest = pattern.strip_prefix("***:").unwrap_or(pattern);
    let Some((letters, after)) = rest.strip_prefix("(?").and_then(|r| r.split_once(')')) else { return rest };
    let mut read = *flags;
    if letters.is_empty() || !letters.chars().all(|letter| read.set(letter)) {
        return rest;
    }
    *flags = read;
    after
}

/// Rewrites a pattern; the flags in its beginning are added to `flags`.
pub(super) fn rewritten(pattern: &str, mut flags: Flags) -> Result<Rewritten> {
    let body = if flags.literal { pattern } else { head(pattern, &mut flags) };
    let mut switches = String::new();
    for (on, letter) in [
        (flags.insensitive, 'i'),
        (flags.across_lines, 's'),
        (flags.at_lines, 'm'),
        (flags.expanded && !flags.literal, 'x'),
    ] {
        if on {
            switches.push(letter);
        }
    }
    let mut text = if switches.is_empty() { String::new() } else { format!("(?{switches})") };
    if flags.literal {
        text.push_str(&regex::escape(body));
        return Ok(Rewritten { text, backtracks: false });
    }
    let backtracks = looks_around(body);
    let mut rewriter =
        Rewriter { rest: body.chars().collect::<Vec<_>>(), at: 0, out: text, flags, backtracks };
    rewriter.run()?;
    Ok(Rewritten { text: rewriter.out, backtracks })
}

/// Whether a pattern has look-around or back-references, outside of brackets.
fn looks_around(pattern: &str) -> bool {
    let characters: Vec<char> = pattern.chars().collect();
    let (mut at, mut in_brackets) = (0, false);
    while at < characters.len() {
        match characters[at] {
            '\\' => {
                if !in_brackets && characters.get(at + 1).is_some_and(|c| ('1'..='9').contains(c)) {
                    return true;
                }
                at += 1;
            }
            '[' if !in_brackets => {
                in_brackets = true;
                // The first one in brackets is a character.
                at += usize::from(characters.get(at + 1) == Some(&'^'));
                at += usize::from(characters.get(at + 1) == Some(&']'));
            }
            '[' if matches!(characters.get(at + 1), Some(':' | '.' | '=')) => {
                let close = characters.get(at + 1).copied();
                let end = (at + 2..characters.len())
                    .find(|i| characters.get(*i).copied() == close && characters.get(i + 1) == Some(&']'));
                at = end.map_or(at, |end| end + 1);
            }
            ']' => in_brackets = false,
            '(' if !in_brackets && characters.get(at + 1) == Some(&'?') => {
                let ahead = matches!(characters.get(at + 2), Some('=' | '!'));
                let behind =
                    characters.get(at + 2) == Some(&'<') && matches!(characters.get(at + 3), Some('=' | '!'));
                if ahead || behind {
                    return true;
                }
            }
            _ => {}
        }
        at += 1;
    }
    false
}

struct Rewriter {
    rest: Vec<char>,
    at: usize,
    out: String,
    flags: Flags,
    backtracks: bool,
}

fn wrong(reason: &str) -> Error {
    Error::new(SqlState::InvalidRegularExpression, format!("invalid regular expression: {reason}"))
}

impl Rewriter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Result<()> {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' => self.escape()?,
                '[' => self.brackets()?,
                '{' if !self.peek(0).is_some_and(|c| c.is_ascii_digit()) => self.out.push_str("\\{"),
                '{' => {
                    self.out.push('{');
                    while let Some(c) = self.peek(0) {
                        self.at += 1;
                        self.out.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                }
                '}' => self.out.push_str("\\}"),
                // `(?P<name>`, `(?i)` and the like stay as they are.
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// As many hexadecimal digits as there may be.
    fn code(&mut self, most: usize, exactly: bool) -> Result<u32> {
        let mut digits = String::new();
        while digits.len() < most
            && let Some(c) = self.peek(0).filter(char::is_ascii_hexdigit)
        {
            digits.push(c);
            self.at += 1;
        }
        if digits.is_empty() || (exactly && digits.len() < most) {
            return Err(wrong("invalid escape \\ sequence"));
        }
        // The last digits count where there are more than a character has.
        let tail = &digits[digits.len().saturating_sub(8)..];
        u32::from_str_radix(tail, 16).map_err(|_| wrong("invalid escape \\ sequence"))
    }

    fn character(&mut self, code: u32) -> Result<()> {
        match char::from_u32(code) {
            Some(c) => {
                self.out.push_str(&format!("\\x{{{:X}}}", c as u32));
                Ok(())
            }
            None => Err(wrong("invalid escape \\ sequence")),
        }
    }

    fn escape(&mut self) -> Result<()> {
        let Some(c) = self.peek(0) else { return Err(wrong("invalid escape \\ sequence")) };
        self.at += 1;
        match c {
            'm' => self.out.push_str(if self.backtracks { r"(?:\b(?=\w))" } else { r"\b{start}" }),
            'M' => self.out.push_str(if self.backtracks { r"(?:\b(?<=\w))" } else { r"\b{end}" }),
            'y' => self.out.push_str(r"\b"),
            'Y' => self.out.push_str(r"\B"),
            'Z' => self.out.push_str(r"\z"),
            '1'..='9' => {
                self.out.push_str("(?:\\");
                self.out.push(c);
                while let Some(digit) = self.peek(0).filter(char::is_ascii_digit) {
                    self.out.push(digit);
                    self.at += 1;
                }
                self.out.push(')');
            }
            // A border, and what the engines know by themselves.
            'b' | 'B' | 'A' | 'z' | 'p' | 'P' => {
                self.out.push('\\');
                self.out.push(c);
                if matches!(c, 'p' | 'P') && self.peek(0) == Some('{') {
                    while let Some(c) = self.peek(0) {
                        self.at += 1;
                        self.out.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                }
            }
            _ => self.plain_escape(c)?,
        }
        Ok(())
    }

    /// Escapes that mean a character or a class of them, in brackets too.
    fn plain_escape(&mut self, c: char) -> Result<()> {
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'n' | 't' | 'r' | 'f' | 'v' | 'a' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'e' => self.out.push_str("\\x1B"),
            'x' if self.peek(0) == Some('{') => self.out.push_str("\\x"),
            'x' => {
                let code = self.code(255, false)?;
                self.character(code)?;
            }
            'u' if self.peek(0) == Some('{') => self.out.push_str("\\u"),
            'u' => {
                let code = self.code(4, true)?;
                self.character(code)?;
            }
            'U' => {
                let code = self.code(8, true)?;
                self.character(code)?;
            }
            'c' => {
                let Some(of) = self.peek(0) else { return Err(wrong("invalid escape \\ sequence")) };
                self.at += 1;
                self.character(of as u32 & 31)?;
            }
            '0' => {
                let mut code = 0;
                let mut digits = 0;
                while digits < 2
                    && let Some(digit) = self.peek(0).and_then(|c| c.to_digit(8))
                {
                    code = code * 8 + digit;
                    digits += 1;
                    self.at += 1;
                }
                self.character(code)?;
            }
            c if c.is_alphanumeric() => return Err(wrong("invalid escape \\ sequence")),
            c => self.out.push_str(&regex::escape(&c.to_string())),
        }
        Ok(())
    }

    fn brackets(&mut self) -> Result<()> {
        // Borders of words, as older programs write them.
        for (written, meant) in [("[:<:]]", 'm'), ("[:>:]]", 'M')] {
            let here = written.chars().enumerate().all(|(at, c)| self.peek(at) == Some(c));
            if here {
                self.at += written.len();
                let border = match (meant, self.backtracks) {
                    ('m', false) => r"\b{start}",
                    ('m', true) => r"(?:\b(?=\w))",
                    (_, false) => r"\b{end}",
                    (_, true) => r"(?:\b(?<=\w))",
                };
                self.out.push_str(border);
                return Ok(());
            }
        }
        self.out.push('[');
        let negated = self.peek(0) == Some('^');
        if negated {
            self.at += 1;
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(c) = self.peek(0) else { return Err(wrong("brackets [] not balanced")) };
            self.at += 1;
            match c {
                ']' if !first => break,
                '[' if matches!(self.peek(0), Some(':' | '.' | '=')) => self.class()?,
                '\\' => match self.peek(0) {
                    None => return Err(wrong("invalid escape \\ sequence")),
                    Some('b') => {
                        self.at += 1;
                        self.out.push_str("\\x08");
                    }
                    Some(c @ ('p' | 'P')) => {
                        self.at += 1;
                        self.out.push('\\');
                        self.out.push(c);
                    }
                    Some(c) => {
                        self.at += 1;
                        self.plain_escape(c)?;
                    }
                },
                '-' if first || matches!(self.peek(0), Some(']')) => self.out.push_str("\\-"),
                '-' => self.out.push('-'),
                '[' | ']' | '&' | '~' | '^' | '#' | ' ' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                c => self.out.push(c),
            }
            first = false;
        }
        if negated && !self.flags.across_lines {
            self.out.push_str("\\n");
        }
        self.out.push(']');
        Ok(())
    }

    /// `[:alpha:]`, `[=a=]` and `[.a.]`, behind their first bracket.
    fn class(&mut self) -> Result<()> {
        let Some(kind) = self.peek(0) else { return Err(wrong("brackets [] not balanced")) };
        self.at += 1;
        let mut name = String::new();
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(c), Some(']')) if c == kind => {
                    self.at += 2;
                    break;
                }
                (Some(c), _) => name.push(c),
                (None, _) => return Err(wrong("brackets [] not balanced")),
            }
            self.at += 1;
        }
        if kind != ':' {
            let mut characters = name.chars();
            return match (characters.next(), characters.next()) {
                (Some(c), None) => {
                    self.out.push_str(&regex::escape(&c.to_string()));
                    Ok(())
                }
                _ => Err(wrong("invalid collating element")),
            };
        }
        self.out.push_str(match name.as_str() {
            "alpha" => r"\p{Alphabetic}",
            "digit" => r"0-9",
            "alnum" => r"\p{Alphabetic}0-9",
            "upper" => r"\p{Uppercase}",
            "lower" => r"\p{Lowercase}",
            "space" => r"\s",
            "blank" => r"\x20\t",
            "punct" => r"[:punct:]",
            "xdigit" => r"0-9A-Fa-f",
            "cntrl" => r"\p{Cc}",
            "print" => r"\P{C}",
            "graph" => r"[^\p{C}\s]",
            "word" => r"\w",
            "ascii" => r"\x00-\x7F",
            _ => return Err(wrong("invalid character class")),
        });
        if name == "punct" {
            // Within brackets of its own: the engines know the class by that name only.
            self.out.truncate(self.out.len() - "[:punct:]".len());
            self.out.push_str("[[:punct:]]");
        }
        Ok(())
    }
}
