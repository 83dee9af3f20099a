//! CHECK constraints: every statement that adds rows, or changes some, proves them before its rows are seen.
//!
//! Called by INSERT, UPDATE, MERGE and COPY before they commit (`verify`), and by ALTER TABLE for rows that are
//! there. The expressions are bound from their texts against the table as it will be; row policies' WITH CHECK are
//! proved in the same way. The first row that fails ends the statement.

use access::{ObjectKey, PolicyCommand};
use block::Block;
use catalog::{Check, Table};
use expr::{Predicate, Selected};
use plan::{Expr, ExprKind};
use types::{Error, Field, Result, Schema, SqlState, Type};
use vector::Batch;

use crate::Session;
use crate::access::policies;
use crate::constraints::LiveBlock;
use crate::relations::SessionRelations;
use crate::statement::Within;

/// Rows looked at together.
const STEP_ROWS: usize = 4096;

/// A condition that can be evaluated.
struct Compiled<'c> {
    check: &'c Check,
    /// Places in the table of the columns it uses, in the order of its inputs.
    columns: Vec<usize>,
    is_false: Predicate,
}

impl Session {
    /// Fails at the first of these rows, which have the table's columns, that makes a check of the table false.
    pub(crate) fn verify_checks(
        &self,
        table: &Table,
        blocks: &[LiveBlock],
        relations: &SessionRelations,
    ) -> Result<()> {
        let violated = |check: &Check, row: String| {
            let message = format!(
                "new row for relation \"{}\" violates check constraint \"{}\"",
                table.name, check.name
            );
            Error::new(SqlState::CheckViolation, message).with_detail(format!("Failing row contains {row}."))
        };
        self.find_violation(table, &table.checks, blocks, relations, &violated)
    }

    /// Fails when a row that is in the table already makes the check false.
    pub(crate) fn verify_added_check(
        &self,
        table: &Table,
        check: &Check,
        relations: &SessionRelations,
    ) -> Result<()> {
        let violated = |check: &Check, row: String| {
            let message = format!(
                "check constraint \"{}\" of relation \"{}\" is violated by some row",
                check.name, table.name
            );
            Error::new(SqlState::CheckViolation, message).with_detail(format!("Failing row contains {row}."))
        };
        let checks = std::slice::from_ref(check);
        self.find_violation(table, checks, &LiveBlock::all(&table.data), relations, &violated)
    }

    /// 42501 at the first of these rows that the row policies of the table do not let the session write.
    pub(crate) fn verify_policies(
        &self,
        table: &Table,
        blocks: &[LiveBlock],
        commands: &[PolicyCommand],
        statement: Within<'_>,
    ) -> Result<()> {
        let (snapshot, role) = (self.snapshot(), self.identity().current);
        let state = snapshot.access();
        let Some(object) = policies::holds_for(state, &ObjectKey::Table(table.id.0), role) else {
            return Ok(());
        };
        let fields = table.columns.fields().iter().enumerate();
        let columns: Vec<(String, usize)> = fields.map(|(at, field)| (field.name.clone(), at)).collect();
        let check = |command: &PolicyCommand| {
            let condition = policies::condition(state, &object, role, *command, true);
            // Unknown is a violation here.
            Check { name: String::new(), text: format!("({condition}) IS TRUE"), columns: columns.clone() }
        };
        let checks: Vec<Check> = commands.iter().map(check).collect();
        let relations = self.relations_of(statement.cloned());
        sql::Relations::hide_own_names(&relations, object.owner);
        let violated = |_: &Check, _: String| {
            let name = &table.name;
            access::denied(format!("new row violates row-level security policy for table \"{name}\""))
        };
        self.find_violation(table, &checks, blocks, &relations, &violated)
    }

    fn find_violation(
        &self,
        table: &Table,
        checks: &[Check],
        blocks: &[LiveBlock],
        relations: &SessionRelations,
        violated: &dyn Fn(&Check, String) -> Error,
    ) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        let compiled = checks
            .iter()
            .map(|check| compile(table, check, relations))
            .collect::<Result<Vec<Compiled<'_>>>>()?;
        for live in blocks {
            self.go_on()?;
            let block = live.pin_all()?;
            for first in (0..block.rows()).step_by(STEP_ROWS) {
                let end = (first + STEP_ROWS).min(block.rows());
                for Compiled { check, columns, is_false } in &compiled {
                    let batch = Batch::new(
                        columns.iter().map(|c| block.fetch(*c, first..end)).collect(),
                        end - first,
                    );
                    let is_live = |at: &usize| live.is_live(first + at);
                    let at = match is_false.select(&batch)? {
                        Selected::None => None,
                        Selected::All => (0..end - first).find(is_live),
                        Selected::Rows(found) => found.iter().map(|at| *at as usize).find(is_live),
                    };
                    if let Some(at) = at {
                        return Err(violated(check, shown_row(&table.columns, &block, first + at)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Binds a check to the columns it uses, under the names that its text has for them.
fn compile<'c>(table: &Table, check: &'c Check, relations: &SessionRelations) -> Result<Compiled<'c>> {
    let fields = table.columns.fields();
    let named: Vec<Field> = (check.columns.iter())
        .map(|(name, at)| Field::new(name.as_str(), fields[*at].ty, fields[*at].nullable))
        .collect();
    let condition = sql::check_condition(&table.name, &named, &check.text, relations)?;
    // Unknown is no violation.
    let kind = ExprKind::IsBoolean { input: Box::new(condition), value: false, negated: false };
    let is_false = Predicate::compile(&Expr::new(kind, Type::Boolean))?;
    Ok(Compiled { check, columns: check.columns.iter().map(|(_, at)| *at).collect(), is_false })
}

fn shown_row(columns: &Schema, block: &Block, row: usize) -> String {
    let values = columns.fields().iter().enumerate().map(|(at, field)| {
        let value = block.fetch(at, row..row + 1).value(0);
        if value.is_null() { "null".to_owned() } else { value.display(field.ty) }
    });
    format!("({})", values.collect::<Vec<_>>().join(", "))
}
