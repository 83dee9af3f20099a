//! Regular expressions in PostgreSQL's language, run by two engines.
//!
//! A pattern is rewritten once into the syntax that the engines share. One without look-around and back-references is
//! run by `regex`, in time linear in the text. The others are run by `fancy-regex`, which goes back and tries again:
//! its steps are bounded, and a pattern that takes more on a text is an error, never a hang. Operators, `SIMILAR TO`
//! and every function of the name `regexp_...` come here.
//!
//! | PostgreSQL | here |
//! | --- | --- |
//! | `\m \M \y \Y \Z` | beginning and end of a word, either, neither, the end of the text |
//! | `***=text`, `(?flags)` at the beginning | a literal text, flags |
//! | `[[:alpha:]]`, `[]a]`, `[a[b]` | classes; other brackets in brackets are characters |
//! | `{` that no number follows | a character |
//! | `\b` | the border of a word, as elsewhere; PostgreSQL has a backspace there, as `\x08` has here |

use std::cell::RefCell;
use std::rc::Rc;

use types::{Error, Result, SqlState, stop};

mod rewrite;

/// Largest compiled regular expression; a pattern that needs more is refused.
const BYTES_MAX: usize = 4 << 20;
/// Steps back that one search may take.
const STEPS_MAX: usize = 1_000_000;

/// How a pattern is to be read, in addition to what it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags {
    /// Letters match in both cases (`i`).
    pub insensitive: bool,
    /// `.` and `[^x]` match line breaks.
    pub across_lines: bool,
    /// `^` and `$` match at line breaks.
    pub at_lines: bool,
    /// The pattern is plain text without operators (`q`).
    pub literal: bool,
    /// Blanks and comments in the pattern mean nothing.
    pub expanded: bool,
    /// Every match counts, not the first alone (`g`); it is for the calling function to heed.
    pub global: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            insensitive: false,
            across_lines: true,
            at_lines: false,
            literal: false,
            expanded: false,
            global: false,
        }
    }
}

impl Flags {
    /// Reads the letters of a function's last argument; later ones win. An error for a letter that is no flag.
    pub fn of(letters: &str) -> Result<Flags> {
        let mut flags = Flags::default();
        for letter in letters.chars() {
            if letter == 'g' {
                flags.global = true;
            } else if !flags.set(letter) {
                let message = format!("invalid regular expression option: \"{letter}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message)
                    .with_hint("the options are c, g, i, m, n, p, q, s, w and x"));
            }
        }
        Ok(flags)
    }
    /// Whether a letter is one of the flags; `b`, for another language of patterns, is none here.
    fn set(&mut self, letter: char) -> bool {
        match letter {
            'c' => self.insensitive = false,
            'i' => self.insensitive = true,
            'm' | 'n' => (self.across_lines, self.at_lines) = (false, true),
            'p' => (self.across_lines, self.at_lines) = (false, false),
            's' => (self.across_lines, self.at_lines) = (true, false),
            'w' => (self.across_lines, self.at_lines) = (true, true),
            'l' | 'q' => self.literal = true,
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'e' => {}
            _ => return false,
        }
        true
    }
}

/// Where a match and each of its groups lie in the text; `None` for a group that took no part.
pub(crate) type Groups = Vec<Option<(usize, usize)>>;

#[derive(Debug)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// What a search for the next match costs at most, mostly: it ends at a match.
const FIND_UNITS_MAX: usize = 4096;

/// Patterns that a thread keeps, and the longest of them.
const RECENT_MAX: usize = 4;
const RECENT_BYTES_MAX: usize = 1024;

thread_local! {
    /// The thread's last patterns, the latest first.
    static RECENT: RefCell<Vec<(String, Flags, Rc<Pattern>)>> = const { RefCell::new(Vec::new()) };
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    engine: Engine,
}

fn malformed(reason: &str) -> Error {
    let reason = reason.lines().last().unwrap_or_default().trim();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    Error::new(SqlState::InvalidRegularExpression, format!("invalid regular expression: {reason}"))
}

