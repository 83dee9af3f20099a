//! From aggregate calls to the states they need, at plan time.
//!
//! Calls are taken apart so that equal parts are kept once: `sum(x)`, `avg(x)` and `count(x)` share x's sum and
//! counts; expressions are evaluated once a batch however many groups, arguments and filters name them.

use hash::aggregate::{
    AccumulatorKind, ArgumentSpec, BitOperation, Finish, PairMeasure, Pick, Quantile, RowGroups, Shape,
    Spread, StateSpec, States,
};
use plan::{AggregateCall, AggregateFunction, Expr, Pairing, Places, StateForm};
use types::{Result, Type, Value};
use vector::Vector;

use super::picks;

/// Where an argument's values and filter are among the program's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArgumentInput {
    /// Expression that gives the values; `None` for calls without an argument, such as `count(*)`.
    pub value: Option<usize>,
    /// Expression of the FILTER clause; `None` admits every row.
    pub filter: Option<usize>,
    /// Each distinct value of a group counts once.
    pub distinct: bool,
    /// What becomes of the values.
    pub form: Form,
}

/// What becomes of an argument's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// They are what is aggregated, where they are not NULL.
    Plain,
    /// That of one row is picked, by a key among the program's results.
    Picked { pick: Pick, key: Option<usize> },
}

impl ArgumentInput {
    /// Adds the rows of a batch, of which `vectors` are the program's results, to the states of the argument.
    pub fn update(
        &self,
        argument: usize,
        states: &mut States,
        groups: RowGroups<'_>,
        vectors: &[Vector],
        tag: u64,
    ) -> Result<()> {
        let value = self.value.map(|at| &vectors[at]);
        let filter = self.filter.map(|at| &vectors[at]);
        match (self.form, value) {
            (Form::Picked { key, .. }, Some(value)) => {
                states.update_picked(argument, groups, key.map(|at| &vectors[at]), value, filter, tag)
            }
            _ => states.update(argument, groups, value, filter, tag),
        }
    }
}

/// What the calls of one aggregation become.
#[derive(Default)]
pub(super) struct Calls {
    /// To be evaluated over each batch; groups first, as they come.
    pub expressions: Vec<Expr>,
    /// Places of the group columns among `expressions`.
    pub groups: Vec<usize>,
    /// Inputs of the states, without repetition, in the order of `states`.
    pub arguments: Vec<ArgumentInput>,
    /// The states that each group keeps.
    pub states: StateSpec,
    /// For each call of the query, in order: how its result is made from the states, and its type.
    pub finishes: Vec<(Finish, Type)>,
    known_expressions: Places,
    known_arguments: Places,
}

impl Calls {
    /// Analyses the group expressions and calls of one aggregation; equal parts share one place.
    pub fn new(groups: &[Expr], aggregates: &[AggregateCall]) -> Self {
        let mut calls = Calls::default();
        for group in groups {
            let at = calls.expression(group);
            calls.groups.push(at);
        }
        for call in aggregates {
            let finish = calls.call(call);
            calls.finishes.push((finish, call.ty));
        }
        // Counts of values are rows less those without; DISTINCT counts for itself.
        let rows = calls.finishes.iter().any(|(f, _)| *f == Finish::Rows);
        calls.states.rows = rows || calls.arguments.iter().any(|a| !a.distinct) || groups.is_empty();
        calls
    }

    fn expression(&mut self, expression: &Expr) -> usize {
        let known = self.known_expressions.find(expression, |at| self.expressions[at] == *expression);
        known.unwrap_or_else(|| {
            self.known_expressions.add(expression, self.expressions.len());
            self.expressions.push(expression.clone());
            self.expressions.len() - 1
        })
    }

    fn argument(&mut self, input: ArgumentInput, ty: Type) -> usize {
        let known = self.known_arguments.find(&input, |at| self.arguments[at] == input);
        known.unwrap_or_else(|| {
            self.known_arguments.add(&input, self.arguments.len());
            self.arguments.push(input);
            self.states.arguments.push(ArgumentSpec { ty, distinct: input.distinct, accumulators: vec![] });
            self.arguments.len() - 1
        })
    }

    fn pick(&mut self, found: &picks::Found, filter: Option<&Expr>) -> Finish {
        let key = found.key.as_ref().map(|key| self.expression(key));
        let input = ArgumentInput {
            value: Some(self.expression(&found.value)),
            filter: filter.map(|e| self.expression(e)),
            distinct: false,
            form: Form::Picked { pick: found.pick, key },
        };
        let argument = self.argument(input, Type::Bytea);
        let kinds = &mut self.states.arguments[argument].accumulators;
        if kinds.is_empty() {
            kinds.push(AccumulatorKind::Picked(found.pick));
        }
        Finish::Value { argument, accumulator: 0 }
    }

