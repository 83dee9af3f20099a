//! Many threads at once: nothing is lost, doubled or out of order, on any combination of tiers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bus::{
    Address, Bus, ClientId, Message, MessageType, Priority, ReceiveOptions, Received, Role, Scope,
    SendOptions, Wait, receipts,
};
use random::Random;

use crate::tiers::{Place, Tier};

const KIND: MessageType = MessageType(1);

/// The sender, and which of its messages it is.
type Label = (u64, u64);

fn label(message: &Received) -> Label {
    let number = |at: usize| u64::from_le_bytes(message.body[at..at + 8].try_into().unwrap());
    (number(0), number(8))
}

fn message(sender: ClientId, number: u64) -> Message {
    Message::new(KIND, [sender.0.to_le_bytes(), number.to_le_bytes()].concat())
}

/// What one receiver saw, in order, checked as it comes.
#[derive(Default)]
pub struct Seen {
    labels: BTreeSet<Label>,
    /// The last number of a sender at a priority.
    last: BTreeMap<(u64, Priority), u64>,
}

impl Seen {
    /// The error says what is wrong.
    pub fn take(&mut self, label: Label, priority: Priority) -> Result<(), String> {
        if !self.labels.insert(label) {
            return Err(format!("{label:?} came twice"));
        }
        match self.last.insert((label.0, priority), label.1) {
            Some(before) if before >= label.1 => Err(format!("{label:?} came after {before}")),
            _ => Ok(()),
        }
    }
}

fn receive_all(bus: &dyn Bus, id: ClientId, seed: u64, senders: &AtomicUsize) -> Seen {
    let (mut seen, mut random) = (Seen::default(), Random::new(seed));
    loop {
        // Looked at before the queue: when no sender was left then, an empty queue stays empty.
        let over = senders.load(SeqCst) == 0;
        let mut options = ReceiveOptions::batch(1 + random.below(40) as usize)
            .waiting(Wait::AtMost(Duration::from_millis(2)));
        if random.below(4) == 0 {
            options = options.at_least(Priority(100));
        }
        options.delete = random.below(3) == 0;
        let mut batch = Vec::new();
        bus.receive(id, &options, &mut batch).unwrap();
        if over && batch.is_empty() && options.minimum_priority == Priority::MIN {
            return seen;
        }
        if !options.delete {
            // Some are left, and come again.
            batch.truncate(batch.len() - random.below(2).min(batch.len() as u64) as usize);
            assert_eq!(bus.delete(id, &receipts(&batch)).unwrap(), batch.len());
        }
        for message in &batch {
            seen.take(label(message), message.receipt.priority).unwrap();
        }
    }
}

fn run(tier: Tier, seed: u64, messages: u64) {
    let place = Place::new(tier, seed);
    let bus = &*place.bus();
    let clients: Vec<ClientId> = (0..4).map(|_| bus.connect().unwrap()).collect();
    let (from, to) = clients.split_at(2);
    from.iter().for_each(|id| bus.register(*id, Role::Sender, KIND).unwrap());
    to.iter().for_each(|id| bus.register(*id, Role::Receiver, KIND).unwrap());
    let senders = AtomicUsize::new(from.len());
    let (mut sent, mut seen) = (BTreeMap::<ClientId, BTreeSet<Label>>::new(), BTreeMap::new());
    let mut chosen = 0;
    let senders = &senders;
    std::thread::scope(|scope| {
        let receiving: Vec<_> = to
            .iter()
            .map(|id| (*id, scope.spawn(move || receive_all(bus, *id, seed ^ id.0, senders))))
            .collect();
        let sending: Vec<_> = from
            .iter()
            .map(|id| {
                scope.spawn(move || {
                    let (mut random, mut number) = (Random::new(seed * 77 + id.0), 0);
                    let mut sent: Vec<(Vec<ClientId>, Label)> = Vec::new();
                    while number < messages {
                        let batch: Vec<Message> = (0..[1, 1, 2, 9][random.below(4) as usize])
                            .map(|i| message(*id, number + i))
                            .collect();
                        let options = SendOptions {
                            priority: Priority([128, 128, 50][random.below(3) as usize]),
                            broadcast: random.below(3) > 0,
                            ..SendOptions::default()
                        };
                        let any = random.below(2) == 0;
                        let listed = [to[random.below(2) as usize]];
                        let address = if any { Address::Any } else { Address::Clients(&listed) };
                        bus.send(*id, address, &batch, &options).unwrap();
                        let recipients = match (any, options.broadcast) {
                            (true, true) => to.to_vec(),
                            // One of them: which, only the receivers know.
                            (true, false) => Vec::new(),
                            (false, _) => listed.to_vec(),
                        };
                        sent.extend((number..).take(batch.len()).map(|n| (recipients.clone(), (id.0, n))));
                        number += batch.len() as u64;
                    }
                    senders.fetch_sub(1, SeqCst);
                    sent
                })
            })
            .collect();
        for (recipients, label) in sending.into_iter().flat_map(|thread| thread.join().unwrap()) {
            chosen += usize::from(recipients.is_empty());
            recipients.iter().for_each(|id| assert!(sent.entry(*id).or_default().insert(label)));
        }
        for (id, thread) in receiving {
            seen.insert(id, thread.join().unwrap());
        }
    });
    let mut extra = BTreeSet::new();
    for id in to {
        let missing: Vec<_> = sent[id].difference(&seen[id].labels).collect();
        assert!(missing.is_empty(), "{tier:?}: lost {missing:?}");
        let more = seen[id].labels.difference(&sent[id]);
        more.for_each(|label| assert!(extra.insert(*label), "{tier:?}: two got {label:?}"));
        assert_eq!(bus.pending(*id).unwrap(), 0);
    }
    assert_eq!(extra.len(), chosen, "{tier:?}: sent to one of several");
}

