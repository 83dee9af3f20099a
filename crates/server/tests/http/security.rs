//! Who is answered, and who is not.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::client::{start, start_with};

const QUERY: &str = r#"{"sql": "SELECT 1"}"#;

#[test]
fn without_a_secret_nothing_is_told() {
    let server = start();
    let host = server.host();
    for path in ["/metrics", "/v1/session", "/v1/activity", "/v1/nothing"] {
        let answer = server.send("GET", path, &[("host", &host)], "");
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (401, "28000"), "{path}");
    }
    let json = ("content-type", "application/json");
    let wrong = format!("Bearer {}", "0".repeat(64));
    for authorization in [&*wrong, "Bearer", "Basic YTpi", ""] {
        let headers = [("host", &*host), ("authorization", authorization), json];
        assert_eq!(server.send("POST", "/v1/query", &headers, QUERY).status, 401, "{authorization:?}");
    }
    assert_eq!(server.send("GET", "/health", &[("host", &host)], "").json(), json!({"status": "ok"}));
    assert_eq!(server.get("/v1/session").json()["user"], "quickstep");
    assert!(server.get("/metrics").text().contains("# TYPE quickstep_"));
}

#[test]
fn requests_for_other_hosts_are_refused_whatever_secret_they_have() {
    let server = start();
    let bearer = server.bearer();
    let port = server.http.port;
    // A page of evil.example whose name was made to point at 127.0.0.1 sends its own name.
    for host in [
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
        "127.0.0.1:1".to_owned(),
        "127.0.0.1".to_owned(),
    ] {
        for path in ["/", "/health", "/v1/session"] {
            let answer = server.send("GET", path, &[("host", &host), ("authorization", &bearer)], "");
            assert_eq!(answer.status, 421, "{host} {path}");
        }
    }
    for host in [format!("localhost:{port}"), format!("[::1]:{port}")] {
        let answer = server.send("GET", "/v1/session", &[("host", &host), ("authorization", &bearer)], "");
        assert_eq!(answer.status, 200, "{host}");
    }
    let own = server.host();
    let twice = [("host", &*own), ("host", "evil.example"), ("authorization", &*bearer)];
    assert_eq!(server.send("GET", "/v1/session", &twice, "").status, 400);
    // In the request's line, too.
    let mut socket = TcpStream::connect(server.host()).unwrap();
    write!(socket, "GET http://evil.example/health HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
}

#[test]
fn pages_of_other_origins_are_refused() {
    let server = start();
    let (host, bearer) = (server.host(), server.bearer());
    let json = ("content-type", "application/json");
    let send = |origin: &str| {
        let headers = [("host", &*host), ("authorization", &*bearer), json, ("origin", origin)];
        server.send("POST", "/v1/query", &headers, QUERY)
    };
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1",
        &format!("http://{host}.evil.example"),
    ] {
        let answer = send(origin);
        assert_eq!(answer.status, 403, "{origin}");
        assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control-")));
    }
    assert_eq!(send(&format!("http://{host}")).status, 200);
    // A question before the request gets no permission.
    let preflight =
        [("host", &*host), ("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let answer = server.send("OPTIONS", "/v1/query", &preflight, "");
    assert_eq!(answer.status, 403);
    let site = [("host", &*host), ("authorization", &*bearer), ("sec-fetch-site", "same-site")];
    assert_eq!(server.send("GET", "/v1/session", &site, "").status, 403);
    // A form can send a text, and not say that it is JSON.
    let form = [("host", &*host), ("authorization", &*bearer), ("content-type", "text/plain")];
    assert_eq!(server.send("POST", "/v1/query", &form, QUERY).status, 415);
}

#[test]
fn the_printed_address_gives_a_browser_a_cookie() {
    let server = start();
    let host = server.host();
    let entered = server.send("GET", &format!("/?token={}", server.http.token), &[("host", &host)], "");
    assert_eq!((entered.status.as_u16(), entered.header("location")), (303, "/"));
    let set = entered.header("set-cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && !set.contains(&server.http.token));
    assert_eq!(entered.header("referrer-policy"), "no-referrer");
    let cookie = set.split(';').next().unwrap();
    assert_eq!(server.send("GET", "/v1/session", &[("host", &host), ("cookie", cookie)], "").status, 200);
    // What changes something wants the origin that browsers send.
    let json = ("content-type", "application/json");
    let bare = [("host", &*host), ("cookie", cookie), json];
    assert_eq!(server.send("POST", "/v1/query", &bare, QUERY).status, 403);
    let origin = format!("http://{host}");
    let own = [("host", &*host), ("cookie", cookie), json, ("origin", &*origin)];
    assert_eq!(server.send("POST", "/v1/query", &own, QUERY).status, 200);
    assert_eq!(server.send("GET", "/?token=0", &[("host", &host)], "").status, 401);
}

#[test]
fn a_password_gives_a_cookie_and_a_wrong_one_does_not() {
    let options = engine::Options { workers: Some(1), ..engine::Options::default() };
    let database = engine::Database::in_memory(options).unwrap();
    let roles = std::sync::Arc::new(server::DatabaseRoles::new(&database));
    let password = server::first_password(&*roles).unwrap().unwrap();
    let config = server::Config { port: Some(0), socket_directory: None, ..server::Config::default() };
    let handle = server::Server::start(database.clone(), config, roles).unwrap();
    let http = handle.serve_http(Some(0)).unwrap();
    let server = crate::client::Running::of(database, handle, http);
    let log_in = |user: &str, password: &str| {
        let body = json!({"user": user, "password": password}).to_string();
        let headers = [("host", &*server.host()), ("content-type", "application/json")];
        server.send("POST", "/v1/login", &headers, &body)
    };
    let wrong = log_in("quickstep", "guess");
    assert_eq!((wrong.status.as_u16(), wrong.code().as_str()), (401, "28P01"));
    assert_eq!(log_in("nobody", &password.password).status, 401);
    let right = log_in("quickstep", &password.password);
    assert_eq!(right.status, 200);
    let cookie = right.header("set-cookie").split(';').next().unwrap().to_owned();
    let session = server.send("GET", "/v1/session", &[("host", &server.host()), ("cookie", &cookie)], "");
    assert_eq!(session.json()["user"], "quickstep");
}

#[test]
fn every_answer_has_the_headers_that_keep_a_page_safe() {
    let server = start();
    let answers = [
        server.send("GET", "/", &[("host", &server.host())], ""),
        server.send("GET", "/", &[("host", "evil.example")], ""),
        server.get("/v1/session"),
        server.get("/nothing"),
    ];
    for answer in answers {
        assert_eq!(answer.header("content-security-policy"), ui::CONTENT_SECURITY_POLICY);
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
        assert!(!answer.header("cache-control").is_empty());
    }
}

#[test]
fn requests_have_bounds() {
    let server = start();
    let host = server.host();
    let head = "x".repeat(64 << 10);
    let long = server.send("GET", "/health", &[("host", &host), ("x-long", &head)], "");
    assert_eq!(long.status, 431);
    let large = json!({ "sql": " ".repeat(17 << 20) });
    assert_eq!(server.post("/v1/query", "*/*", &large).status, 413);
    for body in ["", "{", "[]", r#"{"sql": 1}"#, r#"{"sql": "SELECT 1", "other": 1}"#] {
        let headers =
            [("host", &*host), ("authorization", &server.bearer()), ("content-type", "application/json")];
        assert_eq!(server.send("POST", "/v1/query", &headers, body).status, 400, "{body}");
    }
}

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let server = start();
    let mut slow = TcpStream::connect(server.host()).unwrap();
    let begun = std::time::Instant::now();
    slow.set_read_timeout(Some(std::time::Duration::from_secs(40))).unwrap();
    write!(slow, "GET /health HTTP/1.1\r\nHost: ").unwrap();
    // Others are answered meanwhile.
    assert_eq!(server.get("/health").status, 200);
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

#[test]
fn connections_beyond_the_limit_are_closed_and_the_server_ends_with_some_open() {
    let server = start_with(|config| server::Config { connections_max: 3, ..config });
    let held: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(server.host()).unwrap()).collect();
    server.until("they count", || server.handle.connections() == 3);
    let mut more = TcpStream::connect(server.host()).unwrap();
    let mut byte = [0];
    assert!(matches!(more.read(&mut byte), Ok(0) | Err(_)));
    drop(held);
    server.until("they are gone", || server.handle.connections() == 0);
    let _open = TcpStream::connect(server.host()).unwrap();
    let begun = std::time::Instant::now();
    drop(server);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn roles_do_not_see_each_others_statements() {
    let options = engine::Options { workers: Some(1), ..engine::Options::default() };
    let database = engine::Database::in_memory(options).unwrap();
    let roles = std::sync::Arc::new(server::DatabaseRoles::new(&database));
    database
        .session()
        .execute("CREATE ROLE ada LOGIN PASSWORD 'secret'; CREATE TABLE t (a INTEGER)")
        .unwrap();
    let config = server::Config { port: Some(0), socket_directory: None, ..server::Config::default() };
    let handle = server::Server::start(database.clone(), config, roles).unwrap();
    let http = handle.serve_http(Some(0)).unwrap();
    let server = crate::client::Running::of(database, handle, http);
    let (host, body) = (server.host(), json!({"user": "ada", "password": "secret"}).to_string());
    let logged_in =
        server.send("POST", "/v1/login", &[("host", &host), ("content-type", "application/json")], &body);
    let cookie = logged_in.header("set-cookie").split(';').next().unwrap().to_owned();
    let as_ada = |path: &str| server.send("GET", path, &[("host", &host), ("cookie", &cookie)], "");
    assert_eq!(as_ada("/v1/session").json()["user"], "ada");
    let query = server.query("SELECT count(*) FROM generate_series(1, 10)")["query"].as_u64().unwrap();
    let held = server.post("/v1/statements", "", &json!({"sql": "SELECT 'private'"})).json();
    let held = held["statement"].as_str().unwrap().to_owned();
    for path in [format!("/v1/statements/{held}/rows"), format!("/v1/statements/{held}/events")] {
        assert_eq!((as_ada(&path).status.as_u16(), server.get(&path).status.as_u16()), (404, 200), "{path}");
    }
    for path in [format!("/v1/queries/{query}/plan"), format!("/v1/queries/{query}/timeline")] {
        assert_eq!((as_ada(&path).status.as_u16(), server.get(&path).status.as_u16()), (403, 200), "{path}");
    }
    // What it asks runs as the role that it is.
    let ask = |sql: &str| {
        let origin = format!("http://{host}");
        let headers = [
            ("host", &*host),
            ("cookie", &*cookie),
            ("origin", &*origin),
            ("content-type", "application/json"),
        ];
        server.send("POST", "/v1/query", &headers, &json!({ "sql": sql }).to_string())
    };
    assert_eq!(ask("SELECT current_user").json()["rows"], json!([["ada"]]));
    for sql in ["SELECT * FROM t", "CREATE ROLE mallory", "SELECT * FROM read_text('/etc/passwd')"] {
        let refused = ask(sql);
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "42501"), "{sql}");
    }
    assert_eq!((as_ada("/metrics").status.as_u16(), server.get("/metrics").status.as_u16()), (403, 200));
    server.database.session().execute("GRANT pg_monitor TO ada; GRANT SELECT ON t TO ada").unwrap();
    assert_eq!((ask("SELECT * FROM t").status.as_u16(), as_ada("/metrics").status.as_u16()), (200, 200));
    // A cookie ends with the password that it was given for.
    server.database.session().execute("ALTER ROLE ada PASSWORD 'other'").unwrap();
    assert_eq!(as_ada("/v1/session").status, 401);
}
