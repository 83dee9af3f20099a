//! Prepared statements and portals as a program holds them: described without values, bound to values, fetched in parts.
//!
//! ```text
//!  Session::prepare(text, types) -> PreparedStatement --bind(values)--> Portal --fetch(n)--> rows, Suspended
//!                                                                         |    --fetch(n)--> rows, Complete("SELECT 7")
//!                                                                        drop: ends its query
//! ```
//! A portal of a query sees the state that was there when it was bound, however late its first row is asked for; any other
//! statement runs when the portal is first fetched from. Rows come from a result stream, so that what is computed ahead of
//! the reader is bounded; a query that cannot have more than a few rows runs to its end on the fetching thread, which is
//! cheaper. Several portals of a session may be open at once.
//!
//! A portal that was bound in a transaction block ends with it, unless it is held ([`Portal::hold`]): its snapshot then
//! stays pinned. One that was bound outside of a block is a transaction of its own, and lasts until it is dropped.
//!
//! A statement's description holds for as long as it is prepared. Where definitions or settings have changed since, it is
//! described again when it is bound, and binding fails if its columns are others than it has promised.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use catalog::Snapshot;
use plan::Statement;
use plan::cursor::CursorCommand;
use sql::StatementText;
use types::{Error, Physical, Result, Schema, SqlState, Type, Value, Zone, zone};
use vector::Batch;

use crate::Session;
use crate::calls::caught;
use crate::open_plans::is_text;
use crate::plan_cache::Given;
use crate::relations::SessionRelations;
use crate::run::Form;
use crate::session::{Description, columns_of};
use crate::settings::{Settings, same_settings};
use crate::stream::{Opening, ResultStream};

/// A statement that was read and described before its parameters have values. Cheap to copy.
#[derive(Clone)]
pub struct PreparedStatement(Arc<Inner>);

struct Inner {
    /// With numbers for its parameters.
    text: String,
    /// `None`: the text holds no statement.
    statement: Option<StatementText>,
    names: Vec<String>,
    verb: &'static str,
    /// It changes nothing, so that it may see an older state than its transaction does.
    is_query: bool,
    /// As clients see it.
    description: Description,
    /// The parameters' types as the statement is planned with them.
    planned: Vec<Option<Type>>,
    /// What the description was last found to be true under.
    under: Mutex<Under>,
}

/// What a description depends on in addition to the text.
struct Under {
    definitions: Snapshot,
    alike: Weak<Snapshot>,
    settings: Arc<Settings>,
}

/// A statement with values for its parameters, and how far its rows were read.
pub struct Portal {
    statement: PreparedStatement,
    values: Vec<(Value, Type)>,
    /// The transaction block that it ends with.
    block: Option<u64>,
    /// What its query sees.
    snapshot: Option<Arc<Snapshot>>,
    state: State,
    zone: Zone,
}

enum State {
    /// Nothing has run yet.
    Bound,
    /// Rows come from the stream, first those that it has given and were too many.
    Open { stream: ResultStream, rest: Option<Batch> },
    /// All rows were read; the command tag.
    Done(String),
    /// An error has ended it.
    Failed,
}

/// How a fetch has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// As many rows were read as were asked for; there may be more.
    Suspended,
    /// There are no more rows. PostgreSQL's command tag, of a query with the rows of this fetch.
    Complete(String),
}

impl PreparedStatement {
    /// The statement's text, with numbers in place of parameters' names.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Types of the parameters by number: those that the client has declared, the others as their places ask for them.
    pub fn parameters(&self) -> &[Type] {
        &self.0.description.parameters
    }

    /// Names of the parameters in the order of their numbers; none where they go by number.
    pub fn parameter_names(&self) -> &[String] {
        &self.0.names
    }

    /// The columns of its result; `None` where it gives none, or where that is known only once it has run ([`Portal::columns`]),
    /// as of CALL and of files whose path is a parameter.
    pub fn columns(&self) -> Option<&Schema> {
        self.0.description.columns.as_ref()
    }

    /// The first word of the statement, as command tags have it: `SELECT` for every query. Empty for an empty text.
    pub fn verb(&self) -> &'static str {
        self.0.verb
    }

    /// Whether the text holds no statement: it can be bound and fetched, and does nothing.
    pub fn is_empty(&self) -> bool {
        self.0.statement.is_none()
    }

    /// Whether it may end a transaction block, so that it runs in one that has failed.
    pub fn ends_transaction(&self) -> bool {
        let statement = self.0.statement.as_ref();
        statement.is_some_and(|statement| statement.ends_transaction(&self.0.text))
    }
}

