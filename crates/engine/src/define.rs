//! Statements that define: schemas and tables.
//!
//! Each statement resolves names to positions and ids against the session's snapshot, builds the catalog's form of
//! the definition, and makes the change through `Session::commit`, where the catalog checks again against the state
//! that it changes. A table and the sequences of its columns appear in one change.

use catalog::{ColumnAttributes, ForeignKey, Key, NewTable, PARTITIONS_MAX, PartitionScheme, Partitioning};
use plan::statement::{IfExists, ObjectName, PartitionKind, TableOptions};
use types::{Error, Field, Result, Schema, SqlState, Value};

use crate::Session;
use crate::constraints::common_key_type;
pub(crate) use crate::definable::{already_exists, positions};
use crate::definitions::refuse_system;
use crate::insert::existing;
use crate::result::ResultSet;
use crate::storage_options;
use crate::system::INFORMATION_SCHEMA;

impl Session {
    /// CREATE TABLE, with the sequences of its identity and serial columns.
    pub(crate) fn create_table(
        &self,
        name: &ObjectName,
        columns: Vec<Field>,
        options: &TableOptions,
    ) -> Result<ResultSet> {
        if columns.is_empty() {
            return Err(Error::unsupported(format!("table \"{}\" would have no columns", name.name)));
        }
        let mut new = self.new_table(name, columns, options)?;
        if !options.temporary {
            self.refuse_name_of_view(name.schema.as_deref(), &name.name)?;
        }
        let sequences = self.column_sequences(&new, options)?;
        for (at, name, identity, _) in &sequences {
            let always = if identity.always { plan::modification::ALWAYS } else { "" };
            new.attributes[*at].default = Some(format!("nextval('{name}'){always}"));
        }
        self.commit(|draft| {
            let Some(table) = draft.create_table(new, existing(options.if_exists))? else { return Ok(()) };
            sequences.into_iter().try_for_each(|(at, name, _, sequence)| {
                let sequence = catalog::Sequence { owner: Some((table.id, at)), ..sequence };
                draft.set_sequence(Some(&table.schema), &name.name, Some(sequence))
            })
        })?;
        if options.if_exists == plan::statement::IfExists::Replace {
            self.drop_orphaned_sequences()?;
        }
        Ok(ResultSet::done("CREATE TABLE"))
    }

    /// For CREATE TABLE AS: the answer when the table exists, so that the query need not run.
    pub(crate) fn exists_already(
        &self,
        name: &ObjectName,
        fields: &[Field],
        options: &TableOptions,
    ) -> Result<Option<ResultSet>> {
        let new = self.new_table(name, fields.to_vec(), options)?;
        if !options.temporary {
            self.refuse_name_of_view(name.schema.as_deref(), &name.name)?;
        }
        let snapshot = self.snapshot();
        let schema = match (&new.schema, new.temporary) {
            (Some(schema), _) => schema.as_str(),
            (None, true) => catalog::TEMPORARY_SCHEMA,
            (None, false) => catalog::DEFAULT_SCHEMA,
        };
        if !snapshot.schema(schema)?.tables.contains_key(&new.name) {
            return Ok(None);
        }
        match options.if_exists {
            IfExists::Keep => Ok(Some(ResultSet::done("CREATE TABLE AS"))),
            _ => Err(already_exists(&new.name)
                .with_hint("use CREATE TABLE IF NOT EXISTS or CREATE OR REPLACE TABLE")),
        }
    }

    /// The catalog's form of a table definition, names resolved.
    pub(crate) fn new_table(
        &self,
        name: &ObjectName,
        mut columns: Vec<Field>,
        options: &TableOptions,
    ) -> Result<NewTable> {
        let (block_bytes, layout) = {
            let settings = self.settings();
            (settings.block_bytes, settings.layout)
        };
        let mut table_options = catalog::TableOptions { layout, sorted_by: None, block_bytes };
        let mut indices = Vec::new();
        storage_options::apply(&name.name, &columns, &options.with, &mut table_options, &mut indices)?;
        let mut keys = Vec::new();
        if let Some(primary) = &options.primary_key {
            let places = positions(&name.name, &columns, primary)?;
            for place in &places {
                columns[*place].nullable = false;
            }
            let name = options.primary_key_name.clone();
            keys.push(Key { name, columns: places, primary: true, nulls_equal: false });
        }
        for unique in &options.unique {
            keys.push(Key {
                name: unique.name.clone(),
                columns: positions(&name.name, &columns, &unique.columns)?,
                primary: false,
                nulls_equal: unique.nulls_equal,
            });
        }
        let mut foreign_keys = Vec::new();
        for key in &options.foreign_keys {
            foreign_keys.push(self.foreign_key(name, &columns, options, key)?);
        }
        let default = |field: &Field| {
            let text_in = |list: &[(String, String)]| {
                list.iter().rev().find(|(column, _)| *column == field.name).map(|(_, text)| text.clone())
            };
            ColumnAttributes {
                default: text_in(&options.defaults),
                comment: text_in(&options.comments),
                generated: text_in(&options.generated),
            }
        };
        let attributes = columns.iter().map(default).collect();
        let mut new = NewTable::new(name.name.clone(), Schema::new(columns));
        new.attributes = attributes;
        new.schema.clone_from(&name.schema);
        new.temporary = options.temporary;
        new.keys = keys;
        new.foreign_keys = foreign_keys;
        for check in &options.checks {
            let taken = |name: &str| new.checks.iter().any(|c| c.name == name);
            let name = match &check.name {
                Some(name) if taken(name) => {
                    let message =
                        format!("constraint \"{name}\" for relation \"{}\" already exists", new.name);
                    return Err(Error::new(SqlState::DuplicateObject, message));
                }
                Some(name) => name.clone(),
                None => catalog::Check::name_for(&new.name, &check.columns, taken),
            };
            let places = positions(&new.name, new.columns.fields(), &check.columns)?;
            let columns = check.columns.iter().cloned().zip(places).collect();
            new.checks.push(catalog::Check { name, text: check.text.clone(), columns });
        }
        if let Some(partitioning) = &options.partitioning {
            // A query's columns are known when it has been bound.
            if !new.columns.is_empty() {
                new.partitioning = Some(std::sync::Arc::new(partitions(&new, partitioning)?));
            }
        }
        new.options = table_options;
        new.indices = indices;
        Ok(new)
    }

