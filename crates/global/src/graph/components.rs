//! Components. Weak ones by a forest that all tasks hook into (Afforest; Sutton, Ben-Nun, Barak 2018): a few edges of each
//! vertex first, then all edges of vertices outside of the largest component. Strong ones by trimming and colours (Orzan
//! 2004). Labels by propagation as LDBC Graphalytics defines it.
//!
//! Invariant of the forest: a vertex' parent is never greater than it, and parents only fall; so it has no cycle, and a root
//! is the least vertex of its tree.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use crate::error::GlobalError;
use crate::graph::{Graph, Kind, States};
use crate::here::Here;
use crate::runtime::Runtime;

/// Edges of each vertex that are hooked before the largest component is looked for.
const EDGES_FIRST: usize = 2;
const SAMPLE: u32 = 1_024;

/// For each vertex the least vertex that it is connected with, whatever way edges go.
pub fn weak_components(runtime: &Runtime, graph: &Graph) -> Result<Vec<u32>, GlobalError> {
    let graph = graph.clone();
    runtime.run(|here| async move {
        let forest = States::new(&here, &graph, |vertex| vertex)?;
        let (of, on) = (graph.clone(), Arc::clone(&forest));
        let first = move |_: &Here, range: Range<u32>| {
            for vertex in range {
                of.out(vertex).iter().take(EDGES_FIRST).for_each(|next| hook(&on.cells, vertex, *next));
            }
        };
        graph.forall(&here, first).await;
        flatten(&here, &graph, &forest).await;
        let largest = most_frequent(&forest.cells);
        let (of, on) = (graph.clone(), Arc::clone(&forest));
        let rest = move |_: &Here, range: Range<u32>| {
            for vertex in range.filter(|vertex| on.cells[*vertex as usize].load(Relaxed) != largest) {
                of.out(vertex).iter().skip(EDGES_FIRST).for_each(|next| hook(&on.cells, vertex, *next));
                // An edge from the largest component to here is seen from here only.
                if of.kind() == Kind::Directed {
                    of.incoming(vertex).iter().for_each(|next| hook(&on.cells, vertex, *next));
                }
            }
        };
        graph.forall(&here, rest).await;
        flatten(&here, &graph, &forest).await;
        Ok(forest.to_vec())
    })?
}

/// Makes two vertices' trees one.
fn hook(parents: &[AtomicU32], a: u32, b: u32) {
    let parent = |vertex: u32| parents[vertex as usize].load(Relaxed);
    let (mut a, mut b) = (parent(a), parent(b));
    while a != b {
        let (high, low) = (a.max(b), a.min(b));
        let above = parent(high);
        if above == low {
            return;
        }
        if above == high && parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
            return;
        }
        (a, b) = (parent(parent(high)), parent(low));
    }
}

async fn flatten(here: &Here, graph: &Graph, forest: &Arc<States>) {
    let on = Arc::clone(forest);
    let body = move |_: &Here, range: Range<u32>| {
        for vertex in range {
            let parent = |of: u32| on.cells[of as usize].load(Relaxed);
            let mut root = parent(vertex);
            while parent(root) != root {
                root = parent(root);
            }
            on.cells[vertex as usize].store(root, Relaxed);
        }
    };
    graph.forall(here, body).await;
}

/// The label that most of some vertices have.
fn most_frequent(labels: &[AtomicU32]) -> u32 {
    let mut random = random::Random::new(1);
    let mut counts: HashMap<u32, u32> = HashMap::new();
    for _ in 0..SAMPLE.min(labels.len() as u32) {
        *counts.entry(labels[random.below(labels.len())].load(Relaxed)).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(label, count)| (*count, *label)).map_or(u32::MAX, |(label, _)| label)
}

const NONE: u32 = u32::MAX;

struct Strong {
    component: States,
    colour: States,
}

impl Strong {
    fn is_left(&self, vertex: u32) -> bool {
        self.component.cells[vertex as usize].load(Relaxed) == NONE
    }
}

