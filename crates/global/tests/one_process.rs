//! A program on the locales of one process: arrays, delegates, tasks, loops, events, errors.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;

use global::{
    Config, Distribution, EventId, GlobalError, Here, LocaleId, Operation, Place, Runtime, Symmetric, Target,
};
use memory::Budget;
use random::Random;

/// Bodies where they are asked for, and as messages; aggregated and not.
fn configurations() -> Vec<Config> {
    let mut all = Vec::new();
    for (direct, on) in [(true, true), (false, true), (false, false)] {
        let mut config = Config::new(3);
        config.direct = direct;
        config.aggregation.on = on;
        all.push(config);
    }
    all
}

#[test]
fn a_million_concurrent_delegates_on_one_counter_are_exact() {
    for config in configurations() {
        let runtime = Runtime::new(config).unwrap();
        let counter = runtime.array::<u64>(1, Distribution::Block).unwrap();
        let (blocking, sum) = (counter.clone(), counter);
        let total = runtime.run(|here| async move {
            let event = here.event();
            let (id, array) = (event.id(), sum.clone());
            here.spawn_loop(id, 0..900_000, 5_000, move |here, range| {
                range.for_each(|_| _ = array.try_send(here, id, Operation::Add, 0, 1));
            });
            here.spawn_loop_waiting(id, 0..100_000, 500, move |here, range| {
                let array = blocking.clone();
                async move {
                    for _ in range {
                        array.fetch_add(&here, 0, 1).await;
                    }
                }
            });
            event.wait().await;
            sum.read(&here, 0).await
        });
        assert_eq!(total, Ok(1_000_000));
    }
}

#[test]
fn each_kind_of_delegate_gives_what_was_there_before() {
    for config in configurations() {
        let runtime = Runtime::new(config).unwrap();
        let words = runtime.array::<i64>(30, Distribution::BlockCyclic(4)).unwrap();
        let reals = runtime.array::<f64>(30, Distribution::Block).unwrap();
        let small = runtime.array::<u32>(30, Distribution::Block).unwrap();
        let done = runtime.run(|here| async move {
            for at in 0..30 {
                assert_eq!(words.write(&here, at, 5).await, 0);
                assert_eq!(words.fetch_add(&here, at, -7).await, 5);
                assert_eq!(words.compare_swap(&here, at, 5, 9).await, -2);
                assert_eq!(words.compare_swap(&here, at, -2, 9).await, -2);
                assert_eq!(words.operate(&here, Operation::Minimum, at, 3, 0).await, 9);
                assert_eq!(words.operate(&here, Operation::Maximum, at, 4, 0).await, 3);
                assert_eq!(words.read(&here, at).await, 4);
                reals.fetch_add(&here, at, 1.5).await;
                assert_eq!(reals.fetch_add(&here, at, 1.5).await, 1.5);
                assert_eq!(reals.compare_swap(&here, at, 3.0, f64::NAN).await, 3.0);
                assert_eq!(reals.compare_swap(&here, at, f64::NAN, -1.0).await.to_bits(), f64::NAN.to_bits());
                assert_eq!(reals.read(&here, at).await, -1.0);
                small.write(&here, at, u32::MAX).await;
                assert_eq!(small.fetch_add(&here, at, 2).await, u32::MAX);
                assert_eq!(small.read(&here, at).await, 1);
            }
        });
        assert_eq!(done, Ok(()));
    }
}

#[test]
fn replicas_are_independent_and_closures_run_on_the_one_they_name() {
    for config in configurations() {
        let runtime = Runtime::new(config).unwrap();
        let found = runtime.run(|here| async move {
            let lists = Symmetric::new(&here, |locale| vec![locale.0]).unwrap();
            let event = here.event();
            for round in 0..50_u16 {
                for locale in here.own_locales() {
                    lists.send(&here, event.id(), locale, move |list| list.push(round));
                    let length = lists.delegate(&here, locale, |list| list.len()).await;
                    assert!(length >= 1);
                }
            }
            event.wait().await;
            let Target::Place { object, .. } = lists.address(LocaleId(0)).target() else { panic!() };
            assert_eq!(
                lists.address(LocaleId(2)).target(),
                Target::Place { locale: LocaleId(2), object, offset: 0 }
            );
            lists.each(|list| (list[0], list.len()))
        });
        assert_eq!(found, Ok(vec![(0, 51), (1, 51), (2, 51)]));
    }
}

