//! Rows compared as a whole, also with those of subqueries; patterns compared with ANY and ALL; OVERLAPS; ARRAY of a
//! query. What can be said in SQL is bound as a text over its operands, like a macro.
//!
//! Rows of different lengths are errors. A comparison is decided by the first pair that differs, NULL where that is
//! unknown. Called by `chain` and `predicate`, and for subqueries by `decorrelate::subquery`.

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind, Function, LogicalPlan, SortKey};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Comparison, Error, Result, SqlState, Type};

use crate::bind::decorrelate::packing::{ordered_row, piece, typed_null};
use crate::bind::decorrelate::subquery::{Pending, PendingKind};
use crate::bind::decorrelate::unnest::free_columns;
use crate::bind::expression::coerce::{Bound, cast};
use crate::bind::expression::predicate::{Escape, row_of};
use crate::bind::expression::{ExprBinder, fold, is_text_literal, operator, strip, subquery_of, unbracketed};
use crate::bind::{Relation, refusal};
use crate::place;

/// Two periods, each from `a` to `b`, as PostgreSQL has them: a missing end is one that is not known, and a moment
/// that both begin with is enough.
const OVERLAP: &str = "CASE WHEN a1 IS NULL OR a2 IS NULL THEN NULL \
    WHEN a1 > a2 THEN CASE WHEN b2 IS NULL THEN NULL WHEN a1 < b2 THEN true WHEN b1 IS NULL THEN NULL ELSE false END \
    WHEN a1 < a2 THEN CASE WHEN b1 IS NULL THEN NULL WHEN a2 < b1 THEN true WHEN b2 IS NULL THEN NULL ELSE false END \
    ELSE CASE WHEN b1 IS NULL OR b2 IS NULL THEN NULL ELSE true END END";

/// The items of a row: `(a, b)` and `ROW(a, b)`.
pub(crate) fn items(ast: &Ast) -> Option<Vec<&Ast>> {
    row_of(ast).filter(|items| match &strip(ast).kind {
        AstKind::Row { elements, .. } => elements.len() == items.len(),
        _ => false,
    })
}

/// Rows compared item by item: the first pair that differs decides, as PostgreSQL has it.
pub(crate) fn compared(op: Comparison, left: Vec<Bound>, right: Vec<Bound>, text: &str) -> Result<Expr> {
    use Comparison as C;
    let mut pairs: Vec<(Bound, Bound)> = left.into_iter().zip(right).collect();
    if matches!(op, C::Equal | C::NotEqual) {
        let parts = pairs.into_iter().map(|(l, r)| operator::comparison(op, l, r, text));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        return Ok(if op == C::Equal { fold::and(parts) } else { fold::or(parts) });
    }
    let strict = match op {
        C::LessOrEqual => C::Less,
        C::GreaterOrEqual => C::Greater,
        other => other,
    };
    let Some((l, r)) = pairs.pop() else { return Ok(Expr::boolean(op != strict)) };
    let mut whole = operator::comparison(op, l, r, text)?;
    for (l, r) in pairs.into_iter().rev() {
        let beyond = operator::comparison(strict, l.clone(), r.clone(), text)?;
        let equal = operator::comparison(C::Equal, l, r, text)?;
        whole = fold::or(vec![beyond, fold::and(vec![equal, whole])]);
    }
    Ok(whole)
}

/// How a text is matched with patterns.
#[derive(Clone, Copy)]
struct Test {
    negated: bool,
    ignoring_case: bool,
    /// The patterns are regular expressions.
    regular: bool,
}

impl Test {
    /// What an operator tests; `None` of operators over anything else.
    fn of(symbol: &str) -> Option<Self> {
        let (negated, ignoring_case, regular) = match symbol {
            "~~" => (false, false, false),
            "!~~" => (true, false, false),
            "~~*" => (false, true, false),
            "!~~*" => (true, true, false),
            "~" => (false, false, true),
            "!~" => (true, false, true),
            "~*" => (false, true, true),
            "!~*" => (true, true, true),
            _ => return None,
        };
        Some(Test { negated, ignoring_case, regular })
    }
}

