//! Writing an object: in parts, several under way, and there only when all of them are.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use tokio::task::JoinHandle;
use types::{Error, Result, SqlState};

use super::fault::{failed, flatten, to_io};
use super::store::{Located, locate, object};
use super::wait::{runtime, wait};
use crate::Environment;

/// A part; stores allow ten thousand of them, of at least 5 MiB.
const PART_BYTES: usize = 8 << 20;
/// Later parts are larger, so that ten thousand are enough for 1 TB.
const PART_BYTES_MAX: usize = 128 << 20;
const PARTS_UNDER_WAY: usize = 4;
/// An upload that is given up waits no longer than this for the store to confirm.
const ABORT_SECONDS: u64 = 5;

/// Takes the bytes of an object. Nothing is there before `finish`, and nothing stays of one that is dropped before.
pub struct Upload {
    located: Located,
    place: Path,
    url: String,
    buffer: Vec<u8>,
    parts: Option<Box<dyn MultipartUpload>>,
    sent: usize,
    under_way: VecDeque<JoinHandle<object_store::Result<()>>>,
    /// What went wrong: writers above tell only that something did.
    fault: Option<Error>,
}

impl Upload {
    /// Begins the upload of an object to a bucket; nothing is sent yet. Web servers and Hadoop clusters are an error.
    pub fn begin(environment: &Environment, url: &str) -> Result<Upload> {
        let located = locate(environment, url)?;
        let place = object(url, &located.place)?;
        if located.is_http() || located.is_hdfs() {
            let what = if located.is_http() { "web servers" } else { "Hadoop clusters" };
            return Err(Error::unsupported(format!("cannot write \"{url}\": {what} are only read"))
                .with_hint("write to s3://, gs:// or az://, or to a local file"));
        }
        Ok(Upload {
            located,
            place,
            url: url.to_owned(),
            buffer: Vec::new(),
            parts: None,
            sent: 0,
            under_way: VecDeque::new(),
            fault: None,
        })
    }

    /// Why a write to this has failed; `otherwise`, when it was not this that failed.
    pub fn fault(&mut self, otherwise: Error) -> Error {
        self.fault.take().unwrap_or(otherwise)
    }

    fn send_part(&mut self) -> Result<()> {
        let runtime = runtime()?;
        if self.parts.is_none() {
            let begun = wait(self.located.store.put_multipart(&self.place));
            self.parts = Some(flatten("write", &self.url, begun)?);
        }
        while self.under_way.len() >= PARTS_UNDER_WAY {
            self.wait_one()?;
        }
        let payload = PutPayload::from(std::mem::take(&mut self.buffer));
        if let Some(parts) = &mut self.parts {
            self.under_way.push_back(runtime.spawn(parts.put_part(payload)));
            self.sent += 1;
        }
        Ok(())
    }

    fn wait_one(&mut self) -> Result<()> {
        let Some(part) = self.under_way.front_mut() else { return Ok(()) };
        let done = wait(part);
        if let Some(part) = self.under_way.pop_front() {
            part.abort();
        }
        let done = done?
            .map_err(|e| Error::new(SqlState::IoError, format!("cannot write \"{}\": {e}", self.url)))?;
        done.map_err(|e| failed("write", &self.url, &e))
    }

    /// Makes the object.
    pub fn finish(mut self) -> Result<()> {
        if self.parts.is_none() {
            let payload = PutPayload::from(std::mem::take(&mut self.buffer));
            return flatten("write", &self.url, wait(self.located.store.put(&self.place, payload)))
                .map(|_| ());
        }
        if !self.buffer.is_empty() {
            self.send_part()?;
        }
        while !self.under_way.is_empty() {
            self.wait_one()?;
        }
        let Some(parts) = &mut self.parts else { return Ok(()) };
        flatten("write", &self.url, wait(parts.complete()))?;
        self.parts = None;
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        let part = (PART_BYTES << (self.sent / 1000).min(8)).min(PART_BYTES_MAX);
        if self.buffer.len() >= part
            && let Err(error) = self.send_part()
        {
            self.fault = Some(error.clone());
            return Err(to_io(error));
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        for part in self.under_way.drain(..) {
            part.abort();
        }
        if let (Some(mut parts), Ok(runtime)) = (self.parts.take(), runtime()) {
            // Whatever stopped the statement does not stop this.
            let abort =
                async { tokio::time::timeout(Duration::from_secs(ABORT_SECONDS), parts.abort()).await };
            let _ = runtime.block_on(abort);
        }
    }
}
