//! Rows in memory: what the code reads and writes.
//!
//! ```text
//! columns read     16 bytes each: address of the values, address of the validity's bits (row 0 is bit 0)
//! columns written  16 bytes each: address of the values, address of a byte a row, 1 where the row is not NULL
//! ```
//! Truth values are read as bits and written as bytes. Bits are followed by eight bytes that may be read.

use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types as ct};
use types::Physical;

use super::{Cell, Emitter, Mask};

/// Bytes of a column's entry in the lists that the code gets.
const ENTRY: i32 = 16;

/// A column that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotLayout {
    pub physical: Physical,
    /// Its validity is looked at.
    pub nullable: bool,
}

/// A column that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputLayout {
    pub physical: Physical,
    /// A byte a row tells whether it is not NULL.
    pub nullable: bool,
}

/// Which rows are in flight.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// This row, or this and the next.
    From(ir::Value),
    /// These.
    At(ir::Value, Option<ir::Value>),
}

/// Where a column lies, in registers.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub values: ir::Value,
    pub validity: ir::Value,
}

fn trusted() -> MemFlagsData {
    // Addresses are given by the caller and are not aligned for 128 bits.
    MemFlagsData::new().with_notrap()
}

fn width(physical: Physical) -> i64 {
    physical.width() as i64
}

impl Emitter<'_, '_> {
    /// The entries of a list of columns.
    pub(super) fn places(&mut self, list: ir::Value, count: usize) -> Vec<Place> {
        let entry = |at: usize| ENTRY * at as i32;
        (0..count)
            .map(|at| Place {
                values: self.builder.ins().load(ct::I64, trusted(), list, entry(at)),
                validity: self.builder.ins().load(ct::I64, trusted(), list, entry(at) + 8),
            })
            .collect()
    }

    fn address(&mut self, base: ir::Value, row: ir::Value, width: i64) -> ir::Value {
        let width = self.builder.ins().iconst(ct::I64, width);
        let offset = self.builder.ins().imul(row, width);
        self.builder.ins().iadd(base, offset)
    }

    /// The rows' value.
    pub(super) fn read(&mut self, place: Place, layout: SlotLayout, row: Row) -> Cell {
        let value = match layout.physical {
            Physical::Bool => self.read_bits(place.values, row, false),
            physical => self.read_values(place.values, physical, row),
        };
        let null = layout.nullable.then(|| self.read_bits(place.validity, row, true));
        Cell { value, null, fault: None }
    }

    fn read_values(&mut self, base: ir::Value, physical: Physical, row: Row) -> ir::Value {
        if let (true, Row::From(first)) = (self.two, row) {
            let address = self.address(base, first, width(physical));
            match physical {
                Physical::I64 => return self.builder.ins().load(ct::I64X2, trusted(), address, 0),
                Physical::F64 => return self.builder.ins().load(ct::F64X2, trusted(), address, 0),
                Physical::I32 => return self.builder.ins().sload32x2(trusted(), address, 0),
                _ => {}
            }
        }
        let (first, second) = self.rows_of(row);
        let value = self.read_value(base, physical, first);
        match second {
            Some(second) => {
                let other = self.read_value(base, physical, second);
                self.pair(value, other)
            }
            None => value,
        }
    }

    fn read_value(&mut self, base: ir::Value, physical: Physical, row: ir::Value) -> ir::Value {
        let address = self.address(base, row, width(physical));
        let ins = self.builder.ins();
        match physical {
            Physical::I16 => ins.sload16(ct::I64, trusted(), address, 0),
            Physical::I32 => ins.sload32(trusted(), address, 0),
            Physical::I128 => ins.load(ct::I128, trusted(), address, 0),
            Physical::F32 => ins.load(ct::F32, trusted(), address, 0),
            Physical::F64 => ins.load(ct::F64, trusted(), address, 0),
            _ => ins.load(ct::I64, trusted(), address, 0),
        }
    }

