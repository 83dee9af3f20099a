//! A trace as EXPLAIN ANALYZE shows it, and in one line.

use std::fmt::Write;

use plan::explain;
use plan::print::NodeMetrics;

use crate::QueryTrace;

/// Bytes of a statement that are shown in one line.
const TEXT_MAX: usize = 120;

/// The plans with what their nodes did, what estimates were worth, and the times.
pub fn explain_text(trace: &QueryTrace) -> String {
    let mut text = String::new();
    let mut errors = Vec::new();
    for part in &trace.parts {
        let nodes = part.plan.told();
        let Some(metrics) = &part.metrics else {
            if trace.parts.len() > 1 {
                let _ = writeln!(text, "{}:", part.title);
            }
            text.push_str(&explain::explain(&nodes, None));
            continue;
        };
        if trace.parts.len() > 1 {
            let _ = writeln!(text, "{}: {:.3} ms", part.title, milliseconds(part.wall));
        }
        let did = |node| -> NodeMetrics { metrics(node) };
        text.push_str(&explain::explain(&nodes, Some(&did)));
        errors.append(&mut explain::q_errors(&nodes, &did));
    }
    if trace.parts_left_out > 0 {
        let _ = writeln!(text, "{} more plans ran", explain::grouped(trace.parts_left_out));
    }
    if trace.kept_plan {
        text.push_str("planned by an earlier statement with the same text\n");
    }
    errors.sort_by(|a, b| b.0.total_cmp(&a.0));
    if let Some((worst, at)) = errors.first() {
        let median = explain::percentile(&errors, 0.5);
        let _ = writeln!(
            text,
            "q-error of {} operators: median {median:.2}, worst {worst:.2} at {at}",
            errors.len()
        );
    }
    text
}

/// What happened, in one line: for logs.
pub fn summary(trace: &QueryTrace) -> String {
    let mut line = format!(
        "query {} {} after {:.3} ms: planning {:.3} ms{}, execution {:.3} ms, {} rows, {} work orders, {} at most",
        trace.id,
        trace.state(),
        trace.total.as_secs_f64() * 1e3,
        trace.planning.as_secs_f64() * 1e3,
        if trace.kept_plan { " (kept)" } else { "" },
        milliseconds(trace.execution()),
        explain::grouped(trace.rows),
        explain::grouped(trace.work_orders()),
        explain::bytes(trace.memory_peak),
    );
    let (waited, held) = trace.waited();
    for (what, nanoseconds) in [("queued", trace.queued()), ("waited", waited), ("held", held)] {
        if nanoseconds > 0 {
            let _ = write!(line, ", {what} {:.3} ms", milliseconds(nanoseconds));
        }
    }
    let segments = trace.parts.iter().flat_map(|part| &part.segments);
    if let Some(longest) = segments.max_by_key(|segment| segment.busy) {
        let _ = write!(line, "; most in \"{}\" ({:.3} ms)", longest.name, milliseconds(longest.busy));
    }
    if let Some((worst, at)) = trace.worst_estimate().filter(|(worst, _)| *worst >= 10.0) {
        let _ = write!(line, "; estimate {worst:.0}x off at {at}");
    }
    if let Some((state, message)) = &trace.failure {
        let _ = write!(line, "; {state} {message}");
    }
    let _ = write!(line, ": {}", one_line(&trace.text));
    line
}

/// The beginning of a statement without its line breaks.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.len() <= TEXT_MAX {
        return line;
    }
    format!("{}...", &line[..line.floor_char_boundary(TEXT_MAX)])
}

pub(crate) fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    #[test]
    fn a_trace_reads_like_explain_analyze() {
        let text = explain_text(&trace(1, 10));
        assert!(text.starts_with(
            "Aggregate by [] []\n  » 1 rows, 100 expected (q 100.00); 1.000 ms; 10 work orders"
        ));
        assert!(text.contains("  · filter 3: tested 100, dropped 40 (40.0 %)\n"), "{text}");
        assert!(
            text.ends_with("q-error of 2 operators: median 1.00, worst 100.00 at Aggregate by [] []\n"),
            "{text}"
        );
    }

    #[test]
    fn a_summary_is_one_line_and_names_the_dearest() {
        let mut trace = trace(9, 1000);
        trace.text = "SELECT\n  1,\n  2".into();
        let line = summary(&trace);
        assert!(line.starts_with("query 9 finished after 1.500 ms: planning 0.250 ms"), "{line}");
        assert!(line.contains("estimate 100x off at Aggregate"), "{line}");
        assert!(line.ends_with(": SELECT 1, 2") && !line.contains('\n'), "{line}");
        trace.text = "ä".repeat(1000).into();
        assert!(summary(&trace).len() < 600);
    }
}
