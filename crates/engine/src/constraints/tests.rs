//! Key checks against a comparison of all pairs of rows.

use std::collections::HashSet;

use pool::{LayoutKind, Pool};
use random::Random;
use types::{Error, Field, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use super::references::check_references;
use super::unique::{Unique, find_duplicate};
use super::*;

fn value(ty: Type, n: u64) -> Value {
    match ty {
        Type::SmallInt => Value::I16(n as i16 - 3),
        Type::Integer | Type::Date => Value::I32(n as i32 - 3),
        Type::BigInt => Value::I64((n as i64 - 3) << 40),
        Type::Decimal { precision, .. } if precision > 18 => Value::I128((i128::from(n) - 3) << 80),
        Type::Decimal { .. } => Value::I64(n as i64 - 3),
        Type::Double => Value::F64(n as f64 / 2.0),
        _ => Value::text(&format!("{}{n}", "a text longer than a view "[..(n as usize % 26)].trim())),
    }
}

type Rows = Vec<Vec<Value>>;

fn blocks(pool: &Pool, schema: &Schema, rows: &Rows, cut: usize) -> Vec<LiveBlock> {
    let declared: Vec<(Type, bool)> = schema.fields().iter().map(|f| (f.ty, true)).collect();
    rows.chunks(cut.max(1))
        .map(|rows| {
            let column = |c: usize| {
                let values: Vec<Value> = rows.iter().map(|row| row[c].clone()).collect();
                Vector::from_values(declared[c].0, &values)
            };
            let parts = [Batch::new((0..declared.len()).map(column).collect(), rows.len())];
            let encoded = block::encode(&declared, &parts, LayoutKind::default()).unwrap();
            pool.seal(encoded).unwrap().block.into()
        })
        .collect()
}

fn schema(types: &[Type]) -> Schema {
    Schema::new(types.iter().enumerate().map(|(i, ty)| Field::new(format!("c{i}"), *ty, true)).collect())
}

/// Rows of random keys; with `fresh` no key is one of those and none comes twice.
fn random_rows(types: &[Type], count: usize, domain: u64, random: &mut Random) -> Rows {
    let one = |random: &mut Random, ty: &Type| match random.below(20) {
        0 => Value::Null,
        _ => value(*ty, random.below(domain)),
    };
    (0..count).map(|_| types.iter().map(|ty| one(random, ty)).collect()).collect()
}

fn distinct(rows: Rows, seen: &mut HashSet<Vec<Value>>) -> Rows {
    rows.into_iter().filter(|row| row.iter().any(Value::is_null) || seen.insert(row.clone())).collect()
}

const KEYS: &[&[Type]] = &[
    &[Type::SmallInt],
    &[Type::Integer],
    &[Type::BigInt],
    &[Type::Decimal { precision: 30, scale: 2 }],
    &[Type::Double],
    &[Type::Text],
    &[Type::Integer, Type::SmallInt],
    &[Type::Text, Type::Date, Type::Text],
];

#[test]
fn duplicates_are_found_as_by_comparing_all() {
    let pool = Pool::new(memory::Budget::unlimited());
    let mut random = Random::new(1);
    let (mut found, mut clean) = (0, 0);
    for round in 0..400 {
        let types = KEYS[round % KEYS.len()];
        let schema = schema(types);
        let columns: Vec<usize> = (0..types.len()).collect();
        let domain = 2 + random.below(3000);
        let mut seen = HashSet::new();
        let mut old = distinct(random_rows(types, random.below(60) as usize, domain, &mut random), &mut seen);
        let mut new = distinct(random_rows(types, random.below(60) as usize, domain, &mut random), &mut seen);
        if random.below(2) == 0 {
            // In order, as loads often are.
            old.sort();
            new.sort();
        }
        let twice = random.below(3);
        let source: Rows = if twice == 0 { old.clone() } else { new.clone() };
        if twice < 2 && !source.is_empty() {
            new.insert(
                random.below(new.len() as u64 + 1) as usize,
                source[random.below(source.len() as u64) as usize].clone(),
            );
        }
        let mut all = HashSet::new();
        let keys = old.iter().chain(&new).filter(|row| !row.iter().any(Value::is_null));
        let expected = !keys.into_iter().all(|row| all.insert(row.clone()));
        let cut = 1 + random.below(40) as usize;
        let (old, new) = (blocks(&pool, &schema, &old, cut), blocks(&pool, &schema, &new, cut));
        let pass_rows = [PASS_ROWS_MAX, 7][random.below(2) as usize];
        let got = find_duplicate(&schema, Unique::on(&columns), &old, &new, pass_rows, &|| Ok(())).unwrap();
        assert_eq!(got.is_some(), expected, "round {round}, {types:?}: {got:?}");
        if let Some(key) = got {
            assert!(all.contains(&key), "round {round}: {key:?}");
            found += 1;
        } else {
            clean += 1;
        }
    }
    assert!(found > 80 && clean > 80, "{found} found, {clean} clean");
}

#[test]
fn orphans_are_found_as_by_comparing_all() {
    let pool = Pool::new(memory::Budget::unlimited());
    let mut random = Random::new(2);
    let (mut broken, mut sound) = (0, 0);
    let pairs: Vec<(Vec<Type>, Vec<Type>)> = KEYS
        .iter()
        .map(|types| (types.to_vec(), types.to_vec()))
        .chain([
            (vec![Type::SmallInt], vec![Type::Integer]),
            (vec![Type::Integer, Type::Varchar(60)], vec![Type::SmallInt, Type::Text]),
        ])
        .collect();
    for round in 0..400 {
        let (child_types, parent_types) = &pairs[round % pairs.len()];
        let (child_schema, parent_schema) = (schema(child_types), schema(parent_types));
        let columns: Vec<usize> = (0..child_types.len()).collect();
        let domain = 2 + random.below(3000);
        let numbers: Vec<Vec<u64>> = (0..1 + random.below(80))
            .map(|_| columns.iter().map(|_| random.below(domain)).collect())
            .collect();
        let make = |types: &[Type], numbers: &[u64]| -> Vec<Value> {
            types.iter().zip(numbers).map(|(ty, n)| value(*ty, *n)).collect()
        };
        let mut parent: Rows = numbers.iter().map(|n| make(parent_types, n)).collect();
        let mut child: Rows = (0..random.below(100))
            .map(|_| {
                let mut row = make(child_types, &numbers[random.below(numbers.len() as u64) as usize]);
                if random.below(15) == 0 {
                    row[0] = Value::Null;
                }
                row
            })
            .collect();
        if random.below(2) == 0 {
            child.push(random_rows(child_types, 1, domain * 2, &mut random).remove(0));
        }
        if random.below(2) == 0 {
            parent.sort();
            child.sort();
        }
        let known: HashSet<Vec<Value>> = parent.iter().cloned().collect();
        let expected = child.iter().any(|row| !row.iter().any(Value::is_null) && !known.contains(row));
        let cut = 1 + random.below(40) as usize;
        let (parent, child) =
            (blocks(&pool, &parent_schema, &parent, cut), blocks(&pool, &child_schema, &child, cut));
        let keyed = |name, schema, blocks| Keyed { name, schema, columns: &columns, blocks };
        let pass_rows = [PASS_ROWS_MAX, 7][random.below(2) as usize];
        let got = check_references(
            "fk",
            keyed("child", &child_schema, &child),
            keyed("parent", &parent_schema, &parent),
            pass_rows,
            &|| Ok(()),
        );
        assert_eq!(got.is_err(), expected, "round {round}, {child_types:?}");
        if let Err(error) = got {
            assert_eq!(error.state(), SqlState::ForeignKeyViolation);
            broken += 1;
        } else {
            sound += 1;
        }
    }
    assert!(broken > 80 && sound > 80, "{broken} broken, {sound} sound");
}

#[test]
fn a_check_that_shall_stop_does_so_at_the_next_block() {
    let pool = Pool::new(memory::Budget::unlimited());
    // Clustered, a bit a value, packed: the three ways to prove a key.
    let clustered: Rows = (0..100).map(|i| vec![Value::I32(i)]).collect();
    let scattered: Rows = (0..100).map(|i| vec![Value::I32(i * 37 % 101)]).collect();
    let texts: Rows = (0..100).map(|i| vec![Value::text(&format!("{}", i * 37 % 101))]).collect();
    for (ty, rows) in [(Type::Integer, clustered), (Type::Integer, scattered), (Type::Text, texts)] {
        let schema = schema(&[ty]);
        let new = blocks(&pool, &schema, &rows, 10);
        let asked = std::cell::Cell::new(0);
        let stop_at = |block: usize| {
            asked.set(0);
            let asked = &asked;
            move || {
                asked.set(asked.get() + 1);
                if asked.get() > block { Err(Error::new(SqlState::QueryCanceled, "stopped")) } else { Ok(()) }
            }
        };
        for block in [0, 4] {
            let error = check_unique(&schema, "k", Unique::on(&[0]), &[], &new, &stop_at(block)).unwrap_err();
            assert_eq!((error.state(), asked.get()), (SqlState::QueryCanceled, block + 1), "{ty}");
            let keyed = |name| Keyed { name, schema: &schema, columns: &[0], blocks: &new };
            let error = check_foreign_key("k", keyed("c"), keyed("p"), &stop_at(block)).unwrap_err();
            assert_eq!((error.state(), asked.get()), (SqlState::QueryCanceled, block + 1), "{ty}");
        }
    }
}
