//! Calls with words in their brackets, and those that the binder has nodes of their own for.
//!
//! EXTRACT, SUBSTRING, TRIM and the like have nodes of their own in the binder's tree, whether they are written with
//! words or as plain calls (`worded_call`). A field of a date that is no word of the grammar stays a name, which the
//! binder checks. Called by `convert::expr` and `convert::call`.

use sqlparser::ast::{
    self, CeilFloorKind, DateTimeField, ExtractSyntax, ObjectName, ObjectNamePart, TrimWhereField, Value,
};
use syntax::Span;
use syntax::tree::{self, ExprKind, SpecialCall};
use types::Result;

use super::call::{listed, plain, unnamed};
use super::{Converter, made, span};

impl Converter<'_> {
    /// A call whose brackets hold words, such as `EXTRACT(YEAR FROM d)`.
    pub(super) fn special(&self, special: &SpecialCall, at: Span) -> Result<ast::Expr> {
        Ok(match special {
            SpecialCall::Extract(field, expr) => ast::Expr::Extract {
                field: self.date_field(field),
                syntax: ExtractSyntax::From,
                expr: self.boxed(expr)?,
            },
            SpecialCall::Position(expr, within) => {
                ast::Expr::Position { expr: self.boxed(expr)?, r#in: self.boxed(within)? }
            }
            SpecialCall::Substring { text, from, length } => ast::Expr::Substring {
                expr: self.boxed(text)?,
                substring_from: self.boxed_if(from.as_ref())?,
                substring_for: self.boxed_if(length.as_ref())?,
                special: false,
                shorthand: false,
            },
            SpecialCall::SubstringSimilar(text, pattern, escape) => ast::Expr::Substring {
                expr: self.boxed(text)?,
                substring_from: Some(self.boxed(pattern)?),
                substring_for: Some(self.boxed(escape)?),
                special: false,
                shorthand: false,
            },
            SpecialCall::Trim { side, characters, texts } => {
                return self.trim(*side, characters.as_ref(), texts, at);
            }
            SpecialCall::Overlay(text, with, from, length) => ast::Expr::Overlay {
                expr: self.boxed(text)?,
                overlay_what: self.boxed(with)?,
                overlay_from: self.boxed(from)?,
                overlay_for: self.boxed_if(length.as_ref())?,
            },
            SpecialCall::RoundTo { up, expr, field } => {
                let field = CeilFloorKind::DateTimeField(self.date_field(field));
                let expr = self.boxed(expr)?;
                if *up { ast::Expr::Ceil { expr, field } } else { ast::Expr::Floor { expr, field } }
            }
            SpecialCall::Normalize(text, form) => {
                let form = ast::Expr::Identifier(super::ident(form));
                self.by_first_word(at, vec![self.expr(text)?, form])
            }
            SpecialCall::Try(expr) => self.by_first_word(at, vec![self.expr(expr)?]),
        })
    }

    /// A call of the function whose name a text begins with.
    pub(super) fn by_first_word(&self, at: Span, values: Vec<ast::Expr>) -> ast::Expr {
        let word = self.text_of(at).split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
        let word = word.unwrap_or_default();
        let end = at.start + u32::try_from(word.len()).unwrap_or_default();
        let name = ObjectName(vec![ObjectNamePart::Identifier(made(word, Span { start: at.start, end }))]);
        ast::Expr::Function(plain(name, listed(values.into_iter().map(unnamed).collect())))
    }

    fn trim(
        &self,
        side: Option<tree::TrimSide>,
        characters: Option<&tree::Expr>,
        texts: &[tree::Expr],
        at: Span,
    ) -> Result<ast::Expr> {
        let trim_where = side.map(|side| match side {
            tree::TrimSide::Both => TrimWhereField::Both,
            tree::TrimSide::Leading => TrimWhereField::Leading,
            tree::TrimSide::Trailing => TrimWhereField::Trailing,
        });
        let [text, more @ ..] = texts else { return Err(self.unexpected(at)) };
        if let Some(second) = more.first() {
            return Err(self.unexpected(second.span));
        }
        let expr = self.boxed(text)?;
        // FROM without characters before it takes blanks away.
        let behind_from = characters.is_none() && self.is_behind_from(text.span, at);
        let trim_what = match characters {
            Some(characters) => Some(self.boxed(characters)?),
            None if behind_from => {
                let blank = Value::SingleQuotedString(" ".to_owned()).with_span(span(text.span));
                Some(Box::new(ast::Expr::Value(blank)))
            }
            None => None,
        };
        let trim_where = trim_where.or_else(|| behind_from.then_some(TrimWhereField::Both));
        Ok(ast::Expr::Trim { trim_where, trim_what, expr, trim_characters: None })
    }

    /// Whether FROM stands before the only text of a TRIM.
    fn is_behind_from(&self, text: Span, call: Span) -> bool {
        let before = self.text_of(Span { start: call.start, end: text.start });
        let last = before.split_ascii_whitespace().next_back().unwrap_or_default();
        let last = last.rsplit('(').next().unwrap_or_default();
        last.eq_ignore_ascii_case("from")
    }

    /// Plain calls that the binder has nodes of their own for: CEIL, FLOOR, SUBSTRING, TRIM and
    /// INTERVAL.
    pub(super) fn worded_call(&self, call: &tree::Call, at: Span) -> Result<Option<ast::Expr>> {
        let tree::Call { name, arguments: Some(arguments), within_group, filter, nulls, over } = call else {
            return Ok(None);
        };
        let tree::Arguments { distinct, list, order_by, limit } = arguments;
        let Some(name) = name.single().filter(|name| !name.quoted) else { return Ok(None) };
        let only = within_group.is_empty()
            && filter.is_none()
            && nulls.is_none()
            && over.is_none()
            && distinct.is_none()
            && order_by.is_empty()
            && limit.is_none();
        let positional = |a: &tree::Argument| {
            !a.variadic && a.name.is_none() && !matches!(a.value.kind, ExprKind::Star(_))
        };
        if !only || list.is_empty() || !list.iter().all(positional) {
            return Ok(None);
        }
        let values: Vec<&tree::Expr> = list.iter().map(|a| &a.value).collect();
        match name.text.to_ascii_lowercase().as_str() {
            "ceil" => self.rounded(true, &values),
            "floor" => self.rounded(false, &values),
            "substring" => self.substring(false, &values),
            "substr" => self.substring(true, &values),
            "trim" => self.plain_trim(&values, at).map(Some),
            // Without a unit: a text in brackets.
            "interval" => match values.as_slice() {
                [one] => Ok(Some(ast::Expr::Interval(ast::Interval {
                    value: Box::new(ast::Expr::Nested(self.boxed(one)?)),
                    leading_field: None,
                    leading_precision: None,
                    last_field: None,
                    fractional_seconds_precision: None,
                }))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn rounded(&self, up: bool, values: &[&tree::Expr]) -> Result<Option<ast::Expr>> {
        let (expr, field) = match values {
            [one] => (self.boxed(one)?, CeilFloorKind::DateTimeField(DateTimeField::NoDateTime)),
            [one, scale] => match self.expr(scale)? {
                ast::Expr::Value(scale) if matches!(scale.value, Value::Number(..)) => {
                    (self.boxed(one)?, CeilFloorKind::Scale(scale))
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(if up { ast::Expr::Ceil { expr, field } } else { ast::Expr::Floor { expr, field } }))
    }

    fn substring(&self, shorthand: bool, values: &[&tree::Expr]) -> Result<Option<ast::Expr>> {
        let [text, rest @ ..] = values else { return Ok(None) };
        if rest.len() > 2 {
            return Ok(None);
        }
        Ok(Some(ast::Expr::Substring {
            expr: self.boxed(text)?,
            substring_from: self.boxed_if(rest.first().copied())?,
            substring_for: self.boxed_if(rest.get(1).copied())?,
            special: !rest.is_empty(),
            shorthand,
        }))
    }

    fn plain_trim(&self, values: &[&tree::Expr], at: Span) -> Result<ast::Expr> {
        let [text, rest @ ..] = values else { return Err(self.unexpected(at)) };
        let characters = rest.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
        Ok(ast::Expr::Trim {
            trim_where: None,
            trim_what: None,
            expr: self.boxed(text)?,
            trim_characters: (!characters.is_empty()).then_some(characters),
        })
    }

    /// A field of a moment; those that are no words of the grammar stay names.
    fn date_field(&self, name: &tree::Name) -> DateTimeField {
        use DateTimeField as F;
        if name.quoted {
            return F::Custom(self.label(name));
        }
        match name.text.to_ascii_uppercase().as_str() {
            "YEAR" => F::Year,
            "YEARS" => F::Years,
            "MONTH" => F::Month,
            "MONTHS" => F::Months,
            "WEEK" => F::Week(None),
            "WEEKS" => F::Weeks,
            "DAY" => F::Day,
            "DAYOFWEEK" => F::DayOfWeek,
            "DAYOFYEAR" => F::DayOfYear,
            "DAYS" => F::Days,
            "DATE" => F::Date,
            "DATETIME" => F::Datetime,
            "HOUR" => F::Hour,
            "HOURS" => F::Hours,
            "MINUTE" => F::Minute,
            "MINUTES" => F::Minutes,
            "SECOND" => F::Second,
            "SECONDS" => F::Seconds,
            "CENTURY" => F::Century,
            "DECADE" => F::Decade,
            "DOY" => F::Doy,
            "DOW" => F::Dow,
            "EPOCH" => F::Epoch,
            "ISODOW" => F::Isodow,
            "ISOYEAR" => F::Isoyear,
            "ISOWEEK" => F::IsoWeek,
            "JULIAN" => F::Julian,
            "MICROSECOND" => F::Microsecond,
            "MICROSECONDS" => F::Microseconds,
            "MILLENIUM" => F::Millenium,
            "MILLENNIUM" => F::Millennium,
            "MILLISECOND" => F::Millisecond,
            "MILLISECONDS" => F::Milliseconds,
            "NANOSECOND" => F::Nanosecond,
            "NANOSECONDS" => F::Nanoseconds,
            "QUARTER" => F::Quarter,
            "TIME" => F::Time,
            "TIMEZONE" => F::Timezone,
            "TIMEZONE_ABBR" => F::TimezoneAbbr,
            "TIMEZONE_HOUR" => F::TimezoneHour,
            "TIMEZONE_MINUTE" => F::TimezoneMinute,
            "TIMEZONE_REGION" => F::TimezoneRegion,
            _ => F::Custom(self.label(name)),
        }
    }
}
