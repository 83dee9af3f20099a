//! The simulated disk keeps what was synced, loses what was not, and fails when told to.

use super::*;
use crate::{read_all, write_whole};

fn fault(operation: Operation, after: u64, kind: FaultKind) -> Fault {
    Fault { operation: Some(operation), after, kind, lasting: false }
}

#[test]
fn what_was_synced_survives_and_the_rest_varies() {
    let (mut lost, mut kept, mut torn, mut nameless) = (0, 0, 0, 0);
    for seed in 0..200 {
        let files = SimulatedFiles::new(seed);
        let mut writer = files.create("log").unwrap();
        writer.write(&[1; 1000]).unwrap();
        writer.sync().unwrap();
        files.sync_directory("").unwrap();
        writer.write(&[2; 3000]).unwrap();
        let mut other = files.create("blocks/1").unwrap();
        other.write(b"x").unwrap();
        other.sync().unwrap();
        let after = files.restart(Loss::Power);
        assert!(writer.write(b"late").is_err(), "the disk before is gone");
        let bytes = after.contents("log").unwrap();
        assert!(bytes[..1000].iter().all(|b| *b == 1));
        let survived = bytes[1000..].iter().filter(|b| **b == 2).count();
        match survived {
            0 => lost += 1,
            3000 => kept += 1,
            _ => torn += 1,
        }
        nameless += usize::from(after.contents("blocks/1").is_none());
    }
    assert!(lost > 20 && kept > 20 && torn > 20, "{lost} {kept} {torn}");
    assert!((50..200).contains(&nameless), "{nameless}");
}

#[test]
fn a_killed_process_leaves_what_it_wrote() {
    let files = SimulatedFiles::new(1);
    files.create("a").unwrap().write(b"hello").unwrap();
    let killed = files.restart(Loss::Process);
    assert_eq!(killed.contents("a").unwrap(), b"hello");
    // It is still not synced: the power may fail next.
    let gone = (0..50).filter(|_| killed.restart(Loss::Process).restart(Loss::Power).contents("a").is_none());
    assert!(gone.count() > 5);
}

#[test]
fn faults_come_when_they_are_due() {
    let files = SimulatedFiles::new(3);
    files.inject(fault(Operation::Write, 1, FaultKind::DiskFull));
    let mut writer = files.create("a").unwrap();
    writer.write(b"first").unwrap();
    assert_eq!(writer.write(b"second").unwrap_err().state(), SqlState::DiskFull);
    writer.cut(5).unwrap();
    writer.write(b"third").unwrap();
    assert_eq!(files.contents("a").unwrap(), b"firstthird");
    files.inject(fault(Operation::Sync, 0, FaultKind::Device));
    assert_eq!(writer.sync().unwrap_err().state(), SqlState::IoError);
    // What a failed sync should have saved is not saved by the next.
    writer.sync().unwrap();
    files.sync_directory("").unwrap();
    let lost = (0..100).map(|seed| {
        let files = SimulatedFiles::new(seed);
        let mut writer = files.create("a").unwrap();
        files.sync_directory("").unwrap();
        writer.write(b"one").unwrap();
        files.inject(fault(Operation::Sync, 0, FaultKind::Device));
        assert!(writer.sync().is_err());
        writer.sync().unwrap();
        files.restart(Loss::Power).contents("a").unwrap().len() < 3
    });
    assert!(lost.filter(|l| *l).count() > 10);
    files.inject(Fault { operation: None, after: 2, kind: FaultKind::PowerLoss, lasting: false });
    writer.write(b"x").unwrap();
    writer.sync().unwrap();
    assert!(writer.write(b"y").is_err() && files.is_lost());
    assert!(files.open("a").is_err());
}

#[test]
fn a_file_written_whole_is_there_whole_or_not_at_all() {
    for seed in 0..300 {
        let files = SimulatedFiles::new(seed);
        write_whole(&files, "catalog", b"old").unwrap();
        let kind = if seed % 2 == 0 { FaultKind::PowerLoss } else { FaultKind::DiskFull };
        files.inject(Fault { operation: None, after: seed % 8, kind, lasting: false });
        let written = write_whole(&files, "catalog", b"newer").is_ok();
        let after = files.restart(Loss::Power);
        let found = after.contents("catalog").unwrap();
        assert!(found == b"newer" || (!written && found == b"old"), "{seed}: {found:?}");
        write_whole(&after, "catalog", b"again").unwrap();
        assert_eq!(read_all(&after, "catalog").unwrap(), b"again");
    }
}

#[test]
fn writing_goes_on_during_a_sync() {
    // Where the machine has no time for the writer, the sync is over before it: in one round, and not in all.
    timing::in_one_of(10, writes_during_a_sync);
}

fn writes_during_a_sync() -> std::result::Result<(), String> {
    let files = SimulatedFiles::new(9);
    files.set_sync_delay(Duration::from_millis(50));
    let mut writer = files.create("a").unwrap();
    files.sync_directory("").unwrap();
    writer.write(b"before").unwrap();
    let syncer = writer.syncer().unwrap();
    let is_written_first = std::thread::scope(|scope| {
        let synced = scope.spawn(move || syncer.sync());
        while files.syncs() == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(5));
        writer.write(b"after").unwrap();
        let is_first = !synced.is_finished();
        synced.join().unwrap().unwrap();
        is_first
    });
    assert!(files.restart(Loss::Power).contents("a").unwrap().starts_with(b"before"));
    timing::met(is_written_first, "the sync ended before the write")
}

#[test]
fn one_process_locks() {
    let files = SimulatedFiles::new(0);
    let owner = Owner { process: 7, host: "here".into() };
    let held = files.lock("lock", &owner).unwrap();
    assert_eq!(files.lock("lock", &owner).unwrap_err().state(), SqlState::LockNotAvailable);
    drop(held);
    files.lock("lock", &owner).unwrap();
}
