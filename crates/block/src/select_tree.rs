//! Trees of AND and OR over predicates of one block's columns (Chasseur 2015, section 2.3).
//!
//! A conjunction hands the surviving selection from one predicate to the next; a disjunction hands on the rows that no
//! branch has accepted yet. The order is the block's: what bounds and searches decide comes first, then whatever is
//! cheapest for the rows that are left. NULL passes no predicate but IS NULL, so that AND and OR of bits are those of SQL's
//! three values as far as a WHERE clause can tell; negation is in the predicates, not in the tree.

use simd::Bitmap;
use types::ColumnPredicate;

use crate::{AccessPath, Block, PreparedPredicate};

/// A condition on the rows of a block.
#[derive(Clone, Debug)]
pub enum PredicateTree {
    /// A predicate on a column.
    Leaf(usize, ColumnPredicate),
    And(Vec<PredicateTree>),
    Or(Vec<PredicateTree>),
}

/// A tree in terms of one block.
enum Prepared {
    Leaf(PreparedPredicate),
    And(Vec<Prepared>),
    Or(Vec<Prepared>),
}

impl Block {
    /// Drops from `selection`, one bit per row of the block, the rows that do not satisfy the tree. Tells the ways that
    /// leaves were evaluated, in their order; leaves that no row was left for are not among them.
    pub fn select_tree(&self, tree: &PredicateTree, selection: &mut Bitmap) -> Vec<AccessPath> {
        let mut paths = Vec::new();
        self.select_part(&self.prepare_tree(tree), selection, &mut paths);
        paths
    }

    fn prepare_tree(&self, tree: &PredicateTree) -> Prepared {
        match tree {
            PredicateTree::Leaf(column, predicate) => Prepared::Leaf(self.prepare(*column, predicate)),
            PredicateTree::And(parts) => Prepared::And(parts.iter().map(|p| self.prepare_tree(p)).collect()),
            PredicateTree::Or(parts) => Prepared::Or(parts.iter().map(|p| self.prepare_tree(p)).collect()),
        }
    }

    fn select_part(&self, part: &Prepared, selection: &mut Bitmap, paths: &mut Vec<AccessPath>) {
        match part {
            Prepared::Leaf(predicate) => {
                paths.push(self.select_prepared(predicate, 0..self.rows(), selection))
            }
            Prepared::And(parts) => {
                let mut left: Vec<&Prepared> = parts.iter().collect();
                while !left.is_empty() && !selection.none() {
                    let next = self.take_cheapest(&mut left, selection.count());
                    self.select_part(next, selection, paths);
                }
            }
            Prepared::Or(parts) => {
                let mut rest = selection.clone();
                let mut left: Vec<&Prepared> = parts.iter().collect();
                while !left.is_empty() && !rest.none() {
                    let next = self.take_cheapest(&mut left, rest.count());
                    let mut accepted = rest.clone();
                    self.select_part(next, &mut accepted, paths);
                    rest.and_not(&accepted);
                }
                selection.and_not(&rest);
            }
        }
    }

    fn take_cheapest<'a>(&self, left: &mut Vec<&'a Prepared>, selected: usize) -> &'a Prepared {
        let costs: Vec<f64> = left.iter().map(|part| self.cost(part, selected)).collect();
        let cheapest = (1..left.len()).fold(0, |best, i| if costs[i] < costs[best] { i } else { best });
        left.remove(cheapest)
    }

    /// Nanoseconds for a part when so many rows are selected.
    fn cost(&self, part: &Prepared, selected: usize) -> f64 {
        match part {
            Prepared::Leaf(predicate) => self.cost_of(predicate, selected),
            // What is dropped on the way is not known before.
            Prepared::And(parts) | Prepared::Or(parts) => {
                parts.iter().map(|part| self.cost(part, selected)).sum()
            }
        }
    }
}
