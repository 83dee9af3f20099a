//! The pool's interface: blocks sealed into memory, or opened from bytes and files.
//!
//! [`Pool`] is a handle; its state is the `Residency` behind it, which all clones share: two arenas under one budget,
//! the list of evictable blocks, the replacement policy and the temporary file. Invariants: bytes of any origin are
//! checked before their values are read; what lies in the arena is charged to the budget, and a block's slots go back
//! when its last holder goes. Writers of tables call `seal`, the storage layer calls `open_stored` and `open_known`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_buffer::Buffer;
use block::{Block, EncodedBlock, IndexSpecification, Metadata, Part, Sketch};
use memory::{AllocationError, Arena, Budget, Topology};
use types::{Error, Result, SqlState};

use crate::residency::{Holding, PoolStatistics, Replacement, Residency, TemporaryFile};
use files::FileReader;

/// A block in pool memory, with the sketches made while it was encoded, one a column.
#[derive(Clone, Debug)]
pub struct SealedBlock {
    /// The block, readable as it is.
    pub block: Arc<Block>,
    /// One for each column, by its position.
    pub sketches: Vec<Sketch>,
}

/// The source of blocks' memory; clones are the same pool.
#[derive(Clone, Debug)]
pub struct Pool {
    residency: Arc<Residency>,
    /// Sealed blocks may be evicted.
    evicts: bool,
}

impl Pool {
    /// A pool whose sealed blocks stay in memory.
    pub fn new(budget: Budget) -> Self {
        Pool::with_arena(Arena::new(budget))
    }
    /// As `new`, with memory from this arena, charged to its budget.
    pub fn with_arena(arena: Arena) -> Self {
        Pool { residency: Residency::new(arena), evicts: false }
    }
    /// A pool whose sealed blocks are written to a temporary file when memory is wanted, once `set_temporary_folder` or
    /// `set_temporary_file` has said where.
    pub fn evicting(budget: Budget) -> Self {
        Pool { evicts: true, ..Pool::new(budget) }
    }
    /// As `evicting`, on a machine with these memory nodes.
    pub fn evicting_on(budget: Budget, topology: Topology) -> Self {
        Pool { evicts: true, ..Pool::with_arena(Arena::with_topology(budget, topology)) }
    }
    /// The arena of whole blocks; columns read from files have another.
    pub fn arena(&self) -> &Arena {
        &self.residency.blocks
    }
    /// Where what is read from files comes to.
    #[cfg(test)]
    pub(crate) fn pages(&self) -> &Arena {
        &self.residency.pages
    }
    /// A file of the temporary folder that has no name, and ends with its last handle; `None` where there is no folder.
    pub fn unnamed_file(&self) -> Option<Result<std::fs::File>> {
        self.residency.temporary_folder().map(|folder| crate::residency::unnamed_file(&folder))
    }
    /// The budget that all memory of the pool is charged to.
    pub fn budget(&self) -> &Budget {
        self.arena().budget()
    }

    /// Writes an encoded block into slots of its own. 53200 when the budget has no room for it, even after eviction.
    pub fn seal(&self, encoded: EncodedBlock<'_>) -> Result<SealedBlock> {
        self.seal_on(encoded, None)
    }

    /// As `seal`, in the memory of a node where the machine has several.
    pub fn seal_on(&self, mut encoded: EncodedBlock<'_>, node: Option<usize>) -> Result<SealedBlock> {
        let length = encoded.len();
        let slots = self.arena().allocate_on(length, node).map_err(|e| self.residency.refused(e));
        let mut slots = slots?;
        debug_assert!(slots.len() >= length, "{} bytes for {length}", slots.len());
        encoded.write_into(&mut slots);
        let sketches = encoded.take_sketches();
        let block = Block::open_trusted(shared(slots))?;
        if !self.evicts {
            return Ok(SealedBlock { block: Arc::new(block), sketches });
        }
        debug_assert!(sketches.is_empty() || sketches.len() == block.columns(), "a sketch for each column");
        let metadata = Arc::new(Metadata::read(block.as_bytes(), length as u64)?);
        debug_assert!(
            metadata.block_bytes() <= length as u64,
            "{} bytes of {length}",
            metadata.block_bytes()
        );
        if !metadata.comes_apart() {
            return Ok(SealedBlock { block: Arc::new(block), sketches });
        }
        let piece = block.into_piece().ok_or_else(|| Error::internal("an encoded block has one run"))?;
        let holding = Holding::sealed(&self.residency, metadata.clone(), piece);
        if let Some(node) = node {
            block::Source::lies_on(&*holding, node);
        }
        Ok(SealedBlock { block: Arc::new(Block::absent(&metadata, holding)), sketches })
    }

    /// The block with more indices, in slots of their own; its data stay where they are and are shared, and come and go
    /// as before. Indices that cannot be built on the block's data are left out.
    pub fn with_indices(&self, block: &Block, indices: &[IndexSpecification]) -> Result<Block> {
        let pinned = block.pin_all()?;
        let encoded = block.encode_indices_of(&pinned, indices);
        let mut slots = self.arena().allocate(encoded.len()).map_err(|e| self.residency.refused(e))?;
        encoded.write_into(&mut slots);
        block.with_trusted_indices(&pinned, shared(slots))
    }

