//! What the catalog keeps about access: a part of every snapshot, changed with what it is about.
//!
//! The entries of [`access::State`] are changes of a commit like those of tables. What is made gets an owner, what is
//! renamed keeps its privileges, and what is dropped loses them, all by [`Draft::settle_access`], which compares the
//! states before and after a statement: no statement that makes or drops things has to think of it. Objects of attached
//! databases have no entries, so that they are the bootstrap role's; temporary ones have entries that are never logged.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::{Entry, Grantee, Key, ObjectAccess, ObjectKey, RoleId, State};
use types::Result;

use crate::data::concurrently;
use crate::mounts::mount_of;
use crate::{Draft, SchemaEntry, Snapshot, TEMPORARY_SCHEMA, Table, TableId};

impl Snapshot {
    /// Roles, privileges and policies.
    pub fn access(&self) -> &Arc<State> {
        &self.access
    }

    /// Whether an entry is about something that ends with the process.
    pub(crate) fn is_temporary_entry(&self, key: &Key) -> bool {
        match key {
            Key::Object(ObjectKey::Table(id)) => {
                let temporary = self.schemas.get(TEMPORARY_SCHEMA);
                temporary.is_some_and(|held| held.tables.values().any(|table| table.id.0 == *id))
            }
            Key::Object(object) => object.schema() == Some(TEMPORARY_SCHEMA),
            Key::Role(_) | Key::Member { .. } | Key::Default { .. } => false,
        }
    }

    /// Whether every role that an entry names is there.
    pub(crate) fn has_roles_of(&self, key: &Key, entry: &Entry) -> bool {
        let there = |id: &RoleId| self.access.role(*id).is_some();
        let granted = |list: &[access::AclItem]| {
            list.iter().all(|item| {
                there(&item.grantor)
                    && match &item.grantee {
                        Grantee::Public => true,
                        Grantee::Role(role) => there(role),
                    }
            })
        };
        let key_fits = match key {
            Key::Role(_) | Key::Object(_) => true,
            Key::Member { role, member } => there(role) && there(member),
            Key::Default { role, .. } => there(role),
        };
        key_fits
            && match entry {
                Entry::Role(_) => true,
                Entry::Member(how) => there(&how.grantor),
                Entry::Default(list) => granted(list),
                Entry::Object(object) => {
                    there(&object.owner)
                        && object.acl.as_deref().is_none_or(granted)
                        && object.columns.values().all(|list| granted(list))
                }
            }
    }

    /// The key of a table's, a view's or a sequence's entry; `None` where there is no such relation.
    pub fn relation_key(&self, schema: Option<&str>, name: &str) -> Option<ObjectKey> {
        if let Some(table) = self.find(schema, name) {
            return Some(ObjectKey::Table(table.id.0));
        }
        let schemas = match schema {
            Some(schema) => vec![Snapshot::canonical_schema(schema)],
            None => vec![TEMPORARY_SCHEMA, crate::DEFAULT_SCHEMA],
        };
        let held = schemas.into_iter().filter_map(|schema| Some((schema, self.schemas.get(schema)?)));
        held.into_iter().find_map(|(schema, held)| {
            let place = || (schema.to_owned(), name.to_owned());
            if held.views.contains_key(name) {
                let (schema, name) = place();
                return Some(ObjectKey::View(schema, name));
            }
            held.sequences.contains_key(name).then(|| {
                let (schema, name) = place();
                ObjectKey::Sequence(schema, name)
            })
        })
    }
}

impl Draft {
    /// Puts an entry about access under a key, or takes it away.
    pub fn set_access(&mut self, key: Key, entry: Option<Entry>) {
        self.changed = true;
        Arc::make_mut(&mut self.snapshot.access).set(key, entry.map(Arc::new));
    }

    /// Changes what is kept of an object.
    pub fn change_access(
        &mut self,
        key: &ObjectKey,
        change: impl FnOnce(&mut ObjectAccess) -> Result<()>,
    ) -> Result<()> {
        let mut object = self.snapshot.access.object_or_default(key);
        change(&mut object)?;
        self.set_access(Key::Object(key.clone()), Some(Entry::Object(object)));
        Ok(())
    }

    /// Gives `owner` what is new since `before`, has what was renamed keep its entry, and forgets entries of what is
    /// gone.
    pub fn settle_access(&mut self, before: &Snapshot, owner: RoleId) {
        let (gone, new) =
            (objects_that_differ(before, &self.snapshot), objects_that_differ(&self.snapshot, before));
        let mut gone: Vec<(ObjectKey, Same)> = gone;
        for (key, what) in new {
            let former = gone.iter().position(|(_, former)| former.is(&what));
            let entry = match former {
                Some(at) => {
                    let (former, _) = gone.swap_remove(at);
                    let kept = self.snapshot.access.object(&former).cloned();
                    self.forget(&former);
                    kept
                }
                None => {
                    let state = &self.snapshot.access;
                    let schema = self.schema_of(&key);
                    let fresh = state.of_new(owner, &key, schema.as_deref());
                    (fresh != ObjectAccess::new(RoleId::BOOTSTRAP)).then_some(fresh)
                }
            };
            if let Some(entry) = entry {
                self.set_access(Key::Object(key), Some(Entry::Object(entry)));
            }
        }
        for (key, _) in gone {
            self.forget(&key);
        }
        self.settle_columns(before);
    }

