//! Session settings: what `SET`, `SHOW` and `RESET` know.
//!
//! One table lists every setting with its meaning, so that SHOW ALL, error hints and the documentation agree.
//! `Settings` belongs to one session and is read by planning and running; those that sessions share are set by
//! `shared_settings`.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use operators::transfer::setting::{Consumer, TransferSetting};
use types::{Collation, Error, Result, SqlState, Type, Value, Zone};

use crate::client_settings::{self, ClientSettings};
use crate::cluster::{self, settings::ClusterSettings};

/// The layout new blocks get.
pub use catalog::LayoutKind;

/// What of a query is kept when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLevel {
    /// No trace; the database's counters still count the statement.
    Off,
    /// Plan, counts, work orders.
    On,
    /// And the time of each operator, as EXPLAIN ANALYZE has it.
    Full,
}

impl TraceLevel {
    fn name(self) -> &'static str {
        match self {
            TraceLevel::Off => "off",
            TraceLevel::On => "on",
            TraceLevel::Full => "full",
        }
    }
    fn named(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "full" => Some(TraceLevel::Full),
            other => types::switch::parse(other).map(|on| if on { TraceLevel::On } else { TraceLevel::Off }),
        }
    }
}

/// How prepared statements with parameters are planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanCacheMode {
    /// As takes less time.
    #[default]
    Auto,
    /// Once for all values, where that is possible.
    Generic,
    /// For each set of values.
    Custom,
}

impl PlanCacheMode {
    const ALL: [(PlanCacheMode, &'static str); 3] = [
        (PlanCacheMode::Auto, "auto"),
        (PlanCacheMode::Generic, "force_generic_plan"),
        (PlanCacheMode::Custom, "force_custom_plan"),
    ];
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(mode, _)| *mode == self).map_or("auto", |(_, name)| name)
    }
    fn named(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(mode, _)| *mode)
    }
}

types::switches! {
    /// What a session keeps of its statements.
    pub struct Keeps {
        /// Plans of queries are kept for when their text comes again, as long as no table and no setting changes.
        plan_cache: bool = true,
        /// Statements are recorded for CALL advise, in memory.
        record_workload: bool = true,
    }
}

/// The settings of one session, parsed. `SESSION_SETTINGS` lists them by name with their meanings.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How much a producer hands its consumer at a time.
    pub unit_of_transfer: TransferSetting,
    /// Work orders of one operator at a time; `None`: as many as there are workers.
    pub operator_orders: Option<usize>,
    /// Rows of a batch in flight, 1 to 65536.
    pub batch_rows: usize,
    /// Bytes of the blocks that units of transfer consist of.
    pub transfer_bytes: usize,
    /// Time after which a statement is cancelled; `None`: never.
    pub statement_timeout: Option<Duration>,
    /// How long a transaction may be without a statement.
    pub idle_timeout: Option<Duration>,
    /// Bytes of new tables' blocks, 64 KB to 1 GB.
    pub block_bytes: usize,
    /// How new tables' blocks hold their rows.
    pub layout: LayoutKind,
    /// `None`: as the memory limit allows.
    pub operator_bytes: Option<usize>,
    /// How prepared statements with parameters are planned.
    pub plan_cache_mode: PlanCacheMode,
    /// In which instants are read and shown.
    pub time_zone: Zone,
    /// Where NULLs stand in a sort that does not say it.
    pub null_order: sql::NullOrder,
    /// By what texts are compared that have no collation of their own.
    pub default_collation: Collation,
    /// Whether a subquery in the place of a value fails where it gives several rows.
    pub refuses_several_rows: bool,
    /// Whether `x -> f(x)` was asked for; it is read either way.
    pub single_arrow: bool,
    /// Schemas in which names are looked for before the default one.
    pub search_path: Vec<String>,
    /// The default schema is shown as `public`, not as `main`; both names mean it.
    pub shows_public: bool,
    /// What is kept of finished queries.
    pub trace: TraceLevel,
    /// Statements that take as long are logged and kept as slow; `None`: none is slow.
    pub slow_query_threshold: Option<Duration>,
    /// Who the session is.
    pub(crate) identity: crate::access::Identity,
    /// The name that the session goes by in lists, and whose settings it follows, if not the one that it began with.
    pub role: Option<Arc<str>>,
    /// 0 to `scheduler::PRIORITY_MAX`.
    pub priority: u32,
    /// Workers of one query at a time; `None`: all.
    pub query_workers: Option<usize>,
    /// Bytes that one query may hold; `None`: what there is.
    pub query_bytes: Option<u64>,
    /// What clients of a server set, and rely on.
    pub client: ClientSettings,
    /// On how many engines queries run.
    pub(crate) cluster: ClusterSettings,
    /// Switches of the execution's techniques.
    pub techniques: operators::Switches,
    /// Switches of what the session keeps.
    pub keeps: Keeps,
    /// Switches of the optimizer's rules.
    pub optimizer: optimizer::Settings,
    /// What SET VARIABLE has set.
    pub variables: BTreeMap<String, (Value, Type)>,
    /// The session's own macros.
    pub macros: BTreeMap<String, sql::MacroInfo>,
}

