//! Subqueries in expressions: scalar, EXISTS, IN, ANY and ALL.
//!
//! An uncorrelated scalar subquery is run once beforehand and stands in the expression as its number. Everything else
//! becomes a join: the expression refers to a column that does not exist yet, and a `Pending` says how to make it;
//! `decorrelate` then joins it to the plan that the expression is evaluated over. Memberships that are conjuncts of a
//! WHERE or HAVING become semi and anti joins instead.

use std::rc::Rc;

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind, LogicalPlan, SubqueryId};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, OperatorKind};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::unnest::{free_columns, with_new_columns};
use crate::bind::expression::coerce::Bound;
use crate::bind::expression::predicate::negated;
use crate::bind::expression::{
    Clause, ExprBinder, comparison_of, fold, operator, rows, set_query, strip, unbracketed,
};
use crate::bind::function::aggregate::Aggregates;
use crate::bind::query::select::word_of;
use crate::bind::scope::Scope;
use crate::bind::{Relation, refusal, substitute};
use crate::place;

/// A subquery that has to be joined to the plan below the expression it was found in.
pub(crate) struct Pending {
    /// The column that stands for it in the expression.
    pub placeholder: ColumnId,
    /// The subquery's rows.
    pub plan: LogicalPlan,
    /// What the expression needs from those rows.
    pub kind: PendingKind,
}

/// What a subquery contributes to each row of the plan it is joined to.
pub(crate) enum PendingKind {
    /// The value of `column` of the only row, NULL when there is none.
    Scalar { column: ColumnId, computed: Computed },
    /// Whether there is a row for which all conditions hold.
    Mark { conditions: Vec<Expr>, computed: Computed },
}

/// Volatile operands of conditions, as columns that are computed once for each row before it meets others.
pub(crate) type Computed = Vec<(ColumnId, Expr)>;

/// A conjunct that keeps (or drops, `anti`) the rows with a partner in `plan`.
pub(crate) struct Membership {
    /// The subquery's rows.
    pub plan: LogicalPlan,
    /// All must hold for a row and its partner.
    pub conditions: Vec<Expr>,
    /// Operands of `conditions` that are evaluated once for each outer row.
    pub computed: Computed,
    /// Keeps the rows without a partner.
    pub anti: bool,
    /// A comparison that is NULL drops the row, as NOT IN requires.
    pub null_aware: bool,
}

/// A query of which an expression is being bound, while a subquery in that expression is.
pub(crate) struct Level<'a> {
    /// The columns that the expression can name.
    pub scope: Rc<Scope>,
    /// Its aggregate calls, where the expression may have some.
    pub aggregates: Option<Aggregates<'a>>,
    /// The clause that the expression stands in.
    pub clause: Clause,
}

/// What EXISTS asks of a subquery.
enum Existence {
    Known(bool),
    Of(LogicalPlan),
}

