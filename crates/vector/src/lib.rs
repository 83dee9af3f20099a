//! Data in flight: batches of typed vectors, zero-copy to and from Arrow.
