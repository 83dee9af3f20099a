//! Join tables: from a key's code (or hash) to the build rows that have it.
//!
//! The kind is chosen when all build rows are there, from their number and the range of their codes:
//!
//! | kind | when | finds a row by |
//! | --- | --- | --- |
//! | row numbers | keys ascend without a gap | `code` itself |
//! | ranked bits | keys ascend strictly, at most `RANK_SPREAD` codes a row | counting bits, `exact_bits.rs` |
//! | ranked runs | the same with repetitions | counting bits, `runs.rs` |
//! | array | at most `ARRAY_SPREAD` codes a row | `heads[code]`, `array.rs` |
//! | slots | everything else, all hashed keys | hashing and probing, `slots.rs` |
//! | bits | only existence is asked, at most `BITS_SPREAD` codes a row | a bit |
//!
//! ```text
//!  JoinShape::choose -> allocate -> JoinFilling: insert(partition, rows), any worker, a partition once per batch
//!                                   finish -> JoinTable: find(codes) -> first row of each; next -> the others
//! ```
//! Rows with equal keys are chained: `next[row]` is the following row plus one, 0 at the end. There is no `next` when
//! no two rows share a key. Keys given as hashes chain all rows of one hash, and the caller compares the keys.
//!
//! Arrays and slots hold 32 bits a key. Where keys are unique and the build columns fit (`payload.rs`), those bits are
//! the columns themselves, and row numbers are never made.

mod array;
mod marks;
mod payload;
mod runs;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use vector::gather::NO_ROW;

use crate::exact_bits::{BitsFilling, ExactBits, RankedFilling, Ranks, bits_bytes};
use crate::zeroed::Words;
use array::ArrayFilling;
pub use marks::RowMarks;
pub use payload::Payload;
use runs::{Runs, RunsFilling};
use slots::{Slots, SlotsFilling};

/// Arrays this small are always used: half of a second-level cache's quarter.
const ARRAY_RANGE_ALWAYS: u64 = 1 << 16;
/// Codes per row up to which an array pays: at 8 codes a row it takes twice the memory of slots, without hashing.
const ARRAY_SPREAD: u64 = 8;
/// Codes per row up to which an array of payloads takes the place of ranked bits: then it is no larger than those and
/// two columns of 64 bits.
const PAYLOAD_SPREAD: u64 = 4;
/// Codes per row up to which ranked bits pay: 12 bytes for 64 codes, against 16 a row for slots.
const RANK_SPREAD: u64 = 128;
/// Codes per row up to which bits pay when only existence is asked.
const BITS_SPREAD: u64 = 256;
/// Exact bits have at most this many codes.
pub const BITS_RANGE_MAX: u64 = 1 << 30;
/// Bits this small are always used.
const BITS_RANGE_ALWAYS: u64 = 1 << 20;
/// Rows of a partition, about. Every partition goes through all keys, which costs nearly as much as filling unless the
/// keys are clustered: fewer and larger ones serve better than ones that fit a cache.
const PARTITION_ROWS: usize = 1 << 17;
/// The same where keys ascend: a partition then looks only at the batches that have keys of it.
const CLUSTERED_PARTITION_ROWS: usize = 1 << 16;

const PARTITIONS_MAX: u64 = 64;

/// Most rows of one table: row numbers plus one fit 32 bits, and `NO_ROW` is none of them.
pub const ROWS_MAX: usize = u32::MAX as usize - 2;

/// What is known of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKeys {
    /// Codes below `range`, equal exactly when the keys are, in this order from row to row.
    Codes {
        /// One more than the greatest code.
        range: u64,
        /// How codes follow each other.
        order: KeyOrder,
    },
    /// Hashes: equal keys have equal hashes.
    Hashes,
}

/// How codes follow one another from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// In no order, as far as is known.
    Any,
    /// Ascending, with repetitions.
    Sorted,
    /// Each greater than the one before.
    Ascending,
}

