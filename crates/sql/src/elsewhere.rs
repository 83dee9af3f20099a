//! Statements that other systems have and this one does not, with what does the same here.

use types::Error;

const ONE_DATABASE: &str = "ATTACH 'path' AS name makes a database where there is none, and DETACH name takes it from \
                            the process; its files are a directory, which is removed like any other";
const NO_EXTENSIONS: &str = "there are no extensions: formats, object stores and benchmarks are built in";
const NO_UPKEEP: &str =
    "nothing needs it: statistics are kept as rows come, and blocks are tidied in the background";

/// The first words of a statement, and the hint of its error.
const STATEMENTS: [(&[&str], &str); 10] = [
    (&["use"], "USE takes the name of a schema or of a database; SHOW SCHEMAS and SHOW DATABASES list them"),
    (&["create", "database"], ONE_DATABASE),
    (&["drop", "database"], ONE_DATABASE),
    (&["install"], NO_EXTENSIONS),
    (&["load"], NO_EXTENSIONS),
    (&["create", "extension"], NO_EXTENSIONS),
    (&["pragma"], "SET name = value for settings, which SHOW ALL lists; DESCRIBE t for a table"),
    (&["vacuum"], NO_UPKEEP),
    (&["analyze"], NO_UPKEEP),
    (&["create", "type"], "TEXT with a CHECK does for an ENUM, STRUCT(...) for a composite type"),
];

/// The error of a statement that begins so, if it is one of these.
pub(crate) fn error_of(begin: &[&str]) -> Option<Error> {
    let begins = |words: &[&str]| {
        begin.len() >= words.len()
            && words.iter().zip(begin).all(|(word, own)| own.eq_ignore_ascii_case(word))
    };
    let (words, hint) = STATEMENTS.iter().find(|(words, _)| begins(words))?;
    let verb = words.join(" ").to_uppercase();
    Some(Error::unsupported(format!("{verb} is not supported")).with_hint(*hint))
}
