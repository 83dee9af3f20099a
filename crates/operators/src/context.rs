//! What all operators of one query share: settings, the memory budget, the tables' snapshot, metrics, and the
//! runtime filters that joins fill and scans apply.
//!
//! Made once a query by `engine`, then shared by reference. Tables are those of the snapshot that it was planned
//! against, so that scans see one state. A runtime filter is published by the join that fills it. Memory is asked of
//! the budget before it is allocated.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use memory::Budget;
use plan::{FilterId, TableId};
use sync::CancelToken;
use types::stop::Place;
use types::{Error, Result, SqlState};
use workorder::WorkContext;

use crate::exchange::node::Node;
use crate::metrics::Metrics;
use crate::runtime_filter::KeyFilter;
use crate::switches::Switches;
use crate::transfer::setting::TransferSetting;

/// The settings that execution looks at.
#[derive(Clone, Debug)]
pub struct ExecutionSettings {
    /// How each operator's output reaches the next one.
    pub unit_of_transfer: TransferSetting,
    /// Work orders of one segment at a time; all workers may have one, if not given.
    pub orders_max: Option<usize>,
    /// Rows of a batch in flight, at most.
    pub batch_rows: usize,
    /// Bytes of the blocks that units of transfer consist of.
    pub transfer_bytes: usize,
    /// Count time per operator (EXPLAIN ANALYZE).
    pub analyze: bool,
    /// The techniques that can be switched off.
    pub switches: Switches,
    /// Build rows that a condition compares by order are sorted and searched.
    pub range_joins: bool,
    /// Scans apply filters that joins above them have filled.
    pub runtime_filters: bool,
    /// Bytes that the state of one operator may take before it goes to temporary files; by the memory limit if not
    /// given.
    pub operator_bytes: Option<usize>,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        ExecutionSettings {
            unit_of_transfer: TransferSetting::default(),
            orders_max: None,
            batch_rows: vector::BATCH_ROWS,
            transfer_bytes: 1 << 20,
            analyze: false,
            switches: Switches::default(),
            range_joins: true,
            runtime_filters: true,
            operator_bytes: None,
        }
    }
}

/// Where an INSERT's rows go: the engine checks constraints and publishes them.
pub trait InsertTarget: Send + Sync {
    /// The table's name, for plans and messages.
    fn name(&self) -> &str;
    /// The table's columns, in the order of the rows' columns.
    fn columns(&self) -> &types::Schema;
    /// How rows are cut into blocks and coded.
    fn writer_options(&self) -> pool::WriterOptions;
    /// Takes all blocks at once, in order. Called once a run; nothing is visible if it fails.
    fn append(&self, blocks: Vec<pool::SealedBlock>) -> Result<()>;
    /// The run failed, and another one begins: what was taken is forgotten.
    fn begin_anew(&self);
}

/// Brings a batch of a result into the form that its reader wants, such as columns' declared types.
pub type Conform = dyn Fn(vector::Batch) -> Result<vector::Batch> + Send + Sync;

/// What the operators of one run of a query share. Workers read it at the same time; it is never changed while the
/// query runs, apart from its filters, bounds, metrics and signals.
pub struct QueryContext {
    /// The session's settings when the run began.
    pub settings: ExecutionSettings,
    /// What files are opened with.
    pub environment: formats::Environment,
    /// The budget that memory is reserved from.
    pub budget: Budget,
    /// Where blocks' columns are pinned and new blocks get their memory.
    pub pool: pool::Pool,
    /// The snapshot that the query reads.
    pub tables: HashMap<TableId, Arc<catalog::Table>>,
    /// The table of an INSERT; `None` for other statements.
    pub insert: Option<Arc<dyn InsertTarget>>,
    /// Outlives the query, in its trace.
    pub metrics: Arc<Metrics>,
    /// Raised when the query shall stop: for waits that no worker can be asked in.
    pub cancel: CancelToken,
    /// Not 0 while the query is paused or suspended: states go to files then.
    pub held: Arc<AtomicU8>,
    /// Where operators put what does not fit memory; nowhere, if not given: such a query ends then.
    pub temporary: Option<Arc<dyn files::FileManager>>,
    /// Rows of common subplans, which ran before.
    pub materialized: Vec<Arc<Vec<vector::Batch>>>,
    /// What workers do to each batch of the result.
    pub conform: Option<Arc<Conform>>,
    /// Where expressions find their code; they are vectorised without.
    pub code: Option<Arc<codegen::Cache>>,
    /// The session's logs of records of files that cannot be read.
    pub rejects: formats::RejectLogs,
    /// This engine's place among the nodes that run the plan; none where it runs on one.
    pub node: Option<Arc<Node>>,
    filters: HashMap<FilterId, OnceLock<Arc<KeyFilter>>>,
    swapped: crate::swap::SwappedStates,
}

