//! Which conjuncts a block can evaluate itself: comparisons of one column with constants, turned into
//! `ColumnPredicate`s whose values are of the column's physical type.
//!
//! A conjunct is taken only when the predicates found for it are exactly equivalent to it as a filter (both keep the
//! same rows). Casts that keep order and lose nothing are undone by moving the constant to the column's side:
//! `CAST(i AS DECIMAL(21,2)) < 7.50` becomes `i <= 7`. Constants that no value of the column's type can equal make a
//! predicate that is always or never true.

use std::sync::Arc;

use plan::{ColumnId, Expr, ExprKind, Function};
use types::datetime::{MICROS_PER_DAY, days_from_civil};
use types::{Bound, ColumnPredicate, Comparison, Physical, PredicateTree, Type, Value, cast, decimal};

/// The column and predicates equivalent to `conjunct`, if there are such.
pub(crate) fn extract(conjunct: &Expr) -> Option<(ColumnId, Vec<ColumnPredicate>)> {
    use ExprKind as K;
    match &conjunct.kind {
        K::Column(id) if conjunct.ty == Type::Boolean => Some((*id, vec![equal(Value::Bool(true))])),
        K::Not(input) => match input.kind {
            K::Column(id) => Some((id, vec![equal(Value::Bool(false))])),
            _ => None,
        },
        K::IsNull { input, negated } => {
            let id = input.as_column()?;
            Some((id, vec![if *negated { ColumnPredicate::IsNotNull } else { ColumnPredicate::IsNull }]))
        }
        K::Compare { op, left, right } => {
            let (op, expr, value, ty) = match (left.as_literal(), right.as_literal()) {
                (None, Some(v)) => (*op, left, v, right.ty),
                (Some(v), None) => (op.flipped(), right, v, left.ty),
                _ => return None,
            };
            if value.is_null() || !(ty.same_representation(expr.ty)) {
                return None;
            }
            Some(single(compare(expr, op, value)?))
        }
        K::NotDistinct { left, right, negated: false } => {
            let (expr, value) = match (left.as_literal(), right.as_literal()) {
                (None, Some(v)) => (left, v),
                (Some(v), None) => (right, v),
                _ => return None,
            };
            if value.is_null() {
                return Some((expr.as_column()?, vec![ColumnPredicate::IsNull]));
            }
            Some(single(compare(expr, Comparison::Equal, value)?))
        }
        K::InList { input, values, has_null, negated } => {
            if *negated && *has_null {
                return Some((root(input)?.0, vec![never()]));
            }
            Some(single(in_list(input, values, *negated)?))
        }
        K::Or(parts) => either(parts),
        K::Like { input, pattern, negated, case_insensitive: false } => {
            let id = input.as_column()?;
            let like = ColumnPredicate::Like { pattern: pattern.clone(), negated: *negated };
            let prefix = pattern.prefix();
            if *negated || prefix.is_empty() {
                return Some((id, vec![like]));
            }
            let prefix_only =
                pattern.text().strip_suffix('%').is_some_and(|rest| rest.as_bytes() == prefix.as_slice());
            let range = ColumnPredicate::Range {
                low: Some(Bound { value: Value::Bytes(prefix.as_slice().into()), inclusive: true }),
                high: after_prefix(&prefix)
                    .map(|p| Bound { value: Value::Bytes(p.into()), inclusive: false }),
            };
            if pattern.text().as_bytes() == prefix.as_slice() {
                return Some((id, vec![equal(Value::Bytes(prefix.into()))]));
            }
            Some((id, if prefix_only { vec![range] } else { vec![range, like] }))
        }
        _ => None,
    }
}

/// The tree equivalent to `conjunct`, its columns numbered by their places in `ids`, if all that it is made of are
/// predicates that a block can evaluate.
pub(crate) fn extract_tree(conjunct: &Expr, ids: &[ColumnId]) -> Option<PredicateTree> {
    if let Some((id, predicates)) = extract(conjunct) {
        let at = ids.iter().position(|c| *c == id)?;
        let mut leaves: Vec<PredicateTree> =
            predicates.into_iter().map(|predicate| PredicateTree::Leaf(at, predicate)).collect();
        return if leaves.len() == 1 { leaves.pop() } else { Some(PredicateTree::And(leaves)) };
    }
    let all = |parts: &[Expr]| -> Option<Vec<PredicateTree>> {
        parts.iter().map(|part| extract_tree(part, ids)).collect()
    };
    match &conjunct.kind {
        ExprKind::And(parts) => Some(PredicateTree::And(all(parts)?)),
        ExprKind::Or(parts) => Some(PredicateTree::Or(all(parts)?)),
        _ => None,
    }
}

