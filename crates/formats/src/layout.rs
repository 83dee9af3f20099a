//! How described files become one relation when they are more than alike: options `union_by_name`,
//! `hive_partitioning` and `filename`.

use std::collections::HashMap;

use plan::file::{FilePart, PartColumn};
use plan::{FileFormat, FileSource};
use types::{Error, Field, Result, Schema, SqlState, Type, Value, cast};

use crate::write::NULL_PARTITION;

/// Options that say how files make up a relation, whatever their format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    pub union_by_name: bool,
    /// `None`: when all files lie in folders that say the same names.
    pub hive: Option<bool>,
    pub filename: bool,
}

impl Layout {
    /// Takes its options out of the list.
    pub fn take(options: &mut Vec<(String, String)>) -> Result<Layout> {
        let mut layout = Layout::default();
        let mut wrong = None;
        options.retain(|(name, value)| {
            let slot = match name.to_ascii_lowercase().as_str() {
                "union_by_name" => &mut layout.union_by_name,
                "filename" => &mut layout.filename,
                "hive_partitioning" => layout.hive.get_or_insert(true),
                _ => return true,
            };
            match value.to_ascii_lowercase().as_str() {
                "" | "true" | "t" | "on" | "yes" | "1" => *slot = true,
                "false" | "f" | "off" | "no" | "0" => *slot = false,
                _ => wrong = Some((name.clone(), value.clone())),
            }
            false
        });
        match wrong {
            None => Ok(layout),
            Some((name, value)) => Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("invalid value for option \"{name}\": \"{value}\""),
            )
            .with_hint(format!("{name} is true or false"))),
        }
    }
}

/// The names and values that a path's folders give: `a=1/b=x/file` says a and b.
fn folder_values(path: &str) -> Vec<(String, Option<String>)> {
    let folders = crate::remote::name_of(path).rsplit_once('/').map_or("", |(folders, _)| folders);
    let value = |part: &str| {
        let (name, text) = part.split_once('=')?;
        let text = (text != NULL_PARTITION).then(|| unescaped(text));
        (!name.is_empty()).then(|| (unescaped(name), text))
    };
    folders.split('/').filter_map(value).collect()
}

fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None if text == "%" => at += 1,
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The simplest type that all values have.
fn type_of<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Type {
    let fits = |ty: Type| {
        values.clone().all(|text| {
            // A number that is printed otherwise, such as 007, is text.
            cast::parse_text(text, ty).is_ok_and(|value| value.display(ty) == text)
        })
    };
    if values.clone().next().is_none() {
        return Type::Text;
    }
    [Type::BigInt, Type::Date].into_iter().find(|ty| fits(*ty)).unwrap_or(Type::Text)
}

/// The columns that folders' names give, with their values by path; empty when the paths do not agree on names.
fn hive_columns(paths: &[String], layout: Layout) -> Result<Vec<(Field, Vec<Value>)>> {
    if layout.hive == Some(false) {
        return Ok(vec![]);
    }
    let found: Vec<Vec<(String, Option<String>)>> = paths.iter().map(|p| folder_values(p)).collect();
    let names: Vec<&String> = found.first().into_iter().flatten().map(|(name, _)| name).collect();
    let agree = found.iter().all(|values| values.iter().map(|(name, _)| name).eq(names.iter().copied()));
    if !agree || names.is_empty() {
        return match layout.hive {
            Some(true) => Err(Error::new(
                SqlState::InvalidParameterValue,
                "hive_partitioning needs files in folders that all name the same columns, such as year=2024",
            )),
            _ => Ok(vec![]),
        };
    }
    let column = |at: usize| {
        let texts = found.iter().map(|values| values[at].1.as_deref());
        let ty = type_of(texts.clone().flatten());
        let values = texts
            .map(|text| text.map_or(Ok(Value::Null), |text| cast::parse_text(text, ty)))
            .collect::<Result<Vec<_>>>()?;
        Ok((Field::new(names[at], ty, values.iter().any(Value::is_null)), values))
    };
    (0..names.len()).map(column).collect()
}

