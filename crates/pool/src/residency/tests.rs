//! Blocks in files and evicted ones against a model: the values that were put in.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use block::{AccessPath, Bitmap, Block, EncodeOptions, IndexKind, IndexSpecification, LayoutKind, Rows};
use memory::Budget;
use types::{Bound, ColumnPredicate, Error, Result, SqlState, Type, Value};
use vector::{Batch, Vector};

use super::*;
use crate::{Pool, SealedBlock};

/// A file in memory that counts, and fails when told to.
#[derive(Debug, Default)]
struct TestFile {
    bytes: Mutex<Vec<u8>>,
    read: AtomicU64,
    fails: AtomicBool,
}

impl TestFile {
    fn of(bytes: Vec<u8>) -> Arc<TestFile> {
        Arc::new(TestFile { bytes: Mutex::new(bytes), ..TestFile::default() })
    }
    fn failure(&self, what: &str) -> Result<()> {
        match self.fails.load(SeqCst) {
            true => Err(Error::new(SqlState::IoError, format!("cannot {what} test file: injected"))),
            false => Ok(()),
        }
    }
}

impl FileReader for TestFile {
    fn bytes(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.failure("read")?;
        let bytes = self.bytes.lock().unwrap();
        into.copy_from_slice(&bytes[at as usize..at as usize + into.len()]);
        self.read.fetch_add(into.len() as u64, SeqCst);
        Ok(())
    }
    fn describe(&self) -> String {
        "test file".into()
    }
}

impl TemporaryFile for TestFile {
    fn write_at(&self, at: u64, from: &[u8]) -> Result<()> {
        self.failure("write")?;
        let mut bytes = self.bytes.lock().unwrap();
        let end = at as usize + from.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[at as usize..end].copy_from_slice(from);
        Ok(())
    }
    fn cut(&self, length: u64) {
        self.bytes.lock().unwrap().truncate(length as usize);
    }
}

const COLUMNS: [(Type, bool); 5] = [
    (Type::BigInt, false),
    (Type::Text, false),
    (Type::Text, true),
    (Type::Boolean, false),
    (Type::Double, false),
];

/// What row `row` of block `number` holds.
fn expected(number: usize, row: usize, column: usize) -> Value {
    let mixed = (number * 1_000_003 + row) as u64;
    let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match column {
        0 => Value::I64(mixed as i64),
        1 => Value::text(&format!("text number {mixed:x} of the block")),
        2 if mixed.is_multiple_of(5) => Value::Null,
        2 => Value::text(&format!("one of few names, {}", mixed % 13)),
        3 => Value::Bool(mixed.is_multiple_of(3)),
        _ => Value::F64(mixed as f64),
    }
}

fn batch(number: usize, rows: usize) -> Batch {
    let column = |(at, (ty, _)): (usize, &(Type, bool))| {
        let values: Vec<Value> = (0..rows).map(|row| expected(number, row, at)).collect();
        Vector::from_values(*ty, &values)
    };
    Batch::new(COLUMNS.iter().enumerate().map(column).collect(), rows)
}

fn seal(pool: &Pool, number: usize, rows: usize) -> Result<SealedBlock> {
    seal_as(pool, LayoutKind::CompressedColumnStore, number, rows)
}

fn seal_as(pool: &Pool, layout: LayoutKind, number: usize, rows: usize) -> Result<SealedBlock> {
    let parts = [batch(number, rows)];
    pool.seal(block::encode(&COLUMNS, &parts, layout)?)
}

fn encoded(number: usize, rows: usize) -> Vec<u8> {
    encoded_as(LayoutKind::CompressedColumnStore, number, rows)
}

fn encoded_as(layout: LayoutKind, number: usize, rows: usize) -> Vec<u8> {
    seal_as(&Pool::new(Budget::unlimited()), layout, number, rows).unwrap().block.as_bytes().to_vec()
}

/// The layouts that store rows and take strings; a packed row store is a split one without a heap.
const ROW_LAYOUTS: [LayoutKind; 2] = [LayoutKind::SplitRowStore, LayoutKind::CompressedRowStore];