/// A session's settings, locked. What reads them alone shares them with the statements that run; what changes one has a
/// copy of its own from then on.
pub(crate) struct SettingsGuard<'a>(MutexGuard<'a, Arc<Settings>>);

impl<'a> SettingsGuard<'a> {
    /// Over the lock that is held.
    pub fn new(held: MutexGuard<'a, Arc<Settings>>) -> Self {
        SettingsGuard(held)
    }

    /// As they are now, for as long as they are kept.
    pub fn shared(&self) -> Arc<Settings> {
        Arc::clone(&self.0)
    }
}

impl Deref for SettingsGuard<'_> {
    type Target = Settings;
    fn deref(&self) -> &Settings {
        &self.0
    }
}

impl DerefMut for SettingsGuard<'_> {
    fn deref_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.0)
    }
}

/// Whether settings are the same as those that something was made under; the next look then compares two addresses.
pub(crate) fn same_settings(under: &mut Arc<Settings>, now: &Arc<Settings>) -> bool {
    if Arc::ptr_eq(under, now) {
        return true;
    }
    let same = **under == **now;
    if same {
        *under = Arc::clone(now);
    }
    same
}

impl Default for Settings {
    fn default() -> Self {
        let execution = operators::ExecutionSettings::default();
        Settings {
            unit_of_transfer: execution.unit_of_transfer,
            operator_orders: None,
            batch_rows: execution.batch_rows,
            transfer_bytes: execution.transfer_bytes,
            statement_timeout: None,
            idle_timeout: None,
            block_bytes: pool::BLOCK_BYTES_DEFAULT,
            layout: LayoutKind::default(),
            operator_bytes: None,
            plan_cache_mode: PlanCacheMode::Auto,
            time_zone: Zone::Utc,
            null_order: sql::NullOrder::default(),
            default_collation: Collation::BINARY,
            refuses_several_rows: true,
            single_arrow: false,
            search_path: vec![],
            shows_public: false,
            trace: TraceLevel::On,
            slow_query_threshold: None,
            identity: crate::access::Identity::default(),
            role: None,
            priority: scheduler::PRIORITY_DEFAULT,
            query_workers: None,
            query_bytes: None,
            client: ClientSettings::default(),
            cluster: ClusterSettings::default(),
            techniques: operators::Switches::default(),
            keeps: Keeps::default(),
            optimizer: optimizer::Settings::default(),
            variables: BTreeMap::new(),
            macros: BTreeMap::new(),
        }
    }
}

