//! WITH RECURSIVE: a query over the rows that its last step gave, until there are none.
//!
//! The first part gives the first rows; the second part reads the rows of the last round (`working`), and the result
//! collects all rounds. `bind_recursive` recognizes a query that names itself under UNION or UNION ALL. If the second
//! part's types hold more values than the first's, both parts are bound again with the wider types, at most
//! `GROWTHS_MAX` times. The plan is a `CommonQuery` with a step, which runs before the main query. Called by
//! `common_queries`.

use std::ops::ControlFlow;
use std::rc::Rc;

use plan::{ColumnId, CommonQuery, Expr, LogicalPlan, ScanSource, Step};
use syntax::Span;
use syntax::tree::walk::{Node, walk};
use syntax::tree::{self, SetExpr, SetKind};
use types::{Error, Result, SqlState, Type};

use crate::bind::decorrelate::unnest::free_columns;
use crate::bind::expression::coerce;
use crate::bind::query::common_queries::{Named, relations_in};
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation, folded};
use crate::statement::row_query;

/// Types of the columns may grow with the second part's; each growth binds it again.
const GROWTHS_MAX: usize = 3;

/// What is known of a recursive query once its first part is bound.
#[derive(Clone)]
pub(crate) struct Recursive {
    /// The rows that its second part reads.
    working: Named,
    result: usize,
    /// Inside its own second part.
    inside: bool,
}

impl Recursive {
    /// The number of the materialized result of all rounds.
    pub(crate) fn result(&self) -> usize {
        self.result
    }
}

impl<'a> Binder<'a> {
    /// One use of a recursive common table expression; `None` for one that does not refer to itself.
    pub(crate) fn bind_recursive(&mut self, at: usize) -> Result<Option<Relation>> {
        if let Some(known) = &self.ctes[at].recursion {
            let mut named = known.working.clone();
            if !known.inside {
                named.index = known.result;
            }
            let (inside, added) =
                (known.inside, self.ctes[at].marks.map_or(0, |marks| marks.added().count()));
            let relation = self.read_rows(&named);
            if inside {
                // The second part speaks of its own columns.
                let own = relation.columns.len() - added;
                self.unlisted.extend(relation.columns[own..].iter().map(|(_, id)| *id));
            }
            return Ok(Some(relation));
        }
        let cte = &self.ctes[at];
        let (scope, name, marks) = (cte.scope.clone(), cte.name.clone(), cte.marks);
        let query = row_query(self.text, cte.statement)?;
        if !mentions(Node::Query(query), &name) {
            return Ok(None);
        }
        let shape = || {
            Error::new(
                SqlState::InvalidRecursion,
                format!(
                    "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
                ),
            )
        };
        let Some((left, operator, right)) = self.last_union(&query.body) else { return Err(shape()) };
        if mentions(Node::Body(left), &name) {
            return Err(shape());
        }
        if !query.order_by.is_empty() || query.limit.is_some() || query.offset.is_some() {
            return Err(Error::unsupported("ORDER BY and LIMIT in a recursive query are not supported")
                .with_hint("they may stand in the query that uses it"));
        }
        if operator.by_name {
            return Err(Error::unsupported("UNION BY NAME in a recursive query is not supported"));
        }
        let distinct = operator.all != Some(true);
        let hidden = self.ctes.split_off(at + 1);
        let subqueries = self.subqueries.len();
        let around = std::mem::replace(&mut self.copies, 1);
        let parts = match &query.with {
            Some(with) => self.bind_with(with, &relations_in([Node::Body(&query.body)]), &scope),
            None => Ok(()),
        };
        let parts = parts.and_then(|()| {
            let mut parts = (left, right);
            if let Some(marks) = marks {
                let marked = self.marked(at, marks, parts, scope.clone())?;
                parts = marked.parts;
                self.ctes[at].columns = marked.columns;
            }
            self.recursive_parts(at, parts, &name, scope)
        });
        self.copies = around;
        self.ctes.truncate(at + 1);
        self.ctes.extend(hidden);
        let (base, step, mut named) = parts?;
        named.inside = false;
        for plan in [&base.plan, &step.plan] {
            if !free_columns(plan).is_empty() {
                return Err(Error::unsupported(
                    "a recursive query that uses columns around it is not supported",
                ));
            }
            if self.reads_working(plan) {
                return Err(Error::unsupported(
                    "a recursive query over the rows of another, inside that one, is not supported",
                ));
            }
        }
        let own = named.working.index;
        if self.subqueries[subqueries..].iter().any(|plan| reads(plan, &|index| index == own)) {
            let message =
                format!("recursive reference to query \"{name}\" must not appear within a subquery");
            return Err(Error::new(SqlState::InvalidRecursion, message)
                .with_hint("join with the rows in FROM instead"));
        }
        let ids =
            |relation: &Relation| -> Vec<ColumnId> { relation.columns.iter().map(|(_, id)| *id).collect() };
        self.common.push(CommonQuery {
            name,
            base_columns: ids(&base),
            base: base.plan,
            step: Some(Step { columns: ids(&step), plan: step.plan, distinct, working: own }),
            result: named.result,
            change: None,
            subqueries: self.subqueries.len(),
        });
        let rows = Named { index: named.result, ..named.working.clone() };
        self.ctes[at].recursion = Some(named);
        Ok(Some(self.read_rows(&rows)))
    }

