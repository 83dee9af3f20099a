//! ALTER TABLE and COMMENT ON.
//!
//! A copy of the table is changed and put in the table's place, all at once, if no other transaction has changed the
//! table since; otherwise the change is made again to what is there now. Columns that are added, dropped or renamed
//! leave the blocks' bytes as they are; a column of another type is a query over the whole table, whose rows are new
//! blocks.

use std::sync::Arc;

use catalog::{AlteredTable, ColumnAttributes, Key, LayoutKind, Table, TableData};
use plan::statement::{AddedKey, AlterAction, CommentTarget, ObjectName, TableOptions};
use plan::{LogicalQuery, TableId};
use types::{Error, Field, Result, SqlState, Type, Value};
use vector::{Batch, Vector};

use crate::Session;
use crate::constraints::{Keyed, LiveBlock, Unique, check_foreign_key, check_full, check_unique};
pub(crate) use crate::definable::changed_meanwhile;
use crate::define::positions;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::session::shown;

/// Times that a change is made anew because others were faster.
const ATTEMPTS_MAX: usize = 100;

impl Session {
    /// Makes all actions of one ALTER TABLE as one change. `table` is `None` where IF EXISTS found none: nothing
    /// happens.
    pub(crate) fn alter_table(
        &self,
        name: &ObjectName,
        table: Option<TableId>,
        actions: &[AlterAction],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let done = ResultSet::done("ALTER TABLE");
        let Some(id) = table else { return Ok(done) };
        if !actions.iter().all(|action| matches!(action, AlterAction::RenameTable { .. })) {
            crate::wide::refuse_wide(&*self.table_of(name, id)?, "alter")?;
        }
        self.change_table(name, id, |altered| {
            actions.iter().try_for_each(|action| self.alter(name, altered, action, relations))
        })?;
        Ok(done)
    }

