//! Where a batch stands among those of all nodes, as the number of a unit: by node, then as it came there.
//!
//! ```text
//!  44 bits   | node | branch, 4 | unit | batch of the unit, 13 | first of its message, 1 |
//! ```
//! No two batches have the same place, whatever worker sends or reads them, so sinks that sort by it put rows in the
//! order that one engine would have given. The last bit tells the two halves of a batch that two messages share. Where
//! there are more branches, units or batches than bits, the last ones share a place: then only their order is lost.

use crate::pipeline::{branch_of, unit_of};

const PLACE_BITS: u32 = 44;
const BRANCH_BITS: u32 = 4;
const BATCH_BITS: u32 = 13;

/// How places are made in a cluster of some size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    node_bits: u32,
}

fn within(value: u64, bits: u32) -> u64 {
    value.min((1 << bits) - 1)
}

impl Places {
    pub(super) fn new(nodes: u32) -> Places {
        Places { node_bits: nodes.max(2).next_power_of_two().trailing_zeros() }
    }

    /// The place of batch number `batch` of the unit with `tag`, on its own node.
    pub(super) fn on_node(self, tag: u64, batch: u64) -> u64 {
        let unit_bits = PLACE_BITS - self.node_bits - BRANCH_BITS - BATCH_BITS - 1;
        let branch = within(branch_of(tag) as u64, BRANCH_BITS);
        let unit = within(unit_of(tag), unit_bits);
        ((branch << unit_bits | unit) << BATCH_BITS | within(batch, BATCH_BITS)) << 1
    }

    /// The same, among all nodes.
    pub(super) fn among_all(self, node: u32, on_node: u64, first_of_message: bool) -> u64 {
        let bits = PLACE_BITS - self.node_bits;
        u64::from(node) << bits | within(on_node, bits) | u64::from(first_of_message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::tag;

    #[test]
    fn places_are_in_the_order_of_nodes_branches_units_and_batches() {
        for nodes in [2, 3, 4, 64] {
            let places = Places::new(nodes);
            let mut last = None;
            for node in [0, nodes - 1] {
                for (branch, unit, batch) in
                    [(0, 0, 0), (0, 0, 1), (0, 7, 0), (0, 7, 8191), (1, 0, 0), (15, 1 << 19, 3)]
                {
                    for first in [false, true] {
                        let place = places.among_all(node, places.on_node(tag(branch, unit), batch), first);
                        assert!(place < 1 << 44 && last.is_none_or(|last| last < place), "{nodes} {place}");
                        last = Some(place);
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_stays_on_its_node() {
        let places = Places::new(4);
        let place = places.among_all(1, places.on_node(tag(999, 1 << 43), u64::MAX), true);
        assert_eq!(place >> 42, 1);
    }
}
