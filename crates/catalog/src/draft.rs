//! A snapshot being changed: DDL, and rows added.
//!
//! A `Draft` owns a copy of a snapshot's maps; tables in it are shared until they are replaced. `Catalog::commit`
//! lends one under the commit lock, a `Transaction` keeps a private one from statement to statement, and recovery
//! replays the log on one. `changed` says whether there is a new state to publish. Every replacement of a table goes
//! through `replace`, which withdraws the builds of wide tables that it makes stale. After an error a draft may hold
//! half of a change: callers drop it, or work on a clone.

use std::sync::{Arc, Mutex};

use block::Bitmap;
use pool::Pool;
use types::{Error, Result, Schema, SqlState, Type};

use crate::alter::depends;
use crate::snapshot::{SchemaEntry, Snapshot};
use crate::wide::same_shape;
use crate::{
    AlteredTable, BlockId, Check, ColumnAttributes, Commented, DEFAULT_SCHEMA, Encoding, ForeignKey, Key,
    Macro, Merging, Partitioning, SealedBlock, Sequence, StoredBlock, TEMPORARY_SCHEMA, Table, TableData,
    TableId, TableIndex, TableOptions, View, WHOLE_TABLE, WideTable,
};

/// What to do when the table to be created exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Existing {
    #[default]
    /// It is an error.
    Refuse,
    /// IF NOT EXISTS: leave it.
    Keep,
    /// OR REPLACE: drop it first.
    Replace,
}

/// A table to be created.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// `None` is the default schema, or the temporary one.
    pub schema: Option<String>,
    /// Without the schema.
    pub name: String,
    /// CREATE TEMPORARY TABLE: it lives in the schema `temp`, and is never logged.
    pub temporary: bool,
    /// Names, types, and NOT NULL as `nullable`.
    pub columns: Schema,
    /// One a column, or none at all.
    pub attributes: Vec<ColumnAttributes>,
    /// PRIMARY KEY and UNIQUE; at most one is primary.
    pub keys: Vec<Key>,
    /// A parent of `TableId(0)` is the table itself.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// What WITH says about its blocks.
    pub options: TableOptions,
    /// Indices that its blocks will have.
    pub indices: Vec<TableIndex>,
    /// PARTITION BY; `None` for one partition.
    pub partitioning: Option<Arc<Partitioning>>,
    /// What a wide table is made of; `None` for other tables.
    pub wide: Option<Arc<WideTable>>,
    /// The build that `data` shows, of a wide table.
    pub build: Option<u64>,
    /// Rows to begin with; their keys have been verified.
    pub data: Option<TableData>,
}

impl NewTable {
    /// A permanent table of the default schema with these columns, and nothing else declared.
    pub fn new(name: impl Into<String>, columns: Schema) -> Self {
        NewTable {
            schema: None,
            name: name.into(),
            temporary: false,
            columns,
            attributes: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: TableOptions::default(),
            indices: Vec::new(),
            partitioning: None,
            wide: None,
            build: None,
            data: None,
        }
    }
}

/// The outcome of adding rows to a table of an expected version.
#[derive(Clone, Debug)]
pub enum Append {
    /// The rows are in the table.
    Done,
    /// Another commit came first, and nothing was added. Verify the keys against this table and try again.
    Changed(Arc<Table>),
}

/// A snapshot that is being changed, and how its changes will be published.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(crate) snapshot: Snapshot,
    pub(crate) changed: bool,
    /// Older than every block that is made for it.
    began: BlockId,
    /// Others' changes may overtake it.
    private: bool,
    /// A log will ask what blocks were merged of.
    remembering: bool,
    /// A log says what becomes of wide tables.
    replaying: bool,
}

/// What a change does to the rows that a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The same ones in other blocks, or more is known of them.
    Same,
    /// There are more.
    More,
    /// Any.
    Other,
}

/// What changes are applied to.
#[derive(Clone, Copy)]
pub(crate) enum Rebase<'a> {
    /// The state that they were made on.
    Replay,
    /// They were made on `base`, and others have made `newest` of it.
    Onto { base: &'a Snapshot, newest: &'a Snapshot },
}

