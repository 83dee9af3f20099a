//! Expressions of the syntax tree, one method a kind.
//!
//! `ExprBinder` works for one clause: its fields say which calls are allowed and collect what belongs elsewhere in
//! the plan (aggregates, windows, unnested lists, subqueries). `bind` gives a `Bound`, whose quoted literals have no
//! type until the context settles them. Names mean macro arguments, columns of `Scope` or aliases of
//! the select list, in this order.

use std::rc::Rc;

use plan::{Arithmetic, Expr, ExprKind};
use sqlparser::ast::{
    BinaryOperator, CastKind, Expr as Ast, Ident, SelectItem, UnaryOperator, Value as AstValue, ValueWithSpan,
};
use sqlparser::tokenizer::Span;
use types::stop::{self, Place};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use super::aggregate::Aggregates;
use super::coerce::{self, Bound};
use super::predicate::{negated, row_of};
use super::reserved::reserved;
use super::scope::Scope;
use super::subquery::Pending;
use super::window::Windows;
use super::{Binder, fold, folded, literal, operator, own};
use crate::made::POSITIONAL;
use crate::names::Name;
use crate::place::Placed;
use crate::{place, stack};

/// Uses of the select list's aliases in one statement: an alias of aliases is written out at each.
const ALIAS_USES_MAX: usize = 10_000;
/// Functions that give something else each time they are called.
const VOLATILE: [&str; 5] = ["random(", "uuid(", "nextval(", "setval(", "clock_timestamp("];

/// Where an expression stands, for rules and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Select,
    Where,
    GroupBy,
    Having,
    OrderBy,
    Qualify,
    On,
    Values,
    Limit,
    Argument,
    Update,
    Merge,
    Returning,
    Generated,
}

impl Clause {
    /// The clause as error messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::Where => "WHERE",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Qualify => "QUALIFY",
            Clause::On => "JOIN conditions",
            Clause::Values => "VALUES",
            Clause::Limit => "LIMIT",
            Clause::Argument => "the arguments of an aggregate function",
            Clause::Update => "UPDATE",
            Clause::Merge => "MERGE WHEN",
            Clause::Returning => "RETURNING",
            Clause::Generated => "column generation expressions",
        }
    }
}

/// Binds the expressions of one clause.
pub(crate) struct ExprBinder<'b, 'a> {
    /// The state of the whole statement.
    pub binder: &'b mut Binder<'a>,
    /// The columns that names here can mean.
    pub scope: Rc<Scope>,
    /// Decides which calls are allowed and what errors say.
    pub clause: Clause,
    /// Where aggregate calls go; `None` where they are not allowed.
    pub aggregates: Option<Aggregates<'a>>,
    /// Where window calls go; `None` where they are not allowed.
    pub windows: Option<Windows<'a>>,
    /// Where lists go that the select list unnests; `None` where that is not allowed.
    pub unnests: Option<Vec<(plan::ColumnId, Expr)>>,
    /// Inside a window call.
    pub in_window: bool,
    /// Names of the select list, which QUALIFY may use.
    pub aliases: Vec<(Rc<str>, Bound)>,
    /// The select list as it was written, as far as expressions here may use its aliases.
    pub listed: &'a [SelectItem],
    /// Subqueries found, to be joined to the plan that the expression is evaluated over.
    pub pending: Vec<Pending>,
    /// NULL counts as FALSE here: a conjunct or disjunct of a WHERE.
    pub positive: bool,
    /// Expressions around the one being bound; bounded by `stack::DEPTH_MAX`.
    pub depth: usize,
    /// Within an operand of AND, OR, NOT or WHEN, where functions give no rows.
    pub in_condition: bool,
    /// Within TRY, where what a value is at fault for is left to the evaluation.
    pub trying: bool,
}

