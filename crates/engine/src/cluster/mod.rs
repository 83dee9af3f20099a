//! Several engines for one query, in this process: nodes with workers and a multiplexer each, over the database's tables.
//!
//! ```text
//!  statement --optimize, distribute--> one plan --+--> node 0: this session's thread, the database's workers
//!                                                 +--> node 1: a thread, workers of its own
//!                                                 +--> node 2 ...          all: compose, run, exchange rows
//! ```
//! What goes between nodes is serialised, sent over Unix sockets with shared memory or over TCP, and read as it would be
//! between machines; only the tables, the snapshot and the memory budget are one. `SET cluster_nodes` makes a session's
//! queries run so. The nodes are started by the first of them and stay until another number is asked for, or the database
//! is closed. Nothing listens beyond this machine.
//!
//! `network` is how exchanges find the multiplexer, `run` how a plan is run on all nodes and ended on all as one.

mod network;
mod run;
pub(crate) mod settings;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{Config, MILLISECOND, Memory, Multiplexer, NodeId, Schedule, SlabSource};
use operators::exchange::{Limits, network_error};
use scheduler::Scheduler;
use types::{Error, Result, SqlState};

use network::{NodeNetwork, Registry};
use settings::{ClusterSettings, Transport};

/// A peer of this process that says nothing for so long is lost. All nodes share its cores, so a network thread may well
/// wait for some seconds.
const SILENCE_MAX: u64 = 30_000 * MILLISECOND;
/// Messages of one source of an exchange that may lie here unread.
const WINDOW: usize = 8;
/// Messages of an exchange that may be on their way to the links.
const SENDING: usize = 16;
/// Bytes of a message below which none is made smaller for many nodes' sake.
const SHARED_MESSAGE_BYTES_MIN: usize = 64 << 10;

/// The nodes, and what runs on them.
pub(crate) struct Cluster {
    made_of: Shape,
    nodes: Vec<ClusterNode>,
    next_query: AtomicU64,
    folder: Option<PathBuf>,
}

/// What a cluster is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    settings: ClusterSettings,
    workers: usize,
    memory_bytes: usize,
}

struct ClusterNode {
    multiplexer: Arc<Multiplexer>,
    registry: Arc<Registry>,
    /// Workers of its own; none at the coordinator, which is the database's own engine.
    scheduler: Option<Scheduler>,
}

/// Memory of messages, which the process's counting allocator sees as all other.
struct OnHeap;

struct Slot(Vec<u8>);

impl Memory for Slot {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl SlabSource for OnHeap {
    fn allocate(&self, _node: usize, bytes: usize) -> Option<Box<dyn Memory>> {
        Some(Box::new(Slot(vec![0; bytes])))
    }
}

impl Shape {
    /// Bytes of a message: smaller ones where many nodes share the memory, as far as these are worth sending, since every
    /// exchange has two for each node at least.
    fn message_bytes(&self) -> usize {
        let share = self.memory_bytes / (16 * self.settings.nodes as usize);
        self.settings.message_bytes.min((share & !4095).max(SHARED_MESSAGE_BYTES_MIN))
    }
}

/// The cluster that statements of a database run on, once one was asked for.
#[derive(Default)]
pub(crate) struct Clusters(Mutex<Option<Arc<Cluster>>>);

impl Clusters {
    /// The cluster of this shape, which is started where there is none. Statements that run on another one go on there.
    fn of(&self, shape: Shape) -> Result<Arc<Cluster>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = held.as_ref().filter(|cluster| cluster.made_of == shape && cluster.is_sound())
        {
            return Ok(cluster.clone());
        }
        let cluster = Arc::new(Cluster::start(shape)?);
        let before = held.replace(cluster.clone());
        drop(held);
        drop(before);
        Ok(cluster)
    }
}

