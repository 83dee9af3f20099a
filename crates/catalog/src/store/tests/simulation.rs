//! Random transactions on a disk that fails, and after every crash a look whether the acknowledged ones are there: all of
//! them, nothing else, and of the one that was under way all or nothing.
//!
//! `QUICKSTEP_SEEDS=0..10000` says which seeds to run; without it a few hundred are.

use files::{Fault, FaultKind, Loss, Operation, SimulatedFiles};

use super::model::{Model, Step, commit};
use super::watched::Watched;
use super::*;

/// What happened in one run, so that a test that never gets to a crash is found out.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) commits: u64,
    pub(super) crashes: u64,
    pub(super) failed: u64,
    pub(super) kept_in_flight: u64,
    pub(super) lost_in_flight: u64,
    pub(super) checkpoints: u64,
    pub(super) torn: u64,
    pub(super) crashed_recoveries: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.commits += other.commits;
        self.crashes += other.crashes;
        self.failed += other.failed;
        self.kept_in_flight += other.kept_in_flight;
        self.lost_in_flight += other.lost_in_flight;
        self.checkpoints += other.checkpoints;
        self.torn += other.torn;
        self.crashed_recoveries += other.crashed_recoveries;
    }
}

/// One run: several lives of one database, each ended by a crash.
pub(super) fn run(seed: u64) -> std::result::Result<Tally, String> {
    let mut random = Random::new(seed ^ 0x51_7C_C1_B7_27_22_0A_95);
    let mut files = SimulatedFiles::new(seed);
    let mut tally = Tally::default();
    // What the next life may find.
    let mut possible = vec![Model::default()];
    for life in 0..4 {
        inject(&files, &mut random);
        // The disk may go while the database is opened, or while it is read then, any number of times.
        let mut tries = 0;
        let (opened, found) = loop {
            let read = |opened: Opened| Model::read(&opened.catalog.snapshot()).map(|found| (opened, found));
            match open(&files).and_then(read) {
                Ok(opened) => break opened,
                Err(error) => {
                    tally.crashed_recoveries += 1;
                    let next = files.restart(if files.is_lost() { Loss::Power } else { Loss::Process });
                    tries += 1;
                    let broken = !files.is_lost() && error.state() == SqlState::DataCorrupted;
                    if broken || tries > 20 {
                        return Err(format!("seed {seed}, life {life}: opening: {error}"));
                    }
                    files = next;
                    if random.below(2) == 0 {
                        inject(&files, &mut random);
                    }
                }
            }
        };
        tally.torn += opened.report.torn.len() as u64;
        opened.store.inline_bytes_max.store([300, 4000, INLINE_BYTES_MAX][random.below(3) as usize], Relaxed);
        let Some(at) = possible.iter().position(|model| *model == found) else {
            return Err(format!(
                "seed {seed}, life {life}: found {found:?}\npossible {possible:?}\nreport {:?}",
                opened.report
            ));
        };
        if possible.len() > 1 {
            let count = if at == 0 { &mut tally.lost_in_flight } else { &mut tally.kept_in_flight };
            *count += 1;
        }
        possible = live(&opened, &files, found, &mut random, &mut tally)
            .map_err(|error| format!("seed {seed}, life {life}: {error}"))?;
        tally.crashes += 1;
        let loss = if files.is_lost() || random.below(3) > 0 { Loss::Power } else { Loss::Process };
        files = files.restart(loss);
    }
    Ok(tally)
}

fn inject(files: &SimulatedFiles, random: &mut Random) {
    let after = random.below(120);
    let kind = match random.below(6) {
        0 => FaultKind::DiskFull,
        1 => FaultKind::Device,
        _ => FaultKind::PowerLoss,
    };
    files.inject(Fault { operation: None, after, kind, lasting: false });
}

