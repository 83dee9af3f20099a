//! Table scan: blocks in, batches out, dropping rows as early and as cheaply as they can be dropped.
//!
//! A unit is one block. In order, and each step only for what the one before left:
//! 0. of a block with deleted rows, a bitmap of the others; of a sample of blocks, only those that it takes; of a
//!    sample of rows, a bitmap of those;
//! 1. every block's minimum and maximum against every predicate and runtime filter, before the scan begins: those in
//!    which no row can pass are no units;
//! 2. predicates on codes and trees of them, in the order and the ways that are cheapest in the block, and filters on
//!    one dictionary-coded column evaluated once per distinct value: a bitmap;
//! 3. runtime filters of joins above (LIP), on the same bitmap, in the order of their observed miss rates
//!    (`lookahead.rs`);
//! 4. remaining filters, each fetching only the columns it needs;
//! 5. the columns that leave the scan, fetched for surviving rows only; or, for an aggregation that works on codes,
//!    not fetched at all: the codes of whole windows and a selection.

mod lookahead;
mod rows;
mod unit;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use expr::Predicate;
use plan::{Expr, ExprKind, FilterId, NodeId, PhysicalNode, PhysicalPlan, ROW_REFERENCE};
use types::{ColumnPredicate, Error, PredicateTree, Result, Sample};

use crate::aggregate::CodesWanted;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work, local_state};
use crate::sort::bound::TopBound;
use lookahead::FilterOrder;

/// The source that reads a table's blocks.
pub struct TableScan {
    node: NodeId,
    table: Arc<catalog::Table>,
    sample: Option<Sample>,
    /// Fetched columns, by position in the table, or `ROW_REFERENCE`.
    columns: Vec<usize>,
    /// What blocks evaluate themselves, by columns of the table.
    tree: PredicateTree,
    filters: Vec<ScanFilter>,
    runtime_filters: Vec<(FilterId, usize)>,
    projection: Vec<usize>,
    /// Columns of the table that are tested on whole blocks, before any other is read.
    tested: Vec<usize>,
    /// Columns of the table that are read, whatever for.
    read: Vec<usize>,
    /// Ordinals of the blocks that are read: the units.
    blocks: OnceLock<Vec<u32>>,
    /// On a machine with several memory nodes: how many, and which one each unit lies on.
    nodes: OnceLock<(usize, Vec<Option<usize>>)>,
    /// Bounds of top-ks above, by fetched column.
    bounds: Vec<(usize, Arc<TopBound>)>,
    /// What the aggregation above wants instead of gathered rows.
    codes: Option<Arc<CodesWanted>>,
    wanted: Wanted,
}

/// The name of the note that says how many partitions are left.
pub(crate) const PARTITIONS: &str = "partitions";

/// In how many of the blocks whose rows were tested other columns were wanted as well.
#[derive(Default)]
struct Wanted {
    tested: AtomicU32,
    further: AtomicU32,
}

impl Wanted {
    fn count(&self, further: bool) {
        self.tested.fetch_add(1, Relaxed);
        self.further.fetch_add(u32::from(further), Relaxed);
    }

    /// Whether the next block's other columns will be wanted, by those before it. Nothing is guessed of the first.
    fn is_likely(&self) -> bool {
        let further = self.further.load(Relaxed);
        further > 0 && further * 2 >= self.tested.load(Relaxed)
    }
}

/// A block, and the ordinal by which references to its rows name it.
#[derive(Clone, Copy)]
struct NumberedBlock<'a> {
    block: &'a block::Block,
    ordinal: u32,
}

/// A conjunct over fetched columns, compiled over just the columns it needs.
pub(crate) struct ScanFilter {
    /// Positions among the fetched columns, in the order of the predicate's inputs.
    pub(crate) needs: Vec<usize>,
    pub(crate) computation: codegen::Computation,
    /// May be evaluated on values that no selected row has.
    total: bool,
}

