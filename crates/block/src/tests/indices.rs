//! Every index over every layout, type and predicate answers what the definition says, whichever way it is asked; and
//! the block takes the way that pays.

use std::collections::BTreeMap;

use simd::Bitmap;
use types::{Bound, ColumnPredicate, Type, Value};
use vector::{Batch, Vector};

use super::conformance::{SPREADS, TYPES, check_values, predicates, value};
use super::{Random, all_indices, block_of, encoded, layouts_for, written};
use crate::{AccessPath, Block, EncodeOptions, IndexKind, IndexSpecification, LayoutKind};

fn with_all(layout: LayoutKind) -> EncodeOptions {
    EncodeOptions { indices: all_indices(0), ..layout.into() }
}

/// Every way that is offered gives what the definition gives, on all rows and on some; counts the ways.
fn check_ways(block: &Block, values: &[Value], random: &mut Random, seen: &mut BTreeMap<AccessPath, usize>) {
    for predicate in predicates(block.ty(0), values, random) {
        let expected = Bitmap::from_fn(values.len(), |row| predicate.accepts(&values[row]));
        let prepared = block.prepare(0, &predicate);
        if let Some(rows) = block.rows_found(&prepared) {
            assert_eq!(rows, expected.to_indices(), "{predicate:?}, listed");
            *seen.entry(AccessPath::Tree).or_default() += 1;
        }
        let mut ways = vec![prepared.clone(), prepared.clone().without_indices()];
        ways.extend(
            prepared.offered().collect::<Vec<_>>().into_iter().filter_map(|p| prepared.clone().by(p)),
        );
        for way in ways {
            let name =
                format!("{predicate:?} by {:?} on {:?}", way.offered().collect::<Vec<_>>(), block.coding(0));
            let mut selection = Bitmap::full(values.len());
            let path = block.select_prepared(&way, 0..values.len(), &mut selection);
            assert_eq!(selection, expected, "{name}");
            *seen.entry(path).or_default() += 1;
            // Whatever the selection held, and however long it was.
            let mut anew = Bitmap::from_fn(random.below(3000) as usize, |row| row % 3 > 0);
            block.select_anew(&way, &mut anew);
            assert_eq!(anew, expected, "{name}, anew");
            // A range of rows that begins anywhere, into a selection that has lost some, or nearly all.
            for keep in [4, 60] {
                let (a, b) = (random.below(values.len() as u64 + 1), random.below(values.len() as u64 + 1));
                let mut rows = a.min(b) as usize..a.max(b) as usize;
                if random.below(2) == 0 {
                    rows.start = rows.start / 512 * 512;
                }
                let before = Bitmap::from_fn(rows.len(), |_| match keep {
                    4 => random.below(4) > 0,
                    _ => random.below(60) == 0,
                });
                let mut selection = before.clone();
                let path = block.select_prepared(&way, rows.clone(), &mut selection);
                *seen.entry(path).or_default() += 1;
                for (i, row) in rows.enumerate() {
                    assert_eq!(selection.get(i), before.get(i) && expected.get(row), "{name}, row {row}");
                }
            }
        }
    }
}

#[test]
fn few_rows_are_listed_in_their_order() {
    let mut random = Random::new(5);
    // Listed as they are, compared, and sorted by digits; of more rows than digits, too.
    for (rows, spread) in [(300u64, 9u64), (40_000, 1 << 20), (40_000, 700), (1_200_000, 1 << 30)] {
        let numbers: Vec<i64> = (0..rows).map(|_| (random.bits() % spread) as i64).collect();
        let batch = [Batch::new(vec![Vector::from_i64(Type::BigInt, numbers.clone())], numbers.len())];
        let indices = vec![IndexSpecification { kind: IndexKind::Tree, column: 0 }];
        let options = EncodeOptions { indices, ..LayoutKind::CompressedColumnStore.into() };
        let block = Block::open(encoded(&[(Type::BigInt, false)], &batch, options)).unwrap();
        let mut listed = 0;
        for share in [2000, 500, 100, 2] {
            let high = Bound { value: Value::I64((spread / share) as i64), inclusive: true };
            let predicate = ColumnPredicate::Range { low: None, high: Some(high) };
            let expected: Vec<u32> = (0..rows as u32)
                .filter(|row| predicate.accepts(&Value::I64(numbers[*row as usize])))
                .collect();
            match block.rows_found(&block.prepare(0, &predicate)) {
                Some(found) => {
                    assert_eq!(found, expected, "{share} of {rows}");
                    listed += 1;
                }
                None => assert!(expected.len() > rows as usize / 200, "{share} of {rows}"),
            }
        }
        assert!(listed > 0 || spread < 10, "{rows} rows");
    }
}

