//! Functions of the host program over Arrow arrays: `Database::create_function`.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::cast::AsArray;
//! use arrow_array::types::Int64Type;
//! use arrow_array::{Array, Int64Array};
//! use engine::{AggregateFunction, Database, Options, ScalarFunction, Type, Value};
//!
//! let database = Database::in_memory(Options::default())?;
//! let twice = ScalarFunction::new("twice", vec![Type::BigInt], Type::BigInt, |arguments, _rows| {
//!     let doubled: Int64Array = arguments[0].as_primitive::<Int64Type>().unary(|x| x * 2);
//!     Ok(Arc::new(doubled))
//! });
//! database.create_function(twice, false)?;
//! let spread = AggregateFunction::new("spread", vec![Type::BigInt], Type::BigInt, |arguments| {
//!     let values = arguments[0].as_primitive::<Int64Type>().values();
//!     let least = values.iter().min().copied().unwrap_or(0);
//!     Ok(Value::I64(values.iter().max().map_or(0, |most| most - least)))
//! });
//! database.create_function(spread, false)?;
//! let session = database.session();
//! let result = session.query("SELECT spread(twice(i)) FROM generate_series(1, 10) AS t(i)")?;
//! assert_eq!(result.value(0, 0), Value::I64(18));
//! # Ok::<(), engine::Error>(())
//! ```
//!
//! Bodies run inside work orders, on as many workers at once as there are, on batches of a few thousand rows; an
//! aggregate's runs once a group, on all rows of it. What comes back is checked and copied into memory that the budget
//! counts. A body that panics ends its statement.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::compute::{CastOptions, cast_with_options, filter, is_not_null, take};
use arrow::row::{RowConverter, SortField};
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_schema::ArrowError;
use plan::{External, ExternalFunction};
use types::{Error, Physical, Result, SqlState, Type, Value};
use vector::arrow::{arrow_type, from_array, to_array};
use vector::{Data, StringBuilder, Vector};

use crate::Database;

/// Arrays of the arguments and the number of rows, to an array of results.
type ScalarBody = dyn Fn(&[ArrayRef], usize) -> Result<ArrayRef> + Send + Sync;
/// Arrays of the arguments and each group's range of rows, to a value a group.
type AggregateBody = dyn Fn(&[ArrayRef], &[Range<usize>]) -> Result<Vec<Value>> + Send + Sync;

/// What scalar and aggregate functions have in common.
#[derive(Clone)]
struct Signature {
    name: String,
    arguments: Vec<Type>,
    returns: Type,
    sees_nulls: bool,
    volatile: bool,
}

impl Signature {
    fn new(name: &str, arguments: Vec<Type>, returns: Type) -> Self {
        Signature { name: name.to_lowercase(), arguments, returns, sees_nulls: false, volatile: false }
    }
}

/// A function of rows.
pub struct ScalarFunction {
    signature: Signature,
    body: Arc<ScalarBody>,
}

impl ScalarFunction {
    /// A function that gets an array for each argument and the number of rows, and gives an array of as many.
    ///
    /// Arrays have the types of `engine::arrow_type`; the result's may be another that Arrow casts without loss. Rows
    /// in which an argument is NULL are not seen, and give NULL.
    pub fn new(
        name: &str,
        arguments: Vec<Type>,
        returns: Type,
        body: impl Fn(&[ArrayRef], usize) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Self {
        ScalarFunction { signature: Signature::new(name, arguments, returns), body: Arc::new(body) }
    }

    /// The function sees rows with NULLs, and says what they give.
    #[must_use]
    pub fn sees_nulls(mut self) -> Self {
        self.signature.sees_nulls = true;
        self
    }

    /// Equal arguments may give different results: every call is made.
    #[must_use]
    pub fn volatile(mut self) -> Self {
        self.signature.volatile = true;
        self
    }
}

/// A function of groups.
pub struct AggregateFunction {
    signature: Signature,
    body: Arc<AggregateBody>,
}

impl AggregateFunction {
    /// A function that gets, once for each group, an array for each argument, and gives one value.
    ///
    /// Rows in which an argument is NULL are not seen; a group without rows gives NULL without a call. A group's rows
    /// come in the order of the input.
    pub fn new(
        name: &str,
        arguments: Vec<Type>,
        returns: Type,
        body: impl Fn(&[ArrayRef]) -> Result<Value> + Send + Sync + 'static,
    ) -> Self {
        Self::over_groups(name, arguments, returns, move |arguments, groups| {
            let of_group = |group: &Range<usize>| -> Vec<ArrayRef> {
                arguments.iter().map(|a| a.slice(group.start, group.len())).collect()
            };
            groups.iter().map(|group| body(&of_group(group))).collect()
        })
    }

