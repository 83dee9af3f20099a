//! Expressions of the syntax tree, one method a kind.
//!
//! `ExprBinder` works for one clause: its fields say which calls are allowed and collect what belongs elsewhere in
//! the plan (aggregates, windows, unnested lists, subqueries). `bind` gives a `Bound`, whose quoted literals have no
//! type until the context settles them. Names mean macro arguments, columns of `Scope` or aliases of
//! the select list, in this order.

pub(crate) mod attempt;
pub(crate) mod casts;
pub(crate) mod chain;
pub(crate) mod coerce;
pub(crate) mod collation_keys;
pub(crate) mod collations;
pub(crate) mod date_part;
pub(crate) mod extract;
pub(crate) mod fold;
mod interval_calls;
pub(crate) mod intervals;
pub(crate) mod literal;
pub(crate) mod operator;
pub(crate) mod predicate;
pub(crate) mod regex;
pub(crate) mod reserved;
pub(crate) mod rows;
mod similar;
pub(crate) mod wide;
pub(crate) mod zones;

use std::rc::Rc;

use plan::{Expr, ExprKind, Parameter};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::stop::{self, Place};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::subquery::Pending;
use crate::bind::expression::coerce::Bound;
use crate::bind::expression::reserved::reserved;
use crate::bind::function::aggregate::Aggregates;
use crate::bind::function::window::Windows;
use crate::bind::nested::paths;
pub(crate) use crate::bind::nodes::{is_text_literal, set_query, strip, subquery_of, unbracketed};
use crate::bind::scope::Scope;
use crate::bind::{Binder, folded, query, refusal};
use crate::data_type;
use crate::names::Name;
use crate::parameters::{self, Given};
use crate::place::Placed;
use crate::{place, stack};

