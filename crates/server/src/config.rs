//! What a server is started with, and the file that says it.
//!
//! ```toml
//! database = "sales.db"
//!
//! [server]
//! listen = ["127.0.0.1", "::1"]
//! port = 5432
//!
//! [settings]
//! memory_limit = "8GB"
//! statement_timeout = "30s"
//! ```
//! `[settings]` takes every setting that SET knows: those of the database are set once, those of a session are what
//! sessions begin with. What a file says that nobody knows is an error with its place. The file is read again on
//! SIGHUP: what can change while the server runs does ([`Config::reloaded`] tells what cannot).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{Error, Result, SqlState};
use serde::Deserialize;

/// The port of PostgreSQL's protocol.
pub const PORT_DEFAULT: u16 = 5432;

/// What a server is started with. The default listens on loopback and in `/tmp`, and asks for passwords.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Addresses to listen on: names or numbers. Others than loopback want TLS and a password.
    pub listen: Vec<String>,
    /// The port; `None`: 5432, or the next one that is free. 0 is any that is free.
    pub port: Option<u16>,
    /// Folder of the Unix socket; `None`: there is none.
    pub socket_directory: Option<PathBuf>,
    /// Whoever reaches a loopback address is believed to be who he says.
    pub trust: bool,
    /// Certificate and key, as PEM files.
    pub tls: Option<TlsFiles>,
    /// Connections at a time.
    pub connections_max: usize,
    /// Statements that are executed at a time; others wait.
    pub active_statements_max: usize,
    /// Statements that wait.
    pub queued_statements_max: usize,
    /// From a connection's first byte until it is let in.
    pub authentication_timeout: Duration,
    /// How long statements go on when the server stops; then they are cancelled.
    pub drain_timeout: Duration,
    /// Bytes of one message of a client.
    pub message_bytes_max: usize,
    /// Bytes that wait for a client that does not read.
    pub unsent_bytes_max: usize,
    /// File of the audit log, or `stderr`; `None`: there is none.
    pub audit_log: Option<String>,
    /// Settings of the database and of sessions, as SET takes them.
    pub settings: BTreeMap<String, String>,
}

/// Where certificate and key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain of certificates, the server's first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Config {
            listen: vec!["127.0.0.1".to_owned(), "::1".to_owned()],
            port: None,
            socket_directory: Some(PathBuf::from("/tmp")),
            trust: false,
            tls: None,
            connections_max: 2000,
            // The engine shares its workers among queries itself: enough of them that none idles, few enough that they
            // do not take each other's memory.
            active_statements_max: (4 * cores).max(16),
            queued_statements_max: 2000,
            authentication_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            message_bytes_max: 1 << 30,
            unsent_bytes_max: 4 << 20,
            audit_log: None,
            settings: BTreeMap::new(),
        }
    }
}

/// A configuration file: what it says, and nothing of what it does not.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// The database to open.
    pub database: Option<PathBuf>,
    #[serde(default)]
    server: ServerSection,
    #[serde(default)]
    settings: BTreeMap<String, toml::Spanned<toml::Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerSection {
    listen: Option<Vec<String>>,
    port: Option<u16>,
    socket_directory: Option<String>,
    trust: Option<bool>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    connections_max: Option<usize>,
    active_statements_max: Option<usize>,
    queued_statements_max: Option<usize>,
    authentication_timeout: Option<toml::Spanned<String>>,
    drain_timeout: Option<toml::Spanned<String>>,
    message_size_max: Option<toml::Spanned<String>>,
    unsent_size_max: Option<toml::Spanned<String>>,
    audit_log: Option<String>,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// The error for something at a place in a file.
fn at(path: &Path, text: &str, offset: usize, message: &str) -> Error {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    invalid(format!("{}, line {line}, column {column}: {message}", path.display()))
}

impl ConfigFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<(ConfigFile, String)> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read the configuration \"{}\": {error}", path.display());
            Error::new(SqlState::UndefinedFile, message)
        })?;
        Ok((Self::parse(path, &text)?, text))
    }

    fn parse(path: &Path, text: &str) -> Result<ConfigFile> {
        toml::from_str(text).map_err(|error| {
            at(path, text, error.span().map_or(0, |span| span.start), error.message())
                .with_hint("\"How to run a server\" in the book lists what a configuration may say")
        })
    }

    /// The configuration with what the file says in the place of what was there.
    pub fn apply(&self, path: &Path, text: &str, mut config: Config) -> Result<Config> {
        let server = &self.server;
        let duration = |value: &toml::Spanned<String>| {
            engine::settings::parse_duration(value.get_ref()).ok_or_else(|| {
                let shown = value.get_ref();
                at(path, text, value.span().start, &format!("\"{shown}\" is no duration such as \"10s\""))
            })
        };
        let size = |value: &toml::Spanned<String>| {
            let bytes = engine::settings::parse_bytes(value.get_ref()).and_then(|b| usize::try_from(b).ok());
            bytes.filter(|bytes| *bytes >= 64 << 10).ok_or_else(|| {
                let shown = value.get_ref();
                let message = format!("\"{shown}\" is no size from 64KB on such as \"1MB\"");
                at(path, text, value.span().start, &message)
            })
        };
        if let Some(listen) = &server.listen {
            config.listen = listen.clone();
        }
        config.port = server.port.or(config.port);
        if let Some(folder) = &server.socket_directory {
            config.socket_directory = (!folder.is_empty()).then(|| PathBuf::from(folder));
        }
        config.trust = server.trust.unwrap_or(config.trust);
        config.tls = match (&server.tls_certificate, &server.tls_key) {
            (None, None) => config.tls,
            (Some(certificate), Some(key)) => {
                Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
            }
            _ => {
                let message = format!("{}: tls_certificate and tls_key go together", path.display());
                return Err(invalid(message));
            }
        };
        for (given, place) in [
            (server.connections_max, &mut config.connections_max),
            (server.active_statements_max, &mut config.active_statements_max),
            (server.queued_statements_max, &mut config.queued_statements_max),
        ] {
            *place = given.unwrap_or(*place);
        }
        if let Some(given) = &server.authentication_timeout {
            config.authentication_timeout = duration(given)?;
        }
        if let Some(given) = &server.drain_timeout {
            config.drain_timeout = duration(given)?;
        }
        if let Some(given) = &server.message_size_max {
            config.message_bytes_max = size(given)?;
        }
        if let Some(given) = &server.unsent_size_max {
            config.unsent_bytes_max = size(given)?;
        }
        if let Some(name) = &server.audit_log {
            config.audit_log = (!name.is_empty()).then(|| name.clone());
        }
        for (name, value) in self.settings.iter() {
            let shown = match value.get_ref() {
                toml::Value::String(text) => text.clone(),
                toml::Value::Boolean(true) => "on".to_owned(),
                toml::Value::Boolean(false) => "off".to_owned(),
                number @ (toml::Value::Integer(_) | toml::Value::Float(_)) => number.to_string(),
                _ => {
                    let message = format!("setting \"{name}\" is neither a text, a number nor true or false");
                    return Err(at(path, text, value.span().start, &message));
                }
            };
            engine::settings::check(name, &shown).map_err(|error| {
                let told = at(path, text, value.span().start, error.message());
                error.hint().map_or(told.clone(), |hint| told.with_hint(hint))
            })?;
            config.settings.insert(name.to_owned(), shown);
        }
        Ok(config)
    }
}

