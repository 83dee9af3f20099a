//! What workers need to know of an aggregation to number groups and update their states: its calls at plan time, the
//! ways that are open to it, and what is decided once for all of them.

use std::sync::{Arc, OnceLock};

use expr::Program;
use hash::aggregate::{KeyColumn, KeyLayout, StateSpec};
use plan::NodeId;
use types::{Physical, Type};

use super::calls::ArgumentInput;
use super::cells::CellArguments;
use super::codes::CodesWanted;
use super::products::Products;
use crate::context::QueryContext;

/// From this many groups on, pairs are partitioned by group.
const MANY_GROUPS: usize = 1024;

/// Which ways of numbering groups may be used, and how large tables grow; tests narrow them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strategies {
    /// Few possible keys are numbered by a small array over their codes.
    pub codes: bool,
    /// A key of known bounds is numbered by an array over them.
    pub direct: bool,
    /// Ascending keys are numbered without any look-up.
    pub ordered: bool,
    /// Neighbours with the same values in memory are looked up once.
    pub identical_runs: bool,
    /// DISTINCT pairs that are nearly all different are collected, and looked up by the merge only.
    pub collects_pairs: bool,
    /// Groups of a worker's table before it empties itself into partitions.
    pub groups_max: usize,
    /// Groups that are merged in one go, without partitions.
    pub merged_at_once: usize,
}

impl Strategies {
    /// Those that the settings leave.
    pub(super) fn of(query: &QueryContext) -> Self {
        let dense = query.settings.switches.dense_keys;
        // A table of 64 K groups and its states stay in the caches of a core; merging 16 K takes some 200 us.
        Strategies {
            codes: dense,
            direct: dense,
            ordered: dense,
            identical_runs: dense,
            collects_pairs: dense,
            groups_max: 1 << 16,
            merged_at_once: 1 << 14,
        }
    }
}

/// A DISTINCT argument: its number, and the layouts of its pairs.
pub(super) struct PairLayout {
    /// Its number among the aggregation's arguments.
    pub argument: usize,
    /// The words of the group key, then the value.
    pub whole: KeyLayout,
    /// The group's number, then the value.
    pub numbered: KeyLayout,
}

impl PairLayout {
    /// `groups` is the layout of the group key, `ty` the argument's type; NULLs never enter a set.
    pub fn new(argument: usize, groups: &KeyLayout, ty: Type) -> Self {
        let value = KeyColumn { ty, nullable: false };
        PairLayout { argument, whole: groups.extended(value), numbered: KeyLayout::numbered(value) }
    }
}

/// What is known of an aggregation before its first row, and what workers decide together.
pub struct Descriptor {
    pub(super) node: NodeId,
    pub(super) program: Arc<Program>,
    /// The same, as code or vectors.
    pub(super) computation: codegen::Computation,
    /// Positions of the group expressions among the program's results.
    pub(super) groups: Vec<usize>,
    pub(super) arguments: Vec<ArgumentInput>,
    pub(super) spec: StateSpec,
    pub(super) layout: KeyLayout,
    /// One for each DISTINCT argument.
    pub(super) pairs: Vec<PairLayout>,
    /// Lowest value and number of values of the only key, if dense.
    pub(super) direct: Option<(i64, usize)>,
    pub(super) strategies: Strategies,
    pub(super) estimated_groups: f64,
    /// Rows that are expected to come in.
    pub(super) input_rows: f64,
    /// Whether DISTINCT pairs are partitioned by their group; decided once, for all workers.
    pub(super) pairs_by_group: OnceLock<bool>,
    /// What the scan below was asked for, if it was.
    pub(super) codes_wanted: OnceLock<Arc<CodesWanted>>,
    /// What can be summed by cells, if all of it can.
    pub(super) cells: Option<CellArguments>,
    /// What masks sum without writing it, if there is such.
    pub(super) products: Option<Products>,
}

impl Descriptor {
    /// Whether pairs are partitioned by group.
    pub(super) fn pairs_by_group(&self, groups: usize) -> bool {
        *self.pairs_by_group.get_or_init(|| groups >= MANY_GROUPS)
    }
    /// One key that is an integer, and nothing that stands in the way of numbering it without a table.
    pub(super) fn single_integer_key(&self) -> bool {
        self.groups.len() == 1
            && self.pairs.is_empty()
            && matches!(self.layout.column_type(0).physical(), Physical::I16 | Physical::I32 | Physical::I64)
    }
}
