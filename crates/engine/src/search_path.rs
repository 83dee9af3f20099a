//! Names without a schema: where they are looked for, and where they are made.
//!
//! A session has a path of schemas (`SET search_path`, `USE`). A name is looked for among temporary tables, in the
//! path's schemas one after the other, and then in the default schema; what is made goes into the path's first
//! schema. Texts that are bound later mean what they meant where they stand: a view's names are looked for in the
//! view's schema, a default's in the default schema only, whatever the path is (`SessionRelations::search_in`), but
//! for the sequences it draws from, whose schemas are written into it when it is made.
//!
//! Statements get the schemas of their names here, before they run, so that what carries them out knows nothing of
//! paths.

mod session;

use catalog::{DEFAULT_SCHEMA, Snapshot, TEMPORARY_SCHEMA};
use types::quote;

use crate::mounts::Places;

/// The names in a list such as `depot, "My schema", sales.depot`, each in its parts: those in quotes as they are,
/// others in lower case.
fn listed(text: &str) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let (mut parts, mut name, mut quoted, mut was_quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = text.trim().chars().peekable();
    let finish = |name: &mut String, was_quoted: &mut bool, parts: &mut Vec<String>| {
        let whole = std::mem::take(name);
        let found = if *was_quoted { whole } else { whole.trim().to_lowercase() };
        *was_quoted = false;
        if !found.is_empty() {
            parts.push(found);
        }
    };
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                name.push('"');
            }
            '"' => {
                if !quoted {
                    name.clear();
                }
                (quoted, was_quoted) = (!quoted, true);
            }
            ',' | '.' if !quoted => {
                finish(&mut name, &mut was_quoted, &mut parts);
                if c == ',' {
                    names.push(std::mem::take(&mut parts));
                }
            }
            // Blanks behind a name in quotes.
            c if !quoted && was_quoted && c.is_whitespace() => {}
            c => name.push(c),
        }
    }
    finish(&mut name, &mut was_quoted, &mut parts);
    names.push(parts);
    names.retain(|parts| !parts.is_empty());
    names
}

/// The schemas that a list names, as keys.
pub(crate) fn parsed(text: &str) -> Vec<String> {
    let key = |parts: Vec<String>| Snapshot::canonical_schema(&parts.join(".")).to_owned();
    plain(listed(text).into_iter().map(key).collect())
}

/// The default schema alone is what an empty path means.
fn plain(names: Vec<String>) -> Vec<String> {
    if names == [DEFAULT_SCHEMA] { vec![] } else { names }
}

/// The path as SHOW has it, and as `parsed` reads it; `default` is the name of the default schema.
pub(crate) fn shown(path: &[String], default: &str) -> String {
    let key = |key: &String| match key.split_once('.') {
        Some((database, schema)) => {
            format!("{}.{}", quote::name_if_needed(database), quote::name_if_needed(schema))
        }
        None if key == DEFAULT_SCHEMA => default.to_owned(),
        None => quote::name_if_needed(key),
    };
    match path {
        [] => default.to_owned(),
        path => path.iter().map(key).collect::<Vec<_>>().join(", "),
    }
}

/// The schema in which a name without one is found by the path, or the last one that is looked into; `None` when it is
/// found without the path, or in the main database if anywhere.
pub(crate) fn find(places: &Places<'_>, name: &str) -> Option<String> {
    let holds = |schema: &str| {
        places.snapshot.schemas().get(schema).is_some_and(|held| {
            held.tables.contains_key(name)
                || held.views.contains_key(name)
                || held.sequences.contains_key(name)
        })
    };
    if places.path.is_empty() || holds(TEMPORARY_SCHEMA) {
        return None;
    }
    let found = places.path.iter().find(|schema| holds(schema)).cloned();
    // What the database in use does not have is not looked for in another one.
    let last = || match places.path.first().filter(|first| gone(first, places).is_some()) {
        // Nor is it where that database has been detached.
        Some(first) => Some(first.clone()),
        None => places.home().map(|_| places.default_schema()),
    };
    found.or_else(last)
}

/// Keys that a name of a macro or a type may mean, the first that there is first.
pub(crate) fn keys_of(places: &Places<'_>, schema: Option<&str>, name: &str) -> Vec<String> {
    let key = |schema: &str| places.snapshot.object_key(schema, name);
    if let Some(schema) = schema {
        return vec![key(schema)];
    }
    let mut keys: Vec<String> = places.path.iter().map(|schema| key(schema)).collect();
    // The main database's are known in all.
    keys.extend([key(&places.default_schema()), key(DEFAULT_SCHEMA)]);
    keys
}

/// The schema in which things are made.
pub(crate) fn current(path: &[String]) -> &str {
    path.first().map_or(DEFAULT_SCHEMA, String::as_str)
}

/// The database that the first schema of the path is of, if it has been detached.
fn gone<'p>(first: &'p str, places: &Places<'_>) -> Option<&'p str> {
    let (database, _) = first.split_once('.')?;
    let known = places.snapshot.schemas().contains_key(first) || places.snapshot.mount(database).is_some();
    (!known).then_some(database)
}

#[cfg(test)]
mod tests {
    use super::{parsed, shown};

    #[test]
    fn lists_of_schemas_are_read_and_shown() {
        for (text, names) in [
            ("", &[] as &[&str]),
            ("main", &[]),
            ("PUBLIC", &[]),
            ("Depot", &["depot"]),
            (" \"De, pot\" , b ", &["De, pot", "b"]),
            ("Sales . \"De pot\", b.c", &["sales.De pot", "b.c"]),
            ("\"a\"\"b\",main", &["a\"b", "main"]),
        ] {
            let path = parsed(text);
            assert_eq!(path, names, "{text}");
            assert_eq!(parsed(&shown(&path, "main")), path, "{text}");
        }
        assert_eq!(shown(&parsed("main"), "main"), "main");
        assert_eq!(shown(&parsed("b, \"C\""), "main"), "b, \"C\"");
        assert_eq!(shown(&parsed("Sales.\"C\""), "main"), "sales.\"C\"");
    }
}