impl Session {
    /// Reads and describes a text of one statement, or of none. `declared` has the types of parameters as far as the client
    /// says them, which win; the rest is inferred. `$name` and `:name` become numbers in the order of the text.
    ///
    /// ```
    /// use engine::{Database, Fetched, Options, Value};
    ///
    /// let session = Database::in_memory(Options::default())?.session();
    /// let statement = session.prepare("SELECT i FROM generate_series(1, 10) AS t(i) WHERE i > $1", &[])?;
    /// let mut portal = session.bind(&statement, vec![Value::I64(3)])?;
    /// let mut rows = 0;
    /// let mut count = |batch: engine::Batch| Ok(rows += batch.rows);
    /// assert_eq!(portal.fetch(&session, Some(5), &mut count)?, Fetched::Suspended);
    /// assert_eq!(portal.fetch(&session, None, &mut count)?, Fetched::Complete("SELECT 2".to_owned()));
    /// assert_eq!(rows, 7);
    /// # Ok::<(), engine::Error>(())
    /// ```
    pub fn prepare(&self, text: &str, declared: &[Option<Type>]) -> Result<PreparedStatement> {
        let outcome = self.called(|| {
            let statements = self.statements(text)?;
            let statement = match statements.as_slice() {
                [] => return Ok(self.nothing_prepared()),
                [statement] => statement,
                _ => return Err(several_prepared()),
            };
            if self.transaction_failed() && !statement.ends_transaction(text) {
                return Err(crate::transaction::failed());
            }
            let markers = sql::markers::markers(text);
            let names = sql::markers::names(&markers);
            if names.is_empty() {
                return self.prepare_numbered(text, vec![], declared);
            }
            let owned = names.iter().map(|name| (*name).to_owned()).collect();
            let numbered = sql::markers::numbered(text, &names)?;
            // A `:` before a word may be no marker.
            self.prepare_numbered(&numbered, owned, declared)
                .or_else(|error| self.prepare_numbered(text, vec![], declared).map_err(|_| error))
        });
        if let Err(error) = &outcome {
            self.tell_refusal(crate::statement::shortened(&sql::secrets::masked(text)), error);
        }
        outcome
    }

    fn nothing_prepared(&self) -> PreparedStatement {
        PreparedStatement(Arc::new(Inner {
            text: String::new(),
            statement: None,
            names: vec![],
            verb: "",
            is_query: false,
            description: Description { parameters: vec![], columns: None },
            planned: vec![],
            under: Mutex::new(Under::of(&self.relations_of(None))),
        }))
    }

    fn prepare_numbered(
        &self,
        text: &str,
        names: Vec<String>,
        declared: &[Option<Type>],
    ) -> Result<PreparedStatement> {
        let [statement] =
            <[StatementText; 1]>::try_from(sql::split(text)?).map_err(|_| several_prepared())?;
        let (verb, planned_early) = sql::verb(text, &statement)?;
        // A declared text takes the type that its place asks for, as a quoted literal does.
        let told: Vec<Option<Type>> = declared.iter().map(|ty| ty.filter(|ty| !is_text(*ty))).collect();
        let (open, under) = match verb {
            // Planning one from standard input reads what nobody has been asked for yet.
            "COPY" => (
                Err(Error::unsupported("COPY is described when it runs")),
                Under::of(&self.relations_of(None)),
            ),
            _ => self.described_now(text, &statement, &told)?,
        };
        let is_query = open.as_ref().is_ok_and(|open| matches!(open.statement, Statement::Query(_)));
        let (types, columns) = match open {
            Ok(open) => (open.types, self.promised_columns(&open.statement)),
            // Names of other statements are looked up when these run, when they may mean something. What is planned by
            // a value tells its columns once it has one; its parameters are read as quoted literals are.
            Err(error) if planned_early && !sql::is_value_needed(&error) => return Err(error),
            Err(_) => {
                let wanted = sql::markers::parameters_wanted(&sql::markers::markers(text));
                (vec![Type::Text; wanted.max(declared.len())], None)
            }
        };
        let seen = |(at, ty): (usize, &Type)| declared.get(at).copied().flatten().unwrap_or(*ty);
        Ok(PreparedStatement(Arc::new(Inner {
            text: text.to_owned(),
            statement: Some(statement),
            names,
            verb,
            is_query,
            description: Description { parameters: types.iter().enumerate().map(seen).collect(), columns },
            planned: types.into_iter().map(Some).collect(),
            under: Mutex::new(under),
        })))
    }

