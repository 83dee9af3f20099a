//! Statements that add rows: keys verified, then everything published at once.
//!
//! A statement that adds rows to a table with keys holds that table's writers' lock from its snapshot to its commit,
//! so the rows it verified against are the rows it adds to. Readers are never held up.

use std::sync::{Arc, Mutex, PoisonError};

use block::Block;
use catalog::{Append, Existing, NewTable, Table, TableData};
use operators::context::InsertTarget;
use plan::statement::{IfExists, ObjectName, TableOptions};
use plan::{LogicalQuery, OutputColumn, PhysicalNode, PhysicalPlan, TableId};
use pool::{SealedBlock, WriterOptions};
use types::{Error, Field, Result, Schema, Type};

use crate::Session;
use crate::alter::changed_meanwhile;
use crate::constraints::{Keyed, check_foreign_key, check_unique};
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::Purpose;
use crate::run::result_schema;
use crate::session::shown;

/// Keeps the blocks that an insert made until the engine publishes them.
struct Collected {
    name: String,
    columns: Schema,
    options: WriterOptions,
    blocks: Mutex<Vec<SealedBlock>>,
}

impl InsertTarget for Collected {
    fn name(&self) -> &str {
        &self.name
    }
    fn columns(&self) -> &Schema {
        &self.columns
    }
    fn writer_options(&self) -> WriterOptions {
        self.options
    }
    fn append(&self, mut blocks: Vec<SealedBlock>) -> Result<()> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).append(&mut blocks);
        Ok(())
    }
}

