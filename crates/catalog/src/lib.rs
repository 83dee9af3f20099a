//! Relations: their columns, keys, options, blocks and statistics, as immutable snapshots.
//!
//! Readers take a `Snapshot` and keep it: nothing they see changes. Writers go through `Catalog::commit`, which hands
//! them a draft of the newest snapshot under a lock and publishes it when the closure succeeds. A statement that adds
//! rows evaluates against its snapshot, then appends in a commit that checks that the table is still the version it
//! verified its keys against.
//!
//! The catalog knows no plans and evaluates nothing but bounds.
#![forbid(unsafe_code)]

mod alter;
mod apply;
mod catalog;
mod change;
mod comments;
mod composition;
mod data;
mod draft;
mod grants;
mod identity;
mod mounts;
mod objects;
mod partitioning;
mod sketches;
mod snapshot;
pub mod store;
mod table;
#[cfg(test)]
mod tests;
mod unique;
mod wide;
mod zones;

pub use alter::AlteredTable;
pub use block::{Block, IndexKind, LayoutKind};
pub use catalog::{Catalog, CommitLog, Savepoint, Transaction, Verification, replay};
pub use change::{Change, difference, permanent_difference};
pub use comments::{CommentEntry, Commented};
pub use composition::{Held, Mounted};
pub use data::{Deleted, Encoding, Merging, StoredBlock, TableData};
pub use draft::{Append, Draft, Existing, NewTable};
pub use identity::{BlockId, PartId, TableId};
pub use mounts::{ChangedDatabase, DatabaseChanges, MOUNTS_MAX, change_composed, mount_of, name_in_database};
pub use objects::{Macro, Sequence, View, WHOLE_TABLE};
pub use partitioning::Partitioning;
pub use pool::SealedBlock;
pub use pool::{PARTITIONS_MAX, PartitionScheme};
pub use sketches::Sketches;
pub use snapshot::{DamagedTable, SchemaEntry, Snapshot};
pub use store::{Access, Checkpointed, Damage, OpenReport, Opened, Store, TEMPORARY, back_up};
pub use table::{Check, ColumnAttributes, ForeignKey, Key, Table, TableIndex, TableOptions, writer_options};
pub use types::names::{did_you_mean, nearest};
pub use wide::{WIDE_NODES_MAX, WideNode, WideTable, next_build};
pub use zones::ZoneMap;

/// The schema that unqualified names are created in. `public` is another name for it.
pub const DEFAULT_SCHEMA: &str = "main";
/// The schema of temporary tables; unqualified names are looked up here first.
pub const TEMPORARY_SCHEMA: &str = "temp";
