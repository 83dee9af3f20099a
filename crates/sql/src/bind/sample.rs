//! TABLESAMPLE and USING SAMPLE.
//!
//! A share of a table's rows or blocks is the scan's affair. Everything else is a number for each row and a random
//! place for each number (`types::sample`): a share of the rows are those that lie before a point, and a sample of n
//! rows are the n first. Where a table is large, a share of it that surely holds n rows is drawn first.

use plan::{Expr, ExprKind, Function, LogicalPlan, ScanSource, SortKey, WindowCall};
use sqlparser::ast::{
    Expr as Ast, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit, Value as AstValue,
};
use sqlparser::tokenizer::{Location, Span};
use types::{Comparison, Error, Result, Sample, SampleOf, SqlState, Type, Value};

use super::{Binder, select};
use crate::asides::{SampleClause, SampleMethod};

/// How much of what.
struct Wanted {
    method: Option<SampleMethod>,
    amount: f64,
    rows: bool,
    seed: u64,
    span: Span,
}

impl<'a> Binder<'a> {
    /// TABLESAMPLE, of a table or whatever else stands in FROM.
    pub(super) fn table_sample(
        &mut self,
        plan: LogicalPlan,
        sample: &'a TableSampleKind,
        span: Span,
    ) -> Result<LogicalPlan> {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
        let TableSample { name, quantity: Some(quantity), seed, bucket: None, offset: None, .. } =
            sample.as_ref()
        else {
            let error = Error::unsupported("this form of TABLESAMPLE is not supported");
            return Err(self.error_at(error.with_hint("write TABLESAMPLE BERNOULLI (10)"), span));
        };
        let method = match name {
            None => None,
            Some(TableSampleMethod::Bernoulli | TableSampleMethod::Row) => Some(SampleMethod::Bernoulli),
            Some(TableSampleMethod::System | TableSampleMethod::Block) => Some(SampleMethod::System),
        };
        let amount = self.sample_number(&quantity.value, span)?;
        let seed = match seed {
            None => self.seed_of(span.start, None),
            Some(seed) => match &seed.value.value {
                AstValue::Number(digits, _) => self.seed_of(span.start, Some(digits)),
                other => self.seed_of(span.start, Some(&other.to_string())),
            },
        };
        let rows = matches!(quantity.unit, Some(TableSampleUnit::Rows));
        self.sampled(plan, Wanted { method, amount, rows, seed, span })
    }

    fn sample_number(&mut self, ast: &'a Ast, span: Span) -> Result<f64> {
        let (value, ty) = self.constant(ast)?;
        let number = types::cast::cast_value(&value, ty, Type::Double).ok().and_then(|v| v.as_f64());
        number.ok_or_else(|| {
            let message = "the amount of a sample must be a number";
            self.error_at(Error::new(SqlState::InvalidSampleArgument, message), span)
        })
    }

    /// USING SAMPLE of a SELECT, over all of its FROM.
    pub(super) fn using_sample(&mut self, plan: LogicalPlan, select: Location) -> Result<LogicalPlan> {
        let found = self.samples.iter().find(|(place, _)| *place == select);
        let Some((_, SampleClause { at, method, amount, rows, seed })) = found else { return Ok(plan) };
        let (method, rows) = (*method, *rows);
        let span = Span::new(*at, *at);
        let amount: f64 = amount.parse().map_err(|_| {
            let message = "the amount of a sample must be a number";
            self.error_at(Error::new(SqlState::InvalidSampleArgument, message), span)
        })?;
        let seed = self.seed_of(*at, seed.as_deref());
        self.sampled(plan, Wanted { method, amount, rows, seed, span })
    }

    /// The seed that was written; otherwise one for this run of the statement, by the place of the clause, so that
    /// all uses of a common table expression are of one sample.
    fn seed_of(&self, at: Location, written: Option<&str>) -> u64 {
        match written {
            Some(digits) => digits
                .parse()
                .unwrap_or_else(|_| digits.parse::<f64>().map_or_else(|_| digits.len() as u64, f64::to_bits)),
            None => {
                let seed = *self.seed.get_or_init(|| self.relations.seed());
                types::sample::place(at.line << 32 | at.column, seed)
            }
        }
    }

