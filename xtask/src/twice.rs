//! Logic stands once: no run of more than a dozen lines stands twice in the sources, renamed or not.
//!
//! A line is read as tokens. Within a run, names count by the order of their first appearance, and what texts and
//! numbers say does not count, so that a copy with other names is found. Runs of declarations do not count (tables of
//! functions, fields of structs, arms that only map one name to another): only those in which enough lines decide,
//! repeat or assign something.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::Finding;

/// Lines of a run that may stand twice.
const LINES_MAX: usize = 12;
/// Lines of a run that must do something, so that it counts as logic.
const LOGIC_MIN: usize = 3;

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return",
    "self", "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
    "Some", "None", "Ok", "Err",
];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    Name(String),
    Word(&'static str),
    Text,
    Number,
    Sign(char),
}

/// A line that says something.
struct Line {
    number: usize,
    tokens: Vec<Token>,
    logic: bool,
}

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut runs: HashMap<u64, (String, usize)> = HashMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        let place = file.to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        findings.extend(repeated(&place, &lines(&text), &mut runs));
    }
    findings
}

/// Runs of a file that stood before, one finding for each stretch of them.
fn repeated(place: &str, lines: &[Line], runs: &mut HashMap<u64, (String, usize)>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reported = 0;
    for (at, run) in lines.windows(LINES_MAX + 1).enumerate() {
        if run.iter().filter(|line| line.logic).count() < LOGIC_MIN {
            continue;
        }
        match runs.entry(shape(run)) {
            Entry::Vacant(entry) => drop(entry.insert((place.to_owned(), run[0].number))),
            Entry::Occupied(entry) if at >= reported => {
                let (other, line) = entry.get();
                // A run that overlaps itself is a list of like lines.
                if other == place && run[0].number <= line + LINES_MAX {
                    continue;
                }
                reported = at + run.len();
                findings.push(Finding::new(
                    format!("{place}:{}", run[0].number),
                    format!(
                        "{} lines stand at {other}:{line} as well, renamed or not: write them once",
                        run.len()
                    ),
                ));
            }
            Entry::Occupied(_) => {}
        }
    }
    findings
}

/// What a run says, without its names.
fn shape(run: &[Line]) -> u64 {
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut hasher = DefaultHasher::new();
    for line in run {
        for token in &line.tokens {
            match token {
                Token::Name(name) => {
                    let next = names.len();
                    names.entry(name).or_insert(next).hash(&mut hasher);
                }
                other => other.hash(&mut hasher),
            }
        }
        '\n'.hash(&mut hasher);
    }
    hasher.finish()
}

/// The lines that hold more than signs, without comments, attributes and imports.
fn lines(text: &str) -> Vec<Line> {
    let mut inside_text = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let tokens = tokens(line, &mut inside_text);
        let says = tokens.iter().any(|token| !matches!(token, Token::Sign(_)));
        let apart = matches!(tokens.first(), Some(Token::Word("use")) | Some(Token::Sign('#')));
        if !says || apart {
            continue;
        }
        let does = |token: &Token| {
            matches!(
                token,
                Token::Word(
                    "if" | "for" | "while" | "loop" | "match" | "return" | "let" | "break" | "continue"
                )
            )
        };
        let assigns = tokens
            .windows(2)
            .any(|pair| matches!(pair, [Token::Sign('+' | '-' | '|' | '&' | '*'), Token::Sign('=')]));
        lines.push(Line { number: at + 1, logic: tokens.iter().any(does) || assigns, tokens });
    }
    lines
}

/// The tokens of a line. Texts that go on over the next line are followed.
fn tokens(line: &str, inside_text: &mut bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if *inside_text {
            match c {
                '\\' => drop(chars.next()),
                '"' => *inside_text = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => {
                *inside_text = true;
                tokens.push(Token::Text);
            }
            '/' if line[at..].starts_with("//") => break,
            '\'' => {
                // A character, or a lifetime.
                let rest = &line[at + 1..];
                let length = rest.strip_prefix('\\').and_then(|behind| behind.find('\'')).map(|n| n + 2);
                let one = rest.chars().next().map_or(0, char::len_utf8);
                let length = length.or_else(|| rest[one..].starts_with('\'').then_some(one + 1));
                if let Some(length) = length {
                    while chars.next_if(|(next, _)| *next <= at + length).is_some() {}
                    tokens.push(Token::Text);
                } else {
                    tokens.push(Token::Sign(c));
                }
            }
            c if c.is_ascii_digit() => {
                while chars.next_if(|(_, c)| c.is_ascii_alphanumeric() || *c == '_').is_some() {}
                tokens.push(Token::Number);
            }
            c if c.is_alphabetic() || c == '_' => {
                let mut end = at + c.len_utf8();
                while let Some((next, c)) = chars.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
                    end = next + c.len_utf8();
                }
                let word = &line[at..end];
                let known = KEYWORDS.iter().find(|keyword| **keyword == word);
                tokens
                    .push(known.map_or_else(|| Token::Name(word.to_owned()), |keyword| Token::Word(keyword)));
            }
            c if c.is_whitespace() => {}
            c => tokens.push(Token::Sign(c)),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fourteen lines that do something, with names that begin with `prefix`.
    fn function(prefix: &str) -> String {
        let mut text = format!("fn {prefix}f({prefix}a: u64) -> u64 {{\n    let mut {prefix}sum = 0;\n");
        for _ in 0..4 {
            text.push_str(&format!("    if {prefix}a > 7 {{\n        {prefix}sum += {prefix}a;\n    }}\n"));
            text.push_str(&format!(
                "    for {prefix}i in 0..{prefix}a {{\n        g({prefix}i, \"{prefix}\");\n    }}\n"
            ));
        }
        text + &format!("    {prefix}sum\n}}\n")
    }

    fn found(first: &str, second: &str) -> usize {
        let mut runs = HashMap::new();
        let before = repeated("first.rs", &lines(first), &mut runs);
        assert!(before.is_empty(), "one text repeats itself");
        repeated("second.rs", &lines(second), &mut runs).len()
    }

    #[test]
    fn copies_are_found_under_other_names_and_beside_comments() {
        let first = "fn other() {}\n".to_owned() + &function("x");
        assert_eq!(found(&first, &function("x")), 1);
        assert_eq!(found(&first, &function("renamed_")), 1);
        let remarked = function("y").replace("    for", "    // A remark.\n\n    for");
        assert_eq!(found(&first, &remarked), 1);
    }

    #[test]
    fn other_logic_and_declarations_are_none() {
        let other = function("x").replace("+=", "-=").replace("> 7", "< 7");
        assert_eq!(found(&function("x"), &other), 0);
        let fields = (0..20).map(|n| format!("    field_{n}: u64,\n")).collect::<String>();
        assert_eq!(found(&fields, &fields.replace("field", "other")), 0);
    }
}
