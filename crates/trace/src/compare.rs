//! What changed between two runs: of the same statement on other days, under other settings, or of two like ones.
//!
//! Plans are aligned by their longest common subsequence of titles, segments by that of names, so that what only one of
//! them has is named as such and the rest is compared place by place.

use plan::explain;

use crate::text::{milliseconds, one_line};
use crate::{NodeTrace, PartTrace, QueryTrace};

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// statement, setting, plan, rows, estimate, operator time, segment time, time, memory or conclusion.
    pub aspect: &'static str,
    /// Which setting, operator or time.
    pub item: String,
    /// The value in the first run; `None` where only the second one has the item.
    pub first: Option<String>,
    /// The value in the second run; `None` where only the first one has the item.
    pub second: Option<String>,
    /// The change in words, or as a factor; `None` where nothing changed.
    pub change: Option<String>,
}

/// All that differs, and the figures that one looks at in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Line by line, in the order in which they are shown.
    pub differences: Vec<Difference>,
    /// One sentence: the total, and the largest contributor to its difference.
    pub conclusion: String,
}

/// Something that took time in either run.
struct Contributor {
    what: String,
    first: u64,
    second: u64,
    /// Rows that went with it, where they are known.
    rows: Option<(u64, u64)>,
    /// Only one of the plans has it.
    only: bool,
}

impl Contributor {
    fn plain(what: impl Into<String>, first: u64, second: u64) -> Self {
        Contributor { what: what.into(), first, second, rows: None, only: false }
    }
    /// Nanoseconds by which the second is longer.
    fn more(&self) -> i128 {
        i128::from(self.second) - i128::from(self.first)
    }
}

/// Below this, and below a tenth of the larger one, times are the same: machines are not quieter than that.
const NOISE: u64 = 100_000;

/// Compares the second run with the first.
pub fn compare(first: &QueryTrace, second: &QueryTrace) -> Comparison {
    let mut out: Vec<Difference> = Vec::new();
    let same = one_line(&first.text) == one_line(&second.text) && first.text == second.text;
    out.push(Difference {
        aspect: "statement",
        item: String::new(),
        first: Some(one_line(&first.text)),
        second: Some(one_line(&second.text)),
        change: (!same).then(|| "another text".to_owned()),
    });
    if first.state() != second.state() {
        out.push(changed("statement", "state", first.state(), second.state()));
    }
    let settings = changed_settings(first, second);
    out.extend(settings.iter().cloned());
    let mut contributors = times(first, second);
    let mut replanned = false;
    for at in 0..first.parts.len().max(second.parts.len()) {
        match (first.parts.get(at), second.parts.get(at)) {
            (Some(a), Some(b)) => {
                replanned |= parts(a, b, &mut out, &mut contributors);
            }
            (Some(only), None) => {
                replanned = true;
                out.push(one_sided("plan", &only.title, true));
                contributors
                    .push(Contributor { only: true, ..Contributor::plain(&*only.title, only.wall, 0) });
            }
            (None, Some(only)) => {
                replanned = true;
                out.push(one_sided("plan", &only.title, false));
                contributors
                    .push(Contributor { only: true, ..Contributor::plain(&*only.title, 0, only.wall) });
            }
            (None, None) => {}
        }
    }
    for contributor in contributors.iter().filter(|c| TIMES.contains(&c.what.as_str())) {
        out.push(of_times("time", &contributor.what, contributor.first, contributor.second));
    }
    let (a, b) = (first.total.as_nanos() as u64, second.total.as_nanos() as u64);
    out.push(of_times("time", "in all", a, b));
    out.push(of_times("time", "of processors", first.cpu.as_nanos() as u64, second.cpu.as_nanos() as u64));
    for (item, a, b) in [
        ("peak", first.memory_peak, second.memory_peak),
        ("expected", first.memory_expected, second.memory_expected),
    ] {
        let change = (a != b).then(|| factor(a as f64, b as f64));
        out.push(Difference {
            aspect: "memory",
            item: item.into(),
            first: Some(explain::bytes(a)),
            second: Some(explain::bytes(b)),
            change,
        });
    }
    let conclusion = conclude(first, second, &settings, replanned, &contributors);
    out.push(Difference {
        aspect: "conclusion",
        item: String::new(),
        first: None,
        second: None,
        change: Some(conclusion.clone()),
    });
    Comparison { differences: out, conclusion }
}

