//! Calls: which kind of function a name means, and scalar functions: those with kernels of our own, those that are
//! other expressions in disguise, and the rest, which goes to the library.
//!
//! `function` decides in an order: macros, catalog functions, functions of the host, names that are forms of their
//! own, windows, aggregates, rows, scalar functions; the first that knows the name has it. `apply` has bound
//! arguments, and operators under a function's name come to it, too. What no one knows is SQLSTATE 42883 with a name
//! that is near.

pub(crate) mod aggregate;
pub(crate) mod arguments;
pub(crate) mod bits;
pub(crate) mod composed;
pub(crate) mod external;
mod fill;
pub(crate) mod hypothetical;
pub(crate) mod json_calls;
pub(crate) mod library;
pub(crate) mod listing;
pub(crate) mod macros;
pub(crate) mod named;
pub(crate) mod other_calls;
pub(crate) mod own;
pub(crate) mod postgres_calls;
pub(crate) mod window;

use plan::{Arithmetic, Expr, ExprKind, Function};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::datetime::MICROS_PER_DAY;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::reserved::reserved;
use crate::bind::expression::{ExprBinder, casts, collation_keys, collations, fold, literal, operator, wide};
pub(crate) use crate::bind::function::named::catalog_name;
use crate::bind::nested::paths;
use crate::bind::{Binder, SETVAL_CALLED, folded, refusal};
use crate::place;

/// Scalar functions that are typed here, in addition to those of the library.
pub(crate) const OWN: [&str; 37] = [
    "abs",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "concat_ws",
    "current_date",
    "current_time",
    "current_timestamp",
    "date_part",
    "floor",
    "greatest",
    "ifnull",
    "least",
    "length",
    "localtime",
    "localtimestamp",
    "lower",
    "mod",
    "now",
    "nullif",
    "nvl",
    "nvl2",
    "octet_length",
    "regexp_extract",
    "regexp_matches",
    "sign",
    "statement_timestamp",
    "substr",
    "substring",
    "timeofday",
    "today",
    "transaction_timestamp",
    "try",
    "upper",
];

/// A function's name as it is written.
pub(crate) fn called_as(idents: &[&tree::Name]) -> String {
    let names: Vec<String> = idents.iter().map(|ident| folded(ident)).collect();
    names.join(".")
}

