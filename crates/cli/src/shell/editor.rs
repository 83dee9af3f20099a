//! What the line editor asks while a statement is typed: which colours, which completions; and whether it is complete.
//!
//! Colours come from the shell's own lexer. Completions come from the catalog's newest snapshot and depend on the
//! word before the cursor; no statement is run for them. Whether a statement is complete is the engine's decision,
//! except for commands of the shell.

use std::borrow::Cow;

use engine::Database;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use types::quote;

use super::commands;
use super::lexer::{self, Kind, Token, tokens};

/// The line editor's helper: colours, and completion of keywords, settings, names of the main database and files.
pub struct SqlHelper {
    database: Database,
    files: FilenameCompleter,
    colours: bool,
}

impl SqlHelper {
    /// `colours`: whether SQL is highlighted.
    pub fn new(database: Database, colours: bool) -> Self {
        SqlHelper { database, files: FilenameCompleter::new(), colours }
    }
}

impl Helper for SqlHelper {}

impl Hinter for SqlHelper {
    type Hint = String;
}

// Each line is taken as it is; the shell asks for the next one until the statement is complete.
impl Validator for SqlHelper {}

/// Whether what was typed can be run, or is an end of the shell's own.
pub fn is_complete(text: &str) -> bool {
    super::leaves(text)
        || super::is_command(text)
        || engine::is_complete(text)
        || super::suffix::split(text).is_some()
}

impl Highlighter for SqlHelper {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        if !self.colours || super::is_command(line) {
            return Cow::Borrowed(line);
        }
        let mut coloured = String::with_capacity(line.len() * 2);
        for Token { kind, range } in tokens(line) {
            let colour = match kind {
                Kind::Keyword => "\x1b[1;34m",
                Kind::Text => "\x1b[32m",
                Kind::Number => "\x1b[36m",
                Kind::Comment => "\x1b[2m",
                Kind::Word | Kind::QuotedName | Kind::Symbol | Kind::Blank => "",
            };
            coloured.push_str(colour);
            coloured.push_str(&line[range]);
            if !colour.is_empty() {
                coloured.push_str("\x1b[0m");
            }
        }
        Cow::Owned(coloured)
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _default: bool) -> Cow<'b, str> {
        if self.colours { Cow::Owned(format!("\x1b[1m{prompt}\x1b[0m")) } else { Cow::Borrowed(prompt) }
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.colours && kind != CmdKind::MoveCursor
    }
}

impl Completer for SqlHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        let pieces = tokens(before);
        // Inside quotes stands a file's name, or nothing that is known.
        if let Some(Token { kind: Kind::Text, range }) = pieces.last()
            && (range.len() == 1 || !before.ends_with('\''))
        {
            let (start, files) =
                self.files.complete_path_unsorted(&before[range.start + 1..], pos - range.start - 1)?;
            return Ok((range.start + 1 + start, files));
        }
        let (start, candidates) = self.candidates(before, line, &pieces);
        let typed = &before[start..];
        let mut matching: Vec<String> = candidates
            .into_iter()
            .filter(|c| {
                c.len() >= typed.len()
                    && c.is_char_boundary(typed.len())
                    && c[..typed.len()].eq_ignore_ascii_case(typed)
            })
            .collect();
        matching.sort_unstable();
        matching.dedup();
        Ok((start, matching.into_iter().map(|c| Pair { display: c.clone(), replacement: c }).collect()))
    }
}

