//! The catalog's promises: snapshots stand still, errors carry their SQLSTATE, statistics merge.

use std::sync::Arc;

use block::LayoutKind;
use memory::Budget;
use pool::{BLOCK_BYTES_MIN, BlockWriter, Pool, WriterOptions};
use types::{Bound, ColumnPredicate, Field, PredicateTree, ReferentialAction, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use crate::*;

mod transactions;

fn schema(names: &[&str]) -> Schema {
    Schema::new(names.iter().map(|n| Field::new(*n, Type::BigInt, false)).collect())
}

/// Sealed blocks of one BIGINT column with these values.
fn blocks(values: &[i64]) -> Vec<SealedBlock> {
    let encoding = LayoutKind::CompressedColumnStore.into();
    let options = WriterOptions { encoding, block_bytes: BLOCK_BYTES_MIN, partitions: None };
    let mut writer = BlockWriter::new(Pool::new(Budget::unlimited()), vec![(Type::BigInt, false)], options);
    let mut sealed = Vec::new();
    for chunk in values.chunks(1000) {
        let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, chunk.to_vec())], chunk.len());
        sealed.extend(writer.push(batch).unwrap());
    }
    sealed.extend(writer.finish().unwrap());
    sealed
}

fn create(catalog: &Catalog, name: &str) -> Arc<Table> {
    let new = NewTable::new(name, schema(&["a"]));
    catalog.commit(|d| d.create_table(new, Existing::Refuse)).unwrap().unwrap()
}

fn state<T: std::fmt::Debug>(result: types::Result<T>) -> SqlState {
    result.unwrap_err().state()
}

#[test]
fn snapshots_stand_still() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t");
    let before = catalog.snapshot();
    catalog.commit(|d| d.append(table.id, None, blocks(&[1, 2, 3]))).unwrap();
    assert_eq!(before.table(None, "t").unwrap().rows(), 0);
    let after = catalog.snapshot();
    assert_eq!(after.table(None, "t").unwrap().rows(), 3);
    catalog.commit(|d| d.drop_table(None, "t", false, false)).unwrap();
    assert_eq!(after.table(Some("public"), "t").unwrap().rows(), 3);
    assert_eq!(state(catalog.snapshot().table(None, "t").cloned()), SqlState::UndefinedTable);
    assert_eq!(state(catalog.commit(|d| d.append(table.id, None, vec![]))), SqlState::UndefinedTable);
}

#[test]
fn a_failed_commit_changes_nothing() {
    let catalog = Catalog::new();
    let result: types::Result<()> = catalog.commit(|d| {
        d.create_table(NewTable::new("t", schema(&["a"])), Existing::Refuse)?;
        Err(types::Error::internal("no"))
    });
    assert!(result.is_err());
    assert!(catalog.snapshot().find(None, "t").is_none());
    let version = catalog.snapshot().version();
    catalog.commit(|d| d.drop_table(None, "t", true, false)).unwrap();
    assert_eq!(catalog.snapshot().version(), version);
}

#[test]
fn appends_notice_that_somebody_was_first() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t");
    let first = catalog.commit(|d| d.append(table.id, Some(table.version), blocks(&[1]))).unwrap();
    assert!(matches!(first, Append::Done));
    let second = catalog.commit(|d| d.append(table.id, Some(table.version), blocks(&[1]))).unwrap();
    let Append::Changed(newer) = second else { panic!("a stale append went through") };
    assert_eq!((newer.rows(), catalog.snapshot().table(None, "t").unwrap().rows()), (1, 1));
}

#[test]
fn concurrent_appends_lose_nothing() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t");
    std::thread::scope(|scope| {
        for worker in 0..4i64 {
            let (catalog, id) = (&catalog, table.id);
            scope.spawn(move || {
                for i in 0..20 {
                    catalog.commit(|d| d.append(id, None, blocks(&[worker * 100 + i]))).unwrap();
                }
            });
        }
    });
    assert_eq!(catalog.snapshot().table(None, "t").unwrap().rows(), 80);
}

#[test]
fn names_that_exist_or_do_not() {
    let catalog = Catalog::new();
    create(&catalog, "orders");
    let again = || NewTable::new("orders", schema(&["b"]));
    let refused = catalog.commit(|d| d.create_table(again(), Existing::Refuse));
    assert_eq!(state(refused), SqlState::DuplicateTable);
    assert!(catalog.commit(|d| d.create_table(again(), Existing::Keep)).unwrap().is_none());
    catalog.commit(|d| d.create_table(again(), Existing::Replace)).unwrap();
    let snapshot = catalog.snapshot();
    assert_eq!(snapshot.table(None, "orders").unwrap().columns.fields()[0].name, "b");
    let error = snapshot.table(None, "oders").unwrap_err();
    assert_eq!((error.state(), error.hint()), (SqlState::UndefinedTable, Some("did you mean \"orders\"?")));
    assert_eq!(state(snapshot.table(Some("nowhere"), "orders").cloned()), SqlState::UndefinedSchema);
    let twice = NewTable::new("x", schema(&["a", "a"]));
    assert_eq!(state(catalog.commit(|d| d.create_table(twice, Existing::Refuse))), SqlState::DuplicateColumn);
}

