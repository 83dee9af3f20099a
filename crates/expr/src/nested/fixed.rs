//! Lists whose elements all have one width, walked without asking for each element's type.
//!
//! ```text
//! 01 payload of W bytes | 02 | ... | 00
//! ```
//! `Fixed` gives what `encoding::elements` gives, and ends where that ends: at the end mark, or where the bytes are no list.
//! `by_width!` makes a loop for each width.

use types::nested::encoding::{self, NULL, VALUE};
use types::{Physical, Type, cast};

/// The elements of a list, each of `W` bytes.
pub(super) struct Fixed<'a, const W: usize>(pub &'a [u8]);

impl<'a, const W: usize> Iterator for Fixed<'a, W> {
    type Item = Option<&'a [u8; W]>;
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (mark, rest) = self.0.split_first()?;
        match *mark {
            VALUE => {
                let (payload, behind) = rest.split_first_chunk::<W>()?;
                self.0 = behind;
                Some(Some(payload))
            }
            NULL => {
                self.0 = rest;
                Some(None)
            }
            _ => None,
        }
    }
}

/// The width of a list's elements, where all have the same, which is not 0.
pub(super) fn width(list: Type) -> Option<usize> {
    let element = list.element().filter(|element| *element != Type::Null && !element.is_nested())?;
    (element.physical() != Physical::Bytes).then(|| element.physical().width())
}

/// `$fixed` with the constant `W` for the width of the list's elements, or `$other`.
macro_rules! by_width {
    ($list:expr, $fixed:expr, $other:expr $(,)?) => {
        match $crate::nested::fixed::width($list) {
            Some(1) => {
                const W: usize = 1;
                $fixed
            }
            Some(2) => {
                const W: usize = 2;
                $fixed
            }
            Some(4) => {
                const W: usize = 4;
                $fixed
            }
            Some(8) => {
                const W: usize = 8;
                $fixed
            }
            Some(16) => {
                const W: usize = 16;
                $fixed
            }
            _ => $other,
        }
    };
}
pub(super) use by_width;

/// Appends the floats of a list's elements that are not NULL; false where the elements are no numbers of a fixed width.
/// With `scaled`, those of decimals are divided by their unit.
pub(super) fn push_floats(list: Type, scaled: bool, bytes: &[u8], out: &mut Vec<f64>) -> bool {
    let element = list.element().unwrap_or(Type::Null);
    let scale = if scaled && element.is_decimal() { element.scale() } else { 0 };
    let exact = |value: i128| if scale == 0 { value as f64 } else { cast::decimal_to_f64(value, scale) };
    match element.physical() {
        _ if element == Type::Null || element.is_nested() => return false,
        Physical::I16 => out.extend(Fixed::<2>(bytes).flatten().map(|b| f64::from(integer_16(*b)))),
        Physical::I32 => out.extend(Fixed::<4>(bytes).flatten().map(|b| f64::from(integer_32(*b)))),
        Physical::I64 if scale == 0 => {
            out.extend(Fixed::<8>(bytes).flatten().map(|b| integer_64(*b) as f64));
        }
        Physical::I64 => out.extend(Fixed::<8>(bytes).flatten().map(|b| exact(integer_64(*b).into()))),
        Physical::I128 => out.extend(Fixed::<16>(bytes).flatten().map(|b| exact(integer_128(*b)))),
        Physical::F32 => {
            out.extend(Fixed::<4>(bytes).flatten().map(|b| f64::from(encoding::float_32(*b))));
        }
        Physical::F64 => out.extend(Fixed::<8>(bytes).flatten().map(|b| encoding::float_64(*b))),
        Physical::Bool | Physical::Bytes => return false,
    }
    true
}

/// Calls `of` with each integer of a list's elements that are not NULL; false where the elements are no integers.
#[inline]
pub(super) fn each_integer(list: Type, bytes: &[u8], mut of: impl FnMut(i128)) -> bool {
    let element = list.element().unwrap_or(Type::Null);
    match element.physical() {
        _ if element == Type::Null || element.is_nested() => return false,
        Physical::I16 => Fixed::<2>(bytes).flatten().for_each(|b| of(integer_16(*b).into())),
        Physical::I32 => Fixed::<4>(bytes).flatten().for_each(|b| of(integer_32(*b).into())),
        Physical::I64 => Fixed::<8>(bytes).flatten().for_each(|b| of(integer_64(*b).into())),
        Physical::I128 => Fixed::<16>(bytes).flatten().for_each(|b| of(integer_128(*b))),
        _ => return false,
    }
    true
}

fn integer_16(bytes: [u8; 2]) -> i16 {
    i16::from_be_bytes(bytes) ^ i16::MIN
}

fn integer_32(bytes: [u8; 4]) -> i32 {
    i32::from_be_bytes(bytes) ^ i32::MIN
}

fn integer_64(bytes: [u8; 8]) -> i64 {
    i64::from_be_bytes(bytes) ^ i64::MIN
}

fn integer_128(bytes: [u8; 16]) -> i128 {
    i128::from_be_bytes(bytes) ^ i128::MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;
    use types::nested::encoding::elements;

    #[test]
    fn elements_of_one_width_are_those_of_any() {
        for element in [Type::SmallInt, Type::Integer, Type::BigInt, Type::Real, Type::Double, Type::Boolean]
        {
            let list = Type::list(element).unwrap();
            for count in 0..6i16 {
                let values: Vec<Value> = (0..count)
                    .map(|n| match element {
                        _ if n % 3 == 1 => Value::Null,
                        Type::SmallInt => Value::I16(n - 3),
                        Type::Integer => Value::I32(i32::from(n) - 3),
                        Type::BigInt => Value::I64(i64::from(n) - 3),
                        Type::Real => Value::F32(f32::from(n) - 2.5),
                        Type::Double => Value::F64(f64::from(n) - 2.5),
                        _ => Value::Bool(n > 2),
                    })
                    .collect();
                let whole = encoding::list_of(&values, element);
                let whole = whole.as_bytes().unwrap();
                for end in 0..=whole.len() {
                    let bytes = &whole[..end];
                    let expected: Vec<Option<&[u8]>> = elements(list, bytes).collect();
                    let found: Vec<Option<&[u8]>> = by_width!(
                        list,
                        Fixed::<W>(bytes).map(|slot| slot.map(|payload| &payload[..])).collect(),
                        unreachable!()
                    );
                    assert_eq!(found, expected, "{element} {end}");
                    let number =
                        |v: Value| v.as_f64().or_else(|| v.as_i128().map(|v| v as f64)).unwrap_or(0.0);
                    let numbers =
                        || expected.iter().flatten().map(|p| number(encoding::value_of(p, element)));
                    let mut floats = Vec::new();
                    if push_floats(list, true, bytes, &mut floats) {
                        assert_eq!(floats, numbers().collect::<Vec<f64>>());
                    }
                    let mut integers = Vec::new();
                    if each_integer(list, bytes, |n| integers.push(n as f64)) {
                        assert_eq!(integers, numbers().collect::<Vec<f64>>());
                    }
                }
            }
        }
    }
}
