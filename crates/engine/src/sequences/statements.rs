//! CREATE, ALTER and DROP SEQUENCE, owners of sequences, and identity columns, as a session defines them.
//!
//! Definitions are the transaction's; numbers that were drawn stay drawn whatever becomes of it. A sequence that a
//! default draws from is not dropped without CASCADE. Called by `Session::run_statement`.

use std::collections::BTreeSet;

use catalog::{Sequence, Snapshot};
use plan::modification::{AlterSequence, CreateSequence, Identity, SequenceOptions};
use plan::statement::{IfExists, ObjectName, TableOptions};
use types::{Error, Result, SqlState};

use super::{SequenceName, copy, find, owned, place, refuse_used, unknown, users, with_options};
use crate::Session;
use crate::result::ResultSet;
use crate::session::shown;

impl Session {
    /// CREATE SEQUENCE; with an owner, it goes when that column goes.
    pub(crate) fn create_sequence(&self, create: &CreateSequence) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE SEQUENCE");
        let CreateSequence { name, options, owner, temporary, if_exists } = create;
        crate::definitions::refuse_system(name.schema.as_deref())?;
        let mut sequence = with_options(options, None)?;
        let schema = self.schema_for(name, *temporary)?;
        let snapshot = self.snapshot();
        if self.name_is_taken(&snapshot, &schema, &name.name) {
            let there = ObjectName { schema: Some(schema.clone()), name: name.name.clone() };
            match if_exists {
                IfExists::Keep => return Ok(done),
                // The numbers begin anew, which columns that take them would not expect.
                IfExists::Replace if find(&snapshot, &there).is_some() => {
                    refuse_used(&users(&snapshot, &schema, &name.name), &name.name, "replace")?;
                }
                _ => return Err(crate::define::already_exists(&name.name)),
            }
        }
        if let Some(owner) = owner {
            sequence.owner = self.owner_named(&snapshot, owner, &schema)?;
        }
        self.commit(|draft| draft.set_sequence(Some(&schema), &name.name, Some(sequence)))?;
        Ok(done)
    }

    /// What OWNED BY names, for a sequence of that schema: a column, or else a table.
    fn owner_named(
        &self,
        snapshot: &Snapshot,
        names: &[String],
        schema: &str,
    ) -> Result<Option<(catalog::TableId, usize)>> {
        let path = self.settings().search_path.clone();
        let places = crate::mounts::Places { snapshot, path: &path, main: &self.database.shared.name };
        let table = |names: &[String]| {
            let (name, schema) = names.split_last()?;
            let schema = match schema {
                [] => crate::search_path::find(&places, name),
                [schema] if snapshot.schema(schema).is_ok() => Some(schema.clone()),
                [database] => Some(format!("{database}.{}", catalog::DEFAULT_SCHEMA)),
                [database, schema] => Some(format!("{database}.{schema}")),
                _ => return None,
            };
            snapshot.find(schema.as_deref(), name)
        };
        let Some((column, before)) = names.split_last() else { return Ok(None) };
        let (table, place) = match table(before) {
            Some(table) => match table.columns.position(column) {
                Some(place) => (table, place),
                None => {
                    let message =
                        format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    return Err(Error::new(SqlState::UndefinedColumn, message));
                }
            },
            None => match table(names) {
                Some(table) => (table, catalog::WHOLE_TABLE),
                None => {
                    let shown = if before.is_empty() { names } else { before }.join(".");
                    let message = format!("relation \"{shown}\" does not exist");
                    return Err(Error::new(SqlState::UndefinedTable, message)
                        .with_hint("OWNED BY takes table.column, a table, or NONE"));
                }
            },
        };
        let database = |schema: &str| snapshot.database_of(schema).0.map(|mounted| mounted.number);
        if database(&table.schema) != database(schema) {
            let message = "a sequence and the table that owns it are in one database";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        if table.is_temporary() != (schema == catalog::TEMPORARY_SCHEMA) {
            let message = "a sequence and the table that owns it are both temporary, or neither is";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        Ok(Some((table.id, place)))
    }

    fn schema_for(&self, name: &ObjectName, temporary: bool) -> Result<String> {
        let schema = match (&name.schema, temporary) {
            (Some(schema), _) => schema.as_str(),
            (None, true) => catalog::TEMPORARY_SCHEMA,
            (None, false) => catalog::DEFAULT_SCHEMA,
        };
        self.snapshot().schema(schema)?;
        Ok(Snapshot::canonical_schema(schema).to_owned())
    }

    /// Whether a table, view or sequence of the schema has this name.
    pub(crate) fn name_is_taken(&self, snapshot: &Snapshot, schema: &str, name: &str) -> bool {
        snapshot.schema(schema).is_ok_and(|held| {
            held.tables.contains_key(name)
                || held.views.contains_key(name)
                || held.sequences.contains_key(name)
        })
    }

    /// ALTER SEQUENCE: options, name or owner.
    pub(crate) fn alter_sequence(&self, alter: &AlterSequence) -> Result<ResultSet> {
        let done = ResultSet::done("ALTER SEQUENCE");
        let snapshot = self.snapshot();
        let Some(before) = find(&snapshot, &alter.name) else {
            if alter.if_exists {
                return Ok(done);
            }
            return Err(unknown(&alter.name));
        };
        let (schema, name) = place(&snapshot, &alter.name);
        if let Some(to) = &alter.rename {
            if self.name_is_taken(&snapshot, &schema, to) {
                return Err(crate::define::already_exists(to));
            }
            self.commit(|draft| {
                draft.set_sequence(Some(&schema), &name, None)?;
                draft.set_sequence(Some(&schema), to, Some(copy(&before)))?;
                draft.move_comment(catalog::Commented::Sequence, &schema, &name, to);
                Ok(())
            })?;
            return Ok(done);
        }
        let mut sequence = with_options(&alter.options, Some(&before))?;
        if let Some(owner) = &alter.owner {
            sequence.owner = self.owner_named(&snapshot, owner, &schema)?;
        }
        self.commit(|draft| draft.set_sequence(Some(&schema), &name, Some(sequence)))?;
        Ok(done)
    }

    /// DROP SEQUENCE; an error where a default uses one, unless `cascade` is set.
    pub(crate) fn drop_sequences(
        &self,
        names: &[ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<ResultSet> {
        for name in names {
            let snapshot = self.snapshot();
            snapshot.refuse_other_kind(name.schema.as_deref(), &name.name, "sequence")?;
            let Some(_) = find(&snapshot, name) else {
                if if_exists {
                    continue;
                }
                let message = format!("sequence \"{}\" does not exist", shown(name));
                return Err(Error::new(SqlState::UndefinedTable, message));
            };
            let (schema, own) = place(&snapshot, name);
            let users = users(&snapshot, &schema, &own);
            if !cascade {
                refuse_used(&users, &name.name, "drop")?;
            }
            self.commit(|draft| {
                for (table, columns) in &users {
                    let mut altered = catalog::AlteredTable::new(table);
                    columns.iter().for_each(|column| altered.attributes_mut(*column).default = None);
                    draft.replace_altered(altered)?;
                }
                draft.set_sequence(Some(&schema), &own, None)
            })?;
        }
        Ok(ResultSet::done("DROP SEQUENCE"))
    }

    /// The sequences of a new table's columns: the column's place, the sequence's name and what it is.
    pub(crate) fn column_sequences<'o>(
        &self,
        new: &catalog::NewTable,
        options: &'o TableOptions,
    ) -> Result<Vec<(usize, SequenceName, &'o Identity, Sequence)>> {
        let name = ObjectName { schema: new.schema.clone(), name: new.name.clone() };
        let schema = self.schema_for(&name, new.temporary)?;
        let snapshot = self.snapshot();
        let mut made: Vec<(usize, SequenceName, &Identity, Sequence)> = Vec::new();
        for identity in &options.identities {
            let at = new.columns.position(&identity.column);
            let at = at.ok_or_else(|| Error::internal("a sequence of no column"))?;
            let first = format!("{}_{}_seq", new.name, identity.column);
            let mut candidates =
                std::iter::once(first.clone()).chain((1..).map(|number| format!("{first}{number}")));
            let free = |name: &String| {
                !self.name_is_taken(&snapshot, &schema, name)
                    && !made.iter().any(|(_, other, ..)| other.name == *name)
            };
            let name = candidates.find(free).unwrap_or(first);
            let sequence = with_options(&identity.options, None)?;
            // As the table's own database names it.
            let schema = snapshot.database_of(&schema).1.to_owned();
            made.push((at, SequenceName { schema, name }, identity, sequence));
        }
        Ok(made)
    }

    /// TRUNCATE ... RESTART IDENTITY: the sequences that number columns of these tables begin anew.
    pub(crate) fn restart_owned(&self, tables: &BTreeSet<catalog::TableId>) -> Result<()> {
        let again = SequenceOptions { restart: Some(None), ..SequenceOptions::default() };
        let snapshot = self.snapshot();
        for (schema, name, sequence) in owned(&snapshot, |table| tables.contains(&table)) {
            let anew = with_options(&again, Some(&sequence))?;
            self.commit(|draft| draft.set_sequence(Some(&schema), &name, Some(anew)))?;
        }
        Ok(())
    }

    /// Sequences of tables that are no longer there go with them.
    pub(crate) fn drop_orphaned_sequences(&self) -> Result<()> {
        let snapshot = self.snapshot();
        let orphans = owned(&snapshot, |table| snapshot.table_by_id(table).is_none());
        if orphans.is_empty() {
            return Ok(());
        }
        self.commit(|draft| {
            orphans.iter().try_for_each(|(schema, name, _)| draft.set_sequence(Some(schema), name, None))
        })
    }
}