fn check_column(block: &Block, number: usize, column: usize, step: usize) {
    let rows: Vec<u32> = (0..block.rows()).step_by(step).map(|row| row as u32).collect();
    let values = block.fetch(column, Rows::List(&rows));
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(values.value(at), expected(number, *row as usize, column), "{number} {row} {column}");
    }
}

#[test]
fn opening_reads_metadata_and_pins_read_their_columns_once() {
    let bytes = encoded(1, 20_000);
    let length = bytes.len() as u64;
    // Behind something else, and before it.
    let file = TestFile::of([vec![9; 4096], bytes, vec![9; 100]].concat());
    let pool = Pool::new(Budget::unlimited());
    let block = pool.open_stored(file.clone(), 4096, length).unwrap();
    assert!(file.read.load(SeqCst) <= 8 << 10, "metadata only");
    assert_eq!((block.rows(), block.columns(), block.ty(1)), (20_000, 5, Type::Text));
    assert_eq!(
        block.statistics(2).null_count,
        (0..20_000).filter(|r| expected(1, *r, 2).is_null()).count() as u64
    );
    assert_eq!(pool.statistics().resident_bytes, 0);
    let before = file.read.swap(0, SeqCst);
    assert!(before > 0);
    let pinned = block.pin(&[0, 4]).unwrap();
    let both = (block.column_bytes(0) + block.column_bytes(4)) as u64;
    let read = file.read.swap(0, SeqCst);
    assert!(read >= both && read < both + 70_000, "{read} of {both}");
    assert_eq!(pinned.bytes_read(), read);
    check_column(&pinned, 1, 0, 1);
    check_column(&pinned, 1, 4, 1);
    let predicate = ColumnPredicate::NotEqual(expected(1, 77, 0));
    let mut selection = block::Bitmap::full(20_000);
    pinned.select(0, &predicate, &mut selection);
    assert_eq!((selection.count(), selection.get(77)), (19_999, false));
    // Metadata of the others is there, too.
    assert_eq!(pinned.statistics(1), block.statistics(1));
    let again = block.pin(&[0]).unwrap();
    assert_eq!((again.bytes_read(), file.read.load(SeqCst)), (0, 0));
    let all = block.pin_all().unwrap();
    (0..5).for_each(|column| check_column(&all, 1, column, 7));
    assert!(file.read.load(SeqCst) + read + before < length + 140_000);
    assert_eq!(block.to_bytes().unwrap().as_slice(), &encoded(1, 20_000));
    block.verify().unwrap();
}

#[test]
fn opening_rows_reads_metadata_and_the_first_pin_reads_them() {
    for layout in ROW_LAYOUTS {
        let bytes = encoded_as(layout, 1, 20_000);
        let length = bytes.len() as u64;
        let file = TestFile::of([vec![9; 4096], bytes.clone(), vec![9; 100]].concat());
        let pool = Pool::new(Budget::unlimited());
        let block = pool.open_stored(file.clone(), 4096, length).unwrap();
        assert!(file.read.swap(0, SeqCst) <= 8 << 10, "metadata only");
        assert_eq!((block.rows(), block.layout(), pool.statistics().resident_bytes), (20_000, layout, 0));
        let nulls = (0..20_000).filter(|r| expected(1, *r, 2).is_null()).count() as u64;
        assert_eq!(block.statistics(2).null_count, nulls, "known without the rows");
        let pinned = block.pin(&[3]).unwrap();
        assert_eq!(pinned.bytes_read(), file.read.load(SeqCst));
        assert!(pinned.bytes_read() <= length && pinned.bytes_read() * 10 > length * 9, "{layout:?}");
        check_column(&pinned, 1, 3, 1);
        // The rows are there with all columns.
        let all = block.pin_all().unwrap();
        assert_eq!(all.bytes_read(), 0);
        (0..5).for_each(|column| check_column(&all, 1, column, 7));
        let predicate = ColumnPredicate::NotEqual(expected(1, 77, 0));
        let mut selection = Bitmap::full(20_000);
        all.select(0, &predicate, &mut selection);
        assert_eq!((selection.count(), selection.get(77)), (19_999, false));
        drop((pinned, all));
        evict_all(&pool);
        assert_eq!(pool.statistics().resident_bytes, 0);
        check_column(&block.pin(&[1]).unwrap(), 1, 1, 3);
        assert_eq!(block.to_bytes().unwrap().as_slice(), &bytes);
        block.verify().unwrap();
        // One that was never in a file goes to the temporary one and comes back.
        let pool = Pool::evicting(Budget::unlimited());
        pool.set_temporary_file(TestFile::of(vec![]));
        let sealed = seal_as(&pool, layout, 2, 20_000).unwrap().block;
        assert_eq!(sealed.pin(&[0]).unwrap().bytes_read(), 0);
        evict_all(&pool);
        assert_eq!(pool.statistics().resident_bytes, 0);
        let pinned = sealed.pin(&[0, 2]).unwrap();
        assert!(pinned.bytes_read() > 0);
        check_column(&pinned, 2, 2, 3);
    }
}

