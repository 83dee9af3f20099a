//! What is said of a function where it is declared: what it takes and gives, its page, its code.

use types::Type;

use crate::own;

/// What a parameter takes; an argument of another type is cast where that loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A value of that type.
    Is(Type),
    /// SMALLINT, INTEGER or BIGINT, as it is.
    Integer,
    /// A number of any type, as it is.
    Number,
    /// A value of any type, as it is.
    Any,
}

/// The result's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// That type.
    Is(Type),
    /// The type of the first argument.
    First,
}

/// A function's parameters and result.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The parameters, in order.
    pub takes: &'static [Takes],
    /// How many of `takes`, from the end, may be left out.
    pub optional: usize,
    /// What any number of further arguments must be.
    pub rest: Option<Takes>,
    /// The result's type.
    pub gives: Gives,
    /// NULL as soon as an argument is.
    pub strict: bool,
}

/// What a function's page says of it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The group of functions that the reference lists it under.
    pub category: &'static str,
    /// The call with its parameters' names; brackets hold what may be left out, forms are separated by `; `.
    pub usage: &'static str,
    /// What the function computes, in one sentence.
    pub description: &'static str,
    /// An expression.
    pub example: &'static str,
    /// The example's values, separated by `, `; nothing where it depends on the moment.
    pub result: &'static str,
}

/// A function: all there is to say of it.
#[derive(Clone, Copy, Debug)]
pub struct ScalarFunction {
    /// The name that binding and evaluation look it up by; names with blanks cannot be called from SQL.
    pub name: &'static str,
    /// In order of preference.
    pub signatures: &'static [Signature],
    /// `None` of functions that only binding calls.
    pub page: Option<Page>,
    /// How it is evaluated.
    pub(crate) code: own::Code,
    /// The same over whole batches, where it has that.
    pub(crate) batch: Option<own::Batch>,
}

impl ScalarFunction {
    /// True where a text may call it: the others are made by binding.
    pub fn is_callable(&self) -> bool {
        self.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !self.name.ends_with("_field")
    }
}