fn changed(aspect: &'static str, item: &str, first: &str, second: &str) -> Difference {
    Difference {
        aspect,
        item: item.to_owned(),
        first: Some(first.to_owned()),
        second: Some(second.to_owned()),
        change: Some("changed".to_owned()),
    }
}

fn one_sided(aspect: &'static str, item: &str, in_first: bool) -> Difference {
    let there = || Some("yes".to_owned());
    let only = if in_first { "only in the first" } else { "only in the second" };
    Difference {
        aspect,
        item: item.to_owned(),
        first: if in_first { there() } else { None },
        second: if in_first { None } else { there() },
        change: Some(only.to_owned()),
    }
}

fn of_times(aspect: &'static str, item: &str, first: u64, second: u64) -> Difference {
    let shown = |nanoseconds| Some(format!("{:.3} ms", milliseconds(nanoseconds)));
    Difference {
        aspect,
        item: item.to_owned(),
        first: shown(first),
        second: shown(second),
        change: is_other(first, second).then(|| factor(first as f64, second as f64)),
    }
}

fn is_other(first: u64, second: u64) -> bool {
    let difference = first.abs_diff(second);
    difference >= NOISE && difference >= first.max(second) / 10
}

/// `2.5x` when the second is larger, `0.40x` when it is smaller.
fn factor(first: f64, second: f64) -> String {
    match (first > 0.0, second > 0.0) {
        (false, true) => "new".to_owned(),
        (true, false) => "gone".to_owned(),
        _ => {
            let factor = second / first.max(f64::MIN_POSITIVE);
            if factor >= 10.0 { format!("{factor:.0}x") } else { format!("{factor:.2}x") }
        }
    }
}

fn changed_settings(first: &QueryTrace, second: &QueryTrace) -> Vec<Difference> {
    let (a, b) = ((first.settings)(), (second.settings)());
    let mut found = Vec::new();
    for (name, value) in &a {
        match b.iter().find(|(other, _)| other == name) {
            Some((_, other)) if other != value => found.push(changed("setting", name, value, other)),
            _ => {}
        }
    }
    found
}

/// What every query takes in addition to its operators.
const TIMES: [&str; 4] = ["planning", "queued", "waits of work orders", "rest"];

fn times(first: &QueryTrace, second: &QueryTrace) -> Vec<Contributor> {
    let waits = |trace: &QueryTrace| trace.waited().0 + trace.waited().1;
    let rest = |trace: &QueryTrace| {
        let known = trace.planning.as_nanos() as u64 + trace.execution();
        (trace.total.as_nanos() as u64).saturating_sub(known)
    };
    vec![
        Contributor::plain(TIMES[0], first.planning.as_nanos() as u64, second.planning.as_nanos() as u64),
        Contributor::plain(TIMES[1], first.queued(), second.queued()),
        Contributor::plain(TIMES[2], waits(first), waits(second)),
        Contributor::plain(TIMES[3], rest(first), rest(second)),
    ]
}

/// Compares the plans of two parts; whether they differ.
fn parts(a: &PartTrace, b: &PartTrace, out: &mut Vec<Difference>, found: &mut Vec<Contributor>) -> bool {
    let (ours, theirs) = (a.nodes(), b.nodes());
    let title = |node: &NodeTrace| node.told.title.clone();
    let pairs =
        aligned(&ours.iter().map(title).collect::<Vec<_>>(), &theirs.iter().map(title).collect::<Vec<_>>());
    let timed = a.timed && b.timed;
    let mut replanned = false;
    for pair in &pairs {
        match *pair {
            (Some(x), Some(y)) => node(&ours[x], &theirs[y], timed, out, found),
            (Some(x), None) | (None, Some(x)) => {
                replanned = true;
                let in_first = pair.1.is_none();
                let only = if in_first { &ours[x] } else { &theirs[x] };
                out.push(one_sided("plan", &only.told.title, in_first));
                if timed {
                    let (first, second) =
                        if in_first { (only.nanoseconds(), 0) } else { (0, only.nanoseconds()) };
                    let what = only.told.title.clone();
                    found.push(Contributor { only: true, ..Contributor::plain(what, first, second) });
                }
            }
            (None, None) => {}
        }
    }
    // What the operators of a segment took together is known of every run.
    let name = |segment: &crate::SegmentTrace| segment.name.clone();
    let names = |part: &PartTrace| part.segments.iter().map(name).collect::<Vec<_>>();
    for pair in aligned(&names(a), &names(b)) {
        let first = pair.0.map(|at| &a.segments[at]);
        let second = pair.1.map(|at| &b.segments[at]);
        let Some(either) = first.or(second) else { continue };
        let busy = |segment: Option<&crate::SegmentTrace>| segment.map_or(0, |s| s.busy);
        if is_other(busy(first), busy(second)) {
            out.push(of_times("segment time", &either.name, busy(first), busy(second)));
        }
        if !timed {
            found.push(Contributor {
                what: either.name.clone(),
                first: busy(first),
                second: busy(second),
                rows: first.zip(second).map(|(a, b)| (a.rows, b.rows)),
                only: first.is_none() || second.is_none(),
            });
        }
    }
    replanned
}

