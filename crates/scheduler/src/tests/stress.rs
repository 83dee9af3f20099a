//! Random plans under random conditions, from a seed that the failure message names.
//!
//! A plan's toys count their units, and the test compares the counts with what the plan must execute; some plans
//! fail, are cancelled or run into a deadline, and then only must end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

pub(super) use random::Random;
use sync::CancelToken;
use workorder::{Dag, EdgeKind, Outcome, SegmentId};

use super::toy::{Input, Toy, burn};
use crate::{QueryControl, Scheduler, Stopped};

struct Plan {
    dag: Dag,
    toys: Vec<Arc<Toy>>,
    /// Units each toy must have executed.
    expected: Vec<u64>,
    fails: bool,
}

/// Segments in a random order of edges; each feeds at most one streaming consumer, one unit for
/// each of its own.
fn random_plan(random: &mut Random) -> Plan {
    let count = 1 + random.below(9) as usize;
    let mut dag = Dag::new();
    // Built from the result backwards, so that consumers exist when producers are made.
    let mut toys: Vec<Arc<Toy>> = Vec::new();
    let mut streams: Vec<bool> = Vec::new();
    let mut fed_by: Vec<Vec<usize>> = Vec::new();
    let mut fails = false;
    for position in 0..count {
        let consumer = (position > 0).then(|| random.below(position as u64) as usize);
        let streaming = consumer.filter(|&consumer| streams[consumer]);
        let is_stream = random.below(2) == 0;
        let bad = random.below(60) == 0;
        let pause = random.below(4) == 0;
        let work = random.below(30);
        let target = streaming.map(|consumer| toys[consumer].clone());
        let body = move |order: workorder::WorkOrder, context: &workorder::WorkContext<'_>| {
            burn(work);
            if bad && order.end > 3 {
                return Err("bad".into());
            }
            let end = if pause { order.start + 1 } else { order.end };
            if let Some(target) = &target {
                target.feed(end - order.start);
                context.units_ready(end - order.start);
            }
            let rest = workorder::WorkOrder { start: end, ..order };
            Ok(if end < order.end { Outcome::Continue(rest) } else { Outcome::Done })
        };
        let input = if is_stream { Input::Stream } else { Input::Units(random.below(120)) };
        toys.push(Toy::new(&format!("segment {position}"), input, body));
        streams.push(is_stream);
        fed_by.push(Vec::new());
        dag.add(toys[position].clone());
        fails |= bad;
        if let Some(consumer) = consumer {
            let kind = if streaming.is_some() { EdgeKind::Streaming } else { EdgeKind::Blocking };
            dag.connect(SegmentId(position as u32), SegmentId(consumer as u32), kind);
            if streaming.is_some() {
                fed_by[consumer].push(position);
            }
        }
    }
    // A stream without a producer would wait for ever: it gets one of its own.
    for position in 0..count {
        if streams[position] && fed_by[position].is_empty() {
            let units = random.below(50);
            let target = toys[position].clone();
            let producer = Toy::new("source", Input::Units(units), move |order, context| {
                target.feed(order.units());
                context.units_ready(order.units());
                Ok(Outcome::Done)
            });
            fed_by[position].push(toys.len());
            fed_by.push(Vec::new());
            streams.push(false);
            let id = dag.add(producer.clone());
            toys.push(producer);
            dag.connect(id, SegmentId(position as u32), EdgeKind::Streaming);
        }
    }
    let mut expected = vec![0; toys.len()];
    // Producers have higher positions than their consumers.
    for position in (0..toys.len()).rev() {
        expected[position] = match streams[position] {
            true => fed_by[position].iter().map(|&producer| expected[producer]).sum(),
            false => workorder::Segment::total_orders(&*toys[position]).unwrap_or(0),
        };
    }
    Plan { dag, toys, expected, fails }
}

fn stress(seed: u64, queries: u64) {
    let scheduler = Scheduler::new(2);
    let done = AtomicBool::new(false);
    let (ended, stopped) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4u64)
            .map(|caller| {
                let (scheduler, ended, stopped) = (&scheduler, &ended, &stopped);
                scope.spawn(move || {
                    for query in 0..queries {
                        let query_seed = seed ^ (caller << 32) ^ query;
                        let mut random = Random::new(query_seed);
                        let plan = random_plan(&mut random);
                        let token = CancelToken::new();
                        if random.below(8) == 0 {
                            token.set_timeout(Some(Duration::from_micros(random.below(2_000))));
                        }
                        match scheduler.run(plan.dag, &QueryControl::with_cancel(token)) {
                            Ok(_) => {
                                for (toy, &expected) in plan.toys.iter().zip(&plan.expected) {
                                    assert_eq!(toy.units.load(SeqCst), expected, "seed {query_seed}");
                                    assert!(toy.finished.load(SeqCst), "seed {query_seed}");
                                }
                                ended.fetch_add(1, SeqCst);
                            }
                            Err(failure) if failure.downcast_ref::<Stopped>().is_some() => {
                                stopped.fetch_add(1, SeqCst);
                            }
                            Err(failure) => {
                                assert!(plan.fails, "seed {query_seed}: {failure}");
                                assert_eq!(failure.to_string(), "bad", "seed {query_seed}");
                            }
                        }
                        drop(plan.toys);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut random = Random::new(seed);
            while !done.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(2));
                scheduler.set_workers(1 + random.below(5) as usize);
            }
        });
        for caller in callers {
            if let Err(panic) = caller.join() {
                done.store(true, SeqCst);
                std::panic::resume_unwind(panic);
            }
        }
        done.store(true, SeqCst);
    });
    assert!(ended.load(SeqCst) > queries);
}

#[test]
fn random_plans_execute_every_unit_once() {
    stress(1, 400);
}

/// The same for longer: `cargo test --release -p scheduler -- --ignored soak`.
#[test]
#[ignore = "takes some minutes"]
fn soak() {
    for seed in 2..32 {
        stress(seed << 40, 2_000);
        println!("seed {seed} done");
    }
}
