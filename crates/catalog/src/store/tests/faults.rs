//! A full disk, a faulty one and none at all, at every single operation of a fixed history; and crashes while many
//! threads commit.

use std::sync::atomic::AtomicBool;

use files::{Fault, FaultKind, Loss, SimulatedFiles};

use super::model::{Model, Step, commit};
use super::*;

/// A history that touches every kind of file.
fn history() -> Vec<Vec<Step>> {
    let rows = |from: i64, count: i64| (from..from + count).map(|v| vec![Some(v)]).collect();
    let t = || "t".to_string();
    vec![
        vec![Step::Create(t()), Step::Append(t(), rows(0, 3))],
        vec![Step::Append(t(), rows(10, 400)), Step::View("v".into(), Some("SELECT 1".into()))],
        vec![Step::Delete(t(), 3)],
        vec![Step::AddColumn(t(), "b".into())],
        vec![Step::Create("u".into()), Step::Append("u".into(), rows(0, 900)), Step::Delete(t(), 4)],
        vec![Step::DropColumn(t()), Step::Sequence("s".into(), Some(7))],
        vec![Step::Drop("u".into())],
        vec![Step::Append(t(), rows(1000, 2))],
    ]
}

/// Runs the history with a checkpoint after every third commit. Returns what may be found afterwards.
fn play(files: &SimulatedFiles) -> Vec<Model> {
    let Ok(opened) = open(files) else { return vec![Model::default()] };
    opened.store.inline_bytes_max.store(600, Relaxed);
    let mut model = Model::default();
    for (at, steps) in history().iter().enumerate() {
        // A statement that meets a fault is tried once more: it must go, but where nothing goes.
        for attempt in 0..2 {
            let mut after = model.clone();
            steps.iter().for_each(|step| after.apply(step));
            let outcome = commit(&opened.catalog, steps, at % 2 == 0);
            match outcome {
                Ok(()) => model = after,
                Err(error) => {
                    assert_eq!(Model::of(&opened.catalog.snapshot()), model, "{error}");
                    if files.is_lost() || opened.store.failure().is_some() {
                        let refused = commit(&opened.catalog, steps, false).unwrap_err();
                        let read_only = refused.state() == SqlState::ReadOnly;
                        assert!(files.is_lost() || (read_only && refused.hint().is_some()), "{refused}");
                        return vec![model, after];
                    }
                    assert!(attempt == 0, "a disk that is well again: {error}");
                    continue;
                }
            }
            assert_eq!(Model::of(&opened.catalog.snapshot()), model);
            break;
        }
        if at % 3 == 2 {
            // Whether it succeeds or not, nothing is lost by it.
            let _ = opened.store.checkpoint();
            assert_eq!(Model::of(&opened.catalog.snapshot()), model);
        }
    }
    vec![model]
}

#[test]
fn every_operation_may_fail() {
    let files = SimulatedFiles::new(1);
    assert_eq!(play(&files).len(), 1);
    let operations = files.operations();
    assert!(operations > 60, "{operations}");
    let mut uncertain = 0;
    for kind in [FaultKind::DiskFull, FaultKind::Device, FaultKind::PowerLoss] {
        for after in 0..operations {
            for loss in [Loss::Power, Loss::Process] {
                let files = SimulatedFiles::new(after * 3 + 1);
                files.inject(Fault { operation: None, after, kind, lasting: false });
                let possible = play(&files);
                uncertain += possible.len() - 1;
                let loss = if files.is_lost() { Loss::Power } else { loss };
                let next = files.restart(loss);
                let opened = open(&next).unwrap_or_else(|e| panic!("{kind:?} after {after}, {loss:?}: {e}"));
                let found = Model::of(&opened.catalog.snapshot());
                assert!(possible.contains(&found), "{kind:?} after {after}, {loss:?}: {found:?}");
                assert_eq!(opened.store.check().unwrap(), []);
                // It can be written on, and a checkpoint leaves nothing behind.
                commit(&opened.catalog, &[Step::Create("last".into())], false).unwrap();
                opened.store.checkpoint().unwrap();
                let listing = names::Listing::of(&next).unwrap();
                assert_eq!((listing.catalogs.len(), listing.logs.len(), listing.unfinished.len()), (1, 1, 0));
            }
        }
    }
    assert!(uncertain > 20, "{uncertain}");
}

