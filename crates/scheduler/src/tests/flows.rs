//! Queries that end well.
//!
//! Each test runs plans of toy segments (`toy.rs`) on a real scheduler with threads, and looks at counts: orders,
//! places, nodes, pauses, memory and shares. Times that a test waits for are bounds, not measurements.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sync::CancelToken;
use workorder::EdgeKind::{Blocking, Streaming};
use workorder::{Dag, Outcome, WorkContext, WorkOrder};

use super::toy::{Input, Toy, burn, plan};
use crate::{NodeScheduling, QueryControl, QuerySpec, Scheduler};

#[test]
fn an_empty_plan_and_segments_without_orders_end_at_once() {
    let scheduler = Scheduler::new(2);
    assert!(scheduler.run(Dag::new(), &QueryControl::new()).unwrap().segments.is_empty());
    let toys = [Toy::idle("a", 0), Toy::idle("b", 0), Toy::new("c", Input::Stream, |_, _| Ok(Outcome::Done))];
    let dag = plan(&toys, &[(0, 1, Blocking), (1, 2, Streaming)]);
    let report = scheduler.run(dag, &QueryControl::new()).unwrap();
    assert!(toys.iter().all(|toy| toy.finished.load(SeqCst)));
    assert_eq!(report.segments.iter().map(|segment| segment.orders).sum::<u64>(), 0);
    assert_eq!(scheduler.active_queries(), 0);
}

#[test]
fn a_chain_runs_in_order_on_any_number_of_workers() {
    for workers in [1, 2, 4] {
        let scheduler = Scheduler::new(workers);
        let first = Toy::idle("first", 10_000);
        let seen = first.clone();
        let second = Toy::new("second", Input::Units(500), move |_, _| {
            assert!(seen.finished.load(SeqCst), "began before its producer was finished");
            Ok(Outcome::Done)
        });
        let control = QueryControl::new();
        let dag = plan(&[first.clone(), second.clone()], &[(0, 1, Blocking)]);
        let report = scheduler.run(dag, &control).unwrap();
        assert_eq!(first.units.load(SeqCst), 10_000);
        assert_eq!(second.completed_units.load(SeqCst), 500);
        assert_eq!((report.segments[0].rows, report.segments[0].bytes), (10_000, 80_000));
        assert_eq!(report.segments[1].name, "second");
        assert!(report.segments[1].started_nanoseconds >= report.segments[0].finished_nanoseconds);
        let progress = control.progress();
        assert_eq!((progress.segments_finished, progress.units_done), (2, 10_500));
        assert_eq!(progress.fraction(), 1.0);
    }
}

#[test]
fn a_small_query_runs_on_its_caller() {
    let scheduler = Scheduler::new(4);
    let me = std::thread::current().id();
    let toy = Toy::new("one", Input::Units(1), move |_, _| {
        assert_eq!(std::thread::current().id(), me);
        Ok(Outcome::Done)
    });
    scheduler.run(plan(&[toy], &[]), &QueryControl::new()).unwrap();
}

