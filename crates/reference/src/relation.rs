//! Plan nodes as functions from relations to relations. A relation is a list of rows under column ids; rows keep the
//! order they are produced in, and a sort is stable.
//!
//! `relation` calls itself for a node's inputs; columns are found by id and bound to positions once a node. Nothing
//! is fast, and `Context::spend` ends what would take too long.

use std::cmp::Ordering;

use plan::{ColumnId, Expr, LogicalPlan, ScanSource, SortKey};
use types::nested::encoding;
use types::{Error, Result, SampleOf, Type, Value};

use crate::Context;

/// A value for each column of a relation.
pub(crate) type Row = Vec<Value>;

/// Rows under column ids.
pub(crate) struct Relation {
    /// The id of each column, by position in a row.
    pub columns: Vec<ColumnId>,
    /// The rows in the order in which they were produced.
    pub rows: Vec<Row>,
}

impl Relation {
    /// Where a column stands in each row; an internal error for an unknown id.
    pub fn position(&self, id: ColumnId) -> Result<usize> {
        position(&self.columns, id)
    }
}

fn position(columns: &[ColumnId], id: ColumnId) -> Result<usize> {
    columns
        .iter()
        .position(|c| *c == id)
        .ok_or_else(|| Error::internal(format!("column #{} is not among the inputs", id.0)))
}

/// The expression over positions in rows of these columns.
pub(crate) fn bind(expr: &Expr, columns: &[ColumnId]) -> Result<Expr> {
    for id in expr.columns() {
        position(columns, id)?;
    }
    Ok(expr.clone().bind(&|id| columns.iter().position(|c| *c == id)))
}

/// As `bind`, for several expressions.
pub(crate) fn bind_all<'e>(
    expressions: impl IntoIterator<Item = &'e Expr>,
    columns: &[ColumnId],
) -> Result<Vec<Expr>> {
    expressions.into_iter().map(|e| bind(e, columns)).collect()
}