    fn call(&mut self, call: &AggregateCall) -> Finish {
        use AggregateFunction as F;
        let constant = call.argument.as_ref().and_then(Expr::as_literal);
        let counts_rows = call.function == F::CountStar
            || (call.function == F::Count && !call.distinct && constant.is_some_and(|v| !v.is_null()));
        if counts_rows && call.filter.is_none() {
            return Finish::Rows;
        }
        let value = if counts_rows { None } else { call.argument.as_ref() };
        let filter = call.filter.as_ref().filter(|f| f.as_literal() != Some(&Value::Bool(true)));
        if let Some(found) = picks::found(call) {
            return self.pick(&found, filter);
        }
        // A repeated value changes neither the least nor the greatest nor whether all are true.
        let indifferent =
            matches!(call.function, F::Min | F::Max | F::BoolAnd | F::BoolOr | F::AnyValue | F::SingleValue);
        let input = ArgumentInput {
            value: value.map(|e| self.expression(e)),
            filter: filter.map(|e| self.expression(e)),
            distinct: call.distinct && !indifferent && value.is_some(),
            form: Form::Plain,
        };
        let ty = value.map_or(Type::Boolean, |e| e.ty);
        let argument = self.argument(input, ty);
        let kind = match &call.function {
            F::CountStar | F::Count => return Finish::Count { argument },
            F::Sum | F::Avg => AccumulatorKind::Sum,
            F::Min | F::BoolAnd => AccumulatorKind::Least,
            F::Max | F::BoolOr => AccumulatorKind::Greatest,
            F::AnyValue | F::SingleValue => AccumulatorKind::Any,
            F::StddevSamp | F::StddevPop | F::VarSamp | F::VarPop => AccumulatorKind::Moments,
            F::BitAnd => AccumulatorKind::Bits(BitOperation::And),
            F::BitOr => AccumulatorKind::Bits(BitOperation::Or),
            F::BitXor => AccumulatorKind::Bits(BitOperation::Xor),
            F::Product => AccumulatorKind::Product,
            F::Skewness | F::Kurtosis | F::KurtosisPop => AccumulatorKind::HigherMoments,
            F::QuantileCont { .. } | F::QuantileDisc { .. } => AccumulatorKind::Collected,
            F::Mode | F::Entropy => AccumulatorKind::Counted,
            F::ApproxCountDistinct => AccumulatorKind::Sketched,
            F::StringAgg { delimiter, ordered, most } => AccumulatorKind::Concatenation {
                delimiter: delimiter.clone(),
                ordered: *ordered,
                most: most.filter(|_| *ordered),
            },
            F::Arrival { last } => AccumulatorKind::Arrival { last: *last },
            F::Paired(_) | F::State(StateForm::Pairs) => AccumulatorKind::Pairs,
            F::State(StateForm::Moments) => AccumulatorKind::Moments,
            F::State(StateForm::HigherMoments) => AccumulatorKind::HigherMoments,
        };
        let kinds = &mut self.states.arguments[argument].accumulators;
        let accumulator = kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        let spread = |spread| Finish::Spread { argument, accumulator, spread };
        let shape = |shape| Finish::Shape { argument, accumulator, shape };
        match &call.function {
            F::Sum => Finish::Sum { argument, accumulator },
            F::Avg => Finish::Average { argument, accumulator },
            F::StddevSamp => spread(Spread::StddevSamp),
            F::StddevPop => spread(Spread::StddevPop),
            F::VarSamp => spread(Spread::VarSamp),
            F::VarPop => spread(Spread::VarPop),
            F::Paired(pairing) => Finish::Paired { argument, accumulator, measure: measure(*pairing) },
            F::State(_) => Finish::State { argument, accumulator },
            F::Product => Finish::Product { argument, accumulator },
            F::Skewness => shape(Shape::Skewness),
            F::Kurtosis => shape(Shape::Kurtosis),
            F::KurtosisPop => shape(Shape::KurtosisPop),
            F::QuantileCont { fraction, descending } => Finish::Between {
                argument,
                accumulator,
                fraction: fraction.value().to_bits(),
                descending: *descending,
            },
            F::QuantileDisc { fraction, descending } => {
                let fraction = fraction.value().to_bits();
                let quantile = Quantile { fraction, descending: *descending };
                Finish::Quantile { argument, accumulator, quantile }
            }
            F::Mode => Finish::Mode { argument, accumulator },
            F::Entropy => Finish::Entropy { argument, accumulator },
            F::ApproxCountDistinct => Finish::Estimate { argument, accumulator },
            F::SingleValue => {
                let passing = ArgumentInput { value: None, ..input };
                let rows = input.filter.map(|_| self.argument(passing, Type::Boolean));
                Finish::Single { argument, accumulator, rows }
            }
            _ => Finish::Value { argument, accumulator },
        }
    }
}

/// What is computed of the moments of pairs for a function of two arguments.
pub(crate) fn measure(pairing: Pairing) -> PairMeasure {
    use PairMeasure as M;
    match pairing {
        Pairing::Corr => M::Corr,
        Pairing::CovarPop => M::CovarPop,
        Pairing::CovarSamp => M::CovarSamp,
        Pairing::Slope => M::Slope,
        Pairing::Intercept => M::Intercept,
        Pairing::R2 => M::R2,
        Pairing::AvgX => M::AvgX,
        Pairing::AvgY => M::AvgY,
        Pairing::Sxx => M::Sxx,
        Pairing::Syy => M::Syy,
        Pairing::Sxy => M::Sxy,
    }
}