#[test]
fn others_change_a_local_value_through_its_address() {
    for config in configurations() {
        let runtime = Runtime::new(config).unwrap();
        let found = runtime.run(|here| async move {
            let mine = here.export(vec![0_u64; 4]).unwrap();
            let event = here.event();
            for locale in here.own_locales() {
                let theirs = mine.clone();
                here.spawn_fiber(Place::At(locale), event.id(), move |here| async move {
                    let by = u64::from(here.locale().0) + 1;
                    assert_eq!(theirs.delegate(&here, move |list| list[1] += by).await, Some(()));
                });
            }
            event.wait().await;
            let list = mine.take(&here).await;
            assert_eq!(mine.delegate(&here, |list| list.len()).await, None);
            list
        });
        assert_eq!(found, Ok(Some(vec![0, 6, 0, 0])));
    }
}

#[test]
fn memory_is_charged_refused_and_comes_back() {
    let mut config = Config::new(2);
    config.budget = Budget::new(1 << 20);
    let runtime = Runtime::new(config).unwrap();
    let refused = runtime.array::<u64>(1 << 18, Distribution::Block).err().unwrap();
    assert!(
        matches!(refused, GlobalError::NoMemory { wanted: 2_097_152, limit: 1_048_576, .. }),
        "{refused}"
    );
    assert_eq!(refused.sqlstate(), "53200");
    for _ in 0..100 {
        let array = runtime.array::<u32>(1 << 17, Distribution::BlockCyclic(64)).unwrap();
        assert_eq!(runtime.budget().used(), 512 << 10);
        let per_locale: u64 = (0..2).map(|at| array.layout().part_length(LocaleId(at))).sum();
        assert_eq!((per_locale, runtime.objects()), (1 << 17, 1));
    }
    assert_eq!((runtime.budget().used(), runtime.objects()), (0, 0));
}

#[test]
fn each_iteration_runs_once_and_waiting_tasks_are_few() {
    const COUNT: u64 = 200_000;
    let runtime = Runtime::new(Config::new(2)).unwrap();
    let seen = runtime.array::<u32>(COUNT, Distribution::Block).unwrap();
    let (marks, largest) = (seen.clone(), Arc::new(AtomicU64::new(0)));
    let most = Arc::clone(&largest);
    let done = runtime.run(|here| async move {
        here.forall(0..COUNT, 7, move |_, range| {
            most.fetch_max(range.end - range.start, SeqCst);
            range.for_each(|at| _ = marks.cell(at).unwrap().fetch_add(1, SeqCst));
        })
        .await;
    });
    assert_eq!(done, Ok(()));
    assert!((0..COUNT).all(|at| seen.cell(at).unwrap().load(SeqCst) == 1));
    assert!(largest.load(SeqCst) <= 7);
    let counts = runtime.counts();
    assert!(counts.tasks > COUNT / 7, "{counts:?}");
    assert!(counts.tasks_waiting_peak <= 64, "{counts:?}");
}

