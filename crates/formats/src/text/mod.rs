//! Text with delimiters: CSV, TSV and dbgen's tables.
//!
//! What a quote means is PostgreSQL's CSV, but strict: a value is quoted from its first byte to its last or not at
//! all, and a quote inside a quoted value is doubled. Under that rule a byte lies inside quotes exactly when an odd
//! number of quotes stands before it, which is what lets a file be cut anywhere and read in parallel.

mod columns;
mod dialect;
mod faults;
mod given;
mod guess;
mod parse;
mod reader;
mod report;
mod sample;
mod sniff;
mod split;

pub use given::Given;
pub use reader::TextFiles;
pub use report::report;
pub use sniff::describe;
