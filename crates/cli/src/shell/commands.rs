//! The commands that begin with a backslash.
//!
//! `COMMANDS` is the one list of commands: help and completion come from it. `parse` turns a line into a [`Command`]
//! without running anything; shell/mod.rs and state.rs obey it. Commands of psql, DuckDB and SQLite with the same
//! meaning are translated, and others of theirs give an error that says what to do here.

use engine::{Error, Result, SqlState};

use super::progress::Display;

/// What a line such as `\d orders` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The list of commands, or the help of one.
    Help(Option<String>),
    Quit,
    /// Tables and views with their sizes.
    ListTables,
    /// Columns and keys of what this names.
    Describe(String),
    /// The time of each statement. `None` turns it over.
    Timing(Option<bool>),
    /// One line a value. `None` turns it over.
    Expanded(Option<bool>),
    /// Long results through a pager. `None` turns it over.
    Pager(Option<bool>),
    /// How progress is shown. `None` asks.
    Progress(Option<Display>),
    /// How results are printed. `None` asks.
    Format(Option<String>),
    /// The statement's text; none for the last one. With `analyze` it is run.
    Explain {
        text: Option<String>,
        analyze: bool,
    },
    /// Rows of a file into a table.
    CopyIn {
        table: String,
        path: String,
    },
    /// Rows of a query or table into a file.
    CopyOut {
        query: String,
        path: String,
    },
    /// Runs the statements and commands of a file.
    Run(String),
    /// Prints a text.
    Echo(String),
    /// Without a name it lists the variables.
    Set(Option<(String, String)>),
    /// Forgets a variable.
    Unset(String),
    /// Where results go; none for the screen.
    Output(Option<String>),
    /// A command of the system.
    System(String),
    /// What NULL is shown as.
    Null(Option<String>),
    /// Rows shown of a long result; all when there is none.
    MaxRows(Option<usize>),
    /// How much is drawn around tables: 0, 1 or 2.
    Border(u8),
    /// The last statement again: expanded, or into a file.
    Again {
        expanded: bool,
        path: Option<String>,
    },
    /// The last statement again and again, with so many seconds between.
    Watch(std::time::Duration),
    /// The last statement, or a file, in an editor; then it is run.
    Edit(Option<String>),
    /// A statement that answers what a command of other shells asks.
    Sql(String),
}

/// A command's line of help.
struct Description {
    name: &'static str,
    arguments: &'static str,
    meaning: &'static str,
}

const fn described(name: &'static str, arguments: &'static str, meaning: &'static str) -> Description {
    Description { name, arguments, meaning }
}

/// All commands, in the order of the help.
const COMMANDS: [Description; 25] = [
    described("\\help", "[COMMAND]", "this list, or one of its lines"),
    described("\\q", "", "leave; so does Ctrl-D"),
    described("\\dt", "", "the tables and views: rows, memory, blocks"),
    described(
        "\\d",
        "[NAME]",
        "columns of a table, view or file, and a table's keys; without a name as \\dt",
    ),
    described("\\timing", "[on|off]", "show how long each statement took"),
    described("\\x", "[on|off]", "one line a value, for wide rows"),
    described("\\pager", "[on|off]", "long results go through $QUICKSTEP_PAGER, $PAGER or less"),
    described(
        "\\progress",
        "[bar | tree | off]",
        "what is drawn while a statement takes longer: a bar, or the plan as a tree that fills up",
    ),
    described("\\format", "[FORMAT]", "table, box, csv, tsv, json, ndjson, markdown or html"),
    described(
        "\\explain",
        "[STATEMENT]",
        "run a statement (or the last one again) and show its plan with what was measured",
    ),
    described("\\plan", "[STATEMENT]", "the plan alone, without running it"),
    described(
        "\\copy",
        "TABLE FROM 'FILE'; or TABLE or (QUERY) TO 'FILE'",
        "files in and out; the name's end says the format: csv, tsv, json, ndjson, arrow, parquet",
    ),
    described("\\i", "FILE", "run the statements and commands of a file"),
    described("\\echo", "TEXT", "print it"),
    described(
        "\\g",
        "[FILE]",
        "run the statement before it, or the last one again; its result goes to the file",
    ),
    described("\\gx", "[FILE]", "as \\g, with one line a value"),
    described(
        "\\watch",
        "[SECONDS]",
        "run the statement before it, or the last one, every 2 seconds until Ctrl-C",
    ),
    described(
        "\\e",
        "[FILE]",
        "edit the last statement, or a file, in $QUICKSTEP_EDITOR, $VISUAL, $EDITOR or vi, and run it",
    ),
    described("\\o", "[FILE]", "results go to a file; without one, to the screen again"),
    described("\\!", "COMMAND", "run a command of the system"),
    described("\\set", "[NAME VALUE]", "a variable: :NAME, :'NAME' and :\"NAME\" stand for it in statements"),
    described("\\unset", "NAME", "forget a variable"),
    described("\\pset", "[OPTION VALUE]", "psql's names: null, format, expanded, pager, border, linestyle"),
    described("\\nullvalue", "[TEXT]", "what NULL is shown as"),
    described(
        "\\maxrows",
        "[ROWS | all]",
        "of longer results show as many rows, the first and the last ones",
    ),
];

