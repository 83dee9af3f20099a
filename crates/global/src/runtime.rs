//! A runtime: the locales of this process, and how a program runs on them. The only part that makes threads.
//!
//! ```text
//!  node 0:   run(root) --threads, one a locale--> root ends, or an error --STOP or FAILED to all--> result
//!  others:   serve()   --threads, one a locale--> STOP, say DONE, hear LEAVE --> Ok           FAILED --> the error
//! ```
//! Objects live as long as their handles, over programs. What a program spawned and did not wait for ends with it.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::address::{Distribution, LOCALES_MAX, LocaleId};
use crate::array::GlobalArray;
use crate::error::GlobalError;
use crate::fiber::FiberCounts;
use crate::here::Here;
use crate::mail::{DONE, FAILED, LEAVE, STOP, control_bytes};
use crate::network::{Network, NetworkCounts, Reason};
use crate::packet::Packet;
use crate::parts::Word;
use crate::process::{Config, Counts, Process, lock};
use crate::registry::Registry;
use crate::symmetric::Symmetric;
use crate::transport::Transport;
use crate::work::Worker;

/// How long the end of a program is tried to be told to other nodes.
const FAREWELL: Duration = Duration::from_secs(5);
/// Of an error's text that other nodes are told; it has to fit into the smallest buffer.
const FAILURE_CHARS: usize = 60;

/// The locales of this process, with their memory.
pub struct Runtime {
    process: Arc<Process>,
    running: Mutex<()>,
}

impl Runtime {
    /// A runtime of one process.
    pub fn new(config: Config) -> Result<Self, GlobalError> {
        Self::with_registry(config, Registry::new())
    }

    /// A runtime of one process, with registered delegates and tasks.
    pub fn with_registry(config: Config, registry: Registry) -> Result<Self, GlobalError> {
        Self::build(config, registry, None)
    }

    /// One of several processes. All need the same program file, registry and number of locales.
    pub fn connected(
        config: Config,
        registry: Registry,
        transport: Box<dyn Transport>,
    ) -> Result<Self, GlobalError> {
        let build = registry.build_hash().rotate_left(7) ^ config.locales as u64;
        let network = Network::new(transport, config.locales, build, config.aggregation);
        Self::build(config, registry, Some(network))
    }

    fn build(config: Config, registry: Registry, network: Option<Network>) -> Result<Self, GlobalError> {
        let process = Process::new(config, registry, network);
        let locales = process.locales();
        if process.config.locales == 0 || locales > LOCALES_MAX {
            return Err(GlobalError::Argument { what: "the number of locales", given: locales.to_string() });
        }
        if process.config.fibers_max == 0 {
            return Err(GlobalError::Argument { what: "fibers_max", given: "0".to_owned() });
        }
        Ok(Runtime { process: Arc::new(process), running: Mutex::new(()) })
    }

    /// An array of zeros; over several processes it is made inside a program ([`GlobalArray::new`]).
    pub fn array<T: Word>(
        &self,
        length: u64,
        distribution: Distribution,
    ) -> Result<GlobalArray<T>, GlobalError> {
        if self.process.nodes > 1 {
            return Err(GlobalError::Argument {
                what: "an array outside a program",
                given: "over processes".to_owned(),
            });
        }
        GlobalArray::on_process(&self.process, length, distribution)
    }

