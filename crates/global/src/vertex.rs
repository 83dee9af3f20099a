//! Vertex programs: gather, apply, scatter over the vertices that are active, round by round (the model of PowerGraph;
//! Gonzalez et al. 2012; on Grappa, Myers 2016, 2.5.2). With *delta caching* a vertex keeps what it gathered, and scatter
//! changes it by a difference, so that a vertex with one changed neighbour does not look at all of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::error::GlobalError;
use crate::graph::Graph;
use crate::here::Here;
use crate::packet::Operation;
use crate::parts::Word;
use crate::runtime::Runtime;

/// What a program does at a vertex. Nothing in it waits.
pub trait VertexProgram: Send + Sync + 'static {
    /// A vertex' state.
    type State: Word;
    /// What is gathered.
    type Gather: Word;
    /// How what is gathered is put together: `Add`, `Minimum` or `Maximum`.
    const COMBINE: Operation;
    /// What nothing gathered is.
    fn nothing(&self) -> Self::Gather;
    /// What a vertex' in-neighbour gives it.
    fn gather(&self, graph: &Graph, neighbour: u32, state: Self::State) -> Self::Gather;
    /// A vertex' new state.
    fn apply(&self, vertex: u32, state: Self::State, gathered: Self::Gather) -> Self::State;
    /// What a new state means for each out-neighbour: how what it gathered changes. None: nothing, it is not activated.
    fn scatter(
        &self,
        graph: &Graph,
        vertex: u32,
        before: Self::State,
        after: Self::State,
    ) -> Option<Self::Gather>;
}

/// How a program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// Rounds until no vertex was active.
    pub rounds: u32,
    /// Vertices that were active, over all rounds.
    pub applied: u64,
    /// Edges that were gathered over.
    pub gathered: u64,
}

struct Run<P: VertexProgram> {
    program: P,
    graph: Graph,
    caching: bool,
    state: Vec<<P::State as Word>::Cell>,
    before: Vec<<P::State as Word>::Cell>,
    cache: Vec<<P::Gather as Word>::Cell>,
    active: [Vec<AtomicBool>; 2],
    counts: [AtomicU64; 2],
}

/// Runs a program until no vertex is active, at most so many rounds; all are active at first. States of all vertices.
pub fn run_vertices<P: VertexProgram>(
    runtime: &Runtime,
    graph: &Graph,
    program: P,
    start: impl Fn(u32) -> P::State,
    caching: bool,
    rounds_max: u32,
) -> Result<(Vec<P::State>, Rounds), GlobalError> {
    let count = graph.vertices();
    let bytes = 2 * size_of::<P::State>() + size_of::<P::Gather>() + 2;
    let _charge = runtime.budget().reserve(bytes as u64 * u64::from(count))?;
    let flags = |on| (0..count).map(|_| AtomicBool::new(on)).collect();
    let run = Arc::new(Run {
        state: P::State::cells(count, &start),
        before: P::State::cells(count, &start),
        cache: P::Gather::cells(count, |_| program.nothing()),
        active: [flags(true), flags(false)],
        counts: Default::default(),
        graph: graph.clone(),
        caching,
        program,
    });
    let on = Arc::clone(&run);
    let rounds = runtime.run(|here| async move {
        let mut round = 0;
        loop {
            let applied = on.counts[0].load(Relaxed);
            on.phase(&here, round, Run::gather_and_apply).await;
            if on.counts[0].load(Relaxed) == applied || round >= rounds_max {
                return round;
            }
            on.phase(&here, round, Run::scatter).await;
            round += 1;
        }
    })?;
    let counts =
        Rounds { rounds, applied: run.counts[0].load(Relaxed), gathered: run.counts[1].load(Relaxed) };
    Ok((run.state.iter().map(P::State::load).collect(), counts))
}

impl<P: VertexProgram> Run<P> {
    async fn phase(self: &Arc<Self>, here: &Here, round: u32, step: fn(&Self, u32, u32)) {
        let run = Arc::clone(self);
        let body = move |_: &Here, range: Range<u32>| range.for_each(|vertex| step(&run, round, vertex));
        self.graph.forall_into(here, body).await;
    }

    fn gather_and_apply(&self, round: u32, vertex: u32) {
        if !self.active[round as usize % 2][vertex as usize].load(Relaxed) {
            return;
        }
        self.counts[0].fetch_add(1, Relaxed);
        let cache = &self.cache[vertex as usize];
        if !self.caching || round == 0 {
            let neighbours = self.graph.incoming(vertex);
            self.counts[1].fetch_add(neighbours.len() as u64, Relaxed);
            P::Gather::replace(cache, self.program.nothing());
            for from in neighbours {
                // `before` stands still in this phase: what a vertex gathers is of the last round.
                let given =
                    self.program.gather(&self.graph, *from, P::State::load(&self.before[*from as usize]));
                P::Gather::apply(cache, P::COMBINE, given, given);
            }
        }
        let after =
            self.program.apply(vertex, P::State::load(&self.state[vertex as usize]), P::Gather::load(cache));
        P::State::replace(&self.state[vertex as usize], after);
    }

    fn scatter(&self, round: u32, vertex: u32) {
        if !self.active[round as usize % 2][vertex as usize].swap(false, Relaxed) {
            return;
        }
        let after = P::State::load(&self.state[vertex as usize]);
        let before = P::State::replace(&self.before[vertex as usize], after);
        let Some(change) = self.program.scatter(&self.graph, vertex, before, after) else { return };
        for to in self.graph.out(vertex) {
            if self.caching {
                P::Gather::apply(&self.cache[*to as usize], P::COMBINE, change, change);
            }
            self.active[(round as usize + 1) % 2][*to as usize].store(true, Relaxed);
        }
    }
}
