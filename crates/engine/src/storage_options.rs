//! How a table's blocks are made: WITH (...) of CREATE TABLE and SET (...) of ALTER TABLE, as texts and as values.
//!
//! | option | value |
//! | --- | --- |
//! | `layout` | `column`, `row` (`split_row`), `packed_row`; or with the coding: `compressed_column`, `compressed_row` |
//! | `compress` | `true` or `false`: the layout's compressed or plain form |
//! | `sort` | a column, by which the rows of each block are sorted; `none` |
//! | `index` | kinds and columns: `'bitweaving(a), bloom(b)'` |
//! | `block_size` | bytes, such as `'4MB'` |

use catalog::{IndexKind, LayoutKind, TableIndex};
use types::{Error, Field, Result, SqlState};

use crate::define::positions;
use crate::settings::parse_block_bytes;

fn invalid(what: &str, value: &str) -> Error {
    Error::new(SqlState::InvalidParameterValue, format!("invalid {what} \"{value}\""))
}

/// Applies options to a table's own. `table` is its name.
pub(crate) fn apply(
    table: &str,
    fields: &[Field],
    with: &[(String, String)],
    options: &mut catalog::TableOptions,
    indices: &mut Vec<TableIndex>,
) -> Result<()> {
    let mut compress = None;
    for (option, value) in with {
        match option.as_str() {
            "block_size" => options.block_bytes = parse_block_bytes(value)?,
            "layout" => {
                options.layout = LayoutKind::from_name(value).ok_or_else(|| {
                    let known = LayoutKind::ALL.map(LayoutKind::name).join(", ");
                    invalid("layout", value).with_hint(format!("expected row, or one of {known}"))
                })?;
            }
            "compress" => {
                compress = Some(match value.to_lowercase().as_str() {
                    "true" | "on" | "1" => true,
                    "false" | "off" | "0" => false,
                    _ => return Err(invalid("value of compress", value).with_hint("expected true or false")),
                });
            }
            "sort" if value.eq_ignore_ascii_case("none") => options.sorted_by = None,
            "sort" => {
                let names = [value.clone()];
                options.sorted_by = positions(table, fields, &names)?.first().copied();
            }
            "index" => *indices = parse_indices(table, fields, value)?,
            other => {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    format!("unrecognized table option \"{other}\""),
                )
                .with_hint("the options are layout, compress, sort, index and block_size"));
            }
        }
    }
    if let Some(compress) = compress {
        options.layout = with_compression(options.layout, compress);
    }
    check(fields, options, indices)
}

fn with_compression(layout: LayoutKind, compress: bool) -> LayoutKind {
    use LayoutKind::{ColumnStore, CompressedColumnStore, CompressedRowStore, PackedRowStore, SplitRowStore};
    match (layout, compress) {
        (ColumnStore | CompressedColumnStore, true) => CompressedColumnStore,
        (ColumnStore | CompressedColumnStore, false) => ColumnStore,
        (PackedRowStore | SplitRowStore | CompressedRowStore, true) => CompressedRowStore,
        (CompressedRowStore, false) => SplitRowStore,
        (layout @ (PackedRowStore | SplitRowStore), false) => layout,
    }
}

/// What cannot be made is refused when it is asked for, not when the first row comes.
fn check(fields: &[Field], options: &catalog::TableOptions, indices: &[TableIndex]) -> Result<()> {
    let columns = matches!(options.layout, LayoutKind::ColumnStore | LayoutKind::CompressedColumnStore);
    if options.sorted_by.is_some() && !columns {
        let message = format!("a table of layout {} has no sort column", options.layout.name());
        return Err(Error::new(SqlState::InvalidParameterValue, message)
            .with_hint("use layout column or compressed_column"));
    }
    if options.layout == LayoutKind::PackedRowStore {
        let text = fields.iter().find(|f| f.ty.physical() == types::Physical::Bytes || f.ty.is_nested());
        if let Some(field) = text {
            let message = format!(
                "layout packed_row takes fixed widths only, and column \"{}\" is {}",
                field.name, field.ty
            );
            return Err(Error::new(SqlState::InvalidParameterValue, message).with_hint("use layout row"));
        }
    }
    for index in indices {
        check_index(index, &fields[index.column])?;
    }
    Ok(())
}

/// The error for an index that no block could have.
pub(crate) fn check_index(index: &TableIndex, field: &Field) -> Result<()> {
    if index.kind.suits(field.ty) {
        return Ok(());
    }
    let message =
        format!("column \"{}\" of type {} takes no {} index", field.name, field.ty, index.kind.name());
    Err(Error::new(SqlState::InvalidParameterValue, message))
}

/// The kind of an index by its name, or what there is.
pub(crate) fn index_kind(name: &str) -> Result<IndexKind> {
    IndexKind::from_name(name).ok_or_else(|| {
        let known = IndexKind::ALL.map(IndexKind::name).join(", ");
        let message = format!("access method \"{name}\" does not exist");
        Error::new(SqlState::UndefinedObject, message).with_hint(format!("there are {known}"))
    })
}

/// `kind(column), kind(column)`.
fn parse_indices(table: &str, fields: &[Field], text: &str) -> Result<Vec<TableIndex>> {
    let mut indices: Vec<TableIndex> = Vec::new();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let parts = one.strip_suffix(')').and_then(|one| one.split_once('('));
        let Some((kind, column)) = parts else {
            return Err(invalid("index", one).with_hint("write kind(column), such as bitweaving(price)"));
        };
        let kind = index_kind(kind.trim())?;
        for column in positions(table, fields, &[column.trim().to_lowercase()])? {
            let name = free_name(table, &fields[column].name, |name| indices.iter().any(|i| i.name == name));
            indices.push(TableIndex { name, kind, column });
        }
    }
    Ok(indices)
}

/// `t_a_idx`, or with a number behind it when that is taken.
pub(crate) fn free_name(table: &str, column: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = format!("{table}_{column}_idx");
    let numbered = (1..).map(|n| format!("{plain}{n}"));
    std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(plain)
}
