//! EXPLAIN.

use plan::statement::{ExplainFormat, Statement};
use syntax::Span;
use syntax::tree::{self, Described, ObjectKind, SetOption, Show, StatementKind as Kind};
use types::{Error, Result, SqlState};

use super::Context;
use super::kinds::unknown_kind;
use crate::bind::folded;
use crate::place;

impl<'a> Context<'a> {
    /// EXPLAIN of a statement that has a plan.
    pub(super) fn explain(
        &self,
        analyze: bool,
        options: &[SetOption],
        statement: &'a tree::Statement,
    ) -> Result<Statement> {
        self.refuse_inside(statement)?;
        let (mut analyze, mut format) = (analyze, ExplainFormat::Text);
        for SetOption { name, value } in options {
            let value = match value {
                Some(value) => self.option_word(value, name.span)?,
                None => "true".to_owned(),
            };
            match (folded(name).as_str(), value.to_lowercase().as_str()) {
                ("analyze", said) => analyze = self.truth(said, name.span)?,
                ("format", said) => {
                    format = ExplainFormat::named(said).ok_or_else(|| {
                        let message = format!("unrecognized value for EXPLAIN option \"format\": \"{said}\"");
                        let error = Error::new(SqlState::InvalidParameterValue, message)
                            .with_hint("expected text, json, dot, html or pipelines");
                        self.at(error, name.span)
                    })?;
                }
                ("verbose" | "costs" | "timing" | "buffers" | "summary", _) => {}
                (option, said) => {
                    let message = format!("unrecognized EXPLAIN option {option} {said}");
                    return Err(self.wrong(message, name.span));
                }
            }
        }
        if analyze && format == ExplainFormat::Pipelines {
            let error =
                Error::new(SqlState::InvalidParameterValue, "EXPLAIN ANALYZE has no format \"pipelines\"");
            return Err(
                error.with_hint("the pipelines are known before a query runs: EXPLAIN (FORMAT pipelines)")
            );
        }
        let explains = matches!(
            &statement.kind,
            Kind::Explain { .. }
                | Kind::Describe { what: Some(Described::Statement(_)), .. }
                | Kind::Show(Show::Query(_))
        );
        if explains {
            return Err(Error::new(SqlState::SyntaxError, "EXPLAIN of EXPLAIN is not possible"));
        }
        let planned = self.plan(statement)?;
        match planned {
            Statement::Query(_)
            | Statement::ChangingQuery(_)
            | Statement::Insert { .. }
            | Statement::Modify(_)
            | Statement::CopyFrom { .. }
            | Statement::CopyTo { .. }
            | Statement::CreateTableAs { .. } => {
                Ok(Statement::Explain { analyze, format, statement: Box::new(planned) })
            }
            _ => Err(Error::new(SqlState::SyntaxError, "EXPLAIN needs a statement that has a plan")
                .at(place::START)),
        }
    }

    /// Statements about macros, types, sequences and databases, which stand alone.
    fn refuse_inside(&self, statement: &tree::Statement) -> Result<()> {
        let at = statement.span;
        let refused = match &statement.kind {
            Kind::Explain { statement, .. } => return self.refuse_inside(statement),
            Kind::CreateSequence { .. } => "CREATE SEQUENCE here",
            Kind::CreateType(_) => "CREATE TYPE here",
            Kind::CreateMacro(_) => "CREATE MACRO here",
            Kind::CreateFunction(_) => "CREATE FUNCTION here",
            Kind::Attach { .. } => "ATTACH here",
            Kind::Detach { .. } => "DETACH here",
            Kind::CopyDatabase { .. } => "COPY FROM DATABASE here",
            Kind::AlterObject(alter) if alter.kind == ObjectKind::Sequence => {
                return Err(unknown_kind(alter.kind));
            }
            Kind::Drop(drop) => match drop.kind {
                kind @ (ObjectKind::Macro
                | ObjectKind::MacroTable
                | ObjectKind::Function
                | ObjectKind::Sequence) => return Err(self.drop_unknown(kind, at)),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        Err(self.unsupported(refused, at))
    }

    fn truth(&self, value: &str, at: Span) -> Result<bool> {
        match value {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(self.wrong(format!("\"{value}\" is neither true nor false"), at)),
        }
    }
}
