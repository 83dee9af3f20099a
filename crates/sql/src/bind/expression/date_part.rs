//! `date_part` as a function: of a field that is written, that rows say, or of a list of fields.

use plan::{Expr, ExprKind};
use syntax::Span;
use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value, units};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, zones};
use crate::bind::function::own;
use crate::bind::nested;
use crate::place;

impl ExprBinder<'_, '_> {
    /// `date_part(field, moment)`, where the field may be a constant, differ by row, or be a list of fields.
    pub(crate) fn date_part(&self, field: Bound, moment: Bound, span: Span) -> Result<Expr> {
        if let Some(Type::Text | Type::Null) = field.ty().element() {
            return self.date_parts(field, moment, span);
        }
        if field.is_null() {
            // The type is that of most fields.
            return Ok(crate::bind::null_of(Type::BigInt));
        }
        if !field.untyped && !field.ty().is_text() {
            return Err(self.no_function("date_part", &[field, moment], span));
        }
        if let Some(written) = field.expr.as_literal().and_then(Value::as_text) {
            return self.extract_field(written, moment, span);
        }
        self.field_of_row(field, moment, span)
    }

    /// A field that each row names: a number of the type that all fields have room in.
    fn field_of_row(&self, field: Bound, moment: Bound, span: Span) -> Result<Expr> {
        if moment.is_null() {
            return Ok(crate::bind::null_of(Type::Double));
        }
        let moment = coerce::in_microseconds(moment);
        let known = matches!(moment.ty(), Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time);
        if moment.untyped || !(known || moment.ty().is_interval()) {
            if moment.ty() == Type::TimeTz {
                let error = Error::unsupported("the field of a TIME WITH TIME ZONE must be a constant")
                    .with_hint("cast the time to TIME");
                return Err(place::at(error, self.binder.text, span));
            }
            return Err(self.no_function("date_part", &[field, moment], span));
        }
        let expr = crate::bind::expression::intervals::bare(moment.expr);
        let expr = if expr.ty.is_interval() { cast(expr, Type::Interval) } else { expr };
        let of = |field: Expr, expr: Expr| -> Result<Expr> {
            let arguments = [Bound::typed(field, span), Bound::typed(expr, span)];
            match own::call("any_field", &arguments, self.binder.text)? {
                Some(expr) => Ok(expr),
                None => Err(Error::internal("a field of a moment")),
            }
        };
        if expr.ty != Type::TimestampTz {
            return of(field.expr, expr);
        }
        // Seconds since 1970 are the same in every zone; all other fields are the clock's.
        let name = nested::call(
            "lower",
            vec![nested::call("trim", vec![field.expr.clone()], Type::Text)],
            Type::Text,
        );
        let epoch =
            Expr::compare(types::Comparison::Equal, name, Expr::literal(Value::text("epoch"), Type::Text));
        let utc = zones::at_zone(zones::constant(types::Zone::Utc), expr.clone());
        let clock = of(field.expr, zones::on_the_clock(expr))?;
        let seconds = of(Expr::literal(Value::text("epoch"), Type::Text), utc)?;
        Ok(Expr::new(
            ExprKind::Case { branches: vec![(epoch, seconds)], otherwise: Some(Box::new(clock)) },
            Type::Double,
        ))
    }

    /// `date_part(['year', 'month'], moment)`: a struct of the fields.
    fn date_parts(&self, fields: Bound, moment: Bound, span: Span) -> Result<Expr> {
        let refuse = |error: Error| place::at(error, self.binder.text, span);
        let Some(Value::Bytes(list)) = fields.expr.as_literal() else {
            if fields.is_null() {
                return Ok(crate::bind::null_of(Type::Null));
            }
            let error = Error::unsupported("the list of fields of date_part must be a constant");
            return Err(refuse(error.with_hint("the type of the struct depends on it")));
        };
        let mut names = Vec::new();
        let mut values = Vec::new();
        for payload in encoding::elements(fields.ty(), list) {
            let value = encoding::slot_value(payload, Type::Text);
            let Some(written) = value.as_text() else {
                let error = Error::new(SqlState::InvalidParameterValue, "a field of date_part is NULL");
                return Err(refuse(error));
            };
            let part = self.extract_field(written, moment.clone(), span)?;
            let whole = units::unit(written);
            let ty = if matches!(whole.as_str(), "epoch" | "julian") { Type::Double } else { Type::BigInt };
            let part = match part.ty {
                Type::Decimal { .. } if ty == Type::BigInt => self.without_fraction(part, span)?,
                _ => cast(part, ty),
            };
            if names.iter().any(|name: &String| name == written) {
                let message = format!("date_part has the field \"{written}\" twice");
                return Err(refuse(Error::new(SqlState::InvalidParameterValue, message)));
            }
            names.push(written.to_owned());
            values.push(part);
        }
        if names.is_empty() {
            let error = Error::new(SqlState::InvalidParameterValue, "date_part has no field");
            return Err(refuse(error.with_hint("name one, as in date_part(['year'], moment)")));
        }
        let made = nested::struct_of(names, values)?;
        let ty = made.ty;
        let there =
            Expr::new(ExprKind::IsNull { input: Box::new(moment.expr), negated: true }, Type::Boolean);
        Ok(Expr::new(ExprKind::Case { branches: vec![(there, made)], otherwise: None }, ty))
    }
}
