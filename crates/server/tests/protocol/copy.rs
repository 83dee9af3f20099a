//! COPY both ways.

use crate::client::{Client, bind, cancel, error, execute, kinds, message, parse, start, status, sync};

fn with_table() -> (server::Handle, Client) {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.query("CREATE TABLE t (i INT, s TEXT)");
    (server, client)
}

fn begin_copy(client: &mut Client, text: &str) {
    client.send(&message('Q', &[text.as_bytes(), b"\0"].concat()));
    let answer = client.next().unwrap();
    assert_eq!(answer.kind, 'G', "{answer:?}");
}

#[test]
fn rows_come_in_and_go_out() {
    let (_server, mut client) = with_table();
    begin_copy(&mut client, "COPY t FROM STDIN (FORMAT csv)");
    for piece in ["1,a\n2,", "b\n", "3,\"c", ",\"\n"] {
        client.send(&message('d', piece.as_bytes()));
    }
    client.send(&message('c', b""));
    let answer = client.until_ready();
    assert_eq!((kinds(&answer).as_str(), answer[0].text().as_str()), ("CZ", "COPY 3"));
    assert_eq!(client.value("SELECT string_agg(s, '|' ORDER BY i) FROM t"), "a|b|c,");
    let answer = client.query("COPY (SELECT * FROM t ORDER BY i) TO STDOUT (FORMAT csv, HEADER false)");
    let bytes: Vec<u8> = answer.iter().filter(|m| m.kind == 'd').flat_map(|m| m.body.clone()).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), "1,a\n2,b\n3,\"c,\"\n");
    assert!(kinds(&answer).starts_with('H') && kinds(&answer).ends_with("cCZ"), "{}", kinds(&answer));
    assert_eq!(answer[answer.len() - 2].text(), "COPY 3");
}