#[test]
fn every_index_type_layout_and_predicate() {
    let mut random = Random::new(77);
    let mut types = TYPES.to_vec();
    types.push(Type::Uuid);
    let mut seen = BTreeMap::new();
    for ty in types {
        for spread in SPREADS {
            for (rows, null_share) in [(0, 0), (1, 0), (1, 100), (65, 10), (1100, 0), (2600, 20)] {
                let values: Vec<Value> = (0..rows)
                    .map(|row| {
                        let null = ty == Type::Null || random.below(100) < null_share;
                        if null { Value::Null } else { value(ty, spread, row, &mut random) }
                    })
                    .collect();
                for layout in layouts_for(ty) {
                    let block = block_of(ty, &values, with_all(layout));
                    check_values(&block, &values);
                    check_ways(&block, &values, &mut random, &mut seen);
                    for zone in block.zone_aggregates(0).unwrap_or_default() {
                        let present: Vec<&Value> =
                            values[zone.rows.clone()].iter().filter(|v| !v.is_null()).collect();
                        assert_eq!(zone.present as usize, present.len());
                        if !zone.min.is_null() {
                            assert_eq!(Some(&&zone.min), present.iter().min());
                            assert_eq!(Some(&&zone.max), present.iter().max());
                        }
                        if let Some(sum) = zone.sum {
                            assert_eq!(sum, present.iter().filter_map(|v| v.as_i128()).sum::<i128>());
                        }
                    }
                }
            }
        }
    }
    // A way that is never taken is not tested.
    for path in AccessPath::ALL {
        assert!(seen.get(&path).is_some_and(|n| *n > 100), "{path:?} was taken {:?} times", seen.get(&path));
    }
}

#[test]
fn nested_values_are_stored_in_every_layout_that_has_strings() {
    let list = Type::list(Type::Integer).unwrap();
    let values: Vec<Value> = (0..900)
        .map(|row| if row % 7 == 0 { Value::Null } else { Value::Bytes(vec![row as u8; row % 40].into()) })
        .collect();
    for layout in layouts_for(list) {
        let block = block_of(list, &values, with_all(layout));
        check_values(&block, &values);
        for (predicate, count) in [(ColumnPredicate::IsNull, 129), (ColumnPredicate::IsNotNull, 771)] {
            let mut selection = Bitmap::full(900);
            block.select(0, &predicate, &mut selection);
            assert_eq!(selection.count(), count);
        }
    }
}

#[test]
fn indices_beside_a_block_share_its_bytes_and_answer_the_same() {
    let mut random = Random::new(5);
    let rows = 2300;
    let numbers: Vec<Value> = (0..rows).map(|_| Value::I64(random.below(1u64 << 50) as i64)).collect();
    let names: Vec<Value> =
        (0..rows).map(|row| Value::text(&format!("name {}", row * 7919 % 2300))).collect();
    let batch = Batch::new(
        vec![Vector::from_values(Type::BigInt, &numbers), Vector::from_values(Type::Text, &names)],
        rows,
    );
    let columns = [(Type::BigInt, false), (Type::Text, true)];
    for layout in super::LAYOUTS {
        let plain = Block::open(encoded(&columns, &[batch.clone()], layout)).unwrap();
        let wanted: Vec<IndexSpecification> = [all_indices(0), all_indices(1)].concat();
        let made = plain.encode_indices(&wanted);
        let bytes = written(made.len(), |out| made.write_into(out));
        let block = plain.with_indices(bytes.clone()).unwrap();
        assert!(std::ptr::eq(block.as_bytes(), plain.as_bytes()), "the data stay where they are");
        assert_eq!(block.bytes(), plain.bytes() + bytes.len());
        assert!(block.indices().count() > 5 && plain.indices().count() == 0);
        // Columns come and go: each index stays with its own.
        let swapped = block.of_columns(&[1, 0]);
        let wider = plain.of_columns(&[1]).beside(&block);
        let late = plain.of_columns(&[1, 0]).with_indices(bytes.clone()).unwrap();
        for (block, number, name) in [(&block, 0, 1), (&swapped, 1, 0), (&wider, 1, 2), (&late, 1, 0)] {
            block.verify().unwrap();
            let mut taken = 0;
            for row in (0..rows).step_by(97) {
                for (column, values) in [(number, &numbers), (name, &names)] {
                    let bound = Some(Bound { value: values[row].clone(), inclusive: true });
                    let predicate = ColumnPredicate::Range { low: bound.clone(), high: bound };
                    let prepared = block.prepare(column, &predicate);
                    let Some(by_tree) = prepared.by(AccessPath::Tree) else { continue };
                    let mut selection = Bitmap::full(rows);
                    block.select_prepared(&by_tree, 0..rows, &mut selection);
                    let expected = Bitmap::from_fn(rows, |row| predicate.accepts(&values[row]));
                    assert_eq!(selection, expected);
                    taken += 1;
                }
            }
            assert!(taken > 20, "{layout:?}: {taken}");
        }
        let fewer = block.without_index(IndexSpecification { kind: IndexKind::Tree, column: 0 });
        assert_eq!(fewer.indices().count() + 1, block.indices().count());
        // Another block refuses them, even one of as many rows.
        let other = Block::open(encoded(&columns, &[batch.slice(0, 7)], layout)).unwrap();
        assert!(other.with_indices(bytes.clone()).is_err());
        let mut turned = batch.clone();
        turned.columns[0] =
            Vector::from_values(Type::BigInt, &numbers[..].iter().rev().cloned().collect::<Vec<_>>());
        let other = Block::open(encoded(&columns, &[turned], layout)).unwrap();
        assert!(other.with_indices(bytes.clone()).unwrap_err().to_string().contains("another block"));
        assert!(Block::open(bytes.clone()).unwrap_err().to_string().contains("no rows"));
        assert!(plain.with_indices(encoded(&columns, &[batch.clone()], layout)).is_err());
    }
}