#[test]
fn nothing_is_lost_doubled_or_out_of_order() {
    for tier in Tier::all() {
        let slow = tier.remote || matches!(tier.storage, crate::tiers::Storage::Store);
        for seed in 0..if slow { 2 } else { crate::many(8, 1) } {
            run(tier, seed, if slow { 100 } else { crate::many(1000, 20) });
        }
    }
}

/// What `Seen` is for.
#[test]
fn planted_faults_are_found() {
    let mut seen = Seen::default();
    let priority = Priority::default();
    seen.take((1, 5), priority).unwrap();
    seen.take((2, 1), priority).unwrap();
    seen.take((1, 3), Priority(9)).unwrap();
    assert!(seen.take((2, 1), priority).is_err(), "doubled");
    assert!(seen.take((1, 4), priority).is_err(), "out of order");
}

/// A tells C, then B; B, having heard, tells C. C hears A first.
#[test]
fn causes_come_before_effects() {
    for tier in Tier::all() {
        let place = Place::new(tier, 3);
        let bus = &*place.bus();
        let ids: Vec<ClientId> = (0..3).map(|_| crate::conformance_client(bus, KIND)).collect();
        let (a, b, c) = (ids[0], ids[1], ids[2]);
        let rounds = if tier.remote || !matches!(tier.storage, crate::tiers::Storage::None) {
            crate::many(30, 4)
        } else {
            crate::many(500, 8)
        };
        let wait = ReceiveOptions::batch(1).waiting(Wait::Forever).deleting();
        let how = SendOptions::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..rounds {
                    // Half of the time as one broadcast, which is seen everywhere at one moment.
                    let broadcast = SendOptions { broadcast: round % 2 == 0, ..how.clone() };
                    let to = if broadcast.broadcast { &[b, c][..] } else { &[c][..] };
                    bus.send(a, Address::Clients(to), &[message(a, round)], &broadcast).unwrap();
                    if !broadcast.broadcast {
                        bus.send(a, Address::Clients(&[b]), &[message(a, round)], &how).unwrap();
                    }
                }
            });
            scope.spawn(|| {
                for _ in 0..rounds {
                    let mut heard = Vec::new();
                    bus.receive(b, &wait, &mut heard).unwrap();
                    let number = label(&heard[0]).1;
                    bus.send(b, Address::Clients(&[c]), &[message(b, number)], &how).unwrap();
                }
            });
            let mut heard_of_a = 0;
            for _ in 0..2 * rounds {
                let mut heard = Vec::new();
                bus.receive(c, &wait, &mut heard).unwrap();
                let (sender, number) = label(&heard[0]);
                match sender == a.0 {
                    true => heard_of_a = number + 1,
                    false => assert!(number < heard_of_a, "{tier:?}: the effect came first"),
                }
            }
        });
    }
}

/// Two servers with the same work: each request is done at least once, and none is left.
#[test]
fn tied_requests_are_done_by_one_of_two() {
    for tier in Tier::all() {
        let place = Place::new(tier, 4);
        let bus = &*place.bus();
        let ids: Vec<ClientId> = (0..3).map(|_| crate::conformance_client(bus, KIND)).collect();
        let (from, to) = (ids[0], [ids[1], ids[2]]);
        let requests =
            if tier.remote || tier.is_durable() { crate::many(20, 4) } else { crate::many(300, 10) };
        let options = SendOptions { broadcast: true, cancellable: true, ..SendOptions::default() };
        for number in 0..requests {
            bus.send(from, Address::Clients(&to), &[message(from, number)], &options).unwrap();
        }
        let serve = |id: ClientId| {
            let mut done = Vec::new();
            loop {
                let mut batch = Vec::new();
                if bus.receive(id, &ReceiveOptions::batch(1), &mut batch).unwrap() == 0 {
                    return done;
                }
                bus.cancel(id, &[batch[0].token().unwrap()], Scope::Elsewhere).unwrap();
                done.push(label(&batch[0]).1);
                bus.delete(id, &receipts(&batch)).unwrap();
            }
        };
        let mut done = std::thread::scope(|scope| {
            let other = scope.spawn(|| serve(to[1]));
            let mut done = serve(to[0]);
            done.extend(other.join().unwrap());
            done
        });
        // Both may take one at the same moment; that much, and no more.
        done.sort_unstable();
        done.dedup();
        assert_eq!(done, (0..requests).collect::<Vec<_>>(), "{tier:?}");
    }
}
