//! The stress test of Chasseur (2015), section 4.5: senders send as fast as they can, each message to a receiver picked
//! at random; receivers receive in batches, and delete. Counted are messages received per second, over table variants,
//! storages, the network, and numbers of senders. Nothing may be lost, doubled or out of order.
//!
//! `cargo run --release -p bus --example throughput -- [--seconds 0.5] [--only memory|durable|network]
//! [--record bench/results/bus.jsonl]`

mod recording;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bus::service::{RemoteBus, Server};
use bus::{
    Address, Bus, BusOptions, ClientId, Durability, Message, MessageType, ReceiveOptions, Role, SendOptions,
    Table, Wait, receipts,
};
use files::LocalFiles;
use random::Random;
use serde_json::{Value, json};

const KIND: MessageType = MessageType(0);
/// Messages in a receive, and in a send that has several.
const BATCH: usize = 64;
/// A sender further ahead of all receivers together waits, so that memory does not fill.
const AHEAD_MAX: u64 = 1 << 20;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A sender's number above, and the message's below.
fn body(sender: usize, number: u64) -> Message {
    Message::new(KIND, &((sender as u64) << 48 | number).to_le_bytes())
}

struct Load {
    senders: usize,
    receivers: usize,
    send_batch: usize,
    seconds: f64,
}

