//! The extended protocol: prepared statements and portals, by name.
//!
//! All messages up to Sync are a pipeline, which is one transaction unless it says otherwise. A statement that is alone
//! in its pipeline runs without a block: then the engine may run it again when others were faster.
//!
//! Named statements are those of PREPARE, too: what one makes the other finds, and DEALLOCATE forgets both.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Batch, Fetched, PreparedStatement, Schema};
use pgproto::frontend::{Bind, Parse, Target};
use pgproto::{Format, Formats, MessageBuffer, TextEnums, decode, oid};
use types::{Error, Result, SqlState, Type, Value, cast, zone};

use super::wire_copy::WireCopy;
use super::{Conversation, Flow, rows};

/// Prepared statements of a connection, at most.
const STATEMENTS_MAX: usize = 10_000;
/// Portals of a connection, at most.
const PORTALS_MAX: usize = 1_000;
/// Bytes of a description that is kept with its statement.
const DESCRIPTION_BYTES_MAX: usize = 4 << 10;

/// A statement as Parse made it.
pub struct Prepared {
    statement: PreparedStatement,
    /// The parameters' types as the client knows them.
    oids: Vec<u32>,
    /// The last description of its rows, and in which formats: a client that runs it again asks for the same.
    described: Mutex<Option<(Formats, Vec<u8>)>>,
}

impl Prepared {
    fn new(statement: PreparedStatement, oids: Vec<u32>) -> Arc<Prepared> {
        Arc::new(Prepared { statement, oids, described: Mutex::default() })
    }

    /// Appends RowDescription of these columns, which are those that were promised.
    fn describe(&self, columns: &Schema, formats: &Formats, out: &mut MessageBuffer) -> Result<()> {
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, messages)) = &*described
            && of == formats
        {
            out.append(messages);
            return Ok(());
        }
        let mut messages = MessageBuffer::new();
        rows::describe(columns, &formats.of_results(columns.len())?, &mut messages)?;
        out.append(messages.bytes());
        if messages.len() <= DESCRIPTION_BYTES_MAX {
            *described = Some((formats.clone(), messages.take()));
        }
        Ok(())
    }
}

/// A statement with values, as Bind made it.
pub struct Portal {
    portal: engine::Portal,
    /// What it is of, unless it was planned for its own values.
    prepared: Option<Arc<Prepared>>,
    formats: Formats,
}

fn unknown_statement(name: &str) -> Error {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    Error::new(SqlState::UndefinedPreparedStatement, message)
}

fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::UndefinedCursor, format!("portal \"{name}\" does not exist"))
}

fn too_many(what: &str, most: usize) -> Error {
    Error::new(SqlState::ConfigurationLimitExceeded, format!("a connection has at most {most} {what}"))
        .with_hint("close those that are not needed any more")
}

impl Conversation {
    pub(super) fn parse(&mut self, parse: &Parse<'_>) -> Result<()> {
        let name = parse.statement;
        if !name.is_empty() {
            if self.statements.len() >= STATEMENTS_MAX {
                return Err(too_many("prepared statements", STATEMENTS_MAX));
            }
            if self.session.is_prepared(name) {
                let message = format!("prepared statement \"{name}\" already exists");
                return Err(Error::new(SqlState::DuplicatePreparedStatement, message));
            }
        }
        let declared: Vec<Option<Type>> = parse
            .parameter_types
            .iter()
            .map(|declared| match *declared {
                0 | oid::UNKNOWN => Ok(None),
                declared => oid::type_of(declared).map(Some).ok_or_else(|| {
                    let message =
                        format!("there is no type with the OID {declared} that a parameter could have");
                    Error::new(SqlState::UndefinedObject, message)
                }),
            })
            .collect::<Result<_>>()?;
        let statement = self.session.prepare(parse.query, &declared)?;
        let oids = statement.parameters().iter().enumerate().map(|(at, ty)| {
            let declared =
                parse.parameter_types.get(at).copied().filter(|oid| ![0, oid::UNKNOWN].contains(oid));
            declared.unwrap_or_else(|| oid::describe(*ty, &TextEnums).oid)
        });
        let oids = oids.collect();
        let prepared = Prepared::new(statement, oids);
        if !name.is_empty() {
            self.session.keep_prepared(name, &prepared.statement)?;
        }
        self.statements.insert(name.to_owned(), prepared);
        self.output.messages().parse_complete();
        Ok(())
    }

