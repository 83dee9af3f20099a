//! Units by the memory node that they are near to, and the order in which claimants get them.
//!
//! C. Chasseur, "A Bare-Metal Approach to Database Performance on Contemporary Hardware", 2015, section 2.5: a work order
//! goes to a worker on the node that holds its input. *Strict* scheduling leaves it to those workers; with *work
//! stealing*, a worker that finds nothing near takes what is near to others, the nearest node first. Units that are
//! near to no node go to any worker.
//!
//! Units keep their numbers, which stand for their order, so a node's units are runs of numbers with gaps between them:
//!
//! ```text
//!  units      0 1 2 3 4 5 6 7 8 9          node 0: [0, 3) [6, 8)    positions 0 1 2 3 4
//!  near to    0 0 0 1 1 1 0 0 1 1          node 1: [3, 6) [8, 10)   positions 0 1 2 3 4
//! ```
//!
//! A claim moves its node's position within one run, in one atomic step that is repeated when another came between.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Which memory nodes a claimant is near to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near<'a> {
    /// Memory nodes by their distance, the claimant's own first. None of them: the machine has one.
    pub nodes: &'a [usize],
    /// Units near to other nodes are left to the workers there.
    pub strict: bool,
}

impl Near<'_> {
    /// A claimant that does not care.
    pub const ANYWHERE: Near<'static> = Near { nodes: &[], strict: false };

    /// The node that the claimant is on.
    pub fn own(&self) -> Option<usize> {
        self.nodes.first().copied()
    }
}

/// One node's units.
#[derive(Debug, Default)]
struct Lane {
    runs: Vec<Run>,
    units: u64,
    next: AtomicU64,
}

/// Neighbouring units of one node.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Position in the lane of its first unit.
    position: u64,
    start: u64,
    end: u64,
}

impl Lane {
    fn push(&mut self, unit: u64) {
        match self.runs.last_mut() {
            Some(run) if run.end == unit => run.end += 1,
            _ => self.runs.push(Run { position: self.units, start: unit, end: unit + 1 }),
        }
        self.units += 1;
    }

    fn left(&self) -> u64 {
        self.units.saturating_sub(self.next.load(Relaxed))
    }

    /// At most `most` units, which are neighbours.
    fn claim(&self, most: u64) -> Option<(u64, u64)> {
        let mut claimed = None;
        let step = |next: u64| {
            let at = self.runs.partition_point(|run| run.position <= next).checked_sub(1)?;
            let run = self.runs[at];
            let start = run.start + (next - run.position);
            let end = run.end.min(start.saturating_add(most.max(1)));
            claimed = (start < end).then_some((start, end));
            claimed.map(|(start, end)| next + (end - start))
        };
        // Units are handed out once whatever the order of memory: a position is taken by one successful exchange.
        self.next.fetch_update(Relaxed, Relaxed, step).ok()?;
        debug_assert!(
            claimed.is_some_and(|(start, end)| start < end && end - start <= most.max(1)),
            "{claimed:?}"
        );
        claimed
    }
}

/// What there is for a claimant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Units `[start, end)`.
    Units(u64, u64),
    /// Only what is left to others.
    Elsewhere,
    /// Nothing for any claimant.
    Nothing,
}

/// Units of a range by the nodes that they are near to.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// One a node, and a last one for units near to none.
    lanes: Vec<Lane>,
    /// Units claimed by near workers, and by others.
    near: AtomicU64,
    far: AtomicU64,
}

impl Lanes {
    /// Sorts units by their nodes; a unit whose node is `None` or unknown is near to none.
    pub(crate) fn new(nodes: usize, of_units: &[Option<usize>]) -> Lanes {
        let mut lanes: Vec<Lane> = (0..=nodes).map(|_| Lane::default()).collect();
        for (unit, node) in of_units.iter().enumerate() {
            lanes[node.filter(|node| *node < nodes).unwrap_or(nodes)].push(unit as u64);
        }
        debug_assert_eq!(lanes.iter().map(|lane| lane.units).sum::<u64>(), of_units.len() as u64);
        Lanes { lanes, near: AtomicU64::new(0), far: AtomicU64::new(0) }
    }

    /// Units that are not claimed.
    pub(crate) fn left(&self) -> u64 {
        self.lanes.iter().map(Lane::left).sum()
    }

    /// Units claimed by near workers, and by others; what is near to no node does not count.
    pub(crate) fn near_and_far(&self) -> (u64, u64) {
        (self.near.load(Relaxed), self.far.load(Relaxed))
    }

