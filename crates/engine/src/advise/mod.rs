//! `CALL advise('table')` and `CALL advise(workload)`: the physical-design advisor.
//!
//! It measures, it does not estimate: blocks of the table are sampled, made anew in other layouts, sorted by other
//! columns and with indices (`design`), and the recorded statements (`workload`) run over them, with the operators
//! that run them every day (`replay`), in turn and in several rounds (`trial`). A design is proposed if it gains by
//! more than the rounds differ (`search`); what it gains, costs in bytes and takes to make is told for the whole
//! table, and the SQL that applies it. Nothing is changed, so that a session that only reads may ask.
//!
//! | column | meaning |
//! | --- | --- |
//! | `table_name`, `design` | what was measured; the first row of a table is its blocks as they are |
//! | `milliseconds` | work of one execution on all its blocks, on average over the recorded ones |
//! | `gain`, `least`, `greatest` | how many times as fast as the blocks are: the median of the rounds, and their spread |
//! | `bytes`, `making_ms` | size, and work to make it, of all blocks |
//! | `advice` | what follows from that; in a table's first row also what was sampled |
//! | `statement` | what applies the design that is proposed |

mod design;
mod replay;
mod search;
mod trial;

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::Table;
use plan::statement::ObjectName;
use types::{Error, Field, Result, Schema, SqlState, Type, Value, cast};
use vector::{Batch, Vector};

use crate::Session;
use crate::mounts::Places;
use crate::result::ResultSet;
use crate::statement::Within;
use crate::workload::Recorded;
use design::{Design, Sample};
use replay::Replays;
use search::{Found, Measured, Search};

/// Rows and bytes of the sampled blocks, at most, if they are several; and how many.
const SAMPLE_ROWS_MAX: u64 = 1 << 21;
const SAMPLE_BYTES_MAX: u64 = 64 << 20;
const SAMPLE_BLOCKS_MAX: usize = 16;
/// Samples are made smaller until the statements run over one in this time.
const PASS_MAX: Duration = Duration::from_millis(150);
const SECONDS_DEFAULT: f64 = 10.0;
/// What asks for all tables of the record.
const WORKLOAD: &str = "workload";

/// The columns of CALL advise: name, type, and whether it may be NULL.
const FIELDS: [(&str, Type, bool); 10] = [
    ("table_name", Type::Text, true),
    ("design", Type::Text, true),
    ("milliseconds", Type::Double, true),
    ("gain", Type::Double, true),
    ("least", Type::Double, true),
    ("greatest", Type::Double, true),
    ("bytes", Type::BigInt, true),
    ("making_ms", Type::Double, true),
    ("advice", Type::Text, false),
    ("statement", Type::Text, true),
];

type Row = [Value; FIELDS.len()];

impl Session {
    /// The procedures of the advisor; `None` for others.
    pub(crate) fn call_advise(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
        statement: Within<'_>,
    ) -> Option<Result<ResultSet>> {
        match procedure {
            "advise" => Some(self.advise(arguments, statement)),
            "forget_workload" if arguments.is_empty() => {
                self.database.shared.workload.forget();
                Some(Ok(ResultSet::done("CALL")))
            }
            _ => None,
        }
    }

    fn advise(
        &self,
        arguments: &[(Option<String>, Value, Type)],
        statement: Within<'_>,
    ) -> Result<ResultSet> {
        let (mut target, mut seconds) = (WORKLOAD.to_owned(), SECONDS_DEFAULT);
        for (at, (name, value, ty)) in arguments.iter().enumerate() {
            match (name.as_deref(), at, value.as_text()) {
                (None, 0, Some(text)) => target = text.to_owned(),
                (Some("seconds"), _, _) => {
                    let given = cast::cast_value(value, *ty, Type::Double)?.as_f64();
                    seconds = given.filter(|s| (0.1..=3600.0).contains(s)).ok_or_else(|| {
                        Error::new(
                            SqlState::InvalidParameterValue,
                            "seconds must be a number from 0.1 to 3600",
                        )
                    })?;
                }
                _ => {
                    let message = "procedure advise takes a table's name, or workload, and seconds";
                    return Err(Error::new(SqlState::UndefinedFunction, message)
                        .with_hint("CALL advise('lineitem'), CALL advise(workload, seconds => 30)"));
                }
            }
        }
        let (record, forgotten) = self.database.shared.workload.all();
        let tables = self.tables_to_advise(&target, &record)?;
        let mut rows = Vec::new();
        if tables.is_empty() {
            rows.push(told("no statement is recorded that reads a table: run those that matter first"));
        }
        let began = Instant::now();
        for (number, table) in tables.iter().enumerate() {
            // What one table leaves of its time goes to the others.
            let left = seconds - began.elapsed().as_secs_f64();
            let share = Duration::from_secs_f64((left / (tables.len() - number) as f64).max(0.1));
            rows.extend(self.advise_table(table, &record, Instant::now() + share, statement)?);
        }
        if forgotten > 0 {
            rows.push(told(&format!(
                "the record is full: {forgotten} statements that ran less often have left it"
            )));
        }
        Ok(result(&rows))
    }

