//! Definitions as bytes: types, with or without names, tables without their rows, views, sequences, macros.
//!
//! A table, view, sequence or macro is a list of numbered fields; a field that has its default is left out, and a
//! number that the reader does not know is an error, never skipped. Numbers are part of the file format: they are
//! only added, and never change their meaning. Readers validate what they build (column positions, nesting, type
//! parameters), because bytes with a right checksum may still come from a faulty writer. The log (`changes`) and the
//! catalog file (`catalog_file`) use both directions.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use block::{IndexKind, LayoutKind};
use pool::PartitionScheme;
use types::nested::NESTING_MAX;
use types::{Collation, Field, ReferentialAction, Result, Schema, SystemType, Type, Value, codes};

use super::bytes::{ByteReader, ByteWriter, malformed, unknown_field};
use crate::{
    BlockId, Check, ColumnAttributes, ForeignKey, Key, Macro, Partitioning, Sequence, Table, TableData,
    TableId, TableIndex, TableOptions, View, WideNode, WideTable,
};

pub(crate) fn write_type(w: &mut ByteWriter, ty: Type) {
    w.u8(ty.code());
    match ty {
        Type::Decimal { precision, scale } => w.raw(&[precision, scale]),
        Type::Char(length) | Type::Varchar(length) | Type::Bit(length) | Type::VarBit(length) => {
            w.u32(length)
        }
        Type::Collated(collation) => w.u32(collation.code()),
        Type::System(kind) => w.u8(kind.code()),
        _ => write_parts(w, ty),
    }
}

/// The types that a nested type is made of.
fn write_parts(w: &mut ByteWriter, ty: Type) {
    if let Some(element) = ty.element() {
        write_type(w, element);
    } else if let Some(fields) = ty.fields().or(ty.members()) {
        w.list(fields.iter(), |w, (name, ty)| {
            w.text(name);
            write_type(w, *ty);
        });
    } else if let Some((key, value)) = ty.entry() {
        write_type(w, key);
        write_type(w, value);
    } else if let Some(labels) = ty.labels() {
        w.option(ty.given_name(), ByteWriter::text);
        w.list(labels.iter(), |w, label| w.text(label));
    }
}

pub(crate) fn read_type(r: &mut ByteReader<'_>) -> Result<Type> {
    type_within(r, NESTING_MAX)
}

fn type_within(r: &mut ByteReader<'_>, depth: u32) -> Result<Type> {
    let depth = depth.checked_sub(1).ok_or_else(|| malformed("a type is nested too deep"))?;
    Ok(match r.u8()? {
        codes::DECIMAL => {
            let [precision, scale]: [u8; 2] = r.array()?;
            let decimal = Type::decimal(u32::from(precision), u32::from(scale));
            decimal.ok_or_else(|| malformed("a decimal type of impossible digits"))?
        }
        codes::CHAR => Type::Char(r.u32()?),
        codes::VARCHAR => Type::Varchar(r.u32()?),
        codes::COLLATED => {
            let collation = Collation::of_code(r.u32()?);
            Type::Collated(collation.ok_or_else(|| malformed("a collation is not known"))?)
        }
        codes::BIT => Type::Bit(r.u32()?),
        codes::VARBIT => Type::VarBit(r.u32()?),
        codes::SYSTEM => {
            let kind = SystemType::of_code(r.u8()?);
            Type::System(kind.ok_or_else(|| malformed("a type of the system catalog is not known"))?)
        }
        codes::VECTOR => Type::vector(type_within(r, depth)?)
            .ok_or_else(|| malformed("a vector of elements that it cannot have"))?,
        codes::LIST => Type::list(type_within(r, depth)?)?,
        codes::STRUCT => Type::structure(r.list(|r| Ok((r.text()?, type_within(r, depth)?)))?)?,
        codes::UNION => Type::union(r.list(|r| Ok((r.text()?, type_within(r, depth)?)))?)?,
        codes::ENUM => {
            let name = r.option(ByteReader::text)?;
            Type::enumeration(name.as_deref(), r.list(ByteReader::text)?)?
        }
        codes::MAP => Type::map(type_within(r, depth)?, type_within(r, depth)?)?,
        code => Type::of_code(code).ok_or_else(|| malformed(&format!("type {code} is not known")))?,
    })
}

