//! Distances from one vertex: by edges (breadth first, which turns to pulling when the frontier is wide; Beamer, Asanović,
//! Patterson 2012) and by weights (delta-stepping; Meyer and Sanders 2003).
//!
//! Both keep a list of vertices a level. A piece of the loop gathers what it found in a list of its own, so tasks share
//! nothing but the distances, which only fall.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::error::GlobalError;
use crate::graph::{Graph, States};
use crate::here::Here;
use crate::process::lock;
use crate::runtime::Runtime;

/// The distance of a vertex that no path leads to, by edges; by weights it is infinite.
pub const UNREACHED: u32 = u32::MAX;

/// Pull while the frontier has more edges than this part of those that are left.
const PULL_PART: u64 = 14;
/// Push again when the frontier has fewer vertices than this part of all.
const PUSH_PART: u64 = 24;
const GRAIN: u64 = 256;

/// How many edges the shortest path from a vertex to each vertex has.
pub fn breadth_first(runtime: &Runtime, graph: &Graph, source: u32) -> Result<Vec<u32>, GlobalError> {
    check_source(graph, source)?;
    let graph = graph.clone();
    runtime.run(|here| async move { levels(here, graph, source).await })?
}

fn check_source(graph: &Graph, source: u32) -> Result<(), GlobalError> {
    let length = u64::from(graph.vertices());
    if u64::from(source) < length {
        Ok(())
    } else {
        Err(GlobalError::OutOfRange { index: u64::from(source), length })
    }
}

/// What pieces of a loop found.
type Found<T> = Arc<Mutex<Vec<Vec<T>>>>;

fn found<T>(lists: &Found<T>) -> Vec<T>
where
    T: Clone,
{
    std::mem::take(&mut *lock(lists)).concat()
}

async fn levels(here: Here, graph: Graph, source: u32) -> Result<Vec<u32>, GlobalError> {
    let distances = States::new(&here, &graph, |vertex| if vertex == source { 0 } else { UNREACHED })?;
    let mut frontier = vec![source];
    let (mut level, mut pulls, mut left) = (0, false, graph.edges());
    while !frontier.is_empty() {
        let edges: u64 = frontier.iter().map(|vertex| graph.out(*vertex).len() as u64).sum();
        left = left.saturating_sub(edges);
        pulls = if pulls {
            frontier.len() as u64 > u64::from(graph.vertices()) / PUSH_PART
        } else {
            edges > left / PULL_PART
        };
        level += 1;
        frontier = if pulls {
            pull(&here, &graph, &distances, level).await
        } else {
            push(&here, &graph, &distances, frontier, level).await
        };
    }
    Ok(distances.to_vec())
}

async fn push(
    here: &Here,
    graph: &Graph,
    distances: &Arc<States>,
    frontier: Vec<u32>,
    level: u32,
) -> Vec<u32> {
    let lists: Found<u32> = Arc::default();
    let (to, of, on) = (Arc::clone(&lists), graph.clone(), Arc::clone(distances));
    let length = frontier.len() as u64;
    let body = move |_: &Here, range: Range<u64>| {
        let mut own = Vec::new();
        for vertex in &frontier[range.start as usize..range.end as usize] {
            for next in of.out(*vertex) {
                let cell = &on.cells[*next as usize];
                // A look first: most are reached already, and a look shares the cache line.
                if cell.load(Relaxed) == UNREACHED
                    && cell.compare_exchange(UNREACHED, level, Relaxed, Relaxed).is_ok()
                {
                    own.push(*next);
                }
            }
        }
        lock(&to).push(own);
    };
    here.forall(0..length, GRAIN, body).await;
    found(&lists)
}

