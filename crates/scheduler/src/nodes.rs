//! Memory nodes: which one a claimant is on, and whether it leaves others' work to others.
//!
//! A machine with one node has none of this: a claim then looks at one word that is not there. The scheduler knows nothing
//! of processors; it is told how far nodes are from each other, and asks where a thread is.
//!
//! *Strict* must not mean *stuck*. A node may have no worker: fewer workers than nodes, threads that the machine
//! moved, a worker that is at another query's long order. So the promise ends when no worker has claimed any of the
//! query's work for [`LEFT_BEHIND`]: then any worker takes what there is, until one that is near comes again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use workorder::Near;

use crate::clock::POLL;

/// Nanoseconds that work without a near worker is left under strict scheduling: as long as a caller sleeps at most.
pub(crate) const LEFT_BEHIND: u64 = POLL.as_nanos() as u64;

/// The node that the calling thread is on, by position.
pub type NodeOfThread = Box<dyn Fn() -> usize + Send + Sync>;

/// Whether work goes to where its data are (C. Chasseur, 2015, section 2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeScheduling {
    /// Any worker takes any work.
    Off = 0,
    /// Workers take work of their node first, and of other nodes when their own has none.
    #[default]
    Stealing = 1,
    /// Workers take work of their node only, as long as it has a worker.
    Strict = 2,
}

impl NodeScheduling {
    /// The modes in the order of their numbers.
    pub const ALL: [NodeScheduling; 3] =
        [NodeScheduling::Off, NodeScheduling::Stealing, NodeScheduling::Strict];

    /// The word for the mode in settings.
    pub fn name(self) -> &'static str {
        match self {
            NodeScheduling::Off => "off",
            NodeScheduling::Stealing => "stealing",
            NodeScheduling::Strict => "strict",
        }
    }

    /// The mode that `name` gives; `None` for another word. Case matters.
    pub fn from_name(name: &str) -> Option<Self> {
        NodeScheduling::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

struct Machine {
    /// For each node, all of them by their distance from it, itself first.
    nearest: Vec<Vec<usize>>,
    node_of_thread: NodeOfThread,
}

/// The machine's nodes as workers see them.
pub(crate) struct Nodes {
    machine: OnceLock<Machine>,
    mode: AtomicU8,
}

impl Nodes {
    pub(crate) fn new() -> Nodes {
        Nodes { machine: OnceLock::new(), mode: AtomicU8::new(NodeScheduling::default() as u8) }
    }

    /// Only the first call counts: a machine does not change.
    pub(crate) fn set_machine(&self, nearest: Vec<Vec<usize>>, node_of_thread: NodeOfThread) {
        debug_assert!(
            nearest.iter().enumerate().all(|(node, by_distance)| by_distance.first() == Some(&node)
                && by_distance.len() == nearest.len()),
            "each node is nearest to itself, and knows all others"
        );
        if nearest.len() > 1 {
            let _ = self.machine.set(Machine { nearest, node_of_thread });
        }
    }

    pub(crate) fn set_mode(&self, mode: NodeScheduling) {
        self.mode.store(mode as u8, Relaxed);
    }

    pub(crate) fn mode(&self) -> NodeScheduling {
        let mode = self.mode.load(Relaxed);
        NodeScheduling::ALL.into_iter().find(|known| *known as u8 == mode).unwrap_or_default()
    }

    /// Whether work may be for some workers only.
    pub(crate) fn is_strict(&self) -> bool {
        self.machine.get().is_some() && self.mode() == NodeScheduling::Strict
    }

    /// What the calling thread is near to.
    #[inline]
    pub(crate) fn near(&self) -> Near<'_> {
        match self.machine.get() {
            None => Near::ANYWHERE,
            Some(machine) => self.near_to((machine.node_of_thread)()),
        }
    }

    /// What a thread on that node is near to.
    pub(crate) fn near_to(&self, node: usize) -> Near<'_> {
        let nodes = self.machine.get().and_then(|machine| machine.nearest.get(node));
        match (nodes, self.mode()) {
            (None, _) | (_, NodeScheduling::Off) => Near::ANYWHERE,
            (Some(nodes), mode) => Near { nodes, strict: mode == NodeScheduling::Strict },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_is_none() {
        let nodes = Nodes::new();
        nodes.set_machine(vec![vec![0]], Box::new(|| 0));
        nodes.set_mode(NodeScheduling::Strict);
        assert!(!nodes.is_strict());
        assert!(nodes.near().nodes.is_empty());
    }

    #[test]
    fn a_thread_is_near_to_its_node_unless_that_is_off() {
        let nodes = Nodes::new();
        nodes.set_machine(vec![vec![0, 1], vec![1, 0]], Box::new(|| 1));
        assert_eq!((nodes.near().own(), nodes.near().strict), (Some(1), false));
        nodes.set_mode(NodeScheduling::Strict);
        assert!(nodes.near().strict && nodes.is_strict());
        nodes.set_mode(NodeScheduling::Off);
        assert_eq!(nodes.near().own(), None);
        assert_eq!(nodes.near_to(9).own(), None);
        for mode in NodeScheduling::ALL {
            assert_eq!(NodeScheduling::from_name(mode.name()), Some(mode));
        }
    }
}
