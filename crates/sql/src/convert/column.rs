//! Columns and constraints of tables.
//!
//! Every clause of the grammar either has a node or is refused here. Generated columns are stored, also where the
//! text says VIRTUAL. A column without a type, GENERATED from an expression, gets the internal type
//! `TYPE_OF_EXPRESSION`, which `statement::generated` replaces. Called by `create` and `alter`.

use sqlparser::ast;
use syntax::tree;
use syntax::tree::{ColumnClauseKind, ConstraintKind, ReferenceAction, SequenceOption, Timing};
use types::Result;

use super::{Converter, ident, made, object_name};
use crate::statement::TYPE_OF_EXPRESSION;

/// DEFERRABLE and INITIALLY.
fn characteristics(timing: Timing) -> Option<ast::ConstraintCharacteristics> {
    let Timing { deferrable, deferred } = timing;
    let initially = deferred.map(|deferred| match deferred {
        true => ast::DeferrableInitial::Deferred,
        false => ast::DeferrableInitial::Immediate,
    });
    (deferrable.is_some() || initially.is_some()).then_some(ast::ConstraintCharacteristics {
        deferrable,
        initially,
        enforced: None,
    })
}

fn nulls(distinct: Option<bool>) -> ast::NullsDistinctOption {
    match distinct {
        None => ast::NullsDistinctOption::None,
        Some(true) => ast::NullsDistinctOption::Distinct,
        Some(false) => ast::NullsDistinctOption::NotDistinct,
    }
}

fn primary_key(
    name: Option<ast::Ident>,
    columns: Vec<ast::IndexColumn>,
    timing: Timing,
) -> ast::PrimaryKeyConstraint {
    ast::PrimaryKeyConstraint {
        name,
        index_name: None,
        index_type: None,
        columns,
        index_options: vec![],
        characteristics: characteristics(timing),
    }
}

fn unique(
    name: Option<ast::Ident>,
    columns: Vec<ast::IndexColumn>,
    nulls_distinct: Option<bool>,
    timing: Timing,
) -> ast::UniqueConstraint {
    ast::UniqueConstraint {
        name,
        index_name: None,
        index_type_display: ast::KeyOrIndexDisplay::None,
        index_type: None,
        columns,
        index_options: vec![],
        characteristics: characteristics(timing),
        nulls_distinct: nulls(nulls_distinct),
    }
}

/// A key's columns, which have no order.
fn key_columns(names: &[tree::Name]) -> Vec<ast::IndexColumn> {
    let column = |name: &tree::Name| ast::IndexColumn {
        column: ast::OrderByExpr {
            expr: ast::Expr::Identifier(ident(name)),
            options: ast::OrderByOptions { asc: None, nulls_first: None },
            with_fill: None,
        },
        operator_class: None,
    };
    names.iter().map(column).collect()
}

