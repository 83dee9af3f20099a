//! Statements about secrets, wide tables, roles, queries that run and the database as a whole: calls of procedures.
//!
//! Such a statement becomes `Statement::Call` of an internal procedure with values as arguments, so that execution needs
//! no statement of its own for it. Errors of CREATE SECRET never quote the values.

use plan::Statement;
use plan::access::AccessStatement;
use syntax::Span;
use syntax::tree::{
    self, AlterObject, CreateSecret, CreateWideTable, Expr as Ast, ExprKind as AstKind, IfThere, Literal,
    Name, ObjectChange, ObjectKind, OptionValue, Path, SetOption, SteerVerb, TextLiteral, WideSource,
};
use types::{Error, Result, SqlState, Type, Value};

use super::Context;
use super::kinds::unknown_kind;
use super::options::{is_default, place_of};
use crate::bind::folded;
use crate::secrets;

/// One value for a procedure; a name where it is given by one.
type Given = (Option<String>, Value, Type);

/// The call of a procedure with texts.
pub(super) fn called(procedure: &str, texts: impl IntoIterator<Item = String>) -> Statement {
    call(procedure, texts.into_iter().map(|text| given(&text)).collect())
}

fn call(procedure: &str, arguments: Vec<Given>) -> Statement {
    Statement::Call { procedure: procedure.to_owned(), arguments }
}

fn given(text: &str) -> Given {
    (None, Value::text(text), Type::Text)
}

/// What CREATE does where there is something already.
fn conflict(if_there: IfThere) -> &'static str {
    match if_there {
        IfThere::Error => "error",
        IfThere::Replace => "replace",
        IfThere::Keep => "keep",
    }
}

impl<'a> Context<'a> {
    fn given(&self, value: &'a Ast) -> Result<Given> {
        let (value, ty) = self.binder().constant(value)?;
        Ok((None, value, ty))
    }

    /// CREATE SECRET: what is there, how long it lasts, the name, and each option with its value.
    pub(super) fn create_secret(&self, create: &'a CreateSecret) -> Result<Statement> {
        let CreateSecret { if_there, persistent, name, storage, options, span: at } = create;
        if let Some(storage) = storage {
            return Err(self.unsupported("IN of CREATE SECRET", storage.span));
        }
        let lasting = if *persistent == Some(true) { "persistent" } else { "temporary" };
        let named = name.as_ref().map(folded).unwrap_or_default();
        if options.is_empty() {
            return Err(self.secret_fault("an option's name", *at));
        }
        let mut values = vec![given(conflict(*if_there)), given(lasting), given(&named)];
        for SetOption { name, value } in options {
            let Some(value) = value else { return Err(self.secret_fault("an option's value", name.span)) };
            for value in self.secret_values(value, name.span)? {
                values.extend([given(&name.text.to_lowercase()), value]);
            }
        }
        Ok(call("create_secret", values))
    }

    /// No message tells a value.
    fn secret_fault(&self, expected: &str, at: Span) -> Error {
        let message = format!("syntax error in a statement about a secret: {expected} is expected");
        self.at(Error::new(SqlState::SyntaxError, message).with_hint(secrets::SYNTAX), at)
    }

    /// One value, or those of a list.
    fn secret_values(&self, value: &'a OptionValue, name: Span) -> Result<Vec<Given>> {
        match value {
            OptionValue::Expr(Ast { kind: AstKind::List { array: false, elements }, .. }) => {
                elements.iter().map(|element| self.secret_value(element)).collect()
            }
            OptionValue::Expr(value) => Ok(vec![self.secret_value(value)?]),
            OptionValue::Word(word) => Ok(vec![given(&word.text)]),
            OptionValue::List(entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for SetOption { name, value } in entries {
                    match value {
                        Some(value) if name.text.is_empty() => {
                            values.extend(self.secret_values(value, name.span)?);
                        }
                        _ => return Err(self.secret_fault("an option's value", name.span)),
                    }
                }
                Ok(values)
            }
            OptionValue::Star(_) | OptionValue::Order(_) => Err(self.secret_fault("an option's value", name)),
        }
    }

    /// A text, a word, a number or a parameter.
    fn secret_value(&self, value: &'a Ast) -> Result<Given> {
        match &value.kind {
            AstKind::Literal(Literal::Text(text) | Literal::Number(text)) => Ok(given(text)),
            AstKind::Literal(Literal::Null | Literal::Bool(_)) => Ok(given(value.span.of(self.text))),
            AstKind::Column(path) if let Some(word) = path.single() => Ok(given(&word.text)),
            AstKind::Parameter(_) => self.given(value),
            _ => Err(self.secret_fault("an option's value", value.span)),
        }
    }

