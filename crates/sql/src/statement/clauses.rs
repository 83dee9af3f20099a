//! Clauses of columns and constraints that are refused before anything else is looked at, and how the others are told.
//!
//! Called by CREATE TABLE and ALTER TABLE for each column and constraint. A clause is done, or told here to be
//! unsupported with its place; none is read and forgotten.

use syntax::Span;
use syntax::tree::{
    ColumnClause, ColumnClauseKind, ColumnDef, Constraint, ConstraintKind, ReferenceAction, References,
    SequenceOption, Timing,
};
use types::quote;
use types::{Error, Result};

use super::Context;

impl Context<'_> {
    /// What a column says and none has here.
    pub(super) fn refuse_column(&self, column: &ColumnDef) -> Result<()> {
        let ColumnDef { name, ty, clauses, span: _ } = column;
        let generated = |clause: &ColumnClause| matches!(clause.kind, ColumnClauseKind::Generated { .. });
        if ty.is_none() && !clauses.iter().any(generated) {
            let message = format!("a type is expected behind the name of column \"{}\"", name.text);
            return Err(self.wrong(message, name.span));
        }
        for ColumnClause { name: _, kind, span } in clauses {
            match kind {
                ColumnClauseKind::References(references) => self.refuse_references(references, *span)?,
                ColumnClauseKind::Identity { always: _, options } => {
                    self.refuse_identity(options, *span)?;
                }
                ColumnClauseKind::Compression(_) => {
                    return Err(self.unsupported("COMPRESSION of a column", *span));
                }
                ColumnClauseKind::Null
                | ColumnClauseKind::NotNull
                | ColumnClauseKind::Default(_)
                | ColumnClauseKind::PrimaryKey(_)
                | ColumnClauseKind::Unique { .. }
                | ColumnClauseKind::Check(_)
                | ColumnClauseKind::Collate(_)
                | ColumnClauseKind::Generated { .. }
                | ColumnClauseKind::AutoIncrement
                | ColumnClauseKind::Comment(_) => {}
            }
        }
        Ok(())
    }

    /// Options of sequences that those of columns do not have.
    pub(super) fn refuse_identity(&self, options: &[SequenceOption], at: Span) -> Result<()> {
        let refuse = |what: &str| Err(self.unsupported(format!("{what} of an identity column"), at));
        options.iter().try_for_each(|option| match option {
            SequenceOption::As(_) => refuse("AS"),
            SequenceOption::Restart(_) => refuse("RESTART"),
            SequenceOption::OwnedBy(_) => refuse("OWNED BY"),
            SequenceOption::Name(_) => refuse("SEQUENCE NAME"),
            SequenceOption::Increment(_)
            | SequenceOption::Min(_)
            | SequenceOption::Max(_)
            | SequenceOption::Start(_)
            | SequenceOption::Cache(_)
            | SequenceOption::Cycle(_) => Ok(()),
        })
    }

    fn refuse_references(&self, references: &References, at: Span) -> Result<()> {
        let References { table: _, columns: _, matching, on_delete, on_update, timing: _ } = references;
        if let Some(word) = matching {
            let known = ["full", "partial", "simple"].iter().any(|k| word.text.eq_ignore_ascii_case(k));
            if !known {
                return Err(self.unexpected(word.span));
            }
        }
        for action in [on_delete, on_update].into_iter().flatten() {
            match action {
                ReferenceAction::SetNull(columns) | ReferenceAction::SetDefault(columns)
                    if !columns.is_empty() =>
                {
                    let at = columns.first().map_or(at, |name| name.span);
                    return Err(self.unsupported("an action on some columns of a foreign key", at));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What a constraint of a table says and none has here.
    pub(super) fn refuse_constraint(&self, constraint: &Constraint) -> Result<()> {
        let Constraint { name: _, kind, timing, not_valid: _, span } = constraint;
        match kind {
            ConstraintKind::Check(_, true) => Err(self.unsupported("NO INHERIT", *span)),
            ConstraintKind::Check(..) if *timing != Timing::default() => {
                Err(self.unsupported("DEFERRABLE or INITIALLY of a CHECK", *span))
            }
            ConstraintKind::ForeignKey(_, references) => self.refuse_references(references, *span),
            ConstraintKind::Check(..) | ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique { .. } => {
                Ok(())
            }
        }
    }
}

/// Constraints are checked at the end of each statement; what says otherwise is refused.
pub(super) fn refuse_timing(timing: Timing) -> Result<()> {
    let refused = match timing {
        Timing { deferrable: Some(true), .. } => "DEFERRABLE",
        Timing { deferred: Some(true), .. } => "INITIALLY DEFERRED",
        _ => return Ok(()),
    };
    Err(Error::unsupported(format!("{refused} constraints are not supported"))
        .with_hint("constraints are checked at the end of each statement: leave the word out")
        .at(crate::place::START))
}

/// A clause of a column as errors tell it.
pub(super) fn told(clause: &ColumnClause, text: &str) -> String {
    match &clause.kind {
        ColumnClauseKind::NotNull => "NOT NULL".to_owned(),
        ColumnClauseKind::PrimaryKey(_) => "PRIMARY KEY".to_owned(),
        ColumnClauseKind::Unique { .. } => "UNIQUE".to_owned(),
        ColumnClauseKind::Check(condition) => format!("CHECK ({condition})"),
        ColumnClauseKind::Collate(name) => format!("COLLATE {name}"),
        ColumnClauseKind::Comment(comment) => format!("COMMENT {}", quote::text(&comment.text)),
        ColumnClauseKind::Generated { value, stored: _ } => {
            format!("GENERATED ALWAYS AS ({value}) STORED")
        }
        ColumnClauseKind::Identity { always, options } => identity(*always, options),
        ColumnClauseKind::AutoIncrement => identity(false, &[]),
        _ => clause.span.of(text).to_owned(),
    }
}

fn identity(always: bool, options: &[SequenceOption]) -> String {
    let when = if always { "ALWAYS" } else { "BY DEFAULT" };
    format!("GENERATED {when} AS IDENTITY{}", in_brackets(options))
}

/// Options of an identity column as errors tell them.
pub(super) fn in_brackets(options: &[SequenceOption]) -> String {
    let option = |option: &SequenceOption| match option {
        SequenceOption::Increment(by) => format!(" INCREMENT BY {by}"),
        SequenceOption::Min(Some(least)) => format!(" MINVALUE {least}"),
        SequenceOption::Min(None) => " NO MINVALUE".to_owned(),
        SequenceOption::Max(Some(most)) => format!(" MAXVALUE {most}"),
        SequenceOption::Max(None) => " NO MAXVALUE".to_owned(),
        SequenceOption::Start(at) => format!(" START WITH {at}"),
        SequenceOption::Cache(count) => format!(" CACHE {count}"),
        SequenceOption::Cycle(true) => " CYCLE".to_owned(),
        SequenceOption::Cycle(false) => " NO CYCLE".to_owned(),
        SequenceOption::As(_)
        | SequenceOption::Restart(_)
        | SequenceOption::OwnedBy(_)
        | SequenceOption::Name(_) => String::new(),
    };
    match options {
        [] => String::new(),
        options => format!(" ({} )", options.iter().map(option).collect::<String>()),
    }
}