impl Converter<'_> {
    /// A column; its name may be another than the one in the text.
    pub(super) fn column_def(&self, column: &tree::ColumnDef, name: ast::Ident) -> Result<ast::ColumnDef> {
        let tree::ColumnDef { name: written, ty, clauses, span: _ } = column;
        let generated =
            |clause: &tree::ColumnClause| matches!(clause.kind, ColumnClauseKind::Generated { .. });
        let data_type = match ty {
            Some(ty) => self.data_type(ty)?,
            None if clauses.iter().any(generated) => {
                let mut name = made(TYPE_OF_EXPRESSION, written.span);
                name.quote_style = Some('"');
                ast::DataType::Custom(ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name)]), vec![])
            }
            None => {
                let message = format!("a type is expected behind the name of column \"{}\"", written.text);
                return Err(self.wrong(message, written.span));
            }
        };
        let options = clauses.iter().map(|clause| self.column_clause(clause)).collect::<Result<_>>()?;
        Ok(ast::ColumnDef { name, data_type, options })
    }

    fn column_clause(&self, clause: &tree::ColumnClause) -> Result<ast::ColumnOptionDef> {
        let tree::ColumnClause { name, kind, span } = clause;
        let option = match kind {
            ColumnClauseKind::Null => ast::ColumnOption::Null,
            ColumnClauseKind::NotNull => ast::ColumnOption::NotNull,
            ColumnClauseKind::Default(value) => ast::ColumnOption::Default(self.expr(value)?),
            ColumnClauseKind::PrimaryKey(timing) => {
                ast::ColumnOption::PrimaryKey(primary_key(None, vec![], *timing))
            }
            ColumnClauseKind::Unique { nulls_distinct, timing } => {
                ast::ColumnOption::Unique(unique(None, vec![], *nulls_distinct, *timing))
            }
            ColumnClauseKind::Check(condition) => {
                let expr = Box::new(self.expr(condition)?);
                ast::ColumnOption::Check(ast::CheckConstraint { name: None, expr, enforced: None })
            }
            ColumnClauseKind::References(references) => ast::ColumnOption::ForeignKey(self.foreign_key(
                None,
                &[],
                references,
                references.timing,
                *span,
            )?),
            ColumnClauseKind::Collate(name) => ast::ColumnOption::Collation(object_name(name)),
            // Values of generated columns are kept, STORED or VIRTUAL.
            ColumnClauseKind::Generated { value, stored: _ } => ast::ColumnOption::Generated {
                generated_as: ast::GeneratedAs::ExpStored,
                sequence_options: None,
                generation_expr: Some(self.expr(value)?),
                generation_expr_mode: Some(ast::GeneratedExpressionMode::Stored),
                generated_keyword: true,
            },
            ColumnClauseKind::Identity { always, options } => {
                identity(*always, self.sequence_options(options, *span)?)
            }
            ColumnClauseKind::AutoIncrement => identity(false, vec![]),
            ColumnClauseKind::Compression(_) => {
                return Err(self.unsupported("COMPRESSION of a column", *span));
            }
            ColumnClauseKind::Comment(text) => ast::ColumnOption::Comment(text.text.to_string()),
        };
        Ok(ast::ColumnOptionDef { name: name.as_ref().map(ident), option })
    }

    /// The options of an identity column.
    pub(super) fn sequence_options(
        &self,
        options: &[SequenceOption],
        at: syntax::Span,
    ) -> Result<Vec<ast::SequenceOptions>> {
        let maybe = |value: &Option<tree::Expr>| value.as_ref().map(|value| self.expr(value)).transpose();
        let option = |option: &SequenceOption| {
            Ok(match option {
                SequenceOption::Increment(by) => ast::SequenceOptions::IncrementBy(self.expr(by)?, true),
                SequenceOption::Min(value) => ast::SequenceOptions::MinValue(maybe(value)?),
                SequenceOption::Max(value) => ast::SequenceOptions::MaxValue(maybe(value)?),
                SequenceOption::Start(value) => ast::SequenceOptions::StartWith(self.expr(value)?, true),
                SequenceOption::Cache(value) => ast::SequenceOptions::Cache(self.expr(value)?),
                // The flag says NO.
                SequenceOption::Cycle(cycle) => ast::SequenceOptions::Cycle(!cycle),
                SequenceOption::As(_) => return Err(self.unsupported("AS of an identity column", at)),
                SequenceOption::Restart(_) => {
                    return Err(self.unsupported("RESTART of an identity column", at));
                }
                SequenceOption::OwnedBy(_) => {
                    return Err(self.unsupported("OWNED BY of an identity column", at));
                }
                SequenceOption::Name(_) => {
                    return Err(self.unsupported("SEQUENCE NAME of an identity column", at));
                }
            })
        };
        options.iter().map(option).collect()
    }

    /// REFERENCES.
    fn foreign_key(
        &self,
        name: Option<ast::Ident>,
        columns: &[tree::Name],
        references: &tree::References,
        when: Timing,
        at: syntax::Span,
    ) -> Result<ast::ForeignKeyConstraint> {
        let tree::References { table, columns: referred, matching, on_delete, on_update, timing: _ } =
            references;
        let match_kind = match matching {
            None => None,
            Some(word) => Some(match word.text.to_lowercase().as_str() {
                "full" => ast::ConstraintReferenceMatchKind::Full,
                "partial" => ast::ConstraintReferenceMatchKind::Partial,
                "simple" => ast::ConstraintReferenceMatchKind::Simple,
                _ => return Err(self.unexpected(word.span)),
            }),
        };
        let action = |action: &Option<ReferenceAction>| {
            Ok(match action {
                None => None,
                Some(ReferenceAction::NoAction) => Some(ast::ReferentialAction::NoAction),
                Some(ReferenceAction::Restrict) => Some(ast::ReferentialAction::Restrict),
                Some(ReferenceAction::Cascade) => Some(ast::ReferentialAction::Cascade),
                Some(ReferenceAction::SetNull(columns)) if columns.is_empty() => {
                    Some(ast::ReferentialAction::SetNull)
                }
                Some(ReferenceAction::SetDefault(columns)) if columns.is_empty() => {
                    Some(ast::ReferentialAction::SetDefault)
                }
                Some(ReferenceAction::SetNull(columns) | ReferenceAction::SetDefault(columns)) => {
                    let at = columns.first().map_or(at, |name| name.span);
                    return Err(self.unsupported("an action on some columns of a foreign key", at));
                }
            })
        };
        Ok(ast::ForeignKeyConstraint {
            name,
            index_name: None,
            columns: columns.iter().map(ident).collect(),
            foreign_table: object_name(table),
            referred_columns: referred.iter().map(ident).collect(),
            on_delete: action(on_delete)?,
            on_update: action(on_update)?,
            match_kind,
            characteristics: characteristics(when),
        })
    }

    /// A constraint of a table, without NOT VALID.
    pub(super) fn constraint(&self, constraint: &tree::Constraint) -> Result<ast::TableConstraint> {
        let tree::Constraint { name, kind, timing, not_valid: _, span } = constraint;
        let name = name.as_ref().map(ident);
        Ok(match kind {
            ConstraintKind::PrimaryKey(columns) => {
                ast::TableConstraint::PrimaryKey(primary_key(name, key_columns(columns), *timing))
            }
            ConstraintKind::Unique { nulls_distinct, columns } => {
                ast::TableConstraint::Unique(unique(name, key_columns(columns), *nulls_distinct, *timing))
            }
            ConstraintKind::Check(condition, no_inherit) => {
                if *no_inherit {
                    return Err(self.unsupported("NO INHERIT", *span));
                }
                if characteristics(*timing).is_some() {
                    return Err(self.unsupported("DEFERRABLE or INITIALLY of a CHECK", *span));
                }
                let expr = Box::new(self.expr(condition)?);
                ast::TableConstraint::Check(ast::CheckConstraint { name, expr, enforced: None })
            }
            ConstraintKind::ForeignKey(columns, references) => {
                ast::TableConstraint::ForeignKey(self.foreign_key(name, columns, references, *timing, *span)?)
            }
        })
    }
}

/// GENERATED ... AS IDENTITY.
fn identity(always: bool, options: Vec<ast::SequenceOptions>) -> ast::ColumnOption {
    ast::ColumnOption::Generated {
        generated_as: if always { ast::GeneratedAs::Always } else { ast::GeneratedAs::ByDefault },
        sequence_options: Some(options),
        generation_expr: None,
        generation_expr_mode: None,
        generated_keyword: true,
    }
}
