//! Expressions, one row at a time. NULL is a value like any other until an operator says what it makes of it; CASE,
//! COALESCE, AND and OR look at no more operands than they need.

use plan::{Expr, ExprKind, Function};
use types::{Error, Result, Value, cast};

use crate::relation::Row;
use crate::{Context, arithmetic, function, library};

impl Context<'_> {
    /// The values of several bound expressions for one row.
    pub fn evaluate_all(&self, expressions: &[Expr], row: &Row) -> Result<Row> {
        expressions.iter().map(|e| self.evaluate(e, row)).collect()
    }

    /// Whether a condition holds: false for NULL too.
    pub fn is_true(&self, expr: &Expr, row: &Row) -> Result<bool> {
        Ok(self.evaluate(expr, row)?.as_bool() == Some(true))
    }

    /// The value for one row of an expression whose columns `bind` has replaced by positions.
    pub fn evaluate(&self, expr: &Expr, row: &Row) -> Result<Value> {
        use ExprKind as K;
        Ok(match &expr.kind {
            K::Column(id) => return Err(Error::internal(format!("column #{} is not bound", id.0))),
            K::Input(at) => {
                row.get(*at).cloned().ok_or_else(|| Error::internal("a column past the row's end"))?
            }
            K::Literal(value) => value.clone(),
            K::Compare { op, left, right } => {
                let (l, r) = (self.evaluate(left, row)?, self.evaluate(right, row)?);
                if l.is_null() || r.is_null() { Value::Null } else { Value::Bool(op.holds(l.total_cmp(&r))) }
            }
            K::NotDistinct { left, right, negated } => {
                let same = self.evaluate(left, row)? == self.evaluate(right, row)?;
                Value::Bool(same != *negated)
            }
            K::And(operands) => self.connective(operands, row, false)?,
            K::Or(operands) => self.connective(operands, row, true)?,
            K::Not(input) => match self.evaluate(input, row)? {
                Value::Bool(b) => Value::Bool(!b),
                _ => Value::Null,
            },
            K::IsNull { input, negated } => Value::Bool(self.evaluate(input, row)?.is_null() != *negated),
            K::IsBoolean { input, value, negated } => {
                Value::Bool((self.evaluate(input, row)?.as_bool() == Some(*value)) != *negated)
            }
            K::Arithmetic { op, left, right, .. } => {
                let (l, r) = (self.evaluate(left, row)?, self.evaluate(right, row)?);
                if l.is_null() || r.is_null() {
                    return Ok(Value::Null);
                }
                arithmetic::arithmetic(*op, (&l, left.ty), (&r, right.ty), expr.ty)?
            }
            K::Negate(input) => arithmetic::negate(&self.evaluate(input, row)?, expr.ty)?,
            K::Cast { input, lenient } => match cast_to(&self.evaluate(input, row)?, input, expr, *lenient) {
                Err(_) if *lenient => Value::Null,
                result => result?,
            },
            K::Case { branches, otherwise } => {
                for (when, then) in branches {
                    if self.is_true(when, row)? {
                        return self.evaluate(then, row);
                    }
                }
                match otherwise {
                    Some(otherwise) => self.evaluate(otherwise, row)?,
                    None => Value::Null,
                }
            }
            K::Like { input, pattern, negated, case_insensitive } => match self.evaluate(input, row)? {
                Value::Null => Value::Null,
                value => {
                    let bytes =
                        value.as_bytes().ok_or_else(|| Error::internal("LIKE of a value that is no text"))?;
                    let found = if *case_insensitive {
                        let text = value.as_text().ok_or_else(|| Error::internal("text that is no text"))?;
                        pattern.matches(text.to_lowercase().as_bytes())
                    } else {
                        pattern.matches(bytes)
                    };
                    Value::Bool(found != *negated)
                }
            },
            K::InList { input, values, has_null, negated } => match self.evaluate(input, row)? {
                Value::Null => Value::Null,
                value if values.contains(&value) => Value::Bool(!negated),
                _ if *has_null => Value::Null,
                _ => Value::Bool(*negated),
            },
            K::Function { function: Function::Coalesce, arguments } => {
                for argument in arguments {
                    let value = self.evaluate(argument, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Value::Null
            }
            K::Function { function: Function::Try, arguments } => match self.evaluate(&arguments[0], row) {
                Err(error) if error.is_of_the_data() => Value::Null,
                result => result?,
            },
            K::Function { function, arguments } => {
                function::call(*function, arguments, &self.evaluate_all(arguments, row)?, expr.ty)?
            }
            K::Library { name, arguments } => {
                library::call(name, arguments, &self.evaluate_all(arguments, row)?, expr.ty)?
            }
            K::Lambda(_) => return Err(Error::unsupported("the reference has no lambdas")),
            K::External { function, .. } => {
                return Err(Error::unsupported(format!("the reference does not call {}", function.name)));
            }
            K::Parameter(_) => return Err(Error::internal("a parameter without a value")),
            K::ScalarSubquery(id) => self
                .subqueries
                .get(id.0 as usize)
                .cloned()
                .ok_or_else(|| Error::internal("a scalar subquery used before it ran"))?,
        })
    }

    /// AND (`decides` is FALSE) or OR (`decides` is TRUE).
    fn connective(&self, operands: &[Expr], row: &Row, decides: bool) -> Result<Value> {
        let mut unknown = false;
        for operand in operands {
            match self.evaluate(operand, row)? {
                Value::Bool(b) if b == decides => return Ok(Value::Bool(decides)),
                Value::Bool(_) => {}
                _ => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { Value::Bool(!decides) })
    }
}

/// An explicit cast: text is cut to the target's length.
fn cast_to(value: &Value, input: &Expr, expr: &Expr, lenient: bool) -> Result<Value> {
    if !value.is_null() && expr.ty.is_text() && input.ty != expr.ty {
        let text = cast::format_value(value, input.ty);
        return Ok(Value::text(cast::truncate_text(&text, expr.ty)));
    }
    if lenient {
        cast::try_cast_value(value, input.ty, expr.ty)
    } else {
        cast::cast_value(value, input.ty, expr.ty)
    }
}
