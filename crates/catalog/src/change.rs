//! What a commit changes: the difference of two snapshots, as values.
//!
//! A transaction works on a snapshot of its own. What it did is found when it commits, by comparing that snapshot with
//! the one that it began with; the same list is made again on the newest snapshot (others may have committed
//! meanwhile), written to the log, and read from there after a crash:
//!
//! ```text
//!  begin    base ---- own changes ----> private          difference(base, private) = changes
//!  commit   newest -- apply(changes) -> next             conflicts are found on the way
//!  log      changes (difference(newest, next))
//!  recovery checkpoint -- apply(changes of every record) -> snapshot
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use access::{Entry, Key};
use block::Bitmap;
use types::{Error, Result, Type};

use crate::{
    BlockId, Macro, SchemaEntry, Sequence, Snapshot, StoredBlock, TEMPORARY_SCHEMA, Table, TableData,
    TableId, View,
};

/// One difference between two snapshots. Those of one commit are applied in order, all or none.
#[derive(Clone, Debug)]
pub enum Change {
    /// An empty schema of that name.
    CreateSchema(String),
    /// The schema is empty by then: what it held is dropped by earlier changes of the same commit.
    DropSchema(String),
    /// A table without its rows: they follow as `Append`.
    CreateTable(Arc<Table>),
    /// The table goes with its rows.
    DropTable(TableId),
    /// Everything of a table but its rows is as here. Its schema and name may be others than before.
    DefineTable(Arc<Table>),
    /// Rows at the end.
    Append {
        /// The table that gets the rows.
        table: TableId,
        /// The rows, in order.
        blocks: Vec<StoredBlock>,
    },
    /// Per block, one bit a row, set for those that are deleted.
    Delete {
        /// The table whose rows go.
        table: TableId,
        /// By block: one bit a row, set for the deleted ones.
        rows: Vec<(BlockId, Arc<Bitmap>)>,
    },
    /// Rows at the end, which become one block with the last block `onto`: the new block's content is the live rows
    /// of `onto` and of `blocks`, in order.
    Merge {
        /// The table that gets the rows.
        table: TableId,
        /// The last block, whose live rows come first.
        onto: BlockId,
        /// The rows that follow those.
        blocks: Vec<StoredBlock>,
        /// The number of the block that holds them all.
        into: BlockId,
    },
    /// All rows are those of these blocks, some of which may be there.
    Replace {
        /// The table whose rows change.
        table: TableId,
        /// All blocks of the table, in order.
        blocks: Vec<StoredBlock>,
    },
    /// Columns that were found to be unique.
    Unique {
        /// The table with the columns.
        table: TableId,
        /// Sets of columns, by position, of which no two rows agree.
        columns: Vec<Vec<usize>>,
    },
    /// The view under a name from here on; `None` drops it.
    View {
        /// The schema that the view is in.
        schema: String,
        /// The view's name.
        name: String,
        /// Its definition.
        view: Option<Arc<View>>,
    },
    /// The sequence under a name from here on; `None` drops it.
    Sequence {
        /// The schema that the sequence is in.
        schema: String,
        /// The sequence's name.
        name: String,
        /// Its definition and state.
        sequence: Option<Arc<Sequence>>,
    },
    /// CREATE TYPE: a type under a name; `None` drops it.
    Type {
        /// The type's name.
        name: String,
        /// Its definition.
        ty: Option<Arc<Type>>,
    },
    /// CREATE MACRO: a macro under a name; `None` drops it.
    Macro {
        /// The macro's name.
        name: String,
        /// Its definition.
        text: Option<Arc<Macro>>,
    },
    /// COMMENT ON: a comment under a key of kind, schema and name; `None` takes it away.
    Comment {
        /// What it is about.
        key: String,
        /// The comment.
        text: Option<Arc<String>>,
    },
    /// An entry about access under a key; `None` takes it away.
    Access {
        /// What the entry is about.
        key: Key,
        /// Who may do what, or who a role is.
        entry: Option<Arc<Entry>>,
    },
    /// A wide table shows another build, or none.
    Build {
        /// The wide table.
        table: TableId,
        /// The build that it shows.
        build: Option<u64>,
    },
}

impl Change {
    /// The table that it is about, if it is there before and after.
    pub fn table(&self) -> Option<TableId> {
        match self {
            Self::Append { table, .. }
            | Self::Delete { table, .. }
            | Self::Merge { table, .. }
            | Self::Replace { table, .. }
            | Self::Build { table, .. }
            | Self::Unique { table, .. } => Some(*table),
            Self::DefineTable(table) => Some(table.id),
            _ => None,
        }
    }
}

/// Blocks that changes bring.
pub(crate) fn brought_by(changes: &[Change]) -> impl Iterator<Item = &StoredBlock> {
    changes.iter().flat_map(|change| match change {
        Change::Append { blocks, .. } | Change::Merge { blocks, .. } | Change::Replace { blocks, .. } => {
            blocks.as_slice()
        }
        _ => &[],
    })
}

