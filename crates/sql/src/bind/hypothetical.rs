//! Hypothetical-set aggregates: the rank that a row would have among the rows of the group.
//!
//! ```text
//! rank(v) WITHIN GROUP (ORDER BY x)          count(*) FILTER (WHERE x sorts before v) + 1
//! dense_rank(v) WITHIN GROUP (ORDER BY x)    count(DISTINCT x) FILTER (WHERE x sorts before v) + 1
//! percent_rank(v)                            (rank - 1) / count(*), 0 of no rows
//! cume_dist(v)                               (count(*) FILTER (WHERE x does not sort behind v) + 1) / (count(*) + 1)
//! ```
//! They are written out as such aggregates over the call's own texts, and bound in its place.

use sqlparser::ast::{
    Expr as Ast, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr,
};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState};

use super::coerce::Bound;
use super::expression::ExprBinder;
use crate::NullOrder;

/// Whether a call is one of these.
pub(super) fn is_one(name: &str, call: &Call) -> bool {
    matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist")
        && call.over.is_none()
        && !call.within_group.is_empty()
}

impl<'a> ExprBinder<'_, 'a> {
    /// The call, written out as the aggregates above.
    pub(super) fn hypothetical(&mut self, name: &str, call: &'a Call, span: Span) -> Result<Bound> {
        let FunctionArguments::List(list) = &call.args else {
            return Err(self
                .binder
                .error_at(Error::new(SqlState::SyntaxError, "the call has no arguments"), span));
        };
        let values = list.args.iter().map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
            _ => None,
        });
        let values = values.collect::<Option<Vec<&Ast>>>().unwrap_or_default();
        let keys = &call.within_group;
        if values.len() != keys.len() {
            let message = format!("function {name} takes as many arguments as WITHIN GROUP has keys");
            return Err(self.binder.error_at(Error::new(SqlState::UndefinedFunction, message), span));
        }
        let also = call.filter.as_ref().map_or(String::new(), |filter| format!(" AND ({filter})"));
        let all = call.filter.as_ref().map_or(String::new(), |filter| format!(" FILTER (WHERE {filter})"));
        let before = sorts_before(&values, keys, self.binder.relations.null_order());
        let same: Vec<String> =
            keys.iter().zip(&values).map(|(k, v)| format!("({} IS NOT DISTINCT FROM {v})", k.expr)).collect();
        let same = same.join(" AND ");
        let rank = format!("(count(*) FILTER (WHERE ({before}){also}) + 1)");
        let text = match name {
            "rank" => rank,
            "dense_rank" => {
                let row: Vec<String> = keys.iter().map(|k| k.expr.to_string()).collect();
                let row = if row.len() == 1 { row.join("") } else { format!("({})", row.join(", ")) };
                // NULL is one of the values.
                let nulls = match keys.as_slice() {
                    [one] => format!(
                        " + CASE WHEN count(*) FILTER (WHERE {} IS NULL AND ({before}){also}) > 0 THEN 1 ELSE 0 END",
                        one.expr
                    ),
                    _ => String::new(),
                };
                format!("(count(DISTINCT {row}) FILTER (WHERE ({before}){also}) + 1{nulls})")
            }
            "percent_rank" => format!(
                "CASE WHEN count(*){all} = 0 THEN 0 ELSE CAST({rank} - 1 AS DOUBLE PRECISION) / count(*){all} END"
            ),
            _ => format!(
                "(CAST(count(*) FILTER (WHERE (({before}) OR ({same})){also}) + 1 AS DOUBLE PRECISION) / \
                 (count(*){all} + 1))"
            ),
        };
        self.bind_inside(format!("{name} ({text})"), format!("SELECT {text}"), span)
    }
}

/// The condition that a row of the group comes before the row of the values.
fn sorts_before(values: &[&Ast], keys: &[OrderByExpr], nulls: NullOrder) -> String {
    let mut whole = String::new();
    for (key, value) in keys.iter().zip(values).rev() {
        let descending = key.options.asc == Some(false);
        let nulls_first = key.options.nulls_first.unwrap_or_else(|| nulls.first(descending));
        let (x, sign) = (&key.expr, if descending { ">" } else { "<" });
        let nulls = match nulls_first {
            true => format!("({x} IS NULL AND {value} IS NOT NULL)"),
            false => format!("({x} IS NOT NULL AND {value} IS NULL)"),
        };
        let here = format!("coalesce({x} {sign} {value}, false) OR {nulls}");
        whole = match whole.is_empty() {
            true => here,
            false => format!("{here} OR (({x} IS NOT DISTINCT FROM {value}) AND ({whole}))"),
        };
    }
    whole
}
