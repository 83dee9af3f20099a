//! Changing a vector's logical type without changing its values.

use types::{Physical, Type};

use crate::{Data, Vector};

impl Vector {
    /// The same values under `ty`: another name for the same physical form, or an exact integer or decimal of one
    /// scale held wider or narrower. `None` when a value does not fit or the types have nothing in common.
    #[must_use]
    pub fn retyped(self, ty: Type) -> Option<Vector> {
        if self.ty() == ty {
            return Some(self);
        }
        let (from, to) = (self.ty().physical(), ty.physical());
        if from == to {
            return Some(self.with_type(ty));
        }
        let flat = self.flatten();
        let validity = flat.validity().cloned();
        let data = match (flat.data(), to) {
            (Data::I64(v), Physical::I128) => {
                Data::I128(v.iter().map(|x| i128::from(*x)).collect::<Vec<_>>().into())
            }
            (Data::I32(v), Physical::I64) => {
                Data::I64(v.iter().map(|x| i64::from(*x)).collect::<Vec<_>>().into())
            }
            (Data::I128(v), Physical::I64) => {
                let mut narrow = Vec::with_capacity(v.len());
                for (row, x) in v.iter().enumerate() {
                    match i64::try_from(*x) {
                        Ok(x) => narrow.push(x),
                        Err(_) if flat.is_null(row) => narrow.push(0),
                        Err(_) => return None,
                    }
                }
                Data::I64(narrow.into())
            }
            _ if flat.ty() == Type::Null => {
                return Some(Vector::constant(ty, types::Value::Null, flat.len()));
            }
            _ => return None,
        };
        Some(Vector::new(ty, data, validity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    #[test]
    fn widens_and_narrows() {
        let wide = Type::Decimal { precision: 38, scale: 2 };
        let narrow = Type::Decimal { precision: 12, scale: 2 };
        let v = Vector::from_values(narrow, &[Value::I64(5), Value::Null]);
        let w = v.retyped(wide).unwrap();
        assert_eq!((w.value(0), w.value(1)), (Value::I128(5), Value::Null));
        assert_eq!(w.retyped(narrow).unwrap().value(0), Value::I64(5));
        let big = Vector::from_values(wide, &[Value::I128(1 << 100)]);
        assert!(big.retyped(narrow).is_none());
    }
}