/// What is permanent: temporary tables, views and sequences end with the process.
pub fn permanent_difference(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
    of_schemas(before, after, |name| name != TEMPORARY_SCHEMA)
}

/// What changes `before` to `after`.
pub fn difference(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
    of_schemas(before, after, |_| true)
}

fn of_schemas(before: &Snapshot, after: &Snapshot, wanted: impl Fn(&str) -> bool) -> Vec<Change> {
    let mut changes = Vec::new();
    let tables = |snapshot: &Snapshot| -> HashMap<TableId, Arc<Table>> {
        let schemas = snapshot.schemas.iter().filter(|(name, _)| wanted(name));
        schemas.flat_map(|(_, s)| s.tables.values()).map(|t| (t.id, t.clone())).collect()
    };
    let (old, new) = (tables(before), tables(after));
    let added = after.schemas.keys().filter(|name| !before.schemas.contains_key(*name));
    changes.extend(added.cloned().map(Change::CreateSchema));
    let empty = SchemaEntry::default();
    // What goes makes room for names first; a view may take a table's name, and the other way round.
    changes.extend(sorted(old.keys().filter(|id| !new.contains_key(id))).map(Change::DropTable));
    let names: Vec<&String> = before.schemas.keys().chain(after.schemas.keys()).collect();
    let names: std::collections::BTreeSet<&String> = names.into_iter().filter(|n| wanted(n)).collect();
    for schema in &names {
        let entry = |snapshot: &'_ Snapshot| snapshot.schemas.get(*schema).cloned();
        let (old, new) = (entry(before).unwrap_or_default(), entry(after).unwrap_or_else(|| empty.clone()));
        for (name, view) in differing(&old.views, &new.views) {
            changes.push(Change::View { schema: (*schema).clone(), name, view });
        }
        for (name, sequence) in differing(&old.sequences, &new.sequences) {
            changes.push(Change::Sequence { schema: (*schema).clone(), name, sequence });
        }
    }
    // Parents come before the tables that refer to them: identities rise with creation.
    for id in sorted(new.keys()) {
        let table = &new[&id];
        match old.get(&id) {
            None => {
                changes.push(Change::CreateTable(Arc::new(table.without_rows())));
                if !table.data.stored().is_empty() {
                    changes.push(Change::Append { table: id, blocks: bare(table.data.stored()) });
                }
                let columns = table.data.proven();
                if !columns.is_empty() {
                    changes.push(Change::Unique { table: id, columns });
                }
            }
            Some(old) if !Arc::ptr_eq(old, table) => of_table(old, table, &mut changes),
            Some(_) => {}
        }
    }
    for (name, ty) in differing(&before.types, &after.types) {
        changes.push(Change::Type { name, ty });
    }
    for (name, text) in differing(&before.macros, &after.macros) {
        changes.push(Change::Macro { name, text });
    }
    for (key, text) in differing(&before.comments, &after.comments) {
        if wanted(TEMPORARY_SCHEMA) || !crate::comments::is_temporary(&key) {
            changes.push(Change::Comment { key, text });
        }
    }
    if !Arc::ptr_eq(&before.access, &after.access) {
        let of_both = |key: &Key| before.is_temporary_entry(key) || after.is_temporary_entry(key);
        let logged = |key: &Key| wanted(TEMPORARY_SCHEMA) || !of_both(key);
        let entries = differing(before.access.entries(), after.access.entries());
        let entries = entries.into_iter().filter(|(key, _)| logged(key));
        changes.extend(entries.map(|(key, entry)| Change::Access { key, entry }));
    }
    let gone = before.schemas.keys().filter(|name| !after.schemas.contains_key(*name));
    changes.extend(gone.cloned().map(Change::DropSchema));
    changes
}

fn sorted<'a>(ids: impl Iterator<Item = &'a TableId>) -> impl Iterator<Item = TableId> {
    let mut ids: Vec<TableId> = ids.copied().collect();
    ids.sort_unstable();
    ids.into_iter()
}

type Entries<K, T> = std::collections::BTreeMap<K, Arc<T>>;

/// Names with another value than before, those that are gone first.
fn differing<K: Ord + Clone, T>(before: &Entries<K, T>, after: &Entries<K, T>) -> Vec<(K, Option<Arc<T>>)> {
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), None));
    let same = |name: &K, value: &Arc<T>| before.get(name).is_some_and(|old| Arc::ptr_eq(old, value));
    let new = after.iter().filter(|(name, value)| !same(name, value));
    gone.chain(new.map(|(name, value)| (name.clone(), Some(value.clone())))).collect()
}

/// Blocks without what they were merged of.
fn bare(blocks: &[StoredBlock]) -> Vec<StoredBlock> {
    blocks.iter().map(|b| StoredBlock { merged_of: None, ..b.clone() }).collect()
}