#[test]
fn work_goes_to_who_is_near_it() {
    thread_local!(static NODE: Cell<usize> = const { Cell::new(0) });
    // On which node each unit was executed; pool threads go round, and the caller is on the first node.
    let run = |workers: usize, nodes: usize, mode: NodeScheduling| {
        let scheduler = Scheduler::new(workers);
        let nearest = |node| (0..nodes).map(|step| (node + step) % nodes).collect();
        scheduler.set_nodes((0..nodes).map(nearest).collect(), Box::new(|| NODE.with(Cell::get)));
        scheduler.set_node_scheduling(mode);
        scheduler.set_placement(Arc::new(move |number| NODE.set(number % nodes)));
        let executed: Arc<Mutex<Vec<(u64, usize)>>> = Arc::default();
        let theirs = executed.clone();
        let of_units = (0..120).map(|unit| Some(unit / 4 % nodes)).collect();
        let toy = Toy::new("placed", Input::OnNodes(nodes, of_units), move |order, _| {
            std::thread::sleep(Duration::from_millis(1));
            theirs.lock().unwrap().extend((order.start..order.end).map(|unit| (unit, NODE.with(Cell::get))));
            Ok(Outcome::Done)
        });
        let begun = Instant::now();
        scheduler.run(plan(&[toy], &[]), &QueryControl::new()).unwrap();
        let executed = std::mem::take(&mut *executed.lock().unwrap());
        let units: HashSet<u64> = executed.iter().map(|(unit, _)| *unit).collect();
        assert_eq!((executed.len(), units.len()), (120, 120), "each unit once");
        let far = executed.iter().filter(|(unit, node)| *unit as usize / 4 % nodes != *node).count();
        (far, begun.elapsed())
    };
    // A thread on each node. Where the machine has no time for one of them for long enough, others step in: in one round,
    // and not in all. Without a look at the nodes half of the units are far from their memory.
    for (mode, most) in [(NodeScheduling::Strict, 30), (NodeScheduling::Stealing, 50)] {
        timing::in_one_of(10, || {
            let (far, _) = run(2, 2, mode);
            timing::met(far <= most, (mode, far))
        });
    }
    // No worker is on the other nodes: all is done all the same, after a moment.
    for mode in NodeScheduling::ALL {
        let (far, time) = run(1, 3, mode);
        assert_eq!(far, 80, "{mode:?}");
        assert!(time < timing::PATIENCE, "{mode:?} {time:?}");
    }
}

#[test]
fn a_stream_in_its_midst_waits_for_memory_that_others_give_back() {
    let scheduler = Arc::new(Scheduler::new(2));
    let (waits, given) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // Whether an order that lacks memory found some in the end.
    let wanting = |flows: bool| {
        let (scheduler, waits, given) = (scheduler.clone(), waits.clone(), given.clone());
        let found = Arc::new(AtomicBool::new(false));
        let theirs = found.clone();
        let query = scheduler.begin(QuerySpec::default());
        // Rows of an earlier run, which were not read: this one can begin anew.
        query.rows_flow();
        let streamed = query.clone();
        let toy = Toy::new("wanting", Input::Units(1), move |_, context| {
            if flows {
                streamed.rows_flow();
            }
            waits.store(true, SeqCst);
            theirs.store(context.wait_for_memory(|| given.load(SeqCst)), SeqCst);
            Ok(Outcome::Done)
        });
        scheduler.run(plan(&[toy], &[]), &QueryControl::new().pausable().of(query)).unwrap();
        found.load(SeqCst)
    };
    assert!(!wanting(true), "there is nobody to wait for");
    for flows in [true, false] {
        waits.store(false, SeqCst);
        given.store(false, SeqCst);
        let (runs, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (their_runs, their_given, their_over) = (runs.clone(), given.clone(), over.clone());
        let holder = Toy::new("holder", Input::Units(1), move |_, _| {
            their_runs.store(true, SeqCst);
            while !their_over.load(SeqCst) {
                std::thread::yield_now();
            }
            their_given.store(true, SeqCst);
            Ok(Outcome::Done)
        });
        std::thread::scope(|scope| {
            let holds = scope.spawn(|| scheduler.run(plan(&[holder], &[]), &QueryControl::new()).map(|_| ()));
            while !runs.load(SeqCst) {
                std::thread::yield_now();
            }
            let wants = scope.spawn(|| wanting(flows));
            while !waits.load(SeqCst) {
                std::thread::yield_now();
            }
            if flows {
                // No query is admitted meanwhile.
                std::thread::sleep(Duration::from_millis(20));
                let (entered, late) = (Arc::new(AtomicBool::new(false)), Toy::idle("late", 1));
                let theirs = entered.clone();
                let late = scope.spawn({
                    let scheduler = &scheduler;
                    move || {
                        scheduler.run(plan(&[late], &[]), &QueryControl::new()).unwrap();
                        theirs.store(true, SeqCst);
                    }
                });
                std::thread::sleep(Duration::from_millis(30));
                assert!(!entered.load(SeqCst));
                over.store(true, SeqCst);
                late.join().unwrap();
            }
            assert_eq!(wants.join().unwrap(), flows, "who can begin anew does not wait");
            over.store(true, SeqCst);
            holds.join().unwrap().unwrap();
        });
    }
}

/// Detects a message for each order, as well as orders that nobody tells of.
#[test]
fn completions_are_told_in_batches() {
    let scheduler = Scheduler::new(2);
    let orders = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let theirs = orders.clone();
            let toy = Toy::new("burning", Input::Units(400), move |_, _| {
                theirs.fetch_add(1, SeqCst);
                burn(300);
                Ok(Outcome::Done)
            });
            let query = scheduler.begin(QuerySpec::default());
            let scheduler = &scheduler;
            scope.spawn(move || scheduler.run(plan(&[toy], &[]), &QueryControl::new().of(query)).unwrap());
        }
    });
    let ((told, messages), done) = (scheduler.foreman.admission.orders_completed(), orders.load(SeqCst));
    // What was done since the last message of each thread has not been told: a look is due every 20 ms of 120.
    assert!(told >= done / 2 && told <= done, "{told} of {done}");
    assert!(messages * 8 <= told, "{messages} messages for {told} orders");
    assert_eq!(scheduler.foreman.admission.counts(), (0, 0, 0), "who has left is not known any more");
}

