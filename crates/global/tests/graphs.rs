//! Graph algorithms against slow and obvious ones, on Kronecker, uniform and hand-made graphs, directed and not, on one
//! locale and several.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use global::graph::{
    EdgeList, Graph, Kind, PageRank, UNREACHED, breadth_first, clustering, core_numbers, kronecker,
    label_propagation, pagerank, shortest_paths, strong_components, triangles, uniform, weak_components,
};
use global::{Config, GlobalError, Runtime};
use memory::Budget;
use random::Random;

fn runtimes() -> Vec<Runtime> {
    [1, 3].map(|locales| Runtime::new(Config::new(locales)).unwrap()).into()
}

fn lists() -> Vec<EdgeList> {
    let mut random = Random::new(4);
    let mut weighted = |list: EdgeList| {
        let weights = (0..list.sources.len()).map(|_| random.below(1_000_u32) as f32 / 100.0).collect();
        list.with_weights(weights).unwrap()
    };
    let path = EdgeList::new(50, (0..49).collect(), (1..50).collect()).unwrap();
    vec![
        EdgeList::new(0, vec![], vec![]).unwrap(),
        EdgeList::new(3, vec![], vec![]).unwrap(),
        EdgeList::new(4, vec![0, 1, 2, 2, 0, 0, 3], vec![1, 2, 0, 0, 0, 1, 3]).unwrap(),
        path,
        kronecker(8, 8, 3).unwrap(),
        weighted(kronecker(9, 6, 7).unwrap()),
        weighted(uniform(700, 1_500, 2).unwrap()),
        uniform(300, 320, 9).unwrap(),
    ]
}

/// Out-neighbours with weights by sets and maps, as the graph should have them.
struct Reference {
    out: Vec<Vec<(u32, f32)>>,
    kind: Kind,
}

impl Reference {
    fn new(list: &EdgeList, kind: Kind) -> Self {
        let mut out: Vec<Vec<(u32, f32)>> = vec![Vec::new(); list.vertices as usize];
        for (at, (from, to)) in list.sources.iter().zip(&*list.targets).enumerate() {
            let weight = list.weights.as_ref().map_or(1.0, |weights| weights[at]);
            out[*from as usize].push((*to, weight));
            if kind == Kind::Undirected {
                out[*to as usize].push((*from, weight));
            }
        }
        for (vertex, row) in out.iter_mut().enumerate() {
            row.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            if kind == Kind::Undirected {
                row.dedup_by_key(|edge| edge.0);
                row.retain(|edge| edge.0 as usize != vertex);
            }
        }
        Reference { out, kind }
    }

    fn neighbours(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        self.out[vertex].iter().map(|edge| edge.0 as usize)
    }

    fn into(&self) -> Vec<Vec<usize>> {
        let mut into = vec![Vec::new(); self.out.len()];
        (0..self.out.len()).for_each(|from| self.neighbours(from).for_each(|to| into[to].push(from)));
        into
    }

    fn reach(&self, source: usize) -> Vec<u32> {
        let mut distances = vec![UNREACHED; self.out.len()];
        let mut queue = VecDeque::from([source]);
        distances[source] = 0;
        while let Some(vertex) = queue.pop_front() {
            for next in self.neighbours(vertex) {
                if distances[next] == UNREACHED {
                    distances[next] = distances[vertex] + 1;
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    fn lengths(&self, source: usize) -> Vec<f64> {
        let mut lengths = vec![f64::INFINITY; self.out.len()];
        lengths[source] = 0.0;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for from in 0..self.out.len() {
                for (to, weight) in &self.out[from] {
                    let longer = lengths[from] + f64::from(*weight);
                    if longer < lengths[*to as usize] {
                        lengths[*to as usize] = longer;
                        changed = true;
                    }
                }
            }
        }
        lengths
    }

    fn ranks(&self, rounds: u32) -> Vec<f64> {
        let count = self.out.len() as f64;
        let mut ranks = vec![1.0 / count; self.out.len()];
        for _ in 0..rounds {
            let lost: f64 =
                (0..self.out.len()).filter(|at| self.out[*at].is_empty()).map(|at| ranks[at]).sum();
            let mut next = vec![(0.15 + 0.85 * lost) / count; self.out.len()];
            for from in 0..self.out.len() {
                let given = 0.85 * ranks[from] / self.out[from].len() as f64;
                self.neighbours(from).for_each(|to| next[to] += given);
            }
            ranks = next;
        }
        ranks
    }

    fn weak(&self) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..self.out.len() as u32).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for from in 0..self.out.len() {
                for to in self.neighbours(from) {
                    let least = labels[from].min(labels[to]);
                    changed |= labels[from] != least || labels[to] != least;
                    (labels[from], labels[to]) = (least, least);
                }
            }
        }
        labels
    }

