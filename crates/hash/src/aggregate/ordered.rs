//! One ascending integer key: groups are runs of rows, appended without looking anything up.
//!
//! ```text
//!  unit 0:  1 1 2 3 3 3 | unit 1:  3 4 4 5 | unit 4:  9 9 ...      (a unit's rows ascend; units need not)
//!  segments [1 2 3]       [3 4 5]            [9 ...]
//! ```
//! A segment holds the groups of one unit, in ascending order. When all input is seen and the segments of all workers
//! lie one behind the other, the result is their sequence, and only a group that two segments touch has to be merged.
//! Otherwise the groups go the way of all others.

use types::Physical;
use vector::{Data, Vector};

use super::{FrozenKeys, KeyStore, StateSpec, States};

/// Groups `[start, end)` of one worker, in ascending order of their key.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Number of the first group.
    pub start: usize,
    /// Number behind the last group.
    pub end: usize,
    first: i64,
    last: i64,
}

/// The index of an ascending key: one worker's groups as runs. Given up when a unit's keys turn out not to ascend.
#[derive(Default)]
pub struct Ordered {
    /// The segments so far, in the order of the groups' numbers.
    pub segments: Vec<Segment>,
    tag: Option<u64>,
}

/// Segments with fewer groups than this on average cost more to hand on one by one than to merge.
const SEGMENT_GROUPS_MIN: usize = 64;

impl Ordered {
    /// The groups of the runs that begin at `starts`, into `groups`; `new` gets those that begin a group, numbered
    /// from `next` on. False when the keys do not ascend: nothing is changed then.
    pub fn find(
        &mut self,
        key: &Vector,
        starts: &[u32],
        tag: u64,
        next: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        if key.has_nulls() {
            return false;
        }
        match key.data() {
            Data::I16(v) => self.find_in(|row| i64::from(v[row as usize]), starts, tag, next, groups, new),
            Data::I32(v) => self.find_in(|row| i64::from(v[row as usize]), starts, tag, next, groups, new),
            Data::I64(v) => self.find_in(|row| v[row as usize], starts, tag, next, groups, new),
            _ => false,
        }
    }
    fn find_in(
        &mut self,
        value: impl Fn(u32) -> i64,
        starts: &[u32],
        tag: u64,
        next: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else { return true };
        let mut ascend = true;
        for pair in starts.windows(2) {
            ascend &= value(pair[0]) < value(pair[1]);
        }
        if !ascend {
            return false;
        }
        let (first, last) = (value(*first), value(*last));
        let continued = self.tag == Some(tag);
        let open = self.segments.last_mut().filter(|s| continued && s.last <= first);
        groups.clear();
        new.clear();
        let mut fresh = starts;
        match open {
            Some(segment) => {
                if segment.last == first {
                    groups.push(next as u32 - 1);
                    fresh = &starts[1..];
                }
                segment.end = next + fresh.len();
                segment.last = last;
            }
            None => self.segments.push(Segment { start: next, end: next + starts.len(), first, last }),
        }
        self.tag = Some(tag);
        new.extend_from_slice(fresh);
        groups.extend((0..fresh.len() as u32).map(|at| next as u32 + at));
        true
    }
}

/// Puts the segments of all workers, `(worker, segment)`, in order. Groups that two of them touch are merged into the
/// earlier segment and left out of the later one. `None` when segments overlap or are too small to be worth it.
pub fn chain(
    workers: &mut [(KeyStore, States, Vec<Segment>)],
    spec: &StateSpec,
) -> Option<Vec<(usize, Segment)>> {
    let mut segments: Vec<(usize, Segment)> =
        workers.iter().enumerate().flat_map(|(at, (_, _, s))| s.iter().map(move |s| (at, *s))).collect();
    let groups: usize = workers.iter().map(|(keys, _, _)| keys.len()).sum();
    if segments.len() > 1 && groups < segments.len() * SEGMENT_GROUPS_MIN {
        return None;
    }
    segments.sort_by_key(|(_, s)| (s.first, s.last));
    if segments.windows(2).any(|pair| pair[0].1.last > pair[1].1.first) {
        return None;
    }
    // Where the last group so far is: worker, group, key.
    let mut open: Option<(usize, usize, i64)> = None;
    for (worker, segment) in &mut segments {
        if let Some((owner, group, key)) = open
            && key == segment.first
        {
            let mut moved = States::new(spec);
            moved.resize(1);
            moved.merge(&workers[*worker].1, Some(&[segment.start as u32]), &[0]);
            workers[owner].1.merge(&moved, None, &[group as u32]);
            segment.start += 1;
        }
        if segment.start < segment.end {
            open = Some((*worker, segment.end - 1, segment.last));
        }
    }
    segments.retain(|(_, s)| s.start < s.end);
    Some(segments)
}

/// The only key column, as a vector.
pub fn key_column(keys: &FrozenKeys) -> Vector {
    let column = keys.column(0, 0, keys.len());
    debug_assert!(matches!(column.ty().physical(), Physical::I16 | Physical::I32 | Physical::I64));
    column
}
