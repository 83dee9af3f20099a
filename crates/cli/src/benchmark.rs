//! `quickstep tpch`, `quickstep ssb` and `quickstep tpcds`: generate, load, run, report.
//!
//! The suite is loaded into a database in memory, by the generator or from Parquet files. Each query runs once cold
//! and then `--runs` times; the report has the first, median and best time. The plan cache is off, so that every run
//! includes its planning. `--format json` prints one object and nothing else.

use std::time::Instant;

use engine::{Database, Session};

use crate::Failed;
use crate::arguments::{BenchmarkArguments, Format};
use crate::benchmark_queries::{SSB, TPCDS, TPCH};
use formats::write::json_text;
use types::quote;

/// A benchmark that the command can run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    Tpch,
    Ssb,
    Tpcds,
}

impl Suite {
    fn name(self) -> &'static str {
        match self {
            Suite::Tpch => "tpch",
            Suite::Ssb => "ssb",
            Suite::Tpcds => "tpcds",
        }
    }
    fn queries(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Suite::Tpch => &TPCH,
            Suite::Ssb => &SSB,
            Suite::Tpcds => &TPCDS,
        }
    }
    fn tables(self) -> &'static [&'static str] {
        match self {
            Suite::Tpch => {
                &["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
            }
            Suite::Ssb => &["ddate", "supplier", "customer", "part", "lineorder"],
            Suite::Tpcds => &TPCDS_TABLES,
        }
    }
}

const TPCDS_TABLES: [&str; 24] = [
    "income_band",
    "ship_mode",
    "reason",
    "warehouse",
    "date_dim",
    "time_dim",
    "household_demographics",
    "customer_demographics",
    "customer_address",
    "customer",
    "item",
    "promotion",
    "store",
    "call_center",
    "catalog_page",
    "web_site",
    "web_page",
    "inventory",
    "store_sales",
    "store_returns",
    "catalog_sales",
    "catalog_returns",
    "web_sales",
    "web_returns",
];

/// A query's times.
struct Measured {
    name: String,
    rows: usize,
    first_ms: f64,
    median_ms: f64,
    min_ms: f64,
    /// Time from the text to the plan, of the warm runs.
    planning_ms: f64,
}

/// Loads the suite into a database in memory, runs the chosen queries and prints their times. Errors of statements are
/// reported by the caller; those of the arguments have been.
pub fn run(suite: Suite, arguments: &BenchmarkArguments) -> Result<(), Failed> {
    let chosen = choose(suite, arguments.queries.as_deref())?;
    let database = Database::in_memory(arguments.engine.options()?)?;
    let session = database.session();
    // Every run is to hold its planning, and tells how long that took.
    session.query("SET plan_cache = 'off'")?;
    for setting in &arguments.settings {
        let Some((name, value)) = setting.split_once('=') else {
            eprintln!("quickstep: --set wants NAME=VALUE, not \"{setting}\"");
            return Err(Failed::Reported);
        };
        session.query(&format!("SET {} = {}", name.trim(), quote::text(value.trim())))?;
    }
    let quiet = arguments.format == Format::Json;
    let started = Instant::now();
    load(&session, suite, arguments)?;
    let load_s = started.elapsed().as_secs_f64();
    let loaded = memory::resident_bytes().unwrap_or(0);
    if !quiet {
        println!(
            "{} scale {}: loaded in {load_s:.2} s, {:.0} MB resident, {} workers",
            suite.name(),
            arguments.scale,
            loaded as f64 / 1e6,
            database.workers()
        );
        println!(
            "{:>6} {:>9} {:>11} {:>11} {:>11} {:>11}",
            "query", "rows", "first ms", "median ms", "best ms", "planning ms"
        );
    }
    memory::reset_peaks();
    let mut results = Vec::new();
    for (name, text) in chosen {
        let text = text.replace("{fraction}", &format!("{:.12}", 0.0001 / arguments.scale));
        let measured = measure(&session, name, &text, arguments.runs.max(1))?;
        if !quiet {
            println!(
                "{:>6} {:>9} {:>11.3} {:>11.3} {:>11.3} {:>11.3}",
                measured.name,
                measured.rows,
                measured.first_ms,
                measured.median_ms,
                measured.min_ms,
                measured.planning_ms
            );
        }
        results.push(measured);
    }
    let total: f64 = results.iter().map(|m| m.median_ms).sum();
    let geometric =
        (results.iter().map(|m| m.median_ms.ln()).sum::<f64>() / results.len().max(1) as f64).exp();
    let peak = memory::peak_resident_bytes().unwrap_or(0);
    if quiet {
        let queries: Vec<String> = results
            .iter()
            .map(|m| {
                format!(
                    "{{\"query\": {}, \"rows\": {}, \"first_ms\": {:.3}, \"median_ms\": {:.3}, \"best_ms\": {:.3}, \
                     \"planning_ms\": {:.3}}}",
                    json_text(&m.name),
                    m.rows,
                    m.first_ms,
                    m.median_ms,
                    m.min_ms,
                    m.planning_ms
                )
            })
            .collect();
        println!(
            "{{\"suite\": {}, \"scale\": {}, \"workers\": {}, \"load_s\": {load_s:.3}, \"geometric_mean_ms\": \
             {geometric:.3}, \"total_ms\": {total:.3}, \"loaded_bytes\": {loaded}, \"peak_bytes\": {peak}, \
             \"queries\": [{}]}}",
            json_text(suite.name()),
            arguments.scale,
            database.workers(),
            queries.join(", ")
        );
    } else {
        println!(
            "geometric mean {geometric:.3} ms, total {total:.1} ms, peak {:.0} MB resident",
            peak as f64 / 1e6
        );
    }
    Ok(())
}

