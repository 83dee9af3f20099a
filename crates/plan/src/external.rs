//! Functions that the host program brings along.
//!
//! A plan carries them as they are: a name, types, and a body that only crate `expr` looks into. An aggregate is two
//! scalar functions around a concatenation: `pack` turns a row's arguments into bytes, `string_agg` without a delimiter
//! puts a group's rows together, and `finish` takes them apart and calls the program's function. So an aggregate of the
//! program works wherever `string_agg` does: with DISTINCT, FILTER, grouping sets and windows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use types::Type;

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
    /// What evaluates it: crate `expr` knows its form.
    pub body: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for ExternalFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// What a name of the host program's stands for.
#[derive(Clone, Debug)]
pub enum External {
    Scalar(Arc<ExternalFunction>),
    Aggregate {
        /// The arguments' types are this one's.
        pack: Arc<ExternalFunction>,
        finish: Arc<ExternalFunction>,
    },
}
