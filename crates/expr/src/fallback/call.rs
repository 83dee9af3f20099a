//! One call of a DataFusion function.
//!
//! A call is bound once, when an expression is compiled: the library tells which argument types it wants and the type
//! of its result, and constants are converted then. `evaluate` converts the vectors of a batch to Arrow arrays,
//! without copying where layouts agree, calls the function and converts the result back. Arrow and library errors
//! become ours (`error`), and results that PostgreSQL refuses, such as logarithms of negative numbers, become errors
//! here. Calls are immutable and shared by workers.

use std::sync::{Arc, OnceLock};

use arrow::compute::{CastOptions, cast_with_options};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, Volatility};
use types::{Error, Result, SqlState, Type, Value};
use vector::arrow::{arrow_type, from_array, to_array, type_from_arrow};
use vector::{Data, Vector};

use super::error::{from_arrow, from_datafusion};

/// A library function bound to the types and constants of its arguments.
#[derive(Debug)]
pub(super) struct FunctionCall {
    function: Arc<ScalarUDF>,
    /// The arguments as the function wants them.
    fields: Vec<FieldRef>,
    /// Arguments that are constants of the plan.
    scalars: Vec<Option<ScalarValue>>,
    result: FieldRef,
}

fn configuration() -> Arc<ConfigOptions> {
    static CONFIGURATION: OnceLock<Arc<ConfigOptions>> = OnceLock::new();
    CONFIGURATION.get_or_init(|| Arc::new(ConfigOptions::default())).clone()
}

