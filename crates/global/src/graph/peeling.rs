//! Core numbers: the most k for which a vertex is in a subgraph whose vertices all have k neighbours in it. By peeling, all
//! vertices of one degree at a time, in parallel.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use crate::error::GlobalError;
use crate::graph::{Graph, Kind, States};
use crate::here::Here;
use crate::process::lock;
use crate::runtime::Runtime;

/// Core numbers of an undirected graph's vertices.
pub fn core_numbers(runtime: &Runtime, graph: &Graph) -> Result<Vec<u32>, GlobalError> {
    if graph.kind() != Kind::Undirected {
        return Err(GlobalError::Argument {
            what: "a graph with core numbers",
            given: "directed".to_owned(),
        });
    }
    let graph = graph.clone();
    runtime.run(|here| async move {
        let degrees = States::new(&here, &graph, |vertex| graph.out(vertex).len() as u32)?;
        let mut left: Vec<u32> = (0..graph.vertices()).collect();
        let mut level = 0;
        while !left.is_empty() {
            // The least degree that is left, and all that have it now or come to have it.
            let degree = |vertex: &u32| degrees.cells[*vertex as usize].load(Relaxed);
            level = level.max(left.iter().map(degree).min().unwrap_or(level));
            let mut peeled: Vec<u32> =
                left.iter().copied().filter(|vertex| degree(vertex) <= level).collect();
            left.retain(|vertex| degree(vertex) > level);
            while !peeled.is_empty() {
                peeled = peel(&here, &graph, &degrees, peeled, level).await;
            }
            left.retain(|vertex| degree(vertex) > level);
        }
        Ok(degrees.to_vec())
    })?
}

/// Takes vertices away; which of the others have no more than `level` neighbours left now. A degree does not fall below the
/// level, so what is peeled ends with its core number.
async fn peel(here: &Here, graph: &Graph, degrees: &Arc<States>, peeled: Vec<u32>, level: u32) -> Vec<u32> {
    let lists: Arc<Mutex<Vec<Vec<u32>>>> = Arc::default();
    let (to, of, on, count) = (Arc::clone(&lists), graph.clone(), Arc::clone(degrees), peeled.len() as u64);
    let body = move |_: &Here, range: Range<u64>| {
        let mut own = Vec::new();
        for vertex in &peeled[range.start as usize..range.end as usize] {
            on.cells[*vertex as usize].store(level, Relaxed);
            for next in of.out(*vertex) {
                let lower = |degree: u32| (degree > level).then(|| degree - 1);
                let before = on.cells[*next as usize].fetch_update(Relaxed, Relaxed, lower);
                if before == Ok(level + 1) {
                    own.push(*next);
                }
            }
        }
        lock(&to).push(own);
    };
    here.forall(0..count, 128, body).await;
    let found = std::mem::take(&mut *lock(&lists));
    found.concat()
}
