//! Transactions: differences of snapshots made again on others, conflicts, rows deleted in blocks that move.

use simd::Bitmap;

use super::*;
use crate::catalog::replay;

fn pool() -> Pool {
    Pool::new(Budget::unlimited())
}

/// Commits without a look at keys.
fn commit(catalog: &Catalog, transaction: Transaction) -> types::Result<()> {
    catalog.commit_transaction(transaction, &pool(), |_| Ok(()))
}

fn append(draft: &mut Draft, table: TableId, values: &[i64]) {
    draft.append_merging(table, None, blocks(values), &pool()).unwrap();
}

/// All rows of a table, in order.
fn rows(snapshot: &Snapshot, table: TableId) -> Vec<i64> {
    let data = &snapshot.table_by_id(table).unwrap().data;
    let batches = data.stored().iter().map(|stored| stored.batch().unwrap());
    let rows: Vec<i64> = batches
        .flat_map(|b| (0..b.rows).map(|r| b.columns[0].value(r).as_i64().unwrap()).collect::<Vec<_>>())
        .collect();
    assert_eq!(rows.len() as u64, data.rows());
    rows
}

/// Deletes the rows with these values, as a statement does: by block and row of the snapshot that it sees.
fn delete(snapshot: &Snapshot, draft: &mut Draft, table: TableId, values: &[i64]) -> types::Result<()> {
    let mut doomed = Vec::new();
    for stored in snapshot.table_by_id(table).unwrap().data.stored() {
        let vector = stored.block.fetch(0, 0..stored.block.rows());
        let live = |row: usize| stored.deleted.as_ref().is_none_or(|d| d.live.get(row));
        let hit = |row| live(row) && values.contains(&vector.value(row).as_i64().unwrap());
        let bits = Bitmap::from_fn(stored.block.rows(), hit);
        if !bits.none() {
            doomed.push((stored.id, Arc::new(bits)));
        }
    }
    draft.delete(table, &doomed)
}

#[test]
fn a_transaction_sees_its_own_changes_and_nobody_elses() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t").id;
    catalog.commit(|d| d.append(table, None, blocks(&[1, 2, 3]))).unwrap();
    let mut ours = catalog.begin();
    catalog.commit(|d| d.append(table, None, blocks(&[4]))).unwrap();
    ours.change(|d| {
        append(d, table, &[10]);
        Ok(())
    })
    .unwrap();
    let savepoint = ours.savepoint();
    let seen = ours.snapshot();
    ours.change(|d| delete(&seen, d, table, &[2, 10])).unwrap();
    assert_eq!(rows(&ours.snapshot(), table), [1, 3]);
    ours.roll_back_to(&savepoint);
    assert_eq!(rows(&ours.snapshot(), table), [1, 2, 3, 10]);
    let seen = ours.snapshot();
    ours.change(|d| delete(&seen, d, table, &[1])).unwrap();
    assert_eq!(rows(&catalog.snapshot(), table), [1, 2, 3, 4]);
    commit(&catalog, ours).unwrap();
    assert_eq!(rows(&catalog.snapshot(), table), [2, 3, 4, 10]);
}

#[test]
fn the_first_to_change_a_row_wins() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t").id;
    catalog.commit(|d| d.append(table, None, blocks(&(0..100).collect::<Vec<_>>()))).unwrap();
    let (mut first, mut second, mut third) = (catalog.begin(), catalog.begin(), catalog.begin());
    for (transaction, values) in [(&mut first, [5, 6]), (&mut second, [6, 7]), (&mut third, [8, 9])] {
        let seen = transaction.snapshot();
        transaction.change(|d| delete(&seen, d, table, &values)).unwrap();
    }
    commit(&catalog, first).unwrap();
    assert_eq!(state(commit(&catalog, second)), SqlState::SerializationFailure);
    commit(&catalog, third).unwrap();
    let left = rows(&catalog.snapshot(), table);
    assert_eq!(left, (0..100).filter(|v| ![5, 6, 8, 9].contains(v)).collect::<Vec<i64>>());
}

#[test]
fn rows_are_found_in_the_blocks_that_they_were_merged_into() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t").id;
    let insert = |values: &[i64]| {
        catalog.commit(|d| d.append_merging(table, None, blocks(values), &pool())).unwrap();
    };
    insert(&[1, 2, 3]);
    let mut ours = catalog.begin();
    let seen = ours.snapshot();
    ours.change(|d| delete(&seen, d, table, &[3])).unwrap();
    // Others delete in the same block, and inserts merge it twice.
    let seen = catalog.snapshot();
    catalog.commit(|d| delete(&seen, d, table, &[1])).unwrap();
    insert(&[4]);
    insert(&[5]);
    assert_eq!(catalog.snapshot().table_by_id(table).unwrap().data.blocks().len(), 1);
    let mut late = catalog.begin();
    let seen = late.snapshot();
    late.change(|d| delete(&seen, d, table, &[3, 5])).unwrap();
    commit(&catalog, ours).unwrap();
    assert_eq!(rows(&catalog.snapshot(), table), [2, 4, 5]);
    assert_eq!(state(commit(&catalog, late)), SqlState::SerializationFailure);
}

