//! The page's files, and queries in every form.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::json;

use crate::client::start;

#[test]
fn the_page_comes_in_the_form_that_the_browser_takes() {
    let server = start();
    let host = server.host();
    let get = |path: &str, headers: &[(&str, &str)]| {
        let headers: Vec<(&str, &str)> =
            [("host", &*host)].into_iter().chain(headers.iter().copied()).collect();
        server.send("GET", path, &headers, "")
    };
    let plain = get("/", &[]);
    assert!(plain.text().contains("<html") && plain.header("content-encoding").is_empty());
    assert_eq!(plain.header("content-type"), "text/html; charset=utf-8");
    assert_eq!((plain.header("cache-control"), plain.header("vary")), ("no-cache", "Accept-Encoding"));
    let small = get("/", &[("accept-encoding", "gzip, br")]);
    assert_eq!(small.header("content-encoding"), "br");
    assert_eq!(&*small.body.unwrap(), ui::asset("/").unwrap().brotli);
    let again = get("/", &[("if-none-match", plain.header("etag"))]);
    assert_eq!((again.status.as_u16(), again.body.unwrap().len()), (304, 0));
    let script = ui::ASSETS.iter().find(|asset| asset.is_immutable()).unwrap();
    let kept = get(script.path, &[("accept-encoding", "gzip")]);
    assert!(kept.header("cache-control").contains("immutable") && kept.header("content-encoding") == "gzip");
    for path in ["/assets/../Cargo.toml", "/assets/", "/etc/passwd", "/%2e%2e/x"] {
        assert_eq!(get(path, &[]).status, 404, "{path}");
    }
    assert_eq!(server.send("POST", "/", &[("host", &host)], "").status, 405);
}

#[test]
fn json_has_columns_rows_and_what_there_is_to_say() {
    let server = start();
    let answer = server.query("SELECT 1 AS a, 'x' AS b, NULL::integer AS c, 9007199254740993 AS d, true AS e, [1, 2] AS f, 1.50 AS g");
    assert_eq!(answer["columns"][0], json!({"name": "a", "type": "INTEGER"}));
    assert_eq!(answer["rows"], json!([[1, "x", null, "9007199254740993", true, [1, 2], 1.50]]));
    assert_eq!((&answer["tag"], &answer["notices"]), (&json!("SELECT 1"), &json!([])));
    assert!(
        answer["query"].as_u64().unwrap() > 0 && answer["milliseconds"]["execution"].as_f64().unwrap() >= 0.0
    );
    assert_eq!(server.query("SELECT 1 WHERE false")["rows"], json!([]));
}

#[test]
fn a_script_is_one_transaction() {
    let server = start();
    let made = server.query("CREATE TABLE t (i integer); INSERT INTO t VALUES (1), (2)");
    assert_eq!((&made["columns"], &made["tag"]), (&json!([]), &json!("INSERT 0 2")));
    let failed = server.query("INSERT INTO t VALUES (3); SELECT 1 / (i - i) FROM t");
    assert_eq!(failed["error"]["code"], "22012");
    assert_eq!(server.query("SELECT count(*) FROM t")["rows"], json!([[2]]));
}

#[test]
fn errors_stand_where_an_editor_shows_them() {
    let server = start();
    let answer = server.post("/v1/query", "text/csv", &json!({"sql": "SELECT '😀',\n wrong_name"}));
    assert_eq!(answer.status, 400);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "42703");
    assert_eq!(error["position"], json!({"offset": 14, "length": 10, "line": 2, "column": 2}));
}

#[test]
fn parameters_take_the_types_of_their_places() {
    let server = start();
    let post = |parameters: serde_json::Value| {
        let sql = "SELECT $1 + 1 AS a, $2 || '!' AS b, $3::date AS c, $4::bigint AS d";
        server.post("/v1/query", "", &json!({"sql": sql, "parameters": parameters})).json()
    };
    let answer = post(json!([41, "x", "2024-02-29", null]));
    assert_eq!(answer["rows"], json!([[42, "x!", "2024-02-29", null]]));
    assert_eq!(
        post(json!([1, "x'; DROP TABLE t", "2024-02-29", "9007199254740993"]))["rows"][0][3],
        "9007199254740993"
    );
    assert_eq!(post(json!([1]))["error"]["code"], "08P01");
    let wrong = post(json!(["many", "x", "2024-02-29", 1]));
    assert!(wrong["error"]["message"].as_str().unwrap().starts_with("parameter $1: "), "{wrong}");
}

