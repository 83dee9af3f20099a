//! All that is kept about access at one moment, and the questions that are asked of it.
//!
//! One map of entries by key, so that the catalog can compare two states, write the difference to its log, and make it
//! again on a newer state: two transactions that change different entries do not disturb each other. The predefined
//! roles are in no map; the bootstrap role is until it is altered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::names::did_you_mean;
use types::{Error, Result, SqlState};

use crate::{
    AclItem, Class, Grantee, ObjectAccess, ObjectKey, Predefined, Privilege, Privileges, Role, RoleId, denied,
};

/// The name that the bootstrap role has at first.
const BOOTSTRAP_NAME: &str = "quickstep";

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Key {
    /// A role.
    Role(RoleId),
    /// That one role is a member of another.
    Member {
        /// The role that is joined.
        role: RoleId,
        /// Who has joined it.
        member: RoleId,
    },
    /// An object of the catalog.
    Object(ObjectKey),
    /// ALTER DEFAULT PRIVILEGES: what is granted on objects that a role is going to make.
    Default {
        /// Who makes them.
        role: RoleId,
        /// In which schema; in all without one.
        schema: Option<String>,
        /// Of which class.
        class: Class,
    },
}

/// One role's being a member of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    /// Who made it so.
    pub grantor: RoleId,
    /// WITH ADMIN OPTION: the member may make others members.
    pub admin: bool,
}

/// What is kept under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// Of a role.
    Role(Role),
    /// Of a membership.
    Member(Membership),
    /// Of an object.
    Object(ObjectAccess),
    /// Of what is granted on new objects, in addition to what holds by default.
    Default(Vec<AclItem>),
}

impl Entry {
    /// Whether it may stand under a key.
    fn fits(&self, key: &Key) -> bool {
        matches!(
            (key, self),
            (Key::Role(_), Entry::Role(_))
                | (Key::Member { .. }, Entry::Member(_))
                | (Key::Object(_), Entry::Object(_))
                | (Key::Default { .. }, Entry::Default(_))
        )
    }
}

/// All that is kept about access at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    entries: BTreeMap<Key, Arc<Entry>>,
}

impl State {
    /// All entries.
    pub fn entries(&self) -> &BTreeMap<Key, Arc<Entry>> {
        &self.entries
    }

    /// Puts an entry under a key, or takes it away.
    pub fn set(&mut self, key: Key, entry: Option<Arc<Entry>>) {
        match entry {
            Some(entry) => self.entries.insert(key, entry),
            None => self.entries.remove(&key),
        };
    }

    /// An entry as bytes: what the log and the catalog file keep of it.
    pub fn encode(key: &Key, entry: Option<&Entry>) -> Vec<u8> {
        // Maps with keys of text and plain numbers: nothing in them that JSON does not have.
        serde_json::to_vec(&(key, entry)).unwrap_or_default()
    }

    /// An entry from bytes; fields that are not known are an error, never skipped.
    pub fn decode(bytes: &[u8]) -> Result<(Key, Option<Arc<Entry>>)> {
        let malformed = |what: String| {
            Error::new(SqlState::DataCorrupted, format!("a malformed entry about roles: {what}"))
        };
        let (key, entry): (Key, Option<Entry>) =
            serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        match &entry {
            Some(entry) if !entry.fits(&key) => Err(malformed("it is of another kind than its key".into())),
            _ => Ok((key, entry.map(Arc::new))),
        }
    }

    // Roles.

    /// A role's definition; `None` when there is no such role.
    pub fn role(&self, id: RoleId) -> Option<Role> {
        if let Some(Entry::Role(role)) = self.entries.get(&Key::Role(id)).map(|entry| &**entry) {
            return Some(role.clone());
        }
        if id == RoleId::BOOTSTRAP {
            return Some(Role {
                superuser: true,
                create_role: true,
                create_database: true,
                login: true,
                bypass_row_security: true,
                ..Role::new(BOOTSTRAP_NAME)
            });
        }
        Predefined::of(id).map(|role| Role::new(role.name()))
    }

