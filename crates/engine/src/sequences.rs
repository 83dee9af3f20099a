//! Sequences: CREATE, ALTER and DROP, and the functions nextval, currval, setval and lastval.
//!
//! A sequence's definition is the catalog's and as transactional as everything there; the numbers are given from one
//! counter that all snapshots of it share, and stay given. A batch of rows takes its numbers with one step. Numbers are
//! announced before they are given (`Sequence::reserved`), so that none is given again after a crash.

mod draws;
mod statements;

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, Weak};

use catalog::{Sequence, Snapshot};
use plan::modification::SequenceOptions;
use plan::statement::ObjectName;
use types::quote;
use types::{Error, Result, SqlState};

use crate::session::shown;

/// Numbers announced beyond those that are given.
const AHEAD: i64 = 32;

/// What a session was given, for currval and lastval; shared by its statements.
#[derive(Clone, Default)]
pub(crate) struct SequenceValues(Arc<Mutex<Given>>);

/// The last value of each sequence that the session has used.
#[derive(Default)]
struct Given {
    /// By the address of the sequence's counter. The reference keeps another sequence's counter from being made at an
    /// address that is remembered here.
    values: HashMap<usize, (Weak<AtomicI64>, i64)>,
    /// The sequence that nextval was called for last.
    last: Option<usize>,
}

impl Given {
    fn remember(&mut self, sequence: &Sequence, value: i64) {
        let counter = identity(sequence);
        if !self.values.contains_key(&counter) {
            // What is forgotten here, no snapshot knows any more.
            let last = self.last;
            self.values.retain(|at, (counter, _)| Some(*at) == last || counter.strong_count() > 0);
        }
        self.values.insert(counter, (Arc::downgrade(&sequence.next), value));
    }

    fn value(&self, counter: usize) -> Option<i64> {
        self.values.get(&counter).map(|(_, value)| *value)
    }
}

fn identity(sequence: &Sequence) -> usize {
    Arc::as_ptr(&sequence.next) as usize
}

fn ahead(sequence: &Sequence, next: i64) -> i64 {
    let far = next.saturating_add(sequence.increment.saturating_mul(AHEAD));
    far.clamp(sequence.minimum, sequence.maximum)
}

/// The number behind `number`; outside the sequence's range when there is none.
fn after(sequence: &Sequence, number: i64) -> i64 {
    number.checked_add(sequence.increment).unwrap_or(match sequence.increment > 0 {
        true => sequence.minimum.saturating_sub(1),
        false => sequence.maximum.saturating_add(1),
    })
}

/// The next numbers of a sequence.
fn take(name: &ObjectName, sequence: &Sequence, count: usize) -> Result<Vec<i64>> {
    let mut next = sequence.next.load(Relaxed);
    loop {
        let mut numbers = Vec::with_capacity(count);
        let mut at = next;
        for _ in 0..count {
            if at < sequence.minimum || at > sequence.maximum {
                if !sequence.cycle {
                    return Err(exhausted(name, sequence));
                }
                at = if sequence.increment > 0 { sequence.minimum } else { sequence.maximum };
            }
            numbers.push(at);
            at = after(sequence, at);
        }
        match sequence.next.compare_exchange(next, at, Relaxed, Relaxed) {
            Ok(_) => return Ok(numbers),
            Err(now) => next = now,
        }
    }
}

fn exhausted(name: &ObjectName, sequence: &Sequence) -> Error {
    let (bound, value) = match sequence.increment > 0 {
        true => ("maximum", sequence.maximum),
        false => ("minimum", sequence.minimum),
    };
    let message = format!("nextval: reached {bound} value of sequence \"{}\" ({value})", name.name);
    Error::new(SqlState::SequenceLimitExceeded, message)
}

fn copy(sequence: &Sequence) -> Sequence {
    Sequence { next: sequence.next.clone(), ..*sequence }
}

/// A sequence's name, which shows itself as nextval takes it.
pub(crate) struct SequenceName {
    /// The schema's key; names in the default schema are shown without it.
    pub schema: String,
    /// The name without its schema.
    pub name: String,
}

