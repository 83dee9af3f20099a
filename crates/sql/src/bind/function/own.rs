//! Calls of the functions that are evaluated value by value (`plan::functions`), and of those that are other calls
//! under another name.
//!
//! `call` finds a signature that the arguments fit and casts them to it; `written_out` gives the arguments back where
//! the name is no other expression. Called by `apply`.

use expr::functions::{self, Gives, Signature, Takes};
use plan::{Arithmetic, Expr, ExprKind};
use syntax::Span;
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, SqlState, Type, Value, Zone};

use crate::bind::expression::coerce::{self, Bound, cast, read_literal, widens};
use crate::bind::expression::{ExprBinder, operator, wide, zones};
use crate::bind::function::library;
use crate::bind::scope::nearest;
use crate::place;

/// Names that mean another function.
const ALIASES: [(&str, &str); 29] = [
    ("datediff", "date_diff"),
    ("datepart", "date_part"),
    ("datesub", "date_sub"),
    ("datetrunc", "date_trunc"),
    ("editdist3", "levenshtein"),
    ("formatreadabledecimalsize", "format_decimal_bytes"),
    ("from_binary", "unbin"),
    ("from_hex", "unhex"),
    ("gen_random_uuid", "uuid"),
    ("get_current_timestamp", "now"),
    ("greatest_common_divisor", "gcd"),
    ("iif", "if"),
    ("lcase", "lower"),
    ("least_common_multiple", "lcm"),
    ("len", "length"),
    ("mismatches", "hamming"),
    ("ord", "ascii"),
    ("prefix", "starts_with"),
    ("base64", "to_base64"),
    ("strlen", "octet_length"),
    ("suffix", "ends_with"),
    ("ucase", "upper"),
    ("unicode", "ascii"),
    ("formatreadablesize", "format_bytes"),
    ("xor", "#"),
    ("current_role", "current_user"),
    ("roundbankers", "round_even"),
    ("to_binary", "bin"),
    ("uuidv4", "uuid"),
];

/// Functions that are one field of a moment, with the field; those with `true` are whole numbers of what EXTRACT
/// counts with a fraction.
const FIELDS: [(&str, &str, bool); 24] = [
    ("century", "century", false),
    ("day", "day", false),
    ("dayofmonth", "day", false),
    ("dayofweek", "dow", false),
    ("dayofyear", "doy", false),
    ("decade", "decade", false),
    ("epoch", "epoch", false),
    ("era", "era", false),
    ("hour", "hour", false),
    ("isodow", "isodow", false),
    ("isoyear", "isoyear", false),
    ("microsecond", "microsecond", true),
    ("millennium", "millennium", false),
    ("millisecond", "millisecond", true),
    ("minute", "minute", false),
    ("month", "month", false),
    ("quarter", "quarter", false),
    ("second", "second", true),
    ("week", "week", false),
    ("weekday", "dow", false),
    ("weekofyear", "week", false),
    ("year", "year", false),
    ("yearweek", "yearweek", false),
    ("dow", "dow", false),
];

/// Functions written out below.
const WRITTEN_OUT: [&str; 24] = [
    "age",
    "ago",
    "create_sort_key",
    "decimal_division",
    "current_catalog",
    "current_database",
    "current_schema",
    "current_setting",
    "current_user",
    "date_add",
    "decode",
    "div",
    "encode",
    "enum_first",
    "enum_last",
    "enum_range",
    "enum_range_boundary",
    "if",
    "make_timestamptz",
    "pg_typeof",
    "session_user",
    "timezone",
    "typeof",
    "version",
];

/// Every name that is understood here.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let aliases = ALIASES.iter().map(|(name, _)| *name);
    let fields = FIELDS.iter().map(|(name, ..)| *name);
    aliases.chain(fields).chain(WRITTEN_OUT).chain(["user"]).chain(functions::names())
}

/// The name of the function that an alias stands for; other names unchanged.
pub(crate) fn aliased(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, meant)| meant)
}

/// Whether a parameter takes the argument, exactly or by a cast that loses nothing.
fn takes(parameter: Takes, argument: &Bound, exactly: bool) -> bool {
    let from = argument.ty();
    let open = argument.untyped || argument.is_null();
    match parameter {
        Takes::Any => true,
        Takes::Integer => from.is_integer() || (!exactly && open),
        Takes::Number => from.is_numeric() || (!exactly && argument.is_null()),
        Takes::Is(ty) if exactly => !open && (from == ty || (from.is_text() && ty.is_text())),
        Takes::Is(ty) => open || widens(from, ty) || (from.is_integer() && ty == Type::BigInt),
    }
}

