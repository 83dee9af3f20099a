//! DataFusion's scalar function library, called by name over vectors, and a few text operators whose pattern is
//! computed. DataFusion's types occur in this module and nowhere else in the crate.
//!
//! A call is bound once: the function is found, its argument types are coerced as its signature asks, constants are
//! turned into scalars, the result's type is asked for. A batch then costs the conversions (which share buffers
//! where layouts agree) and the call itself.

mod call;
mod error;
mod external;
mod operator;

pub use external::{ExternalCode, keep};

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use datafusion_expr::{ScalarUDF, Volatility};
use plan::{Expr, ExternalFunction};
use types::{Error, Position, Result, SqlState, Type, Value};
use vector::Vector;

use crate::room::Room;
use crate::{nested, own};

/// A library function or text operator, bound to the types of its arguments.
#[derive(Debug)]
pub struct LibraryCall {
    name: Arc<str>,
    kind: Kind,
    ty: Type,
}

#[derive(Debug)]
enum Kind {
    Operator(operator::TextOperator),
    Own(own::OwnCall),
    Function(call::FunctionCall),
    /// Functions of lists, structs, maps and JSON: our own.
    Nested(nested::Kernel),
    Lambda(nested::LambdaCall),
    External(external::ExternalCall),
}

/// True when the library knows a scalar function or operator of that name; names are in lower case.
pub fn function_exists(name: &str) -> bool {
    operator::TextOperator::named(name).is_some()
        || nested::named(name).is_some()
        || own::find(name).is_some()
        || find(name).is_some()
}

/// True when two calls with equal arguments may differ (`random()`, `gen_random_uuid()`).
pub fn is_volatile(name: &str) -> bool {
    plan::VOLATILE.contains(&name)
        || find(name).is_some_and(|f| f.signature().volatility == Volatility::Volatile)
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
        if !own::gives(name, arguments, ty) {
            return Err(Error::internal(format!("function {name} gives no {ty}")));
        }
        let kind = if let Some(operator) = operator::TextOperator::named(name) {
            if arguments.len() != 2 {
                return Err(Error::internal(format!("operator {name} takes two arguments")));
            }
            Kind::Operator(operator)
        } else if let Some(kernel) = nested::named(name) {
            Kind::Nested(kernel)
        } else if let Some(call) = own::find(name).filter(|_| own::takes(name, arguments)) {
            Kind::Own(call)
        } else if let Some(function) = find(name) {
            Kind::Function(call::FunctionCall::bind(function.clone(), arguments, constants)?)
        } else {
            return Err(Error::new(SqlState::UndefinedFunction, format!("function {name} does not exist")));
        };
        Ok(LibraryCall { name: name.clone(), kind, ty })
    }
    /// A call that takes a lambda, whose body was compiled.
    pub(crate) fn bind_lambda(
        name: &Arc<str>,
        body: &Arc<Expr>,
        compiled: Box<dyn nested::LambdaBody>,
        ty: Type,
    ) -> Result<Self> {
        match nested::LambdaCall::bind(name, body, compiled) {
            Some(call) => Ok(LibraryCall { name: name.clone(), kind: Kind::Lambda(call), ty }),
            None => Err(Error::new(SqlState::UndefinedFunction, format!("function {name} takes no lambda"))),
        }
    }
    /// The body of the lambda, if the call takes one.
    pub fn body(&self) -> Option<&Expr> {
        if let Kind::Lambda(call) = &self.kind { Some(call.body()) } else { None }
    }
    /// The name of the function, for error messages and bounds on memory.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// A call of the host program's function, at its place in the statement's text.
    pub(crate) fn external(function: &Arc<ExternalFunction>, place: Option<Position>, ty: Type) -> Self {
        let call = external::ExternalCall::new(function, place);
        LibraryCall { name: function.name.clone(), kind: Kind::External(call), ty }
    }
    /// Whether two calls with equal arguments give the same.
    pub(crate) fn same(&self, other: &LibraryCall) -> bool {
        let alike = match (&self.kind, &other.kind) {
            (Kind::External(a), Kind::External(b)) => a.function.is_same(&b.function),
            (Kind::External(_), _) | (_, Kind::External(_)) => false,
            _ => self.name == other.name && self.body() == other.body(),
        };
        // Copies of one volatile call are one value: the copies have its name's allocation, or its function's.
        let external = matches!(self.kind, Kind::External(_));
        alike && (external || !self.is_volatile() || Arc::ptr_eq(&self.name, &other.name))
    }
    /// Whether each call must be made, even with equal arguments.
    pub fn is_volatile(&self) -> bool {
        match &self.kind {
            Kind::Function(call) => call.is_volatile(),
            Kind::External(call) => call.function.volatile,
            Kind::Own(_) => plan::VOLATILE.contains(&self.name()),
            Kind::Operator(_) | Kind::Nested(_) | Kind::Lambda(_) => false,
        }
    }
    /// Inputs are flat or constant.
    pub fn evaluate(&self, inputs: &[Vector], rows: usize, room: Room<'_>) -> Result<Vector> {
        match &self.kind {
            Kind::Operator(operator) => operator.evaluate(&inputs[0], &inputs[1], rows),
            Kind::Own(call) => call.evaluate(inputs, self.ty, rows, room),
            Kind::Function(call) => call.evaluate(inputs, self.ty, rows),
            Kind::Nested(kernel) => kernel(inputs, self.ty, rows),
            Kind::Lambda(call) => call.evaluate(inputs, self.ty, rows, room),
            Kind::External(call) => call.evaluate(inputs, self.ty, rows),
        }
    }
}