impl TableScan {
    /// Compiles the filters. `plan` has to be a TableScan node whose table is in the snapshot; `bounds` are of sorts
    /// above, each with the place of its key among the fetched columns.
    pub fn new(
        plan: &PhysicalPlan,
        query: &QueryContext,
        bounds: Vec<(usize, Arc<TopBound>)>,
    ) -> Result<Self> {
        let PhysicalNode::TableScan {
            table,
            sample,
            columns,
            predicates,
            trees,
            filters,
            runtime_filters,
            projection,
            ..
        } = &plan.node
        else {
            return Err(Error::internal("not a table scan"));
        };
        let filters = filters.iter().map(ScanFilter::new).collect::<Result<Vec<_>>>()?;
        let tree = tree_of(predicates, trees);
        let mut in_blocks = Vec::new();
        tree.add_columns(&mut in_blocks);
        let tested = in_blocks.iter().copied();
        let tested = tested.chain(filters.iter().filter_map(ScanFilter::only_column));
        let tested = table_columns(columns, tested);
        let used = in_blocks.iter().copied().chain(runtime_filters.iter().map(|f| f.column));
        let used = used
            .chain(filters.iter().flat_map(|f| f.needs.iter().copied()))
            .chain(projection.iter().copied())
            .chain(bounds.iter().map(|(at, _)| *at));
        let read = table_columns(columns, used);
        let scan = TableScan {
            node: plan.id,
            table: query.table(*table)?.clone(),
            sample: *sample,
            columns: columns.clone(),
            tree: tree.renumbered(&|at| columns[at]),
            filters,
            tested,
            read,
            runtime_filters: runtime_filters.iter().map(|f| (f.filter, f.column)).collect(),
            projection: projection.clone(),
            blocks: OnceLock::new(),
            nodes: OnceLock::new(),
            bounds,
            codes: None,
            wanted: Wanted::default(),
        };
        if let Some(left) = partitions_left(plan, query)? {
            query.metrics.state(plan.id, PARTITIONS, left);
        }
        Ok(scan)
    }

    /// Hands windows of blocks out as codes with a selection, where `codes` asks for it and most rows survive.
    pub fn with_codes(mut self, codes: Option<Arc<CodesWanted>>) -> Self {
        self.codes = codes;
        self
    }

    /// A partition's blocks lie on one memory node: so it was when they were written, and what comes back from files
    /// comes there.
    fn find_nodes(&self, blocks: &[u32], topology: &memory::Topology) {
        let Some(partitioning) = self.table.partitioning.as_ref().filter(|_| topology.is_divided()) else {
            return;
        };
        let node_of = |ordinal: &u32| {
            let block = self.table.data.block(*ordinal as usize);
            let node = topology.node_of_partition(partitioning.of_block(block)?);
            block.lies_on(node);
            Some(node)
        };
        let of_units = blocks.iter().map(node_of).collect();
        // Set once, as the units are.
        let _ = self.nodes.set((topology.nodes().len(), of_units));
    }

    /// Says that a unit will be scanned soon. Where rows are tested first, its other columns may never be wanted;
    /// whether they will be is seen from the blocks before it.
    fn announce(&self, unit: usize) {
        if let Some(ordinal) = self.blocks.get().and_then(|blocks| blocks.get(unit)) {
            let block = self.table.data.block(*ordinal as usize);
            match self.tested.is_empty() {
                true => block.announce(&self.read),
                false => {
                    block.announce_tested(&self.tested);
                    if self.wanted.is_likely() {
                        block.announce(&self.read);
                    }
                }
            }
        }
    }
}

/// All that a scan's blocks evaluate.
fn tree_of(predicates: &[(usize, ColumnPredicate)], trees: &[PredicateTree]) -> PredicateTree {
    let leaves = predicates.iter().map(|(at, predicate)| PredicateTree::Leaf(*at, predicate.clone()));
    PredicateTree::And(leaves.chain(trees.iter().cloned()).collect())
}