#[test]
fn bound_iterations_run_at_their_owner_and_bound_tasks_never_move() {
    let runtime = Runtime::new(Config::new(3)).unwrap();
    let array = runtime.array::<u64>(10_000, Distribution::BlockCyclic(16)).unwrap();
    let (owned, strayed) = (array.clone(), Arc::new(AtomicUsize::new(0)));
    let strays = Arc::clone(&strayed);
    let done = runtime.run(|here| async move {
        let layout = *owned.layout();
        here.forall_parts(&owned, 100, move |here, range, part| {
            for offset in range {
                let index = layout.index(here.locale(), offset as u32);
                assert_eq!(layout.place(index).0, here.locale());
                part[offset as usize].fetch_add(index + 1, SeqCst);
            }
        })
        .await;
        let event = here.event();
        for number in 0..3_000_u16 {
            let (to, strays) = (LocaleId(number % 3), Arc::clone(&strays));
            here.spawn(Place::At(to), event.id(), move |here| {
                strays.fetch_add(usize::from(here.locale() != to), SeqCst);
            });
        }
        event.wait().await;
    });
    assert_eq!(done, Ok(()));
    assert_eq!(strayed.load(SeqCst), 0);
    assert!((0..10_000).all(|at| array.cell(at).unwrap().load(SeqCst) == at + 1));
}

/// A list-like tree: only stealing gives another locale anything to do.
#[test]
fn an_unbalanced_tree_is_worked_on_by_all_locales() {
    fn grow(here: &Here, event: EventId, left: u32, by: Arc<[AtomicUsize; 3]>) {
        by[here.locale().index()].fetch_add(1, SeqCst);
        // Long enough that others come to run, on a machine with fewer processors than locales too.
        std::thread::sleep(Duration::from_micros(200));
        for child in [left / 2, left - left / 2].into_iter().filter(|_| left > 1) {
            let by = Arc::clone(&by);
            here.spawn(Place::Public, event, move |here| grow(here, event, child, by));
        }
    }
    let runtime = Runtime::new(Config::new(3)).unwrap();
    let by = Arc::new([(); 3].map(|()| AtomicUsize::new(0)));
    let counted = Arc::clone(&by);
    let done = runtime.run(|here| async move {
        let event = here.event();
        let id = event.id();
        here.spawn(Place::Public, id, move |here| grow(here, id, 500, counted));
        event.wait().await;
    });
    assert_eq!(done, Ok(()));
    let each: Vec<usize> = by.iter().map(|count| count.load(SeqCst)).collect();
    assert_eq!(each.iter().sum::<usize>(), 999);
    assert!(each.iter().all(|count| *count > 20), "{each:?}");
    assert!(runtime.counts().stolen > 0);
}

/// Random trees of tasks of every kind and place, spawned from anywhere: the event ends when all are over, never before.
fn random_tree(here: &Here, event: EventId, seed: u64, left: &Arc<AtomicU64>, alive: &Arc<AtomicU64>) {
    let mut random = Random::new(seed);
    for _ in 0..random.below(4_u64) {
        // A budget of tasks for the whole tree.
        if left.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_err() {
            return;
        }
        alive.fetch_add(1, SeqCst);
        let (seed, left, alive) = (random.bits(), Arc::clone(left), Arc::clone(alive));
        let locale = LocaleId(random.below(here.locales() as i64) as u16);
        let place = *random.pick(&[Place::Public, Place::Private, Place::Priority, Place::At(locale)]);
        if random.chance(50_u64) {
            here.spawn(place, event, move |here| {
                random_tree(here, event, seed, &left, &alive);
                alive.fetch_sub(1, SeqCst);
            });
        } else {
            here.spawn_fiber(place, event, move |here| async move {
                here.yield_now().await;
                random_tree(&here, event, seed, &left, &alive);
                if seed % 3 == 0 {
                    let (left, alive) = (Arc::clone(&left), Arc::clone(&alive));
                    // A nest: a loop that ends before this task does, with spawns into the outer event.
                    here.forall_waiting(0..seed % 5, 1, move |here, range| {
                        let (left, alive) = (Arc::clone(&left), Arc::clone(&alive));
                        async move {
                            here.yield_now().await;
                            random_tree(&here, event, seed ^ range.start, &left, &alive);
                        }
                    })
                    .await;
                }
                alive.fetch_sub(1, SeqCst);
            });
        }
    }
}