impl FunctionCall {
    /// `constants` has the value of each argument that is a literal. An error if the function does not take the
    /// types.
    pub(super) fn bind(
        function: Arc<ScalarUDF>,
        arguments: &[Type],
        constants: &[Option<Value>],
    ) -> Result<Self> {
        let given: Vec<FieldRef> =
            arguments.iter().map(|ty| Arc::new(Field::new("argument", arrow_type(*ty), true))).collect();
        let fields = fields_with_udf(&given, function.as_ref()).map_err(|e| from_datafusion(&e))?;
        let mut scalars = Vec::with_capacity(arguments.len());
        for ((ty, constant), field) in arguments.iter().zip(constants).zip(&fields) {
            scalars.push(match constant {
                Some(value) => Some(scalar(*ty, value, field.data_type())?),
                None => None,
            });
        }
        let references: Vec<Option<&ScalarValue>> = scalars.iter().map(Option::as_ref).collect();
        let result = function
            .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &references })
            .map_err(|e| from_datafusion(&e))?;
        Ok(FunctionCall { function, fields, scalars, result })
    }

    /// Whether each evaluation may give another value, as `random()` does.
    pub(super) fn is_volatile(&self) -> bool {
        self.function.signature().volatility == Volatility::Volatile
    }

    /// The function's values for `rows` rows, in the type that the binder declared.
    pub(super) fn evaluate(&self, inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
        let mut args = Vec::with_capacity(inputs.len());
        for ((input, scalar_argument), field) in inputs.iter().zip(&self.scalars).zip(&self.fields) {
            args.push(match (scalar_argument, input.data()) {
                (Some(scalar), _) => ColumnarValue::Scalar(scalar.clone()),
                (None, Data::Constant(value)) => {
                    ColumnarValue::Scalar(scalar(input.ty(), value, field.data_type())?)
                }
                _ => ColumnarValue::Array(convert(&to_array(input), field.data_type())?),
            });
        }
        let result = self
            .function
            .invoke_with_args(ScalarFunctionArgs {
                args,
                arg_fields: self.fields.clone(),
                number_rows: rows,
                return_field: self.result.clone(),
                config_options: configuration(),
            })
            .map_err(|e| from_datafusion(&e))?;
        let result = match result {
            ColumnarValue::Array(array) => to_vector(&array, ty)?,
            ColumnarValue::Scalar(value) => {
                let array = value.to_array().map_err(|e| from_datafusion(&e))?;
                Vector::constant(ty, to_vector(&array, ty)?.value(0), rows)
            }
        };
        self.check_domain(inputs, &result)?;
        Ok(result)
    }

    /// Functions that give NaN or infinity outside their domain raise an error there, as PostgreSQL's do.
    fn check_domain(&self, inputs: &[Vector], result: &Vector) -> Result<()> {
        if !result.ty().is_float() || !PARTIAL_FUNCTIONS.contains(&self.function.name()) {
            return Ok(());
        }
        let logarithm = self.function.name().starts_with("log") || self.function.name() == "ln";
        // Mostly every result is a number. A logarithm of one argument is none where there is an error; one to a base
        // of 0 may be a number all the same.
        let all_finite = match result.data() {
            Data::F64(values) => values.iter().fold(true, |all, x| all & x.is_finite()),
            Data::F32(values) => values.iter().fold(true, |all, x| all & x.is_finite()),
            _ => false,
        };
        if all_finite && !(logarithm && inputs.len() > 1) {
            return Ok(());
        }
        let finite = |v: &Vector, row: usize| v.value(row).as_f64().is_none_or(f64::is_finite);
        let is_nan = |v: &Vector, row: usize| v.value(row).as_f64().is_some_and(f64::is_nan);
        for row in 0..result.len() {
            let number = |v: &Vector| match v.ty().is_float() {
                true => v.value(row).as_f64(),
                false => types::cast::cast_value(&v.value(row), v.ty(), Type::Double).ok()?.as_f64(),
            };
            let not_positive = |v: &Vector| number(v).is_some_and(|x| x <= 0.0);
            if logarithm && !result.is_null(row) && inputs.iter().any(not_positive) {
                let message = "cannot take logarithm of zero or of a negative number";
                return Err(Error::new(SqlState::InvalidArgument, message));
            }
            // Some of these functions have no value for infinity either.
            let odd = is_nan(result, row) && !inputs.iter().any(|input| is_nan(input, row));
            let has_poles = matches!(self.function.name(), "atanh" | "cot");
            if odd || (!has_poles && !finite(result, row) && inputs.iter().all(|input| finite(input, row))) {
                if logarithm && inputs.len() > 1 && number(&inputs[0]) == Some(1.0) {
                    return Err(Error::division_by_zero());
                }
                let overflow = matches!(self.function.name(), "exp" | "power" | "pow")
                    && result.value(row).as_f64().is_some_and(f64::is_infinite);
                let message = if overflow { "value out of range: overflow" } else { "input is out of range" };
                return Err(Error::new(
                    SqlState::NumericValueOutOfRange,
                    format!("{}: {message}", self.function.name()),
                ));
            }
        }
        Ok(())
    }
}

/// Functions of floats that are not defined everywhere.
const PARTIAL_FUNCTIONS: &[&str] = &[
    "ln", "log", "log2", "log10", "exp", "power", "pow", "sqrt", "asin", "acos", "acosh", "atanh", "cot",
    "sin", "cos", "tan",
];

fn scalar(ty: Type, value: &Value, wanted: &DataType) -> Result<ScalarValue> {
    let array = convert(&to_array(&Vector::constant(ty, value.clone(), 1)), wanted)?;
    ScalarValue::try_from_array(&array, 0).map_err(|e| from_datafusion(&e))
}

/// The array in type `wanted`; a value that does not fit is an error.
fn convert(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..Default::default() };
    cast_with_options(array, wanted, &options).map_err(|e| from_arrow(&e))
}

/// The array as a flat vector of `ty`. Arrow converts only where its type is not one that `ty` takes as it is.
fn to_vector(array: &ArrayRef, ty: Type) -> Result<Vector> {
    let taken = type_from_arrow(array.data_type())
        .is_some_and(|found| found == ty || (found.is_text() && ty.is_text()));
    let array = if taken { array.clone() } else { convert(array, &arrow_type(ty))? };
    Ok(from_array(array.as_ref(), ty)?.flatten())
}
