//! The buffer pool: slots, pins and the bytes of blocks.
#![forbid(unsafe_code)]
