//! What a snapshot of several databases was composed of; `mounts.rs` composes it and takes its changes apart.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::{Sequence, Snapshot, Table, TableId};

/// What must live as long as a snapshot shows an attached database.
pub type Held = Arc<dyn Any + Send + Sync>;

/// An attached database at one moment.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// Holds no point.
    pub name: String,
    /// From 1 to `MOUNTS_MAX`, given once in a process.
    pub number: u64,
    /// Its state, under its own names.
    pub snapshot: Arc<Snapshot>,
    /// Keeps the database open while the composition is in use.
    pub held: Held,
}

/// What a composed snapshot was composed of.
#[derive(Debug)]
pub(crate) struct Composition {
    pub main: Arc<Snapshot>,
    pub parts: Vec<Part>,
}

#[derive(Debug)]
pub(crate) struct Part {
    pub mounted: Mounted,
    /// The copies by their names, with what they are copies of.
    pub tables: HashMap<TableId, (Arc<Table>, Arc<Table>)>,
    /// By schema and name.
    pub sequences: HashMap<(String, String), (Arc<Sequence>, Arc<Sequence>)>,
}
