//! Symmetric objects: one value a locale under one number; and exported ones: a task's own value that others can reach.
//!
//! Invariant: bodies on one value exclude each other, whoever runs them, and none of them can wait. Tasks call it; over
//! processes only registered delegates reach a value.

use std::sync::{Arc, Weak};

use memory::Reservation;

use crate::address::{GlobalAddress, LocaleId};
use crate::delegate::{Delegate, run_on, send_to};
use crate::error::GlobalError;
use crate::here::Here;
use crate::packet::EventId;
use crate::parts::{Object, Parts};
use crate::process::Process;

struct Inner<T: Send + 'static> {
    parts: Arc<Parts<T>>,
    id: u16,
    process: Weak<Process>,
}

impl<T: Send + 'static> Drop for Inner<T> {
    fn drop(&mut self) {
        if let Some(process) = self.process.upgrade() {
            process.remove_object(self.id);
        }
    }
}

/// One value for each locale of this process, each with its own contents; a program over several processes makes one on
/// each of them in the same order, so that the numbers agree ([`Symmetric::on_node`]).
pub struct Symmetric<T: Send + 'static>(Arc<Inner<T>>);

impl<T: Send + 'static> Clone for Symmetric<T> {
    fn clone(&self) -> Self {
        Symmetric(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> Symmetric<T> {
    /// A value for each locale of this process, made in the order of locales. `T`'s own size is charged; what it points to
    /// is its maker's to charge.
    pub fn new(here: &Here, make: impl FnMut(LocaleId) -> T) -> Result<Self, GlobalError> {
        Self::on_process(&here.0.process, None, make)
    }

    pub(crate) fn on_process(
        process: &Arc<Process>,
        id: Option<u16>,
        make: impl FnMut(LocaleId) -> T,
    ) -> Result<Self, GlobalError> {
        let own = process.config.locales;
        let charge: Reservation = process.config.budget.reserve((own * size_of::<T>()) as u64)?;
        let ids = (0..own).map(|at| LocaleId((process.first_locale() + at) as u16));
        let parts = Arc::new(Parts::new(ids.map(make), charge));
        let object = Arc::clone(&parts) as Arc<dyn Object>;
        let id = match id {
            Some(id) => {
                process.put_object(id, object);
                id
            }
            None => process.add_object(object)?,
        };
        Ok(Symmetric(Arc::new(Inner { parts, id, process: Arc::downgrade(process) })))
    }

    /// The address of a locale's value, of whatever process: what registered delegates are sent to.
    pub fn address(&self, locale: LocaleId) -> GlobalAddress {
        GlobalAddress::place(locale, self.0.id, 0)
    }

    /// Works on this locale's own value.
    pub fn with<R>(&self, here: &Here, body: impl FnOnce(&mut T) -> R) -> R {
        let value = self.0.parts.with(here.0.index, body);
        value.expect("each locale of the process has a part")
    }

    /// Works on the values of all locales of this process, one after another.
    pub fn each<R>(&self, mut body: impl FnMut(&mut T) -> R) -> Vec<R> {
        (0..).map_while(|part| self.0.parts.with(part, &mut body)).collect()
    }

    /// Runs a body on a locale's value; ends with what it returns. A locale of another process ends the program with an
    /// error: closures do not cross, registered delegates do ([`Here::call`]).
    pub fn delegate<R, F>(&self, here: &Here, locale: LocaleId, body: F) -> Delegate<R>
    where
        R: Send + 'static,
        F: FnOnce(&mut T) -> R + Send + 'static,
    {
        match here.0.process.own(locale) {
            Some(own) => run_on(here, &self.0.parts, own, body),
            None => Delegate::never(here, elsewhere(locale)),
        }
    }

    /// As `delegate`, without waiting: it is over when the event is.
    pub fn send(
        &self,
        here: &Here,
        event: EventId,
        locale: LocaleId,
        body: impl FnOnce(&mut T) + Send + 'static,
    ) {
        match here.0.process.own(locale) {
            Some(own) => send_to(here, &self.0.parts, own, event, body),
            None => here.fail(elsewhere(locale)),
        }
    }
}

fn elsewhere(locale: LocaleId) -> GlobalError {
    GlobalError::Argument {
        what: "the locale of a closure",
        given: format!("{}, which is of another process: register a delegate for it", locale.0),
    }
}

/// A value of this locale that others reach by its address.
pub struct Exported<T: Send + 'static> {
    symmetric: Symmetric<Option<T>>,
    locale: LocaleId,
}

impl<T: Send + 'static> Clone for Exported<T> {
    fn clone(&self) -> Self {
        Exported { symmetric: self.symmetric.clone(), locale: self.locale }
    }
}

impl<T: Send + 'static> Exported<T> {
    /// Runs a body on the value, wherever the caller is; none after it was taken back.
    pub fn delegate<R, F>(&self, here: &Here, body: F) -> Delegate<Option<R>>
    where
        R: Send + 'static,
        F: FnOnce(&mut T) -> R + Send + 'static,
    {
        self.symmetric.delegate(here, self.locale, |value| value.as_mut().map(body))
    }

    /// Its address.
    pub fn address(&self) -> GlobalAddress {
        self.symmetric.address(self.locale)
    }

    /// Takes the value back; once.
    pub fn take(&self, here: &Here) -> Delegate<Option<T>> {
        self.symmetric.delegate(here, self.locale, Option::take)
    }
}

impl Here {
    /// Makes a value of this locale reachable for others.
    pub fn export<T: Send + 'static>(&self, value: T) -> Result<Exported<T>, GlobalError> {
        let (mut value, locale) = (Some(value), self.locale());
        let symmetric = Symmetric::new(self, |at| if at == locale { value.take() } else { None })?;
        Ok(Exported { symmetric, locale })
    }
}
