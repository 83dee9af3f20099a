//! A batch with the columns of TPC-H's `lineitem`, for the examples that measure.

use types::{Type, Value};
use vector::{BATCH_ROWS, Batch, Vector};

const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

/// The types of the columns, and a batch of them.
pub fn lineitem() -> (Vec<Type>, Batch) {
    let types = vec![
        Type::BigInt,
        Type::BigInt,
        Type::BigInt,
        Type::Integer,
        MONEY,
        MONEY,
        MONEY,
        MONEY,
        Type::Char(1),
        Type::Char(1),
        Type::Date,
        Type::Date,
        Type::Date,
        Type::Char(25),
        Type::Char(10),
        Type::Varchar(44),
    ];
    let words = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    let value = |column: usize, row: usize| match column {
        0..=2 => Value::I64((row * 37 + column) as i64),
        3 => Value::I32((row % 7) as i32 + 1),
        4 => Value::I64((row % 50) as i64 * 100),
        5 => Value::I64(90_000 + (row * 7919 % 9_500_000) as i64),
        6 | 7 => Value::I64((row % 11) as i64),
        8 | 9 => Value::text(["A", "N", "R"][row % 3]),
        10..=12 => Value::I32(8_000 + (row % 2_500) as i32),
        13 => Value::text(words[row % 4]),
        14 => Value::text(["TRUCK", "MAIL", "REG AIR"][row % 3]),
        _ => Value::text(&"egular courts above the final packages"[..10 + row % 28]),
    };
    let column = |(at, ty): (usize, &Type)| {
        let values: Vec<Value> = (0..BATCH_ROWS).map(|row| value(at, row)).collect();
        Vector::from_values(*ty, &values)
    };
    let columns = types.iter().enumerate().map(column).collect();
    (types, Batch::new(columns, BATCH_ROWS))
}
