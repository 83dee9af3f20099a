//! EXPLAIN for programs: every counter of every node under a name of its own.
//!
//! Pure functions from traces to text. Plans become nested objects, children inside their parents.
//! Names of counters are stable, and a new one changes none that is there; called by EXPLAIN (FORMAT json).

use plan::explain;
use plan::print::NodeMetrics;

use crate::text::milliseconds;
use crate::{NodeTrace, PartTrace, QueryTrace};

/// A text as JSON writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A number as JSON writes it: it has no infinities.
pub(crate) fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_owned() }
}

/// A list of the plans: the parts that ran before the query, then the query itself.
///
/// ```text
/// [{"part": "query",
///   "plan": {"node": ..., "operator": "HashJoin", "estimated_rows": ..., "inputs": [...],
///            "rows": ..., "q_error": ..., "work_orders": ..., "milliseconds": ..., "bytes": ...,
///            "filters": [{"filter": 1, "from": "orders", "tested": ..., "dropped": ...}],
///            "access paths": {"codes": 12}, ..., "remarks": [...]},
///   "milliseconds": ..., "segments": [{"operators": ..., "work_orders": ..., ...}],
///   "optimizing_milliseconds": ..., "execution_milliseconds": ..., "q_error_median": ..., "q_error_worst": ...}]
/// ```
/// What the last part has beyond the others is of the whole query. Of a query that did not run there are estimates only.
pub fn explain_json(trace: &QueryTrace) -> String {
    let last = trace.parts.len().saturating_sub(1);
    let part = |(at, part): (usize, &PartTrace)| {
        let nodes = part.nodes();
        let tree = if nodes.is_empty() { "null".to_owned() } else { node(&nodes, 0) };
        let mut fields = vec![field("part", quoted(&part.title)), field("plan", tree)];
        if part.metrics.is_some() {
            fields.push(field("milliseconds", number(milliseconds(part.wall))));
            fields.push(field("queued_milliseconds", number(milliseconds(part.queued))));
            fields.push(field("segments", segments(part)));
            if at == last {
                fields.extend(whole(trace));
            }
        }
        format!("{{{}}}", fields.join(", "))
    };
    let parts: Vec<String> = trace.parts.iter().enumerate().map(part).collect();
    format!("[{}]", parts.join(", "))
}

fn field(name: &str, value: impl std::fmt::Display) -> String {
    format!("{}: {value}", quoted(name))
}

fn whole(trace: &QueryTrace) -> Vec<String> {
    let nodes = trace.parts.iter().flat_map(PartTrace::nodes);
    let mut errors: Vec<(f64, String)> = nodes.filter_map(|n| Some((n.q_error()?, n.told.title))).collect();
    errors.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut fields = vec![
        field("optimizing_milliseconds", number(trace.planning.as_secs_f64() * 1e3)),
        field("kept_plan", trace.kept_plan),
        field("execution_milliseconds", number(milliseconds(trace.execution()))),
        field("memory_peak_bytes", trace.memory_peak),
        field("workers", trace.workers),
    ];
    if let Some((worst, _)) = errors.first() {
        fields.push(field("q_error_median", rounded(explain::percentile(&errors, 0.5))));
        fields.push(field("q_error_worst", rounded(*worst)));
    }
    fields
}

fn segments(part: &PartTrace) -> String {
    let segment = |s: &crate::SegmentTrace| {
        let fields = [
            field("operators", quoted(&s.name)),
            field("work_orders", s.orders),
            field("rows", s.rows),
            field("bytes", s.bytes),
            field("busy_milliseconds", number(milliseconds(s.busy))),
            field("started_milliseconds", number(milliseconds(s.started))),
            field("finished_milliseconds", number(milliseconds(s.finished))),
        ];
        format!("{{{}}}", fields.join(", "))
    };
    let segments: Vec<String> = part.segments.iter().map(segment).collect();
    format!("[{}]", segments.join(", "))
}

