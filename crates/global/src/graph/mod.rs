//! Graphs in global memory, and the algorithms on them: each a function of a runtime and a graph that gives a vector over
//! the vertices. Shared memory is used as such: within a process no edge is a message; bodies read neighbours' states where
//! they lie, and change them by atomic operations.
//!
//! ```text
//!  sources, targets: u32 --EdgeList--> parts, one a locale: a run of vertices with their neighbours, sorted
//!  part:   first vertex | offsets: u64 a vertex | neighbours: u32 an edge | weights: f32 an edge, where there are any
//! ```
//! So an edge costs 4 bytes a direction, 8 with a weight, and a vertex 8 a direction, all charged to the budget. A graph is
//! immutable. Loops go over *pieces*, runs of vertices of about as many edges each, so that hubs do not make one task long.
//!
//! Lives in one process so far: over several, parts would be there, and neighbours' states a message away.

mod components;
mod generate;
mod pagerank;
mod paths;
mod peeling;
mod triangles;

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use memory::Reservation;

use crate::address::{Distribution, Layout, LocaleId};
use crate::error::GlobalError;
use crate::here::Here;
use crate::process::lock;
use crate::runtime::Runtime;
use crate::task::Place;

pub use components::{label_propagation, strong_components, weak_components};
pub use generate::{kronecker, uniform};
pub use pagerank::{PageRank, pagerank};
pub use paths::{UNREACHED, breadth_first, shortest_paths};
pub use peeling::core_numbers;
pub use triangles::{clustering, triangles};

/// Vertices of a piece of a loop, as a part of the graph's edges: enough pieces for stealing to even out.
const PIECES_A_LOCALE: usize = 32;

/// Edges before they are a graph: vertices are numbers from 0.
#[derive(Clone, Debug, Default)]
pub struct EdgeList {
    /// How many vertices there are.
    pub vertices: u32,
    /// Where each edge begins.
    pub sources: Arc<Vec<u32>>,
    /// Where it ends.
    pub targets: Arc<Vec<u32>>,
    /// Its weight, where edges have any.
    pub weights: Option<Arc<Vec<f32>>>,
}

/// Any 64-bit numbers as vertices: which number each vertex stands for, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VertexNames(pub Vec<i64>);

impl EdgeList {
    /// Edges between the given numbers; as many sources as targets.
    pub fn new(vertices: u32, sources: Vec<u32>, targets: Vec<u32>) -> Result<Self, GlobalError> {
        if sources.len() != targets.len() {
            let given = format!("{} for {} sources", targets.len(), sources.len());
            return Err(GlobalError::Argument { what: "the number of targets", given });
        }
        if let Some(beyond) = sources.iter().chain(&targets).find(|vertex| **vertex >= vertices) {
            return Err(GlobalError::OutOfRange { index: u64::from(*beyond), length: u64::from(vertices) });
        }
        Ok(EdgeList { vertices, sources: Arc::new(sources), targets: Arc::new(targets), weights: None })
    }

    /// With a weight for each edge: none negative, none NaN.
    pub fn with_weights(mut self, weights: Vec<f32>) -> Result<Self, GlobalError> {
        let refused = |given| Err(GlobalError::Argument { what: "an edge's weight", given });
        if weights.len() != self.sources.len() {
            return refused(format!("one of {} for {} edges", weights.len(), self.sources.len()));
        }
        if let Some(bad) = weights.iter().find(|weight| !(**weight >= 0.0)) {
            return refused(bad.to_string());
        }
        self.weights = Some(Arc::new(weights));
        Ok(self)
    }

    /// Edges between any numbers, as two columns of a table are.
    pub fn from_names(sources: &[i64], targets: &[i64]) -> Result<(Self, VertexNames), GlobalError> {
        let mut names: Vec<i64> = sources.iter().chain(targets).copied().collect();
        names.sort_unstable();
        names.dedup();
        let vertices = u32::try_from(names.len()).ok().filter(|count| *count < u32::MAX);
        let too_many =
            GlobalError::Argument { what: "the number of vertices", given: names.len().to_string() };
        let vertices = vertices.ok_or(too_many)?;
        // Every name is there: where it would be inserted is where it is.
        let number = |name: &i64| names.partition_point(|other| other < name) as u32;
        let list = EdgeList::new(
            vertices,
            sources.iter().map(number).collect(),
            targets.iter().map(number).collect(),
        )?;
        Ok((list, VertexNames(names)))
    }
}

/// What kind of graph edges make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Edges go one way; both directions are kept.
    Directed,
    /// Edges go both ways; loops and repeated edges are left out.
    Undirected,
}

/// One locale's part of one direction.
struct Part {
    first: u32,
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    weights: Vec<f32>,
    _charge: Reservation,
}

impl Part {
    fn row(&self, vertex: u32) -> Range<usize> {
        let at = (vertex - self.first) as usize;
        self.offsets[at] as usize..self.offsets[at + 1] as usize
    }
}

