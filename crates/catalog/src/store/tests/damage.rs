//! Bytes of every file flipped, cut and overwritten, with their checksums as they were and made right again: an error, or
//! what is still whole; never a panic, and never another answer that a checksum could have caught.

use files::{FileManager, Loss, SimulatedFiles, read_all};

use super::super::names::block_file_name;
use super::model::{Model, Step, commit};
use super::*;

/// A database with every kind of file, and the states that it went through since its checkpoint.
fn database() -> (SimulatedFiles, Vec<Model>) {
    let files = SimulatedFiles::new(3);
    let opened = open(&files).unwrap();
    opened.store.inline_bytes_max.store(3000, Relaxed);
    let rows = |from: i64, count: i64| (from..from + count).map(|v| vec![Some(v * 7919 % 10_007)]).collect();
    let mut model = Model::default();
    let mut go = |steps: &[Step]| {
        commit(&opened.catalog, steps, true).unwrap();
        steps.iter().for_each(|step| model.apply(step));
        model.clone()
    };
    let name = |n: &str| n.to_string();
    go(&[
        Step::Create(name("t")),
        Step::Append(name("t"), rows(0, 5000)),
        Step::AddColumn(name("t"), name("b")),
    ]);
    go(&[Step::Create(name("u")), Step::Append(name("u"), rows(5, 3)), Step::Sequence(name("s"), Some(9))]);
    let checkpointed = go(&[Step::Delete(name("t"), 2), Step::View(name("v"), Some(name("SELECT 1")))]);
    opened.store.checkpoint().unwrap();
    let mut states = vec![checkpointed];
    states.push(go(&[Step::Macro(name("m"), Some(name("x + 1")))]));
    states.push(go(&[Step::Append(name("u"), rows(50, 20))]));
    states.push(go(&[Step::Delete(name("u"), 1), Step::Create(name("w"))]));
    // The block of it is packed in its file.
    let flat = (0..12_000).map(|v| vec![Some(v / 100)]).collect();
    states.push(go(&[Step::Append(name("w"), flat)]));
    drop(opened);
    (files.restart(Loss::Process), states)
}

fn every_file(files: &SimulatedFiles) -> Vec<String> {
    let names = files.list("").unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name != "lock").collect()
}

/// Opens damaged files: whatever is readable is one of the states, but for tables that are named as damaged. Returns
/// whether the damage was seen.
fn judge(files: &SimulatedFiles, states: &[Model], access: Access) -> std::result::Result<bool, String> {
    let opened = match open_as(files, access) {
        Ok(opened) => opened,
        Err(error) => {
            let known = [SqlState::DataCorrupted, SqlState::UndefinedFile, SqlState::FeatureNotSupported];
            return match known.contains(&error.state()) {
                true => Ok(true),
                false => Err(format!("{error}")),
            };
        }
    };
    // Damage of columns is met when they are read.
    let (found, unreadable) = Model::readable(&opened.catalog.snapshot());
    let damaged = opened.catalog.snapshot().damaged().to_vec();
    let fits = |state: &&Model| {
        let mut rest = (*state).clone();
        rest.tables.retain(|name, _| damaged.iter().all(|d| d.name != *name) && !unreadable.contains(name));
        rest == found
    };
    if states.iter().find(fits).is_none() {
        return Err(format!("found {:?} beside {damaged:?}", found.tables.keys()));
    }
    for table in &damaged {
        let error = opened.catalog.snapshot().table(None, &table.name).cloned().unwrap_err();
        if error.state() != SqlState::DataCorrupted || !opened.store.is_read_only() {
            return Err(format!("{error}"));
        }
        let listed = opened.store.check().unwrap();
        if listed.is_empty() {
            return Err(format!("CHECK finds nothing beside {damaged:?}"));
        }
    }
    let listed = opened.store.check().map_err(|error| error.to_string())?;
    if !unreadable.is_empty() && listed.is_empty() {
        return Err(format!("CHECK finds nothing beside {unreadable:?}"));
    }
    Ok(!damaged.is_empty() || !opened.report.torn.is_empty() || !listed.is_empty())
}

