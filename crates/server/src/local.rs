//! A program's own database for its neighbours: served on loopback while the program goes on using it.
//!
//! ```no_run
//! use server::{Local, LocalOptions};
//!
//! let database = engine::Database::in_memory(engine::Options::default())?;
//! let local = Local::start(&database, LocalOptions::default())?;
//! println!("{}", local.dsn());
//! if let Some(page) = local.page() {
//!     println!("{page}");
//! }
//! database.session().execute("CREATE TABLE t AS SELECT 1 AS x")?;
//! local.stop();
//! # Ok::<(), engine::Error>(())
//! ```
//! It differs from `quickstep serve` in what a notebook wants: no Unix socket unless a folder is named, loopback alone, and
//! a password of the superuser that ends with the server and is not written into the database. The program's sessions
//! and those of clients are sessions of one database: each sees what the others have committed, and what a session
//! alone has (its settings, its registered rows, its temporary tables) stays its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{Database, Result};

use crate::authentication::{DatabaseRoles, random_password};
use crate::config::Config;
use crate::http::HttpAddresses;
use crate::server::{Handle, Server};

/// How a program serves its database.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// Port of PostgreSQL's protocol; `None`: 5432, or the next one that is free. 0 is any that is free.
    pub port: Option<u16>,
    /// HTTP and the page; `None`: only PostgreSQL's protocol.
    pub http: Option<LocalHttp>,
    /// The superuser's password as long as this server runs; one is made up where none is given.
    pub password: Option<String>,
    /// Whoever reaches loopback is believed to be who he says: no password is asked for.
    pub trust: bool,
    /// Folder of a Unix socket.
    pub socket_directory: Option<PathBuf>,
}

/// Where HTTP is served.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalHttp {
    /// `None`: 8080, or the next port that is free. 0 is any that is free.
    pub port: Option<u16>,
}

/// A text as a part of an address has it.
fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escaped = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}

/// A program's database while it is served. Dropped, it stops without waiting for what runs.
pub struct Local {
    handle: Handle,
    http: Option<HttpAddresses>,
    user: String,
    database: String,
    password: Option<String>,
}

impl Local {
    /// Serves a database until the value is dropped or told to stop.
    pub fn start(database: &Database, options: LocalOptions) -> Result<Local> {
        let roles = DatabaseRoles::new(database);
        let password = match (options.trust, options.password) {
            (true, _) => None,
            (false, Some(given)) => Some(given),
            (false, None) => Some(random_password()?),
        };
        if let Some(password) = &password {
            roles.set_passing(password)?;
        }
        let config = Config {
            port: options.port,
            socket_directory: options.socket_directory,
            trust: options.trust,
            ..Config::default()
        };
        let handle = Server::start(database.clone(), config, Arc::new(roles))?;
        let http = options.http.map(|http| handle.serve_http(http.port)).transpose()?;
        Ok(Local { handle, http, user: database.superuser(), database: database.name().to_owned(), password })
    }

    /// Where PostgreSQL's protocol is spoken.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.handle.addresses()
    }

    /// The port of PostgreSQL's protocol.
    pub fn port(&self) -> u16 {
        self.handle.port()
    }

    /// Where HTTP is served, and its token.
    pub fn http(&self) -> Option<&HttpAddresses> {
        self.http.as_ref()
    }

    /// The page's address with the token, for a browser.
    pub fn page(&self) -> Option<String> {
        self.http.as_ref().map(HttpAddresses::page)
    }

    /// The role that clients come as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its password; `None` where none is asked for.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// What PostgreSQL's clients connect with, password included.
    pub fn dsn(&self) -> String {
        let login = match &self.password {
            Some(password) => format!("{}:{}", percent(&self.user), percent(password)),
            None => percent(&self.user),
        };
        let host = self.addresses().first().map_or_else(
            || "127.0.0.1".to_owned(),
            |place| match place {
                SocketAddr::V4(place) => place.ip().to_string(),
                SocketAddr::V6(place) => format!("[{}]", place.ip()),
            },
        );
        format!("postgresql://{login}@{host}:{}/{}", self.port(), percent(&self.database))
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.handle.connections()
    }

    /// Lets nobody in any more, cancels what runs for clients after 30 seconds, and ends; the database stays open.
    pub fn stop(self) {
        self.handle.shutdown();
    }

    /// As `stop`, and what runs is cancelled as soon as `hurries` says so.
    pub fn stop_unless(self, hurries: impl Fn() -> bool) {
        self.handle.shutdown_unless(hurries);
    }
}
