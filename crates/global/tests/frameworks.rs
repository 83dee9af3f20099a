//! Vertex programs and MapReduce: the same results with and without delta caching and combiners, with less work; k-means
//! against a slow one.

use std::collections::BTreeMap;
use std::sync::Arc;

use global::graph::{Graph, Kind, PageRank, breadth_first, kronecker, pagerank, weak_components};
use global::mapreduce::{MapReduce, map_reduce};
use global::vertex::{VertexProgram, run_vertices};
use global::{Config, Operation, Runtime, kmeans};
use random::Random;

struct Rank {
    count: f64,
    tolerance: f64,
}

impl VertexProgram for Rank {
    type State = f64;
    type Gather = f64;
    const COMBINE: Operation = Operation::Add;
    fn nothing(&self) -> f64 {
        0.0
    }
    fn gather(&self, graph: &Graph, neighbour: u32, state: f64) -> f64 {
        state / graph.out(neighbour).len() as f64
    }
    fn apply(&self, _: u32, _: f64, gathered: f64) -> f64 {
        0.15 / self.count + 0.85 * gathered
    }
    fn scatter(&self, graph: &Graph, vertex: u32, before: f64, after: f64) -> Option<f64> {
        let change = (after - before).abs() > self.tolerance;
        change.then(|| (after - before) / graph.out(vertex).len() as f64)
    }
}

/// The least label that reaches a vertex: components of undirected graphs.
struct Least;

impl VertexProgram for Least {
    type State = u32;
    type Gather = u32;
    const COMBINE: Operation = Operation::Minimum;
    fn nothing(&self) -> u32 {
        u32::MAX
    }
    fn gather(&self, _: &Graph, _: u32, state: u32) -> u32 {
        state
    }
    fn apply(&self, _: u32, state: u32, gathered: u32) -> u32 {
        state.min(gathered)
    }
    fn scatter(&self, _: &Graph, _: u32, before: u32, after: u32) -> Option<u32> {
        (after < before).then_some(after)
    }
}

/// Edges from a source.
struct Steps(u32);

impl VertexProgram for Steps {
    type State = u32;
    type Gather = u32;
    const COMBINE: Operation = Operation::Minimum;
    fn nothing(&self) -> u32 {
        u32::MAX
    }
    fn gather(&self, _: &Graph, _: u32, state: u32) -> u32 {
        state.saturating_add(1)
    }
    fn apply(&self, vertex: u32, state: u32, gathered: u32) -> u32 {
        if vertex == self.0 { 0 } else { state.min(gathered) }
    }
    fn scatter(&self, _: &Graph, _: u32, before: u32, after: u32) -> Option<u32> {
        (after < before).then(|| after.saturating_add(1))
    }
}

#[test]
fn vertex_programs_give_the_same_with_and_without_delta_caching() {
    for locales in [1, 3] {
        let runtime = Runtime::new(Config::new(locales)).unwrap();
        let list = kronecker(9, 8, 2).unwrap();
        let graph = Graph::build(&runtime, &list, Kind::Undirected).unwrap();
        let count = f64::from(graph.vertices());
        let rank = |caching| {
            let program = Rank { count, tolerance: 1e-9 };
            run_vertices(&runtime, &graph, program, |_| 1.0 / count, caching, 200).unwrap()
        };
        let (plain, cached) = (rank(false), rank(true));
        assert!(plain.0.iter().zip(&cached.0).all(|(a, b)| (a - b).abs() < 1e-7));
        assert!(plain.1.gathered > 5 * cached.1.gathered, "{:?} {:?}", plain.1, cached.1);
        // Without vertices that keep their rank to themselves the framework's ranks are those of the algorithm.
        let alone = (0..graph.vertices()).any(|vertex| graph.out(vertex).is_empty());
        let expected =
            pagerank(&runtime, &graph, PageRank { tolerance: 1e-12, ..PageRank::default() }).unwrap().0;
        assert!(alone || plain.0.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6));
        for caching in [false, true] {
            let (labels, rounds) =
                run_vertices(&runtime, &graph, Least, |vertex| vertex, caching, 1_000).unwrap();
            assert_eq!(labels, weak_components(&runtime, &graph).unwrap());
            assert!(rounds.applied < u64::from(rounds.rounds + 1) * u64::from(graph.vertices()));
            let (steps, _) = run_vertices(&runtime, &graph, Steps(5), |_| u32::MAX, caching, 1_000).unwrap();
            assert_eq!(steps, breadth_first(&runtime, &graph, 5).unwrap());
        }
    }
}

