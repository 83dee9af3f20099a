//! What pruning leaves out is what conditions refute, and never a row that satisfies them.
//!
//! `check` prunes with random conditions, filters what is left, and compares with all rows under the same filter.
//! Files with group statistics, page indices and Bloom filters must also lose the groups and pages they can lose.
//! Damaged indices may give rows or an error, nothing else.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use plan::Pruning;
use types::{Bound, ColumnPredicate, Value};

use super::parquet_files::{TYPES, sample, written};
use super::{Random, Scratch, rows};
use crate::Environment;
use crate::{Skipped, describe, open};

fn range(low: Option<Value>, high: Option<Value>, inclusive: bool) -> ColumnPredicate {
    let bound = |value: Option<Value>| value.map(|value| Bound { value, inclusive });
    ColumnPredicate::Range { low: bound(low), high: bound(high) }
}

fn equal(value: Value) -> ColumnPredicate {
    range(Some(value.clone()), Some(value), true)
}

fn holds(condition: &Pruning, row: &[Value]) -> bool {
    match condition {
        Pruning::Column(column, predicate) => predicate.accepts(&row[*column]),
        Pruning::All(parts) => parts.iter().all(|p| holds(p, row)),
        Pruning::Any(parts) => parts.iter().any(|p| holds(p, row)),
    }
}

/// Rows left by the conditions, and what was left out.
fn pruned(path: &str, conditions: &[Pruning]) -> (Vec<Vec<Value>>, Skipped) {
    let source = describe(&Environment::of_tests(), path, &[]).unwrap();
    let columns: Vec<usize> = (0..source.schema.len()).collect();
    let reader = open(&Environment::of_tests(), &source, &columns, 1024).unwrap();
    let skipped = reader.prune(conditions).unwrap();
    (rows(reader.as_ref()).unwrap(), skipped)
}

/// Pruning loses no row that satisfies the conditions, and keeps the others' order.
fn check(path: &str, all: &[Vec<Value>], conditions: &[Pruning]) -> Skipped {
    let (left, skipped) = pruned(path, conditions);
    let satisfying = |rows: &[Vec<Value>]| -> Vec<Vec<Value>> {
        rows.iter().filter(|row| conditions.iter().all(|c| holds(c, row))).cloned().collect()
    };
    assert_eq!(satisfying(&left), satisfying(all), "{conditions:?}");
    skipped
}

fn random_condition(all: &[Vec<Value>], random: &mut Random, depth: u32) -> Pruning {
    if depth > 0 && random.below(3) == 0 {
        let parts = (0..2 + random.below(2)).map(|_| random_condition(all, random, depth - 1)).collect();
        return if random.below(2) == 0 { Pruning::All(parts) } else { Pruning::Any(parts) };
    }
    let column = random.below(TYPES.len());
    let mut value = || loop {
        let found = all[random.below(all.len())][column].clone();
        if !found.is_null() {
            break found;
        }
    };
    let (a, b, c) = (value(), value(), value());
    let predicate = match random.below(8) {
        0 => ColumnPredicate::IsNull,
        1 => ColumnPredicate::IsNotNull,
        2 => range(Some(a), None, random.below(2) == 0),
        3 => range(None, Some(a), random.below(2) == 0),
        4 => range(Some(a), Some(b), true),
        5 => ColumnPredicate::NotEqual(a),
        6 => equal(a),
        _ => {
            let mut values = vec![a, b, c];
            values.sort_unstable();
            values.dedup();
            ColumnPredicate::In(values.into())
        }
    };
    Pruning::Column(column, predicate)
}

#[test]
fn no_row_that_satisfies_the_conditions_is_lost() {
    let (all, batch) = sample(900, 11);
    // Read back, so that values are what the file has.
    let file = Scratch::new("prune.parquet", &written(&batch, 90, 16));
    let mut random = Random::new(5);
    let mut skipped = 0;
    for _ in 0..400 {
        let conditions: Vec<Pruning> =
            (0..1 + random.below(2)).map(|_| random_condition(&all, &mut random, 2)).collect();
        let found = check(file.path(), &all, &conditions);
        skipped += found.groups_skipped + found.pages_skipped;
    }
    assert!(skipped > 1000, "{skipped}");
}

/// Ascending keys, texts that share a long prefix, and floats with NaN among them.
fn ordered(properties: WriterProperties) -> (Vec<Vec<Value>>, Vec<u8>) {
    let number = |row: i64| Some(row).filter(|row| row % 50 != 7);
    let word = |row: i64| format!("{}{row:06}", "a prefix that is longer than any bound ".repeat(3));
    let float = |row: i64| if row % 40 == 3 { f64::NAN } else { row as f64 };
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("k", Arc::new(Int64Array::from_iter((0..1000).map(number))), true),
        ("w", Arc::new(StringArray::from_iter_values((0..1000).map(word))), false),
        ("f", Arc::new(Float64Array::from_iter_values((0..1000).map(float))), false),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let rows = (0..1000)
        .map(|row| {
            vec![number(row).map_or(Value::Null, Value::I64), Value::text(&word(row)), Value::F64(float(row))]
        })
        .collect();
    (rows, bytes)
}

fn properties() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(250))
        .set_data_page_row_count_limit(50)
        .set_write_batch_size(50)
}

