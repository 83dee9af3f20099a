//! Opening, locking, checkpoints, what stays on the disk; and databases of every format version there has been.

use std::path::Path;
use std::time::{Duration, Instant};

use files::{FileManager, LocalFiles, Loss, SimulatedFiles};

use super::model::{Model, Step, commit};
use super::*;

fn rows(from: i64, count: i64) -> Vec<Vec<Option<i64>>> {
    (from..from + count).map(|v| vec![Some(v)]).collect()
}

fn filled(files: &SimulatedFiles, count: i64) -> Opened {
    let opened = open(files).unwrap();
    let steps = [Step::Create("t".into()), Step::Append("t".into(), rows(0, count))];
    commit(&opened.catalog, &steps, true).unwrap();
    opened
}

#[test]
fn a_directory_of_the_disk_comes_back() {
    let folder = std::env::temp_dir().join(format!("quickstep-store-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let open = |access| {
        Store::open(
            Arc::new(LocalFiles::create(&files::Capability::everything(), &folder).unwrap()),
            pool(),
            access,
        )
    };
    let opened = open(Access::Write).unwrap();
    assert!(opened.report.created);
    let mut model = Model::default();
    let steps = [
        Step::Create("t".into()),
        Step::Append("t".into(), rows(0, 100_000)),
        Step::View("v".into(), Some("SELECT 1".into())),
    ];
    commit(&opened.catalog, &steps, true).unwrap();
    steps.iter().for_each(|step| model.apply(step));
    let refused = open(Access::Write).unwrap_err();
    assert_eq!(refused.state(), SqlState::LockNotAvailable);
    assert!(refused.message().contains(&std::process::id().to_string()), "{refused}");
    let read = open(Access::Read).unwrap();
    assert_eq!(Model::of(&read.catalog.snapshot()), model);
    let written = commit(&read.catalog, &[Step::Drop("t".into())], true).unwrap_err();
    assert_eq!(written.state(), SqlState::ReadOnly);
    drop((opened, read));
    for _ in 0..2 {
        let opened = open(Access::Write).unwrap();
        assert_eq!(Model::of(&opened.catalog.snapshot()), model);
        assert_eq!(opened.report.replayed > 0, opened.store.log_bytes() > 64);
        assert_eq!(opened.store.check().unwrap(), []);
        opened.store.checkpoint().unwrap();
        let step = Step::Append("t".into(), rows(7, 3));
        commit(&opened.catalog, std::slice::from_ref(&step), false).unwrap();
        model.apply(&step);
    }
    let mut names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["QUICKSTEP", "blocks", "catalog-3", "lock", "log-3"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_no_database_is_left_alone() {
    let files = SimulatedFiles::new(1);
    files.set_contents("notes.txt", b"mine".to_vec());
    let refused = open(&files).unwrap_err();
    assert!(refused.message().contains("notes.txt"), "{refused}");
    assert!(open_as(&SimulatedFiles::new(1), Access::Read).is_err());
    assert_eq!(files.list("").unwrap().len(), 1);
    let files = SimulatedFiles::new(1);
    drop(filled(&files, 10));
    let later = files.restart(Loss::Process);
    later.remove("QUICKSTEP").unwrap();
    // A database is not begun again over one that lost a file.
    assert_eq!(open(&later).unwrap_err().state(), SqlState::DataCorrupted);
}

#[test]
fn large_commits_lie_in_block_files_and_small_ones_in_the_log() {
    let files = SimulatedFiles::new(1);
    let opened = filled(&files, 10);
    assert!(files.list("blocks").unwrap().is_empty());
    let small = opened.store.log_bytes();
    commit(&opened.catalog, &[Step::Append("t".into(), rows(0, 200_000))], true).unwrap();
    assert!(opened.store.log_bytes() < small + 20_000, "{}", opened.store.log_bytes());
    let written: u64 = files.list("blocks").unwrap().iter().map(|f| f.bytes).sum();
    assert!(written > 200_000, "{written}");
    // A checkpoint writes only what the log alone has.
    let made = opened.store.checkpoint().unwrap();
    assert!(made.block_bytes < 10_000 && made.removed == 2, "{made:?}");
    assert_eq!(opened.store.checkpoint().unwrap(), Checkpointed::default());
    commit(&opened.catalog, &[Step::Drop("t".into())], true).unwrap();
    opened.store.checkpoint().unwrap();
    assert!(files.list("blocks").unwrap().is_empty(), "{:?}", files.list("blocks"));
}

#[test]
fn files_that_are_mostly_dead_are_emptied() {
    let files = SimulatedFiles::new(1);
    let opened = open(&files).unwrap();
    opened.store.inline_bytes_max.store(1000, Relaxed);
    let tables: Vec<String> = (0..4).map(|n| format!("t{n}")).collect();
    let create = tables.iter().map(|t| Step::Create(t.clone()));
    let steps: Vec<Step> =
        create.chain(tables.iter().map(|t| Step::Append(t.clone(), rows(0, 20_000)))).collect();
    commit(&opened.catalog, &steps, true).unwrap();
    opened.store.checkpoint().unwrap();
    let before: u64 = files.list("blocks").unwrap().iter().map(|f| f.bytes).sum();
    let drops: Vec<Step> = tables[1..].iter().map(|t| Step::Drop(t.clone())).collect();
    commit(&opened.catalog, &drops, true).unwrap();
    opened.store.checkpoint().unwrap();
    let after: u64 = files.list("blocks").unwrap().iter().map(|f| f.bytes).sum();
    assert!(after * 3 < before, "{before} -> {after}");
    drop(opened);
    let again = open(&files.restart(Loss::Power)).unwrap();
    assert_eq!(again.catalog.snapshot().table(None, "t0").unwrap().rows(), 20_000);
}

#[test]
fn readers_keep_what_a_checkpoint_removes() {
    let files = SimulatedFiles::new(1);
    let opened = filled(&files, 50_000);
    opened.store.checkpoint().unwrap();
    let seen = opened.catalog.snapshot();
    let model = Model::of(&seen);
    commit(&opened.catalog, &[Step::Drop("t".into())], true).unwrap();
    opened.store.checkpoint().unwrap();
    assert_eq!(Model::of(&seen), model);
}

#[test]
fn what_a_checkpoint_wrote_is_evicted_without_writing() {
    let pool = Pool::evicting(Budget::unlimited());
    let opened = Store::open(Arc::new(SimulatedFiles::new(1)), &pool, Access::Write).unwrap();
    let encoding = LayoutKind::CompressedColumnStore.into();
    let options = WriterOptions { encoding, block_bytes: BLOCK_BYTES_MIN, partitions: None };
    let mut writer = BlockWriter::new(pool.clone(), vec![(Type::BigInt, true)], options);
    let numbers: Vec<i64> = (0..60_000).map(|i| i * 7919).collect();
    let mut sealed = writer.push(Batch::new(vec![Vector::from_i64(Type::BigInt, numbers)], 60_000)).unwrap();
    sealed.extend(writer.finish().unwrap());
    let columns = types::Schema::new(vec![types::Field::new("a", Type::BigInt, true)]);
    let change = |draft: &mut crate::Draft| {
        let new = crate::NewTable::new("t", columns);
        let id = draft.create_table(new, crate::Existing::Refuse)?.map(|table| table.id);
        draft.append_merging(id.unwrap(), None, sealed, &pool)
    };
    // Small parts go into the log: only a checkpoint brings them to a block file.
    opened.store.inline_bytes_max.store(usize::MAX, Relaxed);
    opened.catalog.commit(change).unwrap();
    let evict_all = || {
        let limit = pool.budget().limit();
        pool.budget().set_limit(0);
        let _ = pool.budget().check();
        pool.budget().set_limit(limit);
    };
    evict_all();
    assert_eq!(pool.statistics().evictions, 0, "there is nowhere to go");
    opened.store.checkpoint().unwrap();
    evict_all();
    let counts = pool.statistics();
    let table = opened.catalog.snapshot().table(None, "t").unwrap().clone();
    assert!(counts.evictions >= table.data.blocks().len() as u64 && counts.written_bytes == 0, "{counts:?}");
    let first = table.data.block(0).pin(&[0]).unwrap();
    assert_eq!(first.fetch(0, 77..78).value(0), Value::I64(77 * 7919));
    assert!(first.bytes_read() > 0);
}

#[test]
fn a_backup_is_the_state_of_one_moment() {
    let files = SimulatedFiles::new(1);
    let opened = filled(&files, 20_000);
    commit(&opened.catalog, &[Step::Delete("t".into(), 4)], true).unwrap();
    let (copies, over) = (SimulatedFiles::new(2), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                commit(&opened.catalog, &[Step::Append("t".into(), rows(1_000_000, 2))], false).unwrap();
                opened.store.checkpoint().unwrap();
            }
        });
        let bytes = back_up(&opened.catalog.snapshot(), &copies);
        // Before anything can fail: the other thread waits for it.
        over.store(true, Relaxed);
        let held: usize = copies.list("").unwrap().iter().map(|entry| entry.bytes as usize).sum();
        assert!((2000..=held as u64).contains(&bytes.unwrap()), "{held}");
    });
    assert_eq!(back_up(&opened.catalog.snapshot(), &copies).unwrap_err().state(), SqlState::DuplicateTable);
    let copy = open(&copies.restart(Loss::Power)).unwrap();
    let there = Model::of(&copy.catalog.snapshot());
    let original = Model::of(&opened.catalog.snapshot());
    let (there, original) = (&there.tables["t"].rows, &original.tables["t"].rows);
    let added = there.len() - 17_143;
    assert!(added % 2 == 0 && original.starts_with(there), "{added}");
    assert_eq!(copy.store.check().unwrap(), []);
    // A copy that broke off is no database.
    for after in 0..12 {
        let copies = SimulatedFiles::new(after);
        let kind = files::FaultKind::PowerLoss;
        copies.inject(files::Fault { operation: None, after, kind, lasting: false });
        let done = back_up(&opened.catalog.snapshot(), &copies).is_ok();
        let opened = open_as(&copies.restart(Loss::Power), Access::Read);
        assert!(!done || opened.is_ok());
        assert!(
            opened.is_err() || Model::of(&opened.unwrap().catalog.snapshot()).tables["t"].rows == *original
        );
    }
}

