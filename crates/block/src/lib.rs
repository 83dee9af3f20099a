//! Data at rest: the bytes of a block, its tuple stores and codings, and predicates on codes.
