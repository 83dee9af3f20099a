//! Aggregates over frames.
//!
//! Each kind of aggregate is a `Combine`: a state that rows are added to and that merges with the state of later
//! rows. `over_frames` (`tree`) calls back with the state of each row's frame, in the order of the rows, so that
//! results go straight into a vector. Rows that are NULL or that the FILTER clause drops are seen by no state
//! (`Counts`). Sums of integers and decimals are exact in 128 bits and fail on overflow. What needs all values of a
//! frame in order, such as quantiles, is in `ordered`.

use std::sync::Arc;

use hash::aggregate::{BitOperation, HigherMoments, Moment, PairMoments, Shape, carried};
use plan::{AggregateFunction, SortKey};
use types::decimal::{divide_rounded, fits, power_of_ten};
use types::{Error, Physical, Result, SqlState, Type, Value};
use vector::gather::NO_ROW;
use vector::{Data, Vector, VectorBuilder};

use super::call::Call;
use super::frames::Frames;
use super::ordered::floats;
use super::sorted::{Pace, Sorted};
use super::tree::{Combine, over_frames};
use crate::sort::keys::{Keys, shape};

/// The values of one aggregate call for all rows of a hash partition.
pub(super) fn evaluate(
    call: &Call,
    function: &AggregateFunction,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    use AggregateFunction as A;
    let argument = call.arguments.first().map(|at| &sorted.arguments[*at]);
    let filter = call.filter.map(|at| &sorted.arguments[at]);
    let ty = call.call.ty;
    let counts = Counts { argument, filter };
    let Some(values) = argument else {
        return count(&counts, sorted, frames, pace);
    };
    let from = values.ty();
    if from == Type::Null && !matches!(function, A::Count) {
        return Ok(Vector::constant(ty, Value::Null, sorted.rows).flatten());
    }
    match function {
        A::CountStar | A::Count => count(&counts, sorted, frames, pace),
        A::Sum | A::Avg if from.is_float() => {
            let mut out = VectorBuilder::new(ty, sorted.rows);
            let average = *function == A::Avg;
            over_frames(&Floats { values: floats(values), counts: &counts }, sorted, frames, pace, |s| {
                out.push(&float_result(s, average, ty)?);
                Ok(())
            })?;
            Ok(out.finish())
        }
        A::Sum | A::Avg => {
            let mut out = VectorBuilder::new(ty, sorted.rows);
            let average = *function == A::Avg;
            over_frames(&Integers { values, counts: &counts }, sorted, frames, pace, |s| {
                out.push(&integer_result(s, average, from, ty)?);
                Ok(())
            })?;
            Ok(out.finish())
        }
        A::Min | A::Max | A::AnyValue | A::SingleValue => {
            extremes(function, values, &counts, ty, sorted, frames, pace)
        }
        A::BoolAnd | A::BoolOr => {
            let mut out = VectorBuilder::new(ty, sorted.rows);
            let and = *function == A::BoolAnd;
            over_frames(&Truths { values, counts: &counts }, sorted, frames, pace, |s| {
                out.push(&match (s.yes, s.no) {
                    (0, 0) => Value::Null,
                    (yes, no) => Value::Bool(if and { no == 0 } else { yes > 0 }),
                });
                Ok(())
            })?;
            Ok(out.finish())
        }
        A::StddevSamp | A::StddevPop | A::VarSamp | A::VarPop => {
            deviations(function, values, &counts, ty, sorted, frames, pace)
        }
        A::BitAnd => bits(BitOperation::And, values, &counts, ty, sorted, frames, pace),
        A::BitOr => bits(BitOperation::Or, values, &counts, ty, sorted, frames, pace),
        A::BitXor => bits(BitOperation::Xor, values, &counts, ty, sorted, frames, pace),
        A::Product => {
            let mut out = VectorBuilder::new(ty, sorted.rows);
            let combine = Products { values: floats(values), counts: &counts };
            over_frames(&combine, sorted, frames, pace, |s| {
                out.push(&s.map_or(Value::Null, Value::F64));
                Ok(())
            })?;
            Ok(out.finish())
        }
        A::Skewness => shapes(Shape::Skewness, values, &counts, ty, sorted, frames, pace),
        A::Kurtosis => shapes(Shape::Kurtosis, values, &counts, ty, sorted, frames, pace),
        A::KurtosisPop => shapes(Shape::KurtosisPop, values, &counts, ty, sorted, frames, pace),
        A::QuantileCont { .. } | A::QuantileDisc { .. } | A::Mode | A::Entropy => {
            let sees = |row: usize| counts.sees(row);
            super::ordered::evaluate(function, values, ty, &sees, sorted, frames, pace)
        }
        A::ApproxCountDistinct | A::State(_) => {
            Err(Error::internal(format!("{} over a window", function.name())))
        }
        A::Paired(pairing) => paired(*pairing, values, &counts, ty, sorted, frames, pace),
        A::Arrival { last } => {
            let mut picks = Vec::with_capacity(sorted.rows);
            over_frames(&Ends { last: *last, counts: &counts }, sorted, frames, pace, |s| {
                picks.push(s.0);
                Ok(())
            })?;
            Ok(values.gather_nullable(&picks).with_type(ty))
        }
        A::StringAgg { delimiter, ordered, .. } => {
            if *ordered {
                return ordered_texts(values, delimiter, &counts, sorted, frames, pace);
            }
            texts(values, delimiter, &counts, sorted, frames, pace)
        }
    }
}

