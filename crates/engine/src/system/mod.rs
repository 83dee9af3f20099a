//! The catalog as rows: table functions `quickstep_tables()` and its kin, over one snapshot.
//!
//! They are the one way in which SQL sees the catalog: the views of `information_schema` (`information_schema.rs`),
//! SHOW and the shell's `\d` are queries over them. A view's columns are found by binding it; while that goes on,
//! views have no columns here, so that a view over these functions does not ask for itself.

mod columns;
mod databases;
mod duckdb;
mod functions;
mod history;
mod information_schema;
mod objects;
mod queries;
pub(crate) mod rejects;
mod types_of;

use catalog::{Snapshot, Table};
use types::{Error, Field, Result, Schema, SqlState, Type, Value, Zone};

pub(crate) use crate::definable::INFORMATION_SCHEMA;
use crate::relations::SessionRelations;
use crate::settings::Settings;
use columns::{count, maybe, nullable, number, text, truth};

pub(crate) use information_schema::{unknown_view, view as information_schema_view};

/// Names of the table functions about the system.
pub(crate) const FUNCTIONS: [&str; 32] = [
    "quickstep_columns",
    "quickstep_comments",
    "quickstep_constraints",
    "quickstep_cursors",
    "quickstep_databases",
    "quickstep_functions",
    "quickstep_indexes",
    "quickstep_memory",
    "quickstep_metrics",
    "quickstep_operators",
    "quickstep_partitions",
    "quickstep_pool",
    "quickstep_queries",
    "quickstep_query_history",
    "quickstep_query_plans",
    "quickstep_reject_scans",
    "quickstep_rejects",
    "quickstep_roles",
    "quickstep_schemas",
    "quickstep_secrets",
    "quickstep_sequences",
    "quickstep_settings",
    "quickstep_slow_queries",
    "quickstep_tables",
    "quickstep_time_zones",
    "quickstep_types",
    "quickstep_variables",
    "quickstep_views",
    "quickstep_wide_tables",
    "quickstep_work_orders",
    "quickstep_workers",
    "quickstep_workload",
];

/// The rows of a function; `None` when there is none of that name.
pub(crate) fn rows(relations: &SessionRelations, function: &str) -> Result<Option<sql::SystemRows>> {
    let snapshot = relations.snapshot();
    let (fields, rows) = match function {
        "quickstep_schemas" => (vec![text("schema_name")], schemas(snapshot)),
        "quickstep_tables" => (tables_fields(), snapshot.tables().map(|t| table_row(t)).collect()),
        "quickstep_views" => (
            vec![text("schema_name"), text("view_name"), text("sql"), nullable(text("comment"))],
            relations.views().iter().map(|(s, n, v)| view_row(relations, s, n, v)).collect(),
        ),
        "quickstep_databases" => (databases::fields(), databases::rows(relations)),
        "quickstep_cursors" => {
            let fields = vec![
                text("name"),
                text("statement"),
                truth("is_holdable"),
                truth("is_binary"),
                truth("is_scrollable"),
                Field::new("creation_time", Type::TimestampTz, false),
            ];
            (fields, running(relations, |_| relations.cursors().rows()))
        }
        "quickstep_pool" => pool(&relations.pool_statistics()),
        "quickstep_rejects" => (rejects::fields(), rejects::rows(relations)),
        "quickstep_reject_scans" => (rejects::scan_fields(), rejects::scan_rows(relations)),
        "quickstep_workload" => (
            vec![
                text("statement"),
                text("tables"),
                number("executions"),
                Field::new("milliseconds", Type::Double, false),
            ],
            workload(relations),
        ),
        "quickstep_columns" => (columns_fields(), columns(relations)?),
        "quickstep_constraints" => (constraints_fields(), constraints(snapshot)),
        "quickstep_settings" => {
            (vec![text("name"), text("setting"), text("description")], relations.settings())
        }
        "quickstep_functions" => (functions::fields(), functions::rows(relations)),
        "quickstep_partitions" => (partition_fields(), partitions(snapshot)),
        "quickstep_wide_tables" => (wide_fields(), wide_tables(snapshot)),
        "quickstep_indexes" => (objects::index_fields(), objects::indices(snapshot)),
        "quickstep_comments" => (objects::comment_fields(), objects::comments(snapshot)),
        "quickstep_types" => (objects::type_fields()?, objects::types(snapshot)),
        "quickstep_sequences" => (objects::sequence_fields(), objects::sequences(snapshot)),
        "quickstep_variables" => {
            let fields = vec![text("name"), nullable(text("value")), text("type")];
            (fields, objects::variables(relations.session_settings()))
        }
        "quickstep_secrets" => crate::secrets::rows(relations.environment())?,
        "quickstep_queries" => {
            (queries::queries_fields(), own_rows(relations, running(relations, queries::queries)))
        }
        "quickstep_operators" => (queries::operators_fields(), running(relations, queries::operators)),
        "quickstep_workers" => (queries::workers_fields(), running(relations, queries::workers)),
        "quickstep_memory" => (queries::memory_fields(), running(relations, queries::memory)),
        "quickstep_roles" => {
            (crate::roles::fields(), running(relations, |database| database.shared.roles.rows()))
        }
        "quickstep_query_history" => {
            (history::history_fields(), own_rows(relations, running(relations, history::history)))
        }
        "quickstep_slow_queries" => {
            (history::history_fields(), own_rows(relations, running(relations, history::slow)))
        }
        "quickstep_query_plans" => (history::plans_fields(), running(relations, history::plans)),
        "quickstep_work_orders" => (history::orders_fields(), running(relations, history::orders)),
        "quickstep_metrics" => (history::metrics_fields(), running(relations, history::metrics)),
        "quickstep_time_zones" => {
            (vec![text("name"), text("abbreviation"), text("utc_offset"), truth("summer_time")], time_zones())
        }
        _ => return Ok(None),
    };
    let (mut fields, mut rows) = (fields, rows);
    databases::name(relations, &mut fields, &mut rows);
    Ok(Some(sql::SystemRows { columns: Schema::new(fields), rows }))
}