/// What stands behind ANY and ALL.
enum Patterns<'a> {
    Query(&'a tree::Query),
    /// Patterns that are written one by one.
    List(Vec<&'a Ast>),
    /// A value that is a list.
    Value(&'a Ast),
}

impl<'a> Patterns<'a> {
    fn of(list: &'a Ast) -> Self {
        match (subquery_of(list), &strip(list).kind) {
            (Some(query), _) => Patterns::Query(query),
            (None, AstKind::List { array: _, elements }) => Patterns::List(elements.iter().collect()),
            (None, _) => Patterns::Value(list),
        }
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// `(a, b) op (SELECT x, y ...)`, in either order; `None` when the operands are something else.
    pub(crate) fn row_with_subquery(
        &mut self,
        op: Comparison,
        left: &'a Ast,
        right: &'a Ast,
    ) -> Result<Option<Bound>> {
        let (row, query, op) = match (subquery_of(left), subquery_of(right)) {
            (_, Some(query)) => (items(left), query, op),
            (Some(query), None) => (items(right), query, op.flipped()),
            (None, None) => return Ok(None),
        };
        let Some(row) = row.filter(|row| row.len() > 1) else { return Ok(None) };
        let width = row.len();
        let mut own = Vec::with_capacity(width);
        for item in row {
            own.push(self.bind(item)?);
        }
        let span = own.first().map_or(Span::default(), |b| b.span);
        let mut others = Vec::with_capacity(width);
        for at in 0..width {
            let column = self.subquery_column(query, at, width)?;
            others.push(column.ok_or_else(|| {
                let message = "subquery has another number of columns than the row";
                place::at(Error::new(SqlState::SyntaxError, message), self.binder.text, span)
            })?);
        }
        Ok(Some(Bound::typed(compared(op, own, others, self.binder.text)?, span)))
    }

    /// A text over named operands, bound like the body of a macro.
    pub(crate) fn written_over(
        &mut self,
        what: &str,
        text: &str,
        operands: Vec<(&str, Bound)>,
    ) -> Result<Bound> {
        let span = operands.first().map_or(Span::default(), |(_, b)| b.span);
        let frame = operands.into_iter().map(|(name, bound)| (name.to_owned(), bound)).collect();
        self.binder.arguments.push(frame);
        let result = self.bind_inside(what.to_owned(), format!("SELECT {text}"), span);
        self.binder.arguments.pop();
        result.map(|bound| Bound { span, ..bound })
    }

    /// `(start, end) OVERLAPS (start, end)`; an end may be a length.
    pub(crate) fn overlaps(&mut self, left: &'a Ast, right: &'a Ast) -> Result<Bound> {
        let (Some(left), Some(right)) = (items(left), items(right)) else {
            return Err(Error::new(
                SqlState::SyntaxError,
                "OVERLAPS takes two rows: (start, end) OVERLAPS (start, end)",
            ));
        };
        if left.len() != 2 || right.len() != 2 {
            let message = "wrong number of parameters on the left or right side of OVERLAPS expression";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        let mut operands = Vec::with_capacity(4);
        for (names, period) in [(["a1", "b1"], left), (["a2", "b2"], right)] {
            let (start, end) = (self.bind(period[0])?, self.bind(period[1])?);
            let end = match end.ty().is_interval() {
                true => self.written_over("OVERLAPS", "s + l", vec![("s", start.clone()), ("l", end)])?,
                false => end,
            };
            // The two may stand in either order.
            let ends = vec![("s", start), ("e", end)];
            let last = "CASE WHEN s IS NOT NULL AND e IS NOT NULL THEN greatest(s, e) END";
            let first = self.written_over("OVERLAPS", "least(s, e)", ends.clone())?;
            operands.extend([(names[0], first), (names[1], self.written_over("OVERLAPS", last, ends)?)]);
        }
        self.written_over("OVERLAPS", OVERLAP, operands)
    }

    /// `x ~~ ANY (patterns)`, `x ~ ANY (patterns)` and their kin; `None` of other operators.
    pub(crate) fn quantified_pattern(
        &mut self,
        left: &'a Ast,
        op: &tree::OperatorKind,
        set: &'a tree::InSet,
        all: bool,
    ) -> Result<Option<Bound>> {
        let tree::OperatorKind::Symbol(symbol) = op else { return Ok(None) };
        let Some(test) = Test::of(symbol) else { return Ok(None) };
        let patterns = match set {
            tree::InSet::Query(query) => Patterns::Query(unbracketed(query)),
            tree::InSet::Expr(list) => Patterns::of(list),
            tree::InSet::List(_) => return Ok(None),
        };
        self.among_patterns(left, test, patterns, all).map(Some)
    }

    /// `x [NOT] LIKE ANY (patterns)`, and with ALL.
    pub(crate) fn like_any(&mut self, test: &'a tree::LikeTest, all: bool, at: Span) -> Result<Bound> {
        let tree::LikeTest { expr, negated, kind, quantifier: _, pattern, escape } = test;
        let ignoring_case = match kind {
            tree::LikeKind::Like => false,
            tree::LikeKind::ILike => true,
            _ => {
                let what = "ANY and ALL behind patterns of this kind";
                return Err(refusal::unsupported(what, self.text(), at));
            }
        };
        if let Some(escape) = escape {
            return Err(refusal::unsupported("ESCAPE behind ANY and ALL", self.text(), escape.span));
        }
        // Several patterns, or a text that is one, are a list; one value is a list already.
        let patterns = match &pattern.kind {
            AstKind::Subquery(query) => Patterns::Query(query),
            AstKind::Row { row: false, elements } if elements.len() != 1 => {
                Patterns::List(elements.iter().collect())
            }
            kind => {
                let one = match kind {
                    AstKind::Nested(one) => &**one,
                    AstKind::Row { row: false, elements } => elements.first().unwrap_or(pattern),
                    _ => pattern,
                };
                match is_text_literal(one) {
                    Some(text) if !text.starts_with('{') => Patterns::List(vec![one]),
                    _ => Patterns::of(one),
                }
            }
        };
        let test = Test { negated: *negated, ignoring_case, regular: false };
        self.among_patterns(expr, test, patterns, all)
    }

    fn among_patterns(
        &mut self,
        left: &'a Ast,
        test: Test,
        patterns: Patterns<'a>,
        all: bool,
    ) -> Result<Bound> {
        let Test { negated, ignoring_case, regular } = test;
        let patterns = match patterns {
            Patterns::List(list) => {
                let mut found = Vec::with_capacity(list.len());
                let mut span = Span::default();
                for pattern in list {
                    let (value, pattern) = (self.bind(left)?, self.bind(pattern)?);
                    let one = match regular {
                        true => self.regular_expression(value, pattern, negated, ignoring_case)?,
                        false => self.like(value, pattern, Escape::Unsaid, negated, ignoring_case)?,
                    };
                    span = one.span;
                    found.push(one.expr);
                }
                return Ok(Bound::typed(if all { fold::and(found) } else { fold::or(found) }, span));
            }
            other => other,
        };
        let value = self.bind(left)?;
        let patterns = match patterns {
            Patterns::Query(query) => self.array_of_query(query)?,
            Patterns::Value(list) => self.bind(list)?,
            Patterns::List(_) => return Err(Error::internal("a list of patterns")),
        };
        let patterns = match patterns.untyped {
            true => {
                let list = Type::list(Type::Text)?;
                Bound::typed(
                    crate::bind::expression::coerce::read_literal(&patterns, list, self.binder.text)?,
                    patterns.span,
                )
            }
            false => patterns,
        };
        let like = match (negated, ignoring_case, regular) {
            (false, false, false) => "LIKE",
            (true, false, false) => "NOT LIKE",
            (false, true, false) => "ILIKE",
            (true, true, false) => "NOT ILIKE",
            (false, false, true) => "~",
            (true, false, true) => "!~",
            (false, true, true) => "~*",
            (true, true, true) => "!~*",
        };
        let tested = self.written_over(
            "a pattern with ANY or ALL",
            &format!("list_transform(p, e -> v {like} e)"),
            vec![("v", value), ("p", patterns)],
        )?;
        // As a chain of ORs, or of ANDs, over the elements.
        let decisive = !all;
        let text = format!(
            "CASE WHEN m IS NULL THEN NULL WHEN list_contains(m, {decisive}) THEN {decisive} \
             WHEN len(list_filter(m, e -> e IS NULL)) > 0 THEN NULL ELSE {all} END"
        );
        self.written_over("a pattern with ANY or ALL", &text, vec![("m", tested)])
    }

    /// `ARRAY(SELECT x ...)`: the query's rows as a list, in their order; an empty one of no rows.
    pub(crate) fn array_of_query(&mut self, query: &'a tree::Query) -> Result<Bound> {
        let text = self.binder.text;
        let relation = self.binder.bind_query(query, Some(self.scope.clone()))?;
        let Relation { plan, columns } = relation;
        let [(_, column)] = columns.as_slice() else {
            let message = "subquery must return only one column";
            return Err(place::at(Error::new(SqlState::SyntaxError, message), text, Span::default()));
        };
        let (plan, keys) = self.ordered(plan);
        let value = typed_null(self.binder.column(*column));
        let element = value.ty;
        let (slot, packed) = piece("list", value, None)?;
        let ordered = !keys.is_empty();
        let argument = if ordered { ordered_row(keys, slot) } else { slot };
        let function = AggregateFunction::StringAgg { delimiter: "".into(), ordered, most: None };
        let ty = argument.ty;
        let call = AggregateCall { function, argument: Some(argument), distinct: false, filter: None, ty };
        let gathered = self.binder.columns.add("array", ty, true);
        let plan = LogicalPlan::Aggregate {
            input: Box::new(plan),
            groups: vec![],
            aggregates: vec![(gathered, call)],
        };
        let list = Type::list(element)?;
        let array = self.binder.columns.add("array", list, true);
        let expressions = vec![(array, packed.unpacked(Expr::column(gathered, ty), vec![]))];
        let plan = LogicalPlan::Project { input: Box::new(plan), expressions };
        let found = match free_columns(&plan).is_empty() {
            true => self.run_before(plan, array, list),
            false => {
                let placeholder = self.binder.columns.add("subquery", list, true);
                let kind = PendingKind::Scalar { column: array, computed: vec![] };
                self.pending.push(Pending { placeholder, plan, kind });
                Expr::column(placeholder, list)
            }
        };
        let empty = crate::bind::nested::list_of(vec![], element)?;
        let arguments = vec![found, cast(empty, list)];
        let kind = ExprKind::Function { function: Function::Coalesce, arguments };
        Ok(Bound::typed(Expr::new(kind, list), Span::default()))
    }

    /// The plan and the keys that its rows are in the order of, as columns that it gives.
    fn ordered(&mut self, plan: LogicalPlan) -> (LogicalPlan, Vec<SortKey>) {
        let keys = match sorted(&plan) {
            Some(keys) => keys.to_vec(),
            None => return (plan, vec![]),
        };
        let named: Vec<(ColumnId, Expr)> = keys
            .iter()
            .map(|key| (self.binder.columns.add("key", key.expr.ty, true), key.expr.clone()))
            .collect();
        let own = keys
            .into_iter()
            .zip(&named)
            .map(|(key, (id, _))| SortKey { expr: self.binder.column(*id), ..key });
        let own = own.collect();
        (with_keys(plan, &named, &|id| self.binder.columns.get(id).ty), own)
    }
}

/// The keys of the topmost sort, if nothing but a limit is above it.
fn sorted(plan: &LogicalPlan) -> Option<&[SortKey]> {
    match plan {
        LogicalPlan::Sort { keys, .. } => Some(keys),
        LogicalPlan::Limit { input, .. } => sorted(input),
        _ => None,
    }
}

/// The plan with the keys' values below its sort.
fn with_keys(plan: LogicalPlan, keys: &[(ColumnId, Expr)], ty: &dyn Fn(ColumnId) -> Type) -> LogicalPlan {
    match plan {
        LogicalPlan::Sort { input, keys: by, limit } => {
            let mut expressions: Vec<(ColumnId, Expr)> =
                input.output().into_iter().map(|id| (id, Expr::column(id, ty(id)))).collect();
            expressions.extend(keys.iter().cloned());
            let input = Box::new(LogicalPlan::Project { input, expressions });
            match limit {
                None => *input,
                limit => LogicalPlan::Sort { input, keys: by, limit },
            }
        }
        LogicalPlan::Limit { input, offset, count } => {
            LogicalPlan::Limit { input: Box::new(sort_kept(*input, keys, ty)), offset, count }
        }
        other => other,
    }
}

/// As `with_keys`, for a sort that a limit counts on.
fn sort_kept(plan: LogicalPlan, keys: &[(ColumnId, Expr)], ty: &dyn Fn(ColumnId) -> Type) -> LogicalPlan {
    match plan {
        LogicalPlan::Sort { input, keys: by, limit } => {
            let mut expressions: Vec<(ColumnId, Expr)> =
                input.output().into_iter().map(|id| (id, Expr::column(id, ty(id)))).collect();
            expressions.extend(keys.iter().cloned());
            LogicalPlan::Sort {
                input: Box::new(LogicalPlan::Project { input, expressions }),
                keys: by,
                limit,
            }
        }
        LogicalPlan::Limit { input, offset, count } => {
            LogicalPlan::Limit { input: Box::new(sort_kept(*input, keys, ty)), offset, count }
        }
        other => other,
    }
}
