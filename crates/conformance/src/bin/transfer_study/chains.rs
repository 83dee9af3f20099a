//! Consumers, chains and whole queries under each unit (the paper's figures 5 to 9 and its table of work orders), and
//! what a limit on an operator's work orders does.

use conformance::study::{Outcome, Study, Times, queries, rounded};
use serde_json::{Value as Json, json};

use crate::plans::{Node, analyze};
use crate::{BEST, BLOCK_KIB, in_turn};

/// Queries whose plans have a scan of lineitem or orders that is probed at once, among those the paper looks at.
const QUERIES: [&str; 8] = ["q03", "q04", "q05", "q07", "q08", "q10", "q19", "q21"];
const UNITS: [&str; 4] = ["vector", "block", "blocks(4)", "table"];
const TABLES: [&str; 8] =
    ["lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"];

/// Loads TPC-H anew, in blocks of that size and in that layout.
pub fn load(study: &Study, layout: &str, block_kib: Option<u64>) -> Outcome<f64> {
    for table in TABLES {
        study.drop(table)?;
    }
    if let Some(kib) = block_kib {
        study.run(&format!("SET block_size = '{kib}KB'; SET transfer_size = '{kib}KB'"))?;
    }
    let scale = study.scales[0];
    study.run(&format!("CALL tpch(scale => {scale})"))?;
    study.set_layouts(&TABLES.map(|table| (table, layout)))?;
    Ok(scale)
}

/// A scan of lineitem, or else of orders, and the join above it.
fn first(parts: &[Node]) -> Option<(&Node, &Node)> {
    let of = |table| parts.iter().find_map(|part| part.select_and_probe(table));
    of("lineitem").or_else(|| of("orders"))
}

/// Milliseconds of the chain's two operators, and how many units went between them.
fn chain(study: &Study, sql: &str) -> Outcome<Option<Vec<(&'static str, Json)>>> {
    let (mut select, mut probe, mut both) = (vec![], vec![], vec![]);
    let (mut orders, mut units, mut bytes, mut rows) = (0.0, 0.0, 0.0, 0.0);
    for _ in 0..BEST {
        let parts = analyze(&study.session, sql)?;
        let Some((scan, join)) = first(&parts) else { return Ok(None) };
        select.push(scan.milliseconds);
        probe.push(join.milliseconds);
        both.push(scan.milliseconds + join.milliseconds);
        orders = join.work_orders;
        rows = scan.rows;
        (units, bytes) = scan.transferred.map_or((0.0, 0.0), |t| (t.units, t.bytes));
    }
    let mean = |values: Vec<f64>| json!(rounded(Times(values).mean()));
    Ok(Some(vec![
        ("select_ms", mean(select)),
        ("consumer_ms", mean(probe)),
        ("chain_ms", mean(both)),
        ("consumer_orders", json!(orders)),
        ("rows", json!(rows)),
        ("units", json!(units)),
        ("bytes", json!(bytes)),
    ]))
}

/// Chains of a selection and joins, in both layouts and with several block sizes.
pub fn chains(study: &mut Study) -> Outcome<()> {
    // As in the paper: what joins know of keys would leave the selections next to nothing to hand on.
    study.run("SET runtime_filters = 'off'")?;
    for layout in ["compressed_column", "row"] {
        for kib in BLOCK_KIB {
            let scale = load(study, layout, Some(kib))?;
            let queries = queries("tpch", scale)?;
            for workers in workers(study) {
                study.run(&format!("SET workers = {workers}"))?;
                for (name, sql) in queries.iter().filter(|(name, _)| QUERIES.contains(&name.as_str())) {
                    measure(study, layout, kib, workers, name, sql)?;
                }
            }
        }
    }
    Ok(())
}

/// One, and all there are.
fn workers(study: &Study) -> Vec<usize> {
    let mut all = vec![1, study.workers];
    all.dedup();
    all
}

fn measure(study: &mut Study, layout: &str, kib: u64, workers: usize, name: &str, sql: &str) -> Outcome<()> {
    let times = in_turn(study, &UNITS.map(str::to_owned), sql)?;
    for (unit, time) in UNITS.iter().zip(times) {
        study.run(&format!("SET unit_of_transfer = '{unit}'"))?;
        let chain = chain(study, sql)?.unwrap_or_default();
        let labels = [
            ("layout", json!(layout)),
            ("block_kib", json!(kib)),
            ("workers", json!(workers)),
            ("query", json!(name)),
            ("unit", json!(unit)),
            ("query_ms", json!(rounded(time))),
        ];
        study.note(labels.into_iter().chain(chain));
    }
    study.run("RESET unit_of_transfer")?;
    Ok(())
}

/// A limit on the work orders of an operator, under the two ends of the spectrum.
pub fn limits(study: &mut Study) -> Outcome<()> {
    study.run("SET runtime_filters = 'off'")?;
    let scale = load(study, "compressed_column", Some(512))?;
    let queries = queries("tpch", scale)?;
    let mut limits: Vec<String> = (1..=study.workers).map(|n| n.to_string()).collect();
    limits.push("all".to_owned());
    for (name, sql) in queries.iter().filter(|(name, _)| ["q03", "q07", "q10"].contains(&name.as_str())) {
        for unit in ["vector", "block", "table"] {
            for limit in &limits {
                study.run(&format!(
                    "SET unit_of_transfer = '{unit}'; SET work_orders_per_operator = '{limit}'"
                ))?;
                let times = study.times(sql)?;
                study.note([
                    ("query", json!(name)),
                    ("unit", json!(unit)),
                    ("limit", json!(limit)),
                    ("query_ms", json!(rounded(times.mean_of_best(BEST)))),
                ]);
            }
        }
    }
    Ok(())
}
