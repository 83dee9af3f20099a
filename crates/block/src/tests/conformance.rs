//! Every type, every layout, every predicate, with and without NULLs: what a block answers is what the definition
//! (`ColumnPredicate::accepts`, the values themselves) says.

use std::sync::Arc;

use simd::Bitmap;
use types::{Bound, ColumnPredicate, LikePattern, Physical, Type, Value};
use vector::{Data, Vector};

use super::{Random, block_of};
use crate::{Block, Coding, LayoutKind, Rows};

pub(super) const TYPES: [Type; 19] = [
    Type::Null,
    Type::Boolean,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::Real,
    Type::Double,
    Type::Decimal { precision: 15, scale: 2 },
    Type::Decimal { precision: 38, scale: 10 },
    Type::Char(10),
    Type::Varchar(100),
    Type::Text,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::TimestampTz,
    Type::IntervalYearMonth,
    Type::IntervalDayTime,
    Type::Bytea,
];

/// How the values of a column are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spread {
    /// Few values, close together.
    Few,
    /// Few values, far apart.
    FewFar,
    /// Multiples of a step.
    Stepped,
    /// Two bytes' worth.
    Medium,
    /// Anything, extremes included.
    Wide,
    /// Rising.
    Rising,
    One,
}

pub(super) const SPREADS: [Spread; 7] =
    [Spread::Few, Spread::FewFar, Spread::Stepped, Spread::Medium, Spread::Wide, Spread::Rising, Spread::One];

pub(super) fn value(ty: Type, spread: Spread, row: usize, random: &mut Random) -> Value {
    let integer = |random: &mut Random| -> i128 {
        match spread {
            Spread::Few => random.below(11) as i128 - 3,
            Spread::FewFar => (random.below(9) as i128 - 4) * 123_456_789_012_345,
            Spread::Stepped => random.below(200) as i128 * 100 - 700,
            Spread::Medium => random.below(40_000) as i128 - 20_000,
            Spread::Wide => match random.below(8) {
                0 => i128::MIN,
                1 => i128::MAX,
                2 => 0,
                _ => i128::from(random.bits()) << random.below(64),
            },
            Spread::Rising => row as i128 * 3,
            Spread::One => 42,
        }
    };
    match ty.physical() {
        _ if ty == Type::Null => Value::Null,
        Physical::Bool => Value::Bool(match spread {
            Spread::One => true,
            Spread::Rising => row > 50,
            _ => random.below(3) == 0,
        }),
        Physical::I16 => Value::I16(integer(random) as i16),
        Physical::I32 => Value::I32(integer(random) as i32),
        Physical::I64 => Value::I64(integer(random) as i64),
        Physical::I128 => Value::I128(integer(random)),
        Physical::F32 => Value::F32(float(spread, row, random) as f32),
        Physical::F64 => Value::F64(float(spread, row, random)),
        Physical::Bytes => {
            let text = match spread {
                Spread::Few => ["", "a", "ab", "AIR", "REG AIR", "exactly 12ch", "longer than inline é"]
                    [random.below(7) as usize]
                    .to_owned(),
                Spread::FewFar => format!("MED {} very long tail of a string", random.below(5)),
                Spread::Stepped => "z".repeat(random.below(40) as usize),
                Spread::Medium => format!("Clerk#{:09}", random.below(400)),
                Spread::Wide => (0..random.below(30))
                    .map(|_| ['a', 'b', 'é', '%', '日'][random.below(5) as usize])
                    .collect(),
                Spread::Rising => format!("Customer#{row:09}"),
                Spread::One => "the only one".to_owned(),
            };
            if ty == Type::Bytea && spread == Spread::Wide {
                Value::Bytes((0..random.below(20)).map(|_| random.bits() as u8).collect())
            } else {
                Value::text(&text)
            }
        }
    }
}

