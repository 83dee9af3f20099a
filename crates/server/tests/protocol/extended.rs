//! Parse, Bind, Describe, Execute, Close, Flush, Sync.

use crate::client::{Client, bind, error, execute, kinds, message, named, parse, start, status, sync};

#[test]
fn a_statement_is_parsed_bound_described_and_executed() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let answer = client.pipeline(&[
        parse("", "SELECT $1::INT + 1 AS n, $2::TEXT", &[]),
        named('D', 'S', ""),
        bind("", "", &[Some("41"), None], 0),
        named('D', 'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&answer), "1tT2TDCZ");
    assert_eq!(answer[1].body, [0, 2, 0, 0, 0, 23, 0, 0, 0, 25]);
    assert_eq!(answer[5].values(), [Some("42".into()), None]);
    // In binary.
    let answer = client.pipeline(&[bind("", "", &[Some("1"), Some("x")], 1), execute("", 0), sync()]);
    assert_eq!(kinds(&answer), "2DCZ");
    assert_eq!(answer[1].body, [0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 1, b'x']);
}

#[test]
fn the_clients_types_win() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let answer = client.pipeline(&[parse("", "SELECT $1", &[20]), named('D', 'S', ""), sync()]);
    assert_eq!(answer[1].body, [0, 1, 0, 0, 0, 20]);
    let answer = client.pipeline(&[parse("", "SELECT $1", &[4_000_000]), sync()]);
    assert_eq!(error(&answer).as_deref(), Some("42704"));
}

#[test]
fn an_error_skips_to_sync() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.query("CREATE TABLE t (i INT)");
    let insert = |value: &'static str| {
        [parse("", "INSERT INTO t VALUES ($1)", &[23]), bind("", "", &[Some(value)], 0), execute("", 0)]
            .concat()
    };
    let answer = client.pipeline(&[
        insert("1"),
        parse("", "SELECT 1/0", &[]),
        bind("", "", &[], 0),
        execute("", 0),
        insert("2"),
        message('Q', b"SELECT 5\0"),
        sync(),
    ]);
    assert_eq!((kinds(&answer).as_str(), error(&answer).as_deref()), ("12C12EZ", Some("22012")));
    // What the pipeline has done is taken back.
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    let answer = client.pipeline(&[insert("1"), insert("2"), sync()]);
    assert_eq!((kinds(&answer).as_str(), status(&answer)), ("12C12CZ", 'I'));
    assert_eq!(client.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn portals_give_rows_in_parts_and_several_are_open() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.query("BEGIN");
    let answer = client.pipeline(&[
        parse("s", "SELECT i FROM generate_series($1::INT, 100000) AS t(i)", &[]),
        bind("a", "s", &[Some("1")], 0),
        bind("b", "s", &[Some("99998")], 0),
        execute("a", 2),
        execute("b", 2),
        execute("a", 1),
        sync(),
    ]);
    assert_eq!(kinds(&answer), "122DDsDDsDsZ");
    let values: Vec<String> =
        answer.iter().filter(|m| m.kind == 'D').map(|m| m.values()[0].clone().unwrap()).collect();
    assert_eq!(values, ["1", "2", "99998", "99999", "3"]);
    // They live up to the transaction's end.
    let answer = client.pipeline(&[execute("b", 5), execute("a", 1), sync()]);
    assert_eq!(kinds(&answer), "DCDsZ");
    assert_eq!(answer[1].text(), "SELECT 1");
    client.query("COMMIT");
    let answer = client.pipeline(&[execute("a", 1), sync()]);
    assert_eq!(error(&answer).as_deref(), Some("34000"));
    // Outside of a block, up to Sync.
    let answer = client.pipeline(&[bind("a", "s", &[Some("1")], 0), execute("a", 1), sync()]);
    assert_eq!(kinds(&answer), "2DsZ");
    assert_eq!(error(&client.pipeline(&[execute("a", 1), sync()])).as_deref(), Some("34000"));
}