/// Settings of the whole database rather than of one session.
pub const DATABASE_SETTINGS: [(&str, &str); 12] = [
    ("workers", "threads that execute work orders"),
    (
        "worker_affinity",
        "none, cores or nodes: whether each worker thread stays on one of the cores that the process may use, or on the cores of one memory node",
    ),
    (
        "node_scheduling",
        "stealing, strict or off: on a machine with several memory nodes, work orders go to workers near their data and \
         to others when these have nothing near; only to workers near; to any worker",
    ),
    ("memory_limit", "bytes that tables, hash tables, sorts and results may use together, such as '8GB'"),
    ("temp_directory", "folder for what does not fit memory: blocks of tables, and what statements hold"),
    (
        "file_compression",
        "none, fast or small: how tight the block files are packed that a database on disk writes from now on",
    ),
    (
        "direct_reads",
        "auto, on or off: whether block files are read past the system's cache (auto: when they are larger than the machine's memory)",
    ),
    ("replacement", "lru-1 to lru-4 or random: which columns of blocks leave memory first"),
    (
        "policy",
        "priority, fair or proportional: how queries share the workers (highest priority first; equally; by priority)",
    ),
    (
        "active_queries",
        "queries of one priority that run at a time; others wait half a second at most; auto: 4 a worker",
    ),
    ("trace_memory", "bytes that traces of finished queries take at most; the oldest are forgotten"),
    ("simd", "auto, avx512, avx2 or scalar: instructions that this process uses, at most"),
];

/// Every setting that all sessions share.
pub fn shared() -> impl Iterator<Item = (&'static str, &'static str)> {
    DATABASE_SETTINGS.into_iter().chain(formats::remote::SETTINGS)
}

/// Whether a setting is the database's, so that all sessions share it.
pub fn is_shared(name: &str) -> bool {
    shared().any(|(known, _)| known == own_name(name))
}

/// Checks the name of a setting and, as far as a session's own settings go, its value, without setting it.
pub fn check(name: &str, value: &str) -> Result<()> {
    match is_shared(name) {
        true => Ok(()),
        false => Settings::default().set(own_name(name), Some(value)),
    }
}

/// Settings of a session that are no switches: name and meaning.
pub const SESSION_SETTINGS: [(&str, &str); 24] = [
    (
        "unit_of_transfer",
        "auto, vector, block, blocks(k) or table: how much a producer hands its consumer at a time; one kind of \
         consumer may have its own, as in 'auto, probe = table'",
    ),
    ("batch_rows", "rows of a batch in flight, 1 to 65536"),
    ("transfer_size", "bytes of the blocks that units of transfer consist of"),
    ("work_orders_per_operator", "work orders of one operator at a time, at most; all for no limit"),
    ("statement_timeout", "milliseconds after which a statement is cancelled; 0 for never"),
    (
        "idle_in_transaction_session_timeout",
        "milliseconds after which a transaction in which no statement runs is rolled back; 0 for never",
    ),
    ("block_size", "bytes of new tables' blocks, 64KB to 1GB"),
    ("layout", "layout of new tables: column or compressed_column"),
    (
        "operator_memory",
        "bytes that a join, aggregation, sort or window keeps before it uses files; auto: by memory_limit",
    ),
    (
        "plan_cache_mode",
        "plans of prepared statements with parameters: auto (what takes less time), force_generic_plan (one plan for all values) or force_custom_plan (one for each set of values)",
    ),
    (
        "search_path",
        "schemas in which names without one are looked for, before main; tables are made in the first. USE sets it too",
    ),
    (
        "trace",
        "off, on or full: finished queries keep their plans and work orders; full takes each operator's time too",
    ),
    (
        "slow_query_threshold",
        "milliseconds from which on a statement is logged and kept in quickstep_slow_queries; 0 for never",
    ),
    ("timezone", "the zone in which moments are read and shown, such as 'Europe/Berlin', 'UTC' or '+05:30'"),
    (
        "default_collation",
        "by what texts are compared that have no collation of their own: C (their bytes), NOCASE, NOACCENT, a language",
    ),
    (
        "default_null_order",
        "where NULLs stand in sorts that do not say it: nulls_last_on_asc_first_on_desc, as in PostgreSQL; nulls_last, \
         nulls_first, nulls_first_on_asc_last_on_desc",
    ),
    (
        SEVERAL_ROWS,
        "on or off: a subquery in the place of a value is an error where it gives several rows; off: its first row is taken",
    ),
    ("calendar", "gregorian: the calendar by which moments with a zone are taken apart; there is no other"),
    (
        "lambda_syntax",
        "default or enable_single_arrow: lambdas are written lambda x: f(x), [f(x) for x in list] and x -> f(x)",
    ),
    (
        "default_schema_name",
        "main or public: by which name the default schema is shown; both names mean it. Tools of PostgreSQL look for public",
    ),
    ("role", "whom the session goes by: current_user, and the settings that ALTER ROLE gave"),
    ("priority", "0 to 1000, more is more urgent: of this session's queries beside those of others"),
    ("query_workers", "workers that serve one query at a time, at most; all for no limit"),
    (
        "query_memory",
        "bytes that one query may hold; it uses files before, and ends if that does not help; none for no limit",
    ),
];

