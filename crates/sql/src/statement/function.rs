//! CREATE MACRO and CREATE FUNCTION: what they stand for is kept as text.
//!
//! ```text
//! CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS] m(a, b := 5) AS [TABLE] body [, (a) AS body ...]
//! CREATE FUNCTION f(a INT, b INT DEFAULT 3) RETURNS INT LANGUAGE SQL AS 'SELECT a + b' | RETURN a + b
//! ```
//! A parameter is kept as `name`, or as `name := default`. Types of parameters and results are casts in the body. The
//! second form of a macro `m` is kept under `m/2`, the third under `m/3`: see `bind::macros`.

use plan::Statement;
use plan::statement::{MacroForm, ObjectName};
use syntax::tree::{
    CreateFunction, CreateMacro, ExprKind, FunctionBody, FunctionReturns, IfThere, Literal, MacroBody,
    MacroParameter, OptionValue, ParameterMode, Path, SetOption,
};
use syntax::{Keyword, Kind, Span};
use types::quote;
use types::{Error, Result, SqlState};

use crate::words::{Words, folded};
use crate::{Relations, parse, place};

/// Words of CREATE FUNCTION that say how it behaves, which an expression does of itself.
const BEHAVIOUR: [&str; 9] = [
    "immutable",
    "stable",
    "volatile",
    "leakproof",
    "not leakproof",
    "called on null input",
    "parallel safe",
    "parallel unsafe",
    "security invoker",
];

/// A parameter as it was written.
struct Parameter {
    name: Option<String>,
    ty: Option<String>,
    default: Option<String>,
}

/// The schema of what lasts as long as the session.
const TEMPORARY_SCHEMA: &str = "temp";

/// What is made, and where.
struct Made {
    name: ObjectName,
    if_there: IfThere,
    temporary: bool,
}

impl Made {
    fn of(
        text: &str,
        path: &Path,
        (if_there, temporary): (IfThere, bool),
        relations: &dyn Relations,
    ) -> Result<Made> {
        let mut name = super::named(text, path, relations)?;
        let within = name.schema.as_deref() == Some(TEMPORARY_SCHEMA);
        if temporary && name.schema.is_some() && !within {
            let message = "cannot create a temporary macro in a schema that is not temporary";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message).at(place::START));
        }
        name.schema = name.schema.filter(|_| !within);
        Ok(Made { name, if_there, temporary: temporary || within })
    }

    fn statement(self, forms: Vec<MacroForm>) -> Statement {
        let Made { name, if_there, temporary } = self;
        let (replace, keep) = (if_there == IfThere::Replace, if_there == IfThere::Keep);
        Statement::CreateMacro { name, forms, replace, keep, temporary }
    }
}

/// CREATE MACRO, and CREATE FUNCTION in the same form.
pub(super) fn create_macro(text: &str, syntax: &CreateMacro, relations: &dyn Relations) -> Result<Statement> {
    let CreateMacro { if_there, temporary, function: _, name, forms: written } = syntax;
    let made = Made::of(text, name, (*if_there, *temporary), relations)?;
    let mut forms: Vec<MacroForm> = Vec::with_capacity(written.len());
    for syntax::tree::MacroForm { parameters, body, body_span } in written {
        let table = matches!(body, MacroBody::Table(_));
        let form = form(as_written(text, parameters)?, body_span.of(text), table, false)?;
        if forms.iter().any(|known| known.parameters.len() == form.parameters.len() || known.table != table) {
            let message = "the forms of a macro take different numbers of arguments, and are of one kind";
            return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
        }
        forms.push(form);
    }
    Ok(made.statement(forms))
}

