//! Keys that no two rows may share.
//!
//! The old rows are known to differ, so only the new ones are proved, among themselves and against old blocks whose
//! bounds come near. The cheapest proof that applies is used: row order where the new rows are clustered by the first
//! column, a bit per value for one integer column of moderate range, and otherwise a [`KeySet`] in passes of at most
//! `PASS_ROWS_MAX` keys. Called by statements before they publish rows and by commits (`verify`).

use block::Bitmap;
use types::nested::equality::has_own_equality;
use types::{Error, Result, Schema, SqlState, Type, Value};
use vector::{Data, Vector};

use super::bounds::{Bounds, find_integer, may_hold, small_range};
use super::key_set::KeySet;
use super::{GoOn, LiveBlock, PASS_ROWS_MAX, key_text, key_values, steps};

/// Longest run of equal first key columns that is compared pair by pair.
const RUN_ROWS_MAX: usize = 256;

/// A key's columns, and whether NULL equals NULL in it.
#[derive(Clone, Copy)]
pub(crate) struct Unique<'a> {
    /// Positions of the key's columns.
    pub columns: &'a [usize],
    /// NULLS NOT DISTINCT: two NULLs count as equal.
    pub nulls_equal: bool,
}

impl<'a> Unique<'a> {
    /// The columns and NULL rule of a declared key.
    pub fn of(key: &'a catalog::Key) -> Self {
        Unique { columns: &key.columns, nulls_equal: key.nulls_equal }
    }
    /// With NULLs that never equal each other.
    #[cfg(test)]
    pub fn on(columns: &'a [usize]) -> Self {
        Unique { columns, nulls_equal: false }
    }
}

/// Fails when a row of `new` agrees on the key's columns with another of them or with one of `old`, none of those being
/// NULL unless NULLs are equal. The rows of `old` are known to differ.
pub(crate) fn check_unique(
    table: &Schema,
    constraint: &str,
    key: Unique<'_>,
    old: &[LiveBlock],
    new: &[LiveBlock],
    go_on: GoOn<'_>,
) -> Result<()> {
    let columns = key.columns;
    let rows: usize = new.iter().map(|b| b.rows()).sum();
    if rows == 0 || columns.is_empty() {
        return Ok(());
    }
    match find_duplicate(table, key, old, new, PASS_ROWS_MAX, go_on)? {
        None => Ok(()),
        Some(values) => Err(Error::new(
            SqlState::UniqueViolation,
            format!("duplicate key value violates unique constraint \"{constraint}\""),
        )
        .with_detail(format!("Key {} already exists.", key_text(table, columns, &values)))),
    }
}

/// The values of a key that occurs twice, if there is one; at most `pass_rows` keys are held at a time.
pub(super) fn find_duplicate(
    table: &Schema,
    key: Unique<'_>,
    old: &[LiveBlock],
    new: &[LiveBlock],
    pass_rows: usize,
    go_on: GoOn<'_>,
) -> Result<Option<Vec<Value>>> {
    let columns = key.columns;
    let types: Vec<Type> = columns.iter().map(|c| table.fields()[*c].ty).collect();
    // Equal intervals are held as different values, of which neither order nor bits tell.
    let of_values = !types.iter().any(|ty| has_own_equality(*ty));
    let rows: usize = new.iter().map(|b| b.rows()).sum();
    let bounds: Vec<Bounds> = columns.iter().map(|c| Bounds::of(*c, new)).collect();
    // Bounds say nothing of NULLs, so where these count every block may hold an equal key.
    let has_null = |block: &LiveBlock| columns.iter().any(|c| block.statistics(*c).null_count > 0);
    let with_nulls = key.nulls_equal && new.iter().any(has_null);
    let near: Vec<&LiveBlock> =
        old.iter().filter(|block| with_nulls || may_hold(block, columns, &bounds)).collect();
    if near.is_empty() && of_values {
        match check_clustered(columns, new, go_on)? {
            Clustered::Unique => return Ok(None),
            Clustered::Duplicate(values) => return Ok(Some(values)),
            Clustered::No => {}
        }
    }
    if let ([column], Some((min, values)), false) =
        (columns, small_range(&bounds, rows), with_nulls || !of_values)
    {
        let mut seen = Bitmap::empty(values);
        for block in new {
            go_on()?;
            let found = find_integer(*column, block, min, values, |at| {
                let before = seen.get(at);
                seen.set(at);
                before
            })?;
            if let Some(row) = found {
                return Ok(Some(key_values(columns, block, row)?));
            }
        }
        for block in near {
            go_on()?;
            if let Some(row) = find_integer(*column, block, min, values, |at| seen.get(at))? {
                return Ok(Some(key_values(columns, block, row)?));
            }
        }
        return Ok(None);
    }
    // A table of this many keys at a time bounds its memory; more rows are proved in passes, by their hash.
    let passes = rows.div_ceil(pass_rows) as u64;
    for pass in 0..passes {
        let mut keys = KeySet::new(&types, rows / passes as usize, (pass, passes)).with_nulls(with_nulls);
        for block in new {
            go_on()?;
            let found = keys.each_step(block, columns, |keys, present| {
                let known = keys.table.len();
                keys.find(Some(present));
                // Each row that is new has the next group.
                for (known, (group, row)) in (known..).zip(keys.groups.iter().zip(present)) {
                    if (*group as usize) < known {
                        return Some(*row as usize);
                    }
                }
                keys.remember(present);
                None
            })?;
            if let Some(row) = found {
                return Ok(Some(key_values(columns, block, row)?));
            }
        }
        let known = keys.table.len();
        let filter = keys.take_filter();
        for block in &near {
            go_on()?;
            let found = keys.each_step(block, columns, |keys, present| {
                let candidates = keys.candidates(&filter, present);
                keys.find(Some(&candidates));
                let at = keys.groups.iter().position(|group| (*group as usize) < known);
                at.map(|at| candidates[at] as usize)
            })?;
            if let Some(row) = found {
                return Ok(Some(key_values(columns, block, row)?));
            }
        }
    }
    Ok(None)
}

