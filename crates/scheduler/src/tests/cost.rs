//! What the scheduler itself costs. Run: `cargo test --release -p scheduler -- --ignored --nocapture cost`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use workorder::EdgeKind::Blocking;
use workorder::Outcome;

use super::toy::{Input, Toy, burn, plan};
use crate::messages::Control;
use crate::{QueryControl, QuerySpec, Scheduler};

/// Median over `runs` of one run of a plan of fresh toys.
fn median(scheduler: &Scheduler, runs: usize, toys: impl Fn() -> Vec<Arc<Toy>>) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let toys = toys();
            let edges: Vec<_> = (1..toys.len() as u32).map(|to| (to - 1, to, Blocking)).collect();
            let dag = plan(&toys, &edges);
            let control = QueryControl::new();
            let begun = Instant::now();
            scheduler.run(dag, &control).unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

#[test]
#[ignore = "a measurement"]
fn cost() {
    for workers in [1, 2] {
        let scheduler = Scheduler::new(workers);
        let one = median(&scheduler, 20_000, || vec![Toy::idle("one", 1)]);
        let chain = median(&scheduler, 5_000, || (0..10).map(|_| Toy::idle("link", 1)).collect());
        // Many tiny units: what claiming and completing an order costs.
        let tiny = Toy::idle("tiny", 1_000_000);
        let begun = Instant::now();
        scheduler.run(plan(&[tiny.clone()], &[]), &QueryControl::new()).unwrap();
        let per_order = begun.elapsed().as_nanos() as u64 / tiny.executions.load(SeqCst);
        println!(
            "{workers} workers: one order {one:?}, ten segments {chain:?}, per order {per_order} ns ({} orders)",
            tiny.executions.load(SeqCst)
        );
    }
    // How well two workers share 20 segments of 1 ms each, with waking at every segment.
    let burning = || -> Vec<Arc<Toy>> {
        let link = || {
            Toy::new("burn", Input::Units(50), |order, _| {
                burn(20 * order.units());
                Ok(Outcome::Done)
            })
        };
        (0..20).map(|_| link()).collect()
    };
    let alone = median(&Scheduler::new(1), 20, burning);
    let shared = median(&Scheduler::new(2), 20, burning);
    println!("20 segments of 1 ms: 1 worker {alone:?}, 2 workers {shared:?}");
    // What a message over the bus costs compared with the same done directly: what admission and completions would
    // pay.
    let scheduler = Scheduler::new(2);
    let query = scheduler.begin(QuerySpec::default());
    let timed = |work: &dyn Fn(u32)| {
        let begun = Instant::now();
        (0..200_000).for_each(work);
        begun.elapsed().as_nanos() as u64 / 200_000
    };
    let told = timed(&|at| query.set_priority(at % 100));
    let direct = timed(&|at| query.obey(Control::Priority(query.id(), at % 100)));
    println!("a message over the bus: {told} ns, the same directly {direct} ns");
}

/// Claims, refills and completions: what a query takes on top of the time inside its work orders. Time that other
/// processes take falls into orders, which are nearly all of it; of a few runs the least disturbed one counts.
#[test]
fn scheduling_takes_less_than_a_hundredth_at_orders_of_a_third_of_a_millisecond() {
    let scheduler = Scheduler::new(1);
    let overhead = || {
        let inside = Arc::new(AtomicU64::new(0));
        let toys: Vec<_> = (0..4)
            .map(|_| {
                let inside = inside.clone();
                Toy::new("burn", Input::Units(60), move |order, _| {
                    let begun = Instant::now();
                    burn(300 * order.units());
                    inside.fetch_add(begun.elapsed().as_nanos() as u64, SeqCst);
                    Ok(Outcome::Done)
                })
            })
            .collect();
        let edges: Vec<_> = (1..toys.len() as u32).map(|to| (to - 1, to, Blocking)).collect();
        let dag = plan(&toys, &edges);
        let query = scheduler.begin(QuerySpec::default());
        let begun = Instant::now();
        scheduler.run(dag, &QueryControl::new().of(query)).unwrap();
        let all = begun.elapsed().as_nanos() as u64;
        (all - inside.load(SeqCst)) as f64 / all as f64
    };
    let least = (0..7).map(|_| overhead()).fold(1.0, f64::min);
    println!("{:.3} % of a query's time is the scheduler's", least * 100.0);
    assert!(least < 0.01, "{:.2} % of a query's time is the scheduler's", least * 100.0);
}
