//! Counts of a database since it was opened, and the text in which Prometheus reads any metrics (its text-based
//! exposition format, version 0.0.4).
//!
//! A counter only rises and is added to without a lock; a family has one kind, one help and samples by label. The
//! engine adds its gauges when asked; `quickstep_metrics()` and the server's `/metrics` read the same families.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::QueryTrace;

/// Seconds: bounds of the histogram of statements' times.
const BOUNDS: [f64; 14] =
    [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0];

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Grows and shrinks.
    Gauge,
    /// Counts of observations below each of several bounds, with their sum.
    Histogram,
}

impl Kind {
    /// The word of a `# TYPE` line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// One value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Behind the metric's name: `_bucket`, `_sum` and `_count` of histograms, else empty.
    pub suffix: &'static str,
    /// Names with their values, which are escaped when they are written.
    pub labels: Vec<(&'static str, String)>,
    /// In the unit that the metric's name ends with.
    pub value: f64,
}

/// A metric with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Letters, digits and `_`, with the unit last; counters end in `_total`.
    pub name: &'static str,
    /// What values of it mean over time.
    pub kind: Kind,
    /// One sentence, for a `# HELP` line.
    pub help: &'static str,
    /// One for each combination of labels, and for each bound of a histogram.
    pub samples: Vec<Sample>,
}

impl Family {
    /// A metric with one value and no labels.
    pub fn single(name: &'static str, kind: Kind, help: &'static str, value: f64) -> Self {
        Family { name, kind, help, samples: vec![Sample { suffix: "", labels: vec![], value }] }
    }

    /// A metric with one label, and a value for each of the label's values.
    pub fn labelled(
        name: &'static str,
        kind: Kind,
        help: &'static str,
        label: &'static str,
        values: impl IntoIterator<Item = (String, f64)>,
    ) -> Self {
        let sample = |(of, value)| Sample { suffix: "", labels: vec![(label, of)], value };
        Family { name, kind, help, samples: values.into_iter().map(sample).collect() }
    }
}

/// Metrics in Prometheus' text form.
pub fn exposition(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families {
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(out, "# HELP {} {help}\n# TYPE {} {}", family.name, family.name, family.kind.name());
        for sample in &family.samples {
            let _ = write!(out, "{}{}", family.name, sample.suffix);
            if !sample.labels.is_empty() {
                let labels: Vec<String> = sample
                    .labels
                    .iter()
                    .map(|(name, value)| format!("{name}=\"{}\"", label(value)))
                    .collect();
                let _ = write!(out, "{{{}}}", labels.join(","));
            }
            let _ = writeln!(out, " {}", value(sample.value));
        }
    }
    out
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn value(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_owned(),
        v if v.is_infinite() => if v > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        v => format!("{v}"),
    }
}

/// Sums over all statements that have ended. A statement adds to them once.
#[derive(Debug, Default)]
pub struct Counters {
    finished: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    slow: AtomicU64,
    kept_plans: AtomicU64,
    rows: AtomicU64,
    work_orders: AtomicU64,
    planning_nanoseconds: AtomicU64,
    cpu_nanoseconds: AtomicU64,
    queued_nanoseconds: AtomicU64,
    wall_nanoseconds: AtomicU64,
    /// By the first bound that is not exceeded; the last one has those beyond all.
    buckets: [AtomicU64; BOUNDS.len() + 1],
}

impl Counters {
    /// Adds a statement that has ended; `slow` when it took longer than `slow_query_threshold`.
    pub fn add(&self, trace: &QueryTrace, slow: bool) {
        let ended = match trace.state() {
            "finished" => &self.finished,
            "cancelled" => &self.cancelled,
            _ => &self.failed,
        };
        ended.fetch_add(1, Relaxed);
        self.slow.fetch_add(slow.into(), Relaxed);
        self.kept_plans.fetch_add(trace.kept_plan.into(), Relaxed);
        self.rows.fetch_add(trace.rows, Relaxed);
        self.work_orders.fetch_add(trace.work_orders(), Relaxed);
        self.planning_nanoseconds.fetch_add(nanoseconds(trace.planning), Relaxed);
        self.cpu_nanoseconds.fetch_add(nanoseconds(trace.cpu), Relaxed);
        self.queued_nanoseconds.fetch_add(trace.queued(), Relaxed);
        self.wall_nanoseconds.fetch_add(nanoseconds(trace.total), Relaxed);
        let seconds = trace.total.as_secs_f64();
        self.buckets[BOUNDS.partition_point(|bound| *bound < seconds)].fetch_add(1, Relaxed);
    }