/// The node at `at` with its inputs, which follow it in the list.
fn node(nodes: &[NodeTrace], at: usize) -> String {
    let NodeTrace { told, did } = &nodes[at];
    let mut fields = vec![
        field("node", quoted(&told.title)),
        field("operator", quoted(told.kind())),
        field("estimated_rows", number(told.estimated_rows.max(0.0).round())),
    ];
    if let Some(did) = did {
        fields.push(field("rows", did.rows));
        fields.push(field("q_error", rounded(explain::q_error(told.estimated_rows, did.rows))));
        fields.push(field("work_orders", did.work_orders));
        fields.push(field("milliseconds", number(milliseconds(did.nanoseconds))));
        fields.push(field("bytes", did.bytes));
        fields.extend(facts(&nodes[at], did));
    }
    if !told.remarks.is_empty() {
        let remarks: Vec<String> = told.remarks.iter().map(|remark| quoted(remark)).collect();
        fields.push(field("remarks", format!("[{}]", remarks.join(", "))));
    }
    let inputs: Vec<String> = (at + 1..nodes.len())
        .filter(|below| nodes[*below].told.parent == Some(at))
        .map(|below| node(nodes, below))
        .collect();
    if !inputs.is_empty() {
        fields.push(field("inputs", format!("[{}]", inputs.join(", "))));
    }
    format!("{{{}}}", fields.join(", "))
}

fn rounded(value: f64) -> String {
    number((value * 1e3).round() / 1e3)
}

fn facts(node: &NodeTrace, did: &NodeMetrics) -> Vec<String> {
    let (filters, notes) = explain::filter_counts(&node.told, did);
    let filter = |f: &explain::FilterCounts| {
        let from = f.from.as_deref().map_or_else(|| "null".to_owned(), quoted);
        format!(
            "{{\"filter\": {}, \"from\": {from}, \"tested\": {}, \"dropped\": {}}}",
            f.filter.0, f.tested, f.dropped
        )
    };
    let filters: Vec<String> = filters.iter().map(filter).collect();
    let mut fields = Vec::new();
    if !filters.is_empty() {
        fields.push(field("filters", format!("[{}]", filters.join(", "))));
    }
    fields.extend(notes.iter().map(|(name, value)| field(name, note(value))));
    fields
}

/// A number, a tally of kinds such as `12 codes, 1 zone map`, or a text.
fn note(value: &str) -> String {
    if let Ok(number) = value.parse::<u64>() {
        return number.to_string();
    }
    let kinds = value.split(", ").map(|part| {
        let (count, kind) = part.split_once(' ')?;
        Some(format!("{}: {}", quoted(kind), count.parse::<u64>().ok()?))
    });
    match kinds.collect::<Option<Vec<String>>>() {
        Some(kinds) if !value.contains(" of ") => format!("{{{}}}", kinds.join(", ")),
        _ => quoted(value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::query::tests::trace;

    #[test]
    fn counters_have_names_and_numbers_are_numbers() {
        let parsed: serde_json::Value = serde_json::from_str(&explain_json(&trace(1, 10))).unwrap();
        let part = &parsed[0];
        assert_eq!(part["part"], "query");
        assert_eq!(part["plan"]["operator"], "Aggregate");
        assert_eq!(part["plan"]["q_error"].as_f64(), Some(100.0));
        assert_eq!(part["plan"]["remarks"][0], "a remark with <tags> & \"quotes\"");
        let scan = &part["plan"]["inputs"][0];
        assert_eq!((scan["rows"].as_u64(), scan["milliseconds"].as_f64()), (Some(1_000_000), Some(2.0)));
        assert_eq!(scan["filters"][0]["dropped"], 40);
        assert_eq!(scan["access paths"]["zone map"], 1);
        assert_eq!((&scan["table"], &scan["spilled bytes"]), (&"dense".into(), &4096.into()));
        assert_eq!(part["segments"][1]["operators"], "merge");
        assert_eq!(part["optimizing_milliseconds"], 0.25);
        assert_eq!(part["q_error_worst"].as_f64(), Some(100.0));
    }

    #[test]
    fn estimates_alone_are_valid_too() {
        let mut trace = trace(1, 0);
        trace.parts[0].metrics = None;
        let parsed: serde_json::Value = serde_json::from_str(&explain_json(&trace)).unwrap();
        assert!(parsed[0]["plan"].get("rows").is_none() && parsed[0].get("segments").is_none());
        trace.parts.clear();
        assert_eq!(explain_json(&trace), "[]");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in "\\PC*|[\\x00-\\x1f\"\\\\]*") {
            prop_assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
        }

        #[test]
        fn any_note_is_valid(value in "[0-9a-z, ]{0,12}|\\PC*") {
            serde_json::from_str::<serde_json::Value>(&note(&value)).unwrap();
        }
    }
}