#[test]
fn ten_thousand_random_trees_end_exactly_when_all_is_over() {
    for config in configurations() {
        for combine in [true, false] {
            let mut config = config.clone();
            config.combine = combine;
            let runtime = Runtime::new(config).unwrap();
            let trees = 1_700;
            let done = runtime.run(|here| async move {
                let event = here.event();
                for tree in 0..trees {
                    let (left, alive) = (Arc::new(AtomicU64::new(40)), Arc::new(AtomicU64::new(0)));
                    random_tree(&here, event.id(), tree * 7 + 1, &left, &alive);
                    event.wait().await;
                    assert_eq!(alive.load(SeqCst), 0, "tree {tree}");
                }
            });
            assert_eq!(done, Ok(()));
        }
    }
}

#[test]
fn notes_grow_slower_than_tasks_and_each_task_has_one_without_combining() {
    let notes = |combine: bool, tasks: u64| {
        let mut config = Config::new(2);
        config.combine = combine;
        let runtime = Runtime::new(config).unwrap();
        runtime
            .run(|here| async move {
                let event = here.event();
                for _ in 0..tasks {
                    here.spawn(Place::At(LocaleId(1)), event.id(), |_| {});
                }
                event.wait().await;
            })
            .unwrap();
        runtime.counts().notes
    };
    assert!(notes(false, 1_000) >= 1_000);
    let (few, many) = (notes(true, 1_000), notes(true, 100_000));
    assert!(few < 500 && many < 20_000, "{few} {many}");
}

#[test]
fn half_a_million_fibers_live_on_one_core() {
    let mut config = Config::new(1);
    config.fibers_max = 1 << 20;
    let runtime = Runtime::new(config).unwrap();
    let sum = Arc::new(AtomicU64::new(0));
    let found = Arc::clone(&sum);
    let peak = runtime.run(|here| async move {
        let event = here.event();
        for number in 0..500_000_u64 {
            let (sum, id, at) = (Arc::clone(&sum), event.id(), here.clone());
            here.enroll(id, 1);
            here.begin(async move {
                for _ in 0..3 {
                    at.yield_now().await;
                }
                sum.fetch_add(number, SeqCst);
                at.complete(id, at.locale());
            });
        }
        event.wait().await;
        here.fibers().live_peak
    });
    assert_eq!(peak, Ok(500_001));
    assert_eq!(found.load(SeqCst), 500_000 * 499_999 / 2);
}

#[test]
fn tasks_beyond_the_limit_begin_when_others_end_and_joins_do_not_count() {
    let mut config = Config::new(1);
    config.fibers_max = 8;
    let runtime = Runtime::new(config).unwrap();
    let peak = runtime.run(|here| async move {
        // Nested deeper than the limit: every level waits for its children.
        fn nest(here: Here, depth: u32) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
            Box::pin(async move {
                if depth > 0 {
                    here.forall_waiting(0..2, 1, move |here, range| async move {
                        if range.start == 0 { nest(here, depth - 1).await } else { here.yield_now().await }
                    })
                    .await;
                }
            })
        }
        nest(here.clone(), 40).await;
        let event = here.event();
        for _ in 0..1_000 {
            here.spawn_fiber(Place::Public, event.id(), |here| async move { here.yield_now().await });
        }
        event.wait().await;
        here.fibers().live_peak
    });
    assert!(peak.clone().is_ok_and(|peak| (40..=8 + 82).contains(&peak)), "{peak:?}");
}

#[test]
fn priority_tasks_go_before_a_load_of_others() {
    let runtime = Runtime::new(Config::new(1)).unwrap();
    let before = Arc::new(AtomicUsize::new(usize::MAX));
    let found = Arc::clone(&before);
    let done = runtime.run(|here| async move {
        let (event, ran) = (here.event(), Arc::new(AtomicUsize::new(0)));
        for number in 0..1_000 {
            let (id, ran, before) = (event.id(), Arc::clone(&ran), Arc::clone(&before));
            here.spawn(Place::Public, id, move |here| {
                ran.fetch_add(1, SeqCst);
                if number == 900 {
                    let then = ran.load(SeqCst);
                    here.spawn(Place::Priority, id, move |_| before.store(ran.load(SeqCst) - then, SeqCst));
                }
            });
        }
        event.wait().await;
    });
    assert_eq!((done, found.load(SeqCst)), (Ok(()), 0));
}

