//! The encoder's choices, its inputs in every form, and that equal rows make equal bytes.

use std::sync::Arc;

use types::{Type, Value};
use vector::{Batch, Vector};

use super::{Random, block_of, encoded};
use crate::{Block, Coding, LayoutKind, estimate_row_bytes};

const COMPRESSED: LayoutKind = LayoutKind::CompressedColumnStore;

fn coding_of(ty: Type, values: impl Iterator<Item = Value>) -> Coding {
    block_of(ty, &values.collect::<Vec<_>>(), COMPRESSED).coding(0)
}

#[test]
fn codings_are_chosen_by_size() {
    let mut random = Random::new(1);
    let n = 20_000;
    let money = Type::Decimal { precision: 15, scale: 2 };
    // Quantities: 50 values a hundred apart fit one byte with a step.
    let quantity = coding_of(money, (0..n).map(|_| Value::I64((random.below(50) as i64 + 1) * 100)));
    assert_eq!(quantity, Coding::Truncated { width: 1, base: 100, step: 100 });
    let discount = coding_of(money, (0..n).map(|_| Value::I64(random.below(11) as i64)));
    assert_eq!(discount, Coding::Truncated { width: 1, base: 0, step: 1 });
    let date = coding_of(Type::Date, (0..n).map(|_| Value::I32(8035 + random.below(2526))));
    assert!(matches!(date, Coding::Truncated { width: 2, step: 1, .. }), "{date:?}");
    let price = coding_of(money, (0..n).map(|_| Value::I64(90_000 + random.below(10_000_000) as i64)));
    assert!(matches!(price, Coding::Truncated { width: 4, step: 1, .. }), "{price:?}");
    // Dates as numbers, 19920101 to 20031228: the range needs four bytes, the values two.
    let day = |random: &mut Random| {
        19_920_101 + random.below(12) * 10_000 + random.below(12) * 100 + random.below(28)
    };
    let day_number = coding_of(Type::Integer, (0..n).map(|_| Value::I32(day(&mut random))));
    assert!(matches!(day_number, Coding::Dictionary { width: 2, .. }), "{day_number:?}");
    // Whole seconds in microseconds.
    let second =
        coding_of(Type::Timestamp, (0..n).map(|_| Value::I64(random.below(1u64 << 31) as i64 * 1_000_000)));
    assert!(matches!(second, Coding::Truncated { width: 4, step: 1_000_000, .. }), "{second:?}");
    let anything = coding_of(Type::BigInt, (0..n).map(|_| Value::I64(random.bits() as i64)));
    assert_eq!(anything, Coding::Plain);
    let flag =
        coding_of(Type::Char(1), (0..n).map(|_| Value::text(["A", "N", "R"][random.below(3) as usize])));
    assert_eq!(flag, Coding::Dictionary { width: 1, size: 3 });
    let clerk =
        coding_of(Type::Char(15), (0..n).map(|_| Value::text(&format!("Clerk#{:09}", random.below(1000)))));
    assert_eq!(clerk, Coding::Dictionary { width: 2, size: 1000 });
    let comment = coding_of(Type::Text, (0..n).map(|_| Value::text(&format!("comment {}", random.bits()))));
    assert_eq!(comment, Coding::Plain);
    // Clustered: an even sample sees no repetition, the neighbours show it.
    let clustered =
        coding_of(Type::Text, (0..n).map(|i| Value::text(&format!("group number {:09}", i / 40))));
    assert!(matches!(clustered, Coding::Dictionary { width: 2, size: 500 }), "{clustered:?}");
    let rate = coding_of(Type::Double, (0..n).map(|_| Value::F64(random.below(20) as f64 / 7.0)));
    assert!(matches!(rate, Coding::Dictionary { width: 1, .. }), "{rate:?}");
    assert_eq!(coding_of(Type::BigInt, (0..n).map(|_| Value::Null)).code_width(), Some(1));
}

#[test]
fn rising_keys_are_known_to_be_unique() {
    let values: Vec<Value> = (0..5000).map(|i| Value::I64(i * 4)).collect();
    let s = block_of(Type::BigInt, &values, COMPRESSED).statistics(0).clone();
    assert!(s.unique && s.sorted);
    assert_eq!(s.distinct, 5000);
    let mut swapped = values;
    swapped.swap(10, 4000);
    let s = block_of(Type::BigInt, &swapped, COMPRESSED).statistics(0).clone();
    assert!(!s.unique && !s.sorted);
}

