//! The work orders in Chrome's trace event format, which Perfetto and `chrome://tracing` open.
//!
//! Format: "Trace Event Format" (Google, 2016), object form. Every event is complete (`ph` is `X`) with `ts` and `dur` in
//! microseconds, or metadata (`M`) that names processes and threads:
//!
//! ```text
//!  process = the query; thread 0 = the statement: its parts and what they waited for the load controller
//!                       thread w + 1 = worker w: its work orders
//! ```
//! Events of a thread nest or follow each other, as the format demands: where records of a worker overlap (only joined
//! ones do), the later one begins where the earlier ended.

use std::collections::BTreeMap;

use crate::QueryTrace;
use crate::json::quoted;
use crate::text::one_line;

/// The file's text.
pub fn timeline(trace: &QueryTrace) -> String {
    let pid = trace.id;
    let name = |what: &str, tid: u64, value: &str| {
        format!(
            "{{\"ph\": \"M\", \"name\": \"{what}\", \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"name\": {}}}}}",
            quoted(value)
        )
    };
    let mut events = vec![
        name("process_name", 0, &format!("query {pid}: {}", one_line(&trace.text))),
        name("thread_name", 0, "statement"),
    ];
    let complete = |name: &str, category: &str, tid: u64, (from, to): (u64, u64), args: &str| {
        format!(
            "{{\"ph\": \"X\", \"name\": {}, \"cat\": \"{category}\", \"pid\": {pid}, \"tid\": {tid}, \"ts\": {}, \
             \"dur\": {}, \"args\": {{{args}}}}}",
            quoted(name),
            microseconds(from),
            microseconds(to.saturating_sub(from))
        )
    };
    let total =
        (trace.total.as_nanos() as u64).max(trace.parts.iter().map(|p| p.begun + p.wall).max().unwrap_or(0));
    let about = format!(
        "\"text\": {}, \"state\": {}, \"rows\": {}, \"planning_ms\": {:.3}, \"memory_peak_bytes\": {}",
        quoted(&trace.text),
        quoted(trace.state()),
        trace.rows,
        trace.planning.as_secs_f64() * 1e3,
        trace.memory_peak
    );
    let mut spans = vec![complete("statement", "statement", 0, (0, total), &about)];
    let mut ended: BTreeMap<u64, u64> = BTreeMap::new();
    for part in &trace.parts {
        let begun = part.begun;
        spans.push(complete(&part.title, "plan", 0, (begun, begun + part.wall), ""));
        if part.queued > 0 {
            spans.push(complete("queued", "wait", 0, (begun, begun + part.queued.min(part.wall)), ""));
        }
        for order in &part.orders {
            let tid = u64::from(order.worker.0) + 1;
            let free = ended.entry(tid).or_default();
            let (from, to) = ((begun + order.started).max(*free), begun + order.ended);
            let to = to.max(from);
            *free = to;
            let segment = part.segments.get(order.segment.index()).map_or("?", |s| s.name.as_str());
            let args = format!(
                "\"segment\": {}, \"orders\": {}, \"units\": {}, \"rows\": {}, \"bytes\": {}, \"memory_bytes\": {}, \
                 \"waited_us\": {}, \"held_us\": {}",
                order.segment.0,
                order.orders,
                order.units,
                order.rows,
                order.bytes,
                order.grown,
                microseconds(order.waited),
                microseconds(order.held)
            );
            spans.push(complete(segment, "work order", tid, (from, to), &args));
        }
    }
    events.extend(ended.keys().map(|tid| name("thread_name", *tid, &format!("worker {}", tid - 1))));
    events.extend(spans);
    format!("{{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{}\n]}}\n", events.join(",\n"))
}

/// With the nanoseconds behind the point.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1_000, nanoseconds % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    /// What is wrong with a text in Chrome's format.
    fn faults(text: &str) -> Vec<String> {
        let Ok(file) = serde_json::from_str::<serde_json::Value>(text) else { return vec!["no JSON".into()] };
        let Some(events) = file["traceEvents"].as_array() else { return vec!["no traceEvents".into()] };
        let mut faults = Vec::new();
        let mut named = std::collections::BTreeSet::new();
        let mut open: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for event in events {
            let mut wrong = |what: &str| faults.push(format!("{what}: {event}"));
            if !event["name"].is_string() || !event["pid"].is_u64() {
                wrong("no name or process");
            }
            let Some(tid) = event["tid"].as_u64() else {
                wrong("no thread");
                continue;
            };
            match event["ph"].as_str() {
                Some("M") => {
                    if !event["args"]["name"].is_string() {
                        wrong("metadata without a name");
                    }
                    named.insert((event["name"].as_str().map(str::to_owned), tid));
                }
                Some("X") => {
                    let (Some(from), Some(length)) = (event["ts"].as_f64(), event["dur"].as_f64()) else {
                        wrong("no ts or dur");
                        continue;
                    };
                    if !named.contains(&(Some("thread_name".into()), tid)) {
                        wrong("a thread without a name");
                    }
                    let stack = open.entry(tid).or_default();
                    while stack.last().is_some_and(|end| *end <= from) {
                        stack.pop();
                    }
                    if stack.last().is_some_and(|end| from + length > end + 0.001) {
                        wrong("overlaps the one before it");
                    }
                    stack.push(from + length);
                    if from < 0.0 || length < 0.0 {
                        wrong("runs backwards");
                    }
                }
                _ => wrong("unknown phase"),
            }
        }
        faults
    }

    #[test]
    fn events_follow_the_rules_of_the_format() {
        let mut trace = trace(3, 500);
        assert_eq!(faults(&timeline(&trace)), Vec::<String>::new());
        // Joined records that overlap.
        trace.parts[0].orders[4].ended += 50_000;
        trace.parts.push(trace.parts[0].clone());
        trace.parts[1].begun += 600_000_000;
        assert_eq!(faults(&timeline(&trace)), Vec::<String>::new());
        let parsed: serde_json::Value = serde_json::from_str(&timeline(&trace)).unwrap();
        let orders = parsed["traceEvents"].as_array().unwrap().iter().filter(|e| e["cat"] == "work order");
        assert_eq!(orders.count(), 1_000);
        trace.parts.clear();
        assert_eq!(faults(&timeline(&trace)), Vec::<String>::new());
    }

    #[test]
    fn planted_faults_are_found() {
        let good = timeline(&trace(3, 4));
        for (from, to) in [
            ("\"ph\": \"X\"", "\"ph\": \"Y\""),
            ("\"dur\": 0.900", "\"dur\": 5.000"),
            ("\"tid\": 2", "\"tid\": 9"),
            ("\"ts\"", "\"when\""),
            ("thread_name", "thread_title"),
        ] {
            assert!(good.contains(from), "{from}: {good}");
            assert!(
                !faults(&good.replacen(from, to, if from.contains("tid") { 1 } else { 99 })).is_empty(),
                "{from}"
            );
        }
        assert_eq!(microseconds(1_234_567), "1234.567");
    }
}
