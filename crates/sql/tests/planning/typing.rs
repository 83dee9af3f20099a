//! typing