impl Session {
    /// Runs `query` into blocks of a table with these columns.
    pub(crate) fn blocks_of(
        &self,
        name: &str,
        columns: &Schema,
        options: WriterOptions,
        query: LogicalQuery,
        relations: &SessionRelations,
    ) -> Result<Vec<SealedBlock>> {
        let target = Arc::new(Collected {
            name: name.to_owned(),
            columns: columns.clone(),
            options,
            blocks: Mutex::new(Vec::new()),
        });
        let prepared = self.prepare(query, relations, Purpose::Run, &mut vec![])?;
        let input = prepared.plan;
        let estimated_rows = input.estimated_rows;
        let node = PhysicalNode::Insert { input: Box::new(input), table: TableId(0), name: name.to_owned() };
        let count = OutputColumn { name: "rows".into(), ty: Type::BigInt, nullable: false, bounds: None };
        let mut plan = PhysicalPlan::new(node, vec![count], estimated_rows);
        plan.number();
        self.run_plan(&plan, relations, &prepared.shared, Some(target.clone()), false)?;
        let mut blocks = target.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *blocks))
    }

    /// Adds the rows of `query` to a table; returns how many.
    pub(crate) fn insert_query(
        &self,
        table: TableId,
        name: &ObjectName,
        query: LogicalQuery,
        relations: &SessionRelations,
    ) -> Result<u64> {
        let id = catalog::TableId(table.0);
        let known = relations.table_by_id(table)?;
        let keyed = !known.keys.is_empty() || !known.foreign_keys.is_empty() || !known.checks.is_empty();
        let writers = known.writers().clone();
        let guard = keyed.then(|| writers.lock().unwrap_or_else(PoisonError::into_inner));
        let blocks =
            self.blocks_of(&shown(name), &known.columns, known.options.writer_options(), query, relations)?;
        let rows = blocks.iter().map(|b| b.block.rows() as u64).sum();
        // The query ran against its snapshot; keys are verified against the newest one, and once more if somebody
        // without keys to lock for was faster.
        let catalog = &self.database.shared.catalog;
        let pool = &self.database.shared.pool;
        let mut current = catalog.snapshot();
        loop {
            let now = current.table_by_id(id).cloned().ok_or_else(|| {
                Error::new(
                    types::SqlState::UndefinedTable,
                    format!("table {} was dropped meanwhile", shown(name)),
                )
            })?;
            self.verify(&now, &blocks, &current)?;
            let fresh: Vec<Arc<Block>> = blocks.iter().map(|b| b.block.clone()).collect();
            self.verify_checks(&now, &fresh, relations)?;
            let outcome = catalog.commit(|draft| {
                // The blocks have the columns that the table had.
                let newest = draft.snapshot().table_by_id(id);
                if newest.is_some_and(|newest| newest.columns != known.columns || newest.checks != now.checks)
                {
                    return Err(changed_meanwhile(&shown(name)));
                }
                if keyed {
                    draft.append_merging(id, Some(now.version), blocks.clone(), pool)
                } else {
                    draft.append_merging(id, None, blocks.clone(), pool)
                }
            })?;
            match outcome {
                Append::Done => break,
                Append::Changed(_) => current = catalog.snapshot(),
            }
        }
        drop(guard);
        Ok(rows)
    }

    /// Verifies every declared key of the table with the new blocks added.
    fn verify(&self, table: &Table, new: &[SealedBlock], snapshot: &catalog::Snapshot) -> Result<()> {
        let fresh: Vec<Arc<Block>> = new.iter().map(|b| b.block.clone()).collect();
        let old = table.data.blocks();
        for key in &table.keys {
            let name = key.constraint_name(&table.name, &table.columns);
            check_unique(&table.columns, &name, &key.columns, old, &fresh, &|| self.go_on())?;
        }
        for key in &table.foreign_keys {
            let parent = snapshot
                .table_by_id(key.parent)
                .ok_or_else(|| Error::internal("the parent of a foreign key is gone"))?;
            let mut blocks = parent.data.blocks().to_vec();
            if key.parent == table.id {
                blocks.extend(fresh.iter().cloned());
            }
            let name = key.constraint_name(&table.name, &table.columns);
            let child =
                Keyed { name: &table.name, schema: &table.columns, columns: &key.columns, blocks: &fresh };
            let parent = Keyed {
                name: &parent.name,
                schema: &parent.columns,
                columns: &key.parent_columns,
                blocks: &blocks,
            };
            check_foreign_key(&name, child, parent, &|| self.go_on())?;
        }
        Ok(())
    }

    pub(crate) fn create_table_as(
        &self,
        name: &ObjectName,
        query: LogicalQuery,
        options: &TableOptions,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        if options.if_exists != IfExists::Replace {
            if let Some(done) = self.exists_already(name, options)? {
                return Ok(done);
            }
        }
        let fields = result_schema(&query).fields().to_vec();
        let rows = self.make_table(name, fields, options, query, relations)?;
        Ok(ResultSet::done(format!("SELECT {rows}")))
    }

    /// Creates a table that appears complete, with the query's rows; returns how many.
    pub(crate) fn make_table(
        &self,
        name: &ObjectName,
        fields: Vec<Field>,
        options: &TableOptions,
        query: LogicalQuery,
        relations: &SessionRelations,
    ) -> Result<u64> {
        let mut new: NewTable = self.new_table(name, fields, options)?;
        let blocks =
            self.blocks_of(&shown(name), &new.columns, new.options.writer_options(), query, relations)?;
        let all: Vec<Arc<Block>> = blocks.iter().map(|b| b.block.clone()).collect();
        for key in &new.keys {
            let name = key.constraint_name(&new.name, &new.columns);
            check_unique(&new.columns, &name, &key.columns, &[], &all, &|| self.go_on())?;
        }
        if !new.foreign_keys.is_empty() {
            return Err(Error::unsupported("foreign keys of CREATE TABLE AS")
                .with_hint("create the table first, then INSERT INTO ... SELECT"));
        }
        let rows = blocks.iter().map(|b| b.block.rows() as u64).sum();
        let types: Vec<Type> = new.columns.fields().iter().map(|f| f.ty).collect();
        let mut data = TableData::from_blocks(&types, blocks);
        for key in &new.keys {
            data.add_unique(key.columns.clone());
        }
        data.discover_unique();
        new.data = Some(data);
        let existing = existing(options.if_exists);
        self.database.shared.catalog.commit(|draft| draft.create_table(new, existing))?;
        Ok(rows)
    }
}

pub(crate) fn existing(if_exists: IfExists) -> Existing {
    match if_exists {
        IfExists::Error => Existing::Refuse,
        IfExists::Keep => Existing::Keep,
        IfExists::Replace => Existing::Replace,
    }
}
