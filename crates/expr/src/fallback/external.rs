//! Functions of the host program, called over vectors.

use std::sync::Arc;

use plan::ExternalFunction;
use types::{Error, Position, Result, Type};
use vector::Vector;

/// The body of an `ExternalFunction`: so many rows of its arguments, flat or constant, to as many of its result.
pub struct ExternalBody(pub Box<ExternalCode>);

/// The code of a function: arguments and the number of rows in, a vector of that many rows out. Workers may call it
/// at the same time.
pub type ExternalCode = dyn Fn(&[Vector], usize) -> Result<Vector> + Send + Sync;

/// A call in an expression.
#[derive(Debug)]
pub(super) struct ExternalCall {
    /// The function as the catalog has it; its body is an `ExternalBody`.
    pub function: Arc<ExternalFunction>,
    /// Where it stands in the statement's text, for errors.
    pub place: Option<Position>,
}

impl ExternalCall {
    /// Calls the function. An error of its own gets the call's place; a result of another length or type is an
    /// internal error.
    pub(super) fn evaluate(&self, inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
        let Some(body) = self.function.body.downcast_ref::<ExternalBody>() else {
            return Err(Error::internal(format!("function {} has no body", self.function.name)));
        };
        let result = (body.0)(inputs, rows).map_err(|error| match (error.position(), self.place) {
            (None, Some(place)) => error.at(place),
            _ => error,
        })?;
        if result.len() != rows || !result.ty().same_representation(ty) {
            let name = &self.function.name;
            let (given, found) = (result.len(), result.ty());
            return Err(Error::internal(format!(
                "function {name} gave {given} of {found} for {rows} of {ty}"
            )));
        }
        Ok(result.flatten())
    }
}