    /// This process' values of a symmetric object under a number that all processes give it, from 0 down from the top of
    /// the numbers: registered delegates find it at `Symmetric::address` of any locale.
    pub fn symmetric<T: Send + 'static>(
        &self,
        number: u16,
        make: impl FnMut(LocaleId) -> T,
    ) -> Result<Symmetric<T>, GlobalError> {
        Symmetric::on_process(&self.process, Some(u16::MAX - number), make)
    }

    /// What memory is charged to.
    pub fn budget(&self) -> &memory::Budget {
        &self.process.config.budget
    }

    /// Locales of this process.
    pub fn locales(&self) -> usize {
        self.process.config.locales
    }

    /// Objects that live on this node.
    pub fn objects(&self) -> usize {
        self.process.objects()
    }

    /// What the last program's locales did, of this process.
    pub fn counts(&self) -> Counts {
        *lock(&self.process.counts)
    }

    /// How each locale's fibers stood at the end of the last program.
    pub fn fiber_counts(&self) -> Vec<FiberCounts> {
        lock(&self.process.fiber_counts).clone()
    }

    /// What went over the transport since the runtime was made.
    pub fn network_counts(&self) -> NetworkCounts {
        self.process.network.as_ref().map(Network::counts).unwrap_or_default()
    }

    /// Runs a program on this node's locales, and on those of nodes that `serve`; the caller's thread is locale 0. It ends
    /// when its root does, with the root's result, or with the first error of any task on any node.
    pub fn run<F, T, R>(&self, root: F) -> Result<R, GlobalError>
    where
        F: FnOnce(Here) -> T,
        T: Future<Output = R> + 'static,
        R: 'static,
    {
        let result = std::rc::Rc::new(std::cell::Cell::new(None));
        self.work(|here| {
            let (kept, process) = (std::rc::Rc::clone(&result), Arc::clone(&self.process));
            let root = root(here.clone());
            here.begin(async move {
                kept.set(Some(root.await));
                process.stop();
            });
        })?;
        result.take().ok_or(GlobalError::Stuck)
    }

    /// Takes part in the program that node 0 runs, until that ends.
    pub fn serve(&self) -> Result<(), GlobalError> {
        self.work(|_| ())
    }

    fn work(&self, begin: impl FnOnce(&Here)) -> Result<(), GlobalError> {
        let alone = self.running.try_lock();
        if alone.is_err() {
            return Err(GlobalError::Argument {
                what: "a second program",
                given: "run at the same time".to_owned(),
            });
        }
        let process = &self.process;
        process.begin();
        std::thread::scope(|scope| {
            for index in 1..process.config.locales {
                let name = format!("locale-{index}");
                let work = move || Worker::new(Here::new(process, index)).run();
                if let Err(error) = std::thread::Builder::new().name(name).spawn_scoped(scope, work) {
                    process.fail(GlobalError::Argument { what: "a thread", given: error.to_string() });
                }
            }
            let here = Here::new(process, 0);
            begin(&here);
            Worker::new(here).run();
        });
        self.say_goodbye();
        process.failure().map_or(Ok(()), Err)
    }

    /// Tells the other nodes that the program is over. Nobody goes before all know: a link that is closed too early would be
    /// an error to those that do not.
    fn say_goodbye(&self) {
        let process = &self.process;
        let Some(network) = &process.network else { return };
        let others: Vec<u16> = (0..process.nodes).filter(|node| *node != process.node).collect();
        match process.failure() {
            Some(GlobalError::OtherNode { .. }) if process.node != 0 => {}
            Some(error) => {
                // What was to be sent may be what could not be; the others need only know that it is over.
                network.forget();
                let text: String = error.to_string().chars().take(FAILURE_CHARS).collect();
                say(network, &others, FAILED, &control_bytes(&(process.node, text)), DONE);
            }
            None if process.node == 0 => {
                let heard = say(network, &others, STOP, &[], DONE);
                hear(network, DONE, others.len().saturating_sub(heard));
                say(network, &others, LEAVE, &[], DONE);
            }
            None => {
                let heard = say(network, &[0], DONE, &[], LEAVE);
                hear(network, LEAVE, 1_usize.saturating_sub(heard));
            }
        }
    }
}

/// Sends a control message to nodes, if that is possible in time; a link that is lost has nobody to be told. How many
/// messages of the kind that is waited for came meanwhile.
fn say(network: &Network, to: &[u16], what: u8, bytes: &[u8], awaited: u8) -> usize {
    let mut heard = 0;
    for node in to {
        network.post(0, *node, &Packet::Control { what, bytes });
    }
    let begun = Instant::now();
    while begun.elapsed() < FAREWELL && to.iter().any(|node| network.queued(*node) > 0) {
        // One that is lost does not keep the others from being told.
        let lost = to.iter().filter(|node| network.flush(**node, 0, Reason::Idle).is_err()).count();
        match count_controls(network, awaited).filter(|_| lost < to.len()) {
            Some(more) => heard += more,
            None => break,
        }
        std::thread::yield_now();
    }
    heard
}

/// Waits for so many control messages of a kind, as long as links hold and there is time.
fn hear(network: &Network, what: u8, count: usize) {
    let (begun, mut heard) = (Instant::now(), 0);
    while heard < count && begun.elapsed() < FAREWELL {
        match count_controls(network, what) {
            Some(more) => heard += more,
            None => return,
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Takes what came, of which only such control messages matter any more; none: the links are gone.
fn count_controls(network: &Network, what: u8) -> Option<usize> {
    network.receive().ok()?;
    let mut count = 0;
    while let Some(arrived) = network.take() {
        let mut left = arrived.messages();
        while let Ok(packet) = Packet::read(&mut left) {
            count += usize::from(matches!(packet, Packet::Control { what: of, .. } if of == what));
        }
        network.unpacked(arrived);
    }
    Some(count)
}
