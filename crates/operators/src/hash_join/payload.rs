//! Build columns in the join table itself, where they fit its entries: `hash::Payload` packs integers; strings under
//! small dictionaries go as codes of one merged dictionary.

use std::sync::Arc;

use hash::{KeyBounds, Payload, is_integer_key};
use types::{Physical, Type};
use vector::{Data, MergedDictionary, Vector};

use super::state::BuildBatch;

/// Columns of more than this many never fit.
const COLUMNS_MAX: usize = 8;

/// How the kept columns of a build side are packed into the table's entries of 32 bits.
pub(super) struct TablePayload {
    layout: Payload,
    columns: Vec<Column>,
}

struct Column {
    ty: Type,
    /// The merged dictionary of a column of strings; `None` for integers.
    dictionary: Option<MergedDictionary>,
}

/// Whether columns of these types may fit.
pub(super) fn may_fit(types: &[Type]) -> bool {
    (1..=COLUMNS_MAX).contains(&types.len())
        && types.iter().all(|ty| is_integer_key(*ty) || ty.physical() == Physical::Bytes)
}

impl TablePayload {
    /// The payload for these batches, whose integer columns are flat and have their bounds. `None` when they do not
    /// fit.
    pub fn of(batches: &[BuildBatch], types: &[Type]) -> Option<TablePayload> {
        let mut bounds = vec![KeyBounds::EMPTY; types.len()];
        for batch in batches {
            for (all, own) in bounds.iter_mut().zip(&batch.column_bounds) {
                *all = all.then(*own);
            }
        }
        // Numbers first: dictionaries are worth merging only if those fit.
        let numbers: Vec<KeyBounds> = (bounds.iter().zip(types))
            .filter(|(_, ty)| is_integer_key(**ty))
            .map(|(bounds, _)| *bounds)
            .collect();
        Payload::new(&numbers)?;
        let mut columns = Vec::with_capacity(types.len());
        for (at, (ty, bounds)) in types.iter().zip(&mut bounds).enumerate() {
            let dictionary = if is_integer_key(*ty) {
                None
            } else {
                let parts: Vec<&Vector> = batches.iter().map(|b| &b.columns[at]).collect();
                let merged = MergedDictionary::of(&parts)?;
                let has_null = parts.iter().any(|part| part.has_nulls());
                let max = merged.values.len() as i64 - 1;
                *bounds = KeyBounds { min: 0, max, has_null, ascending: false, sorted: false };
                Some(merged)
            };
            columns.push(Column { ty: *ty, dictionary });
        }
        Some(TablePayload { layout: Payload::new(&bounds)?, columns })
    }

    /// The number of kept columns, all of which are in the entries.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The table's entries of a batch's rows.
    pub fn entries(&self, batch: &BuildBatch) -> Vec<u32> {
        let columns: Vec<Vector> = (self.columns.iter().zip(&batch.columns))
            .map(|(column, vector)| match &column.dictionary {
                None => vector.clone(),
                Some(merged) => {
                    let mut codes = Vec::with_capacity(vector.len());
                    merged.append_codes(vector, &mut codes);
                    let codes: Vec<i32> = codes.into_iter().map(|code| code as i32).collect();
                    Vector::new(Type::Integer, Data::I32(codes.into()), vector.validity().cloned())
                }
            })
            .collect();
        self.layout.entries(&columns, batch.rows)
    }

    /// A kept column in these payloads. `nullable`: where `NO_ROW` stands for one, NULL.
    pub fn gather(&self, kept: usize, payloads: &[u32], nullable: bool) -> Vector {
        let column = &self.columns[kept];
        match &column.dictionary {
            None => self.layout.column(kept, column.ty, payloads, nullable),
            Some(merged) => {
                let (codes, validity) = self.layout.dictionary_codes(kept, payloads, nullable);
                Vector::dictionary(codes.into(), Arc::clone(&merged.values), validity)
            }
        }
    }
}