pub(crate) use crate::bind::expression::chain::comparison_of;
pub(crate) use crate::bind::expression::chain::operands;

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
    pub listed: &'a [tree::SelectItem],
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

    pub(crate) fn text(&self) -> &'a str {
        self.binder.text
    }

    /// A bound expression of its own type; a quoted literal becomes TEXT.
    pub fn value(&mut self, ast: &'a Ast) -> Result<Expr> {
        let bound = self.bind(ast)?;
        crate::bind::check_depth(&bound.expr)?;
        Ok(bound.settled())
    }

    /// A BOOLEAN expression; any other type is an error in which `what` names the clause.
    pub fn condition(&mut self, ast: &'a Ast, what: &str) -> Result<Expr> {
        let bound = self.bind(ast)?;
        crate::bind::check_depth(&bound.expr)?;
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
        let keeps = match &ast.kind {
            AstKind::Nested(_) | AstKind::Exists(_) => true,
            AstKind::Chain(_, rest) => chain::is_connective(rest),
            AstKind::Prefix(_, operand) => matches!(operand.kind, AstKind::Exists(_)),
            AstKind::In(test) => matches!(test.set, tree::InSet::Query(_)),
            AstKind::Quantified(test) => test.quantifier == tree::Quantifier::Any,
            AstKind::Like(test) => test.quantifier == Some(tree::Quantifier::Any),
            _ => false,
        };
        self.positive &= keeps;
        let grouped =
            self.aggregates.as_ref().and_then(|a| a.grouped.iter().find(|(group, _)| *group == ast));
        let result = match grouped {
            Some((_, expr)) => Ok(Bound::typed(expr.clone(), Span::default())),
            None => {
                let by_value = usize::from(parameters::is_by_value(ast));
                self.binder.by_value += by_value;
                let bound = self.dispatch(ast);
                self.binder.by_value -= by_value;
                bound
            }
        };
        self.positive = positive;
        self.depth -= 1;
        result
    }

    fn dispatch(&mut self, ast: &'a Ast) -> Result<Bound> {
        let span = ast.span;
        match &ast.kind {
            AstKind::Literal(literal) => self.literal(literal, span),
            AstKind::Parameter(parameter) => self.parameter(parameter, span),
            AstKind::Column(path) if is_user(path) => self.user(path, span),
            AstKind::Column(path) => self.identifier(&path.names),
            AstKind::Position(number) => self.position(*number, span),
            AstKind::Star(star) => self.star_value(star, span),
            AstKind::Columns(call) => self.columns_call(call, span),
            AstKind::Nested(inner) => self.bind(inner),
            AstKind::Prefix(operator, operand) => self.prefix(operator, operand),
            AstKind::Chain(first, rest) => self.chain(ast, first, rest).map(collations::inherited),
            AstKind::Cast(call) => self.cast_call(call),
            AstKind::Collate(inner, collation) => self.collate(inner, collation),
            AstKind::AtTimeZone(moment, Some(zone)) => self.at_time_zone(moment, zone),
            AstKind::AtTimeZone(_, None) => Err(refusal::unsupported("AT LOCAL", self.text(), span)),
            AstKind::Is(test) => self.is_test(ast, test),
            AstKind::In(test) => self.in_test(test, span),
            AstKind::Between(test) => self.between_test(test),
            AstKind::Like(test) => self.like_test(test, span),
            AstKind::Quantified(test) => self.quantified(test, span),
            AstKind::Overlaps(left, right) => self.overlaps(left, right),
            AstKind::Exists(query) => self.exists(query, false),
            AstKind::Subquery(query) => self.scalar_subquery(unbracketed(query)),
            AstKind::ArrayOf(query) => self.array_of_query(query),
            AstKind::Case(case) => self.case(case, span),
            AstKind::Call(call) => self.function(call, span).map(collations::inherited),
            AstKind::Special(call) => self.special(call, span).map(collations::inherited),
            AstKind::List { array: _, elements } => self.list_literal(elements),
            AstKind::Comprehension(made) => self.comprehension(made, span),
            AstKind::Struct(fields) => self.struct_literal(fields),
            AstKind::Map(entries) => self.map_literal(entries),
            AstKind::Row { row: true, elements } => self.row_call(elements, span),
            AstKind::Row { row: false, elements } if elements.is_empty() => {
                Err(refusal::empty_brackets(self.text(), span))
            }
            AstKind::Row { row: false, elements } => self.row(elements),
            AstKind::Method(of, call) => self.method(of, call, span),
            AstKind::Index(..) | AstKind::Slice(_) | AstKind::Field(..) => self.access(ast),
            AstKind::Lambda(_) => Err(self.unsupported_expression(ast)),
            AstKind::Default => {
                let word = tree::Name { text: span.of(self.text()).into(), quoted: false, span };
                let words = std::slice::from_ref(&word);
                match self.column(words)? {
                    Some(bound) => Ok(bound),
                    None => Err(self.unknown_column(words)),
                }
            }
        }
    }

    /// The function USER, which stands without brackets; PostgreSQL reserves the word, and here it is a name wherever it
    /// is no value.
    fn user(&mut self, path: &tree::Path, span: Span) -> Result<Bound> {
        let call = tree::Call {
            name: path.clone(),
            arguments: None,
            within_group: vec![],
            filter: None,
            nulls: None,
            over: None,
        };
        self.bind(self.binder.texts.keep_expr(Ast { kind: AstKind::Call(Box::new(call)), span }))
    }

    /// The error for an expression of a kind that this engine does not have.
    pub(crate) fn unsupported_expression(&self, ast: &Ast) -> Error {
        let mut shown = match &ast.kind {
            AstKind::Lambda(lambda) => {
                let parameters: Vec<String> = lambda.parameters.iter().map(tree::Name::to_string).collect();
                format!("({}) -> {}", parameters.join(", "), lambda.body)
            }
            _ => ast.to_string(),
        };
        if shown.chars().count() > 60 {
            shown = shown.chars().take(60).chain("...".chars()).collect();
        }
        refusal::unsupported(format!("the expression {shown}"), self.text(), query::place_of(ast))
    }

    /// A column by its names, an alias, or a table's row.
    pub(crate) fn identifier(&mut self, idents: &'a [tree::Name]) -> Result<Bound> {
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
            return self.named_value(idents);
        }
        Err(self.unknown_column(idents))
    }

    /// What an alias further left in the select list stands for, where no column has the name: bound anew, as if its
    /// expression were written here.
    pub(crate) fn listed_alias(&mut self, ident: &tree::Name) -> Result<Option<Bound>> {
        let name = Name::of(ident);
        let named = |fits: &dyn Fn(&str) -> bool| {
            self.listed.iter().enumerate().rev().find_map(|(at, item)| match &item.alias {
                Some(alias) if fits(&folded(alias)) => Some((at, &item.value)),
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
    pub(crate) fn unknown_column(&self, idents: &[tree::Name]) -> Error {
        let span = span_of(idents);
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
            [ident] if ident.quoted && error.hint().is_none() => {
                error.with_hint("double quotes make a name; text stands in single quotes")
            }
            _ => error,
        };
        place::at(error, self.text(), span)
    }

    /// The column, argument or select item of that name; `None` when there is none.
    pub(crate) fn column(&mut self, idents: &[tree::Name]) -> Result<Option<Bound>> {
        let span = span_of(idents);
        let names: Vec<Name> = idents.iter().map(Name::of).collect();
        let Some((schema, table, name)) = qualified(&names) else { return self.in_database(&names, span) };
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

    /// `#2`: a column of FROM by its place there.
    fn position(&mut self, number: u32, at: Span) -> Result<Bound> {
        let digits = Span { start: (at.start + 1).min(at.end), end: at.end };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        match place.and_then(|place| self.scope.star().nth(place)) {
            Some(entry) => Ok(Bound::typed(self.binder.column(entry.id), digits)),
            None => {
                let message = format!("positional reference #{number} is not one of FROM's columns");
                let error = Error::new(SqlState::InvalidColumnReference, message);
                Err(place::at(error, self.text(), digits))
            }
        }
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
    pub(crate) fn spelling(&self, ast: &Ast) -> Option<Rc<str>> {
        let idents = paths::names_of(strip(ast))?;
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
                    let known = ty.fields().or(ty.members())?;
                    let at = name.position(known.iter().map(|(own, _)| own.as_str()), "field").ok()??;
                    let (own, ty) = &known[at];
                    Some((*ty, own.clone()))
                },
            )
        };
        let (_, name) = (1..names.len().min(4)).rev().find_map(fields)?;
        Some(name.as_str().into())
    }

    fn literal(&mut self, literal: &'a tree::Literal, span: Span) -> Result<Bound> {
        use tree::Literal as L;
        let expr = match literal {
            L::Number(digits) => literal::number(digits).placed(self.text(), span)?,
            L::Bool(b) => Expr::boolean(*b),
            L::Null => Expr::literal(Value::Null, Type::Null),
            L::Text(text) => return Ok(written_text(text, span)),
            L::Bits(digits) => {
                let read = types::bits::parse(&format!("b{digits}")).placed(self.text(), span)?;
                let ty = if read.is_empty() { Type::BITS } else { Type::Bit(read.len() as u32) };
                Expr::literal(Value::text(&read), ty)
            }
            L::Bytes(digits) => {
                let text = written_text(&format!("\\x{digits}"), span);
                return self.cast_to(text, Type::Bytea, None, false);
            }
            L::Typed(ty, text) => return self.cast(written_text(&text.text, text.span), ty, false),
            L::Interval(interval) => return self.interval(interval, span),
        };
        Ok(Bound::typed(expr, span))
    }

    fn parameter(&mut self, parameter: &tree::Parameter, span: Span) -> Result<Bound> {
        use tree::Parameter as P;
        let (number, name) = match parameter {
            P::Number(number) | P::Question(number) => (usize::try_from(*number).ok(), format!("${number}")),
            P::Dollar(name) => (name.parse().ok(), format!("${name}")),
            P::Colon(name) => (None, format!(":{name}")),
        };
        if let (Given::Later(later), Some(number)) =
            (self.binder.values, number.and_then(|n| u32::try_from(n).ok()))
            && number > 0
        {
            later.by_value.set(later.by_value.get() || self.binder.by_value > 0);
            let declared = later.types.get(number as usize - 1).copied().flatten();
            let kind = ExprKind::Parameter(Parameter { number, at: span.start });
            let expr = Expr::new(kind, declared.unwrap_or(Type::Text));
            return Ok(Bound { expr, untyped: declared.is_none(), span });
        }
        let values = match self.binder.values {
            Given::Values(values) => values,
            _ => &[],
        };
        let Some((value, ty)) = number.and_then(|n| values.get(n.checked_sub(1)?)) else {
            let error = Error::new(SqlState::UndefinedParameter, format!("there is no parameter {name}"))
                .with_hint("give its value with EXECUTE, or beside the statement's text");
            return Err(place::at(error, self.text(), span));
        };
        let untyped = ty.is_text() && !value.is_null();
        Ok(Bound { expr: Expr::literal(value.clone(), *ty), untyped, span })
    }

    fn cast_call(&mut self, call: &'a tree::CastCall) -> Result<Bound> {
        let tree::CastCall { style, expr, to } = call;
        let bound = match data_type::is_boolean(to) {
            true => self.bind_condition(expr)?,
            false => self.bind(expr)?,
        };
        self.cast(bound, to, *style == tree::CastStyle::TryCast)
    }

    /// `text COLLATE name`.
    pub(crate) fn collate(&mut self, inner: &'a Ast, path: &tree::Path) -> Result<Bound> {
        let text = self.text();
        let collation = collations::named(path).placed(text, path.span())?;
        let bound = self.bind(inner)?;
        // There is nothing else that it could be compared by.
        let otherwise = bound.ty().compared_by();
        if collation.is_binary() && otherwise.is_binary() {
            return Ok(bound);
        }
        let ty = bound.ty();
        let is_plain =
            matches!(ty, Type::Null | Type::Text | Type::Collated(_) | Type::Varchar(_) | Type::Char(_));
        if !is_plain {
            let message = format!("collations are not supported by type {ty}");
            let error =
                Error::new(SqlState::DatatypeMismatch, message).with_hint("only text has a collation");
            return Err(place::at(error, text, path.span()));
        }
        Ok(Bound { expr: collations::with(bound.expr, collation), untyped: false, ..bound })
    }

    fn case(&mut self, case: &'a tree::Case, at: Span) -> Result<Bound> {
        let tree::Case { operand, branches, otherwise } = case;
        let word = Span { start: at.start, end: (at.start + 4).min(at.end) };
        let operand = operand.as_ref().map(|o| self.bind(o)).transpose()?;
        let mut whens = Vec::with_capacity(branches.len());
        let mut results = Vec::with_capacity(branches.len() + 1);
        for (condition, result) in branches {
            let when = match &operand {
                Some(operand) => {
                    let value = self.bind(condition)?;
                    operator::comparison(Comparison::Equal, operand.clone(), value, self.text())?
                }
                None => {
                    let bound = self.bind_condition(condition)?;
                    operator::condition(bound, "CASE/WHEN", self.text())?
                }
            };
            whens.push(when);
            results.push(self.bind(result)?);
        }
        let has_otherwise = otherwise.is_some();
        if let Some(otherwise) = otherwise {
            results.push(self.bind(otherwise)?);
        }
        let (mut results, ty) = coerce::unify(results, "CASE", self.text())?;
        let otherwise = if has_otherwise { results.pop().map(Box::new) } else { None };
        let branches: Vec<(Expr, Expr)> = whens.into_iter().zip(results).collect();
        Ok(Bound::typed(Expr::new(ExprKind::Case { branches, otherwise }, ty), word))
    }
}

/// A quoted literal, which has no type until its context gives it one.
fn written_text(text: &str, span: Span) -> Bound {
    Bound { expr: Expr::literal(Value::text(text), Type::Text), untyped: true, span }
}

/// The place of a column's name.
fn span_of(names: &[tree::Name]) -> Span {
    names.iter().fold(Span::default(), |span, name| span.to(name.span))
}

/// The word USER.
fn is_user(path: &tree::Path) -> bool {
    path.single().is_some_and(|name| !name.quoted && name.text.eq_ignore_ascii_case("user"))
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

/// The place of a constant or a name, behind brackets and signs; none of anything else.
pub(crate) fn literal_span(ast: &Ast) -> Span {
    use tree::Literal as L;
    let ast = strip(ast);
    match &ast.kind {
        AstKind::Literal(L::Bytes(_) | L::Typed(..) | L::Interval(_)) => Span::default(),
        AstKind::Literal(_) | AstKind::Parameter(_) => ast.span,
        AstKind::Prefix(_, operand) => literal_span(operand),
        _ => paths::names_of(ast).map(span_of).unwrap_or_default(),
    }
}