impl<'b, 'a> ExprBinder<'b, 'a> {
    /// A binder that allows no aggregate, window or set-returning calls until their fields are set.
    pub fn new(binder: &'b mut Binder<'a>, scope: Rc<Scope>, clause: Clause) -> Self {
        ExprBinder {
            binder,
            scope,
            clause,
            aggregates: None,
            windows: None,
            unnests: None,
            in_window: false,
            aliases: Vec::new(),
            listed: &[],
            pending: Vec::new(),
            positive: false,
            depth: 0,
            in_condition: false,
            trying: false,
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.binder.text
    }

    /// A bound expression of its own type; a quoted literal becomes TEXT.
    pub fn value(&mut self, ast: &'a Ast) -> Result<Expr> {
        let bound = self.bind(ast)?;
        super::check_depth(&bound.expr)?;
        Ok(bound.settled())
    }

    /// A BOOLEAN expression; any other type is an error in which `what` names the clause.
    pub fn condition(&mut self, ast: &'a Ast, what: &str) -> Result<Expr> {
        let bound = self.bind(ast)?;
        super::check_depth(&bound.expr)?;
        operator::condition(bound, what, self.text())
    }

    /// Binds one expression. An interrupt of the statement or too deep nesting is an error.
    pub fn bind(&mut self, ast: &'a Ast) -> Result<Bound> {
        stop::check(Place::Bind)?;
        self.depth += 1;
        // Far above what is let through in the end; the stack was sized for the text.
        if self.depth > stack::DEPTH_MAX {
            return Err(stack::too_deep());
        }
        let positive = self.positive;
        if !matches!(
            ast,
            Ast::Nested(_)
                | Ast::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }
                | Ast::Exists { .. }
                | Ast::InSubquery { .. }
                | Ast::AnyOp { .. }
        ) {
            self.positive = false;
        }
        let grouped =
            self.aggregates.as_ref().and_then(|a| a.grouped.iter().find(|(group, _)| *group == ast));
        let result = match grouped {
            Some((_, expr)) => Ok(Bound::typed(expr.clone(), Span::empty())),
            None => self.dispatch(ast),
        };
        self.positive = positive;
        self.depth -= 1;
        result
    }

