//! Tables that are larger than memory, in a database in memory: blocks go to the temporary folder and come back.
//!
//! The allocator is counted, so that the limit holds as it does in the product; since the count belongs to the
//! process, tests run one at a time (`ALONE`). Answers are compared with those of a database without a tight limit.

use std::sync::Mutex;

use engine::{Database, Options, Session, SqlState};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// The allocator's count is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Rows of the table: its blocks are 1 MB.
const ROWS: u64 = 4_000_000;

fn database(megabytes: u64) -> Session {
    let options = Options { workers: Some(2), memory_bytes: Some(megabytes << 20), ..Default::default() };
    let session = Database::in_memory(options).expect("opens").session();
    session.query("SET block_size = '1MB'").expect("is a setting");
    session
}

/// Values that no coding makes small, so that a row takes some forty bytes.
fn definition() -> String {
    format!(
        "CREATE TABLE big AS SELECT id, md5(id::text) AS name, (id * 7919 % 1000003) AS mixed, \
         CASE WHEN id % 11 = 0 THEN NULL ELSE id % 100 END AS few \
         FROM (SELECT (j * 1000 + i)::bigint AS id FROM generate_series(1, 1000) AS g(i), \
         generate_series(0, {}) AS h(j)) AS s",
        ROWS / 1000 - 1
    )
}

fn load(session: &Session) {
    session.query(&definition()).expect("loads");
}

const QUERIES: [&str; 8] = [
    "SELECT count(*), count(few), sum(id), sum(mixed), min(name), max(name) FROM big",
    "SELECT few, count(*), sum(mixed), max(name) FROM big GROUP BY few ORDER BY few NULLS FIRST",
    "SELECT id, name FROM big WHERE mixed = 4711 ORDER BY id",
    "SELECT count(*) FROM big WHERE name LIKE '%abcd%'",
    "SELECT id, name, mixed FROM big ORDER BY mixed DESC, id LIMIT 20",
    "SELECT count(*), sum(a.mixed) FROM big a JOIN big b ON a.id = b.mixed WHERE b.few = 3",
    "SELECT * FROM big WHERE id IN (1, 999999, 2000000, 4000000) ORDER BY id",
    "SELECT count(DISTINCT few), sum(length(name)) FROM big WHERE id % 3 = 1",
];

fn text(session: &Session, query: &str) -> String {
    let result = session.query(query).unwrap_or_else(|e| panic!("{query}: {e}"));
    let columns = result.schema().fields().len();
    let value = |row, column| match result.value(row, column) {
        value if value.as_text().is_some() => value.as_text().unwrap_or_default().to_owned(),
        value => format!("{value:?}"),
    };
    let row = |row| (0..columns).map(|column| value(row, column)).collect::<Vec<_>>().join("|");
    (0..result.rows()).map(row).collect::<Vec<_>>().join("\n")
}

fn pool(session: &Session) -> engine::PoolStatistics {
    session.database().pool_statistics()
}

#[test]
fn queries_over_tables_four_times_larger_than_memory_are_right() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ample = database(4 << 10);
    load(&ample);
    let bytes = pool(&ample).resident_bytes;
    assert_eq!(pool(&ample).evictions, 0);
    let expected: Vec<String> = QUERIES.iter().map(|query| text(&ample, query)).collect();
    drop(ample);
    // What the process holds else counts, too.
    let limit = (bytes >> 20) / 4 + (memory::allocated_bytes() >> 20);
    let tight = database(limit);
    load(&tight);
    for policy in ["lru-2", "random"] {
        tight.query(&format!("SET replacement = '{policy}'")).expect("is a setting");
        for (query, expected) in QUERIES.iter().zip(&expected) {
            assert_eq!(&text(&tight, query), expected, "{query} with {policy}");
        }
    }
    let counts = pool(&tight);
    assert!(counts.written_bytes > bytes / 2 && counts.read_bytes > bytes, "{counts:?} of {bytes}");
    let plan = text(&tight, "EXPLAIN ANALYZE SELECT sum(mixed) FROM big");
    assert!(plan.contains("bytes read from files"), "{plan}");
    let row = text(&tight, "SELECT reads > 0, evictions > 0, written_bytes > 0 FROM quickstep_pool()");
    assert_eq!(row.matches("true").count(), 3, "{row}");
    // Rows that come later, and columns that come and go.
    tight.query("INSERT INTO big SELECT id + 10000000, name, mixed, few FROM big WHERE id <= 1000").unwrap();
    tight.query("ALTER TABLE big ADD COLUMN more INTEGER DEFAULT 7").unwrap();
    tight.query("ALTER TABLE big DROP COLUMN mixed").unwrap();
    let row = text(&tight, "SELECT count(*), sum(more), sum(length(name)) FROM big");
    let rows = ROWS + 1000;
    assert!([rows, 7 * rows, 32 * rows].iter().all(|n| row.contains(&n.to_string())), "{row}");
    tight.query("DROP TABLE big").unwrap();
    assert_eq!(pool(&tight).file_bytes, 0, "the temporary file is empty again");
}

