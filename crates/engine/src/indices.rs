//! CREATE INDEX and DROP INDEX: blocks get indices, or lose them, while others read and write.
//!
//! The table's definition comes first, so that blocks made from then on have the index; then those that are there get
//! theirs, in bytes apart from the block's own. Blocks made in between have it already.
//!
//! An index over several columns is one of each column, all of the same name: a block combines what they find, so that
//! conditions on any of the columns use it, not only those on the first.

use std::sync::Arc;

use block::{IndexKind, IndexSpecification};
use catalog::{Block, StoredBlock, Table, TableIndex};
use plan::statement::{AddedKey, AlterAction, ObjectName, UniqueKey};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::reorganize::Job;
use crate::result::ResultSet;
use crate::session::shown;
use crate::statement::Within;
use crate::storage_options::{check_index, free_name, index_kind};

/// What CREATE INDEX says.
pub(crate) struct NewIndex {
    /// The name after CREATE INDEX; `None`: a free one is chosen.
    pub name: Option<String>,
    /// The indexed table, for messages and for the index's schema.
    pub table: ObjectName,
    /// The same table, resolved.
    pub table_id: plan::TableId,
    /// What USING names; `None`: csbtree.
    pub method: Option<String>,
    /// Positions of the indexed columns.
    pub columns: Vec<usize>,
    /// CREATE UNIQUE INDEX: declares a key instead.
    pub unique: bool,
    /// An index of that name that is there already is not an error.
    pub if_not_exists: bool,
}

/// The table that has an index of a name, in a schema or in any of the database `home`.
fn holder<'s>(
    snapshot: &'s catalog::Snapshot,
    schema: Option<&str>,
    name: &str,
    home: Option<&str>,
) -> Option<&'s Arc<Table>> {
    let schema = schema.map(catalog::Snapshot::canonical_schema);
    let at_home = |t: &Table| snapshot.database_of(&t.schema).0.map(|mounted| mounted.name.as_str()) == home;
    let mut tables =
        snapshot.tables().filter(|t| schema.map_or_else(|| at_home(t), |schema| t.schema == schema));
    tables.find(|t| t.indices.iter().any(|i| i.name == name))
}

impl Session {
    /// The schema of an index, and its name.
    pub(crate) fn index_place(
        &self,
        snapshot: &catalog::Snapshot,
        name: &ObjectName,
    ) -> Option<(String, String)> {
        let home = self.home();
        let home = home.as_ref().map(|mount| mount.name.as_str());
        let table = holder(snapshot, name.schema.as_deref(), &name.name, home)?;
        Some((table.schema.clone(), name.name.clone()))
    }