#[test]
fn temporary_tables_are_not_kept() {
    let files = SimulatedFiles::new(1);
    let opened = filled(&files, 5);
    let log = opened.store.log_bytes();
    let columns = types::Schema::new(vec![types::Field::new("a", Type::BigInt, true)]);
    let new = crate::NewTable { temporary: true, ..crate::NewTable::new("passing", columns) };
    opened.catalog.commit(|d| d.create_table(new, crate::Existing::Refuse)).unwrap();
    assert_eq!(opened.store.log_bytes(), log);
    opened.store.checkpoint().unwrap();
    let again = open(&files.restart(Loss::Process)).unwrap();
    assert!(again.catalog.snapshot().table(None, "passing").is_err());
    assert_eq!(again.catalog.snapshot().table(None, "t").unwrap().rows(), 5);
}

#[test]
fn statistics_come_back() {
    let files = SimulatedFiles::new(1);
    let opened = filled(&files, 30_000);
    opened.store.checkpoint().unwrap();
    commit(&opened.catalog, &[Step::Append("t".into(), rows(40_000, 10_000))], true).unwrap();
    let before = opened.catalog.snapshot().table(None, "t").unwrap().clone();
    let again = open(&files.restart(Loss::Process)).unwrap();
    let after = again.catalog.snapshot().table(None, "t").unwrap().clone();
    assert_eq!(before.data.all_statistics(), after.data.all_statistics());
    assert_eq!((before.id, before.options, &before.keys), (after.id, after.options, &after.keys));
    assert!(after.is_unique(&[0]));
}

