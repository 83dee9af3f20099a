//! SET, RESET, USE and PRAGMA.
//!
//! USE becomes SET search_path. A PRAGMA becomes what does the same here: a setting, a listing from a table function,
//! or a hint (`pragmas`). Values stay expressions; `statement::session` checks them. Called by `convert::statement`.

use sqlparser::ast;
use syntax::Span;
use syntax::tree;
use syntax::tree::{ExprKind, Literal, OptionValue, Scope, Set};
use types::{Error, Result};

use super::option::{folded, own_call, text_value, word_value};
use super::{Converter, ident, made, object_name};
use crate::names::quoted;
use crate::{place, pragmas};

fn modifier(scope: Option<Scope>) -> Option<ast::ContextModifier> {
    scope.map(|scope| match scope {
        Scope::Session => ast::ContextModifier::Session,
        Scope::Local => ast::ContextModifier::Local,
        Scope::Global => ast::ContextModifier::Global,
    })
}

/// The role that the session goes by.
fn role(scope: Option<Scope>, authorization: bool, name: Option<&tree::Name>) -> ast::Set {
    let (scope, role_name) = (modifier(scope), name.map(ident));
    match authorization {
        false => ast::Set::SetRole { context_modifier: scope, role_name },
        true => ast::Set::SetSessionAuthorization(ast::SetSessionAuthorizationParam {
            scope: scope.unwrap_or(ast::ContextModifier::Session),
            kind: match role_name {
                None => ast::SetSessionAuthorizationParamKind::Default,
                Some(name) => ast::SetSessionAuthorizationParamKind::User(name),
            },
        }),
    }
}

/// A setting that gets values.
fn assignment(
    scope: Option<ast::ContextModifier>,
    variable: ast::ObjectName,
    values: Vec<ast::Expr>,
) -> ast::Statement {
    ast::Statement::Set(ast::Set::SingleAssignment { scope, hivevar: false, variable, values })
}

fn named(name: &str, at: Span) -> ast::ObjectName {
    ast::ObjectName(vec![ast::ObjectNamePart::Identifier(made(name, at))])
}

/// The setting of the schemas that names are looked for in.
fn search_path(path: &str, at: Span) -> ast::Statement {
    assignment(None, named("search_path", at), vec![text_value(path, at)])
}