/// The first, the last or any value of each frame.
fn extremes(
    function: &AggregateFunction,
    values: &Vector,
    counts: &Counts<'_>,
    ty: Type,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    use AggregateFunction as A;
    let any = matches!(function, A::AnyValue | A::SingleValue);
    let key = SortKey {
        expr: plan::Expr::input(0, values.ty()),
        descending: *function == A::Max,
        nulls_first: false,
    };
    let keys = [key];
    let encoded =
        (!any).then(|| Keys::encode(shape(&keys), std::slice::from_ref(values), &keys, sorted.rows));
    let mut picks = Vec::with_capacity(sorted.rows);
    over_frames(&First { keys: encoded, counts }, sorted, frames, pace, |s| {
        picks.push(s.0);
        Ok(())
    })?;
    Ok(values.gather_nullable(&picks).with_type(ty))
}

/// Deviations and variances of each frame.
fn deviations(
    function: &AggregateFunction,
    values: &Vector,
    counts: &Counts<'_>,
    ty: Type,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    use AggregateFunction as A;
    let mut out = VectorBuilder::new(ty, sorted.rows);
    let sample = matches!(function, A::StddevSamp | A::VarSamp);
    let root = matches!(function, A::StddevSamp | A::StddevPop);
    let combine = Moments { values: floats(values), counts };
    over_frames(&combine, sorted, frames, pace, |s| {
        let divisor = if sample { s.count() - 1.0 } else { s.count() };
        out.push(&if divisor <= 0.0 {
            Value::Null
        } else {
            let variance = s.squares() / divisor;
            Value::F64(if root { variance.sqrt() } else { variance })
        });
        Ok(())
    })?;
    Ok(out.finish())
}

/// Aggregates of two arguments, which are in one vector.
fn paired(
    pairing: plan::Pairing,
    values: &Vector,
    counts: &Counts<'_>,
    ty: Type,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    let Data::Bytes(pairs) = values.data() else {
        return Err(Error::internal("an aggregate of pairs of something else"));
    };
    let measure = crate::aggregate::measure(pairing);
    let mut out = VectorBuilder::new(ty, sorted.rows);
    over_frames(&Paired { pairs, counts }, sorted, frames, pace, |s| {
        out.push(&s.measure(measure).map_or(Value::Null, Value::F64));
        Ok(())
    })?;
    Ok(out.finish())
}

/// Which rows an aggregate sees: those with a value that pass the filter.
struct Counts<'v> {
    argument: Option<&'v Vector>,
    filter: Option<&'v Vector>,
}

impl Counts<'_> {
    #[inline]
    fn sees(&self, row: usize) -> bool {
        self.argument.is_none_or(|a| !a.is_null(row))
            && self
                .filter
                .is_none_or(|f| !f.is_null(row) && matches!(f.data(), Data::Bool(bits) if bits.value(row)))
    }
}

impl Combine for Counts<'_> {
    type State = i64;
    fn add(&self, state: &mut i64, row: usize) {
        *state += i64::from(self.sees(row));
    }
    fn merge(&self, state: &mut i64, later: &i64) {
        *state += later;
    }
}

