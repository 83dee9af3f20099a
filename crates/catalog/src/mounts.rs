//! Several databases seen as one: a snapshot composed of the main database's and those of attached ones.
//!
//! ```text
//!  main      { main: t }            compose      { main: t,            a transaction's      by_database
//!  sales     { main: t, x: u }   ----------->      sales.main: t,   ---- changes ---->   one transaction a
//!                                                  sales.x: u }                           database, own names
//! ```
//! Everything that works on a snapshot (binding, statistics, drafts, transactions) works on a composed one as it does
//! on any other: an attached database's schemas have keys, `name.schema`, and its tables names of their own, since
//! tables of different files may have the same ones: the number of the mount stands in the upper bits. Tables are
//! copied for that, their rows are not; a table that has not changed is the same copy in the next composition, so
//! that comparing pointers works as in one database.
//!
//! Commits are differences of snapshots. What a transaction has made of a composed snapshot is taken apart before it is
//! committed: each database gets the state that it would have had if the transaction had worked on it alone, with its
//! own tables wherever the copies are untouched.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use types::{Error, Result, SqlState};

use crate::change::{difference, permanent_difference};
use crate::composition::{Composition, Mounted, Part};
use crate::{
    DEFAULT_SCHEMA, DamagedTable, Draft, SchemaEntry, Sequence, Snapshot, TEMPORARY_SCHEMA, Table, TableId,
    Transaction, WideTable,
};

/// Bits of a table's name that are the table's own; those above are the mount's number.
const TABLE_BITS: u32 = 40;

/// Mounts of a process, one after the other; the numbers of later ones would not fit.
pub const MOUNTS_MAX: u64 = (1 << (63 - TABLE_BITS)) - 1;

/// One database's share of a transaction.
pub struct DatabaseChanges {
    /// `None` is the main database.
    pub mount: Option<Mounted>,
    /// Something else than temporary tables, views and sequences has changed.
    pub permanent: bool,
    /// The changes under the database's own names, ready for `Catalog::commit_transaction` of its catalog.
    pub transaction: Transaction,
}

/// One database's share of a changed state; `None` is the main database.
type Share<'s> = (Option<&'s Mounted>, Arc<Snapshot>, Snapshot);

fn shifted(id: TableId, number: u64) -> TableId {
    TableId(id.0 | number << TABLE_BITS)
}

fn own(id: TableId) -> TableId {
    TableId(id.0 & ((1 << TABLE_BITS) - 1))
}

/// The number of the mount that a table is of; `None` is the main database, or a table that is not committed yet.
pub fn mount_of(id: TableId) -> Option<u64> {
    Some(id.0 >> TABLE_BITS).filter(|number| *number > 0)
}

/// The name that a table has in its own database.
pub fn name_in_database(id: TableId) -> TableId {
    own(id)
}

fn key(mount: &str, schema: &str) -> String {
    format!("{mount}.{schema}")
}

fn renamed_wide(wide: &WideTable, name: impl Fn(TableId) -> TableId) -> WideTable {
    let mut wide = wide.clone();
    wide.nodes.iter_mut().for_each(|node| node.table = name(node.table));
    wide.only.iter_mut().flatten().for_each(|id| *id = name(*id));
    wide
}

/// A table under other names: its own, its schema's, and those of the tables that it refers to.
fn renamed(table: &Table, schema: String, name: impl Fn(TableId) -> TableId) -> Table {
    let mut renamed = Table { id: name(table.id), schema, ..table.clone() };
    renamed.foreign_keys.iter_mut().for_each(|foreign| foreign.parent = name(foreign.parent));
    renamed.wide = table.wide.as_ref().map(|wide| Arc::new(renamed_wide(wide, name)));
    renamed
}

fn renamed_sequence(sequence: &Sequence, name: impl Fn(TableId) -> TableId) -> Sequence {
    let owner = sequence.owner.map(|(table, column)| (name(table), column));
    Sequence { owner, next: sequence.next.clone(), ..*sequence }
}