    /// The table of that name, or all that the record has and that are there still, those that cost most first.
    fn tables_to_advise(&self, target: &str, record: &[Recorded]) -> Result<Vec<Arc<Table>>> {
        let snapshot = self.snapshot();
        let path = self.settings().search_path.clone();
        let places = Places { snapshot: &snapshot, path: &path, main: &self.database.shared.name };
        let parts: Vec<String> = target.split('.').map(str::to_owned).collect();
        let asked = match parts.len() {
            0..=3 => places.named(parts)?,
            _ => ObjectName { schema: None, name: target.to_owned() },
        };
        let found = match &asked.schema {
            Some(schema) => Some(schema.clone()),
            None => crate::search_path::find(&places, &asked.name),
        };
        let (schema, name) = (found.as_deref(), asked.name.as_str());
        if target != WORKLOAD || snapshot.find(schema, target).is_some() {
            if snapshot.find(schema, name).is_none() && snapshot.view(schema, name).is_some() {
                let shown = crate::session::shown(&ObjectName {
                    schema: schema.map(str::to_owned),
                    name: name.to_owned(),
                });
                let error = Error::new(SqlState::WrongObjectType, format!("\"{shown}\" is a view"));
                return Err(error.with_hint("ask for the tables that it reads, or CALL advise(workload)"));
            }
            return Ok(vec![snapshot.table(schema, name)?.clone()]);
        }
        let mut tables: Vec<(Duration, Arc<Table>)> = Vec::new();
        for recorded in record {
            for id in &recorded.tables {
                match tables.iter_mut().find(|(_, table)| table.id == *id) {
                    Some((time, _)) => *time += recorded.time,
                    None => tables.extend(snapshot.table_by_id(*id).map(|t| (recorded.time, t.clone()))),
                }
            }
        }
        tables.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        Ok(tables.into_iter().map(|(_, table)| table).collect())
    }

    fn advise_table(
        &self,
        table: &Arc<Table>,
        record: &[Recorded],
        deadline: Instant,
        statement: Within<'_>,
    ) -> Result<Vec<Row>> {
        let keep = |why: &str| {
            let mut row = told(why);
            row[0] = Value::text(&table.name);
            row[1] = Value::text(&Design::of(table).describe(table));
            row[6] = Value::I64(i64::try_from(table.data.bytes()).unwrap_or(i64::MAX));
            Ok(vec![row])
        };
        if table.rows() == 0 {
            return keep("nothing to measure: the table has no rows");
        }
        let replays = Replays::of(self, table, record, statement)?;
        if replays.known == 0 {
            return keep("nothing to measure by: no statement is recorded that reads the table");
        }
        if replays.replays.is_empty() {
            let why = replays.left_out.as_deref().unwrap_or("unknown");
            return keep(&format!(
                "nothing to measure by: the recorded statements cannot be run again: {why}"
            ));
        }
        let (sample, pass) = self.sample(table, &replays)?;
        let search = Search { session: self, table, replays: &replays, sample: &sample, pass, deadline };
        Ok(rows(table, &replays, &sample, &search.run()?))
    }

