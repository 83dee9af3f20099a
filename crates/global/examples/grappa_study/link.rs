//! Two runtimes over the multiplexer's TCP on loopback, both in this process.

use std::sync::Arc;

use global::{Config, Doorbell, GlobalError, Here, PortTransport, Registry, Runtime};
use memory::{Arena, Budget, Topology};
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{ArenaSlabs, Multiplexer, NodeId, Schedule};

/// Two nodes of one locale each.
pub struct Pair {
    pub runtimes: Vec<Runtime>,
    _multiplexers: Vec<(Multiplexer, Arena)>,
}

impl Pair {
    /// Over TCP, with these settings.
    pub fn connect(config: &Config, registry: &Registry) -> Pair {
        let mut settings = multiplexer::Config::new(2, 64 << 20);
        settings.message_bytes = 64 << 10;
        settings.messages_max = 512;
        settings.schedule = Schedule::Off;
        let loopback = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let mut ends: Vec<Sockets> = (0..2)
            .map(|node| {
                let options = SocketOptions::default();
                Sockets::listen(NodeId(node), &settings, &loopback, Exposure::Loopback, options)
                    .expect("a socket")
            })
            .collect();
        let addresses: Vec<Address> = ends.iter().map(|end| end.address().clone()).collect();
        ends.iter_mut().for_each(|end| end.set_addresses(addresses.clone()));
        let mut pair = Pair { runtimes: Vec::new(), _multiplexers: Vec::new() };
        for (node, end) in ends.into_iter().enumerate() {
            let arena = Arena::with_topology(Budget::new(512 << 20), Topology::emulated(1, 2));
            let slabs = || Box::new(ArenaSlabs(arena.clone()));
            let (id, doorbell) = (NodeId(node as u16), Arc::new(Doorbell::default()));
            let notices = Arc::clone(&doorbell) as Arc<dyn multiplexer::Notices>;
            let started = Multiplexer::start(
                id,
                settings.clone(),
                Box::new(end),
                slabs(),
                slabs(),
                notices,
                Vec::new(),
            );
            let multiplexer = started.expect("a network thread");
            let port = PortTransport::open(&multiplexer, &settings, id, 1, doorbell).expect("exchanges");
            let runtime = Runtime::connected(config.clone(), registry.clone(), Box::new(port));
            pair.runtimes.push(runtime.expect("a runtime"));
            pair._multiplexers.push((multiplexer, arena));
        }
        pair
    }

    /// Runs a program on the first node; the second one serves.
    pub fn run<F, T, R>(&self, root: F) -> R
    where
        F: FnOnce(Here) -> T,
        T: Future<Output = R> + 'static,
        R: 'static,
    {
        run(&self.runtimes, root).expect("a program that ends")
    }
}

/// Runs a program on the first runtime while the others serve.
pub fn run<F, T, R>(runtimes: &[Runtime], root: F) -> Result<R, GlobalError>
where
    F: FnOnce(Here) -> T,
    T: Future<Output = R> + 'static,
    R: 'static,
{
    std::thread::scope(|scope| {
        runtimes[1..].iter().for_each(|runtime| _ = scope.spawn(|| runtime.serve()));
        runtimes[0].run(root)
    })
}
