//! Functions of JSON: the types they take, and what they give. Those that only JSONB has are in `postgres_calls`.
//!
//! The methods extend `Call` of `nested_calls`: each looks at the name and the arguments' types, and gives the call
//! of a kernel or None. Constant paths are parsed when the query is planned, so that their errors have a place. A
//! path with wildcards, or a list of paths, gives a list. Called by `nested_calls::bind`.

use plan::{Expr, ExprKind};
use types::{Error, Result, SqlState, Type, Value, json};

use crate::bind::expression::coerce::cast;
use crate::bind::expression::zones;
use crate::bind::function::postgres_calls::as_binary;
use crate::bind::nested::nested_calls::Call;
use crate::bind::nested::{call, list_of};
pub(crate) use crate::bind::parts::key;

impl Call<'_, '_, '_> {
    /// JSON, or text that is taken for it.
    pub(crate) fn json(&self, at: usize) -> Result<Expr> {
        let given = self.argument(at);
        if given.ty().is_json() {
            return Ok(given.expr);
        }
        if given.ty().is_text() || given.is_null() {
            return Ok(cast(given.expr, Type::Json));
        }
        Err(Error::new(SqlState::DatatypeMismatch, format!("{} takes JSON, not {}", self.name, given.ty()))
            .with_hint("to_json(value) makes JSON of any value"))
    }
    /// A JSON value and perhaps a path, which is checked here where it is a constant.
    fn with_path(&self) -> Result<Vec<Expr>> {
        let mut arguments = vec![self.json(0)?];
        if let Some(path) = self.arguments.get(1) {
            if let Some(written) = path.expr.as_literal().and_then(Value::as_text) {
                json::path(written)?;
            }
            arguments.push(match path.ty().is_integer() {
                true => cast(path.expr.clone(), Type::BigInt),
                false => self.to(1, Type::Text)?,
            });
        }
        Ok(arguments)
    }
    /// What a function reads of the part that a path leads to; of a list of paths, or of a constant path with
    /// wildcards, a list of what it reads.
    fn read(&self, name: &str, ty: Type) -> Result<Expr> {
        let Some(path) = self.arguments.get(1) else { return Ok(call(name, self.with_path()?, ty)) };
        let many = format!("{name}_all");
        if path.ty().element().is_some() {
            let paths = self.to(1, Type::list(Type::Text)?)?;
            return Ok(call(&many, vec![self.json(0)?, paths], Type::list(ty)?));
        }
        let written = path.expr.as_literal().and_then(Value::as_text);
        // Whether there is anything is one answer, of however many parts.
        match written.map(json::path).transpose()?.is_some_and(|steps| json::has_wildcard(&steps)) {
            true if ty != Type::Boolean => Ok(call(&many, self.with_path()?, Type::list(ty)?)),
            _ => Ok(call(name, self.with_path()?, ty)),
        }
    }
    /// A path of one place, and a value to put there.
    fn change(&self, count: usize) -> Result<Expr> {
        let mut arguments = vec![self.json(0)?, self.to(1, Type::Text)?];
        if count > 2 {
            arguments.push(self.json(2)?);
        }
        Ok(call(self.name, arguments, Type::Json))
    }

    /// Functions of JSON; of JSONB they give JSONB.
    pub(crate) fn of_json(&self) -> Result<Option<Expr>> {
        if let Some(expr) = self.of_jsonb()? {
            return Ok(Some(expr));
        }
        let made = matches!(self.name, "to_json" | "json_quote" | "row_to_json" | "array_to_json")
            || ["object", "array"].iter().any(|what| self.name == format!("json_{what}"))
            || self.name.starts_with("json_build_");
        let binary = self.name.starts_with("jsonb_")
            || self.name == "to_jsonb"
            || (!made && self.arguments.first().is_some_and(|a| a.ty() == Type::Jsonb));
        let expr = self.of_json_text()?;
        match binary {
            true => expr.map(as_binary).transpose(),
            false => Ok(expr),
        }
    }

    fn of_json_text(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let name = self.name.strip_prefix("jsonb_").map(|rest| format!("json_{rest}"));
        let name = name.as_deref().unwrap_or(self.name);
        let texts = || Type::list(Type::Text);
        Ok(Some(match (name, count) {
            ("json_extract", 2) => self.read(name, Type::Json)?,
            ("json_extract_string" | "json_value", 2) => self.read(name, Type::Text)?,
            ("json_extract_path" | "json_extract_path_text", 2..) => {
                let keys: Vec<Expr> = (1..count).map(|at| self.to(at, Type::Text)).collect::<Result<_>>()?;
                let ty = if name.ends_with("text") { Type::Text } else { Type::Json };
                call(name, vec![self.json(0)?, list_of(keys, Type::Text)?], ty)
            }
            ("json_exists", 2) => self.read(name, Type::Boolean)?,
            ("json_valid", 1) if self.arguments[0].ty().is_text() || self.arguments[0].is_null() => {
                call(name, vec![cast(self.argument(0).expr, Type::Text)], Type::Boolean)
            }
            ("json_type", 1 | 2) => self.read(name, Type::Text)?,
            ("json_typeof", 1) => call(name, self.with_path()?, Type::Text),
            ("json_array_length", 1) => call("json_length_of_array", vec![self.json(0)?], Type::BigInt),
            ("json_array_length", 2) => self.read(name, Type::BigInt)?,
            ("json_keys_of_object", 1) => call(name, vec![self.json(0)?], texts()?),
            ("json_keys" | "json_object_keys", 1 | 2) => self.read("json_keys", texts()?)?,
            ("json_contains_at_top", 2) => {
                call("json_contains_at_top", vec![self.json(0)?, self.json(1)?], Type::Boolean)
            }
            ("json_contains", 2) => call(name, vec![self.json(0)?, self.json(1)?], Type::Boolean),
            // PostgreSQL's forms of one and two arrays.
            ("json_object", 1 | 2)
                if self.arguments.iter().all(|a| a.ty().element().is_some())
                    || (count == 1 && self.arguments[0].untyped) =>
            {
                let lists = (0..count).map(|at| self.to(at, texts()?)).collect::<Result<_>>()?;
                call("json_object_of", lists, Type::Json)
            }
            ("json_object" | "json_build_object", _) => {
                if count % 2 == 1 {
                    return Err(Error::new(
                        SqlState::UndefinedFunction,
                        "json_object takes keys and values in turn",
                    ));
                }
                call("json_object", self.written()?, Type::Json)
            }
            ("json_array" | "json_build_array", _) => call("json_array", self.written()?, Type::Json),
            ("to_json" | "to_jsonb" | "json_quote" | "row_to_json" | "array_to_json", 1) => {
                call("to_json", self.written()?, Type::Json)
            }
            ("from_json" | "json_transform" | "from_json_strict" | "json_transform_strict", 2)
                if self.arguments[1].is_null() =>
            {
                crate::bind::null_of(Type::Null)
            }
            ("from_json" | "json_transform" | "from_json_strict" | "json_transform_strict", 2) => {
                let Some(wanted) = self.arguments[1].expr.as_literal().and_then(Value::as_text) else {
                    return Err(Error::unsupported("the structure of from_json must be a constant"));
                };
                let ty = crate::type_names::structure(wanted, self.binder.binder.relations)?;
                if ty == Type::Text {
                    // The cast would keep the quotes of a string.
                    let whole = Expr::literal(Value::text(""), Type::Text);
                    return Ok(Some(call("json_extract_string", vec![self.json(0)?, whole], ty)));
                }
                let kind =
                    ExprKind::Cast { input: Box::new(self.json(0)?), lenient: !name.ends_with("strict") };
                Expr::new(kind, ty)
            }
            ("json_elements" | "json_elements_text", 1) => {
                let element = if name.ends_with("text") { Type::Text } else { Type::Json };
                call("json_elements", vec![self.json(0)?], Type::list(element)?)
            }
            ("json_entries" | "json_entries_text", 1) => {
                let value = if name.ends_with("text") { Type::Text } else { Type::Json };
                let row = Type::structure(vec![("key".into(), Type::Text), ("value".into(), value)])?;
                call("json_entries", vec![self.json(0)?], Type::list(row)?)
            }
            ("json_has_any" | "json_has_all", 2) => {
                let keys = match self.list_at(1) {
                    Some(_) => cast(self.argument(1).expr, texts()?),
                    None => self.to(1, Type::Text)?,
                };
                call(name, vec![self.json(0)?, keys], Type::Boolean)
            }
            _ => return self.of_json_changed(),
        }))
    }

    /// What DuckDB has to change JSON, or to show it in another form.
    fn of_json_changed(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let all = || (0..count).map(|at| self.json(at)).collect::<Result<Vec<_>>>();
        Ok(Some(match (self.name, count) {
            ("json_set" | "json_insert" | "json_replace", 3) | ("json_remove", 2) => self.change(count)?,
            ("json_merge_patch" | "json_deep_merge", 2..) | ("json_merge_patch_diff", 2) => {
                call(self.name, all()?, Type::Json)
            }
            ("json" | "json_structure" | "json_normalize", 1) => call(self.name, all()?, Type::Json),
            ("json_pretty", 1) => call(self.name, all()?, Type::Text),
            _ => return Ok(None),
        }))
    }

    /// The arguments for functions that print values as JSON; a quoted literal is text.
    fn written(&self) -> Result<Vec<Expr>> {
        self.arguments.iter().map(|a| zones::written(a.clone().settled())).collect()
    }
}
