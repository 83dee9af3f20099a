//! Common table expressions: written out where they are named, or computed once.
//!
//! Written out, a use takes part in everything around it: predicates reach its tables, joins are ordered together. It
//! is computed once where the text says so, where copies would differ (volatile functions), where copies of copies
//! become too many, and where it would be evaluated again in each round of a recursion and give something else.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use plan::{
    ColumnId, CommonQuery, Expr, ExprKind, LogicalPlan, MaterializedSource, OutputColumn, RowChange,
    ScanSource,
};
use syntax::tree;
use syntax::tree::walk::{Node, walk};
use types::{Error, Result, SqlState, Type};

use crate::bind::decorrelate::deferred::{Computed, ROWS_GUESSED, Rounds, put_off};
use crate::bind::decorrelate::unnest::{free_columns, with_new_columns};
use crate::bind::query::changes_rows;
use crate::bind::query::marks::Marks;
use crate::bind::scope::Scope;
use crate::bind::{Binder, Cte, Relation, folded};
use crate::statement::row_query;

/// Copies of one expression up to which each is written out where it is named.
const COPIES_MAX: usize = 8;

/// Rows that are computed before, and what is known of their columns.
#[derive(Clone)]
pub(crate) struct Named {
    /// Name, type and nullability of each column.
    pub columns: Vec<(Rc<str>, Type, bool)>,
    /// The number of the materialized result, by which scans and the query that computes it find each other.
    pub index: usize,
}

/// See `Binder::before`.
#[derive(Clone, Copy)]
pub(crate) struct Before {
    common: usize,
    subqueries: usize,
    rows: usize,
}

impl<'a> Binder<'a> {
    /// Makes the expressions of a WITH known; `named` are the relations that what they are for names.
    pub(crate) fn bind_with(
        &mut self,
        with: &'a tree::With,
        named: &[String],
        outer: &Option<Rc<Scope>>,
    ) -> Result<()> {
        let first = self.ctes.len();
        let uses = uses(with, named, self.copies);
        for (cte, (references, copies)) in with.queries.iter().zip(uses) {
            let name = folded(&cte.name);
            if self.ctes[first..].iter().any(|c| c.name == name) {
                let error = Error::new(
                    SqlState::DuplicateTable,
                    format!("WITH query name \"{name}\" specified more than once"),
                );
                return Err(self.error_at(error, cte.name.span));
            }
            let visible = self.ctes.len();
            self.ctes.push(Cte {
                name,
                columns: cte.columns.iter().map(folded).collect(),
                statement: &cte.statement,
                visible,
                scope: outer.clone(),
                used: false,
                materialized: cte.materialized,
                references,
                copies,
                once: None,
                put_off: None,
                changed: false,
                recursive: with.recursive,
                recursion: None,
                key: &cte.key,
                marks: Marks::of(cte),
                at: cte.name.span,
            });
        }
        Ok(())
    }

