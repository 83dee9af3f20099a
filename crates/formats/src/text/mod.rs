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
mod header;
mod parse;
mod reader;
mod report;
mod sample;
mod sniff;
mod split;

pub use columns::{BadValue, Fields};
pub use dialect::{Dialect, Forms, Pattern};
pub use faults::{Lines, Place, Rejected, bad_value, shown, value_cause};
pub use given::{Given, Packing, boolean, invalid, typed};
pub use guess::{Guess, Order};
pub use reader::{TextFiles, range_bytes, text_begin};
pub use report::report;
pub use sniff::{describe, given_formats};
pub use split::Span;
