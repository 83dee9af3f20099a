//! Sequences: CREATE, ALTER and DROP, and the functions nextval, currval, setval and lastval.
//!
//! A sequence's definition is the catalog's and as transactional as everything there; the numbers are given from one
//! counter that all snapshots of it share, and stay given. A batch of rows takes its numbers with one step. Numbers are
//! announced before they are given (`Sequence::reserved`), so that none is given again after a crash.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use access::Privilege;
use catalog::{Sequence, Snapshot};
use plan::modification::{AlterSequence, CreateSequence, Identity, SequenceOptions};
use plan::statement::{ObjectName, TableOptions};
use plan::{External, ExternalFunction};
use types::quote;
use types::{Error, Result, SqlState, Type, Value};
use vector::Vector;

use crate::Session;
use crate::database::{Database, Shared};
use crate::mounts::Places;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
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

impl SequenceValues {
    /// Forgets what currval and lastval say.
    pub fn clear(&self) {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        given.values.clear();
        given.last = None;
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function of that name, over the sequences that the statement sees.
    pub fn function(&self, name: &str, relations: &SessionRelations) -> Option<External> {
        let database = relations.database()?.clone();
        let (snapshot, path) = (relations.snapshot().clone(), relations.path());
        let identity = relations.session_settings().identity;
        let source = Source { values: self.clone(), snapshot, database, path, identity };
        type Body = fn(&Source, &[Vector], usize) -> Result<Vec<Value>>;
        let (arguments, body): (Vec<Type>, Body) = match name {
            "nextval" => (vec![Type::Text], Source::nextval),
            "currval" => (vec![Type::Text], Source::currval),
            "lastval" => (vec![], Source::lastval),
            "setval" => (vec![Type::Text, Type::BigInt], Source::setval),
            sql::SETVAL_CALLED => (vec![Type::Text, Type::BigInt, Type::Boolean], Source::setval),
            _ => return None,
        };
        let code = move |inputs: &[Vector], rows: usize| {
            Ok(Vector::from_values(Type::BigInt, &body(&source, inputs, rows)?))
        };
        Some(External::Scalar(Arc::new(ExternalFunction {
            name: name.into(),
            arguments,
            returns: Type::BigInt,
            volatile: true,
            body: Some(expr::keep(Arc::new(code))),
        })))
    }
}

/// Where the functions find sequences.
struct Source {
    values: SequenceValues,
    snapshot: Arc<Snapshot>,
    database: Database,
    /// Where names without a schema are looked for before the default one.
    path: Vec<String>,
    identity: crate::access::Identity,
}

impl Source {
    /// The sequence that an argument names, if the role has one of these privileges on it.
    fn find(&self, name: &Value, privileges: &[Privilege]) -> Result<Option<(ObjectName, Arc<Sequence>)>> {
        let Some(text) = name.as_text() else { return Ok(None) };
        let main = &self.database.shared.name;
        let places = Places { snapshot: &self.snapshot, path: &self.path, main };
        let mut name = places.named(name_parts(text))?;
        if name.schema.is_none() {
            name.schema = crate::search_path::find(&places, &name.name);
        }
        let sequence = find(&self.snapshot, &name).ok_or_else(|| unknown(&name))?;
        self.check(&name, &sequence, privileges)?;
        Ok(Some((name, sequence)))
    }

    /// One of the privileges is enough, and for the numbers of a table's own column that of adding rows.
    fn check(&self, name: &ObjectName, sequence: &Sequence, privileges: &[Privilege]) -> Result<()> {
        let (state, role) = (self.snapshot.access(), self.identity.current);
        let Some(key) = self.snapshot.relation_key(name.schema.as_deref(), &name.name) else { return Ok(()) };
        let own = state.privileges(role, &key);
        let of_table = sequence.owner.is_some_and(|(table, _)| {
            let key = access::ObjectKey::Table(table.0);
            privileges.contains(&Privilege::Usage) && state.check_columns(role, &key, Privilege::Insert, [])
        });
        match privileges.iter().any(|privilege| own.has(*privilege)) || of_table {
            true => Ok(()),
            false => Err(access::denied(format!("permission denied for sequence {}", name.name))),
        }
    }

