//! What a peer may send that means no good: nothing panics, memory stays within its setting, other peers go on.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use memory::{Arena, Budget};
use multiplexer::simulator::workload::random_lie;
use multiplexer::simulator::{World, fabric};
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{
    Accept, ArenaSlabs, Class, Config, ExchangeId, ExchangeSpec, FRAME_BYTES, Frame, Kind, Multiplexer,
    NetworkError, NodeId, Schedule, Silent,
};
use random::Random;

fn config() -> Config {
    let mut config = Config::new(3, 8 << 20);
    config.message_bytes = 64 << 10;
    config.messages_max = 24;
    config.schedule = Schedule::On;
    config
}

fn spec(id: u64, nodes: u16) -> ExchangeSpec {
    let peers: Vec<NodeId> = (1..nodes).map(NodeId).collect();
    ExchangeSpec {
        id: ExchangeId(id),
        priority: 0,
        class: Class::Data,
        sources: peers.clone(),
        destinations: peers,
    }
}

#[test]
fn no_sequence_of_frames_panics_or_costs_memory() {
    let model = fabric::LinkModel {
        bytes_per_second: 125_000_000,
        latency: 1_000,
        cell_bytes: 16 << 10,
        switch: fabric::Switch::OutputQueued { buffer_bytes: None },
    };
    let mut closed = 0;
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let mut world = World::new(&config(), model, seed);
        let ports: Vec<_> = (1..4).filter_map(|id| world.open(0, spec(id, 3)).ok()).collect();
        let node = &mut world.traffic[0];
        node.tick(1);
        let mut held = Vec::new();
        for step in 0..200 {
            let peer = NodeId(1 + random.below(2_u64) as u16);
            let frame = random_lie(&mut random, peer.index(), 0, 3);
            let accepted = if frame.length > 0 {
                node.accept(peer, &frame).map(|accept| match accept {
                    Accept::Into(message) => Some(message),
                    Accept::Drop => None,
                })
            } else {
                Ok(None)
            };
            let result = accepted.and_then(|message| node.arrived(peer, &frame, message, step));
            if let Err(error) = result {
                assert_eq!(error.sqlstate(), "08P01", "{error}");
                node.lost(peer, error);
                closed += 1;
            }
            node.tick(step);
            while let Some((frame, _)) = node.next_frame(peer, *random.pick(&multiplexer::Lane::ORDER), step)
            {
                held.push(frame.kind);
                assert!(held.len() < 10_000, "it answers without end");
            }
            let counts = node.pool().counts();
            assert!(counts.promised <= 24 && counts.allocated <= 24, "{counts:?}");
        }
        drop(ports);
    }
    assert!(closed > 1_000, "{closed}");
}

/// Plays node 1 of a cluster of two by hand; gives the node under test and the stream to it.
fn partner() -> (Multiplexer, TcpStream, TcpStream) {
    let mut config = config();
    config.nodes = 2;
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::bind(loopback).unwrap();
    let (at, options) = (Address::Tcp(loopback), SocketOptions::default());
    let mut sockets = Sockets::listen(NodeId(0), &config, &at, Exposure::Loopback, options).unwrap();
    let Address::Tcp(address) = sockets.address().clone() else { panic!("not TCP") };
    sockets.set_addresses(vec![Address::Tcp(address), Address::Tcp(listener.local_addr().unwrap())]);
    let arena = Arena::new(Budget::unlimited());
    let slabs = || Box::new(ArenaSlabs(arena.clone()));
    let node = Multiplexer::start(
        NodeId(0),
        config,
        Box::new(sockets),
        slabs(),
        slabs(),
        Arc::new(Silent),
        Vec::new(),
    );
    let mut out = TcpStream::connect(address).unwrap();
    let mut hello = Frame::control(Kind::Hello, 1, NodeId(1), NodeId(0));
    hello.value = 64 << 10;
    out.write_all(&hello.encode()).unwrap();
    let (back, _) = listener.accept().unwrap();
    (node.unwrap(), out, back)
}

#[test]
fn a_lying_peer_is_cut_off_with_a_typed_error() {
    let mut random = Random::new(5);
    for round in 0..40 {
        let (node, mut out, mut back) = partner();
        timing::until("the link", || node.linked() == 1);
        let port = node.open(spec(1, 2)).unwrap();
        back.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // Its Hello, and the first credit.
        let mut frames = [0; 2 * FRAME_BYTES];
        back.read_exact(&mut frames).unwrap();
        for _ in 0..200 {
            let mut frame = random_lie(&mut random, 1, 0, 2);
            // On a socket the value of a Data frame is the length of the whole message.
            if frame.kind == Kind::Data && random.chance(80) {
                frame.length %= 70_000;
                frame.value = u64::from(frame.length);
            }
            if random.chance(20) {
                frame.flags |= *random.pick(&[4, 8, 12]);
            }
            let body = vec![0; (frame.length as usize).min(70_000)];
            if out.write_all(&frame.encode()).and_then(|()| out.write_all(&body)).is_err() {
                break;
            }
        }
        drop((out, back));
        timing::until("the loss", || !node.lost().is_empty());
        let error = node.lost().remove(0);
        let typed = matches!(
            error,
            NetworkError::BadFrame { .. } | NetworkError::BeyondWindow { .. } | NetworkError::PeerLost { .. }
        );
        assert!(typed, "round {round}: {error}");
        timing::until("the exchange's end", || port.failure().is_some());
        drop(port);
        timing::until("memory", || node.pool().counts().promised == 0);
    }
}

#[test]
fn a_peer_that_falls_silent_is_lost_within_five_seconds() {
    let (node, out, back) = partner();
    timing::until("the link", || node.linked() == 1);
    let port = node.open(spec(1, 2)).unwrap();
    let linked = std::time::Instant::now();
    // Its connections stay open and take what comes; it only says nothing.
    timing::until("the loss", || port.failure().is_some());
    let after = linked.elapsed();
    assert!(
        matches!(port.failure(), Some(NetworkError::PeerSilent { peer: NodeId(1), .. })),
        "{:?}",
        port.failure()
    );
    println!("noticed after {after:?}");
    // The limit is four seconds, looked at every quarter of one; this machine may be slow besides.
    assert!(after > Duration::from_millis(3_900));
    drop((out, back));
}