/// A plain call of a function that the grammar has words for, too.
pub(crate) enum Worded<'t> {
    Ceil(&'t Ast),
    Floor(&'t Ast),
    Substring {
        text: &'t Ast,
        from: Option<&'t Ast>,
        length: Option<&'t Ast>,
    },
    /// The text, and the characters that are taken away.
    Trim(Vec<&'t Ast>),
    Interval(&'t Ast),
}

/// The call as one of these; None for other functions, other numbers of arguments, and calls with clauses.
pub(crate) fn worded(call: &tree::Call) -> Option<Worded<'_>> {
    let tree::Call { name, arguments: Some(given), within_group, filter, nulls, over } = call else {
        return None;
    };
    let name = name.single().filter(|name| !name.quoted)?;
    let behind = !within_group.is_empty() || filter.is_some() || nulls.is_some() || over.is_some();
    let positional =
        |a: &tree::Argument| !a.variadic && a.name.is_none() && !matches!(a.value.kind, AstKind::Star(_));
    if behind || arguments::has_clauses(call) || !given.list.iter().all(positional) {
        return None;
    }
    let values: Vec<&Ast> = given.list.iter().map(|a| &a.value).collect();
    let is_number = |e: &Ast| matches!(e.kind, AstKind::Literal(tree::Literal::Number(_)));
    match (name.text.to_ascii_lowercase().as_str(), values.as_slice()) {
        // The number of digits says nothing.
        ("ceil", [value, rest @ ..]) if rest.len() < 2 && rest.iter().all(|e| is_number(e)) => {
            Some(Worded::Ceil(value))
        }
        ("floor", [value, rest @ ..]) if rest.len() < 2 && rest.iter().all(|e| is_number(e)) => {
            Some(Worded::Floor(value))
        }
        ("substring" | "substr", [text, rest @ ..]) if rest.len() <= 2 => {
            Some(Worded::Substring { text, from: rest.first().copied(), length: rest.get(1).copied() })
        }
        ("trim", [_, ..]) => Some(Worded::Trim(values)),
        ("interval", [value]) => Some(Worded::Interval(value)),
        _ => None,
    }
}

/// Functions that choose among their arguments, or count them, and take values of any type as they are.
const CHOOSES: [&str; 10] =
    ["coalesce", "ifnull", "nvl", "nvl2", "nullif", "greatest", "least", "hash", "num_nulls", "num_nonnulls"];

/// An error for clauses that a scalar function does not have.
fn refuse_clauses(name: &str, call: &tree::Call) -> Result<()> {
    if call.filter.is_some() {
        return Err(Error::new(
            SqlState::GroupingError,
            format!("FILTER specified, but {name} is not an aggregate function"),
        ));
    }
    if !call.within_group.is_empty() || call.nulls.is_some() {
        let clause = if call.within_group.is_empty() { "IGNORE NULLS" } else { "WITHIN GROUP" };
        let message = format!("{clause} specified, but {name} is not an aggregate or window function");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    Ok(())
}

impl<'a> ExprBinder<'_, 'a> {
    /// Any call: of a macro, an aggregate, a window function, a function of the host or a scalar function. Words
    /// without brackets that are no function are columns.
    pub(crate) fn function(&mut self, call: &'a tree::Call, at: Span) -> Result<Bound> {
        if paths::bare_word(call).is_some() {
            return self.identifier(&call.name.names);
        }
        if let Some(action) = self.merge_action_call(call)? {
            return Ok(action);
        }
        let text = self.binder.text;
        let given = arguments::list(call);
        self.binder.no_variadic(given)?;
        match worded(call) {
            None => {}
            Some(Worded::Ceil(value)) => return self.call("ceil", &[value]),
            Some(Worded::Floor(value)) => return self.call("floor", &[value]),
            Some(Worded::Substring { text, from, length }) => return self.substring(text, from, length),
            Some(Worded::Trim(values)) => return self.call("btrim", &values),
            Some(Worded::Interval(value)) => return self.interval_of(value, None),
        }
        let idents: Vec<&tree::Name> = call.name.names.iter().collect();
        let Some(last) = idents.last() else {
            return Err(place::at(Error::internal("a call without a name"), text, at));
        };
        let (name, span) = (folded(last), last.span);
        let refuse = |error: Error| place::at(error, text, span);
        let in_brackets = call.arguments.is_some();
        if let Some(error) = reserved(last).filter(|_| in_brackets) {
            return Err(refuse(error));
        }
        if let Some(value) = self.method_of_names(call, at)? {
            return Ok(value);
        }
        let schema = self.binder.schema_of_function(&call.name)?;
        if call.over.is_none()
            && let Some(called) = self.binder.macro_form(schema.as_deref(), &name, given).map_err(refuse)?
        {
            if called.table {
                return Err(refuse(Error::new(
                    SqlState::WrongObjectType,
                    format!("{name} is a table macro, which stands in FROM"),
                )));
            }
            return self.scalar_macro(&called_as(&idents), called, given, span);
        }
        if let Some(schema) = &schema {
            self.binder.refuse_in_schema(schema, &name, span)?;
        }
        if idents.len() == 1 || schema.as_deref() == Some(crate::PG_CATALOG) {
            // A setting whose name stands there is looked up once.
            let is_known = name == "current_setting"
                && matches!(given, [one] if matches!(one.value.kind, AstKind::Literal(tree::Literal::Text(_))));
            let forms = if is_known { vec![] } else { self.binder.relations.catalog_functions(&name) };
            if !forms.is_empty() && in_brackets {
                return self.catalog_call(&name, &forms, call, span);
            }
        }
        if let Some(bound) = self.named_call(&name, &idents, call, span)? {
            return Ok(bound);
        }
        if let Some(over) = &call.over {
            return self.window(&name, call, over, span);
        }
        if window::is_window_function(&name) {
            return Err(refuse(
                Error::new(
                    SqlState::WindowingError,
                    format!("window function {name} requires an OVER clause"),
                )
                .with_hint(format!("write {name}(...) OVER (...)")),
            ));
        }
        if aggregate::is_aggregate(&name) {
            return self.aggregate(&name, call, span);
        }
        refuse_clauses(&name, call).map_err(refuse)?;
        if name == "unnest" && in_brackets {
            self.not_in_try("functions that give rows", span)?;
            return self.unnest_call(given, span);
        }
        if crate::bind::from::set_returning::is_one(&name)
            && in_brackets
            && let Some(bound) = self.rows_of_call(&name, given, span)?
        {
            self.not_in_try("functions that give rows", span)?;
            return Ok(bound);
        }
        if in_brackets && let Some(bound) = self.special_call(&name, given, span)? {
            return Ok(bound);
        }
        if let Some(parts) = self.parts_of_interval(&name, given).map_err(refuse)? {
            return self.apply(&name, parts, span);
        }
        if arguments::has_clauses(call) {
            return Err(refuse(Error::new(
                SqlState::GroupingError,
                format!("DISTINCT or ORDER BY specified, but {name} is not an aggregate function"),
            )));
        }
        let bound = self.bound_arguments(&name, given, span)?;
        self.apply(&name, bound, span)
    }

    /// A function of the host, and calls that are known by their names alone.
    fn named_call(
        &mut self,
        name: &str,
        idents: &[&'a tree::Name],
        call: &'a tree::Call,
        span: Span,
    ) -> Result<Option<Bound>> {
        let given = arguments::list(call);
        let called = if name == "setval" && given.len() == 3 { SETVAL_CALLED } else { name };
        // Sequences' functions are the host's here; dumps call them by the schema that PostgreSQL has them in.
        let of_sequences = matches!(name, "nextval" | "currval" | "setval" | "lastval")
            && matches!(idents, [schema, _] if folded(schema) == crate::PG_CATALOG);
        if (idents.len() == 1 || of_sequences)
            && let Some(external) = self.binder.relations.external(called)
        {
            self.binder.relations.check_host_function(called).map_err(|e| self.binder.error_at(e, span))?;
            return self.external(name, external, call, span).map(Some);
        }
        if name == "getvariable" && idents.len() == 1 {
            return self.binder.variable(given, span).map(Some);
        }
        if name == "try" && idents.len() == 1 {
            return self.attempt_call(call, span).map(Some);
        }
        if crate::bind::function::hypothetical::is_one(name, call) {
            return self.hypothetical(name, call, span).map(Some);
        }
        if name == "columns"
            && call.over.is_none()
            && let ([_], [one @ tree::Argument { name: None, .. }]) = (idents, given)
        {
            // The name in quotes.
            let columns = tree::ColumnsCall { of: None, unpacked: false, which: one.value.clone() };
            let kind = AstKind::Columns(Box::new(columns));
            return self.bind(self.binder.texts.keep_expr(Ast { kind, span })).map(Some);
        }
        if matches!(name, "grouping" | "grouping_id") && call.over.is_none() {
            return self.grouping(call, span).map(Some);
        }
        Ok(None)
    }

    /// The arguments of a scalar function, in order.
    fn bound_arguments(&mut self, name: &str, given: &'a [tree::Argument], span: Span) -> Result<Vec<Bound>> {
        let text = self.binder.text;
        let arguments = self.binder.positional(given).map_err(|argument| {
            let shown = arguments::shown(argument);
            let message = format!("function {name}: the argument {shown} is not supported");
            place::at(Error::unsupported(message), text, span)
        })?;
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.unpacked_columns(argument)? {
                Some(columns) => bound.extend(columns),
                None if bound.is_empty() && matches!(name, "if" | "iif") => {
                    bound.push(self.bind_condition(argument)?)
                }
                None => bound.push(self.bind(argument)?),
            }
        }
        Ok(bound)
    }

    /// `t.COLUMNS(...)`: a function in a schema t.
    pub(crate) fn columns_of_table(&mut self, call: &'a tree::ColumnsCall, at: Span) -> Result<Bound> {
        let mut name = call.of.clone().unwrap_or(tree::Path { names: vec![] });
        let before = Span { start: name.span().end, end: call.which.span.start };
        let start =
            before.of(self.binder.text).to_ascii_lowercase().find("columns").unwrap_or_default() as u32;
        let start = before.start + start;
        let span = Span { start, end: start + "columns".len() as u32 };
        name.names.push(tree::Name { text: "columns".into(), quoted: false, span });
        let which = tree::Argument { variadic: false, name: None, value: call.which.clone() };
        let arguments = Some(tree::Arguments { list: vec![which], ..tree::Arguments::default() });
        let (within_group, filter, nulls, over) = (vec![], None, None, None);
        let made = tree::Call { name, arguments, within_group, filter, nulls, over };
        self.bind(self.binder.texts.keep_expr(Ast { kind: AstKind::Call(Box::new(made)), span: at }))
    }

    /// A function that the grammar has a form of its own for.
    pub(crate) fn call(&mut self, name: &str, arguments: &[&'a Ast]) -> Result<Bound> {
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push(self.bind(argument)?);
        }
        let span = bound.first().map_or(Span::default(), |b| b.span);
        self.apply(name, bound, span)
    }

    /// The scalar function of that name for bound arguments; operators that are functions come here, too.
    pub(crate) fn apply(&mut self, name: &str, arguments: Vec<Bound>, span: Span) -> Result<Bound> {
        let text = self.binder.text;
        let name = own::aliased(name);
        let arguments = collations::folded_arguments(name, arguments);
        if name == "#" && arguments.len() == 2 {
            let mut operands = arguments.into_iter();
            let (Some(left), Some(right)) = (operands.next(), operands.next()) else {
                return Err(Error::internal("two operands"));
            };
            return own::bits("#", left, right, text);
        }
        if let Some(whole) = wide::function(name, &arguments) {
            return Ok(Bound::typed(whole, span));
        }
        if let Some(of_bits) = self.of_bits(name, &arguments, span)? {
            return Ok(of_bits);
        }
        let mut arguments = match self.written_out(name, arguments, span)? {
            Ok(expr) => return Ok(Bound::typed(fold::fold(expr), span)),
            Err(arguments) => arguments,
        };
        let count = arguments.len();
        if let Some(part) = self.part_of_text(name, &arguments)? {
            return Ok(part);
        }
        if let Some(expr) = self.nested_call(name, &arguments, span)? {
            return Ok(Bound::typed(fold::fold(expr), span));
        }
        if let Some(of_bytes) = of_bytes(name)
            && arguments.first().is_some_and(|a| a.ty() == Type::Bytea)
            && let Some(expr) = own::call(of_bytes, &arguments, text)?
        {
            return Ok(Bound::typed(fold::fold(expr), span));
        }
        // What chooses among its arguments leaves them as they are; to every other function an enum is its label.
        if !CHOOSES.contains(&name) {
            arguments = arguments.into_iter().map(coerce::labels_as_text).collect();
        }
        let expr = match (name, count) {
            ("regexp_extract", _) => self.regexp_extract(arguments, span)?,
            ("regexp_matches", _) => library::call("regexp_like", arguments, text, span)?,
            ("coalesce", 1..)
            | ("ifnull" | "nvl" | "nullif", 2)
            | ("greatest" | "least", 1..)
            | ("nvl2", 3) => self.choice(name, arguments, span)?,
            ("lower", 1) => self.text_function(Function::Lower, arguments, Type::Text, name, span)?,
            ("upper", 1) => self.text_function(Function::Upper, arguments, Type::Text, name, span)?,
            ("length" | "char_length" | "character_length", 1) if arguments[0].ty() != Type::Bytea => {
                self.text_function(Function::CharacterLength, arguments, Type::Integer, name, span)?
            }
            ("length" | "octet_length", 1) if arguments[0].ty() == Type::Bytea => {
                self.bytes_length(arguments.swap_remove(0), span)?
            }
            ("substring" | "substr", 2 | 3) => self.substring_of(arguments, span)?,
            ("abs", 1) => self.absolute(arguments.swap_remove(0), span)?,
            ("mod", 2) => {
                let right = arguments.remove(1);
                operator::arithmetic(Arithmetic::Modulo, arguments.remove(0), right, text)?
            }
            ("round" | "trunc", 1 | 2) if arguments[0].ty().is_decimal() => {
                return self.rounded(name, arguments, span);
            }
            ("round" | "trunc", 2) if arguments[0].ty().is_integer() => {
                let Some((precision, scale)) = coerce::as_decimal(arguments[0].ty()) else {
                    return Err(self.no_function(name, &arguments, span));
                };
                let number = arguments[0].expr.clone();
                let number = cast(number, Type::Decimal { precision, scale });
                arguments[0] = Bound::typed(number, arguments[0].span);
                return self.rounded(name, arguments, span);
            }
            ("date_part", 2) => {
                let value = arguments.remove(1);
                self.date_part(arguments.swap_remove(0), value, span)?
            }
            ("floor" | "ceil" | "ceiling", 1) if arguments[0].ty().is_decimal() => {
                whole_below_or_above(arguments.swap_remove(0), name != "floor", text)?
            }
            ("current_date" | "today", 0) => self.binder.now(Type::Date),
            ("now" | "current_timestamp" | "transaction_timestamp", 0) => self.binder.now(Type::TimestampTz),
            ("statement_timestamp", 0) => self.binder.said(),
            (name, 1) if let Some(ty) = type_called(name) => {
                casts::explicit_cast(arguments.swap_remove(0), ty, false)
                    .map_err(|e| place::at(e, text, span))?
            }
            ("localtimestamp", 0) => self.binder.now(Type::Timestamp),
            ("localtime" | "current_time", 0) => self.binder.now(Type::Time),
            ("sign", 1) => library::call("signum", arguments, text, span)?,
            ("ceiling", 1) => library::call("ceil", arguments, text, span)?,
            ("concat", 1..) | ("concat_ws", 2..) => {
                // Any type; each becomes text, NULL the empty string.
                let arguments = arguments.into_iter().map(as_text).collect();
                library::call(name, arguments, text, span)?
            }
            _ => library::call(name, arguments, text, span)?,
        };
        Ok(Bound::typed(fold::fold(expr), span))
    }

    /// The functions that give one of their arguments.
    fn choice(&mut self, name: &str, mut arguments: Vec<Bound>, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        Ok(match name {
            "greatest" | "least" => {
                let (arguments, ty) = coerce::unify(arguments, &name.to_uppercase(), text)?;
                if collation_keys::is_keyed(ty) {
                    return Ok(collations::extreme(name, arguments, ty));
                }
                // Types that Arrow does not have: their values are in the order of what holds them.
                let ours = matches!(
                    ty,
                    Type::Interval | Type::Enum(_) | Type::TimeNs | Type::TimeTz | Type::Union(_)
                ) || ty.is_wide_integer()
                    || ty.is_reg();
                let name = match (ours, name) {
                    (true, "greatest") => plan::functions::INTERVAL_GREATEST,
                    (true, _) => plan::functions::INTERVAL_LEAST,
                    (false, name) => name,
                };
                Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
            }
            "nvl2" => {
                let chosen = arguments.split_off(1);
                let (mut chosen, ty) = coerce::unify(chosen, "NVL2", text)?;
                let input = Box::new(arguments.swap_remove(0).expr);
                let there = Expr::new(ExprKind::IsNull { input, negated: true }, Type::Boolean);
                let otherwise = chosen.pop().map(Box::new);
                let branches = chosen.into_iter().map(|then| (there.clone(), then)).collect();
                Expr::new(ExprKind::Case { branches, otherwise }, ty)
            }
            "nullif" => {
                if (arguments[0].untyped || arguments[0].ty() == Type::Null) && !arguments[1].untyped {
                    // It has the type that it is compared in.
                    let (unified, _) = coerce::unify(arguments, "NULLIF", text)?;
                    arguments = unified.into_iter().map(|e| Bound::typed(e, span)).collect();
                }
                let ty = arguments[0].ty();
                let compared = operator::comparison(
                    types::Comparison::Equal,
                    arguments[0].clone(),
                    arguments[1].clone(),
                    text,
                )?;
                match compared.kind {
                    // Where the operands were brought to one type, that comparison decides; the value keeps its own.
                    ExprKind::Compare { left, right, .. } if left.ty == ty => {
                        own(Function::NullIf, vec![*left, *right], ty)
                    }
                    _ => {
                        let value = arguments.swap_remove(0).expr;
                        let branches = vec![(compared, crate::bind::null_of(ty))];
                        Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(value)) }, ty)
                    }
                }
            }
            _ => {
                let (arguments, ty) = coerce::unify(arguments, "COALESCE", text)?;
                own(Function::Coalesce, arguments, ty)
            }
        })
    }

    /// The number of bytes: two hexadecimal digits each.
    fn bytes_length(&mut self, bytes: Bound, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let hex = Bound { expr: Expr::literal(Value::text("hex"), Type::Text), untyped: true, span };
        let encoded = library::call("encode", vec![bytes, hex], text, span)?;
        let digits = own(Function::CharacterLength, vec![encoded], Type::Integer);
        let two = Bound::typed(literal::integer(2), span);
        operator::arithmetic(Arithmetic::Divide, Bound::typed(digits, span), two, text)
    }

    fn absolute(&mut self, argument: Bound, span: Span) -> Result<Expr> {
        let ty = argument.ty();
        if argument.untyped || !(ty.is_numeric() || ty == Type::Null) {
            return Err(self.no_function("abs", &[argument], span));
        }
        let ty = if ty == Type::Null { Type::Double } else { ty };
        Ok(own(Function::Absolute, vec![cast(argument.expr, ty)], ty))
    }

    /// The error for a function that does not exist for these argument types.
    pub(crate) fn no_function(&self, name: &str, arguments: &[Bound], span: Span) -> Error {
        let types: Vec<String> = arguments
            .iter()
            .map(|a| if a.untyped { "unknown".into() } else { a.ty().sql_name().to_lowercase() })
            .collect();
        let error = Error::new(
            SqlState::UndefinedFunction,
            format!("function {name}({}) does not exist", types.join(", ")),
        )
        .with_hint("no function takes these types; a cast may help");
        place::at(error, self.binder.text, span)
    }

    fn text_function(
        &self,
        function: Function,
        mut arguments: Vec<Bound>,
        ty: Type,
        name: &str,
        span: Span,
    ) -> Result<Expr> {
        let argument = arguments.swap_remove(0);
        if !argument.ty().is_text() && !argument.is_null() {
            return Err(self.no_function(name, &[argument], span));
        }
        Ok(own(function, vec![cast(argument.expr, Type::Text)], ty))
    }

    /// SUBSTRING with positions or, where FROM is a text, with a pattern.
    pub(crate) fn substring(
        &mut self,
        value: &'a Ast,
        from: Option<&'a Ast>,
        length: Option<&'a Ast>,
    ) -> Result<Bound> {
        let value = self.bind(value)?;
        let span = value.span;
        let mut arguments = vec![value];
        match from {
            Some(from) => {
                let from = self.bind(from)?;
                if from.ty().is_text() && !from.is_null() {
                    let escape = length.map(|length| self.bind(length)).transpose()?;
                    return self.matched_part(arguments.swap_remove(0), from, escape, span);
                }
                arguments.push(from);
            }
            None => arguments.push(Bound::typed(literal::integer(1), span)),
        }
        if let Some(length) = length {
            arguments.push(self.bind(length)?);
        }
        self.apply("substring", arguments, span)
    }

    /// `substring(x FROM pattern)`, what a regular expression matches, or its first group; with FOR, what SQL's own
    /// pattern has between the marks.
    fn matched_part(
        &mut self,
        value: Bound,
        pattern: Bound,
        escape: Option<Bound>,
        span: Span,
    ) -> Result<Bound> {
        let constant = |bound: &Bound| bound.expr.as_literal().and_then(Value::as_text).map(str::to_owned);
        let (text, refuse) = (self.binder.text, |error: Error| place::at(error, self.binder.text, span));
        // A group that has no part in the match is NULL; of a pattern that is not known it is not known whether it has one.
        let (pattern, plain) = match (escape, constant(&pattern)) {
            (None, known) => (pattern, known.is_some_and(|known| !has_group(&known))),
            (Some(escape), Some(known)) => {
                let escape = constant(&escape);
                let regular = crate::bind::expression::regex::between_marks(&known, escape.as_deref())
                    .map_err(refuse)?;
                (Bound { expr: Expr::literal(Value::text(&regular), Type::Text), untyped: true, span }, false)
            }
            (Some(_), None) => {
                let error = Error::unsupported("substring with FROM and FOR takes a constant pattern");
                return Err(place::at(error, text, span));
            }
        };
        let part = match plain {
            true => "CASE WHEN regexp_like(s, p) THEN regexp_extract(s, p, 0) END",
            false => "(regexp_match(s, p))[1]",
        };
        self.written_over("substring", part, vec![("s", value), ("p", pattern)])
    }

    fn substring_of(&self, arguments: Vec<Bound>, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let fits = |at: usize, b: &Bound| match at {
            0 => b.ty().is_text() || b.is_null(),
            _ => b.ty().is_integer() || b.is_null() || b.untyped,
        };
        if !arguments.iter().enumerate().all(|(at, b)| fits(at, b)) {
            return Err(self.no_function("substring", &arguments, span));
        }
        // Of a constant text it is known now, and where; of a column's it depends on the rows.
        if let Some(length) = arguments.get(2).and_then(|l| l.expr.as_literal()).and_then(Value::as_i64)
            && length < 0
            && arguments[0].expr.as_literal().is_some_and(|text| !text.is_null())
        {
            let error = Error::new(SqlState::InvalidParameterValue, "negative substring length not allowed");
            return Err(place::at(error, text, arguments[2].span));
        }
        let mut exprs = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.into_iter().enumerate() {
            let to = if at == 0 { Type::Text } else { Type::Integer };
            let ty = argument.ty();
            exprs.push(match (at, ty) {
                (1.., Type::BigInt) => argument.expr,
                _ => match coerce::implicit(argument, to, text)? {
                    Some(e) => cast(e, to),
                    None => return Err(Error::internal("substring argument")),
                },
            });
        }
        Ok(own(Function::Substring, exprs, Type::Text))
    }

    /// A call with words in its brackets, such as `EXTRACT(YEAR FROM d)`.
    pub(crate) fn special(&mut self, call: &'a tree::SpecialCall, at: Span) -> Result<Bound> {
        use tree::SpecialCall as S;
        match call {
            S::Extract(field, value) => self.extract(field, value),
            S::Position(part, text) => self.call("strpos", &[text, part]),
            S::Substring { text, from, length } => self.substring(text, from.as_ref(), length.as_ref()),
            S::SubstringSimilar(text, pattern, escape) => self.substring(text, Some(pattern), Some(escape)),
            S::Trim { side, characters, texts } => self.trim(*side, characters.as_ref(), texts, at),
            S::Overlay(text, with, from, length) => {
                let mut arguments = vec![text, with, from];
                arguments.extend(length);
                self.call("overlay", &arguments)
            }
            // The field says nothing.
            S::RoundTo { up, expr, field: _ } => self.call(if *up { "ceil" } else { "floor" }, &[expr]),
            S::Normalize(text, form) => {
                let values = vec![self.bind(text)?, self.identifier(std::slice::from_ref(form))?];
                self.apply("normalize", values, at)
            }
            S::Try(value) => self.attempt(value, at),
        }
    }

    /// `TRIM([LEADING | TRAILING | BOTH] what FROM value)`.
    fn trim(
        &mut self,
        side: Option<tree::TrimSide>,
        what: Option<&'a Ast>,
        texts: &'a [Ast],
        at: Span,
    ) -> Result<Bound> {
        let text = self.binder.text;
        let value = match texts {
            [value] => value,
            [] => return Err(refusal::unexpected(text, at)),
            [_, second, ..] => return Err(refusal::unexpected(text, second.span)),
        };
        let name = match side {
            None | Some(tree::TrimSide::Both) => "btrim",
            Some(tree::TrimSide::Leading) => "ltrim",
            Some(tree::TrimSide::Trailing) => "rtrim",
        };
        let mut values = vec![self.bind(value)?];
        let span = values[0].span;
        match what {
            Some(what) => values.push(self.bind(what)?),
            // FROM without characters before it takes blanks away.
            None if is_behind_from(text, value.span, at) => {
                let blank = Expr::literal(Value::text(" "), Type::Text);
                values.push(Bound { expr: blank, untyped: true, span: value.span });
            }
            None => {}
        }
        self.apply(name, values, span)
    }

    /// ROUND and TRUNC of a DECIMAL, which are exact: a cast to fewer digits rounds half away from zero.
    fn rounded(&mut self, name: &str, mut arguments: Vec<Bound>, span: Span) -> Result<Bound> {
        let text = self.binder.text;
        if let Some(given) = arguments.get(1)
            && !(given.ty().is_integer() || given.is_null() || given.untyped)
        {
            return Err(self.no_function(name, &arguments, span));
        }
        let digits = match arguments.get(1).cloned() {
            None => Some(0),
            Some(bound) => {
                let digits = self.whole(bound)?;
                let known = digits.as_literal().and_then(Value::as_i64);
                if known.is_none() {
                    return Ok(Bound::typed(to_digits(name, arguments.swap_remove(0).expr, digits), span));
                }
                known
            }
        };
        let value = arguments.remove(0).expr;
        let (Type::Decimal { precision, scale }, Some(digits)) = (value.ty, digits) else {
            return Err(Error::internal("a decimal and its digits"));
        };
        // More digits behind the point than there is room for are zeros.
        let whole = precision.saturating_sub(scale);
        let digits = digits.clamp(-39, i64::from(scale.max(38 - whole)));
        if -digits > i64::from(whole) {
            let rounded = to_digits(name, value, literal_of(digits));
            return Ok(Bound::typed(cast(rounded, Type::Decimal { precision: 1, scale: 0 }), span));
        }
        if digits < 0 {
            // Whole tens, hundreds: scaled down, rounded, and back up.
            let Ok(up) = u8::try_from(-digits) else { return Err(Error::internal("digits of a decimal")) };
            let unit = types::decimal::power_of_ten(up);
            let unit = literal::decimal_literal(unit, 0);
            let down = literal::decimal_literal(1, up);
            let scaled = operator::arithmetic(
                Arithmetic::Multiply,
                Bound::typed(value, span),
                Bound::typed(down, span),
                text,
            )?;
            let whole = Type::Decimal { precision: precision.max(1), scale: 0 };
            let rounded =
                if name == "trunc" { truncated(scaled, 0, span, text)? } else { cast(scaled, whole) };
            let back = operator::arithmetic(
                Arithmetic::Multiply,
                Bound::typed(rounded, span),
                Bound::typed(unit, span),
                text,
            )?;
            return Ok(Bound::typed(back, span));
        }
        let Ok(digits) = u8::try_from(digits) else { return Err(Error::internal("digits of a decimal")) };
        let rounded = if name == "trunc" && digits < scale {
            truncated(value, digits, span, text)?
        } else {
            let carry = u8::from(digits < scale);
            let ty =
                Type::Decimal { precision: (precision - scale + digits + carry).clamp(1, 38), scale: digits };
            cast(value, ty)
        };
        Ok(Bound::typed(rounded, span))
    }
}

