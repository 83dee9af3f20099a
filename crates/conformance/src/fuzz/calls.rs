//! Window calls, and aggregates with an order or of two arguments.
//!
//! Only those with one answer whatever the order of rows: peers have one result, and of rows with equal keys the
//! least value is taken.

use super::expressions::Generator;
use super::tree::{Expr, Family};

impl Generator<'_> {
    /// A window call of the family: ranks, and aggregates over frames that end with peers.
    pub(super) fn window(&mut self, family: Family) -> Expr {
        let plain = std::mem::replace(&mut self.plain, true);
        let exact = std::mem::replace(&mut self.exact_only, true);
        let (partition, order) = (self.any_family(), self.any_family());
        let frame = *self.random.pick(&[
            "",
            " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
        ]);
        let whole = family == Family::Whole;
        let (function, argument) = match self.random.below(if whole { 5 } else { 1 }) {
            1 => ("rank()", None),
            2 => ("dense_rank()", None),
            3 => ("count({})", Some(self.any_family())),
            4 => ("sum({})", Some(Family::Whole)),
            _ if family == Family::Boolean => ("bool_or({})", Some(family)),
            _ => (*self.random.pick(&["min({})", "max({})"]), Some(family)),
        };
        let ranks = argument.is_none();
        let mut holes = Vec::new();
        if let Some(argument) = argument {
            holes.push(self.leaf(argument).into());
        }
        let mut template = format!("{function} OVER (");
        if self.random.chance(70) {
            template.push_str("PARTITION BY {} ");
            holes.push(self.leaf(partition).into());
        }
        let groups = frame.contains("GROUPS");
        if ranks || groups || self.random.chance(60) {
            template.push_str("ORDER BY {}");
            holes.push(self.order_key(order).into());
            template.push_str(if ranks { "" } else { frame });
        }
        template.push(')');
        (self.plain, self.exact_only) = (plain, exact);
        Expr::new(family, &template, holes)
    }

    /// Something to order by that is not a constant, which GROUPS refuses.
    fn order_key(&mut self, family: Family) -> Expr {
        let own = self.column(family).or_else(|| {
            let families = [Family::Whole, Family::Text, Family::Float, Family::Date, Family::Decimal];
            families.into_iter().find_map(|f| self.column(f))
        });
        own.unwrap_or_else(|| self.leaf(family))
    }

    /// An aggregate that looks at two expressions.
    pub(super) fn ordered_aggregate(&mut self, family: Family) -> Expr {
        let direction = *self.random.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
        let key = self.any_family();
        let (template, second) = match family {
            Family::Float if self.random.chance(70) => {
                self.inexact = true;
                let names =
                    ["covar_pop", "covar_samp", "regr_sxy", "regr_sxx", "regr_syy", "regr_avgx", "regr_avgy"];
                let name = *self.random.pick(&names);
                let (y, x) = (self.leaf(Family::Whole), self.leaf(Family::Whole));
                return Expr::new(family, &format!("{name}({{}}, {{}})"), vec![y.into(), x.into()]);
            }
            Family::Text if self.random.chance(50) => {
                (format!("string_agg({{}}, '-' ORDER BY {{}}{direction})"), key)
            }
            _ => match self.random.below(4) {
                0 => ("arg_min({}, {})".to_owned(), key),
                1 => ("arg_max({}, {})".to_owned(), key),
                2 => (format!("first({{}} ORDER BY {{}}{direction})"), key),
                _ => (format!("last({{}} ORDER BY {{}}{direction})"), key),
            },
        };
        let (value, key) = (self.leaf(family), self.leaf(second));
        let mut holes = vec![value.into(), key.into()];
        let mut template = template;
        if self.random.chance(15) {
            template.push_str(" FILTER (WHERE {})");
            holes.push(self.leaf(Family::Boolean).into());
        }
        Expr::new(family, &template, holes)
    }
}
