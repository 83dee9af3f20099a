//! Nested values of random shape: their bytes order as they do, and they go to Arrow, Parquet, Arrow files, JSON,
//! text and tables and come back as they were.

use std::cmp::Ordering;

use engine::{Database, Options, Session};
use random::Random;
use types::nested::encoding::{self, END};
use types::{Type, Value, json};
use vector::{Vector, VectorBuilder, arrow};

const WORDS: [&str; 9] = ["", "a", "b c", "null", "it's", "x,y", "[1]", "\0z", "größer \\ {=}"];

fn leaf(random: &mut Random) -> Type {
    *random.pick(&[
        Type::Boolean,
        Type::SmallInt,
        Type::Integer,
        Type::BigInt,
        Type::Double,
        Type::Decimal { precision: 12, scale: 2 },
        Type::Decimal { precision: 30, scale: 4 },
        Type::Text,
        Type::Date,
        Type::Timestamp,
    ])
}

fn random_type(random: &mut Random, depth: usize) -> Type {
    let ty = match random.below(if depth == 0 { 1 } else { 4 }) {
        0 => Ok(leaf(random)),
        1 => Type::list(random_type(random, depth - 1)),
        2 => {
            let count = 1 + random.below(3);
            Type::structure((0..count).map(|at| (format!("f{at}"), random_type(random, depth - 1))).collect())
        }
        _ => Type::map(leaf(random), random_type(random, depth - 1)),
    };
    ty.expect("a type")
}

fn random_value(random: &mut Random, ty: Type) -> Value {
    if random.chance(15) {
        return Value::Null;
    }
    match ty {
        Type::List(_) => {
            let element = ty.element().expect("a list");
            let values: Vec<Value> = (0..random.below(4)).map(|_| random_value(random, element)).collect();
            encoding::list_of(&values, element)
        }
        Type::Struct(_) => {
            let fields = ty.fields().expect("a struct");
            let values: Vec<Value> = fields.iter().map(|(_, ty)| random_value(random, *ty)).collect();
            encoding::struct_of(&values, ty).expect("as many values as fields")
        }
        Type::Map(_) => {
            let (key, value) = ty.entry().expect("a map");
            let (mut out, mut known) = (Vec::new(), Vec::new());
            for _ in 0..random.below(4) {
                let one = random_value(random, key);
                if !one.is_null() && !known.contains(&one) {
                    encoding::push_slot(&one, key, &mut out);
                    encoding::push_slot(&random_value(random, value), value, &mut out);
                    known.push(one);
                }
            }
            out.push(END);
            Value::Bytes(out.into())
        }
        Type::Boolean => Value::Bool(random.chance(50)),
        Type::SmallInt => Value::I16(random.between(-300, 300) as i16),
        Type::Integer | Type::Date => Value::I32(random.between(-20_000, 20_000) as i32),
        Type::BigInt | Type::Timestamp => Value::I64(random.between(-(1 << 50), 1 << 50)),
        Type::Double => Value::F64(random.between(-64, 64) as f64 / 4.0),
        Type::Decimal { precision, .. } if precision <= 18 => Value::I64(random.between(-9999, 9999)),
        Type::Decimal { .. } => Value::I128(i128::from(random.between(-9999, 9999)) << 40),
        _ => Value::text(WORDS[random.below(WORDS.len())]),
    }
}

/// The order that the bytes stand for, found without them.
fn compare(a: &Value, b: &Value, ty: Type) -> Ordering {
    let (Some(x), Some(y)) = (a.as_bytes(), b.as_bytes()) else { return a.cmp(b) };
    let values = |slots: Vec<Option<&[u8]>>, ty: &dyn Fn(usize) -> Type| -> Vec<(Value, Type)> {
        slots.into_iter().enumerate().map(|(at, slot)| (encoding::slot_value(slot, ty(at)), ty(at))).collect()
    };
    let parts = |bytes| match ty {
        Type::List(_) => values(encoding::elements(ty, bytes).collect(), &|_| ty.element().expect("a list")),
        Type::Map(_) => {
            let (key, value) = ty.entry().expect("a map");
            values(encoding::entries(ty, bytes).collect(), &|at| if at % 2 == 0 { key } else { value })
        }
        Type::Struct(_) => values(encoding::fields(ty, bytes), &|at| ty.fields().expect("a struct")[at].1),
        _ => vec![],
    };
    if !ty.is_nested() {
        return x.cmp(y);
    }
    let (x, y) = (parts(x), parts(y));
    for ((a, ty), (b, _)) in x.iter().zip(&y) {
        let order = compare(a, b, *ty);
        if order.is_ne() {
            return order;
        }
    }
    x.len().cmp(&y.len())
}

fn vector_of(ty: Type, values: &[Value]) -> Vector {
    let mut builder = VectorBuilder::new(ty, values.len());
    values.iter().for_each(|value| builder.push(value));
    builder.finish()
}

fn values_of(vector: &Vector) -> Vec<Value> {
    (0..vector.len()).map(|row| vector.value(row)).collect()
}

