//! The quickstep command: statements in, results out, the benchmarks, and the server.
//!
//! Exit status 0 when everything succeeded, 1 when a statement failed (the message is on standard error), 2 when the
//! command line is wrong, 130 when interrupted. The program `quickstep` and the command of the Python package are this
//! one function.
#![forbid(unsafe_code)]

mod arguments;
mod benchmark;
mod benchmark_queries;
mod failed;
mod health;
mod log;
mod metrics_server;
mod opening;
mod output;
mod serve;
mod shell;

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::sync::atomic::Ordering;

use arguments::{Arguments, Command, Script};
use failed::{Failed, INTERRUPTED};
use opening::open;
use shell::Shell;

/// Runs the command with these words, the first of which is the program's name; the status for its exit.
///
/// What prints help, a version or a wrong command line ends the process.
pub fn command(words: impl IntoIterator<Item = OsString>) -> u8 {
    memory::watch_resident();
    let arguments = Arguments::in_order(words);
    let outcome = match &arguments.command {
        Some(Command::Tpch(options)) => benchmark::run(benchmark::Suite::Tpch, options),
        Some(Command::Ssb(options)) => benchmark::run(benchmark::Suite::Ssb, options),
        Some(Command::Tpcds(options)) => benchmark::run(benchmark::Suite::Tpcds, options),
        Some(Command::Serve(options)) => serve::run(options),
        Some(Command::Health(options)) => health::run(options),
        None => run(&arguments),
    };
    // Where the program's beginning is not Rust's, nobody else writes what is left.
    let _ = std::io::stdout().flush();
    match outcome {
        Ok(()) => 0,
        Err(Failed::Interrupted) => INTERRUPTED_STATUS,
        Err(Failed::Reported) => 1,
    }
}

/// As the shells report a process that SIGINT ended.
const INTERRUPTED_STATUS: u8 = 130;

/// Interrupts that come within this time of the first are the same one.
const SAME_INTERRUPT: std::time::Duration = std::time::Duration::from_millis(50);

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