    /// The counts at this moment as metrics, times in seconds.
    pub fn families(&self) -> Vec<Family> {
        let count = |counter: &AtomicU64| counter.load(Relaxed) as f64;
        let seconds = |counter: &AtomicU64| counter.load(Relaxed) as f64 / 1e9;
        let states = [("finished", &self.finished), ("failed", &self.failed), ("cancelled", &self.cancelled)];
        vec![
            Family::labelled(
                "quickstep_statements_total",
                Kind::Counter,
                "Statements that have ended, by how.",
                "state",
                states.map(|(state, counter)| (state.to_owned(), count(counter))),
            ),
            self.durations(),
            Family::single(
                "quickstep_slow_statements_total",
                Kind::Counter,
                "Statements that took longer than slow_query_threshold.",
                count(&self.slow),
            ),
            Family::single(
                "quickstep_kept_plans_total",
                Kind::Counter,
                "Statements whose plans an earlier one with the same text had left.",
                count(&self.kept_plans),
            ),
            Family::single(
                "quickstep_result_rows_total",
                Kind::Counter,
                "Rows that statements gave back or changed.",
                count(&self.rows),
            ),
            Family::single(
                "quickstep_work_orders_total",
                Kind::Counter,
                "Work orders executed.",
                count(&self.work_orders),
            ),
            Family::single(
                "quickstep_planning_seconds_total",
                Kind::Counter,
                "Time spent planning.",
                seconds(&self.planning_nanoseconds),
            ),
            Family::single(
                "quickstep_cpu_seconds_total",
                Kind::Counter,
                "Time charged to statements: planning and work orders, over all workers.",
                seconds(&self.cpu_nanoseconds),
            ),
            Family::single(
                "quickstep_queued_seconds_total",
                Kind::Counter,
                "Time that statements waited for the load controller.",
                seconds(&self.queued_nanoseconds),
            ),
        ]
    }

    fn durations(&self) -> Family {
        let mut below = 0;
        let mut samples = Vec::new();
        let bounds = BOUNDS.iter().map(|bound| value(*bound)).chain(["+Inf".to_owned()]);
        for (bucket, bound) in self.buckets.iter().zip(bounds) {
            below += bucket.load(Relaxed);
            samples.push(Sample { suffix: "_bucket", labels: vec![("le", bound)], value: below as f64 });
        }
        let sum = self.wall_nanoseconds.load(Relaxed) as f64 / 1e9;
        samples.push(Sample { suffix: "_sum", labels: vec![], value: sum });
        samples.push(Sample { suffix: "_count", labels: vec![], value: below as f64 });
        Family {
            name: "quickstep_statement_duration_seconds",
            kind: Kind::Histogram,
            help: "Time of statements from their first word to their last row.",
            samples,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    #[test]
    fn statements_are_counted_by_state_and_time() {
        let counters = Counters::default();
        for milliseconds in [0, 3, 70, 10_000_000] {
            let mut trace = trace(1, 10);
            trace.total = Duration::from_millis(milliseconds);
            counters.add(&trace, milliseconds > 50);
        }
        let mut failed = trace(2, 0);
        failed.failure = Some(("22012".into(), "division by zero".into()));
        counters.add(&failed, false);
        let text = exposition(&counters.families());
        for line in [
            "# TYPE quickstep_statements_total counter",
            "quickstep_statements_total{state=\"finished\"} 4",
            "quickstep_statements_total{state=\"failed\"} 1",
            "quickstep_slow_statements_total 2",
            "quickstep_work_orders_total 40",
            "# TYPE quickstep_statement_duration_seconds histogram",
            "quickstep_statement_duration_seconds_bucket{le=\"0.0001\"} 1",
            "quickstep_statement_duration_seconds_bucket{le=\"0.005\"} 3",
            "quickstep_statement_duration_seconds_bucket{le=\"1800\"} 4",
            "quickstep_statement_duration_seconds_bucket{le=\"+Inf\"} 5",
            "quickstep_statement_duration_seconds_count 5",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn labels_and_values_are_written_by_the_format() {
        let family =
            Family::labelled("a_b", Kind::Gauge, "one\ntwo \\", "q", [("x\"y\\z\n".into(), f64::INFINITY)]);
        assert_eq!(
            exposition(&[family]),
            "# HELP a_b one\\ntwo \\\\\n# TYPE a_b gauge\na_b{q=\"x\\\"y\\\\z\\n\"} +Inf\n"
        );
        assert_eq!((value(f64::NAN), value(0.5), value(3.0)), ("NaN".into(), "0.5".into(), "3".into()));
    }
}