/// The block files that hold a part of the newest state. One whose only block replay merges into another is not among
/// them: the merge reads its columns, its metadata are in the catalog, and what else the file holds nothing rests on.
fn files_of_blocks(files: &SimulatedFiles) -> Vec<String> {
    let opened = open(&files.restart(Loss::Process)).unwrap();
    let snapshot = opened.catalog.snapshot();
    let state = opened.store.state();
    let blocks = snapshot.tables().flat_map(|table| table.data.stored());
    let places =
        blocks.flat_map(|stored| stored.block.parts()).map(|part| state.places.get(&PartId::of(part)));
    places.flatten().map(|(place, _)| block_file_name(place.file)).collect()
}

#[test]
fn flipped_and_cut_bytes_are_found() {
    let (files, states) = database();
    let names = every_file(&files);
    let in_use = files_of_blocks(&files);
    let merged = |name: &String| name.starts_with("blocks/") && !in_use.contains(name);
    assert_eq!(names.iter().filter(|name| merged(name)).count(), 1, "{in_use:?} of {names:?}");
    assert!(names.iter().any(|n| n.starts_with("blocks/")) && names.iter().any(|n| n.starts_with("log-")));
    let mut random = Random::new(11);
    let (mut seen, mut unseen) = (0, 0);
    let mut of_file = std::collections::BTreeMap::new();
    for round in 0..1500 {
        let name = &names[random.below(names.len() as u64) as usize];
        let mut bytes = files.contents(name).unwrap();
        let at = random.below(bytes.len() as u64) as usize;
        match round % 4 {
            0 => bytes.truncate(at),
            1 => bytes[at..].iter_mut().take(700).for_each(|b| *b = 0),
            2 => bytes[at..].iter_mut().take(9).for_each(|b| *b = 0xFF),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        let copy = files.restart(Loss::Process);
        copy.set_contents(name, bytes);
        let access = if round % 3 == 0 { Access::Read } else { Access::Write };
        match judge(&copy, &states, access) {
            // Damage of it is met or not; what is read is one of the states either way.
            Ok(_) if merged(name) => {}
            Ok(true) => seen += 1,
            // Gaps between extents, and bytes that were zero before.
            Ok(false) => {
                unseen += 1;
                *of_file.entry(name).or_insert(0) += 1;
            }
            Err(what) => panic!("{name}, byte {at}, round {round}: {what}"),
        }
    }
    // In catalogs and logs every byte counts.
    assert!(of_file.keys().all(|name| name.starts_with("blocks/")), "{of_file:?}");
    assert!(seen > 4 * unseen && unseen > 0, "{seen} {unseen}: {of_file:?}");
}

/// Puts right the checksums of a log's records, and of a catalog's sections, so that what is behind them is tested.
fn reseal(name: &str, bytes: &mut [u8]) {
    if name.starts_with("log-") {
        let mut at = log_format::HEADER_BYTES;
        while let Some(header) = bytes.get(at..at + log_format::RECORD_HEADER_BYTES) {
            let length = u32::from_le_bytes(header[..4].try_into().unwrap()) as usize;
            let from = at + log_format::RECORD_HEADER_BYTES;
            let Some(payload) = bytes.get(from..from.saturating_add(length)) else { return };
            let sum = simd::checksum(payload).to_le_bytes();
            bytes[at + 24..at + 32].copy_from_slice(&sum);
            let sum = simd::checksum(&bytes[at..at + 32]).to_le_bytes();
            bytes[at + 32..at + 40].copy_from_slice(&sum);
            at = (from + length).next_multiple_of(8);
        }
    } else if name.starts_with("catalog-") {
        let sections = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let end = 64 + sections.min(1000) * 16;
        let mut at = end + 8;
        for section in 0..sections.min(1000) {
            let entry = 64 + section * 16;
            let Some(length) = bytes.get(entry..entry + 8) else { return };
            let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            let Some(payload) = bytes.get(at..at.saturating_add(length)) else { return };
            let sum = simd::checksum(payload).to_le_bytes();
            bytes[entry + 8..entry + 16].copy_from_slice(&sum);
            at += length;
        }
        if bytes.len() >= end + 8 {
            let sum = simd::checksum(&bytes[64..end]).to_le_bytes();
            bytes[end..end + 8].copy_from_slice(&sum);
        }
        let sum = simd::checksum(&bytes[..56]).to_le_bytes();
        bytes[56..64].copy_from_slice(&sum);
    }
}

#[test]
fn bytes_that_lie_are_no_panic() {
    let (files, _) = database();
    let names: Vec<String> = every_file(&files).into_iter().filter(|n| n.contains('-')).collect();
    let mut random = Random::new(12);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..3000 {
        let name = &names[random.below(names.len() as u64) as usize];
        let mut bytes = files.contents(name).unwrap();
        for _ in 0..=random.below(3) {
            // Descriptions are what lies: inline bytes of blocks have their own fuzzer.
            let at = 64 + random.below(bytes.len() as u64 - 64) as usize;
            match random.below(4) {
                0 => bytes[at] = bytes[at].wrapping_add(1),
                1 => bytes[at] = random.bits() as u8,
                2 => bytes[at] = [0, 1, 0x7F, 0xFF][random.below(4) as usize],
                _ => bytes[at] ^= 1 << random.below(8),
            }
        }
        reseal(name, &mut bytes);
        let copy = files.restart(Loss::Process);
        copy.set_contents(name, bytes);
        match open(&copy) {
            Ok(opened) => {
                accepted += 1;
                // Everything can be asked of it, written and read again.
                let _ = Model::readable(&opened.catalog.snapshot());
                let _ = opened.store.check().unwrap();
                let _ = commit(&opened.catalog, &[Step::Append("u".into(), vec![vec![Some(1)]])], true);
                let _ = opened.store.checkpoint();
            }
            Err(error) => {
                assert_ne!(error.state(), SqlState::Internal, "{error}, round {round}");
                refused += 1;
            }
        }
    }
    assert!(refused > 300 && accepted > 300, "{refused} {accepted}");
}

#[test]
fn check_names_table_block_column_and_byte() {
    let (files, states) = database();
    let name = every_file(&files).into_iter().find(|n| n.starts_with("blocks/")).unwrap();
    let bytes = read_all(&files, &name).unwrap();
    let (mut columns, mut tables) = (0, 0);
    for at in (4096..bytes.len()).step_by(613) {
        let copy = files.restart(Loss::Process);
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        copy.set_contents(&name, damaged);
        let opened = open(&copy).unwrap();
        let found = opened.store.check().unwrap();
        for one in &found {
            let at = at as u64;
            assert_eq!(one.file, name);
            assert!((one.offset..one.offset + one.bytes).contains(&at), "{one} for {at}");
            tables += 1;
            if let Some(column) = &one.column {
                assert!(["a", "b"].contains(&column.as_str()), "{one}");
                assert_eq!(one.table, Some(("main".into(), "t".into())));
                assert!(one.to_string().contains("table main.t, block 0, column"), "{one}");
                columns += 1;
            }
        }
        if !found.is_empty() {
            // The others are as they were.
            let (now, _) = Model::readable(&opened.catalog.snapshot());
            assert_eq!(now.tables.get("u"), states.last().unwrap().tables.get("u"));
            if opened.catalog.snapshot().damaged().is_empty() {
                continue;
            }
            let refused = commit(&opened.catalog, &[Step::Create("x".into())], true).unwrap_err();
            assert_eq!(refused.state(), SqlState::ReadOnly);
            assert!(refused.hint().is_some() && refused.detail().is_some());
        }
    }
    assert!(columns > 10 && tables > 10, "{columns} {tables}");
    // A whole database has nothing to report.
    assert_eq!(open(&files.restart(Loss::Process)).unwrap().store.check().unwrap(), []);
}
