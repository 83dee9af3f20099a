//! k-means by Lloyd's rounds: each point goes to the nearest centre, each centre to the mean of its points. Sums are kept a
//! piece of points, and added up in the order of pieces, so the same input gives the same result on any number of locales.
//!
//! Sums of a round are `centres x width` numbers for each of at most 64 pieces. Called from outside of programs.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::error::GlobalError;
use crate::here::Here;
use crate::process::lock;
use crate::runtime::Runtime;

/// Points of a piece: enough that its sums are few beside them.
const PIECE_MIN: usize = 4_096;
const PIECES: usize = 64;

/// What came out, and where time went.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// Centres, one after another.
    pub centres: Vec<f64>,
    /// Which centre each point is nearest to, the first of several.
    pub nearest: Vec<u32>,
    /// Rounds.
    pub rounds: u32,
    /// Time for finding the nearest centres.
    pub map: Duration,
    /// Time for new centres.
    pub reduce: Duration,
}

struct Sums {
    piece: usize,
    sums: Vec<f64>,
    counts: Vec<u64>,
    nearest: Vec<u32>,
    changed: u64,
}

/// Clusters points of `width` numbers each, starting from the given centres, until no point changes its centre or
/// `rounds_max` is over. A centre without points stays where it is.
pub fn kmeans(
    runtime: &Runtime,
    points: Arc<Vec<f64>>,
    width: usize,
    start: &[f64],
    rounds_max: u32,
) -> Result<Clusters, GlobalError> {
    let fits = |values: &[f64]| width > 0 && values.len().is_multiple_of(width);
    if !fits(&points) || !fits(start) || start.is_empty() {
        let given = format!("{width} for {} numbers and {} of centres", points.len(), start.len());
        return Err(GlobalError::Argument { what: "the width of points", given });
    }
    let count = points.len() / width;
    let _charge = runtime.budget().reserve(8 * count as u64)?;
    let centres = start.to_vec();
    runtime.run(|here| async move {
        let mut state = Clusters {
            centres,
            nearest: vec![u32::MAX; count],
            rounds: 0,
            map: Duration::ZERO,
            reduce: Duration::ZERO,
        };
        while state.rounds < rounds_max {
            state.rounds += 1;
            let begun = Instant::now();
            let parts = assign(&here, &points, width, &state).await;
            state.map += begun.elapsed();
            let begun = Instant::now();
            let changed = renew(&mut state, width, parts);
            state.reduce += begun.elapsed();
            if changed == 0 {
                break;
            }
        }
        state
    })
}

async fn assign(here: &Here, points: &Arc<Vec<f64>>, width: usize, state: &Clusters) -> Vec<Sums> {
    let count = points.len() / width;
    let piece = count.div_ceil(PIECES).max(PIECE_MIN);
    let parts: Arc<Mutex<Vec<Sums>>> = Arc::default();
    let (points, to) = (Arc::clone(points), Arc::clone(&parts));
    let nearest = Arc::new(Nearest::new(&state.centres, width));
    let before = Arc::new(state.nearest.clone());
    let body = move |_: &Here, range: Range<u64>| {
        for at in range {
            let rows = at as usize * piece..((at as usize + 1) * piece).min(count);
            let sums = sum_piece(&nearest, &points, width, &before, at as usize, rows);
            lock(&to).push(sums);
        }
    };
    here.forall(0..count.div_ceil(piece) as u64, 1, body).await;
    let mut parts = std::mem::take(&mut *lock(&parts));
    parts.sort_by_key(|part| part.piece);
    parts
}

fn sum_piece(
    nearest: &Nearest,
    points: &[f64],
    width: usize,
    before: &[u32],
    piece: usize,
    rows: Range<usize>,
) -> Sums {
    let centres = nearest.lengths.len();
    let mut own = Sums {
        piece,
        sums: vec![0.0; centres * width],
        counts: vec![0; centres],
        nearest: Vec::with_capacity(rows.len()),
        changed: 0,
    };
    let mut distances = vec![0.0; centres];
    for row in rows {
        let point = &points[row * width..(row + 1) * width];
        let chosen = nearest.to(point, &mut distances);
        own.changed += u64::from(before[row] != chosen as u32);
        own.nearest.push(chosen as u32);
        own.counts[chosen] += 1;
        let sums = &mut own.sums[chosen * width..(chosen + 1) * width];
        sums.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
    }
    own
}

/// New centres from what the pieces found; how many points have another one.
fn renew(state: &mut Clusters, width: usize, parts: Vec<Sums>) -> u64 {
    let centres = state.centres.len() / width;
    let (mut sums, mut counts, mut changed) = (vec![0.0; centres * width], vec![0_u64; centres], 0);
    state.nearest.clear();
    for part in parts {
        sums.iter_mut().zip(&part.sums).for_each(|(sum, more)| *sum += more);
        counts.iter_mut().zip(&part.counts).for_each(|(count, more)| *count += more);
        state.nearest.extend(&part.nearest);
        changed += part.changed;
    }
    for (centre, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        for at in centre * width..(centre + 1) * width {
            state.centres[at] = sums[at] / *count as f64;
        }
    }
    changed
}

/// Centres, turned: all first numbers, all second ones, so that distances to all centres are computed side by side.
struct Nearest {
    turned: Vec<f64>,
    lengths: Vec<f64>,
}

impl Nearest {
    fn new(centres: &[f64], width: usize) -> Self {
        let count = centres.len() / width;
        let turned =
            (0..width).flat_map(|axis| (0..count).map(move |at| centres[at * width + axis])).collect();
        let lengths =
            centres.chunks(width).map(|centre| centre.iter().map(|value| value * value).sum()).collect();
        Nearest { turned, lengths }
    }

    /// |p − c|² less |p|², which is the same for all centres.
    fn to(&self, point: &[f64], distances: &mut [f64]) -> usize {
        distances.copy_from_slice(&self.lengths);
        for (axis, value) in self.turned.chunks(self.lengths.len()).zip(point) {
            let twice = -2.0 * value;
            distances.iter_mut().zip(axis).for_each(|(distance, along)| *distance += twice * along);
        }
        let mut best = (0, f64::INFINITY);
        for (at, distance) in distances.iter().enumerate() {
            if *distance < best.1 {
                best = (at, *distance);
            }
        }
        best.0
    }
}
