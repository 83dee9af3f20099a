//! A condition compiled for finding the rows that pass.
//!
//! The conjuncts are evaluated one after the other: those that cannot fail before those that can, cheap ones before
//! dear ones, otherwise as given. While many rows survive, a conjunct is evaluated on all rows and the bitmaps are
//! intersected; once few do, or when it may fail, it is evaluated on the survivors alone.

use arrow_buffer::BooleanBuffer;
use plan::Expr;
use types::Result;
use vector::{Batch, Vector};

use crate::bits;
use crate::compile::compile;
use crate::frame::{Frame, true_bits};
use crate::graph::{Fails, Graph, NodeId};
use crate::room::Room;

/// Rows of a batch for which a condition is TRUE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// Every row passes.
    All,
    /// No row passes.
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
    /// Compiles a BOOLEAN expression over the inputs of a batch. Cheap conjuncts run first, those that may fail last.
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

    /// What is computed: every distinct part of the condition, operands before users.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The node of each conjunct, in the order in which they are evaluated.
    pub fn conjuncts(&self) -> &[NodeId] {
        &self.conjuncts
    }

    /// The values of these nodes of the graph for every row: what a compiler of expressions leaves to vectors.
    pub fn evaluate_nodes(&self, nodes: &[NodeId], batch: &Batch, room: Room<'_>) -> Result<Vec<Vector>> {
        let mut frame = Frame::new(&self.graph, batch, room);
        nodes.iter().map(|id| frame.evaluate(*id)).collect()
    }

    /// The rows for which the condition is TRUE: neither FALSE nor NULL.
    pub fn select(&self, batch: &Batch) -> Result<Selected> {
        self.select_within(batch, Room::UNBOUNDED)
    }

    /// As `select`, with room asked for.
    pub fn select_within(&self, batch: &Batch, room: Room<'_>) -> Result<Selected> {
        let rows = batch.rows;
        let mut frame = Frame::new(&self.graph, batch, room);
        // Survivors as a bitmap, until they are few.
        let mut passed: Option<BooleanBuffer> = None;
        let mut left = rows;
        // Conjuncts for the survivors alone.
        let mut careful = Vec::new();
        for (at, id) in self.conjuncts.iter().enumerate() {
            if left == 0 {
                return Ok(Selected::None);
            }
            if left < rows && left * GATHER_BELOW < rows {
                careful.extend_from_slice(&self.conjuncts[at..]);
                break;
            }
            let last = careful.is_empty() && at + 1 == self.conjuncts.len() && left == rows;
            if self.graph.node(*id).fails == Fails::Maybe && !last {
                careful.push(*id);
                continue;
            }
            let truth = match frame.evaluate(*id) {
                Ok(value) => true_bits(&value),
                Err(error) if last => return Err(error),
                // The row at fault may be one that does not survive.
                Err(_) => {
                    careful.push(*id);
                    continue;
                }
            };
            let both = match passed {
                Some(passed) => &passed & &truth,
                None => truth,
            };
            left = both.count_set_bits();
            passed = Some(both);
        }
        let Some(passed) = passed else { return self.narrow(&mut frame, None, &careful) };
        match left {
            0 => Ok(Selected::None),
            _ if left == rows => self.narrow(&mut frame, None, &careful),
            _ => self.narrow(&mut frame, Some(bits::indices(&passed)), &careful),
        }
    }

    /// The survivors (all rows when `None`) of these conjuncts, each evaluated on the survivors of those before it.
    fn narrow(
        &self,
        frame: &mut Frame<'_>,
        mut survivors: Option<Vec<u32>>,
        conjuncts: &[NodeId],
    ) -> Result<Selected> {
        for id in conjuncts {
            let truth = true_bits(&match &survivors {
                Some(rows) => frame.part(rows).evaluate(*id)?,
                None => frame.evaluate(*id)?,
            });
            let kept = truth.count_set_bits();
            if kept == 0 {
                return Ok(Selected::None);
            }
            if kept < truth.len() {
                let kept = bits::indices(&truth);
                survivors = Some(match &survivors {
                    Some(rows) => kept.into_iter().map(|at| rows[at as usize]).collect(),
                    None => kept,
                });
            }
        }
        Ok(survivors.map_or(Selected::All, Selected::Rows))
    }
}
