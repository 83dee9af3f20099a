//! Where worker threads run, and which memory they are near to.

mod workers;

use memory::Topology;

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
