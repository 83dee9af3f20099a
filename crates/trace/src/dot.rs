//! The plan as a graph in Graphviz's language: rows flow upwards along edges as thick as they are many.

use std::fmt::Write;

use plan::explain;

use crate::{NodeTrace, PartTrace, QueryTrace};

/// Titles are cut into lines of about so many characters, and after so many lines.
const LINE: usize = 44;
const LINES_MAX: usize = 5;

/// One graph; a cluster for each part where there are several.
pub fn dot(trace: &QueryTrace) -> String {
    let mut out = String::from(
        "digraph plan {\n  rankdir=BT;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f7f7f5\", \
         color=\"#8a8a85\", fontname=\"Helvetica\", fontsize=11];\n  edge [color=\"#8a8a85\", fontname=\"Helvetica\", \
         fontsize=10];\n",
    );
    let several = trace.parts.len() > 1;
    for (at, part) in trace.parts.iter().enumerate() {
        if several {
            let _ = writeln!(out, "  subgraph cluster_{at} {{\n  label={};", quoted(&part.title));
        }
        graph(part, at, &mut out);
        if several {
            out.push_str("  }\n");
        }
    }
    out.push_str("}\n");
    out
}

fn graph(part: &PartTrace, number: usize, out: &mut String) {
    let nodes = part.nodes();
    let total: u64 = nodes.iter().map(NodeTrace::nanoseconds).sum();
    for (at, node) in nodes.iter().enumerate() {
        let share = node.nanoseconds() as f64 / total.max(1) as f64;
        let _ = write!(out, "  n{number}_{at} [label={}", quoted(&label(node)));
        if part.timed {
            let _ = write!(out, ", fillcolor={}", quoted(&warmth(share)));
        }
        // An estimate that is off by ten has led somewhere else, perhaps.
        if node.q_error().is_some_and(|error| error >= 10.0) {
            out.push_str(", color=\"#c0392b\", penwidth=2.5");
        }
        out.push_str("];\n");
        if let Some(parent) = node.told.parent {
            let rows = node.did.as_ref().map_or(node.told.estimated_rows, |did| did.rows as f64).max(0.0);
            let width = 1.0 + (rows + 1.0).log10() / 2.0;
            let label = explain::grouped(rows.round() as u64);
            let width = if width.is_finite() { width } else { 8.0 };
            let _ = writeln!(
                out,
                "  n{number}_{at} -> n{number}_{parent} [label={}, penwidth={width:.1}];",
                quoted(&format!(" {label} rows"))
            );
        }
    }
}

fn label(node: &NodeTrace) -> String {
    let mut lines = folded(&node.told.title);
    match &node.did {
        None => lines
            .push(format!("{} rows expected", explain::grouped(node.told.estimated_rows.max(0.0) as u64))),
        Some(did) => {
            let error = node.q_error().map_or(String::new(), |error| format!(" (q {error:.2})"));
            lines.push(format!("{} rows{error}", explain::grouped(did.rows)));
            lines.push(format!("{:.3} ms, {} work orders", did.nanoseconds as f64 / 1e6, did.work_orders));
        }
    }
    lines.join("\n")
}

/// Lines of a title, cut at blanks.
fn folded(title: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in title.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + word.chars().count() >= LINE {
            if lines.len() == LINES_MAX {
                lines[last].push_str(" ...");
                return lines;
            }
            lines.push(word.to_owned());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines
}

/// From paper to orange by the share of the time.
fn warmth(share: f64) -> String {
    let mix = |from: u8, to: u8| f64::from(from) + (f64::from(to) - f64::from(from)) * share.clamp(0.0, 1.0);
    // Between two bytes.
    format!("#{:02x}{:02x}{:02x}", mix(0xf7, 0xf5) as u8, mix(0xf7, 0xa6) as u8, mix(0xf5, 0x4b) as u8)
}

/// A string of the language; its lines are centred.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    #[test]
    fn nodes_edges_and_clusters() {
        let mut trace = trace(1, 10);
        let one = dot(&trace);
        assert_eq!((one.matches("[label=").count(), one.matches(" -> ").count()), (3, 1));
        assert!(one.contains("n0_1 -> n0_0 [label=\" 1,000,000 rows\", penwidth=4.0]"), "{one}");
        assert!(one.contains("penwidth=2.5"), "an estimate 100 times off is marked: {one}");
        trace.parts.push(trace.parts[0].clone());
        assert_eq!(dot(&trace).matches("subgraph cluster_").count(), 2);
        assert_eq!(dot(&trace).matches('{').count(), dot(&trace).matches('}').count());
    }

    #[test]
    fn strings_end_where_they_should() {
        assert_eq!(quoted("a \"b\" \\ c\nd\u{7}"), "\"a \\\"b\\\" \\\\ c\\nd \"");
        assert!(folded(&"word ".repeat(200)).len() <= LINES_MAX);
        assert_eq!(folded("a"), ["a"]);
        assert_eq!((warmth(0.0), warmth(1.0)), ("#f7f7f5".into(), "#f5a64b".into()));
    }
}
