//! PostgreSQL's functions of SQL/JSON paths, the operators `@?` and `@@`, and casts to JSONPATH.
//!
//! A path is a text here, read when it is evaluated; one that is a constant is read while the query is planned, so that
//! its error has a place. Arguments may have names (`silent => true`). `jsonb_path_query` gives rows, which are the
//! elements of the list that `jsonb_path_items` makes. Called by `nested_calls`, before its own.

use plan::Expr;
use syntax::tree;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{Bound, cast};
use crate::bind::expression::{ExprBinder, zones};
use crate::bind::folded;
use crate::bind::function::arguments;
use crate::bind::nested::call;
use crate::bind::nested::nested_calls::Call;

/// Every name that is known here.
pub(crate) const NAMES: &[&str] = &[
    "jsonb_path_exists",
    "jsonb_path_exists_tz",
    "jsonb_path_match",
    "jsonb_path_match_tz",
    "jsonb_path_query_array",
    "jsonb_path_query_array_tz",
    "jsonb_path_query_first",
    "jsonb_path_query_first_tz",
];

/// The parameters of all of them, in order.
const PARAMETERS: [&str; 4] = ["target", "path", "vars", "silent"];

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
            let hint = format!("it takes {}", PARAMETERS.join(", "));
            Error::new(SqlState::UndefinedFunction, message).with_hint(hint)
        };
        let mut values: [Option<Bound>; 4] = Default::default();
        for (at, argument) in given.iter().enumerate() {
            let (at, value) = match arguments::named(argument) {
                Some((own, value)) => {
                    let own = folded(own);
                    (PARAMETERS.iter().position(|parameter| *parameter == own), Some(value))
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
                (None, _) => return Err(wrong(format!("{name} lacks its argument {}", PARAMETERS[at]))),
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
