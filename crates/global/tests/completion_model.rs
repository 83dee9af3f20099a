//! All interleavings of small programs over the real state machine of completion events: an explorer that takes every
//! order of steps and of messages. Nothing is said to be done while work is outstanding, and all is said to be done in
//! the end. A planted fault (reports that do not wait for the acknowledgement) has to be found.

use std::collections::{BTreeMap, HashSet};

use global::completion::{Count, Master, Note, To};

/// A piece of work: enrolled at one locale, running at another.
type Piece = (u16, u16);

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    counts: Vec<Count>,
    master: Master,
    pieces: BTreeMap<Piece, u8>,
    /// From, to, note; a bag: any may arrive next.
    messages: BTreeMap<(u16, u16, Note), u8>,
    left: u8,
}

struct Explorer {
    locales: u16,
    waits_for_acknowledgement: bool,
    /// Report at every step, or only when the explorer chooses to.
    combined: bool,
    seen: HashSet<World>,
    fault: Option<&'static str>,
}

const MASTER: u16 = 0;

impl Explorer {
    fn post(world: &mut World, from: u16, to: u16, note: Note) {
        *world.messages.entry((from, to, note)).or_default() += 1;
    }

    fn enroll(&self, world: &mut World, at: u16) {
        let note = world.counts[at as usize].enroll(1);
        if note.is_none() {
            return;
        }
        if at == MASTER {
            world.master.cancel();
            world.counts[at as usize].acknowledged();
        } else {
            Self::post(world, at, MASTER, Note::Cancel);
            if !self.waits_for_acknowledgement {
                world.counts[at as usize].acknowledged();
            }
        }
    }

    fn report(&self, world: &mut World, at: u16) {
        let mut notes = Vec::new();
        world.counts[at as usize].report(|to, note| notes.push((to, note)));
        for (to, note) in notes {
            match to {
                To::Master if at == MASTER => world.master.enter(),
                To::Master => Self::post(world, at, MASTER, note),
                To::Locale(to) => Self::post(world, at, to, note),
            }
        }
    }

    fn take<K: Ord>(bag: &mut BTreeMap<K, u8>, key: K) {
        let count = bag.get_mut(&key).unwrap();
        *count -= 1;
        if *count == 0 {
            bag.remove(&key);
        }
    }

    fn arrives(&self, world: &mut World, (from, to, note): (u16, u16, Note)) {
        Self::take(&mut world.messages, (from, to, note));
        match note {
            Note::Cancel => {
                world.master.cancel();
                if self.waits_for_acknowledgement {
                    Self::post(world, MASTER, from, Note::Acknowledge);
                }
            }
            Note::Enter => world.master.enter(),
            Note::Acknowledge => world.counts[to as usize].acknowledged(),
            Note::Complete(pieces) => {
                world.counts[to as usize].complete(u64::from(pieces));
            }
        }
        if !self.combined {
            self.report(world, to);
        }
    }

    /// All worlds that one step leads to.
    fn steps(&self, world: &World) -> Vec<World> {
        let mut next = Vec::new();
        let mut step = |change: &dyn Fn(&mut World)| {
            let mut world = world.clone();
            change(&mut world);
            next.push(world);
        };
        for (origin, runs) in world.pieces.keys().copied() {
            // It spawns a piece that runs anywhere, enrolled where the spawner runs.
            for to in (0..self.locales).filter(|_| world.left > 0) {
                step(&|world| {
                    world.left -= 1;
                    self.enroll(world, runs);
                    *world.pieces.entry((runs, to)).or_default() += 1;
                });
            }
            // It ends.
            step(&|world| {
                Self::take(&mut world.pieces, (origin, runs));
                let count = &mut world.counts[runs as usize];
                if origin == runs {
                    count.complete(1);
                } else {
                    count.owe(origin, 1);
                }
                if !self.combined {
                    self.report(world, runs);
                }
            });
        }
        for message in world.messages.keys().copied() {
            step(&|world| self.arrives(world, message));
        }
        for at in 0..self.locales {
            if self.combined && world.counts[at as usize].has_report() {
                step(&|world| self.report(world, at));
            }
        }
        next
    }

    fn explore(mut self, pieces: u8) -> (usize, Option<&'static str>) {
        let mut start = World {
            counts: vec![Count::default(); self.locales as usize],
            master: Master::default(),
            pieces: BTreeMap::new(),
            messages: BTreeMap::new(),
            left: pieces,
        };
        // The root enrolls a piece at the master, which runs anywhere.
        let mut open = Vec::new();
        self.enroll(&mut start, MASTER);
        for to in 0..self.locales {
            let mut world = start.clone();
            world.pieces.insert((MASTER, to), 1);
            open.push(world);
        }
        while let Some(world) = open.pop() {
            if !self.seen.insert(world.clone()) || self.fault.is_some() {
                continue;
            }
            if world.master.is_done() && !world.pieces.is_empty() {
                self.fault = Some("done with work outstanding");
            }
            let next = self.steps(&world);
            if next.is_empty() && !(world.master.is_done() && world.counts.iter().all(Count::is_idle)) {
                self.fault = Some("nothing is left to do and it is not done");
            }
            open.extend(next);
        }
        (self.seen.len(), self.fault)
    }
}

fn explorer(locales: u16, combined: bool, waits_for_acknowledgement: bool) -> Explorer {
    Explorer { locales, combined, waits_for_acknowledgement, seen: HashSet::new(), fault: None }
}

#[test]
fn every_interleaving_of_small_programs_ends_and_none_too_early() {
    for combined in [false, true] {
        for (locales, pieces) in [(2, 4), (3, 3)] {
            let (worlds, fault) = explorer(locales, combined, true).explore(pieces);
            assert_eq!(fault, None, "{locales} locales, {pieces} pieces");
            assert!(worlds > 1_000, "{worlds} worlds of {locales} locales, {pieces} pieces");
        }
    }
}

#[test]
fn reports_that_do_not_wait_for_the_master_are_found() {
    let (_, fault) = explorer(3, false, false).explore(3);
    assert_eq!(fault, Some("done with work outstanding"));
}