fn single((id, predicate): (ColumnId, ColumnPredicate)) -> (ColumnId, Vec<ColumnPredicate>) {
    (id, vec![predicate])
}

/// Equality with a value, as a range of one value.
pub(crate) fn equal(value: Value) -> ColumnPredicate {
    let bound = Bound { value, inclusive: true };
    ColumnPredicate::Range { low: Some(bound.clone()), high: Some(bound) }
}

/// A predicate that no row passes.
pub(crate) fn never() -> ColumnPredicate {
    ColumnPredicate::In(Arc::from([]))
}

/// Whether the predicate is known to pass no row.
pub(crate) fn is_never(predicate: &ColumnPredicate) -> bool {
    matches!(predicate, ColumnPredicate::In(values) if values.is_empty())
}

/// The least byte string above every string with this prefix.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xFF)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// A column under casts that multiply it by a constant: `(column, its type, factor)`.
fn root(expr: &Expr) -> Option<(ColumnId, Type, i128)> {
    match &expr.kind {
        ExprKind::Column(id) => Some((*id, expr.ty, 1)),
        ExprKind::Cast { input, .. } => {
            let (id, ty, factor) = root(input)?;
            let (from, to) = (input.ty, expr.ty);
            let exact = |t: Type| t.is_integer() || t.is_decimal();
            if exact(from) && exact(to) && to.scale() >= from.scale() && widens(from, to) {
                let more = decimal::power_of_ten(to.scale() - from.scale());
                return Some((id, ty, factor.checked_mul(more)?));
            }
            match (from, to) {
                (Type::Date, Type::Timestamp | Type::TimestampTz) => {
                    Some((id, ty, factor.checked_mul(i128::from(MICROS_PER_DAY))?))
                }
                (Type::Timestamp, Type::TimestampTz) | (Type::TimestampTz, Type::Timestamp) => {
                    Some((id, ty, factor))
                }
                _ if from.is_text() && to == Type::Text => Some((id, ty, factor)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether every value of `from` can be cast to `to` without an error.
fn widens(from: Type, to: Type) -> bool {
    let range = |t: Type| match t {
        Type::Decimal { precision, scale } => {
            let end = decimal::power_of_ten(precision.saturating_sub(scale)) - 1;
            Some((-end, end))
        }
        _ => t.integer_range(),
    };
    match (range(from), range(to)) {
        (Some((low, high)), Some((least, greatest))) => least <= low && high <= greatest,
        _ => false,
    }
}

/// `expr op value` as a predicate on the column below `expr`.
fn compare(expr: &Expr, op: Comparison, value: &Value) -> Option<(ColumnId, ColumnPredicate)> {
    if let ExprKind::Function { function: Function::ExtractYear, arguments } = &expr.kind {
        return compare_year(arguments.first()?, op, value);
    }
    // A cast of an integer function's result, as coercion makes it: look through it.
    if let ExprKind::Cast { input, .. } = &expr.kind
        && let ExprKind::Function { function: Function::ExtractYear, arguments } = &input.kind
    {
        let whole = cast::cast_value(value, expr.ty, Type::BigInt).ok()?;
        let back = cast::cast_value(&whole, Type::BigInt, expr.ty).ok()?;
        if back != *value {
            return None;
        }
        return compare_year(arguments.first()?, op, &whole);
    }
    let (id, ty, factor) = root(expr)?;
    let Some(wanted) = value.as_i128().filter(|_| value.physical().is_some()) else {
        // Floats, text and booleans: only without a change of representation.
        if factor != 1 || value.physical() != Some(ty.physical()) {
            return None;
        }
        return Some((id, range(op, value.clone())));
    };
    let physical = ty.physical();
    if !matches!(physical, Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128) {
        return None;
    }
    Some((id, integer_range(op, wanted, factor, physical)))
}

fn range(op: Comparison, value: Value) -> ColumnPredicate {
    let bound = |inclusive| Some(Bound { value: value.clone(), inclusive });
    match op {
        Comparison::Equal => equal(value),
        Comparison::NotEqual => ColumnPredicate::NotEqual(value),
        Comparison::Less => ColumnPredicate::Range { low: None, high: bound(false) },
        Comparison::LessOrEqual => ColumnPredicate::Range { low: None, high: bound(true) },
        Comparison::Greater => ColumnPredicate::Range { low: bound(false), high: None },
        Comparison::GreaterOrEqual => ColumnPredicate::Range { low: bound(true), high: None },
    }
}

/// `column * factor op wanted`, for a positive factor, over integers.
fn integer_range(op: Comparison, wanted: i128, factor: i128, physical: Physical) -> ColumnPredicate {
    let exact = wanted.rem_euclid(factor) == 0;
    let floor = wanted.div_euclid(factor);
    let (op, value) = match op {
        Comparison::Equal if !exact => return never(),
        Comparison::NotEqual if !exact => return ColumnPredicate::IsNotNull,
        // Between two representable values the one below serves: x < 7.5 is x <= 7, x > 7.5 is x > 7.
        Comparison::Less if !exact => (Comparison::LessOrEqual, floor),
        Comparison::GreaterOrEqual if !exact => (Comparison::Greater, floor),
        _ => (op, floor),
    };
    match Value::from_i128(value, physical) {
        Some(value) => range(op, value),
        None => {
            let above = value > 0;
            let holds = match op {
                Comparison::Equal => false,
                Comparison::NotEqual => true,
                Comparison::Less | Comparison::LessOrEqual => above,
                Comparison::Greater | Comparison::GreaterOrEqual => !above,
            };
            if holds { ColumnPredicate::IsNotNull } else { never() }
        }
    }
}

/// `extract(year from expr) op year` as a range of dates or timestamps.
fn compare_year(expr: &Expr, op: Comparison, year: &Value) -> Option<(ColumnId, ColumnPredicate)> {
    let id = expr.as_column()?;
    let year = i32::try_from(year.as_i64()?).ok().filter(|y| (1..9998).contains(y))?;
    let start = |year: i32| {
        let days = days_from_civil(year, 1, 1);
        match expr.ty {
            Type::Date => Some(Value::I32(days)),
            Type::Timestamp => Some(Value::I64(i64::from(days) * MICROS_PER_DAY)),
            _ => None,
        }
    };
    let (first, next) = (start(year)?, start(year + 1)?);
    // Infinite moments have no year.
    let (least, greatest) = match expr.ty {
        Type::Date => (Value::I32(i32::MIN), Value::I32(i32::MAX)),
        _ => (Value::I64(i64::MIN), Value::I64(i64::MAX)),
    };
    let low = |value, inclusive| Some(Bound { value, inclusive });
    let (low, high) = match op {
        Comparison::Equal => (low(first, true), low(next, false)),
        Comparison::NotEqual => return None,
        Comparison::Less => (low(least, false), low(first, false)),
        Comparison::LessOrEqual => (low(least, false), low(next, false)),
        Comparison::Greater => (low(next, true), low(greatest, false)),
        Comparison::GreaterOrEqual => (low(first, true), low(greatest, false)),
    };
    Some((id, ColumnPredicate::Range { low, high }))
}

fn in_list(input: &Expr, values: &[Value], negated: bool) -> Option<(ColumnId, ColumnPredicate)> {
    let (id, ty, factor) = root(input)?;
    let physical = ty.physical();
    let mut own = Vec::with_capacity(values.len());
    for value in values {
        match value.as_i128() {
            Some(v) => {
                // A value the column cannot hold is never met.
                if v.rem_euclid(factor) == 0 {
                    own.extend(Value::from_i128(v.div_euclid(factor), physical));
                }
            }
            None if factor == 1 && value.physical() == Some(physical) => own.push(value.clone()),
            None => return None,
        }
    }
    own.sort_unstable();
    own.dedup();
    let predicate = match (negated, own.len()) {
        (false, 1) => equal(own.remove(0)),
        (false, _) => ColumnPredicate::In(own.into()),
        (true, 0) => ColumnPredicate::IsNotNull,
        (true, 1) => ColumnPredicate::NotEqual(own.remove(0)),
        (true, _) => ColumnPredicate::NotIn(own.into()),
    };
    Some((id, predicate))
}

/// A disjunction of ranges of one column that together make a single range, as BETWEEN 1 AND 5 OR BETWEEN 3 AND 9.
fn either(parts: &[Expr]) -> Option<(ColumnId, Vec<ColumnPredicate>)> {
    let mut column = None;
    let mut ranges: Vec<(Option<Bound>, Option<Bound>)> = Vec::with_capacity(parts.len());
    for part in parts {
        let mut merged = Merged::default();
        let conjuncts = if let ExprKind::And(conjuncts) = &part.kind {
            conjuncts.as_slice()
        } else {
            std::slice::from_ref(part)
        };
        for conjunct in conjuncts {
            // Deeper disjunctions are not worth the search.
            if matches!(conjunct.kind, ExprKind::Or(_)) {
                return None;
            }
            let (id, predicates) = extract(conjunct)?;
            if *column.get_or_insert(id) != id {
                return None;
            }
            predicates.into_iter().for_each(|p| merged.add(p));
        }
        match merged.finish(true).as_slice() {
            [ColumnPredicate::Range { low, high }] => ranges.push((low.clone(), high.clone())),
            [predicate] if is_never(predicate) => {}
            _ => return None,
        }
    }
    // An open lower end sorts first.
    ranges.sort_by(|(a, _), (b, _)| match (a, b) {
        (None, None) => std::cmp::Ordering::Equal,
        (None, _) => std::cmp::Ordering::Less,
        (_, None) => std::cmp::Ordering::Greater,
        (Some(a), Some(b)) => a.value.total_cmp(&b.value).then(b.inclusive.cmp(&a.inclusive)),
    });
    let mut ranges = ranges.into_iter();
    let (low, mut high) = ranges.next()?;
    for (next_low, next_high) in ranges {
        if let (Some(end), Some(start)) = (&high, &next_low) {
            let order = start.value.total_cmp(&end.value);
            let follows = || {
                let next = end.value.as_i128().and_then(|v| v.checked_add(1));
                end.inclusive && start.inclusive && next.is_some() && next == start.value.as_i128()
            };
            if !(order.is_lt() || (order.is_eq() && (end.inclusive || start.inclusive)) || follows()) {
                return None;
            }
        }
        let reaches_further = match (&high, &next_high) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(end), Some(new)) => {
                let order = new.value.total_cmp(&end.value);
                order.is_gt() || (order.is_eq() && new.inclusive)
            }
        };
        if reaches_further {
            high = next_high;
        }
    }
    let range = match (&low, &high) {
        (None, None) => ColumnPredicate::IsNotNull,
        _ => ColumnPredicate::Range { low, high },
    };
    Some((column?, vec![range]))
}

/// Predicates on one column, joined where that makes fewer: ranges intersect, lists lose what ranges exclude.
#[derive(Default)]
pub(crate) struct Merged {
    low: Option<Bound>,
    high: Option<Bound>,
    among: Option<Vec<Value>>,
    others: Vec<ColumnPredicate>,
}

impl Merged {
    /// Adds a conjunct; ranges intersect.
    pub(crate) fn add(&mut self, predicate: ColumnPredicate) {
        match predicate {
            ColumnPredicate::Range { low, high } => {
                if let Some(new) = low {
                    let tighter = self.low.as_ref().is_none_or(|old| {
                        let order = new.value.total_cmp(&old.value);
                        order.is_gt() || (order.is_eq() && !new.inclusive)
                    });
                    if tighter {
                        self.low = Some(new);
                    }
                }
                if let Some(new) = high {
                    let tighter = self.high.as_ref().is_none_or(|old| {
                        let order = new.value.total_cmp(&old.value);
                        order.is_lt() || (order.is_eq() && !new.inclusive)
                    });
                    if tighter {
                        self.high = Some(new);
                    }
                }
            }
            ColumnPredicate::In(values) => match &mut self.among {
                None => self.among = Some(values.to_vec()),
                Some(kept) => kept.retain(|v| values.binary_search(v).is_ok()),
            },
            other => self.others.push(other),
        }
    }

    /// The predicates that remain; one that `is_never` means that no row passes. `nullable`: the column may hold
    /// NULL.
    pub(crate) fn finish(self, nullable: bool) -> Vec<ColumnPredicate> {
        let Merged { low, high, among, others } = self;
        if let (Some(l), Some(h)) = (&low, &high) {
            let order = l.value.total_cmp(&h.value);
            if order.is_gt() || (order.is_eq() && !(l.inclusive && h.inclusive)) {
                return vec![never()];
            }
        }
        let mut result = Vec::new();
        let has_range = low.is_some() || high.is_some();
        let range = ColumnPredicate::Range { low, high };
        match among {
            Some(mut values) => {
                values.retain(|v| range.accepts(v) && others.iter().all(|o| o.accepts(v)));
                result.push(match values.len() {
                    0 => never(),
                    1 => equal(values.remove(0)),
                    _ => ColumnPredicate::In(values.into()),
                });
                return result;
            }
            None if has_range => result.push(range),
            None => {}
        }
        let wants_null = others.iter().any(|o| matches!(o, ColumnPredicate::IsNull));
        if wants_null {
            let contradicts =
                !nullable || has_range || others.iter().any(|o| !matches!(o, ColumnPredicate::IsNull));
            return vec![if contradicts { never() } else { ColumnPredicate::IsNull }];
        }
        let had = others.len();
        result.extend(others.into_iter().filter(|o| !matches!(o, ColumnPredicate::IsNotNull)));
        // Every other predicate keeps NULL out by itself.
        if had > 0 && result.is_empty() && nullable {
            result.push(ColumnPredicate::IsNotNull);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::LikePattern;

    fn show(expr: &Expr) -> String {
        match extract(expr) {
            None => "kept".into(),
            Some((_, predicates)) => predicates
                .iter()
                .map(|p| match p {
                    p if is_never(p) => "never".to_owned(),
                    p => plan::print::column_predicate("c", Type::BigInt, p),
                })
                .collect::<Vec<_>>()
                .join(" AND "),
        }
    }
    fn column(ty: Type) -> Expr {
        Expr::column(ColumnId(0), ty)
    }
    const D: fn(u8, u8) -> Type = |precision, scale| Type::Decimal { precision, scale };

    #[test]
    fn constants_move_to_the_columns_side_exactly() {
        let int = |op, v: i64| {
            show(&Expr::compare(
                op,
                column(Type::Integer).cast(D(21, 2)),
                Expr::literal(Value::I128(v.into()), D(21, 2)),
            ))
        };
        assert_eq!(int(Comparison::Less, 750), "c <= 7");
        assert_eq!(int(Comparison::Less, 700), "c < 7");
        assert_eq!(int(Comparison::GreaterOrEqual, 750), "c > 7");
        assert_eq!(int(Comparison::Greater, -750), "c > -8");
        assert_eq!(int(Comparison::Equal, 750), "never");
        assert_eq!(int(Comparison::NotEqual, 750), "c IS NOT NULL");
        assert_eq!(int(Comparison::Less, 1_000_000_000_000_000), "c IS NOT NULL");
        assert_eq!(int(Comparison::Greater, 1_000_000_000_000_000), "never");
        let date = |op, v: i64| {
            show(&Expr::compare(
                op,
                column(Type::Date).cast(Type::Timestamp),
                Expr::literal(Value::I64(v), Type::Timestamp),
            ))
        };
        assert_eq!(date(Comparison::Less, MICROS_PER_DAY * 9 + 1), "c <= 9");
        assert_eq!(date(Comparison::Equal, MICROS_PER_DAY * 9), "c = 9");
    }

    #[test]
    fn ranges_that_touch_are_one_range() {
        let c = |op, v| Expr::compare(op, column(Type::Integer), Expr::literal(Value::I32(v), Type::Integer));
        let between = |l, h| Expr::and(vec![c(Comparison::GreaterOrEqual, l), c(Comparison::LessOrEqual, h)]);
        assert_eq!(
            show(&Expr::or(vec![between(10, 20), between(1, 11), between(21, 30)])),
            "c >= 1 AND c <= 30"
        );
        assert_eq!(show(&Expr::or(vec![between(10, 20), between(1, 8)])), "kept");
        assert_eq!(show(&Expr::or(vec![between(1, 20), between(3, 8)])), "c >= 1 AND c <= 20");
        assert_eq!(
            show(&Expr::or(vec![c(Comparison::Less, 5), c(Comparison::GreaterOrEqual, 5)])),
            "c IS NOT NULL"
        );
        assert_eq!(show(&Expr::or(vec![c(Comparison::Less, 5), c(Comparison::Greater, 5)])), "kept");
    }

    #[test]
    fn narrowing_casts_are_left_alone() {
        let narrow = Expr::compare(
            Comparison::Less,
            column(D(15, 2)).cast(Type::Integer),
            Expr::literal(Value::I32(3), Type::Integer),
        );
        assert_eq!(show(&narrow), "kept");
    }

    #[test]
    fn years_become_ranges_of_days() {
        let year = Expr::new(
            ExprKind::Function { function: Function::ExtractYear, arguments: vec![column(Type::Date)] },
            Type::BigInt,
        );
        let p = |op| show(&Expr::compare(op, year.clone(), Expr::literal(Value::I64(1995), Type::BigInt)));
        assert_eq!(p(Comparison::Equal), "c >= 9131 AND c < 9496");
        // Infinite days have no year.
        assert_eq!(p(Comparison::LessOrEqual), "c > -2147483648 AND c < 9496");
        assert_eq!(p(Comparison::Greater), "c >= 9496 AND c < 2147483647");
    }

    #[test]
    fn patterns_give_ranges() {
        let like = |text: &str| {
            let Some((_, found)) = extract(&Expr::new(
                ExprKind::Like {
                    input: Box::new(column(Type::Text)),
                    pattern: Arc::new(LikePattern::new(text, None).unwrap()),
                    negated: false,
                    case_insensitive: false,
                },
                Type::Boolean,
            )) else {
                panic!("not taken")
            };
            found.iter().map(|p| plan::print::column_predicate("c", Type::Text, p)).collect::<Vec<_>>()
        };
        assert_eq!(like("abc%"), ["c >= 'abc' AND c < 'abd'"]);
        assert_eq!(like("abc"), ["c = 'abc'"]);
        assert_eq!(like("a%b"), ["c >= 'a' AND c < 'b'", "c LIKE 'a%b'"]);
        assert_eq!(like("%b"), ["c LIKE '%b'"]);
    }

    #[test]
    fn predicates_of_one_column_merge() {
        let merge = |predicates: Vec<ColumnPredicate>, nullable| {
            let mut merged = Merged::default();
            predicates.into_iter().for_each(|p| merged.add(p));
            let show = |p: &ColumnPredicate| {
                if is_never(p) {
                    "never".into()
                } else {
                    plan::print::column_predicate("c", Type::Integer, p)
                }
            };
            merged.finish(nullable).iter().map(show).collect::<Vec<_>>()
        };
        let r = |op, v| range(op, Value::I32(v));
        use Comparison as C;
        assert_eq!(
            merge(vec![r(C::Greater, 3), r(C::GreaterOrEqual, 3), r(C::Less, 9)], true),
            ["c > 3 AND c < 9"]
        );
        assert_eq!(merge(vec![r(C::Greater, 3), r(C::Less, 3)], true), ["never"]);
        let list = || ColumnPredicate::In([1, 4, 7].map(Value::I32).into());
        assert_eq!(merge(vec![list(), r(C::Greater, 3)], true), ["c IN (4, 7)"]);
        assert_eq!(merge(vec![list(), r(C::Greater, 3), r(C::NotEqual, 7)], true), ["c = 4"]);
        assert_eq!(merge(vec![ColumnPredicate::IsNotNull, r(C::Less, 3)], true), ["c < 3"]);
        assert_eq!(merge(vec![ColumnPredicate::IsNotNull], false), Vec::<String>::new());
        assert_eq!(
            merge(vec![ColumnPredicate::IsNotNull, ColumnPredicate::IsNotNull], true),
            ["c IS NOT NULL"]
        );
        assert_eq!(merge(vec![ColumnPredicate::IsNull, r(C::Less, 3)], true), ["never"]);
        assert_eq!(merge(vec![ColumnPredicate::IsNull], true), ["c IS NULL"]);
        assert_eq!(merge(vec![ColumnPredicate::IsNull], false), ["never"]);
    }
}
