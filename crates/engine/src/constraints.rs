//! Verifying declared keys when rows are added: the optimizer trusts them, so every statement that adds rows proves
//! them first.
//!
//! The rows that are there already satisfy the keys, so only the new ones are proved: among themselves, and against
//! those old blocks whose statistics let a key be equal. The new keys go into the cheapest set that holds them: none at
//! all when they are clustered by the first column and no old block comes near, a bit per value for one integer column
//! of moderate range, and otherwise a table of packed keys. NULLs never collide, and a foreign key with a NULL part
//! refers to nothing.

use std::ops::Range;
use std::sync::Arc;

use block::{Bitmap, Block};
use catalog::{Deleted, StoredBlock, TableData};
use hash::aggregate::{GroupTable, KeyBatch, KeyColumn, KeyLayout};
use hash::{Bloom, BloomFilling};
use types::{Error, Physical, Result, Schema, SqlState, Type, Value};
use vector::{Data, Vector};

/// Longest run of equal first key columns that is compared pair by pair.
const RUN_ROWS_MAX: usize = 256;
/// Bits a value bitmap may have per row.
const BITS_PER_ROW_MAX: i128 = 64;

/// A block whose keys count, and which of its rows are no longer there.
#[derive(Clone)]
pub(crate) struct LiveBlock {
    pub block: Arc<Block>,
    pub deleted: Option<Arc<Deleted>>,
}

impl std::ops::Deref for LiveBlock {
    type Target = Block;
    fn deref(&self) -> &Block {
        &self.block
    }
}

impl From<Arc<Block>> for LiveBlock {
    fn from(block: Arc<Block>) -> Self {
        LiveBlock { block, deleted: None }
    }
}

impl LiveBlock {
    pub fn of(stored: &StoredBlock) -> Self {
        LiveBlock { block: stored.block.clone(), deleted: stored.deleted.clone() }
    }
    pub fn all(data: &TableData) -> Vec<LiveBlock> {
        data.stored().iter().map(LiveBlock::of).collect()
    }
    pub fn is_live(&self, row: usize) -> bool {
        self.deleted.as_ref().is_none_or(|deleted| deleted.live.get(row))
    }
}

/// Asked before each block: an error ends the check. A block is some milliseconds of work.
pub(crate) type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// Rows looked at together: their keys stay in the first- and second-level caches.
const STEP_ROWS: usize = 4096;

