//! The answer of what looks at bytes of an index.

pub(crate) type Checked<T> = Result<T, String>;
