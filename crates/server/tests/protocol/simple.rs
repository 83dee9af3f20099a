//! Query.

use crate::client::{Client, error, kinds, start, status};

#[test]
fn a_query_is_answered_by_rows_and_one_ready() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let answer = client.query("SELECT 1 AS one, NULL::TEXT, 'ä'");
    assert_eq!(kinds(&answer), "TDCZ");
    assert_eq!(answer[1].values(), [Some("1".into()), None, Some("ä".into())]);
    assert_eq!((answer[2].text(), status(&answer)), ("SELECT 1".into(), 'I'));
    // Texts without a statement.
    for empty in ["", "  ", "-- nothing", "/* nothing */ ;"] {
        assert_eq!(kinds(&client.query(empty)), "IZ", "{empty:?}");
    }
}

#[test]
fn the_server_tells_what_it_is() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect_with(server.port(), 3 << 16, &[("application_name", "test")]);
    let told = |name: &str| client.parameters.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    for (name, value) in [
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("TimeZone", "UTC"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("application_name", "test"),
        ("in_hot_standby", "off"),
        ("default_transaction_read_only", "off"),
        ("is_superuser", "on"),
        ("session_authorization", "quickstep"),
    ] {
        assert_eq!(told(name).as_deref(), Some(value), "{name}");
    }
    assert!(told("server_version").unwrap().starts_with("15."));
    let version = client.value("SELECT version()");
    assert!(version.contains("Quickstep"), "{version}");
    // Changes are told, others not.
    assert_eq!(kinds(&client.query("SET TimeZone = 'Europe/Berlin'")), "CSZ");
    assert_eq!(kinds(&client.query("SET TimeZone = 'Europe/Berlin'")), "CZ");
    assert_eq!(kinds(&client.query("SET application_name = 'other'")), "CSZ");
    assert_eq!(error(&client.query("SET server_version = '9'")).as_deref(), Some("55P02"));
    assert_eq!(error(&client.query("SET client_encoding = 'LATIN1'")).as_deref(), Some("22023"));
}

#[test]
fn a_script_is_one_transaction() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let answer = client.query("CREATE TABLE t (i INT); INSERT INTO t VALUES (1); SELECT * FROM t");
    assert_eq!(kinds(&answer), "CCTDCZ");
    let failing = client.query("INSERT INTO t VALUES (2); SELECT 1/0; INSERT INTO t VALUES (3)");
    assert_eq!((kinds(&failing).as_str(), error(&failing).as_deref()), ("CEZ", Some("22012")));
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
    // One that cannot be read does nothing.
    let unread = client.query("INSERT INTO t VALUES (2); SELEC 1");
    assert_eq!((kinds(&unread).as_str(), error(&unread).as_deref()), ("EZ", Some("42601")));
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
    // BEGIN inside of a script outlives it.
    assert_eq!(status(&client.query("INSERT INTO t VALUES (2); BEGIN; INSERT INTO t VALUES (3)")), 'T');
    assert_eq!(status(&client.query("SELECT 1/0")), 'E');
    assert_eq!(error(&client.query("SELECT 1")).as_deref(), Some("25P02"));
    assert_eq!(status(&client.query("ROLLBACK")), 'I');
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn errors_stand_where_they_are() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let text = "SELECT 'ä'; SELECT nam FROM (SELECT 1 AS name) AS t";
    let answer = client.query(text);
    let told = answer.iter().find(|m| m.kind == 'E').unwrap();
    assert_eq!((told.field('C').as_str(), told.field('S').as_str()), ("42703", "ERROR"));
    assert_eq!(told.field('P'), "20", "{told:?}");
    assert!(told.field('H').contains("name"));
}

#[test]
fn warnings_are_notices() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let answer = client.query("COMMIT");
    assert_eq!(kinds(&answer), "NCZ");
    assert_eq!(answer[0].field('S'), "WARNING");
    client.query("SET client_min_messages = error");
    assert_eq!(kinds(&client.query("COMMIT")), "CZ");
}

#[test]
fn what_there_is_not_is_refused() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.send(&crate::client::message('F', &[0; 12]));
    let answer = client.until_ready();
    assert_eq!((kinds(&answer).as_str(), error(&answer).as_deref()), ("EZ", Some("0A000")));
    for text in ["LISTEN a", "NOTIFY a", "UNLISTEN *"] {
        assert_eq!(error(&client.query(text)).as_deref(), Some("0A000"), "{text}");
    }
    assert_eq!(client.value("SELECT 1"), "1");
}

/// What leaves for a small result, and for one of some rows, is one send each.
#[test]
fn a_query_costs_one_send() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    for text in ["SELECT 1", "SELECT 1; SELECT 2", "SELECT * FROM generate_series(1, 100)", "SELECT 1/0"] {
        let before = client.reads;
        client.query(text);
        assert_eq!(client.reads - before, 1, "{text}");
    }
}
