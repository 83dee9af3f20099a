//! Values for the parameters of prepared statements, from Arrow's batches: a row a run.

use arrow_array::{RecordBatch, UInt32Array};
use engine::{Error, Result, Session, SqlState, Type, Value};
use types::zone;
use vector::arrow::{from_array, type_from_arrow};

use super::handles::Prepared;

fn unknown(column: usize, shown: &arrow_schema::DataType) -> Error {
    Error::unsupported(format!("parameter ${}: there is no type for Arrow's {shown}", column + 1))
}

/// The values of a row, each of the type that the client has given it. Never those of all rows at once: a batch of
/// dictionaries or views may be thousands of times larger when it is unpacked.
pub fn of_row(batch: &RecordBatch, row: usize) -> Result<Vec<(Value, Type)>> {
    let values = batch.columns().iter().enumerate().map(|(at, column)| {
        let ty = type_from_arrow(column.data_type()).ok_or_else(|| unknown(at, column.data_type()))?;
        // Of what the row does not name nothing is unpacked.
        let row = arrow_select::take::take(column, &UInt32Array::from(vec![row as u32]), None)
            .map_err(|error| Error::new(SqlState::InvalidParameterValue, error.to_string()))?;
        Ok((from_array(&row, ty)?.value(0), ty))
    });
    values.collect()
}

/// Values of the runs of a prepared statement that are still to come, a row each.
pub struct Runs {
    batches: std::vec::IntoIter<RecordBatch>,
    batch: Option<RecordBatch>,
    row: usize,
    /// There are no parameters: one run without values.
    bare: bool,
}

impl Runs {
    /// None.
    pub fn none() -> Runs {
        Runs { batches: vec![].into_iter(), batch: None, row: 0, bare: false }
    }

    /// All of a prepared statement.
    pub fn of(prepared: &Prepared) -> Result<Runs> {
        let batches = prepared.bound();
        check(prepared, batches.first())?;
        let bare = prepared.parameters.is_empty();
        let batches = if bare { vec![] } else { batches };
        Ok(Runs { batches: batches.into_iter(), batch: None, row: 0, bare })
    }

    /// Whether there is another one.
    pub fn is_empty(&self) -> bool {
        let left = self.batch.as_ref().is_some_and(|batch| self.row < batch.num_rows());
        !self.bare && !left && self.batches.as_slice().iter().all(|batch| batch.num_rows() == 0)
    }

    /// The values of the next run.
    pub fn next(&mut self, session: &Session) -> Result<Option<Vec<(Value, Type)>>> {
        if std::mem::take(&mut self.bare) {
            return Ok(Some(vec![]));
        }
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.row < batch.num_rows()) {
                self.row += 1;
                return zone::within(session.time_zone(), || of_row(batch, self.row - 1)).map(Some);
            }
            let Some(batch) = self.batches.next() else { return Ok(None) };
            (self.batch, self.row) = (Some(batch), 0);
        }
    }
}

/// Fails where a batch has not a column for each parameter.
pub fn check(prepared: &Prepared, batch: Option<&RecordBatch>) -> Result<()> {
    let (wanted, given) = (prepared.parameters.len(), batch.map_or(0, RecordBatch::num_columns));
    if wanted == given || (batch.is_some() && wanted == 0) {
        return Ok(());
    }
    let message = format!("the statement takes {wanted} parameters, and {given} are given");
    Err(Error::new(SqlState::ProtocolViolation, message)
        .with_hint("bind a column for each parameter, in their order"))
}

impl Prepared {
    /// The batches that are bound.
    pub fn bound(&self) -> Vec<RecordBatch> {
        self.values.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The types of the values that are bound; of the parameters, where there are none.
    pub fn bound_types(&self) -> Result<Vec<Type>> {
        let batches = self.bound();
        let Some(batch) = batches.first() else { return Ok(self.parameters.clone()) };
        check(self, Some(batch))?;
        let fields = batch.schema();
        let given = fields.fields().iter().enumerate();
        let given = given.map(|(at, field)| {
            type_from_arrow(field.data_type()).ok_or_else(|| unknown(at, field.data_type()))
        });
        let given = given.collect::<Result<Vec<Type>>>()?;
        // NULL without a type has the one that its place asks for.
        let of = |(given, wanted): (Type, &Type)| if given == Type::Null { *wanted } else { given };
        Ok(given.into_iter().zip(&self.parameters).map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{DictionaryArray, Int8Array, Int64Array, StringArray};

    use super::*;

    /// All rows unpacked would be a hundred gigabytes.
    #[test]
    fn rows_of_a_dictionary_are_unpacked_one_at_a_time() {
        const ROWS: usize = 100_000;
        let values = StringArray::from(vec!["x".repeat(1 << 20), "y".into()]);
        let keys = Int8Array::from_iter_values((0..ROWS).map(|row| (row == ROWS - 1) as i8));
        let texts = DictionaryArray::<Int8Type>::new(keys, Arc::new(values));
        let numbers = Int64Array::from_iter((0..ROWS as i64).map(|row| (row % 2 == 0).then_some(row)));
        let batch = RecordBatch::try_from_iter([("t", Arc::new(texts) as _), ("n", Arc::new(numbers) as _)]);
        let batch = batch.unwrap();
        let first = of_row(&batch, 0).unwrap();
        assert_eq!(first[0].0.as_text().map(str::len), Some(1 << 20));
        assert_eq!(first[1], (Value::I64(0), Type::BigInt));
        let last = of_row(&batch, ROWS - 1).unwrap();
        assert_eq!((last[0].0.as_text(), &last[1].0), (Some("y"), &Value::Null));
    }
}