    fn labels(&self, rounds: u32) -> Vec<u32> {
        let into = self.into();
        let mut labels: Vec<u32> = (0..self.out.len() as u32).collect();
        for _ in 0..rounds {
            let next = (0..self.out.len()).map(|vertex| {
                let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
                self.neighbours(vertex).for_each(|to| *counts.entry(labels[to]).or_default() += 1);
                if self.kind == Kind::Directed {
                    into[vertex].iter().for_each(|from| *counts.entry(labels[*from]).or_default() += 1);
                }
                let most = counts.values().max().copied();
                counts
                    .into_iter()
                    .find(|(_, count)| Some(*count) == most)
                    .map_or(labels[vertex], |(label, _)| label)
            });
            labels = next.collect();
        }
        labels
    }

    fn cores(&self) -> Vec<u32> {
        let mut left: BTreeSet<usize> = (0..self.out.len()).collect();
        let mut cores = vec![0; self.out.len()];
        for level in 0.. {
            loop {
                let degree =
                    |vertex: &usize| self.neighbours(*vertex).filter(|next| left.contains(next)).count();
                let low: Vec<usize> = left.iter().copied().filter(|vertex| degree(vertex) <= level).collect();
                if low.is_empty() {
                    break;
                }
                low.iter().for_each(|vertex| cores[*vertex] = level as u32);
                low.iter().for_each(|vertex| _ = left.remove(vertex));
            }
            if left.is_empty() {
                return cores;
            }
        }
        cores
    }

    /// Clustering coefficients, and pairs of neighbours that are neighbours.
    fn clustering(&self) -> Vec<(f64, u64)> {
        let sets: Vec<BTreeSet<usize>> =
            (0..self.out.len()).map(|at| self.neighbours(at).collect()).collect();
        let into = self.into();
        let one = |vertex: usize| {
            let near: BTreeSet<usize> =
                sets[vertex].iter().chain(&into[vertex]).copied().filter(|next| *next != vertex).collect();
            let edges: usize =
                near.iter().map(|a| near.iter().filter(|b| a != *b && sets[*a].contains(*b)).count()).sum();
            let pairs = near.len() * near.len().saturating_sub(1);
            (if near.len() < 2 { 0.0 } else { edges as f64 / pairs as f64 }, edges as u64 / 2)
        };
        (0..self.out.len()).map(one).collect()
    }
}

fn on_all(check: impl Fn(&Runtime, &Graph, &Reference, &EdgeList)) {
    for runtime in runtimes() {
        for list in lists() {
            for kind in [Kind::Directed, Kind::Undirected] {
                let graph = Graph::build(&runtime, &list, kind).unwrap();
                check(&runtime, &graph, &Reference::new(&list, kind), &list);
            }
        }
    }
}

#[test]
fn graphs_have_the_edges_of_their_lists_within_eight_bytes() {
    on_all(|_, graph, reference, list| {
        assert_eq!(graph.vertices(), list.vertices);
        for vertex in 0..graph.vertices() {
            let edges: Vec<(u32, f32)> =
                graph.out(vertex).iter().copied().zip(graph.weights(vertex)).collect();
            assert_eq!(edges, reference.out[vertex as usize]);
        }
        let into = reference.into();
        assert!((0..graph.vertices()).all(|vertex| {
            let found: Vec<usize> = graph.incoming(vertex).iter().map(|from| *from as usize).collect();
            found == into[vertex as usize]
        }));
    });
    let mut config = Config::new(2);
    config.budget = Budget::new(1 << 30);
    let runtime = Runtime::new(config).unwrap();
    let list = kronecker(12, 16, 1).unwrap();
    let graph = Graph::build(&runtime, &list, Kind::Directed).unwrap();
    assert_eq!(runtime.budget().used(), 2 * (4 * graph.edges() + 8 * (4_096 + 2)));
    drop(graph);
    assert_eq!(runtime.budget().used(), 0);
    runtime.budget().set_limit(100_000);
    let refused = Graph::build(&runtime, &list, Kind::Directed).err();
    assert!(matches!(refused, Some(GlobalError::NoMemory { .. })), "{refused:?}");
    assert_eq!(runtime.budget().used(), 0);
}

