//! WITH RECURSIVE: a query over the rows that its last step gave, until there are none.
//!
//! The first part gives the first rows; the second part reads the rows of the last round (`working`), and the result
//! collects all rounds. `bind_recursive` recognizes a query that names itself under UNION or UNION ALL. If the second
//! part's types hold more values than the first's, both parts are bound again with the wider types, at most
//! `GROWTHS_MAX` times. The plan is a `CommonQuery` with a step, which runs before the main query. Called by
//! `common_queries`.
//!
//! `USING KEY (k, min(v), count(n) AS m)` keeps one row for each key: columns make the key, an aggregate makes the column
//! that its alias or its first argument names out of all rows of a key, and every other column has the value of the row
//! that came last. The rows of the keys are made after each round by a grouping, which is written out as a query over
//! the rows that came (`plan::KeyedRows`). The repeated part reads the rows of the last round under the recursion's name,
//! and those of all keys as `recurring.name`. With UNION, the rows of the last round are those of keys that became
//! others; with UNION ALL, all that came.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use plan::{ColumnId, CommonQuery, Expr, KeyedRows, LogicalPlan, Step};
use syntax::Span;
use syntax::tree::walk::{Node, walk};
use syntax::tree::{self, ExprKind as AstKind, SelectItem, SetExpr, SetKind};
use types::{Error, Result, SqlState, Type, quote};

use crate::bind::decorrelate::deferred::{Rounds, put_off_recursion, reads};
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
    /// USING KEY: the rows of all keys, whose columns are those of the result.
    state: Option<Named>,
}

impl Recursive {
    /// What the name means while the rows of keys are made.
    pub(crate) fn of_candidates(rows: Named) -> Recursive {
        Recursive { result: rows.index, working: rows, inside: true, state: None }
    }
    /// The rows of all keys, inside of the second part.
    pub(crate) fn recurring(&self) -> Option<&Named> {
        self.state.as_ref().filter(|_| self.inside)
    }
    /// The number of the materialized result of all rounds.
    pub(crate) fn result(&self) -> usize {
        self.result
    }
}

impl<'a> Binder<'a> {
    /// One use of a recursive common table expression; `None` for one that does not refer to itself.
    pub(crate) fn bind_recursive(&mut self, at: usize) -> Result<Option<Relation>> {
        if let Some(known) = self.ctes[at].recursion.clone() {
            return Ok(Some(self.read_recursion(at, known)));
        }
        let cte = &self.ctes[at];
        let (scope, name, marks) = (cte.scope.clone(), cte.name.clone(), cte.marks);
        let query = row_query(self.text, cte.statement)?;
        let keyed = !cte.key.is_empty();
        if !mentions(Node::Query(query), &name, keyed) {
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
        if mentions(Node::Body(left), &name, keyed) {
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
            self.recursive_parts(at, parts, distinct, scope)
        });
        self.copies = around;
        self.ctes.truncate(at + 1);
        self.ctes.extend(hidden);
        let (base, step, mut named, keyed) = parts?;
        named.inside = false;
        let parts = [&base.plan, &step.plan];
        if parts.iter().any(|plan| self.reads_working(plan)) {
            let message = "a recursive query over the rows of another, inside that one, is not supported";
            return Err(Error::unsupported(message));
        }
        let correlated = parts.iter().any(|plan| !free_columns(plan).is_empty());
        let own = named.working.index;
        let state = named.state.as_ref().map(|state| state.index);
        let is_own = |index| index == own || Some(index) == state;
        if self.subqueries[subqueries..].iter().any(|plan| reads(plan, &is_own)) {
            let message =
                format!("recursive reference to query \"{name}\" must not appear within a subquery");
            return Err(Error::new(SqlState::InvalidRecursion, message)
                .with_hint("join with the rows in FROM instead"));
        }
        if correlated {
            return self.recursion_put_off(at, base, step, distinct, &named).map(Some);
        }
        let ids =
            |relation: &Relation| -> Vec<ColumnId> { relation.columns.iter().map(|(_, id)| *id).collect() };
        self.common.push(CommonQuery {
            name,
            base_columns: ids(&base),
            base: base.plan,
            step: Some(Step {
                columns: ids(&step),
                plan: step.plan,
                distinct,
                working: own,
                keyed: keyed.map(|keyed| Box::new(keyed.rows)),
            }),
            result: named.result,
            change: None,
            subqueries: self.subqueries.len(),
        });
        let columns = named.state.as_ref().unwrap_or(&named.working).columns.clone();
        let rows = Named { index: named.result, columns };
        self.ctes[at].recursion = Some(named);
        Ok(Some(self.read_rows(&rows)))
    }

