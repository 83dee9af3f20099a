//! Tests of the front end as its users see it: text in, statements or errors out.

mod catalog;
mod corpus;
mod correlated;
mod errors;
mod mutations;
mod nesting;
mod parameters;
mod snapshots;
mod speed;
mod statements;
mod typing;
