//! Statements that clients send to PostgreSQL's catalog, as they were captured, on our engine.
//!
//! `tests/pg_catalog/*.txt` has them by client, each with the columns and rows that PostgreSQL 15 gave;
//! `tools/pg_catalog/corpus.py` wrote them. The objects are those of `schema.sql`, in both systems.
//! Columns' names and types must be equal for every statement; `differences.txt` names the statements that do not run
//! yet or whose columns differ, with the reason, and one that is there without need fails the test. Rows are compared
//! where `rows.txt` says that they are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use engine::{Database, Options, Session};
use types::{Type, Value};

/// A statement and what PostgreSQL 15 gave for it.
struct Captured {
    /// `psql#12`: the file and the place in it, from 1.
    name: String,
    /// As the client sent it, but for OIDs of the user's objects: they are names in braces.
    text: String,
    columns: Vec<(String, u32)>,
    rows: usize,
    shown: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/pg_catalog")
}

fn read(client: &str) -> Vec<Captured> {
    let text = std::fs::read_to_string(folder().join(format!("{client}.txt"))).expect("the corpus");
    let mut out = Vec::new();
    for part in
        text.split("\n--- ").filter(|part| !part.starts_with("columns\n") && !part.starts_with("rows\n"))
    {
        let (_, statement) = part.split_once('\n').expect("a statement");
        let name = format!("{client}#{}", out.len() + 1);
        out.push(Captured { name, text: statement.to_owned(), columns: vec![], rows: 0, shown: vec![] });
    }
    let of = |what: &str| -> Vec<String> {
        let parts = text.split("\n--- ").filter(|part| part.starts_with(what));
        parts.map(|part| part[what.len()..].trim_end_matches('\n').to_owned()).collect()
    };
    for ((captured, columns), rows) in out.iter_mut().zip(of("columns\n")).zip(of("rows\n")) {
        let column = |text: &str| {
            let (name, oid) = text.rsplit_once(':').expect("a column");
            (name.to_owned(), oid.parse().expect("an OID"))
        };
        captured.columns = columns.split('\t').filter(|c| !c.is_empty()).map(column).collect();
        let mut lines = rows.lines();
        captured.rows = lines.next().and_then(|count| count.parse().ok()).expect("a count");
        captured.shown = lines.map(str::to_owned).collect();
    }
    out
}

fn clients() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the corpus");
    let stem = |path: PathBuf| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
    let texts = files.filter_map(Result::ok).map(|file| file.path());
    let texts = texts.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    let mut names: Vec<String> =
        texts.filter_map(stem).filter(|name| !matches!(name.as_str(), "differences" | "rows")).collect();
    names.sort();
    names
}

/// Lines of a file of the corpus: a statement's name, and what is said of it.
fn noted(file: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#') || line.contains("# "));
    lines.filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn session() -> Session {
    let session = Database::in_memory(Options::default()).expect("opens").session();
    let schema = std::fs::read_to_string(folder().join("schema.sql")).expect("the schema");
    session.execute(&schema).expect("the schema is made");
    session.query("SET default_schema_name = 'public'").expect("a setting");
    session
}

fn value_of(session: &Session, text: &str) -> Option<Value> {
    let result = session.query(text).ok()?;
    Some(result.batches().first()?.columns[0].value(0))
}

/// The statement with our OIDs of the objects that it names.
fn with_oids(session: &Session, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let named = behind.split_once('}').and_then(|(name, behind)| {
            let oid = match name.strip_prefix("type ") {
                Some(ty) => value_of(
                    session,
                    &format!("SELECT oid FROM pg_catalog.pg_type WHERE typname = '{ty}' AND oid >= 16384"),
                ),
                None if name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
                    && name.len() > 2 =>
                {
                    value_of(session, &format!("SELECT '{name}'::regclass::oid"))
                }
                None => None,
            };
            Some((oid?.as_i64()?, behind))
        });
        match named {
            Some((oid, behind)) => {
                let _ = write!(out, "{oid}");
                rest = behind;
            }
            None => {
                out.push('{');
                rest = behind;
            }
        }
    }
    out + rest
}

struct Enums(BTreeMap<Type, u32>);

impl pgproto::oid::TypeOids for Enums {
    fn of_enum(&self, ty: Type) -> Option<pgproto::oid::EnumOids> {
        self.0.get(&ty).map(|oid| pgproto::oid::EnumOids { oid: *oid, array: oid + 1 })
    }
}

