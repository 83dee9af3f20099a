//! What this package needs of the interpreter: its lock let go of while the engine works, and the engine's errors as
//! exceptions.

use engine::SqlState;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    quickstep,
    Error,
    PyException,
    "An error of a statement. `sqlstate`, `line` and `column` say more."
);

/// The engine's error as a Python exception; `text` is the statement, for the caret.
pub(crate) fn raise(py: Python<'_>, error: &engine::Error, text: &str) -> PyErr {
    if error.state() == SqlState::QueryCanceled {
        // A signal that is pending explains the cancellation better than we can.
        if let Err(pending) = py.check_signals() {
            return pending;
        }
    }
    let raised = Error::new_err(error.render(&engine::masked(text)));
    let value = raised.value(py);
    let position = error.position();
    // Attributes are a convenience: an exception without them is still the right exception.
    let _ = value.setattr("sqlstate", error.state().code());
    let _ = value.setattr("line", position.map(|p| p.line));
    let _ = value.setattr("column", position.map(|p| p.column));
    let _ = value.setattr("hint", error.hint());
    raised
}

/// Whether this thread is one that runs Python code. Others must not wait for the interpreter's lock: its holder may
/// wait for them.
pub(crate) fn is_python_thread() -> bool {
    // SAFETY: it looks at a variable of this thread, and may be called from any.
    unsafe { !pyo3::ffi::PyGILState_GetThisThreadState().is_null() }
}

/// Calls `work` without the interpreter's lock, whether or not this thread has it: foreign code calls us either way.
///
/// pyo3 remembers for each thread whether it has the lock. Python code that pyo3 has called may have let go of it
/// since, so that what pyo3 remembers is wrong: the lock is taken here, so that it is right, and given up through
/// pyo3.
pub(crate) fn unlocked<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    // SAFETY: it looks at the interpreter's state, and may be called from any thread.
    if !is_python_thread() || unsafe { pyo3::ffi::Py_IsInitialized() } == 0 {
        return work();
    }
    struct Held(pyo3::ffi::PyGILState_STATE);
    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: the state is the one that `PyGILState_Ensure` gave on this thread, and is given back once.
            unsafe { pyo3::ffi::PyGILState_Release(self.0) }
        }
    }
    // SAFETY: the interpreter runs, and this thread is one of its threads.
    let _held = Held(unsafe { pyo3::ffi::PyGILState_Ensure() });
    let mut work = Some(work);
    match (Python::try_attach(|py| work.take().map(|work| py.detach(work))).flatten(), work) {
        (Some(done), _) => done,
        // An interpreter that is on its way out.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("the work was done"),
    }
}
