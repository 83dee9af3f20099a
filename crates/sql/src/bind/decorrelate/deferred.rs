//! Rows that are computed once, but only when columns from further out are known.
//!
//! Rows whose copies would differ (`random()`) are computed before the query, and every copy reads what was computed.
//! Inside a correlated subquery that cannot be: they may use columns of the queries around. So copies of a placeholder
//! stand for them until the subquery is unnested:
//!
//! ```text
//!  placeholder k(free columns) --unnest over D--> the rows of all D are one relation, computed before; each copy of the
//!                                                 placeholder scans it
//!                              --unnest over D--> and uses columns of queries still further out: a placeholder of its
//!                                                 own, for the next domain
//! ```
//! A placeholder is a node that no conditions are lifted through, a window without calls, over a scan of rows whose
//! number is counted from the other end. Its key is volatile, so that nothing around it is copied without asking, and
//! mentions the free columns. Each free column belongs to a query around, whose domain replaces it: none is left when
//! the statement is bound.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use plan::logical::ColumnTable;
use plan::{
    ColumnId, Expr, ExprKind, LogicalPlan, MaterializedSource, OutputColumn, ROWS_OF_ONE_RUN, ScanSource,
};
use types::{Error, Result, Type};

use crate::bind::decorrelate::unnest::{free_columns, with_new_columns};

/// Rows that a query which runs before is taken to have until it has run.
pub(crate) const ROWS_GUESSED: f64 = 1000.0;

/// Rows that are put off: the plan, and its columns in the order in which placeholders scan them.
pub(crate) struct DeferredRows {
    plan: LogicalPlan,
    ids: Vec<ColumnId>,
}

/// What a domain made of one placeholder, for its copies.
struct Unnested {
    of: (usize, Vec<Expr>),
    /// The rows' number, from the one end or the other.
    index: usize,
    plan: LogicalPlan,
    ids: Vec<ColumnId>,
    /// The outer columns, and where they are in the rows.
    outer: Vec<(ColumnId, usize)>,
    /// Columns of queries still further out.
    free: Vec<Expr>,
}

/// What one unnesting makes of the placeholders that it meets.
pub(crate) struct Runs<'p> {
    known: &'p [DeferredRows],
    /// The number of the next rows that are computed.
    next: usize,
    made: RefCell<Vec<Unnested>>,
}

type Renaming = HashMap<ColumnId, ColumnId>;

/// The number under which a placeholder scans the rows at this place of the list, and the other way round.
fn number(place: usize) -> usize {
    usize::MAX - place
}

/// The number of a placeholder's rows, what its columns are and are called, and what it is by.
type Parts<'p> = (usize, &'p [(ColumnId, usize)], &'p [Expr]);

fn parts(plan: &LogicalPlan) -> Option<Parts<'_>> {
    let LogicalPlan::Window { input, partition, calls, .. } = plan else { return None };
    let LogicalPlan::Scan { source: ScanSource::Materialized(source), columns, .. } = &**input else {
        return None;
    };
    match partition.as_slice() {
        [Expr { kind: ExprKind::Library { name, arguments }, .. }]
            if calls.is_empty() && **name == *ROWS_OF_ONE_RUN =>
        {
            Some((source.index, columns, arguments))
        }
        _ => None,
    }
}

/// A scan of materialized rows with these columns, under these ids.
fn scan(
    index: usize,
    described: &[ColumnId],
    columns: Vec<(ColumnId, usize)>,
    table: &ColumnTable,
) -> LogicalPlan {
    let column = |id: &ColumnId| {
        let info = table.get(*id);
        OutputColumn { name: info.name.clone(), ty: info.ty, nullable: info.nullable, bounds: None }
    };
    let source = MaterializedSource {
        index,
        rows: ROWS_GUESSED,
        columns: described.iter().map(column).collect(),
        distinct: vec![None; described.len()],
        unique: vec![],
    };
    LogicalPlan::Scan { source: ScanSource::Materialized(Arc::new(source)), columns, filters: vec![] }
}

fn placeholder(input: LogicalPlan, free: Vec<Expr>) -> LogicalPlan {
    let kind = ExprKind::Library { name: ROWS_OF_ONE_RUN.into(), arguments: free };
    let key = Expr::new(kind, Type::Boolean);
    LogicalPlan::Window { input: Box::new(input), partition: vec![key], order: vec![], calls: vec![] }
}