/// How many commits share a sync, of one-row commits of `connections` threads on a disk whose syncs
/// take 20 ms: long beside what a thread does between two commits, on a crowded machine as well.
fn commits_per_sync(connections: u64) -> f64 {
    const COMMITS: i64 = 40;
    let files = SimulatedFiles::new(1);
    let opened = open(&files).unwrap();
    for table in 0..connections {
        commit(&opened.catalog, &[Step::Create(format!("t{table}"))], false).unwrap();
    }
    files.set_sync_delay(Duration::from_millis(20));
    let before = files.syncs();
    let work = |table: u64| {
        for number in 0..COMMITS {
            commit(&opened.catalog, &[Step::Append(format!("t{table}"), rows(number, 1))], true).unwrap();
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        (0..connections).for_each(|table| drop(scope.spawn(move || work(table))));
    });
    (connections as i64 * COMMITS) as f64 / (files.syncs() - before) as f64
}

/// The syncs are what commits wait for. Those that come during one share the next: four and more, of eight.
#[test]
fn commits_of_eight_connections_share_their_syncs() {
    let alone = commits_per_sync(1);
    assert!(alone <= 1.0, "{alone} commits a sync by one connection");
    // Where the machine has no time for some of the threads, those that it has time for share fewer.
    timing::in_one_of(5, || {
        let together = commits_per_sync(8);
        println!("{together:.2} commits a sync by eight connections");
        timing::met(together >= 3.0, together)
    });
}

