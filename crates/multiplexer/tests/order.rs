//! What goes first on a link, one node's traffic by hand: control, urgent messages, small ones, then bulk by priority and
//! queue; and nothing without credit.

use multiplexer::simulator::{World, fabric};
use multiplexer::{
    Class, Config, ExchangeId, ExchangeSpec, Frame, Kind, Lane, NodeId, Port, Schedule, Traffic,
};

const PEER: NodeId = NodeId(1);

fn world() -> World {
    let mut config = Config::new(2, 64 << 20);
    config.schedule = Schedule::Off;
    let switch = fabric::Switch::OutputQueued { buffer_bytes: None };
    let model =
        fabric::LinkModel { bytes_per_second: 125_000_000, latency: 1_000, cell_bytes: 8 << 10, switch };
    World::new(&config, model, 1)
}

fn open(world: &mut World, id: u64, priority: u8, class: Class) -> Port {
    let spec =
        ExchangeSpec { id: ExchangeId(id), priority, class, sources: vec![], destinations: vec![PEER] };
    world.open(0, spec).unwrap()
}

fn send(port: &Port, bytes: usize) {
    let mut buffer = port.try_take_buffer(0).unwrap().unwrap();
    buffer.set_used(bytes);
    port.send(PEER, buffer).unwrap();
}

fn grant(node: &mut Traffic, id: u64, messages: u64, slot: u64) {
    let mut frame = Frame::control(Kind::Credit, 1, PEER, NodeId(0));
    frame.exchange = ExchangeId(id);
    frame.value = messages * slot;
    node.arrived(PEER, &frame, None, 1).unwrap();
}

/// The exchanges whose messages go out, in order, of a lane.
fn drain(node: &mut Traffic, lane: Lane) -> Vec<(u64, u64)> {
    let frames = std::iter::from_fn(|| node.next_frame(PEER, lane, 1));
    frames
        .filter(|(frame, _)| frame.kind == Kind::Data)
        .map(|(frame, _)| (frame.exchange.0, frame.sequence))
        .collect()
}

#[test]
fn priority_then_the_longest_queue_and_never_without_credit() {
    let mut world = world();
    let low = open(&mut world, 1, 1, Class::Data);
    let long = open(&mut world, 2, 1, Class::Data);
    let high = open(&mut world, 3, 9, Class::Data);
    let urgent = open(&mut world, 4, 0, Class::Urgent);
    send(&low, 512 << 10);
    (0..3).for_each(|_| send(&long, 512 << 10));
    (0..2).for_each(|_| send(&high, 512 << 10));
    send(&urgent, 4 << 10);
    let node = &mut world.traffic[0];
    node.tick(1);
    assert_eq!(drain(node, Lane::Rows), []);
    assert_eq!(drain(node, Lane::Control), []);
    for (id, messages) in [(1, 5), (2, 2), (3, 5)] {
        grant(node, id, messages, 512 << 10);
    }
    grant(node, 4, 1, 4 << 10);
    assert_eq!(drain(node, Lane::Control), [(4, 0)], "urgent messages have the lane of control");
    // Exchange 2 has credit for two of its three.
    assert_eq!(drain(node, Lane::Rows), [(3, 0), (3, 1), (2, 0), (2, 1), (1, 0)]);
    // A grant that is read twice, or late, changes nothing.
    grant(node, 2, 2, 512 << 10);
    grant(node, 2, 1, 512 << 10);
    assert_eq!(drain(node, Lane::Rows), []);
    grant(node, 2, 3, 512 << 10);
    assert_eq!(drain(node, Lane::Rows), [(2, 2)]);
}

#[test]
fn a_small_message_passes_others_bulk_but_not_its_own() {
    let mut world = world();
    let bulk = open(&mut world, 1, 9, Class::Data);
    let small = open(&mut world, 2, 0, Class::Data);
    send(&bulk, 512 << 10);
    send(&bulk, 100);
    send(&small, 64 << 10);
    let node = &mut world.traffic[0];
    node.tick(1);
    grant(node, 1, 9, 512 << 10);
    grant(node, 2, 9, 512 << 10);
    assert_eq!(drain(node, Lane::Rows), [(2, 0), (1, 0), (1, 1)]);
}