/// How a table finds rows; the table at the head of this file says when each is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinTableKind {
    /// The code itself is the row's number.
    RowNumbers,
    /// A bit a code; counting bits gives the row's number.
    RankedBits,
    /// As `RankedBits`, of keys that repeat in runs of rows.
    RankedRuns,
    /// An array of first rows, by code.
    Array,
    /// Slots that are found by hashing and probing.
    Slots,
    /// A bit a code, where only existence is asked.
    Bits,
}

impl JoinTableKind {
    /// As EXPLAIN ANALYZE prints it.
    pub fn name(self) -> &'static str {
        match self {
            JoinTableKind::RowNumbers => "row numbers",
            JoinTableKind::RankedBits => "ranked bits",
            JoinTableKind::RankedRuns => "ranked runs",
            JoinTableKind::Array => "array",
            JoinTableKind::Slots => "hash",
            JoinTableKind::Bits => "bits",
        }
    }
}

/// A table that is decided on but not yet allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinShape {
    /// The kind of table.
    pub kind: JoinTableKind,
    /// What is known of the keys.
    pub keys: JoinKeys,
    /// Build rows, at most; more than that must not be inserted.
    pub rows: usize,
    /// Work for this many workers.
    pub partitions: u64,
    /// All workers fill one table of slots at once instead; there is one partition then.
    pub shared: bool,
    /// Entries are payloads instead of row numbers.
    pub payload: bool,
}

/// What the caller wants of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinWants {
    /// Only whether a key is there, not which rows have it.
    pub existence_only: bool,
    /// Tables addressed by code are allowed.
    pub dense: bool,
    /// Partitions that go through all keys, at most.
    pub partitions_max: u64,
    /// Slots are one table that all workers fill, instead of partitions.
    pub shared: bool,
    /// Build columns that fit an entry together, and keys that are probably unique.
    pub payload_columns: Option<usize>,
}