#[test]
fn definitions_conflict_and_rows_go_on() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t");
    let (mut first, mut second, mut third) = (catalog.begin(), catalog.begin(), catalog.begin());
    let view = |text: &str| View { columns: vec![], text: text.into(), comment: None };
    first.change(|d| d.set_view(None, "v", Some(view("select 1")))).unwrap();
    second.change(|d| d.set_view(None, "v", Some(view("select 2")))).unwrap();
    third.change(|d| d.create_table(NewTable::new("t2", schema(&["a"])), Existing::Refuse)).unwrap();
    commit(&catalog, first).unwrap();
    assert_eq!(state(commit(&catalog, second)), SqlState::SerializationFailure);
    create(&catalog, "t2");
    assert_eq!(state(commit(&catalog, third)), SqlState::DuplicateTable);
    let mut altering = catalog.begin();
    altering
        .change(|d| {
            let mut altered = AlteredTable::new(&table);
            altered.rename_column(0, "b")?;
            assert!(d.replace_altered(altered)?);
            Ok(())
        })
        .unwrap();
    catalog.commit(|d| d.append(table.id, None, blocks(&[1]))).unwrap();
    assert_eq!(state(commit(&catalog, altering)), SqlState::SerializationFailure);
}

#[test]
fn a_refused_transaction_changes_nothing() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t").id;
    let mut ours = catalog.begin();
    ours.change(|d| d.append(table, None, blocks(&[1]))).unwrap();
    let refused = catalog.commit_transaction(ours, &pool(), |v| {
        assert_eq!((v.changes.len(), rows(v.next, table).len()), (1, 1));
        Err(types::Error::new(SqlState::UniqueViolation, "no"))
    });
    assert_eq!(state(refused), SqlState::UniqueViolation);
    assert_eq!(rows(&catalog.snapshot(), table), [0i64; 0]);
}

#[derive(Debug)]
struct NoLog;

impl CommitLog for NoLog {
    fn append(&self, changes: &[Change], _after: &Arc<Snapshot>) -> types::Result<u64> {
        let replaced = changes.iter().any(|c| matches!(c, Change::Replace { .. }));
        assert!(!replaced, "rows that were added and deleted are no reason to write a table anew");
        Ok(0)
    }
    fn wait(&self, _number: u64) -> types::Result<()> {
        Ok(())
    }
}

/// Random commits, each of them made again from its changes: the copy stays equal to the original.
#[test]
fn the_changes_of_every_commit_lead_to_its_state() {
    let mut state = 0x9e37_79b9_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..40 {
        let log: Arc<dyn CommitLog> = Arc::new(NoLog);
        let (catalog, mut copy) = (Catalog::starting_with(Snapshot::new(), Some(log)), Snapshot::new());
        let mut next = 0i64;
        for step in 0..60 {
            let before = catalog.snapshot();
            let tables: Vec<Arc<Table>> = before.tables().cloned().collect();
            let chosen = (!tables.is_empty()).then(|| tables[random(tables.len() as u64) as usize].clone());
            let mut transaction = catalog.begin();
            for _ in 0..1 + random(3) {
                let seen = transaction.snapshot();
                let action = random(10);
                let _ = transaction.change(|d| {
                    let Some(table) = &chosen else {
                        return d
                            .create_table(NewTable::new(format!("t{step}"), schema(&["a"])), Existing::Keep)
                            .map(|_| ());
                    };
                    if d.snapshot().table_by_id(table.id).is_none() {
                        return Ok(());
                    }
                    match action {
                        0 => d
                            .create_table(NewTable::new(format!("t{step}"), schema(&["a"])), Existing::Keep)
                            .map(|_| ()),
                        1 if random(4) == 0 => d.drop_table(None, &table.name, true, false).map(|_| ()),
                        2 => d.set_view(None, &format!("v{}", random(3)), None),
                        3..=6 => {
                            let count = [1, 3, 5000][random(3) as usize];
                            append(d, table.id, &(next..next + count).collect::<Vec<_>>());
                            next += count;
                            Ok(())
                        }
                        _ if next > 0 => {
                            let values: Vec<i64> = (0..5).map(|_| random(next as u64) as i64).collect();
                            delete(&seen, d, table.id, &values)
                        }
                        _ => Ok(()),
                    }
                });
            }
            // One after the other, now and then on the newest state directly.
            commit(&catalog, transaction).unwrap();
            let after = catalog.snapshot();
            let changes = permanent_difference(&before, &after);
            if !changes.is_empty() {
                copy = replay(copy, &changes, &pool()).unwrap();
            }
            let names = |s: &Snapshot| s.tables().map(|t| (t.id, t.name.clone())).collect::<Vec<_>>();
            assert_eq!(names(&copy), names(&after));
            for (id, _) in names(&after) {
                assert_eq!(rows(&copy, id), rows(&after, id));
                let ids = |s: &Snapshot| {
                    s.table_by_id(id).unwrap().data.stored().iter().map(|b| b.id).collect::<Vec<_>>()
                };
                assert_eq!(ids(&copy), ids(&after), "blocks keep their names");
            }
        }
    }
}