impl Snapshot {
    /// The main database's state with those of the attached ones. `before` is an earlier composition: copies of tables
    /// that have not changed since are taken from it.
    pub fn composed(
        main: &Arc<Snapshot>,
        mounts: &[Mounted],
        before: Option<&Snapshot>,
        version: u64,
    ) -> Self {
        let mut composed = Snapshot { version, ..(**main).clone() };
        let mut damaged: Vec<DamagedTable> = main.damaged.to_vec();
        let earlier = before.and_then(|before| before.composition.as_ref());
        let mut parts = Vec::with_capacity(mounts.len());
        for mounted in mounts {
            let earlier =
                earlier.and_then(|e| e.parts.iter().find(|part| part.mounted.number == mounted.number));
            let number = mounted.number;
            let up = |id: TableId| shifted(id, number);
            let mut part =
                Part { mounted: mounted.clone(), tables: HashMap::new(), sequences: HashMap::new() };
            let schemas = mounted.snapshot.schemas.iter().filter(|(schema, _)| *schema != TEMPORARY_SCHEMA);
            for (schema, entry) in schemas {
                let own_key = key(&mounted.name, schema);
                let mut copy = SchemaEntry { views: entry.views.clone(), ..SchemaEntry::default() };
                for (name, table) in &entry.tables {
                    let known = earlier.and_then(|e| e.tables.get(&up(table.id)));
                    let known = known.filter(|(_, original)| Arc::ptr_eq(original, table));
                    let copied = known.map_or_else(
                        || Arc::new(renamed(table, own_key.clone(), up)),
                        |(copied, _)| copied.clone(),
                    );
                    part.tables.insert(copied.id, (copied.clone(), table.clone()));
                    copy.tables.insert(name.clone(), copied);
                }
                for (name, sequence) in &entry.sequences {
                    let place = (schema.clone(), name.clone());
                    let known = earlier.and_then(|e| e.sequences.get(&place));
                    let known = known.filter(|(_, original)| Arc::ptr_eq(original, sequence));
                    let copied = known.map_or_else(
                        || Arc::new(renamed_sequence(sequence, up)),
                        |(copied, _)| copied.clone(),
                    );
                    part.sequences.insert(place, (copied.clone(), sequence.clone()));
                    copy.sequences.insert(name.clone(), copied);
                }
                composed.schemas.insert(own_key, copy);
            }
            let named = |name: &String| key(&mounted.name, name);
            composed.macros.extend(mounted.snapshot.macros.iter().map(|(n, m)| (named(n), m.clone())));
            composed.types.extend(mounted.snapshot.types.iter().map(|(n, t)| (named(n), t.clone())));
            composed.comments.extend(mounted.snapshot.comments.iter().map(|(n, t)| (named(n), t.clone())));
            damaged.extend(mounted.snapshot.damaged.iter().map(|d| DamagedTable {
                id: up(d.id),
                schema: named(&d.schema),
                ..d.clone()
            }));
            parts.push(part);
        }
        composed.damaged = damaged.into();
        composed.composition = Some(Arc::new(Composition { main: main.clone(), parts }));
        composed
    }

    /// The attached databases that this is composed of, besides the main one.
    pub fn mounts(&self) -> impl Iterator<Item = &Mounted> {
        self.composition.iter().flat_map(|c| c.parts.iter().map(|part| &part.mounted))
    }

    /// The attached database of that name.
    pub fn mount(&self, name: &str) -> Option<&Mounted> {
        self.mounts().find(|mounted| mounted.name == name)
    }

