//! Designs measured in turn, and what their times say.
//!
//! Rounds are interleaved: each runs every replay over every design, beginning with another design each time. Only
//! ratios within a round are compared. A design pays when its median gain, the gain of three quarters of the rounds,
//! and the time saved over the whole table all reach their minimum.

use types::Result;

use super::Session;
use super::design::Made;
use super::replay::Replays;

/// A gain of less than this is not worth a change.
pub(super) const GAIN_MIN: f64 = 1.10;
/// Three quarters of the rounds have to show at least this: one that was disturbed says nothing.
const STEADY_MIN: f64 = 1.02;
/// Nanoseconds that an execution has to gain over the whole table.
const SAVED_NS_MIN: f64 = 20_000.0;
/// Designs within this share of the fastest count as equally fast; the smallest of them is taken.
const AS_FAST: f64 = 0.9;

/// The times of one design: a round runs every replay once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// Nanoseconds of each round, by executions: the mean of one.
    pub rounds: Vec<f64>,
    /// The median of each replay's.
    pub replays: Vec<f64>,
    /// Bytes of the design's blocks and indices.
    pub bytes: u64,
}

/// How many times as fast: the median over rounds, what three quarters of them reach, and the least and greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// The median over the rounds.
    pub median: f64,
    /// What at least three quarters of the rounds reach.
    pub steady: f64,
    /// The smallest ratio of a round.
    pub least: f64,
    /// The largest ratio of a round.
    pub greatest: f64,
}

/// The median; 0 for no values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.as_slice() {
        [] => 0.0,
        _ if sorted.len() % 2 == 1 => sorted[sorted.len() / 2],
        _ => (sorted[sorted.len() / 2 - 1] + sorted[sorted.len() / 2]) / 2.0,
    }
}

/// Runs every replay over every design in turn, so that what disturbs the machine disturbs all alike. One round warms
/// up and is not counted.
pub(super) fn trials(
    session: &Session,
    replays: &Replays,
    designs: &[&Made],
    rounds: usize,
) -> Result<Vec<Trial>> {
    let mut times = vec![Vec::with_capacity(rounds); designs.len()];
    for round in 0..=rounds {
        // Another one begins each time.
        for at in (0..designs.len()).map(|at| (at + round) % designs.len()) {
            let once = replays.run(session, &designs[at].table)?;
            if round > 0 {
                times[at].push(once);
            }
        }
    }
    let weights: Vec<f64> = replays.replays.iter().map(|r| r.weight).collect();
    let whole: f64 = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let trial = |(made, times): (&&Made, Vec<Vec<f64>>)| Trial {
        rounds: times
            .iter()
            .map(|once| once.iter().zip(&weights).map(|(ns, weight)| ns * weight).sum::<f64>() / whole)
            .collect(),
        replays: (0..weights.len())
            .map(|n| median(&times.iter().map(|t| t[n]).collect::<Vec<_>>()))
            .collect(),
        bytes: made.bytes,
    };
    Ok(designs.iter().zip(times).map(trial).collect())
}

impl Trial {
    /// The median round, in nanoseconds of one execution.
    pub fn median(&self) -> f64 {
        median(&self.rounds)
    }

    /// How many times as fast as `base` this is. Rounds are compared with each other.
    pub fn over(&self, base: &Trial) -> Gain {
        let ratios: Vec<f64> =
            base.rounds.iter().zip(&self.rounds).map(|(base, own)| base / own.max(1.0)).collect();
        let mut sorted = ratios.clone();
        sorted.sort_by(f64::total_cmp);
        Gain {
            median: median(&ratios),
            steady: sorted.get(sorted.len() / 4).copied().unwrap_or(0.0),
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: ratios.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Whether changing from `base` to this pays: by more than the spread, and by a time that can be told. `scale`
    /// is the rows of the table over those measured.
    pub fn pays(&self, base: &Trial, scale: f64) -> bool {
        let gain = self.over(base);
        let saved = (base.median() - self.median()) * scale;
        gain.median >= GAIN_MIN && gain.steady >= STEADY_MIN && saved >= SAVED_NS_MIN
    }
}

/// The one of `others` to change to from `base`, by its place: of those that pay the fastest, or a smaller one that is
/// as fast.
pub(super) fn choose(base: &Trial, others: &[Trial], scale: f64) -> Option<usize> {
    let paying: Vec<usize> = (0..others.len()).filter(|n| others[*n].pays(base, scale)).collect();
    let fastest = paying.iter().map(|n| others[*n].median()).min_by(f64::total_cmp)?;
    let near = paying.into_iter().filter(|n| others[*n].median() * AS_FAST <= fastest);
    near.min_by(|a, b| {
        let (a, b) = (&others[*a], &others[*b]);
        a.bytes.cmp(&b.bytes).then(a.median().total_cmp(&b.median()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(rounds: &[f64], bytes: u64) -> Trial {
        Trial { rounds: rounds.to_vec(), replays: vec![], bytes }
    }

    #[test]
    fn nothing_is_chosen_within_the_spread() {
        let base = trial(&[1e6, 1.1e6, 1.05e6], 100);
        // Faster in the median, slower in a round.
        let noisy = trial(&[0.7e6, 1.2e6, 0.7e6], 100);
        let little = trial(&[0.95e6, 1.05e6, 1.0e6], 100);
        assert_eq!(choose(&base, &[noisy.clone(), little.clone()], 1.0), None);
        let twice = trial(&[0.5e6, 0.55e6, 0.6e6], 300);
        assert_eq!(choose(&base, &[noisy, twice, little], 1.0), Some(1));
        assert_eq!(choose(&base, &[], 1.0), None);
    }

    #[test]
    fn one_disturbed_round_in_four_says_nothing() {
        let base = trial(&[1e6; 8], 100);
        let twice = [0.5e6, 0.5e6, 9e6, 0.5e6, 0.5e6, 0.5e6, 9e6, 0.5e6];
        assert_eq!(choose(&base, &[trial(&twice, 100)], 1.0), Some(0));
        let unsteady = [0.5e6, 0.5e6, 9e6, 0.5e6, 9e6, 0.5e6, 9e6, 0.5e6];
        assert_eq!(choose(&base, &[trial(&unsteady, 100)], 1.0), None);
    }

    #[test]
    fn a_gain_that_nobody_notices_is_none() {
        let base = trial(&[1000.0, 1000.0], 100);
        let half = trial(&[500.0, 500.0], 100);
        assert_eq!(choose(&base, std::slice::from_ref(&half), 1.0), None);
        // The table is a thousand times as large.
        assert_eq!(choose(&base, &[half], 1000.0), Some(0));
    }

    #[test]
    fn of_equally_fast_ones_the_smallest_is_chosen() {
        let base = trial(&[9e6, 9e6], 100);
        let others = [trial(&[3e6, 3e6], 500), trial(&[3.1e6, 3.1e6], 120), trial(&[4e6, 4e6], 50)];
        assert_eq!(choose(&base, &others, 1.0), Some(1));
    }

    #[test]
    fn a_gain_has_its_spread() {
        let gain = trial(&[1.0, 2.0, 1.0], 0).over(&trial(&[4.0, 4.0, 3.0], 0));
        assert_eq!(gain, Gain { median: 3.0, steady: 2.0, least: 2.0, greatest: 4.0 });
    }
}
