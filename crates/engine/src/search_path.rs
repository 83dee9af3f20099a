//! Names without a schema: where they are looked for, and where they are made.
//!
//! A session has a path of schemas (`SET search_path`, `USE`). A name is looked for among temporary tables, in the
//! path's schemas one after the other, and then in the default schema; what is made goes into the path's first
//! schema. Texts that are bound later mean what they meant where they stand: a view's names are looked for in the
//! view's schema, a default's in the default schema only, whatever the path is (`SessionRelations::search_in`), but
//! for the sequences it draws from, whose schemas are written into it when it is made.
//!
//! Statements get the schemas of their names here, before they run, so that what carries them out knows nothing of
//! paths.

use std::collections::BTreeMap;

use catalog::{DEFAULT_SCHEMA, Snapshot, TEMPORARY_SCHEMA};
use plan::Statement;
use plan::access::{AccessStatement, GrantTarget, Owned};
use plan::statement::{AddedKey, AlterAction, CommentTarget, ObjectName, TableOptions};
use types::Result;
use types::quote;

use crate::Session;
use crate::mounts::{Places, draws};

/// The names in a list such as `depot, "My schema", sales.depot`, each in its parts: those in quotes as they are,
/// others in lower case.
fn listed(text: &str) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let (mut parts, mut name, mut quoted, mut was_quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = text.trim().chars().peekable();
    let finish = |name: &mut String, was_quoted: &mut bool, parts: &mut Vec<String>| {
        let whole = std::mem::take(name);
        let found = if *was_quoted { whole } else { whole.trim().to_lowercase() };
        *was_quoted = false;
        if !found.is_empty() {
            parts.push(found);
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
            ',' | '.' if !quoted => {
                finish(&mut name, &mut was_quoted, &mut parts);
                if c == ',' {
                    names.push(std::mem::take(&mut parts));
                }
            }
            // Blanks behind a name in quotes.
            c if !quoted && was_quoted && c.is_whitespace() => {}
            c => name.push(c),
        }
    }
    finish(&mut name, &mut was_quoted, &mut parts);
    names.push(parts);
    names.retain(|parts| !parts.is_empty());
    names
}

/// The schemas that a list names, as keys.
pub(crate) fn parsed(text: &str) -> Vec<String> {
    let key = |parts: Vec<String>| Snapshot::canonical_schema(&parts.join(".")).to_owned();
    plain(listed(text).into_iter().map(key).collect())
}

/// The default schema alone is what an empty path means.
fn plain(names: Vec<String>) -> Vec<String> {
    if names == [DEFAULT_SCHEMA] { vec![] } else { names }
}

/// The path as SHOW has it, and as `parsed` reads it; `default` is the name of the default schema.
pub(crate) fn shown(path: &[String], default: &str) -> String {
    let key = |key: &String| match key.split_once('.') {
        Some((database, schema)) => {
            format!("{}.{}", quote::name_if_needed(database), quote::name_if_needed(schema))
        }
        None if key == DEFAULT_SCHEMA => default.to_owned(),
        None => quote::name_if_needed(key),
    };
    match path {
        [] => default.to_owned(),
        path => path.iter().map(key).collect::<Vec<_>>().join(", "),
    }
}

/// The schema in which a name without one is found by the path, or the last one that is looked into; `None` when it is
/// found without the path, or in the main database if anywhere.
pub(crate) fn find(places: &Places<'_>, name: &str) -> Option<String> {
    let holds = |schema: &str| {
        places.snapshot.schemas().get(schema).is_some_and(|held| {
            held.tables.contains_key(name)
                || held.views.contains_key(name)
                || held.sequences.contains_key(name)
        })
    };
    if places.path.is_empty() || holds(TEMPORARY_SCHEMA) {
        return None;
    }
    let found = places.path.iter().find(|schema| holds(schema)).cloned();
    // What the database in use does not have is not looked for in another one.
    let last = || match places.path.first().filter(|first| gone(first, places).is_some()) {
        // Nor is it where that database has been detached.
        Some(first) => Some(first.clone()),
        None => places.home().map(|_| places.default_schema()),
    };
    found.or_else(last)
}