    /// A foreign key with its columns as positions and its parent as an id (0: the new table itself). Fails when the
    /// parent has no such key, is in another database, or has other types.
    pub(crate) fn foreign_key(
        &self,
        name: &ObjectName,
        columns: &[Field],
        options: &TableOptions,
        key: &plan::statement::ForeignKey,
    ) -> Result<ForeignKey> {
        let own = positions(&name.name, columns, &key.columns)?;
        let to_itself = key.parent.name == name.name && key.parent.schema == name.schema;
        let snapshot = self.snapshot();
        let (parent, fields, primary) = if to_itself {
            // The catalog's name for "the table being made".
            let primary =
                options.primary_key.as_ref().map(|k| positions(&name.name, columns, k)).transpose()?;
            (catalog::TableId(0), columns.to_vec(), primary)
        } else {
            let parent = snapshot.table(key.parent.schema.as_deref(), &key.parent.name)?;
            let database = |key: Option<&str>| {
                key.and_then(|key| snapshot.database_of(key).0).map(|mounted| mounted.number)
            };
            if database(Some(&parent.schema)) != database(name.schema.as_deref()) {
                let message = format!(
                    "a foreign key cannot refer to table \"{}\" of another database",
                    key.parent.name
                );
                return Err(Error::new(SqlState::InvalidForeignKey, message)
                    .with_hint("keep tables that belong together in one database"));
            }
            let primary = parent.keys.iter().find(|k| k.primary).map(|k| k.columns.clone());
            (parent.id, parent.columns.fields().to_vec(), primary)
        };
        let parent_columns = if key.parent_columns.is_empty() {
            primary.ok_or_else(|| {
                Error::new(
                    SqlState::UndefinedObject,
                    format!("there is no primary key for referenced table \"{}\"", key.parent.name),
                )
            })?
        } else {
            positions(&key.parent.name, &fields, &key.parent_columns)?
        };
        if own.len() != parent_columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(Error::new(SqlState::InvalidForeignKey, message).with_hint(format!(
                "{} refer to {} of \"{}\"",
                key.columns.join(", "),
                parent_columns.iter().map(|at| fields[*at].name.as_str()).collect::<Vec<_>>().join(", "),
                key.parent.name
            )));
        }
        for (own, other) in own.iter().zip(&parent_columns) {
            let (own, other) = (&columns[*own], &fields[*other]);
            // Texts that are equal in one collation need not be in another.
            let alike = own.ty.compared_alike(other.ty) && common_key_type(own.ty, other.ty).is_some();
            if !alike {
                let first = key.columns.first().map_or("", String::as_str);
                return Err(Error::new(
                    SqlState::DatatypeMismatch,
                    format!("foreign key constraint \"{}_{first}_fkey\" cannot be implemented", name.name),
                )
                .with_detail(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    own.name,
                    other.name,
                    own.ty.sql_name().to_lowercase(),
                    other.ty.sql_name().to_lowercase()
                )));
            }
        }
        let (on_delete, on_update) = (key.on_delete, key.on_update);
        let (name, full) = (key.name.clone(), key.full);
        Ok(ForeignKey { name, columns: own, parent, parent_columns, on_delete, on_update, full })
    }

    /// DROP TABLE: all of them or none.
    pub(crate) fn drop_tables(
        &self,
        names: &[ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<ResultSet> {
        names.iter().try_for_each(|n| refuse_system(n.schema.as_deref()))?;
        let snapshot = self.snapshot();
        let (rejects, names): (Vec<&ObjectName>, Vec<&ObjectName>) = names.iter().partition(|name| {
            name.schema.is_none()
                && snapshot.find(None, &name.name).is_none()
                && snapshot.view(None, &name.name).is_none()
                && self.has_reject_table(&name.name)
        });
        rejects.iter().for_each(|name| self.drop_reject_table(&name.name));
        if names.is_empty() {
            return Ok(ResultSet::done("DROP TABLE"));
        }
        // All or none: one commit.
        self.commit(|draft| {
            for name in names {
                draft.drop_table(name.schema.as_deref(), &name.name, if_exists, cascade)?;
            }
            Ok(())
        })?;
        self.drop_orphaned_sequences()?;
        self.reclaim_afterwards();
        Ok(ResultSet::done("DROP TABLE"))
    }

    /// CREATE SCHEMA. The information schema counts as one that exists.
    pub(crate) fn create_schema(&self, name: &str, if_not_exists: bool) -> Result<ResultSet> {
        if name == INFORMATION_SCHEMA && !if_not_exists {
            let message = format!("schema \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateSchema, message));
        }
        if name != INFORMATION_SCHEMA {
            self.commit(|draft| draft.create_schema(name, if_not_exists))?;
        }
        Ok(ResultSet::done("CREATE SCHEMA"))
    }

    /// DROP SCHEMA; without `cascade` an error when something is in it.
    pub(crate) fn drop_schema(&self, name: &str, if_exists: bool, cascade: bool) -> Result<ResultSet> {
        refuse_system(Some(name))?;
        self.commit(|draft| drop_schema(draft, name, if_exists, cascade))?;
        self.drop_orphaned_sequences()?;
        Ok(ResultSet::done("DROP SCHEMA"))
    }
}

/// Drops a schema with its macros and its types, which nothing that stays may use.
fn drop_schema(draft: &mut catalog::Draft, name: &str, if_exists: bool, cascade: bool) -> Result<bool> {
    let snapshot = draft.snapshot();
    let within = |key: &&String| snapshot.place_of(key).0 == name;
    let macros: Vec<String> = snapshot.macros().keys().filter(within).cloned().collect();
    let held: Vec<(String, types::Type)> =
        snapshot.types().iter().filter(|(key, _)| within(key)).map(|(key, ty)| (key.clone(), **ty)).collect();
    let first = macros.first().map(|key| ("macro", key));
    let first = first.or_else(|| held.first().map(|(key, _)| ("type", key)));
    if let (Some((kind, first)), false) = (first, cascade) {
        let first = snapshot.place_of(first).1;
        let message = format!("cannot drop schema {name} because it holds {kind}s");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .with_detail(format!("{kind} \"{first}\" is in it"))
            .with_hint("use DROP SCHEMA ... CASCADE"));
    }
    if !draft.drop_schema(name, if_exists, cascade)? {
        return Ok(false);
    }
    macros.iter().for_each(|key| draft.set_macro(key, None));
    // They may be made of each other.
    held.iter().for_each(|(key, _)| draft.set_type(key, None));
    for (key, ty) in &held {
        crate::user_types::refuse_used(draft.snapshot(), key, *ty, "drop")?;
    }
    Ok(true)
}

/// PARTITION BY as the catalog has it.
fn partitions(new: &NewTable, asked: &plan::statement::Partitioning) -> Result<Partitioning> {
    let refuse = |message: String| Error::new(SqlState::InvalidTableDefinition, message);
    let fields = new.columns.fields();
    let column = positions(&new.name, fields, std::slice::from_ref(&asked.column))?;
    let column = column.first().copied().ok_or_else(|| Error::internal("no partition key"))?;
    let ty = fields[column].ty;
    if !PartitionScheme::suits(ty) {
        let message = format!("column \"{}\" of type {ty} cannot be partitioned by", fields[column].name);
        return Err(refuse(message));
    }
    let (names, scheme): (Vec<String>, PartitionScheme) = match &asked.kind {
        PartitionKind::Hash { count } => {
            let count = usize::try_from(*count).unwrap_or(usize::MAX).min(PARTITIONS_MAX + 1);
            let names = (0..count).map(|at| format!("p{at}")).collect();
            (names, PartitionScheme::Hash { count })
        }
        PartitionKind::Range(ranges) => {
            let (names, below): (Vec<String>, Vec<Option<Value>>) = ranges.iter().cloned().unzip();
            let rises = |pair: &[Option<Value>]| match pair {
                [Some(low), Some(high)] => low.total_cmp(high).is_lt(),
                [Some(_), None] => true,
                _ => false,
            };
            if let Some(at) = below.windows(2).position(|pair| !rises(pair)) {
                let message = format!("the bounds of partition \"{}\" do not rise", names[at + 1]);
                return Err(refuse(message).with_hint("name the partitions in the order of their values"));
            }
            (names, PartitionScheme::Range { below })
        }
    };
    if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        let message = format!("partition \"{}\" is defined twice", names[at]);
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    if !(1..=PARTITIONS_MAX).contains(&names.len()) {
        let message = format!("a table has 1 to {PARTITIONS_MAX} partitions");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    Ok(Partitioning { column, names, scheme })
}