/// All commands with their backslash, for completion.
pub fn names() -> Vec<String> {
    COMMANDS.iter().map(|c| c.name.to_owned()).collect()
}

/// The list of all commands, or the line of one, named with or without its backslash; an error for an unknown name.
pub fn help(about: Option<&str>) -> Result<String> {
    let width =
        COMMANDS.iter().filter(|c| c.arguments.len() < 16).map(|c| c.name.len() + c.arguments.len()).max();
    let width = width.unwrap_or(0) + 3;
    let line = |c: &Description| {
        let head = format!("{} {}", c.name, c.arguments);
        if head.len() > width {
            format!("  {head}\n  {:width$}{}\n", "", c.meaning)
        } else {
            format!("  {head:width$}{}\n", c.meaning)
        }
    };
    match about {
        None => {
            let lines: String = COMMANDS.iter().map(line).collect();
            Ok(format!(
                "Statements end with ';' and may take several lines. Tab completes, the arrows bring back what was \
                 typed,\nCtrl-R searches it, Ctrl-C ends a statement that runs. SHOW ALL; lists the settings.\n\n{lines}"
            ))
        }
        Some(name) => {
            let name = format!("\\{}", name.trim_start_matches('\\'));
            COMMANDS.iter().find(|c| c.name == name).map(line).ok_or_else(|| unknown(&name))
        }
    }
}

/// Commands of psql, DuckDB and SQLite that mean one of ours, which is obeyed.
fn translated(name: &str, rest: &str) -> Option<String> {
    let named = |statement: &str| {
        let pattern = rest.trim_matches('\'').replace('*', "%").replace('\'', "''");
        if rest.is_empty() { format!("{statement};") } else { format!("{statement} LIKE '{pattern}';") }
    };
    Some(match name {
        ".tables" => "\\dt".to_owned(),
        ".timer" | ".timing" => format!("\\timing {rest}"),
        ".read" => format!("\\i {rest}"),
        ".print" => format!("\\echo {rest}"),
        ".output" => format!("\\o {rest}"),
        ".shell" | ".system" => format!("\\! {rest}"),
        ".nullvalue" => format!("\\nullvalue {rest}"),
        ".maxrows" => format!("\\maxrows {rest}"),
        ".edit" => format!("\\e {rest}"),
        ".exit" | ".quit" => "\\q".to_owned(),
        ".help" => "\\help".to_owned(),
        ".schema" | ".describe" if !rest.is_empty() => format!("\\d {rest}"),
        ".mode" => match rest {
            "" => "\\format".to_owned(),
            "line" | "lines" => "\\x on".to_owned(),
            "duckbox" => "\\format box".to_owned(),
            "column" | "columns" => "\\format table".to_owned(),
            "jsonlines" => "\\format ndjson".to_owned(),
            "tabs" => "\\format tsv".to_owned(),
            other => format!("\\format {other}"),
        },
        "\\df" => named("SHOW FUNCTIONS"),
        "\\dn" | ".schemas" => "SHOW SCHEMAS;".to_owned(),
        "\\dv" => "SHOW VIEWS;".to_owned(),
        _ => return None,
    })
}