    /// As `new`, for bodies that take many groups at once: the rows of all of them, one group after the other, and
    /// where each one's are. It gives a value for each.
    pub fn over_groups(
        name: &str,
        arguments: Vec<Type>,
        returns: Type,
        body: impl Fn(&[ArrayRef], &[Range<usize>]) -> Result<Vec<Value>> + Send + Sync + 'static,
    ) -> Self {
        AggregateFunction { signature: Signature::new(name, arguments, returns), body: Arc::new(body) }
    }

    /// The function sees rows with NULLs, and is called for groups without rows.
    #[must_use]
    pub fn sees_nulls(mut self) -> Self {
        self.signature.sees_nulls = true;
        self
    }
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.signature.name)
    }
}

impl fmt::Debug for AggregateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.signature.name)
    }
}

/// A function that `Database::create_function` takes.
pub trait IntoFunction {
    /// Its name, and what the front end makes of it.
    #[doc(hidden)]
    fn into_function(self) -> Result<(String, External)>;
}

impl IntoFunction for ScalarFunction {
    fn into_function(self) -> Result<(String, External)> {
        let ScalarFunction { signature, body } = self;
        let name = signature.name.clone();
        let code = signature.clone();
        let code = move |inputs: &[Vector], rows: usize| scalar(&code, &*body, inputs, rows);
        Ok((
            name,
            External::Scalar(external(
                &signature.name,
                signature.arguments,
                signature.returns,
                signature.volatile,
                code,
            )),
        ))
    }
}

impl IntoFunction for AggregateFunction {
    fn into_function(self) -> Result<(String, External)> {
        let AggregateFunction { signature, body } = self;
        let rows = Arc::new(PackedRows::new(&signature)?);
        let (name, returns) = (signature.name.clone(), signature.returns);
        let packing = rows.clone();
        let pack = external(
            &format!("rows of {name}"),
            signature.arguments.clone(),
            Type::Bytea,
            false,
            move |inputs: &[Vector], count: usize| packing.pack(inputs, count),
        );
        let finish =
            external(&name, vec![Type::Bytea], returns, false, move |inputs: &[Vector], count: usize| {
                aggregate(&signature, &rows, &*body, inputs, count)
            });
        Ok((name, External::Aggregate { pack, finish }))
    }
}

fn external(
    name: &str,
    arguments: Vec<Type>,
    returns: Type,
    volatile: bool,
    code: impl Fn(&[Vector], usize) -> Result<Vector> + Send + Sync + 'static,
) -> Arc<ExternalFunction> {
    let body = Some(expr::keep(Arc::new(code)));
    Arc::new(ExternalFunction { name: name.into(), arguments, returns, volatile, body })
}

impl Database {
    /// Makes a function callable from SQL, for all sessions. Its name may not be one of the functions there are; with
    /// `replace` it may be one of an earlier `create_function`.
    pub fn create_function(&self, function: impl IntoFunction, replace: bool) -> Result<()> {
        let (name, external) = function.into_function()?;
        if name.is_empty() {
            return Err(Error::new(SqlState::InvalidParameterValue, "a function needs a name"));
        }
        // These two are no functions, but are written like some.
        let is_syntax = ["grouping", "columns"].contains(&name.as_str());
        if is_syntax || sql::functions().iter().any(|known| known.name == name) {
            return Err(Error::new(
                SqlState::DuplicateFunction,
                format!("function \"{name}\" already exists"),
            )
            .with_hint("it is one of the engine's own; choose another name"));
        }
        let taken = self.shared.catalog.snapshot().macros().contains_key(&name);
        self.shared.definitions.create_external(name, external, replace, taken)
    }