fn float(spread: Spread, row: usize, random: &mut Random) -> f64 {
    match spread {
        Spread::Few | Spread::One => random.below(7) as f64 / 4.0,
        Spread::FewFar => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 0.0][random.below(5) as usize],
        Spread::Stepped => [-0.0, 0.0, 2.5, -1.0][random.below(4) as usize],
        Spread::Rising => row as f64 / 8.0,
        _ => match random.below(10) {
            0 => f64::NAN,
            1 => -0.0,
            _ => (random.bits() as i64) as f64 / 1e10,
        },
    }
}

pub(super) fn predicates(ty: Type, values: &[Value], random: &mut Random) -> Vec<ColumnPredicate> {
    let mut out = vec![ColumnPredicate::IsNull, ColumnPredicate::IsNotNull];
    if ty == Type::Null {
        return out;
    }
    // Literals that occur, and some that need not.
    let mut literals: Vec<Value> = Vec::new();
    for _ in 0..4 {
        if let Some(value) = values.get(random.below(values.len().max(1) as u64) as usize) {
            literals.push(value.clone());
        }
        let spread = SPREADS[random.below(SPREADS.len() as u64) as usize];
        literals.push(value(ty, spread, random.below(300) as usize, random));
    }
    literals.retain(|v| !v.is_null());
    for low in &literals {
        for (inclusive, other) in [(true, false), (false, true)] {
            let bound = Bound { value: low.clone(), inclusive };
            out.push(ColumnPredicate::Range { low: Some(bound.clone()), high: None });
            out.push(ColumnPredicate::Range { low: None, high: Some(bound.clone()) });
            let high = &literals[random.below(literals.len() as u64) as usize];
            let high = Bound { value: high.clone(), inclusive: other };
            out.push(ColumnPredicate::Range { low: Some(bound), high: Some(high) });
        }
        let equal = Bound { value: low.clone(), inclusive: true };
        out.push(ColumnPredicate::Range { low: Some(equal.clone()), high: Some(equal) });
        out.push(ColumnPredicate::NotEqual(low.clone()));
    }
    out.push(ColumnPredicate::Range { low: None, high: None });
    for count in [0, 1, 3, 30] {
        let mut set: Vec<Value> = (0..count)
            .filter_map(|_| {
                let spread = SPREADS[random.below(SPREADS.len() as u64) as usize];
                if random.below(2) == 0 {
                    values.get(random.below(values.len().max(1) as u64) as usize).cloned()
                } else {
                    Some(value(ty, spread, 5, random))
                }
            })
            .filter(|v| !v.is_null())
            .collect();
        set.sort();
        set.dedup();
        out.push(ColumnPredicate::In(set.clone().into()));
        out.push(ColumnPredicate::NotIn(set.into()));
    }
    if ty.is_text() {
        for pattern in
            ["%", "a%", "%AIR", "MED%", "_", "Clerk#00000%1%", "the only one", "%é%", "Customer#0000000_2"]
        {
            let pattern = Arc::new(LikePattern::new(pattern, Some('\\')).unwrap());
            for negated in [false, true] {
                out.push(ColumnPredicate::Like { pattern: pattern.clone(), negated });
            }
        }
    }
    out
}

pub(super) fn check_values(block: &Block, values: &[Value]) {
    // NaN and the sign of zero survive, so compare prints, not equality classes.
    let shown = |v: &Vector| (0..v.len()).map(|row| format!("{:?}", v.value(row))).collect::<Vec<_>>();
    let expected: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    let all = block.fetch(0, 0..values.len());
    assert_eq!(all.ty(), block.ty(0));
    assert_eq!(shown(&all), expected);
    if let (Data::Dictionary { values, .. }, Some(dictionary)) = (all.data(), block.dictionary(0)) {
        assert!(Arc::ptr_eq(values, &dictionary));
    }
    let rows: Vec<u32> = (0..values.len() as u32).rev().filter(|r| r % 3 != 1).collect();
    let some = block.fetch(0, &rows);
    assert_eq!(shown(&some), rows.iter().map(|r| expected[*r as usize].clone()).collect::<Vec<_>>());
    let middle = values.len() / 3..values.len() / 2;
    assert_eq!(shown(&block.fetch(0, Rows::Range(middle.clone()))), expected[middle]);
    assert!(block.fetch(0, 0..0).is_empty());
}

