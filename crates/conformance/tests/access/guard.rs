//! What reaches beyond the database: files, addresses, secrets, settings of the process, what others run. Every entry
//! of the list in `spec/server.md`, E3, as a plain role and as one that was granted it.

use engine::SqlState as S;

use crate::support::{database, expect, rows, run, state};

const NO: Option<S> = Some(S::InsufficientPrivilege);

#[test]
fn a_plain_role_opens_nothing() {
    let database = database();
    let admin = database.session();
    let folder = std::env::temp_dir().join(format!("access-guard-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (csv, out) = (folder.join("t.csv"), folder.join("out.csv"));
    std::fs::write(&csv, "a,b\n1,2\n").unwrap();
    run(&admin, "CREATE ROLE plain LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_read_server_files");
    run(&admin, "CREATE ROLE writer LOGIN IN ROLE pg_write_server_files");
    let [plain, reader, writer] =
        ["plain", "reader", "writer"].map(|name| database.session_as(name).unwrap());
    let (at, to, inside) = (csv.display(), out.display(), folder.display());
    let reads = [
        format!("SELECT * FROM read_csv('{at}')"),
        format!("SELECT * FROM read_csv_auto('{at}')"),
        format!("SELECT * FROM '{at}'"),
        format!("SELECT * FROM '{inside}/*.csv'"),
        format!("SELECT * FROM read_text('{at}')"),
        format!("SELECT * FROM read_blob('{at}')"),
        format!("SELECT * FROM glob('{inside}/*')"),
        format!("SELECT * FROM sniff_csv('{at}')"),
        format!("DESCRIBE SELECT * FROM '{at}'"),
        format!("SUMMARIZE SELECT * FROM '{at}'"),
        format!("CREATE TEMP TABLE made AS SELECT * FROM '{at}'"),
    ];
    for text in &reads {
        assert_eq!(state(&plain, text), NO, "{text}");
        assert_eq!(state(&writer, text), NO, "{text}");
        assert_ne!(state(&reader, text), NO, "{text}");
    }
    for text in ["/etc/passwd", "/proc/self/environ", "/dev/stdin", "file:///etc/passwd"] {
        assert_eq!(state(&plain, &format!("SELECT * FROM read_csv('{text}')")), NO, "{text}");
    }
    for function in [
        "read_parquet",
        "read_json",
        "read_ndjson",
        "read_arrow",
        "read_tbl",
        "parquet_metadata",
        "parquet_schema",
        "delta_scan",
        "delta_history",
        "iceberg_scan",
        "iceberg_snapshots",
        "iceberg_metadata",
    ] {
        assert_eq!(state(&plain, &format!("SELECT * FROM {function}('{inside}/x')")), NO, "{function}");
    }
    let writes = [
        format!("COPY (SELECT 1) TO '{to}'"),
        format!("COPY (SELECT 1 AS a) TO '{inside}/parts' (FORMAT csv, PARTITION_BY (a))"),
        format!("COPY (SELECT 1 AS a) TO '{inside}/delta' (FORMAT delta)"),
    ];
    for text in &writes {
        assert_eq!(state(&plain, text), NO, "{text}");
        assert_eq!(state(&reader, text), NO, "{text}");
    }
    assert_eq!(state(&writer, &writes[0]), None);
    for url in
        ["http://169.254.169.254/x.csv", "https://localhost/x.csv", "s3://b/x.parquet", "gs://b/x.parquet"]
    {
        assert_eq!(state(&plain, &format!("SELECT * FROM '{url}'")), NO, "{url}");
        assert_eq!(state(&reader, &format!("SELECT * FROM '{url}'")), NO, "{url}");
        assert_eq!(state(&plain, &format!("COPY (SELECT 1) TO '{url}'")), NO, "{url}");
    }
    expect(
        &plain,
        &[
            ("CREATE SECRET a (TYPE s3, KEY_ID 'a', SECRET 'b')", NO),
            ("DROP SECRET a", NO),
            ("SELECT * FROM quickstep_secrets", NO),
            ("SELECT * FROM which_secret('s3://b/x', 's3')", NO),
        ],
    );
    for text in [
        format!("EXPORT DATABASE '{inside}/e'"),
        format!("IMPORT DATABASE '{inside}/e'"),
        format!("BACKUP DATABASE TO '{inside}/b'"),
        format!("ATTACH '{inside}/d' AS d"),
        "ATTACH ':memory:' AS d".to_owned(),
        "CHECKPOINT".to_owned(),
        "CHECK DATABASE".to_owned(),
        "CALL tpch(scale => 0.001)".to_owned(),
        "CALL advise()".to_owned(),
        "CALL forget_traces()".to_owned(),
        "CALL explain_query(1)".to_owned(),
        format!("CALL write_trace(1, '{inside}/t.json')"),
    ] {
        assert_eq!(state(&plain, &text), NO, "{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn settings_of_the_process_are_not_a_plain_role_s() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE ROLE plain LOGIN; CREATE ROLE keeper LOGIN IN ROLE quickstep_settings");
    let (plain, keeper) = (database.session_as("plain").unwrap(), database.session_as("keeper").unwrap());
    let shared = rows(&admin, "SELECT name FROM quickstep_settings");
    let own: Vec<String> = engine::settings::shared().map(|(name, _)| name.to_owned()).collect();
    assert!(own.len() > 15 && own.iter().all(|name| shared.contains(name)));
    for name in &own {
        assert_eq!(state(&plain, &format!("SET {name} = 'x'")), NO, "{name}");
        assert_eq!(state(&plain, &format!("RESET {name}")), NO, "{name}");
        assert!(state(&plain, &format!("PRAGMA {name} = 'x'")).is_some(), "{name}");
    }
    for alias in ["threads", "worker_threads", "max_memory"] {
        assert_eq!(state(&plain, &format!("SET {alias} = '1'")), NO, "{alias}");
    }
    expect(
        &plain,
        &[
            ("SET statement_timeout = 10000", None),
            ("SET search_path = main", None),
            ("RESET ALL", None),
            ("SELECT set_config('workers', '1', false)", NO),
            ("SELECT set_config('statement_timeout', '10000', false)", None),
            ("SELECT pg_read_file('/etc/passwd')", Some(S::UndefinedFunction)),
            ("SELECT getenv('HOME')", Some(S::UndefinedFunction)),
        ],
    );
    assert_eq!(state(&keeper, "SET policy = 'fair'"), None);
    assert_eq!(state(&keeper, "SET temp_directory = '/tmp'"), NO);
}

#[test]
fn what_others_run_is_theirs() {
    let database = database();
    let admin = database.session();
    run(
        &admin,
        "CREATE ROLE plain LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; SELECT 'of the superuser'",
    );
    let (plain, watcher) = (database.session_as("plain").unwrap(), database.session_as("watcher").unwrap());
    run(&plain, "SELECT 'of plain'");
    let history = "SELECT count(*) FROM quickstep_query_history WHERE query LIKE '%of the superuser%' AND query NOT LIKE '%history%'";
    assert_eq!(rows(&plain, history), ["0"]);
    assert_eq!(rows(&watcher, history), ["1"]);
    assert_eq!(
        rows(&plain, "SELECT count(*) FROM quickstep_query_history WHERE query = 'SELECT ''of plain'''"),
        ["1"]
    );
    for listing in [
        "quickstep_workload",
        "quickstep_query_plans",
        "quickstep_work_orders",
        "quickstep_operators",
        "quickstep_memory",
        "quickstep_metrics",
    ] {
        assert_eq!(state(&plain, &format!("SELECT * FROM {listing}")), NO, "{listing}");
        assert_eq!(state(&plain, &format!("SELECT * FROM {listing}()")), NO, "{listing}");
        assert_eq!(state(&watcher, &format!("SELECT * FROM {listing}")), None, "{listing}");
    }
    assert_eq!(rows(&plain, "SELECT count(*) FROM quickstep_queries"), ["1"]);
}
