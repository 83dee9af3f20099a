//! The bus on the native log loses power while threads use it: what was acknowledged is there, whatever the moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bus::{
    Address, Bus, BusOptions, ClientId, Message, MessageType, ReceiveOptions, Role, SendOptions, Table,
    receipts,
};
use files::{Fault, FaultKind, FileManager, Loss, SimulatedFiles, read_all};
use random::Random;
use types::SqlState;

const KIND: MessageType = MessageType(1);

#[derive(Default)]
struct Ledger {
    /// Asked for, and acknowledged: sends and deletions of (sender, number).
    tried: BTreeSet<(u64, u64)>,
    sent: BTreeSet<(u64, u64)>,
    deleting: BTreeSet<(u64, u64)>,
    deleted: BTreeSet<(u64, u64)>,
}

fn label(body: &[u8]) -> (u64, u64) {
    (u64::from_le_bytes(body[..8].try_into().unwrap()), u64::from_le_bytes(body[8..].try_into().unwrap()))
}

fn options(table: Table) -> BusOptions {
    BusOptions { table, log_bytes_max: 3_000, ..BusOptions::default() }
}

/// Two senders, one receiver, until the power goes. The bus ends in its own time.
fn use_until_it_fails(
    bus: &dyn Bus,
    clients: &[ClientId; 3],
    numbers: &mut [u64; 2],
    ledger: &Mutex<Ledger>,
) {
    std::thread::scope(|scope| {
        for (sender, number) in clients[..2].iter().zip(numbers) {
            scope.spawn(move || {
                for _ in 0..400 {
                    *number += 1;
                    let label = (sender.0, *number);
                    ledger.lock().unwrap().tried.insert(label);
                    let body = [label.0.to_le_bytes(), label.1.to_le_bytes()].concat();
                    let message = [Message::new(KIND, body)];
                    if bus.send(*sender, Address::Any, &message, &SendOptions::default()).is_err() {
                        return;
                    }
                    ledger.lock().unwrap().sent.insert(label);
                }
            });
        }
        let receiver = clients[2];
        for _ in 0..150 {
            let mut batch = Vec::new();
            if bus.receive(receiver, &ReceiveOptions::batch(5), &mut batch).is_err() {
                return;
            }
            let labels: Vec<_> = batch.iter().map(|m| label(&m.body)).collect();
            {
                let mut ledger = ledger.lock().unwrap();
                assert!(labels.iter().all(|label| !ledger.deleted.contains(label)), "deleted, and back");
                ledger.deleting.extend(&labels);
            }
            if bus.delete(receiver, &receipts(&batch)).is_err() {
                return;
            }
            ledger.lock().unwrap().deleted.extend(labels);
        }
    });
}

fn check(bus: &dyn Bus, receiver: ClientId, ledger: &Ledger) -> Result<(), String> {
    let mut batch = Vec::new();
    bus.receive(receiver, &ReceiveOptions::batch(100_000), &mut batch).map_err(|e| e.to_string())?;
    let labels: Vec<(u64, u64)> = batch.iter().map(|m| label(&m.body)).collect();
    let there: BTreeSet<_> = labels.iter().copied().collect();
    if there.len() != labels.len() {
        return Err("doubled".into());
    }
    if let Some(label) = ledger.sent.iter().find(|l| !there.contains(l) && !ledger.deleting.contains(l)) {
        return Err(format!("{label:?} was acknowledged, and is lost"));
    }
    if let Some(label) = there.iter().find(|l| ledger.deleted.contains(l) || !ledger.tried.contains(l)) {
        return Err(format!("{label:?} was deleted, or never sent"));
    }
    let mut last = BTreeMap::new();
    for (sender, number) in labels {
        if last.insert(sender, number).is_some_and(|before| before >= number) {
            return Err(format!("{number} of {sender} is out of order"));
        }
    }
    Ok(())
}

