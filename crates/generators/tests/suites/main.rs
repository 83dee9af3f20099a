//! Tests of the generated data through the public interface: one program, so the crate is linked once.

mod cutting;
mod keys;
mod reading;
mod selectivity;
mod speed;
mod ssb;
mod tpch;