    /// The attached database that a schema's key, or a macro's or type's, is of, if any, and the name there.
    pub fn database_of<'k>(&self, key: &'k str) -> (Option<&Mounted>, &'k str) {
        let split = key.split_once('.').and_then(|(name, rest)| Some((self.mount(name)?, rest)));
        split.map_or((None, key), |(mounted, rest)| (Some(mounted), rest))
    }

    /// The key of a macro or a type of a schema, which is told by its key.
    pub fn object_key(&self, schema: &str, name: &str) -> String {
        let (mounted, schema) = self.database_of(schema);
        let own = match Snapshot::canonical_schema(schema) {
            DEFAULT_SCHEMA => name.to_owned(),
            schema => types::names::in_schema(schema, name),
        };
        mounted.map_or_else(|| own.clone(), |mounted| key(&mounted.name, &own))
    }

    /// The key of the schema that a macro or a type is in, and its name there.
    pub fn place_of<'k>(&self, of: &'k str) -> (String, &'k str) {
        let (mounted, own) = self.database_of(of);
        let (schema, name) = types::names::schema_and_name(own);
        let schema = schema.unwrap_or(DEFAULT_SCHEMA);
        (mounted.map_or_else(|| schema.to_owned(), |mounted| key(&mounted.name, schema)), name)
    }

    /// A macro's or type's key as a person writes it.
    pub fn shown(&self, of: &str) -> String {
        let (mounted, own) = self.database_of(of);
        let (schema, name) = types::names::schema_and_name(own);
        let parts = [mounted.map(|mounted| mounted.name.as_str()), schema, Some(name)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    }

    /// What one database has of this state, as a state of its own; `None` is the main one.
    pub fn of_database(self: &Arc<Self>, name: Option<&str>) -> Result<Arc<Snapshot>> {
        if self.composition.is_none() {
            return Ok(self.clone());
        }
        let mut shares = self.shares()?.into_iter();
        let share = shares.find(|(mounted, ..)| mounted.map(|m| m.name.as_str()) == name);
        share.map(|(.., state)| Arc::new(state)).ok_or_else(|| Error::internal("a database without a state"))
    }

    /// The databases whose part of `later`, a state made of this one, differs from this state. `None` is the main
    /// one; its temporary schema is not compared.
    pub fn databases_changed(&self, later: &Snapshot) -> Vec<Option<String>> {
        let Some(composition) = &self.composition else { return vec![] };
        let mut changed = HashSet::new();
        let of = |key: &str| self.database_of(key).0.map(|mounted| mounted.name.clone());
        let keys = self.schemas.keys().chain(later.schemas.keys()).filter(|key| *key != TEMPORARY_SCHEMA);
        for key in keys {
            let same = match (self.schemas.get(key), later.schemas.get(key)) {
                (Some(before), Some(after)) => {
                    same(&before.tables, &after.tables)
                        && same(&before.views, &after.views)
                        && same(&before.sequences, &after.sequences)
                }
                _ => false,
            };
            if !same {
                changed.insert(of(key));
            }
        }
        changed.extend(differing(&self.macros, &later.macros).map(|name| of(name)));
        changed.extend(differing(&self.types, &later.types).map(|name| of(name)));
        changed.extend(differing(&self.comments, &later.comments).map(|name| of(name)));
        if !Arc::ptr_eq(&self.access, &later.access) {
            changed.insert(None);
        }
        debug_assert!(changed.len() <= composition.parts.len() + 1);
        let mut changed: Vec<Option<String>> = changed.into_iter().collect();
        changed.sort_unstable();
        changed
    }

    /// Each database's share of this state, which was made of a composed one: its state before, and the changed one.
    fn shares(&self) -> Result<Vec<Share<'_>>> {
        let Some(composition) = &self.composition else { return Ok(vec![]) };
        let mut main = Snapshot {
            version: composition.main.version,
            schemas: BTreeMap::new(),
            macros: BTreeMap::new(),
            types: BTreeMap::new(),
            comments: BTreeMap::new(),
            access: self.access.clone(),
            damaged: composition.main.damaged.clone(),
            composition: None,
        };
        let mut shares: Vec<Snapshot> = composition
            .parts
            .iter()
            .map(|part| {
                let before = &part.mounted.snapshot;
                let temporary = before.schemas.get_key_value(TEMPORARY_SCHEMA);
                Snapshot {
                    version: before.version,
                    schemas: temporary
                        .map(|(name, entry)| (name.clone(), entry.clone()))
                        .into_iter()
                        .collect(),
                    ..main.clone()
                }
            })
            .zip(&composition.parts)
            .map(|(share, part)| Snapshot {
                damaged: part.mounted.snapshot.damaged.clone(),
                access: part.mounted.snapshot.access.clone(),
                ..share
            })
            .collect();
        let place = |key: &str| {
            let split = key.split_once('.');
            split.and_then(|(name, _)| composition.parts.iter().position(|p| p.mounted.name == name))
        };
        let rest = |key: &str| key.split_once('.').map_or(String::new(), |(_, rest)| rest.to_owned());
        for (key, entry) in &self.schemas {
            match place(key) {
                None => _ = main.schemas.insert(key.clone(), entry.clone()),
                Some(at) => {
                    let (part, schema) = (&composition.parts[at], rest(key));
                    let entry = part.original(&schema, entry);
                    shares[at].schemas.insert(schema, entry);
                }
            }
        }
        for (key, text) in &self.macros {
            match place(key) {
                None => _ = main.macros.insert(key.clone(), text.clone()),
                Some(at) => _ = shares[at].macros.insert(rest(key), text.clone()),
            }
        }
        for (key, ty) in &self.types {
            match place(key) {
                None => _ = main.types.insert(key.clone(), ty.clone()),
                Some(at) => _ = shares[at].types.insert(rest(key), ty.clone()),
            }
        }
        for (key, text) in &self.comments {
            match place(key) {
                None => _ = main.comments.insert(key.clone(), text.clone()),
                Some(at) => _ = shares[at].comments.insert(rest(key), text.clone()),
            }
        }
        self.refuse_references_across()?;
        let mut all: Vec<Share<'_>> = vec![(None, composition.main.clone(), main)];
        let shares = composition.parts.iter().zip(shares);
        all.extend(shares.map(|(part, share)| (Some(&part.mounted), part.mounted.snapshot.clone(), share)));
        Ok(all)
    }

    /// A foreign key or a wide table that leads into another database would lead nowhere in a file of its own.
    fn refuse_references_across(&self) -> Result<()> {
        let databases: HashMap<TableId, Option<u64>> = self
            .schemas
            .iter()
            .flat_map(|(key, entry)| {
                let number = self.database_of(key).0.map(|mounted| mounted.number);
                entry.tables.values().map(move |table| (table.id, number))
            })
            .collect();
        for table in self.tables() {
            let home = databases.get(&table.id);
            let elsewhere = |id: &TableId| databases.get(id).is_some_and(|number| Some(number) != home);
            if table.foreign_keys.iter().any(|foreign| elsewhere(&foreign.parent)) {
                return Err(across("a foreign key", &table.name));
            }
            if table.wide.as_ref().is_some_and(|wide| wide.tables().iter().any(elsewhere)) {
                return Err(across("a wide table", &table.name));
            }
        }
        Ok(())
    }
}

