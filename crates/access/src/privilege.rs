//! Privileges on objects, and the lists of who has them.
//!
//! A list says for each pair of grantee and grantor what was granted, and which of it may be granted on. Grants are
//! a forest whose roots are the owner's: taking a grant option away takes with it, or is refused because of, what was
//! granted by means of it.

use serde::{Deserialize, Serialize};
use types::{Error, Result, SqlState};

use crate::{Class, RoleId};

/// One thing that may be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Privilege {
    /// Read rows or columns, or a sequence's state.
    Select = 1,
    /// Add rows.
    Insert = 1 << 1,
    /// Change rows; of a sequence, draw from it.
    Update = 1 << 2,
    /// Delete rows.
    Delete = 1 << 3,
    /// Delete all rows at once.
    Truncate = 1 << 4,
    /// Refer to columns by a foreign key.
    References = 1 << 5,
    /// Name what is in a schema; use a sequence.
    Usage = 1 << 6,
    /// Make something in a schema, or a schema in the database.
    Create = 1 << 7,
    /// Begin a session.
    Connect = 1 << 8,
    /// Make temporary tables.
    Temporary = 1 << 9,
    /// Call a function.
    Execute = 1 << 10,
}

impl Privilege {
    /// All of them, in the order in which lists show them.
    pub const ALL: [Privilege; 11] = [
        Self::Insert,
        Self::Select,
        Self::Update,
        Self::Delete,
        Self::Truncate,
        Self::References,
        Self::Execute,
        Self::Usage,
        Self::Create,
        Self::Temporary,
        Self::Connect,
    ];

    /// As GRANT writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
            Self::References => "REFERENCES",
            Self::Usage => "USAGE",
            Self::Create => "CREATE",
            Self::Connect => "CONNECT",
            Self::Temporary => "TEMPORARY",
            Self::Execute => "EXECUTE",
        }
    }

    /// The letter of PostgreSQL's access lists.
    pub fn letter(self) -> char {
        match self {
            Self::Insert => 'a',
            Self::Select => 'r',
            Self::Update => 'w',
            Self::Delete => 'd',
            Self::Truncate => 'D',
            Self::References => 'x',
            Self::Execute => 'X',
            Self::Usage => 'U',
            Self::Create => 'C',
            Self::Temporary => 'T',
            Self::Connect => 'c',
        }
    }

    /// By a name in any case; TEMP is TEMPORARY.
    pub fn named(name: &str) -> Option<Privilege> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("temp") {
            return Some(Self::Temporary);
        }
        Self::ALL.into_iter().find(|privilege| privilege.name().eq_ignore_ascii_case(name))
    }
}

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Privileges(u16);

impl Privileges {
    /// No privilege.
    pub const NONE: Privileges = Privileges(0);

    /// What ALL PRIVILEGES means for a class of objects.
    pub fn all_of(class: Class) -> Privileges {
        use Privilege as P;
        let some: &[P] = match class {
            Class::Table => &[P::Select, P::Insert, P::Update, P::Delete, P::Truncate, P::References],
            Class::Column => &[P::Select, P::Insert, P::Update, P::References],
            Class::Sequence => &[P::Select, P::Update, P::Usage],
            Class::Schema => &[P::Usage, P::Create],
            Class::Database => &[P::Create, P::Connect, P::Temporary],
            Class::Routine => &[P::Execute],
            Class::Type => &[P::Usage],
        };
        some.iter().copied().collect()
    }

    /// What everybody may do with an object of a class on which nothing was granted yet.
    pub fn of_public(class: Class) -> Privileges {
        use Privilege as P;
        let some: &[P] = match class {
            Class::Database => &[P::Connect, P::Temporary],
            Class::Routine => &[P::Execute],
            Class::Type => &[P::Usage],
            Class::Table | Class::Column | Class::Sequence | Class::Schema => &[],
        };
        some.iter().copied().collect()
    }

    /// Whether one is in it.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & privilege as u16 != 0
    }
    /// Whether all of these are in it.
    pub fn holds(self, others: Privileges) -> bool {
        self.0 & others.0 == others.0
    }
    /// Whether none is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Those of both.
    #[must_use]
    pub fn with(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }
    /// Those in it that are not among these.
    #[must_use]
    pub fn without(self, others: Privileges) -> Privileges {
        Privileges(self.0 & !others.0)
    }
    /// Those that are in both.
    #[must_use]
    pub fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 & others.0)
    }
    /// One after the other, in the order of lists.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::ALL.into_iter().filter(move |privilege| self.has(*privilege))
    }
}

impl From<Privilege> for Privileges {
    fn from(one: Privilege) -> Privileges {
        Privileges(one as u16)
    }
}

impl FromIterator<Privilege> for Privileges {
    fn from_iter<I: IntoIterator<Item = Privilege>>(some: I) -> Privileges {
        some.into_iter().fold(Privileges::NONE, |all, one| all.with(one.into()))
    }
}

/// Whom something was granted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grantee {
    /// PUBLIC: every role.
    Public,
    /// One role, and those that inherit from it.
    Role(RoleId),
}

/// What one role granted another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AclItem {
    /// Who has it.
    pub grantee: Grantee,
    /// Who gave it.
    pub grantor: RoleId,
    /// What was given.
    pub privileges: Privileges,
    /// WITH GRANT OPTION: which of these the grantee may give.
    pub grantable: Privileges,
}