impl JoinShape {
    /// Chooses the kind for `rows` rows, at most `ROWS_MAX`.
    pub fn choose(rows: usize, keys: JoinKeys, wants: JoinWants) -> JoinShape {
        let kind = match keys {
            JoinKeys::Codes { range, order } if wants.dense || range == 0 => {
                let spread = |codes: u64| range <= (rows as u64).saturating_mul(codes);
                let bits = range <= BITS_RANGE_MAX;
                let ranked = bits && (range <= BITS_RANGE_ALWAYS || spread(RANK_SPREAD));
                let ascending = order == KeyOrder::Ascending;
                if wants.existence_only && bits && (range <= BITS_RANGE_ALWAYS || spread(BITS_SPREAD)) {
                    JoinTableKind::Bits
                } else if ascending && range == rows as u64 {
                    JoinTableKind::RowNumbers
                } else if ascending && ranked {
                    JoinTableKind::RankedBits
                } else if range <= ARRAY_RANGE_ALWAYS {
                    JoinTableKind::Array
                } else if order == KeyOrder::Sorted && ranked {
                    JoinTableKind::RankedRuns
                } else if spread(ARRAY_SPREAD) {
                    JoinTableKind::Array
                } else {
                    JoinTableKind::Slots
                }
            }
            _ => JoinTableKind::Slots,
        };
        // With payload an array is one miss a probe. Row numbers and ranked bits are read in order where the probe's
        // keys are, and an array is too; where they are not, a column more is a miss more.
        let kind = match (kind, keys, wants.payload_columns) {
            (JoinTableKind::RowNumbers, _, Some(2..)) => JoinTableKind::Array,
            (JoinTableKind::RankedBits, JoinKeys::Codes { range, .. }, Some(1..))
                if range <= (rows as u64).saturating_mul(PAYLOAD_SPREAD) =>
            {
                JoinTableKind::Array
            }
            (kind, ..) => kind,
        };
        let payload = wants.payload_columns.is_some()
            && match kind {
                JoinTableKind::Array => true,
                JoinTableKind::Slots => slots::holds_payloads(keys),
                _ => false,
            };
        // Setting bits is too cheap to pass over the keys more often for less than this.
        let bits =
            matches!(kind, JoinTableKind::Bits | JoinTableKind::RankedBits | JoinTableKind::RankedRuns);
        let by_code = bits || kind == JoinTableKind::Array;
        let clustered = by_code && matches!(keys, JoinKeys::Codes { order, .. } if order != KeyOrder::Any);
        let partition_rows = match (clustered, bits) {
            (true, _) => CLUSTERED_PARTITION_ROWS,
            (false, true) => 8 * PARTITION_ROWS,
            (false, false) => PARTITION_ROWS,
        };
        let wanted = (rows / partition_rows) as u64;
        // What goes through a part of the keys only may be cut finer, so that no worker waits long for the last part.
        let most = if clustered { wants.partitions_max.saturating_mul(4) } else { wants.partitions_max };
        // A power of two, because slots are partitioned by leading bits of the hash.
        let partitions = wanted.clamp(1, most.clamp(1, PARTITIONS_MAX)).next_power_of_two();
        let partitions = if kind == JoinTableKind::RowNumbers { 1 } else { partitions };
        let shared = wants.shared && kind == JoinTableKind::Slots;
        JoinShape { kind, keys, rows, partitions: if shared { 1 } else { partitions }, shared, payload }
    }
    /// As EXPLAIN ANALYZE prints it.
    pub fn describe(&self) -> String {
        let payload = if self.payload { " with payload" } else { "" };
        match (self.shared, self.partitions) {
            (true, _) => format!("{}{payload}, shared", self.kind.name()),
            (_, 1) => format!("{}{payload}", self.kind.name()),
            (_, partitions) => format!("{}{payload}, {partitions} partitions", self.kind.name()),
        }
    }
    /// Bytes the table will take, chains included.
    pub fn bytes(&self) -> u64 {
        let rows = self.rows as u64;
        let chains = if self.payload { 0 } else { rows * 4 };
        match (self.kind, self.keys) {
            (JoinTableKind::RowNumbers, _) => 0,
            (JoinTableKind::Bits, JoinKeys::Codes { range, .. }) => bits_bytes(range),
            (JoinTableKind::RankedBits, JoinKeys::Codes { range, .. }) => bits_bytes(range) * 3 / 2,
            (JoinTableKind::RankedRuns, JoinKeys::Codes { range, .. }) => {
                bits_bytes(range) * 3 / 2 + rows * 8
            }
            (JoinTableKind::Array, JoinKeys::Codes { range, .. }) => range * 4 + chains,
            _ => slots::bytes(self.rows, self.keys) + chains,
        }
    }
    /// Allocates the table for filling; `bytes` says how much memory that takes.
    pub fn allocate(self) -> JoinFilling {
        let table = match (self.kind, self.keys) {
            (JoinTableKind::Bits, JoinKeys::Codes { range, .. }) => {
                Filling::Bits(BitsFilling::new(range, self.partitions))
            }
            (JoinTableKind::RankedBits, JoinKeys::Codes { range, .. }) => {
                Filling::Ranked(RankedFilling::new(range, self.partitions))
            }
            (JoinTableKind::RankedRuns, JoinKeys::Codes { range, .. }) => {
                Filling::Runs(RunsFilling::new(range, self.rows, self.partitions))
            }
            (JoinTableKind::Array, JoinKeys::Codes { range, order }) => {
                let unique = order == KeyOrder::Ascending || self.payload;
                Filling::Array(ArrayFilling::new(range, self.rows, self.partitions, unique))
            }
            (JoinTableKind::RowNumbers, _) => Filling::RowNumbers,
            (_, keys) => Filling::Slots(SlotsFilling::new(self.rows, keys, self.partitions, !self.payload)),
        };
        JoinFilling { shape: self, table }
    }
}

enum Filling {
    RowNumbers,
    Bits(BitsFilling),
    Ranked(RankedFilling),
    Runs(RunsFilling),
    Array(ArrayFilling),
    Slots(SlotsFilling),
}

/// A table being filled.
pub struct JoinFilling {
    shape: JoinShape,
    table: Filling,
}

