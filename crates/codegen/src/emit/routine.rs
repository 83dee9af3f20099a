//! One function of a computation of a pipeline: the loop that finds the rows that pass, and the loop that computes their
//! values.
//!
//! ```text
//! routine(columns, results, rows, selection) -> rows that passed, or -1 where the code does not vouch for the batch
//!    for row in 0..rows           condition: selection[passed] = row; passed += 1 if it is TRUE   (no branch)
//!    for at in 0..passed          values of row selection[at], written at `at`
//! ```
//! Without a condition the second loop runs over all rows; without values there is only the first. With two rows in
//! flight the last step may do a row again: the condition counts it once, values are written to the same place.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types as ct};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, Variable};
use expr::graph::Graph;
use types::Result;

use super::rows::{Place, Row};
use super::{Cell, Emitter, Operands, OutputLayout, SlotLayout};
use crate::shape::{Piece, Step};

/// What one function is made of.
pub(crate) struct Parts<'a> {
    pub condition: Option<(&'a Graph, &'a Piece)>,
    pub values: Option<(&'a Graph, &'a Piece)>,
    /// Every column may have NULLs; none has, otherwise.
    pub nullable: bool,
    pub two: bool,
}

/// The values that live through the function.
struct Frame {
    /// Columns of the condition, then those of the values.
    columns: Vec<Place>,
    results: Vec<Place>,
    rows: ir::Value,
    selection: ir::Value,
    fault: Variable,
    passed: Variable,
}

/// Emits the function; gives the layout of each result.
pub(crate) fn routine(
    mut builder: FunctionBuilder<'_>,
    parts: &Parts<'_>,
    target: TargetFrontendConfig,
) -> Result<Vec<OutputLayout>> {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let parameters = builder.block_params(entry).to_vec();
    let [columns, results, rows, selection] = parameters[..] else {
        return Err(types::Error::internal("a routine without parameters"));
    };
    let layouts = {
        let mut emitter = Emitter::new(&mut builder, parts.two);
        let slots = |piece: &Option<(&Graph, &Piece)>| (*piece).map_or(0, |(_, piece)| piece.slots.len());
        let count = slots(&parts.condition) + slots(&parts.values);
        let outputs = parts.values.map_or(0, |(_, piece)| piece.roots.len());
        let fault_type = if parts.two { ct::I64X2 } else { ct::I8 };
        let frame = Frame {
            columns: emitter.places(columns, count),
            results: emitter.places(results, outputs),
            rows,
            selection,
            fault: emitter.builder.declare_var(fault_type),
            passed: emitter.builder.declare_var(ct::I64),
        };
        let never = emitter.truth(false);
        emitter.builder.def_var(frame.fault, never);
        let none = emitter.builder.ins().iconst(ct::I64, 0);
        emitter.builder.def_var(frame.passed, none);
        if let Some((graph, piece)) = parts.condition {
            emitter.condition_loop(graph, piece, parts, &frame)?;
        } else {
            emitter.builder.def_var(frame.passed, rows);
        }
        let layouts = match parts.values {
            Some((graph, piece)) => emitter.value_loop(graph, piece, parts, &frame)?,
            None => Vec::new(),
        };
        emitter.finish(&frame);
        layouts
    };
    builder.seal_all_blocks();
    builder.finalize(target);
    Ok(layouts)
}

impl Emitter<'_, '_> {
    fn constant(&mut self, value: i64) -> ir::Value {
        self.builder.ins().iconst(ct::I64, value)
    }

    /// A loop over `0..rows` in steps of the rows in flight; `body` gets the step's first row.
    fn repeat(
        &mut self,
        rows: ir::Value,
        body: impl FnOnce(&mut Self, ir::Value) -> Result<()>,
    ) -> Result<()> {
        let (head, inside, after) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let at = self.builder.declare_var(ct::I64);
        let zero = self.constant(0);
        self.builder.def_var(at, zero);
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let row = self.builder.use_var(at);
        let more = self.builder.ins().icmp(IntCC::SignedLessThan, row, rows);
        self.builder.ins().brif(more, inside, &[], after, &[]);
        self.builder.switch_to_block(inside);
        body(self, row)?;
        let step = self.constant(if self.two { 2 } else { 1 });
        let next = self.builder.ins().iadd(row, step);
        self.builder.def_var(at, next);
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(after);
        Ok(())
    }

    /// The first of two rows that both exist; of the last odd one and the one before it.
    fn within(&mut self, row: ir::Value, rows: ir::Value) -> ir::Value {
        if !self.two {
            return row;
        }
        let two = self.constant(2);
        let last = self.builder.ins().isub(rows, two);
        let beyond = self.builder.ins().icmp(IntCC::SignedGreaterThan, row, last);
        self.builder.ins().select(beyond, last, row)
    }

    /// The cells of a piece's roots for a row.
    fn cells(
        &mut self,
        graph: &Graph,
        piece: &Piece,
        places: &[Place],
        nullable: bool,
        row: Row,
    ) -> Result<Vec<Cell>> {
        let mut cells: Vec<Option<Cell>> = vec![None; graph.len()];
        for step in &piece.steps {
            match *step {
                Step::Read(id, slot) => {
                    let layout = SlotLayout { physical: piece.slots[slot].ty.physical(), nullable };
                    cells[id] = Some(self.read(places[slot], layout, row));
                }
                Step::Compute(id) => {
                    let operands = &graph.node(id).operands;
                    let operands = operands.iter().filter_map(|operand| cells[*operand]).collect();
                    cells[id] = Some(self.node(&Operands { graph, id, cells: operands })?);
                }
            }
        }
        Ok(piece.roots.iter().filter_map(|id| cells[*id]).collect())
    }

