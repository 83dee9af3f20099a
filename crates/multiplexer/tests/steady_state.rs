//! In a steady state nothing is allocated: messages, queues and lists are used again.
//!
//! One test in a program of its own, since its allocator counts for all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use memory::{Arena, Budget};
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{
    ArenaSlabs, Class, Config, ExchangeId, ExchangeSpec, Multiplexer, NodeId, Receive, Schedule, Silent,
};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it does what the system's allocator does, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_allocated_once_messages_flow() {
    const NODES: usize = 3;
    let mut config = Config::new(NODES, 64 << 20);
    config.message_bytes = 64 << 10;
    config.messages_max = 256;
    config.schedule = Schedule::On;
    config.phase_bytes = 8 * config.message_bytes as u64;
    let loopback = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let listen = |node: usize| {
        let options = SocketOptions { streams: 2, ..SocketOptions::default() };
        Sockets::listen(NodeId(node as u16), &config, &loopback, Exposure::Loopback, options).unwrap()
    };
    let mut transports: Vec<Sockets> = (0..NODES).map(listen).collect();
    let addresses: Vec<Address> = transports.iter().map(|one| one.address().clone()).collect();
    transports.iter_mut().for_each(|one| one.set_addresses(addresses.clone()));
    let arena = Arena::new(Budget::unlimited());
    let slabs = || Box::new(ArenaSlabs(arena.clone()));
    let start = |(node, transport): (usize, Sockets)| {
        let (id, transport) = (NodeId(node as u16), Box::new(transport));
        Multiplexer::start(id, config.clone(), transport, slabs(), slabs(), Arc::new(Silent), vec![]).unwrap()
    };
    let nodes: Vec<Multiplexer> = transports.into_iter().enumerate().map(start).collect();
    timing::until("all links", || nodes.iter().all(|node| node.linked() == NODES - 1));
    let ports: Vec<_> = nodes
        .iter()
        .enumerate()
        .map(|(node, mux)| {
            let peers: Vec<NodeId> =
                (0..NODES).filter(|peer| *peer != node).map(|peer| NodeId(peer as u16)).collect();
            let (id, class) = (ExchangeId(1), Class::Data);
            mux.open(ExchangeSpec { id, priority: 0, class, sources: peers.clone(), destinations: peers })
                .unwrap()
        })
        .collect();
    let (mut sent, mut came) = (0, 0);
    // One thread plays all workers: rounds of sending what can be sent and taking what came.
    let mut turn = |until: usize| {
        while came < until {
            for (node, port) in ports.iter().enumerate() {
                while let Some(mut buffer) = port.try_take_buffer(0).unwrap() {
                    buffer.set_used(64 << 10);
                    sent += 1;
                    let peer = (node + 1 + sent % (NODES - 1)) % NODES;
                    port.send(NodeId(peer as u16), buffer).unwrap();
                }
                while let Receive::Message(_) = port.try_receive(0).unwrap() {
                    came += 1;
                }
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    };
    turn(6_000);
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    turn(12_000);
    let allocations = ALLOCATIONS.load(Ordering::SeqCst) - before;
    println!("{allocations} allocations while 6,000 messages went and came");
    // A list that grows a last time is no steady cost; one for each message, or for each hundredth, would be.
    assert!(allocations < 30, "{allocations} allocations");
}