impl Pattern {
    /// Compiles a pattern; an error for one that is malformed or too large.
    pub fn new(pattern: &str, flags: Flags) -> Result<Pattern> {
        let rewritten = rewrite::rewritten(pattern, flags)?;
        let engine = if rewritten.backtracks {
            let built = fancy_regex::RegexBuilder::new(&rewritten.text)
                .backtrack_limit(STEPS_MAX)
                .delegate_size_limit(BYTES_MAX)
                .build();
            Engine::Backtracking(Box::new(built.map_err(|e| malformed(&e.to_string()))?))
        } else {
            let built = regex::RegexBuilder::new(&rewritten.text).size_limit(BYTES_MAX).build();
            Engine::Linear(built.map_err(|e| malformed(&e.to_string()))?)
        };
        Ok(Pattern { engine })
    }

    /// The compiled pattern, which may be one that the thread had before: a constant one is asked for in every batch, and
    /// what it has learned of texts is kept with it.
    pub fn recent(pattern: &str, flags: Flags) -> Result<Rc<Pattern>> {
        let kept = RECENT.with_borrow(|recent| {
            recent
                .iter()
                .position(|(text, of, _)| text == pattern && *of == flags)
                .map(|at| recent[at].2.clone())
        });
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let made = Rc::new(Pattern::new(pattern, flags)?);
        if pattern.len() <= RECENT_BYTES_MAX {
            RECENT.with_borrow_mut(|recent| {
                recent.truncate(RECENT_MAX - 1);
                recent.insert(0, (pattern.to_owned(), flags, made.clone()));
            });
        }
        Ok(made)
    }

    /// A search through so many bytes comes now. One that goes back may take all its steps over few of them.
    fn spend(&self, bytes: usize) {
        stop::spend(match self.engine {
            Engine::Linear(_) => 64 + bytes,
            Engine::Backtracking(_) => usize::MAX,
        });
    }

    /// How many groups the pattern has.
    pub fn groups(&self) -> usize {
        match &self.engine {
            Engine::Linear(regex) => regex.captures_len() - 1,
            Engine::Backtracking(regex) => regex.captures_len() - 1,
        }
    }

    /// Whether the pattern matches anywhere in the text. An error when a search takes too many steps.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        self.spend(text.len());
        match &self.engine {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).map_err(|e| too_many_steps(&e)),
        }
    }

    /// The first match that begins at a place or after it. What stands before the place is seen, so that `^` and
    /// look-behind mean what they mean in the whole text.
    pub fn find(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        self.spend((text.len() - from.min(text.len())).min(FIND_UNITS_MAX));
        match &self.engine {
            Engine::Linear(regex) if regex.captures_len() == 1 => {
                Ok(regex.find_at(text, from).map(|m| vec![Some((m.start(), m.end()))]))
            }
            Engine::Linear(regex) => Ok(regex
                .captures_at(text, from)
                .map(|c| (0..c.len()).map(|at| c.get(at).map(|m| (m.start(), m.end()))).collect())),
            Engine::Backtracking(regex) => {
                let found = regex.captures_from_pos(text, from).map_err(|e| too_many_steps(&e))?;
                Ok(found.map(|c| (0..c.len()).map(|at| c.get(at).map(|m| (m.start(), m.end()))).collect()))
            }
        }
    }

    /// Calls `each` with every match from a place on until it says that this is enough. After an empty match the
    /// search goes on a character later, as PostgreSQL's does.
    pub fn each(&self, text: &str, from: usize, mut each: impl FnMut(&Groups) -> bool) -> Result<()> {
        let mut at = from;
        while at <= text.len() {
            let Some(groups) = self.find(text, at)? else { break };
            let Some(Some((start, end))) = groups.first().copied() else { break };
            if !each(&groups) {
                break;
            }
            at = after(text, start, end);
        }
        Ok(())
    }
}

/// Where the search goes on after a match: a character later where it was empty.
pub(crate) fn after(text: &str, start: usize, end: usize) -> usize {
    if start < end {
        return end;
    }
    end + text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}

/// Searches with one pattern through many texts: the places of groups are written where the last match's were.
pub(crate) struct Searcher<'p> {
    pattern: &'p Pattern,
    /// Where the groups of the last match are; `None` where only the whole match is asked for, which is found faster.
    places: Option<Places>,
}

enum Places {
    Linear(regex::CaptureLocations),
    Backtracking(Groups),
}

