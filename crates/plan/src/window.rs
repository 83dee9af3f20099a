//! Window calls: a function over the rows around each row.
//!
//! A window node orders its input by partition keys and order keys once, and evaluates all its calls over that order.
//! A call whose own ORDER BY is a prefix of the node's shares the node's sort: `peers` says how many keys are its own.

use serde::{Deserialize, Serialize};
use types::Type;

use crate::{AggregateFunction, Expr};

/// A window function; its arguments belong to the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowFunction {
    /// The row's place in its partition, from 1.
    RowNumber,
    /// One more than the rows before the row's peers.
    Rank,
    /// One more than the groups of peers before the row's own.
    DenseRank,
    /// `(rank - 1) / (rows - 1)`, 0 to 1.
    PercentRank,
    /// The share of rows up to the row's last peer.
    CumeDist,
    /// `ntile(buckets)`.
    Ntile,
    /// `lag(value, offset, default)`; all three arguments are there.
    Lag,
    /// The value so many rows behind.
    Lead,
    /// The value in the frame's first row.
    FirstValue,
    /// The value in the frame's last row.
    LastValue,
    /// `nth_value(value, n)`.
    NthValue,
    /// An aggregate of the frame's rows.
    Aggregate(AggregateFunction),
}

impl WindowFunction {
    /// The SQL name, as EXPLAIN prints it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::PercentRank => "percent_rank",
            Self::CumeDist => "cume_dist",
            Self::Ntile => "ntile",
            Self::Lag => "lag",
            Self::Lead => "lead",
            Self::FirstValue => "first_value",
            Self::LastValue => "last_value",
            Self::NthValue => "nth_value",
            Self::Aggregate(function) => function.name(),
        }
    }
    /// Whether the frame says which rows the function sees; the others see the whole partition.
    pub fn uses_frame(&self) -> bool {
        matches!(self, Self::FirstValue | Self::LastValue | Self::NthValue | Self::Aggregate(_))
    }
}

/// What a frame's offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FrameUnit {
    /// Single rows.
    Rows,
    /// Distances between values of the order key.
    Range,
    /// Groups of peers.
    Groups,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FrameBound {
    /// The partition's first row as a start, its last as an end.
    Unbounded,
    /// The row itself (ROWS) or its peers.
    CurrentRow,
    /// Rows or groups of peers behind the current one; negative before it.
    Offset(i64),
    /// RANGE with an offset: the frame ends at rows whose `key` is at `bound`, which is the current row's key with the
    /// offset added or taken away. Both are of one type, over the node's input.
    Value {
        /// The key of a row of the frame.
        key: Expr,
        /// The key at which the frame ends.
        bound: Expr,
    },
}

/// Rows taken out of a frame again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Exclusion {
    #[default]
    /// EXCLUDE NO OTHERS: none.
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers, but not the row itself.
    Ties,
}

/// The rows of the partition that a call sees from one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// What the bounds' offsets count.
    pub unit: FrameUnit,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// Rows that are taken out again.
    pub exclusion: Exclusion,
}

impl Frame {
    /// The whole partition.
    pub fn whole() -> Self {
        Frame {
            unit: FrameUnit::Rows,
            start: FrameBound::Unbounded,
            end: FrameBound::Unbounded,
            exclusion: Exclusion::NoOthers,
        }
    }
    /// What SQL means where no frame is written: up to the current row's last peer.
    pub fn standard() -> Self {
        Frame { unit: FrameUnit::Range, end: FrameBound::CurrentRow, ..Self::whole() }
    }
    /// The expressions of bounds by value.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().flat_map(|bound| match bound {
            FrameBound::Value { key, bound } => vec![key, bound],
            _ => vec![],
        })
    }
    /// As `expressions`, for changing them.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        [&mut self.start, &mut self.end].into_iter().flat_map(|bound| match bound {
            FrameBound::Value { key, bound } => vec![key, bound],
            _ => vec![],
        })
    }
}

/// One call of a window node. Result types are those of `AggregateCall` for aggregates; ranks and counts are BIGINT,
/// `percent_rank` and `cume_dist` DOUBLE, the rest have their argument's type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// Its arguments, as many as the function's form has.
    pub arguments: Vec<Expr>,
    /// FILTER (WHERE ...), of aggregates only.
    pub filter: Option<Expr>,
    /// IGNORE NULLS, of lag, lead, first_value, last_value and nth_value.
    pub ignore_nulls: bool,
    /// The rows that the call sees; ignored by functions without frames.
    pub frame: Frame,
    /// How many of the node's order keys are the call's own: rows equal in them are peers.
    pub peers: usize,
    /// The result's type.
    pub ty: Type,
}

impl WindowCall {
    /// `row_number()` over the node's own partitions and order.
    pub fn row_number() -> Self {
        WindowCall {
            function: WindowFunction::RowNumber,
            arguments: vec![],
            filter: None,
            ignore_nulls: false,
            frame: Frame::whole(),
            peers: 0,
            ty: Type::BigInt,
        }
    }
    /// The arguments, the filter and the frame's expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.arguments.iter().chain(&self.filter).chain(self.frame.expressions())
    }
    /// As `expressions`, for changing them.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.arguments.iter_mut().chain(&mut self.filter).chain(self.frame.expressions_mut())
    }
}