/// On or off.
fn switched(name: &str, text: &str) -> Result<bool> {
    types::switch::parse(text).ok_or_else(|| invalid(name, text, "on or off"))
}

/// An error for a calendar that there is not.
fn check_calendar(name: &str, text: &str) -> Result<()> {
    match text.trim().eq_ignore_ascii_case(CALENDAR) {
        true => Ok(()),
        false => Err(invalid(name, text, CALENDAR)),
    }
}

/// What becomes of several rows in the place of one value.
const SEVERAL_ROWS: &str = "scalar_subquery_error_on_multiple_rows";
/// The one calendar there is.
const CALENDAR: &str = "gregorian";
/// What `lambda_syntax` takes.
const LAMBDA_SYNTAX: [&str; 2] = ["default", "enable_single_arrow"];

/// The name of a setting that other systems call otherwise.
pub(crate) fn own_name(name: &str) -> &str {
    match name {
        "threads" | "worker_threads" => "workers",
        "max_memory" => "memory_limit",
        "null_order" => "default_null_order",
        "max_execution_time" => "statement_timeout",
        "schema" => "search_path",
        other => other,
    }
}

/// The optimizer's switches, by name, with the values that turn its rules off.
pub const RULES_OFF: &[(&str, &str)] = optimizer::Settings::OFF;

/// The execution's switches, by name, with the values that turn its techniques off.
pub const TECHNIQUES_OFF: &[(&str, &str)] = operators::Switches::OFF;

/// Name and meaning of every switch.
fn switches() -> impl Iterator<Item = (&'static str, &'static str)> {
    let tables = [operators::Switches::MEANINGS, Keeps::MEANINGS, optimizer::Settings::MEANINGS];
    tables.into_iter().flatten().map(|(name, meaning)| (*name, meaning.trim().trim_end_matches('.')))
}

/// A number of bytes with an optional unit: `64KB`, `8 GB`, `1.5GiB`, `1048576`. Units are powers of 1024.
pub fn parse_bytes(text: &str) -> Option<u64> {
    types::size::bytes(text)
}

/// A duration: a number of milliseconds, or with a unit `ms`, `s`, `min`, `h`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..split].parse().ok()?;
    let milliseconds = match text[split..].trim() {
        "" | "ms" => number,
        "s" => number * 1e3,
        "min" => number * 6e4,
        "h" => number * 3.6e6,
        _ => return None,
    };
    (milliseconds < 1e13).then(|| Duration::from_micros((milliseconds * 1000.0) as u64))
}

pub(crate) fn invalid(name: &str, value: &str, expected: &str) -> Error {
    Error::new(SqlState::InvalidParameterValue, format!("invalid value for setting \"{name}\": \"{value}\""))
        .with_hint(format!("expected {expected}"))
}

/// Checks a block size as CREATE TABLE and SET take it.
pub fn parse_block_bytes(text: &str) -> Result<usize> {
    let range = pool::BLOCK_BYTES_MIN as u64..=pool::BLOCK_BYTES_MAX as u64;
    match parse_bytes(text).filter(|b| range.contains(b)) {
        Some(bytes) => Ok(bytes as usize),
        None => Err(invalid("block_size", text, "a size from 64KB to 1GB")),
    }
}

/// A time limit; zero is none.
pub(crate) fn parse_timeout(name: &str, text: &str) -> Result<Option<Duration>> {
    let timeout = parse_duration(text)
        .ok_or_else(|| invalid(name, text, "milliseconds, or a number with ms, s, min or h"))?;
    Ok((!timeout.is_zero()).then_some(timeout))
}

/// Whether the default schema is to be shown as `public`.
fn parse_default_schema(name: &str, text: &str) -> Result<bool> {
    match text.trim() {
        catalog::DEFAULT_SCHEMA => Ok(false),
        "public" => Ok(true),
        _ => Err(invalid(name, text, "main or public")),
    }
}

