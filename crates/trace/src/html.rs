//! A query on one page that needs no other file: times, the plan with a bar and the worth of the estimate for each
//! operator, the segments, and the work orders over time. No script and no address: what a page shows is in it.
//!
//! Made of a finished query's `Trace` by `trace_html()` and the command; texts of the query are escaped. Times are in
//! the unit that suits each, widths in shares of the longest.

use std::fmt::Write;

use plan::explain;

use crate::svg::{colour, escaped, timeline};
use crate::text::{milliseconds, one_line};
use crate::{NodeTrace, PartTrace, QueryTrace};

const STYLE: &str = "
:root { --ink:#1d1d1b; --soft:#6b6b66; --line:#dededa; --paper:#fdfdfb; --card:#f5f5f1; --bar:#f0a04b; --wait:#9db7cf }
@media (prefers-color-scheme: dark) {
:root { --ink:#ecece6; --soft:#a2a29a; --line:#3b3b38; --paper:#191918; --card:#242422; --bar:#c97f2c; --wait:#51708c } }
* { box-sizing:border-box }
body { margin:0; background:var(--paper); color:var(--ink); font:14px/1.45 system-ui,sans-serif }
main { max-width:1160px; margin:0 auto; padding:28px 24px 60px }
h1 { font-size:20px; margin:0 0 4px } h2 { font-size:15px; margin:34px 0 10px }
pre.sql { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:12px 14px; margin:12px 0;
  white-space:pre-wrap; overflow-wrap:anywhere; font:13px/1.5 ui-monospace,monospace; max-height:22em; overflow:auto }
.state { color:var(--soft) } .failed { color:#c0392b; font-weight:600 }
.cards { display:flex; flex-wrap:wrap; gap:10px; margin:16px 0 }
.card { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:8px 14px; min-width:104px }
.card b { display:block; font-size:17px; font-variant-numeric:tabular-nums } .card span { color:var(--soft); font-size:12px }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums }
th { text-align:left; font-weight:500; color:var(--soft); font-size:12px; border-bottom:1px solid var(--line); padding:4px 8px }
td { padding:5px 8px; border-bottom:1px solid var(--line); vertical-align:top }
th.n, td.n { text-align:right; white-space:nowrap }
td.op { width:46% } .op div.title { overflow-wrap:anywhere } .op b { font-weight:600 }
.notes { color:var(--soft); font-size:12px } .notes li { margin:1px 0 } .notes ul { margin:2px 0 0; padding-left:16px }
td.time { width:17% } .bar { height:9px; border-radius:2px; background:var(--line); margin-top:5px; overflow:hidden }
.bar i { display:block; height:100%; background:var(--bar) }
.q { display:inline-block; border-radius:9px; padding:0 8px; font-size:12px; background:var(--line) }
.q.good { background:#cfe8d5; color:#14532d } .q.fair { background:#fbe7b2; color:#6b4500 } .q.bad { background:#f4b9b0; color:#7a1408; font-weight:600 }
.dot { display:inline-block; width:10px; height:10px; border-radius:2px; margin-right:7px }
svg.timeline { width:100%; height:auto; display:block; background:var(--card); border:1px solid var(--line); border-radius:8px }
svg text { font:11px system-ui,sans-serif; fill:var(--soft) } svg text.lane { text-anchor:end; font-size:12px; fill:var(--ink) }
svg text.time { text-anchor:middle } svg .tick { stroke:var(--line) } svg .idle { fill:var(--line); opacity:.45 }
.scroll { overflow-x:auto } footer { margin-top:36px; color:var(--soft); font-size:12px }
";

/// The page as HTML text, complete with its styles.
pub fn html(trace: &QueryTrace) -> String {
    let mut out = String::with_capacity(16 << 10);
    let ran = trace.parts.iter().any(|part| part.metrics.is_some());
    let title = match trace.id {
        0 => "Query plan".to_owned(),
        id => format!("Query {id}"),
    };
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{}: {}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n",
        escaped(&title),
        escaped(&one_line(&trace.text)),
    );
    head(trace, ran, &mut out);
    let drawing = timeline(trace);
    if !drawing.is_empty() {
        out.push_str("<h2>Work orders over time</h2>\n<div class=\"scroll\">");
        out.push_str(&drawing);
        out.push_str("</div>\n");
    }
    let mut first = 0;
    for part in &trace.parts {
        plan(part, trace.parts.len() > 1, &mut out);
        segments(part, first, &mut out);
        first += part.segments.len();
    }
    if trace.parts_left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"notes\">{} more plans ran.</p>",
            explain::grouped(trace.parts_left_out)
        );
    }
    settings(trace, &mut out);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn head(trace: &QueryTrace, ran: bool, out: &mut String) {
    if ran {
        match &trace.failure {
            None => out.push_str("<div class=\"state\">finished</div>\n"),
            Some((state, message)) => {
                let (what, message) = (trace.state(), escaped(message));
                let _ = writeln!(out, "<div class=\"failed\">{what}: {} {message}</div>", escaped(state));
            }
        }
    }
    let _ = writeln!(out, "<pre class=\"sql\">{}</pre>", escaped(trace.text.trim()));
    if !ran {
        return;
    }
    let mut cards = vec![
        ("planning", time(trace.planning.as_nanos() as u64)),
        ("execution", time(trace.execution())),
        ("rows", explain::grouped(trace.rows)),
        ("work orders", explain::grouped(trace.work_orders())),
        ("memory at most", explain::bytes(trace.memory_peak)),
    ];
    if !trace.total.is_zero() {
        cards.insert(0, ("in all", time(trace.total.as_nanos() as u64)));
    }
    let busy: u64 = trace.parts.iter().map(PartTrace::busy).sum();
    if trace.execution() > 0 && trace.workers > 0 {
        let share = 100.0 * busy as f64 / (trace.execution() as f64 * trace.workers as f64);
        cards.push(("of the workers' time", format!("{:.0} %", share.min(100.0))));
    }
    let (waited, held) = trace.waited();
    let waits = [("queued", trace.queued()), ("waited", waited), ("held", held)];
    // Asking the load controller takes some microseconds; that is no wait.
    cards.extend(waits.into_iter().filter(|(_, wait)| *wait > 50_000).map(|(what, wait)| (what, time(wait))));
    if let Some((worst, _)) = trace.worst_estimate() {
        cards.push(("worst q-error", format!("{worst:.1}")));
    }
    out.push_str("<div class=\"cards\">\n");
    for (what, value) in cards {
        let _ = writeln!(out, "<div class=\"card\"><b>{}</b><span>{what}</span></div>", escaped(&value));
    }
    out.push_str("</div>\n");
}

fn plan(part: &PartTrace, several: bool, out: &mut String) {
    let title = match several {
        true => format!("Plan of {}", escaped(&part.title)),
        false => "Plan".to_owned(),
    };
    let ran = part.metrics.is_some();
    let _ = writeln!(out, "<h2>{title}</h2>\n<div class=\"scroll\"><table>\n<tr><th>operator</th>");
    let columns: &[&str] =
        if ran { &["expected", "rows", "q-error", "work orders"] } else { &["rows expected"] };
    for column in columns {
        let _ = write!(out, "<th class=\"n\">{column}</th>");
    }
    out.push_str(if part.timed { "<th>time</th></tr>\n" } else { "</tr>\n" });
    let nodes = part.nodes();
    let longest = nodes.iter().map(NodeTrace::nanoseconds).max().unwrap_or(0).max(1);
    let total: u64 = nodes.iter().map(NodeTrace::nanoseconds).sum();
    for node in &nodes {
        row(node, part.timed, longest, total, out);
    }
    out.push_str("</table></div>\n");
}

fn row(node: &NodeTrace, timed: bool, longest: u64, total: u64, out: &mut String) {
    let told = &node.told;
    let (kind, rest) = told.title.split_once(' ').unwrap_or((&told.title, ""));
    let _ = write!(
        out,
        "<tr><td class=\"op\" style=\"padding-left:{}px\"><div class=\"title\"><b>{}</b> {}</div>",
        8 + 18 * told.depth.min(24),
        escaped(kind),
        escaped(rest)
    );
    let mut notes = node.did.as_ref().map_or_else(Vec::new, |did| explain::facts(told, did));
    notes.extend(told.remarks.iter().cloned());
    if !notes.is_empty() {
        out.push_str("<div class=\"notes\"><ul>");
        notes.iter().for_each(|note| _ = write!(out, "<li>{}</li>", escaped(note)));
        out.push_str("</ul></div>");
    }
    let expected = explain::grouped(told.estimated_rows.max(0.0).round() as u64);
    let _ = write!(out, "</td><td class=\"n\">{expected}</td>");
    if let Some(did) = &node.did {
        let error = node.q_error().map_or(String::new(), |error| {
            let class = match error {
                e if e < 2.0 => "good",
                e if e < 10.0 => "fair",
                _ => "bad",
            };
            format!("<span class=\"q {class}\">{error:.2}</span>")
        });
        let _ = write!(
            out,
            "<td class=\"n\">{}</td><td class=\"n\">{error}</td><td class=\"n\">{}</td>",
            explain::grouped(did.rows),
            explain::grouped(did.work_orders)
        );
    }
    if timed {
        let own = node.nanoseconds();
        let _ = write!(
            out,
            "<td class=\"time\">{} <span class=\"notes\">{:.0} %</span>{}</td>",
            time(own),
            100.0 * own as f64 / total.max(1) as f64,
            bar(own, longest)
        );
    }
    out.push_str("</tr>\n");
}

fn bar(value: u64, longest: u64) -> String {
    format!("<div class=\"bar\"><i style=\"width:{:.1}%\"></i></div>", 100.0 * value as f64 / longest as f64)
}

fn segments(part: &PartTrace, first: usize, out: &mut String) {
    if part.segments.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Pipeline segments</h2>\n<div class=\"scroll\"><table>\n<tr><th>operators</th><th \
         class=\"n\">work orders</th><th class=\"n\">rows</th><th class=\"n\">began</th><th \
         class=\"n\">ended</th><th>busy, all workers</th></tr>\n",
    );
    let longest = part.segments.iter().map(|segment| segment.busy).max().unwrap_or(0).max(1);
    for (at, segment) in part.segments.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td class=\"op\"><span class=\"dot\" style=\"background:{}\"></span>{}</td><td \
             class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
             class=\"time\">{}{}</td></tr>",
            colour(first + at),
            escaped(&segment.name),
            explain::grouped(segment.orders),
            explain::grouped(segment.rows),
            if segment.started == 0 { String::new() } else { time(segment.started) },
            if segment.finished == 0 { String::new() } else { time(segment.finished) },
            time(segment.busy),
            bar(segment.busy, longest)
        );
    }
    out.push_str("</table></div>\n");
}

