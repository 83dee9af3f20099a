//! The state of planning one query: its columns, what is known of them, and where statistics come from.

use std::collections::HashMap;
use std::sync::Arc;

use plan::{ColumnId, ColumnTable, FilterId, TableId};

use crate::estimate::Facts;
use crate::statistics::TableInfo;
use crate::{Settings, Statistics};

pub(crate) struct Planner<'a> {
    pub(crate) columns: &'a mut ColumnTable,
    pub(crate) statistics: &'a dyn Statistics,
    pub(crate) settings: &'a Settings,
    /// By column; filled as scans, projections and aggregations are lowered.
    facts: Vec<Facts>,
    tables: HashMap<TableId, Option<Arc<TableInfo>>>,
    filters_used: u32,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        columns: &'a mut ColumnTable,
        statistics: &'a dyn Statistics,
        settings: &'a Settings,
    ) -> Self {
        Planner { columns, statistics, settings, facts: Vec::new(), tables: HashMap::new(), filters_used: 0 }
    }
    pub(crate) fn table(&mut self, table: TableId) -> Option<Arc<TableInfo>> {
        let statistics = self.statistics;
        self.tables.entry(table).or_insert_with(|| statistics.table(table)).clone()
    }
    pub(crate) fn facts(&self, id: ColumnId) -> &Facts {
        self.facts.get(id.0 as usize).unwrap_or(&Facts::UNKNOWN)
    }
    pub(crate) fn facts_mut(&mut self, id: ColumnId) -> &mut Facts {
        let at = id.0 as usize;
        if at >= self.facts.len() {
            self.facts.resize(at + 1, Facts::UNKNOWN);
        }
        &mut self.facts[at]
    }
    pub(crate) fn next_filter(&mut self) -> FilterId {
        self.filters_used += 1;
        FilterId(self.filters_used - 1)
    }
    /// Takes back the number handed out last, which found no use.
    pub(crate) fn return_filter(&mut self) {
        self.filters_used -= 1;
    }
}
