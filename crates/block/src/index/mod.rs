//! Index sub-blocks: what else a block knows about its rows, co-located with them. No index spans blocks.
//!
//! An index is a section of bytes, in its block or in bytes of its own (`beside`): either way it is checksummed and
//! validated like all else. It answers a predicate on its column for the rows of the block as a bitmap. Which way is
//! taken is decided per block and predicate (`access`), never by the planner.

pub(crate) mod aggregates;
mod beside;
pub(crate) mod bloom;
mod checked;
pub(crate) mod keys;
pub(crate) mod tree;
pub(crate) mod weaving;

use arrow_buffer::Buffer;

pub use aggregates::ZoneAggregate;
pub use beside::EncodedIndices;
pub(crate) use beside::open_for as open_beside;
pub(crate) use checked::Checked;
use keys::KeySpace;

use crate::layout::{self, Section};
use crate::stripe::Stripe;
use crate::{IndexKind, IndexSpecification};

/// An index of one column, opened.
#[derive(Debug)]
pub(crate) struct Index {
    /// The column, as its tuple store numbers it.
    pub(crate) column: usize,
    pub(crate) space: KeySpace,
    pub(crate) body: Body,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Body {
    Tree(tree::Tree),
    Vertical(weaving::Vertical),
    Horizontal(weaving::Horizontal),
    Aggregates(aggregates::Aggregates),
    Bloom(bloom::Bloom),
}

impl Index {
    pub(crate) fn kind(&self) -> IndexKind {
        match self.body {
            Body::Tree(_) => IndexKind::Tree,
            Body::Vertical(_) => IndexKind::WeavingVertical,
            Body::Horizontal(_) => IndexKind::WeavingHorizontal,
            Body::Aggregates(_) => IndexKind::Aggregates,
            Body::Bloom(_) => IndexKind::Bloom,
        }
    }
}

/// Whether sections of the kind hold indices.
pub(crate) fn is_index(section_kind: u32) -> bool {
    kind_of(section_kind).is_some()
}

/// The kind of index that a section holds.
pub(crate) fn kind_of(section_kind: u32) -> Option<IndexKind> {
    Some(match section_kind {
        layout::SECTION_TREE => IndexKind::Tree,
        layout::SECTION_WEAVING_VERTICAL => IndexKind::WeavingVertical,
        layout::SECTION_WEAVING_HORIZONTAL => IndexKind::WeavingHorizontal,
        layout::SECTION_AGGREGATES => IndexKind::Aggregates,
        layout::SECTION_BLOOM => IndexKind::Bloom,
        _ => return None,
    })
}

/// A section's `parameter`: the index's own number, and how keys are made above it, so that an index is not read with
/// keys of another kind.
fn parameter(space: &KeySpace, number: u64) -> u64 {
    let tag: u64 = match space {
        KeySpace::Codes => 1,
        KeySpace::Integers { .. } => 2,
        KeySpace::Floats => 3,
        KeySpace::Text { .. } => 4,
    };
    tag << 32 | number
}

/// A section's `base`: what keys were counted from.
fn base(space: &KeySpace) -> i128 {
    match space {
        KeySpace::Integers { base } => *base,
        KeySpace::Text { shared } => shared.len() as i128,
        KeySpace::Codes | KeySpace::Floats => 0,
    }
}

/// The index on a column that is there in full; `None` when the column has no such keys in this block.
pub(crate) fn build(
    kind: IndexKind,
    column: usize,
    stripe: &Stripe,
    rows: usize,
) -> Option<(Section, Vec<u8>)> {
    let space = KeySpace::of(stripe)?;
    let keys = |of_null: u64| -> Vec<u64> {
        let present = |row: usize| stripe.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        (0..rows).map(|row| if present(row) { space.key(&stripe.values, row) } else { of_null }).collect()
    };
    let bits = || weaving::bits_of(space.last(stripe));
    let (section_kind, number, count, bytes) = match kind {
        IndexKind::Tree => {
            let width = if space.last(stripe) <= u64::from(u32::MAX) { 4 } else { 8 };
            let present = |row: &u32| stripe.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row as usize));
            let mut pairs: Vec<(u64, u32)> = (0..rows as u32)
                .filter(present)
                .map(|row| (space.key(&stripe.values, row as usize), row))
                .collect();
            pairs.sort_unstable();
            (layout::SECTION_TREE, width as u64, pairs.len(), tree::build(&pairs, width))
        }
        IndexKind::WeavingVertical if space.is_exact() && bits() <= weaving::BITS_MAX => {
            let bits = bits();
            let bytes = weaving::build_vertical(&keys(0), bits);
            (layout::SECTION_WEAVING_VERTICAL, u64::from(bits), rows, bytes)
        }
        IndexKind::WeavingHorizontal if space.is_exact() && bits() <= weaving::FIELD_BITS_MAX => {
            let bits = bits();
            let bytes = weaving::build_horizontal(&keys(0), bits);
            (layout::SECTION_WEAVING_HORIZONTAL, u64::from(bits), rows, bytes)
        }
        IndexKind::Aggregates => {
            let bytes = aggregates::build(stripe, &space, rows);
            (layout::SECTION_AGGREGATES, aggregates::ZONE_ROWS as u64, rows, bytes)
        }
        IndexKind::Bloom => (layout::SECTION_BLOOM, 0, rows, bloom::build(stripe, rows)),
        IndexKind::WeavingVertical | IndexKind::WeavingHorizontal => return None,
    };
    let section = Section {
        kind: section_kind,
        column: column as u32,
        base: base(&space),
        parameter: parameter(&space, number),
        count: count as u64,
        ..Section::default()
    };
    Some((section, bytes))
}