/// One direction of a graph.
struct Adjacency {
    layout: Layout,
    parts: Vec<Part>,
    pieces: Vec<Range<u32>>,
    edges: u64,
}

/// A graph in global memory; clones are handles.
#[derive(Clone)]
pub struct Graph {
    out: Arc<Adjacency>,
    into: Arc<Adjacency>,
    kind: Kind,
}

impl Adjacency {
    fn part(&self, vertex: u32) -> &Part {
        &self.parts[self.layout.place(u64::from(vertex)).0.index()]
    }

    fn neighbours(&self, vertex: u32) -> &[u32] {
        let part = self.part(vertex);
        &part.neighbours[part.row(vertex)]
    }
}

impl Graph {
    /// Builds a graph: each locale takes its vertices' edges out of the list and sorts them.
    pub fn build(runtime: &Runtime, list: &EdgeList, kind: Kind) -> Result<Self, GlobalError> {
        let out = Arc::new(Self::direction(runtime, list, kind, false)?);
        let into = match kind {
            Kind::Directed => Arc::new(Self::direction(runtime, list, kind, true)?),
            Kind::Undirected => Arc::clone(&out),
        };
        Ok(Graph { out, into, kind })
    }

    fn direction(
        runtime: &Runtime,
        list: &EdgeList,
        kind: Kind,
        reversed: bool,
    ) -> Result<Adjacency, GlobalError> {
        let locales = runtime.locales();
        let layout = Layout::new(u64::from(list.vertices), locales, Distribution::Block)?;
        let parts: Arc<Vec<Mutex<Option<Result<Part, GlobalError>>>>> =
            Arc::new((0..locales).map(|_| Mutex::new(None)).collect());
        let (built, list) = (Arc::clone(&parts), list.clone());
        runtime.run(|here| async move {
            let event = here.event();
            for locale in here.own_locales() {
                let (built, list) = (Arc::clone(&built), list.clone());
                here.spawn(Place::At(locale), event.id(), move |here| {
                    let part = build_part(here, &layout, &list, kind, reversed);
                    *lock(&built[here.locale().index()]) = Some(part);
                });
            }
            event.wait().await;
        })?;
        let parts =
            parts.iter().filter_map(|part| lock(part).take()).collect::<Result<Vec<Part>, GlobalError>>()?;
        let edges: u64 = parts.iter().map(|part| part.neighbours.len() as u64).sum();
        let weight = (edges + u64::from(list_vertices(&layout))).div_ceil((PIECES_A_LOCALE * locales) as u64);
        let pieces = parts.iter().flat_map(|part| cut(part, weight.max(64))).collect();
        Ok(Adjacency { layout, parts, pieces, edges })
    }

    /// How many vertices it has.
    pub fn vertices(&self) -> u32 {
        list_vertices(&self.out.layout)
    }

    /// How many edges it keeps a direction: of an undirected graph each one twice.
    pub fn edges(&self) -> u64 {
        self.out.edges
    }

    /// What kind it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where the edges of a vertex go, in ascending order.
    #[inline]
    pub fn out(&self, vertex: u32) -> &[u32] {
        self.out.neighbours(vertex)
    }

    /// Where the edges to a vertex come from, in ascending order.
    #[inline]
    pub fn incoming(&self, vertex: u32) -> &[u32] {
        self.into.neighbours(vertex)
    }

    /// Weights of the edges of a vertex, in the order of `out`; 1 where the graph has none.
    #[inline]
    pub fn weights(&self, vertex: u32) -> impl Iterator<Item = f32> + '_ {
        let part = self.out.part(vertex);
        let row = part.row(vertex);
        row.map(|at| part.weights.get(at).copied().unwrap_or(1.0))
    }

    /// Runs a body over all vertices, in runs of about as many edges each, and waits.
    pub async fn forall(&self, here: &Here, body: impl Fn(&Here, Range<u32>) + Send + Sync + 'static) {
        self.forall_of(here, Arc::clone(&self.out), body).await;
    }

    /// As `forall`, in runs of about as many edges to them each.
    pub async fn forall_into(&self, here: &Here, body: impl Fn(&Here, Range<u32>) + Send + Sync + 'static) {
        self.forall_of(here, Arc::clone(&self.into), body).await;
    }

    async fn forall_of(
        &self,
        here: &Here,
        direction: Arc<Adjacency>,
        body: impl Fn(&Here, Range<u32>) + Send + Sync + 'static,
    ) {
        let pieces = direction.pieces.len() as u64;
        here.forall(0..pieces, 1, move |here, range| {
            range.for_each(|piece| body(here, direction.pieces[piece as usize].clone()));
        })
        .await;
    }
}

fn list_vertices(layout: &Layout) -> u32 {
    layout.length() as u32
}