    fn dispatch(&mut self, ast: &'a Ast) -> Result<Bound> {
        match ast {
            Ast::Identifier(ident) => self.identifier(std::slice::from_ref(ident)),
            Ast::CompoundIdentifier(idents) => self.identifier(idents),
            Ast::Value(value) => self.literal(value),
            Ast::Nested(inner) => self.bind(inner),
            Ast::BinaryOp { left, op, right } => self.binary(ast, left, op, right),
            Ast::UnaryOp { op, expr } => self.unary(op, expr),
            Ast::IsNull(e) => self.is_null(e, false),
            Ast::IsNotNull(e) => self.is_null(e, true),
            Ast::IsTrue(e) => self.is_boolean(e, true, false),
            Ast::IsNotTrue(e) => self.is_boolean(e, true, true),
            Ast::IsFalse(e) => self.is_boolean(e, false, false),
            Ast::IsNotFalse(e) => self.is_boolean(e, false, true),
            Ast::IsUnknown(e) => self.is_unknown(e, false),
            Ast::IsNotUnknown(e) => self.is_unknown(e, true),
            Ast::IsDistinctFrom(l, r) => self.distinct_from(l, r, true),
            Ast::IsNotDistinctFrom(l, r) => self.distinct_from(l, r, false),
            Ast::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Ast::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_ref(), *negated, false)
            }
            Ast::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_ref(), *negated, true)
            }
            Ast::Like { negated, any: true, expr, pattern, escape_char }
            | Ast::ILike { negated, any: true, expr, pattern, escape_char } => {
                let case_insensitive = matches!(ast, Ast::ILike { .. });
                let patterns = match strip(pattern) {
                    Ast::Tuple(list) => list.as_slice(),
                    Ast::Array(list) => list.elem.as_slice(),
                    other => std::slice::from_ref(other),
                };
                let mut found = Vec::with_capacity(patterns.len());
                let mut span = Span::empty();
                for pattern in patterns {
                    let one = self.like(expr, pattern, escape_char.as_ref(), *negated, case_insensitive)?;
                    span = one.span;
                    found.push(one.expr);
                }
                Ok(Bound::typed(fold::or(found), span))
            }
            Ast::RLike { negated, expr, pattern, .. } => {
                self.regular_expression(expr, pattern, *negated, false)
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                self.similar_to(expr, pattern, escape_char.as_ref(), *negated)
            }
            Ast::Cast { kind, expr, data_type, array: false, format: None } => {
                let lenient = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
                let bound = match data_type {
                    sqlparser::ast::DataType::Boolean | sqlparser::ast::DataType::Bool => {
                        self.bind_condition(expr)?
                    }
                    _ => self.bind(expr)?,
                };
                self.cast(bound, data_type, lenient)
            }
            Ast::TypedString(typed) => {
                let bound = self.literal(&typed.value)?;
                self.cast(bound, &typed.data_type, false)
            }
            Ast::Interval(interval) => {
                let span = literal_span(&interval.value);
                match literal::interval(interval).placed(self.text(), span)? {
                    Some(constant) => Ok(Bound::typed(constant, span)),
                    None => self.computed_interval(interval),
                }
            }
            Ast::Case { operand, conditions, else_result, case_token, .. } => {
                let span = case_token.0.span;
                self.case(operand.as_deref(), conditions, else_result.as_deref(), span)
            }
            Ast::Function(function) => self.function(function),
            Ast::Extract { field, expr, .. } => self.extract(field, expr),
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref())
            }
            Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
                self.trim(trim_where.as_ref(), trim_what.as_deref(), expr, trim_characters.as_deref())
            }
            Ast::Position { expr, r#in } => self.call("strpos", &[r#in, expr]),
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut arguments: Vec<&'a Ast> = vec![expr, overlay_what, overlay_from];
                arguments.extend(overlay_for.as_deref());
                self.call("overlay", &arguments)
            }
            Ast::Ceil { expr, .. } => self.call("ceil", &[expr]),
            Ast::Floor { expr, .. } => self.call("floor", &[expr]),
            Ast::AtTimeZone { timestamp, time_zone } => self.at_time_zone(timestamp, time_zone),
            Ast::Collate { expr, collation } => {
                let name = collation.to_string();
                if !matches!(name.trim_matches('"').to_lowercase().as_str(), "c" | "posix" | "ucs_basic") {
                    return Err(Error::unsupported(format!("collation {name} is not supported"))
                        .with_hint("text is ordered by its bytes, which is collation \"C\""));
                }
                self.bind(expr)
            }
            Ast::Array(list) => self.list_literal(&list.elem),
            Ast::Dictionary(fields) => self.struct_literal(fields),
            Ast::Map(map) => self.map_literal(&map.entries),
            Ast::Tuple(values) => self.row(values),
            Ast::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            Ast::Exists { subquery, negated } => self.exists(subquery, *negated),
            Ast::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated),
            Ast::Subquery(query) => self.scalar_subquery(query),
            Ast::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, false),
            Ast::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, true),
            other => Err(self.unsupported_expression(other)),
        }
    }

    pub(super) fn unsupported_expression(&self, ast: &Ast) -> Error {
        use sqlparser::ast::Spanned;
        let mut shown = ast.to_string();
        if shown.chars().count() > 60 {
            shown = shown.chars().take(60).chain("...".chars()).collect();
        }
        place::at(
            Error::unsupported(format!("the expression {shown} is not supported")),
            self.text(),
            ast.span(),
        )
    }

    fn identifier(&mut self, idents: &'a [Ident]) -> Result<Bound> {
        let found = self.column(idents);
        // `alias.x` is the alias x, where there is no table of that name with such a column.
        match (idents, found) {
            (_, Ok(Some(bound))) => return Ok(bound),
            ([ident], Ok(None)) => {
                if let Some(bound) = self.listed_alias(ident)? {
                    return Ok(bound);
                }
            }
            ([prefix, ident], found) if folded(prefix) == "alias" => match self.listed_alias(ident)? {
                Some(bound) => return Ok(bound),
                None => drop(found?),
            },
            (_, found) => drop(found?),
        }
        if let [ident] = idents
            && let Some(row) = self.whole_row(ident)?
        {
            return Ok(row);
        }
        if idents.len() > 1 {
            // A struct's column, and names of fields.
            return self.named_value(&idents.iter().collect::<Vec<_>>());
        }
        Err(self.unknown_column(idents))
    }

    /// What an alias further left in the select list stands for, where no column has the name: bound anew, as if its
    /// expression were written here.
    pub(super) fn listed_alias(&mut self, ident: &'a Ident) -> Result<Option<Bound>> {
        let name = Name::of(ident);
        let named = |fits: &dyn Fn(&str) -> bool| {
            self.listed.iter().enumerate().rev().find_map(|(at, item)| match item {
                SelectItem::ExprWithAlias { expr, alias } if fits(&folded(alias)) => Some((at, expr)),
                _ => None,
            })
        };
        let written = named(&|alias| name.is(alias)).or_else(|| named(&|alias| name.resembles(alias)));
        let Some((at, expr)) = written else { return Ok(None) };
        let name = name.text;
        self.binder.alias_uses += 1;
        if self.binder.alias_uses > ALIAS_USES_MAX {
            let message = "aliases of the select list are used too often";
            return Err(place::at(
                Error::new(SqlState::StatementTooComplex, message),
                self.text(),
                ident.span,
            ));
        }
        let text = expr.to_string().to_lowercase();
        if VOLATILE.iter().any(|name| text.contains(name)) {
            let message = format!("\"{name}\" would be computed anew where it is used");
            let error = Error::unsupported(message).with_hint("compute it in a subquery in FROM");
            return Err(place::at(error, self.text(), ident.span));
        }
        // It sees what stands further left of it, so that none sees itself.
        let around = self.listed;
        self.listed = &around[..at];
        let bound = self.bind(expr);
        self.listed = around;
        Ok(Some(Bound { span: ident.span, ..bound? }))
    }

    /// The error for names that are no column.
    pub(super) fn unknown_column(&self, idents: &[Ident]) -> Error {
        let span = Span::union_iter(idents.iter().map(|i| i.span));
        let names: Vec<Name> = idents.iter().map(Name::of).collect();
        let (table, name) = match names.as_slice() {
            [name] => (None, &name.text),
            [.., table, name] if names.len() <= 4 => (Some(table), &name.text),
            _ => {
                let error =
                    Error::unsupported("a column is named by at most database, schema, table and column");
                return place::at(error, self.text(), span);
            }
        };
        let reserved = idents.iter().find_map(reserved);
        let error = reserved.unwrap_or_else(|| self.scope.unknown(table, name));
        let error = match idents {
            [ident] if ident.quote_style == Some('"') && error.hint().is_none() => {
                error.with_hint("double quotes make a name; text stands in single quotes")
            }
            _ => error,
        };
        place::at(error, self.text(), span)
    }

    /// The column, argument or select item of that name; `None` when there is none.
    pub(super) fn column(&mut self, idents: &[Ident]) -> Result<Option<Bound>> {
        let span = Span::union_iter(idents.iter().map(|i| i.span));
        let names: Vec<Name> = idents.iter().map(Name::of).collect();
        let Some((schema, table, name)) = qualified(&names) else { return self.in_database(&names, span) };
        if let [Ident { value, quote_style: Some(POSITIONAL), .. }] = idents {
            let at = value.trim_start_matches('#').parse::<usize>().ok().and_then(|at| at.checked_sub(1));
            return match at.and_then(|at| self.scope.star().nth(at)) {
                Some(entry) => Ok(Some(Bound::typed(self.binder.column(entry.id), span))),
                None => {
                    let message = format!("positional reference {value} is not one of FROM's columns");
                    let error = Error::new(SqlState::InvalidColumnReference, message);
                    Err(place::at(error, self.text(), span))
                }
            };
        }
        if let (None, Some(frame)) = (table, self.binder.arguments.last())
            && let Some((_, argument)) = frame.iter().find(|(parameter, _)| name.is(parameter))
        {
            return Ok(Some(Bound { span, ..argument.clone() }));
        }
        if let Some(entry) = self.scope.find(schema, table, name).placed(self.text(), span)? {
            return Ok(Some(Bound::typed(self.binder.column(entry.id), span)));
        }
        if table.is_some() {
            return self.in_database(&names, span);
        }
        let aliases = self.aliases.iter().map(|(alias, _)| &**alias);
        let at = name.position(aliases, "column").placed(self.text(), span)?;
        Ok(at.map(|at| Bound { span, ..self.aliases[at].1.clone() }))
    }

    /// A column whose table's name has a database in front: `db.table.column`, `db.schema.table.column`.
    fn in_database(&mut self, names: &[Name], span: Span) -> Result<Option<Bound>> {
        let [relation @ .., name] = names else { return Ok(None) };
        if !(2..=3).contains(&relation.len()) {
            return Ok(None);
        }
        // What is no database, or no schema of one, may be a column with fields.
        let Ok((Some(schema), table)) = self.binder.placed(relation) else { return Ok(None) };
        let found = self.scope.find(Some(&schema), Some(&table), name).placed(self.text(), span)?;
        Ok(found.map(|entry| Bound::typed(self.binder.column(entry.id), span)))
    }

    /// What a column that a select list names is called: as it is spelled where it comes from.
    pub(super) fn spelling(&self, ast: &Ast) -> Option<Rc<str>> {
        let idents = match strip(ast) {
            Ast::Identifier(ident) => std::slice::from_ref(ident),
            Ast::CompoundIdentifier(idents) => idents.as_slice(),
            _ => return None,
        };
        let names: Vec<Name> = idents.iter().map(Name::of).collect();
        if let Some((schema, table, name)) = qualified(&names)
            && let Some(entry) = self.scope.find(schema, table, name).ok()?
        {
            return Some(entry.name.clone());
        }
        // A column, and fields of it.
        let fields = |count: usize| {
            let (schema, table, name) = qualified(&names[..count])?;
            let id = self.scope.find(schema, table, name).ok()??.id;
            names[count..].iter().try_fold(
                (self.binder.columns.get(id).ty, String::new()),
                |(ty, _), name| {
                    let known = ty.fields()?;
                    let at = name.position(known.iter().map(|(own, _)| own.as_str()), "field").ok()??;
                    let (own, ty) = &known[at];
                    Some((*ty, own.clone()))
                },
            )
        };
        let (_, name) = (1..names.len().min(4)).rev().find_map(fields)?;
        Some(name.as_str().into())
    }

    fn literal(&mut self, value: &ValueWithSpan) -> Result<Bound> {
        let span = value.span;
        let expr = match &value.value {
            AstValue::Number(text, _) => literal::number(text).placed(self.text(), span)?,
            AstValue::Boolean(b) => Expr::boolean(*b),
            AstValue::Null => Expr::literal(Value::Null, Type::Null),
            AstValue::SingleQuotedString(s)
            | AstValue::EscapedStringLiteral(s)
            | AstValue::UnicodeStringLiteral(s)
            | AstValue::NationalStringLiteral(s) => {
                return Ok(Bound { expr: Expr::literal(Value::text(s), Type::Text), untyped: true, span });
            }
            AstValue::SingleQuotedByteStringLiteral(digits) => {
                let read = types::bits::parse(&format!("b{digits}")).placed(self.text(), span)?;
                let ty = if read.is_empty() { Type::BITS } else { Type::Bit(read.len() as u32) };
                Expr::literal(Value::text(&read), ty)
            }
            AstValue::DollarQuotedString(s) => {
                return Ok(Bound {
                    expr: Expr::literal(Value::text(&s.value), Type::Text),
                    untyped: true,
                    span,
                });
            }
            AstValue::Placeholder(name) => {
                let number = name.trim_start_matches('$').parse::<usize>().ok();
                let value = number.and_then(|n| self.binder.values.get(n.checked_sub(1)?));
                let Some((value, ty)) = value else {
                    let error =
                        Error::new(SqlState::UndefinedParameter, format!("there is no parameter {name}"))
                            .with_hint("give its value with EXECUTE, or beside the statement's text");
                    return Err(place::at(error, self.text(), span));
                };
                let untyped = ty.is_text() && !value.is_null();
                return Ok(Bound { expr: Expr::literal(value.clone(), *ty), untyped, span });
            }
            other => {
                let error = Error::unsupported(format!("the literal {other} is not supported"));
                return Err(place::at(error, self.text(), span));
            }
        };
        Ok(Bound::typed(expr, span))
    }

    fn binary(&mut self, ast: &'a Ast, left: &'a Ast, op: &BinaryOperator, right: &'a Ast) -> Result<Bound> {
        use BinaryOperator as B;
        if matches!(op, B::And | B::Or) {
            return self.connective(ast, matches!(op, B::And));
        }
        if let Some(comparison) = comparison_operator(op) {
            if let (Some(l), Some(r)) = (row_of(left), row_of(right)) {
                return self.row_comparison(comparison, &l, &r);
            }
            if let Some(bound) = self.row_with_subquery(comparison, left, right)? {
                return Ok(bound);
            }
            // Beside TRUE or FALSE stands a condition.
            let conditions = is_truth(left) || is_truth(right);
            let outside = self.in_condition;
            self.in_condition |= conditions;
            let operands = (self.bind(left), self.bind(right));
            self.in_condition = outside;
            let (l, r) = (operands.0?, operands.1?);
            let span = l.span.union(&r.span);
            let compared = operator::comparison(comparison, l, r, self.text())?;
            return Ok(Bound::typed(operator::literal_right(compared), span));
        }
        let arithmetic = match op {
            B::Plus => Arithmetic::Add,
            B::Minus => Arithmetic::Subtract,
            B::Multiply => Arithmetic::Multiply,
            B::Divide => Arithmetic::Divide,
            B::Modulo => Arithmetic::Modulo,
            B::StringConcat => {
                let (l, r) = (self.bind(left)?, self.bind(right)?);
                let span = l.span.union(&r.span);
                let of_json = |b: &Bound| b.ty().is_json() || b.untyped || b.is_null();
                if (l.ty() == Type::Jsonb || r.ty() == Type::Jsonb) && of_json(&l) && of_json(&r) {
                    return self.jsonb_operator("jsonb_concat", l, r);
                }
                return Ok(Bound::typed(operator::concatenate(l, r, self.text())?, span));
            }
            B::DuckIntegerDivide => {
                let (l, r) = self.operands(left, right)?;
                let span = l.span.union(&r.span);
                return Ok(Bound::typed(self.whole_quotient(l, r, span)?, span));
            }
            B::PGExp => return self.call("power", &[left, right]),
            B::Overlaps => return self.overlaps(left, right),
            B::PGLikeMatch => return self.like(left, right, None, false, false),
            B::PGNotLikeMatch => return self.like(left, right, None, true, false),
            B::PGILikeMatch => return self.like(left, right, None, false, true),
            B::PGNotILikeMatch => return self.like(left, right, None, true, true),
            B::PGRegexMatch => return self.regular_expression(left, right, false, false),
            B::PGRegexNotMatch => return self.regular_expression(left, right, true, false),
            B::PGRegexIMatch => return self.regular_expression(left, right, false, true),
            B::PGRegexNotIMatch => return self.regular_expression(left, right, true, true),
            B::Arrow
            | B::LongArrow
            | B::HashArrow
            | B::HashLongArrow
            | B::AtArrow
            | B::ArrowAt
            | B::Question
            | B::QuestionPipe
            | B::QuestionAnd
            | B::PGOverlap => {
                return self.nested_operator(op, left, right);
            }
            B::HashMinus => {
                let (l, r) = (self.bind(left)?, self.bind(right)?);
                return self.jsonb_operator("jsonb_delete_path", l, r);
            }
            B::PGStartsWith => return self.call("starts_with", &[left, right]),
            B::BitwiseAnd
            | B::BitwiseOr
            | B::PGBitwiseXor
            | B::PGBitwiseShiftLeft
            | B::PGBitwiseShiftRight => {
                let (l, r) = (self.bind(left)?, self.bind(right)?);
                let symbol = match op {
                    B::BitwiseAnd => "&",
                    B::BitwiseOr => "|",
                    B::PGBitwiseXor => "#",
                    B::PGBitwiseShiftLeft => "<<",
                    _ => ">>",
                };
                return own::bits(symbol, l, r, self.text());
            }
            other => {
                let span = literal_span(left);
                let error = Error::unsupported(format!("operator {other} is not supported"));
                return Err(place::at(error, self.text(), span));
            }
        };
        let (l, r) = self.operands(left, right)?;
        let span = l.span.union(&r.span);
        if matches!(op, B::Minus) && l.ty() == Type::Jsonb {
            return self.jsonb_operator("jsonb_minus", l, r);
        }
        Ok(Bound::typed(operator::arithmetic(arithmetic, l, r, self.text())?, span))
    }

    /// The operands of arithmetic. A number that is written next to a TINYINT, an unsigned integer or a HUGEINT is of
    /// that type where it fits, as in DuckDB.
    fn operands(&mut self, left: &'a Ast, right: &'a Ast) -> Result<(Bound, Bound)> {
        let (mut l, mut r) = (self.bind(left)?, self.bind(right)?);
        let (lt, rt) = (l.ty(), r.ty());
        if lt.is_ranged_integer() && is_number(right) && coerce::holds_literal(lt, &r.expr) {
            r.expr = coerce::cast(r.expr, lt);
        } else if rt.is_ranged_integer() && is_number(left) && coerce::holds_literal(rt, &l.expr) {
            l.expr = coerce::cast(l.expr, rt);
        }
        Ok((l, r))
    }

    /// An operator of JSONB, under the name of a call.
    fn jsonb_operator(&mut self, name: &str, left: Bound, right: Bound) -> Result<Bound> {
        let span = left.span.union(&right.span);
        match self.nested_call(name, &[left, right], span)? {
            Some(expr) => Ok(Bound::typed(super::fold::fold(expr), span)),
            None => Err(Error::internal("an operator of JSONB")),
        }
    }

    /// A chain of ANDs or ORs, without recursion along the chain.
    fn connective(&mut self, ast: &'a Ast, and: bool) -> Result<Bound> {
        let mut parts = Vec::new();
        operands(ast, and, &mut parts);
        let mut bound = Vec::with_capacity(parts.len());
        let mut span = Span::empty();
        for part in parts {
            let operand = self.bind_condition(part)?;
            span = span.union(&operand.span);
            bound.push(operator::condition(operand, if and { "AND" } else { "OR" }, self.text())?);
        }
        let expr = if and { fold::and(bound) } else { fold::or(bound) };
        Ok(Bound::typed(expr, span))
    }

    fn unary(&mut self, op: &UnaryOperator, operand: &'a Ast) -> Result<Bound> {
        let bound = match (op, operand) {
            (UnaryOperator::Not, _) => self.bind_condition(operand)?,
            (
                UnaryOperator::Minus,
                Ast::Value(ValueWithSpan { value: AstValue::Number(digits, _), span }),
            ) if digits == literal::LEAST_HUGEINT => {
                return Ok(Bound::typed(Expr::literal(Value::I128(i128::MIN), Type::HugeInt), *span));
            }
            _ => self.bind(operand)?,
        };
        let span = bound.span;
        match op {
            UnaryOperator::Minus => Ok(Bound::typed(operator::negate(bound, self.text())?, span)),
            UnaryOperator::Plus if bound.ty().is_numeric() || bound.ty().is_interval() => Ok(bound),
            UnaryOperator::Not => {
                let input = operator::condition(bound, "NOT", self.text())?;
                Ok(Bound::typed(negated(input), span))
            }
            UnaryOperator::PGAbs => self.apply("abs", vec![bound], span),
            UnaryOperator::PGSquareRoot => self.apply("sqrt", vec![bound], span),
            UnaryOperator::PGCubeRoot => self.apply("cbrt", vec![bound], span),
            UnaryOperator::BitwiseNot if bound.ty().is_bits() => Ok(super::bits::inverted(bound)),
            UnaryOperator::BitwiseNot if bound.ty().is_integer() => {
                match own::call(plan::functions::BITWISE_NOT, std::slice::from_ref(&bound), self.text())? {
                    Some(expr) => Ok(Bound::typed(expr, span)),
                    None => Err(Error::internal("an operator on bits")),
                }
            }
            other => {
                let error = Error::new(
                    SqlState::UndefinedFunction,
                    format!("operator does not exist: {other} {}", bound.ty()),
                );
                Err(place::at(error, self.text(), span))
            }
        }
    }

    fn case(
        &mut self,
        operand: Option<&'a Ast>,
        conditions: &'a [sqlparser::ast::CaseWhen],
        otherwise: Option<&'a Ast>,
        span: Span,
    ) -> Result<Bound> {
        let operand = operand.map(|o| self.bind(o)).transpose()?;
        let mut whens = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for branch in conditions {
            let when = match &operand {
                Some(operand) => {
                    let value = self.bind(&branch.condition)?;
                    operator::comparison(Comparison::Equal, operand.clone(), value, self.text())?
                }
                None => {
                    let bound = self.bind_condition(&branch.condition)?;
                    operator::condition(bound, "CASE/WHEN", self.text())?
                }
            };
            whens.push(when);
            results.push(self.bind(&branch.result)?);
        }
        let has_otherwise = otherwise.is_some();
        if let Some(otherwise) = otherwise {
            results.push(self.bind(otherwise)?);
        }
        let (mut results, ty) = coerce::unify(results, "CASE", self.text())?;
        let otherwise = if has_otherwise { results.pop().map(Box::new) } else { None };
        let branches: Vec<(Expr, Expr)> = whens.into_iter().zip(results).collect();
        Ok(Bound::typed(Expr::new(ExprKind::Case { branches, otherwise }, ty), span))
    }
}