fn node(a: &NodeTrace, b: &NodeTrace, timed: bool, out: &mut Vec<Difference>, found: &mut Vec<Contributor>) {
    let item = &a.told.title;
    let estimated = |node: &NodeTrace| node.told.estimated_rows.max(0.0).round() as u64;
    let figures = |aspect, first: u64, second: u64| Difference {
        aspect,
        item: item.clone(),
        first: Some(explain::grouped(first)),
        second: Some(explain::grouped(second)),
        change: Some(factor(first as f64, second as f64)),
    };
    if estimated(a) != estimated(b) {
        out.push(figures("estimate", estimated(a), estimated(b)));
    }
    let (Some(did_a), Some(did_b)) = (&a.did, &b.did) else { return };
    if did_a.rows != did_b.rows {
        out.push(figures("rows", did_a.rows, did_b.rows));
    }
    if timed {
        if is_other(did_a.nanoseconds, did_b.nanoseconds) {
            out.push(of_times("operator time", item, did_a.nanoseconds, did_b.nanoseconds));
        }
        let rows = Some((did_a.rows, did_b.rows));
        let times = Contributor::plain(item.clone(), did_a.nanoseconds, did_b.nanoseconds);
        found.push(Contributor { rows, ..times });
    }
}

/// Positions of both lists, side by side where they agree.
fn aligned(a: &[String], b: &[String]) -> Vec<(Option<usize>, Option<usize>)> {
    // The longest common subsequence of the rests from each place on.
    let mut length = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for x in (0..a.len()).rev() {
        for y in (0..b.len()).rev() {
            length[x][y] = match a[x] == b[y] {
                true => length[x + 1][y + 1] + 1,
                false => length[x + 1][y].max(length[x][y + 1]),
            };
        }
    }
    let (mut x, mut y, mut pairs) = (0, 0, Vec::new());
    while x < a.len() || y < b.len() {
        if x < a.len() && y < b.len() && a[x] == b[y] {
            pairs.push((Some(x), Some(y)));
            (x, y) = (x + 1, y + 1);
        } else if y == b.len() || (x < a.len() && length[x + 1][y] >= length[x][y + 1]) {
            pairs.push((Some(x), None));
            x += 1;
        } else {
            pairs.push((None, Some(y)));
            y += 1;
        }
    }
    pairs
}

