//! Hypothetical-set aggregates: the rank that a row would have among the rows of the group.
//!
//! ```text
//! rank(v) WITHIN GROUP (ORDER BY x)          count(*) FILTER (WHERE x sorts before v) + 1
//! dense_rank(v) WITHIN GROUP (ORDER BY x)    count(DISTINCT x) FILTER (WHERE x sorts before v) + 1
//! percent_rank(v)                            (rank - 1) / count(*), 0 of no rows
//! cume_dist(v)                               (count(*) FILTER (WHERE x does not sort behind v) + 1) / (count(*) + 1)
//! ```
//! They are written out as such aggregates over the call's own expressions, and bound in its place.

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal, OperatorKind};
use types::{Error, Result, SqlState};

use crate::NullOrder;
use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::Bound;
use crate::bind::function::macros::told;
pub(crate) use crate::bind::function::named::is_hypothetical as is_one;
use crate::bind::query::order_value;

/// A key of WITHIN GROUP, and the value that is to be ranked by it.
struct Key<'a> {
    key: &'a Ast,
    value: &'a Ast,
    item: &'a tree::OrderItem,
}

impl<'a> ExprBinder<'_, 'a> {
    /// The call, written out as the aggregates above.
    pub(crate) fn hypothetical(&mut self, name: &str, call: &'a tree::Call, span: Span) -> Result<Bound> {
        let Some(tree::Arguments { list, .. }) = &call.arguments else {
            let error = Error::new(SqlState::SyntaxError, "the call has no arguments");
            return Err(self.at(error, span));
        };
        let values = self.binder.positional(list).unwrap_or_default();
        if values.len() != call.within_group.len() {
            let message = format!("function {name} takes as many arguments as WITHIN GROUP has keys");
            return Err(self.at(Error::new(SqlState::UndefinedFunction, message), span));
        }
        let mut keys = Vec::with_capacity(values.len());
        for (item, value) in call.within_group.iter().zip(values) {
            keys.push(Key { key: order_value(self.binder.text, item)?, value, item });
        }
        let written =
            Writer(span).written(name, &keys, call.filter.as_ref(), self.binder.relations.null_order());
        let written = self.binder.texts.keep_expr(written);
        // Its errors are told at the call, as those of a text of its own are.
        let what = format!("{name} ({written})");
        self.binder.inside.push(what.clone());
        let result = self.bind(written);
        self.binder.inside.pop();
        match result {
            Ok(bound) => Ok(Bound { span, ..bound }),
            Err(error) => Err(self.at(told(&error, &what), span)),
        }
    }
}

/// Makes expressions that all stand at the same place.
struct Writer(Span);