fn comparison_operator(op: &BinaryOperator) -> Option<Comparison> {
    use BinaryOperator as B;
    Some(match op {
        B::Eq => Comparison::Equal,
        B::NotEq => Comparison::NotEqual,
        B::Lt => Comparison::Less,
        B::LtEq => Comparison::LessOrEqual,
        B::Gt => Comparison::Greater,
        B::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

pub(crate) fn comparison_of(op: &BinaryOperator) -> Option<Comparison> {
    comparison_operator(op)
}

/// Schema, table and column of a column's name; `None` where there are too many parts.
fn qualified(names: &[Name]) -> Option<(Option<&Name>, Option<&Name>, &Name)> {
    match names {
        [name] => Some((None, None, name)),
        [table, name] => Some((None, Some(table), name)),
        [schema, table, name] => Some((Some(schema), Some(table), name)),
        _ => None,
    }
}

/// The expression without brackets around it.
pub(crate) fn strip(mut ast: &Ast) -> &Ast {
    while let Ast::Nested(inner) = ast {
        ast = inner;
    }
    ast
}

/// The operands of a chain of ANDs (or ORs), left to right, brackets of the same kind opened.
pub(crate) fn operands<'a>(ast: &'a Ast, and: bool, out: &mut Vec<&'a Ast>) {
    let wanted = if and { BinaryOperator::And } else { BinaryOperator::Or };
    let mut open = vec![ast];
    while let Some(next) = open.pop() {
        match next {
            Ast::BinaryOp { left, op, right } if *op == wanted => {
                open.push(right);
                open.push(left);
            }
            Ast::Nested(inner) if matches!(strip(inner), Ast::BinaryOp { op, .. } if *op == wanted) => {
                open.push(strip(inner));
            }
            other => out.push(other),
        }
    }
}

/// A number as it is written, with or without a sign.
fn is_number(ast: &Ast) -> bool {
    match ast {
        Ast::Value(v) => matches!(v.value, sqlparser::ast::Value::Number(..)),
        Ast::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_number(expr),
        Ast::Nested(inner) => is_number(inner),
        _ => false,
    }
}

fn literal_span(ast: &Ast) -> Span {
    match strip(ast) {
        Ast::Value(v) => v.span,
        Ast::Identifier(i) => i.span,
        Ast::CompoundIdentifier(is) => Span::union_iter(is.iter().map(|i| i.span)),
        Ast::UnaryOp { expr, .. } => literal_span(expr),
        _ => Span::empty(),
    }
}

/// TRUE or FALSE, as it is written.
fn is_truth(ast: &Ast) -> bool {
    matches!(ast, Ast::Value(value) if matches!(value.value, sqlparser::ast::Value::Boolean(_)))
}
