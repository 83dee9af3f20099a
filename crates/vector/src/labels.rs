//! Vectors of an enum as texts and as Arrow's dictionaries: codes over the labels, which are made once per type.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray, new_null_array};
use arrow_schema::DataType;
use types::{Type, Value};

use crate::{Data, Vector, VectorBuilder};

/// A type's labels in both forms.
struct Labels {
    texts: Arc<Vector>,
    array: ArrayRef,
}

/// Each type's labels are made once, so that all batches share one dictionary.
fn labels_of(ty: Type) -> Option<Arc<Labels>> {
    static KNOWN: OnceLock<RwLock<HashMap<Type, Arc<Labels>>>> = OnceLock::new();
    let known = KNOWN.get_or_init(RwLock::default);
    if let Some(found) = known.read().unwrap_or_else(PoisonError::into_inner).get(&ty) {
        return Some(found.clone());
    }
    let labels = ty.labels().filter(|labels| !labels.is_empty())?;
    let mut texts = VectorBuilder::new(Type::Text, labels.len());
    labels.iter().for_each(|label| texts.push_bytes(label.as_bytes()));
    let array = Arc::new(StringArray::from_iter_values(labels.iter()));
    let made = Arc::new(Labels { texts: Arc::new(texts.finish()), array });
    known.write().unwrap_or_else(PoisonError::into_inner).insert(ty, made.clone());
    Some(made)
}

/// The place of a label. NULL rows may hold any number; they get 0.
fn place(code: i32, labels: usize) -> usize {
    usize::try_from(code).ok().filter(|at| *at < labels).unwrap_or(0)
}

/// A vector of an enum as TEXT: a dictionary over the type's labels, or NULLs for a type without labels.
pub fn as_text(vector: &Vector) -> Vector {
    let flat = vector.flatten();
    match (labels_of(vector.ty()), flat.data()) {
        (Some(labels), Data::I32(codes)) => {
            let count = labels.texts.len();
            let codes: Vec<u32> = codes.iter().map(|code| place(*code, count) as u32).collect();
            let data = Data::Dictionary { codes: codes.into(), values: labels.texts.clone() };
            Vector::new(Type::Text, data, flat.validity().cloned())
        }
        // A type without a label has NULLs only.
        _ => Vector::constant(Type::Text, Value::Null, vector.len()),
    }
}

pub(crate) fn arrow_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// A flat vector of an enum as Arrow's dictionary, whose values are all labels in their order.
pub(crate) fn to_array(vector: &Vector) -> ArrayRef {
    let made = labels_of(vector.ty()).and_then(|labels| {
        let Data::I32(codes) = vector.data() else { return None };
        let count = labels.texts.len();
        let keys: Vec<i32> = codes.iter().map(|code| place(*code, count) as i32).collect();
        let keys = Int32Array::new(keys.into(), vector.validity().cloned());
        DictionaryArray::<Int32Type>::try_new(keys, labels.array.clone()).ok()
    });
    match made {
        Some(array) => Arc::new(array),
        None => new_null_array(&arrow_type(), vector.len()),
    }
}