fn settings(trace: &QueryTrace, out: &mut String) {
    let settings = (trace.settings)();
    if settings.is_empty() {
        return;
    }
    out.push_str("<h2>Settings</h2>\n<details class=\"notes\"><summary>that it ran under</summary><ul>\n");
    for (name, value) in settings {
        let _ = writeln!(out, "<li>{} = {}</li>", escaped(&name), escaped(&value));
    }
    out.push_str("</ul></details>\n");
}

/// In the unit that leaves few places.
fn time(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000_000 => format!("{:.0} µs", nanoseconds as f64 / 1e3),
        1_000_000..10_000_000_000 => format!("{:.2} ms", milliseconds(nanoseconds)),
        _ => format!("{:.1} s", nanoseconds as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    /// Tags are closed in the order in which they were opened, and nothing of the query is a tag.
    fn check_tags(page: &str) {
        let mut open: Vec<&str> = Vec::new();
        let body = &page[page.find("<html").unwrap()..];
        let style = (body.find("<style>").unwrap(), body.find("</style>").unwrap());
        let body = format!("{}{}", &body[..style.0], &body[style.1 + 8..]);
        for part in body.split('<').skip(1) {
            let tag = &part[..part.find('>').unwrap_or_else(|| panic!("an open tag: {part}"))];
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            match (tag.starts_with('/'), tag.ends_with('/') || ["meta", "br"].contains(&name)) {
                (true, _) => {
                    let last = body_tag(&mut open);
                    assert_eq!(last, name);
                }
                (false, true) => {}
                (false, false) => {
                    open.push(ALL.iter().find(|n| **n == name).unwrap_or_else(|| panic!("<{tag}>")))
                }
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    fn body_tag<'a>(open: &mut Vec<&'a str>) -> &'a str {
        open.pop().unwrap_or("nothing")
    }

    const ALL: [&str; 28] = [
        "html", "head", "title", "body", "main", "h1", "h2", "pre", "div", "span", "b", "i", "table", "tr",
        "th", "td", "ul", "li", "details", "summary", "svg", "text", "rect", "line", "footer", "p", "style",
        "code",
    ];

    #[test]
    fn the_page_is_whole_and_holds_no_address() {
        let page = html(&trace(3, 500));
        check_tags(&page);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href="));
        assert_eq!(page.matches("http").count(), 1, "the name of SVG's own namespace");
        assert!(page.contains("<span class=\"q bad\">100.00</span>"));
        assert!(page.contains("a remark with &lt;tags&gt; &amp; &quot;quotes&quot;"));
        assert!(page.contains("&lt;/script&gt;") && page.contains("worker 1"));
    }

    #[test]
    fn a_plan_that_did_not_run_and_one_that_failed() {
        let mut planned = trace(0, 0);
        planned.parts[0].metrics = None;
        planned.parts[0].segments.clear();
        planned.parts[0].timed = false;
        let page = html(&planned);
        check_tags(&page);
        assert!(page.contains("rows expected") && !page.contains("q-error"));
        let mut failed = trace(5, 5);
        failed.failure = Some(("22012".into(), "division by <zero>".into()));
        let page = html(&failed);
        check_tags(&page);
        assert!(page.contains("failed: 22012 division by &lt;zero&gt;"));
    }
}
