//! DESCRIBE, SUMMARIZE and SHOW: rows about relations instead of theirs.
//!
//! DESCRIBE is answered by binding alone. SUMMARIZE and SHOW are queries, written here as text: the first over the
//! relation itself, the second over the functions that list the catalog (`Relations::system`). Headings are DuckDB's.

use std::fmt::Write;

use plan::{ColumnId, LogicalPlan};
use syntax::Span;
use syntax::tree::{self, Show, StatementKind};
use types::quote;
use types::{Error, Field, Result, SqlState, Type, Value};

use crate::bind::query::values::opening;
use crate::bind::refusal::wrong;
use crate::bind::{Binder, Relation};
use crate::names::Name;
use crate::place;

/// One row of DESCRIBE.
struct Described {
    name: String,
    ty: Type,
    nullable: bool,
    key: Option<&'static str>,
    default: Option<String>,
    generated: Option<String>,
}

impl<'a> Binder<'a> {
    /// The rows of DESCRIBE, SUMMARIZE and SHOW; `None` for every other statement, and for SHOW of a setting.
    pub(crate) fn inspect(&mut self, statement: &'a tree::Statement) -> Result<Option<Relation>> {
        let (summarize, what) = match &statement.kind {
            StatementKind::Describe { summarize, what } => (*summarize, what.as_ref()),
            // What DESCRIBE is elsewhere.
            StatementKind::Show(Show::Query(query)) => {
                return self.inspect_statement(query, false).map(Some);
            }
            StatementKind::Show(show) => return self.show(show, statement.span),
            _ => return Ok(None),
        };
        let relation = match what {
            None if summarize => {
                let message = "SUMMARIZE needs a table's name or a query";
                return Err(wrong(message, self.text, statement.span));
            }
            None => self.all_tables()?,
            Some(tree::Described::Table(name)) if summarize => {
                let (relation, _) = self.named_table(name)?;
                self.summarize(&format!("SELECT * FROM {name}"), &relation, name.span())?
            }
            Some(tree::Described::Table(name)) => self.describe_table(name)?,
            Some(tree::Described::File(file)) => {
                let (relation, _) = self.file_table(file)?;
                match summarize {
                    true => {
                        let source = format!("SELECT * FROM {}", quote::text(&file.text));
                        self.summarize(&source, &relation, file.span)?
                    }
                    false => {
                        let described = self.columns_of(&relation);
                        self.describe_columns(described)
                    }
                }
            }
            Some(tree::Described::Statement(of)) => self.inspect_statement(of, summarize)?,
        };
        Ok(Some(relation))
    }

    /// DESCRIBE, SHOW and SUMMARIZE of a query.
    fn inspect_statement(&mut self, statement: &'a tree::Statement, summarize: bool) -> Result<Relation> {
        let query = match &statement.kind {
            StatementKind::Query(query) if !makes_table(query) => query,
            _ => {
                let what = if summarize { "SUMMARIZE" } else { "DESCRIBE" };
                let message = format!("{what} takes a table's name or a query");
                return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
            }
        };
        let relation = self.bind_query(query, None)?;
        if !summarize {
            let described = self.columns_of(&relation);
            return Ok(self.describe_columns(described));
        }
        self.summarize(statement.span.of(self.text), &relation, Span::default())
    }

    /// `(DESCRIBE ...)` in FROM.
    pub(crate) fn bind_inspection(&mut self, statement: &'a tree::Statement) -> Result<Relation> {
        self.count_instance()?;
        let what = format!("({})", statement.span.of(self.text).trim());
        let ctes = std::mem::take(&mut self.ctes);
        let result = self.told_at(what, opening(self.text, statement.span), |binder| {
            match binder.inspect(statement)? {
                Some(relation) => Ok(relation),
                None => Err(Error::unsupported("only DESCRIBE, SUMMARIZE and SHOW of lists stand in FROM")),
            }
        });
        self.ctes = ctes;
        result
    }

    /// Constant rows as a relation.
    pub(crate) fn constant_rows(&mut self, fields: &[Field], rows: Vec<Vec<Value>>) -> Relation {
        let ids: Vec<ColumnId> =
            fields.iter().map(|f| self.columns.add(f.name.clone(), f.ty, f.nullable)).collect();
        let columns = fields.iter().zip(&ids).map(|(f, id)| (f.name.as_str().into(), *id)).collect();
        Relation { plan: LogicalPlan::Values { columns: ids, rows }, columns }
    }

    /// `DESCRIBE t`: of a table, a view or a common table expression.
    pub(crate) fn describe_table(&mut self, name: &tree::Path) -> Result<Relation> {
        let (relation, _) = self.named_table(name)?;
        let mut described = self.columns_of(&relation);
        let names: Vec<Name> = name.names.iter().map(Name::of).collect();
        let (schema, table) = self.placed(&names)?;
        let schema = schema.as_ref().map(|schema| schema.text.as_str());
        let info = match self.relations.view(schema, &table.text) {
            None => self.relations.table(schema, &table.text)?,
            Some(_) => None,
        };
        if let Some(info) = info {
            for (at, column) in described.iter_mut().enumerate() {
                let unique = info.unique.iter().any(|key| key.contains(&at));
                let primary = info.primary_key.as_ref().is_some_and(|key| key.contains(&at));
                column.default = info.defaults.get(at).cloned().flatten();
                let expression = info.generated.get(at).and_then(Option::as_deref);
                column.generated = expression.map(|text| format!("GENERATED ALWAYS AS ({text})"));
                column.key = if primary { Some("PRI") } else { unique.then_some("UNI") };
            }
        }
        Ok(self.describe_columns(described))
    }