fn parameter(signature: &Signature, at: usize) -> Option<Takes> {
    signature.takes.get(at).copied().or(signature.rest)
}

/// The first signature that takes the arguments as they are, or else with casts.
fn matching(name: &str, arguments: &[Bound]) -> Option<&'static Signature> {
    let count = arguments.len();
    let counted = |s: &&Signature| {
        let least = s.takes.len() - s.optional;
        count >= least && (count <= s.takes.len() || s.rest.is_some())
    };
    let suits = |s: &&Signature, exactly: bool| {
        arguments.iter().enumerate().all(|(at, a)| parameter(s, at).is_some_and(|p| takes(p, a, exactly)))
    };
    // An untyped literal is a text before it is anything else.
    let plainly = |s: &&Signature| {
        arguments.iter().enumerate().all(|(at, a)| match parameter(s, at) {
            Some(Takes::Is(ty)) if a.untyped => ty == Type::Text,
            Some(p) => takes(p, a, !a.is_null()),
            None => false,
        })
    };
    let all: Vec<&Signature> = functions::signatures(name).iter().filter(counted).collect();
    let exact = all.iter().copied().find(|s| suits(s, true));
    exact.or_else(|| all.iter().copied().find(plainly)).or_else(|| all.into_iter().find(|s| suits(s, false)))
}

/// The call, where a function of ours takes these arguments.
pub(crate) fn call(name: &str, arguments: &[Bound], text: &str) -> Result<Option<Expr>> {
    let Some(signature) = matching(name, arguments) else {
        if functions::named(name).is_some()
            && arguments.iter().any(|a| a.ty().is_timestamp_of_unit() || a.ty() == Type::TimeNs)
        {
            let plain: Vec<Bound> = arguments.iter().cloned().map(coerce::in_microseconds).collect();
            return call(name, &plain, text);
        }
        return match on_the_clock(name, arguments) {
            Some(readings) => call(name, &readings, text),
            None => Ok(None),
        };
    };
    let mut exprs = Vec::with_capacity(arguments.len());
    for (at, argument) in arguments.iter().enumerate() {
        let to = match parameter(signature, at) {
            Some(Takes::Is(ty)) => Some(ty),
            Some(Takes::Integer) if argument.untyped || argument.is_null() => Some(Type::BigInt),
            _ => None,
        };
        exprs.push(match to {
            Some(to) if argument.untyped && !to.is_text() => cast(read_literal(argument, to, text)?, to),
            Some(to) if argument.is_null() => Expr::literal(Value::Null, to),
            Some(to) => cast(argument.expr.clone(), to),
            None if matches!(name, "format" | "printf") => zones::written(argument.expr.clone())?,
            None => argument.expr.clone(),
        });
    }
    let ty = match signature.gives {
        Gives::Is(ty) => ty,
        Gives::First => exprs.first().map_or(Type::Null, |e| e.ty),
    };
    let zone = zones::session().filter(|_| exprs.iter().any(|e| e.ty == Type::TimestampTz));
    if let (true, Some(zone)) = (exprs.len() < signature.takes.len(), &zone)
        && matches!(name, "date_trunc" | "to_char" | "strftime")
    {
        exprs.push(zone.clone());
    }
    let from_template = name == "to_timestamp" && exprs.len() == 2;
    let called = Expr::new(ExprKind::Library { name: name.into(), arguments: exprs }, ty);
    if matches!(name, "strptime" | "try_strptime") && reads_zone(&arguments[1]) {
        return Ok(Some(zones::at_zone(zones::constant(Zone::Utc), called)));
    }
    Ok(Some(match zones::session() {
        // What the text says is a clock's reading; the function takes the clock to be in UTC.
        Some(zone) if from_template => {
            zones::at_zone(zone, zones::at_zone(zones::constant(Zone::Utc), called))
        }
        _ => called,
    }))
}

/// Whether a format has a place for an offset or a zone: what it reads is an instant.
fn reads_zone(format: &Bound) -> bool {
    let text = format.expr.as_literal().and_then(Value::as_text).unwrap_or_default();
    ["%z", "%Z"].iter().any(|place| text.replace("%%", "").contains(place))
}