fn across(what: &str, table: &str) -> Error {
    let message = format!("{what} cannot refer to a table of another database");
    Error::new(SqlState::InvalidForeignKey, message)
        .with_detail(format!("of table \"{table}\""))
        .with_hint("keep tables that belong together in one database")
}

fn same<T>(before: &BTreeMap<String, Arc<T>>, after: &BTreeMap<String, Arc<T>>) -> bool {
    let both = before.iter().zip(after);
    before.len() == after.len() && both.into_iter().all(|((a, x), (b, y))| a == b && Arc::ptr_eq(x, y))
}

/// Names with another value than before, or with one only before or after.
fn differing<'m, T>(
    before: &'m BTreeMap<String, Arc<T>>,
    after: &'m BTreeMap<String, Arc<T>>,
) -> impl Iterator<Item = &'m String> {
    let names = before.keys().chain(after.keys());
    names.filter(move |name| match (before.get(*name), after.get(*name)) {
        (Some(x), Some(y)) => !Arc::ptr_eq(x, y),
        _ => true,
    })
}

impl Part {
    /// A schema's things as the database itself has them.
    fn original(&self, schema: &str, entry: &SchemaEntry) -> SchemaEntry {
        let mut out = SchemaEntry { views: entry.views.clone(), ..SchemaEntry::default() };
        for (name, table) in &entry.tables {
            let known = self.tables.get(&table.id).filter(|(copied, _)| Arc::ptr_eq(copied, table));
            let original = known.map_or_else(
                || Arc::new(renamed(table, schema.to_owned(), own)),
                |(_, original)| original.clone(),
            );
            out.tables.insert(name.clone(), original);
        }
        for (name, sequence) in &entry.sequences {
            let known = self.sequences.get(&(schema.to_owned(), name.clone()));
            let known = known.filter(|(copied, _)| Arc::ptr_eq(copied, sequence));
            let original = known
                .map_or_else(|| Arc::new(renamed_sequence(sequence, own)), |(_, original)| original.clone());
            out.sequences.insert(name.clone(), original);
        }
        out
    }
}

impl Transaction {
    /// The transaction of each database that this one changes. One on a state that is not composed is the main
    /// database's as it is.
    pub fn by_database(self) -> Result<Vec<DatabaseChanges>> {
        if self.base().composition.is_none() {
            let permanent = self.has_changes();
            return Ok(vec![DatabaseChanges { mount: None, permanent, transaction: self }]);
        }
        if !self.has_changes() {
            return Ok(vec![]);
        }
        let draft = self.draft();
        let mut all = Vec::new();
        for (mount, before, after) in draft.snapshot().shares()? {
            if difference(&before, &after).is_empty() {
                continue;
            }
            let permanent = !permanent_difference(&before, &after).is_empty();
            let transaction = Transaction::of(before, draft.with_snapshot(after));
            all.push(DatabaseChanges { mount: mount.cloned(), permanent, transaction });
        }
        Ok(all)
    }
}

/// What a change of a composed state did to one database.
pub struct ChangedDatabase {
    /// The number of the mount; `None` for the main database.
    pub mount: Option<u64>,
    /// Whether anything but temporary tables, views and sequences has changed.
    pub permanent: bool,
    /// Its new state, under its own names.
    pub snapshot: Snapshot,
}

/// Lets `change` alter a draft of a composed state, and returns the new states of the databases that it has changed.
pub fn change_composed<R>(
    composed: Snapshot,
    change: impl FnOnce(&mut Draft) -> Result<R>,
) -> Result<(R, Vec<ChangedDatabase>)> {
    let mut draft = Draft::remembering(composed, true);
    let outcome = change(&mut draft)?;
    let mut all = Vec::new();
    if draft.is_changed() {
        for (mount, before, after) in draft.snapshot().shares()? {
            if difference(&before, &after).is_empty() {
                continue;
            }
            let permanent = !permanent_difference(&before, &after).is_empty();
            all.push(ChangedDatabase { mount: mount.map(|m| m.number), permanent, snapshot: after });
        }
    }
    Ok((outcome, all))
}