/// Messages per second.
fn measure(bus: &dyn Bus, load: &Load) -> Outcome<f64> {
    let connect = |role| {
        let id = bus.connect()?;
        bus.register(id, role, KIND)?;
        types::Result::Ok(id)
    };
    let from: Vec<ClientId> = (0..load.senders).map(|_| connect(Role::Sender)).collect::<Result<_, _>>()?;
    let to: Vec<ClientId> = (0..load.receivers).map(|_| connect(Role::Receiver)).collect::<Result<_, _>>()?;
    let (sent, received, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let done = AtomicBool::new(false);
    let began = Instant::now();
    let ended = std::thread::scope(|scope| -> Outcome<Instant> {
        let (sent, received, stop, done, to) = (&sent, &received, &stop, &done, &to);
        let receiving: Vec<_> = to
            .iter()
            .map(|id| {
                scope.spawn(move || -> Outcome<()> {
                    let mut last = vec![0; load.senders];
                    let how = ReceiveOptions::batch(BATCH).waiting(Wait::AtMost(Duration::from_millis(5)));
                    let mut batch = Vec::new();
                    loop {
                        batch.clear();
                        let over = done.load(Relaxed);
                        if bus.receive(*id, &how, &mut batch)? == 0 {
                            if over {
                                return Ok(());
                            }
                            continue;
                        }
                        if bus.delete(*id, &receipts(&batch))? != batch.len() {
                            return Err("a message was there, and not to be deleted".into());
                        }
                        for message in &batch {
                            let label = u64::from_le_bytes(message.body.as_slice().try_into()?);
                            let (sender, number) = ((label >> 48) as usize, label & ((1 << 48) - 1));
                            if number <= last[sender] {
                                return Err(
                                    format!("{number} of sender {sender} after {}", last[sender]).into()
                                );
                            }
                            last[sender] = number;
                        }
                        received.fetch_add(batch.len() as u64, Relaxed);
                    }
                })
            })
            .collect();
        let sending: Vec<_> = from
            .iter()
            .enumerate()
            .map(|(sender, id)| {
                scope.spawn(move || -> Outcome<()> {
                    let (mut random, mut number) = (Random::new(sender as u64), 0);
                    let (options, mut messages) =
                        (SendOptions::default(), Vec::with_capacity(load.send_batch));
                    while !stop.load(Relaxed) {
                        messages.clear();
                        messages.extend((0..load.send_batch as u64).map(|i| body(sender, number + i + 1)));
                        number += load.send_batch as u64;
                        let one = to[random.below(to.len() as u64) as usize];
                        bus.send(*id, Address::Clients(&[one]), &messages, &options)?;
                        let all = sent.fetch_add(load.send_batch as u64, Relaxed);
                        while all.saturating_sub(received.load(Relaxed)) > AHEAD_MAX && !stop.load(Relaxed) {
                            std::thread::yield_now();
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(load.seconds));
        stop.store(true, Relaxed);
        let failed: Vec<_> = sending.into_iter().filter_map(|thread| thread.join().ok()?.err()).collect();
        while received.load(Relaxed) < sent.load(Relaxed)
            && failed.is_empty()
            && !receiving.iter().any(std::thread::ScopedJoinHandle::is_finished)
        {
            std::thread::yield_now();
        }
        let ended = Instant::now();
        done.store(true, Relaxed);
        for thread in receiving {
            thread.join().map_err(|_| "a receiver panicked")??;
        }
        failed.into_iter().next().map_or(Ok(ended), Err)
    })?;
    let (sent, received) = (sent.into_inner(), received.into_inner());
    if sent != received {
        return Err(format!("{sent} messages sent, {received} received").into());
    }
    Ok(received as f64 / (ended - began).as_secs_f64())
}

fn name(table: Table) -> &'static str {
    match table {
        Table::Locked => "locks",
        Table::Versioned => "versions",
    }
}

type Section = fn(&mut Run) -> Outcome<()>;

struct Run {
    seconds: f64,
    figures: Vec<Value>,
}

impl Run {
    fn add(
        &mut self,
        what: &str,
        bus: &dyn Bus,
        senders: usize,
        receivers: usize,
        send_batch: usize,
    ) -> Outcome<()> {
        let load = Load { senders, receivers, send_batch, seconds: self.seconds };
        let rate = measure(bus, &load)?;
        println!(
            "{what:34} {senders:3} senders {receivers} receivers {send_batch:3} a send {rate:12.0} messages/s"
        );
        self.figures.push(json!({
            "bus": what, "senders": senders, "receivers": receivers, "send_batch": send_batch,
            "messages_per_s": rate.round(),
        }));
        Ok(())
    }
}

fn memory(run: &mut Run) -> Outcome<()> {
    for table in [Table::Locked, Table::Versioned] {
        let bus = || BusOptions { table, ..BusOptions::default() }.in_memory();
        let what = format!("memory, {}", name(table));
        run.add(&what, &*bus(), 1, 1, 1)?;
        run.add(&what, &*bus(), 1, 1, BATCH)?;
        for senders in [1, 2, 4, 8, 16, 64, 160] {
            run.add(&what, &*bus(), senders, 2, 1)?;
        }
    }
    Ok(())
}

fn durable(run: &mut Run) -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("quickstep-bus-throughput-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for (mode, durability) in
        [("synchronous", Durability::Synchronous), ("asynchronous", Durability::asynchronous())]
    {
        for senders in [1, 4, 16, 64] {
            let options = BusOptions { durability, ..BusOptions::default() };
            let log = options.on_log(Arc::new(LocalFiles::create(
                &files::Capability::everything(),
                folder.join(format!("log-{mode}-{senders}")),
            )?))?;
            run.add(&format!("log, {mode}"), &*log.bus, senders, 2, 1)?;
            drop(log);
            let store = options.on_store(folder.join(format!("store-{mode}-{senders}")))?;
            run.add(&format!("redb, {mode}"), &*store.bus, senders, 2, 1)?;
        }
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn network(run: &mut Run) -> Outcome<()> {
    let server = Server::start(BusOptions::default().in_memory(), "127.0.0.1:0".parse()?)?;
    for senders in [1, 4, 16] {
        for send_batch in [1, BATCH] {
            let remote = RemoteBus::new(&server.address().to_string())?;
            run.add("memory, over gRPC", &remote, senders, 2, send_batch)?;
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let argument = |name: &str| std::env::args().skip_while(|given| given != name).nth(1);
    let seconds = argument("--seconds").map_or(Ok(0.5), |text| text.parse())?;
    let only = argument("--only");
    let mut run = Run { seconds, figures: Vec::new() };
    let sections: [(&str, Section); 3] = [("memory", memory), ("durable", durable), ("network", network)];
    for (name, section) in sections {
        if only.as_deref().is_none_or(|only| only == name) {
            section(&mut run)?;
        }
    }
    recording::record(
        "message bus throughput, 8-byte messages, receive in batches of 64 and delete",
        json!(run.figures),
    )?;
    Ok(())
}
