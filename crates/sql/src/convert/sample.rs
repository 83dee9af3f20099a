//! TABLESAMPLE and USING SAMPLE.

use sqlparser::ast;
use syntax::tree::{self, ExprKind, Literal};
use types::{Error, Result, SqlState};

use super::{Converter, location};
use crate::asides::{SampleClause, SampleMethod};

impl Converter<'_> {
    /// TABLESAMPLE.
    pub(super) fn table_sample(&self, sample: &tree::Sample) -> Result<ast::TableSampleKind> {
        let tree::Sample { method, amount, unit, in_parens: _, seed, span: _ } = sample;
        let name = match self.sample_method(method.as_ref())? {
            Some(SampleMethod::Bernoulli) => Some(ast::TableSampleMethod::Bernoulli),
            Some(SampleMethod::System) => Some(ast::TableSampleMethod::System),
            Some(SampleMethod::Reservoir) | None => None,
        };
        // A number without a unit has one by the form; a parameter has what is said.
        let unit = match (number(amount), unit) {
            (None, None) => None,
            _ if self.counts_rows(sample)? => Some(ast::TableSampleUnit::Rows),
            _ => Some(ast::TableSampleUnit::Percent),
        };
        let seed = match seed {
            None => None,
            Some(seed) => match self.expr(seed)? {
                ast::Expr::Value(value) => {
                    let modifier = ast::TableSampleSeedModifier::Repeatable;
                    Some(ast::TableSampleSeed { modifier, value })
                }
                _ => return Err(self.wrong("the seed of a sample must be a number", seed.span)),
            },
        };
        Ok(ast::TableSampleKind::AfterTableAlias(Box::new(ast::TableSample {
            modifier: ast::TableSampleModifier::TableSample,
            name,
            quantity: Some(ast::TableSampleQuantity { parenthesized: true, value: self.expr(amount)?, unit }),
            seed,
            bucket: None,
            offset: None,
        })))
    }

    /// USING SAMPLE, whose numbers are kept as they are written.
    pub(super) fn using_sample(&self, sample: &tree::Sample) -> Result<SampleClause> {
        let tree::Sample { method, amount, unit: _, in_parens: _, seed, span } = sample;
        let at = self.word_before(span.start, "using");
        let method = self.sample_method(method.as_ref())?;
        let rows = self.counts_rows(sample)?;
        let seeded = seed.as_ref().map(number);
        let (Some(amount), None | Some(Some(_))) = (number(amount), seeded) else {
            let error =
                Error::new(SqlState::SyntaxError, "USING SAMPLE takes a percentage or a number of rows")
                    .with_hint("such as USING SAMPLE 10%, USING SAMPLE 1000 ROWS or USING SAMPLE system(5%)");
            return Err(self.at(error, at));
        };
        let seed = seeded.flatten().map(str::to_owned);
        Ok(SampleClause { at: location(at.start), method, amount: amount.to_owned(), rows, seed })
    }

    fn sample_method(&self, method: Option<&tree::Name>) -> Result<Option<SampleMethod>> {
        let Some(method) = method else { return Ok(None) };
        Ok(Some(match method.text.to_lowercase().as_str() {
            "bernoulli" => SampleMethod::Bernoulli,
            "system" => SampleMethod::System,
            "reservoir" => SampleMethod::Reservoir,
            other => {
                let message = format!("the sampling method {other} does not exist");
                let error = Error::new(SqlState::InvalidSampleArgument, message);
                return Err(self.at(error.with_hint("use BERNOULLI, SYSTEM or RESERVOIR"), method.span));
            }
        }))
    }

    /// Whether the amount is a number of rows: without a unit, where it stands in no brackets or in those of
    /// RESERVOIR.
    fn counts_rows(&self, sample: &tree::Sample) -> Result<bool> {
        Ok(match sample.unit {
            Some(unit) => unit == tree::SampleUnit::Rows,
            None => {
                !sample.in_parens
                    || self.sample_method(sample.method.as_ref())? == Some(SampleMethod::Reservoir)
            }
        })
    }
}

fn number(expr: &tree::Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::Number(digits)) => Some(digits),
        _ => None,
    }
}