/// How many partitions a scan's predicates leave of how many, and which; `None` for another node, for a table that
/// has none, and where blocks are not skipped.
pub(crate) fn partitions_left(plan: &PhysicalPlan, query: &QueryContext) -> Result<Option<String>> {
    let PhysicalNode::TableScan { table, columns, predicates, trees, .. } = &plan.node else {
        return Ok(None);
    };
    let table = query.table(*table)?;
    let Some(partitioning) = table.partitioning.as_ref().filter(|_| query.settings.switches.block_skipping)
    else {
        return Ok(None);
    };
    let tree = tree_of(predicates, trees).renumbered(&|at| columns[at]);
    Ok(Some(unit::partitions_left(&tree, partitioning)))
}

/// Which columns of the table those at these places among the fetched ones are.
fn table_columns(fetched: &[usize], places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut columns: Vec<usize> = places.map(|at| fetched[at]).filter(|c| *c != ROW_REFERENCE).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl ScanFilter {
    /// The column that the filter can be evaluated on by distinct values, if there is one.
    fn only_column(&self) -> Option<usize> {
        match self.needs.as_slice() {
            [column] if self.total => Some(*column),
            _ => None,
        }
    }

    /// Compiles a conjunct over the fetched columns.
    pub(crate) fn new(filter: &Expr) -> Result<Self> {
        let needs: Vec<usize> = filter.inputs().into_iter().collect();
        let compact = filter.clone().transform(&mut |e| match e.kind {
            ExprKind::Input(i) => {
                // `needs` holds every input of the filter, in ascending order.
                let at = needs.binary_search(&i).unwrap_or_default();
                Expr::input(at, e.ty)
            }
            _ => e,
        });
        Ok(ScanFilter {
            computation: codegen::Computation::condition(Predicate::compile(&compact)?),
            total: !filter.may_fail(),
            needs,
        })
    }
}

/// Blocks that are read ahead of the one that is scanned: several reads are under way while a block is worked on.
const BLOCKS_AHEAD: usize = 8;

/// Buffers and observations kept from unit to unit.
#[derive(Default)]
struct ScanLocal {
    selection: block::Bitmap,
    order: FilterOrder,
}

impl Source for TableScan {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let blocks = self.blocks.get_or_init(|| self.blocks_to_read(query));
        self.find_nodes(blocks, query.pool.arena().topology());
        (0..BLOCKS_AHEAD.min(blocks.len())).for_each(|unit| self.announce(unit));
        Ok(blocks.len() as u64)
    }
    fn tell(&self, query: &QueryContext) {
        query.state_execution(self.node, self.filters.iter().map(|filter| &filter.computation));
    }
    fn nodes_of_units(&self) -> Option<(usize, &[Option<usize>])> {
        self.nodes.get().map(|(nodes, of_units)| (*nodes, of_units.as_slice()))
    }
    fn local(&self) -> Local {
        Box::new(ScanLocal::default())
    }
    fn run(&self, unit: u64, local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let ordinal = self.blocks.get().and_then(|blocks| blocks.get(unit as usize));
        let Some(ordinal) = ordinal else { return Ok(Flow::More) };
        self.announce(unit as usize + BLOCKS_AHEAD);
        let block = self.table.data.block(*ordinal as usize);
        self.scan_block(
            NumberedBlock { block, ordinal: *ordinal },
            local_state::<ScanLocal>(local),
            work,
            push,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn further_columns_are_likely_where_half_the_blocks_wanted_them() {
        let wanted = Wanted::default();
        assert!(!wanted.is_likely(), "nothing is known of the first block");
        wanted.count(false);
        assert!(!wanted.is_likely());
        wanted.count(true);
        assert!(wanted.is_likely());
        wanted.count(false);
        assert!(!wanted.is_likely());
        wanted.count(true);
        wanted.count(true);
        assert!(wanted.is_likely());
    }
}