/// A priority, 0 to `scheduler::PRIORITY_MAX`.
pub(crate) fn parse_priority(text: &str) -> Result<u32> {
    let priority = text.trim().parse().ok().filter(|priority| *priority <= scheduler::PRIORITY_MAX);
    priority.ok_or_else(|| invalid("priority", text, "a number from 0 to 1000"))
}

/// `None`: all.
pub(crate) fn parse_query_workers(text: &str) -> Result<Option<usize>> {
    parse_workers("query_workers", text)
}

fn parse_workers(name: &str, text: &str) -> Result<Option<usize>> {
    match text.trim() {
        "all" => Ok(None),
        number => match number.parse().ok().filter(|n| (1..=workorder::WORKERS_MAX).contains(n)) {
            Some(workers) => Ok(Some(workers)),
            None => Err(invalid(name, text, "a number from 1 to 1024, or all")),
        },
    }
}

/// `None`: as much as there is.
pub(crate) fn parse_query_bytes(text: &str) -> Result<Option<u64>> {
    match text.trim() {
        "none" => Ok(None),
        size => match parse_bytes(size).filter(|bytes| *bytes >= 1 << 20) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(invalid("query_memory", text, "a size of at least 1MB, such as '2GB', or none")),
        },
    }
}

impl Settings {
    /// The setting's value as text, or `None` when there is no such setting.
    pub fn get(&self, name: &str) -> Option<String> {
        Some(match name {
            "unit_of_transfer" => self.unit_of_transfer.to_string(),
            "work_orders_per_operator" => {
                self.operator_orders.map_or("all".into(), |orders| orders.to_string())
            }
            "batch_rows" => self.batch_rows.to_string(),
            "transfer_size" => self.transfer_bytes.to_string(),
            "statement_timeout" => {
                self.statement_timeout.map_or("0".into(), |d| format!("{}ms", d.as_millis()))
            }
            "idle_in_transaction_session_timeout" => {
                self.idle_timeout.map_or("0".into(), |d| format!("{}ms", d.as_millis()))
            }
            "block_size" => self.block_bytes.to_string(),
            "layout" => self.layout.name().into(),
            "operator_memory" => self.operator_bytes.map_or("auto".into(), |bytes| bytes.to_string()),
            "plan_cache_mode" => self.plan_cache_mode.name().to_owned(),
            "timezone" => self.time_zone.name(),
            "default_collation" => self.default_collation.to_string(),
            "default_null_order" => self.null_order.name().to_owned(),
            SEVERAL_ROWS => if self.refuses_several_rows { "on" } else { "off" }.into(),
            "calendar" => CALENDAR.to_owned(),
            "lambda_syntax" => if self.single_arrow { LAMBDA_SYNTAX[1] } else { LAMBDA_SYNTAX[0] }.to_owned(),
            "search_path" => crate::search_path::shown(&self.search_path, self.default_schema()),
            "default_schema_name" => self.default_schema().to_owned(),
            "trace" => self.trace.name().into(),
            "slow_query_threshold" => {
                self.slow_query_threshold.map_or("0".into(), |d| format!("{}ms", d.as_secs_f64() * 1e3))
            }
            "role" => self.role.as_deref().unwrap_or(crate::roles::DEFAULT_ROLE).to_owned(),
            "priority" => self.priority.to_string(),
            "query_workers" => self.query_workers.map_or("all".into(), |workers| workers.to_string()),
            "query_memory" => self.query_bytes.map_or("none".into(), |bytes| bytes.to_string()),
            _ => {
                let technique = || self.techniques.get(name);
                let shown = self.optimizer.get(name).or_else(technique).or_else(|| self.keeps.get(name));
                let shown = shown.map(str::to_owned).or_else(|| self.client.get(name));
                return shown.or_else(|| self.cluster.get(name));
            }
        })
    }

