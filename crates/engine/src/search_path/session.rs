//! The search path of a session: set, shown and put into use, and names of definitions made absolute by it.
//!
//! A path may name schemas that are not there (yet): they are passed over where names are looked up. Texts that outlive
//! the statement (defaults, views) get the schema of each sequence, so that another path does not change their meaning.
//! Called by SET, USE and statements that define.

use std::collections::BTreeMap;

use catalog::{DEFAULT_SCHEMA, Snapshot};
use plan::Statement;
use plan::access::{AccessStatement, GrantTarget, Owned};
use plan::statement::{AddedKey, AlterAction, CommentKind, CommentTarget, ObjectName, TableOptions};
use types::Result;

use super::{current, find, gone, keys_of, listed, plain};
use crate::Session;
use crate::mounts::{Places, draws};

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
                CommentTarget::Object(CommentKind::Sequence, name) => self.known(name),
                // Found by their own kinds' ways.
                CommentTarget::Object(..) => {}
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
