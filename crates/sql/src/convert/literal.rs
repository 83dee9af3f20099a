//! Constants and parameters.

use sqlparser::ast::{
    self, CastKind, DataType, DateTimeField, DollarQuotedString, TypedString, Value, ValueWithSpan,
};
use syntax::Span;
use syntax::tree::{self, ExprKind, IntervalField, Literal};
use types::Result;

use super::{Converter, span};

impl Converter<'_> {
    /// A literal as an expression.
    pub(super) fn literal(&self, literal: &Literal, at: Span) -> Result<ast::Expr> {
        let value = match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Boolean(*value),
            Literal::Number(digits) => Value::Number(digits.to_string(), false),
            Literal::Text(text) => return Ok(ast::Expr::Value(self.text_value(text, at))),
            Literal::Bits(digits) => Value::SingleQuotedByteStringLiteral(digits.to_string()),
            Literal::Bytes(digits) => {
                let text = Value::SingleQuotedString(format!("\\x{digits}")).with_span(span(at));
                return Ok(cast(ast::Expr::Value(text), DataType::Bytea));
            }
            Literal::Typed(ty, text) => {
                let tree::TextLiteral { text, span } = text;
                return Ok(ast::Expr::TypedString(TypedString {
                    data_type: self.data_type(ty)?,
                    value: self.text_value(text, *span),
                    uses_odbc_syntax: false,
                }));
            }
            Literal::Interval(interval) => return self.interval(interval, at),
        };
        Ok(ast::Expr::Value(value.with_span(span(at))))
    }

    /// A text, in the quotes that it is written in.
    pub(crate) fn text_value(&self, text: &str, at: Span) -> ValueWithSpan {
        let written = self.text_of(at);
        let text = text.to_owned();
        let value = match written.bytes().next() {
            Some(b'e' | b'E') => Value::EscapedStringLiteral(text),
            Some(b'n' | b'N') => Value::NationalStringLiteral(text),
            Some(b'u' | b'U') => Value::UnicodeStringLiteral(text),
            Some(b'$') => {
                let tag = written.get(1..).and_then(|rest| rest.split('$').next()).unwrap_or_default();
                let tag = (!tag.is_empty()).then(|| tag.to_owned());
                Value::DollarQuotedString(DollarQuotedString { value: text, tag })
            }
            _ => Value::SingleQuotedString(text),
        };
        value.with_span(span(at))
    }

    /// A parameter as a placeholder: `$1`, `$name` or `:name`.
    pub(super) fn parameter(&self, parameter: &tree::Parameter, at: Span) -> ast::Expr {
        let name = match parameter {
            tree::Parameter::Number(number) | tree::Parameter::Question(number) => format!("${number}"),
            tree::Parameter::Dollar(name) => format!("${name}"),
            tree::Parameter::Colon(name) => format!(":{name}"),
        };
        ast::Expr::Value(Value::Placeholder(name).with_span(span(at)))
    }

    fn interval(&self, interval: &tree::IntervalLiteral, at: Span) -> Result<ast::Expr> {
        let tree::IntervalLiteral { value, fields, precision } = interval;
        if precision.is_some() {
            let fields = self.interval_fields(fields.as_ref(), at)?;
            let precision = precision.map(u64::from);
            return Ok(cast(self.expr(value)?, DataType::Interval { fields, precision }));
        }
        // `INTERVAL (2) DAY` is `INTERVAL 2 DAY`.
        let value = match &value.kind {
            ExprKind::Nested(inner)
                if fields.is_some() && matches!(inner.kind, ExprKind::Literal(Literal::Number(_))) =>
            {
                inner
            }
            _ => value,
        };
        let mut made = ast::Interval {
            value: self.boxed(value)?,
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        };
        let Some(tree::IntervalFields { from, to, precision }) = fields else {
            return Ok(ast::Expr::Interval(made));
        };
        let behind = Span { start: value.span.end, end: at.end };
        let mut words =
            self.text_of(behind).split(|c: char| !c.is_ascii_alphabetic()).filter(|w| !w.is_empty());
        let plural = |word: Option<&str>| word.is_some_and(|w| w.ends_with(['s', 'S']));
        made.leading_field = Some(field(*from, plural(words.next())));
        made.last_field = to.map(|to| field(to, plural(words.nth(1))));
        let digits = precision.map(u64::from);
        match to {
            None => made.leading_precision = digits,
            Some(_) => made.fractional_seconds_precision = digits,
        }
        Ok(ast::Expr::Interval(made))
    }
}

/// A plain CAST of an expression.
pub(super) fn cast(expr: ast::Expr, data_type: DataType) -> ast::Expr {
    ast::Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    }
}

/// A unit of intervals, as it is written where both numbers are known.
fn field(field: IntervalField, plural: bool) -> DateTimeField {
    use DateTimeField as F;
    match (field, plural) {
        (IntervalField::Year, false) => F::Year,
        (IntervalField::Year, true) => F::Years,
        (IntervalField::Month, false) => F::Month,
        (IntervalField::Month, true) => F::Months,
        (IntervalField::Week, false) => F::Week(None),
        (IntervalField::Week, true) => F::Weeks,
        (IntervalField::Day, false) => F::Day,
        (IntervalField::Day, true) => F::Days,
        (IntervalField::Hour, false) => F::Hour,
        (IntervalField::Hour, true) => F::Hours,
        (IntervalField::Minute, false) => F::Minute,
        (IntervalField::Minute, true) => F::Minutes,
        (IntervalField::Second, false) => F::Second,
        (IntervalField::Second, true) => F::Seconds,
        (IntervalField::Millisecond, false) => F::Millisecond,
        (IntervalField::Millisecond, true) => F::Milliseconds,
        (IntervalField::Microsecond, false) => F::Microsecond,
        (IntervalField::Microsecond, true) => F::Microseconds,
        (IntervalField::Quarter, _) => F::Quarter,
        (IntervalField::Decade, _) => F::Decade,
        (IntervalField::Century, _) => F::Century,
        (IntervalField::Millennium, _) => F::Millennium,
    }
}