    /// Sets a setting from text; `None` restores the default.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let default;
        let text = match value {
            Some(text) => text,
            None => {
                default = Settings::default().get(name).ok_or_else(|| unknown(name))?;
                &default
            }
        };
        match name {
            "unit_of_transfer" => {
                self.unit_of_transfer = TransferSetting::parse(text).ok_or_else(|| {
                    let kinds: Vec<&str> = Consumer::ALL.iter().map(|kind| kind.name()).collect();
                    let expected = format!(
                        "auto, vector, block, blocks(k) or table, or one of them for a kind of consumer, as in probe = table: {}",
                        kinds.join(", ")
                    );
                    invalid(name, text, &expected)
                })?;
            }
            "work_orders_per_operator" => self.operator_orders = parse_workers(name, text)?,
            "batch_rows" => {
                self.batch_rows = text
                    .trim()
                    .parse()
                    .ok()
                    .filter(|rows| (1..=65_536).contains(rows))
                    .ok_or_else(|| invalid(name, text, "a number of rows from 1 to 65536"))?;
            }
            "transfer_size" => {
                self.transfer_bytes = parse_bytes(text)
                    .filter(|b| (1..=1 << 30).contains(b))
                    .ok_or_else(|| invalid(name, text, "a size up to 1GB"))?
                    as usize;
            }
            "timezone" => self.time_zone = Zone::named(text)?,
            "default_collation" => self.default_collation = Collation::named(text)?,
            "default_null_order" => {
                self.null_order = sql::NullOrder::named(text)
                    .ok_or_else(|| invalid(name, text, &sql::NullOrder::NAMES.join(", ")))?;
            }
            SEVERAL_ROWS => self.refuses_several_rows = switched(name, text)?,
            "calendar" => check_calendar(name, text)?,
            "lambda_syntax" => {
                // Arrows that stand for JSON alone are what they are by default.
                let text = match text.trim() {
                    word if word.eq_ignore_ascii_case("disable_single_arrow") => LAMBDA_SYNTAX[0],
                    word => word,
                };
                let known = LAMBDA_SYNTAX.iter().position(|known| text.eq_ignore_ascii_case(known));
                self.single_arrow =
                    known.ok_or_else(|| invalid(name, text, &LAMBDA_SYNTAX.join(" or ")))? == 1;
            }
            "statement_timeout" => self.statement_timeout = parse_timeout(name, text)?,
            "idle_in_transaction_session_timeout" => self.idle_timeout = parse_timeout(name, text)?,
            "block_size" => self.block_bytes = parse_block_bytes(text)?,
            "layout" => {
                self.layout = LayoutKind::from_name(text)
                    .ok_or_else(|| invalid(name, text, "column or compressed_column"))?;
            }
            "plan_cache_mode" => {
                self.plan_cache_mode = PlanCacheMode::named(text)
                    .ok_or_else(|| invalid(name, text, "auto, force_generic_plan or force_custom_plan"))?;
            }
            "search_path" => self.search_path = crate::search_path::parsed(text),
            "trace" => {
                self.trace = TraceLevel::named(text).ok_or_else(|| invalid(name, text, "off, on or full"))?;
            }
            "slow_query_threshold" => self.slow_query_threshold = parse_timeout(name, text)?,
            "operator_memory" => {
                self.operator_bytes = match text.trim() {
                    "auto" => None,
                    size => Some(
                        parse_bytes(size)
                            .ok_or_else(|| invalid(name, text, "auto, or a size such as '64MB'"))?
                            as usize,
                    ),
                };
            }
            "default_schema_name" => self.shows_public = parse_default_schema(name, text)?,
            "role" => {
                let role = text.trim();
                self.role = (role != crate::roles::DEFAULT_ROLE && role != "none").then(|| Arc::from(role));
            }
            "priority" => self.priority = parse_priority(text)?,
            "query_workers" => self.query_workers = parse_query_workers(text)?,
            "query_memory" => self.query_bytes = parse_query_bytes(text)?,
            _ => {
                let known = self.optimizer.set(name, text)?
                    || self.techniques.set(name, text)?
                    || self.keeps.set(name, text)?
                    || self.client.set(name, text)?
                    || self.cluster.set(name, text)?;
                if !known {
                    return Err(unknown(name));
                }
            }
        }
        Ok(())
    }

    /// The name by which the default schema is shown.
    pub fn default_schema(&self) -> &'static str {
        if self.shows_public { "public" } else { catalog::DEFAULT_SCHEMA }
    }

    /// Every setting of the session with its value and meaning.
    pub fn all(&self) -> Vec<(String, String, String)> {
        let client = client_settings::MEANINGS.into_iter().map(|(name, _, meaning)| (name, meaning));
        let own = SESSION_SETTINGS.iter().copied().chain(cluster::settings::MEANINGS);
        let settings = own.chain(switches()).chain(client);
        settings
            .map(|(name, meaning)| (name.to_owned(), self.get(name).unwrap_or_default(), meaning.to_owned()))
            .collect()
    }

    /// Bytes that a worker keeps of one operator under `query_memory`: a plan has some three states at a time, and
    /// completing one takes as much again.
    fn state_bytes(&self) -> Option<usize> {
        let bytes = usize::try_from(self.query_bytes?).unwrap_or(usize::MAX);
        Some(bytes / (8 * workorder::parallelism() as usize))
    }

    /// The settings that operators read. `analyze`: each operator takes its time.
    pub fn execution(&self, analyze: bool) -> operators::ExecutionSettings {
        operators::ExecutionSettings {
            unit_of_transfer: self.unit_of_transfer.clone(),
            orders_max: self.operator_orders,
            batch_rows: self.batch_rows,
            transfer_bytes: self.transfer_bytes,
            analyze,
            switches: self.techniques.clone(),
            runtime_filters: self.optimizer.runtime_filters,
            range_joins: self.optimizer.range_joins,
            operator_bytes: self.operator_bytes.or_else(|| self.state_bytes()),
        }
    }
}

