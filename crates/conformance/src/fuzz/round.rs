//! One seed: its tables in a database per configuration, its queries through all of them and the reference.
//!
//! `run_round` makes the tables of a seed, loads them under the first configuration and some others in turn (all with
//! `thorough`), and runs queries and changes of rows. The reference interpreter tells what is right; where it does
//! not know a query with nested values, the first configuration does. Sessions keep equal rows: a change that fails
//! in one is undone in all. Differences become a `Case`, are reduced, and go to the caller's `report`.

use std::collections::BTreeMap;

use engine::{ResultSet, Session};
use plan::Statement;
use types::{Error, Result, SqlState, Type, Value};

use super::changes::{judge_change, random_change};
use super::judge::{Outcome, Verdict, compare};
use super::queries::random_query;
use super::reduce;
use super::rewrites::SEQUENCE;
use super::rules;
use super::tables::{FuzzRelations, FuzzTable, for_reference, random_tables};
use super::tree::Query;
use crate::configuration::Configuration;
use random::Random;

/// What a run of the fuzzer does for each seed.
#[derive(Clone, Debug)]
pub struct Options {
    /// The configurations to compare; the first is part of every round.
    pub configurations: Vec<Configuration>,
    /// Steps of each round: queries, and statements that change rows.
    pub queries: usize,
    /// The percentage of steps that change rows instead of querying.
    pub changes: usize,
    /// Only what DuckDB understands as we do.
    pub portable: bool,
    /// The most row visits that the reference may make for a query.
    pub steps: u64,
    /// Failing cases are made smaller.
    pub reduce: bool,
    /// Every query under every configuration; otherwise under the first and two others in turn.
    pub thorough: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            configurations: crate::configuration::all(),
            queries: 60,
            changes: 12,
            portable: false,
            steps: 3_000_000,
            reduce: true,
            thorough: false,
        }
    }
}

/// What rounds have done, for the report. Sums over rounds with `add`.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Seeds that were run.
    pub rounds: usize,
    /// Queries with a known answer.
    pub queries: usize,
    /// Statements that change rows.
    pub changes: usize,
    /// Executions by the engine; each is the same, tolerated, different or too long.
    pub runs: usize,
    /// Executions that agreed with the known answer.
    pub same: usize,
    /// Executions whose error depends on the order of evaluation.
    pub tolerated: usize,
    /// Executions that are failures, and internal errors of the front end.
    pub different: usize,
    /// Queries and changes that the front end refuses; changes whose outcome is not known are included.
    pub not_planned: usize,
    /// Queries that the reference does not support.
    pub not_interpreted: usize,
    /// Queries among `not_interpreted` whose answers were compared between configurations: those with nested values.
    pub by_each_other: usize,
    /// Runs of `by_each_other` queries that were stopped for their time, so that their rows are unknown.
    pub too_long: usize,
    /// Rows of all known answers.
    pub rows: usize,
    /// Queries whose known answer has at least one row.
    pub with_rows: usize,
    /// Queries whose known answer is an error.
    pub with_error: usize,
    /// Why queries were not planned, values left out, and how often.
    pub refusals: BTreeMap<String, usize>,
}

impl Counts {
    /// Adds the counts of another round.
    pub fn add(&mut self, other: &Counts) {
        self.rounds += other.rounds;
        self.queries += other.queries;
        self.changes += other.changes;
        self.runs += other.runs;
        self.same += other.same;
        self.tolerated += other.tolerated;
        self.different += other.different;
        self.not_planned += other.not_planned;
        self.not_interpreted += other.not_interpreted;
        self.by_each_other += other.by_each_other;
        self.too_long += other.too_long;
        self.rows += other.rows;
        self.with_rows += other.with_rows;
        self.with_error += other.with_error;
        for (reason, count) in &other.refusals {
            *self.refusals.entry(reason.clone()).or_default() += count;
        }
    }

