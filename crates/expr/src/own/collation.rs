//! The collation that a call names.

use std::cell::RefCell;

use types::{Collation, Result, Value};

thread_local! {
    /// The name that was read last: all rows of a call have the same.
    static LAST: RefCell<(String, Collation)> = const { RefCell::new((String::new(), Collation::BINARY)) };
}

/// What `make` gives for the collation of that name.
pub(super) fn named(name: &str, make: impl FnOnce(Collation) -> Value) -> Result<Value> {
    let collation = LAST.with_borrow_mut(|(known, collation)| {
        if known != name {
            *collation = Collation::named(name)?;
            known.clear();
            known.push_str(name);
        }
        Ok(*collation)
    })?;
    Ok(make(collation))
}