fn count(counts: &Counts<'_>, sorted: &Sorted, frames: &Frames<'_>, pace: &mut Pace<'_>) -> Result<Vector> {
    let mut out: Vec<i64> = Vec::with_capacity(sorted.rows);
    over_frames(counts, sorted, frames, pace, |n| {
        out.push(*n);
        Ok(())
    })?;
    Ok(Vector::new(Type::BigInt, Data::I64(out.into()), None))
}

/// Exact sums of integers of any width, decimals and intervals.
struct Integers<'v> {
    values: &'v Vector,
    counts: &'v Counts<'v>,
}

#[derive(Clone, Default)]
struct IntegerState {
    sum: i128,
    count: i64,
    overflowed: bool,
}

impl IntegerState {
    fn plus(&mut self, sum: i128, count: i64) {
        let (sum, overflowed) = self.sum.overflowing_add(sum);
        self.sum = sum;
        self.count += count;
        self.overflowed |= overflowed;
    }
}

impl Combine for Integers<'_> {
    type State = IntegerState;
    fn add(&self, state: &mut IntegerState, row: usize) {
        if !self.counts.sees(row) {
            return;
        }
        let value = match self.values.data() {
            Data::I16(v) => i128::from(v[row]),
            Data::I32(v) => i128::from(v[row]),
            Data::I64(v) => i128::from(v[row]),
            Data::I128(v) => v[row],
            _ => 0,
        };
        state.plus(value, 1);
    }
    fn merge(&self, state: &mut IntegerState, later: &IntegerState) {
        state.plus(later.sum, later.count);
        state.overflowed |= later.overflowed;
    }
}

fn integer_result(state: &IntegerState, average: bool, from: Type, ty: Type) -> Result<Value> {
    if state.count == 0 {
        return Ok(Value::Null);
    }
    let out_of_range = || Error::out_of_range(&ty);
    if state.overflowed {
        return Err(out_of_range());
    }
    let whole = |value: i128| {
        if matches!(ty, Type::Decimal { precision, .. } if !fits(value, precision)) {
            return Err(out_of_range());
        }
        Value::of_integer(value, ty).ok_or_else(out_of_range)
    };
    if !average {
        return whole(state.sum);
    }
    if ty.is_float() {
        let unit = power_of_ten(from.scale()) as f64;
        return Ok(Value::F64(state.sum as f64 / unit / state.count as f64));
    }
    let count = i128::from(state.count);
    let more = power_of_ten(ty.scale().saturating_sub(from.scale()));
    // Whole part and remainder apart, so that the scale's digits do not overflow on the way.
    let (quotient, rest) = (state.sum / count, state.sum % count);
    let mean = quotient
        .checked_mul(more)
        .zip(rest.checked_mul(more))
        .and_then(|(q, r)| q.checked_add(divide_rounded(r, count)));
    whole(mean.ok_or_else(out_of_range)?)
}

struct Floats<'v> {
    values: Vec<f64>,
    counts: &'v Counts<'v>,
}

#[derive(Clone, Default)]
struct FloatState {
    sum: f64,
    count: i64,
    /// A summand was infinite or no number.
    special: bool,
}

impl Combine for Floats<'_> {
    type State = FloatState;
    fn add(&self, state: &mut FloatState, row: usize) {
        if self.counts.sees(row) {
            let value = self.values[row];
            state.sum += value;
            state.count += 1;
            state.special |= !value.is_finite();
        }
    }
    fn merge(&self, state: &mut FloatState, later: &FloatState) {
        state.sum += later.sum;
        state.count += later.count;
        state.special |= later.special;
    }
}

fn float_result(state: &FloatState, average: bool, ty: Type) -> Result<Value> {
    if state.count == 0 {
        return Ok(Value::Null);
    }
    if !state.special && !state.sum.is_finite() {
        return Err(Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow"));
    }
    let value = if average { state.sum / state.count as f64 } else { state.sum };
    Ok(if ty.physical() == Physical::F32 { Value::F32(value as f32) } else { Value::F64(value) })
}

/// The row whose key comes first; without keys, the first row.
struct First<'v> {
    keys: Option<Keys>,
    counts: &'v Counts<'v>,
}

#[derive(Clone)]
struct Row(u32);

impl Default for Row {
    fn default() -> Self {
        Row(NO_ROW)
    }
}