/// What differs, and whether the rows are equal.
fn check(session: &Session, captured: &Captured) -> Result<bool, String> {
    let text = with_oids(session, &captured.text);
    let result = session.query(&text).map_err(|error| error.to_string().replace('\n', " "))?;
    let none = Enums(BTreeMap::new());
    let described = |field: &types::Field| (field.name.clone(), pgproto::oid::describe(field.ty, &none).oid);
    let columns: Vec<(String, u32)> = result.schema().fields().iter().map(described).collect();
    if columns.len() != captured.columns.len() {
        return Err(format!("{} columns, not {}", columns.len(), captured.columns.len()));
    }
    for (ours, theirs) in columns.iter().zip(&captured.columns) {
        // An enum's type is the database's own.
        if ours.0 != theirs.0 || (ours.1 != theirs.1 && theirs.1 < 16384) {
            return Err(format!("column {}:{}, not {}:{}", ours.0, ours.1, theirs.0, theirs.1));
        }
    }
    if captured.rows != result.rows() || captured.shown.len() != captured.rows {
        return Ok(false);
    }
    let mut theirs: Vec<String> = captured.shown.iter().map(|row| with_oids(session, row)).collect();
    let mut ours = Vec::new();
    for batch in result.batches() {
        for row in 0..batch.rows {
            let cells = batch.columns.iter().map(|column| cell(&column.value(row), column.ty()));
            ours.push(cells.collect::<Vec<_>>().join("\t"));
        }
    }
    theirs.sort();
    ours.sort();
    if std::env::var("PG_CATALOG_ROWS").is_ok() && ours != theirs {
        println!("{}\n  ours   {ours:?}\n  theirs {theirs:?}", captured.name);
    }
    Ok(ours == theirs)
}

/// A value as PostgreSQL's protocol sends it, and as the corpus writes it.
fn cell(value: &Value, ty: Type) -> String {
    if value.is_null() {
        return "\\N".to_owned();
    }
    let mut bytes = Vec::new();
    let form = pgproto::value::ValueForm { zone: types::Zone::Utc, oids: &pgproto::TextEnums };
    match pgproto::value::push(value, ty, pgproto::Format::Text, form, &mut bytes) {
        Ok(()) => {
            let text = String::from_utf8_lossy(&bytes);
            text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn captured_statements_have_postgresqls_columns() {
    let (differences, equal) = (noted("differences.txt"), noted("rows.txt"));
    let session = session();
    let mut failures = String::new();
    let (mut run, mut differ, mut equal_rows) = (0, BTreeMap::new(), BTreeSet::new());
    for client in clients() {
        for captured in read(&client) {
            run += 1;
            match check(&session, &captured) {
                Ok(rows) => {
                    if rows {
                        equal_rows.insert(captured.name.clone());
                    }
                    if differences.contains_key(&captured.name) {
                        let _ =
                            writeln!(failures, "{}: is as it should be; take it off the list", captured.name);
                    }
                }
                Err(what) => {
                    if !differences.contains_key(&captured.name) {
                        let _ = writeln!(failures, "{}: {what}", captured.name);
                    }
                    differ.insert(captured.name, what);
                }
            }
        }
    }
    for name in equal.keys().filter(|name| !equal_rows.contains(*name)) {
        let _ = writeln!(failures, "{name}: rows differ now");
    }
    if let Ok(folder) = std::env::var("PG_CATALOG_WRITE") {
        let lines =
            |all: &mut dyn Iterator<Item = String>| all.fold(String::new(), |out, line| out + &line + "\n");
        let differ = lines(&mut differ.iter().map(|(name, what)| format!("{name} {what}")));
        let rows = lines(&mut equal_rows.iter().map(|name| format!("{name} equal")));
        std::fs::write(Path::new(&folder).join("differences.txt"), differ).expect("written");
        std::fs::write(Path::new(&folder).join("rows.txt"), rows).expect("written");
    }
    println!("{run} statements, {} with equal rows, {} that differ", equal_rows.len(), differ.len());
    assert!(run >= 150, "only {run} statements were found");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn a_planted_difference_is_found() {
    let session = session();
    let mut captured = Captured {
        name: "planted".into(),
        text: "SELECT relname, '{customer}'::oid AS oid FROM pg_class WHERE oid = '{customer}'".into(),
        columns: vec![("relname".into(), 19), ("oid".into(), 26)],
        rows: 1,
        shown: vec!["customer\t{customer}".into()],
    };
    assert_eq!(check(&session, &captured), Ok(true));
    captured.shown[0] = "customer\t1".into();
    assert_eq!(check(&session, &captured), Ok(false));
    captured.columns[0].1 = 25;
    assert!(check(&session, &captured).is_err());
}