fn literal_of(digits: i64) -> Expr {
    Expr::literal(Value::I64(digits), Type::BigInt)
}

/// `round` or `trunc` of a decimal to digits that a row says; the scale stays, and a carry has room.
fn to_digits(name: &str, value: Expr, digits: Expr) -> Expr {
    let ty = match value.ty {
        Type::Decimal { precision, scale } => Type::Decimal { precision: (precision + 1).min(38), scale },
        other => other,
    };
    let name = if name == "trunc" { plan::functions::TRUNC_TO } else { plan::functions::ROUND_TO };
    Expr::new(ExprKind::Library { name: name.into(), arguments: vec![value, digits] }, ty)
}

/// The function over bytes that has a text's name.
fn of_bytes(name: &str) -> Option<&'static str> {
    Some(match name {
        "substring" | "substr" => "bytes substring",
        "overlay" => "bytes overlay",
        "strpos" | "position" | "instr" => "bytes position",
        "btrim" | "trim" => "bytes btrim",
        "ltrim" => "bytes ltrim",
        "rtrim" => "bytes rtrim",
        _ => return None,
    })
}

/// Whether FROM stands before the only text of a TRIM.
fn is_behind_from(text: &str, value: Span, call: Span) -> bool {
    let before = Span { start: call.start, end: value.start }.of(text);
    let last = before.split_ascii_whitespace().next_back().unwrap_or_default();
    let last = last.rsplit('(').next().unwrap_or_default();
    last.eq_ignore_ascii_case("from")
}