impl Combine for First<'_> {
    type State = Row;
    fn add(&self, state: &mut Row, row: usize) {
        if self.counts.sees(row) {
            self.merge(state, &Row(row as u32));
        }
    }
    fn merge(&self, state: &mut Row, later: &Row) {
        let better = later.0 != NO_ROW
            && (state.0 == NO_ROW
                || self
                    .keys
                    .as_ref()
                    .is_some_and(|k| k.compare(later.0 as usize, k, state.0 as usize).is_lt()));
        if better {
            *state = later.clone();
        }
    }
}

/// The first or last row.
struct Ends<'v> {
    last: bool,
    counts: &'v Counts<'v>,
}

impl Combine for Ends<'_> {
    type State = Row;
    fn add(&self, state: &mut Row, row: usize) {
        if self.counts.sees(row) {
            self.merge(state, &Row(row as u32));
        }
    }
    fn merge(&self, state: &mut Row, later: &Row) {
        if later.0 != NO_ROW && (self.last || state.0 == NO_ROW) {
            *state = later.clone();
        }
    }
}

struct Paired<'v> {
    pairs: &'v vector::Strings,
    counts: &'v Counts<'v>,
}

impl Combine for Paired<'_> {
    type State = PairMoments;
    fn add(&self, state: &mut PairMoments, row: usize) {
        if self.counts.sees(row) {
            state.add_bytes(self.pairs.get(row));
        }
    }
    fn merge(&self, state: &mut PairMoments, later: &PairMoments) {
        state.merge(later);
    }
}

struct Bits<'v> {
    values: &'v Vector,
    counts: &'v Counts<'v>,
    operation: BitOperation,
}

impl Combine for Bits<'_> {
    type State = Option<i64>;
    fn add(&self, state: &mut Option<i64>, row: usize) {
        if self.counts.sees(row) {
            let value = match self.values.data() {
                Data::I16(v) => i64::from(v[row]),
                Data::I32(v) => i64::from(v[row]),
                Data::I64(v) => v[row],
                _ => 0,
            };
            self.merge(state, &Some(value));
        }
    }
    fn merge(&self, state: &mut Option<i64>, later: &Option<i64>) {
        *state = match (*state, *later) {
            (Some(a), Some(b)) => Some(self.operation.apply(a, b)),
            (a, b) => a.or(b),
        };
    }
}

fn bits(
    operation: BitOperation,
    values: &Vector,
    counts: &Counts<'_>,
    ty: Type,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    let mut out = VectorBuilder::new(ty, sorted.rows);
    over_frames(&Bits { values, counts, operation }, sorted, frames, pace, |s| {
        let value = s.map(|s| Value::from_i128(i128::from(s), ty.physical()));
        out.push(&value.flatten().unwrap_or(Value::Null));
        Ok(())
    })?;
    Ok(out.finish())
}

struct Products<'v> {
    values: Vec<f64>,
    counts: &'v Counts<'v>,
}

impl Combine for Products<'_> {
    type State = Option<f64>;
    fn add(&self, state: &mut Option<f64>, row: usize) {
        if self.counts.sees(row) {
            self.merge(state, &Some(self.values[row]));
        }
    }
    fn merge(&self, state: &mut Option<f64>, later: &Option<f64>) {
        *state = match (*state, *later) {
            (Some(a), Some(b)) => Some(a * b),
            (a, b) => a.or(b),
        };
    }
}

struct Shapes<'v> {
    values: Vec<f64>,
    counts: &'v Counts<'v>,
}

impl Combine for Shapes<'_> {
    type State = HigherMoments;
    fn add(&self, state: &mut HigherMoments, row: usize) {
        if self.counts.sees(row) {
            state.add(self.values[row]);
        }
    }
    fn merge(&self, state: &mut HigherMoments, later: &HigherMoments) {
        state.merge(later);
    }
}

fn shapes(
    shape: Shape,
    values: &Vector,
    counts: &Counts<'_>,
    ty: Type,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    let mut out = VectorBuilder::new(ty, sorted.rows);
    over_frames(&Shapes { values: floats(values), counts }, sorted, frames, pace, |s| {
        out.push(&s.shape(shape).map_or(Value::Null, Value::F64));
        Ok(())
    })?;
    Ok(out.finish())
}

