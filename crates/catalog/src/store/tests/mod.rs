//! Durability: a model that says what has to be there, a disk that loses what was not synced, bytes that are damaged.

mod basics;
mod damage;
mod faults;
mod kill;
mod model;
mod nulls;
mod packed;
mod simulation;
mod watched;

use std::sync::{Arc, OnceLock};

use block::LayoutKind;
use files::{FileManager, SimulatedFiles};
use memory::Budget;
use pool::{BLOCK_BYTES_MIN, BlockWriter, Pool, SealedBlock, WriterOptions};
use types::{Type, Value};
use vector::{Batch, Vector};

use super::*;

/// One for all tests: what it maps it keeps.
fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(Budget::unlimited()))
}

/// A small generator, so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

fn open(files: &SimulatedFiles) -> Result<Opened> {
    open_as(files, Access::Write)
}

fn open_as(files: &SimulatedFiles, access: Access) -> Result<Opened> {
    let files: Arc<dyn FileManager> = Arc::new(files.clone());
    Store::open(files, pool(), access)
}

/// Sealed blocks of BIGINT columns that may be NULL, one value a column for each row.
fn blocks(columns: usize, rows: &[Vec<Option<i64>>]) -> Vec<SealedBlock> {
    let encoding = LayoutKind::CompressedColumnStore.into();
    let options = WriterOptions { encoding, block_bytes: BLOCK_BYTES_MIN, partitions: None };
    let mut writer = BlockWriter::new(pool().clone(), vec![(Type::BigInt, true); columns], options);
    let column = |c: usize| {
        let values: Vec<Value> = rows.iter().map(|row| row[c].map_or(Value::Null, Value::I64)).collect();
        Vector::from_values(Type::BigInt, &values)
    };
    let mut sealed = writer.push(Batch::new((0..columns).map(column).collect(), rows.len())).unwrap();
    sealed.extend(writer.finish().unwrap());
    sealed
}