#[test]
fn rows_are_found_in_a_block_that_was_sorted_anew() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t").id;
    catalog.commit(|d| d.append(table, None, blocks(&[5, 3, 9, 1, 7]))).unwrap();
    let seen = catalog.snapshot();
    catalog.commit(|d| delete(&seen, d, table, &[9])).unwrap();
    let mut ours = catalog.begin();
    let seen = ours.snapshot();
    ours.change(|d| delete(&seen, d, table, &[3, 7])).unwrap();
    // 5, 3, 1, 7 sorted: 1, 3, 5, 7.
    let stored = catalog.snapshot().table_by_id(table).unwrap().data.stored()[0].clone();
    let remade = StoredBlock::new(blocks(&[1, 3, 5, 7]).remove(0));
    let done = catalog.commit(|d| d.remake_block(table, &stored, remade, Some([2, 1, 0, 3].into())));
    assert!(done.unwrap());
    assert_eq!(rows(&catalog.snapshot(), table), [1, 3, 5, 7]);
    let other = StoredBlock::new(blocks(&[1]).remove(0));
    let again = catalog.commit(|d| d.remake_block(table, &stored, other, None));
    assert!(!again.unwrap(), "the block is another one now");
    commit(&catalog, ours).unwrap();
    assert_eq!(rows(&catalog.snapshot(), table), [1, 5]);
}

#[test]
fn rows_added_after_a_column_went_are_not_merged_in_the_log() {
    let catalog = Catalog::new();
    let two = NewTable::new("t", schema(&["a", "b"]));
    let table = catalog.commit(|d| d.create_table(two, Existing::Refuse)).unwrap().unwrap().id;
    let pairs = |values: &[i64]| {
        let rows: Vec<SealedBlock> = blocks(values);
        let beside = |s: SealedBlock| SealedBlock {
            block: Arc::new(s.block.beside(&s.block)),
            sketches: [s.sketches.clone(), s.sketches].concat(),
        };
        rows.into_iter().map(beside).collect::<Vec<_>>()
    };
    catalog.commit(|d| d.append(table, None, pairs(&[1, 2, 3]))).unwrap();
    let before = (*catalog.snapshot()).clone();
    let mut draft = Draft::remembering(before.clone(), true);
    let mut altered = AlteredTable::new(before.table_by_id(table).unwrap());
    altered.drop_column(1, false).unwrap();
    assert!(draft.replace_altered(altered).unwrap());
    append(&mut draft, table, &[4]);
    let after = draft.into_changed().unwrap();
    let changes = permanent_difference(&before, &after);
    let again = replay(before, &changes, &pool()).unwrap();
    assert_eq!(rows(&again, table), [1, 2, 3, 4]);
}

#[test]
fn rows_deleted_between_two_merges_of_one_commit_stay_deleted() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t").id;
    catalog.commit(|d| d.append(table, None, blocks(&[1, 2, 3]))).unwrap();
    let before = (*catalog.snapshot()).clone();
    let mut draft = Draft::remembering(before.clone(), true);
    append(&mut draft, table, &[4, 5]);
    let seen = draft.snapshot().clone();
    delete(&seen, &mut draft, table, &[2, 4]).unwrap();
    append(&mut draft, table, &[6]);
    let after = draft.into_changed().unwrap();
    assert_eq!(rows(&after, table), [1, 3, 5, 6]);
    let again = replay(before.clone(), &permanent_difference(&before, &after), &pool()).unwrap();
    assert_eq!(rows(&again, table), [1, 3, 5, 6]);
}