    /// CREATE WIDE TABLE: what is there, the name, what it is made of, and options.
    pub(super) fn create_wide_table(&self, create: &CreateWideTable) -> Result<Statement> {
        let CreateWideTable { if_there, name, source, options } = create;
        let mut texts = vec![conflict(*if_there).to_owned()];
        texts.extend(self.wide_name(name)?);
        let (kind, names) = match source {
            WideSource::Schema(schema, _) => ("schema", vec![String::new(), folded(schema)]),
            WideSource::Tables(tables, _) => {
                let mut names = Vec::with_capacity(2 * tables.len());
                for table in tables {
                    names.extend(self.wide_name(table)?);
                }
                (if tables.len() == 1 { "table" } else { "tables" }, names)
            }
        };
        texts.extend([kind.to_owned(), (names.len() / 2).to_string()]);
        texts.extend(names);
        for SetOption { name, value } in options {
            let Some(text) = value.as_ref().and_then(|value| self.option_text(value)) else {
                return Err(self.wide_fault(name.span));
            };
            texts.extend([folded(name), text]);
        }
        Ok(called("create_wide_table", texts))
    }

    fn wide_fault(&self, at: Span) -> Error {
        let form = "write CREATE WIDE TABLE name FROM fact_table, or FROM (fact_table, other, ...)";
        self.wrong("CREATE WIDE TABLE cannot be read", at).with_hint(form)
    }

    /// Schema, which may be nothing, and name; the schema of an attached database by its key.
    fn wide_name(&self, path: &Path) -> Result<[String; 2]> {
        match path.names.as_slice() {
            [name] => Ok([String::new(), folded(name)]),
            [schema, name] => Ok([folded(schema), folded(name)]),
            [database, schema, name] => {
                Ok([format!("{}.{}", folded(database), folded(schema)), folded(name)])
            }
            _ => Err(self.wide_fault(path.span())),
        }
    }

    /// REFRESH WIDE TABLE.
    pub(super) fn refresh_wide_table(&self, name: &Path) -> Result<Statement> {
        Ok(called("refresh_wide_table", self.wide_name(name)?))
    }

    /// EXPORT DATABASE; FORMAT is the only option.
    pub(super) fn export_database(&self, folder: &TextLiteral, options: &[SetOption]) -> Result<Statement> {
        let mut texts = vec![folder.text.to_string()];
        for SetOption { name, value } in options {
            let format = value.as_ref().filter(|_| folded(name) == "format" && texts.len() == 1);
            let Some(format) = format.and_then(|format| self.option_text(format)) else {
                return Err(self.unsupported("this option of EXPORT DATABASE", name.span));
            };
            texts.push(format);
        }
        Ok(called("export_database", texts))
    }

    /// PAUSE, RESUME and CANCEL QUERY.
    pub(super) fn steer_query(&self, verb: SteerVerb, query: &'a Ast) -> Result<Statement> {
        let procedure = match verb {
            SteerVerb::Pause => "pause_query",
            SteerVerb::Resume => "resume_query",
            SteerVerb::Cancel => "cancel_query",
        };
        Ok(call(procedure, vec![self.given(query)?]))
    }

    /// ALTER of what is no table: of a role, whose settings are changed.
    pub(super) fn alter_object(&self, alter: &AlterObject) -> Result<Statement> {
        let AlterObject { kind, if_exists, name, change } = alter;
        let role = name.single().filter(|_| *kind == ObjectKind::Role && !if_exists);
        let Some(role) = role else { return Err(unknown_kind(*kind)) };
        let role = folded(role);
        match change {
            ObjectChange::Set(setting, OptionValue::Word(word)) if is_default(word) => {
                Ok(called("reset_role", [role, setting.text.to_string()]))
            }
            ObjectChange::Set(setting, value) => {
                let text = self.set_text(setting, value)?;
                Ok(called("alter_role", [role, setting.text.to_string(), text]))
            }
            ObjectChange::Reset(setting) => {
                let setting = setting.iter().map(|setting| setting.text.to_string());
                Ok(called("reset_role", std::iter::once(role).chain(setting)))
            }
            ObjectChange::Rename(to) => {
                let from = name.single().map(super::access::role).ok_or_else(|| unknown_kind(*kind))?;
                let to = folded(to);
                Ok(Statement::Access(Box::new(AccessStatement::RenameRole { from, to })))
            }
            ObjectChange::SetSchema(_)
            | ObjectChange::OwnerTo(_)
            | ObjectChange::Sequence(_)
            | ObjectChange::AddValue { .. }
            | ObjectChange::RenameValue(..) => Err(unknown_kind(*kind)),
        }
    }

    /// `ALTER QUERY 7 SET name = value`.
    pub(super) fn alter_query(
        &self,
        query: &'a Ast,
        name: &Name,
        value: &tree::OptionValue,
    ) -> Result<Statement> {
        let text = self.set_text(name, value)?;
        Ok(call("alter_query", vec![self.given(query)?, given(&name.text), given(&text)]))
    }

    fn set_text(&self, name: &Name, value: &OptionValue) -> Result<String> {
        self.option_text(value).ok_or_else(|| self.unexpected(place_of(value, name.span)))
    }
}
