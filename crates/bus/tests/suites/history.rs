//! Random histories: every call's result, on every combination of tiers, against the reference; with restarts, and with
//! crashes after which a synchronous bus has everything, and an asynchronous one everything up to some call.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bus::{
    Address, Bus, CancelToken, ClientId, Disconnect, Message, MessageType, Priority, Receipt, ReceiveOptions,
    Role, Scope, SendOptions, Timestamp,
};
use files::Loss;
use random::Random;
use types::{Result, SqlState};

use crate::reference::{Copy, Reference, Refused};
use crate::tiers::{Place, Tier};

/// States kept for an asynchronous crash; it is flushed before there are more.
const STATES_MAX: usize = 40;

struct History {
    place: Place,
    random: Random,
    reference: Reference,
    /// The reference after each call since the last flush.
    before: VecDeque<Reference>,
    now: u64,
    known: Vec<ClientId>,
    receipts: Vec<Receipt>,
    tokens: Vec<CancelToken>,
    crashes: usize,
    lost: usize,
}

fn state<T>(result: Result<T>) -> Refused<T> {
    result.map_err(|error| error.state())
}

/// The whole of a bus, as its clients see it.
fn seen(bus: &dyn Bus, clients: &[ClientId]) -> Vec<(ClientId, Refused<Vec<Copy>>)> {
    let copies = |id| {
        let mut into = Vec::new();
        state(bus.receive(id, &ReceiveOptions::batch(100_000), &mut into))?;
        Ok(into.into_iter().map(|m| (m.receipt, m.sender, m.kind, m.body.to_vec())).collect())
    };
    clients.iter().map(|id| (*id, copies(*id))).collect()
}

fn expected(reference: &mut Reference, clients: &[ClientId]) -> Vec<(ClientId, Refused<Vec<Copy>>)> {
    clients.iter().map(|id| (*id, reference.queue(*id).map(<[Copy]>::to_vec))).collect()
}

impl History {
    fn new(tier: Tier, seed: u64) -> History {
        History {
            place: Place::new(tier, seed),
            random: Random::new(seed),
            reference: Reference::default(),
            before: VecDeque::from([Reference::default()]),
            now: 1_000,
            known: vec![ClientId(999)],
            receipts: Vec::new(),
            tokens: Vec::new(),
            crashes: 0,
            lost: 0,
        }
    }

    fn pick<T: Clone>(random: &mut Random, from: &[T]) -> Option<T> {
        from.get(random.below(from.len() as u64) as usize).cloned()
    }

    fn some_client(&mut self) -> ClientId {
        // Mostly the latest, so that calls meet.
        let from = self.known.len().saturating_sub(6);
        let all = if self.random.below(12) == 0 { &self.known[..] } else { &self.known[from..] };
        Self::pick(&mut self.random, all).unwrap()
    }

