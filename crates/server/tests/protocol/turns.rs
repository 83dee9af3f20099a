//! Clients that send one statement after another, so that their sockets are lent to the statements' threads: they are
//! answered as any other, whatever comes in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use random::Random;

use crate::client::{Client, bind, cancel, error, execute, kinds, message, parse, start, sync};

/// Longer than a thread waits for the next message.
const PAUSE: Duration = Duration::from_millis(12);

fn query(text: &str) -> Vec<u8> {
    message('Q', &[text.as_bytes(), b"\0"].concat())
}

/// A unit of work, and the types of the messages that answer it (`T*` for any number of rows).
fn unit(random: &mut Random, at: usize) -> (Vec<u8>, String) {
    match random.below(7) {
        0 | 1 => (query(&format!("SELECT {at}")), "TDCZ".to_owned()),
        2 => (query("SELECT 1 / 0"), "EZ".to_owned()),
        3 => {
            let pipeline = [
                parse("", "SELECT $1::int + 1", &[]),
                bind("", "", &[Some("41")], 0),
                execute("", 0),
                sync(),
            ];
            (pipeline.concat(), "12DCZ".to_owned())
        }
        4 => {
            // More than a lent socket sends.
            let text = "SELECT i, repeat('x', 100) FROM generate_series(1, 3000) AS t(i)";
            (query(text), format!("T{}CZ", "D".repeat(3000)))
        }
        5 => {
            let copy = [
                query("COPY t FROM STDIN"),
                message('d', b"1\n2\n"),
                message('d', b"3\n"),
                message('c', b""),
            ];
            (copy.concat(), "GCZ".to_owned())
        }
        _ => {
            let long = format!("SELECT length('{}')", "y".repeat(40_000));
            (query(&long), "TDCZ".to_owned())
        }
    }
}

/// Bytes cut anywhere, sent with and without pauses in between: every unit has its answer, in order.
#[test]
fn a_busy_client_is_answered_right_however_its_bytes_come() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    client.query("CREATE TABLE t (i INTEGER)");
    let mut random = Random::new(20_261_126);
    let mut copies = 0;
    for at in 0..300 {
        let (bytes, answer) = unit(&mut random, at);
        copies += u64::from(answer.starts_with('G'));
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let cut = match random.chance(70) {
                true => rest.len(),
                false => 1 + random.below(rest.len().min(5000)),
            };
            client.send(&rest[..cut]);
            rest = &rest[cut..];
            if random.chance(10) {
                std::thread::sleep(if random.chance(30) { PAUSE } else { Duration::from_micros(300) });
            }
        }
        assert_eq!(kinds(&client.until_ready()), answer, "unit {at}");
    }
    assert_eq!(client.value("SELECT count(*) FROM t"), (3 * copies).to_string());
}

#[test]
fn several_units_at_once_are_answered_in_order() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    for round in 0..50 {
        let units: Vec<u8> = (0..5).flat_map(|at| query(&format!("SELECT {}", round * 5 + at))).collect();
        client.send(&units);
        for at in 0..5 {
            let answer = client.until_ready();
            assert_eq!(answer[1].values()[0].as_deref(), Some((round * 5 + at).to_string().as_str()));
        }
    }
}

/// Between statements no thread belongs to a client for long, and one that goes away is noticed.
#[test]
fn a_client_that_rests_or_goes_away_holds_no_thread() {
    let (server, _) = start(|_| ());
    for ends in [true, false] {
        let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(server.port())).collect();
        for _ in 0..10 {
            clients.iter_mut().for_each(|client| client.send(&query("SELECT 1")));
            clients.iter_mut().for_each(|client| assert_eq!(kinds(&client.until_ready()), "TDCZ"));
        }
        if ends {
            clients.iter_mut().for_each(|client| client.send(&message('X', b"")));
        }
        drop(clients);
        timing::until("all are gone", || server.connections() == 0 && server.load().0 == 0);
    }
}

/// What was sent before the last message is done, whether the client waits for answers or closes its socket at once; a
/// pipeline that has no end is not.
#[test]
fn what_was_sent_before_the_last_message_is_done() {
    let (server, _) = start(|_| ());
    let mut watch = Client::connect(server.port());
    watch.query("CREATE TABLE t (i INTEGER)");
    let insert = "INSERT INTO t SELECT i FROM generate_series(1, 200000) AS s(i) WHERE sqrt(i) >= 0";
    for round in 1..=10 {
        let mut client = Client::connect(server.port());
        if round % 2 == 0 {
            // Its socket may be lent.
            (0..20).for_each(|_| assert_eq!(client.value("SELECT 1"), "1"));
        }
        let unended = [parse("", "INSERT INTO t VALUES (0)", &[]), bind("", "", &[], 0), execute("", 0)];
        client.send(
            &[query(insert), query("INSERT INTO t VALUES (1)"), unended.concat(), message('X', b"")].concat(),
        );
        drop(client);
        timing::until("it has ended", || server.connections() == 1);
        assert_eq!(watch.value("SELECT count(*) FROM t"), (200_001 * round).to_string());
        assert_eq!(watch.value("SELECT count(*) FROM t WHERE i = 0"), "0");
    }
}

