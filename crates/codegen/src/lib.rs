//! Compiles expressions of a pipeline into machine code: a condition and the values of the rows that pass, in one
//! function.
//!
//! ```text
//!  expr's graph --shape--> steps and columns --emit--> Cranelift's form --machine--> code --run--> vectors
//!                                                            cache: by shape, for all queries
//! ```
//! A `Computation` is what operators hold: it has a vectorised and a compiled way, and `execution` says which is taken.
//! Code never fails: a batch that it cannot vouch for goes to the vectorised evaluator, which is the definition. This
//! crate leaves to others: which operators have computations, and what rows are.

mod cache;
mod choice;
mod computation;
mod emit;
mod execution;
mod functions;
mod kind;
mod machine;
mod run;
mod shape;

pub use cache::{Cache, Counts};
pub use computation::{Computation, How, Lanes};
pub use execution::Execution;
