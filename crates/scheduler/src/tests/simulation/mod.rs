//! The scheduler in virtual time, under a seed.
//!
//! Real: the queries' state machine, the roster, the enforcer with its policies, the learning agent, the load controller.
//! Simulated: threads (virtual workers that are slow, die in the midst of an order, leave and come), time, work orders, and
//! what clients do (floods of queries, pauses, cancellations, priorities). One seed is one history, to the bit.
//!
//! `QUICKSTEP_SIMULATIONS=10000 cargo test --release -p scheduler simulation` runs ten thousand seeds; a failure names its
//! seed, and `QUICKSTEP_SEED=n` runs that one alone.

mod checkers;
mod segment;
mod world;

use checkers::Violation;
use world::{Fault, Scenario, World};

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("QUICKSTEP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("QUICKSTEP_SIMULATIONS").unwrap_or(100),
    }
}

#[test]
fn histories_keep_every_promise() {
    for seed in seeds() {
        let outcome = World::new(seed, Scenario::Anything, None).run();
        assert_eq!(outcome.violations, [], "seed {seed}");
        assert!(outcome.ended > 0, "seed {seed}: nothing happened");
    }
}

#[test]
fn looping_queries_have_equal_shares_over_any_two_seconds() {
    for seed in seeds() {
        let outcome = World::new(seed, Scenario::Looping, None).run();
        assert_eq!(outcome.violations, [], "seed {seed}");
    }
}

#[test]
fn a_seed_is_one_history() {
    for seed in 0..10 {
        let traces = [0, 1].map(|_| World::new(seed, Scenario::Anything, None).run().trace);
        assert_eq!(traces[0], traces[1], "seed {seed}");
    }
    let [first, second] = [1, 2].map(|seed| World::new(seed, Scenario::Anything, None).run().trace);
    assert_ne!(first, second);
}

/// Each checker finds the fault that it is for, in some history; and what it finds is that fault.
#[test]
fn planted_faults_are_found() {
    let faults = [
        (Fault::OrderTwice, Scenario::Anything, Violation::Doubled as fn(usize) -> Violation),
        (Fault::OrderLost, Scenario::Anything, Violation::Lost),
        (Fault::QueryPassedOver, Scenario::Anything, Violation::Starved),
        (Fault::DoorLeftOpen, Scenario::Anything, Violation::Leaked),
        (Fault::PauseIgnored, Scenario::Anything, Violation::ServedWhilePaused),
        (Fault::LimitIgnored, Scenario::Anything, Violation::TooManyWorkers),
        (Fault::PriorityIgnored, Scenario::Anything, Violation::PassedHigher),
        (Fault::NodesIgnored, Scenario::Anything, Violation::LeftItsNode),
        (Fault::FailsForMemory, Scenario::Anything, Violation::FailedForMemory),
        (Fault::OneCountsHalf, Scenario::Looping, Violation::Unfair),
    ];
    for (fault, scenario, expected) in faults {
        let kind = std::mem::discriminant(&expected(0));
        let found = (0..1000).any(|seed| {
            let outcome = World::new(seed, scenario, Some(fault)).run();
            outcome.violations.iter().any(|violation| std::mem::discriminant(violation) == kind)
        });
        assert!(found, "{fault:?} was not found");
    }
}
