//! Joins.

use sqlparser::ast::{self, JoinConstraint, JoinOperator};
use syntax::tree::{self, JoinCondition, JoinKind};
use types::Result;

use super::{Converter, ident};

impl Converter<'_> {
    /// A join. ASOF is marked by a word of another dialect, and POSITIONAL by a join of another dialect.
    pub(super) fn join(&self, join: &tree::Join) -> Result<ast::Join> {
        let tree::Join { natural, asof, kind, outer, table, condition, span } = join;
        let bare = matches!(kind, JoinKind::Cross | JoinKind::Positional);
        if bare && (*natural || *asof || *outer) {
            return Err(self.unsupported("this kind of join", *span));
        }
        if (bare || *natural) && *condition != JoinCondition::None {
            return Err(self.wrong("this kind of join takes no condition", *span));
        }
        if *outer && !matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full) {
            return Err(self.unsupported("this kind of join", *span));
        }
        let relation = self.table(table)?;
        let constraint = match condition {
            _ if *natural => JoinConstraint::Natural,
            JoinCondition::None => JoinConstraint::None,
            JoinCondition::On(condition) => JoinConstraint::On(self.expr(condition)?),
            JoinCondition::Using(columns, None) => {
                JoinConstraint::Using(columns.iter().map(|column| ident(column).into()).collect())
            }
            JoinCondition::Using(_, Some(alias)) => {
                return Err(self.unsupported("a name for the columns of USING", alias.span));
            }
        };
        let join_operator = match (kind, outer) {
            (JoinKind::Plain, _) => JoinOperator::Join(constraint),
            (JoinKind::Inner, _) => JoinOperator::Inner(constraint),
            (JoinKind::Left, false) => JoinOperator::Left(constraint),
            (JoinKind::Left, true) => JoinOperator::LeftOuter(constraint),
            (JoinKind::Right, false) => JoinOperator::Right(constraint),
            (JoinKind::Right, true) => JoinOperator::RightOuter(constraint),
            (JoinKind::Full, _) => JoinOperator::FullOuter(constraint),
            (JoinKind::Cross, _) => JoinOperator::CrossJoin(constraint),
            (JoinKind::Semi, _) => JoinOperator::Semi(constraint),
            (JoinKind::Anti, _) => JoinOperator::Anti(constraint),
            (JoinKind::Positional, _) => JoinOperator::CrossApply,
        };
        Ok(ast::Join { relation, global: *asof, join_operator })
    }
}
