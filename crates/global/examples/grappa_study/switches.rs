//! Context switches (the thesis' figure 2.9): each worker adds to a place of its own in an array and yields. Stackless fibers
//! with and without prefetch, stackful coroutines of crate `corosensei` in a bare loop, and threads of the operating system.
//! Time of the thread's own, as the machine is shared; of threads all of it. Contexts are shuffled: with those of one kind
//! one after another in memory the processor would prefetch by itself.

use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use cpu_time::ThreadTime;
use global::{Config, Runtime};
use random::Random;

use crate::record::{Record, number, text};

const SWITCHES: usize = 4_000_000;

pub fn study(record: &mut Record) {
    for workers in [10, 1_000, 20_000, 500_000] {
        for distance in [0, 2, 4, 8] {
            let nanoseconds = (0..3).map(|_| fibers(workers, distance)).fold(f64::INFINITY, f64::min);
            let fields = [
                ("kind", text("stackless")),
                ("workers", workers.to_string()),
                ("distance", distance.to_string()),
                ("ns", number(nanoseconds)),
            ];
            record.add("context switch", &fields);
        }
    }
    // A stack is two mappings, of which a process has 65,530 by default, and less in a container: half a million are not
    // possible.
    for workers in [10, 1_000, 4_000] {
        let Some(nanoseconds) = (0..3).filter_map(|_| coroutines(workers)).min_by(|a, b| a.total_cmp(b))
        else {
            continue;
        };
        let fields =
            [("kind", text("stackful")), ("workers", workers.to_string()), ("ns", number(nanoseconds))];
        record.add("context switch", &fields);
    }
    for workers in [10, 1_000] {
        let fields =
            [("kind", text("threads")), ("workers", workers.to_string()), ("ns", number(threads(workers)))];
        record.add("context switch", &fields);
    }
}

fn fibers(workers: usize, distance: usize) -> f64 {
    let mut config = Config::new(1);
    (config.prefetch_distance, config.fibers_max) = (distance, 1 << 20);
    let runtime = Runtime::new(config).expect("a runtime");
    let rounds = SWITCHES.div_ceil(workers);
    let took = runtime.run(|here| async move {
        let event = here.event();
        let started = std::rc::Rc::new(std::cell::Cell::new(None));
        let mut all: Vec<std::pin::Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        for _ in 0..workers {
            let (at, id, started) = (here.clone(), event.id(), std::rc::Rc::clone(&started));
            here.enroll(id, 1);
            all.push(Box::pin(async move {
                let mut value = 0_u64;
                // All have begun before time is taken.
                at.yield_now().await;
                at.yield_now().await;
                if started.get().is_none() {
                    started.set(Some(ThreadTime::now()));
                }
                for _ in 0..rounds {
                    value += 1;
                    at.yield_now().await;
                }
                std::hint::black_box(value);
                at.complete(id, at.locale());
            }));
        }
        let mut random = Random::new(3);
        (0..workers).for_each(|at| all.swap(at, random.below(workers)));
        all.into_iter().for_each(|one| here.begin_boxed(one));
        event.wait().await;
        started.get().map_or(Duration::ZERO, |started: ThreadTime| started.elapsed())
    });
    took.expect("an end").as_secs_f64() * 1e9 / (rounds * workers) as f64
}

/// None where the system has no room for so many stacks.
fn coroutines(workers: usize) -> Option<f64> {
    let stacks: Result<Vec<DefaultStack>, _> = (0..workers).map(|_| DefaultStack::new(16 << 10)).collect();
    let make = |stack| {
        Coroutine::with_stack(stack, |yielder, ()| {
            let mut value = 0_u64;
            loop {
                value += 1;
                std::hint::black_box(value);
                yielder.suspend(());
                if value == u64::MAX {
                    return;
                }
            }
        })
    };
    let mut all: Vec<Coroutine<(), (), ()>> = stacks.ok()?.into_iter().map(make).collect();
    let mut random = Random::new(3);
    (0..workers).for_each(|at| all.swap(at, random.below(workers)));
    let resume =
        |one: &mut Coroutine<(), (), ()>| assert!(matches!(one.resume(()), CoroutineResult::Yield(())));
    all.iter_mut().for_each(resume);
    let rounds = SWITCHES.div_ceil(workers);
    let begun = ThreadTime::now();
    for _ in 0..rounds {
        all.iter_mut().for_each(resume);
    }
    let took = begun.elapsed();
    // They never end by themselves, and their stacks hold nothing to drop.
    all.into_iter().for_each(std::mem::forget);
    Some(took.as_secs_f64() * 1e9 / (rounds * workers) as f64)
}

fn threads(workers: usize) -> f64 {
    let rounds = (200_000 / workers).max(20);
    let barrier = std::sync::Barrier::new(workers + 1);
    let began = std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                barrier.wait();
                (0..rounds).for_each(|_| std::thread::yield_now());
            });
        }
        barrier.wait();
        Instant::now()
    });
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()).min(workers);
    began.elapsed().as_secs_f64() * 1e9 * cores as f64 / (rounds * workers) as f64
}