#[test]
fn what_is_read_lies_on_the_blocks_node() {
    let file = TestFile::of(encoded(1, 20_000));
    let length = file.bytes();
    let pool = Pool::evicting_on(Budget::unlimited(), memory::Topology::emulated(3, 1));
    let node_of = |pinned: &Block| {
        let values = pinned.plain_f64(4).unwrap();
        pool.pages().node_of(values.as_ptr().cast())
    };
    // A block without a node.
    let block = pool.open_stored(file.clone(), 0, length).unwrap();
    assert_eq!(node_of(&block.pin(&[4]).unwrap()), None);
    for node in [2, 0, 1] {
        let block = pool.open_stored(file.clone(), 0, length).unwrap();
        block.lies_on(node);
        assert_eq!(node_of(&block.pin(&[4]).unwrap()), Some(node));
    }
    // A sealed one comes back to where it was.
    let parts = [batch(1, 20_000)];
    let encoded = block::encode(&COLUMNS, &parts, LayoutKind::CompressedColumnStore).unwrap();
    pool.set_temporary_file(TestFile::of(vec![]));
    let sealed = pool.seal_on(encoded, Some(1)).unwrap();
    pool.budget().set_limit(1 << 16);
    let _ = pool.budget().reserve(1 << 15);
    assert_eq!(pool.statistics().resident_bytes, 0, "evicted");
    pool.budget().set_limit(1 << 30);
    assert_eq!(node_of(&sealed.block.pin(&[4]).unwrap()), Some(1));
}

#[test]
#[should_panic(expected = "is read without a pin")]
fn access_without_a_pin_fails_loudly() {
    let bytes = encoded(1, 20_000);
    let pool = Pool::new(Budget::unlimited());
    let block = pool.open_stored(TestFile::of(bytes), 0, u64::MAX).unwrap();
    let pinned = block.pin(&[0]).unwrap();
    let _ = pinned.fetch(1, 0..10);
}

#[test]
fn damage_is_found_and_named_and_the_rest_stays_readable() {
    let good = encoded(3, 6_000);
    let pool = Pool::new(Budget::unlimited());
    let mut unopened = 0;
    let mut damaged_columns = [0; 5];
    let step = good.len() / 300;
    for at in (0..good.len()).step_by(step) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        let block = match pool.open_stored(TestFile::of(bytes), 0, good.len() as u64) {
            Ok(block) => block,
            Err(error) => {
                assert_eq!(error.state(), SqlState::DataCorrupted);
                assert!(error.message().contains("of test file"), "{error}");
                unopened += 1;
                continue;
            }
        };
        let mut failed = 0;
        for (column, damaged) in damaged_columns.iter_mut().enumerate() {
            match block.pin(&[column]) {
                Ok(pinned) => check_column(&pinned, 3, column, 1),
                Err(error) => {
                    failed += 1;
                    *damaged += 1;
                    assert_eq!(error.state(), SqlState::DataCorrupted);
                    for part in ["block at byte 0 of test file", "column ", "at byte "] {
                        assert!(error.message().contains(part), "{error}");
                    }
                    assert!(block.verify().is_err());
                }
            }
        }
        // Gaps between extents belong to no column; small columns are read with their neighbours.
        assert!(failed < 4, "{failed} columns of byte {at}");
    }
    assert!(unopened > 0 && damaged_columns.iter().all(|n| *n > 0), "{unopened} {damaged_columns:?}");
    for length in [0, 50, 96, good.len() as u64 / 2, good.len() as u64 - 1] {
        assert!(pool.open_stored(TestFile::of(good.clone()), 0, length).is_err(), "{length}");
    }
}

