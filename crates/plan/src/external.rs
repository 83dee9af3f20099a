//! Functions that the host program brings along.
//!
//! A plan carries them as they are: a name, types, and the handle of a body that crate `expr` keeps. An aggregate is two
//! scalar functions around a concatenation: `pack` turns a row's arguments into bytes, `string_agg` without a delimiter
//! puts a group's rows together, and `finish` takes them apart and calls the program's function. So an aggregate of the
//! program works wherever `string_agg` does: with DISTINCT, FILTER, grouping sets and windows.
//!
//! The handle means nothing to another process. A plan that was decoded (`encoding`) has functions without one;
//! `bind_functions` gives them those that this process knows by the name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use types::{Error, Result, SqlState, Type};

use crate::{Expr, ExprKind};

/// Dropped with the last handle of a function's code, which frees the code.
pub trait Held: Send + Sync {}

/// Which code evaluates a function. Crate `expr` keeps the code under the number, as long as there is a handle.
#[derive(Clone)]
pub struct FunctionHandle {
    number: u64,
    _held: Arc<dyn Held>,
}

impl FunctionHandle {
    /// The handle of code that is kept under that number until `held` is dropped. No two have the same.
    pub fn new(number: u64, held: Arc<dyn Held>) -> Self {
        FunctionHandle { number, _held: held }
    }
    /// The number that the code is kept under in this process.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// A scalar function of the host program.
#[derive(Clone)]
pub struct ExternalFunction {
    /// The name by which SQL calls it.
    pub name: Arc<str>,
    /// The parameters' types, in order.
    pub arguments: Vec<Type>,
    /// The result's type.
    pub returns: Type,
    /// Two calls with equal arguments may differ, so that each is made.
    pub volatile: bool,
    /// What evaluates it; `None` in a plan of another process until it is bound.
    pub body: Option<FunctionHandle>,
}

impl ExternalFunction {
    /// What evaluates it.
    ///
    /// # Errors
    /// A function that was decoded and not bound has no body.
    pub fn body(&self) -> Result<&FunctionHandle> {
        self.body.as_ref().ok_or_else(|| {
            Error::new(
                SqlState::UndefinedFunction,
                format!("function {} of the host program is not known here", self.name),
            )
            .with_hint("create the function in this process before the plan runs")
        })
    }

    /// Whether two calls of the functions with equal arguments are one value: calls of a volatile function are one only
    /// as copies of each other.
    pub fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || (!self.volatile && self == other)
    }
}

/// By name, types and body.
impl PartialEq for ExternalFunction {
    fn eq(&self, other: &Self) -> bool {
        let body = |f: &Self| f.body.as_ref().map(FunctionHandle::number);
        self.name == other.name
            && self.arguments == other.arguments
            && self.returns == other.returns
            && self.volatile == other.volatile
            && body(self) == body(other)
    }
}

impl fmt::Debug for ExternalFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// Gives functions their bodies, and keeps which calls are copies of each other.
pub struct FunctionBinder<'a> {
    find: &'a dyn Fn(&ExternalFunction) -> Option<Arc<ExternalFunction>>,
    /// By where the function lay that was decoded; it is kept, so that no other comes to lie there.
    bound: HashMap<*const ExternalFunction, (Arc<ExternalFunction>, Arc<ExternalFunction>)>,
}

impl<'a> FunctionBinder<'a> {
    /// `find` gives this process's function of that name; one of other types is not taken.
    pub fn new(find: &'a dyn Fn(&ExternalFunction) -> Option<Arc<ExternalFunction>>) -> Self {
        FunctionBinder { find, bound: HashMap::new() }
    }

    /// Binds the functions of an expression that have no body.
    ///
    /// # Errors
    /// A function that is not known here, or has other types.
    pub fn bind(&mut self, expr: &mut Expr) -> Result<()> {
        match &mut expr.kind {
            ExprKind::External { function, .. } if function.body.is_none() => {
                *function = self.function(function)?;
            }
            ExprKind::Lambda(body) => {
                let mut inner = (**body).clone();
                self.bind(&mut inner)?;
                *body = Arc::new(inner);
            }
            _ => {}
        }
        expr.children_mut().into_iter().try_for_each(|child| self.bind(child))
    }

    fn function(&mut self, wanted: &Arc<ExternalFunction>) -> Result<Arc<ExternalFunction>> {
        if let Some((_, known)) = self.bound.get(&Arc::as_ptr(wanted)) {
            return Ok(known.clone());
        }
        let found = (self.find)(wanted).filter(|found| {
            found.arguments == wanted.arguments
                && found.returns == wanted.returns
                && found.volatile == wanted.volatile
        });
        let Some(found) = found else {
            wanted.body()?;
            return Ok(wanted.clone());
        };
        // Each call of a volatile function is its own.
        let found = if wanted.volatile { Arc::new(ExternalFunction::clone(&found)) } else { found };
        self.bound.insert(Arc::as_ptr(wanted), (wanted.clone(), found.clone()));
        Ok(found)
    }
}

/// What a name of the host program's stands for.
#[derive(Clone, Debug)]
pub enum External {
    /// A function of one row's values.
    Scalar(Arc<ExternalFunction>),
    /// An aggregate: rows are packed, and a function finishes the group.
    Aggregate {
        /// The arguments' types are this one's.
        pack: Arc<ExternalFunction>,
        /// Makes the group's value of its packed rows.
        finish: Arc<ExternalFunction>,
    },
}
