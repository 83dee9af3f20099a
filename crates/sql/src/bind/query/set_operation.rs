//! UNION, INTERSECT and EXCEPT, with and without ALL.
//!
//! A chain is taken apart without recursion, and neighbouring unions become one. INTERSECT and EXCEPT are semi and
//! anti joins in which NULL equals NULL. With ALL they are about numbers of copies: both sides are counted per
//! distinct row, and a row wanted n times is joined with n rows of a small table of numbers.

use std::rc::Rc;

use plan::{AggregateCall, AggregateFunction, Arithmetic, ColumnId, Expr, ExprKind, JoinKind, LogicalPlan};
use syntax::Span;
use syntax::tree::{self, SetExpr, SetKind};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::unnest::{join, null_safe};
use crate::bind::expression::coerce::{self, common_type};
use crate::bind::query::columns::is_pattern;
use crate::bind::query::place_of;
use crate::bind::query::select::word_of;
use crate::bind::query::values::opening;
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation};

/// Copies up to this number have their own rows in the table of numbers.
const COPIES_DIRECT: i64 = 16;
/// Base of the digits in which larger numbers of copies are counted; three digits are provided for.
const COPIES_BASE: i64 = 1024;

impl<'a> Binder<'a> {
    /// A chain of set operations, left to right and without recursion along the chain.
    pub(crate) fn bind_set_expr(&mut self, body: &'a SetExpr, outer: Option<Rc<Scope>>) -> Result<Relation> {
        // Operators of a higher rank come first.
        let mut ranks = Vec::new();
        let mut first = body;
        while let SetExpr::Set(operand, rest) = first {
            ranks.push(rest);
            first = operand;
        }
        let mut steps = ranks.into_iter().rev().flatten().peekable();
        if steps.clone().any(|(operator, _)| operator.by_name && operator.kind != SetKind::Union) {
            return Err(Error::unsupported("BY NAME belongs to UNION only"));
        }
        let mut left = self.bind_branch(first, outer.clone())?;
        while let Some((step, operand)) = steps.next() {
            let right = self.bind_branch(operand, outer.clone())?;
            let all = step.all == Some(true);
            if step.kind != SetKind::Union {
                left = self.intersect_or_except((left, first), (right, operand), step.kind, all)?;
                continue;
            }
            // Neighbours become one union: with a distinct one among them, all those before it are distinct too.
            let mut inputs = vec![left, right];
            let mut bodies = vec![first, operand];
            let mut distinct = !all;
            while let Some((next, operand)) = steps.next_if(|(next, _)| {
                let alike = next.kind == SetKind::Union && next.by_name == step.by_name;
                alike && (next.all != Some(true) || !distinct)
            }) {
                inputs.push(self.bind_branch(operand, outer.clone())?);
                bodies.push(operand);
                distinct = next.all != Some(true);
            }
            if step.by_name {
                self.name_columns_alike(&mut inputs, &bodies)?;
            }
            left = self.union(inputs, &bodies)?;
            if distinct {
                left = self.distinct(left);
            }
        }
        Ok(left)
    }

    /// One operand of a set operation.
    pub(crate) fn bind_branch(&mut self, body: &'a SetExpr, outer: Option<Rc<Scope>>) -> Result<Relation> {
        self.count_instance()?;
        if let Some(select) = self.select_of(body) {
            return self.bind_select(select, crate::bind::query::Ordering::List(&[]), outer);
        }
        match body {
            SetExpr::Query(query) => self.bind_query(query, outer),
            SetExpr::Values(rows) => self.bind_values(rows, outer),
            SetExpr::Set(..) => self.bind_set_expr(body, outer),
            SetExpr::Pivot(pivot) => self.bind_pivot_statement(pivot, None),
            SetExpr::Select(_) | SetExpr::Table(_) | SetExpr::Inspect(_) => {
                Err(Error::internal("a SELECT that is none"))
            }
        }
    }

