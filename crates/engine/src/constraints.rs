//! Verifying declared keys when rows are added: the optimizer trusts them, so every statement that adds rows proves
//! them first.
//!
//! UNIQUE and PRIMARY KEY are checked over the table's blocks and the new ones together, by the cheapest proof that
//! applies: rows clustered by the key's first column with short runs (any key), a bit per value (one integer column of
//! moderate range), or a hash of every row. FOREIGN KEY: a bit per parent value, or a hash set of parent keys. NULLs
//! never collide, and a foreign key with a NULL part refers to nothing.

use std::collections::HashSet;
use std::sync::Arc;

use block::{Bitmap, Block};
use types::{Error, Result, Schema, SqlState, Value};
use vector::{Data, Vector};

/// Longest run of equal first key columns that is compared pair by pair.
const RUN_ROWS_MAX: usize = 256;
/// Bits a value bitmap may have per row.
const BITS_PER_ROW_MAX: i128 = 64;

/// Fails when two rows of `blocks`, old and new together, agree on `columns` and none of those is NULL.
pub(crate) fn check_unique(
    table: &Schema,
    constraint: &str,
    columns: &[usize],
    blocks: &[Arc<Block>],
) -> Result<()> {
    let rows: usize = blocks.iter().map(|b| b.rows()).sum();
    if rows < 2 || columns.is_empty() {
        return Ok(());
    }
    let duplicate = match check_clustered(columns, blocks) {
        Clustered::Unique => None,
        Clustered::Duplicate(values) => Some(values),
        Clustered::No => match integer_bounds(columns, blocks) {
            Some((min, max)) if max - min < rows as i128 * BITS_PER_ROW_MAX => {
                bitmap_duplicate(columns[0], min, max, blocks)
            }
            _ => hashed_duplicate(columns, blocks),
        },
    };
    match duplicate {
        None => Ok(()),
        Some(values) => Err(Error::new(
            SqlState::UniqueViolation,
            format!("duplicate key value violates unique constraint \"{constraint}\""),
        )
        .with_detail(format!("Key {} already exists.", key_text(table, columns, &values)))),
    }
}

fn key_text(table: &Schema, columns: &[usize], values: &[Value]) -> String {
    let fields = table.fields();
    let names: Vec<&str> = columns.iter().map(|c| fields[*c].name.as_str()).collect();
    let shown: Vec<String> = columns.iter().zip(values).map(|(c, v)| v.display(fields[*c].ty)).collect();
    format!("({})=({})", names.join(", "), shown.join(", "))
}

enum Clustered {
    Unique,
    Duplicate(Vec<Value>),
    /// Not clustered, or not an integer key: nothing is proved.
    No,
}

/// Integers of any width as 64 bits, when they fit and none is NULL.
fn as_integers(vector: &Vector) -> Option<Vec<i64>> {
    if vector.has_nulls() {
        return None;
    }
    match vector.flatten().data() {
        Data::I16(v) => Some(v.iter().map(|x| i64::from(*x)).collect()),
        Data::I32(v) => Some(v.iter().map(|x| i64::from(*x)).collect()),
        Data::I64(v) => Some(v.to_vec()),
        _ => None,
    }
}

/// One pass in row order: while the first column never decreases, duplicates can only stand in one run.
fn check_clustered(columns: &[usize], blocks: &[Arc<Block>]) -> Clustered {
    let mut run: Vec<Vec<i64>> = Vec::new();
    let mut last: Option<i64> = None;
    for block in blocks.iter().filter(|b| b.rows() > 0) {
        // The block's statistics may prove it without a look at its rows.
        let statistics = block.statistics(columns[0]);
        if statistics.sorted && statistics.unique && statistics.null_count == 0 {
            let (Some(min), Some(max)) = (statistics.min.as_i64(), statistics.max.as_i64()) else {
                return Clustered::No;
            };
            if last.is_none_or(|l| l < min) {
                last = Some(max);
                run.clear();
                let at = block.rows() as u32 - 1;
                let key: Option<Vec<i64>> =
                    columns.iter().map(|c| block.fetch(*c, &[at][..]).value(0).as_i64()).collect();
                match key {
                    Some(key) => run.push(key),
                    None => return Clustered::No,
                }
                continue;
            }
        }
        let mut values = Vec::with_capacity(columns.len());
        for column in columns {
            match as_integers(&block.fetch(*column, 0..block.rows())) {
                Some(v) => values.push(v),
                None => return Clustered::No,
            }
        }
        for row in 0..block.rows() {
            let first = values[0][row];
            match last {
                Some(l) if first < l => return Clustered::No,
                Some(l) if first == l => {}
                _ => run.clear(),
            }
            last = Some(first);
            if columns.len() == 1 && !run.is_empty() {
                return Clustered::Duplicate(key_values(columns, block, row));
            }
            if run.iter().any(|key| key.iter().zip(&values).all(|(k, v)| *k == v[row])) {
                return Clustered::Duplicate(key_values(columns, block, row));
            }
            if run.len() == RUN_ROWS_MAX {
                return Clustered::No;
            }
            run.push(values.iter().map(|v| v[row]).collect());
        }
    }
    Clustered::Unique
}

