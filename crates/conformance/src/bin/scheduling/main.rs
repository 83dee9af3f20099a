//! Measures of the scheduler: shares, priorities, latencies, elasticity, many streams.
//!
//! `cargo run --release -p conformance --bin scheduling -- fair priorities short latency elastic streams remaining`
//!   --scale S      scale of the tables (1)
//!   --seconds T    how long each measure lasts, about (10)
//!   --streams N    concurrent streams (64)
//!   --record FILE  appends the figures as one line of JSON (bench/results/scheduling.jsonl is the project's)
//!
//! `bench/scheduling.py` calls it with the sizes and draws what it says. Every figure is a ratio or a
//! difference of times measured in this one run.

mod measures;
mod remaining;

use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::{Database, Options, Session};
use serde_json::{Map, Value, json};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

/// The result of a step; any error ends the program with its message.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What the command line says.
pub(crate) struct Choices {
    /// Names of the measures to run, all without an argument.
    pub measures: Vec<String>,
    /// The scale factor of the benchmark's tables.
    pub scale: String,
    /// How long looping measures run.
    pub seconds: f64,
    /// The number of concurrent streams.
    pub streams: usize,
    /// The file that figures are appended to.
    pub record: Option<String>,
}

fn choices() -> Outcome<Choices> {
    let mut found = Choices { measures: vec![], scale: "1".into(), seconds: 10.0, streams: 64, record: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--scale" => found.scale = value()?,
            "--seconds" => found.seconds = value()?.parse()?,
            "--streams" => found.streams = value()?.parse()?,
            "--record" => found.record = Some(value()?),
            name if measures::NAMES.contains(&name) => found.measures.push(argument),
            other => return Err(format!("{other}: expected {}", measures::NAMES.join(", ")).into()),
        }
    }
    if found.measures.is_empty() {
        found.measures = measures::NAMES.map(str::to_owned).to_vec();
    }
    Ok(found)
}

/// A database with a suite's tables.
pub(crate) fn database(suite: &str, scale: &str, memory_bytes: Option<u64>) -> Outcome<Database> {
    let database = Database::in_memory(Options { memory_bytes, ..Options::default() })?;
    let session = database.session();
    session.query(&format!("CALL {suite}(scale => {scale})"))?;
    Ok(database)
}

/// The texts of a suite's queries, by name.
pub(crate) fn queries(suite: &str, scale: &str) -> Outcome<Vec<(String, String)>> {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/answers/queries").join(suite);
    let fraction = 0.0001 / scale.parse::<f64>()?;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        if let (Some(name), true) = (name, path.extension().is_some_and(|extension| extension == "sql")) {
            let text = std::fs::read_to_string(&path)?.replace("{fraction}", &format!("{fraction:.10}"));
            found.push((name, text));
        }
    }
    found.sort();
    Ok(found)
}

/// A session whose queries have that priority.
pub(crate) fn with_priority(database: &Database, priority: u32) -> Outcome<Session> {
    let session = database.session();
    session.query(&format!("SET priority = {priority}"))?;
    Ok(session)
}

fn run() -> Outcome<()> {
    let choices = choices()?;
    let mut figures = Map::new();
    for name in &choices.measures {
        let found = measures::measure(name, &choices)?;
        println!("{name}: {found:#}");
        figures.insert(name.clone(), found);
    }
    let Some(file) = &choices.record else { return Ok(()) };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let commit = std::process::Command::new("git").args(["rev-parse", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let line: Value = json!({
        "format": 1,
        "seconds_since_1970": seconds,
        "commit": commit.unwrap_or_default(),
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "scale": choices.scale.parse::<f64>()?,
        "figures": figures,
    });
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(file, "{line}")?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scheduling: {error}");
            ExitCode::FAILURE
        }
    }
}
