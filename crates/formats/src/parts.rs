//! Files that differ read as one relation: columns by name, columns from folders' names, the file's own name.
//!
//! Each file is a part with a source of its own; a column of the relation is a column of the file, or one value for
//! all of its rows. Conditions are held against those values first, so a file in which no row can pass is never opened.
//! Of a table's data files (`lake`) more is known: bounds, where columns are once the file is open, deleted rows.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use plan::file::{FilePart, PartColumn};
use plan::lake::LakeFile;
use plan::{FileSource, Pruning, Zone, Zones};
use types::{Error, Result, Type, Value, cast};
use vector::Vector;

use crate::lake::deletions::{self, Cache, Deleted};
use crate::lake::stored::{Found, Shape, place, shape};
use crate::lake::window::{KeptRows, kept_rows};
use crate::remote::abreast::each;
use crate::{Environment, Reader, RejectLogs, Skipped, Window, parquet};

/// A file that is read, and what its reader's columns are to the relation's.
struct OpenPart {
    reader: Arc<dyn Reader>,
    columns: Vec<Column>,
    first_unit: u64,
    deleted: Option<DeletedRows>,
}

/// Deleted rows of a file, and for each set of values its columns among the reader's.
struct DeletedRows {
    deleted: Deleted,
    compared: Vec<Vec<Column>>,
}

#[derive(Clone)]
enum Column {
    /// Position among the reader's columns, the type it has there and the one it is to have.
    Read(usize, Type, Type),
    Constant(Type, Value),
    /// Position among the reader's columns, the file, what is done with its values, and the type they then have.
    Shaped(usize, Arc<(String, Shape)>, Type),
    /// Not known before the file is open: the position among the table's stored columns.
    Stored(usize),
}

/// The reader of files that differ. Files are opened when units are first asked for.
pub struct Parts {
    environment: Environment,
    source: FileSource,
    columns: Vec<usize>,
    batch_rows: usize,
    logs: RejectLogs,
    opened: OnceLock<(Vec<OpenPart>, u64)>,
    deletions: Cache,
}

impl Parts {
    /// A reader of the columns at these positions in the relation; opens nothing.
    pub fn new(
        environment: &Environment,
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
        logs: &RejectLogs,
    ) -> Self {
        let (environment, source, logs) = (environment.clone(), source.clone(), logs.clone());
        let deletions = Cache::default();
        Parts {
            environment,
            source,
            columns: columns.to_vec(),
            batch_rows,
            logs,
            opened: OnceLock::new(),
            deletions,
        }
    }

    fn columns_of(&self, part: &FilePart) -> (Vec<Column>, Vec<usize>) {
        let mut wanted = Vec::new();
        let columns = self
            .columns
            .iter()
            .map(|at| {
                let ty = self.source.schema.fields()[*at].ty;
                match part.columns.get(*at) {
                    Some(PartColumn::File(own)) => {
                        wanted.push(*own);
                        Column::Read(wanted.len() - 1, part.source.schema.fields()[*own].ty, ty)
                    }
                    Some(PartColumn::Constant(value)) => Column::Constant(ty, value.clone()),
                    Some(PartColumn::Stored(at)) => Column::Stored(*at),
                    None => Column::Constant(ty, Value::Null),
                }
            })
            .collect();
        (columns, wanted)
    }

    fn open(&self, conditions: &[Pruning]) -> Result<(Vec<OpenPart>, u64, Skipped)> {
        let (mut parts, mut units, mut skipped) = (Vec::new(), 0, Skipped::default());
        let mut read = Vec::new();
        for part in self.source.parts.iter() {
            let (columns, wanted) = self.columns_of(part);
            skipped.files += 1;
            let known = Known { columns: &columns, wanted: &self.columns, lake: part.lake.as_deref() };
            if conditions.iter().all(|c| c.may_match(&known)) {
                read.push((part, columns, wanted));
            } else {
                skipped.files_skipped += 1;
            }
        }
        let opened = each(&read, first_path, |(part, columns, wanted)| {
            if let Some(lake) = &part.lake {
                return self.open_lake_file(part, lake, columns, conditions);
            }
            let reader =
                crate::open_noting(&self.environment, &part.source, wanted, self.batch_rows, &self.logs)?;
            let own: Vec<Pruning> = conditions.iter().filter_map(|c| translated(c, columns)).collect();
            let inner = reader.prune(&own)?;
            Ok((reader, columns.clone(), None, inner))
        })?;
        for (reader, columns, deleted, inner) in opened {
            skipped.groups += inner.groups;
            skipped.groups_skipped += inner.groups_skipped;
            skipped.pages += inner.pages;
            skipped.pages_skipped += inner.pages_skipped;
            let count = reader.units()?;
            parts.push(OpenPart { reader, columns, first_unit: units, deleted });
            units += count;
        }
        Ok((parts, units, skipped))
    }

