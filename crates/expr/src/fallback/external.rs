//! Functions of the host program, called over vectors.
//!
//! Plans name a function's code by a handle (`plan::FunctionHandle`); the code is kept here as long as there is a handle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use plan::{ExternalFunction, FunctionHandle, Held};
use types::{Error, Position, Result, Type};
use vector::Vector;

/// The code of a function: arguments, flat or constant, and the number of rows in, a vector of that many rows out.
/// Workers may call it at the same time.
pub type ExternalCode = dyn Fn(&[Vector], usize) -> Result<Vector> + Send + Sync;

static KEPT: LazyLock<RwLock<HashMap<u64, Arc<ExternalCode>>>> = LazyLock::new(RwLock::default);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The number of code that is kept.
struct Kept(u64);

impl Held for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        let code = KEPT.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        // What it holds may be handles of other functions: the lock is free again.
        drop(code);
    }
}

/// Keeps the code until the last handle is dropped.
pub fn keep(code: Arc<ExternalCode>) -> FunctionHandle {
    let number = NEXT.fetch_add(1, Relaxed);
    KEPT.write().unwrap_or_else(PoisonError::into_inner).insert(number, code);
    FunctionHandle::new(number, Arc::new(Kept(number)))
}

/// The code of a handle.
fn code_of(handle: &FunctionHandle) -> Option<Arc<ExternalCode>> {
    KEPT.read().unwrap_or_else(PoisonError::into_inner).get(&handle.number()).cloned()
}

/// A call in an expression.
pub(super) struct ExternalCall {
    /// The function as the catalog has it.
    pub function: Arc<ExternalFunction>,
    /// What evaluates it; `None` for a function of another process.
    code: Option<Arc<ExternalCode>>,
    /// Where it stands in the statement's text, for errors.
    pub place: Option<Position>,
}

impl std::fmt::Debug for ExternalCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.function.fmt(f)
    }
}

impl ExternalCall {
    /// A call of the function; without a body it ends in an error when it is evaluated.
    pub(super) fn new(function: &Arc<ExternalFunction>, place: Option<Position>) -> Self {
        let code = function.body.as_ref().and_then(code_of);
        ExternalCall { function: function.clone(), code, place }
    }

    /// Calls the function. An error of its own gets the call's place; a result of another length or type is an
    /// internal error.
    pub(super) fn evaluate(&self, inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
        let Some(code) = &self.code else {
            self.function.body()?;
            return Err(Error::internal(format!("function {} has no body", self.function.name)));
        };
        let result = code(inputs, rows).map_err(|error| match (error.position(), self.place) {
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

#[cfg(test)]
mod tests {
    use types::{SqlState, Value};

    use super::*;

    fn function(body: Option<FunctionHandle>) -> Arc<ExternalFunction> {
        let (arguments, returns) = (vec![], Type::BigInt);
        Arc::new(ExternalFunction { name: "seven".into(), arguments, returns, volatile: false, body })
    }

    fn evaluate(function: &Arc<ExternalFunction>) -> Result<Vector> {
        ExternalCall::new(function, None).evaluate(&[], Type::BigInt, 2)
    }

    #[test]
    fn code_is_kept_as_long_as_its_handles() {
        let held = Arc::new(());
        let inside = held.clone();
        let code = move |_: &[Vector], rows: usize| {
            let _ = &inside;
            Ok(Vector::from_i64(Type::BigInt, vec![7; rows]))
        };
        let seven = function(Some(keep(Arc::new(code))));
        assert_eq!(evaluate(&seven).unwrap().value(1), Value::I64(7));
        let copy = Arc::new(ExternalFunction::clone(&seven));
        drop(seven);
        assert_eq!(evaluate(&copy).unwrap().value(0), Value::I64(7));
        assert_eq!(Arc::strong_count(&held), 2);
        drop(copy);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_function_of_another_process_is_an_error() {
        let error = evaluate(&function(None)).unwrap_err();
        assert_eq!(error.state(), SqlState::UndefinedFunction);
        assert!(error.message().contains("seven"));
    }
}