impl<'a> ExprBinder<'_, 'a> {
    fn subquery(&mut self, query: &'a tree::Query) -> Result<Relation> {
        let query = unbracketed(query);
        self.not_in_try("subqueries", self.query_span(query))?;
        // Aggregates inside over columns of this query are its own.
        let level =
            Level { scope: self.scope.clone(), aggregates: self.aggregates.take(), clause: self.clause };
        self.binder.levels.push(level);
        let result = self.binder.bind_query(query, Some(self.scope.clone()));
        self.aggregates = self.binder.levels.pop().and_then(|level| level.aggregates);
        result
    }

    /// Where a query's first SELECT begins, in whatever brackets.
    fn query_span(&self, query: &tree::Query) -> Span {
        match &query.body {
            tree::SetExpr::Select(select) => word_of(self.binder.text, select),
            tree::SetExpr::Query(inner) => self.query_span(inner),
            tree::SetExpr::Table(path) => path.span(),
            tree::SetExpr::Pivot(pivot) => pivot.span,
            tree::SetExpr::Inspect(statement) => statement.span,
            tree::SetExpr::Values(_) | tree::SetExpr::Set(..) => Span::default(),
        }
    }

    fn single_column(&mut self, query: &'a tree::Query, span: Span) -> Result<(LogicalPlan, ColumnId)> {
        let relation = self.subquery(query)?;
        match relation.columns.as_slice() {
            [(_, id)] => Ok((relation.plan, *id)),
            columns => {
                let message = format!("subquery must return one column, not {}", columns.len());
                Err(place::at(Error::new(SqlState::SyntaxError, message), self.binder.text, span))
            }
        }
    }

    /// The value of a subquery of one column; an uncorrelated one runs before the query.
    pub(crate) fn scalar_subquery(&mut self, query: &'a tree::Query) -> Result<Bound> {
        let span = self.query_span(query);
        let (plan, column) = self.single_column(query, span)?;
        let plan = self.one_row(plan);
        let ty = self.binder.columns.get(column).ty;
        if free_columns(&plan).is_empty() {
            return Ok(Bound::typed(self.run_before(plan, column, ty), span));
        }
        let placeholder = self.binder.columns.add("subquery", ty, true);
        self.pending.push(Pending {
            placeholder,
            plan,
            kind: PendingKind::Scalar { column, computed: vec![] },
        });
        Ok(Bound::typed(Expr::column(placeholder, ty), span))
    }

    /// As `scalar_subquery`, the value of one of the `width` columns; `None` when there are not so many.
    pub(crate) fn subquery_column(
        &mut self,
        query: &'a tree::Query,
        at: usize,
        width: usize,
    ) -> Result<Option<Bound>> {
        let span = self.query_span(query);
        let relation = self.subquery(query)?;
        if relation.columns.len() != width {
            return Ok(None);
        }
        let (plan, column) = (self.one_row(relation.plan), relation.columns[at].1);
        let ty = self.binder.columns.get(column).ty;
        if free_columns(&plan).is_empty() {
            return Ok(Some(Bound::typed(self.run_before(plan, column, ty), span)));
        }
        let placeholder = self.binder.columns.add("subquery", ty, true);
        self.pending.push(Pending {
            placeholder,
            plan,
            kind: PendingKind::Scalar { column, computed: vec![] },
        });
        Ok(Some(Bound::typed(Expr::column(placeholder, ty), span)))
    }

    /// A subquery in the place of a value, whose first row is taken where the session has it so.
    fn one_row(&self, plan: LogicalPlan) -> LogicalPlan {
        match self.binder.relations.refuses_several_rows() {
            true => plan,
            false => LogicalPlan::Limit { input: Box::new(plan), offset: 0, count: Some(1) },
        }
    }

    /// An uncorrelated scalar subquery, by its number.
    pub(crate) fn run_before(&mut self, plan: LogicalPlan, column: ColumnId, ty: Type) -> Expr {
        let plan = if plan.output() == [column] {
            plan
        } else {
            let expression = self.binder.column(column);
            LogicalPlan::Project { input: Box::new(plan), expressions: vec![(column, expression)] }
        };
        self.binder.subqueries.push(plan);
        let id = SubqueryId(self.binder.subqueries.len() as u32 - 1);
        Expr::new(ExprKind::ScalarSubquery(id), ty)
    }

    /// Whether an uncorrelated plan has a row, by counting at most one.
    fn has_row(&mut self, plan: LogicalPlan) -> Expr {
        let count = self.binder.columns.add("count(*)", Type::BigInt, false);
        let call = AggregateCall {
            function: AggregateFunction::CountStar,
            argument: None,
            distinct: false,
            filter: None,
            ty: Type::BigInt,
        };
        let first = LogicalPlan::Limit { input: Box::new(plan), offset: 0, count: Some(1) };
        let counted = LogicalPlan::Aggregate {
            input: Box::new(first),
            groups: vec![],
            aggregates: vec![(count, call)],
        };
        let number = self.run_before(counted, count, Type::BigInt);
        Expr::compare(Comparison::Greater, number, Expr::literal(Value::I64(0), Type::BigInt))
    }

    /// `[NOT] EXISTS (query)`.
    pub(crate) fn exists(&mut self, query: &'a tree::Query, anti: bool) -> Result<Bound> {
        let span = self.query_span(query);
        let relation = self.subquery(query)?;
        let expr = match existence(relation.plan) {
            Existence::Known(known) => Expr::boolean(known),
            Existence::Of(plan) if free_columns(&plan).is_empty() => self.has_row(plan),
            Existence::Of(plan) => self.mark(plan, vec![], vec![]),
        };
        Ok(Bound::typed(if anti { negated(expr) } else { expr }, span))
    }

    fn mark(&mut self, plan: LogicalPlan, conditions: Vec<Expr>, computed: Computed) -> Expr {
        let placeholder = self.binder.columns.add("mark", Type::Boolean, false);
        self.pending.push(Pending { placeholder, plan, kind: PendingKind::Mark { conditions, computed } });
        Expr::column(placeholder, Type::Boolean)
    }

    /// `left [NOT] IN (query)`.
    pub(crate) fn in_subquery(&mut self, left: &'a Ast, query: &'a tree::Query, anti: bool) -> Result<Bound> {
        self.member(left, Comparison::Equal, query, anti)
    }

    /// `x op ANY (...)` and `x op ALL (...)`, of a query or a list.
    pub(crate) fn quantified(&mut self, test: &'a tree::QuantifiedTest, at: Span) -> Result<Bound> {
        let tree::QuantifiedTest { expr: left, operator, quantifier, set } = test;
        let all = *quantifier == tree::Quantifier::All;
        if let tree::InSet::List(list) = set {
            let at = list.get(1).or(list.first()).map_or(at, |e| e.span);
            let error = Error::new(SqlState::SyntaxError, "ANY and ALL take a list or a query")
                .with_hint("write the values as a list: ANY ([a, b])");
            return Err(self.binder.error_at(error, at));
        }
        if operator.kind == OperatorKind::Not {
            return Err(refusal::unexpected(self.binder.text, operator.span));
        }
        if let Some(bound) = self.quantified_pattern(left, &operator.kind, set, all)? {
            return Ok(bound);
        }
        let query = match (set, set_query(set)) {
            (_, Some(query)) => query,
            (tree::InSet::Expr(list), None) => return self.quantified_list(left, &operator.kind, list, all),
            _ => return Err(Error::internal("ANY or ALL without a query or a list")),
        };
        let Some(op) = comparison_of(&operator.kind) else {
            return Err(Error::unsupported("ANY and ALL take a comparison and a subquery"));
        };
        // x op ALL q says that there is no row with which x op fails.
        if all { self.member(left, op.negated(), query, true) } else { self.member(left, op, query, false) }
    }

    /// The left side of a membership; what is volatile in it is a column that is yet to be computed.
    fn left_side(&mut self, left: &'a Ast) -> Result<(Vec<Bound>, Computed)> {
        let positive = std::mem::replace(&mut self.positive, false);
        let relation_is_row =
            |row: &Vec<&'a Ast>| row.len() > 1 || matches!(strip(left).kind, AstKind::Row { .. });
        let mut operands = match rows::items(left).filter(relation_is_row) {
            Some(items) => items.into_iter().map(|i| self.bind(i)).collect::<Result<Vec<_>>>()?,
            None => vec![self.bind(left)?],
        };
        self.positive = positive;
        let mut computed = Computed::new();
        for operand in operands.iter_mut().filter(|o| o.expr.is_volatile()) {
            let id = self.binder.column_for("operand", &operand.expr);
            let expr = std::mem::replace(&mut operand.expr, self.binder.column(id));
            computed.push((id, expr));
        }
        Ok((operands, computed))
    }

    /// The comparisons of the left side with the subquery's columns.
    fn conditions(
        &mut self,
        operands: Vec<Bound>,
        op: Comparison,
        query: &'a tree::Query,
    ) -> Result<(LogicalPlan, Vec<Expr>)> {
        let text = self.binder.text;
        let span = operands.first().map_or(Span::default(), |o| o.span);
        let relation = self.subquery(query)?;
        if relation.columns.len() != operands.len() {
            let many = if relation.columns.len() > operands.len() { "many" } else { "few" };
            let error = Error::new(SqlState::SyntaxError, format!("subquery has too {many} columns"));
            return Err(place::at(error, text, span));
        }
        if operands.len() > 1 && op != Comparison::Equal {
            let columns = relation.columns.into_iter().zip(&operands);
            let columns = columns.map(|((_, id), o)| Bound::typed(self.binder.column(id), o.span)).collect();
            let whole = rows::compared(op, operands, columns, text)?;
            return Ok((relation.plan, vec![whole]));
        }
        let mut conditions = Vec::with_capacity(operands.len());
        for (operand, (_, column)) in operands.into_iter().zip(relation.columns) {
            let at = operand.span;
            let column = Bound::typed(self.binder.column(column), at);
            conditions.push(operator::comparison(op, operand, column, text)?);
        }
        Ok((relation.plan, conditions))
    }

    /// Whether a condition holds for any row of a correlated subquery, NULL where that is not known: one look at its rows.
    fn any_of_rows(&mut self, plan: LogicalPlan, condition: Expr, computed: Computed) -> Expr {
        let ty = Type::Boolean;
        let holds = self.binder.columns.add("holds", ty, true);
        let input = LogicalPlan::Project { input: Box::new(plan), expressions: vec![(holds, condition)] };
        let any = |argument: Expr| AggregateCall {
            function: AggregateFunction::BoolOr,
            argument: Some(argument),
            distinct: false,
            filter: None,
            ty,
        };
        let unknown = ExprKind::IsNull { input: Box::new(self.binder.column(holds)), negated: false };
        let calls = [any(self.binder.column(holds)), any(Expr::new(unknown, ty))];
        let aggregates: Vec<_> =
            calls.into_iter().map(|call| (self.binder.columns.add("any", ty, true), call)).collect();
        let [is_true, is_unknown] = [0, 1].map(|at| self.binder.column(aggregates[at].0));
        let input = LogicalPlan::Aggregate { input: Box::new(input), groups: vec![], aggregates };
        let branches = vec![(is_true, Expr::boolean(true)), (is_unknown, crate::bind::null_of(ty))];
        let otherwise = Some(Box::new(Expr::boolean(false)));
        let value = Expr::new(ExprKind::Case { branches, otherwise }, ty);
        let column = self.binder.columns.add("found", ty, true);
        let plan = LogicalPlan::Project { input: Box::new(input), expressions: vec![(column, value)] };
        let placeholder = self.binder.columns.add("subquery", ty, true);
        self.pending.push(Pending { placeholder, plan, kind: PendingKind::Scalar { column, computed } });
        Expr::column(placeholder, ty)
    }

    /// A membership anywhere in an expression.
    fn member(&mut self, left: &'a Ast, op: Comparison, query: &'a tree::Query, anti: bool) -> Result<Bound> {
        let span = self.query_span(query);
        let (operands, computed) = self.left_side(left)?;
        let (mut plan, conditions) = self.conditions(operands.clone(), op, query)?;
        let certain = !conditions.iter().any(|c| self.binder.is_ever_null(c)) || (self.positive && !anti);
        // Copies of a volatile subquery would have other rows.
        let mut rows = None;
        let volatile = !certain && self.binder.is_volatile(&plan);
        if volatile && !free_columns(&plan).is_empty() {
            let found = self.any_of_rows(plan, fold::and(conditions), computed);
            return Ok(Bound::typed(if anti { negated(found) } else { found }, span));
        }
        if volatile {
            plan = self.binder.rows_of_one_run(plan)?;
            rows = Some((plan.clone(), conditions.clone()));
        }
        let found = self.mark(plan, conditions, computed);
        if certain {
            return Ok(Bound::typed(if anti { negated(found) } else { found }, span));
        }
        // Not found, but one comparison was NULL: NULL. A second copy of the subquery looks for that.
        let (plan, conditions) = match &rows {
            Some((plan, conditions)) => {
                let (plan, renamed) = with_new_columns(plan, &mut self.binder.columns);
                let column = |id: ColumnId| renamed.get(&id).map(|to| self.binder.column(*to));
                let conditions = conditions.iter().map(|c| substitute(c.clone(), &column)).collect();
                (plan, conditions)
            }
            None => self.conditions(operands, op, query)?,
        };
        let whole = fold::and(conditions);
        let unknown = match &whole.kind {
            ExprKind::Compare { left, right, .. }
                if free_columns(&plan).is_empty() && right.as_column().is_some() =>
            {
                // Uncorrelated: two facts about the subquery, found once.
                let (left, right) = ((**left).clone(), (**right).clone());
                let is_null = |e: Expr| {
                    Expr::new(ExprKind::IsNull { input: Box::new(e), negated: false }, Type::Boolean)
                };
                let mut reasons = Vec::new();
                if self.binder.is_ever_null(&right) {
                    let nulls = LogicalPlan::Filter { input: Box::new(plan), predicate: is_null(right) };
                    reasons.push(self.has_row(nulls));
                }
                if self.binder.is_ever_null(&left) {
                    let plan = match &rows {
                        Some((plan, _)) => with_new_columns(plan, &mut self.binder.columns).0,
                        None => self.subquery(query)?.plan,
                    };
                    let any = self.has_row(plan);
                    reasons.push(fold::and(vec![is_null(left), any]));
                }
                fold::or(reasons)
            }
            _ => {
                let is_null = ExprKind::IsNull { input: Box::new(whole), negated: false };
                self.mark(plan, vec![Expr::new(is_null, Type::Boolean)], vec![])
            }
        };
        let branches = vec![(found, Expr::boolean(!anti)), (unknown, crate::bind::null_of(Type::Boolean))];
        let otherwise = Some(Box::new(Expr::boolean(anti)));
        Ok(Bound::typed(Expr::new(ExprKind::Case { branches, otherwise }, Type::Boolean), span))
    }

    /// A conjunct as a semi or anti join, if it is a membership.
    pub fn membership(&mut self, ast: &'a Ast) -> Result<Option<Membership>> {
        let (mut ast, mut anti) = (strip(ast), false);
        while let AstKind::Prefix(tree::Operator { kind: OperatorKind::Not, .. }, operand) = &ast.kind {
            anti = !anti;
            ast = strip(operand);
        }
        match &ast.kind {
            AstKind::Exists(subquery) => {
                let relation = self.subquery(subquery)?;
                let plan = match existence(relation.plan) {
                    Existence::Known(found) => {
                        // A relation of one row, or of none, says the same.
                        let rows = if found { vec![vec![]] } else { vec![] };
                        LogicalPlan::Values { columns: vec![], rows }
                    }
                    Existence::Of(plan) if free_columns(&plan).is_empty() => {
                        LogicalPlan::Limit { input: Box::new(plan), offset: 0, count: Some(1) }
                    }
                    Existence::Of(plan) => plan,
                };
                let (conditions, computed) = (vec![], vec![]);
                Ok(Some(Membership { plan, conditions, computed, anti, null_aware: false }))
            }
            AstKind::In(test) => match &test.set {
                tree::InSet::Query(query) => {
                    self.semi(&test.expr, Comparison::Equal, query, anti != test.negated).map(Some)
                }
                tree::InSet::List(_) | tree::InSet::Expr(_) => Ok(None),
            },
            AstKind::Quantified(test) => {
                // A list's elements and patterns are compared with where they stand.
                let (Some(query), Some(op)) = (set_query(&test.set), comparison_of(&test.operator.kind))
                else {
                    return Ok(None);
                };
                match test.quantifier {
                    tree::Quantifier::Any => self.semi(&test.expr, op, query, anti).map(Some),
                    tree::Quantifier::All => self.semi(&test.expr, op.negated(), query, !anti).map(Some),
                }
            }
            _ => Ok(None),
        }
    }

    fn semi(
        &mut self,
        left: &'a Ast,
        op: Comparison,
        query: &'a tree::Query,
        anti: bool,
    ) -> Result<Membership> {
        let (operands, computed) = self.left_side(left)?;
        let (plan, conditions) = self.conditions(operands, op, query)?;
        let certain = !anti || !conditions.iter().any(|c| self.binder.is_ever_null(c));
        if certain {
            return Ok(Membership { plan, conditions, computed, anti, null_aware: false });
        }
        // NOT IN with NULLs. Uncorrelated, it is the join's own kind; otherwise a row is dropped unless every
        // comparison is FALSE, which a condition can say.
        let simple = op == Comparison::Equal && conditions.len() == 1 && free_columns(&plan).is_empty();
        // A left side without columns would leave the comparison to the subquery alone, where no join sees its NULLs.
        let spans = |condition: &Expr| match &condition.kind {
            ExprKind::Compare { left, .. } => !left.columns().is_empty(),
            _ => false,
        };
        if simple && spans(&conditions[0]) {
            return Ok(Membership { plan, conditions, computed, anti, null_aware: true });
        }
        let not_false =
            ExprKind::IsBoolean { input: Box::new(fold::and(conditions)), value: false, negated: true };
        let conditions = vec![Expr::new(not_false, Type::Boolean)];
        Ok(Membership { plan, conditions, computed, anti, null_aware: false })
    }
}

/// Strips what does not matter to whether there is a row.
fn existence(plan: LogicalPlan) -> Existence {
    match plan {
        LogicalPlan::Project { input, .. } => existence(*input),
        LogicalPlan::Sort { input, limit, .. } if limit != Some(0) => existence(*input),
        LogicalPlan::Limit { count: Some(0), .. } => Existence::Known(false),
        LogicalPlan::Limit { input, offset: 0, .. } => existence(*input),
        LogicalPlan::Aggregate { groups, .. } if groups.is_empty() => Existence::Known(true),
        LogicalPlan::Aggregate { input, .. } => existence(*input),
        other => Existence::Of(other),
    }
}
