//! How much selections let through (the paper's tables 2 and 3), and the cost model compared with measurements.

use conformance::study::{Outcome, Study, queries, rounded};
use operators::transfer::{machine, model};
use serde_json::json;
use workorder::UnitOfTransfer;

use crate::chains::load;
use crate::plans::{Node, Transferred, analyze};
use crate::{BLOCK_KIB, in_turn};

/// What the largest scan of the table handed on.
fn selected(parts: &[Node], table: &str) -> Option<Transferred> {
    let scans = parts.iter().flat_map(Node::all).filter(|node| node.scans(table));
    scans.filter_map(|node| node.transferred).max_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// Selectivity x projectivity, by what really goes into tables; with the filters of joins in addition.
pub fn selectivity(study: &mut Study) -> Outcome<()> {
    let scale = load(study, "compressed_column", None)?;
    study.run("SET unit_of_transfer = 'table'")?;
    let queries = queries("tpch", scale)?;
    for (table, wanted) in [
        ("lineitem", ["q03", "q07", "q10", "q19"].as_slice()),
        ("orders", ["q03", "q04", "q05", "q08", "q10", "q21"].as_slice()),
    ] {
        let columns = study.session.query(&format!("SELECT * FROM {table} LIMIT 0"))?;
        let least: Vec<String> =
            columns.schema().fields().iter().map(|field| format!("min({})", field.name)).collect();
        let whole = analyze(&study.session, &format!("SELECT {} FROM {table}", least.join(", ")))?;
        let whole = selected(&whole, table).ok_or("the whole table was not handed on")?;
        for (name, sql) in queries.iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
            let mut labels = vec![("table", json!(table)), ("query", json!(name))];
            for (filters, prefix) in [("off", ""), ("on", "filtered_")] {
                study.run(&format!("SET runtime_filters = '{filters}'"))?;
                let Some(part) = selected(&analyze(&study.session, sql)?, table) else { continue };
                let rows = part.rows / whole.rows;
                let width = (part.bytes / part.rows.max(1.0)) / (whole.bytes / whole.rows);
                let names = match prefix {
                    "" => ["selectivity", "projectivity", "total", "bytes"],
                    _ => {
                        ["filtered_selectivity", "filtered_projectivity", "filtered_total", "filtered_bytes"]
                    }
                };
                let values = [json!(rows), json!(width), json!(part.bytes / whole.bytes), json!(part.bytes)];
                labels.extend(names.into_iter().zip(values));
            }
            study.note(labels);
        }
    }
    Ok(())
}

/// A selection whose output is probed, by unit, size and workers: nanoseconds a byte handed on over those of
/// `vector`, as measured and as the model has them.
pub fn model(study: &mut Study) -> Outcome<()> {
    let constants = machine::measure(256 << 20);
    let rows = study.rows;
    study.run(&format!(
        "CREATE TABLE probed AS SELECT CAST(i * 7919 % {keys} AS BIGINT) AS k, CAST(i % 1000 AS BIGINT) AS s, \
         CAST(i AS BIGINT) * 3 AS a, CAST(i AS BIGINT) * 5 AS b FROM (SELECT CAST(i AS BIGINT) AS i FROM generate_series(1, {rows}) AS g(i)) AS g; \
         CREATE TABLE built AS SELECT CAST(i AS BIGINT) AS k, CAST(i * 11 AS BIGINT) AS v FROM (SELECT CAST(i AS BIGINT) AS i FROM generate_series(0, {last}) AS g(i)) AS g",
        keys = rows / 10,
        last = rows / 10 - 1,
    ))?;
    study.run("SET runtime_filters = 'off'")?;
    let sql = "SELECT sum(a + b + v) FROM probed, built WHERE probed.k = built.k AND s < 500";
    for workers in [1, study.workers] {
        study.run(&format!("SET workers = {workers}"))?;
        for kib in BLOCK_KIB {
            study.run(&format!("SET transfer_size = '{kib}KB'"))?;
            let units = [UnitOfTransfer::Block, UnitOfTransfer::Blocks(4), UnitOfTransfer::Table];
            let settings: Vec<String> = std::iter::once("vector".to_owned())
                .chain(units.iter().map(|unit| format!("vector, probe = {unit}")))
                .collect();
            let times = in_turn(study, &settings, sql)?;
            let vector = times[0];
            for (at, unit) in units.into_iter().enumerate() {
                let time = times[at + 1];
                study.run(&format!("SET unit_of_transfer = '{}'", settings[at + 1]))?;
                let parts = analyze(&study.session, sql)?;
                let handed = selected(&parts, "probed").ok_or("nothing was handed on")?;
                let batch = handed.bytes / handed.rows * vector::BATCH_ROWS as f64;
                let (threads, block) = (workers as f64, (kib << 10) as f64);
                let cost = |unit| model::per_byte(unit, batch, block, threads, &constants);
                study.note([
                    ("workers", json!(workers)),
                    ("block_kib", json!(kib)),
                    ("unit", json!(unit.to_string())),
                    ("query_ms", json!(rounded(time))),
                    ("vector_ms", json!(rounded(vector))),
                    ("bytes", json!(handed.bytes)),
                    ("measured_ns", json!(rounded((time - vector) * 1e6 * threads / handed.bytes))),
                    ("predicted_ns", json!(rounded(cost(unit) - cost(UnitOfTransfer::Vector)))),
                ]);
            }
        }
    }
    Ok(())
}
