//! Files for state that does not fit memory: written in large pieces, read back piece by piece.
//!
//! ```text
//!  SpillFile      one temporary file, unlinked as soon as it is open; pieces of all streams one behind the other
//!  SpillStream    a partition or a run: batches wait until they make a piece, and are then written as one
//!  piece          columns one behind the other, each buffer aligned to 16 bytes:
//!                 | validity bits | values, or views and the buffers they point into | next column ...
//! ```
//! Where pieces lie, what columns they have and their checksums stay in memory: the file holds nothing but values, and
//! nothing in it is trusted to tell lengths. The system frees the space when the last holder of the file is dropped, so
//! no ending of a statement leaves a file behind, whether it is cancelled, fails, panics or is killed.
//!
//! Left to others: what to write and when (crate operators).

mod encode;
mod stream;

pub use stream::{SpillReader, SpillStream};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::{Buffer, MutableBuffer};
use types::{Error, Result, SqlState};

use files::{FileManager, FileReader, FileWriter};

/// A piece is so large where memory allows: a disk that seeks in 8 ms still reads at half its speed.
pub const PIECE_BYTES_MAX: usize = 1 << 20;
/// And no smaller, however little memory there is.
pub const PIECE_BYTES_MIN: usize = 64 << 10;
/// The share of the memory limit that one piece may take: a few hundred of them wait or are read at the same time.
const PIECE_SHARE: u64 = 2048;

/// The size of pieces under a memory limit.
pub fn piece_bytes(memory_limit: u64) -> usize {
    ((memory_limit / PIECE_SHARE) as usize).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
}

/// A temporary file; made when the first piece is written.
#[derive(Debug)]
pub struct SpillFile {
    files: Arc<dyn FileManager>,
    open: Mutex<Option<Open>>,
    bytes: AtomicU64,
    piece_bytes: usize,
}

#[derive(Debug)]
struct Open {
    writer: Box<dyn FileWriter>,
    reader: Arc<dyn FileReader>,
}

/// Where a piece lies.
#[derive(Clone, Copy, Debug)]
struct PieceExtent {
    offset: u64,
    bytes: usize,
    checksum: u64,
}

impl SpillFile {
    /// A file in `files`, in pieces of about `piece_bytes`.
    pub fn new(files: Arc<dyn FileManager>, piece_bytes: usize) -> Arc<Self> {
        Arc::new(SpillFile { files, open: Mutex::default(), bytes: AtomicU64::new(0), piece_bytes })
    }
    /// Bytes that a stream collects before it writes a piece.
    pub fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }
    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    fn append(&self, bytes: &[u8]) -> Result<PieceExtent> {
        let checksum = simd::checksum(bytes);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *open {
            Some(file) => file,
            none => none.insert(Open::new(&*self.files)?),
        };
        let offset = file.writer.position();
        file.writer.write(bytes)?;
        debug_assert_eq!(
            file.writer.position(),
            offset + bytes.len() as u64,
            "pieces lie one behind the other"
        );
        self.bytes.fetch_add(bytes.len() as u64, Relaxed);
        Ok(PieceExtent { offset, bytes: bytes.len(), checksum })
    }

    fn read(&self, place: PieceExtent) -> Result<Buffer> {
        let reader = {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_ref().map(|file| file.reader.clone())
        };
        debug_assert!(
            place.offset + place.bytes as u64 <= self.bytes(),
            "{place:?} of {} bytes",
            self.bytes()
        );
        let reader = reader.ok_or_else(|| Error::internal("a spilled piece without a file"))?;
        // Aligned for every type of value, as a vector of bytes need not be.
        let mut bytes = MutableBuffer::from_len_zeroed(place.bytes);
        reader.read_at(place.offset, &mut bytes)?;
        if simd::checksum(&bytes) != place.checksum {
            let message = format!(
                "a temporary file in \"{}\" has changed: {} bytes at {} do not have the checksum they were written with",
                self.files.describe(),
                place.bytes,
                place.offset
            );
            return Err(Error::new(SqlState::DataCorrupted, message)
                .with_hint("check the disk, or set temp_directory to a folder on another one"));
        }
        Ok(bytes.into())
    }
}

