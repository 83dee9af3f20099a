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
    /// `count(*)`: the number of rows.
    CountStar,
    /// The number of values.
    Count,
    /// The sum of the values.
    Sum,
    /// The mean of the values.
    Avg,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// TRUE where all values are.
    BoolAnd,
    /// TRUE where one of the values is.
    BoolOr,
    /// The sample's standard deviation.
    StddevSamp,
    /// The population's standard deviation.
    StddevPop,
    /// The sample's variance.
    VarSamp,
    /// The population's variance.
    VarPop,
    /// The value of an arbitrary row (a column functionally dependent on the group keys).
    AnyValue,
    /// The value of the only row, NULL included; a second row is error 21000 (correlated scalar subqueries). Ignores
    /// DISTINCT.
    SingleValue,
    /// `string_agg(text, delimiter)`; the delimiter is a constant. With `ordered`, the argument is an ordered row
    /// (`functions::ORDERED_ROW`) that carries the text, and the pieces are in the order of the rows.
    StringAgg {
        /// What stands between two texts.
        delimiter: Arc<str>,
        /// The argument is an ordered row.
        ordered: bool,
        /// Of ordered rows only so many first ones of a group are wanted: others may be missing, or be there.
        most: Option<u32>,
    },
    /// The argument in the first row of the input's order, or in the last; an argument that is NULL has no row.
    Arrival {
        /// In the last row instead of the first.
        last: bool,
    },
    /// An aggregate of pairs of floats; the argument is a pair (`functions::PAIR`).
    Paired(Pairing),
    /// Bits that all values have.
    BitAnd,
    /// Bits that some value has.
    BitOr,
    /// Bits that an odd number of values has.
    BitXor,
    /// The product of the values, as a double.
    Product,
    /// Sample skewness and excess kurtosis, and the population's.
    Skewness,
    /// The sample's excess kurtosis.
    Kurtosis,
    /// The population's excess kurtosis.
    KurtosisPop,
    /// The value at a fraction of the way through the ordered values, interpolated between its two neighbours;
    /// `QuantileDisc` gives one of the values itself.
    QuantileCont {
        /// How far through the values, 0 to 1.
        fraction: Fraction,
        /// From the greatest value down.
        descending: bool,
    },
    /// The first value that at least the fraction of all values reach.
    QuantileDisc {
        /// How far through the values, 0 to 1.
        fraction: Fraction,
        /// From the greatest value down.
        descending: bool,
    },
    /// The most frequent value, the least of several.
    Mode,
    /// The Shannon entropy of the values' frequencies, in bits.
    Entropy,
    /// About how many different values there are.
    ApproxCountDistinct,
    /// The state of the aggregates of one form, as bytes; NULL without values. Where the argument of such an aggregate
    /// is BYTEA, it is states, and the aggregate that of all their values (pairs are BYTEA, too, and shorter).
    State(StateForm),
}

/// States that are small and make one of several, so that a coarser grouping can be made of a finer one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StateForm {
    /// Of deviations and variances.
    Moments,
    /// Of skewness and kurtosis.
    HigherMoments,
    /// Of aggregates of pairs.
    Pairs,
}

/// Aggregates of pairs: y, which depends, then x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Pairing {
    /// Pearson's correlation coefficient.
    Corr,
    /// The population's covariance.
    CovarPop,
    /// The sample's covariance.
    CovarSamp,
    /// The slope of the line of least squares.
    Slope,
    /// Where that line crosses x = 0.
    Intercept,
    /// The square of the correlation coefficient.
    R2,
    /// The mean of x.
    AvgX,
    /// The mean of y.
    AvgY,
    /// The sum of squared distances of x from its mean.
    Sxx,
    /// The sum of squared distances of y from its mean.
    Syy,
    /// The sum of products of both distances.
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
    /// The form of the state, where [`AggregateFunction::State`] has it.
    pub fn state_form(&self) -> Option<StateForm> {
        match self {
            Self::StddevSamp | Self::StddevPop | Self::VarSamp | Self::VarPop => Some(StateForm::Moments),
            Self::Skewness | Self::Kurtosis | Self::KurtosisPop => Some(StateForm::HigherMoments),
            Self::Paired(_) => Some(StateForm::Pairs),
            _ => None,
        }
    }
    /// Whether it gives 0, not NULL, without rows.
    pub fn counts(&self) -> bool {
        matches!(self, Self::CountStar | Self::Count | Self::ApproxCountDistinct)
    }
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
            Self::ApproxCountDistinct => "approx_count_distinct",
            Self::State(StateForm::Moments) => "moments",
            Self::State(StateForm::HigherMoments) => "higher moments",
            Self::State(StateForm::Pairs) => "moments of pairs",
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
