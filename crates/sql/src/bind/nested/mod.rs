//! Lists, structs and maps: their literals, their parts, and the functions that make and take them.
//!
//! Literals of constants become constants. A subscript is resolved by the type of its operand: an element of a list,
//! a field of a struct, the value of a map's key or a part of JSON. Functions that take lambdas are bound in `lambda`;
//! those without such syntax are typed in `nested_calls`. Called by `bind::expression` and `bind::function`.

pub(crate) mod lambda;
pub(crate) mod nested_calls;
pub(crate) mod paths;

use plan::Expr;
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::nested::{encoding, union};
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, fold, literal, operator};
use crate::bind::folded;
use crate::bind::function::arguments;
use crate::bind::function::arguments::is_plain;
use crate::bind::nested::lambda::takes_lambda;
use crate::bind::nested::paths::names_of;
pub(crate) use crate::bind::parts::call;
use crate::bind::query::columns::is_pattern;
use crate::bind::scope::nearest;
use crate::place;

/// A list of expressions of one type; of literals, a literal.
pub(crate) fn list_of(elements: Vec<Expr>, element: Type) -> Result<Expr> {
    let ty = Type::list(element)?;
    if elements.iter().all(|e| e.as_literal().is_some()) {
        let values = elements.iter().filter_map(Expr::as_literal);
        return Ok(Expr::literal(encoding::list_of(values, element), ty));
    }
    Ok(call("list_value", elements, ty))
}

/// A struct of expressions.
pub(crate) fn struct_of(names: Vec<String>, values: Vec<Expr>) -> Result<Expr> {
    let fields: Vec<(String, Type)> = names.into_iter().zip(values.iter().map(|v| v.ty)).collect();
    let ty = Type::structure(fields)?;
    let constants: Option<Vec<Value>> = values.iter().map(|v| v.as_literal().cloned()).collect();
    if let Some(value) = constants.and_then(|values| encoding::struct_of(&values, ty)) {
        return Ok(Expr::literal(value, ty));
    }
    Ok(call("struct_pack", values, ty))
}

/// A whole number and another one: vectors of the catalog count from 0.
pub(crate) fn plus(number: Expr, other: i64) -> Expr {
    let kind = plan::ExprKind::Arithmetic {
        op: plan::Arithmetic::Add,
        left: Box::new(number),
        right: Box::new(Expr::literal(types::Value::I64(other), Type::BigInt)),
        checked: true,
    };
    crate::bind::expression::fold::fold(Expr::new(kind, Type::BigInt))
}

