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
//!
//! A recursion that uses columns of the queries around is put off likewise. Unnested, its rows have the domain's columns:
//! the first part gives them, the rows of the last round have them, and the repeated part is unnested over the domain
//! that these rows make, so that a row of the domain whose rounds are over has none any more.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use plan::logical::ColumnTable;
use plan::{
    ColumnId, Expr, ExprKind, LogicalPlan, MaterializedSource, OutputColumn, ROWS_OF_A_RECURSION,
    ROWS_OF_ONE_RUN, ScanSource,
};
use types::{Error, Result, Type};

use crate::bind::decorrelate::unnest::{free_columns, with_new_columns};

/// Rows that a query which runs before is taken to have until it has run.
pub(crate) const ROWS_GUESSED: f64 = 1000.0;

/// Rows that are put off: the plan, and its columns in the order in which placeholders scan them.
pub(crate) struct DeferredRows {
    plan: LogicalPlan,
    ids: Vec<ColumnId>,
    rounds: Option<Rounds>,
}

/// The repeated part of a recursion whose first part is put off.
#[derive(Clone)]
pub(crate) struct Rounds {
    /// The name of the query, for EXPLAIN.
    pub name: String,
    /// The part that runs repeatedly.
    pub plan: LogicalPlan,
    /// Its columns, like those of the first part in number and type.
    pub columns: Vec<ColumnId>,
    /// UNION: rows that came before are dropped.
    pub distinct: bool,
    /// The number of the rows of the last round.
    pub working: usize,
}

/// Rows that are computed before the query.
pub(crate) struct Computed {
    /// Their number.
    pub index: usize,
    /// The rows, or the first part of a recursion.
    pub plan: LogicalPlan,
    /// The columns that are kept.
    pub ids: Vec<ColumnId>,
    /// The repeated part.
    pub rounds: Option<Rounds>,
}

/// The rows of the last round, in a repeated part that is being unnested: their number before and after, their columns,
/// and where the outer ones are among these.
struct Working {
    from: usize,
    to: usize,
    described: Vec<ColumnId>,
    outer: Vec<(ColumnId, usize)>,
}

/// What a domain made of one placeholder, for its copies.
struct Unnested {
    of: (usize, Vec<Expr>),
    /// The rows' number, from the one end or the other.
    index: usize,
    plan: LogicalPlan,
    ids: Vec<ColumnId>,
    rounds: Option<Rounds>,
    /// The outer columns, and where they are in the rows.
    outer: Vec<(ColumnId, usize)>,
    /// Columns of queries still further out.
    free: Vec<Expr>,
}

/// What one unnesting makes of the placeholders that it meets.
pub(crate) struct Runs<'p> {
    known: &'p [DeferredRows],
    /// The number of the next rows that are computed.
    next: Cell<usize>,
    made: RefCell<Vec<Unnested>>,
    /// What is being unnested: a repeated part reads the rows of the last round, all else reads none.
    within: RefCell<Vec<Option<Working>>>,
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
            if calls.is_empty() && [ROWS_OF_ONE_RUN, ROWS_OF_A_RECURSION].contains(&&**name) =>
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

fn placeholder(input: LogicalPlan, name: &str, free: Vec<Expr>) -> LogicalPlan {
    let kind = ExprKind::Library { name: name.into(), arguments: free };
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
    let rows = placeholder(rows, ROWS_OF_ONE_RUN, free.iter().map(|id| table.expr(*id)).collect());
    deferred.push(DeferredRows { plan: copy, ids, rounds: None });
    if own.len() == output.len() {
        return rows;
    }
    let expressions = output.into_iter().map(|id| (id, table.expr(id))).collect();
    LogicalPlan::Project { input: Box::new(rows), expressions }
}