#[test]
fn damage_of_rows_is_found_and_named_and_the_rest_stays_readable() {
    for layout in ROW_LAYOUTS {
        let tree = IndexSpecification { kind: IndexKind::Tree, column: 0 };
        let options = EncodeOptions { indices: vec![tree], ..layout.into() };
        let pool = Pool::new(Budget::unlimited());
        let parts = [batch(3, 6_000)];
        let sealed = pool.seal(block::encode(&COLUMNS, &parts, &options).unwrap()).unwrap().block;
        let (good, neighbour) = (sealed.to_bytes().unwrap().to_vec(), encoded_as(layout, 4, 6_000));
        let (mut unopened, mut of_rows, mut of_index) = (0, 0, 0);
        for at in (0..good.len()).step_by(good.len() / 300) {
            let mut bytes = [&good[..], &neighbour].concat();
            bytes[at] ^= 0x10;
            let file = TestFile::of(bytes);
            let next = pool.open_stored(file.clone(), good.len() as u64, neighbour.len() as u64).unwrap();
            check_column(&next.pin(&[1]).unwrap(), 4, 1, 97);
            let Ok(block) = pool.open_stored(file, 0, good.len() as u64) else {
                unopened += 1;
                continue;
            };
            let error = match (block.pin(&[0]), block.pin_tested(&[0])) {
                // A gap between extents.
                (Ok(_), Ok(_)) => continue,
                (Err(error), _) => {
                    of_rows += 1;
                    error
                }
                (Ok(pinned), Err(error)) => {
                    of_index += 1;
                    check_column(&pinned, 3, 0, 97);
                    check_column(&block.pin(&[1]).unwrap(), 3, 1, 97);
                    assert!(error.message().contains("an index of column 0"), "{error}");
                    error
                }
            };
            assert_eq!(error.state(), SqlState::DataCorrupted);
            for part in ["block at byte 0 of test file", "at byte "] {
                assert!(error.message().contains(part), "{error}");
            }
            assert!(["the rows: ", "column "].iter().any(|what| error.message().contains(what)), "{error}");
            assert!(block.verify().is_err());
        }
        assert!(unopened > 0 && of_rows > 50 && of_index > 10, "{layout:?}: {unopened} {of_rows} {of_index}");
        for length in [0, 50, 96, good.len() as u64 / 2, good.len() as u64 - 1] {
            assert!(pool.open_stored(TestFile::of(good.clone()), 0, length).is_err(), "{length}");
        }
    }
}

#[test]
fn read_errors_end_the_pin_and_nothing_else() {
    let file = TestFile::of(encoded(2, 20_000));
    let pool = Pool::new(Budget::unlimited());
    let block = pool.open_stored(file.clone(), 0, u64::MAX).unwrap();
    let kept = block.pin(&[4]).unwrap();
    file.fails.store(true, SeqCst);
    let error = block.pin(&[4, 1]).unwrap_err();
    assert_eq!(error.state(), SqlState::IoError);
    assert!(error.message().contains("injected") && error.message().contains("block at byte 0"), "{error}");
    assert!(block.to_bytes().is_err() && block.verify().is_err());
    check_column(&kept, 2, 4, 3);
    file.fails.store(false, SeqCst);
    check_column(&block.pin(&[1]).unwrap(), 2, 1, 3);
}

/// Makes the budget ask for everything.
fn evict_all(pool: &Pool) {
    let limit = pool.budget().limit();
    pool.budget().set_limit(0);
    let _ = pool.budget().check();
    pool.budget().set_limit(limit);
}

