//! EXTRACT and `date_part`: one field of a moment, a time or an interval.
//!
//! The field is a word of the grammar or a text that is known when the query is planned; `date_part` handles texts
//! that are not. Fields that depend on the session's zone take the offset of the zone at that instant. An unknown
//! field, or one that the type lacks, is an error. Called by `bind::expression`, `date_part` and `own`.

use plan::{Arithmetic, Expr, ExprKind, Function};
use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Error, Result, SqlState, Type, Value, units};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, fold, literal, operator, zones};
use crate::bind::function::{own as own_call, own};
use crate::bind::refusal;
use crate::place;

const INTERVAL_FIELDS: [&str; 11] = [
    "millennium",
    "century",
    "decade",
    "year",
    "quarter",
    "month",
    "day",
    "hour",
    "minute",
    "microsecond",
    "epoch",
];

const FIELDS_OF_TIMES: [&str; 6] = ["hour", "minute", "second", "millisecond", "microsecond", "epoch"];

const FIELDS_OF_MOMENTS: [&str; 21] = [
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "week",
    "quarter",
    "dow",
    "doy",
    "isodow",
    "epoch",
    "isoyear",
    "decade",
    "century",
    "millennium",
    "era",
    "yearweek",
    "julian",
];

impl<'a> ExprBinder<'_, 'a> {
    /// `EXTRACT(field FROM value)`.
    pub(crate) fn extract(&mut self, field: &tree::Name, value: &'a Ast) -> Result<Bound> {
        let value = self.bind(value)?;
        let span = value.span;
        let field = match refusal::label_in_quotes(self.binder.text, field) {
            true => field.text.to_lowercase(),
            false => field.to_string().to_lowercase(),
        };
        let expr = self.extract_field(&field, value, span)?;
        Ok(Bound::typed(expr, span))
    }

    /// What the session's zone is east of Greenwich at an instant: in seconds, or the hours or minutes of it.
    fn offset_field(&self, field: &str, value: Bound, span: Span) -> Result<Expr> {
        let zone = zones::session().unwrap_or_else(|| zones::constant(types::Zone::Utc));
        let arguments = vec![zone, value.expr];
        let name = plan::functions::OFFSET_IN_ZONE;
        let seconds = Expr::new(ExprKind::Library { name: name.into(), arguments }, Type::BigInt);
        self.parts_of_offset(field, seconds, span)
    }

    fn parts_of_offset(&self, field: &str, seconds: Expr, span: Span) -> Result<Expr> {
        let by = |op: Arithmetic, value: Expr, count: i64| {
            let count = Bound::typed(literal::integer(count), span);
            operator::arithmetic(op, Bound::typed(value, span), count, self.binder.text)
        };
        match field {
            "timezone_hour" => by(Arithmetic::Divide, seconds, 3600),
            "timezone_minute" => by(Arithmetic::Modulo, by(Arithmetic::Divide, seconds, 60)?, 60),
            _ => Ok(seconds),
        }
    }

    /// A field of a time with a zone: its zone's offset, the seconds since midnight in Greenwich, or one of the
    /// clock.
    fn time_tz_field(&self, field: &str, value: Bound, span: Span) -> Result<Expr> {
        use plan::functions::{TIME_TZ_EAST, TIME_TZ_UTC};
        let text = self.binder.text;
        let of_time = |name: &str, value: Bound| {
            let kind = ExprKind::Library { name: name.into(), arguments: vec![value.expr] };
            Expr::new(kind, Type::BigInt)
        };
        match units::unit(field).as_str() {
            whole @ ("timezone" | "timezone_hour" | "timezone_minute") => {
                self.parts_of_offset(whole, of_time(TIME_TZ_EAST, value), span)
            }
            "epoch" => {
                let micros = cast(of_time(TIME_TZ_UTC, value), Type::Double);
                let million = Bound::typed(Expr::literal(Value::F64(1e6), Type::Double), span);
                operator::arithmetic(Arithmetic::Divide, Bound::typed(micros, span), million, text)
            }
            _ => {
                let clock = Bound::typed(cast(value.expr, Type::Time), value.span);
                self.extract_field(field, clock, span)
            }
        }
    }

    /// A field, by its name, of a date, timestamp, time or interval.
    pub(crate) fn extract_field(&self, field: &str, value: Bound, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let value = coerce::in_microseconds(value);
        let value = Bound { expr: crate::bind::expression::intervals::bare(value.expr), ..value };
        let ty = value.ty();
        let is_day = matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz);
        if value.untyped
            || !(is_day || matches!(ty, Type::Time | Type::TimeTz) || ty.is_interval() || ty == Type::Null)
        {
            return Err(self.no_function("extract", &[value], span));
        }
        if ty == Type::Null {
            return Ok(crate::bind::null_of(Type::BigInt));
        }
        if ty == Type::TimeTz {
            return self.time_tz_field(field, value, span);
        }
        let unit = units::unit(field);
        let field = unit.as_str();
        if let (true, "timezone" | "timezone_hour" | "timezone_minute") = (ty == Type::TimestampTz, field) {
            return self.offset_field(field, value, span);
        }
        // Seconds since 1970 are the same in every zone.
        let value = match field {
            "epoch" => value,
            _ => Bound { expr: zones::on_the_clock(value.expr), ..value },
        };
        let own_field = match field {
            "year" => Some(Function::ExtractYear),
            "month" => Some(Function::ExtractMonth),
            "day" => Some(Function::ExtractDay),
            _ => None,
        };
        if let (Some(function), true) = (own_field, is_day) {
            return Ok(fold::fold(own_call(function, vec![value.expr], Type::BigInt)));
        }
        if ty.is_interval() {
            return self.interval_field(field, value, span);
        }
        let of = |name: &str, field: &str, value: Bound| {
            let field = Bound { expr: Expr::literal(Value::text(field), Type::Text), untyped: true, span };
            let call = own::call(name, &[field, value], text)?;
            call.ok_or_else(|| Error::internal("a field of a moment"))
        };
        let known: &[&str] = if is_day { &FIELDS_OF_MOMENTS } else { &FIELDS_OF_TIMES };
        if !known.contains(&field) {
            let error = Error::new(
                SqlState::InvalidParameterValue,
                format!("unit \"{field}\" not recognized for type {ty}"),
            );
            let error = match types::names::nearest(field, known.iter().copied()) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            };
            return Err(place::at(error, text, span));
        }
        match field {
            "epoch" | "julian" => {
                // The names of days are those of the clock, seconds since 1970 are the same on every clock.
                let value = match value.ty() {
                    Type::TimestampTz => {
                        let utc = zones::at_zone(zones::constant(types::Zone::Utc), value.expr);
                        Bound::typed(utc, value.span)
                    }
                    _ => value,
                };
                of("any_field", field, value)
            }
            // Seconds have a fraction: they are counted in microseconds and scaled down, which is exact.
            "second" | "millisecond" => {
                let scale = if field == "second" { 6 } else { 3 };
                let part = of("date_field", "microsecond", value)?;
                let unit = Bound::typed(literal::decimal_literal(1, scale), span);
                operator::arithmetic(Arithmetic::Multiply, Bound::typed(part, span), unit, text)
            }
            _ => of("date_field", field, value),
        }
    }

    /// A field of an interval; seconds have a fraction, as those of moments do.
    fn interval_field(&self, field: &str, value: Bound, span: Span) -> Result<Expr> {
        let text = self.binder.text;
        let (asked, scale) = match field {
            "second" => ("microsecond", 6),
            "millisecond" => ("microsecond", 3),
            "epoch" => ("epoch", 6),
            other => (other, 0),
        };
        if !INTERVAL_FIELDS.contains(&asked) {
            let message = format!("unit \"{field}\" not recognized for type {}", value.ty());
            return Err(place::at(Error::new(SqlState::InvalidParameterValue, message), text, span));
        }
        let field = Bound { expr: Expr::literal(Value::text(asked), Type::Text), untyped: true, span };
        let Some(part) = own::call("interval_field", &[field, value], text)? else {
            return Err(Error::internal("a field of an interval"));
        };
        if scale == 0 {
            return Ok(part);
        }
        let unit = Bound::typed(literal::decimal_literal(1, scale), span);
        operator::arithmetic(Arithmetic::Multiply, Bound::typed(part, span), unit, text)
    }
}
