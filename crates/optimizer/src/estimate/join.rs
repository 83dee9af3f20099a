//! Rows out of joins: containment of the smaller key domain in the larger, exact where a side is unique on the key.

use plan::{ColumnId, Expr, JoinKind};

use super::{at_least_one, distinct_among};
use crate::columns::ColumnSet;
use crate::lower::Relation;
use crate::planner::Planner;

/// Distinct values assumed of a join key of which nothing is known, as a share of its side's rows.
const KEY_SHARE_UNKNOWN: f64 = 0.5;

/// A column reaches only part of the domain it refers to where it is less than this share.
const REACHED_MAX: f64 = 0.5;

/// What the two sides of an equality join have to do with each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyMatch {
    /// The fraction of all pairs of rows that agree on the keys.
    pub(crate) pairs: f64,
    /// The fraction of left rows that find a right row.
    pub(crate) left: f64,
    /// The fraction of right rows that find a left row.
    pub(crate) right: f64,
    /// Right rows met by a left row that meets any.
    pub(crate) fan_out: f64,
}

/// The plain columns among one side's key expressions.
pub(crate) fn key_columns<'e>(keys: impl Iterator<Item = &'e Expr>) -> ColumnSet {
    keys.filter_map(Expr::as_column).collect::<Vec<ColumnId>>().into_iter().collect()
}

impl Planner<'_> {
    /// Distinct values of a composite key's domain on one side.
    fn key_domain<'e>(&self, side: &Relation, keys: impl Iterator<Item = &'e Expr> + Clone) -> (f64, bool) {
        if let Some(key) = side.unique_key(&key_columns(keys.clone())) {
            return (key.distinct.max(1.0), true);
        }
        let rows = side.rows().max(1.0);
        let mut product = 1.0;
        let mut count = 0;
        for key in keys {
            product *= self.distinct(key).unwrap_or(rows * KEY_SHARE_UNKNOWN).max(1.0);
            count += 1;
        }
        // Columns of a composite key are seldom independent: there cannot be more combinations than rows.
        (if count > 1 { product.min(rows) } else { product }, false)
    }

    /// The part of a unique key's domain that a column referring to it reaches, judged by their bounds. `rows` of the
    /// key's side are left by its predicates, and are taken to lie in that part: a calendar of two centuries is asked
    /// for years in which something was sold.
    pub(crate) fn reached(&self, domain: f64, rows: f64, key: &Expr, referring: &Expr) -> f64 {
        let (Some((low, high)), Some((from, to))) = (self.range_of(key), self.range_of(referring)) else {
            return domain;
        };
        let (span, common) = (high - low + 1.0, to.min(high) - from.max(low) + 1.0);
        // Where most of the domain is reached, rows left are as likely to lie outside as the others.
        if !(common > 0.0 && common < span * REACHED_MAX) {
            return domain;
        }
        (domain * (common / span)).max(rows.min(domain))
    }

    /// The estimate for the equalities `on` together; without any, every pair matches.
    pub(crate) fn key_match(&self, left: &Relation, right: &Relation, on: &[(Expr, Expr)]) -> KeyMatch {
        if on.is_empty() {
            return KeyMatch { pairs: 1.0, left: 1.0, right: 1.0, fan_out: right.rows().max(1.0) };
        }
        let (mut left_domain, left_unique) = self.key_domain(left, on.iter().map(|(l, _)| l));
        let (mut right_domain, right_unique) = self.key_domain(right, on.iter().map(|(_, r)| r));
        if let [(l, r)] = on {
            match (left_unique, right_unique) {
                (true, false) => left_domain = self.reached(left_domain, left.rows(), l, r),
                (false, true) => right_domain = self.reached(right_domain, right.rows(), r, l),
                _ => {}
            }
        }
        let domain = match (on.len() > 1, left_unique, right_unique) {
            // A composite foreign key draws from the key it refers to.
            (true, true, false) => left_domain,
            (true, false, true) => right_domain,
            _ => left_domain.max(right_domain),
        };
        // Each row of a unique side is a value of its own.
        let values = |domain: f64, rows: f64, unique| {
            if unique { rows.min(domain) } else { distinct_among(domain, rows) }
        };
        let left_values = values(left_domain, left.rows(), left_unique);
        let right_values = values(right_domain, right.rows(), right_unique);
        KeyMatch {
            pairs: 1.0 / domain,
            left: (right_values / domain).min(1.0),
            right: (left_values / domain).min(1.0),
            fan_out: (right.rows() / right_values.max(1.0)).max(1.0),
        }
    }

    /// Rows out of a join of two relations.
    pub(crate) fn join_rows(
        &self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        on: &[(Expr, Expr)],
        residual: Option<&Expr>,
    ) -> f64 {
        let keys = self.key_match(left, right, on);
        let residual = residual.map_or(1.0, |r| self.selectivity(r));
        let pairs = left.rows() * right.rows() * keys.pairs * residual;
        let rows = match kind {
            JoinKind::Inner => pairs,
            JoinKind::Left => pairs.max(left.rows()),
            JoinKind::Right => pairs.max(right.rows()),
            JoinKind::Full => pairs.max(left.rows()).max(right.rows()),
            JoinKind::LeftMark => left.rows(),
            JoinKind::LeftSemi => left.rows() * semi_fraction(&keys, residual),
            JoinKind::LeftAnti => left.rows() * anti_fraction(&keys, residual),
            JoinKind::RightSemi | JoinKind::RightAnti => right.rows() * keys.right,
        };
        at_least_one(rows)
    }
}

/// The share of left rows that find a right row that also satisfies a residual of the given selectivity.
pub(crate) fn semi_fraction(keys: &KeyMatch, residual: f64) -> f64 {
    if residual >= 1.0 {
        return keys.left;
    }
    keys.left * (1.0 - (1.0 - residual).powf(keys.fan_out.min(1e6)))
}

/// Containment makes anti-joins look emptier than they are; some rows are always expected to remain.
pub(crate) fn anti_fraction(keys: &KeyMatch, residual: f64) -> f64 {
    (1.0 - semi_fraction(keys, residual)).max(0.05)
}