impl<'a> ExprBinder<'_, 'a> {
    /// The error with a place in the statement.
    pub(crate) fn at(&self, error: Error, span: Span) -> Error {
        place::at(error, self.binder.text, span)
    }

    /// `[a, b]` and `ARRAY[a, b]`.
    pub(crate) fn list_literal(&mut self, elements: &'a [Ast]) -> Result<Bound> {
        let mut bound = Vec::with_capacity(elements.len());
        for element in elements {
            bound.push(self.bind(element)?);
        }
        let span = bound.first().map_or(Span::default(), |b| b.span);
        let (elements, element) = coerce::unify(bound, "list", self.binder.text)?;
        let list = list_of(elements, element).map_err(|e| self.at(e, span))?;
        Ok(Bound::typed(list, span))
    }

    /// `{'a': 1}`.
    pub(crate) fn struct_literal(&mut self, fields: &'a [(tree::Name, Ast)]) -> Result<Bound> {
        let (mut names, mut values) = (Vec::with_capacity(fields.len()), Vec::with_capacity(fields.len()));
        for (name, value) in fields {
            names.push(folded(name));
            values.push(self.bind(value)?);
        }
        let span = values.first().map_or(Span::default(), |b| b.span);
        self.structure(names, values, span)
    }

    /// A struct of named values.
    pub(crate) fn structure(&self, names: Vec<String>, values: Vec<Bound>, span: Span) -> Result<Bound> {
        if values.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "a struct has at least one field");
            return Err(self.at(error, span));
        }
        let twice = |at: usize| !names[at].is_empty() && names[..at].contains(&names[at]);
        if let Some(at) = (0..names.len()).find(|at| twice(*at)) {
            let error = format!("the struct has the field \"{}\" twice", names[at]);
            return Err(self.at(Error::new(SqlState::DuplicateColumn, error), span));
        }
        let values = values.into_iter().map(Bound::settled).collect();
        struct_of(names, values).map(|e| Bound::typed(e, span)).map_err(|e| self.at(e, span))
    }

    /// `(a, b)`: a struct without names.
    pub(crate) fn row(&mut self, values: &'a [Ast]) -> Result<Bound> {
        let mut bound = Vec::with_capacity(values.len());
        for value in values {
            bound.push(self.bind(value)?);
        }
        let span = bound.first().map_or(Span::default(), |b| b.span);
        self.structure(vec![String::new(); bound.len()], bound, span)
    }

    /// `ROW(a, b)`, which may stand for a row of one value.
    pub(crate) fn row_call(&mut self, values: &'a [Ast], at: Span) -> Result<Bound> {
        let word = Span::new(at.start, (at.start + 3).min(at.end));
        let mut bound = Vec::with_capacity(values.len());
        for value in values {
            match &value.kind {
                // The columns of a table, each by itself.
                AstKind::Star(star) if star.of.is_some() && is_plain(star) => {
                    let Some(of) = &star.of else { continue };
                    let items = self.qualified_star(of, value.span)?;
                    bound.extend(items.into_iter().map(|item| Bound::typed(item.expr, item.span)));
                }
                AstKind::Star(star) if !is_pattern(star) => {
                    return Err(self.no_argument("row", &value.to_string(), word));
                }
                _ => bound.push(self.bind(value)?),
            }
        }
        self.structure(vec![String::new(); bound.len()], bound, word)
    }

    fn no_argument(&self, name: &str, shown: &str, span: Span) -> Error {
        self.at(Error::unsupported(format!("{name} does not take the argument {shown}")), span)
    }

    /// `MAP {k: v}`.
    pub(crate) fn map_literal(&mut self, entries: &'a [(Ast, Ast)]) -> Result<Bound> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            keys.push(self.bind(key)?);
            values.push(self.bind(value)?);
        }
        let span = keys.first().map_or(Span::default(), |b| b.span);
        let (keys, key) = coerce::unify(keys, "map keys", self.binder.text)?;
        let (values, value) = coerce::unify(values, "map values", self.binder.text)?;
        let made = || {
            let ty = Type::map(key, value)?;
            Ok(call("map", vec![list_of(keys, key)?, list_of(values, value)?], ty))
        };
        made().map(|e| Bound::typed(e, span)).map_err(|e| self.at(e, span))
    }

    /// A field of a struct, a key of a JSON object.
    pub(crate) fn field(&self, of: Bound, name: &str, span: Span) -> Result<Bound> {
        let ty = of.ty();
        if ty.is_json() {
            let key = crate::bind::function::json_calls::key(name);
            return Ok(Bound::typed(call("json_extract", vec![of.expr, key], ty), span));
        }
        if let Some(members) = ty.members() {
            return match union::place_of(members, name) {
                Some(at) => Ok(Bound::typed(member(of.expr, at), of.span)),
                None => {
                    let message = format!("the union {ty} has no member \"{name}\"");
                    let error = Error::new(SqlState::UndefinedColumn, message);
                    Err(self.at(with_nearest(error, name, members), span))
                }
            };
        }
        let Some(fields) = ty.fields() else {
            let error = Error::new(
                SqlState::WrongObjectType,
                format!("column notation .{name} applied to type {ty}, which is not a struct"),
            );
            return Err(self.at(error, span));
        };
        let exact = fields.iter().position(|(own, _)| own == name);
        // Fields without names are f1, f2 and so on, as PostgreSQL calls them.
        let numbered = || {
            let at = name.strip_prefix('f')?.parse::<usize>().ok()?.checked_sub(1)?;
            fields.get(at).filter(|(own, _)| own.is_empty()).map(|_| at)
        };
        let exact = exact.or_else(numbered);
        match exact.or_else(|| fields.iter().position(|(own, _)| own.eq_ignore_ascii_case(name))) {
            Some(at) => Ok(Bound::typed(extract(of.expr, at), of.span)),
            None => {
                let error =
                    Error::new(SqlState::UndefinedColumn, format!("the struct {ty} has no field \"{name}\""));
                Err(self.at(with_nearest(error, name, fields), span))
            }
        }
    }

    /// `x[index]`.
    pub(crate) fn subscript(&mut self, of: Bound, index: Bound) -> Result<Bound> {
        let text = self.binder.text;
        let span = of.span;
        let ty = of.ty();
        let expr = match ty {
            Type::List(_) => {
                let mut index = self.whole(index)?;
                if ty.is_vector() {
                    index = crate::bind::nested::plus(index, 1);
                }
                call("list_extract", vec![of.expr, index], ty.element().unwrap_or(Type::Null))
            }
            Type::Map(_) => {
                let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
                let (map, key) = self.with_key(of, index, key)?;
                call("map_extract_value", vec![map, key], value)
            }
            Type::Struct(_) | Type::Union(_) => return self.struct_part(of, index),
            Type::Json | Type::Jsonb => {
                let step = if index.ty().is_integer() { cast(index.expr, Type::BigInt) } else { index.expr };
                call("json_extract", vec![of.expr, step], ty)
            }
            ty if ty.is_text() => {
                let mut index = self.whole(index)?;
                if ty == Type::NAME {
                    // As in PostgreSQL, where a name is an array of characters that begins with number 0.
                    index = crate::bind::nested::plus(index, 1);
                }
                let index = Bound::typed(index, span);
                let part = self.slice(of, vec![Some(index.clone()), Some(index.clone())])?;
                crate::bind::decorrelate::packing::where_known(vec![index.expr], part.expr)
            }
            Type::Null => return Ok(of),
            _ => {
                let error = Error::new(
                    SqlState::DatatypeMismatch,
                    format!("cannot subscript type {ty}, it is neither list, struct, map nor JSON"),
                );
                return Err(place::at(error, text, span));
            }
        };
        Ok(Bound::typed(expr, span))
    }

    /// The field of a struct that a constant name or number says.
    pub(crate) fn struct_part(&self, of: Bound, index: Bound) -> Result<Bound> {
        let span = of.span;
        let fields = of.ty().fields().unwrap_or_default();
        match index.expr.as_literal() {
            Some(value) if value.as_text().is_some() => {
                self.field(of, value.as_text().unwrap_or_default(), index.span)
            }
            Some(value) if value.as_i64().is_some_and(|n| n >= 1 && n <= fields.len() as i64) => {
                let at = value.as_i64().map_or(0, |n| n as usize - 1);
                Ok(Bound::typed(extract(of.expr, at), span))
            }
            _ => {
                let error = Error::new(
                    SqlState::UndefinedColumn,
                    match of.ty().members() {
                        Some(_) => "a union's member is read by a constant name".to_owned(),
                        None => {
                            format!(
                                "a struct of {} fields is read by a constant name or number",
                                fields.len()
                            )
                        }
                    },
                )
                .with_hint("write s.name or s['name']");
                Err(self.at(error, index.span))
            }
        }
    }

    /// A text's slice whose bounds may be negative: from the character `low` on, as many as there are up to `high`.
    fn slice_from_end(&mut self, of: Bound, low: Option<Bound>, high: Option<Bound>) -> Result<Bound> {
        use plan::Arithmetic::{Add, Subtract};
        let (span, text) = (of.span, self.binder.text);
        let number = |value: i64| Bound::typed(literal::integer(value), span);
        let count = self.apply("length", vec![of.clone()], span)?;
        let sum = |op, a: Bound, b: Bound| {
            Ok(Bound::typed(crate::bind::expression::operator::arithmetic(op, a, b, text)?, span))
        };
        let mut place = |bound: Bound| -> Result<Bound> {
            let back = sum(Add, sum(Add, count.clone(), bound.clone())?, number(1))?;
            let negative = crate::bind::expression::operator::comparison(
                types::Comparison::Less,
                bound.clone(),
                number(0),
                text,
            )?;
            let back = self.apply("greatest", vec![back, number(0)], span)?;
            let (back, forth) =
                (back.settled(), crate::bind::expression::coerce::cast(bound.settled(), Type::BigInt));
            let kind = plan::ExprKind::Case {
                branches: vec![(negative, crate::bind::expression::coerce::cast(back, Type::BigInt))],
                otherwise: Some(Box::new(forth)),
            };
            Ok(Bound::typed(Expr::new(kind, Type::BigInt), span))
        };
        let low = place(low.unwrap_or_else(|| number(1)))?;
        let Some(high) = high else { return self.apply("substring", vec![of, low], span) };
        let length = sum(Add, sum(Subtract, place(high)?, low.clone())?, number(1))?;
        let length = self.apply("greatest", vec![length, number(0)], span)?;
        self.apply("substring", vec![of, low, length], span)
    }

    /// `x[low:high:step]` of a list, or without a step of a text or bytes.
    pub(crate) fn slice(&mut self, of: Bound, bounds: Vec<Option<Bound>>) -> Result<Bound> {
        let span = of.span;
        let ty = of.ty();
        let mut given = bounds.into_iter();
        let (low, high, step) = (given.next().flatten(), given.next().flatten(), given.next().flatten());
        if (ty.is_text() || ty == Type::Bytea) && step.is_none() {
            // From the end: what counts there are the characters of the text itself.
            let from_end =
                |bound: &Bound| !bound.expr.as_literal().is_some_and(|v| v.as_i64().is_some_and(|v| v >= 0));
            if low.as_ref().is_some_and(from_end) || high.as_ref().is_some_and(from_end) {
                return self.slice_from_end(of, low, high);
            }
            // Characters from the first to the last, both included.
            let low = low.unwrap_or_else(|| Bound::typed(literal::integer(1), span));
            let mut arguments = vec![of, low.clone()];
            if let Some(high) = high {
                let length = crate::bind::expression::operator::arithmetic(
                    plan::Arithmetic::Subtract,
                    high,
                    Bound::typed(
                        crate::bind::expression::operator::arithmetic(
                            plan::Arithmetic::Subtract,
                            low,
                            Bound::typed(literal::integer(1), span),
                            self.binder.text,
                        )?,
                        span,
                    ),
                    self.binder.text,
                )?;
                // Nothing where the end stands before the beginning.
                let length = Bound::typed(length, span);
                let none = Bound::typed(literal::integer(0), span);
                arguments.push(self.apply("greatest", vec![length, none], span)?);
            }
            return self.apply("substring", arguments, span);
        }
        if !matches!(ty, Type::List(_)) {
            let error = Error::new(SqlState::DatatypeMismatch, format!("cannot slice type {ty}"));
            return Err(self.at(error, span));
        }
        // A bound that is NULL, other than one left out, makes the slice NULL.
        let bounds: Vec<Expr> = [&low, &high, &step].into_iter().flatten().map(|b| b.expr.clone()).collect();
        let mut arguments = vec![of.expr];
        for bound in [low, high] {
            arguments.push(match bound {
                Some(bound) => self.whole(bound)?,
                None => Expr::literal(Value::Null, Type::BigInt),
            });
        }
        if let Some(step) = step {
            arguments.push(self.whole(step)?);
        }
        let slice = call("list_slice", arguments, ty);
        Ok(Bound::typed(crate::bind::decorrelate::packing::where_known(bounds, slice), span))
    }

    /// A whole number, as indexes are.
    pub(crate) fn whole(&self, bound: Bound) -> Result<Expr> {
        let span = bound.span;
        let ty = bound.ty();
        if (ty.is_integer() || ty == Type::Null || bound.untyped)
            && let Some(expr) = coerce::implicit(bound, Type::BigInt, self.binder.text)?
        {
            return Ok(expr);
        }
        let error =
            Error::new(SqlState::DatatypeMismatch, format!("an index is a whole number, not of type {ty}"));
        Err(self.at(error, span))
    }

    /// A map and a key, the key in the type of the map's.
    pub(crate) fn with_key(&self, map: Bound, key: Bound, ty: Type) -> Result<(Expr, Expr)> {
        let (span, given) = (key.span, key.ty());
        if let Some(key) = coerce::implicit(key.clone(), ty, self.binder.text)? {
            return Ok((map.expr, cast(key, ty)));
        }
        match coerce::common_type(given, ty).filter(|common| *common == given || *common == ty) {
            // A wider key: the map's keys go to its type.
            Some(common) => {
                let value = map.ty().entry().map_or(Type::Null, |(_, value)| value);
                let wide = Type::map(common, value)?;
                Ok((cast(map.expr, wide), cast(key.expr, common)))
            }
            None => {
                let error = format!("the map's keys are of type {ty}, not {given}");
                Err(self.at(Error::new(SqlState::DatatypeMismatch, error), span))
            }
        }
    }

    /// `union_value(name := value)`: a union of one member.
    fn union_value(&mut self, arguments: &'a [tree::Argument], span: Span) -> Result<Bound> {
        let [argument] = arguments else {
            return Err(self.no_union(span));
        };
        let Some((member, value)) = arguments::named(argument) else {
            return Err(self.no_union(span));
        };
        let value = self.bind(value)?.settled();
        let ty = Type::union(vec![(folded(member), value.ty)]).map_err(|e| self.at(e, span))?;
        Ok(Bound::typed(fold::fold(call("union_value", vec![value], ty)), span))
    }

    fn no_union(&self, span: Span) -> Error {
        let error = Error::new(SqlState::UndefinedFunction, "union_value takes one named value")
            .with_hint("write union_value(member := value)");
        self.at(error, span)
    }

    /// A call whose arguments are named or a lambda; `None` for other functions.
    pub(crate) fn special_call(
        &mut self,
        name: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Option<Bound>> {
        if let Some(function) = takes_lambda(name) {
            return self.lambda_call(function, arguments, span).map(Some);
        }
        let named = self.path_arguments(name, arguments).map_err(|e| self.at(e, span))?;
        if let Some(parts) = named {
            return self.apply(name, parts, span).map(Some);
        }
        if name == "timeofday" && arguments.is_empty() {
            let now = self.apply("clock_timestamp", vec![], span)?;
            let form = Expr::literal(Value::text("Dy Mon DD HH24:MI:SS.US YYYY TZ"), Type::Text);
            return self.apply("to_char", vec![now, Bound::typed(form, span)], span).map(Some);
        }
        if name == "union_value" {
            return self.union_value(arguments, span).map(Some);
        }
        if !matches!(name, "struct_pack" | "struct_insert" | "struct_update" | "row") {
            return Ok(None);
        }
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for argument in arguments {
            if let Some((field, value)) = arguments::named(argument) {
                names.push(folded(field));
                values.push(self.bind(value)?);
                continue;
            }
            let Some(value) = self.binder.argument_value(argument) else {
                return Err(self.no_argument(name, &arguments::shown(argument), span));
            };
            // A column gives the field its own name.
            let column = names_of(value).filter(|_| name == "struct_pack").and_then(<[_]>::last);
            names.push(column.map_or_else(String::new, folded));
            values.push(self.bind(value)?);
        }
        if !matches!(name, "struct_insert" | "struct_update") {
            return self.structure(names, values, span).map(Some);
        }
        let mut given = values.into_iter();
        let of = given.next().filter(|of| of.ty().fields().is_some());
        let Some(of) = of else {
            let error =
                Error::new(SqlState::UndefinedFunction, format!("{name} takes a struct and named values"))
                    .with_hint(format!("write {name}(s, name := value)"));
            return Err(self.at(error, span));
        };
        if name == "struct_update" {
            let new = names.drain(1..).zip(given).collect();
            return self.struct_update(of, new, span).map(Some);
        }
        let mut fields = of.ty().fields().unwrap_or_default().to_vec();
        let mut inserted = vec![of.expr];
        for (name, value) in names.drain(1..).zip(given) {
            if name.is_empty() || fields.iter().any(|(known, _)| *known == name) {
                let error = format!("struct_insert needs a new name for each value, not \"{name}\"");
                return Err(self.at(Error::new(SqlState::DuplicateColumn, error), span));
            }
            fields.push((name, value.ty()));
            inserted.push(value.settled());
        }
        let ty = Type::structure(fields).map_err(|e| self.at(e, span))?;
        Ok(Some(Bound::typed(call("struct_insert", inserted, ty), span)))
    }

    /// The operators of JSON and of lists that SQL writes with arrows and question marks.
    pub(crate) fn nested_operator(&mut self, op: &str, left: Bound, right: Bound) -> Result<Bound> {
        let (mut l, mut r) = (left, right);
        let span = l.span.to(r.span);
        let lists = l.ty().element().is_some() || r.ty().element().is_some();
        if op == "<@" {
            std::mem::swap(&mut l, &mut r);
        }
        if matches!(op, "#>" | "#>>") {
            // The path is a list of texts; '{a,b}' is one.
            let texts = Type::list(Type::Text)?;
            let path = coerce::implicit(r, texts, self.binder.text)?;
            let Some(path) = path else {
                let error = Error::new(
                    SqlState::DatatypeMismatch,
                    format!("{op} takes a list of texts on its right"),
                );
                return Err(self.at(error, span));
            };
            let given = l.ty();
            let json = match given {
                ty if ty.is_json() => l.expr,
                _ if given.is_text() || l.is_null() => cast(l.expr, Type::Json),
                _ => {
                    let error = Error::new(
                        SqlState::DatatypeMismatch,
                        format!("{op} takes JSON on its left, not {given}"),
                    )
                    .with_hint("to_json(value) makes JSON of any value");
                    return Err(self.at(error, span));
                }
            };
            let (name, ty) = match op {
                "#>" => ("json_extract_path", json.ty),
                _ => ("json_extract_path_text", Type::Text),
            };
            return Ok(Bound::typed(call(name, vec![json, path], ty), span));
        }
        let name = match op {
            "->" => "json_extract",
            "->>" => "json_extract_string",
            // Beside the functions of the same kind these hold that NULL is no element of any list.
            "@>" | "<@" if lists => "list_contains_all",
            "@>" | "<@" => "json_contains_at_top",
            "@?" => "jsonb_path_exists_opr",
            "@@" => "jsonb_path_match_opr",
            "&&" => "list_overlaps",
            "?&" => "json_has_all",
            _ => "json_has_any",
        };
        let (lt, rt) = (l.ty(), r.ty());
        let untyped_list = |bound: Bound, other: Type| match bound.untyped && other.element().is_some() {
            true => {
                coerce::read_literal(&bound, other, self.binder.text).map(|e| Bound::typed(e, bound.span))
            }
            false => Ok(bound),
        };
        let arguments = match name {
            "list_contains_all" | "list_overlaps" => [untyped_list(l, rt)?, untyped_list(r, lt)?],
            _ => [l, r],
        };
        match self.nested_call(name, &arguments, span)? {
            Some(expr) => Ok(Bound::typed(expr, span)),
            None => {
                let error = Error::new(
                    SqlState::UndefinedFunction,
                    format!("operator does not exist: {lt} {op} {rt}"),
                )
                .with_hint("no operator takes these types; an explicit cast may help");
                Err(self.at(error, span))
            }
        }
    }

    /// `x = ANY (list)` and `x = ALL (list)`.
    pub(crate) fn quantified_list(
        &mut self,
        left: &'a Ast,
        op: &tree::OperatorKind,
        right: &'a Ast,
        all: bool,
    ) -> Result<Bound> {
        let (value, list) = (self.bind(left)?, self.bind(right)?);
        let span = value.span.to(list.span);
        let Some(op) = crate::bind::expression::comparison_of(op) else {
            return Err(self.at(Error::unsupported("ANY and ALL take a comparison"), span));
        };
        let list = match list.untyped && !value.untyped {
            // A quoted literal is a list of what it is compared with.
            true => {
                let ty = Type::list(value.ty())?;
                Bound::typed(coerce::read_literal(&list, ty, self.binder.text)?, list.span)
            }
            false => list,
        };
        let Some(element) = list.ty().element() else {
            let error = Error::new(
                SqlState::DatatypeMismatch,
                format!("ANY and ALL take a list or a subquery, not {}", list.ty()),
            );
            return Err(self.at(error, list.span));
        };
        let value_ty = value.ty();
        let value = match value.untyped {
            true => Bound::typed(coerce::read_literal(&value, element, self.binder.text)?, value.span),
            false => value,
        };
        let Some(common) = coerce::common_type(value.ty(), element) else {
            let error = format!("operator does not exist: {value_ty} {} {element}", op.symbol());
            return Err(self.at(Error::new(SqlState::UndefinedFunction, error), span));
        };
        // Equal intervals, and texts that a collation compares, are not always the same values, which is what a list is
        // searched for.
        let own = common == Type::Interval || !common.compared_by().is_binary();
        if let (true, AstKind::List { array: _, elements }) = (own, &right.kind) {
            let mut found = Vec::with_capacity(elements.len());
            for element in elements {
                let element = self.bind(element)?;
                found.push(operator::comparison(op, value.clone(), element, self.binder.text)?);
            }
            return Ok(Bound::typed(if all { fold::and(found) } else { fold::or(found) }, span));
        }
        // What is nested is compared by its bytes.
        let (value, common) = match common.is_text() && own {
            true => (value.expr.cast(Type::Text), Type::Text),
            false => (cast(value.expr, common), common),
        };
        let list = cast(list.expr, Type::list(common)?);
        let name = if all { "list_all" } else { "list_any" };
        let op = Expr::literal(Value::text(op.symbol()), Type::Text);
        Ok(Bound::typed(call(name, vec![value, list, op], Type::Boolean), span))
    }

    /// `value IN list`, the list first: whether it is among the elements, of which a NULL is equal to none.
    pub(crate) fn among_elements(&self, arguments: &[Bound], span: Span) -> Result<Bound> {
        if let Some(expr) = self.nested_call("list_contains", arguments, span)? {
            return Ok(Bound::typed(fold::fold(expr), span));
        }
        let of = arguments.first().map_or(Type::Null, Bound::ty);
        let error = Error::new(SqlState::DatatypeMismatch, format!("IN takes a list, not {of}"))
            .with_hint("write value IN (a, b) or value IN [a, b]");
        Err(self.at(error, arguments.first().map_or(span, |list| list.span)))
    }

    /// A function of nested values or JSON, by any of its names; `None` when there is none for these arguments.
    pub(crate) fn nested_call(&self, name: &str, arguments: &[Bound], span: Span) -> Result<Option<Expr>> {
        nested_calls::bind(self, name, arguments, span).map_err(|e| match e.position() {
            Some(_) => e,
            None => self.at(e, span),
        })
    }
}

/// The error with the name that is nearest to the one that is not there.
fn with_nearest(error: Error, name: &str, parts: &[(String, Type)]) -> Error {
    match nearest(name, parts.iter().map(|(own, _)| own.as_str())) {
        Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
        None => error,
    }
}

/// The value of a union's member `at`, NULL where the union has another one.
pub(crate) fn member(of: Expr, at: usize) -> Expr {
    let ty = of.ty.members().and_then(|m| m.get(at)).map_or(Type::Null, |(_, ty)| *ty);
    let number = Expr::literal(Value::I64(at as i64), Type::BigInt);
    fold::fold(call("union_extract", vec![of, number], ty))
}

/// Field `at` of a struct.
pub(crate) fn extract(of: Expr, at: usize) -> Expr {
    let ty = of.ty.fields().and_then(|f| f.get(at)).map_or(Type::Null, |(_, ty)| *ty);
    if let Some(bytes) = of.as_literal().and_then(Value::as_bytes) {
        let payload = encoding::field(of.ty, bytes, at);
        return Expr::literal(encoding::slot_value(payload, ty), ty);
    }
    let number = Expr::literal(Value::I64(at as i64), Type::BigInt);
    call("struct_extract", vec![of, number], ty)
}
