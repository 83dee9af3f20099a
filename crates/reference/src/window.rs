//! Window calls: for every row, the rows of its frame are listed and gone through.
//!
//! Rows are sorted by partition and order; ties keep the order of the input. The frame of each row is listed anew,
//! which takes time quadratic in the partition's size: it is the plain reading of the standard, with which the
//! engine's incremental frames are compared.

use plan::ColumnId;
use plan::{AggregateFunction, Exclusion, Expr, FrameBound, FrameUnit, SortKey, WindowCall, WindowFunction};
use types::{Error, Result, SqlState, Type, Value};

use crate::Context;
use crate::aggregate::finish;
use crate::relation::{Relation, Row, bind, bind_all, compare};

/// The rows of one partition in order, with their order keys.
struct Partition {
    rows: Vec<Row>,
    keys: Vec<Row>,
}

impl Context<'_> {
    /// The input's rows, partition by partition in the calls' order, each with one value a call behind its own
    /// columns.
    pub fn window(
        &self,
        input: Relation,
        partition: &[Expr],
        order: &[SortKey],
        calls: &[(ColumnId, WindowCall)],
    ) -> Result<Relation> {
        let parts = bind_all(partition, &input.columns)?;
        let keys = bind_all(order.iter().map(|k| &k.expr), &input.columns)?;
        let mut rows = Vec::with_capacity(input.rows.len());
        for row in input.rows {
            rows.push((self.evaluate_all(&parts, &row)?, self.evaluate_all(&keys, &row)?, row));
        }
        rows.sort_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| {
                let pairs = a.1.iter().zip(&b.1).zip(order);
                pairs
                    .map(|((a, b), key)| compare(a, b, key))
                    .find(|o| o.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
        });
        let mut bound = Vec::with_capacity(calls.len());
        for (_, call) in calls {
            let mut call = call.clone();
            for expr in call.expressions_mut() {
                *expr = bind(expr, &input.columns)?;
            }
            bound.push(call);
        }
        let mut out = Vec::with_capacity(rows.len());
        let mut rest = rows.into_iter().peekable();
        while let Some((part, key, row)) = rest.next() {
            let mut together = Partition { rows: vec![row], keys: vec![key] };
            while let Some((_, key, row)) = rest.next_if(|(other, _, _)| *other == part) {
                together.rows.push(row);
                together.keys.push(key);
            }
            let mut columns = Vec::with_capacity(bound.len());
            for call in &bound {
                columns.push(self.window_call(call, order, &together)?);
            }
            for (at, mut row) in together.rows.into_iter().enumerate() {
                row.extend(columns.iter().map(|c| c[at].clone()));
                out.push(row);
            }
        }
        let mut ids = input.columns;
        ids.extend(calls.iter().map(|(id, _)| *id));
        Ok(Relation { columns: ids, rows: out })
    }

    fn window_call(&self, call: &WindowCall, order: &[SortKey], of: &Partition) -> Result<Vec<Value>> {
        use WindowFunction as F;
        let count = of.rows.len();
        let peers = |a: usize, b: usize| of.keys[a][..call.peers] == of.keys[b][..call.peers];
        let first_peer = |at: usize| (0..count).find(|other| peers(*other, at)).unwrap_or(at);
        let last_peer = |at: usize| (0..count).rev().find(|other| peers(*other, at)).unwrap_or(at);
        let mut out = Vec::with_capacity(count);
        for at in 0..count {
            self.spend(count)?;
            let row = &of.rows[at];
            let arguments = self.evaluate_all(&call.arguments, row)?;
            let whole = |n: usize| Value::I64(n as i64);
            out.push(match &call.function {
                F::RowNumber => whole(at + 1),
                F::Rank => whole(first_peer(at) + 1),
                F::DenseRank => whole((0..=at).filter(|other| first_peer(*other) == *other).count()),
                F::PercentRank if count == 1 => Value::F64(0.0),
                F::PercentRank => Value::F64(first_peer(at) as f64 / (count - 1) as f64),
                F::CumeDist => Value::F64((last_peer(at) + 1) as f64 / count as f64),
                F::Ntile => {
                    let buckets = self.evaluate_all(&call.arguments, &of.rows[0])?;
                    ntile(buckets.first().and_then(Value::as_i64), count, at)?
                }
                F::Lag | F::Lead => self.value_beside(call, of, at, &arguments)?,
                F::FirstValue | F::LastValue | F::NthValue => {
                    self.value_of_frame(call, order, of, at, &arguments)?
                }
                F::Aggregate(function) => self.aggregate_of_frame(function, call, order, of, at)?,
            });
        }
        Ok(out)
    }

    /// The argument so many rows before or behind a row, or the default.
    fn value_beside(
        &self,
        call: &WindowCall,
        of: &Partition,
        at: usize,
        arguments: &[Value],
    ) -> Result<Value> {
        let count = of.rows.len();
        let Some(by) = arguments[1].as_i64() else { return Ok(Value::Null) };
        let back = (call.function == WindowFunction::Lag) == (by > 0);
        let mut left = by.unsigned_abs();
        let mut place = Some(at);
        while let (Some(from), true) = (place, left > 0) {
            place = if back { from.checked_sub(1) } else { Some(from + 1).filter(|p| *p < count) };
            if let Some(to) = place
                && !(call.ignore_nulls && self.evaluate(&call.arguments[0], &of.rows[to])?.is_null())
            {
                left -= 1;
            }
        }
        match place {
            Some(place) => self.evaluate(&call.arguments[0], &of.rows[place]),
            None => Ok(arguments[2].clone()),
        }
    }

    /// The argument in the first, the last or the nth row of the frame.
    fn value_of_frame(
        &self,
        call: &WindowCall,
        order: &[SortKey],
        of: &Partition,
        at: usize,
        arguments: &[Value],
    ) -> Result<Value> {
        use WindowFunction as F;
        let mut values = Vec::new();
        for member in self.frame(call, order, of, at)? {
            let value = self.evaluate(&call.arguments[0], &of.rows[member])?;
            if !(call.ignore_nulls && value.is_null()) {
                values.push(value);
            }
        }
        let chosen = match &call.function {
            F::FirstValue => values.first(),
            F::LastValue => values.last(),
            _ => match arguments[1].as_i64() {
                None => None,
                Some(n) if n <= 0 => {
                    return Err(Error::new(
                        SqlState::InvalidNthValueArgument,
                        "argument of nth_value must be greater than zero",
                    ));
                }
                Some(n) => values.get(n as usize - 1),
            },
        };
        Ok(chosen.cloned().unwrap_or(Value::Null))
    }

    fn aggregate_of_frame(
        &self,
        function: &AggregateFunction,
        call: &WindowCall,
        order: &[SortKey],
        of: &Partition,
        at: usize,
    ) -> Result<Value> {
        let mut values = Vec::new();
        let mut rows = 0;
        for member in self.frame(call, order, of, at)? {
            let member = &of.rows[member];
            if let Some(filter) = &call.filter
                && !self.is_true(filter, member)?
            {
                continue;
            }
            rows += 1;
            if let Some(argument) = call.arguments.first() {
                values.push(self.evaluate(argument, member)?);
            }
        }
        values.retain(|v| !v.is_null());
        match function {
            AggregateFunction::CountStar => Ok(Value::I64(rows)),
            function => {
                let from = call.arguments.first().map_or(Type::Null, |a| a.ty);
                finish(function, &values, from, call.ty)
            }
        }
    }

    /// The rows of a frame, in order.
    fn frame(&self, call: &WindowCall, order: &[SortKey], of: &Partition, at: usize) -> Result<Vec<usize>> {
        let count = of.rows.len();
        let peers = |a: usize, b: usize| of.keys[a][..call.peers] == of.keys[b][..call.peers];
        let group = |at: usize| (1..=at).filter(|row| !peers(row - 1, *row)).count() as i64;
        let mut members = Vec::new();
        self.spend(count)?;
        for other in 0..count {
            // Where a bound lies: other is at or behind the start, at or before the end.
            let within = |bound: &FrameBound, start: bool| -> Result<bool> {
                Ok(match bound {
                    FrameBound::Unbounded => true,
                    FrameBound::CurrentRow if call.frame.unit == FrameUnit::Rows => {
                        if start {
                            other >= at
                        } else {
                            other <= at
                        }
                    }
                    FrameBound::CurrentRow => peers(other, at) || if start { other > at } else { other < at },
                    FrameBound::Offset(by) => {
                        let (here, there) = match call.frame.unit {
                            FrameUnit::Groups => (group(at), group(other)),
                            _ => (at as i64, other as i64),
                        };
                        let limit = here.saturating_add(*by);
                        if start { there >= limit } else { there <= limit }
                    }
                    FrameBound::Value { key, bound } => {
                        let limit = self.evaluate(bound, &of.rows[at])?;
                        let key = self.evaluate(key, &of.rows[other])?;
                        if limit.is_null() {
                            peers(other, at) || if start { other > at } else { other < at }
                        } else {
                            let order = compare(&key, &limit, &order[0]);
                            if start { order.is_ge() } else { order.is_le() }
                        }
                    }
                })
            };
            let excluded = match call.frame.exclusion {
                Exclusion::NoOthers => false,
                Exclusion::CurrentRow => other == at,
                Exclusion::Group => peers(other, at),
                Exclusion::Ties => other != at && peers(other, at),
            };
            if !excluded && within(&call.frame.start, true)? && within(&call.frame.end, false)? {
                members.push(other);
            }
        }
        Ok(members)
    }
}

/// The bucket of a row of `count`.
fn ntile(buckets: Option<i64>, count: usize, at: usize) -> Result<Value> {
    Ok(match buckets {
        None => Value::Null,
        Some(n) if n <= 0 => {
            return Err(Error::new(
                SqlState::InvalidNtileArgument,
                "argument of ntile must be greater than zero",
            ));
        }
        Some(n) => {
            // Rows are dealt out bucket by bucket.
            let (size, larger) = (count as i64 / n, count as i64 % n);
            let (mut bucket, mut left) = (1, size + i64::from(larger > 0));
            for _ in 0..at {
                left -= 1;
                if left == 0 {
                    bucket += 1;
                    left = size + i64::from(bucket <= larger);
                }
            }
            Value::I64(bucket)
        }
    })
}
