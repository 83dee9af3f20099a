//! What EXPLAIN ANALYZE says of a plan, read back from its JSON.

use conformance::study::Outcome;
use engine::{Session, Type};
use serde_json::Value as Json;

/// An operator with what it did.
pub struct Node {
    /// The operator with its arguments, as EXPLAIN shows it.
    pub title: String,
    /// Rows of its output.
    pub rows: f64,
    /// Work orders that it ran as.
    pub work_orders: f64,
    /// Time of its work orders.
    pub milliseconds: f64,
    /// Rows, bytes and units that it handed on otherwise than by `vector`.
    pub transferred: Option<Transferred>,
    /// How they were handed on.
    pub by: Option<String>,
    /// Bytes that it wrote to temporary files.
    pub spilled_bytes: f64,
    /// The operators that feed it.
    pub inputs: Vec<Node>,
}

/// What a node of a plan handed on in total.
#[derive(Clone, Copy)]
pub struct Transferred {
    /// Units of transfer.
    pub units: f64,
    /// Rows in those units.
    pub rows: f64,
    /// Bytes in those units.
    pub bytes: f64,
}

impl Node {
    fn read(json: &Json) -> Node {
        let number = |name: &str| match &json[name] {
            Json::String(text) => text.parse().ok(),
            other => other.as_f64(),
        };
        let transferred = number("transferred units").map(|units| Transferred {
            units,
            rows: number("transferred rows").unwrap_or(0.0),
            bytes: number("transferred bytes").unwrap_or(0.0),
        });
        Node {
            title: json["node"].as_str().unwrap_or_default().to_owned(),
            rows: number("rows").unwrap_or(0.0),
            work_orders: number("work_orders").unwrap_or(0.0),
            milliseconds: number("milliseconds").unwrap_or(0.0),
            transferred,
            by: json["handed on by"].as_str().map(str::to_owned),
            spilled_bytes: number("spilled bytes").unwrap_or(0.0),
            inputs: json["inputs"].as_array().map_or(vec![], |all| all.iter().map(Node::read).collect()),
        }
    }

    /// Whether the operator is a scan of that table.
    pub fn scans(&self, table: &str) -> bool {
        self.title.split_whitespace().take(2).eq(["TableScan", table])
    }

    /// Itself and all below it.
    pub fn all(&self) -> Vec<&Node> {
        let mut found = vec![self];
        self.inputs.iter().for_each(|input| found.extend(input.all()));
        found
    }

    /// A scan of the table and the join that it is probed into, with nothing in between.
    pub fn select_and_probe(&self, table: &str) -> Option<(&Node, &Node)> {
        let joins = self.all().into_iter().filter(|node| node.title.starts_with("HashJoin"));
        joins.filter_map(|join| Some((join.inputs.first()?, join))).find(|(probe, _)| probe.scans(table))
    }
}

/// Runs the query, and says what each operator did; of common subplans and subqueries as well, the query itself last.
pub fn analyze(session: &Session, sql: &str) -> Outcome<Vec<Node>> {
    let result = session
        .query(&format!("EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))
        .map_err(|e| format!("{e} in {sql}"))?;
    let lines: Vec<String> = (0..result.rows()).map(|row| result.value(row, 0).display(Type::Text)).collect();
    let parts: Json = serde_json::from_str(&lines.join("\n"))?;
    let parts = parts.as_array().ok_or("EXPLAIN gave no list")?;
    Ok(parts.iter().map(|part| Node::read(&part["plan"])).collect())
}
