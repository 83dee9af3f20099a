//! Several processes' worth of locales: over queues inside this process, and over the multiplexer's sockets. The same
//! programs, aggregated and not; buffers that run out; nodes that do not belong; nodes that end.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use global::{
    Aggregation, Config, Distribution, Doorbell, EventId, GlobalArray, GlobalError, Handler, Here, Link,
    LinkOptions, LocaleId, Operation, PortTransport, Registry, Runtime, Symmetric, TaskHandler, Transport,
};
use memory::{Arena, Budget, Topology};
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{ArenaSlabs, Multiplexer, NodeId, Schedule};

/// Keeps the sum and the length of what it was sent, and gives both back.
struct Keep;

impl Handler for Keep {
    type Target = (u64, u64);
    type Argument = Vec<u8>;
    type Output = (u64, u64);
    fn run(kept: &mut (u64, u64), bytes: Vec<u8>) -> (u64, u64) {
        kept.0 += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        kept.1 += bytes.len() as u64;
        *kept
    }
}

/// Adds at every address of a range, as a loop on the node that it was sent to; nests once to each other node.
struct AddRange;

impl TaskHandler for AddRange {
    type Argument = (u64, u64, u8, u16);
    fn start(
        here: Here,
        (from, to, depth, number): Self::Argument,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let array = GlobalArray::<u64>::with_number(&here, number).unwrap();
            let event = here.event();
            let id = event.id();
            here.spawn_loop(id, from..to, 16, move |here, range| {
                range.for_each(|at| _ = array.try_send(here, id, Operation::Add, at, 1));
            });
            if depth > 0 {
                for node in 0..here.nodes() {
                    let locale = LocaleId(node * (here.locales() as u16 / here.nodes()));
                    here.spawn_task::<AddRange>(locale, id, (from, to, depth - 1, number));
                }
            }
            event.wait().await;
        })
    }
}

fn registry() -> Registry {
    Registry::new().with::<Keep>().with_task::<AddRange>()
}

fn config(locales: usize) -> Config {
    Config::new(locales)
}

/// Runs a program on node 0 while the others serve.
fn program<F, T, R>(runtimes: &[Runtime], root: F) -> Result<R, GlobalError>
where
    F: FnOnce(Here) -> T,
    T: Future<Output = R> + 'static,
    R: 'static,
{
    std::thread::scope(|scope| {
        let serving: Vec<_> = runtimes[1..].iter().map(|runtime| scope.spawn(|| runtime.serve())).collect();
        let result = runtimes[0].run(root);
        for node in serving {
            let served = node.join().unwrap();
            assert_eq!(served.is_ok(), result.is_ok(), "{served:?}");
        }
        result
    })
}

fn linked(nodes: u16, locales: usize, options: LinkOptions, aggregation: Aggregation) -> Vec<Runtime> {
    let connect = |link: Link| {
        let mut config = config(locales);
        config.aggregation = aggregation;
        Runtime::connected(config, registry(), Box::new(link)).unwrap()
    };
    Link::connect(nodes, options).into_iter().map(connect).collect()
}

/// Nodes over TCP on loopback; the multiplexers have to outlive the runtimes.
fn over_sockets(nodes: usize, locales: usize) -> (Vec<Runtime>, Vec<(Multiplexer, Arena)>) {
    let mut settings = multiplexer::Config::new(nodes, 32 << 20);
    settings.message_bytes = 64 << 10;
    settings.messages_max = 256;
    settings.schedule = Schedule::Off;
    let loopback = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let listen = |node: usize| {
        let id = NodeId(node as u16);
        Sockets::listen(id, &settings, &loopback, Exposure::Loopback, SocketOptions::default()).unwrap()
    };
    let mut transports: Vec<Sockets> = (0..nodes).map(listen).collect();
    let addresses: Vec<Address> = transports.iter().map(|one| one.address().clone()).collect();
    transports.iter_mut().for_each(|one| one.set_addresses(addresses.clone()));
    let mut started = Vec::new();
    let mut runtimes = Vec::new();
    for (node, transport) in transports.into_iter().enumerate() {
        let arena = Arena::with_topology(Budget::new(256 << 20), Topology::emulated(1, 2));
        let slabs = || Box::new(ArenaSlabs(arena.clone()));
        let (id, doorbell) = (NodeId(node as u16), Arc::new(Doorbell::default()));
        let notices = Arc::clone(&doorbell) as Arc<dyn multiplexer::Notices>;
        let transport = Box::new(transport);
        let one = Multiplexer::start(id, settings.clone(), transport, slabs(), slabs(), notices, Vec::new());
        let one = one.unwrap();
        let port = PortTransport::open(&one, &settings, id, 1, doorbell).unwrap();
        runtimes.push(Runtime::connected(config(locales), registry(), Box::new(port)).unwrap());
        started.push((one, arena));
    }
    (runtimes, started)
}

