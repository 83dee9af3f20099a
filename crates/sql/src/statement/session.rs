//! SET, RESET, USE, PRAGMA and CALL.
//!
//! Names are folded and values become texts; the engine knows the settings and checks them. A value may be a query in
//! brackets, which runs while the statement is planned. SET GLOBAL is refused: a setting belongs to the session. USE sets search_path. A PRAGMA is what does the same here: a setting, a listing from a table function,
//! or a hint (`pragmas`).

use plan::access::AccessStatement;
use plan::statement::Statement;
use syntax::Span;
use syntax::tree::{
    self, Argument, ArgumentSign, Expr as Ast, ExprKind as AstKind, Literal, Operator, OperatorKind,
    OptionValue, Scope, Set, Show,
};
use types::quote;
use types::{Error, Result, Type, Value};

use super::Context;
use super::options::{is_default, names_of, word, words_of};
use super::procedures::called;
use crate::bind::folded;
use crate::{place, pragmas};

/// The setting of the schemas that names are looked for in.
fn search_path(path: String) -> Statement {
    Statement::Set { name: "search_path".into(), value: Some(path) }
}

/// A schema, or a database and a schema of it, as it stands in a list of them.
fn path_of(path: &tree::Path) -> Option<String> {
    matches!(path.names.len(), 1 | 2).then(|| joined(&path.names))
}

/// Names with dots between them, in quotes where they need some.
fn joined(names: &[tree::Name]) -> String {
    names.iter().map(|name| quote::name(&folded(name))).collect::<Vec<_>>().join(".")
}

/// A schema, or a schema of a database, as it stands in a list of them.
fn schema_of(schema: &Ast) -> Option<String> {
    match &schema.kind {
        AstKind::Literal(Literal::Text(text)) => Some(quote::name(text)),
        AstKind::Column(path) => path_of(path),
        _ => None,
    }
}

impl<'a> Context<'a> {
    /// SET in all its forms.
    pub(super) fn set(&self, set: &'a Set) -> Result<Statement> {
        match set {
            Set::Setting { scope, name, values } => self.setting(*scope, name, values),
            Set::Variable(name, value) => {
                let variable = (None, Value::text(&folded(name)), Type::Text);
                let (value, ty) = self.variable_value(value, name.span)?;
                let arguments = vec![variable, (None, value, ty)];
                Ok(Statement::Call { procedure: "set_variable".into(), arguments })
            }
            Set::TimeZone(scope, zone) => {
                let none = |zone: &&Ast| {
                    let words = names_of(zone).unwrap_or_default();
                    matches!(words, [word] if ["local", "default"].contains(&folded(word).as_str()))
                };
                let zone = zone.as_ref().filter(|zone| !none(zone));
                let value = zone.map(word).transpose().map_err(|e| e.at(place::START))?;
                let name = "timezone".into();
                Ok(match scope {
                    Some(Scope::Local) => Statement::SetLocal { name, value },
                    _ => Statement::Set { name, value },
                })
            }
            Set::Role { scope: Some(Scope::Local), .. } => {
                let message = "SET LOCAL ROLE is not supported: a role is the session's";
                Err(Error::unsupported(message).with_hint("SET ROLE, and set it back").at(place::START))
            }
            Set::Role { scope: _, authorization, name } => {
                let role = name.as_ref().map(super::access::role);
                Ok(Statement::Access(Box::new(match authorization {
                    true => AccessStatement::SetSession(role),
                    false => AccessStatement::SetRole(role),
                })))
            }
            Set::Schema(schema) => match schema_of(schema) {
                Some(path) => Ok(search_path(path)),
                None => Err(self.unexpected(schema.span)),
            },
        }
    }

    fn setting(&self, scope: Option<Scope>, name: &tree::Path, values: &[OptionValue]) -> Result<Statement> {
        let is = |wanted: &str| name.single().is_some_and(|name| folded(name) == wanted);
        if let ([value], true, None) = (values, is("schema"), scope) {
            let path = match value {
                OptionValue::Word(word) => Some(quote::name(&folded(word))),
                OptionValue::Expr(schema) => schema_of(schema),
                OptionValue::List(_) | OptionValue::Star(_) | OptionValue::Order(_) => None,
            };
            if let Some(path) = path {
                return Ok(search_path(path));
            }
        }
        let (written, span) = self.written_name(name)?;
        let setting = match written.schema {
            Some(schema) => format!("{schema}.{}", written.name),
            None => written.name,
        };
        if pragmas::SWITCHES.contains(&setting.as_str()) {
            return Ok(called("ignored_setting", [setting, "SET".to_owned()]));
        }
        if scope == Some(Scope::Global) {
            let message = "SET GLOBAL is not supported: a setting is the session's";
            return Err(Error::unsupported(message).with_hint("write SET name = value").at(place::START));
        }
        if let Some((_, holds)) = pragmas::FIXED.iter().find(|(name, _)| *name == setting) {
            return self.fixed(setting, holds, values, span);
        }
        match (self.assigned(setting, values, span, span)?, scope) {
            (Statement::Set { name, value }, Some(Scope::Local)) => Ok(Statement::SetLocal { name, value }),
            (statement, _) => Ok(statement),
        }
    }