impl std::fmt::Display for SequenceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = |name: &str| quote::name(name).replace('\'', "''");
        match self.schema.as_str() {
            catalog::DEFAULT_SCHEMA => write!(f, "{}", part(&self.name)),
            schema => write!(f, "{}.{}", part(schema), part(&self.name)),
        }
    }
}

/// The parts of a name in a text, as in `nextval('public."My seq"')`.
pub(crate) fn name_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut letters = text.trim().chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                if let Some(part) = parts.last_mut() {
                    part.push('"');
                }
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => {
                if let Some(part) = parts.last_mut() {
                    if quoted { part.push(c) } else { part.extend(c.to_lowercase()) }
                }
            }
        }
    }
    parts
}

fn find(snapshot: &Snapshot, name: &ObjectName) -> Option<Arc<Sequence>> {
    match &name.schema {
        Some(schema) => snapshot.sequence(Some(schema), &name.name),
        None => snapshot
            .sequence(Some(catalog::TEMPORARY_SCHEMA), &name.name)
            .or_else(|| snapshot.sequence(None, &name.name)),
    }
    .cloned()
}

/// As `place`, of a sequence that is there.
pub(crate) fn place_of_known(snapshot: &Snapshot, name: &ObjectName) -> Option<(String, String)> {
    find(snapshot, name).map(|_| place(snapshot, name))
}

/// The schema that a sequence is in, and its name there.
fn place(snapshot: &Snapshot, name: &ObjectName) -> (String, String) {
    let schema = match &name.schema {
        Some(schema) => schema.clone(),
        None if snapshot.sequence(Some(catalog::TEMPORARY_SCHEMA), &name.name).is_some() => {
            catalog::TEMPORARY_SCHEMA.to_owned()
        }
        None => catalog::DEFAULT_SCHEMA.to_owned(),
    };
    (schema, name.name.clone())
}

fn unknown(name: &ObjectName) -> Error {
    Error::new(SqlState::UndefinedTable, format!("relation \"{}\" does not exist", shown(name)))
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// A sequence with these options, and where they say nothing as `before`, or as sequences are.
fn with_options(options: &SequenceOptions, before: Option<&Sequence>) -> Result<Sequence> {
    let increment = options.increment.or(before.map(|s| s.increment)).unwrap_or(1);
    if increment == 0 {
        return Err(invalid("INCREMENT must not be zero".into()));
    }
    let (low, high) = options.range.unwrap_or((i64::MIN, i64::MAX));
    let (low, high) = if increment > 0 { (1, high) } else { (low, -1) };
    let kept = |said: Option<Option<i64>>, before: Option<i64>, usual: i64| match said {
        Some(Some(bound)) => bound,
        Some(None) => usual,
        None => before.unwrap_or(usual),
    };
    let minimum = kept(options.min, before.map(|s| s.minimum), low);
    let maximum = kept(options.max, before.map(|s| s.maximum), high);
    if minimum >= maximum {
        return Err(invalid(format!("MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})")));
    }
    if let Some((low, high)) = options.range {
        if minimum < low {
            return Err(invalid(format!("MINVALUE ({minimum}) is out of range for sequence data type")));
        }
        if maximum > high {
            return Err(invalid(format!("MAXVALUE ({maximum}) is out of range for sequence data type")));
        }
    }
    let usual = if increment > 0 { minimum } else { maximum };
    let start = options.start.or(before.map(|s| s.start)).unwrap_or(usual);
    if start < minimum {
        return Err(invalid(format!("START value ({start}) cannot be less than MINVALUE ({minimum})")));
    }
    if start > maximum {
        return Err(invalid(format!("START value ({start}) cannot be greater than MAXVALUE ({maximum})")));
    }
    let restart = options.restart.map(|to| to.unwrap_or(start));
    if let Some(to) = restart.filter(|to| !(minimum..=maximum).contains(to)) {
        let (than, bound, value) =
            if to < minimum { ("less", "MINVALUE", minimum) } else { ("greater", "MAXVALUE", maximum) };
        return Err(invalid(format!("RESTART value ({to}) cannot be {than} than {bound} ({value})")));
    }
    let cycle = options.cycle.or(before.map(|s| s.cycle)).unwrap_or(false);
    // Numbers that begin anew have a counter of their own, so that they do so with their transaction.
    let next = match (restart, before) {
        (Some(to), _) => Arc::new(AtomicI64::new(to)),
        (None, Some(before)) => before.next.clone(),
        (None, None) => Arc::new(AtomicI64::new(start)),
    };
    let reserved = match (restart, before) {
        (None, Some(before)) => before.reserved,
        _ => next.load(Relaxed),
    };
    let owner = before.and_then(|s| s.owner);
    Ok(Sequence { start, increment, minimum, maximum, cycle, reserved, next, owner })
}

/// The sequences that a transaction has made, with the numbers announced that it has taken of them.
pub(crate) fn settled(seen: &Snapshot, base: &Snapshot) -> Vec<(String, String, Sequence)> {
    let mut settled = Vec::new();
    for (schema, name, sequence) in all(seen) {
        let known = base.sequence(Some(&schema), &name).is_some_and(|s| identity(s) == identity(&sequence));
        let next = sequence.next.load(Relaxed);
        if !known && next != sequence.reserved {
            let reserved = ahead(&sequence, next);
            settled.push((schema, name, Sequence { reserved, ..copy(&sequence) }));
        }
    }
    settled
}

fn all(snapshot: &Snapshot) -> impl Iterator<Item = (String, String, Arc<Sequence>)> + '_ {
    snapshot.schemas().iter().flat_map(|(schema, held)| {
        held.sequences.iter().map(move |(name, sequence)| (schema.clone(), name.clone(), sequence.clone()))
    })
}