    /// Blocks that the statements run over in a short time, and that time.
    fn sample(&self, table: &Arc<Table>, replays: &Replays) -> Result<(Sample, Duration)> {
        let blocks = table.data.stored().len().max(1) as u64;
        let rows = (table.data.physical_rows() / blocks).max(1);
        let bytes = (table.data.bytes() / blocks).max(1);
        let wanted = (SAMPLE_ROWS_MAX / rows).min(SAMPLE_BYTES_MAX / bytes);
        let mut wanted = wanted.clamp(1, SAMPLE_BLOCKS_MAX as u64) as usize;
        loop {
            let sample = Sample::of(table, wanted)?;
            let made = sample.as_it_is(table);
            // The first run has the blocks read, if they are not in memory.
            replays.run(self, &made.table)?;
            let began = Instant::now();
            replays.run(self, &made.table)?;
            let pass = began.elapsed();
            if pass <= PASS_MAX || wanted == 1 {
                return Ok((sample, pass));
            }
            wanted /= 2;
        }
    }
}

/// A row that only says something.
fn told(advice: &str) -> Row {
    let mut row = [const { Value::Null }; FIELDS.len()];
    row[8] = Value::text(advice);
    row
}

/// What was found out about a table: its blocks as they are, what is proposed, and what else was tried.
fn rows(table: &Table, replays: &Replays, sample: &Sample, found: &Found) -> Vec<Row> {
    let scale = sample.scale;
    let row = |design: &str, nanoseconds: f64, bytes: u64, advice: &str| {
        let mut row = told(advice);
        row[0] = Value::text(&table.name);
        row[1] = Value::text(design);
        row[2] = number(nanoseconds * scale / 1e6, 3);
        row[6] = Value::I64((bytes as f64 * scale) as i64);
        row
    };
    let measured = |m: &Measured, advice: &str| {
        let mut row = row(&m.design.describe(table), m.nanoseconds, m.bytes, advice);
        row[3] = number(m.gain.median, 2);
        row[4] = number(m.gain.least, 2);
        row[5] = number(m.gain.greatest, 2);
        row[7] = number(m.making.as_secs_f64() * 1e3 * scale, 0);
        row
    };
    let mut basis = format!(
        "as it is; measured on {} of {} blocks, {} of {} rows, with {} of {} recorded statements, {} executions, in \
         {} rounds",
        sample.stored.len(),
        table.data.stored().len(),
        sample.rows,
        table.rows(),
        replays.statements,
        replays.known,
        replays.executions,
        found.rounds,
    );
    if let Some(why) = replays.left_out.as_ref().filter(|_| replays.statements < replays.known) {
        basis.push_str(&format!("; left out: {why}"));
    }
    if found.cut {
        basis.push_str("; time was up before everything was tried: CALL advise(..., seconds => 60)");
    }
    if found.chosen.is_none() {
        basis = format!("keep it: nothing that was tried gains; {basis}");
    }
    let current = Design::of(table);
    let mut rows = vec![row(&current.describe(table), found.nanoseconds, found.bytes, &basis)];
    if let Some(chosen) = &found.chosen {
        let mut advice = "apply".to_owned();
        if let Some((statements, most)) = found.slower {
            advice = format!(
                "apply; slower with it: {statements} of {} statements, {most:.1}x at most",
                replays.statements
            );
        }
        let mut row = measured(chosen, &advice);
        row[9] = Value::text(&chosen.design.statements(&current, table));
        rows.push(row);
    }
    let mut tried: Vec<&Measured> = found.tried.iter().collect();
    tried.sort_by(|a, b| b.gain.median.total_cmp(&a.gain.median));
    rows.extend(tried.into_iter().map(|m| {
        let advice = match m.gain {
            gain if gain.median >= trial::GAIN_MIN && found.chosen.is_some() => "gains too",
            gain if gain.median >= trial::GAIN_MIN => "gains, but not enough or not always",
            gain if gain.median > 1.0 / trial::GAIN_MIN => "as fast",
            _ => "slower",
        };
        measured(m, advice)
    }));
    rows
}

fn number(value: f64, digits: i32) -> Value {
    let power = 10f64.powi(digits);
    Value::F64((value * power).round() / power)
}

fn result(rows: &[Row]) -> ResultSet {
    let fields = FIELDS.map(|(name, ty, nullable)| Field::new(name, ty, nullable)).to_vec();
    let column = |at: usize| {
        let values: Vec<Value> = rows.iter().map(|row| row[at].clone()).collect();
        Vector::from_values(FIELDS[at].1, &values)
    };
    let columns = (0..FIELDS.len()).map(column).collect();
    ResultSet::new(Schema::new(fields), vec![Batch::new(columns, rows.len())])
}