/// Everything of a table but its rows and its version.
pub(crate) fn write_table(w: &mut ByteWriter, table: &Table) {
    let Table {
        id,
        schema,
        name,
        columns,
        attributes,
        comment,
        keys,
        foreign_keys,
        checks,
        options,
        indices,
        partitioning,
        wide,
        build,
        data: _,
        version: _,
        writers: _,
    } = table;
    w.field(1, |w| w.u64(id.0));
    w.field(2, |w| w.text(schema));
    w.field(3, |w| w.text(name));
    w.field(4, |w| {
        w.list(columns.fields().iter().zip(attributes), |w, (field, attributes)| {
            write_column(w, field, attributes);
        });
    });
    if let Some(comment) = comment {
        w.field(5, |w| w.text(comment));
    }
    if !keys.is_empty() {
        w.field(6, |w| w.list(keys.iter(), write_key));
    }
    if !foreign_keys.is_empty() {
        w.field(7, |w| w.list(foreign_keys.iter(), write_foreign_key));
    }
    w.field(8, |w| write_options(w, options));
    if !indices.is_empty() {
        w.field(9, |w| w.list(indices.iter(), write_index));
    }
    if !checks.is_empty() {
        w.field(10, |w| w.list(checks.iter(), write_check));
    }
    let actions: Vec<ReferentialAction> =
        foreign_keys.iter().flat_map(|key| [key.on_delete, key.on_update]).collect();
    if actions.iter().any(|action| *action != ReferentialAction::NoAction) {
        w.field(11, |w| w.list(actions.iter(), |w, action| w.u8(action.code())));
    }
    if let Some(wide) = wide {
        w.field(12, |w| write_wide(w, wide));
    }
    if let Some(build) = build {
        w.field(13, |w| w.u64(*build));
    }
    if let Some(partitioning) = partitioning {
        w.field(14, |w| write_partitioning(w, partitioning));
    }
    let equal: Vec<usize> = (0..keys.len()).filter(|at| keys[*at].nulls_equal).collect();
    if !equal.is_empty() {
        w.field(15, |w| w.positions(&equal));
    }
    let full: Vec<usize> = (0..foreign_keys.len()).filter(|at| foreign_keys[*at].full).collect();
    if !full.is_empty() {
        w.field(16, |w| w.positions(&full));
    }
    w.end_of_fields();
}

