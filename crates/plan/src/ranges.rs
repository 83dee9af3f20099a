//! What of a join's condition is a range: comparisons of something of a build row with something of a probe row.
//!
//! ```text
//!  condition    b.lo <= p.x  AND  b.hi > p.x  AND  b.lo >= p.y - 10  AND  b.name LIKE p.pattern
//!  dimensions   b.lo: <= p.x, >= p.y - 10
//!               b.hi: > p.x
//!  rest         b.name LIKE p.pattern
//! ```
//! The optimizer asks whether there are any, and the operators for what they search by, so both see the same.

use types::{Comparison, Physical};

use crate::{Expr, ExprKind};

/// Which side of a join an expression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinSide {
    /// The side whose rows search.
    Probe,
    /// The side whose rows are searched.
    Build,
}

/// An expression over build rows and what it is compared with: `key op bound` for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The expression over a build row.
    pub key: Expr,
    /// The comparisons with `key` on the left, each with an expression over the probe row.
    pub bounds: Vec<(Comparison, Expr)>,
}

impl Dimension {
    fn has(&self, is_lower: bool) -> bool {
        let lower = |op: Comparison| matches!(op, Comparison::Greater | Comparison::GreaterOrEqual);
        self.bounds.iter().any(|(op, _)| lower(*op) == is_lower)
    }
    /// Bounded from below and from above.
    pub fn is_closed(&self) -> bool {
        self.has(true) && self.has(false)
    }
    /// Bounded from above alone.
    pub fn is_upper(&self) -> bool {
        !self.has(true)
    }
}

/// A condition taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    /// One or two; the first is closed if any is.
    pub dimensions: Vec<Dimension>,
    /// Conjuncts that are left.
    pub rest: Vec<Expr>,
}

impl Ranges {
    /// Takes a condition apart. `side` tells which side an expression uses; `None` where no part can be searched by.
    pub fn of(condition: &Expr, side: &dyn Fn(&Expr) -> Option<JoinSide>) -> Option<Ranges> {
        let mut parts = Vec::new();
        condition.clone().split_conjuncts(&mut parts);
        let mut found: Vec<(Dimension, Vec<Expr>)> = Vec::new();
        let mut rest = Vec::new();
        for part in parts {
            let Some((op, key, bound)) = comparison(&part, side) else {
                rest.push(part);
                continue;
            };
            match found.iter_mut().find(|(dimension, _)| dimension.key == key) {
                Some((dimension, parts)) => {
                    dimension.bounds.push((op, bound));
                    parts.push(part);
                }
                None => found.push((Dimension { key, bounds: vec![(op, bound)] }, vec![part])),
            }
        }
        // Closed ones let fewest rows through.
        found.sort_by_key(|(dimension, _)| !dimension.is_closed());
        if found.len() > 2 {
            rest.extend(found.drain(2..).flat_map(|(_, parts)| parts));
        }
        let dimensions: Vec<Dimension> = found.into_iter().map(|(dimension, _)| dimension).collect();
        (!dimensions.is_empty()).then_some(Ranges { dimensions, rest })
    }

    /// Takes apart a condition over a probe's columns followed by a build's; keys become expressions over the build's
    /// columns alone.
    pub fn of_inputs(condition: &Expr, probe_columns: usize) -> Option<Ranges> {
        let side = |expr: &Expr| {
            let inputs = expr.inputs();
            let (first, last) = (*inputs.first()?, *inputs.last()?);
            match (last < probe_columns, first >= probe_columns) {
                (true, _) => Some(JoinSide::Probe),
                (_, true) => Some(JoinSide::Build),
                _ => None,
            }
        };
        let mut ranges = Self::of(condition, &side)?;
        for dimension in &mut ranges.dimensions {
            let key = std::mem::replace(&mut dimension.key, Expr::boolean(true));
            dimension.key = key.transform(&mut |e| match e.kind {
                ExprKind::Input(at) => Expr::input(at.saturating_sub(probe_columns), e.ty),
                _ => e,
            });
        }
        Some(ranges)
    }
}

/// The conjunct as `key op bound`, if it bounds something of a build row.
fn comparison(part: &Expr, side: &dyn Fn(&Expr) -> Option<JoinSide>) -> Option<(Comparison, Expr, Expr)> {
    let ExprKind::Compare { op, left, right } = &part.kind else { return None };
    if matches!(op, Comparison::Equal | Comparison::NotEqual)
        || !left.ty.same_representation(right.ty)
        || left.ty.physical() == Physical::Bool
        // One evaluation a row is not one a pair.
        || part.is_volatile()
    {
        return None;
    }
    match (side(left)?, side(right)?) {
        (JoinSide::Build, JoinSide::Probe) => Some((*op, (**left).clone(), (**right).clone())),
        (JoinSide::Probe, JoinSide::Build) => Some((op.flipped(), (**right).clone(), (**left).clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use types::{Comparison as C, Type};

    use super::*;

    fn input(at: usize) -> Expr {
        Expr::input(at, Type::Integer)
    }

    #[test]
    fn comparisons_of_one_key_are_one_dimension_and_a_closed_one_is_first() {
        // Probe columns 0 and 1, build columns 2 and 3.
        let like = Expr::compare(C::NotEqual, input(0), input(3));
        let condition = Expr::and(vec![
            Expr::compare(C::Less, input(0), input(3)),
            like.clone(),
            Expr::compare(C::GreaterOrEqual, input(2), input(0)),
            Expr::compare(C::Greater, input(1), input(2)),
        ]);
        let ranges = Ranges::of_inputs(&condition, 2).unwrap();
        assert_eq!(ranges.rest, [like]);
        assert_eq!(
            ranges.dimensions,
            [
                Dimension { key: input(0), bounds: vec![(C::GreaterOrEqual, input(0)), (C::Less, input(1))] },
                Dimension { key: input(1), bounds: vec![(C::Greater, input(0))] },
            ]
        );
        assert!(ranges.dimensions[0].is_closed() && !ranges.dimensions[1].is_upper());
    }

    #[test]
    fn what_is_not_of_both_sides_is_no_range() {
        for part in [
            Expr::compare(C::Less, input(0), input(1)),
            Expr::compare(C::Less, input(2), input(3)),
            Expr::compare(C::Equal, input(0), input(2)),
            Expr::compare(C::Less, input(2), Expr::literal(types::Value::I32(5), Type::Integer)),
            Expr::compare(C::Less, Expr::input(0, Type::Boolean), Expr::input(2, Type::Boolean)),
        ] {
            assert_eq!(Ranges::of_inputs(&part, 2), None);
        }
    }

    #[test]
    fn a_third_dimension_is_left_to_the_rest() {
        let condition =
            Expr::and((0..3).map(|at| Expr::compare(C::Less, input(at), input(at + 3))).collect());
        let ranges = Ranges::of_inputs(&condition, 3).unwrap();
        assert_eq!((ranges.dimensions.len(), ranges.rest.len()), (2, 1));
    }
}