#[test]
fn ranks_are_those_of_the_definition_and_sum_to_one() {
    on_all(|runtime, graph, reference, _| {
        let how = PageRank { rounds_max: 20, tolerance: 0.0, ..PageRank::default() };
        let (ranks, rounds) = pagerank(runtime, graph, how).unwrap();
        for (rank, expected) in ranks.iter().zip(reference.ranks(20)) {
            assert!((rank - expected).abs() < 1e-12, "{rank} {expected}");
        }
        assert!(ranks.is_empty() && rounds == 0 || (ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let (_, rounds) = pagerank(runtime, graph, PageRank::default()).unwrap();
        assert!(rounds < 100);
    });
}

#[test]
fn distances_by_edges_and_by_weights_are_the_least() {
    on_all(|runtime, graph, reference, _| {
        for source in [0, graph.vertices() / 2].into_iter().filter(|_| graph.vertices() > 0) {
            assert_eq!(breadth_first(runtime, graph, source).unwrap(), reference.reach(source as usize));
            for delta in [0.0, 0.5, 1e9] {
                let lengths = shortest_paths(runtime, graph, source, delta).unwrap();
                assert_eq!(lengths, reference.lengths(source as usize), "delta {delta}");
            }
        }
        assert!(breadth_first(runtime, graph, graph.vertices()).is_err());
    });
}

#[test]
fn components_are_those_that_search_finds() {
    on_all(|runtime, graph, reference, _| {
        assert_eq!(weak_components(runtime, graph).unwrap(), reference.weak());
        let strong = strong_components(runtime, graph).unwrap();
        if graph.vertices() <= 300 {
            let reach: Vec<Vec<u32>> = (0..graph.vertices() as usize).map(|at| reference.reach(at)).collect();
            for a in 0..reach.len() {
                for b in 0..reach.len() {
                    let together = reach[a][b] != UNREACHED && reach[b][a] != UNREACHED;
                    assert_eq!(strong[a] == strong[b], together, "{a} {b}");
                }
            }
        }
    });
}

#[test]
fn labels_cores_and_clustering_are_those_of_the_definitions() {
    on_all(|runtime, graph, reference, _| {
        for rounds in [0, 1, 7] {
            assert_eq!(label_propagation(runtime, graph, rounds).unwrap(), reference.labels(rounds));
        }
        let (coefficients, expected) = (clustering(runtime, graph).unwrap(), reference.clustering());
        for (found, (coefficient, _)) in coefficients.iter().zip(&expected) {
            assert!((found - coefficient).abs() < 1e-12, "{found} {coefficient}");
        }
        if graph.kind() == Kind::Undirected {
            assert_eq!(core_numbers(runtime, graph).unwrap(), reference.cores());
            let corners: Vec<u64> = expected.iter().map(|(_, corners)| *corners).collect();
            assert_eq!(triangles(runtime, graph).unwrap(), corners);
        } else {
            assert!(core_numbers(runtime, graph).is_err() && triangles(runtime, graph).is_err());
        }
    });
}

#[test]
fn names_of_vertices_may_be_any_numbers_and_bad_lists_are_refused() {
    let (list, names) = EdgeList::from_names(&[7, -3, i64::MAX], &[-3, 7, 7]).unwrap();
    assert_eq!(names.0, vec![-3, 7, i64::MAX]);
    assert_eq!((&*list.sources, &*list.targets), (&vec![1, 0, 2], &vec![0, 1, 1]));
    assert!(EdgeList::new(2, vec![0], vec![2]).is_err() && EdgeList::new(2, vec![0], vec![]).is_err());
    let one = || EdgeList::new(2, vec![0], vec![1]).unwrap();
    assert!(one().with_weights(vec![-1.0]).is_err() && one().with_weights(vec![f32::NAN]).is_err());
    assert!(one().with_weights(vec![]).is_err());
}