#[test]
fn settings_hold_for_the_query_alone() {
    let server = start();
    let post = |settings: serde_json::Value| {
        server.post("/v1/query", "", &json!({"sql": "SHOW TimeZone", "settings": settings})).json()
    };
    assert_eq!(post(json!({"timezone": "Asia/Tokyo"}))["rows"], json!([["Asia/Tokyo"]]));
    assert_eq!(post(json!({}))["rows"], json!([["UTC"]]));
    assert_eq!(post(json!({"memory_limit": "1GB"}))["error"]["code"], "22023");
}

#[test]
fn rows_come_in_every_form() {
    let server = start();
    let sql = "SELECT i::bigint AS i, 'a,' || i AS t FROM generate_series(1, 3000) AS s(i) ORDER BY i";
    let post = |accept: &str| server.post("/v1/query", accept, &json!({ "sql": sql }));
    let csv = post("text/csv");
    assert_eq!(csv.header("content-type"), "text/csv");
    assert!(csv.text().starts_with("i,t\n1,\"a,1\"\n") && csv.text().lines().count() == 3001);
    let lines = post("application/x-ndjson").text();
    assert_eq!(lines.lines().count(), 3000);
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last, json!({"i": 3000, "t": "a,3000"}));
    let sum = |batches: Vec<arrow_array::RecordBatch>| -> i64 {
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().iter()).sum()
    };
    let arrow = post("application/vnd.apache.arrow.stream").body.unwrap();
    let batches = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(arrow), None).unwrap();
    assert_eq!(sum(batches.map(Result::unwrap).collect()), 3000 * 3001 / 2);
    let parquet = post("application/vnd.apache.parquet").body.unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(parquet, 1024).unwrap();
    assert_eq!(sum(reader.map(Result::unwrap).collect()), 3000 * 3001 / 2);
    let none = post("text/html");
    assert_eq!((none.status.as_u16(), none.code().as_str()), (406, "0A000"));
}

#[test]
fn a_late_error_breaks_the_answer_off() {
    let server = start();
    // A megabyte is on its way when the last row fails.
    let sql = "SELECT i, 10 / (300000 - i) FROM generate_series(1, 300000) AS s(i)";
    let answer = server.post("/v1/query", "application/x-ndjson", &json!({ "sql": sql }));
    assert!(answer.status == 400 || answer.body.is_none(), "no client takes a part for the whole");
}

#[test]
fn a_client_that_goes_away_cancels_its_statement() {
    let server = start();
    let sql = "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j) WHERE i + j = 7";
    let body = json!({ "sql": sql }).to_string();
    let mut socket = std::net::TcpStream::connect(server.host()).unwrap();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.host(),
        server.bearer(),
        body.len()
    );
    std::io::Write::write_all(&mut socket, head.as_bytes()).unwrap();
    server.until("it runs", || !server.database.queries().is_empty());
    drop(socket);
    server.until("it has ended", || server.database.queries().is_empty());
}

#[test]
fn a_client_that_does_not_read_stops_its_statement_and_no_other() {
    let server = crate::client::start_with(|config| server::Config { active_statements_max: 1, ..config });
    let sql = "SELECT i, repeat('x', 100) FROM generate_series(1, 20000000) AS s(i)";
    let body = json!({ "sql": sql }).to_string();
    let mut socket = std::net::TcpStream::connect(server.host()).unwrap();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nAccept: text/csv\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        server.host(),
        server.bearer(),
        body.len()
    );
    std::io::Write::write_all(&mut socket, head.as_bytes()).unwrap();
    server.until("it runs", || !server.database.queries().is_empty());
    // The only place for statements is free again when the reader has stood still for long enough.
    assert_eq!(server.query("SELECT 1")["rows"], json!([[1]]));
    assert_eq!(server.database.queries().len(), 1);
    drop(socket);
    server.until("it has ended", || server.database.queries().is_empty());
}