/// Whether a regular expression has a group that is remembered.
fn has_group(pattern: &str) -> bool {
    let mut escaped = false;
    let bytes = pattern.as_bytes();
    (0..bytes.len()).any(|at| {
        let here = std::mem::take(&mut escaped);
        escaped = !here && bytes[at] == b'\\';
        !here && bytes[at] == b'(' && bytes.get(at + 1) != Some(&b'?')
    })
}

/// `value` without the digits behind `digits`: the remainder is taken off, then the rest fits exactly.
pub(crate) fn truncated(value: Expr, digits: u8, span: Span, text: &str) -> Result<Expr> {
    let Type::Decimal { precision, scale } = value.ty else { return Ok(value) };
    let unit = Bound::typed(literal::decimal_literal(1, digits), span);
    let rest = operator::arithmetic(Arithmetic::Modulo, Bound::typed(value.clone(), span), unit, text)?;
    let cut = operator::arithmetic(
        Arithmetic::Subtract,
        Bound::typed(value, span),
        Bound::typed(rest, span),
        text,
    )?;
    Ok(cast(cut, Type::Decimal { precision: (precision - scale + digits).clamp(1, 38), scale: digits }))
}

/// A call of a kernel of this engine, without checks.
pub(crate) fn own(function: Function, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Function { function, arguments }, ty)
}

