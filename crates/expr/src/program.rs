//! A list of expressions compiled for evaluation over batches, and constants evaluated at plan time.

use plan::{Expr, ExprKind, Function};
use types::{Error, Result, Type, Value};
use vector::{Batch, Vector};

use crate::compile::compile;
use crate::fallback;
use crate::frame::Frame;
use crate::graph::{Graph, NodeId};
use crate::nested::LambdaBody;
use crate::room::{self, Room};

/// Expressions over the columns of a batch (`ExprKind::Input`). Immutable, so any number of workers may share it.
#[derive(Debug)]
pub struct Program {
    graph: Graph,
    results: Vec<NodeId>,
}

impl Program {
    /// Fails for columns that are not bound to inputs, subqueries that were not replaced by their value, unknown
    /// functions, and nesting beyond a thousand levels.
    pub fn compile(expressions: &[Expr]) -> Result<Program> {
        let mut graph = Graph::default();
        let mut results = Vec::with_capacity(expressions.len());
        for expression in expressions {
            results.push(compile(&mut graph, expression)?);
        }
        graph.mark_shared(&results);
        Ok(Program { graph, results })
    }

    /// What is computed: every distinct part of all expressions, operands before users.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The node of each expression.
    pub fn results(&self) -> &[NodeId] {
        &self.results
    }

    /// One vector an expression, each of `batch.rows` rows; it may be flat, a constant or a dictionary, and a
    /// dictionary's values may repeat. Parts that several expressions have in common are computed once.
    pub fn evaluate(&self, batch: &Batch) -> Result<Vec<Vector>> {
        self.evaluate_within(batch, Room::UNBOUNDED)
    }

    /// As `evaluate`, with room asked for.
    pub fn evaluate_within(&self, batch: &Batch, room: Room<'_>) -> Result<Vec<Vector>> {
        let mut frame = Frame::new(&self.graph, batch, room);
        self.results.iter().map(|id| frame.evaluate(*id)).collect()
    }

    /// The values of these nodes of the graph for every row: what a compiler of expressions leaves to vectors.
    pub fn evaluate_nodes(&self, nodes: &[NodeId], batch: &Batch, room: Room<'_>) -> Result<Vec<Vector>> {
        let mut frame = Frame::new(&self.graph, batch, room);
        nodes.iter().map(|id| frame.evaluate(*id)).collect()
    }

    /// As `evaluate`, of all rows whether selected or not; results may be codes (`Data::Coded`).
    pub fn evaluate_coded(&self, batch: &Batch) -> Result<Vec<Vector>> {
        let mut frame = Frame::new(&self.graph, batch, Room::UNBOUNDED);
        self.results.iter().map(|id| frame.evaluate_coded(*id)).collect()
    }

    /// The type of each result.
    pub fn types(&self) -> Vec<Type> {
        self.results.iter().map(|id| self.graph.node(*id).ty).collect()
    }

    /// Distinct parts of all expressions, inputs and literals included.
    pub fn distinct_parts(&self) -> usize {
        self.graph.len()
    }
}

impl LambdaBody for Program {
    fn evaluate_body(&self, batch: &Batch, room: Room<'_>) -> Result<Vector> {
        let mut frame = Frame::new(&self.graph, batch, room);
        match self.results.as_slice() {
            [body] => frame.evaluate(*body),
            results => Err(Error::internal(format!("a lambda with {} bodies", results.len()))),
        }
    }
}

/// The value of an expression without inputs.
pub fn evaluate_constant(expression: &Expr) -> Result<Value> {
    constant_within(expression, Room::UNBOUNDED)
}

fn constant_within(expression: &Expr, room: Room<'_>) -> Result<Value> {
    let program = Program::compile(std::slice::from_ref(expression))?;
    let vectors = program.evaluate_within(&Batch::new(vec![], 1), room)?;
    Ok(vectors.first().map_or(Value::Null, |v| v.value(0)))
}

/// Replaces parts without inputs by their value. A part whose evaluation fails stays as it is: the error belongs to
/// the execution, which may never reach it. Volatile functions stay too.
#[must_use]
pub fn fold_constants(expression: Expr) -> Expr {
    expression.transform(&mut |e| {
        let operands = e.children();
        let foldable = !matches!(
            e.kind,
            ExprKind::Literal(_)
                | ExprKind::Column(_)
                | ExprKind::Input(_)
                | ExprKind::Lambda(_)
                | ExprKind::ScalarSubquery(_)
                | ExprKind::Parameter(_)
        ) && (operands.iter().all(|o| o.as_literal().is_some()) || is_attempt_of_constant(&e))
            && !matches!(&e.kind, ExprKind::Library { name, .. } if fallback::is_volatile(name))
            // The program's function is not called before the statement runs.
            && !matches!(e.kind, ExprKind::External { .. });
        if !foldable {
            return e;
        }
        match constant_within(&e, Room::within(&room::folding)) {
            Ok(value) => Expr::literal(value, e.ty),
            Err(_) => e,
        }
    })
}

/// `try(x)` of an `x` that fails whatever the row: nothing varies in it.
fn is_attempt_of_constant(e: &Expr) -> bool {
    let mut constant = matches!(e.kind, ExprKind::Function { function: Function::Try, .. });
    e.visit(&mut |part| {
        constant &= !matches!(
            part.kind,
            ExprKind::Column(_)
                | ExprKind::Input(_)
                | ExprKind::Lambda(_)
                | ExprKind::External { .. }
                | ExprKind::ScalarSubquery(_)
                | ExprKind::Parameter(_)
        );
    });
    constant && !e.is_volatile()
}
