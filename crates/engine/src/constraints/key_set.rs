//! Keys of several columns, or of one that is no integer, packed into a table with a filter before it.
//!
//! A set holds the keys of one pass: those whose hash falls to it, so that its memory is bounded however many rows
//! there are. Equal keys form one group of `table`, numbered in the order in which they were first seen. The Bloom
//! filter is filled along with the table and taken once it is complete; rows that it rejects are never looked up.

use hash::aggregate::{GroupTable, KeyBatch, KeyColumn, KeyLayout};
use hash::{Bloom, BloomFilling};
use types::{Error, Physical, Result, Type};
use vector::{Data, Vector};

use super::{GoOn, Keyed, LiveBlock, STEP_ROWS, steps};

/// Packed keys of a pass: those whose hash falls to it.
pub(super) struct KeySet {
    types: Vec<Type>,
    layout: KeyLayout,
    pub(super) table: GroupTable,
    filter: BloomFilling,
    batch: KeyBatch,
    pub(super) groups: Vec<u32>,
    pass: (u64, u64),
    /// Rows with a NULL take part.
    with_nulls: bool,
}

impl KeySet {
    /// An empty set for keys of these types and about `rows` of them; `pass` is the pass's number and how many there
    /// are.
    pub(super) fn new(types: &[Type], rows: usize, pass: (u64, u64)) -> KeySet {
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
            with_nulls: false,
        }
    }

    /// Whether NULL is a value like others.
    pub(super) fn with_nulls(mut self, with_nulls: bool) -> KeySet {
        self.with_nulls = with_nulls;
        self
    }

    /// Packs the rows of a block, some at a time, and calls `visit` with those of this pass that hold no NULL (unless
    /// NULLs take part), until it returns one; that row's number in the block. A value that the set's types cannot hold
    /// equals none in it, and its row is left out.
    pub(super) fn each_step(
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
                    && (self.with_nulls || nulls.iter().all(|v| !v.is_null(*row as usize)))
                    && live.is_live(range.start + *row as usize)
            }));
            if let Some(row) = visit(self, &present) {
                return Ok(Some(range.start + row));
            }
        }
        Ok(None)
    }

    /// Enters the keys of some rows, and tells where each distinct one was first seen: the ordinal of its block and its
    /// row there, by group.
    pub(super) fn places_of(&mut self, of: Keyed<'_>, go_on: GoOn<'_>) -> Result<Vec<(u32, u32)>> {
        let mut places: Vec<(u32, u32)> = Vec::new();
        for (ordinal, block) in of.blocks.iter().enumerate() {
            go_on()?;
            let mut begin = 0;
            self.each_step(block, of.columns, |keys, present| {
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
        Ok(places)
    }

    /// The groups of some rows of the batch, into `groups`.
    pub(super) fn find(&mut self, rows: Option<&[u32]>) {
        self.table.find_or_insert(&self.batch.view(), rows, &mut self.groups);
    }

    /// Enters rows of the batch into the filter.
    pub(super) fn remember(&self, rows: &[u32]) {
        let hashes = self.batch.hashes();
        let entered: Vec<u64> = rows.iter().map(|row| hashes[*row as usize]).collect();
        self.filter.insert(&entered);
    }

    /// The filter over all that was entered, so that most keys that are not in the table are never looked for.
    pub(super) fn take_filter(&mut self) -> Bloom {
        std::mem::replace(&mut self.filter, BloomFilling::new(0)).finish()
    }

    /// Those of the batch's `rows` whose keys the filter may hold.
    pub(super) fn candidates(&self, filter: &Bloom, rows: &[u32]) -> Vec<u32> {
        let mut candidates = rows.to_vec();
        filter.retain(self.batch.hashes(), &mut candidates);
        candidates
    }
}

/// The values under a type that holds them: the same form, or integers and decimals of one scale held wider. One value
/// stands for all intervals that are equal.
fn as_type(vector: Vector, ty: Type) -> Result<Vector> {
    if vector.ty().physical() == ty.physical() {
        return Ok(vector::nested::by_equality(vector.with_type(ty)));
    }
    let flat = vector.flatten();
    let nulls = flat.validity().cloned();
    let data = match (flat.data(), ty.physical()) {
        (Data::I16(v), Physical::I32) => Data::I32(v.iter().map(|x| i32::from(*x)).collect()),
        (Data::I16(v), Physical::I64) => Data::I64(v.iter().map(|x| i64::from(*x)).collect()),
        (Data::I32(v), Physical::I64) => Data::I64(v.iter().map(|x| i64::from(*x)).collect()),
        (Data::I16(v), Physical::I128) => Data::I128(v.iter().map(|x| i128::from(*x)).collect()),
        (Data::I32(v), Physical::I128) => Data::I128(v.iter().map(|x| i128::from(*x)).collect()),
        (Data::I64(v), Physical::I128) => Data::I128(v.iter().map(|x| i128::from(*x)).collect()),
        _ => return Err(Error::internal(format!("a key of type {} compared as {ty}", flat.ty()))),
    };
    Ok(Vector::new(ty, data, nulls))
}

/// The type in which values of two key columns are compared; `None` when they never are equal as they stand.
pub(crate) fn common_key_type(a: Type, b: Type) -> Option<Type> {
    match (a, b) {
        _ if a == b => Some(a),
        _ if Type::BigInt.holds_integers_of(a) && Type::BigInt.holds_integers_of(b) => Some(Type::BigInt),
        _ if a.is_integer() && b.is_integer() => Some(Type::HugeInt),
        (Type::Decimal { precision: p, scale }, Type::Decimal { precision: q, scale: other }) => {
            (scale == other).then_some(Type::Decimal { precision: p.max(q), scale })
        }
        _ if a.is_text() && b.is_text() => Some(Type::Text),
        _ => None,
    }
}
