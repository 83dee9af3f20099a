//! Plans and expressions as text: for EXPLAIN, and for the tests that compare plans.
//!
//! One line a node, children indented by two blanks. Output is deterministic: it depends on the plan alone, never on
//! addresses or hash order, since snapshot tests compare it byte by byte. Logical plans name columns by the query's
//! `ColumnTable`, physical ones by the input's `OutputColumn`s. Long lists are shortened, so the text is for reading
//! and cannot be parsed back. `explain` puts measurements around the titles made here.

use std::fmt::Write;

use types::quote;
use types::{ColumnPredicate, PredicateTree, Sample, SampleOf, Type};

use crate::{
    ColumnTable, Exchange, ExchangeKind, Expr, ExprKind, JoinKind, JoinOutput, LogicalPlan, NodeId,
    PhysicalNode, PhysicalPlan, ScanSource, Series, SortKey,
    window::{Exclusion, Frame, FrameBound, FrameUnit, WindowCall},
};

/// Prints an expression; `name` gives columns and inputs their names.
pub fn expression(expr: &Expr, name: &dyn Fn(&ExprKind) -> String) -> String {
    use ExprKind as K;
    let go = |e: &Expr| expression(e, name);
    let nested = |e: &Expr| {
        let text = expression(e, name);
        match e.kind {
            K::And(_) | K::Or(_) | K::Arithmetic { .. } | K::Compare { .. } | K::Case { .. } => {
                format!("({text})")
            }
            _ => text,
        }
    };
    let list = |es: &[Expr]| es.iter().map(go).collect::<Vec<_>>().join(", ");
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match &expr.kind {
        K::Column(_) | K::Input(_) => name(&expr.kind),
        K::Literal(v) => literal(v, expr.ty),
        K::Compare { op, left, right } => format!("{} {} {}", nested(left), op.symbol(), nested(right)),
        K::NotDistinct { left, right, negated } => {
            format!(
                "{} IS {}DISTINCT FROM {}",
                nested(left),
                if *negated { "" } else { "NOT " },
                nested(right)
            )
        }
        K::And(parts) => parts.iter().map(nested).collect::<Vec<_>>().join(" AND "),
        K::Or(parts) => parts.iter().map(nested).collect::<Vec<_>>().join(" OR "),
        K::Not(e) => format!("NOT {}", nested(e)),
        K::IsNull { input, negated } => format!("{} IS {}NULL", nested(input), not(negated)),
        K::IsBoolean { input, value, negated } => {
            format!("{} IS {}{}", nested(input), not(negated), if *value { "TRUE" } else { "FALSE" })
        }
        K::Arithmetic { op, left, right, .. } => {
            format!("{} {} {}", nested(left), op.symbol(), nested(right))
        }
        K::Negate(e) => format!("-{}", nested(e)),
        K::Cast { input, lenient } => {
            format!("{}({} AS {})", if *lenient { "TRY_CAST" } else { "CAST" }, go(input), expr.ty)
        }
        K::Case { branches, otherwise } => {
            let mut text = "CASE".to_owned();
            for (when, then) in branches {
                let _ = write!(text, " WHEN {} THEN {}", go(when), go(then));
            }
            if let Some(otherwise) = otherwise {
                let _ = write!(text, " ELSE {}", go(otherwise));
            }
            text + " END"
        }
        K::Like { input, pattern, negated, case_insensitive } => {
            let keyword = if *case_insensitive { "ILIKE" } else { "LIKE" };
            format!("{} {}{keyword} '{}'", nested(input), not(negated), pattern.text())
        }
        K::InList { input, values, has_null, negated } => {
            let mut shown: Vec<String> = values.iter().take(12).map(|v| v.display(input.ty)).collect();
            if values.len() > shown.len() {
                shown.push(format!("... {} more", values.len() - shown.len()));
            }
            if *has_null {
                shown.push("NULL".into());
            }
            format!("{} {}IN ({})", nested(input), not(negated), shown.join(", "))
        }
        K::Function { function, arguments } => format!("{}({})", function.name(), list(arguments)),
        K::External { function, arguments, .. } => format!("{}({})", function.name, list(arguments)),
        K::Library { name: function, arguments } => format!("{function}({})", list(arguments)),
        K::Lambda(body) => format!("lambda: {}", expression(body, &lambda_input)),
        K::ScalarSubquery(id) => format!("subquery {}", id.0),
        K::Parameter(parameter) => format!("${}", parameter.number),
    }
}