/// The rows of a function with arguments; `None` when there is none of that name.
pub(crate) fn rows_of(
    relations: &SessionRelations,
    function: &str,
    arguments: &[Value],
) -> Result<Option<sql::SystemRows>> {
    let made = |(columns, rows)| Ok(Some(sql::SystemRows { columns, rows }));
    match function {
        "glob" => {
            let rows = formats::glob(relations.environment(), &patterns(function, arguments)?)?;
            let bytes: usize = rows.iter().map(|path| path.len() + FILE_BYTES).sum();
            relations.environment().ask(bytes as u64)?;
            let rows = rows.iter().map(|path| vec![Value::text(path)]).collect();
            made((Schema::new(vec![text("file")]), rows))
        }
        _ if formats::listing::FUNCTIONS.contains(&function) => {
            let paths = formats::files_of(relations.environment(), &patterns(function, arguments)?)?;
            made(formats::listing::rows(relations.environment(), function, &paths)?)
        }
        _ if lakes::FUNCTIONS.contains(&function) => {
            let paths = patterns(function, arguments)?;
            let [path] = paths.as_slice() else {
                let message = format!("{function} takes one path in quotes");
                return Err(Error::new(SqlState::UndefinedFunction, message));
            };
            made(lakes::rows(relations.environment(), function, path)?)
        }
        "which_secret" => {
            let (fields, rows) = crate::secrets::which(relations.environment(), arguments)?;
            Ok(Some(sql::SystemRows { columns: Schema::new(fields), rows }))
        }
        _ => Ok(None),
    }
}

/// Bytes of overhead that a row with a file's name takes in addition to the name.
const FILE_BYTES: usize = 64;

/// The patterns that a function of files is given.
fn patterns(function: &str, arguments: &[Value]) -> Result<Vec<String>> {
    let named = |value: &Value| match value {
        Value::Bytes(_) => value.as_text().map(|path| formats::at_home(path).into_owned()),
        _ => None,
    };
    arguments.iter().map(named).collect::<Option<Vec<_>>>().filter(|paths| !paths.is_empty()).ok_or_else(
        || {
            Error::new(
                SqlState::UndefinedFunction,
                format!("{function} takes a path in quotes, or a list of such"),
            )
        },
    )
}

