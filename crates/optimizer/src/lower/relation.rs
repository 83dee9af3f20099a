//! A lowered subplan: the physical plan, which column each output position holds, and what is known of its rows.

use plan::{ColumnId, OutputColumn, PhysicalPlan};

use crate::columns::ColumnSet;

/// Columns of which no two rows agree. `nulls_repeat`: rows with a NULL among them may still agree.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) nulls_repeat: bool,
    /// Distinct values of the key where it was established, before filters and joins took rows away.
    pub(crate) distinct: f64,
}

/// Rows that agree on `from` (NULL counted as a value) agree on `to`.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) from: Vec<ColumnId>,
    pub(crate) to: Vec<ColumnId>,
    /// Still true when an outer join adds rows in which all these columns are NULL.
    pub(crate) survives_nulls: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub(crate) plan: PhysicalPlan,
    /// `columns[i]` comes out at position `i`.
    pub(crate) columns: Vec<ColumnId>,
    /// The first column always has the second's value and is not delivered apart.
    pub(crate) same: Vec<(ColumnId, ColumnId)>,
    pub(crate) keys: Vec<Key>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// More keys than this per relation are not worth their upkeep.
const KEYS_MAX: usize = 8;

impl Relation {
    pub(crate) fn new(plan: PhysicalPlan, columns: Vec<ColumnId>) -> Self {
        debug_assert_eq!(plan.output.len(), columns.len());
        Relation { plan, columns, same: Vec::new(), keys: Vec::new(), dependencies: Vec::new() }
    }
    pub(crate) fn rows(&self) -> f64 {
        self.plan.estimated_rows
    }
    /// Where `id` comes out, itself or a column that always equals it.
    pub(crate) fn position(&self, id: ColumnId) -> Option<usize> {
        if let Some(at) = self.columns.iter().position(|c| *c == id) {
            return Some(at);
        }
        // Chains are short: each step goes from a column left out to the one that stands for it.
        let mut current = id;
        for _ in 0..=self.same.len() {
            current = self.same.iter().find(|(alias, _)| *alias == current)?.1;
            if let Some(at) = self.columns.iter().position(|c| *c == current) {
                return Some(at);
            }
        }
        None
    }
    pub(crate) fn output(&self, id: ColumnId) -> Option<&OutputColumn> {
        self.position(id).map(|at| &self.plan.output[at])
    }
    /// Everything that `from` determines.
    pub(crate) fn closure(&self, from: &ColumnSet) -> ColumnSet {
        let mut known = from.clone();
        loop {
            let mut grown = false;
            for dependency in &self.dependencies {
                if dependency.from.iter().all(|c| known.contains(*c)) {
                    for id in &dependency.to {
                        if !known.contains(*id) {
                            known.insert(*id);
                            grown = true;
                        }
                    }
                }
            }
            if !grown {
                return known;
            }
        }
    }
    /// No two rows agree on `columns`, rows with NULLs among them left aside.
    pub(crate) fn unique_key(&self, columns: &ColumnSet) -> Option<&Key> {
        self.keys
            .iter()
            .find(|k| k.columns.iter().all(|c| columns.contains(*c)))
            .or_else(|| self.distinct_key(columns))
    }
    /// No two rows agree on `columns`, NULL counted as a value.
    pub(crate) fn distinct_key(&self, columns: &ColumnSet) -> Option<&Key> {
        if self.keys.iter().all(|k| k.nulls_repeat) {
            return None;
        }
        let known = self.closure(columns);
        self.keys.iter().find(|k| !k.nulls_repeat && k.columns.iter().all(|c| known.contains(*c)))
    }
    pub(crate) fn add_key(&mut self, key: Key) {
        if self.keys.len() < KEYS_MAX {
            self.keys.push(key);
        }
    }
    /// `a` and `b` agree in every row.
    pub(crate) fn add_equality(&mut self, a: ColumnId, b: ColumnId) {
        self.dependencies.push(Dependency { from: vec![a], to: vec![b], survives_nulls: true });
        self.dependencies.push(Dependency { from: vec![b], to: vec![a], survives_nulls: true });
    }
    /// Whether the plan is known to deliver no row.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.plan.node, plan::PhysicalNode::Values { rows } if rows.is_empty())
    }
}