impl JoinFilling {
    /// What was decided on.
    pub fn shape(&self) -> &JoinShape {
        &self.shape
    }
    /// True when `insert` has nothing to do, so that no codes need be made.
    pub fn is_done(&self) -> bool {
        matches!(self.table, Filling::RowNumbers)
    }
    /// False when no code between `lowest` and `highest` can belong to the partition: such batches need no `insert`.
    pub fn wants(&self, partition: u64, lowest: u64, highest: u64) -> bool {
        match &self.table {
            Filling::RowNumbers => false,
            Filling::Bits(bits) => bits.wants(partition, lowest, highest),
            Filling::Ranked(ranked) => ranked.bits.wants(partition, lowest, highest),
            Filling::Runs(runs) => runs.wants(partition, lowest, highest),
            Filling::Array(array) => array.wants(partition, lowest, highest),
            Filling::Slots(_) => true,
        }
    }
    /// Takes the rows `base ..` of the given codes (or hashes); those of other partitions and `NO_CODE` are passed
    /// over. Every batch is to be offered once to each partition, in the order of the rows; partitions may be filled at
    /// the same time. A shared table takes every batch once, any number of them at the same time.
    pub fn insert(&self, partition: u64, base: u32, codes: &[u64]) {
        assert!(base as usize + codes.len() <= self.shape.rows, "more rows than were announced");
        assert!(!self.shape.payload, "entries are payloads");
        match &self.table {
            Filling::RowNumbers => {}
            Filling::Bits(bits) => bits.insert(partition, codes),
            Filling::Ranked(ranked) => _ = ranked.insert(partition, base, codes),
            Filling::Runs(runs) => runs.insert(partition, base, codes),
            Filling::Array(_) | Filling::Slots(_) => {
                let entries: Vec<u32> = (base + 1..).take(codes.len()).collect();
                self.insert_entries(partition, &entries, codes);
            }
        }
    }
    /// Takes the codes with their payloads' entries, as `insert` otherwise; in any order.
    pub fn insert_payloads(&self, partition: u64, entries: &[u32], codes: &[u64]) {
        assert!(self.shape.payload, "entries are row numbers");
        self.insert_entries(partition, entries, codes);
    }
    fn insert_entries(&self, partition: u64, entries: &[u32], codes: &[u64]) {
        assert_eq!(entries.len(), codes.len(), "an entry a code");
        match &self.table {
            Filling::Array(array) => array.insert(partition, entries, codes),
            Filling::Slots(slots) if self.shape.shared => slots.insert_shared(entries, codes),
            Filling::Slots(slots) => slots.insert(partition, entries, codes),
            _ => {}
        }
    }
    /// Every batch was offered to the partition: what `finish` would make of it, for which others wait, is made now.
    pub fn close(&self, partition: u64) {
        match &self.table {
            Filling::Ranked(ranked) => ranked.close(partition),
            Filling::Runs(runs) => runs.close(partition),
            _ => {}
        }
    }
    /// The finished table; or, if a partition could not hold its keys, or keys with payload were not unique, a filling
    /// of one partition, for row numbers, to start again with.
    pub fn finish(self) -> Result<JoinTable, JoinFilling> {
        let shape = self.shape;
        let again = JoinShape { partitions: 1, shared: false, payload: false, ..shape };
        let repeated = match &self.table {
            Filling::Array(array) => array.has_duplicates(),
            Filling::Slots(slots) => slots.has_duplicates(),
            _ => false,
        };
        if shape.payload && repeated {
            return Err(again.allocate());
        }
        let range = if let JoinKeys::Codes { range, .. } = shape.keys { range } else { 0 };
        let (form, next) = match self.table {
            Filling::RowNumbers => (Form::RowNumbers { range }, None),
            Filling::Bits(bits) => (Form::Bits(Arc::new(bits.finish())), None),
            Filling::Ranked(ranked) => {
                let (bits, ranks) = ranked.finish();
                (Form::Ranked(Arc::new(bits), ranks), None)
            }
            Filling::Runs(runs) => {
                let (bits, runs, next) = runs.finish();
                (Form::Runs(Arc::new(bits), runs), next)
            }
            Filling::Array(array) => {
                let (heads, next) = array.finish();
                (Form::Array { heads, range }, next)
            }
            Filling::Slots(slots) => match slots.finish() {
                Some((slots, next)) => (Form::Slots(slots), next),
                None => return Err(again.allocate()),
            },
        };
        Ok(JoinTable { shape, form, next })
    }
}