/// Reads the index of a section whose place was checked; `bytes` begins with the byte `first` of what the section is a
/// part of. `column` is what the section says its column is: its values are not looked at. `check` says that the bytes
/// come from elsewhere.
pub(crate) fn open(
    bytes: &Buffer,
    first: usize,
    section: &Section,
    column: &Stripe,
    rows: usize,
    check: bool,
) -> Checked<Index> {
    let space = KeySpace::of(column).ok_or("its column has no keys")?;
    let number = section.parameter & u64::from(u32::MAX);
    if section.parameter != parameter(&space, number) || section.base != base(&space) {
        return Err("its keys are made otherwise than its column's".into());
    }
    let count = usize::try_from(section.count).ok().filter(|count| *count <= rows);
    let count = count.ok_or_else(|| format!("{} keys for {rows} rows", section.count))?;
    let length = section.extent.length as usize;
    let extent = match length {
        0 => Buffer::from_vec(Vec::<u64>::new()),
        _ => bytes.slice_with_length(section.extent.offset as usize - first, length),
    };
    let present = rows - (column.statistics.null_count as usize).min(rows);
    let body = match section.kind {
        layout::SECTION_TREE if count == present => {
            Body::Tree(tree::Tree::open(&extent, count, number as usize, rows, check)?)
        }
        layout::SECTION_WEAVING_VERTICAL if space.is_exact() => {
            Body::Vertical(weaving::Vertical::open(&extent, number as u32, rows)?)
        }
        layout::SECTION_WEAVING_HORIZONTAL if space.is_exact() => {
            Body::Horizontal(weaving::Horizontal::open(&extent, number as u32, rows)?)
        }
        layout::SECTION_AGGREGATES if number as usize == aggregates::ZONE_ROWS => {
            Body::Aggregates(aggregates::Aggregates::open(&extent, rows)?)
        }
        layout::SECTION_BLOOM => Body::Bloom(bloom::Bloom::open(&extent)?),
        other => return Err(format!("section kind {other} does not go with its column")),
    };
    Ok(Index { column: section.column as usize, space, body, bytes: length })
}

/// The sections of the indices that can be built on a block's columns. `stripe` gives a column in full.
pub(crate) fn build_all(
    indices: &[IndexSpecification],
    rows: usize,
    stripe: impl Fn(usize) -> Stripe,
) -> Vec<(Section, Vec<u8>)> {
    let mut out: Vec<(Section, Vec<u8>)> = Vec::new();
    let mut sorted = indices.to_vec();
    sorted.sort_unstable_by_key(|i| (i.column, i.kind));
    sorted.dedup();
    for of_column in sorted.chunk_by(|a, b| a.column == b.column) {
        let column = of_column[0].column;
        let stripe = stripe(column);
        out.extend(of_column.iter().filter_map(|i| build(i.kind, column, &stripe, rows)));
    }
    out
}
