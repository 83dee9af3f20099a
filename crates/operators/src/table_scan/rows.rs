//! The rows of a block still in play, and the order in which runtime filters are applied to them.

use std::ops::Range;

use block::Rows;
use vector::Vector;

use crate::runtime_filter::KeyFilter;

/// Rows of a block: a contiguous range, or row numbers.
pub struct Survivors {
    range: Range<usize>,
    list: Option<Vec<u32>>,
}

impl Survivors {
    pub fn range(range: Range<usize>) -> Self {
        Survivors { range, list: None }
    }
    pub fn list(list: Vec<u32>) -> Self {
        Survivors { range: 0..0, list: Some(list) }
    }
    pub fn len(&self) -> usize {
        self.list.as_ref().map_or(self.range.len(), Vec::len)
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn rows(&self) -> Rows<'_> {
        match &self.list {
            Some(list) => Rows::List(list),
            None => Rows::Range(self.range.clone()),
        }
    }
    /// Narrows to the rows at `kept` (indices into the present rows), and vectors fetched for them likewise.
    pub fn keep(&mut self, kept: &[u32], fetched: &mut [Option<Vector>]) {
        let narrowed = match &self.list {
            Some(list) => kept.iter().map(|k| list[*k as usize]).collect(),
            None => kept.iter().map(|k| self.range.start as u32 + k).collect(),
        };
        self.list = Some(narrowed);
        for vector in fetched.iter_mut().flatten() {
            *vector = vector.gather(kept);
        }
    }
}

pub struct ActiveFilter<'a> {
    pub filter: &'a KeyFilter,
    /// Position of the key among the fetched columns.
    pub column: usize,
}

/// Rows that a filter must have seen before its miss rate is believed.
const OBSERVED_ROWS_MIN: u64 = 8_192;
/// A filter that drops less than this share costs more than it saves.
const DROP_SHARE_MIN: f64 = 0.03;
/// Batches after which filters that were turned off are tried again, since data changes along a table.
const RETRY_BATCHES: u32 = 256;

/// Runtime filters in the order of their observed miss rates: the one that drops most goes first. Filters that drop
/// next to nothing are left out until the next retry. (LIP, Zhu et al., PVLDB 2017, section 4; ours counts over a
/// sliding sum instead of fixed batches.)
#[derive(Default)]
pub struct FilterOrder {
    seen: Vec<(u64, u64)>,
    order: Vec<usize>,
    batches: u32,
}

impl FilterOrder {
    pub fn prepare(&mut self, filters: usize) {
        if self.seen.len() != filters {
            self.seen = vec![(0, 0); filters];
            self.order = (0..filters).collect();
        }
    }
    pub fn sequence(&self) -> Vec<usize> {
        self.order.clone()
    }
    pub fn observe(&mut self, filter: usize, tested: usize, kept: usize) {
        let (all, dropped) = &mut self.seen[filter];
        *all += tested as u64;
        *dropped += (tested - kept) as u64;
        // Old observations fade.
        if *all > 1 << 18 {
            *all /= 2;
            *dropped /= 2;
        }
    }
    pub fn adapt(&mut self) {
        self.batches += 1;
        if self.batches % RETRY_BATCHES == 0 {
            self.order = (0..self.seen.len()).collect();
        }
        let share = |filter: &usize| {
            let (all, dropped) = self.seen[*filter];
            if all == 0 { 1.0 } else { dropped as f64 / all as f64 }
        };
        self.order.retain(|f| self.seen[*f].0 < OBSERVED_ROWS_MIN || share(f) >= DROP_SHARE_MIN);
        self.order.sort_by(|a, b| share(b).total_cmp(&share(a)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_that_drops_most_moves_to_the_front_and_idle_ones_rest() {
        let mut order = FilterOrder::default();
        order.prepare(3);
        for _ in 0..10 {
            order.observe(0, 4096, 4000);
            order.observe(1, 4000, 400);
            order.observe(2, 400, 200);
            order.adapt();
        }
        assert_eq!(order.sequence(), vec![1, 2], "filter 0 drops 2 % and rests");
        for _ in 0..RETRY_BATCHES {
            order.adapt();
        }
        assert!(order.seen.len() == 3);
    }
}
