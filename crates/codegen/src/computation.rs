//! A computation of a pipeline: a condition, values of the rows that pass, or both, evaluated by vectors or by code.
//!
//! Whatever code cannot vouch for, a batch with a row at fault above all, goes to the vectorised evaluator, whose answer
//! and errors count. So a computation has one meaning, and how it is evaluated is only a matter of speed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use expr::graph::{NodeId, Operation};
use expr::{Predicate, Program, Room, Selected};
use types::{Result, Type};
use vector::{Batch, Vector};

use crate::cache::Cache;
use crate::choice::{Choice, Way};
use crate::emit::Parts;
use crate::execution::Execution;
use crate::kind::compiles;
use crate::machine::Code;
use crate::run::{Ran, run};
use crate::shape::{Piece, Source, Step};

/// Nodes that one function is made of, at most: compiling takes longer than its size tells.
const NODES_MAX: usize = 1500;

/// How a query evaluates its computations.
#[derive(Clone, Debug)]
pub struct How {
    /// The switch.
    pub execution: Execution,
    /// Where code comes from; nothing is compiled without.
    pub cache: Option<Arc<Cache>>,
}

/// Rows in flight in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// As many as gain.
    Best,
    /// One.
    One,
    /// Two where every value fits.
    Two,
}

/// Where a value of the computation comes from.
#[derive(Clone, Debug)]
enum Output {
    /// A column of the batch, or a literal: nothing is computed.
    Plain(NodeId),
    /// The vectorised evaluator.
    Vectors(NodeId),
    /// The next result of the code.
    Code,
}

/// A condition and values over the columns of a batch. Immutable but for its measurements: any worker may use it.
#[derive(Clone, Debug)]
pub struct Computation(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    predicate: Option<Predicate>,
    program: Option<Arc<Program>>,
    condition: Option<Piece>,
    values: Option<Piece>,
    outputs: Vec<Output>,
    two: bool,
    /// There is something to compile, and nothing stands against it.
    compiles: bool,
    /// The code for columns without NULLs, and for all.
    code: [OnceLock<Option<Arc<Code>>>; 2],
    choice: Choice,
    by_code: AtomicU32,
    by_vectors: AtomicU32,
    refused: AtomicU32,
    compile_nanoseconds: AtomicU64,
    /// Why there is no code, where there should be.
    failure: OnceLock<types::Error>,
}

impl Computation {
    /// The values of a program's expressions.
    pub fn values(program: impl Into<Arc<Program>>) -> Computation {
        Computation::new(None, Some(program.into()), Lanes::Best)
    }
    /// The rows for which a condition is TRUE.
    pub fn condition(predicate: Predicate) -> Computation {
        Computation::new(Some(predicate), None, Lanes::Best)
    }
    /// The values of a program's expressions for the rows for which a condition is TRUE.
    pub fn both(predicate: Predicate, program: Program) -> Computation {
        Computation::new(Some(predicate), Some(Arc::new(program)), Lanes::Best)
    }

    /// As the other constructors, with the rows in flight given.
    pub fn new(predicate: Option<Predicate>, program: Option<Arc<Program>>, lanes: Lanes) -> Computation {
        let condition = predicate.as_ref().map(|p| Piece::of(p.graph(), p.conjuncts().to_vec()));
        let mut outputs = Vec::new();
        let values = program.as_ref().map(|program| {
            let graph = program.graph();
            let mut roots = Vec::new();
            for id in program.results() {
                outputs.push(match graph.node(*id).operation {
                    Operation::Input(_) | Operation::Literal(_) => Output::Plain(*id),
                    _ if compiles(graph, *id) => {
                        roots.push(*id);
                        Output::Code
                    }
                    _ => Output::Vectors(*id),
                });
            }
            Piece::of(graph, roots)
        });
        let mut inner = Inner {
            predicate,
            program,
            condition,
            values,
            outputs,
            two: false,
            compiles: false,
            code: Default::default(),
            choice: Choice::default(),
            by_code: AtomicU32::new(0),
            by_vectors: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            compile_nanoseconds: AtomicU64::new(0),
            failure: OnceLock::new(),
        };
        inner.compiles = inner.worth_compiling();
        let gain = inner.pieces().map(|(graph, piece)| piece.gain_of_two(graph)).sum::<Option<i64>>();
        inner.two = match lanes {
            Lanes::Best => gain.is_some_and(|gain| gain > 0),
            Lanes::One => false,
            Lanes::Two => gain.is_some(),
        };
        Computation(Arc::new(inner))
    }