pub(super) fn check_statistics(block: &Block, values: &[Value]) {
    let s = block.statistics(0);
    let present: Vec<&Value> = values.iter().filter(|v| !v.is_null()).collect();
    assert_eq!(s.null_count as usize, values.len() - present.len());
    assert_eq!(s.min.is_null(), present.is_empty());
    for v in &present {
        assert!(s.min <= **v && s.max >= **v, "{v:?} outside {:?}..{:?}", s.min, s.max);
    }
    let mut sorted = present.clone();
    sorted.sort();
    sorted.dedup();
    if s.unique {
        assert_eq!(sorted.len(), present.len());
    }
    if s.sorted {
        assert!(present.len() == values.len() && values.windows(2).all(|p| p[0] <= p[1]));
    }
    let (got, exact) = (s.distinct as f64, sorted.len() as f64);
    assert!((got - exact).abs() <= exact * 0.15 + 2.0, "{got} distinct, not {exact}");
}

pub(super) fn check_predicates(block: &Block, values: &[Value], random: &mut Random) {
    for predicate in predicates(block.ty(0), values, random) {
        let expected: Vec<bool> = values.iter().map(|v| predicate.accepts(v)).collect();
        let mut selection = Bitmap::full(values.len());
        block.select(0, &predicate, &mut selection);
        let got: Vec<bool> = (0..values.len()).map(|row| selection.get(row)).collect();
        assert_eq!(got, expected, "{predicate:?} on {:?}", block.coding(0));
        // A range of rows, into a selection that has already lost some.
        let (a, b) = (random.below(values.len() as u64 + 1), random.below(values.len() as u64 + 1));
        let rows = a.min(b) as usize..a.max(b) as usize;
        let before = Bitmap::from_fn(rows.len(), |_| random.below(4) > 0);
        let mut selection = before.clone();
        let prepared = block.prepare(0, &predicate);
        block.select_prepared(&prepared, rows.clone(), &mut selection);
        for (i, row) in rows.enumerate() {
            assert_eq!(selection.get(i), before.get(i) && expected[row], "{predicate:?} at row {row}");
        }
        if prepared.rejects_all() {
            assert!(!expected.contains(&true));
        }
        if prepared.accepts_all() {
            assert!(!expected.contains(&false));
        }
    }
}

fn check_codes(block: &Block, values: &[Value], random: &mut Random) {
    let Some(slice) = block.codes(0) else { return };
    assert_eq!(slice.codes.len(), values.len());
    let size = match slice.coding {
        Coding::Dictionary { size, .. } => size as usize,
        Coding::Truncated { width: 1, .. } => 256,
        Coding::Truncated { base, step, .. } => {
            for (row, value) in values.iter().enumerate().filter(|(_, v)| !v.is_null()) {
                assert_eq!(value.as_i128(), Some(base + i128::from(slice.codes.get(row)) * step));
            }
            return;
        }
        Coding::Plain | Coding::Bits => panic!("codes of an uncoded column"),
    };
    let accept: Vec<bool> = (0..size).map(|_| random.below(2) == 0).collect();
    let mut selection = Bitmap::full(values.len());
    block.select_codes(0, &accept, 0..values.len(), &mut selection);
    for (row, value) in values.iter().enumerate() {
        let expected = !value.is_null() && accept[slice.codes.get(row) as usize];
        assert_eq!(selection.get(row), expected);
    }
    if let Some(dictionary) = block.dictionary(0) {
        assert!(dictionary.is_flat() && !dictionary.has_nulls());
        for (row, value) in values.iter().enumerate().filter(|(_, v)| !v.is_null()) {
            assert_eq!(dictionary.value(slice.codes.get(row) as usize), *value);
        }
        for code in 1..dictionary.len() {
            assert!(dictionary.value(code - 1) < dictionary.value(code));
        }
    }
}

