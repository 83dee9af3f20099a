//! The log of the process: events of the engine (crate `tracing`), by level and target, as text or JSON.

use std::fs::OpenOptions;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::Failed;
use crate::arguments::{LogFormat, SeeingArguments};

/// Subscribes to what was asked for; to nothing, if nothing was.
pub fn subscribe(arguments: &SeeingArguments) -> Result<(), Failed> {
    let levels = arguments.log.clone().or_else(|| std::env::var("QUICKSTEP_LOG").ok());
    let Some(levels) = levels.as_deref().filter(|levels| !levels.trim().is_empty()) else {
        return Ok(());
    };
    let filter = EnvFilter::builder().parse(levels).map_err(|error| {
        eprintln!("quickstep: invalid --log \"{levels}\": {error}; expected a level such as info, or targets with levels such as warn,quickstep::spill=debug");
        Failed::Reported
    })?;
    match &arguments.log_file {
        None => begin(filter, arguments.log_format, std::io::stderr),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
                eprintln!("quickstep: cannot write --log-file {path}: {error}");
                Failed::Reported
            })?;
            begin(filter, arguments.log_format, Mutex::new(file));
        }
    }
    Ok(())
}

fn begin(filter: EnvFilter, format: LogFormat, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // It fails where there is a subscriber already; there is none in this process.
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(subscriber.finish()),
        LogFormat::Json => {
            tracing::subscriber::set_global_default(subscriber.json().flatten_event(true).finish())
        }
    };
}