    fn columns_of(&self, relation: &Relation) -> Vec<Described> {
        let described = |(name, id): &(std::rc::Rc<str>, ColumnId)| {
            let column = self.columns.get(*id);
            let ty = if column.ty == Type::Null { Type::Text } else { column.ty };
            let (name, nullable) = (name.to_string(), column.nullable);
            Described { name, ty, nullable, key: None, default: None, generated: None }
        };
        relation.columns.iter().map(described).collect()
    }

    fn describe_columns(&mut self, columns: Vec<Described>) -> Relation {
        let text = |name: &str, nullable| Field::new(name, Type::Text, nullable);
        let fields = [
            text("column_name", false),
            text("column_type", false),
            text("null", false),
            text("key", true),
            text("default", true),
            text("extra", true),
        ];
        let maybe = |value: Option<&str>| value.map_or(Value::Null, Value::text);
        let row = |c: &Described| {
            vec![
                Value::text(&c.name),
                Value::text(&c.ty.sql_name()),
                Value::text(if c.nullable { "YES" } else { "NO" }),
                maybe(c.key),
                maybe(c.default.as_deref()),
                maybe(c.generated.as_deref()),
            ]
        };
        let rows = columns.iter().map(row).collect();
        self.constant_rows(&fields, rows)
    }

    /// `SUMMARIZE`: of the query that `source` holds, whose columns are those of `relation`, bound before.
    fn summarize(&mut self, source: &str, relation: &Relation, span: Span) -> Result<Relation> {
        let columns = self.columns_of(relation);
        self.bind_text("SUMMARIZE".into(), summary(source, &columns), span)
    }
}

/// Whether a query has INTO, which makes it another statement.
fn makes_table(query: &tree::Query) -> bool {
    let mut body = &query.body;
    while let tree::SetExpr::Set(first, _) = body {
        body = first;
    }
    matches!(body, tree::SetExpr::Select(select) if select.into.is_some())
}

/// Rows that quartiles are taken of, at most: their error is about a fifth of a percent of the rows then.
const SAMPLED: usize = 100_000;

/// One row of aggregates over all columns, unfolded into a row a column. Quartiles are values that occur: the first
/// at which so many of the values have been seen.
fn summary(source: &str, columns: &[Described]) -> String {
    let mut totals = String::new();
    let mut quartiles = String::new();
    let mut joined = String::new();
    let mut names = String::new();
    // Writing to a string cannot fail.
    for (at, column) in columns.iter().enumerate() {
        let of_numbers = |call: &str| match column.ty.is_numeric() {
            true => format!("CAST({call}(CAST(c{at} AS DOUBLE PRECISION)) AS VARCHAR)"),
            false => "CAST(NULL AS VARCHAR)".to_owned(),
        };
        let _ = write!(
            totals,
            ", CAST(min(c{at}) AS VARCHAR) AS low{at}, CAST(max(c{at}) AS VARCHAR) AS high{at}, \
             count(DISTINCT c{at}) AS unique{at}, {} AS mean{at}, {} AS std{at}, count(c{at}) AS present{at}",
            of_numbers("avg"),
            of_numbers("stddev"),
        );
        if has_quartiles(column.ty) {
            let part = |name: &str, share: &str| {
                format!(
                    "CAST(max(v) FILTER (WHERE place = CAST(ceil({share} * places) AS BIGINT)) AS VARCHAR) AS {name}{at}"
                )
            };
            let _ = write!(
                quartiles,
                ", quartiles{at} AS (SELECT {}, {}, {} FROM (SELECT c{at} AS v, row_number() OVER (ORDER BY c{at}) \
                 AS place, count(*) OVER () AS places FROM (SELECT c{at} FROM source USING SAMPLE {SAMPLED} ROWS \
                 (reservoir, 1)) AS sampled WHERE c{at} IS NOT NULL) AS ranked)",
                part("first", "0.25"),
                part("second", "0.5"),
                part("third", "0.75"),
            );
            let _ = write!(joined, ", quartiles{at}");
        }
        let separator = if at == 0 { "" } else { ", " };
        let _ = write!(
            names,
            "{separator}({at}, {}, {})",
            quote::text(&column.name),
            quote::text(&column.ty.sql_name())
        );
    }
    let all: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
    let choose = |name: &str, only_with_quartiles: bool| {
        let branch = |at: usize| format!(" WHEN {at} THEN {name}{at}");
        let wanted = |at: &usize| !only_with_quartiles || has_quartiles(columns[*at].ty);
        let branches: String = (0..columns.len()).filter(wanted).map(branch).collect();
        if branches.is_empty() {
            "CAST(NULL AS VARCHAR)".to_owned()
        } else {
            format!("CASE at{branches} END")
        }
    };
    format!(
        "WITH source({}) AS ({source}\n), totals AS (SELECT count(*) AS n{totals} FROM source){quartiles} \
         SELECT column_name, column_type, {} AS min, {} AS max, {} AS approx_unique, {} AS avg, {} AS std, \
         {} AS q25, {} AS q50, {} AS q75, n AS count, \
         CAST(100.0 * (n - {}) / nullif(n, 0) AS DECIMAL(9,2)) AS null_percentage \
         FROM totals{joined}, (VALUES {names}) AS names(at, column_name, column_type) ORDER BY at",
        all.join(", "),
        choose("low", false),
        choose("high", false),
        choose("unique", false),
        choose("mean", false),
        choose("std", false),
        choose("first", true),
        choose("second", true),
        choose("third", true),
        choose("present", false),
    )
}

fn has_quartiles(ty: Type) -> bool {
    ty.is_numeric() || matches!(ty, Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz)
}
