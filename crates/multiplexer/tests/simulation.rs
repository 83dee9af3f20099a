//! The real traffic code over virtual links: nothing hangs, nothing is lost, memory stays within its setting, phases never
//! conflict, and the schedule is worth what it costs.

use multiplexer::simulator::fabric::{LinkModel, Switch, saturation};
use multiplexer::simulator::workload::{Outcome, all_to_all, random_query};
use multiplexer::{Config, MILLISECOND, NodeId, Phases, Schedule, Signal};
use proptest::prelude::*;
use random::Random;

fn seeds(from: u64, count: u64) {
    let (mut complete, mut failed) = (0, 0);
    for seed in from..from + count {
        match random_query(seed) {
            Ok(Outcome::Complete { .. }) => complete += 1,
            Ok(Outcome::Failed(_)) => failed += 1,
            Err(broken) => panic!("{broken}"),
        }
    }
    assert!(complete > count / 3 && failed > count / 20, "{complete} complete, {failed} failed");
}

#[test]
fn random_queries_with_faults_always_end() {
    seeds(0, 100);
}

#[test]
#[ignore = "ten thousand seeds: minutes"]
fn ten_thousand_random_queries_always_end() {
    seeds(1_000, 10_000);
}

#[test]
#[ignore = "looks closer at the seed in MULTIPLEXER_SEED"]
fn one_random_query_ends() {
    let seed = std::env::var("MULTIPLEXER_SEED").ok().and_then(|seed| seed.parse().ok());
    println!("{:?}", random_query(seed.unwrap_or(0)).unwrap_or_else(|broken| panic!("{broken}")));
}

#[test]
fn random_traffic_saturates_an_input_queued_switch_as_the_theory_says() {
    for (ports, expected) in [(4, 0.6553), (8, 0.6184)] {
        let found = saturation(ports, 200_000, 7);
        assert!((found - expected).abs() < 0.005, "{ports} ports: {found}");
    }
}

fn gigabit(switch: Switch) -> LinkModel {
    LinkModel { bytes_per_second: 125_000_000, latency: 50_000, cell_bytes: 8 << 10, switch }
}

fn config(nodes: usize, schedule: Schedule) -> Config {
    let mut config = Config::new(nodes, 256 << 20);
    config.schedule = schedule;
    config
}

#[test]
fn on_an_input_queued_switch_the_schedule_gains_what_blocking_costs() {
    let switch = Switch::InputQueued { fifo_bytes: 1 << 20 };
    let run = |schedule| all_to_all(&config(8, schedule), gigabit(switch), 48, 1).unwrap();
    let (off, on) = (run(Schedule::Off), run(Schedule::On));
    println!("8 nodes, input-queued: uncoordinated {:.3}, scheduled {:.3}", off.of_link, on.of_link);
    assert!(on.of_link >= 0.92, "{on:?}");
    // Without traffic to itself a node's switch of 8 ports carries 0.6255 of random traffic, 0.6184 with it.
    assert!((0.57..0.65).contains(&off.of_link), "{off:?}");
    assert!(on.of_link / off.of_link >= 1.4, "{on:?} {off:?}");
}

#[test]
fn without_contention_the_schedule_costs_little() {
    let switch = Switch::OutputQueued { buffer_bytes: None };
    let run = |schedule| all_to_all(&config(8, schedule), gigabit(switch), 48, 1).unwrap();
    let (off, on) = (run(Schedule::Off), run(Schedule::On));
    println!("8 nodes, ideal: uncoordinated {:.3}, scheduled {:.3}", off.of_link, on.of_link);
    assert!(on.of_link > 0.97 * off.of_link, "{on:?} {off:?}");
}

