//! The command line.
//!
//! clap derives the reading and the help from these types; `command` picks the subcommand. `in_order` gives -c and -f
//! back in the order in which they were written. Nothing here opens a database: `EngineArguments::options` only says
//! how.

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use engine::settings::parse_bytes;

use crate::Failed;
use crate::health::HealthArguments;
use crate::serve::ServeArguments;

#[derive(Parser)]
#[command(
    name = "quickstep",
    version,
    about = "An analytic SQL engine",
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    /// Database to open; leave it out to work in memory
    pub database: Option<String>,
    /// Run this SQL, or command of the shell, and exit; may be given several times
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    pub sql: Vec<String>,
    /// Run the statements and commands of this file (- is standard input) and exit; may be given several times
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub file: Vec<String>,
    /// What `-c` and `-f` name, in the order of the command line.
    #[arg(skip)]
    pub scripts: Vec<Script>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print the time of every statement on standard error
    #[arg(long)]
    pub timing: bool,
    /// Leave the start-up file out
    #[arg(long)]
    pub no_startup: bool,
    #[command(flatten)]
    pub seeing: SeeingArguments,
    #[command(flatten)]
    pub engine: EngineArguments,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What runs before the command exits.
#[derive(Clone, Debug)]
pub enum Script {
    /// Statements and commands themselves, from `-c`.
    Text(String),
    /// The path of a file with them, from `-f`; `-` is standard input.
    File(String),
}

impl Arguments {
    /// The command line, or the end of the process with status 2 and a message.
    pub fn in_order(words: impl IntoIterator<Item = OsString>) -> Arguments {
        let matches = Arguments::command().get_matches_from(words);
        let mut arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let places = |name: &str| matches.indices_of(name).into_iter().flatten();
        let texts = places("sql").zip(arguments.sql.iter().cloned().map(Script::Text));
        let files = places("file").zip(arguments.file.iter().cloned().map(Script::File));
        let mut scripts: Vec<(usize, Script)> = texts.chain(files).collect();
        scripts.sort_by_key(|(place, _)| *place);
        arguments.scripts = scripts.into_iter().map(|(_, script)| script).collect();
        arguments
    }
}

/// What the process says of itself to others than its user.
#[derive(Args, Clone)]
pub struct SeeingArguments {
    /// Log on standard error: off, error, warn, info, debug, or by target such as warn,quickstep::spill=debug; without
    /// it $QUICKSTEP_LOG says
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// text, or json: one object a line
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Log into this file, behind what is in it, instead of standard error
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<String>,
    /// Serve metrics for Prometheus at http://ADDRESS/metrics: a port of this machine, or address:port
    #[arg(long, value_name = "ADDRESS", alias = "metrics-port")]
    pub metrics: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Args, Clone, Default)]
pub struct EngineArguments {
    /// Threads that execute work orders; all cores when not given
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Memory for tables, hash tables, sorts and results together, such as 8GB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Open the database as it is, and change nothing
    #[arg(long)]
    pub read_only: bool,
}

impl EngineArguments {
    /// The options to open a database with. An invalid `--memory` is reported on standard error, and fails.
    pub fn options(&self) -> Result<engine::Options, Failed> {
        let memory_bytes = match &self.memory {
            None => None,
            Some(text) => Some(parse_bytes(text).filter(|b| *b >= 1 << 20).ok_or_else(|| {
                eprintln!(
                    "quickstep: invalid --memory \"{text}\": expected a size of at least 1MB, such as 8GB"
                );
                Failed::Reported
            })?),
        };
        let (workers, read_only) = (self.workers, self.read_only);
        Ok(engine::Options { workers, memory_bytes, read_only, ..engine::Options::default() })
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Generate TPC-H, load it, run its 22 queries and report
    Tpch(BenchmarkArguments),
    /// Generate the Star Schema Benchmark, load it, run its 13 queries and report
    Ssb(BenchmarkArguments),
    /// Generate TPC-DS, load it, run its 99 queries and report
    Tpcds(BenchmarkArguments),
    /// Serve a database by PostgreSQL's protocol
    Serve(ServeArguments),
    /// Say by the exit status whether a server of this machine takes requests
    Health(HealthArguments),
}

#[derive(Args)]
pub struct BenchmarkArguments {
    /// Scale factor: 1 is about a gigabyte of text
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Runs of each query; the median is reported
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Which queries: 1,3-5 (TPC-H, TPC-DS), 1.1,2.3 (SSB); all when not given
    #[arg(long, value_name = "LIST")]
    pub queries: Option<String>,
    /// Load from this folder's TABLE.parquet files instead of generating
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<String>,
    /// Run this SQL before loading: settings to compare
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// table or json
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    #[command(flatten)]
    pub engine: EngineArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    /// A table in a box of lines
    Box,
    Csv,
    Tsv,
    Json,
    Ndjson,
    Markdown,
    Html,
    /// Arrow IPC stream
    Arrow,
    Parquet,
}

impl Format {
    /// Whether a person reads it: then statements without rows say what they did, and warnings are shown.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Table | Format::Box)
    }
}
