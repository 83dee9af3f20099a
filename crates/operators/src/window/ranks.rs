//! Functions of a row's place: row_number, rank, dense_rank, percent_rank, cume_dist and ntile.

use plan::WindowFunction;
use types::{Error, Result, SqlState, Value};
use vector::{Data, Vector, VectorBuilder};

use super::call::Call;
use super::sorted::{Pace, Peers, Sorted};

/// The values of one ranking function for all rows of a hash partition.
pub(super) fn evaluate(call: &Call, sorted: &Sorted, peers: &Peers, pace: &mut Pace<'_>) -> Result<Vector> {
    use WindowFunction as F;
    let ty = call.call.ty;
    if matches!(call.call.function, F::PercentRank | F::CumeDist) {
        let mut out: Vec<f64> = Vec::with_capacity(sorted.rows);
        for (low, high) in sorted.partitions() {
            let rows = (high - low) as f64;
            for row in low..high {
                pace.step()?;
                out.push(match call.call.function {
                    F::CumeDist => (peers.end(row) - low) as f64 / rows,
                    _ if high - low == 1 => 0.0,
                    _ => (peers.start(row) - low) as f64 / (rows - 1.0),
                });
            }
        }
        return Ok(Vector::new(ty, Data::F64(out.into()), None));
    }
    let mut out: Vec<i64> = Vec::with_capacity(sorted.rows);
    for (low, high) in sorted.partitions() {
        for row in low..high {
            pace.step()?;
            out.push(match call.call.function {
                F::Rank => (peers.start(row) - low) as i64 + 1,
                F::DenseRank => i64::from(peers.group[row] - peers.group[low]) + 1,
                _ => (row - low) as i64 + 1,
            });
        }
    }
    Ok(Vector::new(ty, Data::I64(out.into()), None))
}

/// The first buckets have one row more where the rows cannot be divided evenly. The number of buckets is that of the
/// partition's first row.
pub(super) fn ntile(call: &Call, sorted: &Sorted, pace: &mut Pace<'_>) -> Result<Vector> {
    let mut out = VectorBuilder::new(call.call.ty, sorted.rows);
    let buckets = &sorted.arguments[call.arguments[0]];
    for (low, high) in sorted.partitions() {
        let wanted = match buckets.value(low) {
            Value::Null => None,
            value => match value.as_i64() {
                Some(n) if n > 0 => Some(n as usize),
                _ => {
                    return Err(Error::new(
                        SqlState::InvalidNtileArgument,
                        "argument of ntile must be greater than zero",
                    ));
                }
            },
        };
        let rows = high - low;
        for at in 0..rows {
            pace.step()?;
            match wanted {
                None => out.push_null(),
                Some(wanted) => {
                    let (size, larger) = (rows / wanted, rows % wanted);
                    let bucket = if at < larger * (size + 1) {
                        at / (size + 1)
                    } else {
                        larger + (at - larger * (size + 1)) / size.max(1)
                    };
                    out.push(&Value::I64(bucket as i64 + 1));
                }
            }
        }
    }
    Ok(out.finish())
}