    /// A prepared statement by its name.
    fn prepared(&mut self, name: &str) -> Result<Arc<Prepared>> {
        if !name.is_empty() && !self.session.is_prepared(name) {
            // DEALLOCATE has forgotten it.
            self.statements.remove(name);
        }
        if let Some(prepared) = self.statements.get(name) {
            return Ok(prepared.clone());
        }
        // PREPARE may have made it.
        let Some(statement) = self.session.find_prepared(name) else { return Err(unknown_statement(name)) };
        let statement = statement?;
        let oids = statement.parameters().iter().map(|ty| oid::describe(*ty, &TextEnums).oid).collect();
        let prepared = Prepared::new(statement, oids);
        self.statements.insert(name.to_owned(), prepared.clone());
        Ok(prepared)
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        let prepared = self.prepared(bind.statement)?;
        let name = bind.portal;
        if !name.is_empty() && self.portals.contains_key(name) {
            let message = format!("portal \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateCursor, message));
        }
        if self.portals.len() >= PORTALS_MAX {
            return Err(too_many("portals", PORTALS_MAX));
        }
        let (wanted, given) = (prepared.statement.parameters(), bind.parameters.len());
        if given != wanted.len() {
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{}\" requires {}",
                bind.statement,
                wanted.len()
            );
            return Err(Error::new(SqlState::ProtocolViolation, message));
        }
        let formats = bind.formats()?;
        let read = bind.parameters.iter().zip(&formats).zip(prepared.oids.iter().zip(wanted));
        let given: Vec<(Type, Value)> = zone::within(self.session.time_zone(), || {
            read.map(|((bytes, format), (oid, ty))| {
                decode::exact_parameter(*bytes, *format, *oid, *ty, &TextEnums)
            })
            .collect::<Result<_>>()
        })?;
        let of_its_own = given.iter().zip(wanted).any(|((own, _), ty)| own != ty);
        let exact = if of_its_own { self.prepared_exactly(&prepared.statement, &given) } else { None };
        let statement = exact.as_ref().unwrap_or(&prepared.statement);
        let as_wanted = |((own, value), ty): ((Type, Value), &Type)| match own == *ty {
            true => Ok(value),
            false => cast::cast_value(&value, own, *ty),
        };
        let values = given.into_iter().zip(statement.parameters()).map(as_wanted).collect::<Result<_>>()?;
        if let Some(columns) = prepared.statement.columns() {
            bind.result_formats.of_results(columns.len())?;
        }
        self.open_pipeline();
        let portal = self.session.bind(statement, values)?;
        let kept = exact.is_none().then(|| prepared.clone());
        let formats = bind.result_formats.clone();
        self.portals.insert(name.to_owned(), Portal { portal, prepared: kept, formats });
        self.output.messages().bind_complete();
        Ok(())
    }

    /// The statement, planned for numbers that its parameters' types do not hold exactly, as PostgreSQL's NUMERIC has no
    /// precision: `price = $1` with 1.005 finds no price of two digits. `None` where it cannot be, or where its result
    /// would have other types than were told.
    fn prepared_exactly(
        &self,
        statement: &PreparedStatement,
        given: &[(Type, Value)],
    ) -> Option<PreparedStatement> {
        let types: Vec<Option<Type>> = given.iter().map(|(ty, _)| Some(*ty)).collect();
        let exact = self.session.prepare(statement.text(), &types).ok()?;
        let told = |statement: &PreparedStatement| -> Vec<u32> {
            let fields = statement.columns().map(types::Schema::fields).unwrap_or_default();
            fields.iter().map(|field| oid::describe(field.ty, &TextEnums).oid).collect()
        };
        let fits = exact.parameters().len() == given.len() && told(&exact) == told(statement);
        fits.then_some(exact)
    }

