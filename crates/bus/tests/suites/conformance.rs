//! What every bus does, one promise at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bus::{
    Address, Bus, ClientId, Disconnect, Message, MessageType, Priority, ReceiveOptions, Received, Role,
    Scope, SendOptions, Sent, Timestamp, Wait, receipts,
};
use types::SqlState;

use crate::tiers::{Place, Tier};

const KIND: MessageType = MessageType(7);

fn everywhere(check: impl Fn(&mut Place)) {
    for tier in Tier::all() {
        // The tier stands in front of what a failing check prints.
        println!("{tier:?}");
        check(&mut Place::new(tier, 1));
    }
}

pub fn client(bus: &dyn Bus) -> ClientId {
    let id = bus.connect().unwrap();
    bus.register(id, Role::Sender, KIND).unwrap();
    bus.register(id, Role::Receiver, KIND).unwrap();
    id
}

fn send_as(bus: &dyn Bus, from: ClientId, to: &[ClientId], text: &str, options: &SendOptions) -> Sent {
    bus.send(from, Address::Clients(to), &[Message::new(KIND, text)], options).unwrap()
}

fn send(bus: &dyn Bus, from: ClientId, to: ClientId, text: &str) -> Sent {
    send_as(bus, from, &[to], text, &SendOptions::default())
}

pub fn received(bus: &dyn Bus, id: ClientId, options: &ReceiveOptions) -> Vec<Received> {
    let mut into = Vec::new();
    let count = bus.receive(id, options, &mut into).unwrap();
    assert_eq!(count, into.len());
    into
}

fn all(bus: &dyn Bus, id: ClientId) -> Vec<Received> {
    received(bus, id, &ReceiveOptions::batch(1000))
}

fn texts(received: &[Received]) -> Vec<String> {
    received.iter().map(|m| String::from_utf8(m.body.to_vec()).unwrap()).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: types::Result<T>, state: SqlState) {
    assert_eq!(result.unwrap_err().state(), state);
}

#[test]
fn clients_are_known_until_they_disconnect() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b) = (client(&*bus), client(&*bus));
        assert_ne!(a, b);
        send(&*bus, a, b, "left");
        refused(bus.disconnect(b, Disconnect::IfEmpty), SqlState::ObjectInUse);
        assert_eq!(bus.pending(b).unwrap(), 1);
        bus.disconnect(b, Disconnect::Always).unwrap();
        let unknown = SqlState::UndefinedObject;
        refused(bus.disconnect(b, Disconnect::Always), unknown);
        refused(bus.pending(b), unknown);
        refused(bus.receive(b, &ReceiveOptions::batch(1), &mut Vec::new()), unknown);
        refused(bus.delete(b, &[]), unknown);
        refused(bus.cancel(b, &[], Scope::Everywhere), unknown);
        refused(bus.register(b, Role::Sender, KIND), unknown);
        let message = [Message::new(KIND, "x")];
        refused(bus.send(b, Address::Any, &message, &SendOptions::default()), unknown);
        refused(bus.send(a, Address::Clients(&[a, b]), &message, &SendOptions::default()), unknown);
        assert_eq!(bus.pending(a).unwrap(), 0, "a send that fails does nothing");
        let c = client(&*bus);
        assert!(c != a && c != b, "numbers are not given again");
        bus.disconnect(c, Disconnect::IfEmpty).unwrap();
        bus.flush().unwrap();
    });
}

#[test]
fn only_registered_types_pass() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b) = (client(&*bus), client(&*bus));
        let other = MessageType(8);
        let (message, options) = ([Message::new(other, "x")], SendOptions::default());
        refused(bus.send(a, Address::Clients(&[b]), &message, &options), SqlState::InsufficientPrivilege);
        bus.register(a, Role::Sender, other).unwrap();
        bus.register(a, Role::Sender, other).unwrap();
        let error = bus.send(a, Address::Clients(&[b]), &message, &options).unwrap_err();
        assert_eq!(error.state(), SqlState::InsufficientPrivilege);
        assert!(error.message().contains("not registered as a receiver of message type 8"), "{error}");
        assert!(error.hint().unwrap().contains("Role::Receiver"));
        refused(bus.send(a, Address::Any, &message, &options), SqlState::NoData);
        refused(bus.send(a, Address::Any, &[], &options), SqlState::InvalidParameterValue);
        refused(bus.send(a, Address::Clients(&[]), &message, &options), SqlState::InvalidParameterValue);
        let two = [Message::new(KIND, "1"), Message::new(other, "2")];
        refused(bus.send(a, Address::Any, &two, &options), SqlState::InvalidParameterValue);
        bus.register(b, Role::Receiver, other).unwrap();
        bus.send(a, Address::Clients(&[b]), &two, &options).unwrap();
        let got = all(&*bus, b);
        assert_eq!(texts(&got), ["1", "2"]);
        assert_eq!((got[0].kind, got[1].kind, got[0].sender), (KIND, other, a));
    });
}

