//! Litmus tests of the memory model: with blocking delegates only what some serial order of the operations gives is seen,
//! wherever the words lie and however messages travel. Each runs many times, with its tasks at different locales.

use std::sync::Mutex;

use global::{
    Config, Distribution, GlobalArray, Here, Link, LinkOptions, LocaleId, Place, Registry, Runtime,
    TaskHandler,
};

/// What a task does: `None` writes 1, `Some` reads; the word's number.
type Program = Vec<(usize, bool)>;

fn store_buffer() -> (Vec<Program>, fn(&[u64]) -> bool) {
    let tasks = vec![vec![(0, true), (1, false)], vec![(1, true), (0, false)]];
    (tasks, |read| read == [0, 0])
}

fn message_passing() -> (Vec<Program>, fn(&[u64]) -> bool) {
    let tasks = vec![vec![(0, true), (1, true)], vec![(1, false), (0, false)]];
    (tasks, |read| read == [1, 0])
}

fn independent_reads() -> (Vec<Program>, fn(&[u64]) -> bool) {
    let tasks =
        vec![vec![(0, true)], vec![(1, true)], vec![(0, false), (1, false)], vec![(1, false), (0, false)]];
    (tasks, |read| read == [1, 0, 1, 0])
}

/// Tasks that other nodes start: which test, which task, round.
static READ: Mutex<Vec<(usize, Vec<u64>)>> = Mutex::new(Vec::new());

async fn perform(here: &Here, array: &GlobalArray<u64>, program: &Program, round: u64) -> Vec<u64> {
    let mut read = Vec::new();
    for (word, writes) in program {
        // Each round has two words of its own, at different locales.
        let index = round * 2 + *word as u64;
        if *writes {
            array.write(here, index, 1).await;
        } else {
            read.push(array.read(here, index).await);
        }
    }
    read
}

async fn litmus(
    here: Here,
    tasks: Vec<Program>,
    forbidden: fn(&[u64]) -> bool,
    rounds: u64,
) -> Vec<Vec<u64>> {
    let array = GlobalArray::<u64>::new(&here, rounds * 2, Distribution::BlockCyclic(1)).await.unwrap();
    let mut outcomes = Vec::new();
    for round in 0..rounds {
        let event = here.event();
        let seen = here.export(vec![Vec::new(); tasks.len()]).unwrap();
        for (number, program) in tasks.iter().cloned().enumerate() {
            let (seen, array) = (seen.clone(), array.clone());
            let locales: Vec<LocaleId> = here.own_locales().collect();
            let at = locales[(number + round as usize) % locales.len()];
            here.spawn_fiber(Place::At(at), event.id(), move |here| async move {
                let read = perform(&here, &array, &program, round).await;
                seen.delegate(&here, move |seen| seen[number] = read).await;
            });
        }
        event.wait().await;
        let outcome = seen.take(&here).await.unwrap().concat();
        assert!(!forbidden(&outcome), "round {round}: {outcome:?}");
        outcomes.push(outcome);
    }
    outcomes.sort();
    outcomes.dedup();
    outcomes
}

#[test]
fn locales_of_a_process_see_serial_orders_only() {
    for direct in [true, false] {
        for test in [store_buffer, message_passing, independent_reads] {
            let (tasks, forbidden) = test();
            let mut config = Config::new(4);
            config.direct = direct;
            let runtime = Runtime::new(config).unwrap();
            let outcomes = runtime.run(|here| litmus(here, tasks, forbidden, 300)).unwrap();
            assert!(!outcomes.is_empty());
        }
    }
}

struct Performs;

impl TaskHandler for Performs {
    type Argument = (u8, u8, u64, u16);
    fn start(
        here: Here,
        (test, task, round, object): Self::Argument,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let (tasks, _) = [store_buffer, message_passing, independent_reads][usize::from(test)]();
            let array = GlobalArray::with_number(&here, object).unwrap();
            let read = perform(&here, &array, &tasks[usize::from(task)], round).await;
            READ.lock().unwrap().push((usize::from(task), read));
        })
    }
}

/// Over nodes: one task a node, its words on others.
#[test]
fn nodes_see_serial_orders_only() {
    let runtimes: Vec<Runtime> = Link::connect(4, LinkOptions::default())
        .into_iter()
        .map(|link| {
            let registry = Registry::new().with_task::<Performs>();
            Runtime::connected(Config::new(1), registry, Box::new(link)).unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for runtime in &runtimes[1..] {
            scope.spawn(|| runtime.serve().unwrap());
        }
        let done = runtimes[0].run(|here| async move {
            for (test, make) in [store_buffer, message_passing, independent_reads].into_iter().enumerate() {
                let (tasks, forbidden) = make();
                let rounds = 100;
                let array =
                    GlobalArray::<u64>::new(&here, rounds * 2, Distribution::BlockCyclic(1)).await.unwrap();
                for round in 0..rounds {
                    let event = here.event();
                    for task in 0..tasks.len() {
                        let to = LocaleId((task as u16 + round as u16) % 4);
                        here.spawn_task::<Performs>(
                            to,
                            event.id(),
                            (test as u8, task as u8, round, array.number()),
                        );
                    }
                    event.wait().await;
                    let mut read = std::mem::take(&mut *READ.lock().unwrap());
                    read.sort();
                    let outcome: Vec<u64> = read.into_iter().flat_map(|(_, read)| read).collect();
                    assert!(!forbidden(&outcome), "test {test}, round {round}: {outcome:?}");
                }
            }
        });
        assert_eq!(done, Ok(()));
    });
}

/// The checker itself: outcomes that a weaker memory gives are told from others.
#[test]
fn weak_outcomes_would_be_found() {
    assert!(store_buffer().1(&[0, 0]) && !store_buffer().1(&[0, 1]));
    assert!(message_passing().1(&[1, 0]) && !message_passing().1(&[1, 1]));
    assert!(independent_reads().1(&[1, 0, 1, 0]) && !independent_reads().1(&[1, 0, 0, 1]));
}
