//! LIMIT, OFFSET and FETCH: constant numbers of rows as a node of the plan; computed ones, percentages and WITH TIES
//! as conditions on the rows' numbers.
//!
//! ```text
//!  ORDER BY k LIMIT (SELECT 3) OFFSET 1        FETCH FIRST 2 ROWS WITH TIES
//!    Sort k                                      Sort k
//!      Filter 1 < n AND n <= 1 + (SELECT 3)        Filter r <= 2
//!        Window n = row_number() by k                Window n = row_number(), r = rank() by k
//! ```
//! Called once for each query, by `query`.

use std::rc::Rc;

use plan::{
    AggregateFunction, Arithmetic, Expr, ExprKind, Frame, Function, LogicalPlan, WindowCall, WindowFunction,
};
use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{Clause, ExprBinder, operator};
use crate::bind::modify::case;
use crate::bind::nested::call;
use crate::bind::query::select::filtered;
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation};

/// How many rows.
enum Rows {
    All,
    Known(u64),
    /// Known when the query runs: NULL for all.
    Computed(Expr),
    /// A percentage of the rows.
    Percent(Expr),
}

impl<'a> Binder<'a> {
    /// Puts LIMIT, OFFSET and FETCH on top of the relation.
    pub(crate) fn limit(&mut self, relation: &mut Relation, query: &'a tree::Query) -> Result<()> {
        let (mut count, mut offset, mut ties) = (Rows::All, Rows::Known(0), false);
        if let Some(tree::Limit { count: Some(limit), percent, with_ties: _, fetch: false }) = &query.limit {
            count = self.row_count(limit, "LIMIT", *percent)?;
        }
        if let Some(skipped) = &query.offset {
            offset = self.row_count(skipped, "OFFSET", false)?;
        }
        if let Some(tree::Limit { count: quantity, percent, with_ties, fetch: true }) = &query.limit {
            ties = *with_ties;
            count = match quantity {
                Some(quantity) => self.row_count(quantity, "FETCH", false)?,
                None => Rows::Known(1),
            };
            if let (true, Rows::Known(rows)) = (*percent, &count) {
                let rows = i64::try_from(*rows).unwrap_or(i64::MAX);
                count = Rows::Percent(cast(Expr::literal(Value::I64(rows), Type::BigInt), Type::Double));
            }
            if *percent && matches!(count, Rows::Computed(_)) {
                return Err(Error::unsupported("FETCH PERCENT takes a constant"));
            }
            if ties && query.order_by.is_empty() {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        }
        let (count, offset) = match (count, offset, ties) {
            (Rows::All, Rows::Known(0) | Rows::All, _) => return Ok(()),
            (Rows::All, Rows::Known(offset), false) => (None, offset),
            (Rows::Known(count), Rows::All, false) => (Some(count), 0),
            (Rows::Known(count), Rows::Known(offset), false) => (Some(count), offset),
            (count, offset, ties) => return self.computed_limit(relation, count, offset, ties),
        };
        let mut plan = std::mem::replace(&mut relation.plan, LogicalPlan::placeholder());
        // What a recursive query needs to end is the LIMIT.
        if count == Some(0) && self.common.is_empty() {
            // As WHERE false, of which nothing is computed: tools ask for a query's columns by LIMIT 0.
            relation.plan = filtered(plan, vec![Expr::literal(Value::Bool(false), Type::Boolean)]);
            return Ok(());
        }
        let mut bounded = false;
        if let (LogicalPlan::Sort { limit, .. }, Some(count)) = (&mut plan, count) {
            *limit = Some(count.saturating_add(offset));
            bounded = true;
        }
        if !bounded || offset > 0 {
            plan = LogicalPlan::Limit { input: Box::new(plan), offset, count };
        }
        relation.plan = plan;
        Ok(())
    }

    /// Bounds that conditions on the rows' numbers keep.
    fn computed_limit(
        &mut self,
        relation: &mut Relation,
        count: Rows,
        offset: Rows,
        ties: bool,
    ) -> Result<()> {
        let text = self.text;
        let plan = std::mem::replace(&mut relation.plan, LogicalPlan::placeholder());
        let (input, keys) = match plan {
            LogicalPlan::Sort { input, keys, limit: None } => (*input, keys),
            other => (other, vec![]),
        };
        let number = self.columns.add("row_number", Type::BigInt, false);
        let rank = self.columns.add("rank", Type::BigInt, false);
        let mut calls = vec![(number, WindowCall::row_number())];
        if ties {
            let peers = keys.len();
            calls.push((
                rank,
                WindowCall { function: WindowFunction::Rank, peers, ..WindowCall::row_number() },
            ));
        }
        let mut plan =
            LogicalPlan::Window { input: Box::new(input), partition: vec![], order: keys.clone(), calls };
        let plain = |expr: Expr| Bound::typed(expr, Span::default());
        let constant =
            |rows: u64| Expr::literal(Value::I64(i64::try_from(rows).unwrap_or(i64::MAX)), Type::BigInt);
        let mut conditions = Vec::new();
        let skipped = match offset {
            Rows::All => None,
            Rows::Known(rows) => Some(constant(rows)),
            Rows::Computed(expr) => {
                let arguments = vec![expr, constant(0)];
                let kind = ExprKind::Function { function: Function::Coalesce, arguments };
                Some(Expr::new(kind, Type::BigInt))
            }
            Rows::Percent(_) => return Err(Error::unsupported("OFFSET takes a number of rows")),
        };
        if let Some(skipped) = &skipped {
            conditions.push(Expr::compare(Comparison::Greater, self.column(number), skipped.clone()));
        }
        // How many rows there are up to this one of those that are not skipped.
        let place = self.column(if ties { rank } else { number });
        let place = match skipped {
            None => place,
            Some(skipped) => operator::arithmetic(Arithmetic::Subtract, plain(place), plain(skipped), text)?,
        };
        match count {
            Rows::All => {}
            Rows::Known(rows) => {
                conditions.push(Expr::compare(Comparison::LessOrEqual, place, constant(rows)));
            }
            Rows::Computed(expr) => {
                let kind = ExprKind::IsNull { input: Box::new(expr.clone()), negated: false };
                let within = Expr::compare(Comparison::LessOrEqual, place, expr);
                conditions
                    .push(crate::bind::expression::fold::or(vec![Expr::new(kind, Type::Boolean), within]));
            }
            Rows::Percent(expr) => {
                let total = self.columns.add("count", Type::BigInt, false);
                let function = WindowFunction::Aggregate(AggregateFunction::CountStar);
                let call = WindowCall { function, frame: Frame::whole(), ..WindowCall::row_number() };
                let calls = vec![(total, call)];
                plan = LogicalPlan::Window { input: Box::new(plan), partition: vec![], order: vec![], calls };
                let total = plain(cast(self.column(total), Type::Double));
                let parts = operator::arithmetic(Arithmetic::Multiply, total, plain(expr), text)?;
                let hundred = plain(Expr::literal(Value::F64(100.0), Type::Double));
                let rows = operator::arithmetic(Arithmetic::Divide, plain(parts), hundred, text)?;
                let within = Expr::compare(Comparison::LessOrEqual, cast(place, Type::Double), rows);
                conditions.push(within);
            }
        }
        plan = filtered(plan, conditions);
        relation.plan = match keys.is_empty() {
            true => plan,
            false => LogicalPlan::Sort { input: Box::new(plan), keys, limit: None },
        };
        Ok(())
    }

    /// The number of rows, or of percents, that an expression says.
    fn row_count(&mut self, ast: &'a Ast, what: &str, percent: bool) -> Result<Rows> {
        let mut binder = ExprBinder::new(self, Rc::new(Scope::default()), Clause::Limit);
        binder.binder.by_value += 1;
        let bound = binder.bind(ast);
        binder.binder.by_value -= 1;
        let bound = bound?;
        let dependent = !binder.pending.is_empty();
        let span = bound.span;
        if dependent {
            let error =
                Error::unsupported(format!("a subquery in {what} cannot depend on the query around it"));
            return Err(self.error_at(error, span));
        }
        if bound.is_null() {
            return Ok(Rows::All);
        }
        let ty = if percent { Type::Double } else { Type::BigInt };
        let converted = crate::bind::expression::fold::fold(coerce::assign(bound, ty, what, self.text)?);
        let negative = || Error::new(SqlState::InvalidParameterValue, format!("{what} must not be negative"));
        match converted.as_literal() {
            Some(Value::Null) => Ok(Rows::All),
            Some(value) if percent => match value.as_f64() {
                Some(share) if (0.0..=100.0).contains(&share) => Ok(Rows::Percent(converted)),
                _ => {
                    let message = "a percentage of rows lies between 0 and 100";
                    Err(self.error_at(Error::new(SqlState::InvalidParameterValue, message), span))
                }
            },
            Some(value) => match value.as_i64().and_then(|v| u64::try_from(v).ok()) {
                Some(rows) => Ok(Rows::Known(rows)),
                None => Err(self.error_at(negative(), span)),
            },
            None if percent => {
                let message = "a percentage of rows lies between 0 and 100";
                Ok(Rows::Percent(refused_outside(converted, 100.0, message)))
            }
            None => Ok(Rows::Computed(refused_outside(converted, f64::INFINITY, negative().message()))),
        }
    }
}

/// The number of rows that the query computes, or an error where it is negative or above `most`.
fn refused_outside(rows: Expr, most: f64, message: &str) -> Expr {
    let ty = rows.ty;
    let zero = cast(Expr::literal(Value::I64(0), Type::BigInt), ty);
    let mut outside = vec![Expr::compare(Comparison::Less, rows.clone(), zero)];
    if most.is_finite() {
        let most = Expr::literal(Value::F64(most), Type::Double);
        outside.push(Expr::compare(Comparison::Greater, rows.clone(), most));
    }
    let refusal = call("error", vec![Expr::literal(Value::text(message), Type::Text)], Type::Text);
    case(vec![(crate::bind::expression::fold::or(outside), cast(refusal, ty))], rows)
}
