//! Functions of the host program, called over vectors.

use std::sync::Arc;

use plan::ExternalFunction;
use types::{Error, Position, Result, Type};
use vector::Vector;

/// A call in an expression.
#[derive(Debug)]
pub(super) struct ExternalCall {
    /// The function as the catalog has it.
    pub function: Arc<ExternalFunction>,
    /// Where it stands in the statement's text, for errors.
    pub place: Option<Position>,
}

impl ExternalCall {
    /// Calls the function. An error of its own gets the call's place; a result of another length or type is an
    /// internal error.
    pub(super) fn evaluate(&self, inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
        let result = self.function.body()?.evaluate(inputs, rows).map_err(|error| match (error.position(), self.place) {
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