#[test]
fn large_queries_use_all_workers_and_no_more() {
    for workers in [1usize, 2, 4] {
        let scheduler = Scheduler::new(workers);
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let (their_most, their_threads) = (most.clone(), threads.clone());
        let toy = Toy::new("busy", Input::Units(200), move |_, context| {
            their_most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
            their_threads.lock().unwrap().insert(context.worker());
            std::thread::sleep(Duration::from_millis(1));
            inside.fetch_sub(1, SeqCst);
            Ok(Outcome::Done)
        });
        scheduler.run(plan(&[toy], &[]), &QueryControl::new()).unwrap();
        assert_eq!(most.load(SeqCst), workers);
        assert_eq!(threads.lock().unwrap().len(), workers);
        assert!(threads.lock().unwrap().iter().all(|worker| (worker.0 as usize) < workers));
    }
}

#[test]
fn streaming_consumers_run_while_their_producer_does() {
    for workers in [1, 2, 4] {
        let scheduler = Scheduler::new(workers);
        let overlapped = Arc::new(AtomicBool::new(false));
        let producer_slot: Arc<Mutex<Option<Arc<Toy>>>> = Arc::default();
        let (their_overlapped, their_slot) = (overlapped.clone(), producer_slot.clone());
        let consumer = Toy::new("consumer", Input::Stream, move |_, _| {
            let producer = their_slot.lock().unwrap().clone().unwrap();
            their_overlapped.fetch_or(!producer.finished.load(SeqCst), SeqCst);
            Ok(Outcome::Done)
        });
        let target = consumer.clone();
        let producer = Toy::new("producer", Input::Units(300), move |order, context| {
            for _ in order.start..order.end {
                burn(20);
                target.feed(2);
                context.units_ready(2);
            }
            Ok(Outcome::Done)
        });
        *producer_slot.lock().unwrap() = Some(producer.clone());
        let sink = Toy::idle("sink", 3);
        let toys = [producer, consumer.clone(), sink.clone()];
        let dag = plan(&toys, &[(0, 1, Streaming), (1, 2, Blocking)]);
        scheduler.run(dag, &QueryControl::new()).unwrap();
        assert_eq!(consumer.units.load(SeqCst), 600);
        assert_eq!(sink.units.load(SeqCst), 3);
        assert!(overlapped.load(SeqCst));
        producer_slot.lock().unwrap().take();
    }
}

