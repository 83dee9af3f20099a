//! Functions with code for batches against their code of one row, for every signature and for values of all sorts.
//!
//! What a batch gives must be what each row gives, with NULLs, constants and errors; where a row has an error, the batch is
//! left to the rows. Called by the tests of `own`, over every function that the list has.

use random::Random;
use types::interval::Interval;
use types::{Physical, Result, Type, Value};
use vector::Vector;

use super::{Arguments, Code};
use crate::functions::{self, Gives, ScalarFunction, Signature, Takes};
use crate::room::Room;

/// Values that a parameter of that kind is given.
fn values(takes: Takes) -> (Type, Vec<Value>) {
    let ty = match takes {
        Takes::Is(ty) => ty,
        Takes::Integer | Takes::Any => Type::Integer,
        Takes::Number => Type::Double,
    };
    let whole = |all: &[i64]| all.iter().map(|n| Value::I64(*n)).collect::<Vec<_>>();
    let moments = [0, -1, 1, 951_782_400_000_000, 1_706_933_106_789_123, -62_135_596_800_000_001];
    let found = match ty {
        Type::Boolean => vec![Value::Bool(true), Value::Bool(false)],
        Type::SmallInt => [0, 1, -1, 255, i16::MAX, i16::MIN].map(Value::I16).to_vec(),
        Type::Integer => [0, 1, -1, 7, 1000, i32::MAX, i32::MIN].map(Value::I32).to_vec(),
        Type::Date => [0, 1, -1, 11_016, 19_756, i32::MAX, i32::MIN].map(Value::I32).to_vec(),
        Type::IntervalYearMonth => [0, 1, -14].map(Value::I32).to_vec(),
        Type::BigInt => whole(&[0, 1, -1, 2, 3, 12, 16, 29, 59, 400, 2024, 1 << 40, i64::MAX, i64::MIN]),
        Type::Timestamp | Type::TimestampTz | Type::TimestampNs | Type::TimestampTzNs => {
            [whole(&moments), whole(&[i64::MAX, i64::MIN, i64::MAX - 1])].concat()
        }
        Type::Time | Type::TimeNs | Type::TimeTz | Type::IntervalDayTime => {
            whole(&[0, 1, 86_399_999_999, 86_400_000_000, 3_600_000_001])
        }
        Type::Interval => [(0, 0, 1), (0, 0, 900_000_000), (0, 2, 0), (1, 0, 0), (1, 1, 1), (0, -1, 0)]
            .map(|(months, days, micros)| Interval::new(months, days, micros).value().unwrap())
            .to_vec(),
        Type::Real => [0.0f32, -1.5, f32::NAN, f32::INFINITY].map(Value::F32).to_vec(),
        Type::Double => {
            let all = [0.0, -0.0, 0.5, 1.5, -2.5, 29.25, 59.9, 1e18, 1e300, f64::NAN, f64::INFINITY, -1e308];
            all.map(Value::F64).to_vec()
        }
        ty if ty.physical() == Physical::Bytes => {
            let texts = [
                "",
                "a",
                "A b/c\\d.txt",
                "a%20b%c3%bC%",
                "m\u{fc}hleisen e\u{301}",
                "\u{1f926}\u{1f3fc} abc\r\n",
                "0110",
                "4142",
                "QUI=",
                "Q UI\n=",
                "day",
                "month",
                "century",
                "week",
                "UTC",
                "both_slash",
                "UTF8",
                "%Y-%m-%d",
                "a text of more than twelve bytes",
            ];
            texts.map(Value::text).to_vec()
        }
        ty if ty.physical() == Physical::I128 => [0, 1, -1, i128::from(i64::MAX)].map(Value::I128).to_vec(),
        other => panic!("no values of {other}"),
    };
    (ty, found)
}

fn result_type(signature: &Signature, types: &[Type]) -> Type {
    match signature.gives {
        Gives::Is(ty) => ty,
        Gives::First => types[0],
    }
}

struct Call {
    function: &'static ScalarFunction,
    types: Vec<Type>,
    ty: Type,
    strict: bool,
}

