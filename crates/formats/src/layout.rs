//! How described files become one relation when they are more than alike: options `union_by_name`,
//! `hive_partitioning` and `filename`.
//!
//! `Layout` holds what the options say. `combine` takes the files, described one by one, and gives a source with a
//! part for each: every column of the relation is a column of the part's file or a constant (a value from a folder's
//! name, the file's name, NULL). A column that several files have gets a type that holds the values of all. Called by
//! `describe`; `parts` reads what is made here.

use std::collections::HashMap;

use plan::file::{FilePart, PartColumn};
use plan::{FileFormat, FileSource};
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Field, Result, Schema, SqlState, Type, Value, cast};

use crate::text::{boolean, invalid, typed};
use crate::write::NULL_PARTITION;

/// Options that say how files make up a relation, whatever their format.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Columns of files are matched by name; files may lack some.
    pub union_by_name: bool,
    /// `None`: when all files lie in folders that say the same names.
    pub hive: Option<bool>,
    /// Types of columns that folders name.
    hive_types: Vec<(String, Type)>,
    /// Columns that folders name are texts unless their types are said.
    hive_texts: bool,
    /// The relation has a column `filename` with the path of each row's file.
    pub filename: bool,
}

impl Layout {
    /// Reads its options from the list.
    pub fn of(options: &[(String, String)]) -> Result<Layout> {
        let mut layout = Layout::default();
        for (name, value) in options {
            match name.to_ascii_lowercase().as_str() {
                "union_by_name" => layout.union_by_name = boolean(name, value)?,
                "filename" => layout.filename = boolean(name, value)?,
                "hive_partitioning" => layout.hive = Some(boolean(name, value)?),
                "hive_types_autocast" => layout.hive_texts = !boolean(name, value)?,
                "hive_types" => match typed(name, value)? {
                    (column, _) if column.is_empty() => {
                        return Err(invalid(
                            name,
                            value,
                            "a list of names and types: {'year': 'INTEGER', ...}",
                        ));
                    }
                    (_, ty) if ty.is_nested() => {
                        return Err(invalid(name, &ty.sql_name(), "a type whose values folders can name"));
                    }
                    typed => layout.hive_types.push(typed),
                },
                _ => {}
            }
        }
        let said = !layout.hive_types.is_empty() || layout.hive_texts;
        if said && layout.hive == Some(false) {
            let message = "hive_types are those of columns that hive_partitioning => false leaves out";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        if !layout.hive_types.is_empty() {
            layout.hive = Some(true);
        }
        Ok(layout)
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

/// A column that folders' names give.
struct FolderColumn {
    name: String,
    /// By path; `None` where no folder says the name, `Some(None)` where one says that it is NULL.
    texts: Vec<Option<Option<String>>>,
    /// The type that was said.
    ty: Option<Type>,
}

impl FolderColumn {
    fn said(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts.iter().flatten().flatten().map(String::as_str)
    }

    /// The value of a path, as one of the type; `None` where its folders do not say the name.
    fn value(&self, paths: &[String], at: usize, ty: Type) -> Result<Option<Value>> {
        let Some(text) = &self.texts[at] else { return Ok(None) };
        let Some(text) = text else { return Ok(Some(Value::Null)) };
        let wrong = |error: Error| {
            let message = format!(
                "the folders of \"{}\" say {} = {text}, which is no {}: {}",
                paths[at],
                self.name,
                ty.sql_name(),
                error.message()
            );
            Error::new(error.state(), message).with_hint(format!(
                "read it as a wider type, as in hive_types => {{'{}': 'TEXT'}}",
                self.name
            ))
        };
        cast::parse_text(text, ty).map(Some).map_err(wrong)
    }
}

/// The columns that folders' names give. Where files are united by name, folders may say different ones; else there are
/// none unless all paths say the same names.
fn folder_columns(paths: &[String], layout: &Layout) -> Result<Vec<FolderColumn>> {
    if layout.hive == Some(false) {
        return Ok(vec![]);
    }
    let found: Vec<Vec<(String, Option<String>)>> = paths.iter().map(|p| folder_values(p)).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in found.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let says = |values: &[(String, Option<String>)], name: &String| values.iter().any(|(n, _)| n == name);
    let agree = found.iter().all(|values| names.iter().all(|name| says(values, name)));
    if names.is_empty() || !(agree || layout.union_by_name) {
        return match layout.hive {
            Some(true) => Err(Error::new(
                SqlState::InvalidParameterValue,
                "hive_partitioning needs files in folders that all name the same columns, such as year=2024",
            )
            .with_hint("union_by_name => true reads files whose folders name different ones")),
            _ => Ok(vec![]),
        };
    }
    if let Some((unknown, _)) = layout.hive_types.iter().find(|(name, _)| !names.contains(&name)) {
        let message = format!("option \"hive_types\" names \"{unknown}\", which no folder does");
        let names = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(
            Error::new(SqlState::UndefinedColumn, message).with_detail(format!("The folders name {names}."))
        );
    }
    let column = |name: &String| {
        // Where a path has a name twice, the nearest folder's value counts.
        let text = |values: &Vec<(String, Option<String>)>| {
            values.iter().rev().find(|(n, _)| n == name).map(|(_, text)| text.clone())
        };
        let said = layout.hive_types.iter().find(|(n, _)| n == name).map(|(_, ty)| *ty);
        FolderColumn {
            name: name.clone(),
            texts: found.iter().map(text).collect(),
            ty: said.or(layout.hive_texts.then_some(Type::Text)),
        }
    };
    Ok(names.into_iter().map(column).collect())
}

/// Whether the files need parts: folders with values, an option, or files that are to be united by name.
pub fn is_plain(paths: &[String], layout: &Layout) -> bool {
    let folders = layout.hive != Some(false) && paths.iter().any(|p| !folder_values(p).is_empty());
    !(layout.union_by_name || layout.filename || layout.hive == Some(true) || folders)
}

/// One relation of files described one by one (`each`), or all alike (`whole`).
pub fn combine(paths: &[String], each: Vec<FileSource>, layout: &Layout) -> Result<FileSource> {
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
    // A column that a file has itself is the file's; of the files without it, it is the folders'.
    let mut of_folders: HashMap<usize, (FolderColumn, Type)> = HashMap::new();
    for column in folder_columns(paths, layout)? {
        let at = match positions.get(&column.name).copied() {
            Some(at) if each.iter().all(|s| s.schema.fields().iter().any(|f| f.name == column.name)) => {
                if layout.hive_types.iter().any(|(name, _)| *name == column.name) {
                    let message = format!(
                        "option \"hive_types\" names \"{}\", which is a column of the files themselves",
                        fields[at].name
                    );
                    return Err(Error::new(SqlState::InvalidParameterValue, message));
                }
                continue;
            }
            Some(at) => {
                let known = &mut fields[at];
                let held = column.said().all(|text| cast::parse_text(text, known.ty).is_ok());
                if let Some(ty) = column.ty.or_else(|| (!held).then(|| type_of(column.said()))) {
                    known.ty = wider(known.ty, ty);
                }
                at
            }
            None => {
                let ty = column.ty.unwrap_or_else(|| type_of(column.said()));
                fields.push(Field::new(&column.name, ty, false));
                fields.len() - 1
            }
        };
        let missing = |(text, source): (&Option<Option<String>>, &FileSource)| {
            let own = source.schema.fields().iter().find(|f| f.name == column.name);
            own.map_or(!matches!(text, Some(Some(_))), |field| field.nullable)
        };
        fields[at].nullable = column.texts.iter().zip(&each).any(missing);
        let ty = fields[at].ty;
        of_folders.insert(at, (column, ty));
    }
    let own = fields.len();
    let mut constants: Vec<Vec<Value>> = Vec::new();
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
    let part = |(number, source): (usize, FileSource)| {
        let column = |(at, field): (usize, &Field)| {
            if let Some(constant) = at.checked_sub(own) {
                return Ok(PartColumn::Constant(constants[constant][number].clone()));
            }
            if let Some(own) = source.schema.fields().iter().position(|f| f.name == field.name) {
                return Ok(PartColumn::File(own));
            }
            let value = match of_folders.get(&at) {
                Some((column, ty)) => column.value(paths, number, *ty)?,
                None => None,
            };
            Ok(PartColumn::Constant(value.unwrap_or(Value::Null)))
        };
        let columns = fields.iter().enumerate().map(column).collect::<Result<_>>()?;
        Ok(FilePart { source, columns, lake: None })
    };
    let parts = each.into_iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
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
    let floats = |ty: Type| matches!(ty, Type::Real | Type::Double);
    // Digits before and behind the point.
    let digits = |ty: Type| match ty {
        Type::Decimal { precision, scale } => Some((precision - scale, scale)),
        ty => ty.integer_digits().map(|digits| (digits, 0)),
    };
    match (a, b) {
        _ if a == b => a,
        (Type::Null, other) | (other, Type::Null) => other,
        _ if a.is_integer() && b.is_integer() => a.common_integer(b).unwrap_or(Type::HugeInt),
        _ if a.is_numeric() && b.is_numeric() && (floats(a) || floats(b)) => Type::Double,
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
        _ => match (digits(a), digits(b)) {
            (Some((before, behind)), Some((other_before, other_behind))) => {
                let (before, scale) = (before.max(other_before), behind.max(other_behind));
                match before + scale <= DECIMAL_PRECISION_MAX {
                    true => Type::Decimal { precision: before + scale, scale },
                    // Digits may be lost of a number in either.
                    false => Type::Text,
                }
            }
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
