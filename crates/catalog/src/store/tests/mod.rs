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
use random::Random;
use types::{Type, Value};
use vector::{Batch, Vector};

use super::*;

/// One for all tests: what it maps it keeps.
fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(Budget::unlimited()))
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
