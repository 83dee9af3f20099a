//! The byte fuzzer: a block's bytes are flipped, cut, spliced and overwritten. `open` must refuse them, or give a
//! block that answers every question without a panic. Checksums are left out, so that the structural validation is
//! tested; with them, nothing that was changed passes.

use std::sync::Arc;

use simd::Bitmap;
use types::{Bound, ColumnPredicate, LikePattern, Type, Value};
use vector::{Batch, Vector};

use super::{LAYOUTS, Random, all_indices, encoded, written};
use crate::layout::{ENTRY_BYTES, HEADER_BYTES, SECTION_BYTES};
use crate::{Block, EncodeOptions, IndexSpecification, LayoutKind, sort_parts};

const COLUMNS: [(Type, bool); 8] = [
    (Type::Text, true),
    (Type::Text, false),
    (Type::BigInt, true),
    (Type::Integer, false),
    (Type::Double, true),
    (Type::Boolean, true),
    (Type::Decimal { precision: 30, scale: 2 }, false),
    (Type::Bytea, true),
];

fn rows(count: usize, random: &mut Random) -> Batch {
    let mut column = |c: usize| {
        let values: Vec<Value> = (0..count)
            .map(|row| {
                if COLUMNS[c].1 && random.below(9) == 0 {
                    return Value::Null;
                }
                match c {
                    0 => {
                        Value::text(["é", "b", "a longer string than a view holds"][random.below(3) as usize])
                    }
                    1 => Value::text(&format!("{row} ünique {}", random.bits())),
                    2 => Value::I64(random.below(20) as i64 * 1_000_000_007_000),
                    3 => Value::I32(random.below(100_000) - 50_000),
                    4 => Value::F64(random.below(5) as f64),
                    5 => Value::Bool(random.below(2) == 0),
                    6 => Value::I128(i128::from(random.bits()) * 1_000_000),
                    _ => Value::Bytes((0..random.below(5)).map(|_| random.bits() as u8).collect()),
                }
            })
            .collect();
        Vector::from_values(COLUMNS[c].0, &values)
    };
    Batch::new((0..COLUMNS.len()).map(&mut column).collect(), count)
}

