//! Crowded keys of a join whose residual is a range (`l.k = r.k AND r.t <= l.t`): their rows are searched, not
//! walked.
//!
//! ```text
//!  chains of the table     key 7: 14 rows      key 8: 90,000 rows      key 9: 2 rows      key 10: 300 rows
//!  places                                      0 ........... 89,999                       90,000 ... 90,299
//!                                              by the range's key                         by the range's key
//! ```
//! All crowds share one index (`range_join/index.rs`), in which each is a run of places. A probe row that finds a
//! crowded key asks for the rows of its range among the crowd's places; shorter chains are walked as ever. So a key
//! that half of all rows have costs a sort, and not the square of its rows. Which keys are crowded is known once the
//! table is filled.
//!
//! The residual is evaluated over the pairs all the same, which also tells apart keys that share a hash.

use std::collections::HashMap;
use std::sync::Arc;

use plan::NodeId;
use types::Result;
use vector::gather::NO_ROW;
use vector::{Batch, Vector};

use super::HashJoin;
use super::crowds::{CROWDED_ROW_BYTES, Crowds};
use super::state::Built;
use crate::context::QueryContext;
use crate::pipeline::{Step, Work};
use crate::range_join::index::{CHECKED_ROWS, RangeIndex, SecondKey};
use crate::range_join::keys::KeyColumn;
use crate::range_join::sorting::Sorting;
use crate::range_join::terms::RangeTerms;

/// Rows of one key from which on they are sorted: a search costs as much as a walk over so many.
const CROWD_ROWS_MIN: usize = if cfg!(test) { 4 } else { 64 };

/// Finds the crowds of a finished table and builds their index.
pub(super) struct GroupStep(pub Arc<HashJoin>);

impl Step for GroupStep {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(u64::from(!self.0.has_spilled()))
    }
    fn run(&self, _partition: u64, work: &Work<'_>) -> Result<()> {
        let built = self.0.built()?;
        self.0.find_crowds(&built, work)
    }
}

impl HashJoin {
    /// Sorts the rows of crowded keys, if there are any.
    pub(super) fn find_crowds(&self, built: &Built, work: &Work<'_>) -> Result<()> {
        let (Some(terms), Some(next)) = (&self.range, built.table.next()) else { return Ok(()) };
        if let Some(crowds) = Crowds::of(terms, next, built, work)? {
            work.query.metrics.count(self.node, "rows of crowded keys, sorted", crowds.rows.len() as u64);
            // A build side is completed once.
            let _ = built.crowds.set(crowds);
        }
        Ok(())
    }
}

impl Crowds {
    fn of(terms: &RangeTerms, next: &[u32], built: &Built, work: &Work<'_>) -> Result<Option<Crowds>> {
        let (rows, crowds) = long_chains(next, work)?;
        if crowds.is_empty() {
            return Ok(None);
        }
        let reservation = work.reserve(rows.len() * CROWDED_ROW_BYTES)?;
        let Some((keys, valid)) = keys_of(terms, &rows, built, work)? else { return Ok(None) };
        // Which crowd each of the rows is of; those with a NULL among their keys are of none.
        let mut crowd_of = vec![u32::MAX; rows.len()];
        let mut begin = 0;
        let mut counts = vec![0u32; crowds.len()];
        for (crowd, (_, end)) in crowds.iter().enumerate() {
            for at in begin..*end {
                if valid.as_ref().is_none_or(|valid| valid[at]) {
                    crowd_of[at] = crowd as u32;
                    counts[crowd] += 1;
                }
            }
            begin = *end;
        }
        let mut starts = Vec::with_capacity(crowds.len());
        let mut before = 0;
        for count in &counts {
            starts.push(before);
            before += count;
        }
        let total = before as usize;
        let mut keys = keys.into_iter();
        let Some(first) = keys.next() else { return Ok(None) };
        let (by_first, first) = sorted(first, work)?;
        // Within a crowd they keep the order of the key.
        let mut places = vec![u32::MAX; rows.len()];
        let mut at_place = vec![0u32; total];
        let mut next_place = starts.clone();
        for (done, at) in by_first.iter().enumerate() {
            if done % CHECKED_ROWS == 0 {
                work.check()?;
            }
            let crowd = crowd_of[*at as usize];
            if let Some(place) = next_place.get_mut(crowd as usize) {
                places[*at as usize] = *place;
                at_place[*place as usize] = *at;
                *place += 1;
            }
        }
        work.check()?;
        let second = match keys.next() {
            None => None,
            Some(keys) => {
                let (mut order, keys) = sorted(keys, work)?;
                order.retain(|at| places[*at as usize] != u32::MAX);
                let keys = keys.gather(&order);
                let places = order.iter().map(|at| places[*at as usize]);
                Some(SecondKey::new(keys, places, terms.is_reversed, &|| work.check())?)
            }
        };
        work.check()?;
        let mut is_first = vec![0u64; next.len().div_ceil(64)];
        let mut of_first = HashMap::with_capacity(crowds.len());
        for ((row, _), (start, count)) in crowds.iter().zip(starts.iter().zip(&counts)) {
            is_first[*row as usize / 64] |= 1 << (row % 64);
            of_first.insert(*row, (*start, start + count));
        }
        Ok(Some(Crowds {
            index: RangeIndex { first: first.gather(&at_place), second },
            rows: at_place.iter().map(|at| rows[*at as usize]).collect(),
            of_first,
            is_first,
            _reservation: reservation,
        }))
    }
}

