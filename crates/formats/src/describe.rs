//! From a path or a glob to a `FileSource`: format by extension or option, schema from the files.
//!
//! The engine calls `describe` for files in queries, and `describe_as` for COPY into a table. The paths are expanded
//! and the options checked first; `describe_alike` then gives one relation of files with the same columns. Files that
//! differ only in the order of their columns, or that an option unites, become parts of one relation (`layout`).
//! Nothing is kept between calls: a reader checks when it opens a file that its columns are still those described
//! here.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use plan::file::{MORE_FILES, READER, TextOptions};
use plan::{FileFormat, FileSource};
use types::stop::{self, Place};
use types::{Error, Result, Schema, SqlState, Type, Value};

use crate::input::{check_packing, uncompressed_name};
use crate::layout::{self, Layout};
use crate::text::Given;
use crate::{Environment, arrow_ipc, contents, json, parquet, remote, text};

/// What the files of a folder that is named as a whole are called.
pub(crate) const EXTENSIONS: [&str; 14] = [
    "parquet", "pq", "csv", "tsv", "tbl", "json", "ndjson", "jsonl", "arrow", "arrows", "ipc", "feather",
    "gz", "zst",
];

/// Describes the files that `pattern` (a path, or a glob) names.
pub fn describe(
    environment: &Environment,
    pattern: &str,
    options: &[(String, String)],
) -> Result<FileSource> {
    describe_for(environment, pattern, options, None)
}

/// As `describe`, for rows that go into a table: text is read with the types of `schema`, the table's columns in the
/// order in which the file has them. Formats that carry types keep their own.
pub fn describe_as(
    environment: &Environment,
    pattern: &str,
    options: &[(String, String)],
    schema: &Schema,
) -> Result<FileSource> {
    describe_for(environment, pattern, options, Some(schema))
}

fn describe_for(
    environment: &Environment,
    pattern: &str,
    options: &[(String, String)],
    table: Option<&Schema>,
) -> Result<FileSource> {
    let paths = all_paths(environment, pattern, options)?;
    // Options are checked before what they say is done: those of the layout with the others.
    let layout = Layout::of(options)?;
    if is_whole(options) {
        return describe_alike(environment, pattern, paths, options, table);
    }
    if table.is_some() || layout::is_plain(&paths, &layout) {
        let alike = describe_alike(environment, pattern, paths.clone(), options, table);
        return match alike {
            Err(error) if table.is_none() && paths.len() > 1 => {
                in_any_order(environment, &paths, options, &layout).unwrap_or(Err(error))
            }
            alike => alike,
        };
    }
    if layout.union_by_name {
        let one = |path: &String| describe_alike(environment, path, vec![path.clone()], options, None);
        let each = remote::abreast::each(&paths, |path| path, one)?;
        return layout::combine(&paths, each, &layout);
    }
    let whole = match describe_alike(environment, pattern, paths.clone(), options, None) {
        Ok(whole) => whole,
        Err(error) => return in_any_order(environment, &paths, options, &layout).unwrap_or(Err(error)),
    };
    let alone = |path: &String| FileSource { paths: [path.clone()].into(), rows: None, ..whole.clone() };
    let each = paths.iter().map(alone).collect();
    let combined = layout::combine(&paths, each, &layout)?;
    Ok(FileSource { rows: whole.rows, statistics: whole.statistics, ..combined })
}

/// Whether a function reads files as they are.
fn is_whole(options: &[(String, String)]) -> bool {
    options.iter().any(|(name, reader)| name == READER && matches!(reader.as_str(), "text" | "blob"))
}

/// Files that are not alike only because their columns stand in another order, as one relation in the first one's
/// order; `None` when they differ in more.
fn in_any_order(
    environment: &Environment,
    paths: &[String],
    options: &[(String, String)],
    layout: &Layout,
) -> Option<Result<FileSource>> {
    let one = |path: &String| describe_alike(environment, path, vec![path.clone()], options, None);
    let each = remote::abreast::each(paths, |path| path, one).ok()?;
    let columns = |source: &FileSource| {
        let fields = source.schema.fields().iter();
        let mut columns: Vec<_> = fields.map(|f| (f.name.clone(), f.ty)).collect();
        columns.sort();
        columns
    };
    let header = |source: &FileSource| source.format != FileFormat::Csv || source.text.header == Some(true);
    let first = columns(each.first()?);
    let text = each.iter().all(|source| source.format == FileFormat::Csv);
    let alike = |source: &FileSource| {
        let own = columns(source);
        // Types of text are guessed file by file, and widened.
        header(source)
            && if text { own.iter().map(|c| &c.0).eq(first.iter().map(|c| &c.0)) } else { own == first }
    };
    each.iter().all(alike).then(|| layout::combine(paths, each, layout))
}

