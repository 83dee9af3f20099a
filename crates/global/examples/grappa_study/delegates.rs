//! Delegates: blocking against asynchronous ones, random updates aggregated and not (GUPS), and how long one takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use global::{Config, Distribution, GlobalArray, Handler, Here, Operation, Registry, Runtime};
use random::Random;

use crate::link::Pair;
use crate::record::{Record, number, text};

const WORDS: u64 = 1 << 22;

/// Asynchronous or blocking updates of random words, so many a second.
async fn updates(here: Here, count: u64, blocking: bool, elsewhere: bool) -> f64 {
    let array = GlobalArray::<u64>::new(&here, WORDS, Distribution::Block).await.expect("memory");
    let event = here.event();
    let (id, words) = (event.id(), array.clone());
    let begun = Instant::now();
    here.spawn_loop_waiting(id, 0..count, 512, move |here, range| {
        let words = words.clone();
        async move {
            let mut random = Random::new(range.start);
            for _ in range {
                // Only words of the second half lie at the other node, or locale.
                let index = random.bits() % WORDS;
                let index = if elsewhere { index / 2 + WORDS / 2 } else { index };
                if blocking {
                    words.fetch_add(&here, index, 1).await;
                } else {
                    words.send(&here, id, Operation::Add, index, 1).await;
                }
            }
        }
    });
    event.wait().await;
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    drop(array);
    rate
}

fn best(rounds: usize, mut rate: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| rate()).fold(0.0, f64::max)
}

pub fn ratio(record: &mut Record) {
    let mut config = Config::new(1);
    config.fibers_max = 4_096;
    let pair = Pair::connect(&config, &Registry::new());
    let over = |blocking| best(3, || pair.run(move |here| updates(here, 1_000_000, blocking, true)));
    let (blocking, asynchronous) = (over(true), over(false));
    let mut add = |between: &str, blocking: f64, asynchronous: f64| {
        let fields = [
            ("between", text(between)),
            ("blocking_per_s", number(blocking)),
            ("async_per_s", number(asynchronous)),
            ("ratio", number(blocking / asynchronous)),
        ];
        record.add("delegates, blocking over asynchronous", &fields);
    };
    add("two endpoints over TCP", blocking, asynchronous);
    config.direct = false;
    config.locales = 2;
    let runtime = Runtime::new(config.clone()).expect("a runtime");
    let within = |runtime: &Runtime, blocking| {
        best(3, || runtime.run(move |here| updates(here, 1_000_000, blocking, true)).expect("an end"))
    };
    add("two locales of a process, as messages", within(&runtime, true), within(&runtime, false));
    config.direct = true;
    let runtime = Runtime::new(config).expect("a runtime");
    add("two locales of a process, direct", within(&runtime, true), within(&runtime, false));
}

pub fn gups(record: &mut Record) {
    let mut rates = Vec::new();
    for on in [true, false] {
        let mut config = Config::new(1);
        config.aggregation.on = on;
        let pair = Pair::connect(&config, &Registry::new());
        let count = if on { 4_000_000 } else { 100_000 };
        let rate = best(3, || pair.run(move |here| updates(here, count, false, true)));
        let counts = pair.runtimes[0].network_counts();
        rates.push(rate);
        let fields = [
            ("aggregated", on.to_string()),
            ("updates_per_s", number(rate)),
            ("messages_a_buffer", number(counts.messages as f64 / counts.buffers as f64)),
            ("mb_per_s", number(rate * counts.bytes as f64 / counts.messages as f64 / 1e6)),
        ];
        record.add("GUPS between two endpoints over TCP", &fields);
    }
    record.add("GUPS, aggregated over not", &[("ratio", number(rates[0] / rates[1]))]);
}

/// A counter that is asked for urgently.
struct Count;

impl Handler for Count {
    type Target = u64;
    type Argument = u64;
    type Output = u64;
    fn run(count: &mut u64, by: u64) -> u64 {
        *count += by;
        *count
    }
}

fn percentile(times: &mut [Duration], percent: usize) -> String {
    times.sort_unstable();
    number(times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e6)
}

pub fn latency(record: &mut Record) {
    let config = Config::new(1);
    let pair = Pair::connect(&config, &Registry::new().with::<Count>());
    let counters: Vec<_> =
        pair.runtimes.iter().map(|runtime| runtime.symmetric(0, |_| 0_u64).expect("memory")).collect();
    let address = counters[0].address(global::LocaleId(1));
    let mut add = |what: &str, loaded: bool, mut times: Vec<Duration>| {
        let fields = [
            ("kind", text(what)),
            ("under_load", loaded.to_string()),
            ("p50_us", percentile(&mut times, 50)),
            ("p99_us", percentile(&mut times, 99)),
        ];
        record.add("round trip of one delegate over TCP", &fields);
    };
    for (what, urgent) in [("lone", false), ("urgent", true)] {
        for loaded in [false, true] {
            let times = pair.run(move |here| async move {
                let array = GlobalArray::<u64>::new(&here, WORDS, Distribution::Block).await.expect("memory");
                let (event, load) = (here.event(), Arc::new(AtomicBool::new(loaded)));
                let (id, words, on) = (event.id(), array.clone(), Arc::clone(&load));
                here.spawn_loop_waiting(id, 0..64, 1, move |here, range| {
                    let (words, on) = (words.clone(), Arc::clone(&on));
                    async move {
                        let mut random = Random::new(range.start);
                        while on.load(Relaxed) {
                            words
                                .send(&here, id, Operation::Add, WORDS / 2 + random.bits() % (WORDS / 2), 1)
                                .await;
                            here.yield_now().await;
                        }
                    }
                });
                let mut times = Vec::new();
                for _ in 0..if loaded { 200 } else { 2_000 } {
                    let begun = Instant::now();
                    if urgent {
                        here.call_urgently::<Count>(address, 1).await;
                    } else {
                        here.call::<Count>(address, 1).await;
                    }
                    times.push(begun.elapsed());
                }
                load.store(false, Relaxed);
                event.wait().await;
                times
            });
            add(what, loaded, times);
        }
    }
}