    /// CREATE INDEX. A unique one becomes a key of the table.
    pub(crate) fn create_index(&self, new: NewIndex, statement: Within<'_>) -> Result<ResultSet> {
        let id = catalog::TableId(new.table_id.0);
        let kind = index_kind(new.method.as_deref().unwrap_or("csbtree"))?;
        let done = ResultSet::done("CREATE INDEX");
        let snapshot = self.newest_seen();
        let table = snapshot.table(new.table.schema.as_deref(), &new.table.name)?.clone();
        if let Some(name) = &new.name
            && holder(&snapshot, Some(&table.schema), name, None).is_some()
        {
            if new.if_not_exists {
                return Ok(done);
            }
            let message = format!("relation \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateTable, message).with_hint("it is an index"));
        }
        if new.unique {
            // The promise is a key's, which every statement verifies.
            let fields = table.columns.fields();
            let columns = new.columns.iter().map(|c| fields[*c].name.clone()).collect();
            let key = AddedKey::Unique(UniqueKey { name: None, columns, nulls_equal: false });
            let key = AlterAction::AddConstraint { name: new.name.clone(), key };
            self.alter_table(&new.table, Some(new.table_id), &[key], &self.relations_of(statement.cloned()))?;
            return Ok(done);
        }
        let columns = new.columns;
        let fields = table.columns.fields();
        let names: Vec<&str> = columns.iter().map(|column| fields[*column].name.as_str()).collect();
        let defined = self.change_at_once(|draft| {
            let taken = |name: &str| holder(draft.snapshot(), Some(&table.schema), name, None).is_some();
            let name = new.name.clone().unwrap_or_else(|| free_name(&table.name, &names.join("_"), taken));
            let one = |column: &usize| TableIndex { name: name.clone(), kind, column: *column };
            let added: Vec<TableIndex> = columns.iter().map(one).collect();
            for index in &added {
                check_index(index, &fields[index.column])?;
                draft.forget_comment(catalog::Commented::Index, &table.schema, &index.name);
            }
            draft.redefine(id, |changed| {
                if changed.columns != table.columns {
                    return Err(crate::alter::changed_meanwhile(&shown(&new.table)));
                }
                changed.indices.extend(added.iter().cloned());
                Ok(())
            })?;
            Ok(added.clone())
        })?;
        self.build_indices(id, &columns, kind).inspect_err(|_| {
            // Blocks that have it already may keep it: nothing asks for it. Where this fails, too, the index stays.
            let _ = self.change_at_once(|draft| {
                draft.redefine(id, |changed| {
                    changed.indices.retain(|index| !defined.contains(index));
                    Ok(())
                })
            });
        })?;
        Ok(done)
    }

    /// Gives the blocks of a table the indices that it has been defined with.
    fn build_indices(&self, id: catalog::TableId, columns: &[usize], kind: IndexKind) -> Result<()> {
        if self.database.shared.store_of(id).is_some() && !self.has_private_changes() {
            // Index bytes apart from a block's own are not kept on disk: the blocks are made anew with the index in
            // them.
            let snapshot = self.newest_seen();
            if let Some(table) = snapshot.table_by_id(id) {
                let mut job = Job::new(id, table.columns.len());
                job.indices_only = true;
                while job.step(&self.database.shared) {
                    self.go_on()?;
                }
            }
            return Ok(());
        }
        let wanted: Vec<IndexSpecification> =
            columns.iter().map(|column| IndexSpecification { kind, column: *column }).collect();
        self.remake_indices(id, |block| {
            let has = |block: &Block, wanted: &IndexSpecification| {
                block.indices().any(|(there, _)| there == *wanted)
            };
            let lacking: Vec<IndexSpecification> =
                wanted.iter().filter(|wanted| !has(block, wanted)).copied().collect();
            if lacking.is_empty() {
                return Ok(None);
            }
            let indexed = self.database.shared.pool.with_indices(block, &lacking)?;
            let built = lacking.iter().any(|wanted| has(&indexed, wanted));
            Ok(built.then(|| Arc::new(indexed)))
        })
    }

    /// DROP INDEX, one after the other.
    pub(crate) fn drop_indices(&self, names: &[ObjectName], if_exists: bool) -> Result<ResultSet> {
        let home = self.home();
        let home = home.as_ref().map(|mount| mount.name.as_str());
        for name in names {
            let snapshot = self.newest_seen();
            let Some(table) = holder(&snapshot, name.schema.as_deref(), &name.name, home) else {
                if if_exists {
                    continue;
                }
                let message = format!("index \"{}\" does not exist", shown(name));
                return Err(Error::new(SqlState::UndefinedObject, message)
                    .with_hint("a unique index is a constraint: ALTER TABLE ... DROP CONSTRAINT"));
            };
            let (dropped, kept): (Vec<&TableIndex>, Vec<&TableIndex>) =
                table.indices.iter().partition(|i| i.name == name.name);
            self.change_at_once(|draft| {
                draft.redefine(table.id, |changed| {
                    changed.indices.retain(|i| i.name != name.name);
                    Ok(())
                })
            })?;
            // What an index of another name still asks for stays in the blocks.
            for index in dropped {
                if kept.iter().any(|i| (i.kind, i.column) == (index.kind, index.column)) {
                    continue;
                }
                let gone = IndexSpecification { kind: index.kind, column: index.column };
                self.remake_indices(table.id, |block| {
                    let has = block.indices().any(|(there, _)| there == gone);
                    Ok(has.then(|| Arc::new(block.without_index(gone))))
                })?;
            }
        }
        Ok(ResultSet::done("DROP INDEX"))
    }

    /// Puts in the place of each block what `remake` makes of it, in one commit. A block that was replaced meanwhile
    /// was made with the indices that the table has now.
    fn remake_indices(
        &self,
        id: catalog::TableId,
        remake: impl Fn(&Block) -> Result<Option<Arc<Block>>> + Sync,
    ) -> Result<()> {
        let snapshot = self.newest_seen();
        let Some(table) = snapshot.table_by_id(id) else { return Ok(()) };
        let mut remade: Vec<(StoredBlock, Arc<Block>)> = Vec::new();
        for stored in table.data.stored() {
            self.go_on()?;
            if let Some(block) = remake(&stored.block)? {
                remade.push((stored.clone(), block));
            }
        }
        self.change_at_once(|draft| {
            for (before, block) in remade {
                draft.index_block(id, &before, block)?;
            }
            Ok(())
        })
    }
}