impl Call {
    fn one(&self, row: &[Value]) -> Result<Value> {
        let Code::Values(evaluate) = self.function.code else { panic!("a function of rows") };
        match self.strict && row.iter().any(Value::is_null) {
            true => Ok(Value::Null),
            false => evaluate(&Arguments { values: row, types: &self.types, ty: self.ty }),
        }
    }
    /// The batch's code over these rows, with the arguments in `constant` the same in all of them.
    fn batch(&self, rows: &[Vec<Value>], constant: Option<usize>) -> Option<Result<Vector>> {
        let inputs: Vec<Vector> = (0..self.types.len())
            .map(|at| {
                let column: Vec<Value> = rows.iter().map(|row| row[at].clone()).collect();
                match constant == Some(at) {
                    true => Vector::constant(self.types[at], column[0].clone(), rows.len()),
                    false => Vector::from_values(self.types[at], &column),
                }
            })
            .collect();
        (self.function.batch.unwrap())(&inputs, self.ty, rows.len(), Room::UNBOUNDED)
    }
    /// Whether the batch's code was there for some of the calls.
    fn check(&self, random: &mut Random) -> bool {
        let choices: Vec<Vec<Value>> = self.types.iter().map(|ty| values(Takes::Is(*ty)).1).collect();
        let mut any = false;
        let arguments = self.types.len();
        for round in 0..12 {
            let constant = (round > 0 && arguments > 0).then(|| random.below(arguments as u64) as usize);
            let mut pick = |at: usize| choices[at][random.below(choices[at].len() as u64) as usize].clone();
            // Preferably a row that has a value: most texts are no unit, and most units no zone.
            let fixed = (0..40).map(|_| (0..arguments).map(&mut pick).collect::<Vec<Value>>());
            let Some(fixed) = fixed.reduce(|a, b| if self.one(&a).is_ok() { a } else { b }) else { continue };
            let mut fine = Vec::new();
            for number in 0..80 {
                let mut row: Vec<Value> = (0..arguments).map(&mut pick).collect();
                if number % 9 == 8 {
                    row[number % arguments] = Value::Null;
                }
                if let Some(at) = constant {
                    row[at] = fixed[at].clone();
                }
                match self.one(&row) {
                    Ok(value) => fine.push((row, value)),
                    // Whatever the rest of the batch is like, this row is an error.
                    Err(error) => {
                        let rows = [row];
                        let found = self.batch(&rows, constant);
                        let told = found.is_none_or(|found| found.is_err_and(|e| e.state() == error.state()));
                        assert!(told, "{} of {rows:?} is no error", self.function.name);
                    }
                }
            }
            let (rows, expected): (Vec<Vec<Value>>, Vec<Value>) = fine.into_iter().unzip();
            if rows.is_empty() {
                continue;
            }
            let Some(found) = self.batch(&rows, constant) else { continue };
            any = true;
            let found = found.unwrap_or_else(|e| panic!("{} {:?}: {e}", self.function.name, self.types));
            assert_eq!(found.len(), rows.len());
            for (row, expected) in expected.iter().enumerate() {
                let value = found.value(row);
                let same = match (&value, expected) {
                    // The bits of a zero count, those of what is no number do not.
                    (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                    (a, b) => a == b,
                };
                assert!(
                    same,
                    "{} of {:?} is {value:?} in a batch, not {expected:?}",
                    self.function.name, rows[row]
                );
            }
        }
        any
    }
}

#[test]
fn batches_are_as_one_by_one() {
    let mut random = Random::new(7);
    for function in functions::all().filter(|f| f.batch.is_some() && f.is_callable()) {
        let mut any = false;
        for signature in function.signatures {
            for count in signature.takes.len() - signature.optional..=signature.takes.len() {
                let types: Vec<Type> = signature.takes[..count].iter().map(|t| values(*t).0).collect();
                if types.is_empty() {
                    continue;
                }
                let ty = result_type(signature, &types);
                any |= Call { function, types, ty, strict: signature.strict }.check(&mut random);
            }
        }
        assert!(any, "no call of {} was a batch's", function.name);
    }
    for name in ["&", "|", "#"] {
        let function = functions::named(name).unwrap();
        for ty in [Type::SmallInt, Type::Integer, Type::BigInt] {
            assert!(Call { function, types: vec![ty, ty], ty, strict: true }.check(&mut random));
        }
    }
    let function = functions::named(plan::functions::FLOAT_REMAINDER).unwrap();
    let types = vec![Type::Double, Type::Double];
    Call { function, types, ty: Type::Double, strict: true }.check(&mut random);
}