    /// Another use of a recursion: the rows of the last round inside its second part, else those of all rounds.
    fn read_recursion(&mut self, at: usize, known: Recursive) -> Relation {
        let mut named = known.working;
        if !known.inside {
            named.index = known.result;
            if let Some(state) = known.state {
                named.columns = state.columns;
            }
        }
        let added = self.ctes[at].marks.map_or(0, |marks| marks.added().count());
        let relation = self.read_rows(&named);
        if known.inside {
            // The second part speaks of its own columns.
            let own = relation.columns.len() - added;
            self.unlisted.extend(relation.columns[own..].iter().map(|(_, id)| *id));
        }
        relation
    }

    /// A recursion that uses columns of the queries around it runs once these are known, for all of their values.
    fn recursion_put_off(
        &mut self,
        at: usize,
        base: Relation,
        step: Relation,
        distinct: bool,
        named: &Recursive,
    ) -> Result<Relation> {
        if named.state.is_some() {
            return Err(Error::unsupported(
                "a recursive query with USING KEY that uses columns around it is not supported",
            ));
        }
        let ids = |relation: &Relation| relation.columns.iter().map(|(_, id)| *id).collect();
        let rounds = Rounds {
            name: self.ctes[at].name.clone(),
            columns: ids(&step),
            plan: step.plan,
            distinct,
            working: named.working.index,
        };
        let (plan, own) =
            put_off_recursion(base.plan.clone(), ids(&base), rounds, &mut self.deferred, &mut self.columns);
        let names = named.working.columns.iter().map(|(name, ..)| name.clone());
        let relation = Relation { plan, columns: names.zip(own).collect() };
        self.ctes[at].put_off = Some(relation.clone());
        Ok(relation)
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
        distinct: bool,
        scope: Option<Rc<Scope>>,
    ) -> Result<(Relation, Relation, Recursive, Option<Keyed>)> {
        let (names, name) = (self.ctes[at].columns.clone(), self.ctes[at].name.clone());
        let mut base = self.bind_branch(left, scope.clone())?;
        self.settle_nulls(&mut base)?;
        self.rename_columns(&mut base, &names)?;
        let (working, result) = (self.next_rows(), self.next_rows());
        let own: Vec<Type> = base.columns.iter().map(|(_, id)| self.columns.get(*id).ty).collect();
        let mut types = own.clone();
        for _ in 0..=GROWTHS_MAX {
            let columns = base.columns.iter().zip(&types).map(|((name, _), ty)| (name.clone(), *ty, true));
            let mut columns: Vec<(Rc<str>, Type, bool)> = columns.collect();
            let before = self.before();
            let keyed = self.keyed_rows(at, &columns, scope.clone())?;
            let state = keyed.as_ref().map(|keyed| keyed.state.clone());
            // UNION hands on the rows of keys, UNION ALL those that the second part gave.
            if let Some(state) = state.as_ref().filter(|_| distinct) {
                columns.clone_from(&state.columns);
            }
            let own_rows: Vec<usize> = state.iter().map(|state| state.index).chain([working]).collect();
            let named = Recursive { working: Named { columns, index: working }, result, inside: true, state };
            self.ctes[at].recursion = Some(named.clone());
            let around = self.steps.len();
            self.steps.extend(own_rows);
            let step = self.bind_branch(right, scope.clone());
            self.steps.truncate(around);
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
                return Ok((base, step, named, keyed));
            }
            // What was bound for the types that do not hold goes.
            self.go_back(before);
            for (place, ((ty, from), own)) in types.iter_mut().zip(&given).zip(&own).enumerate() {
                if fits(*from, *ty) {
                    continue;
                }
                match coerce::common_type(*ty, *from).filter(|common| holds(*common, *own)) {
                    Some(common) if common != *ty => *ty = common,
                    _ => return Err(mismatch(&name, place, *own, *from)),
                }
            }
        }
        let grown = types.iter().zip(&own).position(|(ty, own)| ty != own).unwrap_or_default();
        Err(mismatch(&name, grown, own[grown], types[grown]))
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

/// Whether a relation's name is this one, without a schema.
pub(crate) fn is_name(relation: &tree::Path, name: &str) -> bool {
    relation.single().is_some_and(|own| folded(own) == name)
}

/// Whether a part names the recursion, or with USING KEY the rows of its keys.
fn mentions(part: Node<'_>, name: &str, keyed: bool) -> bool {
    let found = walk([part], &mut |node| match node {
        Node::Relation(relation) if is_name(relation, name) => ControlFlow::Break(()),
        Node::Relation(relation) if keyed && is_recurring(relation, name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The schema under which the rows of all keys are read.
pub(crate) const RECURRING: &str = "recurring";

/// The rows of the keys: what makes them, and under which number they are read.
pub(crate) struct Keyed {
    pub rows: KeyedRows,
    pub state: Named,
}

/// What becomes of a column.
enum Folding {
    Key,
    /// The value that came last.
    Last,
    /// An aggregate, as it is written; whether it gives the same over its own results.
    Made(String, bool),
}

impl<'a> Binder<'a> {
    /// What makes the rows of the keys out of rows with these columns.
    pub(super) fn keyed_rows(
        &mut self,
        at: usize,
        columns: &[(Rc<str>, Type, bool)],
        scope: Option<Rc<Scope>>,
    ) -> Result<Option<Keyed>> {
        let cte = &self.ctes[at];
        if cte.key.is_empty() {
            return Ok(None);
        }
        let (name, span) = (cte.name.clone(), cte.at);
        if cte.marks.is_some() {
            let error =
                Error::unsupported("SEARCH and CYCLE of a recursion with USING KEY are not supported");
            return Err(self.error_at(error, span));
        }
        let foldings = self.foldings(cte.key, columns)?;
        let (candidates, state) = (self.next_rows(), self.next_rows());
        let text = grouping(&name, columns, &foldings);
        let known = Named { columns: columns.to_vec(), index: candidates };
        let around = self.ctes[at].recursion.replace(Recursive::of_candidates(known));
        let relation = self.told_at(format!("USING KEY of {name}"), span, |binder| {
            let (own, tree) = binder.texts.add(text)?;
            let tree::StatementKind::Query(query) = &tree.kind else {
                return Err(Error::internal("the grouping of a recursion is no query"));
            };
            let around = std::mem::replace(&mut binder.text, own);
            let result = binder.bind_branch(&query.body, scope);
            binder.text = around;
            result
        });
        self.ctes[at].recursion = around;
        let relation = relation?;
        let made = relation.columns.iter().zip(columns);
        let made: Vec<(Rc<str>, Type, bool)> =
            made.map(|((_, id), (name, ..))| (name.clone(), self.columns.get(*id).ty, true)).collect();
        let same_types = made.iter().zip(columns).all(|((_, own, _), (_, from, _))| own == from);
        let again = foldings.iter().all(|folding| !matches!(folding, Folding::Made(_, false)));
        let ids = relation.columns.iter().map(|(_, id)| *id).collect();
        let renews = same_types && again;
        let rows = KeyedRows { fold: relation.plan, columns: ids, candidates, renews, state };
        Ok(Some(Keyed { rows, state: Named { columns: made, index: state } }))
    }

    fn foldings(&self, key: &[SelectItem], columns: &[(Rc<str>, Type, bool)]) -> Result<Vec<Folding>> {
        let mut foldings: Vec<Folding> = columns.iter().map(|_| Folding::Last).collect();
        let mut aggregated = HashSet::new();
        for SelectItem { value, alias, alias_first: _ } in key {
            let refuse =
                |message: String| self.error_at(Error::new(SqlState::SyntaxError, message), value.span);
            let place = |name: &tree::Name| {
                let name = folded(name);
                columns.iter().position(|(own, ..)| **own == *name).ok_or_else(|| {
                    let message = format!("USING KEY names \"{name}\", which is no column of the recursion");
                    self.error_at(Error::new(SqlState::UndefinedColumn, message), value.span)
                })
            };
            if let Some(name) = column_of(value) {
                foldings[place(name)?] = Folding::Key;
                continue;
            }
            let AstKind::Call(call) = &value.kind else {
                return Err(refuse("USING KEY takes columns, and aggregates of columns".to_owned()));
            };
            let arguments = call.arguments.as_ref().map_or(&[][..], |given| &given.list);
            let first = arguments.first().and_then(|argument| column_of(&argument.value));
            let Some(name) = alias.as_ref().or(first) else {
                let message = format!("USING KEY: {value} needs the name of the column that it makes");
                return Err(refuse(message).with_hint("write AS and the column behind it"));
            };
            let at = place(name)?;
            if !aggregated.insert(at) {
                return Err(refuse(format!("USING KEY makes column \"{}\" twice", columns[at].0)));
            }
            let plain = call.filter.is_none() && call.over.is_none() && arguments.len() == 1;
            let own = first.map(place).transpose()? == Some(at);
            let extreme = call.name.single().is_some_and(|name| matches!(&*folded(name), "min" | "max"));
            foldings[at] = match foldings[at] {
                Folding::Key => Folding::Key,
                _ => Folding::Made(value.to_string(), plain && own && extreme),
            };
        }
        for at in aggregated {
            if matches!(foldings[at], Folding::Key) {
                let message =
                    format!("column \"{}\" is both a key and an aggregate of USING KEY", columns[at].0);
                let span = key.first().map_or(Span::default(), |item| item.value.span);
                return Err(self.error_at(Error::new(SqlState::SyntaxError, message), span));
            }
        }
        if !foldings.iter().any(|folding| matches!(folding, Folding::Key)) {
            let span = key.first().map_or(Span::default(), |item| item.value.span);
            let error = Error::new(SqlState::SyntaxError, "USING KEY needs a column that is the key");
            return Err(self.error_at(error, span));
        }
        Ok(foldings)
    }
}

/// The column that an expression is, by its name alone.
fn column_of(value: &tree::Expr) -> Option<&tree::Name> {
    match &value.kind {
        AstKind::Column(path) => path.single(),
        _ => None,
    }
}

/// The query that makes a row of each key.
fn grouping(name: &str, columns: &[(Rc<str>, Type, bool)], foldings: &[Folding]) -> String {
    let parts = columns.iter().zip(foldings).map(|((column, ..), folding)| {
        let column = quote::name(column);
        match folding {
            Folding::Key => column,
            Folding::Last => format!("last({column}) AS {column}"),
            Folding::Made(call, _) => format!("{call} AS {column}"),
        }
    });
    let parts: Vec<String> = parts.collect();
    let keys = columns.iter().zip(foldings).filter(|(_, folding)| matches!(folding, Folding::Key));
    let keys: Vec<String> = keys.map(|((column, ..), _)| quote::name(column)).collect();
    format!("SELECT {} FROM {} GROUP BY {}", parts.join(", "), quote::name(name), keys.join(", "))
}

/// Whether a name is that of the rows of all keys of the recursion `name`.
pub(crate) fn is_recurring(relation: &tree::Path, name: &str) -> bool {
    matches!(relation.names.as_slice(), [schema, own] if folded(schema) == RECURRING && folded(own) == name)
}
