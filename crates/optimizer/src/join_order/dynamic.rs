//! Dynamic programming over connected subgraphs: every bushy order without cross products, each considered once.
//!
//! Moerkotte and Neumann, "Analysis of Two Existing and One New Dynamic Programming Algorithm for the Generation of
//! Optimal Bushy Join Trees without Cross Products" (VLDB 2006), algorithm DPccp: a subgraph is extended by its
//! neighbours only, and its complements start from neighbours numbered above its smallest vertex, so that every pair
//! comes up exactly once and its parts come up before it. Sets that are not valid (see `graph`) are passed over.

use std::collections::HashMap;

use types::stop::{Place, UnwindingPace};

use super::graph::{Graph, Set, Tree, bit, bits};

#[derive(Clone, Copy, Debug)]
struct Plan {
    cost: f64,
    rows: f64,
    /// Zero for a single relation.
    left: Set,
    right: Set,
}

/// What a pair costs, more or less; see `UnwindingPace`.
const PAIR_UNITS: usize = 500;

/// Relations up to which plans are kept in an array indexed by set.
const ARRAY_RELATIONS_MAX: usize = 12;

enum Plans {
    Array(Vec<Option<Plan>>),
    Map(HashMap<Set, Plan>),
}

impl Plans {
    fn get(&self, set: Set) -> Option<&Plan> {
        match self {
            Plans::Array(plans) => plans[set as usize].as_ref(),
            Plans::Map(plans) => plans.get(&set),
        }
    }
    fn insert(&mut self, set: Set, plan: Plan) {
        match self {
            Plans::Array(plans) => plans[set as usize] = Some(plan),
            Plans::Map(plans) => drop(plans.insert(set, plan)),
        }
    }
}

struct Search<'g> {
    graph: &'g Graph,
    plans: Plans,
    pairs_left: usize,
    pace: UnwindingPace,
}

/// The cheapest order of the relations of `component`, which is connected. `None` when there is none without cross
/// products, or when more than `pairs_max` pairs would have to be considered.
pub(crate) fn order(graph: &Graph, component: Set, pairs_max: usize) -> Option<Tree> {
    let plans = if graph.len() <= ARRAY_RELATIONS_MAX {
        Plans::Array(vec![None; 1 << graph.len()])
    } else {
        Plans::Map(HashMap::new())
    };
    let pace = UnwindingPace::new(Place::JoinOrder);
    let mut search = Search { graph, plans, pairs_left: pairs_max, pace };
    for relation in bits(component) {
        let rows = graph.rows(bit(relation));
        search.plans.insert(bit(relation), Plan { cost: 0.0, rows, left: 0, right: 0 });
    }
    let mut descending: Vec<usize> = bits(component).collect();
    descending.reverse();
    for relation in descending {
        let start = bit(relation);
        // Everything up to and including the vertex itself is out of bounds.
        let excluded = start | (start - 1);
        search.complements(start)?;
        search.subgraphs(start, excluded)?;
    }
    search.plans.get(component)?;
    Some(search.tree(component))
}

/// The non-empty subsets of `set`, each once, small ones first by value.
fn subsets(set: Set) -> impl Iterator<Item = Set> {
    let mut current: Set = 0;
    std::iter::from_fn(move || {
        current = current.wrapping_sub(set) & set;
        if current == 0 { None } else { Some(current) }
    })
}

