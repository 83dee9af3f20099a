//! The machine's memory nodes: which processors are near which memory, and placing memory on one.
//!
//! Linux tells in `/sys/devices/system/node`: a folder `nodeN` for each node, with `cpulist` ("0-3,8"), `distance` (to
//! each node that is online, 10 for itself) and `meminfo`. A machine that tells nothing has one node with all
//! processors. An emulated topology has as many nodes as a test wants, on any machine: everything is decided as it
//! would be there, and nothing is asked of the machine.
//!
//! Nodes are counted from 0 here, without gaps; `Node::number` is the machine's own. Only nodes with processors count:
//! memory without them (persistent, or another device's) is no place for what workers read.
//!
//! Left to others: which worker runs where, and which data belong together.

use std::fs;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// The machine's page: policies hold for whole ones.
const PAGE_BYTES: usize = 4096;
/// Longest list of processors that is believed; the kernel's own limit is 8,192.
const PROCESSORS_MAX: usize = 1 << 16;
/// Linux' MPOL_PREFERRED: there if there is room, elsewhere otherwise. A query that could run should not end because one
/// node is full.
#[cfg(target_os = "linux")]
const PREFERRED: libc::c_long = 1;

/// Processors and the memory near them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The machine's number of it.
    pub number: usize,
    /// Numbers of its processors, rising.
    pub processors: Vec<usize>,
    /// What its memory has, in bytes; 0 where the machine does not tell.
    pub memory_bytes: u64,
    /// Distances to every node of the topology, in its order: 10 to itself, larger is farther.
    pub distances: Vec<u32>,
}

/// The nodes of a machine, or of one that is made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<Node>,
    emulated: bool,
}

impl Topology {
    /// The machine's nodes, read once for the process; one node where the machine tells nothing.
    pub fn of_machine() -> Topology {
        static MACHINE: OnceLock<Topology> = OnceLock::new();
        MACHINE.get_or_init(|| Topology::below(Path::new("/"))).clone()
    }

    /// `nodes` nodes of `processors` processors each, numbered through, all equally far from each other. Both at least 1.
    pub fn emulated(nodes: usize, processors: usize) -> Topology {
        let nodes = nodes.max(1);
        let node = |number| Node {
            number,
            processors: (number * processors.max(1)..(number + 1) * processors.max(1)).collect(),
            memory_bytes: 0,
            distances: (0..nodes).map(|other| if other == number { 10 } else { 20 }).collect(),
        };
        Topology { nodes: (0..nodes).map(node).collect(), emulated: true }
    }

    /// The nodes that the files under `root` tell of.
    fn below(root: &Path) -> Topology {
        let folder = root.join("sys/devices/system/node");
        let read = |node: usize, file: &str| {
            fs::read_to_string(folder.join(format!("node{node}")).join(file)).unwrap_or_default()
        };
        let online = fs::read_to_string(folder.join("online")).unwrap_or_default();
        let online = numbers(&online).unwrap_or_default();
        let mut nodes: Vec<Node> = Vec::new();
        for number in online.iter().copied() {
            let Some(processors) = numbers(&read(number, "cpulist")).filter(|list| !list.is_empty()) else {
                continue;
            };
            let all = read(number, "distance").split_whitespace().map(str::parse).collect::<Result<_, _>>();
            let distances = all.unwrap_or_default();
            nodes.push(Node {
                number,
                processors,
                memory_bytes: memory_bytes(&read(number, "meminfo")),
                distances,
            });
        }
        if nodes.is_empty() {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            return Topology { emulated: false, ..Topology::emulated(1, processors) };
        }
        // The files have a distance to each node that is online, those without processors included.
        let kept: Vec<usize> = nodes.iter().map(|node| node.number).collect();
        for node in &mut nodes {
            let to = |other: &usize| {
                let at = online.iter().position(|number| number == other)?;
                node.distances.get(at).copied()
            };
            let known: Option<Vec<u32>> = kept.iter().map(to).collect();
            let unknown = || kept.iter().map(|other| if *other == node.number { 10 } else { 20 }).collect();
            node.distances = known.unwrap_or_else(unknown);
        }
        Topology { nodes, emulated: false }
    }

    /// The nodes by position, at least one.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether there are several nodes, so that placement matters.
    pub fn is_divided(&self) -> bool {
        self.nodes.len() > 1
    }

    /// Whether it was made by `emulated`, and is not asked of the machine.
    pub fn is_emulated(&self) -> bool {
        self.emulated
    }

    /// The node of a processor, by position in `nodes`.
    pub fn node_of_processor(&self, processor: usize) -> Option<usize> {
        self.nodes.iter().position(|node| node.processors.binary_search(&processor).is_ok())
    }

    /// The node that a partition's rows lie on, by position: partitions go round.
    pub fn node_of_partition(&self, partition: usize) -> usize {
        partition % self.nodes.len()
    }

    /// The nodes by their distance from `node`, itself first: the order in which to look for work, or for room.
    pub fn nearest(&self, node: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        let distances = self.nodes.get(node).map_or(&[][..], |node| &node.distances);
        order.sort_by_key(|other| {
            (*other != node, distances.get(*other).copied().unwrap_or(u32::MAX), *other)
        });
        order
    }

    /// Asks the machine to take the pages of `range` from a node's memory at their first touch, as far as there is room.
    /// Pages that were touched before stay where they are, and so do those that stick out of the range. Emulated nodes
    /// ask nothing.
    ///
    /// # Errors
    /// What the machine says; containers often forbid it. The memory can be used nevertheless.
    pub fn place(&self, range: NonNull<[u8]>, node: usize) -> io::Result<()> {
        let Some(node) = self.nodes.get(node).filter(|_| self.is_divided() && !self.emulated) else {
            return Ok(());
        };
        let address = range.cast::<u8>().addr().get();
        let from = address.next_multiple_of(PAGE_BYTES);
        let to = (address + range.len()) / PAGE_BYTES * PAGE_BYTES;
        if from >= to {
            return Ok(());
        }
        prefer(from, to - from, node.number)
    }
}

