//! Statements that add rows: keys verified (`verify`), then everything published at once.
//!
//! A query runs with `Collected` as its insert destination: workers encode and seal blocks, which belong to no table
//! until the statement publishes them in one change of the catalog. When the query begins anew for lack of memory, or
//! fails, these blocks are dropped. CREATE TABLE AS publishes the table together with its blocks.

use std::sync::{Arc, Mutex, PoisonError};

use catalog::{NewTable, TableData};
use operators::context::InsertTarget;
use plan::statement::{IfExists, ObjectName, TableOptions};
use plan::{LogicalQuery, OutputColumn, PhysicalNode, PhysicalPlan, TableId};
use pool::{SealedBlock, WriterOptions};
use types::{Error, Field, Result, Schema, Type};

use crate::Session;
use crate::constraints::{LiveBlock, Unique, check_unique};
pub(crate) use crate::definable::existing;
use crate::execution::Purpose;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{RunAs, result_schema};
use crate::session::shown;
use crate::verify::RowChanges;

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
        self.options.clone()
    }
    fn append(&self, mut blocks: Vec<SealedBlock>) -> Result<()> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).append(&mut blocks);
        Ok(())
    }
    fn begin_anew(&self) {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).clear();
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
        let prepared = self.plan_steps(query, relations, Purpose::Run, &mut vec![])?;
        let input = prepared.plan;
        let estimated_rows = input.estimated_rows;
        let node = PhysicalNode::Insert { input: Box::new(input), table: TableId(0), name: name.to_owned() };
        let count = OutputColumn { name: "rows".into(), ty: Type::BigInt, nullable: false, bounds: None };
        let mut plan = PhysicalPlan::new(node, vec![count], estimated_rows);
        plan.number();
        let run_as = RunAs { insert: Some(target.clone()), ..RunAs::default() };
        self.run_plan(&Arc::new(plan), relations, &prepared.shared, run_as)?;
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
        let known = relations.table_by_id(table)?;
        crate::wide::refuse_wide(&known, "change the rows of")?;
        let blocks =
            self.blocks_of(&shown(name), &known.columns, known.writer_options(), query, relations)?;
        let rows = blocks.iter().map(|b| b.block.rows() as u64).sum();
        if rows > 0 {
            self.change_rows(RowChanges::added(known.id, blocks), relations.statement())?;
        }
        Ok(rows)
    }

    /// CREATE TABLE AS: the query's columns, all of which may be NULL, and its rows.
    pub(crate) fn create_table_as(
        &self,
        name: &ObjectName,
        query: LogicalQuery,
        options: &TableOptions,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        // That a query gives no NULLs today is no constraint.
        let fields: Vec<Field> =
            result_schema(&query).fields().iter().map(|f| Field::new(&f.name, f.ty, true)).collect();
        if options.if_exists != IfExists::Replace
            && let Some(done) = self.exists_already(name, &fields, options)?
        {
            return Ok(done);
        }
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
        let blocks = self.blocks_of(
            &shown(name),
            &new.columns,
            WriterOptions {
                partitions: new.partitioning.as_ref().map(|p| p.rows(&new.name, &new.columns)),
                ..catalog::writer_options(&new.options, &new.indices)
            },
            query,
            relations,
        )?;
        let all: Vec<LiveBlock> = blocks.iter().map(|b| b.block.clone().into()).collect();
        for key in &new.keys {
            let name = key.constraint_name(&new.name, &new.columns);
            check_unique(&new.columns, &name, Unique::of(key), &[], &all, &|| self.go_on())?;
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
        self.commit(|draft| draft.create_table(new, existing))?;
        Ok(rows)
    }
}
