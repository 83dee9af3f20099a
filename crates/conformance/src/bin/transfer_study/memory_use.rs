//! Memory at the two ends (the paper's section 5), what `auto` makes of a lack of it, and files behind the
//! intermediate rows.

use conformance::study::{Outcome, Study, rounded};
use engine::Session;
use serde_json::json;

use crate::BEST;
use crate::plans::{Node, analyze};

/// Outer joins fill no filters, so that each may be built when it is needed.
const CASCADE: &str = "SELECT count(*), sum(x.v), sum(y.v), sum(z.v) FROM r \
    LEFT JOIN x ON r.a = x.k LEFT JOIN y ON r.b = y.k LEFT JOIN z ON r.c = z.k WHERE r.s < 3";

fn fill(study: &Study) -> Outcome<()> {
    let rows = study.rows;
    let sides = rows / 5;
    let numbers =
        |n: u64| format!("(SELECT CAST(i AS BIGINT) AS i FROM generate_series(1, {n}) AS g(i)) AS g");
    study.run(&format!(
        "CREATE TABLE r AS SELECT i * 7919 % {sides} AS a, i * 104729 % {sides} AS b, i * 1299709 % {sides} AS c, \
         i % 100 AS s FROM {}",
        numbers(rows)
    ))?;
    for (at, side) in ["x", "y", "z"].into_iter().enumerate() {
        study.run(&format!(
            "CREATE TABLE {side} AS SELECT i AS k, i * {} AS v FROM {}",
            at + 3,
            numbers(sides)
        ))?;
    }
    // As the paper's system has it: the probed side is the one that is written first, and tables are hash tables with
    // separate rows.
    study.run("SET build_side = 'off'; SET dense_keys = 'off'; SET table_payload = 'off'; SET late_materialization = 'off'")?;
    Ok(())
}

/// Bytes that the process held at most while it ran, over what it held before; and what the plan did.
fn peak(session: &Session, sql: &str) -> Outcome<(u64, Vec<Node>)> {
    session.database().release_idle_memory();
    memory::reset_peaks();
    let before = memory::peak_bytes();
    let parts = analyze(session, sql)?;
    Ok((memory::peak_bytes() - before, parts))
}

fn measure(study: &mut Study, memory: &str, unit: &str) -> Outcome<u64> {
    study.run(&format!("SET unit_of_transfer = '{unit}'"))?;
    let time = study.times(CASCADE)?.mean_of_best(BEST);
    let (bytes, parts) = peak(&study.session, CASCADE)?;
    let nodes: Vec<&Node> = parts.iter().flat_map(Node::all).collect();
    let by: Vec<&str> = nodes.iter().filter_map(|node| node.by.as_deref()).collect();
    let handed: f64 = nodes.iter().filter_map(|node| node.transferred).map(|t| t.bytes).sum();
    study.note([
        ("memory", json!(memory)),
        ("unit", json!(unit)),
        ("query_ms", json!(rounded(time))),
        ("peak_bytes", json!(bytes)),
        ("transferred_bytes", json!(handed)),
        ("spilled_bytes", json!(nodes.iter().map(|node| node.spilled_bytes).sum::<f64>())),
        ("edges", json!(by)),
    ]);
    Ok(bytes)
}

/// A cascade of one selection and three probes with ample memory, and with nine tenths of what the low end needs:
/// operators use files from four fifths of the limit on.
pub fn memory(study: &mut Study) -> Outcome<()> {
    fill(study)?;
    let low = measure(study, "ample", "vector")?;
    measure(study, "ample", "block")?;
    measure(study, "ample", "table")?;
    measure(study, "ample", "auto")?;
    let used = study.session.database().memory_used().0;
    let limit = used + low * 9 / 10;
    study.run(&format!("SET memory_limit = '{limit}'"))?;
    for unit in ["vector", "block", "table", "auto"] {
        measure(study, "short", unit)?;
    }
    Ok(())
}

/// A small join below ample and below little memory: the operators' own state fits either way, and what lies between
/// them goes through files where it does not.
pub fn files(study: &mut Study) -> Outcome<()> {
    fill(study)?;
    study.run("CREATE TABLE small AS SELECT k, v FROM x WHERE k < 10000")?;
    let sql = "SELECT count(*), sum(small.v) FROM r LEFT JOIN small ON r.a % 10000 = small.k WHERE r.s < 50";
    for unit in ["vector", "block", "blocks(4)", "table"] {
        for (place, bytes) in [("memory", "auto"), ("files", "2MB")] {
            study.run(&format!(
                "SET unit_of_transfer = 'vector, probe = {unit}'; SET operator_memory = '{bytes}'"
            ))?;
            let time = study.times(sql)?.mean_of_best(BEST);
            let parts = analyze(&study.session, sql)?;
            let nodes: Vec<&Node> = parts.iter().flat_map(Node::all).collect();
            study.note([
                ("unit", json!(unit)),
                ("place", json!(place)),
                ("query_ms", json!(rounded(time))),
                ("spilled_bytes", json!(nodes.iter().map(|node| node.spilled_bytes).sum::<f64>())),
            ]);
        }
    }
    Ok(())
}
