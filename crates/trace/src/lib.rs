//! What a finished query leaves behind, and the forms in which one looks at it.
//!
//! ```text
//!  query.rs     QueryTrace: text, times, settings; of each plan that ran: nodes with counts, segments, work orders
//!  history.rs   the last traces, a ring bounded by bytes, and a second one for slow queries
//!  text.rs      EXPLAIN ANALYZE of a query that ran earlier       json.rs  the same for programs
//!  dot.rs       the plan as a graph for Graphviz                  html.rs  a page with bars and the timeline (svg.rs)
//!  timeline.rs  the work orders in Chrome's trace format, which Perfetto opens
//!  compare.rs   what changed between two runs
//!  metrics.rs   counts since the database was opened, and Prometheus' text form of any metrics
//! ```
//!
//! A trace costs its query next to nothing: plans and counters are kept as they are, and become text only when the
//! trace is read. Where a plan would keep more alive than itself, or is large, it is told at once ([`KeptPlan::of`]).
//!
//! Left to others: measuring (`operators` counts, `scheduler` records), SQL and files (`engine`).
#![forbid(unsafe_code)]

mod compare;
mod dot;
mod history;
mod html;
mod json;
mod metrics;
mod query;
mod svg;
mod text;
mod timeline;

pub use compare::{Comparison, Difference, compare};
pub use dot::dot;
pub use history::History;
pub use html::html;
pub use json::{explain_json, quoted};
pub use metrics::{Counters, Family, Kind, Sample, exposition};
pub use query::{KeptPlan, MetricsOf, NodeTrace, PartTrace, QueryTrace, SegmentTrace, SettingsOf};
pub use text::{explain_text, summary};
pub use timeline::timeline;