fn as_text(bound: Bound) -> Bound {
    let span = bound.span;
    let untyped = bound.untyped;
    Bound { expr: cast(bound.expr, Type::Text), untyped, span }
}

/// FLOOR and CEIL of a DECIMAL, without digits behind the point: what the remainder takes off is one too few or too
/// many on one side of zero.
fn whole_below_or_above(value: Bound, above: bool, text: &str) -> Result<Expr> {
    let Type::Decimal { precision, scale } = value.ty() else { return Ok(value.expr) };
    if scale == 0 {
        return Ok(value.expr);
    }
    let span = value.span;
    let whole = Type::Decimal { precision: (precision - scale + 1).clamp(1, 38), scale: 0 };
    let rest = |value: Expr| {
        let one = Bound::typed(literal::decimal_literal(1, 0), span);
        operator::arithmetic(Arithmetic::Modulo, Bound::typed(value, span), one, text)
    };
    let remainder = rest(value.expr.clone())?;
    let cut = cast(truncated(value.expr, 0, span, text)?, whole);
    let zero = Expr::literal(crate::bind::zero_of(remainder.ty), remainder.ty);
    let op = if above { types::Comparison::Greater } else { types::Comparison::Less };
    let beside = Expr::compare(op, remainder, zero);
    let step = if above { Arithmetic::Add } else { Arithmetic::Subtract };
    let one = Bound::typed(literal::decimal_literal(1, 0), span);
    let moved = cast(operator::arithmetic(step, Bound::typed(cut.clone(), span), one, text)?, whole);
    let branches = vec![(beside, moved)];
    Ok(Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(cut)) }, whole))
}

