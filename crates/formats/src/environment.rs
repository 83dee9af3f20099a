//! What readers and writers work in: what may be opened, how stores are reached, and who is asked for memory.
//!
//! Everything here that opens a file, an address or a secret takes an [`Environment`] and asks its capability first. A
//! reader keeps a clone for the files that it opens later. Memory is asked for before a text or a file is held as a
//! whole: unpacked, decoded, or as a single value.

use std::fmt;
use std::sync::Arc;

use files::Capability;
use types::Result;

use crate::remote::{Stores, is_remote};

/// Says whether there is room for so many bytes.
pub type Ask = Arc<dyn Fn(u64) -> Result<()> + Send + Sync>;

/// What a statement's files are opened with. Clones are cheap, and share the stores.
#[derive(Clone)]
pub struct Environment {
    capability: Capability,
    stores: Arc<Stores>,
    ask: Option<Ask>,
}

impl fmt::Debug for Environment {
    /// Without what stores are reached with.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Environment").field("capability", &self.capability).finish_non_exhaustive()
    }
}

impl Environment {
    /// With these stores; every request for memory is granted.
    pub fn new(capability: Capability, stores: Arc<Stores>) -> Environment {
        Environment { capability, stores, ask: None }
    }

    /// The same, where `ask` says whether there is memory.
    pub fn asking(&self, ask: Ask) -> Environment {
        Environment { ask: Some(ask), ..self.clone() }
    }

    /// The same, for whom may open only this.
    pub fn under(&self, capability: Capability) -> Environment {
        Environment { capability, ..self.clone() }
    }

    /// What may be opened.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// How stores are reached.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Whether a file or an address may be opened.
    pub fn allows(&self, path: &str) -> Result<()> {
        match is_remote(path) {
            true => self.capability.address(path),
            false => self.capability.file(path),
        }
    }

    /// Asks for so many bytes.
    pub fn ask(&self, bytes: u64) -> Result<()> {
        self.ask.as_ref().map_or(Ok(()), |ask| ask(bytes))
    }

    /// For tests: all may be opened, and no store has settings.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Environment {
        Environment::new(Capability::everything(), Arc::default())
    }
}
