//! Files of a Hadoop cluster: `hdfs://namenode:port/path`, or `hdfs://nameservice/path` where the configuration in
//! `HADOOP_CONF_DIR` (or `HADOOP_HOME/etc/hadoop`) says which name nodes that is.
//!
//! `hdfs-native` speaks the name node's and the data nodes' protocols, checks the data's checksums, and goes on with
//! another replica when a data node fails. Every step has `http_timeout` seconds here, and a panic is an error of the
//! request. Clusters are read and not written.

use std::fmt::{Display, Formatter};
use std::future::Future;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use hdfs_native::client::FileStatus;
use hdfs_native::{Client, ClientBuilder, HdfsError};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::runtime::Handle;

/// A name node that refuses, or is on standby, is asked again, or another one of its name service, for some two seconds.
/// Fifteen times with longer and longer pauses, as is usual, would be up after `http_timeout`, and the cause unknown.
const PATIENCE: [(&str, &str); 3] = [
    ("dfs.client.failover.max.attempts", "4"),
    ("dfs.client.failover.sleep.base.millis", "100"),
    ("dfs.client.failover.sleep.max.millis", "1000"),
];

/// A cluster by its address, which is reached when something is asked of it.
pub(super) fn cluster(root: &str, limit: Duration, runtime: &Handle) -> Result<Arc<dyn ObjectStore>> {
    let client = ClientBuilder::new().with_url(root).with_config(PATIENCE).with_io_runtime(runtime.clone());
    let client = client.build();
    Ok(Arc::new(Hdfs { client: client.map_err(told)?, limit }))
}

#[derive(Debug)]
struct Hdfs {
    client: Client,
    /// For each request, and for each piece of an answer.
    limit: Duration,
}

impl Display for Hdfs {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("HDFS")
    }
}

fn generic(what: String) -> Error {
    Error::Generic { store: "HDFS", source: what.into() }
}

fn told(error: HdfsError) -> Error {
    match error {
        HdfsError::FileNotFound(path) => {
            Error::NotFound { path, source: "the cluster has no such file".into() }
        }
        other => Error::Generic { store: "HDFS", source: other.into() },
    }
}

fn absolute(location: &Path) -> String {
    format!("/{location}")
}

/// A file that is written anew gets another moment, or another length.
fn meta(status: &FileStatus) -> Result<ObjectMeta> {
    let milliseconds = i64::try_from(status.modification_time).unwrap_or(i64::MAX);
    let last_modified = DateTime::from_timestamp_millis(milliseconds).unwrap_or_default();
    Ok(ObjectMeta {
        location: Path::parse(&status.path)?,
        last_modified,
        size: status.length as u64,
        e_tag: Some(format!("{milliseconds:x}-{:x}", status.length)),
        version: None,
    })
}

impl Hdfs {
    async fn status(&self, location: &Path) -> Result<ObjectMeta> {
        let status = within(self.limit, self.client.get_file_info(&absolute(location))).await?;
        let status = status.map_err(told)?;
        match status.isdir {
            true => Err(Error::NotFound { path: absolute(location), source: "it is a folder".into() }),
            false => meta(&status),
        }
    }

    /// The bytes of a range.
    async fn pieces(&self, location: &Path, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>> {
        let reader = within(self.limit, self.client.read(&absolute(location))).await?.map_err(told)?;
        if range.end > reader.file_length() as u64 {
            return Err(generic(format!("the file has {} bytes now", reader.file_length())));
        }
        let pieces = reader.read_range_stream(range.start as usize, (range.end - range.start) as usize);
        Ok(each_within(self.limit, pieces.map(|piece| piece.map_err(told)).boxed()))
    }

    /// The files and folders below a folder, none where there is no such folder.
    fn below(&self, folder: Option<&Path>, recursive: bool) -> BoxStream<'static, Result<FileStatus>> {
        let folder = folder.map_or_else(|| "/".to_owned(), absolute);
        let found = self.client.list_status_iter(&folder, recursive).into_stream();
        // A file that is listed is no folder of itself.
        let found = found.filter(move |status| {
            std::future::ready(match status {
                Ok(status) => status.path != folder,
                Err(error) => !matches!(error, HdfsError::FileNotFound(_)),
            })
        });
        each_within(self.limit, found.map(|status| status.map_err(told)).boxed())
    }
}

fn refused<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented { operation: operation.into(), implementer: "HDFS, which is only read".into() })
}

/// The request's outcome within its time; an error, if the client panics on what it was told.
async fn within<T>(limit: Duration, request: impl Future<Output = T>) -> Result<T> {
    match tokio::time::timeout(limit, AssertUnwindSafe(request).catch_unwind()).await {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(_)) => {
            Err(generic("the nodes' answers do not fit together; the file may have changed".into()))
        }
        Err(_) => Err(generic(format!("no answer in {} seconds: timed out", limit.as_secs()))),
    }
}

/// The stream, which ends with an error where its next item takes too long.
fn each_within<T: Send + 'static>(
    limit: Duration,
    items: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    stream::unfold(Some(items), move |items| async move {
        let mut items = items?;
        match within(limit, items.next()).await {
            Ok(None) => None,
            Ok(Some(item)) => Some((item, Some(items))),
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

#[async_trait]
impl ObjectStore for Hdfs {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        refused("put")
    }
    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        refused("put")
    }
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let meta = self.status(location).await?;
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            Some(range) => range.as_range(meta.size).map_err(|e| generic(e.to_string()))?,
            None => 0..meta.size,
        };
        let pieces = match options.head {
            true => stream::empty().boxed(),
            false => self.pieces(location, range.clone()).await?,
        };
        let payload = GetResultPayload::Stream(pieces);
        Ok(GetResult { payload, meta, range, attributes: Default::default() })
    }
    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        locations.map(|_| refused("delete")).boxed()
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let files = self.below(prefix, true).filter_map(|status| {
            std::future::ready(match status {
                Ok(status) => (!status.isdir).then(|| meta(&status)),
                Err(error) => Some(Err(error)),
            })
        });
        files.boxed()
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut found = ListResult { common_prefixes: Vec::new(), objects: Vec::new() };
        let mut statuses = self.below(prefix, false);
        while let Some(status) = statuses.next().await {
            let status = status?;
            match status.isdir {
                true => found.common_prefixes.push(Path::parse(&status.path)?),
                false => found.objects.push(meta(&status)?),
            }
        }
        Ok(found)
    }
    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        refused("copy")
    }
}