impl Cluster {
    fn start(shape: Shape) -> Result<Cluster> {
        let nodes = shape.settings.nodes as usize;
        let mut config = Config::new(nodes, shape.memory_bytes);
        config.message_bytes = shape.message_bytes();
        config.messages_max = (shape.memory_bytes / config.message_bytes).max(4 * nodes);
        config.messages_reserved = config.messages_max / 2;
        config.window_messages_max = WINDOW;
        config.send_messages_max = SENDING;
        config.schedule = Schedule::Off;
        config.silence_max = SILENCE_MAX;
        // Its notices wake queries, which may start workers.
        config.raises_priority = false;
        let folder = match shape.settings.transport {
            Transport::SharedMemory => Some(own_folder()?),
            Transport::Tcp => None,
        };
        let mut transports = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let at = match &folder {
                Some(folder) => Address::Unix(folder.join(node.to_string())),
                None => Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            };
            let options = SocketOptions { shared_memory: folder.is_some(), ..SocketOptions::default() };
            let listening = Sockets::listen(NodeId(node as u16), &config, &at, Exposure::Loopback, options);
            transports.push(listening.map_err(|error| network_error(&error))?);
        }
        let addresses: Vec<Address> =
            transports.iter().map(|transport| transport.address().clone()).collect();
        let mut started = Vec::with_capacity(nodes);
        for (node, mut transport) in transports.into_iter().enumerate() {
            transport.set_addresses(addresses.clone());
            let registry = Arc::new(Registry::default());
            let multiplexer = Multiplexer::start(
                NodeId(node as u16),
                config.clone(),
                Box::new(transport),
                Box::new(OnHeap),
                Box::new(OnHeap),
                registry.clone(),
                Vec::new(),
            );
            let multiplexer = Arc::new(multiplexer.map_err(|error| network_error(&error))?);
            let scheduler =
                (node > 0).then(|| Scheduler::with_thread_bytes(shape.workers, memory::thread_bytes));
            started.push(ClusterNode { multiplexer, registry, scheduler });
        }
        Ok(Cluster { made_of: shape, nodes: started, next_query: AtomicU64::new(1), folder })
    }

    /// Whether all links are as they were made.
    fn is_sound(&self) -> bool {
        self.nodes.iter().all(|node| node.multiplexer.lost().is_empty())
    }

    fn limits(&self) -> Limits {
        let message_bytes = self.made_of.message_bytes();
        let messages_waiting_max = 2 * self.nodes.len();
        Limits { message_bytes, messages_waiting_max, own_bytes_max: 8 * message_bytes }
    }

    fn next_query(&self) -> u64 {
        self.next_query.fetch_add(1, Ordering::Relaxed)
    }

    fn network(&self, node: usize, query: u64) -> Arc<NodeNetwork> {
        let ClusterNode { multiplexer, registry, .. } = &self.nodes[node];
        Arc::new(NodeNetwork { multiplexer: multiplexer.clone(), registry: registry.clone(), query })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        if let Some(folder) = &self.folder {
            // It is in the folder for temporary files: what stays there hurts nobody.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// A folder that nobody else can look into, for the nodes' sockets.
fn own_folder() -> Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("quickstep-nodes-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    // A former process with this number may have left it.
    let _ = std::fs::remove_dir_all(&folder);
    let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|error| {
        Error::new(SqlState::IoError, format!("no folder for the sockets of nodes: {error}"))
            .with_hint("SET cluster_transport = tcp needs none")
    })?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_nodes_have_smaller_messages_and_few_those_of_the_setting() {
        let shape = |nodes, message_bytes, memory_bytes| {
            let settings = ClusterSettings { nodes, message_bytes, ..ClusterSettings::default() };
            Shape { settings, workers: 1, memory_bytes }.message_bytes()
        };
        assert_eq!(shape(3, 128 << 10, 32 << 20), 128 << 10);
        assert_eq!(shape(3, 16 << 10, 32 << 20), 16 << 10);
        assert_eq!(shape(64, 512 << 10, 256 << 20), 256 << 10);
        assert_eq!(shape(64, 512 << 10, 32 << 20), 64 << 10);
    }
}