fn conclude(
    first: &QueryTrace,
    second: &QueryTrace,
    settings: &[Difference],
    replanned: bool,
    contributors: &[Contributor],
) -> String {
    let (a, b) = (first.total.as_nanos() as u64, second.total.as_nanos() as u64);
    let shown = |nanoseconds| format!("{:.3} ms", milliseconds(nanoseconds));
    let mut because = Vec::new();
    if first.text != second.text {
        because.push("the statements differ".to_owned());
    }
    if !settings.is_empty() {
        let list = settings.iter().map(|s| {
            let value = |v: &Option<String>| v.clone().unwrap_or_default();
            format!("{} is {} instead of {}", s.item, value(&s.second), value(&s.first))
        });
        because.push(list.collect::<Vec<_>>().join(", "));
    }
    if replanned {
        because.push("the plans differ".to_owned());
    }
    let because = if because.is_empty() { String::new() } else { format!("; {}", because.join("; ")) };
    if !is_other(a, b) {
        return format!("both took about the same time, {} and {}{because}", shown(a), shown(b));
    }
    let slower = b > a;
    let comparative = if slower { "slower" } else { "faster" };
    let times = a.max(b) as f64 / a.min(b).max(1) as f64;
    let mut text =
        format!("query {} was {times:.1}x {comparative}, {} instead of {}", second.id, shown(b), shown(a));
    let towards = |c: &&Contributor| if slower { c.more() > 0 } else { c.more() < 0 };
    let largest = contributors.iter().filter(towards).max_by_key(|c| c.more().unsigned_abs());
    if let Some(largest) = largest {
        let sign = if slower { '+' } else { '-' };
        let by = largest.more().unsigned_abs() as u64;
        text.push_str(&format!("; the largest part of it is {} ({sign}{}", largest.what, shown(by)));
        if largest.only {
            text.push_str(if largest.first == 0 { ", not in the first" } else { ", not in the second" });
        } else if let Some((x, y)) = largest.rows
            && x != y
        {
            text.push_str(&format!(", {} rows instead of {}", explain::grouped(y), explain::grouped(x)));
        }
        text.push(')');
    }
    text + &because
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::query::tests::trace;

    fn of<'a>(comparison: &'a Comparison, aspect: &str) -> Vec<&'a Difference> {
        comparison.differences.iter().filter(|d| d.aspect == aspect).collect()
    }

    #[test]
    fn two_equal_runs_differ_in_nothing() {
        let comparison = compare(&trace(1, 100), &trace(2, 100));
        let changed: Vec<_> = comparison.differences.iter().filter(|d| d.change.is_some()).collect();
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert!(
            comparison.conclusion.starts_with("both took about the same time"),
            "{}",
            comparison.conclusion
        );
    }

    #[test]
    fn the_operator_that_took_longer_is_named() {
        let (first, mut second) = (trace(1, 100), trace(2, 100));
        second.total += Duration::from_millis(70);
        second.parts[0].wall += 70_000_000;
        let metrics = second.parts[0].metrics.clone().unwrap();
        second.parts[0].metrics = Some(Arc::new(move |id| {
            let mut did = metrics(id);
            if id.0 == 1 {
                did.nanoseconds += 60_000_000;
                did.rows *= 3;
            }
            did
        }));
        second.settings = Arc::new(|| vec![("lip".into(), "off".into()), ("workers".into(), "2".into())]);
        let comparison = compare(&first, &second);
        let conclusion = &comparison.conclusion;
        assert!(conclusion.starts_with("query 2 was 117"), "{conclusion}");
        assert!(conclusion.contains("largest part of it is Series"), "{conclusion}");
        assert!(conclusion.contains("+60.000 ms, 3,000,000 rows instead of 1,000,000"), "{conclusion}");
        assert!(conclusion.ends_with("; lip is off instead of on"), "{conclusion}");
        assert_eq!(of(&comparison, "rows")[0].change.as_deref(), Some("3.00x"));
        assert_eq!(of(&comparison, "setting").len(), 1);
        // Without times by operator, segments tell where it was.
        let (mut first, mut second) = (trace(1, 100), trace(2, 100));
        first.parts[0].timed = false;
        second.parts[0].segments[1].busy += 90_000_000;
        second.total += Duration::from_millis(80);
        second.parts[0].wall += 80_000_000;
        assert!(compare(&first, &second).conclusion.contains("is merge (+90.000 ms"));
        assert!(compare(&second, &first).conclusion.contains("faster"));
    }

    #[test]
    fn plans_are_aligned() {
        let list = |text: &str| text.chars().map(|c| c.to_string()).collect::<Vec<_>>();
        let pairs = aligned(&list("abcd"), &list("xbdy"));
        let told: Vec<String> = pairs
            .iter()
            .map(|pair| match pair {
                (Some(a), Some(b)) => format!("{a}={b}"),
                (Some(a), None) => format!("-{a}"),
                (None, Some(b)) => format!("+{b}"),
                (None, None) => "?".into(),
            })
            .collect();
        assert_eq!(told, ["-0", "+0", "1=1", "-2", "3=2", "+3"]);
        assert_eq!(aligned(&[], &list("a")), [(None, Some(0))]);
        let mut second = trace(2, 100);
        second.parts.clear();
        let comparison = compare(&trace(1, 100), &second);
        assert_eq!(of(&comparison, "plan")[0].change.as_deref(), Some("only in the first"));
        assert!(comparison.conclusion.contains("the plans differ"));
    }
}
