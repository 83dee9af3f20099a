//! CASE, COALESCE and NULLIF: each branch is computed and one is chosen, with its NULL and its fault.

use super::{Cell, Emitter, Mask, Operands};
use crate::kind::Kind;
use types::Comparison;

impl Emitter<'_, '_> {
    /// `a` where the mask is set, else `b`, of masks that may be absent.
    fn choose_mask(&mut self, mask: Mask, a: Option<Mask>, b: Option<Mask>) -> Option<Mask> {
        match (a, b) {
            (None, None) => None,
            (Some(a), None) => Some(self.and(a, mask)),
            (None, Some(b)) => Some(self.but_not(b, mask)),
            (Some(a), Some(b)) => {
                let (a, b) = (self.and(a, mask), self.but_not(b, mask));
                Some(self.or(a, b))
            }
        }
    }

    fn choose_cell(&mut self, kind: Kind, mask: Mask, a: Cell, b: Cell) -> Cell {
        let value = match kind {
            Kind::Bool => self.choose_mask(mask, Some(a.value), Some(b.value)).unwrap_or(a.value),
            _ => self.choose(mask, a.value, b.value),
        };
        Cell {
            value,
            null: self.choose_mask(mask, a.null, b.null),
            fault: self.choose_mask(mask, a.fault, b.fault),
        }
    }

    pub(super) fn case(&mut self, of: &Operands<'_>) -> Cell {
        let kind = Kind::of(of.ty()).unwrap_or(Kind::Bool);
        let (last, branches) = match of.cells.split_last() {
            Some((last, branches)) => (*last, branches),
            None => (Cell { value: self.truth(false), null: None, fault: None }, &[][..]),
        };
        let mut result = last;
        for branch in branches.chunks_exact(2).rev() {
            let taken = self.is_true(branch[0]);
            result = self.choose_cell(kind, taken, branch[1], result);
            result.fault = self.either(branch[0].fault, result.fault);
        }
        result
    }

    pub(super) fn coalesce(&mut self, of: &Operands<'_>) -> Cell {
        let kind = Kind::of(of.ty()).unwrap_or(Kind::Bool);
        let mut cells = of.cells.iter().rev();
        let Some(mut result) = cells.next().copied() else {
            return Cell { value: self.truth(false), null: None, fault: None };
        };
        for cell in cells {
            let fault = cell.fault;
            result = match cell.null {
                None => *cell,
                Some(null) => {
                    let plain = Cell { null: None, fault: None, ..*cell };
                    self.choose_cell(kind, null, result, plain)
                }
            };
            result.fault = self.either(fault.filter(|_| cell.null.is_some()), result.fault);
        }
        result
    }

    pub(super) fn null_if(&mut self, of: &Operands<'_>) -> Cell {
        let equal = self.comparison(of, Comparison::Equal);
        let same = self.is_true(equal);
        let value = of.cells[0];
        Cell { value: value.value, null: self.either(value.null, Some(same)), fault: equal.fault }
    }
}