async fn pull(here: &Here, graph: &Graph, distances: &Arc<States>, level: u32) -> Vec<u32> {
    let lists: Found<u32> = Arc::default();
    let (to, of, on) = (Arc::clone(&lists), graph.clone(), Arc::clone(distances));
    let body = move |_: &Here, range: Range<u32>| {
        let mut own = Vec::new();
        for vertex in range {
            let cell = &on.cells[vertex as usize];
            let is_last = |from: &u32| on.cells[*from as usize].load(Relaxed) == level - 1;
            if cell.load(Relaxed) == UNREACHED && of.incoming(vertex).iter().any(is_last) {
                cell.store(level, Relaxed);
                own.push(vertex);
            }
        }
        lock(&to).push(own);
    };
    graph.forall_into(here, body).await;
    found(&lists)
}

/// The length of the shortest path from a vertex to each vertex by weights; infinite where there is none. `delta` is the
/// width of a bucket: about the weight of an edge; 0: the mean weight.
pub fn shortest_paths(
    runtime: &Runtime,
    graph: &Graph,
    source: u32,
    delta: f64,
) -> Result<Vec<f64>, GlobalError> {
    check_source(graph, source)?;
    if !(delta >= 0.0) || delta.is_infinite() {
        return Err(GlobalError::Argument { what: "the width of a bucket", given: delta.to_string() });
    }
    let graph = graph.clone();
    runtime.run(|here| async move { buckets(here, graph, source, delta).await })?
}

fn mean_weight(graph: &Graph) -> f64 {
    let sample = (0..graph.vertices()).flat_map(|vertex| graph.weights(vertex)).take(10_000);
    let (sum, count) = sample.fold((0.0, 0_u32), |(sum, count), weight| (sum + f64::from(weight), count + 1));
    if sum > 0.0 { sum / f64::from(count) } else { 1.0 }
}

async fn buckets(here: Here, graph: Graph, source: u32, delta: f64) -> Result<Vec<f64>, GlobalError> {
    let delta = if delta > 0.0 { delta } else { mean_weight(&graph) };
    let _charge = here.budget().reserve(12 * u64::from(graph.vertices()))?;
    let infinite = f64::INFINITY.to_bits();
    // Bits of numbers that are not negative are in their order, so the least bits are the least distance.
    let distances: Arc<Vec<AtomicU64>> =
        Arc::new((0..graph.vertices()).map(|_| AtomicU64::new(infinite)).collect());
    // In which round a vertex was taken up last: once a round is enough.
    let taken: Arc<Vec<AtomicU32>> = Arc::new((0..graph.vertices()).map(|_| AtomicU32::new(0)).collect());
    distances[source as usize].store(0, Relaxed);
    let bucket_of = move |distance: f64| (distance / delta) as u64;
    let mut waiting: std::collections::BTreeMap<u64, Vec<u32>> = std::collections::BTreeMap::new();
    waiting.insert(0, vec![source]);
    let mut round = 0;
    while let Some((bucket, vertices)) = waiting.pop_first() {
        round += 1;
        let lists: Found<(u64, u32)> = Arc::default();
        let (to, of, on, marks) =
            (Arc::clone(&lists), graph.clone(), Arc::clone(&distances), Arc::clone(&taken));
        let length = vertices.len() as u64;
        let body = move |_: &Here, range: Range<u64>| {
            let mut own = Vec::new();
            for vertex in &vertices[range.start as usize..range.end as usize] {
                let distance = f64::from_bits(on[*vertex as usize].load(Relaxed));
                // It was settled in an earlier bucket, or another entry of it was taken up in this round.
                if bucket_of(distance) < bucket || marks[*vertex as usize].swap(round, Relaxed) == round {
                    continue;
                }
                for (next, weight) in of.out(*vertex).iter().zip(of.weights(*vertex)) {
                    let longer = distance + f64::from(weight);
                    if on[*next as usize].load(Relaxed) > longer.to_bits()
                        && on[*next as usize].fetch_min(longer.to_bits(), Relaxed) > longer.to_bits()
                    {
                        own.push((bucket_of(longer), *next));
                    }
                }
            }
            lock(&to).push(own);
        };
        here.forall(0..length, GRAIN, body).await;
        for (bucket, vertex) in found(&lists) {
            waiting.entry(bucket).or_default().push(vertex);
        }
    }
    Ok(distances.iter().map(|bits| f64::from_bits(bits.load(Relaxed))).collect())
}