impl Draft {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Draft {
            snapshot,
            changed: false,
            began: BlockId::next(),
            private: false,
            remembering: false,
            replaying: true,
        }
    }
    pub(crate) fn private(snapshot: Snapshot) -> Self {
        Draft { private: true, replaying: false, ..Draft::new(snapshot) }
    }
    /// A draft of which a log will be told.
    pub(crate) fn remembering(snapshot: Snapshot, remembering: bool) -> Self {
        Draft { remembering, replaying: false, ..Draft::new(snapshot) }
    }
    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }
    /// The same work on another state.
    pub(crate) fn with_snapshot(&self, snapshot: Snapshot) -> Self {
        Draft { snapshot, ..self.clone() }
    }
    /// Puts a state in the place of this one, which it was made of.
    pub fn put(&mut self, snapshot: Snapshot) {
        self.snapshot = Snapshot { version: self.snapshot.version, ..snapshot };
        self.changed = true;
    }
    pub(crate) fn into_changed(mut self) -> Option<Snapshot> {
        self.snapshot.version += 1;
        self.changed.then_some(self.snapshot)
    }
    /// The state as changed so far.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(crate) fn schema_mut(&mut self, name: &str) -> Result<&mut SchemaEntry> {
        self.snapshot.schema(name)?;
        self.changed = true;
        Ok(self.snapshot.schemas.entry(Snapshot::canonical_schema(name).to_owned()).or_default())
    }

    /// Where a new table would go, and the table that is there.
    pub fn existing(&self, table: &NewTable) -> Result<(String, Option<&Arc<Table>>)> {
        let schema = target_schema(table)?;
        let entry = self.snapshot.schema(&schema)?;
        Ok((schema, entry.tables.get(&table.name)))
    }

    /// Creates a table; `None` when it exists and is kept.
    pub fn create_table(&mut self, new: NewTable, existing: Existing) -> Result<Option<Arc<Table>>> {
        let (schema, there) = self.existing(&new)?;
        let there = there.map(|t| t.id);
        match (there, existing) {
            (Some(_), Existing::Keep) => return Ok(None),
            (Some(_), Existing::Refuse) => {
                let message = format!("relation \"{}\" already exists", new.name);
                return Err(Error::new(SqlState::DuplicateTable, message)
                    .with_hint("use CREATE TABLE IF NOT EXISTS or CREATE OR REPLACE TABLE"));
            }
            (Some(id), Existing::Replace) => {
                if new.foreign_keys.iter().any(|f| f.parent == id) {
                    let message = format!("\"{}\" cannot refer to the table that it replaces", new.name);
                    return Err(Error::new(SqlState::DependentObjectsStillExist, message));
                }
                self.drop_table(Some(&schema), &new.name, false, false)?;
            }
            (None, _) => {}
        }
        let id = TableId::next();
        check_columns(&new)?;
        let mut foreign_keys = new.foreign_keys.clone();
        for key in &mut foreign_keys {
            // A table refers to itself by an id it does not have yet: `TableId(0)`.
            if key.parent == TableId(0) {
                key.parent = id;
            }
            self.check_foreign_key(key, &new, id)?;
        }
        let types: Vec<Type> = new.columns.fields().iter().map(|f| f.ty).collect();
        let mut attributes = new.attributes;
        attributes.resize_with(types.len(), ColumnAttributes::default);
        let table = Arc::new(Table {
            id,
            schema: schema.clone(),
            name: new.name.clone(),
            data: Arc::new(new.data.unwrap_or_else(|| TableData::empty(&types))),
            columns: new.columns,
            attributes,
            comment: None,
            keys: new.keys,
            foreign_keys,
            checks: new.checks,
            options: new.options,
            indices: new.indices,
            partitioning: new.partitioning,
            wide: new.wide,
            build: new.build,
            version: 1,
            writers: Arc::new(Mutex::new(())),
        });
        self.schema_mut(&schema)?.tables.insert(new.name, table.clone());
        Ok(Some(table))
    }

    fn check_foreign_key(&self, key: &ForeignKey, new: &NewTable, id: TableId) -> Result<()> {
        let (keys, columns, name) = if key.parent == id {
            (&new.keys, &new.columns, new.name.as_str())
        } else {
            let Some(parent) = self.snapshot.table_by_id(key.parent) else {
                return Err(Error::new(SqlState::UndefinedTable, "the referenced table was dropped"));
            };
            if parent.is_temporary() && !new.temporary {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    "a permanent table cannot refer to a temporary one",
                ));
            }
            (&parent.keys, &parent.columns, parent.name.as_str())
        };
        let same = |k: &Key| {
            k.columns.len() == key.parent_columns.len()
                && k.columns.iter().all(|c| key.parent_columns.contains(c))
        };
        if !keys.iter().any(same) {
            return Err(Error::new(
                SqlState::UndefinedObject,
                format!(
                    "there is no unique constraint matching the given keys for referenced table \"{name}\""
                ),
            ));
        }
        for (child, parent) in key.columns.iter().zip(&key.parent_columns) {
            let (a, b) = (&new.columns.fields()[*child], &columns.fields()[*parent]);
            if a.ty.physical() != b.ty.physical() || a.ty.scale() != b.ty.scale() {
                return Err(Error::new(
                    SqlState::DatatypeMismatch,
                    format!(
                        "foreign key column \"{}\" of type {} cannot refer to column \"{}\" of type {}",
                        a.name, a.ty, b.name, b.ty
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Drops a table. False when it does not exist and `if_exists`. Tables that refer to it make it an error, unless
    /// `cascade`, which drops their constraint.
    pub fn drop_table(
        &mut self,
        schema: Option<&str>,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<bool> {
        self.snapshot.refuse_other_kind(schema, name, "table")?;
        let table = match self.snapshot.table(schema, name) {
            Ok(table) => table.clone(),
            Err(_) if if_exists => return Ok(false),
            Err(error) => return Err(error),
        };
        let dependents: Vec<Arc<Table>> = self.snapshot.dependents(table.id).into_iter().cloned().collect();
        if let (Some(first), false) = (dependents.first(), cascade) {
            let message = format!("cannot drop table \"{name}\" because other objects depend on it");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(format!("a foreign key of table \"{}\" refers to it", first.name))
                .with_hint("use DROP ... CASCADE to drop the foreign keys too"));
        }
        let wide: Vec<Arc<Table>> = self.snapshot.wide_over(table.id).cloned().collect();
        if let (Some(first), false) = (wide.first(), cascade) {
            let message = format!("cannot drop table \"{name}\" because other objects depend on it");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(format!("wide table \"{}\" is made of it", first.name))
                .with_hint("use DROP ... CASCADE to drop the wide table too"));
        }
        for wide in wide {
            self.schema_mut(&wide.schema)?.tables.remove(&wide.name);
        }
        for dependent in dependents {
            let mut without = (*dependent).clone();
            without.foreign_keys.retain(|f| f.parent != table.id);
            self.replace(without, Effect::Same)?;
        }
        self.schema_mut(&table.schema)?.tables.remove(&table.name);
        Ok(true)
    }

    /// Puts a table in the place of what it was.
    pub(crate) fn replace(&mut self, table: Table, effect: Effect) -> Result<()> {
        let schema = table.schema.clone();
        let reshaped = || self.snapshot.table_by_id(table.id).is_some_and(|old| !same_shape(old, &table));
        let effect = if effect != Effect::Other && reshaped() { Effect::Other } else { effect };
        self.disturb(table.id, effect);
        self.schema_mut(&schema)?.tables.insert(table.name.clone(), Arc::new(table));
        Ok(())
    }

    /// Puts a changed copy in the place of the table it was made of. False, and nothing is done, when the table has
    /// changed since.
    pub fn replace_altered(&mut self, altered: AlteredTable) -> Result<bool> {
        let AlteredTable { before, mut table, places, cascading } = altered;
        let newest = self.newest(before.id)?;
        if !Arc::ptr_eq(&newest, &before) {
            return Ok(false);
        }
        if table.name != before.name {
            let entry = self.schema_mut(&before.schema)?;
            if entry.tables.contains_key(&table.name) {
                let message = format!("relation \"{}\" already exists", table.name);
                return Err(Error::new(SqlState::DuplicateTable, message));
            }
            entry.tables.remove(&before.name);
        }
        table.version += 1;
        let moved = places.iter().enumerate().any(|(at, place)| *place != Some(at));
        let dependents: Vec<Arc<Table>> =
            if moved { self.snapshot.dependents(before.id).into_iter().cloned().collect() } else { vec![] };
        for dependent in dependents {
            let mut child = (*dependent).clone();
            for key in child.foreign_keys.iter().filter(|k| k.parent == before.id) {
                let gone = key.parent_columns.iter().find(|c| places[**c].is_none());
                if let Some(column) = gone.filter(|c| !cascading.contains(c)) {
                    let column = &before.columns.fields()[*column].name;
                    let name = key.constraint_name(&child.name, &child.columns);
                    return Err(depends(column, &format!("{name}\" of table \"{}", child.name)));
                }
            }
            child
                .foreign_keys
                .retain(|k| k.parent != before.id || k.parent_columns.iter().all(|c| places[*c].is_some()));
            for key in child.foreign_keys.iter_mut().filter(|k| k.parent == before.id) {
                // Every one of them is there: the others' keys are gone.
                key.parent_columns = key.parent_columns.iter().filter_map(|c| places[*c]).collect();
            }
            self.replace(child, Effect::Same)?;
        }
        if moved {
            self.move_owned_sequences(before.id, &places);
        }
        let effect = match Arc::ptr_eq(&before.data, &table.data) {
            true => Effect::Same,
            false => Effect::Other,
        };
        self.replace(table, effect)?;
        Ok(true)
    }

    /// Columns of a table have other places or are gone: so are the sequences that belong to them.
    fn move_owned_sequences(&mut self, table: TableId, places: &[Option<usize>]) {
        for entry in self.snapshot.schemas.values_mut() {
            let owned = |s: &Sequence| s.owner.filter(|(of, column)| *of == table && *column != WHOLE_TABLE);
            let gone = |column: usize| places.get(column).copied().flatten().is_none();
            entry.sequences.retain(|_, s| !owned(s).is_some_and(|(_, column)| gone(column)));
            for sequence in entry.sequences.values_mut() {
                if let Some((_, column)) = owned(sequence)
                    && places[column] != Some(column)
                {
                    let owner = places[column].map(|place| (table, place));
                    *sequence = Arc::new(Sequence { owner, next: sequence.next.clone(), ..**sequence });
                }
            }
        }
    }

    /// Creates a schema; false when it exists and `if_not_exists`.
    pub fn create_schema(&mut self, name: &str, if_not_exists: bool) -> Result<bool> {
        if self.snapshot.schemas.contains_key(Snapshot::canonical_schema(name)) {
            if if_not_exists {
                return Ok(false);
            }
            return Err(Error::new(SqlState::DuplicateSchema, format!("schema \"{name}\" already exists")));
        }
        self.changed = true;
        self.forget_comment(Commented::Schema, name, name);
        self.snapshot.schemas.insert(name.to_owned(), SchemaEntry::default());
        Ok(true)
    }

    /// Drops a schema; false when it does not exist and `if_exists`. With tables in it only by `cascade`.
    pub fn drop_schema(&mut self, name: &str, if_exists: bool, cascade: bool) -> Result<bool> {
        let canonical = Snapshot::canonical_schema(name).to_owned();
        if !self.snapshot.schemas.contains_key(&canonical) && if_exists {
            return Ok(false);
        }
        let tables: Vec<String> = self.snapshot.schema(name)?.tables.keys().cloned().collect();
        if canonical == DEFAULT_SCHEMA || canonical == TEMPORARY_SCHEMA {
            return Err(Error::new(
                SqlState::DependentObjectsStillExist,
                format!("cannot drop schema \"{name}\" because the database needs it"),
            ));
        }
        if let (Some(first), false) = (tables.first(), cascade) {
            return Err(Error::new(
                SqlState::DependentObjectsStillExist,
                format!("cannot drop schema \"{name}\" because other objects depend on it"),
            )
            .with_detail(format!("table \"{first}\" is in it"))
            .with_hint("use DROP SCHEMA ... CASCADE to drop its tables too"));
        }
        let held = self.snapshot.schema(name)?;
        let others = [("view", held.views.keys().next()), ("sequence", held.sequences.keys().next())];
        if let Some((kind, Some(first))) = others.iter().find(|(_, first)| first.is_some() && !cascade) {
            return Err(Error::new(
                SqlState::DependentObjectsStillExist,
                format!("cannot drop schema {name} because it holds {kind}s"),
            )
            .with_detail(format!("{kind} \"{first}\" is in it"))
            .with_hint("use DROP SCHEMA ... CASCADE"));
        }
        for table in tables {
            // A wide table may have gone with one of its base tables.
            self.drop_table(Some(&canonical), &table, true, true)?;
        }
        self.changed = true;
        self.snapshot.schemas.remove(&canonical);
        Ok(true)
    }

    /// Puts a view under a name, or removes it with `None`. The caller decides whether another view may be replaced;
    /// a table never is.
    pub fn set_view(&mut self, schema: Option<&str>, name: &str, view: Option<View>) -> Result<()> {
        let schema = Snapshot::canonical_schema(schema.unwrap_or(DEFAULT_SCHEMA)).to_owned();
        if !self.schema_mut(&schema)?.views.contains_key(name) {
            self.forget_view_columns(&schema, name);
        }
        let entry = self.schema_mut(&schema)?;
        match view {
            Some(_) if entry.tables.contains_key(name) => {
                let message = format!("relation \"{name}\" already exists");
                return Err(Error::new(SqlState::DuplicateTable, message).with_hint("it is a table"));
            }
            Some(view) => entry.views.insert(name.to_owned(), Arc::new(view)),
            None => entry.views.remove(name),
        };
        Ok(())
    }

    /// Puts a sequence under a name, or takes it away.
    pub fn set_sequence(
        &mut self,
        schema: Option<&str>,
        name: &str,
        sequence: Option<Sequence>,
    ) -> Result<()> {
        let schema = Snapshot::canonical_schema(schema.unwrap_or(DEFAULT_SCHEMA)).to_owned();
        if !self.schema_mut(&schema)?.sequences.contains_key(name) {
            self.forget_comment(Commented::Sequence, &schema, name);
        }
        let sequences = &mut self.schema_mut(&schema)?.sequences;
        match sequence {
            Some(sequence) => sequences.insert(name.to_owned(), Arc::new(sequence)),
            None => sequences.remove(name),
        };
        Ok(())
    }

    /// Puts a type under a name, or takes it away.
    pub fn set_type(&mut self, name: &str, ty: Option<Type>) {
        self.changed = true;
        if !self.snapshot.types.contains_key(name) {
            let (schema, own) = self.snapshot.place_of(name);
            let own = own.to_owned();
            self.forget_comment(Commented::Type, &schema, &own);
        }
        match ty {
            Some(ty) => self.snapshot.types.insert(name.to_owned(), Arc::new(ty)),
            None => self.snapshot.types.remove(name),
        };
    }

    /// Puts a macro under a name, or takes it away.
    pub fn set_macro(&mut self, name: &str, text: Option<Macro>) {
        self.changed = true;
        if !self.snapshot.macros.contains_key(name) {
            let (schema, own) = self.snapshot.place_of(name);
            let own = own.to_owned();
            self.forget_comment(Commented::Macro, &schema, &own);
        }
        match text {
            Some(text) => self.snapshot.macros.insert(name.to_owned(), Arc::new(text)),
            None => self.snapshot.macros.remove(name),
        };
    }

    /// Adds blocks to a table. With `expected`, only if the table still has that version; without, to whatever
    /// version is newest.
    pub fn append(&mut self, id: TableId, expected: Option<u64>, blocks: Vec<SealedBlock>) -> Result<Append> {
        let table = self.newest(id)?;
        if expected.is_some_and(|version| version != table.version) {
            return Ok(Append::Changed(table));
        }
        let data = table.data.append(blocks);
        self.put_data(id, data, Effect::More)?;
        Ok(Append::Done)
    }

    /// As `append`, for few rows: a small last block and the new ones become one (`TableData::append_merging`).
    pub fn append_merging(
        &mut self,
        id: TableId,
        expected: Option<u64>,
        blocks: Vec<SealedBlock>,
        pool: &Pool,
    ) -> Result<Append> {
        let table = self.newest(id)?;
        if expected.is_some_and(|version| version != table.version) {
            return Ok(Append::Changed(table));
        }
        self.append_stored(&table, blocks.into_iter().map(StoredBlock::new).collect(), pool)?;
        Ok(Append::Done)
    }

    /// Adds blocks that have names to the table as it is.
    pub(crate) fn append_stored(
        &mut self,
        table: &Table,
        blocks: Vec<StoredBlock>,
        pool: &Pool,
    ) -> Result<()> {
        let columns = table.declarations();
        let encoding = Encoding { pool, columns: &columns, options: table.merge_options() };
        let extent = Merging { began: self.began, private: self.private, remembering: self.remembering };
        let data = match &table.partitioning {
            None => table.data.append_merging(blocks, &encoding, extent)?,
            Some(partitioning) => table.data.append_partitioned(blocks, partitioning, &encoding, extent)?,
        };
        self.put_data(table.id, data, Effect::More)
    }

    /// Puts another block with the same rows in the place of one (`TableData::with_block_remade`); false when that one has
    /// changed.
    pub fn remake_block(
        &mut self,
        id: TableId,
        before: &StoredBlock,
        remade: StoredBlock,
        places: Option<Arc<[u32]>>,
    ) -> Result<bool> {
        let table = self.newest(id)?;
        match table.data.with_block_remade(before, remade, places) {
            Some(data) => self.put_data(id, data, Effect::Same).map(|()| true),
            None => Ok(false),
        }
    }

    /// Gives a block other indices (`TableData::with_indices_of`); false when it has changed.
    pub fn index_block(
        &mut self,
        id: TableId,
        before: &StoredBlock,
        block: Arc<block::Block>,
    ) -> Result<bool> {
        let table = self.newest(id)?;
        match table.data.with_indices_of(before, block) {
            Some(data) => self.put_data(id, data, Effect::Same).map(|()| true),
            None => Ok(false),
        }
    }

    /// Changes a table's definition, rows aside.
    pub fn redefine(&mut self, id: TableId, change: impl FnOnce(&mut Table) -> Result<()>) -> Result<()> {
        let mut table = (*self.newest(id)?).clone();
        change(&mut table)?;
        table.version += 1;
        self.replace(table, Effect::Same)
    }

    /// Deletes rows: per block, one bit a row. SQLSTATE 40001 when one of them is gone already.
    pub fn delete(&mut self, id: TableId, rows: &[(BlockId, Arc<Bitmap>)]) -> Result<()> {
        let table = self.newest(id)?;
        let data = table.data.delete(rows)?;
        self.set_data(id, data)
    }

    /// Replaces a table's rows.
    pub fn set_data(&mut self, id: TableId, data: TableData) -> Result<()> {
        self.put_data(id, data, Effect::Other)
    }

    pub(crate) fn put_data(&mut self, id: TableId, data: TableData, effect: Effect) -> Result<()> {
        let table = self.newest(id)?;
        let mut changed = (*table).clone();
        changed.data = Arc::new(data);
        changed.version += 1;
        self.replace(changed, effect)
    }

    /// Notes on wide tables what happens to a table that they may be made of. More rows of another table than the fact
    /// table change no row of a wide table: all rows that refer to something refer to rows that were there.
    fn disturb(&mut self, id: TableId, effect: Effect) {
        if self.replaying || effect == Effect::Same {
            return;
        }
        match effect {
            Effect::More => {
                let fact = |t: &&Arc<Table>| t.wide.as_ref().is_some_and(|wide| wide.fact() == id);
                if self.snapshot.wide_over(id).any(|t| fact(&t)) {
                    let others: Vec<(TableId, Option<u64>)> =
                        self.snapshot.wide_over(id).filter(|t| !fact(t)).map(|t| (t.id, t.build)).collect();
                    self.changed |= self.snapshot.forget_builds(id);
                    for (other, build) in others {
                        self.set_build(other, build);
                    }
                }
            }
            _ => self.changed |= self.snapshot.forget_builds(id),
        }
    }

    /// Says which build a wide table shows.
    pub(crate) fn set_build(&mut self, id: TableId, build: Option<u64>) {
        let Some(table) = self.snapshot.table_by_id(id).cloned() else { return };
        if table.build == build {
            return;
        }
        self.changed = true;
        let changed = Arc::new(Table { build, ..(*table).clone() });
        if let Some(entry) = self.snapshot.schemas.get_mut(&table.schema) {
            entry.tables.insert(table.name.clone(), changed);
        }
    }

    /// Adds the wide rows of rows that were added to the fact table of `seen`, which is the state with them and without
    /// these. `build` is what the wide table showed before. When anything has happened to its base tables since, nothing
    /// is done: the wide table stays without a build.
    pub fn extend_wide(
        &mut self,
        id: TableId,
        build: u64,
        seen: &Snapshot,
        blocks: Vec<SealedBlock>,
        pool: &Pool,
    ) -> Result<()> {
        let table = self.newest(id)?;
        let as_seen = |id: &TableId| match (self.snapshot.table_by_id(*id), seen.table_by_id(*id)) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
        let whole = table.wide.as_ref().is_some_and(|wide| wide.tables().iter().all(as_seen));
        if !whole || !as_seen(&id) {
            return Ok(());
        }
        self.append_stored(&table, blocks.into_iter().map(StoredBlock::new).collect(), pool)?;
        self.set_build(id, Some(build));
        Ok(())
    }

    /// Gives a wide table another build: what it is made of, its columns, its rows. `seen` is the state that the
    /// build was computed from. Returns false, and changes nothing, when a base table is no longer as in `seen`.
    pub fn rebuild_wide(&mut self, rebuilt: Table, seen: &Snapshot) -> Result<bool> {
        let bases = rebuilt.wide.as_ref().map(|wide| wide.tables()).unwrap_or_default();
        let as_seen = |id: &TableId| match (self.snapshot.table_by_id(*id), seen.table_by_id(*id)) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
        if !bases.iter().chain([&rebuilt.id]).all(as_seen) {
            return Ok(false);
        }
        let version = rebuilt.version + 1;
        self.replace(Table { version, build: Some(crate::next_build()), ..rebuilt }, Effect::Other)?;
        Ok(true)
    }

    pub(crate) fn newest(&self, id: TableId) -> Result<Arc<Table>> {
        self.snapshot.table_by_id(id).cloned().ok_or_else(|| {
            Error::new(SqlState::UndefinedTable, "the table was dropped while the statement ran")
        })
    }
}

fn target_schema(table: &NewTable) -> Result<String> {
    match (&table.schema, table.temporary) {
        (None, false) => Ok(DEFAULT_SCHEMA.to_owned()),
        (None, true) => Ok(TEMPORARY_SCHEMA.to_owned()),
        (Some(schema), true) if Snapshot::canonical_schema(schema) != TEMPORARY_SCHEMA => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("a temporary table cannot be created in schema \"{schema}\""),
        )),
        (Some(schema), _) => Ok(Snapshot::canonical_schema(schema).to_owned()),
    }
}

fn check_columns(new: &NewTable) -> Result<()> {
    let fields = new.columns.fields();
    for (i, field) in fields.iter().enumerate() {
        if fields[..i].iter().any(|f| f.name == field.name) {
            return Err(Error::new(
                SqlState::DuplicateColumn,
                format!("column \"{}\" specified more than once", field.name),
            ));
        }
    }
    let count = fields.len();
    let positions =
        new.keys.iter().flat_map(|k| &k.columns).chain(new.foreign_keys.iter().flat_map(|f| &f.columns));
    if positions.into_iter().any(|p| *p >= count) {
        return Err(Error::internal("a key names a column that the table does not have"));
    }
    if new.keys.iter().filter(|k| k.primary).count() > 1 {
        return Err(Error::new(
            SqlState::SyntaxError,
            format!("multiple primary keys for table \"{}\" are not allowed", new.name),
        ));
    }
    Ok(())
}

impl Draft {
    /// COMMENT ON: puts a comment under an object's key, or takes it away.
    pub fn set_comment(&mut self, of: Commented, schema: &str, name: &str, text: Option<String>) {
        self.changed = true;
        let key = self.snapshot.comment_key(of, schema, name);
        match text {
            Some(text) => self.snapshot.comments.insert(key, Arc::new(text)),
            None => self.snapshot.comments.remove(&key),
        };
    }

    /// Takes a comment away that an object of this name had before another one is made.
    pub fn forget_comment(&mut self, of: Commented, schema: &str, name: &str) {
        let key = self.snapshot.comment_key(of, schema, name);
        self.snapshot.comments.remove(&key);
    }

    /// As `forget_comment`, of all columns of a view.
    pub fn forget_view_columns(&mut self, schema: &str, view: &str) {
        let first = self.snapshot.comment_key(Commented::ViewColumn, schema, &Commented::column(view, ""));
        let gone: Vec<String> =
            self.snapshot.comments.keys().filter(|key| key.starts_with(&first)).cloned().collect();
        gone.iter().for_each(|key| _ = self.snapshot.comments.remove(key));
    }

    /// An object has another name from here on.
    pub fn move_comment(&mut self, of: Commented, schema: &str, from: &str, to: &str) {
        let text = self.snapshot.comment(of, schema, from).map(str::to_owned);
        self.forget_comment(of, schema, from);
        self.set_comment(of, schema, to, text);
    }
}
