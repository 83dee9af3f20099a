//! Beginnings and ends of connections and of the server.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::client::{Client, cancel, error, kinds, message, packet, start, status};

const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

fn first_byte(client: &mut Client) -> u8 {
    let mut byte = [0];
    std::io::Read::read_exact(&mut client.socket, &mut byte).unwrap();
    byte[0]
}

#[test]
fn encryption_is_asked_for_in_any_order() {
    let (server, _) = start(|_| ());
    for order in [[SSL, GSS], [GSS, SSL]] {
        let mut client = Client::raw(server.port());
        for code in order {
            client.send(&packet(code, b""));
            assert_eq!(first_byte(&mut client), b'N');
        }
        client.send(&packet(3 << 16, b"user\0quickstep\0\0"));
        assert_eq!(status(&client.until_ready()), 'I');
    }
    // Twice is an error.
    let mut client = Client::raw(server.port());
    client.send(&packet(SSL, b""));
    assert_eq!(first_byte(&mut client), b'N');
    client.send(&packet(SSL, b""));
    assert_eq!(client.next().unwrap().field('C'), "08P01");
}

#[test]
fn bytes_in_the_clear_behind_a_request_for_encryption_are_refused() {
    let (server, _) = start(|_| ());
    for code in [SSL, GSS] {
        let mut client = Client::raw(server.port());
        client.send(&[packet(code, b""), packet(3 << 16, b"user\0quickstep\0\0")].concat());
        let answer = client.next().unwrap();
        assert_eq!((answer.kind, answer.field('C').as_str()), ('E', "08P01"), "{answer:?}");
        assert_eq!(client.next(), None);
    }
}

#[test]
fn wrong_beginnings_are_refused() {
    let (server, _) = start(|_| ());
    for (bytes, code) in [
        (packet(2 << 16, b"\0"), "0A000"),
        (packet(3 << 16, b"user\0nobody\0\0"), "28000"),
        (packet(3 << 16, b"user\0quickstep\0database\0no_such\0\0"), "3D000"),
        (packet(3 << 16, b"user\0quickstep\0replication\0database\0\0"), "0A000"),
        (packet(3 << 16, b"user\0quickstep\0no_such_setting\x001\0\0"), "42704"),
        (packet(3 << 16, b"user\0quickstep\0client_encoding\0LATIN1\0\0"), "22023"),
        (packet(3 << 16, b"\0"), "28000"),
        (vec![0x7f, 0, 0, 0], "08P01"),
    ] {
        let mut client = Client::raw(server.port());
        client.send(&bytes);
        let mut answer = client.next().unwrap();
        while answer.kind != 'E' {
            answer = client.next().unwrap();
        }
        assert_eq!((answer.field('S').as_str(), answer.field('C').as_str()), ("FATAL", code), "{bytes:?}");
        assert_eq!(client.next(), None);
    }
    // A newer protocol is spoken down.
    let mut client = Client::connect_with(server.port(), 3 << 16 | 9, &[("_pq_.new", "1")]);
    assert_eq!(client.value("SELECT 1"), "1");
}