impl Search<'_> {
    fn subgraphs(&mut self, set: Set, excluded: Set) -> Option<()> {
        let around = self.graph.neighbours(set) & !excluded;
        for extension in subsets(around) {
            self.complements(set | extension)?;
        }
        for extension in subsets(around) {
            self.subgraphs(set | extension, excluded | around)?;
        }
        Some(())
    }

    fn complements(&mut self, set: Set) -> Option<()> {
        self.pace.unwind_if_stopped(PAIR_UNITS);
        let lowest = set & set.wrapping_neg();
        let excluded = set | (lowest | (lowest - 1));
        let around = self.graph.neighbours(set) & !excluded;
        let mut rest = around;
        while rest != 0 {
            let highest = 1 << (63 - rest.leading_zeros());
            rest &= !highest;
            self.pair(set, highest)?;
            let below = (highest | (highest - 1)) & around;
            self.extend_complement(set, highest, excluded | below)?;
        }
        Some(())
    }

    fn extend_complement(&mut self, set: Set, complement: Set, excluded: Set) -> Option<()> {
        let around = self.graph.neighbours(complement) & !excluded & !set;
        for extension in subsets(around) {
            // Extending by any subset of neighbours keeps the complement connected.
            self.pair(set, complement | extension)?;
        }
        for extension in subsets(around) {
            self.extend_complement(set, complement | extension, excluded | around)?;
        }
        Some(())
    }

    fn pair(&mut self, one: Set, other: Set) -> Option<()> {
        self.pace.unwind_if_stopped(PAIR_UNITS);
        self.pairs_left = self.pairs_left.checked_sub(1)?;
        let (Some(a), Some(b)) = (self.plans.get(one), self.plans.get(other)) else { return Some(()) };
        let both = one | other;
        let known = self.plans.get(both);
        if known.is_none() && !self.graph.is_valid(both) {
            return Some(());
        }
        let base = a.cost + b.cost;
        if known.is_some_and(|k| k.cost <= base) {
            return Some(());
        }
        let rows = known.map_or_else(|| self.graph.rows(both), |k| k.rows);
        let cost = base + self.graph.price((one, a.rows), (other, b.rows), rows);
        if known.is_none_or(|k| cost < k.cost) {
            self.plans.insert(both, Plan { cost, rows, left: one, right: other });
        }
        Some(())
    }

    fn tree(&self, set: Set) -> Tree {
        match self.plans.get(set) {
            Some(plan) if plan.left != 0 => {
                // An attached relation stands on the right, where `join_order` looks for it.
                let (left, right) = if self.graph.single_attached(plan.left).is_some() {
                    (plan.right, plan.left)
                } else {
                    (plan.left, plan.right)
                };
                Tree::join(self.tree(left), self.tree(right))
            }
            _ => Tree::Relation(set.trailing_zeros() as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Attachment, Carried, Class, RESULT};
    use super::*;

    fn chain(n: usize) -> Graph {
        let mut graph = Graph::default();
        for i in 0..n {
            graph.add_core(1000.0 * (i + 1) as f64);
        }
        for i in 1..n {
            graph.add_class(Class { members: vec![(i - 1, 1000.0), (i, 1000.0)] });
        }
        graph
    }

    #[test]
    fn chains_have_a_cubic_number_of_pairs() {
        // (n^3 - n) / 6 pairs: enough of them and no more.
        let n = 20;
        let pairs = (n * n * n - n) / 6;
        let all = (1 << n) - 1;
        assert!(order(&chain(n), all, pairs).is_some());
        assert!(order(&chain(n), all, pairs - 1).is_none());
    }

    #[test]
    fn stars_have_the_known_number_of_pairs() {
        let n = 12;
        let mut graph = Graph::default();
        graph.add_core(1e6);
        for i in 1..n {
            graph.add_core(100.0);
            graph.add_class(Class { members: vec![(0, 100.0), (i, 100.0)] });
        }
        let pairs = (n - 1) << (n - 2);
        assert!(order(&graph, (1 << n) - 1, pairs).is_some());
        assert!(order(&graph, (1 << n) - 1, pairs - 1).is_none());
    }

    #[test]
    fn a_wide_column_is_not_carried_through_a_large_build() {
        // Lines, orders of which there are some more, and a supplier whose column is wanted at the end.
        let last = |bytes: f64| {
            let mut graph = Graph::default();
            let lines = graph.add_core(2e6);
            let orders = graph.add_core(2.97e6);
            let supplier = graph.add_core(1e4);
            graph.add_class(Class { members: vec![(lines, 1e4), (supplier, 1e4)] });
            graph.add_class(Class { members: vec![(lines, 2.7e6), (orders, 2.7e6)] });
            graph.add_carried(Carried { of: bit(supplier), until: RESULT, bytes });
            let Some(Tree::Join(left, right)) = order(&graph, 0b111, 100) else { panic!("no order") };
            let sides = [left.set(), right.set()];
            if sides.contains(&bit(supplier)) { supplier } else { orders }
        };
        // The smaller side first, unless what it brings has to go through the build of the lines.
        assert_eq!((last(0.0), last(16.0)), (1, 2));
    }

    #[test]
    fn a_selective_semi_join_goes_to_its_relation_and_a_useless_one_stays_above() {
        // fact - dimension, and a semi-join on the fact.
        let plan = |factor: f64, dimension_rows: f64| {
            let mut graph = Graph::default();
            let fact = graph.add_core(1e6);
            let dimension = graph.add_core(dimension_rows);
            graph.add_class(Class { members: vec![(fact, 1e4), (dimension, 1e4)] });
            graph.add_attached(
                1000.0,
                Attachment { required: bit(fact), factor, may_swap: true, has_keys: true, range_keys: 0 },
            );
            order(&graph, 0b111, 100).unwrap()
        };
        use Tree::Relation as R;
        let early = plan(0.01, 1e4);
        assert_eq!(early, Tree::join(Tree::join(R(0), R(2)), R(1)));
        let late = plan(1.0, 10.0);
        assert_eq!(late, Tree::join(Tree::join(R(0), R(1)), R(2)));
    }
}
