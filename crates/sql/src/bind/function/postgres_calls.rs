//! PostgreSQL's functions of arrays, of regular expressions with all their arguments, of JSONB and of SQL/JSON paths:
//! their names, the types they take, and what they give. A path is a text here, which is read at once where it is a
//! constant, so that its error has a place; arguments of its functions may have names (`silent => true`). Called by `nested_calls`, before its own.
//!
//! Each function gives None for names and types that are not its own, and the next one is asked. An element that has
//! another type than the array's is brought to their common one.

use plan::{Expr, ExprKind};
use syntax::tree;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, zones};
use crate::bind::folded;
use crate::bind::function::arguments;
use crate::bind::nested::call;
use crate::bind::nested::nested_calls::Call;

/// Every name that is known here.
pub(crate) const NAMES: &[&str] = &[
    "array_dims",
    "array_fill",
    "array_lower",
    "array_ndims",
    "array_positions",
    "array_remove",
    "array_replace",
    "array_upper",
    "json_strip_nulls",
    "jsonb_insert",
    "jsonb_path_exists",
    "jsonb_path_exists_tz",
    "jsonb_path_match",
    "jsonb_path_match_tz",
    "jsonb_path_query_array",
    "jsonb_path_query_array_tz",
    "jsonb_path_query_first",
    "jsonb_path_query_first_tz",
    "jsonb_pretty",
    "jsonb_set",
    "jsonb_set_lax",
    "jsonb_strip_nulls",
    "regexp_extract_all",
    "regexp_full_match",
    "regexp_substr",
    "trim_array",
];

/// The type with JSONB in place of JSON, inside of lists and structs, too.
fn binary(ty: Type) -> Result<Type> {
    Ok(match ty {
        Type::Json => Type::Jsonb,
        Type::List(_) => Type::list(binary(ty.element().unwrap_or(Type::Null))?)?,
        Type::Struct(_) => {
            let fields = ty.fields().unwrap_or_default().to_vec();
            let fields = fields.into_iter().map(|(name, ty)| Ok((name, binary(ty)?)));
            Type::structure(fields.collect::<Result<_>>()?)?
        }
        other => other,
    })
}

/// What a function gives as JSON, as JSONB. A part of a JSONB is one as it stands.
pub(crate) fn as_binary(expr: Expr) -> Result<Expr> {
    let ty = binary(expr.ty)?;
    if let ExprKind::Library { name, arguments } = &expr.kind
        && arguments.first().is_some_and(|of| of.ty == Type::Jsonb)
        && (name.starts_with("json_extract") || matches!(&**name, "json_elements" | "json_entries"))
    {
        return Ok(Expr { ty, ..expr });
    }
    Ok(cast(expr, ty))
}

fn not_null(input: Expr) -> Expr {
    Expr::new(ExprKind::IsNull { input: Box::new(input), negated: true }, Type::Boolean)
}

fn case(condition: Expr, then: Expr, otherwise: Option<Expr>) -> Expr {
    let ty = then.ty;
    let otherwise = otherwise.map(Box::new);
    Expr::new(ExprKind::Case { branches: vec![(condition, then)], otherwise }, ty)
}

/// How many dimensions a type has.
fn levels(ty: Type) -> i32 {
    ty.element().map_or(0, |element| 1 + levels(element))
}

