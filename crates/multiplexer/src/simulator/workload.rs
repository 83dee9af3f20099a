//! What simulated nodes do: an all-to-all of bulk, to measure; random queries, to find deadlocks.
//!
//! A *random query* is a tree of operators, the same on every node. Each consumes its inputs one after another (a build
//! side before a probe side), so messages of later inputs must wait, and sends to one exchange between all nodes. It goes
//! on only when it gets a buffer. Whatever the order of events, the credits and the faults: it ends, with all messages
//! or with one of the typed errors, and memory stays within its setting and comes back.

use std::sync::Arc;

use random::Random;

use super::fabric::LinkModel;
use super::{Fault, World};
use crate::auto::{MILLISECOND, Nanos};
use crate::error::NetworkError;
use crate::exchange::{ExchangeSpec, Receive, Received, Shared};
use crate::frame::{Class, ExchangeId, Frame, Kind, NodeId};
use crate::port::Port;
use crate::traffic::{Config, Statistics};

/// What an all-to-all gave.
#[derive(Clone, Copy, Debug)]
pub struct AllToAll {
    /// Virtual time.
    pub time: Nanos,
    /// Bytes received over what all links can carry in that time.
    pub of_link: f64,
    /// Cells that the switch lost.
    pub losses: u64,
    /// Of node 0.
    pub statistics: Statistics,
}

fn spec(id: u64, node: usize, nodes: usize, priority: u8) -> ExchangeSpec {
    let peers: Vec<NodeId> =
        (0..nodes).filter(|peer| *peer != node).map(|peer| NodeId(peer as u16)).collect();
    ExchangeSpec {
        id: ExchangeId(id),
        priority,
        class: Class::Data,
        sources: peers.clone(),
        destinations: peers,
    }
}

/// Every node sends so many full messages to every other one, as fast as it may.
pub fn all_to_all(
    config: &Config,
    model: LinkModel,
    messages: usize,
    seed: u64,
) -> Result<AllToAll, NetworkError> {
    let nodes = config.nodes;
    let mut world = World::new(config, model, seed);
    let mut ports = Vec::new();
    for node in 0..nodes {
        ports.push(world.open(node, spec(1, node, nodes, 0))?);
    }
    let total = messages * (nodes - 1);
    let mut sent = vec![0; nodes];
    let mut done = vec![false; nodes];
    let mut failure = None;
    let bytes = config.message_bytes;
    let ended = world.run(u64::MAX, |node, _| {
        let port = &ports[node];
        let mut step = || -> Result<(), NetworkError> {
            while sent[node] < total {
                let Some(mut buffer) = port.try_take_buffer(0)? else { break };
                buffer.set_used(bytes);
                let destination = (node + 1 + sent[node] % (nodes - 1)) % nodes;
                port.send(NodeId(destination as u16), buffer)?;
                sent[node] += 1;
                if sent[node] == total {
                    port.finish_all()?;
                }
            }
            loop {
                match port.try_receive(0)? {
                    Receive::Message(_) => {}
                    Receive::Waiting => return Ok(()),
                    Receive::Finished => {
                        done[node] = sent[node] == total;
                        return Ok(());
                    }
                }
            }
        };
        if let Err(error) = step() {
            failure = Some(error);
        }
        done[node] || failure.is_some()
    });
    if let Some(failure) = failure.or((!ended).then_some(NetworkError::Stopped)) {
        return Err(failure);
    }
    let time = world.now();
    let carried = (total * bytes) as f64;
    let possible = model.bytes_per_second as f64 * time as f64 / 1e9;
    Ok(AllToAll {
        time,
        of_link: carried / possible,
        losses: world.losses(),
        statistics: world.traffic[0].statistics(),
    })
}

struct Operator {
    /// Exchanges, in the order in which they are consumed.
    inputs: Vec<usize>,
    output: Option<usize>,
    position: usize,
    /// Messages that it still makes of its own: a scan.
    scan: usize,
    emit: usize,
    held: Option<Received>,
    /// A consumer that takes nothing before this time.
    asleep_until: Nanos,
    ended: bool,
}

/// How a random query ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With all messages, on all nodes.
    Complete {
        /// Messages that were exchanged.
        messages: usize,
    },
    /// With errors, on all nodes that live.
    Failed(Vec<NetworkError>),
}

struct Query {
    /// What is still to be opened, and when: nodes learn of a query at different times.
    unopened: Vec<ExchangeSpec>,
    opens_at: Nanos,
    shared: Arc<Shared>,
    ports: Vec<Option<Port>>,
    operators: Vec<Operator>,
    failure: Option<NetworkError>,
}