    /// Whether a condition and values are better one computation than two: nothing of either is left to vectors.
    pub fn fuses(&self) -> bool {
        let plain = |piece: &Piece| piece.slots.iter().all(|slot| matches!(slot.source, Source::Column(_)));
        self.0.compiles
            && self.0.values.as_ref().is_some_and(plain)
            && !self.0.outputs.iter().any(|output| matches!(output, Output::Vectors(_)))
    }

    /// One vector an expression, of all rows. Only for a computation without a condition.
    pub fn evaluate(&self, batch: &Batch, room: Room<'_>, how: &How) -> Result<Vec<Vector>> {
        let inner = &*self.0;
        let Some(program) = &inner.program else { return Ok(Vec::new()) };
        self.either_way(
            batch,
            how,
            |code| inner.values_by_code(code, batch, room),
            || program.evaluate_within(batch, room),
        )
    }

    /// The rows that pass. Only for a computation without values.
    pub fn select(&self, batch: &Batch, room: Room<'_>, how: &How) -> Result<Selected> {
        let inner = &*self.0;
        let Some(predicate) = &inner.predicate else { return Ok(Selected::All) };
        self.either_way(
            batch,
            how,
            |code| {
                let ran = inner.run(code, batch, room)?;
                Ok(ran.map(|ran| match ran.passed {
                    0 => Selected::None,
                    passed if passed == batch.rows => Selected::All,
                    _ => Selected::Rows(ran.selection),
                }))
            },
            || predicate.select_within(batch, room),
        )
    }

    /// The values of the rows that pass. Only for a computation with a condition and values.
    pub fn pass(&self, batch: &Batch, room: Room<'_>, how: &How) -> Result<Batch> {
        let inner = &*self.0;
        let (Some(predicate), Some(program)) = (&inner.predicate, &inner.program) else {
            return Err(types::Error::internal("a computation without a condition or values"));
        };
        self.either_way(
            batch,
            how,
            |code| inner.pass_by_code(code, batch, room),
            || {
                let passing = match predicate.select_within(batch, room)? {
                    Selected::All => batch.clone(),
                    Selected::None => return Ok(Batch::default()),
                    Selected::Rows(rows) => batch.gather(&rows),
                };
                let values = program.evaluate_within(&passing, room)?;
                Ok(Batch::new(values, passing.rows))
            },
        )
    }

    fn either_way<T>(
        &self,
        batch: &Batch,
        how: &How,
        by_code: impl FnOnce(&Code) -> Result<Option<T>>,
        by_vectors: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let inner = &*self.0;
        let auto = how.execution == Execution::Auto;
        let way = match how.execution {
            Execution::Vectorized => Way::Vectors,
            Execution::Compiled => Way::Code,
            Execution::Auto => inner.choice.way(),
        };
        let suits = batch.rows >= 2 && batch.selection.is_none() && inner.compiles;
        if !suits || how.execution == Execution::Vectorized {
            return by_vectors();
        }
        let Some(cache) = &how.cache else { return by_vectors() };
        let started = auto.then(Instant::now);
        let elapsed = || started.map_or(0, |started| started.elapsed().as_nanos() as u64);
        if way == Way::Code
            && let Some(code) = inner.code_for(batch, cache)
        {
            let result = by_code(&code)?;
            if auto {
                inner.choice.went_by_code(batch.rows, elapsed(), result.is_some());
            }
            match result {
                Some(result) => {
                    inner.by_code.fetch_add(1, Relaxed);
                    return Ok(result);
                }
                None => _ = inner.refused.fetch_add(1, Relaxed),
            }
        }
        let result = by_vectors();
        inner.by_vectors.fetch_add(1, Relaxed);
        if auto && way == Way::Vectors && inner.choice.went_by_vectors(batch.rows, elapsed()) {
            self.compile_in_background(inner.has_nulls(batch), cache);
        }
        result
    }

    fn compile_in_background(&self, nullable: bool, cache: &Arc<Cache>) {
        let (computation, with) = (self.clone(), cache.clone());
        let job = move || {
            let done = computation.0.code(nullable, &with).is_some();
            computation.0.choice.compiled(done);
        };
        if !cache.in_background(Box::new(job)) {
            self.0.choice.compiled(false);
        }
    }

