//! The quickstep command: statements in, results out, and the benchmarks.
//!
//! Exit status 0 when everything succeeded, 1 when a statement failed (the message is on standard error), 2 when the
//! command line is wrong, 130 when interrupted.
#![forbid(unsafe_code)]

mod arguments;
mod benchmark;
mod benchmark_queries;
mod log;
mod metrics_server;
mod output;
mod serve;
mod shell;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Database, Error};

use arguments::{Arguments, Command, EngineArguments, Script};
use shell::Shell;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

fn main() -> ExitCode {
    memory::watch_resident();
    let arguments = Arguments::in_order();
    let outcome = match &arguments.command {
        Some(Command::Tpch(options)) => benchmark::run(benchmark::Suite::Tpch, options),
        Some(Command::Ssb(options)) => benchmark::run(benchmark::Suite::Ssb, options),
        Some(Command::Tpcds(options)) => benchmark::run(benchmark::Suite::Tpcds, options),
        Some(Command::Serve(options)) => serve::run(options),
        None => run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Interrupted) => ExitCode::from(INTERRUPTED_STATUS),
        Err(Failed::Reported) => ExitCode::FAILURE,
    }
}

/// As the shells report a process that SIGINT ended.
const INTERRUPTED_STATUS: u8 = 130;

/// An interrupt has come and the statement that runs has not ended yet.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Why a run ended early. The message is already on standard error.
pub enum Failed {
    /// By an error.
    Reported,
    /// By Ctrl-C; scripts tell it by the exit status, as of any other command.
    Interrupted,
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        // A reader that went away (`| head`) is no failure worth a message.
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("quickstep: {error}");
        }
        Failed::Reported
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        eprintln!("{}", error.render(""));
        Failed::Reported
    }
}

/// Interrupts that come within this time of the first are the same one.
const SAME_INTERRUPT: std::time::Duration = std::time::Duration::from_millis(50);

/// Opens the database that the command line names; one in memory without a name.
pub fn open(path: Option<&str>, engine: &EngineArguments) -> Result<Database, Failed> {
    let options = engine.options()?;
    match path {
        None | Some("" | ":memory:") => Ok(Database::in_memory(options)?),
        Some(path) => {
            let (database, report) = Database::on_disk(path, options)?;
            tell(&report);
            Ok(database)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failed> {
    log::subscribe(&arguments.seeing)?;
    let database = open(arguments.database.as_deref(), &arguments.engine)?;
    let _metrics = match &arguments.seeing.metrics {
        Some(address) => Some(metrics_server::MetricsServer::start(address, &database)?),
        None => None,
    };
    let session = database.session();
    let cancel = session.cancel_token();
    // Without the handler an interrupt ends the process, which is a fair second best; so does a second one that comes
    // before the first has taken hold.
    let first = std::sync::OnceLock::new();
    let _ = ctrlc::set_handler(move || {
        let began = *first.get_or_init(std::time::Instant::now);
        // `timeout` and terminals send one interrupt to the process and to its group: that is one, not two.
        if INTERRUPTED.swap(true, Ordering::SeqCst) && began.elapsed() > SAME_INTERRUPT {
            std::process::exit(INTERRUPTED_STATUS.into());
        }
        cancel.cancel();
    });
    if arguments.scripts.is_empty() && std::io::stdin().is_terminal() {
        return shell::run(&session, arguments);
    }
    let mut shell = Shell::for_scripts(&session, arguments);
    let standard_input = |shell: &mut Shell<'_>| {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        shell.run_bytes(bytes, "standard input", true)
    };
    if arguments.scripts.is_empty() {
        return standard_input(&mut shell);
    }
    for script in &arguments.scripts {
        match script {
            Script::Text(text) => shell.run_as_transaction(text)?,
            Script::File(path) if path == "-" => standard_input(&mut shell)?,
            Script::File(path) => shell.run_file(path.into())?,
        }
    }
    Ok(())
}

/// What the user should know of how the database was found.
fn tell(report: &engine::OpenReport) {
    for (log, at, bytes) in &report.torn {
        eprintln!(
            "note: {log} ended in a record that was not finished; {bytes} bytes from byte {at} on were cut off"
        );
    }
    for damaged in &report.damaged {
        let (schema, table) = (&damaged.schema, &damaged.name);
        eprintln!("warning: table {schema}.{table} cannot be read: {}", damaged.error.message());
    }
}