    fn step(&mut self) {
        let bus = self.place.bus();
        let client = self.some_client();
        match self.random.below(40) {
            0..3 => {
                let id = bus.connect().unwrap();
                assert!(!self.reference.clients.contains_key(&id));
                self.reference.clients.insert(id, Default::default());
                self.known.retain(|known| *known != id);
                self.known.push(id);
                if self.random.below(3) > 0 {
                    for role in [Role::Sender, Role::Receiver] {
                        bus.register(id, role, MessageType(1)).unwrap();
                        self.keep();
                        self.reference.register(id, role, MessageType(1)).unwrap();
                    }
                }
            }
            3 => {
                let how = [Disconnect::Always, Disconnect::IfEmpty, Disconnect::IfEmpty]
                    [self.random.below(3) as usize];
                assert_eq!(state(bus.disconnect(client, how)), self.reference.disconnect(client, how));
            }
            4..7 => {
                let role = [Role::Sender, Role::Receiver][self.random.below(2) as usize];
                let kind = MessageType(self.random.below(3) as u32);
                assert_eq!(
                    state(bus.register(client, role, kind)),
                    self.reference.register(client, role, kind)
                );
            }
            7..20 => self.send(&*bus, client),
            20..27 => {
                let delete = self.random.below(3) == 0;
                let (limit, minimum) =
                    (self.random.below(6) as usize, Priority(self.random.below(3) as u8 * 100));
                let mut options = ReceiveOptions::batch(limit).at_least(minimum);
                options.delete = delete;
                let mut into = Vec::new();
                let got = state(bus.receive(client, &options, &mut into).map(|_| {
                    into.iter().map(|m| (m.receipt, m.sender, m.kind, m.body.to_vec())).collect::<Vec<Copy>>()
                }));
                assert_eq!(got, self.reference.receive(client, limit, minimum, delete));
                self.tokens.extend(into.iter().filter_map(|m| m.token()));
            }
            27..31 => {
                let count = self.random.below(4);
                let mut receipts: Vec<Receipt> =
                    (0..count).filter_map(|_| Self::pick(&mut self.random, &self.receipts)).collect();
                if let Ok(queue) = self.reference.queue(client) {
                    receipts.extend(
                        queue.iter().take(self.random.below(3) as usize).map(|(receipt, ..)| *receipt),
                    );
                }
                receipts.sort();
                receipts.dedup();
                assert_eq!(state(bus.delete(client, &receipts)), self.reference.delete(client, &receipts));
            }
            31..33 => {
                let token = Self::pick(&mut self.random, &self.tokens);
                let scope = [Scope::Everywhere, Scope::Elsewhere][self.random.below(2) as usize];
                let tokens: Vec<CancelToken> = token.into_iter().collect();
                let client = match tokens.first() {
                    Some(token) if self.random.below(3) > 0 => token.sender,
                    _ => client,
                };
                let expected = self.reference.cancel(client, &tokens, scope);
                assert_eq!(state(bus.cancel(client, &tokens, scope)), expected);
            }
            33 => {
                let by = self.random.below(40);
                self.now += by;
                self.place.clock.advance(Duration::from_micros(by));
                self.reference.drop_expired(Timestamp(self.now));
                self.before.iter_mut().for_each(|state| state.drop_expired(Timestamp(self.now)));
            }
            34..36 => {
                let expected = self.reference.queue(client).map(<[Copy]>::len);
                assert_eq!(state(bus.pending(client)), expected);
            }
            36 => {
                bus.flush().unwrap();
                self.before.clear();
            }
            _ => {
                drop(bus);
                self.restart();
            }
        }
        self.keep();
    }

    fn keep(&mut self) {
        if self.place.tier.is_durable() && !self.place.tier.is_synchronous() {
            self.before.push_back(self.reference.clone());
            if self.before.len() > STATES_MAX {
                self.place.bus().flush().unwrap();
                self.before.drain(..STATES_MAX);
            }
        }
    }

    fn send(&mut self, bus: &dyn Bus, sender: ClientId) {
        let random = &mut self.random;
        let kind = |random: &mut Random| MessageType([1, 1, 1, 0, 2][random.below(5) as usize]);
        let messages: Vec<Message> = (0..[1, 1, 1, 2, 5, 0][random.below(6) as usize])
            .map(|_| Message::new(kind(random), vec![random.bits() as u8; random.below(60) as usize]))
            .collect();
        let listed: Vec<ClientId> =
            (0..random.below(4)).filter_map(|_| Self::pick(random, &self.known)).collect();
        let address = if random.below(2) == 0 { Address::Any } else { Address::Clients(&listed) };
        let options = SendOptions {
            priority: Priority([128, 128, 0, 200][random.below(4) as usize]),
            deadline: (random.below(3) == 0).then(|| Timestamp(self.now + random.below(100))),
            broadcast: random.below(2) == 0,
            cancellable: random.below(3) == 0,
        };
        let expected = self.reference.recipients(sender, address, &messages);
        let pending = |id: &ClientId| (*id, bus.pending(*id).unwrap());
        let before: Vec<(ClientId, usize)> = expected.iter().flatten().map(pending).collect();
        let sent = state(bus.send(sender, address, &messages, &options));
        let (mut to, sent) = match (expected, sent) {
            (Ok(to), Ok(sent)) => (to, sent),
            (expected, sent) => return assert_eq!(sent.err(), expected.err()),
        };
        if !options.broadcast {
            // Which one it is, is the bus's choice; a message that was never alive shows it to no client.
            let expired = options.deadline.is_some_and(|deadline| deadline.0 <= self.now);
            let grown = before.iter().filter(|(id, length)| bus.pending(*id).unwrap() > *length);
            to = grown.map(|(id, _)| *id).collect();
            assert_eq!(to.len(), usize::from(!expired));
        }
        assert!(sent.recipients == to.len() || to.is_empty());
        assert_eq!(sent.tokens.len(), if options.cancellable { messages.len() } else { 0 });
        self.reference.push(sender, &to, &messages, sent.serial, &options);
        self.reference.drop_expired(Timestamp(self.now));
        self.receipts.extend((sent.serial..).take(messages.len()).map(|serial| Receipt {
            serial,
            priority: options.priority,
            deadline: options.deadline.unwrap_or(Timestamp::NEVER),
        }));
        self.tokens.extend(sent.tokens);
        let old = self.receipts.len().saturating_sub(30);
        self.receipts.drain(..old);
        let old = self.tokens.len().saturating_sub(10);
        self.tokens.drain(..old);
    }

