//! Names without a schema: where they are looked for, and where they are made.
//!
//! A session has a path of schemas (`SET search_path`, `USE`). A name is looked for among temporary tables, in the path's
//! schemas one after the other, and then in the default schema; what is made goes into the path's first schema. Texts that
//! are bound later mean what they meant where they stand: a view's names are looked for in the view's schema, a default's
//! in the default schema only, whatever the path is (`SessionRelations::search_in`), but for the sequences it draws from,
//! whose schemas are written into it when it is made.
//!
//! Statements get the schemas of their names here, before they run, so that what carries them out knows nothing of paths.

use catalog::{DEFAULT_SCHEMA, Snapshot, TEMPORARY_SCHEMA};
use plan::Statement;
use plan::statement::{AddedKey, AlterAction, CommentTarget, ObjectName, TableOptions};
use types::Result;

use crate::Session;

/// The names in a list such as `depot, "My schema"`: those in quotes as they are, others in lower case.
pub(crate) fn parsed(text: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted, mut was_quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = text.trim().chars().peekable();
    let mut finish = |name: &mut String, was_quoted: &mut bool| {
        let whole = std::mem::take(name);
        let found = if *was_quoted { whole } else { whole.trim().to_lowercase() };
        *was_quoted = false;
        if !found.is_empty() {
            names.push(Snapshot::canonical_schema(&found).to_owned());
        }
    };
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                name.push('"');
            }
            '"' => {
                if !quoted {
                    name.clear();
                }
                (quoted, was_quoted) = (!quoted, true);
            }
            ',' if !quoted => finish(&mut name, &mut was_quoted),
            // Blanks behind a name in quotes.
            c if !quoted && was_quoted && c.is_whitespace() => {}
            c => name.push(c),
        }
    }
    finish(&mut name, &mut was_quoted);
    // The default schema alone is what an empty path means.
    if names == [DEFAULT_SCHEMA] { vec![] } else { names }
}

/// The path as SHOW has it, and as `parsed` reads it.
pub(crate) fn shown(path: &[String]) -> String {
    let plain = |name: &str| {
        name.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
            && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let part = |name: &String| match plain(name) {
        true => name.clone(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    match path {
        [] => DEFAULT_SCHEMA.to_owned(),
        path => path.iter().map(part).collect::<Vec<_>>().join(", "),
    }
}

/// The schema of the path in which a name without one is found; `None` when it is found without the path, or nowhere.
pub(crate) fn find<'a>(snapshot: &Snapshot, path: &'a [String], name: &str) -> Option<&'a str> {
    let holds = |schema: &str| {
        snapshot.schemas().get(schema).is_some_and(|held| {
            held.tables.contains_key(name)
                || held.views.contains_key(name)
                || held.sequences.contains_key(name)
        })
    };
    if path.is_empty() || holds(TEMPORARY_SCHEMA) {
        return None;
    }
    path.iter().map(String::as_str).find(|schema| holds(schema))
}

/// The schema in which things are made.
pub(crate) fn current(path: &[String]) -> &str {
    path.first().map_or(DEFAULT_SCHEMA, String::as_str)
}

impl Session {
    /// Sets the path; schemas that are not there are refused.
    pub(crate) fn set_search_path(&self, value: Option<&str>) -> Result<()> {
        let path = value.map(parsed).unwrap_or_default();
        let snapshot = self.snapshot();
        path.iter().try_for_each(|schema| snapshot.schema(schema).map(drop))?;
        self.settings().search_path = path;
        Ok(())
    }

    /// The statement with the schemas of its names, as far as the path says more than the default does.
    pub(crate) fn with_schemas(&self, mut statement: Statement) -> Statement {
        let path = self.settings().search_path.clone();
        if !path.is_empty() {
            Names { snapshot: &self.snapshot(), path: &path }.fill(&mut statement);
        }
        statement
    }
}

struct Names<'a> {
    snapshot: &'a Snapshot,
    path: &'a [String],
}