/// The error for a setting that does not exist, with the nearest name as its hint.
pub fn unknown(name: &str) -> Error {
    let settings = Settings::default();
    let known: Vec<String> = settings
        .all()
        .into_iter()
        .map(|(n, _, _)| n)
        .chain(shared().map(|(name, _)| name.to_owned()))
        .collect();
    let error =
        Error::new(SqlState::UndefinedObject, format!("unrecognized configuration parameter \"{name}\""));
    match catalog::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
        None => error.with_hint("SHOW ALL lists the settings"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations() {
        assert_eq!(parse_bytes("64KB"), Some(65_536));
        assert_eq!(parse_bytes("1.5 GiB"), Some(3 << 29));
        assert_eq!(parse_bytes("12 parsecs"), None);
        assert_eq!(parse_bytes("-1"), None);
        assert_eq!(parse_duration("250"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("2 min"), Some(Duration::from_secs(120)));
    }

    #[test]
    fn every_setting_round_trips_and_resets() {
        let mut settings = Settings::default();
        for (name, value, _) in Settings::default().all() {
            settings.set(&name, Some(&value)).unwrap_or_else(|e| panic!("{name} = {value}: {e}"));
            assert_eq!(settings.get(&name).as_deref(), Some(value.as_str()), "{name}");
            settings.set(&name, None).unwrap();
        }
        assert!(settings.set("no_such_thing", Some("1")).is_err());
        assert!(settings.set("batch_rows", Some("0")).is_err());
    }

    #[test]
    fn the_page_of_settings_has_each_with_its_default_and_meaning() {
        let page = include_str!("../../../docs/sql/settings.md");
        let named = |line: &'static str| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name);
        let mut of_the_page: Vec<&str> = page.lines().filter_map(named).collect();
        for (name, value, meaning) in Settings::default().all() {
            let mut meaning = meaning;
            if meaning.starts_with(|first: char| first.is_ascii_uppercase())
                && meaning[1..].starts_with(|second: char| second.is_ascii_lowercase() || second == ' ')
            {
                meaning[..1].make_ascii_lowercase();
            }
            let value = if value.is_empty() { value } else { format!("`{value}`") };
            let row = format!("| `{name}` | {value} | {} |", meaning.replace('|', "\\|"));
            assert!(
                page.contains(&row),
                "docs/sql/settings.md lacks {row}: book/reference.py makes the page"
            );
            of_the_page.retain(|listed| *listed != name);
        }
        of_the_page.retain(|listed| shared().all(|(name, _)| name != *listed));
        assert!(of_the_page.is_empty(), "docs/sql/settings.md lists what is no setting: {of_the_page:?}");
    }
}
