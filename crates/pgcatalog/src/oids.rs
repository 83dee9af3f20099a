//! Lasting OIDs. Nothing is stored for them: each follows from what its object already keeps.
//!
//! ```text
//!        0 ..     16383  PostgreSQL's own: types, functions, the catalog's relations
//!    16384 .. 0x3fffffff tables: 16384 + 4 * (identity of the table), + 1 its row type, + 2 the array of that
//! 0x40000000 .. 0xfffffffe a hash of kind and identity: constraints and indices by the table's identity and their name,
//!                          views, sequences, schemas and types by name; the next free one where two meet
//! ```
//! A table's identity is never given twice and stays when it is renamed. What goes by its name keeps its OID over a
//! restart, and gets it again when it is dropped and made anew.

use std::collections::HashSet;

/// The first OID that is not PostgreSQL's own.
pub(crate) const FIRST: u32 = 16384;
/// The schema `pg_catalog`.
pub(crate) const PG_CATALOG: u32 = 11;
/// The default schema: PostgreSQL's `public`.
pub(crate) const PUBLIC: u32 = 2200;
/// The schema `information_schema`; PostgreSQL gives it another one in every release.
pub(crate) const INFORMATION_SCHEMA: u32 = 13183;
/// The role that owns everything.
pub(crate) const OWNER: u32 = 10;
/// The first OID that is a hash.
const HASHED: u32 = 0x4000_0000;

/// The OID of a table by its identity.
pub(crate) fn of_table(identity: u64) -> u32 {
    FIRST + ((identity.wrapping_mul(4) % u64::from(HASHED - FIRST)) as u32 & !3)
}

/// Gives OIDs by names, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<u32>,
}

impl Names {
    /// The OID of an object; with it come the next `more` ones.
    pub fn of(&mut self, kind: &str, name: &str, more: u32) -> u32 {
        let mut state = 0x811c_9dc5_u32;
        for byte in kind.bytes().chain([0]).chain(name.bytes()) {
            state = (state ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        let span = u32::MAX - HASHED - 4;
        let mut oid = HASHED + state % span / 4 * 4;
        while (oid..=oid + more).any(|oid| self.taken.contains(&oid)) {
            oid = if oid >= u32::MAX - 8 { HASHED } else { oid + 4 };
        }
        self.taken.extend(oid..=oid + more);
        oid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_oids_and_share_none() {
        let mut names = Names::default();
        let a = names.of("view", "main.a", 2);
        assert_eq!(Names::default().of("view", "main.a", 2), a);
        assert_ne!(names.of("view", "main.a", 2), a);
        assert_ne!(names.of("view", "main.b", 2), a);
        assert!(a >= HASHED && of_table(1) == 16388 && of_table(7) == 16412);
    }
}