    /// Binds one use of a common table expression.
    pub(crate) fn bind_cte(&mut self, at: usize) -> Result<Relation> {
        let Some(cte) = self.ctes.get_mut(at) else { return Err(Error::internal("no such WITH query")) };
        cte.used = true;
        if let Some(named) = cte.once.clone() {
            return Ok(self.read_rows(&named));
        }
        if let Some(put_off) = &cte.put_off {
            let (plan, renamed) = with_new_columns(&put_off.plan, &mut self.columns);
            let own = |id: &ColumnId| renamed.get(id).copied().unwrap_or(*id);
            let columns = put_off.columns.iter().map(|(name, id)| (name.clone(), own(id))).collect();
            return Ok(Relation { plan, columns });
        }
        if changes_rows(cte.statement) {
            let name = cte.name.clone();
            let error = match cte.changed {
                true => format!("WITH query \"{name}\" does not have a RETURNING clause"),
                false => {
                    "WITH clause containing a data-modifying statement must be at the top level".to_owned()
                }
            };
            return Err(Error::unsupported(error));
        }
        if cte.recursive
            && let Some(relation) = self.bind_recursive(at)?
        {
            return Ok(relation);
        }
        let cte = &self.ctes[at];
        if cte.marks.is_some() || !cte.key.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "WITH query is not recursive");
            return Err(self.error_at(error, cte.at));
        }
        let query = row_query(self.text, cte.statement)?;
        let (visible, scope, names) = (cte.visible, cte.scope.clone(), cte.columns.clone());
        let (wanted, references, copies, name) =
            (cte.materialized, cte.references, cte.copies, cte.name.clone());
        let too_many = copies > COPIES_MAX && wanted != Some(false);
        let once = wanted == Some(true) || too_many;
        // Inside, only those before it can be seen.
        let hidden = self.ctes.split_off(visible);
        let around = std::mem::replace(&mut self.copies, if once { 1 } else { copies.max(1) });
        let result = self.bind_query(query, scope);
        self.copies = around;
        self.ctes.truncate(visible);
        self.ctes.extend(hidden);
        let mut relation = result?;
        self.rename_columns(&mut relation, &names)?;
        // One that is named once may still be read for each row of a query around.
        let differs = self.is_volatile(&relation.plan);
        if !(once || differs) {
            return Ok(relation);
        }
        if !free_columns(&relation.plan).is_empty() {
            if !differs || self.reads_working(&relation.plan) {
                return Ok(relation);
            }
            // Computed for each row of the query around it, and once for all that read it there.
            let plan = put_off(&relation.plan, &mut self.deferred, &mut self.columns);
            let relation = Relation { plan, columns: relation.columns };
            self.ctes[at].put_off = Some(relation.clone());
            return Ok(relation);
        }
        if self.reads_working(&relation.plan) {
            // Its rows are others in each round.
            return if differs && references != 1 {
                Err(Error::unsupported(format!(
                    "volatile functions in \"{name}\", which reads a recursive query's rows and is used more than once, are not supported"
                )))
            } else {
                Ok(relation)
            };
        }
        let named = self.compute_once(name, relation);
        let relation = self.read_rows(&named);
        self.ctes[at].once = Some(named);
        Ok(relation)
    }

    /// Has a relation computed before the query; it uses no columns from around it.
    fn compute_once(&mut self, name: String, relation: Relation) -> Named {
        let columns = relation.columns.iter().map(|(name, id)| {
            let info = self.columns.get(*id);
            (name.clone(), info.ty, info.nullable)
        });
        let named = Named { columns: columns.collect(), index: self.next_rows() };
        self.common.push(CommonQuery {
            name,
            base_columns: relation.columns.iter().map(|(_, id)| *id).collect(),
            base: relation.plan,
            step: None,
            result: named.index,
            change: None,
            subqueries: self.subqueries.len(),
        });
        named
    }

    /// Has a change of rows made before the query; what is read of it are the columns of `returned`.
    pub(crate) fn keep_changed(
        &mut self,
        name: String,
        base: LogicalPlan,
        base_columns: Vec<ColumnId>,
        change: RowChange,
        returned: &Relation,
    ) -> Named {
        let columns = returned.columns.iter().map(|(name, id)| {
            let info = self.columns.get(*id);
            (name.clone(), info.ty, info.nullable)
        });
        let named = Named { columns: columns.collect(), index: self.next_rows() };
        let (result, subqueries) = (named.index, self.subqueries.len());
        let change = Some(Box::new(change));
        self.common.push(CommonQuery { name, base, base_columns, step: None, result, change, subqueries });
        named
    }

    /// A plan as rows that are computed before, under the ids that its columns have: however often it is copied, its
    /// volatile calls are evaluated once. With columns from around it, once they are known.
    pub(crate) fn rows_of_one_run(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        self.refuse_working(&plan)?;
        if !free_columns(&plan).is_empty() {
            return Ok(put_off(&plan, &mut self.deferred, &mut self.columns));
        }
        let ids = plan.output();
        let (copy, renamed) = with_new_columns(&plan, &mut self.columns);
        let own = |id: &ColumnId| renamed.get(id).copied().unwrap_or(*id);
        let columns = ids.iter().map(|id| (Rc::from(self.columns.get(*id).name.as_str()), own(id))).collect();
        let named = self.compute_once("rows of an outer query".to_owned(), Relation { plan: copy, columns });
        Ok(self.scan_rows(&named, &ids))
    }

    fn refuse_working(&self, plan: &LogicalPlan) -> Result<()> {
        match self.reads_working(plan) {
            true => Err(Error::unsupported(
                "volatile functions beside a correlated subquery are not supported inside a recursive step",
            )),
            false => Ok(()),
        }
    }

    /// Rows that had been put off are computed before the query.
    pub(crate) fn compute_unnested(&mut self, rows: Computed) -> Result<()> {
        let Computed { index, plan, ids, rounds } = rows;
        match &rounds {
            None => self.refuse_working(&plan)?,
            Some(rounds) if self.reads_working(&plan) || self.reads_working(&rounds.plan) => {
                return Err(Error::unsupported(format!(
                    "recursive query \"{}\" uses columns of a recursive step around it, which is not supported",
                    rounds.name
                )));
            }
            Some(_) => {}
        }
        let name =
            rounds.as_ref().map_or_else(|| "rows of an outer query".to_owned(), |rounds| rounds.name.clone());
        let step = rounds.map(|Rounds { name: _, plan, columns, distinct, working }| plan::Step {
            plan,
            columns,
            distinct,
            working,
            keyed: None,
        });
        let (result, subqueries) = (index, self.subqueries.len());
        self.common.push(CommonQuery {
            name,
            base: plan,
            base_columns: ids,
            step,
            result,
            change: None,
            subqueries,
        });
        Ok(())
    }

    /// How far the list of what runs before is, to go back to.
    pub(crate) fn before(&self) -> Before {
        Before { common: self.common.len(), subqueries: self.subqueries.len(), rows: self.materialized }
    }

    /// Forgets what would run before for something that has been bound since and is not wanted.
    pub(crate) fn go_back(&mut self, before: Before) {
        self.common.truncate(before.common);
        self.subqueries.truncate(before.subqueries);
        self.materialized = before.rows;
        for cte in &mut self.ctes {
            cte.once.take_if(|rows| rows.index >= before.rows);
            cte.recursion.take_if(|known| known.result() >= before.rows);
        }
    }

    /// The number that the next materialized result will have.
    pub(crate) fn next_index(&self) -> usize {
        self.materialized
    }

    /// The number of a new materialized result.
    pub(crate) fn next_rows(&mut self) -> usize {
        self.materialized += 1;
        self.materialized - 1
    }

    /// A scan of materialized rows, under new column ids.
    pub(crate) fn read_rows(&mut self, named: &Named) -> Relation {
        let mut columns = Vec::with_capacity(named.columns.len());
        for (name, ty, nullable) in &named.columns {
            columns.push((name.clone(), self.columns.add(&**name, *ty, *nullable)));
        }
        let ids: Vec<ColumnId> = columns.iter().map(|(_, id)| *id).collect();
        Relation { plan: self.scan_rows(named, &ids), columns }
    }

    fn scan_rows(&self, named: &Named, ids: &[ColumnId]) -> LogicalPlan {
        let column = |(name, ty, nullable): &(Rc<str>, Type, bool)| OutputColumn {
            name: name.to_string(),
            ty: *ty,
            nullable: *nullable,
            bounds: None,
        };
        let source = MaterializedSource {
            index: named.index,
            rows: ROWS_GUESSED,
            columns: named.columns.iter().map(column).collect(),
            distinct: vec![None; named.columns.len()],
            unique: vec![],
        };
        LogicalPlan::Scan {
            source: ScanSource::Materialized(Arc::new(source)),
            columns: ids.iter().copied().zip(0..).collect(),
            filters: vec![],
        }
    }

    /// Whether running a plan once more may give other rows: its own expressions, or scalar subqueries that a copy
    /// has for itself.
    pub(crate) fn is_volatile(&self, plan: &LogicalPlan) -> bool {
        plan.is_volatile() || subqueries_of(plan).into_iter().any(|id| self.is_volatile(&self.subqueries[id]))
    }
}