    /// Opens a data file of a table: its columns are found, its deleted rows read, its row groups asked.
    fn open_lake_file(
        &self,
        part: &FilePart,
        lake: &LakeFile,
        columns: &[Column],
        conditions: &[Pruning],
    ) -> Result<OpenLakeFile> {
        let path = part.source.paths.first().map_or("", String::as_str);
        let (fields, found) = parquet::found(&self.environment, path)?;
        let mut wanted = Vec::new();
        let mut resolve = |column: &Column| match column {
            Column::Stored(at) => {
                let stored = lake.stored.get(*at);
                let stored = stored.ok_or_else(|| Error::internal("a stored column is missing"))?;
                resolved(path, stored, &found, &mut wanted)
            }
            known => Ok(known.clone()),
        };
        let columns = columns.iter().map(&mut resolve).collect::<Result<Vec<_>>>()?;
        let deleted = Deleted::load(&self.environment, lake, &self.deletions)?;
        let deleted = deleted.map(|deleted| {
            let of = |stored| resolved(path, stored, &found, &mut wanted);
            let mut of = of;
            let compared = deleted.values.iter().map(|v| v.columns.iter().map(&mut of).collect());
            let compared = compared.collect::<Result<Vec<_>>>()?;
            Ok::<_, Error>(DeletedRows { deleted, compared })
        });
        let deleted = deleted.transpose()?;
        let source = deletions::source(path, fields);
        let reader = crate::open_noting(&self.environment, &source, &wanted, self.batch_rows, &self.logs)?;
        let own: Vec<Pruning> = conditions.iter().filter_map(|c| translated(c, &columns)).collect();
        let inner = reader.prune(&own)?;
        Ok((reader, columns, deleted, inner))
    }

    fn opened(&self) -> Result<&(Vec<OpenPart>, u64)> {
        if self.opened.get().is_none() {
            let (parts, units, _) = self.open(&[])?;
            let _ = self.opened.set((parts, units));
        }
        self.opened.get().ok_or_else(|| Error::internal("files are not open"))
    }
}

fn first_path<'p>((part, ..): &'p (&FilePart, Vec<Column>, Vec<usize>)) -> &'p str {
    part.source.paths.first().map_or("", String::as_str)
}

type OpenLakeFile = (Arc<dyn Reader>, Vec<Column>, Option<DeletedRows>, Skipped);

/// A table's column in a file; the file's column is added to those that are wanted of it.
fn resolved(
    path: &str,
    stored: &plan::lake::StoredColumn,
    found: &[Found],
    wanted: &mut Vec<usize>,
) -> Result<Column> {
    let Some(at) = place(path, stored, found)? else {
        return Ok(Column::Constant(stored.ty, stored.missing.clone()));
    };
    let own = &found[at];
    let shape = shape(path, stored, own)?;
    wanted.push(at);
    Ok(match shape {
        Shape::Same => Column::Read(wanted.len() - 1, own.ty, stored.ty),
        shape => Column::Shaped(wanted.len() - 1, Arc::new((path.to_owned(), shape)), stored.ty),
    })
}

/// What is known of a file before it is opened: constants, and the bounds that a table's metadata has.
struct Known<'a> {
    columns: &'a [Column],
    /// The columns' positions in the relation.
    wanted: &'a [usize],
    lake: Option<&'a LakeFile>,
}

impl Zones for Known<'_> {
    fn zone(&self, column: usize) -> Option<Zone> {
        if let Some(zone) = Constants(self.columns).zone(column) {
            return Some(zone);
        }
        let at = self.wanted.get(column)?;
        self.lake?.zones.iter().find(|(of, _)| of == at).map(|(_, zone)| zone.clone())
    }
}

/// The constants among a file's columns.
struct Constants<'a>(&'a [Column]);

impl Zones for Constants<'_> {
    fn zone(&self, column: usize) -> Option<Zone> {
        match self.0.get(column)? {
            Column::Constant(_, value) => Some(Zone::constant(value, 1)),
            Column::Read(..) | Column::Shaped(..) | Column::Stored(_) => None,
        }
    }
}