#[test]
fn a_streaming_consumer_may_also_wait_for_a_blocking_producer() {
    let scheduler = Scheduler::new(2);
    let build = Toy::new("build", Input::Units(5), |_, _| {
        std::thread::sleep(Duration::from_millis(2));
        Ok(Outcome::Done)
    });
    let seen = build.clone();
    let probe = Toy::new("probe", Input::Stream, move |_, _| {
        assert!(seen.finished.load(SeqCst));
        Ok(Outcome::Done)
    });
    let target = probe.clone();
    let scan = Toy::new("scan", Input::Units(50), move |order, context| {
        target.feed(order.units());
        context.units_ready(order.units());
        Ok(Outcome::Done)
    });
    let dag = plan(&[build, scan, probe.clone()], &[(0, 2, Blocking), (1, 2, Streaming)]);
    scheduler.run(dag, &QueryControl::new()).unwrap();
    assert_eq!(probe.units.load(SeqCst), 50);
}

#[test]
fn continuations_are_executed_until_nothing_is_left() {
    for workers in [1, 2, 4] {
        let scheduler = Scheduler::new(workers);
        let toy = Toy::new("pauses", Input::Units(2_000), |mut order, _| {
            order.start += 1;
            Ok(if order.start < order.end { Outcome::Continue(order) } else { Outcome::Done })
        });
        let report = scheduler.run(plan(&[toy.clone()], &[]), &QueryControl::new()).unwrap();
        assert_eq!(toy.units.load(SeqCst), 2_000);
        assert_eq!(toy.completed_units.load(SeqCst), 2_000);
        assert_eq!(report.segments[0].orders, 2_000);
    }
}

#[test]
fn pool_threads_are_placed_when_they_begin_and_when_that_changes() {
    let scheduler = Scheduler::new(3);
    let placed = Arc::new(Mutex::new(Vec::new()));
    let placement = |mark: char| {
        let placed = placed.clone();
        Arc::new(move |number: usize| placed.lock().unwrap().push((mark, number)))
    };
    let run = || {
        let busy = Toy::new("busy", Input::Units(4000), |order, _| {
            burn(order.units());
            Ok(Outcome::Done)
        });
        scheduler.run(plan(&[busy], &[]), &QueryControl::new()).unwrap();
    };
    for mark in ['a', 'b'] {
        scheduler.set_placement(placement(mark));
        let is_placed = |number| placed.lock().unwrap().contains(&(mark, number));
        timing::until("both threads are placed", || {
            run();
            is_placed(1) && is_placed(2)
        });
    }
    assert_eq!(placed.lock().unwrap().len(), 4, "each once a placement");
}

#[test]
fn workers_may_change_while_a_query_runs() {
    let scheduler = Scheduler::new(1);
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (inside.clone(), most.clone());
    let toy = Toy::new("long", Input::Units(1 << 40), move |_, _| {
        peak.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(Duration::from_millis(1));
        now.fetch_sub(1, SeqCst);
        Ok(Outcome::Done)
    });
    let over = CancelToken::new();
    let control = QueryControl::with_cancel(over.clone());
    std::thread::scope(|scope| {
        let query = scope.spawn(|| scheduler.run(plan(&[toy.clone()], &[]), &control).map(drop));
        // What is seen while so many more orders are executed.
        let after = |orders: u64| {
            let until = toy.executions.load(SeqCst) + orders;
            timing::until("orders are executed", || toy.executions.load(SeqCst) >= until);
        };
        after(20);
        assert_eq!(most.load(SeqCst), 1);
        scheduler.set_workers(4);
        timing::until("four work", || most.load(SeqCst) == 4);
        after(100);
        assert_eq!((scheduler.workers(), most.load(SeqCst)), (4, 4));
        scheduler.set_workers(2);
        timing::until("two of them leave", || inside.load(SeqCst) <= 2 && scheduler.workers() == 2);
        // Orders that they were inside of.
        after(20);
        most.store(0, SeqCst);
        timing::until("two work", || most.load(SeqCst) == 2);
        after(100);
        assert_eq!(most.load(SeqCst), 2);
        over.cancel();
        query.join().unwrap().unwrap_err();
    });
    scheduler.set_workers(0);
    assert_eq!(scheduler.workers(), 1);
}

