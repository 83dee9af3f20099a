//! Cancel requests: they reach what is under way, whatever it waits for, and nothing else.

use std::time::{Duration, Instant};

use timing::{PATIENCE, until};

use crate::client::{Client, bind, cancel, error, execute, kinds, message, parse, start, sync};

/// Runs for minutes unless it is stopped.
const LONG: &str = "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j) \
                    WHERE (i + j) % 1000003 = 5";

#[test]
fn a_running_statement_is_cancelled() {
    // The key of 3.0 and that of 3.2.
    for (version, key_bytes) in [(3 << 16, 4), (3 << 16 | 2, 32)] {
        // One of its own: what works there is this statement, and no other client's that has just been answered.
        let (server, _) = start(|_| ());
        let mut client = Client::connect_with(server.port(), version, &[]);
        assert_eq!(client.key.1.len(), key_bytes);
        client.send(&message('Q', &[LONG.as_bytes(), b"\0"].concat()));
        until("it works", || server.load().0 == 1);
        let asked = Instant::now();
        cancel(server.port(), &client.key);
        let answer = client.until_ready();
        assert_eq!(error(&answer).as_deref(), Some("57014"));
        assert!(asked.elapsed() < PATIENCE, "{:?}", asked.elapsed());
        assert_eq!(client.value("SELECT 1"), "1");
    }
}

#[test]
fn a_cancel_that_comes_too_late_does_nothing() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    for _ in 0..20 {
        assert_eq!(client.value("SELECT 1"), "1");
        cancel(server.port(), &client.key);
    }
    assert_eq!(client.value("SELECT 1"), "1");
    // A wrong key, and one of nobody.
    let mut wrong = client.key.clone();
    wrong.1[0] ^= 1;
    client.send(&message('Q', b"SELECT count(*) FROM generate_series(1, 3000000)\0"));
    cancel(server.port(), &wrong);
    cancel(server.port(), &(wrong.0 ^ 5, wrong.1));
    assert_eq!(kinds(&client.until_ready()), "TDCZ");
}

#[test]
fn a_statement_that_waits_for_its_place_is_cancelled() {
    let (server, _) = start(|config| config.active_statements_max = 1);
    let mut busy = Client::connect(server.port());
    let mut waits = Client::connect(server.port());
    busy.send(&message('Q', &[LONG.as_bytes(), b"\0"].concat()));
    until("one works", || server.load().0 == 1);
    waits.send(&message('Q', b"SELECT 1\0"));
    until("one is queued", || server.load().1 == 1);
    cancel(server.port(), &waits.key);
    cancel(server.port(), &busy.key);
    assert_eq!(error(&busy.until_ready()).as_deref(), Some("57014"));
    assert_eq!(error(&waits.until_ready()).as_deref(), Some("57014"));
    assert_eq!(waits.value("SELECT 1"), "1");
}

/// Its client does not read, the statement waits with full buffers: the cancel ends it, and its place is free.
#[test]
fn a_statement_that_is_blocked_in_sending_is_cancelled() {
    let (server, _) = start(|config| config.active_statements_max = 1);
    for extended in [false, true] {
        let mut client = Client::connect(server.port());
        let text = "SELECT i, repeat('x', 200) FROM generate_series(1, 20000000) AS t(i)";
        match extended {
            false => client.send(&message('Q', &[text.as_bytes(), b"\0"].concat())),
            true => {
                client.send(&[parse("", text, &[]), bind("", "", &[], 0), execute("", 0), sync()].concat())
            }
        }
        // Another one works meanwhile, though one statement is all that may: it sees itself and that one.
        let mut other = Client::connect(server.port());
        let mut seen = || {
            other.value("SELECT count(*) FROM quickstep_queries() WHERE query LIKE '%repeat%x%200%20000000%'")
        };
        until("it waits for its client", || seen() == "2");
        cancel(server.port(), &client.key);
        until("the statement ends", || seen() == "1");
        // The client reads on, and finds whole messages and the error.
        let answer = client.until_ready();
        assert_eq!(error(&answer).as_deref(), Some("57014"));
        assert_eq!(client.value("SELECT 1"), "1");
    }
}

#[test]
fn a_client_that_goes_away_ends_its_statement() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.send(&message('Q', &[LONG.as_bytes(), b"\0"].concat()));
    until("it works", || server.load().0 == 1);
    drop(client);
    until("connection and statement end", || server.connections() == 0 && server.load().0 == 0);
}

/// Cancels at many moments of many statements: each answer is the result or 57014, and the next statement runs.
#[test]
fn cancels_at_any_moment_hit_their_statement_or_nothing() {
    let (server, _) = start(|_| ());
    let port = server.port();
    let mut client = Client::connect(port);
    let mut victim = Client::connect(port);
    let key = client.key.clone();
    let texts = [
        "SELECT count(*) FROM generate_series(1, 300000)",
        "SELECT i FROM generate_series(1, 50000) AS t(i) ORDER BY i % 1000, i",
        "CREATE TEMP TABLE IF NOT EXISTS t AS SELECT i FROM generate_series(1, 10000) AS t(i)",
        "COPY (SELECT i FROM generate_series(1, 50000) AS t(i)) TO STDOUT",
        "SELECT 1",
    ];
    let (mut hit, mut done) = (0, 0);
    // Of a machine that is slow or stands still the moments are of one kind for a while.
    for round in 0..600u64 {
        if round >= 60 && hit > 0 && done > 0 {
            break;
        }
        let text = texts[round as usize % texts.len()].replace("TEMP TABLE", "TABLE");
        client.send(&message('Q', &[text.as_bytes(), b"\0"].concat()));
        let key = key.clone();
        let pause = Duration::from_micros(round * 97 % 12_000);
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(pause);
            cancel(port, &key);
        });
        match error(&client.until_ready()).as_deref() {
            None => done += 1,
            Some("57014") => hit += 1,
            Some(other) => panic!("{other}"),
        }
        canceller.join().unwrap();
        // Neither the next one nor another connection's is hit.
        assert_eq!(client.value("SELECT 7"), "7");
        assert_eq!(victim.value("SELECT 8"), "8");
    }
    assert!(hit > 0 && done > 0, "{hit} hit, {done} done: the moments are not of all kinds");
}