/// Keys that a name of a macro or a type may mean, the first that there is first.
pub(crate) fn keys_of(places: &Places<'_>, schema: Option<&str>, name: &str) -> Vec<String> {
    let key = |schema: &str| places.snapshot.object_key(schema, name);
    if let Some(schema) = schema {
        return vec![key(schema)];
    }
    let mut keys: Vec<String> = places.path.iter().map(|schema| key(schema)).collect();
    // The main database's are known in all.
    keys.extend([key(&places.default_schema()), key(DEFAULT_SCHEMA)]);
    keys
}

/// The schema in which things are made.
pub(crate) fn current(path: &[String]) -> &str {
    path.first().map_or(DEFAULT_SCHEMA, String::as_str)
}

impl Session {
    /// The key of a macro or a type that is to be made.
    pub(crate) fn key_to_make(&self, name: &ObjectName) -> Result<String> {
        let schema = name.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
        crate::definitions::refuse_system(Some(schema))?;
        let snapshot = self.snapshot();
        snapshot.schema(schema)?;
        Ok(snapshot.object_key(schema, &name.name))
    }

    /// The key of a macro or a type in `held` that is to be dropped. Without a schema it is one of the database in use.
    pub(crate) fn key_to_drop<T>(
        &self,
        snapshot: &Snapshot,
        name: &ObjectName,
        held: &BTreeMap<String, T>,
    ) -> Option<String> {
        let path = self.settings().search_path.clone();
        let places = Places { snapshot, path: &path, main: &self.database.shared.name };
        let mut keys = keys_of(&places, name.schema.as_deref(), &name.name);
        if name.schema.is_none() {
            keys.pop();
        }
        keys.into_iter().find(|key| held.contains_key(key))
    }

    /// Sets the path; schemas that are not there are refused. The name of a database means its default schema.
    pub(crate) fn set_search_path(&self, value: Option<&str>) -> Result<()> {
        let snapshot = self.snapshot();
        let before = self.settings().search_path.clone();
        let main = &self.database.shared.name;
        let places = Places { snapshot: &snapshot, path: &before, main };
        let mut path = Vec::new();
        for parts in value.map(listed).unwrap_or_default() {
            let key = match parts.as_slice() {
                [one] => places.key(None, one)?,
                [database, schema] if places.database(database).is_some() => {
                    places.key(Some(database), schema)?
                }
                parts => parts.join("."),
            };
            if let ([one], Err(error)) = (parts.as_slice(), snapshot.schema(&key)) {
                // It is neither.
                let databases = places.databases();
                let near = places.snapshot.mounts().map(|mounted| mounted.name.as_str());
                return Err(match (error.hint(), catalog::did_you_mean(one, near)) {
                    (None, Some(hint)) => error.with_hint(hint),
                    (None, None) if databases.len() > 1 => {
                        error.with_hint(format!("and no database either; there are {}", databases.join(", ")))
                    }
                    _ => error,
                });
            }
            snapshot.schema(&key)?;
            path.push(Snapshot::canonical_schema(&key).to_owned());
        }
        self.settings().search_path = plain(path);
        Ok(())
    }

    /// The statement with the schemas of its names, as far as the path says more than the default does.
    pub(crate) fn with_schemas(&self, mut statement: Statement) -> Result<Statement> {
        let path = self.settings().search_path.clone();
        let snapshot = self.snapshot();
        if !path.is_empty() || snapshot.mounts().next().is_some() {
            let main = &self.database.shared.name;
            let places = Places { snapshot: &snapshot, path: &path, main };
            if let Some(mounted) = path.first().and_then(|first| gone(first, &places)) {
                return Err(places.unknown_database(mounted).with_detail("it is the database in use"));
            }
            Names { places }.fill(&mut statement)?;
        }
        Ok(statement)
    }
}

/// The database that the first schema of the path is of, if it has been detached.
fn gone<'p>(first: &'p str, places: &Places<'_>) -> Option<&'p str> {
    let (database, _) = first.split_once('.')?;
    let known = places.snapshot.schemas().contains_key(first) || places.snapshot.mount(database).is_some();
    (!known).then_some(database)
}