async fn add_everywhere(here: &Here, id: EventId, array: &GlobalArray<u64>, rounds: u64) {
    let array = array.clone();
    here.spawn_loop_waiting(id, 0..rounds * array.len(), 64, move |here, range| {
        let array = array.clone();
        async move {
            for at in range {
                array.send(&here, id, Operation::Add, at % array.len(), 1).await;
            }
        }
    });
}

async fn all_kinds(here: Here) -> u64 {
    let array = GlobalArray::<u64>::new(&here, 300, Distribution::BlockCyclic(7)).await.unwrap();
    for at in [0, 7, 150, 299] {
        assert_eq!(array.write(&here, at, at).await, 0);
        assert_eq!(array.fetch_add(&here, at, 1).await, at);
        assert_eq!(array.compare_swap(&here, at, at + 1, 0).await, at + 1);
        assert_eq!(array.compare_swap(&here, at, at + 1, 5).await, 0);
    }
    let event = here.event();
    add_everywhere(&here, event.id(), &array, 40).await;
    event.wait().await;
    let mut sum = 0;
    for at in 0..300 {
        let value = array.read(&here, at).await;
        assert_eq!(value, 40, "element {at}");
        sum += value;
    }
    sum
}

#[test]
fn the_same_program_runs_over_every_transport_aggregated_and_not() {
    for on in [true, false] {
        let aggregation = Aggregation { on, ..Aggregation::default() };
        for (nodes, locales) in [(2, 1), (3, 2)] {
            let runtimes = linked(nodes, locales, LinkOptions::default(), aggregation);
            assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
            let counts = runtimes[0].network_counts();
            let a_buffer = counts.messages as f64 / counts.buffers as f64;
            assert!(if on { a_buffer > 2.0 } else { a_buffer == 1.0 }, "{counts:?}");
            assert!(runtimes.iter().all(|runtime| runtime.objects() <= 1), "the last handle frees all parts");
            // Another program on the same runtimes.
            assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
        }
    }
    let (runtimes, _multiplexers) = over_sockets(2, 2);
    assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
    assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
}

#[test]
fn closures_with_payloads_of_any_size_arrive_once_and_whole() {
    let aggregation = Aggregation::default();
    let options = LinkOptions { buffer_bytes: 16 << 10, ..LinkOptions::default() };
    let runtimes = linked(2, 1, options, aggregation);
    let kept: Vec<Symmetric<(u64, u64)>> =
        runtimes.iter().map(|runtime| runtime.symmetric(0, |_| (0, 0)).unwrap()).collect();
    let address = kept[0].address(LocaleId(1));
    let result = program(&runtimes, |here| async move {
        let event = here.event();
        let mut bytes = 0;
        for length in (0..2_000).chain([4_000, 5_000, 16_000]) {
            here.call_async::<Keep>(event.id(), address, vec![1; length]).await;
            bytes += length as u64;
        }
        event.wait().await;
        assert_eq!(here.call::<Keep>(address, Vec::new()).await, (bytes, bytes));
        here.call_urgently::<Keep>(address, vec![2; 3]).await == (bytes + 6, bytes + 3)
    });
    assert_eq!(result, Ok(true));
    let too_large =
        program(&runtimes, |here| async move { here.call::<Keep>(address, vec![0; 20_000]).await });
    assert!(matches!(too_large, Err(GlobalError::TooLarge { limit: 16_360, .. })), "{too_large:?}");
}

