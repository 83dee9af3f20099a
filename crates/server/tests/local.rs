//! A program's own database, served while the program goes on using it.

use std::io::{Read, Write};
use std::net::TcpStream;

use server::{Local, LocalHttp, LocalOptions};
use tokio_postgres::NoTls;

fn database() -> engine::Database {
    let options = engine::Options { workers: Some(2), ..engine::Options::default() };
    engine::Database::in_memory(options).unwrap()
}

fn options() -> LocalOptions {
    LocalOptions { port: Some(0), http: Some(LocalHttp { port: Some(0) }), ..LocalOptions::default() }
}

/// The first value of a query's first row, by PostgreSQL's protocol; `Err` where the client is not let in.
fn asked(dsn: &str, sql: &str) -> Result<String, tokio_postgres::Error> {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
        tokio::spawn(connection);
        let rows = client.simple_query(sql).await?;
        let row = rows.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(row.unwrap_or_default().to_owned())
    })
}

fn status(local: &Local, token: &str) -> String {
    let http = local.http().unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", http.port)).unwrap();
    let body = r#"{"sql": "SELECT x FROM t"}"#;
    write!(
        socket,
        "POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        http.port,
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn clients_and_the_program_share_a_database() {
    let database = database();
    let local = Local::start(&database, options()).unwrap();
    let session = database.session();
    session.execute("CREATE TABLE t AS SELECT 'ours' AS x").unwrap();
    assert_eq!(asked(&local.dsn(), "SELECT x FROM t").unwrap(), "ours");
    assert_eq!(asked(&local.dsn(), "UPDATE t SET x = 'theirs' RETURNING x").unwrap(), "theirs");
    assert_eq!(session.query("SELECT x FROM t").unwrap().value(0, 0).as_text(), Some("theirs"));
    let answer = status(&local, &local.http().unwrap().token);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("theirs"), "{answer}");
    assert!(status(&local, "guessed").starts_with("HTTP/1.1 401"));
    assert!(local.page().unwrap().contains(&local.http().unwrap().token));
    let dsn = local.dsn();
    local.stop();
    assert!(asked(&dsn, "SELECT 1").is_err());
    assert!(session.query("SELECT 1").is_ok());
}

#[test]
fn a_password_is_the_servers_alone() {
    let database = database();
    let local =
        Local::start(&database, LocalOptions { password: Some("a b/c@d".to_owned()), ..options() }).unwrap();
    assert_eq!(local.password(), Some("a b/c@d"));
    assert_eq!(asked(&local.dsn(), "SELECT 1").unwrap(), "1");
    assert!(asked(&local.dsn().replace("a%20b", "x"), "SELECT 1").is_err());
    assert!(!database.has_password(), "it is not written down");
    // The database's own password opens this server no more and no less than another one does.
    database.session().execute("ALTER ROLE quickstep PASSWORD 'lasting'").unwrap();
    assert_eq!(asked(&local.dsn(), "SELECT 1").unwrap(), "1");
    local.stop();
    let trusting = Local::start(&database, LocalOptions { trust: true, ..options() }).unwrap();
    assert_eq!((trusting.password(), asked(&trusting.dsn(), "SELECT 1").unwrap()), (None, "1".to_owned()));
}

#[test]
fn it_listens_on_loopback_alone_and_without_http_if_that_is_wanted() {
    let database = database();
    let local = Local::start(&database, LocalOptions { http: None, ..options() }).unwrap();
    assert!(local.addresses().iter().all(|address| address.ip().is_loopback()));
    assert!(local.http().is_none() && local.page().is_none());
    let error =
        Local::start(&database, LocalOptions { port: Some(local.port()), ..options() }).err().unwrap();
    assert!(error.message().contains("in use"), "{error}");
}