/// The type whose name is called as a function of one value, as PostgreSQL allows: a cast.
fn type_called(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Boolean,
        "int2" => Type::SmallInt,
        "int4" => Type::Integer,
        "int8" => Type::BigInt,
        "float4" => Type::Real,
        "float8" => Type::Double,
        "text" | "bpchar" => Type::Text,
        "date" => Type::Date,
        "timestamptz" => Type::TimestampTz,
        "timetz" => Type::TimeTz,
        "bytea" => Type::Bytea,
        "jsonb" => Type::Jsonb,
        _ => return None,
    })
}

impl Binder<'_> {
    /// When the statement began, in microseconds since 1970: the same wherever it asks.
    fn statement_moment(&mut self) -> i64 {
        let known = crate::moment::asked();
        *self.moment.get_or_insert_with(|| known.unwrap_or_else(|| self.relations.moment()))
    }

    fn said(&mut self) -> Expr {
        Expr::literal(Value::I64(self.statement_moment()), Type::TimestampTz)
    }

    /// When the transaction began that the statement runs in: the statement itself outside of a block.
    pub(crate) fn now(&mut self, ty: Type) -> Expr {
        let asked = self.statement_moment();
        let micros = self.relations.transaction_moment().unwrap_or(asked);
        let local = types::zone::current().local(micros).unwrap_or(micros);
        let value = match ty {
            Type::Date => Value::I32(local.div_euclid(MICROS_PER_DAY) as i32),
            Type::Time => Value::I64(local.rem_euclid(MICROS_PER_DAY)),
            Type::Timestamp => Value::I64(local),
            _ => Value::I64(micros),
        };
        Expr::literal(value, ty)
    }
}
