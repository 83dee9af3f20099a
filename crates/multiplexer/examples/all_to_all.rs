//! An all-to-all over real links: one JSON line for each node.
//!
//! ```text
//!  all_to_all loopback NODES [options]               all nodes in this process, over loopback
//!  all_to_all node ME ADDRESS,ADDRESS,... [options]  one node; the others run elsewhere (bench/cluster/network.py)
//!
//!  schedule=off|on|auto  seconds=5  warmup=1  message_kib=512  phase_messages=8  streams=1  senders=all|N
//!  congestion=NAME  pace_mbit=N  unsent_kib=N  transport=tcp|unix|shared|raw  memory_mib=256
//! ```
//! Each node sends to every other one as fast as it may and counts the bytes that came between the end of the warm-up and
//! the end. `raw` is the independent program: blocking sockets, a thread each, no multiplexer, nothing coordinated.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memory::{Arena, Budget};
use multiplexer::transport::sockets::{Address, Exposure, SocketOptions, Sockets};
use multiplexer::{
    ArenaSlabs, Class, Config, ExchangeId, ExchangeSpec, Multiplexer, NetworkError, NodeId, Port, Receive,
    Schedule, Silent,
};

struct Options(HashMap<String, String>);

impl Options {
    fn text(&self, name: &str, default: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| default.to_owned())
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        self.text(name, "").parse().unwrap_or(default)
    }

    fn config(&self, nodes: usize) -> Config {
        let mut config = Config::new(nodes, (self.number("memory_mib", 256) as usize) << 20);
        config.message_bytes = (self.number("message_kib", 512) as usize) << 10;
        config.messages_max = (self.number("memory_mib", 256) as usize) << 20 >> config.message_bytes.ilog2();
        config.phase_bytes = self.number("phase_messages", 8) * config.message_bytes as u64;
        config.pace =
            self.0.get("pace_mbit").and_then(|mbit| mbit.parse::<u64>().ok()).map(|mbit| mbit * 125_000);
        config.schedule = match self.text("schedule", "on").as_str() {
            "off" => Schedule::Off,
            "auto" => Schedule::Auto,
            _ => Schedule::On,
        };
        config
    }

    fn sockets(&self) -> SocketOptions {
        SocketOptions {
            streams: self.number("streams", 1) as usize,
            unsent: (self.number("unsent_kib", 128) as u32) << 10,
            congestion: self.0.get("congestion").cloned(),
            connect_within: Duration::from_secs(20),
            shared_memory: self.text("transport", "tcp") == "shared",
            ..SocketOptions::default()
        }
    }

    fn seconds(&self, name: &str, default: f64) -> Duration {
        Duration::from_secs_f64(self.text(name, "").parse().unwrap_or(default))
    }

    fn sends(&self, node: usize) -> bool {
        let senders = self.text("senders", "all");
        senders == "all" || senders.parse::<usize>().is_ok_and(|count| node < count)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options =
        arguments.iter().filter_map(|word| word.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned()));
    let options = Arc::new(Options(options.collect()));
    let word = |at: usize| arguments.get(at).map_or("", String::as_str);
    match word(0) {
        "loopback" => loopback(word(1).parse().unwrap_or(4), &options),
        "node" => {
            let addresses: Vec<SocketAddr> =
                word(2).split(',').filter_map(|text| text.parse().ok()).collect();
            node(word(1).parse().unwrap_or(0), addresses, &options);
        }
        _ => println!("all_to_all loopback NODES | node ME ADDRESSES   (see the head of its source)"),
    }
}

fn loopback(nodes: usize, options: &Arc<Options>) {
    let free = |_| TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let addresses: Vec<SocketAddr> = (0..nodes).filter_map(|node| free(node).ok()).collect();
    std::thread::scope(|scope| {
        for me in 0..nodes {
            let addresses = addresses.clone();
            scope.spawn(move || node(me, addresses, options));
        }
    });
}

fn node(me: usize, addresses: Vec<SocketAddr>, options: &Options) {
    let result = match options.text("transport", "tcp").as_str() {
        "raw" => raw(me, &addresses, options).map_err(|error| error.to_string()),
        kind => multiplexed(me, &addresses, kind != "tcp", options).map_err(|error| error.to_string()),
    };
    if let Err(error) = result {
        println!("{{\"node\": {me}, \"error\": {error:?}}}");
    }
}

fn report(
    me: usize,
    nodes: usize,
    options: &Options,
    received: u64,
    time: Duration,
    cpu: Duration,
    more: &str,
) {
    let seconds = time.as_secs_f64();
    println!(
        "{{\"node\": {me}, \"nodes\": {nodes}, \"transport\": \"{}\", \"schedule\": \"{}\", \"message_kib\": {}, \
         \"received_mb_s\": {:.3}, \"process_cpu_s\": {:.3}, \"seconds\": {seconds:.2}{more}}}",
        options.text("transport", "tcp"),
        options.text("schedule", "on"),
        options.number("message_kib", 512),
        received as f64 / seconds / 1e6,
        cpu.as_secs_f64(),
    );
}

fn spec(id: u64, me: usize, nodes: usize) -> ExchangeSpec {
    let peers: Vec<NodeId> = (0..nodes).filter(|peer| *peer != me).map(|peer| NodeId(peer as u16)).collect();
    ExchangeSpec {
        id: ExchangeId(id),
        priority: 0,
        class: Class::Data,
        sources: peers.clone(),
        destinations: peers,
    }
}