impl Names<'_> {
    fn known(&self, name: &mut ObjectName) {
        if name.schema.is_none() {
            name.schema = find(self.snapshot, self.path, &name.name).map(str::to_owned);
        }
    }

    fn made(&self, name: &mut ObjectName, temporary: bool) {
        if name.schema.is_none() && !temporary {
            name.schema = Some(current(self.path).to_owned());
        }
    }

    fn options(&self, name: &ObjectName, options: &mut TableOptions) {
        for key in &mut options.foreign_keys {
            // A table may refer to itself before it is there.
            if key.parent.schema.is_none() && key.parent.name == name.name {
                key.parent.schema.clone_from(&name.schema);
            }
            self.known(&mut key.parent);
        }
        options.defaults.iter_mut().for_each(|(_, text)| self.default(text));
    }

    /// A sequence that a default draws from is the one that its name means now; the default is read again under any path.
    fn default(&self, text: &mut String) {
        let mut from = 0;
        while let Some(found) = text[from..].to_ascii_lowercase().find("nextval") {
            let called = from + found + "nextval".len();
            from = called;
            let rest = text[called..].trim_start();
            let Some(rest) = rest.strip_prefix('(').map(str::trim_start) else { continue };
            let Some(literal) = rest.strip_prefix('\'') else { continue };
            let Some(length) = literal.find('\'').filter(|end| !literal[end + 1..].starts_with('\'')) else {
                continue;
            };
            let begins = text.len() - literal.len();
            let mut name = crate::sequences::parsed_name(&literal[..length]);
            self.known(&mut name);
            if let ObjectName { schema: Some(schema), name } = name {
                let named = crate::sequences::SequenceName { schema, name }.to_string();
                text.replace_range(begins..begins + length, &named);
                from = begins + named.len();
            }
        }
    }

    fn fill(&self, statement: &mut Statement) {
        match statement {
            Statement::CreateTable { name, options, .. } | Statement::CreateTableAs { name, options, .. } => {
                self.made(name, options.temporary);
                self.options(name, options);
            }
            Statement::CreateView { name, .. } => self.made(name, false),
            Statement::CreateSequence(create) => self.made(&mut create.name, create.temporary),
            Statement::CreateIndex { table, .. } => self.known(table),
            Statement::AlterTable { name, actions, .. } => {
                self.known(name);
                for action in actions {
                    match action {
                        AlterAction::AddConstraint { key: AddedKey::Foreign(key), .. } => {
                            self.known(&mut key.parent);
                        }
                        AlterAction::AddColumn { default: Some(text), .. }
                        | AlterAction::SetDefault { default: Some(text), .. } => self.default(text),
                        _ => {}
                    }
                }
            }
            Statement::Reorganize { name, .. }
            | Statement::AlterTypes { name, .. }
            | Statement::RenameView { name, .. } => self.known(name),
            Statement::AlterSequence(alter) => self.known(&mut alter.name),
            Statement::Comment { on, .. } => match on {
                CommentTarget::Table(name) | CommentTarget::View(name) => self.known(name),
                CommentTarget::Column { table, .. } => self.known(table),
            },
            Statement::DropTable { names, .. }
            | Statement::DropView { names, .. }
            | Statement::DropSequence { names, .. } => names.iter_mut().for_each(|name| self.known(name)),
            Statement::Truncate { tables, .. } => tables.iter_mut().for_each(|(_, name)| self.known(name)),
            Statement::Explain { statement, .. } => self.fill(statement),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{parsed, shown};

    #[test]
    fn lists_of_schemas_are_read_and_shown() {
        for (text, names) in [
            ("", &[] as &[&str]),
            ("main", &[]),
            ("PUBLIC", &[]),
            ("Depot", &["depot"]),
            (" \"De, pot\" , b ", &["De, pot", "b"]),
            ("\"a\"\"b\",main", &["a\"b", "main"]),
        ] {
            let path = parsed(text);
            assert_eq!(path, names, "{text}");
            assert_eq!(parsed(&shown(&path)), path, "{text}");
        }
        assert_eq!(shown(&parsed("main")), "main");
        assert_eq!(shown(&parsed("b, \"C\"")), "b, \"C\"");
    }
}