impl Call<'_, '_, '_> {
    /// Functions of arrays.
    pub(crate) fn of_arrays(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let first = || self.argument(0).expr;
        let Some(element) = self.list_at(0) else {
            return match (self.name, count) {
                ("array_fill", 2) if !self.arguments[0].untyped => {
                    let lengths = self.to(1, Type::list(Type::BigInt)?)?;
                    Ok(Some(call("array_fill", vec![first(), lengths], Type::list(self.arguments[0].ty())?)))
                }
                ("string_to_array", 2 | 3) => {
                    let texts = (0..count).map(|at| self.to(at, Type::Text)).collect::<Result<_>>()?;
                    Ok(Some(call("string_to_array", texts, Type::list(Type::Text)?)))
                }
                ("width_bucket", 2) if self.list_at(1).is_some() => {
                    let (list, value, _) = self.with_element(1, 0)?;
                    Ok(Some(call("list_bucket", vec![value, list], Type::Integer)))
                }
                _ => Ok(None),
            };
        };
        let list = self.arguments[0].ty();
        let along = |at: i64| {
            call("array_length_of", vec![first(), Expr::literal(Value::I64(at), Type::BigInt)], Type::BigInt)
        };
        Ok(Some(match (self.name, count) {
            ("array_remove", 2) => {
                let (list, value, element) = self.with_element(0, 1)?;
                call("array_remove", vec![list, value], Type::list(element)?)
            }
            ("array_replace", 3) => {
                let (of, from, common) = self.with_element(0, 1)?;
                let (_, to, wider) = self.with_element(0, 2)?;
                let Some(common) = coerce::common_type(common, wider) else { return Ok(None) };
                let all = Type::list(common)?;
                call("array_replace", vec![cast(of, all), cast(from, common), cast(to, common)], all)
            }
            ("array_positions", 2) => {
                let (list, value, _) = self.with_element(0, 1)?;
                call("array_positions", vec![list, value], Type::list(Type::Integer)?)
            }
            ("array_position" | "list_position", 3) => {
                let (list, value, _) = self.with_element(0, 1)?;
                let start = self.binder.whole(self.argument(2))?;
                call("array_position_from", vec![list, value, start], Type::BigInt)
            }
            ("array_length" | "array_upper", 2) => {
                let dimension = self.binder.whole(self.argument(1))?;
                let length = call("array_length_of", vec![first(), dimension], Type::BigInt);
                let last = list.is_vector() && self.name == "array_upper";
                let length = if last { crate::bind::nested::plus(length, -1) } else { length };
                cast(length, Type::Integer)
            }
            ("array_lower", 2) => {
                let dimension = self.binder.whole(self.argument(1))?;
                let length = call("array_length_of", vec![first(), dimension], Type::BigInt);
                let first = i32::from(!list.is_vector());
                case(not_null(length), Expr::literal(Value::I32(first), Type::Integer), None)
            }
            ("array_ndims", 1) => {
                case(not_null(along(1)), Expr::literal(Value::I32(levels(list)), Type::Integer), None)
            }
            ("array_dims", 1) => call("array_dims", vec![first()], Type::Text),
            ("trim_array", 2) => {
                let cut = self.binder.whole(self.argument(1))?;
                call("trim_array", vec![first(), cut], list)
            }
            ("array_fill", 2) => {
                let lengths = self.to(1, Type::list(Type::BigInt)?)?;
                call("array_fill", vec![first(), lengths], Type::list(list)?)
            }
            // The cardinality of an array of several dimensions counts all its elements.
            ("cardinality", 1) if matches!(element, Type::List(_)) => {
                let (mut all, mut element) = (first(), element);
                while matches!(element, Type::List(_)) {
                    all = call("flatten", vec![all], element);
                    element = element.element().unwrap_or(Type::Null);
                }
                call("list_length", vec![all], Type::BigInt)
            }
            _ => return Ok(None),
        }))
    }

    /// Functions of regular expressions.
    pub(crate) fn of_patterns(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        if self.name == "regexp_extract_all" && count > 2 && self.list_at(2).is_some() {
            return self.of_named_groups().map(Some);
        }
        // The types of the arguments behind text and pattern, and the result's.
        let (behind, ty): (&[Type], Type) = match (self.name, count) {
            ("regexp_replace", 4..=6) if count > 4 || self.arguments[3].ty().is_integer() => {
                (&[Type::Text, Type::BigInt, Type::BigInt, Type::Text], Type::Text)
            }
            ("regexp_substr", 2..=6) => (&[Type::BigInt, Type::BigInt, Type::Text, Type::BigInt], Type::Text),
            ("regexp_count", 2..=4) => (&[Type::BigInt, Type::Text], Type::BigInt),
            ("regexp_instr", 2..=7) => {
                (&[Type::BigInt, Type::BigInt, Type::BigInt, Type::Text, Type::BigInt], Type::BigInt)
            }
            ("regexp_full_match", 2 | 3) => (&[Type::Text], Type::Boolean),
            ("regexp_extract_all", 2..=4) => (&[Type::BigInt, Type::Text], Type::list(Type::Text)?),
            ("regexp_all_matches", 2 | 3) => (&[Type::Text], Type::list(Type::list(Type::Text)?)?),
            _ => return Ok(None),
        };
        let mut arguments = Vec::with_capacity(count);
        for at in 0..count {
            let wanted = if at < 2 { Type::Text } else { behind[at - 2] };
            arguments.push(match wanted {
                Type::BigInt => self.binder.whole(self.argument(at))?,
                ty => self.to(at, ty)?,
            });
        }
        Ok(Some(call(self.name, arguments, ty)))
    }

    pub(crate) fn jsonb(&self, at: usize) -> Result<Expr> {
        let given = self.argument(at);
        match coerce::implicit(given.clone(), Type::Jsonb, self.text())? {
            Some(expr) => Ok(cast(expr, Type::Jsonb)),
            None if given.ty().is_text() => Ok(cast(given.expr, Type::Jsonb)),
            None => Err(Error::new(
                SqlState::DatatypeMismatch,
                format!("{} takes JSONB as argument {}, not {}", self.name, at + 1, given.ty()),
            )
            .with_hint("to_jsonb(value) makes JSONB of any value")),
        }
    }

    pub(crate) fn boolean(&self, at: usize, otherwise: bool) -> Result<Expr> {
        match self.arguments.len() > at {
            true => self.to(at, Type::Boolean),
            false => Ok(Expr::boolean(otherwise)),
        }
    }

    /// Functions that only JSONB has, and the operators that are written as such.
    pub(crate) fn of_jsonb(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let path = |at: usize| self.to(at, Type::list(Type::Text)?);
        Ok(Some(match (self.name, count) {
            ("jsonb_set", 3 | 4) => call(
                "jsonb_set",
                vec![self.jsonb(0)?, path(1)?, self.jsonb(2)?, self.boolean(3, true)?],
                Type::Jsonb,
            ),
            ("jsonb_insert", 3 | 4) => call(
                "jsonb_insert",
                vec![self.jsonb(0)?, path(1)?, self.jsonb(2)?, self.boolean(3, false)?],
                Type::Jsonb,
            ),
            ("jsonb_set_lax", 3..=5) => {
                let (of, value, create) = (self.jsonb(0)?, self.jsonb(2)?, self.boolean(3, true)?);
                let treatment = self.arguments.get(4).map(|t| t.expr.as_literal().and_then(Value::as_text));
                let null = Expr::literal(Value::text("null"), Type::Jsonb);
                let set = |value: Expr| -> Result<Expr> {
                    Ok(call("jsonb_set", vec![of.clone(), path(1)?, value, create.clone()], Type::Jsonb))
                };
                let of_null = match treatment {
                    None | Some(Some("use_json_null")) => set(null)?,
                    Some(Some("delete_key")) => {
                        call("jsonb_delete_path", vec![of.clone(), path(1)?], Type::Jsonb)
                    }
                    Some(Some("return_target")) => of.clone(),
                    Some(Some("raise_exception")) => {
                        let message = Expr::literal(Value::text("JSON value must not be null"), Type::Text);
                        cast(call("error", vec![message], Type::Text), Type::Jsonb)
                    }
                    _ => {
                        return Err(Error::new(
                            SqlState::InvalidParameterValue,
                            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
                        ));
                    }
                };
                case(not_null(value.clone()), set(value)?, Some(of_null))
            }
            ("jsonb_pretty", 1) => call("jsonb_pretty", vec![self.jsonb(0)?], Type::Text),
            ("jsonb_strip_nulls", 1) => call("jsonb_strip_nulls", vec![self.jsonb(0)?], Type::Jsonb),
            ("json_strip_nulls", 1) => call("json_strip_nulls", vec![self.json(0)?], Type::Json),
            ("jsonb_concat", 2) => call("jsonb_concat", vec![self.jsonb(0)?, self.jsonb(1)?], Type::Jsonb),
            ("jsonb_delete_path", 2) => {
                call("jsonb_delete_path", vec![self.jsonb(0)?, path(1)?], Type::Jsonb)
            }
            ("jsonb_minus", 2) => {
                let (name, what) = match self.arguments[1].ty() {
                    ty if ty.is_integer() => ("jsonb_delete_index", self.binder.whole(self.argument(1))?),
                    Type::List(_) => ("jsonb_delete_keys", path(1)?),
                    _ => ("jsonb_delete_key", self.to(1, Type::Text)?),
                };
                call(name, vec![self.jsonb(0)?, what], Type::Jsonb)
            }
            _ => return Ok(None),
        }))
    }
}