enum Clustered {
    Unique,
    Duplicate(Vec<Value>),
    /// Not clustered, or not an integer key: nothing is proved.
    No,
}

/// One pass in row order: while the first column never decreases, duplicates can only stand in one run.
fn check_clustered(columns: &[usize], blocks: &[LiveBlock], go_on: GoOn<'_>) -> Result<Clustered> {
    let width = columns.len();
    // Keys of the run, one after another.
    let mut run: Vec<i64> = Vec::new();
    let mut last: Option<i64> = None;
    let mut values: Vec<Vec<i64>> = vec![Vec::new(); width];
    // What the last row of a block says of the next one holds only while it is there.
    if blocks.iter().any(|block| block.deleted.is_some()) {
        return Ok(Clustered::No);
    }
    for live in blocks.iter().filter(|b| b.rows() > 0) {
        go_on()?;
        let block = live.pin(columns)?;
        // The block's statistics may prove it without a look at its rows.
        let statistics = block.statistics(columns[0]);
        if statistics.sorted && statistics.unique && statistics.null_count == 0 {
            let (Some(min), Some(max)) = (statistics.min.as_i64(), statistics.max.as_i64()) else {
                return Ok(Clustered::No);
            };
            if last.is_none_or(|l| l < min) {
                last = Some(max);
                run.clear();
                let at = block.rows() as u32 - 1;
                let key: Option<Vec<i64>> =
                    columns.iter().map(|c| block.fetch(*c, &[at][..]).value(0).as_i64()).collect();
                match key {
                    Some(key) => run.extend(key),
                    None => return Ok(Clustered::No),
                }
                continue;
            }
        }
        for range in steps(block.rows()) {
            for (column, values) in columns.iter().zip(&mut values) {
                if !integers(&block.fetch(*column, range.clone()), values) {
                    return Ok(Clustered::No);
                }
            }
            for row in 0..range.len() {
                let first = values[0][row];
                match last {
                    Some(l) if first < l => return Ok(Clustered::No),
                    Some(l) if first == l => {}
                    _ => run.clear(),
                }
                last = Some(first);
                let same = |key: &[i64]| key.iter().zip(&values).all(|(k, v)| *k == v[row]);
                if run.chunks_exact(width).any(same) {
                    return Ok(Clustered::Duplicate(key_values(columns, live, range.start + row)?));
                }
                if run.len() >= RUN_ROWS_MAX * width {
                    return Ok(Clustered::No);
                }
                run.extend(values.iter().map(|v| v[row]));
            }
        }
    }
    Ok(Clustered::Unique)
}

/// Integers of any width up to 64 bits, in place of what `out` held; false when they are no such or one is NULL.
fn integers(vector: &Vector, out: &mut Vec<i64>) -> bool {
    out.clear();
    if vector.has_nulls() {
        return false;
    }
    match vector.flatten().data() {
        Data::I16(v) => out.extend(v.iter().map(|x| i64::from(*x))),
        Data::I32(v) => out.extend(v.iter().map(|x| i64::from(*x))),
        Data::I64(v) => out.extend_from_slice(v),
        _ => return false,
    }
    true
}