#[test]
fn nests_of_tasks_over_nodes_end_when_all_is_over() {
    for delay in [Duration::ZERO, Duration::from_micros(300)] {
        let runtimes = linked(3, 2, LinkOptions { delay, ..LinkOptions::default() }, Aggregation::default());
        let found = program(&runtimes, |here| async move {
            let array = GlobalArray::<u64>::new(&here, 64, Distribution::Block).await.unwrap();
            for round in 1..=10 {
                let event = here.event();
                for locale in 0..6 {
                    here.spawn_task::<AddRange>(LocaleId(locale), event.id(), (0, 64, 1, array.number()));
                }
                event.wait().await;
                for at in 0..64 {
                    assert_eq!(array.read(&here, at).await, round * 24, "round {round}");
                }
            }
        });
        assert_eq!(found, Ok(()));
    }
}

/// One small buffer at a time, windows of one, and everybody sends to everybody: it goes on, slowly.
#[test]
fn buffers_that_run_out_hold_nobody_for_ever() {
    let aggregation =
        Aggregation { window: 1, flush_bytes: 64, list_bytes_max: 2_000, ..Aggregation::default() };
    let options = LinkOptions { buffer_bytes: 128, buffers: 1, delay: Duration::ZERO };
    let links = Link::connect(3, options);
    let ends: Vec<Arc<Link>> = links.into_iter().map(Arc::new).collect();
    struct Kept(Arc<Link>);
    impl Transport for Kept {
        fn node(&self) -> u16 {
            self.0.node()
        }
        fn nodes(&self) -> u16 {
            self.0.nodes()
        }
        fn buffer_bytes(&self, urgent: bool) -> usize {
            self.0.buffer_bytes(urgent)
        }
        fn attach(&self, gate: Arc<sync::Gate>) {
            self.0.attach(gate);
        }
        fn try_buffer(&self, to: u16, urgent: bool) -> Result<Option<global::Buffer>, GlobalError> {
            self.0.try_buffer(to, urgent)
        }
        fn send(&self, to: u16, buffer: global::Buffer, urgent: bool) -> Result<(), GlobalError> {
            self.0.send(to, buffer, urgent)
        }
        fn receive(&self) -> Result<Option<(u16, global::Buffer)>, GlobalError> {
            self.0.receive()
        }
    }
    let runtimes: Vec<Runtime> = ends
        .iter()
        .map(|end| {
            let mut config = config(2);
            config.aggregation = aggregation;
            Runtime::connected(config, registry(), Box::new(Kept(Arc::clone(end)))).unwrap()
        })
        .collect();
    assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
    let held: u64 = runtimes.iter().map(|runtime| runtime.network_counts().held).sum();
    assert!(held > 100, "buffers never ran out");
    drop(runtimes);
    // What came after the program's end lies in the queues still.
    ends.iter().for_each(|end| while end.receive().unwrap().is_some() {});
    assert_eq!(ends.iter().map(|end| end.lent()).sum::<usize>(), 0, "all buffers are back");
}