/// Detects queries that are served in the order of their arrival, and one that is served more than its equals.
#[test]
fn concurrent_queries_share_the_workers_fairly() {
    timing::in_one_of(5, concurrent_queries_end_fairly);
}

fn concurrent_queries_end_fairly() -> Result<(), String> {
    let scheduler = Scheduler::new(2);
    let begun = Instant::now();
    let ends: Vec<Duration> = std::thread::scope(|scope| {
        let callers: Vec<_> = [300u64, 300, 300, 6]
            .into_iter()
            .enumerate()
            .map(|(number, units)| {
                let scheduler = &scheduler;
                scope.spawn(move || {
                    // The short one comes last, when both places are taken.
                    std::thread::sleep(Duration::from_millis(if number == 3 { 30 } else { 0 }));
                    let toy = Toy::new("share", Input::Units(units), |_, _| {
                        std::thread::sleep(Duration::from_millis(1));
                        Ok(Outcome::Done)
                    });
                    scheduler.run(plan(&[toy], &[]), &QueryControl::new()).unwrap();
                    begun.elapsed()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let (equals, short) = (&ends[..3], ends[3]);
    let (first, last) = (equals.iter().min().unwrap(), equals.iter().max().unwrap());
    assert_eq!(scheduler.active_queries(), 0);
    timing::met(*first > *last * 7 / 10, format!("equals do not end together: {ends:?}"))?;
    timing::met(short < *first / 2, format!("a fiftieth of the work does not end long before: {ends:?}"))
}

#[test]
fn more_callers_than_places_all_end() {
    for workers in [1, 2] {
        let scheduler = Scheduler::new(workers);
        let total = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let toys = [Toy::idle("a", 7), Toy::idle("b", 3), Toy::idle("c", 1)];
                        let dag = plan(&toys, &[(0, 1, Blocking), (1, 2, Blocking)]);
                        scheduler.run(dag, &QueryControl::new()).unwrap();
                        total.fetch_add(toys.iter().map(|toy| toy.units.load(SeqCst)).sum(), SeqCst);
                    }
                });
            }
        });
        assert_eq!(total.load(SeqCst), 12 * 20 * 11);
    }
}

#[test]
fn a_work_order_may_run_a_query() {
    for workers in [1, 2] {
        let scheduler = Arc::new(Scheduler::new(workers));
        let inner_units = Arc::new(AtomicU64::new(0));
        let (their_scheduler, their_units) = (Arc::downgrade(&scheduler), inner_units.clone());
        let outer = Toy::new("outer", Input::Units(6), move |order, _| {
            for _ in order.start..order.end {
                let inner = Toy::idle("inner", 10);
                let dag = plan(&[inner.clone()], &[]);
                their_scheduler.upgrade().unwrap().run(dag, &QueryControl::new())?;
                their_units.fetch_add(inner.units.load(SeqCst), SeqCst);
            }
            Ok(Outcome::Done)
        });
        scheduler.run(plan(&[outer], &[]), &QueryControl::new()).unwrap();
        assert_eq!(inner_units.load(SeqCst), 60);
    }
}

#[test]
fn segments_are_dropped_when_run_returns() {
    let scheduler = Scheduler::new(2);
    for _ in 0..300 {
        let toys = [Toy::idle("a", 40), Toy::idle("b", 40)];
        scheduler.run(plan(&toys, &[(0, 1, Blocking)]), &QueryControl::new()).unwrap();
        assert!(toys.iter().all(|toy| Arc::strong_count(toy) == 1), "somebody still holds a segment");
    }
}