/// Where databases of earlier versions lie: a folder each, `format-<version>`.
fn stored_databases() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// What those of format 1 hold.
fn stored_steps() -> [Vec<Step>; 3] {
    let name = |n: &str| n.to_string();
    let at = |from: i64, count: i64| (from..from + count).map(|v| vec![Some(v * 31 % 1009)]).collect();
    [
        vec![
            Step::Create(name("t")),
            Step::Append(name("t"), at(0, 5000)),
            Step::AddColumn(name("t"), name("b")),
            Step::Comment(name("t"), name("a table")),
            Step::View(name("v"), Some(name("SELECT a FROM t"))),
            Step::Sequence(name("s"), Some(33)),
            Step::Macro(name("m"), Some(name("x + 1"))),
            Step::Schema(name("other"), true),
        ],
        vec![Step::Delete(name("t"), 3), Step::Create(name("u")), Step::Append(name("u"), at(3, 7))],
        vec![Step::Append(name("u"), at(100, 2)), Step::Delete(name("u"), 5), Step::Macro(name("m"), None)],
    ]
}

/// Writes the test data anew: only when the format gets a new version, into a new folder.
#[test]
#[ignore = "writes test data; QUICKSTEP_STORED names the folder"]
fn store_a_database() {
    let folder = std::env::var("QUICKSTEP_STORED").unwrap();
    let files = Arc::new(LocalFiles::create(&files::Capability::everything(), folder).unwrap());
    let opened = Store::open(files, pool(), Access::Write).unwrap();
    opened.store.inline_bytes_max.store(2000, Relaxed);
    let [first, second, third] = stored_steps();
    commit(&opened.catalog, &first, true).unwrap();
    commit(&opened.catalog, &second, true).unwrap();
    opened.store.checkpoint().unwrap();
    commit(&opened.catalog, &third, true).unwrap();
}

#[test]
fn databases_of_every_format_version_open() {
    let mut model = Model::default();
    stored_steps().iter().flatten().for_each(|step| model.apply(step));
    let mut versions = 0;
    for entry in std::fs::read_dir(stored_databases()).unwrap() {
        let folder = entry.unwrap().path();
        let version = folder.file_name().unwrap().to_string_lossy().into_owned();
        if !version.starts_with("format-") {
            continue;
        }
        // A copy, so that the stored one stays as it was written.
        let (stored, files) =
            (LocalFiles::new(&files::Capability::everything(), &folder).unwrap(), SimulatedFiles::new(1));
        for entry in stored.list("").unwrap() {
            files.set_contents(&entry.name, files::read_all(&stored, &entry.name).unwrap());
        }
        let opened = open(&files).unwrap_or_else(|error| panic!("{version}: {error}"));
        assert_eq!(Model::of(&opened.catalog.snapshot()), model, "{version}");
        assert_eq!(opened.store.check().unwrap(), [], "{version}");
        commit(&opened.catalog, &[Step::Append("u".into(), rows(0, 2))], true).unwrap();
        opened.store.checkpoint().unwrap();
        assert_eq!(
            open(&files.restart(Loss::Power)).unwrap().catalog.snapshot().table(None, "u").unwrap().rows(),
            10
        );
        versions += 1;
    }
    assert_eq!(versions, names::FORMAT);
}

/// What a log of many small commits costs; at this length it wants a checkpoint.
#[test]
fn a_log_of_many_records_wants_a_checkpoint() {
    let files = SimulatedFiles::new(1);
    let opened = open(&files).unwrap();
    commit(&opened.catalog, &[Step::Create("t".into())], false).unwrap();
    let began = Instant::now();
    let mut count = 0;
    while !opened.store.wants_checkpoint() {
        commit(&opened.catalog, &[Step::Append("t".into(), rows(count, 1))], false).unwrap();
        count += 1;
    }
    assert_eq!(count as u64, LOG_RECORDS_MAX);
    println!("{count} one-row commits: {:?}, {} bytes of log", began.elapsed(), opened.store.log_bytes());
    let began = Instant::now();
    let again = open(&files.restart(Loss::Process)).unwrap();
    println!("replayed {} in {:?}", again.report.replayed, began.elapsed());
    assert!(again.store.wants_checkpoint());
    assert_eq!(again.catalog.snapshot().table(None, "t").unwrap().rows(), count as u64);
    again.store.checkpoint().unwrap();
    assert!(!again.store.wants_checkpoint());
}
