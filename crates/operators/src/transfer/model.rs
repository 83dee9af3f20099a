//! What handing rows on costs in addition to the operators' own work: the model of Deshmukh, Sundarmurthy and Patel
//! (2019), section 4, for a selection whose output is probed. Per unit of transfer of `B` bytes, with `T` threads:
//!
//! | | the paper | here |
//! | --- | --- | --- |
//! | high | `W_mem + AR_L3 + p1 M_L3` | `high` |
//! | low | `2 IC + p2 (M_L3 + R_L3) + p1' (M_L3 + R_L3 + W_mem)` | `low` |
//! | p1' | `min(1, 2 B T / L3)` | the same |
//! | p2 | near 1 for small units, near 0 for large ones | `1 - p1'` |
//! | p1 | that a probe's reads broke the run through its input | 1: once a unit |
//!
//! `W_mem`, `R_L3` and `AR_L3` are costs of a whole unit and grow with it: `W_mem` and `AR_L3` are nanoseconds a byte
//! here, times `B`. A run through memory that was disturbed costs its first page at the price of pages in no order,
//! and goes on as before: `R_L3` is `AR_L3` and so much, and the selection, which reads its input at both ends of the
//! spectrum, is charged that page alone. (With the paper's `R_L3`, and a memory that favours long runs as much as
//! those of today do, small units would always lose, which is not what they or we measured.) `vector` is the low end
//! with a batch for a unit. What a unit costs to make and to keep account of is in neither formula, as in the paper;
//! a file behind the intermediate rows adds `file` a byte.

use workorder::UnitOfTransfer;

use super::machine::Constants;

/// After so many bytes the prefetcher has seen where a run goes.
const PAGE_BYTES: f64 = 4096.0;

/// Extra nanoseconds of one unit of so many bytes when the consumer begins after the producer.
pub fn high(bytes: f64, constants: &Constants) -> f64 {
    bytes * (constants.write + constants.read_ahead) + constants.miss
}

/// Extra nanoseconds of one unit of so many bytes when it is consumed as soon as it is full.
pub fn low(bytes: f64, threads: f64, constants: &Constants) -> f64 {
    let evicted = (2.0 * bytes * threads / constants.cache_bytes).min(1.0);
    let disturbed = 1.0 - evicted;
    let begin = constants.miss + (constants.read - constants.read_ahead).max(0.0) * PAGE_BYTES;
    2.0 * constants.instruction_miss
        + disturbed * begin
        + evicted * (begin + bytes * (constants.read_ahead + constants.write))
}

/// Extra nanoseconds a byte of what is handed on; a batch has `batch_bytes`, a block `block_bytes`.
pub fn per_byte(
    unit: UnitOfTransfer,
    batch_bytes: f64,
    block_bytes: f64,
    threads: f64,
    constants: &Constants,
) -> f64 {
    let bytes = match unit {
        UnitOfTransfer::Vector => batch_bytes,
        UnitOfTransfer::Block | UnitOfTransfer::Table => block_bytes,
        UnitOfTransfer::Blocks(blocks) => block_bytes * f64::from(blocks),
    }
    .max(1.0);
    match unit {
        UnitOfTransfer::Table => high(bytes, constants) / bytes,
        _ => low(bytes, threads, constants) / bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's machine: 25 MB of cache; about 10 GB/s to and from memory for one thread.
    const PAPER: Constants = Constants {
        cache_bytes: 25e6,
        write: 0.1,
        read: 0.1,
        read_ahead: 0.05,
        miss: 80.0,
        instruction_miss: 300.0,
        file: 5.0,
    };

    /// Section 4.3: at large units the two ends cost the same; at small ones the low end is ahead.
    #[test]
    fn the_ends_of_the_spectrum_are_as_the_paper_has_them() {
        let ratio = |bytes: f64, threads: f64| high(bytes, &PAPER) / low(bytes, threads, &PAPER);
        for threads in [10.0, 20.0] {
            let large = ratio(2e6, threads);
            assert!((0.7..1.4).contains(&large), "{large}");
        }
        assert!(ratio(128.0 * 1024.0, 20.0) > 1.0, "the low end is ahead");
        assert!(ratio(128.0 * 1024.0, 1.0) > ratio(2e6, 20.0));
    }

    #[test]
    fn costs_a_byte_are_those_of_the_unit() {
        let cost = |unit| per_byte(unit, 4e4, 1e6, 2.0, &PAPER);
        assert!((cost(UnitOfTransfer::Blocks(1)) - cost(UnitOfTransfer::Block)).abs() < 1e-12);
        assert!((cost(UnitOfTransfer::Table) - high(1e6, &PAPER) / 1e6).abs() < 1e-12);
        assert!(cost(UnitOfTransfer::Blocks(8)) > cost(UnitOfTransfer::Vector));
        assert!(cost(UnitOfTransfer::Table) > cost(UnitOfTransfer::Vector));
    }
}