    /// Takes in a block from bytes of any origin: they are copied, then validated. It stays in memory.
    pub fn open(&self, bytes: &[u8]) -> Result<Arc<Block>> {
        let mut slots = self.arena().allocate(bytes.len()).map_err(|e| self.residency.refused(e))?;
        slots[..bytes.len()].copy_from_slice(bytes);
        // What lay in the slots before must not be taken for a part of the block.
        slots[bytes.len()..].fill(0);
        let buffer = shared(slots).slice_with_length(0, bytes.len());
        Ok(Arc::new(Block::open(buffer)?))
    }

    /// A block in a file, whose first byte is the file's byte `at` and which has at most `length` bytes. Its metadata is
    /// read and checked; its columns are when they are pinned.
    pub fn open_stored(&self, reader: Arc<dyn FileReader>, at: u64, length: u64) -> Result<Arc<Block>> {
        let located = |error: Error| {
            let message = format!("block at byte {at} of {}: {}", reader.describe(), error.message());
            Error::new(error.state(), message)
        };
        let length = length.min(reader.bytes().saturating_sub(at));
        let mut bytes = vec![0; METADATA_READ_BYTES.min(length) as usize];
        reader.read_at(at, &mut bytes)?;
        let needed = Metadata::length(&bytes, length).map_err(located)?;
        debug_assert!(needed as u64 <= length, "{needed} bytes of metadata in a block of {length}");
        if needed > bytes.len() {
            let known = bytes.len();
            // A length that is absurd but within the file is still paid for.
            let _room = self.budget().reserve(needed as u64).map_err(out_of_memory)?;
            bytes.resize(needed, 0);
            reader.read_at(at + known as u64, &mut bytes[known..])?;
        }
        let metadata = Arc::new(Metadata::read(&bytes, length).map_err(located)?);
        if !metadata.comes_apart() {
            let whole = metadata.block_bytes() as usize;
            let mut slots = self.arena().allocate(whole).map_err(|e| self.residency.refused(e))?;
            reader.read_at(at, &mut slots[..whole])?;
            let buffer = shared(slots).slice_with_length(0, whole);
            return Ok(Arc::new(Block::open(buffer).map_err(located)?));
        }
        let holding = Holding::stored(&self.residency, metadata.clone(), reader, at);
        Ok(Arc::new(Block::absent(&metadata, holding)))
    }

    /// As `open_stored`, of a block of `length` bytes whose metadata is known: nothing is read. `None` for a block that
    /// does not come apart, which has to be read as a whole.
    pub fn open_known(
        &self,
        reader: Arc<dyn FileReader>,
        at: u64,
        length: u64,
        metadata: &[u8],
    ) -> Result<Option<Arc<Block>>> {
        let metadata = Arc::new(Metadata::read(metadata, length)?);
        if !metadata.comes_apart() {
            return Ok(None);
        }
        let holding = Holding::stored(&self.residency, metadata.clone(), reader, at);
        Ok(Some(Arc::new(Block::absent(&metadata, holding))))
    }

    /// Says that the bytes of a sealed block (its one part) are in a file, too, from byte `at` on: when its pool wants
    /// memory, the block is let go of without being written. False for a block that is in a file already, or that no
    /// pool evicts.
    pub fn stored_at(part: &Part, reader: Arc<dyn FileReader>, at: u64) -> bool {
        let holding = part.source().and_then(|source| source.as_any().downcast_ref::<Holding>());
        holding.is_some_and(|holding| holding.stored_at(reader, at))
    }

    /// The folder of the temporary file that sealed blocks are evicted to; without one they stay. Blocks that were
    /// evicted before stay where they are.
    pub fn set_temporary_folder(&self, folder: Option<&Path>) {
        self.residency.set_temporary_folder(folder);
    }
    /// The folder that `set_temporary_folder` has set.
    pub fn temporary_folder(&self) -> Option<PathBuf> {
        self.residency.temporary_folder()
    }
    /// As `set_temporary_folder`, with a file that is there already.
    pub fn set_temporary_file(&self, file: Arc<dyn TemporaryFile>) {
        self.residency.set_temporary_file(file);
    }
    /// Sets the policy that ranks what may be evicted; it applies from the next eviction on.
    pub fn set_replacement(&self, policy: Arc<dyn Replacement>) {
        self.residency.set_replacement(policy);
    }
    /// The policy that ranks what may be evicted.
    pub fn replacement(&self) -> Arc<dyn Replacement> {
        self.residency.replacement()
    }
    /// Counts since the pool was made, and what it holds.
    pub fn statistics(&self) -> PoolStatistics {
        self.residency.statistics()
    }
}

/// Read at first of a stored block: the metadata of some forty columns of a block of default size.
const METADATA_READ_BYTES: u64 = 8 << 10;

/// Slots as a reference-counted buffer that returns them when its last holder goes.
pub(crate) fn shared(slots: memory::SlotRange) -> Buffer {
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
