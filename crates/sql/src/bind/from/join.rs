//! Joins between two sources of FROM: conditions, USING, and what becomes of both sides' names.
//!
//! A condition without subqueries becomes conjuncts of the join. For outer, semi and anti joins, subqueries that read
//! one side are computed below the join (`computed_condition`); those that read both sides need numbered pairs
//! (`join_by_pairs`). USING and NATURAL replace both columns by one in `*`, while the sides stay reachable by their
//! qualified names. Columns of the optional side of an outer join become nullable. Called by `bind::from` for every
//! join.

use std::collections::BTreeSet;
use std::rc::Rc;

use plan::{ColumnId, Expr, ExprKind, Function, JoinKind, LogicalPlan, SortKey, WindowCall};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, JoinCondition, JoinKind as Written};
use types::{Comparison, Error, Result, SqlState, Type};

use crate::bind::decorrelate::subquery::PendingKind;
use crate::bind::decorrelate::unnest::{free_columns, with_new_columns};
use crate::bind::decorrelate::{Found, joined, replace};
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder, operator};
use crate::bind::from::Source;
use crate::bind::refusal::{unsupported, wrong};
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, single_row};
use crate::names::Name;

impl<'a> Binder<'a> {
    /// Fails for words that do not stand together in a join.
    pub(crate) fn refuse_words(&self, join: &tree::Join) -> Result<()> {
        let tree::Join { natural, asof, kind, outer, table: _, condition, span } = join;
        let bare = matches!(kind, Written::Cross | Written::Positional);
        let may_be_outer = matches!(kind, Written::Left | Written::Right | Written::Full);
        if (bare && (*natural || *asof)) || (*outer && !may_be_outer) {
            return Err(unsupported("this kind of join", self.text, *span));
        }
        match condition {
            JoinCondition::On(_) | JoinCondition::Using(..) if bare || *natural => {
                Err(wrong("this kind of join takes no condition", self.text, *span))
            }
            JoinCondition::Using(_, Some(alias)) => {
                Err(unsupported("a name for the columns of USING", self.text, alias.span))
            }
            _ => Ok(()),
        }
    }