    /// Whether there is a role of that number.
    pub fn has_role(&self, id: RoleId) -> bool {
        id == RoleId::BOOTSTRAP || self.entries.contains_key(&Key::Role(id)) || Predefined::of(id).is_some()
    }

    /// Every role by its number.
    pub fn roles(&self) -> BTreeMap<RoleId, Role> {
        let own = self.entries.keys().filter_map(|key| match key {
            Key::Role(id) => Some(*id),
            _ => None,
        });
        let all = own.chain([RoleId::BOOTSTRAP]).chain(Predefined::ALL.into_iter().map(Predefined::id));
        all.filter_map(|id| Some((id, self.role(id)?))).collect()
    }

    /// The role of that name.
    pub fn find(&self, name: &str) -> Option<RoleId> {
        let own = self.entries.iter().find_map(|(key, entry)| match (key, &**entry) {
            (Key::Role(id), Entry::Role(role)) if role.name == name => Some(*id),
            _ => None,
        });
        own.or_else(|| Predefined::named(name).map(Predefined::id)).or_else(|| {
            let unaltered = !self.entries.contains_key(&Key::Role(RoleId::BOOTSTRAP));
            (unaltered && name == BOOTSTRAP_NAME).then_some(RoleId::BOOTSTRAP)
        })
    }

