//! How expressions are evaluated: the switch `execution`.

use types::switch::Switch;

/// How the expressions of a pipeline are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Operation by operation over vectors.
    Vectorized,
    /// By code that is compiled before the first batch.
    Compiled,
    /// Vectorised first; by code, once it is compiled and where it measures faster.
    Auto,
}

impl Switch for Execution {
    const VALUES: &'static [(&'static str, Self)] = &[
        ("vectorized", Execution::Vectorized),
        ("compiled", Execution::Compiled),
        ("auto", Execution::Auto),
    ];
    const PLANNED: &'static [&'static str] = &["iterator"];
}
