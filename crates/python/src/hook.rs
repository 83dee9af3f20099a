//! What happens on the calling thread while the engine works: signals are looked at, and progress is told.
//!
//! An exception that comes up here (KeyboardInterrupt, or one of the program's progress function) ends the statement;
//! it is kept, and raised in place of the cancellation that it caused.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{OperatorProgress, ProgressWatch, Session, SqlState};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::functions;
use crate::interpreter::{Error, is_python_thread, raise};

/// Name, depth, state, units done and in all, and rows of a part of the plan.
type Told = (String, usize, &'static str, u64, u64, u64);

fn told_of(operator: OperatorProgress) -> Told {
    let OperatorProgress { name, depth, state, units_done, units_total, rows, .. } = operator;
    (name, depth, state, units_done, units_total, rows)
}

/// How long a statement runs before anything is told, and the time between two calls.
const SILENT: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);

/// The hook of one session: the program's progress function, and the exception that ended a statement.
#[derive(Default)]
pub struct Hook {
    state: Mutex<State>,
    /// The program's function runs: it may not use the connection whose statement it watches.
    calling: AtomicBool,
}

/// The progress function, the exception to raise, and the times of the running statement.
#[derive(Default)]
struct State {
    callback: Option<Py<PyAny>>,
    error: Option<PyErr>,
    began: Option<Instant>,
    told: Option<Instant>,
}

impl Hook {
    /// The hook of a session, which calls it from now on.
    pub fn install(session: &Session) -> Arc<Hook> {
        let hook = Arc::new(Hook::default());
        let (watch, theirs) = (session.progress_watch(), hook.clone());
        session.set_tick(move || {
            if !is_python_thread() {
                return ControlFlow::Continue(());
            }
            // Without an interpreter there is nothing to interrupt.
            Python::try_attach(|py| theirs.tick(py, &watch)).unwrap_or(ControlFlow::Continue(()))
        });
        hook
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Never held while Python code runs, so that it cannot wait for the interpreter.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `callback(fraction, rows, done, total, seconds, operators)` is called while statements run.
    pub fn set_callback(&self, callback: Option<Py<PyAny>>) {
        let before = std::mem::replace(&mut self.state().callback, callback);
        drop(before);
    }

    /// A statement begins.
    pub fn begin(&self) -> PyResult<()> {
        if self.calling.load(Ordering::Relaxed) {
            return Err(Error::new_err(
                "a progress function cannot use the connection that it watches; take another session()",
            ));
        }
        let mut state = self.state();
        let before = state.error.take();
        state.began = Some(Instant::now());
        state.told = None;
        drop(state);
        drop(before);
        Ok(())
    }

    /// The engine's error, or the exception that caused it.
    pub fn raise(&self, py: Python<'_>, error: &engine::Error, text: &str) -> PyErr {
        if error.state() == SqlState::QueryCanceled
            && let Some(cause) = self.state().error.take()
        {
            return cause;
        }
        let Some(cause) = functions::cause_of(error) else { return raise(py, error, text) };
        // A function that was interrupted says so itself.
        if cause.is_instance_of::<PyKeyboardInterrupt>(py) {
            return cause;
        }
        let raised = raise(py, error, text);
        raised.set_cause(py, Some(cause));
        raised
    }

    /// For errors that leave through foreign code, which knows no Python exceptions: an interrupt is made pending
    /// again.
    pub fn put_back(&self) {
        let Some(cause) = self.state().error.take() else { return };
        Python::try_attach(|py| {
            if cause.is_instance_of::<PyKeyboardInterrupt>(py) {
                // SAFETY: the interpreter's lock is held; SIGINT is set pending, as its handler would.
                unsafe { pyo3::ffi::PyErr_SetInterrupt() };
            }
        });
    }

    fn tick(&self, py: Python<'_>, watch: &ProgressWatch) -> ControlFlow<()> {
        let outcome = py.check_signals().and_then(|()| self.tell(py, watch));
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                let before = self.state().error.replace(error);
                drop(before);
                ControlFlow::Break(())
            }
        }
    }

    fn tell(&self, py: Python<'_>, watch: &ProgressWatch) -> PyResult<()> {
        let (callback, seconds) = {
            let mut state = self.state();
            let (Some(callback), Some(began)) = (&state.callback, state.began) else { return Ok(()) };
            let now = Instant::now();
            let due = state.told.map_or(began + SILENT, |told| told + EVERY);
            if now < due {
                return Ok(());
            }
            let callback = callback.clone_ref(py);
            state.told = Some(now);
            (callback, (now - began).as_secs_f64())
        };
        let Some(progress) = watch.progress() else { return Ok(()) };
        let operators: Vec<_> = watch.tree().into_iter().map(told_of).collect();
        let told = (
            progress.fraction(),
            progress.rows,
            progress.units_done,
            progress.units_total,
            seconds,
            operators,
        );
        self.calling.store(true, Ordering::Relaxed);
        let outcome = callback.call1(py, told);
        self.calling.store(false, Ordering::Relaxed);
        outcome.map(drop)
    }
}
