//! The index over the rows of keys that many build rows have, as probing asks it; `groups` builds it.

use std::collections::HashMap;

use types::Result;
use vector::Batch;
use vector::gather::NO_ROW;

use super::row_marks::RowMarks;
use crate::context::QueryContext;
use crate::range_join::index::{Found, RangeIndex};
use crate::range_join::terms::RangeTerms;

/// What an index of crowds takes of memory for a row, keys of numbers included.
pub(super) const CROWDED_ROW_BYTES: usize = 96;

/// The index over all crowded keys of a join, made once its table is filled.
pub(super) struct Crowds {
    /// Places of all crowds; a crowd is a run of places in the order of the range's key.
    pub index: RangeIndex,
    /// The build row at each place.
    pub(super) rows: Vec<u32>,
    /// The places of a crowd, by the first row of its chain.
    pub(super) of_first: HashMap<u32, (u32, u32)>,
    /// A bit a build row: is it the first of a crowd?
    pub(super) is_first: Vec<u64>,
    pub(super) _reservation: memory::Reservation,
}

impl Crowds {
    /// Whether a chain that begins with `first` is a crowd's.
    #[inline]
    pub fn is_crowd(&self, first: u32) -> bool {
        first != NO_ROW && self.is_first[first as usize / 64] >> (first % 64) & 1 == 1
    }

    /// The build row at a place of the index.
    pub fn row(&self, place: u32) -> u32 {
        self.rows[place as usize]
    }

    /// What the rows of a batch ask for, by the first rows of their chains; nothing where those are no crowds. `None`
    /// where there are no crowds among them, or some bound cannot be computed.
    pub fn asked(
        &self,
        terms: &RangeTerms,
        batch: &Batch,
        firsts: &[u32],
        query: &QueryContext,
    ) -> Result<Option<Vec<Found>>> {
        if !firsts.iter().any(|first| self.is_crowd(*first)) {
            return Ok(None);
        }
        let Some(bounds) = terms.bounds(batch, query)? else { return Ok(None) };
        let within = |row: usize| match self.is_crowd(firsts[row]) {
            true => self.of_first.get(&firsts[row]).map_or(0..0, |(from, to)| *from as usize..*to as usize),
            false => 0..0,
        };
        let mut found = Vec::with_capacity(batch.rows);
        terms.found(&self.index, &bounds, within, &mut found, &mut Vec::new());
        Ok(Some(found))
    }

    /// Marks the rows of all runs of places, each once.
    pub fn mark(&self, runs: &mut [(u32, u32)], marks: &RowMarks) {
        runs.sort_unstable();
        let mut next = 0;
        for (from, to) in runs.iter() {
            (next.max(*from)..*to).for_each(|place| marks.set(self.row(place)));
            next = next.max(*to);
        }
    }
}