/// Runs a random query with random credits, sizes, priorities, links and faults. An error text says what promise was
/// broken.
pub fn random_query(seed: u64) -> Result<Outcome, String> {
    let mut random = Random::new(seed);
    let nodes = 2 + random.below(5_usize);
    let exchanges = 1 + random.below(5_usize);
    let config = random_config(&mut random, nodes, exchanges);
    let model = random_links(&mut random);
    let mut world = World::new(&config, model, random.bits());
    let faults = plan_faults(&mut random, &mut world, exchanges);
    let mut queries = Vec::new();
    let shape = random.bits();
    for node in 0..nodes {
        queries.push(plan_query(shape, node, exchanges, &world));
    }
    let (mut sent, mut received) = (0, 0);
    let ended = world.run(600_000 * MILLISECOND, |node, now| {
        run_node(&mut queries[node], &mut random, now, config.message_bytes, &mut sent, &mut received)
    });
    if !ended {
        let waiting: Vec<String> =
            world.traffic.iter().map(|node| format!("\n{}", node.describe())).collect();
        return Err(format!(
            "seed {seed}: deadlock on {nodes} nodes with {exchanges} exchanges, faults {faults:?}{}",
            waiting.concat()
        ));
    }
    let failures: Vec<NetworkError> = (0..nodes)
        .filter(|node| world.alive[*node])
        .filter_map(|node| queries[node].failure.clone())
        .collect();
    drop(queries);
    world.run(world.now() + 10_000 * MILLISECOND, |_, _| false);
    for node in (0..nodes).filter(|node| world.alive[*node]) {
        let counts = world.traffic[node].pool().counts();
        if counts.promised != 0 {
            return Err(format!("seed {seed}: node {node} keeps {counts:?} with no exchange open"));
        }
        if counts.allocated_peak > config.messages_max {
            return Err(format!("seed {seed}: node {node} had {counts:?} of {}", config.messages_max));
        }
    }
    if failures.is_empty() && faults.is_empty() && sent != received {
        return Err(format!("seed {seed}: {sent} messages sent, {received} received"));
    }
    if !failures.is_empty() && faults.is_empty() {
        return Err(format!("seed {seed}: without a fault it failed: {failures:?}"));
    }
    Ok(if failures.is_empty() { Outcome::Complete { messages: received } } else { Outcome::Failed(failures) })
}

fn random_config(random: &mut Random, nodes: usize, exchanges: usize) -> Config {
    let least = 2 * exchanges * (nodes - 1);
    let mut config = Config::new(nodes, 0);
    config.message_bytes = *random.pick(&[64 << 10, 128 << 10, 512 << 10]);
    config.messages_max = least + random.below(3_usize) * random.below(least + 1);
    config.window_messages_max = 1 + random.below(12_usize);
    config.send_messages_max = 1 + random.below(16_usize);
    config.memory_nodes = 1 + random.below(3_usize);
    config.phase_bytes = (1 + random.below(8_u64)) * config.message_bytes as u64;
    config.schedule = *random.pick(&[
        crate::auto::Schedule::Off,
        crate::auto::Schedule::On,
        crate::auto::Schedule::On,
        crate::auto::Schedule::Auto,
    ]);
    config
}

fn random_links(random: &mut Random) -> LinkModel {
    use super::fabric::Switch;
    let switch = match random.below(3_u64) {
        0 => Switch::OutputQueued { buffer_bytes: None },
        1 => Switch::OutputQueued { buffer_bytes: Some(256 << 10) },
        _ => Switch::InputQueued { fifo_bytes: 256 << 10 },
    };
    LinkModel {
        bytes_per_second: *random.pick(&[12_500_000, 125_000_000, 1_250_000_000]),
        latency: 1_000 * (1 + random.below(500_u64)),
        cell_bytes: 16 << 10,
        switch,
    }
}

fn plan_faults(random: &mut Random, world: &mut World, exchanges: usize) -> Vec<Fault> {
    let nodes = world.traffic.len();
    let mut faults = Vec::new();
    if random.chance(50) {
        return faults;
    }
    for _ in 0..1 + random.below(3_usize) {
        let (one, other) = (random.below(nodes), random.below(nodes));
        let fault = match random.below(6_u64) {
            0 => Fault::Crash(one),
            1 => Fault::Silence(one),
            2 if one != other => Fault::Cut(one, other),
            3 => Fault::Slow(one, 1 + random.below(50_u64)),
            _ if one != other => Fault::Lie(one, other, random_lie(random, one, other, exchanges)),
            _ => continue,
        };
        world.plan(random.below(400_u64) * MILLISECOND, fault);
        faults.push(fault);
    }
    faults
}

/// A frame that makes no sense, or that its sender may not send.
pub fn random_lie(random: &mut Random, from: usize, to: usize, exchanges: usize) -> Frame {
    let kinds = [
        Kind::Hello,
        Kind::Refuse,
        Kind::Data,
        Kind::Data,
        Kind::Credit,
        Kind::Cancel,
        Kind::Permit,
        Kind::End,
        Kind::Wake,
        Kind::Report,
        Kind::Mode,
    ];
    let any = |random: &mut Random| match random.below(3_u64) {
        0 => random.below(4_u64),
        1 => random.below(1_000_u64),
        _ => random.bits(),
    };
    let mut frame = Frame::control(*random.pick(&kinds), 1, NodeId(from as u16), NodeId(to as u16));
    frame.class = *random.pick(&[Class::Data, Class::Urgent]);
    frame.flags = random.below(4_u64) as u8;
    frame.epoch += random.below(8_u64) / 7;
    frame.exchange = ExchangeId(1 + random.below(exchanges as u64 + 1));
    frame.sequence = any(random);
    frame.value = any(random);
    frame.length = if frame.kind == Kind::Data { (any(random) & 0xf_ffff) as u32 } else { 0 };
    if random.chance(5) {
        frame.source = NodeId(random.below(100_u64) as u16);
    }
    frame
}

