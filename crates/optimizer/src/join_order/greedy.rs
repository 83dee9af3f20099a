//! Greedy operator ordering, for more relations than can be searched: join the two parts whose result is smallest,
//! until one part is left.
//!
//! Fegaras, "A New Heuristic for Optimizing Large Queries" (DEXA 1998). Parts without a condition between them are
//! crossed only when nothing else is left, the smallest first.

use types::stop::{self, Place};

use super::graph::{Graph, Set, Tree, bit};

struct Part {
    set: Set,
    rows: f64,
    tree: Tree,
}

/// An order of all relations; `None` only if the graph admits none.
pub(crate) fn order(graph: &Graph) -> Option<Tree> {
    let parts = (0..graph.len()).map(|at| (bit(at), Tree::Relation(at))).collect();
    combine(graph, parts)
}

/// Joins parts that are planned already.
pub(crate) fn combine(graph: &Graph, parts: Vec<(Set, Tree)>) -> Option<Tree> {
    let mut parts: Vec<Part> =
        parts.into_iter().map(|(set, tree)| Part { set, rows: graph.rows(set), tree }).collect();
    // `best[i]` is the smallest join of part i with a later one: (rows, connected, j).
    while parts.len() > 1 {
        let mut best: Option<(bool, f64, f64, usize, usize)> = None;
        for i in 0..parts.len() {
            stop::unwind_if_stopped(Place::JoinOrder);
            let around = graph.neighbours(parts[i].set);
            for j in i + 1..parts.len() {
                let connected = around & parts[j].set != 0;
                if !connected && best.is_some_and(|(c, ..)| c) {
                    continue;
                }
                let both = parts[i].set | parts[j].set;
                if !graph.is_valid(both) {
                    continue;
                }
                let rows = if connected { graph.rows(both) } else { parts[i].rows * parts[j].rows };
                let price = graph.price((parts[i].set, parts[i].rows), (parts[j].set, parts[j].rows), rows);
                let better = match best {
                    None => true,
                    Some((c, r, p, ..)) => (connected && !c) || (connected == c && (rows, price) < (r, p)),
                };
                if better {
                    best = Some((connected, rows, price, i, j));
                }
            }
        }
        let (_, _, _, i, j) = best?;
        let second = parts.swap_remove(j);
        let first = std::mem::replace(&mut parts[i], Part { set: 0, rows: 0.0, tree: Tree::Relation(0) });
        let set = first.set | second.set;
        let attached_first = graph.single_attached(first.set).is_some();
        let tree = if attached_first {
            Tree::join(second.tree, first.tree)
        } else {
            Tree::join(first.tree, second.tree)
        };
        parts[i] = Part { set, rows: graph.rows(set), tree };
    }
    parts.pop().map(|p| p.tree)
}

#[cfg(test)]
mod tests {
    use super::super::graph::Class;
    use super::*;

    #[test]
    fn the_smallest_results_come_first_and_crosses_last() {
        let mut graph = Graph::default();
        let fact = graph.add_core(1e6);
        let wide = graph.add_core(1e4);
        let narrow = graph.add_core(10.0);
        let alone = graph.add_core(3.0);
        graph.add_class(Class { members: vec![(fact, 1e4), (wide, 1e4)] });
        graph.add_class(Class { members: vec![(fact, 1e3), (narrow, 1e3)] });
        let Some(Tree::Join(left, right)) = order(&graph) else { panic!("no order") };
        let top = [left.set(), right.set()];
        assert!(top.contains(&bit(alone)), "{top:?}");
    }
}
