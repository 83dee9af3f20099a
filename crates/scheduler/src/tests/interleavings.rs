//! Every interleaving of the protocol in `lifecycle.rs`, step by step, with three workers and two
//! orders. The steps are those of the code, one per atomic access; states already seen are not
//! visited again, so this is exhaustive and takes milliseconds. The planted fault (no second look
//! at `inside`) is a race that a soak found once in a hundred thousand queries.

use std::collections::HashSet;

const ORDERS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Enter,
    LookOpen,
    Claim,
    Run,
    Drain,
    TakeOff,
    LookDraining,
    LookInside,
    Win,
    Finish,
    Ended,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Open,
    Draining,
    Finished,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    phase: Phase,
    inside: u8,
    claimed: u8,
    running: u8,
    finishes: u8,
    workers: [(Step, /* goes on after leaving */ bool); 3],
}

/// One step of one worker; `Err` when the segment is finished under a running order or twice.
fn step(mut state: State, worker: usize, second_look: bool) -> Result<State, &'static str> {
    let (at, mut more) = state.workers[worker];
    let left = if more { Step::Enter } else { Step::Ended };
    let next = match at {
        Step::Enter => {
            state.inside += 1;
            Step::LookOpen
        }
        Step::LookOpen if state.phase == Phase::Open => Step::Claim,
        Step::LookOpen => {
            more = false;
            Step::TakeOff
        }
        Step::Claim if state.claimed < ORDERS => {
            state.claimed += 1;
            state.running += 1;
            more = true;
            Step::Run
        }
        Step::Claim => Step::Drain,
        Step::Run => {
            state.running -= 1;
            Step::TakeOff
        }
        Step::Drain => {
            if state.phase == Phase::Open {
                state.phase = Phase::Draining;
            }
            more = false;
            Step::TakeOff
        }
        Step::TakeOff => {
            state.inside -= 1;
            if state.inside == 0 { Step::LookDraining } else { left }
        }
        Step::LookDraining if state.phase != Phase::Draining => left,
        Step::LookDraining => {
            if second_look {
                Step::LookInside
            } else {
                Step::Win
            }
        }
        Step::LookInside => {
            if state.inside == 0 {
                Step::Win
            } else {
                left
            }
        }
        Step::Win if state.phase == Phase::Draining => {
            state.phase = Phase::Finished;
            Step::Finish
        }
        Step::Win => left,
        Step::Finish => {
            state.finishes += 1;
            if state.running > 0 {
                return Err("finished while an order runs");
            }
            if state.finishes > 1 {
                return Err("finished twice");
            }
            left
        }
        Step::Ended => Step::Ended,
    };
    state.workers[worker] = (next, more);
    Ok(state)
}

/// Visits all states; the first fault found, or how many states there are.
fn explore(second_look: bool) -> Result<usize, &'static str> {
    let workers = [(Step::Enter, false); 3];
    let first = State { phase: Phase::Open, inside: 0, claimed: 0, running: 0, finishes: 0, workers };
    let (mut seen, mut open) = (HashSet::from([first]), vec![first]);
    while let Some(state) = open.pop() {
        if state.workers.iter().all(|worker| worker.0 == Step::Ended) && state.finishes != 1 {
            return Err("not finished at the end");
        }
        for worker in 0..state.workers.len() {
            let next = step(state, worker, second_look)?;
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn a_segment_is_finished_once_and_last() {
    assert!(explore(true).unwrap() > 1_000);
}

#[test]
fn the_planted_fault_is_found() {
    assert_eq!(explore(false), Err("finished while an order runs"));
}