/// Parameters with their texts.
fn as_written(text: &str, parameters: &[MacroParameter]) -> Result<Vec<Parameter>> {
    let written = |span: Span| span.of(text).to_owned();
    let one = |parameter: &MacroParameter| {
        let MacroParameter { mode, name, ty, default } = parameter;
        let refused = match mode {
            ParameterMode::In => None,
            ParameterMode::Out => Some("OUT"),
            ParameterMode::InOut => Some("INOUT"),
            ParameterMode::Variadic => Some("VARIADIC"),
        };
        if let Some(word) = refused {
            let error = Error::unsupported(format!("{word} parameters are not supported"));
            return Err(error.at(place::at_span(text, name.span)));
        }
        Ok(Parameter {
            name: Some(folded(name)).filter(|name| !name.is_empty()),
            ty: ty.as_ref().map(|ty| written(ty.span)),
            default: default.as_ref().map(|value| written(value.span)),
        })
    };
    parameters.iter().map(one).collect()
}

/// CREATE FUNCTION with the clauses that PostgreSQL has.
pub(super) fn create_function(
    text: &str,
    syntax: &CreateFunction,
    relations: &dyn Relations,
) -> Result<Statement> {
    let CreateFunction { if_there, temporary, name, parameters, returns, clauses, body } = syntax;
    let made = Made::of(text, name, (*if_there, *temporary), relations)?;
    let mut parameters = as_written(text, parameters)?;
    // `f(int, int)`: a type and no name.
    for parameter in &mut parameters {
        if parameter.ty.is_none() {
            parameter.ty = parameter.name.take();
        }
    }
    let mut strict = false;
    for clause in clauses {
        strict |= is_strict(text, clause)?;
    }
    let (body, is_expression) = match body {
        None => {
            return Err(Error::new(SqlState::SyntaxError, "no function body specified").at(place::START));
        }
        Some(FunctionBody::Text(body)) => (&*body.text, false),
        Some(FunctionBody::Return(value)) => (value.span.of(text), true),
    };
    let body = body.trim().trim_end_matches(';').trim_end();
    let ty = match returns {
        Some(FunctionReturns::Table(_) | FunctionReturns::Type { set: true, .. }) => {
            return Ok(made.statement(vec![form(parameters, body, true, false)?]));
        }
        Some(FunctionReturns::Type { set: false, ty }) => Some(ty.span.of(text)),
        None => None,
    };
    let value = match body.get(..6).filter(|word| !is_expression && word.eq_ignore_ascii_case("select")) {
        _ if is_expression => body.to_owned(),
        // An expression alone needs no query around it.
        Some(_) if body.get(6..).is_some_and(lone_item) => {
            body.get(6..).unwrap_or_default().trim().to_owned()
        }
        _ => format!("({body})"),
    };
    let value = match ty.filter(|ty| !ty.eq_ignore_ascii_case("void")) {
        None => value,
        Some(ty) => format!("CAST({value} AS {ty})"),
    };
    Ok(made.statement(vec![form(parameters, &value, false, strict)?]))
}

/// Whether a clause says that the function is NULL where an argument is; clauses that are not known are refused.
fn is_strict(text: &str, clause: &SetOption) -> Result<bool> {
    let value = match &clause.value {
        None => String::new(),
        Some(OptionValue::Word(word)) => word.text.to_lowercase(),
        Some(OptionValue::Expr(value)) => match &value.kind {
            ExprKind::Literal(Literal::Text(value)) => value.to_lowercase(),
            _ => value.span.of(text).to_lowercase(),
        },
        Some(other) => other.span().of(text).to_lowercase(),
    };
    let words = format!("{} {value}", clause.name.text.to_lowercase());
    match words.trim_end() {
        "strict" | "returns null on null input" => Ok(true),
        "language sql" => Ok(false),
        known if BEHAVIOUR.contains(&known) => Ok(false),
        other => {
            let message = match other.strip_prefix("language ") {
                Some(language) => format!("functions in the language {language} are not supported"),
                None => {
                    let written = clause.name.span.of(text);
                    let first = written.split_whitespace().next().unwrap_or(written);
                    format!("{first} in CREATE FUNCTION is not supported")
                }
            };
            Err(Error::unsupported(message).at(place::START))
        }
    }
}