#[test]
fn vectors_keep_their_bytes_whatever_is_evicted() {
    let pool = Pool::evicting(Budget::unlimited());
    pool.set_temporary_file(TestFile::of(vec![]));
    let sealed = seal(&pool, 5, 20_000).unwrap().block;
    let texts = sealed.pin(&[1]).unwrap().fetch(1, 100..200);
    let names = sealed.pin(&[2]).unwrap().fetch(2, 100..200);
    evict_all(&pool);
    assert!(pool.statistics().written_bytes > 0);
    let column = sealed.pin(&[0]).unwrap();
    assert!(column.bytes_read() > 0, "it was evicted");
    let numbers = column.fetch(0, 100..200);
    evict_all(&pool);
    assert_eq!(sealed.pin(&[0]).unwrap().bytes_read(), 0, "it is pinned");
    drop(column);
    evict_all(&pool);
    let again = sealed.pin(&[0]).unwrap();
    assert!(again.bytes_read() > 0, "it is not pinned any more");
    for row in 0..100 {
        assert_eq!(numbers.value(row), expected(5, 100 + row, 0));
        assert_eq!(texts.value(row), expected(5, 100 + row, 1));
        assert_eq!(names.value(row), expected(5, 100 + row, 2));
    }
    drop((texts, names, numbers, again));
    evict_all(&pool);
    assert_eq!((pool.statistics().resident_bytes, pool.budget().used()), (0, 0));
    drop(sealed);
    assert_eq!(pool.statistics().file_bytes, 0, "the range is given back");
}

#[test]
fn blocks_put_together_of_others_come_and_go_with_them() {
    let pool = Pool::evicting(Budget::unlimited());
    pool.set_temporary_file(TestFile::of(vec![]));
    let left = seal(&pool, 1, 9_000).unwrap().block;
    let right = seal(&pool, 2, 9_000).unwrap().block;
    let resident = Pool::new(Budget::unlimited());
    let third = seal(&resident, 3, 9_000).unwrap().block;
    let both = left.of_columns(&[4, 1]).beside(&right).beside(&third);
    drop((left, right));
    for _ in 0..2 {
        let pinned = both.pin(&[1, 3, 8, 0]).unwrap();
        for (column, (number, original)) in [(1, (1, 1)), (3, (2, 1)), (8, (3, 1)), (0, (1, 4))] {
            let values = pinned.fetch(column, 0..9_000);
            assert!((0..9_000).step_by(9).all(|row| values.value(row) == expected(number, row, original)));
        }
        drop(pinned);
        evict_all(&pool);
    }
    both.verify().unwrap();
}

/// Threads pin, read and hold random columns of more blocks than the budget holds. Returns the pool's counts.
fn random_pins(policy: Arc<dyn Replacement>, on_disk: bool, layouts: &[LayoutKind]) -> PoolStatistics {
    const BLOCKS: usize = 24;
    const ROWS: usize = 12_000;
    let limit = 8 << 20;
    let pool = Pool::evicting(Budget::new(limit));
    pool.set_temporary_file(TestFile::of(vec![]));
    pool.set_replacement(policy);
    let blocks: Vec<Arc<Block>> = (0..BLOCKS)
        .map(|number| match on_disk {
            true => {
                let bytes = encoded_as(layouts[number % layouts.len()], number, ROWS);
                pool.open_stored(TestFile::of(bytes), 0, u64::MAX).unwrap()
            }
            false => seal_as(&pool, layouts[number % layouts.len()], number, ROWS).unwrap().block,
        })
        .collect();
    let bytes: usize = blocks.iter().map(|block| block.bytes()).sum();
    assert!(bytes as u64 > 2 * limit, "{bytes}");
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (pool, blocks) = (&pool, &blocks);
            scope.spawn(move || {
                let mut state = thread + 1;
                let mut below = move |n: usize| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 20) as usize % n
                };
                let mut held: Option<(Vector, usize, usize, usize)> = None;
                for _ in 0..300 {
                    let number = below(BLOCKS);
                    let columns: Vec<usize> = (0..5).filter(|_| below(2) == 0).collect();
                    if below(3) == 0 {
                        blocks[number].announce(&columns);
                        continue;
                    }
                    let pinned = blocks[number].pin(&columns).unwrap();
                    for column in columns {
                        check_column(&pinned, number, column, 997);
                        let at = below(ROWS - 50);
                        let next = (pinned.fetch(column, at..at + 50), number, at, column);
                        // Held across evictions.
                        if let Some((vector, number, at, column)) = held.replace(next) {
                            let value = |row| vector.value(row) == expected(number, at + row, column);
                            assert!((0..50).all(value));
                        }
                    }
                    assert!(pool.budget().used() <= limit);
                }
            });
        }
    });
    pool.statistics()
}