/// What the options that are not said turn out to be, for text files: columns and rows of `sniff_csv`.
pub fn report(
    environment: &Environment,
    pattern: &str,
    options: &[(String, String)],
) -> Result<(Schema, Vec<Vec<Value>>)> {
    const OF_READERS: [&str; 7] = [
        "union_by_name",
        "filename",
        "hive_partitioning",
        "hive_types",
        "hive_types_autocast",
        "store_rejects",
        "rejects_table",
    ];
    if let Some((name, _)) = options.iter().find(|(name, _)| OF_READERS.contains(&name.as_str())) {
        let message = format!("option \"{name}\" is for reading the files, not for looking at them");
        return Err(Error::new(SqlState::InvalidParameterValue, message).with_hint("give it to read_csv"));
    }
    text::report(environment, &all_paths(environment, pattern, options)?, pattern, options)
}

/// The files that the pattern names, and those that the options do.
fn all_paths(environment: &Environment, pattern: &str, options: &[(String, String)]) -> Result<Vec<String>> {
    let mut paths = expand(environment, pattern)?;
    for (_, more) in options.iter().filter(|(name, _)| name == MORE_FILES) {
        paths.extend(expand(environment, more)?);
    }
    Ok(paths)
}

/// Files with the same columns.
fn describe_alike(
    environment: &Environment,
    pattern: &str,
    paths: Vec<String>,
    options: &[(String, String)],
    table: Option<&Schema>,
) -> Result<FileSource> {
    stop::check(Place::Sniff)?;
    // A function says what it reads; `format` is then what its reader makes of it.
    let by_function = options.iter().find(|(name, _)| name == READER);
    let said = || options.iter().find(|(name, _)| name.eq_ignore_ascii_case("format"));
    let named = by_function.or_else(said).map(|(_, format)| format.as_str());
    let format = match named {
        // Only functions read files as they are.
        Some("text" | "blob") if by_function.is_some() => FileFormat::Whole,
        Some(name) => by_name(name).ok_or_else(|| {
            Error::new(SqlState::InvalidParameterValue, format!("format \"{name}\" is not known"))
                .with_hint("the formats are parquet, csv, json, tbl and arrow")
        })?,
        None => paths
            .first()
            .and_then(|p| Path::new(uncompressed_name(p)).extension())
            .and_then(|e| e.to_str())
            .and_then(by_name)
            .ok_or_else(|| {
                Error::new(SqlState::FeatureNotSupported, format!("cannot tell the format of \"{pattern}\""))
                    .with_hint(
                        "name the file .parquet, .csv, .tsv, .json, .tbl or .arrow, or give the FORMAT option",
                    )
            })?,
    };
    let given = Given::parse(options, format, table.is_some())?;
    check_packing(environment, &paths, given.packing)?;
    let mut statistics = Vec::new();
    let (schema, text, rows) = match format {
        FileFormat::Parquet => {
            let described = parquet::describe(environment, &paths)?;
            statistics = described.statistics;
            (described.schema, TextOptions::default(), Some(described.rows))
        }
        FileFormat::Arrow => {
            let (schema, rows) = arrow_ipc::describe(environment, &paths)?;
            (schema, TextOptions::default(), rows)
        }
        FileFormat::Json => {
            let (schema, text) = json::describe(environment, &paths, &given, table)?;
            (schema, text, None)
        }
        FileFormat::Whole => {
            let content =
                if by_function.is_some_and(|(_, name)| name == "text") { Type::Text } else { Type::Bytea };
            (contents::columns(content), TextOptions::default(), Some(paths.len() as u64))
        }
        FileFormat::Memory => return Err(Error::internal("held rows are not described")),
        FileFormat::Csv | FileFormat::Tbl => {
            let (schema, text) = text::describe(environment, &paths, format, &given, table)?;
            (schema, text, None)
        }
    };
    Ok(FileSource { paths: paths.into(), format, schema, text, rows, statistics, parts: Arc::default() })
}

fn by_name(name: &str) -> Option<FileFormat> {
    Some(match name.to_ascii_lowercase().as_str() {
        "parquet" | "pq" => FileFormat::Parquet,
        "csv" | "tsv" | "txt" => FileFormat::Csv,
        "tbl" => FileFormat::Tbl,
        "json" | "ndjson" | "jsonl" | "geojson" => FileFormat::Json,
        "arrow" | "ipc" | "feather" | "arrows" => FileFormat::Arrow,
        _ => return None,
    })
}