/// The arguments with instants as the session's clock shows them, for functions that take no instants; `None` if
/// there are none. Hours and less are counted in UTC, as a clock may skip or repeat some.
fn on_the_clock(name: &str, arguments: &[Bound]) -> Option<Vec<Bound>> {
    let instants = arguments.iter().any(|a| !a.untyped && a.ty() == Type::TimestampTz);
    if !instants || functions::named(name).is_none() {
        return None;
    }
    let unit =
        arguments.first().and_then(|a| a.expr.as_literal()).and_then(Value::as_text).unwrap_or_default();
    let unit = unit.trim().to_lowercase();
    let short = ["hour", "min", "sec", "milli", "micro", "ms", "us"].iter().any(|s| unit.starts_with(s));
    let exact = matches!(name, "date_diff" | "date_sub") && short && !unit.starts_with("millen");
    let reading = |bound: &Bound| {
        if bound.untyped || !matches!(bound.ty(), Type::TimestampTz | Type::Timestamp | Type::Date) {
            return bound.clone();
        }
        let expr = match exact {
            true => zones::at_zone(zones::constant(Zone::Utc), cast(bound.expr.clone(), Type::TimestampTz)),
            false => cast(bound.expr.clone(), Type::Timestamp),
        };
        Bound::typed(expr, bound.span)
    };
    Some(arguments.iter().map(reading).collect())
}

/// An operator on the bits of two integers, in the wider of their types.
pub(crate) fn bits(op: &'static str, left: Bound, right: Bound, text: &str) -> Result<Bound> {
    let span = left.span.to(right.span);
    let shift = matches!(op, "<<" | ">>");
    if left.ty().is_bits() || (!shift && right.ty().is_bits()) {
        return crate::bind::function::bits::operator(op, left, right, text);
    }
    let mut operands = vec![left, right];
    if let Some(whole) = wide::function(op, &operands) {
        return Ok(Bound::typed(whole, span));
    }
    if !shift && operands.iter().all(|o| o.ty().is_integer()) {
        let (unified, _) = coerce::unify(operands, op, text)?;
        operands = unified.into_iter().map(|e| Bound::typed(e, span)).collect();
    }
    match call(op, &operands, text)? {
        Some(expr) => Ok(Bound::typed(expr, span)),
        None => {
            let (l, r) = (operands[0].ty(), operands[1].ty());
            let error =
                Error::new(SqlState::UndefinedFunction, format!("operator does not exist: {l} {op} {r}"))
                    .with_hint("it takes two integers; an explicit cast may help");
            Err(place::at(error, text, span))
        }
    }
}

/// The argument of `convert_to` and `convert_from`, with the code.
fn with_utf8(mut arguments: Vec<Bound>) -> Vec<Bound> {
    let span = arguments.first().map_or(Span::default(), |a| a.span);
    arguments.push(Bound::typed(Expr::literal(Value::text("UTF8"), Type::Text), span));
    arguments
}

/// Digits behind the point that a template of `to_number` reads.
fn template_scale(template: &str) -> u8 {
    let upper = template.to_uppercase();
    let behind = upper.split_once(['.', 'D']).map_or("", |(_, behind)| behind);
    behind.chars().filter(|c| matches!(c, '9' | '0')).count().min(30) as u8
}

