//! Where worker threads run, and which memory they are near to.

use std::sync::PoisonError;

use memory::Topology;
use scheduler::NodeScheduling;

use crate::Database;

/// Where worker threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerAffinity {
    /// Wherever the machine puts them.
    #[default]
    None,
    /// Each on a core of its own, as far as there are enough.
    Cores,
    /// Each on any core of one memory node; the nodes go round.
    Nodes,
}

impl WorkerAffinity {
    /// All choices, in the order of the documentation.
    pub const ALL: [WorkerAffinity; 3] = [WorkerAffinity::None, WorkerAffinity::Cores, WorkerAffinity::Nodes];

    /// As `SET worker_affinity` has it.
    pub fn name(self) -> &'static str {
        match self {
            WorkerAffinity::None => "none",
            WorkerAffinity::Cores => "cores",
            WorkerAffinity::Nodes => "nodes",
        }
    }
    /// The choice that `SET worker_affinity` calls so; `None` for an unknown name. Names are lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        WorkerAffinity::ALL.into_iter().find(|affinity| affinity.name() == name)
    }

    /// The processors that pool thread `number` keeps to, of those that the process may use.
    fn processors(self, number: usize, topology: &Topology, allowed: &[usize]) -> Vec<usize> {
        match self {
            WorkerAffinity::None => allowed.to_vec(),
            WorkerAffinity::Cores => vec![allowed[number % allowed.len()]],
            WorkerAffinity::Nodes => {
                let nodes = topology.nodes();
                // Nodes of which the process may use nothing are left out.
                let usable: Vec<Vec<usize>> = nodes
                    .iter()
                    .map(|node| {
                        allowed.iter().copied().filter(|p| node.processors.binary_search(p).is_ok()).collect()
                    })
                    .filter(|processors: &Vec<usize>| !processors.is_empty())
                    .collect();
                match usable.len() {
                    0 => allowed.to_vec(),
                    count => usable[number % count].clone(),
                }
            }
        }
    }
}

impl Database {
    /// Whether worker threads stay on cores or on nodes.
    pub fn worker_affinity(&self) -> WorkerAffinity {
        *self.shared.affinity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes hold of each worker thread before its next work order. The threads that run statements, which work too,
    /// are the application's and stay free.
    pub fn set_worker_affinity(&self, affinity: WorkerAffinity) {
        let mut current = self.shared.affinity.lock().unwrap_or_else(PoisonError::into_inner);
        *current = affinity;
        // As this thread may: a set of processors given to the container or the process holds for workers too.
        let allowed = memory::allowed_processors();
        let topology = self.shared.pool.arena().topology().clone();
        self.shared.scheduler.set_placement(std::sync::Arc::new(move |number: usize| {
            // Where a core was taken from the process meanwhile, the thread runs where it may.
            let _ = memory::keep_thread_on(&affinity.processors(number, &topology, &allowed));
        }));
    }

    /// Whether work orders go to workers that are near their data.
    pub fn node_scheduling(&self) -> NodeScheduling {
        self.shared.scheduler.node_scheduling()
    }

    /// Sets it for all sessions; matters only on a machine with several memory nodes.
    pub fn set_node_scheduling(&self, mode: NodeScheduling) {
        self.shared.scheduler.set_node_scheduling(mode);
    }

    /// Tells the scheduler the machine's memory nodes, if there are several.
    pub(crate) fn tell_nodes(&self) {
        let topology = self.shared.pool.arena().topology();
        if !topology.is_divided() {
            return;
        }
        let nearest = (0..topology.nodes().len()).map(|node| topology.nearest(node)).collect();
        let topology = topology.clone();
        let node_of_thread = move || {
            let processor = memory::current_processor();
            processor.and_then(|processor| topology.node_of_processor(processor)).unwrap_or(0)
        };
        self.shared.scheduler.set_nodes(nearest, Box::new(node_of_thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_go_round_cores_or_nodes() {
        let topology = Topology::emulated(2, 4);
        let allowed = [1, 2, 5, 9];
        let of = |affinity: WorkerAffinity, number| affinity.processors(number, &topology, &allowed);
        assert_eq!(of(WorkerAffinity::None, 1), allowed);
        assert_eq!((of(WorkerAffinity::Cores, 1), of(WorkerAffinity::Cores, 4)), (vec![2], vec![1]));
        assert_eq!((of(WorkerAffinity::Nodes, 2), of(WorkerAffinity::Nodes, 3)), (vec![1, 2], vec![5]));
        let elsewhere = WorkerAffinity::Nodes.processors(0, &topology, &[17]);
        assert_eq!(elsewhere, [17]);
        for affinity in WorkerAffinity::ALL {
            assert_eq!(WorkerAffinity::from_name(affinity.name()), Some(affinity));
        }
    }
}
