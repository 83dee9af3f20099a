//! Aggregate calls.

use std::sync::Arc;

use types::Type;

use crate::Expr;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BoolAnd,
    BoolOr,
    StddevSamp,
    StddevPop,
    VarSamp,
    VarPop,
    /// The value of an arbitrary row (a column functionally dependent on the group keys).
    AnyValue,
    /// The value of the only row, NULL included; a second row is error 21000 (correlated scalar subqueries). Ignores
    /// DISTINCT.
    SingleValue,
    /// `string_agg(text, delimiter)`; the delimiter is a constant.
    StringAgg {
        delimiter: Arc<str>,
    },
}

impl AggregateFunction {
    pub fn name(&self) -> &'static str {
        match self {
            Self::CountStar => "count(*)",
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
            Self::BoolAnd => "bool_and",
            Self::BoolOr => "bool_or",
            Self::StddevSamp => "stddev_samp",
            Self::StddevPop => "stddev_pop",
            Self::VarSamp => "var_samp",
            Self::VarPop => "var_pop",
            Self::AnyValue => "any_value",
            Self::SingleValue => "single_value",
            Self::StringAgg { .. } => "string_agg",
        }
    }
}

/// One aggregate of an aggregation. `ty` is the result's type: counts are BIGINT; SUM of SMALLINT, INTEGER and BIGINT
/// is BIGINT (overflow is an error), of DECIMAL(p,s) DECIMAL(38,s), of REAL and DOUBLE DOUBLE; AVG of integers and
/// floats is DOUBLE, of DECIMAL(p,s) DECIMAL(38, s+4) at most scale 38; standard deviations are DOUBLE.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    /// Absent for `count(*)`.
    pub argument: Option<Expr>,
    pub distinct: bool,
    /// FILTER (WHERE ...): rows for which it is not TRUE are left out.
    pub filter: Option<Expr>,
    pub ty: Type,
}
