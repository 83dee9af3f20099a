//! A lowered subplan: the physical plan, which column each output position holds, and what is known of its rows.
//!
//! Lowering passes relations from node to node. Keys and dependencies are facts, not estimates: rules drop joins,
//! groupings and columns because of them, so each must hold for every row that the plan can deliver. A column that
//! always equals another one need not be delivered; `same` then leads to the one that is, and `position` follows it.
//! The only estimate is the plan's number of rows.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Deref;

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

/// A list of columns that knows where each one stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    ids: Vec<ColumnId>,
    /// Made when a long list is first searched.
    places: OnceCell<HashMap<ColumnId, usize>>,
}

/// Up to here it is as fast to look at each.
const SHORT_LIST: usize = 32;

impl Columns {
    /// The first position of the column; `None` if it is not in the list.
    pub(crate) fn position(&self, id: ColumnId) -> Option<usize> {
        if self.ids.len() <= SHORT_LIST {
            return self.ids.iter().position(|c| *c == id);
        }
        let places = self.places.get_or_init(|| {
            // The first of a column that stands twice.
            self.ids.iter().enumerate().rev().map(|(at, id)| (*id, at)).collect()
        });
        places.get(&id).copied()
    }
    /// Appends columns.
    pub(crate) fn extend(&mut self, more: &[ColumnId]) {
        self.ids.extend_from_slice(more);
        self.places.take();
    }
}

impl From<Vec<ColumnId>> for Columns {
    fn from(ids: Vec<ColumnId>) -> Self {
        Columns { ids, places: OnceCell::new() }
    }
}

impl Deref for Columns {
    type Target = [ColumnId];
    fn deref(&self) -> &[ColumnId] {
        &self.ids
    }
}

/// What lowering a logical plan gives.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// The plan; its output has one column for each of `columns`.
    pub(crate) plan: PhysicalPlan,
    /// `columns[i]` comes out at position `i`.
    pub(crate) columns: Columns,
    /// The first column always has the second's value and is not delivered apart.
    pub(crate) same: Vec<(ColumnId, ColumnId)>,
    /// Known keys, `KEYS_MAX` at most.
    pub(crate) keys: Vec<Key>,
    /// Known functional dependencies.
    pub(crate) dependencies: Vec<Dependency>,
}

/// More keys than this per relation are not worth their upkeep.
const KEYS_MAX: usize = 8;

impl Relation {
    /// A relation of which only the columns are known; one id for each output column of the plan.
    pub(crate) fn new(plan: PhysicalPlan, columns: Vec<ColumnId>) -> Self {
        debug_assert_eq!(plan.output.len(), columns.len());
        Relation {
            plan,
            columns: columns.into(),
            same: Vec::new(),
            keys: Vec::new(),
            dependencies: Vec::new(),
        }
    }
    /// Rows expected.
    pub(crate) fn rows(&self) -> f64 {
        self.plan.estimated_rows
    }
    /// Where `id` comes out, itself or a column that always equals it.
    pub(crate) fn position(&self, id: ColumnId) -> Option<usize> {
        if let Some(at) = self.columns.position(id) {
            return Some(at);
        }
        if self.same.is_empty() {
            return None;
        }
        // Chains are short: each step goes from a column left out to the one that stands for it.
        let mut current = id;
        for _ in 0..=self.same.len() {
            current = self.same.iter().find(|(alias, _)| *alias == current)?.1;
            if let Some(at) = self.columns.position(current) {
                return Some(at);
            }
        }
        None
    }
    /// The output column that holds `id`; `None` if it is not delivered.
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
    /// Adds a key, unless there are enough.
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