    /// What was done how, in words; `None` where nothing was.
    pub fn told(&self, how: &How) -> Option<String> {
        let inner = &*self.0;
        let (code, vectors) = (inner.by_code.load(Relaxed), inner.by_vectors.load(Relaxed));
        if code + vectors == 0 {
            return None;
        }
        let refused = inner.refused.load(Relaxed);
        let mut told = format!("{code} batches compiled, {vectors} vectorized");
        if refused > 0 {
            told.push_str(&format!(", {refused} of them after the code"));
        }
        let made: Vec<&Arc<Code>> = inner.code.iter().filter_map(|code| code.get()?.as_ref()).collect();
        if !made.is_empty() {
            let bytes: usize = made.iter().map(|code| code.bytes).sum();
            let milliseconds = inner.compile_nanoseconds.load(Relaxed) as f64 / 1e6;
            told.push_str(&format!("; {bytes} bytes of code, compiled in {milliseconds:.2} ms"));
        }
        if let Some(error) = inner.failure.get() {
            told.push_str(&format!("; {error}"));
        }
        if how.execution == Execution::Auto {
            told.push_str(&format!("; {}", inner.choice.told()));
        }
        Some(told)
    }
}

impl Inner {
    fn pieces(&self) -> impl Iterator<Item = (&expr::graph::Graph, &Piece)> {
        let condition = self.predicate.as_ref().map(Predicate::graph).zip(self.condition.as_ref());
        let values = self.program.as_deref().map(Program::graph).zip(self.values.as_ref());
        condition.into_iter().chain(values)
    }

    fn worth_compiling(&self) -> bool {
        let operations: usize = self.pieces().map(|(graph, piece)| piece.operations(graph)).sum();
        let nodes: usize = self.pieces().map(|(_, piece)| piece.steps.len()).sum();
        let volatile = self.pieces().any(|(graph, piece)| {
            piece.steps.iter().any(|step| match step {
                // A part that calls something volatile would be called again after a refusal.
                Step::Read(id, _) => is_volatile(graph, *id),
                Step::Compute(_) => false,
            })
        });
        operations > 0 && nodes <= NODES_MAX && !volatile
    }

    fn column<'b>(&self, batch: &'b Batch, source: Source) -> Option<&'b Vector> {
        match source {
            Source::Column(at) => batch.columns.get(at),
            Source::Node(_) => None,
        }
    }

    fn has_nulls(&self, batch: &Batch) -> bool {
        self.pieces().flat_map(|(_, piece)| &piece.slots).any(|slot| match slot.source {
            Source::Column(_) => self.column(batch, slot.source).is_none_or(Vector::has_nulls),
            Source::Node(_) => true,
        })
    }

    fn code_for(&self, batch: &Batch, cache: &Cache) -> Option<Arc<Code>> {
        self.code(self.has_nulls(batch), cache)
    }

    fn code(&self, nullable: bool, cache: &Cache) -> Option<Arc<Code>> {
        let slot = &self.code[usize::from(nullable)];
        let made = slot.get_or_init(|| {
            let condition = self.predicate.as_ref().map(Predicate::graph).zip(self.condition.as_ref());
            let values = self.program.as_deref().map(Program::graph).zip(self.values.as_ref());
            let parts = Parts { condition, values, nullable, two: self.two };
            let mut shape = format!("{nullable} {} {} ", self.two, condition.is_some());
            for (graph, piece) in self.pieces() {
                piece.describe(graph, &mut shape);
                shape.push('|');
            }
            let started = Instant::now();
            let code = cache.code(&shape, &parts).map_err(|error| self.failure.set(error)).ok();
            self.compile_nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
            code
        });
        made.clone()
    }

    /// The columns that the code reads; `None` where one of them is not of its type or cannot be computed.
    fn columns(&self, batch: &Batch, room: Room<'_>) -> Result<Option<Vec<Vector>>> {
        let mut columns = Vec::new();
        let condition = self.predicate.as_ref().zip(self.condition.as_ref());
        if let Some((predicate, piece)) = condition
            && !gather(piece, batch, &mut columns, |nodes| predicate.evaluate_nodes(nodes, batch, room))?
        {
            return Ok(None);
        }
        let values = self.program.as_ref().zip(self.values.as_ref());
        if let Some((program, piece)) = values
            && !gather(piece, batch, &mut columns, |nodes| program.evaluate_nodes(nodes, batch, room))?
        {
            return Ok(None);
        }
        Ok(Some(columns))
    }

    fn run(&self, code: &Code, batch: &Batch, room: Room<'_>) -> Result<Option<Ran>> {
        let Some(columns) = self.columns(batch, room)? else { return Ok(None) };
        let types: Vec<Type> = match (&self.program, &self.values) {
            (Some(program), Some(piece)) => {
                piece.roots.iter().map(|id| program.graph().node(*id).ty).collect()
            }
            _ => Vec::new(),
        };
        // Parts may have NULLs where no column has.
        if !code.nullable && columns.iter().any(Vector::has_nulls) {
            return Ok(None);
        }
        Ok(run(code, &columns, &types, batch.rows, self.condition.is_some()))
    }

    fn values_by_code(&self, code: &Code, batch: &Batch, room: Room<'_>) -> Result<Option<Vec<Vector>>> {
        let Some(program) = &self.program else { return Ok(None) };
        let rest: Vec<NodeId> = self
            .outputs
            .iter()
            .filter_map(|output| match output {
                Output::Plain(id) | Output::Vectors(id) => Some(*id),
                Output::Code => None,
            })
            .collect();
        let Some(ran) = self.run(code, batch, room)? else { return Ok(None) };
        let Some(rest) = unless_it_fails(program.evaluate_nodes(&rest, batch, room))? else {
            return Ok(None);
        };
        Ok(Some(self.assembled(ran.vectors, rest)))
    }

    fn pass_by_code(&self, code: &Code, batch: &Batch, room: Room<'_>) -> Result<Option<Batch>> {
        let Some(program) = &self.program else { return Ok(None) };
        let Some(ran) = self.run(code, batch, room)? else { return Ok(None) };
        if ran.passed == 0 {
            return Ok(Some(Batch::default()));
        }
        let mut rest = Vec::new();
        for output in &self.outputs {
            match output {
                Output::Plain(id) => {
                    let [value] = &program.evaluate_nodes(&[*id], batch, room)?[..] else { return Ok(None) };
                    rest.push(match ran.passed == batch.rows {
                        true => value.clone(),
                        false => value.gather(&ran.selection),
                    });
                }
                Output::Vectors(_) => return Ok(None),
                Output::Code => {}
            }
        }
        let columns = self.assembled(ran.vectors, rest);
        Ok(Some(Batch::new(columns, ran.passed)))
    }

    fn assembled(&self, by_code: Vec<Vector>, rest: Vec<Vector>) -> Vec<Vector> {
        let (mut by_code, mut rest) = (by_code.into_iter(), rest.into_iter());
        let next = |output: &Output| match output {
            Output::Code => by_code.next(),
            Output::Plain(_) | Output::Vectors(_) => rest.next(),
        };
        self.outputs.iter().filter_map(next).collect()
    }
}

