//! Writing the log: records in the order of commits, and one sync for many of them (group commit).
//!
//! ```text
//!  append  (in the order of commits)  record -> file        a record that fails is taken back, and cut from the file
//!  wait    a record is durable?  yes: done
//!          a sync is running?    yes: wait for that sync (follower)
//!                                no:  sync everything appended so far, and wake the others (leader)
//! ```
//! While a leader syncs, others append; the next leader syncs all of theirs at once. When the last sync found several
//! commits under way, a leader gives them a moment to join before it begins: those just woken would otherwise always
//! miss it, and with n connections every sync would carry n/2 commits instead of n.
//!
//! After a sync that failed it is unknown what is on the disk, and asking again does not help: the kernel may have
//! dropped what it could not write (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020).
//! The log takes no more then, until the database is opened again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use types::{Error, Result, SqlState};

use crate::log_format::record;
use crate::{FileSync, FileWriter};

/// A leader waits for others at most for this share of what a sync takes.
const GATHERING_SHARE: u32 = 8;
/// And never longer than this.
const GATHERING_MAX: Duration = Duration::from_millis(2);

/// A log that is written; its bytes are drawn in `log_format`.
#[derive(Debug)]
pub struct Log {
    tail: Mutex<Tail>,
    syncing: Mutex<Syncing>,
    changed: Condvar,
    /// Whose log it is, for messages.
    owner: &'static str,
}

/// Where records are written. Locked before `Syncing` when both are.
#[derive(Debug)]
struct Tail {
    writer: Box<dyn FileWriter>,
    /// Number of the last record.
    number: u64,
}

#[derive(Debug)]
struct Syncing {
    syncer: Arc<dyn FileSync>,
    appended: u64,
    durable: u64,
    /// A thread is syncing.
    busy: bool,
    failed: Option<Error>,
    /// Commits that were under way when the last sync ended.
    expected: u64,
    took: Duration,
}

