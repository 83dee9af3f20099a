//! Real processes: this test's own program, started again as the other nodes, over Unix sockets. The same program file is
//! the same build, so their handlers are known to each other.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use global::{
    Config, Distribution, Doorbell, GlobalArray, GlobalError, Handler, Here, LocaleId, Operation,
    PortTransport, Registry, Runtime, Symmetric, TaskHandler,
};
use memory::{Arena, Budget, Topology};
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{ArenaSlabs, Multiplexer, NodeId, Schedule};

const NODES: u16 = 3;
const FOLDER: &str = "GLOBAL_MEMORY_TEST_FOLDER";
const NODE: &str = "GLOBAL_MEMORY_TEST_NODE";

/// Appends, and gives the length.
struct Append;

impl Handler for Append {
    type Target = Vec<u64>;
    type Argument = u64;
    type Output = u64;
    fn run(list: &mut Vec<u64>, value: u64) -> u64 {
        list.push(value);
        list.len() as u64
    }
}

/// Adds 1 to every element of an array, from the node that it was sent to.
struct AddAll;

impl TaskHandler for AddAll {
    type Argument = u16;
    fn start(here: Here, number: u16) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let array = GlobalArray::<u64>::with_number(&here, number).unwrap();
            let event = here.event();
            let id = event.id();
            here.spawn_loop(id, 0..array.len(), 100, move |here, range| {
                range.for_each(|at| _ = array.try_send(here, id, Operation::Add, at, 1));
            });
            event.wait().await;
        })
    }
}

struct Node {
    runtime: Runtime,
    lists: Symmetric<Vec<u64>>,
    _multiplexer: Multiplexer,
    _arena: Arena,
}

fn node(folder: &Path, node: u16) -> Node {
    let mut settings = multiplexer::Config::new(usize::from(NODES), 32 << 20);
    settings.message_bytes = 64 << 10;
    settings.schedule = Schedule::Off;
    let addresses: Vec<Address> =
        (0..NODES).map(|node| Address::Unix(folder.join(format!("{node}.socket")))).collect();
    let (id, options) = (NodeId(node), SocketOptions::default());
    let at = &addresses[usize::from(node)];
    let mut sockets = Sockets::listen(id, &settings, at, Exposure::Loopback, options).unwrap();
    sockets.set_addresses(addresses);
    let arena = Arena::with_topology(Budget::new(128 << 20), Topology::emulated(1, 2));
    let slabs = || Box::new(ArenaSlabs(arena.clone()));
    let doorbell = Arc::new(Doorbell::default());
    let notices = Arc::clone(&doorbell) as Arc<dyn multiplexer::Notices>;
    let started =
        Multiplexer::start(id, settings.clone(), Box::new(sockets), slabs(), slabs(), notices, Vec::new());
    let multiplexer = started.unwrap();
    let port = PortTransport::open(&multiplexer, &settings, id, 1, doorbell).unwrap();
    let registry = Registry::new().with::<Append>().with_task::<AddAll>();
    let runtime = Runtime::connected(Config::new(2), registry, Box::new(port)).unwrap();
    let lists = runtime.symmetric(0, |_| Vec::new()).unwrap();
    Node { runtime, lists, _multiplexer: multiplexer, _arena: arena }
}

/// What the other processes do; nothing, in a run of the tests.
#[test]
fn a_node_of_its_own() {
    let (Ok(folder), Ok(number)) = (std::env::var(FOLDER), std::env::var(NODE)) else { return };
    let node = node(Path::new(&folder), number.parse().unwrap());
    node.runtime.serve().unwrap();
    node.runtime.serve().unwrap();
}

struct Cluster {
    folder: PathBuf,
    children: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn cluster(name: &str) -> (Cluster, Node) {
    let folder = std::env::temp_dir().join(format!("global-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let start = |number: u16| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_node_of_its_own"]).env(FOLDER, &folder).env(NODE, number.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children = (1..NODES).map(start).collect();
    let first = node(&folder, 0);
    (Cluster { folder, children }, first)
}

async fn everything(here: Here, lists: Symmetric<Vec<u64>>) -> u64 {
    let array = GlobalArray::<u64>::new(&here, 1_000, Distribution::BlockCyclic(10)).await.unwrap();
    let event = here.event();
    for locale in 0..here.locales() as u16 {
        here.spawn_task::<AddAll>(LocaleId(locale), event.id(), array.number());
    }
    event.wait().await;
    for locale in 0..here.locales() as u16 {
        let before = here.call::<Append>(lists.address(LocaleId(locale)), 1).await;
        assert_eq!(here.call::<Append>(lists.address(LocaleId(locale)), 2).await, before + 1);
    }
    let mut sum = 0;
    for at in 0..1_000 {
        sum += array.read(&here, at).await;
    }
    sum
}

#[test]
fn three_processes_run_programs_together() {
    let (mut cluster, first) = cluster("three");
    for _ in 0..2 {
        let lists = first.lists.clone();
        assert_eq!(first.runtime.run(|here| everything(here, lists)), Ok(6_000));
    }
    for child in &mut cluster.children {
        assert!(child.wait().unwrap().success(), "each node served two programs");
    }
}

#[test]
fn a_process_that_is_killed_ends_the_program_with_one_error() {
    let (mut cluster, first) = cluster("killed");
    let killed = &mut cluster.children[1];
    let ended: Result<(), GlobalError> = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            killed.kill().unwrap();
        });
        first.runtime.run(|here| async move {
            let array = GlobalArray::<u64>::new(&here, 60, Distribution::Block).await.unwrap();
            loop {
                for at in 0..60 {
                    array.fetch_add(&here, at, 1).await;
                }
            }
        })
    });
    assert!(matches!(ended, Err(GlobalError::Network(_) | GlobalError::OtherNode { .. })), "{ended:?}");
}