    /// UNION BY NAME: every input gets the columns of all, in the order in which their names are met; NULL where it
    /// has none of the name.
    fn name_columns_alike(&mut self, inputs: &mut [Relation], bodies: &[&SetExpr]) -> Result<()> {
        let mut names: Vec<Rc<str>> = Vec::new();
        for (input, body) in inputs.iter().zip(bodies) {
            for (at, (name, _)) in input.columns.iter().enumerate() {
                if input.columns[..at].iter().any(|(other, _)| other == name) {
                    let message = format!("UNION BY NAME: there are several columns called \"{name}\"");
                    let error = Error::new(SqlState::AmbiguousColumn, message);
                    return Err(self.error_at(error.with_hint("give them aliases"), body_span(body)));
                }
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        for input in inputs {
            let mut columns = Vec::with_capacity(names.len());
            let mut missing = Vec::new();
            for name in &names {
                let known = input.columns.iter().find(|(own, _)| own == name).map(|(_, id)| *id);
                let id = known.unwrap_or_else(|| {
                    let id = self.columns.add(&**name, Type::Null, true);
                    missing.push((id, crate::bind::null_of(Type::Null)));
                    id
                });
                columns.push((name.clone(), id));
            }
            input.columns = columns;
            if !missing.is_empty() {
                let plan = std::mem::replace(&mut input.plan, LogicalPlan::placeholder());
                input.plan = self.beside(plan, missing);
            }
        }
        Ok(())
    }

    fn union(&mut self, mut inputs: Vec<Relation>, bodies: &[&SetExpr]) -> Result<Relation> {
        self.same_types(&mut inputs, bodies, "UNION")?;
        let width = inputs[0].columns.len();
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            let (name, first) = inputs[0].columns[at].clone();
            // Texts of several lengths need no cast, but the first one's length does not hold for all.
            let ty = inputs.iter().fold(self.columns.get(first).ty, |ty, input| {
                common_type(ty, self.columns.get(input.columns[at].1).ty).unwrap_or(ty)
            });
            let nullable = inputs.iter().any(|i| self.columns.get(i.columns[at].1).nullable);
            columns.push((name.clone(), self.columns.add(&*name, ty, nullable)));
        }
        let inputs = inputs
            .into_iter()
            .map(|i| (i.plan, i.columns.into_iter().map(|(_, id)| id).collect::<Vec<_>>()))
            .collect();
        let ids = columns.iter().map(|(_, id)| *id).collect();
        Ok(Relation { plan: LogicalPlan::Union { inputs, columns: ids }, columns })
    }

    fn distinct(&mut self, relation: Relation) -> Relation {
        let mut groups: Vec<(ColumnId, Expr)> = Vec::with_capacity(relation.columns.len());
        for (_, id) in &relation.columns {
            if !groups.iter().any(|(g, _)| g == id) {
                groups.push((*id, self.column(*id)));
            }
        }
        let plan = LogicalPlan::Aggregate { input: Box::new(relation.plan), groups, aggregates: vec![] };
        Relation { plan, columns: relation.columns }
    }

    fn intersect_or_except(
        &mut self,
        (left, left_body): (Relation, &SetExpr),
        (right, right_body): (Relation, &SetExpr),
        operator: SetKind,
        all: bool,
    ) -> Result<Relation> {
        let name = if operator == SetKind::Intersect { "INTERSECT" } else { "EXCEPT" };
        let mut sides = vec![left, right];
        self.same_types(&mut sides, &[left_body, right_body], name)?;
        // Both sides are compared, so their types are settled here: what is met later could retype one side only.
        for side in &mut sides {
            self.settle_nulls(side)?;
            for (_, id) in &side.columns {
                self.untyped.remove(id);
            }
        }
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else {
            return Err(Error::internal("a set operation without sides"));
        };
        if all {
            return self.by_copies(left, right, operator);
        }
        let left = self.distinct(left);
        let on = left
            .columns
            .iter()
            .zip(&right.columns)
            .map(|((_, l), (_, r))| (self.column(*l), self.column(*r)))
            .collect();
        let kind = if operator == SetKind::Intersect { JoinKind::LeftSemi } else { JoinKind::LeftAnti };
        let plan = null_safe(join(left.plan, right.plan, kind, on, None));
        Ok(Relation { plan, columns: left.columns })
    }

    /// Brings the columns of several relations to common types, position by position.
    fn same_types(&mut self, relations: &mut [Relation], bodies: &[&SetExpr], what: &str) -> Result<()> {
        let width = relations[0].columns.len();
        if let Some(odd) = relations.iter().position(|r| r.columns.len() != width) {
            let error = Error::new(
                SqlState::SyntaxError,
                format!("each {what} query must have the same number of columns"),
            );
            let at = self.span_of(bodies, odd, width);
            return Err(self.error_at(error, at));
        }
        for at in 0..width {
            let ids: Vec<ColumnId> = relations.iter().map(|r| r.columns[at].1).collect();
            let mut common = Type::Null;
            let mut some_text = false;
            for (number, id) in ids.iter().enumerate() {
                let ty = self.columns.get(*id).ty;
                if self.untyped.contains(id) && ty == Type::Text {
                    some_text = true;
                    continue;
                }
                let Some(next) = common_type(common, ty) else {
                    // A literal further left that is not of the type so far is the fault that is met first.
                    for (before, (relation, id)) in relations[..number].iter_mut().zip(&ids).enumerate() {
                        if self.untyped.contains(id) && common != Type::Null {
                            self.retype(&mut relation.plan, *id, common, self.span_of(bodies, before, at))?;
                        }
                    }
                    let error = Error::new(
                        SqlState::DatatypeMismatch,
                        format!("{what} types {common} and {ty} cannot be matched"),
                    );
                    let span = self.span_of(bodies, number, at);
                    return Err(self.error_at(error, span));
                };
                common = next;
            }
            if common == Type::Null && some_text {
                common = Type::Text;
            }
            let mut still_untyped = true;
            for (number, (relation, id)) in relations.iter_mut().zip(ids).enumerate() {
                let ty = self.columns.get(id).ty;
                still_untyped &= ty == Type::Null || self.untyped.contains(&id);
                let same = ty == common || (ty.is_text() && common.is_text() && common != Type::Jsonb);
                let literal = ty == Type::Null || self.untyped.contains(&id);
                if same
                    || (literal
                        && self.retype(&mut relation.plan, id, common, self.span_of(bodies, number, at))?)
                {
                    continue;
                }
                self.cast_column(relation, at, common);
            }
            if still_untyped {
                self.untyped.insert(relations[0].columns[at].1);
            }
        }
        Ok(())
    }

    /// Replaces one column of a relation by its cast.
    fn cast_column(&mut self, relation: &mut Relation, at: usize, ty: Type) {
        let (name, id) = relation.columns[at].clone();
        let nullable = self.columns.get(id).nullable;
        let new = self.columns.add(&*name, ty, nullable);
        let cast = coerce::cast(self.column(id), ty);
        let keeps = |(_, e): &(ColumnId, Expr)| e.as_column().is_some();
        // A projection of casts only, made just before, takes one more.
        let input = std::mem::replace(&mut relation.plan, LogicalPlan::placeholder());
        let mut expressions: Vec<(ColumnId, Expr)> = Vec::new();
        for (_, column) in relation.columns.iter() {
            let pair = (*column, self.column(*column));
            if *column != id && !expressions.contains(&pair) {
                expressions.push(pair);
            }
        }
        // The column may be selected twice.
        if relation.columns.iter().filter(|(_, c)| *c == id).count() > 1 {
            expressions.push((id, self.column(id)));
        }
        debug_assert!(expressions.iter().all(keeps));
        expressions.push((new, cast));
        relation.plan = LogicalPlan::Project { input: Box::new(input), expressions };
        relation.columns[at].1 = new;
    }

    /// INTERSECT ALL and EXCEPT ALL.
    fn by_copies(&mut self, left: Relation, right: Relation, operator: SetKind) -> Result<Relation> {
        let (left, right) = (self.tagged(left, 1, 0), self.tagged(right, 0, 1));
        let names: Vec<Rc<str>> = left.columns.iter().map(|(n, _)| n.clone()).collect();
        let both = self.union(vec![left, right], &[])?;
        let width = names.len() - 2;
        let ids: Vec<ColumnId> = both.columns.iter().map(|(_, id)| *id).collect();
        let groups = ids[..width].iter().map(|id| (*id, self.column(*id))).collect();
        let mut sums = Vec::with_capacity(2);
        for tag in &ids[width..] {
            let call = AggregateCall {
                function: AggregateFunction::Sum,
                argument: Some(self.column(*tag)),
                distinct: false,
                filter: None,
                ty: Type::BigInt,
            };
            sums.push((self.columns.add("copies", Type::BigInt, true), call));
        }
        let (l, r) = (self.column(sums[0].0), self.column(sums[1].0));
        let counted = LogicalPlan::Aggregate { input: Box::new(both.plan), groups, aggregates: sums };
        let wanted = if operator == SetKind::Except {
            bigint(Arithmetic::Subtract, l, r)
        } else {
            let fewer = Expr::compare(Comparison::Less, l.clone(), r.clone());
            let kind = ExprKind::Case { branches: vec![(fewer, l)], otherwise: Some(Box::new(r)) };
            Expr::new(kind, Type::BigInt)
        };
        let copies = self.columns.add("copies", Type::BigInt, false);
        let mut expressions: Vec<(ColumnId, Expr)> =
            ids[..width].iter().map(|id| (*id, self.column(*id))).collect();
        expressions.push((copies, wanted));
        let plan = LogicalPlan::Project { input: Box::new(counted), expressions };
        let some = Expr::compare(Comparison::Greater, self.column(copies), number(0));
        let plan = LogicalPlan::Filter { input: Box::new(plan), predicate: some };
        let plan = self.repeated(plan, copies);
        let columns = names.into_iter().zip(ids).take(width).collect();
        Ok(Relation { plan, columns })
    }

    /// Two more columns: how many copies a row is on either side.
    fn tagged(&mut self, relation: Relation, left: i32, right: i32) -> Relation {
        let mut columns = Vec::with_capacity(relation.columns.len() + 2);
        let mut expressions: Vec<(ColumnId, Expr)> = Vec::with_capacity(relation.columns.len() + 2);
        for (name, id) in relation.columns {
            if !expressions.iter().any(|(e, _)| *e == id) {
                expressions.push((id, self.column(id)));
            }
            columns.push((name, id));
        }
        for tag in [left, right] {
            let id = self.columns.add("tag", Type::Integer, false);
            expressions.push((id, Expr::literal(Value::I32(tag), Type::Integer)));
            columns.push(("tag".into(), id));
        }
        Relation { plan: LogicalPlan::Project { input: Box::new(relation.plan), expressions }, columns }
    }

    /// Every row as many times as its column `copies` says, at most 2^30 times.
    fn repeated(&mut self, plan: LogicalPlan, copies: ColumnId) -> LogicalPlan {
        let wanted = self.column(copies);
        // Small numbers find their rows directly; key 0 has the lowest digit of all others.
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for key in 1..=COPIES_DIRECT {
            rows.extend((0..key).map(|at| vec![Value::I64(key), Value::I64(at)]));
        }
        rows.extend((0..COPIES_BASE).map(|at| vec![Value::I64(0), Value::I64(at)]));
        let (numbers, ids) = self.literal_rows(&["key", "number"], Type::BigInt, rows);
        let direct = Expr::compare(Comparison::LessOrEqual, wanted.clone(), number(COPIES_DIRECT));
        let key = either(direct, wanted.clone(), number(0));
        let mut position = self.column(ids[1]);
        let fits = Expr::compare(Comparison::Less, position.clone(), wanted.clone());
        let mut plan = join(plan, numbers, JoinKind::Inner, vec![(key, self.column(ids[0]))], Some(fits));
        let mut unit = COPIES_BASE;
        for _ in 0..2 {
            let mut rows = vec![vec![Value::I64(0), Value::I64(0)]];
            rows.extend((0..COPIES_BASE).map(|digit| vec![Value::I64(1), Value::I64(digit)]));
            let (digits, ids) = self.literal_rows(&["key", "digit"], Type::BigInt, rows);
            let more = Expr::compare(Comparison::Greater, wanted.clone(), number(unit));
            let key = either(more, number(1), number(0));
            let higher = bigint(Arithmetic::Multiply, self.column(ids[1]), number(unit));
            position = bigint(Arithmetic::Add, position, higher);
            let fits = Expr::compare(Comparison::Less, position.clone(), wanted.clone());
            plan = join(plan, digits, JoinKind::Inner, vec![(key, self.column(ids[0]))], Some(fits));
            unit *= COPIES_BASE;
        }
        plan
    }
}

impl Binder<'_> {
    /// Where the item `at` of a branch's select list stands; the branch itself where it has no such item.
    fn span_of(&self, bodies: &[&SetExpr], branch: usize, at: usize) -> Span {
        match bodies.get(branch) {
            Some(SetExpr::Select(select)) => match select.items.get(at) {
                Some(tree::SelectItem { value, .. }) if !is_star(value) => place_of(value),
                _ => word_of(self.text, select),
            },
            Some(SetExpr::Table(path)) => path.span(),
            Some(SetExpr::Pivot(pivot)) => pivot.span,
            Some(SetExpr::Inspect(statement)) => statement.span,
            Some(SetExpr::Values(rows)) => {
                let first = rows.first().and_then(|row| row.first());
                first.map_or(Span::default(), |first| opening(self.text, first.span))
            }
            Some(SetExpr::Query(_) | SetExpr::Set(..)) | None => Span::default(),
        }
    }
}

