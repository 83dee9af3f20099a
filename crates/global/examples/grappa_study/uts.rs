//! Unbalanced trees (Olivier et al. 2006), kept in global memory (the thesis' UTS-Mem): T1 is wide, T3 deep and narrow. A
//! tree is built first, its size checked against the published one; the search that is timed reads each node's children
//! from the array and spawns a task for each. With the tree on another node and a link that takes its time, more workers
//! hide more of it: the sweep shows where that ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use global::{
    Aggregation, Config, Distribution, EventId, GlobalArray, Here, Link, LinkOptions, Place, Registry,
    Runtime,
};
use sha1::{Digest, Sha1};

use crate::record::{Record, number, text};

type State = [u8; 20];

#[derive(Clone, Copy)]
enum Tree {
    /// Geometric, fixed: 4 children a node on average, 10 levels, seed 19.
    T1,
    /// Binomial: 2,000 children of the root, then 8 with probability 0.124875, seed 42.
    T3,
}

impl Tree {
    fn root(self) -> State {
        let mut seed = [0; 20];
        seed[19] = match self {
            Tree::T1 => 19,
            Tree::T3 => 42,
        };
        Sha1::digest(seed).into()
    }

    fn children(self, state: &State, depth: u32) -> u32 {
        let bits = u32::from_be_bytes([state[16], state[17], state[18], state[19]]) & 0x7fff_ffff;
        let chance = f64::from(bits) / 2_147_483_648.0;
        match self {
            Tree::T1 if depth >= 10 => 0,
            Tree::T1 => ((1.0 - chance).ln() / (1.0_f64 - 1.0 / 5.0).ln()).floor().min(100.0) as u32,
            Tree::T3 if depth == 0 => 2_000,
            Tree::T3 => {
                if chance < 0.124_875 {
                    8
                } else {
                    0
                }
            }
        }
    }

    /// The published size.
    fn nodes(self) -> u64 {
        match self {
            Tree::T1 => 4_130_071,
            Tree::T3 => 4_112_897,
        }
    }
}

/// First child and number of children of each node, in the order of their finding.
fn build(tree: Tree) -> Vec<u64> {
    let mut nodes = vec![0_u64];
    let mut open = vec![(tree.root(), 0_u32, 0_usize)];
    while let Some((state, depth, at)) = open.pop() {
        let children = tree.children(&state, depth);
        nodes[at] = (nodes.len() as u64) << 32 | u64::from(children);
        for child in 0..children {
            let mut hash = Sha1::new();
            hash.update(state);
            hash.update(child.to_be_bytes());
            open.push((hash.finalize().into(), depth + 1, nodes.len()));
            nodes.push(0);
        }
    }
    assert_eq!(nodes.len() as u64, tree.nodes(), "the tree is another one than published");
    nodes
}

struct Search {
    tree: GlobalArray<u64>,
    event: EventId,
    found: AtomicU64,
    latency: AtomicU64,
}

/// Visits a node: reads it, and spawns its children.
async fn visit(here: Here, search: Arc<Search>, node: u64) {
    let begun = Instant::now();
    let entry = search.tree.read(&here, node).await;
    search.latency.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
    search.found.fetch_add(1, Relaxed);
    for child in entry >> 32..(entry >> 32) + (entry & 0xffff_ffff) {
        let search = Arc::clone(&search);
        here.spawn_fiber(Place::Public, search.event, move |here| visit(here, search, child));
    }
}

/// Nodes a second, and the mean latency of a read; the tree's first `limit` nodes.
fn search(runtimes: &[Runtime], nodes: &Arc<Vec<u64>>) -> (f64, f64, u64) {
    let nodes = Arc::clone(nodes);
    let result = crate::link::run(runtimes, move |here| async move {
        let count = nodes.len() as u64;
        // Over nodes the tree lies at the second one.
        let far = here.nodes() > 1;
        let length = if far { count * 2 } else { count };
        let first = length - count;
        let tree = GlobalArray::<u64>::new(&here, length, Distribution::Block).await.expect("memory");
        let event = here.event();
        for (at, entry) in nodes.iter().enumerate() {
            let (child, children) = ((entry >> 32) + first, entry & 0xffff_ffff);
            tree.send(&here, event.id(), global::Operation::Write, first + at as u64, child << 32 | children)
                .await;
        }
        event.wait().await;
        let search = Arc::new(Search {
            tree,
            event: event.id(),
            found: AtomicU64::new(0),
            latency: AtomicU64::new(0),
        });
        let begun = Instant::now();
        let root = Arc::clone(&search);
        here.spawn_fiber(Place::Public, event.id(), move |here| visit(here, root, first));
        event.wait().await;
        let (found, seconds) = (search.found.load(Relaxed), begun.elapsed().as_secs_f64());
        (found as f64 / seconds, search.latency.load(Relaxed) as f64 / found as f64, found)
    });
    result.expect("an end")
}

pub fn study(record: &mut Record) {
    for (name, tree) in [("T1", Tree::T1), ("T3", Tree::T3)] {
        let nodes = Arc::new(build(tree));
        for locales in [1, 2] {
            let runtimes = [Runtime::new(Config::new(locales)).expect("a runtime")];
            let (rate, _, found) = search(&runtimes, &nodes);
            assert_eq!(found, tree.nodes());
            let fields = [
                ("tree", text(name)),
                ("locales", locales.to_string()),
                ("nodes", found.to_string()),
                ("nodes_per_s", number(rate)),
                ("stolen", runtimes[0].counts().stolen.to_string()),
            ];
            record.add("UTS-Mem on one process", &fields);
        }
        sweep(record, name, &nodes);
    }
}

/// Part of the tree over a link of 200 µs: the first nodes, with their children beyond left out.
fn sweep(record: &mut Record, name: &str, nodes: &Arc<Vec<u64>>) {
    const PART: u64 = 200_000;
    let cut = |entry: &u64| {
        let (first, children) = (entry >> 32, entry & 0xffff_ffff);
        first << 32 | PART.saturating_sub(first).min(children)
    };
    let part: Arc<Vec<u64>> = Arc::new(nodes.iter().take(PART as usize).map(cut).collect());
    for workers in [16, 64, 256, 1_024, 4_096, 16_384] {
        let options = LinkOptions { delay: Duration::from_micros(200), ..LinkOptions::default() };
        let runtimes: Vec<Runtime> = Link::connect(2, options)
            .into_iter()
            .map(|link| {
                let mut config = Config::new(1);
                config.fibers_max = workers;
                config.aggregation =
                    Aggregation { flush_age: Duration::from_micros(50), ..Aggregation::default() };
                Runtime::connected(config, Registry::new(), Box::new(link)).expect("a runtime")
            })
            .collect();
        let begun = Instant::now();
        let (rate, latency, found) = search(&runtimes, &part);
        let counts = runtimes[0].counts();
        let fields = [
            ("tree", text(name)),
            ("workers", workers.to_string()),
            ("link_delay_us", "200".to_owned()),
            ("nodes", found.to_string()),
            ("nodes_per_s", number(rate)),
            ("read_latency_us", number(latency / 1e3)),
            ("idle_share", number(counts.idle_ns as f64 / 1e9 / begun.elapsed().as_secs_f64())),
        ];
        record.add("UTS-Mem over a slow link", &fields);
    }
}
