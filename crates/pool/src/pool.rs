//! Memory for blocks.

use std::sync::Arc;

use arrow_buffer::Buffer;
use block::{Block, EncodedBlock, IndexSpecification, Sketch};
use memory::{AllocationError, Arena, Budget};
use types::{Error, Result, SqlState};

/// A block in pool memory, with the sketches made while it was encoded, one a column.
#[derive(Clone, Debug)]
pub struct SealedBlock {
    pub block: Arc<Block>,
    pub sketches: Vec<Sketch>,
}

/// The source of blocks' memory; clones are the same pool.
#[derive(Clone, Debug)]
pub struct Pool {
    arena: Arena,
}

impl Pool {
    pub fn new(budget: Budget) -> Self {
        Pool { arena: Arena::new(budget) }
    }
    pub fn with_arena(arena: Arena) -> Self {
        Pool { arena }
    }
    pub fn arena(&self) -> &Arena {
        &self.arena
    }
    pub fn budget(&self) -> &Budget {
        self.arena.budget()
    }

    /// Writes an encoded block into slots of its own.
    pub fn seal(&self, mut encoded: EncodedBlock<'_>) -> Result<SealedBlock> {
        let mut slots = self.arena.allocate(encoded.len()).map_err(out_of_memory)?;
        encoded.write_into(&mut slots);
        let sketches = encoded.take_sketches();
        let block = Block::open_trusted(shared(slots))?;
        Ok(SealedBlock { block: Arc::new(block), sketches })
    }

    /// The block with more indices, in slots of their own; its data stay where they are and are shared. Indices that
    /// cannot be built on the block's data are left out.
    pub fn with_indices(&self, block: &Block, indices: &[IndexSpecification]) -> Result<Block> {
        let encoded = block.encode_indices(indices);
        let mut slots = self.arena.allocate(encoded.len()).map_err(out_of_memory)?;
        encoded.write_into(&mut slots);
        block.with_trusted_indices(shared(slots))
    }

    /// Takes in a block from bytes of any origin: they are copied, then validated.
    pub fn open(&self, bytes: &[u8]) -> Result<Arc<Block>> {
        let mut slots = self.arena.allocate(bytes.len()).map_err(out_of_memory)?;
        slots[..bytes.len()].copy_from_slice(bytes);
        // What lay in the slots before must not be taken for a part of the block.
        slots[bytes.len()..].fill(0);
        let buffer = shared(slots).slice_with_length(0, bytes.len());
        Ok(Arc::new(Block::open(buffer)?))
    }
}

/// Slots as a reference-counted buffer that returns them when its last holder goes.
fn shared(slots: memory::SlotRange) -> Buffer {
    Buffer::from(bytes::Bytes::from_owner(slots.freeze()))
}

/// The user's error for memory that is not there.
pub fn out_of_memory(error: impl Into<AllocationError>) -> Error {
    let error = error.into();
    let message = match &error {
        AllocationError::Budget(exceeded) => exceeded.to_string(),
        AllocationError::System { .. } => error.to_string(),
    };
    Error::new(SqlState::OutOfMemory, message)
        .with_hint("raise the limit with SET memory_limit, or drop tables that are no longer needed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::LayoutKind;
    use types::{Type, Value};
    use vector::{Batch, Vector};

    fn batch(rows: usize) -> Batch {
        let numbers: Vec<Value> = (0..rows as i64).map(Value::I64).collect();
        let names: Vec<Value> =
            (0..rows).map(|i| Value::text(&format!("a rather long name {}", i % 7))).collect();
        Batch::new(
            vec![Vector::from_values(Type::BigInt, &numbers), Vector::from_values(Type::Text, &names)],
            rows,
        )
    }

    const COLUMNS: [(Type, bool); 2] = [(Type::BigInt, false), (Type::Text, false)];

    #[test]
    fn dropping_the_last_holder_returns_the_slots() {
        let pool = Pool::new(Budget::unlimited());
        let parts = [batch(10_000)];
        let encoded = block::encode(&COLUMNS, &parts, LayoutKind::CompressedColumnStore).unwrap();
        let sealed = pool.seal(encoded).unwrap();
        assert_eq!(sealed.block.rows(), 10_000);
        assert!(pool.arena().used_bytes() > 0);
        let names = sealed.block.fetch(1, 5..9);
        drop(sealed);
        assert!(pool.arena().used_bytes() > 0, "the fetched strings keep the block's memory");
        assert_eq!(names.value(0), Value::text("a rather long name 5"));
        drop(names);
        assert_eq!(pool.arena().used_bytes(), 0);
    }

    #[test]
    fn bytes_are_validated_on_the_way_in() {
        let pool = Pool::new(Budget::unlimited());
        let parts = [batch(1000)];
        let encoded = block::encode(&COLUMNS, &parts, LayoutKind::CompressedColumnStore).unwrap();
        let bytes = pool.seal(encoded).unwrap().block.as_bytes().to_vec();
        assert_eq!(pool.open(&bytes).unwrap().fetch(0, 0..1000).value(999), Value::I64(999));
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        assert_eq!(pool.open(&damaged).unwrap_err().state(), SqlState::DataCorrupted);
        assert!(pool.open(&bytes[..100]).is_err());
        assert!(pool.open(&[]).is_err());
    }

    #[test]
    fn the_budget_is_a_clear_error() {
        let pool = Pool::new(Budget::new(1 << 16));
        let parts = [batch(200_000)];
        let encoded = block::encode(&COLUMNS, &parts, LayoutKind::ColumnStore).unwrap();
        let error = pool.seal(encoded).unwrap_err();
        assert_eq!(error.state(), SqlState::OutOfMemory);
        assert!(error.message().contains("limit"), "{error}");
    }
}