/// Sequences that number a column of one of the tables: schema, name, and what they are.
fn owned(
    snapshot: &Snapshot,
    wanted: impl Fn(catalog::TableId) -> bool,
) -> Vec<(String, String, Arc<Sequence>)> {
    all(snapshot).filter(|(_, _, sequence)| sequence.owner.is_some_and(|(table, _)| wanted(table))).collect()
}

/// An error where columns take their defaults from a sequence that is to go; `verb` is what is done to it.
fn refuse_used(users: &[(Arc<catalog::Table>, Vec<usize>)], name: &str, verb: &str) -> Result<()> {
    let Some((table, columns)) = users.first() else { return Ok(()) };
    let column = columns.first().map_or("", |at| &table.columns.fields()[*at].name);
    let message = format!("cannot {verb} sequence {name} because other objects depend on it");
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(format!("column \"{column}\" of table \"{}\" uses it", table.name))
        .with_hint("use DROP ... CASCADE to drop the column's default too"))
}

/// Tables whose columns draw their defaults from a sequence, and the positions of those columns.
fn users(snapshot: &Snapshot, schema: &str, sequence: &str) -> Vec<(Arc<catalog::Table>, Vec<usize>)> {
    let (home, schema) = snapshot.database_of(schema);
    let home = home.map(|mounted| mounted.number);
    let draws = |text: &str| {
        drawn_from(text).iter().any(|name| {
            let (own_schema, own) = place(snapshot, name);
            own_schema == schema && own == sequence
        })
    };
    let mut users = Vec::new();
    let at_home = |table: &catalog::Table| {
        // Temporary tables are in no file, and draw from the main database.
        snapshot.database_of(&table.schema).0.map(|mounted| mounted.number) == home
    };
    for table in snapshot.tables().filter(|table| at_home(table)) {
        let columns = table.attributes.iter().enumerate();
        let columns = columns.filter(|(_, column)| column.default.as_deref().is_some_and(draws));
        let columns: Vec<usize> = columns.map(|(at, _)| at).collect();
        if !columns.is_empty() {
            users.push((table.clone(), columns));
        }
    }
    users
}

/// The sequences that the text of a default calls nextval on by a quoted name.
fn drawn_from(text: &str) -> Vec<ObjectName> {
    let lower = text.to_ascii_lowercase();
    let calls = lower.match_indices("nextval").filter_map(|(at, call)| {
        let rest = text[at + call.len()..].trim_start().strip_prefix('(')?.trim_start();
        let literal = rest.strip_prefix('\'')?;
        let mut parts = name_parts(&literal[..literal.find('\'')?]);
        let name = parts.pop()?;
        Some(ObjectName { schema: parts.pop(), name })
    });
    calls.collect()
}