/// Commands of psql, DuckDB and SQLite that have none of the same meaning here, and what to do instead.
const ELSEWHERE: [(&str, &str); 7] = [
    ("\\l", "there is one database; \\dt lists its tables"),
    ("\\c", "there is one database; \\dt lists its tables"),
    ("\\di", "\\d NAME shows a table's keys"),
    (".schema", "\\d NAME"),
    (".import", "CREATE TABLE name AS SELECT * FROM 'FILE'; or \\copy TABLE FROM 'FILE'"),
    (".open", "start quickstep with the database's folder: quickstep my.db"),
    (".once", "\\copy (QUERY) TO 'FILE'"),
];

fn unknown(name: &str) -> Error {
    let error = Error::new(SqlState::SyntaxError, format!("unknown command {name}"));
    if let Some((_, here)) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name) {
        return error.with_hint(*here);
    }
    if name.starts_with('.') {
        return error.with_hint("commands begin with a backslash; \\help lists them");
    }
    match engine::nearest(name, COMMANDS.iter().map(|c| c.name)) {
        Some(near) => error.with_hint(format!("did you mean {near}? \\help lists the commands")),
        None => error.with_hint("\\help lists the commands"),
    }
}

/// Reads a line that begins with a backslash.
pub fn parse(line: &str) -> Result<Command> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // psql's + asks for more; here there is no less.
    let name = name.strip_suffix('+').filter(|n| n.starts_with("\\d")).unwrap_or(name);
    let rest = rest.trim();
    let argument = (!rest.is_empty()).then(|| rest.to_owned());
    let switch = |text: &Option<String>| match text.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None => Ok(None),
        Some("on") => Ok(Some(true)),
        Some("off") => Ok(Some(false)),
        Some(other) => {
            Err(Error::new(SqlState::SyntaxError, format!("{name} takes on or off, not \"{other}\"")))
        }
    };
    Ok(match name {
        "\\help" | "\\h" | "\\?" | "help" | "HELP" | "?" => Command::Help(argument),
        "\\q" | "\\quit" => Command::Quit,
        "\\dt" => Command::ListTables,
        "\\d" => argument.map_or(Command::ListTables, Command::Describe),
        "\\timing" => Command::Timing(switch(&argument)?),
        "\\x" => Command::Expanded(switch(&argument)?),
        "\\pager" => Command::Pager(switch(&argument)?),
        "\\progress" => Command::Progress(display(argument.as_deref())?),
        // As psql sets what is the shell's own.
        "\\set" if rest == "progress" || rest.starts_with("progress ") => {
            let wanted = rest.trim_start_matches("progress").trim().trim_start_matches('=').trim();
            Command::Progress(display((!wanted.is_empty()).then_some(wanted))?)
        }
        "\\set" => Command::Set(match rest.split_once(char::is_whitespace) {
            Some((name, value)) => Some((name.to_owned(), unquoted(value.trim()))),
            None => argument.map(|name| (name, String::new())),
        }),
        "\\unset" => Command::Unset(argument.ok_or_else(|| missing("\\unset", "a name"))?),
        "\\o" | "\\out" => Command::Output(argument.map(|path| unquoted(&path))),
        "\\!" => Command::System(argument.ok_or_else(|| missing("\\!", "a command"))?),
        _ if name.starts_with("\\!") => Command::System(line[2..].trim().to_owned()),
        "\\nullvalue" => Command::Null(argument.map(|text| unquoted(&text))),
        "\\maxrows" => Command::MaxRows(rows_shown(rest)?),
        "\\g" | "\\gx" => {
            Command::Again { expanded: name == "\\gx", path: argument.map(|path| unquoted(&path)) }
        }
        "\\watch" => Command::Watch(pause(rest)?),
        "\\e" | "\\edit" => Command::Edit(argument.map(|path| unquoted(&path))),
        "\\pset" => pset(rest)?,
        "\\format" => Command::Format(argument),
        "\\explain" => Command::Explain { text: argument, analyze: true },
        "\\plan" => Command::Explain { text: argument, analyze: false },
        "\\copy" => copy(rest)?,
        "\\echo" => Command::Echo(unquoted(rest)),
        "\\i" => Command::Run(argument.map(|a| unquoted(&a)).ok_or_else(|| missing("\\i", "a file"))?),
        other => match translated(other, rest) {
            Some(line) if line.starts_with('\\') => parse(&line)?,
            Some(statement) => Command::Sql(statement),
            None => return Err(unknown(other)),
        },
    })
}