#[test]
fn the_client_gives_up() {
    let (_server, mut client) = with_table();
    begin_copy(&mut client, "COPY t FROM STDIN (FORMAT csv)");
    client.send(&message('d', b"1,a\n"));
    client.send(&message('f', b"no more\0"));
    let answer = client.until_ready();
    let told = answer.iter().find(|m| m.kind == 'E').unwrap();
    assert_eq!(
        (told.field('C').as_str(), told.field('M').as_str()),
        ("57014", "COPY from stdin failed: no more")
    );
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn an_error_among_the_rows_is_told_once_and_the_rest_passed_over() {
    let (_server, mut client) = with_table();
    begin_copy(&mut client, "COPY t FROM STDIN (FORMAT csv)");
    client.send(&message('d', b"1,a\nnot a number,b\n"));
    client.send(&message('c', b""));
    let answer = client.until_ready();
    assert_eq!(kinds(&answer), "EZ");
    assert_eq!(error(&answer).as_deref(), Some("22P02"));
    // What is sent before the client knows is no statement of its own.
    client.send(&[message('d', b"2,c\n"), message('c', b""), message('f', b"x\0")].concat());
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    // Where no COPY runs, neither.
    assert_eq!(error(&client.query("COPY no_such_table FROM STDIN")).as_deref(), Some("42P01"));
    client.send(&[message('d', b"2,c\n"), message('c', b"")].concat());
    assert_eq!(client.value("SELECT 5"), "5");
}

#[test]
fn other_messages_within_a_copy_end_it() {
    let (_server, mut client) = with_table();
    begin_copy(&mut client, "COPY t FROM STDIN (FORMAT csv)");
    client.send(&message('Q', b"SELECT 1\0"));
    let answer = client.until_ready();
    assert_eq!((kinds(&answer).as_str(), error(&answer).as_deref()), ("EZ", Some("08P01")));
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_copy_of_the_extended_protocol() {
    let (_server, mut client) = with_table();
    client.send(
        &[parse("", "COPY t FROM STDIN (FORMAT csv)", &[]), bind("", "", &[], 0), execute("", 0), sync()]
            .concat(),
    );
    let kinds_before: String = (0..3).map(|_| client.next().unwrap().kind).collect();
    assert_eq!(kinds_before, "12G");
    // The Sync behind Execute is passed over; this one counts.
    client.send(&[message('d', b"1,a\n"), message('c', b""), sync()].concat());
    let answer = client.until_ready();
    assert_eq!((kinds(&answer).as_str(), status(&answer)), ("CZ", 'I'));
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn a_copy_that_waits_for_rows_is_cancelled_and_keeps_no_place() {
    let (server, _) = start(|config| config.active_statements_max = 1);
    let mut client = Client::connect(server.port());
    client.query("CREATE TABLE t (i INT)");
    begin_copy(&mut client, "COPY t FROM STDIN (FORMAT csv)");
    client.send(&message('d', b"1\n"));
    let mut other = Client::connect(server.port());
    assert_eq!(other.value("SELECT 1"), "1");
    cancel(server.port(), &client.key);
    assert_eq!(error(&client.until_ready()).as_deref(), Some("57014"));
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
}

/// The forms of PostgreSQL's own, with its defaults: text with tabs and \\N, and binary.
#[test]
fn text_and_binary_go_out_as_they_come_in() {
    let (_server, mut client) = with_table();
    for (options, rows) in [
        ("", b"1\ta\\tb\n2\t\\N\n".to_vec()),
        ("(FORMAT csv, NULL 'none', DELIMITER ';')", b"1;a\tb\n2;none\n".to_vec()),
        (
            "(FORMAT binary)",
            [
                &b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0"[..],
                b"\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x03a\tb",
                b"\0\x02\0\0\0\x04\0\0\0\x02\xff\xff\xff\xff",
                b"\xff\xff",
            ]
            .concat(),
        ),
    ] {
        begin_copy(&mut client, &format!("COPY t (i, s) FROM STDIN {options}"));
        for piece in rows.chunks(7) {
            client.send(&message('d', piece));
        }
        client.send(&message('c', b""));
        let answer = client.until_ready();
        assert_eq!((kinds(&answer).as_str(), answer[0].text().as_str()), ("CZ", "COPY 2"), "{options}");
        let answer = client.query(&format!("COPY (SELECT * FROM t ORDER BY i) TO STDOUT {options}"));
        let bytes: Vec<u8> = answer.iter().filter(|m| m.kind == 'd').flat_map(|m| m.body.clone()).collect();
        assert_eq!(bytes, rows, "{options}");
        client.query("DELETE FROM t");
    }
}

/// Rows that are inserted in several steps are one transaction.
#[test]
fn many_rows_come_in_or_none() {
    let (server, mut client) = with_table();
    let mut rows = String::new();
    (0..200_000).for_each(|i| rows.push_str(&format!("{i}\trow {i}\n")));
    let mut other = Client::connect(server.port());
    for (last, expected) in [("no number\tx\n", 0), ("", 200_000)] {
        begin_copy(&mut client, "COPY t FROM STDIN");
        for piece in rows.as_bytes().chunks(60_000) {
            client.send(&message('d', piece));
        }
        assert_eq!(other.value("SELECT count(*) FROM t"), "0", "nothing is seen before the end");
        client.send(&[message('d', last.as_bytes()), message('c', b"")].concat());
        let answer = client.until_ready();
        assert_eq!(error(&answer).is_some(), expected == 0, "{answer:?}");
        assert_eq!(client.value("SELECT count(*) FROM t"), expected.to_string());
    }
    assert_eq!(client.value("SELECT sum(i) FROM t"), "19999900000");
    // WHERE chooses among what comes.
    begin_copy(&mut client, "COPY t FROM STDIN WHERE i >= 200000");
    client.send(&[message('d', b"1\ta\n200000\tb\n"), message('c', b"")].concat());
    assert_eq!(client.until_ready()[0].text(), "COPY 1");
}
