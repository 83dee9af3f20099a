//! From a table's columns and data files to the relation that `formats` reads.
//!
//! Both formats make [`Column`]s and [`DataFile`]s of their metadata; `source` makes the relation, with estimates of what
//! all files hold. Columns may always be NULL: a file may lack them. [`TypeReader`] is the part of reading columns that
//! both have: types inside types, of which each format has its own names.

use std::sync::Arc;

use plan::file::{FileColumn, FilePart, PartColumn};
use plan::lake::{Deletions, LakeFile, StoredColumn};
use plan::{FileFormat, FileSource, Zone};
use serde_json::Value as Json;
use types::{Error, Field, Result, Schema, SqlState, Type, Value};

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The name that queries use.
    pub name: String,
    /// Type, and how files have it.
    pub stored: StoredColumn,
}

/// A data file of a table.
#[derive(Debug)]
pub(crate) struct DataFile {
    /// Where it is.
    pub path: String,
    /// By column, the value of all rows where the metadata has one: a partition's.
    pub constants: Vec<Option<Value>>,
    /// Bounds by column, in the order of columns.
    pub zones: Vec<(usize, Zone)>,
    /// Rows in the file.
    pub rows: Option<u64>,
    /// Rows of the file that are deleted, as far as that is known.
    pub deleted_rows: u64,
    /// Which.
    pub deletions: Vec<Deletions>,
}

/// The error for metadata that is not as its format says.
pub(crate) fn damaged(path: &str, what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DataCorrupted, format!("\"{path}\" is damaged: {what}"))
}

/// A type, and what stands inside.
pub(crate) type Nested = (Type, Vec<StoredColumn>);

/// What a format's JSON calls the parts of nested types: the type of lists, and their element; a map's key and value.
pub(crate) struct Words {
    /// `array` or `list`.
    pub list: &'static str,
    /// The name of a list's element.
    pub element: &'static str,
    /// The name of a map's key.
    pub key: &'static str,
    /// The name of a map's value.
    pub value: &'static str,
}

/// Types inside types, at most.
const DEPTH_MAX: usize = 60;

/// What a column's type is read with.
pub(crate) struct TypeReader<'a> {
    /// The table, as errors name it.
    pub table: &'a str,
    /// The column.
    pub column: &'a str,
    /// How many types this one is inside of.
    pub depth: usize,
    /// What its parts are called.
    pub words: &'a Words,
    /// The type of a name; `None` for one that is not known.
    pub plain: fn(&str) -> Option<Type>,
    /// Reads the part of that name.
    pub inside: &'a dyn Fn(&str, &Json) -> Result<StoredColumn>,
    /// Reads a struct's field.
    pub field: &'a dyn Fn(&Json) -> Result<(String, StoredColumn)>,
}

impl TypeReader<'_> {
    /// A type, and what stands inside.
    pub(crate) fn read(&self, json: &Json) -> Result<Nested> {
        let TypeReader { table, column, .. } = self;
        if self.depth > DEPTH_MAX {
            return Err(damaged(table, format!("the type of its column \"{column}\" is nested too deeply")));
        }
        let wrong = || damaged(table, format!("the type of its column \"{column}\" is none: {json}"));
        if let Some(name) = json.as_str() {
            let refused =
                || format!("column \"{column}\" of \"{table}\" has type {name}, which is not supported");
            return (self.plain)(name).map(|ty| (ty, vec![])).ok_or_else(|| Error::unsupported(refused()));
        }
        let part = |name: &str| (self.inside)(name, json.get(name).ok_or_else(wrong)?);
        let kind = json.get("type").and_then(Json::as_str).ok_or_else(wrong)?;
        Ok(match (kind, json.get("fields").and_then(Json::as_array)) {
            ("struct", Some(fields)) => {
                let fields = fields.iter().map(self.field).collect::<Result<Vec<_>>>()?;
                let (names, inner): (Vec<String>, Vec<StoredColumn>) = fields.into_iter().unzip();
                let types = names.into_iter().zip(&inner).map(|(name, stored)| (name, stored.ty)).collect();
                (Type::structure(types)?, inner)
            }
            ("map", _) => {
                let (key, value) = (part(self.words.key)?, part(self.words.value)?);
                (Type::map(key.ty, value.ty)?, vec![key, value])
            }
            (list, _) if list == self.words.list => {
                let element = part(self.words.element)?;
                (Type::list(element.ty)?, vec![element])
            }
            _ => return Err(wrong()),
        })
    }
}