    fn restart(&mut self) {
        if !self.place.tier.is_durable() {
            return;
        }
        if self.random.below(3) == 0 {
            self.place.reopen();
            self.before.clear();
        } else {
            let power = self.random.below(2) == 0;
            self.place.crash(if power { Loss::Power } else { Loss::Process });
            self.crashes += 1;
        }
        let found = seen(&*self.place.bus(), &self.known);
        if self.before.is_empty() || self.place.tier.is_synchronous() {
            assert_eq!(found, expected(&mut self.reference, &self.known));
        } else {
            let known = &self.known;
            let kept = self.before.iter_mut().rposition(|state| expected(state, known) == found);
            let at = kept
                .unwrap_or_else(|| panic!("no prefix of the history: {found:?}\n{:?}", self.before.back()));
            self.lost += usize::from(at + 1 < self.before.len());
            self.reference = self.before[at].clone();
            // Nobody sees registrations: the latest state that fits may have some that are lost.
            for (id, client) in &self.reference.clients {
                for (role, kind) in &client.roles {
                    self.place.bus().register(*id, *role, *kind).unwrap();
                }
            }
        }
        // What did not come back belongs to no client; and lost numbers may be given again.
        let alive: BTreeSet<ClientId> = self.reference.clients.keys().copied().collect();
        self.known.retain(|id| alive.contains(id) || id.0 == 999);
        self.tokens.clear();
        self.receipts.clear();
        self.before.clear();
    }
}

fn run(tier: Tier, seed: u64, steps: usize) -> (usize, usize) {
    let mut history = History::new(tier, seed);
    for _ in 0..steps {
        history.step();
    }
    let known = history.known.clone();
    assert_eq!(seen(&*history.place.bus(), &known), expected(&mut history.reference, &known));
    (history.crashes, history.lost)
}

/// `BUS_SEEDS=10000` for more.
fn seeds(few: u64) -> u64 {
    let few = crate::many(few, 1);
    std::env::var("BUS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

#[test]
fn random_histories_are_those_of_the_reference() {
    let (mut crashes, mut lost) = (0, 0);
    for tier in Tier::all() {
        // A sync of the real disk, or a call over the network, costs as much as a hundred of the others.
        let slow = tier.remote || matches!(tier.storage, crate::tiers::Storage::Store);
        for seed in 0..seeds(if slow { 4 } else { 60 }) {
            println!("{tier:?} seed {seed}");
            let counts = run(tier, seed, if slow { 150 } else { crate::many(300, 60) as usize });
            (crashes, lost) = (crashes + counts.0, lost + counts.1);
        }
    }
    assert!(cfg!(miri) || crashes > 100 && lost > 10, "{crashes} crashes, {lost} of which lost something");
}

/// The checker finds a bus that loses, doubles or swaps a message.
#[test]
fn planted_faults_are_found() {
    let mut reference = Reference::default();
    let (a, b) = (ClientId(1), ClientId(2));
    reference.clients.insert(a, Default::default());
    reference.clients.insert(b, Default::default());
    let messages: Vec<Message> = (0..3u8).map(|i| Message::new(MessageType(1), &[i])).collect();
    reference.push(a, &[b], &messages, 10, &SendOptions::default());
    let whole = expected(&mut reference, &[a, b]);
    let with = |change: &dyn Fn(&mut Vec<Copy>)| {
        let mut other = whole.clone();
        change(other[1].1.as_mut().unwrap());
        assert_ne!(other, whole);
    };
    with(&|queue| drop(queue.remove(1)));
    with(&|queue| queue.push(queue[0].clone()));
    with(&|queue| queue.swap(0, 1));
    assert_eq!(reference.disconnect(b, Disconnect::IfEmpty), Err(SqlState::ObjectInUse));
}
