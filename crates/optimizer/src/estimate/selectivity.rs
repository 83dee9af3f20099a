//! Selectivity of a predicate without a sample: from distinct counts, bounds and, failing those, fixed guesses.
//!
//! All results are fractions from 0 to 1 of the rows that a predicate is evaluated on; NULL counts as not passing.
//! Columns bring their `Facts` from the planner, which lowering has filled before it asks. Parts of a condition count
//! as independent, except two bounds on one column. Scans of tables ask a sample first (`lower/scan.rs`), and come
//! here for what it cannot tell.

use plan::{Arithmetic, ColumnId, Expr, ExprKind, Function};
use types::Comparison;

use super::natural;
use crate::planner::Planner;

/// Guesses where nothing is known. Equality is taken to be selective, a range to keep a third (as PostgreSQL does),
/// LIKE with a prefix less than LIKE anywhere, and anything else to keep a fifth.
const EQUAL: f64 = 0.05;
const RANGE: f64 = 1.0 / 3.0;
const LIKE_ANYWHERE: f64 = 0.1;
const LIKE_PREFIX: f64 = 0.05;
const IS_NULL: f64 = 0.05;
const UNKNOWN: f64 = 0.2;

impl Planner<'_> {
    /// The expected fraction of rows for which `expr` is TRUE.
    pub(crate) fn selectivity(&self, expr: &Expr) -> f64 {
        use ExprKind as K;
        let fraction = match &expr.kind {
            K::Literal(v) => f64::from(u8::from(v.as_bool() == Some(true))),
            K::And(parts) => self.all_of(parts),
            K::Or(parts) => 1.0 - parts.iter().map(|p| 1.0 - self.selectivity(p)).product::<f64>(),
            K::Not(input) => 1.0 - self.selectivity(input),
            K::IsBoolean { input, value, negated } => {
                let s = self.selectivity(input);
                let s = if *value { s } else { 1.0 - s };
                if *negated { 1.0 - s } else { s }
            }
            K::IsNull { input, negated } => {
                let nulls = source(input).map_or(IS_NULL, |c| self.facts(c).null_fraction);
                if *negated { 1.0 - nulls } else { nulls }
            }
            K::Compare { op, left, right } => self.comparison(*op, left, right),
            K::NotDistinct { left, right, negated } => {
                let s = self.comparison(Comparison::Equal, left, right);
                if *negated { 1.0 - s } else { s }
            }
            K::InList { input, values, negated, .. } => {
                let s = match self.distinct(input) {
                    Some(d) => values.len() as f64 / d.max(1.0),
                    None => EQUAL * values.len() as f64,
                };
                if *negated { 1.0 - s.min(0.95) } else { s }
            }
            K::Like { pattern, negated, .. } => {
                let s = if pattern.prefix().is_empty() { LIKE_ANYWHERE } else { LIKE_PREFIX };
                if *negated { 1.0 - s } else { s }
            }
            K::Column(_) => 0.5,
            _ => UNKNOWN,
        };
        fraction.clamp(0.0, 1.0)
    }

    /// Selectivity of a conjunction. Two bounds on one column make an interval, not two independent events.
    pub(crate) fn all_of(&self, conjuncts: &[Expr]) -> f64 {
        let mut product = 1.0;
        let mut taken = vec![false; conjuncts.len()];
        for (i, first) in conjuncts.iter().enumerate() {
            if taken[i] {
                continue;
            }
            let mut fraction = self.selectivity(first);
            if let Some((column, upper)) = open_range(first) {
                let partner = (i + 1..conjuncts.len())
                    .find(|j| !taken[*j] && open_range(&conjuncts[*j]) == Some((column, !upper)));
                if let Some(j) = partner {
                    taken[j] = true;
                    let other = self.selectivity(&conjuncts[j]);
                    let known = self.facts(column).low.is_some();
                    // P(a and b) = P(a) + P(b) - 1 when together they cover everything.
                    fraction = if known { (fraction + other - 1.0).max(0.0) } else { fraction * other * 0.5 };
                    if let (true, Some(d)) = (known, self.facts(column).distinct) {
                        fraction = fraction.max(0.5 / d.max(1.0));
                    }
                }
            }
            product *= fraction;
        }
        product
    }

    fn comparison(&self, op: Comparison, left: &Expr, right: &Expr) -> f64 {
        let (op, column, constant) = match (left.as_literal(), right.as_literal()) {
            (_, Some(v)) => (op, left, Some((v, right.ty))),
            (Some(v), None) => (op.flipped(), right, Some((v, left.ty))),
            (None, None) => (op, left, None),
        };
        let equal = || match (self.distinct(left), self.distinct(right), constant) {
            (Some(l), Some(r), None) => 1.0 / l.max(r).max(1.0),
            (Some(d), None, _) | (None, Some(d), _) => 1.0 / d.max(1.0),
            _ => EQUAL,
        };
        // As the text has it: `op` is of the column when the constant stands on the left.
        let as_written = if left.as_literal().is_some() { op.flipped() } else { op };
        let below = match as_written {
            Comparison::Less | Comparison::LessOrEqual => self.below(left, right),
            Comparison::Greater | Comparison::GreaterOrEqual => self.below(right, left),
            _ => None,
        };
        if let Some(below) = below {
            return below;
        }
        match (op, constant) {
            (Comparison::Equal | Comparison::NotEqual, Some((value, ty))) => {
                let outside = self
                    .range_of(column)
                    .zip(natural(value, ty))
                    .is_some_and(|((low, high), v)| v < low || v > high);
                let fraction = if outside { 0.0 } else { equal() };
                if op == Comparison::Equal { fraction } else { 1.0 - fraction }
            }
            (Comparison::Equal, None) => equal(),
            (Comparison::NotEqual, None) => 1.0 - equal(),
            (_, Some((value, ty))) => {
                let Some(((low, high), v)) = self.range_of(column).zip(natural(value, ty)) else {
                    return RANGE;
                };
                let below = if high > low {
                    ((v - low) / (high - low)).clamp(0.0, 1.0)
                } else {
                    f64::from(u8::from(v >= low))
                };
                match op {
                    Comparison::Less | Comparison::LessOrEqual => below,
                    _ => 1.0 - below,
                }
            }
            _ => RANGE,
        }
    }

    /// Whether the selectivity of `expr` is one value's share of a known number of values.
    pub(crate) fn is_even_guess(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Compare { op: Comparison::Equal, left, right } => {
                let column = if left.as_literal().is_some() { right } else { left };
                (left.as_literal().is_some() || right.as_literal().is_some())
                    && self.distinct(column).is_some()
            }
            ExprKind::InList { input, negated: false, .. } => self.distinct(input).is_some(),
            _ => false,
        }
    }

    /// Distinct values of an expression's domain, when its columns' are known.
    pub(crate) fn distinct(&self, expr: &Expr) -> Option<f64> {
        match &expr.kind {
            ExprKind::Literal(_)
            | ExprKind::Lambda(_)
            | ExprKind::ScalarSubquery(_)
            | ExprKind::Parameter(_) => None,
            ExprKind::Column(id) => self.facts(*id).distinct,
            ExprKind::Function { function: Function::ExtractMonth, .. } => Some(12.0),
            ExprKind::Function { function: Function::ExtractDay, .. } => Some(31.0),
            ExprKind::Function { function: Function::ExtractYear, arguments } => {
                let facts = self.facts(source(arguments.first()?)?);
                Some(((facts.high? - facts.low?) / 365.25).ceil().max(1.0))
            }
            // A substring of a few characters has few values; this many is as good a guess as any.
            ExprKind::Function { function: Function::Substring, arguments } => {
                Some(self.distinct(arguments.first()?)?.min(100.0))
            }
            ExprKind::Compare { .. }
            | ExprKind::Like { .. }
            | ExprKind::InList { .. }
            | ExprKind::IsNull { .. } => Some(2.0),
            ExprKind::Case { branches, otherwise } => {
                let literal = branches.iter().map(|(_, t)| t).chain(otherwise.as_deref());
                let mut total = 0.0;
                for value in literal {
                    total += if value.as_literal().is_some() { 1.0 } else { self.distinct(value)? };
                }
                Some(total)
            }
            _ => {
                let mut product = 1.0;
                for id in expr.columns() {
                    product *= self.facts(id).distinct?;
                }
                Some(product)
            }
        }
    }

    /// Bounds of a column, through casts and shifts that keep its order.
    pub(crate) fn range_of(&self, expr: &Expr) -> Option<(f64, f64)> {
        if let ExprKind::Function { function: Function::ExtractYear, arguments } = &expr.kind {
            let (low, high) = self.range_of(arguments.first()?)?;
            return Some((1970.0 + (low / 365.2425).floor(), 1970.0 + (high / 365.2425).floor()));
        }
        let facts = self.facts(source(expr)?);
        Some((facts.low?, facts.high?))
    }
}

/// The column whose values an expression passes on, casts aside.
pub(crate) fn source(expr: &Expr) -> Option<ColumnId> {
    match &expr.kind {
        ExprKind::Column(id) => Some(*id),
        ExprKind::Cast { input, .. } => source(input),
        ExprKind::Arithmetic { op: Arithmetic::Add | Arithmetic::Subtract, left, right, .. }
            if right.ty.is_interval() =>
        {
            source(left)
        }
        _ => None,
    }
}

/// `column < constant` or `column > constant`: the column, and whether the constant bounds it from above.
fn open_range(expr: &Expr) -> Option<(ColumnId, bool)> {
    let ExprKind::Compare { op, left, right } = &expr.kind else { return None };
    let (op, column) = match (left.as_literal(), right.as_literal()) {
        (None, Some(_)) => (*op, source(left)?),
        (Some(_), None) => (op.flipped(), source(right)?),
        _ => return None,
    };
    match op {
        Comparison::Less | Comparison::LessOrEqual => Some((column, true)),
        Comparison::Greater | Comparison::GreaterOrEqual => Some((column, false)),
        _ => None,
    }
}