/// All nodes pass here together.
fn meet(mux: &Multiplexer, id: u64, me: usize, nodes: usize) -> Result<(), NetworkError> {
    let port = mux.open(spec(id, me, nodes))?;
    port.finish_all()?;
    while !matches!(port.try_receive(0)?, Receive::Finished) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn multiplexed(
    me: usize,
    addresses: &[SocketAddr],
    unix: bool,
    options: &Options,
) -> Result<(), NetworkError> {
    let nodes = addresses.len();
    let config = options.config(nodes);
    let path = |port: u16| std::env::temp_dir().join(format!("all-to-all-{port}.socket"));
    let addresses: Vec<Address> = addresses
        .iter()
        .map(|address| if unix { Address::Unix(path(address.port())) } else { Address::Tcp(*address) })
        .collect();
    let mut sockets =
        Sockets::listen(NodeId(me as u16), &config, &addresses[me], Exposure::Meant, options.sockets())?;
    sockets.set_addresses(addresses);
    let arena = Arena::new(Budget::unlimited());
    let slabs = || Box::new(ArenaSlabs(arena.clone()));
    let id = NodeId(me as u16);
    let bytes = config.message_bytes;
    let mux =
        Multiplexer::start(id, config, Box::new(sockets), slabs(), slabs(), Arc::new(Silent), Vec::new())?;
    meet(&mux, 1, me, nodes)?;
    let port = mux.open(spec(2, me, nodes))?;
    let began = Instant::now();
    let warm = options.seconds("warmup", 1.0);
    let end = warm + options.seconds("seconds", 5.0);
    let received = AtomicU64::new(0);
    let result = std::thread::scope(|scope| {
        let producer = scope.spawn(|| produce(&port, me, nodes, bytes, began + end, options.sends(me)));
        let consumer = scope.spawn(|| consume(&port, &received));
        std::thread::sleep(warm.saturating_sub(began.elapsed()));
        let (from, cpu, at) = (received.load(Ordering::SeqCst), cpu_time(), Instant::now());
        std::thread::sleep(end.saturating_sub(began.elapsed()));
        let bytes = received.load(Ordering::SeqCst) - from;
        let (time, cpu) = (at.elapsed(), cpu_time() - cpu);
        let statistics = mux.statistics();
        let more = format!(
            ", \"phases\": {}, \"verdicts\": {}, \"frames_sent\": {}, \"overdue\": {}",
            statistics.phases, statistics.verdicts, statistics.frames_sent, statistics.overdue
        );
        report(me, nodes, options, bytes, time, cpu, &more);
        [producer.join(), consumer.join()].into_iter().flatten().collect::<Result<(), NetworkError>>()
    });
    // Whoever is through first leaves, so the last meeting may fail.
    let _ = meet(&mux, 3, me, nodes);
    result
}

fn cpu_time() -> Duration {
    cpu_time::ProcessTime::now().as_duration()
}

fn produce(
    port: &Port,
    me: usize,
    nodes: usize,
    bytes: usize,
    end: Instant,
    sends: bool,
) -> Result<(), NetworkError> {
    let mut turn = 0;
    while sends && Instant::now() < end {
        let Some(mut buffer) = port.try_take_buffer(0)? else {
            std::thread::sleep(Duration::from_micros(500));
            continue;
        };
        buffer.set_used(bytes);
        port.send(NodeId(((me + 1 + turn % (nodes - 1)) % nodes) as u16), buffer)?;
        turn += 1;
    }
    port.finish_all()
}

fn consume(port: &Port, received: &AtomicU64) -> Result<(), NetworkError> {
    loop {
        match port.try_receive(0)? {
            Receive::Message(message) => {
                received.fetch_add(message.message.used() as u64, Ordering::SeqCst);
            }
            Receive::Waiting => std::thread::sleep(Duration::from_micros(500)),
            Receive::Finished => return Ok(()),
        }
    }
}

fn raw(me: usize, addresses: &[SocketAddr], options: &Options) -> std::io::Result<()> {
    let nodes = addresses.len();
    let listener = TcpListener::bind(addresses[me])?;
    let bytes = (options.number("message_kib", 512) as usize) << 10;
    let received = AtomicU64::new(0);
    let (warm, time) = (options.seconds("warmup", 1.0), options.seconds("seconds", 5.0));
    std::thread::scope(|scope| {
        for peer in (0..nodes).filter(|peer| *peer != me) {
            let (address, sends) = (addresses[peer], options.sends(me));
            scope.spawn(move || {
                let stream =
                    std::iter::repeat_with(|| TcpStream::connect(address)).take(2_000).find_map(|stream| {
                        std::thread::sleep(Duration::from_millis(if stream.is_ok() { 0 } else { 10 }));
                        stream.ok()
                    });
                let (buffer, end) =
                    (vec![7; bytes], Instant::now() + warm + time + Duration::from_millis(500));
                if let Some(mut stream) = stream {
                    if let Some(name) = options.0.get("congestion") {
                        let _ = socket2::SockRef::from(&stream).set_tcp_congestion(name.as_bytes());
                    }
                    while sends && Instant::now() < end && stream.write_all(&buffer).is_ok() {}
                }
            });
        }
        for stream in listener.incoming().take(nodes - 1).flatten() {
            let received = &received;
            scope.spawn(move || {
                let (mut stream, mut buffer) = (stream, vec![0; bytes]);
                while let Ok(read @ 1..) = stream.read(&mut buffer) {
                    received.fetch_add(read as u64, Ordering::SeqCst);
                }
            });
        }
        std::thread::sleep(warm);
        let (from, cpu, at) = (received.load(Ordering::SeqCst), cpu_time(), Instant::now());
        std::thread::sleep(time);
        let bytes = received.load(Ordering::SeqCst) - from;
        report(me, nodes, options, bytes, at.elapsed(), cpu_time() - cpu, "");
    });
    Ok(())
}