#[test]
fn parts_of_every_form_make_one_block() {
    let dictionary = Arc::new(Vector::from_values(
        Type::Text,
        &["pear", "apple", "a fruit whose name is long", "unused"].map(Value::text),
    ));
    let coded = |codes: Vec<u32>| Vector::dictionary(codes.into(), dictionary.clone(), None);
    let numbers = |values: &[i64]| Vector::from_i64(Type::BigInt, values.to_vec());
    let parts = vec![
        Batch::new(vec![coded(vec![0, 1, 2]), numbers(&[1, 2, 3])], 3),
        Batch::new(
            vec![
                Vector::from_values(Type::Text, &[Value::Null, Value::text("apple")]),
                Vector::dictionary(vec![1, 0].into(), Arc::new(numbers(&[70, 80])), None),
            ],
            2,
        ),
        Batch::new(
            vec![
                Vector::constant(Type::Text, Value::text("kiwi"), 2),
                Vector::constant(Type::BigInt, Value::Null, 2),
            ],
            2,
        ),
        Batch::new(
            vec![
                Vector::constant(Type::Text, Value::Null, 1),
                Vector::constant(Type::BigInt, Value::I64(9), 1),
            ],
            1,
        ),
        Batch::new(vec![coded(vec![2, 0]).slice(1, 1), numbers(&[5, 6, 7]).slice(2, 1)], 1),
    ];
    let texts = ["pear", "apple", "a fruit whose name is long", "", "apple", "kiwi", "kiwi", "", "pear"];
    let expected: Vec<(Value, Value)> = texts
        .iter()
        .zip([Some(1), Some(2), Some(3), Some(80), Some(70), None, None, Some(9), Some(7)])
        .map(|(t, n)| {
            (if t.is_empty() { Value::Null } else { Value::text(t) }, n.map_or(Value::Null, Value::I64))
        })
        .collect();
    let columns = [(Type::Text, true), (Type::BigInt, true)];
    for layout in super::LAYOUTS {
        let block = Block::open(encoded(&columns, &parts, layout)).unwrap();
        let (a, b) = (block.fetch(0, 0..9), block.fetch(1, 0..9));
        for (row, (text, number)) in expected.iter().enumerate() {
            assert_eq!((&a.value(row), &b.value(row)), (text, number), "row {row}");
        }
        // The same rows in one flat part make the same bytes.
        let flat = [Batch::concat(&parts)];
        assert_eq!(encoded(&columns, &flat, layout).as_slice(), block.as_bytes());
    }
}

#[test]
fn long_strings_have_short_bounds() {
    let long = |c: char| Value::text(&c.to_string().repeat(2000));
    let values = [long('b'), long('é'), long('\u{10FFFF}'), Value::text("c")];
    for ty in [Type::Text, Type::Bytea] {
        let block = block_of(ty, &values, COMPRESSED);
        let s = block.statistics(0);
        assert!(values.iter().all(|v| s.min <= *v && *v <= s.max));
        assert!(s.min.as_bytes().unwrap().len() <= 256);
    }
    let block = block_of(Type::Text, &values[..2], COMPRESSED);
    let max = block.statistics(0).max.clone();
    assert!(max.as_text().unwrap().len() <= 260 && max > values[1]);
}

#[test]
fn row_estimates_are_near() {
    let mut random = Random::new(8);
    let rows = 4096;
    let column = |f: &mut dyn FnMut() -> Value, ty| {
        Vector::from_values(ty, &(0..rows).map(|_| f()).collect::<Vec<_>>())
    };
    let key = column(&mut || Value::I64(random.below(1u64 << 30) as i64), Type::BigInt);
    let mut random = Random::new(9);
    let name = column(&mut || Value::text(&format!("Customer#{:09}", random.bits() >> 40)), Type::Text);
    let mut random = Random::new(10);
    let flag = column(&mut || Value::text(["A", "N"][random.below(2) as usize]), Type::Text);
    let batch = Batch::new(vec![key, name, flag], rows);
    for layout in super::LAYOUTS {
        let columns = [(Type::BigInt, false), (Type::Text, false), (Type::Text, false)];
        let actual = encoded(&columns, &[batch.clone()], layout).len() / rows;
        let estimate = estimate_row_bytes(&batch, layout);
        assert!(estimate * 2 > actual && estimate < actual * 2, "{layout:?}: {estimate} for {actual}");
    }
}