#[test]
fn paused_orders_wait_for_somebody_outside() {
    for workers in [1, 2, 4] {
        let scheduler = Scheduler::new(workers);
        let toy = Toy::new("paused", Input::Units(400), |_, _| Ok(Outcome::Done));
        let control = QueryControl::new().pausable();
        std::thread::scope(|scope| {
            toy.admitted.store(0, SeqCst);
            let run = scope.spawn(|| scheduler.run(plan(&[toy.clone()], &[]), &control).map(drop));
            for admitted in (0..=400).step_by(50) {
                toy.admitted.store(admitted, SeqCst);
                control.resume();
                let begun = Instant::now();
                while toy.units.load(SeqCst) < admitted {
                    assert!(begun.elapsed() < Duration::from_secs(20), "stuck at {admitted}");
                    std::thread::yield_now();
                }
                assert_eq!(toy.units.load(SeqCst), admitted);
                // Others have the workers meanwhile.
                let other = Toy::idle("other", 20);
                scheduler.run(plan(&[other], &[]), &QueryControl::new()).unwrap();
            }
            run.join().unwrap().unwrap();
        });
    }
}

#[test]
fn orders_that_step_aside_leave_their_places_to_others() {
    leaves_its_place(|context, wait| context.step_aside(wait));
}

/// A wait within a wait, such as that of a query that is paused while its reader is slow: the place is lent once,
/// or there would be fewer taken than none, and no place for any thread.
#[test]
fn who_waits_within_a_wait_has_no_place_to_lend() {
    leaves_its_place(|context, wait| context.step_aside(|| context.step_aside(wait)));
}