pub(crate) fn read_table(r: &mut ByteReader<'_>) -> Result<Table> {
    let (mut id, mut schema, mut name, mut columns) = (None, None, None, None);
    let (mut comment, mut keys, mut foreign_keys) = (None, Vec::new(), Vec::<ForeignKey>::new());
    let mut options = TableOptions::default();
    let mut indices: Vec<TableIndex> = Vec::new();
    let mut checks: Vec<Check> = Vec::new();
    let mut actions: Vec<ReferentialAction> = Vec::new();
    let (mut wide, mut build, mut partitioning) = (None, None, None);
    let (mut equal, mut full) = (Vec::new(), Vec::new());
    r.fields(|number, r| {
        match number {
            1 => id = Some(TableId(r.u64()?)),
            2 => schema = Some(r.text()?),
            3 => name = Some(r.text()?),
            4 => columns = Some(r.list(read_column)?),
            5 => comment = Some(r.text()?),
            6 => keys = r.list(read_key)?,
            7 => foreign_keys = r.list(read_foreign_key)?,
            8 => options = read_options(r)?,
            9 => indices = r.list(read_index)?,
            10 => checks = r.list(read_check)?,
            11 => actions = r.list(read_action)?,
            12 => wide = Some(Arc::new(read_wide(r)?)),
            13 => build = Some(r.u64()?),
            14 => partitioning = Some(Arc::new(read_partitioning(r)?)),
            15 => equal = r.positions()?,
            16 => full = r.positions()?,
            other => return Err(unknown_field("table", other)),
        }
        Ok(())
    })?;
    let (Some(id), Some(schema), Some(name), Some(columns)) = (id, schema, name, columns) else {
        return Err(malformed("a table lacks its name or columns"));
    };
    for (key, actions) in foreign_keys.iter_mut().zip(actions.chunks_exact(2)) {
        (key.on_delete, key.on_update) = (actions[0], actions[1]);
    }
    for at in equal {
        keys.get_mut(at)
            .ok_or_else(|| malformed("NULLs are equal in a key that is not there"))?
            .nulls_equal = true;
    }
    for at in full {
        foreign_keys.get_mut(at).ok_or_else(|| malformed("a foreign key that is not there is full"))?.full =
            true;
    }
    let (fields, attributes): (Vec<Field>, Vec<ColumnAttributes>) = columns.into_iter().unzip();
    let used = keys.iter().flat_map(|k: &Key| &k.columns);
    let used = used.chain(foreign_keys.iter().flat_map(|k: &ForeignKey| &k.columns));
    if used.into_iter().any(|column| *column >= fields.len()) {
        return Err(malformed("a key names a column that its table does not have"));
    }
    let checked = checks.iter().flat_map(|c| &c.columns).map(|(_, column)| *column);
    let columns = indices.iter().map(|i| i.column).chain(options.sorted_by).chain(checked);
    if columns.into_iter().any(|column| column >= fields.len()) {
        return Err(malformed("an index or a check is on a column that its table does not have"));
    }
    if partitioning.as_ref().is_some_and(|p: &Arc<Partitioning>| p.column >= fields.len()) {
        return Err(malformed("a table is partitioned by a column that it does not have"));
    }
    let places = wide.iter().flat_map(|wide: &Arc<WideTable>| &wide.nodes).flat_map(|node| &node.places);
    if places.into_iter().any(|place| *place >= fields.len()) {
        return Err(malformed("a wide table lacks a column of its parts"));
    }
    build.into_iter().for_each(|build| BlockId(build).keep_clear_of());
    let types: Vec<Type> = fields.iter().map(|f| f.ty).collect();
    Ok(Table {
        id,
        schema,
        name,
        columns: Schema::new(fields),
        attributes,
        comment,
        keys,
        foreign_keys,
        checks,
        options,
        indices,
        partitioning,
        wide,
        build,
        data: Arc::new(TableData::empty(&types)),
        version: 1,
        writers: Arc::new(Mutex::new(())),
    })
}

fn write_column(w: &mut ByteWriter, field: &Field, attributes: &ColumnAttributes) {
    let Field { name, ty, nullable } = field;
    let ColumnAttributes { default, comment, generated } = attributes;
    w.field(1, |w| w.text(name));
    w.field(2, |w| write_type(w, *ty));
    w.field(3, |w| w.flag(*nullable));
    if let Some(default) = default {
        w.field(4, |w| w.text(default));
    }
    if let Some(comment) = comment {
        w.field(5, |w| w.text(comment));
    }
    if let Some(generated) = generated {
        w.field(6, |w| w.text(generated));
    }
    w.end_of_fields();
}

fn read_column(r: &mut ByteReader<'_>) -> Result<(Field, ColumnAttributes)> {
    let (mut name, mut ty, mut nullable) = (None, None, true);
    let mut attributes = ColumnAttributes::default();
    r.fields(|number, r| {
        match number {
            1 => name = Some(r.text()?),
            2 => ty = Some(read_type(r)?),
            3 => nullable = r.flag()?,
            4 => attributes.default = Some(r.text()?),
            5 => attributes.comment = Some(r.text()?),
            6 => attributes.generated = Some(r.text()?),
            other => return Err(unknown_field("column", other)),
        }
        Ok(())
    })?;
    let (Some(name), Some(ty)) = (name, ty) else { return Err(malformed("a column lacks name or type")) };
    Ok((Field::new(name, ty, nullable), attributes))
}

