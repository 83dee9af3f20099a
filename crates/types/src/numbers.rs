//! Casts between integers, decimals and floats.

use crate::{Error, Result, SqlState, Type, Value, decimal};

pub(crate) fn integer(v: i128, to: Type) -> Result<Value> {
    Value::of_integer(v, to).ok_or_else(|| match to.is_ranged_integer() {
        true => Error::value_out_of_range(v, to),
        false => Error::out_of_range(&to),
    })
}

/// Casts between integers, decimals and floats. Decimals round half away from zero; floats become integers half to
/// even.
pub(crate) fn cast_number(value: &Value, from: Type, to: Type) -> Result<Value> {
    if let Some(float) = value.as_f64() {
        return match to {
            Type::Double => Ok(Value::F64(float)),
            Type::Real => {
                #[allow(clippy::cast_possible_truncation)]
                let narrow = float as f32;
                if narrow.is_infinite() && float.is_finite() {
                    return Err(Error::out_of_range(&to));
                }
                Ok(Value::F32(narrow))
            }
            Type::Decimal { precision, scale } => {
                if !float.is_finite() {
                    return Err(Error::out_of_range(&to));
                }
                // PostgreSQL goes through the shortest text (15 digits for DOUBLE, 6 for REAL).
                let text =
                    if from == Type::Real { format!("{:.5e}", float) } else { format!("{:.14e}", float) };
                match decimal::parse(&text, scale) {
                    Ok(Some(v)) if decimal::fits(v, precision) => decimal_value(v, to),
                    _ => Err(Error::out_of_range(&to)),
                }
            }
            _ => {
                let rounded = float.round_ties_even();
                if !rounded.is_finite()
                    || rounded.abs() >= 170_141_183_460_469_231_731_687_303_715_884_105_728.0
                {
                    return Err(Error::out_of_range(&to));
                }
                integer(rounded as i128, to)
            }
        };
    }
    let unscaled = value.as_i128().ok_or_else(|| Error::internal("number without a value"))?;
    match to {
        Type::Double => Ok(Value::F64(decimal_to_f64(unscaled, from.scale()))),
        Type::Real => Ok(Value::F32(decimal_to_f64(unscaled, from.scale()) as f32)),
        Type::Decimal { precision, scale } => match decimal::rescale(unscaled, from.scale(), scale) {
            Some(v) if decimal::fits(v, precision) => decimal_value(v, to),
            _ => Err(Error::new(SqlState::NumericValueOutOfRange, "numeric field overflow").with_detail(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than 10^{}.",
                precision.saturating_sub(scale)
            ))),
        },
        _ => {
            let whole = decimal::rescale(unscaled, from.scale(), 0).ok_or_else(|| Error::out_of_range(&to))?;
            integer(whole, to)
        }
    }
}

pub(crate) fn decimal_value(v: i128, to: Type) -> Result<Value> {
    Value::from_i128(v, to.physical()).ok_or_else(|| Error::out_of_range(&to))
}

/// The float nearest to `unscaled / 10^scale`.
pub fn decimal_to_f64(unscaled: i128, scale: u8) -> f64 {
    // Both operands are exact up to 2^53 and 10^22, so one correctly rounded division suffices there.
    if unscaled.unsigned_abs() < 1 << 53 && scale <= 22 {
        return unscaled as f64 / decimal::power_of_ten(scale) as f64;
    }
    decimal::format(unscaled, scale).parse().unwrap_or(f64::NAN)
}