impl<'p> Searcher<'p> {
    /// `groups`: they will be asked for.
    pub fn new(pattern: &'p Pattern, groups: bool) -> Self {
        let places = groups.then(|| match &pattern.engine {
            Engine::Linear(regex) => Places::Linear(regex.capture_locations()),
            Engine::Backtracking(_) => Places::Backtracking(vec![]),
        });
        Searcher { pattern, places }
    }
    /// Where the first match lies that begins at a place or after it.
    pub fn find(&mut self, text: &str, from: usize) -> Result<Option<(usize, usize)>> {
        self.pattern.spend((text.len() - from.min(text.len())).min(FIND_UNITS_MAX));
        let place = |found: regex::Match<'_>| (found.start(), found.end());
        match (&self.pattern.engine, &mut self.places) {
            (Engine::Linear(regex), Some(Places::Linear(places))) => {
                Ok(regex.captures_read_at(places, text, from).map(place))
            }
            (Engine::Linear(regex), _) => Ok(regex.find_at(text, from).map(place)),
            (Engine::Backtracking(_), places) => {
                let found = self.pattern.find(text, from)?.unwrap_or_default();
                let whole = found.first().copied().flatten();
                if let Some(Places::Backtracking(groups)) = places {
                    *groups = found;
                }
                Ok(whole)
            }
        }
    }
    /// Where a group of the last match lies; `None` for one that took no part.
    pub fn group(&self, at: usize) -> Option<(usize, usize)> {
        match &self.places {
            Some(Places::Linear(places)) => places.get(at),
            Some(Places::Backtracking(groups)) => groups.get(at).copied().flatten(),
            None => None,
        }
    }
}

fn too_many_steps(error: &fancy_regex::Error) -> Error {
    match error {
        fancy_regex::Error::RuntimeError(_) => Error::new(
            SqlState::StatementTooComplex,
            format!("the regular expression takes more than {STEPS_MAX} steps on a text"),
        )
        .with_hint(
            "look-around and back-references are tried place by place; make what they repeat unambiguous",
        ),
        other => malformed(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> Option<String> {
        let pattern = Pattern::new(pattern, Flags::default()).unwrap();
        let groups = pattern.find(text, 0).unwrap()?;
        groups[0].map(|(start, end)| text[start..end].to_owned())
    }

    #[test]
    fn postgresqls_language() {
        assert_eq!(found(r"\mfoo\M", "a foo b").as_deref(), Some("foo"));
        assert_eq!(found(r"\mfoo\M", "afoo"), None);
        assert_eq!(found(r"[[:alpha:]_]+", "12ab_c").as_deref(), Some("ab_c"));
        assert_eq!(found(r"[]a]+", "x]a]").as_deref(), Some("]a]"));
        assert_eq!(found(r"[a[b]+", "x[a").as_deref(), Some("[a"));
        assert_eq!(found(r"(?=b)\w", "abc").as_deref(), Some("b"));
        assert_eq!(found(r"(\w)\1", "abccd").as_deref(), Some("cc"));
        assert_eq!(found(r"(?<!a)b", "abb").as_deref(), Some("b"));
        assert_eq!(found("***=a.c", "abc a.c").as_deref(), Some("a.c"));
        assert_eq!(found("(?i)ABC", "abc").as_deref(), Some("abc"));
        assert_eq!(found("a.c", "a\nc").as_deref(), Some("a\nc"));
        assert_eq!(found("(?n)a.c", "a\nc"), None);
        assert_eq!(found("a{b", "a{b").as_deref(), Some("a{b"));
        assert_eq!(found(r"\x41\u0042", "AB").as_deref(), Some("AB"));
        assert!(Pattern::new("(", Flags::default()).is_err());
        assert!(Flags::of("z").is_err());
    }

    #[test]
    fn backtracking_is_bounded() {
        let pattern = Pattern::new(r"(?=(a+)+$)(a|aa)+$", Flags::default()).unwrap();
        let text = "a".repeat(60) + "b";
        let error = pattern.is_match(&text).map(|_| ()).err();
        assert!(error.is_none_or(|e| e.state() == SqlState::StatementTooComplex));
        let pattern = Pattern::new(r"^(a+)+\1$", Flags::default()).unwrap();
        assert_eq!(pattern.is_match(&text).unwrap_err().state(), SqlState::StatementTooComplex);
    }
}
