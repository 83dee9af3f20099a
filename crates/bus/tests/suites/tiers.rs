//! Every combination of tiers, each as a place where a bus can be opened, ended and opened again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[cfg(feature = "service")]
use bus::service::{RemoteBus, Server};
use bus::{Bus, BusOptions, Durability, ManualClock, Table, Timestamp};
use files::{Loss, SimulatedFiles};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    None,
    Log,
    LogAsynchronous,
    Store,
    StoreAsynchronous,
}

#[derive(Clone, Copy, Debug)]
pub struct Tier {
    pub table: Table,
    pub storage: Storage,
    pub remote: bool,
}

impl Tier {
    pub fn all() -> Vec<Tier> {
        let storages = [
            Storage::None,
            Storage::Log,
            Storage::LogAsynchronous,
            Storage::Store,
            Storage::StoreAsynchronous,
        ];
        let mut all = Vec::new();
        for table in [Table::Locked, Table::Versioned] {
            for storage in storages {
                all.extend([false, true].map(|remote| Tier { table, storage, remote }));
            }
        }
        // What this build has: Miri interprets neither sockets nor a store's files.
        all.retain(|tier| !tier.remote || cfg!(feature = "service"));
        all.retain(|tier| !tier.is_in_store() || cfg!(feature = "redb"));
        all
    }

    pub fn is_in_store(self) -> bool {
        matches!(self.storage, Storage::Store | Storage::StoreAsynchronous)
    }

    pub fn is_durable(self) -> bool {
        self.storage != Storage::None
    }

    pub fn is_synchronous(self) -> bool {
        matches!(self.storage, Storage::Log | Storage::Store)
    }
}

static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// A bus of a tier, and what outlives it.
pub struct Place {
    pub tier: Tier,
    pub clock: Arc<ManualClock>,
    pub files: SimulatedFiles,
    pub log_bytes_max: u64,
    folder: PathBuf,
    store: u64,
    bus: Option<Arc<dyn Bus>>,
    #[cfg(feature = "service")]
    server: Option<Server>,
}

impl Place {
    pub fn new(tier: Tier, seed: u64) -> Place {
        let number = FOLDERS.fetch_add(1, Relaxed);
        let folder = std::env::temp_dir().join(format!("quickstep-bus-{}-{number}", std::process::id()));
        if tier.is_in_store() {
            std::fs::create_dir(&folder).unwrap();
        }
        let mut place = Place {
            tier,
            clock: Arc::new(ManualClock::at(Timestamp(1_000))),
            files: SimulatedFiles::new(seed),
            log_bytes_max: 4_000,
            folder,
            store: 0,
            bus: None,
            #[cfg(feature = "service")]
            server: None,
        };
        place.open();
        place
    }

    pub fn bus(&self) -> Arc<dyn Bus> {
        self.bus.clone().unwrap()
    }

    fn open(&mut self) {
        let durability = match self.tier.is_synchronous() {
            true => Durability::Synchronous,
            // Only when it is asked for, so that a seed decides what is lost.
            false => Durability::Asynchronous { at_most: Duration::from_secs(3600) },
        };
        let options = BusOptions {
            table: self.tier.table,
            durability,
            clock: self.clock.clone(),
            log_bytes_max: self.log_bytes_max,
        };
        let local = match self.tier.storage {
            Storage::None => options.in_memory(),
            Storage::Log | Storage::LogAsynchronous => {
                options.on_log(Arc::new(self.files.clone())).unwrap().bus
            }
            #[cfg(feature = "redb")]
            Storage::Store | Storage::StoreAsynchronous => options.on_store(self.store_path()).unwrap().bus,
            #[cfg(not(feature = "redb"))]
            Storage::Store | Storage::StoreAsynchronous => panic!("no store in this build"),
        };
        self.bus = Some(match self.tier.remote {
            false => local,
            true => self.serve(local),
        });
    }

    #[cfg(feature = "service")]
    fn serve(&mut self, local: Arc<dyn Bus>) -> Arc<dyn Bus> {
        let server = Server::start(local, "127.0.0.1:0".parse().unwrap()).unwrap();
        let remote = RemoteBus::new(&server.address().to_string()).unwrap();
        self.server = Some(server);
        Arc::new(remote)
    }

    #[cfg(not(feature = "service"))]
    fn serve(&mut self, _: Arc<dyn Bus>) -> Arc<dyn Bus> {
        panic!("no service in this build")
    }

    fn store_path(&self) -> PathBuf {
        self.folder.join(format!("bus-{}.redb", self.store))
    }

    fn close(&mut self) {
        self.bus = None;
        #[cfg(feature = "service")]
        {
            self.server = None;
        }
    }

    /// Ends the bus as it should end, and opens it again.
    pub fn reopen(&mut self) {
        self.close();
        self.open();
    }

    /// Ends the bus in the middle, and opens what is left.
    pub fn crash(&mut self, loss: Loss) {
        self.files = self.files.restart(loss);
        if self.tier.is_in_store() {
            // What is in the file now is all that another process would find.
            let before = self.store_path();
            self.store += 1;
            std::fs::copy(before, self.store_path()).unwrap();
        }
        self.close();
        self.open();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.close();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