/// Where a body begins: with FROM first, at what stands in FROM.
fn body_span(body: &SetExpr) -> Span {
    match body {
        SetExpr::Select(select) => match (select.order, select.from.first()) {
            (tree::ClauseOrder::FromFirst, Some(first)) => first.table.span,
            _ => select.span,
        },
        SetExpr::Query(query) => match query.with.as_ref().and_then(|with| with.queries.first()) {
            Some(first) => first.name.span,
            None => body_span(&query.body),
        },
        SetExpr::Values(rows) => rows.first().and_then(|row| row.first()).map_or(Span::default(), place_of),
        SetExpr::Table(path) => path.span(),
        SetExpr::Set(first, _) => body_span(first),
        SetExpr::Pivot(pivot) => pivot.span,
        SetExpr::Inspect(statement) => statement.span,
    }
}

/// Whether an item of a select list is `*`, which stands for several.
fn is_star(value: &tree::Expr) -> bool {
    matches!(&value.kind, tree::ExprKind::Star(star) if !is_pattern(star))
}

fn number(value: i64) -> Expr {
    Expr::literal(Value::I64(value), Type::BigInt)
}

fn bigint(op: Arithmetic, left: Expr, right: Expr) -> Expr {
    let kind = ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true };
    Expr::new(kind, Type::BigInt)
}

fn either(when: Expr, then: Expr, otherwise: Expr) -> Expr {
    let ty = then.ty;
    Expr::new(ExprKind::Case { branches: vec![(when, then)], otherwise: Some(Box::new(otherwise)) }, ty)
}