impl Converter<'_> {
    /// SET in all its forms.
    pub(crate) fn set(&self, set: &Set) -> Result<ast::Statement> {
        match set {
            Set::Setting { scope, name, values } => self.setting(*scope, name, values),
            Set::Variable(name, value) => {
                let values = vec![text_value(&folded(name), name.span), self.expr(value)?];
                Ok(own_call("set_variable", name.span, values))
            }
            Set::TimeZone(scope, zone) => {
                let value = match zone {
                    Some(zone) => self.expr(zone)?,
                    None => word_value("DEFAULT", Span::default()),
                };
                let local = *scope == Some(Scope::Local);
                Ok(ast::Statement::Set(ast::Set::SetTimeZone { local, value }))
            }
            Set::Role { scope, authorization, name } => {
                Ok(ast::Statement::Set(role(*scope, *authorization, name.as_ref())))
            }
            Set::Schema(schema) => match self.schema_of(schema) {
                Some(path) => Ok(search_path(&path, schema.span)),
                None => Err(self.unexpected(schema.span)),
            },
        }
    }

    fn setting(
        &self,
        scope: Option<Scope>,
        name: &tree::Path,
        values: &[OptionValue],
    ) -> Result<ast::Statement> {
        let is = |wanted: &str| name.single().is_some_and(|name| folded(name) == wanted);
        if let ([value], true, None) = (values, is("schema"), scope) {
            let path = match value {
                OptionValue::Word(word) => Some(quoted(&folded(word))),
                OptionValue::Expr(schema) => self.schema_of(schema),
                OptionValue::List(_) | OptionValue::Star(_) => None,
            };
            if let Some(path) = path {
                return Ok(search_path(&path, self.place_of(value, name.span())));
            }
        }
        let given = match values {
            [] => vec![word_value("DEFAULT", name.span())],
            values => {
                values.iter().map(|value| self.option_value(value, name.span())).collect::<Result<_>>()?
            }
        };
        Ok(assignment(modifier(scope), object_name(name), given))
    }

    /// A schema, or a schema of a database, as it stands in a list of them.
    fn schema_of(&self, schema: &tree::Expr) -> Option<String> {
        match &schema.kind {
            ExprKind::Literal(Literal::Text(text)) => Some(quoted(text)),
            ExprKind::Column(path) => path_of(path),
            _ => None,
        }
    }

    /// USE.
    pub(super) fn use_schema(&self, path: &tree::Path, at: Span) -> Result<ast::Statement> {
        match path_of(path) {
            Some(schema) => Ok(search_path(&schema, path.last().map_or(path.span(), |name| name.span))),
            None => Err(self.foreign(&["use"], at)),
        }
    }

    /// RESET of one setting or of all; LOCAL and GLOBAL are errors.
    pub(super) fn reset(&self, scope: Option<Scope>, name: Option<&tree::Path>) -> Result<ast::Statement> {
        if matches!(scope, Some(Scope::Local | Scope::Global)) {
            let message = "RESET LOCAL and RESET GLOBAL are not supported: a setting is the session's";
            return Err(Error::unsupported(message).with_hint("write RESET name").at(place::START));
        }
        let reset = match name {
            None => ast::Reset::ALL,
            Some(name) => ast::Reset::ConfigurationParameter(object_name(name)),
        };
        Ok(ast::Statement::Reset(ast::ResetStatement { reset }))
    }

    /// PRAGMA in other words.
    pub(super) fn pragma(
        &self,
        name: &tree::Name,
        value: Option<&OptionValue>,
        arguments: Option<&[tree::Argument]>,
        at: Span,
    ) -> Result<ast::Statement> {
        let called = name.text.to_lowercase();
        if let Some(value) = value {
            if !pragmas::SETTINGS.contains(&called.as_str()) {
                return Err(self.unknown_pragma(name));
            }
            let value = self.option_value(value, name.span)?;
            // As the parser has it where it stands in SET.
            let setting = if called == "timezone" { "TIMEZONE" } else { &called };
            return Ok(assignment(None, named(setting, at), vec![value]));
        }
        let arguments = arguments.unwrap_or_default();
        let known = |list: &[&str]| list.contains(&called.as_str());
        match called.as_str() {
            "show_tables" if arguments.is_empty() => Ok(super::statement::show_tables(None, None)),
            "show_databases" if arguments.is_empty() => Ok(super::statement::show_databases()),
            "show_tables_expanded" if arguments.is_empty() => Ok(super::statement::show_all_tables(at)),
            "checkpoint" | "force_checkpoint" if arguments.is_empty() => {
                Ok(own_call("checkpoint", at, vec![]))
            }
            _ if known(&pragmas::NOTHING) => Ok(own_call("pragma", at, vec![text_value(&called, at)])),
            _ if known(&pragmas::LISTS) => {
                let rows = self.listed(&called, arguments, at);
                Ok(ast::Statement::Query(Box::new(self.query(&rows)?)))
            }
            _ => Err(self.unknown_pragma(name)),
        }
    }

    fn unknown_pragma(&self, name: &tree::Name) -> Error {
        let error = Error::unsupported(format!("PRAGMA {} is not supported", self.text_of(name.span)));
        self.at(error.with_hint("SET name = value for settings, which SHOW ALL lists"), name.span)
    }

    /// `SELECT * FROM pragma_name(arguments)`; a table's name is its text.
    fn listed(&self, name: &str, arguments: &[tree::Argument], span: Span) -> tree::Query {
        let star = tree::Star {
            of: None,
            exclude: vec![],
            except: false,
            replace: vec![],
            rename: vec![],
            names: None,
        };
        let value = tree::Expr { kind: ExprKind::Star(Box::new(star)), span };
        let function = tree::Name { text: format!("pragma_{name}").into(), quoted: false, span };
        let argument = |argument: &tree::Argument| match &argument.value.kind {
            ExprKind::Column(path) => {
                let text = match path.single() {
                    Some(name) => name.text.clone(),
                    None => self.text_of(path.span()).into(),
                };
                let value = tree::Expr { kind: ExprKind::Literal(Literal::Text(text)), span };
                tree::Argument { variadic: false, name: None, value }
            }
            _ => argument.clone(),
        };
        let kind = tree::TableKind::Function {
            lateral: false,
            name: tree::Path { names: vec![function] },
            arguments: arguments.iter().map(argument).collect(),
            ordinality: false,
        };
        let table = tree::Table { kind, alias: None, sample: None, pivots: vec![], span };
        let select = tree::Select {
            distinct: tree::Distinct::Unsaid,
            items: vec![tree::SelectItem { value, alias: None, alias_first: false }],
            order: tree::ClauseOrder::SelectFirst,
            into: None,
            from: vec![tree::TableWithJoins { table, joins: vec![] }],
            condition: None,
            group_by: None,
            having: None,
            windows: vec![],
            qualify: None,
            sample: None,
            span,
        };
        tree::Query {
            with: None,
            body: tree::SetExpr::Select(Box::new(select)),
            order_by: vec![],
            limit: None,
            offset: None,
            locks: vec![],
            span,
        }
    }
}

/// A schema, or a database and a schema of it, as it stands in a list of them.
fn path_of(path: &tree::Path) -> Option<String> {
    match path.names.as_slice() {
        [_] | [_, _] => {
            let names = path.names.iter().map(|name| quoted(&folded(name)));
            Some(names.collect::<Vec<_>>().join("."))
        }
        _ => None,
    }
}

/// Idents of a name, as SHOW has them.
pub(super) fn words_of(path: &tree::Path) -> Vec<ast::Ident> {
    path.names.iter().map(ident).collect()
}
