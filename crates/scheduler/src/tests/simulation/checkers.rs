//! What must hold in every history. Each finding names the query, by its position in the history.

/// A promise broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// A unit of a query that ended well was never executed.
    Lost(usize),
    /// A unit was executed more than once.
    Doubled(usize),
    /// A query with work was not served for too long.
    Starved(usize),
    /// Something of a query was left when all had ended.
    Leaked(usize),
    /// An order was claimed from a query that was held.
    ServedWhilePaused(usize),
    /// More workers were inside than its limit allows.
    TooManyWorkers(usize),
    /// It was served although one of a higher priority had work, and it was not starving.
    PassedHigher(usize),
    /// Work was done far from its data though it was to be left to near workers.
    LeftItsNode(usize),
    /// It ended for want of memory while others had some.
    FailedForMemory(usize),
    /// It did not get its share over some two seconds.
    Unfair(usize),
}

/// Two seconds of virtual time.
const WINDOW: u64 = 2_000_000_000;
/// Shares may differ by so much of the mean.
const SHARE_BOUND: f64 = 0.05;

/// What each account had been charged at moments in equal distance; all have had work all the time.
#[derive(Default)]
pub(super) struct Shares {
    samples: Vec<(u64, Vec<u64>)>,
}

impl Shares {
    /// Adds what each account had been charged at `now`, by position.
    pub fn sample(&mut self, now: u64, charged: Vec<u64>) {
        self.samples.push((now, charged));
    }

    /// The first account whose share of some window was not its own.
    pub fn check(&self) -> Option<Violation> {
        for (at, (begin, before)) in self.samples.iter().enumerate() {
            let end = self.samples[at..].iter().find(|(now, _)| *now >= begin + WINDOW);
            let Some((_, after)) = end else { break };
            let got: Vec<f64> =
                before.iter().zip(after).map(|(before, after)| (after - before) as f64).collect();
            let mean = got.iter().sum::<f64>() / got.len() as f64;
            if let Some(account) = got.iter().position(|got| (got - mean).abs() > SHARE_BOUND * mean) {
                return Some(Violation::Unfair(account));
            }
        }
        None
    }
}
