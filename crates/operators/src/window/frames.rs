//! Frames: which rows of its partition a call sees at each row, as ranges of row numbers in the window's order.

use plan::{Exclusion, FrameBound, FrameUnit};
use types::Result;

use super::call::Call;
use super::sorted::{Pace, Peers, Sorted};

/// The frames of one call over a whole hash partition.
pub(super) struct Frames<'p> {
    /// First row of each row's frame.
    pub starts: Vec<u32>,
    /// Row behind the last; never before the first.
    pub ends: Vec<u32>,
    /// Which rows around the present one are left out.
    pub exclusion: Exclusion,
    peers: &'p Peers,
}

/// Which end of a frame.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Start,
    End,
}

impl<'p> Frames<'p> {
    /// The frames of a call; `peers` are those of its order keys.
    pub(super) fn new(
        call: &Call,
        sorted: &Sorted,
        peers: &'p Peers,
        pace: &mut Pace<'_>,
    ) -> Result<Frames<'p>> {
        let frame = &call.call.frame;
        let starts = side(&frame.start, call.start, frame.unit, Side::Start, sorted, peers, pace)?;
        let mut ends = side(&frame.end, call.end, frame.unit, Side::End, sorted, peers, pace)?;
        for (end, start) in ends.iter_mut().zip(&starts) {
            *end = (*end).max(*start);
        }
        Ok(Frames { starts, ends, exclusion: frame.exclusion, peers })
    }
    /// The frame as ranges, in order, without what is excluded; ranges may be empty.
    #[inline]
    pub(super) fn ranges(&self, row: usize) -> [(usize, usize); 3] {
        let (start, end) = (self.starts[row] as usize, self.ends[row] as usize);
        let none = (end, end);
        let (hole_start, hole_end) = match self.exclusion {
            Exclusion::NoOthers => return [(start, end), none, none],
            Exclusion::CurrentRow => (row, row + 1),
            Exclusion::Group | Exclusion::Ties => (self.peers.start(row), self.peers.end(row)),
        };
        let before = (start, hole_start.clamp(start, end));
        let after = (hole_end.clamp(start, end), end);
        let own = if self.exclusion == Exclusion::Ties && (start..end).contains(&row) {
            (row, row + 1)
        } else {
            (after.0, after.0)
        };
        [before, own, after]
    }
}

fn side(
    bound: &FrameBound,
    columns: Option<(usize, usize)>,
    unit: FrameUnit,
    side: Side,
    sorted: &Sorted,
    peers: &Peers,
    pace: &mut Pace<'_>,
) -> Result<Vec<u32>> {
    let mut out = Vec::with_capacity(sorted.rows);
    let values = match columns {
        Some((key, bound)) => sorted.range_keys(key).zip(sorted.range_keys(bound)),
        None => None,
    };
    for (low, high) in sorted.partitions() {
        let (first_group, last_group) = (peers.group[low] as i64, peers.group[high - 1] as i64);
        for row in low..high {
            pace.step()?;
            let at = match (bound, unit) {
                (FrameBound::Unbounded, _) => {
                    if side == Side::Start {
                        low
                    } else {
                        high
                    }
                }
                (FrameBound::CurrentRow, FrameUnit::Rows) => row + usize::from(side == Side::End),
                (FrameBound::CurrentRow, _) => {
                    if side == Side::Start {
                        peers.start(row)
                    } else {
                        peers.end(row)
                    }
                }
                (FrameBound::Offset(by), FrameUnit::Groups) => {
                    let group = i64::from(peers.group[row]).saturating_add(*by);
                    let group = if side == Side::End { group.saturating_add(1) } else { group };
                    let group = group.clamp(first_group, last_group + 1);
                    peers.starts[group as usize] as usize
                }
                (FrameBound::Offset(by), _) => {
                    let past = i64::from(side == Side::End);
                    let to = (row as i64).saturating_add(*by).saturating_add(past);
                    to.clamp(low as i64, high as i64) as usize
                }
                (FrameBound::Value { .. }, _) => match &values {
                    // A row without a key has its peers for company.
                    Some(_) if columns.is_some_and(|(key, _)| sorted.arguments[key].is_null(row)) => {
                        if side == Side::Start { peers.start(row) } else { peers.end(row) }
                    }
                    Some((keys, bounds)) => {
                        let (mut from, mut to) = (low, high);
                        while from < to {
                            let middle = from + (to - from) / 2;
                            let order = keys.compare(middle, bounds, row);
                            let before = if side == Side::Start { order.is_lt() } else { order.is_le() };
                            if before {
                                from = middle + 1;
                            } else {
                                to = middle;
                            }
                        }
                        from
                    }
                    None => low,
                },
            };
            out.push(at as u32);
        }
    }
    Ok(out)
}