impl QueryContext {
    /// `plan` has to be numbered: its nodes get counters, its joins slots for filters.
    /// Public fields that are not arguments are empty and may be set before the context is shared.
    pub fn new(
        settings: ExecutionSettings,
        environment: formats::Environment,
        budget: Budget,
        pool: pool::Pool,
        tables: HashMap<TableId, Arc<catalog::Table>>,
        insert: Option<Arc<dyn InsertTarget>>,
        plan: &plan::PhysicalPlan,
    ) -> Self {
        let mut nodes = 0;
        let mut filters = HashMap::new();
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            nodes = nodes.max(node.id.0 as usize + 1);
            if let plan::PhysicalNode::HashJoin { fills, .. } = &node.node {
                filters.extend(fills.iter().map(|(id, _)| (*id, OnceLock::new())));
            }
            open.extend(node.children());
        }
        QueryContext {
            settings,
            environment,
            budget,
            pool,
            tables,
            insert,
            metrics: Arc::new(Metrics::new(nodes)),
            cancel: CancelToken::new(),
            held: Arc::default(),
            temporary: None,
            materialized: vec![],
            conform: None,
            code: None,
            rejects: Default::default(),
            node: None,
            filters,
            swapped: Default::default(),
        }
    }

    /// For another run of the same plan, of which nothing is known yet.
    pub fn anew(&self, plan: &plan::PhysicalPlan) -> Self {
        let mut context = QueryContext::new(
            self.settings.clone(),
            self.environment.clone(),
            self.budget.clone(),
            self.pool.clone(),
            self.tables.clone(),
            self.insert.clone(),
            plan,
        );
        context.cancel = self.cancel.clone();
        context.held = self.held.clone();
        context.temporary = self.temporary.clone();
        context.materialized = self.materialized.clone();
        context.conform = self.conform.clone();
        context.code = self.code.clone();
        context.rejects = self.rejects.clone();
        context
    }

    /// Which of a source's `count` units are read here: all, unless the plan runs on several nodes.
    pub(crate) fn part(&self, source: plan::NodeId, count: usize) -> std::ops::Range<usize> {
        self.node.as_ref().map_or(0..count, |node| node.part(source, count))
    }

    /// How expressions are evaluated.
    pub fn how(&self) -> codegen::How {
        codegen::How { execution: self.settings.switches.execution, cache: self.code.clone() }
    }

    /// States in the metrics how a node's computations were evaluated.
    pub(crate) fn state_execution<'s>(
        &self,
        node: plan::NodeId,
        computations: impl IntoIterator<Item = &'s codegen::Computation>,
    ) {
        let how = self.how();
        if !self.settings.analyze || how.execution == codegen::Execution::Vectorized {
            return;
        }
        let told: Vec<String> =
            computations.into_iter().filter_map(|computation| computation.told(&how)).collect();
        if !told.is_empty() {
            self.metrics.state(node, "execution", told.join("; and "));
        }
    }

    /// A batch of the result, in its reader's form.
    pub(crate) fn conformed(&self, batch: vector::Batch) -> Result<vector::Batch> {
        match &self.conform {
            Some(conform) => conform(batch),
            None => Ok(batch),
        }
    }

    /// Whether the query is paused or suspended.
    pub fn is_held(&self) -> bool {
        self.held.load(Relaxed) != 0
    }

    /// The table in the query's snapshot; an internal error if the snapshot has none of this id.
    pub fn table(&self, id: TableId) -> Result<&Arc<catalog::Table>> {
        self.tables.get(&id).ok_or_else(|| Error::internal(format!("table {} is not in the snapshot", id.0)))
    }

    /// Publishes a filter; scans that start later apply it.
    pub fn publish_filter(&self, id: FilterId, filter: Arc<KeyFilter>) {
        if self.node.as_ref().is_some_and(|node| node.knows_part_of(id)) {
            return;
        }
        if let Some(slot) = self.filters.get(&id) {
            // A filter is filled by one join; a second publication would be the same one.
            let _ = slot.set(filter);
        }
    }

    /// The filter, once its join's build side is complete and if it is worth applying.
    pub fn filter(&self, id: FilterId) -> Option<&Arc<KeyFilter>> {
        self.filters.get(&id).and_then(OnceLock::get)
    }

    /// The query stands still: memory that is only read goes to a file, where there may be one. The file is part of
    /// how memory is had, so what fails stays where it is and ends nothing.
    pub fn put_away(&self, bytes: memory::Bytes) {
        let stop = || !self.is_held() || self.cancel.reason().is_some();
        self.swapped.put(bytes, &self.pool, stop);
    }

    /// The query goes on: what was put away comes back, as far as there is memory; what does not can be read in its
    /// file, and is tried again later.
    #[inline]
    pub fn bring_back(&self) {
        if self.swapped.any() {
            self.swapped.bring_back();
        }
    }

    /// Whether what is of no more use should go before more is reserved: a build that begins may want several times
    /// what was collected, and would go to files for a table that is about to be freed.
    pub(crate) fn memory_is_short(&self) -> bool {
        let of_queries = self.budget.used().saturating_sub(memory::arena_bytes());
        self.budget.available() < of_queries.saturating_mul(8)
    }

    /// What computed values of several rows may take at once: a batch of wider ones is taken in pieces.
    pub fn piece_bytes_max(&self) -> u64 {
        piece_bytes_max(&self.budget)
    }

    /// Evaluates a program over all rows of a batch with room asked for: in halves, where what it makes on the way
    /// would be too wide for all rows at once. The results must fit all the same.
    pub fn evaluate(&self, program: &expr::Program, batch: &vector::Batch) -> Result<Vec<vector::Vector>> {
        let ask = |bytes: u64| self.reserve(bytes as usize).map(drop);
        let room = expr::Room::in_pieces(&ask, self.piece_bytes_max());
        match program.evaluate_within(batch, room) {
            Err(error) if expr::is_too_wide(&error) && batch.rows > 1 => {
                let middle = batch.rows / 2;
                let first = self.evaluate(program, &batch.slice(0, middle))?;
                let second = self.evaluate(program, &batch.slice(middle, batch.rows - middle))?;
                let mut both = Vec::with_capacity(first.len());
                for (a, b) in first.iter().zip(&second) {
                    ask((expr::text_bytes(a).saturating_add(expr::text_bytes(b))) / 8)?;
                    both.push(vector::Vector::concat(&[a, b]));
                }
                Ok(both)
            }
            result => result,
        }
    }

    /// Asks for room before a large allocation.
    pub fn reserve(&self, bytes: usize) -> Result<memory::Reservation> {
        self.budget.reserve(bytes as u64).map_err(out_of_memory)
    }

    /// To be asked at every batch: has the query been stopped, is memory within its budget?
    pub fn check(&self, work: &WorkContext<'_>) -> Result<()> {
        self.cancel.pass(Place::Batch);
        if work.should_stop() {
            return Err(canceled());
        }
        let enough = self.budget.check();
        if enough.is_ok() || work.wait_for_memory(|| self.budget.check().is_ok()) {
            return Ok(());
        }
        if work.should_stop() {
            return Err(canceled());
        }
        enough.map_err(out_of_memory)
    }
}

/// What computed values of several rows may take at once under a budget.
pub(crate) fn piece_bytes_max(budget: &Budget) -> u64 {
    (budget.limit() / 32).clamp(1 << 20, 32 << 20)
}

pub(crate) use types::stop::stopped as canceled;

/// The error of SQLSTATE `OutOfMemory` with a hint, for a reservation that the budget refused.
pub fn out_of_memory(exceeded: memory::BudgetExceeded) -> Error {
    Error::new(SqlState::OutOfMemory, format!("out of memory: {exceeded}")).with_hint(
        "raise the limit with --memory or SET memory_limit, or let the query touch less data at once",
    )
}
