//! The unit of transfer: how much of its output a producer hands to its consumer at a time.
//!
//! Deshmukh, Sundarmurthy and Patel ("Pipelining" and "blocking" are two ends of one spectrum, 2019; section 2): one
//! tuple at one end, the whole intermediate table at the other. Ours begins at a batch, which the producer's own work
//! order hands on:
//!
//! ```text
//!  vector        block        blocks(k)                       table
//!  |-------------|------------|-------------------------------|
//!  same order    an order of the consumer a full block, k     the consumer begins when
//!                full blocks                                  the producer has ended
//! ```

use std::fmt;

/// How a producer's output reaches its consumer; a parameter of every work order, so that a change applies from the next
/// one on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnitOfTransfer {
    /// The consumer runs inside the producer's work order, on batches of a few thousand rows.
    #[default]
    Vector,
    /// The output fills blocks, and each full block is a work order of the consumer.
    Block,
    /// So many full blocks are one work order of the consumer.
    Blocks(u32),
    /// The consumer begins when all of the output is there.
    Table,
}

impl UnitOfTransfer {
    /// The most blocks that `blocks(k)` takes.
    pub const BLOCKS_MAX: u32 = 1 << 16;

    /// The consumer runs inside the producer's work orders: nothing is written down between them.
    pub fn is_fused(self) -> bool {
        self == UnitOfTransfer::Vector
    }

    /// Blocks that make a unit. Those of a table are handed on when all are there, one by one.
    pub fn blocks(self) -> u32 {
        match self {
            UnitOfTransfer::Blocks(blocks) => blocks.max(1),
            _ => 1,
        }
    }

    /// Reads what `Display` writes, in any case.
    pub fn parse(text: &str) -> Option<UnitOfTransfer> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "vector" => Some(UnitOfTransfer::Vector),
            "block" => Some(UnitOfTransfer::Block),
            "table" => Some(UnitOfTransfer::Table),
            other => {
                let blocks = other.strip_prefix("blocks")?.trim().strip_prefix('(')?.strip_suffix(')')?;
                let blocks = blocks.trim().parse().ok()?;
                (1..=Self::BLOCKS_MAX).contains(&blocks).then_some(UnitOfTransfer::Blocks(blocks))
            }
        }
    }
}

impl fmt::Display for UnitOfTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitOfTransfer::Vector => f.write_str("vector"),
            UnitOfTransfer::Block => f.write_str("block"),
            UnitOfTransfer::Blocks(blocks) => write!(f, "blocks({blocks})"),
            UnitOfTransfer::Table => f.write_str("table"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_reads_what_it_writes() {
        use UnitOfTransfer as U;
        for unit in [U::Vector, U::Block, U::Blocks(1), U::Blocks(7), U::Table] {
            assert_eq!(U::parse(&unit.to_string()), Some(unit));
        }
        assert_eq!(U::parse(" BLOCKS ( 4 ) "), Some(U::Blocks(4)));
        for wrong in
            ["", "blocks", "blocks(0)", "blocks(-1)", "blocks(65537)", "blocks(4", "tables", "vectors"]
        {
            assert_eq!(U::parse(wrong), None, "{wrong}");
        }
    }
}
