//! Sort columns: rows come in their order, searches find what scans find, and the promise is checked.

use simd::Bitmap;
use types::{Type, Value};
use vector::{Batch, Vector};

use super::conformance::{SPREADS, TYPES, check_values, predicates, value};
use super::{Random, encoded};
use crate::{AccessPath, Block, EncodeOptions, LayoutKind, encode, sort_parts};

const COLUMN_LAYOUTS: [LayoutKind; 2] = [LayoutKind::ColumnStore, LayoutKind::CompressedColumnStore];

#[test]
fn sorted_blocks_are_searched() {
    let mut random = Random::new(21);
    let (mut searched, mut scanned) = (0, 0);
    for ty in TYPES.into_iter().filter(|ty| *ty != Type::Null) {
        for spread in SPREADS {
            for (rows, null_share) in [(0, 0), (1, 0), (1, 100), (700, 0), (1500, 20)] {
                let values: Vec<Value> = (0..rows)
                    .map(|row| {
                        if random.below(100) < null_share {
                            Value::Null
                        } else {
                            value(ty, spread, row, &mut random)
                        }
                    })
                    .collect();
                let numbers = Vector::from_i64(Type::BigInt, (0..rows as i64).collect());
                let whole = Batch::new(vec![Vector::from_values(ty, &values), numbers], rows);
                let parts = [whole.slice(0, rows / 3), whole.slice(rows / 3, rows - rows / 3)];
                let sorted = sort_parts(&parts, 0);
                let parts = sorted.as_deref().unwrap_or(&parts);
                for layout in COLUMN_LAYOUTS {
                    let options = EncodeOptions { sorted_by: Some(0), ..layout.into() };
                    let bytes = encoded(&[(ty, true), (Type::BigInt, false)], parts, options);
                    let block = Block::open(bytes).unwrap();
                    assert_eq!(block.sorted_by(), Some(0));
                    assert_eq!(block.of_columns(&[1, 0]).sorted_by(), Some(1));
                    // Rows moved as wholes, equal ones in their order, NULL last.
                    let order = block.fetch(1, 0..rows);
                    let came: Vec<usize> =
                        (0..rows).map(|row| order.value(row).as_i64().unwrap() as usize).collect();
                    let mut expected: Vec<usize> = (0..rows).collect();
                    expected.sort_by(|a, b| {
                        let (a, b) = (&values[*a], &values[*b]);
                        a.is_null().cmp(&b.is_null()).then_with(|| a.total_cmp(b))
                    });
                    assert_eq!(came, expected);
                    let moved: Vec<Value> = came.iter().map(|row| values[*row].clone()).collect();
                    check_values(&block, &moved);
                    for predicate in predicates(ty, &moved, &mut random) {
                        let expected = Bitmap::from_fn(rows, |row| predicate.accepts(&moved[row]));
                        let mut selection = Bitmap::full(rows);
                        let path = block.select(0, &predicate, &mut selection);
                        assert_eq!(selection, expected, "{predicate:?} {path:?}");
                        searched += usize::from(path == AccessPath::Search);
                        scanned += usize::from(path == AccessPath::Scan && rows > 1);
                        let from = random.below(rows as u64 + 1) as usize;
                        let before = Bitmap::from_fn(rows - from, |_| random.below(3) > 0);
                        let mut selection = before.clone();
                        block.select_prepared(&block.prepare(0, &predicate), from..rows, &mut selection);
                        for i in 0..rows - from {
                            assert_eq!(selection.get(i), before.get(i) && expected.get(from + i));
                        }
                    }
                }
            }
        }
    }
    assert!(searched > 3000 && scanned < searched / 5, "{searched} searched, {scanned} scanned");
}

#[test]
fn the_order_is_promised_and_checked() {
    let batch = [Batch::new(vec![Vector::from_i64(Type::BigInt, vec![3, 1, 2])], 3)];
    let columns = [(Type::BigInt, false)];
    let options = |layout: LayoutKind, sorted_by| EncodeOptions { sorted_by, ..layout.into() };
    assert!(encode(&columns, &batch, options(LayoutKind::ColumnStore, Some(0))).is_err());
    assert!(encode(&columns, &batch, options(LayoutKind::ColumnStore, Some(1))).is_err());
    let error = encode(&columns, &batch, options(LayoutKind::SplitRowStore, Some(0))).err().unwrap();
    assert_eq!(error.state(), types::SqlState::FeatureNotSupported);
    // Bytes that claim an order that they have not are refused, with their checksums made to fit.
    let good = encoded(&columns, &batch, LayoutKind::ColumnStore);
    let mut bytes = good.as_slice().to_vec();
    bytes[8] = 2;
    bytes[36] = 1;
    assert!(Block::open_unverified(Block::aligned(&bytes)).unwrap_err().to_string().contains("order"));
    let sorted = sort_parts(&batch, 0).unwrap();
    assert!(sort_parts(&sorted, 0).is_none());
}
