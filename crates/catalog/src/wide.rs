//! Wide tables: a table and everything that its foreign keys lead to, flattened into one relation.
//!
//! C. Chasseur, "A Bare-Metal Approach to Database Performance on Contemporary Hardware", 2015, section 2.6, after
//! Y. Li, J. M. Patel, "WideTable", PVLDB 2014. Each foreign key becomes an outer join that keeps the referring side's
//! rows, so that a wide table has one row for each row of its fact table:
//!
//! ```text
//!  lineorder --lo_custkey--> customer --c_nation--> nation        node 0 is the fact table, every other node is reached
//!      |------lo_orderdate-> date                                 from its parent by one foreign key; a table that two
//!      '------lo_commitdate-> date                                keys lead to is two nodes
//! ```
//!
//! It may be read in the place of its base tables only while it shows them as they are in the same snapshot. `build` says
//! so: every snapshot carries it, and these are its transitions.
//!
//! | what happens to a base table | `build` |
//! | --- | --- |
//! | rows added to the fact table, and with the same commit their wide rows to the wide table | stays |
//! | rows added to another one: no row refers to them yet | stays |
//! | blocks made anew, merged or indexed, options, comments, names of tables | stays |
//! | anything else | `None` |
//! | the wide table is built anew | a new number |
//!
//! A commit that was made on an older state than it is applied to keeps its wide rows only if the build is still the one
//! that they were made for, and a build only if all base tables are as it saw them (`Draft::apply`).

use std::collections::HashSet;

use crate::{BlockId, Snapshot, Table, TableId};

/// How deep foreign keys are followed, and how many tables they may lead to.
pub const WIDE_NODES_MAX: usize = 256;

/// What a wide table is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideTable {
    /// The tables that were asked for; `None` for all that the fact table's foreign keys lead to.
    pub only: Option<Vec<TableId>>,
    /// Parents come before their children; the first is the fact table.
    pub nodes: Vec<WideNode>,
}

/// A table in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideNode {
    /// The base table.
    pub table: TableId,
    /// The node whose table refers to this one; 0 for the fact table itself.
    pub parent: usize,
    /// The foreign key's columns, as positions in the parent's table. Empty for the fact table.
    pub columns: Vec<usize>,
    /// The parent key's columns, as positions in this node's table; one for each of `columns`.
    pub referenced: Vec<usize>,
    /// Where each column of the table is in the wide table.
    pub places: Vec<usize>,
}

impl WideTable {
    /// The table whose rows the wide table has one row each for; `TableId(0)` when there are no nodes.
    pub fn fact(&self) -> TableId {
        self.nodes.first().map_or(TableId(0), |node| node.table)
    }
    /// The base tables, each once.
    pub fn tables(&self) -> Vec<TableId> {
        let mut seen = HashSet::new();
        self.nodes.iter().map(|node| node.table).filter(|id| seen.insert(*id)).collect()
    }
    /// Whether the table is one of the base tables.
    pub fn has_base(&self, table: TableId) -> bool {
        self.nodes.iter().any(|node| node.table == table)
    }

    /// The nodes that the foreign keys of `fact` lead to, without places. A table that is on the way to itself is not
    /// entered again. With `only`, other tables are not entered. `None` when there are more than `WIDE_NODES_MAX`, or one
    /// is gone.
    pub fn walk(snapshot: &Snapshot, fact: &Table, only: Option<&[TableId]>) -> Option<Vec<WideNode>> {
        let root =
            WideNode { table: fact.id, parent: 0, columns: vec![], referenced: vec![], places: vec![] };
        let mut nodes = vec![root];
        let mut at = 0;
        while at < nodes.len() {
            let table = snapshot.table_by_id(nodes[at].table)?;
            for key in &table.foreign_keys {
                if only.is_some_and(|only| !only.contains(&key.parent)) || on_the_way(&nodes, at, key.parent)
                {
                    continue;
                }
                nodes.push(WideNode {
                    table: key.parent,
                    parent: at,
                    columns: key.columns.clone(),
                    referenced: key.parent_columns.clone(),
                    places: vec![],
                });
                if nodes.len() > WIDE_NODES_MAX {
                    return None;
                }
            }
            at += 1;
        }
        Some(nodes)
    }
}

/// Whether a table is one of those between a node and the fact table.
fn on_the_way(nodes: &[WideNode], mut at: usize, table: TableId) -> bool {
    loop {
        if nodes[at].table == table {
            return true;
        }
        if at == 0 {
            return false;
        }
        at = nodes[at].parent;
    }
}

/// The number of a build, which no other one has.
pub fn next_build() -> u64 {
    BlockId::next().0
}

/// Whether tables flattened from one would be others with the columns and keys of the other.
pub(crate) fn same_shape(one: &Table, other: &Table) -> bool {
    let keys = |table: &Table| -> Vec<Vec<usize>> { table.keys.iter().map(|k| k.columns.clone()).collect() };
    let foreign = |table: &Table| -> Vec<(Vec<usize>, TableId, Vec<usize>)> {
        let parts = |k: &crate::ForeignKey| (k.columns.clone(), k.parent, k.parent_columns.clone());
        table.foreign_keys.iter().map(parts).collect()
    };
    one.columns == other.columns && keys(one) == keys(other) && foreign(one) == foreign(other)
}

impl Snapshot {
    /// Tables that are made of others.
    pub fn wide_tables(&self) -> impl Iterator<Item = &std::sync::Arc<Table>> {
        self.tables().filter(|t| t.wide.is_some())
    }
    /// Wide tables that a table is a part of.
    pub fn wide_over(&self, id: TableId) -> impl Iterator<Item = &std::sync::Arc<Table>> {
        self.wide_tables().filter(move |t| t.wide.as_ref().is_some_and(|wide| wide.has_base(id)))
    }
    /// This state with other rows in one table, for a query over those rows alone. `None` when the table is not in
    /// it.
    pub fn with_rows(&self, id: TableId, data: crate::TableData) -> Option<Snapshot> {
        let mut asked = self.clone();
        let mut table = (**self.table_by_id(id)?).clone();
        table.data = std::sync::Arc::new(data);
        let entry = asked.schemas.get_mut(&table.schema)?;
        entry.tables.insert(table.name.clone(), std::sync::Arc::new(table));
        asked.forget_builds(id);
        Some(asked)
    }
    /// Withdraws the builds of wide tables over `id`; false when none had one.
    pub(crate) fn forget_builds(&mut self, id: TableId) -> bool {
        let stale: Vec<Table> =
            self.wide_over(id).filter(|t| t.build.is_some()).map(|t| (**t).clone()).collect();
        let some = !stale.is_empty();
        for table in stale {
            if let Some(entry) = self.schemas.get_mut(&table.schema) {
                let name = table.name.clone();
                entry.tables.insert(name, std::sync::Arc::new(Table { build: None, ..table }));
            }
        }
        some
    }
}