fn write_key(w: &mut ByteWriter, key: &Key) {
    // Whether NULLs are equal stands in a field of its own.
    let Key { name, columns, primary, nulls_equal: _ } = key;
    w.option(name.as_deref(), ByteWriter::text);
    w.positions(columns);
    w.flag(*primary);
}

fn read_key(r: &mut ByteReader<'_>) -> Result<Key> {
    Ok(Key {
        name: r.option(ByteReader::text)?,
        columns: r.positions()?,
        primary: r.flag()?,
        nulls_equal: false,
    })
}

fn write_foreign_key(w: &mut ByteWriter, key: &ForeignKey) {
    // The actions and the kind of match stand in fields of their own: the first version of the format had none.
    let ForeignKey { name, columns, parent, parent_columns, on_delete: _, on_update: _, full: _ } = key;
    w.option(name.as_deref(), ByteWriter::text);
    w.positions(columns);
    w.u64(parent.0);
    w.positions(parent_columns);
}

fn read_foreign_key(r: &mut ByteReader<'_>) -> Result<ForeignKey> {
    let key = ForeignKey {
        name: r.option(ByteReader::text)?,
        columns: r.positions()?,
        parent: TableId(r.u64()?),
        parent_columns: r.positions()?,
        on_delete: ReferentialAction::NoAction,
        on_update: ReferentialAction::NoAction,
        full: false,
    };
    match key.columns.len() == key.parent_columns.len() {
        true => Ok(key),
        false => Err(malformed("a foreign key's columns do not pair up")),
    }
}

fn read_action(r: &mut ByteReader<'_>) -> Result<ReferentialAction> {
    let code = r.u8()?;
    ReferentialAction::of_code(code)
        .ok_or_else(|| malformed(&format!("action {code} of a foreign key is not known")))
}

fn write_options(w: &mut ByteWriter, options: &TableOptions) {
    let TableOptions { layout, sorted_by, block_bytes } = options;
    w.field(1, |w| w.text(layout.name()));
    w.field(2, |w| w.u64(*block_bytes as u64));
    if let Some(column) = sorted_by {
        w.field(3, |w| w.u32(*column as u32));
    }
    w.end_of_fields();
}

fn write_check(w: &mut ByteWriter, check: &Check) {
    let Check { name, text, columns } = check;
    w.text(name);
    w.text(text);
    w.list(columns.iter(), |w, (name, column)| {
        w.text(name);
        w.u32(*column as u32);
    });
}

fn read_check(r: &mut ByteReader<'_>) -> Result<Check> {
    let (name, text) = (r.text()?, r.text()?);
    Ok(Check { name, text, columns: r.list(|r| Ok((r.text()?, r.u32()? as usize)))? })
}

fn write_partitioning(w: &mut ByteWriter, partitioning: &Partitioning) {
    let Partitioning { column, names, scheme } = partitioning;
    w.u32(*column as u32);
    w.list(names.iter(), |w, name| w.text(name));
    match scheme {
        PartitionScheme::Hash { count } => {
            w.u8(0);
            w.u32(*count as u32);
        }
        PartitionScheme::Range { below } => {
            w.u8(1);
            w.list(below.iter(), |w, bound| w.option(bound.as_ref(), write_value));
        }
    }
}