#[test]
fn schemas_come_and_go() {
    let catalog = Catalog::new();
    assert!(catalog.commit(|d| d.create_schema("s", false)).unwrap());
    assert!(!catalog.commit(|d| d.create_schema("s", true)).unwrap());
    assert_eq!(state(catalog.commit(|d| d.create_schema("s", false))), SqlState::DuplicateSchema);
    assert_eq!(state(catalog.commit(|d| d.create_schema("public", false))), SqlState::DuplicateSchema);
    let inside = NewTable { schema: Some("s".into()), ..NewTable::new("t", schema(&["a"])) };
    catalog.commit(|d| d.create_table(inside, Existing::Refuse)).unwrap();
    let full = catalog.commit(|d| d.drop_schema("s", false, false));
    assert_eq!(state(full), SqlState::DependentObjectsStillExist);
    assert!(catalog.commit(|d| d.drop_schema("s", false, true)).unwrap());
    assert!(!catalog.commit(|d| d.drop_schema("s", true, false)).unwrap());
    assert_eq!(state(catalog.commit(|d| d.drop_schema("s", false, false))), SqlState::UndefinedSchema);
    let needed = catalog.commit(|d| d.drop_schema("main", false, true));
    assert_eq!(state(needed), SqlState::DependentObjectsStillExist);
}

#[test]
fn temporary_tables_hide_permanent_ones() {
    let catalog = Catalog::new();
    create(&catalog, "t");
    let temporary = NewTable { temporary: true, ..NewTable::new("t", schema(&["b"])) };
    catalog.commit(|d| d.create_table(temporary, Existing::Refuse)).unwrap();
    let snapshot = catalog.snapshot();
    assert!(snapshot.table(None, "t").unwrap().is_temporary());
    assert!(!snapshot.table(Some("main"), "t").unwrap().is_temporary());
    let misplaced =
        NewTable { temporary: true, schema: Some("main".into()), ..NewTable::new("u", schema(&["b"])) };
    assert!(catalog.commit(|d| d.create_table(misplaced, Existing::Refuse)).is_err());
}

#[test]
fn foreign_keys_need_a_key_and_protect_it() {
    let catalog = Catalog::new();
    let key = Key { name: None, columns: vec![0], primary: true, nulls_equal: false };
    let parent = NewTable { keys: vec![key], ..NewTable::new("parent", schema(&["id", "x"])) };
    let parent = catalog.commit(|d| d.create_table(parent, Existing::Refuse)).unwrap().unwrap();
    let child = |column: usize| NewTable {
        foreign_keys: vec![ForeignKey {
            name: None,
            columns: vec![0],
            parent: parent.id,
            parent_columns: vec![column],
            on_delete: ReferentialAction::NoAction,
            on_update: ReferentialAction::NoAction,
            full: false,
        }],
        ..NewTable::new("child", schema(&["parent_id"]))
    };
    let unkeyed = catalog.commit(|d| d.create_table(child(1), Existing::Refuse));
    assert_eq!(state(unkeyed), SqlState::UndefinedObject);
    catalog.commit(|d| d.create_table(child(0), Existing::Refuse)).unwrap();
    let refused = catalog.commit(|d| d.drop_table(None, "parent", false, false));
    assert_eq!(state(refused), SqlState::DependentObjectsStillExist);
    let replaced = NewTable::new("parent", schema(&["id"]));
    let refused = catalog.commit(|d| d.create_table(replaced, Existing::Replace));
    assert_eq!(state(refused), SqlState::DependentObjectsStillExist);
    catalog.commit(|d| d.drop_table(None, "parent", false, true)).unwrap();
    assert!(catalog.snapshot().table(None, "child").unwrap().foreign_keys.is_empty());
}