impl Log {
    /// Goes on behind the record `number`, all of which is on stable storage. `owner` is what messages call the thing
    /// that the log belongs to ("database").
    pub fn new(writer: Box<dyn FileWriter>, number: u64, owner: &'static str) -> Result<Log> {
        let syncer = writer.syncer()?;
        Ok(Log {
            tail: Mutex::new(Tail { writer, number }),
            syncing: Mutex::new(Syncing {
                syncer,
                appended: number,
                durable: number,
                busy: false,
                failed: None,
                expected: 1,
                took: Duration::ZERO,
            }),
            changed: Condvar::new(),
            owner,
        })
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn syncing(&self) -> MutexGuard<'_, Syncing> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the log's file.
    pub fn bytes(&self) -> u64 {
        self.tail().writer.position()
    }

    /// Writes a record, and gives its number. On an error it is as if nothing had been asked.
    pub fn append(&self, payload: &[u8]) -> Result<u64> {
        let mut tail = self.tail();
        let durable = {
            let syncing = self.syncing();
            if let Some(error) = &syncing.failed {
                return Err(no_more(self.owner, error));
            }
            syncing.durable
        };
        let number = tail.number + 1;
        let bytes = record(number, durable, payload).ok_or_else(|| {
            Error::unsupported("a transaction changes too much for one record of the log")
                .with_hint("split it into several transactions")
        })?;
        let before = tail.writer.position();
        if let Err(error) = tail.writer.write(&bytes) {
            // What may be there of the record must not come back, not even when the power goes.
            if let Err(second) = tail.writer.cut(before).and_then(|()| tail.writer.sync()) {
                self.syncing().failed = Some(second);
            }
            return Err(error);
        }
        tail.number = number;
        self.syncing().appended = number;
        self.changed.notify_all();
        Ok(number)
    }

    /// Returns when the record of this number, and so all before it, is on stable storage. An error leaves that open.
    pub fn wait(&self, number: u64) -> Result<()> {
        let mut syncing = self.syncing();
        loop {
            if syncing.durable >= number {
                return Ok(());
            }
            if let Some(error) = &syncing.failed {
                return Err(unknown_outcome(self.owner, error));
            }
            if syncing.busy {
                syncing = self.changed.wait(syncing).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            syncing.busy = true;
            syncing = self.gather(syncing);
            syncing = self.lead(syncing);
        }
    }

    /// Lets commits that are under way join.
    fn gather<'a>(&'a self, mut syncing: MutexGuard<'a, Syncing>) -> MutexGuard<'a, Syncing> {
        let until = Instant::now() + (syncing.took / GATHERING_SHARE).min(GATHERING_MAX);
        while syncing.appended - syncing.durable < syncing.expected && syncing.failed.is_none() {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|l| !l.is_zero()) else {
                break;
            };
            let waited = self.changed.wait_timeout(syncing, left).unwrap_or_else(PoisonError::into_inner);
            syncing = waited.0;
        }
        syncing
    }

    /// Syncs what was appended; `busy` is the caller's.
    fn lead<'a>(&'a self, syncing: MutexGuard<'a, Syncing>) -> MutexGuard<'a, Syncing> {
        let (target, syncer) = (syncing.appended, syncing.syncer.clone());
        drop(syncing);
        let began = Instant::now();
        let synced = syncer.sync();
        let took = began.elapsed();
        let mut syncing = self.syncing();
        syncing.busy = false;
        match synced {
            Ok(()) => {
                syncing.expected = syncing.appended - syncing.durable;
                syncing.durable = syncing.durable.max(target);
                syncing.took = took;
            }
            Err(error) => syncing.failed = Some(error),
        }
        self.changed.notify_all();
        syncing
    }

    /// Goes on in another file, after everything in this one is on stable storage; `meanwhile` runs when that is so, and
    /// no record is written before it ends. Returns the number of the last record before.
    pub fn switch(&self, writer: Box<dyn FileWriter>, meanwhile: impl FnOnce(u64)) -> Result<u64> {
        let syncer = writer.syncer()?;
        let mut tail = self.tail();
        let mut syncing = self.syncing();
        loop {
            if let Some(error) = &syncing.failed {
                return Err(no_more(self.owner, error));
            }
            if syncing.busy {
                syncing = self.changed.wait(syncing).unwrap_or_else(PoisonError::into_inner);
            } else if syncing.durable < tail.number {
                syncing.busy = true;
                syncing = self.lead(syncing);
            } else {
                break;
            }
        }
        syncing.syncer = syncer;
        drop(syncing);
        tail.writer = writer;
        meanwhile(tail.number);
        Ok(tail.number)
    }

    /// Why the log takes no more, if it does not.
    pub fn failure(&self) -> Option<Error> {
        self.syncing().failed.clone()
    }
}

fn no_more(owner: &str, cause: &Error) -> Error {
    Error::new(SqlState::ReadOnly, format!("the {owner} takes no changes after its disk failed"))
        .with_detail(cause.message().to_owned())
        .with_hint("open it again, when the disk is well")
}

fn unknown_outcome(owner: &str, cause: &Error) -> Error {
    let message = format!("the transaction could not be made durable: {}", cause.message());
    Error::new(SqlState::IoError, message).with_detail("nobody can tell whether it is on the disk").with_hint(
        format!("the {owner} takes no changes until it is opened again, which shows what was kept"),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use crate::{Fault, FaultKind, FileManager, Loss, Operation, SimulatedFiles, read_all};

    use super::*;
    use crate::log_format::{HEADER_BYTES, header, scan};

    fn log_on(files: &SimulatedFiles) -> Log {
        let mut writer = files.create("log-1").unwrap();
        writer.write(&header(&[1; 16], 1)).unwrap();
        writer.sync().unwrap();
        files.sync_directory("").unwrap();
        Log::new(writer, 0, "database").unwrap()
    }

    fn payloads(files: &SimulatedFiles) -> Vec<Vec<u8>> {
        let bytes = read_all(files, "log-1").unwrap();
        let scan = scan(&bytes, "log-1", 1).unwrap();
        scan.records.iter().map(|r| bytes[r.payload.clone()].to_vec()).collect()
    }

    #[test]
    fn what_was_waited_for_survives() {
        for seed in 0..200 {
            let files = SimulatedFiles::new(seed);
            let log = log_on(&files);
            let first = log.append(b"first").unwrap();
            log.wait(first).unwrap();
            log.append(b"second").unwrap();
            let found = payloads(&files.restart(Loss::Power));
            assert_eq!(found[0], b"first");
            assert!(found.len() == 1 || found[1] == b"second");
        }
    }

    #[test]
    fn a_full_disk_takes_the_record_back() {
        let mut came_back = 0;
        for seed in 0..100 {
            let files = SimulatedFiles::new(seed);
            let log = log_on(&files);
            let first = log.append(b"first").unwrap();
            files.inject(Fault {
                operation: Some(Operation::Write),
                after: 0,
                kind: FaultKind::DiskFull,
                lasting: false,
            });
            assert_eq!(log.append(&[7; 2000]).unwrap_err().state(), SqlState::DiskFull);
            came_back += payloads(&files.restart(Loss::Process)).len() - 1;
            let files = files.restart(Loss::Power);
            let found = payloads(&files);
            assert!(found.is_empty() || found == [b"first".to_vec()], "{seed}");
            let _ = first;
        }
        assert_eq!(came_back, 0);
        let files = SimulatedFiles::new(1);
        let log = log_on(&files);
        files.inject(Fault {
            operation: Some(Operation::Write),
            after: 0,
            kind: FaultKind::DiskFull,
            lasting: false,
        });
        assert!(log.append(b"lost").is_err());
        let next = log.append(b"next").unwrap();
        log.wait(next).unwrap();
        assert_eq!((next, payloads(&files)), (1, vec![b"next".to_vec()]));
    }

    #[test]
    fn after_a_failed_sync_nothing_is_taken() {
        let files = SimulatedFiles::new(1);
        let log = log_on(&files);
        files.inject(Fault {
            operation: Some(Operation::Sync),
            after: 0,
            kind: FaultKind::Device,
            lasting: false,
        });
        let number = log.append(b"x").unwrap();
        assert_eq!(log.wait(number).unwrap_err().state(), SqlState::IoError);
        assert_eq!(log.wait(number).unwrap_err().state(), SqlState::IoError, "asking again changes nothing");
        let refused = log.append(b"y").unwrap_err();
        assert_eq!(refused.state(), SqlState::ReadOnly);
        assert!(refused.hint().unwrap().contains("open it again"));
    }

    /// Commits of `connections` threads in `span`, on a disk whose syncs take 5 ms.
    fn commits(connections: usize, span: Duration) -> (u64, u64) {
        let files = SimulatedFiles::new(1);
        let log = log_on(&files);
        files.set_sync_delay(Duration::from_millis(5));
        let (done, before) = (AtomicU64::new(0), files.syncs());
        let until = Instant::now() + span;
        std::thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    while Instant::now() < until {
                        let number = log.append(b"one row").unwrap();
                        log.wait(number).unwrap();
                        done.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert_eq!(payloads(&files).len() as u64, done.load(Relaxed));
        (done.load(Relaxed), files.syncs() - before)
    }

    #[test]
    fn eight_connections_share_their_syncs() {
        let span = Duration::from_millis(400);
        let (alone, _) = commits(1, span);
        let (together, syncs) = commits(8, span);
        assert!(together >= 5 * alone, "{together} commits by eight, {alone} by one, {syncs} syncs");
    }

    #[test]
    fn another_file_goes_on_where_the_first_ends() {
        let files = SimulatedFiles::new(4);
        let log = log_on(&files);
        log.append(b"one").unwrap();
        let mut writer = files.create("log-2").unwrap();
        writer.write(&header(&[1; 16], 2)).unwrap();
        let last = log.switch(writer, |number| assert_eq!(number, 1)).unwrap();
        assert_eq!(last, 1);
        assert_eq!(log.append(b"two").unwrap(), 2);
        log.wait(2).unwrap();
        assert_eq!(payloads(&files), [b"one".to_vec()]);
        let bytes = read_all(&files, "log-2").unwrap();
        assert_eq!(scan(&bytes, "log-2", 2).unwrap().records.len(), 1);
        assert!(log.bytes() > HEADER_BYTES as u64);
    }
}