    /// The most frequent refusals, a line each.
    pub fn refusals(&self) -> String {
        let mut all: Vec<(&String, &usize)> = self.refusals.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        all.iter().take(12).map(|(reason, count)| format!("   {count} x {reason}\n")).collect()
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} seeds, {} changes of rows, {} queries judged ({} with rows, {} errors; {} rows), {} executions: {} same, {} tolerated, {} \
             DIFFERENT; passed over: {} not planned, {} not interpreted, of these {} judged by each other, {} of them too long",
            self.rounds,
            self.changes,
            self.queries,
            self.with_rows,
            self.with_error,
            self.rows,
            self.runs,
            self.same,
            self.tolerated,
            self.different,
            self.not_planned,
            self.not_interpreted,
            self.by_each_other,
            self.too_long
        )
    }
}

/// A difference between the engine and the reference.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed that reproduces the case.
    pub seed: u64,
    /// The configuration under which the engine's answer differs.
    pub configuration: Configuration,
    /// The tables with the rows that the query read.
    pub tables: Vec<FuzzTable>,
    /// The query that fails.
    pub query: Query,
    /// What differs, in words.
    pub difference: String,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "-- seed {} under \"{}\": {}", self.seed, self.configuration.name, self.difference)?;
        for (name, value) in &self.configuration.settings {
            writeln!(f, "SET {name} = '{value}';")?;
        }
        let query = self.query.to_string();
        for table in self.tables.iter().filter(|t| query.contains(&t.name)) {
            for statement in table.statements() {
                if statement.len() > 20_000 {
                    writeln!(f, "-- {} rows of {} not shown", table.rows.len(), table.name)?;
                } else {
                    writeln!(f, "{statement};")?;
                }
            }
        }
        write!(f, "{query};")
    }
}

/// The rows of a result, its batches put together.
pub fn rows_of(result: &ResultSet) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for batch in result.batches() {
        for row in 0..batch.rows {
            rows.push(batch.columns.iter().map(|c| c.value(row)).collect());
        }
    }
    rows
}

/// Milliseconds of a statement whose rows the reference knows: it visited few rows for it, so this is a hang.
pub(super) const TIME_LIMIT: u32 = 30_000;
/// Milliseconds of a statement that only configurations tell each other of: its product may be of any size.
pub(super) const TIME_LIMIT_UNKNOWN: u32 = 3_000;

/// Sets the session's `statement_timeout`, in milliseconds.
pub fn limit_time(session: &Session, milliseconds: u32) -> Result<()> {
    session.query(&format!("SET statement_timeout = '{milliseconds}'")).map(drop)
}

/// Whether a statement was stopped for its time, which tells nothing of its rows.
fn ran_too_long(outcome: &Outcome) -> bool {
    outcome.as_ref().is_err_and(|error| error.state() == SqlState::QueryCanceled)
}

/// A session with the tables in it. Runaway statements end after a while, which shows as a difference.
pub fn session_with(configuration: &Configuration, tables: &[FuzzTable]) -> Result<Session> {
    let session = configuration.open()?;
    limit_time(&session, TIME_LIMIT)?;
    session.query(&format!("CREATE SEQUENCE {SEQUENCE}"))?;
    for statement in tables.iter().flat_map(FuzzTable::statements) {
        session.query(&statement)?;
    }
    Ok(session)
}

/// What the reference says of a query, and the result's types.
pub enum Expected {
    /// The front end refuses the query, or it is not a query.
    NotPlanned(Error),
    /// The reference does not support the query, or it takes too many row visits.
    NotInterpreted(Vec<Type>),
    /// The reference's answer.
    Known(Outcome, Vec<Type>),
}

/// Plans a query and runs it in the reference interpreter, which gives up after `steps` row visits.
pub fn expected(sql: &str, tables: &[FuzzTable], steps: u64) -> Expected {
    let planned = match sql::plan_one(sql, &FuzzRelations(tables)) {
        Ok(Statement::Query(query)) => query,
        Ok(_) => return Expected::NotPlanned(Error::internal("not a query")),
        Err(error) => return Expected::NotPlanned(error),
    };
    let types = planned.output.iter().map(|(id, _)| planned.columns.get(*id).ty).collect();
    match reference::run_within(&planned, &for_reference(tables), steps) {
        Err(error) if reference::is_refusal(&error) => Expected::NotInterpreted(types),
        outcome => Expected::Known(outcome, types),
    }
}

