//! How well the time left is known: TPC-H's queries, each looked at while it runs.

use std::thread;
use std::time::{Duration, Instant};

use engine::{Database, Session};
use serde_json::{Value, json};

use crate::{Choices, Outcome, database, queries, with_priority};

/// Between looks; a look is a query of its own, of some hundred microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// What was said at a moment of a run, and when.
struct Look {
    elapsed: Duration,
    left: Duration,
}

fn looked(watcher: &Session, text: &str) -> Outcome<Option<Look>> {
    let found = watcher.query(text)?;
    let number = |column: usize| (found.rows() > 0).then(|| found.value(0, column).as_f64()).flatten();
    let (Some(elapsed), Some(left)) = (number(0), number(1)) else { return Ok(None) };
    let of = |milliseconds: f64| Duration::from_secs_f64(milliseconds.max(0.0) / 1e3);
    Ok(Some(Look { elapsed: of(elapsed), left: of(left) }))
}

/// Runs a query and looks at it; how far each prediction from the first quarter on was off, as a share of the whole
/// time.
fn errors(database: &Database, watcher: &Session, text: &str) -> Outcome<(Duration, Vec<f64>)> {
    let session = database.session();
    let own = "SELECT elapsed_ms, time_left_ms FROM quickstep_queries \
               WHERE state = 'running' AND query NOT LIKE '%quickstep_queries%'";
    thread::scope(|scope| {
        let begun = Instant::now();
        let runner = scope.spawn(move || session.query(text).map(|_| begun.elapsed()));
        let mut looks = Vec::new();
        while !runner.is_finished() {
            looks.extend(looked(watcher, own)?);
            thread::sleep(LOOK_EVERY);
        }
        let total = runner.join().map_err(|_| "the runner failed")??;
        let off = |look: &Look| {
            let left = total.saturating_sub(look.elapsed);
            look.left.abs_diff(left).as_secs_f64() / total.as_secs_f64()
        };
        let late = looks.iter().filter(|look| look.elapsed >= total / 4 && look.elapsed < total);
        Ok((total, late.map(off).collect()))
    })
}

fn median(numbers: &mut [f64]) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

/// The median over queries of each one's median error.
pub(crate) fn remaining(choices: &Choices) -> Outcome<Value> {
    let database = database("tpch", &choices.scale, None)?;
    let watcher = with_priority(&database, 9)?;
    let all = queries("tpch", &choices.scale)?;
    let mut by_query = Vec::new();
    let mut medians = Vec::new();
    let begun = Instant::now();
    for (name, text) in &all {
        if begun.elapsed().as_secs_f64() > choices.seconds {
            break;
        }
        // Once before, so that columns are in memory.
        errors(&database, &watcher, text)?;
        let (total, mut off) = errors(&database, &watcher, text)?;
        let looks = off.len();
        if let Some(median) = median(&mut off) {
            medians.push(median);
            by_query.push(json!({
                "query": name, "ms": total.as_secs_f64() * 1e3, "looks": looks, "median_error": median,
            }));
        }
    }
    Ok(json!({
        "queries": by_query,
        "median_error": median(&mut medians),
        "bar": 0.2,
    }))
}