/// Delivers signals in any order that keeps each link's own, until nothing moves; gives the most rounds any node saw.
fn play(nodes: usize, seed: u64, mut bulk: Vec<Vec<u64>>) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut phases: Vec<Phases> =
        (0..nodes).map(|node| Phases::new(NodeId(node as u16), nodes, 1_000)).collect();
    // Links carry signals (and bulk) in order.
    let mut links: Vec<std::collections::VecDeque<Result<Signal, u64>>> =
        vec![Default::default(); nodes * nodes];
    for step in 0.. {
        if step > 2_000_000 {
            return Err(format!("{nodes} nodes, seed {seed}: it does not come to rest"));
        }
        let mut moved = false;
        let node = random.below(nodes);
        for offset in 0..nodes {
            let node = (node + offset) % nodes;
            let wants = bulk[node].iter().any(|bytes| *bytes > 0);
            phases[node].want(wants);
            if let Some(target) = phases[node].target() {
                let left = &mut bulk[node][target.index()];
                if *left > 0 && phases[node].room() > 0 {
                    let bytes = (*left).min(1 + random.below(400_u64));
                    *left -= bytes;
                    links[node * nodes + target.index()].push_back(Err(bytes));
                    phases[node].sent(target, bytes);
                } else {
                    phases[node].end_phase();
                }
                moved = true;
            }
            let mut signals = Vec::new();
            phases[node].take_signals(&mut signals);
            for (peer, signal) in signals {
                links[node * nodes + peer.index()].push_back(Ok(signal));
            }
            conflict(&phases)?;
        }
        let waiting: Vec<usize> = (0..links.len()).filter(|link| !links[*link].is_empty()).collect();
        if waiting.is_empty() && !moved {
            break;
        }
        if let Some(link) = (!waiting.is_empty()).then(|| *random.pick(&waiting)) {
            let (from, to) = (NodeId((link / nodes) as u16), link % nodes);
            match links[link].pop_front() {
                Some(Ok(Signal::Permit { counter })) => phases[to].on_permit(from, counter),
                Some(Ok(Signal::End { counter, bytes, busy })) => {
                    phases[to].on_end(from, counter, bytes, busy)
                }
                Some(Ok(Signal::Wake { round })) => phases[to].on_wake(round),
                Some(Err(bytes)) => phases[to].on_bulk(from, bytes),
                None => {}
            }
        }
    }
    if bulk.iter().flatten().any(|bytes| *bytes > 0) {
        return Err(format!("{nodes} nodes, seed {seed}: at rest with bulk to send: {bulk:?}"));
    }
    match phases.iter().all(Phases::is_parked) {
        true => Ok(()),
        false => Err(format!("{nodes} nodes, seed {seed}: at rest, but not parked")),
    }
}

