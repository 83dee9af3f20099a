//! Values as bytes: what crosses from one process to another. Reading checks; nothing that comes from elsewhere can make it
//! panic or take more memory than the bytes it was given.

use crate::error::GlobalError;

/// A value that can be written as bytes, and read from them.
pub trait Plain: Sized + Send + 'static {
    /// Appends its bytes.
    fn write(&self, to: &mut Vec<u8>);
    /// Takes it off the front of `from`.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

/// The value that all of the bytes are.
pub(crate) fn whole<T: Plain>(mut bytes: &[u8], what: &'static str) -> Result<T, GlobalError> {
    match T::read(&mut bytes) {
        Some(value) if bytes.is_empty() => Ok(value),
        _ => Err(GlobalError::Malformed { what }),
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Plain for $ty {
            #[inline]
            fn write(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn read(from: &mut &[u8]) -> Option<Self> {
                let (value, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(<$ty>::from_le_bytes(*value))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Plain),*> Plain for ($($name,)*) {
            #[allow(non_snake_case, unused_variables)]
            fn write(&self, to: &mut Vec<u8>) {
                let ($($name,)*) = self;
                $($name.write(to);)*
            }
            #[allow(unused_variables)]
            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(($($name::read(from)?,)*))
            }
        }
    };
}
tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);

impl Plain for bool {
    fn write(&self, to: &mut Vec<u8>) {
        u8::from(*self).write(to);
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        u8::read(from).map(|byte| byte != 0)
    }
}

impl<T: Plain> Plain for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        (self.len() as u32).write(to);
        self.iter().for_each(|value| value.write(to));
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        let count = u32::read(from)? as usize;
        // A count may promise more than the bytes hold: room is made for what can be there.
        let mut values = Vec::with_capacity(count.min(from.len()));
        for _ in 0..count {
            let before = from.len();
            values.push(T::read(from)?);
            if from.len() == before && count > 1 << 16 {
                return None;
            }
        }
        Some(values)
    }
}

impl Plain for String {
    fn write(&self, to: &mut Vec<u8>) {
        (self.len() as u32).write(to);
        to.extend_from_slice(self.as_bytes());
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        String::from_utf8(Vec::<u8>::read(from)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_nonsense_does_not_panic() {
        let value = (7_u64, vec![(1_u8, -2_i32)], "ä".to_owned(), (true, 1.5_f64));
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        assert_eq!(whole::<(u64, Vec<(u8, i32)>, String, (bool, f64))>(&bytes, "value").unwrap(), value);
        for end in 0..bytes.len() {
            assert!(whole::<(u64, Vec<(u8, i32)>, String, (bool, f64))>(&bytes[..end], "value").is_err());
        }
        let mut random = random::Random::new(3);
        for _ in 0..10_000 {
            let noise: Vec<u8> = (0..random.below(40_usize)).map(|_| random.bits() as u8).collect();
            let _ = whole::<(u16, Vec<Vec<u32>>, String)>(&noise, "noise");
            let _ = whole::<Vec<()>>(&noise, "noise");
        }
    }
}