/// The type that a text such as `decimal(10,2)` names.
pub(crate) fn decimal(name: &str) -> Option<Type> {
    let digits = name.strip_prefix("decimal(")?.strip_suffix(')')?;
    let (precision, scale) = digits.split_once(',')?;
    Type::decimal(precision.trim().parse().ok()?, scale.trim().parse().ok()?)
}

/// One relation of a table's data files.
pub(crate) fn source(columns: &[Column], files: Vec<DataFile>) -> Result<FileSource> {
    let fields: Vec<Field> = columns.iter().map(|c| Field::new(&c.name, c.stored.ty, true)).collect();
    for (at, field) in fields.iter().enumerate() {
        if let Some(other) = fields[..at].iter().find(|f| f.name.eq_ignore_ascii_case(&field.name)) {
            let message = format!("the table has two columns \"{}\" and \"{}\"", other.name, field.name);
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
    }
    let left = |file: &DataFile| Some(file.rows?.saturating_sub(file.deleted_rows));
    let rows = files.iter().try_fold(0u64, |sum, file| Some(sum.saturating_add(left(file)?)));
    let statistics = (0..columns.len()).map(|at| estimate(&files, at)).collect();
    let stored: Arc<[StoredColumn]> = columns.iter().map(|c| c.stored.clone()).collect();
    let part = |file: DataFile| {
        let column = |(at, constant): (usize, Option<Value>)| match constant {
            Some(value) => PartColumn::Constant(value),
            None => PartColumn::Stored(at),
        };
        let lake = LakeFile { stored: stored.clone(), zones: file.zones, deletions: file.deletions };
        FilePart {
            source: alone([file.path].into(), Schema::new(vec![]), file.rows),
            columns: file.constants.into_iter().enumerate().map(column).collect(),
            lake: Some(Arc::new(lake)),
        }
    };
    let parts: Vec<FilePart> = files.into_iter().map(part).collect();
    let paths: Vec<String> = parts.iter().flat_map(|part| part.source.paths.iter().cloned()).collect();
    Ok(FileSource { statistics, parts: parts.into(), ..alone(paths.into(), Schema::new(fields), rows) })
}

fn alone(paths: Arc<[String]>, schema: Schema, rows: Option<u64>) -> FileSource {
    FileSource {
        paths,
        format: FileFormat::Parquet,
        schema,
        text: Default::default(),
        rows,
        statistics: vec![],
        parts: Arc::default(),
    }
}

/// What is known of a column over all files.
fn estimate(files: &[DataFile], at: usize) -> FileColumn {
    let zone_of = |file: &DataFile| match &file.constants[at] {
        Some(value) => Some(Zone::constant(value, file.rows?)),
        None => file.zones.iter().find(|(of, _)| *of == at).map(|(_, zone)| zone.clone()),
    };
    let mut all: Option<Zone> = None;
    for file in files {
        let Some(zone) = zone_of(file) else { return FileColumn::default() };
        all = Some(match all {
            None => zone,
            Some(all) => united(all, zone),
        });
    }
    FileColumn { zone: all.unwrap_or_default(), distinct: None }
}

fn united(a: Zone, b: Zone) -> Zone {
    let nothing = |zone: &Zone| zone.null_count == Some(zone.rows);
    let (min, max) = match (nothing(&a), nothing(&b)) {
        (_, true) => (a.min, a.max),
        (true, _) => (b.min, b.max),
        _ => (
            a.min.zip(b.min).map(|(a, b)| if b.total_cmp(&a).is_lt() { b } else { a }),
            a.max.zip(b.max).map(|(a, b)| if b.total_cmp(&a).is_gt() { b } else { a }),
        ),
    };
    let null_count = a.null_count.zip(b.null_count).map(|(a, b)| a.saturating_add(b));
    Zone { min, max, null_count, rows: a.rows.saturating_add(b.rows) }
}
