//! What a run's work orders did, kept for its trace.
//!
//! Each thread that serves the run has a buffer of its own, which it takes when it executes its first order and gives back
//! when it leaves: no lock and no line shared with others per order, only a push into a vector. They are merged once, after
//! the last thread has left. A buffer is bounded: when it is full, neighbours of one segment are joined, so that the
//! timeline of a run of hours is coarser, and still whole.

use sync::{Checkout, Pool};
use workorder::OrderRecord;

/// Records of a run, over all of its threads: 80 bytes each.
const RECORDS_MAX: usize = 32 << 10;
/// The smallest bound of one thread's buffer.
const RECORDS_MIN: usize = 256;

/// One thread's records.
#[derive(Debug)]
pub(crate) struct Records {
    kept: Vec<OrderRecord>,
    max: usize,
}

/// The records of one run.
#[derive(Debug)]
pub(crate) struct Recorder {
    buffers: Pool<Records>,
    max: usize,
}

impl Recorder {
    /// A recorder for a run that `workers` threads may serve at a time.
    pub(crate) fn new(workers: usize) -> Self {
        Recorder { buffers: Pool::new(), max: (RECORDS_MAX / workers.max(1)).max(RECORDS_MIN) }
    }

    /// The calling thread's buffer, until what is returned is dropped.
    pub(crate) fn open(&self) -> Checkout<'_, Records> {
        self.buffers.checkout(|| Records { kept: Vec::new(), max: self.max })
    }

    /// All records in the order of their beginning. Called after all threads have given their buffers back.
    pub(crate) fn take(&self) -> Vec<OrderRecord> {
        let mut buffers = self.buffers.drain().into_iter().map(|records| records.kept);
        let mut all = buffers.next().unwrap_or_default();
        buffers.for_each(|more| all.extend(more));
        all.sort_by_key(|record| (record.started, record.worker));
        all
    }
}

impl Records {
    pub(crate) fn push(&mut self, record: OrderRecord) {
        if self.kept.len() >= self.max {
            self.halve();
        }
        debug_assert!(record.started <= record.ended && record.orders > 0, "{record:?}");
        debug_assert!(self.kept.len() < self.max, "{} records of {}", self.kept.len(), self.max);
        self.kept.push(record);
    }

    /// Joins neighbours in pairs. Where those of one segment do not stand side by side, they are sorted so that they do:
    /// what overlaps on one worker then is told by the number of orders.
    fn halve(&mut self) {
        self.join_pairs();
        if self.kept.len() > self.max / 4 * 3 {
            self.kept.sort_by_key(|record| (record.segment, record.worker, record.started));
            self.join_pairs();
            self.kept.sort_by_key(|record| record.started);
        }
    }

    fn join_pairs(&mut self) {
        let mut joined: Vec<OrderRecord> = Vec::with_capacity(self.max);
        let mut open = false;
        for record in &self.kept {
            match joined.last_mut() {
                Some(last) if open && last.segment == record.segment && last.worker == record.worker => {
                    last.join(record);
                    open = false;
                }
                _ => {
                    joined.push(*record);
                    open = true;
                }
            }
        }
        let orders = |records: &[OrderRecord]| records.iter().map(|record| record.orders).sum::<u64>();
        debug_assert_eq!(orders(&joined), orders(&self.kept), "joining loses no order");
        self.kept = joined;
    }
}

#[cfg(test)]
mod tests {
    use workorder::{SegmentId, WorkerId};

    use super::*;

    fn record(segment: u32, started: u64) -> OrderRecord {
        OrderRecord {
            segment: SegmentId(segment),
            worker: WorkerId(0),
            started,
            ended: started + 5,
            held: 0,
            waited: 1,
            units: 2,
            rows: 3,
            bytes: 4,
            grown: -1,
            orders: 1,
        }
    }

    fn sums(records: &[OrderRecord]) -> (u64, u64, u64, u64, i64) {
        records.iter().fold((0, 0, 0, 0, 0), |sum, r| {
            (sum.0 + r.orders, sum.1 + r.units, sum.2 + r.rows, sum.3 + r.waited, sum.4 + r.grown)
        })
    }

    #[test]
    fn a_long_run_keeps_a_bounded_number_of_records_that_add_up() {
        for segments in [1u64, 2, 7] {
            let recorder = Recorder::new(1 << 20);
            let total = 100_000u64;
            let mut records = recorder.open();
            for at in 0..total {
                records.push(record((at % segments) as u32, at * 10));
                assert!(records.kept.len() <= RECORDS_MIN, "{} of {segments} segments", records.kept.len());
            }
            drop(records);
            let all = recorder.take();
            assert_eq!(sums(&all), (total, 2 * total, 3 * total, total, -(total as i64)));
            assert!(all.is_sorted_by_key(|r| r.started));
            // Every part of the time is covered by some record.
            assert_eq!((all[0].started, all.iter().map(|r| r.ended).max()), (0, Some(total * 10 - 5)));
        }
    }

    #[test]
    fn buffers_of_several_threads_are_merged_by_time() {
        let recorder = Recorder::new(2);
        let (mut first, mut second) = (recorder.open(), recorder.open());
        second.push(record(1, 20));
        first.push(record(0, 10));
        first.push(record(0, 30));
        drop((first, second));
        let started: Vec<u64> = recorder.take().iter().map(|r| r.started).collect();
        assert_eq!(started, [10, 20, 30]);
        assert!(recorder.take().is_empty());
    }
}