#[test]
fn groups_and_pages_are_skipped() {
    let (all, bytes) = ordered(properties().build());
    let file = Scratch::new("ordered.parquet", &bytes);
    let between = |low, high| Pruning::Column(0, range(Some(Value::I64(low)), Some(Value::I64(high)), true));
    let found = check(file.path(), &all, &[between(260, 290)]);
    assert_eq!((found.groups, found.groups_skipped, found.pages, found.pages_skipped), (4, 3, 5, 4));
    let (left, _) = pruned(file.path(), &[between(260, 290)]);
    assert_eq!(left, all[250..300]);
    // Each branch of a disjunction asks five pages of two groups and keeps one.
    let found = check(file.path(), &all, &[Pruning::Any(vec![between(10, 20), between(990, 999)])]);
    assert_eq!((found.groups_skipped, found.pages_skipped), (2, 18));
    // NaN is greater than everything, though no bound says that it is there.
    let above = Pruning::Column(2, range(Some(Value::F64(5000.0)), None, true));
    assert_eq!(check(file.path(), &all, &[above]).groups_skipped, 0);
    // Nothing at all passes.
    let (left, found) = pruned(file.path(), &[between(5000, 6000)]);
    assert!(left.is_empty() && found.groups_skipped == 4);
}

#[test]
fn shortened_bounds_of_texts_are_bounds() {
    let short =
        properties().set_statistics_truncate_length(Some(8)).set_column_index_truncate_length(Some(8));
    let (all, bytes) = ordered(short.build());
    let file = Scratch::new("short.parquet", &bytes);
    for row in [0, 499, 999] {
        check(file.path(), &all, &[Pruning::Column(1, equal(all[row][1].clone()))]);
    }
    let behind = Pruning::Column(1, range(Some(Value::text("b")), None, true));
    assert_eq!(check(file.path(), &all, &[behind]).groups_skipped, 4);
}

#[test]
fn files_without_statistics_are_read_whole() {
    let (all, bytes) = ordered(properties().set_statistics_enabled(EnabledStatistics::None).build());
    let file = Scratch::new("plain.parquet", &bytes);
    let found = check(file.path(), &all, &[Pruning::Column(0, equal(Value::I64(3)))]);
    assert_eq!((found.groups_skipped, found.pages_skipped), (0, 0));
}

#[test]
fn bloom_filters_refute_equalities() {
    let bloom = properties().set_statistics_enabled(EnabledStatistics::None).set_bloom_filter_enabled(true);
    let (all, bytes) = ordered(bloom.build());
    let file = Scratch::new("bloom.parquet", &bytes);
    for row in (0..1000).step_by(37) {
        for column in [0, 1] {
            if !all[row][column].is_null() {
                let condition = Pruning::Column(column, equal(all[row][column].clone()));
                let found = check(file.path(), &all, &[condition]);
                assert!(found.groups_skipped >= 2, "row {row}: {found:?}");
            }
        }
    }
    let absent = Pruning::Column(1, ColumnPredicate::In([Value::text("x"), Value::text("y")].into()));
    assert!(check(file.path(), &all, &[absent]).groups_skipped >= 3);
}

/// Damage to statistics, indices and Bloom filters: rows or an error, nothing else.
#[test]
fn damage_is_endured() {
    let (all, bytes) = ordered(properties().set_bloom_filter_enabled(true).build());
    let condition =
        [Pruning::Column(0, equal(all[300][0].clone())), Pruning::Column(1, equal(all[300][1].clone()))];
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut bytes = bytes.clone();
        // The last part of the file: Bloom filters, indices, the footer.
        let tail = bytes.len().min(12_000);
        for _ in 0..=random.below(4) {
            let at = bytes.len() - 1 - random.below(tail);
            bytes[at] = random.bits() as u8;
        }
        let file = Scratch::new("damaged.parquet", &bytes);
        let Ok(source) = describe(&Environment::of_tests(), file.path(), &[]) else { continue };
        let columns: Vec<usize> = (0..source.schema.len().min(3)).collect();
        if columns.len() < 3 {
            continue;
        }
        let Ok(reader) = open(&Environment::of_tests(), &source, &columns, 1024) else { continue };
        if reader.prune(&condition).is_ok() {
            let _ = rows(reader.as_ref());
        }
    }
}

/// Columns fetched for some rows of a window only, sparse and dense, by either decoder.
#[test]
fn rows_of_windows_are_fetched_as_they_are_wanted() {
    let (_, batch) = sample(3000, 21);
    let file = Scratch::new("late.parquet", &written(&batch, 3000, 100));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let columns: Vec<usize> = (0..TYPES.len()).collect();
    let all = rows(open(&Environment::of_tests(), &source, &columns, 1024).unwrap().as_ref()).unwrap();
    let mut random = Random::new(9);
    for step in [1usize, 3, 700, 1500] {
        let reader = open(&Environment::of_tests(), &source, &columns, 1024).unwrap();
        for unit in 0..reader.units().unwrap() {
            let mut at = 0;
            reader
                .scan(unit, &mut |window| {
                    let wanted: Vec<u32> = (0..window.rows() as u32).step_by(step).collect();
                    for column in 0..window.columns() {
                        // Some columns are not asked for in some windows.
                        if random.below(4) == 0 {
                            continue;
                        }
                        let vector = window.fetch_rows(column, &wanted)?;
                        for (place, row) in wanted.iter().enumerate() {
                            let expected = &all[at + *row as usize][column];
                            assert_eq!(vector.value(place), *expected, "column {column}, row {row}");
                        }
                    }
                    at += window.rows();
                    Ok(true)
                })
                .unwrap();
        }
    }
}
