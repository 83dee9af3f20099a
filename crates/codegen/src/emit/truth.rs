//! Comparisons and three-valued logic.
//!
//! AND and OR take their operands in the order of the vectorised evaluator: those that may fail last, where only rows
//! that nothing before has settled can be at fault.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use expr::graph::ValueSet;
use types::{Comparison, Result, Value};

use super::{Cell, Emitter, Mask, Operands, unexpected};
use crate::kind::Kind;

impl Emitter<'_, '_> {
    pub(super) fn comparison(&mut self, of: &Operands<'_>, op: Comparison) -> Cell {
        let value = self.compared(of, op);
        self.strict(of, value, None)
    }

    fn compared(&mut self, of: &Operands<'_>, op: Comparison) -> Mask {
        let (a, b) = (of.cells[0].value, of.cells[1].value);
        let kind = Kind::of(of.operand_ty(0)).unwrap_or(Kind::Bool);
        match kind {
            Kind::Whole | Kind::Wide => {
                let condition = match op {
                    Comparison::Equal => IntCC::Equal,
                    Comparison::NotEqual => IntCC::NotEqual,
                    Comparison::Less => IntCC::SignedLessThan,
                    Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
                    Comparison::Greater => IntCC::SignedGreaterThan,
                    Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
                };
                self.compare_whole(condition, a, b)
            }
            _ => {
                // Equality and order make all six.
                let numbers = (Self::is_number(of, 0), Self::is_number(of, 1));
                match op {
                    Comparison::Equal => self.equal(kind, a, b, numbers),
                    Comparison::NotEqual => {
                        let equal = self.equal(kind, a, b, numbers);
                        self.not(equal)
                    }
                    Comparison::Less => self.less(kind, a, b, numbers),
                    Comparison::GreaterOrEqual => {
                        let less = self.less(kind, a, b, numbers);
                        self.not(less)
                    }
                    Comparison::Greater => self.less(kind, b, a, (numbers.1, numbers.0)),
                    Comparison::LessOrEqual => {
                        let less = self.less(kind, b, a, (numbers.1, numbers.0));
                        self.not(less)
                    }
                }
            }
        }
    }

    fn equal(&mut self, kind: Kind, a: ir::Value, b: ir::Value, numbers: (bool, bool)) -> Mask {
        match kind {
            Kind::Bool => {
                let differ = self.builder.ins().bxor(a, b);
                self.not(differ)
            }
            Kind::Whole | Kind::Wide => self.compare_whole(IntCC::Equal, a, b),
            Kind::Single | Kind::Double => self.floats_equal(a, b, numbers.0 || numbers.1),
        }
    }

    fn less(&mut self, kind: Kind, a: ir::Value, b: ir::Value, numbers: (bool, bool)) -> Mask {
        match kind {
            Kind::Bool => self.but_not(b, a),
            Kind::Whole | Kind::Wide => self.compare_whole(IntCC::SignedLessThan, a, b),
            Kind::Single | Kind::Double => self.float_less(a, b, numbers),
        }
    }

    fn fault_of_any(&mut self, of: &Operands<'_>) -> Option<Mask> {
        of.cells.iter().fold(None, |fault, cell| self.either(fault, cell.fault))
    }

    pub(super) fn not_distinct(&mut self, of: &Operands<'_>, negated: bool) -> Cell {
        let (a, b) = (of.cells[0], of.cells[1]);
        let mut same = self.compared(of, Comparison::Equal);
        if let Some(one) = self.either(a.null, b.null) {
            same = self.but_not(same, one);
        }
        if let (Some(a), Some(b)) = (a.null, b.null) {
            let both = self.and(a, b);
            same = self.or(same, both);
        }
        let value = if negated { self.not(same) } else { same };
        Cell { value, null: None, fault: self.fault_of_any(of) }
    }

    pub(super) fn is_null(&mut self, of: &Operands<'_>, negated: bool) -> Cell {
        let cell = of.cells[0];
        let null = match cell.null {
            Some(null) => null,
            None => self.truth(false),
        };
        let value = if negated { self.not(null) } else { null };
        Cell { value, null: None, fault: cell.fault }
    }

    pub(super) fn is_boolean(&mut self, of: &Operands<'_>, wanted: bool, negated: bool) -> Cell {
        let cell = of.cells[0];
        let mut same = if wanted { cell.value } else { self.not(cell.value) };
        if let Some(null) = cell.null {
            same = self.but_not(same, null);
        }
        let value = if negated { self.not(same) } else { same };
        Cell { value, null: None, fault: cell.fault }
    }

    /// Where a condition is TRUE: neither FALSE nor NULL.
    pub(super) fn is_true(&mut self, cell: Cell) -> Mask {
        match cell.null {
            Some(null) => self.but_not(cell.value, null),
            None => cell.value,
        }
    }

    pub(super) fn junction(&mut self, of: &Operands<'_>, and: bool) -> Cell {
        let operands = &of.graph.node(of.id).operands;
        let mut order: Vec<usize> = (0..operands.len()).collect();
        order.sort_by_key(|at| {
            let node = of.graph.node(operands[*at]);
            (node.fails, node.cost)
        });
        let (mut settled, mut unknown, mut fault): (Option<Mask>, Option<Mask>, Option<Mask>) =
            (None, None, None);
        for at in order {
            let cell = of.cells[at];
            let open = self.unless(cell.fault, settled);
            fault = self.either(fault, open);
            let mut settles = if and { self.not(cell.value) } else { cell.value };
            if let Some(null) = cell.null {
                settles = self.but_not(settles, null);
            }
            settled = self.either(settled, Some(settles));
            unknown = self.either(unknown, cell.null);
        }
        let settled = settled.unwrap_or_else(|| self.truth(false));
        let null = self.unless(unknown, Some(settled));
        let value = if and { self.not(settled) } else { settled };
        Cell { value, null, fault }
    }

    pub(super) fn in_list(
        &mut self,
        of: &Operands<'_>,
        set: &ValueSet,
        has_null: bool,
        negated: bool,
    ) -> Result<Cell> {
        let cell = of.cells[0];
        let mut found: Option<Mask> = None;
        for value in set.values() {
            let Some(value) = whole_of(value) else { return Err(unexpected(of)) };
            let value = self.whole(value);
            let equal = self.compare_whole(IntCC::Equal, cell.value, value);
            found = self.either(found, Some(equal));
        }
        let found = found.unwrap_or_else(|| self.truth(false));
        let mut null = cell.null;
        if has_null {
            // What is not found may be the NULL of the list.
            let missing = self.not(found);
            null = self.either(null, Some(missing));
        }
        let value = if negated { self.not(found) } else { found };
        Ok(Cell { value, null, fault: cell.fault })
    }
}

fn whole_of(value: &Value) -> Option<i64> {
    match value {
        Value::I16(v) => Some(i64::from(*v)),
        Value::I32(v) => Some(i64::from(*v)),
        Value::I64(v) => Some(*v),
        _ => None,
    }
}
