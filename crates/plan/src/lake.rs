//! What a table format (Delta Lake, Iceberg) says of a file of its table, beyond the file itself.
//!
//! Crate `lakes` reads a table's metadata and makes a `FilePart` of each data file, without opening one. Where the
//! file has the table's columns is therefore not known by position: a [`StoredColumn`] says by which identifier or name
//! it is found when crate `formats` opens the file. Rows that the table has deleted stay in the file and are named by
//! [`Deletions`], which are read when the file is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Type, Value};

use crate::Zone;

/// A data file of a table: what of it is known, and which of its rows are deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LakeFile {
    /// The table's columns as files hold them; `PartColumn::Stored` counts these. All files of a table share them.
    pub stored: Arc<[StoredColumn]>,
    /// Bounds and counts by position in the relation. The table's format promises them, so files are passed over by
    /// them as row groups are by the file's own.
    pub zones: Vec<(usize, Zone)>,
    /// Rows that are deleted: those of all of these.
    pub deletions: Vec<Deletions>,
}

/// A column as it is found in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredColumn {
    /// The field identifier that the file's column has.
    pub id: Option<i32>,
    /// Names that it goes by where columns are found by name, or in files without identifiers.
    pub names: Vec<String>,
    /// The type that it is to have.
    pub ty: Type,
    /// What stands inside: a struct's fields, a list's element, a map's key and value.
    pub inner: Vec<StoredColumn>,
    /// The value of all rows of files that do not have the column.
    pub missing: Value,
}

/// Rows of a data file that its table has deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Deletions {
    /// A bitmap of row numbers, in a file of such.
    Vector {
        /// The file with the bitmap.
        path: String,
        /// Where the bitmap begins: at its length.
        offset: u64,
        /// Its bytes, without length and checksum.
        bytes: u64,
        /// How many rows it names.
        rows: u64,
    },
    /// A bitmap of row numbers.
    Inline {
        /// The bitmap.
        bitmap: Vec<u8>,
        /// How many rows it names.
        rows: u64,
    },
    /// A Parquet file that names data files and rows of them.
    Positions {
        /// The file with columns `file_path` and `pos`.
        path: String,
        /// The data file, as the table's metadata names it.
        data_path: String,
    },
    /// A Parquet file with values: rows that are equal to one of its rows are deleted.
    Values {
        /// The file.
        path: String,
        /// The columns that are compared, as they are stored.
        columns: Vec<StoredColumn>,
    },
}
