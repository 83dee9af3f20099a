//! Keys that refer to a row of another table, from the side of the rows that refer and of those that are referred to.
//!
//! INSERT and UPDATE call `check_foreign_key` with the new rows as the child; DELETE and UPDATE of a parent call
//! `check_referenced` with the doomed rows. Blocks whose minima and maxima exclude all keys in question are not read.
//! One integer column of moderate range uses a bit per value, everything else a [`KeySet`] of at most `PASS_ROWS_MAX`
//! keys; more keys take several passes, by their hash. A key with a NULL refers to nothing.

use block::Bitmap;
use types::nested::equality::has_own_equality;
use types::{Error, Result, SqlState, Type, Value};

use super::bounds::{Bounds, find_integer, may_hold, small_range};
use super::key_set::{KeySet, common_key_type};
use super::{GoOn, Keyed, LiveBlock, PASS_ROWS_MAX, STEP_ROWS, key_text, key_values};

/// Fails when a row of `child` refers to no row of `parent`.
pub(crate) fn check_foreign_key(
    constraint: &str,
    child: Keyed<'_>,
    parent: Keyed<'_>,
    go_on: GoOn<'_>,
) -> Result<()> {
    check_references(constraint, child, parent, PASS_ROWS_MAX, go_on)
}

/// Fails when a row of `child` has NULL in some of the key's columns, not in all (MATCH FULL).
pub(crate) fn check_full(constraint: &str, child: Keyed<'_>, go_on: GoOn<'_>) -> Result<()> {
    for live in child.blocks {
        go_on()?;
        let block = live.pin(child.columns)?;
        for range in super::steps(block.rows()) {
            let vectors: Vec<_> = child.columns.iter().map(|c| block.fetch(*c, range.clone())).collect();
            if !vectors.iter().any(|v| v.has_nulls()) {
                continue;
            }
            let mixed = |row: &usize| {
                let nulls = vectors.iter().filter(|v| v.is_null(*row)).count();
                nulls > 0 && nulls < vectors.len() && live.is_live(range.start + row)
            };
            if (0..range.len()).any(|row| mixed(&row)) {
                let message = format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{constraint}\"",
                    child.name
                );
                return Err(Error::new(SqlState::ForeignKeyViolation, message)
                    .with_detail("MATCH FULL does not allow mixing of null and nonnull key values."));
            }
        }
    }
    Ok(())
}

/// As `check_foreign_key`, with at most `pass_rows` keys held at a time.
pub(super) fn check_references(
    constraint: &str,
    child: Keyed<'_>,
    parent: Keyed<'_>,
    pass_rows: usize,
    go_on: GoOn<'_>,
) -> Result<()> {
    let missing = |values: &[Value]| {
        Error::new(
            SqlState::ForeignKeyViolation,
            format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{constraint}\"",
                child.name
            ),
        )
        .with_detail(format!(
            "Key {} is not present in table \"{}\".",
            key_text(child.schema, child.columns, values),
            parent.name
        ))
    };
    let rows: usize = child.blocks.iter().map(|b| b.rows()).sum();
    let bounds: Vec<Bounds> = child.columns.iter().map(|c| Bounds::of(*c, child.blocks)).collect();
    if rows == 0 || bounds.iter().any(|b| b.0.is_none()) {
        // No row, or in every row a NULL.
        return Ok(());
    }
    let near: Vec<&LiveBlock> =
        parent.blocks.iter().filter(|block| may_hold(block, parent.columns, &bounds)).collect();
    let of_values = !child.columns.iter().any(|c| has_own_equality(child.schema.fields()[*c].ty));
    let range = small_range(&bounds, rows).filter(|_| of_values);
    if let ([column], Some((min, values))) = (child.columns, range) {
        let mut wanted = Bitmap::empty(values);
        for block in child.blocks {
            go_on()?;
            find_integer(*column, block, min, values, |at| {
                wanted.set(at);
                false
            })?;
        }
        for block in near {
            go_on()?;
            find_integer(parent.columns[0], block, min, values, |at| {
                wanted.clear(at);
                false
            })?;
        }
        let Some(orphan) = wanted.next_set(0) else { return Ok(()) };
        let orphan = min + orphan as i128;
        for block in child.blocks {
            go_on()?;
            let distance = find_integer(*column, block, orphan, 1, |_| true)?;
            if let Some(row) = distance {
                return Err(missing(&key_values(child.columns, block, row)?));
            }
        }
        return Err(Error::internal("an orphan that is in no block"));
    }
    let types = compared_types(child, parent)?;
    let passes = rows.div_ceil(pass_rows) as u64;
    for pass in 0..passes {
        let mut keys = KeySet::new(&types, rows / passes as usize, (pass, passes));
        let places = keys.places_of(child, go_on)?;
        let mut found = Bitmap::empty(places.len());
        let filter = keys.take_filter();
        for block in &near {
            go_on()?;
            keys.each_step(block, parent.columns, |keys, present| {
                let candidates = keys.candidates(&filter, present);
                keys.find(Some(&candidates));
                for group in keys.groups.iter().filter(|group| (**group as usize) < places.len()) {
                    found.set(*group as usize);
                }
                None
            })?;
        }
        found.negate();
        if let Some(orphan) = found.next_set(0) {
            let (ordinal, row) = places[orphan];
            let values = key_values(child.columns, &child.blocks[ordinal as usize], row as usize)?;
            return Err(missing(&values));
        }
    }
    Ok(())
}