fn read_partitioning(r: &mut ByteReader<'_>) -> Result<Partitioning> {
    let (column, names) = (r.u32()? as usize, r.list(ByteReader::text)?);
    let scheme = match r.u8()? {
        0 => PartitionScheme::Hash { count: r.u32()? as usize },
        1 => PartitionScheme::Range { below: r.list(|r| r.option(read_value))? },
        other => return Err(malformed(&format!("partitions of kind {other}"))),
    };
    match names.len() == scheme.count() && (1..=pool::PARTITIONS_MAX).contains(&names.len()) {
        true => Ok(Partitioning { column, names, scheme }),
        false => Err(malformed("partitions and their names do not go together")),
    }
}

fn write_value(w: &mut ByteWriter, value: &Value) {
    match value {
        Value::Bytes(bytes) => {
            w.u8(1);
            w.bytes(bytes);
        }
        Value::Bool(v) => {
            w.u8(2);
            w.flag(*v);
        }
        Value::I16(v) => {
            w.u8(3);
            w.raw(&v.to_le_bytes());
        }
        Value::I32(v) => {
            w.u8(4);
            w.raw(&v.to_le_bytes());
        }
        Value::I64(v) => {
            w.u8(5);
            w.raw(&v.to_le_bytes());
        }
        Value::I128(v) => {
            w.u8(6);
            w.raw(&v.to_le_bytes());
        }
        // Columns of these types are not partitioned by.
        Value::Null | Value::F32(_) | Value::F64(_) => w.u8(0),
    }
}

fn read_value(r: &mut ByteReader<'_>) -> Result<Value> {
    Ok(match r.u8()? {
        1 => Value::Bytes(r.bytes()?.into()),
        2 => Value::Bool(r.flag()?),
        3 => Value::I16(i16::from_le_bytes(r.array()?)),
        4 => Value::I32(i32::from_le_bytes(r.array()?)),
        5 => Value::I64(i64::from_le_bytes(r.array()?)),
        6 => Value::I128(i128::from_le_bytes(r.array()?)),
        other => return Err(malformed(&format!("a value of kind {other}"))),
    })
}

fn write_wide(w: &mut ByteWriter, wide: &WideTable) {
    let WideTable { only, nodes } = wide;
    w.option(only.as_ref(), |w, only| w.list(only.iter(), |w, id| w.u64(id.0)));
    w.list(nodes.iter(), |w, node| {
        let WideNode { table, parent, columns, referenced, places } = node;
        w.u64(table.0);
        w.u32(*parent as u32);
        [columns, referenced, places].into_iter().for_each(|list| w.positions(list));
    });
}

fn read_wide(r: &mut ByteReader<'_>) -> Result<WideTable> {
    let only = r.option(|r| r.list(|r| r.u64().map(TableId)))?;
    let nodes = r.list(|r| {
        Ok(WideNode {
            table: TableId(r.u64()?),
            parent: r.u32()? as usize,
            columns: r.positions()?,
            referenced: r.positions()?,
            places: r.positions()?,
        })
    })?;
    let parents_first = nodes.iter().enumerate().all(|(at, node)| node.parent < at.max(1));
    let paired = nodes.iter().all(|node| node.columns.len() == node.referenced.len());
    let within = |node: &WideNode| {
        let parent = &nodes[node.parent];
        node.columns.iter().all(|c| *c < parent.places.len())
            && node.referenced.iter().all(|c| *c < node.places.len())
    };
    match !nodes.is_empty() && parents_first && paired && nodes.iter().all(within) {
        true => Ok(WideTable { only, nodes }),
        false => Err(malformed("a wide table whose parts do not go together")),
    }
}

fn write_index(w: &mut ByteWriter, index: &TableIndex) {
    let TableIndex { name, kind, column } = index;
    w.text(name);
    w.text(kind.name());
    w.u32(*column as u32);
}

fn read_index(r: &mut ByteReader<'_>) -> Result<TableIndex> {
    let (name, kind) = (r.text()?, r.text()?);
    let kind = IndexKind::from_name(&kind).ok_or_else(|| malformed(&format!("index of kind \"{kind}\"")))?;
    Ok(TableIndex { name, kind, column: r.u32()? as usize })
}