    /// Forgets a function of `create_function`; false when there is none of that name. Statements that run go on.
    pub fn drop_function(&self, name: &str) -> bool {
        self.shared.definitions.drop_external(&name.to_lowercase())
    }
}

fn raised(name: &str, error: &ArrowError) -> Error {
    Error::new(SqlState::ExternalRoutineException, format!("function {name}: {error}"))
}

/// The arrays of a batch, all of the same length.
fn arrays(inputs: &[Vector]) -> Vec<ArrayRef> {
    inputs.iter().map(to_array).collect()
}

/// Which rows have a value in every argument; `None` when all do.
fn complete(arguments: &[ArrayRef], name: &str) -> Result<Option<BooleanArray>> {
    let mut mask: Option<BooleanArray> = None;
    for argument in arguments.iter().filter(|a| a.logical_null_count() > 0) {
        let valid = is_not_null(argument).map_err(|e| raised(name, &e))?;
        mask = Some(match mask {
            None => valid,
            Some(mask) => arrow::compute::and(&mask, &valid).map_err(|e| raised(name, &e))?,
        });
    }
    Ok(mask)
}

fn scalar(signature: &Signature, body: &ScalarBody, inputs: &[Vector], rows: usize) -> Result<Vector> {
    let name = &signature.name;
    let arguments = arrays(inputs);
    let mask = if signature.sees_nulls { None } else { complete(&arguments, name)? };
    let Some(mask) = mask else {
        return counted(signature, &body(&arguments, rows)?, rows);
    };
    let seen = mask.true_count();
    if seen == 0 {
        return Ok(Vector::constant(signature.returns, Value::Null, rows));
    }
    let arguments = arguments.iter().map(|a| filter(a, &mask)).collect::<std::result::Result<Vec<_>, _>>();
    let result = body(&arguments.map_err(|e| raised(name, &e))?, seen)?;
    checked_length(name, &result, seen)?;
    // Each row that was seen takes the next result.
    let mut next = 0u32;
    let places = mask.values().iter().map(|seen| {
        seen.then(|| {
            next += 1;
            next - 1
        })
    });
    let places: UInt32Array = places.collect();
    let spread = take(&result, &places, None).map_err(|e| raised(name, &e))?;
    counted(signature, &spread, rows)
}

fn checked_length(name: &str, result: &ArrayRef, rows: usize) -> Result<()> {
    if result.len() == rows {
        return Ok(());
    }
    let message = format!("function {name} gave {} values for {rows} rows", result.len());
    Err(Error::new(SqlState::ExternalRoutineException, message))
}

/// A result as a vector of the declared type, in memory of our own: it is counted, and the host program cannot change
/// it.
fn counted(signature: &Signature, result: &ArrayRef, rows: usize) -> Result<Vector> {
    let Signature { name, returns, .. } = signature;
    checked_length(name, result, rows)?;
    let wanted = arrow_type(*returns);
    let cast = if *result.data_type() == wanted {
        result.clone()
    } else {
        let options = CastOptions { safe: false, ..Default::default() };
        cast_with_options(result, &wanted, &options).map_err(|e| {
            let message = format!(
                "function {name} gave {}, which is no {}: {e}",
                result.data_type(),
                returns.sql_name()
            );
            Error::new(SqlState::ExternalRoutineException, message)
        })?
    };
    let vector = from_array(cast.as_ref(), *returns)?.flatten();
    let everything: Vec<u32> = (0..rows as u32).collect();
    let copied = vector.gather(&everything);
    Ok(match copied.data() {
        Data::Bytes(strings) if returns.physical() == Physical::Bytes => {
            Vector::new(*returns, Data::Bytes(strings.compact()), copied.validity().cloned())
        }
        _ => copied,
    })
}

