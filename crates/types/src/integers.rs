//! The integer types, by what they hold: SMALLINT, INTEGER and BIGINT fill the form that carries them; TINYINT, the
//! unsigned ones and HUGEINT lie in a wider form and keep their range wherever values are made (casts, arithmetic,
//! sums). The binder, the kernels and the optimizer's bounds take the ranges from here.

use crate::logical::physical_range;
use crate::unreadable::unreadable;
use crate::{Error, SqlState, Type, Value, decimal, wide};

/// Signed types from the narrowest, one of which holds the values of any two integer types.
const SIGNED: [Type; 5] = [Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt, Type::HugeInt];

impl Type {
    /// Whether the type is an integer type, of any width, signed or not.
    pub fn is_integer(self) -> bool {
        self.is_plain_integer() || self.is_ranged_integer()
    }
    /// An integer type whose range is that of its physical form.
    pub fn is_plain_integer(self) -> bool {
        matches!(self, Type::SmallInt | Type::Integer | Type::BigInt)
    }
    /// An integer type that is narrower than its physical form, so that values are checked when they are made.
    pub fn is_ranged_integer(self) -> bool {
        self.is_oid()
            || matches!(
                self,
                Type::TinyInt
                    | Type::UTinyInt
                    | Type::USmallInt
                    | Type::UInteger
                    | Type::UBigInt
                    | Type::HugeInt
            )
    }
    /// Smallest and largest value of an integer type; `None` for other types.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Type::TinyInt => (i128::from(i8::MIN), i128::from(i8::MAX)),
            Type::UTinyInt => (0, i128::from(u8::MAX)),
            Type::USmallInt => (0, i128::from(u16::MAX)),
            Type::UInteger => (0, i128::from(u32::MAX)),
            Type::UBigInt => (0, i128::from(u64::MAX)),
            Type::HugeInt => (i128::MIN, i128::MAX),
            ty if ty.is_oid() => (0, i128::from(u32::MAX)),
            ty if ty.is_plain_integer() => return physical_range(ty.physical()),
            _ => return None,
        })
    }
    /// The range of the integers that hold values of the type: an integer type's own, that of the physical form
    /// otherwise; `None` for types that are not held as integers.
    pub fn held_range(self) -> Option<(i128, i128)> {
        self.integer_range().or_else(|| physical_range(self.physical()))
    }
    /// Decimal digits that hold every value of an integer type, 38 for HUGEINT, which has 39; `None` for other types.
    pub fn integer_digits(self) -> Option<u8> {
        let (low, high) = self.integer_range()?;
        let largest = low.unsigned_abs().max(high.unsigned_abs());
        Some((1..38).find(|digits| largest < decimal::power_of_ten(*digits).unsigned_abs()).unwrap_or(38))
    }
    /// Whether every value of the integer type `other` is also one of this integer type; `false` for other types.
    pub fn holds_integers_of(self, other: Type) -> bool {
        match (self.integer_range(), other.integer_range()) {
            (Some((low, high)), Some((least, greatest))) => low <= least && greatest <= high,
            _ => false,
        }
    }
    /// The integer type to which two integer types are cast where they meet: the wider, else the narrowest signed
    /// one that holds the values of both.
    pub fn common_integer(self, other: Type) -> Option<Type> {
        // What meets an OID is an OID, as in PostgreSQL, unless its type has all of them.
        if self.is_oid() || other.is_oid() {
            let (oid, number) = if self.is_oid() { (self, other) } else { (other, self) };
            return Some(if number.holds_integers_of(oid) && !number.is_oid() { number } else { oid });
        }
        if self.holds_integers_of(other) {
            return Some(self);
        }
        let both = |ty: &Type| ty.holds_integers_of(self) && ty.holds_integers_of(other);
        std::iter::once(other).chain(SIGNED).find(both)
    }
}

