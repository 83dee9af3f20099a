//! State that does not fit memory goes to files and comes back: answers are those of ample memory, whatever the
//! operator, the types, the number of workers and the shape of the data; and no file outlives its statement.
//!
//! The allocator is counted, as it is in the product, so that the budget sees all that a statement allocates.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::folder::Folder;
use engine::{Database, Options, Session, SqlState};
use files::{FileEntry, FileLock, FileManager, FileReader, FileSync, FileWriter, LocalFiles, Owner};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// The allocator's count is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn database(workers: usize, folder: &Folder) -> Session {
    let database = Database::in_memory(Options {
        workers: Some(workers),
        memory_bytes: Some(4 << 30),
        ..Default::default()
    })
    .expect("opens");
    let session = database.session();
    session.query(&format!("SET temp_directory = '{}'", folder.0.display())).expect("is a folder");
    session
}

/// Rows with NULLs, skew, strings of all lengths and nested values: `n` of them.
fn fill(session: &Session, n: usize) {
    for statement in [
        format!(
            "CREATE TABLE facts AS SELECT i AS id, CASE WHEN i % 11 = 0 THEN NULL ELSE i * 7919 % 50021 END AS many, \
             CASE WHEN i % 3 = 0 THEN 42 ELSE i % 1000 END AS skewed, i % 7 AS few, \
             CASE WHEN i % 13 = 0 THEN NULL ELSE 'text ' || repeat('x', CAST(i % 17 AS INTEGER)) || (i * 31 % 9973) END AS words, \
             CAST(i % 1000 AS DOUBLE) / 8 AS number, CAST(i * 3 % 100000 AS DECIMAL(38, 2)) AS wide, \
             DATE '2000-01-01' + CAST(i % 3000 AS INTEGER) AS day FROM (SELECT CAST(i AS BIGINT) AS i FROM generate_series(1, {n}) AS s(i)) s"
        ),
        format!(
            "CREATE TABLE others AS SELECT i AS key, CASE WHEN i % 5 = 0 THEN NULL ELSE i * 31 % 50021 END AS many, \
             CASE WHEN i % 2 = 0 THEN 42 ELSE i % 1000 END AS skewed, \
             CASE WHEN i % 9 = 0 THEN NULL ELSE 'text ' || repeat('x', CAST(i % 17 AS INTEGER)) || (i * 17 % 9973) END AS words \
             FROM (SELECT CAST(i AS BIGINT) AS i FROM generate_series(1, {}) AS s(i)) s",
            n / 2
        ),
    ] {
        session.query(&statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
}

/// Each with what must have been written to files: a name of the operator in EXPLAIN.
const STATEMENTS: &[(&str, &str)] = &[
    ("sort by a number", "SELECT * FROM facts ORDER BY many NULLS FIRST, id"),
    ("sort that keeps ties", "SELECT skewed, id FROM facts ORDER BY skewed DESC"),
    ("sort by text", "SELECT words, wide, id FROM facts ORDER BY words, day DESC"),
    (
        "sort of nested values",
        "SELECT [id, many] AS list, {'a': words, 'b': few} AS pair FROM facts ORDER BY number, id",
    ),
    ("sort with a limit", "SELECT id, words FROM facts ORDER BY number LIMIT 70000"),
    ("sort of one key", "SELECT id FROM facts WHERE skewed = 42 ORDER BY few * 0"),
    (
        "groups of a number",
        "SELECT many, count(*), count(words), sum(id), min(words), max(number), avg(wide) FROM facts GROUP BY many",
    ),
    ("groups of text", "SELECT words, few, count(*), sum(number) FROM facts GROUP BY words, few"),
    ("unique groups", "SELECT id, sum(wide), any_value(words) FROM facts GROUP BY id"),
    (
        "many kinds of states",
        "SELECT many, stddev(number), corr(number, id), bit_and(id), bit_or(id), median(number), mode(few), \
         string_agg(words, ',' ORDER BY id), first(words ORDER BY id), arg_max(words, id), skewness(number), \
         bool_and(few > 3), product(number) FROM facts GROUP BY many",
    ),
    (
        "lists",
        "SELECT many, array_agg(few ORDER BY id), min(wide), quantile_disc(wide, 0.3) FROM facts GROUP BY many",
    ),
    ("distinct rows", "SELECT DISTINCT words, skewed FROM facts"),
    (
        "distinct in many groups",
        "SELECT many, count(DISTINCT words), sum(DISTINCT few) FROM facts GROUP BY many",
    ),
    (
        "distinct in few groups",
        "SELECT few, count(DISTINCT words), count(DISTINCT id) FROM facts GROUP BY few",
    ),
    (
        "distinct without groups",
        "SELECT count(DISTINCT words), count(DISTINCT id), sum(DISTINCT many) FROM facts",
    ),
    ("union", "SELECT many, words FROM facts UNION SELECT many, words FROM others"),
    (
        "join on a number",
        "SELECT f.id, f.words, o.key, o.words FROM facts f JOIN others o ON f.many = o.many",
    ),
    (
        "join on text",
        "SELECT f.id, o.key FROM facts f JOIN others o ON f.words = o.words AND f.few = o.key % 7",
    ),
    (
        "left join",
        "SELECT f.id, o.key, o.words FROM others o LEFT JOIN facts f ON f.many = o.many AND f.id < o.key",
    ),
    ("right join", "SELECT f.id, o.key FROM facts f RIGHT JOIN others o ON f.many = o.key AND f.few < 4"),
    ("full join", "SELECT f.id, o.key, o.words FROM facts f FULL JOIN others o ON f.many = o.many"),
    ("exists", "SELECT id FROM facts f WHERE EXISTS (SELECT 1 FROM others o WHERE o.words = f.words)"),
    (
        "not exists",
        "SELECT id FROM facts f WHERE NOT EXISTS (SELECT 1 FROM others o WHERE o.many = f.many AND o.key <> f.id)",
    ),
    (
        "exists, the other side",
        "SELECT key FROM others o WHERE EXISTS (SELECT 1 FROM facts f WHERE o.many = f.many AND f.id <> o.key)",
    ),
    ("in", "SELECT id, many IN (SELECT many FROM others) FROM facts"),
    ("not in", "SELECT id FROM facts WHERE many NOT IN (SELECT key FROM others)"),
    ("not in with a NULL", "SELECT id FROM facts WHERE many NOT IN (SELECT many FROM others)"),
    ("intersection", "SELECT many, words FROM facts INTERSECT SELECT many, words FROM others"),
    ("difference", "SELECT many, words FROM facts EXCEPT ALL SELECT many, words FROM others"),
    (
        "one key",
        "SELECT count(*), sum(f.id), max(o.words) FROM facts f JOIN others o ON f.skewed = o.skewed AND f.id < o.key WHERE f.id < 10000 AND o.key < 5000",
    ),
    (
        "three joins",
        "SELECT a.id, count(*), max(c.words) FROM facts a JOIN others b ON a.many = b.many JOIN facts c ON b.key = c.id GROUP BY a.id",
    ),
    (
        "window over partitions",
        "SELECT id, row_number() OVER w, sum(id) OVER w, lag(words) OVER w, max(wide) OVER (PARTITION BY many) FROM facts WINDOW w AS (PARTITION BY many ORDER BY day, id)",
    ),
    (
        "window over text",
        "SELECT id, rank() OVER (PARTITION BY words ORDER BY number), count(*) OVER (PARTITION BY words) FROM facts",
    ),
];

/// The result's rows as text, sorted unless the statement says in what order they come.
fn rows(session: &Session, statement: &str) -> Result<Vec<String>, types::Error> {
    let result = session.query(statement)?;
    let types: Vec<types::Type> = result.schema().fields().iter().map(|f| f.ty).collect();
    let mut rows = Vec::with_capacity(result.rows());
    for batch in result.batches() {
        for row in 0..batch.rows {
            let cells: Vec<String> =
                batch.columns.iter().zip(&types).map(|(column, ty)| cell(&column.value(row), *ty)).collect();
            rows.push(cells.join("|"));
        }
    }
    if !is_ordered(statement) {
        rows.sort();
    }
    Ok(rows)
}

fn is_ordered(statement: &str) -> bool {
    statement.rsplit(')').next().is_some_and(|end| end.contains("ORDER BY"))
}

/// How many rows there are, and a number made of all, which depends on their order only if the statement has one. The
/// rows are read as they come, so that the result takes no room.
fn digest(session: &Session, statement: &str) -> Result<(usize, u64), types::Error> {
    let mut stream = session.stream(statement)?;
    let types: Vec<types::Type> = stream.schema().fields().iter().map(|f| f.ty).collect();
    let (mut rows, mut sum) = (0, 0u64);
    while let Some(batch) = stream.next_batch()? {
        rows += batch.rows;
        for row in 0..batch.rows {
            let mut hasher = std::hash::DefaultHasher::new();
            for (column, ty) in batch.columns.iter().zip(&types) {
                cell(&column.value(row), *ty).hash(&mut hasher);
            }
            let weight = if is_ordered(statement) { 0x9E37_79B9_7F4A_7C15 } else { 1 };
            sum = sum.wrapping_mul(weight).wrapping_add(hasher.finish());
        }
    }
    Ok((rows, sum))
}

/// Floating sums depend on the order of additions in their last digits.
fn cell(value: &types::Value, ty: types::Type) -> String {
    match value {
        types::Value::F64(number) if number.abs() < 1e-6 => "0".to_owned(),
        types::Value::F64(number) => format!("{number:.5e}"),
        value => value.display(ty),
    }
}

fn compare(session: &Session, setting: &str, back: &str) {
    for (what, statement) in STATEMENTS {
        let expected = rows(session, statement).unwrap_or_else(|e| panic!("{what}: {e}"));
        session.query(setting).expect("is a setting");
        let got = rows(session, statement).unwrap_or_else(|e| panic!("{what}, {setting}: {e}"));
        session.query(back).expect("is a setting");
        assert_eq!(expected.len(), got.len(), "{what}, {setting}");
        if let Some(at) = (0..expected.len()).find(|at| expected[*at] != got[*at]) {
            panic!("{what}, {setting}, row {at}:\n{}\n{}", expected[at], got[at]);
        }
    }
}

/// What EXPLAIN ANALYZE says.
fn analyzed(session: &Session, statement: &str) -> String {
    let result = session.query(&format!("EXPLAIN ANALYZE {statement}")).expect("runs");
    (0..result.rows()).map(|row| result.value(row, 0).display(types::Type::Text) + "\n").collect()
}

#[test]
fn answers_are_the_same_however_little_an_operator_may_keep() {
    let _alone = ALONE.lock();
    for workers in [1, 3] {
        let folder = Folder::new("same");
        let session = database(workers, &folder);
        fill(&session, 12_000);
        for bound in ["1", "300KB"] {
            compare(&session, &format!("SET operator_memory = '{bound}'"), "RESET operator_memory");
        }
        session.query("SET operator_memory = '1'").expect("is a setting");
        // Nothing to keep where groups end with their block.
        session.query("SET clustered_keys = off").expect("is a setting");
        // A list with a NULL ends the search at once.
        for (what, statement) in STATEMENTS.iter().filter(|(what, _)| *what != "not in with a NULL") {
            let plan = analyzed(&session, statement);
            assert!(plan.contains("spilled "), "{what} wrote nothing:\n{plan}");
        }
        assert_eq!(folder.names().len(), 0);
    }
}

#[test]
fn more_data_than_memory_gives_the_same_answers() {
    let _alone = ALONE.lock();
    let folder = Folder::new("limit");
    let session = database(2, &folder);
    fill(&session, 600_000);
    let mut wrong = Vec::new();
    for (what, statement) in STATEMENTS {
        let expected = digest(&session, statement).unwrap_or_else(|e| panic!("{what}: {e}"));
        session.database().release_idle_memory();
        let limit = session.database().memory_used().0 + (24 << 20);
        session.query(&format!("SET memory_limit = '{limit}'")).expect("is a setting");
        let got = digest(&session, statement);
        session.query("SET memory_limit = '4GB'").expect("is a setting");
        match got {
            Err(error) => wrong.push(format!("{what}: {error}")),
            Ok(got) if got != expected => wrong.push(format!("{what}: {expected:?}, {got:?}")),
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(folder.names().len(), 0);
}

#[test]
fn a_statement_that_is_cancelled_leaves_no_file() {
    let _alone = ALONE.lock();
    let folder = Folder::new("cancel");
    let session = database(2, &folder);
    fill(&session, 200_000);
    session.query("SET operator_memory = '1MB'").expect("is a setting");
    for (what, statement) in
        STATEMENTS.iter().filter(|(what, _)| what.starts_with("sort") || what.contains("join"))
    {
        for delay in [20, 80] {
            let cancel = session.cancel_token();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(delay));
                    cancel.cancel();
                });
                if let Err(error) = session.query(statement) {
                    assert_eq!(error.state(), SqlState::QueryCanceled, "{what}: {error}");
                }
            });
            assert_eq!(folder.names().len(), 0, "{what}");
        }
    }
    session.query("SELECT count(*) FROM facts").expect("the session goes on");
}

