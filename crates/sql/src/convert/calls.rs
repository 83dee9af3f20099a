//! Statements about secrets, wide tables, the database as a whole and queries that run: calls of procedures.
//!
//! Such a statement becomes CALL of an internal procedure with values as arguments, so that planning and execution
//! need no statement of their own. Errors of CREATE SECRET never quote the values. Called by `convert::statement`.

use sqlparser::ast;
use syntax::Span;
use syntax::tree;
use syntax::tree::{ExprKind, IfThere, Literal, OptionValue, SteerVerb, WideSource};
use types::{Error, Result, SqlState};

use super::Converter;
use super::option::{folded, own_call, text_value};
use crate::secrets;

/// What CREATE does where there is something already.
fn conflict(if_there: IfThere) -> &'static str {
    match if_there {
        IfThere::Error => "error",
        IfThere::Replace => "replace",
        IfThere::Keep => "keep",
    }
}

impl Converter<'_> {
    /// CREATE SECRET as a call of `create_secret`.
    pub(super) fn create_secret(&self, create: &tree::CreateSecret) -> Result<ast::Statement> {
        let tree::CreateSecret { if_there, persistent, name, storage, options, span: at } = create;
        if let Some(storage) = storage {
            return Err(self.unsupported("IN of CREATE SECRET", storage.span));
        }
        let lasting = if *persistent == Some(true) { "persistent" } else { "temporary" };
        let called = name.as_ref().map(folded).unwrap_or_default();
        if options.is_empty() {
            return Err(self.secret_fault("an option's name", *at));
        }
        let mut values =
            vec![text_value(conflict(*if_there), *at), text_value(lasting, *at), text_value(&called, *at)];
        for tree::SetOption { name, value } in options {
            let Some(value) = value else { return Err(self.secret_fault("an option's value", name.span)) };
            for value in self.secret_values(value, name.span)? {
                values.extend([text_value(&name.text.to_lowercase(), name.span), value]);
            }
        }
        Ok(own_call("create_secret", *at, values))
    }

    /// No message tells a value.
    fn secret_fault(&self, expected: &str, at: Span) -> Error {
        let message = format!("syntax error in a statement about a secret: {expected} is expected");
        self.at(Error::new(SqlState::SyntaxError, message).with_hint(secrets::SYNTAX), at)
    }

    /// One value, or those of a list.
    fn secret_values(&self, value: &OptionValue, name: Span) -> Result<Vec<ast::Expr>> {
        match value {
            OptionValue::Expr(tree::Expr { kind: ExprKind::List { array: false, elements }, .. }) => {
                elements.iter().map(|element| self.secret_value(element)).collect()
            }
            OptionValue::Expr(value) => Ok(vec![self.secret_value(value)?]),
            OptionValue::Word(word) => Ok(vec![text_value(&word.text, word.span)]),
            OptionValue::List(entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for tree::SetOption { name, value } in entries {
                    match value {
                        Some(value) if name.text.is_empty() => {
                            values.extend(self.secret_values(value, name.span)?);
                        }
                        _ => return Err(self.secret_fault("an option's value", name.span)),
                    }
                }
                Ok(values)
            }
            OptionValue::Star(_) => Err(self.secret_fault("an option's value", name)),
        }
    }

    /// A text, a word, a number or a parameter.
    fn secret_value(&self, value: &tree::Expr) -> Result<ast::Expr> {
        match &value.kind {
            ExprKind::Literal(Literal::Text(text) | Literal::Number(text)) => {
                Ok(text_value(text, value.span))
            }
            ExprKind::Literal(Literal::Null | Literal::Bool(_)) => {
                Ok(text_value(self.text_of(value.span), value.span))
            }
            ExprKind::Column(path) if let Some(word) = path.single() => Ok(text_value(&word.text, word.span)),
            ExprKind::Parameter(_) => self.expr(value),
            _ => Err(self.secret_fault("an option's value", value.span)),
        }
    }

    /// CREATE WIDE TABLE as a call of `create_wide_table`.
    pub(super) fn create_wide_table(
        &self,
        create: &tree::CreateWideTable,
        at: Span,
    ) -> Result<ast::Statement> {
        let tree::CreateWideTable { if_there, name, source, options } = create;
        let mut values = vec![text_value(conflict(*if_there), at)];
        values.extend(self.wide_name(name)?);
        let (kind, names) = match source {
            WideSource::Schema(schema, _) => {
                ("schema", vec![text_value("", schema.span), text_value(&folded(schema), schema.span)])
            }
            WideSource::Tables(tables, _) => {
                let mut names = Vec::with_capacity(2 * tables.len());
                for table in tables {
                    names.extend(self.wide_name(table)?);
                }
                (if tables.len() == 1 { "table" } else { "tables" }, names)
            }
        };
        values.extend([text_value(kind, at), text_value(&(names.len() / 2).to_string(), at)]);
        values.extend(names);
        for tree::SetOption { name, value } in options {
            let text = value.as_ref().and_then(|value| Some((self.option_text(value)?, value)));
            let Some((text, value)) = text else { return Err(self.wide_fault(name.span)) };
            let place = self.place_of(value, name.span);
            values.extend([text_value(&folded(name), name.span), text_value(&text, place)]);
        }
        Ok(own_call("create_wide_table", at, values))
    }

    fn wide_fault(&self, at: Span) -> Error {
        let error = Error::new(SqlState::SyntaxError, "CREATE WIDE TABLE cannot be read");
        let form = "write CREATE WIDE TABLE name FROM fact_table, or FROM (fact_table, other, ...)";
        self.at(error.with_hint(form), at)
    }

    /// Schema, which may be nothing, and name; the schema of an attached database by its key.
    fn wide_name(&self, path: &tree::Path) -> Result<[ast::Expr; 2]> {
        match path.names.as_slice() {
            [name] => Ok([text_value("", name.span), text_value(&folded(name), name.span)]),
            [schema, name] => {
                Ok([text_value(&folded(schema), schema.span), text_value(&folded(name), name.span)])
            }
            [database, schema, name] => {
                let key = format!("{}.{}", folded(database), folded(schema));
                Ok([text_value(&key, database.span), text_value(&folded(name), name.span)])
            }
            _ => Err(self.wide_fault(path.span())),
        }
    }

    /// REFRESH WIDE TABLE as a call of `refresh_wide_table`.
    pub(super) fn refresh_wide_table(&self, name: &tree::Path, at: Span) -> Result<ast::Statement> {
        Ok(own_call("refresh_wide_table", at, self.wide_name(name)?.to_vec()))
    }

    /// EXPORT DATABASE as a call; FORMAT is the only option.
    pub(super) fn export_database(
        &self,
        folder: &tree::TextLiteral,
        options: &[tree::SetOption],
        at: Span,
    ) -> Result<ast::Statement> {
        let mut values = vec![text_value(&folder.text, folder.span)];
        for tree::SetOption { name, value } in options {
            let format = value.as_ref().filter(|_| folded(name) == "format" && values.len() == 1);
            let text = format.and_then(|format| Some((self.option_text(format)?, format)));
            let Some((text, format)) = text else {
                return Err(self.unsupported("this option of EXPORT DATABASE", name.span));
            };
            values.push(text_value(&text, self.place_of(format, name.span)));
        }
        Ok(own_call("export_database", at, values))
    }

    /// PAUSE, RESUME and CANCEL QUERY as calls.
    pub(super) fn steer_query(
        &self,
        verb: SteerVerb,
        query: &tree::Expr,
        at: Span,
    ) -> Result<ast::Statement> {
        let procedure = match verb {
            SteerVerb::Pause => "pause_query",
            SteerVerb::Resume => "resume_query",
            SteerVerb::Cancel => "cancel_query",
        };
        Ok(own_call(procedure, at, vec![self.expr(query)?]))
    }
}