impl Writer {
    fn written(&self, name: &str, keys: &[Key<'_>], filter: Option<&Ast>, nulls: NullOrder) -> Ast {
        let before = self.sorts_before(keys, nulls);
        let also = |condition: Ast| match filter {
            Some(filter) => self.both(condition, self.nested(filter.clone())),
            None => condition,
        };
        let all = || self.count(filter.cloned());
        let one = || self.number("1");
        let rank = || {
            let count = self.count(Some(also(self.nested(before.clone()))));
            self.nested(self.chain(count, OperatorKind::Plus, one()))
        };
        match name {
            "rank" => rank(),
            "dense_rank" => {
                let key = |key: &Key<'_>| key.key.clone();
                let row = match keys {
                    [only] => key(only),
                    _ => self.expr(AstKind::Row { row: false, elements: keys.iter().map(key).collect() }),
                };
                let filter = also(self.nested(before.clone()));
                let count = self.aggregate(Some(true), row, Some(filter));
                let mut more = vec![(self.operator(OperatorKind::Plus), one())];
                // NULL is one of the values.
                if let [only] = keys {
                    let there = self.both(self.is_null(only.key, false), self.nested(before.clone()));
                    let there =
                        self.chain(self.count(Some(also(there))), OperatorKind::Greater, self.number("0"));
                    more.push((self.operator(OperatorKind::Plus), self.case(there, one(), self.number("0"))));
                }
                self.nested(self.expr(AstKind::Chain(Box::new(count), more)))
            }
            "percent_rank" => {
                let less = self.double(self.chain(rank(), OperatorKind::Minus, one()));
                let share = self.chain(less, OperatorKind::Divide, all());
                let empty = self.chain(all(), OperatorKind::Equal, self.number("0"));
                self.case(empty, self.number("0"), share)
            }
            _ => {
                let same = keys.iter().map(|key| self.nested(self.is_same(key)));
                let same = same.reduce(|all, next| self.both(all, next));
                let mut within = self.nested(before.clone());
                if let Some(same) = same {
                    within = self.chain(within, OperatorKind::Or, self.nested(same));
                }
                let count = self.count(Some(also(self.nested(within))));
                let count = self.double(self.chain(count, OperatorKind::Plus, one()));
                let rows = self.nested(self.chain(all(), OperatorKind::Plus, one()));
                self.nested(self.chain(count, OperatorKind::Divide, rows))
            }
        }
    }

    /// The condition that a row of the group comes before the row of the values.
    fn sorts_before(&self, keys: &[Key<'_>], nulls: NullOrder) -> Ast {
        let mut whole: Option<Ast> = None;
        for key in keys.iter().rev() {
            let descending = key.item.descending == Some(true);
            let nulls_first = key.item.nulls_first.unwrap_or_else(|| nulls.first(descending));
            let sign = if descending { OperatorKind::Greater } else { OperatorKind::Less };
            let nulls = self.both(self.is_null(key.key, !nulls_first), self.is_null(key.value, nulls_first));
            let less = self.chain(key.key.clone(), sign, key.value.clone());
            let no = self.expr(AstKind::Literal(Literal::Bool(false)));
            let less = self.call("coalesce", None, vec![less, no], None);
            let mut more = vec![(self.operator(OperatorKind::Or), self.nested(nulls))];
            if let Some(behind) = whole {
                let behind = self.both(self.nested(self.is_same(key)), self.nested(behind));
                more.push((self.operator(OperatorKind::Or), self.nested(behind)));
            }
            whole = Some(self.expr(AstKind::Chain(Box::new(less), more)));
        }
        whole.unwrap_or_else(|| self.expr(AstKind::Literal(Literal::Bool(false))))
    }

    fn expr(&self, kind: AstKind) -> Ast {
        Ast { kind, span: self.0 }
    }
    fn operator(&self, kind: OperatorKind) -> tree::Operator {
        tree::Operator { kind, span: self.0 }
    }
    fn chain(&self, left: Ast, operator: OperatorKind, right: Ast) -> Ast {
        self.expr(AstKind::Chain(Box::new(left), vec![(self.operator(operator), right)]))
    }
    fn both(&self, left: Ast, right: Ast) -> Ast {
        self.chain(left, OperatorKind::And, right)
    }
    fn nested(&self, inner: Ast) -> Ast {
        self.expr(AstKind::Nested(Box::new(inner)))
    }
    fn number(&self, digits: &str) -> Ast {
        self.expr(AstKind::Literal(Literal::Number(digits.into())))
    }
    fn is(&self, expr: &Ast, negated: bool, test: tree::IsKind) -> Ast {
        self.expr(AstKind::Is(Box::new(tree::IsTest { expr: expr.clone(), negated, test })))
    }
    fn is_null(&self, expr: &Ast, negated: bool) -> Ast {
        self.is(expr, negated, tree::IsKind::Null)
    }
    fn is_same(&self, Key { key, value, item: _ }: &Key<'_>) -> Ast {
        self.is(key, true, tree::IsKind::DistinctFrom((*value).clone()))
    }
    fn case(&self, condition: Ast, then: Ast, otherwise: Ast) -> Ast {
        let branches = vec![(condition, then)];
        self.expr(AstKind::Case(Box::new(tree::Case { operand: None, branches, otherwise: Some(otherwise) })))
    }
    fn double(&self, expr: Ast) -> Ast {
        let kind = tree::TypeKind::Named { name: self.name("DOUBLE PRECISION"), modifiers: vec![] };
        let to = tree::TypeName { kind, lists: vec![], span: self.0 };
        self.expr(AstKind::Cast(Box::new(tree::CastCall { style: tree::CastStyle::Cast, expr, to })))
    }
    fn name(&self, text: &str) -> tree::Path {
        tree::Path { names: vec![tree::Name { text: text.into(), quoted: false, span: self.0 }] }
    }
    /// How many rows there are for which the condition is true.
    fn count(&self, filter: Option<Ast>) -> Ast {
        let star = tree::Star {
            of: None,
            exclude: vec![],
            except: false,
            replace: vec![],
            rename: vec![],
            names: None,
        };
        self.aggregate(None, self.expr(AstKind::Star(Box::new(star))), filter)
    }
    fn aggregate(&self, distinct: Option<bool>, counted: Ast, filter: Option<Ast>) -> Ast {
        self.call("count", distinct, vec![counted], filter)
    }
    fn call(&self, name: &str, distinct: Option<bool>, values: Vec<Ast>, filter: Option<Ast>) -> Ast {
        let argument = |value| tree::Argument { variadic: false, name: None, value };
        let list = values.into_iter().map(argument).collect();
        let arguments = Some(tree::Arguments { distinct, list, order_by: vec![], limit: None });
        let name = self.name(name);
        let (within_group, nulls, over) = (vec![], None, None);
        self.expr(AstKind::Call(Box::new(tree::Call { name, arguments, within_group, filter, nulls, over })))
    }
}