/// `~/` at the beginning of a path is the user's own folder, as in a shell.
pub fn at_home(path: &str) -> Cow<'_, str> {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) if !home.is_empty() => format!("{}/{rest}", home.trim_end_matches('/')).into(),
        _ => path.into(),
    }
}

/// The name nearest to that of a missing path among the files in its folder; `None` when no name is near.
fn near(environment: &Environment, path: &str) -> Option<String> {
    const LOOKED_AT_MAX: usize = 2_000;
    let given = Path::new(path);
    let (folder, name) = (given.parent()?, given.file_name()?.to_str()?);
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    environment.capability().file(shown).ok()?;
    let listed = std::fs::read_dir(shown).ok()?.take(LOOKED_AT_MAX);
    let names: Vec<String> = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let near = types::names::nearest(name, names.iter().map(String::as_str))?;
    Some(folder.join(near).display().to_string())
}

/// The files that patterns name, each sorted, as a function gives them: none where nothing matches.
pub fn glob(environment: &Environment, patterns: &[String]) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for pattern in patterns {
        match expand(environment, pattern) {
            Err(error) if error.state() == SqlState::UndefinedFile => {}
            found => paths.extend(found?),
        }
    }
    Ok(paths)
}

/// The files that patterns name, all of which must be there.
pub fn files_of(environment: &Environment, patterns: &[String]) -> Result<Vec<String>> {
    patterns
        .iter()
        .map(|pattern| expand(environment, pattern))
        .collect::<Result<Vec<_>>>()
        .map(|found| found.concat())
}

/// The files a pattern names, sorted; a plain path names itself.
fn expand(environment: &Environment, pattern: &str) -> Result<Vec<String>> {
    let pattern = at_home(pattern);
    let pattern = pattern.as_ref();
    let missing = || {
        let error = Error::new(SqlState::UndefinedFile, format!("no file matches \"{pattern}\""));
        error.with_hint(match near(environment, pattern) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "paths are relative to the folder the process runs in".to_owned(),
        })
    };
    if remote::is_remote(pattern) {
        return expand_remote(environment, pattern);
    }
    environment.capability().file(pattern)?;
    if Path::new(pattern).is_file() {
        return Ok(vec![pattern.to_owned()]);
    }
    // A folder stands for all that lies in it and below it.
    let folder = Path::new(pattern).is_dir();
    let all = format!("{}/**/*", pattern.trim_end_matches('/'));
    if !folder && !pattern.contains(['*', '?', '[']) {
        return Err(missing());
    }
    let matches = glob::glob(if folder { &all } else { pattern }).map_err(|e| {
        Error::new(SqlState::InvalidParameterValue, format!("invalid file pattern \"{pattern}\": {e}"))
    })?;
    let wanted = |path: &std::path::PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(['.', '_']));
        path.is_file() && (!folder || (!hidden && EXTENSIONS.contains(&extension)))
    };
    let mut paths: Vec<String> = Vec::new();
    for path in matches {
        stop::check(Place::List)?;
        if let Some(path) = path.ok().filter(&wanted) {
            // A link may lead elsewhere.
            environment.capability().file(&path)?;
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    if paths.is_empty() {
        return Err(missing());
    }
    paths.sort();
    Ok(paths)
}

/// As `expand`, of addresses.
fn expand_remote(environment: &Environment, pattern: &str) -> Result<Vec<String>> {
    let known = |path: &String| {
        let extension =
            Path::new(remote::name_of(path)).extension().and_then(|e| e.to_str()).unwrap_or_default();
        EXTENSIONS.contains(&extension)
    };
    let mut found = remote::list(environment, pattern)?;
    if pattern.ends_with('/') {
        found.retain(known);
    } else if !known(&pattern.to_owned())
        && !pattern.contains(['*', '?', '['])
        && !pattern.starts_with("http")
    {
        // A folder, which stands for all that lies in it and below it; else it is the object itself.
        let below: Vec<String> =
            remote::list(environment, &format!("{pattern}/"))?.into_iter().filter(known).collect();
        if !below.is_empty() {
            found = below;
        }
    }
    if found.is_empty() {
        return Err(Error::new(SqlState::UndefinedFile, format!("no object matches \"{pattern}\""))
            .with_hint(
                "* stands for a part of a name, ** for folders of any depth; names are told apart by case",
            ));
    }
    Ok(found)
}