#[test]
fn names_are_kept_and_forgotten() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    assert_eq!(kinds(&client.pipeline(&[parse("s", "SELECT 7", &[]), sync()])), "1Z");
    assert_eq!(error(&client.pipeline(&[parse("s", "SELECT 8", &[]), sync()])).as_deref(), Some("42P05"));
    // SQL knows it, too.
    assert_eq!(client.value("EXECUTE s"), "7");
    client.query("DEALLOCATE s");
    let answer = client.pipeline(&[bind("", "s", &[], 0), sync()]);
    assert_eq!(error(&answer).as_deref(), Some("26000"));
    client.query("PREPARE p AS SELECT 9");
    assert_eq!(kinds(&client.pipeline(&[bind("", "p", &[], 0), execute("", 0), sync()])), "2DCZ");
    assert_eq!(kinds(&client.pipeline(&[named('C', 'S', "p"), named('C', 'S', "none"), sync()])), "33Z");
    assert_eq!(error(&client.query("EXECUTE p")).as_deref(), Some("26000"));
    for text in ["SELECT 1; SELECT 2", "SELEC"] {
        assert_eq!(
            error(&client.pipeline(&[parse("", text, &[]), sync()])).as_deref(),
            Some("42601"),
            "{text}"
        );
    }
    // An empty text, and no rows to describe.
    let answer = client.pipeline(&[
        parse("", "", &[]),
        bind("", "", &[], 0),
        named('D', 'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&answer), "12nIZ");
}

#[test]
fn a_cached_plan_keeps_its_columns() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.query("CREATE TABLE t (i INT)");
    client.pipeline(&[parse("s", "SELECT * FROM t", &[]), sync()]);
    client.query("ALTER TABLE t ADD COLUMN j INT");
    let answer = client.pipeline(&[bind("", "s", &[], 0), execute("", 0), sync()]);
    assert_eq!((kinds(&answer).as_str(), error(&answer).as_deref()), ("EZ", Some("0A000")));
    let told = answer.iter().find(|m| m.kind == 'E').unwrap();
    assert!(told.field('M').contains("cached plan must not change result type"));
}

#[test]
fn flush_sends_what_there_is() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.send(
        &[parse("", "SELECT 3", &[]), bind("", "", &[], 0), execute("", 0), message('H', b"")].concat(),
    );
    let kinds: String = (0..4).map(|_| client.next().unwrap().kind).collect();
    assert_eq!(kinds, "12DC");
    client.send(&sync());
    assert_eq!(client.next().unwrap().kind, 'Z');
}

#[test]
fn malformed_messages_are_errors_of_their_own() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    // A Bind that promises more values than it has, one with other formats, a Parse without an end.
    for wrong in [
        message('B', b"\0\0\0\0\0\x05"),
        message('B', b"\0\0\0\x01\0\x07\0\0\0\0"),
        message('P', b"no end"),
        message('D', b"X\0"),
    ] {
        let answer = client.pipeline(&[wrong, execute("", 0), sync()]);
        assert_eq!((kinds(&answer).as_str(), error(&answer).as_deref()), ("EZ", Some("08P01")));
    }
    assert_eq!(client.value("SELECT 1"), "1");
    // A length that cannot be ends the connection.
    client.send(b"Q\xff\xff\xff\xff");
    let answer = client.next().unwrap();
    assert_eq!((answer.kind, answer.field('S').as_str()), ('E', "FATAL"));
    assert_eq!(client.next(), None);
}

/// BEGIN and COMMIT by messages, each prepared in one pipeline and executed in another, as pg8000 does.
#[test]
fn transactions_are_begun_and_ended_by_portals() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.query("CREATE TABLE t (i INT)");
    for (text, expected) in [
        ("begin transaction", 'T'),
        ("INSERT INTO t VALUES (1)", 'T'),
        ("commit", 'I'),
        ("SELECT * FROM t", 'I'),
    ] {
        client.pipeline(&[parse("", text, &[]), named('D', 'S', ""), sync()]);
        let answer = client.pipeline(&[bind("", "", &[], 0), execute("", 0), sync()]);
        assert_eq!((error(&answer), status(&answer)), (None, expected), "{text}");
    }
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
}