    /// A statement bound without values, or what is at fault with it; and what that depends on.
    fn described_now(
        &self,
        text: &str,
        statement: &StatementText,
        types: &[Option<Type>],
    ) -> Result<(Result<sql::OpenStatement>, Under)> {
        let zone = self.settings().time_zone;
        caught(text, || {
            zone::within(zone, || {
                let _reading = self.standard.begin_description();
                let relations = self.relations_of(None);
                let open = sql::plan_open(text, statement, &relations, types);
                Ok((open, Under::of(&relations)))
            })
        })
    }

    /// The columns that a statement says it will give.
    fn promised_columns(&self, statement: &Statement) -> Option<Schema> {
        let text = |name: &str| Schema::new(vec![types::Field::new(name, Type::Text, false)]);
        match statement {
            Statement::Explain { .. } => Some(text("QUERY PLAN")),
            Statement::Show { name } => Some(text(crate::settings::own_name(name))),
            Statement::Execute { name, .. } => self.prepared_columns(name),
            Statement::Cursor(CursorCommand::Fetch { name, moves: false, .. }) => self.cursor_columns(name),
            other => columns_of(other),
        }
    }

    /// Opens a portal: the statement with a value for each of its parameters, of the types that it was described with.
    pub fn bind(&self, statement: &PreparedStatement, values: Vec<Value>) -> Result<Portal> {
        let types = statement.parameters();
        if values.len() != types.len() {
            let message = format!(
                "{} values are given for a prepared statement that takes {}",
                values.len(),
                types.len()
            );
            return Err(Error::new(SqlState::ProtocolViolation, message));
        }
        if self.transaction_failed() && !statement.ends_transaction() {
            return Err(crate::transaction::failed());
        }
        self.called(|| {
            self.check_promise(statement)?;
            let formed = |(at, (value, ty)): (usize, (Value, &Type))| Ok((in_form(value, *ty, at + 1)?, *ty));
            let values = values.into_iter().zip(types).enumerate().map(formed).collect::<Result<_>>()?;
            let block = self.block_number();
            let snapshot = statement.0.is_query.then(|| self.snapshot());
            let zone = self.settings().time_zone;
            let state = State::Bound;
            Ok(Portal { statement: statement.clone(), values, block, snapshot, state, zone })
        })
    }

    /// Fails where a statement's columns would be others now than it was described with.
    fn check_promise(&self, prepared: &PreparedStatement) -> Result<()> {
        let Inner { text, statement: Some(statement), description, planned, under, .. } = &*prepared.0 else {
            return Ok(());
        };
        let Some(promised) = &description.columns else { return Ok(()) };
        let (snapshot, settings) = (self.snapshot(), self.settings_now());
        {
            let mut under = under.lock().unwrap_or_else(PoisonError::into_inner);
            if under.holds(&snapshot, &settings) {
                return Ok(());
            }
        }
        let (open, now) = self.described_now(text, statement, planned)?;
        let columns = self.promised_columns(&open?.statement);
        if !columns.is_some_and(|columns| same_columns(&columns, promised)) {
            return Err(other_columns());
        }
        *under.lock().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(())
    }
}

impl Under {
    fn of(relations: &SessionRelations) -> Under {
        let snapshot = relations.snapshot();
        Under {
            definitions: snapshot.definitions(),
            alike: Arc::downgrade(snapshot),
            settings: relations.session_settings().clone(),
        }
    }

    /// Whether names mean the same, under the same settings.
    fn holds(&mut self, snapshot: &Arc<Snapshot>, settings: &Arc<Settings>) -> bool {
        if !same_settings(&mut self.settings, settings) {
            return false;
        }
        if self.alike.as_ptr() == Arc::as_ptr(snapshot) {
            return true;
        }
        let alike = self.definitions.same_definitions(snapshot);
        if alike {
            self.alike = Arc::downgrade(snapshot);
        }
        alike
    }
}

impl Portal {
    /// The statement that it is of.
    pub fn statement(&self) -> &PreparedStatement {
        &self.statement
    }

    /// The columns of its rows; `None` where it gives none, or is a statement that says only while it runs.
    pub fn columns(&self) -> Option<&Schema> {
        match &self.state {
            State::Open { stream, .. } if stream.has_rows() => Some(stream.schema()),
            _ => self.statement.columns(),
        }
    }

    /// The session's time zone when it was bound: TIMESTAMPTZ is shown in it.
    pub fn time_zone(&self) -> Zone {
        self.zone
    }