#[test]
fn a_folder_that_cannot_be_written_ends_the_statement_alone() {
    let _alone = ALONE.lock();
    let folder = Folder::new("gone");
    let session = database(2, &folder);
    fill(&session, 50_000);
    session.query("SET operator_memory = '1'").expect("is a setting");
    let statement = STATEMENTS[0].1;
    session.query(statement).expect("sorts");
    std::fs::remove_dir(&folder.0).expect("is empty");
    std::fs::write(&folder.0, "a file where the folder was").expect("writes");
    let error = session.query(statement).expect_err("there is nowhere to write");
    assert_eq!(error.state(), SqlState::IoError, "{error}");
    assert!(error.to_string().contains("quickstep-gone"), "{error}");
    session.query("RESET operator_memory").expect("is a setting");
    session.query(statement).expect("fits memory");
    let _ = std::fs::remove_file(&folder.0);
    let error = session.query("SET temp_directory = '/no/such/folder'").expect_err("is not there");
    assert_eq!(error.state(), SqlState::InvalidParameterValue);
}

/// A disk that takes so many bytes and no more.
#[derive(Debug)]
struct SmallDisk(LocalFiles, Arc<AtomicI64>);

#[derive(Debug)]
struct SmallWriter(Box<dyn FileWriter>, Arc<AtomicI64>);

