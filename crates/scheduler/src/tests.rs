//! Toy segments under the scheduler: every path of the state machine, without any data.

mod cost;
mod ends;
mod flows;
mod interleavings;
mod simulation;
mod stress;
mod toy;
