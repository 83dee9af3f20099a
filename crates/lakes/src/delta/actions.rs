//! What the lines of a log say.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value as Json;

/// A line of a commit, or a row of a checkpoint: one of these. Kinds that a reader need not know are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    /// A file that belongs to the table from here on.
    pub add: Option<Add>,
    /// A file that does not any more.
    pub remove: Option<Remove>,
    /// The table's columns and settings.
    pub meta_data: Option<Metadata>,
    /// What a reader must know.
    pub protocol: Option<Protocol>,
    /// Who has done what.
    pub commit_info: Option<CommitInfo>,
    /// A further file of the checkpoint.
    pub sidecar: Option<Sidecar>,
}

/// A data file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Add {
    /// Where it is.
    pub path: String,
    /// By the columns' names in files.
    #[serde(default)]
    pub partition_values: HashMap<String, Option<String>>,
    /// Rows, bounds and counts, as JSON.
    pub stats: Option<String>,
    /// The same as columns of a checkpoint.
    #[serde(rename = "stats_parsed")]
    pub stats_parsed: Option<Json>,
    /// Rows that are deleted.
    pub deletion_vector: Option<DeletionVector>,
}

/// A data file that was removed, or was so with these deleted rows.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remove {
    /// Where it is.
    pub path: String,
    /// Rows that were deleted.
    pub deletion_vector: Option<DeletionVector>,
}

/// Where a bitmap of deleted rows is.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletionVector {
    /// `u`: in a file of the table's, `p`: in a file anywhere, `i`: here.
    pub storage_type: String,
    /// The file, or the bitmap in letters.
    pub path_or_inline_dv: String,
    /// Where in the file it begins.
    pub offset: Option<u64>,
    /// Its length.
    pub size_in_bytes: u64,
    /// Rows in it.
    pub cardinality: u64,
}

impl DeletionVector {
    /// What tells two of a file apart.
    pub(crate) fn identity(&self) -> String {
        match self.offset {
            Some(offset) => format!("{}{}@{offset}", self.storage_type, self.path_or_inline_dv),
            None => format!("{}{}", self.storage_type, self.path_or_inline_dv),
        }
    }
}

/// The table's columns and settings.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// What data files are.
    pub format: Option<FileFormat>,
    /// The columns, as JSON.
    pub schema_string: String,
    /// The columns whose values the log has.
    #[serde(default)]
    pub partition_columns: Vec<String>,
    /// Settings.
    #[serde(default)]
    pub configuration: HashMap<String, Option<String>>,
}

/// What data files are.
#[derive(Debug, Deserialize)]
pub(crate) struct FileFormat {
    /// `parquet`.
    pub provider: Option<String>,
}

/// What a reader must know.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Protocol {
    /// 1, 2 or, with features by name, 3.
    pub min_reader_version: i64,
    /// The features' names.
    pub reader_features: Option<Vec<String>>,
    /// What a writer must know, alike.
    pub min_writer_version: Option<i64>,
    /// The features' names.
    pub writer_features: Option<Vec<String>>,
}

/// Who has done what.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommitInfo {
    /// When, in milliseconds since 1970, as the writer's clock said.
    pub timestamp: Option<i64>,
    /// When, such that later commits have later times.
    pub in_commit_timestamp: Option<i64>,
    /// What was done.
    pub operation: Option<String>,
    /// With what.
    pub operation_parameters: Option<Json>,
    /// To how much.
    pub operation_metrics: Option<Json>,
    /// By which program.
    pub engine_info: Option<String>,
    /// By whom.
    pub user_name: Option<String>,
}

impl CommitInfo {
    /// The time that is shown of the commit, in milliseconds since 1970.
    pub(crate) fn time(&self) -> Option<i64> {
        self.in_commit_timestamp.or(self.timestamp)
    }
}

/// A further file of a checkpoint.
#[derive(Debug, Deserialize)]
pub(crate) struct Sidecar {
    /// In `_sidecars`, or anywhere if it is an address.
    pub path: String,
}