#[test]
fn bytes_order_as_values_do_and_every_way_leads_back() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let ty = random_type(&mut random, 3);
        let values: Vec<Value> = (0..40).map(|_| random_value(&mut random, ty)).collect();
        for a in &values {
            for b in &values {
                assert_eq!(
                    a.cmp(b),
                    compare(a, b, ty),
                    "seed {seed}, {ty}: {} and {}",
                    a.display(ty),
                    b.display(ty)
                );
            }
        }
        let vector = vector_of(ty, &values);
        let array = arrow::to_array(&vector);
        assert_eq!(arrow::type_from_arrow(array.data_type()), Some(ty), "seed {seed}");
        let back = arrow::from_array(array.as_ref(), ty).expect("the array").flatten();
        assert_eq!(values_of(&back), values, "seed {seed}, {ty}");
        let part = arrow::from_array(array.slice(7, 20).as_ref(), ty).expect("a slice").flatten();
        assert_eq!(values_of(&part), values[7..27], "seed {seed}, {ty}");
        for value in values.iter().filter(|v| ty.is_nested() && !v.is_null()) {
            let text = value.display(ty);
            let read = types::cast::parse_text(&text, ty)
                .unwrap_or_else(|e| panic!("seed {seed}, {ty}: {text}: {e}"));
            assert_eq!(read, *value, "seed {seed}, {ty}: {text}");
            let written = json::from_value(value, ty).expect("JSON");
            let read = json::to_value(written.as_text().expect("text"), ty, false);
            assert_eq!(read.expect("a value"), *value, "seed {seed}, {ty}: {text}");
        }
    }
}

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), memory_bytes: None, ..Default::default() })
        .expect("a database")
        .session()
}

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let width = result.schema().len();
    (0..result.rows()).map(|row| (0..width).map(|column| result.value(row, column)).collect()).collect()
}

#[test]
fn files_and_tables_keep_nested_values() {
    let folder = std::env::temp_dir().join(format!("quickstep-nested-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let session = session();
    for seed in 0..12 {
        let mut random = Random::new(1000 + seed);
        let ty = Type::list(random_type(&mut random, 2)).expect("a type");
        let mut values = Vec::new();
        for id in 0..50 {
            let value = random_value(&mut random, ty);
            let shown = match value.is_null() {
                true => "NULL".to_owned(),
                // A zero byte is nothing that a statement's text may hold.
                false => format!("'{}'", value.display(ty).replace('\0', "0").replace('\'', "''")),
            };
            values.push(format!("({id}, {shown})"));
        }
        let table = format!("t{seed}");
        session.query(&format!("CREATE TABLE {table} (id INTEGER, v {ty})")).expect("a table");
        session.query(&format!("INSERT INTO {table} VALUES {}", values.join(", "))).expect("rows");
        let expected = rows(&session, &format!("SELECT id, v FROM {table} ORDER BY id"));
        assert_eq!(expected.len(), 50);
        for extension in ["parquet", "arrow"] {
            let path = folder.join(format!("{table}.{extension}"));
            let path = path.to_string_lossy();
            session.query(&format!("COPY {table} TO '{path}'")).expect("a file");
            let read = rows(&session, &format!("SELECT id, v FROM '{path}' ORDER BY id"));
            assert_eq!(read, expected, "seed {seed}, {ty}, {extension}");
        }
        let sorted = rows(&session, &format!("SELECT v FROM {table} ORDER BY v NULLS LAST, id"));
        let mut by_hand: Vec<Value> = expected.iter().map(|row| row[1].clone()).collect();
        by_hand.sort_by(|a, b| compare(a, b, ty));
        assert_eq!(sorted.into_iter().flatten().collect::<Vec<_>>(), by_hand, "seed {seed}, {ty}");
        let elements = rows(&session, &format!("SELECT count(*) FROM {table}, unnest(v) AS u(e)"));
        let counted: i64 = expected
            .iter()
            .filter_map(|row| row[1].as_bytes())
            .map(|bytes| encoding::elements(ty, bytes).count() as i64)
            .sum();
        assert_eq!(elements, [[Value::I64(counted)]], "seed {seed}, {ty}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}

#[test]
fn deep_nesting_is_an_error() {
    let session = session();
    let deep = |open: &str, close: &str, count: usize| open.repeat(count) + "1" + &close.repeat(count);
    for count in [65, 390, 10_000] {
        for text in [
            format!("SELECT {}", deep("[", "]", count)),
            format!("SELECT {}", deep("{'a': ", "}", count)),
            format!("SELECT '{}'::INTEGER[]", deep("[", "]", count)),
            format!("SELECT CAST(NULL AS {}INTEGER{})", "LIST(".repeat(count), ")".repeat(count)),
            format!("SELECT CAST(NULL AS INTEGER{})", "[]".repeat(count)),
        ] {
            assert!(session.query(&text).is_err(), "{}", &text[..text.len().min(60)]);
        }
    }
    // JSON itself may be deep; what walks it does not recurse, or stops.
    let json = deep("[", "]", 50_000);
    rows(&session, &format!("SELECT json_type('{json}'), json_array_length('{json}')"));
    let error = session.query(&format!("SELECT json_contains('{json}', '{json}')")).expect_err("is too deep");
    assert_eq!(error.state().code(), "54001");
    assert!(session.query(&format!("SELECT '{json}'::JSON::INTEGER[]")).is_err());
    assert_eq!(rows(&session, "SELECT 1"), [[Value::I32(1)]]);
}