/// Asks a block for everything.
fn use_fully(block: &Block) {
    let rows = block.rows();
    // A block may honestly have many rows; looking at some of them will do.
    let seen = rows.min(2000);
    for column in 0..block.columns() {
        let s = block.statistics(column).clone();
        let mut literals = vec![s.min, s.max];
        let vector = block.fetch(column, 0..seen);
        for row in 0..seen {
            let value = vector.value(row);
            if row < 3 {
                literals.push(value);
            }
        }
        let list: Vec<u32> = (0..seen as u32).rev().collect();
        let _ = block.fetch(column, &list).flatten();
        let _ = (block.codes(column), block.plain(column), block.column_bytes(column));
        let _ = block.dictionary(column).map(|d| d.value(0));
        for value in literals.into_iter().filter(|v| !v.is_null()) {
            let bound = Some(Bound { value: value.clone(), inclusive: false });
            for predicate in [
                ColumnPredicate::Range { low: bound.clone(), high: None },
                ColumnPredicate::Range { low: None, high: bound },
                ColumnPredicate::NotEqual(value.clone()),
                ColumnPredicate::In([value.clone()].into()),
                ColumnPredicate::NotIn([value].into()),
                ColumnPredicate::IsNull,
                ColumnPredicate::Like {
                    pattern: Arc::new(LikePattern::new("%e%", None).unwrap()),
                    negated: true,
                },
            ] {
                if matches!(predicate, ColumnPredicate::Like { .. }) && !block.ty(column).is_text() {
                    continue;
                }
                let mut selection = Bitmap::full(rows);
                block.select(column, &predicate, &mut selection);
                let _ = selection.to_indices();
                // Ways that do not pay here must be as safe as those that do.
                let prepared = block.prepare(column, &predicate);
                for path in prepared.offered().collect::<Vec<_>>() {
                    let Some(way) = prepared.clone().by(path) else { continue };
                    let from = (rows / 3).min(seen);
                    let mut selection = Bitmap::full(rows - from);
                    block.select_prepared(&way, from..rows, &mut selection);
                    let _ = selection.to_indices();
                }
            }
        }
        let _ = block.zone_aggregates(column);
        let mut selection = Bitmap::full(rows);
        if block.codes(column).is_some() {
            block.select_codes(column, &[true, false, true], 0..rows, &mut selection);
        }
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let metadata = HEADER_BYTES + COLUMNS.len() * ENTRY_BYTES + 8 * SECTION_BYTES;
    for _ in 0..=random.below(3) {
        let length = bytes.len() as u64;
        if length == 0 {
            return;
        }
        // Half of the hits go to the header and the directory, where structure is.
        let place = if random.below(2) == 0 {
            random.below(length)
        } else {
            random.below(length.min(metadata as u64))
        };
        let place = place as usize;
        match random.below(7) {
            0 => bytes[place] ^= 1 << random.below(8),
            1 => bytes[place] = [0, 1, 0x7F, 0x80, 0xFF][random.below(5) as usize],
            2 => bytes.truncate(place),
            3 => {
                let from = random.below(length) as usize;
                let count = random.below(64).min(length - from.max(place) as u64) as usize;
                bytes.copy_within(from..from + count, place);
            }
            4 => {
                // A number where numbers are.
                let at = place / 8 * 8;
                let number =
                    [0, 1, u64::MAX, length, length - 1, 1 << 32, random.bits()][random.below(7) as usize];
                if let Some(slot) = bytes.get_mut(at..at + 8) {
                    slot.copy_from_slice(&number.to_le_bytes());
                }
            }
            5 => {
                let at = place / 8 * 8;
                if let Some(slot) = bytes.get_mut(at..at + 8) {
                    let old = u64::from_le_bytes(slot.try_into().unwrap());
                    let change = [1, u64::MAX, 8, 64, 4096][random.below(5) as usize];
                    slot.copy_from_slice(&old.wrapping_add(change).to_le_bytes());
                }
            }
            _ => bytes.extend((0..random.below(100)).map(|_| 0u8)),
        }
    }
}

/// What blocks are made like, and of how many rows.
fn kinds() -> Vec<(EncodeOptions, usize)> {
    let every: Vec<IndexSpecification> = (0..COLUMNS.len()).flat_map(all_indices).collect();
    let mut kinds = Vec::new();
    for layout in LAYOUTS {
        kinds.extend([0, 1, 70, 900].map(|count| (EncodeOptions::from(layout), count)));
        kinds.extend(
            [70, 900].map(|count| (EncodeOptions { indices: every.clone(), ..layout.into() }, count)),
        );
        if !layout.is_row_store() {
            let sorted = |column| EncodeOptions { sorted_by: Some(column), ..layout.into() };
            kinds.extend([(sorted(2), 300), (sorted(1), 300)]);
        }
    }
    kinds
}

#[test]
fn damaged_indices_beside_a_block_are_refused_or_harmless() {
    let mut random = Random::new(31);
    let (mut refused, mut opened) = (0, 0);
    for layout in LAYOUTS {
        let block = Block::open(encoded(&COLUMNS, &[rows(700, &mut random)], layout)).unwrap();
        let every: Vec<IndexSpecification> = (0..COLUMNS.len()).flat_map(all_indices).collect();
        let made = block.encode_indices(&every);
        let good = written(made.len(), |out| made.write_into(out));
        use_fully(&block.with_indices(good.clone()).unwrap());
        for _ in 0..1500 {
            let mut bytes = good.as_slice().to_vec();
            damage(&mut bytes, &mut random);
            match block.with_indices_unverified(Block::aligned(&bytes)) {
                Ok(block) => {
                    opened += 1;
                    use_fully(&block);
                }
                Err(error) => {
                    assert_eq!(error.state(), types::SqlState::DataCorrupted);
                    refused += 1;
                }
            }
            if bytes != good.as_slice() && bytes.len() >= good.len() {
                // With their checksums, whatever is covered and changed is seen.
                let changed = (0..good.len()).find(|at| bytes[*at] != good.as_slice()[*at]);
                let metadata = crate::layout::Header::read(&good).unwrap().metadata_bytes as usize;
                if changed.is_some_and(|at| at < metadata) {
                    assert!(block.with_indices(Block::aligned(&bytes)).is_err());
                }
            }
        }
    }
    assert!(refused > 1000 && opened > 250, "{refused} refused, {opened} opened");
}

#[test]
fn damaged_bytes_are_refused_or_harmless() {
    let mut random = Random::new(99);
    let (mut refused, mut opened) = (0, 0);
    for (options, count) in kinds() {
        let batch = rows(count, &mut random);
        let sorted = options.sorted_by.and_then(|column| sort_parts(std::slice::from_ref(&batch), column));
        let good = encoded(&COLUMNS, &sorted.unwrap_or_else(|| vec![batch]), options);
        use_fully(&Block::open(good.clone()).unwrap());
        for _ in 0..700 {
            let mut bytes = good.as_slice().to_vec();
            damage(&mut bytes, &mut random);
            match Block::open_unverified(Block::aligned(&bytes)) {
                Ok(block) => {
                    opened += 1;
                    use_fully(&block);
                }
                Err(error) => {
                    assert_eq!(error.state(), types::SqlState::DataCorrupted);
                    refused += 1;
                }
            }
        }
    }
    // Both ways must be exercised, or the test tests nothing.
    assert!(refused > 3000 && opened > 1000, "{refused} refused, {opened} opened");
}

/// The planted fault: with validation left out, the same damage must be noticed by the same uses.
#[test]
fn the_fuzzer_finds_missing_validation() {
    let mut random = Random::new(99);
    let mut indices: Vec<IndexSpecification> = (0..COLUMNS.len()).flat_map(all_indices).collect();
    indices.retain(|i| i.kind == crate::IndexKind::Tree);
    let options = EncodeOptions { indices, ..LayoutKind::CompressedRowStore.into() };
    let good = encoded(&COLUMNS, &[rows(900, &mut random)], options);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = (0..3000).any(|_| {
        let mut bytes = good.as_slice().to_vec();
        damage(&mut bytes, &mut random);
        let used = std::panic::catch_unwind(|| {
            if let Ok(block) = Block::open_trusted(Block::aligned(&bytes)) {
                use_fully(&block);
            }
        });
        used.is_err()
    });
    std::panic::set_hook(hook);
    assert!(found, "no damage was noticed although nothing was validated");
}

#[test]
fn checksums_see_every_change() {
    let mut random = Random::new(5);
    let batch = rows(300, &mut random);
    let every: Vec<IndexSpecification> = (0..COLUMNS.len()).flat_map(all_indices).collect();
    for (layout, indices) in LAYOUTS.into_iter().flat_map(|l| [(l, vec![]), (l, every.clone())]) {
        let good = encoded(&COLUMNS, &[batch.clone()], EncodeOptions { indices, ..layout.into() });
        let block = Block::open(good.clone()).unwrap();
        block.verify().unwrap();
        let covered = |at: usize| {
            let metadata = crate::layout::Header::read(&good).unwrap().metadata_bytes as usize;
            at < metadata || (0..block.columns()).any(|c| block.extent_covers(c, at))
        };
        for _ in 0..2000 {
            let mut bytes = good.as_slice().to_vec();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
            assert!(Block::open(Block::aligned(&bytes)).is_err() || !covered(at), "byte {at} {layout:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_block() {
    let mut random = Random::new(6);
    for length in [0usize, 1, 8, 95, 96, 97, 300, 5000] {
        for _ in 0..200 {
            let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            if random.below(2) == 0 && length >= 12 {
                bytes[..8].copy_from_slice(b"QSBLOCK1");
                bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
            }
            assert!(Block::open(Block::aligned(&bytes)).is_err());
        }
    }
    let empty = encoded(&[], &[], LayoutKind::ColumnStore);
    assert_eq!(Block::open(empty).unwrap().columns(), 0);
}

#[test]
fn damage_is_found_where_it_is() {
    let mut random = Random::new(5);
    let batch = rows(30_000, &mut random);
    for layout in LAYOUTS {
        let bytes = encoded(&COLUMNS, &[batch.clone()], layout);
        let bytes = bytes.as_slice();
        assert_eq!(crate::damaged_extents(bytes), []);
        let block = Block::open(Block::aligned(bytes)).unwrap();
        let (mut extents, mut gaps) = (0, 0);
        for _ in 0..200 {
            let at = random.below(bytes.len() as u64) as usize;
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << random.below(8);
            let found = crate::damaged_extents(&damaged);
            let inside = |d: &crate::DamagedExtent| (d.offset..d.offset + d.length).contains(&(at as u64));
            match found.as_slice() {
                [only] => {
                    assert!(inside(only), "{at} in {layout:?}: {only:?}");
                    assert!(only.column.is_none_or(|c| block.extent_covers(c, at)));
                    extents += usize::from(only.column.is_some());
                }
                [] => {
                    let covered = (0..COLUMNS.len()).any(|c| block.extent_covers(c, at));
                    assert!(!covered, "{at} is damaged");
                    gaps += 1;
                }
                several => panic!("one byte, {} extents", several.len()),
            }
        }
        if layout.is_row_store() {
            // All columns lie in one extent.
            assert!(gaps < 50, "{gaps}");
            continue;
        }
        assert!(extents > 100 && gaps < 50, "{extents} {gaps}");
        // Two faults are two lines.
        let mut damaged = bytes.to_vec();
        let places: Vec<usize> =
            [0, 2].iter().filter_map(|c| (0..bytes.len()).find(|at| block.extent_covers(*c, *at))).collect();
        places.iter().for_each(|at| damaged[*at] ^= 1);
        assert_eq!(crate::damaged_extents(&damaged).len(), 2);
        for length in [0, 50, 300, bytes.len() - 1] {
            assert!(!crate::damaged_extents(&bytes[..length]).is_empty());
        }
    }
}
