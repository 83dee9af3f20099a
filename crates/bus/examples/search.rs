//! Distributed search over the bus, after Chasseur (2015), sections 4.3 and 4.5: four servers hold 44 partitions of a
//! text, each partition twice; a client asks for keywords, gets hits of every partition, and ranks the documents by
//! TF-IDF. Then one server becomes a straggler that makes four passes over its text; and then requests are tied: both
//! servers of a partition get one, and the one that begins takes the other's away.
//!
//! Servers are processes of their own, and reach the bus over gRPC. They would share this machine's cores, so each rests
//! after a pass as long as makes it `--pass-ms` (10), as if it had a machine for itself with that speed.
//!
//! `cargo run --release -p bus --example search -- [--rounds 5] [--pass-ms 10] [--record bench/results/bus.jsonl]`

mod recording;

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use bus::service::{RemoteBus, Server};
use bus::{
    Address, Bus, BusOptions, ClientId, Message, MessageType, Priority, ReceiveOptions, Received, Role,
    Scope, SendOptions, Wait, receipts,
};
use random::Random;
use serde_json::json;

const PARTITIONS: usize = 44;
const SERVERS: usize = 4;
/// The servers of a partition, in turn: every server has 22 partitions, and no two have the same.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]];
const DOCUMENTS: usize = 150;
const WORDS: usize = 120;
const STRAGGLER: usize = 2;
const STRAGGLER_PASSES: u32 = 4;

const REPLY: MessageType = MessageType(0);
/// To every server: how many passes it makes from now on; 0 is the end.
const PASSES: MessageType = MessageType(1);
/// A request to partition p has type `REQUEST + p`: a server of that partition receives it.
const REQUEST: u32 = 100;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
/// Document to how often each keyword is in it.
type Hits = BTreeMap<u32, Vec<u32>>;

fn request_type(partition: usize) -> MessageType {
    MessageType(REQUEST + partition as u32)
}