#[test]
fn random_pins_under_a_small_budget_see_what_was_put_in() {
    let columns = [LayoutKind::CompressedColumnStore];
    let [split, compressed] = ROW_LAYOUTS;
    let all = [split, LayoutKind::ColumnStore, compressed, LayoutKind::CompressedColumnStore];
    let runs: [(&str, bool, &[LayoutKind]); 6] = [
        ("lru", false, &columns),
        ("random", false, &columns),
        ("lru-1", true, &columns),
        ("random", true, &columns),
        ("lru", false, &all),
        ("lru", true, &all),
    ];
    for (policy, on_disk, layouts) in runs {
        let counts = random_pins(replacement(policy).unwrap(), on_disk, layouts);
        assert!(counts.evictions > 50 && counts.reads > 50 && counts.hits > 50, "{counts:?}");
        assert_eq!(counts.written_bytes > 0, !on_disk, "{counts:?}");
        assert!(counts.resident_bytes <= 8 << 20);
    }
}

#[test]
fn a_disk_that_takes_no_more_is_an_error_that_says_so() {
    let pool = Pool::evicting(Budget::new(4 << 20));
    let file = TestFile::of(vec![]);
    file.fails.store(true, SeqCst);
    pool.set_temporary_file(file.clone());
    let mut blocks = Vec::new();
    let error = loop {
        match seal(&pool, blocks.len(), 12_000) {
            Ok(sealed) => blocks.push(sealed.block),
            Err(error) => break error,
        }
        assert!(blocks.len() < 20);
    };
    assert_eq!(error.state(), SqlState::OutOfMemory);
    assert!(error.detail().is_some_and(|detail| detail.contains("injected")), "{error:?}");
    // Nothing was lost, and it goes on when the disk does.
    file.fails.store(false, SeqCst);
    for _ in 0..10 {
        blocks.push(seal(&pool, blocks.len(), 12_000).unwrap().block);
    }
    for (number, block) in blocks.iter().enumerate() {
        check_column(&block.pin(&[1]).unwrap(), number, 1, 101);
    }
    // A file that is damaged behind our back.
    evict_all(&pool);
    file.bytes.lock().unwrap().iter_mut().for_each(|byte| *byte ^= 1);
    assert_eq!(blocks[0].pin(&[1]).unwrap_err().state(), SqlState::DataCorrupted);
}

#[test]
fn a_sealed_block_that_a_file_has_is_not_written_again() {
    let pool = Pool::evicting(Budget::unlimited());
    let block = seal(&pool, 4, 12_000).unwrap().block;
    evict_all(&pool);
    assert_eq!(pool.statistics().evictions, 0, "there is nowhere to go");
    let file = TestFile::of([vec![0; 64], block.to_bytes().unwrap().to_vec()].concat());
    assert!(Pool::stored_at(&block.parts()[0], file.clone(), 64));
    assert!(!Pool::stored_at(&block.parts()[0], file, 64));
    evict_all(&pool);
    let counts = pool.statistics();
    assert_eq!((counts.evictions, counts.written_bytes, counts.resident_bytes), (1, 0, 0));
    check_column(&block.pin(&[1]).unwrap(), 4, 1, 7);
}

#[test]
fn a_block_with_indices_beside_it_comes_and_goes() {
    let pool = Pool::evicting(Budget::unlimited());
    pool.set_temporary_file(TestFile::of(vec![]));
    let block = seal(&pool, 6, 12_000).unwrap().block;
    let tree = IndexSpecification { kind: IndexKind::Tree, column: 0 };
    let indexed = pool.with_indices(&block, &[tree]).unwrap();
    assert!(Arc::ptr_eq(&indexed.parts()[0], &block.parts()[0]));
    drop(block);
    let before = pool.statistics().resident_bytes;
    evict_all(&pool);
    let after = pool.statistics();
    assert!(after.evictions == 1 && after.resident_bytes * 2 < before, "{before} -> {after:?}");
    let bound = Some(Bound { value: expected(6, 77, 0), inclusive: true });
    let predicate = ColumnPredicate::Range { low: bound.clone(), high: bound };
    let pinned = indexed.pin(&[0]).unwrap();
    let mut selection = Bitmap::full(12_000);
    assert_eq!(pinned.select(0, &predicate, &mut selection), AccessPath::Tree);
    assert_eq!(selection.to_indices(), [77]);
    drop(pinned);
    check_column(&indexed.pin(&[1]).unwrap(), 6, 1, 7);
    evict_all(&pool);
    assert!(pool.statistics().resident_bytes * 2 < before);
}