    fn add_fault(&mut self, frame: &Frame, fault: Option<ir::Value>) {
        if let Some(fault) = fault {
            let known = self.builder.use_var(frame.fault);
            let both = self.or(known, fault);
            self.builder.def_var(frame.fault, both);
        }
    }

    fn condition_loop(
        &mut self,
        graph: &Graph,
        piece: &Piece,
        parts: &Parts<'_>,
        frame: &Frame,
    ) -> Result<()> {
        let places = &frame.columns[..piece.slots.len()];
        self.repeat(frame.rows, |e, row| {
            let first = e.within(row, frame.rows);
            let cells = e.cells(graph, piece, places, parts.nullable, Row::From(first))?;
            let mut passes: Option<ir::Value> = None;
            for cell in cells {
                // A conjunct's fault counts where all before it hold.
                let fault = match (cell.fault, passes) {
                    (Some(fault), Some(passes)) => Some(e.and(fault, passes)),
                    (fault, _) => fault,
                };
                e.add_fault(frame, fault);
                let holds = e.is_true(cell);
                passes = Some(match passes {
                    Some(passes) => e.and(passes, holds),
                    None => holds,
                });
            }
            let passes = passes.unwrap_or_else(|| e.truth(true));
            e.append(frame, passes, row, first);
            Ok(())
        })
    }

    /// Writes the rows that pass behind those that did.
    fn append(&mut self, frame: &Frame, passes: ir::Value, row: ir::Value, first: ir::Value) {
        if !self.two {
            let more = self.builder.ins().uextend(ct::I64, passes);
            return self.append_one(frame, first, more);
        }
        let one = self.constant(1);
        let lane = self.builder.ins().extractlane(passes, 0u8);
        let bit = self.builder.ins().band(lane, one);
        // Of a last odd row the first lane was counted before.
        let is_new = self.builder.ins().icmp(IntCC::Equal, row, first);
        let is_new = self.builder.ins().uextend(ct::I64, is_new);
        let bit = self.builder.ins().band(bit, is_new);
        self.append_one(frame, first, bit);
        let lane = self.builder.ins().extractlane(passes, 1u8);
        let bit = self.builder.ins().band(lane, one);
        let second = self.builder.ins().iadd(first, one);
        self.append_one(frame, second, bit);
    }

    fn append_one(&mut self, frame: &Frame, row: ir::Value, more: ir::Value) {
        let passed = self.builder.use_var(frame.passed);
        let address = self.selected(frame, passed);
        self.builder.ins().istore32(MemFlagsData::new().with_notrap(), row, address, 0);
        let passed = self.builder.ins().iadd(passed, more);
        self.builder.def_var(frame.passed, passed);
    }

    /// The address of a place of the selection.
    fn selected(&mut self, frame: &Frame, at: ir::Value) -> ir::Value {
        let four = self.constant(4);
        let offset = self.builder.ins().imul(at, four);
        self.builder.ins().iadd(frame.selection, offset)
    }

    fn value_loop(
        &mut self,
        graph: &Graph,
        piece: &Piece,
        parts: &Parts<'_>,
        frame: &Frame,
    ) -> Result<Vec<OutputLayout>> {
        let places = &frame.columns[frame.columns.len() - piece.slots.len()..];
        let passed = self.builder.use_var(frame.passed);
        let selects = parts.condition.is_some();
        if selects && self.two {
            self.repeat_last(frame, passed);
        }
        let mut layouts = Vec::new();
        self.repeat(passed, |e, at| {
            let (row, to) = match selects {
                true => (e.selected_rows(frame, at), at),
                false => {
                    let first = e.within(at, frame.rows);
                    (Row::From(first), first)
                }
            };
            let cells = e.cells(graph, piece, places, parts.nullable, row)?;
            for ((cell, root), place) in cells.into_iter().zip(&piece.roots).zip(&frame.results) {
                e.add_fault(frame, cell.fault);
                let physical = graph.node(*root).ty.physical();
                let layout = OutputLayout { physical, nullable: cell.null.is_some() };
                e.write(*place, layout, to, cell);
                layouts.push(layout);
            }
            Ok(())
        })?;
        Ok(layouts)
    }

    /// The last row that passed once more, for the second lane of an odd one.
    fn repeat_last(&mut self, frame: &Frame, passed: ir::Value) {
        let (some, after) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(passed, some, &[], after, &[]);
        self.builder.switch_to_block(some);
        let address = self.selected(frame, passed);
        let flags = MemFlagsData::new().with_notrap();
        let last = self.builder.ins().load(ct::I32, flags, address, -4);
        self.builder.ins().store(flags, last, address, 0);
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
    }

    fn selected_rows(&mut self, frame: &Frame, at: ir::Value) -> Row {
        let address = self.selected(frame, at);
        let flags = MemFlagsData::new().with_notrap();
        let first = self.builder.ins().uload32(flags, address, 0);
        let second = self.two.then(|| self.builder.ins().uload32(flags, address, 4));
        Row::At(first, second)
    }

    fn finish(&mut self, frame: &Frame) {
        let fault = self.builder.use_var(frame.fault);
        let fault = match self.two {
            true => {
                let first = self.builder.ins().extractlane(fault, 0u8);
                let second = self.builder.ins().extractlane(fault, 1u8);
                self.builder.ins().bor(first, second)
            }
            false => fault,
        };
        let refused = self.constant(-1);
        let passed = self.builder.use_var(frame.passed);
        let result = self.builder.ins().select(fault, refused, passed);
        self.builder.ins().return_(&[result]);
    }
}
