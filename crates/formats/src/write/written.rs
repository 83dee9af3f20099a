//! What COPY TO has written, file by file: `RETURN_FILES` and `RETURN_STATS`.

use std::fs;
use std::path::{Path, PathBuf};

use plan::Zone;
use types::{Result, Type, Value};

use super::WriteFormat;
use crate::Environment;
use crate::parquet::footer;

/// A file that COPY wrote.
#[derive(Clone, Debug, Default)]
pub struct WrittenFile {
    /// The path, below the one that the statement names.
    pub path: PathBuf,
    /// Rows in it.
    pub rows: u64,
}

/// What a file is seen to hold once it is in its place.
#[derive(Clone, Debug, Default)]
pub struct FileFacts {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of a Parquet file's footer.
    pub footer_bytes: Option<u64>,
    /// Row groups of a Parquet file.
    pub groups: Option<u64>,
    /// By column of a Parquet file, names of facts and what they are.
    pub columns: Vec<(String, Vec<(&'static str, String)>)>,
    /// Names and values of the folders that the file is in.
    pub partition: Vec<(String, String)>,
}

/// Looks at a file of this machine.
///
/// # Errors
/// A file that cannot be read any more.
pub fn facts(
    environment: &Environment,
    place: &Path,
    file: &WrittenFile,
    format: WriteFormat,
) -> Result<FileFacts> {
    let mut facts = FileFacts {
        bytes: fs::metadata(&file.path).map_or(0, |known| known.len()),
        partition: partition_of(place, &file.path),
        ..FileFacts::default()
    };
    if format != WriteFormat::Parquet {
        return Ok(facts);
    }
    let path = file.path.to_string_lossy().into_owned();
    let (input, metadata) = footer::load(environment, &path)?;
    let mut tail = Vec::new();
    input.append(input.length.saturating_sub(8), input.length, &mut tail)?;
    facts.footer_bytes = tail.first_chunk::<4>().map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
    let groups = metadata.metadata().row_groups();
    facts.groups = Some(groups.len() as u64);
    let described = crate::parquet::describe::describe(environment, &[path])?;
    let leaves = metadata.metadata().file_metadata().schema_descr();
    let flat = leaves.num_columns() == described.schema.len();
    for at in 0..leaves.num_columns() {
        let chunks = || groups.iter().map(|group| group.column(at));
        let name: Vec<String> =
            leaves.column(at).path().parts().iter().map(|part| format!("\"{part}\"")).collect();
        let size: i64 = chunks().map(|chunk| chunk.compressed_size()).sum();
        let values: i64 = chunks().map(|chunk| chunk.num_values()).sum();
        let nulls: Option<u64> =
            chunks().map(|chunk| chunk.statistics().and_then(|known| known.null_count_opt())).sum();
        let mut known = vec![("column_size_bytes", size.to_string())];
        let zone = described.statistics.get(at).map(|column| &column.zone).filter(|_| flat);
        if let (Some(zone), Some(field)) = (zone, described.schema.fields().get(at)) {
            known.extend(bounds(zone, field.ty));
        }
        known.extend(nulls.map(|nulls| ("null_count", nulls.to_string())));
        known.push(("num_values", values.to_string()));
        facts.columns.push((name.join("."), known));
    }
    facts.columns.sort();
    Ok(facts)
}

fn bounds(zone: &Zone, ty: Type) -> Vec<(&'static str, String)> {
    let shown = |value: &Option<Value>| {
        value.as_ref().filter(|value| !value.is_null()).map(|value| value.display(ty))
    };
    [("max", shown(&zone.max)), ("min", shown(&zone.min))]
        .into_iter()
        .filter_map(|(name, shown)| Some((name, shown?)))
        .collect()
}

/// The folders `column=value` between a place and a file.
fn partition_of(place: &Path, file: &Path) -> Vec<(String, String)> {
    let Ok(inner) = file.strip_prefix(place) else { return vec![] };
    let folders = inner.parent().into_iter().flat_map(Path::components);
    folders
        .filter_map(|folder| {
            let (name, value) = folder.as_os_str().to_str()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}
