//! What has an identity within a document, and so is numbered in it.
//!
//! Copies of a volatile call are one value and two calls are two (`volatility`); what tells them apart in memory is an
//! allocation, and in a document a number. A function of the host program is described once, by its name and types: its
//! body stays where it is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use types::Type;

use crate::{ExternalFunction, VOLATILE};

/// Numbers of things by where they lie, while a document is written; the things by their numbers while it is read.
struct Numbered<T: ?Sized> {
    numbers: HashMap<usize, u32>,
    things: Vec<Arc<T>>,
}

/// What a document has numbered so far.
#[derive(Default)]
struct Scope {
    calls: Numbered<str>,
    functions: Numbered<ExternalFunction>,
}

impl<T: ?Sized> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { numbers: HashMap::new(), things: Vec::new() }
    }
}

impl<T: ?Sized> Numbered<T> {
    /// The thing's number, and whether it was new. The document keeps it alive, so that nothing else comes to lie there.
    fn number(&mut self, thing: &Arc<T>) -> (u32, bool) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(Arc::as_ptr(thing).cast::<u8>() as usize).or_insert(next);
        (number, number == next)
    }
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Runs `work`, which writes or reads one document on this thread.
pub(super) fn within_document<T>(work: impl FnOnce() -> T) -> T {
    struct Before(Option<Scope>);
    impl Drop for Before {
        fn drop(&mut self) {
            SCOPE.set(self.0.take());
        }
    }
    let _before = Before(SCOPE.replace(Some(Scope::default())));
    types::written::within_document(work)
}

fn scoped<R>(work: impl FnOnce(&mut Scope) -> R) -> Option<R> {
    SCOPE.with_borrow_mut(|scope| scope.as_mut().map(work))
}

const OUTSIDE: &str = "a call outside of a document: use plan::encoding";

/// The name of a function of the library; that of a volatile one comes with the call's number.
pub(crate) mod called {
    use super::*;

    /// Writes a name.
    pub(crate) fn serialize<S: Serializer>(name: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        let number = match VOLATILE.contains(&&**name) {
            true => {
                Some(scoped(|scope| scope.calls.number(name).0).ok_or_else(|| S::Error::custom(OUTSIDE))?)
            }
            false => None,
        };
        (name, number).serialize(serializer)
    }

    /// Reads a name; equal calls share it.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        let (name, number) = <(Arc<str>, Option<u32>)>::deserialize(deserializer)?;
        let Some(number) = number else {
            return match VOLATILE.contains(&&*name) {
                true => Err(D::Error::custom("a volatile call without its number")),
                false => Ok(name),
            };
        };
        let found = scoped(|scope| {
            let calls = &mut scope.calls.things;
            if number as usize == calls.len() {
                calls.push(name.clone());
            }
            calls.get(number as usize).filter(|known| **known == name && VOLATILE.contains(&&*name)).cloned()
        });
        found.flatten().ok_or_else(|| D::Error::custom("a volatile call with a wrong number"))
    }
}

/// A function of the host program.
pub(crate) mod external {
    use super::*;

    /// A function as it is written.
    #[derive(Serialize, Deserialize)]
    enum Form {
        Known(u32),
        New { name: Arc<str>, arguments: Vec<Type>, returns: Type, volatile: bool },
    }

    /// Writes a function's number, and what it is where it comes first.
    pub(crate) fn serialize<S: Serializer>(
        function: &Arc<ExternalFunction>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let (number, new) =
            scoped(|scope| scope.functions.number(function)).ok_or_else(|| S::Error::custom(OUTSIDE))?;
        let form = match new {
            false => Form::Known(number),
            true => Form::New {
                name: function.name.clone(),
                arguments: function.arguments.clone(),
                returns: function.returns,
                volatile: function.volatile,
            },
        };
        form.serialize(serializer)
    }

    /// Reads a function, which has no body yet.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<ExternalFunction>, D::Error> {
        let function = match Form::deserialize(deserializer)? {
            Form::Known(number) => {
                return scoped(|scope| scope.functions.things.get(number as usize).cloned())
                    .flatten()
                    .ok_or_else(|| D::Error::custom("a function that the document has not described"));
            }
            Form::New { name, arguments, returns, volatile } => {
                Arc::new(ExternalFunction { name, arguments, returns, volatile, body: None })
            }
        };
        scoped(|scope| scope.functions.things.push(function.clone()))
            .ok_or_else(|| D::Error::custom(OUTSIDE))?;
        Ok(function)
    }
}
