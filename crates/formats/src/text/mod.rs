//! Text with delimiters: CSV, TSV and dbgen's tables.
//!
//! What a quote means is PostgreSQL's CSV, but strict: a value is quoted from its first byte to its last or not at
//! all, and a quote inside a quoted value is doubled. Under that rule a byte lies inside quotes exactly when an odd
//! number of quotes stands before it, which is what lets a file be cut anywhere and read in parallel.

mod columns;
mod dialect;
mod reader;
mod sniff;
mod split;

pub use dialect::Given;
pub use reader::TextFiles;
pub use sniff::describe;
