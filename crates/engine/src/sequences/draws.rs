//! Numbers drawn from a sequence, and how far it is recorded ahead.
//!
//! All sessions draw from one counter; a block of numbers is written to the log before the first of it is given, so that
//! none is given twice after a crash. What a session drew last is its own (`currval`, `lastval`). Called by functions
//! that plans evaluate on any worker.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError};

use access::Privilege;
use catalog::{Sequence, Snapshot};
use plan::statement::ObjectName;
use plan::{External, ExternalFunction};
use types::{Error, Result, SqlState, Type, Value};
use vector::Vector;

use super::{Given, SequenceValues, after, ahead, copy, find, identity, name_parts, place, take, unknown};
use crate::database::{Database, Shared};
use crate::mounts::Places;
use crate::relations::SessionRelations;

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