fn key_values(columns: &[usize], block: &Block, row: usize) -> Vec<Value> {
    columns.iter().map(|c| block.fetch(*c, &[row as u32][..]).value(0)).collect()
}

fn integer_bounds(columns: &[usize], blocks: &[Arc<Block>]) -> Option<(i128, i128)> {
    let [column] = columns else { return None };
    let mut bounds: Option<(i128, i128)> = None;
    for block in blocks {
        let s = block.statistics(*column);
        if s.min.is_null() {
            continue;
        }
        let (min, max) = (s.min.as_i128()?, s.max.as_i128()?);
        bounds = Some(bounds.map_or((min, max), |(a, b)| (a.min(min), b.max(max))));
    }
    bounds
}

/// Calls `visit` with every non-NULL value of an integer column, block and row.
fn each_integer<'a>(
    column: usize,
    blocks: &'a [Arc<Block>],
    visit: &mut impl FnMut(i128, &'a Block, usize) -> bool,
) -> bool {
    for block in blocks {
        let vector = block.fetch(column, 0..block.rows()).flatten();
        for row in 0..vector.len() {
            if let Some(value) = vector.value(row).as_i128() {
                if !visit(value, block, row) {
                    return false;
                }
            }
        }
    }
    true
}

fn bitmap_duplicate(column: usize, min: i128, max: i128, blocks: &[Arc<Block>]) -> Option<Vec<Value>> {
    let mut seen = Bitmap::empty((max - min + 1) as usize);
    let mut found = None;
    each_integer(column, blocks, &mut |value, block, row| {
        let at = (value - min) as usize;
        if seen.get(at) {
            found = Some(key_values(&[column], block, row));
            return false;
        }
        seen.set(at);
        true
    });
    found
}

fn hashed_duplicate(columns: &[usize], blocks: &[Arc<Block>]) -> Option<Vec<Value>> {
    let rows: usize = blocks.iter().map(|b| b.rows()).sum();
    let mut places: Vec<(u64, u32, u32)> = Vec::with_capacity(rows);
    let mut hashes = Vec::new();
    for (ordinal, block) in blocks.iter().enumerate() {
        let vectors: Vec<Vector> = columns.iter().map(|c| block.fetch(*c, 0..block.rows())).collect();
        hash::hash_columns(&vectors, block.rows(), &mut hashes);
        for (row, hash) in hashes.iter().enumerate() {
            if !vectors.iter().any(|v| v.is_null(row)) {
                places.push((*hash, ordinal as u32, row as u32));
            }
        }
    }
    places.sort_unstable();
    let mut from = 0;
    while from < places.len() {
        let same = places[from..].iter().take_while(|p| p.0 == places[from].0).count();
        if same > 1 {
            let mut keys = HashSet::new();
            for (_, ordinal, row) in &places[from..from + same] {
                let key = key_values(columns, &blocks[*ordinal as usize], *row as usize);
                if keys.contains(&key) {
                    return Some(key);
                }
                keys.insert(key);
            }
        }
        from += same;
    }
    None
}

/// Fails when a row of `new` refers to no row of the parent.
pub(crate) fn check_foreign_key(
    (child_name, child): (&str, &Schema),
    constraint: &str,
    columns: &[usize],
    new: &[Arc<Block>],
    parent_name: &str,
    parent_columns: &[usize],
    parent_blocks: &[Arc<Block>],
) -> Result<()> {
    let missing = |values: &[Value]| {
        Err(Error::new(
            SqlState::ForeignKeyViolation,
            format!(
                "insert or update on table \"{child_name}\" violates foreign key constraint \"{constraint}\""
            ),
        )
        .with_detail(format!(
            "Key {} is not present in table \"{parent_name}\".",
            key_text(child, columns, values)
        )))
    };
    let parent_rows: usize = parent_blocks.iter().map(|b| b.rows()).sum();
    if let ([column], Some((min, max))) = (columns, integer_bounds(parent_columns, parent_blocks)) {
        if max - min < parent_rows as i128 * BITS_PER_ROW_MAX {
            let mut present = Bitmap::empty((max - min + 1) as usize);
            each_integer(parent_columns[0], parent_blocks, &mut |value, _, _| {
                present.set((value - min) as usize);
                true
            });
            let mut orphan = None;
            each_integer(*column, new, &mut |value, block, row| {
                let known = (min..=max).contains(&value) && present.get((value - min) as usize);
                if !known {
                    orphan = Some(key_values(columns, block, row));
                }
                known
            });
            return orphan.map_or(Ok(()), |values| missing(&values));
        }
    }
    let mut keys: HashSet<Vec<Value>> = HashSet::with_capacity(parent_rows);
    for block in parent_blocks {
        for row in 0..block.rows() {
            keys.insert(key_values(parent_columns, block, row));
        }
    }
    for block in new {
        for row in 0..block.rows() {
            let key = key_values(columns, block, row);
            if !key.iter().any(Value::is_null) && !keys.contains(&key) {
                return missing(&key);
            }
        }
    }
    Ok(())
}