/// Reads the forms of a number that a cast of a text to an integer takes beside plain digits: `0x1F`, `0b101` and
/// `0o17`, `_` between digits, digits behind a point, which are rounded half away from zero, and an exponent.
pub(crate) fn rounded_text(text: &str, to: Type) -> crate::Result<Value> {
    let invalid = || unreadable(text, to);
    let beyond = || Error::value_out_of_range(text.trim().chars().take(80).collect::<String>(), to);
    let joined = without_underscores(text.trim()).ok_or_else(invalid)?;
    let radix = match joined.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        let digits = &joined[2..];
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(invalid());
        }
        let value = i128::from_str_radix(digits, radix).map_err(|_| beyond())?;
        // Leading zeros count as digits of the type, as in DuckDB.
        let bits = to
            .integer_range()
            .map_or(128, |(_, high)| 128 - high.leading_zeros() + u32::from(high < i128::MAX));
        let fits = radix != 2 || digits.len() <= bits.max(8) as usize;
        return Value::of_integer(value, to).filter(|_| fits).ok_or_else(beyond);
    }
    match decimal::parse(&joined, 0) {
        Ok(Some(value)) => Value::of_integer(value, to).ok_or_else(beyond),
        // More digits than a decimal has, which HUGEINT may hold.
        Ok(None) => wide::parse(&joined, Type::BigNum)
            .and_then(|value| wide::cast(&value, Type::BigNum, to))
            .map_err(|_| beyond()),
        Err(decimal::NotANumber) => Err(invalid()),
    }
}

/// The text without the `_` that stand between two digits; `None` where one stands elsewhere.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
    let stray = (0..bytes.len())
        .any(|at| bytes[at] == b'_' && !(digit(at.checked_sub(1)) && digit(at.checked_add(1))));
    // The letter of `0b_1` is a digit in hexadecimal.
    let after_prefix =
        bytes.len() > 2 && bytes[0] == b'0' && bytes[1].is_ascii_alphabetic() && bytes[2] == b'_';
    (!stray && !after_prefix).then(|| text.replace('_', ""))
}

impl Value {
    /// The integer as a value of the integer-like type `ty`; `None` where it is out of range.
    pub fn of_integer(v: i128, ty: Type) -> Option<Value> {
        match ty.integer_range() {
            Some((low, high)) if v < low || v > high => None,
            _ => Value::from_i128(v, ty.physical()),
        }
    }
}

impl Error {
    /// An error 22003: a value outside the range of `ty`.
    pub fn out_of_range(ty: &Type) -> Self {
        Self::new(SqlState::NumericValueOutOfRange, format!("{} out of range", ty.sql_name().to_lowercase()))
    }
    /// An error 22003 that shows the value that does not fit the type.
    pub fn value_out_of_range(value: impl std::fmt::Display, ty: Type) -> Error {
        Error::new(
            SqlState::NumericValueOutOfRange,
            format!("value \"{value}\" is out of range for type {}", ty.sql_name().to_lowercase()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_meet_in_the_narrowest_that_holds_both() {
        let meets = |a: Type, b: Type| (a.common_integer(b), b.common_integer(a));
        for (a, b, common) in [
            (Type::TinyInt, Type::UTinyInt, Type::SmallInt),
            (Type::SmallInt, Type::UTinyInt, Type::SmallInt),
            (Type::SmallInt, Type::USmallInt, Type::Integer),
            (Type::Integer, Type::UInteger, Type::BigInt),
            (Type::BigInt, Type::UBigInt, Type::HugeInt),
            (Type::UInteger, Type::UBigInt, Type::UBigInt),
            (Type::TinyInt, Type::HugeInt, Type::HugeInt),
            (Type::Integer, Type::BigInt, Type::BigInt),
        ] {
            assert_eq!(meets(a, b), (Some(common), Some(common)), "{a} and {b}");
        }
        assert_eq!(Type::Integer.common_integer(Type::Text), None);
    }

    #[test]
    fn ranges_are_those_of_the_names() {
        assert_eq!(Value::of_integer(127, Type::TinyInt), Some(Value::I16(127)));
        assert!(Value::of_integer(128, Type::TinyInt).is_none());
        assert!(Value::of_integer(-1, Type::UBigInt).is_none());
        assert_eq!(Value::of_integer(1 << 63, Type::UBigInt), Some(Value::I128(1 << 63)));
        assert!(Value::of_integer(1 << 64, Type::UBigInt).is_none());
        let digits =
            [Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt, Type::UBigInt, Type::HugeInt];
        assert_eq!(digits.map(|ty| ty.integer_digits()), [3, 5, 10, 19, 20, 38].map(Some));
    }
}
