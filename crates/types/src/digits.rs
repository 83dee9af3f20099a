//! Whether a numeric type keeps a number's digits. Readers of text and JSON files ask before they infer a column's
//! type, so that the inferred type changes no value.
//!
//! A number is held by DOUBLE PRECISION when the nearest double, written with as many digits, gives the number back. So
//! what a program printed of a double is held, however many digits it printed, and a decimal of twenty digits is not. A
//! fraction of up to 17 digits counts as held in any case: that many are printed of doubles, and the last one may be
//! another program's rounding. Whole numbers have to be kept as they are, as they are often keys.

/// Digits that every double keeps.
const DOUBLE_DIGITS: usize = 15;
/// Digits that tell every double from its neighbours.
const PRINTED_DIGITS: usize = 17;
/// More digits than the exact value of any double has.
const DIGITS_MAX: usize = 800;

/// A number's digits without sign, point, exponent and the zeros at both ends.
fn significant(text: &str) -> Vec<u8> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let mut digits: Vec<u8> =
        mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|b| *b == b'0').collect();
    let end = digits.iter().rposition(|b| *b != b'0').map_or(0, |at| at + 1);
    digits.truncate(end);
    digits
}

/// Whether DOUBLE PRECISION keeps the digits of the number; `false` also for a text that is no number.
pub fn held_by_double(text: &str) -> bool {
    let text = text.trim();
    text.parse::<f64>().is_ok_and(|value| held_by(text, value))
}

/// As `held_by_double`, for a caller that has already parsed `text` to `value`.
pub fn held_by(text: &str, value: f64) -> bool {
    let normal = value.abs() >= f64::MIN_POSITIVE && value.is_finite();
    if normal && text.len() <= DOUBLE_DIGITS {
        return true;
    }
    let fraction = text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'));
    // With the point, so that no digit need be counted.
    if normal && fraction && text.len() <= PRINTED_DIGITS + 1 {
        return true;
    }
    if value == 0.0 && text.bytes().all(|b| matches!(b, b'0' | b'.' | b'-')) {
        return true;
    }
    let digits = significant(text);
    if digits.is_empty() {
        return true;
    }
    if !value.is_finite() || digits.len() > DIGITS_MAX {
        return false;
    }
    let kept = if fraction { PRINTED_DIGITS } else { DOUBLE_DIGITS };
    if digits.len() <= kept && normal {
        return true;
    }
    significant(&format!("{:.*e}", digits.len() - 1, value)) == digits
}

/// How many digits a number has before and behind the point, without leading zeros before it and trailing zeros
/// behind it; `None` for a text with an exponent or that is no number.
pub fn fixed(text: &str) -> Option<(usize, usize)> {
    let text = text.trim();
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    Some((whole.trim_start_matches('0').len(), fraction.trim_end_matches('0').len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_hold_what_was_printed_of_them() {
        for held in [
            "0",
            "-0.0",
            "0.1",
            "1e300",
            ".097",
            "1.",
            "123456789012345",
            "9007199254740992",
            "1.50000000000000000000",
            "1.000000000000000056e-01",
            "0.1000000000000000055511151231257827",
            "2.3333333333333335",
            "1e22",
            "2.3333333333333333",
            "-12.345678901234568",
            "1.2345678901234567e-300",
            "0.00000000012345678901234567",
        ] {
            assert!(held_by_double(held), "{held}");
        }
        for lost in [
            "9007199254740993",
            "12345678901234567890123",
            "0.12345678901234567890123",
            "123.333333333333333333",
            "1e400",
            "1e-400",
            "4.95e-324",
            "x",
        ] {
            assert!(!held_by_double(lost), "{lost}");
        }
        assert_eq!(fixed("-012.340"), Some((2, 2)));
        assert_eq!(fixed("1e5"), None);
        assert_eq!(fixed("."), None);
    }
}