/// The engine's rows; a result whose types are not the plan's is an error of its own.
pub fn actual(session: &Session, sql: &str, types: &[Type]) -> Outcome {
    let result = session.query(sql)?;
    let found: Vec<Type> = result.schema().fields().iter().map(|f| f.ty).collect();
    if found != types {
        return Err(Error::new(SqlState::Internal, format!("result types {found:?}, expected {types:?}")));
    }
    Ok(rows_of(&result))
}

/// How what a session answers compares with what is known.
pub fn judge(session: &Session, sql: &str, ordered: bool, known: &Known) -> Verdict {
    let found = actual(session, sql, &known.types);
    if known.by_each_other && ran_too_long(&found) {
        return Verdict::Unknown;
    }
    compare(&known.outcome, &found, &known.types, ordered)
}

/// What a query should answer.
pub struct Known {
    /// The rows, or the error.
    pub outcome: Outcome,
    /// The types of the result's columns.
    pub types: Vec<Type>,
    /// Told by a configuration, not by the reference.
    pub by_each_other: bool,
}

impl Known {
    /// An answer of the reference interpreter.
    pub fn by_reference(outcome: Outcome, types: Vec<Type>) -> Known {
        Known { outcome, types, by_each_other: false }
    }

    /// As a session answers it; `None` where it ran too long.
    pub fn by_session(session: &Session, sql: &str, types: Vec<Type>) -> Option<Known> {
        let outcome = actual(session, sql, &types);
        (!ran_too_long(&outcome)).then_some(Known { outcome, types, by_each_other: true })
    }
}

/// Whether a query was given lists, structs or maps.
fn holds_nested(sql: &str) -> bool {
    sql.contains('[') || sql.contains("{'") || sql.contains("struct_")
}

/// What the reference says of a query, or where it does not know it, the standard configuration.
pub(super) fn judged_by(sql: &str, tables: &[FuzzTable], steps: u64) -> Option<Known> {
    rules::told(sql, &mut |sql| match expected(sql, tables, steps) {
        Expected::Known(outcome, types) => Some(Known::by_reference(outcome, types)),
        Expected::NotInterpreted(types) => {
            let session = session_with(&crate::configuration::standard(), tables).ok()?;
            limit_time(&session, TIME_LIMIT_UNKNOWN).ok()?;
            Known::by_session(&session, sql, types)
        }
        Expected::NotPlanned(_) => None,
    })
}

/// A message without what is quoted in it.
pub(super) fn general(message: &str) -> String {
    let parts = message.split('"').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "\"...\"" }).collect()
}

/// A random statement that changes rows, in all sessions.
fn change_rows(
    seed: u64,
    random: &mut Random,
    tables: &mut [FuzzTable],
    sessions: &[(&Configuration, Session)],
    steps: u64,
    counts: &mut Counts,
) -> Result<()> {
    let Some(change) = random_change(random, tables) else { return Ok(()) };
    // Where the query meets an error, the statement need not: what it leaves is not known.
    let Expected::Known(Ok(known), _) = expected(&change.after, tables, steps) else {
        counts.not_planned += 1;
        return Ok(());
    };
    counts.changes += 1;
    let table = &tables[change.table];
    let mut changed = Vec::with_capacity(sessions.len());
    for (configuration, session) in sessions {
        match judge_change(session, &change, table, &known) {
            Ok(done) => changed.push(done),
            Err(difference) => {
                let name = &configuration.name;
                let (statement, after) = (&change.statement, &change.after);
                return Err(Error::internal(format!(
                    "seed {seed} under \"{name}\": {difference}\n{statement};\n-- leaves {after};"
                )));
            }
        }
    }
    // The sessions go on with the same rows: a statement that failed in one is undone in all.
    let all = changed.iter().all(|done| *done);
    for (_, session) in sessions.iter().zip(&changed).filter(|(_, done)| **done).map(|(s, _)| s) {
        session.query(if all { "COMMIT" } else { "ROLLBACK" })?;
    }
    if all {
        tables[change.table].rows = known;
    }
    Ok(())
}