    fn forget(&mut self, key: &ObjectKey) {
        if self.snapshot.access.object(key).is_some() {
            self.set_access(Key::Object(key.clone()), None);
        }
    }

    fn schema_of(&self, key: &ObjectKey) -> Option<String> {
        match key {
            ObjectKey::Table(id) => self.snapshot.table_by_id(TableId(*id)).map(|table| table.schema.clone()),
            other => other.schema().map(str::to_owned),
        }
    }

    /// Columns that were renamed keep their privileges, those that are gone lose them.
    fn settle_columns(&mut self, before: &Snapshot) {
        let with_columns = self.snapshot.access.objects().filter(|(_, object)| !object.columns.is_empty());
        let tables: Vec<(u64, ObjectAccess)> = with_columns
            .filter_map(|(key, object)| match key {
                ObjectKey::Table(id) => Some((*id, object.clone())),
                _ => None,
            })
            .collect();
        for (id, mut object) in tables {
            let (Some(old), Some(new)) =
                (before.table_by_id(TableId(id)), self.snapshot.table_by_id(TableId(id)))
            else {
                continue;
            };
            if old.columns == new.columns {
                continue;
            }
            let same_number = old.columns.len() == new.columns.len();
            let mut columns = BTreeMap::new();
            for (name, list) in std::mem::take(&mut object.columns) {
                let place = old.columns.fields().iter().position(|field| field.name == name);
                let there = |name: &str| new.columns.fields().iter().any(|field| field.name == name);
                if there(&name) {
                    columns.insert(name, list);
                } else if let Some(place) = place.filter(|_| same_number) {
                    columns.insert(new.columns.fields()[place].name.clone(), list);
                }
            }
            object.columns = columns;
            self.set_access(Key::Object(ObjectKey::Table(id)), Some(Entry::Object(object)));
        }
    }

    /// Fails when an entry names a role that others have dropped meanwhile.
    pub(crate) fn refuse_lost_roles(&self) -> Result<()> {
        let state = &self.snapshot.access;
        match state.entries().iter().all(|(key, entry)| self.snapshot.has_roles_of(key, entry)) {
            true => Ok(()),
            false => Err(concurrently()),
        }
    }
}

/// By what a thing is known again under another name.
enum Same {
    Table,
    View(Arc<crate::View>),
    Sequence(Arc<crate::Sequence>),
    Other,
}

impl Same {
    fn is(&self, other: &Same) -> bool {
        match (self, other) {
            (Same::View(a), Same::View(b)) => {
                Arc::ptr_eq(a, b) || (a.text == b.text && a.columns == b.columns)
            }
            (Same::Sequence(a), Same::Sequence(b)) => Arc::ptr_eq(&a.next, &b.next),
            _ => false,
        }
    }
}

/// The objects of the main database that one state has and the other does not.
fn objects_that_differ(one: &Snapshot, other: &Snapshot) -> Vec<(ObjectKey, Same)> {
    let mut found = Vec::new();
    let own = |key: &str| one.database_of(key).0.is_none();
    let none = SchemaEntry::default();
    let mut tables: Vec<&Arc<Table>> = Vec::new();
    for (schema, held) in one.schemas.iter().filter(|(schema, _)| own(schema)) {
        let elsewhere = other.schemas.get(schema);
        if elsewhere.is_none() {
            found.push((ObjectKey::Schema(schema.clone()), Same::Other));
        }
        let elsewhere = elsewhere.unwrap_or(&none);
        let same =
            |table: &&Arc<Table>| elsewhere.tables.get(&table.name).is_some_and(|there| there.id == table.id);
        tables.extend(held.tables.values().filter(|table| !same(table)));
        let views = held.views.iter().filter(|(name, _)| !elsewhere.views.contains_key(*name));
        found.extend(
            views.map(|(name, view)| {
                (ObjectKey::View(schema.clone(), name.clone()), Same::View(view.clone()))
            }),
        );
        let sequences = held.sequences.iter().filter(|(name, _)| !elsewhere.sequences.contains_key(*name));
        found.extend(sequences.map(|(name, sequence)| {
            (ObjectKey::Sequence(schema.clone(), name.clone()), Same::Sequence(sequence.clone()))
        }));
    }
    // A table that has another name or schema is there under its number.
    let tables = tables.into_iter().filter(|table| mount_of(table.id).is_none());
    let tables = tables.filter(|table| other.table_by_id(table.id).is_none());
    found.extend(tables.map(|table| (ObjectKey::Table(table.id.0), Same::Table)));
    let macros = one.macros.keys().filter(|name| own(name) && !other.macros.contains_key(*name));
    found.extend(macros.map(|name| (ObjectKey::Routine(name.clone()), Same::Other)));
    let types = one.types.keys().filter(|name| own(name) && !other.types.contains_key(*name));
    found.extend(types.map(|name| (ObjectKey::Type(name.clone()), Same::Other)));
    found
}
