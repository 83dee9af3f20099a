//! Data files of table formats (Delta Lake, Iceberg): what crate `lakes` has found in a table's metadata is done here
//! when a file is read.
//!
//! `parts` passes over files by the bounds that the metadata has, and asks this module to open the others: the columns
//! are looked up in the file by identifier or name and brought to the table's types (`stored`), deleted rows are read
//! (`deletions`, `row_set`) and left out window by window (`window`). [`Folder`] is how a table's own files are listed
//! and read; [`records`] reads rows of a Parquet file as JSON, which is how checkpoints hold a log.

pub(crate) mod deletions;
mod folder;
mod records;
pub(crate) mod row_set;
pub(crate) mod stored;
pub(crate) mod window;

pub use folder::{Folder, Listed, uncompressed};
pub use records::records;
