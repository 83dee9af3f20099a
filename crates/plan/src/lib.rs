//! Bound expressions, logical plans and physical plans: inert data that prints itself.
//!
//! A statement's life: `sql` turns text into a `Statement`, whose queries are `LogicalQuery`s (columns are query-wide
//! ids); `optimizer` turns those into `PhysicalPlan`s (columns are positions in the input batch); `operators` builds
//! pipeline segments from them. Nothing here executes, and nothing here knows operators, the catalog or DataFusion.
#![forbid(unsafe_code)]

pub mod access;
pub mod aggregate;
pub mod bounds;
pub mod columns;
pub mod cursor;
pub mod distributed;
pub mod encoding;
pub mod exchange;
pub mod explain;
pub mod expr;
pub mod external;
pub mod file;
pub mod functions;
pub mod lake;
pub mod logical;
pub mod modification;
pub mod object_name;
pub mod parameters;
pub mod physical;
pub mod pipeline;
pub mod places;
pub mod print;
pub mod program;
pub mod pruning;
mod ranges;
pub mod rejects;
pub mod rows;
mod series;
pub mod statement;
pub mod validate;
mod volatility;
pub mod window;

pub use aggregate::{AggregateCall, AggregateFunction, Fraction, Pairing, StateForm};
pub use bounds::expr_bounds;
pub use columns::{ColumnInfo, OutputColumn, TableId};
pub use distributed::Distributed;
pub use exchange::{Exchange, ExchangeKind, ExchangeNumber, Share};
pub use expr::{Arithmetic, ColumnId, Expr, ExprKind, Function, Parameter, SortKey, SubqueryId};
pub use external::{External, ExternalFunction, FunctionBinder, FunctionHandle, Held};
pub use file::{FileFormat, FileSource};
pub use logical::{
    ColumnTable, CommonQuery, JoinKind, KeyedRows, LogicalPlan, LogicalQuery, MaterializedSource, ScanSource,
    Step,
};
pub use modification::{Conflict, Modification, ModificationKind, RowAction, RowChange};
pub use physical::{
    FetchOutput, FilterId, JoinOutput, NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan, ROW_REFERENCE,
    RowReference, RuntimeFilter, referenced_row, row_reference,
};
pub use places::Places;
pub use program::{Program, Remaining};
pub use pruning::{Pruning, Zone, Zones};
pub use ranges::{Dimension, JoinSide, Ranges};
pub use rejects::Rejects;
pub use series::Series;
pub use statement::Statement;
pub use volatility::{ROWS_OF_A_RECURSION, ROWS_OF_ONE_RUN, VOLATILE};
pub use window::{Exclusion, Frame, FrameBound, FrameUnit, WindowCall, WindowFunction};