impl Config {
    /// What of a configuration that is read again cannot change before the server is started anew.
    pub fn fixed_differences(&self, read: &Config) -> Vec<&'static str> {
        let mut differences = Vec::new();
        let mut compare = |same: bool, name| {
            if !same {
                differences.push(name);
            }
        };
        compare(self.listen == read.listen, "listen");
        compare(self.port == read.port, "port");
        compare(self.socket_directory == read.socket_directory, "socket_directory");
        compare(self.trust == read.trust, "trust");
        compare(self.tls.is_some() == read.tls.is_some(), "tls_certificate");
        differences
    }

    /// This one with what a running server takes from one that was read again.
    pub fn reloaded(&self, read: Config) -> Config {
        Config {
            listen: self.listen.clone(),
            port: self.port,
            socket_directory: self.socket_directory.clone(),
            trust: self.trust,
            tls: if self.tls.is_some() && read.tls.is_some() { read.tls } else { self.tls.clone() },
            ..read
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        let path = Path::new("server.toml");
        ConfigFile::parse(path, text)?.apply(path, text, Config::default())
    }

    #[test]
    fn a_file_says_what_it_says_and_leaves_the_rest() {
        let text = "[server]\nlisten = ['::1']\nport = 6000\nsocket_directory = ''\nauthentication_timeout = '3s'\n\
                    unsent_size_max = '2MB'\nactive_statements_max = 3\n\n[settings]\nworkers = 2\nplan_cache = false\n\
                    statement_timeout = '5min'\n";
        let config = read(text).unwrap();
        let expected = Config {
            listen: vec!["::1".to_owned()],
            port: Some(6000),
            socket_directory: None,
            authentication_timeout: Duration::from_secs(3),
            unsent_bytes_max: 2 << 20,
            active_statements_max: 3,
            settings: [("workers", "2"), ("plan_cache", "off"), ("statement_timeout", "5min")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..Config::default()
        };
        assert_eq!(config, expected);
        assert_eq!(read("").unwrap(), Config::default());
    }

    #[test]
    fn faults_are_told_with_their_place() {
        for (text, place, said) in [
            ("[server]\nport = 1\nprot = 5432\n", "line 3, column 1", "unknown field `prot`"),
            ("[settings]\n\nmemory_limt = '1GB'\n", "line 3, column 15", "memory_limt"),
            ("[settings]\nbatch_rows = 'many'\n", "line 2, column 14", "batch_rows"),
            ("[server]\ndrain_timeout = 'soon'\n", "line 2, column 17", "no duration"),
            ("[server]\nport = 70000\n", "line 2, column 8", "u16"),
            ("[server\n", "line 1", ""),
        ] {
            let error = read(text).unwrap_err();
            let message = error.message();
            assert!(message.contains(place) && message.contains(said), "{text:?}: {message}");
        }
        assert!(read("[server]\ntls_key = 'a.pem'\n").unwrap_err().message().contains("go together"));
    }

    #[test]
    fn every_setting_of_the_engine_is_known() {
        for (name, value, _) in engine::settings::Settings::default().all() {
            let text = format!("[settings]\n{name} = '{value}'\n");
            assert!(read(&text).is_ok(), "{text}");
        }
        for (name, _) in engine::settings::DATABASE_SETTINGS {
            assert!(engine::settings::check(name, "auto").is_ok(), "{name}");
        }
    }

    #[test]
    fn a_running_server_keeps_where_it_listens() {
        let running = Config { port: Some(1), ..Config::default() };
        let read = Config { port: Some(2), connections_max: 7, ..Config::default() };
        assert_eq!(running.fixed_differences(&read), ["port"]);
        let reloaded = running.reloaded(read);
        assert_eq!((reloaded.port, reloaded.connections_max), (Some(1), 7));
    }
}
