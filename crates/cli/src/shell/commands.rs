//! The commands that begin with a backslash.

use engine::{Database, Error, Result, SqlState};

/// What a line such as `\d orders` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Help(Option<String>),
    Quit,
    ListTables,
    Describe(String),
    /// `None` turns it over.
    Timing(Option<bool>),
    Expanded(Option<bool>),
    Pager(Option<bool>),
    Format(Option<String>),
    /// The statement's text; none for the last one. With `analyze` it is run.
    Explain {
        text: Option<String>,
        analyze: bool,
    },
    CopyIn {
        table: String,
        path: String,
    },
    CopyOut {
        query: String,
        path: String,
    },
    Run(String),
}

struct Description {
    name: &'static str,
    arguments: &'static str,
    meaning: &'static str,
}

const fn described(name: &'static str, arguments: &'static str, meaning: &'static str) -> Description {
    Description { name, arguments, meaning }
}

const COMMANDS: [Description; 12] = [
    described("\\help", "[COMMAND]", "this list, or one of its lines"),
    described("\\q", "", "leave; so does Ctrl-D"),
    described("\\dt", "", "the tables: rows, memory, blocks"),
    described("\\d", "[TABLE]", "a table's columns and keys; without a name as \\dt"),
    described("\\timing", "[on|off]", "show how long each statement took"),
    described("\\x", "[on|off]", "one line a value, for wide rows"),
    described("\\pager", "[on|off]", "long results go through $QUICKSTEP_PAGER, $PAGER or less"),
    described("\\format", "[FORMAT]", "table, csv, tsv, json, ndjson, markdown or html"),
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
];

pub fn names() -> Vec<String> {
    COMMANDS.iter().map(|c| c.name.to_owned()).collect()
}

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

fn unknown(name: &str) -> Error {
    let error = Error::new(SqlState::SyntaxError, format!("unknown command {name}"));
    match engine::nearest(name, COMMANDS.iter().map(|c| c.name)) {
        Some(near) => error.with_hint(format!("did you mean {near}? \\help lists the commands")),
        None => error.with_hint("\\help lists the commands"),
    }
}

/// Reads a line that begins with a backslash.
pub fn parse(line: &str) -> Result<Command> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
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
        "\\help" | "\\h" | "\\?" => Command::Help(argument),
        "\\q" | "\\quit" => Command::Quit,
        "\\dt" => Command::ListTables,
        "\\d" => argument.map_or(Command::ListTables, Command::Describe),
        "\\timing" => Command::Timing(switch(&argument)?),
        "\\x" => Command::Expanded(switch(&argument)?),
        "\\pager" => Command::Pager(switch(&argument)?),
        "\\format" => Command::Format(argument),
        "\\explain" => Command::Explain { text: argument, analyze: true },
        "\\plan" => Command::Explain { text: argument, analyze: false },
        "\\copy" => copy(rest)?,
        "\\i" => Command::Run(argument.map(|a| unquoted(&a)).ok_or_else(|| missing("\\i", "a file"))?),
        other => return Err(unknown(other)),
    })
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

/// What `\d TABLE` prints.
pub fn describe(database: &Database, name: &str) -> Result<String> {
    let snapshot = database.catalog().snapshot();
    let folded = |part: &str| match part.strip_prefix('"').and_then(|p| p.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => part.to_lowercase(),
    };
    let (schema, name) = match name.split_once('.') {
        Some((schema, name)) => (Some(folded(schema)), folded(name)),
        None => (None, folded(name)),
    };
    let table = snapshot.table(schema.as_deref(), &name)?;
    let fields = table.columns.fields();
    let named = |columns: &[usize], of: &engine::Schema| {
        columns.iter().map(|c| of.fields()[*c].name.clone()).collect::<Vec<_>>().join(", ")
    };
    let width = fields.iter().map(|f| f.name.chars().count()).max().unwrap_or(0);
    let types = fields.iter().map(|f| f.ty.sql_name().len()).max().unwrap_or(0);
    let mut text = format!(
        "{}.{}: {} rows, {} in {} block{}\n",
        table.schema,
        table.name,
        table.rows(),
        megabytes(table.data.bytes()),
        table.data.blocks().len(),
        if table.data.blocks().len() == 1 { "" } else { "s" },
    );
    for field in fields {
        let rest = if field.nullable { "" } else { "not null" };
        let line = format!("  {:width$}  {:types$}  {rest}", field.name, field.ty.sql_name());
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for key in &table.keys {
        let kind = if key.primary { "primary key" } else { "unique" };
        text.push_str(&format!("{kind} ({})\n", named(&key.columns, &table.columns)));
    }
    for key in &table.foreign_keys {
        if let Some(parent) = snapshot.table_by_id(key.parent) {
            text.push_str(&format!(
                "foreign key ({}) references {} ({})\n",
                named(&key.columns, &table.columns),
                parent.name,
                named(&key.parent_columns, &parent.columns)
            ));
        }
    }
    Ok(text)
}

/// What `\dt` prints.
pub fn list_tables(database: &Database) -> String {
    let snapshot = database.catalog().snapshot();
    let mut rows = vec![["table", "rows", "columns", "memory", "blocks"].map(str::to_owned)];
    rows.extend(snapshot.tables().map(|t| {
        let name = if t.schema == engine::DEFAULT_SCHEMA {
            t.name.clone()
        } else {
            format!("{}.{}", t.schema, t.name)
        };
        [
            name,
            t.rows().to_string(),
            t.columns.len().to_string(),
            megabytes(t.data.bytes()),
            t.data.blocks().len().to_string(),
        ]
    }));
    if rows.len() == 1 {
        return "No tables. CALL tpch(scale => 0.1); makes some to try.\n".to_owned();
    }
    let widths: Vec<usize> =
        (0..5).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    rows.iter()
        .map(|r| {
            let numbers: Vec<String> = (1..5).map(|c| format!("{:>w$}", r[c], w = widths[c])).collect();
            format!("  {:w$}  {}\n", r[0], numbers.join("  "), w = widths[0])
        })
        .collect()
}

fn megabytes(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{} kB", bytes.div_ceil(1 << 10))
    } else {
        format!("{:.1} MB", bytes as f64 / (1 << 20) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_commands() {
        assert_eq!(parse("\\timing on").unwrap(), Command::Timing(Some(true)));
        assert_eq!(parse("\\x").unwrap(), Command::Expanded(None));
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
    fn a_mistake_is_named_with_its_remedy() {
        let error = parse("\\timin").unwrap_err();
        assert!(error.render("").contains("did you mean \\timing"), "{}", error.render(""));
        assert!(parse("\\timing maybe").unwrap_err().message().contains("on or off"));
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