#[test]
fn statistics_merge_over_blocks() {
    let rising: Vec<i64> = (0..100_000).map(|i| i * 3).collect();
    let data = TableData::from_blocks(&[Type::BigInt], blocks(&rising));
    assert!(data.blocks().len() > 2);
    let s = data.statistics(0);
    assert_eq!((&s.min, &s.max), (&Value::I64(0), &Value::I64(299_997)));
    assert!(s.unique && s.sorted);
    assert_eq!(s.distinct, 100_000);
    assert_eq!(
        data.locate(99_999).map(|(b, r)| data.block(b).fetch(0, r..r + 1).value(0)),
        Some(Value::I64(299_997))
    );
    assert_eq!(data.locate(100_000), None);
    // The same values again: no longer unique, no more distinct ones.
    let twice = data.append(blocks(&rising));
    let s = twice.statistics(0);
    assert!(!s.unique && !s.sorted);
    assert!((90_000..110_000).contains(&s.distinct), "{}", s.distinct);
    assert_eq!(data.rows(), 100_000);
}

#[test]
fn uniqueness_out_of_order_is_discovered() {
    let even: Vec<i64> = (0..40_000).map(|i| i * 2).collect();
    let odd: Vec<i64> = (0..40_000).map(|i| i * 2 + 1).collect();
    let mut data = TableData::from_blocks(&[Type::BigInt], blocks(&even)).append(blocks(&odd));
    assert!(!data.statistics(0).unique);
    data.discover_unique();
    assert!(data.statistics(0).unique);
    assert_eq!(data.statistics(0).distinct, 80_000);
    let mut again = data.append(blocks(&[6]));
    assert!(!again.statistics(0).unique);
    again.discover_unique();
    assert!(!again.statistics(0).unique);
}

#[test]
fn blocks_are_pruned_by_their_bounds() {
    let rising: Vec<i64> = (0..100_000).collect();
    let data = TableData::from_blocks(&[Type::BigInt], blocks(&rising));
    let at = |value: i64, inclusive| Some(Bound { value: Value::I64(value), inclusive });
    let leaf = |predicate| PredicateTree::Leaf(0, predicate);
    let range = |low, high| leaf(ColumnPredicate::Range { low, high });
    assert_eq!(data.prune(&PredicateTree::And(vec![])).len(), data.blocks().len());
    assert!(data.prune(&PredicateTree::Or(vec![])).is_empty());
    assert_eq!(data.prune(&range(at(5, true), at(5, true))), vec![0]);
    assert!(data.prune(&range(at(100_000, true), None)).is_empty());
    assert!(data.prune(&range(None, at(0, false))).is_empty());
    for low in (0..100_000i64).step_by(9973) {
        let bounds = ColumnPredicate::Range { low: at(low, true), high: at(low + 500, false) };
        let last = range(at(99_999, true), None);
        for (ordinal, block) in data.blocks().iter().enumerate() {
            let s = block.statistics(0);
            let may = bounds.may_match(&s.min, &s.max, 0, block.rows() as u64);
            let kept = |tree| data.prune(&tree).contains(&(ordinal as u32));
            assert_eq!(kept(leaf(bounds.clone())), may);
            let is_last = ordinal + 1 == data.blocks().len();
            assert_eq!(kept(PredicateTree::Or(vec![leaf(bounds.clone()), last.clone()])), may || is_last);
            assert_eq!(kept(PredicateTree::And(vec![leaf(bounds.clone()), last.clone()])), may && is_last);
        }
    }
    assert!(data.prune(&leaf(ColumnPredicate::IsNull)).is_empty());
}

#[test]
fn small_additions_are_merged() {
    let pool = Pool::new(Budget::unlimited());
    let catalog = Catalog::new();
    let id = create(&catalog, "t").id;
    for i in 0..300i64 {
        let appended = catalog.commit(|d| d.append_merging(id, None, blocks(&[i]), &pool)).unwrap();
        assert!(matches!(appended, Append::Done));
    }
    let table = catalog.snapshot().table(None, "t").unwrap().clone();
    assert_eq!((table.data.blocks().len(), table.rows()), (1, 300));
    let s = table.statistics(0);
    assert!(s.unique && s.sorted && s.distinct == 300);
    assert_eq!((&s.min, &s.max), (&Value::I64(0), &Value::I64(299)));
    // Old versions' memory is given back.
    assert_eq!(pool.arena().used_bytes(), 1 << 16);
    // A large addition stays by itself; what follows begins a new tail.
    let many: Vec<i64> = (1000..21_000).collect();
    for values in [&many[..], &[5], &[6]] {
        catalog.commit(|d| d.append_merging(id, None, blocks(values), &pool)).unwrap();
    }
    let table = catalog.snapshot().table(None, "t").unwrap().clone();
    assert_eq!(table.rows(), 20_302);
    let fetched: Vec<Value> = (0..table.rows())
        .filter_map(|row| table.data.locate(row))
        .map(|(block, row)| table.data.block(block).fetch(0, row..row + 1).value(0))
        .collect();
    let expected = (0..300).chain(1000..21_000).chain([5, 6]).map(Value::I64);
    assert!(fetched.into_iter().eq(expected));
    assert!(!table.statistics(0).unique);
}

