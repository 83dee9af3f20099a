//! The kinds of types of the system catalog, by name, OID and how values are held; `system_type` has their values.

use serde::{Deserialize, Serialize};

macro_rules! system_types {
    ($($variant:ident $name:literal $oid:literal $array:literal $storage:ident,)*) => {
        /// A kind of type of the system catalog.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum SystemType {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
        }

        impl SystemType {
            /// All kinds, in the order of their codes.
            pub const ALL: &[SystemType] = &[$(SystemType::$variant,)*];

            /// The name in SQL and in `pg_type`.
            pub fn name(self) -> &'static str {
                match self { $(SystemType::$variant => $name,)* }
            }
            /// The OID that PostgreSQL gives the type, and that of its array.
            pub fn oids(self) -> (u32, u32) {
                match self { $(SystemType::$variant => ($oid, $array),)* }
            }
            /// How values are held.
            pub fn storage(self) -> Storage {
                match self { $(SystemType::$variant => Storage::$storage,)* }
            }
        }
    };
}

/// How the values of a kind are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// An unsigned number of 32 bits in an I64.
    Number,
    /// An OID and the name that it is shown by, in Bytes.
    Named,
    /// Text in Bytes.
    Text,
}

// Codes in files are positions in this list: additions go to its end.
system_types! {
    Oid "oid" 26 1028 Number,
    Xid "xid" 28 1011 Number,
    Cid "cid" 29 1012 Number,
    Regproc "regproc" 24 1008 Named,
    Regprocedure "regprocedure" 2202 2207 Named,
    Regoper "regoper" 2203 2208 Named,
    Regoperator "regoperator" 2204 2209 Named,
    Regclass "regclass" 2205 2210 Named,
    Regtype "regtype" 2206 2211 Named,
    Regrole "regrole" 4096 4097 Named,
    Regnamespace "regnamespace" 4089 4090 Named,
    Regcollation "regcollation" 4191 4192 Named,
    Regconfig "regconfig" 3734 3735 Named,
    Regdictionary "regdictionary" 3769 3770 Named,
    Name "name" 19 1003 Text,
    Char "\"char\"" 18 1002 Text,
    Tid "tid" 27 1010 Text,
    Xid8 "xid8" 5069 271 Text,
    PgNodeTree "pg_node_tree" 194 0 Text,
    PgLsn "pg_lsn" 3220 3221 Text,
    Aclitem "aclitem" 1033 1034 Text,
    Inet "inet" 869 1041 Text,
    PgNdistinct "pg_ndistinct" 3361 0 Text,
    PgDependencies "pg_dependencies" 3402 0 Text,
    PgMcvList "pg_mcv_list" 5017 0 Text,
    AnyArray "anyarray" 2277 0 Text,
    Void "void" 2278 0 Text,
}

impl SystemType {
    /// Bytes of a value in PostgreSQL's memory (`pg_type.typlen`); -1 where it varies.
    pub fn length(self) -> i16 {
        match (self.storage(), self) {
            (Storage::Number | Storage::Named, _) | (_, SystemType::Void) => 4,
            (_, SystemType::Name) => 64,
            (_, SystemType::Char) => 1,
            (_, SystemType::Tid) => 6,
            (_, SystemType::Xid8 | SystemType::PgLsn) => 8,
            _ => -1,
        }
    }
    /// The kind of that name, in any case and without quotes; `char` in quotes is `"char"`.
    pub fn named(name: &str) -> Option<SystemType> {
        Self::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
    /// The code in files.
    pub fn code(self) -> u8 {
        self as u8
    }
    /// The kind of that code; `None` for an unknown one.
    pub fn of_code(code: u8) -> Option<SystemType> {
        Self::ALL.get(usize::from(code)).copied()
    }
}