/// All of one seed. Cases are reduced before `report` gets them.
pub fn run_round(seed: u64, options: &Options, report: &mut dyn FnMut(Case)) -> Result<Counts> {
    let mut random = Random::new(seed);
    let mut tables = random_tables(&mut random, options.portable);
    let mut sessions = Vec::new();
    let others = options.configurations.len().saturating_sub(1);
    for (at, configuration) in options.configurations.iter().enumerate() {
        // In turn, so that every configuration is seen often without loading every table eleven times a seed.
        let turn = at == 0
            || options.thorough
            || (others > 0 && (at - 1 + others - seed as usize % others) % others < 2);
        if turn {
            match session_with(configuration, &tables) {
                Ok(session) => sessions.push((configuration, session)),
                Err(error) => {
                    return Err(Error::internal(format!("seed {seed}, {}: {error}", configuration.name)));
                }
            }
        }
    }
    let mut counts = Counts { rounds: 1, ..Counts::default() };
    for _ in 0..options.queries {
        if random.chance(options.changes) {
            change_rows(seed, &mut random, &mut tables, &sessions, options.steps, &mut counts)?;
            continue;
        }
        let (mut query, inexact) = random_query(&mut random, &tables, options.portable);
        if inexact {
            // Rows that rounding may swap are compared as a multiset.
            query.order.clear();
        }
        let known = match expected(&query.to_string(), &tables, options.steps) {
            Expected::NotPlanned(error) => {
                counts.not_planned += 1;
                let reason = format!("{} {}", error.state().code(), general(error.message()));
                *counts.refusals.entry(reason).or_default() += 1;
                if error.state() == SqlState::Internal {
                    let configuration = options.configurations[0].clone();
                    let difference = format!("the front end fails: {error}");
                    counts.different += 1;
                    report(Case { seed, configuration, tables: tables.clone(), query, difference });
                }
                continue;
            }
            Expected::NotInterpreted(types) => {
                counts.not_interpreted += 1;
                if !holds_nested(&query.to_string()) {
                    continue;
                }
                // What the reference does not know, one configuration tells the others.
                counts.by_each_other += 1;
                let Some((_, first)) = sessions.first() else { continue };
                for (_, session) in &sessions {
                    limit_time(session, TIME_LIMIT_UNKNOWN)?;
                }
                let Some(known) = Known::by_session(first, &query.to_string(), types) else {
                    counts.too_long += 1;
                    continue;
                };
                known
            }
            Expected::Known(outcome, types) => {
                for (_, session) in &sessions {
                    limit_time(session, TIME_LIMIT)?;
                }
                Known::by_reference(outcome, types)
            }
        };
        counts.queries += 1;
        match &known.outcome {
            Ok(rows) => {
                counts.rows += rows.len();
                counts.with_rows += usize::from(!rows.is_empty());
            }
            Err(_) => counts.with_error += 1,
        }
        for (configuration, session) in &sessions {
            counts.runs += 1;
            match judge(session, &query.to_string(), !query.order.is_empty(), &known) {
                Verdict::Unknown => counts.too_long += 1,
                Verdict::Same => counts.same += 1,
                Verdict::Tolerated => counts.tolerated += 1,
                Verdict::Different(difference) => {
                    counts.different += 1;
                    let configuration = (*configuration).clone();
                    let case = Case {
                        seed,
                        configuration,
                        tables: tables.clone(),
                        query: query.clone(),
                        difference,
                    };
                    report(if options.reduce { reduce::reduce(case, options.steps) } else { case });
                    break;
                }
            }
        }
    }
    Ok(counts)
}