/// Whether the node or anything below it is a volatile call.
fn is_volatile(graph: &expr::graph::Graph, id: NodeId) -> bool {
    let (mut open, mut seen) = (vec![id], vec![false; graph.len()]);
    while let Some(id) = open.pop() {
        // A part that many share is looked at once.
        if std::mem::replace(&mut seen[id], true) {
            continue;
        }
        let node = graph.node(id);
        if matches!(&node.operation, Operation::Library(call) if call.is_volatile()) {
            return true;
        }
        open.extend(&node.operands);
    }
    false
}

/// `None` for an error: it may be one of a row that no condition lets through. Vectors tell it where it counts.
fn unless_it_fails<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.state() == types::SqlState::QueryCanceled => Err(error),
        Err(_) => Ok(None),
    }
}

/// Adds the piece's columns, flat; `false` where one is not of the type that the code reads.
fn gather(
    piece: &Piece,
    batch: &Batch,
    columns: &mut Vec<Vector>,
    evaluate: impl FnOnce(&[NodeId]) -> Result<Vec<Vector>>,
) -> Result<bool> {
    let nodes: Vec<NodeId> = piece
        .slots
        .iter()
        .filter_map(|slot| if let Source::Node(id) = slot.source { Some(id) } else { None })
        .collect();
    let computed = if nodes.is_empty() {
        Vec::new()
    } else {
        let Some(computed) = unless_it_fails(evaluate(&nodes))? else { return Ok(false) };
        computed
    };
    let mut computed = computed.into_iter();
    for slot in &piece.slots {
        let column = match slot.source {
            Source::Column(at) => batch.columns.get(at).cloned(),
            Source::Node(_) => computed.next(),
        };
        match column {
            Some(column) if column.ty().physical() == slot.ty.physical() => columns.push(column.flatten()),
            // A NULL of no type yet.
            Some(column) if column.ty() == Type::Null => {
                columns.push(Vector::constant(slot.ty, types::Value::Null, batch.rows).flatten());
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}
