//! The storage study: Chasseur's thesis (2015), chapters 3 and 5, on blocks of this engine.
//!
//! `cargo run --release -p conformance --bin storage_study -- --record bench/results/storage-study.jsonl`
//!   --rows N         rows of Narrow-U and Narrow-E (100,000,000); Wide-E and Strings have a fifth
//!   --scales A,B     scale factors of SSB and TPC-H (1,4)
//!   --parts a,b      of sizes, files, layouts, compression, conjunction, aggregate, strings, wide, ssb, hybrid, advisor
//!   --runs N         timed runs of each query (5); one more warms up
//!   --record FILE    appends a line of JSON a part
//!
//! `make study-storage` runs all of it, MonetDB beside it, and draws docs/results/storage-study.md.
//!
//! A time is from SQL text to the last batch of the result, which is taken as a stream and dropped, so that a result as
//! large as its table need not lie beside it. The tables are the thesis' (section 3.3): values come from a fixed mix of
//! row and column numbers, so that two runs have the same rows. A "file" is a block of as many bytes as a worker's
//! share of the table, at most the 1 GB that a block may have.

mod advisor;
mod selections;
mod suites;
mod tables;

use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{Database, Options, Session};
use serde_json::{Map, Value as Json, json};
use types::{Type, Value};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a part measures with.
struct Study {
    session: Session,
    rows: u64,
    scales: Vec<f64>,
    runs: usize,
    workers: usize,
    figures: Vec<Json>,
}

/// Milliseconds of some runs.
struct Times(Vec<f64>);

impl Times {
    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }
    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|t| (t - mean).powi(2)).sum();
        (squares / (self.0.len().max(2) - 1) as f64).sqrt()
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

impl Study {
    fn run(&self, sql: &str) -> Outcome<f64> {
        let started = Instant::now();
        self.session.execute(sql).map_err(|e| format!("{e} in {sql}"))?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    /// ALTER TABLE ... SET, and the work in the background to its end.
    fn reorganize(&self, sql: &str) -> Outcome<f64> {
        let started = Instant::now();
        self.run(sql)?;
        while self.session.database().is_reorganizing() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    /// Runs a query to the last batch of its result.
    fn once(&self, sql: &str) -> Outcome<f64> {
        let started = Instant::now();
        let mut stream = self.session.stream(sql).map_err(|e| format!("{e} in {sql}"))?;
        while stream.next_batch()?.is_some() {}
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    fn times(&self, sql: &str) -> Outcome<Times> {
        self.once(sql)?;
        Ok(Times((0..self.runs).map(|_| self.once(sql)).collect::<Outcome<_>>()?))
    }

    /// Measures a query; the figure has these labels.
    fn measure(&mut self, labels: &[(&str, Json)], sql: &str) -> Outcome<f64> {
        let times = self.times(sql)?;
        let values = [
            ("median_ms", json!(rounded(times.median()))),
            ("mean_ms", json!(rounded(times.mean()))),
            ("sd_ms", json!(rounded(times.deviation()))),
        ];
        self.note(labels.iter().cloned().chain(values));
        Ok(times.median())
    }

    fn note<'l>(&mut self, labels: impl IntoIterator<Item = (&'l str, Json)>) {
        let figure: Map<String, Json> =
            labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        eprintln!("  {}", Json::Object(figure.clone()));
        self.figures.push(Json::Object(figure));
    }

    /// Bytes of a table's blocks.
    fn bytes(&self, table: &str) -> Outcome<u64> {
        Ok(self.session.database().catalog().snapshot().table(None, table)?.data.bytes())
    }

    fn drop(&self, table: &str) -> Outcome<()> {
        self.run(&format!("DROP TABLE IF EXISTS {table} CASCADE"))?;
        self.session.database().release_idle_memory();
        Ok(())
    }
}

fn machine() -> Json {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    json!({
        "cpu": model.map_or("unknown", |(_, name)| name.trim()),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "memory_gib": (memory::machine_limit_bytes() as f64 / f64::from(1 << 30) * 10.0).round() / 10.0,
        "simd": simd::level().name(),
    })
}

fn commit() -> Json {
    let git = |arguments: &[&str]| {
        let run = Command::new("git").args(arguments).output().ok()?;
        run.status.success().then(|| String::from_utf8_lossy(&run.stdout).trim().to_owned())
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    json!({ "id": git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".into()), "modified": changed })
}

type Part = fn(&mut Study) -> Outcome<()>;

const PARTS: [(&str, Part); 11] = [
    ("sizes", selections::sizes),
    ("files", selections::files),
    ("layouts", selections::layouts),
    ("compression", selections::compression),
    ("conjunction", selections::conjunction),
    ("aggregate", selections::aggregate),
    ("strings", selections::strings),
    ("wide", selections::wide),
    ("ssb", suites::ssb),
    ("hybrid", suites::hybrid),
    ("advisor", advisor::advisor),
];

fn run() -> Outcome<()> {
    let (mut rows, mut scales, mut runs) = (100_000_000u64, vec![1.0, 4.0], 5usize);
    let (mut wanted, mut record): (Option<Vec<String>>, Option<String>) = (None, None);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--rows" => rows = value.replace(['_', ','], "").parse()?,
            "--scales" => scales = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--runs" => runs = value.parse()?,
            "--parts" => wanted = Some(value.split(',').map(str::to_owned).collect()),
            "--record" => record = Some(value),
            _ => return Err(format!("{name} is not known").into()),
        }
    }
    if rows < 10_000 || runs == 0 {
        return Err("at least 10,000 rows and one run".into());
    }
    if let Some(unknown) = wanted.iter().flatten().find(|w| PARTS.iter().all(|(name, _)| name != w)) {
        return Err(format!("there is no part {unknown}").into());
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, part) in PARTS {
        if wanted.as_ref().is_some_and(|wanted| wanted.iter().all(|w| w != name)) {
            continue;
        }
        eprintln!("{name}");
        let started = Instant::now();
        // A database of its own, so that nothing of one part lies in another's memory.
        let session = Database::in_memory(Options::default())?.session();
        tables::create_functions(&session)?;
        let mut study = Study { session, rows, scales: scales.clone(), runs, workers, figures: vec![] };
        part(&mut study)?;
        let Some(file) = &record else { continue };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as i64;
        let line = json!({
            "format": 1,
            "date": Value::I64(now).display(Type::TimestampTz),
            "commit": commit(),
            "machine": machine(),
            "part": name,
            "rows": rows,
            "scales": scales,
            "runs": runs,
            "workers": workers,
            "seconds": rounded(started.elapsed().as_secs_f64()),
            "figures": study.figures,
        });
        let mut lines = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        writeln!(lines, "{line}")?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("storage_study: {error}");
            ExitCode::FAILURE
        }
    }
}