/// No node is sent to by two, none sends to two, and whoever sends is the one that the receiver permitted.
fn conflict(phases: &[Phases]) -> Result<(), String> {
    let mut receivers = vec![None; phases.len()];
    for (node, state) in phases.iter().enumerate() {
        if let Some(target) = state.target() {
            if let Some(other) = receivers[target.index()].replace(node) {
                return Err(format!("{node} and {other} both send to {target}"));
            }
            if phases[target.index()].permitted_source() != Some(NodeId(node as u16)) {
                return Err(format!("{node} sends to {target} unasked"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn phases_never_conflict_and_come_to_rest(nodes in 2_usize..18, seed in any::<u64>(), busy in 0_usize..40) {
        let mut random = Random::new(seed);
        let mut bulk = vec![vec![0; nodes]; nodes];
        for _ in 0..busy {
            let (from, to) = (random.below(nodes), random.below(nodes));
            if from != to {
                bulk[from][to] = random.below(10_000_u64);
            }
        }
        prop_assert_eq!(play(nodes, seed, bulk), Ok(()));
    }
}

#[test]
fn a_silent_link_is_noticed_within_five_seconds() {
    use multiplexer::simulator::{Fault, World};
    let config = config(4, Schedule::On);
    let mut world = World::new(&config, gigabit(Switch::OutputQueued { buffer_bytes: None }), 1);
    world.plan(1_000 * MILLISECOND, Fault::Silence(3));
    let mut seen = [false; 3];
    let mut port: Vec<_> = (0..3)
        .map(|node| {
            let spec = multiplexer::ExchangeSpec {
                id: multiplexer::ExchangeId(1),
                priority: 0,
                class: multiplexer::Class::Data,
                sources: (0..4).filter(|peer| *peer != node).map(|peer| NodeId(peer as u16)).collect(),
                destinations: vec![],
            };
            world.open(node, spec).unwrap()
        })
        .collect();
    let noticed = world.run(6_000 * MILLISECOND, |node, _| {
        if node < 3 {
            seen[node] = port[node].failure().is_some();
        }
        node == 3 || seen[node]
    });
    assert!(noticed, "{seen:?}");
    for port in port.drain(..) {
        assert!(matches!(
            port.failure(),
            Some(multiplexer::NetworkError::PeerSilent { peer: NodeId(3), .. })
        ));
    }
}

/// Two exchanges on one pair: one of bulk that never ends, one of small messages; gives when the small ones were through,
/// and how many bytes of bulk had come by then.
fn mice_beside_bulk(mice: usize, schedule: Schedule) -> (u64, u64) {
    use multiplexer::simulator::World;
    use multiplexer::{Class, ExchangeId, ExchangeSpec, Receive};
    let mut config = config(3, schedule);
    config.window_messages_max = 64;
    let model = LinkModel {
        bytes_per_second: 12_500_000,
        latency: 50_000,
        cell_bytes: 4 << 10,
        switch: Switch::OutputQueued { buffer_bytes: None },
    };
    let mut world = World::new(&config, model, 3);
    let spec = |id, node: u16| ExchangeSpec {
        id: ExchangeId(id),
        priority: 0,
        class: Class::Data,
        sources: (0..3).filter(|peer| *peer != node).map(NodeId).collect(),
        destinations: (0..3).filter(|peer| *peer != node).map(NodeId).collect(),
    };
    let ports: Vec<_> = (0..3_u16)
        .map(|node| {
            (world.open(node.into(), spec(1, node)).unwrap(), world.open(node.into(), spec(2, node)).unwrap())
        })
        .collect();
    let (mut sent, mut came, mut bulk) = (0, 0, 0);
    let done = world.run(600_000 * MILLISECOND, |node, now| {
        let (large, small) = &ports[node];
        while let Some(mut buffer) = large.try_take_buffer(0).unwrap() {
            buffer.set_used(512 << 10);
            large.send(NodeId(((node + 1) % 3) as u16), buffer).unwrap();
        }
        if node == 0 && now > 1_000 * MILLISECOND {
            while sent < mice
                && let Some(mut buffer) = small.try_take_buffer(0).unwrap()
            {
                buffer.set_used(32 << 10);
                small.send(NodeId(1), buffer).unwrap();
                sent += 1;
            }
        }
        while let Receive::Message(message) = large.try_receive(0).unwrap() {
            bulk += if node == 1 && sent > 0 { message.message.used() as u64 } else { 0 };
        }
        while let Receive::Message(_) = small.try_receive(0).unwrap() {
            came += 1;
        }
        came == mice
    });
    assert!(done);
    (world.now() - 1_000 * MILLISECOND, bulk)
}

#[test]
fn small_messages_pass_bulk_but_take_only_their_share() {
    for schedule in [Schedule::Off, Schedule::On] {
        // One waits for the message of bulk that is on its way (42 ms at this rate), not for the queue of bulk.
        let (alone, _) = mice_beside_bulk(1, schedule);
        assert!(alone < 100 * MILLISECOND, "{schedule:?}: {alone}");
        // 12 MiB of them are more than 1 MiB in advance and 5 %: bulk goes on beside them.
        let (_, bulk) = mice_beside_bulk(384, schedule);
        assert!(bulk > 4 << 20, "{schedule:?}: {bulk} bytes of bulk while the small ones passed");
    }
}

#[test]
fn pacing_leaves_bandwidth_to_others() {
    let mut config = config(4, Schedule::On);
    config.pace = Some(125_000_000 * 80 / 100);
    let switch = Switch::OutputQueued { buffer_bytes: None };
    let paced = all_to_all(&config, gigabit(switch), 24, 1).unwrap();
    assert!((0.70..0.82).contains(&paced.of_link), "{paced:?}");
}

#[test]
fn auto_finds_the_better_mode() {
    let switch = Switch::InputQueued { fifo_bytes: 1 << 20 };
    let run = |schedule| all_to_all(&config(4, schedule), gigabit(switch), 480, 1).unwrap();
    let (on, auto) = (run(Schedule::On), run(Schedule::Auto));
    println!("4 nodes, input-queued: scheduled {:.3}, auto {:.3}", on.of_link, auto.of_link);
    assert_eq!(auto.statistics.verdicts, 1);
    // 6 s, of which 1 s was spent on trying the worse mode, every 30 s: 0.3 of 6.
    assert!(auto.of_link > 0.92 * on.of_link, "{auto:?}");
}