fn of_table(old: &Table, new: &Table, changes: &mut Vec<Change>) {
    if !old.same_definition(new) {
        changes.push(Change::DefineTable(Arc::new(new.without_rows())));
    }
    let rebuilt = new.wide.is_some() && new.build != old.build && new.build.is_some();
    of_data(old, new, rebuilt, changes);
    if old.build != new.build {
        changes.push(Change::Build { table: new.id, build: new.build });
    }
}

/// `rebuilt`: all rows are new, whatever they look like.
fn of_data(old: &Table, new: &Table, rebuilt: bool, changes: &mut Vec<Change>) {
    if Arc::ptr_eq(&old.data, &new.data) {
        return;
    }
    let table = new.id;
    match of_rows(table, &old.data, &new.data).filter(|_| !rebuilt) {
        Some(found) => changes.extend(found),
        None => changes.push(Change::Replace { table, blocks: bare(new.data.stored()) }),
    }
    let known: HashSet<Vec<usize>> = old.data.proven().into_iter().collect();
    let columns: Vec<_> = new.data.proven().into_iter().filter(|set| !known.contains(set)).collect();
    if !columns.is_empty() {
        changes.push(Change::Unique { table, columns });
    }
}

/// Rows deleted, the last block merged, rows added; `None` when more than that has happened.
fn of_rows(table: TableId, old: &TableData, new: &TableData) -> Option<Vec<Change>> {
    let (before, after) = (old.stored(), new.stored());
    let kept = before.iter().zip(after).take_while(|(b, a)| b.id == a.id).count();
    let mut deleted = Vec::new();
    for (b, a) in before[..kept].iter().zip(after) {
        if !Arc::ptr_eq(&b.block, &a.block) {
            return None;
        }
        deleted.extend(deletions_since(b, a)?);
    }
    let mut changes = Vec::new();
    let mut rest = &after[kept..];
    let mut merge = None;
    match &before[kept..] {
        [] => {}
        [last] => {
            let (merged, others) = rest.split_first()?;
            let parts = merged.merged_of.as_deref()?;
            let (first, fresh) = parts.split_first()?;
            // A block of the same name may have lost or gained columns before it was merged.
            if first.id != last.id || !Arc::ptr_eq(&first.block, &last.block) {
                return None;
            }
            deleted.extend(deletions_since(last, first)?);
            // Rows that were deleted after the blocks were merged.
            let later = merged.deleted.is_some().then(|| {
                let gone = merged.deleted.as_ref().map(|d| inverted(&d.live));
                gone.map(|gone| (merged.id, Arc::new(gone)))
            });
            merge = Some((
                Change::Merge { table, onto: last.id, blocks: bare(fresh), into: merged.id },
                later.flatten(),
            ));
            rest = others;
        }
        _ => return None,
    }
    if !deleted.is_empty() {
        changes.push(Change::Delete { table, rows: deleted });
    }
    if let Some((change, later)) = merge {
        changes.push(change);
        changes.extend(later.map(|rows| Change::Delete { table, rows: vec![rows] }));
    }
    if !rest.is_empty() {
        changes.push(Change::Append { table, blocks: bare(rest) });
    }
    Some(changes)
}

fn inverted(live: &Bitmap) -> Bitmap {
    let mut gone = live.clone();
    gone.negate();
    gone
}

/// The rows that `after` lacks and `before` has, or `Some(None)` when there are none; `None` when rows came back.
fn deletions_since(before: &StoredBlock, after: &StoredBlock) -> Option<Option<(BlockId, Arc<Bitmap>)>> {
    match (&before.deleted, &after.deleted) {
        (None, None) => Some(None),
        (Some(b), Some(a)) if Arc::ptr_eq(b, a) => Some(None),
        (None, Some(a)) => Some(Some((before.id, Arc::new(inverted(&a.live))))),
        (Some(_), None) => None,
        (Some(b), Some(a)) => {
            let mut back = a.live.clone();
            back.and_not(&b.live);
            if !back.none() {
                return None;
            }
            let mut gone = b.live.clone();
            gone.and_not(&a.live);
            Some((!gone.none()).then(|| (before.id, Arc::new(gone))))
        }
    }
}

/// The error for a log or checkpoint whose parts do not go together.
pub(crate) fn does_not_fit(what: &str) -> Error {
    Error::new(types::SqlState::DataCorrupted, format!("a logged change does not fit: {what}"))
}

/// Blocks by name, for `Replace`: those that are there keep what the table knows of them.
pub(crate) fn replaced(data: &TableData, types: &[types::Type], blocks: &[StoredBlock]) -> Result<TableData> {
    let fits = |b: &StoredBlock| {
        b.block.columns() == types.len() && types.iter().enumerate().all(|(at, ty)| b.block.ty(at) == *ty)
    };
    if !blocks.iter().all(fits) {
        return Err(does_not_fit("a block has other columns than its table"));
    }
    let mut replaced = TableData::empty(types).append_stored(blocks.to_vec());
    replaced.remember_moves_of(data);
    Ok(replaced)
}