#[test]
fn addresses_explicit_and_implicit_broadcast_or_not() {
    everywhere(|place| {
        let bus = place.bus();
        let clients: Vec<ClientId> = (0..3).map(|_| client(&*bus)).collect();
        let (one, all_of_them) =
            (SendOptions::default(), SendOptions { broadcast: true, ..SendOptions::default() });
        let pending = || clients.iter().map(|id| bus.pending(*id).unwrap()).collect::<Vec<_>>();
        let message = [Message::new(KIND, "x")];
        let a = clients[0];
        assert_eq!(bus.send(a, Address::Any, &message, &all_of_them).unwrap().recipients, 3);
        assert_eq!(pending(), [1, 1, 1]);
        let listed = [clients[2], clients[1], clients[2]];
        assert_eq!(bus.send(a, Address::Clients(&listed), &message, &all_of_them).unwrap().recipients, 2);
        assert_eq!(pending(), [1, 2, 2], "twice in the address is one copy");
        for _ in 0..6 {
            assert_eq!(bus.send(a, Address::Any, &message, &one).unwrap().recipients, 1);
        }
        assert_eq!(pending(), [3, 4, 4], "in turn");
        for _ in 0..4 {
            bus.send(a, Address::Clients(&clients[1..]), &message, &one).unwrap();
        }
        assert_eq!(pending(), [3, 6, 6]);
    });
}

#[test]
fn messages_stay_until_they_are_deleted() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b) = (client(&*bus), client(&*bus));
        (0..5).for_each(|i| drop(send(&*bus, a, b, &i.to_string())));
        let first = received(&*bus, b, &ReceiveOptions::batch(2));
        assert_eq!(texts(&first), ["0", "1"]);
        assert_eq!(received(&*bus, b, &ReceiveOptions::batch(2)), first, "again, until they are deleted");
        assert_eq!(bus.delete(b, &receipts(&first)).unwrap(), 2);
        assert_eq!(bus.delete(b, &receipts(&first)).unwrap(), 0);
        assert_eq!(bus.delete(a, &receipts(&all(&*bus, b))).unwrap(), 0, "receipts are for one's own queue");
        let middle = &all(&*bus, b)[1];
        bus.delete(b, &[middle.receipt]).unwrap();
        assert_eq!(texts(&received(&*bus, b, &ReceiveOptions::batch(1).deleting())), ["2"]);
        assert_eq!(texts(&all(&*bus, b)), ["4"]);
        assert_eq!(received(&*bus, b, &ReceiveOptions::batch(0)), []);
        assert_eq!(texts(&received(&*bus, b, &ReceiveOptions::batch(9).deleting())), ["4"]);
        assert_eq!(all(&*bus, b), []);
        assert!(bus.disconnect(b, Disconnect::IfEmpty).is_ok());
    });
}

#[test]
fn priority_then_deadline_then_send() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b) = (client(&*bus), client(&*bus));
        let options = |priority, deadline: Option<u64>| SendOptions {
            priority: Priority(priority),
            deadline: deadline.map(Timestamp),
            ..SendOptions::default()
        };
        for (text, priority, deadline) in [
            ("fifth", 128, None),
            ("sixth", 128, None),
            ("fourth", 128, Some(90_000)),
            ("seventh", 3, Some(10_000)),
            ("first", 200, Some(50_000)),
            ("third", 128, Some(30_000)),
            ("second", 200, None),
        ] {
            send_as(&*bus, a, &[b], text, &options(priority, deadline));
        }
        let order = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"];
        assert_eq!(texts(&all(&*bus, b)), order);
        let high = ReceiveOptions::batch(9).at_least(Priority(200));
        assert_eq!(texts(&received(&*bus, b, &high)), ["first", "second"]);
        assert_eq!(texts(&received(&*bus, b, &ReceiveOptions::batch(3))), order[..3]);
        place.clock.advance(Duration::from_micros(29_000));
        assert_eq!(texts(&all(&*bus, b)), ["first", "second", "fourth", "fifth", "sixth"], "at 30 000");
        assert_eq!(bus.pending(b).unwrap(), 5);
        place.clock.advance(Duration::from_secs(1));
        assert_eq!(texts(&all(&*bus, b)), ["second", "fifth", "sixth"]);
        send_as(&*bus, a, &[b], "late", &options(255, Some(5)));
        assert_eq!(bus.pending(b).unwrap(), 3, "never delivered");
    });
}

