//! What a reader must know of a table: the rest is refused by name.

use types::{Error, Result};

use super::actions::Protocol;
use crate::table::damaged;

/// Features of readers that are known here.
const KNOWN: [&str; 7] = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
];
/// The version from which on features are named.
const WITH_FEATURES: i64 = 3;

/// Fails where the table asks for something that is not known here.
pub(crate) fn check(path: &str, protocol: &Protocol) -> Result<()> {
    let version = protocol.min_reader_version;
    if version < 1 {
        return Err(damaged(path, format!("its protocol asks for readers of version {version}")));
    }
    if version > WITH_FEATURES {
        return Err(Error::unsupported(format!(
            "the Delta table \"{path}\" asks for readers of version {version}; versions up to {WITH_FEATURES} are read"
        )));
    }
    if version < WITH_FEATURES {
        return Ok(());
    }
    let named = protocol.reader_features.as_deref().unwrap_or_default();
    let unknown: Vec<&str> =
        named.iter().map(String::as_str).filter(|feature| !KNOWN.contains(feature)).collect();
    match unknown.as_slice() {
        [] => Ok(()),
        unknown => Err(Error::unsupported(format!(
            "the Delta table \"{path}\" uses {}, which is not supported",
            unknown.join(", ")
        ))
        .with_hint("some features can be taken out of a table: ALTER TABLE ... DROP FEATURE in its writer")),
    }
}

/// Whether a feature of readers holds for the table; `since` is the version that has it without naming it.
pub(crate) fn has(protocol: &Protocol, feature: &str, since: i64) -> bool {
    match protocol.min_reader_version {
        WITH_FEATURES => protocol.reader_features.iter().flatten().any(|named| named == feature),
        version => version >= since,
    }
}