struct Truths<'v> {
    values: &'v Vector,
    counts: &'v Counts<'v>,
}

#[derive(Clone, Default)]
struct TruthState {
    yes: i64,
    no: i64,
}

impl Combine for Truths<'_> {
    type State = TruthState;
    fn add(&self, state: &mut TruthState, row: usize) {
        if self.counts.sees(row) {
            match self.values.data() {
                Data::Bool(bits) if bits.value(row) => state.yes += 1,
                _ => state.no += 1,
            }
        }
    }
    fn merge(&self, state: &mut TruthState, later: &TruthState) {
        state.yes += later.yes;
        state.no += later.no;
    }
}

/// Sums and squared distances.
struct Moments<'v> {
    values: Vec<f64>,
    counts: &'v Counts<'v>,
}

impl Combine for Moments<'_> {
    type State = Moment;
    fn add(&self, state: &mut Moment, row: usize) {
        if self.counts.sees(row) {
            state.add(self.values[row]);
        }
    }
    fn merge(&self, state: &mut Moment, later: &Moment) {
        state.merge(later);
    }
}

/// string_agg: the result is as long as the frame, so it is put together anew where the frame does not just grow.
fn texts(
    values: &Vector,
    delimiter: &Arc<str>,
    counts: &Counts<'_>,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    let Data::Bytes(strings) = values.data() else {
        return Err(Error::internal("string_agg of something else than text"));
    };
    let mut out = VectorBuilder::new(Type::Text, sorted.rows);
    let mut text: Option<Vec<u8>> = None;
    let mut of = (usize::MAX, usize::MAX);
    let mut held = pace.reserve(0)?;
    let mut bytes = 0usize;
    for row in 0..sorted.rows {
        pace.step()?;
        let (start, end) = (frames.starts[row] as usize, frames.ends[row] as usize);
        let add = |text: &mut Option<Vec<u8>>, at: usize| {
            if counts.sees(at) {
                match text {
                    Some(text) => {
                        text.extend_from_slice(delimiter.as_bytes());
                        text.extend_from_slice(strings.get(at));
                    }
                    None => *text = Some(strings.get(at).to_vec()),
                }
            }
        };
        if frames.exclusion == plan::Exclusion::NoOthers && of.0 == start && of.1 <= end {
            for at in of.1..end {
                pace.step()?;
                add(&mut text, at);
            }
        } else {
            text = None;
            for (start, end) in frames.ranges(row) {
                for at in start..end {
                    pace.step()?;
                    add(&mut text, at);
                }
            }
        }
        of = if frames.exclusion == plan::Exclusion::NoOthers {
            (start, end)
        } else {
            (usize::MAX, usize::MAX)
        };
        match &text {
            Some(text) => {
                bytes += text.len();
                if bytes as u64 > held.bytes() {
                    held.grow(bytes as u64).map_err(crate::context::out_of_memory)?;
                }
                pace.copied(text.len())?;
                out.push_bytes(text);
            }
            None => out.push_null(),
        }
    }
    Ok(out.finish())
}

/// string_agg with an order of its own: the frame's rows are put in it anew for every row.
fn ordered_texts(
    values: &Vector,
    delimiter: &Arc<str>,
    counts: &Counts<'_>,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    let Data::Bytes(strings) = values.data() else {
        return Err(Error::internal("string_agg of something else than text"));
    };
    let mut out = VectorBuilder::new(Type::Text, sorted.rows);
    let mut held = pace.reserve(0)?;
    let mut bytes = 0usize;
    let mut pieces: Vec<&[u8]> = Vec::new();
    for row in 0..sorted.rows {
        pieces.clear();
        for (start, end) in frames.ranges(row) {
            for at in start..end {
                pace.step()?;
                if counts.sees(at) {
                    pieces.push(strings.get(at));
                }
            }
        }
        if pieces.is_empty() {
            out.push_null();
            continue;
        }
        pieces.sort_unstable();
        let mut text: Vec<u8> = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                text.extend_from_slice(delimiter.as_bytes());
            }
            text.extend_from_slice(carried(piece));
        }
        bytes += text.len();
        if bytes as u64 > held.bytes() {
            held.grow(bytes as u64).map_err(crate::context::out_of_memory)?;
        }
        pace.copied(text.len())?;
        out.push_bytes(&text);
    }
    Ok(out.finish())
}