/// Every setting with its value and meaning: those of the database, then the session's.
pub(crate) fn settings(database: &crate::Database, settings: &Settings) -> Vec<Vec<Value>> {
    let own = crate::settings::shared().map(|(name, meaning)| {
        let value = crate::session::database_setting(database, name).unwrap_or_default();
        vec![Value::text(name), Value::text(&value), Value::text(meaning)]
    });
    let session = settings.all().into_iter();
    own.chain(session.map(|(n, v, d)| vec![Value::text(&n), Value::text(&v), Value::text(&d)])).collect()
}

/// The time zones that there are, as they are now.
fn time_zones() -> Vec<Vec<Value>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Zone::names()
        .filter_map(|name| {
            let zone = Zone::parse(name)?;
            let mut offset = String::new();
            types::zone::push_offset(&mut offset, zone.offset_at(now), true);
            let summer_time = Value::Bool(zone.is_summer_time(now));
            Some(vec![
                Value::text(name),
                Value::text(&zone.abbreviation(now)),
                Value::text(&offset),
                summer_time,
            ])
        })
        .collect()
}

/// What goes on in the database; nothing where there is none.
fn running(
    relations: &SessionRelations,
    rows: impl FnOnce(&crate::Database) -> Vec<Vec<Value>>,
) -> Vec<Vec<Value>> {
    relations.database().map(rows).unwrap_or_default()
}

/// Of rows whose second column is the number of a session, those of the session that asks, unless it may see what others
/// do.
fn own_rows(relations: &SessionRelations, rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    if relations.access().monitors() {
        return rows;
    }
    let own = relations.session_number().map(count);
    rows.into_iter().filter(|row| own.is_some() && row.get(1) == own.as_ref()).collect()
}

/// The function of that name as a view: `SELECT ... FROM quickstep_queries`.
pub(crate) fn view(name: &str) -> Option<sql::ViewInfo> {
    let own = FUNCTIONS.contains(&name).then(|| sql::ViewInfo {
        columns: vec![],
        text: format!("SELECT * FROM {name}()"),
        schema: None,
    });
    own.or_else(|| duckdb::view(name))
}

/// One row.
fn pool(statistics: &pool::PoolStatistics) -> (Vec<Field>, Vec<Vec<Value>>) {
    let counts = [
        ("resident_bytes", statistics.resident_bytes),
        ("hits", statistics.hits),
        ("reads", statistics.reads),
        ("read_bytes", statistics.read_bytes),
        ("read_ahead", statistics.read_ahead),
        ("evictions", statistics.evictions),
        ("evicted_bytes", statistics.evicted_bytes),
        ("written_bytes", statistics.written_bytes),
        ("temporary_bytes", statistics.file_bytes),
    ];
    let fields = counts.iter().map(|(name, _)| number(name)).collect();
    (fields, vec![counts.iter().map(|(_, value)| count(*value)).collect()])
}

/// A row a shape of statements, the most run first. A table that is gone has no name.
fn workload(relations: &SessionRelations) -> Vec<Vec<Value>> {
    let snapshot = relations.snapshot();
    let names = |tables: &[catalog::TableId]| {
        let mut names: Vec<&str> =
            tables.iter().filter_map(|id| snapshot.table_by_id(*id)).map(|t| t.name.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    };
    let row = |r: crate::workload::Recorded| {
        let milliseconds = Value::F64(r.time.as_secs_f64() * 1e3);
        vec![Value::text(&r.shape), Value::text(&names(&r.tables)), count(r.executions), milliseconds]
    };
    relations.workload().into_iter().map(row).collect()
}

fn schemas(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let mut names: Vec<&str> = snapshot.schemas().keys().map(String::as_str).collect();
    names.push(INFORMATION_SCHEMA);
    names.sort_unstable();
    names.into_iter().map(|name| vec![Value::text(name)]).collect()
}

fn tables_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("table_name"),
        truth("temporary"),
        number("rows"),
        number("columns"),
        number("bytes"),
        number("blocks"),
        text("layout"),
        number("block_size"),
        nullable(text("comment")),
    ]
}

