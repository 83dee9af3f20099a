//! A database's workers, placed.

use std::sync::PoisonError;

use scheduler::NodeScheduling;

use super::WorkerAffinity;
use crate::Database;

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
