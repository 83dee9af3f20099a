//! Results: rows for Python, a C stream for Arrow, a cursor for DB-API.

use std::ffi::CString;

use arrow::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use engine::ResultSet;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use vector::arrow::{arrow_schema, to_record_batch};

use crate::convert::to_python;
use crate::{Connection, raise};

/// The rows of a finished query.
#[pyclass(module = "quickstep", name = "Result", frozen)]
pub struct Rows {
    result: ResultSet,
}

impl Rows {
    pub fn new(result: ResultSet) -> Self {
        Rows { result }
    }
}

/// `schema` as Python tuples of DB-API's `description`.
fn description<'py>(py: Python<'py>, result: &ResultSet) -> PyResult<Bound<'py, PyList>> {
    let columns = PyList::empty(py);
    for field in result.schema().fields() {
        let none = py.None();
        columns.append((
            field.name.as_str(),
            field.ty.sql_name(),
            none.clone_ref(py),
            none.clone_ref(py),
            none.clone_ref(py),
            none,
            field.nullable,
        ))?;
    }
    Ok(columns)
}

fn row<'py>(
    py: Python<'py>,
    result: &ResultSet,
    batch: &engine::Batch,
    at: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let values = batch
        .columns
        .iter()
        .zip(result.schema().fields())
        .map(|(column, field)| to_python(py, &column.value(at), field.ty))
        .collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, values)
}

fn all_rows<'py>(py: Python<'py>, result: &ResultSet) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for batch in result.batches() {
        for at in 0..batch.rows {
            rows.append(row(py, result, batch, at)?)?;
        }
    }
    Ok(rows)
}

fn stream<'py>(py: Python<'py>, result: &ResultSet) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = arrow_schema(result.schema());
    let batches: Vec<RecordBatch> = result
        .batches()
        .iter()
        .map(|b| to_record_batch(b, &schema))
        .collect::<engine::Result<_>>()
        .map_err(|e| raise(py, &e, ""))?;
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new(py, stream, Some(CString::from(c"arrow_array_stream")))
}

#[pymethods]
impl Rows {
    /// The rows as a pyarrow Table.
    fn arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = slf
            .py()
            .import("pyarrow")
            .map_err(|_| crate::Error::new_err("arrow() needs the package pyarrow: pip install pyarrow"))?;
        pyarrow.call_method1("table", (slf,))
    }

    /// The rows as a list of tuples.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        all_rows(py, &self.result)
    }

    /// The first row, or None.
    fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match self.result.batches().iter().find(|b| b.rows > 0) {
            Some(batch) => Ok(Some(row(py, &self.result, batch, 0)?)),
            None => Ok(None),
        }
    }

    /// At most `count` rows from `start` on, as a list of tuples.
    fn fetchslice<'py>(
        &self,
        py: Python<'py>,
        mut start: usize,
        count: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for batch in self.result.batches() {
            let from = start.min(batch.rows);
            start -= from;
            for at in from..batch.rows {
                if rows.len() == count {
                    return Ok(rows);
                }
                rows.append(row(py, &self.result, batch, at)?)?;
            }
        }
        Ok(rows)
    }

    /// What was done, in the words of the command line: `SELECT 5`, `INSERT 0 3`.
    #[getter]
    fn tag(&self) -> &str {
        self.result.tag()
    }

    /// Whether the statement returned rows, none of them perhaps.
    #[getter]
    fn has_rows(&self) -> bool {
        self.result.has_rows()
    }

    /// DB-API's description of the columns.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        description(py, &self.result)
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.result.schema().fields().iter().map(|f| f.name.clone()).collect()
    }

    /// SQL types of the columns.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.result.schema().fields().iter().map(|f| f.ty.sql_name()).collect()
    }

    fn __len__(&self) -> usize {
        self.result.rows()
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.result.schema().fields().iter().map(|f| f.name.as_str()).collect();
        format!("<quickstep.Result {} rows of ({})>", self.result.rows(), names.join(", "))
    }

    /// Arrow's C stream interface: no copy is made of the columns.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A requested schema is a wish; consumers cast for themselves when it is not met.
        let _ = requested_schema;
        stream(py, &self.result)
    }
}

/// A DB-API cursor: one result at a time, read row by row.
#[pyclass(module = "quickstep")]
pub struct Cursor {
    connection: Py<Connection>,
    result: Option<ResultSet>,
    /// Batch and row that come next.
    next: (usize, usize),
    #[pyo3(get, set)]
    arraysize: usize,
}

impl Cursor {
    pub fn new(connection: Py<Connection>) -> Self {
        Cursor { connection, result: None, next: (0, 0), arraysize: 1 }
    }
    pub fn with_result(connection: Py<Connection>, result: ResultSet) -> Self {
        Cursor { result: Some(result), ..Cursor::new(connection) }
    }
    fn result(&self) -> PyResult<&ResultSet> {
        self.result.as_ref().ok_or_else(|| crate::Error::new_err("no statement has been executed"))
    }
    fn take_row<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (mut at, mut position) = self.next;
        let result = self.result()?;
        while let Some(batch) = result.batches().get(at) {
            if position < batch.rows {
                let found = row(py, result, batch, position)?;
                self.next = (at, position + 1);
                return Ok(Some(found));
            }
            (at, position) = (at + 1, 0);
        }
        self.next = (at, 0);
        Ok(None)
    }
}

#[pymethods]
impl Cursor {
    fn execute<'py>(
        mut slf: PyRefMut<'py, Self>,
        py: Python<'py>,
        query: &str,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let mut results = slf.connection.get().run(py, query)?;
        slf.result = Some(results.pop().unwrap_or_else(|| ResultSet::done("")));
        slf.next = (0, 0);
        Ok(slf)
    }

    fn fetchone<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.take_row(py)
    }

    #[pyo3(signature = (size=None))]
    fn fetchmany<'py>(&mut self, py: Python<'py>, size: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for _ in 0..size.unwrap_or(self.arraysize) {
            match self.take_row(py)? {
                Some(row) => rows.append(row)?,
                None => break,
            }
        }
        Ok(rows)
    }

    fn fetchall<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        while let Some(row) = self.take_row(py)? {
            rows.append(row)?;
        }
        Ok(rows)
    }

    /// The whole result as a pyarrow Table.
    fn arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Rows::arrow(Bound::new(py, Rows::new(self.result()?.clone()))?)
    }

    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        match &self.result {
            Some(result) if result.has_rows() => Ok(Some(description(py, result)?)),
            _ => Ok(None),
        }
    }

    /// Rows of the result, or rows that the statement inserted.
    #[getter]
    fn rowcount(&self) -> i64 {
        match &self.result {
            None => -1,
            Some(result) => result.tag().rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(-1),
        }
    }

    fn close(&mut self) {
        self.result = None;
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.take_row(py)
    }
}
