//! All joins, as one nested loop that first decides for every pair of rows whether it matches.

use plan::{Expr, JoinKind, LogicalPlan};
use types::{Error, Result, Value};

use crate::Context;
use crate::relation::{Relation, Row, bind, bind_all};

/// What the join's condition says of a pair.
#[derive(Clone, Copy, PartialEq)]
enum Match {
    No,
    Unknown,
    Yes,
}

/// The condition over positions: key expressions of each side, and the rest over both.
struct Condition {
    left: Vec<Expr>,
    right: Vec<Expr>,
    residual: Option<Expr>,
    null_equals_null: bool,
}

impl Context<'_> {
    /// The rows of a join node; an internal error for other nodes.
    pub fn join(&self, plan: &LogicalPlan) -> Result<Relation> {
        let LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark } = plan
        else {
            return Err(Error::internal("not a join"));
        };
        let (left, right) = (self.relation(left)?, self.relation(right)?);
        let both: Vec<_> = left.columns.iter().chain(&right.columns).copied().collect();
        let condition = Condition {
            left: bind_all(on.iter().map(|(l, _)| l), &left.columns)?,
            right: bind_all(on.iter().map(|(_, r)| r), &right.columns)?,
            residual: residual.as_ref().map(|r| bind(r, &both)).transpose()?,
            null_equals_null: *null_equals_null,
        };
        // A semi or anti join on the right is the one on the left with the sides exchanged, seen pair by pair.
        let matches = self.matches(&left, &right, &condition)?;
        let counts = |m: Match| m == Match::Yes || (*null_aware && m == Match::Unknown);
        let left_matched: Vec<bool> = matches.iter().map(|row| row.iter().any(|m| counts(*m))).collect();
        let right_matched: Vec<bool> =
            (0..right.rows.len()).map(|r| matches.iter().any(|row| counts(row[r]))).collect();
        let kept = |rows: &[Row], matched: &[bool], wanted: bool| -> Vec<Row> {
            rows.iter().zip(matched).filter(|(_, m)| **m == wanted).map(|(row, _)| row.clone()).collect()
        };
        let rows = match kind {
            JoinKind::LeftSemi => kept(&left.rows, &left_matched, true),
            JoinKind::LeftAnti => kept(&left.rows, &left_matched, false),
            JoinKind::RightSemi => kept(&right.rows, &right_matched, true),
            JoinKind::RightAnti => kept(&right.rows, &right_matched, false),
            JoinKind::LeftMark => {
                let marked = left.rows.iter().zip(&left_matched);
                marked.map(|(row, m)| [row.as_slice(), &[Value::Bool(*m)]].concat()).collect()
            }
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {
                let mut rows = Vec::new();
                for (l, row) in left.rows.iter().enumerate() {
                    for (r, partner) in right.rows.iter().enumerate() {
                        if matches[l][r] == Match::Yes {
                            // Paid by value, since what a join makes is also kept in memory.
                            self.spend(1 + row.len() + partner.len())?;
                            rows.push([row.as_slice(), partner].concat());
                        }
                    }
                }
                if matches!(kind, JoinKind::Left | JoinKind::Full) {
                    let nulls = vec![Value::Null; right.columns.len()];
                    rows.extend(
                        kept(&left.rows, &left_matched, false)
                            .into_iter()
                            .map(|row| [row, nulls.clone()].concat()),
                    );
                }
                if matches!(kind, JoinKind::Right | JoinKind::Full) {
                    let nulls = vec![Value::Null; left.columns.len()];
                    rows.extend(
                        kept(&right.rows, &right_matched, false)
                            .into_iter()
                            .map(|row| [nulls.clone(), row].concat()),
                    );
                }
                rows
            }
        };
        let mut columns = match kind {
            JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark => left.columns,
            JoinKind::RightSemi | JoinKind::RightAnti => right.columns,
            _ => both,
        };
        columns.extend(mark.filter(|_| *kind == JoinKind::LeftMark));
        Ok(Relation { columns, rows })
    }

    /// For every left row and every right row, what the condition says.
    fn matches(&self, left: &Relation, right: &Relation, condition: &Condition) -> Result<Vec<Vec<Match>>> {
        self.spend(left.rows.len().saturating_mul(right.rows.len()))?;
        let right_keys = right
            .rows
            .iter()
            .map(|row| self.evaluate_all(&condition.right, row))
            .collect::<Result<Vec<Row>>>()?;
        let mut all = Vec::with_capacity(left.rows.len());
        for row in &left.rows {
            let keys = self.evaluate_all(&condition.left, row)?;
            let mut own = Vec::with_capacity(right.rows.len());
            for (partner, partner_keys) in right.rows.iter().zip(&right_keys) {
                own.push(self.pair(row, &keys, partner, partner_keys, condition)?);
            }
            all.push(own);
        }
        Ok(all)
    }

    fn pair(
        &self,
        left: &Row,
        keys: &Row,
        right: &Row,
        right_keys: &Row,
        condition: &Condition,
    ) -> Result<Match> {
        let mut found = Match::Yes;
        for (l, r) in keys.iter().zip(right_keys) {
            let unknown = (l.is_null() || r.is_null()) && !condition.null_equals_null;
            if unknown {
                found = Match::Unknown;
            } else if l.total_cmp(r).is_ne() {
                return Ok(Match::No);
            }
        }
        if let Some(residual) = &condition.residual {
            let row = [left.as_slice(), right].concat();
            match self.evaluate(residual, &row)? {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(Match::No),
                _ => found = Match::Unknown,
            }
        }
        Ok(found)
    }
}
