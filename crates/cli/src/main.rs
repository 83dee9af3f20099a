//! The quickstep command.
#![forbid(unsafe_code)]

fn main() {}