    pub(crate) fn claim(&self, near: Near<'_>, most: u64) -> Found {
        let nodes = self.lanes.len() - 1;
        let take = |lane: usize, counter: Option<&AtomicU64>| {
            let (start, end) = self.lanes[lane].claim(most)?;
            if let Some(counter) = counter {
                counter.fetch_add(end - start, Relaxed);
            }
            Some(Found::Units(start, end))
        };
        let own = near.own().filter(|own| *own < nodes);
        let found = own.and_then(|own| take(own, Some(&self.near))).or_else(|| take(nodes, None));
        if let Some(found) = found {
            return found;
        }
        let others = near.nodes.iter().copied().filter(|node| *node < nodes && Some(*node) != own);
        // Nodes that a claimant does not know of are farthest.
        let unknown = (0..nodes).filter(|node| !near.nodes.contains(node));
        let mut others = others.chain(unknown);
        if near.strict && own.is_some() {
            return match others.any(|node| self.lanes[node].left() > 0) {
                true => Found::Elsewhere,
                false => Found::Nothing,
            };
        }
        others.find_map(|node| take(node, Some(&self.far))).unwrap_or(Found::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(found: Found) -> Vec<u64> {
        match found {
            Found::Units(start, end) => (start..end).collect(),
            _ => Vec::new(),
        }
    }

    /// The picture above, and a unit near to none.
    fn lanes() -> Lanes {
        let of_units = [0, 0, 0, 1, 1, 1, 0, 0, 1, 1].map(Some);
        Lanes::new(2, &[&of_units[..], &[None]].concat())
    }

    #[test]
    fn own_units_come_first_then_nobodys_then_the_nearest_nodes() {
        let lanes = lanes();
        let on_one = Near { nodes: &[1, 0], strict: false };
        let claims: Vec<Vec<u64>> =
            std::iter::from_fn(|| Some(units(lanes.claim(on_one, 2))).filter(|claimed| !claimed.is_empty()))
                .collect();
        // Claims end where a run ends, so that an order has neighbours only.
        assert_eq!(claims, [vec![3, 4], vec![5], vec![8, 9], vec![10], vec![0, 1], vec![2], vec![6, 7]]);
        assert_eq!((lanes.claim(on_one, 2), lanes.left()), (Found::Nothing, 0));
        assert_eq!(lanes.near_and_far(), (5, 5));
        let lanes = Lanes::new(3, &[Some(2), Some(1), Some(0)]);
        let order = [1, 2, 0];
        let claimed: Vec<_> =
            (0..3).flat_map(|_| units(lanes.claim(Near { nodes: &order, strict: false }, 9))).collect();
        assert_eq!(claimed, [1, 0, 2]);
    }

    #[test]
    fn strict_claimants_leave_others_their_units() {
        let lanes = lanes();
        let on_zero = Near { nodes: &[0, 1], strict: true };
        let claimed: Vec<u64> = (0..3).flat_map(|_| units(lanes.claim(on_zero, 100))).collect();
        assert_eq!(claimed, [0, 1, 2, 6, 7, 10]);
        assert_eq!(lanes.claim(on_zero, 100), Found::Elsewhere);
        let on_one = Near { nodes: &[1, 0], strict: true };
        let claimed: Vec<u64> = (0..2).flat_map(|_| units(lanes.claim(on_one, 100))).collect();
        assert_eq!(claimed, [3, 4, 5, 8, 9]);
        assert_eq!((lanes.claim(on_zero, 1), lanes.claim(on_one, 1)), (Found::Nothing, Found::Nothing));
        assert_eq!(lanes.near_and_far(), (10, 0));
    }

    #[test]
    fn who_is_near_to_nothing_takes_everything() {
        for nodes in [&[][..], &[7]] {
            let lanes = lanes();
            let near = Near { nodes, strict: true };
            let mut claimed: Vec<u64> = (0..20).flat_map(|_| units(lanes.claim(near, 3))).collect();
            claimed.sort_unstable();
            assert_eq!(claimed, (0..11).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn every_unit_is_claimed_once_by_many_threads() {
        let of_units: Vec<Option<usize>> =
            (0..50_000u64).map(|unit| Some((unit / 7 % 3) as usize).filter(|_| unit % 91 != 0)).collect();
        let lanes = Lanes::new(3, &of_units);
        let mut claimed: Vec<u64> = std::thread::scope(|scope| {
            let worker = |node: usize, strict: bool| {
                let lanes = &lanes;
                scope.spawn(move || {
                    let nodes = [node, (node + 1) % 3, (node + 2) % 3];
                    let mut mine = Vec::new();
                    while let Found::Units(start, end) = lanes.claim(Near { nodes: &nodes, strict }, 5) {
                        mine.extend(start..end);
                    }
                    mine
                })
            };
            let workers = [worker(0, true), worker(1, false), worker(2, false), worker(0, false)];
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        claimed.sort_unstable();
        assert!(claimed.into_iter().eq(0..50_000));
    }
}