/// A placeholder for a recursion with free columns: its first part with the columns that are kept, and what is repeated.
/// The placeholder's columns are new ones.
pub(crate) fn put_off_recursion(
    first: LogicalPlan,
    ids: Vec<ColumnId>,
    rounds: Rounds,
    deferred: &mut Vec<DeferredRows>,
    table: &mut ColumnTable,
) -> (LogicalPlan, Vec<ColumnId>) {
    let mut free = free_columns(&first);
    free.extend(free_columns(&rounds.plan));
    let own: Vec<ColumnId> = ids
        .iter()
        .map(|id| {
            let info = table.get(*id).clone();
            table.add(info.name, info.ty, true)
        })
        .collect();
    let rows = scan(number(deferred.len()), &ids, own.iter().copied().zip(0..).collect(), table);
    let differs = first.is_volatile() || rounds.plan.is_volatile();
    let name = if differs { ROWS_OF_ONE_RUN } else { ROWS_OF_A_RECURSION };
    let rows = placeholder(rows, name, free.iter().map(|id| table.expr(*id)).collect());
    deferred.push(DeferredRows { plan: first, ids, rounds: Some(rounds) });
    (rows, own)
}

impl<'p> Runs<'p> {
    /// For one unnesting, with what has been put off so far and the number of the next rows that are computed.
    pub fn new(known: &'p [DeferredRows], next: usize) -> Self {
        let (next, made) = (Cell::new(next), RefCell::default());
        Runs { known, next, made, within: RefCell::default() }
    }

    fn number_of_rows(&self) -> usize {
        self.next.replace(self.next.get() + 1)
    }

    /// Whether a plan reads the rows of the last round, in a repeated part.
    pub fn reads_working(&self, plan: &LogicalPlan) -> bool {
        let within = self.within.borrow();
        let Some(Some(working)) = within.last() else { return false };
        reads(plan, &|index| index == working.from)
    }

    /// In a repeated part: the rows of the last round with these of their columns and the outer ones, which are new, and
    /// where those are.
    pub fn last_round(
        &self,
        own: &[(ColumnId, usize)],
        columns: &mut ColumnTable,
    ) -> Option<(LogicalPlan, Renaming)> {
        let within = self.within.borrow();
        let working = within.last()?.as_ref()?;
        let (all, renamed) = with_outer(own, &working.outer, columns);
        Some((scan(working.to, &working.described, all, columns), renamed))
    }

    /// The rows of a placeholder for all of a domain, which `unnest` gives for the plan that it stands for; `None`:
    /// `plan` is no placeholder.
    pub fn unnest(
        &self,
        plan: &LogicalPlan,
        columns: &mut ColumnTable,
        unnest: impl Fn(LogicalPlan, &mut ColumnTable) -> Result<(LogicalPlan, Renaming)>,
    ) -> Result<Option<(LogicalPlan, Renaming)>> {
        let Some((index, scanned, arguments)) = parts(plan) else { return Ok(None) };
        let rows = self.known.get(usize::MAX - index);
        let rows = rows.ok_or_else(|| Error::internal("rows that nobody has put off"))?;
        let found = self.made.borrow().iter().position(|u| u.of.0 == index && u.of.1 == arguments);
        let at = match found {
            Some(at) => at,
            None => self.make((index, arguments.to_vec()), rows, columns, unnest)?,
        };
        let made = self.made.borrow();
        let Unnested { index, ids, outer, free, .. } = &made[at];
        let (all, renamed) = with_outer(scanned, outer, columns);
        let rows = scan(*index, ids, all, columns);
        let LogicalPlan::Window { partition, .. } = plan else { return Ok(Some((rows, renamed))) };
        let name = match &partition[..] {
            [Expr { kind: ExprKind::Library { name, .. }, .. }] => name,
            _ => ROWS_OF_ONE_RUN,
        };
        let rows = if free.is_empty() { rows } else { placeholder(rows, name, free.clone()) };
        Ok(Some((rows, renamed)))
    }

