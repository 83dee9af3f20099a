//! A condition compiled for finding the rows that pass.
//!
//! The conjuncts are evaluated one after the other: those that cannot fail before those that can, cheap ones before
//! dear ones, otherwise as given. While many rows survive, a conjunct is evaluated on all rows and the bitmaps are
//! intersected; once few do, or when it may fail, it is evaluated on the survivors alone.

use arrow_buffer::BooleanBuffer;
use plan::Expr;
use types::Result;
use vector::Batch;

use crate::bits;
use crate::compile::compile;
use crate::frame::{Frame, true_bits};
use crate::graph::{Fails, Graph, NodeId};

/// Rows of a batch for which a condition is TRUE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    All,
    None,
    /// Ascending; neither empty nor all.
    Rows(Vec<u32>),
}

/// A BOOLEAN expression over the columns of a batch. Immutable, so any number of workers may share it.
#[derive(Debug)]
pub struct Predicate {
    graph: Graph,
    conjuncts: Vec<NodeId>,
}

/// Survivors are gathered when fewer than one row in this many is left: gathering a column costs about as much as
/// three or four cheap comparisons.
const GATHER_BELOW: usize = 6;

impl Predicate {
    pub fn compile(condition: &Expr) -> Result<Predicate> {
        let mut parts = Vec::new();
        condition.clone().split_conjuncts(&mut parts);
        let mut graph = Graph::default();
        let mut conjuncts = Vec::with_capacity(parts.len());
        for part in &parts {
            conjuncts.push(compile(&mut graph, part)?);
        }
        graph.mark_shared(&conjuncts);
        // Stable, so that the optimizer's order decides among equals.
        let class = |cost: u32| if cost < 4 { 0 } else { cost };
        conjuncts.sort_by_key(|id| (graph.node(*id).fails == Fails::Maybe, class(graph.node(*id).cost)));
        Ok(Predicate { graph, conjuncts })
    }

    /// The rows for which the condition is TRUE: neither FALSE nor NULL.
    pub fn select(&self, batch: &Batch) -> Result<Selected> {
        let rows = batch.rows;
        let mut frame = Frame::new(&self.graph, batch);
        // Survivors as a bitmap, until they are few.
        let mut passed: Option<BooleanBuffer> = None;
        let mut left = rows;
        let mut rest = self.conjuncts.iter();
        let mut survivors = loop {
            if left == 0 {
                return Ok(Selected::None);
            }
            let Some(id) = rest.as_slice().first() else {
                return Ok(match passed {
                    Some(bits) if left < rows => Selected::Rows(bits::indices(&bits)),
                    _ => Selected::All,
                });
            };
            let careful = self.graph.node(*id).fails == Fails::Maybe;
            if left < rows && (careful || left * GATHER_BELOW < rows) {
                break passed.as_ref().map(bits::indices).unwrap_or_default();
            }
            let truth = match frame.evaluate(*id) {
                Ok(value) => true_bits(&value),
                // The row at fault may be one that did not survive.
                Err(_) if left < rows => break passed.as_ref().map(bits::indices).unwrap_or_default(),
                Err(error) => return Err(error),
            };
            rest.next();
            let both = match passed {
                Some(passed) => &passed & &truth,
                None => truth,
            };
            left = both.count_set_bits();
            passed = Some(both);
        };
        for id in rest {
            let truth = true_bits(&frame.part(&survivors).evaluate(*id)?);
            let kept = truth.count_set_bits();
            if kept == 0 {
                return Ok(Selected::None);
            }
            if kept < survivors.len() {
                survivors = bits::indices(&truth).into_iter().map(|at| survivors[at as usize]).collect();
            }
        }
        Ok(Selected::Rows(survivors))
    }
}
