//! Files as relations, as inert descriptions; crate `formats` reads them.
//!
//! `formats` makes a `FileSource` from paths and options, finding out what the user left out; scans of logical and
//! physical plans carry it, and `operators` hands it back to `formats` for reading. All files of a source have one
//! format. Where they differ in their columns, `parts` says for each file how its columns become the relation's.
//! Statistics serve estimates only: no rewrite may rely on them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Schema, Value};

use crate::Zone;
use crate::lake::LakeFile;
use crate::rejects::Rejects;

/// The format of a file that is read as a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileFormat {
    /// A Parquet file.
    Parquet,
    /// Text of separated values.
    Csv,
    /// dbgen's text: `|` between and after values, no header.
    Tbl,
    /// Objects, one after the other or in an array.
    Json,
    /// Arrow IPC, file or stream.
    Arrow,
    /// A row for each file, whatever is in it: name, content, size, time of change.
    Whole,
    /// Rows that the host program holds; the path is their name.
    Memory,
}

/// An option that table functions set and no user can write: a further file to read after the first. `READER`
/// likewise holds the format that the function's name stands for.
pub const MORE_FILES: &str = "\0files";
/// As `MORE_FILES`: the option that names the format.
pub const READER: &str = "\0reader";

/// Bytes of a text file's record, at most, unless the user says otherwise: what is longer is an unclosed quote, and reading
/// on would take all memory.
pub const RECORD_BYTES_MAX: usize = 32 << 20;

/// How the characters of a text file are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    #[default]
    /// UTF-8.
    Utf8,
    /// ISO 8859-1.
    Latin1,
    /// Windows' code page 1252.
    Windows1252,
    /// With a byte order mark.
    Utf16,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
}

/// How the records of a JSON file follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonRecords {
    /// As the file's beginning shows.
    #[default]
    Found,
    /// One value a line.
    Lines,
    /// One array of values.
    Array,
}

/// How text files are read; ignored for the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextOptions {
    /// The byte between values, or the last one of those.
    pub delimiter: u8,
    /// The bytes of the delimiter before its last one, zeros before them.
    pub delimiter_begin: [u8; 3],
    /// 0: nothing is quoted.
    pub quote: u8,
    /// What stands before a quote that belongs to a quoted value: the quote itself, or another character.
    pub escape: u8,
    /// What ends a line: LF (perhaps after CR), or CR alone.
    pub newline: u8,
    /// Lines that begin so are passed over; 0 for none.
    pub comment: u8,
    /// Lines before the header, or before the first record.
    pub skip: u64,
    /// `None`: found by looking at the first line. Of JSON, `Some(false)`: a record is itself the only value.
    pub header: Option<bool>,
    /// What the header of each file says, where files are read together by position; empty where that does not matter.
    pub header_names: Arc<[String]>,
    /// The texts that stand for NULL.
    pub null_texts: Vec<String>,
    /// By column, the form of its dates or timestamps, as in strftime; `None`, and for columns beyond, ISO's forms.
    pub formats: Vec<Option<String>>,
    /// By column, whether its type was found in a sample: a value that such a type would change is an error.
    pub found: Vec<bool>,
    /// The byte before a number's fraction.
    pub decimal: u8,
    /// The byte between groups of three digits; 0 for none.
    pub thousands: u8,
    /// Records that are too short end in NULLs.
    pub null_padding: bool,
    /// The time zone of instants whose text names none: the session's.
    pub time_zone: types::Zone,
    /// Quotes where none should be are read as well as can be.
    pub lenient: bool,
    /// Bytes of a record, at most.
    pub record_bytes_max: usize,
    /// One worker reads a file from its beginning to its end.
    pub sequential: bool,
    /// Bytes of a file that are read at a time; `None` for what suits its length.
    pub piece_bytes: Option<u64>,
    /// How records follow each other in a JSON file.
    pub json_records: JsonRecords,
    /// The characters' encoding.
    pub encoding: Encoding,
    /// Records that cannot be read are left out, and noted here.
    pub rejects: Option<Rejects>,
}

impl TextOptions {
    /// The whole delimiter; empty where there is none.
    pub fn delimiter_text(&self) -> String {
        let bytes = self.delimiter_begin.iter().chain([&self.delimiter]).copied().filter(|byte| *byte != 0);
        String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
    }
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            delimiter: b',',
            delimiter_begin: [0; 3],
            quote: b'"',
            escape: b'"',
            newline: b'\n',
            comment: 0,
            skip: 0,
            header: None,
            header_names: Arc::default(),
            null_texts: vec![String::new()],
            formats: vec![],
            found: vec![],
            decimal: b'.',
            thousands: 0,
            null_padding: false,
            time_zone: types::zone::current(),
            lenient: false,
            record_bytes_max: RECORD_BYTES_MAX,
            sequential: false,
            piece_bytes: None,
            json_records: JsonRecords::Found,
            encoding: Encoding::Utf8,
            rejects: None,
        }
    }
}

/// Files of one format and schema, read in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileSource {
    /// The files, in the order in which they are read.
    pub paths: Arc<[String]>,
    /// The format of all of them.
    pub format: FileFormat,
    /// All columns the files have, in file order.
    pub schema: Schema,
    /// How the text is read, for formats that are text.
    pub text: TextOptions,
    /// Rows in all files, when their metadata says so.
    pub rows: Option<u64>,
    /// What metadata says of each column, or nothing at all. Good for estimates; nothing is proven by it.
    pub statistics: Vec<FileColumn>,
    /// Files that differ in their columns, or give them values by their place: one for each path. Empty when all files
    /// have just the columns of `schema`.
    pub parts: Arc<[FilePart]>,
}

/// One file of a relation: what it is by itself, and for each of the relation's columns where its values are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePart {
    /// The file by itself, with its own schema.
    pub source: FileSource,
    /// For each column of the relation, where this file has its values.
    pub columns: Vec<PartColumn>,
    /// What a table format says of the file; the schema of `source` is then empty, since no file was opened for it.
    pub lake: Option<Arc<LakeFile>>,
}

/// Where one file has the values of a column of the relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PartColumn {
    /// The file's column at this position.
    File(usize),
    /// All rows of the file have this value.
    Constant(Value),
    /// Found when the file is opened: the column of `LakeFile::stored` at this position.
    Stored(usize),
}

/// Estimates of a column over all files of a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileColumn {
    /// Bounds and counts; they may be missing.
    pub zone: Zone,
    /// Distinct values, where they are known.
    pub distinct: Option<u64>,
}

impl FileSource {
    /// Records that cannot be read are left out and noted.
    pub fn set_rejects(&mut self, rejects: &Rejects) {
        self.text.rejects = Some(rejects.clone());
        let mut parts = self.parts.to_vec();
        parts.iter_mut().for_each(|part| part.source.set_rejects(rejects));
        self.parts = parts.into();
    }
}
