//! States over frames: added up as the frame grows, or put together from a tree of partial states.
//!
//! Leis, Kundhikanjana, Kemper, Neumann (VLDB 2015), section 4.3 and 4.4: frames that only grow are aggregated as
//! they grow; frames whose start moves are answered by a segment tree over the partition, whose leaves are rows and
//! whose inner nodes hold the state of the two below. Narrow frames are added up anew, which is cheaper than the
//! tree.

use types::Result;

use super::frames::Frames;
use super::sorted::{Pace, Sorted};

/// Frames of at most so many rows are added up row by row.
const NARROW_ROWS: usize = 16;

/// How an aggregate keeps the rows of a frame. Merging is associative; the empty state changes nothing.
pub(super) trait Combine {
    type State: Clone + Default;
    /// Adds one row, given by its place in the window's order.
    fn add(&self, state: &mut Self::State, row: usize);
    /// `later` stands for rows behind those of `state`.
    fn merge(&self, state: &mut Self::State, later: &Self::State);
}

/// Calls `emit` with the state of every row's frame, row by row.
pub(super) fn over_frames<C: Combine>(
    combine: &C,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
    mut emit: impl FnMut(&C::State) -> Result<()>,
) -> Result<()> {
    let excludes = frames.exclusion != plan::Exclusion::NoOthers;
    for (low, high) in sorted.partitions() {
        let starts = &frames.starts[low..high];
        let ends = &frames.ends[low..high];
        let grows =
            !excludes && starts.windows(2).all(|w| w[0] == w[1]) && ends.windows(2).all(|w| w[0] <= w[1]);
        if grows {
            let mut state = C::State::default();
            let mut at = starts.first().map_or(low, |s| *s as usize);
            for end in ends {
                pace.step()?;
                while at < *end as usize {
                    pace.step()?;
                    combine.add(&mut state, at);
                    at += 1;
                }
                emit(&state)?;
            }
            continue;
        }
        let widest = starts.iter().zip(ends).map(|(s, e)| (e - s) as usize).max().unwrap_or(0);
        let tree = if widest > NARROW_ROWS { Some(Tree::new(combine, low, high, pace)?) } else { None };
        for row in low..high {
            pace.step()?;
            let mut state = C::State::default();
            for (start, end) in frames.ranges(row) {
                match &tree {
                    Some(tree) => tree.add(combine, &mut state, start, end),
                    None => (start..end).for_each(|at| combine.add(&mut state, at)),
                }
            }
            emit(&state)?;
        }
    }
    Ok(())
}

/// `nodes[size + r]` is row `low + r`; `nodes[n]` stands for `nodes[2 n]` and `nodes[2 n + 1]`.
struct Tree<S> {
    nodes: Vec<S>,
    size: usize,
    low: usize,
    _room: memory::Reservation,
}

impl<S: Clone + Default> Tree<S> {
    fn new<C: Combine<State = S>>(combine: &C, low: usize, high: usize, pace: &mut Pace<'_>) -> Result<Self> {
        // A power of two, so that a node's rows are next to each other and in order.
        let size = (high - low).next_power_of_two();
        let room = pace.reserve(2 * size * size_of::<S>())?;
        let mut nodes = vec![S::default(); 2 * size];
        for row in low..high {
            pace.step()?;
            combine.add(&mut nodes[size + row - low], row);
        }
        for at in (1..size).rev() {
            pace.step()?;
            let mut state = nodes[2 * at].clone();
            combine.merge(&mut state, &nodes[2 * at + 1]);
            nodes[at] = state;
        }
        Ok(Tree { nodes, size, low, _room: room })
    }
    /// Adds the rows `[start, end)` to `state`, from left to right.
    fn add<C: Combine<State = S>>(&self, combine: &C, state: &mut S, start: usize, end: usize) {
        if start >= end {
            return;
        }
        let (mut left, mut right) = (start - self.low + self.size, end - self.low + self.size);
        // Nodes of the right flank are met from right to left; there are at most as many as levels.
        let mut flank = [0usize; usize::BITS as usize];
        let mut held = 0;
        while left < right {
            if left & 1 == 1 {
                combine.merge(state, &self.nodes[left]);
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                flank[held] = right;
                held += 1;
            }
            left /= 2;
            right /= 2;
        }
        for at in flank[..held].iter().rev() {
            combine.merge(state, &self.nodes[*at]);
        }
    }
}
