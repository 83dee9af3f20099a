//! TABLESAMPLE and USING SAMPLE.
//!
//! A share of a table's rows or blocks is the scan's affair. Everything else is a number for each row and a random
//! place for each number (`types::sample`): a share of the rows are those that lie before a point, and a sample of n
//! rows are the n first. Where a table is large, a share of it that surely holds n rows is drawn first.

use plan::{Expr, ExprKind, Function, LogicalPlan, ScanSource, SortKey, WindowCall};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal};
use types::{Comparison, Error, Result, Sample, SampleOf, SqlState, Type, Value};

use crate::bind::Binder;
use crate::bind::query::select;
use crate::bind::refusal::wrong;

/// The sampling methods.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Each row with the given probability.
    Bernoulli,
    /// Whole blocks of rows.
    System,
    /// Rows, as BERNOULLI takes them.
    Reservoir,
}

/// How much of what.
struct Wanted {
    method: Option<Method>,
    amount: f64,
    rows: bool,
    seed: u64,
    span: Span,
}

impl<'a> Binder<'a> {
    /// TABLESAMPLE, where there is one, of a table or whatever else stands in FROM; `span` is that one's place.
    pub(crate) fn table_sample(
        &mut self,
        plan: LogicalPlan,
        sample: Option<&'a tree::Sample>,
        span: Span,
    ) -> Result<LogicalPlan> {
        let Some(sample) = sample else { return Ok(plan) };
        let method = self.sample_method(sample)?;
        // A number without a unit has one by the form; a parameter has what is said.
        let rows = match (number(&sample.amount), sample.unit) {
            (None, None) => false,
            _ => counts_rows(sample, method),
        };
        let seed = match &sample.seed {
            None => None,
            Some(seed) => match (number(seed), &seed.kind) {
                (Some(digits), _) => Some(digits),
                (None, AstKind::Literal(Literal::Typed(..) | Literal::Interval(_) | Literal::Bytes(_))) => {
                    return Err(wrong("the seed of a sample must be a number", self.text, seed.span));
                }
                (None, AstKind::Literal(_) | AstKind::Parameter(_)) => Some(seed.span.of(self.text)),
                _ => return Err(wrong("the seed of a sample must be a number", self.text, seed.span)),
            },
        };
        let amount = self.sample_number(&sample.amount, span)?;
        let seed = self.seed_of(span, seed);
        self.sampled(plan, Wanted { method, amount, rows, seed, span })
    }

    fn sample_number(&mut self, ast: &'a Ast, span: Span) -> Result<f64> {
        let (value, ty) = self.constant(ast)?;
        let number = types::cast::cast_value(&value, ty, Type::Double).ok().and_then(|v| v.as_f64());
        number.ok_or_else(|| self.no_number(span))
    }

    fn no_number(&self, span: Span) -> Error {
        let message = "the amount of a sample must be a number";
        self.error_at(Error::new(SqlState::InvalidSampleArgument, message), span)
    }

    /// USING SAMPLE of a SELECT, where there is one, over all of its FROM.
    pub(crate) fn using_sample(
        &mut self,
        plan: LogicalPlan,
        sample: Option<&tree::Sample>,
    ) -> Result<LogicalPlan> {
        let Some(sample) = sample else { return Ok(plan) };
        let span = word_before(self.text, sample.span.start, "using");
        let method = self.sample_method(sample)?;
        let rows = counts_rows(sample, method);
        let seed = sample.seed.as_ref().map(number);
        let (Some(amount), None | Some(Some(_))) = (number(&sample.amount), seed) else {
            let error =
                Error::new(SqlState::SyntaxError, "USING SAMPLE takes a percentage or a number of rows")
                    .with_hint("such as USING SAMPLE 10%, USING SAMPLE 1000 ROWS or USING SAMPLE system(5%)");
            return Err(self.error_at(error, span));
        };
        let amount: f64 = amount.parse().map_err(|_| self.no_number(span))?;
        let seed = self.seed_of(span, seed.flatten());
        self.sampled(plan, Wanted { method, amount, rows, seed, span })
    }

    fn sample_method(&self, sample: &tree::Sample) -> Result<Option<Method>> {
        let Some(method) = &sample.method else { return Ok(None) };
        Ok(Some(match method.text.to_lowercase().as_str() {
            "bernoulli" => Method::Bernoulli,
            "system" => Method::System,
            "reservoir" => Method::Reservoir,
            other => {
                let message = format!("the sampling method {other} does not exist");
                let error = Error::new(SqlState::InvalidSampleArgument, message);
                return Err(self.error_at(error.with_hint("use BERNOULLI, SYSTEM or RESERVOIR"), method.span));
            }
        }))
    }

    /// The seed that was written; otherwise one for this run of the statement, by the place of the clause, so that
    /// all uses of a common table expression are of one sample.
    fn seed_of(&self, at: Span, written: Option<&str>) -> u64 {
        match written {
            Some(digits) => digits
                .parse()
                .unwrap_or_else(|_| digits.parse::<f64>().map_or_else(|_| digits.len() as u64, f64::to_bits)),
            None => {
                let seed = *self.seed.get_or_init(|| self.relations.seed());
                let place = if at.is_none() { 0 } else { u64::from(at.start) + 1 };
                types::sample::place(place, seed)
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
        let of = if method == Some(Method::System) { SampleOf::Blocks } else { SampleOf::Rows };
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

/// Whether the amount is a number of rows: without a unit, where it stands in no brackets or in those of RESERVOIR.
fn counts_rows(sample: &tree::Sample, method: Option<Method>) -> bool {
    match sample.unit {
        Some(unit) => unit == tree::SampleUnit::Rows,
        None => !sample.in_parens || method == Some(Method::Reservoir),
    }
}

fn number(ast: &Ast) -> Option<&str> {
    match &ast.kind {
        AstKind::Literal(Literal::Number(digits)) => Some(digits),
        _ => None,
    }
}

/// The last place before `offset` where a word stands, for words whose place the tree does not keep.
pub(crate) fn word_before(text: &str, offset: u32, word: &str) -> Span {
    let before = text.as_bytes().get(..offset as usize).unwrap_or_default();
    let found = before.windows(word.len()).rposition(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    match found.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Span::new(at, at + word.len() as u32),
        None => Span::new(offset, offset),
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
