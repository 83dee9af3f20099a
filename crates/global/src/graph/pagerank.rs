//! PageRank by pulling: each vertex sums what its in-neighbours give, so nothing is added by two tasks at a time. Ranks of
//! vertices without edges out are spread over all, so ranks always sum to 1.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::GlobalError;
use crate::graph::Graph;
use crate::here::Here;
use crate::packet::Operation;
use crate::parts::Word;
use crate::runtime::Runtime;

/// How ranks are computed.
#[derive(Clone, Copy, Debug)]
pub struct PageRank {
    /// The share of a rank that goes along edges: 0 to 1.
    pub damping: f64,
    /// The most rounds.
    pub rounds_max: u32,
    /// Rounds end when no rank changed by more than this; 0: after `rounds_max`.
    pub tolerance: f64,
}

impl Default for PageRank {
    fn default() -> Self {
        PageRank { damping: 0.85, rounds_max: 100, tolerance: 1e-7 }
    }
}

struct Ranks {
    rank: Vec<AtomicU64>,
    given: Vec<AtomicU64>,
}

/// Ranks of all vertices, and how many rounds they took.
pub fn pagerank(runtime: &Runtime, graph: &Graph, how: PageRank) -> Result<(Vec<f64>, u32), GlobalError> {
    if !(0.0..=1.0).contains(&how.damping) || !(how.tolerance >= 0.0) {
        let given = format!("{} with a tolerance of {}", how.damping, how.tolerance);
        return Err(GlobalError::Argument { what: "the damping of PageRank", given });
    }
    let graph = graph.clone();
    runtime.run(|here| async move { rank(here, graph, how).await })?
}

async fn rank(here: Here, graph: Graph, how: PageRank) -> Result<(Vec<f64>, u32), GlobalError> {
    let count = graph.vertices();
    if count == 0 {
        return Ok((Vec::new(), 0));
    }
    let _charge = here.budget().reserve(16 * u64::from(count))?;
    let cells = |value: f64| (0..count).map(|_| AtomicU64::new(value.to_bits())).collect::<Vec<_>>();
    let ranks = Arc::new(Ranks { rank: cells(1.0 / f64::from(count)), given: cells(0.0) });
    let mut round = 0;
    while round < how.rounds_max {
        round += 1;
        // What each gives along an edge; what those without edges have goes to all.
        let (dangling, of, on) = (Arc::new(AtomicU64::new(0)), graph.clone(), Arc::clone(&ranks));
        let all = Arc::clone(&dangling);
        let give = move |_: &Here, range: std::ops::Range<u32>| {
            let mut kept = 0.0;
            for vertex in range {
                let (rank, degree) =
                    (f64::from_bits(on.rank[vertex as usize].load(Relaxed)), of.out(vertex).len());
                kept += if degree == 0 { rank } else { 0.0 };
                let given = if degree == 0 { 0.0 } else { rank / degree as f64 };
                on.given[vertex as usize].store(given.to_bits(), Relaxed);
            }
            <f64 as Word>::apply(&all, Operation::Add, kept, kept);
        };
        graph.forall(&here, give).await;
        let base = (1.0 - how.damping) / f64::from(count);
        let base = base + how.damping * f64::from_bits(dangling.load(Relaxed)) / f64::from(count);
        let change = Arc::new(AtomicU64::new(0));
        let (most, of, on, damping) = (Arc::clone(&change), graph.clone(), Arc::clone(&ranks), how.damping);
        let pull = move |_: &Here, range: std::ops::Range<u32>| {
            let mut largest = 0.0_f64;
            for vertex in range {
                let given = |from: &u32| f64::from_bits(on.given[*from as usize].load(Relaxed));
                let rank = base + damping * of.incoming(vertex).iter().map(given).sum::<f64>();
                let before = f64::from_bits(on.rank[vertex as usize].swap(rank.to_bits(), Relaxed));
                largest = largest.max((rank - before).abs());
            }
            // Bits of numbers that are not negative are in their order.
            most.fetch_max(largest.to_bits(), Relaxed);
        };
        graph.forall_into(&here, pull).await;
        if how.tolerance > 0.0 && f64::from_bits(change.load(Relaxed)) <= how.tolerance {
            break;
        }
    }
    Ok((ranks.rank.iter().map(|rank| f64::from_bits(rank.load(Relaxed))).collect(), round))
}