/// Fails when a row of `child` has a key of the rows `doomed` that no row of `parent`, without them, has.
pub(crate) fn check_referenced(
    constraint: &str,
    doomed: Keyed<'_>,
    parent: Keyed<'_>,
    child: Keyed<'_>,
    go_on: GoOn<'_>,
) -> Result<()> {
    let rows: usize = doomed.blocks.iter().map(|b| b.rows()).sum();
    let bounds: Vec<Bounds> =
        doomed.columns.iter().map(|c| Bounds::of_live(*c, doomed.blocks)).collect::<Result<_>>()?;
    let near: Vec<&LiveBlock> =
        child.blocks.iter().filter(|block| may_hold(block, child.columns, &bounds)).collect();
    if rows == 0 || near.is_empty() {
        return Ok(());
    }
    let types = compared_types(child, parent)?;
    let passes = rows.div_ceil(PASS_ROWS_MAX) as u64;
    for pass in 0..passes {
        let mut keys = KeySet::new(&types, rows / passes as usize, (pass, passes));
        for block in doomed.blocks {
            go_on()?;
            keys.each_step(block, doomed.columns, |keys, present| {
                keys.find(Some(present));
                keys.remember(present);
                None
            })?;
        }
        let count = keys.table.len();
        let filter = keys.take_filter();
        let mut there = Bitmap::empty(count);
        for block in parent.blocks.iter().filter(|b| may_hold(b, parent.columns, &bounds)) {
            go_on()?;
            keys.each_step(block, parent.columns, |keys, present| {
                let candidates = keys.candidates(&filter, present);
                keys.find(Some(&candidates));
                keys.groups.iter().filter(|group| (**group as usize) < count).for_each(|group| {
                    there.set(*group as usize);
                });
                None
            })?;
        }
        for block in &near {
            go_on()?;
            let found = keys.each_step(block, child.columns, |keys, present| {
                let candidates = keys.candidates(&filter, present);
                keys.find(Some(&candidates));
                let gone = |group: &u32| (*group as usize) < count && !there.get(*group as usize);
                keys.groups.iter().position(gone).map(|at| candidates[at] as usize)
            })?;
            if let Some(row) = found {
                return Err(still_referenced(constraint, parent, child, block, row)?);
            }
        }
    }
    Ok(())
}

/// A row that refers to another: the ordinal of its block and its number there, and those of the other.
pub(crate) struct Referring {
    /// Block ordinal and row of the referring row.
    pub child: (u32, u32),
    /// Block ordinal and row of the row that it refers to.
    pub parent: (u32, u32),
}

/// The rows of `child` that have a key of `parent`, and whose it is.
pub(crate) fn find_referring(parent: Keyed<'_>, child: Keyed<'_>, go_on: GoOn<'_>) -> Result<Vec<Referring>> {
    let rows: usize = parent.blocks.iter().map(|b| b.rows()).sum();
    let bounds: Vec<Bounds> =
        parent.columns.iter().map(|c| Bounds::of_live(*c, parent.blocks)).collect::<Result<_>>()?;
    let is_near = |block: &LiveBlock| may_hold(block, child.columns, &bounds);
    let mut found = Vec::new();
    if rows == 0 || !child.blocks.iter().any(is_near) {
        return Ok(found);
    }
    let types = compared_types(child, parent)?;
    let passes = rows.div_ceil(PASS_ROWS_MAX) as u64;
    for pass in 0..passes {
        let mut keys = KeySet::new(&types, rows / passes as usize, (pass, passes));
        let places = keys.places_of(parent, go_on)?;
        let filter = keys.take_filter();
        for (ordinal, block) in child.blocks.iter().enumerate().filter(|(_, block)| is_near(block)) {
            go_on()?;
            let mut begin = 0;
            keys.each_step(block, child.columns, |keys, present| {
                let candidates = keys.candidates(&filter, present);
                keys.find(Some(&candidates));
                for (group, row) in keys.groups.iter().zip(&candidates) {
                    if let Some(parent) = places.get(*group as usize) {
                        found.push(Referring { child: (ordinal as u32, begin + row), parent: *parent });
                    }
                }
                begin += STEP_ROWS as u32;
                None
            })?;
        }
    }
    Ok(found)
}

/// The error for a row of a child that refers to a key that is to go.
pub(crate) fn still_referenced(
    constraint: &str,
    parent: Keyed<'_>,
    child: Keyed<'_>,
    block: &LiveBlock,
    row: usize,
) -> Result<Error> {
    let values = key_values(child.columns, block, row)?;
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{constraint}\" on table \"{}\"",
        parent.name, child.name
    );
    let detail = format!(
        "Key {} is still referenced from table \"{}\".",
        key_text(parent.schema, parent.columns, &values),
        child.name
    );
    Ok(Error::new(SqlState::ForeignKeyViolation, message).with_detail(detail))
}

/// The types in which the values of a foreign key and of what it refers to are compared.
fn compared_types(child: Keyed<'_>, parent: Keyed<'_>) -> Result<Vec<Type>> {
    let types = child.columns.iter().zip(parent.columns).map(|(own, other)| {
        let (own, other) = (child.schema.fields()[*own].ty, parent.schema.fields()[*other].ty);
        common_key_type(own, other).ok_or_else(|| {
            Error::internal(format!("a foreign key of type {own} refers to one of type {other}"))
        })
    });
    types.collect()
}