    /// Changes a table; repeats the change until no other transaction comes in between.
    fn change_table(
        &self,
        name: &ObjectName,
        id: TableId,
        change: impl Fn(&mut AlteredTable) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            self.go_on()?;
            let table = self.table_of(name, id)?;
            let mut altered = AlteredTable::new(&table);
            change(&mut altered)?;
            if self.commit(|draft| draft.replace_altered(altered))? {
                return Ok(());
            }
        }
        Err(changed_meanwhile(&shown(name)))
    }

    fn table_of(&self, name: &ObjectName, id: TableId) -> Result<Arc<Table>> {
        self.snapshot().table_by_id(catalog::TableId(id.0)).cloned().ok_or_else(|| {
            Error::new(SqlState::UndefinedTable, format!("table {} was dropped meanwhile", shown(name)))
        })
    }

    fn alter(
        &self,
        name: &ObjectName,
        altered: &mut AlteredTable,
        action: &AlterAction,
        relations: &SessionRelations,
    ) -> Result<()> {
        match action {
            AlterAction::AddColumn { field, default, value, if_not_exists } => {
                if *if_not_exists && altered.table().columns.position(&field.name).is_some() {
                    return Ok(());
                }
                if altered.table().columns.len() >= sql::COLUMNS_MAX {
                    let message = format!("a table has at most {} columns", sql::COLUMNS_MAX);
                    return Err(Error::new(SqlState::StatementTooComplex, message));
                }
                let data = self.constant_column(altered.table(), field.ty, value)?;
                let attributes = ColumnAttributes { default: default.clone(), ..Default::default() };
                altered.add_column(field.clone(), attributes, data)
            }
            AlterAction::DropColumn { name, if_exists, cascade } => match altered.column(name) {
                Err(_) if *if_exists => Ok(()),
                column => altered.drop_column(column?, *cascade),
            },
            AlterAction::RenameColumn { from, to } => altered.rename_column(altered.column(from)?, to),
            AlterAction::RenameTable { to } => {
                let table = altered.table();
                if !table.is_temporary() {
                    self.refuse_name_of_view(name.schema.as_deref(), to)?;
                }
                if table.name == *to {
                    return Err(crate::define::already_exists(to));
                }
                altered.rename(to);
                Ok(())
            }
            AlterAction::SetNotNull { column } => altered.set_not_null(altered.column(column)?),
            AlterAction::DropNotNull { column } => altered.drop_not_null(altered.column(column)?),
            AlterAction::SetDefault { column, default } => {
                let column = altered.column(column)?;
                altered.attributes_mut(column).default.clone_from(default);
                Ok(())
            }
            AlterAction::AddConstraint { name: constraint, key } => {
                self.add_constraint(name, altered, constraint.as_deref(), key, relations)
            }
            AlterAction::DropConstraint { name, if_exists, cascade } => {
                let snapshot = self.snapshot();
                let dependents: Vec<Arc<Table>> =
                    snapshot.dependents(altered.table().id).into_iter().cloned().collect();
                altered.drop_constraint(name, *if_exists, *cascade, &dependents)
            }
        }
    }

    /// Adds a key once the table's rows are proved to satisfy it. The proof holds when the table is put in its place:
    /// that fails when the table has changed meanwhile, and rows of the parent are never taken away.
    fn add_constraint(
        &self,
        table_name: &ObjectName,
        altered: &mut AlteredTable,
        constraint: Option<&str>,
        key: &AddedKey,
        relations: &SessionRelations,
    ) -> Result<()> {
        let table = altered.table().clone();
        let fields = table.columns.fields().to_vec();
        match key {
            AddedKey::Primary(_) | AddedKey::Unique(_) => {
                let primary = matches!(key, AddedKey::Primary(_));
                let (columns, nulls_equal) = match key {
                    AddedKey::Unique(key) => (&key.columns, key.nulls_equal),
                    AddedKey::Primary(columns) => (columns, false),
                    _ => return Err(Error::internal("a key that is none")),
                };
                let columns = positions(&table.name, &fields, columns)?;
                let key = Key { name: constraint.map(str::to_owned), columns, primary, nulls_equal };
                for column in key.columns.iter().filter(|_| primary) {
                    altered.set_not_null(*column)?;
                }
                let name = key.constraint_name(&table.name, &table.columns);
                let rows = LiveBlock::all(&table.data);
                check_unique(&table.columns, &name, Unique::of(&key), &[], &rows, &|| self.go_on())?;
                altered.add_key(key)
            }
            AddedKey::Check(check) => {
                let added = altered.add_check(constraint, &check.text, &check.columns)?;
                self.verify_added_check(&table, added, relations)
            }
            AddedKey::Foreign(key) => {
                let mut options = TableOptions::default();
                let primary = table.keys.iter().find(|k| k.primary);
                options.primary_key =
                    primary.map(|k| k.columns.iter().map(|c| fields[*c].name.clone()).collect());
                let mut key = self.foreign_key(table_name, &fields, &options, key)?;
                key.name = constraint.map(str::to_owned);
                if key.parent == catalog::TableId(0) {
                    key.parent = table.id;
                }
                let parent = if key.parent == table.id {
                    Arc::new(table.clone())
                } else {
                    self.table_of(table_name, TableId(key.parent.0))?
                };
                let name = key.constraint_name(&table.name, &table.columns);
                let (own, others) = (LiveBlock::all(&table.data), LiveBlock::all(&parent.data));
                let child =
                    Keyed { name: &table.name, schema: &table.columns, columns: &key.columns, blocks: &own };
                let referred = Keyed {
                    name: &parent.name,
                    schema: &parent.columns,
                    columns: &key.parent_columns,
                    blocks: &others,
                };
                altered.add_foreign_key(key.clone(), &parent)?;
                if key.full {
                    check_full(&name, child, &|| self.go_on())?;
                }
                check_foreign_key(&name, child, referred, &|| self.go_on())
            }
        }
    }

    /// A column with one value in every row, in blocks parallel to those of the table. It is always held as codes.
    fn constant_column(&self, table: &Table, ty: Type, value: &Value) -> Result<TableData> {
        let mut sealed = Vec::with_capacity(table.data.blocks().len());
        for block in table.data.blocks() {
            self.go_on()?;
            let rows = block.rows();
            let part = [Batch::new(vec![Vector::constant(ty, value.clone(), rows).flatten()], rows)];
            let encoded = block::encode(&[(ty, true)], &part, LayoutKind::CompressedColumnStore)?;
            sealed.push(self.database.shared.pool.seal(encoded)?);
        }
        Ok(TableData::from_blocks(&[ty], sealed))
    }

    /// ALTER COLUMN TYPE: the table's rows are those of the query.
    pub(crate) fn alter_types(
        &self,
        name: &ObjectName,
        id: TableId,
        (fields, defaults): (Vec<Field>, Vec<(usize, String)>),
        query: LogicalQuery,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let before = relations.table_by_id(id)?;
        crate::wide::refuse_wide(&before, "alter")?;
        let mut altered = AlteredTable::new(&before);
        for (at, (old, new)) in before.columns.fields().iter().zip(&fields).enumerate() {
            if old.ty != new.ty {
                if before.partitioning.as_ref().is_some_and(|p| p.column == at) {
                    let message = format!(
                        "the type of column \"{}\" cannot change because the table is partitioned by it",
                        old.name
                    );
                    return Err(Error::new(SqlState::InvalidTableDefinition, message));
                }
                refuse_referenced(&before, relations, at)?;
            }
        }
        let columns = types::Schema::new(fields.clone());
        let blocks = self.blocks_of(&shown(name), &columns, before.writer_options(), query, relations)?;
        let all: Vec<LiveBlock> = blocks.iter().map(|b| b.block.clone().into()).collect();
        let types: Vec<Type> = fields.iter().map(|f| f.ty).collect();
        let mut data = TableData::from_blocks(&types, blocks);
        for key in &before.keys {
            let constraint = key.constraint_name(&before.name, &columns);
            check_unique(&columns, &constraint, Unique::of(key), &[], &all, &|| self.go_on())?;
            data.add_unique(key.columns.clone());
        }
        altered.retype(fields, data);
        for (column, default) in defaults {
            altered.attributes_mut(column).default = Some(default);
        }
        self.verify_checks(altered.table(), &all, relations)?;
        if !self.commit(|draft| draft.replace_altered(altered))? {
            return Err(changed_meanwhile(&shown(name)));
        }
        self.reclaim_afterwards();
        Ok(ResultSet::done("ALTER TABLE"))
    }

    /// COMMENT ON a table, view or column; `None` removes the comment.
    pub(crate) fn comment_on(
        &self,
        on: &CommentTarget,
        text: Option<String>,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let done = ResultSet::done("COMMENT");
        let before = self.snapshot();
        let is_view = |name: &ObjectName| before.view(name.schema.as_deref(), &name.name).is_some();
        let (name, column) = match on {
            CommentTarget::View(name) => {
                self.comment_on_view(name, text)?;
                return Ok(done);
            }
            CommentTarget::Object(kind, name) => return self.comment_on_object(*kind, name, text),
            CommentTarget::Table(name) => (name, None),
            CommentTarget::Column { table, column } => (table, Some(column)),
        };
        crate::definitions::refuse_system(name.schema.as_deref())?;
        let snapshot = self.snapshot();
        let table = match snapshot.table(name.schema.as_deref(), &name.name) {
            Ok(table) => table,
            Err(_) if is_view(name) => {
                if let Some(column) = column {
                    return self.comment_on_view_column(name, column, text, relations);
                }
                let message = format!("\"{}\" is not a table", shown(name));
                return Err(Error::new(SqlState::WrongObjectType, message).with_hint("use COMMENT ON VIEW"));
            }
            Err(error) => return Err(error),
        };
        self.change_table(name, TableId(table.id.0), |altered| {
            match column {
                None => altered.set_comment(text.clone()),
                Some(column) => {
                    let column = altered.column(column)?;
                    altered.attributes_mut(column).comment.clone_from(&text);
                }
            }
            Ok(())
        })?;
        Ok(done)
    }
}

/// A column on either side of a foreign key keeps its type: the other side would have to follow.
fn refuse_referenced(table: &Arc<Table>, relations: &SessionRelations, column: usize) -> Result<()> {
    let own = table.foreign_keys.iter().filter(|k| k.columns.contains(&column));
    let own = own.map(|k| k.constraint_name(&table.name, &table.columns)).next();
    let of_others = || {
        relations.snapshot().tables().find_map(|other| {
            let refers =
                |k: &&catalog::ForeignKey| k.parent == table.id && k.parent_columns.contains(&column);
            let key = other.foreign_keys.iter().find(refers)?;
            Some(key.constraint_name(&other.name, &other.columns))
        })
    };
    match own.or_else(of_others) {
        None => Ok(()),
        Some(constraint) => {
            let name = &table.columns.fields()[column].name;
            let message = format!("the type of column \"{name}\" cannot change because of a foreign key");
            Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(format!("constraint \"{constraint}\" uses it")))
        }
    }
}
