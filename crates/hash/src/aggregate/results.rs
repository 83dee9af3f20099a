//! From states to the values of aggregates.
//!
//! `Finish` names, for one aggregate, the argument and accumulator that hold its state, so several aggregates may
//! read one. `States::finish` only reads: groups are finished in ranges, by several workers at once, and a range
//! gives one vector. Values are NULL where a group has no value for the argument; errors are sums that leave the
//! result's type and a second row of a scalar subquery.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use types::decimal::{divide_rounded, fits, power_of_ten};
use types::{Error, Physical, Result, SqlState, Type, Value};
use vector::{Data, Vector};

use super::collected::{Chosen, Collected, Quantile};
use super::counted::{Counted, with_viewed};
use super::moments::Moment;
use super::pairs::{PairMeasure, PairMoments};
use super::shape::{HigherMoments, Shape};
use super::state_bytes;
use super::states::{Accumulator, States};
use super::sums::{FloatSums, IntegerSums};

/// Which measure of spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The sample's standard deviation.
    StddevSamp,
    /// The population's standard deviation.
    StddevPop,
    /// The sample's variance.
    VarSamp,
    /// The population's variance.
    VarPop,
}

/// How an aggregate's value comes from the states: the argument's number and the accumulator's within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The number of rows, for `count(*)`.
    Rows,
    /// The number of the argument's values.
    Count {
        /// The argument's number.
        argument: usize,
    },
    /// The sum; NULL without values.
    Sum {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// The mean; NULL without values.
    Average {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// The least, greatest or any value, or the pieces put together.
    Value {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// A standard deviation or variance.
    Spread {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
        /// Which of them.
        spread: Spread,
    },
    /// The state itself, as bytes; NULL without values.
    State {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// The product; NULL without values.
    Product {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// Skewness or kurtosis.
    Shape {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
        /// Which of them.
        shape: Shape,
    },
    /// A measure of pairs: correlation, regression.
    Paired {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
        /// Which of them.
        measure: PairMeasure,
    },
    /// One of the values, by their order.
    Quantile {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
        /// At which of the values.
        quantile: Quantile,
    },
    /// The most frequent value, the least of several.
    Mode {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// Between two of the values: a fraction, told by its bits, of the way.
    Between {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
        /// The bits of a double between 0 and 1.
        fraction: u64,
        /// The way goes from the greatest value down.
        descending: bool,
    },
    /// About how many different values there are.
    Estimate {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// The entropy of the values' frequencies, in bits.
    Entropy {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
    },
    /// The value of the only row; `rows` is the argument that counts those that passed a filter.
    Single {
        /// The argument's number.
        argument: usize,
        /// The accumulator's number within the argument.
        accumulator: usize,
        /// The argument that counts the rows that passed a filter.
        rows: Option<usize>,
    },
}

impl States {
    /// The values of an aggregate of type `ty` for the groups `[start, end)`. Fails where a sum leaves its type.
    pub fn finish(&self, finish: Finish, ty: Type, start: usize, end: usize) -> Result<Vector> {
        match finish {
            Finish::Rows => Ok(counts(ty, (start..end).map(|g| self.row_count(g)))),
            Finish::Count { argument } => Ok(counts(ty, (start..end).map(|g| self.value_count(argument, g)))),
            Finish::Sum { argument, accumulator } => {
                let validity = self.validity(argument, start, end, 1);
                let data = match &self.arguments[argument].accumulators[accumulator] {
                    Accumulator::Floats(sums) => {
                        check_overflow(sums, start, end)?;
                        return Ok(float_vector(ty, sums.sums[start..end].to_vec(), validity));
                    }
                    Accumulator::Integers(sums) => integer_sums(sums, ty, start, end)?,
                    Accumulator::WideIntegers(sums) => {
                        if sums.overflowed {
                            return Err(Error::out_of_range(&ty));
                        }
                        integer_data(ty, (start..end).map(|g| Some(sums.get(g))))?
                    }
                    _ => return Ok(Vector::constant(ty, Value::Null, end - start).flatten()),
                };
                Ok(Vector::new(ty, data, validity))
            }
            Finish::Average { argument, accumulator } => self.average(argument, accumulator, ty, start, end),
            Finish::Value { argument, accumulator } => self.value(argument, accumulator, ty, start, end),
            Finish::Single { argument, accumulator, rows } => {
                let count = |g| rows.map_or_else(|| self.row_count(g), |rows| self.value_count(rows, g));
                if (start..end).any(|g| count(g) > 1) {
                    return Err(Error::new(
                        SqlState::CardinalityViolation,
                        "more than one row returned by a subquery used as an expression",
                    ));
                }
                self.value(argument, accumulator, ty, start, end)
            }
            Finish::State { argument, accumulator } => self.state(argument, accumulator, ty, start, end),
            Finish::Product { argument, accumulator } => {
                let Accumulator::Products(products) = &self.arguments[argument].accumulators[accumulator]
                else {
                    return Ok(Vector::constant(ty, Value::Null, end - start).flatten());
                };
                let validity = self.validity(argument, start, end, 1);
                Ok(float_vector(ty, products[start..end].to_vec(), validity))
            }
            Finish::Shape { argument, accumulator, shape } => {
                let Accumulator::HigherMoments(states) = &self.arguments[argument].accumulators[accumulator]
                else {
                    return Ok(Vector::constant(ty, Value::Null, end - start).flatten());
                };
                let shapes: Vec<Option<f64>> = states[start..end].iter().map(|s| s.shape(shape)).collect();
                let valid = NullBuffer::from_iter(shapes.iter().map(Option::is_some));
                let values = shapes.iter().map(|s| s.unwrap_or_default()).collect();
                Ok(float_vector(ty, values, Some(valid).filter(|v| v.null_count() > 0)))
            }
            Finish::Paired { argument, accumulator, measure } => {
                let Accumulator::Pairs(states) = &self.arguments[argument].accumulators[accumulator] else {
                    return Ok(Vector::constant(ty, Value::Null, end - start).flatten());
                };
                let measures: Vec<Option<f64>> =
                    states[start..end].iter().map(|s| s.measure(measure)).collect();
                let valid = NullBuffer::from_iter(measures.iter().map(Option::is_some));
                let values = measures.iter().map(|s| s.unwrap_or_default()).collect();
                Ok(float_vector(ty, values, Some(valid).filter(|v| v.null_count() > 0)))
            }
            Finish::Quantile { argument, accumulator, quantile } => {
                let chosen =
                    self.collected(argument, accumulator).map(|all| all.choose(quantile, start, end));
                Ok(self.chosen(argument, chosen, ty, start, end))
            }
            Finish::Mode { argument, accumulator } => {
                let modes = self.counted(argument, accumulator).map(|all| all.modes(start, end));
                Ok(self.chosen(argument, modes, ty, start, end))
            }
            Finish::Between { argument, accumulator, fraction, descending } => {
                let Some(all) = self.collected(argument, accumulator) else {
                    return Ok(Vector::constant(ty, Value::Null, end - start).flatten());
                };
                let validity = self.validity(argument, start, end, 1);
                let values = all.between(f64::from_bits(fraction), descending, start, end);
                if !ty.is_float() {
                    // Moments: between two of them is another.
                    let micros = values.into_iter().map(|v| v.round_ties_even() as i64).collect();
                    return Ok(Vector::new(ty, Data::I64(micros), validity));
                }
                Ok(float_vector(ty, values, validity))
            }
            Finish::Entropy { argument, accumulator } => {
                let entropies = match self.counted(argument, accumulator) {
                    Some(all) => all.entropies(start, end),
                    None => vec![0.0; end - start],
                };
                Ok(float_vector(ty, entropies, None))
            }
            Finish::Estimate { argument, accumulator } => {
                Ok(self.estimate(argument, accumulator, ty, start, end))
            }
            Finish::Spread { argument, accumulator, spread } => {
                self.spread(argument, accumulator, spread, ty, start, end)
            }
        }
    }

    /// Groups with at least `least` values.
    fn validity(&self, argument: usize, start: usize, end: usize, least: i64) -> Option<NullBuffer> {
        // A group exists because of a row; only the one group of an empty input has none.
        if least <= 1 && !self.may_lack_values(argument) && !(start == 0 && end == 1) {
            return None;
        }
        let valid =
            BooleanBuffer::collect_bool(end - start, |at| self.value_count(argument, start + at) >= least);
        let nulls = NullBuffer::new(valid);
        (nulls.null_count() > 0).then_some(nulls)
    }

    fn average(
        &self,
        argument: usize,
        accumulator: usize,
        ty: Type,
        start: usize,
        end: usize,
    ) -> Result<Vector> {
        let validity = self.validity(argument, start, end, 1);
        let of = &self.arguments[argument];
        let counts = (start..end).map(|g| self.value_count(argument, g));
        let sum: Box<dyn Fn(usize) -> i128> = match &of.accumulators[accumulator] {
            Accumulator::Floats(sums) => {
                check_overflow(sums, start, end)?;
                let means = sums.sums[start..end].iter().zip(counts).map(|(s, n)| s / n as f64).collect();
                return Ok(float_vector(ty, means, validity));
            }
            Accumulator::Integers(sums) => Box::new(|g| sums.get(g)),
            Accumulator::WideIntegers(sums) => {
                if sums.overflowed {
                    return Err(Error::out_of_range(&ty));
                }
                Box::new(|g| sums.get(g))
            }
            _ => return Ok(Vector::constant(ty, Value::Null, end - start).flatten()),
        };
        if ty.is_float() {
            let unit = power_of_ten(of.ty.scale()) as f64;
            let means = (start..end)
                .zip(counts)
                .map(|(g, n)| if n == 0 { 0.0 } else { sum(g) as f64 / unit / n as f64 })
                .collect();
            return Ok(float_vector(ty, means, validity));
        }
        let more = power_of_ten(ty.scale().saturating_sub(of.ty.scale()));
        let less = power_of_ten(of.ty.scale().saturating_sub(ty.scale()));
        let means = (start..end).zip(counts).map(|(g, n)| {
            if n == 0 {
                return Some(0);
            }
            // Whole part and remainder apart, so that the scale's digits do not overflow on the way.
            let (whole, rest) = (sum(g) / i128::from(n), sum(g) % i128::from(n));
            if less > 1 {
                return i128::from(n).checked_mul(less).map(|divisor| divide_rounded(sum(g), divisor));
            }
            whole.checked_mul(more)?.checked_add(divide_rounded(rest.checked_mul(more)?, i128::from(n)))
        });
        Ok(Vector::new(ty, integer_data(ty, means)?, validity))
    }

    fn value(
        &self,
        argument: usize,
        accumulator: usize,
        ty: Type,
        start: usize,
        end: usize,
    ) -> Result<Vector> {
        let validity = self.validity(argument, start, end, 1);
        let data = match &self.arguments[argument].accumulators[accumulator] {
            Accumulator::Bits { states, .. } => {
                return Ok(Vector::new(
                    ty,
                    integer_data(ty, states[start..end].iter().map(|v| Some(i128::from(*v))))?,
                    validity,
                ));
            }
            Accumulator::LeastOrGreatest(s) if ty.physical() == Physical::Bool => {
                Data::Bool(s.values()[start..end].iter().map(|v| *v == 1).collect())
            }
            Accumulator::LeastOrGreatest(s) => {
                let values = &s.values()[start..end];
                match ty.physical() {
                    // Groups without a value hold the end of 64 bits; they are NULL whatever is cut off.
                    Physical::I16 => Data::I16(values.iter().map(|v| *v as i16).collect()),
                    Physical::I32 => Data::I32(values.iter().map(|v| *v as i32).collect()),
                    _ => Data::I64(values.to_vec().into()),
                }
            }
            Accumulator::WideLeastOrGreatest(s) => Data::I128(s.values()[start..end].to_vec().into()),
            Accumulator::FloatLeastOrGreatest(s) => {
                return Ok(float_vector(ty, s.values()[start..end].to_vec(), validity));
            }
            Accumulator::Text(s) => {
                let mut out = vector::StringBuilder::with_capacity(end - start);
                (start..end).for_each(|g| out.push(s.values.get(g)));
                Data::Bytes(out.finish())
            }
            Accumulator::Arrivals(s) => {
                let mut out = vector::StringBuilder::with_capacity(end - start);
                (start..end).for_each(|g| out.push(s.values.get(g)));
                Data::Bytes(out.finish())
            }
            Accumulator::Picked(s) => Data::Bytes(s.finish(start, end)),
            Accumulator::Pieces(s) => Data::Bytes(s.finish(start, end)),
            _ => return Ok(Vector::constant(ty, Value::Null, end - start).flatten()),
        };
        Ok(Vector::new(ty, data, validity))
    }

    fn estimate(&self, argument: usize, accumulator: usize, ty: Type, start: usize, end: usize) -> Vector {
        match &self.arguments[argument].accumulators[accumulator] {
            Accumulator::Sketched(all) => counts(ty, all.estimates(start, end)),
            _ => counts(ty, (start..end).map(|_| 0)),
        }
    }

    fn collected(&self, argument: usize, accumulator: usize) -> Option<&Collected> {
        match &self.arguments[argument].accumulators[accumulator] {
            Accumulator::Collected(all) => Some(all),
            _ => None,
        }
    }

    fn counted(&self, argument: usize, accumulator: usize) -> Option<&Counted> {
        match &self.arguments[argument].accumulators[accumulator] {
            Accumulator::Counted(all) => Some(all),
            _ => None,
        }
    }

    /// What was chosen of the groups, as a vector; `None` where the type has no values.
    fn chosen(
        &self,
        argument: usize,
        chosen: Option<Chosen<'_>>,
        ty: Type,
        start: usize,
        end: usize,
    ) -> Vector {
        let validity = self.validity(argument, start, end, 1);
        let Some(chosen) = chosen else {
            return Vector::constant(ty, Value::Null, end - start).flatten();
        };
        let data = match chosen {
            Chosen::Floats(picks) => {
                let values = picks.into_iter().map(Option::unwrap_or_default).collect();
                return float_vector(ty, values, validity);
            }
            Chosen::Wide(picks) => Data::I128(picks.into_iter().map(Option::unwrap_or_default).collect()),
            Chosen::Integers(picks) => {
                let values = picks.into_iter().map(Option::unwrap_or_default);
                match ty.physical() {
                    Physical::Bool => Data::Bool(values.map(|v| v == 1).collect()),
                    Physical::I16 => Data::I16(values.map(|v| v as i16).collect()),
                    Physical::I32 => Data::I32(values.map(|v| v as i32).collect()),
                    // The argument may have been narrowed to the digits that its values have.
                    Physical::I128 => Data::I128(values.map(i128::from).collect()),
                    _ => Data::I64(values.collect()),
                }
            }
            Chosen::Texts(picks) => {
                let mut out = vector::StringBuilder::with_capacity(end - start);
                picks.into_iter().for_each(|text| out.push(text.unwrap_or_default()));
                Data::Bytes(out.finish())
            }
            Chosen::Views(picks, column) => {
                let mut out = vector::StringBuilder::with_capacity(end - start);
                for view in picks {
                    with_viewed(view.unwrap_or_default(), column, |text| out.push(text));
                }
                Data::Bytes(out.finish())
            }
        };
        Vector::new(ty, data, validity)
    }

    fn state(
        &self,
        argument: usize,
        accumulator: usize,
        ty: Type,
        start: usize,
        end: usize,
    ) -> Result<Vector> {
        let bytes = match &self.arguments[argument].accumulators[accumulator] {
            Accumulator::Moments { states, .. } => {
                state_bytes::written(states[start..end].iter().map(Moment::parts))
            }
            Accumulator::HigherMoments(states) => {
                state_bytes::written(states[start..end].iter().map(HigherMoments::parts))
            }
            Accumulator::Pairs(states) => {
                state_bytes::written(states[start..end].iter().map(PairMoments::parts))
            }
            _ => return Ok(Vector::constant(ty, Value::Null, end - start).flatten()),
        };
        Ok(Vector::new(ty, Data::Bytes(bytes), self.validity(argument, start, end, 1)))
    }

    fn spread(
        &self,
        argument: usize,
        accumulator: usize,
        spread: Spread,
        ty: Type,
        start: usize,
        end: usize,
    ) -> Result<Vector> {
        let Accumulator::Moments { states, .. } = &self.arguments[argument].accumulators[accumulator] else {
            return Ok(Vector::constant(ty, Value::Null, end - start).flatten());
        };
        let sample = matches!(spread, Spread::StddevSamp | Spread::VarSamp);
        let least = if sample { 2 } else { 1 };
        let validity = if self.arguments[argument].ty == Type::Bytea {
            // The values are states, each of any number of values.
            let enough =
                NullBuffer::from_iter(states[start..end].iter().map(|m| m.count() >= f64::from(least)));
            (enough.null_count() > 0).then_some(enough)
        } else {
            self.validity(argument, start, end, i64::from(least))
        };
        let values = states[start..end]
            .iter()
            .map(|m| {
                let variance =
                    m.squares() / if sample { (m.count() - 1.0).max(1.0) } else { m.count().max(1.0) };
                if matches!(spread, Spread::VarSamp | Spread::VarPop) { variance } else { variance.sqrt() }
            })
            .collect();
        Ok(float_vector(ty, values, validity))
    }
}

fn check_overflow(sums: &FloatSums, start: usize, end: usize) -> Result<()> {
    if sums.overflowed(start, end) {
        return Err(Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow"));
    }
    Ok(())
}

fn counts(ty: Type, values: impl Iterator<Item = i64>) -> Vector {
    Vector::new(ty, Data::I64(values.collect::<Vec<i64>>().into()), None)
}

fn float_vector(ty: Type, values: Vec<f64>, validity: Option<NullBuffer>) -> Vector {
    let data = if ty.physical() == Physical::F32 {
        Data::F32(values.iter().map(|v| *v as f32).collect())
    } else {
        Data::F64(values.into())
    };
    Vector::new(ty, data, validity)
}

/// The sums of the groups `[start, end)`. Where their bound proves that `ty` holds them all, none is looked at.
fn integer_sums(sums: &IntegerSums, ty: Type, start: usize, end: usize) -> Result<Data> {
    if let Some(narrow) = sums.narrow_below(limit(ty)) {
        match ty.physical() {
            Physical::I64 => return Ok(Data::I64(narrow[start..end].to_vec().into())),
            Physical::I128 => {
                return Ok(Data::I128(narrow[start..end].iter().map(|v| i128::from(*v)).collect()));
            }
            _ => {}
        }
    }
    integer_data(ty, (start..end).map(|g| Some(sums.get(g))))
}

/// No magnitude below this is out of the type's range.
fn limit(ty: Type) -> u128 {
    match ty {
        Type::Decimal { precision, .. } => power_of_ten(precision).unsigned_abs(),
        _ => i64::MAX as u128,
    }
}

/// Integers in the form of `ty`; `None`, and what `ty` cannot hold, is an error.
fn integer_data(ty: Type, values: impl Iterator<Item = Option<i128>>) -> Result<Data> {
    let out_of_range = || Error::out_of_range(&ty);
    let checked = values.map(|v| match v {
        Some(v) if !matches!(ty, Type::Decimal { precision, .. } if !fits(v, precision)) => Ok(v),
        _ => Err(out_of_range()),
    });
    Ok(match ty.physical() {
        Physical::I16 => Data::I16(
            checked
                .map(|v| i16::try_from(v?).map_err(|_| out_of_range()))
                .collect::<Result<Vec<_>>>()?
                .into(),
        ),
        Physical::I32 => Data::I32(
            checked
                .map(|v| i32::try_from(v?).map_err(|_| out_of_range()))
                .collect::<Result<Vec<_>>>()?
                .into(),
        ),
        Physical::I64 => Data::I64(
            checked
                .map(|v| i64::try_from(v?).map_err(|_| out_of_range()))
                .collect::<Result<Vec<_>>>()?
                .into(),
        ),
        Physical::I128 => Data::I128(checked.collect::<Result<Vec<_>>>()?.into()),
        _ => return Err(Error::internal(format!("a sum of integers as {ty}"))),
    })
}
