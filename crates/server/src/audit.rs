//! The audit log: a line of JSON for each login, each change of definitions and privileges, and each refusal.
//!
//! ```json
//! {"at":"2026-11-26T21:00:00.000000Z","event":"statement","session_role":"ada","role":"ada","process":7,
//!  "client":"127.0.0.1:50412","tag":"CREATE TABLE","statement":"CREATE TABLE t (a INTEGER)"}
//! ```
//! `audit_log` of the configuration names a file, which grows and is readable for the server's user alone, or `stderr`.
//! On SIGHUP the file is opened anew, so that it can be moved away. What cannot be written is told to the server's own
//! log, and statements go on.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{AuditEvent, ClientAddress, Database, Error, Result, SqlState};
use serde_json::{Map, Value, json};

/// Writes lines.
pub struct AuditLog(Mutex<Box<dyn Write + Send>>);

/// Bytes of a name or a message that a failed login leaves in the log.
const TOLD_BYTES_MAX: usize = 200;

impl AuditLog {
    /// Opens what a configuration names.
    pub fn open(name: &str) -> Result<AuditLog> {
        if name == "stderr" {
            return Ok(AuditLog(Mutex::new(Box::new(std::io::stderr()))));
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(name);
        let file = file.map_err(|error| {
            let message = format!("cannot open the audit log \"{name}\": {error}");
            Error::new(SqlState::InvalidParameterValue, message)
        })?;
        Ok(AuditLog(Mutex::new(Box::new(file))))
    }

    /// Writes an event; whole lines reach the file at once.
    fn write(&self, mut event: Map<String, Value>) {
        let now = types::Value::I64(micros());
        event.insert("at".to_owned(), json!(now.display(types::Type::TimestampTz)));
        let line = format!("{}\n", Value::Object(event));
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            tracing::error!("the audit log cannot be written: {error}");
        }
    }

    /// A client of PostgreSQL's protocol that was not let in.
    pub fn refused(&self, role: &str, client: &ClientAddress, error: &Error) {
        self.login(role, &shown(client), Some(error));
    }

    /// Somebody who gave a name and a password, and was let in unless there is an error.
    pub fn login(&self, role: &str, client: &str, error: Option<&Error>) {
        // Whoever can connect writes this.
        let cut = |text: &str| text[..text.floor_char_boundary(TOLD_BYTES_MAX)].to_owned();
        let mut line = Map::new();
        line.insert("event".to_owned(), json!(if error.is_some() { "login_failed" } else { "login" }));
        line.insert("session_role".to_owned(), json!(cut(role)));
        line.insert("client".to_owned(), json!(client));
        if let Some(error) = error {
            line.insert("code".to_owned(), json!(error.state().code()));
            line.insert("message".to_owned(), json!(cut(error.message())));
        }
        self.write(line);
    }

    fn told(&self, event: &AuditEvent) {
        let mut line = Map::new();
        line.insert("event".to_owned(), json!(event.kind));
        line.insert("session_role".to_owned(), json!(event.session_role));
        line.insert("role".to_owned(), json!(event.role));
        line.insert("process".to_owned(), json!(event.process));
        line.insert("client".to_owned(), json!(event.client.as_ref().map(shown)));
        if let Some(tag) = &event.tag {
            line.insert("tag".to_owned(), json!(tag));
        }
        if let Some(statement) = &event.statement {
            line.insert("statement".to_owned(), json!(statement));
        }
        if let Some(error) = &event.error {
            line.insert("code".to_owned(), json!(error.state().code()));
            line.insert("message".to_owned(), json!(error.message()));
        }
        self.write(line);
    }
}

fn micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn shown(client: &ClientAddress) -> String {
    match client {
        ClientAddress::Tcp(address) => address.to_string(),
        ClientAddress::Unix => "socket".to_owned(),
    }
}

/// Has a database's events written to what a configuration names.
pub fn install(database: &Database, name: Option<&str>) -> Result<Option<Arc<AuditLog>>> {
    let log = name.map(AuditLog::open).transpose()?.map(Arc::new);
    let hook = log.clone().map(|log| -> Arc<engine::AuditHook> { Arc::new(move |event| log.told(event)) });
    database.set_audit(hook);
    Ok(log)
}
