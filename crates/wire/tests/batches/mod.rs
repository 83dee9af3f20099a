//! Random schemas and batches in every form of vector, and batches as rows of texts that can be compared.
#![allow(dead_code)]

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, NullBuffer};
use random::Random;
use types::{Physical, Type, Value};
use vector::{Batch, Data, Vector};

fn plain_types() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::SmallInt,
        Type::Integer,
        Type::Date,
        Type::BigInt,
        Type::Timestamp,
        Type::Decimal { precision: 12, scale: 2 },
        Type::Decimal { precision: 38, scale: 4 },
        Type::HugeInt,
        Type::Uuid,
        Type::Interval,
        Type::Real,
        Type::Double,
        Type::Text,
        Type::Varchar(40),
        Type::Bytea,
    ]
}

/// A type, nested now and then.
pub fn random_type(random: &mut Random, depth: u32) -> Type {
    if depth > 0 && random.chance(25) {
        let inner = random_type(random, depth - 1);
        let made = match random.below(3u32) {
            0 => Type::list(inner),
            1 => Type::structure(vec![("a".into(), inner), ("b".into(), Type::Text)]),
            _ => Type::map(Type::Integer, inner),
        };
        if let Ok(ty) = made {
            return ty;
        }
    }
    *random.pick(&plain_types())
}

/// Types of one to eight columns, and whether each may be NULL.
pub fn random_types(random: &mut Random) -> Vec<(Type, bool)> {
    (0..random.between(1, 8)).map(|_| (random_type(random, 2), random.chance(50))).collect()
}

fn integer(random: &mut Random, low: i128, high: i128) -> i128 {
    // Narrow ranges at any base, and the ends.
    match random.below(4u32) {
        0 => low,
        1 => high,
        _ => {
            let drawn = i128::from(random.bits() as i64) << random.below(64u32) ^ i128::from(random.bits());
            drawn.rem_euclid(high.saturating_sub(low).max(1)).saturating_add(low)
        }
    }
}

/// A value that is not NULL.
pub fn random_value(ty: Type, random: &mut Random) -> Value {
    use types::nested::encoding;
    if let Some(element) = ty.element() {
        let values: Vec<Value> = (0..random.below(4u32)).map(|_| maybe(element, random)).collect();
        return encoding::list_of(&values, element);
    }
    if let Some(fields) = ty.fields() {
        let values: Vec<Value> = fields.iter().map(|(_, ty)| maybe(*ty, random)).collect();
        return encoding::struct_of(&values, ty).expect("fields");
    }
    if let Some((key, value)) = ty.entry() {
        let mut bytes = Vec::new();
        for at in 0..random.below(3) {
            encoding::push_slot(&Value::I32(at), key, &mut bytes);
            encoding::push_slot(&maybe(value, random), value, &mut bytes);
        }
        bytes.push(encoding::END);
        return Value::Bytes(bytes.into());
    }
    match ty.physical() {
        Physical::Bool => Value::Bool(random.chance(50)),
        Physical::I16 => Value::I16(integer(random, i16::MIN.into(), i16::MAX.into()) as i16),
        Physical::I32 => Value::I32(integer(random, i32::MIN.into(), i32::MAX.into()) as i32),
        Physical::I64 => Value::I64(integer(random, i64::MIN.into(), i64::MAX.into()) as i64),
        Physical::I128 => Value::I128(integer(random, i128::MIN, i128::MAX)),
        Physical::F32 => Value::F32(random.between(-1000, 1000) as f32 / 8.0),
        Physical::F64 => Value::F64(random.between(-1000, 1000) as f64 / 8.0),
        Physical::Bytes => {
            let letters = ["a", "b", "xyz", "é", "€", "longer text ", "\0"];
            let text: String = (0..random.below(8u32)).map(|_| *random.pick(&letters)).collect();
            Value::text(&text)
        }
    }
}

fn maybe(ty: Type, random: &mut Random) -> Value {
    if random.chance(20) { Value::Null } else { random_value(ty, random) }
}

fn random_validity(rows: usize, random: &mut Random) -> Option<NullBuffer> {
    let percent = *random.pick(&[0, 10, 100]);
    random.chance(60).then(|| NullBuffer::new(BooleanBuffer::collect_bool(rows, |_| !random.chance(percent))))
}

/// A flat vector, some of whose NULL rows hold what NULL rows may hold.
fn random_flat(ty: Type, nullable: bool, rows: usize, random: &mut Random) -> Vector {
    let narrow = random.chance(50);
    let base = random_value(ty, random);
    let values: Vec<Value> = (0..rows)
        .map(|_| match (&base, narrow) {
            (Value::I32(base), true) => Value::I32(base.saturating_add(random.below(200))),
            (Value::I64(base), true) => Value::I64(base.saturating_add(random.below(70_000i64))),
            (Value::I128(base), true) => Value::I128(base.saturating_add(i128::from(random.bits() >> 20))),
            _ => random_value(ty, random),
        })
        .collect();
    let flat = Vector::from_values(ty, &values);
    if nullable { flat.with_validity(random_validity(rows, random)) } else { flat }
}

/// A vector of any form.
pub fn random_vector(ty: Type, nullable: bool, rows: usize, random: &mut Random) -> Vector {
    match random.below(6u32) {
        0 => {
            let value = if nullable && random.chance(30) { Value::Null } else { random_value(ty, random) };
            let constant = Vector::constant(ty, value, rows);
            let constant_is_value = !matches!(constant.data(), Data::Constant(Value::Null));
            match nullable && constant_is_value {
                true => constant.with_validity(random_validity(rows, random)),
                false => constant,
            }
        }
        1 | 2 => {
            let count = random.between(1, 300) as usize;
            let values = Arc::new(random_flat(ty, false, count, random));
            let codes: Vec<u32> = (0..rows).map(|_| random.below(count as u32)).collect();
            let validity = if nullable { random_validity(rows, random) } else { None };
            Vector::dictionary(codes.into(), values, validity)
        }
        3 => {
            let (before, after) = (random.below(70usize), random.below(10usize));
            random_flat(ty, nullable, before + rows + after, random).slice(before, rows)
        }
        _ => random_flat(ty, nullable, rows, random),
    }
}

/// A batch of these types.
pub fn random_batch(types: &[(Type, bool)], random: &mut Random) -> Batch {
    let rows = *random.pick(&[0, 1, 2, 63, 64, 65, 300, 1500]);
    let columns = types.iter().map(|(ty, nullable)| random_vector(*ty, *nullable, rows, random));
    let batch = Batch::new(columns.collect(), rows);
    if rows > 2 && random.chance(30) {
        let from = random.below(rows / 2);
        let length = random.below(rows - from).max(1);
        return batch.slice(from, length);
    }
    batch
}

/// The rows of batches.
pub fn rows_of(batches: &[Batch]) -> Vec<Vec<Value>> {
    let row = |batch: &Batch, row: usize| batch.columns.iter().map(|column| column.value(row)).collect();
    batches.iter().flat_map(|batch| (0..batch.rows).map(move |at| row(batch, at))).collect()
}

/// Rows in one order.
pub fn sorted(rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut rows: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}