#[test]
fn lists_leave_by_size_by_age_and_when_nothing_else_is_to_do() {
    let hour = Duration::from_secs(3_600);
    // Nothing else to do: a lone message leaves at once, though it is neither many nor old.
    let lone = Aggregation { flush_age: hour, flush_bytes: 1 << 20, ..Aggregation::default() };
    let runtimes = linked(2, 1, LinkOptions::default(), lone);
    let took = program(&runtimes, |here| async move {
        let array = GlobalArray::<u64>::new(&here, 2, Distribution::Block).await.unwrap();
        let begun = Instant::now();
        array.fetch_add(&here, 1, 1).await;
        begun.elapsed()
    });
    assert!(took.unwrap() < timing::PATIENCE);
    assert!(runtimes[0].network_counts().by_idleness > 0);
    // While a task keeps the locale busy, it leaves by its age.
    let old =
        Aggregation { flush_age: Duration::from_millis(1), flush_bytes: 1 << 20, ..Aggregation::default() };
    let runtimes = linked(2, 1, LinkOptions::default(), old);
    let done = program(&runtimes, |here| async move {
        let array = GlobalArray::<u64>::new(&here, 2, Distribution::Block).await.unwrap();
        let busy = Arc::new(AtomicU64::new(1));
        let (until, at) = (Arc::clone(&busy), here.clone());
        here.begin(async move {
            while until.load(SeqCst) == 1 {
                at.yield_now().await;
            }
        });
        array.fetch_add(&here, 1, 1).await;
        busy.store(0, SeqCst);
    });
    assert_eq!(done, Ok(()));
    assert!(runtimes[0].network_counts().by_age > 0);
    // Many leave by size.
    let runtimes = linked(2, 2, LinkOptions::default(), Aggregation { flush_bytes: 4 << 10, ..lone });
    assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
    let counts = runtimes[0].network_counts();
    assert!(counts.by_size > 0 && counts.of_siblings > 0, "{counts:?}");
}

#[test]
fn another_build_is_refused_by_name() {
    let mut links = Link::connect(2, LinkOptions::default()).into_iter();
    let mut next = |salt| {
        let registry = registry().with_salt(salt);
        Runtime::connected(config(1), registry, Box::new(links.next().unwrap())).unwrap()
    };
    let (first, second) = (next(0), next(1));
    let (ran, served) = std::thread::scope(|scope| {
        let serving = scope.spawn(|| second.serve());
        let root = |here: Here| async move {
            GlobalArray::<u64>::new(&here, 2, Distribution::Block).await.map(|_| ())
        };
        let ran = first.run(root);
        (ran, serving.join().unwrap())
    });
    assert!(matches!(served, Err(GlobalError::OtherBuild { node: 0, .. })), "{served:?}");
    assert!(matches!(ran, Err(GlobalError::OtherBuild { node: 1, .. })), "{ran:?}");
    assert_eq!(served.unwrap_err().sqlstate(), "F0000");
}

#[test]
fn a_failure_of_one_node_ends_the_program_on_all_and_the_next_one_runs() {
    let runtimes = linked(3, 1, LinkOptions::default(), Aggregation::default());
    let failed = program(&runtimes, |here| async move {
        let array = GlobalArray::<u64>::new(&here, 3, Distribution::Block).await.unwrap();
        array.read(&here, 1).await;
        array.read(&here, 3).await
    });
    assert_eq!(failed, Err(GlobalError::OutOfRange { index: 3, length: 3 }));
    assert_eq!(program(&runtimes, all_kinds), Ok(12_000));
}

#[test]
fn a_node_that_dies_ends_the_program_with_one_error() {
    let (mut runtimes, mut multiplexers) = over_sockets(2, 1);
    let (second, dies) = (runtimes.pop().unwrap(), multiplexers.pop().unwrap());
    let (ran, served) = std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let served = second.serve();
            drop(second);
            served
        });
        let ended = scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(dies);
        });
        let root = |here: Here| async move {
            let array = GlobalArray::<u64>::new(&here, 2, Distribution::Block).await.unwrap();
            loop {
                array.fetch_add(&here, 1, 1).await;
            }
        };
        let ran: Result<(), GlobalError> = runtimes[0].run(root);
        ended.join().unwrap();
        (ran, serving.join().unwrap())
    });
    assert!(matches!(ran, Err(GlobalError::Network(_))), "{ran:?}");
    assert_eq!(ran.unwrap_err().sqlstate(), "08006");
    assert!(matches!(served, Err(GlobalError::Network(_) | GlobalError::OtherNode { .. })), "{served:?}");
}