/// Rows of an aggregate's arguments as bytes: each its length in four bytes, then Arrow's row format.
struct PackedRows {
    name: String,
    converter: RowConverter,
    sees_nulls: bool,
}

impl PackedRows {
    fn new(signature: &Signature) -> Result<Self> {
        let name = signature.name.clone();
        if signature.arguments.is_empty() {
            let message = format!("aggregate function {name} needs an argument");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        let fields = signature.arguments.iter().map(|ty| SortField::new(arrow_type(*ty))).collect();
        let converter = RowConverter::new(fields).map_err(|e| raised(&name, &e))?;
        Ok(PackedRows { name, converter, sees_nulls: signature.sees_nulls })
    }

    fn pack(&self, inputs: &[Vector], rows: usize) -> Result<Vector> {
        let arguments = arrays(inputs);
        let mask = if self.sees_nulls { None } else { complete(&arguments, &self.name)? };
        let packed = self.converter.convert_columns(&arguments).map_err(|e| raised(&self.name, &e))?;
        let mut builder = StringBuilder::with_capacity(rows);
        let mut bytes = Vec::new();
        for row in &packed {
            bytes.clear();
            let data = row.data();
            let length = u32::try_from(data.len()).map_err(|_| Error::internal("a row of 4 GiB"))?;
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(data);
            builder.push(&bytes);
        }
        // A row that is NULL is passed over by the concatenation.
        let validity = mask.map(|mask| arrow::buffer::NullBuffer::new(mask.values().clone()));
        Ok(Vector::new(Type::Bytea, Data::Bytes(builder.finish()), validity))
    }

    /// The rows of all groups end to end, an array an argument, and where each group's are.
    fn unpack(&self, groups: &Vector) -> Result<(Vec<ArrayRef>, Vec<Option<Range<usize>>>)> {
        let flat = groups.flatten();
        let Data::Bytes(texts) = flat.data() else { return Err(Error::internal("packed rows are bytes")) };
        let parser = self.converter.parser();
        let mut rows = Vec::new();
        let mut ranges = Vec::with_capacity(texts.len());
        for group in 0..texts.len() {
            if flat.is_null(group) {
                ranges.push(None);
                continue;
            }
            let start = rows.len();
            let mut left = texts.get(group);
            while let Some((length, rest)) = left.split_first_chunk::<4>() {
                let length = u32::from_le_bytes(*length) as usize;
                let (row, after) = rest
                    .split_at_checked(length)
                    .ok_or_else(|| Error::internal("packed rows are cut off"))?;
                rows.push(parser.parse(row));
                left = after;
            }
            ranges.push(Some(start..rows.len()));
        }
        let arrays = self.converter.convert_rows(rows).map_err(|e| raised(&self.name, &e))?;
        Ok((arrays, ranges))
    }
}

fn aggregate(
    signature: &Signature,
    rows: &PackedRows,
    body: &AggregateBody,
    inputs: &[Vector],
    count: usize,
) -> Result<Vector> {
    let (arrays, ranges) = rows.unpack(&inputs[0])?;
    let called = |range: &Option<Range<usize>>| match range {
        Some(range) => Some(range.clone()),
        None => signature.sees_nulls.then_some(0..0),
    };
    let groups: Vec<Range<usize>> = ranges.iter().filter_map(called).collect();
    let given = body(&arrays, &groups)?;
    if given.len() != groups.len() {
        let name = &signature.name;
        let message = format!("function {name} gave {} values for {} groups", given.len(), groups.len());
        return Err(Error::new(SqlState::ExternalRoutineException, message));
    }
    let mut given = given.into_iter();
    let value =
        |range: &Option<Range<usize>>| called(range).and_then(|_| given.next()).unwrap_or(Value::Null);
    let values: Vec<Value> = ranges.iter().map(value).collect();
    debug_assert_eq!(values.len(), count);
    Ok(Vector::from_values(signature.returns, &values))
}