fn run(seed: u64) -> (usize, u64) {
    let table = if seed.is_multiple_of(2) { Table::Locked } else { Table::Versioned };
    let mut random = Random::new(seed);
    let mut files = SimulatedFiles::new(seed);
    let opened = options(table).on_log(Arc::new(files.clone())).unwrap();
    let ids: Vec<ClientId> = (0..3).map(|_| opened.bus.connect().unwrap()).collect();
    let clients = [ids[0], ids[1], ids[2]];
    clients[..2].iter().for_each(|id| opened.bus.register(*id, Role::Sender, KIND).unwrap());
    opened.bus.register(clients[2], Role::Receiver, KIND).unwrap();
    drop(opened);
    let (ledger, mut numbers) = (Mutex::new(Ledger::default()), [0, 0]);
    let (mut torn, mut checked) = (0, 0);
    for _ in 0..4 {
        // The power may go while the bus is being opened, too.
        files.inject(Fault {
            operation: None,
            after: random.below(250),
            kind: FaultKind::PowerLoss,
            lasting: false,
        });
        if let Ok(opened) = options(table).on_log(Arc::new(files.clone())) {
            torn += usize::from(opened.torn_bytes > 0);
            check(&*opened.bus, clients[2], &ledger.lock().unwrap())
                .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            checked += 1;
            use_until_it_fails(&*opened.bus, &clients, &mut numbers, &ledger);
        }
        files = files.restart(Loss::Power);
    }
    let opened = options(table).on_log(Arc::new(files)).unwrap();
    check(&*opened.bus, clients[2], &ledger.lock().unwrap()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    (torn, checked + 1)
}

#[test]
fn what_was_acknowledged_survives_a_loss_of_power() {
    let seeds = std::env::var("BUS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    let (mut torn, mut checked) = (0, 0);
    for seed in 0..seeds {
        let counts = run(seed);
        (torn, checked) = (torn + counts.0, checked + counts.1);
    }
    println!("{checked} openings checked, {torn} with a torn tail");
    assert!(torn > 0 && checked > seeds);
}

/// The checker finds a bus that lost, kept or swapped what it should not have.
#[test]
fn planted_faults_are_found() {
    let bus = BusOptions::default().in_memory();
    let ids = [bus.connect().unwrap(), bus.connect().unwrap()];
    bus.register(ids[0], Role::Sender, KIND).unwrap();
    bus.register(ids[1], Role::Receiver, KIND).unwrap();
    let send = |number: u64| {
        let body = [ids[0].0.to_le_bytes(), number.to_le_bytes()].concat();
        bus.send(ids[0], Address::Any, &[Message::new(KIND, body)], &SendOptions::default()).unwrap();
    };
    send(1);
    send(2);
    let labels = BTreeSet::from([(ids[0].0, 1), (ids[0].0, 2)]);
    let right = || Ledger { tried: labels.clone(), sent: labels.clone(), ..Ledger::default() };
    let receiver = ids[1];
    assert_eq!(check(&*bus, receiver, &right()), Ok(()));
    let mut lost = right();
    lost.sent.insert((ids[0].0, 3));
    assert!(check(&*bus, receiver, &lost).unwrap_err().contains("lost"));
    let mut kept = right();
    kept.deleted.insert((ids[0].0, 2));
    assert!(check(&*bus, receiver, &kept).unwrap_err().contains("deleted"));
    let mut never = right();
    never.tried.clear();
    assert!(check(&*bus, receiver, &never).unwrap_err().contains("never"));
    send(1);
    assert!(check(&*bus, receiver, &right()).unwrap_err().contains("doubled"));
}

/// A disk that does not sync loses what was acknowledged, and the checker says so.
#[test]
fn a_disk_without_syncs_is_found_out() {
    let found = (0..40).any(|seed| {
        let files = SimulatedFiles::new(seed);
        let slow = BusOptions {
            durability: bus::Durability::Asynchronous { at_most: std::time::Duration::from_secs(3600) },
            ..options(Table::Locked)
        };
        let bus = slow.on_log(Arc::new(files.clone())).unwrap().bus;
        let ids = [bus.connect().unwrap(), bus.connect().unwrap()];
        bus.register(ids[0], Role::Sender, KIND).unwrap();
        bus.register(ids[1], Role::Receiver, KIND).unwrap();
        bus.flush().unwrap();
        let mut ledger = Ledger::default();
        for number in 0..20u64 {
            let body = [ids[0].0.to_le_bytes(), number.to_le_bytes()].concat();
            bus.send(ids[0], Address::Any, &[Message::new(KIND, body)], &SendOptions::default()).unwrap();
            ledger.tried.insert((ids[0].0, number));
            ledger.sent.insert((ids[0].0, number));
        }
        let files = files.restart(Loss::Power);
        let bus = options(Table::Locked).on_log(Arc::new(files)).unwrap().bus;
        check(&*bus, ids[1], &ledger).is_err()
    });
    assert!(found);
}

#[test]
fn a_full_disk_refuses_a_send_and_nothing_else() {
    let files = SimulatedFiles::new(1);
    let bus = options(Table::Versioned).on_log(Arc::new(files.clone())).unwrap().bus;
    let id = crate::conformance_client(&*bus, KIND);
    let message = [Message::new(KIND, "x")];
    let full =
        |operation| Fault { operation: Some(operation), after: 0, kind: FaultKind::DiskFull, lasting: false };
    files.inject(full(files::Operation::Write));
    let error = bus.send(id, Address::Any, &message, &SendOptions::default()).unwrap_err();
    assert_eq!((error.state(), bus.pending(id).unwrap()), (SqlState::DiskFull, 0));
    bus.disconnect(bus.connect().unwrap(), bus::Disconnect::IfEmpty).unwrap();
    bus.send(id, Address::Any, &message, &SendOptions::default()).unwrap();
    files.inject(full(files::Operation::Write));
    let mut taken = Vec::new();
    assert!(bus.receive(id, &ReceiveOptions::batch(1).deleting(), &mut taken).is_err());
    assert!(taken.is_empty());
    assert_eq!(bus.pending(id).unwrap(), 1, "taken out, and put back");
}

/// Files changed at random: a bus that opens, or an error that names a file; never a panic.
#[test]
fn damaged_files_are_refused_or_cut() {
    let files = SimulatedFiles::new(9);
    let whole = BusOptions { log_bytes_max: 2_000, ..BusOptions::default() };
    let bus = whole.on_log(Arc::new(files.clone())).unwrap().bus;
    let id = crate::conformance_client(&*bus, KIND);
    for _ in 0..30 {
        bus.send(id, Address::Any, &[Message::new(KIND, vec![7; 90])], &SendOptions::default()).unwrap();
    }
    drop(bus);
    let names: Vec<String> = files.list("").unwrap().into_iter().map(|file| file.name).collect();
    assert!(
        names.iter().any(|name| name.starts_with("bus-snapshot-") && name != "bus-snapshot-1"),
        "{names:?}"
    );
    let contents: Vec<(String, Vec<u8>)> =
        names.into_iter().map(|name| (name.clone(), read_all(&files, &name).unwrap())).collect();
    let mut random = Random::new(2);
    let (mut opened, mut refused) = (0, 0);
    for _ in 0..1500 {
        let damaged = SimulatedFiles::new(1);
        let which = random.below(contents.len() as u64) as usize;
        for (position, (name, bytes)) in contents.iter().enumerate() {
            let mut bytes = bytes.clone();
            if position == which && !bytes.is_empty() {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(4) {
                    0 => bytes[at] ^= 1 << random.below(8),
                    1 => bytes.truncate(at),
                    2 => bytes.splice(at..at, [random.bits() as u8; 8]).for_each(drop),
                    _ => {
                        let end = (at + random.below(64) as usize).min(bytes.len());
                        bytes[at..end].fill(random.bits() as u8);
                    }
                }
            }
            damaged.set_contents(name, bytes);
        }
        match whole.on_log(Arc::new(damaged)) {
            Ok(found) => {
                found.bus.connect().unwrap();
                opened += 1;
            }
            Err(error) => {
                assert!(
                    matches!(error.state(), SqlState::DataCorrupted | SqlState::FeatureNotSupported),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(opened > 0 && refused > 0, "{opened} {refused}");
}

#[test]
fn one_process_at_a_time() {
    let files: Arc<dyn FileManager> = Arc::new(SimulatedFiles::new(1));
    let first = BusOptions::default().on_log(files.clone()).unwrap();
    assert_eq!(BusOptions::default().on_log(files.clone()).unwrap_err().state(), SqlState::LockNotAvailable);
    drop(first);
    BusOptions::default().on_log(files).unwrap();
}