/// Whether a select list is one expression and nothing follows it.
fn lone_item(item: &str) -> bool {
    const CLAUSES: [Keyword; 13] = [
        Keyword::FROM,
        Keyword::WHERE,
        Keyword::GROUP,
        Keyword::HAVING,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::UNION,
        Keyword::INTERSECT,
        Keyword::EXCEPT,
        Keyword::WINDOW,
        Keyword::AS,
        Keyword::DISTINCT,
        Keyword::OFFSET,
    ];
    let Ok(words) = Words::of(item) else { return false };
    let ends = |at: usize| words.is_kind(at, Kind::Comma) || CLAUSES.iter().any(|word| words.is(at, *word));
    !words.outside(0).any(ends)
}

/// A form with its types as casts, once its syntax has been checked; names are looked up where it is used.
fn form(parameters: Vec<Parameter>, body: &str, table: bool, strict: bool) -> Result<MacroForm> {
    let mut names: Vec<String> = Vec::with_capacity(parameters.len());
    let mut kept = Vec::with_capacity(parameters.len());
    let mut types = Vec::with_capacity(parameters.len());
    for (at, parameter) in parameters.into_iter().enumerate() {
        let name = parameter.name.unwrap_or_else(|| format!("${}", at + 1));
        if names.contains(&name) {
            return Err(Error::new(SqlState::SyntaxError, format!("parameter {name} appears twice")));
        }
        match parameter.default {
            Some(default) => kept.push(format!("{name} := {default}")),
            None if kept.iter().any(|known: &String| known.contains(" := ")) => {
                let message = "a parameter without a default follows one that has a default";
                return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
            }
            None => kept.push(name.clone()),
        }
        types.push(parameter.ty);
        names.push(name);
    }
    let mut text = with_casts(body, &names, &types);
    if strict && !names.is_empty() {
        let missing: Vec<String> =
            names.iter().map(|name| format!("{} IS NULL", quote::name(name))).collect();
        text = format!("CASE WHEN {} THEN NULL ELSE {text} END", missing.join(" OR "));
    }
    let checked = if table { text.clone() } else { format!("SELECT {text}") };
    parse::tree(&checked).map_err(|error| Error::new(error.state(), error.message()))?;
    Ok(MacroForm { parameters: kept, text, table })
}

/// The body with a cast around each use of a parameter that has a type, and with names for `$1` and `$2`.
fn with_casts(body: &str, names: &[String], types: &[Option<String>]) -> String {
    let Ok(words) = Words::of(body) else { return body.to_owned() };
    let mut out = String::new();
    let mut done = 0;
    for (at, token) in words.tokens.iter().enumerate() {
        let used = match token.kind {
            Kind::Parameter => {
                let number = token.span.of(body).trim_start_matches('$').parse::<usize>().ok();
                number.and_then(|n| n.checked_sub(1)).filter(|n| *n < names.len()).map(|p| (p, true))
            }
            _ => {
                let apart = !at.checked_sub(1).is_some_and(|before| words.is_kind(before, Kind::Dot))
                    && !words.is_kind(at + 1, Kind::Dot)
                    && !words.is_kind(at + 1, Kind::LeftParen);
                let name = words.name(at).filter(|_| apart);
                name.and_then(|name| names.iter().position(|known| *known == name)).map(|p| (p, false))
            }
        };
        let Some((place, numbered)) = used else { continue };
        let ty = types.get(place).and_then(Option::as_deref);
        let Some(ty) = ty.map(Some).or(numbered.then_some(None)) else { continue };
        let name = names.get(place).map(|name| quote::name(name)).unwrap_or_default();
        out.push_str(body.get(done..token.span.start as usize).unwrap_or_default());
        match ty {
            Some(ty) => out.push_str(&format!("CAST({name} AS {ty})")),
            None => out.push_str(&name),
        }
        done = token.span.end as usize;
    }
    out.push_str(body.get(done..).unwrap_or_default());
    out
}
