//! Things that came group by group in any order, put in the order of their groups by counting.

use std::ops::Range;

/// More bytes than this are put in order in two steps, each of which writes to few places at a time.
const AT_ONCE_BYTES: usize = if cfg!(test) { 256 } else { 1 << 20 };
/// Groups to which one step writes.
pub(super) const STEP_GROUPS: usize = if cfg!(test) { 4 } else { 256 };

/// Ascending runs of groups that are put in order in one step.
const RUNS_MAX: usize = 64;

/// Things by group; in a group they keep their order.
///
/// ```text
///  groups   1 0 1 1    things  a b c d
///  starts   0 1 4      things  b | a c d
/// ```
#[derive(Debug)]
pub(super) struct Grouped<T> {
    /// Where each group begins, and the end.
    starts: Vec<usize>,
    things: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// `groups` has the group of each thing.
    pub(super) fn of(groups: impl Iterator<Item = u32> + Clone, thing: impl Fn(usize) -> T) -> Self {
        let thing = &thing;
        Self::of_pairs(groups.enumerate().map(move |(at, group)| (group, thing(at))))
    }
    /// Things, each behind its group.
    pub(super) fn of_pairs(pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let groups = pairs.clone().map(|(group, _)| group);
        let starts = group_starts(groups.clone());
        let total = starts.last().copied().unwrap_or(0);
        if starts.len() <= 2 {
            return Grouped { starts, things: pairs.map(|(_, thing)| thing).collect() };
        }
        let mut next = starts.clone();
        let mut things = vec![T::default(); total];
        let mut put = |group: u32, thing: T| {
            let place = &mut next[group as usize];
            things[*place] = thing;
            *place += 1;
        };
        // Few ascending runs, as merges leave them, write side by side.
        let at_once = total * size_of::<T>() <= AT_ONCE_BYTES || starts.len() <= STEP_GROUPS;
        if at_once || descents(groups) <= RUNS_MAX {
            pairs.for_each(|(group, thing)| put(group, thing));
            return Grouped { starts, things };
        }
        // First by ranges of groups.
        let shift = (starts.len() / STEP_GROUPS).max(1).ilog2() + 1;
        let mut to: Vec<usize> = starts.iter().copied().step_by(1 << shift).collect();
        let mut roughly = vec![(0u32, T::default()); total];
        for (group, thing) in pairs {
            let place = &mut to[group as usize >> shift];
            roughly[*place] = (group, thing);
            *place += 1;
        }
        roughly.into_iter().for_each(|(group, thing)| put(group, thing));
        Grouped { starts, things }
    }
    /// Bytes that making this takes for so many things.
    pub(super) fn bytes_of(things: usize) -> usize {
        things * (size_of::<T>() + size_of::<(u32, T)>())
    }
    /// Calls `each` with the things of every group.
    pub(super) fn each_mut(&mut self, mut each: impl FnMut(&mut [T])) {
        for range in self.starts.windows(2) {
            each(&mut self.things[range[0]..range[1]]);
        }
    }
    /// The things of a group; groups behind the last that has some have none.
    pub(super) fn group(&self, group: usize) -> &[T] {
        let range: Range<usize> = match (self.starts.get(group), self.starts.get(group + 1)) {
            (Some(start), Some(end)) => *start..*end,
            _ => 0..0,
        };
        &self.things[range]
    }
}

/// How often a group is less than the one before it.
fn descents(groups: impl Iterator<Item = u32> + Clone) -> usize {
    groups.clone().skip(1).zip(groups).filter(|(group, before)| group < before).count()
}

/// Where each group begins, and the end.
pub(super) fn group_starts(groups: impl Iterator<Item = u32> + Clone) -> Vec<usize> {
    let count = groups.clone().max().map_or(0, |group| group as usize + 1);
    let mut starts = vec![0; count + 1];
    for group in groups {
        starts[group as usize + 1] += 1;
    }
    let mut total = 0;
    for start in &mut starts {
        total += *start;
        *start = total;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(groups: &[u32]) {
        let all = Grouped::of(groups.iter().copied(), |at| at as u32);
        let count = groups.iter().max().map_or(0, |g| *g as usize + 1);
        for group in 0..count + 2 {
            let expected: Vec<u32> =
                (0..groups.len() as u32).filter(|at| groups[*at as usize] as usize == group).collect();
            assert_eq!(all.group(group), expected, "{group} of {groups:?}");
        }
    }

    #[test]
    fn things_are_in_the_order_of_their_groups() {
        check(&[1, 0, 3, 1]);
        check(&[0, 0]);
        check(&[]);
        check(&[7]);
        for count in [5, 64, 65, 1000] {
            check(&(0..2000u32).map(|at| at.wrapping_mul(2_654_435_761) % count).collect::<Vec<_>>());
        }
    }
}
