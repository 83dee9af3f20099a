//! Statements whose results are held, what runs, and plans.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::client::{Running, start, start_with};

const LONG: &str = "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j) WHERE i + j = 7";

fn begin(server: &Running, body: &Value) -> Value {
    let answer = server.post("/v1/statements", "", body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn id(begun: &Value) -> String {
    begun["statement"].as_str().unwrap().to_owned()
}

/// Rows, asked for until all are known.
fn all_rows(server: &Running, statement: &str) -> Vec<Value> {
    let mut rows = vec![];
    loop {
        let answer =
            server.get(&format!("/v1/statements/{statement}/rows?from={}&count=700", rows.len())).json();
        rows.extend(answer["rows"].as_array().unwrap().iter().cloned());
        if answer["complete"] == true && rows.len() as u64 == answer["known"].as_u64().unwrap() {
            return rows;
        }
    }
}

/// The events of a stream that ends: names and data.
fn events(server: &Running, path: &str) -> Vec<(String, Value)> {
    let text = server.get(path).text();
    let event = |part: &str| {
        let (name, data) = part.split_once("\ndata: ").unwrap();
        (name.trim_start_matches("event: ").to_owned(), serde_json::from_str(data).unwrap())
    };
    text.split("\n\n").filter(|part| !part.is_empty()).map(event).collect()
}

#[test]
fn a_held_result_is_read_page_by_page_in_any_order() {
    let server = start();
    let sql = "SELECT i, 'row ' || i AS t FROM generate_series(1, 50000) AS s(i) WHERE i > $1 ORDER BY i";
    let begun = begin(&server, &json!({"sql": sql, "parameters": [100]}));
    let statement = id(&begun);
    assert_eq!(begun["columns"][1], json!({"name": "t", "type": "TEXT"}));
    let rows = all_rows(&server, &statement);
    assert_eq!(rows.len(), 49_900);
    assert!(rows.iter().zip(101..).all(|(row, i)| *row == json!([i, format!("row {i}")])));
    let page = server.get(&format!("/v1/statements/{statement}/rows?from=31234&count=3")).json();
    assert_eq!(page["rows"], json!(rows[31_234..31_237]));
    assert_eq!(
        (&page["from"], &page["known"], &page["complete"]),
        (&json!(31_234), &json!(49_900), &json!(true))
    );
    let beyond = server.get(&format!("/v1/statements/{statement}/rows?from=49900&count=3")).json();
    assert_eq!(beyond["rows"], json!([]));
    assert_eq!(server.get(&format!("/v1/statements/{statement}/rows?from=x")).status, 400);
    let delete = |path: &str| {
        server.send("DELETE", path, &[("host", &server.host()), ("authorization", &server.bearer())], "")
    };
    assert_eq!(delete(&format!("/v1/statements/{statement}")).status, 200);
    let gone = server.get(&format!("/v1/statements/{statement}/rows"));
    assert_eq!((gone.status.as_u16(), gone.code().as_str()), (404, "34000"));
}

#[test]
fn whoever_comes_late_is_told_plan_progress_and_end() {
    let server = start();
    server.query("CREATE TABLE t AS SELECT i, i % 10 AS g FROM generate_series(1, 100000) AS s(i)");
    let statement = id(&begin(&server, &json!({"sql": "SELECT g, count(*) FROM t WHERE i > 10 GROUP BY g"})));
    all_rows(&server, &statement);
    for _ in 0..2 {
        let told = events(&server, &format!("/v1/statements/{statement}/events"));
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["plan", "progress", "end"]);
        let (plan, progress, end) = (&told[0].1, &told[1].1, &told[2].1);
        let nodes = plan["nodes"].as_array().unwrap();
        assert!(
            nodes.iter().any(|node| node["label"] == "Scan t" && node["estimated_rows"].is_u64()),
            "{plan}"
        );
        assert_eq!(plan["edges"].as_array().unwrap().len(), nodes.len() - 1);
        // Progress is about the plan's nodes.
        let operators = progress["operators"].as_array().unwrap();
        let ids = |list: &[Value]| list.iter().map(|one| one["id"].to_string()).collect::<Vec<_>>();
        assert_eq!(ids(operators), ids(nodes));
        assert!(operators.iter().any(|operator| operator["rows"] == 10));
        assert_eq!((&progress["state"], &progress["fraction"]), (&json!("finished"), &json!(1.0)));
        assert_eq!((&end["state"], &end["tag"]), (&json!("finished"), &json!("SELECT 10")));
    }
}

#[test]
fn a_running_statement_shows_its_plan_and_is_cancelled() {
    let server = start();
    let begun = begin(&server, &json!({ "sql": LONG }));
    let statement = id(&begun);
    let mut socket = TcpStream::connect(server.host()).unwrap();
    write!(
        socket,
        "GET /v1/statements/{statement}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nConnection: close\r\n\r\n",
        server.host(),
        server.bearer()
    )
    .unwrap();
    let mut told = String::new();
    let mut buffer = [0; 4096];
    while !(told.contains("event: plan") && told.contains("\"running\"")) {
        let read = socket.read(&mut buffer).unwrap();
        assert!(read > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    // What runs is seen by others, too.
    let query = server.database.queries().first().unwrap().id.0;
    let plan = server.get(&format!("/v1/queries/{query}/plan")).json();
    assert!(plan["state"] == "running" && !plan["nodes"].as_array().unwrap().is_empty(), "{plan}");
    let path = format!("/v1/statements/{statement}");
    let deleted =
        server.send("DELETE", &path, &[("host", &server.host()), ("authorization", &server.bearer())], "");
    assert_eq!(deleted.status, 200);
    socket.read_to_string(&mut told).unwrap();
    let end = told.split("event: end\ndata: ").nth(1).unwrap();
    assert!(end.contains("\"cancelled\"") && end.contains("\"57014\""), "{end}");
    server.until("it has ended", || server.database.queries().is_empty());
}

#[test]
fn errors_come_at_once_or_at_the_end() {
    let server = start();
    let answer = server.post("/v1/statements", "", &json!({"sql": "SELECT nothing"}));
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["position"]["offset"], 7);
    let late = "SELECT i, 10 / (3000000 - i) FROM generate_series(1, 3000000) AS s(i)";
    let answer = server.post("/v1/statements", "", &json!({ "sql": late })).json();
    let Some(statement) = answer["statement"].as_str() else {
        return assert_eq!(answer["error"]["code"], "22012");
    };
    let end = events(&server, &format!("/v1/statements/{statement}/events")).pop().unwrap();
    assert_eq!(
        (end.0.as_str(), &end.1["state"], &end.1["error"]["code"]),
        ("end", &json!("failed"), &json!("22012"))
    );
}

#[test]
fn a_named_connection_has_settings_and_a_transaction_of_its_own() {
    let server = start();
    let run = |connection: &str, sql: &str| {
        let statement = id(&begin(&server, &json!({"sql": sql, "connection": connection})));
        all_rows(&server, &statement)
    };
    run("a", "CREATE TABLE t (i integer)");
    run("a", "SET timezone = 'Asia/Tokyo'");
    run("a", "BEGIN");
    run("a", "INSERT INTO t VALUES (1)");
    assert_eq!(run("a", "SELECT count(*) FROM t"), [json!([1])]);
    assert_eq!(run("b", "SELECT count(*) FROM t"), [json!([0])]);
    assert_eq!(
        (run("a", "SHOW timezone"), run("b", "SHOW timezone")),
        (vec![json!(["Asia/Tokyo"])], vec![json!(["UTC"])])
    );
    run("a", "COMMIT");
    assert_eq!(run("b", "SELECT count(*) FROM t"), [json!([1])]);
}

#[test]
fn statements_of_a_connection_run_in_their_order() {
    let server = start();
    let first = id(&begin(&server, &json!({"sql": LONG, "connection": "a"})));
    let second = id(&begin(&server, &json!({"sql": "SELECT 2", "connection": "a"})));
    let waits = server.get(&format!("/v1/statements/{second}/rows")).json();
    assert_eq!((&waits["rows"], &waits["complete"]), (&json!([]), &json!(false)));
    let path = format!("/v1/statements/{first}");
    server.send("DELETE", &path, &[("host", &server.host()), ("authorization", &server.bearer())], "");
    assert_eq!(all_rows(&server, &second), [json!([2])]);
}

#[test]
fn a_result_beyond_what_may_be_held_ends_with_a_notice() {
    let options =
        engine::Options { workers: Some(2), memory_bytes: Some(256 << 20), ..engine::Options::default() };
    let server = start_over(options);
    let sql = "SELECT i, repeat('x', 200) || i AS t FROM generate_series(1, 2000000) AS s(i)";
    let statement = id(&begin(&server, &json!({ "sql": sql })));
    let end = events(&server, &format!("/v1/statements/{statement}/events")).pop().unwrap().1;
    assert_eq!(end["state"], "finished");
    assert!(end["notices"][0].as_str().unwrap().starts_with("Only the first "), "{end}");
    let rows = server.get(&format!("/v1/statements/{statement}/rows?from=0&count=1")).json();
    let known = rows["known"].as_u64().unwrap();
    assert!(rows["complete"] == true && known > 0 && known < 2_000_000, "{rows}");
    // Let go, its room is another's.
    let path = format!("/v1/statements/{statement}");
    server.send("DELETE", &path, &[("host", &server.host()), ("authorization", &server.bearer())], "");
    let next = id(&begin(&server, &json!({"sql": "SELECT 1"})));
    assert_eq!(all_rows(&server, &next), [json!([1])]);
}

fn start_over(options: engine::Options) -> Running {
    let database = engine::Database::in_memory(options).unwrap();
    let roles = std::sync::Arc::new(server::DatabaseRoles::new(&database));
    let config =
        server::Config { port: Some(0), socket_directory: None, trust: true, ..server::Config::default() };
    let handle = server::Server::start(database.clone(), config, roles).unwrap();
    let http = handle.serve_http(Some(0)).unwrap();
    Running::of(database, handle, http)
}

#[test]
fn activity_tells_what_runs_and_ends_with_the_server() {
    let server = start_with(|config| config);
    begin(&server, &json!({ "sql": LONG }));
    let mut socket = TcpStream::connect(server.host()).unwrap();
    write!(
        socket,
        "GET /v1/activity HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\n\r\n",
        server.host(),
        server.bearer()
    )
    .unwrap();
    let mut told = String::new();
    let mut buffer = [0; 4096];
    while !told.contains("generate_series") {
        let read = socket.read(&mut buffer).unwrap();
        assert!(read > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(told.contains("content-type: text/event-stream") && told.contains("\"workers\":2"), "{told}");
    let begun = std::time::Instant::now();
    drop(server);
    // The statement takes minutes, and is waited for half a minute where it is not cancelled.
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
}

#[test]
fn ended_queries_have_plans_and_timelines() {
    let server = start();
    server.query("CREATE TABLE t AS SELECT i FROM generate_series(1, 100000) AS s(i)");
    let query = server.query("SELECT count(*) FROM t WHERE i % 7 = 1")["query"].as_u64().unwrap();
    let plan = server.get(&format!("/v1/queries/{query}/plan")).json();
    assert_eq!((&plan["query"], &plan["state"]), (&json!(query), &json!("finished")));
    assert!(plan["sql"].as_str().unwrap().contains("i % 7"));
    assert!(plan["nodes"].as_array().unwrap().iter().any(|node| node["label"] == "Scan t"), "{plan}");
    let timeline = server.get(&format!("/v1/queries/{query}/timeline")).json();
    let orders = timeline["orders"].as_array().unwrap();
    assert!(timeline["workers"] == 2 && !orders.is_empty(), "{timeline}");
    assert!(orders.iter().all(|order| order["end_us"].as_u64() >= order["begin_us"].as_u64()));
    for path in ["/v1/queries/999999/plan", "/v1/queries/999999/timeline"] {
        assert_eq!(server.get(path).code(), "42704", "{path}");
    }
    assert_eq!(server.get("/v1/queries/x/plan").status, 400);
}