#[test]
fn a_text_is_read_without_being_run() {
    let server = start();
    let told = server.post("/v1/parse", "", &json!({"sql": "SELECT 1; SELEC 2"})).json();
    assert_eq!(told["statements"], json!([{"from": 0, "to": 8, "kind": "SELECT"}]));
    assert_eq!(told["errors"][0]["from"], 10);
}

#[test]
fn completion_tells_what_may_stand_at_the_cursor() {
    let server = start();
    let session = server.database.session();
    session
        .execute(
            "CREATE TABLE orders (id INTEGER, total DECIMAL(12, 2), \"Odd Name\" TEXT); CREATE SCHEMA other",
        )
        .unwrap();
    session
        .execute("CREATE VIEW open_orders AS SELECT id FROM orders; CREATE TABLE other.parts (p INTEGER)")
        .unwrap();
    let told = |sql: &str, at: usize| server.post("/v1/complete", "", &json!({"sql": sql, "at": at})).json();
    let texts = |sql: &str, at: usize| -> Vec<String> {
        let candidates = told(sql, at)["candidates"].as_array().unwrap().clone();
        candidates.iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    let has = |sql: &str, wanted: &[&str]| {
        let found = texts(sql, sql.encode_utf16().count());
        wanted.iter().all(|one| found.iter().any(|text| text == one))
    };
    assert!(has("SELECT * FROM o", &["orders", "open_orders", "other.parts"]));
    assert!(has("SELECT * FROM other.", &["parts"]));
    assert!(
        has("SELECT * FROM orders WHERE t", &["total"])
            && has("SELECT * FROM orders AS o WHERE o.", &["id", "\"Odd Name\""])
    );
    for (sql, word) in [("SEL", "SELECT"), ("SELECT 1 FROM orders GRO", "GROUP BY"), ("SELECT su", "sum")] {
        assert!(has(sql, &[word]), "{sql}: {:?}", texts(sql, sql.len()));
    }
    assert!(has("SET statement_t", &["statement_timeout"]));
    // Columns are known from what stands behind the cursor; places are of UTF-16.
    let sql = "SELECT '😀', to FROM orders";
    let answer = told(sql, 14);
    assert_eq!(
        (answer["from"].as_u64(), answer["candidates"][0]["text"].as_str()),
        (Some(13), Some("total"))
    );
    assert_eq!(texts("SELECT 'sel", 11), Vec::<String>::new());
    assert_eq!(texts("SELECT a FROM t ORDER ", 22), ["BY"]);
}

#[test]
fn words_are_those_that_the_grammar_passes() {
    let server = start();
    let words = |sql: &str| -> Vec<String> {
        let at = sql.encode_utf16().count();
        let told = server.post("/v1/complete", "", &json!({"sql": sql, "at": at})).json();
        let words = told["candidates"].as_array().unwrap().iter().filter(|one| one["kind"] == "keyword");
        words.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    for (sql, there, not_there) in [
        ("", &["SELECT", "INSERT", "WITH", "CREATE", "EXPLAIN"][..], &["WHERE", "GROUP BY", "ON"][..]),
        (
            "SELECT a FROM t ",
            &["WHERE", "JOIN", "LEFT", "GROUP BY", "ORDER BY", "LIMIT"],
            &["VALUES", "INSERT"],
        ),
        ("CREATE ", &["TABLE", "VIEW", "SCHEMA"], &["SELECT", "FROM"]),
        ("DROP ", &["TABLE", "VIEW"], &["SELECT"]),
        ("SELECT sum(a) ", &["OVER (", "FROM"], &["TABLE"]),
        // Of several statements the last one counts.
        ("SELECT 1; DELETE ", &["FROM"], &["SELECT"]),
    ] {
        let found = words(sql);
        let has = |word: &&str| found.iter().any(|one| one == word);
        assert!(there.iter().all(has) && !not_there.iter().any(has), "{sql}: {found:?}");
    }
    assert_eq!(words("SELECT a FROM t ORDER "), ["BY"]);
    // Behind a mistake nothing is known.
    assert_eq!(words("SELEC a FRM "), Vec::<String>::new());
}
