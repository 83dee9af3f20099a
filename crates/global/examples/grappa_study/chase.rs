//! Pointer chasing (the thesis' figure 2.4): how many references a second a core makes, by how many are on their way at one
//! time. Once with several lists in one loop, which the processor overlaps by itself; once with a fiber a list, which asks
//! for the next place and lets the others run.

use std::sync::Arc;

use cpu_time::ThreadTime;
use global::{Config, Runtime};
use random::Random;

use crate::record::{Record, number, text};

/// 256 MiB of places of four bytes: far beyond the caches.
const PLACES: u32 = 1 << 26;
const REFERENCES: u64 = 4_000_000;

/// One cycle through all places, in an order without a stride: multiplying and shifting are one to one on 26 bits.
fn cycle() -> Vec<u32> {
    let scramble = |at: u32| {
        let mixed = at.wrapping_mul(0x9E37_79B1) & (PLACES - 1);
        (mixed ^ mixed >> 13).wrapping_mul(0x85EB_CA6B) & (PLACES - 1)
    };
    let mut next = vec![0; PLACES as usize];
    let mut random = Random::new(1);
    let step = (random.bits() as u32 | 1) & (PLACES - 1);
    for at in 0..PLACES {
        next[scramble(at) as usize] = scramble(at.wrapping_add(step) & (PLACES - 1));
    }
    next
}

pub fn study(record: &mut Record) {
    let next = Arc::new(cycle());
    for lists in [1, 2, 4, 8, 10, 16, 32, 48] {
        for kind in ["instructions", "fibers"] {
            let rate = |next: &Arc<Vec<u32>>| {
                if kind == "fibers" { fibers(next, lists) } else { one_loop(next, lists) }
            };
            let best = (0..2).map(|_| rate(&next)).fold(0.0, f64::max);
            let fields =
                [("kind", text(kind)), ("lists", lists.to_string()), ("references_per_s", number(best))];
            record.add("pointer chase, one core", &fields);
        }
    }
}

fn begin(list: usize, lists: usize) -> u32 {
    (u64::from(PLACES) * list as u64 / lists as u64) as u32
}

fn one_loop(next: &[u32], lists: usize) -> f64 {
    let mut at: Vec<u32> = (0..lists).map(|list| begin(list, lists)).collect();
    let rounds = REFERENCES / lists as u64;
    let begun = ThreadTime::now();
    for _ in 0..rounds {
        at.iter_mut().for_each(|at| *at = next[*at as usize]);
    }
    std::hint::black_box(&at);
    (rounds * lists as u64) as f64 / begun.elapsed().as_secs_f64()
}

fn fibers(next: &Arc<Vec<u32>>, lists: usize) -> f64 {
    let mut config = Config::new(1);
    config.prefetch_distance = 0;
    let runtime = Runtime::new(config).expect("a runtime");
    let (next, rounds) = (Arc::clone(next), REFERENCES / lists as u64);
    let took = runtime.run(|here| async move {
        let event = here.event();
        let begun = ThreadTime::now();
        for list in 0..lists {
            let (at, id, next) = (here.clone(), event.id(), Arc::clone(&next));
            here.enroll(id, 1);
            here.begin(async move {
                let mut place = begin(list, lists);
                for _ in 0..rounds {
                    simd::prefetch(&next, place as usize);
                    at.yield_now().await;
                    place = next[place as usize];
                }
                std::hint::black_box(place);
                at.complete(id, at.locale());
            });
        }
        event.wait().await;
        begun.elapsed()
    });
    (rounds * lists as u64) as f64 / took.expect("an end").as_secs_f64()
}