    /// SET of a setting that has one value here: that value is taken, any other is an error.
    fn fixed(&self, setting: String, holds: &str, values: &[OptionValue], span: Span) -> Result<Statement> {
        let said = match values {
            [value] => self.option_word(value, span).map_err(|e| self.at(e, span))?.to_lowercase(),
            _ => String::new(),
        };
        let same = match types::switch::parse(holds) {
            Some(on) => types::switch::parse(&said) == Some(on),
            None => said == holds,
        };
        let is_default_value = values.first().is_none_or(|value| {
            words_of(value).is_some_and(|words| matches!(words, [word] if is_default(word)))
        });
        if same || is_default_value {
            return Ok(called("ignored_setting", [setting, "SET".to_owned()]));
        }
        let message = format!("{setting} = {said} is not supported");
        Err(self.at(
            Error::unsupported(message).with_hint(format!("what holds here is {setting} = {holds}")),
            span,
        ))
    }

    /// A setting that gets values; errors stand at `span`, and those of empty lists at `name`.
    fn assigned(&self, setting: String, values: &[OptionValue], span: Span, name: Span) -> Result<Statement> {
        let word = |value: &OptionValue| self.option_word(value, name).map_err(|e| self.at(e, span));
        let one = match values {
            [one] => words_of(one).and_then(|words| match words {
                [word] => Some(word),
                _ => None,
            }),
            _ => None,
        };
        if setting == "search_path" && !values.is_empty() && one.is_none_or(|name| folded(name) != "default")
        {
            let listed = |value: &OptionValue| match words_of(value) {
                Some(names) => Ok(joined(names)),
                None => word(value),
            };
            let names = values.iter().map(listed).collect::<Result<Vec<_>>>()?;
            return Ok(Statement::Set { name: setting, value: Some(names.join(", ")) });
        }
        let value = match values {
            [] => None,
            [_] if one.is_some_and(is_default) => None,
            several => Some(several.iter().map(word).collect::<Result<Vec<_>>>()?.join(", ")),
        };
        Ok(Statement::Set { name: setting, value })
    }

    /// USE.
    pub(super) fn use_schema(&self, path: &tree::Path, at: Span) -> Result<Statement> {
        path_of(path).map(search_path).ok_or_else(|| self.foreign(&["use"], at))
    }

    /// RESET of one setting or of all; LOCAL and GLOBAL are errors.
    pub(super) fn reset(&self, scope: Option<Scope>, name: Option<&tree::Path>) -> Result<Statement> {
        if matches!(scope, Some(Scope::Local | Scope::Global)) {
            let message = "RESET LOCAL and RESET GLOBAL are not supported: a setting is the session's";
            return Err(Error::unsupported(message).with_hint("write RESET name").at(place::START));
        }
        let name = match name {
            None => "all".into(),
            Some(name) => self.simple_name(name)?,
        };
        let is_fixed = pragmas::FIXED.iter().any(|(fixed, _)| *fixed == name);
        if is_fixed || pragmas::SWITCHES.contains(&name.as_str()) {
            return Ok(called("ignored_setting", [name, "RESET".to_owned()]));
        }
        Ok(Statement::Set { name, value: None })
    }

