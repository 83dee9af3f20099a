//! The rows of a statement, whether it is a script or has parameters.

use engine::{Batch, Portal, Result, ResultStream, Schema, Session};
use serde_json::value::RawValue;
use types::{Zone, zone};

use super::rows;

/// The rows of a statement, however it was run.
pub enum Source {
    /// A script, whose last statement they are of.
    Script(ResultStream),
    /// A statement with parameters.
    Bound(Portal),
}

impl Source {
    /// Runs a script, or one statement with parameters, up to its first rows.
    pub fn open(session: &Session, sql: &str, parameters: &[Box<RawValue>]) -> Result<Source> {
        if parameters.is_empty() {
            return Ok(Source::Script(session.stream(sql)?));
        }
        let statement = session.prepare(sql, &[])?;
        let values = zone::within(session.time_zone(), || rows::parameters(&statement, parameters))?;
        let mut portal = session.bind(&statement, values)?;
        portal.open(session)?;
        Ok(Source::Bound(portal))
    }

    /// Their columns; `None` where the statement gives no rows.
    pub fn columns(&self) -> Option<Schema> {
        match self {
            Source::Script(stream) => stream.has_rows().then(|| stream.schema().clone()),
            Source::Bound(portal) => portal.columns().cloned(),
        }
    }

    /// In which instants are shown.
    pub fn time_zone(&self) -> Zone {
        match self {
            Source::Script(stream) => stream.time_zone(),
            Source::Bound(portal) => portal.time_zone(),
        }
    }

    /// What the statement did not do as it was told.
    pub fn warning(&self) -> Option<&'static str> {
        match self {
            Source::Script(stream) => stream.warning(),
            Source::Bound(portal) => portal.warning(),
        }
    }

    /// Hands on all rows; gives the command tag.
    pub fn each(&mut self, session: &Session, mut each: impl FnMut(&Batch) -> Result<()>) -> Result<String> {
        let mut count = 0;
        match self {
            Source::Script(stream) => {
                while let Some(batch) = stream.next_batch()? {
                    count += batch.rows;
                    each(&batch)?;
                }
                Ok(match stream.tag() {
                    "SELECT" => format!("SELECT {count}"),
                    tag => tag.to_owned(),
                })
            }
            Source::Bound(portal) => match portal.fetch(session, None, |batch| each(&batch))? {
                engine::Fetched::Complete(tag) => Ok(tag),
                engine::Fetched::Suspended => Ok(String::new()),
            },
        }
    }
}