/// A server that stops does not wait for ever for what clients left behind.
#[test]
fn what_a_client_left_behind_ends_with_the_server() {
    let (server, _) = start(|config| config.drain_timeout = Duration::from_millis(50));
    let mut client = Client::connect(server.port());
    let endless = "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j) WHERE i + j = 3";
    client.send(&[query(endless), message('X', b"")].concat());
    timing::until("it works", || server.load().0 == 1);
    drop(client);
    server.shutdown();
}

/// A statement that is long for a busy client ends when the client goes away: its socket was given back meanwhile.
#[test]
fn a_busy_client_that_goes_away_ends_its_statement() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    for _ in 0..20 {
        assert_eq!(client.value("SELECT 1"), "1");
    }
    client.send(&query(
        "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j) WHERE i + j = 3",
    ));
    timing::until("it works", || server.load().0 == 1);
    // The turn is over, and the socket given back.
    std::thread::sleep(2 * PAUSE);
    drop(client);
    timing::until("connection and statement end", || server.connections() == 0 && server.load().0 == 0);
}

/// A statement that comes in pieces to a lent socket, and then waits for its place, is cancelled like any other. Where its
/// last piece is not read by the time of the cancel, there is nothing to cancel: so it may be in one round, and not in all.
#[test]
fn a_busy_clients_statement_that_waits_for_its_place_is_cancelled() {
    let (server, _) = start(|config| config.active_statements_max = 1);
    let mut holder = Client::connect(server.port());
    let mut client = Client::connect(server.port());
    let mut is_cancelled = |pieces| {
        for _ in 0..5 {
            assert_eq!(client.value("SELECT 1"), "1");
        }
        holder.send(&query(
            "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j) WHERE i + j = 3",
        ));
        // As soon as it has the only place: the client's socket is still lent then, unless the machine is crowded.
        timing::until("it has the place", || server.load().0 == 1);
        let waits = query("SELECT 2");
        for piece in waits.chunks(waits.len().div_ceil(pieces)) {
            client.send(piece);
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(60));
        cancel(server.port(), &client.key);
        std::thread::sleep(Duration::from_millis(20));
        cancel(server.port(), &holder.key);
        assert_eq!(error(&holder.until_ready()).as_deref(), Some("57014"));
        let answer = client.until_ready();
        assert_eq!(client.value("SELECT 3"), "3");
        match error(&answer).as_deref() {
            Some(code) => assert_eq!(code, "57014"),
            None => assert_eq!(kinds(&answer), "TDCZ"),
        }
        timing::met(error(&answer).is_some(), format!("{pieces} pieces: not cancelled"))
    };
    for pieces in [1, 2, 3, 1, 2, 3] {
        timing::in_one_of(10, || is_cancelled(pieces));
    }
}

#[test]
fn a_server_that_stops_tells_busy_clients() {
    let (server, _) = start(|config| config.drain_timeout = Duration::from_secs(20));
    let port = server.port();
    let answered: Arc<[AtomicUsize; 4]> = Arc::default();
    let busy: Vec<_> = (0..4)
        .map(|number: usize| {
            let answered = answered.clone();
            std::thread::spawn(move || {
                let mut client = Client::connect(port);
                loop {
                    if !client.try_send(&query("SELECT 1")) {
                        return None;
                    }
                    let mut answer = Vec::new();
                    while let Some(message) = client.next() {
                        let last = message.kind == 'Z';
                        answer.push(message);
                        if last {
                            break;
                        }
                    }
                    if kinds(&answer) != "TDCZ" {
                        return error(&answer);
                    }
                    answered[number].fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    timing::until("each has answers", || answered.iter().all(|count| count.load(SeqCst) > 5));
    server.shutdown();
    for client in busy {
        let told = client.join().unwrap();
        // A statement that crosses the server's last words on the wire has them discarded by the client's kernel.
        assert!(told.as_deref().is_none_or(|code| code == "57P01"), "{told:?}");
    }
}