#[test]
fn tied_messages_can_be_taken_back() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b, c) = (client(&*bus), client(&*bus), client(&*bus));
        let stranger = client(&*bus);
        let tied = SendOptions { broadcast: true, cancellable: true, ..SendOptions::default() };
        let sent = send_as(&*bus, a, &[b, c], "request", &tied);
        assert_eq!(sent.tokens.len(), 1);
        assert_eq!(&sent.tokens[0].recipients[..], [b, c]);
        let copy = all(&*bus, b).remove(0);
        assert_eq!(copy.token().as_ref(), Some(&sent.tokens[0]));
        let token = [copy.token().unwrap()];
        refused(bus.cancel(stranger, &token, Scope::Everywhere), SqlState::InsufficientPrivilege);
        assert_eq!(bus.cancel(b, &token, Scope::Elsewhere).unwrap(), 1, "the copy of c");
        assert_eq!((bus.pending(b).unwrap(), bus.pending(c).unwrap()), (1, 0));
        assert_eq!(bus.cancel(b, &token, Scope::Elsewhere).unwrap(), 0, "again changes nothing");
        assert_eq!(bus.cancel(a, &sent.tokens, Scope::Everywhere).unwrap(), 1);
        assert_eq!(bus.pending(b).unwrap(), 0);
        let plain = send(&*bus, a, b, "plain");
        assert!(plain.tokens.is_empty() && all(&*bus, b)[0].token().is_none());
        bus.disconnect(c, Disconnect::Always).unwrap();
        assert_eq!(bus.cancel(a, &sent.tokens, Scope::Everywhere).unwrap(), 0);
    });
}

#[test]
fn a_waiting_receive_is_woken_by_what_it_waits_for() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b) = (client(&*bus), client(&*bus));
        let short = ReceiveOptions::batch(1).waiting(Wait::AtMost(Duration::from_millis(20)));
        let began = Instant::now();
        assert_eq!(received(&*bus, b, &short), []);
        assert!(began.elapsed() >= Duration::from_millis(20));
        let theirs = Arc::clone(&bus);
        let high = ReceiveOptions::batch(5).at_least(Priority(200)).waiting(Wait::Forever);
        let waiting = std::thread::spawn(move || received(&*theirs, b, &high));
        std::thread::sleep(Duration::from_millis(5));
        send(&*bus, a, b, "low");
        std::thread::sleep(Duration::from_millis(5));
        assert!(!waiting.is_finished());
        send_as(&*bus, a, &[b], "high", &SendOptions { priority: Priority(200), ..SendOptions::default() });
        assert_eq!(texts(&waiting.join().unwrap()), ["high"]);
        let theirs = Arc::clone(&bus);
        let forever = ReceiveOptions::batch(5).waiting(Wait::Forever);
        let waiting = std::thread::spawn(move || theirs.receive(a, &forever, &mut Vec::new()));
        std::thread::sleep(Duration::from_millis(5));
        bus.disconnect(a, Disconnect::Always).unwrap();
        refused(waiting.join().unwrap(), SqlState::UndefinedObject);
    });
}

#[test]
fn large_messages_and_batches_go_through() {
    everywhere(|place| {
        let bus = place.bus();
        let (a, b) = (client(&*bus), client(&*bus));
        let large: Vec<u8> = (0..crate::many(5 << 20, 5 << 8)).map(|i| ((i * 7) >> 3) as u8).collect();
        bus.send(a, Address::Clients(&[b]), &[Message::new(KIND, large.clone())], &SendOptions::default())
            .unwrap();
        let many: Vec<Message> = (0..500u32).map(|i| Message::new(KIND, &i.to_le_bytes())).collect();
        let sent = bus.send(a, Address::Clients(&[b]), &many, &SendOptions::default()).unwrap();
        let got = all(&*bus, b);
        assert_eq!(got[0].body.as_slice(), large);
        let numbers = got[1..].iter().map(|m| u32::from_le_bytes(m.body.as_slice().try_into().unwrap()));
        assert!(numbers.eq(0..500));
        assert_eq!(got[1].receipt.serial, sent.serial);
    });
}

#[test]
fn a_durable_bus_comes_back_as_it_was() {
    everywhere(|place| {
        if !place.tier.is_durable() {
            return;
        }
        let bus = place.bus();
        let (a, b, c) = (client(&*bus), client(&*bus), client(&*bus));
        let tied = SendOptions { broadcast: true, cancellable: true, ..SendOptions::default() };
        let sent = send_as(&*bus, a, &[b, c], "tied", &tied);
        (0..9).for_each(|i| drop(send(&*bus, a, b, &i.to_string())));
        let deadline = SendOptions { deadline: Some(Timestamp(2_000)), ..SendOptions::default() };
        send_as(&*bus, a, &[b], "soon over", &deadline);
        let before = all(&*bus, b);
        bus.delete(b, &[before[3].receipt]).unwrap();
        let gone = client(&*bus);
        bus.disconnect(gone, Disconnect::Always).unwrap();
        let (in_b, in_c) = (all(&*bus, b), all(&*bus, c));
        drop(bus);
        place.reopen();
        let bus = place.bus();
        assert_eq!((all(&*bus, b), all(&*bus, c)), (in_b, in_c));
        place.clock.advance(Duration::from_secs(1));
        assert_eq!(bus.pending(b).unwrap(), 9);
        assert_eq!(bus.cancel(b, &[all(&*bus, b)[0].token().unwrap()], Scope::Elsewhere).unwrap(), 1);
        assert!(client(&*bus) > gone);
        let after = send(&*bus, a, b, "after");
        assert!(after.serial > sent.serial + 10);
        assert_eq!(texts(&all(&*bus, b)).last().unwrap(), "after");
        refused(bus.pending(gone), SqlState::UndefinedObject);
    });
}