fn read_options(r: &mut ByteReader<'_>) -> Result<TableOptions> {
    let mut options = TableOptions::default();
    r.fields(|number, r| {
        match number {
            1 => {
                let name = r.text()?;
                let layout = LayoutKind::from_name(&name);
                options.layout = layout.ok_or_else(|| malformed(&format!("layout \"{name}\"")))?;
            }
            2 => {
                let bytes = usize::try_from(r.u64()?).unwrap_or(usize::MAX);
                options.block_bytes = bytes.clamp(pool::BLOCK_BYTES_MIN, pool::BLOCK_BYTES_MAX);
            }
            3 => options.sorted_by = Some(r.u32()? as usize),
            other => return Err(unknown_field("table's options", other)),
        }
        Ok(())
    })?;
    Ok(options)
}

pub(crate) fn write_view(w: &mut ByteWriter, view: &View) {
    let View { columns, text, comment } = view;
    w.field(1, |w| w.list(columns.iter(), |w, name| w.text(name)));
    w.field(2, |w| w.text(text));
    if let Some(comment) = comment {
        w.field(3, |w| w.text(comment));
    }
    w.end_of_fields();
}

pub(crate) fn read_view(r: &mut ByteReader<'_>) -> Result<View> {
    let mut view = View { columns: Vec::new(), text: String::new(), comment: None };
    r.fields(|number, r| {
        match number {
            1 => view.columns = r.list(ByteReader::text)?,
            2 => view.text = r.text()?,
            3 => view.comment = Some(r.text()?),
            other => return Err(unknown_field("view", other)),
        }
        Ok(())
    })?;
    Ok(view)
}

pub(crate) fn write_macro(w: &mut ByteWriter, text: &Macro) {
    let Macro { parameters, text, table } = text;
    w.field(1, |w| w.list(parameters.iter(), |w, name| w.text(name)));
    w.field(2, |w| w.text(text));
    w.field(3, |w| w.flag(*table));
    w.end_of_fields();
}

pub(crate) fn read_macro(r: &mut ByteReader<'_>) -> Result<Macro> {
    let mut read = Macro { parameters: Vec::new(), text: String::new(), table: false };
    r.fields(|number, r| {
        match number {
            1 => read.parameters = r.list(ByteReader::text)?,
            2 => read.text = r.text()?,
            3 => read.table = r.flag()?,
            other => return Err(unknown_field("macro", other)),
        }
        Ok(())
    })?;
    Ok(read)
}

/// A sequence goes on behind what was reserved: numbers before may have been given.
pub(crate) fn write_sequence(w: &mut ByteWriter, sequence: &Sequence) {
    let Sequence { start, increment, minimum, maximum, cycle, reserved, next: _, owner } = sequence;
    w.field(1, |w| [start, increment, minimum, maximum, reserved].into_iter().for_each(|v| w.i64(*v)));
    w.field(2, |w| w.flag(*cycle));
    if let Some((table, column)) = owner {
        w.field(3, |w| {
            w.u64(table.0);
            w.u32(*column as u32);
        });
    }
    w.end_of_fields();
}

pub(crate) fn read_sequence(r: &mut ByteReader<'_>) -> Result<Sequence> {
    let (mut numbers, mut cycle, mut owner) = (None, false, None);
    r.fields(|number, r| {
        match number {
            1 => numbers = Some([r.i64()?, r.i64()?, r.i64()?, r.i64()?, r.i64()?]),
            2 => cycle = r.flag()?,
            3 => owner = Some((TableId(r.u64()?), r.u32()? as usize)),
            other => return Err(unknown_field("sequence", other)),
        }
        Ok(())
    })?;
    let Some([start, increment, minimum, maximum, reserved]) = numbers else {
        return Err(malformed("a sequence lacks its numbers"));
    };
    let next = Arc::new(AtomicI64::new(reserved));
    Ok(Sequence { start, increment, minimum, maximum, cycle, reserved, next, owner })
}
