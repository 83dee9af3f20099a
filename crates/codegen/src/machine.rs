//! Machine code: made by Cranelift, held in memory that is writable first and executable then, never both, and given
//! back when the last user is gone.
//!
//! Code is called through `Code::call`, which checks how much it is given against what the code was made for; that the
//! addresses are right is its one caller's (`run`) to keep. Beside that caller, all `unsafe` of the crate stands here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;

use cranelift_codegen::ir::{AbiParam, types as ct};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};
use memory::{Budget, Reservation};
use types::{Error, Result, SqlState};

use crate::emit::{OutputLayout, Parts, routine};

/// Pages that memory for code is taken in.
const PAGE_BYTES: u64 = 4096;

/// A column's addresses, as `emit::rows` draws them.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub values: *const u8,
    pub validity: *const u8,
}

type Routine = unsafe extern "C" fn(*const Entry, *const Entry, u64, *mut u32) -> i64;

/// A compiled function, with the memory that it lies in.
pub(crate) struct Code {
    routine: Routine,
    /// Taken out when the code is given back. The lock makes the module shareable; nobody waits for it.
    module: Mutex<Option<JITModule>>,
    pub outputs: Vec<OutputLayout>,
    /// It looks at the validity of its columns.
    pub nullable: bool,
    /// How many columns it reads.
    columns: usize,
    /// It writes a selection.
    selects: bool,
    /// Bytes of instructions.
    pub bytes: usize,
    pub nanoseconds: u64,
    /// The budget's share for as long as the code is there.
    _room: Reservation,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Code({} bytes)", self.bytes)
    }
}

fn failed(what: impl std::fmt::Display) -> Error {
    Error::internal(format!("no code: {what}"))
}

impl Code {
    /// Compiles the parts. Fails when the budget has no room, or where the compiler does: its panics are errors too.
    pub(crate) fn compile(parts: &Parts<'_>, budget: &Budget) -> Result<Code> {
        match catch_unwind(AssertUnwindSafe(|| compile(parts, budget))) {
            Ok(result) => result,
            Err(_) => Err(failed("the compiler panicked")),
        }
    }

    /// Runs the code over `rows` rows, which wrote `results` and the selection; the rows that passed, or `None` where
    /// the code does not vouch for the batch.
    ///
    /// # Safety
    /// Every address of `columns` has to be one of values for all rows, of the types that the code was made for, and
    /// bits need eight readable bytes behind them; every address of `results` has room for a row more than `rows`, and
    /// so has `selection`.
    pub(crate) unsafe fn call(
        &self,
        columns: &[Entry],
        results: &mut [Entry],
        rows: usize,
        selection: &mut [u32],
    ) -> Option<usize> {
        assert!(columns.len() == self.columns && results.len() == self.outputs.len(), "other columns");
        assert!(!self.selects || selection.len() > rows, "a selection without room");
        // SAFETY: the code reads and writes what the caller vouches for, of as many columns and results as was just
        // checked; it lives as long as `self`.
        let passed = unsafe {
            (self.routine)(columns.as_ptr(), results.as_ptr(), rows as u64, selection.as_mut_ptr())
        };
        usize::try_from(passed).ok()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: the function's address is known to this value alone, which is being dropped: no call runs and
            // none will.
            unsafe { module.free_memory() };
        }
    }
}

fn compile(parts: &Parts<'_>, budget: &Budget) -> Result<Code> {
    let started = Instant::now();
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("enable_verifier", verify),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(failed)?;
    }
    let isa =
        cranelift_native::builder().map_err(failed)?.finish(settings::Flags::new(flags)).map_err(failed)?;
    let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
    let mut context = module.make_context();
    for _ in 0..4 {
        context.func.signature.params.push(AbiParam::new(ct::I64));
    }
    context.func.signature.returns.push(AbiParam::new(ct::I64));
    let mut building = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut building);
    let target = module.target_config();
    let outputs = routine(builder, parts, target)?;
    let function = module.declare_anonymous_function(&context.func.signature).map_err(failed)?;
    module.define_function(function, &mut context).map_err(failed)?;
    let bytes = context.compiled_code().map_or(0, |code| code.code_info().total_size as usize);
    let room = budget
        .reserve((bytes as u64).next_multiple_of(PAGE_BYTES))
        .map_err(|refused| Error::new(SqlState::OutOfMemory, refused.to_string()))?;
    module.finalize_definitions().map_err(failed)?;
    let address = module.get_finalized_function(function);
    // SAFETY: the address is that of the function just finished, whose signature has four 64-bit parameters and one
    // 64-bit result in the platform's convention, as `Routine` has; it stays valid until the module is freed, which
    // `Drop` does.
    let routine = unsafe { std::mem::transmute::<*const u8, Routine>(address) };
    let slots = |piece: &Option<(&expr::graph::Graph, &crate::shape::Piece)>| {
        (*piece).map_or(0, |(_, piece)| piece.slots.len())
    };
    Ok(Code {
        routine,
        module: Mutex::new(Some(module)),
        outputs,
        nullable: parts.nullable,
        columns: slots(&parts.condition) + slots(&parts.values),
        selects: parts.condition.is_some(),
        bytes,
        nanoseconds: started.elapsed().as_nanos() as u64,
        _room: room,
    })
}