    fn nextval(&self, inputs: &[Vector], rows: usize) -> Result<Vec<Value>> {
        let mut out = Vec::with_capacity(rows);
        let mut row = 0;
        while row < rows {
            let name = inputs[0].value(row);
            let mut end = row + 1;
            while end < rows && inputs[0].value(end) == name {
                end += 1;
            }
            match self.find(&name, &[Privilege::Usage, Privilege::Update])? {
                None => out.extend((row..end).map(|_| Value::Null)),
                Some((name, sequence)) => {
                    let numbers = take(&name, &sequence, end - row)?;
                    self.announce(&name, &sequence)?;
                    if let Some(last) = numbers.last() {
                        let mut given = self.values.lock();
                        given.remember(&sequence, *last);
                        given.last = Some(identity(&sequence));
                    }
                    out.extend(numbers.into_iter().map(Value::I64));
                }
            }
            row = end;
        }
        Ok(out)
    }

    fn currval(&self, inputs: &[Vector], rows: usize) -> Result<Vec<Value>> {
        let value = |row: usize| {
            let Some((name, sequence)) =
                self.find(&inputs[0].value(row), &[Privilege::Usage, Privilege::Select])?
            else {
                return Ok(Value::Null);
            };
            let known = self.values.lock().value(identity(&sequence));
            known.map(Value::I64).ok_or_else(|| {
                let message =
                    format!("currval of sequence \"{}\" is not yet defined in this session", name.name);
                Error::new(SqlState::NotInPrerequisiteState, message)
            })
        };
        (0..rows).map(value).collect()
    }

    fn lastval(&self, _inputs: &[Vector], rows: usize) -> Result<Vec<Value>> {
        let given = self.values.lock();
        let last = given.last.and_then(|last| given.value(last)).ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            Error::new(SqlState::NotInPrerequisiteState, message)
        })?;
        Ok(vec![Value::I64(last); rows])
    }

    fn setval(&self, inputs: &[Vector], rows: usize) -> Result<Vec<Value>> {
        let mut out = Vec::with_capacity(rows);
        for row in 0..rows {
            let to = inputs[1].value(row).as_i64();
            let called = inputs.get(2).map_or(Some(true), |called| called.value(row).as_bool());
            let (Some((name, sequence)), Some(to), Some(called)) =
                (self.find(&inputs[0].value(row), &[Privilege::Update])?, to, called)
            else {
                out.push(Value::Null);
                continue;
            };
            if to < sequence.minimum || to > sequence.maximum {
                let message = format!(
                    "setval: value {to} is out of bounds for sequence \"{}\" ({}..{})",
                    name.name, sequence.minimum, sequence.maximum
                );
                return Err(Error::new(SqlState::NumericValueOutOfRange, message));
            }
            let next = if called { after(&sequence, to) } else { to };
            sequence.next.store(next, Relaxed);
            self.announce_from(&name, &sequence, next)?;
            if called {
                self.values.lock().remember(&sequence, to);
            }
            out.push(Value::I64(to));
        }
        Ok(out)
    }

    /// Makes sure that the numbers just given lie before those announced.
    fn announce(&self, name: &ObjectName, sequence: &Sequence) -> Result<()> {
        let next = sequence.next.load(Relaxed);
        let newest = self.database.shared.snapshot();
        let reserved = find(&newest, name).map(|s| s.reserved);
        let passed = reserved.is_some_and(|reserved| match sequence.increment > 0 {
            true => next > reserved,
            false => next < reserved,
        });
        // Where numbers began anew, because the sequence cycles, they are announced anew.
        if passed { self.announce_from(name, sequence, ahead(sequence, next)) } else { Ok(()) }
    }

    fn announce_from(&self, name: &ObjectName, sequence: &Sequence, reserved: i64) -> Result<()> {
        announce(&self.database.shared, name, sequence, reserved)
    }
}

