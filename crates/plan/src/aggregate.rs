//! Aggregate calls: the functions, their constant parameters and the call itself, as inert data.
//!
//! `sql` binds calls and fixes their result types, `optimizer` moves them, and `operators` maps each to an
//! accumulator and a finish of crate `hash`. A function carries its constant parameters (delimiter, fraction), so two
//! equal `AggregateFunction`s can share their states. Arguments of two values travel as one: pairs of floats are 16
//! bytes (`functions::PAIR`), ordered arguments are rows of bytes (`functions::ORDERED_ROW`).

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use types::Type;

use crate::Expr;

/// What an aggregate computes. DISTINCT, FILTER and the argument belong to the call ([`AggregateCall`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// `string_agg(text, delimiter)`; the delimiter is a constant. With `ordered`, the argument is an ordered row
    /// (`functions::ORDERED_ROW`) that carries the text, and the pieces are in the order of the rows.
    StringAgg {
        delimiter: Arc<str>,
        ordered: bool,
    },
    /// The argument in the first row of the input's order, or in the last; an argument that is NULL has no row.
    Arrival {
        last: bool,
    },
    /// An aggregate of pairs of floats; the argument is a pair (`functions::PAIR`).
    Paired(Pairing),
    BitAnd,
    BitOr,
    BitXor,
    Product,
    /// Sample skewness and excess kurtosis, and the population's.
    Skewness,
    Kurtosis,
    KurtosisPop,
    /// The value at a fraction of the way through the ordered values, interpolated between its two neighbours;
    /// `QuantileDisc` gives one of the values itself.
    QuantileCont {
        fraction: Fraction,
        descending: bool,
    },
    QuantileDisc {
        fraction: Fraction,
        descending: bool,
    },
    /// The most frequent value, the least of several.
    Mode,
    /// The Shannon entropy of the values' frequencies, in bits.
    Entropy,
}

/// Aggregates of pairs: y, which depends, then x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Pairing {
    Corr,
    CovarPop,
    CovarSamp,
    Slope,
    Intercept,
    R2,
    AvgX,
    AvgY,
    Sxx,
    Syy,
    Sxy,
}

impl Pairing {
    /// The SQL name, as EXPLAIN prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corr => "corr",
            Self::CovarPop => "covar_pop",
            Self::CovarSamp => "covar_samp",
            Self::Slope => "regr_slope",
            Self::Intercept => "regr_intercept",
            Self::R2 => "regr_r2",
            Self::AvgX => "regr_avgx",
            Self::AvgY => "regr_avgy",
            Self::Sxx => "regr_sxx",
            Self::Syy => "regr_syy",
            Self::Sxy => "regr_sxy",
        }
    }
}

/// A number from 0 to 1, kept as its bits so that calls can be compared and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction(u64);

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fraction::new(f64::deserialize(deserializer)?)
            .ok_or_else(|| serde::de::Error::custom("a fraction that is not from 0 to 1"))
    }
}

impl Fraction {
    /// `None` outside 0 to 1 and for NaN. -0 and 0 become the same fraction.
    pub const fn new(value: f64) -> Option<Self> {
        // Adding nothing makes one zero of the two.
        if value >= 0.0 && value <= 1.0 { Some(Fraction((value + 0.0).to_bits())) } else { None }
    }
    /// The fraction as a number.
    pub const fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl AggregateFunction {
    /// The SQL name, as EXPLAIN prints it; `first` and `last` for `Arrival`.
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
            Self::Arrival { last: false } => "first",
            Self::Arrival { last: true } => "last",
            Self::Paired(pairing) => pairing.name(),
            Self::BitAnd => "bit_and",
            Self::BitOr => "bit_or",
            Self::BitXor => "bit_xor",
            Self::Product => "product",
            Self::Skewness => "skewness",
            Self::Kurtosis => "kurtosis",
            Self::KurtosisPop => "kurtosis_pop",
            Self::QuantileCont { .. } => "quantile_cont",
            Self::QuantileDisc { .. } => "quantile_disc",
            Self::Mode => "mode",
            Self::Entropy => "entropy",
        }
    }
}

/// One aggregate of an aggregation. `ty` is the result's type: counts are BIGINT; SUM of SMALLINT, INTEGER and BIGINT
/// is BIGINT (overflow is an error), of DECIMAL(p,s) DECIMAL(38,s), of REAL and DOUBLE DOUBLE; AVG of integers and
/// floats is DOUBLE, of DECIMAL(p,s) DECIMAL(38, s+4) at most scale 38; standard deviations are DOUBLE.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AggregateCall {
    /// What is computed of the argument's values.
    pub function: AggregateFunction,
    /// Absent for `count(*)`.
    pub argument: Option<Expr>,
    /// DISTINCT: equal values of a group count once.
    pub distinct: bool,
    /// FILTER (WHERE ...): rows for which it is not TRUE are left out.
    pub filter: Option<Expr>,
    /// The result's type, as listed above.
    pub ty: Type,
}