impl Context<'_> {
    /// The rows that a plan gives. Fails with the query's own error, or with one that `is_refusal` tells.
    pub fn relation(&self, plan: &LogicalPlan) -> Result<Relation> {
        let relation = match plan {
            LogicalPlan::Scan { source, columns, filters } => self.scan(source, columns, filters)?,
            LogicalPlan::Values { columns, rows } => {
                Relation { columns: columns.clone(), rows: rows.clone() }
            }
            LogicalPlan::Filter { input, predicate } => self.filter(self.relation(input)?, predicate)?,
            LogicalPlan::Project { input, expressions } => {
                let input = self.relation(input)?;
                let bound = bind_all(expressions.iter().map(|(_, e)| e), &input.columns)?;
                let rows =
                    input.rows.iter().map(|row| self.evaluate_all(&bound, row)).collect::<Result<_>>()?;
                Relation { columns: expressions.iter().map(|(id, _)| *id).collect(), rows }
            }
            LogicalPlan::Join { .. } => self.join(plan)?,
            LogicalPlan::Aggregate { input, groups, aggregates } => {
                self.aggregate(self.relation(input)?, groups, aggregates)?
            }
            LogicalPlan::Sort { input, keys, limit } => self.sort(self.relation(input)?, keys, *limit)?,
            LogicalPlan::Limit { input, offset, count } => {
                let mut input = self.relation(input)?;
                let skip = usize::try_from(*offset).unwrap_or(usize::MAX);
                let take = count.map_or(usize::MAX, |c| usize::try_from(c).unwrap_or(usize::MAX));
                input.rows = input.rows.into_iter().skip(skip).take(take).collect();
                input
            }
            LogicalPlan::Unnest { input, lists, ordinality, outer } => {
                self.unnest(self.relation(input)?, lists, *ordinality, *outer)?
            }
            LogicalPlan::Window { input, partition, order, calls } => {
                self.window(self.relation(input)?, partition, order, calls)?
            }
            LogicalPlan::Union { inputs, columns } => {
                let mut rows = Vec::new();
                for (input, taken) in inputs {
                    let input = self.relation(input)?;
                    let positions =
                        taken.iter().map(|id| input.position(*id)).collect::<Result<Vec<usize>>>()?;
                    rows.extend(
                        input.rows.iter().map(|r| positions.iter().map(|p| r[*p].clone()).collect::<Row>()),
                    );
                }
                Relation { columns: columns.clone(), rows }
            }
        };
        self.spend(relation.rows.len())?;
        Ok(relation)
    }

    fn unnest(
        &self,
        input: Relation,
        lists: &[(ColumnId, Expr)],
        ordinality: Option<ColumnId>,
        outer: bool,
    ) -> Result<Relation> {
        let bound = bind_all(lists.iter().map(|(_, e)| e), &input.columns)?;
        let mut rows = Vec::new();
        for row in &input.rows {
            let values = self.evaluate_all(&bound, row)?;
            let elements: Vec<Vec<Value>> = values
                .iter()
                .zip(lists)
                .map(|(value, (_, list))| {
                    let element = list.ty.element().unwrap_or(Type::Null);
                    let bytes = value.as_bytes().unwrap_or_default();
                    encoding::elements(list.ty, bytes).map(|s| encoding::slot_value(s, element)).collect()
                })
                .collect();
            let longest = elements.iter().map(Vec::len).max().unwrap_or(0);
            for at in 0..longest.max(usize::from(outer)) {
                let mut out = row.clone();
                out.extend(elements.iter().map(|e| e.get(at).cloned().unwrap_or(Value::Null)));
                if ordinality.is_some() {
                    out.push(if longest == 0 { Value::Null } else { Value::I64(at as i64 + 1) });
                }
                rows.push(out);
            }
        }
        let mut columns = input.columns;
        columns.extend(lists.iter().map(|(id, _)| *id));
        columns.extend(ordinality);
        Ok(Relation { columns, rows })
    }

    fn scan(&self, source: &ScanSource, columns: &[(ColumnId, usize)], filters: &[Expr]) -> Result<Relation> {
        if let ScanSource::Materialized(source) = source
            && let Some(rows) = self.materialized.get(&source.index)
        {
            let rows = rows
                .iter()
                .map(|row| columns.iter().map(|(_, position)| row[*position].clone()).collect())
                .collect();
            return Ok(Relation { columns: columns.iter().map(|(id, _)| *id).collect(), rows });
        }
        if let ScanSource::Series(series) = source {
            self.spend(usize::try_from(series.rows).unwrap_or(usize::MAX))?;
            let row = |at| columns.iter().map(|_| series.value_at(at)).collect();
            let rows = (0..series.rows).map(row).collect();
            let mut relation = Relation { columns: columns.iter().map(|(id, _)| *id).collect(), rows };
            for filter in filters {
                relation = self.filter(relation, filter)?;
            }
            return Ok(relation);
        }
        let ScanSource::Table { table, name, sample } = source else {
            return Err(Error::unsupported("the reference reads tables only"));
        };
        let table = self.tables.get(*table).ok_or_else(|| Error::internal(format!("no table {name}")))?;
        let row_of = |row: &Row| {
            let cell = |position: usize| {
                row.get(position)
                    .cloned()
                    .ok_or_else(|| Error::internal("a column past the end of the table"))
            };
            columns.iter().map(|(_, position)| cell(*position)).collect::<Result<Row>>()
        };
        if sample.is_some_and(|s| s.of == SampleOf::Blocks) {
            return Err(Error::unsupported("the reference knows no blocks to sample"));
        }
        let taken = |at: usize| sample.is_none_or(|s| s.takes(at as u64));
        let rows = table.rows.iter().enumerate().filter(|(at, _)| taken(*at));
        let rows = rows.map(|(_, row)| row_of(row)).collect::<Result<Vec<Row>>>()?;
        let mut relation = Relation { columns: columns.iter().map(|(id, _)| *id).collect(), rows };
        for filter in filters {
            relation = self.filter(relation, filter)?;
        }
        Ok(relation)
    }

    fn filter(&self, mut input: Relation, predicate: &Expr) -> Result<Relation> {
        let predicate = bind(predicate, &input.columns)?;
        let mut kept = Vec::new();
        for row in std::mem::take(&mut input.rows) {
            if self.is_true(&predicate, &row)? {
                kept.push(row);
            }
        }
        input.rows = kept;
        Ok(input)
    }

    fn sort(&self, mut input: Relation, keys: &[SortKey], limit: Option<u64>) -> Result<Relation> {
        let bound = bind_all(keys.iter().map(|k| &k.expr), &input.columns)?;
        let mut keyed = Vec::with_capacity(input.rows.len());
        for row in std::mem::take(&mut input.rows) {
            keyed.push((self.evaluate_all(&bound, &row)?, row));
        }
        keyed.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).zip(keys);
            pairs.map(|((a, b), key)| compare(a, b, key)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        });
        input.rows = keyed.into_iter().map(|(_, row)| row).collect();
        if let Some(limit) = limit {
            input.rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(input)
    }
}

/// The order of two values under a sort key, with its direction and place of NULLs.
pub(crate) fn compare(a: &Value, b: &Value, key: &SortKey) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) => compare(b, a, key).reverse(),
        (false, false) if key.descending => b.total_cmp(a),
        (false, false) => a.total_cmp(b),
    }
}
