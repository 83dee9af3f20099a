//! Plans as another process would run them, for tests: every plan is encoded, decoded and run as it was read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::encoding::{self, Document};
use plan::{Expr, ExprKind, ExternalFunction, FunctionBinder, LogicalQuery, PhysicalPlan, Program};
use types::{Error, Result};

use crate::{Database, Session};

impl Database {
    /// Runs all plans as they come out of their encoding, and fails where that differs. For tests.
    #[doc(hidden)]
    pub fn run_encoded_plans(&self) {
        self.shared.encoded_plans.store(true, Relaxed);
    }
}

impl Session {
    /// The plan itself, or in tests what another process would read of it.
    pub(crate) fn as_read(&self, plan: &Arc<PhysicalPlan>) -> Result<Arc<PhysicalPlan>> {
        if !self.database.shared.encoded_plans.load(Relaxed) {
            return Ok(plan.clone());
        }
        let bytes = encoding::encode(&**plan)?;
        let mut read: PhysicalPlan = encoding::decode(&bytes)?;
        let known = functions(&|see| plan.visit_expressions(see));
        read.bind_functions(&mut FunctionBinder::new(&|wanted| known.get(&wanted.name).cloned()))?;
        // Volatile calls are told apart by where they lie.
        if read != **plan && !plan.is_volatile() {
            return Err(Error::internal(format!("an encoded plan is another:\n{plan:?}\n{read:?}")));
        }
        same_bytes(&bytes, &read)?;
        Ok(Arc::new(read))
    }

    /// Whether plans are run as another process would read them, for tests.
    pub(crate) fn encodes_plans(&self) -> bool {
        self.database.shared.encoded_plans.load(Relaxed)
    }

    /// The program itself, or in tests what another process would read of it.
    pub(crate) fn program_as_read(&self, program: Program) -> Result<Program> {
        if !self.database.shared.encoded_plans.load(Relaxed) {
            return Ok(program);
        }
        let bytes = encoding::encode(&program)?;
        let mut read: Program = encoding::decode(&bytes)?;
        let known = functions(&|see| program.visit_expressions(see));
        read.bind_functions(&mut FunctionBinder::new(&|wanted| known.get(&wanted.name).cloned()))?;
        if read != program && !program.is_volatile() {
            return Err(Error::internal(format!("an encoded program is another:\n{program}\n{read}")));
        }
        same_bytes(&bytes, &read)?;
        Ok(read)
    }

    /// Nothing, or in tests whether another process would read the same query.
    pub(crate) fn check_reading(&self, query: &LogicalQuery) -> Result<()> {
        if !self.database.shared.encoded_plans.load(Relaxed) {
            return Ok(());
        }
        let bytes = encoding::encode(query)?;
        let mut read: LogicalQuery = encoding::decode(&bytes)?;
        let known = functions(&|see| query.visit_expressions(see));
        read.bind_functions(&mut FunctionBinder::new(&|wanted| known.get(&wanted.name).cloned()))?;
        if read != *query && !query.is_volatile() {
            return Err(Error::internal(format!("an encoded query is another:\n{query:?}\n{read:?}")));
        }
        same_bytes(&bytes, &read)
    }
}

fn same_bytes(bytes: &[u8], read: &impl Document) -> Result<()> {
    match encoding::encode(read)? == bytes {
        true => Ok(()),
        false => Err(Error::internal("what was read of a plan has another encoding")),
    }
}

/// The functions that are called in these expressions, by name.
fn functions(visit: &dyn Fn(&mut dyn FnMut(&Expr))) -> HashMap<Arc<str>, Arc<ExternalFunction>> {
    let mut found = HashMap::new();
    visit(&mut |expr| {
        if let ExprKind::External { function, .. } = &expr.kind {
            found.insert(function.name.clone(), function.clone());
        }
    });
    found
}
