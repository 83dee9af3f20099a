//! Queries that do not end well: failure, panic, cancel, timeout, stall.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use sync::{CancelToken, StopReason};
use workorder::EdgeKind::{Blocking, Streaming};
use workorder::{DagError, Outcome, SegmentId};

use super::toy::{Input, Toy, burn, plan};
use crate::{Panicked, QueryControl, Scheduler, Stalled, Stopped};

#[test]
fn the_first_failure_wins_and_nothing_runs_after_the_return() {
    for workers in [1, 2, 4] {
        let scheduler = Scheduler::new(workers);
        let inside = Arc::new(AtomicUsize::new(0));
        let theirs = inside.clone();
        let toy = Toy::new("fails", Input::Units(1_000), move |order, _| {
            theirs.fetch_add(1, SeqCst);
            burn(200);
            theirs.fetch_sub(1, SeqCst);
            if order.start <= 20 && 20 < order.end {
                return Err("unit 20 is bad".into());
            }
            Ok(Outcome::Done)
        });
        let after = Toy::idle("after", 1);
        let dag = plan(&[toy.clone(), after.clone()], &[(0, 1, Blocking)]);
        let failure = scheduler.run(dag, &QueryControl::new()).unwrap_err();
        assert_eq!(inside.load(SeqCst), 0);
        assert_eq!(failure.to_string(), "unit 20 is bad");
        assert!(!toy.finished.load(SeqCst) && after.executions.load(SeqCst) == 0);
        assert!(toy.executions.load(SeqCst) < 100);
    }
}

#[test]
fn a_panic_ends_its_query_only() {
    let scheduler = Scheduler::new(2);
    std::thread::scope(|scope| {
        let good = scope.spawn(|| {
            for _ in 0..20 {
                let toy = Toy::new("good", Input::Units(50), |_, _| {
                    burn(20);
                    Ok(Outcome::Done)
                });
                scheduler.run(plan(&[toy], &[]), &QueryControl::new()).unwrap();
            }
        });
        for _ in 0..10 {
            let toy = Toy::new("bad", Input::Units(50), |order, _| {
                assert!(order.end < 40, "unit {} is bad", order.end);
                Ok(Outcome::Done)
            });
            let failure = scheduler.run(plan(&[toy], &[]), &QueryControl::new()).unwrap_err();
            let panicked = failure.downcast_ref::<Panicked>().unwrap();
            assert_eq!(panicked.segment, "bad");
            assert!(panicked.message.starts_with("unit "), "{panicked}");
        }
        good.join().unwrap();
    });
}

#[test]
fn a_broken_plan_is_refused() {
    let scheduler = Scheduler::new(1);
    let mut dag = plan(&[Toy::idle("a", 1)], &[]);
    dag.connect(SegmentId(0), SegmentId(9), Blocking);
    let failure = scheduler.run(dag, &QueryControl::new()).unwrap_err();
    assert!(failure.downcast_ref::<DagError>().is_some());
}

/// Orders that go on until they are told to stop.
fn endless() -> Arc<Toy> {
    Toy::new("endless", Input::Units(1_000), |_, context| {
        while !context.should_stop() {
            burn(50);
        }
        Ok(Outcome::Done)
    })
}

fn expect_stop(scheduler: &Scheduler, control: &QueryControl, reason: StopReason) -> Duration {
    let begun = Instant::now();
    let failure = scheduler.run(plan(&[endless()], &[]), control).unwrap_err();
    assert_eq!(failure.downcast_ref::<Stopped>(), Some(&Stopped { reason }));
    begun.elapsed()
}

/// Whether a query that is to end after 30 ms does so within 130, in the median of five tries, in one of five rounds. On a
/// busy machine any thread may wait for a core: what one that does nothing but sleep is late by does not count.
fn ends_soon(query: &dyn Fn() -> Duration) {
    let wait = Duration::from_millis(30);
    let took = |_| {
        let begun = Instant::now();
        let sleeper = std::thread::spawn(move || {
            std::thread::sleep(wait);
            begun.elapsed() - wait
        });
        let took = query();
        assert!(took >= wait, "{took:?}");
        took.saturating_sub(4 * sleeper.join().unwrap())
    };
    timing::in_one_of(5, || {
        let times: Vec<Duration> = (0..5).map(took).collect();
        timing::met(timing::median(times.clone()) < wait + Duration::from_millis(100), times)
    });
}

