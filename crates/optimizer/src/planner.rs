//! The state of planning one query: its columns, what is known of them, and where statistics come from.

use std::collections::HashMap;
use std::sync::Arc;

use plan::{ColumnId, ColumnTable, Expr, FilterId, TableId};

use crate::estimate::Facts;
use crate::rules::wide_tables::WideRemarks;
use crate::statistics::{Sample, TableInfo};
use crate::{Settings, Statistics};

/// What the rules and the lowering of one query share.
pub(crate) struct Planner<'a> {
    /// The query's columns; rules add their own.
    pub(crate) columns: &'a mut ColumnTable,
    /// Facts about tables, from the query's snapshot.
    pub(crate) statistics: &'a dyn Statistics,
    /// Which rules are on.
    pub(crate) settings: &'a Settings,
    /// Facts by column; filled as scans, projections and aggregations are lowered.
    facts: Vec<Facts>,
    tables: HashMap<TableId, Option<Arc<TableInfo>>>,
    samples: Vec<Sampled>,
    filters_used: u32,
    /// Predicates that follow from others, which are evaluated later in any case: a scan may leave them out.
    pub(crate) partial_predicates: Vec<Expr>,
    pub(crate) wide_remarks: WideRemarks,
}

/// A sample that was taken: self-joins ask for the same one again.
struct Sampled {
    table: TableId,
    columns: Vec<usize>,
    filters: Vec<Expr>,
    distinct_of: Vec<usize>,
    found: Option<Sample>,
}

impl<'a> Planner<'a> {
    /// A planner that knows nothing yet.
    pub(crate) fn new(
        columns: &'a mut ColumnTable,
        statistics: &'a dyn Statistics,
        settings: &'a Settings,
    ) -> Self {
        Planner {
            columns,
            statistics,
            settings,
            facts: Vec::new(),
            tables: HashMap::new(),
            samples: vec![],
            filters_used: 0,
            partial_predicates: vec![],
            wide_remarks: vec![],
        }
    }
    /// The table's facts, asked for once a query; `None` when nothing is known.
    pub(crate) fn table(&mut self, table: TableId) -> Option<Arc<TableInfo>> {
        let statistics = self.statistics;
        self.tables.entry(table).or_insert_with(|| statistics.table(table)).clone()
    }
    /// The share of rows that pass `filters`, from a sample; see `Statistics::sample`. The same question is answered
    /// from memory.
    pub(crate) fn sample(
        &mut self,
        table: TableId,
        columns: &[usize],
        filters: Vec<Expr>,
        distinct_of: Vec<usize>,
    ) -> Option<Sample> {
        let known = self.samples.iter().find(|s| {
            s.table == table && s.columns == columns && s.filters == filters && s.distinct_of == distinct_of
        });
        if let Some(known) = known {
            return known.found.clone();
        }
        let found = self.statistics.sample(table, columns, &filters, &distinct_of);
        let columns = columns.to_vec();
        self.samples.push(Sampled { table, columns, filters, distinct_of, found: found.clone() });
        found
    }
    /// What is known of a column; `Facts::UNKNOWN` before it was lowered.
    pub(crate) fn facts(&self, id: ColumnId) -> &Facts {
        self.facts.get(id.0 as usize).unwrap_or(&Facts::UNKNOWN)
    }
    /// The same, to be changed.
    pub(crate) fn facts_mut(&mut self, id: ColumnId) -> &mut Facts {
        let at = id.0 as usize;
        if at >= self.facts.len() {
            self.facts.resize(at + 1, Facts::UNKNOWN);
        }
        &mut self.facts[at]
    }
    /// An expression with the columns' names, for remarks.
    pub(crate) fn shown(&self, expr: &Expr) -> String {
        let name = |kind: &plan::ExprKind| match kind {
            plan::ExprKind::Column(id) => self.columns.get(*id).name.clone(),
            _ => String::new(),
        };
        plan::print::expression(expr, &name)
    }
    /// A number for a runtime filter, unused so far in this plan.
    pub(crate) fn next_filter(&mut self) -> FilterId {
        self.filters_used += 1;
        FilterId(self.filters_used - 1)
    }
    /// Takes back the number handed out last, which found no use.
    pub(crate) fn return_filter(&mut self) {
        self.filters_used -= 1;
    }
}
