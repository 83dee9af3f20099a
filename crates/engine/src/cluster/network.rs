//! How the exchanges of a query find their node's multiplexer, and its news find them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use multiplexer::{
    Class, ExchangeId, ExchangeSpec, Multiplexer, NetworkError, NodeId as Peer, Notices, Port,
};
use operators::exchange::{Network, Watcher};
use plan::ExchangeNumber;
use sync::stop::Place;

/// How long a query waits for the messages of others.
const ADMISSION: Duration = Duration::from_secs(1);

/// Exchanges of a query, at most, by the bits of their numbers.
const EXCHANGE_BITS: u32 = 20;

/// Exchanges that are open on a node, by their numbers on the network.
#[derive(Default)]
pub(super) struct Registry(RwLock<HashMap<u64, Weak<dyn Watcher>>>);

impl Registry {
    fn watcher(&self, exchange: ExchangeId) -> Option<Arc<dyn Watcher>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&exchange.0).and_then(Weak::upgrade)
    }
    fn add(&self, exchange: ExchangeId, watcher: Weak<dyn Watcher>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(exchange.0, watcher);
    }
    /// The query has ended on this node.
    pub(super) fn forget(&self, query: u64) {
        let mut watchers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|exchange, _| exchange >> EXCHANGE_BITS != query);
    }
}

impl Notices for Registry {
    fn messages(&self, exchange: ExchangeId) {
        if let Some(watcher) = self.watcher(exchange) {
            watcher.messages();
        }
    }
    fn room(&self, exchange: ExchangeId) {
        if let Some(watcher) = self.watcher(exchange) {
            watcher.room();
        }
    }
    // Each of the peer's exchanges fails, and is told.
    fn peer_lost(&self, _error: &NetworkError) {}
}

/// One query's way to its node's multiplexer.
pub(super) struct NodeNetwork {
    pub(super) multiplexer: Arc<Multiplexer>,
    pub(super) registry: Arc<Registry>,
    pub(super) query: u64,
}

impl Network for NodeNetwork {
    fn open(
        &self,
        exchange: ExchangeNumber,
        sources: Vec<Peer>,
        destinations: Vec<Peer>,
        watcher: Weak<dyn Watcher>,
    ) -> Result<Port, NetworkError> {
        let id = ExchangeId(self.query << EXCHANGE_BITS | u64::from(exchange.0));
        self.registry.add(id, watcher);
        let spec = ExchangeSpec { id, priority: 0, class: Class::Data, sources, destinations };
        let begun = Instant::now();
        loop {
            match self.multiplexer.open(spec.clone()) {
                // The network's thread may be about to give back what a query had that has ended, or soon ends.
                Err(NetworkError::NoMemory { .. })
                    if begun.elapsed() < ADMISSION && sync::stop::reason(Place::Open).is_none() =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                outcome => return outcome,
            }
        }
    }
}

impl Drop for NodeNetwork {
    fn drop(&mut self) {
        self.registry.forget(self.query);
    }
}