fn leaves_its_place(aside: fn(&WorkContext<'_>, &dyn Fn())) {
    for workers in [1, 2] {
        let scheduler = Scheduler::new(workers);
        let released = Arc::new(AtomicBool::new(false));
        let theirs = released.clone();
        let late = Instant::now() + Duration::from_secs(20);
        let toy = Toy::new("waits", Input::Units(4), move |_, context| {
            aside(context, &|| {
                // Late it ends, so that others that get no place fail and do not hang.
                while !theirs.load(SeqCst) && !context.should_stop() && Instant::now() < late {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            Ok(Outcome::Done)
        });
        let control = QueryControl::new().pausable();
        std::thread::scope(|scope| {
            let run = scope.spawn(|| scheduler.run(plan(&[toy.clone()], &[]), &control).map(drop));
            // With two workers, two orders wait.
            while toy.executions.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            for _ in 0..20 {
                let other = Toy::new("other", Input::Units(50), |_, _| {
                    burn(20);
                    Ok(Outcome::Done)
                });
                scheduler.run(plan(&[other], &[]), &QueryControl::new()).unwrap();
            }
            assert_eq!(toy.units.load(SeqCst), 0);
            released.store(true, SeqCst);
            run.join().unwrap().unwrap();
        });
        assert_eq!((toy.units.load(SeqCst), scheduler.active_queries()), (4, 0));
    }
}

/// A query of a priority, on a thread of its own, whose orders take a tenth of a millisecond.
fn of_priority(scheduler: &Scheduler, priority: u32, cancel: &CancelToken) -> QueryControl {
    let query = scheduler.begin(QuerySpec { priority, ..QuerySpec::default() });
    // Its results are streamed: callers of others may not serve it.
    QueryControl::with_cancel(cancel.clone()).pausable().of(query)
}

#[test]
fn callers_give_their_places_to_streams_of_higher_priority() {
    timing::in_one_of(5, callers_give_their_places);
}

fn callers_give_their_places() -> Result<(), String> {
    let scheduler = Scheduler::new(2);
    let over = CancelToken::new();
    let brief = |name: &str, units: u64| {
        Toy::new(name, Input::Units(units), |_, _| {
            burn(100);
            Ok(Outcome::Done)
        })
    };
    let low = [brief("low", 1 << 30), brief("low", 1 << 30)];
    let meanwhile = std::thread::scope(|scope| {
        for toy in &low {
            let (scheduler, control) = (&scheduler, of_priority(&scheduler, 1, &over));
            scope.spawn(move || _ = scheduler.run(plan(&[toy.clone()], &[]), &control));
        }
        let executed = || low.iter().map(|toy| toy.executions.load(SeqCst)).sum::<u64>();
        while low.iter().any(|toy| toy.executions.load(SeqCst) < 20) {
            std::thread::yield_now();
        }
        let high = brief("high", 2_000);
        let control = of_priority(&scheduler, 2, &CancelToken::new());
        let before = executed();
        scheduler.run(plan(&[high.clone()], &[]), &control).unwrap();
        let meanwhile = executed() - before;
        over.cancel();
        assert_eq!(high.completed_units.load(SeqCst), 2_000);
        meanwhile
    });
    assert_eq!(scheduler.active_queries(), 0);
    // While threads change places, some.
    timing::met(meanwhile < 400, format!("{meanwhile} orders of lower priority beside 2,000"))
}

/// Time, and not orders: one that the machine has no time for in its midst is long.
#[test]
fn streams_of_one_priority_share_equally() {
    timing::in_one_of(20, streams_share_equally);
}

fn streams_share_equally() -> Result<(), String> {
    let scheduler = Scheduler::new(2);
    let over = CancelToken::new();
    let times: Vec<Arc<AtomicU64>> = (0..5).map(|_| Arc::default()).collect();
    let stream = |time: &Arc<AtomicU64>| {
        let time = time.clone();
        Toy::new("stream", Input::Units(1 << 30), move |_, _| {
            let begun = Instant::now();
            burn(100);
            time.fetch_add(begun.elapsed().as_micros() as u64, SeqCst);
            Ok(Outcome::Done)
        })
    };
    let toys: Vec<_> = times.iter().map(stream).collect();
    std::thread::scope(|scope| {
        for toy in &toys {
            let (scheduler, control) = (&scheduler, of_priority(&scheduler, 1, &over));
            scope.spawn(move || _ = scheduler.run(plan(&[toy.clone()], &[]), &control));
        }
        std::thread::sleep(Duration::from_millis(500));
        over.cancel();
    });
    let times: Vec<u64> = times.iter().map(|time| time.load(SeqCst)).collect();
    let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    timing::met(*least * 10 > *most * 6, format!("microseconds of each: {times:?}"))
}

/// Orders of a limited segment that run at once: never more than the limit, and all are executed, those included that
/// come back as continuations. Its producer has no limit.
#[test]
fn a_limited_segment_has_no_more_orders_at_a_time() {
    for limit in [1, 2, 3] {
        let scheduler = Scheduler::new(4);
        let inside = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let (now, peak) = (inside.clone(), most.clone());
        let limited = Toy::new("limited", Input::Stream, move |order, _| {
            peak.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            burn(30);
            now.fetch_sub(1, SeqCst);
            // Every third comes back once, with nothing left.
            let rest = WorkOrder { start: order.end, ..order };
            Ok(if order.start.is_multiple_of(3) && order.units() > 0 {
                Outcome::Continue(rest)
            } else {
                Outcome::Done
            })
        });
        limited.orders_max.store(limit, SeqCst);
        let fed = limited.clone();
        let producer = Toy::new("producer", Input::Units(600), move |order, context| {
            fed.feed(order.units());
            context.units_ready(order.units());
            Ok(Outcome::Done)
        });
        let dag = plan(&[producer.clone(), limited.clone()], &[(0, 1, Streaming)]);
        scheduler.run(dag, &QueryControl::new()).unwrap();
        assert_eq!((producer.completed_units.load(SeqCst), limited.completed_units.load(SeqCst)), (600, 600));
        assert!((1..=limit).contains(&most.load(SeqCst)), "{} at once, {limit} allowed", most.load(SeqCst));
    }
}
