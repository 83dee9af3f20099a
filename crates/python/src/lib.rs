//! The quickstep Python package's compiled part.
//!
//! `connect` opens a database. `Connection.sql` runs a query to its end and gives a `Result`, `Connection.stream` gives
//! the rows while it runs; both hand them to Arrow without copies through the C stream interface. The interpreter's
//! lock is released while the engine works; the tick (`hook`) looks at signals meanwhile, so an interrupt ends a query
//! within a moment.

mod bulk;
mod connection;
mod convert;
mod functions;
mod hook;
mod interpreter;
mod result;
mod server;
mod shared;
mod stream;

use std::ffi::OsString;

use engine::Options;
use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

use connection::Connection;
use interpreter::{Error, raise};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

/// Opens a database. Without a path it lives in memory; a path is a directory, made where there is none. A database that
/// this process has open already is shared.
///
/// workers: threads that execute work orders; all cores when not given.
/// memory: bytes, or a text such as "8GB"; 80 % of the machine's when not given.
/// read_only: opens a database on disk as it is now and changes nothing.
#[pyfunction]
#[pyo3(signature = (path=None, workers=None, memory=None, read_only=false))]
fn connect(
    py: Python<'_>,
    path: Option<&str>,
    workers: Option<usize>,
    memory: Option<&Bound<'_, PyAny>>,
    read_only: bool,
) -> PyResult<Connection> {
    let memory_bytes = match memory {
        None => None,
        Some(value) => Some(match value.extract::<u64>() {
            Ok(bytes) => bytes,
            Err(_) => {
                let text: String = value.extract()?;
                engine::settings::parse_bytes(&text).ok_or_else(|| {
                    Error::new_err(format!("invalid memory \"{text}\": expected a size such as 8GB"))
                })?
            }
        }),
    };
    let options = Options { workers, memory_bytes, read_only, ..Options::default() };
    let opened = py.detach(|| shared::open(path, options));
    let (database, ticket) = opened.map_err(|e| raise(py, &e, ""))?;
    Ok(Connection::open(&database, ticket))
}

/// The command `quickstep` with these words, its name first; its exit status.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| cli::command(words))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Connection>()?;
    module.add_class::<result::Rows>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<server::LocalServer>()?;
    module.add_class::<functions::Exported>()?;
    module.add_class::<connection::Registered>()?;
    module.add_function(wrap_pyfunction!(functions::sql_type_of, module)?)?;
    module.add_function(wrap_pyfunction!(functions::in_function, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(connect, module)?)
}
