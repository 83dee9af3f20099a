//! One file a family of operations. Every kernel takes flat vectors and constants, at least one of them flat or a
//! single row, and is tested against a slow evaluator of single values.

pub(crate) mod arithmetic;
pub(crate) mod calendar;
pub(crate) mod cast;
pub(crate) mod choose;
pub(crate) mod coded;
pub(crate) mod compare;
pub(crate) mod decimal;
pub(crate) mod fields;
pub(crate) mod float;
pub(crate) mod in_list;
pub(crate) mod integer;
pub(crate) mod logic;
pub(crate) mod negate;
pub(crate) mod temporal;
pub(crate) mod text;
