//! Functions that give rows, in the select list and in FROM: each is UNNEST of the list that another call makes.
//!
//! In the select list the list is added to `ExprBinder::unnests`, and the item is the column of its elements; in FROM
//! the call is a lateral source. Elsewhere the call is an error with a hint, unless the name is that of a function of
//! single values, too, such as `regexp_matches`. Called by `bind::function` and `bind::from`.

use plan::Expr;
use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Error, Result, SqlState, SystemType, Type};

use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder};
use crate::bind::folded;
use crate::bind::function::arguments;
pub(crate) use crate::bind::function::named::{gives_records, gives_rows as is_one};
use crate::bind::nested::{call, plus};
use crate::data_type::column_type;
use crate::place;

/// No rows of these columns.
fn none_of(columns: &[(&str, Type)]) -> Result<Expr> {
    none_of_type(Type::structure(columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect())?)
}

fn none_of_type(element: Type) -> Result<Expr> {
    Ok(crate::bind::null_of(Type::list(element)?))
}

impl<'a> ExprBinder<'_, 'a> {
    /// The list of structs that `json_to_record` and `json_to_recordset` make, the one of one struct.
    pub(crate) fn records(
        &mut self,
        name: &str,
        mut arguments: Vec<Bound>,
        alias: Option<&tree::TableAlias>,
        span: Span,
    ) -> Result<Expr> {
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, span);
        let columns = alias.map(|a| a.columns.as_slice()).unwrap_or_default();
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let Some(ty) = &column.ty else { break };
            fields.push((folded(&column.name), column_type(text, ty, self.binder.relations)?));
        }
        if fields.is_empty() || fields.len() < columns.len() {
            let message = format!("a column definition list is required for {name}");
            return Err(refuse(Error::new(SqlState::SyntaxError, message).with_hint(format!(
                "name the columns and their types: {name}(...) AS x(a INTEGER, b TEXT)"
            ))));
        }
        let (Some(json), true) = (arguments.pop(), arguments.is_empty()) else {
            let message = format!("{name} takes one JSON value");
            return Err(refuse(Error::new(SqlState::UndefinedFunction, message)));
        };
        if !(json.ty().is_text() || json.is_null()) {
            let message = format!("{name} takes JSON, not {}", json.ty());
            return Err(refuse(Error::new(SqlState::DatatypeMismatch, message)));
        }
        let json = if json.ty().is_json() { json.expr } else { coerce::cast(json.expr, Type::Json) };
        let record = Type::structure(fields)?;
        let list = Type::list(record)?;
        Ok(match name.ends_with("set") {
            true => coerce::cast(json, list),
            false => call("list_value", vec![coerce::cast(json, record)], list),
        })
    }

    /// An operand of AND, OR, NOT or WHEN.
    pub(crate) fn bind_condition(&mut self, ast: &'a Ast) -> Result<Bound> {
        let outside = std::mem::replace(&mut self.in_condition, true);
        let bound = self.bind(ast);
        self.in_condition = outside;
        bound
    }

    /// The list whose elements are the rows of a call.
    pub(crate) fn rows_as_list(&mut self, name: &str, mut arguments: Vec<Bound>, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        if let (true, Some(first)) =
            (name.starts_with("jsonb_") && !name.contains("_populate_"), arguments.first_mut())
            && first.ty() != Type::Jsonb
        {
            let read = coerce::implicit(first.clone(), Type::Jsonb, text)?;
            *first = Bound::typed(read.unwrap_or_else(|| first.expr.clone()), first.span);
        }
        let plain = name.replace("jsonb_", "json_");
        let list = match (plain.as_str(), arguments.len()) {
            ("generate_subscripts", 2 | 3) if arguments[0].ty().element().is_some() => {
                let backwards = arguments.pop_if(|last| last.ty() == Type::Boolean);
                let length = self.nested_call("array_length", &arguments, span)?;
                let length = length.map(|length| coerce::cast(length, Type::BigInt));
                // Vectors of the catalog count from 0.
                let first = i64::from(!arguments[0].ty().is_vector());
                let last = |length: Expr| if first == 0 { plus(length, -1) } else { length };
                let whole = |n: i64| Expr::literal(types::Value::I64(n), Type::BigInt);
                let series = |from: Expr, to: Expr, by: i64| -> Result<Expr> {
                    let arguments = vec![from, to, whole(by), Expr::boolean(true)];
                    let list = call("list_range", arguments, Type::list(Type::BigInt)?);
                    Ok(coerce::cast(list, Type::list(Type::Integer)?))
                };
                match (length, backwards.map(|b| b.expr)) {
                    (Some(length), None) => Some(series(whole(first), last(length), 1)?),
                    (Some(length), Some(backwards)) => {
                        let down = series(last(length.clone()), whole(first), -1)?;
                        let up = series(whole(first), last(length), 1)?;
                        let ty = up.ty;
                        let kind = plan::ExprKind::Case {
                            branches: vec![(backwards, down)],
                            otherwise: Some(Box::new(up)),
                        };
                        Some(Expr::new(kind, ty))
                    }
                    (None, _) => None,
                }
            }
            ("_pg_expandarray", 1) => match arguments[0].ty().element() {
                Some(element) => Some(self.with_places(arguments.remove(0), element, span)?),
                None => None,
            },
            // Nothing is granted by lists, and no options are kept: the lists are NULL.
            ("aclexplode", 1) => Some(none_of(&[
                ("grantor", Type::OID),
                ("grantee", Type::OID),
                ("privilege_type", Type::Text),
                ("is_grantable", Type::Boolean),
            ])?),
            ("pg_options_to_table", 1) => {
                Some(none_of(&[("option_name", Type::Text), ("option_value", Type::Text)])?)
            }
            ("pg_partition_ancestors", 1) => Some(none_of_type(Type::System(SystemType::Regclass))?),
            ("regexp_split_to_table", _) => self.nested_call("regexp_split_to_array", &arguments, span)?,
            ("string_to_table", _) => self.nested_call("string_to_array", &arguments, span)?,
            ("regexp_matches", _) => self.nested_call("regexp_all_matches", &arguments, span)?,
            ("json_each", 1) => self.nested_call("json_entries", &arguments, span)?,
            ("json_each_text", 1) => self.nested_call("json_entries_text", &arguments, span)?,
            ("json_array_elements", 1) => self.nested_call("json_elements", &arguments, span)?,
            ("json_array_elements_text", 1) => self.nested_call("json_elements_text", &arguments, span)?,
            ("json_populate_record", 2) => Some(self.populated(&arguments[0], &arguments[1], false)?),
            ("json_populate_recordset", 2) => Some(self.populated(&arguments[0], &arguments[1], true)?),
            ("json_path_query", _) => self.nested_call("jsonb_path_items", &arguments, span)?,
            ("json_path_query_tz", _) => self.nested_call("jsonb_path_items_tz", &arguments, span)?,
            ("json_object_keys", 1) => self.nested_call("json_keys_of_object", &arguments, span)?,
            ("json_object_keys", 2) => self.nested_call("json_keys", &arguments, span)?,
            _ => None,
        };
        list.ok_or_else(|| {
            let shown =
                |b: &Bound| if b.untyped { "unknown".to_owned() } else { b.ty().sql_name().to_lowercase() };
            let types: Vec<String> = arguments.iter().map(shown).collect();
            let message = format!("function {name}({}) does not exist", types.join(", "));
            let error = Error::new(SqlState::UndefinedFunction, message)
                .with_hint("no function takes these types; a cast may help");
            place::at(error, text, span)
        })
    }

    /// `json_populate_record` and `json_populate_recordset`: structs of the first argument's type, made of objects. A key
    /// that an object lacks leaves what the first argument has.
    fn populated(&self, base: &Bound, json: &Bound, many: bool) -> Result<Expr> {
        let text = self.binder.text;
        let refuse = |error: Error| place::at(error, text, base.span);
        let Some(fields) = base.ty().fields() else {
            let message = format!("the first argument must be a row, not {}", base.ty());
            return Err(refuse(Error::new(SqlState::DatatypeMismatch, message).with_hint(
                "write NULL::STRUCT(a INTEGER, b TEXT), or json_to_record(...) AS x(a INTEGER, b TEXT)",
            )));
        };
        if !(json.ty().is_text() || json.is_null()) {
            let message = format!("JSON is made a row of, not {}", json.ty());
            return Err(refuse(Error::new(SqlState::DatatypeMismatch, message)));
        }
        let json = match json.ty().is_json() {
            true => json.expr.clone(),
            false => coerce::cast(json.expr.clone(), Type::Json),
        };
        let ty = base.ty();
        let nothing = base.expr.as_literal().is_some_and(types::Value::is_null);
        if many {
            if !nothing {
                let message = "json_populate_recordset over a row that is not NULL is not supported";
                return Err(refuse(Error::unsupported(message)));
            }
            return Ok(coerce::cast(json, Type::list(ty)?));
        }
        let read = coerce::cast(json.clone(), ty);
        if nothing {
            return Ok(call("list_value", vec![read], Type::list(ty)?));
        }
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (at, (name, of)) in fields.iter().enumerate() {
            let key = Expr::literal(types::Value::text(name), Type::Text);
            let there = call("json_has_any", vec![json.clone(), key], Type::Boolean);
            let branches = vec![(there, crate::bind::nested::extract(read.clone(), at))];
            let otherwise = Some(Box::new(crate::bind::nested::extract(base.expr.clone(), at)));
            names.push(name.clone());
            values.push(Expr::new(plan::ExprKind::Case { branches, otherwise }, *of));
        }
        let row = crate::bind::nested::struct_of(names, values)?;
        let of_row = row.ty;
        Ok(call("list_value", vec![row], Type::list(of_row)?))
    }

    /// The elements of a list with their places from 1: rows (x, n).
    fn with_places(&mut self, list: Bound, element: Type, span: Span) -> Result<Expr> {
        let one = Bound::typed(Expr::literal(types::Value::I64(1), Type::BigInt), span);
        let length = self.nested_call("array_length", &[list.clone(), one.clone()], span)?;
        let length = length.ok_or_else(|| Error::internal("a list without a length"))?;
        let by = vec![one.expr.clone(), coerce::cast(length, Type::BigInt), one.expr, Expr::boolean(true)];
        let places = call("list_range", by, Type::list(Type::BigInt)?);
        let rows = self.nested_call("list_zip", &[list, Bound::typed(places, span)], span)?;
        let rows = rows.ok_or_else(|| Error::internal("lists that cannot be put together"))?;
        let row = Type::structure(vec![("x".into(), element), ("n".into(), Type::Integer)])?;
        Ok(coerce::cast(rows, Type::list(row)?))
    }

    /// A call in the select list; `None` where the function gives no rows there.
    pub(crate) fn rows_of_call(
        &mut self,
        name: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Option<Bound>> {
        let text = self.binder.text;
        let allowed =
            self.clause == Clause::Select && !self.in_window && !self.in_condition && self.unnests.is_some();
        // What has a meaning for a single value, too.
        let single = matches!(name, "regexp_matches" | "json_object_keys" | "jsonb_object_keys");
        if !allowed && single {
            return Ok(None);
        }
        if !allowed {
            let error = Error::unsupported(format!(
                "{name} gives rows, which is not allowed in {}",
                self.clause.name()
            ))
            .with_hint(format!("put it in FROM: FROM t, {name}(...) AS u(x)"));
            return Err(place::at(error, text, span));
        }
        let around = self.unnests.take();
        let named = self.path_arguments(name, arguments).map_err(|e| place::at(e, text, span));
        let mut bound = match named {
            Ok(named) => named.unwrap_or_default(),
            Err(error) => {
                self.unnests = around;
                return Err(error);
            }
        };
        let arguments = if bound.is_empty() { arguments } else { &[] };
        for argument in arguments {
            let Some(value) = self.binder.argument_value(argument) else {
                self.unnests = around;
                let shown = arguments::shown(argument);
                let error =
                    Error::unsupported(format!("function {name}: the argument {shown} is not supported"));
                return Err(place::at(error, text, span));
            };
            match self.bind(value) {
                Ok(value) => bound.push(value),
                Err(error) => {
                    self.unnests = around;
                    return Err(error);
                }
            }
        }
        self.unnests = around;
        let list = self.rows_as_list(name, bound, span)?;
        self.unnested_value(Bound::typed(crate::bind::expression::fold::fold(list), span)).map(Some)
    }
}