/// A block of unlike columns that are long enough for ways to differ.
fn large(layout: LayoutKind, indices: Vec<IndexSpecification>) -> (Block, Vec<i32>) {
    let mut random = Random::new(9);
    let rows = 200_000;
    let values: Vec<i32> = (0..rows).map(|_| random.bits() as i32).collect();
    let clustered: Vec<i32> = (0..rows as i32).map(|row| row / 10 * 10 + (row % 10) * 3).collect();
    let vector = |v: &[i32]| Vector::new(Type::Integer, vector::Data::I32(v.to_vec().into()), None);
    let batch = Batch::new(vec![vector(&values), vector(&clustered)], rows);
    let options = EncodeOptions { indices, ..layout.into() };
    (Block::open(encoded(&[(Type::Integer, false); 2], &[batch], options)).unwrap(), values)
}

fn below(value: i32) -> ColumnPredicate {
    ColumnPredicate::Range { low: None, high: Some(Bound { value: Value::I32(value), inclusive: false }) }
}

#[test]
fn the_cheapest_way_is_taken() {
    let path = |block: &Block, column: usize, predicate: &ColumnPredicate| {
        let mut selection = Bitmap::full(block.rows());
        block.select(column, predicate, &mut selection)
    };
    let one = |kind| vec![IndexSpecification { kind, column: 0 }, IndexSpecification { kind, column: 1 }];
    // The tree for few rows, a scan for many.
    let (tree, values) = large(LayoutKind::ColumnStore, one(IndexKind::Tree));
    let mut sorted = values;
    sorted.sort_unstable();
    let (few, many) = (below(sorted[200]), below(sorted[120_000]));
    assert_eq!((path(&tree, 0, &few), path(&tree, 0, &many)), (AccessPath::Tree, AccessPath::Scan));
    assert_eq!((tree.counters().by(AccessPath::Tree), tree.counters().by(AccessPath::Scan)), (1, 1));
    let (slices, _) = large(LayoutKind::ColumnStore, one(IndexKind::WeavingVertical));
    assert_eq!(path(&slices, 0, &many), AccessPath::WeavingVertical);
    // What lies together is decided by zones; what does not, is not.
    let (zones, _) = large(LayoutKind::ColumnStore, one(IndexKind::Aggregates));
    assert_eq!(
        (path(&zones, 1, &below(50_000)), path(&zones, 0, &many)),
        (AccessPath::Aggregates, AccessPath::Scan)
    );
    let equal = |value: i32| {
        let bound = Some(Bound { value: Value::I32(value), inclusive: true });
        ColumnPredicate::Range { low: bound.clone(), high: bound }
    };
    let (bloom, _) = large(LayoutKind::ColumnStore, one(IndexKind::Bloom));
    let absent = (sorted[1000] + 1..).find(|v| sorted.binary_search(v).is_err()).unwrap();
    assert_eq!(path(&bloom, 0, &equal(sorted[1000])), AccessPath::Scan);
    let asked = (absent..absent + 1000).filter(|v| sorted.binary_search(v).is_err());
    let (refuted, all) = asked.fold((0, 0), |(refuted, all), value| {
        (refuted + usize::from(path(&bloom, 0, &equal(value)) == AccessPath::Bloom), all + 1)
    });
    assert!(refuted * 100 > all * 97, "{refuted} of {all}");
    // A predicate that every row passes reads nothing.
    assert_eq!(path(&tree, 0, &ColumnPredicate::Range { low: None, high: None }), AccessPath::Bounds);
    // Behind a selective predicate only the survivors are looked at.
    let (plain, _) = large(LayoutKind::ColumnStore, vec![]);
    let mut selection = Bitmap::full(plain.rows());
    plain.select(0, &few, &mut selection);
    assert_eq!(plain.select(1, &below(100_000), &mut selection), AccessPath::Probe);
}