    /// Keeps it beyond the end of its transaction block: the rows are those of the state that it sees, which stays in
    /// memory as long as the portal does.
    pub fn hold(&mut self) {
        self.block = None;
    }

    /// What the statement did not do as it was told, once it has run.
    pub fn warning(&self) -> Option<&'static str> {
        match &self.state {
            State::Open { stream, .. } => stream.warning(),
            _ => None,
        }
    }

    /// Whether all of its rows were read.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// Runs the statement up to its first row, as the first fetch does.
    pub fn open(&mut self, session: &Session) -> Result<()> {
        self.check(session)?;
        if !matches!(self.state, State::Bound) {
            return Ok(());
        }
        let Inner { text, statement, planned, .. } = &*self.statement.0;
        let Some(statement) = statement else {
            self.state = State::Done(String::new());
            return Ok(());
        };
        // What it leaves stays, should it unwind.
        self.state = State::Failed;
        let opening = Opening {
            text,
            statement,
            alone: true,
            given: Given::prepared(&self.values, planned),
            snapshot: self.snapshot.as_ref(),
        };
        let stream = session.called(|| {
            let reading = session.standard.begin();
            let outcome = session.open_rows(&opening, |query, relations, recorded| {
                session.running_rows(query, relations, Form::Values, recorded)
            });
            reading.ended(outcome)
        })?;
        if let Some(promised) = self.statement.columns().filter(|_| stream.has_rows()) {
            // Files, cursors and prepared statements may be others without a definition having changed.
            if !same_columns(stream.schema(), promised) {
                session.fail_transaction();
                return Err(other_columns());
            }
        }
        stream.outlive_statement();
        self.state = State::Open { stream, rest: None };
        Ok(())
    }

    /// The next rows, at most so many; `None` after the last. An error ends the portal, and the transaction block.
    pub fn next_batch(&mut self, session: &Session, rows_max: u64) -> Result<Option<Batch>> {
        self.open(session)?;
        match &self.state {
            // Rows that are there already need no call.
            State::Open { rest: Some(_), .. } => self.next_called(session, rows_max),
            State::Open { .. } => session.called(|| self.next_called(session, rows_max)),
            _ => Ok(None),
        }
    }

    /// `next_batch` of a portal that was opened, inside of a call.
    fn next_called(&mut self, session: &Session, rows_max: u64) -> Result<Option<Batch>> {
        let State::Open { stream, rest } = &mut self.state else { return Ok(None) };
        let next = match rest.take() {
            Some(batch) => Ok(Some(batch)),
            None => loop {
                match stream.next_batch() {
                    Ok(Some(batch)) if batch.rows == 0 => {}
                    other => break other,
                }
            },
        };
        match next {
            Ok(Some(batch)) => {
                let wanted = usize::try_from(rows_max).unwrap_or(usize::MAX).min(batch.rows);
                if wanted < batch.rows {
                    *rest = Some(batch.slice(wanted, batch.rows - wanted));
                    return Ok(Some(batch.slice(0, wanted)));
                }
                Ok(Some(batch))
            }
            Ok(None) => {
                self.state = State::Done(stream.tag().to_owned());
                Ok(None)
            }
            Err(error) => {
                self.state = State::Failed;
                session.fail_transaction();
                Err(error)
            }
        }
    }

    /// Hands on the next rows, at most `rows_max`, or all that are left. An error of `each` leaves the portal where it is,
    /// behind the rows that were handed on.
    pub fn fetch(
        &mut self,
        session: &Session,
        rows_max: Option<u64>,
        mut each: impl FnMut(Batch) -> Result<()>,
    ) -> Result<Fetched> {
        if self.is_done() {
            self.check(session)?;
            return self.fetched_again();
        }
        session.called(|| {
            self.open(session)?;
            self.fetch_called(session, rows_max, &mut each)
        })
    }

    /// As `open` and `fetch`, as one call: `begin` is told of the portal when it has been opened, and gives what the rows
    /// are handed to. The statement's deadline holds for both.
    pub fn run<F: FnMut(Batch) -> Result<()>>(
        &mut self,
        session: &Session,
        rows_max: Option<u64>,
        begin: impl FnOnce(&Portal) -> Result<F>,
    ) -> Result<Fetched> {
        session.called(|| {
            self.open(session)?;
            let mut each = begin(self)?;
            if self.is_done() {
                self.check(session)?;
                return self.fetched_again();
            }
            self.fetch_called(session, rows_max, &mut each)
        })
    }

    /// `fetch`, under one deadline.
    fn fetch_called(
        &mut self,
        session: &Session,
        rows_max: Option<u64>,
        each: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<Fetched> {
        let mut left = rows_max.unwrap_or(u64::MAX);
        while left > 0 {
            match self.next_called(session, left)? {
                Some(batch) => {
                    left -= batch.rows as u64;
                    each(batch)?;
                }
                None => return Ok(Fetched::Complete(self.tag(rows_max.unwrap_or(u64::MAX) - left))),
            }
        }
        Ok(Fetched::Suspended)
    }

    /// The command tag, after so many rows of the last fetch.
    fn tag(&self, rows: u64) -> String {
        match &self.state {
            State::Done(tag) if tag.split(' ').next() == Some("SELECT") => format!("SELECT {rows}"),
            State::Done(tag) => tag.clone(),
            _ => String::new(),
        }
    }

    /// A statement that changes something runs once.
    fn fetched_again(&self) -> Result<Fetched> {
        match self.tag(0) {
            tag if self.statement.is_empty()
                || self.statement.columns().is_some()
                || tag.starts_with("SELECT") =>
            {
                Ok(Fetched::Complete(tag))
            }
            _ => {
                let message = "the portal has run to its end, and cannot run again";
                Err(Error::new(SqlState::NotInPrerequisiteState, message))
            }
        }
    }

    fn check(&self, session: &Session) -> Result<()> {
        if matches!(self.state, State::Failed) {
            let message = "the portal has ended with an error, and cannot be read on";
            return Err(Error::new(SqlState::NotInPrerequisiteState, message));
        }
        if session.transaction_failed() && !self.statement.ends_transaction() {
            return Err(crate::transaction::failed());
        }
        // One that has ended its own block is done, or has run and gives no rows.
        let has_run = match &self.state {
            State::Open { stream, .. } => !stream.has_rows(),
            state => matches!(state, State::Done(_)),
        };
        if self.block.is_some() && !has_run && session.block_number() != self.block {
            let message = "the portal does not exist any more: its transaction has ended";
            return Err(Error::new(SqlState::UndefinedCursor, message)
                .with_hint("a cursor WITH HOLD outlives its transaction"));
        }
        Ok(())
    }
}

