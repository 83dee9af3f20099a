//! `quickstep serve`: a database that others reach by PostgreSQL's protocol, HTTP and Flight SQL, until a signal stops it.
//!
//! SIGTERM and SIGINT stop in good order: nobody new is let in, statements under way are waited for as long as the
//! configuration says, what still runs then is cancelled; a second one cancels at once. SIGHUP reads the configuration
//! file again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use clap::Args;
use engine::Database;
use server::signals::{Told, signals};
use server::{Authenticator, Config, ConfigFile, DatabaseRoles, Handle, Server, TlsFiles};

use crate::Failed;
use crate::arguments::{EngineArguments, SeeingArguments};
use crate::metrics_server::MetricsServer;

/// What `serve` is told on the command line; it goes before what the configuration file says.
#[derive(Args)]
pub struct ServeArguments {
    /// Database to serve; leave it out for one in memory
    pub database: Option<String>,
    /// Listen on this address instead of loopback; may be given several times. Others than loopback want TLS and a
    /// password
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// Port; without it 5432, or the next one that is free
    #[arg(long)]
    pub port: Option<u16>,
    /// Port for HTTP, Flight SQL and the page, on loopback and under TLS on the addresses to listen on; without it 8080, or
    /// the next one that is free
    #[arg(long, value_name = "PORT", conflicts_with = "no_http")]
    pub http_port: Option<u16>,
    /// Do not listen for HTTP and Flight SQL
    #[arg(long)]
    pub no_http: bool,
    /// Folder of the Unix socket; /tmp when not given, none when empty
    #[arg(long, value_name = "DIR")]
    pub socket: Option<String>,
    /// Configuration: settings of the server and of the database, in TOML; read again on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Believe clients on loopback who they are, without a password
    #[arg(long)]
    pub trust: bool,
    /// Write logins, changes of definitions and privileges, and refusals to this file as lines of JSON, or to stderr
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<String>,
    /// Certificate for TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub seeing: SeeingArguments,
    #[command(flatten)]
    pub engine: EngineArguments,
}

impl ServeArguments {
    /// The configuration, and the database that its file names.
    fn config(&self) -> Result<(Config, Option<PathBuf>), Failed> {
        let (mut config, mut database) = (Config::default(), None);
        if let Some(path) = &self.config {
            let (file, text) = ConfigFile::read(path)?;
            config = file.apply(path, &text, config)?;
            database = file.database;
        }
        if !self.listen.is_empty() {
            config.listen = self.listen.clone();
        }
        config.port = self.port.or(config.port);
        if let Some(folder) = &self.socket {
            config.socket_directory = (!folder.is_empty()).then(|| PathBuf::from(folder));
        }
        config.trust |= self.trust;
        config.audit_log = self.audit_log.clone().or(config.audit_log);
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            config.tls = Some(TlsFiles { certificate: certificate.clone(), key: key.clone() });
        }
        Ok((config, database))
    }
}

/// Serves until a signal comes.
pub fn run(arguments: &ServeArguments) -> Result<(), Failed> {
    crate::log::subscribe(&arguments.seeing)?;
    let (config, named) = arguments.config()?;
    let named = named.map(|path| path.to_string_lossy().into_owned());
    let database =
        crate::opening::open(arguments.database.as_deref().or(named.as_deref()), &arguments.engine)?;
    let _metrics = match &arguments.seeing.metrics {
        Some(address) => Some(MetricsServer::start(address, &database)?),
        None => None,
    };
    // Before a client can see that the server is there: a signal from then on is not missed.
    let signals = signals()?;
    let roles = Arc::new(DatabaseRoles::new(&database));
    if !config.trust
        && let Some(first) = server::first_password(&*roles)?
    {
        println!("The password of the superuser \"{}\" is {}", roles.superuser(), first.password);
        let is_kept = first.is_kept && !database.is_in_memory();
        println!(
            "It is not shown again{}",
            if is_kept { "; ALTER ROLE ... PASSWORD changes it." } else { ", and changes with every start." }
        );
    }
    let handle = Server::start(database.clone(), config, roles)?;
    greet(&handle, &database);
    if !arguments.no_http {
        let http = handle.serve_http(arguments.http_port)?;
        let places: Vec<String> = http.addresses.iter().map(ToString::to_string).collect();
        println!("Serving HTTP and Arrow Flight SQL at {}", places.join(", "));
        println!("The page, and HTTP for programs with this token: {}", http.page());
    }
    serve(handle, arguments, &signals);
    Ok(())
}

fn greet(handle: &Handle, database: &Database) {
    let user = database.superuser();
    let places: Vec<String> = handle.addresses().iter().map(ToString::to_string).collect();
    println!("Serving \"{}\" by PostgreSQL's protocol at {}", database.name(), places.join(", "));
    if let Some(socket) = handle.socket() {
        println!("and at the socket {}", socket.display());
        let folder = socket.parent().unwrap_or(Path::new("/")).display().to_string();
        println!("  psql -h {folder} -p {} -U {user} {}", handle.port(), database.name());
    } else if let Some(address) = handle.addresses().first() {
        println!("  psql -h {} -p {} -U {user} {}", address.ip(), handle.port(), database.name());
    }
}

/// Waits for signals, until one ends the server.
fn serve(handle: Handle, arguments: &ServeArguments, signals: &Receiver<Told>) {
    while let Ok(Told::Reload) = signals.recv() {
        match arguments.config() {
            Ok((config, _)) => match handle.reload(config) {
                Ok(fixed) if fixed.is_empty() => tracing::info!("the configuration was read again"),
                Ok(fixed) => {
                    tracing::warn!("the configuration was read again; {} wants a restart", fixed.join(", "));
                }
                Err(error) => eprintln!("the configuration stays: {}", error.render("")),
            },
            // It has been told.
            Err(_) => eprintln!("the configuration stays as it was"),
        }
    }
    eprintln!("stopping: statements under way are waited for; a second signal cancels them");
    handle.shutdown_unless(|| signals.try_recv().is_ok_and(|told| told == Told::Stop));
}
