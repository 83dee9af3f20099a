//! SET, RESET, SHOW and CALL.
//!
//! Names are folded and values become texts; the engine knows the settings and checks them. A value may be a query in
//! brackets, which runs while the statement is planned. SET LOCAL and SET GLOBAL are refused: a setting belongs to
//! the session. Called by `Context::plan`.

use plan::statement::Statement;
use sqlparser::ast::{
    ContextModifier, Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Reset,
    ResetStatement, Set, SetSessionAuthorizationParamKind,
};
use types::{Error, Result, SqlState, Type, Value};

use super::{Context, word};
use crate::bind::folded;
use crate::{names, place};

/// What SET ROLE and SET SESSION AUTHORIZATION make the session's role: `Some(None)`, the default.
fn role_of(set: &Set) -> Option<Option<String>> {
    match set {
        Set::SetRole { role_name, .. } => Some(role_name.as_ref().map(folded)),
        Set::SetSessionAuthorization(authorization) => match &authorization.kind {
            SetSessionAuthorizationParamKind::Default => Some(None),
            SetSessionAuthorizationParamKind::User(role) => Some(Some(folded(role))),
        },
        _ => None,
    }
}

impl Context<'_> {
    /// SET in all its forms.
    pub(super) fn set(&self, set: &Set) -> Result<Statement> {
        if let Some(role) = role_of(set) {
            return Ok(Statement::Set { name: "role".into(), value: role });
        }
        if let Set::SetTimeZone { value, .. } = set {
            let value = match value {
                Ast::Identifier(ident) if ["local", "default"].contains(&folded(ident).as_str()) => None,
                value => Some(word(value).map_err(|e| e.at(place::START))?),
            };
            return Ok(Statement::Set { name: "timezone".into(), value });
        }
        let Set::SingleAssignment { scope, hivevar, variable, values } = set else {
            return Err(Error::unsupported(format!("{set} is not supported")).at(place::START));
        };
        if *hivevar || matches!(scope, Some(ContextModifier::Local | ContextModifier::Global)) {
            let message = "SET LOCAL and SET GLOBAL are not supported: a setting is the session's";
            return Err(Error::unsupported(message).with_hint("write SET name = value").at(place::START));
        }
        let (name, span) = self.written_name(variable)?;
        let name = match name.schema {
            Some(schema) => format!("{schema}.{}", name.name),
            None => name.name,
        };
        if name == "search_path"
            && !matches!(values.as_slice(), [Ast::Identifier(ident)] if folded(ident) == "default")
        {
            let listed = |value: &Ast| match value {
                Ast::Identifier(ident) => Ok(names::quoted(&folded(ident))),
                Ast::CompoundIdentifier(parts) => {
                    let quoted = |part: &Ident| names::quoted(&folded(part));
                    Ok(parts.iter().map(quoted).collect::<Vec<_>>().join("."))
                }
                other => word(other).map_err(|e| self.at(e, span)),
            };
            let names = values.iter().map(listed).collect::<Result<Vec<_>>>()?;
            return Ok(Statement::Set { name, value: Some(names.join(", ")) });
        }
        let value = match values.as_slice() {
            [Ast::Identifier(ident)]
                if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default") =>
            {
                None
            }
            [one] => Some(word(one).map_err(|e| self.at(e, span))?),
            several => {
                let words =
                    several.iter().map(word).collect::<Result<Vec<_>>>().map_err(|e| self.at(e, span))?;
                Some(words.join(", "))
            }
        };
        Ok(Statement::Set { name, value })
    }

    /// RESET of one setting or of all.
    pub(super) fn reset(&self, reset: &ResetStatement) -> Result<Statement> {
        match &reset.reset {
            Reset::ALL => Ok(Statement::Set { name: "all".into(), value: None }),
            Reset::ConfigurationParameter(name) => {
                Ok(Statement::Set { name: self.simple_name(name)?, value: None })
            }
        }
    }

    /// SHOW of a setting.
    pub(super) fn show(&self, variable: &[Ident]) -> Result<Statement> {
        let words: Vec<String> = variable.iter().map(folded).collect();
        match words.as_slice() {
            [] => Err(Error::new(SqlState::SyntaxError, "SHOW needs a name").at(place::START)),
            [time, zone] if time == "time" && zone == "zone" => {
                Ok(Statement::Show { name: "timezone".into() })
            }
            words => Ok(Statement::Show { name: words.join("_") }),
        }
    }

    /// `CALL tpch(scale => 1)`, `CALL advise(lineitem)`.
    pub(super) fn call(&self, call: &Function) -> Result<Statement> {
        let (called, span) = self.written_name(&call.name)?;
        let mut binder = self.binder();
        let mut arguments = Vec::new();
        if let FunctionArguments::List(list) = &call.args {
            for argument in &list.args {
                let (name, value) = match argument {
                    FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                        (Some(folded(name)), value)
                    }
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (None, value),
                    other => {
                        let error =
                            Error::new(SqlState::SyntaxError, format!("argument {other} is not a value"));
                        return Err(self.at(error, span));
                    }
                };
                // The advisor is asked about things, whose names need no quotes.
                let named = match value {
                    Ast::Identifier(one) => Some(std::slice::from_ref(one)),
                    Ast::CompoundIdentifier(several) => Some(several.as_slice()),
                    _ => None,
                };
                let asked = called.name == "advise";
                let (value, ty) = match named.filter(|_| asked && name.is_none()) {
                    Some(idents) => {
                        let words: Vec<String> = idents.iter().map(folded).collect();
                        (Value::text(&words.join(".")), Type::Text)
                    }
                    None if called.name == "set_variable" && queried(value) => self.asked(value, span)?,
                    None => binder.constant(value)?,
                };
                arguments.push((name, value, ty));
            }
        }
        Ok(Statement::Call { procedure: called.name, arguments })
    }

    /// The one value of a query in brackets.
    fn asked(&self, value: &Ast, span: sqlparser::tokenizer::Span) -> Result<(Value, Type)> {
        let answer = self.relations.answer(&format!("SELECT {value}")).map_err(|e| self.at(e, span))?;
        let ty = answer.columns.fields().first().map_or(Type::Null, |f| f.ty);
        let first = answer.rows.into_iter().next().and_then(|row| row.into_iter().next());
        Ok((first.unwrap_or(Value::Null), ty))
    }
}

/// Whether a value has to be computed by a query.
fn queried(value: &Ast) -> bool {
    !matches!(value, Ast::Value(_))
}