/// Fails when a row of `new` agrees on `columns` with another of them or with one of `old`, none of those being NULL.
/// The rows of `old` are known to differ.
pub(crate) fn check_unique(
    table: &Schema,
    constraint: &str,
    columns: &[usize],
    old: &[LiveBlock],
    new: &[LiveBlock],
    go_on: GoOn<'_>,
) -> Result<()> {
    let rows: usize = new.iter().map(|b| b.rows()).sum();
    if rows == 0 || columns.is_empty() {
        return Ok(());
    }
    match find_duplicate(table, columns, old, new, PASS_ROWS_MAX, go_on)? {
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

fn find_duplicate(
    table: &Schema,
    columns: &[usize],
    old: &[LiveBlock],
    new: &[LiveBlock],
    pass_rows: usize,
    go_on: GoOn<'_>,
) -> Result<Option<Vec<Value>>> {
    let rows: usize = new.iter().map(|b| b.rows()).sum();
    let bounds: Vec<Bounds> = columns.iter().map(|c| Bounds::of(*c, new)).collect();
    let near: Vec<&LiveBlock> = old.iter().filter(|block| may_hold(block, columns, &bounds)).collect();
    if near.is_empty() {
        match check_clustered(columns, new, go_on)? {
            Clustered::Unique => return Ok(None),
            Clustered::Duplicate(values) => return Ok(Some(values)),
            Clustered::No => {}
        }
    }
    if let ([column], Some((min, values))) = (columns, small_range(&bounds, rows)) {
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
    let types: Vec<Type> = columns.iter().map(|c| table.fields()[*c].ty).collect();
    // A table of this many keys at a time bounds its memory; more rows are proved in passes, by their hash.
    let passes = rows.div_ceil(pass_rows) as u64;
    for pass in 0..passes {
        let mut keys = KeySet::new(&types, rows / passes as usize, (pass, passes));
        for block in new {
            go_on()?;
            let found = keys.each_step(block, columns, |keys, present| {
                let mut known = keys.table.len();
                keys.find(Some(present));
                for (group, row) in keys.groups.iter().zip(present) {
                    if (*group as usize) < known {
                        return Some(*row as usize);
                    }
                    known += 1;
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

/// Keys held at a time, at most.
const PASS_ROWS_MAX: usize = 1 << 23;

/// Minimum and maximum of a column over some blocks; `None` when every row is NULL.
#[derive(Clone)]
struct Bounds(Option<(Value, Value)>);

impl Bounds {
    fn of(column: usize, blocks: &[LiveBlock]) -> Bounds {
        let mut bounds: Option<(Value, Value)> = None;
        for block in blocks {
            let s = block.statistics(column);
            if s.min.is_null() {
                continue;
            }
            bounds = Some(match bounds {
                None => (s.min.clone(), s.max.clone()),
                Some((min, max)) => (min.min(s.min.clone()), max.max(s.max.clone())),
            });
        }
        Bounds(bounds)
    }
    fn integers(&self) -> Option<(i128, i128)> {
        let (min, max) = self.0.as_ref()?;
        Some((min.as_i128()?, max.as_i128()?))
    }
}

/// Whether a row of the block may have a key between the bounds. A key with a NULL never counts.
fn may_hold(block: &LiveBlock, columns: &[usize], bounds: &[Bounds]) -> bool {
    block.rows() > 0
        && columns.iter().zip(bounds).all(|(column, bounds)| {
            let s = block.statistics(*column);
            match &bounds.0 {
                Some((min, max)) => !s.min.is_null() && s.min <= *max && s.max >= *min,
                None => false,
            }
        })
}

/// Least value and number of values between the bounds of a single integer column, when a bit each is little.
fn small_range(bounds: &[Bounds], rows: usize) -> Option<(i128, usize)> {
    let [bounds] = bounds else { return None };
    let (min, max) = bounds.integers()?;
    let range = max.checked_sub(min)?;
    (range < rows as i128 * BITS_PER_ROW_MAX).then_some((min, range as usize + 1))
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

fn key_values(columns: &[usize], block: &LiveBlock, row: usize) -> Result<Vec<Value>> {
    let block = block.pin(columns)?;
    Ok(columns.iter().map(|c| block.fetch(*c, &[row as u32][..]).value(0)).collect())
}

fn steps(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(STEP_ROWS).map(move |from| from..(from + STEP_ROWS).min(rows))
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

/// Calls `visit` with the distance from `min` of every value of an integer column that lies in `min..min + values`,
/// NULLs passed over, until it returns true; the row it did so for.
fn find_integer(
    column: usize,
    live: &LiveBlock,
    min: i128,
    values: usize,
    mut visit: impl FnMut(usize) -> bool,
) -> Result<Option<usize>> {
    let block = live.pin(&[column])?;
    for range in steps(block.rows()) {
        let vector = block.fetch(column, range.clone()).flatten();
        let nulls = vector.validity().filter(|n| n.null_count() > 0);
        let mut each = |row: usize, value: i128| {
            let distance = value - min;
            (0..values as i128).contains(&distance)
                && nulls.is_none_or(|n| n.is_valid(row))
                && live.is_live(range.start + row)
                && visit(distance as usize)
        };
        // The arithmetic is of the column's width, which the match decides once a step.
        macro_rules! search {
            ($slice:expr) => {
                $slice
                    .iter()
                    .enumerate()
                    .find(|(row, value)| each(*row, i128::from(**value)))
                    .map(|(row, _)| row)
            };
        }
        let found = match vector.data() {
            Data::I16(v) => search!(v),
            Data::I32(v) => search!(v),
            Data::I64(v) => match i64::try_from(min) {
                Ok(min) => v.iter().enumerate().position(|(row, value)| {
                    let distance = value.wrapping_sub(min) as u64;
                    // A value below the minimum wraps to one beyond the range.
                    distance < values as u64
                        && *value >= min
                        && nulls.is_none_or(|n| n.is_valid(row))
                        && live.is_live(range.start + row)
                        && visit(distance as usize)
                }),
                Err(_) => search!(v),
            },
            Data::I128(v) => search!(v),
            _ => None,
        };
        if let Some(row) = found {
            return Ok(Some(range.start + row));
        }
    }
    Ok(None)
}

/// Packed keys of a pass: those whose hash falls to it.
struct KeySet {
    types: Vec<Type>,
    layout: KeyLayout,
    table: GroupTable,
    filter: BloomFilling,
    batch: KeyBatch,
    groups: Vec<u32>,
    pass: (u64, u64),
}

impl KeySet {
    fn new(types: &[Type], rows: usize, pass: (u64, u64)) -> KeySet {
        // Rows with a NULL are left out, but their place is packed with the others.
        let columns: Vec<KeyColumn> = types.iter().map(|ty| KeyColumn { ty: *ty, nullable: true }).collect();
        let layout = KeyLayout::new(&columns);
        KeySet {
            types: types.to_vec(),
            table: GroupTable::with_capacity(&layout, rows),
            layout,
            filter: BloomFilling::new(rows),
            batch: KeyBatch::default(),
            groups: Vec::new(),
            pass,
        }
    }

    /// Packs the rows of a block, some at a time, and calls `visit` with those of this pass that hold no NULL, until it
    /// returns one; that row's number in the block. A value that the set's types cannot hold equals none in it, and its
    /// row is left out.
    fn each_step(
        &mut self,
        live: &LiveBlock,
        columns: &[usize],
        mut visit: impl FnMut(&mut KeySet, &[u32]) -> Option<usize>,
    ) -> Result<Option<usize>> {
        let mut present: Vec<u32> = Vec::new();
        let block = live.pin(columns)?;
        for range in steps(block.rows()) {
            let mut vectors = Vec::with_capacity(columns.len());
            for (column, ty) in columns.iter().zip(&self.types) {
                vectors.push(as_type(block.fetch(*column, range.clone()), *ty)?);
            }
            let mut batch = std::mem::take(&mut self.batch);
            self.layout.encode(&vectors, range.len(), &mut batch)?;
            self.batch = batch;
            present.clear();
            let (pass, passes) = self.pass;
            let hashes = self.batch.hashes();
            let nulls: Vec<_> = vectors.iter().filter(|v| v.has_nulls()).collect();
            present.extend((0..range.len() as u32).filter(|row| {
                // The table uses the high bits of the hash.
                (passes == 1 || hashes[*row as usize] % passes == pass)
                    && nulls.iter().all(|v| !v.is_null(*row as usize))
                    && live.is_live(range.start + *row as usize)
            }));
            if let Some(row) = visit(self, &present) {
                return Ok(Some(range.start + row));
            }
        }
        Ok(None)
    }

    /// The groups of some rows of the batch, into `groups`.
    fn find(&mut self, rows: Option<&[u32]>) {
        self.table.find_or_insert(&self.batch.view(), rows, &mut self.groups);
    }

    /// Enters rows of the batch into the filter.
    fn remember(&self, rows: &[u32]) {
        let hashes = self.batch.hashes();
        let entered: Vec<u64> = rows.iter().map(|row| hashes[*row as usize]).collect();
        self.filter.insert(&entered);
    }

    /// The filter over all that was entered, so that most keys that are not in the table are never looked for.
    fn take_filter(&mut self) -> Bloom {
        std::mem::replace(&mut self.filter, BloomFilling::new(0)).finish()
    }

    /// Of `rows` of the batch those that may be among the keys of the filter.
    fn candidates(&self, filter: &Bloom, rows: &[u32]) -> Vec<u32> {
        let mut candidates = rows.to_vec();
        filter.retain(self.batch.hashes(), &mut candidates);
        candidates
    }
}

/// The values under a type that holds them: the same form, or integers and decimals of one scale held wider.
fn as_type(vector: Vector, ty: Type) -> Result<Vector> {
    if vector.ty().physical() == ty.physical() {
        return Ok(vector.with_type(ty));
    }
    let flat = vector.flatten();
    let nulls = flat.validity().cloned();
    let data = match (flat.data(), ty.physical()) {
        (Data::I16(v), Physical::I32) => Data::I32(v.iter().map(|x| i32::from(*x)).collect()),
        (Data::I16(v), Physical::I64) => Data::I64(v.iter().map(|x| i64::from(*x)).collect()),
        (Data::I32(v), Physical::I64) => Data::I64(v.iter().map(|x| i64::from(*x)).collect()),
        (Data::I64(v), Physical::I128) => Data::I128(v.iter().map(|x| i128::from(*x)).collect()),
        _ => return Err(Error::internal(format!("a key of type {} compared as {ty}", flat.ty()))),
    };
    Ok(Vector::new(ty, data, nulls))
}

/// The type in which values of two key columns are compared; `None` when they never are equal as they stand.
pub(crate) fn common_key_type(a: Type, b: Type) -> Option<Type> {
    let integer = |ty| matches!(ty, Type::SmallInt | Type::Integer | Type::BigInt);
    match (a, b) {
        _ if a == b => Some(a),
        _ if integer(a) && integer(b) => Some(Type::BigInt),
        (Type::Decimal { precision: p, scale }, Type::Decimal { precision: q, scale: other }) => {
            (scale == other).then_some(Type::Decimal { precision: p.max(q), scale })
        }
        _ if a.is_text() && b.is_text() => Some(Type::Text),
        _ => None,
    }
}

/// A key's columns in one table, and its rows.
#[derive(Clone, Copy)]
pub(crate) struct Keyed<'a> {
    pub name: &'a str,
    pub schema: &'a Schema,
    pub columns: &'a [usize],
    pub blocks: &'a [LiveBlock],
}

/// Fails when a row of `child` refers to no row of `parent`.
pub(crate) fn check_foreign_key(
    constraint: &str,
    child: Keyed<'_>,
    parent: Keyed<'_>,
    go_on: GoOn<'_>,
) -> Result<()> {
    check_references(constraint, child, parent, PASS_ROWS_MAX, go_on)
}

fn check_references(
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
    if let ([column], Some((min, values))) = (child.columns, small_range(&bounds, rows)) {
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
    let mut types = Vec::with_capacity(child.columns.len());
    for (own, other) in child.columns.iter().zip(parent.columns) {
        let (own, other) = (child.schema.fields()[*own].ty, parent.schema.fields()[*other].ty);
        let ty = common_key_type(own, other).ok_or_else(|| {
            Error::internal(format!("a foreign key of type {own} refers to one of type {other}"))
        })?;
        types.push(ty);
    }
    let passes = rows.div_ceil(pass_rows) as u64;
    for pass in 0..passes {
        let mut keys = KeySet::new(&types, rows / passes as usize, (pass, passes));
        // Where each distinct key was first seen.
        let mut places: Vec<(u32, u32)> = Vec::new();
        for (ordinal, block) in child.blocks.iter().enumerate() {
            go_on()?;
            let mut begin = 0;
            keys.each_step(block, child.columns, |keys, present| {
                keys.find(Some(present));
                for (group, row) in keys.groups.iter().zip(present) {
                    if *group as usize == places.len() {
                        places.push((ordinal as u32, (begin + *row as usize) as u32));
                    }
                }
                keys.remember(present);
                begin += STEP_ROWS;
                None
            })?;
        }
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
    let bounds: Vec<Bounds> = doomed.columns.iter().map(|c| Bounds::of(*c, doomed.blocks)).collect();
    let near: Vec<&LiveBlock> =
        child.blocks.iter().filter(|block| may_hold(block, child.columns, &bounds)).collect();
    if rows == 0 || near.is_empty() {
        return Ok(());
    }
    let mut types = Vec::with_capacity(child.columns.len());
    for (own, other) in child.columns.iter().zip(parent.columns) {
        let (own, other) = (child.schema.fields()[*own].ty, parent.schema.fields()[*other].ty);
        let ty = common_key_type(own, other).ok_or_else(|| {
            Error::internal(format!("a foreign key of type {own} refers to one of type {other}"))
        })?;
        types.push(ty);
    }
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
                let values = key_values(child.columns, block, row)?;
                let (parent_name, child_name) = (parent.name, child.name);
                return Err(Error::new(
                    SqlState::ForeignKeyViolation,
                    format!(
                        "update or delete on table \"{parent_name}\" violates foreign key constraint \"{constraint}\" on table \"{child_name}\""
                    ),
                )
                .with_detail(format!(
                    "Key {} is still referenced from table \"{child_name}\".",
                    key_text(parent.schema, parent.columns, &values)
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pool::{LayoutKind, Pool};
    use types::Field;
    use vector::Batch;

    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % n
        }
    }

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
        let mut random = Random(1);
        let (mut found, mut clean) = (0, 0);
        for round in 0..400 {
            let types = KEYS[round % KEYS.len()];
            let schema = schema(types);
            let columns: Vec<usize> = (0..types.len()).collect();
            let domain = 2 + random.below(3000);
            let mut seen = HashSet::new();
            let mut old =
                distinct(random_rows(types, random.below(60) as usize, domain, &mut random), &mut seen);
            let mut new =
                distinct(random_rows(types, random.below(60) as usize, domain, &mut random), &mut seen);
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
            let got = find_duplicate(&schema, &columns, &old, &new, pass_rows, &|| Ok(())).unwrap();
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
        let mut random = Random(2);
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
                    if asked.get() > block {
                        Err(Error::new(SqlState::QueryCanceled, "stopped"))
                    } else {
                        Ok(())
                    }
                }
            };
            for block in [0, 4] {
                let error = check_unique(&schema, "k", &[0], &[], &new, &stop_at(block)).unwrap_err();
                assert_eq!((error.state(), asked.get()), (SqlState::QueryCanceled, block + 1), "{ty}");
                let keyed = |name| Keyed { name, schema: &schema, columns: &[0], blocks: &new };
                let error = check_foreign_key("k", keyed("c"), keyed("p"), &stop_at(block)).unwrap_err();
                assert_eq!((error.state(), asked.get()), (SqlState::QueryCanceled, block + 1), "{ty}");
            }
        }
    }
}