    /// The join of two sources, and the columns that remain visible.
    pub(crate) fn bind_join(
        &mut self,
        mut left: LogicalPlan,
        mut entries: Vec<Entry>,
        right: Source,
        join: &'a tree::Join,
        before: &Scope,
    ) -> Result<(LogicalPlan, Vec<Entry>)> {
        let kind = match join.kind {
            Written::Plain | Written::Inner | Written::Cross => JoinKind::Inner,
            Written::Left => JoinKind::Left,
            Written::Right => JoinKind::Right,
            Written::Full => JoinKind::Full,
            Written::Semi => JoinKind::LeftSemi,
            Written::Anti => JoinKind::LeftAnti,
            Written::Positional => return self.positional_join(left, entries, right),
        };
        let asof = join.asof;
        let Source { plan: mut right_plan, entries: mut right_entries, lateral } = right;
        // What only tests for partners has the left side's columns as they were, USING's among them.
        let semi = matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti);
        let left_entries = if semi { entries.clone() } else { vec![] };
        let mut scope = before.clone();
        let (conditions, merged) = match &join.condition {
            _ if join.natural => {
                let wanted: Vec<(Name, Span)> = entries
                    .iter()
                    .filter(|l| l.plain && right_entries.iter().any(|r| r.plain && r.name == l.name))
                    .map(|l| (Name::exact(&l.name), Span::default()))
                    .collect();
                self.using(&mut entries, &mut right_entries, &wanted)?
            }
            JoinCondition::On(condition) => {
                scope.entries = entries.clone();
                scope.entries.extend(right_entries.iter().cloned());
                let scope = Rc::new(scope);
                let before = self.before();
                let conjuncts = self.conjuncts(condition, &scope, Clause::On, &mut None, &[])?;
                let simple = conjuncts.pending.is_empty() && conjuncts.memberships.is_empty();
                if !simple && kind == JoinKind::Inner && !asof {
                    let both = self.attach_join(left, right_plan, vec![], JoinKind::Inner, None)?;
                    let plan = self.apply_conjuncts(both, conjuncts)?;
                    entries.extend(right_entries);
                    return Ok((plan, entries));
                }
                let filters = match simple {
                    true => conjuncts.filters,
                    false => {
                        self.go_back(before);
                        let sides = (&mut left, &mut right_plan);
                        match self.computed_condition(sides, lateral, condition, &scope)? {
                            Some(filters) => filters,
                            None if asof || (lateral && !free_columns(&right_plan).is_empty()) => {
                                return Err(Error::unsupported(
                                    "a subquery that reads both sides of an ASOF join, or of an outer join with LATERAL, is not supported in its condition",
                                )
                                .with_hint("compute it in a subquery in FROM"));
                            }
                            None => {
                                self.go_back(before);
                                let plan = self.join_by_pairs(left, right_plan, kind, condition, &scope)?;
                                self.make_optional(kind, &entries, &right_entries);
                                entries.extend(if semi { vec![] } else { right_entries });
                                return Ok((plan, entries));
                            }
                        }
                    }
                };
                (filters, vec![])
            }
            JoinCondition::Using(names, _) => {
                let wanted: Vec<(Name, Span)> =
                    names.iter().map(|name| (Name::of(name), name.span)).collect();
                self.using(&mut entries, &mut right_entries, &wanted)?
            }
            JoinCondition::None if join.kind == Written::Cross => (vec![], vec![]),
            JoinCondition::None => return Err(without_condition()),
        };
        if lateral && !free_columns(&right_plan).is_empty() {
            check_lateral(kind, asof)?;
        }
        if asof {
            return self.bind_asof(left, right_plan, entries, right_entries, (conditions, merged), kind);
        }
        self.make_optional(kind, &entries, &right_entries);
        let mut plan = if lateral {
            self.attach_lateral(left, right_plan, conditions, kind)?
        } else {
            joined(left, right_plan, conditions, kind)
        };
        if semi {
            return Ok((plan, left_entries));
        }
        let mut all = self.merged_columns(&mut plan, kind, merged);
        all.append(&mut entries);
        all.append(&mut right_entries);
        Ok((plan, all))
    }

    /// The columns of a side that may have no partner may be NULL.
    fn make_optional(&mut self, kind: JoinKind, left: &[Entry], right: &[Entry]) {
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.make_nullable(right);
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.make_nullable(left);
        }
    }

    /// The condition of an outer, semi, anti or ASOF join with subqueries in it: each is computed with the rows of
    /// the side that it reads, before they are joined. `None`, and the sides are as they were, where one reads both.
    fn computed_condition(
        &mut self,
        (left, right): (&mut LogicalPlan, &mut LogicalPlan),
        lateral: bool,
        condition: &'a Ast,
        scope: &Rc<Scope>,
    ) -> Result<Option<Vec<Expr>>> {
        let mut binder = ExprBinder::new(self, scope.clone(), Clause::On);
        let condition = binder.condition(condition, "JOIN/ON")?;
        let pending = std::mem::take(&mut binder.pending);
        let (mut of_left, mut of_right): (BTreeSet<ColumnId>, BTreeSet<ColumnId>) =
            (left.output().into_iter().collect(), right.output().into_iter().collect());
        let (mut beside_left, mut beside_right) = (vec![], vec![]);
        for subquery in pending {
            let mut read = free_columns(&subquery.plan);
            if let PendingKind::Mark { conditions, computed } = &subquery.kind {
                let computed = computed.iter().map(|(_, expr)| expr);
                conditions.iter().chain(computed).for_each(|expr| read.extend(expr.columns()));
            }
            let reads = |side: &BTreeSet<ColumnId>| read.iter().any(|id| side.contains(id));
            match (reads(&of_left), reads(&of_right)) {
                (true, true) => return Ok(None),
                (false, true) if lateral => {
                    return Err(Error::unsupported(
                        "a subquery in the condition of an outer join with LATERAL is not supported",
                    )
                    .with_hint("compute it in the LATERAL query"));
                }
                (false, true) => {
                    of_right.insert(subquery.placeholder);
                    beside_right.push(subquery);
                }
                _ => {
                    of_left.insert(subquery.placeholder);
                    beside_left.push(subquery);
                }
            }
        }
        let mut found = Found::new();
        for (side, subqueries) in [(left, beside_left), (right, beside_right)] {
            if !subqueries.is_empty() {
                let plan = std::mem::replace(side, single_row());
                let (plan, of_side) = self.attach(plan, subqueries)?;
                *side = plan;
                found.extend(of_side);
            }
        }
        let mut conditions = Vec::new();
        replace(condition, &found).split_conjuncts(&mut conditions);
        Ok(Some(conditions))
    }

    /// An outer, semi or anti join whose condition has a subquery that reads both sides: the pairs that fulfil it are
    /// found by an inner join of numbered rows, and each side is joined with those by its number.
    ///
    /// ```text
    ///  l LEFT JOIN r ON c        Join left, m = r's number
    ///                              Join left, l's number = n
    ///                                rows of l
    ///                                Project n, m
    ///                                  Filter c            with the subquery joined to it
    ///                                    Join
    ///                                      rows of l   rows of r
    ///                              rows of r
    /// ```
    /// Both sides are computed once, so that their rows keep their numbers.
    fn join_by_pairs(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        kind: JoinKind,
        condition: &'a Ast,
        scope: &Rc<Scope>,
    ) -> Result<LogicalPlan> {
        let mut numbered = |plan: LogicalPlan| -> Result<(LogicalPlan, LogicalPlan, ColumnId)> {
            let id = self.columns.add("row_number", Type::BigInt, false);
            let calls = vec![(id, WindowCall::row_number())];
            let input = Box::new(plan);
            let plan = LogicalPlan::Window { input, partition: vec![], order: vec![], calls };
            let rows = self.rows_of_one_run(plan)?;
            Ok((rows.clone(), rows, id))
        };
        let (left, left_again, l) = numbered(left)?;
        let (right, right_again, r) = numbered(right)?;
        let conjuncts = self.conjuncts(condition, scope, Clause::On, &mut None, &[])?;
        let both = joined(left_again, right_again, vec![], JoinKind::Inner);
        let input = Box::new(self.apply_conjuncts(both, conjuncts)?);
        let expressions = [l, r].map(|id| (id, self.column(id))).to_vec();
        let pairs = LogicalPlan::Project { input, expressions };
        let (pairs, renamed) = with_new_columns(&pairs, &mut self.columns);
        let own = |id: ColumnId| renamed.get(&id).copied().unwrap_or(id);
        let same = |binder: &Self, id: ColumnId| {
            Expr::compare(Comparison::Equal, binder.column(id), binder.column(own(id)))
        };
        let (of_left, of_right) = match kind {
            JoinKind::LeftSemi | JoinKind::LeftAnti => (kind, None),
            JoinKind::Right => (JoinKind::Inner, Some(kind)),
            _ => (JoinKind::Left, Some(kind)),
        };
        let plan = joined(left, pairs, vec![same(self, l)], of_left);
        let Some(of_right) = of_right else { return Ok(plan) };
        if of_left == JoinKind::Left {
            self.columns.get_mut(own(r)).nullable = true;
        }
        Ok(joined(plan, right, vec![same(self, r)], of_right))
    }

    /// `a POSITIONAL JOIN b`: the first row with the first, the second with the second; NULLs where one side ends.
    pub(super) fn positional_join(
        &mut self,
        left: LogicalPlan,
        mut entries: Vec<Entry>,
        right: Source,
    ) -> Result<(LogicalPlan, Vec<Entry>)> {
        if !free_columns(&right.plan).is_empty() {
            return Err(Error::unsupported("LATERAL in a POSITIONAL join is not supported"));
        }
        let mut numbered = |plan: LogicalPlan| {
            let id = self.columns.add("row_number", Type::BigInt, true);
            let calls = vec![(id, WindowCall::row_number())];
            let input = Box::new(plan);
            (LogicalPlan::Window { input, partition: vec![], order: vec![], calls }, id)
        };
        let ((left, l), (right_plan, r)) = (numbered(left), numbered(right.plan));
        let same = Expr::compare(Comparison::Equal, self.column(l), self.column(r));
        self.make_nullable(&entries);
        self.make_nullable(&right.entries);
        let plan = joined(left, right_plan, vec![same], JoinKind::Full);
        let place = ExprKind::Function {
            function: Function::Coalesce,
            arguments: vec![self.column(l), self.column(r)],
        };
        let key = SortKey { expr: Expr::new(place, Type::BigInt), descending: false, nulls_first: false };
        let plan = LogicalPlan::Sort { input: Box::new(plan), keys: vec![key], limit: None };
        entries.extend(right.entries);
        Ok((plan, entries))
    }

    /// An ASOF join; of USING's columns the last is the one that is near.
    #[allow(clippy::type_complexity)]
    fn bind_asof(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        mut entries: Vec<Entry>,
        mut right_entries: Vec<Entry>,
        (mut conditions, mut merged): (Vec<Expr>, Vec<(Rc<str>, ColumnId, ColumnId)>),
        kind: JoinKind,
    ) -> Result<(LogicalPlan, Vec<Entry>)> {
        if !merged.is_empty()
            && let Some(ExprKind::Compare { op, .. }) = conditions.last_mut().map(|c| &mut c.kind)
        {
            *op = Comparison::GreaterOrEqual;
        }
        let (mut plan, renamed) = self.asof_join(left, right, conditions, kind)?;
        let now = |id: ColumnId| renamed.get(&id).copied().unwrap_or(id);
        for entry in entries.iter_mut().chain(&mut right_entries) {
            entry.id = now(entry.id);
        }
        for (_, l, r) in &mut merged {
            (*l, *r) = (now(*l), now(*r));
        }
        if matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti) {
            // USING's columns are those of the left side.
            for (name, l, _) in merged {
                for entry in entries.iter_mut().filter(|e| e.id == l && e.name == name) {
                    entry.plain = true;
                }
            }
            return Ok((plan, entries));
        }
        let mut all = self.merged_columns(&mut plan, kind, merged);
        all.append(&mut entries);
        all.append(&mut right_entries);
        Ok((plan, all))
    }

    /// Marks the columns of an outer join's optional side as nullable.
    pub(crate) fn make_nullable(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.columns.get_mut(entry.id).nullable = true;
            self.without_nulls.remove(&entry.id);
        }
    }

    /// The equalities of USING, and the pairs of columns that become one.
    #[allow(clippy::type_complexity)]
    fn using(
        &mut self,
        left: &mut [Entry],
        right: &mut [Entry],
        names: &[(Name, Span)],
    ) -> Result<(Vec<Expr>, Vec<(Rc<str>, ColumnId, ColumnId)>)> {
        let (mut conditions, mut merged) = (Vec::new(), Vec::new());
        for (name, span) in names {
            let l = self.using_column(left, name, "left", *span)?;
            let r = self.using_column(right, name, "right", *span)?;
            let (a, b) = (Bound::typed(self.column(l), *span), Bound::typed(self.column(r), *span));
            conditions.push(operator::comparison(Comparison::Equal, a, b, self.text)?);
            let known = left.iter().find(|e| e.id == l).map(|e| e.name.clone());
            merged.push((known.unwrap_or_else(|| name.text.as_str().into()), l, r));
        }
        Ok((conditions, merged))
    }

    fn using_column(&self, entries: &mut [Entry], name: &Name, side: &str, span: Span) -> Result<ColumnId> {
        let exact = entries.iter().any(|e| e.plain && name.is(&e.name));
        let fits = |known: &str| if exact { name.is(known) } else { name.resembles(known) };
        let name = name.text.as_str();
        let mut found: Option<usize> = None;
        for (at, entry) in entries.iter().enumerate() {
            if entry.plain && fits(&entry.name) {
                if found.is_some() {
                    let error = Error::new(
                        SqlState::AmbiguousColumn,
                        format!("common column name \"{name}\" appears more than once in {side} table"),
                    );
                    return Err(self.error_at(error, span));
                }
                found = Some(at);
            }
        }
        match found {
            Some(at) => {
                entries[at].plain = false;
                Ok(entries[at].id)
            }
            None => {
                let error = Error::new(
                    SqlState::UndefinedColumn,
                    format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
                );
                Err(self.error_at(error, span))
            }
        }
    }

    /// The columns that stand for both sides of USING: the kept side's, or for FULL whichever is there.
    fn merged_columns(
        &mut self,
        plan: &mut LogicalPlan,
        kind: JoinKind,
        merged: Vec<(Rc<str>, ColumnId, ColumnId)>,
    ) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(merged.len());
        let mut computed = Vec::new();
        for (name, l, r) in merged {
            let id = match kind {
                JoinKind::Right => r,
                JoinKind::Full => {
                    let (a, b) = (self.column(l), self.column(r));
                    let ty = coerce::common_type(a.ty, b.ty).unwrap_or(a.ty);
                    let arguments = vec![coerce::cast(a, ty), coerce::cast(b, ty)];
                    let kind = ExprKind::Function { function: Function::Coalesce, arguments };
                    let id = self.columns.add(&*name, ty, true);
                    computed.push((id, Expr::new(kind, ty)));
                    id
                }
                _ => l,
            };
            entries.push(Entry { table: None, schema: None, name, id, plain: true, hidden: false });
        }
        if !computed.is_empty() {
            let input = std::mem::replace(plan, LogicalPlan::placeholder());
            let mut expressions: Vec<(ColumnId, Expr)> =
                input.output().into_iter().map(|id| (id, self.column(id))).collect();
            expressions.extend(computed);
            *plan = LogicalPlan::Project { input: Box::new(input), expressions };
        }
        entries
    }
}

fn without_condition() -> Error {
    Error::new(SqlState::SyntaxError, "a join needs a condition")
        .with_hint("write ON or USING, or CROSS JOIN for every pair of rows")
}

/// An error where the right side may not use columns of the left one.
fn check_lateral(kind: JoinKind, asof: bool) -> Result<()> {
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        return Err(Error::new(
            SqlState::InvalidColumnReference,
            "LATERAL cannot refer to the left side of a RIGHT or FULL join",
        ));
    }
    if asof {
        return Err(Error::unsupported("LATERAL in an ASOF join is not supported"));
    }
    Ok(())
}