impl<'a> ExprBinder<'_, 'a> {
    /// What is asked of a type of labels; the value itself says which type, and where a range begins or ends.
    fn of_enum(&mut self, name: &str, arguments: Vec<Bound>, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let Some(ty) = arguments.iter().map(Bound::ty).find(|ty| matches!(ty, Type::Enum(_))) else {
            let message = format!("{name} takes a value of an enum type");
            let error = Error::new(SqlState::UndefinedFunction, message)
                .with_hint(format!("the type alone is said by {name}(NULL::type)"));
            return Err(place::at(error, text, span));
        };
        let mut ends = Vec::with_capacity(2);
        for argument in arguments {
            let (given, at) = (argument.ty(), argument.span);
            match coerce::implicit(argument, ty, text)? {
                Some(end) => ends.push(end),
                None => {
                    let message = format!("{name} takes values of one enum type, not {ty} and {given}");
                    return Err(place::at(Error::new(SqlState::UndefinedFunction, message), text, at));
                }
            }
        }
        let labels = ty.labels().unwrap_or_default().len();
        let held =
            |at: usize| Expr::literal(if at < labels { Value::I32(at as i32) } else { Value::Null }, ty);
        Ok(match name {
            "enum_first" => held(0),
            "enum_last" => held(labels.wrapping_sub(1)),
            "enum_code" => Expr::new(ExprKind::Library { name: name.into(), arguments: ends }, Type::Integer),
            _ => {
                if ends.len() == 1 {
                    ends = vec![crate::bind::null_of(ty), crate::bind::null_of(ty)];
                }
                let name = plan::functions::ENUM_RANGE.into();
                Expr::new(ExprKind::Library { name, arguments: ends }, Type::list(ty)?)
            }
        })
    }

    /// What functions without arguments tell of the session and the server.
    fn told_of_session(&self, name: &str) -> Option<Expr> {
        let named = |value: &str| Expr::literal(Value::text(value), Type::NAME);
        let relations = self.binder.relations;
        let current = || relations.database_and_schema(&relations.current_schema());
        Some(match name {
            "version" => {
                // Clients look for PostgreSQL's version at the beginning, and for who it really is behind it.
                let version = crate::POSTGRESQL_VERSION;
                let own = format!("PostgreSQL {version} (Quickstep {})", env!("CARGO_PKG_VERSION"));
                Expr::literal(Value::text(&own), Type::Text)
            }
            "session_user" => named(&relations.session_user()),
            "current_user" | "user" => named(&relations.current_user()),
            "current_database" | "current_catalog" => named(&current().0),
            "current_schema" => named(&current().1),
            _ => return None,
        })
    }

    /// Calls that are other expressions; the arguments come back where the name is none of them.
    pub(crate) fn written_out(
        &mut self,
        name: &str,
        mut arguments: Vec<Bound>,
        span: Span,
    ) -> Result<std::result::Result<Expr, Vec<Bound>>> {
        let text = self.binder.text;
        let constant = |value: &str| Expr::literal(Value::text(value), Type::Text);
        if let (true, Some(told)) = (arguments.is_empty(), self.told_of_session(name)) {
            return Ok(Ok(told));
        }
        if let (Some((_, field, whole)), 1) = (FIELDS.iter().find(|(n, ..)| *n == name), arguments.len()) {
            let mut value = arguments.swap_remove(0);
            if value.untyped {
                value = Bound::typed(read_literal(&value, Type::Timestamp, text)?, value.span);
            }
            let part = self.extract_field(field, value, span)?;
            return Ok(Ok(if *whole { self.without_fraction(part, span)? } else { part }));
        }
        Ok(Ok(match (name, arguments.len()) {
            ("pg_typeof" | "typeof", 1) => {
                let argument = &arguments[0];
                let shown = if argument.untyped || argument.is_null() {
                    "unknown".to_owned()
                } else {
                    argument.ty().without_collation().sql_name()
                };
                constant(&if name == "typeof" { shown } else { shown.to_lowercase() })
            }
            // Text is UTF-8, so its bytes are the code.
            // A quoted literal is one of bytes there, as in PostgreSQL: '\x00ff' is two of them.
            ("encode", 2) if arguments[0].untyped && arguments[0].expr.as_literal().is_some() => {
                let bytes = read_literal(&arguments[0], Type::Bytea, text)?;
                arguments[0] = Bound::typed(bytes, arguments[0].span);
                library::call(name, arguments, text, span)?
            }
            ("encode", 1) => library::call("convert_to", with_utf8(arguments), text, span)?,
            ("decode", 1) => library::call("convert_from", with_utf8(arguments), text, span)?,
            ("current_setting", 1) => self.current_setting(&arguments[0])?,
            ("if", 3) => {
                let chosen = arguments.split_off(1);
                let condition = operator::condition(arguments.swap_remove(0), "IF", text)?;
                let (mut chosen, ty) = coerce::unify(chosen, "IF", text)?;
                let otherwise = chosen.pop().map(Box::new);
                let branches = chosen.pop().map(|then| (condition, then)).into_iter().collect();
                Expr::new(ExprKind::Case { branches, otherwise }, ty)
            }
            ("enum_first" | "enum_last" | "enum_range" | "enum_code", 1)
            | ("enum_range" | "enum_range_boundary", 2) => self.of_enum(name, arguments, span)?,
            ("date_add", 2) => {
                let span_of = arguments.swap_remove(1);
                operator::arithmetic(Arithmetic::Add, arguments.swap_remove(0), span_of, text)?
            }
            ("uuid", 0) => cast(library::call(name, arguments, text, span)?, Type::Uuid),
            ("to_number", 2) => {
                let scale = match arguments[1].expr.as_literal().and_then(Value::as_text) {
                    Some(template) => template_scale(template),
                    None => 10,
                };
                let read = library::call(name, arguments, text, span)?;
                Expr { ty: Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale }, ..read }
            }
            ("div", 2) if arguments.iter().all(|a| a.ty().is_numeric() || a.is_null()) => {
                let right = arguments.swap_remove(1);
                self.div(arguments.swap_remove(0), right, span)?
            }
            ("timezone", 2) => {
                let moment = arguments.swap_remove(1);
                self.in_zone(arguments.swap_remove(0), moment, "timezone", span)?.expr
            }
            ("make_timestamptz", 6 | 7) => {
                let given = (arguments.len() == 7).then(|| arguments.remove(6));
                let moment = Bound::typed(library::call("make_timestamp", arguments, text, span)?, span);
                match given {
                    Some(zone) => self.in_zone(zone, moment, name, span)?.expr,
                    None => cast(moment.expr, Type::TimestampTz),
                }
            }
            ("ago", 1) => {
                let now = Bound::typed(self.binder.now(Type::TimestampTz), span);
                let mut by = arguments.swap_remove(0);
                if by.untyped {
                    by = Bound::typed(read_literal(&by, Type::Interval, text)?, by.span);
                }
                operator::arithmetic(Arithmetic::Subtract, now, by, text)?
            }
            ("create_sort_key", count) if count > 0 && count % 2 == 0 => self.sort_key_of(arguments)?,
            ("decimal_division", 2 | 3) => self.decimal_division(arguments, span)?,
            // From a moment to the beginning of today.
            ("age", 1) => {
                let today = cast(self.binder.now(Type::Date), Type::Timestamp);
                arguments.insert(0, Bound::typed(today, span));
                library::call("age", arguments, text, span)?
            }
            _ => return Ok(Err(arguments)),
        }))
    }

    /// The whole part of a quotient of numbers, or of NULL.
    fn div(&mut self, left: Bound, right: Bound, span: Span) -> Result<Expr> {
        let decimal = Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale: 0 };
        if left.is_null() || right.is_null() {
            return Ok(Expr::literal(Value::Null, decimal));
        }
        let exact = |a: &Bound| a.ty().is_integer() || a.ty().is_decimal();
        let wide = |a: &Bound| a.ty() == Type::BigInt || a.ty().is_decimal();
        if !(exact(&left) && exact(&right)) {
            return self.whole_quotient(left, right, span);
        }
        if wide(&left) || wide(&right) {
            let name = plan::functions::WHOLE_QUOTIENT.into();
            return Ok(Expr::new(
                ExprKind::Library { name, arguments: vec![left.expr, right.expr] },
                decimal,
            ));
        }
        // The least number divided by -1 is beyond its type.
        let left = Bound::typed(cast(left.expr, Type::BigInt), left.span);
        self.whole_quotient(left, right, span)
    }

    /// `create_sort_key(value, 'DESC NULLS LAST', ...)`: bytes in the order that the words ask for.
    fn sort_key_of(&mut self, arguments: Vec<Bound>) -> Result<Expr> {
        let mut keys = Vec::with_capacity(arguments.len() / 2);
        for pair in arguments.chunks(2) {
            let [value, order] = pair else { return Err(Error::internal("a value and its order")) };
            let said = order.expr.as_literal().and_then(Value::as_text).unwrap_or_default().to_uppercase();
            let (descending, nulls_first) = match said.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["ASC" | "ASCENDING"] => (false, false),
                ["DESC" | "DESCENDING"] => (true, true),
                [way @ ("ASC" | "DESC"), "NULLS", place @ ("FIRST" | "LAST")] => {
                    (*way == "DESC", *place == "FIRST")
                }
                _ => {
                    let message = "create_sort_key takes the order of a value as a constant text";
                    let error = Error::new(SqlState::InvalidParameterValue, message)
                        .with_hint("write create_sort_key(value, 'ASC NULLS LAST')");
                    return Err(place::at(error, self.binder.text, order.span));
                }
            };
            let expr = operator::in_order(value.expr.clone());
            keys.push(plan::SortKey { expr, descending, nulls_first });
        }
        let nothing = Expr::literal(Value::Null, Type::Text);
        Ok(crate::bind::decorrelate::packing::ordered_row(keys, nothing))
    }

    /// `decimal_division(a, b [, scale])`: a decimal quotient, rounded to the nearest and halves to the even digit.
    fn decimal_division(&mut self, mut arguments: Vec<Bound>, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let refused =
            |message: String| place::at(Error::new(SqlState::UndefinedFunction, message), text, span);
        let wanted = if arguments.len() == 3 { arguments.pop() } else { None };
        let mut digits = [(0, 0); 2];
        for (argument, digits) in arguments.iter_mut().zip(&mut digits) {
            let (shown, known) = (argument.ty(), coerce::as_decimal(argument.ty()));
            *digits =
                known.ok_or_else(|| refused(format!("decimal_division takes decimals, not {shown}")))?;
        }
        let [(p1, s1), (p2, s2)] = digits.map(|(precision, scale)| (u32::from(precision), u32::from(scale)));
        let scale = match wanted.as_ref().map(|wanted| wanted.expr.as_literal().and_then(Value::as_i64)) {
            None => 6.max(s1 + p2 + 1),
            Some(Some(scale)) if (0..=38).contains(&scale) => scale as u32,
            Some(_) => return Err(refused("decimal_division takes a constant scale from 0 to 38".into())),
        };
        let Some(ty) = Type::decimal(p1 - s1 + s2 + scale, scale) else {
            let message = "the quotient of decimal_division would need more than 38 digits";
            let error = Error::new(SqlState::NumericValueOutOfRange, message)
                .with_hint("cast the operands to fewer digits, or give a scale");
            return Err(place::at(error, text, span));
        };
        let arguments = arguments.into_iter().map(|argument| argument.expr).collect();
        Ok(Expr::new(ExprKind::Library { name: plan::functions::DECIMAL_QUOTIENT.into(), arguments }, ty))
    }

    /// The whole part of a quotient.
    pub(crate) fn whole_quotient(&mut self, left: Bound, right: Bound, span: Span) -> Result<Expr> {
        let quotient = operator::arithmetic(Arithmetic::Divide, left, right, self.binder.text)?;
        if quotient.ty.is_integer() || quotient.ty.is_wide_integer() {
            Ok(quotient)
        } else {
            self.whole_part(quotient, span)
        }
    }

    /// The setting's value now.
    fn current_setting(&mut self, name: &Bound) -> Result<Expr> {
        let text = self.binder.text;
        let Some(wanted) = name.expr.as_literal().and_then(Value::as_text) else {
            let error = Error::unsupported("the name of a setting must be a constant");
            return Err(place::at(error, text, name.span));
        };
        let wanted = wanted.to_lowercase();
        let listed = self.binder.relations.system("quickstep_settings")?;
        let rows = listed.map(|l| l.rows).unwrap_or_default();
        let named = |row: &&Vec<Value>| row.first().and_then(Value::as_text) == Some(&wanted);
        match rows.iter().find(named) {
            Some(row) => Ok(Expr::literal(row.get(1).cloned().unwrap_or(Value::Null), Type::Text)),
            None => {
                let message = format!("unrecognized configuration parameter \"{wanted}\"");
                let error = Error::new(SqlState::UndefinedObject, message);
                let known = rows.iter().filter_map(|row| row.first().and_then(Value::as_text));
                let error = match nearest(&wanted, known) {
                    Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                    None => error.with_hint("SHOW ALL lists the settings"),
                };
                Err(place::at(error, text, name.span))
            }
        }
    }

    /// A number without its fraction, as BIGINT.
    pub(crate) fn without_fraction(&self, value: Expr, span: Span) -> Result<Expr> {
        let part = self.whole_part(value, span)?;
        Ok(cast(part, Type::BigInt))
    }

    fn whole_part(&self, value: Expr, span: Span) -> Result<Expr> {
        if value.ty.is_integer() {
            return Ok(value);
        }
        let text = self.binder.text;
        match value.ty {
            Type::Decimal { .. } => crate::bind::function::truncated(value, 0, span, text),
            _ => library::call("trunc", vec![Bound::typed(value, span)], text, span),
        }
    }
}