/// What the database shows now; `None` when the disk is lost. A fault that passes is met once.
fn look(opened: &Opened, files: &SimulatedFiles) -> Option<Model> {
    let read = || Model::read(&opened.catalog.snapshot());
    match read().or_else(|_| read()) {
        Ok(model) => Some(model),
        Err(_) if files.is_lost() => None,
        Err(error) => panic!("a disk that is well again: {error}"),
    }
}

/// Commits until the disk is lost or enough was done. Returns what may be found afterwards, the surest first.
fn live(
    opened: &Opened,
    files: &SimulatedFiles,
    mut model: Model,
    random: &mut Random,
    tally: &mut Tally,
) -> std::result::Result<Vec<Model>, String> {
    for _ in 0..25 {
        if random.below(8) == 0 {
            match opened.store.checkpoint() {
                Ok(_) => tally.checkpoints += 1,
                Err(_) if files.is_lost() => return Ok(vec![model]),
                Err(_) => tally.failed += 1,
            }
            if opened.store.failure().is_some() {
                return Ok(vec![model]);
            }
        }
        let explicit = random.below(2) == 0;
        let mut after = model.clone();
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..=random.below(3) {
            let step = after.any_step(random);
            after.apply(&step);
            steps.push(step);
        }
        let outcome = commit(&opened.catalog, &steps, explicit);
        tally.commits += u64::from(outcome.is_ok());
        let Some(seen) = look(opened, files) else {
            return Ok(if outcome.is_ok() { vec![after] } else { vec![model, after] });
        };
        match outcome {
            Ok(()) => model = after,
            Err(error) => {
                if seen != model {
                    return Err(format!("{error} left something of {steps:?}"));
                }
                let failure = opened.store.failure().is_some();
                match error.state() {
                    SqlState::DiskFull | SqlState::IoError if files.is_lost() || failure => {
                        return Ok(vec![model, after]);
                    }
                    SqlState::DiskFull | SqlState::IoError => tally.failed += 1,
                    _ => return Err(format!("{error} from {steps:?}")),
                }
            }
        }
        if seen != model {
            return Err(format!("after {steps:?} the catalog shows {seen:?}, not {model:?}"));
        }
    }
    Ok(vec![model])
}

/// The seeds that the environment asks for.
pub(super) fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let asked = std::env::var("QUICKSTEP_SEEDS").ok();
    let range = asked.and_then(|text| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    range.unwrap_or(default)
}

#[test]
fn acknowledged_transactions_survive_a_loss_of_power() {
    let mut tally = Tally::default();
    let seeds = seeds(0..150);
    let began = std::time::Instant::now();
    for seed in seeds.clone() {
        match run(seed) {
            Ok(one) => tally.add(&one),
            Err(what) => panic!("{what}"),
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{} seeds in {seconds:.1} s: {tally:?}", seeds.end - seeds.start);
    // Everything that can happen has happened.
    let least = (seeds.end - seeds.start) / 30;
    assert!(tally.kept_in_flight > least && tally.lost_in_flight > least, "{tally:?}");
    assert!(tally.torn > least && tally.failed > least && tally.checkpoints > least, "{tally:?}");
    assert!(tally.crashed_recoveries > least, "{tally:?}");
}

/// A disk that lies about syncs must be found out, or the test above proves nothing.
#[test]
fn a_disk_that_does_not_sync_is_found_out() {
    let lost = (0..100).filter(|seed| {
        let files = SimulatedFiles::new(*seed);
        let lying = Watched::new(Arc::new(files.clone()), |operation| operation != Operation::Sync);
        let opened = Store::open(Arc::new(lying), pool(), Access::Write).unwrap();
        commit(&opened.catalog, &[Step::Create("t".into())], false).unwrap();
        commit(&opened.catalog, &[Step::Append("t".into(), vec![vec![Some(1)]])], false).unwrap();
        let after = open(&files.restart(Loss::Power));
        after.map_or(true, |opened| Model::of(&opened.catalog.snapshot()).tables.is_empty())
    });
    assert!(lost.count() > 10);
}