/// The parameters of all functions of SQL/JSON paths, in order.
const PATH_PARAMETERS: [&str; 4] = ["target", "path", "vars", "silent"];

impl Call<'_, '_, '_> {
    /// Functions of paths, and the operators under names of their own.
    pub(crate) fn of_json_paths(&self) -> Result<Option<Expr>> {
        let (name, zoned) = match self.name.strip_suffix("_tz") {
            Some(name) => (name, true),
            None => (self.name, false),
        };
        let (name, ty) = match (name, self.arguments.len()) {
            ("jsonb_path_exists", 2..=4) => ("jsonb_path_exists", Type::Boolean),
            ("jsonb_path_match", 2..=4) => ("jsonb_path_match", Type::Boolean),
            ("jsonb_path_query_array", 2..=4) => ("jsonb_path_query_array", Type::Jsonb),
            ("jsonb_path_query_first", 2..=4) => ("jsonb_path_query_first", Type::Jsonb),
            ("jsonb_path_items", 2..=4) => ("jsonb_path_items", Type::list(Type::Jsonb)?),
            ("jsonb_path_exists_opr" | "jsonb_path_match_opr", 2) => {
                return Ok(Some(call(name, vec![self.jsonb(0)?, self.path(1)?], Type::Boolean)));
            }
            _ => return Ok(None),
        };
        let variables = match self.arguments.len() > 2 {
            true => self.jsonb(2)?,
            false => Expr::literal(Value::text("{}"), Type::Jsonb),
        };
        let mut given = vec![self.jsonb(0)?, self.path(1)?, variables, self.boolean(3, false)?];
        if zoned {
            given.push(zones::session().unwrap_or_else(|| zones::constant(types::Zone::Utc)));
        }
        Ok(Some(call(name, given, ty)))
    }

    /// A path, which is read at once where it is a constant.
    fn path(&self, at: usize) -> Result<Expr> {
        let path = self.to(at, Type::Text)?;
        if let Some(written) = path.as_literal().and_then(Value::as_text) {
            expr::check_jsonpath(written)?;
        }
        Ok(path)
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// The arguments of a function of paths of which some have names, in order; `None` for other calls.
    pub(crate) fn path_arguments(
        &mut self,
        name: &str,
        given: &'a [tree::Argument],
    ) -> Result<Option<Vec<Bound>>> {
        let named = |argument: &tree::Argument| arguments::named(argument).is_some();
        if !name.starts_with("jsonb_path_") || !given.iter().any(named) {
            return Ok(None);
        }
        let wrong = |message: String| {
            let hint = format!("it takes {}", PATH_PARAMETERS.join(", "));
            Error::new(SqlState::UndefinedFunction, message).with_hint(hint)
        };
        let mut values: [Option<Bound>; 4] = Default::default();
        for (at, argument) in given.iter().enumerate() {
            let (at, value) = match arguments::named(argument) {
                Some((own, value)) => {
                    let own = folded(own);
                    (PATH_PARAMETERS.iter().position(|parameter| *parameter == own), Some(value))
                }
                None => (Some(at), self.binder.argument_value(argument)),
            };
            let slot = at.and_then(|at| values.get_mut(at)).filter(|slot| slot.is_none());
            let (Some(slot), Some(value)) = (slot, value) else {
                let shown = arguments::shown(argument);
                return Err(wrong(format!("{name} has no such argument, or has it twice: {shown}")));
            };
            *slot = Some(self.bind(value)?);
        }
        let last = values.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let mut ordered = Vec::with_capacity(last);
        for (at, value) in values.into_iter().take(last).enumerate() {
            ordered.push(match (value, at) {
                (Some(value), _) => value,
                (None, 2) => {
                    Bound::typed(Expr::literal(Value::text("{}"), Type::Jsonb), syntax::Span::default())
                }
                (None, _) => return Err(wrong(format!("{name} lacks its argument {}", PATH_PARAMETERS[at]))),
            });
        }
        Ok(Some(ordered))
    }

    /// A cast to JSONPATH: the text of the path in its one form. An error where the text is no path.
    pub(crate) fn cast_to_path(&self, bound: Bound) -> Result<Bound> {
        let span = bound.span;
        let text = bound.ty().is_text() || bound.is_null();
        if !text {
            let message = format!("cannot cast type {} to JSONPATH", bound.ty());
            return Err(Error::new(SqlState::CannotCoerce, message));
        }
        let path = cast(bound.expr, Type::Text);
        if let Some(written) = path.as_literal().and_then(Value::as_text) {
            expr::check_jsonpath(written)?;
        }
        let shown = call("jsonpath_shown", vec![path], Type::Text);
        Ok(Bound::typed(crate::bind::expression::fold::fold(shown), span))
    }
}
