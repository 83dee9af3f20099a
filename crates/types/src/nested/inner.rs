//! What is done with the values inside of nested ones: `cast` hands this to the files that it calls for lists, structs,
//! maps and unions, which know of no other types.

use crate::{Result, Type, Value};

/// How a value inside is cast, read and shown.
#[derive(Clone, Copy)]
pub(crate) struct Inner {
    /// Casts it; if that is lenient, a value that does not fit becomes NULL.
    pub cast: Cast,
    /// Reads it from text, as a literal has it.
    pub parse: fn(&str, Type) -> Result<Value>,
    /// Its text.
    pub show: fn(&Value, Type) -> String,
}

/// Casts a value from a type to another one, leniently or not.
pub(crate) type Cast = fn(&Value, Type, Type, bool) -> Result<Value>;