fn plan_query(shape: u64, node: usize, exchanges: usize, world: &World) -> Query {
    // The tree is the same everywhere; how much is scanned differs.
    let mut random = Random::new(shape);
    let mut own = Random::new(shape ^ (node as u64 + 1) << 32);
    let mut unconsumed: Vec<usize> = Vec::new();
    let mut operators = Vec::new();
    let mut unopened = Vec::new();
    for exchange in 0..exchanges {
        let mut inputs = Vec::new();
        while !unconsumed.is_empty() && random.chance(60) {
            inputs.push(unconsumed.swap_remove(random.below(unconsumed.len())));
        }
        let scans = inputs.is_empty() || random.chance(30);
        let scan = if scans { own.below(30_usize) } else { 0 };
        operators.push(operator(inputs, Some(exchange), scan, 0));
        unconsumed.push(exchange);
        let priority = random.below(3_u64) as u8;
        unopened.push(spec(exchange as u64 + 1, node, world.traffic.len(), priority));
    }
    let asleep = if own.chance(20) { own.below(2_000_u64) * MILLISECOND } else { 0 };
    operators.push(operator(unconsumed, None, 0, asleep));
    let opens_at = if own.chance(50) { own.below(300_u64) * MILLISECOND } else { 0 };
    let shared = Arc::clone(&world.traffic[node].shared);
    Query { unopened, opens_at, shared, ports: Vec::new(), operators, failure: None }
}

fn operator(inputs: Vec<usize>, output: Option<usize>, scan: usize, asleep_until: Nanos) -> Operator {
    Operator { inputs, output, position: 0, scan, emit: 0, held: None, asleep_until, ended: false }
}

fn run_node(
    query: &mut Query,
    random: &mut Random,
    now: Nanos,
    message_bytes: usize,
    sent: &mut usize,
    received: &mut usize,
) -> bool {
    if query.failure.is_some() {
        return true;
    }
    if now < query.opens_at {
        return false;
    }
    for spec in std::mem::take(&mut query.unopened) {
        match Port::open(&query.shared, spec) {
            Ok(port) => query.ports.push(Some(port)),
            Err(error) => {
                query.ports.clear();
                query.failure = Some(error);
                return true;
            }
        }
    }
    let first = random.below(query.operators.len());
    for step in 0..query.operators.len() {
        let at = (first + step) % query.operators.len();
        let result =
            run_operator(&mut query.operators[at], &query.ports, random, now, message_bytes, sent, received);
        if let Err(error) = result {
            // As an engine does: one failure ends the whole query, everywhere.
            query.ports.iter().flatten().for_each(Port::cancel);
            query.operators.iter_mut().for_each(|operator| operator.held = None);
            query.ports.iter_mut().for_each(|port| *port = None);
            query.failure = Some(error);
            return true;
        }
    }
    query.operators.iter().all(|operator| operator.ended)
}

fn run_operator(
    operator: &mut Operator,
    ports: &[Option<Port>],
    random: &mut Random,
    now: Nanos,
    message_bytes: usize,
    sent: &mut usize,
    received: &mut usize,
) -> Result<(), NetworkError> {
    if operator.ended || now < operator.asleep_until {
        return Ok(());
    }
    loop {
        while operator.emit > 0 {
            let Some(port) = operator.output.and_then(|output| ports[output].as_ref()) else { break };
            let Some(mut buffer) = port.try_take_buffer(random.below(4_usize))? else { return Ok(()) };
            buffer.set_used(1 + random.below(message_bytes));
            let destinations = port.destinations();
            if random.chance(10) {
                *sent += destinations.len();
                port.broadcast(buffer)?;
            } else {
                *sent += 1;
                port.send(*random.pick(destinations), buffer)?;
            }
            operator.emit -= 1;
        }
        operator.held = None;
        if let Some(port) = operator.inputs.get(operator.position).and_then(|input| ports[*input].as_ref()) {
            match port.try_receive(random.below(4_usize))? {
                Receive::Message(message) => {
                    *received += 1;
                    operator.held = Some(message);
                    operator.emit = if operator.output.is_some() { random.below(3_usize) } else { 0 };
                }
                Receive::Waiting => return Ok(()),
                Receive::Finished => operator.position += 1,
            }
        } else if operator.scan > 0 {
            operator.scan -= 1;
            operator.emit = 1;
        } else {
            if let Some(port) = operator.output.and_then(|output| ports[output].as_ref()) {
                port.finish_all()?;
            }
            operator.ended = true;
            return Ok(());
        }
    }
}