    /// What stands before the last UNION of a body, which is the first part of a recursion, and what behind it.
    fn last_union(&self, body: &'a SetExpr) -> Option<(&'a SetExpr, &'a tree::SetOperator, &'a SetExpr)> {
        let SetExpr::Set(first, rest) = body else { return None };
        let ((operator, right), before) = rest.split_last()?;
        if operator.kind != SetKind::Union {
            return None;
        }
        if before.is_empty() {
            return Some((first, operator, right));
        }
        let query = tree::Query {
            with: None,
            body: SetExpr::Set(first.clone(), before.to_vec()),
            order_by: vec![],
            limit: None,
            offset: None,
            locks: vec![],
            span: Span::default(),
        };
        Some((&self.texts.keep_query(query).body, operator, right))
    }

    /// The first part, and the second over the rows that it gives. Where the second part's columns have types that
    /// hold all of the first's, the columns are of those: DATE with an interval added is TIMESTAMP.
    fn recursive_parts(
        &mut self,
        at: usize,
        (left, right): (&'a SetExpr, &'a SetExpr),
        name: &str,
        scope: Option<Rc<Scope>>,
    ) -> Result<(Relation, Relation, Recursive)> {
        let names = self.ctes[at].columns.clone();
        let mut base = self.bind_branch(left, scope.clone())?;
        self.settle_nulls(&mut base)?;
        self.rename_columns(&mut base, &names)?;
        let (working, result) = (self.next_rows(), self.next_rows());
        let own: Vec<Type> = base.columns.iter().map(|(_, id)| self.columns.get(*id).ty).collect();
        let mut types = own.clone();
        for _ in 0..=GROWTHS_MAX {
            let columns = base.columns.iter().zip(&types).map(|((name, _), ty)| (name.clone(), *ty, true));
            let named = Recursive {
                working: Named { columns: columns.collect(), index: working },
                result,
                inside: true,
            };
            let before = self.before();
            self.ctes[at].recursion = Some(named.clone());
            self.steps.push(working);
            let step = self.bind_branch(right, scope.clone());
            self.steps.pop();
            self.ctes[at].recursion = None;
            let mut step = step?;
            if step.columns.len() != types.len() {
                return Err(Error::new(
                    SqlState::SyntaxError,
                    "each UNION query must have the same number of columns",
                ));
            }
            for ((_, id), ty) in step.columns.iter().zip(&types) {
                let untyped = self.untyped.contains(id) && self.columns.get(*id).ty == Type::Text;
                if (untyped || self.columns.get(*id).ty == Type::Null) && *ty != Type::Text {
                    self.retype(&mut step.plan, *id, *ty, Span::default())?;
                }
            }
            self.settle_nulls(&mut step)?;
            let given: Vec<Type> = step.columns.iter().map(|(_, id)| self.columns.get(*id).ty).collect();
            if given.iter().zip(&types).all(|(from, to)| fits(*from, *to)) {
                self.cast_columns(&mut base, &types);
                self.cast_columns(&mut step, &types);
                return Ok((base, step, named));
            }
            // What was bound for the types that do not hold goes.
            self.go_back(before);
            for (place, ((ty, from), own)) in types.iter_mut().zip(&given).zip(&own).enumerate() {
                if fits(*from, *ty) {
                    continue;
                }
                match coerce::common_type(*ty, *from).filter(|common| holds(*common, *own)) {
                    Some(common) if common != *ty => *ty = common,
                    _ => return Err(mismatch(name, place, *own, *from)),
                }
            }
        }
        let grown = types.iter().zip(&own).position(|(ty, own)| ty != own).unwrap_or_default();
        Err(mismatch(name, grown, own[grown], types[grown]))
    }

