//! What of a graph becomes code: the steps in order, and the columns that the code reads.
//!
//! A column is one of the batch, or a part of the graph that the vectorised evaluator computes before the code runs.
//! The shape of a piece is a text: pieces of one text have the same code, whatever plan they belong to.

use std::fmt::Write;

use expr::graph::{Graph, NodeId, Operation};
use plan::Arithmetic;
use types::{Physical, Type};

use crate::kind::{Kind, compiles};

/// Where a column of the code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The column of the batch at this place.
    Column(usize),
    /// A node that the vectorised evaluator computes.
    Node(NodeId),
}

/// A column that the code reads.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub source: Source,
    pub ty: Type,
}

/// One node's turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The node is read from the slot.
    Read(NodeId, usize),
    /// The node is computed from nodes before it.
    Compute(NodeId),
}

/// The nodes of a graph that some of its nodes are computed from.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub steps: Vec<Step>,
    pub slots: Vec<Slot>,
    pub roots: Vec<NodeId>,
}

impl Piece {
    /// The steps to these nodes, each of which compiles.
    pub(crate) fn of(graph: &Graph, roots: Vec<NodeId>) -> Piece {
        let mut wanted = vec![false; graph.len()];
        let mut open = roots.clone();
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut wanted[id], true) && compiles(graph, id) {
                open.extend(&graph.node(id).operands);
            }
        }
        let mut piece = Piece { steps: vec![], slots: vec![], roots };
        for id in (0..graph.len()).filter(|id| wanted[*id]) {
            if compiles(graph, id) {
                piece.steps.push(Step::Compute(id));
                continue;
            }
            let node = graph.node(id);
            let source = match node.operation {
                Operation::Input(at) => Source::Column(at),
                _ => Source::Node(id),
            };
            piece.steps.push(Step::Read(id, piece.slots.len()));
            piece.slots.push(Slot { source, ty: node.ty });
        }
        piece
    }

    /// Operations that are computed in code, literals aside.
    pub(crate) fn operations(&self, graph: &Graph) -> usize {
        let computed = |step: &&Step| match step {
            Step::Compute(id) => !matches!(graph.node(*id).operation, Operation::Literal(_)),
            Step::Read(..) => false,
        };
        self.steps.iter().filter(computed).count()
    }

    /// How much is gained, in operations, from two rows in flight; `None` where a value does not fit such a register.
    pub(crate) fn gain_of_two(&self, graph: &Graph) -> Option<i64> {
        let mut gain = 0;
        for step in &self.steps {
            let (Step::Read(id, _) | Step::Compute(id)) = *step;
            let node = graph.node(id);
            let kinds = std::iter::once(node.ty).chain(node.operands.iter().map(|o| graph.node(*o).ty));
            // Quotients of decimals have 128 bits on the way.
            let quotient = node.ty.is_decimal()
                && matches!(node.operation, Operation::Arithmetic { op: Arithmetic::Divide, .. });
            if quotient || kinds.filter_map(Kind::of).any(|kind| matches!(kind, Kind::Wide | Kind::Single)) {
                return None;
            }
            if matches!(step, Step::Compute(_)) {
                gain += gain_of(graph, id);
            }
        }
        Some(gain)
    }

    /// Adds the piece to the text of a shape.
    pub(crate) fn describe(&self, graph: &Graph, shape: &mut String) {
        let mut place = std::collections::HashMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            let (Step::Read(id, _) | Step::Compute(id)) = *step;
            place.insert(id, at);
            let node = graph.node(id);
            let written = match step {
                Step::Read(..) => write!(shape, "read {:?} {:?} {:?};", node.ty, node.fails, node.cost),
                Step::Compute(_) => {
                    let operands: Vec<_> = node.operands.iter().filter_map(|o| place.get(o)).collect();
                    write!(shape, "{:?} {:?} {operands:?} {:?};", node.operation, node.ty, node.fails)
                }
            };
            // Writing to a string does not fail.
            let _ = written;
        }
        let roots: Vec<_> = self.roots.iter().filter_map(|id| place.get(id)).collect();
        let written = write!(shape, "{roots:?}");
        let _ = written;
    }
}

/// Operations saved by two rows in flight, negative where the lanes must be taken apart.
fn gain_of(graph: &Graph, id: NodeId) -> i64 {
    let node = graph.node(id);
    let operand = node.operands.first().map(|o| graph.node(*o).ty);
    match &node.operation {
        Operation::Literal(_) | Operation::Input(_) => 0,
        // Checks of floats are several instructions.
        Operation::Arithmetic { .. } if node.ty.is_float() => 4,
        Operation::Arithmetic { op: Arithmetic::Add | Arithmetic::Subtract, .. } => 1,
        Operation::Arithmetic { .. } => -2,
        Operation::Cast { .. } => -2,
        Operation::Function(_) if operand == Some(Type::Date) => -3,
        Operation::Library(call) => match call.name() {
            "&" | "|" | "#" | "sqrt" | "floor" | "ceil" | "round" => 1,
            "<<" | ">>" => -2,
            // The same calls, with lanes taken apart and put together.
            _ => -1,
        },
        _ if node.ty.physical() == Physical::Bool => 1,
        _ => 1,
    }
}