    /// Unnests what a placeholder stands for; its place among what is made.
    fn make(
        &self,
        of: (usize, Vec<Expr>),
        rows: &DeferredRows,
        columns: &mut ColumnTable,
        unnest: impl Fn(LogicalPlan, &mut ColumnTable) -> Result<(LogicalPlan, Renaming)>,
    ) -> Result<usize> {
        let within = |working, plan: &LogicalPlan, columns: &mut ColumnTable| {
            self.within.borrow_mut().push(working);
            let unnested = unnest(plan.clone(), columns);
            self.within.borrow_mut().pop();
            let (plan, map) = unnested?;
            let mut map: Vec<(ColumnId, ColumnId)> = map.into_iter().collect();
            map.sort_unstable();
            Ok::<_, Error>((plan, map))
        };
        let (plan, map) = within(None, &rows.plan, columns)?;
        let mut ids = rows.ids.clone();
        let outer: Vec<(ColumnId, usize)> = map.iter().map(|(o, _)| *o).zip(ids.len()..).collect();
        ids.extend(map.iter().map(|(_, inside)| *inside));
        let mut free = free_columns(&plan);
        let rounds = match &rows.rounds {
            None => None,
            Some(rounds) => {
                let to = self.number_of_rows();
                let working =
                    Working { from: rounds.working, to, described: ids.clone(), outer: outer.clone() };
                let (plan, map) = within(Some(working), &rounds.plan, columns)?;
                free.extend(free_columns(&plan));
                let mut own = rounds.columns.clone();
                own.extend(map.iter().map(|(_, inside)| *inside));
                Some(Rounds { plan, columns: own, working: to, ..rounds.clone() })
            }
        };
        let free: Vec<Expr> = free.into_iter().map(|id| columns.expr(id)).collect();
        let mut made = self.made.borrow_mut();
        let index = match free.is_empty() {
            true => self.number_of_rows(),
            false => number(self.known.len() + made.iter().filter(|u| !u.free.is_empty()).count()),
        };
        made.push(Unnested { of, index, plan, ids, rounds, outer, free });
        Ok(made.len() - 1)
    }

    /// What is to be computed before, in order; what is put off again; and the number of the next rows.
    pub fn into_rows(self) -> (Vec<Computed>, Vec<DeferredRows>, usize) {
        let (mut computed, mut deferred) = (Vec::new(), Vec::new());
        for Unnested { index, plan, ids, rounds, free, .. } in self.made.into_inner() {
            match free.is_empty() {
                true => computed.push(Computed { index, plan, ids, rounds }),
                false => deferred.push(DeferredRows { plan, ids, rounds }),
            }
        }
        (computed, deferred, self.next.get())
    }
}

/// Columns of rows and the outer ones behind them under new ids, and which those are.
fn with_outer(
    own: &[(ColumnId, usize)],
    outer: &[(ColumnId, usize)],
    columns: &mut ColumnTable,
) -> (Vec<(ColumnId, usize)>, Renaming) {
    let mut renamed = Renaming::new();
    let mut all = own.to_vec();
    for (id, place) in outer {
        let info = columns.get(*id).clone();
        let own = columns.add(info.name, info.ty, info.nullable);
        all.push((own, *place));
        renamed.insert(*id, own);
    }
    (all, renamed)
}

/// Whether a plan has volatile calls, but for those of rows that are put off: these are computed once where they belong.
pub(crate) fn is_volatile_here(plan: &LogicalPlan) -> bool {
    if parts(plan).is_some() {
        return false;
    }
    plan.expressions().into_iter().any(Expr::is_volatile) || plan.children().into_iter().any(is_volatile_here)
}

/// Whether a plan reads materialized rows of which `wanted` is true.
pub(crate) fn reads(plan: &LogicalPlan, wanted: &dyn Fn(usize) -> bool) -> bool {
    let own = match plan {
        LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } => wanted(source.index),
        _ => false,
    };
    own || plan.children().into_iter().any(|child| reads(child, wanted))
}