#[cfg(target_os = "linux")]
fn prefer(address: usize, bytes: usize, node: usize) -> io::Result<()> {
    const BITS: usize = usize::BITS as usize;
    let mut mask = vec![0usize; node / BITS + 1];
    mask[node / BITS] |= 1 << (node % BITS);
    // SAFETY: mbind sets where pages come from that are not there yet; it changes no byte of memory. It reads
    // `mask.len() * BITS` bits of the mask (and is told one more, as the kernel leaves out the last).
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            address as libc::c_ulong,
            bytes as libc::c_ulong,
            PREFERRED,
            mask.as_ptr(),
            (mask.len() * BITS + 1) as libc::c_ulong,
            0 as libc::c_long,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn prefer(_: usize, _: usize, _: usize) -> io::Result<()> {
    Ok(())
}

/// "0-3,8" as the numbers that it names, rising; `None` when it is something else.
fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last >= PROCESSORS_MAX {
            return None;
        }
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// "Node 0 MemTotal: 1024 kB" in bytes, 0 where there is no such line.
fn memory_bytes(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.split_once("MemTotal:")).map_or("", |(_, after)| after);
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of a made-up machine, removed at the end.
    struct Machine(std::path::PathBuf);

    impl Machine {
        fn new(name: &str, files: &[(&str, &str)]) -> Machine {
            let root = std::env::temp_dir().join(format!("topology-{name}-{}", std::process::id()));
            for (file, text) in files {
                let path = root.join("sys/devices/system/node").join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Machine(root)
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn nodes_are_read_as_linux_tells_them() {
        let machine = Machine::new(
            "two",
            &[
                ("online", "0-1,4\n"),
                ("node0/cpulist", "0-1,4\n"),
                ("node0/distance", "10 17 21\n"),
                ("node0/meminfo", "Node 0 MemTotal:       2048 kB\nNode 0 MemFree: 1 kB\n"),
                // Memory without processors.
                ("node1/cpulist", "\n"),
                ("node1/distance", "17 10 28\n"),
                ("node4/cpulist", "2-3,5\n"),
                ("node4/distance", "21 28 10\n"),
            ],
        );
        let topology = Topology::below(&machine.0);
        let node = |number, processors: &[usize], memory_bytes, distances: &[u32]| Node {
            number,
            processors: processors.to_vec(),
            memory_bytes,
            distances: distances.to_vec(),
        };
        let expected = [node(0, &[0, 1, 4], 2 << 20, &[10, 21]), node(4, &[2, 3, 5], 0, &[21, 10])];
        assert_eq!(topology.nodes(), expected);
        assert!(topology.is_divided() && !topology.is_emulated());
        assert_eq!(
            [0, 4, 5, 6].map(|cpu| topology.node_of_processor(cpu)),
            [Some(0), Some(0), Some(1), None]
        );
    }

    #[test]
    fn what_makes_no_sense_is_one_node() {
        let processors = std::thread::available_parallelism().unwrap().get();
        let files: [&[(&str, &str)]; 4] = [
            &[],
            &[("online", "no")],
            &[("online", "0-99999999999"), ("node0/cpulist", "0")],
            &[("online", "0"), ("node0/cpulist", "7-3")],
        ];
        for (number, files) in files.iter().enumerate() {
            let topology = Topology::below(&Machine::new(&format!("none-{number}"), files).0);
            assert_eq!(topology.nodes().len(), 1, "{files:?}");
            assert_eq!(topology.nodes()[0].processors.len(), processors, "{files:?}");
            assert!(!topology.is_divided() && !topology.is_emulated());
        }
        // Distances that are not all there are made up.
        let files =
            [("online", "0-1"), ("node0/cpulist", "0"), ("node1/cpulist", "1"), ("node1/distance", "9")];
        let topology = Topology::below(&Machine::new("short", &files).0);
        assert_eq!(topology.nodes()[1].distances, [20, 10]);
    }

    #[test]
    fn partitions_go_round_and_neighbours_come_before_strangers() {
        let topology = Topology::emulated(3, 2);
        assert_eq!([0, 1, 2, 3, 7].map(|partition| topology.node_of_partition(partition)), [0, 1, 2, 0, 1]);
        assert_eq!(topology.nodes()[1].processors, [2, 3]);
        assert_eq!(topology.nearest(1), [1, 0, 2]);
        let mut uneven = topology;
        uneven.nodes[1].distances = vec![31, 10, 21];
        assert_eq!(uneven.nearest(1), [1, 2, 0]);
        assert!(!Topology::emulated(1, 8).is_divided());
    }

    /// The machine's own nodes: it may refuse, and the memory is good all the same.
    #[test]
    fn placed_memory_can_be_used() {
        let mut topology = Topology::of_machine();
        // Two names for the first node, so that there is something to place on a machine with one.
        let first = topology.nodes[0].clone();
        topology.nodes.push(first);
        let mut memory = vec![1u8; 64 << 10];
        let range = NonNull::from(memory.as_mut_slice());
        for node in 0..2 {
            if let Err(error) = topology.place(range, node) {
                assert_ne!(error.raw_os_error(), Some(libc::EINVAL), "the call itself is wrong: {error}");
            }
        }
        memory.fill(2);
        assert!(memory.iter().all(|byte| *byte == 2));
        // Ranges within a page, and nodes that are not there, ask for nothing.
        topology.place(NonNull::from(&mut memory[5..6]), 1).unwrap();
        topology.place(range, 99).unwrap();
    }
}
