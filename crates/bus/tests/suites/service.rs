//! What only a bus on the network meets: a server that goes away, strangers, another service.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bus::service::{RemoteBus, Server};
use bus::{Address, Bus, BusOptions, Message, MessageType, ReceiveOptions, SendOptions, Wait};
use files::SimulatedFiles;
use random::Random;
use types::SqlState;

const KIND: MessageType = MessageType(1);

fn local() -> std::net::SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

#[test]
fn clients_go_on_when_the_server_is_back() {
    let files = Arc::new(SimulatedFiles::new(1));
    let opened = BusOptions::default().on_log(files.clone()).unwrap();
    let server = Server::start(opened.bus, local()).unwrap();
    let address = server.address();
    let remote = RemoteBus::new(&address.to_string()).unwrap().with_call_max(Duration::from_secs(10));
    let id = crate::conformance_client(&remote, KIND);
    remote.send(id, Address::Any, &[Message::new(KIND, "kept")], &SendOptions::default()).unwrap();
    drop(server);
    let error = remote.pending(id).unwrap_err();
    assert_eq!(error.state(), SqlState::ConnectionFailure);
    assert!(error.message().contains(&address.to_string()), "{error}");
    assert!(error.hint().unwrap().contains("server is back"));
    let opened = BusOptions::default().on_log(files).unwrap();
    assert_eq!((opened.clients, opened.pending), (1, 1));
    let _server = Server::start(opened.bus, address).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let mut pending = remote.pending(id);
    while pending.is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        pending = remote.pending(id);
    }
    assert_eq!(pending.unwrap(), 1);
    let mut got = Vec::new();
    remote.receive(id, &ReceiveOptions::batch(1).waiting(Wait::Forever), &mut got).unwrap();
    assert_eq!(got[0].body.as_slice(), b"kept");
}

#[test]
fn strangers_change_nothing() {
    let server = Server::start(BusOptions::default().in_memory(), local()).unwrap();
    let mut random = Random::new(1);
    for round in 0..60 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let mut bytes: Vec<u8> = (0..random.below(3000)).map(|_| random.bits() as u8).collect();
        if round % 2 == 0 {
            bytes.splice(0..0, *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        }
        // The server may hang up in the middle.
        let _ = stream.write_all(&bytes);
    }
    let remote = RemoteBus::new(&server.address().to_string()).unwrap();
    crate::conformance_client(&remote, KIND);
}

#[test]
fn wrong_addresses_are_named() {
    let error = RemoteBus::new("no address at all").unwrap_err();
    assert_eq!(error.state(), SqlState::InvalidParameterValue);
    assert!(error.message().contains("no address at all"), "{error}");
    let nobody = std::net::TcpListener::bind(local()).unwrap().local_addr().unwrap();
    let remote = RemoteBus::new(&nobody.to_string()).unwrap();
    assert_eq!(remote.connect().unwrap_err().state(), SqlState::ConnectionFailure);
    let taken = Server::start(BusOptions::default().in_memory(), local()).unwrap();
    let error = Server::start(BusOptions::default().in_memory(), taken.address()).unwrap_err();
    assert!(error.message().contains(&taken.address().to_string()), "{error}");
}

/// Many clients, each waiting, do not keep others from being served.
#[test]
fn many_may_wait_at_once() {
    let server = Server::start(BusOptions::default().in_memory(), local()).unwrap();
    let remote = &RemoteBus::new(&server.address().to_string()).unwrap();
    let ids: Vec<_> = (0..40).map(|_| crate::conformance_client(remote, KIND)).collect();
    let wait = &ReceiveOptions::batch(1).waiting(Wait::Forever).deleting();
    std::thread::scope(|scope| {
        let waiting: Vec<_> = ids
            .iter()
            .map(|id| {
                scope.spawn(move || {
                    let mut got = Vec::new();
                    remote.receive(*id, wait, &mut got).unwrap();
                    got.len()
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50));
        let everybody = SendOptions { broadcast: true, ..SendOptions::default() };
        let sent = remote.send(ids[0], Address::Any, &[Message::new(KIND, "now")], &everybody).unwrap();
        assert_eq!(sent.recipients, 40);
        assert!(waiting.into_iter().all(|thread| thread.join().unwrap() == 1));
    });
}