/// Commits the number from which on the sequence is free, unless the sequence itself is not committed yet.
fn announce(shared: &Shared, name: &ObjectName, sequence: &Sequence, reserved: i64) -> Result<()> {
    shared.commit(|draft| {
        let Some(known) = find(draft.snapshot(), name) else { return Ok(()) };
        if identity(&known) != identity(sequence) || known.reserved == reserved {
            return Ok(());
        }
        let (schema, own) = place(draft.snapshot(), name);
        draft.set_sequence(Some(&schema), &own, Some(Sequence { reserved, ..copy(&known) }))
    })
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

impl Session {
    /// CREATE SEQUENCE; with an owner, it goes when that column goes.
    pub(crate) fn create_sequence(&self, create: &CreateSequence) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE SEQUENCE");
        let CreateSequence { name, options, owner, temporary, if_not_exists } = create;
        crate::definitions::refuse_system(name.schema.as_deref())?;
        let mut sequence = with_options(options, None)?;
        let schema = self.schema_for(name, *temporary)?;
        let snapshot = self.snapshot();
        if self.name_is_taken(&snapshot, &schema, &name.name) {
            if *if_not_exists {
                return Ok(done);
            }
            return Err(crate::define::already_exists(&name.name));
        }
        if let Some(owner) = owner {
            sequence.owner = self.owner_named(&snapshot, owner, &schema)?;
        }
        self.commit(|draft| draft.set_sequence(Some(&schema), &name.name, Some(sequence)))?;
        Ok(done)
    }

    /// What OWNED BY names, for a sequence of that schema: a column, or else a table.
    fn owner_named(
        &self,
        snapshot: &Snapshot,
        names: &[String],
        schema: &str,
    ) -> Result<Option<(catalog::TableId, usize)>> {
        let path = self.settings().search_path.clone();
        let places = crate::mounts::Places { snapshot, path: &path, main: &self.database.shared.name };
        let table = |names: &[String]| {
            let (name, schema) = names.split_last()?;
            let schema = match schema {
                [] => crate::search_path::find(&places, name),
                [schema] if snapshot.schema(schema).is_ok() => Some(schema.clone()),
                [database] => Some(format!("{database}.{}", catalog::DEFAULT_SCHEMA)),
                [database, schema] => Some(format!("{database}.{schema}")),
                _ => return None,
            };
            snapshot.find(schema.as_deref(), name)
        };
        let Some((column, before)) = names.split_last() else { return Ok(None) };
        let (table, place) = match table(before) {
            Some(table) => match table.columns.position(column) {
                Some(place) => (table, place),
                None => {
                    let message =
                        format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    return Err(Error::new(SqlState::UndefinedColumn, message));
                }
            },
            None => match table(names) {
                Some(table) => (table, catalog::WHOLE_TABLE),
                None => {
                    let shown = if before.is_empty() { names } else { before }.join(".");
                    let message = format!("relation \"{shown}\" does not exist");
                    return Err(Error::new(SqlState::UndefinedTable, message)
                        .with_hint("OWNED BY takes table.column, a table, or NONE"));
                }
            },
        };
        let database = |schema: &str| snapshot.database_of(schema).0.map(|mounted| mounted.number);
        if database(&table.schema) != database(schema) {
            let message = "a sequence and the table that owns it are in one database";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        if table.is_temporary() != (schema == catalog::TEMPORARY_SCHEMA) {
            let message = "a sequence and the table that owns it are both temporary, or neither is";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        Ok(Some((table.id, place)))
    }

    fn schema_for(&self, name: &ObjectName, temporary: bool) -> Result<String> {
        let schema = match (&name.schema, temporary) {
            (Some(schema), _) => schema.as_str(),
            (None, true) => catalog::TEMPORARY_SCHEMA,
            (None, false) => catalog::DEFAULT_SCHEMA,
        };
        self.snapshot().schema(schema)?;
        Ok(Snapshot::canonical_schema(schema).to_owned())
    }

    /// Whether a table, view or sequence of the schema has this name.
    pub(crate) fn name_is_taken(&self, snapshot: &Snapshot, schema: &str, name: &str) -> bool {
        snapshot.schema(schema).is_ok_and(|held| {
            held.tables.contains_key(name)
                || held.views.contains_key(name)
                || held.sequences.contains_key(name)
        })
    }

    /// ALTER SEQUENCE: options, name or owner.
    pub(crate) fn alter_sequence(&self, alter: &AlterSequence) -> Result<ResultSet> {
        let done = ResultSet::done("ALTER SEQUENCE");
        let snapshot = self.snapshot();
        let Some(before) = find(&snapshot, &alter.name) else {
            if alter.if_exists {
                return Ok(done);
            }
            return Err(unknown(&alter.name));
        };
        let (schema, name) = place(&snapshot, &alter.name);
        if let Some(to) = &alter.rename {
            if self.name_is_taken(&snapshot, &schema, to) {
                return Err(crate::define::already_exists(to));
            }
            self.commit(|draft| {
                draft.set_sequence(Some(&schema), &name, None)?;
                draft.set_sequence(Some(&schema), to, Some(copy(&before)))
            })?;
            return Ok(done);
        }
        let mut sequence = with_options(&alter.options, Some(&before))?;
        if let Some(owner) = &alter.owner {
            sequence.owner = self.owner_named(&snapshot, owner, &schema)?;
        }
        self.commit(|draft| draft.set_sequence(Some(&schema), &name, Some(sequence)))?;
        Ok(done)
    }

    /// DROP SEQUENCE; an error where a default uses one, unless `cascade` is set.
    pub(crate) fn drop_sequences(
        &self,
        names: &[ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<ResultSet> {
        for name in names {
            let snapshot = self.snapshot();
            snapshot.refuse_other_kind(name.schema.as_deref(), &name.name, "sequence")?;
            let Some(_) = find(&snapshot, name) else {
                if if_exists {
                    continue;
                }
                let message = format!("sequence \"{}\" does not exist", shown(name));
                return Err(Error::new(SqlState::UndefinedTable, message));
            };
            let (schema, own) = place(&snapshot, name);
            let users = users(&snapshot, &schema, &own);
            if let (Some((table, columns)), false) = (users.first(), cascade) {
                let column = columns.first().map_or("", |at| &table.columns.fields()[*at].name);
                let message =
                    format!("cannot drop sequence {} because other objects depend on it", name.name);
                return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                    .with_detail(format!("column \"{column}\" of table \"{}\" uses it", table.name))
                    .with_hint("use DROP ... CASCADE to drop the column's default too"));
            }
            self.commit(|draft| {
                for (table, columns) in &users {
                    let mut altered = catalog::AlteredTable::new(table);
                    columns.iter().for_each(|column| altered.attributes_mut(*column).default = None);
                    draft.replace_altered(altered)?;
                }
                draft.set_sequence(Some(&schema), &own, None)
            })?;
        }
        Ok(ResultSet::done("DROP SEQUENCE"))
    }

    /// The sequences of a new table's columns: the column's place, the sequence's name and what it is.
    pub(crate) fn column_sequences<'o>(
        &self,
        new: &catalog::NewTable,
        options: &'o TableOptions,
    ) -> Result<Vec<(usize, SequenceName, &'o Identity, Sequence)>> {
        let name = ObjectName { schema: new.schema.clone(), name: new.name.clone() };
        let schema = self.schema_for(&name, new.temporary)?;
        let snapshot = self.snapshot();
        let mut made: Vec<(usize, SequenceName, &Identity, Sequence)> = Vec::new();
        for identity in &options.identities {
            let at = new.columns.position(&identity.column);
            let at = at.ok_or_else(|| Error::internal("a sequence of no column"))?;
            let first = format!("{}_{}_seq", new.name, identity.column);
            let mut candidates =
                std::iter::once(first.clone()).chain((1..).map(|number| format!("{first}{number}")));
            let free = |name: &String| {
                !self.name_is_taken(&snapshot, &schema, name)
                    && !made.iter().any(|(_, other, ..)| other.name == *name)
            };
            let name = candidates.find(free).unwrap_or(first);
            let sequence = with_options(&identity.options, None)?;
            // As the table's own database names it.
            let schema = snapshot.database_of(&schema).1.to_owned();
            made.push((at, SequenceName { schema, name }, identity, sequence));
        }
        Ok(made)
    }

    /// TRUNCATE ... RESTART IDENTITY: the sequences that number columns of these tables begin anew.
    pub(crate) fn restart_owned(&self, tables: &BTreeSet<catalog::TableId>) -> Result<()> {
        let again = SequenceOptions { restart: Some(None), ..SequenceOptions::default() };
        let snapshot = self.snapshot();
        for (schema, name, sequence) in owned(&snapshot, |table| tables.contains(&table)) {
            let anew = with_options(&again, Some(&sequence))?;
            self.commit(|draft| draft.set_sequence(Some(&schema), &name, Some(anew)))?;
        }
        Ok(())
    }

    /// Sequences of tables that are no longer there go with them.
    pub(crate) fn drop_orphaned_sequences(&self) -> Result<()> {
        let snapshot = self.snapshot();
        let orphans = owned(&snapshot, |table| snapshot.table_by_id(table).is_none());
        if orphans.is_empty() {
            return Ok(());
        }
        self.commit(|draft| {
            orphans.iter().try_for_each(|(schema, name, _)| draft.set_sequence(Some(schema), name, None))
        })
    }
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