struct Words {
    texts: Vec<&'static str>,
    combines: bool,
}

impl MapReduce for Words {
    type Key = &'static str;
    type Value = u64;
    type Output = u64;
    fn map(&self, input: u64, emit: &mut dyn FnMut(&'static str, u64)) {
        self.texts[input as usize].split(' ').for_each(|word| emit(word, 1));
    }
    fn combines(&self) -> bool {
        self.combines
    }
    fn combine(&self, into: &mut u64, value: u64) {
        *into += value;
    }
    fn reduce(&self, _: &&'static str, values: Vec<u64>) -> u64 {
        values.into_iter().sum()
    }
}

#[test]
fn combiners_change_what_travels_and_not_what_comes_out() {
    let runtime = Runtime::new(Config::new(3)).unwrap();
    let texts: Vec<&str> =
        std::iter::repeat_n(["to be or not to be", "a rose is a rose is a rose"], 500).flatten().collect();
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    texts.iter().flat_map(|text| text.split(' ')).for_each(|word| *expected.entry(word).or_default() += 1);
    let mut travelled = Vec::new();
    for combines in [false, true] {
        let job = Arc::new(Words { texts: texts.clone(), combines });
        let (counts, pairs) = runtime
            .run(|here| async move {
                // Twice, as a loop does it.
                map_reduce(&here, &job, 10).await?;
                map_reduce(&here, &job, 1_000).await
            })
            .unwrap()
            .unwrap();
        assert_eq!(counts.into_iter().collect::<BTreeMap<_, _>>(), expected);
        travelled.push(pairs);
    }
    assert_eq!(travelled[0], 7_000);
    assert!(travelled[1] <= 21, "a pair a word and locale: {travelled:?}");
}

#[test]
fn clusters_are_those_of_a_slow_lloyd() {
    let mut random = Random::new(8);
    for (count, width, centres) in [(1, 1, 1), (20_000, 3, 10), (500, 8, 40), (3, 2, 5)] {
        let points: Vec<f64> = (0..count * width).map(|_| random.below(1_000_u32) as f64 / 10.0).collect();
        let start: Vec<f64> = (0..centres * width).map(|_| random.below(1_000_u32) as f64 / 10.0).collect();
        let mut expected = start.clone();
        let mut nearest = vec![usize::MAX; count];
        for _ in 0..6 {
            let distance = |at: usize, centre: usize, centres: &[f64]| -> f64 {
                (0..width)
                    .map(|axis| (points[at * width + axis] - centres[centre * width + axis]).powi(2))
                    .sum()
            };
            for (at, chosen) in nearest.iter_mut().enumerate() {
                let by = |a: &usize, b: &usize| {
                    distance(at, *a, &expected).total_cmp(&distance(at, *b, &expected))
                };
                *chosen = (0..centres).min_by(by).unwrap();
            }
            for centre in 0..centres {
                let own: Vec<usize> = (0..count).filter(|at| nearest[*at] == centre).collect();
                for axis in (0..width).filter(|_| !own.is_empty()) {
                    let sum: f64 = own.iter().map(|at| points[at * width + axis]).sum();
                    expected[centre * width + axis] = sum / own.len() as f64;
                }
            }
        }
        let mut results = Vec::new();
        for locales in [1, 3] {
            let runtime = Runtime::new(Config::new(locales)).unwrap();
            let found = kmeans(&runtime, Arc::new(points.clone()), width, &start, 6).unwrap();
            assert!(
                found.centres.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6),
                "{count} {width}"
            );
            assert!(found.map > std::time::Duration::ZERO);
            results.push(found.centres);
        }
        assert_eq!(results[0], results[1], "the same bits on any number of locales");
    }
    let runtime = Runtime::new(Config::new(1)).unwrap();
    assert!(kmeans(&runtime, Arc::new(vec![1.0; 5]), 2, &[0.0, 0.0], 1).is_err());
    assert!(kmeans(&runtime, Arc::new(vec![1.0; 4]), 2, &[], 1).is_err());
}