fn table_row(table: &Table) -> Vec<Value> {
    vec![
        Value::text(&table.schema),
        Value::text(&table.name),
        Value::Bool(table.is_temporary()),
        count(table.rows()),
        count(table.columns.len() as u64),
        count(table.data.bytes()),
        count(table.data.blocks().len() as u64),
        Value::text(table.options.layout.name()),
        count(table.options.block_bytes as u64),
        maybe(table.comment.as_deref()),
    ]
}

fn view_row(relations: &SessionRelations, schema: &str, name: &str, view: &sql::ViewInfo) -> Vec<Value> {
    let comment = relations.view_comment(schema, name);
    vec![Value::text(schema), Value::text(name), Value::text(&view.text), maybe(comment.as_deref())]
}

fn partition_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("table_name"),
        text("partition_name"),
        number("position"),
        text("kind"),
        text("column_name"),
        nullable(text("less_than")),
        number("rows"),
        number("blocks"),
        number("bytes"),
    ]
}

/// A row a partition.
fn partitions(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in snapshot.tables() {
        let Some(partitioning) = &table.partitioning else { continue };
        let field = &table.columns.fields()[partitioning.column];
        let mut totals = vec![(0, 0, 0); partitioning.names.len()];
        for stored in table.data.stored() {
            let at = partitioning.of_block(&stored.block);
            if let Some(total) = at.and_then(|at| totals.get_mut(at)) {
                *total = (total.0 + stored.live_rows(), total.1 + 1, total.2 + stored.block.bytes() as u64);
            }
        }
        for (at, (name, total)) in partitioning.names.iter().zip(totals).enumerate() {
            let (kind, bound) = match &partitioning.scheme {
                catalog::PartitionScheme::Hash { .. } => ("hash", None),
                catalog::PartitionScheme::Range { below } => {
                    ("range", crate::export::bound_text(below[at].as_ref(), field.ty))
                }
            };
            rows.push(vec![
                Value::text(&table.schema),
                Value::text(&table.name),
                Value::text(name),
                count(at as u64 + 1),
                Value::text(kind),
                Value::text(&field.name),
                maybe(bound.as_deref()),
                count(total.0),
                count(total.1),
                count(total.2),
            ]);
        }
    }
    rows
}

fn wide_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("table_name"),
        text("fact_schema"),
        text("fact_table"),
        text("base_tables"),
        number("rows"),
        truth("is_stale"),
    ]
}

fn wide_tables(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let row = |table: &std::sync::Arc<Table>| {
        let wide = table.wide.as_ref()?;
        let fact = snapshot.table_by_id(wide.fact())?;
        let names = wide.tables().into_iter().filter_map(|id| Some(snapshot.table_by_id(id)?.name.as_str()));
        Some(vec![
            Value::text(&table.schema),
            Value::text(&table.name),
            Value::text(&fact.schema),
            Value::text(&fact.name),
            Value::text(&names.collect::<Vec<_>>().join(", ")),
            count(table.rows()),
            Value::Bool(table.build.is_none()),
        ])
    };
    snapshot.wide_tables().filter_map(row).collect()
}

fn columns_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("table_name"),
        truth("is_view"),
        text("column_name"),
        number("column_index"),
        text("data_type"),
        text("standard_type"),
        truth("is_nullable"),
        nullable(text("key")),
        nullable(text("column_default")),
        nullable(number("character_maximum_length")),
        nullable(number("numeric_precision")),
        nullable(number("numeric_precision_radix")),
        nullable(number("numeric_scale")),
        nullable(number("datetime_precision")),
        nullable(number("null_count")),
        nullable(number("distinct_estimate")),
        nullable(number("bytes")),
        nullable(text("comment")),
        text("udt_name"),
    ]
}