/// For each vertex a vertex of the strong component it is in, the same for all of one component.
pub fn strong_components(runtime: &Runtime, graph: &Graph) -> Result<Vec<u32>, GlobalError> {
    let graph = graph.clone();
    runtime.run(|here| async move {
        let component = States::new(&here, &graph, |_| NONE)?;
        let colour = States::new(&here, &graph, |_| 0)?;
        let unwrap = |states: Arc<States>| Arc::try_unwrap(states).map_err(|_| GlobalError::Stuck);
        let state = Arc::new(Strong { component: unwrap(component)?, colour: unwrap(colour)? });
        loop {
            trim(&here, &graph, &state).await;
            let (on, left) = (Arc::clone(&state), Arc::new(AtomicBool::new(false)));
            let any = Arc::clone(&left);
            let begin = move |_: &Here, range: Range<u32>| {
                for vertex in range.filter(|vertex| on.is_left(*vertex)) {
                    on.colour.cells[vertex as usize].store(vertex, Relaxed);
                    any.store(true, Relaxed);
                }
            };
            graph.forall(&here, begin).await;
            if !left.load(Relaxed) {
                return Ok(state.component.to_vec());
            }
            // The greatest vertex that reaches each one; those of its colour that reach it in turn are its component.
            until_still(&here, &graph, &state, |graph, state, vertex| {
                let colour = |of: u32| state.colour.cells[of as usize].load(Relaxed);
                let from = graph.incoming(vertex).iter().filter(|from| state.is_left(**from));
                let greatest = from.map(|from| colour(*from)).max().unwrap_or(0);
                let grows = greatest > colour(vertex);
                if grows {
                    state.colour.cells[vertex as usize].store(greatest, Relaxed);
                }
                grows
            })
            .await;
            until_still(&here, &graph, &state, |graph, state, vertex| {
                let colour = |of: u32| state.colour.cells[of as usize].load(Relaxed);
                let own = colour(vertex);
                let in_it =
                    |to: &u32| state.component.cells[*to as usize].load(Relaxed) == own && colour(*to) == own;
                let belongs = own == vertex || graph.out(vertex).iter().any(in_it);
                if belongs {
                    state.component.cells[vertex as usize].store(own, Relaxed);
                }
                belongs
            })
            .await;
        }
    })?
}

/// Runs a step on all vertices that are left until it changes none.
async fn until_still(
    here: &Here,
    graph: &Graph,
    state: &Arc<Strong>,
    step: impl Fn(&Graph, &Strong, u32) -> bool + Send + Sync + Copy + 'static,
) {
    let changed = Arc::new(AtomicBool::new(true));
    while changed.swap(false, Relaxed) {
        let (of, on, changed) = (graph.clone(), Arc::clone(state), Arc::clone(&changed));
        let body = move |_: &Here, range: Range<u32>| {
            let mut any = false;
            for vertex in range.filter(|vertex| on.is_left(*vertex)) {
                any |= step(&of, &on, vertex);
            }
            if any {
                changed.store(true, Relaxed);
            }
        };
        graph.forall(here, body).await;
    }
}

/// A vertex that no other one left leads to, or that leads to none, is a component of its own.
async fn trim(here: &Here, graph: &Graph, state: &Arc<Strong>) {
    until_still(here, graph, state, |graph, state, vertex| {
        let has = |others: &[u32]| others.iter().any(|other| *other != vertex && state.is_left(*other));
        let alone = !has(graph.out(vertex)) || !has(graph.incoming(vertex));
        if alone {
            state.component.cells[vertex as usize].store(vertex, Relaxed);
        }
        alone
    })
    .await;
}

/// Labels after so many rounds: each vertex begins with its own number, and takes the most frequent label of its
/// neighbours, the least of several; of a directed graph edges both ways count, two if there are two.
pub fn label_propagation(runtime: &Runtime, graph: &Graph, rounds: u32) -> Result<Vec<u32>, GlobalError> {
    let graph = graph.clone();
    runtime.run(|here| async move {
        let mut now = States::new(&here, &graph, |vertex| vertex)?;
        let mut next = States::new(&here, &graph, |vertex| vertex)?;
        for _ in 0..rounds {
            let (of, from, to) = (graph.clone(), Arc::clone(&now), Arc::clone(&next));
            let body = move |_: &Here, range: Range<u32>| {
                let mut labels = Vec::new();
                for vertex in range {
                    let label = |of: &u32| from.cells[*of as usize].load(Relaxed);
                    labels.clear();
                    labels.extend(of.out(vertex).iter().map(label));
                    if of.kind() == Kind::Directed {
                        labels.extend(of.incoming(vertex).iter().map(label));
                    }
                    let chosen = most_of(&mut labels).unwrap_or_else(|| label(&vertex));
                    to.cells[vertex as usize].store(chosen, Relaxed);
                }
            };
            graph.forall(&here, body).await;
            std::mem::swap(&mut now, &mut next);
        }
        Ok(now.to_vec())
    })?
}

/// The most frequent of some labels, the least of several.
fn most_of(labels: &mut [u32]) -> Option<u32> {
    labels.sort_unstable();
    let mut best: Option<(usize, u32)> = None;
    for run in labels.chunk_by(|a, b| a == b) {
        if best.is_none_or(|(count, _)| run.len() > count) {
            best = Some((run.len(), run[0]));
        }
    }
    best.map(|(_, label)| label)
}