    fn sampled(&mut self, mut plan: LogicalPlan, wanted: Wanted) -> Result<LogicalPlan> {
        let Wanted { method, amount, rows, seed, span } = wanted;
        let refuse = |message: &str| Error::new(SqlState::InvalidSampleArgument, message);
        // So many rows are taken one by one whatever the method: SYSTEM lets blocks be taken, and does not ask for
        // it.
        if rows {
            if !(0.0..=9e15).contains(&amount) || amount.fract() != 0.0 {
                return Err(self.error_at(refuse("a sample takes a whole number of rows"), span));
            }
            return self.sample_of_rows(plan, amount as u64, seed);
        }
        if !(0.0..=100.0).contains(&amount) {
            return Err(self.error_at(refuse("sample percentage must be between 0 and 100"), span));
        }
        let share = amount / 100.0;
        let of = if method == Some(SampleMethod::System) { SampleOf::Blocks } else { SampleOf::Rows };
        if take_of_table(&mut plan, Sample { of, share, seed }) {
            return Ok(plan);
        }
        let (plan, number) = self.numbered(plan);
        let place = place_of(number, seed);
        // Places are 63 bits; no share but all of it reaches their end.
        let end = (share * 2f64.powi(63)) as i64;
        let end = Expr::literal(Value::I64(end), Type::BigInt);
        let op = if share >= 1.0 { Comparison::LessOrEqual } else { Comparison::Less };
        Ok(select::filtered(plan, vec![Expr::compare(op, place, end)]))
    }

    /// `n` rows, in the order in which they stood.
    fn sample_of_rows(&mut self, mut plan: LogicalPlan, n: u64, seed: u64) -> Result<LogicalPlan> {
        if let LogicalPlan::Scan { source: ScanSource::Table { table, .. }, .. } = &plan
            && let Some(there) = self.relations.rows(*table)
        {
            // Ten standard deviations more than is wanted.
            let most = n as f64 + 10.0 * (n as f64).sqrt() + 100.0;
            let share = most / there.max(1) as f64;
            if share < 0.5 {
                let seed = types::sample::place(seed, seed);
                take_of_table(&mut plan, Sample { of: SampleOf::Rows, share, seed });
            }
        }
        let (plan, number) = self.numbered(plan);
        let key = |expr| SortKey { expr, descending: false, nulls_first: false };
        let first = LogicalPlan::Sort {
            input: Box::new(plan),
            keys: vec![key(place_of(number.clone(), seed)), key(number.clone())],
            limit: Some(n),
        };
        Ok(LogicalPlan::Sort { input: Box::new(first), keys: vec![key(number)], limit: None })
    }

    /// The plan with a number in every row.
    fn numbered(&mut self, plan: LogicalPlan) -> (LogicalPlan, Expr) {
        let id = self.columns.add("row number", Type::BigInt, false);
        let calls = vec![(id, WindowCall::row_number())];
        let plan = LogicalPlan::Window { input: Box::new(plan), partition: vec![], order: vec![], calls };
        (plan, self.column(id))
    }
}

/// Has the scan of a bare table take the sample; false when the plan is something else.
fn take_of_table(plan: &mut LogicalPlan, wanted: Sample) -> bool {
    match plan {
        LogicalPlan::Scan { source: ScanSource::Table { sample, .. }, filters, .. }
            if sample.is_none() && filters.is_empty() =>
        {
            *sample = Some(wanted);
            true
        }
        _ => false,
    }
}

fn place_of(number: Expr, seed: u64) -> Expr {
    let seed = Expr::literal(Value::I64(seed as i64), Type::BigInt);
    let kind = ExprKind::Function { function: Function::SamplePlace, arguments: vec![number, seed] };
    Expr::new(kind, Type::BigInt)
}
