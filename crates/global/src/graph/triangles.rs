//! Triangles and clustering coefficients of undirected graphs. Edges are taken from the vertex of fewer neighbours to that
//! of more, so lists are short where hubs are, and each triangle is found once, by intersecting two such lists (Latapy
//! 2008). Directed graphs: a vertex' neighbours are marked, and edges between them counted, as LDBC Graphalytics defines.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::error::GlobalError;
use crate::graph::{Graph, Kind, States};
use crate::here::Here;
use crate::runtime::Runtime;

/// How many triangles each vertex of an undirected graph is a corner of; their sum is three times the number of triangles.
pub fn triangles(runtime: &Runtime, graph: &Graph) -> Result<Vec<u64>, GlobalError> {
    if graph.kind() != Kind::Undirected {
        return Err(GlobalError::Argument { what: "a graph with triangles", given: "directed".to_owned() });
    }
    let graph = graph.clone();
    runtime.run(|here| async move { count(here, graph).await })?
}

/// Whether an edge is taken from `a` to `b`.
fn goes(graph: &Graph, a: u32, b: u32) -> bool {
    (graph.out(a).len(), a) < (graph.out(b).len(), b)
}

/// The edges of each vertex that are taken from it: as long as all edges once.
struct Oriented {
    offsets: Vec<u64>,
    ends: Vec<u32>,
}

impl Oriented {
    fn row(&self, vertex: u32) -> &[u32] {
        &self.ends[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }
}

async fn count(here: Here, graph: Graph) -> Result<Vec<u64>, GlobalError> {
    let vertices = graph.vertices();
    let _charge = here.budget().reserve(16 * (u64::from(vertices) + 1) + 2 * graph.edges())?;
    let (mut offsets, mut ends) = (vec![0_u64], Vec::with_capacity(graph.edges() as usize / 2));
    for vertex in 0..vertices {
        ends.extend(graph.out(vertex).iter().copied().filter(|next| goes(&graph, vertex, *next)));
        offsets.push(ends.len() as u64);
    }
    let oriented = Arc::new(Oriented { offsets, ends });
    let corners: Arc<Vec<AtomicU64>> = Arc::new((0..vertices).map(|_| AtomicU64::new(0)).collect());
    let marks = mark_lists(&here, vertices)?;
    let on = Arc::clone(&corners);
    let body = move |here: &Here, range: Range<u32>| {
        let marks = &marks[here.locale().index() % marks.len()].cells;
        for vertex in range {
            let row = oriented.row(vertex);
            // Marks are this vertex' number + 1, so none has to be taken back.
            row.iter().for_each(|next| marks[*next as usize].store(vertex + 1, Relaxed));
            let mut own = 0;
            for next in row {
                let mut shared = 0;
                for third in oriented.row(*next) {
                    if marks[*third as usize].load(Relaxed) == vertex + 1 {
                        on[*third as usize].fetch_add(1, Relaxed);
                        shared += 1;
                    }
                }
                on[*next as usize].fetch_add(shared, Relaxed);
                own += shared;
            }
            on[vertex as usize].fetch_add(own, Relaxed);
        }
    };
    graph.forall(&here, body).await;
    Ok(corners.iter().map(|count| count.load(Relaxed)).collect())
}

/// A mark a vertex for each locale: a piece of a loop runs at one locale, without a wait.
fn mark_lists(here: &Here, vertices: u32) -> Result<Arc<Vec<States>>, GlobalError> {
    let list = |_| {
        let charge = here.budget().reserve(4 * u64::from(vertices))?;
        let cells = (0..vertices).map(|_| AtomicU32::new(0)).collect();
        Ok(States { cells, _charge: charge })
    };
    Ok(Arc::new(here.own_locales().map(list).collect::<Result<Vec<States>, GlobalError>>()?))
}

/// The local clustering coefficient of each vertex: which part of the edges that there could be between its neighbours
/// there is; 0 where it has fewer than two.
pub fn clustering(runtime: &Runtime, graph: &Graph) -> Result<Vec<f64>, GlobalError> {
    let of = |edges: u64, degree: u64| {
        if degree < 2 { 0.0 } else { edges as f64 / (degree * (degree - 1)) as f64 }
    };
    if graph.kind() == Kind::Undirected {
        let corners = triangles(runtime, graph)?;
        let degree = |vertex: usize| graph.out(vertex as u32).len() as u64;
        return Ok(corners.iter().enumerate().map(|(at, count)| of(2 * count, degree(at))).collect());
    }
    let graph = graph.clone();
    runtime.run(|here| async move {
        let vertices = graph.vertices();
        let marks = mark_lists(&here, vertices)?;
        let result: Arc<Vec<AtomicU64>> = Arc::new((0..vertices).map(|_| AtomicU64::new(0)).collect());
        let (g, to) = (graph.clone(), Arc::clone(&result));
        let body = move |here: &Here, range: Range<u32>| {
            let marks = &marks[here.locale().index() % marks.len()].cells;
            let mut near = Vec::new();
            for vertex in range {
                near.clear();
                near.extend(
                    g.out(vertex).iter().chain(g.incoming(vertex)).copied().filter(|next| *next != vertex),
                );
                near.sort_unstable();
                near.dedup();
                near.iter().for_each(|next| marks[*next as usize].store(vertex + 1, Relaxed));
                let mut edges = 0;
                for from in &near {
                    let mut last = u32::MAX;
                    for to in g.out(*from).iter().filter(|to| *to != from) {
                        // Sorted, so a repeated edge is the one before.
                        edges += u64::from(last != *to && marks[*to as usize].load(Relaxed) == vertex + 1);
                        last = *to;
                    }
                }
                to[vertex as usize].store(of(edges, near.len() as u64).to_bits(), Relaxed);
            }
        };
        graph.forall(&here, body).await;
        Ok(result.iter().map(|bits| f64::from_bits(bits.load(Relaxed))).collect())
    })?
}
