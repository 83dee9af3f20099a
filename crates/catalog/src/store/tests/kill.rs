//! Processes that are killed while several threads commit, read and make checkpoints: at random moments from outside, and
//! by themselves at every single operation on a file. What they had reported as committed is there.
//!
//! `QUICKSTEP_KILLS=1000` says how many; without it a few dozen are.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use files::LocalFiles;

use super::model::{Model, Step, commit};
use super::watched::Watched;
use super::*;

const FOLDER: &str = "QUICKSTEP_KILLED_FOLDER";
const OPERATIONS: &str = "QUICKSTEP_KILLED_AFTER";
const THREADS: usize = 4;

fn table(thread: usize) -> String {
    format!("t{thread}")
}

/// Counts up in a table a thread, and reports each commit when it is acknowledged.
#[test]
#[ignore = "started by the tests below, and killed"]
fn a_process_to_be_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let left = std::env::var(OPERATIONS).ok().and_then(|n| n.parse::<i64>().ok());
    let left = AtomicI64::new(left.unwrap_or(i64::MAX));
    let files = Watched::new(
        Arc::new(LocalFiles::create(&files::Capability::everything(), folder).unwrap()),
        move |_| {
            if left.fetch_sub(1, Relaxed) <= 0 {
                // No destructor runs, no buffer is written.
                std::process::abort();
            }
            true
        },
    );
    let opened = Store::open(Arc::new(files), pool(), Access::Write).unwrap();
    opened.store.inline_bytes_max.store(600, Relaxed);
    let first: Vec<i64> = (0..THREADS)
        .map(|thread| {
            if opened.catalog.snapshot().table(None, &table(thread)).is_err() {
                commit(&opened.catalog, &[Step::Create(table(thread))], false).unwrap();
            }
            Model::of(&opened.catalog.snapshot()).tables[&table(thread)].rows.len() as i64 / 2
        })
        .collect();
    std::thread::scope(|scope| {
        let opened = &opened;
        for (thread, first) in first.into_iter().enumerate() {
            scope.spawn(move || {
                for value in first + 1.. {
                    let step = Step::Append(table(thread), vec![vec![Some(value)]; 2]);
                    commit(&opened.catalog, &[step], thread % 2 == 0).unwrap();
                    let line = format!("committed {thread} {value}\n");
                    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                }
            });
        }
        scope.spawn(move || {
            loop {
                opened.store.checkpoint().unwrap();
                for table in Model::of(&opened.catalog.snapshot()).tables.values() {
                    assert_eq!(table.rows.len() % 2, 0);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
}

/// Starts a process on a folder, ends it, and gives the last value that each thread reported.
fn start_and_kill(folder: &Path, operations: Option<u64>, moment: Duration) -> [Option<i64>; THREADS] {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = "store::tests::kill::a_process_to_be_killed";
    command.args(["--ignored", "--exact", test, "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(operations) = operations {
        command.env(OPERATIONS, operations.to_string());
    }
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    if operations.is_none() {
        std::thread::sleep(moment);
        child.kill().unwrap();
    }
    let mut last = [None; THREADS];
    for line in output.split(b'\n').map_while(std::result::Result::ok) {
        // The line that was being written when it was killed may be a part of one.
        let line = String::from_utf8_lossy(&line).into_owned();
        let words: Vec<&str> = line.split("committed ").last().unwrap_or("").split(' ').collect();
        let [thread, value] = words[..] else { continue };
        if let (Ok(thread), Ok(value)) = (thread.parse::<usize>(), value.parse::<i64>()) {
            last[thread] = last[thread].max(Some(value));
        }
    }
    child.wait().unwrap();
    last
}

/// Opens what the process left; returns the commits that are there.
fn verify(
    folder: &Path,
    before: &[i64; THREADS],
    reported: [Option<i64>; THREADS],
    what: &str,
) -> [i64; THREADS] {
    let opened = Store::open(
        Arc::new(LocalFiles::new(&files::Capability::everything(), folder).unwrap()),
        pool(),
        Access::Write,
    )
    .unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = Model::of(&opened.catalog.snapshot());
    let mut there = [0; THREADS];
    for thread in 0..THREADS {
        let rows = found.tables.get(&table(thread)).map_or(&[][..], |t| &t.rows);
        let expected: Vec<_> =
            (1..=rows.len() as i64 / 2).flat_map(|v| [vec![Some(v)], vec![Some(v)]]).collect();
        assert_eq!(rows, expected, "{what}");
        there[thread] = rows.len() as i64 / 2;
        let least = reported[thread].unwrap_or(0).max(before[thread]);
        // A last line may have been cut short, so that it names a smaller number.
        assert!(there[thread] >= least, "{what}: {} of {least}", there[thread]);
    }
    assert_eq!(opened.store.check().unwrap(), [], "{what}");
    there
}

fn fresh_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("quickstep-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn kills(default: u64) -> u64 {
    std::env::var("QUICKSTEP_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn killed_at_random_moments() {
    let folder = fresh_folder("killed");
    let mut random = Random::new(1);
    let (mut there, mut acknowledged) = ([0; THREADS], 0);
    let kills = kills(25);
    for kill in 0..kills {
        // A new database now and then: being killed while it is created is one of the moments.
        if kill % 20 == 0 && folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
            there = [0; THREADS];
        }
        let moment = Duration::from_micros(2000 + random.below(60_000));
        let reported = start_and_kill(&folder, None, moment);
        if !folder.join("lock").exists() {
            continue;
        }
        let before = there;
        there = verify(&folder, &before, reported, &format!("kill {kill}"));
        acknowledged += there.iter().sum::<i64>() - before.iter().sum::<i64>();
    }
    println!("{kills} kills, {acknowledged} commits");
    assert!(acknowledged > kills as i64, "{acknowledged}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn killed_at_every_operation() {
    let folder = fresh_folder("killed-at");
    let most = kills(60);
    for operations in 0..most {
        let _ = std::fs::remove_dir_all(&folder);
        let reported = start_and_kill(&folder, Some(operations), Duration::ZERO);
        let there = verify(&folder, &[0; THREADS], reported, &format!("operation {operations}"));
        // The next process may be killed while it recovers.
        let again = start_and_kill(&folder, Some(operations % 23), Duration::ZERO);
        verify(&folder, &there, again, &format!("operation {operations}, again"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