enum Form {
    RowNumbers { range: u64 },
    Bits(Arc<ExactBits>),
    Ranked(Arc<ExactBits>, Ranks),
    Runs(Arc<ExactBits>, Runs),
    Array { heads: Words<u32>, range: u64 },
    Slots(Slots),
}

/// A complete table; read-only.
pub struct JoinTable {
    shape: JoinShape,
    form: Form,
    next: Option<Words<u32>>,
}

impl JoinTable {
    /// The shape that the table was built in; after a new start that of the second filling.
    pub fn shape(&self) -> &JoinShape {
        &self.shape
    }
    /// The kind of table.
    pub fn kind(&self) -> JoinTableKind {
        self.shape.kind
    }
    /// What `find` reports are matches; otherwise candidates, whose keys are to be compared.
    pub fn is_exact(&self) -> bool {
        matches!(self.shape.keys, JoinKeys::Codes { .. })
    }
    /// For each row: the following row with the same key plus one, 0 at the end. `None` when keys are unique.
    pub fn next(&self) -> Option<&[u32]> {
        self.next.as_deref()
    }
    /// The bits of the codes present, where the table has them.
    pub fn bits(&self) -> Option<&Arc<ExactBits>> {
        match &self.form {
            Form::Bits(bits) | Form::Ranked(bits, _) | Form::Runs(bits, _) => Some(bits),
            _ => None,
        }
    }
    /// Bytes of the table, chains included.
    pub fn bytes(&self) -> usize {
        let form = match &self.form {
            Form::RowNumbers { .. } => 0,
            Form::Bits(bits) => bits.bytes(),
            Form::Ranked(bits, ranks) => bits.bytes() + ranks.bytes(),
            Form::Runs(bits, runs) => bits.bytes() + runs.bytes(),
            Form::Array { heads, .. } => heads.len() * 4,
            Form::Slots(slots) => slots.bytes(),
        };
        form + self.next.as_ref().map_or(0, |n| n.len() * 4)
    }
    /// Names the pieces of memory that the table consists of, small ones left out.
    pub fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        match &self.form {
            Form::RowNumbers { .. } => {}
            Form::Bits(bits) => name(bits.as_bytes()),
            Form::Ranked(bits, ranks) => {
                name(bits.as_bytes());
                name(ranks.as_bytes());
            }
            Form::Runs(bits, runs) => {
                name(bits.as_bytes());
                runs.each_piece(name);
            }
            Form::Array { heads, .. } => name(heads.as_bytes()),
            Form::Slots(slots) => slots.each_piece(name),
        }
        if let Some(next) = &self.next {
            name(next.as_bytes());
        }
    }
    /// The first row of each code (or hash), `NO_ROW` where there is none; any row at all in tables of bits; its payload
    /// in tables with payload.
    pub fn find(&self, codes: &[u64], found: &mut Vec<u32>) {
        found.clear();
        found.resize(codes.len(), NO_ROW);
        match &self.form {
            Form::RowNumbers { range } => row_numbers(*range, codes, found),
            Form::Bits(bits) => bits.find(codes, found),
            Form::Ranked(bits, ranks) => ranks.find(bits, codes, found),
            Form::Runs(bits, runs) => runs.find(bits, codes, found),
            Form::Array { heads, range } => array::find(heads, *range, codes, found),
            Form::Slots(slots) => slots.find(codes, found),
        }
    }
}

simd::dispatch! {
    fn row_numbers(range: u64, codes: &[u64], found: &mut [u32]) {
        for (code, found) in codes.iter().zip(found) {
            *found = if *code < range { *code as u32 } else { NO_ROW };
        }
    }
}