    /// PRAGMA in other words.
    pub(super) fn pragma(
        &self,
        name: &tree::Name,
        value: Option<&OptionValue>,
        arguments: &[Argument],
        at: Span,
    ) -> Result<Statement> {
        let pragma = name.text.to_lowercase();
        if let Some(value) = value {
            if pragmas::SWITCHES.contains(&pragma.as_str()) {
                return Ok(called("pragma", [pragma]));
            }
            if let Some((_, holds)) = pragmas::FIXED.iter().find(|(name, _)| *name == pragma) {
                return self.fixed(pragma, holds, std::slice::from_ref(value), name.span);
            }
            if !pragmas::SETTINGS.contains(&pragma.as_str()) {
                return Err(self.unknown_pragma(name));
            }
            return self.assigned(pragma, std::slice::from_ref(value), at, name.span);
        }
        let known = |list: &[&str]| list.contains(&pragma.as_str());
        let tables = |all: bool| Show::Tables { all, from: None, like: None };
        match pragma.as_str() {
            "show_tables" if arguments.is_empty() => self.listing(&tables(false), at),
            "show_tables_expanded" if arguments.is_empty() => self.listing(&tables(true), at),
            "show_databases" if arguments.is_empty() => {
                let databases = tree::Name { text: "databases".into(), quoted: false, span: at };
                self.listing(&Show::Name(tree::Path { names: vec![databases] }), at)
            }
            "checkpoint" | "force_checkpoint" if arguments.is_empty() => Ok(called("checkpoint", [])),
            _ if known(&pragmas::NOTHING) => Ok(called("pragma", [pragma])),
            _ if known(&pragmas::LISTS) => {
                let binder = self.binder();
                let rows = binder.pragma_query(&pragma, arguments, at);
                Ok(Statement::Query(binder.query(rows)?))
            }
            _ => Err(self.unknown_pragma(name)),
        }
    }

    fn listing(&self, show: &Show, at: Span) -> Result<Statement> {
        let mut binder = self.binder();
        match binder.show(show, at)? {
            Some(relation) => Ok(Statement::Query(binder.finish(relation)?)),
            None => Err(Error::internal("a list that has no rows")),
        }
    }

    fn unknown_pragma(&self, name: &tree::Name) -> Error {
        self.unsupported(format!("PRAGMA {}", name.span.of(self.text)), name.span)
            .with_hint("SET name = value for settings, which SHOW ALL lists")
    }

    /// `CALL tpch(scale => 1)`, `CALL advise(lineitem)`.
    pub(super) fn call(&self, name: &tree::Path, list: &'a [Argument]) -> Result<Statement> {
        if let Some(variadic) = list.iter().find(|argument| argument.variadic) {
            return Err(self.unsupported("VARIADIC", variadic.value.span));
        }
        let (procedure, span) = self.written_name(name)?;
        let procedure = procedure.name;
        let mut binder = self.binder();
        let mut arguments = Vec::with_capacity(list.len());
        for argument in list {
            let Argument { variadic: _, name, value } = argument;
            let (name, value) = match name {
                _ if matches!(value.kind, AstKind::Star(_)) => {
                    let shown = match name {
                        Some((name, _)) => format!("{name} => {value}"),
                        None => value.to_string(),
                    };
                    let message = format!("argument {shown} is not a value");
                    return Err(self.wrong(message, span));
                }
                Some((name, ArgumentSign::Equals)) => (None, self.compared(name, value)),
                Some((name, _)) => (Some(folded(name)), value),
                None => (None, value),
            };
            // The advisor is asked about things, whose names need no quotes.
            let asked = procedure == "advise" && name.is_none();
            let (value, ty) = match names_of(value).filter(|_| asked) {
                Some(names) => {
                    let words: Vec<String> = names.iter().map(folded).collect();
                    (Value::text(&words.join(".")), Type::Text)
                }
                None if procedure == "set_variable" => self.variable_value(value, span)?,
                None => binder.constant(value)?,
            };
            arguments.push((name, value, ty));
        }
        Ok(Statement::Call { procedure, arguments })
    }

    /// `name = value`, which is a comparison where values stand.
    fn compared(&self, name: &tree::Name, value: &Ast) -> &'a Ast {
        let between = Span::new(name.span.end, value.span.start);
        let column = AstKind::Column(tree::Path { names: vec![name.clone()] });
        let column = Ast { kind: column, span: name.span };
        let equal = Operator { kind: OperatorKind::Equal, span: between };
        let span = name.span.to(value.span);
        self.texts
            .keep_expr(Ast { kind: AstKind::Chain(Box::new(column), vec![(equal, value.clone())]), span })
    }

    /// The value of a variable: a constant, or what a query computes.
    fn variable_value(&self, value: &'a Ast, span: Span) -> Result<(Value, Type)> {
        if is_constant(value) {
            return self.binder().constant(value);
        }
        let answer = self.relations.answer(&format!("SELECT {value}")).map_err(|e| self.at(e, span))?;
        let ty = answer.columns.fields().first().map_or(Type::Null, |f| f.ty);
        let first = answer.rows.into_iter().next().and_then(|row| row.into_iter().next());
        Ok((first.unwrap_or(Value::Null), ty))
    }
}

/// Whether a value needs no query to be computed.
fn is_constant(value: &Ast) -> bool {
    match &value.kind {
        AstKind::Parameter(_) => true,
        AstKind::Literal(literal) => {
            !matches!(literal, Literal::Bytes(_) | Literal::Typed(..) | Literal::Interval(_))
        }
        _ => false,
    }
}