impl Open {
    fn new(files: &dyn FileManager) -> Result<Open> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        // The time tells files apart of a process that had this number before and was killed at this very point.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("quickstep-{}-{number}-{}.spill", std::process::id(), now.as_nanos());
        let writer = files.create(&name)?;
        let reader = files.open(&name);
        files.remove(&name)?;
        Ok(Open { writer, reader: reader? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::LocalFiles;
    use types::{Type, Value};
    use vector::{Batch, Vector};

    fn folder(name: &str) -> (std::path::PathBuf, Arc<dyn FileManager>) {
        let folder = std::env::temp_dir().join(format!("quickstep-spill-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        (folder.clone(), Arc::new(LocalFiles::new(&files::Capability::everything(), folder).unwrap()))
    }

    /// Every physical form with NULLs, short and long strings, a constant and a dictionary.
    fn batch(from: i64, rows: usize) -> Batch {
        let number = |row: usize| from + row as i64;
        let of = |ty: Type, value: &dyn Fn(i64) -> Value| {
            let values: Vec<Value> = (0..rows)
                .map(|row| if number(row) % 5 == 3 { Value::Null } else { value(number(row)) })
                .collect();
            Vector::from_values(ty, &values)
        };
        let wide = Type::Decimal { precision: 38, scale: 2 };
        let texts: Vec<Value> = (0..3).map(|i| Value::text(&"text that is long ".repeat(i))).collect();
        let codes: Vec<u32> = (0..rows as u32).map(|row| row % 3).collect();
        let columns = vec![
            of(Type::Boolean, &|n| Value::Bool(n % 2 == 0)),
            of(Type::SmallInt, &|n| Value::I16(n as i16)),
            of(Type::Integer, &|n| Value::I32(n as i32)),
            of(Type::BigInt, &|n| Value::I64(n << 33)),
            of(wide, &|n| Value::I128(i128::from(n) << 70)),
            of(Type::Real, &|n| Value::F32(n as f32 / 3.0)),
            of(Type::Double, &|n| Value::F64(n as f64 / 3.0)),
            of(Type::Text, &|n| Value::text(&format!("{n}").repeat(n as usize % 9))),
            Vector::constant(Type::Text, Value::text("always"), rows),
            Vector::constant(Type::Null, Value::Null, rows),
            Vector::dictionary(codes.into(), Arc::new(Vector::from_values(Type::Text, &texts)), None),
        ];
        Batch::new(columns, rows)
    }

    #[test]
    fn what_is_written_is_read_again_and_no_file_is_left() {
        let (path, files) = folder("same");
        let file = SpillFile::new(files, 4096);
        let batches: Vec<Batch> = (0..20).map(|at| batch(at * 100, 1 + 13 * at as usize)).collect();
        let mut stream = SpillStream::new(&file);
        for batch in &batches {
            stream.push(batch.clone()).unwrap();
        }
        stream.flush().unwrap();
        assert!(stream.pieces() > 3, "{}", stream.pieces());
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "the file has no name any more");
        assert!(file.bytes() > 4096);
        let expected = Batch::concat(&batches);
        let mut reader = SpillReader::new(Arc::new(stream));
        let mut read = Vec::new();
        while let Some(batch) = reader.next().unwrap() {
            read.push(batch);
        }
        let read = Batch::concat(&read);
        assert_eq!(read.rows, expected.rows);
        for (a, b) in expected.columns.iter().zip(&read.columns) {
            assert_eq!(a.ty(), b.ty());
            (0..read.rows).for_each(|row| assert_eq!(a.value(row), b.value(row), "{:?} {row}", a.ty()));
        }
        std::fs::remove_dir(&path).unwrap();
    }

    #[derive(Debug)]
    struct Damaging(Box<dyn FileWriter>);
    impl FileWriter for Damaging {
        fn write(&mut self, bytes: &[u8]) -> Result<()> {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
            self.0.write(&bytes)
        }
        fn position(&self) -> u64 {
            self.0.position()
        }
        fn cut(&mut self, length: u64) -> Result<()> {
            self.0.cut(length)
        }
        fn sync(&mut self) -> Result<()> {
            self.0.sync()
        }
        fn syncer(&self) -> Result<Arc<dyn files::FileSync>> {
            self.0.syncer()
        }
    }

    #[test]
    fn a_changed_byte_is_an_error() {
        let (path, files) = folder("damage");
        let file = SpillFile::new(files, 4096);
        let mut stream = SpillStream::new(&file);
        stream.push(batch(0, 2000)).unwrap();
        stream.flush().unwrap();
        {
            let mut open = file.open.lock().unwrap();
            let Open { writer, reader } = open.take().unwrap();
            *open = Some(Open { writer: Box::new(Damaging(writer)), reader });
        }
        stream.push(batch(0, 2000)).unwrap();
        stream.flush().unwrap();
        assert!(stream.read(0).is_ok());
        let error = stream.read(stream.pieces() - 1).unwrap_err();
        assert_eq!(error.state(), SqlState::DataCorrupted, "{error}");
        std::fs::remove_dir(&path).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_it() {
        let files = Arc::new(LocalFiles::new(&files::Capability::everything(), "/dev/null/folder").unwrap());
        let file = SpillFile::new(files, 4096);
        let mut stream = SpillStream::new(&file);
        let error = stream.push(batch(0, 2000)).and_then(|()| stream.flush()).unwrap_err();
        assert!(error.message().contains("/dev/null"), "{error}");
    }
}