/// The number of rows of `\\maxrows`; none for all of them.
fn rows_shown(text: &str) -> Result<Option<usize>> {
    Ok(match text {
        "" | "all" | "-1" => None,
        text => Some(text.parse().ok().filter(|rows| *rows > 0).ok_or_else(|| {
            let message = format!("\\maxrows takes a number of rows or all, not \"{text}\"");
            Error::new(SqlState::SyntaxError, message)
        })?),
    })
}

/// The pause of `\\watch`: seconds, two where none are said.
fn pause(text: &str) -> Result<std::time::Duration> {
    let seconds = match text.trim_start_matches("i=").trim_start_matches("interval=") {
        "" => 2.0,
        text => text.parse().ok().filter(|s| (0.0..=86_400.0).contains(s)).ok_or_else(|| {
            Error::new(SqlState::SyntaxError, format!("\\watch takes a number of seconds, not \"{text}\""))
        })?,
    };
    Ok(std::time::Duration::from_secs_f64(seconds))
}

/// psql's options of output, as the commands that set them here.
fn pset(rest: &str) -> Result<Command> {
    let (option, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let value = value.trim();
    Ok(match option {
        "null" => Command::Null((!value.is_empty()).then(|| unquoted(value))),
        "format" | "" => parse(&match value {
            "aligned" => "\\format table".to_owned(),
            other => format!("\\format {other}"),
        })?,
        "expanded" | "x" => parse(&format!("\\x {value}"))?,
        "pager" => parse(&format!("\\pager {value}"))?,
        "border" => match value.parse() {
            Ok(border @ 0..=2) => Command::Border(border),
            _ => {
                let message = format!("\\pset border takes 0, 1 or 2, not \"{value}\"");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        },
        "linestyle" => match value {
            "unicode" => parse("\\format box")?,
            "ascii" | "old-ascii" => parse("\\format table")?,
            other => {
                let message = format!("\\pset linestyle takes ascii or unicode, not \"{other}\"");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        },
        other => {
            let error = Error::new(SqlState::SyntaxError, format!("\\pset has no option \"{other}\""));
            return Err(error.with_hint("null, format, expanded, pager, border, linestyle"));
        }
    })
}

fn display(name: Option<&str>) -> Result<Option<Display>> {
    let Some(name) = name else { return Ok(None) };
    match Display::named(&name.to_ascii_lowercase()) {
        Some(display) => Ok(Some(display)),
        None => Err(Error::new(
            SqlState::SyntaxError,
            format!("\\progress takes bar, tree or off, not \"{name}\""),
        )),
    }
}

fn missing(command: &str, what: &str) -> Error {
    Error::new(SqlState::SyntaxError, format!("{command} wants {what}"))
        .with_hint(format!("\\help {command}"))
}

/// The last FROM or TO outside of quotes and brackets decides.
fn copy(text: &str) -> Result<Command> {
    let tokens = super::lexer::tokens(text);
    let mut depth = 0usize;
    let mut word = None;
    for token in &tokens {
        match &text[token.range.clone()] {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            w if depth == 0 && (w.eq_ignore_ascii_case("from") || w.eq_ignore_ascii_case("to")) => {
                word = Some(token.range.clone());
            }
            _ => {}
        }
    }
    let wanted = || missing("\\copy", "TABLE FROM 'FILE', or TABLE or (QUERY) TO 'FILE'");
    let word = word.ok_or_else(wanted)?;
    let (what, path) = (text[..word.start].trim(), unquoted(text[word.end..].trim()));
    if what.is_empty() || path.is_empty() {
        return Err(wanted());
    }
    if text[word].eq_ignore_ascii_case("from") {
        return Ok(Command::CopyIn { table: what.to_owned(), path });
    }
    let query = match what.strip_prefix('(').and_then(|w| w.strip_suffix(')')) {
        Some(query) => query.trim().to_owned(),
        None => format!("SELECT * FROM {what}"),
    };
    Ok(Command::CopyOut { query, path })
}

fn unquoted(text: &str) -> String {
    match text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
        Some(inner) => inner.replace("''", "'"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_commands() {
        assert_eq!(parse("\\timing on").unwrap(), Command::Timing(Some(true)));
        assert_eq!(parse("\\x").unwrap(), Command::Expanded(None));
        assert_eq!(parse("\\progress").unwrap(), Command::Progress(None));
        for text in ["\\progress tree", "\\set progress tree", "\\set progress = Tree;"] {
            assert_eq!(parse(text).unwrap(), Command::Progress(Some(Display::Tree)), "{text}");
        }
        assert_eq!(parse("\\d orders;").unwrap(), Command::Describe("orders".into()));
        assert_eq!(
            parse("\\copy (SELECT 'to' FROM t WHERE a IN (1)) TO 'it''s.csv'").unwrap(),
            Command::CopyOut { query: "SELECT 'to' FROM t WHERE a IN (1)".into(), path: "it's.csv".into() }
        );
        assert_eq!(
            parse("\\copy s.t from 'a.parquet'").unwrap(),
            Command::CopyIn { table: "s.t".into(), path: "a.parquet".into() }
        );
        assert_eq!(
            parse("\\explain SELECT 1").unwrap(),
            Command::Explain { text: Some("SELECT 1".into()), analyze: true }
        );
    }

    #[test]
    fn commands_of_other_shells_are_obeyed() {
        assert_eq!(parse(".tables").unwrap(), Command::ListTables);
        assert_eq!(parse(".timer on").unwrap(), Command::Timing(Some(true)));
        assert_eq!(parse(".mode duckbox").unwrap(), Command::Format(Some("box".into())));
        assert_eq!(parse(".mode csv").unwrap(), Command::Format(Some("csv".into())));
        assert_eq!(parse(".mode line").unwrap(), Command::Expanded(Some(true)));
        assert_eq!(parse("\\df date*").unwrap(), Command::Sql("SHOW FUNCTIONS LIKE 'date%';".into()));
        assert_eq!(parse("\\set x 'a b'").unwrap(), Command::Set(Some(("x".into(), "a b".into()))));
        assert_eq!(parse("\\pset null -").unwrap(), parse(".nullvalue -").unwrap());
        assert_eq!(parse("\\gx").unwrap(), Command::Again { expanded: true, path: None });
        assert_eq!(parse("\\!ls -l").unwrap(), parse(".shell ls -l").unwrap());
        assert_eq!(parse("\\watch 0.5").unwrap(), Command::Watch(std::time::Duration::from_millis(500)));
        assert_eq!(parse("\\echo 'a; b'").unwrap(), Command::Echo("a; b".into()));
    }

    #[test]
    fn a_mistake_is_named_with_its_remedy() {
        let error = parse("\\timin").unwrap_err();
        assert!(error.render("").contains("did you mean \\timing"), "{}", error.render(""));
        assert!(parse("\\progress maybe").unwrap_err().message().contains("bar, tree or off"));
        assert!(parse("\\watch x").is_err() && parse("\\pset border 3").is_err() && parse("\\!").is_err());
        assert!(parse("\\timing maybe").unwrap_err().message().contains("on or off"));
        assert!(parse(".import x").unwrap_err().render("").contains("\\copy"));
        assert_eq!(parse("\\dt+").unwrap(), Command::ListTables);
        assert_eq!(parse("help;").unwrap(), Command::Help(None));
        for text in ["\\copy", "\\copy t", "\\copy FROM 'x'", "\\copy t TO", "\\i"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_command_has_its_line_of_help() {
        let all = help(None).unwrap();
        for name in names() {
            assert!(all.contains(&name), "{name}");
            assert!(help(Some(&name)).is_ok(), "{name}");
        }
    }
}
