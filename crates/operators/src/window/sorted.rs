//! A hash partition in the window's order, with its peers, and how often its evaluation looks at the signal that stops it.

use plan::SortKey;
use types::Result;
use vector::Vector;

use crate::pipeline::Work;
use crate::sort::keys::{Keys, shape};

/// Rows between two looks at the signal that stops a statement.
const PACE_ROWS: u32 = 16_384;

/// Bytes that are copied in about the time that a row takes.
const BYTES_OF_ROW: usize = 128;

/// Looks at the cancel signal and the budget once every so many rows.
pub(super) struct Pace<'w> {
    work: &'w Work<'w>,
    left: u32,
}

impl<'w> Pace<'w> {
    /// A pace that looks at the signal after the first `PACE_ROWS` rows.
    pub(super) fn new(work: &'w Work<'w>) -> Self {
        Pace { work, left: PACE_ROWS }
    }
    /// Counts a row; ends with an error when the statement was stopped or memory is short.
    #[inline]
    pub(super) fn step(&mut self) -> Result<()> {
        self.left -= 1;
        if self.left == 0 {
            self.left = PACE_ROWS;
            return self.work.check();
        }
        Ok(())
    }
    /// Counts bytes of a row that are copied, which may be many.
    #[inline]
    pub(super) fn copied(&mut self, bytes: usize) -> Result<()> {
        let rows = u32::try_from(bytes / BYTES_OF_ROW).unwrap_or(u32::MAX);
        if rows >= self.left {
            self.left = PACE_ROWS;
            return self.work.check();
        }
        self.left -= rows;
        Ok(())
    }
    /// Asks for room before a large allocation.
    pub(super) fn reserve(&self, bytes: usize) -> Result<memory::Reservation> {
        self.work.reserve(bytes)
    }
}

/// A hash partition in the window's order.
pub(super) struct Sorted {
    /// The number of rows.
    pub rows: usize,
    /// `segments[s]` to `segments[s + 1]` are the rows of one partition.
    pub segments: Vec<u32>,
    /// Results of the argument program.
    pub arguments: Vec<Vector>,
    /// Order keys in encoded form, by how many of them: for peers.
    pub(super) keys: Vec<Vector>,
    pub(super) order: Vec<SortKey>,
}

/// Peers of every row: groups of rows that are equal in a call's order keys.
pub(super) struct Peers {
    /// First row of each group, and the number of rows at the end.
    pub starts: Vec<u32>,
    /// Group of each row.
    pub group: Vec<u32>,
}

impl Peers {
    /// The first of the row's peers.
    pub fn start(&self, row: usize) -> usize {
        self.starts[self.group[row] as usize] as usize
    }
    /// The row behind the last of the row's peers.
    pub fn end(&self, row: usize) -> usize {
        self.starts[self.group[row] as usize + 1] as usize
    }
}

impl Sorted {
    /// The partitions, as ranges of rows.
    pub(super) fn partitions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.segments.windows(2).map(|w| (w[0] as usize, w[1] as usize))
    }
    /// Values by which RANGE frames are found, in the direction of the order.
    pub(super) fn range_keys(&self, at: usize) -> Option<Keys> {
        let key = self.order.first()?;
        let column = self.arguments.get(at)?.flatten();
        let key = SortKey { expr: plan::Expr::input(0, column.ty()), ..key.clone() };
        let keys = [key];
        Some(Keys::encode(shape(&keys), &[column], &keys, self.rows))
    }
    /// Where rows stop being peers, by the first so many keys.
    pub(super) fn peers(&self, keys: usize, pace: &mut Pace<'_>) -> Result<Peers> {
        let keys = keys.min(self.keys.len());
        let starts = boundaries(&self.keys[..keys], &self.order[..keys], self.rows, &self.segments, pace)?;
        let mut group = Vec::with_capacity(self.rows);
        for (at, pair) in starts.windows(2).enumerate() {
            group.resize(pair[1] as usize, at as u32);
        }
        Ok(Peers { starts, group })
    }
}

/// Where the keys change, together with the boundaries within which they are compared; the last is the number of
/// rows.
pub(super) fn boundaries(
    keys: &[Vector],
    order: &[SortKey],
    rows: usize,
    within: &[u32],
    pace: &mut Pace<'_>,
) -> Result<Vec<u32>> {
    if keys.is_empty() {
        return Ok(within.to_vec());
    }
    let keys = Keys::encode(shape(order), keys, order, rows);
    let mut found = Vec::with_capacity(within.len());
    for pair in within.windows(2) {
        found.push(pair[0]);
        for row in pair[0] as usize + 1..pair[1] as usize {
            pace.step()?;
            if keys.compare(row - 1, &keys, row).is_ne() {
                found.push(row as u32);
            }
        }
    }
    found.push(rows as u32);
    Ok(found)
}
