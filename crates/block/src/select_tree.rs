//! Trees of AND and OR over predicates of one block's columns (Chasseur 2015, section 2.3).
//!
//! A conjunction hands the surviving selection from one predicate to the next; a disjunction hands on the rows that no
//! branch has accepted yet. The order is the block's: what bounds and searches decide comes first, then whatever is
//! cheapest for the rows that are left. NULL passes no predicate but IS NULL, so that AND and OR of bits are those of SQL's
//! three values as far as a WHERE clause can tell; negation is in the predicates, not in the tree.

use simd::Bitmap;
use types::{ColumnPredicate, PredicateTree};

use crate::{AccessPath, Block, PreparedPredicate};

/// A tree in terms of one block.
enum Prepared<'a> {
    Leaf(PreparedPredicate),
    /// A LIKE, which is expensive to prepare: it reads the strings of a dictionary. It is prepared only when it is
    /// evaluated.
    Late(usize, &'a ColumnPredicate),
    And(Vec<Prepared<'a>>),
    Or(Vec<Prepared<'a>>),
}

/// What is done to a predicate once it is prepared.
type Adapt<'a> = &'a dyn Fn(PreparedPredicate) -> PreparedPredicate;

/// A part goes before those that its caller has put first when it costs less than this share of theirs: the planner
/// may know which part drops the most rows.
const CLEARLY_CHEAPER: f64 = 0.25;

impl Block {
    /// Drops from `selection`, one bit per row of the block, the rows that do not satisfy the tree. Tells the ways that
    /// leaves were evaluated, in their order; leaves that no row was left for are not among them. Where costs are about
    /// the same, parts are evaluated in the order given. `adapt` sees every predicate before it is used.
    pub fn select_tree(
        &self,
        tree: &PredicateTree,
        selection: &mut Bitmap,
        adapt: impl Fn(PreparedPredicate) -> PreparedPredicate,
    ) -> Vec<AccessPath> {
        let mut paths = Vec::new();
        self.select_part(&self.prepare_tree(tree, &adapt), selection, &adapt, &mut paths);
        paths
    }

    /// As `select_tree` of all rows of the block, whatever the selection holds.
    pub fn select_tree_anew(
        &self,
        tree: &PredicateTree,
        selection: &mut Bitmap,
        adapt: impl Fn(PreparedPredicate) -> PreparedPredicate,
    ) -> Vec<AccessPath> {
        // A single predicate writes its rows; more of them begin with a selection that is full.
        let mut one = tree;
        while let PredicateTree::And(parts) | PredicateTree::Or(parts) = one
            && let [part] = parts.as_slice()
        {
            one = part;
        }
        if let PredicateTree::Leaf(column, predicate) = one {
            return vec![self.select_anew(&adapt(self.prepare(*column, predicate)), selection)];
        }
        selection.reset_full(self.rows());
        self.select_tree(tree, selection, adapt)
    }

    fn prepare_tree<'a>(&self, tree: &'a PredicateTree, adapt: Adapt<'_>) -> Prepared<'a> {
        let all = |parts: &'a [PredicateTree]| parts.iter().map(|p| self.prepare_tree(p, adapt)).collect();
        match tree {
            PredicateTree::Leaf(column, like @ ColumnPredicate::Like { .. }) => Prepared::Late(*column, like),
            PredicateTree::Leaf(column, predicate) => Prepared::Leaf(adapt(self.prepare(*column, predicate))),
            PredicateTree::And(parts) => Prepared::And(all(parts)),
            PredicateTree::Or(parts) => Prepared::Or(all(parts)),
        }
    }

    fn select_part(
        &self,
        part: &Prepared<'_>,
        selection: &mut Bitmap,
        adapt: Adapt<'_>,
        paths: &mut Vec<AccessPath>,
    ) {
        match part {
            Prepared::Leaf(predicate) => {
                paths.push(self.select_prepared(predicate, 0..self.rows(), selection));
            }
            Prepared::Late(column, predicate) => {
                let prepared = adapt(self.prepare(*column, predicate));
                paths.push(self.select_prepared(&prepared, 0..self.rows(), selection));
            }
            Prepared::And(parts) => {
                let mut left: Vec<&Prepared<'_>> = parts.iter().collect();
                while !left.is_empty() && !selection.none() {
                    let next = self.take_next(&mut left, selection);
                    self.select_part(next, selection, adapt, paths);
                }
            }
            Prepared::Or(parts) => {
                let mut rest = selection.clone();
                let mut left: Vec<&Prepared<'_>> = parts.iter().collect();
                while !left.is_empty() && !rest.none() {
                    let next = self.take_next(&mut left, &rest);
                    let mut accepted = rest.clone();
                    self.select_part(next, &mut accepted, adapt, paths);
                    rest.and_not(&accepted);
                }
                selection.and_not(&rest);
            }
        }
    }

    fn take_next<'a, 'b>(&self, left: &mut Vec<&'a Prepared<'b>>, selection: &Bitmap) -> &'a Prepared<'b> {
        if left.len() == 1 {
            return left.remove(0);
        }
        let selected = selection.count();
        let costs: Vec<f64> = left.iter().map(|part| self.cost(part, selected)).collect();
        let next = (1..left.len())
            .fold(0, |best, i| if costs[i] < costs[best] * CLEARLY_CHEAPER { i } else { best });
        left.remove(next)
    }

    /// Nanoseconds for a part when so many rows are selected.
    fn cost(&self, part: &Prepared<'_>, selected: usize) -> f64 {
        match part {
            Prepared::Leaf(predicate) => self.cost_of(predicate, selected),
            Prepared::Late(..) => f64::INFINITY,
            // What is dropped on the way is not known before.
            Prepared::And(parts) | Prepared::Or(parts) => {
                parts.iter().map(|part| self.cost(part, selected)).sum()
            }
        }
    }
}