/// A placeholder for a plan with free columns, under the ids that its columns have.
pub(crate) fn put_off(
    plan: &LogicalPlan,
    deferred: &mut Vec<DeferredRows>,
    table: &mut ColumnTable,
) -> LogicalPlan {
    let free = free_columns(plan);
    let (output, (copy, renamed)) = (plan.output(), with_new_columns(plan, table));
    // Outer columns that the plan hands on are not columns of its rows.
    let own: Vec<ColumnId> = output.iter().copied().filter(|id| !free.contains(id)).collect();
    let ids: Vec<ColumnId> = own.iter().map(|id| renamed.get(id).copied().unwrap_or(*id)).collect();
    let index = number(deferred.len());
    let rows = scan(index, &ids, own.iter().copied().zip(0..).collect(), table);
    let rows = placeholder(rows, free.iter().map(|id| table.expr(*id)).collect());
    deferred.push(DeferredRows { plan: copy, ids });
    if own.len() == output.len() {
        return rows;
    }
    let expressions = output.into_iter().map(|id| (id, table.expr(id))).collect();
    LogicalPlan::Project { input: Box::new(rows), expressions }
}

impl<'p> Runs<'p> {
    /// For one unnesting, with what has been put off so far and the number of the next rows that are computed.
    pub fn new(known: &'p [DeferredRows], next: usize) -> Self {
        Runs { known, next, made: RefCell::default() }
    }

    /// The rows of a placeholder for all of a domain, which `unnest` gives for the plan that it stands for; `None`:
    /// `plan` is no placeholder.
    pub fn unnest(
        &self,
        plan: &LogicalPlan,
        columns: &mut ColumnTable,
        unnest: impl FnOnce(LogicalPlan, &mut ColumnTable) -> Result<(LogicalPlan, Renaming)>,
    ) -> Result<Option<(LogicalPlan, Renaming)>> {
        let Some((index, scanned, arguments)) = parts(plan) else { return Ok(None) };
        let rows = self.known.get(usize::MAX - index);
        let rows = rows.ok_or_else(|| Error::internal("rows that nobody has put off"))?;
        let found = self.made.borrow().iter().position(|u| u.of.0 == index && u.of.1 == arguments);
        let at = match found {
            Some(at) => at,
            None => {
                let (plan, map) = unnest(rows.plan.clone(), columns)?;
                let mut ids = rows.ids.clone();
                let mut map: Vec<(ColumnId, ColumnId)> = map.into_iter().collect();
                map.sort_unstable();
                let outer = map.iter().map(|(o, _)| *o).zip(ids.len()..).collect();
                ids.extend(map.iter().map(|(_, inside)| *inside));
                let free: Vec<Expr> = free_columns(&plan).into_iter().map(|id| columns.expr(id)).collect();
                let mut made = self.made.borrow_mut();
                let put_off = made.iter().filter(|u| !u.free.is_empty()).count();
                let index_of_all = match free.is_empty() {
                    true => self.next + made.len() - put_off,
                    false => number(self.known.len() + put_off),
                };
                let of = (index, arguments.to_vec());
                made.push(Unnested { of, index: index_of_all, plan, ids, outer, free });
                made.len() - 1
            }
        };
        let made = self.made.borrow();
        let Unnested { index, ids, outer, free, .. } = &made[at];
        let mut renamed = Renaming::new();
        let mut all = scanned.to_vec();
        for (id, place) in outer {
            let info = columns.get(*id).clone();
            let own = columns.add(info.name, info.ty, info.nullable);
            all.push((own, *place));
            renamed.insert(*id, own);
        }
        let rows = scan(*index, ids, all, columns);
        let rows = if free.is_empty() { rows } else { placeholder(rows, free.clone()) };
        Ok(Some((rows, renamed)))
    }

    /// What is to be computed before, in order, each with its columns; and what is put off again.
    pub fn into_rows(self) -> (Vec<(LogicalPlan, Vec<ColumnId>)>, Vec<DeferredRows>) {
        let (mut computed, mut deferred) = (Vec::new(), Vec::new());
        for Unnested { plan, ids, free, .. } in self.made.into_inner() {
            match free.is_empty() {
                true => computed.push((plan, ids)),
                false => deferred.push(DeferredRows { plan, ids }),
            }
        }
        (computed, deferred)
    }
}