/// What a lambda's inputs are called.
fn lambda_input(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Input(at) => format!("$x{}", at + 1),
        _ => "?".into(),
    }
}

fn sort_keys(keys: &[SortKey], name: &dyn Fn(&ExprKind) -> String) -> String {
    keys.iter()
        .map(|k| {
            let direction = if k.descending { " DESC" } else { "" };
            // NULLs sort as if larger than everything; only the other placement is worth a word.
            let nulls = match (k.descending, k.nulls_first) {
                (false, true) => " NULLS FIRST",
                (true, false) => " NULLS LAST",
                _ => "",
            };
            format!("{}{direction}{nulls}", expression(&k.expr, name))
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn aggregate_call(call: &crate::AggregateCall, name: &dyn Fn(&ExprKind) -> String) -> String {
    let argument = call.argument.as_ref().map(|a| expression(a, name));
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let mut text = match argument {
        Some(a) => format!("{}({distinct}{a})", call.function.name()),
        None => call.function.name().to_owned(),
    };
    if let Some(filter) = &call.filter {
        let _ = write!(text, " FILTER ({})", expression(filter, name));
    }
    text
}

/// `over [partition keys; order]: calls`.
fn window(
    partition: &[Expr],
    order: &[SortKey],
    calls: &[&WindowCall],
    name: &dyn Fn(&ExprKind) -> String,
) -> String {
    let keys = partition.iter().map(|e| expression(e, name)).collect::<Vec<_>>().join(", ");
    let calls = calls.iter().map(|c| window_call(c, order.len(), name)).collect::<Vec<_>>().join(", ");
    let mut over = Vec::new();
    if !keys.is_empty() {
        over.push(format!("partition by {keys}"));
    }
    if !order.is_empty() {
        over.push(format!("order by {}", sort_keys(order, name)));
    }
    format!("Window [{}] [{calls}]", over.join(" "))
}

fn window_call(call: &WindowCall, keys: usize, name: &dyn Fn(&ExprKind) -> String) -> String {
    let arguments = call.arguments.iter().map(|a| expression(a, name)).collect::<Vec<_>>().join(", ");
    let mut text = format!("{}({arguments})", call.function.name().trim_end_matches("(*)"));
    if call.ignore_nulls {
        text.push_str(" IGNORE NULLS");
    }
    if let Some(filter) = &call.filter {
        let _ = write!(text, " FILTER ({})", expression(filter, name));
    }
    if call.function.uses_frame() {
        if call.peers < keys {
            let _ = write!(text, " peers by {} keys", call.peers);
        }
        if call.frame != Frame::standard() {
            let _ = write!(text, " {}", frame(&call.frame, name));
        }
    }
    text
}

fn frame(frame: &Frame, name: &dyn Fn(&ExprKind) -> String) -> String {
    let unit = match frame.unit {
        FrameUnit::Rows => "ROWS",
        FrameUnit::Range => "RANGE",
        FrameUnit::Groups => "GROUPS",
    };
    let bound = |bound: &FrameBound, side: &str| match bound {
        FrameBound::Unbounded => format!("UNBOUNDED {side}"),
        FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        FrameBound::Offset(n) if *n < 0 => format!("{} PRECEDING", n.unsigned_abs()),
        FrameBound::Offset(n) => format!("{n} FOLLOWING"),
        FrameBound::Value { bound, .. } => expression(bound, name),
    };
    let exclusion = match frame.exclusion {
        Exclusion::NoOthers => "",
        Exclusion::CurrentRow => " EXCLUDE CURRENT ROW",
        Exclusion::Group => " EXCLUDE GROUP",
        Exclusion::Ties => " EXCLUDE TIES",
    };
    format!("{unit} {} TO {}{exclusion}", bound(&frame.start, "PRECEDING"), bound(&frame.end, "FOLLOWING"))
}

/// A logical plan, one node a line, children indented by two.
pub fn logical(plan: &LogicalPlan, columns: &ColumnTable) -> String {
    let mut out = String::new();
    logical_node(plan, columns, 0, &mut out);
    out
}

fn logical_node(plan: &LogicalPlan, columns: &ColumnTable, depth: usize, out: &mut String) {
    let id_name = |id: crate::ColumnId| format!("{}#{}", columns.get(id).name, id.0);
    let name = |kind: &ExprKind| match kind {
        ExprKind::Column(id) => id_name(*id),
        ExprKind::Input(i) => format!("${i}"),
        _ => String::new(),
    };
    let show = |e: &Expr| expression(e, &name);
    let line = match plan {
        LogicalPlan::Scan { source, columns: cols, filters } => {
            let source = match source {
                ScanSource::Table { name, sample, .. } => format!("{name}{}", sampled(sample.as_ref())),
                ScanSource::File(file) => format!("'{}'", file.paths.first().map_or("", |p| p)),
                ScanSource::Generator { suite, table, scale } => format!("{suite}({scale}).{table}"),
                ScanSource::Series(series) => self::series(series),
                ScanSource::Materialized(source) => format!("common subplan {}", source.index),
            };
            let list = cols.iter().map(|(id, _)| id_name(*id)).collect::<Vec<_>>().join(", ");
            let filters = if filters.is_empty() {
                String::new()
            } else {
                format!(" where {}", filters.iter().map(show).collect::<Vec<_>>().join(" AND "))
            };
            format!("Scan {source} [{list}]{filters}")
        }
        LogicalPlan::Values { rows, .. } => format!("Values {} rows", rows.len()),
        LogicalPlan::Filter { predicate, .. } => format!("Filter {}", show(predicate)),
        LogicalPlan::Project { expressions, .. } => {
            let list = expressions
                .iter()
                .map(|(id, e)| match e.as_column() {
                    Some(same) if same == *id => id_name(*id),
                    _ => format!("{} AS {}", show(e), id_name(*id)),
                })
                .collect::<Vec<_>>();
            format!("Project {}", list.join(", "))
        }
        LogicalPlan::Join { kind, on, residual, null_aware, .. } => {
            let mut parts: Vec<String> =
                on.iter().map(|(l, r)| format!("{} = {}", show(l), show(r))).collect();
            parts.extend(residual.as_ref().map(|r| format!("residual {}", show(r))));
            let kind = if on.is_empty() && residual.is_none() && *kind == JoinKind::Inner {
                "Cross".to_owned()
            } else {
                format!("{kind:?}")
            };
            let aware = if *null_aware { " null-aware" } else { "" };
            format!("Join {kind}{aware} {}", parts.join(" AND ")).trim_end().to_owned()
        }
        LogicalPlan::Aggregate { groups, aggregates, .. } => {
            let groups: Vec<String> = groups.iter().map(|(_, e)| show(e)).collect();
            let calls: Vec<String> = aggregates.iter().map(|(_, a)| aggregate_call(a, &name)).collect();
            format!("Aggregate by [{}] [{}]", groups.join(", "), calls.join(", "))
        }
        LogicalPlan::Sort { keys, limit, .. } => match limit {
            Some(n) => format!("Top {n} by {}", sort_keys(keys, &name)),
            None => format!("Sort by {}", sort_keys(keys, &name)),
        },
        LogicalPlan::Limit { offset, count, .. } => limit_text(*offset, *count),
        LogicalPlan::Window { partition, order, calls, .. } => {
            window(partition, order, &calls.iter().map(|(_, c)| c).collect::<Vec<_>>(), &name)
        }
        LogicalPlan::Unnest { lists, outer, .. } => {
            unnest(lists.iter().map(|(_, e)| show(e)).collect(), *outer)
        }
        LogicalPlan::Union { .. } => "Union".to_owned(),
    };
    let _ = writeln!(out, "{:indent$}{line}", "", indent = depth * 2);
    for child in plan.children() {
        logical_node(child, columns, depth + 1, out);
    }
}

/// A constant as SQL writes it.
fn literal(value: &types::Value, ty: Type) -> String {
    let shown = || value.display(ty);
    match ty {
        _ if value.is_null() => "NULL".to_owned(),
        _ if ty.is_text() => quote::text(&shown()),
        Type::Date | Type::Time | Type::TimeNs | Type::TimeTz | Type::Timestamp | Type::TimestampTz => {
            format!("'{}'", shown())
        }
        ty if ty.is_bits() => format!("B'{}'", shown()),
        Type::Enum(_) => quote::text(&shown()),
        _ => shown(),
    }
}

fn series(series: &Series) -> String {
    let shown = |at: u64| series.value_at(at).display(series.ty);
    match series.rows {
        0 => "of nothing".to_owned(),
        1 => shown(0),
        2 => format!("{}, {}", shown(0), shown(1)),
        rows => format!("{}, {} to {}", shown(0), shown(1), shown(rows - 1)),
    }
}

fn unnest(lists: Vec<String>, outer: bool) -> String {
    format!("Unnest{} {}", if outer { " outer" } else { "" }, lists.join(", "))
}

fn limit_text(offset: u64, count: Option<u64>) -> String {
    let mut text = "Limit".to_owned();
    if let Some(count) = count {
        let _ = write!(text, " {count}");
    }
    if offset > 0 {
        let _ = write!(text, " offset {offset}");
    }
    text
}

/// A pushed-down predicate on the named column.
pub fn column_predicate(column: &str, ty: Type, predicate: &ColumnPredicate) -> String {
    let shown_value = |value: &types::Value| literal(value, ty);
    let values = |vs: &[types::Value]| {
        let mut shown: Vec<String> = vs.iter().take(12).map(shown_value).collect();
        if vs.len() > shown.len() {
            shown.push(format!("... {} more", vs.len() - shown.len()));
        }
        shown.join(", ")
    };
    match predicate {
        ColumnPredicate::Range { low, high } => match (low, high) {
            (Some(l), Some(h)) if l.inclusive && h.inclusive && l.value == h.value => {
                format!("{column} = {}", shown_value(&l.value))
            }
            _ => {
                let mut parts = Vec::new();
                if let Some(l) = low {
                    parts.push(format!(
                        "{column} {} {}",
                        if l.inclusive { ">=" } else { ">" },
                        shown_value(&l.value)
                    ));
                }
                if let Some(h) = high {
                    parts.push(format!(
                        "{column} {} {}",
                        if h.inclusive { "<=" } else { "<" },
                        shown_value(&h.value)
                    ));
                }
                parts.join(" AND ")
            }
        },
        ColumnPredicate::NotEqual(v) => format!("{column} <> {}", shown_value(v)),
        ColumnPredicate::In(vs) => format!("{column} IN ({})", values(vs)),
        ColumnPredicate::NotIn(vs) => format!("{column} NOT IN ({})", values(vs)),
        ColumnPredicate::Like { pattern, negated } => {
            format!("{column} {}LIKE '{}'", if *negated { "NOT " } else { "" }, pattern.text())
        }
        ColumnPredicate::IsNull => format!("{column} IS NULL"),
        ColumnPredicate::IsNotNull => format!("{column} IS NOT NULL"),
    }
}

/// A pushed-down condition on several columns.
fn predicate_tree(tree: &PredicateTree, columns: &[crate::OutputColumn]) -> String {
    let all = |parts: &[PredicateTree], word: &str| {
        let parts: Vec<String> = parts.iter().map(|part| predicate_tree(part, columns)).collect();
        format!("({})", parts.join(word))
    };
    match tree {
        PredicateTree::Leaf(at, predicate) => {
            column_predicate(&columns[*at].name, columns[*at].ty, predicate)
        }
        PredicateTree::And(parts) => all(parts, " AND "),
        PredicateTree::Or(parts) => all(parts, " OR "),
    }
}

/// What a node did, for EXPLAIN ANALYZE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeMetrics {
    /// Rows that came out of the node.
    pub rows: u64,
    /// Work orders that ran it.
    pub work_orders: u64,
    /// Time spent in the node, summed over workers.
    pub nanoseconds: u64,
    /// Bytes of blocks that a table scan has read, from memory or from files; 0 for other nodes.
    pub bytes: u64,
    /// Further facts, in print order: blocks skipped, rows dropped by filters, hash table kind.
    pub notes: Vec<(String, String)>,
}

/// A physical plan, one node a line, children indented; with `metrics`, what each node did.
pub fn physical(plan: &PhysicalPlan, metrics: Option<&dyn Fn(NodeId) -> NodeMetrics>) -> String {
    let mut out = String::new();
    physical_node(plan, metrics, 0, &mut out);
    out
}

/// The title of a node: its kind and what it works on.
pub fn physical_title(plan: &PhysicalPlan) -> String {
    use PhysicalNode as N;
    let input_names = |p: &PhysicalPlan| names_of(&p.output);
    match &plan.node {
        N::TableScan { .. } | N::FileScan { .. } => scan_title(&plan.node),
        N::Generate { suite, table, scale, .. } => format!("Generate {suite} {table} scale {scale}"),
        N::Series { series, .. } => format!("Series {}", self::series(series)),
        N::Values { rows } => format!("Values {} rows", rows.len()),
        N::Materialized { index, .. } => format!("Read common subplan {index}"),
        N::Filter { input, predicate } => {
            format!("Filter {}", expression(predicate, &name_in(input_names(input))))
        }
        N::Project { input, expressions } => {
            let show = name_in(input_names(input));
            format!(
                "Project {}",
                expressions.iter().map(|e| expression(e, &show)).collect::<Vec<_>>().join(", ")
            )
        }
        N::Fetch { output, .. } => {
            let late = output.iter().zip(&plan.output);
            let late = late.filter(|(from, _)| matches!(from, crate::FetchOutput::Late { .. }));
            format!("Fetch {} (late)", late.map(|(_, c)| c.name.as_str()).collect::<Vec<_>>().join(", "))
        }
        N::HashJoin { .. } => hash_join_title(&plan.node),
        N::NestedLoopJoin { probe, build, kind, predicate, by_range, .. } => {
            let mut both = input_names(probe);
            both.extend(input_names(build));
            let condition = predicate.as_ref().map_or("true".into(), |p| expression(p, &name_in(both)));
            let name = if *by_range { "RangeJoin" } else { "NestedLoopJoin" };
            format!("{name} {kind:?} {condition}")
        }
        N::Aggregate { input, groups, aggregates } => {
            let show = name_in(input_names(input));
            let groups: Vec<String> = groups.iter().map(|g| expression(g, &show)).collect();
            let calls: Vec<String> = aggregates.iter().map(|a| aggregate_call(a, &show)).collect();
            format!("Aggregate by [{}] [{}]", groups.join(", "), calls.join(", "))
        }
        N::Sort { input, keys, limit } => {
            let show = name_in(input_names(input));
            match limit {
                Some(n) => format!("Top {n} by {}", sort_keys(keys, &show)),
                None => format!("Sort by {}", sort_keys(keys, &show)),
            }
        }
        N::Limit { offset, count, .. } => limit_text(*offset, *count),
        N::Window { input, partition, order, calls, first, .. } => {
            let show = name_in(input_names(input));
            let text = window(partition, order, &calls.iter().collect::<Vec<_>>(), &show);
            match first {
                Some(first) => format!("{text} first {first}"),
                None => text,
            }
        }
        N::Unnest { input, lists, outer, .. } => {
            let show = name_in(input_names(input));
            unnest(lists.iter().map(|e| expression(e, &show)).collect(), *outer)
        }
        N::UnionAll { .. } => "UnionAll".to_owned(),
        N::Exchange { input, exchange } => exchange_title(exchange, &name_in(input_names(input))),
        N::Insert { name, .. } => format!("Insert into {name}"),
    }
}

/// `Exchange 2 hash [a, b]`.
fn exchange_title(exchange: &Exchange, name: &dyn Fn(&ExprKind) -> String) -> String {
    let keys = match &exchange.kind {
        ExchangeKind::Hash { keys } => {
            keys.iter().map(|key| expression(key, name)).collect::<Vec<_>>().join(", ")
        }
        ExchangeKind::Range { keys } | ExchangeKind::Gather { order: keys } => sort_keys(keys, name),
        ExchangeKind::Broadcast | ExchangeKind::Scatter => String::new(),
    };
    let kind = exchange.kind.name();
    match (keys.is_empty(), &exchange.kind) {
        (true, _) => format!("Exchange {} {kind}", exchange.number.0),
        (false, ExchangeKind::Gather { .. }) => format!("Exchange {} {kind} by {keys}", exchange.number.0),
        (false, _) => format!("Exchange {} {kind} [{keys}]", exchange.number.0),
    }
}

/// Shows inputs by the names of these columns.
fn name_in(columns: Vec<String>) -> impl Fn(&ExprKind) -> String {
    move |kind: &ExprKind| match kind {
        ExprKind::Input(i) => columns.get(*i).cloned().unwrap_or_else(|| format!("${i}")),
        ExprKind::Column(id) => format!("#{}", id.0),
        _ => String::new(),
    }
}

fn names_of(columns: &[crate::OutputColumn]) -> Vec<String> {
    columns.iter().map(|column| column.name.clone()).collect()
}

/// The title of a scan; nothing for other nodes.
fn scan_title(node: &PhysicalNode) -> String {
    use PhysicalNode as N;
    match node {
        N::TableScan { name, sample, fetched, predicates, trees, filters, runtime_filters, .. } => {
            let show = name_in(names_of(fetched));
            let mut parts: Vec<String> = predicates
                .iter()
                .map(|(c, p)| column_predicate(&fetched[*c].name, fetched[*c].ty, p))
                .collect();
            parts.extend(trees.iter().map(|tree| predicate_tree(tree, fetched)));
            parts.extend(filters.iter().map(|f| format!("({})", expression(f, &show))));
            parts.extend(
                runtime_filters
                    .iter()
                    .map(|f| format!("{} in filter {}", fetched[f.column].name, f.filter.0)),
            );
            let filters =
                if parts.is_empty() { String::new() } else { format!(" where {}", parts.join(" AND ")) };
            format!("TableScan {name}{}{filters}", sampled(sample.as_ref()))
        }
        N::FileScan { file, fetched, filters, runtime_filters, .. } => {
            let show = name_in(names_of(fetched));
            let mut list: Vec<String> = filters.iter().map(|f| expression(f, &show)).collect();
            list.extend(
                runtime_filters
                    .iter()
                    .map(|f| format!("{} in filter {}", fetched[f.column].name, f.filter.0)),
            );
            let filters =
                if list.is_empty() { String::new() } else { format!(" where {}", list.join(" AND ")) };
            let more = if file.paths.len() > 1 {
                format!(" and {} more", file.paths.len() - 1)
            } else {
                String::new()
            };
            format!("FileScan {:?} '{}'{more}{filters}", file.format, file.paths.first().map_or("", |p| p))
        }
        _ => String::new(),
    }
}

/// The title of a hash join; nothing for other nodes.
fn hash_join_title(node: &PhysicalNode) -> String {
    let PhysicalNode::HashJoin {
        probe,
        build,
        kind,
        probe_keys,
        build_keys,
        residual,
        fills,
        build_unique,
        null_aware,
        ..
    } = node
    else {
        return String::new();
    };
    let (probe_name, build_name) = (name_in(names_of(&probe.output)), name_in(names_of(&build.output)));
    let mut parts: Vec<String> = probe_keys
        .iter()
        .zip(build_keys)
        .map(|(p, b)| format!("{} = {}", expression(p, &probe_name), expression(b, &build_name)))
        .collect();
    let mut both = names_of(&probe.output);
    both.extend(names_of(&build.output));
    parts.extend(residual.as_ref().map(|r| format!("residual ({})", expression(r, &name_in(both)))));
    let unique = if *build_unique { ", unique build" } else { "" };
    let aware = if *null_aware { ", null-aware" } else { "" };
    let fills: String = fills.iter().map(|(f, _)| format!(", fills filter {}", f.0)).collect();
    format!("HashJoin {kind:?} {}{unique}{aware}{fills}", parts.join(" AND "))
}

fn physical_node(
    plan: &PhysicalPlan,
    metrics: Option<&dyn Fn(NodeId) -> NodeMetrics>,
    depth: usize,
    out: &mut String,
) {
    let indent = depth * 2;
    let _ = write!(out, "{:indent$}{}  (rows {}", "", physical_title(plan), round_rows(plan.estimated_rows));
    if let Some(metrics) = metrics {
        let m = metrics(plan.id);
        let _ = write!(
            out,
            " estimated, {} actual; {} work orders; {:.3} ms; {} bytes",
            m.rows,
            m.work_orders,
            m.nanoseconds as f64 / 1e6,
            m.bytes
        );
        for (name, value) in &m.notes {
            let _ = write!(out, "; {name} {value}");
        }
    }
    out.push_str(")\n");
    for child in plan.children() {
        physical_node(child, metrics, depth + 1, out);
    }
}

fn round_rows(rows: f64) -> String {
    if rows.is_finite() { format!("{}", rows.max(0.0).round()) } else { "unknown".into() }
}

impl std::fmt::Display for JoinOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JoinOutput::Probe(i) => write!(f, "probe.{i}"),
            JoinOutput::Build(i) => write!(f, "build.{i}"),
            JoinOutput::Mark => f.write_str("mark"),
        }
    }
}

/// ` sample 10 % of rows`.
fn sampled(sample: Option<&Sample>) -> String {
    let Some(sample) = sample else { return String::new() };
    let of = match sample.of {
        SampleOf::Rows => "rows",
        SampleOf::Blocks => "blocks",
    };
    format!(" sample {} % of {of}", 100.0 * sample.share)
}
