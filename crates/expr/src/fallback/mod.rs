//! DataFusion's scalar function library, called by name over vectors, and a few text operators whose pattern is
//! computed. DataFusion's types occur in this module and nowhere else in the crate.
//!
//! A call is bound once: the function is found, its argument types are coerced as its signature asks, constants are
//! turned into scalars, the result's type is asked for. A batch then costs the conversions (which share buffers
//! where layouts agree) and the call itself.

mod call;
mod error;
mod operator;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use datafusion_expr::{ScalarUDF, Volatility};
use types::{Error, Result, SqlState, Type, Value};
use vector::Vector;

use crate::own;

/// A library function or text operator, bound to the types of its arguments.
#[derive(Debug)]
pub(crate) struct LibraryCall {
    name: Arc<str>,
    kind: Kind,
    ty: Type,
}

#[derive(Debug)]
enum Kind {
    Operator(operator::TextOperator),
    Own(own::OwnCall),
    Function(call::FunctionCall),
}

/// True when the library knows a scalar function or operator of that name; names are in lower case.
pub fn function_exists(name: &str) -> bool {
    operator::TextOperator::named(name).is_some() || own::find(name).is_some() || find(name).is_some()
}

/// True when two calls with equal arguments may differ (`random()`, `gen_random_uuid()`).
pub fn is_volatile(name: &str) -> bool {
    find(name).is_some_and(|f| f.signature().volatility == Volatility::Volatile)
}

fn find(name: &str) -> Option<&'static Arc<ScalarUDF>> {
    static FUNCTIONS: OnceLock<HashMap<String, Arc<ScalarUDF>>> = OnceLock::new();
    let functions = FUNCTIONS.get_or_init(|| {
        let mut by_name = HashMap::new();
        for function in datafusion_functions::all_default_functions() {
            for alias in function.aliases() {
                by_name.entry(alias.clone()).or_insert_with(|| function.clone());
            }
            by_name.insert(function.name().to_owned(), function);
        }
        by_name
    });
    functions.get(name)
}

impl LibraryCall {
    /// `constants` holds the value of each argument that is a literal.
    pub(crate) fn bind(
        name: &Arc<str>,
        arguments: &[Type],
        constants: &[Option<Value>],
        ty: Type,
    ) -> Result<Self> {
        let kind = if let Some(operator) = operator::TextOperator::named(name) {
            if arguments.len() != 2 {
                return Err(Error::internal(format!("operator {name} takes two arguments")));
            }
            Kind::Operator(operator)
        } else if let Some(call) = own::find(name).filter(|_| own::takes(name, arguments)) {
            Kind::Own(call)
        } else if let Some(function) = find(name) {
            Kind::Function(call::FunctionCall::bind(function.clone(), arguments, constants)?)
        } else {
            return Err(Error::new(SqlState::UndefinedFunction, format!("function {name} does not exist")));
        };
        Ok(LibraryCall { name: name.clone(), kind, ty })
    }
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
    /// Whether each call must be made, even with equal arguments.
    pub(crate) fn is_volatile(&self) -> bool {
        matches!(&self.kind, Kind::Function(call) if call.is_volatile())
    }
    /// Inputs are flat or constant.
    pub(crate) fn evaluate(&self, inputs: &[Vector], rows: usize) -> Result<Vector> {
        match &self.kind {
            Kind::Operator(operator) => operator.evaluate(&inputs[0], &inputs[1], rows),
            Kind::Own(call) => call.evaluate(inputs, self.ty, rows),
            Kind::Function(call) => call.evaluate(inputs, self.ty, rows),
        }
    }
}