#[test]
fn a_disk_that_stays_full_leaves_the_database_readable() {
    let files = SimulatedFiles::new(1);
    let opened = open(&files).unwrap();
    commit(&opened.catalog, &history()[0], false).unwrap();
    opened.store.checkpoint().unwrap();
    let before = Model::of(&opened.catalog.snapshot());
    files.inject(Fault { operation: None, after: 0, kind: FaultKind::DiskFull, lasting: true });
    for _ in 0..3 {
        let step = [Step::Append("t".into(), vec![vec![Some(1)]; 2])];
        assert_eq!(commit(&opened.catalog, &step, true).unwrap_err().state(), SqlState::DiskFull);
        assert!(opened.store.checkpoint().is_ok(), "there is nothing to write");
        assert_eq!(Model::of(&opened.catalog.snapshot()), before);
        if opened.store.failure().is_some() {
            break;
        }
    }
    files.mend();
    drop(opened);
    let opened = open(&files.restart(Loss::Power)).unwrap();
    assert_eq!(Model::of(&opened.catalog.snapshot()), before);
    commit(&opened.catalog, &history()[1], true).unwrap();
}

/// Each thread owns a table and counts up in it; afterwards every table ends at the last value that was acknowledged, or
/// one behind it.
#[test]
fn threads_that_commit_together_lose_nothing() {
    const THREADS: u64 = 6;
    let mut acknowledged_in_all = 0;
    for seed in 0..25 {
        let files = SimulatedFiles::new(seed);
        let opened = open(&files).unwrap();
        opened.store.inline_bytes_max.store(700, Relaxed);
        for thread in 0..THREADS {
            commit(&opened.catalog, &[Step::Create(format!("t{thread}"))], false).unwrap();
        }
        files.set_sync_delay(std::time::Duration::from_micros(100));
        let after = 100 + Random::new(seed).below(600);
        files.inject(Fault { operation: None, after, kind: FaultKind::PowerLoss, lasting: false });
        let over = AtomicBool::new(false);
        let count = |thread: u64| {
            let mut last = 0;
            loop {
                let rows = vec![vec![Some(last + 1)]; 2];
                let step = Step::Append(format!("t{thread}"), rows);
                if commit(&opened.catalog, &[step], thread.is_multiple_of(2)).is_err() {
                    return last;
                }
                last += 1;
            }
        };
        let acknowledged: Vec<i64> = std::thread::scope(|scope| {
            let (opened, over) = (&opened, &over);
            scope.spawn(move || {
                while !over.load(Relaxed) {
                    let _ = opened.store.checkpoint();
                    std::thread::yield_now();
                }
            });
            // A reader sees whole commits only: pairs of equal values.
            scope.spawn(move || {
                while !over.load(Relaxed) {
                    for (_, table) in Model::of(&opened.catalog.snapshot()).tables {
                        assert_eq!(table.rows.len() % 2, 0);
                    }
                }
            });
            let count = &count;
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || count(thread))).collect();
            let lasts = threads.into_iter().map(|t| t.join().unwrap()).collect();
            over.store(true, Relaxed);
            lasts
        });
        let opened = open(&files.restart(Loss::Power)).unwrap();
        let found = Model::of(&opened.catalog.snapshot());
        for (thread, last) in acknowledged.iter().enumerate() {
            let rows = &found.tables[&format!("t{thread}")].rows;
            let expected: Vec<_> =
                (1..=rows.len() as i64 / 2).flat_map(|v| [vec![Some(v)], vec![Some(v)]]).collect();
            assert_eq!(*rows, expected, "seed {seed}");
            let there = rows.len() as i64 / 2;
            assert!(there == *last || there == last + 1, "seed {seed}: {there}, {last} acknowledged");
        }
        acknowledged_in_all += acknowledged.iter().sum::<i64>();
    }
    assert!(acknowledged_in_all > 500, "{acknowledged_in_all}");
}