#[test]
fn indices_in_a_block_are_read_by_those_who_test_their_column() {
    let tree = IndexSpecification { kind: IndexKind::Tree, column: 0 };
    let options = EncodeOptions { indices: vec![tree], ..LayoutKind::CompressedColumnStore.into() };
    let parts = [batch(3, 20_000)];
    let bound = Some(Bound { value: expected(3, 77, 0), inclusive: true });
    let predicate = ColumnPredicate::Range { low: bound.clone(), high: bound };
    let whole = Pool::new(Budget::unlimited());
    let whole = whole.seal(block::encode(&COLUMNS, &parts, &options).unwrap()).unwrap().block;
    let file = TestFile::of(whole.to_bytes().unwrap().to_vec());
    let pool = Pool::new(Budget::unlimited());
    let metadata = whole.parts()[0].metadata_bytes().unwrap().to_vec();
    let length = whole.bytes() as u64;
    let block = pool.open_known(file.clone(), 0, length, &metadata).unwrap().unwrap();
    assert_eq!(pool.statistics().read_bytes, 0, "what is known is not read");
    assert_eq!(block.indices().collect::<Vec<_>>(), whole.indices().collect::<Vec<_>>());
    let bytes_of = |block: &Block| block.indices().map(|(_, bytes)| bytes as u64).sum::<u64>();
    let pinned = block.pin(&[0]).unwrap();
    assert!(pinned.bytes_read() > 0 && pinned.bytes_read() < bytes_of(&block), "the column alone");
    let mut selection = Bitmap::full(20_000);
    assert_ne!(pinned.select(0, &predicate, &mut selection), AccessPath::Tree);
    let tested = block.pin_tested(&[0]).unwrap();
    assert_eq!(tested.bytes_read(), bytes_of(&block));
    let mut selection = Bitmap::full(20_000);
    assert_eq!(tested.select(0, &predicate, &mut selection), AccessPath::Tree);
    assert_eq!(selection.to_indices(), [77]);
    assert_eq!(tested.rows_found(&tested.prepare(0, &predicate)), Some(vec![77]));
    drop((pinned, tested));
    evict_all(&pool);
    assert_eq!(pool.statistics().resident_bytes, 0);
    assert_eq!(block.pin_tested(&[0]).unwrap().bytes_read(), bytes_of(&block) + 160_000);
    // A sealed block that is evicted and comes back.
    let pool = Pool::evicting(Budget::unlimited());
    pool.set_temporary_file(TestFile::of(vec![]));
    let sealed = pool.seal(block::encode(&COLUMNS, &parts, &options).unwrap()).unwrap().block;
    for _ in 0..2 {
        let tested = sealed.pin_tested(&[0]).unwrap();
        let mut selection = Bitmap::full(20_000);
        assert_eq!(tested.select(0, &predicate, &mut selection), AccessPath::Tree);
        assert_eq!(selection.to_indices(), [77]);
        drop(tested);
        evict_all(&pool);
    }
    // Damage of the index is found when it is wanted, and the column stays readable.
    let mut bytes = whole.to_bytes().unwrap().to_vec();
    let at = bytes.len() - 200;
    bytes[at] ^= 1;
    let pool = Pool::new(Budget::unlimited());
    let block = pool.open_known(TestFile::of(bytes), 0, length, &metadata).unwrap().unwrap();
    let error = block.pin_tested(&[0]).unwrap_err();
    assert_eq!(error.state(), SqlState::DataCorrupted);
    assert!(error.message().contains("an index of column 0"), "{error}");
    check_column(&block.pin(&[0]).unwrap(), 3, 0, 7);
}