    /// New columns of the given types, one for each of a relation's.
    fn cast_columns(&mut self, relation: &mut Relation, types: &[Type]) {
        let mut expressions: Vec<(ColumnId, Expr)> = Vec::with_capacity(types.len());
        for ((name, id), ty) in relation.columns.iter_mut().zip(types) {
            let own = self.columns.add(&**name, *ty, true);
            expressions.push((own, coerce::cast(self.column(*id), *ty)));
            *id = own;
        }
        let input = std::mem::replace(&mut relation.plan, LogicalPlan::placeholder());
        relation.plan = LogicalPlan::Project { input: Box::new(input), expressions };
    }

    /// Whether a plan reads rows that a second part which is being bound was last given.
    pub(crate) fn reads_working(&self, plan: &LogicalPlan) -> bool {
        !self.steps.is_empty() && reads(plan, &|index| self.steps.contains(&index))
    }
}

/// Whether every value of one type is, as it is, one of another.
fn fits(from: Type, to: Type) -> bool {
    from == to || (holds(to, from) && coerce::widens(from, to))
}

/// Whether nothing of a value is lost by a cast.
fn holds(to: Type, from: Type) -> bool {
    use Type as T;
    if from == to {
        return true;
    }
    let digits = |ty: Type| match ty {
        T::Decimal { precision, scale } => Some((i32::from(precision) - i32::from(scale), i32::from(scale))),
        T::SmallInt => Some((5, 0)),
        T::Integer => Some((10, 0)),
        T::BigInt => Some((19, 0)),
        _ => None,
    };
    match (from, to) {
        (T::Varchar(n), T::Varchar(m)) | (T::Char(n), T::Char(m)) => n <= m,
        (_, T::Varchar(_) | T::Char(_)) => false,
        _ if from.is_integer() && to.is_integer() => from.physical().width() <= to.physical().width(),
        (T::SmallInt, T::Real) | (T::SmallInt | T::Integer | T::Real, T::Double) => true,
        (_, T::Real | T::Double) => false,
        _ => match (digits(from), digits(to)) {
            (Some((whole, fraction)), Some((to_whole, to_fraction))) => {
                whole <= to_whole && fraction <= to_fraction
            }
            _ => from.is_nested() == to.is_nested() && coerce::widens(from, to),
        },
    }
}

fn mismatch(name: &str, place: usize, own: Type, from: Type) -> Error {
    let message = format!(
        "recursive query \"{name}\" column {} has type {own} in non-recursive term but type {from} overall",
        place + 1
    );
    Error::new(SqlState::DatatypeMismatch, message)
        .with_hint("cast the output of the non-recursive term to the correct type")
}

/// Whether a plan reads materialized rows of which `wanted` is true.
fn reads(plan: &LogicalPlan, wanted: &dyn Fn(usize) -> bool) -> bool {
    let own = match plan {
        LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } => wanted(source.index),
        _ => false,
    };
    own || plan.children().into_iter().any(|child| reads(child, wanted))
}

/// Whether a relation's name is this one, without a schema.
pub(crate) fn is_name(relation: &tree::Path, name: &str) -> bool {
    relation.single().is_some_and(|own| folded(own) == name)
}

fn mentions(part: Node<'_>, name: &str) -> bool {
    let found = walk([part], &mut |node| match node {
        Node::Relation(relation) if is_name(relation, name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