/// Whether rows are as a description has promised.
fn same_columns(now: &Schema, promised: &Schema) -> bool {
    let (now, then) = (now.fields(), promised.fields());
    now.len() == then.len() && now.iter().zip(then).all(|(a, b)| a.name == b.name && a.ty == b.ty)
}

fn other_columns() -> Error {
    Error::new(SqlState::FeatureNotSupported, "cached plan must not change result type")
        .with_hint("what the statement reads was redefined; prepare it again")
}

/// A value in the form of its parameter's type: a number of another width is converted.
fn in_form(value: Value, ty: Type, number: usize) -> Result<Value> {
    let whole = match &value {
        Value::I16(value) => Some(i128::from(*value)),
        Value::I32(value) => Some(i128::from(*value)),
        Value::I64(value) => Some(i128::from(*value)),
        Value::I128(value) => Some(*value),
        _ => None,
    };
    let wrong = || {
        let message = format!("the value of parameter ${number} is none of its type, {ty}");
        Error::new(SqlState::InvalidParameterValue, message)
            .with_hint("the statement's description has the types of its parameters")
    };
    let out_of_range = |_| Error::out_of_range(&ty);
    match (ty.physical(), whole) {
        _ if value.is_null() => Ok(value),
        (Physical::I16, Some(whole)) => i16::try_from(whole).map(Value::I16).map_err(out_of_range),
        (Physical::I32, Some(whole)) => i32::try_from(whole).map(Value::I32).map_err(out_of_range),
        (Physical::I64, Some(whole)) => i64::try_from(whole).map(Value::I64).map_err(out_of_range),
        (Physical::I128, Some(whole)) => Ok(Value::I128(whole)),
        (physical, _) => match (physical, &value) {
            (Physical::Bool, Value::Bool(_))
            | (Physical::F32, Value::F32(_))
            | (Physical::F64, Value::F64(_)) => Ok(value),
            (Physical::Bytes, Value::Bytes(bytes)) => {
                match ty.is_text() && std::str::from_utf8(bytes).is_err() {
                    true => Err(wrong()),
                    false => Ok(value),
                }
            }
            _ => Err(wrong()),
        },
    }
}

fn several_prepared() -> Error {
    Error::new(SqlState::SyntaxError, "cannot insert multiple commands into a prepared statement")
        .with_hint("prepare them one at a time, or run the text as it is")
}