fn columns(relations: &SessionRelations) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for table in relations.snapshot().tables() {
        let values = relations.access().may_see_values(&table.schema, &table.name);
        for (at, field) in table.columns.fields().iter().enumerate() {
            let in_key =
                |primary: bool| table.keys.iter().any(|k| k.primary == primary && k.columns.contains(&at));
            let key = if in_key(true) { Some("PRI") } else { in_key(false).then_some("UNI") };
            let statistics = table.statistics(at);
            // They come from all rows, whoever may see which.
            let told = |value| if values { value } else { Value::Null };
            let known = [
                told(count(statistics.null_count)),
                told(count(statistics.distinct)),
                told(count(table.data.column_bytes(at))),
                maybe(table.attributes[at].comment.as_deref()),
            ];
            let default = table.attributes[at].default.as_deref();
            rows.push(column_row([&table.schema, &table.name], false, at, field, [key, default], known));
        }
    }
    for (schema, name, _) in relations.views() {
        // One whose table is gone has no columns.
        let Some(columns) = relations.view_columns(&schema, &name) else { continue };
        for (at, field) in columns.fields().iter().enumerate() {
            let own = catalog::Commented::column(&name, &field.name);
            let comment = relations.snapshot().comment(catalog::Commented::ViewColumn, &schema, &own);
            let known = [Value::Null, Value::Null, Value::Null, maybe(comment)];
            rows.push(column_row([&schema, &name], true, at, field, [None, None], known));
        }
    }
    Ok(rows)
}

fn column_row(
    [schema, table]: [&str; 2],
    is_view: bool,
    at: usize,
    field: &Field,
    [key, default]: [Option<&str>; 2],
    known: [Value; 4],
) -> Vec<Value> {
    let mut row = vec![
        Value::text(schema),
        Value::text(table),
        Value::Bool(is_view),
        Value::text(&field.name),
        count(at as u64 + 1),
        Value::text(&field.ty.sql_name()),
        Value::text(types_of::standard_name(field.ty)),
        Value::Bool(field.nullable),
        maybe(key),
        maybe(default),
    ];
    row.extend(types_of::measures(field.ty).map(|m| m.map_or(Value::Null, Value::I64)));
    row.extend(known);
    // What PostgreSQL calls the type within; a type that it does not have goes by its own name.
    let udt = pgcatalog::type_name(field.ty).unwrap_or_else(|| field.ty.sql_name().to_lowercase());
    row.push(Value::text(&udt));
    row
}

fn constraints_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("table_name"),
        text("constraint_name"),
        text("constraint_type"),
        text("column_name"),
        number("position"),
        nullable(text("referenced_schema")),
        nullable(text("referenced_table")),
        nullable(text("referenced_column")),
        nullable(text("referenced_constraint")),
        nullable(text("update_rule")),
        nullable(text("delete_rule")),
    ]
}

/// A row a column of a constraint.
fn constraints(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in snapshot.tables() {
        let row = |name: &str, kind: &str, at: usize, column: usize| {
            vec![
                Value::text(&table.schema),
                Value::text(&table.name),
                Value::text(name),
                Value::text(kind),
                Value::text(&table.columns.fields()[column].name),
                count(at as u64 + 1),
            ]
        };
        for key in &table.keys {
            let name = key.constraint_name(&table.name, &table.columns);
            let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
            for (at, column) in key.columns.iter().enumerate() {
                let mut row = row(&name, kind, at, *column);
                row.extend([const { Value::Null }; 6]);
                rows.push(row);
            }
        }
        for check in &table.checks {
            for (at, (_, column)) in check.columns.iter().enumerate() {
                let mut row = row(&check.name, "CHECK", at, *column);
                row.extend([const { Value::Null }; 6]);
                rows.push(row);
            }
        }
        for key in &table.foreign_keys {
            let Some(parent) = snapshot.table_by_id(key.parent) else { continue };
            let name = key.constraint_name(&table.name, &table.columns);
            let same = |k: &&catalog::Key| {
                k.columns.len() == key.parent_columns.len()
                    && k.columns.iter().all(|c| key.parent_columns.contains(c))
            };
            let referenced =
                parent.keys.iter().find(same).map(|k| k.constraint_name(&parent.name, &parent.columns));
            for (at, (own, other)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let mut row = row(&name, "FOREIGN KEY", at, *own);
                row.extend([
                    Value::text(&parent.schema),
                    Value::text(&parent.name),
                    Value::text(&parent.columns.fields()[*other].name),
                    maybe(referenced.as_deref()),
                    Value::text(key.on_update.name()),
                    Value::text(key.on_delete.name()),
                ]);
                rows.push(row);
            }
        }
    }
    rows
}