/// Documents of words `w0`, `w1`, ..., the first ones more often.
fn text_of(partition: usize) -> Vec<String> {
    let mut random = Random::new(partition as u64);
    let mut word =
        || format!("w{}", (1000.0 * (random.below(1 << 20) as f64 / f64::from(1 << 20)).powi(3)) as u32);
    (0..DOCUMENTS).map(|_| (0..WORDS).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

fn search(documents: &[String], partition: usize, keywords: &[&str]) -> Hits {
    let count = |text: &str, word: &str| text.split(' ').filter(|token| *token == word).count() as u32;
    let of_document = |(number, text): (usize, &String)| {
        let counts: Vec<u32> = keywords.iter().map(|word| count(text, word)).collect();
        let id = (partition * DOCUMENTS + number) as u32;
        counts.iter().any(|count| *count > 0).then_some((id, counts))
    };
    documents.iter().enumerate().filter_map(of_document).collect()
}

/// The best documents by the sum over keywords of term frequency times the logarithm of inverse document frequency.
fn rank(hits: &BTreeMap<u32, Hits>) -> Vec<u32> {
    let all: Vec<(&u32, &Vec<u32>)> = hits.values().flatten().collect();
    let keywords = all.first().map_or(0, |(_, counts)| counts.len());
    let frequency = |keyword: usize| all.iter().filter(|(_, counts)| counts[keyword] > 0).count().max(1);
    let weights: Vec<f64> = (0..keywords)
        .map(|keyword| ((PARTITIONS * DOCUMENTS) as f64 / frequency(keyword) as f64).ln())
        .collect();
    let score = |counts: &[u32]| counts.iter().zip(&weights).map(|(c, w)| f64::from(*c) * w).sum::<f64>();
    let mut ranked: Vec<(f64, u32)> = all.iter().map(|(id, counts)| (score(counts), **id)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().take(20).map(|(_, id)| id).collect()
}

fn serve(address: &str, number: usize, pass: Duration) -> Outcome<()> {
    let bus = RemoteBus::new(address)?;
    let me = bus.connect()?;
    let mut partitions = BTreeMap::new();
    for partition in (0..PARTITIONS).filter(|p| PAIRS[p % PAIRS.len()].contains(&number)) {
        partitions.insert(partition, text_of(partition));
        bus.register(me, Role::Receiver, request_type(partition))?;
    }
    bus.register(me, Role::Sender, REPLY)?;
    bus.register(me, Role::Receiver, PASSES)?;
    let hello = Message::new(REPLY, &[number as u8]);
    bus.send(me, Address::Any, &[hello], &SendOptions::default())?;
    let mut passes = 1;
    loop {
        let mut batch = Vec::new();
        bus.receive(me, &ReceiveOptions::batch(1).waiting(Wait::Forever), &mut batch)?;
        let request = &batch[0];
        if request.kind == PASSES {
            passes =
                u32::from(request.body[0]) * if number == STRAGGLER { u32::from(request.body[1]) } else { 1 };
            bus.delete(me, &receipts(&batch))?;
            if passes == 0 {
                bus.disconnect(me, bus::Disconnect::Always)?;
                return Ok(());
            }
            continue;
        }
        if let Some(token) = request.token() {
            // Its own copy stays until the work is done, in case this process is not there then.
            bus.cancel(me, &[token], Scope::Elsewhere)?;
        }
        let partition = (request.kind.0 - REQUEST) as usize;
        let text = std::str::from_utf8(&request.body)?;
        let keywords: Vec<&str> = text.split(' ').collect();
        let mut hits = Hits::new();
        for _ in 0..passes {
            let began = Instant::now();
            hits = search(&partitions[&partition], partition, &keywords);
            std::thread::sleep(pass.saturating_sub(began.elapsed()));
        }
        let reply = serde_json::to_vec(&json!({ "partition": partition, "hits": hits }))?;
        bus.send(
            me,
            Address::Clients(&[request.sender]),
            &[Message::new(REPLY, reply)],
            &SendOptions::default(),
        )?;
        bus.delete(me, &receipts(&batch))?;
    }
}

/// The seconds until every partition has answered, and the ranking. Untied requests go to the one and the other server of
/// a pair in turn, so that each server has a quarter of them.
fn ask(
    bus: &dyn Bus,
    me: ClientId,
    servers: &[ClientId],
    keywords: &str,
    tied: bool,
) -> Outcome<(f64, Vec<u32>)> {
    let began = Instant::now();
    let options = SendOptions { broadcast: tied, cancellable: tied, ..SendOptions::default() };
    let mut tokens = Vec::new();
    for partition in 0..PARTITIONS {
        let message = [Message::new(request_type(partition), keywords)];
        let pair = PAIRS[partition % PAIRS.len()].map(|server| servers[server]);
        let one = [pair[partition / PAIRS.len() % 2]];
        let to = if tied { &pair[..] } else { &one[..] };
        tokens.extend(bus.send(me, Address::Clients(to), &message, &options)?.tokens);
    }
    let mut hits: BTreeMap<u32, Hits> = BTreeMap::new();
    while hits.len() < PARTITIONS {
        let mut batch: Vec<Received> = Vec::new();
        bus.receive(me, &ReceiveOptions::batch(64).waiting(Wait::Forever), &mut batch)?;
        for reply in &batch {
            let reply: serde_json::Value = serde_json::from_slice(&reply.body)?;
            let partition = reply["partition"].as_u64().ok_or("a reply without its partition")? as u32;
            // Both servers may have begun a tied request at the same moment: the second answer says the same.
            hits.insert(partition, serde_json::from_value(reply["hits"].clone())?);
        }
        bus.delete(me, &receipts(&batch))?;
    }
    let seconds = began.elapsed().as_secs_f64();
    bus.cancel(me, &tokens, Scope::Everywhere)?;
    Ok((seconds, rank(&hits)))
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| arguments.iter().skip_while(|given| *given != name).nth(1);
    let pass_ms: u64 = option("--pass-ms").map_or(Ok(10), |text| text.parse())?;
    let pass = Duration::from_millis(pass_ms);
    if let Some(address) = option("--serve") {
        return serve(address, option("--number").ok_or("--number is missing")?.parse()?, pass);
    }
    let rounds: usize = option("--rounds").map_or(Ok(5), |text| text.parse())?;
    let bus = BusOptions::default().in_memory();
    let server = Server::start(bus.clone(), "127.0.0.1:0".parse()?)?;
    let me = bus.connect()?;
    bus.register(me, Role::Receiver, REPLY)?;
    bus.register(me, Role::Sender, PASSES)?;
    (0..PARTITIONS).try_for_each(|partition| bus.register(me, Role::Sender, request_type(partition)))?;
    let mut servers: Vec<Child> = (0..SERVERS)
        .map(|number| {
            Command::new(std::env::current_exe()?)
                .args(["--serve", &server.address().to_string(), "--number", &number.to_string()])
                .args(["--pass-ms", &pass_ms.to_string()])
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    let urgent = SendOptions { broadcast: true, priority: Priority::MAX, ..SendOptions::default() };
    let set = |passes: u8, straggler: u8| {
        bus.send(me, Address::Any, &[Message::new(PASSES, &[passes, straggler])], &urgent)
    };
    let mut known = BTreeMap::new();
    while known.len() < SERVERS {
        let mut hellos = Vec::new();
        bus.receive(me, &ReceiveOptions::batch(1).waiting(Wait::Forever).deleting(), &mut hellos)?;
        known.insert(hellos[0].body[0], hellos[0].sender);
    }
    let ids: Vec<ClientId> = known.into_values().collect();
    let modes = [
        ("all servers well", 1, false),
        ("a straggler", STRAGGLER_PASSES, false),
        ("a straggler, tied", STRAGGLER_PASSES, true),
    ];
    let (mut figures, mut answers) = (Vec::new(), Vec::new());
    for (what, passes, tied) in modes {
        set(1, passes as u8)?;
        let mut times = Vec::new();
        for round in 0..rounds {
            let (seconds, ranking) = ask(&*bus, me, &ids, &format!("w{round} w7 w400"), tied)?;
            times.push(seconds);
            answers.push((round, ranking));
        }
        let seconds = median(times);
        println!("{what:20} {seconds:.3} s");
        figures.push(json!({ "mode": what, "seconds": (seconds * 1000.0).round() / 1000.0 }));
    }
    set(0, 0)?;
    for server in &mut servers {
        server.wait()?;
    }
    let first: BTreeMap<usize, &Vec<u32>> =
        answers.iter().rev().map(|(round, ranking)| (*round, ranking)).collect();
    if answers.iter().any(|(round, ranking)| first[round] != ranking || ranking.is_empty()) {
        return Err("the modes rank documents differently".into());
    }
    let work = "distributed search: 44 partitions on 4 servers, each twice; medians";
    recording::record(work, json!({ "pass_ms": pass_ms, "rounds": rounds, "modes": figures }))?;
    Ok(())
}
