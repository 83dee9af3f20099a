//! Every format against what was written, at every cut, and against damage.

mod arrow_files;
mod malformed;
mod measure;
mod odd_parquet;
mod parquet_files;
mod pruning;
mod refused;
mod text_files;
mod tiny_buffers;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use random::Random;
use types::{Result, Value};
use vector::Batch;

use crate::Environment;
use crate::Reader;

/// A file that is gone when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A file with these bytes in the folder of temporary files; its name ends in `name`.
    pub fn new(name: &str, bytes: &[u8]) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("formats-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{number}-{name}"));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }
    /// The path as text.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The batch's values, row by row.
pub fn values(batch: &Batch) -> Vec<Vec<Value>> {
    (0..batch.rows).map(|row| batch.columns.iter().map(|c| c.value(row)).collect()).collect()
}

/// All rows of all units, in order.
pub fn rows(reader: &dyn Reader) -> Result<Vec<Vec<Value>>> {
    let mut out = Vec::new();
    for unit in 0..reader.units()? {
        reader.read(unit, &mut |batch| {
            out.extend(values(&batch));
            Ok(true)
        })?;
    }
    Ok(out)
}

/// Describes a file and reads all of it.
pub fn read_all(path: &str) -> Result<Vec<Vec<Value>>> {
    let source = crate::describe(&Environment::of_tests(), path, &[])?;
    let columns: Vec<usize> = (0..source.schema.len()).collect();
    rows(crate::open(&Environment::of_tests(), &source, &columns, 1024)?.as_ref())
}