#[test]
fn without_a_temporary_folder_the_limit_is_one() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let session = database(64);
    session.query("SET temp_directory = ''").expect("is a setting");
    let statement = definition();
    let error = session.query(&statement).expect_err("it does not fit");
    assert_eq!(error.state(), SqlState::OutOfMemory);
    let error = session.query("SET temp_directory = '/no/such/folder'").expect_err("there is none");
    assert_eq!(error.state(), SqlState::InvalidParameterValue);
    session.query("RESET temp_directory").expect("the machine's own");
    session.query(&statement).expect("now it does");
    assert!(pool(&session).written_bytes > 0);
}

/// Tables stored as rows, with indices, in a database on disk that is opened with a third of their bytes: by metadata
/// alone, and then block by block.
#[test]
fn rows_larger_than_memory_are_opened_by_metadata_and_come_and_go() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    const ROWS: u64 = 1_000_000;
    let folder = std::env::temp_dir().join(format!("quickstep-rows-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_string_lossy().into_owned();
    let layouts = [
        ("split", "name TEXT, ", "md5(id::text), ", "layout = row"),
        ("coded", "name TEXT, ", "md5(id::text), ", "layout = row, compress = true"),
        ("packed", "", "", "layout = packed_row"),
    ];
    let queries = |table: &str, named: bool| {
        let mut queries = vec![
            format!("SELECT count(*), count(few), sum(id), sum(mixed) FROM {table}"),
            format!("SELECT few, count(*), sum(mixed) FROM {table} GROUP BY few ORDER BY few NULLS FIRST"),
            format!("SELECT * FROM {table} WHERE id = 314159"),
            format!("SELECT id, mixed FROM {table} ORDER BY mixed DESC, id LIMIT 20"),
        ];
        if named {
            queries
                .push(format!("SELECT min(name), max(name), sum(length(name)) FROM {table} WHERE few < 40"));
        }
        queries
    };
    let on_disk = |megabytes: u64| {
        let options = Options { workers: Some(2), memory_bytes: Some(megabytes << 20), ..Default::default() };
        Database::on_disk(&path, options).expect("opens").0
    };
    let ample = on_disk(4 << 10).session();
    let mut expected = Vec::new();
    for (table, column, value, with) in layouts {
        for statement in [
            format!(
                "CREATE TABLE {table} (id BIGINT, {column}mixed BIGINT, few BIGINT) WITH ({with}, block_size = '1MB')"
            ),
            format!(
                "INSERT INTO {table} SELECT id, {value}id * 7919 % 1000003, CASE WHEN id % 11 = 0 THEN NULL ELSE \
                 id % 100 END FROM generate_series(1::bigint, {ROWS}) AS s(id)"
            ),
            format!("CREATE INDEX ON {table} USING csbtree (id)"),
        ] {
            ample.query(&statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
        expected.extend(queries(table, !column.is_empty()).into_iter().map(|query| {
            let answer = text(&ample, &query);
            (query, answer)
        }));
    }
    let bytes = pool(&ample).resident_bytes;
    ample.query("CHECKPOINT").expect("writes blocks");
    drop(ample);
    let tight = on_disk((bytes >> 20) / 3 + (memory::allocated_bytes() >> 20)).session();
    assert_eq!((pool(&tight).read_bytes, pool(&tight).resident_bytes), (0, 0), "opened by metadata");
    // One row by its index: its block, and no other.
    assert!(
        text(&tight, "SELECT mixed FROM split WHERE id = 777")
            .contains(&(777 * 7919 % 1_000_003).to_string())
    );
    assert!(pool(&tight).read_bytes * 4 < bytes, "{:?} of {bytes}", pool(&tight));
    for _ in 0..2 {
        for (query, answer) in &expected {
            assert_eq!(&text(&tight, query), answer, "{query}");
        }
    }
    let counts = pool(&tight);
    assert!(counts.evictions > 0 && counts.read_bytes > bytes && counts.written_bytes == 0, "{counts:?}");
    // Rows change, blocks get other layouts, and the changes are there after another opening.
    tight.query("UPDATE packed SET mixed = -1 WHERE id % 1000 = 0").expect("updates");
    tight.query("DELETE FROM split WHERE id > 900000").expect("deletes");
    tight.query("ALTER TABLE coded SET (layout = compressed_column)").expect("re-organises");
    drop(tight);
    let again = on_disk(1 << 10).session();
    let row =
        text(&again, "SELECT count(*) FILTER (WHERE mixed = -1), (SELECT count(*) FROM split) FROM packed");
    assert!(row.contains("1000)") && row.contains("900000"), "{row}");
    let (query, answer) = &expected[5];
    assert_eq!(&text(&again, query), answer, "{query}");
    drop(again);
    std::fs::remove_dir_all(&folder).expect("is removed");
}