/// Whether the files need parts: folders with values, an option, or files that are to be united by name.
pub fn is_plain(paths: &[String], layout: Layout) -> bool {
    let folders = layout.hive != Some(false) && paths.iter().any(|p| !folder_values(p).is_empty());
    !(layout.union_by_name || layout.filename || layout.hive == Some(true) || folders)
}

/// One relation of files described one by one (`each`), or all alike (`whole`).
pub fn combine(paths: &[String], each: Vec<FileSource>, layout: Layout) -> Result<FileSource> {
    let Some(first) = each.first() else { return Err(Error::internal("a relation of no files")) };
    let mut fields: Vec<Field> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for (number, source) in each.iter().enumerate() {
        for field in source.schema.fields() {
            match positions.get(&field.name).copied() {
                Some(at) => {
                    let known = &mut fields[at];
                    known.ty = wider(known.ty, field.ty);
                    known.nullable |= field.nullable;
                }
                None => {
                    positions.insert(field.name.clone(), fields.len());
                    // The files before have not this column.
                    fields.push(Field::new(&field.name, field.ty, field.nullable || number > 0));
                }
            }
        }
    }
    for field in &mut fields {
        field.nullable |= each.iter().any(|s| s.schema.fields().iter().all(|f| f.name != field.name));
    }
    let own = fields.len();
    let mut constants: Vec<Vec<Value>> = Vec::new();
    for (field, values) in hive_columns(paths, layout)? {
        // A column that the files have themselves is theirs.
        if !positions.contains_key(&field.name) {
            fields.push(field);
            constants.push(values);
        }
    }
    if layout.filename {
        fields.push(Field::new("filename", Type::Text, false));
        constants.push(paths.iter().map(|p| Value::text(p)).collect());
    }
    let format = first.format;
    let text = first.text.clone();
    let rows = each.iter().map(|s| s.rows).try_fold(0u64, |sum, rows| Some(sum.saturating_add(rows?)));
    let statistics = match (each.as_slice(), format) {
        ([only], FileFormat::Parquet) => only.statistics.clone(),
        _ => vec![],
    };
    let parts = each
        .into_iter()
        .enumerate()
        .map(|(number, source)| {
            let columns = fields
                .iter()
                .enumerate()
                .map(|(at, field)| match at.checked_sub(own) {
                    Some(constant) => PartColumn::Constant(constants[constant][number].clone()),
                    None => match source.schema.fields().iter().position(|f| f.name == field.name) {
                        Some(own) => PartColumn::File(own),
                        None => PartColumn::Constant(Value::Null),
                    },
                })
                .collect();
            FilePart { source, columns }
        })
        .collect::<Vec<_>>();
    Ok(FileSource {
        paths: paths.into(),
        format,
        schema: Schema::new(fields),
        text,
        rows,
        statistics,
        parts: parts.into(),
    })
}

/// A type that holds the values of both.
fn wider(a: Type, b: Type) -> Type {
    let rank = |ty: Type| match ty {
        ty if ty.is_integer() => Some(0),
        Type::Real | Type::Double => Some(3),
        _ => None,
    };
    match (rank(a), rank(b)) {
        _ if a == b => a,
        (Some(3), _) | (_, Some(3)) => Type::Double,
        (Some(_), Some(_)) => a.common_integer(b).unwrap_or(Type::HugeInt),
        _ => match (a, b) {
            (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
            _ => Type::Text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_columns() {
        let values = folder_values("data/year=2024/name=a%2Fb/x.parquet");
        assert_eq!(values, [("year".into(), Some("2024".into())), ("name".into(), Some("a/b".into()))]);
        assert!(folder_values("a=1").is_empty());
        assert_eq!(folder_values(&format!("a={NULL_PARTITION}/f")), [("a".into(), None)]);
        assert_eq!(type_of(["1", "20"].into_iter()), Type::BigInt);
        assert_eq!(type_of(["1", "02"].into_iter()), Type::Text);
        assert_eq!(type_of(["2024-01-31"].into_iter()), Type::Date);
    }
}