#[test]
fn cancel_deadline_and_tick_end_a_query_soon() {
    for workers in [1, 2, 4] {
        let scheduler = Scheduler::new(workers);
        ends_soon(&|| {
            let token = CancelToken::new();
            let control = QueryControl::with_cancel(token.clone());
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                token.cancel();
            });
            let begun = Instant::now();
            expect_stop(&scheduler, &control, StopReason::Cancelled);
            canceller.join().unwrap();
            begun.elapsed().max(Duration::from_millis(30))
        });
        ends_soon(&|| {
            let control = QueryControl::with_cancel(CancelToken::with_timeout(Duration::from_millis(30)));
            expect_stop(&scheduler, &control, StopReason::Timeout)
        });
        ends_soon(&|| {
            let (ticks, me) = (AtomicU64::new(0), std::thread::current().id());
            let control = QueryControl::new().with_tick(move || {
                assert_eq!(std::thread::current().id(), me);
                if ticks.fetch_add(1, SeqCst) < 2 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            expect_stop(&scheduler, &control, StopReason::Cancelled)
        });

        // A query that was cancelled before it began does not begin.
        let token = CancelToken::new();
        token.cancel();
        expect_stop(&scheduler, &QueryControl::with_cancel(token), StopReason::Cancelled);
    }
}

/// Detects a caller that sleeps until others are done, without a look at its deadline.
#[test]
fn ticks_and_cancel_reach_a_caller_that_waits_for_others() {
    // Where the machine has no time for the second thread before the query is late, another round has.
    timing::in_one_of(10, a_caller_that_waits_for_others_ends);
}

fn a_caller_that_waits_for_others_ends() -> Result<(), String> {
    let scheduler = Scheduler::new(2);
    let me = std::thread::current().id();
    // The caller's order ends as soon as the other worker has one; that goes on until the clock says that it is late,
    // and it does not look at the clock itself: its caller does.
    let late = CancelToken::with_timeout(Duration::from_millis(60));
    let signal = late.clone();
    let (there, through) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (came, went) = (there.clone(), through.clone());
    let looks = Arc::new(AtomicU64::new(0));
    let looked = looks.clone();
    let toy = Toy::new("uneven", Input::Units(2), move |_, _| {
        let begun = Instant::now();
        if std::thread::current().id() == me {
            while !came.load(SeqCst) && begun.elapsed() < Duration::from_secs(5) {
                std::thread::yield_now();
            }
            went.store(true, SeqCst);
        } else {
            came.store(true, SeqCst);
            while signal.reason().is_none() && begun.elapsed() < Duration::from_secs(5) {
                burn(50);
            }
        }
        Ok(Outcome::Done)
    });
    let control = QueryControl::with_cancel(late).with_tick(move || {
        looked.fetch_add(u64::from(through.load(SeqCst)), SeqCst);
        ControlFlow::Continue(())
    });
    let begun = Instant::now();
    let failure = scheduler.run(plan(&[toy], &[]), &control).map(drop).unwrap_err();
    assert_eq!(failure.downcast_ref::<Stopped>(), Some(&Stopped { reason: StopReason::Timeout }));
    let seen = (begun.elapsed(), there.load(SeqCst), looks.load(SeqCst));
    // The caller looked while it waited.
    timing::met(seen.0 < Duration::from_secs(2) && seen.1 && seen.2 > 1, seen)
}

#[test]
fn a_plan_that_waits_for_nothing_is_an_error_not_a_hang() {
    for workers in [1, 2] {
        let scheduler = Scheduler::new(workers);
        // It has no producer that feeds it or finishes its inputs.
        let orphan = Toy::new("orphan", Input::Stream, |_, _| Ok(Outcome::Done));
        let dag = plan(&[Toy::idle("a", 100), orphan], &[(0, 1, Blocking)]);
        let failure = scheduler.run(dag, &QueryControl::new()).unwrap_err();
        assert_eq!(failure.downcast_ref::<Stalled>(), Some(&Stalled { segment: "orphan".to_owned() }));
    }
}

#[test]
fn a_failed_query_does_not_finish_its_stream() {
    let scheduler = Scheduler::new(2);
    let consumer = Toy::new("consumer", Input::Stream, |_, _| Err("no taste".into()));
    let target = consumer.clone();
    let producer = Toy::new("producer", Input::Units(100), move |order, context| {
        burn(100);
        target.feed(order.units());
        context.units_ready(order.units());
        Ok(Outcome::Done)
    });
    let dag = plan(&[producer.clone(), consumer], &[(0, 1, Streaming)]);
    let failure = scheduler.run(dag, &QueryControl::new()).unwrap_err();
    assert_eq!(failure.to_string(), "no taste");
    assert!(!producer.finished.load(SeqCst));
    // The scheduler goes on.
    scheduler.run(plan(&[Toy::idle("next", 10)], &[]), &QueryControl::new()).unwrap();
}