/// The edges of one locale's vertices, by counting, and sorted within a vertex.
fn build_part(
    here: &Here,
    layout: &Layout,
    list: &EdgeList,
    kind: Kind,
    reversed: bool,
) -> Result<Part, GlobalError> {
    let locale: LocaleId = here.locale();
    let count = layout.part_length(locale) as usize;
    let first = if count == 0 { 0 } else { layout.index(locale, 0) as u32 };
    let (from, to) = if reversed { (&list.targets, &list.sources) } else { (&list.sources, &list.targets) };
    let mut charge = here.budget().reserve(8 * (count as u64 + 1))?;
    let mut offsets = vec![0_u64; count + 1];
    let own = |vertex: u32| Some(vertex.wrapping_sub(first) as usize).filter(|at| *at < count);
    let each = |act: &mut dyn FnMut(usize, u32, usize)| {
        for (at, (source, target)) in from.iter().zip(&**to).enumerate() {
            if let Some(row) = own(*source) {
                act(row, *target, at);
            }
            if kind == Kind::Undirected
                && let Some(row) = own(*target)
            {
                act(row, *source, at);
            }
        }
    };
    each(&mut |row, _, _| offsets[row + 1] += 1);
    (0..count).for_each(|row| offsets[row + 1] += offsets[row]);
    let edges = offsets[count] as usize;
    let weighted = list.weights.as_ref();
    charge.grow(edges as u64 * if weighted.is_some() { 8 } else { 4 })?;
    let mut neighbours = vec![0_u32; edges];
    let mut weights = vec![0.0_f32; if weighted.is_some() { edges } else { 0 }];
    let mut next: Vec<u64> = offsets[..count].to_vec();
    each(&mut |row, neighbour, at| {
        let place = next[row] as usize;
        next[row] += 1;
        neighbours[place] = neighbour;
        if let Some(all) = weighted {
            weights[place] = all[at];
        }
    });
    sort_rows(first, &mut offsets, &mut neighbours, &mut weights, kind == Kind::Undirected);
    neighbours.shrink_to_fit();
    weights.shrink_to_fit();
    charge.shrink((edges - neighbours.len()) as u64 * if weighted.is_some() { 8 } else { 4 });
    Ok(Part { first, offsets, neighbours, weights, _charge: charge })
}

/// Sorts each vertex' neighbours, with their weights; of a simple graph loops and all but the lightest of repeated edges go.
fn sort_rows(
    first: u32,
    offsets: &mut [u64],
    neighbours: &mut Vec<u32>,
    weights: &mut Vec<f32>,
    simple: bool,
) {
    let mut kept = 0;
    let mut row: Vec<(u32, f32)> = Vec::new();
    let weighted = !weights.is_empty();
    for vertex in 0..offsets.len() - 1 {
        let range = offsets[vertex] as usize..offsets[vertex + 1] as usize;
        offsets[vertex] = kept as u64;
        if !weighted {
            let edges = &mut neighbours[range.clone()];
            edges.sort_unstable();
            let mut last = None;
            for at in range {
                let neighbour = neighbours[at];
                let is_kept = !simple || last != Some(neighbour) && neighbour != first + vertex as u32;
                last = Some(neighbour);
                neighbours[kept] = neighbour;
                kept += usize::from(is_kept);
            }
            continue;
        }
        row.clear();
        row.extend(range.map(|at| (neighbours[at], weights[at])));
        row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        if simple {
            row.dedup_by_key(|edge| edge.0);
            row.retain(|edge| edge.0 != first + vertex as u32);
        }
        for (neighbour, weight) in &row {
            (neighbours[kept], weights[kept]) = (*neighbour, *weight);
            kept += 1;
        }
    }
    if let Some(end) = offsets.last_mut() {
        *end = kept as u64;
    }
    neighbours.truncate(kept);
    weights.truncate(kept);
}

/// Cuts a part into runs of vertices of about this many edges and vertices together.
fn cut(part: &Part, weight: u64) -> Vec<Range<u32>> {
    let mut pieces = Vec::new();
    let (mut begin, mut light) = (0, 0);
    let count = part.offsets.len() - 1;
    for vertex in 0..count {
        light += part.offsets[vertex + 1] - part.offsets[vertex] + 1;
        if light >= weight || vertex + 1 == count {
            pieces.push(part.first + begin..part.first + vertex as u32 + 1);
            (begin, light) = (vertex as u32 + 1, 0);
        }
    }
    pieces
}

/// A state a vertex, as cells that many may change; charged while it lives.
pub(crate) struct States {
    pub(crate) cells: Vec<AtomicU32>,
    _charge: Reservation,
}

impl States {
    pub(crate) fn new(
        here: &Here,
        graph: &Graph,
        value: impl Fn(u32) -> u32,
    ) -> Result<Arc<Self>, GlobalError> {
        let charge = here.budget().reserve(4 * u64::from(graph.vertices()))?;
        let cells = (0..graph.vertices()).map(|vertex| AtomicU32::new(value(vertex))).collect();
        Ok(Arc::new(States { cells, _charge: charge }))
    }

    pub(crate) fn to_vec(&self) -> Vec<u32> {
        self.cells.iter().map(|cell| cell.load(std::sync::atomic::Ordering::Relaxed)).collect()
    }
}