/// Puts schemas to the names in a statement.
struct Names<'a> {
    places: Places<'a>,
}

impl Names<'_> {
    fn known(&self, name: &mut ObjectName) {
        if name.schema.is_none() {
            name.schema = find(&self.places, &name.name);
        }
    }

    fn made(&self, name: &mut ObjectName, temporary: bool) {
        if name.schema.is_none() && !temporary && !self.places.path.is_empty() {
            name.schema = Some(current(self.places.path).to_owned());
        }
    }

    /// Resolves the table that a foreign key refers to: for a child in an attached database it is one of that database.
    fn parent(&self, child: &ObjectName, parent: &mut ObjectName) {
        let snapshot = self.places.snapshot;
        let database = child.schema.as_deref().and_then(|key| snapshot.database_of(key).0);
        if let (None, Some(database)) = (&parent.schema, database) {
            let beside = child.schema.clone().filter(|key| snapshot.find(Some(key), &parent.name).is_some());
            parent.schema = beside.or_else(|| Some(format!("{}.{DEFAULT_SCHEMA}", database.name)));
        }
        self.known(parent);
    }

    fn options(&self, name: &ObjectName, options: &mut TableOptions) -> Result<()> {
        for key in &mut options.foreign_keys {
            // A table may refer to itself before it is there.
            if key.parent.schema.is_none() && key.parent.name == name.name {
                key.parent.schema.clone_from(&name.schema);
            }
            self.parent(name, &mut key.parent);
        }
        let schema = if options.temporary { None } else { name.schema.as_deref() };
        options.defaults.iter_mut().try_for_each(|(_, text)| draws::kept(text, schema, &self.places))
    }

    fn fill_access(&self, statement: &mut AccessStatement) {
        match statement {
            AccessStatement::Grant {
                on: GrantTarget::Tables(names) | GrantTarget::Sequences(names), ..
            } => {
                names.iter_mut().for_each(|name| self.known(name));
            }
            AccessStatement::Policy(policy) => self.known(&mut policy.table),
            AccessStatement::DropPolicy { table, .. }
            | AccessStatement::RowSecurity { table, .. }
            | AccessStatement::Owner { of: Owned::Relation(table), .. } => self.known(table),
            _ => {}
        }
    }

    fn fill(&self, statement: &mut Statement) -> Result<()> {
        match statement {
            Statement::CreateTable { name, options, .. } | Statement::CreateTableAs { name, options, .. } => {
                self.made(name, options.temporary);
                self.options(name, options)?;
            }
            Statement::CreateView { name, .. } | Statement::CreateType { name, .. } => self.made(name, false),
            Statement::CreateMacro { name, temporary, .. } => self.made(name, *temporary),
            Statement::CreateSequence(create) => self.made(&mut create.name, create.temporary),
            Statement::CreateIndex { table, .. } => self.known(table),
            Statement::AlterTable { name, actions, .. } => {
                self.known(name);
                for action in actions {
                    match action {
                        AlterAction::AddConstraint { key: AddedKey::Foreign(key), .. } => {
                            self.parent(name, &mut key.parent);
                        }
                        AlterAction::AddColumn { default: Some(text), .. }
                        | AlterAction::SetDefault { default: Some(text), .. } => {
                            draws::kept(text, name.schema.as_deref(), &self.places)?;
                        }
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
            Statement::Access(access) => self.fill_access(access),
            Statement::Explain { statement, .. } => self.fill(statement)?,
            _ => {}
        }
        Ok(())
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
            ("Sales . \"De pot\", b.c", &["sales.De pot", "b.c"]),
            ("\"a\"\"b\",main", &["a\"b", "main"]),
        ] {
            let path = parsed(text);
            assert_eq!(path, names, "{text}");
            assert_eq!(parsed(&shown(&path, "main")), path, "{text}");
        }
        assert_eq!(shown(&parsed("main"), "main"), "main");
        assert_eq!(shown(&parsed("b, \"C\""), "main"), "b, \"C\"");
        assert_eq!(shown(&parsed("Sales.\"C\""), "main"), "sales.\"C\"");
    }
}