/// Rows in the order of their keys, and the keys as they were.
fn sorted(keys: KeyColumn, work: &Work<'_>) -> Result<(Vec<u32>, KeyColumn)> {
    let sorting = Sorting::new(keys);
    for chunk in 0..sorting.chunks() {
        work.check()?;
        sorting.sort_chunk(chunk);
    }
    sorting.divide();
    for range in 0..sorting.ranges() {
        work.check()?;
        sorting.merge_range(range);
    }
    Ok((sorting.order(), sorting.keys))
}

/// Keys of build rows, a column a dimension, and which rows have all of them.
type Keys = (Vec<KeyColumn>, Option<Vec<bool>>);

fn keys_of(terms: &RangeTerms, rows: &[u32], built: &Built, work: &Work<'_>) -> Result<Option<Keys>> {
    let mut parts: Vec<Vec<KeyColumn>> = (0..terms.dimensions()).map(|_| Vec::new()).collect();
    let mut valid: Option<Vec<bool>> = None;
    let mut done = 0;
    for rows in rows.chunks(CHECKED_ROWS) {
        work.check()?;
        let columns: Vec<Vector> = built.columns.iter().map(|column| column.gather(rows)).collect();
        let Some((keys, nulls)) = terms.keys(&Batch::new(columns, rows.len()), work.query)? else {
            return Ok(None);
        };
        for (all, own) in parts.iter_mut().zip(keys) {
            all.push(own);
        }
        if let Some(nulls) = nulls {
            let all = valid.get_or_insert_with(|| vec![true; done]);
            all.resize(done, true);
            all.extend((0..rows.len()).map(|row| nulls.is_valid(row)));
        }
        done += rows.len();
    }
    if let Some(valid) = &mut valid {
        valid.resize(done, true);
    }
    Ok(Some((parts.into_iter().map(KeyColumn::concat).collect(), valid)))
}

/// The rows of chains that are long, chain by chain; and of each its first row, and where its rows end.
fn long_chains(next: &[u32], work: &Work<'_>) -> Result<(Vec<u32>, Vec<(u32, usize)>)> {
    // `next` counts from 1, 0 ends a chain.
    let mut is_followed = vec![0u64; next.len().div_ceil(64)];
    for next in next.iter().filter(|next| **next != 0) {
        let row = (next - 1) as usize;
        is_followed[row / 64] |= 1 << (row % 64);
    }
    let mut rows: Vec<u32> = Vec::new();
    let mut crowds: Vec<(u32, usize)> = Vec::new();
    let mut chain: Vec<u32> = Vec::new();
    let mut seen = 0;
    for first in 0..next.len() {
        seen += 1;
        if seen >= CHECKED_ROWS {
            work.check()?;
            seen = 0;
        }
        if is_followed[first / 64] >> (first % 64) & 1 == 1 {
            continue;
        }
        chain.clear();
        let mut row = first as u32;
        while row != NO_ROW {
            chain.push(row);
            row = next[row as usize].wrapping_sub(1);
        }
        seen += chain.len();
        if chain.len() >= CROWD_ROWS_MIN {
            rows.extend(&chain);
            crowds.push((first as u32, rows.len()));
        }
    }
    Ok((rows, crowds))
}
