//! What a database knows of stores: settings, secrets, and the clients that were made under them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object_store::ObjectStore;

use super::secrets::Known;

/// How stores are reached, for all sessions of a database.
#[derive(Default)]
pub struct Stores {
    /// Those of `SETTINGS` that are set.
    settings: Mutex<BTreeMap<&'static str, String>>,
    secrets: Mutex<Known>,
    made: Mutex<Made>,
}

impl Stores {
    /// Stores without settings and temporary secrets.
    pub fn new() -> Arc<Stores> {
        Arc::default()
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clients, and the settings that they were made under.
#[derive(Default)]
pub(super) struct Made {
    pub under: String,
    pub clients: HashMap<String, Arc<dyn ObjectStore>>,
}