#[test]
fn every_type_layout_and_predicate() {
    let mut random = Random::new(2026);
    let mut types = TYPES.to_vec();
    types.push(Type::Uuid);
    for ty in types {
        for spread in SPREADS {
            for (rows, null_share) in
                [(0, 0), (1, 0), (1, 100), (63, 10), (64, 0), (700, 0), (700, 20), (3000, 3)]
            {
                let values: Vec<Value> = (0..rows)
                    .map(|row| {
                        let null = ty == Type::Null || random.below(100) < null_share;
                        if null { Value::Null } else { value(ty, spread, row, &mut random) }
                    })
                    .collect();
                for layout in super::layouts_for(ty) {
                    let block = block_of(ty, &values, layout);
                    assert_eq!((block.rows(), block.columns(), block.layout()), (rows, 1, layout));
                    check_values(&block, &values);
                    check_statistics(&block, &values);
                    check_predicates(&block, &values, &mut random);
                    check_codes(&block, &values, &mut random);
                    if !layout.compresses() {
                        assert!(matches!(block.coding(0), Coding::Plain | Coding::Bits));
                    }
                }
            }
        }
    }
}

#[test]
fn predicates_on_a_dictionary_decode_no_strings() {
    let names = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
    let values: Vec<Value> = (0..10_000).map(|i| Value::text(names[i * 7919 % 7])).collect();
    let block = block_of(Type::Text, &values, LayoutKind::CompressedColumnStore);
    assert_eq!(block.coding(0), Coding::Dictionary { width: 1, size: 7 });
    let text = |s: &str| Value::text(s);
    let bound = |s: &str| Some(Bound { value: text(s), inclusive: true });
    for predicate in [
        ColumnPredicate::Range { low: bound("MAIL"), high: bound("SHIP") },
        ColumnPredicate::NotEqual(text("FOB")),
        ColumnPredicate::In([text("AIR"), text("REG AIR")].into()),
        ColumnPredicate::NotIn([text("AIR"), text("none")].into()),
    ] {
        let mut selection = Bitmap::full(10_000);
        block.select(0, &predicate, &mut selection);
        assert_eq!(selection.count(), values.iter().filter(|v| predicate.accepts(v)).count());
    }
    assert_eq!(block.counters().predicates_on_codes(), 4);
    assert_eq!(block.counters().strings_decoded(), 0);
    // LIKE sees each distinct value that its prefix allows, never a row.
    let pattern = Arc::new(LikePattern::new("%AIR%", None).unwrap());
    let mut selection = Bitmap::full(10_000);
    block.select(0, &ColumnPredicate::Like { pattern, negated: false }, &mut selection);
    assert_eq!(block.counters().strings_decoded(), 7);
    // Outside the bounds, not even the codes are read.
    let mut selection = Bitmap::full(10_000);
    block.select(0, &ColumnPredicate::Range { low: bound("X"), high: None }, &mut selection);
    assert!(selection.none());
    assert_eq!((block.counters().predicates_by_bounds(), block.counters().predicates_on_codes()), (1, 5));
}

#[test]
fn fetched_vectors_share_the_blocks_memory() {
    let values: Vec<Value> = (0..500).map(|i| Value::text(&format!("Customer number {i:09}"))).collect();
    let block = block_of(Type::Text, &values, LayoutKind::CompressedColumnStore);
    assert_eq!(block.coding(0), Coding::Plain);
    let memory = block.as_bytes().as_ptr_range();
    let vector = block.fetch(0, &[7, 8][..]);
    let Data::Bytes(strings) = vector.data() else { panic!("not strings") };
    assert!(memory.contains(&strings.get(0).as_ptr()));
    let numbers: Vec<Value> = (0..500).map(|i| Value::I64(i << 40)).collect();
    let block = block_of(Type::BigInt, &numbers, LayoutKind::ColumnStore);
    let vector = block.fetch(0, 100..200);
    let Data::I64(shared) = vector.data() else { panic!("not integers") };
    assert!(block.as_bytes().as_ptr_range().contains(&shared.as_ptr().cast()));
}