/// The numbers of the scalar subqueries that a plan uses.
pub(crate) fn subqueries_of(plan: &LogicalPlan) -> Vec<usize> {
    fn walk(plan: &LogicalPlan, found: &mut Vec<usize>) {
        for expr in plan.expressions() {
            expr.visit(&mut |e: &Expr| {
                if let ExprKind::ScalarSubquery(id) = e.kind {
                    found.push(id.0 as usize);
                }
            });
        }
        plan.children().into_iter().for_each(|child| walk(child, found));
    }
    let mut found = Vec::new();
    walk(plan, &mut found);
    found
}

/// For each expression of a WITH, how often it is named, and how many copies there are of it.
fn uses(with: &tree::With, body: &[String], around: usize) -> Vec<(usize, usize)> {
    let ctes = &with.queries;
    let mut places: HashMap<String, usize> = HashMap::with_capacity(ctes.len());
    for (at, cte) in ctes.iter().enumerate() {
        places.entry(folded(&cte.name)).or_insert(at);
    }
    let mut found = vec![(0, 0); ctes.len()];
    for name in body {
        if let Some(at) = places.get(name) {
            found[*at] = (found[*at].0 + 1, found[*at].1 + around);
        }
    }
    // Those that use it come after it: the last is known first.
    for (number, cte) in ctes.iter().enumerate().rev() {
        let copies = found[number].1;
        let once = cte.materialized == Some(true) || copies > COPIES_MAX;
        let each = if once { 1 } else { copies.max(1) };
        for name in relations_in([Node::Statement(&cte.statement)]) {
            match places.get(&name) {
                Some(at) if *at != number => {
                    found[*at] = (found[*at].0 + 1, found[*at].1.saturating_add(each));
                }
                _ => {}
            }
        }
    }
    found
}

/// The relations that parts of a syntax tree name by one word, each as often as it is named.
pub(crate) fn relations_in<'t>(parts: impl IntoIterator<Item = Node<'t>>) -> Vec<String> {
    let mut names = Vec::new();
    let _ = walk(parts, &mut |node| {
        if let Node::Relation(path) = node
            && let Some(name) = path.single()
        {
            names.push(folded(name));
        }
        ControlFlow::<()>::Continue(())
    });
    names
}
