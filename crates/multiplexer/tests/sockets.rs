//! Nodes in one process over real sockets: bytes arrive as they were sent, once, whatever the schedule; losses, other
//! views and nonsense are typed errors, and nothing waits for ever.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use memory::{Arena, Budget, Topology};
use multiplexer::transport::Transport;
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{
    ArenaSlabs, Class, Config, ExchangeId, ExchangeSpec, FRAME_BYTES, Frame, Kind, Multiplexer, NetworkError,
    NodeId, Notices, Port, Receive, Schedule, Silent, Spill,
};

fn loopback() -> Address {
    Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

fn config(nodes: usize, schedule: Schedule) -> Config {
    let mut config = Config::new(nodes, 64 << 20);
    config.message_bytes = 128 << 10;
    config.messages_max = 256;
    config.memory_nodes = 2;
    config.schedule = schedule;
    config.phase_bytes = 4 * config.message_bytes as u64;
    config
}

struct Cluster {
    nodes: Vec<Multiplexer>,
    arenas: Vec<Arena>,
    addresses: Vec<Address>,
}

fn sockets(node: usize, config: &Config, at: &Address) -> Sockets {
    // Paths that say so have their messages in shared memory; other paths have two streams.
    let shared_memory = matches!(at, Address::Unix(path) if path.to_string_lossy().contains("shared"));
    let streams = if matches!(at, Address::Unix(_)) && !shared_memory { 2 } else { 1 };
    let options = SocketOptions { shared_memory, streams, ..SocketOptions::default() };
    Sockets::listen(NodeId(node as u16), config, at, Exposure::Loopback, options).unwrap()
}

fn start(
    node: usize,
    config: &Config,
    transport: Box<dyn Transport>,
    notices: Arc<dyn Notices>,
) -> (Multiplexer, Arena) {
    let arena = Arena::with_topology(Budget::new(256 << 20), Topology::emulated(2, 2));
    let slabs = || Box::new(ArenaSlabs(arena.clone()));
    let id = NodeId(node as u16);
    let node = Multiplexer::start(id, config.clone(), transport, slabs(), slabs(), notices, Vec::new());
    (node.unwrap(), arena)
}

fn cluster_at(
    config: &Config,
    at: impl Fn(usize) -> Address,
    notices: &dyn Fn() -> Arc<dyn Notices>,
) -> Cluster {
    let mut transports: Vec<Sockets> =
        (0..config.nodes).map(|node| sockets(node, config, &at(node))).collect();
    let addresses: Vec<Address> = transports.iter().map(|transport| transport.address().clone()).collect();
    transports.iter_mut().for_each(|transport| transport.set_addresses(addresses.clone()));
    let started = transports.into_iter().enumerate();
    let (nodes, arenas) =
        started.map(|(node, transport)| start(node, config, Box::new(transport), notices())).unzip();
    Cluster { nodes, arenas, addresses }
}

fn cluster(config: &Config) -> Cluster {
    cluster_at(config, |_| loopback(), &|| Arc::new(Silent))
}

fn spec(id: u64, node: usize, nodes: usize) -> ExchangeSpec {
    let peers: Vec<NodeId> =
        (0..nodes).filter(|peer| *peer != node).map(|peer| NodeId(peer as u16)).collect();
    ExchangeSpec {
        id: ExchangeId(id),
        priority: 0,
        class: Class::Data,
        sources: peers.clone(),
        destinations: peers,
    }
}

/// What message `number` from one node to another holds: a length and a byte that follow from the three.
fn content(from: usize, to: usize, number: usize) -> (usize, u8) {
    let mixed = (from * 31 + to * 17 + number * 7_919) % 131_072;
    (if number.is_multiple_of(5) { mixed % 300 + 1 } else { mixed + 1 }, (mixed % 251) as u8)
}

fn produce(port: &Port, node: usize, nodes: usize, messages: usize) {
    for number in 0..messages {
        for to in (0..nodes).filter(|to| *to != node) {
            let mut buffer = loop {
                match port.try_take_buffer(number % 2).unwrap() {
                    Some(buffer) => break buffer,
                    None => std::thread::sleep(Duration::from_micros(200)),
                }
            };
            let (length, byte) = content(node, to, number);
            buffer.space()[..length].fill(byte);
            buffer.set_used(length);
            port.send(NodeId(to as u16), buffer).unwrap();
        }
    }
    port.finish_all().unwrap();
}

/// Takes everything and compares: how many messages came.
fn consume(port: &Port, node: usize) -> usize {
    let mut next = [0; 16];
    let mut count = 0;
    let deadline = Instant::now() + timing::PATIENCE;
    loop {
        match port.try_receive(count % 2).unwrap() {
            Receive::Message(received) => {
                let from = received.source.index();
                let number = received.sequence as usize;
                let (length, byte) = content(from, node, number);
                assert_eq!(received.message.used(), length);
                assert!(received.message.bytes().iter().all(|found| *found == byte));
                next[from] += 1;
                count += 1;
            }
            Receive::Waiting => {
                assert!(Instant::now() < deadline, "nothing comes any more");
                std::thread::sleep(Duration::from_micros(200));
            }
            Receive::Finished => return count,
        }
    }
}

fn exchange_all(cluster: &Cluster, id: u64, messages: usize) {
    let nodes = cluster.nodes.len();
    let ports: Vec<Port> = cluster
        .nodes
        .iter()
        .enumerate()
        .map(|(node, mux)| mux.open(spec(id, node, nodes)).unwrap())
        .collect();
    std::thread::scope(|scope| {
        for (node, port) in ports.iter().enumerate() {
            scope.spawn(move || produce(port, node, nodes, messages));
            scope.spawn(move || assert_eq!(consume(port, node), messages * (nodes - 1)));
        }
    });
}

#[test]
fn what_is_sent_arrives_once_and_whole_under_every_schedule() {
    for schedule in [Schedule::Off, Schedule::On, Schedule::Auto] {
        let config = config(4, schedule);
        let cluster = cluster(&config);
        timing::until("all links", || cluster.nodes.iter().all(|node| node.linked() == 3));
        exchange_all(&cluster, 1, 40);
        exchange_all(&cluster, 2, 7);
        for (node, arena) in cluster.nodes.iter().zip(&cluster.arenas) {
            timing::until("all promises are back", || node.pool().counts().promised == 0);
            assert!(node.pool().counts().allocated_peak <= config.messages_max);
            assert!(arena.used_bytes() <= (config.messages_max * config.message_bytes) as u64 + (64 << 20));
            assert_eq!(node.lost(), vec![]);
        }
        if schedule == Schedule::On {
            assert!(cluster.nodes.iter().all(|node| node.statistics().phases > 3));
        }
    }
}

fn exchange_over_paths(name: &str) {
    let folder = std::env::temp_dir().join(format!("multiplexer-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = |node: usize| Address::Unix(folder.join(format!("{node}.{name}")));
    let cluster = cluster_at(&config(3, Schedule::On), at, &|| Arc::new(Silent));
    exchange_all(&cluster, 1, 30);
    exchange_all(&cluster, 2, 100);
    assert!(cluster.nodes.iter().all(|node| node.lost().is_empty()), "{:?}", cluster.nodes[0].lost());
    drop(cluster);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn unix_sockets_and_two_streams_a_pair_carry_the_same() {
    exchange_over_paths("socket");
}

#[test]
fn shared_memory_carries_the_same_and_leaves_no_file() {
    exchange_over_paths("shared");
}

#[test]
fn a_broadcast_is_serialised_once_and_sent_to_each_machine() {
    let cluster = cluster(&config(3, Schedule::On));
    let ports: Vec<Port> =
        cluster.nodes.iter().enumerate().map(|(node, mux)| mux.open(spec(1, node, 3)).unwrap()).collect();
    let mut message = ports[0].try_take_buffer(0).unwrap().unwrap();
    message.append(b"to all");
    ports[0].broadcast(message).unwrap();
    ports.iter().for_each(|port| port.finish_all().unwrap());
    for port in &ports[1..] {
        let mut came = 0;
        timing::until("the broadcast", || match port.try_receive(0).unwrap() {
            Receive::Message(received) => {
                assert_eq!(received.message.bytes(), b"to all");
                came += 1;
                false
            }
            Receive::Waiting => false,
            Receive::Finished => true,
        });
        assert_eq!(came, 1);
    }
    timing::until("its buffer", || cluster.nodes[0].statistics().messages_sent == 2);
}

#[derive(Default)]
struct Counted {
    messages: AtomicUsize,
    room: AtomicUsize,
    lost: Mutex<Vec<NetworkError>>,
}

impl Notices for Counted {
    fn messages(&self, _exchange: ExchangeId) {
        self.messages.fetch_add(1, Ordering::SeqCst);
    }
    fn room(&self, _exchange: ExchangeId) {
        self.room.fetch_add(1, Ordering::SeqCst);
    }
    fn peer_lost(&self, error: &NetworkError) {
        self.lost.lock().unwrap().push(error.clone());
    }
}

#[test]
fn a_stopped_consumer_stops_only_its_own_exchange_and_spills_when_asked() {
    struct Kept(Vec<Vec<u8>>);
    impl Spill for Kept {
        type Ticket = usize;
        fn keep(&mut self, _source: NodeId, _sequence: u64, bytes: &[u8]) -> Result<usize, NetworkError> {
            self.0.push(bytes.to_vec());
            Ok(self.0.len() - 1)
        }
    }
    let mut config = config(2, Schedule::Off);
    config.window_messages_max = 4;
    config.send_messages_max = 4;
    let counted = Arc::new(Counted::default());
    let cluster = cluster_at(&config, |_| loopback(), &|| counted.clone());
    let stopped: Vec<Port> =
        cluster.nodes.iter().enumerate().map(|(node, mux)| mux.open(spec(1, node, 2)).unwrap()).collect();
    // Node 0 sends until it gets no buffer any more: four wait there, four lie in the window here.
    let mut sent = 0;
    let mut fill = || {
        while let Some(mut buffer) = stopped[0].try_take_buffer(0).unwrap() {
            buffer.set_used(128 << 10);
            stopped[0].send(NodeId(1), buffer).unwrap();
            sent += 1;
        }
    };
    timing::until("the window to be full", || {
        fill();
        stopped[1].waiting() == 4
    });
    fill();
    assert_eq!(sent, 8);
    exchange_all(&cluster, 2, 50);
    assert_eq!(stopped[1].waiting(), 4, "nobody took any, no more were granted");
    let rooms = counted.room.load(Ordering::SeqCst);
    let mut kept = Kept(Vec::new());
    let (source, sequence, ticket) = stopped[1].spill_newest(&mut kept).unwrap().unwrap();
    assert_eq!((source, kept.0[ticket].len()), (NodeId(0), 128 << 10));
    assert!((2..4).contains(&sequence), "one of the newest of the two queues: {sequence}");
    timing::until("the next one", || stopped[1].waiting() == 4);
    timing::until("word of a free buffer", || counted.room.load(Ordering::SeqCst) > rooms);
}

#[test]
fn a_node_may_open_an_exchange_long_after_the_others() {
    let cluster = cluster(&config(2, Schedule::On));
    timing::until("all links", || cluster.nodes.iter().all(|node| node.linked() == 1));
    let early = cluster.nodes[0].open(spec(1, 0, 2)).unwrap();
    let empty = cluster.nodes[0].open(ExchangeSpec { sources: vec![], ..spec(2, 0, 2) }).unwrap();
    let mut buffer = early.try_take_buffer(0).unwrap().unwrap();
    buffer.append(b"in advance");
    early.send(NodeId(1), buffer).unwrap();
    early.finish_all().unwrap();
    empty.finish_all().unwrap();
    // All that there was to say is said, and the other node has not opened them yet.
    drop(empty);
    std::thread::sleep(Duration::from_millis(50));
    let late = cluster.nodes[1].open(spec(1, 1, 2)).unwrap();
    let mut came = Vec::new();
    timing::until("the end", || match late.try_receive(0).unwrap() {
        Receive::Message(received) => {
            came.push(received.message.bytes().to_vec());
            false
        }
        Receive::Waiting => false,
        Receive::Finished => true,
    });
    assert_eq!(came, [b"in advance"]);
    let late = cluster.nodes[1].open(ExchangeSpec { destinations: vec![], ..spec(2, 1, 2) }).unwrap();
    timing::until("the end", || matches!(late.try_receive(0).unwrap(), Receive::Finished));
}

#[test]
fn a_cancel_frees_both_sides() {
    let cluster = cluster(&config(3, Schedule::On));
    let ports: Vec<Port> =
        cluster.nodes.iter().enumerate().map(|(node, mux)| mux.open(spec(1, node, 3)).unwrap()).collect();
    while let Some(mut buffer) = ports[0].try_take_buffer(0).unwrap() {
        buffer.set_used(100_000);
        ports[0].send(NodeId(1), buffer).unwrap();
    }
    let before = Instant::now();
    ports[2].cancel();
    let by = NodeId(2);
    timing::until("the error everywhere", || {
        let cancelled =
            |port: &Port| port.failure() == Some(NetworkError::Cancelled { exchange: ExchangeId(1), by });
        ports.iter().all(cancelled)
    });
    println!("cancelled everywhere after {:?}", before.elapsed());
    assert_eq!(ports[0].failure().unwrap().sqlstate(), "57014");
    drop(ports);
    // Dropping a port whose sources are not through is a cancel too.
    let left = cluster.nodes[0].open(spec(3, 0, 3)).unwrap();
    let dropped = cluster.nodes[1].open(spec(3, 1, 3)).unwrap();
    drop(dropped);
    timing::until("word of it", || left.failure().is_some());
    drop(left);
    timing::until("memory", || cluster.nodes.iter().all(|node| node.pool().counts().promised == 0));
    // A later open of the same number on a node that had not opened it would fail as well; others go on.
    exchange_all(&cluster, 2, 5);
}

#[test]
fn a_node_that_dies_ends_its_exchanges_with_one_error() {
    let mut cluster = cluster(&config(3, Schedule::On));
    timing::until("all links", || cluster.nodes.iter().all(|node| node.linked() == 2));
    let ports: Vec<Port> = cluster.nodes[..2]
        .iter()
        .enumerate()
        .map(|(node, mux)| mux.open(spec(1, node, 3)).unwrap())
        .collect();
    let dead = cluster.nodes.pop();
    drop(dead);
    timing::until("the loss", || ports.iter().all(|port| port.failure().is_some()));
    for port in &ports {
        let error = port.failure().unwrap();
        assert!(matches!(error, NetworkError::PeerLost { peer: NodeId(2), .. }), "{error}");
        assert!(error.is_retryable());
    }
    // The two that are left go on with each other.
    let pair = |node: usize| {
        let peer = vec![NodeId(1 - node as u16)];
        ExchangeSpec { sources: peer.clone(), destinations: peer, ..spec(2, node, 3) }
    };
    let two: Vec<Port> = (0..2).map(|node| cluster.nodes[node].open(pair(node)).unwrap()).collect();
    for port in &two {
        let mut buffer = port.try_take_buffer(0).unwrap().unwrap();
        buffer.set_used(120_000);
        port.broadcast(buffer).unwrap();
        port.finish_all().unwrap();
    }
    for port in &two {
        timing::until("the end", || matches!(port.try_receive(0).unwrap(), Receive::Finished));
    }
}

#[test]
fn another_view_and_another_size_are_refused_by_name() {
    let ours = config(2, Schedule::Off);
    for change in
        [|config: &mut Config| config.epoch = 7, |config: &mut Config| config.message_bytes = 64 << 10]
    {
        let mut theirs = ours.clone();
        change(&mut theirs);
        let mut first = sockets(0, &ours, &loopback());
        let mut second = sockets(1, &theirs, &loopback());
        let addresses = vec![first.address().clone(), second.address().clone()];
        first.set_addresses(addresses.clone());
        second.set_addresses(addresses);
        let (first, _a) = start(0, &ours, Box::new(first), Arc::new(Silent));
        let (second, _b) = start(1, &theirs, Box::new(second), Arc::new(Silent));
        timing::until("both to know", || !first.lost().is_empty() && !second.lost().is_empty());
        let error = first.lost().remove(0);
        match error {
            NetworkError::WrongEpoch { theirs, ours, .. } => assert_eq!((theirs, ours), (7, 1)),
            NetworkError::MessageSizes { theirs, ours, .. } => assert_eq!((theirs, ours), (65_536, 131_072)),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn nonsense_closes_its_connection_and_nothing_else() {
    let cluster = cluster(&config(3, Schedule::On));
    timing::until("all links", || cluster.nodes.iter().all(|node| node.linked() == 2));
    let Address::Tcp(address) = &cluster.addresses[0] else { panic!("not TCP") };
    let mut random = random::Random::new(11);
    for round in 0..200 {
        let mut stranger = TcpStream::connect(address).unwrap();
        let mut bytes = vec![0; random.below(400_usize)];
        bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
        if round % 2 == 0 && bytes.len() >= FRAME_BYTES {
            // A Hello that is well-formed, and then noise: from nobody, from itself, from a node that is linked already.
            let mut hello = Frame::control(Kind::Hello, 1, NodeId(random.below(4_u64) as u16 * 3), NodeId(0));
            hello.value = 128 << 10;
            bytes[..FRAME_BYTES].copy_from_slice(&hello.encode());
        }
        let _ = stranger.write_all(&bytes);
    }
    exchange_all(&cluster, 1, 10);
    assert!(cluster.nodes.iter().all(|node| node.lost().is_empty()), "{:?}", cluster.nodes[0].lost());
}

#[test]
fn a_listener_beyond_loopback_has_to_be_meant() {
    let at = Address::Tcp(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
    let refused = Sockets::listen(
        NodeId(0),
        &config(2, Schedule::Off),
        &at,
        Exposure::Loopback,
        SocketOptions::default(),
    );
    let error = refused.err().unwrap();
    assert!(matches!(error, NetworkError::Exposed { .. }), "{error}");
    assert!(error.hint().contains("loopback"));
}

#[test]
fn connections_are_as_many_as_the_formula_says() {
    for (nodes, streams) in [(2, 1), (4, 1), (3, 2)] {
        let config = config(nodes, Schedule::Off);
        let options = || SocketOptions { streams, ..SocketOptions::default() };
        let listen = |node: usize| {
            Sockets::listen(NodeId(node as u16), &config, &loopback(), Exposure::Loopback, options()).unwrap()
        };
        let mut transports: Vec<Sockets> = (0..nodes).map(listen).collect();
        let addresses: Vec<Address> = transports.iter().map(|one| one.address().clone()).collect();
        struct Nobody;
        impl multiplexer::transport::Events for Nobody {
            fn linked(&mut self, _peer: NodeId) {}
            fn heard(&mut self, _peer: NodeId) {}
            fn accept(&mut self, _: NodeId, _: &Frame) -> Result<multiplexer::Accept, NetworkError> {
                Ok(multiplexer::Accept::Drop)
            }
            fn arrived(
                &mut self,
                _: NodeId,
                _: &Frame,
                _: Option<multiplexer::Message>,
            ) -> Result<(), NetworkError> {
                Ok(())
            }
            fn lost(&mut self, peer: NodeId, error: NetworkError) {
                panic!("{peer}: {error}");
            }
        }
        for (node, transport) in transports.iter_mut().enumerate() {
            transport.set_addresses(addresses.clone());
            let peers = (0..nodes).filter(|peer| *peer != node);
            peers.for_each(|peer| transport.connect(NodeId(peer as u16)));
        }
        timing::until("all connections", || {
            transports.iter_mut().for_each(|one| one.poll(Duration::from_millis(1), &mut Nobody).unwrap());
            // Each connection is counted at both of its ends.
            transports.iter().map(|one| one.connections()).sum::<usize>() == 2 * nodes * (nodes - 1) * streams
        });
    }
}