/// What the roles that `is` says yes to have together by a list.
pub fn effective(list: &[AclItem], is: impl Fn(RoleId) -> bool) -> Privileges {
    let counts = |item: &&AclItem| match item.grantee {
        Grantee::Public => true,
        Grantee::Role(role) => is(role),
    };
    list.iter().filter(counts).fold(Privileges::NONE, |all, item| all.with(item.privileges))
}

/// What a role itself may grant on.
fn grantable(list: &[AclItem], role: RoleId) -> Privileges {
    let own = list.iter().filter(|item| item.grantee == Grantee::Role(role));
    own.fold(Privileges::NONE, |all, item| all.with(item.grantable))
}

/// Adds a grant to a list.
pub fn grant(
    list: &mut Vec<AclItem>,
    grantor: RoleId,
    grantee: Grantee,
    privileges: Privileges,
    with_option: bool,
) -> Result<()> {
    if with_option && grantee == Grantee::Public {
        let message = "grant options can only be granted to roles";
        return Err(Error::new(SqlState::InvalidGrantOperation, message));
    }
    let option = if with_option { privileges } else { Privileges::NONE };
    match list.iter_mut().find(|item| (item.grantee, item.grantor) == (grantee, grantor)) {
        Some(item) => {
            item.privileges = item.privileges.with(privileges);
            item.grantable = item.grantable.with(option);
        }
        None => list.push(AclItem { grantee, grantor, privileges, grantable: option }),
    }
    Ok(())
}

/// A REVOKE on one list.
#[derive(Clone, Copy, Debug)]
pub struct Revoked {
    /// Whose grants are taken back.
    pub grantor: RoleId,
    /// From whom.
    pub grantee: Grantee,
    /// Which.
    pub privileges: Privileges,
    /// GRANT OPTION FOR: the privilege stays.
    pub option_only: bool,
    /// CASCADE: what was granted by means of them goes too; else 2BP01.
    pub cascade: bool,
}

/// Takes a grant out of a list; on an error the list is in an unknown state.
pub fn revoke(list: &mut Vec<AclItem>, owner: RoleId, revoked: Revoked) -> Result<()> {
    let Revoked { grantor, grantee, privileges, option_only, cascade } = revoked;
    let Some(item) = list.iter_mut().find(|item| (item.grantee, item.grantor) == (grantee, grantor)) else {
        return Ok(());
    };
    let lost = item.grantable.and(privileges);
    item.grantable = item.grantable.without(privileges);
    if !option_only {
        item.privileges = item.privileges.without(privileges);
    }
    list.retain(|item| !item.privileges.is_empty());
    let Grantee::Role(former) = grantee else { return Ok(()) };
    // The owner has all grant options whatever the list says.
    if former == owner {
        return Ok(());
    }
    let lost = lost.without(grantable(list, former));
    let depend: Vec<AclItem> = list
        .iter()
        .filter(|item| item.grantor == former && !item.privileges.and(lost).is_empty())
        .copied()
        .collect();
    if let (Some(_), false) = (depend.first(), cascade) {
        return Err(Error::new(SqlState::DependentObjectsStillExist, "dependent privileges exist")
            .with_hint("use CASCADE to revoke them too"));
    }
    for item in depend {
        let further = Revoked {
            grantor: former,
            grantee: item.grantee,
            privileges: lost,
            option_only: false,
            cascade: true,
        };
        revoke(list, owner, further)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: RoleId = RoleId(1);
    const A: RoleId = RoleId(2);
    const B: RoleId = RoleId(3);

    fn read() -> Privileges {
        Privilege::Select.into()
    }

    #[test]
    fn what_was_granted_on_goes_with_the_option() {
        let mut list = vec![];
        grant(&mut list, OWNER, Grantee::Role(A), read(), true).unwrap();
        grant(&mut list, A, Grantee::Role(B), read(), false).unwrap();
        let of = |list: &[AclItem], role| effective(list, |held| held == role);
        assert_eq!(of(&list, B), read());
        let back = |cascade, option_only| Revoked {
            grantor: OWNER,
            grantee: Grantee::Role(A),
            privileges: read(),
            option_only,
            cascade,
        };
        let refused = revoke(&mut list.clone(), OWNER, back(false, false)).unwrap_err();
        assert_eq!(refused.state(), SqlState::DependentObjectsStillExist);
        let mut other = list.clone();
        revoke(&mut other, OWNER, back(true, true)).unwrap();
        assert_eq!((of(&other, A), of(&other, B)), (read(), Privileges::NONE));
        revoke(&mut list, OWNER, back(true, false)).unwrap();
        assert!(list.is_empty());
    }

    #[test]
    fn an_option_that_another_one_gave_too_keeps_what_it_gave() {
        let mut list = vec![];
        grant(&mut list, OWNER, Grantee::Role(A), read(), true).unwrap();
        grant(&mut list, OWNER, Grantee::Role(B), read(), true).unwrap();
        grant(&mut list, B, Grantee::Role(A), read(), true).unwrap();
        grant(&mut list, A, Grantee::Public, read(), false).unwrap();
        let revoked = Revoked {
            grantor: OWNER,
            grantee: Grantee::Role(A),
            privileges: read(),
            option_only: false,
            cascade: false,
        };
        revoke(&mut list, OWNER, revoked).unwrap();
        assert_eq!(effective(&list, |_| false), read());
    }

    #[test]
    fn public_has_no_grant_option() {
        let error = grant(&mut vec![], OWNER, Grantee::Public, read(), true).unwrap_err();
        assert_eq!(error.state(), SqlState::InvalidGrantOperation);
    }
}