    /// Opens the pipeline's transaction, unless one statement is all that it has.
    fn open_pipeline(&mut self) {
        let alone = !self.pipelined && self.link.inbox.has_one_execute();
        self.pipelined = true;
        if !alone {
            self.session.begin_implicit();
        }
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<()> {
        match target {
            Target::Statement => {
                let prepared = self.prepared(name)?;
                let mut out = self.output.messages();
                out.parameter_description(&prepared.oids)?;
                match prepared.statement.columns() {
                    Some(columns) => rows::describe(columns, &vec![Format::Text; columns.len()], &mut out),
                    None => Ok(out.no_data()),
                }
            }
            Target::Portal => {
                let portal = self.portals.get(name).ok_or_else(|| unknown_portal(name))?;
                let mut out = self.output.messages();
                match (portal.portal.columns(), &portal.prepared) {
                    // Those that it has promised, which do not change.
                    (Some(columns), Some(prepared)) if prepared.statement.columns().is_some() => {
                        prepared.describe(columns, &portal.formats, &mut out)
                    }
                    (Some(columns), _) => {
                        rows::describe(columns, &portal.formats.of_results(columns.len())?, &mut out)
                    }
                    (None, _) => Ok(out.no_data()),
                }
            }
        }
    }

    pub(super) fn execute(&mut self, name: &str, rows_max: u32) -> Result<()> {
        let mut portal = self.portals.remove(name).ok_or_else(|| unknown_portal(name))?;
        if portal.portal.statement().is_empty() {
            self.output.messages().empty_query_response();
            self.portals.insert(name.to_owned(), portal);
            return Ok(());
        }
        let copy = (portal.portal.statement().verb() == "COPY" && !portal.portal.is_done())
            .then(|| WireCopy::of(portal.portal.statement().text()))
            .flatten();
        let outcome = match copy {
            Some(copy) => self.wire_copy(&copy).map(Fetched::Complete),
            None => self.fetch(&mut portal, rows_max),
        };
        let fetched = self.end_copy(outcome)?;
        {
            let mut out = self.output.messages();
            match &fetched {
                Fetched::Suspended => out.portal_suspended(),
                Fetched::Complete(tag) => out.command_complete(tag),
            }
        }
        self.portals.insert(name.to_owned(), portal);
        if let Fetched::Complete(tag) = fetched {
            self.forget_as_told(&tag);
        }
        Ok(())
    }

    fn fetch(&mut self, portal: &mut Portal, rows_max: u32) -> Result<Fetched> {
        let Portal { portal, formats, .. } = portal;
        let rows_max = (rows_max > 0).then_some(u64::from(rows_max));
        portal.run(&self.session, rows_max, |portal| {
            self.warn(portal.warning());
            let sender = |columns: &Schema| {
                rows::Sender::new(columns, &formats.of_results(columns.len())?, portal.time_zone())
            };
            let mut sender = portal.columns().map(sender).transpose()?;
            let output = &self.output;
            Ok(move |batch: Batch| match &mut sender {
                Some(sender) => sender.send(&batch, output),
                None => Ok(()),
            })
        })
    }

    pub(super) fn close(&mut self, target: Target, name: &str) -> Result<()> {
        match target {
            Target::Statement => {
                self.statements.remove(name);
                self.session.forget_prepared(name);
            }
            Target::Portal => _ = self.portals.remove(name),
        }
        self.output.messages().close_complete();
        Ok(())
    }

    /// What a statement has forgotten that is kept here, too.
    pub(super) fn forget_as_told(&mut self, tag: &str) {
        if tag == "DISCARD ALL" {
            self.portals.clear();
            self.statements.retain(|name, _| name.is_empty());
        }
    }

    pub(super) fn sync(&mut self) -> Flow {
        let failed = std::mem::take(&mut self.skipping);
        self.ready(!failed)
    }
}
