//! Random trees of AND and OR against the definition, and that what is decided is not looked at again.

use std::sync::Arc;

use simd::Bitmap;
use types::{Bound, ColumnPredicate, LikePattern, PredicateTree, Type, Value};
use vector::{Batch, Vector};

use super::{Random, all_indices, encoded};
use crate::{AccessPath, Block, EncodeOptions, LayoutKind, sort_parts};

const COLUMNS: [(Type, bool); 4] =
    [(Type::Integer, false), (Type::BigInt, true), (Type::Text, true), (Type::Double, false)];

fn value(column: usize, random: &mut Random) -> Value {
    if COLUMNS[column].1 && random.below(8) == 0 {
        return Value::Null;
    }
    literal(column, random)
}

fn literal(column: usize, random: &mut Random) -> Value {
    match column {
        0 => Value::I32(random.below(500)),
        1 => Value::I64(random.below(1u64 << 40) as i64),
        2 => Value::text(&format!("name {}", random.below(3000))),
        _ => Value::F64(random.below(1000) as f64 / 8.0),
    }
}

fn tree(depth: u64, random: &mut Random) -> PredicateTree {
    let parts = |random: &mut Random| (0..random.below(4)).map(|_| tree(depth - 1, random)).collect();
    match random.below(if depth == 0 { 1 } else { 3 }) {
        1 => PredicateTree::And(parts(random)),
        2 => PredicateTree::Or(parts(random)),
        _ => {
            let column = random.below(COLUMNS.len() as u64) as usize;
            let (a, b) = (literal(column, random), literal(column, random));
            let bound = |value: &Value| Some(Bound { value: value.clone(), inclusive: true });
            let predicate = match random.below(7) {
                6 if column == 2 => {
                    let pattern =
                        Arc::new(LikePattern::new(&format!("%{}%", random.below(40)), None).unwrap());
                    ColumnPredicate::Like { pattern, negated: random.below(2) == 0 }
                }
                0 => ColumnPredicate::Range { low: bound(&a), high: None },
                1 => ColumnPredicate::Range { low: None, high: bound(&a) },
                2 => ColumnPredicate::Range { low: bound(&a), high: bound(&a) },
                3 => ColumnPredicate::NotEqual(a),
                4 => ColumnPredicate::IsNull,
                _ => {
                    let mut set = [a, b];
                    set.sort();
                    ColumnPredicate::In(set.into())
                }
            };
            PredicateTree::Leaf(column, predicate)
        }
    }
}

#[test]
fn random_trees_select_what_they_say() {
    let mut random = Random::new(13);
    let count = 3000;
    let rows: Vec<Vec<Value>> =
        (0..count).map(|_| (0..COLUMNS.len()).map(|c| value(c, &mut random)).collect()).collect();
    let column =
        |c: usize| Vector::from_values(COLUMNS[c].0, &rows.iter().map(|r| r[c].clone()).collect::<Vec<_>>());
    let batch = [Batch::new((0..COLUMNS.len()).map(column).collect(), count)];
    let sorted = sort_parts(&batch, 0).unwrap();
    let order: Vec<Vec<Value>> =
        (0..count).map(|row| (0..COLUMNS.len()).map(|c| sorted[0].columns[c].value(row)).collect()).collect();
    let indices: Vec<_> = (0..COLUMNS.len()).flat_map(all_indices).collect();
    for layout in super::LAYOUTS {
        let sorted_by = (!layout.is_row_store()).then_some(0);
        let options = EncodeOptions { sorted_by, indices: indices.clone(), layout };
        let block = Block::open(encoded(&COLUMNS, &sorted, options)).unwrap();
        for _ in 0..400 {
            let tree = tree(3, &mut random);
            let before = Bitmap::from_fn(count, |_| random.below(5) > 0);
            let mut selection = before.clone();
            block.select_tree(&tree, &mut selection, |predicate| predicate);
            let expected = Bitmap::from_fn(count, |row| {
                before.get(row) && tree.accepts(&|column| order[row][column].clone())
            });
            assert_eq!(selection, expected, "{tree:?} in {layout:?}");
            block.select_tree_anew(&tree, &mut selection, |predicate| predicate);
            let expected = Bitmap::from_fn(count, |row| tree.accepts(&|column| order[row][column].clone()));
            assert_eq!(selection, expected, "{tree:?} in {layout:?}, anew");
        }
    }
}

#[test]
fn searches_come_first_and_what_is_decided_is_not_asked_again() {
    let count = 100_000;
    let mut random = Random::new(4);
    let rising = Vector::from_i64(Type::BigInt, (0..count as i64).collect());
    let anything = Vector::from_i64(Type::BigInt, (0..count).map(|_| random.bits() as i64).collect());
    let batch = [Batch::new(vec![anything, rising], count)];
    let bytes = encoded(&[(Type::BigInt, false); 2], &batch, LayoutKind::CompressedColumnStore);
    let block = Block::open(bytes).unwrap();
    let below = |column, value| {
        let high = Some(Bound { value: Value::I64(value), inclusive: false });
        PredicateTree::Leaf(column, ColumnPredicate::Range { low: None, high })
    };
    let from = |column, value| {
        let low = Some(Bound { value: Value::I64(value), inclusive: true });
        PredicateTree::Leaf(column, ColumnPredicate::Range { low, high: None })
    };
    // The scan looks only at the rows that the search left, though it stands first in the text.
    let mut selection = Bitmap::full(count);
    let paths =
        block.select_tree(&PredicateTree::And(vec![below(0, 0), below(1, 50)]), &mut selection, |p| p);
    assert_eq!(paths, [AccessPath::Search, AccessPath::Probe]);
    // In a disjunction only at those that the search has not accepted.
    let mut selection = Bitmap::full(count);
    let paths = block.select_tree(&PredicateTree::Or(vec![below(0, 0), from(1, 50)]), &mut selection, |p| p);
    assert_eq!(paths, [AccessPath::Search, AccessPath::Probe]);
    // With no row left, nothing is asked.
    let mut selection = Bitmap::full(count);
    let paths =
        block.select_tree(&PredicateTree::And(vec![below(0, 0), below(1, -1)]), &mut selection, |p| p);
    assert_eq!(paths, [AccessPath::Bounds]);
    assert!(selection.none());
}