impl FileWriter for SmallWriter {
    fn write(&mut self, bytes: &[u8]) -> types::Result<()> {
        if self.1.fetch_sub(bytes.len() as i64, Ordering::Relaxed) < bytes.len() as i64 {
            return Err(types::Error::new(SqlState::DiskFull, "no space left"));
        }
        self.0.write(bytes)
    }
    fn position(&self) -> u64 {
        self.0.position()
    }
    fn cut(&mut self, length: u64) -> types::Result<()> {
        self.0.cut(length)
    }
    fn sync(&mut self) -> types::Result<()> {
        self.0.sync()
    }
    fn syncer(&self) -> types::Result<Arc<dyn FileSync>> {
        self.0.syncer()
    }
}

impl FileManager for SmallDisk {
    fn create(&self, name: &str) -> types::Result<Box<dyn FileWriter>> {
        Ok(Box::new(SmallWriter(self.0.create(name)?, self.1.clone())))
    }
    fn continue_at(&self, name: &str, length: u64) -> types::Result<Box<dyn FileWriter>> {
        self.0.continue_at(name, length)
    }
    fn open(&self, name: &str) -> types::Result<Arc<dyn FileReader>> {
        self.0.open(name)
    }
    fn rename(&self, from: &str, to: &str) -> types::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> types::Result<()> {
        self.0.remove(name)
    }
    fn list(&self, folder: &str) -> types::Result<Vec<FileEntry>> {
        self.0.list(folder)
    }
    fn sync_directory(&self, folder: &str) -> types::Result<()> {
        self.0.sync_directory(folder)
    }
    fn lock(&self, name: &str, owner: &Owner) -> types::Result<FileLock> {
        self.0.lock(name, owner)
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

#[test]
fn a_full_disk_ends_the_statement_alone() {
    let _alone = ALONE.lock();
    let folder = Folder::new("full");
    let session = database(2, &folder);
    fill(&session, 20_000);
    let left = Arc::new(AtomicI64::new(0));
    session.database().set_temporary_files(Arc::new(SmallDisk(
        LocalFiles::new(&files::Capability::everything(), &folder.0).unwrap(),
        left.clone(),
    )));
    for (what, statement) in
        STATEMENTS.iter().filter(|(what, _)| what.contains("join") || what.contains("sort"))
    {
        let expected = rows(&session, statement).unwrap_or_else(|e| panic!("{what}: {e}"));
        session.query("SET operator_memory = '1'").expect("is a setting");
        for bytes in [0, 1000] {
            left.store(bytes, Ordering::Relaxed);
            let Err(error) = session.query(statement).map(|_| ()) else { panic!("{what} needs no file") };
            assert_eq!(error.state(), SqlState::DiskFull, "{what}: {error}");
            assert_eq!(folder.names().len(), 0, "{what}");
        }
        left.store(i64::MAX, Ordering::Relaxed);
        assert_eq!(rows(&session, statement).expect("there is space again").len(), expected.len(), "{what}");
        session.query("RESET operator_memory").expect("is a setting");
    }
}
