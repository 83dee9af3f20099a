//! The work orders of a query as a drawing: a lane a worker, a box an order, a colour a segment.
//!
//! One function from a trace to SVG text, for the page of `html.rs` and for files of its own.
//! Orders of one worker never overlap; times are from the query's begin, widths shares of its length.

use std::fmt::Write;

use crate::QueryTrace;
use crate::text::milliseconds;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 84.0;
const LANE: f64 = 26.0;
const GAP: f64 = 5.0;
const TOP: f64 = 8.0;
/// Orders nearer to each other than this are one box: a screen shows no more.
const BOX_MIN: f64 = 0.6;
const TICKS: usize = 8;

/// Colours that are told apart by most eyes (Okabe and Ito's, and lighter ones of them).
pub(crate) const COLOURS: [&str; 10] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f7f7f", "#b5a800", "#5d4a9c",
    "#8cc3a5",
];

/// The number of a segment among all of the query's, whose colour it has.
pub(crate) fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

struct Drawn {
    lane: usize,
    segment: usize,
    from: f64,
    to: f64,
    orders: u64,
    rows: u64,
    busy: u64,
    waited: u64,
}

/// Text safe inside HTML and attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The drawing; empty when nothing was recorded.
pub(crate) fn timeline(trace: &QueryTrace) -> String {
    let orders = trace.parts.iter().flat_map(|part| part.orders.iter().map(move |order| (part, order)));
    let mut workers: Vec<u32> = orders.clone().map(|(_, order)| order.worker.0).collect();
    workers.sort_unstable();
    workers.dedup();
    if workers.is_empty() {
        return String::new();
    }
    let ends = orders.map(|(part, order)| part.begun + order.ended);
    // Nanoseconds; what came after the last order is the reader's time.
    let end = ends.max().unwrap_or(1).max(1) as f64;
    let scale = (WIDTH - LEFT - 8.0) / end;
    let x = |nanoseconds: u64| LEFT + nanoseconds as f64 * scale;
    let lanes = workers.len() as f64;
    let height = TOP + lanes * (LANE + GAP) + 24.0;
    let mut out = format!(
        "<svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" \
         aria-label=\"Work orders by worker over time\">\n"
    );
    axis(end, scale, height, &mut out);
    for (lane, worker) in workers.iter().enumerate() {
        let y = TOP + lane as f64 * (LANE + GAP);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"lane\">worker {worker}</text><rect x=\"{LEFT}\" y=\"{y}\" \
             width=\"{:.1}\" height=\"{LANE}\" class=\"idle\"/>",
            LEFT - 8.0,
            y + LANE / 2.0 + 4.0,
            WIDTH - LEFT - 8.0
        );
    }
    let mut first = 0;
    for part in &trace.parts {
        let name = |segment: usize| part.segments.get(segment).map_or("", |s| s.name.as_str());
        for drawn in boxes(part, &workers, &x) {
            let y = TOP + drawn.lane as f64 * (LANE + GAP);
            let width = (drawn.to - drawn.from).max(BOX_MIN);
            let several = if drawn.orders == 1 { "" } else { "s" };
            let mut title = format!(
                "{}\n{} work order{several}, {:.3} ms, {} rows",
                name(drawn.segment),
                drawn.orders,
                milliseconds(drawn.busy),
                plan::explain::grouped(drawn.rows)
            );
            if drawn.waited > 0 {
                let _ = write!(title, ", waited {:.3} ms", milliseconds(drawn.waited));
            }
            let _ = writeln!(
                out,
                "<rect x=\"{:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{LANE}\" fill=\"{}\"><title>{}</title></rect>",
                drawn.from,
                colour(first + drawn.segment),
                escaped(&title)
            );
        }
        first += part.segments.len();
    }
    out.push_str("</svg>\n");
    out
}

/// What is drawn of a part's orders: neighbours of one segment that cannot be told apart are one box.
fn boxes(part: &crate::PartTrace, workers: &[u32], x: &dyn Fn(u64) -> f64) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> = Vec::new();
    let mut last_of_lane: Vec<Option<usize>> = vec![None; workers.len()];
    for order in &part.orders {
        let lane = workers.partition_point(|worker| *worker < order.worker.0);
        let (from, to) = (x(part.begun + order.started), x(part.begun + order.ended));
        let segment = order.segment.index();
        let last = last_of_lane[lane].and_then(|at| drawn.get_mut(at));
        match last {
            Some(last)
                if last.segment == segment
                    && from - last.to < BOX_MIN
                    && (to - from < BOX_MIN || last.to - last.from < BOX_MIN) =>
            {
                last.to = last.to.max(to);
                last.orders += order.orders;
                last.rows = last.rows.wrapping_add(order.rows);
                last.busy += order.nanoseconds();
                last.waited += order.waited + order.held;
            }
            _ => {
                last_of_lane[lane] = Some(drawn.len());
                drawn.push(Drawn {
                    lane,
                    segment,
                    from,
                    to,
                    orders: order.orders,
                    rows: order.rows,
                    busy: order.nanoseconds(),
                    waited: order.waited + order.held,
                });
            }
        }
    }
    drawn
}

fn axis(end: f64, scale: f64, height: f64, out: &mut String) {
    let step = round_step(end / TICKS as f64);
    let mut at = 0.0;
    while at <= end * 1.0001 {
        let x = LEFT + at * scale;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\" class=\"tick\"/><text x=\"{x:.1}\" \
             y=\"{:.1}\" class=\"time\">{}</text>",
            height - 20.0,
            height - 6.0,
            moment(at, step)
        );
        at += step;
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= least).unwrap_or(power * 10.0)
}

/// A moment with as many places as the step between two needs.
fn moment(nanoseconds: f64, step: f64) -> String {
    match step {
        s if s >= 1e9 => format!("{:.0} s", nanoseconds / 1e9),
        s if s >= 1e8 => format!("{:.1} s", nanoseconds / 1e9),
        s if s >= 1e6 => format!("{:.0} ms", nanoseconds / 1e6),
        s if s >= 1e5 => format!("{:.1} ms", nanoseconds / 1e6),
        _ => format!("{:.0} µs", nanoseconds / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    #[test]
    fn every_order_is_in_some_box_and_boxes_are_bounded() {
        for orders in [1, 10, 1_000, 30_000] {
            let trace = trace(1, orders);
            let drawn = boxes(&trace.parts[0], &[0, 1], &|t| 84.0 + t as f64 / (1e3 * orders as f64) * 980.0);
            assert_eq!(drawn.iter().map(|d| d.orders).sum::<u64>(), orders as u64);
            assert!(drawn.len() <= 4_000, "{} boxes of {orders} orders", drawn.len());
            let svg = timeline(&trace);
            assert_eq!(
                svg.matches("<rect").count(),
                svg.matches("</rect>").count() + svg.matches("idle").count()
            );
        }
        assert_eq!(timeline(&trace(1, 0)), "");
    }

    #[test]
    fn steps_are_round_and_moments_short() {
        assert_eq!([3.0, 12.0, 0.0, 4_999.0].map(round_step), [5.0, 20.0, 1.0, 5_000.0]);
        assert_eq!(moment(2.5e6, 5e5), "2.5 ms");
        assert_eq!((moment(3e9, 1e9), moment(20e3, 1e4)), ("3 s".into(), "20 µs".into()));
        assert_eq!(escaped("<a href='x'>&\"\u{1}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot; ");
    }
}