/// The condition over the reader's own columns; `None` when nothing is left to refute.
fn translated(condition: &Pruning, columns: &[Column]) -> Option<Pruning> {
    match condition {
        Pruning::Column(column, predicate) => match columns.get(*column)? {
            Column::Read(own, from, to) if from == to => Some(Pruning::Column(*own, predicate.clone())),
            _ => None,
        },
        Pruning::All(parts) => {
            let parts: Vec<Pruning> = parts.iter().filter_map(|p| translated(p, columns)).collect();
            (!parts.is_empty()).then_some(Pruning::All(parts))
        }
        Pruning::Any(parts) => {
            // A branch that constants refute is no branch; one that they cannot refute may hold.
            let open: Vec<&Pruning> = parts.iter().filter(|p| p.may_match(&Constants(columns))).collect();
            let parts = open.into_iter().map(|p| translated(p, columns)).collect::<Option<_>>()?;
            Some(Pruning::Any(parts))
        }
    }
}

impl Reader for Parts {
    fn prune(&self, conditions: &[Pruning]) -> Result<Skipped> {
        let (parts, units, skipped) = self.open(conditions)?;
        let _ = self.opened.set((parts, units));
        Ok(skipped)
    }
    fn units(&self) -> Result<u64> {
        Ok(self.opened()?.1)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let parts = &self.opened()?.0;
        // Parts without units share their first unit with the next part; the last one in the row has the unit.
        let at = parts.partition_point(|part| part.first_unit <= unit);
        let Some(part) = at.checked_sub(1).and_then(|at| parts.get(at)) else { return Ok(()) };
        part.reader.scan(unit - part.first_unit, &mut |inner| {
            let Some(deleted) = &part.deleted else {
                return visit(&mut PartWindow { inner, columns: &part.columns });
            };
            let (rows, first) = (inner.rows(), inner.first_row());
            let first = first.ok_or_else(|| Error::internal("rows of a table's file have no numbers"))?;
            let mut fetch = |at: usize| {
                let columns = deleted.compared.get(at).map_or(&[][..], Vec::as_slice);
                let mut window = PartWindow { inner: &mut *inner, columns };
                (0..columns.len()).map(|column| window.fetch(column, 0..rows)).collect()
            };
            match kept_rows(&deleted.deleted, first, rows, &mut fetch)? {
                None => visit(&mut PartWindow { inner, columns: &part.columns }),
                Some(kept) if kept.is_empty() => Ok(true),
                Some(kept) => {
                    let inner = &mut KeptRows::new(inner, kept);
                    visit(&mut PartWindow { inner, columns: &part.columns })
                }
            }
        })
    }
}

struct PartWindow<'a> {
    inner: &'a mut dyn Window,
    columns: &'a [Column],
}

impl PartWindow<'_> {
    fn column(&self, column: usize) -> Result<Column> {
        self.columns.get(column).cloned().ok_or_else(|| Error::internal("a column of a file is missing"))
    }
}

impl Window for PartWindow<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }
    fn columns(&self) -> usize {
        self.columns.len()
    }
    fn fetch(&mut self, column: usize, rows: Range<usize>) -> Result<Vector> {
        match self.column(column)? {
            Column::Read(own, from, to) => converted(self.inner.fetch(own, rows)?, from, to),
            Column::Shaped(own, shape, to) => shape.1.applied(&shape.0, self.inner.fetch(own, rows)?, to),
            Column::Stored(_) => Err(Error::internal("a column was not looked up in its file")),
            Column::Constant(ty, value) => Ok(constant(ty, &value, rows.len())),
        }
    }
    fn fetch_rows(&mut self, column: usize, rows: &[u32]) -> Result<Vector> {
        match self.column(column)? {
            Column::Read(own, from, to) => converted(self.inner.fetch_rows(own, rows)?, from, to),
            Column::Shaped(own, shape, to) => {
                shape.1.applied(&shape.0, self.inner.fetch_rows(own, rows)?, to)
            }
            Column::Stored(_) => Err(Error::internal("a column was not looked up in its file")),
            Column::Constant(ty, value) => Ok(constant(ty, &value, rows.len())),
        }
    }
}

fn constant(ty: Type, value: &Value, rows: usize) -> Vector {
    match value.is_null() {
        true => Vector::from_values(ty, &vec![Value::Null; rows]),
        false => Vector::constant(ty, value.clone(), rows),
    }
}

/// Files that are united by name may have a column under several types; the relation has the widest.
fn converted(vector: Vector, from: Type, to: Type) -> Result<Vector> {
    if from == to {
        return Ok(vector);
    }
    let cast = |row: usize| match vector.value(row) {
        Value::Null => Ok(Value::Null),
        value => cast::cast_value(&value, from, to),
    };
    Ok(Vector::from_values(to, &(0..vector.len()).map(cast).collect::<Result<Vec<_>>>()?))
}