fn load(session: &Session, suite: Suite, arguments: &BenchmarkArguments) -> Result<(), Failed> {
    let Some(folder) = &arguments.data else {
        session.query(&format!("CALL {}(scale => {})", suite.name(), arguments.scale))?;
        return Ok(());
    };
    for table in suite.tables() {
        let path = quote::text(&format!("{folder}/{table}.parquet"));
        session.query(&format!("CREATE TABLE {table} AS SELECT * FROM {path}"))?;
    }
    Ok(())
}

fn measure(session: &Session, name: &str, text: &str, runs: usize) -> Result<Measured, Failed> {
    let once = || {
        let started = Instant::now();
        let result = session.query(text).map_err(|error| {
            eprintln!("query {name}: {}", error.render(text));
            Failed::Reported
        })?;
        let planning = result.planning().as_secs_f64() * 1e3;
        Ok::<_, Failed>((started.elapsed().as_secs_f64() * 1e3, result.rows(), planning))
    };
    let (first_ms, rows, _) = once()?;
    let (mut times, mut planning) = (Vec::with_capacity(runs), Vec::with_capacity(runs));
    for _ in 0..runs {
        let (time, _, planned) = once()?;
        times.push(time);
        planning.push(planned);
    }
    times.sort_by(f64::total_cmp);
    planning.sort_by(f64::total_cmp);
    Ok(Measured {
        name: name.trim_start_matches('0').to_owned(),
        rows,
        first_ms,
        median_ms: times[times.len() / 2],
        min_ms: times[0],
        planning_ms: planning[planning.len() / 2],
    })
}

/// The queries a list such as `1,3-5` or `1.1,2.3` names.
fn choose(suite: Suite, list: Option<&str>) -> Result<Vec<(&'static str, &'static str)>, Failed> {
    let all = suite.queries();
    let Some(list) = list else { return Ok(all.to_vec()) };
    let place = |name: &str| {
        let name = name.trim().trim_start_matches(['q', 'Q']);
        all.iter().position(|(n, _)| n.trim_start_matches('0') == name.trim_start_matches('0')).ok_or_else(
            || {
                eprintln!("quickstep: {} has no query \"{name}\"", suite.name());
                Failed::Reported
            },
        )
    };
    let mut chosen = Vec::new();
    for part in list.split(',').filter(|p| !p.trim().is_empty()) {
        let (from, to) = match part.split_once('-') {
            Some((from, to)) => (place(from)?, place(to)?),
            None => (place(part)?, place(part)?),
        };
        chosen.extend(all.get(from..=to).unwrap_or_default());
    }
    Ok(chosen)
}
