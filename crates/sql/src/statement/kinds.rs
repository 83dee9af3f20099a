//! Kinds of objects as statements name them.

use syntax::tree::ObjectKind;
use types::Error;

use crate::place;

/// A kind of object as it is written.
pub(super) fn kind_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "TABLE",
        ObjectKind::WideTable => "WIDE TABLE",
        ObjectKind::View => "VIEW",
        ObjectKind::MaterializedView => "MATERIALIZED VIEW",
        ObjectKind::Index => "INDEX",
        ObjectKind::Sequence => "SEQUENCE",
        ObjectKind::Schema => "SCHEMA",
        ObjectKind::Type => "TYPE",
        ObjectKind::Macro => "MACRO",
        ObjectKind::MacroTable => "MACRO TABLE",
        ObjectKind::Function => "FUNCTION",
        ObjectKind::Secret => "SECRET",
        ObjectKind::Column => "COLUMN",
        ObjectKind::Constraint => "CONSTRAINT",
        ObjectKind::Database => "DATABASE",
        ObjectKind::Role => "ROLE",
        ObjectKind::Policy => "POLICY",
        ObjectKind::Trigger => "TRIGGER",
        ObjectKind::Domain => "DOMAIN",
    }
}

/// ALTER of a kind of object that is not altered.
pub(super) fn unknown_kind(kind: ObjectKind) -> Error {
    Error::unsupported(format!("ALTER {} is not supported", kind_name(kind))).at(place::START)
}