#[test]
fn futures_with_wakers_of_their_own_are_polled_again() {
    struct Elsewhere(Arc<AtomicBool>, bool);
    impl Future for Elsewhere {
        type Output = ();
        fn poll(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<()> {
            if self.0.load(SeqCst) {
                return std::task::Poll::Ready(());
            }
            if !std::mem::replace(&mut self.1, true) {
                let (waker, flag) = (context.waker().clone(), Arc::clone(&self.0));
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(20));
                    flag.store(true, SeqCst);
                    waker.wake();
                });
            }
            std::task::Poll::Pending
        }
    }
    let runtime = Runtime::new(Config::new(2)).unwrap();
    assert_eq!(runtime.run(|_| Elsewhere(Arc::default(), false)), Ok(()));
}

#[test]
fn mistakes_end_the_program_with_one_error_and_the_next_one_runs() {
    let runtime = Runtime::new(Config::new(2)).unwrap();
    let array = runtime.array::<u64>(10, Distribution::Block).unwrap();
    let outside = array.clone();
    let beyond = runtime.run(|here| async move { outside.read(&here, 10).await });
    assert_eq!(beyond, Err(GlobalError::OutOfRange { index: 10, length: 10 }));
    let panicked = runtime.run(|here| async move {
        here.forall(0..100, 1, |_, range| assert_ne!(range.start, 63, "as planned")).await;
    });
    assert!(matches!(&panicked, Err(GlobalError::Panicked { message }) if message.contains("as planned")));
    let elsewhere = runtime.run(|here| async move { here.spawn(Place::At(LocaleId(7)), None, |_| {}) });
    assert!(elsewhere.is_ok() || matches!(elsewhere, Err(GlobalError::Argument { .. })));
    let runtime = Arc::new(runtime);
    let inner = Arc::clone(&runtime);
    let nested = runtime.run(|_| async move { inner.run(|_| async {}) });
    assert!(matches!(nested, Ok(Err(GlobalError::Argument { .. }))), "{nested:?}");
    assert_eq!(runtime.run(|here| async move { array.read(&here, 9).await }), Ok(0));
}

#[test]
fn a_cancelled_program_ends_soon_and_frees_what_it_had() {
    let mut config = Config::new(2);
    config.budget = Budget::new(1 << 20);
    let cancel = config.cancel.clone();
    let runtime = Runtime::new(config).unwrap();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        cancel.cancel();
    });
    let ended = runtime.run(|here| async move {
        let _array = global::GlobalArray::<u64>::new(&here, 1_000, Distribution::Block).await;
        let event = here.event();
        event.id();
        here.enroll(event.id(), 1);
        event.wait().await;
    });
    canceller.join().unwrap();
    assert_eq!(ended, Err(GlobalError::Cancelled));
    assert_eq!((runtime.budget().used(), runtime.objects()), (0, 0));
}

/// With a switch pipeline, without, and with distances that are longer than there are fibers: the same result.
#[test]
fn every_distance_of_prefetch_gives_the_same() {
    for distance in [0, 1, 4, 100] {
        let mut config = Config::new(1);
        config.prefetch_distance = distance;
        let runtime = Runtime::new(config).unwrap();
        let order = runtime.run(|here| async move {
            let (event, order) = (here.event(), here.export(Vec::new()).unwrap());
            for number in 0..20 {
                let order = order.clone();
                here.spawn_fiber(Place::Private, event.id(), move |here| async move {
                    here.yield_now().await;
                    order.delegate(&here, move |order| order.push(number)).await;
                });
            }
            event.wait().await;
            order.take(&here).await.unwrap()
        });
        assert_eq!(order.unwrap(), (0..20).collect::<Vec<i32>>(), "distance {distance}");
    }
}
