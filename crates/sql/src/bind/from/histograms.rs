//! `histogram_values(table, column)` and `histogram(table, column)` in FROM: how many values of a column lie in which bin.
//!
//! Both are queries over the aggregates `histogram` and `histogram_exact`: bins of numbers and moments are of one width,
//! with round bounds, unless `technique` says otherwise; those of other types are the most frequent values. The first has
//! the bins' bounds, the second has them in words, with bars.

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal};
use types::{Error, Result, SqlState, Type, quote};

use crate::bind::function::arguments;
use crate::bind::{Binder, folded};

/// The ways to divide, by name: sampled ones are the most frequent values.
const TECHNIQUES: [&str; 5] = ["auto", "sample", "equi-height", "equi-width", "equi-width-nice"];
const BINS_MAX: i64 = 10_000;

/// What a call says.
struct Call<'a> {
    source: String,
    column: &'a Ast,
    bins: i64,
    technique: String,
}

impl<'a> Binder<'a> {
    /// The query that gives a function's rows; `None` when it is another function.
    pub(crate) fn histogram_rows(
        &mut self,
        function: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Option<String>> {
        if !matches!(function, "histogram" | "histogram_values") {
            return Ok(None);
        }
        let Call { source, column, bins, technique } = self.histogram_call(function, arguments, span)?;
        let probe =
            self.bind_text(function.into(), format!("SELECT min({column}) AS m FROM {source}"), span)?;
        let ty = probe.columns.first().map_or(Type::Null, |(_, id)| self.columns.get(*id).ty);
        let measured = ty.is_numeric()
            || ty == Type::Date
            || ty.timestamp_unit_nanos().is_some()
            || ty == Type::TimestampTz;
        let samples = technique == "sample" || (technique == "auto" && !measured);
        let least_and_greatest =
            |nice: bool| format!("equi_width_bins(min({column}), max({column}), {bins}, {nice})");
        let (bounds, counted) = match technique.as_str() {
            _ if samples => (format!("approx_top_k({column}, {bins})"), "histogram_exact"),
            "equi-height" => {
                let shares: Vec<String> =
                    (1..=bins).map(|at| (at as f64 / bins as f64).to_string()).collect();
                (format!("quantile_disc({column}, [{}])", shares.join(", ")), "histogram")
            }
            "equi-width" => (least_and_greatest(false), "histogram"),
            _ => (least_and_greatest(true), "histogram"),
        };
        let values = format!(
            "SELECT unnest(map_keys(h)) AS bin, unnest(map_values(h)) AS count FROM \
             (SELECT {counted}({column}, (SELECT {bounds} FROM {source})) AS h FROM {source})"
        );
        if function == "histogram_values" {
            return Ok(Some(values));
        }
        let told = match samples {
            true => "CAST(bin AS TEXT)".to_owned(),
            false => "CASE WHEN row_number() OVER () = 1 THEN 'x <= ' || CAST(bin AS TEXT) \
                 ELSE lag(CAST(bin AS TEXT)) OVER () || ' < x <= ' || CAST(bin AS TEXT) END"
                .to_owned(),
        };
        Ok(Some(format!(
            "SELECT CASE WHEN is_histogram_other_bin(bin) THEN '(other values)' ELSE {told} END AS bin, count, \
             bar(count, 0, max(count) OVER ()) AS bar FROM ({values})"
        )))
    }

    fn histogram_call(
        &mut self,
        function: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Call<'a>> {
        let wrong = |binder: &Self, message: String| {
            let error = Error::new(SqlState::InvalidParameterValue, message).with_hint(format!(
                "write FROM {function}(table, column, bin_count := 10, technique := 'auto')"
            ));
            binder.error_at(error, span)
        };
        let mut given: Vec<&'a Ast> = Vec::with_capacity(4);
        let (mut bins, mut technique) = (10, "auto".to_owned());
        for argument in arguments {
            let Some((name, value)) = arguments::named(argument) else {
                given.extend(self.argument_value(argument));
                continue;
            };
            let (constant, _) = self.constant(value)?;
            match folded(name).as_str() {
                "bin_count" => bins = constant.as_i64().unwrap_or(0),
                "technique" => technique = constant.as_text().unwrap_or_default().to_lowercase(),
                other => return Err(wrong(self, format!("{function} has no parameter \"{other}\""))),
            }
        }
        let [source, column] = given.as_slice() else {
            return Err(wrong(self, format!("{function} takes a table and a column")));
        };
        if !(1..=BINS_MAX).contains(&bins) {
            return Err(wrong(self, format!("bin_count of {function} is from 1 to {BINS_MAX}")));
        }
        if !TECHNIQUES.contains(&technique.as_str()) {
            return Err(wrong(
                self,
                format!("technique \"{technique}\" is none of {}", TECHNIQUES.join(", ")),
            ));
        }
        let source = match &source.kind {
            AstKind::Literal(Literal::Text(name)) => format!("query_table({})", quote::text(name)),
            AstKind::Column(path) => path.to_string(),
            _ => return Err(wrong(self, format!("{function} takes the name of a table"))),
        };
        Ok(Call { source, column, bins, technique })
    }
}