impl SqlHelper {
    /// Where the word before the cursor begins, and what could stand there.
    fn candidates(&self, before: &str, line: &str, pieces: &[Token]) -> (usize, Vec<String>) {
        if super::is_command(before) && !before.trim_start().contains(char::is_whitespace) {
            return (before.len() - before.trim_start().len(), commands::names());
        }
        let in_word = matches!(pieces.last(), Some(t) if matches!(t.kind, Kind::Keyword | Kind::Word));
        let start = if in_word { pieces.last().map_or(0, |t| t.range.start) } else { before.len() };
        let words: Vec<&str> = pieces
            .iter()
            .filter(|t| t.range.end <= start && !matches!(t.kind, Kind::Blank | Kind::Comment))
            .map(|t| &before[t.range.clone()])
            .collect();
        let last = words.last().map(|w| w.to_ascii_uppercase()).unwrap_or_default();
        let snapshot = self.database.catalog().snapshot();
        if last == "." {
            let name = words.len().checked_sub(2).map_or("", |at| words[at]);
            return (start, self.members(name, line));
        }
        if matches!(last.as_str(), "SET" | "SHOW" | "RESET") {
            let settings = engine::settings::Settings::default().all();
            let names = settings.into_iter().map(|(name, ..)| name);
            let shared = engine::settings::shared().map(|(name, _)| name.to_owned());
            return (start, names.chain(shared).collect());
        }
        let tables = snapshot.tables().map(|t| quote::name_if_needed(&t.name));
        let schemas = snapshot.schemas().keys().map(|s| quote::name_if_needed(s));
        let after_command = super::is_command(before);
        if after_command
            || matches!(last.as_str(), "FROM" | "JOIN" | "INTO" | "TABLE" | "COPY" | "REFERENCES")
        {
            return (start, tables.chain(schemas).collect());
        }
        // A keyword is completed in the case in which it was begun.
        let lower = before[start..].chars().next().is_some_and(char::is_lowercase);
        let keywords =
            lexer::KEYWORDS.iter().map(|k| if lower { k.to_ascii_lowercase() } else { (*k).to_owned() });
        let mentioned: Vec<&str> = tokens(line).iter().map(|t| &line[t.range.clone()]).collect();
        let columns = snapshot
            .tables()
            .filter(|t| mentioned.iter().any(|w| w.trim_matches('"').eq_ignore_ascii_case(&t.name)))
            .flat_map(|t| {
                t.columns.fields().iter().map(|f| quote::name_if_needed(&f.name)).collect::<Vec<_>>()
            });
        (start, keywords.chain(columns).chain(tables).collect())
    }

    /// What may follow `name.`: a schema's tables, or the columns of a table or of what is aliased so.
    fn members(&self, name: &str, line: &str) -> Vec<String> {
        let name = name.trim_matches('"');
        let snapshot = self.database.catalog().snapshot();
        if let Some(schema) = snapshot.schemas().get(&name.to_ascii_lowercase()) {
            return schema.tables.keys().map(|t| quote::name_if_needed(t)).collect();
        }
        let words: Vec<&str> = tokens(line)
            .iter()
            .filter(|t| !matches!(t.kind, Kind::Blank | Kind::Comment))
            .map(|t| &line[t.range.clone()])
            .collect();
        // `orders o` and `orders AS o` make o stand for orders.
        let aliased = words.windows(3).find_map(|w| match w {
            [table, r#as, alias] if r#as.eq_ignore_ascii_case("as") && alias.eq_ignore_ascii_case(name) => {
                snapshot.find(None, table)
            }
            [_, table, alias] | [table, alias, _] if alias.eq_ignore_ascii_case(name) => {
                snapshot.find(None, table)
            }
            _ => None,
        });
        let table = snapshot.find(None, &name.to_ascii_lowercase()).or(aliased);
        table.map_or_else(Vec::new, |t| {
            t.columns.fields().iter().map(|f| quote::name_if_needed(&f.name)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    fn completions(line: &str) -> Vec<String> {
        let database = Database::in_memory(engine::Options::default()).unwrap();
        let session = database.session();
        session
            .execute("CREATE TABLE orders (o_id INTEGER, \"Odd Name\" TEXT); CREATE TABLE other (x INTEGER)")
            .unwrap();
        let helper = SqlHelper::new(database, true);
        let history = DefaultHistory::new();
        let (start, pairs) = helper.complete(line, line.len(), &Context::new(&history)).unwrap();
        pairs.into_iter().map(|p| format!("{}{}", &line[..start], p.replacement)).collect()
    }

    #[test]
    fn what_fits_the_place_is_offered() {
        assert_eq!(completions("sel"), ["select"]);
        assert_eq!(completions("SEL"), ["SELECT"]);
        assert_eq!(completions("SELECT * FROM o"), ["SELECT * FROM orders", "SELECT * FROM other"]);
        assert_eq!(completions("SELECT * FROM orders q WHERE q.o"), ["SELECT * FROM orders q WHERE q.o_id"]);
        assert_eq!(
            completions("SELECT * FROM orders AS q WHERE q."),
            ["SELECT * FROM orders AS q WHERE q.\"Odd Name\"", "SELECT * FROM orders AS q WHERE q.o_id"]
        );
        assert!(
            completions("SELECT o FROM orders WHERE o_")
                .contains(&"SELECT o FROM orders WHERE o_id".to_owned())
        );
        assert_eq!(completions("SET statement_t"), ["SET statement_timeout"]);
        assert_eq!(completions("\\ti"), ["\\timing"]);
        assert_eq!(completions("\\d ord"), ["\\d orders"]);
        assert!(completions("SELECT 'é").is_empty());
    }
}