#[test]
fn what_is_announced_is_there_when_it_is_pinned() {
    let pool = Pool::new(Budget::unlimited());
    let block = pool.open_stored(TestFile::of(encoded(1, 20_000)), 0, u64::MAX).unwrap();
    block.announce(&[0, 1]);
    let begun = Instant::now();
    while pool.statistics().read_ahead < 2 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(1));
    }
    let pinned = block.pin(&[0, 1]).unwrap();
    assert_eq!((pinned.bytes_read(), pool.statistics().hits), (0, 2));
    check_column(&pinned, 1, 1, 11);
}

#[test]
fn columns_wanted_together_are_counted_as_read_by_the_pin() {
    const ROWS: usize = 60_000;
    let pool = Pool::new(Budget::unlimited());
    let block = pool.open_stored(TestFile::of(encoded(2, ROWS)), 0, u64::MAX).unwrap();
    let before = pool.statistics();
    let columns = [0, 1, 4];
    let large = columns.iter().map(|column| block.column_bytes(*column) as u64).sum::<u64>();
    let pinned = block.pin(&columns).unwrap();
    let after = pool.statistics();
    assert!(pinned.bytes_read() >= large, "{} of {large}", pinned.bytes_read());
    assert_eq!(pinned.bytes_read(), after.read_bytes - before.read_bytes);
    assert_eq!((after.reads - before.reads, after.hits - before.hits), (3, 0));
    // They were wanted at once, whichever of the pool's threads read them.
    assert_eq!(after.read_ahead, 0);
    columns.iter().for_each(|column| check_column(&pinned, 2, *column, 13));
    let again = block.pin(&columns).unwrap();
    assert_eq!((again.bytes_read(), pool.statistics().hits - after.hits), (0, 3));
}

/// What pins and reads cost: `cargo test --release -p pool -- --ignored --nocapture cost`.
#[test]
#[ignore = "a measurement"]
fn cost() {
    const BLOCKS: usize = 64;
    const ROWS: usize = 60_000;
    let folder = std::env::temp_dir().join(format!("quickstep-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = files::LocalFiles::new(&files::Capability::everything(), &folder).unwrap();
    use files::FileManager;
    let mut writer = files.create("blocks").unwrap();
    let mut places = Vec::new();
    for number in 0..BLOCKS {
        let bytes = encoded(number % 4, ROWS);
        places.push((writer.position(), bytes.len() as u64));
        writer.write(&bytes).unwrap();
    }
    let total = writer.position();
    let file = files.open("blocks").unwrap();
    let open = |pool: &Pool| -> Vec<Arc<Block>> {
        places.iter().map(|(at, length)| pool.open_stored(file.clone(), *at, *length).unwrap()).collect()
    };
    let pool = Pool::evicting(Budget::unlimited());
    let begun = Instant::now();
    let blocks = open(&pool);
    println!("open: {:?} a block of {} bytes", begun.elapsed() / BLOCKS as u32, places[0].1);
    let read = |what: &str, blocks: &[Arc<Block>], bytes: u64| {
        let begun = Instant::now();
        blocks.iter().for_each(|block| assert_eq!(block.pin_all().unwrap().rows(), ROWS));
        let seconds = begun.elapsed().as_secs_f64();
        println!("{what}: {:.2} GB/s", bytes as f64 / seconds / 1e9);
    };
    read("first read, validated, fresh memory", &blocks, total);
    let limit = pool.budget().used() / 4;
    pool.budget().set_limit(limit);
    let _ = pool.budget().check();
    let before = pool.statistics().read_bytes;
    read("reads that evict others", &blocks, total);
    assert!(pool.statistics().read_bytes - before > total / 2);
    pool.budget().set_limit(u64::MAX);
    let sealed = seal(&pool, 1, ROWS).unwrap().block;
    let stored = &blocks[BLOCKS - 1];
    for (what, block) in [("sealed", &sealed), ("stored", stored)] {
        for columns in [&[0][..], &[0, 1, 2, 3, 4]] {
            drop(block.pin(columns).unwrap());
            let begun = Instant::now();
            (0..1_000_000).for_each(|_| drop(std::hint::black_box(block.pin(columns).unwrap())));
            println!(
                "pin of {} columns, {what}: {} ns",
                columns.len(),
                begun.elapsed().as_nanos() / 1_000_000
            );
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
