//! Whether the schedule is on, decided by trying: `auto`.
//!
//! ```text
//!  WATCHING --bulk of three or more senders, and the last trial is 30 s old--> TRYING
//!  TRYING: eight epochs of 250 ms, the schedule on and off in turn, and one more in which the last reports come
//!  TRYING --> WATCHING with the better mode, if it is better by more than 5 %; else with the old one
//! ```
//! One node, the lowest that lives, decides for all, since half a schedule is none. It announces every epoch of a trial;
//! a node that hears of one reports what it sent and received since the last report, and under which mode, so that bytes
//! count for the mode under which they came, however late the report is. Goodput alone is compared: it holds both what
//! retransmissions cost and what idle waiting costs. When fewer than three nodes send for two epochs, the trial ends
//! without a verdict.

/// Nanoseconds since the multiplexer began.
pub type Nanos = u64;
/// A millisecond.
pub const MILLISECOND: Nanos = 1_000_000;

/// The user's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Bulk is sent to everybody at once.
    Off,
    /// Bulk is sent in phases.
    On,
    /// As measured.
    Auto,
}

/// Length of an epoch: a few phases of 4 MiB at 1 Gb/s.
pub const EPOCH: Nanos = 250 * MILLISECOND;
const TRIAL_EPOCHS: u32 = 8;
const TRIAL_EVERY: Nanos = 30_000 * MILLISECOND;
const SENDERS_MIN: usize = 3;
/// The new mode must be better by this, in percent.
const HYSTERESIS_PERCENT: u64 = 5;

/// What a node sent and received under one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Bulk bytes sent.
    pub sent: u64,
    /// Bulk bytes received.
    pub received: u64,
    /// Whether the schedule was on.
    pub on: bool,
}

/// The decider's state; every node has one, only the lowest live one uses it.
#[derive(Debug)]
pub struct Auto {
    on: bool,
    /// The mode that is in force outside of trials.
    chosen: bool,
    trial: Option<Trial>,
    last_trial: Option<Nanos>,
    epoch_ends: Nanos,
    senders: usize,
    verdicts: u64,
}

#[derive(Debug, Default)]
struct Trial {
    /// Epochs that have ended; what others report belongs to the one before the current one.
    ended: u32,
    quiet: u32,
    received: [u64; 2],
}

impl Trial {
    fn count(&mut self, report: Report) {
        let sum = &mut self.received[usize::from(report.on)];
        // A peer may report anything.
        *sum = sum.saturating_add(report.received);
    }
}

impl Default for Auto {
    fn default() -> Auto {
        Auto { on: true, chosen: true, trial: None, last_trial: None, epoch_ends: 0, senders: 0, verdicts: 0 }
    }
}

impl Auto {
    /// Another node's report came.
    pub fn report(&mut self, report: Report) {
        self.senders += usize::from(report.sent > 0);
        if let Some(trial) = self.trial.as_mut().filter(|trial| trial.ended > 0) {
            trial.count(report);
        }
    }

    /// The mode now.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Trials that ended with a verdict.
    pub fn verdicts(&self) -> u64 {
        self.verdicts
    }

    /// Another node decided.
    pub fn follow(&mut self, on: bool) {
        self.on = on;
        self.chosen = on;
    }

    /// Whether an epoch of the deciding node is over.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.epoch_ends
    }

    /// At the end of an epoch on the deciding node, with its own report: the mode to announce, if there is one.
    pub fn end_epoch(&mut self, own: Report, now: Nanos) -> Option<bool> {
        self.epoch_ends = now + EPOCH;
        let contended = std::mem::take(&mut self.senders) + usize::from(own.sent > 0) >= SENDERS_MIN;
        let Some(trial) = &mut self.trial else {
            let rested = self.last_trial.is_none_or(|last| now >= last + TRIAL_EVERY);
            if !contended || !rested {
                return None;
            }
            self.trial = Some(Trial::default());
            self.last_trial = Some(now);
            return Some(self.on);
        };
        if trial.ended < TRIAL_EPOCHS {
            trial.count(own);
        }
        trial.ended += 1;
        trial.quiet = if contended { 0 } else { trial.quiet + 1 };
        if trial.quiet == 2 {
            self.on = self.chosen;
            self.trial = None;
        } else if trial.ended > TRIAL_EPOCHS {
            let [off, on] = trial.received;
            let (old, new) = if self.chosen { (on, off) } else { (off, on) };
            let better = u128::from(new) * 100 > u128::from(old) * u128::from(100 + HYSTERESIS_PERCENT);
            self.chosen ^= better;
            self.on = self.chosen;
            self.trial = None;
            self.verdicts += 1;
        } else {
            self.on = if trial.ended == TRIAL_EPOCHS { self.chosen } else { !self.on };
        }
        Some(self.on)
    }
}

/// Bytes of a phase: at least eight messages, and so many that a synchronisation of `sync` nanoseconds costs at most a
/// twentieth at this bandwidth.
pub fn phase_bytes(message_bytes: u64, bytes_per_second: u64, sync: Nanos) -> u64 {
    let hidden = 20 * u128::from(bytes_per_second) * u128::from(sync) / 1_000_000_000;
    (8 * message_bytes).max(u64::try_from(hidden).unwrap_or(u64::MAX))
}

/// Whether bulk goes by phases under a choice.
pub(crate) fn in_force(choice: Schedule, auto: &Auto, nodes: usize) -> bool {
    match choice {
        Schedule::Off => false,
        Schedule::On => nodes > 2,
        Schedule::Auto => nodes > 2 && auto.is_on(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs epochs in which a mode's goodput is as given; what others received in one is reported in the next. Gives the
    /// mode at the end.
    fn settle(auto: &mut Auto, off: u64, on: u64, senders: usize, epochs: u64, from: Nanos) -> bool {
        let share = |mode| Report { sent: 1, received: if mode { on } else { off }, on: mode };
        let mut before = auto.is_on();
        for epoch in 0..epochs {
            (1..senders).for_each(|_| auto.report(share(before)));
            before = auto.is_on();
            auto.end_epoch(share(before), from + epoch * EPOCH);
        }
        auto.chosen
    }

    #[test]
    fn the_better_mode_wins_by_more_than_the_hysteresis() {
        let mut auto = Auto::default();
        assert!(settle(&mut auto, 104, 100, 4, 20, EPOCH), "4 % is no reason");
        assert!(!settle(&mut auto, 110, 100, 4, 20, 40_000 * MILLISECOND));
        assert!(!auto.is_on());
        assert!(settle(&mut auto, 71, 100, 4, 20, 80_000 * MILLISECOND));
        assert_eq!(auto.verdicts(), 3);
    }

    #[test]
    fn two_senders_are_no_contention_and_a_trial_that_runs_dry_ends() {
        let mut auto = Auto::default();
        assert!(settle(&mut auto, 200, 100, 2, 40, EPOCH));
        assert_eq!(auto.verdicts(), 0);
        settle(&mut auto, 200, 100, 4, 2, 20_000 * MILLISECOND);
        assert!(auto.trial.is_some());
        settle(&mut auto, 200, 100, 1, 2, 30_000 * MILLISECOND);
        assert!(auto.trial.is_none() && auto.is_on());
    }

    #[test]
    fn a_phase_hides_its_synchronisation() {
        assert_eq!(phase_bytes(512 << 10, 125_000_000, 100_000), 4 << 20);
        assert_eq!(phase_bytes(512 << 10, 12_500_000_000, 100_000), 25_000_000);
    }
}