#[test]
fn columns_come_and_go_without_their_blocks() {
    let catalog = Catalog::new();
    let table = create(&catalog, "t");
    let values: Vec<i64> = (0..50_000).collect();
    catalog.commit(|d| d.append(table.id, None, blocks(&values))).unwrap();
    let newest = || catalog.snapshot().table_by_id(table.id).cloned().unwrap();
    let before = newest();
    assert!(before.data.blocks().len() > 1);
    let more: Vec<i64> = values.iter().map(|v| v % 5).collect();
    // The new column's blocks have the rows of the old ones.
    let mut added = Vec::new();
    for (at, block) in before.data.blocks().iter().enumerate() {
        let from = before.data.row_offsets()[at] as usize;
        added.extend(blocks(&more[from..from + block.rows()]));
    }
    let data = TableData::from_blocks(&[Type::BigInt], added);
    let field = |name: &str| Field::new(name, Type::BigInt, false);
    let mut altered = AlteredTable::new(&before);
    altered.add_column(field("b"), ColumnAttributes::default(), data.clone()).unwrap();
    assert_eq!(
        state(altered.clone().add_column(field("b"), ColumnAttributes::default(), data.clone())),
        SqlState::DuplicateColumn
    );
    assert!(catalog.commit(|d| d.replace_altered(altered.clone())).unwrap());
    // It was made of a table that is no longer there.
    assert!(!catalog.commit(|d| d.replace_altered(altered)).unwrap());
    let both = newest();
    let (block, offset) = (both.data.block(1), both.data.row_offsets()[1] as i64);
    assert_eq!(block.fetch(0, 7..8).value(0), Value::I64(offset + 7));
    assert_eq!(block.fetch(1, 7..8).value(0), Value::I64((offset + 7) % 5));
    block.verify().unwrap();
    assert_eq!(both.statistics(1).max, Value::I64(4));
    assert!(both.statistics(0).unique && !both.statistics(1).unique);
    let range = ColumnPredicate::Range {
        low: Some(Bound { value: Value::I64(49_999), inclusive: true }),
        high: None,
    };
    assert_eq!(both.data.prune(&PredicateTree::Leaf(0, range.clone())).len(), 1);

    let mut altered = AlteredTable::new(&both);
    assert_eq!(state(altered.column("c")), SqlState::UndefinedColumn);
    altered.drop_column(0, false).unwrap();
    assert_eq!(state(altered.drop_column(0, false)), SqlState::FeatureNotSupported);
    assert!(catalog.commit(|d| d.replace_altered(altered)).unwrap());
    let left = newest();
    assert_eq!((left.columns.len(), left.data.types().len(), left.rows()), (1, 1, 50_000));
    assert_eq!(left.data.block(1).fetch(0, 7..8).value(0), Value::I64((offset + 7) % 5));
    left.data.block(1).verify().unwrap();
    assert!(left.data.prune(&PredicateTree::Leaf(0, range)).is_empty());
    // Snapshots taken before still show what they showed.
    assert_eq!(before.data.block(1).columns(), 1);
    assert_eq!(both.data.block(1).columns(), 2);
}

#[test]
fn comments_stand_under_kind_schema_and_name() {
    let mut draft = crate::Draft::new(Snapshot::new());
    draft.set_comment(Commented::Sequence, "main", "a.b", Some("first".into()));
    draft.set_comment(Commented::Type, "s", "a.b", Some("second".into()));
    draft.set_comment(Commented::ViewColumn, "s", &Commented::column("v", "x y"), Some("third".into()));
    let snapshot = draft.snapshot();
    assert_eq!(snapshot.comment(Commented::Sequence, "main", "a.b"), Some("first"));
    assert_eq!(snapshot.comment(Commented::Sequence, "s", "a.b"), None);
    let found: Vec<_> = snapshot.comments().map(|c| (c.of, c.schema, c.name.to_owned())).collect();
    assert!(found.contains(&(Commented::Type, "s".to_owned(), "a.b".to_owned())), "{found:?}");
    assert_eq!(Commented::view_and_column(&found[0].2), ("v", "x y"));
    draft.move_comment(Commented::Sequence, "main", "a.b", "c");
    assert_eq!(draft.snapshot().comment(Commented::Sequence, "main", "c"), Some("first"));
    draft.set_comment(Commented::Sequence, "main", "c", None);
    assert_eq!(draft.snapshot().comments().count(), 2);
}