#[test]
fn who_says_nothing_is_let_go() {
    let (server, _) = start(|config| config.authentication_timeout = Duration::from_millis(200));
    let mut client = Client::raw(server.port());
    client.send(&[0, 0]);
    let began = Instant::now();
    assert_eq!(client.next(), None);
    // The default is a minute.
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn connections_are_bounded() {
    let (server, _) = start(|config| config.connections_max = 2);
    let (one, _two) = (Client::connect(server.port()), Client::connect(server.port()));
    let mut third = Client::raw(server.port());
    third.send(&packet(3 << 16, b"user\0quickstep\0\0"));
    assert_eq!(third.next().unwrap().field('C'), "53300");
    drop(one);
    timing::until("one is gone", || server.connections() == 1);
    assert_eq!(Client::connect(server.port()).value("SELECT 1"), "1");
}

#[test]
fn statements_that_wait_are_bounded() {
    let (server, _) = start(|config| (config.active_statements_max, config.queued_statements_max) = (1, 1));
    let long = message(
        'Q',
        b"SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 100000)\0",
    );
    let mut busy = Client::connect(server.port());
    let mut waits = Client::connect(server.port());
    let mut refused = Client::connect(server.port());
    busy.send(&long);
    timing::until("one works", || server.load().0 == 1);
    waits.send(&message('Q', b"SELECT 2\0"));
    timing::until("one waits", || server.load().1 == 1);
    let answer = refused.query("SELECT 3");
    assert_eq!((kinds(&answer).as_str(), error(&answer).as_deref()), ("EZ", Some("53400")));
    cancel(server.port(), &busy.key);
    busy.until_ready();
    assert_eq!(kinds(&waits.until_ready()), "TDCZ");
    assert_eq!(refused.value("SELECT 3"), "3");
}

/// A client that goes away when nothing more may wait: what it has queued is let go of, and the server goes on.
#[test]
fn clients_that_leave_a_full_queue_are_let_go_of() {
    let (server, _) = start(|config| (config.active_statements_max, config.queued_statements_max) = (1, 1));
    let long = b"SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 100000)\0";
    let mut busy = Client::connect(server.port());
    let mut waits = Client::connect(server.port());
    busy.send(&[message('Q', long), message('Q', b"SELECT 1\0")].concat());
    timing::until("one works", || server.load().0 == 1);
    waits.send(&message('Q', b"SELECT 2\0"));
    timing::until("one waits", || server.load().1 == 1);
    for _ in 0..20 {
        Client::raw(server.port()).send(&packet(3 << 16, b"user\0quickstep\0\0"));
    }
    drop(busy);
    assert_eq!(kinds(&waits.until_ready()), "TDCZ");
    timing::until("they are gone", || server.connections() == 1 && server.load().0 == 0);
    assert_eq!(Client::connect(server.port()).value("SELECT 3"), "3");
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find(|line| line.starts_with("Pss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// They hold neither threads nor much memory; those of their clients are in this process, too.
#[test]
fn a_thousand_idle_connections_cost_little() {
    let (server, _) = start(|_| ());
    let mut first = Client::connect(server.port());
    first.value("SELECT 1");
    let (threads_before, kilobytes_before) = (threads(), resident());
    let mut clients: Vec<Client> = (0..1000).map(|_| Client::connect(server.port())).collect();
    for client in &mut clients {
        assert_eq!(client.value("SELECT 1"), "1");
    }
    assert_eq!(server.connections(), 1001);
    // Other tests of this process come and go; a thread each would be a thousand.
    assert!(threads() < threads_before + 200, "{} threads", threads());
    let each = resident().saturating_sub(kilobytes_before) as f64 / 1000.0;
    assert!(each <= 48.0, "{each} KB a connection, its client's included");
}

/// A reader that does not read: the server holds a bounded number of bytes for it.
#[test]
fn a_stopped_reader_costs_a_bounded_number_of_bytes() {
    let (server, _) = start(|_| ());
    let mut client = Client::connect(server.port());
    let before = resident();
    client.send(&message('Q', b"SELECT i, repeat('y', 300) FROM generate_series(1, 5000000) AS t(i)\0"));
    std::thread::sleep(Duration::from_secs(2));
    let grown = resident().saturating_sub(before) >> 10;
    assert!(grown <= 256, "{grown} MB for one that stands still");
    drop(client);
}

#[test]
fn a_server_that_stops_lets_statements_end() {
    let (server, _) = start(|config| config.drain_timeout = Duration::from_secs(20));
    let port = server.port();
    let mut idle = Client::connect(port);
    let mut busy = Client::connect(port);
    busy.send(&message(
        'Q',
        b"SELECT count(*) FROM generate_series(1, 8000000) AS t(i) WHERE md5(i::text) <> ''\0",
    ));
    timing::until("it works", || server.load().0 == 1);
    let stopping = std::thread::spawn(move || server.shutdown());
    let told = idle.next().unwrap();
    assert_eq!((told.field('S').as_str(), told.field('C').as_str()), ("FATAL", "57P01"));
    assert_eq!(idle.next(), None);
    let answer = busy.until_ready();
    assert_eq!(kinds(&answer), "TDCZ");
    assert_eq!(busy.next().unwrap().field('C'), "57P01");
    stopping.join().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_server_that_stops_cancels_what_takes_too_long() {
    let (server, _) = start(|config| config.drain_timeout = Duration::from_millis(300));
    let mut busy = Client::connect(server.port());
    busy.send(&message(
        'Q',
        b"SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000)\0",
    ));
    timing::until("it works", || server.load().0 == 1);
    let began = Instant::now();
    server.shutdown();
    // By itself it would work for minutes.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(error(&busy.until_ready()).as_deref(), Some("57014"));
}

/// Bytes at random, before and after the login: the server goes on for others.
#[test]
fn hostile_bytes_hurt_nobody_else() {
    let (server, _) = start(|_| ());
    let mut other = Client::connect(server.port());
    let mut random = random::Random::new(7);
    let mut next = move || random.bits();
    for round in 0..200 {
        let mut client =
            if round % 2 == 0 { Client::raw(server.port()) } else { Client::connect(server.port()) };
        let mut bytes: Vec<u8> = (0..next() % 300).map(|_| next() as u8).collect();
        if round % 3 == 0 {
            // A type that exists, with a small length.
            let body: Vec<u8> = (0..next() % 40).map(|_| next() as u8).collect();
            bytes = message(char::from(b"QPBDECSHFXpdcf"[next() as usize % 14]), &body);
        }
        // It may be closed already.
        let _ = client.socket.write_all(&bytes);
        drop(client);
    }
    assert_eq!(other.value("SELECT 1"), "1");
}