    /// The rows in flight, one by one.
    fn rows_of(&mut self, row: Row) -> (ir::Value, Option<ir::Value>) {
        match row {
            Row::At(first, second) => (first, second),
            Row::From(first) if self.two => {
                let one = self.builder.ins().iconst(ct::I64, 1);
                (first, Some(self.builder.ins().iadd(first, one)))
            }
            Row::From(first) => (first, None),
        }
    }

    /// A bit of the rows as a mask, turned around if asked for.
    fn read_bits(&mut self, base: ir::Value, row: Row, turned: bool) -> Mask {
        let (first, second) = self.rows_of(row);
        let bit = self.read_bit(base, first);
        let Some(second) = second else {
            let byte = self.builder.ins().ireduce(ct::I8, bit);
            return if turned { self.not(byte) } else { byte };
        };
        let other = self.read_bit(base, second);
        let (one, zero) = (self.builder.ins().iconst(ct::I64, 1), self.builder.ins().iconst(ct::I64, 0));
        let mask = |e: &mut Self, bit: ir::Value| match turned {
            true => e.builder.ins().isub(bit, one),
            false => e.builder.ins().isub(zero, bit),
        };
        let (bit, other) = (mask(self, bit), mask(self, other));
        self.pair(bit, other)
    }

    /// The bit of a row as 0 or 1.
    fn read_bit(&mut self, base: ir::Value, row: ir::Value) -> ir::Value {
        let (three, seven, one) = (
            self.builder.ins().iconst(ct::I64, 3),
            self.builder.ins().iconst(ct::I64, 7),
            self.builder.ins().iconst(ct::I64, 1),
        );
        let byte = self.builder.ins().ushr(row, three);
        let address = self.builder.ins().iadd(base, byte);
        let byte = self.builder.ins().uload8(ct::I64, trusted(), address, 0);
        let within = self.builder.ins().band(row, seven);
        let bit = self.builder.ins().ushr(byte, within);
        self.builder.ins().band(bit, one)
    }

    /// Writes the rows' value at `at`, and at the place behind it with two in flight.
    pub(super) fn write(&mut self, place: Place, layout: OutputLayout, at: ir::Value, cell: Cell) {
        if layout.nullable {
            let valid = match cell.null {
                Some(null) => self.not(null),
                None => self.truth(true),
            };
            self.write_truth(place.validity, at, valid);
        }
        let physical = layout.physical;
        if physical == Physical::Bool {
            return self.write_truth(place.values, at, cell.value);
        }
        let address = self.address(place.values, at, width(physical));
        if !self.two || matches!(physical, Physical::I64 | Physical::F64) {
            return self.write_value(physical, cell.value, address, 0);
        }
        for lane in 0..2u8 {
            let value = self.builder.ins().extractlane(cell.value, lane);
            self.write_value(physical, value, address, i32::from(lane) * width(physical) as i32);
        }
    }

    fn write_value(&mut self, physical: Physical, value: ir::Value, address: ir::Value, offset: i32) {
        let ins = self.builder.ins();
        match physical {
            Physical::I16 => ins.istore16(trusted(), value, address, offset),
            Physical::I32 => ins.istore32(trusted(), value, address, offset),
            _ => ins.store(trusted(), value, address, offset),
        };
    }

    /// A byte a row, 0 or 1.
    fn write_truth(&mut self, base: ir::Value, at: ir::Value, mask: Mask) {
        let address = self.builder.ins().iadd(base, at);
        if !self.two {
            self.builder.ins().store(trusted(), mask, address, 0);
            return;
        }
        let one = self.builder.ins().iconst(ct::I64, 1);
        for lane in 0..2u8 {
            let value = self.builder.ins().extractlane(mask, lane);
            let bit = self.builder.ins().band(value, one);
            self.builder.ins().istore8(trusted(), bit, address, i32::from(lane));
        }
    }
}
