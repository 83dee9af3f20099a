//! Normalised keys against a comparison of values, over types, directions and NULL placements.

use std::cmp::Ordering;

use plan::{Expr, SortKey};
use types::{Type, Value};
use vector::Vector;

use super::keys::{Keys, shape};

fn expected(a: &Value, b: &Value, key: &SortKey) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => {
            if key.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if key.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (false, false) => {
            let order = a.total_cmp(b);
            if key.descending { order.reverse() } else { order }
        }
    }
}

fn values(ty: Type) -> Vec<Value> {
    let mut out = vec![Value::Null];
    match ty {
        Type::Text => {
            for text in
                ["", "a", "ab", "a\0b", "a\0", "b", "é", "a longer string than twelve", "a longer string"]
            {
                out.push(Value::text(text));
            }
        }
        Type::Double => {
            for f in [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.5, f64::INFINITY, f64::NAN] {
                out.push(Value::F64(f));
            }
        }
        Type::Boolean => out.extend([Value::Bool(false), Value::Bool(true)]),
        Type::SmallInt => out.extend([i16::MIN, -1, 0, 1, i16::MAX].map(Value::I16)),
        Type::Integer => out.extend([i32::MIN, -1, 0, 1, i32::MAX].map(Value::I32)),
        Type::BigInt => out.extend([i64::MIN, -1, 0, 1, i64::MAX].map(Value::I64)),
        _ => out.extend([i128::MIN, -1, 0, 1, i128::MAX].map(Value::I128)),
    }
    out
}

#[test]
fn keys_order_as_values_do() {
    let uuid = Type::Uuid;
    let lists: [&[Type]; 8] = [
        &[Type::BigInt],
        &[Type::Integer, Type::SmallInt],
        &[Type::Double],
        &[Type::Text],
        &[uuid],
        &[Type::Text, Type::BigInt],
        &[Type::Boolean, Type::Double, Type::Boolean],
        &[Type::Integer, Type::Text],
    ];
    for types in lists {
        for flags in 0..1 << (2 * types.len()) {
            let keys: Vec<SortKey> = types
                .iter()
                .enumerate()
                .map(|(i, ty)| SortKey {
                    expr: Expr::input(i, *ty),
                    descending: flags >> (2 * i) & 1 == 1,
                    nulls_first: flags >> (2 * i + 1) & 1 == 1,
                })
                .collect();
            // All combinations of the columns' values.
            let mut rows: Vec<Vec<Value>> = vec![vec![]];
            for ty in types {
                rows = rows
                    .iter()
                    .flat_map(|r| values(*ty).into_iter().map(move |v| [r.as_slice(), &[v]].concat()))
                    .collect();
            }
            let columns: Vec<Vector> = types
                .iter()
                .enumerate()
                .map(|(c, ty)| {
                    Vector::from_values(*ty, &rows.iter().map(|r| r[c].clone()).collect::<Vec<_>>())
                })
                .collect();
            let encoded = Keys::encode(shape(&keys), &columns, &keys, rows.len());
            let order = |a: &[Value], b: &[Value]| {
                keys.iter()
                    .enumerate()
                    .map(|(c, k)| expected(&a[c], &b[c], k))
                    .find(|o| o.is_ne())
                    .unwrap_or(Ordering::Equal)
            };
            for a in 0..rows.len() {
                for b in 0..rows.len() {
                    assert_eq!(
                        encoded.compare(a, &encoded, b),
                        order(&rows[a], &rows[b]),
                        "{:?} {:?}",
                        rows[a],
                        rows[b]
                    );
                }
            }
            let sorted = encoded.sorted(true);
            assert_eq!(sorted, encoded.sorted(false));
            assert!(sorted.windows(2).all(|w| {
                let o = order(&rows[w[0] as usize], &rows[w[1] as usize]);
                o.is_lt() || (o.is_eq() && w[0] < w[1])
            }));
        }
    }
}
