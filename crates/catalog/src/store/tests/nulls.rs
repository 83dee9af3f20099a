//! Whether a column of blocks on disk, some of whose rows are deleted, still has a NULL: asked before it becomes NOT NULL.

use files::{Loss, SimulatedFiles};
use types::SqlState;

use super::model::{Step, commit};
use super::*;
use crate::{AlteredTable, Table};

/// Every thousandth row is NULL, in blocks of 64 KiB that no log holds, and another row of each block is deleted.
fn stored() -> SimulatedFiles {
    let files = SimulatedFiles::new(1);
    let opened = open(&files).unwrap();
    opened.store.inline_bytes_max.store(3000, Relaxed);
    let rows = (0..70_000).map(|v| vec![(v % 1000 != 0).then_some(v)]).collect();
    let steps = [Step::Create("t".into()), Step::Append("t".into(), rows), Step::Delete("t".into(), 2)];
    commit(&opened.catalog, &steps, true).unwrap();
    drop(opened);
    files.restart(Loss::Process)
}

fn table(opened: &Opened) -> Arc<Table> {
    let table = opened.catalog.snapshot().table(None, "t").unwrap().clone();
    assert!(table.data.stored().iter().all(|stored| !stored.block.is_resident()));
    assert!(table.data.stored().iter().all(|stored| stored.deleted.is_some()));
    table
}

fn set_not_null(opened: &Opened) -> Result<()> {
    AlteredTable::new(&table(opened)).set_not_null(0)
}

#[test]
fn nulls_that_are_left_forbid_not_null() {
    let files = stored();
    let opened = open(&files).unwrap();
    assert!(table(&opened).data.has_live_null(0).unwrap());
    assert_eq!(set_not_null(&opened).unwrap_err().state(), SqlState::NotNullViolation);
    drop(opened);
    // Once the NULLs are deleted, all but one, then that one.
    for keep in [Some(69_000), None] {
        let opened = open(&files).unwrap();
        let delete = |draft: &mut crate::Draft| {
            let table = draft.snapshot().table(None, "t")?.clone();
            let mut doomed = Vec::new();
            for (stored, from) in table.data.stored().iter().zip(table.data.row_offsets()) {
                let live = |row: usize| stored.deleted.as_ref().is_none_or(|d| d.live.get(row));
                let values = stored.block.pin(&[0])?.fetch(0, 0..stored.block.rows());
                let hit = |row: usize| live(row) && values.is_null(row) && keep != Some(*from + row as u64);
                doomed.push((stored.id, Arc::new(block::Bitmap::from_fn(stored.block.rows(), hit))));
            }
            doomed.retain(|(_, bits)| !bits.none());
            assert!(!doomed.is_empty());
            draft.delete(table.id, &doomed).map(drop)
        };
        opened.catalog.commit(delete).unwrap();
        drop(opened);
        let opened = open(&files).unwrap();
        assert_eq!(table(&opened).data.has_live_null(0).unwrap(), keep.is_some());
        assert_eq!(set_not_null(&opened).is_err(), keep.is_some());
    }
}

#[test]
fn a_block_that_cannot_be_read_is_an_error() {
    let files = stored();
    let whole = files.contents("blocks/1").unwrap();
    let mut unreadable = 0;
    for at in (4096..whole.len()).step_by(997) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        files.set_contents("blocks/1", bytes);
        let opened = open(&files).unwrap();
        if opened.catalog.snapshot().damaged().is_empty() {
            let state = set_not_null(&opened).unwrap_err().state();
            assert!(
                [SqlState::DataCorrupted, SqlState::NotNullViolation].contains(&state),
                "{state:?} at {at}"
            );
            unreadable += usize::from(state == SqlState::DataCorrupted);
        }
    }
    // Damage of later blocks is not met: the first has a NULL.
    assert!(unreadable > 0);
}
