//! `pg_catalog` of a statement: its relations and functions over the statement's snapshot.
//!
//! What is in the catalog and what answers for it is the crate `pgcatalog`'s; here a statement's snapshot, views and
//! settings become what that crate reads, once for each statement that asks, and its functions become functions that
//! plans can call. Callers are the answers of `SessionRelations` to the binder.

mod rows;

use std::sync::{Arc, OnceLock};

use pgcatalog::Catalog;
pub(crate) use rows::{STANDARD, functions, rows, sequence_view};

/// A statement's catalog, made when it is first asked for.
#[derive(Default)]
pub(crate) struct PgCatalog(OnceLock<Arc<Catalog>>);