    /// The role of that name, or SQLSTATE 42704.
    pub fn named(&self, name: &str) -> Result<RoleId> {
        self.find(name).ok_or_else(|| {
            let error = Error::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"));
            let roles = self.roles();
            match did_you_mean(name, roles.values().map(|role| role.name.as_str())) {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }

    /// A role's name, or its number where there is no such role.
    pub fn name(&self, id: RoleId) -> String {
        self.role(id).map_or_else(|| id.0.to_string(), |role| role.name)
    }

    /// A number for a new role.
    pub fn next_role(&self) -> RoleId {
        let last = self.entries.keys().filter_map(|key| match key {
            Key::Role(id) => Some(*id),
            _ => None,
        });
        last.max().map_or(RoleId::FIRST, |id| RoleId((id.0 + 1).max(RoleId::FIRST.0)))
    }

    /// Whether a role passes every check.
    pub fn is_superuser(&self, id: RoleId) -> bool {
        self.role(id).is_some_and(|role| role.superuser)
    }

    // Memberships.

    /// All memberships: role, member, and how it came about.
    pub fn memberships(&self) -> impl Iterator<Item = (RoleId, RoleId, Membership)> {
        self.entries.iter().filter_map(|(key, entry)| match (key, &**entry) {
            (Key::Member { role, member }, Entry::Member(how)) => Some((*role, *member, *how)),
            _ => None,
        })
    }

    /// The roles that a role is, directly or by way of others; those beyond a role without INHERIT only if
    /// `whatever_inherits`.
    fn is_all(&self, id: RoleId, whatever_inherits: bool) -> BTreeSet<RoleId> {
        let mut found = BTreeSet::from([id]);
        let mut open = vec![id];
        while let Some(member) = open.pop() {
            if !whatever_inherits && !self.role(member).is_some_and(|role| role.inherit) {
                continue;
            }
            let joined = self.memberships().filter(|(_, of, _)| *of == member).map(|(role, _, _)| role);
            for role in joined.collect::<Vec<_>>() {
                if found.insert(role) {
                    open.push(role);
                }
            }
        }
        found
    }

    /// The roles that a role is a member of, directly or by way of others, itself included.
    pub fn roles_of(&self, id: RoleId) -> BTreeSet<RoleId> {
        self.is_all(id, true)
    }

    /// The roles whose privileges a role has without SET ROLE, itself included.
    pub fn privileges_of(&self, id: RoleId) -> BTreeSet<RoleId> {
        self.is_all(id, false)
    }

    /// Whether a role has another's privileges without SET ROLE.
    pub fn has_privileges_of(&self, id: RoleId, other: RoleId) -> bool {
        id == other || self.is_superuser(id) || self.privileges_of(id).contains(&other)
    }

    /// Whether a role is a member of another, so that it may SET ROLE to it.
    pub fn is_member_of(&self, id: RoleId, other: RoleId) -> bool {
        id == other || self.is_superuser(id) || self.is_all(id, true).contains(&other)
    }

    /// Whether a role may make others members of another one.
    pub fn is_admin_of(&self, id: RoleId, other: RoleId) -> bool {
        if self.is_superuser(id) {
            return true;
        }
        let is = self.is_all(id, true);
        self.memberships().any(|(role, member, how)| role == other && how.admin && is.contains(&member))
    }

    /// Whether a role has what a predefined role gives.
    pub fn may(&self, id: RoleId, predefined: Predefined) -> bool {
        self.has_privileges_of(id, predefined.id())
    }

    // Objects.

    /// What is kept of an object.
    pub fn object(&self, key: &ObjectKey) -> Option<&ObjectAccess> {
        match self.entries.get(&Key::Object(key.clone())).map(|entry| &**entry) {
            Some(Entry::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// The same, as it is by default where nothing is kept.
    pub fn object_or_default(&self, key: &ObjectKey) -> ObjectAccess {
        self.object(key).cloned().unwrap_or_else(|| ObjectAccess::new(RoleId::BOOTSTRAP))
    }

    /// All objects of which something is kept.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectKey, &ObjectAccess)> {
        self.entries.iter().filter_map(|(key, entry)| match (key, &**entry) {
            (Key::Object(key), Entry::Object(object)) => Some((key, object)),
            _ => None,
        })
    }

    /// Who owns an object.
    pub fn owner(&self, key: &ObjectKey) -> RoleId {
        self.object(key).map_or(RoleId::BOOTSTRAP, |object| object.owner)
    }

    /// Whether a role may do what only an object's owner may.
    pub fn is_owner(&self, id: RoleId, key: &ObjectKey) -> bool {
        self.has_privileges_of(id, self.owner(key))
    }

    /// What a role may do with an object as a whole.
    pub fn privileges(&self, id: RoleId, key: &ObjectKey) -> Privileges {
        let class = key.class();
        if self.is_superuser(id) {
            return Privileges::all_of(class);
        }
        let is = self.privileges_of(id);
        let own = match self.object(key) {
            Some(object) => object.effective(key, |role| is.contains(&role)),
            None => ObjectAccess::new(RoleId::BOOTSTRAP).effective(key, |role| is.contains(&role)),
        };
        own.with(predefined_privileges(class, |role| is.contains(&role.id())))
    }

    /// What a role may do with a column, in addition to what it may do with the whole table.
    pub fn column_privileges(&self, id: RoleId, key: &ObjectKey, column: &str) -> Privileges {
        let Some(object) = self.object(key) else { return Privileges::NONE };
        let is = self.privileges_of(id);
        object.effective_on(column, |role| is.contains(&role))
    }

    /// Whether a role has a privilege on a table and, where it lacks it there, on each of these columns. Without
    /// columns, one column that it has the privilege on is enough, as for `count(*)`.
    pub fn check_columns<'c>(
        &self,
        id: RoleId,
        key: &ObjectKey,
        privilege: Privilege,
        columns: impl IntoIterator<Item = &'c str>,
    ) -> bool {
        if self.privileges(id, key).has(privilege) {
            return true;
        }
        let Some(object) = self.object(key) else { return false };
        let is = self.privileges_of(id);
        let may = |column: &str| object.effective_on(column, |role| is.contains(&role)).has(privilege);
        let mut columns = columns.into_iter().peekable();
        match columns.peek() {
            Some(_) => columns.all(may),
            None => object.columns.keys().any(|column| may(column)),
        }
    }

    /// SQLSTATE 42501 unless a role has a privilege on an object; `name` is what messages call it.
    pub fn check(&self, id: RoleId, key: &ObjectKey, privilege: Privilege, name: &str) -> Result<()> {
        match self.privileges(id, key).has(privilege) {
            true => Ok(()),
            false => Err(denied(format!("permission denied for {} {name}", key.class().word()))),
        }
    }

    /// As whom a role grants something on an object, and what of it: as the owner if it has the owner's privileges,
    /// else as the role among those it is that may grant most of it.
    pub fn grantor(
        &self,
        id: RoleId,
        key: &ObjectKey,
        list: &[AclItem],
        wanted: Privileges,
    ) -> (RoleId, Privileges) {
        let owner = self.owner(key);
        if self.has_privileges_of(id, owner) {
            return (owner, wanted);
        }
        let of = |role: RoleId| {
            let own = list.iter().filter(|item| item.grantee == Grantee::Role(role));
            own.fold(Privileges::NONE, |all, item| all.with(item.grantable)).and(wanted)
        };
        let others = self.privileges_of(id).into_iter().map(|role| (role, of(role)));
        let best = others.max_by_key(|(role, may)| (may.iter().count(), *role == id));
        best.unwrap_or((id, Privileges::NONE))
    }

    /// What a new object of a role begins with, by ALTER DEFAULT PRIVILEGES.
    pub fn of_new(&self, owner: RoleId, key: &ObjectKey, schema: Option<&str>) -> ObjectAccess {
        let mut object = ObjectAccess::new(owner);
        let class = key.class();
        let keys = [None, schema.map(str::to_owned)];
        for schema in keys.into_iter().take(if schema.is_some() { 2 } else { 1 }) {
            let key_of = Key::Default { role: owner, schema, class };
            if let Some(Entry::Default(list)) = self.entries.get(&key_of).map(|entry| &**entry) {
                let mut whole = object.list(key);
                for item in list {
                    let option = !item.grantable.is_empty();
                    // What was accepted there fits here.
                    _ = crate::grant(&mut whole, owner, item.grantee, item.privileges, option);
                }
                object.acl = Some(whole);
            }
        }
        object
    }

    /// What keeps a role from being dropped: objects that it owns, privileges that it has or gave.
    pub fn dependents(&self, id: RoleId) -> Vec<String> {
        let mut found = Vec::new();
        for (key, object) in self.objects() {
            let shown = match key {
                ObjectKey::Database => "the database".to_owned(),
                ObjectKey::Schema(name) => format!("schema {name}"),
                ObjectKey::Table(number) => format!("table {number}"),
                ObjectKey::View(_, name) => format!("view {name}"),
                ObjectKey::Sequence(_, name) => format!("sequence {name}"),
                ObjectKey::Routine(name) => format!("function {name}"),
                ObjectKey::Type(name) => format!("type {name}"),
            };
            let in_policy = |policy: &crate::Policy| policy.roles.contains(&Grantee::Role(id));
            if object.owner == id {
                found.push(format!("owner of {shown}"));
            } else if object.lists().any(|item| item.grantee == Grantee::Role(id) || item.grantor == id) {
                found.push(format!("privileges for {shown}"));
            } else if object.policies.values().any(in_policy) {
                found.push(format!("target of a policy on {shown}"));
            }
        }
        let defaults = self.entries.iter().any(|(key, entry)| match (key, &**entry) {
            (Key::Default { role, .. }, Entry::Default(list)) => {
                *role == id || list.iter().any(|item| item.grantee == Grantee::Role(id))
            }
            _ => false,
        });
        found.extend(defaults.then(|| "default privileges".to_owned()));
        found
    }
}

/// What the predefined roles for all data give on an object.
fn predefined_privileges(class: Class, is: impl Fn(Predefined) -> bool) -> Privileges {
    use Privilege as P;
    let reads: &[P] = match class {
        Class::Table | Class::Column | Class::Sequence => &[P::Select],
        Class::Schema => &[P::Usage],
        Class::Database | Class::Routine | Class::Type => &[],
    };
    let writes: &[P] = match class {
        Class::Table => &[P::Insert, P::Update, P::Delete],
        Class::Schema => &[P::Usage],
        _ => &[],
    };
    let mut found = Privileges::NONE;
    if is(Predefined::ReadAllData) {
        found = found.with(reads.iter().copied().collect());
    }
    if is(Predefined::WriteAllData) {
        found = found.with(writes.iter().copied().collect());
    }
    found
}
